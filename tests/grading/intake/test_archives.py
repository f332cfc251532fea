"""Test that archives exported by learning platforms are read, and that malicious archives do no harm."""

import contextlib
import io
import json
import os
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.intake import file_search, file_to_grade
from jaxguide.grading.intake.file_search import expand, find_entries, find_submissions
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.lineup import line_up
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.intake.student_names import ClassList, resolved_owners
from jaxguide.grading.intake.submission import FILE_LIMIT_BYTES, UnreadableSubmission, parse_submission
from jaxguide.grading.workers.reader import Readers

CODE = ANSWERS["double"].encode()
Members = Iterable[tuple[str | zipfile.ZipInfo, bytes]]


def zip_bytes(members: Members) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def packed(folder: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    path = folder / "class.zip"
    path.write_bytes(zip_bytes(members))
    return path


def expanded(folder: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> list[Entry]:
    return expand([packed(folder, *members)])


def unpack(folder: Path, members: Members) -> None:
    with zipfile.ZipFile(io.BytesIO(zip_bytes(members))) as archive:
        archive.extractall(folder)


def students_of(*paths: Path) -> dict[str | None, bool]:
    """Return the students that files are of, and whether each file contains something to grade."""
    students: dict[str | None, bool] = {}
    entries = find_entries(paths, paths[0] / "results")
    for entry, owner in zip(entries, resolved_owners([entry.owner for entry in entries], ClassList()), strict=True):
        student = owner.name
        assert student not in students
        students[student] = False
        with contextlib.suppress(UnreadableSubmission):
            students[student] = entry.read() == CODE
    return students


def only(rows: list[Entry]) -> Entry:
    (row,) = rows
    return row


def why_not(row: Entry) -> str:
    with pytest.raises(UnreadableSubmission) as problem:
        row.read()
    return str(problem.value)


EXPORTS = {
    "Moodle": (
        [
            ("Ada Byron_1201_assignsubmission_file_/small_numbers.ipynb", CODE),
            ("Bob Lee_1202_assignsubmission_file_/hw_12_345_x.py", CODE),
            ("Cy Oh_1203_assignsubmission_onlinetext_/onlinetext.html", b"<p>I am ill"),
        ],
        {"Ada Byron": True, "Bob Lee": True, "Cy Oh": False},
    ),
    "Moodle 4": (
        [
            ("Ada Byron_1201_assignsubmission_file/small_numbers.ipynb", CODE),
            ("Bob Lee_1202_assignsubmission_file/parts/hw_12_345_x.py", CODE),
            ("Cy Oh_1203_assignsubmission_onlinetext/onlinetext.html", b"<p>I am ill"),
            ("Di_1204_assignsubmission_onlinetext/onlinetext.html", b"<p>See my file"),
            ("Di_1204_assignsubmission_file/hw.py", CODE),
        ],
        {"Ada Byron": True, "Bob Lee": True, "Di": True, "Cy Oh": False},
    ),
    "Moodle without folders": (
        [("Ada Byron_1201_assignsubmission_file_hw.py", CODE), ("Bob_2_assignsubmission_file_hw.py", CODE)],
        {"Ada Byron": True, "Bob": True},
    ),
    "Canvas": (
        [("byronada_31_4711_homework.ipynb", CODE), ("leebob_LATE_32_4712_homework-2.ipynb", CODE)],
        {"byronada": True, "leebob": True},
    ),
    "Gradescope": (
        [
            (
                "assignment_9_export/submission_metadata.yml",
                b"---\nsubmission_77:\n  :submitters:\n  - :name: Ada Byron\n    :sid: '1'\n  - :name: Bob Lee\n"
                b"  :score: 0.0\nsubmission_78:\n  :submitters:\n  - :name: Cy Oh\n",
            ),
            ("assignment_9_export/submission_77/hw.py", CODE),
            ("assignment_9_export/submission_78/hw.py", CODE),
        ],
        {"Ada Byron + Bob Lee": True, "Cy Oh": True},
    ),
    "an archive for each student": (
        [("ada.zip", zip_bytes([("hw/hw.ipynb", CODE)])), ("bob.zip", zip_bytes([("notes.pdf", b"%PDF")]))],
        {"ada": True, "bob": False},
    ),
    "Moodle with an archive inside": (
        [("Ada Byron_1201_assignsubmission_file_/my work.zip", zip_bytes([("hw_12_345_x.py", CODE)]))],
        {"Ada Byron": True},
    ),
    "Moodle with an archive and no folders": (
        [("Ada Byron_1201_assignsubmission_file_my work.zip", zip_bytes([("a/b/hw_12_345_x.py", CODE)]))],
        {"Ada Byron": True},
    ),
}


@pytest.mark.parametrize("system", EXPORTS)
def test_an_export_names_its_students(tmp_path: Path, system: str) -> None:
    members, students = EXPORTS[system]
    rows = expanded(tmp_path, *members)
    assert {row.owner.name: not row.problem for row in rows} == students
    assert [row.read() for row in rows if not row.problem] == [CODE] * sum(students.values())
    assert all(row.path.is_relative_to(tmp_path / "class.zip") for row in rows)


def test_two_students_of_one_name_are_two(tmp_path: Path) -> None:
    names = [f"Ada Byron_{n}_assignsubmission_file_/hw.{suffix}" for n, suffix in ((12, "py"), (13, "pdf"))]
    (tmp_path / "class.zip").write_bytes(zip_bytes((name, CODE) for name in names))
    unpack(tmp_path, [("Ada Byron_14_assignsubmission_file/hw.py", CODE)])
    assert students_of(tmp_path) == {"Ada Byron (14)": True, "Ada Byron (12)": True, "Ada Byron (13)": False}


@pytest.mark.parametrize("system", [system for system in EXPORTS if "Moodle" in system])
def test_an_unpacked_moodle_export_names_the_same_students(tmp_path: Path, system: str) -> None:
    members, students = EXPORTS[system]
    unpack(tmp_path / "week1", members)
    assert students_of(tmp_path) == students
    assert students_of(*sorted((tmp_path / "week1").iterdir())) == students


def test_folders_that_only_look_like_an_export_name_nobody(tmp_path: Path) -> None:
    unpack(tmp_path, [("byronada_31_4711_homework.ipynb", CODE), ("Ada_assignsubmission_file_/hw.py", CODE)])
    entries = find_entries([tmp_path], tmp_path / "results")
    assert [entry.owner.name for entry in entries] == [None, None]


def test_archives_side_by_side_are_a_student_each_and_a_single_one_is_a_class(tmp_path: Path) -> None:
    (tmp_path / "ada.zip").write_bytes(zip_bytes([("hw.py", CODE)]))
    assert only(expand(find_submissions([tmp_path], [".zip"]))).owner.name is None
    (tmp_path / "bob.ZIP").write_bytes(zip_bytes([("hw.py", CODE)]))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "cy.zip").write_bytes(zip_bytes([("hw.py", CODE)]))
    assert [row.owner.name for row in expand(find_submissions([tmp_path], [".zip"]))] == ["ada", "bob"]


def test_a_notebook_with_a_suffix_in_capitals_is_read_as_one(tmp_path: Path) -> None:
    content = json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}]}).encode()
    row = only(expanded(tmp_path, ("x.IPYNB", content)))
    (cell,) = parse_submission(row.path, row.read()).cells
    assert (cell.label, cell.source) == ("code cell 1", "x = 1")


