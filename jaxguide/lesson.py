"""Provide what lessons import: `start`, `check`, `hint`, `solution`, `progress`, in a notebook, script or shell."""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.explain.notebook import explain_in_notebook

if TYPE_CHECKING:
    from jaxguide.base.render.card_view import CardView
    from jaxguide.course.books.library import Course
    from jaxguide.course.exercise import Exercise
    from jaxguide.course.progress import Progress
    from jaxguide.course.verdict import ExerciseResult


@dataclasses.dataclass(frozen=True)
class _Session:
    """What was started last in this Python.

    Args:
        topic: the lesson.
        folder: the folder of its course, None for the course that comes with jaxguide.
        missing: why the lesson that was asked for cannot be started; then nothing is checked.
    """

    topic: str = ""
    folder: Path | None = None
    missing: str = ""


_session = _Session()


def start(topic: str, course: str = "") -> None:
    """Start a lesson: work around known problems before JAX starts, show progress and problems, turn on error cards.

    Args:
        topic: the lesson's name, such as 'random_numbers'.
        course: the identity of its course, which lies beside the notebook; by default the course that comes with
            jaxguide or, if it has no such lesson, the one beside the notebook.

    >>> start("random_numbers")
    Random numbers (random_numbers)
      ... exercises done · ... points
      Next: ...
    """
    global _session
    from jaxguide.course.books.outline import UnknownName
    from jaxguide.student.which_course import WhichCourse, course_of_lesson, usual_places

    # A script may run in another folder than its own.
    script = _callers_names().get("__file__")
    places = [*([Path(script).parent] if isinstance(script, str) else []), Path(), *usual_places()]
    try:
        folder = course_of_lesson(topic, course, places)
        _need_lesson(topic, folder)
    except (UnknownName, WhichCourse) as error:
        # Another course, such as the one started before, may have exercises of the same names.
        _session = _Session(missing=str(error))
        _say(str(error))
        return
    _session = _Session(topic, folder)
    with _mistakes_said():
        from jaxguide.student.greeting import greeting

        card = greeting(topic, student_progress(), folder)
        explain_in_notebook(also=_undefined)
        _show(card)


def progress(lesson: str | None = None) -> None:
    """Show how far you are with a lesson: a bar, its exercises by part, points, hints read, and what to do next.

    Args:
        lesson: its name, such as 'random_numbers'; by default the one that you have started.
    """
    with _mistakes_said():
        from jaxguide.student.index import exercise_links, lesson_file
        from jaxguide.student.standing import Position, standing_card

        course, kept = _course(), student_progress()
        if lesson is not None:
            _need_lesson(lesson, _session.folder)
        last = course.exercises.get(kept.place or "")
        topic = lesson or _session.topic or (last.lesson if last else next(iter(course.books)))
        links = exercise_links(lesson_file(kept.folder, topic, course))
        _show(standing_card(Position(course, kept), course.books[topic], links))
        _say_trouble(kept)


def check(target: Any = None, verbose: bool = False) -> None:
    """Check your answer to an exercise and show a card that says what is right, what is not, and why.

    Args:
        target: your function, or its name in quotes.
        verbose: list the checks with their cases too: how your function was called, and what it returned.

    The exercise is found by the name that your function has in your notebook or script, so `check(per_row)` works
    whether `per_row` is a `def`, a lambda, or what `jax.vmap` returned.
    """
    _check(target, _callers_names(), verbose)


def hint(target: Any = None, number: int | None = None) -> None:
    """Show a hint for an exercise: a question, the concept, a skeleton with a blank, or a similar worked example.

    Without a number, that is the hint that you read last, or the first; `hint(f, 2)` shows hint 2. Once you have
    passed the exercise, all hints are shown.

    Args:
        target: your function, or its name in quotes.
        number: which hint, from 1.
    """
    exercise = _exercise_of(target, _callers_names())
    if exercise is None:
        return
    from jaxguide.student.help import hint_card

    progress = student_progress()
    _show(hint_card(exercise, _course(), progress, "notebook", number))
    _say_trouble(progress)


def solution(target: Any = None, sure: bool = False) -> None:
    """Show the solution of an exercise, once you have passed it or have tried three different answers.

    A course may keep its solutions; then they are not shown.

    Args:
        target: your function, or its name in quotes.
        sure: pass True to see it before you have passed.
    """
    exercise = _exercise_of(target, _callers_names())
    if exercise is None:
        return
    from jaxguide.student.help import solution_card, why_closed

    closed = why_closed(exercise, _course(), student_progress(), sure, "notebook")
    if closed is None:
        _show(solution_card(exercise, _course()))
    else:
        _say(closed)


def _need_lesson(topic: Any, folder: Path | None) -> None:
    """Raise UnknownName if a course does not have this lesson."""
    from jaxguide.course.books.folders import topics
    from jaxguide.course.books.outline import UnknownName

    there = topics(folder)
    if topic not in there:
        raise UnknownName(f"There is no lesson `{topic}`." + did_you_mean(topic, there, most=1))


