"""Test that answers never wait for the keyboard: breakpoints continue, and `input` raises an error."""

import builtins
import io
import pdb
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxguide.course.books.library import load_course
from jaxguide.course.breakpoints import scripted_breakpoints
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import Judging
from jaxguide.course.verdict import StudentError, Verdict


@pytest.fixture(params=["", "c\n", "q\n", "0\n"], ids=["nothing", "go on", "quit", "a number"])
def typed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Replace stdin by typed input, which answers must not read."""
    stdin = io.StringIO(request.param)
    monkeypatch.setattr(sys, "stdin", stdin)
    return stdin


def stops_in_jax(x: jax.Array) -> jax.Array:
    jax.debug.breakpoint()
    return 2 * x


def stops_in_python(x: jax.Array) -> jax.Array:
    breakpoint()
    return 2 * x


@pytest.mark.parametrize("function", [stops_in_jax, jax.jit(stops_in_jax), stops_in_python])
def test_an_answer_goes_on_at_a_breakpoint(function: object, typed: io.StringIO, tiny: Path) -> None:
    exercise = load_course(tiny).exercise("double")
    assert callable(function)
    assert Judging(exercise).judge(LocalAnswer("double", function, {})).verdict is Verdict.PASSED
    assert typed.tell() == 0


def asks(x: jax.Array) -> jax.Array:
    return x * (2 + float(input("And how much more? ")))


def reads(x: jax.Array) -> jax.Array:
    return x * (2 + float(sys.stdin.readline() or 1))


def test_an_answer_that_asks_for_input_is_told_that_nobody_types(typed: io.StringIO, tiny: Path) -> None:
    exercise = load_course(tiny).exercise("double")
    result = Judging(exercise).judge(LocalAnswer("double", asks, {}))
    assert (result.verdict, result.printed) == (Verdict.ERROR, "And how much more? ")
    assert result.first_failure is not None
    assert "it asked for input, but nobody can type while it is checked" in result.first_failure.message
    assert Judging(exercise).judge(LocalAnswer("double", reads, {})).verdict is Verdict.FAILED
    assert typed.tell() == 0


def test_a_debugger_that_an_answer_drives_itself_is_left_to_it() -> None:
    def scripted(x: jax.Array) -> str:
        with scripted_breakpoints(["p 6 * 7", "c"]) as transcript:
            stops_in_jax(x)
        return str(transcript)

    def traced(x: jax.Array) -> str:
        shown = io.StringIO()
        pdb.Pdb(stdin=io.StringIO("p 6 * 7\nc\n"), stdout=shown, nosigint=True, readrc=False).run("pass")
        return shown.getvalue()

    for function in (scripted, traced):
        assert "42" in LocalAnswer("look", function, {})(np.float32(1))


def test_the_keyboard_is_put_back() -> None:
    def takes(x: jax.Array) -> None:
        sys.stdin = None  # type: ignore[assignment]
        raise ValueError("gone")

    before = (sys.stdin, sys.breakpointhook, builtins.input)
    with pytest.raises(StudentError):
        LocalAnswer("takes", takes, {})(np.float32(1))
    assert (sys.stdin, sys.breakpointhook, builtins.input) == before
