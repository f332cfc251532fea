"""Check that a program uses each of its PRNG keys once."""

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jaxguide.base.render import Picture
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.jaxpr import interpret
from jaxguide.jaxpr.arguments import require_call, require_values
from jaxguide.jaxpr.eager import run_eagerly
from jaxguide.jaxpr.stage import stage
from jaxguide.keys.events import KeyLog
from jaxguide.keys.key_report import KeyReport
from jaxguide.keys.libraries import read_ignored
from jaxguide.keys.observe import KeyObserver
from jaxguide.keys.problems import Findings


def check_keys(fn: Callable[..., Any], /, *args: Any, ignore: str | Collection[str] = (), **kwargs: Any) -> KeyReport:
    """Run `fn` on the given arguments and report its PRNG keys: each mistake, each use, and the tree of keys.

    >>> import jax
    >>> def noise(key):
    ...     first, second, third = jax.random.split(key, 3)
    ...     x = jax.random.normal(first)
    ...     return x + jax.random.normal(second) + jax.random.uniform(second)
    >>> report = check_keys(noise, jax.random.key(0))
    >>> for problem in report:
    ...     print(problem)
    `second` was drawn from twice (both in line 4: `return x + ...`): split it and give each draw its own key.
    >>> [use.sampler for use in report.uses if use.kind == "draw"]
    ['normal', 'normal', 'uniform']
    >>> print(report.tree)
    Keys of noise: 3 keys made, 3 draws, 1 key reused, 1 key not used.
    <BLANKLINE>
    key        split into 3  ✓ spent                     line 2: first, second, third = jax.random.split(key, 3)
    ├─ first   normal        ✓ spent                     line 3: x = jax.random.normal(first)
    ├─ second                ✗ reused: drawn from twice
    │  ├─      normal                                    line 4: return x + jax.random.normal(second) + ...
    │  └─      uniform                                   line 4: return x + jax.random.normal(second) + ...
    └─ third                 ○ not used
    <BLANKLINE>
    ✗ `second` was drawn from twice ...

    The kinds of problems: a key is drawn from twice (`drawn_twice`), drawn from and split (`parent_used_after_split`),
    drawn from and folded into (`parent_used_after_fold`), split twice (`split_twice`), folded into twice with the same
    number (`fold_twice_same_data`), split and folded into (`split_and_fold_mixed`, since `fold_in(key, i)` equals
    `split(key, n)[i]`), given to every row of a `jax.vmap` (`same_key_for_all_rows`), or built twice from the same
    number (`seed_built_twice`). A `vmap` over one row counts too, because more rows would repeat the numbers.

    To share a key on purpose, draw once outside the `vmap`, loop or scan and use the result inside, or mark the second
    use with `jax.random.clone(key)`. Printing a key, reading its `key_data` and drawing an empty array are not uses.
    Each call of a `jax.random` function is one use, whatever it does inside.

    The program really runs, once, on these arguments, and keys are told apart by their bits. So typed keys, legacy
    uint32[2] keys and all implementations work alike, but these are not seen:

    - a branch of a `jax.lax.cond` that is not taken, and a key that another call uses again;
    - of a `scan`, `fori_loop` or `while_loop`, all but the first 64 iterations (8 of one inside another, then 2);
    - rows that share a key in flax's or haiku's own `vmap`, which declare what is shared (`split_rngs`, `in_axes`);
    - devices of a `jax.shard_map` or `jax.pmap` that share a key, unless all do and an output is divided among them.

    An installed package may use a key twice of its own accord. The sentence says so, and which line of yours led
    there; `ignore` leaves such problems out:

    >>> len(check_keys(noise, jax.random.key(0), ignore="jax"))
    1

    Args:
        fn: any function, also jitted or vmapped. Arrays, keys and floats are traced; Python integers, strings,
            booleans and None are passed as they are, so that they can be shapes.
        args, kwargs: its arguments, which must be real values, not tracers or `jax.ShapeDtypeStruct`.
        ignore: the names of installed packages whose problems to leave out.

    Returns:
        A report, which is true if there are problems and iterates over them, each pair of lines once; a notebook shows
        it as a card. `uses` has every draw, split, fold, seed and clone in order; `tree` is a picture, which a notebook
        draws (`tree.svg` is the text of an SVG file): a key that is used once, or split, is spent, `k #1` is the second
        key that a call returned and `k (3)` the one with 3 folded in. `ignored` counts what was left out, and
        `cut_loops` has a sentence for each loop with more iterations than were followed.

    Raises:
        TypeError: `fn` is not a function, does not take these arguments, or returns before its body has run (a
            generator function, an asynchronous function); or `ignore` is not a text or collection of texts.
        RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
        Exception: whatever the program raises; a program that fails is not judged.

    Warns:
        UserWarning: keys are used inside a primitive that it cannot look into; or a package in `ignore` is not
            installed here.

    Based on `jax.make_jaxpr` and the rule in the documentation of `jax.random`: "keys should never be used more than
    once". `jax.debug_key_reuse` is JAX's own check, for typed keys while a program runs.
    """
    require_call("check_keys", fn, args, kwargs)
    require_values("check_keys", args, kwargs, of="keys", such_as="such as `jnp.zeros`, and a real key")
    ignored = read_ignored("check_keys", ignore)
    log = observe_keys(fn, args, kwargs)
    warn_of_unseen(log, stacklevel=3)
    return report_keys(log, ignored, fn, args, kwargs)


