"""Test that a batch loses nothing if it is interrupted and resumed, files are broken, or the grader is."""

import contextlib
import dataclasses
import os
import socket
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from graded_files import grade_class, without_times
from small_course import ANSWERS, write_course

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import CheckFailed
from jaxguide.grading.batch import control
from jaxguide.grading.batch.control import GraderBroken, control_submission
from jaxguide.grading.batch.grade_class import ClassRun, Order
from jaxguide.grading.batch.grader import Grader, GradeSettings, grading_threads
from jaxguide.grading.batch.store import NAME, Store, StoreError
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.workers.worker_process import GraderError

ONE = GradeSettings(only=frozenset({"double"}))


@pytest.fixture
def own_course(tmp_path: Path) -> Course:
    """Return a course that a test may change."""
    (tmp_path / "course").mkdir()
    write_course(tmp_path / "course")
    return load_course(tmp_path / "course")


@pytest.fixture
def classroom(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a class of `count` right answers."""

    def write(count: int, source: str = ANSWERS["double"]) -> Path:
        folder = tmp_path / "class"
        folder.mkdir(exist_ok=True)
        for number in range(count):
            (folder / f"s{number}.py").write_text(source)
        return folder

    return write


@dataclasses.dataclass
class Seen:
    """Record the results that a batch reports."""

    results: list[tuple[SubmissionResult, bool]] = dataclasses.field(default_factory=list)
    stop_after: int | None = None

    def __call__(self, result: SubmissionResult, is_new: bool) -> None:
        self.results.append((result, is_new))
        if self.stop_after is not None and len(self.results) >= self.stop_after:
            raise KeyboardInterrupt

    @property
    def graded(self) -> list[str]:
        return [result.student for result, is_new in self.results if is_new]


def order(course: Course, folder: Path, **more: object) -> Order:
    return Order([folder], course, folder.parent / "results", **{"settings": ONE, "jobs": 2, **more})  # type: ignore


def test_a_second_run_grades_nothing_and_comes_to_the_same(course: Course, classroom: Callable[..., Path]) -> None:
    first, second = Seen(), Seen()
    folder = classroom(3)
    batch = grade_class(order(course, folder), first)
    assert sorted(first.graded) == ["s0", "s1", "s2"]
    assert {(one.state, one.score) for one in batch.submissions} == {(State.GRADED, 1.0)}
    assert grade_class(order(course, folder), second) == batch
    assert (second.graded, len(second.results)) == ([], 3)


@pytest.mark.long
def test_a_stored_result_that_cannot_be_read_is_graded_again(course: Course, classroom: Callable[..., Path]) -> None:
    first = order(course, classroom(2))
    batch = grade_class(first)
    with sqlite3.connect(first.out / NAME) as connection:
        connection.execute("UPDATE submissions SET result = '{' WHERE result LIKE '%s1.py%'")
    connection.close()
    seen = Seen()
    assert without_times(grade_class(first, seen)) == without_times(batch)
    assert seen.graded == ["s1"]


def test_a_result_that_cannot_be_stored_is_a_row_of_its_own(
    course: Course, classroom: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    grade = Grader.grade

    def with_what_is_no_json(grader: Grader, submitted: Path | Entry) -> SubmissionResult:
        result = grade(grader, submitted)
        return dataclasses.replace(result, versions={"jax": 1j}) if result.path.stem == "s1" else result  # type: ignore

    monkeypatch.setattr(Grader, "grade", with_what_is_no_json)
    batch = grade_class(order(course, classroom(3)))
    assert [one.state for one in batch.submissions] == [State.GRADED, State.NOT_GRADED, State.GRADED]
    assert batch.submissions[1].not_graded == {
        "": "Not graded: TypeError: Object of type complex is not JSON serializable"
    }


def test_only_what_changed_is_graded_again(course: Course, classroom: Callable[..., Path]) -> None:
    folder = classroom(3)
    grade_class(order(course, folder))
    (folder / "s1.py").write_text(ANSWERS["double"] + "# a comment\n")
    seen = Seen()
    grade_class(order(course, folder), seen)
    assert seen.graded == ["s1"]


def test_an_interrupted_batch_goes_on_and_ends_as_if_it_had_not_been(
    course: Course, classroom: Callable[..., Path], tmp_path: Path
) -> None:
    folder = classroom(6)
    whole = grade_class(dataclasses.replace(order(course, folder), out=tmp_path / "whole"))
    stopped = Seen(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        grade_class(order(course, folder), stopped)
    with Store(tmp_path / "results") as store:
        partial = ClassRun(order(course, folder)).result(store)
    assert not partial.is_complete
    waiting = [one for one in partial.submissions if one.state is State.NOT_GRADED]
    assert {one.not_graded[""] for one in waiting} == {"Not graded yet: the batch was interrupted first."}
    assert len(waiting) == 4
    resumed = Seen()
    assert without_times(grade_class(order(course, folder), resumed)) == without_times(whole)
    assert len(resumed.graded) == 4


def test_stopping_ends_the_workers_that_run(course: Course, classroom: Callable[..., Path]) -> None:
    folder = classroom(1)
    (folder / "t.py").write_text("def double(x):\n    while True: pass\n")

    def workers() -> list[psutil.Process]:
        return [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]

    before = {process.pid for process in workers()}
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        grade_class(
            order(course, folder, settings=dataclasses.replace(ONE, limits=Limits(cpu_s=600))), Seen(stop_after=1)
        )
    assert time.monotonic() - started < 300
    assert {process.pid for process in workers()} <= before


def test_files_that_cannot_be_read_get_a_row_and_no_mark(course: Course, classroom: Callable[..., Path]) -> None:
    folder = classroom(1)
    (folder / "empty.py").write_text("")
    (folder / "cut.ipynb").write_text('{"cells": [')
    (folder / "bytes.py").write_bytes(b"\xff\xfe\x00")
    (folder / "other.py").write_text("x = 1\n")
    batch = grade_class(order(course, folder))
    rows = {one.path.name: one for one in batch.submissions}
    assert set(rows) == {"s0.py", "empty.py", "cut.ipynb", "bytes.py", "other.py"}
    assert {one.state for name, one in rows.items() if name != "s0.py"} == {State.UNREADABLE}
    assert rows["s0.py"].state is State.GRADED
    assert not batch.is_complete


def test_what_is_no_ordinary_file_gets_a_row_that_says_what_it_is(
    course: Course, classroom: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = classroom(1)
    links = {
        **dict.fromkeys(("link.py", "link.zip"), "/etc/hostname"),
        **dict.fromkeys(("folder.py", "folder.zip"), "/etc"),
        **dict.fromkeys(("gone.py", "gone.ipynb", "gone.zip"), "nowhere.py"),
        "elsewhere.py": "/nowhere/at/all.py",
        "circle.py": "circle2.py",
        "circle2.py": "circle.py",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    for name in ("pipe.py", "pipe.zip"):
        os.mkfifo(folder / name)
    monkeypatch.chdir(folder)  # the path of a socket may have about a hundred characters
    said = {
        **dict.fromkeys(links, "It is a link to a file that is not there."),
        **dict.fromkeys(
            ("link.py", "link.zip", "folder.py", "folder.zip"), "It is a link to another place; grade the file itself."
        ),
        **dict.fromkeys(("pipe.py", "pipe.zip"), "It is a pipe, not a file."),
        **dict.fromkeys(("ada.py", "ada.zip"), "It is a socket, not a file."),
    }
    with contextlib.ExitStack() as stack:
        for name in ("ada.py", "ada.zip"):
            stack.enter_context(socket.socket(socket.AF_UNIX)).bind(name)
        with contextlib.suppress(PermissionError):  # only root may make a device
            os.mknod("device.py", stat.S_IFCHR | 0o600, os.makedev(1, 5))
            said["device.py"] = "It is a device, not a file."
        batch = grade_class(order(course, folder))
    rows = {one.path.name: one for one in batch.submissions}
    assert {name: one.unreadable for name, one in rows.items()} == {**said, "s0.py": None}
    assert rows["s0.py"].state is State.GRADED


def test_a_students_folder_that_is_a_link_gets_a_row(course: Course, tmp_path: Path) -> None:
    for place in ("class/ada", "class/bob", "class/zoe", "elsewhere"):
        (tmp_path / place).mkdir(parents=True)
    for place in ("class/ada", "class/bob", "elsewhere"):
        (tmp_path / place / "hw.py").write_text(ANSWERS["double"])
    (tmp_path / "class" / "zoe" / "work").symlink_to(tmp_path / "elsewhere")
    batch = grade_class(order(course, tmp_path / "class"))
    assert {one.student: one.unreadable for one in batch.submissions} == {
        **dict.fromkeys(("ada", "bob"), None),
        "zoe": "It is a link to another place; grade the file itself.",
    }


def test_the_roster_gives_rows_to_the_absent_and_the_last_file_counts(
    course: Course, classroom: Callable[..., Path], tmp_path: Path
) -> None:
    folder = classroom(1)
    (folder / "s0").mkdir()
    (folder / "s0" / "again.py").write_text(ANSWERS["double"])
    os.utime(folder / "s0.py", (1, 1))
    (tmp_path / "roster.csv").write_text("student\ns0\nzoe\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "overrides.csv").write_text("student,exercise,points,comment\nzoe,double,1,on paper\n")
    batch = grade_class(order(course, folder, roster=tmp_path / "roster.csv"))
    assert [(one.student, one.state) for one in batch.submissions] == [
        ("s0", State.GRADED),
        ("s0", State.SUPERSEDED),
        ("zoe", State.ABSENT),
    ]
    assert [one.comment for one in batch.overrides] == ["on paper"]
    assert batch.submissions[-1].score == 1.0
    assert batch.is_complete


def test_the_keys_own_answers_are_graded_before_anybody_is_wrong(
    own_course: Course, classroom: Callable[..., Path]
) -> None:
    folder = classroom(2)
    for path in folder.iterdir():
        path.write_text("def double(x):\n    return 3 * x\n")
    key = own_course.exercise("double").key
    assert key is not None
    key.answer = dataclasses.replace(key.answer, source="def double(x):\n    return 7 * x\n")
    seen = Seen()
    with pytest.raises(
        GraderBroken, match=r"The key's answers to `small_numbers` do not pass here, so no one can be graded\."
    ):
        grade_class(order(own_course, folder), seen)
    assert seen.results == []


@pytest.mark.long
def test_a_grader_that_breaks_on_the_way_blames_nobody(own_course: Course, classroom: Callable[..., Path]) -> None:
    folder = classroom(14)
    exercise = own_course.exercise("double")

    def always_fails(answer: object) -> None:
        raise CheckFailed("broken")

    class Breaks(Seen):
        def __call__(self, result: SubmissionResult, is_new: bool) -> None:
            super().__call__(result, is_new)
            if len(self.results) == 3:
                exercise.checks[:] = [dataclasses.replace(check, function=always_fails) for check in exercise.checks]

    seen = Breaks()
    with pytest.raises(GraderBroken):
        grade_class(order(own_course, folder), seen)
    assert 3 <= len(seen.results) < 14
    with Store(folder.parent / "results") as store:
        batch = ClassRun(order(own_course, folder)).result(store)
    # Marks given since the last control submission that passed cannot be trusted, whether right or wrong.
    assert {one.state for one in batch.submissions} == {State.NOT_GRADED}


@pytest.mark.long
def test_the_control_is_graded_again_after_some_submissions(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "EVERY", 2)
    entry = Entry(Path("ada.py"), ANSWERS["double"].encode())
    grader = Grader(course, ONE)
    assert [grader.grade_controlled(entry)[1] for _time in range(5)] == [0, 0, 1, 1, 2]
    # If marks are shown at once, the control submission is graded before the first mark, too.
    grader = Grader(course, ONE, tell=lambda path, result: None)
    assert [grader.grade_controlled(entry)[1] for _time in range(5)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("source", "controls"), [("def double(x):\n    return 3 * x\n", 1), ("x = double\n", 1), (ANSWERS["double"], 0)]
)
def test_no_mark_is_less_than_full_before_the_control_has_passed(course: Course, source: str, controls: int) -> None:
    grader = Grader(course, ONE)
    grader.grade_controlled(Entry(Path("ada.py"), source.encode()))
    assert grader.control.passed == controls


def test_the_control_of_a_lesson_without_submissions_is_not_graded(course: Course) -> None:
    grader = Grader(course, ONE)
    result, passed, _name = grader.grade_controlled(Entry(Path("ada.py"), b"x = 1\n"))
    assert (result.state, passed) == (State.UNREADABLE, 0)


def test_the_control_submission_is_right_in_everything(course: Course) -> None:
    (book,) = course.books.values()
    result = Grader(course, GradeSettings()).grade(control_submission(book))
    assert (result.score, result.points) == (7.0, 7.0)


class FailsSometimes(Grader):
    """Grade all files except `s1.py`, which raises."""

    def grade(self, submitted: Path | Entry) -> SubmissionResult:  # type: ignore[override]
        if not isinstance(submitted, Path) and submitted.path.name == "s1.py":
            raise OSError("no more descriptors")
        return super().grade(submitted)


def test_a_submission_that_the_grader_fails_on_is_not_graded_and_stops_no_other(
    course: Course, classroom: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxguide.grading.batch.grader.Grader", FailsSometimes)
    folder = classroom(3)
    batch = grade_class(order(course, folder))
    assert [one.state for one in batch.submissions] == [State.GRADED, State.NOT_GRADED, State.GRADED]
    assert batch.submissions[1].not_graded == {"": "Not graded: OSError: no more descriptors"}
    monkeypatch.undo()
    seen = Seen()
    assert grade_class(order(course, folder), seen).is_complete
    assert seen.graded == ["s1"]


@pytest.mark.long
def test_what_the_disk_does_not_take_ends_the_batch(
    course: Course, classroom: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = classroom(3)

    def full(self: Store, key: object, result: object) -> int:
        raise StoreError("There is no space left")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "record", full)
        with pytest.raises(StoreError, match="no space left"):
            grade_class(order(course, folder))
    assert grade_class(order(course, folder)).is_complete


def test_at_most_a_few_files_are_held_in_memory(
    course: Course, classroom: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is short: as long as no file is graded, at most two are read for each job."""
    run = ClassRun(order(course, classroom(20)))
    waiting, most = set[Path](), 0
    read = Entry.read

    def count(entry: Entry) -> bytes:
        nonlocal most
        waiting.add(entry.path)
        most = max(most, len(waiting))
        return read(entry)

    def slowly(grader: Grader, entry: Entry) -> tuple[SubmissionResult, int, str]:
        time.sleep(0.01)
        waiting.discard(entry.path)
        return SubmissionResult(entry.path, "?"), 1, ""

    monkeypatch.setattr(Entry, "read", count)
    monkeypatch.setattr(Grader, "grade_controlled", slowly)
    with Store(run.order.out) as store:
        run.grade(store)
        assert len(run.result(store).submissions) == 20
    assert most <= 5  # the last is read before it waits for a place


@pytest.mark.long
def test_graders_in_threads_give_each_student_their_own_marks(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(8):
        (folder / f"s{number}.py").write_text(f"def double(x):\n    print({number})\n    return {number} * x\n")
    batch = grade_class(order(course, folder, jobs=4))
    assert [one.score for one in batch.submissions] == [0, 0, 1.0, 0, 0, 0, 0, 0]
    printed = [one.results[0].printed.split() for one in batch.submissions]
    assert [set(words) for words in printed] == [{str(number)} for number in range(8)]


def test_a_grader_that_was_stopped_starts_no_worker(course: Course) -> None:
    grader = Grader(course, ONE)
    with grading_threads(1, grader.stop):
        pass
    with pytest.raises(GraderError, match="stopped"):
        grader.grade(Entry(Path("ada.py"), ANSWERS["double"].encode()))
