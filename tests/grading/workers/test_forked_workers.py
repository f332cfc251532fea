"""Test that forked workers hold, draw, see and are charged for the same as fresh ones, and nothing of others."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from jaxguide.course.judging.evaluate import Request
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import Isolation
from jaxguide.grading.workers.processes import environment
from jaxguide.grading.workers.worker_process import Surroundings, WorkerProcess
from jaxguide.grading.workers.zygote import Forked, Spawn, Zygote, can_fork, close_zygote, fresh_process, start_worker

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


SURROUNDINGS = """(
    [(fd, os.readlink(f"/proc/self/fd/{fd}").split(":")[0].split(" ")[0].rpartition("/#")[0])
     for fd in sorted(os.listdir("/proc/self/fd"), key=int) if os.path.lexists(f"/proc/self/fd/{fd}")],
    sorted(os.environ), sys.argv[0], sys.flags.safe_path, sys.path,
    os.getcwd() == os.environ["HOME"] == os.environ["TMPDIR"] == __import__("tempfile").gettempdir(),
    [__import__("signal").getsignal(n).__class__.__name__ + str(__import__("signal").getsignal(n)) for n in (13, 17)],
    os.getsid(0) == os.getpid(),
)"""


@pytest.mark.parametrize("isolation", [find_isolation(), pytest.param(Isolation(()), marks=pytest.mark.long)])
def test_a_forked_worker_is_surrounded_by_what_a_fresh_one_is(isolation: Isolation) -> None:
    seen = []
    spawns: tuple[Spawn, ...] = (start_worker, fresh_process)
    for spawn in spawns:
        one = WorkerProcess(Surroundings(isolation=isolation), spawn=spawn)
        seen.append(ask(one, SURROUNDINGS))
        one.kill()
    assert seen[0] == seen[1]
    # An empty stdin, stdout and stderr, and the worker's two pipes.
    assert [number for number, _kind in seen[0][0]] == ["0", "1", "2", "200", "201"]


def test_a_worker_shares_no_open_file_with_another(worker: WorkerProcess) -> None:
    other = WorkerProcess()
    flags = "[__import__('fcntl').fcntl(fd, __import__('fcntl').F_GETFL) for fd in (0, 1, 2)]"
    before = ask(other, flags)
    change = "[__import__('fcntl').fcntl(fd, __import__('fcntl').F_SETFL, os.O_NONBLOCK) for fd in (0, 1, 2)]"
    assert ask(worker, change) == [0, 0, 0]
    assert ask(worker, flags) != before
    assert ask(other, flags) == before
    other.kill()


def test_workers_do_not_draw_the_same_numbers(worker: WorkerProcess) -> None:
    other = WorkerProcess()
    for draw in (
        "__import__('random').random()",
        "float(__import__('numpy').random.random())",
        "float(__import__('numpy').random.default_rng().random())",
        "os.urandom(8).hex()",
        "str(__import__('uuid').uuid4())",
        "__import__('tempfile').mktemp(dir='')",
    ):
        assert ask(worker, draw) != ask(other, draw)
    other.kill()


def test_nothing_of_the_graders_environment_is_in_a_forked_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    close_zygote()  # the next zygote starts with the secret in the environment
    monkeypatch.setenv("ACCESS_TOKEN", "the-graders-own-secret")
    worker = WorkerProcess()
    outside = [Path(f"/proc/{one.pid}/environ").read_bytes() for one in worker.tree.processes()]
    outside.append(Path(f"/proc/{zygote_of(worker).pid}/environ").read_bytes())
    inside = ask(worker, "open('/proc/self/environ').read() + repr(dict(os.environ))")
    worker.kill()
    assert "graders-own-secret" not in inside
    assert not any(b"graders-own-secret" in one for one in outside)
    assert {name.split("=")[0] for name in inside.split("\0")[:-1]} == set(environment(Path()))


def test_what_the_zygote_imported_is_on_no_workers_account(worker: WorkerProcess) -> None:
    fresh = WorkerProcess(spawn=fresh_process)
    assert worker.tree.total_cpu_s < fresh.tree.total_cpu_s
    fresh.kill()


def test_what_a_worker_takes_is_its_own(worker: WorkerProcess) -> None:
    before = worker.tree.peak_bytes
    assert ask(worker, "len(globals().setdefault('kept', bytes(b'x') * (100 * 2**20)))") == 100 * 2**20
    worker.tree.sample()
    assert before + 95 * 2**20 < worker.tree.peak_bytes < before + 150 * 2**20


def test_the_compiler_is_no_students_memory(worker: WorkerProcess) -> None:
    before = worker.tree.peak_bytes
    scan = "__import__('jax').lax.scan(lambda c, x: (c + x, c * x), 0.0, __import__('jax').numpy.ones(3))[0].item()"
    assert ask(worker, scan) == 3
    worker.tree.sample()
    # The compiler's code, which the first program loads, takes another 60 MB.
    assert worker.tree.peak_bytes < before + 40 * 2**20


@pytest.mark.long
def test_processor_time_of_forked_workers_is_the_graders_childrens() -> None:
    def children_cpu_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    close_zygote()
    worker = WorkerProcess()
    source = "import time\ndef f():\n    while time.process_time() < 3: pass"
    worker.request("define", cell=1, source=source, exercises=["f"], starters=[])
    worker.request("ask", name="f", request=Request((), "value", (((), {}),)))
    worker.kill()
    zygote = psutil.Process(zygote_of(worker).pid)
    while zygote.children():
        time.sleep(0.01)
    before = children_cpu_s()
    own = zygote.cpu_times()
    close_zygote()
    assert children_cpu_s() - before > own.user + own.system + 2.5


def test_what_the_grader_does_between_requests_is_not_the_submissions_time(worker: WorkerProcess) -> None:
    worker.start_exercise()
    for one, name in ((worker, "_replied_at"), (worker.tree, "_wall_start"), (worker.tree, "_wall_last")):
        setattr(one, name, getattr(one, name) - 100)  # as if the grader had done something else for 100 s
    ask(worker, "1 + 1")
    used = worker.tree.sample()
    assert used.idle_s < 50
    assert used.wall_s < 50
