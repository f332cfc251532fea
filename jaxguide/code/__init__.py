"""Read code: the expression at a place, the user's own frames and lines, edits, and sameness."""
