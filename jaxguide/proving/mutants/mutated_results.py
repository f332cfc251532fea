"""Mutate an answer from outside: what goes in, what comes out, and what is kept between calls."""

import ast
from collections.abc import Iterator

from jaxguide.proving.mutants.operator_table import binding_of, on_answers, wrapped

_AT_THE_END = """
def NAME(*args, **kwargs):
    return jax.tree.map(lambda r: {change}, _answer(*args, **kwargs))
"""
_AT_THE_START = """
def NAME(*args, **kwargs):
    args = list(args)
    a = args[{number}]
    args[{number}] = {change}
    return _answer(*args, **kwargs)
"""


def _ends(tree: ast.Module, name: str, *changes: str) -> Iterator[ast.Module]:
    for change in changes:
        yield wrapped(tree, name, _AT_THE_END.format(change=change))


def _starts(tree: ast.Module, name: str, *changes: str) -> Iterator[ast.Module]:
    node = binding_of(tree, name)
    count = len(node.args.args) if isinstance(node, ast.FunctionDef) else 1
    for number in range(count):
        for change in changes:
            yield wrapped(tree, name, _AT_THE_START.format(number=number, change=change))


@on_answers("values")
def result_squeezed(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Squeeze the result: axes of size 1 are lost."""
    yield from _ends(tree, name, "jnp.squeeze(r)")


@on_answers("values")
def result_without_sign(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Take the absolute value of the result."""
    yield from _ends(tree, name, "jnp.abs(r)")


@on_answers("values")
def result_clamped(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Clamp the result."""
    yield from _ends(tree, name, "jnp.maximum(r, 0)", "jnp.clip(r, -100, 100)")


@on_answers("values")
def result_cleaned(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Replace NaN and infinities in the result."""
    yield from _ends(tree, name, "jnp.nan_to_num(r)")


@on_answers("values")
def result_rounded(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Round the result to a few digits, or add a small number to it."""
    yield from _ends(tree, name, "jnp.round(r, 4)", "r + 1e-6")


@on_answers("values")
def argument_squeezed(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Squeeze an argument."""
    yield from _starts(tree, name, "jnp.squeeze(a)")


@on_answers("values")
def argument_without_sign(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Take the absolute value of an argument."""
    yield from _starts(tree, name, "jnp.abs(a)")


@on_answers("values")
def argument_clamped(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Clamp an argument, as if large numbers never came."""
    yield from _starts(tree, name, "jnp.clip(a, -100, 100)", "jnp.maximum(a, 0)", "min(a, 10)", "max(a, 1)")


@on_answers("values")
def argument_cleaned(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Replace NaN and infinities in an argument."""
    yield from _starts(tree, name, "jnp.nan_to_num(a)")


@on_answers("dtypes")
def result_of_another_dtype(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Return a coarser dtype, or round through one."""
    coarse = "jnp.asarray(r).astype(jnp.float16)"
    yield from _ends(tree, name, coarse, f"{coarse}.astype(jnp.asarray(r).dtype)", "jnp.asarray(r, dtype=float)")


@on_answers("dtypes")
def argument_of_another_dtype(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Convert an argument to another dtype, or round it through a coarser one."""
    through = "jnp.asarray(a).astype(jnp.{0}).astype(jnp.asarray(a).dtype)"
    changes = [through.format(dtype) for dtype in ("float16", "bfloat16", "int32", "int16", "int8")]
    yield from _starts(tree, name, *changes, "jnp.asarray(a, dtype=float)")


@on_answers("dtypes")
def computed_in_float32(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Compute in float32 and convert the result back."""
    node = binding_of(tree, name)
    if isinstance(node, ast.FunctionDef) and node.args.args:
        yield wrapped(
            tree,
            name,
            "def NAME(first, *args):\n    got = _answer(jnp.asarray(first, jnp.float32), *args)\n"
            "    return jax.tree.map(lambda r: r.astype(first.dtype), got)",
        )


@on_answers("libraries")
def numpy_result(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Return a NumPy array."""
    yield from _ends(tree, name, "np.asarray(r)")


@on_answers("libraries")
def jax_result(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Return a JAX array, also for a Python number."""
    yield from _ends(tree, name, "jnp.asarray(r)")


@on_answers("libraries")
def numpy_argument(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Convert an argument to a NumPy array first."""
    yield from _starts(tree, name, "np.asarray(a)")


@on_answers("state")
def result_of_the_first_call(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Keep the first call's result, and give it for the same arguments by shape, by the first one, or for all."""
    for key in ("()", "str(jax.tree.map(np.shape, args))", "str(args[:1])", "str(args[1:])"):
        yield wrapped(
            tree,
            name,
            f"_kept = {{}}\ndef NAME(*args):\n    key = {key}\n    if key not in _kept:\n"
            "        _kept[key] = _answer(*args)\n    return _kept[key]",
        )


@on_answers("state")
def argument_changed(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Change an argument in place."""
    yield wrapped(
        tree,
        name,
        "def NAME(*args, **kwargs):\n    got = jax.tree.map(lambda r: r + 0, _answer(*args, **kwargs))\n"
        "    for a in args:\n        if isinstance(a, np.ndarray) and a.ndim:\n            a[...] = 0\n"
        "        elif isinstance(a, (list, dict)):\n            a.clear()\n    return got",
    )


@on_answers("state")
def copy_for_the_argument(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Work on a copy of the arguments where they should be changed."""
    yield wrapped(
        tree,
        name,
        "import copy\ndef NAME(*args, **kwargs):\n    return _answer(*map(copy.copy, args), **kwargs)",
    )


@on_answers("state")
def last_argument_left_out(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Leave out the last argument, where there may be any number of them."""
    node = binding_of(tree, name)
    if isinstance(node, ast.FunctionDef) and node.args.vararg:
        yield wrapped(tree, name, "def NAME(*args):\n    return _answer(*(args[:-1] if len(args) > 2 else args))")


@on_answers("tables")
def known_functions_only(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Answer for functions of the lesson only, as a table of their names would."""
    yield wrapped(
        tree,
        name,
        "import inspect\ndef NAME(*args, **kwargs):\n    for a in args:\n"
        "        code = getattr(inspect.unwrap(a), '__code__', None) if callable(a) else None\n"
        "        if code is not None and not code.co_filename.startswith('<setup'):\n            return None\n"
        "    return _answer(*args, **kwargs)",
    )
