"""Test what students get of a course of one's own: it has all that checks need, nothing of the key, and mixes with no
other course."""

import ast
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from handed_out import ROOT, HandedOut, jaxguide, python, write_rows, write_weights

from jaxguide.course.books.handout import for_students
from jaxguide.course.books.library import load_course, read_outline
from jaxguide.course.books.printer import printed_files
from jaxguide.course.settings import read_settings

COURSES = {"rows": write_rows, "weights": write_weights}
_IN_KERNEL = """\
import json, sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

notebook = nbformat.v4.new_notebook()
notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in json.loads(Path(sys.argv[1]).read_text())]
place = {"metadata": {"path": sys.argv[2]}}
NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""


@pytest.fixture(scope="module", params=["rows", pytest.param("weights", marks=pytest.mark.long)])
def handed_out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> HandedOut:
    return COURSES[request.param](tmp_path_factory.mktemp("author") / "course")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> HandedOut:
    return write_rows(tmp_path_factory.mktemp("rows") / "course")


@pytest.fixture
def here(handed_out: HandedOut, tmp_path: Path) -> Path:
    """Return a student's copy of the folder, far from the author's."""
    return shutil.copytree(handed_out.notebooks, tmp_path / "got")


@pytest.fixture
def rows_here(rows: HandedOut, tmp_path: Path) -> Path:
    return shutil.copytree(rows.notebooks, tmp_path / "got")


# Nothing of the key


def texts_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def words_of_the_key(handed_out: HandedOut) -> Iterator[str]:
    """Yield what the key says and the books do not: lines, names, sentences, and the numbers in its checks."""
    books = "\n".join(path.read_text() for path in (handed_out.course / "exercises").glob("*.py"))
    for path in (handed_out.course / "solutions").glob("*.py"):
        text = path.read_text()
        for line in map(str.strip, text.splitlines()):
            if len(line) > 8 and line not in books and not line.startswith(("from ", "import ", "# %%")):
                yield line
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name not in books:
                yield node.name
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in books:
                yield node.value
    yield from numbers_of_hidden_checks(handed_out.course)


_NUMBERS = """\
import re, sys
from pathlib import Path
from jaxguide.course.books.library import load_course
from jaxguide.course.books.book import run_answer
from jaxguide.course.set_up import beside_files
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import Judging
from jaxguide.student.cases import WatchedAnswer

course = load_course(Path(sys.argv[1]))
with beside_files(course.files):
    for exercise in course.exercises.values():
        names = run_answer(course.book_of(exercise), exercise.key.answer.source)
        given, cases = (exercise.name, names[exercise.name], names), {}
        Judging(exercise, reference=LocalAnswer(*given)).judge(WatchedAnswer(*given, cases))
        print(" ".join(re.findall(r"\\d+\\.\\d{4,}", str(cases))))
