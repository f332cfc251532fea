"""Whose a file is: by a pattern, by the roster, else as far as names of files and folders tell."""

import collections
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePath

from jaxguide.base.text import _
from jaxguide.course.books.library import Course

_WILDCARDS = {"{student}": "(?P<student>[^/]+?)", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class PatternError(ValueError):
    """A pattern names no student; the message says what was expected."""


class StudentPattern:
    """Finds the student's name in a file's path below the folder that was named.

    Args:
        text: with `{student}` for the name, `*` for anything in one name, `**` for anything at all; or a regular
            expression with a group of the name `student`. Without a `/` it is matched with the file's name alone. It
            may leave out the file's suffix, which is never part of the name.

    Raises:
        PatternError: it is neither.

    >>> StudentPattern("{student}_*_file_/*").find(Path("Ada Byron_17_assignsubmission_file_/hw.py"))
    'Ada Byron'
    >>> StudentPattern("hw1_{student}").find(Path("hw1_j.smith.ipynb"))
    'j.smith'
    >>> StudentPattern(r"^(?P<student>[a-z]+)\\d*_late").find(Path("week1/ada2_late.py"))
    'ada'
    """

    def __init__(self, text: str):
        self.text = text
        self._is_glob = "{student}" in text
        if not self._is_glob and "(?P<student>" not in text:
            message = _("`{text}` does not say where the student's name is. Write it as `{{student}}_*.ipynb`, say.")
            raise PatternError(message.format(text=text))
        try:
            self._regex = re.compile(_regex_of(text) if self._is_glob else text)
        except re.error as error:
            raise PatternError(_("`{text}` is no pattern: {error}.").format(text=text, error=error)) from None

    def find(self, path: PurePath) -> str | None:
        """Return the name that stands in a path, None where the pattern does not fit."""
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
    """Return a path as seen from the nearest of the folders that were named, or its name alone."""
    absolute = path.absolute()
    inside = [absolute.relative_to(root.absolute()) for root in roots if absolute.is_relative_to(root.absolute())]
    return min((one for one in inside if one.parts), key=lambda one: len(one.parts), default=PurePath(path.name))


def students_of(
    paths: Sequence[Path],
    course: Course,
    *,
    roots: Sequence[Path] = (),
    pattern: StudentPattern | None = None,
    roster: Collection[str] = (),
    named: Sequence[str | None] = (),
) -> list[str]:
    """Name each file's student.

    The pattern decides where it fits, then an export that names the student, then a name on the roster that is the
    file's stem, or a folder above it. Else the stem, 'ada' for `ada.ipynb`, or the folder, 'ada' for
    `ada/homework.ipynb`, where the stem is a lesson's or several folders hold a file of this name. Folders of one name
    in several places are told apart: 'monday/ada'.

    Args:
        paths: the files.
        course: whose lessons are no students.
        roots: the folders that were named; what stands above them says nothing about students.
        pattern: where the name is.
        roster: the names that there are.
        named: for each path the student that an export names, None where it names nobody.
    """
    folders = {path.absolute().parent for path in paths}
    stems = collections.Counter(stem for stem, _folder in {(path.stem, path.absolute().parent) for path in paths})
    listed = {name.casefold(): name for name in roster}

    def student(path: Path, exported: str | None) -> str:
        place = below(path, roots)
        found = pattern.find(place) if pattern is not None else None
        found = found or exported
        if found is not None:
            return listed.get(found.casefold(), found)
        for name in (place.stem, *reversed(place.parts[:-1])):
            if name.casefold() in listed:
                return listed[name.casefold()]
        if path.stem in course.books or stems[path.stem] > 1:
            return _shortest(path.absolute().parent, folders)
        return path.stem

    return [student(path, exported) for path, exported in zip(paths, named or [None] * len(paths), strict=True)]


def _shortest(folder: Path, folders: set[Path]) -> str:
    """Return so much of the end of a folder's path as tells it from the others."""
    for count in range(1, len(folder.parts)):
        end = folder.parts[-count:]
        if not any(other != folder and other.parts[-count:] == end for other in folders):
            break
    return "/".join(folder.parts[-count:]) if len(folder.parts) > 1 else folder.name
