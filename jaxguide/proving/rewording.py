"""Reword starters: code that says the same in other words is no starter, so it is judged, and must earn nothing."""

import ast

from jaxguide.course.exercise import Planted, Task

_GIVEN, _REWORDED = "starter", "reworded starter"
STARTERS = {_GIVEN: "", _REWORDED: ", reworded,"}
"""The names of starters among planted answers, and what messages add to `the starter of ...`."""

_NO_OP = "_begun"
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def as_given(exercise: Task) -> Planted:
    """Return an exercise's starter as an answer."""
    return Planted(_GIVEN, exercise.cell_source + "\n", exercise.line, exercise.path)


def reworded_starter(exercise: Task) -> Planted:
    """Return an exercise's starter with a local variable renamed, if it has one, and a statement that does nothing."""
    source = reworded(exercise.cell_source, exercise.name)
    return Planted(_REWORDED, source, exercise.line, exercise.path)


def reworded(source: str, name: str) -> str:
    """Return source code that does the same, with other words in the function `name`.

    >>> print(reworded("def f(x):\\n    y = 2 * x\\n    return y", "f"))
    def f(x):
        _begun = None
        y_ = 2 * x
        return y_
    <BLANKLINE>
    """
    tree = ast.parse(source)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for local in sorted(_locals(function)):
        new = f"{local}_"
        if new not in used:
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and node.id == local:
                    node.id = new
            break
    place = 0 if ast.get_docstring(function, clean=False) is None else 1
    function.body.insert(place, ast.parse(f"{_NO_OP} = None").body[0])
    return ast.unparse(tree) + "\n"


def _locals(function: ast.FunctionDef) -> set[str]:
    """Return the local variables that only plain names refer to, so that renaming these changes nothing."""
    assigned, other = set[str](), set[str]()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.arg):
            other.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            other.update(node.names)
        elif isinstance(node, ast.alias):
            other.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, _NAMED) and node.name:
            other.add(node.name)
    return assigned - other
