"""Test that a worker's reply is validated completely before a check sees it."""

from typing import Any

import pytest

from jaxguide.course.judging.answer import Answer
from jaxguide.course.verdict import AnswerGone, ErrorInfo, StudentError, Verdict
from jaxguide.grading.workers.remote_answer import BrokenAnswer, RemoteAnswer
from jaxguide.keys import KeyProblem, KeyReport, Use
from jaxguide.tracing import Output, Program


def answering(reply: dict[str, Any]) -> Answer:
    return RemoteAnswer("f", lambda name, request: reply)


SEEN = {"value": 1, "arguments": (1,), "error": None, "lines": ["a"], "warnings": [], "traces": 1, "compiles": 1}
PROGRAM = Program({"add": 2}, [Output((3,), "float32", False)]).to_plain()
KEY_USE = KeyReport([Use("draw", (0, 1), "fry", 3)], [KeyProblem("drawn_twice", "twice")]).to_plain()
ERROR = {"type_name": "E", "message": "", "line": 1, "source": ""}
EXPLANATION = {"title": "t", "what": "w", "why": "y", "fixes": (("sentence", "code"),), "link": ""}
QUESTIONS = {"observe": [SEEN], "program": PROGRAM, "key_use": KEY_USE}


@pytest.mark.parametrize("question", QUESTIONS)
def test_good_replies_come_through(question: str) -> None:
    getattr(answering({"value": QUESTIONS[question], "printed": ""}), question)(1)


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"printed": ""},
        {"value": 1},
        {"value": 1, "printed": 7},
        {"value": 1, "error": None, "printed": ""},
        {"error": [], "printed": ""},
        {"error": {"type_name": 3}, "printed": ""},
        {"error": {"type_name": 3, "message": "", "line": None, "source": ""}, "printed": ""},
        {"error": {"type_name": "E", "message": "", "line": "1", "source": ""}, "printed": ""},
        {"error": {**ERROR, "cell": 7}, "printed": ""},
        {"error": {**ERROR, "mark": 1}, "printed": ""},
        {"error": {**ERROR, "explanation": 7}, "printed": ""},
        {"error": {**ERROR, "explanation": {**EXPLANATION, "title": 7}}, "printed": ""},
        {"error": {**ERROR, "explanation": {**EXPLANATION, "fixes": (("a", "b", "c"),)}}, "printed": ""},
        {"error": {**ERROR, "explanation": {**EXPLANATION, "fixes": (("a", 1),)}}, "printed": ""},
    ],
)
def test_a_reply_out_of_shape_is_the_submissions_failure(reply: dict[str, Any]) -> None:
    with pytest.raises(AnswerGone, match="grader's connection") as gone:
        answering(reply)(1)
    assert gone.value.verdict is Verdict.BROKEN_REPLY


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("observe", None),
        ("observe", []),
        ("observe", [SEEN, SEEN]),
        ("observe", [{**SEEN, "traces": "none"}]),
        ("observe", [{**SEEN, "traces": True}]),
        ("observe", [{**SEEN, "lines": [1]}]),
        ("observe", [{**SEEN, "error": {"type_name": 1}}]),
        ("observe", [{**SEEN, "more": 1}]),
        ("observe", [{"value": 1}]),
        ("program", 3),
        ("program", {**PROGRAM, "primitives": {"add": "2"}}),
        ("program", {**PROGRAM, "outputs": [{**PROGRAM["outputs"][0], "dtype": 32}]}),
        ("program", {**PROGRAM, "outputs": 3}),
        ("key_use", {**KEY_USE, "uses": [{"kind": 3}]}),
        ("key_use", {**KEY_USE, "uses": [{**KEY_USE["uses"][0], "bits": ["0"]}]}),
        ("key_use", {**KEY_USE, "problems": [{"kind": 1, "message": ""}]}),
        ("key_use", {**KEY_USE, "uses": 3}),
    ],
)
def test_what_is_observed_has_its_declared_types(question: str, value: Any) -> None:
    with pytest.raises(AnswerGone, match="grader's connection"):
        getattr(answering({"value": value, "printed": ""}), question)(1)


def test_a_broken_definition_answers_every_question_with_its_failure() -> None:
    answer = BrokenAnswer("f", StudentError(ErrorInfo("NameError", "name 'x' is not defined", 2)))
    for ask in (answer, answer.jit, answer.vmap(), answer.observe, answer.grad().program, answer.key_use):
        with pytest.raises(StudentError, match="NameError"):
            ask(1.0)


def test_the_message_of_an_observed_error_is_cut() -> None:
    error = {"type_name": "ValueError", "message": "m" * 10**5, "line": 1, "source": ""}
    seen = answering({"value": [{**SEEN, "error": error}], "printed": ""}).observe_error(1)
    assert seen.error is not None
    assert len(seen.error.message) < 30_000


def test_an_explanation_is_cut_to_what_a_card_can_show() -> None:
    long = "l" * 10**5
    explanation = {"title": long, "what": long, "why": long, "fixes": ((long, long),) * 1000, "link": "javascript:1"}
    with pytest.raises(StudentError) as raised:
        answering({"error": {**ERROR, "cell": long, "explanation": explanation}, "printed": ""})(1)
    info = raised.value.info
    assert info.explanation is not None
    assert info.explanation.link == ""
    assert len(repr(info)) < 12_000
