"""One file to grade, wherever its bytes are."""

import dataclasses
from pathlib import Path
from typing import Protocol

from jaxguide.base.text import _
from jaxguide.grading.intake.submission import FILE_LIMIT_BYTES, UnreadableSubmission, wrong_kind


class Entry(Protocol):
    """One file to grade.

    `path` is what reports call it, and where its suffix, its stem and its student's name come from.
    """

    @property
    def path(self) -> Path: ...

    def read(self) -> bytes:
        """Return the file's bytes, as they are now.

        Raises:
            UnreadableSubmission: there is nothing to grade, and why; the row of this file says so.
        """


@dataclasses.dataclass(frozen=True)
class FileEntry:
    """A file on disk.

    Args:
        path: where it lies.
        student: whom an unpacked export names, None where it names nobody.
        identity: what tells two students of one name apart, '' where the export does not say.
    """

    path: Path
    student: str | None = None
    identity: str = ""

    def read(self) -> bytes:
        """Return the file's bytes, unless it is a link to another place, no submission by its name, or too large."""
        path = self.path
        try:
            if path.is_symlink() and path.resolve().parent != path.parent.resolve():
                # We may read what the student may not: the key, or the answers of another.
                raise UnreadableSubmission(_("The file is a link to another place; grade the file itself."))
            problem = wrong_kind(path)
            if problem:
                raise UnreadableSubmission(problem)
            if not path.is_file():
                # A named pipe would keep us waiting for ever.
                raise UnreadableSubmission(_("The file is no ordinary file."))
            with path.open("rb") as file:
                content = file.read(FILE_LIMIT_BYTES + 1)
        except OSError as error:
            raise UnreadableSubmission(_("The file cannot be read: {error}.").format(error=error.strerror)) from None
        if len(content) > FILE_LIMIT_BYTES:
            size = FILE_LIMIT_BYTES // 2**20
            raise UnreadableSubmission(_("The file is larger than {size} MB; clear its outputs.").format(size=size))
        return content


@dataclasses.dataclass(frozen=True)
class ReadEntry:
    """A file whose bytes are here already, as they are sent to another machine."""

    path: Path
    content: bytes

    def read(self) -> bytes:
        return self.content
