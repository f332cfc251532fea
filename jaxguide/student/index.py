"""Keep the index of a workspace current: a page that links each lesson and the next exercise, with bars of progress."""

import contextlib
import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from jaxguide.base.files import write_whole
from jaxguide.course.books.core_time import core_minutes
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.progress import Progress
from jaxguide.student.standing import Counts, Position

INDEX_NAME = "index.md"
_MARK = "<!-- jaxguide keeps this page of the course {identity} current. To make it your own, delete this line. -->"
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_HEAD = ("no.", "lesson", "core", "time", "more")
_ABOUT = """
Take the lessons in this order. In a notebook that you have just opened, first run the cells above your exercise: menu
*Run*, *Run All Above Selected Cell*.
"""
_ABOUT_THE_CORE = "\nThe times are estimates for the core. What is more goes beyond it: do it later, or leave it.\n"


def kept_progress(folder: Path, identity: str, course: Callable[[], Outline]) -> Progress:
    """Return the progress kept in a workspace; each change keeps its index, for which `course` returns the course."""
    return Progress(folder, identity, lambda progress: keep_index(course(), progress))


def keep_index(course: Outline, progress: Progress, *, creates: bool = False) -> None:
    """Write the index of a workspace anew if jaxguide wrote it; if there is none, only if told to create it."""
    path, mark = progress.folder / INDEX_NAME, _MARK.format(identity=course.identity)
    with contextlib.suppress(OSError, UnicodeDecodeError):  # it can be done without
        if path.read_text("utf-8").startswith(mark) if os.path.lexists(path) else creates:
            write_whole(path, f"{mark}\n\n{index_text(Position(course, progress))}")


def index_text(place: Position) -> str:
    """Return the index of a workspace as Markdown."""
    course, total, following = place.course, place.counts(place.course.books.values()), place.current()
    said = place.all_done
    if following is not None:
        file = lesson_file(place.progress.folder, following.lesson, course)
        link = exercise_links(file).get(following.name, quote(file.name))
        said = f"**Next: [{following.title}]({link})** in {course.book_of(following).title}"
    rows = [_HEAD, ("---",) * len(_HEAD)]
    rows += [_row(str(number), book, place) for number, book in enumerate(course.books.values(), 1)]
    has_core = any(book.marks_core for book in course.books.values())
    table = "\n".join(f"| {' | '.join(row if has_core else row[:3])} |" for row in rows)
    about = _ABOUT + (_ABOUT_THE_CORE if has_core else "")
    return f"# {course.settings.title or 'Lessons'}\n\n{said}\n\n{_bar(total)} {total.in_words()}\n\n{table}\n{about}"


def _row(number: str, book: Lesson, place: Position) -> tuple[str, ...]:
    counts, file = place.counts([book]), lesson_file(place.progress.folder, book.topic, place.course)
    row = number, f"[{book.title}]({quote(file.name)})", f"{_bar(counts)} {counts.core_done} of {counts.core}"
    more = f"{counts.done - counts.core_done} of {counts.exercises - counts.core}"
    return (*row, f"{core_minutes(book)} min", more) if book.marks_core else (*row, "", "")


def _bar(counts: Counts) -> str:
    return f'<progress value="{counts.core_done}" max="{max(1, counts.core)}" style="width:6em"></progress>'


def lesson_file(folder: Path, topic: str, course: Outline) -> Path:
    """Return the newest edition of a lesson in a workspace: a notebook, or else the plain Python file."""
    for suffix in (".ipynb", ".py"):
        found = [*folder.glob(f"{topic}{suffix}"), *sorted(folder.glob(f"{topic}_[0-9]{suffix}"))]
        if editions := [path for path in found if path.stem == topic or path.stem not in course.books]:
            return editions[-1]
    return folder / f"{topic}.ipynb"


def exercise_links(notebook: Path) -> dict[str, str]:
    """Return links to the exercises of a notebook by name; each leads to the statement above its cell.

    JupyterLab renders cells when they come into view, and finds a heading only after that; so links name cells.
    """
    links: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):  # not a notebook
        cells = json.loads(notebook.read_bytes())["cells"]
        for above, cell in itertools.pairwise([{}, *cells]):
            if cell["cell_type"] == "code":
                landing = above if above.get("cell_type") == "markdown" else cell
                for name in _FUNCTION.findall("".join(cell["source"])):
                    links[name] = f"{quote(notebook.name)}#cell-id={landing['id']}"
    return links
