"""Call a Python function on the host from a JAX program, and check its arguments and its result."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.lines import frames_of_traceback, function_name
from jaxguide.compat.debug_flags import TRANSFERS, flags_off
from jaxguide.jaxpr.arguments import is_array_like, require_function
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
        self.__signature__ = signature_of(fn)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.argument_names = tuple(p.name for p in self.__signature__.parameters.values() if p.kind in kinds)
        self.elementwise = elementwise
        self._fn = fn
        self._out = out
        self._checked: dict[Any, Callable[..., Any]] = {}
        # The errors of the calls that failed while a block of `errors` runs, for each such block.
        self._failures: dict[int, list[HostFunctionError]] = {}

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
        found: list[HostFunctionError] = []
        self._failures[id(found)] = found
        try:
            yield
        # JaxRuntimeError, or ValueError in a program that has run before (0.10.2 to 0.12.0.1).
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            for failure in reversed(found):
                if str(failure) in str(error):
                    raise failure from failure.__cause__
            raise
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
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"`{self.__name__}{self.__signature__}` cannot be called so: {error}.") from None
        if bound.kwargs:
            raise TypeError(
                f"Bind argument `{next(iter(bound.kwargs))}` of `{self.__name__}` first, with `functools.partial`: "
                "only positional arguments are sent to the host."
            )
        for i, arg in enumerate(bound.args):
            for value in [arg] if self.elementwise else jax.tree.leaves(arg):
                if not is_array_like(value):
                    raise TypeError(
                        f"`{self.__name__}` needs an array or a number as {self.argument_name(i)}, but got "
                        f"{describe(value)}: only arrays are sent to the host, so bind other values first, with "
                        "`functools.partial`."
                    )
                if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
                    raise TypeError(
                        f"`{self.__name__}` runs on the host, which has no PRNG keys: pass `jax.random.key_data(key)`."
                    )
        return bound.args

    @flags_off(*TRANSFERS)
    def _on_host(self, callback: Callable[..., Any], *args: Any) -> Any:
        """Run the function on the host through `callback`, one of JAX's callback functions.

        It waits for the result, unless that is traced; without waiting, an error would be raised later, far from the
        call. If the arguments are ready, the CPU backend runs the host function in this thread.
        """
        require_host_calls(self.__name__)
        given = jax.tree.leaves(args)
        ranks = tuple(map(jnp.ndim, given))
        out = None if self._out is None and not self.elementwise else self._promised(args)
        leaves, structure = jax.tree.flatten(out)
        # The same signature gives the same callable, so that JAX compiles an eager call only once.
        key = (ranks, structure, *leaves)
        if key not in self._checked:
            self._checked[key] = self._checking(out, ranks)
        result = jax.block_until_ready(callback(self._checked[key], out, *jax.block_until_ready(args)))
        return jax.tree.map(lambda leaf: placed_like(varying_like(leaf, given), given), result)

    def _promised(self, args: Sequence[Any]) -> Any:
        """Return the pytree of `jax.ShapeDtypeStruct` that a call with these arguments promises to return."""
        specs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), tuple(args))
        out, shape = self._out, None
        if self.elementwise:
            try:
                shape = np.broadcast_shapes(*(spec.shape for spec in specs))
            except ValueError:
                raise TypeError(
                    f"`{self.__name__}` is elementwise, but was called with {_types(specs)}, whose shapes do not "
                    "broadcast: add axes to them, or leave out `elementwise=True` and describe the result in `out`."
                ) from None
        if out is None:
            out = jnp.result_type(float, *args)
        elif callable(out) and not _is_dtype(out):
            try:
                out = out(*specs)
            except Exception as error:
                raise TypeError(
                    f"`out` of `{self.__name__}` raised {_error_words(error)}: it is called with a "
                    f"`jax.ShapeDtypeStruct` for each array (in this call {_types(specs)}), which has a `shape` and a "
                    "`dtype` but no values; use only these."
                ) from error
        return jax.tree.map(lambda leaf: self._struct(leaf, shape), out, is_leaf=lambda leaf: leaf is None)

    def _struct(self, leaf: Any, shape: tuple[int, ...] | None) -> jax.ShapeDtypeStruct:
        """Return the type of one array of the result; `shape` is that of elementwise results."""
        dtype = getattr(leaf, "dtype", None)
        if shape is not None and _is_dtype(leaf):
            dtype = leaf
        # Keys and text cannot come back from the host.
        elif hasattr(leaf, "shape") and isinstance(dtype, np.dtype) and dtype.kind not in "OSUMm":
            shape = tuple(leaf.shape)
        else:
            raise TypeError(
                f"`out` of `{self.__name__}` contains {describe(leaf)}: pass a `jax.ShapeDtypeStruct(shape, dtype)` "
                "for each array of the result, or a function of the arguments that returns them, such as "
                "`lambda x: x`."
            )
        return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype))

    def _checking(self, out: Any, ranks: tuple[int, ...]) -> Callable[..., Any]:
        """Return what the JAX runtime calls: the function, which gets NumPy arrays and whose result is checked.

        Args:
            out: the promised pytree; None to ignore the result.
            ranks: the rank of each array argument before `jax.vmap` added leading axes.
        """

        def call(*args: Any) -> Any:
            leaves, structure = jax.tree.flatten(args)
            arrays = [np.asarray(leaf) for leaf in leaves]
            # The sizes of the leading axes that `jax.vmap` added.
            mapped = np.broadcast_shapes(*(x.shape[: x.ndim - rank] for x, rank in zip(arrays, ranks, strict=True)))
            if self.elementwise:
                if self._out is None and all(x.dtype.kind in "iub" for x in arrays):  # NumPy would compute in float16
                    arrays = [x.astype(np.int32) if x.dtype.itemsize < 4 else x for x in arrays]
                # bfloat16 and the like, which SciPy rejects
                arrays = [x.astype(np.float32) if x.dtype.kind == "V" else x for x in arrays]
                pairs = [(x, x.ndim - rank) for x, rank in zip(arrays, ranks, strict=True)]
                if mapped:
                    arrays = [x.reshape(x.shape[:n] + (1,) * (max(ranks) - x.ndim + n) + x.shape[n:]) for x, n in pairs]
                    arrays = list(np.broadcast_arrays(*arrays))
            try:
                result = call_on_host(self, jax.tree.unflatten(structure, arrays))
                return None if out is None else self._kept(result, out, mapped)
            except HostFunctionError as error:
                for found in list(self._failures.values()):
                    found.append(error)
                raise

        call.__name__ = self.__name__
        return call

    def _kept(self, result: Any, out: Any, mapped: tuple[int, ...]) -> Any:
        """Return `result` as the promised arrays, or raise."""
        if isinstance(result, list | tuple) and type(out) in (list, tuple):  # `np.linalg.eigh` gives a namedtuple
            result = type(out)(result)
        structure: Any = jax.tree.structure(out)
        if structure != jax.tree.structure(result):
            raise self._broken(describe(result), describe_out(out, mapped))
        return jax.tree.map(lambda spec, x: self._array(x, spec, mapped), out, result)

    def _array(self, value: Any, spec: jax.ShapeDtypeStruct, mapped: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(value)
        want = jax.ShapeDtypeStruct((*mapped, *spec.shape), spec.dtype)
        if not (jnp.issubdtype(array.dtype, np.number) or array.dtype == bool):
            raise self._broken(describe(value), array_type(want))
        if array.shape != want.shape:
            advice = (
                "Under `vmap` it is called once for all rows: treat leading axes as rows, or pass "
                '`vmap_method="sequential"`.'
                if mapped
                else "Return an array of the promised shape, or change `out`."
            )
            raise self._broken(array_type(array), array_type(want), advice)
        if array.dtype == want.dtype:
            return array
        if not np.can_cast(array.dtype, want.dtype, "same_kind"):
            raise self._broken(array_type(array), array_type(want), "Convert it with `.astype`, or change `out`.")
        with np.errstate(all="ignore"):  # values out of range become infinity, as in JAX
            kept = array.astype(want.dtype)
        if kept.dtype.kind in "iu" and not np.array_equal(kept, array):
            raise self._broken(array_type(array), array_type(want), "Some of its values do not fit.")
        return kept

    def _broken(self, got: str, want: str, advice: str | None = None) -> HostFunctionError:
        advice = advice or ("Is a `return` missing?" if got == "None" else "Return NumPy arrays, as promised in `out`.")
        return HostFunctionError(f"`{self.__name__}` returned {got}, but {want} was promised. {advice}")


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """Return a function's signature, or one that takes anything if the function has none."""
    kinds = inspect.Parameter
    if isinstance(fn, np.ufunc):
        # Not its own, which also holds `out`: jax.custom_jvp would pass it as an argument (JAX 0.12).
        return inspect.Signature([kinds(f"x{i + 1}", kinds.POSITIONAL_ONLY) for i in range(fn.nin)])
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins have none
        return inspect.Signature([kinds("args", kinds.VAR_POSITIONAL)])


