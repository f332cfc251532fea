"""Prove the course: each exercise, the printed lessons, and the ledger."""

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxguide.code.slices import global_names
from jaxguide.course import ledger
from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.books.folders import topics
from jaxguide.course.books.handout import print_files, stale_files
from jaxguide.course.books.library import Course, load_course, read_outline
from jaxguide.course.books.printer import notebook_text, printed_cells, printed_files, script_text
from jaxguide.course.books.statement import stub_cell
from jaxguide.proving.proof import Proof
from jaxguide.proving.prove_in_parallel import prove

NAMES = tuple(read_outline().exercises)
TOPICS = topics()


@pytest.fixture(scope="module")
def again() -> Course:
    """Return the same course, loaded a second time."""
    return load_course()


# `jaxguide verify` proves the others.
@pytest.mark.parametrize("topic", TOPICS)
def test_the_first_exercise_is_proven(topic: str, whole_course: Course) -> None:
    exercise = whole_course.books[topic].exercises[0]
    ((_exercise, proof),) = prove(whole_course, [exercise], seeds=1)
    assert [str(problem) for problem in (*proof.problems, *proof.advice)] == []
    assert proof.reproduced == set(exercise.reproduces)


@pytest.mark.hours(reason="it judges every exercise with fifty seeds; CI uses one")
@pytest.mark.parametrize("name", NAMES)
def test_verdicts_hold_over_fifty_seeds(name: str, whole_course: Course) -> None:
    ((_exercise, proof),) = prove(whole_course, [whole_course.exercise(name)], seeds=50)
    assert [str(problem) for problem in proof.problems] == []


def test_all_exercises_have_a_proof(whole_course: Course) -> None:
    assert list(NAMES) == list(whole_course.exercises)


def test_the_ledger_lists_all_documented_examples() -> None:
    entries = ledger.entries()
    assert len(entries) == 173
    assert all(entry["says"] and entry["source"] for entry in entries.values())


def test_each_text_made_by_jax_is_in_the_document() -> None:
    for entry in ledger.entries().values():
        if entry["record"]["compare"] == "facts":
            lines, document = entry["record"]["documented"], " ".join(entry["documented"].split())
            for line in [lines] if isinstance(lines, str) else lines:
                assert " ".join(line.split()) in document


# The documented examples that each lesson covers.
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


@pytest.mark.parametrize("topic", TOPICS)
def test_every_example_of_a_lessons_section_stands_on_an_exercise(whole_course: Course, topic: str) -> None:
    source, first, last = SECTIONS[topic]
    section = {f"{source}-{number:02}" for number in range(first, last + 1)}
    # The question about random depth says that `vmap` uses `jit`; the lesson on `vmap` answers that.
    section = section | {"S3-04"} if topic == "vectorization" else section - {"S3-04"}
    claimed = {example for exercise in whole_course.books[topic].exercises for example in exercise.reproduces}
    assert section == claimed


def test_the_last_of_four_hints_is_a_task_like_it_worked_out(whole_course: Course) -> None:
    hints = {name: len(one.hints) for name, one in whole_course.exercises.items() if not one.is_prediction}
    assert set(hints.values()) == {4}, hints


