"""Find the files to grade among what a person names."""

import sys
from collections.abc import Iterable
from pathlib import Path

from jaxguide.base.text import _
from jaxguide.grading.intake.submission import is_submission

STORE_NAME = "grading.sqlite"
"""The file that lies in every folder of results."""

FOLDERS_PASSED_OVER = frozenset({"__MACOSX", "__pycache__", "node_modules"})


def find_submissions(paths: Iterable[Path]) -> list[Path]:
    """Return the notebooks and Python files among `paths` and below the folders among them, each once.

    Raises:
        FileNotFoundError: one of the paths is not there.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update((p, None) for p in files_below(path) if is_submission(p) and p.is_file())
        elif path.exists():
            found[path] = None
        else:
            raise FileNotFoundError(_("There is no file or folder `{path}`.").format(path=path))
    return list(found)


def files_below(folder: Path) -> list[Path]:
    """Return all below a folder that is no folder, sorted, without what programs keep for themselves."""
    below = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(path for path in below if not _is_passed_over(path.relative_to(folder)))


def holds_python(folder: Path) -> bool:
    """Return whether a folder holds what every worker needs, as when results are written to the top of a clone."""
    places = (sys.prefix, sys.base_prefix, Path(__file__).parents[1])
    return any(Path(place).is_relative_to(folder.absolute()) for place in places)


def _is_passed_over(path: Path) -> bool:
    return any(part.startswith(".") or part in FOLDERS_PASSED_OVER for part in path.parts)
