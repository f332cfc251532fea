"""Read one file to grade, from disk or from memory."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Protocol

from jaxguide.grading.intake.file_search import why_not_ordinary
from jaxguide.grading.intake.student_names import NO_ONE, Owner
from jaxguide.grading.intake.submission import UnreadableSubmission, read_file, wrong_kind


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
        with contextlib.suppress(OSError):  # reading it says what is wrong
            if problem := why_not_ordinary(self.path) or wrong_kind(self.path):
                raise UnreadableSubmission(problem)
        return read_file(self.path)


@dataclasses.dataclass(frozen=True)
class ReadEntry:
    """A file whose bytes are already in memory, for example because they were sent to another machine."""

    path: Path
    content: bytes
    owner: Owner = NO_ONE

    def read(self) -> bytes:
        return self.content
