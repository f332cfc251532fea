"""What a case of the battery is: a small program, what is wrong with it, and how that is proved."""

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

# For what rbg keys cannot show: their split is no hash of the draw's kind, a batched draw takes all rows from the first
# key (a mapped loop that waits for luck need not end), and there is no poisson.
THREEFRY = ("typed", "legacy")

_MARK = re.compile(r"\s*#\s*(first and second|first|second)\s*$")


@dataclass(frozen=True)
class Case:
    """One program of the battery.

    `takes` says what the program is given: a key, the number a key is built from, nothing, or its key from an enclosing
    function (then the function of the case is that enclosing function). `kinds` are the names a checker may give the
    bug, the fittest first; none means that the program is correct. A bug returns two values, first and second, and
    `evidence(first, second, key)` holds because their bits are related.
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
        """Return whether the library that the program is about is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    def build(self, key_kind: str, seed: int = 0) -> tuple[Program, tuple[Any, ...]]:
        """Return the program as a function object that JAX has not seen, and its arguments."""
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
        """Return the source lines that the use may be placed at, empty where the case leaves them open."""
        lines = inspect.getsource(self.function).splitlines()
        return {bare(line) for line in lines if (found := _MARK.search(line)) and mark in found[1]}


def bare(line: str | None) -> str:
    """Return a source line without indentation and without the mark of the battery."""
    return _MARK.sub("", line or "").strip()


def bug(*kinds: str, evidence: Evidence, **how: Any) -> Callable[[Program], Program]:
    """Make the function a planted bug of its module's list `BUGS`."""

    def register(function: Program) -> Program:
        function.__globals__["BUGS"].append(Case(function, kinds=kinds, evidence=evidence, **how))
        return function

    return register


def correct(**how: Any) -> Callable[[Program], Program]:
    """Make the function a correct program of its module's list `CORRECT`."""

    def register(function: Program) -> Program:
        function.__globals__["CORRECT"].append(Case(function, **how))
        return function

    return register


# Evidence. Each is true of a bug for every key and would be false, but for luck below 1e-6, of independent draws.


def equal(first: Any, second: Any, key: Any) -> bool:
    """Both are the same numbers."""
    return np.array_equal(_flat(first), _flat(second))


def one_starts_the_other(first: Any, second: Any, key: Any) -> bool:
    """The shorter one begins the longer one."""
    a, b = _flat(first), _flat(second)
    n = min(a.size, b.size)
    return n > 0 and np.array_equal(a[:n], b[:n])


def same_order(first: Any, second: Any, key: Any) -> bool:
    """Both are increasing functions of the same bits, so that they sort alike."""
    a, b = _flat(first), _flat(second)
    return a.size >= 12 and np.array_equal(np.argsort(a), np.argsort(b))


def drawn_by(replay: Callable[[Any], tuple[Any, Any]]) -> Evidence:
    """Both come out again when each is drawn from the key itself."""

    def evidence(first: Any, second: Any, key: Any) -> bool:
        a, b = replay(key)
        return np.allclose(_flat(first), _flat(a), atol=1e-5) and np.allclose(_flat(second), _flat(b), atol=1e-5)

    return evidence


def first_is_made_of_children(first: Any, second: Any, key: Any) -> bool:
    """The first, drawn from the key itself, sorts like the bits of the key's children: their two words combined by xor.

    With the default PRNG word i of a draw, `split(key, n)[i]` and `fold_in(key, i)` are one and the same hash.
    """
    drawn = _flat(first)
    children = np.asarray(jax.random.key_data(jax.random.split(key, drawn.size)))
    words = (children[:, 0] ^ children[:, 1]) >> 9
    return drawn.size >= 12 and np.array_equal(np.argsort(drawn), np.argsort(words))


def second_is_made_of_children(first: Any, second: Any, key: Any) -> bool:
    """The same, where the draw from the key itself came second."""
    return first_is_made_of_children(second, first, key)


def _flat(value: Any) -> np.ndarray:
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(value)])
