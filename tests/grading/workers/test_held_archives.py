"""Test that archives are unpacked in limited processes, and that their replies are not believed."""

import io
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from needs import ON_THE_NEWEST
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.course.judging.values import ArrayData
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone
from jaxguide.grading.batch.grade_class import ClassRun, Order
from jaxguide.grading.intake import archives, unpacking
from jaxguide.grading.intake.archives import ArchivedEntry, expand
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.intake.student_names import NO_ONE, Owner, Person
from jaxguide.grading.intake.submission import FILE_LIMIT_BYTES, UnreadableSubmission
from jaxguide.grading.isolation import find_tier
from jaxguide.grading.workers.held_archive import content_in, files_in
from jaxguide.grading.workers.reader import LIMITS, Readers
from jaxguide.grading.workers.worker_process import WorkerProcess

CODE = ANSWERS["double"].encode()
ADA = "Ada_12_assignsubmission_file_/all.zip"
BOB = "Bob_13_assignsubmission_file_/all.zip"


def no_course() -> CourseText:
    raise AssertionError("archives are read without the course")


@pytest.fixture
def readers() -> Iterator[Callable[..., Readers]]:
    """Return a function that makes readers with other limits."""
    made: list[Readers] = []

    def make(**limits: Any) -> Readers:
        made.append(Readers(no_course, tier=find_tier(), limits=Limits(**{**vars(LIMITS), **limits})))
        return made[-1]

    yield make
    for one in made:
        one.close()


