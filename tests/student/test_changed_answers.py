"""Test which answers of a file count as changed, where they are, and which files do not belong to a workspace."""

from pathlib import Path

import pytest

from jaxguide.course.books.library import Course
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.student.answers_in_files import find_files, home_of, read_all, read_answers

PLAIN = """\
import functools
import jax

SCALE = 2.0


@jax.custom_jvp
def twice(x):
    return SCALE * x


@twice.defjvp
def twice_rule(primals, tangents):
    return twice(*primals), SCALE * rule_helper(tangents[0]) / 2


def rule_helper(x):
    return 2 * x


def double(x):
    return twice(x)


def triple(x):
    return 3 * x
"""


@pytest.fixture
def prints(tmp_path: Path, course: Course):
    """Return a function that gives the fingerprint of each answer in a Python file's text."""

    def of(text: str) -> dict[str, str]:
        path = tmp_path / "mine.py"
        path.write_text(text)
        return dict(read_answers(path, course).prints)

    return of


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return 3 * x", "return 4 * x", {"triple"}),
        ("return 3 * x", "return 3 * x  # three times", set()),
        ("return 3 * x\n", "return 3 * x\n\n\nprint(double(1.0), triple(1.0))\n", set()),
        ("import functools", "import functools\nimport itertools", {"double"}),  # it may prevent the import of jax
        ("SCALE = 2.0", "SCALE = 3.0", {"double"}),
        ("return SCALE * x", "return x * SCALE", {"double"}),
        ("SCALE * rule_helper", "3 * rule_helper", {"double"}),
        ("def triple(x):\n    return 3 * x", "def triple(x)\n    return 3 * x", {"triple"}),
        ("@jax.custom_jvp\n", "", {"double"}),
        ("twice(*primals)", "rule_helper(*primals)", {"double"}),
        ("return 2 * x\n", "return x + x\n", {"double"}),  # a helper of the rule alone
    ],
)
def test_an_answer_has_changed_when_code_that_it_needs_has(prints, old: str, new: str, changed: set[str]) -> None:
    assert changes(prints, PLAIN, old, new) == changed


def changes(prints, text: str, old: str, new: str) -> set[str]:
    assert text.count(old) == 1
    before, after = prints(text), prints(text.replace(old, new))
    return {name for name in after if before.get(name) != after[name]}


CELLS = """\
# %%
import jax
import jax.numpy as jnp

# %%
def helper(x):
    return 2 * x

# %%
assert helper(1) == 2
x = jnp.arange(3.0)


def double(x):
    'Twice.'
    return helper(x) + jnp.zeros(3)


print(double(x))

# %%
import jax.numpy as jnp
x = jnp.zeros(3)


def triple(x, factor=3):
    return factor * jnp.asarray(x)


print(triple(x))

# %%
print(double(1.0), triple(x))
"""
HELPER = "def helper(x):\n    return 2 * x\n"


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        # In the cell of the answer, before and after it.
        ("assert helper(1) == 2", "assert helper(1) == 3", {"double"}),
        ("print(double(x))", "print(double(-x))", {"double"}),
        ("print(double(x))", "print(double(x))  # 0, 2, 4", set()),
        ("'Twice.'", "'Two times.'", set()),
        ("def double(x):", "def double(x: jnp.Aray):", {"double"}),
        ("x = jnp.zeros(3)\n", "x = jnp.zero(3)\n", {"triple"}),
        ("import jax.numpy as jnp\nx", "import jax.numpi as jnp\nx", {"double", "triple"}),
        ("import jax.numpy as jnp\nx", "import nothing\nimport jax.numpy as jnp\nx", {"triple"}),
        # The body of another exercise is not needed, even if its cell uses the same names.
        ("return factor * jnp", "return jnp.add(x, 2 * x) * jnp", {"triple"}),
        ("print(triple(x))\n\n", "print(triple(-x))\n\n", {"triple"}),
        # In cells before it.
        ("import jax\n", "import nothing\nimport jax\n", {"double"}),
        (HELPER, f"raise ValueError\n{HELPER}", {"double"}),
        (HELPER, f"%time\n\n{HELPER}# two\n", set()),
        (HELPER, HELPER.replace(":", ""), {"double"}),
        (f"# %%\n{HELPER}\n", "", {"double"}),
        (f"# %%\n{HELPER}\n# %%\nassert", f"# %%\n{HELPER}assert", {"double"}),
        # In cells after it.
        ("print(double(1.0), triple(x))", "raise ValueError", set()),
        ("print(double(1.0), triple(x))", "jax.config.update('jax_enable_x64', True)", {"double", "triple"}),
        ("print(double(1.0), triple(x))", "double = jax.jit(double)", {"double"}),
        ("print(double(1.0), triple(x))", "def double(x): return x + x", {"double"}),
        ("print(double(1.0), triple(x))", "def double(x) return x + x", {"double"}),
        ("print(double(1.0), triple(x))", "del helper", {"double"}),
        ("print(double(1.0), triple(x))", "jnp = 1", {"double", "triple"}),
        ("print(double(1.0), triple(x))", "from numpy import *", {"double", "triple"}),
    ],
)
def test_an_answer_has_changed_when_what_runs_with_it_has(prints, old: str, new: str, changed: set[str]) -> None:
    assert changes(prints, CELLS, old, new) == changed


