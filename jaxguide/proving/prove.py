"""Prove exercises of a course, several at a time, each process with its own compiled programs."""

import contextlib
import functools
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from jaxguide import compat
from jaxguide.base.text import _
from jaxguide.course.books.book import Book, load_book
from jaxguide.course.books.key import load_key
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.compiled import compiled_once
from jaxguide.proving.verify import Proof, prove_exercise


class ProverDied(RuntimeError):
    """A process that proved an exercise ended before it could say what it found."""


def prove(
    course: Course, exercises: Sequence[Exercise], *, seeds: int = 2, jobs: int = 1
) -> Iterator[tuple[Exercise, Proof]]:
    """Prove exercises in several processes at a time.

    Args:
        course: with its keys loaded.
        exercises: those of the course to prove.
        seeds: how many seeds each planted answer is judged with; the verdict must be the same with each.
        jobs: how many processes; with 1 it is this one.

    Yields:
        Each exercise, in the order given, and the proof so far; the same `Proof` each time.

    Raises:
        ProverDied: one of the processes ended, as when memory ran out.
    """
    proof = Proof(seeds=seeds)
    if min(jobs, len(exercises)) <= 1:
        for exercise in exercises:
            proof.add(prove_exercise(course.book_of(exercise), exercise, seeds))
            yield exercise, proof
        return
    # A process forked from one that has started JAX hangs; a folder of programs is for one process.
    context = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-programs-")))
        pool = ProcessPoolExecutor(min(jobs, len(exercises)), context, _begin)
        stack.callback(pool.shutdown, cancel_futures=True)
        found: list[Future[Proof]] = []
        for exercise in exercises:
            path = course.book_of(exercise).path
            key = course.places.solutions / path.name
            found.append(pool.submit(_prove_here, path, key, exercise.name, seeds, folder))
        for number, exercise in enumerate(exercises):
            try:
                proof.add(found[number].result())
            except BrokenProcessPool:
                raise ProverDied(_died([e.name for e in exercises[number : number + jobs]])) from None
            yield exercise, proof


def _died(names: list[str]) -> str:
    # They are taken in order, so each process has one of the first that are not done.
    message = _(
        "A process that proves exercises ended before its result: it was killed, or memory ran out. It was at {names}. "
        "Try again with `--jobs 1`, which needs less memory"
    )
    return message.format(names=_(" or ").join(f"`{name}`" for name in names))


def _begin() -> None:
    """Set up a process: it ends at Ctrl-C, which an answer would take for an error of its own, and with its parent."""
    compat.set_print_flag()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _prove_here(path: Path, key: Path, name: str, seeds: int, folder: Path) -> Proof:
    with compiled_once(folder / str(os.getpid())):
        book = _book(path, key)
        return prove_exercise(book, next(e for e in book.exercises if e.name == name), seeds)


@functools.cache
def _book(path: Path, key: Path) -> Book:
    book = load_book(path)
    load_key(key, book)
    return book
