"""Ask a limited process about the archive that it holds, and accept only what an archive could contain."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxguide.base.clean import clean
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.judging.values import ArrayData
from jaxguide.grading.intake.student_names import ID_KINDS, ID_LIMIT, SUBMISSION, Owner, Person, as_read
from jaxguide.grading.intake.unpacking import NESTING_LIMIT, ListedFile
from jaxguide.grading.intake.untrusted_zip import MEMBERS_LIMIT, has_invisible
from jaxguide.grading.workers.how_code_ended import broken_reply
from jaxguide.grading.workers.replies import checked, raise_problem
from jaxguide.grading.workers.worker_process import WorkerProcess

_TEXT_LIMIT, _PART_LIMIT, _MOST_PEOPLE = 1_000, 255, 100
# An archive's depth times the longest name in one, in which every second character may be a slash.
_PARTS_LIMIT = (NESTING_LIMIT + 1) * 500


@dataclasses.dataclass(frozen=True)
class _FilesReply:
    files: list[ListedFile]
    more: bool


@dataclasses.dataclass(frozen=True)
class _ContentReply:
    part: ArrayData
    more: bool


class HeldArchive:
    """An archive that a limited process holds.

    Args:
        worker: the process.
    """

    def __init__(self, worker: WorkerProcess):
        self._worker = worker

    def files(self, owner: Owner, is_own: bool, is_deep: bool = True) -> list[ListedFile]:
        """Return its files, see `jaxguide.grading.intake.unpacking.Archive.files`.

        Raises:
            UnreadableSubmission: it cannot be listed.
            AnswerGone: the process exceeded a limit or has ended, or the reply is broken.
        """
        found: list[ListedFile] = []
        while True:
            asked = {"owner": plain_of(owner), "is_own": is_own, "is_deep": is_deep}
            reply = self._worker.request("files", **asked, start=len(found))
            page, more = files_in(reply, owner, is_own, is_deep)
            found += page
            if len(found) > MEMBERS_LIMIT or (more and not page):
                raise broken_reply()
            if not more:
                return found

    def read(self, numbers: Sequence[int], limit_bytes: int) -> bytes:
        """Return a file's bytes, see `jaxguide.grading.intake.unpacking.Archive.read`.

        Raises:
            UnreadableSubmission: it cannot be read.
            AnswerGone: the process exceeded a limit or has ended, or the reply is broken.
        """
        found = bytearray()
        while True:
            asked = {"numbers": list(numbers), "limit_bytes": limit_bytes, "start": len(found)}
            part, more = content_in(self._worker.request("content", **asked))
            found += part
            if len(found) > limit_bytes or (more and not part):
                raise broken_reply()
            if not more:
                return bytes(found)


def files_in(reply: dict[str, Any], owner: Owner, is_own: bool, is_deep: bool = True) -> tuple[list[ListedFile], bool]:
    """Return some of an archive's files, and whether there are more.

    Raises:
        UnreadableSubmission: the reply says why the archive cannot be listed.
        AnswerGone: listing takes too much memory, or the reply is broken.
    """
    raise_problem(reply)
    found = checked(_FilesReply, lambda: _FilesReply(read_plain(list[ListedFile], reply["files"]), reply["more"]))
    if not all(_is_possible(file, owner, is_own, is_deep) for file in found.files):
        raise broken_reply()
    return [_with_clean_text(file) for file in found.files], found.more


def content_in(reply: dict[str, Any]) -> tuple[bytes, bool]:
    """Return some of a file's bytes, and whether there are more.

    Raises:
        UnreadableSubmission: the reply says why the file cannot be read.
        AnswerGone: reading takes too much memory, or the reply is broken.
    """
    raise_problem(reply)
    found = checked(_ContentReply, lambda: _ContentReply(reply["part"], reply["more"]))
    if found.part.values.dtype != np.uint8 or found.part.values.ndim != 1:
        raise broken_reply()
    return found.part.values.tobytes(), found.more


def _is_possible(file: ListedFile, owner: Owner, is_own: bool, is_deep: bool) -> bool:
    """Return whether an archive of this owner may contain such a file."""
    depth = NESTING_LIMIT + 1 - is_own if is_deep else 1
    return (
        0 < len(file.parts) <= _PARTS_LIMIT
        and all(_is_part(part, bool(file.problem)) for part in file.parts)
        and len(file.numbers) <= depth
        and all(0 <= number < MEMBERS_LIMIT for number in file.numbers)
        and len(file.date) in (0, 6)
        and all(0 <= part < 10_000 for part in file.date)
        and len(file.owner.people) <= _MOST_PEOPLE
        and all({*ID_KINDS, SUBMISSION}.issuperset(person.ids) for person in file.owner.people)
        and all(len(value) <= ID_LIMIT for person in file.owner.people for value in person.ids.values())
        # A student whom the export names has all that is inside.
        and (not owner.is_exported or file.owner == owner)
        and not (file.is_archive and (is_deep or file.problem))
        and bool(file.numbers or file.problem)
    )


def _is_part(part: str, is_refused: bool) -> bool:
    if not 0 < len(part) <= _PART_LIMIT or part in (".", "..") or "/" in part or "\\" in part:
        return False
    return clean(part) == part if is_refused else not has_invisible(part)


def _with_clean_text(file: ListedFile) -> ListedFile:
    people = [
        Person(as_read(person.name), {kind: as_read(value) for kind, value in person.ids.items()})
        for person in file.owner.people
    ]
    owner = Owner(tuple(people), as_read(file.owner.group))
    return dataclasses.replace(file, owner=owner, problem=clean(file.problem, _TEXT_LIMIT))
