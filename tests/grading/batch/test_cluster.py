"""Test that a Dask cluster grades a batch with the same results, even if some of its workers die."""

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from graded_files import grade_class, without_times
from needs import ON_THE_NEWEST
from small_course import ANSWERS, without

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.control import GraderBroken, GraderLost
from jaxguide.grading.batch.grade_class import Order
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.store import NAME
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.workers.worker_process import GraderError

distributed = pytest.importorskip("distributed", reason="needs the extra `cluster`")
from jaxguide.grading.batch.cluster import ClusterGrader  # noqa: E402

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


def test_a_cluster_that_loses_a_worker_comes_to_what_one_machine_does(
    course: Course, classroom: Path, tmp_path: Path, cluster: "distributed.LocalCluster"
) -> None:
    here = grade_class(Order([classroom], course, tmp_path / "here", ONLY))
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
    there = grade_class(order, kill_one)
    assert killed
    assert without_times(there) == without_times(here)
    assert sorted(sources) == sorted(one.student for one in here.submissions)
    with contextlib.closing(sqlite3.connect(tmp_path / "there" / NAME)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM submissions").fetchone() == (15,)
    again: list[bool] = []
    assert grade_class(order, lambda result, is_new: again.append(is_new)) == there
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
            grade_class(order)
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
            grade_class(order)


class EndedTask:
    """A task of a client, which ended without a result."""

    def __init__(self, status: str, error: BaseException):
        self.status, self._error = status, error

    def result(self) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("task", "raised", "said"),
    [
        (EndedTask("lost", asyncio.CancelledError()), GraderLost, "The Dask scheduler is gone."),
        (EndedTask("cancelled", concurrent.futures.CancelledError()), GraderLost, "The Dask scheduler is gone."),
        (EndedTask("error", GraderBroken("no key passes")), GraderBroken, "no key passes"),
        (EndedTask("error", OSError("no disk")), GraderError, "OSError: no disk"),
    ],
    ids=["scheduler gone", "client closed", "grader broken", "worker fails"],
)
def test_how_a_task_ended_says_whether_the_batch_goes_on(
    course: Course, cluster: "distributed.LocalCluster", task: EndedTask, raised: type[GraderError], said: str
) -> None:
    with contextlib.closing(ClusterGrader(cluster.scheduler_address, course, ONLY)) as grader:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(grader._client, "submit", lambda *args, **options: task)
            with pytest.raises(raised, match=said) as caught:
                grader.grade_controlled(Entry(Path("ada.py"), b"x = 1"))
        assert type(caught.value) is raised
        grader.stop()
        with pytest.raises(GraderError, match="stopped"):
            grader.grade_controlled(Entry(Path("ada.py"), b"x = 1"))
