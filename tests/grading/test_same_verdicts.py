"""Test that workers give the same verdict on each check as `verify`, for keys, starters and planted wrong answers.

`test_the_lesson.py` tests that starters count as not attempted.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from lesson_files import right_answers, submission
from needs import ON_THE_NEWEST

from jaxguide.course.books.book import Book, run_answer
from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.folders import course_folders, topics
from jaxguide.course.books.library import Course
from jaxguide.course.books.percent import split_cells
from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.draw import DEFAULT_SEED
from jaxguide.course.judging.judge import judge
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.batch.grader import SubmissionResult, grade_files

pytestmark = [pytest.mark.long, ON_THE_NEWEST]


def _sets() -> Iterator[tuple[str, int]]:
    """Yield (lesson, number) for each set of planted wrong answers, without loading the lesson."""
    for topic in topics():
        cells = split_cells((course_folders().solutions / f"{topic}.py").read_text("utf-8"))
        yield from ((topic, number) for number in range(max(source.count("@wrong(") for _name, source, _line in cells)))


Facts = dict[str, tuple[object, ...]]


def facts(result: ExerciseResult) -> Facts:
    """Return the verdict on an exercise and on each of its checks."""
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


def in_workers(course: Course, book: Book, answers: dict[str, str], folder: Path) -> SubmissionResult:
    """Grade a notebook with these answers."""
    path = submission(book, folder / "ada.ipynb", answers)
    (graded,) = grade_files([path], course)
    assert not graded.not_graded
    return graded


def differences(course: Course, book: Book, answers: dict[str, str], graded: SubmissionResult) -> list[str]:
    """Judge answers in this process, and return how a grader's verdicts differ."""
    there = {result.name: facts(result) for result in graded.results}
    found = []
    for exercise in book.exercises:
        if exercise.name in answers and not exercise.is_prediction:
            here = in_process(course, book, exercise, answers[exercise.name])
            if here != there[exercise.name]:
                found.append(f"{exercise.name}: {here} in this process, {there[exercise.name]} in a worker")
    return found


@pytest.mark.parametrize("topic", topics())
def test_the_keys_answers_get_full_marks(whole_course: Course, topic: str, tmp_path: Path) -> None:
    book = whole_course.books[topic]
    graded = in_workers(whole_course, book, right_answers(book), tmp_path)
    # `proving/test_course.py` proves that each check passes in this process.
    assert {c.name: c.verdict for e in graded.results for c in e.checks if not c.passed} == {}
    assert graded.score == graded.points == sum(e.points for e in book.exercises)
    assert len(graded.results) == len(book.exercises)


@pytest.mark.hours(reason="it judges each exercise twice more; CI does so with the keys' answers")
@pytest.mark.parametrize("topic", topics())
def test_starters_that_were_begun(whole_course: Course, topic: str, tmp_path: Path) -> None:
    """With one statement added, a starter counts as an attempt and is judged."""
    book = whole_course.books[topic]
    begun = {}
    for exercise in book.exercises:
        tree = ast.parse(exercise.starter_source)
        function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == exercise.name)
        function.body.append(ast.parse("begun = True").body[0])
        begun[exercise.name] = ast.unparse(tree) + "\n"
    assert differences(whole_course, book, begun, in_workers(whole_course, book, begun, tmp_path)) == []


@pytest.mark.hours(reason="it judges 681 wrong answers twice; CI does so with the keys' answers")
@pytest.mark.parametrize(("topic", "number"), list(_sets()))
def test_the_planted_wrong_answers(whole_course: Course, topic: str, number: int, tmp_path: Path) -> None:
    """Each set has one wrong answer to every exercise that has enough of them."""
    book = whole_course.books[topic]
    planted = {e.name: e.key.wrong for e in book.exercises if e.key}
    assert max(map(len, planted.values())) == sum(name == topic for name, _number in _sets())
    answers = {name: wrong[number].source for name, wrong in planted.items() if number < len(wrong)}
    assert differences(whole_course, book, answers, in_workers(whole_course, book, answers, tmp_path)) == []
