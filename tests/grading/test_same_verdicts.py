"""A worker judges as the author's own process does, check by check: keys, starters and planted wrong answers.

That keys pass in both, and starters count as not attempted, is tested more quickly in `test_the_lesson.py`.
"""

import ast
from pathlib import Path

import pytest
from lesson_files import right_answers, submission

from jaxguide.course.answer import LocalAnswer
from jaxguide.course.book import Book
from jaxguide.course.digest import course_digest
from jaxguide.course.draw import DEFAULT_SEED
from jaxguide.course.exercise import Exercise
from jaxguide.course.judge import judge
from jaxguide.course.library import Course, load_course
from jaxguide.course.verdict import ExerciseResult
from jaxguide.course.verify import run_answer
from jaxguide.grading.grade import grade

pytestmark = pytest.mark.long

_COURSE = load_course()
_BOOKS = list(_COURSE.books.values())
_SETS = [
    pytest.param(book, number, id=f"{book.topic}-{number}")
    for book in _BOOKS
    for number in range(max(len(e.key.wrong) for e in book.exercises if e.key))
]

Facts = dict[str, tuple[object, ...]]


def facts(result: ExerciseResult) -> Facts:
    """Return what a verdict consists of: the whole's, and each check's."""
    found: Facts = {"": (result.verdict.value, result.score)}
    for check in result.checks:
        named = check.misconceptions if not check.passed else ()
        found[check.name] = (check.verdict.value, named)
    return found


def in_process(course: Course, book: Book, exercise: Exercise, source: str) -> Facts:
    """Judge an answer as `jaxguide verify` does, with the inputs that the grader draws."""
    assert exercise.key is not None
    spaces = [run_answer(book, text) for text in (source, exercise.key.answer.source)]
    answer, reference = (LocalAnswer(exercise.name, space[exercise.name], space) for space in spaces)
    digest = course_digest(course)
    return facts(judge(exercise, answer, seed=DEFAULT_SEED, reference=reference, course_digest=digest))


def in_workers(book: Book, answers: dict[str, str], folder: Path) -> dict[str, Facts]:
    """Grade a notebook with these answers."""
    path = submission(book, folder / "ada.ipynb", answers)
    (graded,) = grade([path], _COURSE)
    assert not graded.not_graded
    return {result.name: facts(result) for result in graded.results}


def differences(book: Book, answers: dict[str, str], folder: Path) -> list[str]:
    there = in_workers(book, answers, folder)
    found = []
    for exercise in book.exercises:
        if exercise.name in answers and not exercise.is_prediction:
            here = in_process(_COURSE, book, exercise, answers[exercise.name])
            if here != there[exercise.name]:
                found.append(f"{exercise.name}: {here} here, {there[exercise.name]} in a worker")
    return found


@pytest.mark.parametrize("book", _BOOKS, ids=lambda book: book.topic)
def test_the_keys_answers(book: Book, tmp_path: Path) -> None:
    assert differences(book, right_answers(book), tmp_path) == []


@pytest.mark.parametrize("book", _BOOKS, ids=lambda book: book.topic)
def test_starters_that_were_begun(book: Book, tmp_path: Path) -> None:
    """One added statement, and a starter counts as an attempt, and is judged."""
    begun = {}
    for exercise in book.exercises:
        tree = ast.parse(exercise.starter_source)
        function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == exercise.name)
        function.body.append(ast.parse("begun = True").body[0])
        begun[exercise.name] = ast.unparse(tree) + "\n"
    assert differences(book, begun, tmp_path) == []


@pytest.mark.parametrize(("book", "number"), _SETS)
def test_the_planted_wrong_answers(book: Book, number: int, tmp_path: Path) -> None:
    """Each set has one wrong answer of every exercise that has so many."""
    planted = {e.name: e.key.wrong for e in book.exercises if e.key}
    answers = {name: wrong[number].source for name, wrong in planted.items() if number < len(wrong)}
    assert differences(book, answers, tmp_path) == []
