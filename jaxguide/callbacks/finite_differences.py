"""Compare a host function's derivative with finite differences of the function itself, in float64."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render.prose import lines_html
from jaxguide.callbacks.derivative import Derivatives
from jaxguide.callbacks.host_call import HostFunctionError, call_on_host
from jaxguide.compat import error_texts

_STEPS = 0.1 * 0.25 ** np.arange(14)  # in units of the argument's size, down to 1e-9
_DIRECTIONS = 3


class DerivativeError(AssertionError):
    """Raised if a derivative given to `host_function` disagrees with finite differences."""


@dataclass(frozen=True, repr=False)
class Verification:
    """The derivatives that `verify` found to agree with finite differences. Print it.

    Args:
        function: the host function's name.
        differences: for each argument, the largest difference, or why it was not compared.
    """

    function: str
    differences: dict[str, float | str]

    def __str__(self) -> str:
        return f"The derivative of `{self.function}` agrees with finite differences.\n{self._lines()}"

    __repr__ = __str__

    def _lines(self) -> str:
        said = {
            argument: f"not compared: {found}" if isinstance(found, str) else f"largest difference {found:.1e}"
            for argument, found in self.differences.items()
        }
        return "\n".join(f"  {argument}: {words}" for argument, words in said.items())

    def _repr_html_(self) -> str:
        return lines_html(str(self), "good")


def verify_derivative(function: Callable[..., Any], derivatives: Derivatives, args: Sequence[Any]) -> Verification:
    """Compare the derivative of `function` with differences on the host; see `HostFunction.verify`."""
    host = derivatives.host
    if not any(derivatives.rules):
        raise TypeError(
            f"`{host.__name__}` has no derivative to verify: pass one to `host_function(..., derivative=...)`."
        )
    values = [jax.tree.map(lambda x: _wide(np.asarray(x)), arg) for arg in args]
    # A function that always computes in float32 cannot promise float64.
    results = map(np.asarray, jax.tree.leaves(call_on_host(host, values)))
    wide = all(leaf.dtype == _wide(leaf).dtype for leaf in results)
    with compat.float64() if wide else contextlib.nullcontext():
        differences = {host.argument_name(i): _compare(function, derivatives, values, i) for i in range(len(values))}
    found = Verification(host.__name__, differences)
    if all(isinstance(difference, str) for difference in differences.values()):
        raise TypeError(f"No derivative of `{host.__name__}` could be verified at these arguments:\n{found._lines()}")
    return found


def _compare(function: Callable[..., Any], derivatives: Derivatives, args: Sequence[Any], index: int) -> float | str:
    """Return the largest difference for one argument, or why there is none."""
    host, value = derivatives.host, args[index]
    where = f"The derivative of `{host.__name__}` with respect to {host.argument_name(index)}"
    if derivatives.rule(index) is None:
        return "no derivative was given"
    if not any(map(_is_inexact, jax.tree.leaves(value))):
        return "pass floats instead of integers"

    def of_host(value: Any) -> list[np.ndarray]:
        result = call_on_host(host, [*args[:index], value, *args[index + 1 :]])
        return [np.asarray(leaf) for leaf in jax.tree.leaves(result)]

    def of_jax(value: Any) -> Any:
        return function(*args[:index], value, *args[index + 1 :])

    largest = -1.0
    for direction, unit in _directions(value, derivatives.elementwise):
        with np.errstate(all="ignore"):
            expected = _differences(of_host, value, direction, unit)
        out, tangent = jax.jvp(of_jax, (value,), (jax.tree.map(_tangent, value, direction),))
        results = jax.tree_util.tree_leaves_with_path(out)
        for (path, result), got, (want, error, eps) in zip(results, jax.tree.leaves(tangent), expected, strict=True):
            known = np.isfinite(want) & np.isfinite(error)
            if not (_is_inexact(result) and known.any()):
                continue
            got, difference = np.asarray(got), np.nan_to_num(np.abs(got - want), nan=np.inf)
            excess = np.where(known, difference - _allowed(np.asarray(result), want, error, eps), -np.inf)
            at = np.unravel_index(int(np.argmax(excess)), excess.shape)
            if excess[at] > 0:
                place = jax.tree_util.keystr(path) + (str([int(i) for i in at]) if at else "")
                raise DerivativeError(
                    f"{where} is {got[at].item():.6g}{f' at {place}' if place else ''}, but finite differences give "
                    f"{want[at].item():.6g} (difference {difference[at]:.3g})."
                )
            largest = max(largest, float(difference[known].max()))
    try:
        out, backward = jax.vjp(of_jax, value)
        backward(jax.tree.map(lambda x: _tangent(np.asarray(x), np.ones(x.shape)), out))
    except ValueError as error:
        if error_texts.NO_TRANSPOSE.match(error) is None:
            raise
        raise DerivativeError(
            f"{where} works only in forward mode: it calls a host function on the tangent, which reverse mode "
            "(`jax.grad`) cannot transpose. Call host functions on the arguments and the result, but only `jax.numpy` "
            "on the tangent."
        ) from error
    return "no finite differences at these arguments" if largest < 0 else largest


def _allowed(result: np.ndarray, want: np.ndarray, error: np.ndarray, eps: float) -> np.ndarray:
    """Return the tolerance of a comparison, from the error of the differences and the rounding of large values."""
    eps = max(eps, float(jax.numpy.finfo(result.dtype).eps))
    scale, size = (float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in (want, result))
    size_of_rounding = np.sqrt(eps) * scale + 100 * eps * size
    allowed: np.ndarray = max(1e-5, 100 * eps**0.8) * np.abs(want) + 10 * error + size_of_rounding
    return allowed


def _differences(
    fn: Callable[[Any], list[np.ndarray]], value: Any, direction: Any, unit: Any
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return each result's central differences along `direction`, their estimated error, and the result's precision.

    Each element uses the step, of many, at which two extrapolated differences agree best.
    """
    results = fn(value)
    precision = [float(np.finfo(x.dtype).eps) if _is_inexact(x) else 0.0 for x in results]
    best = [np.full(x.shape, np.nan, np.result_type(_wide(x), float)) for x in results]
    errors = [np.full(x.shape, np.inf) for x in results]
    coarse: list[np.ndarray] = []
    before: list[np.ndarray] = []
    for step in (part * unit for part in _STEPS):
        try:
            up, down = (fn(_moved(value, direction, sign * step)) for sign in (1, -1))
        except HostFunctionError:  # a large step may leave the function's domain
            coarse, before = [], []
            continue
        plain = [(_wide(a) - _wide(b)) / (2 * step) for a, b in zip(up, down, strict=True)]
        # Steps shrink by a factor of 4, so this cancels the error that grows with the square of the step.
        fine = [(16 * p - c) / 15 for p, c in zip(plain, coarse, strict=False)]
        for i, (new, old) in enumerate(zip(fine, before, strict=False)):
            error = np.abs(new - old) + precision[i] * np.maximum(np.abs(up[i]), np.abs(down[i])) / step
            better = error < errors[i]
            best[i], errors[i] = np.where(better, new, best[i]), np.where(better, error, errors[i])
        coarse, before = plain, fine
    return list(zip(best, errors, precision, strict=True))


