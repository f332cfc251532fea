"""Start a worker, send it requests under resource limits, and stop it."""

import contextlib
import dataclasses
import io
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import psutil

from jaxguide.base.plain import plain_of
from jaxguide.course.books.outline import Outline
from jaxguide.course.limits import Limits
from jaxguide.course.requirements import requirement_folders
from jaxguide.course.set_up import process_settings
from jaxguide.course.settings import CourseSettings
from jaxguide.course.verdict import AnswerGone, NotJudged, Verdict
from jaxguide.grading.intake.reading import CourseText
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import SECCOMP, Isolation
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.how_code_ended import broken_reply, ended_by_itself, may_be_killed, over
from jaxguide.grading.workers.scratch import ScratchWatch, new_scratch, remove_scratch, used_bytes
from jaxguide.grading.workers.usage import ProcessTree
from jaxguide.grading.workers.zygote import Process, Spawn, start_worker

_START_LIMIT_S = 300.0
# On a busy machine, a process may take a while to end after it has closed the connection.
_END_LIMIT_S = 30.0
# Checking the limits costs as much as a small request, and the limits are in seconds, so a few checks suffice.
_FIRST_POLL_S, _LAST_POLL_S = 0.1, 0.2
_LAST_WORDS_S = 0.02
_CPU_BACKSTOP_FACTOR = 100
# This includes the threads per processor that JAX starts later. Each reserves 8 MB of address space, which is limited.
_LEFT_THREADS = 32 + 4 * (os.cpu_count() or 1)


class _Pipes:
    """The pipes to and from a worker, which may send incomplete frames, invalid frames, or nothing.

    A thread reads and writes, so that the grader can check limits meanwhile. `received` has the replies: a frame, a
    `WireError` if the frame is not valid, or None if the connection has ended. A frame put into `sent` is sent after
    the reply to the one before; None closes the connection, without waiting for its end, because another process may
    hold it open.

    Args:
        process: the worker's process.
        config: the bytes to send first.
    """

    def __init__(self, process: Process, config: bytes):
        self.sent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.received: queue.SimpleQueue[bytes | wire.WireError | None] = queue.SimpleQueue()
        self.sent.put(config)
        threading.Thread(target=self._carry, args=(process.stdin, process.stdout), daemon=True).start()

    def _carry(self, stdin: Any, stdout: Any) -> None:
        try:
            with io.BufferedWriter(stdin) as writer, io.BufferedReader(stdout) as reader:
                while (frame := self.sent.get()) is not None:
                    writer.write(frame)
                    writer.flush()
                    prefix = reader.read(wire.PREFIX.size)
                    rest = wire.frame_size(prefix) if len(prefix) == wire.PREFIX.size else 1
                    frame = prefix + reader.read(rest)
                    if len(frame) < len(prefix) + rest:  # the connection has ended
                        break
                    self.received.put(frame)
        except wire.WireError as error:
            self.received.put(error)
        except (OSError, ValueError):
            pass
        self.received.put(None)


class GraderError(NotJudged):
    """Grading does not work on this machine; no student is at fault."""


class NotGraded(GraderError):
    """One submission cannot be graded, but others may: the machine is too busy, or the lesson's setup fails."""


class WorkerKilled(GraderError):
    """A worker was killed, and not by the grader: run the submission again before you blame its code.

    Args:
        gone: how the code ended, if it killed its process itself.
    """

    def __init__(self, gone: AnswerGone):
        super().__init__("A worker process was killed.")
        self.gone = gone