def test_what_programs_put_into_archives_is_passed_over(tmp_path: Path) -> None:
    names = ["__MACOSX/._hw.py", ".ipynb_checkpoints/hw-checkpoint.ipynb", "a/__pycache__/hw.py", "a/.git/x.py"]
    assert only(expanded(tmp_path, *((name, CODE) for name in names), ("a/hw.py", CODE))).path.name == "hw.py"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../../evil.py", "out of the archive"),
        ("a/../../../evil.py", "out of the archive"),
        ("/etc/evil.py", "out of the archive"),
        ("..\\..\\evil.py", "out of the archive"),
        ("C:\\evil.py", "out of the archive"),
        ("C:/evil.py", "out of the archive"),
        ("e\x1b[31mvil.py", "invisible characters"),
        ("e\nvil.py", "invisible characters"),
        ("ev\u202eyp.il.py", "invisible characters"),
        ("x" * 300 + ".py", "too long"),
        ("a/" * 600 + "evil.py", "too long"),
        ("\xa0" * 30_000 + "/../evil.py", "too long"),
    ],
)
def test_a_name_that_is_none_has_a_row_and_is_not_read(tmp_path: Path, name: str, says: str) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    bad, good = expanded(inside, (name, CODE), ("good.py", CODE))
    assert says in why_not(bad)
    assert good.read() == CODE
    assert str(bad.path).isprintable()
    assert bad.path.is_relative_to(inside / "class.zip")
    assert ".." not in bad.path.parts
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [inside / "class.zip"]


