"""Test the record of which isolation works: after a relevant change or in doubt, the grader tries all layers again."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import first_of

from jaxguide.course.judging.evaluate import Request
from jaxguide.debug.diagnosis import Diagnosis
from jaxguide.grading.isolation import (
    MEDIUM,
    PROCESS,
    STRONG,
    IsolationError,
    Tier,
    find_tier,
    landlock,
    tier_record,
    tier_search,
)
from jaxguide.grading.isolation.attempts import may_pass
from jaxguide.grading.workers import readiness
from jaxguide.grading.workers.program_folder import ProgramFolder
from jaxguide.grading.workers.worker_process import GraderError, WorkerProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation needs Linux")

as_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(scope="module")
def tiers() -> list[Tier]:
    """Return the tiers that hold on this machine, found by probing."""
    found, _is_sure = tier_search._probed()
    if found[0].name == PROCESS:
        pytest.skip(f"no record is kept if submissions cannot be kept from the disk: {found[0]}")
    return found


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Yield the circumstances of this test, with no record yet."""
    # The folder must be one that every user can read, unlike pytest's temporary folders.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
        yield from _now()


def _now() -> Iterator[dict[str, Any]]:
    found = tier_search.now()
    if found is None:
        pytest.skip("this process runs under a seccomp filter, or some of /proc cannot be read")
    tier_search._found.cache_clear()
    yield found
    tier_search._found.cache_clear()


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of layers tried together each time that layers are tried."""
    counts: list[int] = []
    real = tier_search.try_layers

    def counted(requests: Any) -> Any:
        counts.append(len(requests))
        return real(requests)

    monkeypatch.setattr(tier_search, "try_layers", counted)
    return counts


def find_again(anew: bool = False) -> Tier:
    """Find the tier as a new process would."""
    tier_search._found.cache_clear()
    return find_tier(anew=anew)


def place() -> Path:
    found = tier_record.record_path()
    assert found is not None
    return found


FINDS = """
import json, sys
from jaxguide.grading.isolation import tier_search
tried = []
real = tier_search.try_layers
tier_search.try_layers = lambda requests: (tried.append(1), real(requests))[1]
print(json.dumps([[tier_search.find_tier(name).to_plain() for name in sys.argv[1:]], len(tried)]))
"""


def test_the_next_process_tries_nothing_and_finds_the_same(now: dict[str, Any], tiers: list[Tier]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", FINDS, *(tier.name for tier in tiers)]
    said = []
    for _process in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        said.append(json.loads(done.stdout))
    (first, tried), (second, tried_again) = said
    assert [Tier.from_plain(plain) for plain in first] == tiers
    assert second == first
    assert (tried, tried_again) == (1, 0)
    assert place().stat().st_mode & 0o7777 == 0o600


def test_doctor_tries_anew_and_its_finding_is_kept(
    now: dict[str, Any], tiers: list[Tier], probes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [tier for tier in tiers if tier.name != STRONG]  # as if namespaces had been refused so far
    tier_record.write(now, before)
    monkeypatch.setattr(readiness, "how_workers_start", lambda: ("", []))
    if tiers[0].name == STRONG:
        assert find_again() == before[0]
    assert probes == []
    for count in (1, 2):
        assert readiness.add_isolation(Diagnosis({}, [])).facts["isolation"].startswith(f"{tiers[0].name} (")
        assert len(probes) == count
    assert find_again() == tiers[0]
    assert len(probes) == 2


def test_in_other_circumstances_nothing_is_kept(now: dict[str, Any], tiers: list[Tier]) -> None:
    tier_record.write(now, tiers)
    others = [{**now, name: "another"} for name in now]
    others += [{key: value for key, value in now.items() if key != name} for name in now]
    for name in ("may", "settings", "namespaces"):
        others += [{**now, name: {**now[name], key: "another"}} for key in now[name]]
    assert len(others) > 50
    assert [other for other in others if tier_record.read(other) != []] == []
    assert tier_record.read(now) == tiers


READ = ("sys/kernel/random/boot_id", "self/status", "self/uid_map", "self/gid_map", "self/setgroups", "self/cgroup")
SETTING = "sys/user/max_user_namespaces"


@pytest.fixture
def proc(now: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the files that are read in /proc, which tests may change."""
    copy = tmp_path / "proc"
    for name in (*READ, "self/limits", *(f"sys/{setting}" for setting in now["settings"])):
        if (real := Path("/proc", name)).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(real.read_text())
    (copy / "self" / "ns").mkdir()
    if now["label"] is not None:
        (copy / "self" / "attr").mkdir()
        (copy / "self" / "attr" / "current").write_text(now["label"])
    for name, target in now["namespaces"].items():
        (copy / "self" / "ns" / name).symlink_to(target)
    monkeypatch.setattr(sys.modules[tier_search.circumstances.__module__], "_PROC", copy)
    return copy


