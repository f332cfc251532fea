"""Read untrusted zip archives within limits, without unpacking anything to disk."""

import contextlib
import io
import re
import stat
import struct
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from jaxguide.grading.intake.file_search import why_not_ordinary
from jaxguide.grading.intake.submission import UnreadableSubmission

MEMBERS_LIMIT = 20_000
DIRECTORY_LIMIT_BYTES = 16 * 2**20
NESTED_LIMIT_BYTES = 64 * 2**20
# Deflate reaches at most 1032 to 1; notebooks reach 5 to 1, and hardly any above a megabyte reaches 200 to 1.
RATIO_LIMIT, RATIO_COUNTS_FROM_BYTES = 200, 2**20
_PART_BYTES = 2**20
_DRIVE = re.compile("[A-Za-z]:")
_NAME_LIMIT, _PART_LIMIT = 1_000, 255
_IS_UTF_8 = 0x800
_END, _END_64, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
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
        with _refused_if_broken():
            stream: BinaryIO = io.BytesIO(file) if isinstance(file, bytes) else _opened(file)
            stack.enter_context(stream)
            _check_directory(stream)
            archive = stack.enter_context(zipfile.ZipFile(stream))
        count = len(archive.infolist())
        if count > MEMBERS_LIMIT:
            message = "The archive contains {count} files; at most {limit} are read."
            raise UnreadableSubmission(message.format(count=count, limit=MEMBERS_LIMIT))
        for member in archive.infolist():
            member.filename = _member_name(member)
        yield archive


def _member_name(member: zipfile.ZipInfo) -> str:
    """Return a member's name; macOS writes UTF-8 without saying so, and `zipfile` takes that for cp437."""
    if member.flag_bits & _IS_UTF_8 or member.filename.isascii():
        return member.filename
    with contextlib.suppress(UnicodeError):
        return member.filename.encode("cp437").decode("utf-8")
    return member.filename


def read_zip(path: Path) -> bytes:
    """Return the content of an archive on disk, unchecked, for a process that opens it.

    Raises:
        UnreadableSubmission: it cannot be read, or is larger than an archive that a process opens.
    """
    with _refused_if_broken(), _opened(path) as file:
        content = file.read(NESTED_LIMIT_BYTES + 1)
    if len(content) > NESTED_LIMIT_BYTES:
        raise too_large()
    return content


def too_large() -> UnreadableSubmission:
    """Describe an archive that is larger than a student's may be."""
    message = "The archive is larger than {size} MB; hand in the files themselves."
    return UnreadableSubmission(message.format(size=NESTED_LIMIT_BYTES // 2**20))


def _opened(path: Path) -> BinaryIO:
    if problem := why_not_ordinary(path):
        raise UnreadableSubmission(problem)
    return path.open("rb")


@contextlib.contextmanager
def _refused_if_broken() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        message = f"The archive cannot be read: {error.strerror}."
        raise UnreadableSubmission(message) from None
    except BROKEN_ZIP:
        raise UnreadableSubmission("The archive is damaged, or not a zip archive.") from None


def _check_directory(stream: BinaryIO) -> None:
    """Refuse an archive whose list of files would fill the memory, before reading the list."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 2**16 - 22 - 76))
    tail = stream.read()
    stream.seek(0)
    place = tail.rfind(_END)
    if place < 0 or len(tail) < place + 22:
        raise zipfile.BadZipFile("no end record")
    listed = struct.unpack_from("<I", tail, place + 12)[0]
    locator = place - 20
    if locator >= 0 and tail[locator : locator + 4] == _LOCATOR_64:
        stream.seek(struct.unpack_from("<Q", tail, locator + 8)[0])
        record = stream.read(56)
        stream.seek(0)
        if record[:4] != _END_64 or len(record) < 56:
            raise zipfile.BadZipFile("no zip64 end record")
        listed = max(0 if listed == 2**32 - 1 else listed, struct.unpack_from("<Q", record, 40)[0])
    if listed > size:
        raise zipfile.BadZipFile("the list is larger than the archive")
    if listed > DIRECTORY_LIMIT_BYTES:
        message = "The archive lists too many files; at most {limit} are read."
        raise UnreadableSubmission(message.format(limit=MEMBERS_LIMIT))


def name_parts(name: str) -> list[str]:
    """Return the folders and the file in a member's name, with letters in one form (NFC).

    Raises:
        UnreadableSubmission: the name leads out of the archive, or is not a valid file name.

    >>> name_parts("ada/homework.ipynb"), name_parts(r"ada\\homework.ipynb")
    (['ada', 'homework.ipynb'], ['ada', 'homework.ipynb'])
    """
    # Some programs on Windows write backslashes into archives.
    text = unicodedata.normalize("NFC", name).replace("\\", "/")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in parts or _DRIVE.fullmatch("".join(parts[:1])):
        raise UnreadableSubmission("Its name in the archive leads out of the archive.")
    if has_invisible(text):
        raise UnreadableSubmission("Its name in the archive contains invisible characters.")
    if not parts or len(text) > _NAME_LIMIT or any(len(part.encode()) > _PART_LIMIT for part in parts):
        raise UnreadableSubmission("Its name in the archive is too long for a file name.")
    return parts


def has_invisible(text: str) -> bool:
    """Return whether a name contains control characters or others that are not shown."""
    # Most names are printable, which is quick to find out.
    return not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


def check_member(member: zipfile.ZipInfo, limit_bytes: int) -> None:
    """Refuse a member that must not be read.

    Raises:
        UnreadableSubmission: it is not an ordinary file, encrypted, too large, or compressed suspiciously well.
    """
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise UnreadableSubmission("It is a link in the archive; hand in the file itself.")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise UnreadableSubmission("It is not an ordinary file.")
    if member.flag_bits & 1:
        raise UnreadableSubmission("It is encrypted in the archive; hand it in without a password.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # LZMA, for example, takes as much memory as the archive demands.
        raise UnreadableSubmission("Its compression method is not supported; create an ordinary zip archive.")
    if member.file_size > limit_bytes:
        message = "It is larger than {size} MB; clear its outputs."
        raise UnreadableSubmission(message.format(size=limit_bytes // 2**20))
    if member.file_size > max(RATIO_COUNTS_FROM_BYTES, RATIO_LIMIT * member.compress_size):
        message = "It is compressed more than {ratio} to 1, like archives that are made to fill a disk."
        raise UnreadableSubmission(message.format(ratio=RATIO_LIMIT))


def read_member(archive: zipfile.ZipFile, number: int, limit_bytes: int) -> bytes:
    """Return the content of a member, given its index.

    Raises:
        UnreadableSubmission: `check_member` refuses it, it is damaged, or it is larger than it claims.
    """
    members = archive.infolist()
    if number >= len(members):
        raise UnreadableSubmission("The archive has changed since its files were listed.")
    check_member(members[number], limit_bytes)
    found, is_whole = io.BytesIO(), False
    with contextlib.suppress(*BROKEN_ZIP), archive.open(members[number]) as file:
        # Part by part, because at once it would need three times the memory.
        while found.tell() <= limit_bytes and (part := file.read(_PART_BYTES)):
            found.write(part)
        is_whole = found.tell() == members[number].file_size
    if not is_whole:
        raise UnreadableSubmission("It is damaged in the archive and cannot be unpacked.")
    return found.getvalue()


def changed_s(date: tuple[int, ...]) -> float:
    """Return when a member with this date and time was changed, in seconds since 1970, or 0 if there is none."""
    try:
        return time.mktime(time.struct_time((*date, 0, 0, -1))) if date else 0.0
    except (ValueError, OverflowError):
        return 0.0
