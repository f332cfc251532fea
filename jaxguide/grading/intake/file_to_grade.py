"""Read one file to grade, from disk, from memory or from an untrusted zip archive, within limits."""

import contextlib
import dataclasses
import functools
import io
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from jaxguide.base.clean import clean
from jaxguide.course.books.folders import LAID_OUT_NAME
from jaxguide.grading.intake.student_names import NO_ONE, Owner
from jaxguide.grading.intake.submission import FILE_LIMIT_BYTES, UnreadableSubmission, read_file, wrong_kind

NESTING_LIMIT = 2
MEMBERS_LIMIT = 20_000
DIRECTORY_LIMIT_BYTES = 8 * 2**20
PACKED_LIMIT_BYTES = 64 * 2**20
# Deflate reaches at most 1032 to 1; notebooks reach 5 to 1, and hardly any above a megabyte reaches 200 to 1.
RATIO_LIMIT, RATIO_COUNTS_FROM_BYTES = 200, 2**20
_PART_BYTES = 2**20
_FOLDERS_PASSED_OVER = frozenset({"__MACOSX", "__pycache__", "node_modules", LAID_OUT_NAME})
_DRIVE = re.compile("[A-Za-z]:")
_NAME_LIMIT, _PART_LIMIT = 1_000, 255
_IS_UTF_8 = 0x800
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, struct.error)
"""What reading a damaged archive, or one with a password, may raise."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file to grade on disk, in memory or in an archive, or the reason why it cannot be read.

    Args:
        path: its name in reports, and the source of its suffix, its stem and its student's name; for a file in an
            archive, the archive's path followed by the file's path in it.
        content: its bytes, if they are in memory, for example because they were sent to another machine.
        owner: whose it is, as far as an export says.
        archive: the archive on disk.
        problem: a sentence that says why there is nothing to grade, '' if there is.
        modified_s: when the file in the archive was changed, in seconds since 1970.
        numbers: the file's index in the archive, preceded by the index of each archive around it.
    """

    path: Path
    content: bytes | None = None
    owner: Owner = NO_ONE
    archive: Path | None = None
    problem: str = ""
    modified_s: float = 0.0
    numbers: tuple[int, ...] = ()

    @property
    def file(self) -> Path:
        """The file on disk."""
        return self.archive or self.path

    def read(self) -> bytes:
        """Return the file's current bytes.

        Raises:
            UnreadableSubmission: there is nothing to grade; the message, shown in the file's row, says why.
        """
        if self.problem:
            raise UnreadableSubmission(self.problem)
        if self.content is not None:
            return self.content
        if self.archive is None:
            with contextlib.suppress(OSError):  # reading it says what is wrong
                if problem := why_not_ordinary(self.path) or wrong_kind(self.path):
                    raise UnreadableSubmission(problem)
            return read_file(self.path)
        *around, number = self.numbers
        status = self.archive.stat() if self.archive.exists() else None  # opening it says what is wrong
        state = (status.st_mtime_ns, status.st_size) if status else None
        with open_zip(_packed(self.archive, state, tuple(around))) as archive:
            return read_member(archive, number, FILE_LIMIT_BYTES)


# A student's files come one after the other, and their archive is unpacked once for all of them.
@functools.lru_cache(maxsize=NESTING_LIMIT)
def _packed(path: Path, state: tuple[int, int] | None, numbers: tuple[int, ...]) -> Path | bytes:
    """Return the archive at these indices in the archive on disk, which is in this state."""
    if not numbers:
        return path
    with open_zip(_packed(path, state, numbers[:-1])) as archive:
        return read_member(archive, numbers[-1], PACKED_LIMIT_BYTES)


def is_passed_over(parts: Iterable[str]) -> bool:
    """Return whether folders and file of a path include a hidden one, or one that programs keep for themselves."""
    return any(part in _FOLDERS_PASSED_OVER or (part.startswith(".") and part not in (".", "..")) for part in parts)


def why_not_ordinary(path: Path) -> str:
    """Return why a path is not that of an ordinary file that may be read, or ''.

    Raises:
        OSError: the path cannot be looked up.
    """
    if path.is_symlink():
        try:
            place = path.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError if links lead in a circle
            return "It is a link to a file that is not there."
        # The grader may read files that the student may not: the key, or other students' answers.
        if place.parent != path.parent.resolve():
            return "It is a link to another place; grade the file itself."
    mode = path.stat().st_mode
    # Opening a pipe would block forever.
    kinds = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFDIR: "folder"}
    return "" if stat.S_ISREG(mode) else f"It is a {kinds.get(stat.S_IFMT(mode), 'device')}, not a file."