@pytest.mark.parametrize("topic", TOPICS)
class TestPrinted:
    def test_printed_files_are_current(self, whole_course: Course, topic: str) -> None:
        files, folder = printed_files(whole_course.books[topic]), whole_course.folders.notebooks
        stale = stale_files(files, folder)
        print_files(files, folder)
        assert stale == [], "these were stale and have been printed again; commit them"

    @pytest.mark.long
    def test_printing_twice_gives_the_same_bytes_and_unique_ids(
        self, whole_course: Course, again: Course, topic: str
    ) -> None:
        book = whole_course.books[topic]
        assert notebook_text(book) == notebook_text(again.books[topic])
        ids = [cell.id for cell in printed_cells(book)]
        assert len(set(ids)) == len(ids)

    def test_the_notebook_is_valid_and_holds_no_output(self, whole_course: Course, topic: str) -> None:
        import nbformat

        notebook = nbformat.reads(notebook_text(whole_course.books[topic]), as_version=4)
        nbformat.validate(notebook)
        assert all(not cell.get("outputs") for cell in notebook.cells)

    def test_text_fits_on_88_columns(self, whole_course: Course, topic: str) -> None:
        """Only what has no blank to break at is longer, and tables, whose rows are lines."""
        for cell in printed_cells(whole_course.books[topic]):
            if cell.kind == "prose":
                lines = [line for line in cell.source.splitlines() if not line.startswith("> ")]  # quoted: an output
                too_long = [line for line in lines if len(line) > 86 and "|" not in line]
                assert [line for line in too_long if not re.search(r"\]\(\S+$|`.{80,}`$", line)] == []
        for exercise in whole_course.books[topic].exercises:
            for node in ast.walk(ast.parse(stub_cell(exercise))):
                if isinstance(node, ast.FunctionDef) and node.name == exercise.name:
                    assert max(map(len, (ast.get_docstring(node) or "").splitlines())) <= 84

    def test_students_get_no_author_code(self, whole_course: Course, topic: str) -> None:
        book = whole_course.books[topic]
        for text in (notebook_text(book), script_text(book)):
            assert "jaxguide.course.author" not in text
            assert "@exercise" not in text
            assert "@visible" not in text
        for exercise in book.exercises:
            assert f"check({exercise.name})" in script_text(book)

    def test_the_script_and_the_notebook_hold_the_same_cells(self, whole_course: Course, topic: str) -> None:
        import jupytext
        import nbformat

        book = whole_course.books[topic]
        from_script = jupytext.reads(script_text(book), fmt="py:percent")
        from_notebook = nbformat.reads(notebook_text(book), as_version=4)
        assert [c.source for c in from_script.cells] == [c.source for c in from_notebook.cells]

    def test_the_book_round_trips_through_jupytext(self, whole_course: Course, topic: str) -> None:
        import jupytext

        text = whole_course.books[topic].path.read_text()
        notebook = jupytext.reads(text, fmt="py:percent")
        back = jupytext.writes(notebook, fmt="py:percent")
        assert _without_header(back) == _without_header(text)

    def test_no_exercise_needs_another(self, whole_course: Course, topic: str) -> None:
        """Example cells may use students' functions, to draw what they give, but no exercise needs such a cell."""
        book = whole_course.books[topic]
        for exercise in book.exercises:
            setup = book.setup_source(global_names(exercise.cell_source))
            assert not global_names(setup) & book.exercise_names, exercise.name

    def test_every_exercise_is_proven_from_a_namespace_without_the_others(
        self, whole_course: Course, topic: str
    ) -> None:
        namespace = run_answer(whole_course.books[topic], "")
        assert not set(namespace) & whole_course.books[topic].exercise_names


def _without_header(text: str) -> str:
    lines = text.splitlines()
    if lines and lines[0] == "# ---":
        end = lines.index("# ---", 1)
        lines = lines[end + 1 :]
    return "\n".join(lines).strip()


def solved(book: Book) -> Iterator[tuple[str, str]]:
    """Yield each cell of the printed lesson, with the key's answers filled in: (kind, source)."""
    answers = {e.name: e.key.answer.source for e in book.exercises if e.key}
    for cell in printed_cells(book):
        if cell.kind == "exercise":
            name = cell.source.rsplit("check(", 1)[1].rstrip(")")
            yield cell.kind, f"{answers[name]}\n\ncheck({name})"
        else:
            yield cell.kind, cell.source


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.long
def test_the_solved_lesson_runs_top_to_bottom_in_a_kernel(
    whole_course: Course, topic: str, tmp_path: Path, compiled: Path
) -> None:
    import nbformat
    from nbclient import NotebookClient

    env = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for kind, source in solved(whole_course.books[topic]):
        new = nbformat.v4.new_markdown_cell if kind == "prose" else nbformat.v4.new_code_cell
        notebook.cells.append(new(source))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute(env=env)
    cards = [
        output["data"]["application/vnd.jaxguide.result+json"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "application/vnd.jaxguide.result+json" in output.get("data", {})
    ]
    assert len(cards) == len(whole_course.books[topic].exercises)
    assert {card["verdict"] for card in cards} == {"passed"}
    progress = json.loads((tmp_path / ".jaxguide" / "progress.json").read_text())
    assert all(entry["passed"] for entry in progress["exercises"].values())


def test_proof_is_plain_data() -> None:
    assert json.loads(json.dumps(Proof().to_plain()))["problems"] == []
