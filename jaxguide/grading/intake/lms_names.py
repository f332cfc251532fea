"""Find the student in the names of files and folders that Moodle, Canvas or Gradescope exported."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxguide.base.clean import clean

# Folders of older versions of Moodle end in one more `_` than those of Moodle 4.
_MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_|$)")
_CANVAS = re.compile(r"^(?P<student>[^_]+?)(?:_LATE)?_(?P<id>\d{2,})_\d{3,}_.+$")
_GRADESCOPE = re.compile(r"^submission_\d+$")
GRADESCOPE_METADATA = "submission_metadata.yml"
_TOP_KEY = re.compile(r"^['\"]?(submission_\d+)['\"]?:\s*$")
_NAME = ":name:"
_LINE_LIMIT = 1_000


def student_in(parts: Sequence[str], gradescope: Mapping[str, str] | None = None) -> tuple[str, str] | None:
    """Return the student that an exported path names, and an ID that tells students of the same name apart.

    Args:
        parts: folders and file, from the top of the archive.
        gradescope: students by folder, from `gradescope_students`.

    >>> student_in(["Ada Byron_1201_assignsubmission_file_", "homework.ipynb"])
    ('Ada Byron', '1201')
    >>> student_in(["byronada_LATE_31_4711_homework-2.ipynb"])
    ('byronada', '31')
    >>> student_in(["export", "submission_77", "homework.ipynb"], {"submission_77": "Ada Byron"})
    ('Ada Byron', '77')
    """
    moodle = _moodle_student(parts)
    if moodle:
        return moodle
    for part in parts[:-1]:
        if _GRADESCOPE.match(part):
            return (gradescope or {}).get(part, part), part.removeprefix("submission_")
    found = _CANVAS.match(parts[0]) if len(parts) == 1 else None
    return (found["student"], found["id"]) if found else None


def student_on_disk(path: Path) -> tuple[str, str] | None:
    """Return the student that an unpacked export names, and an ID that tells students of the same name apart.

    Only Moodle's names are recognized: no other folder is likely to be mistaken for one.

    >>> student_on_disk(Path("week1/Ada Byron_1201_assignsubmission_file/homework.ipynb"))
    ('Ada Byron', '1201')
    >>> student_on_disk(Path("byronada_LATE_31_4711_homework-2.ipynb"))
    """
    found = _moodle_student(path.absolute().parts)
    # Letters in the same form (NFC) as in archives.
    return (clean(unicodedata.normalize("NFC", found[0]), 100).strip(), found[1]) if found else None


def _moodle_student(parts: Sequence[str]) -> tuple[str, str] | None:
    found = next(filter(None, map(_MOODLE.match, parts)), None)
    return (found["student"].strip(), found["id"]) if found else None


def gradescope_students(metadata: str) -> dict[str, str]:
    """Return the students of a Gradescope export by folder, from its `submission_metadata.yml`.

    Only the lines that name students are read; the names of a group's members are joined into one.

    >>> gradescope_students("submission_7:\\n  :submitters:\\n  - :name: Ada Byron\\n    :sid: '1'\\n")
    {'submission_7': 'Ada Byron'}
    """
    found: dict[str, list[str]] = {}
    folder = ""
    for line in (line for line in metadata.splitlines() if len(line) <= _LINE_LIMIT):
        key, text = _TOP_KEY.match(line), line.strip().removeprefix("-").lstrip()
        if key:
            folder = key[1]
        elif folder and text.startswith(_NAME) and (name := text.removeprefix(_NAME).strip()):
            found.setdefault(folder, []).append(name.strip("'\""))
    return {folder: " + ".join(dict.fromkeys(names)) for folder, names in found.items()}


def told_apart(named: Sequence[tuple[str | None, str]]) -> list[str | None]:
    """Return the students' names, followed by their ID if several students have the same name.

    >>> told_apart([("Ada", "12"), ("Bob", "7"), ("ada", "13"), (None, "")])
    ['Ada (12)', 'Bob', 'ada (13)', None]
    """
    identities: dict[str, set[str]] = {}
    for student, identity in named:
        identities.setdefault((student or "").casefold(), set()).add(identity)
    return [
        f"{student} ({identity})" if student and identity and len(identities[student.casefold()]) > 1 else student
        for student, identity in named
    ]
