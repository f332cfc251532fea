"""Test whose a file is, which students are absent, which file counts, and points given by hand."""

import os
from pathlib import Path

import pytest

from jaxguide.course.books.library import Course
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import apply_overrides
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_owners import PatternError, StudentPattern, students_of
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.instructor_tables import Override, TableError, read_overrides, read_roster
from jaxguide.grading.intake.lineup import LineUp, line_up
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.intake.student_names import ClassList
from jaxguide.grading.workers.reader import Readers

DOUBLE = "def double(x):\n    return 2 * x\n"


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    return path


def files(tmp_path: Path, *names: str, content: str = DOUBLE) -> list[Path]:
    paths = [tmp_path / "class" / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (1_000_000, 1_000_000))
    return paths


def lined_up(course: Course, tmp_path: Path, paths: list[Path], roster: list[str] | None = None) -> LineUp:
    read = Readers(lambda: CourseText.of(course)).read
    files = [Entry(path) for path in paths]
    listed = ClassList.of(roster) if roster is not None else None
    return line_up(files, course, read=read, roots=[tmp_path / "class"], roster=listed)


@pytest.mark.parametrize(
    "text",
    [
        "student,section\nada,1\nbob,2\n",
        "\ufeffsection;Student\r\n1;ada\r\n2;bob\r\n",
        'Login\tMark\nada\t"1, 2"\n\nbob\t2',
        "sep=;\nemail;x\nada;1\nbob;2\n",
    ],
)
@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_a_roster_is_read_as_spreadsheets_write_it(tmp_path: Path, text: str, coding: str) -> None:
    (tmp_path / "table.csv").write_bytes(text.removeprefix("\ufeff").encode(coding))
    assert names_in(tmp_path / "table.csv") == ["ada", "bob"]
    assert names_in(table(tmp_path, text)) == ["ada", "bob"]


def names_in(path: Path) -> list[str]:
    return [person.name for person in read_roster(path).people]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the table is empty; its first row must name the columns"),
        ("surname,mark\nada,1\n", ":1: no column is called `student`; found `surname`, `mark`."),
        ("student\nada\nAda\n", ":3: `Ada` is already in line 2."),
        ("student,x\n,1\n", ":2: the student's name is empty."),
        ("student\nada,1\n", ":2: the row has 2 cells, but the first row has 1."),
        ('student\n"ada\n', ":2:1: the quotation mark that opens here is never closed."),
        ('name,student\nbob,"a, ""b"""\nx,"ada\n', ":3:3: the quotation mark that opens here is never closed."),
        ('student\n"ada"x\n', ":2:6: the cell goes on after its closing quotation mark."),
        ('"student\n', ":1:1: the quotation mark that opens here is never closed."),
        ("student,mail\nada;a@b\n", ":2:4: `;` separates the cells of this row, but `,` those of the first row."),
    ],
)
def test_a_wrong_roster_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read_roster(table(tmp_path, text))
    assert said in str(caught.value)


