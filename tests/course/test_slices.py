"""What a lesson gives to an answer: what the answer names, and what that needs in turn, no more."""

from jaxguide.course.library import Course, installed_course
from jaxguide.course.slices import needed, statements

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
    star = "from somewhere import *"  # nobody knows what that binds
    assert kept("double") == ["import numpy as np", star, "scale = np.float32(2)", "def double(x):"]
    assert kept("plot") == ["import heavy.part as plt", star, "def plot(x):"]
    assert kept("no_such_name") == [star]


def test_no_lesson_imports_matplotlib_for_an_answer_that_does_not_plot() -> None:
    course: Course = installed_course()
    for book in course.books.values():
        assert "matplotlib" not in book.setup_source(book.exercise_setup_names), book.topic
    book = course.books["vectorization"]
    assert "import matplotlib.pyplot as plt" in book.setup_source({"plt"})
