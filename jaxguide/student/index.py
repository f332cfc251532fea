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
_MARKDOWN = re.compile(r"[\\\[\]|<]")
_HEAD = ("", "lesson", "core", "time", "more")
_ABOUT_THE_CORE = "The times are estimates for the core. What is more goes beyond it: do it later, or leave it."


def kept_progress(folder: Path, identity: str, course: Callable[[], Outline]) -> Progress:
    """Return the progress in a course kept in a workspace, and the index with it.

    Args:
        folder: the workspace.
        identity: the course's identity.
        course: returns the course, once something has changed.
    """
    return Progress(folder, identity, lambda progress: keep_index(course(), progress))


def keep_index(course: Outline, progress: Progress, *, creates: bool = False) -> None:
    """Write the index of a workspace anew, unless it is the student's own or that of another course.

    Args:
        course: the course.
        progress: what the student has done.
        creates: whether to write one if there is none.
    """
    path, mark = progress.folder / INDEX_NAME, _MARK.format(identity=course.identity)
    with contextlib.suppress(OSError, UnicodeDecodeError):  # it can be done without
        if path.read_text("utf-8").startswith(mark) if os.path.lexists(path) else creates:
            write_whole(path, f"{mark}\n\n{index_text(Position(course, progress))}")


def index_text(place: Position) -> str:
    """Return the index of a workspace as Markdown."""
    course, folder = place.course, place.progress.folder
    files = {book.topic: lesson_file(folder, book.topic, course) for book in course.books.values()}
    total, following = place.counts(course.books.values()), place.current()
    said = place.all_done
    if following is not None:
        file, book = files[following.lesson], course.book_of(following)
        link = exercise_links(file).get(following.name) or quote(file.name)
        said = f"**Next: [{_plain(following.title)}]({link})** in {_plain(book.title)}"
    rows = [_HEAD]
    for number, book in enumerate(course.books.values(), 1):
        link = f"[{_plain(book.title)}]({quote(files[book.topic].name)})"
        rows.append((str(number), link, *_cells(book, place.counts([book]))))
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]  # without a core, no time and no more
    lines = [f"| {' | '.join(row)} |" for row in zip(*columns, strict=True)]
    table = "\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]])
    about = f"\n\n{_ABOUT_THE_CORE}" if any(book.marks_core for book in course.books.values()) else ""
    title = _plain(course.settings.title or "Lessons")
    return f"# {title}\n\n{said}\n\n{_bar(total)} {total.in_words()}\n\n{table}{about}\n"


def _cells(book: Lesson, counts: Counts) -> tuple[str, str, str]:
    core = f"{_bar(counts)} {counts.core_done} of {counts.core}"
    if not book.marks_core:
        return core, "", ""
    return core, f"{core_minutes(book)} min", f"{counts.done - counts.core_done} of {counts.exercises - counts.core}"


def _bar(counts: Counts) -> str:
    return f'<progress value="{counts.core_done}" max="{max(1, counts.core)}" style="width:6em"></progress>'


def _plain(text: str) -> str:
    """Return an author's text so that it breaks neither a link nor a table."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def lesson_file(folder: Path, topic: str, course: Outline) -> Path:
    """Return the newest edition of a lesson in a workspace: a notebook, or else the plain Python file."""
    for suffix in (".ipynb", ".py"):
        editions = [path for path in folder.glob(f"{topic}_[0-9]{suffix}") if path.stem not in course.books]
        found = [folder / f"{topic}{suffix}", *sorted(editions)]
        if there := [path for path in found if path.is_file()]:
            return there[-1]
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
