"""Test what `jaxguide doctor` says about isolation and about how workers start."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxguide.cli import upkeep
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import Isolation

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are forked on Linux only")


@pytest.mark.long
def test_doctor_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "jaxguide", "doctor", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    facts = json.loads(done.stdout)["facts"]
    assert facts["isolation"].startswith("incomplete: " if find_isolation().missing else "complete: ")
    assert facts["workers"]
    assert list(tmp_path.iterdir()) == []


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    incomplete = Isolation((), ("Landlock: this kernel has no Landlock",))
    monkeypatch.setattr("jaxguide.grading.isolation.self_test.find_isolation", lambda: incomplete)
    monkeypatch.setattr(upkeep, "how_workers_start", lambda: ("forked", None))
    facts, (trouble,) = upkeep.grading_here()
    assert facts["isolation"] == "incomplete: Landlock: this kernel has no Landlock"
    assert trouble.name == "isolation_is_incomplete"
    assert "--trust-submissions" in trouble.remedy


@pytest.mark.long
@linux
def test_doctor_says_that_workers_are_forked() -> None:
    assert upkeep.how_workers_start() == ("forked from one process that has imported JAX", None)


@linux
@pytest.mark.long
def test_doctor_says_why_workers_are_not_forked(tmp_path: Path) -> None:
    # Every Python process that finds this module imports it, including the one that workers would be forked from.
    site = tmp_path / "sitecustomize.py"
    site.write_text("import threading, time\nthreading.Thread(target=time.sleep, args=(300,), daemon=True).start()\n")
    places = [str(tmp_path), *filter(None, sys.path)]
    code = NO_ISOLATED_PYTHON.format(places=places)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places[1:])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said[0] == "a new Python for each submission"
    trouble = said[1]
    assert trouble[0] == "workers_are_not_forked"
    assert "cannot be forked: it has 2 threads. Grading starts a new Python" in trouble[1]
    assert "sitecustomize.py" in trouble[2]


@linux
def test_doctor_says_why_no_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxguide.grading.workers.zygote.command", lambda module: ["/bin/false"])
    workers, trouble = upkeep.how_workers_start()
    assert workers == "do not start"
    assert trouble is not None
    assert trouble.name == "workers_do_not_start"
    assert "it printed nothing" in trouble.what


# The zygote's command, in a Python where something starts a thread first.
NO_ISOLATED_PYTHON = """
import json, sys
from jaxguide.cli import upkeep
from jaxguide.grading.workers import zygote
real = zygote.command
def command(module):
    program = real(module)
    place = program.index("-c") + 1
    program[place] = "import sys; sys.path.insert(0, {places[0]!r}); import sitecustomize; " + program[place]
    return program
zygote.command = command
workers, one = upkeep.how_workers_start()
print(json.dumps([workers, [one.name, one.what, one.remedy]]))
"""
