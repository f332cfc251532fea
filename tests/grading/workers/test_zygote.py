"""Test that forked workers match fresh ones, and that their zygote ends with the grader and survives every worker."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from needs import first_of

from jaxguide.course.books.library import Course
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.verdict import AnswerGone, ExerciseResult, Verdict
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.isolation.stack import Isolation
from jaxguide.grading.workers import zygote as zygote_module
from jaxguide.grading.workers.processes import command
from jaxguide.grading.workers.worker_process import GraderError, Surroundings, WorkerKilled, WorkerProcess
from jaxguide.grading.workers.zygote import Forked, Zygote, ZygoteError, can_fork, close_zygote

pytestmark = pytest.mark.skipif(not can_fork(), reason="workers are forked on Linux only")


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    worker = WorkerProcess()
    yield worker
    worker.kill()


def zygote_of(worker: WorkerProcess) -> Zygote:
    assert isinstance(worker._process, Forked)
    return worker._process.zygote


def ask(worker: WorkerProcess, expression: str) -> Any:
    source = f"import os, sys\ndef f():\n    return {expression}"
    assert worker.request("define", cell=1, source=source, exercises=["f"], starters=[])["failed"] is None
    return worker.request("ask", name="f", request=Request((), "value", (((), {}),)))["value"]


def is_gone(pid: int) -> bool:
    """Return whether a process ends within ten seconds."""
    for _moment in range(200):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_workers_are_forked_from_one_zygote_by_default(worker: WorkerProcess) -> None:
    other = WorkerProcess()
    zygote = zygote_of(worker)
    assert zygote_of(other) is zygote
    assert [psutil.Process(one._process.pid).ppid() for one in (worker, other)] == [zygote.pid] * 2
    other.kill()
    assert psutil.Process(zygote.pid).num_threads() == 1
    assert ask(worker, "[1, 2]") == [1, 2]


@pytest.mark.parametrize(
    ("before", "why"),
    [
        pytest.param("", "", marks=pytest.mark.long),
        ("jax.devices()", "backend has started"),
        pytest.param(
            "threading.Thread(target=threading.Event().wait, daemon=True).start()",
            "it has 2 threads",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_process_with_a_backend_or_threads_is_not_fit_to_be_forked(before: str, why: str) -> None:
    code = f"import jax, threading\nfrom jaxguide import compat\n{before}\nprint(compat.why_not_fork())"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith(why)
    assert bool(done.stdout.strip()) is bool(why)


@pytest.mark.long
def test_a_zygote_that_is_not_fit_says_why_and_workers_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    program = {"jaxguide.grading.workers.forking": [sys.executable, "-c", NOT_FIT, *sys.path]}
    monkeypatch.setattr(zygote_module, "command", lambda module: program.get(module) or command(module))
    with pytest.raises(ZygoteError, match="cannot be forked: it has 2 threads"):
        Zygote()
    monkeypatch.setattr("jaxguide.grading.workers.zygote._is_unfit", False)
    close_zygote()
    for _time in range(2):
        worker = WorkerProcess()
        assert not isinstance(worker._process, Forked)
        worker.kill()


NOT_FIT = """
import sys, threading, time
sys.path[:] = sys.argv[1:]
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
from jaxguide.grading.workers import forking
forking.MODULES = ()
forking.main()
"""


def test_a_zygote_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "jaxguide.grading.workers.zygote.command", lambda module: [sys.executable, "-c", "import no_such"]
    )
    with pytest.raises(ZygoteError, match="No module named 'no_such'"):
        Zygote()


@pytest.mark.parametrize(
    ("end", "code"), [("os._exit(0)", 0), ("os._exit(3)", 3), ("__import__('ctypes').string_at(0)", -11)]
)
def test_how_a_worker_ended_is_known(worker: WorkerProcess, end: str, code: int) -> None:
    assert isinstance(worker._process, Forked)
    assert worker._process.poll() is None
    with pytest.raises((AnswerGone, WorkerKilled)):
        ask(worker, end)
    assert (worker._process.poll(), worker._process.wait()) == (code, code)


def test_killing_a_worker_leaves_the_zygote_and_the_others(worker: WorkerProcess) -> None:
    zygote = zygote_of(worker)
    other = WorkerProcess()
    tree = [process.pid for process in other.tree.processes()]
    assert zygote.pid not in tree
    other.kill()
    assert all(is_gone(pid) for pid in tree)
    assert zygote.is_alive
    assert ask(worker, "1") == 1


LEAVES = """
import os, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if pid := os.fork():
        os.write(writing, b"%d" % pid)
        os._exit(0)
    time.sleep(600)
