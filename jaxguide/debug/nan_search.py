"""Find the first equation of a program that made a NaN or an infinity, in the result or the gradient."""

import ast
import functools
import inspect
import linecache
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType, TracebackType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.compat.rule_lines import lines_of_rules
from jaxguide.debug.nan_refs import is_ref
from jaxguide.debug.nan_report import BadValue, NanReport
from jaxguide.debug.nan_watch import NanWatch, is_bad
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.arguments import require_call, require_values
from jaxguide.jaxpr.eager import run_eagerly
from jaxguide.jaxpr.stage import stage

_HOMES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg")


def outside(fn: Callable[..., Any], error: Exception | None) -> str:
    """Return a sentence that says what NumPy ran outside JAX, based on the error from tracing `fn`.

    >>> import numpy as np
    >>> from jaxguide.debug import find_nan
    >>> find_nan(np.sqrt, 4.0).outside
    "`np.sqrt` is NumPy's and ran on the host, outside JAX, where equations cannot be seen: use `jnp.sqrt`."
    >>> outside(np.sqrt, None)
    ''
    """
    if not isinstance(error, jax.errors.TracerArrayConversionError):
        return ""
    place = _last_of_user(error.__traceback__)
    path, where = _path_of(fn), ""
    if place is not None:
        frame, line, call = place
        path, where = _path_of(_value(call, frame)), f" at {line}"
    if path is None:
        return f"NumPy ran on the host{where}, outside JAX, where equations cannot be seen: use `jax.numpy`."
    root, _dot, rest = path.partition(".")
    owner = "NumPy's" if root == "numpy" else "SciPy's"
    replacement = f"jnp.{rest}" if root == "numpy" else f"jax.scipy.{rest}"
    if not _exists(f"jax.{path}"):
        replacement = "jax.numpy"
    return (
        "`{name}`{where} is {owner} and ran on the host, outside JAX, where equations cannot be seen: use "
        "`{replacement}`."
    ).format(name=path.replace("numpy.", "np."), where=where, owner=owner, replacement=replacement)


def _last_of_user(traceback: TracebackType | None) -> tuple[FrameType, Line, ast.expr | None] | None:
    """Return the user's innermost frame, the line it had reached, and the function it called there."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library(code.co_filename):
            span = compat.frame_span(code, traceback.tb_lasti)
            line = Line(code.co_filename, traceback.tb_lineno)
            found = traceback.tb_frame, line, span and _called(code.co_filename, *span)
        traceback = traceback.tb_next
    return found


def _called(file: str, first: int, last: int, start: int, end: int) -> ast.expr | None:
    lines = [linecache.getline(file, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        node = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return None
    return node.func if isinstance(node, ast.Call) else None


def _value(node: ast.expr | None, frame: FrameType) -> Any:
    """Return the value in a frame of a name or of a module's attribute; None for any other expression."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        module = _value(node.value, frame)
        return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
    return None


def _path_of(fn: Any) -> str | None:
    """Return the path of a NumPy or SciPy function, such as 'numpy.linalg.inv'; None for any other."""
    name = getattr(fn, "__name__", "")
    for home in _HOMES:
        if name and getattr(sys.modules.get(home), name, None) is fn:
            return f"{home}.{name}"
    return None


def _exists(path: str) -> bool:
    owner: Any = jax
    for name in path.split(".")[1:]:
        owner = getattr(owner, name, None)
    return owner is not None


