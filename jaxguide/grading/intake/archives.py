"""Find the submissions in zip archives, whether exported by a learning platform or packed by students."""

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from jaxguide.grading.intake.file_search import files_below
from jaxguide.grading.intake.lms_names import owner_on_disk
from jaxguide.grading.intake.student_names import NO_ONE, Key, Owner, Person, as_read
from jaxguide.grading.intake.submission import FILE_LIMIT_BYTES, UnreadableSubmission
from jaxguide.grading.intake.unpacking import (
    ARCHIVE_SUFFIX,
    OWN_FILES_LIMIT,
    Archive,
    ListedFile,
    nothing_inside,
)
from jaxguide.grading.intake.untrusted_zip import NESTED_LIMIT_BYTES, changed_s, read_zip, too_large

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Packed:
    """An archive that is unpacked as a whole, together with all that is inside it unless it is a class's.

    Args:
        path: the archive on disk.
        changed_ns, size_bytes: when the archive on disk was changed, and its size.
        number: the index in it of the archive that is meant; None for itself.
    """

    path: Path
    changed_ns: int
    size_bytes: int
    number: int | None = None

    @classmethod
    def on_disk(cls, path: Path) -> "Packed":
        """Return the archive with this path, as it is now."""
        try:
            status = path.stat()
        except OSError:
            return cls(path, 0, 0)  # opening it says what is wrong
        return cls(path, status.st_mtime_ns, status.st_size)

    def inside(self, number: int) -> "Packed":
        """Return the archive with this index."""
        return dataclasses.replace(self, number=number)

    @property
    def is_large(self) -> bool:
        """Whether it is too large for a limited process, as only the export of a whole class may be."""
        return self.number is None and self.size_bytes > NESTED_LIMIT_BYTES

    def content(self, unpacker: "Unpacker") -> bytes:
        """Return the archive's bytes.

        Raises:
            UnreadableSubmission: it cannot be read.
        """
        number = self.number
        if number is None:
            return read_zip(self.path)
        around = dataclasses.replace(self, number=None)
        return unpacker.unpack(around, lambda archive: archive.read([number], NESTED_LIMIT_BYTES))


class Unpacked(Protocol):
    """An archive that can be listed and read, see `jaxguide.grading.intake.unpacking.Archive`."""

    def files(self, owner: Owner, is_own: bool, is_deep: bool = True) -> list[ListedFile]: ...

    def read(self, numbers: Sequence[int], limit_bytes: int) -> bytes: ...


class Unpacker(Protocol):
    """Unpacks archives, see `jaxguide.grading.workers.reader.Readers`."""

    def unpack(self, packed: Packed, question: Callable[[Unpacked], _T]) -> _T: ...


@functools.lru_cache(maxsize=2)
def unpacked_here(packed: Packed) -> Archive:
    """Return an archive that this process unpacks.

    Raises:
        UnreadableSubmission: it is in an archive from which it cannot be read.
    """
    if packed.number is None:
        return Archive(packed.path)
    return unpacked_here(dataclasses.replace(packed, number=None)).inside(packed.number)


@dataclasses.dataclass(frozen=True)
class ArchivedEntry:
    """A file in an archive, or the reason why it cannot be read.

    Args:
        path: the archive's path followed by the file's path in it.
        archive: the archive on disk.
        unpacker: unpacks it.
        owner: whose it is, as far as the export says.
        problem: a sentence that says why there is nothing to grade, '' if there is.
        modified_s: when the file was changed, in seconds since 1970.
        numbers: the file's index in the archive, preceded by the index of each archive around it.
    """

    path: Path
    archive: Path
    unpacker: Unpacker = dataclasses.field(repr=False, compare=False)
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
        packed = Packed.on_disk(self.archive)
        numbers = self.numbers
        if len(numbers) > 1:
            packed, numbers = packed.inside(numbers[0]), numbers[1:]
        return self.unpacker.unpack(packed, lambda archive: archive.read(numbers, FILE_LIMIT_BYTES))


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


def expand(archives: Iterable[Path], unpacker: Unpacker) -> list[ArchivedEntry]:
    """Return a row for each submission in these archives, including those that cannot be read.

    Args:
        archives: zip files; archives inside are read too, to a depth of 2.
        unpacker: unpacks them.
    """
    archives = list(archives)
    neighbours = [path.parent for path in archives]
    found = []
    for path in archives:
        # Several archives in a folder belong to one student each; a single one may belong to anyone.
        owner = owner_on_disk(path)
        if not owner.people and neighbours.count(path.parent) > 1:
            owner = Owner((Person(as_read(path.stem)),))
        found += _Listing(path, unpacker, owner).entries()
    return found


class _Listing:
    """The rows of one archive on disk, including those of the archives inside it."""

    def __init__(self, path: Path, unpacker: Unpacker, owner: Owner):
        self.path, self.unpacker, self.owner = path, unpacker, owner

    def entries(self) -> list[ArchivedEntry]:
        packed, is_students = Packed.on_disk(self.path), bool(self.owner.people)
        try:
            if packed.is_large and is_students:
                raise too_large()
            # The archives in a class's are a student's each. The process that has the class's, about which it could
            # lie, opens none of them, and none takes the time of another.
            files = self.unpacker.unpack(packed, lambda archive: archive.files(self.owner, False, is_students))
        except UnreadableSubmission as problem:
            return [self._row(self.path, self.owner, str(problem))]
        found = [row for file in files for row in self._rows(file, packed)]
        return _without_floods(found) or [self._row(self.path, self.owner, nothing_inside())]

    def _row(self, path: Path, owner: Owner, problem: str) -> ArchivedEntry:
        return ArchivedEntry(path, self.path, self.unpacker, owner, problem)

    def _entry(self, file: ListedFile, above: Path, numbers: tuple[int, ...]) -> ArchivedEntry:
        row = self._row(above.joinpath(*file.parts), file.owner, file.problem)
        return dataclasses.replace(row, modified_s=changed_s(file.date), numbers=(*numbers, *file.numbers))

    def _rows(self, file: ListedFile, packed: Packed) -> Iterator[ArchivedEntry]:
        """Yield the row of a file, or those of the files in it if it is an archive."""
        row = self._entry(file, self.path, ())
        if not file.is_archive:
            yield row
            return
        owner = file.owner_inside
        try:
            files = self.unpacker.unpack(packed.inside(file.numbers[0]), lambda own: own.files(owner, is_own=True))
        except UnreadableSubmission as problem:
            yield dataclasses.replace(row, owner=owner, problem=str(problem))
            return
        found = (self._entry(inner, row.path, row.numbers) for inner in files)
        yield from found if files else [self._row(row.path, owner, nothing_inside())]


def _without_floods(found: list[ArchivedEntry]) -> list[ArchivedEntry]:
    """Replace the rows of a student who has too many files with a single row that says so."""
    counts = collections.Counter(row.owner.key for row in found if row.owner.people)
    message = "The archive contains {count} files of one student; at most {limit} are read."
    kept: list[ArchivedEntry] = []
    told: set[Key] = set()
    for row in found:
        whose = row.owner.key
        if counts[whose] <= OWN_FILES_LIMIT:
            kept.append(row)
        elif whose not in told:
            told.add(whose)
            problem = message.format(count=counts[whose], limit=OWN_FILES_LIMIT)
            kept.append(ArchivedEntry(row.archive, row.archive, row.unpacker, row.owner, problem))
    return kept
