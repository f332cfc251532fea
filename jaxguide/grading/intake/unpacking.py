"""Find what an archive contains that matters for grading, as plain data.

Unpacking can take time and memory without bounds, so the grader leaves this to a limited process, see
`jaxguide.grading.workers.held_archive`, and takes from it nothing but bounded text and bytes.
"""

import dataclasses
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from jaxguide.base.clean import clean
from jaxguide.grading.intake.file_search import FOLDERS_PASSED_OVER
from jaxguide.grading.intake.lms_names import (
    GRADESCOPE_METADATA,
    METADATA_LIMIT_BYTES,
    are_canvas_names,
    gradescope_owners,
    owner_in,
)
from jaxguide.grading.intake.student_names import NO_ONE, Key, Owner, Person, as_read
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
    check_member,
    name_parts,
    open_zip,
    read_member,
)

ARCHIVE_SUFFIX = ".zip"
NESTING_LIMIT = 2
OWN_FILES_LIMIT = 200
_TOTAL_LIMIT_BYTES = 8 * 2**30
_OWN_LIMIT_BYTES = 4 * NESTED_LIMIT_BYTES


@dataclasses.dataclass(frozen=True)
class ListedFile:
    """A file in an archive.

    Args:
        parts: the folders and the file, from the top of the archive.
        owner: whose it is.
        problem: a sentence that says why there is nothing to grade, '' if there is.
        date: year, month, day, hour, minute and second at which it was changed; () if there is nothing to read.
        numbers: the file's index in the archive, preceded by the index of each archive around it in this one.
        is_archive: whether it is an archive that was not opened, so that its own files are not listed.
    """

    parts: tuple[str, ...]
    owner: Owner
    problem: str
    date: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    is_archive: bool = False

    @property
    def owner_inside(self) -> Owner:
        """The owner of the files inside, if this is an archive."""
        return self.owner if self.owner.people else Owner((Person(as_read(PurePath(self.parts[-1]).stem)),))


def nothing_inside() -> str:
    """Return the sentence about an archive without submissions."""
    return "The archive contains no notebook (.ipynb) and no Python file (.py)."


class Archive:
    """An archive that is listed and read in this process.

    Args:
        content: its path or its content.
    """

    def __init__(self, content: Path | bytes):
        self._content = content
        # An archive in it is unpacked once, not for each of its files, which come one after the other.
        self._last: tuple[int, Archive] | None = None

    def files(self, owner: Owner, is_own: bool, is_deep: bool = True) -> list[ListedFile]:
        """Return its files that are submissions or stand for one, including those that cannot be read.

        Args:
            owner: whose it is; unless a learning platform says so, the names of files may name other students.
            is_own: whether it is in another archive, so that the limits on what one student may pack apply.
            is_deep: whether to open the archives in it, too.

        Raises:
            UnreadableSubmission: it is not a zip archive, is damaged, or contains too much.
        """
        with open_zip(self._content) as archive:
            return list(_Listing(is_own, is_deep, depth=int(is_own)).files(archive, (), (), owner))

    def read(self, numbers: Sequence[int], limit_bytes: int) -> bytes:
        """Return a file's bytes.

        Args:
            numbers: its index, preceded by the index of each archive around it in this one.
            limit_bytes: the most bytes that it may have.

        Raises:
            UnreadableSubmission: it must not be read, or is damaged.
        """
        number, *deeper = numbers
        if deeper:
            return self.inside(number).read(deeper, limit_bytes)
        with open_zip(self._content) as archive:
            return read_member(archive, number, limit_bytes)

    def inside(self, number: int) -> "Archive":
        """Return the archive in it that has this index.

        Raises:
            UnreadableSubmission: it must not be read, or is damaged.
        """
        if self._last is None or self._last[0] != number:
            self._last = None  # not both in memory
            self._last = number, Archive(self.read([number], NESTED_LIMIT_BYTES))
        return self._last[1]


