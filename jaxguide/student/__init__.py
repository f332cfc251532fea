"""A student's session in notebook and terminal: workspace, place in the course, changed answers, help, progress."""
