"""Read what students sent in a process with limits of its own, which is not the grader."""

import contextlib
import dataclasses
import hashlib
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxguide.base.clean import clean
from jaxguide.base.text import _
from jaxguide.course.judging.values import ArrayData
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.intake.answer_runs import MOST_RUNS
from jaxguide.grading.intake.reading import CourseText, ReadCell, ReadSubmission, read_content
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.isolation import Tier
from jaxguide.grading.workers.how_code_ended import broken_reply
from jaxguide.grading.workers.replies import checked, error_of
from jaxguide.grading.workers.session import WorkerRegistry
from jaxguide.grading.workers.usage import Limits
from jaxguide.grading.workers.worker_process import GraderError, WorkerKilled, WorkerProcess

LIMITS = Limits(cpu_s=6, idle_s=30, memory_bytes=300 * 2**20)
_PART_BYTES = 16 * 2**20
_TEXT_LIMIT = 1_000
# Why files were refused that took too much, by digest: a file is read before grading, too, if its student sent several.
_refused: dict[str, str] = {}


class Readers:
    """Read files, from any thread, each in a process that reads only and that the next file may use again.

    Args:
        course: called once for what reading needs of the course.
        hidden: folders and files that the processes must not see.
        tier: how they are isolated; None to read in this process, as is right for a user's own files.
        running: the registry of workers, so that another thread can stop them.
    """

    def __init__(
        self,
        course: Callable[[], CourseText],
        hidden: tuple[Path, ...] = (),
        tier: Tier | None = None,
        running: WorkerRegistry | None = None,
    ):
        self._find_course, self._hidden, self._tier = course, hidden, tier
        self._running = running or WorkerRegistry()
        self._lock = threading.Lock()
        self._course: CourseText | None = None
        self._idle: list[WorkerProcess] = []
        weakref.finalize(self, _end, self._idle)

    def read(self, path: Path, content: bytes) -> ReadSubmission:
        """Read a file with this name and content.

        Raises:
            UnreadableSubmission: the file is not a notebook, is not text, contains no code or too much, or takes too
                long or too much memory to read.
            GraderError: workers do not start on this machine, or are killed one after the other.
        """
        digest = hashlib.sha256(path.suffix.encode("utf-8", "replace") + b"\0" + content).hexdigest()
        if digest in _refused:
            raise UnreadableSubmission(_refused[digest])
        with self._lock:
            course = self._course = self._course or self._find_course()
            used = self._idle.pop() if self._idle else None
        if self._tier is None:
            return read_content(path.name, content, course)
        try:
            # If it fails, try a new process: what earlier files left behind must not count against this one.
            if used is not None:
                try:
                    return self._read(used, path, content, course)
                except AnswerGone as gone:
                    if gone.verdict is Verdict.OUT_OF_TIME:  # which is measured for each file
                        raise
                except GraderError:
                    pass
            with contextlib.suppress(WorkerKilled):
                return self._read(self._start(course), path, content, course)
            return self._read(self._start(course), path, content, course)
        except AnswerGone as gone:
            _refused[digest] = _why_not(gone)
            raise UnreadableSubmission(_refused[digest]) from None

    def close(self) -> None:
        """Stop the processes that wait for files."""
        with self._lock:
            _end(self._idle)

    def _start(self, course: CourseText) -> WorkerProcess:
        worker = self._running.start(lambda: WorkerProcess(self._hidden, LIMITS, self._tier, runs_code=False))
        try:
            worker.request("course", course=course.to_plain())
        except AnswerGone as gone:  # before the process has seen the file
            raise GraderError(gone.note) from gone
        return worker

    def _read(self, worker: WorkerProcess, path: Path, content: bytes, course: CourseText) -> ReadSubmission:
        worker.start_exercise()
        for part in _parts(content):
            worker.request("part", part=ArrayData(np.frombuffer(part, np.uint8)))
        try:
            found = found_in(worker.request("read", name=path.name), course)
        except BaseException:
            worker.kill()
            raise
        with self._lock:
            self._idle.append(worker)
        if isinstance(found, str):
            raise UnreadableSubmission(found)
        return found


def _end(idle: list[WorkerProcess]) -> None:
    while idle:
        idle.pop().kill()


def found_in(reply: dict[str, Any], course: CourseText) -> ReadSubmission | str:
    """Return what a file contains, or a sentence that says why it cannot be read.

    Raises:
        AnswerGone: the file takes too much memory to read, or the reply is broken.
    """
    if reply.get("is_out_of_memory") is True:
        raise AnswerGone(Verdict.OUT_OF_MEMORY, "")
    if "error" in reply:  # more than a reply can hold
        return _("The file contains too many definitions.")
    if "problem" in reply:
        return clean(checked(str, lambda: reply["problem"]), _TEXT_LIMIT)
    found = checked(ReadSubmission, lambda: ReadSubmission.from_plain(reply["submission"]))
    if not _is_about(found, course):
        raise broken_reply()
    return dataclasses.replace(found, cells=[_with_short_error(cell) for cell in found.cells])


def _is_about(found: ReadSubmission, course: CourseText) -> bool:
    """Return whether a reply names only what the course has, and says no more than any file could."""
    names, given = frozenset[str]().union(*course.names.values()), frozenset[str]().union(*course.given.values())
    return (
        [cell.number for cell in found.cells] == list(range(1, len(found.cells) + 1))
        and all(len(text) <= _TEXT_LIMIT for cell in found.cells for text in _texts(cell))
        and all(names.issuperset(cell.defines) and names.issuperset(cell.starters) for cell in found.cells)
        and all(given.issuperset(cell.reads) for cell in found.cells)
        and course.stubs.keys() >= {*found.lessons, *found.topics}
        and names.issuperset(found.misspelled)
        and len(found.close) in (0, 2)
        and all(len(name) <= _TEXT_LIMIT for name in (*found.misspelled.values(), *found.close))
        and names.issuperset(found.runs)
        and all(len(runs) <= MOST_RUNS and all(0 <= run < 2**48 for run in runs) for runs in found.runs.values())
    )


def _texts(cell: ReadCell) -> list[str]:
    return [cell.label, cell.rejected, *cell.magics, *cell.late_settings]


def _with_short_error(cell: ReadCell) -> ReadCell:
    return cell if cell.error is None else dataclasses.replace(cell, error=error_of(cell.error.to_plain()))


def _parts(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), _PART_BYTES):
        yield content[start : start + _PART_BYTES]


def _why_not(gone: AnswerGone) -> str:
    if gone.verdict is Verdict.OUT_OF_TIME:
        return _("The file takes more than {limit:g} seconds of computing to read.").format(limit=LIMITS.cpu_s)
    if gone.verdict is Verdict.OUT_OF_MEMORY:
        message = _("The file takes more than {size} MB of memory to read; clear its outputs.")
        return message.format(size=LIMITS.memory_bytes // 2**20)
    return _("The file ends the process that reads it.")