def test_functions_in_one_cell_change_one_by_one(prints) -> None:
    one_cell = "def double(x):\n    return 2 * x\ndef triple(x):\n    return 3 * x\n"
    assert changes(prints, one_cell, "return 3", "return 4") == {"triple"}
    assert changes(prints, one_cell, "triple(x)", "triple(x, y=one)") == {"double", "triple"}


def test_code_that_is_nested_deeply_is_compared_as_text(prints) -> None:
    deep = "def double(x):\n    return 2 * x\ny = " + " + ".join(["1"] * 900)
    assert changes(prints, deep, "y = ", "y = 1 + ") == {"double"}


def test_a_new_workspace_has_every_exercise_twice_and_no_answer(course: Course, workspace: Path) -> None:
    files = read_all(workspace, course)
    assert [file.path.name for file in files] == ["more.ipynb", "more.py", "multiply.ipynb", "multiply.py"]
    assert [dict(file.prints) for file in files] == [{}] * 4
    places = {file.path.name: file.places["double"] for file in files if "double" in file.places}
    line = (workspace / "multiply.py").read_text("utf-8").split("\n").index("def double(x):") + 1
    assert places == {"multiply.py": f"line {line}", "multiply.ipynb": "code cell 4"}


def test_the_file_with_the_answer_is_the_one_to_open(course: Course, workspace: Path) -> None:
    script = workspace / "multiply.py"
    script.write_text(script.read_text("utf-8").replace("    ...\n", "    return x\n", 1), "utf-8")
    homes = home_of(course.exercise("double"), read_all(workspace, course))
    assert [home.path.name for home in homes] == ["multiply.py", "multiply.ipynb"]


def test_helpers_that_are_no_python_are_said(tmp_path: Path, course: Course) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def helper(x:\n    return x\n\n\ndef double(x):\n    return helper(x)\n")
    assert [sentence.split(":")[0] for sentence in read_answers(path, course).broken] == ["line 1"]


def test_copies_of_editors_and_the_courses_own_files_are_no_answers(course: Course, tmp_path: Path) -> None:
    for name in (".ipynb_checkpoints/a.py", "venv/lib/a.py", "env/pyvenv.cfg", "env/a.py", "old_answers/a-1.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("def double(x): return x")
    (tmp_path / "mine.py").write_text("def double(x): return x")
    assert [path.name for path in find_files(tmp_path, course)] == ["mine.py"]
    assert find_files(course.folders.exercises.parent, course) == []
    assert len(find_files(course.folders.notebooks, course)) == 4  # for a teacher who works in the folder of notebooks


def test_a_notebook_that_is_cut_off_is_said_and_read_past(course: Course, workspace: Path) -> None:
    path = workspace / "multiply.ipynb"
    path.write_text(path.read_text("utf-8")[:-100], "utf-8")
    with pytest.raises(UnreadableSubmission, match="cut off"):
        read_answers(path, course)
    assert path not in [file.path for file in read_all(workspace, course)]
