"""Test that a batch killed at random moments or out of disk space ends with the same report as an undisturbed one."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from generated_class import write_class
from needs import ON_THE_NEWEST, lacks
from small_course import write_course

from jaxguide.grading.batch.store import NAME

pytestmark = ON_THE_NEWEST

_KILLS, _SEED = 30, 2026
# The resources that grading used, which are all that may differ between two runs.
_USED = re.compile(
    r'"(?:cpu_s|wall_s|memory_bytes)": [0-9.e+-]+|\btime="[0-9.]+"'
    r"|[0-9.]+ s of processor time in all, at most [0-9]+ MB"
)


def lay(folder: Path, size: int) -> None:
    """Write a course and a class of `size` submissions."""
    (folder / "course").mkdir(parents=True)
    write_course(folder / "course")
    write_class(folder / "class", size, _SEED)


def command(folder: Path) -> list[str]:
    """Return the command that grades `folder/class` with `folder/course` into `folder/results`."""
    places = ["--course", str(folder / "course"), "--out", str(folder / "results")]
    return [sys.executable, "-m", "jaxguide", "grade", str(folder / "class"), *places, "--only", "double"]


def run(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(folder), capture_output=True, text=True, cwd=folder)


def report(folder: Path) -> dict[str, str]:
    """Return every file of the report, without the resources that grading used: name -> text."""
    files = [path for path in sorted((folder / "results").rglob("*")) if path.is_file()]
    texts = {str(path.relative_to(folder)): path for path in files if not path.name.startswith("grading.")}
    return {name: _USED.sub("", path.read_text("utf-8")) for name, path in texts.items()}


def recorded(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the store's content, file -> row and result, and fail if a file has two rows."""
    path = folder / "results" / NAME
    if not path.exists():
        return {}
    with contextlib.closing(sqlite3.connect(path)) as connection:
        try:
            rows = connection.execute("SELECT key, rowid, result FROM submissions").fetchall()
        except sqlite3.OperationalError:  # killed before the tables were created
            return {}
    assert len({file for file, _id, _result in rows}) == len(rows)
    return {file: (row, result) for file, row, result in rows}


def kill_after(process: "subprocess.Popen[bytes]", folder: Path, new_rows: int, delay_s: float) -> bool:
    """Kill a grader `delay_s` after it recorded `new_rows` more rows; return False if it had already ended."""
    wanted = len(recorded_quietly(folder)) + new_rows
    while len(recorded_quietly(folder)) < wanted and process.poll() is None:
        time.sleep(0.02)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay_s)
    was_alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return was_alive


def recorded_quietly(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the recorded files without blocking a grader that is writing."""
    path = folder / "results" / NAME
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return {file: (0, "") for (file,) in connection.execute("SELECT key FROM submissions")}
    except sqlite3.Error:
        return {}


@pytest.mark.hours(reason="it starts a grader thirty times")
def test_killed_thirty_times_it_reports_what_an_undisturbed_batch_reports(tmp_path: Path) -> None:
    lay(tmp_path, 60)
    undisturbed = run(tmp_path)
    assert undisturbed.returncode == 1, undisturbed.stderr  # because some files cannot be read
    expected = report(tmp_path)
    shutil.rmtree(tmp_path / "results")

    choose, kills, before = random.Random(_SEED), 0, {}
    while kills < _KILLS:
        process = subprocess.Popen(
            command(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            start_new_session=True,
        )
        # Half of the rounds are killed while starting, the others after one to three more results.
        new_rows = choose.choice([0, 0, 0, 1, 2, 3])
        was_alive = kill_after(process, tmp_path, new_rows, choose.uniform(0, 1 if new_rows else 5))
        after = recorded(tmp_path)
        assert {file: after[file] for file in before} == before, "a recorded result was lost or graded again"
        before = after
        if not was_alive:
            shutil.rmtree(tmp_path / "results")  # all were graded: start over
            before = {}
            continue
        kills += 1
    resumed = run(tmp_path)
    assert (resumed.returncode, resumed.stdout) == (undisturbed.returncode, undisturbed.stdout)
    assert report(tmp_path) == expected
    after = recorded(tmp_path)
    assert {file: after[file] for file in before} == before
    assert len(after) == 60


_FULL_DISK = """
set -e
mount -t tmpfs -o size=2m none results
head -c 1900k /dev/zero > results/ballast || true
set +e
"$@" > full.out 2> full.err
echo $? > full.status
cp -r results full
rm results/ballast
set -e
"$@" > freed.out 2> freed.err || true
mkdir kept
cp -r results/. kept/
"""


def _in_a_namespace(script: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    ways = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    return subprocess.run(
        ["unshare", *ways, "sh", "-c", script, "sh", *arguments], capture_output=True, text=True, cwd=folder
    )


def test_a_full_disk_is_one_clear_error_and_the_batch_goes_on_after_there_is_space(tmp_path: Path) -> None:
    lay(tmp_path, 40)
    undisturbed = run(tmp_path)
    expected = report(tmp_path)
    shutil.rmtree(tmp_path / "results")
    (tmp_path / "results").mkdir()

    if not shutil.which("unshare") or _in_a_namespace("mount -t tmpfs none results", tmp_path).returncode:
        lacks("unshare (from util-linux), and permission to mount a small disk in a namespace")
    done = _in_a_namespace(_FULL_DISK, tmp_path, *command(tmp_path))
    assert done.returncode == 0, done.stderr

    def text(name: str) -> str:
        return (tmp_path / name).read_text("utf-8")

    assert text("full.status") == "3\n", text("full.err")
    *unreadable, line = text("full.err").splitlines()
    assert not [other for other in unreadable if "Error" in other or "Traceback" in other]
    assert line.startswith("Error: No space is left for results in")
    assert line.endswith("Free some and run the same command again to continue.")
    # No half-written files are left.
    left = {path.name for path in (tmp_path / "full").iterdir()} - {"ballast"}
    assert left <= {NAME, "grading.lock"}
    (tmp_path / "results").rmdir()
    (tmp_path / "kept").rename(tmp_path / "results")
    assert text("freed.out") == undisturbed.stdout
    # Several graders report unreadable files as they find them, so the order may differ.
    assert sorted(text("freed.err").splitlines()) == sorted(undisturbed.stderr.splitlines())
    assert report(tmp_path) == expected


@pytest.mark.hours(reason="it grades a thousand submissions")
def test_a_class_of_a_thousand_is_graded_in_memory_that_stays_flat(tmp_path: Path) -> None:
    peaks = {}
    for size in (100, 1000):
        folder = tmp_path / str(size)
        lay(folder, size)
        process = subprocess.Popen(command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        grader, peaks[size] = psutil.Process(process.pid), 0
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):
                peaks[size] = max(peaks[size], grader.memory_info().rss)
            time.sleep(0.2)
        results = json.loads((folder / "results" / "results.json").read_text())
        assert len({one["student"] for one in results["students"]}) == size
        states = {one["state"] for one in results["submissions"]}
        assert states == {"graded", "unreadable"}
    # Only the reports may need memory for each submission: for ten times the students they are ten times as long.
    assert peaks[1000] < 1.5 * peaks[100]
