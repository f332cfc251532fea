"""Test that students who submitted only files of other kinds get a row that says so, and no one else does."""

import os
import zipfile
from pathlib import Path

import pytest
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grade_class import ClassRun, Order
from jaxguide.grading.intake.file_owners import StudentPattern
from jaxguide.grading.intake.file_search import find_entries
from jaxguide.grading.intake.lineup import LineUp, line_up
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.intake.student_names import ClassList
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.reader import Readers
from jaxguide.grading.workers.scratch import remove_scratch

NEITHER = "The file is neither a notebook (.ipynb) nor Python (.py)."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "class", "ada/hw.py", "eve/hw.py")


def write(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ANSWERS["double"])
    return folder


def lined_up(course: Course, folder: Path, roster: list[str] | None = None, student_from: str | None = None) -> LineUp:
    pattern = StudentPattern(student_from) if student_from else None
    listed = ClassList.of(roster) if roster else None
    readers = Readers(lambda: CourseText.of(course))
    entries = find_entries([folder], folder / "results", pattern=pattern, roster=listed)
    return line_up(entries, course, read=readers.read, roots=[folder], pattern=pattern, roster=listed)


def problems(line: LineUp) -> dict[str, str]:
    """Return why each student's file cannot be read, or '' if it can."""
    found = {}
    for one in line.files:
        assert one.student not in found
        try:
            one.entry.read()
            found[one.student] = ""
        except UnreadableSubmission as problem:
            found[one.student] = str(problem)
    return found


@pytest.mark.long
def test_folders_that_are_nested_too_deeply_are_passed_over(course: Course, tmp_path: Path) -> None:
    (tmp_path / "class" / "ada").mkdir(parents=True)
    (tmp_path / "class" / "ada" / "hw.py").write_text(ANSWERS["double"])
    folder = os.open(tmp_path / "class" / "ada", os.O_RDONLY)
    for _level in range(2_600):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    found = find_entries([tmp_path / "class"], tmp_path / "results")
    remove_scratch(tmp_path / "class")  # which `pytest` could not
    assert [entry.path.name for entry in found] == ["hw.py"]


def test_a_folder_of_other_files_is_one_row_that_says_so(course: Course, folder: Path) -> None:
    write(folder, "bob/hw.pdf", "bob/more/data.csv", "kim/hw.ipynb.txt", "ned/hw.rar")
    (folder / "zoe").mkdir()
    os.mkfifo(folder / "zoe" / "hw.py")
    names = ["ada", "bob", "eve", "kim", "ned", "zoe"]
    line = lined_up(course, folder, [*names, "joe"])
    assert line.absent == ["joe"]
    assert problems(line) == problems(lined_up(course, folder))
    assert problems(line) == {
        **dict.fromkeys(("ada", "eve"), ""),
        **dict.fromkeys(("bob", "kim"), NEITHER),
        "ned": "Archives of this kind are not supported; hand in a zip archive, or the file itself.",
        "zoe": "It is a pipe, not a file.",
    }


def test_what_lies_loose_or_beside_a_submission_has_no_row(course: Course, folder: Path) -> None:
    write(folder, "roster.csv", "README", ".DS_Store", "bob/.DS_Store", "bob/__pycache__/hw.pyc", "__MACOSX/ada/x")
    write(
        folder, ".ipynb_checkpoints/hw.txt", "bob/.ipynb_checkpoints/hw-checkpoint.ipynb", "ada/data/x.csv", "ada/x.pdf"
    )
    write(folder, "results/feedback/zoe.html", "older/grading.sqlite", "older/feedback/bob.html")
    (folder / "empty").mkdir()
    line = lined_up(course, folder, ["ada", "eve", "bob"])
    assert problems(line) == {"ada": "", "eve": ""}
    assert line.absent == ["bob"]


def test_who_is_on_the_roster_is_found_loose_and_further_down(course: Course, tmp_path: Path) -> None:
    folder = write(tmp_path / "class", "monday/ada/hw.py", "monday/Bob/hw.pdf", "monday/notes.txt", "kim.pdf", "ned.py")
    line = lined_up(course, write(folder, "ned/x.csv"), ["ada", "bob", "kim", "ned", "joe"])
    assert problems(line) == {"ada": "", "bob": NEITHER, "kim": NEITHER, "ned": ""}
    assert line.absent == ["joe"]


def test_a_pattern_says_whose_other_files_are(course: Course, tmp_path: Path) -> None:
    folder = write(tmp_path / "class", "monday/1_ada/hw.py", "monday/2_bob/hw.pdf")
    assert problems(lined_up(course, folder, student_from="*/?_{student}/*")) == {"ada": "", "bob": NEITHER}


def test_an_unpacked_export_says_whose_other_files_are(course: Course, tmp_path: Path) -> None:
    names = (
        "Ada_1_assignsubmission_file/hw.py",
        "Ada_1_assignsubmission_onlinetext/x.html",
        "Ada_2_assignsubmission_file/x.pdf",
    )
    folder = write(tmp_path / "class", *(f"week1/{name}" for name in names))
    for root in (folder, folder / "week1"):
        assert problems(lined_up(course, root)) == {"Ada (1)": "", "Ada (2)": NEITHER}


def test_an_archive_answers_for_its_folder_and_for_whom_it_names(course: Course, folder: Path) -> None:
    write(folder, "bob/notes.txt", "kim/notes.txt")
    for place, name in (("bob/work.zip", "work.py"), ("class.zip", "Kim_17_assignsubmission_file/hw.py")):
        with zipfile.ZipFile(folder / place, "w") as archive:
            archive.writestr(name, ANSWERS["double"])
    assert problems(lined_up(course, folder)) == {"ada": "", "eve": "", "work": "", "Kim": ""}


def test_the_command_asks_the_roster_and_the_pattern(course: Course, tmp_path: Path) -> None:
    folder = write(tmp_path / "class", "monday/1_ada/hw.py", "monday/2_bob/hw.pdf", "monday/kim/hw.pdf")
    (tmp_path / "roster.csv").write_text("student\nada\nbob\nkim\n")
    order = Order(
        [folder], course, tmp_path / "results", roster=tmp_path / "roster.csv", student_from="*/?_{student}/*"
    )
    line = ClassRun(order).line
    assert (line.absent, line.unknown) == ([], [])


def test_a_folder_beside_submissions_that_lie_loose_is_nobodys(course: Course, tmp_path: Path) -> None:
    folder = write(tmp_path / "class", "ada.py", "bob.py", "data/table.csv", "kim/hw.pdf")
    assert problems(lined_up(course, folder)) == {"ada": "", "bob": ""}
    assert problems(lined_up(course, folder, ["ada", "bob", "kim"])) == {"ada": "", "bob": "", "kim": NEITHER}