@flags_off(*CHECKS)
def find_nan(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> NanReport:
    """Find the first equation that produces a NaN or infinity when `fn`, or its gradient, is evaluated.

    >>> import jax.numpy as jnp
    >>> def safe_log(x):
    ...     return jnp.where(x > 0, jnp.log(x), 0.0)
    >>> report = find_nan(safe_log, jnp.array([1.0, 0.0, 2.0]))
    >>> report.first.primitive, report.first.made, report.first.index, report.first.operands
    ('log', '-inf', (1,), ('0.0',))
    >>> report.result_is_finite, report.gradient_is_finite
    (True, False)
    >>> bool(find_nan(safe_log, jnp.array([1.0, 3.0])))
    False

    The program really runs, equation by equation, including its host callbacks. If the result is finite, the gradient
    of its sum with respect to every floating-point argument is checked too, because a NaN that `jnp.where` masks is
    harmless in the forward pass but can still spoil the gradient. An infinity that is written in the code
    (`jnp.where(mask, x, -jnp.inf)`) is reported only if it reaches the result. The body of a `jax.shard_map` or `pmap`
    is run as a `vmap` over its devices, so indices in it begin with the device. Based on `jax.make_jaxpr`; JAX's own
    `jax.debug_nans` names a loop, but not the line in it.

    Args:
        fn: any function, also jitted, vmapped or made by `jax.grad`; if it needs real values (a Python `if` on an
            array), it is run without tracing. What NumPy computes in it has no equations; the report says where.
        args, kwargs: its arguments; arrays and floats are traced, Python integers, strings and None are passed as they
            are.

    Returns:
        A `NanReport`, which is true if something was found. Print it.

    Raises:
        TypeError: `fn` is not a function, does not take these arguments, or gets a `jax.ShapeDtypeStruct`.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever `fn` raises.
    """
    require_call("find_nan", fn, args, kwargs)
    require_values("find_nan", args, kwargs, of="arrays", such_as="such as those that led to the NaN")
    given = _arguments(fn, args, kwargs)
    bad = [name for name, value in given if is_bad(value[...] if is_ref(value) else value)]
    forward = NanWatch()
    result, untraced = _run(fn, args, kwargs, forward)
    found = forward.reached + forward.masked
    unseen = outside(fn, untraced)
    if forward.reached or any(is_bad(leaf) for leaf in jax.tree.leaves(result)):
        found = [
            forward.advised(bad.from_outside() if unseen else bad) for bad in _sides(fn, args, kwargs, found, forward)
        ]
        return NanReport(found=found, bad_arguments=bad, result_is_finite=False, outside=unseen)
    finite, backward, note = _gradient(fn, args, kwargs, result, forward)
    return NanReport(
        found=[forward.advised(bad) for bad in _sides(fn, args, kwargs, found, forward)] + backward,
        bad_arguments=bad,
        result_is_finite=True,
        gradient_is_finite=finite,
        gradient_note=note,
        outside=unseen,
    )


def _run(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], watch: NanWatch
) -> tuple[Any, Exception | None]:
    """Return the result, and the error of tracing `fn` if it had to be run without tracing."""
    try:
        with lines_of_rules(is_library):
            staged = stage(fn, args, kwargs)
    except Exception as error:  # without tracing, the same call works or raises the user's own error
        watch.given(jax.tree.leaves((args, kwargs)))
        result = run_eagerly(fn, args, kwargs, watch)
        watch.finish(jax.tree.leaves(result))
        return result, error
    values = [jnp.asarray(value) for value in staged.arguments]
    watch.given([*values, *filter(is_ref, jax.tree.leaves((args, kwargs)))])
    outputs = interpret.run(staged.jaxpr, values, watch)
    watch.finish(outputs)
    return outputs, None


def _gradient(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], result: Any, forward: NanWatch
) -> tuple[bool | None, list[BadValue], str]:
    """Run the gradient of the sum of the results; return whether it is finite, its bad values, and why it failed."""
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    chosen = [i for i, leaf in enumerate(leaves) if _is_float(leaf)]
    if not chosen or not any(_is_float(leaf) for leaf in jax.tree.leaves(result)):
        return None, [], "no_floats"

    def total(*values: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(chosen, values, strict=True):
            filled[i] = value
        positional, keywords = jax.tree.unflatten(structure, filled)
        outputs = [y for y in jax.tree.leaves(fn(*positional, **keywords)) if _is_float(y)]
        return functools.reduce(jnp.add, [jnp.sum(y).astype(jnp.result_type(float)) for y in outputs])

    watch = NanWatch()
    try:
        values = tuple(jnp.asarray(leaves[i]) for i in chosen)
        gradient, _error = _run(jax.grad(total, argnums=tuple(range(len(chosen)))), values, {}, watch)
    except jax.errors.TracerArrayConversionError:
        return None, [], "JAX has no derivative of what NumPy computes."
    except Exception as error:  # no gradient: through a `while`, a callback, or a custom rule without one
        return None, [], f"{type(error).__name__}: {error}".splitlines()[0]
    known = {(bad.primitive, bad.line, bad.loops) for bad in forward.reached + forward.masked}
    fresh = [bad for bad in watch.reached if (bad.primitive, bad.line, bad.loops) not in known or bad.backward]
    finite = not any(is_bad(leaf) for leaf in jax.tree.leaves(gradient))
    return finite, [watch.advised(bad.on_the_way_back()) for bad in fresh] if not finite else [], ""


def _sides(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], found: list[BadValue], forward: NanWatch
) -> list[BadValue]:
    """Mark the bad values of a gradient function's backward pass: those that the differentiated function does not make.

    JAX marks transposed equations itself; factors of the chain rule carry the same names as the forward pass.
    """
    primal = inspect.unwrap(fn)
    if primal is fn or not forward.differentiates or all(bad.backward for bad in found):
        return found
    watch = NanWatch()
    try:
        _run(primal, args, kwargs, watch)
    except Exception:  # `fn` is more than a gradient: keep what JAX marked
        return found
    known = {(bad.primitive, bad.line, bad.loops) for bad in watch.reached + watch.masked}
    return [bad if (bad.primitive, bad.line, bad.loops) in known else bad.on_the_way_back() for bad in found]


def _arguments(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return each leaf of the arguments with its name in the function, such as `params['w']`."""
    try:
        named = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        named = {f"argument {i}": arg for i, arg in enumerate(args)} | kwargs
    return [
        (f"{name}{jax.tree_util.keystr(path)}", leaf)
        for name, value in named.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(value)
    ]


def _is_float(leaf: Any) -> bool:
    if isinstance(leaf, float):
        return True
    return isinstance(leaf, jax.Array | np.ndarray | np.generic) and bool(jnp.issubdtype(leaf.dtype, np.floating))
