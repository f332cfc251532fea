"""Test that students read everything about visible checks, and of hidden ones nothing that could reveal an input."""

import json
import re
from pathlib import Path

from made_class import check
from small_course import ANSWERS, write_course

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.verdict import Kind, Verdict, score
from jaxguide.grading.batch.grade_class import ClassRun, Order
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.store import Store
from jaxguide.grading.reports import write_reports

# Each way writes the word while visible checks run.
TELLS = """
# %%
raise RuntimeError("telltale of a cell")

# %%
def double(x):
    print("telltale printed")
    raise ValueError("telltale of an exception")

# %%
def triple(x):
    return {"telltale of a key": x}

# %%
def quadruple(x):
    raise type("TelltaleClass", (Exception,), {})()

# %%
def pair(x):
    return "telltale returned"
"""


def feedback(folder: Path, course: Course, settings: GradeSettings, student: str, **sources: str) -> str:
    (folder / "class").mkdir(exist_ok=True)
    for name, source in sources.items():
        (folder / "class" / f"{name}.py").write_text(source)
    run = ClassRun(Order([folder / "class"], course, folder / "results", settings))
    with Store(folder / "results") as store:
        run.grade(store)
        write_reports(run.result(store), folder / "results")
    return re.sub(r"\s+", " ", (folder / "results" / "feedback" / f"{student}.txt").read_text("utf-8"))


def test_in_a_class_each_student_reads_what_their_code_did(course: Course, tmp_path: Path) -> None:
    said = feedback(tmp_path, course, GradeSettings(), "bob", ada=TELLS, bob=TELLS, cyn=ANSWERS["double"])
    for word in ("of a cell", "printed", "of an exception", "of a key", "returned"):
        assert f"telltale {word}" in said
    for words in ("TelltaleClass", "double(", "Call", "Got", "Expected"):
        assert words in said
    for words in ("isolation", "protect", "Details are left out", "not shown"):
        assert words not in said


def test_all_visible_checks_of_a_file_run_before_its_first_hidden_one(tmp_path: Path) -> None:
    write_course(tmp_path)
    for room in ("exercises", "solutions"):
        text = (tmp_path / room / "small_numbers.py").read_text()
        other = re.sub(r"\b(?=(double|triple|quadruple|quintuple|slope|pair)(\b|s_|_))", "other_", text)
        (tmp_path / room / "small_other.py").write_text(other)
    course = load_course(tmp_path)
    names = "double", "other_double"
    clock = "    import time\n    print('ns', time.monotonic_ns())\n"
    (tmp_path / "ada.py").write_text("\n\n".join(f"def {name}(x):\n{clock}    return 2 * x\n" for name in names))
    results = {one.name: one for one in Grader(course, GradeSettings()).grade(tmp_path / "ada.py").results}
    visible = [int(ns) for name in names for ns in re.findall(r"ns (\d+)", results[name].printed)]
    hidden = [int(ns) for name in names for ns in re.findall(r"ns (\d+)", results[name].hidden_printed)]
    assert visible
    assert hidden
    assert max(visible) < min(hidden)


def test_marks_have_two_decimals_at_most() -> None:
    checks = [
        check("value", Verdict.PASSED),
        check("jit", Verdict.PASSED),
        check("cost", Verdict.FAILED, kind=Kind.OBSERVED),
    ]
    assert [score(points, checks) for points in (1, 2, 10)] == [0.67, 1.33, 6.67]


def test_an_error_in_a_visible_check_is_explained_and_named_by_its_cell(course: Course, tmp_path: Path) -> None:
    source = "@jax.jit\ndef double(x):\n    if x[0] > 0:\n        y = 2 * x\n    else:\n        y = x + x\n    return y"
    cells = [{"cell_type": "code", "source": one, "metadata": {}, "outputs": []} for one in ("import jax", source)]
    (tmp_path / "class").mkdir()
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "class" / "ada.ipynb").write_text(json.dumps(notebook))
    text = feedback(tmp_path, course, GradeSettings(), "ada")
    assert "`if` needs a known value, but `x` is traced." in text
    assert "Where code cell 2, line 3: `if x[0] > 0:`" in text
    assert "y = jnp.where(x[0] > 0, 2 * x, x + x)" in text
    page = (tmp_path / "results" / "feedback" / "ada.html").read_text("utf-8")
    assert "jnp.where(x[0] &gt; 0, 2 * x, x + x)" in re.sub("<[^>]*>", "", page)
    # The hidden check of the value, which failed in the same way, is not explained.
    table, cards = text.split("-" * 40, 2)[1:]
    assert (table.count("needs a known value"), cards.count("needs a known value")) == (1, 1)
