"""Courses: books, keys, exercises, checks, and the cards that students read."""
