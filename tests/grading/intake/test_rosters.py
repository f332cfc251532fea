"""Test that class lists are read as learning platforms export them."""

from pathlib import Path

import pytest

from jaxguide.grading.intake.instructor_tables import TableError, read_roster
from jaxguide.grading.intake.student_names import ClassList, Owner, Person

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (4711),Current Score\n"
    ",,,,,Manual Posting,\n"
    "    Points Possible,,,,,10,(read only)\n"
    '"Byron, Ada",10231,u1,ada,Lab A,,90\n'
    '"O\'Connor, Aoife",10233,u3,aoife,Lab B,7,80\n'
    '"Smith, John",10234,u4,jsmith,Lab A,,\n'
    '"Smith, John",10235,u5,jsmith2,Lab A,,\n'
    '"Student, Test",99,,1f3a,Lab A,,\n'
)
ROSTERS = {
    "Canvas": (
        CANVAS,
        "`Student`",
        {
            "Byron, Ada": {"canvas_id": "10231", "sid": "u1", "login": "ada"},
            "O'Connor, Aoife": {"canvas_id": "10233", "sid": "u3", "login": "aoife"},
            "Smith, John (10234)": {"canvas_id": "10234", "sid": "u4", "login": "jsmith"},
            "Smith, John (10235)": {"canvas_id": "10235", "sid": "u5", "login": "jsmith2"},
        },
        ("Points Possible", "Student, Test"),
    ),
    "Gradescope": (
        "Name,SID,Email,Role\nAda Byron,1,ada@x.edu,Student\nTim,7,t@x.edu,TA\nProf X,9,prof@x.edu,Instructor\n",
        "`Name`",
        {"Ada Byron": {"sid": "1", "email": "ada@x.edu"}},
        ("Tim", "Prof X"),
    ),
    "Gradescope, with names in two columns": (
        "First Name,Last Name,SID,Email,Sections\nAda,Byron,1,ada@x.edu,A\nÉmile,D'Angelo,4,d@x.edu,B\n",
        "`First Name` + `Last Name`",
        {"Ada Byron": {"sid": "1", "email": "ada@x.edu"}, "Émile D'Angelo": {"sid": "4", "email": "d@x.edu"}},
        (),
    ),
    "Moodle": (
        "First name,Last name,ID number,Email address,Groups\nAda,Byron,u1,ada@x.edu,Group 3\nBob,Lee,,bob@x.edu,\n",
        "`First name` + `Last name`",
        {"Ada Byron": {"sid": "u1", "email": "ada@x.edu"}, "Bob Lee": {"email": "bob@x.edu"}},
        (),
    ),
    "Moodle's grading worksheet": (
        "Identifier,Full name,Email address,Status,Grade\nParticipant 1201,Ada Byron,ada@x.edu,Submitted,\n",
        "`Full name`",
        {"Ada Byron": {"email": "ada@x.edu", "moodle_id": "1201"}},
        (),
    ),
    "GitHub Classroom": (
        '"identifier","github_username","github_id","name"\n"ada@x.edu","ada99","5",""\n"Bob Lee","","","bobby"\n'
        '"u7","cyoh","6","Cy Oh"\n',
        "`name`",
        {
            "ada@x.edu": {"github": "ada99", "email": "ada@x.edu"},
            "Bob Lee": {"sid": "Bob Lee"},
            "Cy Oh": {"github": "cyoh", "sid": "u7"},
        },
        (),
    ),
    "of another platform": (
        "Last Name,First Name,Username,Student ID,Availability\nByron,Ada,ab1,u1,Yes\n",
        "`Last Name` + `First Name`",
        {"Ada Byron": {"login": "ab1", "sid": "u1"}},
        (),
    ),
    "a plain list": ("login\nada\nbob\n", "`login`", {"ada": {"login": "ada"}, "bob": {"login": "bob"}}, ()),
}


def roster(tmp_path: Path, text: str, column: str | None = None) -> ClassList:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return read_roster(tmp_path / "roster.csv", column)


@pytest.mark.parametrize("platform", ROSTERS)
def test_a_platforms_export_is_recognized_by_its_headings(tmp_path: Path, platform: str) -> None:
    text, column, people, left_out = ROSTERS[platform]
    found = roster(tmp_path, text)
    assert {person.name: person.ids for person in found.people} == people
    assert (found.column, found.left_out) == (column, left_out)
    known = ("Canvas", "Gradescope", "Moodle", "GitHub Classroom")
    assert found.platform == next((one for one in known if platform.startswith(one)), "")


def test_the_column_of_names_can_be_chosen(tmp_path: Path) -> None:
    found = roster(tmp_path, CANVAS, "sis login id")
    assert [person.name for person in found.people] == ["ada", "aoife", "jsmith", "jsmith2"]
    with pytest.raises(TableError, match=r"there is no column `Logn`; found `Student`, "):
        roster(tmp_path, CANVAS, "Logn")


def test_every_column_identifies_a_student(tmp_path: Path) -> None:
    students = roster(tmp_path, CANVAS)
    for written in ("Ada Byron", "byronada", "10231", "ADA"):
        found = students.find(written)
        assert found is not None
        assert found.name == "Byron, Ada"


def test_a_column_of_groups_makes_groups(tmp_path: Path) -> None:
    found = roster(tmp_path, "student,group\nAda,red\nBob,red\nCy,\nDi,3\nEve,3\n")
    for name, members in (("Bob", "Ada Bob"), ("red", "Ada Bob"), ("group_3", "Di Eve"), ("Cy", ""), ("Zoe", "")):
        owner = found.find(name)
        people = found.group_of(owned(owner.name if owner is not None else name))
        assert " ".join(person.name for person in people) == members


def owned(name: str) -> Owner:
    return Owner((Person(name),))


def test_a_students_second_line_is_passed_over_in_an_export_and_an_error_in_a_list(tmp_path: Path) -> None:
    line = "Ada Byron,1,ada@x.edu,Student\n"
    assert len(roster(tmp_path, f"Name,SID,Email,Role\n{line}{line}").people) == 1
    with pytest.raises(TableError, match=":3: `Ada` is already in line 2"):
        roster(tmp_path, "student,mark\nAda,1\nAda,2\n")
