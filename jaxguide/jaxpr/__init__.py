"""Stage a function and run its jaxpr equation by equation, with an observer; refuse bad arguments of helpers."""
