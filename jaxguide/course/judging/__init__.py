"""Judge an answer: call it, compare what came back with what was expected, and decide verdict and marks."""
