"""Test what `check`, `hint` and `solution` do in a student's session."""

import linecache
from pathlib import Path

import pytest

from jaxguide import lesson
from jaxguide.course.books.library import Course, read_outline, students_course
from jaxguide.course.progress import Progress
from jaxguide.student.find_exercise import undefined_exercise


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path))
    return tmp_path


WRONG = """
def two_samples(key, n, m):
    def sample(length):
        return [0.0 for _ in range(length)], {factor}
    return sample(n), sample(m)
"""


def run(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(source, names)
    return names


def test_the_solution_opens_after_three_different_tries_not_after_one_tried_often(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for factor, tries in ((1, 1), (1, 1), (1, 1), (2, 2), (3, 3)):
        lesson._check("two_samples", run(WRONG.replace("{factor}", str(factor))))
        assert len(Progress(workspace).of("two_samples").attempts) == tries
        capsys.readouterr()
        lesson.solution("two_samples")
        said = capsys.readouterr().out
        assert ("To see the solution of" in said) == (tries == 3)
    lesson.solution("two_samples", sure=True)
    assert "def two_samples" in capsys.readouterr().out


def test_what_is_no_function_is_said_whichever_was_called(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call in (lesson.check, lesson.hint, lesson.solution):
        call(5)
        said = capsys.readouterr().out
        assert "of type int" in said
        assert "`check` takes" not in said


def said_of(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_hint_is_shown_again_at_will_and_the_next_only_on_purpose(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(*number: int) -> tuple[str, int]:
        lesson.hint("two_samples", *number)
        return said_of(capsys), Progress(workspace).of("two_samples").hints

    calls = [((), 1, 1), ((), 1, 1), ((2,), 2, 2), ((2,), 2, 2), ((), 2, 2), ((1,), 1, 2), ((4,), 4, 4), ((3,), 3, 4)]
    for number, shown, count in calls:
        said, read_so_far = read(*number)
        assert (f"Hint {shown} of 4 ·" in said, read_so_far) == (True, count), (number, said)
        if shown < 4:
            assert f"Next `hint(two_samples, {shown + 1})` shows hint {shown + 1} of 4." in said
    for wrong in (0, 5, -1, "2"):
        said, read_so_far = read(wrong)  # type: ignore[arg-type]
        assert said == "`two_samples` has 4 hints: choose a number from 1 to 4."
        assert read_so_far == 4


def test_advice_names_the_next_hint_and_then_when_the_solution_opens(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def tried(factor: int) -> str:
        lesson._check("two_samples", run(WRONG.replace("{factor}", str(factor))))
        return said_of(capsys)

    assert "Stuck? `hint(two_samples)` shows hint 1 of 4." in tried(1)
    lesson.hint("two_samples")
    assert "Stuck? `hint(two_samples, 2)` shows hint 2 of 4." in tried(1)
    lesson.hint("two_samples", 4)
    assert "check 2 more different answers, then `solution(two_samples, sure=True)`" in said_of(capsys)
    assert "check 1 more different answer, then `solution(two_samples, sure=True)`" in tried(2)
    said = tried(3)
    assert "Stuck?" not in said
    assert "To see the solution of `two_samples` before you pass: `solution(two_samples, sure=True)`." in said


def test_a_solution_says_at_once_what_opens_it_also_to_who_made_no_try(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for sure in (False, True):
        lesson.solution("two_samples", sure=sure)
        said = said_of(capsys)
        assert "check 3 different answers, then `solution(two_samples, sure=True)`. Stuck? `hint(two_samples)`" in said


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("check(two_samples)", "run the cell below the heading 'Exercise: Two independent samples'"),
        ("hint(\n    two_samples, 2)", "run the cell below the heading 'Exercise: Two independent samples'"),
        ("x = 1\nsolution(two_sample)", "`two_sample` is not defined. Did you mean `two_samples`?"),
        ("two_samples(1)\ncheck(1)", None),
        ("two_samples(1)\ncheck(two_samples)", "run the cell below the heading 'Exercise: Two independent samples'"),
        ("check(len(two_samples))", None),
        ("hint('two_samples', step)", None),
    ],
)
def test_a_name_that_is_not_defined_yet_is_answered_with_the_cell_to_run(cell: str, said: str | None) -> None:
    linecache.cache["<cell>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell>")
    with pytest.raises(NameError) as caught:
        exec(compile(cell, "<cell>", "exec"), {"check": print, "hint": print, "solution": print})
    found = undefined_exercise(caught.value, read_outline())
    assert (said in found) if said else found == ""


def test_hints_that_are_code_keep_their_lines(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercise = students_course().exercise("two_samples")
    for number in (3, 4):
        lesson.hint("two_samples", number)
        shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        code = [f"    {line}".rstrip() for line in exercise.hints[number - 1].splitlines()]
        assert [line for line in code if line not in shown] == []


def test_after_a_pass_all_hints_and_all_right_answers_can_be_read(
    workspace: Path, capsys: pytest.CaptureFixture[str], whole_course: Course
) -> None:
    exercise = max(whole_course.exercises.values(), key=lambda one: len(one.key.alternatives if one.key else []))
    assert exercise.key is not None
    assert len(exercise.key.alternatives) > 1
    lesson.solution(exercise.name, sure=True)
    assert exercise.key.answer.source.strip() not in capsys.readouterr().out
    Progress(workspace).update(exercise.name, passed=True, hints=1)
    lesson.solution(exercise.name)
    said = said_of(capsys)
    answers = [exercise.key.answer, *exercise.key.alternatives]
    assert [one.name for one in answers if " ".join(one.source.split()) not in said] == []
    lesson.hint(exercise.name)
    said = said_of(capsys)
    assert [hint for hint in exercise.hints if " ".join(hint.split()) not in said] == []
    lesson.hint(exercise.name, 2)
    assert "Hint 2 of" in capsys.readouterr().out
    assert Progress(workspace).of(exercise.name).hints == 1, "hints shown after passing must not count"


def test_the_first_guess_is_locked(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson.solution("predict_shape_inside")
    assert "Guess first" in capsys.readouterr().out
    for guess in ("(9, 9)", "(5,)"):
        lesson._check("predict_shape_inside", run(f"def predict_shape_inside(): return {guess}"))
        assert "(9, 9)" in capsys.readouterr().out
    assert Progress(workspace).of("predict_shape_inside").guess == "(9, 9)"


def test_an_exercise_is_found_by_the_name_that_is_bound_not_by_the_functions_own(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("import jax.numpy as jnp\nsliding_dot = lambda x, w: jnp.correlate(x, w)")
    lesson._check(names["sliding_dot"], names)
    assert "Right so far: A sliding dot product (sliding_dot)" in capsys.readouterr().out
    lesson._check(names["sliding_dot"], {"other": names["sliding_dot"]})
    assert "does not belong to an exercise" in capsys.readouterr().out


def test_the_stub_is_not_started(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("two_samples", run('def two_samples(key, n, m):\n    """Mine."""\n    ...'))
    assert "Not started yet" in capsys.readouterr().out
    assert Progress(workspace).of("two_samples").attempts == []


@pytest.mark.parametrize("verbose", [False, True])
def test_a_key_used_twice_leads_over_the_wrong_values(
    workspace: Path, capsys: pytest.CaptureFixture[str], verbose: bool
) -> None:
    source = "import jax.random as r\ndef two_samples(key, n, m): return r.normal(key, (n,)), r.normal(key, (m,))"
    lesson._check("two_samples", run(source), verbose)
    said = " ".join(capsys.readouterr().out.split())
    assert "✗ Not right yet: Two independent samples (two_samples) A key was drawn from twice" in said
    assert ("the keys of two_samples(" in said) == verbose


def test_a_starter_to_repair_shows_how_it_fails_and_counts_as_not_started(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = students_course().exercise("moving_sum")
    lesson._check("moving_sum", run("import jax.numpy as jnp\n" + exercise.cell_source))
    said = " ".join(capsys.readouterr().out.split())
    assert "Not started yet" in said
    assert "As given, it fails:" in said
    assert "Call moving_sum(" in said
    assert Progress(workspace).of("moving_sum").attempts == []


def test_a_given_function_sent_by_name_is_the_books_own(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = """
import jax
def split_then_draw(key):
    raise ValueError("changed by the student")
def reuses_a_key(function, key):
    with jax.debug_key_reuse(True):
        try:
            function(key)
        except jax.errors.KeyReuseError:
            return True
    return False
"""
    lesson._check("reuses_a_key", run(answer))
    assert "Right so far" in capsys.readouterr().out


def test_progress_that_cannot_be_kept_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JAXGUIDE_WORKSPACE", str(tmp_path / "file" / "below"))
    lesson.hint("two_samples")
    assert "Your progress could not be kept" in capsys.readouterr().out


def test_damaged_progress_is_kept_aside_and_said(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "jaxguide-progress.json").write_text("{not json")
    lesson.hint("two_samples")
    said = capsys.readouterr().out
    assert "Hint 1 of 4" in said
    assert "could not be kept" in said
    assert (workspace / "jaxguide-progress.damaged.json").read_text() == "{not json"


@pytest.mark.parametrize("damage", ['{"hints": "y"}', '{"hints": 1.5}', '{"attempts": null}', '{"unknown": 1}', "[]"])
def test_progress_of_another_form_breaks_nothing(
    workspace: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    path = workspace / "jaxguide-progress.json"
    path.write_text('{"version": 1, "exercises": {"two_samples": ' + damage + "}}")
    lesson.hint("two_samples")
    assert "Hint 1 of 4" in capsys.readouterr().out


def test_calls_without_a_name_and_unknown_lessons_are_answered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "_session", lesson._Session())
    for call in (lesson.check, lesson.hint, lesson.solution):
        call()
        assert "Which exercise?" in capsys.readouterr().out
    lesson.start("random_number")
    assert capsys.readouterr().out == "There is no lesson `random_number`. Did you mean `random_numbers`?\n"


def test_of_two_names_for_one_function_the_one_in_its_def_is_meant(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("def two_samples(key, n, m): return 1\nuse_key_twice = two_samples")
    lesson._check(names["two_samples"], names)
    assert "(two_samples)" in capsys.readouterr().out


def test_a_guess_of_another_type_is_not_locked(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("predict_shape_inside", run("def predict_shape_inside(): return [5]"))
    said = capsys.readouterr().out
    assert "No guess yet" in said
    assert "a list of 1" in said
    assert Progress(workspace).of("predict_shape_inside").guess is None


def test_the_stop_button_stops_the_check(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("two_samples", run("def two_samples(key, n, m): raise KeyboardInterrupt"), verbose=True)
    said = capsys.readouterr().out
    assert "The check was stopped" in said
    assert f"0 of {len(students_course().exercise('two_samples').checks)} checks passed" in said
