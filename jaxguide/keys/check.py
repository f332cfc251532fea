"""Check that a program uses each of its PRNG keys once."""

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jaxguide.jaxpr.arguments import require_call, require_values
from jaxguide.keys.events import KeyLog
from jaxguide.keys.ignoring import read_ignored
from jaxguide.keys.key_record import KeyProblem
from jaxguide.keys.observe import observe_keys
from jaxguide.keys.problems import find_problems


def check_keys(
    fn: Callable[..., Any], /, *args: Any, ignore: str | Collection[str] = (), **kwargs: Any
) -> list[KeyProblem]:
    """Run `fn` on the given arguments and return its mistakes with PRNG keys, each as one plain sentence.

    >>> import jax
    >>> def noise(key):
    ...     a = jax.random.normal(key, (3,))
    ...     b = jax.random.uniform(key, (3,))
    ...     return a + b
    >>> for problem in check_keys(noise, jax.random.key(0)):
    ...     print(problem)
    `key` was drawn from twice (line 2: `a = jax.random.normal(key, (3,))`; then line 3: `b = ...

    >>> def noise(key):
    ...     first, second = jax.random.split(key)
    ...     return jax.random.normal(first, (3,)) + jax.random.uniform(second, (3,))
    >>> check_keys(noise, jax.random.key(0))
    []

    The kinds of problems: a key is drawn from twice (`drawn_twice`), drawn from and split (`parent_used_after_split`),
    drawn from and folded into (`parent_used_after_fold`), split twice (`split_twice`), folded into twice with the same
    number (`fold_twice_same_data`), split and folded into (`split_and_fold_mixed`, since `fold_in(key, i)` equals
    `split(key, n)[i]`), given to every row of a `jax.vmap` (`same_key_for_all_rows`), or built twice from the same
    number (`seed_built_twice`). A `vmap` over one row counts too, because more rows would repeat the numbers.

    In `jax.shard_map` and `jax.pmap`, every device is followed. Two devices that draw from the same key are a problem
    (`same_key_for_all_rows`) if the numbers meet data that differ between them, or are returned for each device; fold
    in `jax.lax.axis_index`. Numbers that stay the same on all devices, as noise on a `psum`, are not.

    To share a key on purpose, draw once outside the `vmap`, loop or scan and use the result inside, or mark the second
    use with `jax.random.clone(key)`. Printing a key, reading its `key_data` and drawing an empty array are not uses.
    Each call of a `jax.random` function is one use, whatever it does inside.

    The program really runs, once, on these arguments: only the branch of a `jax.lax.cond` that is taken is checked, and
    a host callback runs only if a key depends on it. Of a `scan`, `fori_loop` or `while_loop`, the first 64 iterations
    are followed (8 of one inside another, then 2), so a problem that appears only later is missed. Keys are told apart
    by their bits, so typed keys, legacy uint32[2] keys and all implementations work alike. Each call is checked
    separately: two calls may use the same key.

    An installed package may use a key twice of its own accord. The sentence says so, and which line of yours led
    there; `ignore` leaves such problems out:

    >>> check_keys(noise, jax.random.key(0), ignore=["jax", "train.py:12", "train.py:init"])
    []

    Args:
        fn: any function, also jitted or vmapped. Arrays, keys and floats are traced; Python integers, strings,
            booleans and None are passed as they are, so that they can be shapes.
        args, kwargs: its arguments, which must be real values, not tracers or `jax.ShapeDtypeStruct`.
        ignore: problems to leave out: those of an installed package, by its name; those with a use on a line of your
            code, or in one of its functions, also if it is in what they call, as the file and the line or name.

    Returns:
        A list of the problems in the order of the second use, each pair of lines once; it is empty if the program uses
        every key once. A notebook shows it as a card. Its attribute `ignored` counts what was left out, and
        `cut_loops` has a sentence for each loop with more iterations than were followed.

    Raises:
        TypeError: `fn` is not a function, does not take these arguments, or returns before its body has run (a
            generator function, an asynchronous function); or `ignore` is not a text or collection of texts.
        ValueError: a text in `ignore` can be neither the name of a package nor a place.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever the program raises; a program that fails is not judged.

    Warns:
        UserWarning: keys are used inside a primitive that it cannot look into; or a package in `ignore` is not
            installed here.

    Based on `jax.make_jaxpr` and the rule in the documentation of `jax.random`: "keys should never be used more than
    once". `jax.debug_key_reuse` is JAX's own check, for typed keys while a program runs.
    """
    require_call("check_keys", fn, args, kwargs)
    require_key_values("check_keys", args, kwargs)
    ignored = read_ignored("check_keys", ignore, fn)
    log = observe_keys(fn, args, kwargs)
    warn_of_unseen(log, stacklevel=3)
    return find_problems(log, ignored)


def warn_of_unseen(log: KeyLog, stacklevel: int) -> None:
    """Warn of each primitive that uses keys where they cannot be seen."""
    for primitive, line in log.unseen:
        warnings.warn(
            (
                "Keys used inside `{primitive}` ({place}) were not checked: check the function that is passed to it "
                "separately."
            ).format(primitive=primitive, place=line or "in library code"),
            stacklevel=stacklevel + 1,
        )


def require_key_values(helper: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise unless a helper that reads keys was called outside a trace, with real values."""
    require_values(helper, args, kwargs, of="keys", such_as="such as `jnp.zeros`, and a real key")
