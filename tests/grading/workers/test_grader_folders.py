"""Test that the folders of killed graders are deleted by the next one, and no folder that anyone still uses."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from needs import ON_THE_NEWEST
from small_course import ANSWERS

from jaxguide.course.books.library import Course
from jaxguide.grading.workers import scratch

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs Linux's processes")

# A grader whose worker runs until it is killed, after it has written to its folder.
GRADER = """
import os, sys
from jaxguide.grading.workers.worker_process import WorkerProcess

worker = WorkerProcess()
write = "import os\\nos.makedirs('a/b')\\nopen('a/b/file', 'w').write('x')\\nos.chmod('a/b', 0)\\n"
worker.request("define", cell=1, source=write, exercises=[], starters=[])
print(worker._scratch, flush=True)
sys.stdin.read()
worker.kill()
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Return a temporary folder for graders, which users without rights can reach."""
    folder = Path(tempfile.mkdtemp(prefix="jaxguide-test-"))
    folder.chmod(0o755)
    yield folder
    scratch.remove_scratch(folder)


class StartedGrader:
    """A grader in a process of its own, with a worker that runs."""

    def __init__(self, place: Path):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(place)}
        command = [sys.executable, "-c", GRADER]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.scratch = Path(self.process.stdout.readline().strip())
        assert self.scratch.is_dir()

    @property
    def folder(self) -> Path:
        return self.scratch.parent

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self) -> None:
        """Let the grader end by itself."""
        self.process.communicate("")

    def kill(self) -> None:
        """Kill the grader, and wait until all of its processes have ended."""
        below = self.below()
        self.process.kill()
        self.process.communicate()
        assert not psutil.wait_procs(below, timeout=60)[1]


def folders(place: Path) -> list[Path]:
    return sorted(place.glob("jaxguide-*"))


@ON_THE_NEWEST
def test_the_next_grader_deletes_what_a_killed_one_left(place: Path) -> None:
    first = StartedGrader(place)
    first.kill()
    assert first.folder in folders(place)
    second = StartedGrader(place)
    assert folders(place) == [second.folder]
    second.end()
    assert folders(place) == []


@ON_THE_NEWEST
def test_a_worker_reaches_only_its_own_folder(place: Path) -> None:
    grader = StartedGrader(place)
    modes = [oct(path.stat().st_mode & 0o777) for path in (grader.folder, grader.scratch)]
    assert modes == ["0o711", "0o700"]
    assert (grader.scratch / "a").exists()
    grader.end()


@ON_THE_NEWEST
def test_a_grader_does_not_delete_the_folder_of_one_that_lives(place: Path) -> None:
    first = StartedGrader(place)
    second = StartedGrader(place)
    third = StartedGrader(place)
    assert folders(place) == sorted([first.folder, second.folder, third.folder])
    second.kill()
    first.end()
    fourth = StartedGrader(place)
    assert folders(place) == sorted([third.folder, fourth.folder])
    third.end()
    fourth.end()


@ON_THE_NEWEST
def test_links_files_and_the_folders_of_others_stay(place: Path) -> None:
    names = [f"{scratch.GRADER}{name}" for name in ("link", "file", "pipe", "other")]
    (place / "precious").mkdir()
    (place / "precious" / "file").write_text("x")
    (place / names[0]).symlink_to(place / "precious")
    (place / names[1]).write_text("x")
    os.mkfifo(place / names[2])
    (place / names[3]).mkdir()
    if os.geteuid() == 0:  # only root can make a folder another's
        os.chown(place / names[3], 1234, 1234)
    else:
        (place / names[3]).rmdir()
        names.pop()
    (place / "jaxguide-course-1").mkdir()
    StartedGrader(place).end()
    assert [path.name for path in folders(place)] == sorted([*names, "jaxguide-course-1"])
    assert (place / "precious" / "file").exists()


def test_a_new_folder_is_made_if_somebody_deleted_it() -> None:
    first = scratch.new_scratch({})
    scratch.remove_scratch(first.parent)
    second = scratch.new_scratch({})
    assert second.parent != first.parent
    assert second.is_dir()
    second.rmdir()


@ON_THE_NEWEST
def test_the_command_deletes_what_a_killed_one_left(course: Course, place: Path, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    answer = tmp_path / "class" / "ada.py"
    command = [sys.executable, "-m", "jaxguide", "grade", str(answer), "--out", str(tmp_path / "results")]
    command += ["--course", str(course.folders.exercises.parent), "--only", "double", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(place)}
    answer.write_text("import time\n\ndef double(x):\n    time.sleep(600)\n")
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_for(condition: Callable[[], object]) -> None:
        while not condition():
            assert process.poll() is None
            time.sleep(0.01)

    wait_for(lambda: list(place.glob(f"{scratch.GRADER}*/w*")))
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not psutil.wait_procs(below, timeout=60)[1]
    assert len(folders(place)) == 1
    answer.write_text(ANSWERS["double"])
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)["complete"]) == (0, True)
    assert folders(place) == []