"""


def numbers_of_hidden_checks(course: Path) -> list[str]:
    """Return the inputs and expected values of the checks; those of hidden ones are among them."""
    done = python("-c", _NUMBERS, course, folder=course)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_nothing_of_the_key_is_laid_out(handed_out: HandedOut, tmp_path: Path) -> None:
    said = jaxguide("print", "--course", handed_out.course, "--zip", tmp_path / "a.zip", folder=tmp_path)
    assert "Written: " in said
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        zipped = {name: archive.read(name) for name in archive.namelist()}
    laid_out = texts_of(handed_out.notebooks)
    assert {f"a/{name}": content for name, content in laid_out.items()} == zipped

    words = list(words_of_the_key(handed_out))
    assert len(words) > 30
    for name, content in laid_out.items():
        text = content.decode()
        assert [word for word in words if word in text or word in name] == [], name


def test_what_is_laid_out_is_what_the_author_wrote_for_students(handed_out: HandedOut) -> None:
    """Whatever the form, something of the key would be in other files, or in files with other content."""
    outline = read_outline(handed_out.course)
    top = f"jaxguide_course/{handed_out.identity}"
    expected = {f"{top}/exercises/{topic}.py": book.path.read_bytes() for topic, book in outline.books.items()}
    for name, path in outline.files.items():
        expected |= {name: path.read_bytes(), f"{top}/exercises/{name}": path.read_bytes()}
    found = texts_of(handed_out.notebooks)
    settings = found.pop(f"{top}/course.toml")
    lessons = {f"{topic}{suffix}" for topic in outline.books for suffix in (".ipynb", ".py")}
    assert {name: content for name, content in found.items() if name not in lessons} == expected
    assert lessons <= found.keys()
    own = read_settings(handed_out.course)
    assert b"#" not in settings
    laid_out = read_settings(handed_out.notebooks / top)
    assert (laid_out.identity, laid_out.title) == (handed_out.identity, own.title)
    names = ("x64", "devices", "environment", "files", "requirements", "limits")
    assert [getattr(laid_out, name) for name in names] == [getattr(own, name) for name in names]


@pytest.mark.long
def test_an_authors_comments_do_not_reach_students(rows: HandedOut, tmp_path: Path) -> None:
    course = shutil.copytree(rows.course, tmp_path / "course", ignore=shutil.ignore_patterns("notebooks"))
    (course / "course.toml").write_text('identity = "mine"  # the secret seed is 7141\ntitle = "T"\n')
    (course / "exercises" / "notes.txt").write_text("the secret seed is 7141")
    said = " ".join(map(str, for_students(load_course(course, keys=False)).items()))
    assert "7141" not in said
    assert "jaxguide_course/mine/course.toml" in said


# Checks in a notebook and in a terminal


def in_kernel(cells: list[str], folder: Path) -> list[dict[str, object]]:
    """Run cells in a kernel in this folder; return what each showed: its text, and the plain result of a card."""
    path = folder.parent / "cells.json"
    path.write_text(json.dumps(cells))
    done = python("-c", _IN_KERNEL, path, folder, folder=folder.parent)
    assert done.returncode == 0, done.stderr
    shown = []
    for outputs in json.loads(done.stdout.splitlines()[-1]):
        data = [one.get("data", {}) for one in outputs]
        said = "".join("".join(one.get("text", "")) for one in outputs)
        said += "".join(str(one.get("text/plain", "")) for one in data)
        cards = [one for part in data for kind, one in part.items() if kind.endswith("+json")]
        shown.append({"said": said, "card": cards[0] if cards else None})
    return shown


@pytest.mark.long
def test_a_notebook_checks_itself_and_keeps_no_secret_of_the_key(handed_out: HandedOut, here: Path) -> None:
    name = handed_out.exercise
    given = (here / f"{handed_out.lesson}.py").read_text().partition("# ### ")[0]
    given = given.partition("# %%\nfrom jaxguide.lesson")[2].partition("# %%\n")[2]
    start, _given, wrong, hint, solution, help_, right, done = in_kernel(
        [
            handed_out.start(),
            given,
            f"{handed_out.wrong}\ncheck({name})",
            f"hint({name})",
            f"from jaxguide.lesson import solution\nsolution({name}, sure=True)",
            "check()",
            f"{handed_out.right}\ncheck({name})",
            "progress()",
        ],
        here,
    )
    assert f"({handed_out.lesson})\n  0 of " in start["said"]
    assert "Problem" not in start["said"]
    if handed_out.lesson == "weights":
        assert "4 cpu" in start["said"]
    assert wrong["card"]["verdict"] == "failed"
    assert "Often behind this" not in wrong["said"]
    assert "solution" not in wrong["said"]
    assert hint["said"].startswith("Hint 1 of 3 · ")
    assert solution["said"].strip() == "This course keeps its solutions."
    assert "solution" not in help_["said"]
    assert right["card"]["verdict"] == "passed"
    assert "Right so far" in right["said"]
    assert "✓ done" in done["said"]
    assert "solution" not in done["said"]
    assert "solution" not in handed_out.start()
    kept = json.loads((here / ".jaxguide" / f"progress-{handed_out.identity}.json").read_text())
    assert kept["exercises"][name]["passed"]
    assert not (here / ".jaxguide" / "progress.json").exists()


def test_the_printed_py_file_is_a_script_that_checks_itself(handed_out: HandedOut, here: Path) -> None:
    path = here / f"{handed_out.lesson}.py"
    text = path.read_text()
    stub = next(part for part in text.split("# %%\n") if f"check({handed_out.exercise})" in part)
    path.write_text(text.replace(stub, f"{handed_out.right}\n\ncheck({handed_out.exercise})\n\n"))
    elsewhere = here.parent / "elsewhere"
    elsewhere.mkdir()
    done = python(path, folder=elsewhere)
    assert done.returncode == 0, done.stderr
    assert "Right so far" in done.stdout
    assert (here / ".jaxguide" / f"progress-{handed_out.identity}.json").is_file(), "progress must be with the course"


@pytest.mark.long
def test_all_commands_are_about_the_course_of_the_folder(handed_out: HandedOut, here: Path) -> None:
    name = handed_out.exercise
    assert jaxguide("hint", name, folder=here).startswith("Hint 1 of 3 · ")
    assert jaxguide("solution", name, "--sure", folder=here).strip() == "This course keeps its solutions."
    (here / "mine.py").write_text(handed_out.wrong)
    done = python("-m", "jaxguide", "check", "mine.py", "--json", folder=here)
    assert done.returncode == 1, done.stderr
    results = {one["name"]: one for one in json.loads(done.stdout)["exercises"]}
    assert results[name]["verdict"] == "failed"
    assert not any(one.get("misconceptions") or one.get("misconception") for one in results[name]["checks"])
    (here / "mine.py").write_text(handed_out.right)
    assert "Right so far" in jaxguide("check", here / "mine.py", name, folder=here.parent)
    assert f"  {handed_out.lesson} · " in jaxguide("list", folder=here)
    assert re.search(rf"{handed_out.lesson} .*1 of 1", jaxguide("progress", folder=here))
    assert name in jaxguide("list", handed_out.lesson, folder=here)
    assert "has the empty function again" in jaxguide("reset", name, "--file", "mine.py", folder=here)


@pytest.mark.long
def test_watch_does_not_offer_what_is_kept(handed_out: HandedOut, here: Path) -> None:
    pytest.importorskip("termios", reason="it needs a Unix terminal")
    from pseudo_terminal import PseudoTerminal

    variables = {"PYTHONPATH": str(ROOT)}
    with PseudoTerminal("watch", folder=here, columns=120, environment=variables) as terminal:
        shown = terminal.see("q quit")
        assert "solution" not in shown
        terminal.press("s")
        terminal.see("This course keeps its solutions.")
        terminal.press("?")
        terminal.see("What each key does")
        (here / "mine.py").write_text(handed_out.right)
        terminal.see("Right so far")
        terminal.press("q")
        assert terminal.wait() == 0
        assert "solution" not in terminal.text.replace("This course keeps its solutions.", "")


def test_without_the_course_beside_it_a_notebook_checks_nothing(handed_out: HandedOut, here: Path) -> None:
    shutil.rmtree(here / "jaxguide_course")
    calls = f"check({handed_out.exercise!r}); hint({handed_out.exercise!r}); progress()"
    done = python("-c", f"{handed_out.start()}\n{calls}", folder=here)
    assert done.returncode == 0, done.stderr
    said = f"The course of this file is not here: put `jaxguide_course/{handed_out.identity}`"
    assert " ".join(done.stdout.split()).count(said) == 4
    done = python("-m", "jaxguide", "check", f"{handed_out.lesson}.ipynb", folder=here)
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr


@pytest.mark.long
def test_a_zip_beside_the_notebook_will_do(handed_out: HandedOut, here: Path, tmp_path: Path) -> None:
    shutil.rmtree(here)
    here.mkdir()
    jaxguide("print", "--course", handed_out.course, "--zip", here / "course.zip", folder=tmp_path)
    done = python("-c", handed_out.start(), folder=here)
    assert f"({handed_out.lesson})\n  0 of " in done.stdout, done.stdout + done.stderr
    assert not any("/solutions/" in name for name in texts_of(here))


# Equal names


_OTHER = """\
# %% check
from jaxguide.course.author import exercise, expect_that, visible

