"""Help with an exercise: its hints, one at each call, and its solution, once it is open."""

from typing import Literal

from jaxguide.base.render.card import Badge, CardFace, Code, Folded, Part, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.base.text import plural
from jaxguide.course.books.key_text import has_hidden_checks, right_answers
from jaxguide.course.books.outline import Outline
from jaxguide.course.exercise import AuthorError, Task
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.student.position import Position

ATTEMPTS_BEFORE_SOLUTION = 3


def next_hint(exercise: Task, progress: Progress) -> tuple[str, str]:
    """Return the heading and text of the next hint for an exercise, and record that it was read.

    Once the exercise has passed, return all of its hints and record nothing.
    """
    steps = len(exercise.hints)
    if not steps:
        return exercise.name, "There is no hint for this exercise."
    if progress.of(exercise.name).passed:
        # A hint of several lines begins on a new line, so that its first line is indented like the others.
        texts = list(exercise.hints)
        numbered = [f"{i}.\n{text}" if "\n" in text else f"{i}. {text}" for i, text in enumerate(texts, 1)]
        return f"All hints for {exercise.name}", "\n\n".join(numbered)
    read = progress.of(exercise.name).hints
    step = min(read, steps - 1)
    progress.update(exercise.name, hints=step + 1)
    words = "Hint {step} of {steps} for {name}" if read < steps else "Hint {step} of {steps} for {name}, the last"
    heading = words.format(step=step + 1, steps=steps, name=exercise.name)
    return heading, exercise.hints[step]


def stuck(exercise: Task, where: Literal["notebook", "terminal", "watch"]) -> str:
    """Return a sentence that says how to get the next hint in the student's front end; '' if there is none."""
    if not exercise.hints:
        return ""
    return {
        "notebook": "Stuck? `hint({name})` helps.",
        "terminal": "Stuck? `jaxguide hint {name}` helps.",
        "watch": "Stuck? Press h for a hint.",
    }[where].format(name=exercise.name)


def why_closed(exercise: Task, course: Outline, progress: Progress, sure: bool, how: str, next_hint: str) -> str | None:
    """Return why the solution of an exercise is not shown yet, or None if it may be shown.

    Args:
        exercise: the exercise.
        course: its course, which may keep its solutions.
        progress: what the student has done.
        sure: whether the student confirmed that they want to see it before they pass.
        how: what to type to confirm.
        next_hint: a sentence that says how to get a hint.
    """
    name, done = exercise.name, progress.of(exercise.name)
    missing = ATTEMPTS_BEFORE_SOLUTION - done.tries
    if not course.has_solutions and not course.folders.is_bundled:
        return "This course keeps its solutions."
    if done.passed:
        return None
    if exercise.is_prediction:
        return "Guess first: the answer is shown once your guess is locked."
    if missing > 0:
        text = plural(
            "The solution of {name} opens when it has passed, or after {count} more different try with `check`.",
            "The solution of {name} opens when it has passed, or after {count} more different tries with `check`.",
            missing,
            name=name,
        )
        return text if done.hints >= len(exercise.hints) else f"{text} {next_hint}"
    if sure:
        return None
    text = "You have not passed {name} yet. To see its solution anyway: {how}."
    return text.format(name=name, how=how)


def solution_parts(exercise: Task, course: Outline) -> list[Part]:
    """Return the key's answer to an exercise and what its author says of it, with its other right answers folded."""
    where = course.folders.solutions / f"{exercise.lesson}.py"
    if not where.is_file():
        return [Prose("The solutions are not part of this installation.")]
    try:
        answer, *others = right_answers(where, exercise.name)
    except AuthorError as error:
        return [Prose(str(error))]
    parts: list[Part] = [Code(answer.source.strip(), "A solution", is_python=True)]
    parts += [Prose(said) for said in (answer.notice, answer.another_way) if said]
    more = tuple(Code(other.source.strip(), is_python=True) for other in others)
    title = plural("{count} other right answer", "{count} other right answers", len(more))
    return [*parts, *([Folded(title, more)] if more else [])]


def solution_card(exercise: Task, course: Outline) -> CardView:
    """Return the card of an exercise's solution."""
    badge = Badge("", "", "", "quiet")
    return CardView(CardFace(badge, exercise.title, exercise.name, tuple(solution_parts(exercise, course))), True)


def below_pass(result: ExerciseResult, exercise: Task, course: Outline, progress: Progress) -> tuple[Part, ...]:
    """Return what a card says below a pass: the points so far, the next exercise, and the solution if it is here.

    If the key is here and has no hidden check of the exercise, `result` is marked as that of all checks.
    """
    if result.verdict is not Verdict.PASSED:
        return ()
    where = course.folders.solutions / f"{exercise.lesson}.py"
    result.is_all = where.is_file() and not has_hidden_checks(where, exercise.name)
    place, book = Position(course, progress), course.book_of(exercise)
    counts, following = place.counts([book]), place.after(exercise)
    said = f"{counts.earned:g} of {counts.points:g} points in this lesson."
    if following is None:
        said += " All exercises are done."
    elif following.lesson == exercise.lesson:
        said += f" Next: {following.title} (`{following.name}`)."
    else:
        said += f" Next lesson: {course.book_of(following).title} (`{following.lesson}`)."
    has_solution = where.is_file() and result.reveal is None
    return (Prose(said), *(solution_parts(exercise, course) if has_solution else ()))
