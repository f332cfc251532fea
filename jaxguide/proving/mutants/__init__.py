"""Try a course with mutants: right answers, changed as learners err, which the checks should reject."""