def _directions(value: Any, elementwise: bool) -> Iterator[tuple[Any, Any]]:
    """Yield fixed directions in which to change an argument, each with the argument's size, the unit of the steps."""
    random = np.random.default_rng(0)
    leaves = [leaf for leaf in jax.tree.leaves(value) if _is_inexact(leaf)]
    largest = max(np.abs(leaf).max(initial=0.0) for leaf in leaves) or 1.0
    for turn in (1.0, 1j) if any(map(np.iscomplexobj, leaves)) else (1.0,):
        if elementwise:
            yield np.full(value.shape, turn), np.where((value == 0) | ~np.isfinite(value), 1.0, np.abs(value))
            continue
        for _number in range(_DIRECTIONS):
            drawn = jax.tree.map(lambda x: random.standard_normal(x.shape), value)
            yield jax.tree.map(lambda x, d, turn=turn: d * turn if np.iscomplexobj(x) else d, value, drawn), largest


def _moved(value: Any, direction: Any, step: Any) -> Any:
    return jax.tree.map(lambda x, d: x + step * d if _is_inexact(x) else x, value, direction)


def _tangent(leaf: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return direction.astype(leaf.dtype) if _is_inexact(leaf) else np.zeros(leaf.shape, jax.dtypes.float0)


def _wide(array: np.ndarray) -> np.ndarray:
    """Convert floats to float64 and complex numbers to complex128."""
    if jax.numpy.issubdtype(array.dtype, np.complexfloating):
        return array.astype(np.complex128)
    return array.astype(np.float64) if jax.numpy.issubdtype(array.dtype, np.floating) else array


def _is_inexact(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, np.inexact))
