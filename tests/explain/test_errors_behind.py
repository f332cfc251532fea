"""Test that `explain` finds JAX's error behind another one, and only where the other one replaced it."""

import textwrap
from pathlib import Path

import pytest
from failing import failure, program

from jaxguide.explain import explain, knowledge

JITTED = """
@jax.jit
def f(x):
    return float(x)
"""
# Each ends in a failure that hides that of `f`, or that of a line which ends in `# <--`.
REPLACED = {
    "raised_from": """
        try:
            f(1.0)
        except Exception as error:
            raise RuntimeError("training failed") from error
    """,
    "raised_in_the_handler": """
        try:
            f(1.0)
        except Exception as error:
            if error:
                raise RuntimeError("training failed")
    """,
    "raised_from_none": """
        try:
            f(1.0)
        except Exception as error:
            raise RuntimeError(str(error)) from None
    """,
    "raised_twice": """
        def g():
            try:
                f(1.0)
            except Exception:
                raise RuntimeError("first")
        try:
            g()
        except RuntimeError as error:
            raise ValueError("second") from error
    """,
    "raised_again_inside": """
        @jax.jit
        def g(x):
            try:
                return int(x)  # <--
            except TypeError:
                print("failed")
                raise
        g(1.0)
    """,
    "raised_by_name": """
        @jax.jit
        def g(x):
            try:
                if x > 0:  # <--
                    return x
            except Exception as error:
                raise error
            return -x
        g(1.0)
    """,
    "a_group_of_one": """
        try:
            f(1.0)
        except Exception as error:
            raise ExceptionGroup("all", [error])
    """,
}
NOT_REPLACED = {
    "another_failure_in_the_handler": """
        try:
            f(1.0)
        except Exception:
            {}["missing"]
    """,
    "a_function_that_fails_in_the_handler": """
        def recover():
            raise OSError("no such file")
        try:
            f(1.0)
        except Exception:
            recover()
    """,
    "a_group_of_two": """
        try:
            f(1.0)
        except Exception as error:
            raise ExceptionGroup("all", [error, OSError("no such file")])
    """,
}


@pytest.fixture(autouse=True)
def rules_that_may_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "rules_may_raise", True)


@pytest.mark.parametrize("name", REPLACED)
def test_the_error_that_another_one_replaced_is_explained(name: str, tmp_path: Path) -> None:
    source = program(JITTED + textwrap.dedent(REPLACED[name]))
    explanation = explain(failure(source, tmp_path / "student.py"))
    assert explanation is not None
    lines = source.split("\n")
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# <--")]
    assert explanation.line.number == (marked or [lines.index("    return float(x)") + 1])[0]
    assert explanation.variable == "x"


@pytest.mark.parametrize("name", NOT_REPLACED)
def test_an_error_that_was_handled_before_is_not_explained(name: str, tmp_path: Path) -> None:
    assert explain(failure(program(JITTED + textwrap.dedent(NOT_REPLACED[name])), tmp_path / "student.py")) is None
