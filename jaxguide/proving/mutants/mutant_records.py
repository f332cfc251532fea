"""Keep what became of each mutant in the user's cache folder, so that a survey that was stopped goes on."""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jaxguide.base.files import user_folder, write_whole
from jaxguide.code.sameness import canonical
from jaxguide.course.books.library import Course
from jaxguide.course.books.percent import decorators, split_cells
from jaxguide.course.exercise import Exercise
from jaxguide.course.requirements import pinned
from jaxguide.course.set_up import process_settings

_PACKAGE = Path(__file__).parents[2]
# What the outcome for a mutant does not depend on; operators only decide which mutants there are.
_CANNOT_DECIDE = frozenset({"cli", "fixtures.py", "grading", "lesson.py", "student", "__main__.py"})
_ONLY_MAKE = ("operator_table.py", "making.py", "mutant_records.py", "survey.py")
_LIBRARIES = ("jax", "jaxlib", "ml_dtypes", "numpy")


class MutantRecords:
    """The outcomes for the mutants of each exercise, a file for each; a change of what they depend on clears it.

    Args:
        folder: by default, a subfolder of the user's cache folder.
    """

    def __init__(self, folder: Path | None = None):
        self.folder = folder
        if folder is None:
            with contextlib.suppress(RuntimeError):  # no home directory
                self.folder = user_folder() / "mutants"

    def read(self, exercise: Exercise, digest: str) -> dict[str, dict[str, Any]]:
        """Return the outcomes of an exercise by mutant; none if something changed or the file is damaged."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            kept = json.loads(self._place(exercise).read_text("utf-8"))
            if isinstance(kept, dict) and kept.get("digest") == digest and isinstance(kept.get("outcomes"), dict):
                return dict(kept["outcomes"])
        return {}

    def write(self, exercise: Exercise, digest: str, outcomes: dict[str, dict[str, Any]]) -> None:
        """Keep the outcomes of an exercise; if they cannot be written, they are found again next time."""
        with contextlib.suppress(OSError, TypeError):
            write_whole(self._place(exercise), json.dumps({"digest": digest, "outcomes": outcomes}))

    def _place(self, exercise: Exercise) -> Path:
        if self.folder is None:
            raise OSError
        book = hashlib.sha256(str(exercise.path.resolve()).encode()).hexdigest()[:8]
        version = f"python{platform.python_version()}-jax{importlib.metadata.version('jax')}"
        return self.folder / version / f"{exercise.lesson}-{book}" / f"{exercise.name}.json"


def deciding_digest(course: Course, exercise: Exercise) -> str:
    """Return a digest of all that decides on the mutants of an exercise: book, key, files, modules and versions."""
    digest = hashlib.sha256(_of_package().encode())
    digest.update(json.dumps(process_settings(course.settings, exercise.lesson), sort_keys=True).encode())
    digest.update(json.dumps(pinned(course.settings), sort_keys=True).encode())
    for name, file in sorted(course.files.items()):
        digest.update(f"\n{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    assert exercise.key is not None
    for path in (exercise.path, exercise.key.answer.path):
        for node in _statements(path.read_text("utf-8"), exercise.name):
            digest.update(f"\n{canonical(node)}".encode("utf-8", "backslashreplace"))
    digest.update(exercise.contract.encode())
    return digest.hexdigest()


def _statements(text: str, name: str) -> Iterator[ast.stmt]:
    """Yield the statements of a book or key, except those of other exercises and the author's marks."""
    for kind, source, _line in split_cells(text):
        if kind not in (None, "exercise", "check", name):
            continue
        for node in ast.parse(source).body:
            call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
            is_mark = call is not None and isinstance(call.func, ast.Name) and call.func.id == "equivalent"
            # A first mark needs an import, too, which decides nothing by itself.
            is_mark = is_mark or (isinstance(node, ast.ImportFrom) and node.module == "jaxguide.course.author")
            if not is_mark and not _is_of_another(node, name):
                yield node


def _is_of_another(node: ast.stmt, name: str) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    if {"exercise", "prediction"} & set(decorators(node)):
        return node.name != name
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in ("visible", "reveal"):
            target = one.args[0] if one.args else None
            return getattr(target, "id", getattr(target, "value", name)) != name
    return False


@functools.cache
def _of_package() -> str:
    digest = hashlib.sha256(f"{platform.python_version()} {platform.machine()}".encode())
    for library in _LIBRARIES:
        digest.update(f" {library} {importlib.metadata.version(library)}".encode())
    for path in _deciding():
        digest.update(f"\n{path.relative_to(_PACKAGE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _deciding() -> Iterable[Path]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        is_mutator = path.parent.name == "mutants" and (path.name in _ONLY_MAKE or path.name.startswith("mutated_"))
        if path.relative_to(_PACKAGE).parts[0] not in _CANNOT_DECIDE and not is_mutator:
            yield path