def differing(before: dict[str, Any]) -> set[str] | None:
    """Return the names of circumstances that changed, or None if the circumstances are unknown."""
    after = tier_search.now()
    return None if after is None else {name for name in before if before[name] != after[name]}


def test_whatever_changes_on_the_machine_changes_the_circumstances(proc: Path) -> None:
    before = tier_search.now()
    assert before is not None
    assert differing(before) == set()
    belongs_to = {"sys/kernel/random/boot_id": "boot", "self/cgroup": "cgroup", "self/limits": "limits"}
    belongs_to |= {f"self/{name}": "users" for name in ("uid_map", "gid_map", "setgroups")}
    belongs_to |= {f"sys/{name}": "settings" for name in before["settings"]}
    for name, which in belongs_to.items():
        file, text = proc / name, (proc / name).read_text() if (proc / name).exists() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("0\n" if text is None else text + "1\n")
        assert differing(before) == {which}, name
        file.unlink()
        if text is not None:
            # A kernel may lack a setting; if any other file is missing, the circumstances are unknown.
            assert differing(before) == ({"settings"} if which == "settings" else None), name
            file.write_text(text)
    (proc / "self" / "attr").mkdir(exist_ok=True)
    (proc / "self" / "attr" / "current").write_text("confined")
    assert differing(before) == {"label"}
    (proc / "self" / "attr" / "current").unlink()
    if before["label"] is not None:
        (proc / "self" / "attr" / "current").write_text(before["label"])
    for link in (proc / "self" / "ns").iterdir():
        target = link.readlink()
        link.unlink()
        link.symlink_to("net:[1]")
        assert differing(before) == {"namespaces"}
        link.unlink()
        link.symlink_to(target)
    assert differing(before) == set()


def test_whatever_this_process_may_changes_the_circumstances(proc: Path) -> None:
    before = tier_search.now()
    assert before is not None
    status = proc / "self" / "status"
    text = status.read_text()
    for name in before["may"]:
        (line,) = (line for line in text.splitlines() if line.startswith(f"{name}:"))
        status.write_text(text.replace(line, f"{line}1"))
        # A filter's rules cannot be read, so a different filter might be active the next time.
        assert differing(before) == (None if name == "Seccomp" else {"may"}), name
        status.write_text(text.replace(f"{line}\n", ""))
        assert differing(before) is None, name
    status.write_text(text)
    assert differing(before) == set()


def test_a_setting_that_cannot_be_read_leaves_the_circumstances_unknown(proc: Path) -> None:
    (proc / SETTING).unlink(missing_ok=True)
    (proc / SETTING).mkdir(parents=True)  # which root cannot read either
    assert tier_search.now() is None


