"""Prove exercises of a course in parallel, each process with its own folder of compiled programs."""

import contextlib
import functools
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from jaxguide import compat
from jaxguide.base.files import write_whole
from jaxguide.course.books.book import Book, load_book
from jaxguide.course.books.key import load_key
from jaxguide.course.books.library import Course
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.compilation_cache import PROGRAMS, compiled_once, free_many_programs
from jaxguide.proving.proof import Problem, Proof, ProofSettings
from jaxguide.proving.prover import prove_exercise

_T = TypeVar("_T")
Stuck = Callable[[Problem], None]
Judge = Callable[[Book, Exercise, ProofSettings, Stuck], _T]
"""Judges answers to an exercise of a book, as `prove_exercise` does."""

_STUCK = ".stuck"


class ProverDied(RuntimeError):
    """A process that was proving an exercise ended without a result."""


def prove(
    course: Course,
    exercises: Sequence[Exercise],
    *,
    seeds: int = 2,
    jobs: int = 1,
    programs: Path | None = None,
    stuck: Stuck | None = None,
) -> Iterator[tuple[Exercise, Proof]]:
    """Prove exercises in parallel processes.

    Args:
        course: the course, with its keys loaded.
        exercises: the exercises of the course to prove.
        seeds: the number of seeds, see `ProofSettings`.
        jobs: the number of processes; 1 means this one.
        programs: a folder of compiled programs that the processes use and add to, in the layout of JAX's compilation
            cache; by default, a temporary one. If there is only this process, the caller sets it up.
        stuck: called in another thread if an answer in this process can only be stopped by ending the process. With
            several processes, the answer's process ends, and the others go on.

    Yields:
        Each exercise, in the order given, and the proof so far; the same `Proof` each time.

    Raises:
        ProverDied: a process ended early, for example because memory ran out.
    """
    proof, settings = Proof(seeds=seeds), ProofSettings.of_course(course, seeds)
    if min(jobs, len(exercises)) <= 1:
        for exercise in exercises:
            proof.add(prove_exercise(course.book_of(exercise), exercise, settings, stuck))
            free_many_programs()
            yield exercise, proof
        return
    judges = {exercise.name: (exercise, prove_exercise) for exercise in exercises}
    proofs = judge_in_parallel(course, judges, settings, jobs=jobs, programs=programs)
    for exercise, found in zip(exercises, proofs, strict=True):
        proof.add(Proof([found], exercises=1) if isinstance(found, Problem) else found)
        yield exercise, proof


def judge_in_parallel(
    course: Course,
    judges: Mapping[str, tuple[Exercise, Judge[_T]]],
    settings: ProofSettings,
    *,
    jobs: int,
    programs: Path | None = None,
) -> Iterator[_T | Problem]:
    """Judge answers in parallel processes.

    Args:
        course: the course, with its keys loaded.
        judges: the exercises, and what judges each; processes load their books and keys anew. The names are for files
            and messages.
        settings: how answers are judged.
        jobs: the number of processes.
        programs: see `prove`.

    Yields:
        What each judge returned, in the order given, or the problem that an answer could only be stopped by ending its
        process.

    Raises:
        ProverDied: a process ended early, for example because memory ran out.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxguide-programs-")))
        if programs is None:
            programs = folder / "programs"
            programs.mkdir()
        stack.callback(_gather, programs)
        judged: dict[str, _T | Problem] = {}
        begun: dict[str, Future[_T]] = {}
        for number, name in enumerate(judges):
            while name not in judged:
                if not begun:
                    waiting = {one: judge for one, judge in judges.items() if one not in judged}
                    begun = _begin_all(stack, course, waiting, settings, min(jobs, len(waiting)), folder, programs)
                try:
                    judged[name] = begun[name].result()
                except BrokenProcessPool:
                    ended = _ended_by_themselves(folder)
                    if not ended.keys() - judged.keys():
                        names = [one for one in [*judges][number : number + jobs] if one not in judged]
                        raise ProverDied(_died(names)) from None
                    whole = {one: done.result() for one, done in begun.items() if done.done() and not done.exception()}
                    judged.update(whole)
                    judged.update(ended)
                    begun = {}
            yield judged[name]


def _begin_all(
    stack: contextlib.ExitStack,
    course: Course,
    judges: Mapping[str, tuple[Exercise, Judge[_T]]],
    settings: ProofSettings,
    jobs: int,
    folder: Path,
    programs: Path,
) -> dict[str, Future[_T]]:
    # A process forked after JAX has started would hang. Each process needs its own folder of programs.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin)
    stack.callback(pool.shutdown, cancel_futures=True)
    begun = {}
    for name, (exercise, judge) in judges.items():
        path = course.book_of(exercise).path
        key = course.folders.solutions / path.name
        stuck = folder / f"{name}{_STUCK}"
        begun[name] = pool.submit(_judge_here, judge, path, key, exercise.name, settings, stuck, programs)
    return begun


def _died(names: list[str]) -> str:
    # They are taken in order, so each process was at one of the first that are not done.
    said = " or ".join(f"`{name}`" for name in names)
    remedy = "Try again with `--jobs 1`, which needs less memory"
    return f"A process was killed or ran out of memory before it had judged {said}. {remedy}"


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


def _judge_here(
    judge: Judge[_T], path: Path, key: Path, name: str, settings: ProofSettings, stuck: Path, programs: Path
) -> _T:
    def end(problem: Problem) -> None:
        # The main thread will never return a result, so leave it in a file and end.
        write_whole(stuck, pickle.dumps(problem))
        os._exit(1)

    with compiled_once(_own(programs)):
        book = _book(path, key)
        judged = judge(book, next(e for e in book.exercises if e.name == name), settings, end)
        free_many_programs()
        return judged


@functools.cache
def _own(programs: Path) -> Path:
    """Return this process's folder of programs, with links to those that there are."""
    own = programs / f"process-{os.getpid()}"
    own.mkdir()
    for path in programs.glob(PROGRAMS):
        with contextlib.suppress(OSError):  # a disk without hard links: the process compiles for itself
            os.link(path, own / path.name)
    return own


def _gather(programs: Path) -> None:
    """Move the new programs of all processes into the folder."""
    for own in programs.glob("process-*"):
        for path in own.glob(PROGRAMS):
            with contextlib.suppress(OSError):  # another process compiled it, too
                os.link(path, programs / path.name)
        shutil.rmtree(own, ignore_errors=True)


def _ended_by_themselves(folder: Path) -> dict[str, Problem]:
    """Return the problems of answers that could not be stopped, so that their processes ended."""
    return {path.name.removesuffix(_STUCK): pickle.loads(path.read_bytes()) for path in folder.glob(f"*{_STUCK}")}


@functools.cache
def _book(path: Path, key: Path) -> Book:
    book = load_book(path)
    load_key(key, book)
    return book
