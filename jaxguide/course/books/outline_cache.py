"""Cache the outline of a course by a digest of its books, so that commands that need only the outline start fast.

The cache is plain JSON in the user's cache folder. It contains only what students may read, no keys or checks, and
grading does not use it.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.files import find_kept, keep, kept_place
from jaxguide.course.books.outline import Lesson
from jaxguide.course.exercise import Task
from jaxguide.course.settings import SETTINGS_NAME


def read_lessons(paths: Sequence[Path]) -> dict[str, Lesson]:
    """Return the lessons of these books by topic: from the cache, else from their text, else by running them.

    Raises:
        AuthorError: a book has a mistake.
    """
    place = kept_place(
        "outlines",
        ["code", "course", "course/books"],
        [part for path in (*paths, *_settings_files(paths)) for part in _name_and_text(path)],
    )
    if (found := _find(place, paths)) is not None:
        return found
    read = {path.stem: _read(path) for path in paths}
    _keep(place, read)
    return {topic: lesson for topic, (lesson, _was_run) in read.items()}


def _settings_files(paths: Sequence[Path]) -> set[Path]:
    """Return the files with the settings that books run with."""
    return {path.parents[1] / SETTINGS_NAME for path in paths}


def _name_and_text(path: Path) -> tuple[bytes, bytes]:
    try:
        return path.stem.encode("utf-8", "backslashreplace"), path.read_bytes()
    except OSError:  # reported when it is read as a book
        return b"", b""


def _read(path: Path) -> tuple[Lesson, bool]:
    """Return a book's lesson, and whether the book had to be run."""
    from jaxguide.course.books.parse import lesson_as_written

    found = lesson_as_written(path)
    if found is not None:
        return found, False
    from jaxguide import compat

    compat.set_print_flag()
    from jaxguide.course.books.book import load_book
    from jaxguide.course.set_up import beside_files, set_up
    from jaxguide.course.settings import read_settings

    course = path.parents[1]
    settings = read_settings(course)
    set_up(settings, course)
    with beside_files(settings.file_paths(path.parent)):
        book = load_book(path)
    fields = [field.name for field in dataclasses.fields(Task)]
    tasks = [Task(**{name: getattr(exercise, name) for name in fields}) for exercise in book.exercises]
    return Lesson(book.topic, book.path, book.title, tasks), True


def _circumstances() -> str:
    """Return the circumstances that the result of running a book may depend on."""
    import importlib.metadata

    return f"jax {importlib.metadata.version('jax')}"


# Cached field of a task -> whether a value read from the cache is valid.
_FIELDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("name", "title", "why_so_many", "signature", "contract", "starter_source", "cell_source", "why_keeps"),
        lambda value: type(value) is str,
    ),
    **dict.fromkeys(
        ("hints", "reproduces", "headings"),
        lambda value: type(value) is list and all(type(part) is str for part in value),
    ),
    **dict.fromkeys(("points", "keeps"), lambda value: type(value) in (int, float)),
    "is_prediction": lambda value: type(value) is bool,
    "line": lambda value: type(value) is int,
}


def _keep(place: Path | None, read: dict[str, tuple[Lesson, bool]]) -> None:
    was_run = any(was_run for _lesson, was_run in read.values())
    lessons = [
        {
            "topic": lesson.topic,
            "title": lesson.title,
            "exercises": [{name: getattr(task, name) for name in _FIELDS} for task in lesson.exercises],
        }
        for lesson, _was_run in read.values()
    ]
    plain = {"circumstances": _circumstances() if was_run else "", "lessons": lessons}
    keep(place, plain)


def _find(place: Path | None, paths: Sequence[Path]) -> dict[str, Lesson] | None:
    """Return the cached lessons, or None if there are none or they are invalid."""
    plain = find_kept(place)
    try:
        if plain["circumstances"] and plain["circumstances"] != _circumstances():
            return None
        pairs = zip(paths, plain["lessons"], strict=True)
        return {path.stem: _lesson(path, lesson) for path, lesson in pairs}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _lesson(path: Path, plain: Any) -> Lesson:
    if plain["topic"] != path.stem or type(plain["title"]) is not str or type(plain["exercises"]) is not list:
        raise ValueError(plain["topic"])
    return Lesson(path.stem, path, plain["title"], [_task(path, task) for task in plain["exercises"]])


def _task(path: Path, plain: Any) -> Task:
    if plain.keys() != _FIELDS.keys() or not all(is_right(plain[name]) for name, is_right in _FIELDS.items()):
        raise ValueError("a task")
    values: dict[str, Any] = {name: tuple(value) if type(value) is list else value for name, value in plain.items()}
    return Task(**values, lesson=path.stem, path=path)
