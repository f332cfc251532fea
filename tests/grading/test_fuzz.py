"""Test that whatever is damaged in replies, notebooks, archives and tables is refused in a sentence, at little cost."""

import contextlib
import functools
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from mutations import bounded, with_other_bytes, with_other_parts
from small_course import ANSWERS

from jaxguide.base.plain import plain_of
from jaxguide.course.books.library import Course
from jaxguide.course.judging.evaluate import Request, evaluate
from jaxguide.course.verdict import AnswerGone, StudentError
from jaxguide.grading.intake.file_search import expand
from jaxguide.grading.intake.instructor_tables import TableError, read_overrides, read_roster
from jaxguide.grading.intake.reading import CourseText, read_content
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.reader import found_in
from jaxguide.grading.workers.remote_answer import RemoteAnswer
from jaxguide.grading.workers.session import defined_by

Try = Callable[[random.Random], bool]
"""Damage something and read it; return whether it could still be read."""
Question = Callable[[RemoteAnswer], object]

QUICK, ALL = 300, 100_000
COUNTS = [QUICK, pytest.param(ALL, marks=pytest.mark.hours(reason="100,000 inputs of each kind take minutes"))]
_ERROR = {"type_name": "ValueError", "message": "no", "line": 3, "source": "x = 1"}
_JSON: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x = 1",
    "\ud800",
    "\0",
    "%magic",
    "def double(x",
    [],
    {},
    [[]],
    [1, "x"],
]
_CELLS = ["%matplotlib inline", ANSWERS["double"], "def tripel(x):\n    return 3 * x", "x = ("]


def tried(attempt: Try, count: int) -> None:
    """Make attempts; some of them must be readable and some not, so that they reach all of the reading code."""
    chance = random.Random(count)
    read = sum(attempt(chance) for _number in range(count))
    assert 0 < read < count, read


@pytest.fixture(scope="module")
def text(course: Course) -> CourseText:
    return CourseText.of(course)


@pytest.mark.parametrize("count", COUNTS)
def test_replies_of_every_type_are_taken_or_broken(text: CourseText, count: int) -> None:
    names = list(ANSWERS)
    questions: list[Question] = [
        lambda answer: answer(jnp.ones(2)),
        lambda answer: answer.program(jnp.ones(2)),
        lambda answer: answer.observe_error(jnp.ones(2)),
        lambda answer: answer.jit.observe_calls([(jnp.ones(2),), (jnp.ones(2),)]),
        lambda answer: answer.key_use(jax.random.key(0)),
    ]
    good = plain_of(read_content("a.py", ANSWERS["double"].encode(), text))
    replies: list[tuple[dict[str, Any], Callable[[dict[str, Any]], object]]] = [
        ({"failed": _ERROR, "bound": ["double"], "values": ["triple"]}, lambda reply: defined_by(reply, names)),
        ({"submission": good}, lambda reply: found_in(reply, text)),
        ({"problem": "no"}, lambda reply: found_in(reply, text)),
        *((reply_to(question), functools.partial(asked, question)) for question in questions),
        *(({"printed": "", "error": _ERROR}, functools.partial(asked, question)) for question in questions),
    ]

    def attempt(chance: random.Random) -> bool:
        plain, read = chance.choice(replies)
        changed = with_other_parts(plain, chance)
        with contextlib.suppress(wire.WireError):
            changed = wire.decode(wire.encode(changed))
        if not isinstance(changed, dict):  # refused by `WorkerProcess`
            return False
        with bounded(changed), contextlib.suppress(AnswerGone, StudentError, UnreadableSubmission):
            read(changed)
            return True
        return False

    tried(attempt, count)


def reply_to(question: Question) -> dict[str, Any]:
    """Return what a worker with a right answer would reply."""
    replies: list[dict[str, Any]] = []

    def send(_name: str, request: Request) -> dict[str, Any]:
        replies.append(evaluate(lambda x: jax.random.normal(x) if x.ndim == 0 else 2 * x, request, {}))
        return replies[-1]

    question(RemoteAnswer("double", send))
    return replies[-1]


def asked(question: Question, reply: dict[str, Any]) -> object:
    return question(RemoteAnswer("double", lambda _name, _request: reply))


@pytest.mark.parametrize("count", COUNTS)
def test_notebooks_are_read_or_refused(text: CourseText, count: int) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "source": source, "outputs": []} for source in _CELLS]
    plain = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    content, script = json.dumps(plain).encode(), "\n\n".join(_CELLS).encode()

    def attempt(chance: random.Random) -> bool:
        name, changed = chance.choice(
            [
                ("a.ipynb", with_other_bytes(content, chance)),
                ("a.ipynb", json.dumps(with_other_parts(plain, chance, _JSON)).encode()),
                ("a.py", with_other_bytes(script, chance)),
            ]
        )
        with bounded(changed), contextlib.suppress(UnreadableSubmission):
            found = read_content(name, changed, text)
            reply = wire.decode(wire.encode({"submission": plain_of(found)}))
            assert isinstance(reply, dict)
            found_in(reply, text)
            return True
        return False

    tried(attempt, count)


@pytest.mark.parametrize("count", COUNTS)
def test_archives_are_listed_and_read_or_refused(tmp_path: Path, count: int) -> None:
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("work/hw.py", ANSWERS["double"])
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Ada_12_assignsubmission_file_/hw.py", ANSWERS["double"])
        archive.writestr("Bob_13_assignsubmission_file_/all.zip", inner.getvalue())
        archive.writestr("submission_metadata.yml", "submission_1:\n  :submitters:\n  - :name: Cy\n")
    path = tmp_path / "class.zip"

    def attempt(chance: random.Random) -> bool:
        changed = with_other_bytes(outer.getvalue(), chance)
        path.write_bytes(changed)
        read = False
        with bounded(changed):
            for row in expand([path]):
                with contextlib.suppress(UnreadableSubmission):
                    row.read()
                    read = True
        return read

    tried(attempt, count)


@pytest.mark.parametrize("count", COUNTS)
def test_rosters_are_read_or_refused(tmp_path: Path, count: int) -> None:
    tried(
        functools.partial(_table, tmp_path / "roster.csv", b'name,email\nAda,ada@x\n"Bob, jr",b@x\n', read_roster),
        count,
    )


@pytest.mark.parametrize("count", COUNTS)
def test_overrides_are_read_or_refused(course: Course, tmp_path: Path, count: int) -> None:
    content = b'student,exercise,points,reason\nAda,double,1,late\nBob,triple,0.5,"a, b"\n'
    read = functools.partial(read_overrides, course=course)
    tried(functools.partial(_table, tmp_path / "overrides.csv", content, read), count)


def _table(path: Path, content: bytes, read: Callable[[Path], object], chance: random.Random) -> bool:
    changed = with_other_bytes(content, chance)
    path.write_bytes(changed)
    with bounded(changed), contextlib.suppress(TableError):
        read(path)
        return True
    return False
