"""Find the files to grade among files and folders, in learning platforms' exports and in students' archives."""

import collections
import contextlib
import dataclasses
import os
import re
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jaxguide.grading.intake.file_owners import (
    GRADESCOPE_METADATA,
    METADATA_LIMIT_BYTES,
    StudentPattern,
    are_canvas_names,
    below,
    gradescope_owners,
    owner_in,
    owner_on_disk,
)
from jaxguide.grading.intake.file_to_grade import (
    MEMBERS_LIMIT,
    NESTING_LIMIT,
    PACKED_LIMIT_BYTES,
    Entry,
    is_passed_over,
    name_parts,
    open_zip,
    read_member,
    why_refused,
)
from jaxguide.grading.intake.student_names import NO_ONE, ClassList, Key, Owner
from jaxguide.grading.intake.submission import (
    ARCHIVE_SUFFIX,
    FILE_LIMIT_BYTES,
    OTHER_ARCHIVES,
    SUFFIXES,
    UnreadableSubmission,
    wrong_kind,
)

STORE_NAME = "grading.sqlite"
"""The file that every results folder contains."""

# What jaxguide and learning platforms lay beside submissions.
_LAID_THERE = re.compile(
    r"(^|/)(jaxguide-progress[^/]*\.json|submission_metadata\.yml|[^/]*_attempt_[\d-]+\.txt)$"
    r"|_assignsubmission_onlinetext|_(text|link)\.html$"
)

OWN_FILES_LIMIT = 200
# On all archives in a class's archive, and on those of one student.
_TOTAL_LIMIT_BYTES = 8 * 2**30
_OWN_LIMIT_BYTES = 4 * PACKED_LIMIT_BYTES
_Spent = collections.Counter[tuple[str, Key | None]]


class NothingToGrade(ValueError):
    """No path holds a submission."""


def find_submissions(paths: Iterable[Path], suffixes: Sequence[str] = SUFFIXES) -> list[Path]:
    """Return the files named by `paths`, and notebooks and Python files in the folders among them, without duplicates.

    This includes pipes, sockets and devices with such names; their rows say what they are.

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

    Raises:
        FileNotFoundError: one of the paths is not there.
        NothingToGrade: there is no such file in an archive.
    """
    inside = {path: archive for path in paths if (archive := archive_around(path)) is not None}
    on_disk = [path for path in paths if path not in inside]
    files = [path for path in find_submissions(on_disk, (*SUFFIXES, ARCHIVE_SUFFIX)) if not is_in(path, out)]
    archives = [path for path in files if path.suffix.lower() == ARCHIVE_SUFFIX]
    entries = [*_on_disk(path for path in files if path.suffix.lower() != ARCHIVE_SUFFIX), *expand(archives)]
    for path, archive in ((path, archive) for path, archive in inside.items() if archive not in archives):
        found = [entry for entry in expand([archive]) if entry.path == path]
        if not found:
            raise NothingToGrade(f"There is no submission `{path.relative_to(archive)}` in `{archive}`.")
        entries += found[:1]
    return [*entries, *_only_others(on_disk, entries, out, pattern, roster or ClassList())]


def _on_disk(paths: Iterable[Path]) -> list[Entry]:
    """Return files with whose they are as far as an unpacked export says."""
    paths = list(paths)
    names = collections.defaultdict[Path, list[str]](list)
    for path in paths:
        names[path.parent].append(path.name)
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
        return file.owner.known_or(Owner.of(name) if name else NO_ONE)

    answered: set[Key] = set()
    for entry in found:
        answered |= {entry.owner.key, *(Owner.of(person.name).key for person in entry.owner.people)}
    for file in _on_disk(at):
        place = below(file.path, roots)
        answered |= {named(file).key, Owner.of(place.parts[0] if len(place.parts) > 1 else place.stem).key}
    others: dict[Key, Entry] = {}
    for file in _on_disk(_of_students(roots, out)):
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


def _of_students(roots: Iterable[Path], out: Path) -> list[Path]:
    """Return the files below folders, except those in the results folder or in earlier ones."""
    files = dict.fromkeys(path for root in roots if root.is_dir() for path in files_below(root))
    results = {out.absolute(), *(path.absolute().parent for path in files if path.name == STORE_NAME)}
    return [path for path in files if results.isdisjoint(path.absolute().parents)]


def passed_over_below(roots: Iterable[Path], known: Iterable[Path], out: Path) -> list[Path]:
    """Return the files below folders that are not known, without those that jaxguide or a platform lays there."""
    at = {path.absolute() for path in known}
    files = [path for path in _of_students(roots, out) if path.absolute() not in at]
    return [path for path in files if not _LAID_THERE.search(path.as_posix())]


def holds_python(folder: Path) -> bool:
    """Return whether a folder contains Python or jaxguide, which workers need: the top of a clone may contain both."""
    places = (sys.prefix, sys.base_prefix, Path(__file__).parents[1])
    return any(Path(place).is_relative_to(folder.absolute()) for place in places)


def archive_around(path: Path) -> Path | None:
    """Return the archive in a path that leads into one, such as `class.zip/ada/lesson.ipynb`, or None."""
    return next((above for above in path.parents if above.is_file()), None)


def expand(archives: Iterable[Path]) -> list[Entry]:
    """Return a row for each submission in these archives and those in them, including those that cannot be read."""
    archives = list(archives)
    neighbours = collections.Counter(path.parent for path in archives)
    found = []
    for path in archives:
        # Several archives in a folder belong to one student each; a single one may belong to anyone.
        alone = NO_ONE if neighbours[path.parent] == 1 else Owner.of(path.stem)
        owner = owner_on_disk(path).known_or(alone)
        whole = Entry(path, owner=owner, archive=path)
        if owner.people and path.exists() and path.stat().st_size > PACKED_LIMIT_BYTES:
            size = PACKED_LIMIT_BYTES // 2**20
            message = f"The archive is larger than {size} MB; hand in the files themselves."
            found.append(dataclasses.replace(whole, problem=message))
        else:
            found += _without_floods(_rows(whole, None, owner.key if owner.people else None, _Spent()))
    return found


