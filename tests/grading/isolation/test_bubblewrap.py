"""Around the zygote bubblewrap hides everything but Python, and where it does not work grading does without it."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxguide
from jaxguide.grading import spawning
from jaxguide.grading.isolation import MEDIUM, STRONG, IsolationError, Layer, Tier, bubblewrap, find_tier, places
from jaxguide.grading.isolation.attempts import MUST_FAIL_INSIDE
from jaxguide.grading.isolation.find import try_layers
from jaxguide.grading.isolation.probe import lay_bait
from jaxguide.grading.isolation.tier import BUBBLEWRAP
from jaxguide.grading.processes import command
from jaxguide.grading.remote import WorkerProcess

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is Linux's")


def strong() -> Tier:
    try:
        return find_tier(STRONG)
    except IsolationError as error:
        pytest.skip(str(error))


@pytest.fixture
def wrapped() -> Tier:
    """The tier of a machine where bubblewrap works."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    tier = strong()
    if not tier.uses(BUBBLEWRAP):
        pytest.skip(f"bubblewrap does not hold here: {tier}")
    return tier


def inside(code: str, readable: tuple[Path, ...] = (), hidden: tuple[Path, ...] = ()) -> object:
    """Return the value of an expression in a Python inside bubblewrap."""
    before = bubblewrap.around(readable, hidden)
    program = [*before, sys.executable, "-I", "-c", f"import json, os; print(json.dumps({code}))"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_of_anybodys_is_to_be_seen_inside(wrapped: Tier, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    package = Path(jaxguide.__file__).parent
    assert inside(f"sorted(os.listdir({str(package)!r}))") == sorted(os.listdir(package))
    beside = [str(path) for path in package.parent.iterdir() if path.name in ("solutions", "exercises", ".git")]
    for place in (str(tmp_path), *beside, "/etc/passwd"):
        assert os.path.exists(place)
        assert inside(f"os.path.exists({place!r})") is False
    assert inside("sorted(name for name in os.listdir('/proc') if name.isdigit())") == ["1"]


def test_a_clone_is_not_to_be_seen_even_if_the_environment_stands_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = Path(jax.__file__).parents[1]
    for top, seen in ((packages, set()), (packages.parent, {str(packages.parent)}), (Path("/a"), {"/a"})):
        monkeypatch.setattr(places, "__file__", str(top / "jaxguide" / "grading" / "isolation" / "places.py"))
        assert places.clone() == seen


def test_what_is_hidden_below_what_is_seen_stays_out_of_sight(wrapped: Tier, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    (shown / "solutions").mkdir(parents=True)
    for name in ("solutions/key.py", "ada.py", "public.py"):
        (shown / name).write_text("x = 1")
    (tmp_path / "link").symlink_to(shown)
    hidden = (shown / "solutions", shown / "ada.py")
    for place in (shown, tmp_path / "link"):
        assert inside(f"os.listdir({str(place / 'solutions')!r})", (tmp_path / "link",), hidden) == []
        sizes = f"[os.path.getsize(f'{place}/{{name}}') for name in ('ada.py', 'public.py')]"
        assert inside(sizes, (tmp_path / "link",), hidden) == [0, 5]


def test_what_is_seen_cannot_be_written(wrapped: Tier, tmp_path: Path) -> None:
    for folder in (str(tmp_path), str(Path(jaxguide.__file__).parent)):
        assert inside(f"os.access({folder!r}, os.W_OK)", (tmp_path,)) is False


def test_each_attempt_fails_inside_and_comes_through_outside(wrapped: Tier) -> None:
    probe = command("jaxguide.grading.isolation.probe")
    with lay_bait() as bait:
        laid = dataclasses.asdict(bait)
        (held,), (came_through,) = (try_layers([], [*before, *probe], laid) for before in (bubblewrap.around(), ()))
    assert set(held["fails"]) == {attempt.__name__ for attempt in MUST_FAIL_INSIDE}
    assert {name for name, how in held["fails"].items() if not how} == set()
    assert {name for name, how in came_through["fails"].items() if how} == set()


def test_only_workers_of_the_strong_tier_are_inside(wrapped: Tier) -> None:
    assert BUBBLEWRAP in str(find_tier(STRONG))
    medium = find_tier(MEDIUM)
    assert not medium.uses(BUBBLEWRAP)
    for tier in (wrapped, medium):
        worker = WorkerProcess(tier=tier)
        assert spawning.is_inside(worker._process) is (tier is wrapped)
        assert worker.tier == tier
        worker.kill()


SAYS = "import json; from jaxguide.grading.isolation import find_tier; print(json.dumps(find_tier().to_plain()))"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, "it is not installed"),
        ("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n", "No permissions to create"),
        ("#!/bin/sh\nexit 1\n", "it said nothing"),
        ('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n', "not prevented: read secret"),
    ],
)
def test_a_bubblewrap_that_is_missing_or_does_not_work_is_left_out(
    script: str | None, why: str, tmp_path: Path
) -> None:
    strong()
    if script is not None:
        (tmp_path / "bwrap").write_text(script)
        (tmp_path / "bwrap").chmod(0o755)
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", SAYS], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    tier = Tier.from_plain(json.loads(done.stdout))
    assert tier.name == STRONG
    assert not tier.uses(BUBBLEWRAP)
    assert f"{BUBBLEWRAP}: " in str(tier)
    assert why in str(tier)


def test_where_the_zygote_does_not_start_inside_workers_start_without_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = strong().without(BUBBLEWRAP)
    promised = dataclasses.replace(tier, layers=(*tier.layers[:-1], Layer(BUBBLEWRAP, True)))
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    bubblewrap.around.cache_clear()
    try:
        assert promised.uses(BUBBLEWRAP)
        for _time in range(2):
            worker = WorkerProcess(tier=promised)
            worker.request("define", cell=1, source="x = 1", exercises=[], starters=[])
            assert not spawning.is_inside(worker._process)
            assert not worker.tier.uses(BUBBLEWRAP)
            assert "do not start inside" in str(worker.tier)
            worker.kill()
    finally:
        bubblewrap.around.cache_clear()
