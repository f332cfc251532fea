"""Measure how long a student waits for a verdict: after a save, for a command, in a notebook, with pytest and otter.

    python benchmarks/session/latency.py [--repeats 7] [--peers ~/peers]

With `--peers`, otter-grader is measured, too, in a virtual environment that is created in that folder and reused.

Each turn saves an answer that was never checked before, for each exercise and in each way, and measures the wall time
until the verdict appears. The ways take turns, so that load affects all of them.
"""

import argparse
import contextlib
import dataclasses
import io
import os
import re
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import jax
import jax.monitoring
import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))  # check_latency.py, which measures the same in more detail
sys.path.insert(0, str(Path(__file__).parents[1] / "grading"))  # graders.py, which installs otter-grader

from answers import SUBJECTS, Subject
from check_latency import CLOCK, timing
from graders import make_environment

from jaxguide.course.books.book import run_answer
from jaxguide.course.books.library import load_course
from jaxguide.course.cards import Card
from jaxguide.course.progress import Progress
from jaxguide.lesson import check_answer

HERE = Path(__file__).parent
PASSED = "✓ Right"
LIMIT_S = 100.0
WAYS = ("notebook", "watch", "check", "pytest")
SAID = {
    "notebook": "`check(f)` in a warm notebook",
    "watch": "`jaxguide watch`, after a save",
    "check": "`jaxguide check`, cold",
    "pytest": "pytest of the same, cold",
    "otter": "`otter check` of the same, cold",
}


@dataclasses.dataclass(frozen=True)
class Turn:
    """One verdict: seconds until it appeared, the student's share of them, and processor time of all processes."""

    seconds: float
    own_s: float | None
    cpu_s: float


class Watch:
    """A running `jaxguide watch`; `wait_for` returns once words are shown."""

    def __init__(self, folder: Path, clock: Path):
        command = [sys.executable, "-u", str(HERE / "measured.py"), str(clock), "watch", str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.output, self.shown = self.process.stdout.fileno(), b""

    def cpu_s(self) -> float:
        """Wait until no worker runs, and return the processor time of `watch`, its zygote and all workers so far."""
        root = psutil.Process(self.process.pid)
        while any(zygote.children() for zygote in root.children()):
            time.sleep(0.01)
        times = [process.cpu_times() for process in (root, *root.children())]
        return sum(one.user + one.system + one.children_user + one.children_system for one in times)

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while words.encode() not in self.shown:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.shown.decode())
            ready, _writable, _wrong = select.select([self.output], [], [], 1)
            self.shown += os.read(self.output, 65536) if ready else b""
        self.shown = self.shown.partition(words.encode())[2]


def otter_tests(subject: Subject) -> str:
    """Return the exercise's tests in otter-grader's format, where each test gets the student's function."""
    head = f"from otter.test_files import test_case\n\nOK_FORMAT = False\nname = {subject.name!r}\npoints = 1\n\n"
    tests = subject.tests.replace(f"from mine import {subject.name}\n", "")
    return head + re.sub(r"^def (test_\w+)\(\):", rf"@test_case()\ndef \1({subject.name}):", tests, flags=re.M)


