"""Test which errors of an answer are explained, and what is said about them."""

import linecache
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.books.library import load_course
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.evaluate import describe_error
from jaxguide.course.judging.judge import Judging
from jaxguide.course.verdict import ErrorInfo


def chosen(x: Any) -> Any:
    if x > 0:  # noqa: SIM108
        y = x
    else:
        y = -x
    return y


def error_of(call: Callable[[], Any]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("it raised nothing")


def described(call: Callable[[], Any]) -> ErrorInfo:
    return describe_error(error_of(call), explains=True)


def test_a_known_error_is_explained_in_the_students_names() -> None:
    info = described(lambda: jax.jit(chosen)(1.0))
    assert info.explanation is not None
    assert info.explanation.title == "`if` needs a known value, but `x` is traced"
    assert ("y = jnp.where(x > 0, x, -x)") in [code for _sentence, code in info.explanation.fixes]
    assert info.source == "if x > 0:  # noqa: SIM108"
    assert info.message.startswith("Attempted boolean conversion")
    # Not the name of the file.
    assert re.search(r"while tracing the function chosen at line \d+ for jit", info.message)
    assert read_plain(ErrorInfo, plain_of(info)) == info


def test_an_unknown_error_is_not_explained_nor_is_one_without_being_asked() -> None:
    assert described(lambda: 1 / 0).explanation is None
    assert describe_error(error_of(lambda: jax.jit(chosen)(1.0))).explanation is None


@pytest.mark.parametrize(("file", "explains"), [("<code cell 3>", True), ("<book>", False)])
def test_an_error_in_code_that_a_lesson_gives_is_not_explained(
    file: str, explains: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {"jnp": jnp}
    source = "def given(x):\n    return jnp.dot(x, jnp.ones(4))\n"
    monkeypatch.setitem(linecache.cache, file, (len(source), None, source.splitlines(keepends=True), file))
    exec(compile(source, file, "exec"), names)
    info = described(lambda: names["given"](jnp.ones(3)))
    assert (info.explanation is not None) == explains
    assert (info.place == "code cell 3, line 2") == explains


def test_an_explanation_that_fails_leaves_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(error: BaseException) -> None:
        raise RuntimeError

    monkeypatch.setattr("jaxguide.explain.explaining.explain", broken)
    monkeypatch.setattr("jaxguide.explain.explain", broken)
    assert described(lambda: jax.jit(chosen)(1.0)).type_name == "TracerBoolConversionError"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 says it only when it ends")
def test_what_python_suggests_for_a_misspelled_name_is_kept() -> None:
    def misspelled(eqns: Any) -> Any:
        return eqs  # noqa: F821

    assert described(lambda: misspelled(1)).message == "name 'eqs' is not defined. Did you mean: 'eqns'?"
    assert described(lambda: [].appendd(1)).message.endswith("Did you mean: 'append'?")  # type: ignore[attr-defined]


class Hostile:
    def __dir__(self) -> Any:
        raise RuntimeError

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name, name=name, obj=self)


def test_suggesting_a_name_survives_a_hostile_object() -> None:
    assert described(lambda: Hostile().more).type_name == "AttributeError"


def test_the_first_error_of_an_exercise_is_explained_if_its_check_is_visible(tiny: Path) -> None:
    exercise = load_course(tiny).exercise("double")

    def works_only_outside_jit(x: Any) -> Any:
        return jnp.asarray(np.asarray(x) * np.float32(2))

    def raises(x: Any) -> Any:
        return jax.jit(chosen)(x[0])

    def raises_for_others(x: Any) -> Any:
        return 2 * x if x.shape in ((2,), (3,), (5,)) else raises(x)

    def explained(function: Callable[..., Any]) -> dict[str, bool]:
        reference = LocalAnswer("double", lambda x: 2 * x, {})
        result = Judging(exercise, reference=reference).judge(LocalAnswer("double", function, {}))
        return {check.name: check.error.explanation is not None for check in result.checks if check.error}

    assert explained(works_only_outside_jit) == {"works_under_jit": True}
    assert explained(raises_for_others) == {"matches_the_key": False}
    assert explained(raises) == {"twice_the_input": True, "matches_the_key": False}


def test_an_error_that_a_check_looks_for_is_not_explained_and_others_are() -> None:
    answer = LocalAnswer("f", jax.jit(chosen), {})
    answer.log.explains = True
    seen = answer.observe_error(1.0)
    assert seen.error is not None
    assert seen.error.explanation is None
    for ask in (answer, answer.observe, answer.program):
        with pytest.raises(Exception, match="Attempted boolean") as raised:
            ask(1.0)
        assert raised.value.info.explanation is not None
