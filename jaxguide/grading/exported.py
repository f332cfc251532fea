"""Whose a file is that a learning-management system exported: Moodle, Canvas and Gradescope put it into names."""

import re
from collections.abc import Mapping, Sequence

_MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_")
_CANVAS = re.compile(r"^(?P<student>[^_]+?)(?:_LATE)?_(?P<id>\d{2,})_\d{3,}_.+$")
_GRADESCOPE = re.compile(r"^submission_\d+$")
GRADESCOPE_METADATA = "submission_metadata.yml"
_TOP_KEY = re.compile(r"^['\"]?(submission_\d+)['\"]?:\s*$")
_NAME = re.compile(r"^\s*-?\s*:name:\s*(.+?)\s*$")


def student_in(parts: Sequence[str], gradescope: Mapping[str, str] | None = None) -> tuple[str, str] | None:
    """Return the student that the parts of an exported path name, and what tells two of one name apart.

    Args:
        parts: folders and file, from the top of the archive.
        gradescope: the folders' students, from `gradescope_students`.

    >>> student_in(["Ada Byron_1201_assignsubmission_file_", "homework.ipynb"])
    ('Ada Byron', '1201')
    >>> student_in(["byronada_LATE_31_4711_homework-2.ipynb"])
    ('byronada', '31')
    >>> student_in(["export", "submission_77", "homework.ipynb"], {"submission_77": "Ada Byron"})
    ('Ada Byron', '77')
    """
    for part in parts:
        found = _MOODLE.match(part)
        if found:
            return found["student"].strip(), found["id"]
    for part in parts[:-1]:
        if _GRADESCOPE.match(part):
            return (gradescope or {}).get(part, part), part.removeprefix("submission_")
    found = _CANVAS.match(parts[0]) if len(parts) == 1 else None
    return (found["student"], found["id"]) if found else None


def gradescope_students(metadata: str) -> dict[str, str]:
    """Return the students of a Gradescope export's folders, from its `submission_metadata.yml`.

    Only the lines that name students are read; the members of a group are one name.

    >>> gradescope_students("submission_7:\\n  :submitters:\\n  - :name: Ada Byron\\n    :sid: '1'\\n")
    {'submission_7': 'Ada Byron'}
    """
    found: dict[str, list[str]] = {}
    folder = ""
    for line in metadata.splitlines():
        key, name = _TOP_KEY.match(line), _NAME.match(line)
        if key:
            folder = key[1]
        elif name and folder:
            found.setdefault(folder, []).append(name[1].strip("'\""))
    return {folder: " + ".join(dict.fromkeys(names)) for folder, names in found.items()}
