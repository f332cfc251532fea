"""Find the submitted files, their students and their contents without running any code."""
