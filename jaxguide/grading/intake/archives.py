"""Find the submissions in zip archives, as learning-management systems export them and as students pack them."""

import collections
import dataclasses
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.course.cards import clean
from jaxguide.grading.intake.exported import GRADESCOPE_METADATA, gradescope_students, student_in, student_on_disk
from jaxguide.grading.intake.files import FOLDERS_PASSED_OVER
from jaxguide.grading.intake.submission import (
    FILE_LIMIT_BYTES,
    OTHER_ARCHIVES,
    SUFFIXES,
    UnreadableSubmission,
    wrong_kind,
)
from jaxguide.grading.intake.zipped import (
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
# What lies in one student's own archive is unpacked again for each of its files.
_OWN_LIMIT_BYTES, _OWN_FILES_LIMIT = 4 * NESTED_LIMIT_BYTES, 200
_METADATA_LIMIT_BYTES = 16 * 2**20


@dataclasses.dataclass(frozen=True)
class ArchivedEntry:
    """One file in an archive, or what could not be read of it.

    Args:
        path: the archive's path and the file's in it.
        archive: the archive on disk.
        student: whom the export names, None where it names nobody.
        identity: what tells two students of one name apart, '' where the export does not say.
        problem: a sentence, where there is nothing to grade.
        modified_s: when it was changed, in seconds of the clock.
        numbers: its place in the archive's list, and in that of each archive inside.
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
            UnreadableSubmission: there is nothing to grade.
        """
        if self.problem:
            raise UnreadableSubmission(self.problem)
        content: Path | bytes = self.archive
        for depth, number in enumerate(self.numbers, 1):
            limit = FILE_LIMIT_BYTES if depth == len(self.numbers) else NESTED_LIMIT_BYTES
            with open_zip(content) as archive:
                content = read_member(archive, number, limit)
        assert isinstance(content, bytes)
        return content


def archive_around(path: Path) -> Path | None:
    """Return the archive that a path leads into, as results name a file in one: `class.zip/ada/lesson.ipynb`."""
    return next((above for above in path.parents if above.is_file()), None)


def find_archives(paths: Iterable[Path]) -> list[Path]:
    """Return the zip archives among `paths` and below the folders among them, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        for one in below:
            if one.suffix.lower() == ARCHIVE_SUFFIX and one.is_file() and not _is_passed_over(_below(one, path)):
                found[one] = None
    return list(found)


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path != folder else path.name


def expand(archives: Iterable[Path]) -> list[ArchivedEntry]:
    """Return a row for each submission in these archives, and for each that cannot be read.

    Args:
        archives: zip files; those in archives are read too, to a depth of 2.
    """
    archives = list(archives)
    neighbours = [path.parent for path in archives]
    found = []
    for path in archives:
        # Of archives side by side in a folder each is one student's; of a single one nobody knows.
        owner = path.stem if neighbours.count(path.parent) > 1 else None
        found += _Listing(path, *(student_on_disk(path) or (owner, ""))).entries()
    return found


class _Listing:
    """The rows of one archive on disk, with what stands in archives inside it."""

    def __init__(self, path: Path, owner: str | None, identity: str):
        self.path, self.owner, self.identity = path, owner, identity
        self._members = self._bytes = self._own_files = self._own_bytes = 0

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
        """Put one row in the place of all of one student's, where those are more than anybody hands in."""
        counts = collections.Counter((row.student or "", row.identity) for row in found if row.student)
        message = _("The archive holds {count} files of one student; at most {limit} are read.")
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
        problem = _("The archive holds no notebook (.ipynb) and no Python file (.py).")
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
            archive: opened.
            place: what reports call it.
            numbers: where it lies in those above.
            owner: its student and the export's number of them; without a number the name of a file may say another.
            gradescope: students by the folders of a Gradescope export.
        """
        members = archive.infolist()
        self._count(members, is_own=bool(numbers))
        gradescope = {**gradescope, **_metadata(archive)}
        last = {_key(member.filename): number for number, member in enumerate(members)}
        others: dict[tuple[str, str], ArchivedEntry] = {}
        answered: set[tuple[str | None, str]] = set()
        for number, member in enumerate(members):
            if member.is_dir() or _is_passed_over(member.filename):
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
                problem = _("The archive holds another file of this name after it, which counts.")
            if not problem and suffix == ARCHIVE_SUFFIX:
                yield from self._inside(archive, row)
                continue
            problem = problem or wrong_kind(row.path) or _refusal(member, FILE_LIMIT_BYTES)
            yield dataclasses.replace(row, problem=problem)
        for whose, row in others.items():
            # Who handed in something else must not seem to have handed in nothing.
            if whose not in answered:
                yield dataclasses.replace(row, problem=row.problem or wrong_kind(row.path))

    def _inside(self, archive: zipfile.ZipFile, row: ArchivedEntry) -> Iterator[ArchivedEntry]:
        """Yield the rows of an archive in an archive; one row where it cannot be read."""
        owner = row.student or clean(row.path.stem, 100), row.identity
        if len(row.numbers) == 1:
            self._own_files = self._own_bytes = 0
        try:
            if len(row.numbers) > _DEPTH_LIMIT:
                message = _("Archives lie in archives more than {limit} deep; hand in the file itself.")
                raise UnreadableSubmission(message.format(limit=_DEPTH_LIMIT))
            content = read_member(archive, row.numbers[-1], NESTED_LIMIT_BYTES)
            with open_zip(content) as inner:
                found = list(self._walk(inner, row.path, row.numbers, owner, {}))
            yield from found or [self._empty(row.path, owner)]
        except UnreadableSubmission as problem:
            yield dataclasses.replace(row, student=owner[0], problem=str(problem))

    def _count(self, members: Sequence[zipfile.ZipInfo], is_own: bool) -> None:
        """Keep all that lies in one archive within its limits, however it is packed."""
        wanted = [m.file_size for m in members if m.filename.lower().endswith((*SUFFIXES, ARCHIVE_SUFFIX))]
        size = sum(size for size in wanted if size <= NESTED_LIMIT_BYTES)
        self._members += len(members)
        self._bytes += size
        if is_own:
            self._own_files += len(wanted)
            self._own_bytes += size
        if self._members > MEMBERS_LIMIT or self._own_files > _OWN_FILES_LIMIT:
            message = _("The archive and those in it hold more than {limit} files.")
            limit = MEMBERS_LIMIT if self._members > MEMBERS_LIMIT else _OWN_FILES_LIMIT
            raise UnreadableSubmission(message.format(limit=limit))
        if self._bytes > _TOTAL_LIMIT_BYTES or self._own_bytes > _OWN_LIMIT_BYTES:
            message = _("The archive and those in it hold more than {size} MB.")
            limit = _TOTAL_LIMIT_BYTES if self._bytes > _TOTAL_LIMIT_BYTES else _OWN_LIMIT_BYTES
            raise UnreadableSubmission(message.format(size=limit // 2**20))


def _parts(member: zipfile.ZipInfo) -> tuple[tuple[str, ...], str]:
    """Return the parts of a member's name, and why it cannot be taken; then the parts are fit to be shown."""
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
