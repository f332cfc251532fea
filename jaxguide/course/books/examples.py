"""Run a course's books from the first cell to the last, as students run their notebooks, to find what raises there.

Loading a book runs only what its checks and exercises need. Each book runs in its own process, with the key's answers.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxguide.base.files import find_kept, keep, kept_place
from jaxguide.base.text import _
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import AuthorError

LIMIT_S = 60.0
"""The time after which a book is stopped."""

_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main(*sys.argv[2:])"


def run_books(course: Course) -> list[str]:
    """Run all cells of a course's books, unless they ran before and have not changed since.

    The books that come with the package do not run: its tests run them.

    Args:
        course: the course, with its keys.

    Returns:
        The lessons that were stopped because they took too long.

    Raises:
        AuthorError: a cell raised.
    """
    if course.folders == course_folders():
        return []
    import importlib.metadata

    keys = [course.folders.solutions / book.path.name for book in course.books.values()]
    texts = [path.read_bytes() for path in (*(book.path for book in course.books.values()), *keys)]
    place = kept_place("examples", ["course/books"], [importlib.metadata.version("jax").encode(), *texts])
    found = find_kept(place)
    if isinstance(found, list) and set(found) <= course.books.keys():
        return found
    stopped: list[str] = []
    lessons, jobs = list(course.books), max(2, os.cpu_count() or 1)
    for start in range(0, len(lessons), jobs):
        with contextlib.ExitStack() as stack:
            running = {one: stack.enter_context(_running(course, one)) for one in lessons[start : start + jobs]}
            deadline = time.monotonic() + LIMIT_S
            for topic, process in running.items():
                try:
                    said, _unused = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    stopped.append(topic)
                else:
                    _raise_told(course.books[topic].path, said, process.returncode)
    keep(place, stopped)
    return stopped


@contextlib.contextmanager
def _running(course: Course, topic: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a process that runs a book; kill it at the end."""
    exercises = course.folders.exercises.absolute()
    with tempfile.TemporaryDirectory(prefix="jaxguide-book-") as folder:
        # A book may read files that lie beside it. What it writes is deleted with the folder.
        for path in exercises.iterdir():
            with contextlib.suppress(OSError):
                (Path(folder) / path.name).symlink_to(path)
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", _BOOT.format(module=__name__), json.dumps([*map(os.path.abspath, sys.path)])),
                *(str(exercises.parent), topic),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg"},
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def _raise_told(path: Path, said: bytes, status: int) -> None:
    try:
        found = json.loads(said)
    except ValueError:
        message = _("Python ended with status {status} while the book ran").format(status=status)
        raise AuthorError(path, 1, message) from None
    if found is not None:
        raise AuthorError(path, found["line"], found["message"])


def main(folder: str, topic: str) -> None:
    """Run one book of the course in a folder; print JSON: null, or the line and message of what it raised."""
    from jaxguide import compat
    from jaxguide.course.books.library import load_course

    with os.fdopen(os.dup(1), "w") as out:
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        compat.set_print_flag()
        found: dict[str, Any] | None = None
        try:
            _run(load_course(Path(folder), lessons=[topic]), topic)
        except AuthorError as error:
            found = {"line": error.line, "message": error.message}
        json.dump(found, out)
    os._exit(0)  # even if the book started threads


def _run(course: Course, topic: str) -> None:
    from jaxguide.course import author
    from jaxguide.course.books.parse import exercise_node
    from jaxguide.course.books.percent import run_cell

    book = course.books[topic]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with author.collecting():
        for cell in book.cells:
            if cell.kind == "prose":
                continue
            run_cell(book.path, cell.source, cell.line + 1, namespace)
            if cell.kind == "exercise":
                key = course.exercise(exercise_node(book.path, cell)[0].name).key
                # An answer may need what the book defines further down.
                with contextlib.suppress(Exception):
                    exec(compile(key.answer.source if key else "", f"<answer {topic}>", "exec"), namespace)
