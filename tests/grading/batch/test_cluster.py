"""Test that a Dask cluster grades a batch with the same results, even if some of its workers die."""

import contextlib
import dataclasses
import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST
from small_course import ANSWERS, without

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.grade_class import ClassRun, Order, Watch
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.store import NAME, Store
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.workers.worker_process import GraderError

distributed = pytest.importorskip("distributed", reason="needs the extra `cluster`")
pytestmark = [
    ON_THE_NEWEST,
    # Dask leaves sockets and event loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

ONLY = GradeSettings(seed=5, only=frozenset({"double", "pair"}))


@pytest.fixture(scope="module")
def cluster() -> "Iterator[distributed.LocalCluster]":
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    ) as made:
        yield made


@pytest.fixture
def classroom(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(14):
        answers = ANSWERS.values() if number % 3 else without("pair")
        (folder / f"s{number}.py").write_text("\n\n".join(answers))
    (folder / "empty.py").write_text("")
    return folder


def graded(order: Order, watch: Watch = lambda result, is_new: None) -> BatchResult:
    run = ClassRun(order)
    with Store(order.out) as store:
        run.grade(store, watch)
        return run.result(store)


def without_times(batch: BatchResult) -> BatchResult:
    rows = [dataclasses.replace(one, cpu_s=0.0, wall_s=0.0, memory_bytes=0) for one in batch.submissions]
    return dataclasses.replace(batch, submissions=rows)


def test_a_cluster_that_loses_a_worker_comes_to_what_one_machine_does(
    course: Course, classroom: Path, tmp_path: Path, cluster: "distributed.LocalCluster"
) -> None:
    here = graded(Order([classroom], course, tmp_path / "here", ONLY))
    killed: list[int] = []
    sources: list[str] = []

    def kill_one(result: SubmissionResult, is_new: bool) -> None:
        sources.append(result.student)
        if len(sources) == 4:
            with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
                busy = [address for address, tasks in client.processing().items() if tasks]
                pids = client.run(os.getpid, workers=busy[:1])
            killed.extend(pids.values())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    order = Order([classroom], course, tmp_path / "there", ONLY, scheduler=cluster.scheduler_address)
    there = graded(order, kill_one)
    assert killed
    assert without_times(there) == without_times(here)
    assert sorted(sources) == sorted(one.student for one in here.submissions)
    with contextlib.closing(sqlite3.connect(tmp_path / "there" / NAME)) as connection, connection:
        assert connection.execute("SELECT count(*), count(DISTINCT student) FROM submissions").fetchone() == (15, 15)
    again: list[bool] = []
    assert graded(order, lambda result, is_new: again.append(is_new)) == there
    assert again == [False] * 15


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (None, r"it did not answer within 1 s\."),
        (b"", r"it did not answer within 1 s\."),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, "another program answers there"),
    ],
    ids=["nobody", "silence", "another program"],
)
def test_where_no_scheduler_answers_one_sentence_says_so_soon(
    course: Course, classroom: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: bytes | None, why: str
) -> None:
    # A busy machine has time to receive the reply; for silence, one second is as good as more.
    monkeypatch.setattr("jaxguide.grading.batch.cluster._ANSWER_S", 60.0 if reply else 1.0)

    def answer() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _address = server.accept()
                connections.append(connection)
                connection.sendall(reply or b"")

    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "tcp://127.0.0.1:1" if reply is None else f"tcp://127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=answer, daemon=True).start()
        order = Order([classroom], course, tmp_path / "out", ONLY, scheduler=address)
        with pytest.raises(GraderError, match=f"No Dask scheduler was found at `{address}`: {why}"):
            graded(order)
        server.shutdown(socket.SHUT_RDWR)
    for connection in connections:
        connection.close()


def test_a_scheduler_without_workers_is_one_sentence(
    course: Course, classroom: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jaxguide.grading.batch.cluster._FIRST_WORKER_S", 2)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", host="127.0.0.1") as empty:
        order = Order([classroom], course, tmp_path / "out", ONLY, scheduler=empty.scheduler_address)
        with pytest.raises(GraderError, match=r"has no workers\. Start one"):
            graded(order)
