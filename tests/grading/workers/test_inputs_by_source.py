"""Test that an `@input` of the key goes to a submission by its source, and that nothing else of the key does."""

from pathlib import Path

import numpy as np
import pytest
from tiny_course import edit

from jaxguide.course.books.library import load_course
from jaxguide.course.exercise import AuthorError
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.values import FunctionName, InputFunction
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.workers.wire import WireError, decode, encode
from jaxguide.proving.proof import ProofSettings
from jaxguide.proving.prover import prove_exercise

BOOK = '''
# %% exercise
@exercise(title="Apply", hints=["How often?", "Calls: https://docs.python.org", "f(f(____))"])
def twice(f, x):
    """Return f(f(x))."""
    ...


# %% check
@visible(twice)
def squares_twice(answer, draw):
    """It squares twice."""
    x = draw.floats(3)
    expect_close(answer(given(square), x), x**4)
'''

KEY = '''
# %% twice
ONLY_THE_KEY_HAS_IT = "the secret of the key"


@input
def shift(x):
    return square(x) + FACTOR + jnp.float32(0.25)


@answer
def twice(f, x):
    return f(f(x))


@wrong(rejected_by="squares_twice", says="The function is called once.", misses_the_point=True)
def once(f, x):
    return f(x)


@wrong(rejected_by="applies_what_is_not_in_the_book", says="It squares, whatever the function.")
def always_squares(f, x):
    return x**4


@hidden(idea="Any function.", on="a function that is not in the book")
def applies_what_is_not_in_the_book(answer, draw, reference):
    """It applies other functions, too."""
    x = draw.floats(2)
    expect_close(answer(given(shift), x), shift(shift(x)))
    expect_close(answer(given(shift), x), reference(given(shift), x), ONLY_THE_KEY_HAS_IT)
'''


@pytest.fixture
def course(tiny: Path) -> Path:
    """Return the tiny course with an exercise whose hidden check uses an input of the key."""
    for file, text in (("exercises/tiny.py", BOOK), ("solutions/tiny.py", KEY)):
        path = tiny / file
        path.write_text(path.read_text() + text)
    edit(tiny, "solutions/tiny.py", "expect_close, hidden, wrong", "expect_close, given, hidden, input, wrong")
    return tiny


def grade(folder: Path, source: str) -> SubmissionResult:
    grader = Grader(load_course(folder), GradeSettings(only=frozenset({"twice"})))
    result = grader.grade(Entry(Path("ada.py"), source.encode()))
    grader.close()
    return result


def test_a_hidden_check_can_use_a_function_that_is_not_in_the_book(course: Path) -> None:
    right = grade(course, "def twice(f, x):\n    return f(f(x))")
    assert [one.verdict for one in right.results] == [Verdict.PASSED], right.results
    wrong = grade(course, "def twice(f, x):\n    return x**4").results[0]
    assert wrong.verdict is not Verdict.PASSED
    failure = wrong.first_failure
    assert failure is not None
    assert failure.call.startswith("twice(shift, jnp.array(")
    assert failure.on == "a function that is not in the book"
    assert failure.says == ("It squares, whatever the function.",)


def test_verify_proves_it(course: Path) -> None:
    loaded = load_course(course)
    proof = prove_exercise(loaded.books["tiny"], loaded.exercise("twice"), ProofSettings.of_course(loaded))
    assert proof.problems == []


LOOK = '''
import gc
import sys


def everything(f):
    """Yield what a submission can reach from a function that it was given, and all else in the process."""
    frame = sys._getframe()
    while frame is not None:
        yield from (frame.f_globals, frame.f_locals, frame.f_code.co_consts)
        frame = frame.f_back
    yield from (vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__"))
    yield from (f.__globals__, f.__closure__ or (), f.__code__.co_consts, gc.get_objects())


def texts(one, depth=0):
    if isinstance(one, str):
        yield one
    elif type(one).__name__ == "InputFunction":
        yield one.source
    elif depth < 3 and isinstance(one, dict):
        for name, value in list(one.items()):
            yield from (*texts(name, depth + 1), *texts(value, depth + 1))
    elif depth < 3 and isinstance(one, (list, tuple, set, frozenset)):
        for value in list(one):
            yield from texts(value, depth + 1)


def twice(f, x):
    found = {text for one in everything(f) for text in texts(one)}
    # Backwards, so that the names are not found here.
    of_the_key = ["yek eht fo terces eht", "koob_eht_ni_ton_si_tahw_seilppa", "serauqs_syawla", "tupni@"]
    of_the_key.append("TI_SAH_YEK_EHT_YLNO")
    leaks = [text[:80] for text in found for name in of_the_key if name[::-1] in text]
    came = any("def shift" in text for text in found if "def texts" not in text)
    raise ValueError(f"leaks {leaks}, source {came}")
'''


def test_no_other_name_of_the_key_can_be_reached(course: Path) -> None:
    (result,) = grade(course, LOOK).results
    (hidden,) = (check for check in result.checks if check.hidden)
    assert hidden.error is not None
    # It finds the source that came with the call, which shows that it looks where things are.
    assert hidden.error.message == "leaks [], source True"


def test_the_wire_takes_code_only_in_requests_to_workers() -> None:
    source = InputFunction("shift", "def shift(x):\n    return x")
    request = Request((), "value", (((source, 1), {}),))
    assert decode(encode(request), takes_requests=True).calls[0][0] == (source, 1)
    with pytest.raises(WireError, match="does not belong"):
        decode(encode(request))
    with pytest.raises(WireError, match="does not belong"):
        decode(encode({"value": source}))


def test_a_submission_that_answers_with_code_has_a_broken_reply(course: Path) -> None:
    source = "from jaxguide.course.judging.values import InputFunction\n\n"
    (result,) = grade(course, source + "def twice(f, x):\n    return InputFunction('f', '1 / 0')").results
    assert result.verdict is Verdict.BROKEN_REPLY


def test_an_input_that_is_too_long_is_told_with_its_line(course: Path) -> None:
    edit(
        course,
        "solutions/tiny.py",
        "    return square(x) + FACTOR",
        f"    # {'x' * 20_000}\n    return square(x) + FACTOR",
    )
    with pytest.raises(AuthorError, match=r"the input `shift` has 20[0-9]+ characters of source, but at most 20000 go"):
        load_course(course)


def test_one_request_defines_an_input_once() -> None:
    from jaxguide.course.judging.values import from_data

    source = InputFunction("shift", "def shift(x):\n    return np.sin(x)")
    names = {"np": np}
    first, second = from_data((source, source), names)
    assert first is second
    assert first(0.0) == 0.0
    assert "shift" not in names
    assert from_data(FunctionName("np"), names) is np


@pytest.mark.parametrize("body", ["return x + ONLY_THE_KEY_HAS_IT", "return double(x)", "return twice(shift, x)"])
def test_an_input_that_needs_more_than_its_source_is_refused(course: Path, body: str) -> None:
    path = edit(course, "solutions/tiny.py", "return square(x) + FACTOR + jnp.float32(0.25)", body)
    with pytest.raises(AuthorError, match="the input `shift` reads `") as error:
        load_course(course)
    line = path.read_text().splitlines().index("def shift(x):")
    assert error.value.line - 1 == line
