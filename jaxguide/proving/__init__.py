"""Prove a course: right answers pass, wrong ones fail the check that they name, examples are reproduced."""