def test_a_roster_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(b"student\nJos\xc3\xa9 \xe9\n")
    with pytest.raises(TableError, match=r"roster\.csv:2:6: cannot be read as UTF-8 text\."):
        read_roster(tmp_path / "roster.csv")
    with pytest.raises(TableError, match=": cannot be read: Is a directory"):
        read_roster(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("student,exercise\nada,double\n", ":1: there is no column `points`; found `student`, `exercise`."),
        ("student,exercise,points\nada,duoble,1\n", ":2: There is no exercise `duoble`. Did you mean `double`?"),
        (
            "student,exercise,points\nada,double,-1\n",
            ":2: points must be a number from 0 to 1000000, with a decimal point, not `-1`.",
        ),
        ("student;exercise;points\nada;double;1,5\n", "with a decimal point, not `1,5`."),
        ("student,exercise,points\nada,double,nan\n", "not `nan`."),
        (
            "student,exercise,points\nada,double,1e308\n",
            "from 0 to 1000000, with a decimal point, not `1e308`.",
        ),
        ("student,exercise,points\nada;double;5\n", ":2:4: `;` separates the cells of this row, but `,` those of"),
        (
            "student,exercise,points\nada,double,1\nADA,double,2\n",
            ":3: `ADA` already has points for `double` in a line above.",
        ),
    ],
)
def test_wrong_overrides_are_said_with_their_line(tmp_path: Path, course: Course, text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read_overrides(table(tmp_path, text), course)
    assert said in str(caught.value)


def test_overrides_may_come_without_a_comment(tmp_path: Path, course: Course) -> None:
    text = "student,exercise,points,comment\nada,double,1\nbob,triple,0.5,by email\n"
    wanted = [Override("ada", "double", 1.0), Override("bob", "triple", 0.5, "by email")]
    assert read_overrides(table(tmp_path, text), course) == wanted


@pytest.mark.parametrize(
    ("pattern", "path", "student"),
    [
        ("{student}/*", "ada/hw.py", "ada"),
        ("{student}/*", "week/ada/hw.py", None),
        ("**/{student}/*", "week/2/ada/hw.py", "ada"),
        ("hw_{student}_v?.py", "deep/down/hw_ada_v2.py", "ada"),
        ("{student}_*", "ada_17_late.py", "ada"),
        ("{student}/{student}.py", "ada/ada.py", "ada"),
        ("{student}/{student}.py", "ada/bob.py", None),
        ("[x]{student}+.py", "[x]ada+.py", "ada"),
        ("hw1_{student}", "hw1_ada.ipynb", "ada"),
        ("hw1_{student}", "week1/hw1_j.smith.py", "j.smith"),
        ("hw1_{student}", "hw1_ada", "ada"),
        ("hw1.{student}", "hw1.ada.py", "ada"),
        ("hw1.{student}", "hw1.py", None),
        ("{student}_late", "ada_late.ipynb", "ada"),
        ("week?/{student}", "week1/ada.ipynb", "ada"),
        ("{student}.*", "ada.ipynb", "ada"),
        ("{student}.ipynb", "ada.ipynb", "ada"),
        ("{student}.ipynb", "ada.IPYNB", "ada"),
        ("{student}.ipynb", "ada.py", None),
        (r"_(?P<student>.+)", "hw_ada.py", "ada"),
        (r"_(?P<student>[a-z]+)$", "hw_ada.py", "ada"),
        (r"(?P<student>[a-z]+)$", "hw_ada.py", "ada"),
        (r"^hw(?P<student>.+)", "hw.py", None),
        (r"^hw(_(?P<student>[a-z]+))?", "hw.py", None),
        (r"_(?P<student>[a-z]+)\.", "hw_ada.py", "ada"),
        (r"^(?P<student>[^/]+)/", "ada/hw.py", "ada"),
        (r"^(?P<student>[^/]+)/", "hw.py", None),
    ],
)
def test_a_pattern_finds_the_name(pattern: str, path: str, student: str | None) -> None:
    assert StudentPattern(pattern).find(Path(path)) == student


@pytest.mark.parametrize("text", ["*.py", "(?P<name>.*)", "(?P<student>["])
def test_a_pattern_without_a_student_is_refused(text: str) -> None:
    with pytest.raises(PatternError):
        StudentPattern(text)


def test_students_are_named_by_pattern_roster_stem_or_folder(course: Course, tmp_path: Path) -> None:
    names = ("ada.py", "bob/hw.py", "eve/hw.py", "zoe/small_numbers.py", "late_Kim.py")
    paths = files(tmp_path, *names)
    root = [tmp_path / "class"]
    assert students_of(paths, course, roots=root) == ["ada", "bob", "eve", "zoe", "late_Kim"]
    pattern = StudentPattern("late_{student}.py")
    assert students_of(paths, course, roots=root, pattern=pattern)[-1] == "Kim"
    assert students_of(paths, course, roots=root, pattern=pattern, roster=ClassList.of(["kim"]))[-1] == "kim"
    (path,) = files(tmp_path, "ada/week1/attempt.py")
    assert students_of([path], course, roots=root, roster=ClassList.of(["Ada"])) == ["Ada"]
    assert students_of([path], course, roots=root) == ["attempt"]


def test_folders_of_one_name_are_never_taken_for_one_student(course: Course, tmp_path: Path) -> None:
    paths = files(tmp_path, "monday/1/hw.py", "friday/1/hw.py", "friday/2/hw.py")
    assert students_of(paths, course, roots=[tmp_path / "class"]) == ["monday/1", "friday/1", "2"]
    assert not any(one.superseded for one in lined_up(course, tmp_path, paths).files)


def test_no_file_name_stands_for_the_student_of_another_folder(course: Course, tmp_path: Path) -> None:
    names = (
        "ada/hw.py",
        "bob/hw.py",
        "mallory/ada.py",
        "eve/hw.py",
        "eve/ada.py",
        "zed/bob.py",
        "zed/hal.py",
        "kim.py",
    )
    paths, root = files(tmp_path, *names), [tmp_path / "class"]
    assert students_of(paths, course, roots=root) == ["ada", "bob", "mallory", "eve", "eve", "zed/bob", "hal", "kim"]
    roster = ["ada", "bob", "mallory", "eve", "kim", "zed"]
    wanted = ["ada", "bob", "mallory", "eve", "eve", "zed", "zed", "kim"]
    assert students_of(paths, course, roots=root, roster=ClassList.of(roster)) == wanted
    assert {one.student for one in lined_up(course, tmp_path, paths[:3]).files if one.superseded} == set()
    (deep,) = files(tmp_path, "mallory/bob/ada.py")
    assert students_of([*paths, deep], course, roots=root, roster=ClassList.of(roster))[-1] == "mallory"


def test_neither_a_deeper_file_nor_a_deeper_folder_stands_for_a_student(course: Course, tmp_path: Path) -> None:
    root = [tmp_path / "class"]
    paths = files(tmp_path, "Ada Byron/homework.py", "blee/Ada Byron.py", "cy/x.py")
    assert students_of(paths, course, roots=root, roster=ClassList.of(["Ada Byron", "Bob Lee", "cy"]))[:2] == [
        "Ada Byron",
        "blee",
    ]
    paths = files(tmp_path, "Ada.py", "bob/Ada/hw.py", "carl/hw.py")
    assert students_of(paths, course, roots=root) == ["Ada", "bob/Ada", "carl"]
    assert students_of(paths, course, roots=root, roster=ClassList.of(["Ada"])) == ["Ada", "bob/Ada", "carl"]
    assert not any(one.superseded for one in lined_up(course, tmp_path, paths).files)


def test_names_that_look_alike_are_two_students_and_told(course: Course, tmp_path: Path) -> None:
    paths = files(tmp_path, "ada.py", "a\u200bda.py", "a\x1b[31mda.py", "bob\ufeff.py")
    line = lined_up(course, tmp_path, paths)
    shown = ["ada", r"ada (a\u200bda)", r"ada (a\x1b[31mda)", "bob"]
    assert [one.student for one in line.files] == shown
    assert line.alike == shown[1:3]
    assert not any(one.superseded for one in line.files)
    (tmp_path / "roster.csv").write_text("student\nbo\u200bb\n")
    assert names_in(tmp_path / "roster.csv") == ["bob"]


def test_folders_above_the_named_one_are_no_students(course: Course, tmp_path: Path) -> None:
    paths = files(tmp_path, "hw.py")
    assert students_of(paths, course, roots=[tmp_path / "class"], roster=ClassList.of(["class", "zoe"])) == ["hw"]


def test_who_sent_nothing_is_absent_and_who_is_not_listed_is_unknown(course: Course, tmp_path: Path) -> None:
    paths = files(tmp_path, "ada.py", "stranger.py")
    line = lined_up(course, tmp_path, paths, ["Ada", "zoe"])
    assert (line.absent, line.unknown) == (["zoe"], ["stranger"])
    assert [one.student for one in line.files] == ["Ada", "stranger"]
    line = lined_up(course, tmp_path, paths)
    assert (line.absent, line.unknown) == ([], [])


def test_of_several_files_the_last_counts(course: Course, tmp_path: Path) -> None:
    paths = files(tmp_path, "ada/hw-9.py", "ada/hw-10.py", "ada/hw-2.py", "bob.py")
    superseded = {one.entry.path.name for one in lined_up(course, tmp_path, paths, ["ada"]).files if one.superseded}
    assert superseded == {"hw-9.py", "hw-2.py"}
    os.utime(paths[2], (1_000_010, 1_000_010))
    superseded = {one.entry.path.name for one in lined_up(course, tmp_path, paths, ["ada"]).files if one.superseded}
    assert superseded == {"hw-9.py", "hw-10.py"}


def test_a_file_that_cannot_be_read_takes_no_others_place(course: Course, tmp_path: Path) -> None:
    paths = files(tmp_path, "ada/hw.py", "ada/hw2.py")
    paths[1].write_text("")
    os.utime(paths[1], (2_000_000, 2_000_000))
    assert not any(one.superseded for one in lined_up(course, tmp_path, paths, ["ada"]).files)


def a_result(student: str, *scores: float | None, state: State = State.GRADED) -> SubmissionResult:
    results = [
        ExerciseResult(name, name, "small_numbers", 1.0, Verdict.PASSED, score or 0.0)
        for name, score in zip(("double", "triple"), scores, strict=False)
    ]
    missing = {one.name: "busy" for one, score in zip(results, scores, strict=False) if score is None}
    lessons = ["small_numbers"] if results else []
    return SubmissionResult(
        Path(f"{student}.py"),
        student,
        state,
        lessons=lessons,
        results=results,
        not_graded=missing,
    )


@pytest.fixture
def points(course: Course) -> dict[str, tuple[str, str, float]]:
    return {name: (e.lesson, e.title, e.points) for name, e in course.exercises.items()}


Points = dict[str, tuple[str, str, float]]


def test_points_given_by_hand_count_in_place_of_the_graders(points: Points) -> None:
    ada, bob = a_result("ada", 0.25, 1.0), a_result("bob", 1.0, 1.0)
    applied = apply_overrides([ada, bob], [Override("Ada", "double", 0.75, "well argued")], points)
    assert applied == [Override("ada", "double", 0.75, "well argued", was=0.25)]
    assert (ada.score, ada.results[0].score, bob.score) == (1.75, 0.75, 2.0)


def test_points_for_what_was_not_graded_make_it_complete(points: Points) -> None:
    ada = a_result("ada", None, 1.0, state=State.NOT_GRADED)
    (given,) = apply_overrides([ada], [Override("ada", "double", 0.0)], points)
    assert (given.was, ada.state, ada.is_complete, ada.score) == (None, State.GRADED, True, 1.0)


@pytest.mark.parametrize("state", [State.ABSENT, State.UNREADABLE])
def test_points_may_be_given_to_who_has_no_marks(points: Points, state: State) -> None:
    zoe = a_result("zoe", state=state)
    apply_overrides([zoe], [Override("zoe", "double", 1.0, "on paper")], points)
    assert (zoe.state, zoe.score, [one.name for one in zoe.results]) == (state, 1.0, ["double"])


def test_a_superseded_file_is_given_nothing(points: Points) -> None:
    old, new = a_result("ada", 0.0, state=State.SUPERSEDED), a_result("ada", 0.0)
    apply_overrides([old, new], [Override("ada", "double", 1.0)], points)
    assert (old.score, new.score) == (0.0, 1.0)
