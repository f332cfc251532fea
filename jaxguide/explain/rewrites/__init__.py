"""Build the fixes that several rules share: the student's code, rewritten for JAX."""
