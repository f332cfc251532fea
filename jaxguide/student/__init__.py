"""The student's session in a terminal: where they are, what changed in their files, and what is shown of it."""
