"""Find the submissions in zip archives, whether exported by a learning platform or packed by students."""

import collections
import dataclasses
import functools
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jaxguide.base.clean import clean
from jaxguide.base.text import _
from jaxguide.grading.intake.file_search import FOLDERS_PASSED_OVER, files_below
from jaxguide.grading.intake.lms_names import GRADESCOPE_METADATA, gradescope_students, student_in, student_on_disk
from jaxguide.grading.intake.submission import (
    FILE_LIMIT_BYTES,
    OTHER_ARCHIVES,
    SUFFIXES,
    UnreadableSubmission,
    wrong_kind,
)
from jaxguide.grading.intake.untrusted_zip import (
    MEMBERS_LIMIT,
    NESTED_LIMIT_BYTES,
    changed_s,
    check_member,
    name_parts,
    open_zip,
    read_member,
)

ARCHIVE_SUFFIX = ".zip"
_DEPTH_LIMIT = 2
_TOTAL_LIMIT_BYTES = 8 * 2**30
_OWN_LIMIT_BYTES, _OWN_FILES_LIMIT = 4 * NESTED_LIMIT_BYTES, 200
_METADATA_LIMIT_BYTES = 16 * 2**20


@dataclasses.dataclass(frozen=True)
class ArchivedEntry:
    """A file in an archive, or the reason why it cannot be read.

    Args:
        path: the archive's path followed by the file's path in it.
        archive: the archive on disk.
        student: the student that the export names, None if it names no one.
        identity: an ID that tells students of the same name apart, '' if the export has none.
        problem: a sentence that says why there is nothing to grade, '' if there is.
        modified_s: when the file was changed, in seconds since 1970.
        numbers: the file's index in the archive, preceded by the index of each archive around it.
    """

    path: Path
    archive: Path
    student: str | None = None
    identity: str = ""
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
        *inside, number = self.numbers
        try:
            changed_ns = self.archive.stat().st_mtime_ns
        except OSError:
            changed_ns = 0  # opening it says what is wrong
        content = _inner(self.archive, changed_ns, tuple(inside)) if inside else self.archive
        with open_zip(content) as archive:
            return read_member(archive, number, FILE_LIMIT_BYTES)


# An archive in an archive is unpacked once, not for each of its files, which come one after the other.
@functools.lru_cache(maxsize=_DEPTH_LIMIT + 1)
def _inner(archive: Path, changed_ns: int, numbers: tuple[int, ...]) -> bytes:
    *around, number = numbers
    content = _inner(archive, changed_ns, tuple(around)) if around else archive
    with open_zip(content) as outer:
        return read_member(outer, number, NESTED_LIMIT_BYTES)


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


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path != folder else path.name


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
        owner = path.stem if neighbours.count(path.parent) > 1 else None
        found += _Listing(path, *(student_on_disk(path) or (owner, ""))).entries()
    return found


