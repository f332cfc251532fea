"""Read, print and digest books and keys: what a course is made of."""
