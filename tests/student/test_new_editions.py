"""Test that students who are under way keep answers and progress when a lesson gets a new edition."""

import importlib.util
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from two_editions import write_editions
from two_lessons import answer

from jaxguide import lesson
from jaxguide.cli import main
from jaxguide.course.books.library import Course
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.grade_class import ClassRun, Order
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.store import Store
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.exports.gradescope import GradingProgress
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.reports.marks import rows_of
from jaxguide.student.answers_in_files import home_of, read_all, where_to_answer

DROPPED = "`triple` (replaced by `sevenfold`) is no longer part of the course. What you wrote stays in your file."
HAVE_CHANGED = "Lessons have changed since you began"
Run = Callable[..., str]


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, Course]:
    return write_editions(tmp_path_factory.mktemp("editions"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command in a folder, without JupyterLab, and returns what it prints."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def of(*arguments: object, status: int = 0) -> str:
        done = CliRunner().invoke(main, list(map(str, arguments)))
        assert done.exit_code == status, done.output
        return done.stdout

    return of


@pytest.fixture
def under_way(editions: tuple[Course, Course], run: Run, tmp_path: Path) -> Path:
    """Return a workspace with the first edition: one right answer as plain Python, three more in the notebooks."""
    first, _second = editions
    run("start", "--py", "--course", first.folders.top, "--workspace", "mine", status=1)
    mine = tmp_path / "mine"
    answer(mine / "multiply.py", "double", "return 2 * x")
    for name, body in {"triple": "return 3 * x", "predict_size": "return 6", "quadruple": "return 4 * x"}.items():
        in_notebook(mine, name, body)
    progress = Progress(mine, "editions")
    for name in ("double", "triple", "quadruple"):
        progress.update(name, passed=True)
    return mine


def in_notebook(folder: Path, name: str, body: str) -> None:
    """Answer an exercise in whichever notebooks of a folder have it."""
    for path in folder.glob("*.ipynb"):
        notebook = json.loads(path.read_text("utf-8"))
        for cell in notebook["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and f"def {name}(" in source:
                cell["source"] = source.replace("...", body)
        path.write_text(json.dumps(notebook), "utf-8")


def start(run: Run, editions: tuple[Course, Course]) -> dict[str, str]:
    """Start the second edition in the workspace; return the state of each file, and whether `start` said more."""
    said = run("start", "--course", editions[1].folders.top, "--workspace", "mine", status=1)
    files = dict(re.findall(r"^  (\S+) +(.*)$", said, re.MULTILINE))
    return {**files, "more": " ".join(said.splitlines()[len(files) + 1 :])}


def test_start_lays_the_new_edition_beside_the_old_and_says_so(
    editions: tuple[Course, Course], run: Run, under_way: Path
) -> None:
    before = {path: path.read_bytes() for path in under_way.glob("m*.*")}
    states = start(run, editions)
    assert states.pop("more").startswith(HAVE_CHANGED)
    assert {path.name for path in before} | {path.name.replace(".", "_2.") for path in before} == states.keys()
    for name, state in states.items():
        lacks = {"multiply": "2 exercises", "more": "1 exercise"}[name.split("_")[0].split(".")[0]]
        assert state == (f"new edition, with {lacks} that yours lacks" if "_2" in name else "yours, kept as it is")
        printed = editions[1].folders.notebooks / name.replace("_2", "")
        assert "_2" not in name or (under_way / name).read_bytes() == printed.read_bytes()
    assert {path: path.read_bytes() for path in before} == before
    answer(under_way / "multiply_2.py", "sevenfold", "return 7 * x")
    again = start(run, editions)
    assert again.pop("more") == ""
    assert again.keys() == states.keys()
    assert (again["multiply_2.py"], again["multiply_2.ipynb"]) == ("yours, kept as it is", "already there, unchanged")


def test_only_a_lesson_that_lacks_something_gets_a_new_edition(
    editions: tuple[Course, Course], run: Run, under_way: Path
) -> None:
    for name in ("more.py", "more.ipynb"):
        shutil.copy(editions[1].folders.notebooks / name, under_way)
    answer(under_way / "more.py", "tenfold", "return x")
    (under_way / "multiply.py").write_text("def double(x):\n    return 2 * x\n")  # answers alone, not the lesson
    (under_way / "multiply_2.ipynb").write_text("of the student")
    states = start(run, editions)
    new = {name for name, state in states.items() if state.startswith("new edition")}
    assert new == {"multiply_3.ipynb"}
    assert (under_way / "multiply_2.ipynb").read_text() == "of the student"


def test_an_old_file_is_checked_and_what_was_dropped_is_said(
    editions: tuple[Course, Course], run: Run, under_way: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(run, editions)
    monkeypatch.chdir(under_way)
    said = run("progress")
    assert "2 of 5 exercises done" in said, "what was kept or moved counts as done, what was dropped does not count"
    assert "multiply · 2 of 4 done" in said
    said = run("check", "multiply.ipynb", status=1)
    assert " ".join(said.split()).count(DROPPED) == 1
    assert re.search(r"Not started yet +sevenfold", said), "it is new, so its cell was not deleted"
    assert re.search(r"✓ You guessed right +predict_size", said)
    said = run("check", "more.ipynb")
    assert re.search(r"✓ .*quadruple", said), "it moved to a lesson that this file does not start"
    assert not re.search("double|sevenfold", said)
    for command in (("check", "multiply.ipynb", "triple"), ("hint", "triple"), ("reset", "triple")):
        assert run(*command).strip() == DROPPED
    (under_way / "bare.py").write_text("def triple(x):\n    return 3 * x\n")
    assert CliRunner().invoke(main, ["check", "bare.py"]).stderr.strip().endswith(DROPPED)
    assert "Write your answer in more_2.py (line" in run("next")
    run("reset", "double")
    double = editions[1].exercise("double")
    homes = home_of(double, read_all(under_way, editions[1]))
    assert {home.path.stem for home in homes} == {"multiply", "multiply_2"}
    assert where_to_answer(double, homes, under_way).count(" or ") == 1, "four places are too many to read"


def test_the_old_notebook_says_that_an_exercise_was_dropped(
    editions: tuple[Course, Course], run: Run, under_way: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    start(run, editions)
    monkeypatch.chdir(under_way)

    def triple(x: float) -> float:
        return 3 * x

    monkeypatch.setattr(lesson, "_session", lesson._session)  # other tests are in no lesson
    lesson.start("multiply", "editions")
    capsys.readouterr()
    lesson.check(triple)
    lesson.hint(triple)
    lesson.check("triple")
    assert " ".join(capsys.readouterr().out.split()) == " ".join([DROPPED] * 3)


def test_watch_says_it_when_the_old_answer_changes(editions: tuple[Course, Course], run: Run, under_way: Path) -> None:
    pytest.importorskip("termios", reason="it needs a Unix terminal")
    from pseudo_terminal import PseudoTerminal

    start(run, editions)
    with PseudoTerminal("watch", under_way, folder=under_way.parent, columns=200) as terminal:
        assert "multiply_2.py" in terminal.see("q quit")
        answer(under_way / "multiply.py", "double", "return 5 * x")
        assert "no longer" not in terminal.see("Not right yet: Twice (double)")
        answer(under_way / "multiply.py", "triple", "return 3 * x")
        terminal.see(DROPPED)


def test_a_class_with_old_new_and_both_is_graded(editions: tuple[Course, Course], run: Run, under_way: Path) -> None:
    _first, second = editions
    old = {path.name: path.read_bytes() for path in under_way.glob("*.ipynb")}
    start(run, editions)
    in_notebook(under_way, "sevenfold", "return 7 * x")
    in_notebook(under_way, "double", "return 2 * x")
    group = under_way.parent / "class"
    for name, number in (("ada", ""), ("bob", "_2")):
        (group / name).mkdir(parents=True)
        for topic in ("multiply", "more"):
            (group / name / f"{topic}{number}.ipynb").write_bytes((under_way / f"{topic}{number}.ipynb").read_bytes())
    for path in (group / "ada").iterdir():
        path.write_bytes(old[path.name])
    with zipfile.ZipFile(group / "cy.zip", "w") as archive:
        for path in sorted(under_way.glob("*.*")):
            if path.suffix in (".py", ".ipynb"):
                archive.write(path, path.name)
    settings = GradeSettings(trust_submissions=True)
    classes = ClassRun(Order([group], second, group.parent / "results", settings, jobs=2))
    classes.overrides = [Override("cy.zip", "quadruple", 0.5)]
    with Store(group.parent / "results") as store:
        classes.grade(store)
        batch = classes.result(store)
    rows = {row.student: row for row in rows_of(batch)}
    marks = {student: {name: mark.score for name, mark in row.marks.items()} for student, row in rows.items()}
    right = {"double": 1.0, "sevenfold": 1.0, "predict_size": 1.0, "quadruple": 1.0, "tenfold": 0.0}
    assert marks == {
        "ada": right | {"double": 0.0, "sevenfold": 0.0, "tenfold": None},
        "bob": right | {"predict_size": 0.0, "quadruple": 0.0},
        "cy.zip": right | {"quadruple": 0.5},
    }
    assert [one.repairs for one in rows["ada"].submissions if one.path.name == "multiply.ipynb"] == [[DROPPED]]
    for row in rows.values():
        assert sum(one.score for one in row.submissions) == row.score
        assert all(one.state is State.GRADED for one in row.submissions)


def test_on_gradescope_a_stub_in_the_new_edition_takes_no_answers_place() -> None:
    progress = GradingProgress()
    for verdict in (Verdict.PASSED, Verdict.NOT_ATTEMPTED, Verdict.FAILED, Verdict.NO_SUCH_FUNCTION):
        progress.add([ExerciseResult("double", "Twice", "multiply", 1.0, verdict, 0.0)])
    assert [one.verdict for one in progress.results] == [Verdict.FAILED]
