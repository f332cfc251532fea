"""Test that code that never ends, exits, floods, forks or forges gets the right verdict and affects no other."""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from graded_files import grade_files
from needs import needs
from small_course import ANSWERS, FACTORS, without

from jaxguide.course.books.library import Course
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import SECCOMP
from jaxguide.grading.workers.zygote import the_zygote

Notebook = Callable[..., Path]


def one(course: Course, path: Path, limits: Limits) -> SubmissionResult:
    (result,) = grade_files([path], course, limits=limits)
    return result


TOOLS = """
import os, sys, time, ctypes, signal

def write_everywhere(text):
    for descriptor in range(190, 300):
        try: os.write(descriptor, text)
        except OSError: pass
"""


def in_calls(course: Course, notebook: Notebook, limits: Limits, bodies: Sequence[str]) -> list[ExerciseResult]:
    """Grade exercises with these bodies, and assert that the answer graded after them keeps its mark."""
    cells = [TOOLS]
    for name, body in zip(FACTORS, bodies, strict=False):
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        cells.append(f"def {name}(x):\n{lines}\n    return {FACTORS[name]} * x")
    result = one(course, notebook(*cells, ANSWERS["slope"]), limits)
    assert result.results[4].verdict == "passed"
    assert result.not_graded == {}
    assert no_stray_left()
    return result.results[: len(bodies)]


def no_stray_left() -> bool:
    """Return whether all workers and the processes they started are gone within a second."""
    gc.collect()  # ends what graders that earlier tests did not close keep for the next file
    zygote = the_zygote()
    for _moment in range(20):
        # The zygote adopts what leaves a worker's tree.
        if zygote is None or not psutil.Process(zygote.pid).children(recursive=True):
            return True
        time.sleep(0.05)
    return False


def test_threads_left_running_take_none_from_the_next_exercise(course: Course, notebook: Notebook) -> None:
    path = notebook(
        "import threading, time\nimport numpy as np\n"
        "def start_threads():\n    try:\n        for _ in range(5000):\n"
        "            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
        "    except RuntimeError:\n        pass",
        # In NumPy, so that JAX has not started its compiler threads yet.
        "def double(x):\n    start_threads()\n    return 2 * np.asarray(x)",
        *without("double"),
    )
    result = one(course, path, Limits(cpu_s=10.0, memory_bytes=2**30))
    assert [r.verdict.value for r in result.results[1:]] == ["passed"] * 5


@pytest.mark.long
def test_cells_that_end_the_process_are_left_out(course: Course, notebook: Notebook, quick: Limits) -> None:
    path = notebook(
        ANSWERS["double"],
        "while True:\n    pass",
        "import os\nos._exit(3)\ndef triple(x):\n    return 3 * x",
        "import sys\nsys.exit('enough')",
        *without("double", "triple"),
    )
    result = one(course, path, quick)
    assert [r.verdict.value for r in result.results] == ["passed", "exited", *["passed"] * 4]
    said = "\n".join(result.repairs)
    assert "code cell 2: left out. Your code was stopped after 2 seconds of computing." in said
    assert "code cell 3: left out. Your code ended the Python process (exit code 3)" in said
    assert "code cell 4: raised SystemExit: enough" in said
    assert no_stray_left()


