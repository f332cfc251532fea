"""Word the fixes that several rules offer: code as JAX wants it, in the student's names."""
