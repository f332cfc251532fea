"""Define a case of the battery: a small program, what is wrong with it, and the evidence for that."""

import functools
import importlib.util
import inspect
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np

Program = Callable[..., Any]
Evidence = Callable[[Any, Any, Any], bool]

MAKE_KEY: dict[str, Callable[[int], Any]] = {
    "typed": jax.random.key,
    "legacy": jax.random.PRNGKey,
    "rbg": functools.partial(jax.random.key, impl="rbg"),
}

# For cases that do not work with rbg keys: their `split` does not use the hash of draws, a batched draw takes all rows
# from the first key (so a mapped rejection loop may never end), and `poisson` does not support them.
THREEFRY = ("typed", "legacy")

_MARK = re.compile(r"\s*#\s*(first and second|first|second)\s*$")


@dataclass(frozen=True)
class Case:
    """A program of the battery.

    `takes` is the program's input: a key, the seed of a key, nothing, or a key from an enclosing function (`function`
    is then the enclosing function). `kinds` are the names that a checker may give the bug, the best fit first, and
    empty for a correct program. A buggy program returns two values, first and second, and `evidence(first, second,
    key)` holds because their bits are related.
    """

    function: Program
    takes: Literal["key", "seed", "nothing", "closure"] = "key"
    kinds: tuple[str, ...] = ()
    evidence: Evidence | None = None
    key_kinds: tuple[str, ...] = tuple(MAKE_KEY)
    needs: str | None = None

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def why(self) -> str:
        """The function's docstring."""
        return inspect.getdoc(self.function) or ""

    def installed(self) -> bool:
        """Return whether the library that the program needs is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    def build(self, key_kind: str, seed: int = 0) -> tuple[Program, tuple[Any, ...]]:
        """Return the program, as a new function object that JAX has not seen, and its arguments."""
        f = self.function
        fresh = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
        match self.takes:
            case "key":
                return fresh, (MAKE_KEY[key_kind](seed),)
            case "seed":
                return fresh, (seed,)
            case "nothing":
                return fresh, ()
            case "closure":
                return fresh(MAKE_KEY[key_kind](seed)), ()

    def marked(self, mark: Literal["first", "second"]) -> set[str]:
        """Return the source lines where a checker may place this use; empty if the case leaves them open."""
        lines = inspect.getsource(self.function).splitlines()
        return {bare(line) for line in lines if (found := _MARK.search(line)) and mark in found[1]}


def bare(line: str | None) -> str:
    """Return a source line without its indentation and the battery's mark."""
    return _MARK.sub("", line or "").strip()


def bug(*kinds: str, evidence: Evidence, **how: Any) -> Callable[[Program], Program]:
    """Add the function to its module's list `BUGS` as a planted bug."""

    def register(function: Program) -> Program:
        function.__globals__["BUGS"].append(Case(function, kinds=kinds, evidence=evidence, **how))
        return function

    return register


def correct(**how: Any) -> Callable[[Program], Program]:
    """Add the function to its module's list `CORRECT` as a correct program."""

    def register(function: Program) -> Program:
        function.__globals__["CORRECT"].append(Case(function, **how))
        return function

    return register


# Evidence. Each holds for a bug with every key, and holds for independent draws with a probability below 1e-6.


def equal(first: Any, second: Any, key: Any) -> bool:
    """Both values are the same numbers."""
    return np.array_equal(_flat(first), _flat(second))


def one_starts_the_other(first: Any, second: Any, key: Any) -> bool:
    """The longer value begins with the shorter one."""
    a, b = _flat(first), _flat(second)
    n = min(a.size, b.size)
    return n > 0 and np.array_equal(a[:n], b[:n])


def same_order(first: Any, second: Any, key: Any) -> bool:
    """Both values are increasing functions of the same bits, so they have the same order."""
    a, b = _flat(first), _flat(second)
    return a.size >= 12 and np.array_equal(np.argsort(a), np.argsort(b))


def drawn_by(replay: Callable[[Any], tuple[Any, Any]]) -> Evidence:
    """Both values are reproduced by drawing each from the key itself."""

    def evidence(first: Any, second: Any, key: Any) -> bool:
        a, b = replay(key)
        return np.allclose(_flat(first), _flat(a), atol=1e-5) and np.allclose(_flat(second), _flat(b), atol=1e-5)

    return evidence


def first_is_made_of_children(first: Any, second: Any, key: Any) -> bool:
    """The first value, drawn from the key itself, has the order of the key's children, whose words are combined by xor.

    With the default PRNG, word i of a draw, `split(key, n)[i]` and `fold_in(key, i)` are the same hash.
    """
    drawn = _flat(first)
    children = np.asarray(jax.random.key_data(jax.random.split(key, drawn.size)))
    words = (children[:, 0] ^ children[:, 1]) >> 9
    return drawn.size >= 12 and np.array_equal(np.argsort(drawn), np.argsort(words))


def second_is_made_of_children(first: Any, second: Any, key: Any) -> bool:
    """The same, if the second value was drawn from the key itself."""
    return first_is_made_of_children(second, first, key)


def _flat(value: Any) -> np.ndarray:
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(value)])
