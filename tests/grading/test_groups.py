"""Test that each student has a row, a page and an export row, and that learning platforms get their own ids back."""

import csv
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from small_course import ANSWERS

from jaxguide.cli import main
from jaxguide.course.books.library import Course

RIGHT, WRONG = ANSWERS["double"], "def double(x):\n    return x\n"
METADATA = (
    "submission_77:\n  :submitters:\n  - :name: Ada Byron\n    :sid: '1'\n    :email: ada@x.edu\n"
    "  - :name: Bob Lee\n    :sid: '2'\n    :email: bob@x.edu\n"
    "submission_78:\n  :submitters:\n  - :name: Cy Oh\n    :sid: '3'\n"
)
ROSTER = "Name,SID,Email,Role\nAda Byron,1,ada@x.edu,Student\nBob Lee,2,bob@x.edu,Student\nCy Oh,3,,Student\n"

Grade = Callable[..., Result]


@pytest.fixture
def grade(course: Course, tmp_path: Path) -> Grade:
    def run(path: Path, *more: object) -> Result:
        places = ["--course", course.folders.exercises.parent, "--out", tmp_path / "results", "--only", "double"]
        return CliRunner().invoke(main, [str(argument) for argument in ("grade", path, *places, *more)])

    return run


def gradescope_zip(tmp_path: Path, **files: str) -> Path:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("assignment_9_export/submission_metadata.yml", METADATA)
        for folder, source in files.items():
            archive.writestr(f"assignment_9_export/{folder}/hw.py", source)
    return tmp_path / "export.zip"


def written(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def rows(path: Path, key: str = "student") -> dict[str, dict[str, str]]:
    return {row[key]: row for row in csv.DictReader(path.read_text("utf-8").splitlines())}


def grades(tmp_path: Path) -> dict[str, str]:
    return {name: row["score"] for name, row in rows(tmp_path / "results" / "grades.csv").items()}


def document(tmp_path: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))
    return plain


def export(tmp_path: Path, platform: str, *more: object) -> tuple[Result, Path]:
    out = tmp_path / f"{platform}.csv"
    arguments = ["export", platform, tmp_path / "results", "--out", out, *more]
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done, out


@pytest.mark.parametrize("is_unpacked", [False, True])
def test_each_member_of_a_group_has_a_row_a_page_and_an_export_row(
    grade: Grade, tmp_path: Path, is_unpacked: bool
) -> None:
    place = gradescope_zip(tmp_path, submission_77=RIGHT, submission_78=WRONG)
    if is_unpacked:
        with zipfile.ZipFile(place) as archive:
            archive.extractall(tmp_path / "class")
        planted = "class/assignment_9_export/submission_77"
        written(tmp_path, f"{planted}/submission_metadata.yml", METADATA.replace("Ada", "Eve"))
        place = tmp_path / "class"
    done = grade(place, "--roster", written(tmp_path, "roster.csv", ROSTER))
    assert done.exit_code == 0, done.output
    assert "Roster: 3 students, by `Name`, as Gradescope exports them." in done.stderr
    assert "2 submissions" in done.stdout  # the work of the group ran once
    found = rows(tmp_path / "results" / "grades.csv")
    assert {name: (row["email"], row["SID"], row["score"]) for name, row in found.items()} == {
        "Ada Byron": ("ada@x.edu", "1", "1"),
        "Bob Lee": ("bob@x.edu", "2", "1"),
        "Cy Oh": ("", "3", "0"),
    }
    pages = {path.stem for path in (tmp_path / "results" / "feedback").glob("*.txt")}
    assert pages == {"Ada_Byron", "Bob_Lee", "Cy_Oh"}
    text = (tmp_path / "results" / "feedback" / "Bob_Lee.txt").read_text("utf-8")
    assert "Handed in by Ada Byron, Bob Lee." in text
    plain = document(tmp_path)
    assert [(one["student"], one.get("members")) for one in plain["submissions"]] == [
        ("Ada Byron", ["Ada Byron", "Bob Lee"]),
        ("Bob Lee", ["Ada Byron", "Bob Lee"]),
        ("Cy Oh", []),
    ]
    assert [one["ids"].get("sid") for one in plain["students"]] == ["1", "2", "3"]
    assert plain["similar"] == []
    done, out = export(tmp_path, "canvas")
    assert {name: (row["SIS User ID"], row["jaxguide"]) for name, row in rows(out, "Student").items()} == {
        "    Points Possible": ("", "1"),
        "Ada Byron": ("1", "1"),
        "Bob Lee": ("2", "1"),
        "Cy Oh": ("3", "0"),
    }
    assert "Warning" not in done.output


