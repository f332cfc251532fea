"""Prove a course: right answers pass, wrong ones fail the check that names them, examples are reproduced."""
