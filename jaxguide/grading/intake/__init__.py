"""Find what was handed in, whose it is, and what is in it, without running any of it."""
