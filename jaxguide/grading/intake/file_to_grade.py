"""Read one file to grade, from disk or from memory."""

import dataclasses
from pathlib import Path
from typing import Protocol

from jaxguide.grading.intake.file_search import why_not_ordinary
from jaxguide.grading.intake.student_names import NO_ONE, Owner
from jaxguide.grading.intake.submission import FILE_LIMIT_BYTES, UnreadableSubmission, wrong_kind


class Entry(Protocol):
    """One file to grade.

    `path` is its name in reports, and the source of its suffix, its stem and its student's name; `owner` is whose it
    is, as far as an export says.
    """

    @property
    def path(self) -> Path: ...

    @property
    def owner(self) -> Owner: ...

    def read(self) -> bytes:
        """Return the file's current bytes.

        Raises:
            UnreadableSubmission: there is nothing to grade; the message, shown in the file's row, says why.
        """


@dataclasses.dataclass(frozen=True)
class FileEntry:
    """A file on disk.

    Args:
        path: its path.
        owner: whose it is, as far as an unpacked export says.
    """

    path: Path
    owner: Owner = NO_ONE

    def read(self) -> bytes:
        """Return the file's bytes, unless it links to another folder, is of the wrong kind, or is too large."""
        path = self.path
        try:
            problem = why_not_ordinary(path) or wrong_kind(path)
            if problem:
                raise UnreadableSubmission(problem)
            with path.open("rb") as file:
                content = file.read(FILE_LIMIT_BYTES + 1)
        except OSError as error:
            raise UnreadableSubmission(f"The file cannot be read: {error.strerror}.") from None
        if len(content) > FILE_LIMIT_BYTES:
            size = FILE_LIMIT_BYTES // 2**20
            raise UnreadableSubmission(f"The file is larger than {size} MB; clear its outputs.")
        return content


@dataclasses.dataclass(frozen=True)
class ReadEntry:
    """A file whose bytes are already in memory, for example because they were sent to another machine."""

    path: Path
    content: bytes
    owner: Owner = NO_ONE

    def read(self) -> bytes:
        return self.content
