"""Try the checks of a course with mutants: right answers changed a little, as learners err."""
