"""Export to learning platforms: an autograder for Gradescope, and its results."""
