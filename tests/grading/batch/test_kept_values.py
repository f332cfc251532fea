"""Test that values of the key's answers are cached between batches, out of reach of submissions."""

import dataclasses
import os
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.grading.batch import references
from jaxguide.grading.batch.grader import GradeSettings, open_grader
from jaxguide.grading.batch.references import References
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.isolation.stack import Isolation
from jaxguide.grading.workers.shared_programs import OWN, VALUES, folder_of

NOTHING_COUNTED = {"wall_s": 0.0, "cpu_s": 0.0, "memory_bytes": 0}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the key's answers that were run."""
    found: list[str] = []
    run_answer = references.run_answer

    def noted(book: object, source: str, filename: str) -> object:
        found.append(filename)
        return run_answer(book, source, filename)  # type: ignore[arg-type]

    monkeypatch.setattr(references, "run_answer", noted)
    return found


def ask(course: Course, file: Path | None) -> References:
    shared, exercise = References(file), course.exercise("double")
    answer = shared.of(exercise, course.book_of(exercise))
    assert answer is not None
    np.testing.assert_array_equal(answer(jnp.arange(3.0)).values, [0, 2, 4])
    return shared


def graded(course: Course, cache: Path, **settings: object) -> SubmissionResult:
    with open_grader(course, GradeSettings(compile_cache=cache, **settings)) as grader:  # type: ignore[arg-type]
        result, *_confirmed = grader.grade_controlled(Entry(Path("ada.py"), "\n\n".join(ANSWERS.values()).encode()))
    return dataclasses.replace(result, **NOTHING_COUNTED)  # type: ignore[arg-type]


def test_a_value_is_computed_once_for_all_batches(course: Course, tmp_path: Path, runs: list[str]) -> None:
    file = tmp_path / "kept" / "values"
    ask(course, file).keep_for_later()
    assert runs == ["<reference double>"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["values"]
    ask(course, file)
    assert len(runs) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(file.read_bytes().replace(b"JGW1", b"JGW2")),
        lambda file: file.write_bytes(b""),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: file.parent.chmod(0o777),
    ],
    ids=["cut off", "changed", "empty", "gone", "a folder", "for others to write"],
)
def test_what_is_damaged_or_open_to_others_is_computed_anew(
    course: Course, tmp_path: Path, runs: list[str], damage: object
) -> None:
    file = tmp_path / "kept" / "values"
    ask(course, file).keep_for_later()
    damage(file)  # type: ignore[operator]
    ask(course, file).keep_for_later()
    assert len(runs) == 2


def test_a_folder_that_cannot_be_written_stops_nothing(course: Course, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ask(course, tmp_path / "file" / "values").keep_for_later()


def test_a_second_batch_runs_no_answer_of_the_key_and_comes_to_the_same(
    course: Course, tmp_path: Path, runs: list[str]
) -> None:
    first = graded(course, tmp_path)
    assert first.score == first.points
    assert runs
    runs.clear()
    assert graded(course, tmp_path) == first
    assert runs == []
    # A different seed draws different inputs.
    assert graded(course, tmp_path, seed=7).score == first.score
    assert runs


def test_with_incomplete_isolation_nothing_is_kept_that_decides(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    incomplete = Isolation((), ("Landlock: not there",))
    monkeypatch.setattr("jaxguide.grading.batch.grader.find_isolation", lambda: incomplete)
    assert graded(course, tmp_path, trust_submissions=True).score == 7.0
    assert not (tmp_path / VALUES).exists()
    assert not (tmp_path / OWN).exists()


LOOKS = f"""
import os

def double(x):
    seen = []
    for name in ("{VALUES}", "{OWN}"):
        try:
            path = os.path.join(FOLDER, name)
            seen.append(os.listdir(path) if os.path.isdir(path) else open(path, "rb").read())
        except OSError as error:
            seen.append(type(error).__name__)
    print(*seen)
    return 2 * x
"""


def test_no_submission_sees_them(course: Course, tmp_path: Path) -> None:
    graded(course, tmp_path)
    assert (tmp_path / VALUES).is_file()
    assert os.listdir(tmp_path / OWN)
    source = f"FOLDER = {str(tmp_path)!r}\n{LOOKS}"
    settings = GradeSettings(compile_cache=tmp_path, only=frozenset({"double"}))
    with open_grader(course, settings) as grader:
        result, *_confirmed = grader.grade_controlled(Entry(Path("ada.py"), source.encode()))
    errors = {"FileNotFoundError", "PermissionError"}
    assert set(result.results[0].printed.split()) <= errors
    assert result.score == 1.0


def test_another_state_of_this_code_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxguide.grading.workers import shared_programs

    before = folder_of("course")
    assert folder_of("course") == before
    package = tmp_path / "jaxguide" / "grading" / "workers"
    package.mkdir(parents=True)
    (package / "grade.py").write_text("x = 1\n")
    monkeypatch.setattr(shared_programs, "__file__", str(package / "compile_cache.py"))
    other = folder_of("course")
    (package / "grade.py").write_text("x = 22\n")
    assert len({before, other, folder_of("course")}) == 3
