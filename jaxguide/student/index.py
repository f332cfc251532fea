"""Keep the index of a workspace current: a page that links each lesson and the next exercise, with bars of progress."""

import contextlib
import html
import itertools
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from jaxguide.base.files import write_whole
from jaxguide.course.books.core_time import core_minutes
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.progress import Progress
from jaxguide.student.standing import ABOUT_MORE, Counts, Position

INDEX_NAME = "index.md"
_MARK = "<!-- jaxguide keeps this page of the course {identity} current. To make it your own, delete this line. -->"
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_CAN = re.compile(r"^After this lesson you can\n+[-*] (.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r"^(You need\s.+?\.)(?=\s|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"^([^#\s].*?[.!?])(?=\s|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = ("no.", "lesson", "core", "time", "more")
_ABOUT = """
Take the lessons in this order. In a notebook that you have just opened, first run the cells above your exercise: menu
*Run*, *Run All Above Selected Cell*.
"""
_ABOUT_THE_CORE = f"\nThe times are estimates for the core. {ABOUT_MORE}\n"


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
    about = _ABOUT + (_ABOUT_THE_CORE if has_core else "") + _what_they_teach(course)
    title, bar = course.settings.title or "Lessons", _bar("All lessons", total)
    return f"# {title}\n\n{said}\n\n{bar} {total.in_words()}\n\n{table}\n{about}"


def _row(number: str, book: Lesson, place: Position) -> tuple[str, ...]:
    counts, file = place.counts([book]), lesson_file(place.progress.folder, book.topic, place.course)
    core = f"{_bar(book.title, counts)} {counts.core_done} of {counts.core}"
    row = number, f"[{book.title}]({quote(file.name)})", core
    more = f"{counts.done - counts.core_done} of {counts.exercises - counts.core}"
    return (*row, f"{core_minutes(book)} min", more) if book.marks_core else (*row, "", "")


def _bar(name: str, counts: Counts) -> str:
    done, most = counts.core_done, max(1, counts.core)
    title = html.escape(f"{name}: {done} of {counts.core} done")  # JupyterLab's sanitizer drops `aria-label`
    return f'<progress value="{done}" max="{most}" title="{title}" style="width:6em"></progress>'


def _what_they_teach(course: Outline) -> str:
    numbers = {f"`{topic}`": str(number) for number, topic in enumerate(course.books, 1)}
    books = enumerate(course.books.values(), 1)
    said = [
        f"\n**{number}. {book.title}:** {words}\n" for number, book in books if (words := _of_itself(book, numbers))
    ]
    return "".join(["\n## What each lesson teaches\n", *said]) if said else ""


def _of_itself(book: Lesson, numbers: Mapping[str, str]) -> str:
    """Return from a lesson's first prose what one can do after it, or else its first sentence, and what it needs."""
    prose = next((cell.prose for cell in book.cells if cell.kind == "prose"), "")
    teaches, needs = _CAN.search(prose) or _SENTENCE.search(prose), _NEEDS.search(prose)
    first = re.sub(r",?\n[-*] ", "; ", teaches[1]) if teaches else ""
    then = re.sub(r"`\w+`", lambda topic: numbers.get(topic[0], topic[0]), needs[1]) if needs else ""
    return re.sub(r"\bthe (lessons? \d)", r"\1", " ".join([*first.split(), *then.split()]))


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
