"""Find the files to grade among the files and folders named on the command line."""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from jaxguide.course.books.folders import LAID_OUT_NAME
from jaxguide.grading.intake.submission import is_submission

STORE_NAME = "grading.sqlite"
"""The file that every results folder contains."""

# What jaxguide and learning platforms lay beside submissions.
_LAID_THERE = re.compile(
    r"(^|/)(jaxguide-progress[^/]*\.json|submission_metadata\.yml|[^/]*_attempt_[\d-]+\.txt)$"
    r"|_assignsubmission_onlinetext|_(text|link)\.html$"
)
FOLDERS_PASSED_OVER = frozenset({"__MACOSX", "__pycache__", "node_modules", LAID_OUT_NAME})


def find_submissions(paths: Iterable[Path]) -> list[Path]:
    """Return the notebooks and Python files among `paths` and in the folders among them, without duplicates.

    This includes pipes, sockets and devices with such names; their rows say what they are.

    Raises:
        FileNotFoundError: one of the paths does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update((p, None) for p in files_below(path) if is_submission(p))
        elif path.exists():
            found[path] = None
        else:
            raise FileNotFoundError(f"There is no file or folder `{path}`.")
    return list(found)


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted, without hidden ones and those that programs keep for themselves.

    A link to a folder counts as a file: it is not followed. Folders that cannot be listed, for example because they are
    nested too deeply, are passed over.
    """
    below: list[Path] = []
    waiting = [folder]
    while waiting:  # before Python 3.12, `os.walk` is recursive
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                (waiting if entry.is_dir(follow_symlinks=False) else below).append(Path(entry.path))
    return sorted(path for path in below if not _is_passed_over(path.relative_to(folder)))


def files_of_students(root: Path, out: Path) -> list[Path]:
    """Return the files below a folder, except those in the results folder or in earlier ones."""
    files = files_below(root)
    results = {out.absolute(), *(path.absolute().parent for path in files if path.name == STORE_NAME)}
    return [path for path in files if results.isdisjoint(path.absolute().parents)]


def passed_over_below(roots: Iterable[Path], known: Iterable[Path], out: Path) -> list[Path]:
    """Return the files below folders that are not known, without those that jaxguide or a platform lays there."""
    at = {path.absolute() for path in known}
    files = dict.fromkeys(path for root in roots if root.is_dir() for path in files_of_students(root, out))
    return [path for path in files if path.absolute() not in at and not _LAID_THERE.search(path.as_posix())]


def why_not_ordinary(path: Path) -> str:
    """Return why a path is not that of an ordinary file that may be read, or ''.

    Raises:
        OSError: the path cannot be looked up.
    """
    if path.is_symlink():
        try:
            place = path.resolve(strict=True)
        except (OSError, RuntimeError):  # RuntimeError if links lead in a circle
            return "It is a link to a file that is not there."
        # The grader may read files that the student may not: the key, or other students' answers.
        if place.parent != path.parent.resolve():
            return "It is a link to another place; grade the file itself."
    mode = path.stat().st_mode
    # Opening a pipe would block forever.
    kinds = {
        stat.S_IFIFO: "It is a pipe, not a file.",
        stat.S_IFSOCK: "It is a socket, not a file.",
        stat.S_IFCHR: "It is a device, not a file.",
        stat.S_IFBLK: "It is a device, not a file.",
        stat.S_IFDIR: "It is a folder, not a file.",
    }
    return "" if stat.S_ISREG(mode) else kinds.get(stat.S_IFMT(mode), "It is not an ordinary file.")


def holds_python(folder: Path) -> bool:
    """Return whether a folder contains Python or jaxguide, which workers need: the top of a clone may contain both."""
    places = (sys.prefix, sys.base_prefix, Path(__file__).parents[1])
    return any(Path(place).is_relative_to(folder.absolute()) for place in places)


def _is_passed_over(path: Path) -> bool:
    return any(part.startswith(".") or part in FOLDERS_PASSED_OVER for part in path.parts)
