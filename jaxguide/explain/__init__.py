"""Explain a JAX error in the student's own names: the line, what the variable is there, why it fails, how to fix it."""
