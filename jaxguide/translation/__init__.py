"""Make and update gettext's catalogues: of the package's own messages, and of what authors write in books and keys."""
