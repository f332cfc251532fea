"""Grade on the workers of a Dask cluster; each worker gets a grader, and the store stays with this process.

Needs the extra `cluster`.
"""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import os
import secrets
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, Security, Worker, WorkerPlugin, get_worker
from distributed.comm.core import connect

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.set_up import beside_files
from jaxguide.grading.batch.grader import Grader, GradeSettings, course_state_digest, open_grader
from jaxguide.grading.batch.pools import Graded, PoolLost
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.workers.worker_process import GraderError

_ANSWER_S = 5.0
_FIRST_WORKER_S = 60


class DaskPool:
    """Grade on a Dask scheduler's workers.

    If a worker is lost, its submissions run again on another. Results from workers with a different version of
    jaxguide or JAX are refused, because their marks could differ.

    Args:
        address: the scheduler's address, such as 'tcp://10.0.0.1:8786'.
        course: the course, with its keys. Its files are sent to the workers.
        settings: how submissions are graded.
        jobs: how many submissions to grade at a time; by default one for each of the workers' threads.

    Raises:
        GraderError: no scheduler answers at the address, or it has no workers.
    """

    def __init__(self, address: str, course: Course, settings: GradeSettings, jobs: int | None = None):
        self.course_digest = course_state_digest(course)
        self._running: set[Future[Any]] = set()
        # Submissions are sent inside their tasks: data scattered in advance is lost with the worker that holds it.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        message = "No Dask scheduler was found at `{address}`: {error}."
        if why := _why_silent(address):
            raise GraderError(message.format(address=address, error=why))
        try:
            self._client = Client(address, timeout=_ANSWER_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise GraderError(message.format(address=address, error=error)) from None
        try:
            self._client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
        except TimeoutError:
            self._client.close()
            message = "The Dask scheduler at `{address}` has no workers. Start one: `dask worker {address}`."
            raise GraderError(message.format(address=address)) from None
        self.jobs = jobs or max(1, sum(self._client.nthreads().values()))
        there = dataclasses.replace(
            settings, compile_cache=None, conceal=tuple(path.absolute() for path in settings.conceal)
        )
        self._plugin = GraderThere(_files_of(course), there)
        self._client.register_plugin(self._plugin)

    def submit(self, entry: ReadEntry) -> "concurrent.futures.Future[Graded]":
        told: concurrent.futures.Future[Graded] = concurrent.futures.Future()
        task = self._client.submit(_grade_there, self._plugin.name, str(entry.path), entry.content, pure=False)
        self._running.add(task)
        task.add_done_callback(lambda task: self._tell(task, told))
        return told

    def _tell(self, task: "Future[Any]", told: "concurrent.futures.Future[Graded]") -> None:
        self._running.discard(task)
        try:
            if task.status == "error":
                error = task.exception()
                kept = isinstance(error, GraderError)
                told.set_exception(error if kept else GraderError(f"{type(error).__name__}: {error}"))
                return
            if task.status != "finished":
                raise PoolLost("The Dask scheduler is gone. Run the same command again to continue.")
            plain, source, passed = task.result()
            result = SubmissionResult.from_plain(plain)
            if result.course_digest != self.course_digest:
                message = "A Dask worker has a different version of JAX or jaxguide than this process has: {versions}."
                versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
                raise PoolLost(message.format(versions=versions or "unknown"))
            told.set_result((result, source, passed))
        except Exception as error:  # raised in this thread, it would be lost
            told.set_exception(error)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._running), force=True)
            self._client.unregister_worker_plugin(self._plugin.name)
        self._client.close(timeout=5)


def _why_silent(address: str) -> str:
    """Return why no Dask scheduler, or other server of Dask, answers at an address, or '' if one does.

    `Client` would wait without a limit for a program that accepts connections and says nothing.
    """

    async def greet() -> None:
        # With a longer timeout than that around it, which ends whatever this waits for.
        comm = await connect(address, timeout=2 * _ANSWER_S, **Security().get_connection_args("client"))
        await comm.close()

    def ask() -> None:
        try:
            asyncio.run(asyncio.wait_for(greet(), _ANSWER_S))
            said.append("")
        except TimeoutError:
            pass
        except (OSError, ValueError, TypeError) as error:
            said.append(str(error))
        except Exception:  # such as a MemoryError, if another program's reply begins with a large number
            said.append("another program answers there")

    said: list[str] = []
    # Looking up a host's name cannot be interrupted, so wait for the thread no longer than this.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_ANSWER_S + 0.5)
    return said[0] if said else f"it did not answer within {_ANSWER_S:g} s"


def _files_of(course: Course) -> dict[str, bytes]:
    """Return what a course consists of: path relative to its folder -> content."""
    where = course.folders
    paths = [where.settings_file, *sorted(where.exercises.glob("*.py")), *sorted(where.solutions.glob("*.py"))]
    found = {path.relative_to(where.top).as_posix(): path for path in paths if path.is_file()}
    found |= {f"{where.exercises.name}/{name}": path for name, path in course.files.items()}
    return {name: path.read_bytes() for name, path in found.items()}


class GraderThere(WorkerPlugin):
    """A Dask plugin that grades in one worker. It loads the course for the first submission and stops with the batch.

    Args:
        files: the course's files, see `_files_of`.
        settings: how submissions are graded.
    """

    def __init__(self, files: dict[str, bytes], settings: GradeSettings):
        self.name = f"jaxguide-{secrets.token_hex(8)}"
        self.files, self.settings = files, settings

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("name", "files", "settings")}

    def setup(self, worker: Worker) -> None:
        """Prepare the worker's state without loading the course."""
        self._lock = threading.Lock()
        self._grader: Grader | None = None
        self._folder: Path | None = None
        self._open = contextlib.ExitStack()
        self._source = f"{os.getpid()}-{secrets.token_hex(8)}"

    def teardown(self, worker: Worker) -> None:
        """Stop grading and delete the course's files."""
        if self._grader is not None:
            self._grader.stop()
        self._open.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def grade(self, entry: ReadEntry) -> tuple[dict[str, Any], str, int]:
        """Grade one file; return its result as plain data, the grader's name, and how many controls it had passed."""
        with self._lock:
            if self._grader is None:
                self._grader = self._make()
        result, passed = self._grader.grade_controlled(entry)
        return result.to_plain(), self._source, passed

    def _make(self) -> Grader:
        from jaxguide import compat

        compat.set_print_flag()
        self._folder = Path(tempfile.mkdtemp(prefix="jaxguide-course-"))  # readable by this user only
        for name, content in self.files.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        course = load_course(self._folder)
        settings = dataclasses.replace(self.settings, conceal=(*self.settings.conceal, self._folder))
        self._open.enter_context(beside_files(course.files))
        # Graders in other workers may already have run hidden checks.
        return self._open.enter_context(open_grader(course, settings))


def _grade_there(name: str, path: str, content: bytes) -> tuple[dict[str, Any], str, int]:
    """Grade one file in a Dask worker."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, GraderThere)
    return plugin.grade(ReadEntry(Path(path), content))