def call_on_host(host: HostCall, args: Sequence[Any]) -> Any:
    """Call the function; if it raises, report its name, its line and its arguments.

    Raises:
        HostFunctionError: if the function raises; its cause is that exception.
    """
    try:
        return host._fn(*args)
    except Exception as error:
        said = f"`{host.__name__}` raised {_error_words(error)}, when called with {_types(args)}."
        if "read-only" in str(error):
            said += " Its arguments are JAX's own memory: modify a copy, made with `.copy()`."
        if "can be converted to Python scalars" in str(error):
            said += " It takes one number at a time: wrap it in `np.vectorize` to take arrays."
        raise HostFunctionError(said) from error


def describe_out(out: Any, mapped: tuple[int, ...] = ()) -> str:
    """Write a promised pytree briefly: `float32[3]`, `(float32[3], int32[])`.

    >>> describe_out((jax.ShapeDtypeStruct((3,), "float32"), {"n": jax.ShapeDtypeStruct((), "int32")}))
    '(float32[3], {n: int32[]})'
    """

    words = jax.tree.map(lambda s: array_type(jax.ShapeDtypeStruct((*mapped, *s.shape), s.dtype)), out)
    return str(words).replace("'", "")


def _error_words(error: Exception) -> str:
    """Return the type and message of an exception in one line, with the user's line that raised it."""
    message = " ".join(str(error).split())
    lines = [f" ({line})" for _frame, line in frames_of_traceback(error.__traceback__)]
    return ": ".join(filter(None, (type(error).__name__, message))) + "".join(lines[-1:])


def _types(args: Any) -> str:
    return ", ".join(map(array_type, jax.tree.leaves(args))) or "no arguments"


def _is_dtype(value: Any) -> bool:
    """Return whether a value names a dtype: `jnp.float32`, `np.float32`, `float`, `"float32"`, a `np.dtype`."""
    try:
        return isinstance(value, str | type | np.dtype) and np.dtype(value) != object
    except TypeError:
        return False
