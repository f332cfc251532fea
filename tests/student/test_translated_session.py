"""Test that all text in a notebook can be translated: first line, progress, cases, hints, the magic, its pictures."""

import dataclasses
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import made_up_language
import pytest
from IPython.core.error import UsageError
from kernel import shell_here
from made_up_language import words_outside

import jaxguide
from jaxguide import keys, lesson, tracing
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import Course, installed_course
from jaxguide.course.progress import PROGRESS_FILE_NAME, ExerciseProgress, Progress
from jaxguide.debug.diagnosis import diagnose
from jaxguide.student.greeting import greeting
from jaxguide.student.standing import Standing

LESSON = "random_numbers"


@pytest.fixture(scope="module", autouse=True)
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with made_up_language.spoken(tmp_path_factory.mktemp("catalogues"), course_folders()):
        yield


@pytest.fixture(scope="module")
def course() -> Course:
    return installed_course()


@pytest.fixture
def progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Progress:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    return Progress(tmp_path)


def plain(text: str) -> str:
    """Return the text of HTML."""
    return html.unescape(re.sub(r"<[^>]*>", " ", text))


@pytest.mark.long
def test_a_lessons_first_line_and_its_trouble_can_be_translated(
    progress: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxguide.student.greeting._started_too_early", lambda: "")  # other tests may have started JAX
    (line,) = greeting(LESSON, progress)
    assert words_outside(line) == []
    assert "⟦on⟧" in line
    assert "⟦no progress yet, " in line
    progress.update("two_samples", passed=True)
    assert "⟦progress restored, " in greeting(LESSON, progress)[0]
    (tmp_path / PROGRESS_FILE_NAME).write_text("[")
    lines = greeting(LESSON, Progress(tmp_path))
    assert [words_outside(one) for one in lines] == [[], []]


@pytest.mark.long
def test_progress_can_be_translated(course: Course, progress: Progress) -> None:
    book = course.books[LESSON]
    first, second, third = book.exercises[:3]
    some = {first.name: ExerciseProgress(passed=True), second.name: ExerciseProgress(attempts=["a"], hints=2)}
    every = {exercise.name: ExerciseProgress(passed=True) for exercise in course.exercises.values()}
    own = {exercise.name: ExerciseProgress(passed=True) for exercise in book.exercises}
    names = "_".join([LESSON, *course.exercises]).split("_")
    for done in (some, own, every):
        shown = Standing(course, book, done, third.name)
        assert words_outside(shown.next_step()) == []
        assert words_outside(" ".join(shown.text(250).split()), names) == []
        assert words_outside(plain(shown.html()), names) == []


@pytest.mark.long
def test_the_cases_of_a_check_can_be_translated(course: Course, progress: Progress) -> None:
    exercise = course.exercises["two_samples"]

    def two_samples(key: Any, n: int, m: int) -> None:
        raise ValueError("no")

    cases: dict[str, list[str]] = {}
    lesson.check_answer(exercise, two_samples, {}, progress, cases)
    lines = [line for found in cases.values() for line in found]
    assert lines
    assert [line for line in lines if words_outside(line)] == []


@pytest.mark.long
def test_hints_and_what_is_said_of_a_solution_can_be_translated(
    progress: Progress, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "_session", lesson._session)  # a lesson that is not found stays the session's
    lesson.show_hint("two_samples")
    lesson.show_solution("two_samples", sure=False, how="`sure`")
    lesson.start("random_number")
    lesson.check(None)
    lesson.check(3)
    lesson.check(print)
    progress.update("two_samples", attempts=["a", "b", "c"])
    lesson.show_solution("two_samples", sure=False, how="`sure`")
    progress.update("two_samples", passed=True)
    lesson.show_hint("two_samples")
    shown = re.sub(r"^\d+\. ", "", capsys.readouterr().out, flags=re.MULTILINE)
    assert shown.count("⟦") >= 12
    assert words_outside(shown) == []
    lesson.show_solution("two_samples", sure=False, how="`sure`")
    heading = capsys.readouterr().out.splitlines()[0]
    assert heading == "⟦A solution of two_samples:⟧"


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    with shell_here() as shell:
        jaxguide.load_ipython_extension(shell)
        assert shell.run_cell("def louder(x, n=1):\n    return x * n\nvalue = 3").success
        yield shell
        jaxguide.unload_ipython_extension(shell)


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        "",
        "trase louder(1.0)",
        "trace",
        "trace louder(",
        "trace louder",
        "trace loud(1.0)",
        "trace value(1.0)",
        "trace louder()",
    ],
)
def test_what_the_magic_refuses_can_be_translated(shell: Any, line: str) -> None:
    with pytest.raises(UsageError) as raised:
        shell.run_line_magic("jaxguide", line)
    assert "⟦" in str(raised.value)
    assert words_outside(str(raised.value)) == []


def louder(x: Any, n: int) -> Any:
    y = x * n
    return y + 1.0


def twice(key: Any) -> Any:
    import jax

    one, two = jax.random.split(key)
    return jax.random.normal(one) + jax.random.uniform(one) + jax.random.normal(two)


# Words that stay untranslated: the student's code and names, and JAX's own names.
CODE = {"louder", "twice", "Any", "int", "float", "def", "return", "key", "one", "two", "no"}
CODE |= {"mul", "add", "jax", "random", "split", "normal", "uniform"}


def test_the_helpers_pictures_can_be_translated() -> None:
    import jax

    pictures = [
        tracing.show_lines(louder, 1.0, 2),
        tracing.draw_program(louder, 1.0, 2),
        keys.key_tree(twice, jax.random.key(0)),
    ]
    for picture in pictures:
        for shown in (str(picture), plain(picture._repr_mimebundle_()["text/html"])):
            assert words_outside(shown.replace(Path(__file__).name, ""), CODE) == []


def test_a_diagnosis_can_be_translated() -> None:
    with jax.threefry_partitionable(False):
        found = diagnose(measured=False)
    assert "draws_of_older_jax" in {trouble.name for trouble in found.troubles}
    more = dict.fromkeys(("isolation", "workers", "switched on", "environment"), "")
    values = dict.fromkeys(found.facts, "")  # paths, versions and names of devices
    shown = dataclasses.replace(found, facts=values | more)
    names = [*(name for name in found.facts if name not in ("system", "devices", "64 bits")), "keys", "documented"]
    for text in (str(shown), plain(shown._repr_html_())):
        assert words_outside(text, names) == []
        assert "⟦devices⟧" in text
