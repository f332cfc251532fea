"""Names: no two modules share one, nor do two public classes, functions or constants of a room."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "jaxguide"
# Commands that notebooks have too, and what processes begin with.
SHARED = {"check", "doctor", "hint", "progress", "solution", "start", "main"}


def test_no_two_modules_share_a_name() -> None:
    # The rules of explain are named after what they explain, such as callbacks.
    paths = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "rules"]
    assert _twice((path.parent.name if path.stem == "__init__" else path.stem, _module(path)) for path in paths) == {}


def test_no_two_classes_functions_or_constants_of_a_room_share_a_name() -> None:
    named = ((f"{_room(path)}: {name}", _module(path)) for path in PACKAGE.rglob("*.py") for name in _defined(path))
    assert _twice((name, module) for name, module in named if name.partition(": ")[2] not in SHARED) == {}


def _twice(named: Iterator[tuple[str, str]]) -> dict[str, set[str]]:
    homes: dict[str, set[str]] = defaultdict(set)
    for name, module in named:
        homes[name].add(module)
    return {name: modules for name, modules in homes.items() if len(modules) > 1}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def _defined(path: Path) -> Iterator[str]:
    """Yield the public names that a module defines at its top level."""
    for node in ast.parse(path.read_text()).body:
        names: list[str] = []
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))
