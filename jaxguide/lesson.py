"""What a lesson imports: `start`, `check`, `hint` and `solution`, in a notebook, a script or a shell."""

import difflib
import hashlib
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from jaxguide import compat
from jaxguide.explain.notebook import explain_in_notebook
from jaxguide.text import _, plural, translated

if TYPE_CHECKING:
    from jaxguide.course.exercise import Exercise
    from jaxguide.course.library import Course
    from jaxguide.course.progress import Progress
    from jaxguide.course.verdict import ExerciseResult

ATTEMPTS_BEFORE_SOLUTION = 3


def start(topic: str) -> None:
    """Prepare a lesson: say which versions run, cure known trouble before JAX starts, and have errors explained.

    Args:
        topic: the lesson's name, such as 'random_numbers'.

    >>> start("random_numbers")  # doctest: +ELLIPSIS
    random_numbers: Python ..., jax ..., ready.
    """
    from jaxguide.course.places import topics

    if topic not in topics():
        near = difflib.get_close_matches(str(topic), topics(), n=1)
        text = _("There is no lesson `{topic}`.").format(topic=topic)
        _say(text + (_(" Did you mean `{near}`?").format(near=near[0]) if near else ""))
        return
    compat.set_print_flag()
    explain_in_notebook()
    words = _("{topic}: Python {python}, jax {jax}, ready.")
    print(words.format(topic=topic, python=platform.python_version(), jax=metadata.version("jax")))


def check(target: Any = None) -> None:
    """Check your answer to an exercise and show a card that says what is right, what is not, and why.

    Args:
        target: your function, or its name in quotes.

    The exercise is found by the name that your function has in your notebook or script, so `check(per_row)` works
    whether `per_row` is a `def`, a lambda, or what `jax.vmap` returned.
    """
    _check(target, _callers_names())


def hint(target: Any = None) -> None:
    """Show the next hint for an exercise: first a question, then the concept, then a skeleton with a blank.

    Args:
        target: your function, or its name in quotes.
    """
    name = _name_of(target, _callers_names())
    if name:
        show_hint(name)


def show_hint(name: str) -> None:
    """Show the next hint for the exercise of this name."""
    progress = student_progress()
    heading, text = next_hint(_course().exercise(name), progress)
    _say(f"{heading}\n\n{text}")
    _say_trouble(progress)


def next_hint(exercise: "Exercise", progress: "Progress") -> tuple[str, str]:
    """Return the heading and the text of the next hint for an exercise, and note that it was read."""
    steps = len(exercise.hints)
    step = min(progress.of(exercise.name).hints, steps - 1)
    progress.update(exercise.name, hints=step + 1)
    heading = _("Hint {step} of {steps} for {name}").format(step=step + 1, steps=steps, name=exercise.name)
    return heading, translated(exercise.hints[step])


def solution(target: Any = None, sure: bool = False) -> None:
    """Show the solution of an exercise, once you have passed it or have tried three different answers.

    Args:
        target: your function, or its name in quotes.
        sure: say True to see it before you have passed.
    """
    name = _name_of(target, _callers_names())
    if name:
        show_solution(name, sure, f"`solution({name}, sure=True)`")


def show_solution(name: str, sure: bool, how: str) -> None:
    """Show the solution of the exercise of this name, or say when it opens; `how` is what to type to be sure."""
    exercise, progress = _course().exercise(name), student_progress()
    closed = why_closed(exercise, progress, sure, how, _next_hint(exercise))
    _say(solution_text(exercise, _course()) if closed is None else closed)


def why_closed(exercise: "Exercise", progress: "Progress", sure: bool, how: str, next_hint: str) -> str | None:
    """Return why the solution of an exercise is not shown yet, or None where it may be.

    Args:
        exercise: which one.
        progress: what the student has done.
        sure: whether they want to see it before a pass.
        how: what to type to be sure.
        next_hint: a sentence that says how to get a hint.
    """
    name, done = exercise.name, progress.of(exercise.name)
    missing = ATTEMPTS_BEFORE_SOLUTION - len(done.attempts)
    if done.passed:
        return None
    if exercise.is_prediction:
        return _("Guess first: the answer is shown when you check your guess.")
    if missing > 0:
        text = plural(
            "The solution of {name} opens when it has passed, or after {count} more different try with `check`.",
            "The solution of {name} opens when it has passed, or after {count} more different tries with `check`.",
            missing,
            name=name,
        )
        return text + " " + next_hint
    if sure:
        return None
    text = _("You have not passed {name} yet. To see its solution all the same: {how}.")
    return text.format(name=name, how=how)


def _check(target: Any, names: Mapping[str, Any]) -> None:
    found = _find(target, names)
    if isinstance(found, str):
        _say(found)
        return
    from jaxguide.course.card import Card

    exercise, function = found
    progress = student_progress()
    _show(Card(check_answer(exercise, function, names, progress)))
    _say_trouble(progress)


