"""Find the students in the names of files and folders that Moodle, Canvas, Blackboard or Gradescope exported."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxguide.grading.intake.student_names import NO_ONE, SUBMISSION, Owner, Person, as_read

# Folders of older versions of Moodle end in one more `_` than those of Moodle 4.
_MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)(?:_|$)")
# Moodle writes the group before the name if groups hand in together; only what looks like a group's name is one.
_GROUP = re.compile(
    r"^(?P<group>[^-]*\d[^-]*|(?:default )?(?:group|team|gruppe|groupe|grupo|gruppo|équipe|equipo)\b[^-]*)-(?=.)", re.I
)
_CANVAS = re.compile(
    r"^(?P<student>(?P<anonymous>anon_(?:LATE_)?[A-Za-z0-9]{5})|.+?)(?:_LATE)?"
    r"(?(anonymous)|_(?P<id>\d+))_(?P<file>(?P<attachment>\d+)_.+|text\.html|link\.html)$",
    re.I,
)
_BLACKBOARD = re.compile(r"^.+_(?P<login>[^_]+)_attempt_\d{4}(?:-\d\d){5}(?:_.+|\.txt)$")
_SURE_CANVAS = re.compile(r"_\d{2,}_\d{3,}_")
_GRADESCOPE = re.compile(r"^submission_\d+$")
GRADESCOPE_METADATA = "submission_metadata.yml"
METADATA_LIMIT_BYTES = 16 * 2**20
_TOP_KEY = re.compile(r"^['\"]?(submission_\d+)['\"]?:\s*$")
_FIELD = re.compile(r"^(?P<indent>\s*)(?P<dash>-\s+)?:(?P<name>\w+):\s*(?P<value>.*)$")
_FIELDS = {"sid": "sid", "email": "email"}
_LINE_LIMIT, _PEOPLE_LIMIT = 1_000, 100


def owner_in(parts: Sequence[str], gradescope: Mapping[str, Owner] | None = None, is_canvas: bool = False) -> Owner:
    """Return the students that an exported path names, with the ids that the platform gives them.

    Args:
        parts: folders and file, from the top of the archive.
        gradescope: owners by folder, from `gradescope_owners`.
        is_canvas: whether the files beside it show that Canvas named them, see `are_canvas_names`.

    >>> owner_in(["Group 3-Ada Byron_1201_assignsubmission_file_", "homework.ipynb"])
    Owner(people=(Person(name='Ada Byron', ids={'moodle_id': '1201'}),), group='Group 3')
    >>> owner_in(["de_la_cruzmaria_LATE_31_4711_homework-2.ipynb"]).people
    (Person(name='de_la_cruzmaria', ids={'canvas_id': '31'}),)
    """
    marked = _marked_owner(parts)
    if marked is not None:
        return marked
    for part in parts[:-1]:
        if _GRADESCOPE.match(part):
            alone = Owner((Person(part, {SUBMISSION: part.removeprefix("submission_")}),))
            return (gradescope or {}).get(part, alone)
    if len(parts) == 1 and (is_canvas or _SURE_CANVAS.search(parts[0])):
        return _canvas_owner(parts[0]) or NO_ONE
    return NO_ONE


def owner_on_disk(path: Path, is_canvas: bool = False) -> Owner:
    """Return the students that an unpacked export names.

    Args:
        path: the file.
        is_canvas: see `are_canvas_names`; a single file is not taken for Canvas's.

    >>> owner_on_disk(Path("week1/Ada Byron_1201_assignsubmission_file/homework.ipynb")).name
    'Ada Byron'
    >>> owner_on_disk(Path("byronada_LATE_31_4711_homework-2.ipynb"))
    Owner(people=(), group='')
    """
    for folder in reversed(path.absolute().parents):  # what a student packed must not name others
        if _GRADESCOPE.match(folder.name) and (folder.parent / GRADESCOPE_METADATA).is_file():
            return _unpacked(folder.parent / GRADESCOPE_METADATA).get(folder.name, NO_ONE)
    return _marked_owner(path.absolute().parts) or (is_canvas and _canvas_owner(path.name)) or NO_ONE


@functools.lru_cache(maxsize=1)
def _unpacked(metadata: Path) -> dict[str, Owner]:
    try:
        with metadata.open("rb") as file:
            return gradescope_owners(file.read(METADATA_LIMIT_BYTES).decode("utf-8", "replace"))
    except OSError:
        return {}


def are_canvas_names(names: Iterable[str]) -> bool:
    """Return whether Canvas gave these files their names: each has a number of its own behind the student's.

    >>> are_canvas_names(["byronada_31_4711_hw.ipynb", "leebob_32_4712_hw.ipynb"])
    True
    >>> are_canvas_names(["lab_1_2_ada.ipynb", "lab_1_2_bob.ipynb"])
    False
    """
    found = [_CANVAS.match(name) for name in names]
    attachments = [one["attachment"] for one in found if one and one["attachment"]]
    return len(attachments) > 1 and all(found) and len(set(attachments)) == len(attachments)


def _marked_owner(parts: Sequence[str]) -> Owner | None:
    """Return whom a path names that Moodle or Blackboard has marked as its own."""
    found, attempt = next(filter(None, map(_MOODLE.match, parts)), None), _BLACKBOARD.match(parts[-1])
    if found is None:
        return Owner((Person(as_read(attempt["login"]), {"login": as_read(attempt["login"])}),)) if attempt else None
    group = _GROUP.match(found["student"])
    name = found["student"][group.end() :] if group else found["student"]
    return Owner((Person(as_read(name), {"moodle_id": found["id"]}),), as_read(group["group"]) if group else "")


def _canvas_owner(name: str) -> Owner | None:
    found = _CANVAS.match(name)
    if found is None:
        return None
    return Owner((Person(as_read(found["student"]), {"canvas_id": found["id"]} if found["id"] else {}),))


def gradescope_owners(metadata: str) -> dict[str, Owner]:
    r"""Return the students of a Gradescope export by folder, from its `submission_metadata.yml`.

    Only the lines that name students are read.

    >>> owners = gradescope_owners("submission_7:\n  :submitters:\n  - :name: \"\\xC9mile\"\n    :sid: '1'\n")
    >>> owners["submission_7"].people
    (Person(name='Émile', ids={'sid': '1'}),)
    """
    found: dict[str, list[dict[str, str]]] = {}
    people: list[dict[str, str]] = []
    indent = -1  # of the list of students, -1 outside of it
    for line in (line for line in metadata.splitlines() if len(line) <= _LINE_LIMIT):
        key, field = _TOP_KEY.match(line), _FIELD.match(line)
        if key:
            people, indent = found.setdefault(key[1], []), -1
        elif field and field["name"] == "submitters" and not field["dash"] and not field["value"]:
            indent = len(field["indent"])
        elif field and indent >= 0:
            if field["dash"]:
                people.append({})
            elif len(field["indent"]) <= indent:
                indent = -1
            if indent >= 0 and people:
                people[-1][field["name"]] = _scalar(field["value"])
    groups = ((folder, listed[:_PEOPLE_LIMIT]) for folder, listed in found.items())
    return {folder: _gradescope_owner(folder, listed) for folder, listed in groups if any(_names(listed))}


def _names(people: Iterable[Mapping[str, str]]) -> Iterator[str]:
    return (as_read(person.get("name", "") or person.get("email", "")) for person in people)


def _gradescope_owner(folder: str, listed: Sequence[Mapping[str, str]]) -> Owner:
    own = {SUBMISSION: folder.removeprefix("submission_")}
    people = []
    for name, person in zip(_names(listed), listed, strict=True):
        ids = {kind: as_read(person[field]) for field, kind in _FIELDS.items() if person.get(field)}
        people += [Person(name, ids or own)] if name else []
    return Owner(tuple(people))


_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")


def _scalar(text: str) -> str:
    """Return the text of a YAML scalar of one line."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(lambda found: found[4] or _char(found[1] or found[2] or found[3]), text[1:-1])
    return "" if text in ("~", "null") else text


def _char(digits: str) -> str:
    number = int(digits, 16)
    return chr(number) if number <= 0x10FFFF else ""
