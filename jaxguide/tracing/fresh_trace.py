"""Trace a function to describe its program: again, ignoring JAX's caches, or given only shapes and dtypes."""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

from jaxguide.code.frames import is_library
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.compat.rule_lines import lines_of_rules
from jaxguide.jaxpr.stage import Staged, is_jax_type, stage, traced_leaves
from jaxguide.jaxpr.value_words import describe
from jaxguide.tracing.functions import is_jitted
from jaxguide.tracing.jit_events import hearing


def trace_anew(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the jaxpr of a call from a new trace, which runs all Python code that the call reaches.

    A jitted function is traced with its `trace` method, so its static arguments stay static and all others are traced.
    For any other function, see `traced_leaves`. Nothing is compiled, and no cache is cleared.

    >>> trace_anew(jax.jit(lambda x, n: x * n, static_argnums=1), (2.0, 3), {}).jaxpr.invars
    [Var(id=...):float32[]]

    Raises:
        Exception: whatever `fn` raises while it is traced.
    """
    if not is_jitted(fn):
        return trace_until_error(fn, args, kwargs, traced_leaves(fn, args, kwargs))[0]
    jitted: Any = fn
    with nothing_remembered():
        return jitted.trace(*args, **kwargs).jaxpr


def trace_until_error(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    traced: Sequence[bool],
    keep: type[Exception] | tuple[type[Exception], ...] = (),
) -> tuple[Any, Exception | None]:
    """Return the jaxpr of a call and None, or the jaxpr up to the error that `fn` raised and that error.

    `fn` need not return arrays.

    >>> fn = lambda x: float(jax.numpy.sin(x))
    >>> jaxpr, error = trace_until_error(fn, (1.0,), {}, [True], Exception)
    >>> [str(eqn.primitive) for eqn in jaxpr.jaxpr.eqns], type(error).__name__
    (['sin'], 'ConcretizationTypeError')

    Args:
        fn, args, kwargs: the call.
        traced: whether to trace each leaf of the arguments.
        keep: the types of error to return; any other error is raised.
    """
    leaves, structure = jax.tree.flatten((tuple(args), dict(kwargs)))
    places = [i for i, is_traced in enumerate(traced) if is_traced]
    caught: list[Exception] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(places, jax.tree.leaves((args, kwargs)), strict=True):
            filled[i] = value
        positional, keywords = jax.tree.unflatten(structure, filled)
        try:
            out = fn(*positional, **keywords)
        except keep as error:
            caught.append(error)
            return ()
        return [leaf for leaf in jax.tree.leaves(out) if isinstance(leaf, jax.Array)]

    vars(call)["__wrapped__"] = fn  # so that JAX's messages name `fn` and its arguments
    positional, keywords = _only(leaves, structure, places)
    with nothing_remembered():
        jaxpr = jax.make_jaxpr(call)(*positional, **keywords)
    return jaxpr, caught[0] if caught else None


def _only(leaves: list[Any], structure: Any, places: list[int]) -> Any:
    """Return a call's arguments with every leaf except those at `places` replaced by None, which has no leaves."""
    kept = set(places)
    with contextlib.suppress(Exception):  # a user's pytree that accepts only arrays
        positional, keywords = jax.tree.unflatten(
            structure, [leaf if i in kept else None for i, leaf in enumerate(leaves)]
        )
        if len(jax.tree.leaves((positional, keywords))) == len(places):
            return positional, keywords
    return [leaves[i] for i in places], {}


_NUMBERS = itertools.count()


@contextlib.contextmanager
def nothing_remembered() -> Iterator[None]:
    """Keep JAX from reusing earlier traces in this block, and this block's traces later, without clearing caches.

    >>> double = jax.jit(lambda x: print("traced") or 2 * x)
    >>> _ = double(1.0)
    traced
    >>> with nothing_remembered():
    ...     _ = double.trace(1.0)
    traced
    >>> _ = double(1.0)
    """
    from jax.experimental.xla_metadata import set_xla_metadata

    # Metadata is part of the key of JAX's trace caches. (`jax.make_user_context` would work too, but each new context
    # makes JAX trace again everything that was traced before: JAX 0.10 to 0.12.)
    with set_xla_metadata(jaxguide=str(next(_NUMBERS))), hearing(), lines_of_rules(is_library):
        yield


@hearing()
@flags_off(*CHECKS, DISABLE_JIT)
@lines_of_rules(is_library)
def staged(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Staged:
    """Trace a function for `program`, with concrete arguments if Python needs their values.

    >>> staged(lambda x: x if x > 0 else -x, (2.0,), {}).arguments
    ()
    >>> staged(jax.numpy.sin, (jax.ShapeDtypeStruct((3,), "float32"),), {}).jaxpr.in_avals
    [ShapedArray(float32[3])]

    Args:
        fn, args, kwargs: the call; see `traced_leaves` for which arguments become tracers.

    Raises:
        TypeError: if `fn` returns anything but arrays, or needs the value of a `jax.ShapeDtypeStruct`.
        Exception: whatever `fn` raises while it is traced.
    """
    leaves = jax.tree.leaves((args, kwargs))
    abstract = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    given = set(map(id, leaves))

    @functools.wraps(fn)
    def checked(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        foreign = (leaf for leaf in jax.tree.leaves(result) if not is_jax_type(leaf))
        wrong = next((leaf for leaf in foreign if id(leaf) not in given), None)
        if wrong is not None:
            raise TypeError(
                "`program` needs a function that returns arrays, numbers or a pytree of them, but "
                f"`{function_name(fn)}` returned {describe(wrong)}: return only values that JAX can compute."
            )
        return result

    try:
        return stage(checked, args, kwargs)
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        if abstract and isinstance(error, jax.errors.UnexpectedTracerError):
            raise
        if abstract:
            raise TypeError(
                "`program` got a `jax.ShapeDtypeStruct`, which has no values, but Python needs the value of "
                f"an argument of `{function_name(fn)}` ({type(error).__name__}): pass arrays, such as `jnp.ones`."
            ) from error
        # Python needs an argument's value: describe the program for the given values.
        try:
            return stage(checked, args, kwargs, concrete=True)
        except Exception as second:
            raise second from None
