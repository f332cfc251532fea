"""Estimate how long the core of a lesson takes: what a student reads, and the minutes of its exercises."""

import dataclasses
import functools
import math
import re

from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.statement import statement, stub_cell
from jaxguide.course.exercise import Task

_WORDS_A_MINUTE = 200
_WORDS_A_LINE = 8  # of code


@dataclasses.dataclass
class _Part:
    """What stands below a heading of the second level: the number of words, without exercises that are more."""

    words: int = 0
    exercises: list[Task] = dataclasses.field(default_factory=list)


def core_time(book: Lesson) -> tuple[float, float]:
    """Return the minutes that it takes to read the core of a lesson, and to do its exercises.

    The prose and examples of a part count if it has an exercise of the core, or none at all.
    """
    parts, tasks = [_Part()], iter(book.exercises)
    for cell in book.cells:
        if cell.kind == "prose":
            above, *texts = re.split(r"^(?=## )", cell.prose, flags=re.MULTILINE)
            parts[-1].words += len(above.split())
            parts += [_Part(len(text.split())) for text in texts]
        elif cell.kind == "example":
            parts[-1].words += _words_of_code(cell.source)
        elif cell.kind == "exercise":
            task = next(tasks)
            parts[-1].exercises.append(task)
            if not task.is_more:
                parts[-1].words += len(statement(task).split()) + _words_of_code(stub_cell(task))
    read = [part for part in parts if not part.exercises or any(not task.is_more for task in part.exercises)]
    minutes = sum(task.minutes for task in book.exercises if not task.is_more)
    return sum(part.words for part in read) / _WORDS_A_MINUTE, minutes


@functools.cache
def core_minutes(book: Lesson) -> int:
    """Return about how many minutes the core of a lesson takes."""
    return 5 * math.ceil(sum(core_time(book)) / 5)


def _words_of_code(source: str) -> int:
    return _WORDS_A_LINE * sum(bool(line.strip()) for line in source.splitlines())


def with_core(prose: str, book: Lesson) -> str:
    """Return a lesson's first prose, with a line below its title that says how long its core takes if it marks one."""
    if not book.marks_core:
        return prose
    more = sum(task.is_more for task in book.exercises)
    said = plural("**Core:** {count} exercise", "**Core:** {count} exercises", len(book.exercises) - more)
    said += f", about {core_minutes(book)} minutes."
    beyond = plural(" **Beyond the core:** {count} exercise.", " **Beyond the core:** {count} exercises.", more)
    line = said + beyond if more else said
    return re.sub(r"^# .+$", lambda title: f"{title[0]}\n\n{line}", prose, count=1, flags=re.MULTILINE)
