"""Grade on the workers of a Dask cluster; each worker gets a grader, and the store stays with this process.

Needs the extra `cluster`.
"""

import asyncio
import contextlib
import dataclasses
import os
import secrets
import tempfile
import threading
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, Worker, WorkerPlugin, get_worker

from jaxguide.course.books.library import Course, contents_of, load_course
from jaxguide.course.set_up import beside_files
from jaxguide.grading.batch.control import GraderLost
from jaxguide.grading.batch.grader import Graded, Grader, GradeSettings, course_state_digest, open_grader
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.workers.worker_process import GraderError

_ANSWER_S = 5.0
_FIRST_WORKER_S = 60


class ClusterGrader:
    """Grade on a Dask scheduler's workers, as a `Grader` does here, from any thread.

    If a worker is lost, its submissions run again on another. Results from workers with a different version of
    jaxguide or JAX are refused, because their marks could differ.

    Args:
        address: the scheduler's address, such as 'tcp://10.0.0.1:8786'.
        course: the course, with its keys. Its files are sent to the workers.
        settings: how submissions are graded.

    Raises:
        GraderError: no scheduler answers at the address, or it has no workers.
    """

    def __init__(self, address: str, course: Course, settings: GradeSettings):
        self.course_digest = course_state_digest(course)
        self._running: set[Future[Any]] | None = set()
        self._lock = threading.Lock()
        # Submissions are sent inside their tasks: data scattered in advance is lost with the worker that holds it.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
        self._client = _connected(address)
        try:
            self._client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
        except TimeoutError:
            self._client.close()
            said = "has no workers. Start one"
            raise GraderError(f"The Dask scheduler at `{address}` {said}: `dask worker {address}`.") from None
        there = dataclasses.replace(
            settings, compile_cache=None, conceal=tuple(path.absolute() for path in settings.conceal)
        )
        self._plugin = GraderThere(contents_of(course), there)
        self._client.register_plugin(self._plugin)

    @property
    def threads(self) -> int:
        """The number of the workers' threads."""
        counts: dict[str, int] = self._client.nthreads()
        return max(1, sum(counts.values()))

    def grade_controlled(self, entry: Entry) -> Graded:
        """Grade one file, see `Grader.grade_controlled`.

        Raises:
            GraderBroken, GraderError: as raised by the worker's grader.
            GraderLost: the scheduler is gone, or a worker has other versions.
        """
        with self._lock:
            if self._running is None:
                raise GraderError("Grading was stopped.")
            task = self._client.submit(_grade_there, self._plugin.name, entry, pure=False)
            self._running.add(task)
        try:
            plain, passed, source = task.result()
        except GraderError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if task.status == "error":
                raise GraderError(f"{type(error).__name__}: {error}") from None
            raise GraderLost("The Dask scheduler is gone. Run the same command again to continue.") from None
        finally:
            with self._lock:
                if self._running is not None:
                    self._running.discard(task)
        result = SubmissionResult.from_plain(plain)
        if result.course_digest != self.course_digest:
            versions = ", ".join(f"{name} {version}" for name, version in result.versions.items()) or "unknown"
            said = "has a different version of JAX or jaxguide than this process has"
            raise GraderLost(f"A Dask worker {said}: {versions}.")
        return result, passed, source

    def stop(self) -> None:
        """Stop all grading in progress, from any thread."""
        with self._lock:
            running, self._running = self._running, None
        with contextlib.suppress(Exception):
            self._client.cancel(list(running or ()), force=True)

    def close(self) -> None:
        """End the workers' graders, and leave the scheduler."""
        with contextlib.suppress(Exception):
            self._client.unregister_worker_plugin(self._plugin.name)
        self._client.close(timeout=5)


def _connected(address: str) -> Client:
    """Return a client of the scheduler at an address.

    Raises:
        GraderError: no scheduler answers there.
    """

    def connect() -> None:
        try:
            made.append(Client(address, timeout=2 * _ANSWER_S, set_as_default=False))
        except Exception as error:
            made.append(error)

    made: list[Client | Exception] = []
    # Neither looking up a host's name nor waiting for a program that accepts connections and says nothing ends by
    # itself, so wait for the thread no longer than this.
    connecting = threading.Thread(target=connect, daemon=True)
    connecting.start()
    connecting.join(_ANSWER_S)
    found = made[0] if made else TimeoutError(f"it did not answer within {_ANSWER_S:g} s")
    if isinstance(found, Client):
        return found
    # Such as a MemoryError, if another program's reply begins with a large number.
    why = str(found) if isinstance(found, OSError | ValueError | TypeError) else "another program answers there"
    raise GraderError(f"No Dask scheduler was found at `{address}`: {why}.")


class GraderThere(WorkerPlugin):
    """A Dask plugin that grades in one worker. It loads the course for the first submission and stops with the batch.

    Args:
        files: the course's files, see `contents_of`.
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
        self._open = contextlib.ExitStack()

    def teardown(self, worker: Worker) -> None:
        """Stop grading and delete the course's files."""
        if self._grader is not None:
            self._grader.stop()
        self._open.close()

    def grade(self, entry: Entry) -> tuple[dict[str, Any], int, str]:
        """Grade one file; return what `Grader.grade_controlled` does, with the result as plain data."""
        with self._lock:
            if self._grader is None:
                self._grader = self._make()
        result, passed, source = self._grader.grade_controlled(entry)
        return result.to_plain(), passed, source

    def _make(self) -> Grader:
        from jaxguide import compat

        compat.set_print_flag()
        made = tempfile.TemporaryDirectory(prefix="jaxguide-course-", ignore_cleanup_errors=True)
        folder = Path(self._open.enter_context(made))  # readable by this user only
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        course = load_course(folder)
        settings = dataclasses.replace(self.settings, conceal=(*self.settings.conceal, folder))
        self._open.enter_context(beside_files(course.files))
        # Graders in other workers may already have run hidden checks.
        grader = self._open.enter_context(open_grader(course, settings))
        grader.name = f"{os.getpid()}-{secrets.token_hex(8)}"
        return grader


def _grade_there(name: str, entry: Entry) -> tuple[dict[str, Any], int, str]:
    """Grade one file in a Dask worker."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, GraderThere)
    return plugin.grade(entry)
