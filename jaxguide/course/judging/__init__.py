"""Judge answers: call them, compare results with expected values, and decide verdicts and marks."""
