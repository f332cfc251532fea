"""What proves the course: one case per exercise, the printed lessons, the ledger."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import pytest
from oldest import LONG_THERE

from jaxguide.course import ledger
from jaxguide.course.coverage import Coverage
from jaxguide.course.library import Course, load_course
from jaxguide.course.printer import notebook_text, print_book, printed_cells, script_text, stale_files
from jaxguide.course.slices import global_names
from jaxguide.course.verify import Proof, verify

COURSE = load_course()


@pytest.fixture(scope="module")
def again() -> Course:
    """The same course, read a second time."""
    return load_course()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=LONG_THERE if i % 4 else []) for i, name in enumerate(COURSE.exercises)]
)
def test_the_exercise_is_proven(name: str) -> None:
    for _exercise, proof in verify(COURSE, seeds=1, only=name):
        assert [str(problem) for problem in proof.problems] == []
        assert proof.reproduced == set(COURSE.exercise(name).reproduces)


@pytest.mark.long
@pytest.mark.parametrize("name", COURSE.exercises)
def test_verdicts_hold_over_fifty_seeds(name: str) -> None:
    for _exercise, proof in verify(COURSE, seeds=50, only=name):
        assert [str(problem) for problem in proof.problems] == []


def test_the_ledger_lists_all_documented_examples() -> None:
    entries = ledger.entries()
    assert len(entries) == 173
    assert all(entry["says"] and entry["source"] for entry in entries.values())


# The examples that each lesson stands for.
SECTIONS = {
    "arrays_and_layers": ("S1", 1, 16),
    "jit_and_tracing": ("S1", 17, 32),
    "vectorization": ("S2", 1, 12),
    "autodiff": ("S2", 13, 35),
    "debugging": ("S0", 1, 22),
    "random_numbers": ("S0", 23, 48),
    "random_depth": ("S3", 1, 16),
    "callbacks": ("S4", 1, 42),
}


@pytest.mark.parametrize("topic", COURSE.books)
def test_every_example_of_a_lessons_section_stands_on_an_exercise(topic: str) -> None:
    source, first, last = SECTIONS[topic]
    section = {f"{source}-{number:02}" for number in range(first, last + 1)}
    claimed = {example for exercise in COURSE.books[topic].exercises for example in exercise.reproduces}
    assert section == claimed


def test_coverage_counts_what_is_missing() -> None:
    found = Coverage(("a", "b"), {"a": "exercise"})
    assert found.to_plain() == {"documented": 2, "reproduced": 1, "missing": ["b"]}


@pytest.mark.parametrize("name", [name for name, one in COURSE.exercises.items() if not one.is_prediction])
def test_the_last_hint_is_a_task_like_it_worked_out(name: str) -> None:
    assert len(COURSE.exercise(name).hints) == 4


@pytest.mark.parametrize("topic", COURSE.books)
class TestPrinted:
    def test_printed_files_are_current(self, topic: str) -> None:
        stale = stale_files(COURSE.books[topic], COURSE.places.notebooks)
        print_book(COURSE.books[topic], COURSE.places.notebooks)
        assert stale == [], "these were stale and have been printed again: commit them"

    def test_printing_twice_gives_the_same_bytes_and_unique_ids(self, again: Course, topic: str) -> None:
        book = COURSE.books[topic]
        assert notebook_text(book) == notebook_text(again.books[topic])
        ids = [cell.id for cell in printed_cells(book)]
        assert len(set(ids)) == len(ids)

    def test_the_notebook_is_valid_and_holds_no_output(self, topic: str) -> None:
        notebook = nbformat.reads(notebook_text(COURSE.books[topic]), as_version=4)
        nbformat.validate(notebook)
        assert all(not cell.get("outputs") for cell in notebook.cells)

    def test_students_get_no_author_code(self, topic: str) -> None:
        book = COURSE.books[topic]
        for text in (notebook_text(book), script_text(book)):
            assert "jaxguide.course" not in text
            assert "@exercise" not in text
            assert "@visible" not in text
        for exercise in book.exercises:
            assert f"check({exercise.name})" in script_text(book)

    def test_the_script_and_the_notebook_hold_the_same_cells(self, topic: str) -> None:
        book = COURSE.books[topic]
        from_script = jupytext.reads(script_text(book), fmt="py:percent")
        from_notebook = nbformat.reads(notebook_text(book), as_version=4)
        assert [c.source for c in from_script.cells] == [c.source for c in from_notebook.cells]

    def test_the_book_round_trips_through_jupytext(self, topic: str) -> None:
        text = COURSE.books[topic].path.read_text()
        notebook = jupytext.reads(text, fmt="py:percent")
        back = jupytext.writes(notebook, fmt="py:percent")
        assert _without_header(back) == _without_header(text)

    def test_example_cells_need_no_exercise(self, topic: str) -> None:
        book = COURSE.books[topic]
        for statement in book.given:
            assert not global_names(statement.source) & book.exercise_names, statement.line

    def test_every_exercise_is_proven_from_a_namespace_without_the_others(self, topic: str) -> None:
        namespace = COURSE.books[topic].student_namespace()
        assert not set(namespace) & COURSE.books[topic].exercise_names


def _without_header(text: str) -> str:
    lines = text.splitlines()
    if lines and lines[0] == "# ---":
        end = lines.index("# ---", 1)
        lines = lines[end + 1 :]
    return "\n".join(lines).strip()


def solved(topic: str) -> Iterator[tuple[str, str]]:
    """Yield each cell of the printed lesson with the key's answers in place: (kind, source)."""
    book = COURSE.books[topic]
    answers = {e.name: e.key.answer.source for e in book.exercises if e.key}
    for cell in printed_cells(book):
        if cell.kind == "exercise":
            name = cell.source.rsplit("check(", 1)[1].rstrip(")")
            yield cell.kind, f"{answers[name]}\n\ncheck({name})"
        else:
            yield cell.kind, cell.source


@pytest.mark.parametrize(
    "topic", [pytest.param(topic, marks=[pytest.mark.long] * (topic != "callbacks")) for topic in COURSE.books]
)
def test_the_solved_lesson_runs_top_to_bottom_in_a_kernel(topic: str, tmp_path: Path, compiled: Path) -> None:
    from nbclient import NotebookClient

    env = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for kind, source in solved(topic):
        new = nbformat.v4.new_markdown_cell if kind == "prose" else nbformat.v4.new_code_cell
        notebook.cells.append(new(source))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute(env=env)
    cards = [
        output["data"]["application/vnd.jaxguide.result+json"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "application/vnd.jaxguide.result+json" in output.get("data", {})
    ]
    assert len(cards) == len(COURSE.books[topic].exercises)
    assert {card["verdict"] for card in cards} == {"passed"}
    progress = json.loads((tmp_path / "jaxguide-progress.json").read_text())
    assert all(entry["passed"] for entry in progress["exercises"].values())


def test_proof_is_plain_data() -> None:
    assert json.loads(json.dumps(Proof().to_plain()))["problems"] == []