def test_points_by_hand_for_one_member_change_only_that_row(grade: Grade, tmp_path: Path) -> None:
    overrides = written(tmp_path, "results/overrides.csv", "student,exercise,points\nbob@x.edu,double,0.25\n")
    archive = gradescope_zip(tmp_path, submission_77=RIGHT, submission_78=RIGHT)
    assert grade(archive).exit_code == 0
    wanted = {"Ada Byron": "1", "Bob Lee": "0.25", "Cy Oh": "1"}
    assert grades(tmp_path) == wanted
    overrides.write_text('student,exercise,points\n"lee, BOB",double,0.5\n')
    done = CliRunner().invoke(main, ["report", str(tmp_path / "results")])
    assert done.exit_code == 0 or "missing" in done.output
    assert grade(archive).exit_code == 0
    assert grades(tmp_path) == {**wanted, "Bob Lee": "0.5"}
    assert document(tmp_path)["overrides"][0]["student"] == "Bob Lee"


def test_a_member_who_handed_in_alone_later_has_that_mark_and_a_note(grade: Grade, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    for name, source, modified_s in (("red.py", RIGHT, 1_000_000), ("Bob Lee.py", WRONG, 2_000_000)):
        path = written(folder, name, source)
        os.utime(path, (modified_s, modified_s))
    roster = written(tmp_path, "roster.csv", "student,group\nAda Byron,red\nBob Lee,\nCy Oh,red\n")
    done = grade(folder, "--roster", roster)
    assert "3 students, by `student`, in 1 group." in done.stderr
    assert grades(tmp_path) == {"Bob Lee": "0", "Ada Byron": "1", "Cy Oh": "1"}
    roster.write_text("student,group\nAda Byron,red\nBob Lee,red\nCy Oh,red\n")
    grade(folder, "--roster", roster)  # now the later file is the group's
    assert grades(tmp_path) == {"Ada Byron": "0", "Bob Lee": "0", "Cy Oh": "0"}
    assert "red.py does not count" in (tmp_path / "results" / "feedback" / "Cy_Oh.txt").read_text("utf-8")


def test_what_one_member_replaces_still_counts_for_the_others(grade: Grade, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        both = METADATA.replace("submission_78:\n  :submitters:\n  - :name: Cy Oh\n    :sid: '3'", "")
        alone = "submission_79:\n  :submitters:\n  - :name: Bob Lee\n    :sid: '2'\n    :email: bob@x.edu\n"
        archive.writestr("export/submission_metadata.yml", both + alone)
        archive.writestr(zipfile.ZipInfo("export/submission_77/hw.py", (2024, 1, 1, 0, 0, 0)), RIGHT)
        archive.writestr(zipfile.ZipInfo("export/submission_79/hw.py", (2024, 1, 2, 0, 0, 0)), WRONG)
    assert grade(tmp_path / "export.zip").exit_code == 0
    assert grades(tmp_path) == {"Ada Byron": "1", "Bob Lee": "0"}
    states = [(one["student"], one["state"]) for one in document(tmp_path)["submissions"]]
    assert states == [("Ada Byron", "graded"), ("Bob Lee", "superseded"), ("Bob Lee", "graded")]
    assert "hw.py does not count" in (tmp_path / "results" / "feedback" / "Bob_Lee.txt").read_text("utf-8")


def test_moodles_copies_for_the_members_of_a_group_are_one_submission(grade: Grade, tmp_path: Path) -> None:
    for name, number in (("Ada Byron", 1201), ("Bob Lee", 1202)):
        written(tmp_path, f"class/Group 3-{name}_{number}_assignsubmission_file/hw.py", RIGHT)
    done = grade(tmp_path / "class")
    assert "1 submission\n" in done.stdout
    assert grades(tmp_path) == {"Ada Byron": "1", "Bob Lee": "1"}
    done, out = export(tmp_path, "moodle")
    assert {row["Full name"]: (row["Identifier"], row["Grade"]) for row in rows(out, "Identifier").values()} == {
        "Ada Byron": ("Participant 1201", "1"),
        "Bob Lee": ("Participant 1202", "1"),
    }
    assert "Warning" not in done.output


def test_canvass_own_id_is_exported_with_and_without_its_roster(grade: Grade, tmp_path: Path) -> None:
    for name in ("byronada_LATE_10231_887766_hw.py", "oconnoraoife_10233_887768_hw.py"):
        written(tmp_path, f"class/{name}", RIGHT)
    assert grade(tmp_path / "class").exit_code == 0
    _done, out = export(tmp_path, "canvas", "--item", "Homework 1 (4711)")
    assert {name: row["ID"] for name, row in rows(out, "Student").items() if row["ID"]} == {
        "byronada": "10231",
        "oconnoraoife": "10233",
    }
    roster = written(
        tmp_path,
        "gradebook.csv",
        'Student,ID,SIS Login ID,Section\n    Points Possible,,,\n"Byron, Ada",10231,ada,A\n'
        '"O\'Connor, Aoife",10233,aoc,A\n"Lee, Bob",10232,bob,A\n"Student, Test",9,,A\n',
    )
    done = grade(tmp_path / "class", "--roster", roster)
    assert "3 students, by `Student`, as Canvas exports them. Left out: Points Possible; Student, Test." in done.stderr
    assert grades(tmp_path) == {"Byron, Ada": "1", "O'Connor, Aoife": "1", "Lee, Bob": ""}
    _done, out = export(tmp_path, "canvas")
    found = {name: (row["ID"], row["SIS Login ID"]) for name, row in rows(out, "Student").items() if row["ID"]}
    assert found == {"Byron, Ada": ("10231", "ada"), "O'Connor, Aoife": ("10233", "aoc"), "Lee, Bob": ("10232", "bob")}


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_an_export_without_ids_warns_and_says_what_to_do(grade: Grade, tmp_path: Path, platform: str) -> None:
    written(tmp_path, "class/Ada Byron.py", RIGHT)
    assert grade(tmp_path / "class").exit_code == 0
    done, out = export(tmp_path, platform)
    assert "Warning: 1 student has no id that the platform would match: Ada Byron." in done.stderr
    assert "--roster" in done.stderr
    assert "--students-are" in done.stderr
    assert "Ada Byron" in out.read_text("utf-8")
    done, out = export(tmp_path, platform, "--students-are", "SIS User ID" if platform == "canvas" else "ID number")
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("others", [("helper.py", "tests/test_answer.py"), ("notes/plot_it.py", "setup.py")])
def test_files_beside_an_answer_are_passed_over_with_a_note(
    grade: Grade, tmp_path: Path, others: tuple[str, ...]
) -> None:
    for name in ("ada", "bob"):
        written(tmp_path, f"class/{name}/hw.py", RIGHT)
    for name in others:
        written(tmp_path, f"class/ada/{name}", "import hw\n")
    done = grade(tmp_path / "class")
    assert done.exit_code == 0, done.output
    assert "2 files were passed over:\n" in done.stdout
    assert grades(tmp_path) == {"ada": "1", "bob": "1"}
    assert len(document(tmp_path)["passed_over"]) == 2
    for name in others:
        assert name in (tmp_path / "results" / "report.html").read_text("utf-8")


def test_a_student_whose_only_file_answers_nothing_keeps_a_row(grade: Grade, tmp_path: Path) -> None:
    written(tmp_path, "class/ada.py", RIGHT)
    written(tmp_path, "class/bob.py", "x = 1\n")
    written(tmp_path, "class/cy/first.py", RIGHT)
    written(tmp_path, "class/cy/second.py", "def dobule(x):\n    return 2 * x\n")
    done = grade(tmp_path / "class")
    assert done.exit_code == 1
    assert "passed over" not in done.stdout
    assert {"ada", "bob"} < grades(tmp_path).keys()


def test_tests_that_import_the_answer_are_no_student(grade: Grade, tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        written(tmp_path, f"class/hw1-{name}/hw.py", RIGHT)
        written(tmp_path, f"class/hw1-{name}/tests/test_hw.py", "from hw import double\nassert double(1) == 2\n")
    roster = '"identifier","github_username","github_id","name"\n"Ada Byron","ada","1",""\n"Bob Lee","bob","2",""\n'
    done = grade(tmp_path / "class", "--roster", written(tmp_path, "roster.csv", roster))
    assert done.exit_code == 0, done.output
    assert done.stdout.count("test_hw.py: The file answers no exercise.\n") == 2
    assert grades(tmp_path) == {"Ada Byron": "1", "Bob Lee": "1"}


@pytest.mark.parametrize("answered", ["hw.py", "hw (1).py"])
def test_a_file_as_handed_out_never_replaces_an_answer(
    course: Course, grade: Grade, tmp_path: Path, answered: str
) -> None:
    starter = course.exercises["double"].starter_source
    for name in ("hw.py", "hw (1).py"):
        path = written(tmp_path, f"class/ada/{name}", RIGHT if name == answered else starter)
        os.utime(path, (1_000_000, 1_000_000 + 10 * (name != answered)))
    written(tmp_path, "class/bob/hw.py", starter)
    grade(tmp_path / "class")
    assert grades(tmp_path) == {"ada": "1", "bob": "0"}


def test_results_of_the_format_before_are_read(grade: Grade, tmp_path: Path) -> None:
    assert grade(gradescope_zip(tmp_path, submission_78=RIGHT)).exit_code == 0
    plain = document(tmp_path)
    plain["format"] = "jaxguide-results/4"
    del plain["passed_over"]
    for one in plain["students"]:
        del one["ids"]
    for one in plain["submissions"]:
        del one["members"]
    old = written(tmp_path, "old/results.json", json.dumps(plain))
    done = CliRunner().invoke(main, ["report", str(old), "--out", str(tmp_path / "again")])
    assert done.exit_code == 0, done.output
    assert rows(tmp_path / "again" / "grades.csv")["Cy Oh"]["score"] == "1"
    for one in plain["submissions"]:
        one["tier"] = "strong"
    plain |= {"tier": "strong", "layers": [{"name": "landlock", "holds": True, "why": ""}]}
    plain["format"] = "jaxguide-results/5"
    old.write_text(json.dumps(plain), encoding="utf-8")
    assert CliRunner().invoke(main, ["report", str(old)]).exit_code == 0