def check_answer(
    exercise: "Exercise", function: Any, names: Mapping[str, Any], progress: "Progress"
) -> "ExerciseResult":
    """Judge a function by an exercise's visible checks, in this process, and note the progress."""
    from jaxguide.course.answer import LocalAnswer
    from jaxguide.course.judge import judge
    from jaxguide.course.starter import is_starter

    attempted = not is_starter(function, exercise)
    book = _course().book_of(exercise)
    # A function that a check sends by name is the book's own, as in grading, whatever the notebook has made of it.
    answer = LocalAnswer(exercise.name, function, {**names, **book.names}) if attempted else None
    result = judge(exercise, answer)
    progress.note(result, _fingerprint(function))
    if result.first_failure:
        result.hint = _next_hint(exercise)
    return result


def _say_trouble(progress: "Progress") -> None:
    if progress.trouble:
        _say(_("Your progress could not be kept: {why}").format(why=progress.trouble))


def _next_hint(exercise: "Exercise") -> str:
    return _("Stuck? `hint({name})` helps.").format(name=exercise.name)


def _fingerprint(function: Any) -> str:
    """Return what tells one piece of code from another, so that the same code tried twice counts once."""
    import inspect

    from jaxguide.course.starter import essence

    code = getattr(inspect.unwrap(function), "__code__", None)
    text = repr(essence(code)) if code else repr(type(function))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _name_of(target: Any, names: Mapping[str, Any]) -> str | None:
    """Return the name of the exercise that is meant, or say why there is none."""
    if isinstance(target, str) and target in _course().exercises:
        return target
    found = _find(target, names)
    if isinstance(found, str):
        _say(found)
        return None
    return found[0].name


def _find(target: Any, names: Mapping[str, Any]) -> "tuple[Exercise, Any] | str":
    """Return the exercise and the student's function, or a sentence that says why there is none."""
    from jaxguide.course.library import UnknownName

    course = _course()
    if isinstance(target, str):
        try:
            exercise = course.exercise(target)
        except UnknownName as error:
            return str(error)
        if target not in names:
            return _("`{name}` is not defined yet: run the cell that defines it, then check again.").format(name=target)
        function = names[target]
    else:
        bound = [name for name, value in names.items() if value is target and name in course.exercises]
        if not bound:
            return _not_an_exercise(target, course)
        # Of two names for one function, the one in its `def` is meant.
        own = getattr(target, "__name__", "")
        exercise, function = course.exercises[own if own in bound else bound[-1]], target
    if not callable(function):
        text = _("`{name}` should be a function; it is of type {kind}. Did you call it by mistake?")
        return text.format(name=exercise.name, kind=type(function).__name__)
    return exercise, function


def _not_an_exercise(target: Any, course: "Course") -> str:
    from jaxguide.course.library import did_you_mean

    if target is None:
        return _("Which exercise? Name your function: `check(name)`; so for `hint` and `solution`.")
    if not callable(target):
        text = _(
            "A function is needed, or its name in quotes; this is of type {kind}. "
            "Write `check(name)`, not `check(name(...))`; so for `hint` and `solution`."
        )
        return text.format(kind=type(target).__name__)
    name = getattr(target, "__name__", type(target).__name__)
    text = _("No exercise is bound to this function (`{name}`). Give it the name of the exercise, then check again.")
    return text.format(name=name) + did_you_mean(name, list(course.exercises))


def _course() -> "Course":
    from jaxguide.course.library import installed_course

    return installed_course()


def student_progress() -> "Progress":
    """Return the progress kept in the student's workspace."""
    from jaxguide.course.places import topics
    from jaxguide.course.progress import Progress
    from jaxguide.course.workspace import find_workspace

    return Progress(find_workspace(topics()))


def solution_text(exercise: "Exercise", course: "Course") -> str:
    """Return the key's answer to an exercise, and another where it has one."""
    from jaxguide.course.book import load_book
    from jaxguide.course.exercise import AuthorError
    from jaxguide.course.key import load_key

    where = course.places.solutions / f"{exercise.lesson}.py"
    if not where.is_file():
        return _("The solutions are not part of this installation.")
    book = load_book(exercise.path)
    try:
        load_key(where, book)
    except AuthorError as error:
        return str(error)
    key = next(e.key for e in book.exercises if e.name == exercise.name)
    assert key is not None
    texts = [_("A solution of {name}:").format(name=exercise.name), key.answer.source.strip()]
    if key.alternatives:
        texts += [_("Another right answer:"), key.alternatives[0].source.strip()]
    return "\n\n".join(texts)


def _callers_names() -> Mapping[str, Any]:
    """Return the names of whoever called `check`: the notebook's, or the script's with the function's own."""
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
