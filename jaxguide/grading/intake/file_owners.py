"""Find whose each file is: by what a learning platform exported, by a pattern, the roster, or else its name."""

import collections
import contextlib
import functools
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from jaxguide.grading.intake.student_names import NO_ONE, SUBMISSION, ClassList, Owner, Person, as_read, name_key

if TYPE_CHECKING:  # which imports JAX
    from jaxguide.course.books.library import Course

_EDITION = re.compile(r"_\d+$")  # see `jaxguide.student.new_editions`
_WILDCARDS = {"{student}": "(?P<student>[^/]+?)", "**": ".*", "*": "[^/]*", "?": "[^/]"}
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
_LINE_LIMIT, _PEOPLE_LIMIT = 1_000, 100


class PatternError(ValueError):
    """A pattern does not say where the student's name is; the message says what was expected."""


class StudentPattern:
    """Finds the student's name in a file's path below the folder given on the command line.

    Args:
        text: a pattern with `{student}` for the name, `*` for anything but `/`, and `**` for anything; or a regular
            expression with a group named `student`. Without a `/`, it is matched against the file name only. The file's
            suffix may be left out and is never part of the student's name.

    Raises:
        PatternError: the text is neither.

    >>> StudentPattern("{student}_*_file_/*").find(Path("Ada Byron_17_assignsubmission_file_/hw.py"))
    'Ada Byron'
    >>> StudentPattern(r"^(?P<student>[a-z]+)\\d*_late").find(Path("week1/ada2_late.py"))
    'ada'
    """

    def __init__(self, text: str):
        self.text = text = unicodedata.normalize("NFC", text)
        self._is_glob = "{student}" in text
        if not self._is_glob and "(?P<student>" not in text:
            said = f"`{text}` does not say where the student's name is."
            raise PatternError(f"{said} Write, for example, `{{student}}_*.ipynb`.")
        try:
            self._regex = re.compile(_regex_of(text) if self._is_glob else text)
        except re.error as error:
            raise PatternError(f"`{text}` is not a valid pattern: {error}.") from None

    def find(self, path: PurePath) -> str | None:
        """Return the student's name in a path, or None if the pattern does not match."""
        path = PurePath(unicodedata.normalize("NFC", path.as_posix()))
        whole = path.as_posix() if "/" in self.text else path.name
        stem = whole.removesuffix(path.suffix)
        if self._is_glob:
            tried = [self._regex.fullmatch(subject) for subject in (stem, whole, stem + path.suffix.lower())]
        else:
            tried = [self._regex.search(subject) for subject in (whole, stem)]
        spans = [found.span("student") for found in tried if found and found["student"]]
        return next((name for start, end in spans if (name := stem[start:end].strip())), None)


def _regex_of(glob: str) -> str:
    parts = re.split(r"(\{student\}|\*\*|\*|\?)", glob)
    regex = "".join(_WILDCARDS.get(part, re.escape(part)) for part in parts)
    before, student, after = regex.partition(_WILDCARDS["{student}"])
    return before + student + after.replace(student, "(?P=student)")


def below(path: Path, roots: Iterable[Path]) -> PurePath:
    """Return a path relative to the nearest folder given on the command line, or only its name."""
    absolute = path.absolute()
    inside = [absolute.relative_to(root.absolute()) for root in roots if absolute.is_relative_to(root.absolute())]
    return min((one for one in inside if one.parts), key=lambda one: len(one.parts), default=PurePath(path.name))


def students_of(
    paths: Sequence[Path],
    course: "Course",
    *,
    roots: Sequence[Path] = (),
    pattern: StudentPattern | None = None,
    roster: ClassList | None = None,
    named: Sequence[str | None] = (),
) -> list[str]:
    """Return the name of each file's student.

    The first of these decides: the pattern, if it matches; the export, if it names the student; a folder above the file
    or the file's stem, if it is on the roster. Otherwise the name is the stem, 'ada' for `ada.ipynb`; or the folder,
    'ada' for `ada/homework.ipynb`, if the stem is a lesson's name or several folders contain a file of this name.
    Folders of the same name in different places are told apart: 'monday/ada'. No file name stands for the student of
    another folder: beside `ada/homework.ipynb`, `bob/ada.ipynb` is of 'bob'. In a folder that has a student's name,
    files of other names are that student's, too.

    Args:
        course: the course; the names of its lessons do not name students.
        roots: the folders given on the command line; names above them are ignored.
        named: for each path, the student that an export names, or None.
    """
    roster = roster or ClassList()
    files = [path.absolute() for path in paths]
    counts = collections.Counter(path.parent for path in files)
    stems = collections.Counter(stem for stem, _folder in {(path.stem, path.parent) for path in files})

    def student(path: Path, exported: str | None) -> tuple[str, Path | None]:
        """Return the student's name, and the folder or file without suffix that it is the name of, if it is one's."""
        place, named = below(path, roots), path.with_suffix("")
        if pattern is not None and (found := pattern.find(place)) is not None:
            person = roster.find(found)
            return person.name if person is not None else found, None
        if exported is not None:
            return exported, None
        for one in reversed([named, *named.parents][: len(place.parts)]):
            if (person := roster.find(one.name)) is not None:
                return person.name, one
        is_lesson = path.stem in course.books or _EDITION.sub("", path.stem) in course.books
        if is_lesson or stems[path.stem] > 1:
            return _shortest(path.parent, counts), path.parent
        return unicodedata.normalize("NFC", path.stem), named

    found = list(map(student, files, named or [None] * len(paths)))
    # Of the places that bear one name, the one farthest up is the student's: the others are in someone's folder.
    homes: dict[str, Path] = {}
    owners: dict[Path, str] = {}
    for path, (name, place) in zip(files, found, strict=True):
        if place is not None:
            homes[name_key(name)] = min(homes.get(name_key(name), place), place, key=lambda one: len(one.parts))
            if place in path.parents:
                owners[place] = name

    def checked(path: Path, name: str, place: Path | None) -> str:
        if place == path.with_suffix("") and roster.find(name) is None:
            name = next((owners[above] for above in reversed(path.parents) if above in owners), name)
        home = homes.get(name_key(name))
        if place is None or home is None or len(place.parts) == len(home.parts) or place.is_relative_to(home):
            return name
        own = _shortest(path.parent, counts)
        if name_key(own) == name_key(name):  # the folder has that name
            return f"{path.parent.parent.name}/{own}"
        return own if counts[path.parent] == 1 or path.parent in owners else f"{own}/{name}"

    return [checked(path, *one) for path, one in zip(files, found, strict=True)]


