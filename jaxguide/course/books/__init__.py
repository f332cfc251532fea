"""Read, print and digest books and keys, the source files of a course."""
