"""Prove exercises of a course in parallel, each process with its own compiled programs."""

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
from jaxguide.course.judging.compilation_cache import compiled_once
from jaxguide.proving.proof import Proof, prove_exercise


class ProverDied(RuntimeError):
    """A process that was proving an exercise ended without a result."""


def prove(
    course: Course, exercises: Sequence[Exercise], *, seeds: int = 2, jobs: int = 1
) -> Iterator[tuple[Exercise, Proof]]:
    """Prove exercises in parallel processes.

    Args:
        course: the course, with its keys loaded.
        exercises: the exercises of the course to prove.
        seeds: the number of seeds to judge each planted answer with; the verdict must not depend on the seed.
        jobs: the number of processes; 1 means this one.

    Yields:
        Each exercise, in the order given, and the proof so far; the same `Proof` each time.

    Raises:
        ProverDied: a process ended early, for example because memory ran out.
    """
    proof = Proof(seeds=seeds)
    if min(jobs, len(exercises)) <= 1:
        for exercise in exercises:
            proof.add(prove_exercise(course.book_of(exercise), exercise, seeds))
            yield exercise, proof
        return
    # A process forked after JAX has started would hang. Each process needs its own folder of programs.
    context = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-programs-")))
        pool = ProcessPoolExecutor(min(jobs, len(exercises)), context, _begin)
        stack.callback(pool.shutdown, cancel_futures=True)
        found: list[Future[Proof]] = []
        for exercise in exercises:
            path = course.book_of(exercise).path
            key = course.folders.solutions / path.name
            found.append(pool.submit(_prove_here, path, key, exercise.name, seeds, folder))
        for number, exercise in enumerate(exercises):
            try:
                proof.add(found[number].result())
            except BrokenProcessPool:
                raise ProverDied(_died([e.name for e in exercises[number : number + jobs]])) from None
            yield exercise, proof


def _died(names: list[str]) -> str:
    # Exercises are taken in order, so each process was at one of the first that are not done.
    message = _(
        "A process was killed or ran out of memory before it had proven its exercise, {names}. Try again with "
        "`--jobs 1`, which needs less memory"
    )
    return message.format(names=_(" or ").join(f"`{name}`" for name in names))


def _begin() -> None:
    """Set up a process to end with its parent, and at Ctrl-C, which would otherwise look like an error in an answer."""
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
