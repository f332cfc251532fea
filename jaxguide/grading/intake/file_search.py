"""Find the files to grade among the files, folders and archives named on the command line."""

import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxguide.grading.intake.archives import archive_around, expand
from jaxguide.grading.intake.file_owners import StudentPattern, are_canvas_names, below, owner_on_disk
from jaxguide.grading.intake.file_to_grade import Entry, is_passed_over
from jaxguide.grading.intake.student_names import ClassList, Key, Owner, Person, as_read
from jaxguide.grading.intake.submission import ARCHIVE_SUFFIX, SUFFIXES

STORE_NAME = "grading.sqlite"
"""The file that every results folder contains."""

# What jaxguide and learning platforms lay beside submissions.
_LAID_THERE = re.compile(
    r"(^|/)(jaxguide-progress[^/]*\.json|submission_metadata\.yml|[^/]*_attempt_[\d-]+\.txt)$"
    r"|_assignsubmission_onlinetext|_(text|link)\.html$"
)


class NothingToGrade(ValueError):
    """No path holds a submission."""


def find_submissions(paths: Iterable[Path], suffixes: Sequence[str] = SUFFIXES) -> list[Path]:
    """Return the files named by `paths`, and those of some kinds in the folders among them, without duplicates.

    This includes pipes, sockets and devices with such names; their rows say what they are.

    Args:
        paths: files and folders.
        suffixes: of files in folders; by default those of notebooks and Python files.

    Raises:
        FileNotFoundError: one of the paths does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"There is no file or folder `{path}`.")
        files = [one for one in files_below(path) if one.suffix.lower() in suffixes] if path.is_dir() else [path]
        found |= dict.fromkeys(files)
    return list(found)


def find_entries(
    paths: Sequence[Path],
    out: Path,
    *,
    pattern: StudentPattern | None = None,
    roster: ClassList | None = None,
) -> list[Entry]:
    """Return all that is to be graded among and below `paths`, except what is in the results folder.

    A student who handed in only files of other kinds has one of them, which cannot be read.

    Args:
        paths: files, folders and archives.
        out: the folder for results.
        pattern, roster: whose files of other kinds are.

    Raises:
        FileNotFoundError: one of the paths is not there.
        NothingToGrade: there is no such file in an archive.
    """
    inside = {path: archive for path in paths if (archive := archive_around(path)) is not None}
    on_disk = [path for path in paths if path not in inside]
    files = [path for path in find_submissions(on_disk, (*SUFFIXES, ARCHIVE_SUFFIX)) if not is_in(path, out)]
    archives = [path for path in files if path.suffix.lower() == ARCHIVE_SUFFIX]
    entries = [*_on_disk(path for path in files if path not in archives), *expand(archives)]
    for path, archive in inside.items():
        if archive not in archives:
            found = next((entry for entry in expand([archive]) if entry.path == path), None)
            if found is None:
                raise NothingToGrade(f"There is no submission `{path.relative_to(archive)}` in `{archive}`.")
            entries.append(found)
    return [*entries, *_only_others(on_disk, entries, out, pattern, roster or ClassList())]


def _on_disk(paths: Iterable[Path]) -> list[Entry]:
    """Return files with whose they are as far as an unpacked export says."""
    paths = list(paths)
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(path.name)
    canvas = {folder for folder, own in names.items() if are_canvas_names(own)}
    return [Entry(path, owner=owner_on_disk(path, path.parent in canvas)) for path in paths]


def is_in(path: Path, folder: Path) -> bool:
    """Return whether a path lies below a folder."""
    return path.absolute().is_relative_to(folder.absolute())


def _only_others(
    roots: Sequence[Path], found: Sequence[Entry], out: Path, pattern: StudentPattern | None, roster: ClassList
) -> list[Entry]:
    """Return one file of each student without a submission; reading it raises an error that says why.

    A file's student is the one that an unpacked export, the pattern or the roster names. Failing that, it is the name
    of the file's top folder, if others of this class have a folder too. Loose files belong to no one, unless their name
    is on the roster.
    """
    at = {entry.file.absolute() for entry in found}
    are_folders = any(entry.archive is None and len(below(entry.path, roots).parts) > 1 for entry in found)

    def named(file: Entry) -> Owner:
        place = below(file.path, roots)
        folders = place.parts[:-1]
        name = pattern.find(place) if pattern is not None and folders else None
        known = (person.name for person in map(roster.find, folders or (place.stem,)) if person is not None)
        name = name or next(known, None) or (folders[0] if are_folders and folders else "")
        return file.owner if file.owner.people or not name else Owner((Person(as_read(name)),))

    answered: set[Key] = set()
    for entry in found:
        answered |= {entry.owner.key, *(Owner((Person(person.name),)).key for person in entry.owner.people)}
    for file in _on_disk(at):
        place = below(file.path, roots)
        answered |= {named(file).key, Owner((Person(place.parts[0] if len(place.parts) > 1 else place.stem),)).key}
    others: dict[Key, Entry] = {}
    for file in _on_disk(path for root in roots if root.is_dir() for path in files_of_students(root, out)):
        whose = named(file)
        if whose.people and whose.key not in answered and file.path.absolute() not in at:
            others.setdefault(whose.key, dataclasses.replace(file, owner=whose))
    return list(others.values())


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted, without hidden ones and those that programs keep for themselves.

    A link to a folder counts as a file: it is not followed. Folders that cannot be listed, for example because they are
    nested too deeply, are passed over.
    """
    below: list[Path] = []
    waiting = [folder]
    while waiting:  # before Python 3.12, `os.walk` is recursive
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                (waiting if entry.is_dir(follow_symlinks=False) else below).append(Path(entry.path))
    return sorted(path for path in below if not is_passed_over(path.relative_to(folder).parts))


def files_of_students(root: Path, out: Path) -> list[Path]:
    """Return the files below a folder, except those in the results folder or in earlier ones."""
    files = files_below(root)
    results = {out.absolute(), *(path.absolute().parent for path in files if path.name == STORE_NAME)}
    return [path for path in files if results.isdisjoint(path.absolute().parents)]


def passed_over_below(roots: Iterable[Path], known: Iterable[Path], out: Path) -> list[Path]:
    """Return the files below folders that are not known, without those that jaxguide or a platform lays there."""
    at = {path.absolute() for path in known}
    files = dict.fromkeys(path for root in roots if root.is_dir() for path in files_of_students(root, out))
    return [path for path in files if path.absolute() not in at and not _LAID_THERE.search(path.as_posix())]


def holds_python(folder: Path) -> bool:
    """Return whether a folder contains Python or jaxguide, which workers need: the top of a clone may contain both."""
    places = (sys.prefix, sys.base_prefix, Path(__file__).parents[1])
    return any(Path(place).is_relative_to(folder.absolute()) for place in places)
