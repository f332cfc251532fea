"""Read what students sent in a process with limits of its own, which is not the grader."""

import contextlib
import dataclasses
import hashlib
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.judging.values import ArrayData
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.intake.answer_runs import MOST_RUNS
from jaxguide.grading.intake.archives import Packed, Unpacked, unpacked_here
from jaxguide.grading.intake.reading import CourseText, ReadCell, ReadSubmission, read_content
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.isolation import Tier
from jaxguide.grading.workers.held_archive import HeldArchive
from jaxguide.grading.workers.how_code_ended import broken_reply
from jaxguide.grading.workers.replies import checked, error_of, raise_problem
from jaxguide.grading.workers.session import WorkerRegistry
from jaxguide.grading.workers.worker_process import GraderError, NotGraded, WorkerKilled, WorkerProcess

LIMITS = Limits(cpu_s=6, idle_s=30, memory_bytes=300 * 2**20)
_PART_BYTES = 4 * 2**20
_KEPT = 2
_TEXT_LIMIT = 1_000
# Why files were refused that took too much, by digest: a file is read before grading, too, if its student sent several.
_refused: dict[str, str] = {}


_T = TypeVar("_T")


class _ReadingProcess(WorkerProcess):
    """A process that reads, with what it was given to keep."""

    has_course = False
    holds: Packed | None = None


class Readers:
    """Read files and archives, from any thread, in processes that read only and that are used again.

    Args:
        course: called once for what reading needs of the course.
        hidden: folders and files that the processes must not see.
        tier: how they are isolated; None to read in this process, as is right for a user's own files.
        running: the registry of workers, so that another thread can stop them.
        limits: the limits on reading one file, listing one archive, and reading one file in an archive.
    """

    def __init__(
        self,
        course: Callable[[], CourseText],
        hidden: tuple[Path, ...] = (),
        tier: Tier | None = None,
        running: WorkerRegistry | None = None,
        limits: Limits = LIMITS,
    ):
        self._find_course, self._hidden, self._tier, self._limits = course, hidden, tier, limits
        self._running = running or WorkerRegistry()
        self._lock = threading.Lock()
        self._course: CourseText | None = None
        # In the order in which they were used.
        self._idle: list[_ReadingProcess] = []
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
        if self._tier is None:
            return read_content(path.name, content, course)

        def ask(process: _ReadingProcess) -> ReadSubmission:
            if not process.has_course:
                _give_course(process, course)
            process.start_exercise()
            _send(process, content)
            return found_in(process.request("read", name=path.name), course)

        try:
            return self._ask(None, ask)
        except AnswerGone as gone:
            _refused[digest] = _why_not(gone, self._limits)
            raise UnreadableSubmission(_refused[digest]) from None

    def unpack(self, packed: Packed, question: Callable[[Unpacked], _T]) -> _T:
        """Return the answer to a question about an archive, asked where the archive is unpacked.

        Raises:
            UnreadableSubmission: the answer is that there is nothing to grade; or unpacking takes too long or too much
                memory, or its processes are killed one after the other.
            GraderError: workers do not start on this machine.
        """
        if self._tier is None or packed.is_large:
            try:
                return question(unpacked_here(packed))
            except MemoryError:
                raise UnreadableSubmission("There is not enough memory to unpack the archive.") from None
        with self._lock:
            is_held = any(process.holds == packed for process in self._idle)
        # This may ask the process that holds the archive around this one, which is therefore not the next to be used.
        sent = None if is_held else packed.content(self)

        def ask(process: _ReadingProcess) -> _T:
            content = None
            if process.holds != packed:
                content = packed.content(self) if sent is None else sent
            process.start_exercise()
            if content is not None:
                _send(process, content)
                process.request("hold")
                process.holds = packed
            return question(HeldArchive(process))

        try:
            return self._ask(packed, ask)
        except AnswerGone as gone:
            raise UnreadableSubmission(_why_not_unpacked(gone, self._limits)) from None
        except (NotGraded, WorkerKilled) as error:  # the archive may be why, so others must get their turn
            message = "The archive could not be unpacked, so grade it again: {error}"
            raise UnreadableSubmission(message.format(error=error)) from None

    def close(self) -> None:
        """Stop the processes that wait for files."""
        with self._lock:
            _end(self._idle)

    def _ask(self, packed: Packed | None, ask: Callable[[_ReadingProcess], _T]) -> _T:
        """Ask a process that holds this archive, if there is one, or any."""
        used = self._taken(packed)
        # If it fails, try a new process: what earlier files left behind must not count against this one.
        if used is not None:
            try:
                return self._asked(used, ask)
            except AnswerGone as gone:
                if gone.verdict is Verdict.OUT_OF_TIME:  # which is measured for each file
                    raise
            except GraderError:
                pass
        with contextlib.suppress(WorkerKilled):
            return self._asked(self._start(), ask)
        return self._asked(self._start(), ask)

    def _taken(self, packed: Packed | None) -> _ReadingProcess | None:
        """Take the idle process to ask, or None if a new one should start.

        At most two keep archives, so that a class's archive stays where it is while those in it come one by one.
        """
        with self._lock:
            found = [process for process in self._idle if process.holds == packed]
            others = [process for process in self._idle if process.holds is not None]
            if not found and packed is not None and len(others) >= _KEPT:
                found = others
            if not found:
                return None
            self._idle.remove(found[0])
            return found[0]

    def _start(self) -> _ReadingProcess:
        return self._running.start(lambda: _ReadingProcess(self._hidden, self._limits, self._tier, runs_code=False))

    def _asked(self, process: _ReadingProcess, ask: Callable[[_ReadingProcess], _T]) -> _T:
        try:
            return ask(process)
        except UnreadableSubmission:  # an answer like others
            raise
        except BaseException:
            process.kill()
            raise
        finally:
            if process.is_alive:
                with self._lock:
                    self._idle.append(process)


