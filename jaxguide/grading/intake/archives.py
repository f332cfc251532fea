"""Find the submissions in zip archives, whether exported by a learning platform or packed by students."""

import collections
import dataclasses
import functools
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from jaxguide.base.clean import clean
from jaxguide.grading.intake.file_search import FOLDERS_PASSED_OVER, files_below
from jaxguide.grading.intake.lms_names import (
    GRADESCOPE_METADATA,
    METADATA_LIMIT_BYTES,
    are_canvas_names,
    gradescope_owners,
    owner_in,
    owner_on_disk,
)
from jaxguide.grading.intake.student_names import NO_ONE, Key, Owner, Person, as_read
from jaxguide.grading.intake.submission import (
    FILE_LIMIT_BYTES,
    OTHER_ARCHIVES,
    SUFFIXES,
    UnreadableSubmission,
    wrong_kind,
)
from jaxguide.grading.intake.untrusted_zip import MEMBERS_LIMIT, name_parts, open_zip, read_member, why_refused

ARCHIVE_SUFFIX = ".zip"
NESTING_LIMIT = 2
OWN_FILES_LIMIT = 200
PACKED_LIMIT_BYTES = 64 * 2**20
# On all archives in a class's archive, and on those of one student.
_TOTAL_LIMIT_BYTES = 8 * 2**30
_OWN_LIMIT_BYTES = 4 * PACKED_LIMIT_BYTES


@dataclasses.dataclass(frozen=True)
class ArchivedEntry:
    """A file in an archive, or the reason why it cannot be read.

    Args:
        path: the archive's path followed by the file's path in it.
        archive: the archive on disk.
        owner: whose it is, as far as the export says.
        problem: a sentence that says why there is nothing to grade, '' if there is.
        modified_s: when the file was changed, in seconds since 1970.
        numbers: the file's index in the archive, preceded by the index of each archive around it.
    """

    path: Path
    archive: Path
    owner: Owner = NO_ONE
    problem: str = ""
    modified_s: float = 0.0
    numbers: tuple[int, ...] = ()

    def read(self) -> bytes:
        """Return the file's bytes.

        Raises:
            UnreadableSubmission: there is nothing to grade, for the reason in the message.
        """
        if self.problem:
            raise UnreadableSubmission(self.problem)
        *around, number = self.numbers
        with open_zip(_packed(self.archive, _state(self.archive), tuple(around))) as archive:
            return read_member(archive, number, FILE_LIMIT_BYTES)


def _state(path: Path) -> tuple[int, int]:
    try:
        return path.stat().st_mtime_ns, path.stat().st_size
    except OSError:
        return 0, 0  # opening it says what is wrong


# A student's files come one after the other, and their archive is unpacked once for all of them.
@functools.lru_cache(maxsize=NESTING_LIMIT)
def _packed(path: Path, state: tuple[int, int], numbers: tuple[int, ...]) -> Path | bytes:
    """Return the archive at these indices in the archive on disk, which is in this state.

    Raises:
        UnreadableSubmission: it must not be read, or is damaged.
    """
    if not numbers:
        return path
    with open_zip(_packed(path, state, numbers[:-1])) as archive:
        return read_member(archive, numbers[-1], PACKED_LIMIT_BYTES)


def archive_around(path: Path) -> Path | None:
    """Return the archive in a path that leads into one, such as `class.zip/ada/lesson.ipynb`, or None."""
    return next((above for above in path.parents if above.is_file()), None)


def find_archives(paths: Iterable[Path]) -> list[Path]:
    """Return the zip archives among `paths` and in the folders among them, without duplicates."""
    found: dict[Path, None] = {}
    for path in paths:
        for one in files_below(path) if path.is_dir() else [path]:
            if one.suffix.lower() == ARCHIVE_SUFFIX:
                found[one] = None
    return list(found)


