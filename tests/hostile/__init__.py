"""Malicious submissions, and the verdicts that grading must give them."""