def save(path: Path, text: str) -> None:
    """Save a file in one step, as editors do."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peers", type=Path, help="the folder for otter-grader's virtual environment")
    given = parser.parse_args()
    repeats = given.repeats
    otter = make_environment(given.peers.expanduser().resolve(), "otter") if given.peers else None
    jax.monitoring.register_event_duration_secs_listener(CLOCK.on_event)
    with tempfile.TemporaryDirectory() as folder:
        found = Measuring(Path(folder), otter).run(repeats)
    print(f"Python {sys.version.split()[0]}, jax {jax.__version__}, {os.cpu_count()} cores, ", end="")
    print(f"load {os.getloadavg()[0]:.1f}, median of {repeats}")
    print("\n| exercise | way | s | fastest and slowest | CPU s | the student's own compile and run |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (name, way), turns in found.items():
        seconds = [turn.seconds for turn in turns]
        own = [turn.own_s / turn.seconds for turn in turns if turn.own_s is not None]
        share = f"{statistics.median(own):.0%}" if own else "not measured"
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        cpu_s = statistics.median(turn.cpu_s for turn in turns)
        print(f"| `{name}` | {SAID[way]} | {statistics.median(seconds):.2f} | {spread} | {cpu_s:.2f} | {share} |")
    print()
    for name in dict.fromkeys(name for name, _way in found):
        pairs = zip(found[name, "check"], found[name, "pytest"], strict=True)
        ratio = statistics.median(check.cpu_s / pytest.cpu_s for check, pytest in pairs)
        print(
            f"`{name}`: `jaxguide check` takes {ratio:.2f} of pytest's CPU time (median of turns; target: at most 1.0)"
        )


class Measuring:
    """Measure verdicts in each way, in a separate folder; `otter` is a Python with otter-grader."""

    def __init__(self, folder: Path, otter: Path | None):
        self.folder, self.python, self.number = folder, otter, 0
        self.ways = (*WAYS, "otter") if otter else WAYS
        self.course = load_course(keys=False)
        for way in ("watch", "check", "pytest", "otter"):
            (folder / way).mkdir()
        self.found: dict[tuple[str, str], list[Turn]] = defaultdict(list)

    def run(self, repeats: int) -> dict[tuple[str, str], list[Turn]]:
        """Run all turns, and return them by exercise and way."""
        path = self.folder / "watch" / "mine.py"
        save(path, self.text(SUBJECTS[0]))
        self.watching = Watch(path.parent, self.folder / "watch_clock.txt")
        self.watching.wait_for(" done")
        try:
            for turn in range(repeats + 1):
                for subject in SUBJECTS:
                    for way in self.ways:
                        self.number += 1
                        run = getattr(self, way)(subject)
                        if turn:  # the first turn warms up
                            self.found[subject.name, way].append(run)
        finally:
            self.watching.process.terminate()
            self.watching.process.wait()
        return self.found

    def text(self, subject: Subject) -> str:
        return "import jax\nimport jax.numpy as jnp\n\n\n" + subject.answer(self.number)

    def notebook(self, subject: Subject) -> Turn:
        exercise = self.course.exercise(subject.name)
        names = run_answer(self.course.book_of(exercise), subject.answer(self.number))
        function = CLOCK.wrap(names[subject.name])
        cpu_s = time.process_time()
        with timing() as taken, contextlib.redirect_stdout(io.StringIO()):
            Card(check_answer(exercise, function, names, Progress(self.folder)))._repr_mimebundle_()
        return Turn(taken["all_s"], taken["students_s"], time.process_time() - cpu_s)

    def watch(self, subject: Subject) -> Turn:
        before_s, started = self.watching.cpu_s(), time.perf_counter()
        save(self.folder / "watch" / "mine.py", self.text(subject))
        self.watching.wait_for(PASSED)
        seconds = time.perf_counter() - started
        self.watching.wait_for(" done")
        return Turn(seconds, self.last(self.folder / "watch_clock.txt"), self.watching.cpu_s() - before_s)

    def check(self, subject: Subject) -> Turn:
        save(self.folder / "check" / "mine.py", self.text(subject))
        command = [sys.executable, "-m", "jaxguide", "check", "mine.py", subject.name]
        return self.command(command, self.folder / "check", PASSED)

    def pytest(self, subject: Subject) -> Turn:
        save(self.folder / "pytest" / "mine.py", self.text(subject))
        save(self.folder / "pytest" / "test_mine.py", subject.tests)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
        return self.command(command, self.folder / "pytest", " passed")

    def otter(self, subject: Subject) -> Turn:
        save(self.folder / "otter" / "mine.py", self.text(subject))
        save(self.folder / "otter" / "tests" / f"{subject.name}.py", otter_tests(subject))
        command = [str(self.python), "-m", "otter", "check", "mine.py", "-q", subject.name, "-t", "tests"]
        return self.command(command, self.folder / "otter", "All tests passed!")

    @staticmethod
    def command(command: list[str], folder: Path, words: str) -> Turn:
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        if words not in done.stdout or done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return Turn(seconds, None, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    @staticmethod
    def last(clock: Path) -> float:
        return float(clock.read_text().split()[-1])


if __name__ == "__main__":
    main()
