"""Test that a student's name is one name, however files, archives and platforms write it."""

import io
import unicodedata
import zipfile
from pathlib import Path

import pytest

from jaxguide.grading.intake.file_owners import (
    StudentPattern,
    are_canvas_names,
    gradescope_owners,
    owner_in,
    owner_on_disk,
)
from jaxguide.grading.intake.file_to_grade import open_zip
from jaxguide.grading.intake.student_names import ClassList, Owner, Person, name_key, resolved_owners

CLASS = ClassList(
    (
        Person("José Núñez", {"email": "jose@x.edu", "sid": "77001", "moodle_id": "1205"}),
        Person("O'Connor, Aoife", {"canvas_id": "10233", "login": "aoc12"}),
        Person("de la Cruz, María", {"sid": "5"}),
        Person("Smith, John (10234)", {"canvas_id": "10234"}),
        Person("Smith, John (10235)", {"canvas_id": "10235"}),
        Person("Anna-Lena Müller", {"github": "al-mueller"}),
        Person("张伟"),
        Person("Lee, Bob"),
    )
)


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (decomposed("José Núñez"), "José Núñez"),
        ("JOSÉ  NÚÑEZ\u200b", "José Núñez"),
        ("Jose Nunez", "José Núñez"),
        ("Núñez, José", "José Núñez"),
        ("nunezjose", "José Núñez"),
        ("Jose_Nunez", "José Núñez"),
        ("José Núñez".encode().decode("cp437"), "José Núñez"),
        ("José Núñez".encode("cp1252").decode("cp437"), "José Núñez"),
        ("张伟".encode("gb18030").decode("cp437"), "张伟"),
        ("jose@x.edu", "José Núñez"),
        ("jose", "José Núñez"),
        ("77001", "José Núñez"),
        ("oconnoraoife", "O'Connor, Aoife"),
        ("Aoife OConnor", "O'Connor, Aoife"),
        ("Aoife O\u2019Connor", "O'Connor, Aoife"),
        ("AOC12", "O'Connor, Aoife"),
        ("de_la_cruzmaria", "de la Cruz, María"),
        ("homework-1-al-mueller", "Anna-Lena Müller"),
        ("Muller Anna Lena", "Anna-Lena Müller"),
        ("5", None),  # a short number is more likely an exercise's
        ("John Smith", None),  # two have this name
        ("Lee", None),
        ("Bob", None),
        ("", None),
        ("-", None),
    ],
)
def test_the_class_list_finds_only_the_student_who_is_meant(written: str, name: str | None) -> None:
    found = CLASS.find(written)
    assert (found.name if found else None) == name


def test_an_id_decides_before_a_name() -> None:
    found = CLASS.find("smithjohn", {"canvas_id": "10235"})
    assert found is not None
    assert found.name == "Smith, John (10235)"
    assert CLASS.find("smithjohn", {"canvas_id": "99"}) is None
    for ids, name in (
        ({"sid": "0077001"}, "José Núñez"),
        ({"email": "JOSE@x.edu"}, "José Núñez"),
        ({"sid": "9"}, None),
    ):
        found = CLASS.find("jose nunez" if name is None else "J. N.", ids)
        assert (found.name if found else None) == name
    found = CLASS.find("jose nunez", {"email": "j@other.edu"})
    assert found is not None


def test_names_that_differ_in_an_accent_are_two_students_if_the_list_has_both() -> None:
    both = ClassList.of(["Jose", "José"])
    assert [both.find(name) for name in ("Jose", decomposed("José"))] == list(both.people)
    assert ClassList.of(["Jose", "José"]).find("JOSÈ") is None


def test_students_of_one_name_of_whom_the_list_has_one_are_not_guessed() -> None:
    owners = [Owner((Person("Ada Byron", {"moodle_id": number}),)) for number in ("12", "13")]
    assert [owner.name for owner in resolved_owners(owners, ClassList.of(["Ada Byron"]))] == [
        "Ada Byron (12)",
        "Ada Byron (13)",
    ]
    listed = ClassList((Person("Ada Byron", {"moodle_id": "12"}),))
    assert [owner.name for owner in resolved_owners(owners, listed)] == ["Ada Byron", "Ada Byron (13)"]


@pytest.mark.parametrize(
    ("folder", "name", "group"),
    [
        ("Group 3-Bob Lee_1202_assignsubmission_file_", "Lee, Bob", "Group 3"),
        ("Default group-Bob Lee_1202_assignsubmission_file", "Lee, Bob", "Default group"),
        ("Gruppe B-Anna-Lena Müller_7_assignsubmission_file", "Anna-Lena Müller", "Gruppe B"),
        ("Blue-Bob Lee_1202_assignsubmission_file_", "Lee, Bob", "Blue"),
        ("Anna-Lena Müller_7_assignsubmission_file_", "Anna-Lena Müller", ""),
        ("Aoife OConnor_8_assignsubmission_file_", "O'Connor, Aoife", ""),
        ("Jean-Luc Picard_9_assignsubmission_file_", "Jean-Luc Picard", ""),
    ],
)
def test_moodles_groups_are_not_part_of_names(folder: str, name: str, group: str) -> None:
    (owner,) = resolved_owners([owner_in([folder, "hw.ipynb"])], CLASS)
    assert (owner.name, owner.group) == (name, group)


