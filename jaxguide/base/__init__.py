"""Translate texts, write files, import lazily and render results; nothing in this room knows JAX."""
