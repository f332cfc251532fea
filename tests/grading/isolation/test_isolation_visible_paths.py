"""Test that workers see only what they need of the disk: no hidden files, by whichever path, and no clone."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from jaxguide.grading.isolation import MEDIUM, STRONG, IsolationError, Tier, find_tier, visible_paths

# In a child process, like a worker, since the PID namespace begins there.
LOOKS = """
import json, os, sys
from jaxguide.grading.isolation import Tier, enter_inner, enter_outer

plain, config, paths = map(json.loads, sys.argv[1:])
tier, seen = Tier.from_plain(plain), []
enter_outer(tier, config)
if os.fork() == 0:
    enter_inner(tier, config)
    for path in paths:
        try:
            seen.append(sorted(os.listdir(path)) if os.path.isdir(path) else open(path).read())
        except OSError:
            seen.append(None)
    print(json.dumps(seen), flush=True)
    os._exit(0)
os.wait()
os._exit(0)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that every user can read, unlike pytest's temporary folders."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the tiers need Linux")
@pytest.mark.parametrize("name", [STRONG, MEDIUM])
def test_what_is_hidden_below_what_is_seen_stays_out_of_sight(folder: Path, name: str) -> None:
    try:
        tier = find_tier(name)
    except IsolationError as error:
        pytest.skip(str(error))
    shown, link, scratch = folder / "shown", folder / "link", folder / "scratch"
    for place in (shown / "solutions", scratch):
        place.mkdir(parents=True)
    for file in ("solutions/key.py", "ada.py", "public.py"):
        (shown / file).write_text("x = 1")
    link.symlink_to(shown)
    hidden = [str(shown / "solutions"), str(shown / "ada.py")]
    config = {"hidden": hidden, "unlisted": [str(link)], "scratch": str(scratch)}
    paths = [str(top / file) for top in (shown, link) for file in ("public.py", "ada.py", "solutions/key.py")]
    assert seen(tier, config, paths, folder) == ["x = 1", None, None] * 2


def seen(tier: Tier, config: dict[str, object], paths: list[str], folder: Path) -> list[object]:
    """Return what a worker sees at these paths: text, the names in a folder, or None."""
    command = [sys.executable, "-c", LOOKS, *map(json.dumps, (tier.to_plain(), config, paths))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.stdout, done.stderr
    found: list[object] = json.loads(done.stdout)
    return found


def test_a_clone_is_not_to_be_seen_even_if_the_environment_stands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = Path(jax.__file__).parents[1]
    for top, is_seen in ((packages, True), (packages.parent, False), (tmp_path, False)):
        monkeypatch.setattr(visible_paths, "__file__", str(top / "jaxguide" / "grading" / "isolation" / "places.py"))
        monkeypatch.setattr(sys, "path", [str(top), "/elsewhere"])
        visible_paths.forget([])
        assert (str(top) in sys.path) is is_seen
        assert "/elsewhere" in sys.path