class WorkerRegistry:
    """The workers of one grader, which can all be stopped at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()
        self._is_stopped = False

    def add(self, worker: "WorkerProcess") -> None:
        """Register a worker, or kill it if grading was stopped.

        Raises:
            GraderError: `stop` was called.
        """
        with self._lock:
            self._workers.add(worker)
            is_stopped = self._is_stopped
        if is_stopped:
            worker.kill()
            raise GraderError("Grading was stopped.")

    def stop(self) -> None:
        """Kill all workers, also those that start later."""
        with self._lock:
            self._is_stopped = True
            workers = list(self._workers)
        for worker in workers:
            worker.kill()


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """The conditions in which workers run.

    Args:
        hidden: folders and files that no worker may see.
        limits: the resource limits.
        isolation: how workers are isolated; by default as well as this machine can.
        programs: the folder from which they load compiled programs.
        saves_programs: whether they also save there what they compile, for trusted code only.
        process: the arguments of `set_up_process`.
        files: the files that lessons read, by name; each worker gets its own copies.
        folders: the folders from which lessons import what the course requires.
        running: the registry of workers, so that another thread can stop them.
        is_rerun: whether the submission runs again because a worker was killed. Then a killed worker counts as ended by
            the submission's code, and otherwise raises `WorkerKilled`.
    """

    hidden: tuple[Path, ...] = ()
    limits: Limits = dataclasses.field(default_factory=Limits)
    isolation: Isolation = dataclasses.field(default_factory=find_isolation)
    programs: Path | None = None
    saves_programs: bool = False
    process: Mapping[str, Any] = dataclasses.field(default_factory=lambda: process_settings(CourseSettings()))
    files: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    folders: tuple[str, ...] = ()
    running: WorkerRegistry = dataclasses.field(default_factory=WorkerRegistry)
    is_rerun: bool = False

    def of(self, course: Outline, lesson: str) -> "Surroundings":
        """Return these conditions for one lesson of a course."""
        process, folders = process_settings(course.settings, lesson), tuple(requirement_folders(course.settings))
        return dataclasses.replace(self, process=process, files=course.files, folders=folders)


class WorkerProcess:
    """A process that runs one submission's code; `tree` has what it has used.

    Args:
        around: the conditions in which it runs.
        course: if given, it runs no code and only reads files that answer this course, see `Readers`.
        spawn: how to start the process; by default it is forked from the zygote if possible.

    Raises:
        GraderError: the process does not start, or grading was stopped.
        WorkerKilled: the process was killed while it started.
    """

    def __init__(
        self, around: Surroundings | None = None, course: CourseText | None = None, spawn: Spawn = start_worker
    ):
        self._around, self.course = around or Surroundings(), course
        self.limits = self._around.limits
        self.is_alive = True
        self._scratch = new_scratch(self._around.files)
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in `kill`)
        output = os.fstat(self._output.fileno()).st_ino
        scratch_bytes = self.limits.scratch_bytes + (used_bytes(self._scratch) or 0)
        self._watch = ScratchWatch(self._scratch, scratch_bytes, self.limits.file_bytes, output)
        self._started_cpu_s: float | None = None
        self._spent_before_s = 0.0
        try:
            self._process = spawn(self._scratch, self._output)
            self.tree = ProcessTree(self._process.pid, can_fork=SECCOMP not in self._around.isolation.parts)
        except (OSError, psutil.Error) as error:
            self._clean()
            raise GraderError(f"A worker process did not start: {error}") from error
        self._count = 0
        # Send the configuration through the pipe: an argument is limited to 128 KiB on Linux and readable by all users.
        self._pipes = _Pipes(self._process, json.dumps(self._config()).encode("ascii") + b"\n")
        try:
            self._wait(_START_LIMIT_S)
            self.tree.start(base_memory=True)
            self._first_threads = self.tree.threads()
            self._replied_at = time.monotonic()
        except GraderError:
            self.kill()
            raise
        except (AnswerGone, wire.WireError) as problem:
            said = self._last_output()
            self.kill()
            raise GraderError(f"A worker process did not start: {said or problem}") from problem
        self._around.running.add(self)

    def _config(self) -> dict[str, Any]:
        around, limits = self._around, self.limits
        programs = None if around.programs is None else str(around.programs)
        return {
            "hidden": [str(path) for path in around.hidden],
            "programs": programs,
            "saves_programs": around.saves_programs,
            "course": plain_of(self.course),
            "process": dict(around.process),
            "folders": around.folders,
            "scratch": str(self._scratch),
            "isolation": dataclasses.asdict(around.isolation),
            "unlisted": [programs] if programs else [],
            "memory_bytes": limits.memory_bytes,
            # Allow larger files than the output limit, so that too much output is reported as such.
            "file_bytes": max(limits.file_bytes, limits.output_bytes + 2**20),
            "cpu_s": int(limits.cpu_s * _CPU_BACKSTOP_FACTOR) + 60,
        }

    @property
    def spent_s(self) -> float:
        """The processor time used since `start_submission`."""
        return 0.0 if self._started_cpu_s is None else self.tree.total_cpu_s - self._started_cpu_s

    @property
    def is_crowded(self) -> bool:
        """Whether so many threads were left running that JAX may fail to start threads to compile, which is fatal."""
        return self.tree.threads() > self._first_threads + _LEFT_THREADS

    def start_submission(self, spent_s: float) -> None:
        """Start measuring the submission's total processor time, of which `spent_s` was used before."""
        self.tree.start()
        self._spent_before_s, self._started_cpu_s = spent_s, self.tree.total_cpu_s

    def start_exercise(self) -> None:
        """Start measuring the limits of one exercise, and delete earlier output."""
        self.tree.start()
        # The worker shares this descriptor's position in the file.
        os.lseek(self._output.fileno(), 0, os.SEEK_SET)
        os.ftruncate(self._output.fileno(), 0)

    def request(self, operation: str, **fields: Any) -> dict[str, Any]:
        """Send one request and return the reply.

        Raises:
            AnswerGone: the worker exceeded a limit, was ended by the student's code, or sent an invalid reply.
            NotGraded: the machine is too busy.
            WorkerKilled: the worker was killed, and not by this grader.
        """
        if not self.is_alive:
            raise AnswerGone(Verdict.DIED, "The process that ran your code has ended.")
        self._count += 1
        # What the grader does between requests, such as asking planted answers, is not this submission's time.
        self.tree.leave_out_since(self._replied_at)
        self._pipes.sent.put(wire.encode({"id": self._count, "op": operation, **fields}))
        try:
            reply = self._wait(None)
            if reply.get("id") != self._count:
                raise wire.WireError("the reply is to another request")
            self._check_written(at_once=True)
            self._replied_at = time.monotonic()
        except wire.WireError:
            self.kill()
            raise broken_reply() from None
        except BaseException:
            self.kill()
            raise
        return reply

    def _wait(self, start_limit_s: float | None) -> dict[str, Any]:
        """Wait for the next frame while the worker stays within its limits."""
        poll_s = _FIRST_POLL_S
        while True:
            with contextlib.suppress(queue.Empty):
                frame = self._pipes.received.get(timeout=poll_s)
                break
            poll_s = min(poll_s * 2, _LAST_POLL_S)
            if self._process.poll() is not None:
                # The process has ended. Do not wait for the end of the pipe, which a child may keep open.
                frame = None
                with contextlib.suppress(queue.Empty):
                    frame = self._pipes.received.get(timeout=_LAST_WORDS_S)
                break
            self._check_limits(start_limit_s)
        if frame is None:
            raise self._ended()
        if isinstance(frame, wire.WireError):
            raise frame
        reply = wire.decode(frame)
        if type(reply) is not dict:
            raise wire.WireError("the reply is not a dict")
        return reply

    def _check_limits(self, start_limit_s: float | None) -> None:
        used = self.tree.sample()
        limits = self.limits
        if start_limit_s is not None:
            if used.wall_s > start_limit_s:
                raise GraderError(f"A worker process did not start within {start_limit_s:.0f} s.")
            return
        for name, value in {**vars(used), "total_cpu_s": self._spent_before_s + self.spent_s}.items():
            if name != "wall_s" and value > getattr(limits, name):
                raise over(name, limits)
        self._check_written()
        if used.wall_s > limits.wall_s:
            message = "Not graded: the machine is too busy; the code was not finished after {wall:.0f} s."
            raise NotGraded(message.format(wall=used.wall_s))

    def _check_written(self, at_once: bool = False) -> None:
        written = os.fstat(self._output.fileno())
        # `fallocate` takes space beyond the end of a file.
        if max(written.st_size, written.st_blocks * 512) > self.limits.output_bytes:
            raise over("output_bytes", self.limits)
        if self._watch.is_full((process.pid for process in self.tree.processes()), at_once):
            raise over("scratch_bytes", self.limits)

    def _ended(self) -> AnswerGone:
        """Return how the process ended.

        Raises:
            WorkerKilled: the process was killed.
        """
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=_END_LIMIT_S)
        if code is None:
            return AnswerGone(Verdict.BROKEN_REPLY, "Your code closed the connection to the grader.")
        gone = ended_by_itself(code, self._last_output(), self.limits)
        if may_be_killed(code):
            raise WorkerKilled(gone)
        return gone

    def _last_output(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            size = self._output.seek(0, os.SEEK_END)
            self._output.seek(max(0, size - 4000))
            return self._output.read().decode("utf-8", "replace").strip()
        return ""

    def kill(self) -> None:
        """Kill the worker and all processes that it started, and delete its folder."""
        if not self.is_alive:
            return
        self.is_alive = False
        self.tree.sample()
        self.tree.kill()
        self._process.wait()
        self._pipes.sent.put(None)
        self._clean()

    def _clean(self) -> None:
        self._output.close()
        remove_scratch(self._scratch)
