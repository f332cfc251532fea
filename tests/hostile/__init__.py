"""Submissions that mean harm, and what grading makes of them."""
