"""Greet a student who starts a lesson: progress so far, what is next, versions, device, and problems."""

import functools
import importlib.metadata
import os
import platform
import sys
from dataclasses import replace
from pathlib import Path

from jaxguide import compat
from jaxguide.base.render.card import STATELESS, Badge, CardFace, Item, Items, Part, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import read_outline
from jaxguide.course.exercise import AuthorError
from jaxguide.course.progress import Progress
from jaxguide.course.requirements import unmet_requirements
from jaxguide.course.set_up import set_up
from jaxguide.course.settings import read_settings
from jaxguide.student.standing import Position
from jaxguide.student.workspace import lay_files

# The problems that `doctor` finds without compiling and that a student can solve before the lesson.
_TOLD = ("versions_differ", "no_backend", "gpu_not_used", "draws_of_older_jax")
_PROBLEM = Badge("!", "!", "Problem", "partly")
_USUAL_PRNG = "threefry2x32, threefry_partitionable on"


def greeting(topic: str, progress: Progress, folder: Path | None = None) -> CardView:
    """Set up this process and return the card to show when a lesson starts: progress, what is next, and problems.

    This starts JAX's backend.

    Args:
        topic: the name of a lesson of the course, such as 'random_numbers'.
        progress: what the student has done.
        folder: the course's folder, None for the course that comes with jaxguide.
    """
    troubles = [_started_too_early(), *_not_set_up(topic, folder)]
    compat.set_print_flag()
    from jaxguide.student.diagnosis import diagnose

    found = diagnose(measured=False)
    course = read_outline(folder)
    place, book = Position(course, progress), course.lesson(topic)
    said = [place.counts([book]).in_words(), place.next_step(book), _versions(found.facts)]
    troubles += [f"{one.what} {one.remedy}" for one in found.troubles if one.name in _TOLD]
    if progress.trouble:
        troubles.append(f"Your progress could not be read: {progress.trouble}")
    items = tuple(Item(_PROBLEM, one) for one in troubles if one)
    parts: list[Part] = [*map(Prose, said), *([Items(items)] if items else [])]
    badge = STATELESS if not items else replace(STATELESS, tone=_PROBLEM.tone)
    return CardView(CardFace(badge, book.title, topic, tuple(parts)))


def _versions(facts: dict[str, str]) -> str:
    devices = facts["devices"].removesuffix(" (cpu)")
    said = f"Python {platform.python_version()}, jax {facts['jax']}, {devices}"
    return said if facts["PRNG"] == _USUAL_PRNG else f"{said}, PRNG {facts['PRNG']}"


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