class _Listing:
    """The rows of one archive on disk, including those of the archives inside it."""

    def __init__(self, path: Path, owner: str | None, identity: str):
        self.path, self.owner, self.identity = path, owner, identity
        self._own_members = self._own_files = self._own_bytes = 0

    def entries(self) -> list[ArchivedEntry]:
        owner = self.owner, self.identity
        try:
            with open_zip(self.path) as archive:
                found = list(self._walk(archive, self.path, (), owner, {}))
        except UnreadableSubmission as problem:
            return [ArchivedEntry(self.path, self.path, *owner, str(problem))]
        if not found:
            found = [self._empty(self.path, owner)]
        return self._without_floods(found)

    def _without_floods(self, found: list[ArchivedEntry]) -> list[ArchivedEntry]:
        """Replace the rows of a student who has too many files with a single row that says so."""
        counts = collections.Counter((row.student or "", row.identity) for row in found if row.student)
        message = _("The archive contains {count} files of one student; at most {limit} are read.")
        kept: list[ArchivedEntry] = []
        told: set[tuple[str, str]] = set()
        for row in found:
            whose = row.student or "", row.identity
            if counts[whose] <= _OWN_FILES_LIMIT:
                kept.append(row)
            elif whose not in told:
                told.add(whose)
                problem = message.format(count=counts[whose], limit=_OWN_FILES_LIMIT)
                kept.append(ArchivedEntry(self.path, self.path, *whose, problem))
        return kept

    def _empty(self, place: Path, owner: tuple[str | None, str]) -> ArchivedEntry:
        problem = _("The archive contains no notebook (.ipynb) and no Python file (.py).")
        return ArchivedEntry(place, self.path, *owner, problem)

    def _walk(
        self,
        archive: zipfile.ZipFile,
        place: Path,
        numbers: tuple[int, ...],
        owner: tuple[str | None, str],
        gradescope: dict[str, str],
    ) -> Iterator[ArchivedEntry]:
        """Yield the rows of one archive.

        Args:
            archive: the open archive.
            place: its name in reports.
            numbers: its index in each archive around it.
            owner: its student and their ID in the export; without an ID, the names of files may name other students.
            gradescope: students, by folder of a Gradescope export.
        """
        members = archive.infolist()
        self._count(members, is_own=bool(numbers))
        if not numbers:  # an archive that a student packed must not name others
            gradescope = {**gradescope, **_metadata(archive)}
        last = {_key(member.filename): number for number, member in enumerate(members)}
        others: dict[tuple[str, str], ArchivedEntry] = {}
        answered: set[tuple[str | None, str]] = set()
        for number, member in enumerate(members):
            if member.filename.endswith("/") or _is_passed_over(member.filename):
                continue
            parts, problem = _parts(member)
            student, identity = (None if owner[1] else student_in(parts, gradescope)) or owner
            student = student and clean(student, 100).strip()
            suffix = Path(parts[-1]).suffix.lower()
            row = ArchivedEntry(
                place.joinpath(*parts), self.path, student, identity, problem, changed_s(member), (*numbers, number)
            )
            if suffix not in (*SUFFIXES, ARCHIVE_SUFFIX, *OTHER_ARCHIVES):
                if student and parts[-1] != GRADESCOPE_METADATA:
                    others.setdefault((student, identity), row)
                continue
            answered.add((student, identity))
            if not problem and last[_key(member.filename)] != number:
                problem = _("A later file of the same name in the archive counts instead.")
            if not problem and suffix == ARCHIVE_SUFFIX:
                yield from self._inside(archive, row)
                continue
            problem = problem or wrong_kind(row.path) or _refusal(member, FILE_LIMIT_BYTES)
            yield dataclasses.replace(row, problem=problem)
        for whose, row in others.items():
            # Students who handed in only other files must not be listed as absent.
            if whose not in answered:
                yield dataclasses.replace(row, problem=row.problem or wrong_kind(row.path))

    def _inside(self, archive: zipfile.ZipFile, row: ArchivedEntry) -> Iterator[ArchivedEntry]:
        """Yield the rows of an archive in an archive, or a single row if it cannot be read."""
        owner = row.student or clean(row.path.stem, 100), row.identity
        if len(row.numbers) == 1:
            self._own_members = self._own_files = self._own_bytes = 0
        try:
            if len(row.numbers) > _DEPTH_LIMIT:
                message = _("Archives are nested more than {limit} deep; hand in the file itself.")
                raise UnreadableSubmission(message.format(limit=_DEPTH_LIMIT))
            content = read_member(archive, row.numbers[-1], NESTED_LIMIT_BYTES)
            with open_zip(content) as inner:
                found = list(self._walk(inner, row.path, row.numbers, owner, {}))
            yield from found or [self._empty(row.path, owner)]
        except UnreadableSubmission as problem:
            yield dataclasses.replace(row, student=owner[0], problem=str(problem))

    def _count(self, members: Sequence[zipfile.ZipInfo], is_own: bool) -> None:
        """Enforce the limits on all files in an archive; a student's own with those inside it."""
        wanted = [m.file_size for m in members if m.filename.lower().endswith((*SUFFIXES, ARCHIVE_SUFFIX))]
        size = sum(size for size in wanted if size <= NESTED_LIMIT_BYTES)
        if is_own:
            self._own_members += len(members)
            self._own_files += len(wanted)
            self._own_bytes += size
            too_many = MEMBERS_LIMIT if self._own_members > MEMBERS_LIMIT else _OWN_FILES_LIMIT
            has_too_many = self._own_members > MEMBERS_LIMIT or self._own_files > _OWN_FILES_LIMIT
            size_limit, is_too_large = _OWN_LIMIT_BYTES, self._own_bytes > _OWN_LIMIT_BYTES
        else:
            too_many, has_too_many = MEMBERS_LIMIT, len(members) > MEMBERS_LIMIT
            size_limit, is_too_large = _TOTAL_LIMIT_BYTES, size > _TOTAL_LIMIT_BYTES
        if has_too_many:
            message = _("The archive and those in it contain more than {limit} files.")
            raise UnreadableSubmission(message.format(limit=too_many))
        if is_too_large:
            message = _("The archive and those in it contain more than {size} MB.")
            raise UnreadableSubmission(message.format(size=size_limit // 2**20))


def _parts(member: zipfile.ZipInfo) -> tuple[tuple[str, ...], str]:
    """Return the parts of a member's name, and why it is refused; if it is, the parts are only safe to display."""
    try:
        return tuple(name_parts(member.filename)), ""
    except UnreadableSubmission as problem:
        shown = clean(member.filename[-1_000:]).replace("\\", "/").replace("\n", " ")
        kept = [part[-100:] for part in shown.split("/") if part.strip() and part not in (".", "..")]
        return tuple(kept[-5:]) or ("?",), str(problem)


def _refusal(member: zipfile.ZipInfo, limit_bytes: int) -> str:
    try:
        check_member(member, limit_bytes)
    except UnreadableSubmission as problem:
        return str(problem)
    return ""


def _key(name: str) -> str:
    try:
        return "/".join(name_parts(name))
    except UnreadableSubmission:
        return name


def _is_passed_over(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    hidden = any(part.startswith(".") and part not in (".", "..") for part in parts)
    return hidden or any(part in FOLDERS_PASSED_OVER for part in parts)


def _metadata(archive: zipfile.ZipFile) -> dict[str, str]:
    for number, member in enumerate(archive.infolist()):
        if member.filename.rsplit("/", 1)[-1] == GRADESCOPE_METADATA:
            try:
                return gradescope_students(
                    read_member(archive, number, _METADATA_LIMIT_BYTES).decode("utf-8", "replace")
                )
            except UnreadableSubmission:
                return {}
    return {}
