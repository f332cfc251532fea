"""The author interface: decorators for books and keys, and expectations for checks.

Books and keys also run as plain scripts, so each decorator returns what it decorates. The loaders read exercises from
the text of books, and collect the uses of the other decorators with `collecting`.
"""

import contextlib
import contextvars
import dataclasses
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypedDict, Unpack

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.course.exercise import F, exercise, prediction
from jaxguide.course.judging.expect import (
    expect_close,
    expect_different,
    expect_documented,
    expect_dtype,
    expect_equal,
    expect_no_key_problem,
    expect_raises,
    expect_shape,
    expect_that,
)
from jaxguide.course.judging.values import FunctionName, InputFunction
from jaxguide.course.verdict import StudentError

__all__ = [
    "StudentError",
    "alternative",
    "alternative_value",
    "answer",
    "equivalent",
    "exercise",
    "expect_close",
    "expect_different",
    "expect_documented",
    "expect_dtype",
    "expect_equal",
    "expect_no_key_problem",
    "expect_raises",
    "expect_shape",
    "expect_that",
    "given",
    "hidden",
    "input",
    "prediction",
    "reveal",
    "visible",
    "wrong",
    "wrong_value",
]


@dataclasses.dataclass(frozen=True)
class Declaration:
    """One use of a decorator: its name, the decorated function and its arguments."""

    role: str
    function: Any
    options: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.options.get("name") or getattr(self.function, "__name__", "?"))

    @property
    def line(self) -> int:
        """The line of the declared function."""
        code = getattr(self.function, "__code__", None)
        return int(code.co_firstlineno) if code else 1


_declarations: contextvars.ContextVar[list[Declaration] | None] = contextvars.ContextVar("declarations", default=None)


@contextlib.contextmanager
def collecting() -> Iterator[list[Declaration]]:
    """Collect the declarations made within the block."""
    declarations: list[Declaration] = []
    token = _declarations.set(declarations)
    try:
        yield declarations
    finally:
        _declarations.reset(token)


def _declare(role: str, function: Any, **options: Any) -> None:
    declarations = _declarations.get()
    if declarations is not None:
        declarations.append(Declaration(role, function, options))


def _declaring(role: str, **options: Any) -> Callable[[F], F]:
    """Return a decorator that declares a function and returns it."""

    def decorate(function: F) -> F:
        _declare(role, function, **options)
        return function

    return decorate


def reveal(target: Callable[..., Any] | str, *, why: str = "", shows: str = "") -> Callable[[F], F]:
    """Declare the function below to compute the answer to a prediction live.

    Args:
        target: the prediction's function, or its name.
        why: why JAX gives this answer, in a sentence or two; shown once a guess is locked.
        shows: code that shows it, such as a call of `watch_traces`; it runs after the lesson's cells.
    """
    return _declaring("reveal", target=target, why=why, shows=shows)


class CheckOptions(TypedDict, total=False):
    """What `visible` and `hidden` take.

    Args:
        stage: when the check runs, one of `jaxguide.course.verdict.STAGES`; by default 'value'.
        idea: the idea behind it, shown if it fails.
        on: the kind of input that it uses, in words, such as 'a row with a zero in it'; shown if it fails.
        kind: 'value', 'relation' or 'observed'; by default 'observed' for traces, keys and cost, else 'value'.
        weight: its share of the points, by default 1.
        required: whether the exercise earns nothing without it.
        misconception: a planted wrong answer that it rejects, too, though another check is the first to do so.
        reproduces: ids of the documented examples that it compares with the ledger.
    """

    stage: str
    idea: str
    on: str
    kind: str
    weight: float
    required: bool
    misconception: str
    reproduces: Sequence[str]


def visible(target: Callable[..., Any] | str, **options: Unpack[CheckOptions]) -> Callable[[F], F]:
    """Declare a check of the exercise `target` that students can see; its docstring is the fact that it checks.

    Args:
        target: the exercise's function, or its name.
        options: see `CheckOptions`.
    """
    return _declaring("visible", target=target, **_known(options))


def hidden(**options: Unpack[CheckOptions]) -> Callable[[F], F]:
    """Declare, in a key, a check that runs only in grading; it takes the same `CheckOptions` as `visible`."""
    return _declaring("hidden", **_known(options))


def _known(options: CheckOptions) -> CheckOptions:
    for name in options.keys() - CheckOptions.__annotations__.keys():
        raise TypeError(f"checks take no argument `{name}`." + did_you_mean(name, CheckOptions.__annotations__))
    return options


def answer(function: Any = None, /, *, notice: str = "", another_way: str = "") -> Any:
    """Declare, in a key, the answer to the exercise with the same name.

    Args:
        function: the answer.
        notice: what to notice in it, in a sentence; students read it once they have passed.
        another_way: what another way to write it costs, in a sentence; students read it there, too.
    """
    declare = _declaring("answer", notice=notice, another_way=another_way)
    return declare if function is None else declare(function)


def wrong(*, rejected_by: str, says: str = "", misses_the_point: bool = False, lacks: str = "") -> Callable[[F], F]:
    """Declare, in a key, a wrong answer named after its misconception, and the check that must reject it.

    Args:
        rejected_by: the name of the first check that fails.
        says: the misconception in a sentence.
        misses_the_point: whether it does not do what the exercise is about, so that it must earn nothing. The check
            that it names is then required, unless the exercise `keeps` points.
        lacks: the documented example whose check it fails, while it passes those of the exercise's others.
    """
    return _declaring("wrong", rejected_by=rejected_by, says=says, misses_the_point=misses_the_point, lacks=lacks)


def alternative(function: F) -> F:
    """Declare, in a key, another right answer."""
    return _declaring("alternative")(function)


def alternative_value(name: str, value: Any) -> None:
    """Declare, in a key, another right answer that is not a `def`, such as a lambda, a partial or `jax.vmap(f)`."""
    _declare("alternative", value, name=name)


def wrong_value(
    name: str, value: Any, *, rejected_by: str, says: str = "", misses_the_point: bool = False, lacks: str = ""
) -> None:
    """Declare, in a key, a wrong answer that is not a `def`."""
    about = {"rejected_by": rejected_by, "says": says, "misses_the_point": misses_the_point, "lacks": lacks}
    _declare("wrong", value, name=name, **about)


def equivalent(mutant: str, *, because: str) -> None:
    """Declare, in a key, that a mutant is right although it differs from the answer's text.

    Args:
        mutant: its id, as `python -m tools.mutants` prints it.
        because: the reason, in a sentence.
    """
    if not because.strip():
        raise ValueError(f"give the reason why the mutant `{mutant}` is right")
    _declare("equivalent", None, mutant=mutant, because=because)


def input(function: F) -> F:
    """Declare, in a key, a function that checks pass to answers: `given(function)`.

    Its source, and nothing else of the key, goes to a submission with the call that needs it. So it may read names that
    the book defines, and builtins, but no others.
    """
    return _declaring("input")(function)


inputs: weakref.WeakKeyDictionary[Callable[..., Any], InputFunction] = weakref.WeakKeyDictionary()
"""The source of each `@input`, as long as the function is used."""


def given(function: Callable[..., Any] | str) -> FunctionName | InputFunction:
    """Return an argument that passes a function to an answer.

    Args:
        function: a function of the book, or its name, which goes over by name; or an `@input` of the key.
    """
    if isinstance(function, str):
        return FunctionName(function)
    return inputs.get(function) or FunctionName(function.__name__)
