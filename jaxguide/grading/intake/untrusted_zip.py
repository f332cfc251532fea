"""Read untrusted zip archives within limits, without unpacking anything to disk."""

import contextlib
import io
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from jaxguide.grading.intake.file_search import why_not_ordinary
from jaxguide.grading.intake.submission import UnreadableSubmission

MEMBERS_LIMIT = 20_000
DIRECTORY_LIMIT_BYTES = 8 * 2**20
# Deflate reaches at most 1032 to 1; notebooks reach 5 to 1, and hardly any above a megabyte reaches 200 to 1.
RATIO_LIMIT, RATIO_COUNTS_FROM_BYTES = 200, 2**20
_PART_BYTES = 2**20
_DRIVE = re.compile("[A-Za-z]:")
_NAME_LIMIT, _PART_LIMIT = 1_000, 255
_IS_UTF_8 = 0x800
BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    struct.error,
)
"""What reading a damaged archive, or one with a password, may raise."""


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
            stream = stack.enter_context(_InPieces(opened))
            archive = stack.enter_context(zipfile.ZipFile(stream))
        except PermissionError as error:
            raise UnreadableSubmission(f"The archive cannot be read: {error.strerror}.") from None
        except BROKEN_ZIP:
            raise UnreadableSubmission("The archive is damaged, or not a zip archive.") from None
        count = len(archive.infolist())
        if count > MEMBERS_LIMIT:
            raise UnreadableSubmission(f"The archive contains {count} files; at most {MEMBERS_LIMIT} are read.")
        for member in archive.infolist():
            member.filename = _member_name(member)
        yield archive


class _InPieces(io.BufferedReader):
    """A file of which no large piece is read at once, as `zipfile` reads the list of files."""

    def read(self, size: int | None = -1) -> bytes:
        if (size or 0) > DIRECTORY_LIMIT_BYTES:
            raise UnreadableSubmission(f"The archive lists too many files; at most {MEMBERS_LIMIT} are read.")
        return super().read(size)


def _member_name(member: zipfile.ZipInfo) -> str:
    """Return a member's name; macOS writes UTF-8 without saying so, and `zipfile` takes that for cp437."""
    if member.flag_bits & _IS_UTF_8 or member.filename.isascii():
        return member.filename
    with contextlib.suppress(UnicodeError):
        return member.filename.encode("cp437").decode("utf-8")
    return member.filename


def name_parts(name: str) -> list[str]:
    """Return the folders and the file in a member's name, with letters in one form (NFC).

    Raises:
        UnreadableSubmission: the name leads out of the archive, or is not a valid file name.

    >>> name_parts("ada/homework.ipynb"), name_parts(r"ada\\homework.ipynb")
    (['ada', 'homework.ipynb'], ['ada', 'homework.ipynb'])
    """
    if len(name) > _NAME_LIMIT:  # whose characters would take long to examine
        raise UnreadableSubmission("Its name in the archive is too long for a file name.")
    # Some programs on Windows write backslashes into archives.
    text = unicodedata.normalize("NFC", name).replace("\\", "/")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in parts or _DRIVE.fullmatch("".join(parts[:1])):
        raise UnreadableSubmission("Its name in the archive leads out of the archive.")
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text):
        raise UnreadableSubmission("Its name in the archive contains invisible characters.")
    if not parts or any(len(part.encode()) > _PART_LIMIT for part in parts):
        raise UnreadableSubmission("Its name in the archive is too long for a file name.")
    return parts


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