# %% [markdown]
# # Random numbers of my own

# %%
import jax

# %% exercise
@exercise(title="Mine", hints=["Mine?", "Mine: https://docs.jax.dev/", "return ____"])
def two_samples(key, n, m):
    \"\"\"Return the text WORD.\"\"\"
    ...

# %% check
@visible(two_samples, idea="It is a word.")
def it_is_the_word(answer, draw):
    \"\"\"It is the word.\"\"\"
    expect_that(answer(1, 2, 3) == "WORD", "It should be the word.")
"""


def other_course(folder: Path, word: str) -> str:
    """Print a course whose lesson and exercise have the names of bundled ones, and return its identity."""
    for part in ("exercises", "solutions"):
        (folder / part).mkdir(parents=True)
    (folder / "exercises" / "random_numbers.py").write_text(_OTHER.replace("WORD", word))
    jaxguide("print", "--course", folder, folder=folder)
    return read_settings(folder).identity


_LESSON = """\
from jaxguide.lesson import check, hint, progress, start

start("random_numbers"{course})

def two_samples(key, n, m):
    return "{word}"

check(two_samples)
hint(two_samples)
"""


@pytest.mark.long
def test_equal_names_of_three_courses_never_mix(tmp_path: Path) -> None:
    here = tmp_path / "here"
    words = {other_course(tmp_path / place / "course", place): place for place in ("one", "two")}
    assert len(words) == 2, "courses in folders of one name must get two identities"
    for word in words.values():
        shutil.copytree(tmp_path / word / "course" / "notebooks", here, dirs_exist_ok=True)
    for path in here.glob("random_numbers.*"):
        path.unlink()
    for identity, word in words.items():
        (here / f"{word}.py").write_text(_LESSON.format(course=f', course="{identity}"', word=word))
    (here / "bundled.py").write_text(_LESSON.format(course="", word="one"))
    for name in ("one", "two", "bundled"):
        done = python(f"{name}.py", folder=here)
        assert done.returncode == 0, done.stderr
        passed = "Right so far: Mine" in done.stdout
        assert passed == (name != "bundled"), done.stdout
        assert ("Hint 1 of 4" in done.stdout) == (name == "bundled")
    kept = {path.name: json.loads(path.read_text())["exercises"] for path in here.glob(".jaxguide/*.json")}
    names = {f"progress-{identity}.json" for identity in words} | {"progress.json"}
    assert kept.keys() == names
    assert [kept[name]["two_samples"]["passed"] for name in sorted(kept)] == [True, True, False]

    for identity, word in words.items():
        place = here / "jaxguide_course" / identity
        assert "The exercise is done." in jaxguide("next", "--course", place, folder=here)
        assert "passed" in jaxguide("check", f"{word}.py", folder=here)
    done = python("-m", "jaxguide", "check", "bundled.py", "two_samples", folder=here)
    assert (done.returncode, "Two independent samples" in done.stdout) == (1, True), done.stderr
    done = python("-m", "jaxguide", "list", folder=here)
    assert (done.returncode, "has several courses" in " ".join(done.stderr.split())) == (2, True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("start", "course"),
    [
        ('start("random_numbers")', "bundled"),
        ('start("random_numbers", course="IDENTITY")', "own"),
        ('start("random_numbers", "IDENTITY")', "own"),
        ('start("random_numbers", course="another")', "another"),
        ("", "any"),
    ],
)
def test_a_file_belongs_to_the_course_that_it_starts(tmp_path: Path, start: str, course: str) -> None:
    from jaxguide.student.answers_in_files import read_all

    identity = other_course(tmp_path / "own", "own")
    (tmp_path / "work").mkdir()
    text = f"{start.replace('IDENTITY', identity)}\ndef two_samples(key, n, m):\n    return 1\n"
    (tmp_path / "work" / "answers.py").write_text(text)
    own, bundled = (read_all(tmp_path / "work", read_outline(place)) for place in (tmp_path / "own", None))
    assert (bool(own), bool(bundled)) == (course in ("own", "any"), course in ("bundled", "any"))


# Printing and starting


@pytest.mark.long
def test_printing_gives_a_course_one_identity_and_keeps_it(rows: HandedOut, tmp_path: Path) -> None:
    course = shutil.copytree(rows.course, tmp_path / "My Course!", ignore=shutil.ignore_patterns("notebooks"))
    (course / "course.toml").write_text("devices = 2\n\n[environment]\nSURVEY = 'spring'\n")
    done = python("-m", "jaxguide", "print", "--course", course, "--check", folder=tmp_path)
    assert done.returncode == 1
    assert "course.toml is stale" in done.stdout
    assert read_settings(course).identity == ""
    jaxguide("print", "--course", course, folder=tmp_path)
    settings = read_settings(course)
    assert re.fullmatch(r"my-course-[0-9a-f]{8}", settings.identity)
    assert (settings.devices, settings.environment) == (2, {"SURVEY": "spring"})
    assert "up to date" in jaxguide("print", "--course", course, folder=tmp_path)
    assert read_settings(course).identity == settings.identity
    jaxguide("print", "--course", course, "--check", folder=tmp_path)


@pytest.mark.long
def test_what_a_course_no_longer_has_is_deleted_and_nothing_else(rows: HandedOut, tmp_path: Path) -> None:
    course = shutil.copytree(rows.course, tmp_path / "course")
    old = course / "notebooks" / "jaxguide_course" / rows.identity / "exercises"
    (old / "more.py").write_text((course / "exercises" / "rows.py").read_text())
    (course / "notebooks" / "own.txt").write_text("mine")
    done = python("-m", "jaxguide", "print", "--course", course, "--check", folder=tmp_path)
    assert (done.returncode, "more.py is stale" in done.stdout) == (1, True)
    (course / "course.toml").write_text('identity = "renamed"\n')
    said = jaxguide("print", "--course", course, folder=tmp_path)
    assert "deleted " in said
    assert [path.name for path in (course / "notebooks" / "jaxguide_course").iterdir()] == ["renamed"]
    assert (course / "notebooks" / "own.txt").read_text() == "mine"


def test_what_students_got_is_not_printed_over_their_answers(rows_here: Path) -> None:
    (rows_here / "rows.py").write_text("mine")
    done = python("-m", "jaxguide", "print", "--course", rows_here, folder=rows_here)
    assert (done.returncode, (rows_here / "rows.py").read_text()) == (2, "mine")
    assert "Give the folder of the course itself" in " ".join(done.stderr.split())


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., "object"]:
    """Return a function that runs `jaxguide start` with a fake JupyterLab, which ends at once."""
    (tmp_path / "lab" / "jupyterlab").mkdir(parents=True)
    (tmp_path / "lab" / "jupyterlab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "jupyterlab" / "__main__.py").write_text("import os; print(os.environ['JAXGUIDE_WORKSPACE'])")
    path = os.pathsep.join([str(tmp_path / "lab"), str(ROOT)])
    return lambda line, folder: python("-m", *line.split(), folder=folder, PYTHONPATH=path)


def test_start_takes_the_zip_or_the_folder_and_keeps_answers(rows: HandedOut, tmp_path: Path, start) -> None:
    jaxguide("print", "--course", rows.course, "--zip", tmp_path / "physics.zip", folder=tmp_path)
    shutil.copytree(rows.notebooks, tmp_path / "folder")
    for given in ("physics.zip", "folder", rows.course):
        line = "jaxguide start --course physics.zip --workspace physics".replace("physics.zip", str(given))
        done = start(line, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert str(tmp_path / "physics") in done.stdout
        assert (tmp_path / "physics" / "jaxguide_course" / rows.identity / "course.toml").is_file()
        if given == "physics.zip":
            (tmp_path / "physics" / "rows.py").write_text("mine")
        assert (tmp_path / "physics" / "rows.py").read_text() == "mine"
    done = python("-c", rows.start(), folder=tmp_path / "physics")
    assert "(rows)\n  0 of 1 exercise done" in done.stdout, done.stdout + done.stderr


def test_start_brings_the_checks_of_a_new_edition_and_keeps_answers(rows: HandedOut, tmp_path: Path, start) -> None:
    course = shutil.copytree(rows.course, tmp_path / "course")
    start(f"jaxguide start --course {course}", tmp_path)
    (tmp_path / "workspace" / "rows.py").write_text("mine")
    book = course / "exercises" / "rows.py"
    book.write_text(book.read_text().replace("((2, 3), (4, 5))", "((2, 3), (4, 6))"))
    jaxguide("print", "--course", course, folder=tmp_path)
    start("jaxguide start", tmp_path)  # without `--course`, the course in the workspace: it has no other source
    laid_out = tmp_path / "workspace" / "jaxguide_course" / rows.identity / "exercises" / "rows.py"
    assert "(4, 5)" in laid_out.read_text()
    start(f"jaxguide start --course {course}", tmp_path)
    assert "(4, 6)" in laid_out.read_text()
    assert (tmp_path / "workspace" / "rows.py").read_text() == "mine"


def test_start_in_the_folder_that_a_student_got_opens_that_folder(rows_here: Path, start) -> None:
    done = start("jaxguide start", rows_here)
    assert done.returncode == 0, done.stderr
    assert str(rows_here) in done.stdout
    assert not (rows_here / "workspace").exists()


def test_a_workspace_has_one_course(rows: HandedOut, tmp_path: Path, start) -> None:
    assert start("jaxguide start", tmp_path).returncode == 0
    done = start(f"jaxguide start --course {rows.course}", tmp_path)
    assert done.returncode == 2
    assert "has the lessons of another course" in " ".join(done.stderr.split())
    assert not (tmp_path / "workspace" / "jaxguide_course").exists()
    assert start(f"jaxguide start --course {rows.course} --workspace other", tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [("notes.zip", "cannot be unpacked"), ("empty", "has no printed lessons"), ("course", "has no printed lessons")],
)
def test_start_says_what_it_was_not_given(rows: HandedOut, tmp_path: Path, start, given: str, said: str) -> None:
    (tmp_path / "notes.zip").write_text("no zip")
    (tmp_path / "empty").mkdir()
    shutil.copytree(rows.course, tmp_path / "course", ignore=shutil.ignore_patterns("notebooks"))
    done = start(f"jaxguide start --course {given}", tmp_path)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (tmp_path / "workspace").exists()


def test_a_course_in_a_submission_is_no_submission(rows_here: Path, rows: HandedOut, tmp_path: Path) -> None:
    from jaxguide.grading.intake.file_search import find_submissions

    assert sorted(path.name for path in find_submissions([rows_here])) == ["rows.ipynb", "rows.py"]
    printed = printed_files(load_course(rows.course, keys=False).books["rows"])
    assert printed.keys() == {path.name for path in rows_here.glob("rows.*")}
