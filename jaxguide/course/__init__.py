"""What a course is: books, keys, exercises, checks, and the cards that students read."""
