"""Create and update gettext catalogues for the package's messages and for the texts in books and keys."""