@pytest.mark.parametrize("name", ["CON.py", "aux.ipynb", "nul.py", "hw .py", "hw..py", "a:b.py", "-rf.py", "$(x).py"])
def test_names_that_only_some_systems_refuse_are_read(tmp_path: Path, name: str) -> None:
    assert only(expanded(tmp_path, (name, CODE))).read() == CODE


def test_letters_are_compared_in_one_form_and_of_equal_names_the_last_counts(tmp_path: Path) -> None:
    composed, apart = "Ren\u00e9/hw.py", "Rene\u0301/hw.py"
    first, last = expanded(tmp_path, (apart, b"first = 1"), (composed, b"last = 1"))
    assert first.path == last.path
    assert "A later file of the same name" in why_not(first)
    assert last.read() == b"last = 1"


def a_link() -> zipfile.ZipInfo:
    member = zipfile.ZipInfo("hw.py")
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return member


def a_pipe() -> zipfile.ZipInfo:
    member = zipfile.ZipInfo("hw.py")
    member.create_system, member.external_attr = 3, (stat.S_IFIFO | 0o777) << 16
    return member


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    assert "link" in why_not(only(expanded(tmp_path, (a_link(), b"/etc/passwd"))))
    assert "not an ordinary file" in why_not(only(expanded(tmp_path, (a_pipe(), b""))))


def test_an_archive_that_is_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "class.zip")
    assert why_not(only(expand(find_submissions([tmp_path], [".zip"])))) == "It is a pipe, not a file."


@pytest.mark.long
def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb, good = expanded(tmp_path, ("bomb.py", b" " * 40 * 2**20), ("good.py", CODE))
    assert "compressed more than 200 to 1" in why_not(bomb)
    assert good.read() == CODE
    inner = zip_bytes([("hw.py", CODE), ("more.txt", b"\0" * 2**26)])
    assert "compressed" in why_not(only(expanded(tmp_path, ("ada.zip", zip_bytes([("bomb.zip", inner * 40)])))))
    large = os.urandom(2**20)
    row = only(expanded(tmp_path, ("large.py", large * 60)))
    assert "larger than 50 MB" in why_not(row)


def test_a_file_that_says_it_is_small_gives_no_more_than_it_says(tmp_path: Path) -> None:
    content = zip_bytes([("hw.py", b" " * 2**20)])
    lying = content.replace(struct.pack("<I", 2**20), struct.pack("<I", 100))
    assert lying != content
    (tmp_path / "class.zip").write_bytes(lying)
    assert "damaged" in why_not(only(expand([tmp_path / "class.zip"])))


