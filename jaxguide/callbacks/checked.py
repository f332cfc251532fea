"""Run a host function for the JAX runtime, and check that it returns what was promised."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.callbacks.errors import HostFunctionError, failures
from jaxguide.callbacks.result_spec import describe_out
from jaxguide.code.lines import frames_of_traceback
from jaxguide.jaxpr.value_words import array_type, describe


# Compared by identity: JAX keeps a compiled callback per callable, and the user's function may not be hashable.
@dataclass(eq=False)
class Checked:
    """Call a host function with NumPy arrays and check its result; this is what the JAX runtime calls.

    Args:
        fn: the host function.
        name: its name, for messages.
        out: the promised pytree of `jax.ShapeDtypeStruct`; None to ignore the result.
        ranks: the rank of each array argument before `jax.vmap` added leading axes.
        elementwise: align ranks before the call, and narrow floats to the promised width after it.
        guessed: the promise was inferred from the arguments, so integers may give integers.
    """

    fn: Callable[..., Any]
    name: str
    out: Any
    ranks: tuple[int, ...]
    elementwise: bool
    guessed: bool

    def __call__(self, *args: Any) -> Any:
        with failures.kept():
            leaves, structure = jax.tree.flatten(args)
            arrays = [np.asarray(leaf) for leaf in leaves]
            mapped = _mapped_axes(arrays, self.ranks)
            integers = all(x.dtype.kind in "iub" for x in arrays)
            if self.elementwise:
                arrays = list(map(_known_to_numpy, arrays))
                if self.guessed and integers:
                    arrays = list(map(_computed_in_float64, arrays))
                if mapped:
                    arrays = [_aligned(x, r, self.ranks) for x, r in zip(arrays, self.ranks, strict=True)]
            result = call_on_host(self.fn, self.name, jax.tree.unflatten(structure, arrays))
            if self.out is None:
                return None
            return self._kept(result, mapped, self.guessed and integers)

    def _kept(self, result: Any, mapped: tuple[int, ...], integers: bool) -> Any:
        """Return `result` as the promised arrays, or raise."""
        promise, structure = jax.tree.flatten(self.out)
        if isinstance(result, Iterator):  # `jax.tree` warns about generators, and will raise (0.12.0.1)
            raise self._broken(describe(result), describe_out(self.out, mapped))
        got = jax.tree.leaves(result)
        if _plain(result) != _plain(self.out):
            raise self._broken(_described(result), describe_out(self.out, mapped))
        if integers:
            got = [x.astype(float) if getattr(x, "dtype", np.dtype(bool)).kind in "iu" else x for x in got]
        return jax.tree.unflatten(
            structure, [self._array(x, spec, mapped) for x, spec in zip(got, promise, strict=True)]
        )

    def _array(self, value: Any, spec: jax.ShapeDtypeStruct, mapped: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(value)
        want = jax.ShapeDtypeStruct((*mapped, *spec.shape), spec.dtype)
        if not (jnp.issubdtype(array.dtype, np.number) or array.dtype == bool):
            raise self._broken(describe(value), array_type(want))
        if array.shape != want.shape:
            if not (self.elementwise and mapped and _repeats(array.shape, want.shape, len(mapped))):
                raise self._broken(array_type(array), array_type(want), self._shape_advice(array, spec, mapped))
            array = np.broadcast_to(array, want.shape)
        if array.dtype == want.dtype:
            return array
        if not (_may_narrow(array.dtype, want.dtype, self.elementwise) or _python_number(value, want.dtype)):
            raise self._broken(
                array_type(array),
                array_type(want),
                "Convert it with `.astype`, or change `out`.",
            )
        with np.errstate(all="ignore"):  # values out of range become infinity, as in JAX
            narrow = array.astype(want.dtype)
        if narrow.dtype.kind in "iu" and not np.array_equal(narrow, array):
            raise self._broken(array_type(array), array_type(want), "Some of its values do not fit.")
        return narrow

    def _shape_advice(self, array: np.ndarray, spec: jax.ShapeDtypeStruct, mapped: tuple[int, ...]) -> str:
        if mapped:
            return (
                "Under `vmap` it is called once for all rows: treat leading axes as rows, or pass "
                '`vmap_method="sequential"`.'
            )
        if self.elementwise:
            return "An elementwise function must return the shape to which its arguments broadcast."
        return "Return an array of the promised shape, or change `out`."

    def _broken(self, got: str, want: str, advice: str | None = None) -> HostFunctionError:
        advice = advice or ("Is a `return` missing?" if got == "None" else "Return NumPy arrays, as promised in `out`.")
        return HostFunctionError(f"`{self.name}` returned {got}, but {want} was promised. {advice}")


def call_on_host(fn: Callable[..., Any], name: str, args: Sequence[Any]) -> Any:
    """Call `fn`; if it raises, report its name, its line and its arguments.

    Raises:
        HostFunctionError: if `fn` raises; its cause is that exception.
    """
    try:
        return fn(*args)
    except Exception as error:
        lines = [line for _frame, line in frames_of_traceback(error.__traceback__)]
        message = " ".join(str(error).split())
        raise HostFunctionError(
            "`{name}` raised {error}{place}, when called with {types}.".format(
                name=name,
                error=f"{type(error).__name__}: {message}" if message else type(error).__name__,
                place=f" ({lines[-1]})" if lines else "",
                types=", ".join(map(array_type, jax.tree.leaves(args))) or "no arguments",
            )
            + _advice(message)
        ) from error


def _advice(message: str) -> str:
    """Return advice on NumPy's most common errors, as a sentence after a space; empty for others."""
    if "read-only" in message:
        return " " + "Its arguments are JAX's own memory: modify a copy, made with `.copy()`."
    if "can be converted to Python scalars" in message:
        return " " + "It takes one number at a time: wrap it in `np.vectorize` to take arrays."
    return ""


