"""Judging submissions: untrusted code in processes of its own, marks decided in ours."""
