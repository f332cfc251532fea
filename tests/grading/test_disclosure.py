"""Test that a submission cannot pass a hidden input on to its student, whatever it writes it into."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from graded_files import grade_files
from needs import first_of
from small_course import ANSWERS, without

from jaxguide.course.books.digest import course_digest
from jaxguide.course.books.library import Course
from jaxguide.course.judging.draw import Draw
from jaxguide.course.verdict import Kind, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.reports import write_reports
from jaxguide.grading.reports.results_json import to_text

Notebook = Callable[..., Path]
SEED = 20_031

# Runs before each attempt: `told` gives the digits of the first number in a hidden or visible input.
TOOLS = """
import jax, numpy as np

def told(x):
    return str(int(round(abs(float(np.asarray(x).reshape(-1)[0])) * 10**6))).zfill(7)

seen = []
def watch(x):
    if not isinstance(x, jax.core.Tracer) and x.shape == (5,):
        seen.append(told(x))
    return bool(seen)
"""

# Each attempt tries a different way to leak what it has seen of the hidden check of `double`.
IN_THE_CALL = {
    "the text of an exception": "raise ValueError(seen[0])",
    "the class of an exception": "raise type('E' + seen[0], (Exception,), {})('x')",
    "a class named after a builtin": "raise type('ValueError' + seen[0], (ValueError,), {})()",
    "notes of an exception": "e = ValueError('x'); e.add_note(seen[0]); raise e",
    "the cause of an exception": "raise ValueError('x') from KeyError(seen[0])",
    "a group of exceptions": "raise ExceptionGroup(seen[0], [ValueError(seen[0])])",
    "the line of an exception": "exec(compile('\\n' * (int(seen[0]) % 90_000) + 'raise ValueError', 'cell', 'exec'))",
    "the function of an exception": "exec(f'def f{seen[0]}(): raise ValueError\\nf{seen[0]}()')",
    "the source of an exception": "exec(f'raise ValueError  # {seen[0]}')",
    "the explanation of an exception": "exec(f'v{seen[0]} = x\\nif jax.jit(bool)(v{seen[0]}[0]): pass')",
    "an explanation of its own": "from jaxguide.course import verdict; "
    "from jaxguide.course.judging import evaluate as e; "
    "t = verdict.ExplanationText(*[seen[0]] * 3, ((seen[0], seen[0]),), 'https://docs.jax.dev/' + seen[0]); "
    "e.describe_error = lambda *_: verdict.ErrorInfo('ValueError', 'm', 1, '', seen[0], t); raise ValueError",
    "a syntax error": "exec(f'{seen[0]} {seen[0]}')",
    "sys.exit": "import sys; sys.exit(seen[0])",
    "a keyboard interrupt": "raise KeyboardInterrupt(seen[0])",
    "printed lines": "print(seen[0]); import sys; print(seen[0], file=sys.stderr); return x",
    "output below Python": "import os; os.write(1, seen[0].encode()); os.write(2, seen[0].encode()); return x",
    "a warning": "import warnings; warnings.warn(seen[0]); return x",
    "the value": "return x * 0 + int(seen[0])",
    "text as value": "return seen[0]",
    "the shape": "return jnp.zeros((1, int(seen[0])))",
    "keys of a dict": "return {seen[0]: x}",
    "the name of a type": "import collections; return collections.namedtuple('T' + seen[0], 'a')(x)",
    "the name of an object's type": "return type('T' + seen[0], (), {})()",
    "the status of the process": "import os; os._exit(int(seen[0]) % 256)",
    "a file": "open('feedback.txt', 'w').write(seen[0]); open('results.json', 'w').write(seen[0]); return x",
}


def hidden_digits(course: Course) -> str:
    draw = Draw.hidden(SEED, course_digest(course), "double", "doubles_any_numbers")
    return str(round(abs(float(draw.floats(5)[0])) * 10**6)).zfill(7)


def texts(result: SubmissionResult, folder: Path, reveal: bool = False) -> str:
    """Return all text that the student can read, one file after the other."""
    write_reports(BatchResult([result]), folder, reveal=reveal)
    return "\n".join(path.read_text() for path in sorted((folder / "feedback").iterdir()))


def graded(course: Course, path: Path) -> SubmissionResult:
    (result,) = grade_files([path], course, seed=SEED)
    return result


def failing_hidden(result: SubmissionResult) -> Verdict:
    (check,) = (check for check in result.results[0].checks if check.hidden)
    return check.verdict


@pytest.mark.parametrize("way", first_of(IN_THE_CALL, 2))
def test_nothing_of_a_hidden_call_reaches_the_student(
    course: Course, notebook: Notebook, tmp_path: Path, way: str
) -> None:
    body = f"def double(x):\n    if watch(x):\n        {IN_THE_CALL[way]}\n    return 2 * x\n"
    result = graded(course, notebook(TOOLS, body, *without("double")))
    said = texts(result, tmp_path / "results")
    digits = hidden_digits(course)
    assert failing_hidden(result) not in (Verdict.PASSED, Verdict.NOT_CHECKED)
    assert digits not in said.replace(".", "")
    assert digits[:5] not in said.replace(".", "")
    assert str(int(digits) % 90_000 + 1) not in said
    assert f"exit code {int(digits) % 256}" not in said
    # The check's subject and the results of other exercises are still shown.
    assert "It multiplies any numbers by 2.0." in said
    assert "One factor for all." in said
    assert [one.verdict.value for one in result.results[1:]] == ["passed"] * 5


SHOWN = ["the text of an exception", "the class of an exception", "printed lines", "the value", "keys of a dict"]


@pytest.mark.parametrize("way", first_of(SHOWN, 2))
def test_the_instructor_and_with_reveal_the_student_see_it(
    course: Course, notebook: Notebook, tmp_path: Path, way: str
) -> None:
    """The text that the other test expects to be hidden does exist."""
    body = f"def double(x):\n    if watch(x):\n        {IN_THE_CALL[way]}\n    return 2 * x\n"
    result = graded(course, notebook(TOOLS, body))
    digits = hidden_digits(course)
    everything = to_text(BatchResult([result]))
    assert digits in everything.replace(".", "") or f"{float(digits):.7e}"[:8] in everything
    assert result.results[0].checks[1].call.startswith("double(")
    if way != "the value":
        assert digits in texts(result, tmp_path, reveal=True)


LATER = {
    "the text of an exception": "raise ValueError(seen[0])",
    "the value": "return x * 0 + int(seen[0])",
    "printed lines": "print(seen[0]); return x",
    "the shape": "return jnp.zeros((1, int(seen[0])))",
}


@pytest.mark.parametrize("way", first_of(LATER, 1))
def test_what_one_exercise_has_seen_no_later_check_or_exercise_tells(
    course: Course, notebook: Notebook, tmp_path: Path, way: str
) -> None:
    """Visible checks are shown in full, so they must all have run before the first hidden input."""
    told = f"    if watch(x) or seen:\n        {LATER[way]}\n"
    double = f"def double(x):\n{told}    return 2 * x\n"
    triple = f"def triple(x):\n{told}    return 2 * x\n"  # wrong, so that one of its visible checks is shown
    slope = f"def slope(f, x):\n{told}    return jax.grad(f)(x)\n"  # has only visible checks
    result = graded(course, notebook(TOOLS, double, triple, slope, *without("double", "triple", "slope")))
    verdicts = {one.name: one.verdict for one in result.results}
    said = texts(result, tmp_path)
    assert hidden_digits(course) not in said.replace(".", "")
    assert verdicts["slope"] is Verdict.PASSED
    failed = [check for check in result.results[1].checks if check.verdict is Verdict.FAILED]
    (shown,) = (check for check in failed if not check.hidden)
    assert shown.name == "triples_three_numbers"
    assert (shown.compared or shown.got) in said


def test_a_process_that_ends_in_a_hidden_check_leaves_nothing_for_the_next(
    course: Course, notebook: Notebook, tmp_path: Path
) -> None:
    """After a crash, the cells run again in a process that knows nothing."""
    remember = "open('memory', 'a').write(told(x)); import os; os.environ['SEEN'] = told(x); os._exit(3)"
    recall = (
        "import os\nfound = os.environ.get('SEEN', '')\n"
        "for place in ('memory', '/tmp/memory'):\n    if os.path.exists(place):\n        found += open(place).read()\n"
        "if found:\n    raise ValueError(found)\n"
    )
    double = f"def double(x):\n    if watch(x):\n        {remember}\n    return 2 * x\n"
    result = graded(course, notebook(recall, TOOLS, double, *without("double")))
    assert failing_hidden(result) not in (Verdict.PASSED, Verdict.NOT_CHECKED)
    assert [one.verdict.value for one in result.results[1:]] == ["passed"] * 5
    assert result.repairs == []
    assert hidden_digits(course) not in texts(result, tmp_path)


FORGERIES = {
    "exit status 0": "import os; os._exit(0)",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "printed passes": 'print(\'passed\'); print(\'{"verdict": "passed", "score": 7}\'); return x',
    "a results file": "open('results.json', 'w').write('{\"score\": 7}'); return x",
    "a value that says so": "return 'passed'",
    "an exception that says so": "raise type('Passed', (Exception,), {})('passed')",
    "an equal of everything": "return type('A', (), {'__eq__': lambda self, other: True})()",
}


@pytest.mark.parametrize("way", first_of(FORGERIES, 2))
def test_nothing_but_the_value_is_a_verdict(course: Course, notebook: Notebook, tmp_path: Path, way: str) -> None:
    result = graded(course, notebook(f"def double(x):\n    {FORGERIES[way]}\n", ANSWERS["triple"]))
    double, triple = result.results[:2]
    assert double.verdict is not Verdict.PASSED
    assert (double.score, triple.score, result.score) == (0, 1, 1)
    everything = json.loads(to_text(BatchResult([result])))
    assert {check["kind"] for one in everything["submissions"] for e in one["exercises"] for check in e["checks"]} <= {
        kind.value for kind in Kind
    }


def test_each_check_says_what_it_decides_on(course: Course, notebook: Notebook) -> None:
    result = graded(course, notebook(ANSWERS["double"]))
    kinds = {check.name: check.kind for check in result.results[0].checks}
    assert kinds == {
        "doubles_three_numbers": Kind.VALUE,
        "doubles_any_numbers": Kind.VALUE,
        "double_traces_once": Kind.OBSERVED,
    }