def test_archives_in_archives_are_read_to_a_depth_of_two(tmp_path: Path) -> None:
    content = zip_bytes([("hw.py", CODE)])
    for depth in range(1, 3):
        content = zip_bytes([(f"level{depth}.zip", content)])
    (tmp_path / "class.zip").write_bytes(content)
    assert only(expand([tmp_path / "class.zip"])).read() == CODE
    (tmp_path / "class.zip").write_bytes(zip_bytes([("level3.zip", content)]))
    row = only(expand([tmp_path / "class.zip"]))
    assert "more than 2 deep" in why_not(row)
    assert row.owner.name == "level3"


def test_a_quine_of_archives_ends(tmp_path: Path) -> None:
    content = zip_bytes([("hw.py", CODE)])
    for _depth in range(20):
        content = zip_bytes([("a.zip", content), ("b.zip", content)])
    (tmp_path / "class.zip").write_bytes(content)
    rows = expand([tmp_path / "class.zip"])
    assert len(rows) == 8
    assert all("deep" in why_not(row) for row in rows)


def test_one_students_thousand_files_are_one_row_and_cost_no_other(tmp_path: Path) -> None:
    many = zip_bytes((f"{n}.py", b"x") for n in range(1_000))
    bad, good = expanded(tmp_path, ("ada.zip", many), ("bob.zip", zip_bytes([("hw.py", CODE)])))
    assert "contains 1000 files of one student; at most 200" in why_not(bad)
    assert (bad.owner.name, good.owner.name) == ("ada", "bob")
    assert good.read() == CODE


def test_one_students_own_archive_of_many_files_is_one_row_too(tmp_path: Path) -> None:
    (tmp_path / "ada.zip").write_bytes(zip_bytes((f"{n}.py", b"x") for n in range(201)))
    (tmp_path / "bob.zip").write_bytes(zip_bytes((f"{n}.py", CODE) for n in range(200)))
    bad, *good = expand(find_submissions([tmp_path], [".zip"]))
    assert why_not(bad) == "The archive contains 201 files of one student; at most 200 are read."
    assert (bad.owner.name, bad.path.name) == ("ada", "ada.zip")
    assert [row.owner.name for row in good] == ["bob"] * 200


def test_an_archive_of_too_many_files_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_to_grade, "MEMBERS_LIMIT", 10)
    path = packed(tmp_path, *((f"{n}.py", b"x") for n in range(11)))
    assert "contains 11 files; at most 10" in why_not(only(expand([path])))
    monkeypatch.setattr(file_to_grade, "DIRECTORY_LIMIT_BYTES", 100)
    path = packed(tmp_path, *((f"{n}.py", b"x") for n in range(5)))
    assert "lists too many files" in why_not(only(expand([path])))


def test_what_one_student_packs_into_each_other_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_search, "_OWN_LIMIT_BYTES", 2**20)
    inner = zip_bytes([("hw.py", CODE), ("x", os.urandom(400_000))])
    folders = ("Ada_12_assignsubmission_file_", "Bob_13_assignsubmission_file_")
    packed(tmp_path, *((f"{folder}/{number}.zip", inner) for folder in folders for number in range(3)))

    def too_large(row: Entry) -> int:
        return int(row.problem.removeprefix("The archive and those in it contain more than ")[0]) if row.problem else 0

    for around, limits in ((4, [0, 0, 1, 0, 0, 1]), (1, [0, 0, 1, 1, 1, 1])):
        monkeypatch.setattr(file_search, "_TOTAL_LIMIT_BYTES", around * 2**20)
        assert [too_large(row) for row in expand([tmp_path / "class.zip"])] == limits


def test_a_students_large_archive_is_refused(tmp_path: Path) -> None:
    content = zip_bytes([("hw.py", CODE)])
    for name, size in (("ada", file_to_grade.PACKED_LIMIT_BYTES), ("bob", 0)):
        with (tmp_path / f"{name}.zip").open("wb") as file:
            file.seek(size)  # as in an archive that unpacks itself
            file.write(content)
    large, good = expand(find_submissions([tmp_path], [".zip"]))
    assert why_not(large) == "The archive is larger than 64 MB; hand in the files themselves."
    assert good.read() == CODE
    assert only(expand([large.path])).read() == CODE  # alone, it may be a class's


