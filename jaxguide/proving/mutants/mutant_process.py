"""Judge mutants in a process of its own, which has loaded the lesson and is ended if one of them exceeds its limit.

Mutants come from the course's own key, so they are not hostile, but they may loop forever or fill the memory. Requests
and replies are JSON.
"""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from jaxguide import compat
from jaxguide.code.sameness import is_starter
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.books.library import load_course
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.compilation_cache import compiled_once
from jaxguide.course.judging.judge import judge
from jaxguide.course.set_up import beside_files
from jaxguide.course.verdict import NotJudged, Verdict
from jaxguide.proving.mutants.domains import UndeclaredDomain
from jaxguide.proving.mutants.separating import KeyComparison

_START_LIMIT_S = 300.0
_POLL_S = 0.2
_WALL_FACTOR = 8.0
"""How much longer than its processor time a mutant may take on a busy machine."""
_MEMORY_BYTES = 6 * 2**30
STALLED = "stalled"
"""Why a process was ended that neither computed much nor replied: it waits for something, or the machine is busy."""


class ProcessEnded(Exception):
    """The process was ended, or ended by itself, before it replied; the message says why in a few words."""


class MutantProcess:
    """A process that judges mutants of one lesson's exercises.

    Args:
        folder: the course's folder, None for the course that comes with the package.
        topic: the lesson.
    """

    def __init__(self, folder: Path | None, topic: str):
        self._folder, self._topic = folder, topic
        self._process: Any = None
        self._line: Any = None
        self._programs = tempfile.TemporaryDirectory(prefix="jaxguide-programs-")
        self._started = 0

    def ask(self, request: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """Send a request and return the reply; start the process first if it is not running.

        Args:
            request: `{"do": ..., "exercise": ...}` and, for all but `prepare`, `"source"`; for `compare`, `"origin"`.
            limit_s: the processor time after which the process is ended.

        Raises:
            ProcessEnded: it took too long or too much memory, or died.
        """
        if self._process is None:
            self._start()
        self._line.send_bytes(json.dumps(request).encode())
        return self._receive(limit_s)

    def _start(self) -> None:
        # A process forked after JAX has started would hang.
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._started += 1
        # A process that was killed may leave an incomplete program, so each has a folder of its own.
        programs = Path(self._programs.name) / str(self._started)
        arguments = (theirs, self._folder, self._topic, programs)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._receive(_START_LIMIT_S)

    def _receive(self, limit_s: float) -> dict[str, Any]:
        begun, used = time.monotonic(), _cpu_s(self._process.pid)
        try:
            while not self._line.poll(_POLL_S):
                if _cpu_s(self._process.pid) - used > limit_s:
                    raise ProcessEnded("time")
                if time.monotonic() - begun > _WALL_FACTOR * limit_s:
                    raise ProcessEnded(STALLED)
                if _memory_bytes(self._process.pid) > _MEMORY_BYTES:
                    raise ProcessEnded("memory")
                if not self._process.is_alive() and not self._line.poll():
                    raise ProcessEnded("died")
            reply: dict[str, Any] = json.loads(self._line.recv_bytes())
        except (EOFError, OSError):
            self.end()
            raise ProcessEnded("died") from None
        except ProcessEnded:
            self.end()
            raise
        return reply

    def end(self) -> None:
        """End the process; the next request starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._line.close()
            self._process = None

    def close(self) -> None:
        """End the process for good."""
        self.end()
        self._programs.cleanup()


def _cpu_s(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def _memory_bytes(pid: int) -> int:
    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _serve(line: Connection, folder: Path | None, topic: str, programs: Path) -> None:
    """Load the lesson and answer requests until the parent ends."""
    compat.set_print_flag()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with compiled_once(programs):
        course = load_course(folder, lessons=[topic])
        with beside_files(course.files):
            bench = _Bench(course.books[topic])
            line.send_bytes(b"{}")
            while True:
                request = json.loads(line.recv_bytes())
                line.send_bytes(json.dumps(bench.reply(request)).encode())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class _Bench:
    """The lesson in this process, with the key's answer and the comparison of the exercise at hand."""

    def __init__(self, book: Book):
        self.book = book
        self._exercises = {exercise.name: exercise for exercise in book.exercises}
        self._references: dict[str, LocalAnswer] = {}
        self._comparisons: dict[str, KeyComparison] = {}

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        exercise = self._exercises[request["exercise"]]
        begun = time.process_time()
        with np.printoptions(), compat.float64(self.book.x64):
            if request["do"] == "judge":
                found = self._judge(exercise, request["source"])
            elif request["do"] == "prepare":
                found = self._prepare(exercise)
            else:
                found = self._compare(exercise, request["source"], request["origin"])
        return {**found, "cpu_s": time.process_time() - begun}

    def _judge(self, exercise: Exercise, source: str) -> dict[str, Any]:
        """Return the check that rejects an answer, '' if it passes, and why."""
        if is_starter(source, exercise):
            return {"check": "starter", "why": ""}
        try:
            namespace = run_answer(self.book, source)
            answer = LocalAnswer(exercise.name, namespace[exercise.name], namespace)
        except (Exception, SystemExit) as error:
            return {"check": "runs", "why": f"{type(error).__name__}: {error}"[:300]}
        try:
            result = judge(exercise, answer, seed=0, reference=self._reference(exercise), until_failure=True)
        except NotJudged as error:
            return {"check": "", "why": "", "not_judged": str(error)}
        except Exception as error:
            return {"check": "breaks a check", "why": f"{type(error).__name__}: {error}"[:300]}
        failure = result.first_failure
        if failure is None:
            is_passed = result.verdict is Verdict.PASSED
            return {"check": "" if is_passed else str(result.verdict), "why": ""}
        return {"check": failure.name, "why": (failure.trouble or failure.message)[:300]}

    def _reference(self, exercise: Exercise) -> LocalAnswer:
        if exercise.name not in self._references:
            assert exercise.key is not None
            namespace = run_answer(self.book, exercise.key.answer.source)
            self._references[exercise.name] = LocalAnswer(exercise.name, namespace[exercise.name], namespace)
        return self._references[exercise.name]

    def _prepare(self, exercise: Exercise) -> dict[str, Any]:
        """Compare the key's answer with itself, which computes what it gives on all inputs."""
        try:
            assert exercise.key is not None
            comparison = self._comparisons[exercise.name] = KeyComparison(self.book, exercise)
            difference = comparison.difference(exercise.key.answer.source)
            disputes = []
            for other in exercise.key.alternatives:
                found = comparison.difference(other.source)
                if found is not None:
                    disputes.append({"alternative": other.name, **dataclasses.asdict(found)})
        except UndeclaredDomain as error:
            return {"undeclared": str(error)}
        unsure = "" if difference is None else difference.observed
        return {"inputs": len(comparison.cases), "disputes": disputes, "unsure": unsure}

    def _compare(self, exercise: Exercise, source: str, origin: str) -> dict[str, Any]:
        if exercise.name not in self._comparisons:
            self._comparisons[exercise.name] = KeyComparison(self.book, exercise)
        found = self._comparisons[exercise.name].difference(source, origin)
        return {"difference": None if found is None else dataclasses.asdict(found)}
