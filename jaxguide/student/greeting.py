"""Greet a student who starts a lesson: versions, device, PRNG setting, progress so far, and problems."""

import functools
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from jaxguide import compat
from jaxguide.base.text import plural
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import read_outline
from jaxguide.course.exercise import AuthorError
from jaxguide.course.progress import Progress
from jaxguide.course.requirements import unmet_requirements
from jaxguide.course.set_up import set_up
from jaxguide.course.settings import read_settings
from jaxguide.student.workspace import lay_files

# The problems that `doctor` finds without compiling and that a student can solve before the lesson.
_TOLD = ("versions_differ", "no_backend", "gpu_not_used", "draws_of_older_jax")


def greeting(topic: str, progress: Progress, folder: Path | None = None) -> list[str]:
    """Set up this process and return the lines to show when a lesson starts: one, and one for each problem.

    This starts JAX's backend.

    Args:
        topic: the name of a lesson of the course, such as 'random_numbers'.
        progress: what the student has done.
        folder: the course's folder, None for the course that comes with jaxguide.
    """
    troubles = [_started_too_early(), *_not_set_up(topic, folder)]
    compat.set_print_flag()
    from jaxguide.debug.diagnosis import diagnose

    found = diagnose(measured=False)
    words = "{topic}: Python {python}, jax {jax}, {devices}, PRNG {prng}; {done}."
    line = words.format(
        topic=topic,
        python=platform.python_version(),
        jax=found.facts["jax"],
        devices=found.facts["devices"].removesuffix(" (cpu)"),
        prng=found.facts["PRNG"],
        done=_done(topic, progress, folder),
    )
    troubles += [f"{one.what} {one.remedy}" for one in found.troubles if one.name in _TOLD]
    if progress.trouble:
        troubles.append(f"Your progress could not be read: {progress.trouble}")
    return [line if any(troubles) else f"{line} Ready.", *(f"! {one}" for one in troubles if one)]


def _done(topic: str, progress: Progress, folder: Path | None) -> str:
    names = [exercise.name for exercise in read_outline(folder).lesson(topic).exercises]
    everything = progress.everything()
    done = sum(name in everything and everything[name].passed for name in names)
    if not done:
        return plural("no progress yet, {count} exercise to do", "no progress yet, {count} exercises to do", len(names))
    words = plural(
        "progress restored, {{done}} of {count} exercise done",
        "progress restored, {{done}} of {count} exercises done",
        len(names),
    )
    return words.format(done=done)


@functools.cache
def _started_too_early() -> str:
    """Return a sentence if JAX started before a flag was set that the installed jaxlib needs, else an empty string."""
    flag = compat.print_flag(importlib.metadata.version("jaxlib"))
    if flag is None or "jax" not in sys.modules or not compat.backend_started():
        return ""
    if flag.split("=")[0] in os.environ.get("XLA_FLAGS", ""):
        return ""
    return (
        "JAX had started before this cell, and some uses of `jax.debug.print` will not compile: restart Python (in a "
        "notebook, the kernel) and run this cell before any other."
    )


def _not_set_up(topic: str, folder: Path | None) -> list[str]:
    """Set this process and the current folder up for the course; return a sentence for each problem."""
    where = course_folders(folder)
    try:
        settings = read_settings(where.top)
        set_up(settings, where.top, topic)
    except AuthorError as error:
        return [f"Python is not set up for this course: {error.message}."]
    troubles = [f"{one.what} {one.remedy}" for one in unmet_requirements(settings)]
    try:
        lay_files(Path(), settings.file_paths(where.exercises))
    except OSError as error:
        troubles.append(f"The files that lessons read could not be copied here: {error}.")
    return troubles
