"""Read and edit users' code: expressions at a position, frames, lines, and whether two pieces are the same."""
