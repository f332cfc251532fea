"""Test that workers start, have limits that do not depend on the machine's load, and never outlive their grader."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from jaxguide.course.judging.evaluate import Request
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, Verdict
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.workers import zygote as zygotes
from jaxguide.grading.workers.usage import ProcessTree
from jaxguide.grading.workers.worker_process import GraderError, Surroundings, WorkerProcess
from jaxguide.grading.workers.zygote import Spawn, fresh_process, start_worker


@pytest.mark.parametrize("spawn", [pytest.param(start_worker, marks=pytest.mark.long), fresh_process])
def test_a_worker_that_does_not_start_blames_no_student(monkeypatch: pytest.MonkeyPatch, spawn: Spawn) -> None:
    isolation = find_isolation()  # its self-test starts processes, too
    zygotes.close_zygote()  # otherwise no process needs to be started
    for program in ("/bin/false", "/no/such/program"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(GraderError, match="did not start"):
            WorkerProcess(Surroundings(isolation=isolation), spawn=spawn)


def test_a_killed_worker_leaves_nothing_behind() -> None:
    worker = WorkerProcess()
    scratch, pid = worker._scratch, worker._process.pid
    assert scratch.is_dir()
    worker.kill()
    worker.kill()
    assert not scratch.exists()
    assert not psutil.pid_exists(pid)
    with pytest.raises(AnswerGone):
        worker.request("setup", source="")


def test_large_arguments_and_values_cross() -> None:
    import numpy as np

    from jaxguide.course.judging.values import to_data

    worker = WorkerProcess()
    worker.request("define", cell=1, source="def f(x): return x + 1", exercises=["f"], starters=[])
    request = Request((), "value", (((to_data(np.zeros(3_000_000, np.float32)),), {}),))
    assert worker.request("ask", name="f", request=request)["value"].values.sum() == 3_000_000
    worker.kill()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs Linux's /proc")
def test_a_class_of_thousands_is_hidden_and_its_names_are_told_to_no_worker() -> None:
    worker = WorkerProcess(
        Surroundings(tuple(Path(f"/class/{'x' * 60}{number}/name-of-another.py") for number in range(4000)))
    )
    source = """
import sys
def f():
    frames, frame = [], sys._getframe()
    while frame:
        frames.append(repr(list(frame.f_locals.items())))
        frame = frame.f_back
    with open("/proc/self/cmdline") as file:
        frames += [file.read(), repr(sys.argv), repr(sys.orig_argv)]
    return any("name-of-" + "another" in text for text in frames), len(frames)
"""
    worker.request("define", cell=1, source=source, exercises=["f"], starters=[])
    seen, places = worker.request("ask", name="f", request=Request((), "value", (((), {}),)))["value"]
    worker.kill()
    assert not seen
    assert places > 5


ORPHAN = """
import os, sys
from jaxguide.grading.workers.worker_process import WorkerProcess
worker = WorkerProcess()
print(worker._process.pid, flush=True)
worker.request("define", cell=1, source="while True: pass", exercises=[], starters=[])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it needs POSIX signals")
def test_a_worker_ends_with_its_grader_even_in_an_endless_loop(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, env=environment) as grader:
        assert grader.stdout is not None
        pid = int(grader.stdout.readline())
        time.sleep(0.2)
        grader.send_signal(signal.SIGKILL)
    for _moment in range(40):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    pytest.fail("the worker outlived its grader")


@pytest.mark.long
def test_computing_time_is_counted_over_all_calls_of_an_exercise() -> None:
    worker = WorkerProcess(Surroundings(limits=Limits(cpu_s=1.0)))
    source = "import time\ndef f():\n    end = time.process_time() + 0.4\n    while time.process_time() < end: pass\n"
    worker.request("define", cell=1, source=source, exercises=["f"], starters=[])
    request = Request((), "value", (((), {}),))
    worker.start_exercise()

    def call_often() -> None:
        for _call in range(10):
            worker.request("ask", name="f", request=request)

    with pytest.raises(AnswerGone) as gone:
        call_often()
    assert gone.value.verdict is Verdict.OUT_OF_TIME


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs thread states from Linux's /proc")
def test_who_waits_for_a_processor_is_not_idle() -> None:
    burn = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(burn) for _process in range(3 * (os.cpu_count() or 1))]
    measured = subprocess.Popen(burn)
    try:
        time.sleep(0.2)
        tree = ProcessTree(measured.pid)
        for _sample in range(20):
            time.sleep(0.1)
            used = tree.sample()
        assert used.wall_s > 1.9
        assert used.cpu_s < 0.9 * used.wall_s
        assert used.idle_s < 0.3
    finally:
        for process in (*others, measured):
            process.kill()
            process.wait()


def test_who_sleeps_is_idle() -> None:
    sleeps = "import time; print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", sleeps], stdout=subprocess.PIPE) as measured:
        assert measured.stdout is not None
        measured.stdout.readline()  # from now on it only sleeps
        tree = ProcessTree(measured.pid)
        for _sample in range(10):
            time.sleep(0.1)
            used = tree.sample()
        measured.kill()
    assert used.idle_s > 0.5 * used.wall_s
