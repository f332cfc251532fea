"""Test what `check`, `hint` and `solution` do in a student's session."""

from pathlib import Path

import pytest

from jaxguide import lesson
from jaxguide.course.books.library import Course, installed_course
from jaxguide.course.progress import Progress


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
        assert ("You have not passed" in said) == (tries == 3)
    lesson.solution("two_samples", sure=True)
    assert "def two_samples" in capsys.readouterr().out


def test_what_is_no_function_is_said_whichever_was_called(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call in (lesson.check, lesson.hint, lesson.solution):
        call(5)
        said = capsys.readouterr().out
        assert "of type int" in said
        assert "`check` takes" not in said


def test_hints_go_up_a_ladder_and_stay_at_its_top(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (1, 2, 3, 4):
        lesson.hint("two_samples")
        assert f"Hint {step} of 4 for two_samples\n" in capsys.readouterr().out
    lesson.hint("two_samples")
    assert "Hint 4 of 4 for two_samples, the last\n" in capsys.readouterr().out


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
    said = capsys.readouterr().out
    answers = [exercise.key.answer, *exercise.key.alternatives]
    assert [one.name for one in answers if one.source.strip() not in said] == []
    lesson.hint(exercise.name)
    said = capsys.readouterr().out
    assert [hint for hint in exercise.hints if hint not in said] == []
    assert Progress(workspace).of(exercise.name).hints == 1, "hints shown after passing must not count"


def test_the_first_guess_is_locked(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson.solution("predict_shape")
    assert "Guess first" in capsys.readouterr().out
    for guess in ("(9, 9)", "(3, 2)"):
        lesson._check("predict_shape", run(f"def predict_shape(): return {guess}"))
        assert "(9, 9)" in capsys.readouterr().out
    assert Progress(workspace).of("predict_shape").guess == "(9, 9)"


def test_an_exercise_is_found_by_the_name_that_is_bound_not_by_the_functions_own(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("import jax\ndraw_per_key = jax.vmap(jax.random.normal)")
    lesson._check(names["draw_per_key"], names)
    assert "Visible checks passed: One draw for each key (draw_per_key)" in capsys.readouterr().out
    lesson._check(names["draw_per_key"], {"other": names["draw_per_key"]})
    assert "does not belong to an exercise" in capsys.readouterr().out


def test_the_stub_is_not_started(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("two_samples", run('def two_samples(key, n, m):\n    """Mine."""\n    ...'))
    assert "Not started yet" in capsys.readouterr().out
    assert Progress(workspace).of("two_samples").attempts == []


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
    assert "Visible checks passed" in capsys.readouterr().out


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
    names = run("def two_samples(key, n, m): return 1\nworker_noise = two_samples")
    lesson._check(names["two_samples"], names)
    assert "(two_samples)" in capsys.readouterr().out


def test_a_guess_of_another_type_is_not_locked(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("predict_shape", run("def predict_shape(): return [3, 2]"))
    said = capsys.readouterr().out
    assert "Nothing is locked yet" in said
    assert "a list of 2" in said
    assert Progress(workspace).of("predict_shape").guess is None


def test_the_stop_button_stops_the_check(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lesson._check("two_samples", run("def two_samples(key, n, m): raise KeyboardInterrupt"))
    said = capsys.readouterr().out
    assert "The check was stopped" in said
    assert f"0 of {len(installed_course().exercise('two_samples').checks)} checks passed" in said
