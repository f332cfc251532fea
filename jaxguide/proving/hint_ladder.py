"""Prove the hints of an exercise: each rung has what it must have, and the worked sibling runs and is no answer."""

import ast
import contextlib
import io
import re
from collections.abc import Iterator

from jaxguide.course.exercise import Exercise
from jaxguide.course.judging.answer import Answer
from jaxguide.course.judging.judge import Judging
from jaxguide.course.verdict import Verdict
from jaxguide.proving.planted_judge import PlantedJudge


def ladder_problems(judge: PlantedJudge) -> Iterator[str]:
    """Yield a sentence for each problem with the hints of an exercise; the fourth, if it has one, is Python that runs.

    Args:
        judge: judges answers to the exercise.
    """
    exercise, name = judge.exercise, judge.exercise.name
    if len(exercise.hints) < 3:
        should = "it should have three: a question, the concept with a link, a skeleton"
        yield f"`{name}` has {len(exercise.hints)} hints; {should}"
        return
    question, concept, skeleton, *siblings = exercise.hints
    if "?" not in question:
        yield f"the first hint of `{name}` is not a question"
    if "https://" not in concept:
        yield f"the second hint of `{name}` has no link to the concept"
    if "____" not in skeleton:
        yield f"the third hint of `{name}` has no blank `____`"
    for number, hint in enumerate(exercise.hints, start=1):
        if re.search(r"\bTODO\b", hint):
            yield f"hint {number} of `{name}` still says TODO"
    for source in siblings:
        yield from _sibling_problems(judge, source)


def _sibling_problems(judge: PlantedJudge, source: str) -> Iterator[str]:
    name = judge.exercise.name
    try:
        defined = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        with contextlib.redirect_stdout(io.StringIO()):
            names = judge.run(source)
    except Exception as error:
        yield f"the worked sibling of `{name}` cannot be run: {type(error).__name__}: {error}"
        return
    if name in defined:
        yield f"the worked sibling of `{name}` defines `{name}` itself; work out another task"
    for other in defined:
        if _passes(judge.exercise, judge.limited(names[other], names)):
            yield f"the worked sibling `{other}` of `{name}` is an answer to it; work out another task"


def _passes(exercise: Exercise, answer: Answer) -> bool:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        return Judging(exercise).judge(answer, until_decided=True).verdict is Verdict.PASSED
    return False