@pytest.mark.long
def test_the_largest_files_in_the_largest_archives_are_read(tmp_path: Path) -> None:
    content = os.urandom(FILE_LIMIT_BYTES)
    inner = zip_bytes([("hw.py", content)])
    assert only(expanded(tmp_path, ("ada.zip", zip_bytes([("a.zip", inner)])))).read() == content


def test_encrypted_files_ask_for_open_ones(tmp_path: Path) -> None:
    content = bytearray(zip_bytes([("hw.py", CODE)]))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "class.zip").write_bytes(content)
    assert "without a password" in why_not(only(expand([tmp_path / "class.zip"])))


def test_packings_that_take_what_memory_they_like_are_refused(tmp_path: Path) -> None:
    for packing in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        member = zipfile.ZipInfo("hw.py")
        member.compress_type = packing
        assert "ordinary zip archive" in why_not(only(expanded(tmp_path, (member, CODE))))


@pytest.mark.parametrize("name", ["work.tar.gz", "work.rar", "work.7z", "work.tgz"])
def test_archives_of_other_kinds_have_a_row_that_says_so(tmp_path: Path, name: str) -> None:
    row = only(expanded(tmp_path, (f"Ada_12_assignsubmission_file_/{name}", b"x")))
    assert row.owner.name == "Ada"
    assert "hand in a zip archive" in why_not(row)


def test_damage_is_said_of_the_file_that_has_it(tmp_path: Path) -> None:
    content = zip_bytes([("bad.py", os.urandom(5000)), ("good.py", CODE)])
    (tmp_path / "class.zip").write_bytes(content[:1000] + b"\0" * 100 + content[1100:])
    bad, good = expand([tmp_path / "class.zip"])
    assert "damaged in the archive" in why_not(bad)
    assert good.read() == CODE


def test_no_bytes_of_an_archive_stop_the_grader(tmp_path: Path) -> None:
    """Changing any byte, or truncating at any place, gives rows or one error message, and no other exception."""
    content = zip_bytes([("ada_12_345_hw.py", CODE), ("bob.zip", zip_bytes([("hw.py", CODE)]))])
    path = tmp_path / "class.zip"
    for place in range(len(content)):
        for broken in (content[:place], content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]):
            path.write_bytes(broken)
            rows = expand([path])
            assert rows
            for row in rows:
                with contextlib.suppress(UnreadableSubmission):
                    row.read()


def test_a_directory_of_64_bit_sizes_is_measured_before_it_is_read(tmp_path: Path) -> None:
    end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**25, 0)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, 0, 1)
    tail = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0)
    (tmp_path / "class.zip").write_bytes(bytes(2**25) + end + locator + tail)
    assert "lists too many files" in why_not(only(expand([tmp_path / "class.zip"])))
    (tmp_path / "class.zip").write_bytes(end + locator + tail)
    assert "damaged" in why_not(only(expand([tmp_path / "class.zip"])))


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive", zlib.compress(CODE), b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_one_row(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "class.zip").write_bytes(content)
    assert "archive" in why_not(only(expand([tmp_path / "class.zip"])))


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set this process's clock to Tokyo's, of which the processes that unpack know nothing."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_the_time_of_a_file_is_when_it_was_changed(tmp_path: Path) -> None:
    old, new = zipfile.ZipInfo("old.py", (2024, 1, 2, 3, 4, 6)), zipfile.ZipInfo("new.py", (2024, 1, 2, 3, 4, 8))
    first, second = expanded(tmp_path, (old, CODE), (new, CODE))
    assert second.modified_s - first.modified_s == 2
    assert time.localtime(first.modified_s)[:6] == (2024, 1, 2, 3, 4, 6)