os.wait()
"""


def test_what_left_a_workers_tree_ends_with_it() -> None:
    worker = WorkerProcess(Surroundings(isolation=Isolation(())))
    worker.request("define", cell=1, source=LEAVES, exercises=[], starters=[])
    pid = int(ask(worker, "os.read(reading, 20).decode()"))
    assert psutil.pid_exists(pid)
    worker.kill()
    assert is_gone(pid)


def test_a_late_reply_of_the_zygote_is_no_other_workers(worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    zygote = zygote_of(worker)
    before = {one.pid for one in psutil.Process(zygote.pid).children()}
    os.kill(zygote.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr("jaxguide.grading.workers.zygote._FORK_LIMIT_S", 0.2)
        with pytest.raises(GraderError, match="did not fork a worker"):
            WorkerProcess()
    os.kill(zygote.pid, signal.SIGCONT)
    other = WorkerProcess()
    assert ask(other, "3") == 3
    (late,) = {one.pid for one in psutil.Process(zygote.pid).children()} - {other._process.pid} - before or {0}
    assert is_gone(late)
    assert zygote_of(other) is zygote
    other.kill()


@pytest.mark.long
def test_a_zygote_that_is_gone_blames_no_student_and_is_started_again(worker: WorkerProcess) -> None:
    zygote = zygote_of(worker)
    os.kill(zygote.pid, signal.SIGKILL)
    with pytest.raises(WorkerKilled):
        ask(worker, "__import__('time').sleep(100)")
    worker.kill()
    after = WorkerProcess()
    assert ask(after, "2") == 2
    assert zygote_of(after).pid != zygote.pid
    after.kill()


@pytest.mark.long
def test_a_batch_goes_on_when_the_zygote_is_killed(course: Course, notebook: Callable[..., Path]) -> None:
    zygotes: list[int] = []

    def kill_once(path: Path, result: ExerciseResult) -> None:
        assert zygote_module._zygote is not None
        zygotes.append(zygote_module._zygote.pid)
        if len(zygotes) == 1:
            workers = psutil.Process(zygotes[0]).children(recursive=True)
            os.kill(zygotes[0], signal.SIGKILL)
            assert all(is_gone(one.pid) for one in workers)

    close_zygote()  # the zygote of earlier tests
    grader = Grader(course, GradeSettings(), tell=kill_once)
    answers = [exercise.key.answer.source for exercise in course.exercises.values() if exercise.key is not None]
    first, second = (grader.grade(notebook(*answers, name=f"{name}.ipynb")) for name in ("ada", "bo"))
    assert len(set(zygotes)) > 1
    assert not first.not_graded
    assert not second.not_graded
    assert {one.verdict for one in (*first.results, *second.results)} == {Verdict.PASSED}


def test_threads_start_workers_at_the_same_time_and_each_has_its_own() -> None:
    def grade(number: int) -> Any:
        worker = WorkerProcess()
        try:
            return ask(worker, f"{number} + 1")
        finally:
            worker.kill()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(grade, range(8))) == list(range(1, 9))


@pytest.mark.long
def test_the_zygote_outlives_the_thread_that_started_it() -> None:
    close_zygote()
    workers: list[WorkerProcess] = []
    thread = threading.Thread(target=lambda: workers.append(WorkerProcess()))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert ask(workers[0], "1") == 1
    workers[0].kill()


GRADER = """
import os, sys, threading
from jaxguide.grading.workers.worker_process import WorkerProcess
worker = WorkerProcess()
pids = [process.pid for process in worker.tree.processes()]
if sys.argv[1] == "forked":
    pid = os.fork()  # holds the socket's other end open
    if pid == 0:
        threading.Event().wait(60)
        os._exit(0)
    print(pid, end=" ")
else:
    print(0, end=" ")
print(worker._process.zygote.pid, *pids, flush=True)
if sys.argv[1] == "exits":
    sys.exit()
worker.request("define", cell=1, source="while True: pass", exercises=[], starters=[])
"""


@pytest.mark.parametrize("way", first_of(["killed", "exits", "forked"], 1))
def test_the_zygote_and_all_workers_end_with_the_grader(way: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", GRADER, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as grader:
        assert grader.stdout is not None
        fork, *pids = map(int, grader.stdout.readline().split())
        assert len(pids) == 2
        if way == "exits":
            assert grader.wait(timeout=60) == 0
        else:
            grader.send_signal(signal.SIGKILL)
        assert [pid for pid in pids if not is_gone(pid)] == []
    if fork:
        os.kill(fork, signal.SIGKILL)


@pytest.mark.long
def test_no_module_of_the_package_starts_a_backend_when_it_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    started, *missing = done.stdout.splitlines()
    assert started == "started: []"
    count, absent = missing[0].split()
    assert int(count) > 100
    assert int(absent) < 20


IMPORT_ALL = """
import importlib, pkgutil
import jaxguide
from jaxguide import compat
count, absent, started = 0, 0, []
for found in pkgutil.walk_packages(jaxguide.__path__, "jaxguide.", onerror=lambda name: None):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError as error:  # of an extra that is not installed
        assert not str(error.name).startswith("jaxguide"), error
        absent += 1
        continue
    count += 1
    if compat.backend_started():
        started.append(found.name)
        break
print("started:", started)
print(count, absent)
"""
