"""Test that a worker killed from outside costs no honest student a mark, and that killing oneself gains none."""

import concurrent.futures
import contextlib
import dataclasses
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from graded_files import grade_class
from needs import first_of
from small_course import ANSWERS

from jaxguide.course.books.book import Book
from jaxguide.course.books.library import Course
from jaxguide.course.judging.evaluate import Request
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import AnswerGone, ExerciseResult, Verdict
from jaxguide.grading.batch.control import Control, Turns
from jaxguide.grading.batch.grade_class import Order
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.isolation.stack import Isolation
from jaxguide.grading.workers import zygote as zygotes
from jaxguide.grading.workers.worker_process import WorkerKilled, WorkerProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs Linux's processes")

ONE = GradeSettings(only=frozenset({"double"}), limits=Limits(idle_s=600))
# The code waits in its call until the test gives it the lowest priority.
WAITS = """
import os, time

def double(x):
    os.write(1, b"in a call")
    while os.getpriority(os.PRIO_PROCESS, 0) < 19:
        time.sleep(0.01)
    return 2 * x
"""


def of_worker(worker: WorkerProcess) -> psutil.Process:
    return psutil.Process(worker._process.pid)


def kill(worker: WorkerProcess, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process that runs the code, and wait until it has ended."""
    process = of_worker(worker)
    process.send_signal(number)
    process.wait(60)


def in_a_call(worker: WorkerProcess) -> bool:
    with contextlib.suppress(ValueError):  # the output was closed
        return worker.is_alive and os.fstat(worker._output.fileno()).st_size > 0
    return False


def workers_of(grader: Grader) -> list[WorkerProcess]:
    """Return the living workers that run code."""
    registry = grader._surroundings.running
    with registry._lock:
        return [one for one in registry._workers if one.is_alive and one.course is None]


class Watch(threading.Thread):
    """Handle each worker of a grader once, when its code says that it is in a call.

    Args:
        grader: the grader.
        handle: gets the worker, and how many were handled before it.
    """

    def __init__(self, grader: Grader, handle: Callable[[WorkerProcess, int], None]):
        super().__init__(daemon=True)
        self._grader, self._deal_with = grader, handle
        self._ended = threading.Event()
        self.handled: list[WorkerProcess] = []

    def workers(self) -> list[WorkerProcess]:
        return workers_of(self._grader)

    def run(self) -> None:
        while not self._ended.wait(0.01):
            for worker in self.workers():
                if worker not in self.handled and in_a_call(worker):
                    self._deal_with(worker, len(self.handled))
                    self.handled.append(worker)

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._ended.set()
        self.join()


def release(worker: WorkerProcess) -> None:
    os.setpriority(os.PRIO_PROCESS, of_worker(worker).pid, 19)


def entry(source: str, name: str = "ada.py") -> Entry:
    return Entry(Path(name), source.encode())


def test_an_honest_worker_killed_in_a_call_gets_its_full_mark(course: Course) -> None:
    def handle(worker: WorkerProcess, before: int) -> None:
        if before:
            release(worker)
        else:
            kill(worker)

    grader = Grader(course, ONE)
    with Watch(grader, handle) as watch:
        result, *_confirmed = grader.grade_controlled(entry(WAITS))
    assert (result.state, result.score, result.not_graded) == (State.GRADED, 1.0, {})
    assert len(watch.handled) == 2


@pytest.mark.long
def test_while_a_killed_submission_runs_again_no_other_does(course: Course) -> None:
    seen: list[int] = []

    def handle(worker: WorkerProcess, before: int) -> None:
        if before == 0:
            while len([one for one in watch.workers() if in_a_call(one)]) < 2:
                time.sleep(0.01)
            kill(worker)
        else:
            seen.append(len(watch.workers()))
            release(worker)

    grader = Grader(course, ONE)
    with Watch(grader, handle) as watch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(grader.grade, [entry(WAITS), entry(WAITS, "bo.py")]))
    assert [one.score for one in results] == [1.0, 1.0]
    assert seen[1:] == [1]


def graded(course: Course, folder: Path) -> tuple[SubmissionResult, int]:
    """Grade a class of one; return its row, and how many files were graded now."""
    new: list[bool] = []
    order = Order([folder], course, folder.parent / "results", ONE, jobs=1)
    (row,) = grade_class(order, lambda result, is_new: new.append(is_new)).submissions
    return row, sum(new)


@pytest.fixture
def class_of_one(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.py").write_text(ANSWERS["double"])
    return tmp_path / "class"


def killing(
    monkeypatch: pytest.MonkeyPatch, operation: str, spared: Callable[[WorkerProcess], bool] = lambda worker: False
) -> list[int]:
    """Kill each worker right before it gets a request for this operation; return a growing list of those killed."""
    request, killed = WorkerProcess.request, list[int]()

    def killed_first(worker: WorkerProcess, asked: str, /, **fields: Any) -> dict[str, Any]:
        if asked == operation and not spared(worker):
            killed.append(of_worker(worker).pid)
            kill(worker)
        return request(worker, asked, **fields)

    monkeypatch.setattr(WorkerProcess, "request", killed_first)
    return killed


def test_a_submission_killed_twice_is_to_blame_if_the_control_passes(
    course: Course, class_of_one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controlled: list[str] = []
    trouble = Control._trouble

    def spare_the_control(control: Control, book: Book) -> str:
        controlled.append(book.topic)
        try:
            return trouble(control, book)
        finally:
            controlled.pop()

    monkeypatch.setattr(Control, "_trouble", spare_the_control)
    killed = killing(monkeypatch, "ask", spared=lambda worker: bool(controlled))
    row, new = graded(course, class_of_one)
    assert (row.state, row.score, row.not_graded, new) == (State.GRADED, 0.0, {}, 1)
    assert [one.verdict for one in row.results] == [Verdict.DIED]
    assert "killed (signal SIGKILL)" in row.results[0].checks[0].message
    assert len(killed) == 2
    monkeypatch.undo()
    assert graded(course, class_of_one)[1] == 0


@pytest.mark.long
def test_if_the_control_is_killed_too_there_is_no_mark_until_it_is_not(
    course: Course, class_of_one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = killing(monkeypatch, "ask")
    row, new = graded(course, class_of_one)
    assert (row.state, row.results, new) == (State.NOT_GRADED, [], 1)
    assert not row.is_complete
    assert row.not_graded[""].startswith("Not graded: the worker process was killed twice, and the key's answers do")
    assert len(killed) == 3
    monkeypatch.undo()
    row, new = graded(course, class_of_one)
    assert (row.state, row.score, new) == (State.GRADED, 1.0, 1)


def test_a_killed_cell_is_run_again_and_left_out_only_the_second_time(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = killing(monkeypatch, "define", spared=lambda worker: bool(killed))
    result = Grader(course, ONE).grade(entry(ANSWERS["double"]))
    assert (result.score, result.repairs, len(killed)) == (1.0, [], 1)


@pytest.mark.long
def test_what_was_told_before_a_worker_was_killed_is_not_told_again(course: Course) -> None:
    told: list[str] = []

    def tell(path: Path, result: ExerciseResult) -> None:
        told.append(result.name)
        if len(told) == 2:
            (worker,) = workers_of(grader)
            kill(worker)

    grader = Grader(course, GradeSettings(), tell)
    result = grader.grade(entry("\n\n".join(ANSWERS.values())))
    assert result.score == result.points
    assert told == [one.name for one in result.results[:2]]


@pytest.mark.parametrize("number", first_of([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], 1))
def test_code_that_kills_itself_gains_nothing(course: Course, number: int) -> None:
    grader = Grader(course, ONE)
    # Without isolation, nothing keeps the code from killing itself.
    grader._surroundings = dataclasses.replace(grader._surroundings, isolation=Isolation(()))
    source = f"import os, signal\ndef double(x):\n    signal.signal({number}, signal.SIG_DFL)\n"
    source = source if number != signal.SIGKILL else "import os\ndef double(x):\n"
    result, passed, _name = grader.grade_controlled(entry(f"{source}    os.kill(os.getpid(), {number})\n"))
    assert (result.state, result.score, result.not_graded) == (State.GRADED, 0.0, {})
    assert [one.verdict for one in result.results] == [Verdict.DIED]
    assert passed == 0


def ask(worker: WorkerProcess, source: str) -> None:
    worker.request("define", cell=1, source=source, exercises=["f"], starters=[])
    worker.start_exercise()
    worker.request("ask", name="f", request=Request((), "value", (((), {}),)))


def test_a_worker_killed_while_it_replies_did_not_break_its_reply() -> None:
    worker = WorkerProcess()
    source = "import os, time\ndef f():\n    for n in range(200, 204):\n        try: os.write(n, b'\\0')\n"
    source += "        except OSError: pass\n    os.write(1, b'in a call')\n    time.sleep(600)\n"

    def kill_in_a_call() -> None:
        while not in_a_call(worker):
            time.sleep(0.01)
        kill(worker)

    killer = threading.Thread(target=kill_in_a_call)
    killer.start()
    with pytest.raises(WorkerKilled):
        ask(worker, source)
    killer.join()
    assert not worker.is_alive


def test_a_crash_is_not_run_again() -> None:
    worker = WorkerProcess()
    with pytest.raises(AnswerGone) as gone:
        ask(worker, "import ctypes\ndef f():\n    ctypes.string_at(0)\n")
    assert gone.value.verdict is Verdict.DIED


def test_one_thread_is_alone_and_those_that_come_later_wait() -> None:
    turns, order = Turns(), list[str]()
    first_is_in, first_may_end = threading.Event(), threading.Event()

    def share(name: str, is_in: threading.Event, may_end: threading.Event) -> None:
        with turns.together():
            is_in.set()
            may_end.wait(60)
            order.append(name)

    def own() -> None:
        with turns.alone():
            order.append("alone")

    threads = [threading.Thread(target=share, args=("first", first_is_in, first_may_end)), threading.Thread(target=own)]
    threads.append(threading.Thread(target=share, args=("later", threading.Event(), first_may_end)))
    threads[0].start()
    first_is_in.wait(60)
    threads[1].start()
    while not (turns._gate.locked() or order):
        time.sleep(0.001)
    threads[2].start()
    first_may_end.set()
    for thread in threads:
        thread.join(60)
    assert order == ["first", "alone", "later"]


class MemoryGroup:
    """A control group whose processes share a limit on memory.

    Args:
        folder: its folder below /sys/fs/cgroup.
        limit_name: the name of the file with the limit.
    """

    def __init__(self, folder: Path, limit_name: str):
        self.folder, self._limit = folder, folder / limit_name

    def limit(self, size_bytes: int) -> None:
        self._limit.write_text(str(size_bytes))

    def add(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))


@pytest.fixture
def memory_group() -> Iterator[MemoryGroup]:
    top, name = Path("/sys/fs/cgroup"), f"jaxguide-test-{os.getpid()}"
    is_old = (top / "memory").is_dir()
    folder = top / "memory" / name if is_old else top / name
    group = MemoryGroup(folder, "memory.limit_in_bytes" if is_old else "memory.max")
    try:
        folder.mkdir()
        try:
            group.limit(2**40)
        except OSError:
            folder.rmdir()
            raise
    except OSError as error:
        pytest.skip(f"needs a control group for memory ({error}): run it as root where /sys/fs/cgroup is writable")
    yield group
    zygotes.close_zygote()  # the zygote is in the group
    for _moment in range(200):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.05)


LARGE = "import numpy as np\n\ndef double(x):\n    full = np.ones(2**26)\n    return 2 * x * full[0]\n"


@pytest.mark.long
@pytest.mark.parametrize("has_more_later", [True, False])
def test_who_exceeds_the_machines_memory_is_killed_by_the_kernel_and_has_another_try(
    course: Course, memory_group: MemoryGroup, monkeypatch: pytest.MonkeyPatch, has_more_later: bool
) -> None:
    again: list[Path] = []
    grade_again = Grader._grade_again

    def with_more_memory(grader: Grader, submitted: Entry) -> SubmissionResult:
        again.append(submitted.path)
        if has_more_later:
            memory_group.limit(2**40)
        return grade_again(grader, submitted)

    monkeypatch.setattr(Grader, "_grade_again", with_more_memory)
    zygotes.close_zygote()
    grader = Grader(course, ONE)
    zygote = zygotes.the_zygote()
    memory_group.add(zygote.pid)
    memory_group.limit(384 * 2**20)
    result, *_confirmed = grader.grade_controlled(entry(LARGE))
    assert len(again) == 1
    assert zygote.is_alive
    assert (result.state, result.not_graded) == (State.GRADED, {})
    assert result.results[0].verdict is (Verdict.PASSED if has_more_later else Verdict.DIED)