@pytest.mark.long
def test_one_students_archive_takes_no_room_from_the_next(tmp_path: Path) -> None:
    full = zip_bytes([*((f"{number}.txt", b"") for number in range(19_990)), ("hw.py", CODE)])
    members: Members = [
        ("Ann_12_assignsubmission_file_/all.zip", full),
        ("Bob_13_assignsubmission_file_/all.zip", full),
    ]
    (tmp_path / "class.zip").write_bytes(zip_bytes(members))
    assert [(row.owner.name, row.problem) for row in expand([tmp_path / "class.zip"])] == [("Ann", ""), ("Bob", "")]


def test_what_students_pack_names_no_students(tmp_path: Path) -> None:
    metadata = b"submission_7:\n  :submitters:\n  - :name: Bob\n"
    own = zip_bytes([("submission_metadata.yml", metadata), ("submission_7/hw.py", CODE), ("x.yml", b" " * 10**6)])
    top = [("submission_metadata.yml", b" " * 10**6 + b"x"), ("Ada_12_assignsubmission_file_/all.zip", own)]
    (tmp_path / "class.zip").write_bytes(zip_bytes(top))
    assert [row.owner.name for row in expand([tmp_path / "class.zip"])] == ["Ada"]
    (tmp_path / "class.zip").write_bytes(
        zip_bytes(
            [("submission_metadata.yml", metadata), ("submission_7/Eve_1_assignsubmission_file_/hw.py", CODE)],
        )
    )
    assert [row.owner.name for row in expand([tmp_path / "class.zip"])] == ["Bob"]


def test_a_students_archive_is_unpacked_once_for_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = zip_bytes([(f"{number}.py", CODE) for number in range(5)])
    path = packed(tmp_path, *((f"{name}_12_assignsubmission_file_/all.zip", own) for name in ("Ada", "Bob", "Cy")))
    rows = expand([path])
    limits: list[int] = []
    read_member = file_to_grade.read_member

    def recorded(archive: zipfile.ZipFile, number: int, limit_bytes: int) -> bytes:
        limits.append(limit_bytes)
        return read_member(archive, number, limit_bytes)

    monkeypatch.setattr(file_to_grade, "read_member", recorded)
    assert [row.read() for row in rows] == [CODE] * 15
    assert limits.count(file_to_grade.PACKED_LIMIT_BYTES) == 3


def test_an_archive_that_has_changed_says_so(tmp_path: Path) -> None:
    _first, last = expanded(tmp_path, ("1.py", CODE), ("2.py", CODE))
    assert last.read() == CODE
    packed(tmp_path, ("1.py", CODE))
    assert why_not(last) == "The archive has changed since its files were listed."


def test_a_class_in_an_archive_is_lined_up_and_graded(course: Course, tmp_path: Path) -> None:
    newer = zipfile.ZipInfo("Ada Byron_12_assignsubmission_file_/again.py", (2024, 5, 1, 0, 0, 0))
    older = zipfile.ZipInfo("Ada Byron_12_assignsubmission_file_/first.py", (2024, 4, 1, 0, 0, 0))
    members = [(newer, CODE), (older, CODE), ("Bob_13_assignsubmission_file_/../../x.py", CODE)]
    (tmp_path / "class.zip").write_bytes(zip_bytes(members))
    entries: list[Entry] = find_entries([tmp_path / "class.zip"], tmp_path / "results")
    read = Readers(lambda: CourseText.of(course)).read
    roots, roster = [tmp_path / "class.zip"], ClassList.of(["ada byron", "Bob"])
    files = line_up(entries, course, read=read, roots=roots, roster=roster).files
    names = [(one.student, one.entry.path.name, one.superseded) for one in files]
    assert names[:2] == [("ada byron", "again.py", False), ("ada byron", "first.py", True)]
    with contextlib.closing(Grader(course, GradeSettings(only=frozenset({"double"})))) as grader:
        graded = grader.grade(files[0].entry)
        refused = grader.grade(files[2].entry)
    assert (graded.state, graded.score) == (State.GRADED, 1)
    assert refused.state is State.UNREADABLE
    assert "out of the archive" in (refused.unreadable or "")
