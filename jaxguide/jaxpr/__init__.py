"""Stage functions, run jaxprs equation by equation with an observer, and reject bad arguments of helpers."""
