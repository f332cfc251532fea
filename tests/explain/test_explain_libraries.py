"""Test what `explain` says about failures of flax, haiku, optax and equinox, if they are installed."""

import sys
from pathlib import Path

import pytest
import test_explain
from explain_cases.case import Case
from library_cases import CASES

from jaxguide.explain import explain

pytestmark = pytest.mark.long


@pytest.mark.parametrize(("libraries", "case"), CASES, ids=lambda value: getattr(value, "name", ""))
def test_the_line_and_the_variable_are_right_and_every_fix_runs_when_applied(
    libraries: list[str], case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in libraries:
        pytest.importorskip(library)
    # Dataclasses look for the module of a class by its name.
    monkeypatch.setitem(sys.modules, "student", type(sys)("student"))
    test_explain.test_the_line_and_the_variable_are_right_and_every_fix_runs_when_applied(case, tmp_path)


def test_an_error_that_only_looks_like_one_of_a_library_is_left_alone(tmp_path: Path) -> None:
    source = (
        "class InvalidRngError(Exception): pass\ndef fail(): raise InvalidRngError('None needs PRNG for \"a\"')\nfail()"
    )
    assert explain(test_explain.failure(test_explain.program(source), tmp_path / "student.py")) is None
