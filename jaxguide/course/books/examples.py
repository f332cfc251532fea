"""Run a course's books from the first cell to the last, as students run their notebooks, to find what raises there.

Loading a book runs only what its checks and exercises need. Each book runs in its own process, with the key's answers.
"""

import contextlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jaxguide import compat
from jaxguide.base.files import find_kept, keep, kept_place
from jaxguide.course import author
from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course, load_course, unlisted_files_told
from jaxguide.course.books.percent import run_cell
from jaxguide.course.exercise import AuthorError, Mistakes
from jaxguide.course.set_up import copy_files

LIMIT_S = 60.0
"""The time after which a book is stopped."""


def run_books(course: Course) -> list[str]:
    """Run all cells of a course's books, unless they ran before and have not changed since.

    The books that come with the package do not run: its tests run them.

    Returns:
        The lessons that were stopped because they took too long.

    Raises:
        AuthorError: a cell raised.
    """
    where = course.folders
    if where.is_bundled:
        return []
    books = [book.path for book in course.books.values()]
    read = [where.settings_file, *course.files.values()]
    read += [path for book in books for path in (book, where.solutions / book.name)]
    texts = [path.read_bytes() for path in read if path.is_file()]
    place = kept_place("examples", ["course/books"], [importlib.metadata.version("jax").encode(), *texts])
    found = find_kept(place)
    if isinstance(found, list) and course.books.keys() >= set(found):
        return found
    stopped, mistakes = [], Mistakes()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {path.stem: pool.submit(_ends, path, course.files) for path in books}
    for topic, run in runs.items():
        with mistakes.noted():
            stopped += [] if run.result() else [topic]
    mistakes.tell()
    keep(place, stopped)
    return stopped


def _ends(path: Path, files: Mapping[str, Path]) -> bool:
    """Run a book in a process and a folder of its own; return False if it still runs after `LIMIT_S`."""
    with tempfile.TemporaryDirectory(prefix="jaxguide-book-") as folder:
        here, found = Path(folder, "here"), Path(folder, "found.json")
        here.mkdir()
        copy_files(files, here)  # what the book writes is deleted with the folder
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, path.absolute(), found],
                cwd=here,
                env={**os.environ, "MPLBACKEND": "Agg"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return False
        if not found.is_file():
            raise AuthorError(path, 1, f"Python ended with status {done.returncode} while the book ran")
        if (raised := json.loads(found.read_bytes())) is not None:
            raise AuthorError(path, raised["line"], raised["message"])
        return True


def _what_it_raises(path: Path) -> dict[str, Any] | None:
    compat.set_print_flag()
    try:
        course = load_course(path.parents[1], lessons=[path.stem])
        with unlisted_files_told(course.folders, course.settings):
            _run(course.books[path.stem])
    except AuthorError as error:
        return {"line": error.line, "message": error.message}
    return None


def _run(book: Book) -> None:
    """Run all cells of a book, with the key's answer below each exercise."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exercises = iter(book.exercises)  # one for each exercise cell
    with author.collecting(), compat.float64(book.x64):
        for cell in book.cells:
            if cell.kind in ("prose", "documented"):
                continue
            run_cell(book.path, cell.source, cell.line + 1, namespace)
            if cell.kind == "exercise":
                key = next(exercises).key
                # An answer may need what the book defines further down.
                with contextlib.suppress(Exception):
                    exec(compile(key.answer.source if key else "", f"<answer {book.topic}>", "exec"), namespace)


if __name__ == "__main__":
    signal.alarm(round(LIMIT_S) + 60)  # in case the process that waits is killed
    Path(sys.argv[2]).write_text(json.dumps(_what_it_raises(Path(sys.argv[1]))))
    os._exit(0)  # even if the book started threads