def _described(result: Any) -> str:
    """Describe a result; a pytree of arrays is written as by `describe_out`."""
    leaves = jax.tree.leaves(result)
    if isinstance(result, tuple | dict) and 0 < len(leaves) < 9 and all(isinstance(x, np.ndarray) for x in leaves):
        return describe_out(result)
    return describe(result)


def _mapped_axes(arrays: Sequence[np.ndarray], ranks: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of the leading axes that `jax.vmap` added."""
    return np.broadcast_shapes(*(x.shape[: x.ndim - rank] for x, rank in zip(arrays, ranks, strict=True)))


def _aligned(array: np.ndarray, rank: int, ranks: Sequence[int]) -> np.ndarray:
    """Insert axes of size 1 after the mapped axes, so that mapped arrays broadcast by rows."""
    mapped = array.ndim - rank
    return array.reshape(array.shape[:mapped] + (1,) * (max(ranks) - rank) + array.shape[mapped:])


def _known_to_numpy(array: np.ndarray) -> np.ndarray:
    """Convert bfloat16 and similar dtypes, which SciPy rejects, to float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" and jnp.issubdtype(array.dtype, np.floating) else array


def _computed_in_float64(array: np.ndarray) -> np.ndarray:
    """Convert booleans and short integers so that NumPy computes in float64, not in float16 as for single bytes."""
    if array.dtype == bool:
        return array.astype(np.float64)
    return array.astype(np.int32) if array.dtype.itemsize < 4 else array


def _repeats(shape: tuple[int, ...], want: tuple[int, ...], mapped: int) -> bool:
    """Return whether a shape is the expected one, except for mapped axes of size 1, along which to repeat the array."""
    return shape[mapped:] == want[mapped:] and all(n in (1, m) for n, m in zip(shape[:mapped], want, strict=False))


def _may_narrow(got: np.dtype, want: np.dtype, elementwise: bool) -> bool:
    """Return whether a result may be cast to the promised dtype.

    NumPy computes in 64-bit precision; JAX itself converts to 32-bit when x64 is disabled. The kind is never changed.
    """
    narrower = _kind(got) == _kind(want) and want.itemsize < got.itemsize
    return narrower and (elementwise or got.itemsize == (16 if got.kind == "c" else 8))


def _kind(dtype: np.dtype) -> str:
    return "f" if jnp.issubdtype(dtype, np.floating) else dtype.kind


def _python_number(value: Any, want: np.dtype) -> bool:
    """Return whether a Python number, which has no dtype, may become the promised one: an int may become a float."""
    tower = "iufc"
    if type(value) not in (int, float, complex):
        return False
    return tower.index(np.asarray(value).dtype.kind) <= tower.find(_kind(want))


def _plain(tree: Any) -> Any:
    """Return a pytree's structure, not distinguishing tuples, lists and namedtuples (`np.linalg.eigh` returns one)."""
    if isinstance(tree, list | tuple):
        return tuple(map(_plain, tree))
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items()}
    return str(jax.tree.structure(tree))  # structures compare with tuples in unusual ways