def _shortest(folder: Path, folders: Iterable[Path]) -> str:
    """Return the shortest end of a folder's path that tells it from the other folders."""
    others = [other.parts for other in folders if other != folder]
    ends = (folder.parts[-count:] for count in range(1, len(folder.parts)))
    alone = (end for end in ends if all(other[-len(end) :] != end for other in others))
    return unicodedata.normalize("NFC", "/".join(next(alone, folder.parts[1:])))


def owner_in(parts: Sequence[str], gradescope: Mapping[str, Owner] | None = None, is_canvas: bool = False) -> Owner:
    """Return the students that an exported path names, with the ids that the platform gives them.

    Args:
        parts: folders and file, from the top of the archive.
        is_canvas: whether the files beside it show that Canvas named them, see `are_canvas_names`.

    >>> owner_in(["Group 3-Ada Byron_1201_assignsubmission_file_", "homework.ipynb"])
    Owner(people=(Person(name='Ada Byron', ids={'moodle_id': '1201'}),), group='Group 3')
    >>> owner_in(["de_la_cruzmaria_LATE_31_4711_homework-2.ipynb"]).people
    (Person(name='de_la_cruzmaria', ids={'canvas_id': '31'}),)
    """
    for part in parts[:-1]:  # what a student packed must not name others
        if _MOODLE.match(part):
            break
        if _GRADESCOPE.match(part):
            alone = Owner.of(part, {SUBMISSION: part.removeprefix("submission_")})
            return (gradescope or {}).get(part, alone)
    is_canvas = len(parts) == 1 and (is_canvas or _SURE_CANVAS.search(parts[0]) is not None)
    return _marked_owner(parts) or (_canvas_owner(parts[0]) if is_canvas else NO_ONE)


def owner_on_disk(path: Path, is_canvas: bool = False) -> Owner:
    """Return the students that an unpacked export names.

    >>> owner_on_disk(Path("week1/Ada Byron_1201_assignsubmission_file/homework.ipynb")).name
    'Ada Byron'
    >>> owner_on_disk(Path("byronada_LATE_31_4711_homework-2.ipynb"))
    Owner(people=(), group='')
    """
    for folder in reversed(path.absolute().parents):  # what a student packed must not name others
        if _GRADESCOPE.match(folder.name) and (folder.parent / GRADESCOPE_METADATA).is_file():
            return _unpacked(folder.parent / GRADESCOPE_METADATA).get(folder.name, NO_ONE)
    return _marked_owner(path.absolute().parts) or (_canvas_owner(path.name) if is_canvas else NO_ONE)


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
        return Owner.of(attempt["login"], {"login": as_read(attempt["login"])}) if attempt else None
    group = _GROUP.match(found["student"])
    name = found["student"][group.end() :] if group else found["student"]
    return Owner.of(name, {"moodle_id": found["id"]}, group["group"] if group else "")


def _canvas_owner(name: str) -> Owner:
    found = _CANVAS.match(name)
    return Owner.of(found["student"], {"canvas_id": found["id"]} if found["id"] else {}) if found else NO_ONE


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
    owners: dict[str, Owner] = {}
    for folder, listed in found.items():
        for one in listed[:_PEOPLE_LIMIT]:
            ids = {kind: as_read(one[kind]) for kind in ("sid", "email") if one.get(kind)}
            if name := as_read(one.get("name") or one.get("email", "")):
                person = Person(name, ids or {SUBMISSION: folder.removeprefix("submission_")})
                owners[folder] = Owner((*owners.get(folder, NO_ONE).people, person))
    return owners


def _scalar(text: str) -> str:
    """Return the text of a YAML scalar of one line."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text.startswith('"'):
        with contextlib.suppress(ValueError):  # JSON has the other escapes of YAML
            return str(json.loads(text.replace("\\x", "\\u00")))
    return "" if text in ("~", "null") else text
