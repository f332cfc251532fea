"""Call a Python function on the host from a JAX program, and check its arguments and its result."""

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.base.text import plural
from jaxguide.callbacks.result_spec import describe_out, error_words, promised, types_of
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import TRANSFERS, flags_off
from jaxguide.jaxpr.arguments import require_array, require_function
from jaxguide.jaxpr.mesh_places import placed_like, require_host_calls, varying_like
from jaxguide.jaxpr.value_words import array_type, describe


class HostFunctionError(jax.errors.JaxRuntimeError):  # type: ignore[misc]  # JAX gives it no type
    """Raised if a host function raises, or returns something other than what was promised.

    Eager calls raise it directly, and so do traced programs (`jax.jit`, a loop, `jax.checkpoint`) in the function's
    `errors()`. Elsewhere, a traced program raises JAX's own error, with this sentence as the last line of its message:
    `jax.errors.JaxRuntimeError`, or ValueError if the program has run before (JAX 0.10.2 to 0.12.0.1).
    """


class HostCall:
    """What the functions made by `host_function` and `io_function` share.

    Args:
        usage: an example call of the public function that makes it, for messages.
        fn: the function on the host.
        out: the result, as in `host_function`; None for no result unless `elementwise`.
        elementwise: `fn` works element by element and broadcasts.
    """

    _run: Callable[..., Any]

    def __init__(self, usage: str, fn: Callable[..., Any], out: Any, elementwise: bool = False) -> None:
        require_function(usage.partition("(")[0], fn, usage)
        functools.update_wrapper(self, fn)
        self.__name__ = function_name(fn)
        self.__signature__ = _signature(fn)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.argument_names = tuple(p.name for p in self.__signature__.parameters.values() if p.kind in kinds)
        self._fn = fn
        self._out = out
        self._elementwise = elementwise
        self._checked: dict[Any, Checked] = {}
        # The errors of the calls that failed while a block of `errors` runs, with their threads, for each such block.
        self._failures: dict[int, list[tuple[int, HostFunctionError]]] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with arrays; see `host_function` and `io_function`."""
        arguments = self._arguments(args, kwargs)
        with self.errors():
            return self._run(*arguments)

    def __repr__(self) -> str:
        return f"<host function {self.__name__}>"

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise this function's error as `HostFunctionError` in programs compiled by `jax.jit`, too.

        >>> from jaxguide.callbacks import HostFunctionError, host_function
        >>> def logged(x):
        ...     if (x <= 0).any():
        ...         raise ArithmeticError("not positive")
        ...     return np.log(x)
        >>> log = host_function(logged, elementwise=True)
        >>> step = jax.jit(lambda x: 2 * log(x))
        >>> try:
        ...     with log.errors():
        ...         step(-1.0).block_until_ready()
        ... except HostFunctionError as error:
        ...     print(repr(error.__cause__))
        ArithmeticError('not positive')

        JAX may raise the error only where the result is waited for, so call `jax.block_until_ready` in the block.

        Raises:
            HostFunctionError: the function failed while the block ran; its cause is what the function raised, with its
                traceback. JAX's own error has only the text.

        See https://docs.jax.dev/en/latest/external-callbacks.html.
        """
        found: list[tuple[int, HostFunctionError]] = []
        self._failures[id(found)] = found
        try:
            yield
        except HostFunctionError:
            raise
        # JaxRuntimeError, or ValueError in a program that has run before (0.10.2 to 0.12.0.1).
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            fitting = [(thread, failure) for thread, failure in found if str(failure) in str(error)]
            if not fitting:
                raise
            # This thread's own, if there is one.
            _, failure = max(reversed(fitting), key=lambda one: one[0] == threading.get_ident())
            raise failure from failure.__cause__
        finally:
            del self._failures[id(found)]

    def argument_name(self, index: int) -> str:
        """Return what to call an argument in messages: its name in backticks, or its position."""
        names = self.argument_names
        return f"`{names[index]}`" if index < len(names) else f"argument {index + 1}"

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position.

        Raises:
            TypeError: the function does not take them, or they are not arrays.
        """
        try:
            self.__signature__.bind_partial(*args, **kwargs)  # reports surplus arguments before missing ones
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            given = plural("{count} argument", "{count} arguments", len(args) + len(kwargs))
            raise TypeError(f"`{self.__name__}{self.__signature__}` cannot be called with {given}: {error}.") from None
        if bound.kwargs:
            raise TypeError(
                f"Pass argument `{next(iter(bound.kwargs))}` of `{self.__name__}` by position: only positional "
                "arguments are arrays."
            )
        for i, arg in enumerate(bound.args):
            for leaf in [arg] if self._elementwise else jax.tree.leaves(arg):
                self._require_array(self.argument_name(i).strip("`"), leaf)
        return bound.args

    def _require_array(self, argument: str, value: Any) -> None:
        if isinstance(value, str) and argument in self.argument_names and not isinstance(self._fn, np.ufunc):
            raise TypeError(
                f"`{self.__name__}` needs an array or a number as `{argument}`, but got the str {value!r}: only arrays "
                f"are sent to the host, so bind the str first, with `functools.partial({self.__name__}, "
                f"{argument}={value!r})`."
            )
        require_array(self.__name__, argument, value)
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise TypeError(
                f"`{self.__name__}` runs on the host, which has no PRNG keys: pass `jax.random.key_data(key)`."
            )

    @flags_off(*TRANSFERS)
    def _on_host(self, callback: Callable[..., Any], *args: Any) -> Any:
        """Run the function on the host through `callback`, one of JAX's callback functions.

        It waits for the result, unless that is traced; without waiting, an error would be raised later, far from the
        call. If the arguments are ready, the CPU backend runs the host function in this thread.
        """
        require_host_calls(self.__name__)
        nothing = self._out is None and not self._elementwise
        out = None if nothing else promised(self.__name__, self._out, args, self._elementwise)
        ranks = tuple(map(jnp.ndim, jax.tree.leaves(args)))
        # The same signature gives the same callable, so that JAX compiles an eager call only once.
        key = (ranks, describe_out(out), jax.tree.structure(out))
        if key not in self._checked:
            self._checked[key] = Checked(self, out, ranks)
        result = jax.block_until_ready(callback(self._checked[key], out, *jax.block_until_ready(args)))
        given = jax.tree.leaves(args)
        return jax.tree.map(lambda leaf: placed_like(varying_like(leaf, given), given), result)


def _signature(fn: Callable[..., Any]) -> inspect.Signature:
    kinds = inspect.Parameter
    if isinstance(fn, np.ufunc):
        # Not its own, which also holds `out`: jax.custom_jvp would pass it as an argument (JAX 0.12).
        return inspect.Signature([kinds(f"x{i + 1}", kinds.POSITIONAL_ONLY) for i in range(fn.nin)])
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins have none
        return inspect.Signature([kinds("args", kinds.VAR_POSITIONAL)])


# Compared by identity: JAX keeps a compiled callback per callable.
@dataclass(eq=False)
class Checked:
    """Call a host function with NumPy arrays and check its result; this is what the JAX runtime calls.

    Args:
        host: the host function.
        out: the promised pytree of `jax.ShapeDtypeStruct`; None to ignore the result.
        ranks: the rank of each array argument before `jax.vmap` added leading axes.
    """

    host: HostCall
    out: Any
    ranks: tuple[int, ...]

    @property
    def __name__(self) -> str:
        return self.host.__name__

    def __call__(self, *args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        arrays = [np.asarray(leaf) for leaf in leaves]
        # The sizes of the leading axes that `jax.vmap` added.
        mapped = np.broadcast_shapes(*(x.shape[: x.ndim - rank] for x, rank in zip(arrays, self.ranks, strict=True)))
        if self.host._elementwise:
            arrays = self._for_elementwise(arrays, bool(mapped))
        try:
            result = call_on_host(self.host, jax.tree.unflatten(structure, arrays))
            return None if self.out is None else self._kept(result, mapped)
        except HostFunctionError as error:
            for found in list(self.host._failures.values()):
                found.append((threading.get_ident(), error))
            raise

    def _for_elementwise(self, arrays: list[np.ndarray], mapped: bool) -> list[np.ndarray]:
        """Convert dtypes that SciPy rejects or computes in float16, and align ranks so that mapped arrays broadcast."""
        if self.host._out is None and all(x.dtype.kind in "iub" for x in arrays):
            arrays = [x.astype(float) if x.dtype == bool else x for x in arrays]
            arrays = [x.astype(np.int32) if x.dtype.itemsize < 4 else x for x in arrays]
        # bfloat16 and the like
        unknown = [x.dtype.kind == "V" and jnp.issubdtype(x.dtype, np.floating) for x in arrays]
        arrays = [x.astype(np.float32) if odd else x for x, odd in zip(arrays, unknown, strict=True)]
        if not mapped:
            return arrays
        most = max(self.ranks)
        return [
            x.reshape(x.shape[: x.ndim - rank] + (1,) * (most - rank) + x.shape[x.ndim - rank :])
            for x, rank in zip(arrays, self.ranks, strict=True)
        ]

    def _kept(self, result: Any, mapped: tuple[int, ...]) -> Any:
        """Return `result` as the promised arrays, or raise."""
        promise, structure = jax.tree.flatten(self.out)
        # `jax.tree` warns about iterators, and will raise (0.12.0.1)
        if isinstance(result, Iterator) or _plain(result) != _plain(self.out):
            raise self._broken(describe(result), describe_out(self.out, mapped))
        pairs = zip(jax.tree.leaves(result), promise, strict=True)
        return jax.tree.unflatten(structure, [self._array(x, spec, mapped) for x, spec in pairs])

    def _array(self, value: Any, spec: jax.ShapeDtypeStruct, mapped: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(value)
        want = jax.ShapeDtypeStruct((*mapped, *spec.shape), spec.dtype)
        if not (jnp.issubdtype(array.dtype, np.number) or array.dtype == bool):
            raise self._broken(describe(value), array_type(want))
        if array.shape != want.shape:
            if not (self.host._elementwise and mapped and _repeats(array.shape, want.shape, len(mapped))):
                advice = (
                    "Under `vmap` it is called once for all rows: treat leading axes as rows, or pass "
                    '`vmap_method="sequential"`.'
                    if mapped
                    else "Return an array of the promised shape, or change `out`."
                )
                raise self._broken(array_type(array), array_type(want), advice)
            array = np.broadcast_to(array, want.shape)
        if array.dtype == want.dtype:
            return array
        is_number = type(value) in (int, float, complex) and jnp.result_type(want.dtype, value) == want.dtype
        # NumPy computes in 64-bit precision; JAX itself converts to 32-bit when x64 is disabled.
        is_wider = _kind(array.dtype) == _kind(want.dtype) and array.dtype.itemsize > want.dtype.itemsize
        is_inferred = self.host._out is None and array.dtype.kind in "iu"
        if not (is_number or is_wider or is_inferred):
            raise self._broken(array_type(array), array_type(want), "Convert it with `.astype`, or change `out`.")
        with np.errstate(all="ignore"):  # values out of range become infinity, as in JAX
            narrow = array.astype(want.dtype)
        if narrow.dtype.kind in "iu" and not np.array_equal(narrow, array):
            raise self._broken(array_type(array), array_type(want), "Some of its values do not fit.")
        return narrow

    def _broken(self, got: str, want: str, advice: str | None = None) -> HostFunctionError:
        advice = advice or ("Is a `return` missing?" if got == "None" else "Return NumPy arrays, as promised in `out`.")
        return HostFunctionError(f"`{self.host.__name__}` returned {got}, but {want} was promised. {advice}")


def call_on_host(host: HostCall, args: Sequence[Any]) -> Any:
    """Call the function; if it raises, report its name, its line and its arguments.

    Raises:
        HostFunctionError: if the function raises; its cause is that exception.
    """
    try:
        return host._fn(*args)
    except Exception as error:
        said = f"`{host.__name__}` raised {error_words(error)}, when called with {types_of(args)}."
        if "read-only" in str(error):
            said += " Its arguments are JAX's own memory: modify a copy, made with `.copy()`."
        if "can be converted to Python scalars" in str(error):
            said += " It takes one number at a time: wrap it in `np.vectorize` to take arrays."
        raise HostFunctionError(said) from error


def _repeats(shape: tuple[int, ...], want: tuple[int, ...], mapped: int) -> bool:
    """Return whether a shape is the expected one, except for mapped axes of size 1, along which to repeat the array."""
    return shape[mapped:] == want[mapped:] and all(n in (1, m) for n, m in zip(shape[:mapped], want, strict=False))


def _kind(dtype: np.dtype) -> str:
    return "f" if jnp.issubdtype(dtype, np.floating) else dtype.kind


def _plain(tree: Any) -> Any:
    """Return a pytree's structure, not distinguishing tuples, lists and namedtuples (`np.linalg.eigh` returns one)."""
    if isinstance(tree, list | tuple):
        return tuple(map(_plain, tree))
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items()}
    return str(jax.tree.structure(tree))  # structures compare with tuples in unusual ways
