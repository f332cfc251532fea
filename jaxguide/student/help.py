"""Help with an exercise: its hints, one by one, and its solution, once it is open."""

import ast
from typing import Literal

from jaxguide.base.render.card import STATELESS, CardFace, Code, Folded, Part, Prose
from jaxguide.base.render.card_view import CardView
from jaxguide.base.text import plural
from jaxguide.course.books.key_text import has_hidden_checks, right_answers
from jaxguide.course.books.outline import Outline
from jaxguide.course.exercise import AuthorError, Task
from jaxguide.course.progress import ExerciseProgress, Progress
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.student.standing import Position

ATTEMPTS_BEFORE_SOLUTION = 3

FrontEnd = Literal["notebook", "terminal", "watch"]
"""Where a student works, which decides what they type."""

# What shows the first hint, a later one, and the solution before a pass.
_TYPED: dict[FrontEnd, tuple[str, str, str]] = {
    "notebook": ("`hint({name})` shows", "`hint({name}, {number})` shows", "`solution({name}, sure=True)`"),
    "terminal": (
        "`jaxguide hint {name}` shows",
        "`jaxguide hint {name} {number}` shows",
        "`jaxguide solution {name} --sure`",
    ),
    "watch": ("Press h for", "Press h for", "press s, and s again"),
}


def hint_card(
    exercise: Task, course: Outline, progress: Progress, where: FrontEnd, number: int | None = None
) -> CardView:
    """Return the card of a hint, or of a sentence if there is none, and record that it was read.

    Once the exercise has passed, nothing is recorded.

    Args:
        exercise: the exercise.
        course: its course.
        progress: what the student has done.
        where: where the card is shown.
        number: which hint, from 1; by default the one read last, or the first. After a pass, all by default.
    """
    done, total = progress.of(exercise.name), len(exercise.hints)
    if not total:
        return CardView(CardFace(STATELESS, f"There is no hint for `{exercise.name}`."))
    if number not in (None, *range(1, total + 1)):
        said = f"`{exercise.name}` has {total} hints: choose a number from 1 to {total}."
        return CardView(CardFace(STATELESS, said))
    if done.passed and number is None:
        parts = [_hint_part(text, f"{i}.") for i, text in enumerate(exercise.hints, 1)]
        return CardView(CardFace(STATELESS, f"All hints · {exercise.title}", exercise.name, tuple(parts)))
    number = number or max(done.hints, 1)
    if number > done.hints and not done.passed:
        done = progress.update(exercise.name, hints=number)
    parts = [_hint_part(exercise.hints[number - 1])]
    is_last = where != "watch" or number == done.hints  # `watch` shows the earlier ones, too
    following = _what_helps(exercise, course, done, where, number + 1) if is_last else ""
    parts += [Prose(following, "Next")] if following and not done.passed else []
    title = f"Hint {number} of {total} · {exercise.title}"
    return CardView(CardFace(STATELESS, title, exercise.name, tuple(parts)))


def _hint_part(text: str, label: str = "") -> Part:
    """Return a hint as code if it is Python: a skeleton with a blank `____`, or a worked example."""
    if "____" not in text:
        try:
            ast.parse(text)
        except SyntaxError:
            return Prose(text, label, has_links=True)
    return Code(text, label, is_python=True)


def stuck(exercise: Task, course: Outline, progress: Progress, where: FrontEnd) -> str:
    """Return a sentence that says how to get the next hint or else the solution; '' if there is neither."""
    done = progress.of(exercise.name)
    said = _what_helps(exercise, course, done, where, done.hints + 1)
    if not said or done.hints >= len(exercise.hints):
        return said
    return "Stuck? Press h for a hint." if where == "watch" else f"Stuck? {said}"  # `watch` shows it beside hints


def _what_helps(exercise: Task, course: Outline, done: ExerciseProgress, where: FrontEnd, number: int) -> str:
    """Return a sentence that says how to read the hint with this number or, behind the last, the solution."""
    total = len(exercise.hints)
    if number > total:
        is_kept = exercise.is_prediction or not (course.has_solutions or course.folders.is_bundled)
        return "" if is_kept else _how_it_opens(exercise, done, where)
    typed = _TYPED[where][number > 1].format(name=exercise.name, number=number)
    return f"{typed} hint {number} of {total}."


def _how_it_opens(exercise: Task, done: ExerciseProgress, where: FrontEnd) -> str:
    """Return a sentence that says when the solution opens, and what to type then."""
    name, missing = exercise.name, ATTEMPTS_BEFORE_SOLUTION - done.tries
    how = _TYPED[where][2].format(name=name)
    if missing <= 0:
        return f"To see the solution of `{name}` before you pass: {how}."
    more = "" if missing == ATTEMPTS_BEFORE_SOLUTION else "more "
    tries = plural("{count} {more}different answer", "{count} {more}different answers", missing, more=more)
    return f"The solution of `{name}` opens once you pass. To see it before, check {tries}, then {how}."


def why_closed(exercise: Task, course: Outline, progress: Progress, sure: bool, where: FrontEnd) -> str | None:
    """Return why the solution of an exercise is not shown yet, or None if it may be shown.

    Args:
        exercise: the exercise.
        course: its course, which may keep its solutions.
        progress: what the student has done.
        sure: whether the student confirmed that they want to see it before they pass.
        where: where they asked.
    """
    done = progress.of(exercise.name)
    if not course.has_solutions and not course.folders.is_bundled:
        return "This course keeps its solutions."
    if done.passed:
        return None
    if exercise.is_prediction:
        return "Guess first: the answer is shown once your guess is locked."
    if sure and done.tries >= ATTEMPTS_BEFORE_SOLUTION:
        return None
    said = _how_it_opens(exercise, done, where)
    is_hint_left = done.hints < len(exercise.hints)
    return f"{said} {stuck(exercise, course, progress, where)}" if is_hint_left else said


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
    return CardView(CardFace(STATELESS, exercise.title, exercise.name, tuple(solution_parts(exercise, course))), True)


def below_pass(result: ExerciseResult, exercise: Task, course: Outline, progress: Progress) -> tuple[Part, ...]:
    """Return what a card says below a pass: the points so far, the next exercise, and the solution if it is here.

    If the key is here and has no hidden check of the exercise, `result` is marked as that of all checks.
    """
    if result.verdict is not Verdict.PASSED:
        return ()
    where = course.folders.solutions / f"{exercise.lesson}.py"
    result.is_all = where.is_file() and not has_hidden_checks(where, exercise.name)
    place, book = Position(course, progress), course.book_of(exercise)
    counts = place.counts([book])
    why_so_far = 'It says "so far" because grading tries more than this check did. '
    said = "" if result.is_all or result.reveal is not None else why_so_far
    said += f"{counts.worth} in this lesson. {place.next_step(book, exercise.name)}"
    if result.reveal is not None and not result.why and exercise.hints:
        said = f"The hints tell more. {said}"
    has_solution = where.is_file() and result.reveal is None
    return (Prose(said), *(solution_parts(exercise, course) if has_solution else ()))