class _Listing:
    """The files of one archive, and of the archives inside it.

    Args:
        is_own, is_deep: see `Archive.files`.
        depth: how many archives are around it that it does not count in `numbers`.
    """

    def __init__(self, is_own: bool, is_deep: bool, depth: int):
        self._is_own, self._is_deep, self._depth = is_own, is_deep, depth
        self._members = self._files = self._bytes = 0

    def files(
        self, archive: zipfile.ZipFile, above: tuple[str, ...], numbers: tuple[int, ...], owner: Owner
    ) -> Iterator[ListedFile]:
        """Yield the files of one archive.

        Args:
            archive: the open archive.
            above: the folders and archives around it.
            numbers: its index in each archive around it.
            owner: whose it is; unless a learning platform says so, the names of files may name other students.
        """
        members = archive.infolist()
        self._count(members)
        gradescope = {} if self._is_own else _metadata(archive)  # what a student packed must not name others
        is_canvas = not self._is_own and are_canvas_names(m.filename for m in members if "/" not in m.filename)
        named_parts = [_parts(member) for member in members]
        last = {parts: number for number, (parts, problem) in enumerate(named_parts) if not problem}
        others: dict[Key, ListedFile] = {}
        answered: set[Key] = set()
        for number, (member, (parts, problem)) in enumerate(zip(members, named_parts, strict=True)):
            if member.filename.endswith("/") or _is_passed_over(member.filename):
                continue
            named = NO_ONE if owner.is_exported else owner_in(parts, gradescope, is_canvas)
            whose = named if named.people else owner
            suffix = PurePath(parts[-1]).suffix.lower()
            row = ListedFile((*above, *parts), whose, problem, member.date_time, (*numbers, number))
            if suffix not in (*SUFFIXES, ARCHIVE_SUFFIX, *OTHER_ARCHIVES):
                if whose.people and parts[-1] != GRADESCOPE_METADATA:
                    others.setdefault(whose.key, row)
                continue
            answered.add(whose.key)
            if not problem and last[parts] != number:
                problem = "A later file of the same name in the archive counts instead."
            if not problem and suffix == ARCHIVE_SUFFIX:
                yield from self._inside(archive, row)
                continue
            problem = problem or wrong_kind(PurePath(parts[-1])) or _refusal(member, FILE_LIMIT_BYTES)
            yield dataclasses.replace(row, problem=problem)
        for key, row in others.items():
            # Students who handed in only other files must not be listed as absent.
            if key not in answered:
                yield dataclasses.replace(row, problem=row.problem or wrong_kind(PurePath(row.parts[-1])))

    def _inside(self, archive: zipfile.ZipFile, row: ListedFile) -> Iterator[ListedFile]:
        """Yield the files of an archive in an archive, or a single row if it cannot be read or is not opened."""
        if not self._is_deep:
            yield dataclasses.replace(row, is_archive=True)
            return
        owner = row.owner_inside
        own = self if self._is_own else _Listing(True, True, self._depth)
        try:
            if self._depth + len(row.numbers) > NESTING_LIMIT:
                message = "Archives are nested more than {limit} deep; hand in the file itself."
                raise UnreadableSubmission(message.format(limit=NESTING_LIMIT))
            content = read_member(archive, row.numbers[-1], NESTED_LIMIT_BYTES)
            with open_zip(content) as inner:
                found = list(own.files(inner, row.parts, row.numbers, owner))
            yield from found or [ListedFile(row.parts, owner, nothing_inside())]
        except UnreadableSubmission as problem:
            yield dataclasses.replace(row, owner=owner, problem=str(problem))

    def _count(self, members: Sequence[zipfile.ZipInfo]) -> None:
        """Enforce the limits on all files in an archive; a student's own with those inside it."""
        wanted = [m.file_size for m in members if m.filename.lower().endswith((*SUFFIXES, ARCHIVE_SUFFIX))]
        self._members += len(members)
        self._files += len(wanted)
        self._bytes += sum(size for size in wanted if size <= NESTED_LIMIT_BYTES)
        too_many = OWN_FILES_LIMIT if self._is_own and self._members <= MEMBERS_LIMIT else MEMBERS_LIMIT
        size_limit = _OWN_LIMIT_BYTES if self._is_own else _TOTAL_LIMIT_BYTES
        if self._members > MEMBERS_LIMIT or (self._is_own and self._files > OWN_FILES_LIMIT):
            message = "The archive and those in it contain more than {limit} files."
            raise UnreadableSubmission(message.format(limit=too_many))
        if self._bytes > size_limit:
            message = "The archive and those in it contain more than {size} MB."
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
