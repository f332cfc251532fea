"""Test which of a lesson's definitions an answer gets: those it names, and those they need, no more."""

from pathlib import Path

from tiny_course import edit

from jaxguide.code.slices import needed, statements
from jaxguide.course.books.library import Course, installed_course, load_course

LESSON = """import heavy.part as plt
import numpy as np
from somewhere import *
scale = np.float32(2)

def double(x):
    return scale * x

def plot(x):
    plt.plot(x)
"""


def kept(*names: str) -> list[str]:
    return [statement.source.split("\n")[0] for statement in needed(statements(LESSON), names)]


def test_a_name_brings_what_it_needs_in_the_lessons_order() -> None:
    star = "from somewhere import *"  # the names that it binds are unknown
    assert kept("double") == ["import numpy as np", star, "scale = np.float32(2)", "def double(x):"]
    assert kept("plot") == ["import heavy.part as plt", star, "def plot(x):"]
    assert kept("no_such_name") == [star]


def test_no_lesson_imports_matplotlib_for_an_answer_that_does_not_plot() -> None:
    course: Course = installed_course()
    for book in course.books.values():
        assert "matplotlib" not in book.setup_source(book.exercise_setup_names), book.topic
    book = course.books["vectorization"]
    assert "import matplotlib.pyplot as plt" in book.setup_source({"plt"})


def test_a_key_reads_imports_of_its_book_that_the_book_does_not_read(tiny: Path) -> None:
    edit(tiny, "exercises/tiny.py", "import numpy as np\n", "import numpy as np\nimport textwrap\n")
    edit(tiny, "solutions/tiny.py", "x = draw.floats(4)", "x = draw.floats(len(textwrap.dedent('  four')))")
    course = load_course(tiny)
    assert "textwrap" not in course.books["tiny"].namespace
    key = course.exercise("double").key
    assert key is not None
    assert "textwrap" in key.hidden[0].function.__globals__
