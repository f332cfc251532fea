"""Check that a program uses each of its PRNG keys once."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from jaxguide import compat
from jaxguide.base.text import _
from jaxguide.jaxpr.arguments import require_call
from jaxguide.keys.events import KeyLog
from jaxguide.keys.key_record import KeyProblem
from jaxguide.keys.observe import watch
from jaxguide.keys.problems import find_problems


def check_keys(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> list[KeyProblem]:
    """Run `fn` on the given arguments and return its mistakes with PRNG keys, each as one plain sentence.

    >>> import jax
    >>> def noise(key):
    ...     a = jax.random.normal(key, (3,))
    ...     b = jax.random.uniform(key, (3,))
    ...     return a + b
    >>> for problem in check_keys(noise, jax.random.key(0)):
    ...     print(problem)
    The key `key` was drawn from twice (line 2: `a = jax.random.normal(key, (3,))`; then line 3: `b = ...

    >>> def noise(key):
    ...     first, second = jax.random.split(key)
    ...     return jax.random.normal(first, (3,)) + jax.random.uniform(second, (3,))
    >>> check_keys(noise, jax.random.key(0))
    []

    The kinds of problems: a key is drawn from twice (`drawn_twice`), drawn from and split (`parent_used_after_split`),
    drawn from and folded into (`parent_used_after_fold`), split twice (`split_twice`), folded into twice with the same
    number (`fold_twice_same_data`), split and folded into (`split_and_fold_mixed`, since `fold_in(key, i)` equals
    `split(key, n)[i]`), given to every row of a `jax.vmap` (`same_key_for_all_rows`), or built twice from the same
    number (`seed_built_twice`). A `vmap` counts with one row too, for the program would repeat the numbers with more.

    Sharing on purpose is no problem when the program says so: draw once outside of the `vmap`, loop or scan and use the
    result in it, or mark the second use with `jax.random.clone(key)`. Printing a key, or looking at its `key_data`, is
    no use, nor is drawing an empty array. One call of a function of `jax.random` is one use, whatever it does inside.

    The program really runs, once, on these arguments: only the branch of a `jax.lax.cond` that is taken is seen, and a
    host callback runs only where a key depends on it. Keys are told apart by their bits, so typed keys, legacy
    uint32[2] keys and every implementation are alike. Only this call is checked: two calls that are given the same key
    are two programs.

    Args:
        fn: any function, also jitted or vmapped. Arrays, keys and floats are traced; Python integers, strings,
            booleans and None stay as they are, so that they can be shapes.
        args, kwargs: its arguments: real values, no tracers and no `jax.ShapeDtypeStruct`.

    Returns:
        The problems in the order in which the second use happened, each pair of lines once; an empty list for a
        program that ran to its end and uses every key once.

    Raises:
        TypeError: `fn` is no function, does not take these arguments, or returns before it has run (a generator
            function, an asynchronous function).
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: what the program itself raises, as it raises it: there is no verdict on a program that stops.

    Warns:
        UserWarning: keys are used inside a primitive that it cannot look into, such as `shard_map`.

    It rests on `jax.make_jaxpr` and reads what `jax.random` documents: "keys should never be used more than once".
    `jax.debug_key_reuse` checks typed keys while a program runs.
    """
    require_call("check_keys", fn, args, kwargs)
    require_values("check_keys", args, kwargs)
    log = watch(fn, args, kwargs)
    warn_of_unseen(log, stacklevel=3)
    return find_problems(log.events)


def warn_of_unseen(log: KeyLog, stacklevel: int) -> None:
    """Warn of each primitive that uses keys where they cannot be seen."""
    for primitive, line in log.unseen:
        warnings.warn(
            _(
                "Keys used inside `{primitive}` ({place}) were not checked: check the function that it is given on its "
                "own."
            ).format(primitive=primitive, place=line or _("in library code")),
            stacklevel=stacklevel + 1,
        )


def require_values(helper: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise unless a helper that runs a program is called outside of a trace and on real values."""
    leaves = jax.tree.leaves((args, kwargs))
    if compat.under_trace() or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise RuntimeError(
            _(
                "`{helper}` was called while JAX traces or transforms a function, where keys have no values yet: "
                "call it outside of `jax.jit`, `jax.vmap` and `jax.grad`, on the whole function."
            ).format(helper=helper)
        )
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        raise TypeError(
            _(
                "`{helper}` runs the program and was given a `jax.ShapeDtypeStruct`, which has no values: pass "
                "arrays, such as `jnp.zeros`, and a real key."
            ).format(helper=helper)
        )
