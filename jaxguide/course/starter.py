"""Tell one function's code from another's, and whether it is still the starter of its exercise."""

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from jaxguide.course.exercise import Task
from jaxguide.course.slices import global_names


def is_starter(function: Callable[..., Any], exercise: Task) -> bool:
    """Return whether `function` does what the stub does, code for code, docstring and comments aside.

    A decorator can be all that was missing, as `@jax.jit` above code that is right. Above a stub that does nothing it
    is no beginning.
    """
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    if code is None or essence(code) not in _starter_essences(exercise.starter_source):
        return False
    return inner is function or not statements(exercise.starter) or exercise.starter_source.startswith("@")


def statements(function: ast.FunctionDef) -> list[str]:
    """Return a function's statements in a form that can be compared, but for its docstring, `pass` and `...`.

    >>> statements(ast.parse("def f(x):\\n    'Do nothing.'\\n    ...").body[0])
    []
    """
    constants = [isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in function.body]
    kept = [n for n, is_constant in zip(function.body, constants, strict=True) if not is_constant]
    return [ast.dump(node) for node in kept if not isinstance(node, ast.Pass)]


@functools.cache
def _starter_essences(source: str) -> tuple[tuple[Any, ...], ...]:
    """Return the starter's code as a cell of its own compiles, and as below the imports that a script has.

    CPython calls an attribute of a name in another way where the same source imports that name. And where a docstring
    was, another constant may stand when it is taken out: the starter is compiled without it, too.
    """
    imports = "\n".join(f"import {name}" for name in sorted(global_names(source)))
    texts = [f"{above}\n{text}" for above in ("", imports) for text in (source, _without_docstring(source))]
    modules = [compile(text, "<starter>", "exec") for text in texts]
    return tuple(essence(next(c for c in module.co_consts if isinstance(c, types.CodeType))) for module in modules)


def _without_docstring(source: str) -> str:
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def essence(code: types.CodeType) -> tuple[Any, ...]:
    """Return what code does, without its place, its docstring and its comments; the same for the same code run again.

    >>> first, again = (compile("f = lambda x: [lambda: x]", "<cell>", "exec") for _time in range(2))
    >>> essence(first) == essence(again)
    True
    """
    constants = tuple(essence(c) if isinstance(c, types.CodeType) else repr(c) for c in _constants(code))
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constants(code: types.CodeType) -> tuple[Any, ...]:
    """Return a code's constants without its docstring, which editing may have changed."""
    constants = code.co_consts
    has_docstring = bool(constants) and isinstance(constants[0], str)
    return constants[1:] if has_docstring else constants
