"""Test that the self-test says what the machine refuses and what does nothing, with no attempt too many."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from needs import lacks

from jaxguide.course.books.library import Course
from jaxguide.grading.batch.grader import Grader, GradeSettings
from jaxguide.grading.isolation import self_test
from jaxguide.grading.isolation.self_test import find_isolation
from jaxguide.grading.isolation.stack import LANDLOCK, SECCOMP, UNPRIVILEGED, Isolation
from jaxguide.grading.workers.worker_process import GraderError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation needs Linux")

AS_ROOT = set() if os.geteuid() else {"be root"}
WITHOUT_SECCOMP = ("connect on the machine", "fork", "trace a process", "signal another", "change a mode")
# What to put in the place of a part, and what a submission then can do.
IDLE = "lambda *_, **__: None"
IDLE_PARTS = {
    "seccomp": (f"stack.seccomp.filter_calls = {IDLE}", {"fork", "trace a process"}),
    "rlimits": (f"self_test.rlimits.limit = {IDLE}", {"write a large file"}),
    "landlock": (f"stack.landlock.restrict_files = {IDLE}", {"read the key", "write outside"}),
    "all": (
        f"stack.seccomp.filter_calls = stack.landlock.restrict_files = stack.privileges.give_up = {IDLE}",
        {"read the key", "write outside", *WITHOUT_SECCOMP, *AS_ROOT},
    ),
    **({"user": (f"stack.privileges.give_up = {IDLE}", AS_ROOT)} if AS_ROOT else {}),
}


@pytest.fixture
def break_self_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    if find_isolation().missing:
        lacks("; ".join(find_isolation().missing))

    def break_it(code: str) -> None:
        code = f"from jaxguide.grading.isolation import self_test, stack; {code}; main()"
        monkeypatch.setattr(self_test, "_BOOT", self_test._BOOT.replace(" main()", code))
        find_isolation.cache_clear()

    yield break_it
    find_isolation.cache_clear()


@pytest.mark.parametrize("part", IDLE_PARTS)
def test_a_part_that_does_nothing_is_noticed(part: str, break_self_test: Callable[[str], None]) -> None:
    code, possible = IDLE_PARTS[part]
    break_self_test(code)
    said = {one.removeprefix("a submission can ") for one in find_isolation().missing}
    # Landlock and the change of user prevent some of what seccomp does, too, depending on the kernel.
    assert possible <= said <= possible | set(WITHOUT_SECCOMP if part == "seccomp" else ())


def test_each_attempt_notices_something_in_these_tests() -> None:
    made = {attempt.__name__.replace("_", " ") for attempt in self_test.FORBIDDEN}
    assert made == {"be root"}.union(*(possible for _code, possible in IDLE_PARTS.values()))


def test_a_self_test_that_does_not_run_says_so(break_self_test: Callable[[str], None]) -> None:
    break_self_test("raise SystemExit('broken')")
    assert find_isolation() == Isolation((), ("the self-test did not run: broken",))


def test_isolation_that_hides_what_python_needs_is_incomplete(break_self_test: Callable[[str], None]) -> None:
    break_self_test(
        "import importlib.util, pathlib; numpy = pathlib.Path(importlib.util.find_spec('numpy').origin).parent; "
        "stack._touching = lambda hidden, readable: [*hidden, numpy]"
    )
    assert find_isolation().missing[0].startswith("honest code cannot read python (")


# A system that refuses some calls, like containers and older kernels, by a real filter of our choice.
REFUSING = """
import dataclasses, json, platform, sys
from jaxguide.grading.isolation import seccomp as s
from jaxguide.grading.isolation.self_test import find_isolation
program = [s._op(s._LOAD, s._AT_NUMBER)]
for name in sys.argv[1].split():
    program += s.for_call(name, platform.machine(), [s._op(s._RETURN, s._ERRNO | 38)])
s.install([*program, s._op(s._RETURN, s._ALLOW)])
print(json.dumps(dataclasses.asdict(find_isolation())))
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the syscall numbers are unknown")
@pytest.mark.parametrize(
    ("refused", "missing"),
    [
        ("landlock_create_ruleset", {LANDLOCK: "this kernel has no Landlock"}),
        ("seccomp", {SECCOMP: "[Errno 38] Function not implemented"}),
        ("capset seccomp", {UNPRIVILEGED: "[Errno 38] Function not implemented", SECCOMP: "[Errno 38] Function not"}),
        ("unshare mount mount_setattr", {}),
    ],
)
def test_what_the_system_refuses_is_said_and_the_rest_is_entered(refused: str, missing: dict[str, str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", REFUSING, refused]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(find_isolation().parts) - set(found["parts"]) == set(missing)
    assert len(found["missing"]) == len(missing)
    for said, (part, why) in zip(found["missing"], missing.items(), strict=True):
        assert said.startswith(f"{part}: {why}")


def test_isolation_is_found_once() -> None:
    assert find_isolation() is find_isolation()


def test_incomplete_isolation_is_refused_without_trust(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    incomplete = Isolation((), ("Landlock: this kernel has no Landlock",))
    monkeypatch.setattr("jaxguide.grading.batch.grader.find_isolation", lambda: incomplete)
    with pytest.raises(GraderError, match=r"completely: Landlock: this kernel has no Landlock.*--trust-submissions"):
        Grader(course, GradeSettings())
    Grader(course, GradeSettings(trust_submissions=True))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into other users' folders")
def test_roots_temporary_files_may_be_in_a_folder_of_its_own(
    tmp_path: Path, break_self_test: Callable[[str], None]
) -> None:
    tmp_path.chmod(0o700)
    for folder, is_own in ((Path("/tmp"), False), (tmp_path, True)):
        code = f"import tempfile; tempfile.tempdir = {str(folder)!r}"
        break_self_test(f"{code}; self_test.HONEST = (self_test.write_a_small_file,)")
        assert find_isolation() == Isolation(reads_as_root=is_own)
