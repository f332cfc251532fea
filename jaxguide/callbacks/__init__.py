"""State host callbacks once, have them checked, and see what each kind can do on the installed JAX."""
