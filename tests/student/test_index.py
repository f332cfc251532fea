"""Test the index of a workspace: what it says, that it follows each change, and that a student's own page is safe."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from two_lessons import CHINESE, answer, write_course

from jaxguide import lesson
from jaxguide.cli import main
from jaxguide.cli.for_students import open_workspace
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.progress import Progress
from jaxguide.student.index import exercise_links, keep_index


def bar(lesson: str, done: int, core: int) -> str:
    title = f'title="{lesson}: {done} of {core} done"'
    return f'<progress value="{done}" max="{core}" {title} style="width:6em"></progress> {done} of {core}'


@pytest.fixture
def index(course: Course, workspace: Path) -> Path:
    keep_index(course, Progress(workspace, course.identity), creates=True)
    return workspace / "index.md"


def jaxguide(course: Course, *words: str) -> str:
    done = CliRunner().invoke(main, [*words, "--course", str(course.folders.top)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.stdout


def rows(index: Path) -> list[list[str]]:
    lines = [line for line in index.read_text("utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_it_lists_the_lessons_in_order_with_links_and_bars_and_names_what_is_next(course: Course, index: Path) -> None:
    text = index.read_text("utf-8")
    assert "0 of 4 exercises done · 0 of 4 points\n" in text
    links = exercise_links(index.with_name("multiply.ipynb"))
    assert f"\n\n**Next: [Twice]({links['double']})** in Multiply\n\n" in text
    assert rows(index) == [
        ["no.", "lesson", "core"],
        ["---", "---", "---"],
        ["1", "[Multiply](multiply.ipynb)", bar("Multiply", 0, 3)],
        ["2", "[More](more.ipynb)", bar("More", 0, 1)],
    ]


def test_the_link_leads_to_the_cell_with_the_statement(course: Course, index: Path) -> None:
    notebook = json.loads(index.with_name("multiply.ipynb").read_text())
    sources = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    links = exercise_links(index.with_name("multiply.ipynb"))
    titles = {"double": "Exercise: Twice", "triple": f"Exercise: {CHINESE}", "predict_size": "Predict: a size"}
    assert links.keys() == titles.keys()
    for name, link in links.items():
        file, _, cell = link.partition("#cell-id=")
        assert file == "multiply.ipynb"
        assert sources[cell].startswith(f"### {titles[name]} (")


def test_it_tells_the_core_from_more_and_how_long_the_core_takes(tmp_path: Path) -> None:
    course = load_course(keys=False)
    progress = Progress(tmp_path)
    first, *_others = course.books.values()
    core = [one.name for one in first.exercises if not one.is_more]
    for name in (core[0], next(one.name for one in first.exercises if one.is_more)):
        progress.update(name, passed=True)
    keep_index(course, progress, creates=True)
    head, _line, row, *_rows = rows(tmp_path / "index.md")
    assert head == ["no.", "lesson", "core", "time", "more"]
    more = len(first.exercises) - len(core)
    printed = (course.folders.notebooks / f"{first.topic}.ipynb").read_text()
    assert (minutes := re.search(r"about (\d+) minutes", printed))
    assert row[2:] == [bar(first.title, 1, len(core)), f"{minutes[1]} min", f"1 of {more}"]


def test_each_command_that_changes_the_progress_keeps_it_current(
    course: Course, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(index.parent)
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(index.parent))
    jaxguide(course, "hint", "double")
    assert "1 hint read" in index.read_text("utf-8")
    answer(index.with_name("multiply.py"), "double", "return 2 * x")
    jaxguide(course, "check", "multiply.py", "double")
    assert rows(index)[2][2] == bar("Multiply", 1, 3)
    assert f"**Next: [{CHINESE}](" in index.read_text("utf-8")


def test_a_check_in_a_notebook_keeps_it_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    keep_index(load_course(keys=False), Progress(tmp_path), creates=True)
    before = (tmp_path / "index.md").read_text("utf-8")
    names: dict[str, object] = {}
    exec("def predict_shape_inside(): return (5,)", names)
    lesson._check(names["predict_shape_inside"], names)
    after = (tmp_path / "index.md").read_text("utf-8")
    assert "0 of 65 core exercises done" in before
    assert "1 of 65 core exercises done" in after or "1 of 60 more beyond it" in after
    assert '"More" is what goes beyond the core' in after


def test_it_says_what_each_lesson_teaches_and_needs(tmp_path: Path) -> None:
    course = load_course(keys=False)
    keep_index(course, Progress(tmp_path), creates=True)
    about = (tmp_path / "index.md").read_text("utf-8").partition("\n## What each lesson teaches\n\n")[2].split("\n\n")
    assert len(about) == len(course.books)
    assert about[2].startswith("**3. Automatic vectorization:** say what `vmap` does, and what it does not do; choose")
    assert about[2].endswith("; map over the parameters of many models at once. You need lessons 1 and 2.")
    assert about[7].endswith(" You need lessons 2, 3 and 4, and `jax.debug.print` of lesson 5.\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Numbers by numbers. Much more.\n#\n# You need\n# the lesson `more`. Good.",
            "Numbers by numbers. You need lesson 2.",
        ),
        ("After this lesson you can\n#\n# - add.\n#\n# Much more.", "add."),
    ],
)
def test_of_a_lesson_without_such_a_list_it_quotes_the_first_sentence(tmp_path: Path, text: str, said: str) -> None:
    write_course(tmp_path / "course")
    book = tmp_path / "course" / "exercises" / "multiply.py"
    book.write_text(book.read_text("utf-8").replace("# # Multiply\n", f"# # Multiply\n#\n# {text}\n"), "utf-8")
    keep_index(load_course(tmp_path / "course", keys=False), Progress(tmp_path), creates=True)
    assert (tmp_path / "index.md").read_text("utf-8").endswith(f"teaches\n\n**1. Multiply:** {said}\n")


@pytest.mark.parametrize("own", ["# My notes\n", "", "\xff"])
def test_a_page_of_the_students_own_is_never_touched(course: Course, workspace: Path, own: str) -> None:
    path = workspace / "index.md"
    path.write_bytes(own.encode("latin-1"))
    progress = Progress(workspace, course.identity)
    for creates in (True, False):
        keep_index(course, progress, creates=creates)
        assert path.read_bytes() == own.encode("latin-1")


def test_without_its_first_line_it_is_the_students(course: Course, index: Path) -> None:
    mine = index.read_text("utf-8").partition("\n")[2]
    index.write_text(mine, "utf-8")
    keep_index(course, Progress(index.parent, course.identity), creates=True)
    assert index.read_text("utf-8") == mine


def test_that_of_another_course_stays(course: Course, index: Path) -> None:
    before = index.read_text("utf-8")
    keep_index(load_course(keys=False), Progress(index.parent))
    assert index.read_text("utf-8") == before


def test_no_page_appears_where_no_workspace_was_laid(course: Course, workspace: Path) -> None:
    keep_index(course, Progress(workspace, course.identity))
    assert not (workspace / "index.md").exists()


def test_it_links_the_newest_edition_and_what_there_is(course: Course, index: Path) -> None:
    folder = index.parent
    (folder / "multiply_2.ipynb").write_bytes((folder / "multiply.ipynb").read_bytes())
    (folder / "more.ipynb").unlink()
    keep_index(course, Progress(folder, course.identity))
    assert [row[1] for row in rows(index)[2:]] == ["[Multiply](multiply_2.ipynb)", "[More](more.py)"]
    (folder / "multiply_2.ipynb").write_text("{")
    keep_index(course, Progress(folder, course.identity))
    assert "**Next: [Twice](multiply_2.ipynb)**" in index.read_text("utf-8")


def test_when_all_is_done_it_says_so(course: Course, index: Path) -> None:
    progress = Progress(index.parent, course.identity)
    for name in course.exercises:
        progress.update(name, passed=True)
    keep_index(course, progress)
    assert "\n\nAll 4 exercises are done.\n\n" in index.read_text("utf-8")


def test_progress_in_a_notebook_links_each_exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = "random_numbers"
    (tmp_path / f"{topic}.ipynb").write_bytes((course_folders().notebooks / f"{topic}.ipynb").read_bytes())
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    shown: list = []
    monkeypatch.setattr(lesson, "_show", shown.append)
    lesson.progress(topic)
    html = shown[0].html()
    links = exercise_links(tmp_path / f"{topic}.ipynb")
    for exercise in load_course(keys=False).books[topic].exercises:
        assert re.search(f'<a href="{links[exercise.name]}">[^/]*<code[^>]*>{exercise.name}</code>', html)


def test_watch_creates_it_with_the_workspace(course: Course, tmp_path: Path) -> None:
    folder = open_workspace(tmp_path / "new", course)
    assert {path.name for path in folder.iterdir()} == {
        *("index.md", "more.ipynb", "more.py", "multiply.ipynb", "multiply.py")
    }
    (folder / "index.md").unlink()
    open_workspace(folder, course)
    assert not (folder / "index.md").exists(), "only a new workspace gets one"


def test_watch_works_with_notebooks_alone_and_keeps_it_current(course: Course, index: Path) -> None:
    pytest.importorskip("termios", reason="it needs a Unix terminal")
    from pseudo_terminal import PseudoTerminal

    folder = index.parent
    for path in folder.glob("*.py"):
        path.unlink()
    words = ("watch", folder, "--course", course.folders.top)
    with PseudoTerminal(*words, folder=folder.parent, columns=120) as terminal:
        terminal.wait_for("Write your answer in multiply.ipynb (code cell 4) and save the file.")
        notebook = json.loads((folder / "multiply.ipynb").read_text("utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            if "def double(" in cell["source"]:
                cell["source"] = cell["source"].replace("...", "return 2 * x")
        (folder / "multiply.ipynb").write_text(json.dumps(notebook), "utf-8")
        terminal.wait_for("Write your answer in multiply.ipynb (code cell 6)")
    assert rows(index)[2][2] == bar("Multiply", 1, 3)
