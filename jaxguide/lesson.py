"""Provide what lessons import: `start`, `check`, `hint`, `solution`, `progress`, in a notebook, script or shell."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxguide.base.did_you_mean import did_you_mean
from jaxguide.base.text import _
from jaxguide.explain.notebook import explain_in_notebook

if TYPE_CHECKING:
    from jaxguide.course.books.library import Course
    from jaxguide.course.exercise import Exercise
    from jaxguide.course.progress import Progress
    from jaxguide.course.verdict import ExerciseResult

_started = ""  # the lesson of this session


def start(topic: str) -> None:
    """Start a lesson: work around known problems before JAX starts, show versions and progress, turn on error cards.

    Args:
        topic: the lesson's name, such as 'random_numbers'.

    >>> start("random_numbers")
    random_numbers: Python ..., jax ..., PRNG threefry2x32, threefry_partitionable on; ...
    """
    global _started
    if not _is_lesson(topic):
        return
    from jaxguide.student.greeting import greeting

    _started = topic
    lines = greeting(topic, student_progress())
    explain_in_notebook()
    _say("\n".join(lines))


def progress(lesson: str | None = None) -> None:
    """Show how far you are with a lesson: a bar, its exercises, points, hints read, and what to do next.

    Args:
        lesson: its name, such as 'random_numbers'; by default the one that you have started.
    """
    if lesson is not None and not _is_lesson(lesson):
        return
    from jaxguide.student.standing import Standing

    kept, course = student_progress(), _course()
    last = course.exercises.get(kept.place or "")
    topic = lesson or _started or (last.lesson if last else next(iter(course.books)))
    _show(Standing(course, course.books[topic], kept.everything(), kept.place))
    _say_trouble(kept)


def check(target: Any = None, verbose: bool = False) -> None:
    """Check your answer to an exercise and show a card that says what is right, what is not, and why.

    Args:
        target: your function, or its name in quotes.
        verbose: list the cases of each check too: how your function was called, and what it returned.

    The exercise is found by the name that your function has in your notebook or script, so `check(per_row)` works
    whether `per_row` is a `def`, a lambda, or what `jax.vmap` returned.
    """
    _check(target, _callers_names(), verbose)


def hint(target: Any = None) -> None:
    """Show the next hint for an exercise: a question, the concept, a skeleton with a blank, a similar worked example.

    Once you have passed the exercise, all hints are shown.

    Args:
        target: your function, or its name in quotes.
    """
    name = _name_of(target, _callers_names())
    if name:
        show_hint(name)


def show_hint(name: str) -> None:
    """Show the next hint for the exercise with this name."""
    from jaxguide.student.help import next_hint

    progress = student_progress()
    heading, text = next_hint(_course().exercise(name), progress)
    _say(f"{heading}\n\n{text}")
    _say_trouble(progress)


def solution(target: Any = None, sure: bool = False) -> None:
    """Show the solution of an exercise, once you have passed it or have tried three different answers.

    Args:
        target: your function, or its name in quotes.
        sure: pass True to see it before you have passed.
    """
    name = _name_of(target, _callers_names())
    if name:
        show_solution(name, sure, f"`solution({name}, sure=True)`")


def show_solution(name: str, sure: bool, how: str) -> None:
    """Show the solution of the exercise with this name, or say when it opens; `how` is what to type to be sure."""
    from jaxguide.student.help import solution_text, why_closed

    exercise, progress = _course().exercise(name), student_progress()
    closed = why_closed(exercise, progress, sure, how, _next_hint(exercise))
    _say(solution_text(exercise, _course()) if closed is None else closed)


def _is_lesson(topic: Any) -> bool:
    """Return whether this lesson exists, and print a message if it does not."""
    from jaxguide.course.books.folders import topics

    if topic in topics():
        return True
    _say(_("There is no lesson `{topic}`.").format(topic=topic) + did_you_mean(topic, topics(), most=1))
    return False


def _check(target: Any, names: Mapping[str, Any], verbose: bool = False) -> None:
    from jaxguide.student.find_exercise import find_exercise

    found = find_exercise(target, names, _course())
    if isinstance(found, str):
        _say(found)
        return
    from jaxguide.course.cards import Card

    exercise, function = found
    progress, cases = student_progress(), dict[str, list[str]]()
    result = check_answer(exercise, function, names, progress, cases if verbose else None)
    _show(Card(result, cases=cases))
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
    from jaxguide.course.judging.judge import judge

    book = _course().book_of(exercise)
    found = answer_in_session(function, exercise, names, book.given)
    # Functions that a check passes by name are the book's, as in grading, even if the notebook redefined them.
    answer = LocalAnswer(exercise.name, function, {**names, **book.names}) if not found.is_starter else None
    if cases is None or answer is None:
        result = judge(exercise, answer)
    else:
        from jaxguide.student.cases import watched

        watched_exercise, watched_answer, told = watched(exercise, answer)
        result = judge(watched_exercise, watched_answer)
        cases.update(told)
    progress.note(result, found.id)
    if result.first_failure:
        result.hint = _next_hint(exercise)
    return result


def _say_trouble(progress: "Progress") -> None:
    if progress.trouble:
        _say(_("Your progress could not be kept: {why}").format(why=progress.trouble))


def _next_hint(exercise: "Exercise") -> str:
    from jaxguide.student.help import stuck

    return stuck(exercise.name, "notebook")


def _name_of(target: Any, names: Mapping[str, Any]) -> str | None:
    """Return the name of the exercise meant, or print why there is none."""
    from jaxguide.student.find_exercise import find_exercise

    if isinstance(target, str) and target in _course().exercises:
        return target
    found = find_exercise(target, names, _course())
    if isinstance(found, str):
        _say(found)
        return None
    return found[0].name


def _course() -> "Course":
    from jaxguide.course.books.library import installed_course

    return installed_course()


def student_progress() -> "Progress":
    """Return the progress kept in the student's workspace."""
    from jaxguide.course.books.folders import topics
    from jaxguide.course.progress import Progress
    from jaxguide.student.workspace import find_workspace

    return Progress(find_workspace(topics()))


def _callers_names() -> Mapping[str, Any]:
    """Return the caller's names: the notebook's, or the script's and those of its function."""
    frame = sys._getframe(2)
    return {**frame.f_globals, **frame.f_locals}


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def _show(card: Any) -> None:
    if _in_notebook():
        from IPython.display import display

        display(card)
    else:
        from rich.console import Console

        Console().print(card)


def _say(text: str) -> None:
    print(text)
