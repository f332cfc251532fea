"""Imports: nothing heavy before it is needed, arrows in one direction, no array at import time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "jaxguide"
HELPERS = {"keys", "callbacks", "debug", "tracing", "explain"}
EVERYWHERE = {"base", "compat"}
BELOW = {"code", "jaxpr", *EVERYWHERE}
HEAVY = ("jax", "jaxlib", "numpy", "scipy", "matplotlib", "IPython", "nbformat", "nbclient", "jupyter_core", "rich")


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy() -> None:
    loaded = _run("import sys, jaxguide; print(*{m.split('.')[0] for m in sys.modules})").split()
    assert not set(loaded) & set(HEAVY)


def test_a_public_name_loads_its_module_when_touched() -> None:
    out = _run("import sys, jaxguide; jaxguide.check; print('jaxguide.lesson' in sys.modules, 'jax' in sys.modules)")
    assert out == "True False"


@pytest.mark.parametrize("module", ["jaxguide.lesson", "jaxguide.grading.batch.grader", "jaxguide.cli.student"])
def test_reading_notebooks_needs_no_notebook_library(module: str) -> None:
    code = f"import sys, {module}, jaxguide.course.books.printer; print({{'nbformat', 'jupytext'}} & set(sys.modules))"
    assert _run(code) == "set()"


def test_no_module_starts_a_backend_when_imported() -> None:
    modules = [_name(path) for path in PACKAGE.rglob("*.py") if "__main__" not in path.name]
    code = (
        f"import importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "import jax.extend.backend, gc, jax\n"
        "print(len([x for x in gc.get_objects() if isinstance(x, jax.Array)]))"
    )
    assert _run(code) == "0"
    # On a platform that does not exist, whatever starts a backend raises.
    no_backend = "import os\nos.environ['JAX_PLATFORMS'] = 'none_such'\n"
    assert (
        _run(f"{no_backend}import importlib\nfor name in {modules!r}: importlib.import_module(name)\nprint('ok')")
        == "ok"
    )


def test_imports_point_one_way() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        room = _room(_name(path))
        wrong += [f"{_name(path)} imports {name}" for name in _imports(path) if not _allowed(room, _room(name))]
    assert wrong == []


def test_the_books_import_the_author_interface_and_no_more_of_the_school() -> None:
    top = PACKAGE.parent
    for path in [*(top / "exercises").glob("*.py"), *(top / "solutions").glob("*.py")]:
        school = [n for n in _imports(path) if _room(n) in ("course", "grading", "cli")]
        assert set(school) <= {"jaxguide.course.author"}, path


def test_jax_internals_stay_in_the_compatibility_module() -> None:
    internal = "jax." + "_src"
    users = [p.name for p in PACKAGE.rglob("*.py") if internal in p.read_text() and p.parent.name != "compat"]
    assert users == []


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _room(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module] + [f"{node.module}.{a.name}" for a in node.names if node.module == "jaxguide"]
    return [name for name in found if name.startswith("jaxguide.")]


def _allowed(importer: str, imported: str) -> bool:
    if importer == imported or imported in {*EVERYWHERE, "__version__"} or importer in ("", "__main__"):
        return True
    if importer in BELOW:
        return imported in BELOW
    if importer in HELPERS:
        return imported in BELOW | HELPERS
    if importer == "course":
        return imported in BELOW | HELPERS
    if importer == "fixtures":
        return imported in HELPERS
    if importer == "lesson":
        return imported in BELOW | HELPERS | {"course", "student"}
    if importer == "grading":
        return imported in BELOW | HELPERS | {"course"}
    if importer in ("translation", "proving"):
        return imported in BELOW | HELPERS | {"course"}
    if importer == "student":
        return imported in BELOW | HELPERS | {"course", "grading"}
    return importer == "cli"