def _give_course(process: _ReadingProcess, course: CourseText) -> None:
    try:
        process.request("course", course=course.to_plain())
    except AnswerGone as gone:  # before the process has seen the file
        raise GraderError(gone.note) from gone
    process.has_course = True


def _send(process: WorkerProcess, content: bytes) -> None:
    for start in range(0, len(content), _PART_BYTES):
        part = np.frombuffer(content[start : start + _PART_BYTES], np.uint8)
        raise_problem(process.request("part", part=ArrayData(part)))


def _end(idle: list[_ReadingProcess]) -> None:
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
    raise_problem(reply)
    found = checked(ReadSubmission, lambda: read_plain(ReadSubmission, reply["submission"]))
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
        and names.issuperset([*found.elsewhere, *found.alike])
        and course.dropped.keys() >= set(found.dropped)
        and all(len(text) <= _TEXT_LIMIT for text in _texts_about(found))
        and names.issuperset(found.runs)
        and all(len(runs) <= MOST_RUNS and all(0 <= run < 2**48 for run in runs) for runs in found.runs.values())
    )


def _texts_about(found: ReadSubmission) -> list[str]:
    said = (found.misspelled, found.elsewhere, found.alike)
    return [found.other_course, *found.close, *(text for texts in said for text in texts.values())]


def _texts(cell: ReadCell) -> list[str]:
    return [cell.label, cell.rejected, *cell.magics, *cell.late_settings]


def _with_short_error(cell: ReadCell) -> ReadCell:
    return cell if cell.error is None else dataclasses.replace(cell, error=error_of(plain_of(cell.error)))


def _why_not(gone: AnswerGone, limits: Limits) -> str:
    if gone.verdict is Verdict.OUT_OF_TIME:
        return f"The file takes more than {limits.cpu_s:g} seconds of computing to read."
    if gone.verdict is Verdict.OUT_OF_MEMORY:
        message = "The file takes more than {size} MB of memory to read; clear its outputs."
        return message.format(size=limits.memory_bytes // 2**20)
    return "The file ends the process that reads it."


def _why_not_unpacked(gone: AnswerGone, limits: Limits) -> str:
    if gone.verdict is Verdict.OUT_OF_TIME:
        return f"The archive takes more than {limits.cpu_s:g} seconds of computing to unpack."
    if gone.verdict is Verdict.OUT_OF_MEMORY:
        message = "The archive takes more than {size} MB of memory to unpack."
        return message.format(size=limits.memory_bytes // 2**20)
    return "The archive ends the process that unpacks it."
