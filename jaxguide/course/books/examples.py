"""Run a course's books from the first cell to the last, as students run their notebooks, to find what raises there.

Loading a book runs only what its checks and exercises need. Each book runs in its own process, with the key's answers.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxguide import compat
from jaxguide.base.files import find_kept, keep, kept_place
from jaxguide.base.text import _
from jaxguide.course.books.folders import course_folders
from jaxguide.course.exercise import AuthorError, Mistakes
from jaxguide.course.set_up import copy_files
from jaxguide.course.settings import read_settings

if TYPE_CHECKING:
    from jaxguide.course.books.library import Course

LIMIT_S = 60.0
"""The time after which a book is stopped."""


class BookRuns:
    """Run all cells of a course's books while the course loads, unless they ran before and have not changed since.

    The books that come with the package do not run: its tests run them. Use this as a context manager around loading
    the course.

    Args:
        folder: the course's folder, or None for the course that comes with the package.
    """

    def __init__(self, folder: Path | None):
        where = course_folders(folder)
        self._place: Path | None = None
        self._runs: list[_Run] = []
        self._stopped: list[str] = []
        if where == course_folders():
            return
        import importlib.metadata

        books = sorted(where.exercises.glob("*.py"))
        files = read_settings(where.top).file_paths(where.exercises)
        read = [where.settings_file, *files.values()]
        read += [path for book in books for path in (book, where.solutions / book.name)]
        texts = [path.read_bytes() for path in read if path.is_file()]
        self._place = kept_place("examples", ["course/books"], [importlib.metadata.version("jax").encode(), *texts])
        found = find_kept(self._place)
        if isinstance(found, list) and set(found) <= {path.stem for path in books}:
            self._stopped = found
        else:
            self._runs = [_Run(path, files) for path in books]

    def __enter__(self) -> "BookRuns":
        for run in self._next():
            run.begin()
        return self

    def __exit__(self, *_unused: object) -> None:
        for run in self._runs:
            run.close()

    def stopped(self) -> list[str]:
        """Wait for the books; return the lessons that were stopped because they took too long.

        Raises:
            AuthorError: a cell raised.
        """
        if not self._runs:
            return self._stopped
        found, mistakes = [], Mistakes()
        while runs := self._next():
            for run in runs:
                run.begin()
            for run in runs:
                with mistakes.noted():
                    found += [] if run.has_ended() else [run.path.stem]
                run.close()
            del self._runs[: len(runs)]
        mistakes.tell()
        keep(self._place, found)
        self._stopped = found
        return found

    def _next(self) -> "list[_Run]":
        return self._runs[: max(2, os.cpu_count() or 1)]


class _Run:
    """A process that runs one book once it is told to begin."""

    def __init__(self, path: Path, files: Mapping[str, Path]):
        self.path = path
        self._began_s: float | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="jaxguide-book-")
        copy_files(files, Path(self._folder.name))  # what it writes is deleted with the folder
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        places = [os.path.abspath(place) for place in sys.path]
        self._process = context.Process(target=main, args=(theirs, places, path.absolute(), self._folder.name))
        self._theirs = theirs

    def begin(self) -> None:
        if self._began_s is None:
            self._began_s = time.monotonic()
            self._process.start()
            self._theirs.close()

    def has_ended(self) -> bool:
        """Wait; return False if the book still runs after `LIMIT_S`.

        Raises:
            AuthorError: a cell raised.
        """
        assert self._began_s is not None
        if not self._line.poll(max(0.0, self._began_s + LIMIT_S - time.monotonic())):
            return False
        try:
            found = json.loads(self._line.recv_bytes())
        except (EOFError, OSError):
            self._process.join()
            message = _("Python ended with status {status} while the book ran")
            raise AuthorError(self.path, 1, message.format(status=self._process.exitcode)) from None
        if found is not None:
            raise AuthorError(self.path, found["line"], found["message"])
        return True

    def close(self) -> None:
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
        self._line.close()
        self._folder.cleanup()


def main(line: Connection, places: list[str], path: Path, folder: str) -> None:
    """Run one book in a folder; send JSON: null, or the line and message of what it raised.

    Args:
        line: the connection to the process that waits.
        places: that process's `sys.path`.
        path: the book.
        folder: where it runs.
    """
    try:
        signal.alarm(round(LIMIT_S) + 60)
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        os.chdir(folder)
        os.environ["MPLBACKEND"] = "Agg"
        sys.path[:] = places
        line.send_bytes(json.dumps(_what_it_raises(path)).encode())
    finally:
        os._exit(0)  # even if the book started threads


def _what_it_raises(path: Path) -> dict[str, Any] | None:
    from jaxguide.course.books.library import load_course, unlisted_files_told

    compat.set_print_flag()
    try:
        course = load_course(path.parents[1], lessons=[path.stem])
        with unlisted_files_told(course.folders, course.settings):
            _run(course, path.stem)
    except AuthorError as error:
        return {"line": error.line, "message": error.message}
    return None


def _run(course: "Course", topic: str) -> None:
    from jaxguide.course import author
    from jaxguide.course.books.parse import exercise_node
    from jaxguide.course.books.percent import run_cell

    book = course.books[topic]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with author.collecting(), compat.float64(book.x64):
        for cell in book.cells:
            if cell.kind == "prose":
                continue
            run_cell(book.path, cell.source, cell.line + 1, namespace)
            if cell.kind == "exercise":
                key = course.exercise(exercise_node(book.path, cell)[0].name).key
                # An answer may need what the book defines further down.
                with contextlib.suppress(Exception):
                    exec(compile(key.answer.source if key else "", f"<answer {topic}>", "exec"), namespace)
