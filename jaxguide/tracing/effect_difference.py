"""Compare two traces of one call: where their programs first differ."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxguide import compat
from jaxguide.code.lines import Line, lines_of_equation
from jaxguide.jaxpr.interpret import inner_jaxprs, is_literal
from jaxguide.tracing.describe import describe_value

_PLAIN = (bool, int, float, complex, str, np.ndarray, np.generic, np.dtype, tuple)


def first_difference(one: Any, two: Any) -> tuple[Line | None, str, str] | None:
    """Return the first line whose equations differ between two jaxprs, with what each has; None where none does.

    >>> import itertools, jax
    >>> numbers = itertools.count()
    >>> first_difference(*(jax.make_jaxpr(lambda x: x + next(numbers))(1.0) for _ in range(2)))[1:]
    ('float32[] 0.', 'float32[] 1.')
    """
    return next(_differences(one, two), None)


def _differences(one: Any, two: Any) -> Iterator[tuple[Line | None, str, str]]:
    (first, first_consts), (second, second_consts) = compat.jaxpr_parts(one), compat.jaxpr_parts(two)
    values = (
        dict(zip(first.constvars, first_consts, strict=False)),
        dict(zip(second.constvars, second_consts, strict=False)),
    )
    for a, b in zip(first.eqns, second.eqns, strict=False):
        line = next(iter(lines_of_equation(a.source_info)), None)
        if a.primitive.name != b.primitive.name:
            yield line, f"`{a.primitive.name}`", f"`{b.primitive.name}`"
            return
        for x, y in zip(a.invars, b.invars, strict=False):
            left, right = _constant(x, values[0]), _constant(y, values[1])
            if not _equal(left, right):
                yield line, describe_value(left).text, describe_value(right).text
            elif str(x.aval) != str(y.aval):
                yield line, str(x.aval), str(y.aval)
        for name in a.params.keys() & b.params.keys():
            left, right = a.params[name], b.params[name]
            if isinstance(left, _PLAIN) and type(left) is type(right) and _is_plain(left) and not _equal(left, right):
                yield line, f"{name}={describe_value(left).text}", f"{name}={describe_value(right).text}"
        for left, right in zip(inner_jaxprs(a), inner_jaxprs(b), strict=False):
            yield from _differences(left, right)
    for a, b in zip(first.outvars, second.outvars, strict=False):
        left, right = _constant(a, values[0]), _constant(b, values[1])
        if not _equal(left, right):
            yield None, describe_value(left).text, describe_value(right).text
    if len(first.eqns) != len(second.eqns):
        longer = max((first, second), key=lambda jaxpr: len(jaxpr.eqns))
        eqn = longer.eqns[min(len(first.eqns), len(second.eqns))]
        line = next(iter(lines_of_equation(eqn.source_info)), None)
        yield line, f"{len(first.eqns)} equations", f"{len(second.eqns)} equations"


def _constant(atom: Any, values: dict[Any, Any]) -> Any:
    # JAX 0.12 keeps a Python number as a `TypedFloat` or `TypedInt`, which no reader has heard of.
    return np.asarray(atom.val, atom.aval.dtype) if is_literal(atom) else values.get(atom)


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, _PLAIN) or value is None


def _equal(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if one is None or two is None:
        return False
    try:
        left, right = np.asarray(one), np.asarray(two)
        if left.dtype.kind not in "biufc" or right.dtype.kind not in "biufc":
            return left.dtype.kind == "O" or bool(np.array_equal(left, right))
        return left.dtype == right.dtype and bool(np.array_equal(left, right, equal_nan=True))
    except Exception:  # keys and whatever else is no plain array
        return True