def report_keys(
    log: KeyLog, ignored: Collection[str], fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> KeyReport:
    """Return what a run of `fn` did with its keys."""
    found = Findings(log.events, ignored)
    problems, uses = list(found.problems.values()), [event.use for event in log.events]
    report = KeyReport(uses, problems, ignored=len(found.ignored), cut_loops=log.cut_loops())

    def draw() -> Picture:
        from jaxguide.keys.forest import grow
        from jaxguide.keys.tree import draw_tree

        roots = grow(log, found.clashes, fn, args, kwargs)
        return draw_tree(f"Keys of {function_name(fn)}", roots, report)

    report.draw = draw
    return report


@flags_off(*CHECKS)  # JAX's own checker would count the uses of this run, too
def observe_keys(fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> KeyLog:
    """Run `fn` and log every use of its keys.

    Raises:
        TypeError: `fn` returned something that has not run yet, such as a generator.
        Exception: whatever `fn` raises when it is called without tracing.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        _require_finished(fn, result)
        return result

    log = KeyLog()
    try:
        staged = stage(run, args, kwargs)
        interpret.run(staged.jaxpr, staged.arguments, KeyObserver(log), wanted=False)
    except Exception:  # without tracing, the same call works or raises the student's own error
        log = KeyLog()
    else:
        return log
    run_eagerly(run, args, kwargs, KeyObserver(log))
    return log


def warn_of_unseen(log: KeyLog, stacklevel: int) -> None:
    """Warn of each primitive that uses keys where they cannot be seen."""
    for primitive, line in log.unseen:
        warnings.warn(
            f"Keys used inside `{primitive}` ({line or 'in library code'}) were not checked: check the function that "
            "is passed to it separately.",
            stacklevel=stacklevel + 1,
        )


def _require_finished(fn: Callable[..., Any], result: Any) -> None:
    if inspect.iscoroutine(result):
        result.close()  # otherwise Python warns that it was never awaited
    if inspect.iscoroutine(result) or inspect.isasyncgen(result) or isinstance(result, _LAZY):
        raise TypeError(
            f"`{function_name(fn)}` returned a `{type(result).__name__}` object, which has not run yet, so nothing in "
            "it could be checked: pass a function that runs it to the end."
        )


_LAZY = (type(_ for _ in ()), map, filter, zip)
