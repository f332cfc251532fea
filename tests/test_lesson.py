"""What `check`, `hint` and `solution` do in a student's own session."""

from pathlib import Path

import pytest

from jaxguide import lesson
from jaxguide.course.progress import Progress


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    return tmp_path


WRONG = """
def two_samples(key, n, m):
    def sample(length):
        return [0.0 for _ in range(length)], {factor}
    return sample(n), sample(m)
"""


def run(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(source, names)
    return names


def test_the_solution_opens_after_three_different_tries_not_after_one_tried_often(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for factor, tries in ((1, 1), (1, 1), (1, 1), (2, 2), (3, 3)):
        lesson._check("two_samples", run(WRONG.replace("{factor}", str(factor))))
        assert len(Progress(workspace).of("two_samples").attempts) == tries
        capsys.readouterr()
        lesson.solution("two_samples")
        said = capsys.readouterr().out
        assert ("You have not passed" in said) == (tries == 3)
    lesson.solution("two_samples", sure=True)
    assert "def two_samples" in capsys.readouterr().out


def test_what_is_no_function_is_said_whichever_was_called(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call in (lesson.check, lesson.hint, lesson.solution):
        call(5)
        said = capsys.readouterr().out
        assert "of type int" in said
        assert "`check` takes" not in said
