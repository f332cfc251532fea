"""Test `%jaxguide` in a real IPython shell: pictures of a call, completion, and messages about bad input."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from kernel import run_in_kernel, shell_here

import jaxguide

DEFINED = """
import jax, jax.numpy as jnp
scale, settings = 3.0, {"n": 2}
def louder(x, n=1):
    y = x * n
    return y + scale
def twice(key):
    return jax.random.normal(key) + jax.random.uniform(key)
class Layer:
    def __call__(self, x):
        return x
"""


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    with shell_here() as shell:
        jaxguide.load_ipython_extension(shell)
        yield shell
        jaxguide.unload_ipython_extension(shell)


@pytest.fixture
def student(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "last_value", None, raising=False)
    for name in set(shell.user_ns) - set(shell.user_ns_hidden):  # unlike `shell.reset()`, without collecting garbage
        del shell.user_ns[name]
    assert shell.run_cell(DEFINED).success
    return shell


def refusal(student: Any, line: str) -> str:
    with pytest.raises(UsageError) as raised:
        student.run_line_magic("jaxguide", line)
    return str(raised.value)


@pytest.mark.long
def test_each_helper_shows_its_picture_in_a_kernel() -> None:
    lines = ["trace louder(jnp.ones(3), **settings)", "keys twice(jax.random.key(0))", "program louder(jnp.ones(3));"]
    inside = "def inside():\n    own = jnp.ones(2)\n    %jaxguide program louder(own)\ninside()\n1 + 1"
    cells = [*(f"%jaxguide {line}\n1 + 1" for line in lines), inside]
    shown = run_in_kernel(["%load_ext jaxguide", DEFINED, *cells])[2:]
    assert "traced  x  float32[3]" in shown[0]
    assert "static  n  2" in shown[0]
    assert "`key` was drawn from twice" in shown[1]
    assert shown[2].startswith("louder(x, n): 2 equations")
    assert shown[3].startswith("louder(x, n): 2 equations"), "the function's own names must be known"
    assert all(one.endswith("2") for one in shown), "the cell's own value must be shown, too"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", ["`%jaxguide trace f(x)`, `%jaxguide keys f(key)` or `%jaxguide program f(x)`"]),
        ("tracer louder(1.0)", ["cannot show `tracer`. Did you mean `trace`?", "`%jaxguide program f(x)`"]),
        ("trace", ["A call in one line of Python is needed", "`%jaxguide trace f(x)`"]),
        ("trace louder", ["is needed, and `louder` is not one", "`%jaxguide trace f(x)`"]),
        ("program louder(1.0) + 1", ["A call in one line of Python is needed"]),
        ("program louder(", ["A call in one line of Python is needed"]),
        ("trace loudre(1.0)", ["name 'loudre' is not defined"]),
        ("trace scale(1.0)", ["needs a function"]),
        ("trace Layer()", ["needs a function written in Python, but `Layer` is not one"]),
        ("keys twice(jax.ShapeDtypeStruct((), 'float32'))", ["`check_keys` runs the program, but got"]),
    ],
)
def test_bad_input_is_refused_in_a_sentence_that_says_what_to_write(student: Any, line: str, said: list[str]) -> None:
    words = refusal(student, line)
    assert [part for part in said if part not in words] == [], words


def test_an_error_of_the_students_function_keeps_its_type_and_place(student: Any) -> None:
    assert student.run_cell("def broken(x):\n    return x + undefined_name\ndef ask(): return broken(1.0)").success
    for line in ("program broken(1.0)", "program louder(ask())"):
        with pytest.raises(NameError, match="undefined_name"):
            student.run_line_magic("jaxguide", line)


@pytest.mark.parametrize("jedi", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ("%jaxg", ["%jaxguide"], []),
        ("%jaxguide ", ["trace", "keys", "program"], ["print"]),
        ("%jaxguide pr", ["program"], ["print", "trace"]),
        ("%jaxguide trace lou", ["louder"], []),
        ("%jaxguide trace ", ["louder", "twice", "jnp"], []),
        ("%jaxguide program jnp.lina", ["jnp.linalg"], []),
        ("%jaxguide keys twice(jax.rand", ["jax.random"], []),
        ("%jaxguide trace louder(sca", ["scale"], []),
        ("1 + 1\n%jaxguide ke", ["keys"], []),
    ],
)
def test_completion_offers_the_pictures_then_names(
    student: Any, jedi: bool, typed: str, offered: list[str], not_offered: list[str]
) -> None:
    student.Completer.use_jedi = jedi
    with provisionalcompleter():
        found = {one.text for one in student.Completer.completions(typed, len(typed))}
    found |= {one.rpartition(".")[2] for one in found}
    assert [one for one in offered if not {one, one.rpartition(".")[2]} & found] == [], sorted(found)[:20]
    assert [one for one in not_offered if one in found] == []


def test_loading_twice_offers_each_name_once_and_unloading_takes_the_magic_away(shell: Any) -> None:
    jaxguide.load_ipython_extension(shell)
    with provisionalcompleter():
        found = [one.text for one in shell.Completer.completions("%jaxguide ke", 12)]
    assert found == ["keys"]
    jaxguide.unload_ipython_extension(shell)
    assert shell.find_line_magic("jaxguide") is None
    with provisionalcompleter():
        assert "keys" not in [one.text for one in shell.Completer.completions("%jaxguide ke", 12)]
    jaxguide.load_ipython_extension(shell)  # for the other tests
