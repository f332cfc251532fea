"""Test how the session's screen changes text before showing it."""

from pathlib import Path

import pytest

from jaxguide.student.screen import Screen


def test_a_hint_in_python_keeps_its_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code = "@jax.jit\ndef f(x):\n    y = ____\n    return y\n\nprint(f(1.0))"
    Screen(Path(), has_keys=False).hint("Hint 3 of 4 for f", code)
    shown = capsys.readouterr().out
    assert [line.rstrip() for line in shown.splitlines()][-6:] == [f"  {line}".rstrip() for line in code.splitlines()]
