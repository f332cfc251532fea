"""Compare a host function's derivative with finite differences of the function itself, in float64."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render.prose import lines_html
from jaxguide.callbacks.checked import call_on_host
from jaxguide.callbacks.derivative import Derivatives
from jaxguide.callbacks.errors import HostFunctionError
from jaxguide.compat import error_texts

_STEPS = 0.1 * 0.25 ** np.arange(14)  # in units of the argument's size, down to 1e-9
_DIRECTIONS = 3


class DerivativeError(AssertionError):
    """Raised if a derivative given to `host_function` disagrees with finite differences."""


@dataclass(frozen=True)
class Comparison:
    """What `verify` found for one argument.

    Args:
        argument: the argument's name or position.
        note: why nothing was compared; None if something was.
        difference: the largest difference found.
        largest: the largest derivative along the directions tried.
        allowed: the tolerance.
        index: where in the result the difference is largest.
        derivative, expected: the values at that index from the derivative and from finite differences.
    """

    argument: str
    note: str | None = None
    difference: float = 0.0
    largest: float = 0.0
    allowed: float = 0.0
    index: str = ""
    derivative: complex = 0.0
    expected: complex = 0.0

    @property
    def agrees(self) -> bool:
        """Whether the derivative is right where it was compared."""
        return self.difference <= self.allowed

    def __str__(self) -> str:
        if self.note is not None:
            return f"{self.argument}: {self.note}"
        if self.agrees:
            return f"{self.argument}: largest difference {self.difference:.1e}, largest derivative {self.largest:.3g}"
        derivative, expected = format(self.derivative, ".6g"), format(self.expected, ".6g")
        index = f" at {self.index}" if self.index else ""
        return (
            f"{self.argument}: the derivative says {derivative}{index} and finite differences say {expected} "
            f"(difference {self.difference:.3g})"
        )


@dataclass(frozen=True)
class Verification:
    """What `verify` found for each argument. Print it.

    Args:
        function: the host function's name.
        comparisons: one for each argument.
    """

    function: str
    comparisons: tuple[Comparison, ...]

    @property
    def agrees(self) -> bool:
        """Whether every derivative that was compared is right."""
        return all(comparison.agrees for comparison in self.comparisons)

    def __str__(self) -> str:
        title = (
            f"The derivative of `{self.function}` {'agrees' if self.agrees else 'disagrees'} with finite differences."
        )
        return "\n".join([title, *(f"  {comparison}" for comparison in self.comparisons)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return lines_html(str(self), "good" if self.agrees else "bad")


def verify_derivative(
    function: Callable[..., Any],
    fn: Callable[..., Any],
    derivatives: Derivatives,
    args: Sequence[Any],
    rtol: float | None,
) -> Verification:
    """Compare the derivative of `function` with differences of `fn`; see `HostFunction.verify`."""
    name = derivatives.parameters.function
    if not any(derivatives.rules):
        raise TypeError(f"`{name}` has no derivative to verify: pass one to `host_function(..., derivative=...)`.")
    values = [jax.tree.map(lambda x: _wide(np.asarray(x)), arg) for arg in args]
    # A function that always computes in float32 cannot promise float64.
    results = [np.asarray(leaf) for leaf in jax.tree.leaves(call_on_host(fn, name, values))]
    wide = all(leaf.dtype == _wide(leaf).dtype for leaf in results)
    with compat.float64() if wide else contextlib.nullcontext():
        comparisons = tuple(_compare(function, fn, derivatives, values, i, rtol) for i in range(len(values)))
    report = Verification(name, comparisons)
    if not report.agrees:
        raise DerivativeError(str(report))
    if all(comparison.note for comparison in comparisons):
        lines = "\n".join(f"  {comparison}" for comparison in comparisons)
        raise TypeError(f"No derivative of `{name}` could be verified at these arguments:\n{lines}")
    return report


def _compare(
    function: Callable[..., Any],
    fn: Callable[..., Any],
    derivatives: Derivatives,
    args: Sequence[Any],
    index: int,
    rtol: float | None,
) -> Comparison:
    name = derivatives.parameters.function
    argument = derivatives.parameters.name_of(index)
    if derivatives.rule(index) is None:
        return Comparison(argument, "not compared: no derivative was given")
    if not any(map(_is_inexact, jax.tree.leaves(args[index]))):
        return Comparison(argument, "not compared: pass floats instead of integers")

    def of_host(value: Any) -> list[np.ndarray]:
        result = call_on_host(fn, name, [*args[:index], value, *args[index + 1 :]])
        return [np.asarray(leaf) for leaf in jax.tree.leaves(result)]

    def of_jax(value: Any) -> Any:
        return function(*args[:index], value, *args[index + 1 :])

    found: list[Comparison] = []
    for direction, unit in _directions(args[index], derivatives.elementwise):
        with np.errstate(all="ignore"):
            expected = _differences(of_host, args[index], direction, unit)
        out, tangent = jax.jvp(of_jax, (args[index],), (jax.tree.map(_tangent, args[index], direction),))
        results = jax.tree_util.tree_leaves_with_path(out)
        for (path, result), got, (want, error, eps) in zip(results, jax.tree.leaves(tangent), expected, strict=True):
            if _is_inexact(result):
                allowed = _allowed(np.asarray(result), want, error, eps, rtol)
                found += _worst(argument, jax.tree_util.keystr(path), np.asarray(got), want, allowed)
    _require_reverse(derivatives, index, of_jax, args[index])
    if not found:
        return Comparison(argument, "not compared: no finite differences at these arguments")
    worst = max(found, key=lambda comparison: comparison.difference - comparison.allowed)
    return replace(worst, largest=max(comparison.largest for comparison in found))


def _require_reverse(derivatives: Derivatives, index: int, of_jax: Callable[[Any], Any], value: Any) -> None:
    """Raise DerivativeError if the derivative works in forward mode but not in reverse mode."""
    try:
        out, backward = jax.vjp(of_jax, value)
        backward(jax.tree.map(lambda x: _tangent(np.asarray(x), np.ones(x.shape)), out))
    except ValueError as error:
        if error_texts.NO_TRANSPOSE.match(error) is None:
            raise
        raise DerivativeError(
            f"The derivative of `{derivatives.parameters.function}` with respect to "
            f"{derivatives.parameters.name_of(index)} works only in forward mode: it calls a host function on the "
            "tangent, which reverse mode (`jax.grad`) cannot transpose. Call host functions on the arguments and the "
            "result, but only `jax.numpy` on the tangent."
        ) from error


def _allowed(result: np.ndarray, want: np.ndarray, error: np.ndarray, eps: float, rtol: float | None) -> np.ndarray:
    """Return the tolerance of a comparison, from the error of the differences and the rounding of large values."""
    eps = max(eps, float(jax.numpy.finfo(result.dtype).eps))
    part = max(1e-5, 100 * eps**0.8) if rtol is None else rtol
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    size = np.abs(result[np.isfinite(result)]).max(initial=0.0)
    allowed: np.ndarray = part * np.abs(want) + 10 * error + np.sqrt(eps) * scale + 100 * eps * float(size)
    return allowed


def _worst(argument: str, path: str, got: np.ndarray, want: np.ndarray, allowed: np.ndarray) -> list[Comparison]:
    """Return the comparison that exceeds the tolerance most, in a list; empty if there are no finite differences."""
    known = np.isfinite(want) & np.isfinite(allowed)
    if not known.any():
        return []
    difference = np.nan_to_num(np.abs(got - want), nan=np.inf, posinf=np.inf)
    at = np.unravel_index(int(np.argmax(np.where(known, difference - allowed, -np.inf))), want.shape)
    return [
        Comparison(
            argument,
            difference=float(difference[at]),
            largest=float(np.abs(want[known]).max()),
            allowed=float(allowed[at]),
            index=path + (str([int(i) for i in at]) if at else ""),
            derivative=got[at].item(),
            expected=want[at].item(),
        )
    ]


def _differences(
    fn: Callable[[Any], list[np.ndarray]], value: Any, direction: Any, unit: Any
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return each result's central differences along `direction`, their estimated error, and the result's precision.

    Each element uses the step, of many, at which two extrapolated differences agree best.
    """
    middle = fn(value)
    precision = [float(np.finfo(x.dtype).eps) if _is_inexact(x) else 0.0 for x in middle]
    best = [np.full(x.shape, np.nan, _wide(x).dtype if _is_inexact(x) else float) for x in middle]
    errors = [np.full(x.shape, np.inf) for x in middle]
    coarse: list[np.ndarray] | None = None
    before: list[np.ndarray] | None = None
    for step in _STEPS * unit if np.ndim(unit) == 0 else [step * unit for step in _STEPS]:
        try:
            up, down = (fn(_moved(value, direction, sign * step)) for sign in (1, -1))
        except HostFunctionError:  # a large step may leave the function's domain
            coarse = before = None
            continue
        plain = [(_wide(a) - _wide(b)) / (2 * step) for a, b in zip(up, down, strict=True)]
        # Steps shrink by a factor of 4, so this cancels the error that grows with the square of the step.
        fine = None if coarse is None else [(16 * p - c) / 15 for p, c in zip(plain, coarse, strict=True)]
        if fine is not None and before is not None:
            for i, (new, old) in enumerate(zip(fine, before, strict=True)):
                error = np.abs(new - old) + precision[i] * np.maximum(np.abs(up[i]), np.abs(down[i])) / step
                better = error < errors[i]
                best[i], errors[i] = np.where(better, new, best[i]), np.where(better, error, errors[i])
        coarse, before = plain, fine
    return list(zip(best, errors, precision, strict=True))