def zipped(*members: tuple[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


GOOD = zipped(("hw.py", CODE))


def slow_archive() -> bytes:
    """Return a small archive whose names take seconds to examine: they are long, and no letter in them is printable."""
    chance = random.Random(1)
    names = (f"{chance.randbytes(400).hex()}{chr(0xA0) * 30_000}.py" for _member in range(190))
    inner = zipped(*((name, b"") for name in names))
    return zipped(*((f"{number}.zip", inner) for number in range(4)))


def in_class(folder: Path, *members: tuple[str, bytes], **more: Any) -> Path:
    path = folder / "class.zip"
    path.write_bytes(zipped(*members, **more))
    return path


def is_adas(request: dict[str, Any]) -> bool:
    return "owner" in request and request["owner"]["people"] == owned("Ada", moodle_id="12")["people"]


def problems(rows: list[ArchivedEntry]) -> dict[str | None, str]:
    """Return why each student's only file cannot be read, or '' if it is as it should be."""
    found = {}
    for row in rows:
        assert row.owner.name not in found
        try:
            assert row.read() == CODE
            found[row.owner.name] = ""
        except UnreadableSubmission as problem:
            found[row.owner.name] = str(problem)
    return found


@ON_THE_NEWEST
def test_an_archive_that_takes_too_long_is_a_row_and_the_next_is_read(
    tmp_path: Path, readers: Callable[..., Readers]
) -> None:
    late = "The archive takes more than 1 seconds of computing to unpack."
    rows = expand([in_class(tmp_path, (ADA, slow_archive()), (BOB, GOOD))], readers(cpu_s=1))
    assert problems(rows) == {"Ada": late, "Bob": ""}
    (tmp_path / "ada.zip").write_bytes(slow_archive())
    (tmp_path / "bob.zip").write_bytes(GOOD)
    assert problems(expand([tmp_path / "ada.zip", tmp_path / "bob.zip"], readers(cpu_s=1))) == {"ada": late, "bob": ""}


@ON_THE_NEWEST
@pytest.mark.parametrize("is_class", [False, True])
def test_an_archive_that_takes_too_much_memory_is_a_row_and_the_next_is_read(
    tmp_path: Path, readers: Callable[..., Readers], is_class: bool
) -> None:
    filling = b"".join(os.urandom(100) + bytes(4_000) for _part in range(15_000))
    large = zipped(("hw.py", CODE), ("x", filling), packing=zipfile.ZIP_STORED)
    if is_class:  # in which it is small
        paths = [in_class(tmp_path, (ADA, large), (BOB, GOOD))]
        assert paths[0].stat().st_size < 2**21
    else:
        (tmp_path / "Ada.zip").write_bytes(large)
        (tmp_path / "Bob.zip").write_bytes(GOOD)
        paths = [tmp_path / "Ada.zip", tmp_path / "Bob.zip"]
    found = problems(expand(paths, readers(memory_bytes=40 * 2**20)))
    assert found == {"Ada": "The archive takes more than 40 MB of memory to unpack.", "Bob": ""}
    assert problems(expand(paths, readers())) == {"Ada": "", "Bob": ""}


@ON_THE_NEWEST
def test_the_largest_files_in_the_largest_archives_are_read(tmp_path: Path, readers: Callable[..., Readers]) -> None:
    content = os.urandom(FILE_LIMIT_BYTES)
    inner = zipped(("hw.py", content))
    (row,) = expand([in_class(tmp_path, (ADA, zipped(("a.zip", inner))))], readers())
    assert row.read() == content


def killing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """Kill the process that should list Ada's archive, this often; return a growing list of all requests."""
    request, requests = WorkerProcess.request, list[str]()

    def killed_first(worker: WorkerProcess, operation: str, **fields: Any) -> dict[str, Any]:
        requests.append(operation)
        if is_adas(fields) and requests.count("killed") < times:
            requests.append("killed")
            processes = worker._tree.processes()
            for process in processes:
                process.kill()
            psutil.wait_procs(processes)
        return request(worker, operation, **fields)

    monkeypatch.setattr(WorkerProcess, "request", killed_first)
    return requests


@ON_THE_NEWEST  # because a process that is killed takes a while to end
@pytest.mark.parametrize("times", [1, 2])
def test_a_process_that_is_killed_is_replaced(
    tmp_path: Path, readers: Callable[..., Readers], monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path, in_processes = in_class(tmp_path, (BOB, GOOD), (ADA, GOOD)), readers()
    expand([path], in_processes)
    requests = killing(monkeypatch, times)
    assert problems(expand([path], in_processes)) == {"Ada": "", "Bob": ""}
    assert requests.count("killed") == times


@ON_THE_NEWEST
def test_an_archive_whose_processes_are_always_killed_is_a_row(
    tmp_path: Path, readers: Callable[..., Readers], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = killing(monkeypatch, 100)
    found = problems(expand([in_class(tmp_path, (ADA, GOOD), (BOB, GOOD))], readers()))
    why = "The archive could not be unpacked, so grade it again: A worker process was killed."
    assert found == {"Ada": why, "Bob": ""}
    assert requests.count("killed") == 2


def opened_here(monkeypatch: pytest.MonkeyPatch) -> list[Path | bytes]:
    """Return a growing list of the archives that this process opens."""
    opened: list[Path | bytes] = []
    open_zip = unpacking.open_zip

    def recorded(file: Path | bytes) -> Any:
        opened.append(file)
        return open_zip(file)

    monkeypatch.setattr(unpacking, "open_zip", recorded)
    return opened


@pytest.fixture
def lined_up(course: Course, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Return a function that reads the files of a class as when they are graded."""

    def read(*paths: Path) -> dict[str, str]:
        files = ClassRun(Order(paths, course, tmp_path / "results")).line.files
        return {one.student: one.entry.read().decode() for one in files if not one.superseded}

    return read


def test_the_grader_opens_no_archive_that_a_student_may_have_packed(
    tmp_path: Path, lined_up: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_here(monkeypatch)
    several = zipped(("first.py", CODE), ("more/second.zip", GOOD))
    path = in_class(tmp_path, (ADA, several), (BOB, GOOD), ("Cy_14_assignsubmission_file_/hw.py", CODE))
    assert lined_up(path) == dict.fromkeys(("Ada", "Bob", "Cy"), CODE.decode())
    assert lined_up(path / BOB / "hw.py") == {"Bob": CODE.decode()}
    (tmp_path / "di.zip").write_bytes(GOOD)
    assert set(lined_up(tmp_path)) == {"Ada", "Bob", "Cy", "di"}
    assert not opened


def enlarge(path: Path) -> Path:
    """Put more than 64 MB in front of an archive, as in one that unpacks itself."""
    content = path.read_bytes()
    with path.open("wb") as file:
        file.seek(65 * 2**20)
        file.write(content)
    return path


def test_only_the_large_archive_of_a_class_is_opened_by_the_grader(
    tmp_path: Path, lined_up: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_here(monkeypatch)
    path = enlarge(in_class(tmp_path, (ADA, GOOD), (BOB, GOOD), ("Cy_14_assignsubmission_file_/hw.py", CODE)))
    assert lined_up(path) == dict.fromkeys(("Ada", "Bob", "Cy"), CODE.decode())
    assert set(opened) == {path}


def test_a_students_large_archive_is_refused(
    tmp_path: Path, readers: Callable[..., Readers], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_here(monkeypatch)
    for name in ("ada", "bob"):
        (tmp_path / f"{name}.zip").write_bytes(GOOD)
    enlarge(tmp_path / "ada.zip")
    found = problems(expand([tmp_path / "ada.zip", tmp_path / "bob.zip"], readers()))
    assert found == {"ada": "The archive is larger than 64 MB; hand in the files themselves.", "bob": ""}
    monkeypatch.setattr(archives.Packed, "is_large", False)  # as if it had grown since
    (row, _bob) = expand([tmp_path / "ada.zip", tmp_path / "bob.zip"], readers())
    assert "larger than 64 MB" in row.problem
    assert not opened


def file(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        **{"parts": ("a", "hw.py"), "owner": owned("Ada", moodle_id="12"), "problem": ""},
        **{"date": (2024, 1, 2, 3, 4, 6), "numbers": (0,), "is_archive": False},
    }
    return {"files": [{**fields, **changes}], "more": False}


def owned(name: Any, **ids: Any) -> dict[str, Any]:
    return {"people": [{"name": name, "ids": ids}], "group": ""}


@pytest.mark.parametrize(("is_own", "is_deep"), [(False, False), (True, True)])
@pytest.mark.parametrize(
    "changes",
    [
        {"parts": ()},
        {"parts": ("..", "hw.py")},
        {"parts": ("a", "")},
        {"parts": ("a/b",)},
        {"parts": ("a\\b",)},
        {"parts": ("a\n",)},
        {"parts": ("a\u202e",)},
        {"parts": ("a\u200b",)},
        {"parts": ("x" * 256,)},
        {"parts": ("a",) * 2_000},
        {"parts": ("a\x1b[31m",), "problem": "no"},
        {"owner": None},
        {"owner": owned(1, moodle_id="12")},
        {"owner": owned("Bob", moodle_id="12")},
        {"owner": owned(None, moodle_id="12")},
        {"owner": owned("Ada", moodle_id="13")},
        {"owner": owned("Ada", moodle_id=None)},
        {"owner": owned("Ada", moodle_id="12", sid="13")},
        {"owner": {"people": owned("Ada", moodle_id="12")["people"] * 101, "group": ""}},
        {"owner": {**owned("Ada", moodle_id="12"), "group": 1}},
        {"problem": None},
        {"date": (2024,)},
        {"date": (2024, 1, 2, 3, 4, 5.0)},
        {"date": (2024, 1, 2, 3, 4, 10**9)},
        {"numbers": ()},
        {"numbers": (-1,)},
        {"numbers": (True,)},
        {"numbers": (20_000,)},
        {"numbers": (0, 0, 0)},
        {"is_archive": 1},
        {"is_archive": True, "problem": "no"},
        {"more": 1},
    ],
)
def test_a_list_that_no_archive_of_theirs_has_is_broken(changes: dict[str, Any], is_own: bool, is_deep: bool) -> None:
    owner = Owner((Person("Ada", {"moodle_id": "12"}),))
    files_in(file(), owner, is_own, is_deep)
    with pytest.raises(AnswerGone):
        files_in(file(**changes), owner, is_own, is_deep)


def test_only_of_a_class_are_there_archives_to_open_and_only_of_others_files_deeper_inside() -> None:
    to_open, deeper, deepest = file(is_archive=True), file(numbers=(0, 0)), file(numbers=(0, 0, 0))
    for reply, is_own, is_deep in ((to_open, False, False), (deeper, True, True), (deepest, False, True)):
        files_in(reply, NO_ONE, is_own, is_deep)
    for reply, is_own, is_deep in ((to_open, False, True), (deeper, False, False), (deepest, True, True)):
        with pytest.raises(AnswerGone):
            files_in(reply, NO_ONE, is_own, is_deep)


def test_text_of_a_list_is_fit_to_be_shown() -> None:
    (found,), _more = files_in(file(owner=owned("A\x1b[31mda" + "a" * 200), problem="no\x07" * 1_000), NO_ONE, True)
    assert (found.owner.name or "").startswith("Ada")
    assert (len(found.owner.name or ""), len(found.problem), found.problem[:4]) == (100, 1_000, "nono")


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"files": None, "more": False},
        {"files": [None], "more": False},
        {"files": [("a",)], "more": False},
        {"files": [], "more": None},
        {"problem": 1},
        {"part": b"x", "more": False},
        {"part": ArrayData(np.zeros(3, np.int8)), "more": False},
        {"part": ArrayData(np.zeros((3, 3), np.uint8)), "more": False},
        {"part": ArrayData(np.zeros(3, np.uint8)), "more": 0},
    ],
)
def test_a_reply_of_another_form_is_broken(reply: dict[str, Any]) -> None:
    with pytest.raises(AnswerGone):
        files_in(reply, ("Ada", "12"), True)
    with pytest.raises(AnswerGone):
        content_in(reply)


@pytest.mark.parametrize(
    "forged",
    [
        {"files": [], "more": True},
        {"files": [file()["files"][0]] * 1_000, "more": True},
        pytest.param({"part": ArrayData(np.zeros(0, np.uint8)), "more": True}, marks=ON_THE_NEWEST),
        pytest.param({"part": ArrayData(np.zeros(2**24, np.uint8)), "more": True}, marks=ON_THE_NEWEST),
    ],
)
def test_a_process_that_never_ends_its_reply_is_a_row(
    tmp_path: Path, readers: Callable[..., Readers], monkeypatch: pytest.MonkeyPatch, forged: dict[str, Any]
) -> None:
    request = WorkerProcess.request

    def forging(worker: WorkerProcess, operation: str, **fields: Any) -> dict[str, Any]:
        reply = request(worker, operation, **fields)
        about = is_adas(fields) if "files" in forged else operation == "content"
        return {**reply, **forged} if about else reply

    path, in_processes = in_class(tmp_path, (ADA, GOOD), (BOB, GOOD)), readers()
    monkeypatch.setattr(WorkerProcess, "request", forging)
    assert problems(expand([path], in_processes))["Ada"] == "The archive ends the process that unpacks it."
    monkeypatch.undo()
    assert problems(expand([path], in_processes)) == {"Ada": "", "Bob": ""}