@pytest.mark.parametrize(
    ("file", "name", "number"),
    [
        ("byronada_10231_887766_homework-2.ipynb", "byronada", "10231"),
        ("byronada_LATE_10231_887766_homework.ipynb", "byronada", "10231"),
        ("byronada_late_10231_887766_homework.ipynb", "byronada", "10231"),
        ("de_la_cruzmaria_9_88_hw_1_2.ipynb", "de_la_cruzmaria", "9"),
        ("anon_aB3x9_887766_hw.ipynb", "anon_aB3x9", None),
        ("byronada_10231_text.html", "byronada", "10231"),
    ],
)
def test_canvass_names_have_parts(file: str, name: str, number: str | None) -> None:
    (person,) = owner_in([file], is_canvas=True).people
    assert (person.name, person.ids.get("canvas_id")) == (name, number)


def test_blackboards_names_have_a_login_and_a_date() -> None:
    for name in ("Homework 1_ada99_attempt_2024-05-01-10-00-00_hw_2.ipynb", "HW_ada99_attempt_2024-05-01-10-00-00.txt"):
        assert owner_in([name]) == owner_on_disk(Path(name)) == Owner((Person("ada99", {"login": "ada99"}),))


def test_canvas_is_recognized_by_all_files_beside_each_other() -> None:
    assert are_canvas_names(["byronada_1_22_hw.ipynb", "leebob_LATE_2_23_hw.ipynb", "leebob_2_text.html"])
    assert not are_canvas_names(["byronada_1_22_hw.ipynb", "leebob.ipynb"])
    assert not are_canvas_names(["lab_1_2_ada.ipynb", "lab_1_2_bob.ipynb"])
    assert not are_canvas_names(["lab_1_2_ada.ipynb"])
    assert owner_on_disk(Path("byronada_1_22_hw.ipynb"), is_canvas=True).name == "byronada"


def test_gradescopes_metadata_names_each_member_and_no_one_else() -> None:
    owners = gradescope_owners(
        "submission_77:\n  :submitters:\n  - :name: Ada Byron\n    :sid: '1'\n    :email: ada@x.edu\n"
        "  - :sid: '2'\n    :name: 'Ev ''Z'' Kim'\n  :created_at: 2024-05-01\n"
        "  :results:\n    :tests:\n    - :name: test of rows\n      :score: 1\n"
        'submission_78:\n  :submitters:\n  - :name: "D\'Angelo \\xC9mile"\n    :email:\n'
        "submission_79:\n  :submitters:\n  - :email: eve@x.edu\n"
        "submission_80:\n  :submitters: []\n"
    )
    people = {folder: [(person.name, person.ids) for person in owner.people] for folder, owner in owners.items()}
    assert people == {
        "submission_77": [("Ada Byron", {"sid": "1", "email": "ada@x.edu"}), ("Ev 'Z' Kim", {"sid": "2"})],
        "submission_78": [("D'Angelo Émile", {"submission": "78"})],
        "submission_79": [("eve@x.edu", {"email": "eve@x.edu"})],
    }


def test_a_pattern_and_a_path_may_write_letters_in_different_forms() -> None:
    pattern = StudentPattern(decomposed("Übung_{student}"))
    assert pattern.find(Path("Übung_José.ipynb")) == "José"
    assert StudentPattern("{student}/*").find(Path(decomposed("José/hw.py"))) == "José"


@pytest.mark.parametrize(
    ("name", "flagged", "read"),
    [
        (decomposed("José Núñez"), False, decomposed("José Núñez")),
        (decomposed("José Núñez"), True, decomposed("José Núñez")),
        ("Ada", False, "Ada"),
    ],
)
def test_names_in_archives_that_macos_wrote_are_utf_8(name: str, flagged: bool, read: str) -> None:
    assert members(name.encode(), flagged) == [f"{read}.py"]


def test_names_in_archives_that_are_not_utf_8_are_those_of_dos() -> None:
    assert members("José".encode("cp437"), False) == ["José.py"]
    (name,) = members("José".encode("cp1252"), False)
    assert CLASS.find(name.removesuffix(".py")) is None
    found = ClassList.of(["José"]).find(name.removesuffix(".py"))
    assert found is not None


def members(name: bytes, flagged: bool) -> list[str]:
    """Return the names in an archive that has a file of this name, marked as UTF-8 or not."""
    info = zipfile.ZipInfo("?" * len(name) + ".py")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(info, b"x = 1")
    raw = content.getvalue().replace(b"?" * len(name), name)
    if flagged:
        for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            start = raw.index(signature) + place
            raw = raw[:start] + b"\0\x08" + raw[start + 2 :]
    with open_zip(raw) as archive:
        assert archive.read(archive.infolist()[0]) == b"x = 1"
        return [member.filename for member in archive.infolist()]


def test_what_looks_alike_is_folded_alike() -> None:
    assert name_key("İ") == name_key(decomposed("İ"))
    assert name_key("STRASSE") == name_key("straße")