def _moved(value: Any, direction: Any, step: Any) -> Any:
    return jax.tree.map(lambda x, d: x + step * d if _is_inexact(x) else x, value, direction)


def _directions(value: Any, elementwise: bool) -> Iterator[tuple[Any, Any]]:
    """Yield fixed directions in which to change an argument, each with the argument's size, the unit of the steps."""
    random = np.random.default_rng(0)
    leaves = [leaf for leaf in jax.tree.leaves(value) if _is_inexact(leaf)]
    unit: Any
    if elementwise:
        (leaf,) = leaves
        unit = np.where((leaf == 0) | ~np.isfinite(leaf), 1.0, np.abs(leaf))
    else:
        unit = max(np.abs(leaf).max(initial=0.0) for leaf in leaves) or 1.0
    for turn in (1.0, 1j) if any(map(np.iscomplexobj, leaves)) else (1.0,):
        for _number in range(1 if elementwise else _DIRECTIONS):
            drawn = jax.tree.map(lambda x: np.ones(x.shape) if elementwise else random.standard_normal(x.shape), value)
            yield jax.tree.map(lambda x, d, turn=turn: d * turn if np.iscomplexobj(x) else d, value, drawn), unit


def _tangent(leaf: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return direction.astype(leaf.dtype) if _is_inexact(leaf) else np.zeros(leaf.shape, jax.dtypes.float0)


def _wide(array: np.ndarray) -> np.ndarray:
    """Convert floats to float64 and complex numbers to complex128."""
    if jax.numpy.issubdtype(array.dtype, np.complexfloating):
        return array.astype(np.complex128)
    return array.astype(np.float64) if jax.numpy.issubdtype(array.dtype, np.floating) else array


def _is_inexact(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, np.inexact))
