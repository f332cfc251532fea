"""Texts and catalogues, files, lazy names, and how things are shown: nothing here knows JAX."""