@contextlib.contextmanager
def open_zip(file: Path | bytes) -> Iterator[zipfile.ZipFile]:
    """Open an archive, given its path or its content.

    Raises:
        UnreadableSubmission: it is not a zip archive, is damaged, or lists too many files.
    """
    with contextlib.ExitStack() as stack:
        try:
            if isinstance(file, Path) and (problem := why_not_ordinary(file)):
                raise UnreadableSubmission(problem)
            opened = io.BytesIO(file) if isinstance(file, bytes) else file.open("rb", buffering=0)
            archive = stack.enter_context(zipfile.ZipFile(stack.enter_context(_InPieces(opened))))
        except PermissionError as error:
            raise UnreadableSubmission(f"The archive cannot be read: {error.strerror}.") from None
        except BROKEN_ZIP:
            raise UnreadableSubmission("The archive is damaged, or not a zip archive.") from None
        count = len(archive.infolist())
        if count > MEMBERS_LIMIT:
            raise UnreadableSubmission(f"The archive contains {count} files; at most {MEMBERS_LIMIT} are read.")
        for member in archive.infolist():
            # macOS writes UTF-8 without saying so, and `zipfile` takes that for cp437.
            if not (member.flag_bits & _IS_UTF_8 or member.filename.isascii()):
                with contextlib.suppress(UnicodeError):
                    member.filename = member.filename.encode("cp437").decode("utf-8")
        yield archive


class _InPieces(io.BufferedReader):
    """A file of which no large piece is read at once, as `zipfile` reads the list of files."""

    def read(self, size: int | None = -1) -> bytes:
        if (size or 0) > DIRECTORY_LIMIT_BYTES:
            raise UnreadableSubmission(f"The archive lists too many files; at most {MEMBERS_LIMIT} are read.")
        return super().read(size)


def name_parts(name: str) -> tuple[tuple[str, ...], str]:
    r"""Return the folders and the file in a member's name, with letters in one form (NFC), and why it is refused.

    If it is, the parts are only safe to display.

    >>> name_parts("ada/homework.ipynb"), name_parts(r"ada\homework.ipynb")
    ((('ada', 'homework.ipynb'), ''), (('ada', 'homework.ipynb'), ''))
    """
    # Some programs on Windows write backslashes. The characters of a very long name would take long to examine.
    text = unicodedata.normalize("NFC", name[-_NAME_LIMIT:]).replace("\\", "/")
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    if (
        len(name) > _NAME_LIMIT
        or not parts
        or any(len(part.encode("utf-8", "replace")) > _PART_LIMIT for part in parts)
    ):
        problem = "Its name in the archive is too long for a file name."
    elif text.startswith("/") or ".." in parts or _DRIVE.fullmatch(parts[0]):
        problem = "Its name in the archive leads out of the archive."
    elif any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text):
        problem = "Its name in the archive contains invisible characters."
    else:
        return parts, ""
    shown = [
        part[-100:] for part in clean(text).replace("\n", " ").split("/") if part.strip() and part not in (".", "..")
    ]
    return tuple(shown[-5:]) or ("?",), problem


def why_refused(member: zipfile.ZipInfo, limit_bytes: int) -> str:
    """Return why a member must not be read, or ''."""
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        return "It is a link in the archive; hand in the file itself."
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "It is not an ordinary file."
    if member.flag_bits & 1:
        return "It is encrypted in the archive; hand it in without a password."
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # LZMA, for example, takes as much memory as the archive demands.
        return "Its compression method is not supported; create an ordinary zip archive."
    if member.file_size > limit_bytes:
        return f"It is larger than {limit_bytes // 2**20} MB; clear its outputs."
    if member.file_size > max(RATIO_COUNTS_FROM_BYTES, RATIO_LIMIT * member.compress_size):
        return f"It is compressed more than {RATIO_LIMIT} to 1, like archives that are made to fill a disk."
    return ""


def read_member(archive: zipfile.ZipFile, number: int, limit_bytes: int) -> bytes:
    """Return the content of a member, given its index.

    Raises:
        UnreadableSubmission: it must not be read, is damaged, or is larger than it claims.
    """
    members = archive.infolist()
    if number >= len(members):
        raise UnreadableSubmission("The archive has changed since its files were listed.")
    if problem := why_refused(members[number], limit_bytes):
        raise UnreadableSubmission(problem)
    found = io.BytesIO()
    with contextlib.suppress(*BROKEN_ZIP), archive.open(members[number]) as file:
        # Part by part, because at once it would need three times the memory.
        while found.tell() <= limit_bytes and (part := file.read(_PART_BYTES)):
            found.write(part)
        if found.tell() == members[number].file_size:
            return found.getvalue()
    raise UnreadableSubmission("It is damaged in the archive and cannot be unpacked.")