def test_where_python_lies_and_what_it_is_told_changes_the_circumstances(
    now: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(change: Callable[[pytest.MonkeyPatch], Any]) -> set[str] | None:
        with monkeypatch.context() as patch:
            change(patch)
            return differing(now)

    assert changed(lambda patch: None) == set()
    assert changed(lambda patch: patch.setattr(sys, "executable", "/bin/sh")) == {"python", "probe", "folders"}
    assert changed(lambda patch: patch.setattr(sys, "prefix", "/elsewhere")) == {"python"}
    assert changed(lambda patch: patch.syspath_prepend(str(tmp_path))) == {"probe", "folders"}
    assert changed(lambda patch: patch.setenv("TMPDIR", "/elsewhere")) == {"probe"}
    assert changed(lambda patch: patch.setattr("tempfile.tempdir", str(tmp_path))) == {"folders"}
    assert changed(lambda patch: patch.setenv("LD_LIBRARY_PATH", "/elsewhere")) == {"probe"}
    assert changed(lambda patch: patch.setattr(landlock, "version", lambda: 0)) == {"landlock"}
    assert changed(lambda patch: patch.setattr(os, "uname", lambda: ("Linux", "another"))) == {"kernel"}
    sources = tmp_path / "isolation"
    shutil.copytree(Path(tier_search.__file__).parent, sources)
    module = sys.modules[tier_search.circumstances.__module__]
    monkeypatch.setattr(module, "__file__", str(sources / "circumstances.py"))
    copied = tier_search.now()
    assert copied is not None
    (sources / "attempts.py").write_text("")
    assert differing(copied) == {"sources"}
    sources.chmod(0o700 if sources.stat().st_mode & 0o777 != 0o700 else 0o755)
    assert differing(copied) == {"sources", "folders"}


def change(path: Path, into: Callable[[str], str]) -> None:
    path.write_text(into(path.read_text()))


def forge(now: dict[str, Any], tiers: Any) -> None:
    """Write a false record with a valid digest."""
    place().write_text(json.dumps({"tiers": tiers, "digest": tier_record._digest(now, tiers)}))


def in_place_of(path: Path, make: Callable[[Path], Any]) -> None:
    good = path.rename(path.with_name("good"))
    make(path)
    assert good.exists()


ODD: dict[str, Callable[[Path], Any]] = {
    "others may read it": lambda path: path.chmod(0o640),
    "others may write it": lambda path: path.chmod(0o602),
    "this user cannot write it": lambda path: path.chmod(0o400),
    "a program": lambda path: path.chmod(0o700),
    "a link to a good one": lambda path: in_place_of(path, lambda here: here.symlink_to("good")),
    "a link to nothing": lambda path: in_place_of(path, lambda here: here.symlink_to("nothing")),
    "a pipe": lambda path: in_place_of(path, os.mkfifo),
    "a folder": lambda path: in_place_of(path, Path.mkdir),
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_text(""),
    "cut off": lambda path: change(path, lambda text: text[: len(text) // 2]),
    "garbage": lambda path: path.write_bytes(os.urandom(100) + b"\xff"),
    "huge": lambda path: change(path, lambda text: text + " " * 2**20),
    "nested too deep": lambda path: path.write_text("[" * 2**15),
    "a list": lambda path: path.write_text("[]"),
    "a number": lambda path: path.write_text("3"),
    "another field": lambda path: change(path, lambda text: text.replace("{", '{"more": 1,', 1)),
    "another reason": lambda path: change(path, lambda text: text.replace('"why": ""', '"why": "x"', 1)),
    "another digest": lambda path: change(path, lambda text: text.replace('"digest": "', '"digest": "0', 1)),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_record_counts_as_none_and_is_replaced(odd: str, now: dict[str, Any], tiers: list[Tier]) -> None:
    tier_record.write(now, tiers)
    assert tier_record.read(now) == tiers
    ODD[odd](place())
    assert tier_record.read(now) == []
    tier_record.write(now, tiers)
    assert tier_record.read(now) == ([] if odd == "a folder" else tiers)


@pytest.mark.parametrize("odd", first_of(["others may write it", "a link to a good one", "cut off"], 1))
def test_after_an_odd_record_everything_is_tried_again(
    odd: str, now: dict[str, Any], tiers: list[Tier], probes: list[int]
) -> None:
    tier_record.write(now, tiers)
    ODD[odd](place())
    assert find_again() == tiers[0]
    assert len(probes) == 1
    assert find_again() == tiers[0]
    assert len(probes) == 1


@as_root
def test_another_users_record_counts_as_none_and_is_replaced(now: dict[str, Any], tiers: list[Tier]) -> None:
    tier_record.write(now, tiers)
    os.chown(place(), 12345, 12345)
    assert tier_record.read(now) == []
    tier_record.write(now, tiers)
    assert tier_record.read(now) == tiers


@as_root
def test_root_keeps_nothing_in_another_users_folder(now: dict[str, Any], tiers: list[Tier]) -> None:
    place().parent.mkdir(parents=True)
    os.chown(place().parent, 12345, 12345)
    tier_record.write(now, tiers)
    assert list(place().parent.iterdir()) == []


def test_what_no_probe_finds_counts_as_none(now: dict[str, Any], tiers: list[Tier]) -> None:
    def forged(**fields: Any) -> list[dict[str, Any]]:
        return [{**tiers[0].to_plain(), **fields}, *(tier.to_plain() for tier in tiers[1:])]

    def layers(**fields: Any) -> list[dict[str, Any]]:
        plain = tiers[0].to_plain()["layers"]
        return [{**plain[0], **fields}, *plain[1:]]

    tier_record.write(now, tiers)
    forge(now, forged())
    assert tier_record.read(now) == tiers
    needed = [layer for layer in tiers[0].to_plain()["layers"] if layer["name"] != "landlock"]
    for wrong in (
        [],
        {},
        forged() * 2,
        forged()[::-1],
        forged()[-1:],  # `process`: in this tier, submissions can reach this file
        forged(name="stronger"),
        forged(name=["strong"]),
        forged(more=1),
        forged(reads_as_root=1),
        forged(layers={}),
        forged(layers=[[]]),
        forged(layers=needed),
        forged(layers=layers(holds=False)),
        forged(layers=layers(holds="yes")),
        forged(layers=layers(why=None)),
        forged(layers=layers(why="x" * 5000)),
        forged(layers=layers(more=1)),
    ):
        forge(now, wrong)
        assert tier_record.read(now) == [], wrong


@pytest.mark.long
def test_where_nothing_can_be_kept_everything_is_tried_each_time(
    now: dict[str, Any], tiers: list[Tier], probes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))  # where root cannot write either
    assert find_again() == tiers[0]
    tier_record.discard()
    monkeypatch.setattr(Path, "home", no_home)
    assert find_again() == tiers[0]
    assert len(probes) == 2


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_of_a_process_whose_circumstances_are_unknown_nothing_is_kept(
    now: dict[str, Any], tiers: list[Tier], probes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tier_record.write(now, tiers)
    before = place().read_text()
    monkeypatch.setattr(tier_search, "now", lambda: None)
    assert find_again() == tiers[0]
    assert len(probes) == 1
    assert place().read_text() == before


def test_below_medium_nothing_is_kept(now: dict[str, Any], tiers: list[Tier]) -> None:
    tier_record.write(now, [tier for tier in tiers if tier.name == PROCESS])
    assert not place().exists()


@pytest.mark.parametrize(
    ("error", "attempt", "passes"),
    [
        (None, "fork", False),
        (PermissionError(errno.EPERM, "no"), "fork", False),
        (FileNotFoundError(errno.ENOENT, "no"), "read_secret", False),
        (BlockingIOError(errno.EAGAIN, "busy"), "fork", True),
        (OSError(errno.ENOMEM, "full"), "fork", True),
        (OSError(errno.ENOMEM, "full"), "take_much_memory", False),
        (OSError(errno.EMFILE, "full"), "open_many_files", False),
        (OSError(errno.ENFILE, "full"), "open_many_files", True),
        (OSError(errno.ENOSPC, "full"), "fill_the_scratch", False),
        (OSError(errno.ENOSPC, "full"), "write_outside", True),
        (TimeoutError("timed out"), "connect_on_the_machine", True),
        (PermissionError("a submission may not"), "read_secret", False),
        (ModuleNotFoundError("out of sight"), "read_python", False),
        (MemoryError(), "", True),
        (landlock.LandlockMissing("this kernel has no Landlock"), "", False),
    ],
)
def test_an_error_that_may_be_gone_the_next_time_is_told_apart(
    error: Exception | None, attempt: str, passes: bool
) -> None:
    assert may_pass(error, attempt) is passes


def test_a_layer_that_is_missing_for_lack_of_something_may_be_there_the_next_time() -> None:
    for code, passes in ((errno.EMFILE, True), (errno.EOPNOTSUPP, False)):
        missing = landlock.LandlockMissing("it cannot")
        missing.__cause__ = OSError(code, "no")
        assert may_pass(missing) is passes


def test_a_probe_that_is_short_of_something_is_in_doubt(tiers: list[Tier], monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.run
    full, short = os.strerror(errno.EMFILE), set()
    for files in range(5, 10):  # so few that attempts fail that nothing prevents, and layers cannot be entered
        limited = (
            "import os, resource, sys\n"
            f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
            "os.execv(sys.argv[1], sys.argv[1:])\n"
        )
        short_of_files = [sys.executable, "-c", limited]
        monkeypatch.setattr(
            tier_search.subprocess,
            "run",
            lambda command, before=short_of_files, **options: real([*before, *command], **options),
        )
        nothing, pid_namespace = tier_search.try_layers(
            [(Tier(STRONG, ()), ["mount namespace", "seccomp"]), (tier_search.alone("pid namespace"), [])]
        )
        outcomes = {**nothing.get("works", {}), **nothing.get("fails", {})}
        failed = {name for name, how in outcomes.items() if how == full}
        assert failed <= set(nothing["doubts"])
        short |= failed
        if full in (pid_namespace["error"] or ""):
            assert pid_namespace["doubts"]
            short.add("entering")
    assert "be_told_by_signal" in short
    assert "entering" in short or "pid namespace" not in {layer.name for layer in tiers[0].layers if layer.holds}


def test_a_probe_that_does_not_run_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("/bin/false", "/no/such/program"):
        monkeypatch.setattr(sys, "executable", program)
        (reply,) = tier_search.try_layers([(Tier(STRONG, ()), [])])
        assert "did not run" in reply["error"]
        assert reply["doubts"]


def test_what_is_in_doubt_is_used_once_and_not_kept(
    now: dict[str, Any], tiers: list[Tier], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tier_search.try_layers

    def doubtful(requests: Any) -> Any:
        replies = real(requests)
        replies[-1]["doubts"].append("start_a_thread")
        return replies

    monkeypatch.setattr(tier_search, "try_layers", doubtful)
    assert find_again() == tiers[0]
    assert not place().exists()


LOOKS = """
import ctypes, os

def watch(folder):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.inotify_add_watch(libc.inotify_init1(0), folder.encode(), 0x100) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def attempt(path, way):
    try:
        return "got: " + str(eval(way, {"os": os, "watch": watch, "path": path, "folder": os.path.dirname(path)}))
    except OSError as error:
        return "refused"
"""
WAYS = {
    "read": "open(path).read()",
    "read as bytes": "os.read(os.open(path, os.O_RDONLY), 9)",
    "append": "open(path, 'a').write(' ')",
    "cut off": "os.truncate(path, 0)",
    "replace": "(open('forged', 'w').close(), os.replace('forged', path))",
    "remove": "os.unlink(path)",
    "move": "os.rename(path, path + '~')",
    "link": "os.link(path, 'linked')",
    "read by a link": "(os.symlink(path, 'link'), open('link').read())",
    "put beside it": "open(path + '.part', 'w')",
    "watch": "watch(folder)",
    "open to all": "os.chmod(path, 0o644)",
    "lock": "os.chmod(folder, 0)",
    "make it older": "os.utime(path, (1, 1))",
    "give it away": "os.chown(path, os.getuid(), os.getgid())",
}


@pytest.mark.parametrize("name", [STRONG, pytest.param(MEDIUM, marks=pytest.mark.long)])
def test_no_submission_reads_or_changes_the_record(name: str, now: dict[str, Any], tiers: list[Tier]) -> None:
    try:
        tier = find_tier(name)
    except IsolationError as error:
        pytest.skip(str(error))
    tier_record.write(now, tiers)
    # Neither the file's owner or mode nor a hidden folder may be what protects it.
    for path, mode in ((place(), 0o666), (place().parent, 0o777), (place().parents[1], 0o777)):
        path.chmod(mode)
    (place().parent / "beside").write_text("seen")
    before, dated = place().read_text(), place().stat().st_mtime_ns
    for programs in (None, ProgramFolder(place().parent)):
        worker = WorkerProcess(tier=tier, programs=programs)
        define = worker.request("define", cell=1, source=LOOKS, exercises=["attempt"], starters=[])
        assert define["failed"] is None

        def attempt(path: Path, way: str, worker: WorkerProcess = worker) -> str:
            call = ((str(path), way), {})
            return str(worker.request("ask", name="attempt", request=Request((), "value", (call,)))["value"])

        assert attempt(place().parent / "beside", WAYS["read"]) == ("got: seen" if programs else "refused")
        answers = {way: attempt(place(), WAYS[way]) for way in WAYS}
        # Attempts that change no byte of a file are ignored instead of refused, if the worker sees the file at all.
        refused = {way: said for way, said in answers.items() if said != "got: None"}
        assert set(refused.values()) == {"refused"}
        assert set(answers) - set(refused) <= {"open to all", "lock", "make it older", "give it away"}
        worker.kill()
    assert place().read_text() == before
    modes = [path.stat().st_mode & 0o777 for path in (place(), place().parent)]
    assert (modes, place().stat().st_mtime_ns) == ([0o666, 0o777], dated)
    assert sorted(os.listdir(place().parent)) == ["beside", "isolation.json"]


def test_in_tier_process_the_audit_hook_keeps_the_record_from_the_usual_ways(
    now: dict[str, Any], tiers: list[Tier]
) -> None:
    tier_record.write(now, tiers)
    worker = WorkerProcess(tier=find_tier(PROCESS))
    worker.request("define", cell=1, source=LOOKS, exercises=["attempt"], starters=[])
    for way in ("read", "append", "cut off", "replace", "move"):
        call = ((str(place()), WAYS[way]), {})
        reply = worker.request("ask", name="attempt", request=Request((), "value", (call,)))
        assert reply["value"] == "refused", way
    worker.kill()
    assert tier_record.read(now) == tiers


def test_a_worker_that_does_not_start_leaves_no_record(now: dict[str, Any], tiers: list[Tier]) -> None:
    tier_record.write(now, tiers)

    def spawn(scratch: Path, _token: str, output: Any) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        return subprocess.Popen(["sleep", "0.5"], cwd=scratch, stdin=pipe, stdout=pipe, stderr=output, bufsize=0)

    with pytest.raises(GraderError, match="did not start"):
        WorkerProcess(tier=tiers[0], spawn=spawn)
    assert not place().exists()
