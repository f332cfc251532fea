"""Read what students sent in a process with limits of its own, which is not the grader."""

import contextlib
import dataclasses
import functools
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from jaxguide.base.clean import clean
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.judging.values import ArrayData
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.intake.reading import MOST_RUNS, CourseText, ReadCell, ReadSubmission, read_content
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.how_code_ended import broken_reply
from jaxguide.grading.workers.remote_answer import checked, error_of
from jaxguide.grading.workers.worker_process import GraderError, Surroundings, WorkerKilled, WorkerProcess

LIMITS = Limits(cpu_s=6, idle_s=30, memory_bytes=300 * 2**20)
_PART_BYTES = 4 * 2**20
_TEXT_LIMIT = 1_000


class Readers:
    """Read files, from any thread, in processes that read only and that are used again.

    Args:
        course: called once for what reading needs of the course.
        around: the conditions in which they run, but for the limits; None to read in this process, as is right for a
            user's own files.
    """

    def __init__(self, course: Callable[[], CourseText], around: Surroundings | None = None):
        self._course = functools.cache(course)
        self._around = around and dataclasses.replace(around, limits=LIMITS)
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        weakref.finalize(self, _end, self._idle)

    def read(self, path: Path, content: bytes) -> ReadSubmission:
        """Read a file with this name and content.

        Raises:
            UnreadableSubmission: the file is not a notebook, is not text, contains no code or too much, or takes too
                long or too much memory to read.
            GraderError: workers do not start on this machine, or are killed one after the other.
        """
        if self._around is None:
            return read_content(path.name, content, self._course())
        try:
            return self._read(path.name, content)
        except AnswerGone as gone:
            raise UnreadableSubmission(_why_not(gone)) from None

    def _read(self, name: str, content: bytes) -> ReadSubmission:
        with self._lock:
            used = self._idle.pop() if self._idle else None
        # If it fails, try a new process: what earlier files left behind must not count against this one.
        if used is not None:
            try:
                return self._read_in(used, name, content)
            except AnswerGone as gone:
                if gone.verdict is Verdict.OUT_OF_TIME:  # which is measured for each file
                    raise
            except GraderError:
                pass
        with contextlib.suppress(WorkerKilled):
            return self._read_in(WorkerProcess(self._around, self._course()), name, content)
        return self._read_in(WorkerProcess(self._around, self._course()), name, content)

    def _read_in(self, process: WorkerProcess, name: str, content: bytes) -> ReadSubmission:
        try:
            process.start_exercise()
            for start in range(0, len(content), _PART_BYTES):
                part = np.frombuffer(content[start : start + _PART_BYTES], np.uint8)
                _raise_problem(process.request("part", part=ArrayData(part)))
            return found_in(process.request("read", name=name), self._course())
        except UnreadableSubmission:  # an answer like others
            raise
        except BaseException:
            process.kill()
            raise
        finally:
            if process.is_alive:
                with self._lock:
                    self._idle.append(process)

    def close(self) -> None:
        """Stop the processes that wait for files."""
        with self._lock:
            _end(self._idle)


def _end(idle: list[WorkerProcess]) -> None:
    while idle:
        idle.pop().kill()


def found_in(reply: dict[str, Any], course: CourseText) -> ReadSubmission:
    """Return what a file contains.

    Raises:
        UnreadableSubmission: the reply says why the file cannot be read.
        AnswerGone: the file takes too much memory to read, or the reply is broken.
    """
    if "error" in reply:  # more than a reply can hold
        raise UnreadableSubmission("The file contains too many definitions.")
    _raise_problem(reply)
    found = checked(ReadSubmission, lambda: read_plain(ReadSubmission, reply["submission"]))
    if not _is_about(found, course):
        raise broken_reply()
    return dataclasses.replace(found, cells=[_with_short_error(cell) for cell in found.cells])


def _is_about(found: ReadSubmission, course: CourseText) -> bool:
    """Return whether a reply names only what the course has, and says no more than any file could."""
    names, given = {stub.name for stub in course.stubs}, set(course.given)
    return (
        [cell.number for cell in found.cells] == list(range(1, len(found.cells) + 1))
        and all(len(text) <= _TEXT_LIMIT for cell in found.cells for text in _texts(cell))
        and all(names.issuperset(cell.defines) and names.issuperset(cell.starters) for cell in found.cells)
        and all(given.issuperset(cell.reads) for cell in found.cells)
        and course.names.keys() >= {*found.lessons, *found.topics}
        and names.issuperset(found.missing)
        and course.dropped.keys() >= set(found.dropped)
        and all(len(text) <= _TEXT_LIMIT for text in (found.other_course, found.no_exercise, *found.missing.values()))
        and names.issuperset(found.runs)
        and all(len(runs) <= MOST_RUNS and all(0 <= run < 2**48 for run in runs) for runs in found.runs.values())
    )


def _texts(cell: ReadCell) -> list[str]:
    return [cell.label, cell.rejected, *cell.magics, *cell.late_settings]


def _with_short_error(cell: ReadCell) -> ReadCell:
    return cell if cell.error is None else dataclasses.replace(cell, error=error_of(plain_of(cell.error)))


def _raise_problem(reply: dict[str, Any]) -> None:
    if reply.get("is_out_of_memory") is True:
        raise AnswerGone(Verdict.OUT_OF_MEMORY, "")
    if "problem" in reply:
        raise UnreadableSubmission(clean(checked(str, lambda: reply["problem"]), _TEXT_LIMIT))


def _why_not(gone: AnswerGone) -> str:
    if gone.verdict is Verdict.OUT_OF_TIME:
        return f"The file takes more than {LIMITS.cpu_s:g} seconds of computing to read."
    if gone.verdict is Verdict.OUT_OF_MEMORY:
        return f"The file takes more than {LIMITS.memory_bytes // 2**20} MB of memory to read; clear its outputs."
    return "The file ends the process that reads it."