def test_many_cells_that_end_the_process_end_the_attempt(
    course: Course, notebook: Notebook, quick: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxguide.grading.workers.session._LOST_CELLS_LIMIT", 2)
    path = notebook(ANSWERS["double"], *["import os; os._exit(0)"] * 15, ANSWERS["triple"])
    result = one(course, path, quick)
    assert [r.verdict.value for r in result.results][:2] == ["passed", "died"]


ENDS = {
    "waits": [
        ("time.sleep(1000)", "out of time", "of waiting"),
        ("while True: time.sleep(0.001)", "out of time", "of waiting"),
        ("input()", "error", "EOF"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", "error", "not permitted"),
    ],
    "signals": [
        ("os.kill(os.getpid(), 9)", "error", "not permitted"),
        ("ctypes.string_at(0)", "died", "SIGSEGV"),
        ("os.abort()", "died", "crash (signal SIG"),
        ("while True: print('spam' * 1000)", "too much output", "more than 16 MB"),
    ],
    "descriptors": [
        ("os.closerange(3, 300)", "exited", ""),
        ("write_everywhere(b'garbage' * 10)", "broken reply", "grader's connection"),
        ("write_everywhere(b'JGW1' + b'\\xff' * 40)", "broken reply", "grader's connection"),
        ("def f(n): return f(n + 1)\nf(0)", "error", "recursion"),
    ],
    "errors": [
        ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (10, 10))\nbytes(10**8)", "out of memory", ""),
        ("raise type('Odd\\x1b[31m', (BaseException,), {})('\\x1b]0;title\\x07' * 3)", "error", ""),
        ("raise type('Bad', (Exception,), {'__str__': lambda self: 1 / 0})()", "error", ""),
        ("return [0] * 250_000", "error", "too large"),
    ],
    "values": [
        ("return lambda: 3", "failed", ""),
        ("return 10 ** 10000", "failed", ""),
        ("return x.astype('complex64') * {'a': 1}", "error", ""),
        ("a = []\na.append(a)\nreturn a", "error", ""),
    ],
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", ENDS)
def test_ends_are_told_apart(course: Course, notebook: Notebook, quick: Limits, kind: str) -> None:
    results = in_calls(course, notebook, quick, [body for body, _verdict, _says in ENDS[kind]])
    for result, (body, verdict, says) in zip(results, ENDS[kind], strict=True):
        first = result.first_failure
        assert first is not None, body
        assert (body, result.verdict.value) == (body, verdict)
        assert says in first.message, body


HARMLESS = [
    "print('x' * 500_000)\nos.write(1, b'y' * 200_000)\nos.write(2, b'z' * 200_000)",
    "for d in range(3, 100):\n    try: os.write(d, b'garbage')\n    except OSError: pass",
    "import threading\nthreading.Thread(target=time.sleep, args=(100,), daemon=True).start()",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nimport atexit\natexit.register(time.sleep, 100)",
    # The following run in other workers: hidden checks run after all visible ones, and could no longer print.
    "os.closerange(0, 100)",
    "sys.stdout = sys.stderr = sys.stdin = None",
]


@pytest.mark.parametrize("start", range(0, len(HARMLESS), 4))
def test_what_does_no_harm_passes(course: Course, notebook: Notebook, quick: Limits, start: int) -> None:
    bodies = HARMLESS[start : start + 4]
    results = in_calls(course, notebook, quick, bodies)
    assert [(body, r.verdict.value) for body, r in zip(bodies, results, strict=True)] == [(b, "passed") for b in bodies]


def test_who_forks_is_refused_and_told(course: Course, notebook: Notebook, quick: Limits) -> None:
    needs(SECCOMP in find_isolation().parts, "a kernel that can refuse a fork (seccomp)")
    (result,) = in_calls(course, notebook, quick, ["os.fork()"])
    assert result.verdict.value == "error"
    assert result.first_failure is not None
    assert "PermissionError" in result.first_failure.message


def test_no_patch_in_the_worker_changes_a_mark(course: Course, notebook: Notebook, quick: Limits) -> None:
    patches = """
import jax, numpy as np, jax.numpy as jnp, sys, gc, builtins
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __array__(self, dtype=None, copy=None): return np.zeros(3)
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    shape, dtype, ndim = (3,), np.dtype('float32'), 1
class Liar(np.ndarray):
    def __array_function__(self, *args): return True
    def __array_ufunc__(self, *args, **kwargs): return True
    def __eq__(self, other): return True
for module in (np, jnp, np.testing):
    for name in ('allclose', 'array_equal', 'isclose', 'assert_allclose', 'assert_array_equal', 'array_equiv'):
        if hasattr(module, name): setattr(module, name, lambda *args, **kwargs: True)
for name in list(sys.modules):
    if name.startswith('jaxguide'):
        for key, value in list(vars(sys.modules[name]).items()):
            if key in ('judge', 'score', 'expect_close', 'grade'): vars(sys.modules[name])[key] = lambda *a, **k: 1
import jaxguide.course.verdict as v, jaxguide.course.judging.evaluate as e
v.score = lambda *args, **kwargs: 100
print('{"verdict": "passed", "score": 100}')
def double(x): return Yes()
def triple(x): return np.zeros(3, 'float32').view(Liar)
def quadruple(x): return True
def quintuple(x):
    frame = sys._getframe()
    while frame: frame.f_locals.update(result=True, passed=True); frame = frame.f_back
    return x
"""
    result = one(course, notebook(patches, ANSWERS["slope"], ANSWERS["pair"]), quick)
    # Since Python 3.13, the last of these really changes frames, which breaks the worker's own calls.
    assert result.results[3].verdict.value in (("failed",) if sys.version_info < (3, 13) else ("failed", "error"))
    assert [r.verdict.value for r in result.results if r.name != "quintuple"] == [*["failed"] * 3, "passed", "passed"]


def test_a_replaced_evaluator_can_only_return_values(course: Course, notebook: Notebook, quick: Limits) -> None:
    forge = """
import jaxguide.course.judging.evaluate as e
e.evaluate = lambda function, *rest: {'value': function.__name__ + ' passed', 'printed': 3 * (function is triple) or ''}
def double(x): return 2 * x
def triple(x): return 3 * x
"""
    (result,) = grade_files([notebook(forge)], course, limits=quick, only={"double", "triple"})
    assert [r.verdict.value for r in result.results] == ["failed", "broken reply"]


def test_values_of_another_form_than_a_check_expects_are_a_failure(course: Course, notebook: Notebook) -> None:
    cells = ["def pair(x):\n    return 3", "def slope(f, x):\n    return {'a': [None, 'b', 3.0j]}"]
    (result,) = grade_files([notebook(*cells)], course, only={"slope", "pair"})
    assert [r.verdict.value for r in result.results] == ["failed", "failed"]
    assert result.not_graded == {}
    assert "another form" in result.results[1].checks[0].message


FORGETS_WHERE_IT_CAME_FROM = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        names = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
        for place in iter(lambda n=iter(range(1000)): names[next(n)], None):
            ctypes.memset(place, 0, len(ctypes.string_at(place)))
        while True: time.sleep(1)
    os._exit(0)
time.sleep(0.5)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are refused on Linux only")
def test_a_process_that_leaves_session_parent_and_environment_is_ended(
    course: Course, notebook: Notebook, quick: Limits
) -> None:
    endings = ("", "os._exit(0)", "while True: pass")
    in_calls(course, notebook, quick, [FORGETS_WHERE_IT_CAME_FROM + ending for ending in endings])
