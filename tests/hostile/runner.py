"""Grade hostile submissions with the real command, and watch what it and its workers do from outside."""

import contextlib
import dataclasses
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from hostile import course
from hostile.case import HONEST, Case
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.reports.results_json import read_results
from jaxguide.grading.workers.scratch import remove_scratch

# The wall time limit is generous, so that other tests running on the machine do not make grading time out.
# Enough processor time for a case that ends otherwise, on a machine where other tests run, too.
LIMITS = "cpu=4,idle=2,memory=1GB,output=8MB,scratch=64MB,wall-factor=100"
# The student's name comes from the archive's file name, not from its members.
STUDENT = r"^(?P<student>h-[^./]+)[./]"
_CASES_FOR_AN_HONEST = 4
_GONE_WITHIN_S = 1.0
_LOOK_EVERY_S = 0.2
_GIVE_UP_S = 3000


@dataclasses.dataclass
class Run:
    """The outcome of one batch, seen from outside.

    Args:
        results: the results folder.
        said: what the command printed.
        status: its exit status.
        batch: the recorded results.
        strays: processes that outlived their worker by a second.
        changed: files outside the results and the compile cache that were created, deleted or changed.
        grader_bytes: the peak memory of the grader's own process.
    """

    results: Path
    said: str
    status: int
    batch: BatchResult
    strays: list[str]
    changed: list[str]
    grader_bytes: int

    def of(self, student: str) -> SubmissionResult:
        """Return a student's only row."""
        rows = [one for one in self.batch.submissions if one.student == student]
        if len(rows) != 1:
            said = [f"{row.path.name}: {row.state.value}" for row in rows]
            raise LookupError(f"{student} has {len(rows)} rows: {said}")
        return rows[0]

    def feedback(self) -> dict[str, str]:
        """Return the files that students may read: file name -> text."""
        return {path.name: path.read_text("utf-8") for path in sorted((self.results / "feedback").iterdir())}

    def all_texts(self) -> dict[str, str]:
        """Return all text that grading wrote, for the instructor, for students and in the terminal: name -> text."""
        reports = [path for path in sorted(self.results.iterdir()) if path.suffix in (".json", ".html", ".xml", ".csv")]
        return {"terminal": self.said, **{p.name: p.read_text("utf-8") for p in reports}, **self.feedback()}


def honest_names(cases: Sequence[Case]) -> list[str]:
    """Return, for each case, the honest student whose file is graded with it."""
    return [f"h-{cases[number - number % _CASES_FOR_AN_HONEST].name}~honest" for number in range(len(cases))]


def grade(cases: Sequence[Case], folder: Path) -> Run:
    """Grade cases and honest submissions, with separate home, temporary and working folders.

    Args:
        cases: the cases to grade.
        folder: an empty folder; files that submissions leave in its `tmp` and `cwd` are deleted.
    """
    try:
        return _grade(cases, folder)
    finally:
        # Submissions may leave folders too deep or locked for pytest to delete later.
        for place in ("tmp", "cwd"):
            remove_scratch(folder / place)