def _take(spent: _Spent, student: Key | None, members: int, size_bytes: int = 0) -> None:
    """Count what is listed or unpacked of a student, None for the class; raise if the archives contain too much."""
    spent["files", student] += members
    if spent["files", student] > MEMBERS_LIMIT:
        raise UnreadableSubmission(f"The archive and those in it contain more than {MEMBERS_LIMIT} files.")
    for who, limit_bytes in {student: _OWN_LIMIT_BYTES, None: _TOTAL_LIMIT_BYTES}.items():
        spent["bytes", who] += size_bytes
        if spent["bytes", who] > limit_bytes:
            size = limit_bytes // 2**20
            raise UnreadableSubmission(f"The archive and those in it contain more than {size} MB.")


def _rows(packed: Entry, around: zipfile.ZipFile | None, student: Key | None, spent: _Spent) -> list[Entry]:
    """Return the rows of an archive's files, or one row for the archive if it cannot be read.

    It is on disk, or in another one `around` it; its `student` is None if it is a class's.
    """
    try:
        content: Path | bytes = packed.path
        if around is not None:
            if len(packed.numbers) > NESTING_LIMIT:
                too_deep = f"Archives are nested more than {NESTING_LIMIT} deep; hand in the file itself."
                raise UnreadableSubmission(too_deep)
            content = read_member(around, packed.numbers[-1], PACKED_LIMIT_BYTES)
            _take(spent, student, 0, len(content))
        with open_zip(content) as archive:
            found = list(_files_of(archive, packed, student, spent))
    except UnreadableSubmission as problem:
        return [dataclasses.replace(packed, problem=str(problem))]
    nothing = "The archive contains no notebook (.ipynb) and no Python file (.py)."
    return found or [dataclasses.replace(packed, problem=nothing)]


def _files_of(archive: zipfile.ZipFile, packed: Entry, student: Key | None, spent: _Spent) -> Iterator[Entry]:
    """Yield the rows of the files in an open archive that are submissions or stand for one."""
    members = archive.infolist()
    _take(spent, student, len(members))
    is_own = bool(packed.numbers)
    named_parts = [name_parts(member.filename) for member in members]
    last = {parts: number for number, (parts, problem) in enumerate(named_parts) if not problem}
    gradescope = {} if is_own else _metadata(archive)  # what a student packed must not name others
    is_canvas = not is_own and are_canvas_names(parts[0] for parts in last if len(parts) == 1)
    others: dict[Key, Entry] = {}
    answered: set[Key] = set()
    for number, (member, (parts, problem)) in enumerate(zip(members, named_parts, strict=True)):
        if member.filename.endswith("/") or is_passed_over(member.filename.replace("\\", "/").split("/")):
            continue
        named = NO_ONE if packed.owner.is_exported else owner_in(parts, gradescope, is_canvas)
        whose = named.known_or(packed.owner)
        path, numbers = packed.path.joinpath(*parts), (*packed.numbers, number)
        row = Entry(path, None, whose, packed.archive, problem, _changed_s(member), numbers)
        suffix = path.suffix.lower()
        if suffix not in (*SUFFIXES, ARCHIVE_SUFFIX, *OTHER_ARCHIVES):
            if whose.people and path.name != GRADESCOPE_METADATA:
                others.setdefault(whose.key, dataclasses.replace(row, problem=problem or wrong_kind(path)))
            continue
        answered.add(whose.key)
        if not problem and last[parts] != number:
            problem = "A later file of the same name in the archive counts instead."
        if not problem and suffix == ARCHIVE_SUFFIX:
            inner = dataclasses.replace(row, owner=whose.known_or(Owner.of(path.stem)))
            yield from _rows(inner, archive, student or inner.owner.key, spent)
        else:
            problem = problem or wrong_kind(path) or why_refused(member, FILE_LIMIT_BYTES)
            yield dataclasses.replace(row, problem=problem)
    # Students who handed in only other files must not be listed as absent.
    yield from (row for key, row in others.items() if key not in answered)


def _changed_s(member: zipfile.ZipInfo) -> float:
    try:
        return time.mktime(time.struct_time((*member.date_time, 0, 0, -1)))
    except (ValueError, OverflowError):
        return 0.0


def _metadata(archive: zipfile.ZipFile) -> dict[str, Owner]:
    names = [member.filename.rsplit("/", 1)[-1] for member in archive.infolist()]
    with contextlib.suppress(ValueError, UnreadableSubmission):
        content = read_member(archive, names.index(GRADESCOPE_METADATA), METADATA_LIMIT_BYTES)
        return gradescope_owners(content.decode("utf-8", "replace"))
    return {}


def _without_floods(found: list[Entry]) -> list[Entry]:
    """Replace the rows of a student who has too many files with a single row that says so."""
    counts = collections.Counter(row.owner.key for row in found if row.owner.people)
    kept: dict[object, Entry] = {}
    for row in found:
        many = f"The archive contains {counts[row.owner.key]} files of one student; at most {OWN_FILES_LIMIT} are read."
        if counts[row.owner.key] <= OWN_FILES_LIMIT:
            kept[id(row)] = row
        else:
            kept[row.owner.key] = Entry(row.file, owner=row.owner, archive=row.archive, problem=many)
    return list(kept.values())
