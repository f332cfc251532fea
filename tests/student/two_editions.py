"""Two editions of the course of two lessons: one exercise is replaced, one moves to another lesson, two stay."""

from pathlib import Path

import two_lessons

from jaxguide.course.books.handout import for_students, print_files
from jaxguide.course.books.library import Course, load_course

_IDENTITY = 'identity = "editions"\nlessons = ["multiply", "more"]\n'


def write_editions(folder: Path) -> tuple[Course, Course]:
    """Write both editions into a folder, print them, and return them."""
    for name in ("first", "second"):
        two_lessons.write_course(folder / name)
        (folder / name / "course.toml").write_text(_IDENTITY)
    with (folder / "first" / "solutions" / "more.py").open("w") as key:
        key.write(two_lessons.key_cells(quadruple=4.0))
    _rewrite(folder / "second")
    first, second = (load_course(folder / name) for name in ("first", "second"))
    for course in (first, second):
        print_files(for_students(course), course.folders.notebooks)
    return first, second


def _rewrite(course: Path) -> None:
    """Put `sevenfold` in place of `triple`, move `quadruple` to the first lesson, and put `tenfold` in its place."""
    multiply, more = (course / "exercises" / f"{name}.py" for name in ("multiply", "more"))
    _head, mark, moved = more.read_text("utf-8").partition("\n# %% exercise\n")
    text = multiply.read_text("utf-8").replace("triple", "sevenfold").replace("3.0", "7.0")
    multiply.write_text(text + mark + moved, "utf-8")
    more.write_text(more.read_text("utf-8").replace("quadruple", "tenfold").replace("4.0", "10.0"), "utf-8")
    key = course / "solutions" / "multiply.py"
    text = key.read_text("utf-8").replace("triple", "sevenfold").replace("3.0", "7.0")
    key.write_text(text + two_lessons.key_cells(quadruple=4.0), "utf-8")
    (course / "solutions" / "more.py").write_text(two_lessons.key_cells(tenfold=10.0))
    (course / "course.toml").write_text(f'{_IDENTITY}\n[dropped]\ntriple = "sevenfold"\n')
