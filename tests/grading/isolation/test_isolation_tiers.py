"""Test that what the system refuses lowers the tier, with a reason, and never by accident."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from needs import lacks

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.isolation import MEDIUM, PROCESS, STRONG, IsolationError, Tier, find_tier
from jaxguide.grading.isolation.tier import LANDLOCK, MOUNT_NAMESPACE, NAMESPACES, SECCOMP
from jaxguide.grading.workers import readiness
from jaxguide.grading.workers.worker_process import GraderError

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the layers need Linux")

# A system that refuses some calls, like containers and older kernels, by a real filter of our choice.
REFUSING = """
import json, platform, sys
from jaxguide.grading.isolation import IsolationError, find_tier, seccomp as s
program = [s._op(s._LOAD, s._AT_NUMBER)]
for name in sys.argv[1].split():
    program += s.for_call(name, platform.machine(), [s._op(s._RETURN, s._ERRNO | int(sys.argv[2]))])
s.install([*program, s._op(s._RETURN, s._ALLOW)])
try:
    print(json.dumps(find_tier().to_plain()))
except IsolationError as error:
    print(json.dumps(str(error)))
"""
ONLY_ROOT = """
import json
from jaxguide.grading.isolation import IsolationError, find_tier, namespaces
namespaces.unshare(["user namespace"])
try:
    print(json.dumps(find_tier().to_plain()))
except IsolationError as error:
    print(json.dumps(str(error)))
"""


def said(code: str, *arguments: str) -> dict | str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found_where(refused: str, code: int) -> Tier:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("the syscall numbers of this machine are unknown")
    plain = said(REFUSING, refused, str(code))
    assert isinstance(plain, dict), plain
    return Tier.from_plain(plain)


def why(tier: Tier, name: str) -> str:
    (layer,) = [layer for layer in tier.layers if layer.name == name]
    assert not layer.holds
    return layer.why


def needs(name: str) -> None:
    try:
        find_tier(name)
    except IsolationError as error:
        lacks(str(error))


@linux
def test_a_container_that_refuses_namespaces_gets_medium() -> None:
    needs(MEDIUM)
    tier = found_where("unshare", 1)
    assert tier.name == MEDIUM
    for name in NAMESPACES:
        assert "Operation not permitted" in why(tier, name)
        assert not tier.uses(name)
    assert "not permitted" in str(tier)
    assert not tier.asks_for_trust


@linux
def test_a_kernel_that_cannot_seal_mounts_gets_medium() -> None:
    needs(STRONG)
    tier = found_where("mount_setattr", 38)
    assert tier.name == MEDIUM
    assert "not implemented" in why(tier, MOUNT_NAMESPACE)


@linux
def test_a_kernel_without_landlock_gets_process_and_asks_for_trust() -> None:
    needs(MEDIUM)
    tier = found_where("landlock_create_ruleset", 38)
    assert tier.name == PROCESS
    assert tier.asks_for_trust
    assert "no Landlock" in why(tier, LANDLOCK)
    assert tier.uses(SECCOMP), "layers that hold are still used"


@linux
def test_a_kernel_without_seccomp_filters_gets_process() -> None:
    tier = found_where("seccomp", 38)
    assert tier.name == PROCESS
    assert "not implemented" in why(tier, SECCOMP)
    assert not tier.uses(LANDLOCK)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be refused for being root")
def test_root_that_can_become_nobody_else_is_refused() -> None:
    message = said(ONLY_ROOT)
    assert isinstance(message, str)
    assert "root" in message
    assert "Run it as an ordinary user" in message


def test_a_tier_is_found_once_and_crosses_as_plain_data() -> None:
    tier = find_tier()
    assert find_tier() is tier
    assert Tier.from_plain(json.loads(json.dumps(tier.to_plain()))) == tier
    assert str(tier).startswith(tier.name)


def test_a_tier_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="no tier `weak`"):
        find_tier("weak")


@linux
def test_a_tier_asked_for_that_does_not_hold_is_refused_with_the_reason() -> None:
    code = REFUSING.replace("find_tier()", "find_tier('strong')")
    message = said(code, "unshare", "1")
    assert isinstance(message, str)
    assert "`strong` does not hold" in message
    assert "user namespace: " in message


def test_without_isolation_grading_asks_for_trust(course: Course) -> None:
    with pytest.raises(GraderError, match="--trust-submissions"):
        Grader(course, GradeSettings(tier=PROCESS))
    Grader(course, GradeSettings(tier=PROCESS, trust_submissions=True))


@pytest.mark.long
def test_doctor_tells_the_tier(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "jaxguide", "doctor", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    facts = json.loads(done.stdout)["facts"]
    assert facts["isolation"].startswith(find_tier().name)
    assert facts["workers"]
    assert list(tmp_path.iterdir()) == [], "the probe must leave nothing behind"


@pytest.mark.long
@linux
def test_doctor_says_that_workers_are_forked() -> None:
    assert readiness.how_workers_start() == ("forked from one process that has imported JAX", [])


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
    (trouble,) = said[1]
    assert trouble[0] == "workers_are_not_forked"
    assert "cannot be forked: it has 2 threads. Grading starts a new Python" in trouble[1]
    assert "sitecustomize.py" in trouble[2]


@linux
def test_doctor_says_why_no_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxguide.grading.workers.zygote.command", lambda module: ["/bin/false"])
    workers, (trouble,) = readiness.how_workers_start()
    assert workers == "do not start"
    assert trouble.name == "workers_do_not_start"
    assert "it printed nothing (exit code 1)" in trouble.what


# The zygote's command, in a Python where something starts a thread first.
NO_ISOLATED_PYTHON = """
import json, sys
from jaxguide.grading.workers import readiness, zygote
real = zygote.command
def command(module):
    program = real(module)
    place = program.index("-c") + 1
    program[place] = "import sys; sys.path.insert(0, {places[0]!r}); import sitecustomize; " + program[place]
    return program
zygote.command = command
workers, troubles = readiness.how_workers_start()
print(json.dumps([workers, [[one.name, one.what, one.remedy] for one in troubles]]))
"""


@pytest.mark.long
def test_doctor_says_why_it_is_not_strong() -> None:
    from jaxguide.debug.diagnosis import Diagnosis

    (trouble,) = [readiness._why_not_strong(find_tier(PROCESS))]
    assert trouble.name == "isolation_is_process"
    assert "--trust-submissions" in trouble.remedy
    assert readiness.add_isolation(Diagnosis({"a": "b"}, [])).facts["a"] == "b"
