"""Test which of a lesson's definitions an answer gets: those it names, and those they need, no more."""

from pathlib import Path

from click.testing import CliRunner
from tiny_course import beyond_texts, edit

from jaxguide.cli import main
from jaxguide.code.slices import left_out, needed, statements
from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import Course, load_course, students_course

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
    course: Course = students_course()
    for book in course.books.values():
        assert "matplotlib" not in book.setup_source(()), book.topic
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


CHANGES = """import jax
import random
from jax.tree_util import register_pytree_node
settings = {"rate": 0.1}
settings["rate"] = 0.5
others = []
others.append(settings["rate"])
class Point:
    pass
register_pytree_node(Point, lambda p: ((p.x,), None), lambda _, x: Point(*x))
jax.tree_util.register_static(Point)
for name in ("a", "b"):
    settings[name] = len(name)
cards = [3, 1]
random.shuffle(cards)
print(settings, cards)
settings["answer"] = answer(3)
jax.config.update("jax_enable_x64", True)
jax.numpy.sum(jax.numpy.ones(3))
del settings["a"]
@jax.custom_jvp
def square(x):
    return x * x
@square.defjvp
def slope_of_square(x, dx):
    return x[0] * x[0], 2 * x[0] * dx[0]
"""


def changes_kept(*names: str) -> list[str]:
    return [statement.source.split("\n")[0] for statement in needed(statements(CHANGES), names)]


def test_statements_that_bind_no_name_are_kept_where_what_they_change_is_needed() -> None:
    rates = ['settings = {"rate": 0.1}', 'settings["rate"] = 0.5', 'for name in ("a", "b"):', 'del settings["a"]']
    assert changes_kept("settings") == rates
    assert changes_kept("others") == [*rates[:2], "others = []", 'others.append(settings["rate"])', *rates[2:]]
    points = [
        "import jax",
        "from jax.tree_util import register_pytree_node",
        "class Point:",
        "register_pytree_node(Point, lambda p: ((p.x,), None), lambda _, x: Point(*x))",
        "jax.tree_util.register_static(Point)",
    ]
    assert changes_kept("Point") == points
    assert changes_kept("cards") == ["import random", "cards = [3, 1]", "random.shuffle(cards)"]
    assert changes_kept("square") == ["import jax", "@jax.custom_jvp", "@square.defjvp"]


def test_changes_that_are_left_out_are_told_with_the_names_that_no_statement_binds() -> None:
    def told(*names: str) -> list[tuple[str, list[str]]]:
        return [(one.source, sorted(unknown)) for one, unknown in left_out(statements(CHANGES), names)]

    assert told("cards") == []
    assert told("settings") == [('settings["answer"] = answer(3)', ["answer"])]
    assert told("jax") == [('jax.config.update("jax_enable_x64", True)', [])]


def test_verify_lists_what_it_left_out_and_proves_the_rest(tiny: Path) -> None:
    edit(tiny, "exercises/tiny.py", "FACTOR = 2.0\n", 'FACTORS = {}\nFACTORS["two"] = 2.0\nFACTOR = FACTORS["two"]\n')
    book = tiny / "exercises" / "tiny.py"
    book.write_text(
        book.read_text() + '\n# %%\njax.config.update("jax_debug_nans", True)\nFACTORS["six"] = double(3.0)\n'
    )
    edit(tiny, "solutions/tiny.py", "    return 2 * x\n", "    return jnp.asarray(FACTOR) * x\n")
    runner = CliRunner()
    assert runner.invoke(main, ["print", "--course", str(tiny)]).exit_code == 0
    done = runner.invoke(main, ["verify", "--no-workers", "--course", str(tiny), "--jobs", "1"])
    line = len(book.read_text().splitlines()) - 1
    said = beyond_texts([one for one in done.stdout.splitlines() if one.startswith(f"note: {book}")])
    assert [one.split("` ")[0] for one in said] == [
        f'note: {book}:{line}: `jax.config.update("jax_debug_nans", True)',
        f'note: {book}:{line + 1}: `FACTORS["six"] = double(3.0)',
    ], done.output
    assert "use a setting in course.toml" in said[0]
    assert "it reads `double`, which no given statement defines" in said[1]
    assert (done.exit_code, "all proven" in done.stdout) == (0, True), done.output


def test_a_statement_that_changes_what_an_answer_needs_counts_in_the_digest(tiny: Path) -> None:
    def digest(text: str) -> str:
        edit(tiny, "exercises/tiny.py", last[-1], text)
        last.append(text)
        return course_digest(load_course(tiny))

    last = ["FACTOR = 2.0\n"]
    text = "FACTOR = 2.0\nrates = {{}}\nrates.update(one={})\nprint({})\n"
    digests = [digest(text.format(*numbers)) for numbers in ((1, 2), (3, 4), (3, 5))]
    assert (len(set(digests)), digests[1]) == (2, digests[2])