def expand(archives: Iterable[Path]) -> list[ArchivedEntry]:
    """Return a row for each submission in these archives, including those that cannot be read.

    Args:
        archives: zip files; archives inside are read too, to a depth of 2.
    """
    archives = list(archives)
    neighbours = [path.parent for path in archives]
    found = []
    for path in archives:
        # Several archives in a folder belong to one student each; a single one may belong to anyone.
        owner = owner_on_disk(path)
        if not owner.people and neighbours.count(path.parent) > 1:
            owner = Owner((Person(as_read(path.stem)),))
        whole = ArchivedEntry(path, path, owner)
        if owner.people and _state(path)[1] > PACKED_LIMIT_BYTES:
            message = "The archive is larger than {size} MB; hand in the files themselves."
            found.append(dataclasses.replace(whole, problem=message.format(size=PACKED_LIMIT_BYTES // 2**20)))
        else:
            room = _Room(_OWN_LIMIT_BYTES if owner.people else _TOTAL_LIMIT_BYTES)
            found += _without_floods(_rows(whole, functools.partial(Path, path), room, is_class=not owner.people))
    return found


class _Room:
    """What is left for the archives in a student's archive, or in a class's.

    Args:
        limit_bytes: the most bytes that they may have in all.
        around: the room of the class.
    """

    def __init__(self, limit_bytes: int, around: "_Room | None" = None):
        self._members, self._bytes, self._limit_bytes, self._around = MEMBERS_LIMIT, limit_bytes, limit_bytes, around
        self._students: dict[Key, _Room] = {}

    def of(self, owner: Owner) -> "_Room":
        """Return the room that a student has in a class's archive."""
        return self._students.setdefault(owner.key, _Room(_OWN_LIMIT_BYTES, self))

    def take(self, members: int, size_bytes: int = 0) -> None:
        """Take room for files that are listed, or for an archive that is unpacked."""
        self._members -= members
        self._bytes -= size_bytes
        if self._members < 0:
            raise UnreadableSubmission(f"The archive and those in it contain more than {MEMBERS_LIMIT} files.")
        if self._bytes < 0:
            size = self._limit_bytes // 2**20
            raise UnreadableSubmission(f"The archive and those in it contain more than {size} MB.")
        if self._around is not None:
            self._around.take(0, size_bytes)


def _rows(
    packed: ArchivedEntry, unpack: Callable[[], Path | bytes], room: _Room, is_class: bool = False
) -> list[ArchivedEntry]:
    """Return the rows of an archive's files, or one row for the archive if it cannot be read.

    Args:
        packed: the archive.
        unpack: returns its path or its content.
        room: what it may contain.
        is_class: whether the archives in it may be of several students.
    """
    try:
        with open_zip(unpack()) as archive:
            found = list(_files_of(archive, packed, room, is_class))
    except UnreadableSubmission as problem:
        return [dataclasses.replace(packed, problem=str(problem))]
    nothing = "The archive contains no notebook (.ipynb) and no Python file (.py)."
    return found or [dataclasses.replace(packed, problem=nothing)]


def _files_of(archive: zipfile.ZipFile, packed: ArchivedEntry, room: _Room, is_class: bool) -> Iterator[ArchivedEntry]:
    """Yield the rows of the files in an open archive that are submissions or stand for one."""
    members = archive.infolist()
    room.take(len(members))
    is_own = bool(packed.numbers)
    named_parts = [_parts(member) for member in members]
    last = {parts: number for number, (parts, problem) in enumerate(named_parts) if not problem}
    gradescope = {} if is_own else _metadata(archive)  # what a student packed must not name others
    is_canvas = not is_own and are_canvas_names(parts[0] for parts in last if len(parts) == 1)
    others: dict[Key, ArchivedEntry] = {}
    answered: set[Key] = set()
    for number, (member, (parts, problem)) in enumerate(zip(members, named_parts, strict=True)):
        if member.filename.endswith("/") or _is_passed_over(member.filename):
            continue
        named = NO_ONE if packed.owner.is_exported else owner_in(parts, gradescope, is_canvas)
        whose = named if named.people else packed.owner
        path, numbers = packed.path.joinpath(*parts), (*packed.numbers, number)
        row = ArchivedEntry(path, packed.archive, whose, problem, _changed_s(member), numbers)
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
            own = room.of(inner.owner) if is_class else room
            yield from _rows(inner, functools.partial(_inner, archive, inner, own), own)
        else:
            problem = problem or wrong_kind(path) or why_refused(member, FILE_LIMIT_BYTES)
            yield dataclasses.replace(row, problem=problem)
    for key, row in others.items():
        # Students who handed in only other files must not be listed as absent.
        if key not in answered:
            yield dataclasses.replace(row, problem=row.problem or wrong_kind(row.path))


def _inner(archive: zipfile.ZipFile, inner: ArchivedEntry, room: _Room) -> bytes:
    if len(inner.numbers) > NESTING_LIMIT:
        raise UnreadableSubmission(f"Archives are nested more than {NESTING_LIMIT} deep; hand in the file itself.")
    content = read_member(archive, inner.numbers[-1], PACKED_LIMIT_BYTES)
    room.take(0, len(content))
    return content


def _changed_s(member: zipfile.ZipInfo) -> float:
    try:
        return time.mktime(time.struct_time((*member.date_time, 0, 0, -1)))
    except (ValueError, OverflowError):
        return 0.0


def _parts(member: zipfile.ZipInfo) -> tuple[tuple[str, ...], str]:
    """Return the parts of a member's name, and why it is refused; if it is, the parts are only safe to display."""
    try:
        return tuple(name_parts(member.filename)), ""
    except UnreadableSubmission as problem:
        shown = clean(member.filename[-1_000:]).replace("\\", "/").replace("\n", " ")
        kept = [part[-100:] for part in shown.split("/") if part.strip() and part not in (".", "..")]
        return tuple(kept[-5:]) or ("?",), str(problem)


def _is_passed_over(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    hidden = any(part.startswith(".") and part not in (".", "..") for part in parts)
    return hidden or any(part in FOLDERS_PASSED_OVER for part in parts)


def _metadata(archive: zipfile.ZipFile) -> dict[str, Owner]:
    for number, member in enumerate(archive.infolist()):
        if member.filename.rsplit("/", 1)[-1] == GRADESCOPE_METADATA:
            try:
                return gradescope_owners(read_member(archive, number, METADATA_LIMIT_BYTES).decode("utf-8", "replace"))
            except UnreadableSubmission:
                return {}
    return {}


def _without_floods(found: list[ArchivedEntry]) -> list[ArchivedEntry]:
    """Replace the rows of a student who has too many files with a single row that says so."""
    counts = collections.Counter(row.owner.key for row in found if row.owner.people)
    kept: dict[object, ArchivedEntry] = {}
    for row in found:
        count = counts[row.owner.key]
        if count <= OWN_FILES_LIMIT:
            kept[id(row)] = row
            continue
        problem = f"The archive contains {count} files of one student; at most {OWN_FILES_LIMIT} are read."
        kept[row.owner.key] = ArchivedEntry(row.archive, row.archive, row.owner, problem)
    return list(kept.values())
