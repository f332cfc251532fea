"""Test that workers see only what they need of the disk: no hidden files, by whichever path, and no clone."""

import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest
from needs import lacks

from jaxguide.grading.isolation import stack
from jaxguide.grading.isolation.self_test import find_isolation

LOOKS = """
import json, os, sys
from jaxguide.grading.isolation.stack import Isolation, enter

plain, config, paths = map(json.loads, sys.argv[1:])
enter(Isolation(**plain), config)
seen = []
for path in paths:
    try:
        seen.append(sorted(os.listdir(path)) if os.path.isdir(path) else open(path).read())
    except OSError:
        seen.append(None)
print(json.dumps(seen))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that every user can read, unlike pytest's temporary folders."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation needs Linux")
def test_what_is_hidden_below_what_is_seen_stays_out_of_sight(folder: Path) -> None:
    isolation = find_isolation()
    if isolation.missing:
        lacks("; ".join(isolation.missing))
    shown, link, scratch = folder / "shown", folder / "link", folder / "scratch"
    for place in (shown / "solutions", scratch):
        place.mkdir(parents=True)
    for file in ("solutions/key.py", "ada.py", "public.py"):
        (shown / file).write_text("x = 1")
    link.symlink_to(shown)
    hidden = [str(shown / "solutions"), str(shown / "ada.py")]
    config = {"hidden": hidden, "unlisted": [str(link)], "scratch": str(scratch)}
    paths = [str(top / file) for top in (shown, link) for file in ("public.py", "ada.py", "solutions/key.py")]
    command = [sys.executable, "-c", LOOKS, *map(json.dumps, (dataclasses.asdict(isolation), config, paths))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == ["x = 1", None, None] * 2


def test_a_clone_is_not_to_be_seen_even_if_the_environment_stands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = Path(jax.__file__).parents[1]
    for top, is_seen in ((packages, True), (packages.parent, False), (tmp_path, False)):
        monkeypatch.setattr(stack, "__file__", str(top / "jaxguide" / "grading" / "isolation" / "places.py"))
        monkeypatch.setattr(sys, "path", [str(top), "/elsewhere"])
        stack._forget([])
        assert (str(top) in sys.path) is is_seen
        assert "/elsewhere" in sys.path
