"""Test imports: each room imports lower rooms only, nothing heavy is loaded early, and no array is made."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest
from needs import first_of

PACKAGE = Path(__file__).parents[1] / "jaxguide"
# Rooms from the lowest to the highest: each imports only lower ones.
ROOMS = (
    {"base", "clock", "data"},
    {"compat"},
    {"code"},
    {"jaxpr"},
    {"keys", "callbacks", "debug", "tracing", "explain"},
    {"course"},
    {"grading"},
    {"student", "proving"},
    {"lesson", "fixtures", "cli"},
)
# The same for the rooms inside a room.
INSIDE = {
    "course": (
        {"verdict", "ledger", "limits", "printed_names", "breakpoints"},
        {"exercise"},
        {"settings"},
        {"set_up", "requirements"},
        {"judging"},
        {"author"},
        {"books", "progress"},
        {"cards"},
    ),
    "explain": (
        {"explanation"},
        {"scene"},
        {"transformed", "without_source", "offered"},
        {"rewrites"},
        {"known_facts"},
        {"probes"},
        {"traced_truths"},
        {"catalogue"},
        {"rules"},
        {"knowledge"},
        {"explaining"},
        {"magics"},
        {"notebook"},
    ),
    "grading": ({"isolation"}, {"intake"}, {"workers"}, {"batch"}, {"reports"}, {"exports"}),
}
HEAVY = (
    *("jax", "jaxlib", "numpy", "scipy", "matplotlib", "IPython", "jinja2", "rich"),
    *("nbformat", "nbclient", "jupyter_core"),
)


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_imports_nothing_heavy() -> None:
    loaded = _run("import sys, jaxguide; print(*{m.split('.')[0] for m in sys.modules})").split()
    assert not set(loaded) & set(HEAVY)


def test_a_public_name_loads_its_module_when_touched() -> None:
    out = _run("import sys, jaxguide; jaxguide.check; print('jaxguide.lesson' in sys.modules, 'jax' in sys.modules)")
    assert out == "True False"


@pytest.mark.parametrize(
    "module", first_of(["jaxguide.lesson", "jaxguide.grading.batch.grader", "jaxguide.cli.for_students"], 1)
)
def test_reading_notebooks_needs_no_notebook_library(module: str) -> None:
    code = f"import sys, {module}, jaxguide.course.books.printer; print({{'nbformat', 'jupytext'}} & set(sys.modules))"
    assert _run(code) == "set()"


@pytest.mark.long
def test_jinja_is_imported_only_when_a_page_is_written() -> None:
    imported = "import sys, jaxguide.grading.reports as reports; print('jinja2' in sys.modules)"
    page = "from jaxguide.grading.reports.page import rendered; rendered('charts.html', {})"
    assert _run(f"{imported}; {page}; print('jinja2' in sys.modules)").split() == ["False", "True"]


@pytest.mark.long
def test_no_module_starts_a_backend_when_imported() -> None:
    modules = [_name(path) for path in PACKAGE.rglob("*.py") if "__main__" not in path.name]
    code = (
        f"import importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "import jax.extend.backend, gc, jax\n"
        "print(len([x for x in gc.get_objects() if isinstance(x, jax.Array)]))"
    )
    assert _run(code) == "0"
    # On a platform that does not exist, starting a backend raises.
    no_backend = "import os\nos.environ['JAX_PLATFORMS'] = 'none_such'\n"
    assert (
        _run(f"{no_backend}import importlib\nfor name in {modules!r}: importlib.import_module(name)\nprint('ok')")
        == "ok"
    )


@pytest.mark.long
def test_the_helpers_run_beside_jax_alone() -> None:
    """`pip install --no-deps` is enough for them, as docs/helpers.md says."""
    others = ["click", "filelock", "IPython", "jinja2", "matplotlib", "psutil", "rich"]
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({others}))\n"
        "for room in ('keys', 'callbacks', 'debug', 'tracing', 'explain'):\n"
        "    module = importlib.import_module(f'jaxguide.{room}')\n"
        "    for name in module.__all__: getattr(module, name)\n"
        "import jax, jaxguide.explain, jaxguide.keys, jaxguide.tracing\n"
        "print(jaxguide.keys.check_keys(jax.random.normal, jax.random.key(0)).tree)\n"
        "print(jaxguide.tracing.program(lambda x: x, 1.0), jaxguide.tracing.side_effects(lambda x: x, 1.0))\n"
        "try: jax.jit(lambda x: 1 if x > 0 else 2)(1.0)\n"
        "except Exception as error: print(jaxguide.explain.explain(error))"
    )
    assert _run(code)


def test_every_module_has_a_room() -> None:
    doors = {"", "__main__"}
    assert {_room(_name(path)) for path in PACKAGE.rglob("*.py")} - doors == set().union(*ROOMS)
    for room, rooms in INSIDE.items():
        inside = {
            path.relative_to(PACKAGE / room).parts[0].removesuffix(".py") for path in (PACKAGE / room).rglob("*.py")
        }
        assert inside - {"__init__"} == set().union(*rooms)


def test_imports_point_one_way() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        name = _name(path)
        wrong += [f"{name} imports {other}" for other in _imports(path) if not _allowed(name, other)]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    waiting = {_name(path): _modules_imported(path) for path in PACKAGE.rglob("*.py")}
    while free := [name for name, others in waiting.items() if not others & waiting.keys()]:
        for name in free:
            del waiting[name]
    assert sorted(waiting) == []


def test_no_import_is_relative() -> None:
    """The other tests read absolute names."""
    nodes = [(path, node) for path in PACKAGE.rglob("*.py") for node in _import_statements(path)]
    relative = [(path, node) for path, node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    assert [f"{_name(path)}, line {node.lineno}" for path, node in relative] == []


def test_the_books_import_the_author_interface_and_no_more_of_the_school() -> None:
    top = PACKAGE.parent
    for path in [*(top / "exercises").glob("*.py"), *(top / "solutions").glob("*.py")]:
        school = [name for name in _imports(path) if _rank(ROOMS, _room(name)) >= _rank(ROOMS, "course")]
        public = ("jaxguide.course.author.", "jaxguide.course.breakpoints.")
        assert [name for name in school if not name.startswith(public)] == [], path


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
    """Return the modules, and the names in packages, that a file imports from jaxguide, also those for types only."""
    return [name for node in _import_statements(path) for name in _imported(node)]


@functools.cache
@functools.cache
def _import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    found: list[str] = []
    if isinstance(node, ast.Import):
        found = [alias.name for alias in node.names]
    elif node.module:
        found = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.startswith("jaxguide.")]


def _modules_imported(path: Path) -> set[str]:
    """Return the modules of jaxguide that a file imports, also inside functions and for types only."""
    found = set()
    for name in _imports(path):
        place = PACKAGE.parent / name.replace(".", "/")
        is_module = place.with_suffix(".py").is_file() or place.is_dir()
        found.add(name if is_module else name.rpartition(".")[0])
    return found - {_name(path), "jaxguide"}


def _allowed(importer: str, imported: str) -> bool:
    above, below = importer.split(".")[1:], imported.split(".")[1:]
    if not above or above[0] == "__main__" or below[0] == "__version__":  # an entry point
        return True
    if above[0] != below[0]:
        return _rank(ROOMS, above[0]) > _rank(ROOMS, below[0])
    if above[0] not in INSIDE or len(above) == 1 or above[1] == below[1]:
        return True
    return _rank(INSIDE[above[0]], above[1]) > _rank(INSIDE[above[0]], below[1])


def _rank(rooms: tuple[set[str], ...], room: str) -> int:
    return next(number for number, level in enumerate(rooms) if room in level)