@contextlib.contextmanager
def _mistakes_said() -> Iterator[None]:
    """Print what is not found in the course, or why it cannot be used, such as a package that is not installed."""
    from jaxguide.course.books.outline import UnknownName
    from jaxguide.course.exercise import AuthorError
    from jaxguide.student.which_course import WhichCourse

    try:
        yield
    except (AuthorError, UnknownName, WhichCourse) as error:
        _say(str(error))


def _check(target: Any, names: Mapping[str, Any], verbose: bool = False) -> None:
    from jaxguide.course.cards import Card
    from jaxguide.student.find_exercise import find_exercise
    from jaxguide.student.help import below_pass

    with _mistakes_said():
        course = _course()
        exercise, function = find_exercise(target, names, course)
        progress, cases = student_progress(), dict[str, list[str]]()
        result = check_answer(exercise, function, names, progress, cases if verbose else None)
        more = below_pass(result, exercise, course, progress)
        _show(Card(result, cases=cases, verbose=verbose, more=more))
        _say_trouble(progress)


def check_answer(
    exercise: "Exercise",
    function: Any,
    names: Mapping[str, Any],
    progress: "Progress",
    cases: dict[str, list[str]] | None = None,
) -> "ExerciseResult":
    """Judge a function in this process by the visible checks, record the progress, and fill in `cases` if given."""
    from jaxguide.code.sameness import answer_in_session
    from jaxguide.course.judging.answer import LocalAnswer
    from jaxguide.course.judging.judge import Judging, failure_as_given
    from jaxguide.student.cases import WatchedAnswer

    book = _course().book_of(exercise)
    identity, is_starter = answer_in_session(function, exercise, names, book.given)
    # Functions that a check passes by name are the book's, as in grading, even if the notebook redefined them.
    given = exercise.name, function, {**names, **book.names}
    if is_starter:
        result = Judging(exercise).judge(None)
        result.as_given = failure_as_given(exercise, LocalAnswer(*given))
    else:
        answer = LocalAnswer(*given) if cases is None else WatchedAnswer(*given, cases)
        result = Judging(exercise, find_cause=True).judge(answer)
    progress.note(result, identity)
    if result.first_failure or result.as_given:
        from jaxguide.student.help import stuck

        result.hint = stuck(exercise, _course(), progress, "notebook")
    return result


def _say_trouble(progress: "Progress") -> None:
    if progress.trouble:
        _say(f"Your progress could not be kept: {progress.trouble}")


def _exercise_of(target: Any, names: Mapping[str, Any]) -> "Exercise | None":
    """Return the exercise meant, or print why there is none."""
    from jaxguide.student.find_exercise import find_exercise

    exercise: Exercise | None = None
    with _mistakes_said():
        course = _course()
        if isinstance(target, str) and target in course.exercises:
            exercise = course.exercises[target]
        else:
            exercise, _function = find_exercise(target, names, course)
    return exercise


def _undefined(error: BaseException) -> "CardView | None":
    """Return a card if a cell failed because it gives `check`, `hint` or `solution` a name that is not defined yet."""
    if not isinstance(error, NameError) or _session.missing:
        return None
    from jaxguide.course.books.library import read_outline
    from jaxguide.student.find_exercise import undefined_exercise

    said = undefined_exercise(error, read_outline(_session.folder))
    return _sentence(said) if said else None


def _course() -> "Course":
    """Return the course of this session.

    Raises:
        WhichCourse: the lesson that was asked for cannot be started.
    """
    from jaxguide.course.books.library import students_course
    from jaxguide.student.which_course import WhichCourse

    if _session.missing:
        raise WhichCourse(_session.missing)
    return students_course() if _session.folder is None else students_course(_session.folder)


def student_progress() -> "Progress":
    """Return the progress kept in the student's workspace."""
    from jaxguide.course.books.folders import course_folders
    from jaxguide.course.settings import BUNDLED
    from jaxguide.student.index import kept_progress
    from jaxguide.student.workspace import find_workspace

    # The folder of a course beside a notebook bears the course's identity.
    where = course_folders(_session.folder)
    identity = BUNDLED if _session.folder is None else where.top.name
    return kept_progress(find_workspace(where, identity), identity, _course)


def _callers_names() -> Mapping[str, Any]:
    """Return the caller's names: the notebook's, or the script's and those of its function."""
    frame = sys._getframe(2)
    return {**frame.f_globals, **frame.f_locals}


def _show(card: Any) -> None:
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        from IPython.display import display

        display(card)
    else:
        from rich.console import Console

        Console().print(card)


def _say(text: str) -> None:
    _show(_sentence(text))


def _sentence(text: str) -> "CardView":
    from jaxguide.base.render.card import STATELESS, CardFace
    from jaxguide.base.render.card_view import CardView

    return CardView(CardFace(STATELESS, text))
