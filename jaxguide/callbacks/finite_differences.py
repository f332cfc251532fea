"""Compare a host function's derivative with finite differences of the function itself, in float64."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render.prose import lines_html
from jaxguide.callbacks.host_call import call_on_host


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
        lines = [f"The derivative of `{self.function}` agrees with finite differences."]
        for argument, found in self.differences.items():
            words = f"not compared: {found}" if isinstance(found, str) else f"largest difference {found:.1e}"
            lines.append(f"  {argument}: {words}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return lines_html(str(self), "good")


def verify_derivative(host: Any, args: Sequence[Any]) -> Verification:
    """Compare the derivative of a host function with differences on the host; see `HostFunction.verify`."""
    if not host.rules:
        raise TypeError(
            f"`{host.__name__}` has no derivative to verify: pass one to `host_function(..., derivative=...)`."
        )
    values = [jax.tree.map(lambda x: _wide(np.asarray(x)), arg) for arg in args]
    # A function that always computes in float32 cannot promise float64.
    results = map(np.asarray, jax.tree.leaves(call_on_host(host, values)))
    wide = all(leaf.dtype == _wide(leaf).dtype for leaf in results)
    with compat.float64() if wide else contextlib.nullcontext():
        differences = {host.argument_name(i): _compare(host, values, i) for i in range(len(values))}
    found = Verification(host.__name__, differences)
    if all(isinstance(difference, str) for difference in differences.values()):
        reasons = str(found).partition("\n")[2]
        raise TypeError(f"No derivative of `{host.__name__}` could be verified at these arguments:\n{reasons}")
    return found


def _compare(host: Any, args: Sequence[Any], index: int) -> float | str:
    """Return the largest difference for one argument, or why there is none."""
    value = args[index]
    where = f"The derivative of `{host.__name__}` with respect to {host.argument_name(index)}"
    if index not in host.rules:
        return "no derivative was given"
    if not any(map(_is_inexact, jax.tree.leaves(value))):
        return "pass floats instead of integers"

    def of_host(value: Any) -> list[np.ndarray]:
        result = call_on_host(host, [*args[:index], value, *args[index + 1 :]])
        return [np.asarray(leaf) for leaf in jax.tree.leaves(result)]

    def of_jax(value: Any) -> Any:
        return host(*args[:index], value, *args[index + 1 :])

    largest = -1.0
    for direction, unit in _directions(value, host.elementwise):
        with np.errstate(all="ignore"):
            expected = _differences(of_host, value, direction, unit)
        out, tangent = jax.jvp(of_jax, (value,), (jax.tree.map(_tangent, value, direction),))
        results = jax.tree_util.tree_leaves_with_path(out)
        for (path, result), got, (want, error) in zip(results, jax.tree.leaves(tangent), expected, strict=True):
            known = np.isfinite(want) & np.isfinite(error)
            if not (_is_inexact(result) and known.any()):
                continue
            got, difference = np.asarray(got), np.nan_to_num(np.abs(got - want), nan=np.inf)
            rounding = float(jax.numpy.finfo(result.dtype).eps) ** 0.5
            allowed = 1e-5 * np.abs(want) + rounding * np.abs(want[known]).max() + 10 * error
            excess = np.where(known, difference - allowed, -np.inf)
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
        raise DerivativeError(
            f"{where} works only in forward mode: it calls a host function on the tangent, which reverse mode "
            "(`jax.grad`) cannot transpose. Call host functions on the arguments and the result, but only `jax.numpy` "
            "on the tangent."
        ) from error
    return "no finite differences at these arguments" if largest < 0 else largest


def _differences(
    fn: Callable[[Any], list[np.ndarray]], value: Any, direction: Any, unit: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each result's central differences along `direction`, and an estimate of their error.

    The step, in multiples of `unit`, is the one at which the errors of central differences and of rounding balance.
    """
    eps = max([float(np.finfo(x.dtype).eps) for x in fn(value) if _is_inexact(x)], default=1.0)
    step = eps ** (1 / 3) * unit
    ahead, behind, far_ahead, far_behind = (
        fn(jax.tree.map(lambda x, d, steps=steps: x + steps * step * d if _is_inexact(x) else x, value, direction))
        for steps in (1, -1, 2, -2)
    )
    found = []
    for up, down, far_up, far_down in zip(ahead, behind, far_ahead, far_behind, strict=True):
        slope = (_wide(up) - _wide(down)) / (2 * step)
        coarse = (_wide(far_up) - _wide(far_down)) / (4 * step)
        found.append((slope, np.abs(slope - coarse) + eps * np.maximum(np.abs(up), np.abs(down)) / step))
    return found


def _directions(value: Any, elementwise: bool) -> Iterator[tuple[Any, Any]]:
    """Yield directions in which to change an argument, each with the argument's size, the unit of the steps.

    All elements of an elementwise function change at once; others change along three fixed random directions.
    """
    random = np.random.default_rng(0)
    leaves = [leaf for leaf in jax.tree.leaves(value) if _is_inexact(leaf)]
    unit: Any = max(np.abs(leaf).max(initial=0.0) for leaf in leaves) or 1.0
    if elementwise:
        unit = np.where((value == 0) | ~np.isfinite(value), 1.0, np.abs(value))
    for turn in (1.0, 1j) if any(map(np.iscomplexobj, leaves)) else (1.0,):
        for _number in range(1 if elementwise else 3):
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
