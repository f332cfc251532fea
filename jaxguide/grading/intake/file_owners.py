"""Find the student of each file: by a pattern, by the roster, or else by the names of files and folders."""

import collections
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from jaxguide.course.books.library import Course
from jaxguide.grading.intake.student_names import ClassList, name_key

_EDITION = re.compile(r"_\d+$")  # see `jaxguide.student.new_editions`
_WILDCARDS = {"{student}": "(?P<student>[^/]+?)", "**": ".*", "*": "[^/]*", "?": "[^/]"}


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
    >>> StudentPattern("hw1_{student}").find(Path("hw1_j.smith.ipynb"))
    'j.smith'
    >>> StudentPattern(r"^(?P<student>[a-z]+)\\d*_late").find(Path("week1/ada2_late.py"))
    'ada'
    """

    def __init__(self, text: str):
        self.text = text = unicodedata.normalize("NFC", text)
        self._is_glob = "{student}" in text
        if not self._is_glob and "(?P<student>" not in text:
            message = "`{text}` does not say where the student's name is. Write, for example, `{{student}}_*.ipynb`."
            raise PatternError(message.format(text=text))
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
    named = False
    regex = ""
    for part in parts:
        if part == "{student}" and named:
            regex += "(?P=student)"
        elif part in _WILDCARDS:
            regex += _WILDCARDS[part]
            named = named or part == "{student}"
        else:
            regex += re.escape(part)
    return regex


def below(path: Path, roots: Iterable[Path]) -> PurePath:
    """Return a path relative to the nearest folder given on the command line, or only its name."""
    absolute = path.absolute()
    inside = [absolute.relative_to(root.absolute()) for root in roots if absolute.is_relative_to(root.absolute())]
    return min((one for one in inside if one.parts), key=lambda one: len(one.parts), default=PurePath(path.name))


def students_of(
    paths: Sequence[Path],
    course: Course,
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
        paths: the files.
        course: the course; the names of its lessons do not name students.
        roots: the folders given on the command line; names above them are ignored.
        pattern: how paths contain the student's name.
        roster: the class list.
        named: for each path, the student that an export names, or None.
    """
    roster = roster or ClassList()
    folders = {path.absolute().parent for path in paths}
    stems = collections.Counter(stem for stem, _folder in {(path.stem, path.absolute().parent) for path in paths})

    def student(path: Path, exported: str | None) -> tuple[str, Path | None]:
        """Return the student's name, and the folder or file without suffix that it is the name of, if it is one's."""
        place = below(path, roots)
        found = pattern.find(place) if pattern is not None else None
        if found is not None:
            person = roster.find(found)
            return person.name if person is not None else found, None
        if exported is not None:
            return exported, None
        named = path.absolute().with_suffix("")
        for number, name in enumerate((*place.parts[:-1], place.stem), 1):
            if (person := roster.find(name)) is not None:
                above = len(place.parts) - number
                return person.name, named.parents[above - 1] if above else named
        is_lesson = path.stem in course.books or _EDITION.sub("", path.stem) in course.books
        if is_lesson or stems[path.stem] > 1:
            return _shortest(named.parent, folders), named.parent
        return unicodedata.normalize("NFC", path.stem), named

    found = [student(path, exported) for path, exported in zip(paths, named or [None] * len(paths), strict=True)]
    # Of the places that bear one name, the one farthest up is the student's: the others are in someone's folder.
    homes: dict[str, Path] = {}
    for name, place in sorted(found, key=lambda one: len(one[1].parts) if one[1] is not None else 0):
        if place is not None:
            homes.setdefault(name_key(name), place)
    owners = {
        place: name
        for path, (name, place) in zip(paths, found, strict=True)
        if place is not None and place in path.absolute().parents
    }
    counts = collections.Counter(path.absolute().parent for path in paths)

    def checked(path: Path, name: str, place: Path | None) -> str:
        if place == path.absolute().with_suffix("") and roster.find(name) is None:
            name = next((owners[above] for above in reversed(path.absolute().parents) if above in owners), name)
        home = homes.get(name_key(name))
        if place is None or home is None or len(place.parts) == len(home.parts) or place.is_relative_to(home):
            return name
        folder = path.absolute().parent
        own = _shortest(folder, folders)
        if name_key(own) == name_key(name):  # the folder has that name
            return f"{folder.parent.name}/{own}"
        return own if counts[folder] == 1 or folder in owners else f"{own}/{name}"

    return [checked(path, *one) for path, one in zip(paths, found, strict=True)]


def _shortest(folder: Path, folders: set[Path]) -> str:
    """Return the shortest end of a folder's path that tells it from the other folders."""
    for count in range(1, len(folder.parts)):
        end = folder.parts[-count:]
        if not any(other != folder and other.parts[-count:] == end for other in folders):
            break
    name = "/".join(folder.parts[-count:]) if len(folder.parts) > 1 else folder.name
    return unicodedata.normalize("NFC", name)
