"""Find the submissions in zip archives, whether exported by a learning platform or packed by students."""

import collections
import dataclasses
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from jaxguide.grading.intake.file_owners import (
    GRADESCOPE_METADATA,
    METADATA_LIMIT_BYTES,
    are_canvas_names,
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
from jaxguide.grading.intake.student_names import NO_ONE, Key, Owner, Person, as_read
from jaxguide.grading.intake.submission import (
    ARCHIVE_SUFFIX,
    FILE_LIMIT_BYTES,
    OTHER_ARCHIVES,
    SUFFIXES,
    UnreadableSubmission,
    wrong_kind,
)

OWN_FILES_LIMIT = 200
# On all archives in a class's archive, and on those of one student.
_TOTAL_LIMIT_BYTES = 8 * 2**30
_OWN_LIMIT_BYTES = 4 * PACKED_LIMIT_BYTES
_Spent = collections.Counter[tuple[str, Key | None]]


def archive_around(path: Path) -> Path | None:
    """Return the archive in a path that leads into one, such as `class.zip/ada/lesson.ipynb`, or None."""
    return next((above for above in path.parents if above.is_file()), None)


def expand(archives: Iterable[Path]) -> list[Entry]:
    """Return a row for each submission in these archives, including those that cannot be read.

    Args:
        archives: zip files; archives inside are read too, to a depth of 2.
    """
    archives = list(archives)
    neighbours = collections.Counter(path.parent for path in archives)
    found = []
    for path in archives:
        # Several archives in a folder belong to one student each; a single one may belong to anyone.
        owner = owner_on_disk(path)
        if not owner.people and neighbours[path.parent] > 1:
            owner = Owner((Person(as_read(path.stem)),))
        whole = Entry(path, owner=owner, archive=path)
        if owner.people and path.exists() and path.stat().st_size > PACKED_LIMIT_BYTES:
            size = PACKED_LIMIT_BYTES // 2**20
            message = f"The archive is larger than {size} MB; hand in the files themselves."
            found.append(dataclasses.replace(whole, problem=message))
        else:
            found += _without_floods(_rows(whole, None, owner.key if owner.people else None, _Spent()))
    return found


def _take(spent: _Spent, student: Key | None, members: int, size_bytes: int = 0) -> None:
    """Count files that are listed, or an archive that is unpacked, of a student, or None for the class.

    Raises:
        UnreadableSubmission: the student's archives, or all in the class's, contain too much.
    """
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

    Args:
        packed: the archive.
        around: the open archive that contains it, None if it is on disk.
        student: whose archive it is; None for a class's.
        spent: what the archives contain so far.
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
        whose = named if named.people else packed.owner
        path, numbers = packed.path.joinpath(*parts), (*packed.numbers, number)
        row = Entry(path, None, whose, packed.archive, problem, _changed_s(member), numbers)
        suffix = path.suffix.lower()
        if suffix not in (*SUFFIXES, ARCHIVE_SUFFIX, *OTHER_ARCHIVES):
            if whose.people and path.name != GRADESCOPE_METADATA:
                others.setdefault(whose.key, row)
            continue
        answered.add(whose.key)
        if not problem and last[parts] != number:
            problem = "A later file of the same name in the archive counts instead."
        if not problem and suffix == ARCHIVE_SUFFIX:
            inner = dataclasses.replace(row, owner=whose if whose.people else Owner((Person(as_read(path.stem)),)))
            yield from _rows(inner, archive, student or inner.owner.key, spent)
        else:
            problem = problem or wrong_kind(path) or why_refused(member, FILE_LIMIT_BYTES)
            yield dataclasses.replace(row, problem=problem)
    for key, row in others.items():
        # Students who handed in only other files must not be listed as absent.
        if key not in answered:
            yield dataclasses.replace(row, problem=row.problem or wrong_kind(row.path))


def _changed_s(member: zipfile.ZipInfo) -> float:
    try:
        return time.mktime(time.struct_time((*member.date_time, 0, 0, -1)))
    except (ValueError, OverflowError):
        return 0.0


def _metadata(archive: zipfile.ZipFile) -> dict[str, Owner]:
    for number, member in enumerate(archive.infolist()):
        if member.filename.rsplit("/", 1)[-1] == GRADESCOPE_METADATA:
            try:
                return gradescope_owners(read_member(archive, number, METADATA_LIMIT_BYTES).decode("utf-8", "replace"))
            except UnreadableSubmission:
                return {}
    return {}


def _without_floods(found: list[Entry]) -> list[Entry]:
    """Replace the rows of a student who has too many files with a single row that says so."""
    counts = collections.Counter(row.owner.key for row in found if row.owner.people)
    kept: dict[object, Entry] = {}
    for row in found:
        count = counts[row.owner.key]
        if count <= OWN_FILES_LIMIT:
            kept[id(row)] = row
            continue
        problem = f"The archive contains {count} files of one student; at most {OWN_FILES_LIMIT} are read."
        kept[row.owner.key] = Entry(row.file, owner=row.owner, archive=row.archive, problem=problem)
    return list(kept.values())