def _grade(cases: Sequence[Case], folder: Path) -> Run:
    course.write_course(folder / "course")
    home, submissions = folder / "home", folder / "class"
    # Short names, since a path below them becomes the name of a Unix socket, which has at most 107 bytes.
    places = {name: folder / name for name in ("home", "tmp", "cwd", "class", "results")}
    for place in places.values():
        place.mkdir()
    (home / "secret.txt").write_text(course.HOME_SECRET)
    known = {
        "{key!r}": folder / "course" / "solutions" / "attacked.py",
        "{home!r}": home / "secret.txt",
        "{results!r}": places["results"],
        "{cache!r}": home / ".cache",
    }
    for case, honest in zip(cases, honest_names(cases), strict=True):
        neighbour = submissions / f"{honest}.py"
        neighbour.write_text(f"# %%\n# {course.OTHERS_SECRET}\n{HONEST}")
        content = case.content if isinstance(case.content, str) else case.content()
        if isinstance(content, str):
            for mark, place in {**known, "{neighbour!r}": neighbour}.items():
                content = content.replace(mark, repr(str(place)))
            content = content.encode()
        (submissions / f"{case.student}{case.suffix}").write_bytes(content)
    watched = [folder / "course", *(places[name] for name in ("home", "tmp", "cwd", "class"))]
    before = snapshot(watched)
    shared = shared_folders()
    command = [sys.executable, "-m", "jaxguide", "grade", str(submissions), "--out", str(places["results"])]
    command += ["--course", str(folder / "course"), "--limits", LIMITS, "--jobs", "2"]
    command += ["--student-from", STUDENT]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("COV_", "XDG_"))},
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]),
        "HOME": str(home),
        "TMPDIR": str(places["tmp"]),
        "GRADER_TOKEN": course.ENVIRONMENT_SECRET,
        "COLUMNS": "200",
    }
    with open(folder / "said.txt", "wb") as said:
        process = subprocess.Popen(command, cwd=places["cwd"], env=environment, stdout=said, stderr=subprocess.STDOUT)
        with Watcher(process.pid, places["tmp"]) as watcher:
            try:
                status = process.wait(timeout=_GIVE_UP_S)
            finally:
                process.kill()
                process.wait()
    changed = [*differences(before, snapshot(watched)), *sorted(shared_folders() - shared)]
    return Run(
        places["results"],
        (folder / "said.txt").read_text("utf-8"),
        status,
        read_results(places["results"]),
        watcher.strays,
        changed,
        watcher.grader_bytes,
    )


def snapshot(folders: Sequence[Path]) -> dict[str, str]:
    """Return each path below some folders: a file with the digest of its content, a folder without one."""
    found = {}
    for top in folders:
        for path in sorted(top.rglob("*")):
            # Trusted code adds to the cache of compiled programs, and nothing else may change it.
            if ".cache" in path.parts or "__pycache__" in path.parts:
                continue
            try:
                is_file = path.is_file() and not path.is_symlink()
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else ""
            except OSError as error:
                found[str(path)[:300]] = f"{error.strerror}"
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the paths that differ."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def shared_folders() -> set[str]:
    """Return the files in system-wide folders that have names that submissions in the corpus would create."""
    names = ("results.json", "grades.csv", "report.html", "grading.sqlite", "evil*", "x.py", "forged*")
    tops = (Path("/tmp"), Path("/"), Path("/dev/shm"), Path("/var/tmp"))
    return {str(path) for top in tops if top.is_dir() for name in names for path in top.glob(name)}


class Watcher(threading.Thread):
    """Watch a running grader from outside, and record processes that outlive the worker that started them.

    Args:
        pid: the grader.
        temporary: its temporary folder, which is in the environment of all its processes.
    """

    def __init__(self, pid: int, temporary: Path):
        super().__init__(daemon=True)
        self.grader = psutil.Process(pid)
        self.grader_bytes = 0
        self.strays: list[str] = []
        self._mark = str(temporary)
        self._seen: dict[psutil.Process, psutil.Process] = {}
        self._orphaned_at: dict[psutil.Process, float] = {}
        self._ended = threading.Event()

    def __enter__(self) -> "Watcher":
        self.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._ended.set()
        self.join()
        time.sleep(_GONE_WITHIN_S)
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE and self._is_of_a_worker(process):
                    self.strays.append(" ".join(process.cmdline())[:200])

    def _is_of_a_worker(self, process: psutil.Process) -> bool:
        return process in self._seen or process.environ().get("TMPDIR", "").startswith(self._mark)

    def run(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            with contextlib.suppress(psutil.Error):
                self.grader_bytes = max(self.grader_bytes, self.grader.memory_info().rss)
                for worker in self.grader.children():
                    for below in worker.children(recursive=True):
                        self._seen.setdefault(below, worker)
            self._note_strays()

    def _note_strays(self) -> None:
        now = time.monotonic()
        for process, worker in list(self._seen.items()):
            if not _lives(process):
                del self._seen[process]
                self._orphaned_at.pop(process, None)
            elif not _lives(worker) and now - self._orphaned_at.setdefault(process, now) > _GONE_WITHIN_S:
                self.strays.append(f"{process}")


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
