"""Test that every name that JAX removed is explained, in the student's code and in a library for an older JAX."""

import sys
from pathlib import Path

import pytest
from failing import failure, run
from test_explain import explained

from jaxguide.code.user_frame import MISSING
from jaxguide.compat.removals import REMOVALS
from jaxguide.explain import Explanation, explain
from jaxguide.explain.rewrites.renaming import module_behind, resolved

pytestmark = pytest.mark.long

GONE = [name for name in REMOVALS if resolved(name) is MISSING]
READ = [name for name in GONE if name != "jax.config.config"]  # `jax.config` is no module now


def check(source: str, name: str, file: Path) -> None:
    explanation = explained(source, file)
    assert (explanation.kind, explanation.title) == ("removed_name", f"JAX no longer has `{name}`")
    (fix,) = explanation.fixes
    removal = REMOVALS[name]
    assert bool(fix.edits) is bool(removal.new)
    if fix.edits:
        names = run(fix.apply(source), file.with_name("mended.py"))
        expected = resolved(removal.new)
        assert names["value"] is expected or names["value"] == expected


@pytest.mark.parametrize("name", READ)
def test_a_removed_name_is_explained_where_it_is_read(name: str, tmp_path: Path) -> None:
    home = module_behind(name.rpartition(".")[0])
    check(f"import jax\nimport {home}\nvalue = {name}\n", name, tmp_path / "student.py")


@pytest.mark.parametrize("name", GONE[::4])
def test_a_removed_name_is_explained_where_it_is_imported(name: str, tmp_path: Path) -> None:
    home, _dot, last = name.rpartition(".")
    check(f"from {home} import {last} as value\n", name, tmp_path / "student.py")


def explained_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, program: str
) -> Explanation | None:
    """Explain a program that uses an installed library with this source."""
    site = tmp_path / "site-packages"
    (site / "oldlib").mkdir(parents=True)
    (site / "oldlib" / "__init__.py").write_text(library)
    (site / "oldlib-1.5.dist-info").mkdir()
    (site / "oldlib-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: oldlib\nVersion: 1.5\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if k != "oldlib"})
    return explain(failure(program, tmp_path / "student.py"))


@pytest.mark.parametrize(
    "library",
    [
        "import jax\nsaved = jax.tree_map\n",
        "from jax.tree_util import tree_multimap\n",
        "from jax.experimental import stax\n",
        "import jax.linear_util\n",
    ],
)
def test_a_library_that_fails_when_it_is_imported_is_named(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explanation = explained_library(tmp_path, monkeypatch, library, "import jax\nimport oldlib\n")
    assert explanation is not None
    assert explanation.title == "`oldlib` was written for an older JAX"
    assert (explanation.kind, explanation.variable, explanation.line.number) == ("library_for_older_jax", "oldlib", 2)
    assert not explanation.fixes[0].code


def test_a_library_that_fails_when_it_is_called_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = "import jax\ndef double(tree):\n    return jax.tree_map(lambda x: 2 * x, tree)\n"
    source = "import oldlib\ndef f(x):\n    return oldlib.double(x)\nf(1.0)\n"
    explanation = explained_library(tmp_path, monkeypatch, library, source)
    assert explanation is not None
    assert (explanation.kind, explanation.line.number) == ("library_for_older_jax", 3)
    assert "It uses `jax.tree_map`." in explanation.text()


def test_a_mistake_in_a_library_is_not_called_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert explained_library(tmp_path, monkeypatch, "import jax\njax.frobnicate\n", "import oldlib\n") is None


@pytest.mark.parametrize(
    "start", ["from jax.experimental import host_callback", "import jax.experimental.host_callback"]
)
def test_what_replaces_a_function_of_a_removed_module_is_said(start: str, tmp_path: Path) -> None:
    (fix,) = explained(f"{start} as hcb\nhcb.id_tap(print, 1.0)\n", tmp_path / "student.py").fixes
    assert fix.sentence == "In place of `id_tap`, write `jax.debug.callback(lambda x: f(x, ()), x)`."
