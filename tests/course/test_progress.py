"""Test what is recorded of a student's progress, and that files of earlier versions are read."""

import json
import shutil
from pathlib import Path

import pytest

from jaxguide.course.progress import Progress, has_progress, progress_paths, read_progress
from jaxguide.course.verdict import ExerciseResult, Verdict


def _result(verdict: Verdict) -> ExerciseResult:
    return ExerciseResult("walk", "A walk", "random_numbers", 1.0, verdict, 0.0)


def test_the_first_check_is_noted_once(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.note(_result(Verdict.NOT_ATTEMPTED), "a")
    assert progress.of("walk").started_s is None
    progress.note(_result(Verdict.FAILED), "a")
    failed = progress.of("walk")
    assert failed.started_s is not None
    progress.update("walk", started_s=failed.started_s - 240)
    progress.note(_result(Verdict.PASSED), "b")
    assert progress.of("walk").started_s == failed.started_s - 240


@pytest.mark.parametrize("times", [{}, {"started_s": 0, "passed_s": 240}])
def test_progress_files_of_earlier_versions_are_read(times: dict[str, int]) -> None:
    old = {"version": 1, "exercises": {"walk": {"passed": True, "attempts": ["a"], "hints": 2, "guess": None, **times}}}
    walk = read_progress(json.dumps(old).encode())["walk"]
    assert (walk.passed, walk.hints, walk.started_s) == (True, 2, times.get("started_s"))


@pytest.mark.parametrize(
    "entry",
    [
        '{"hints": "many"}',
        '{"attempts": 7}',
        '{"unknown": 1}',
        "[]",
        "null",
        '{"started_s": "yesterday"}',
    ],
)
def test_damaged_progress_is_set_aside(tmp_path: Path, entry: str) -> None:
    progress = Progress(tmp_path)
    progress.path.parent.mkdir()
    progress.path.write_text(f'{{"version": 1, "exercises": {{"walk": {entry}}}}}')
    assert progress.everything() == {}
    assert progress.trouble
    assert not progress.path.exists()


def test_progress_moves_with_its_folder_and_lies_in_no_students_way(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    Progress(mine).update("walk", passed=True, is_place=True)
    Progress(mine, "physics").update("walk", hints=2)
    assert [path.name for path in mine.iterdir()] == [".jaxguide"]
    shutil.move(mine, tmp_path / "moved")
    assert Progress(tmp_path / "moved").of("walk").passed
    assert Progress(tmp_path / "moved").place == "walk"
    assert Progress(tmp_path / "moved", "physics").of("walk").hints == 2


@pytest.mark.parametrize("identity", ["jaxguide", "physics"])
def test_a_file_of_an_earlier_version_is_read_and_moved_at_the_first_change(tmp_path: Path, identity: str) -> None:
    path, old = progress_paths(tmp_path, identity)
    kept = {"version": 1, "place": "run", "exercises": {"walk": {"passed": True}}}
    old.write_text(json.dumps(kept))
    (tmp_path / ".jaxguide-progress.lock").touch()
    progress = Progress(tmp_path, identity)
    assert (progress.of("walk").passed, progress.place) == (True, "run")
    assert has_progress(tmp_path, identity)
    assert not path.exists(), "reading must not write"
    progress.update("run", hints=1)
    assert [path.name for path in tmp_path.iterdir()] == [".jaxguide"]
    assert (progress.of("walk").passed, progress.of("run").hints, progress.place) == (True, 1, "run")
    assert has_progress(tmp_path, identity)


def test_an_old_file_beside_a_new_one_is_left_alone(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.update("walk", hints=1)
    old = tmp_path / "jaxguide-progress.json"
    old.write_text('{"version": 1, "exercises": {"walk": {"hints": 3}}}')
    assert progress.update("run", hints=1) == progress.of("run")
    assert progress.of("walk").hints == 1
    assert old.is_file()


def test_an_old_file_stays_if_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".jaxguide").touch()
    old = tmp_path / "jaxguide-progress.json"
    old.write_text('{"version": 1, "exercises": {"walk": {"passed": true}}}')
    progress = Progress(tmp_path)
    progress.update("run", hints=1)
    assert progress.trouble
    assert progress.of("walk").passed
