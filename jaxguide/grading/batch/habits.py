"""Read how students worked (tries, hints, minutes) from the progress file of a submitted workspace."""

import collections
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxguide.course.progress import ExerciseProgress, progress_file_name, read_progress

_LIMIT_BYTES = 2**20
_MOST = 10_000
_MOST_EXERCISES = 1_000


@dataclasses.dataclass(frozen=True)
class Habit:
    """How one student worked on one exercise, according to a file that the student could have edited.

    Args:
        tries: how many different answers the student checked.
        hints: how many hints the student read.
        minutes: the time from the first check to the first pass, or None if not known.
    """

    tries: int
    hints: int
    minutes: float | None = None


def habits_from(content: bytes) -> dict[str, dict[str, Any]]:
    """Return the habits in a workspace's progress file by exercise, as plain data; empty if the file is damaged.

    >>> habits_from(b'{"version": 1, "exercises": {"walk": {"attempts": ["a", "b"], "hints": 1}}}')
    {'walk': {'tries': 2, 'hints': 1, 'minutes': None}}
    >>> habits_from(b"[")
    {}
    """
    try:
        progress = read_progress(content)
        found = {name: _habit(done) for name, done in sorted(progress.items())[:_MOST_EXERCISES]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}
    return {name[:100]: dataclasses.asdict(habit) for name, habit in found.items()}


def _habit(done: ExerciseProgress) -> Habit:
    minutes = None
    if done.started_s is not None and done.passed_s is not None:
        passed = (done.passed_s - done.started_s) / 60
        minutes = round(passed, 1) if math.isfinite(passed) and 0 <= passed <= _MOST * 60 else None
    return Habit(min(done.tries, _MOST), max(0, min(done.hints, _MOST)), minutes)


def habits_of(files: Sequence[tuple[Path, str]], identity: str) -> dict[Path, dict[str, dict[str, Any]]]:
    """Read the progress file next to each submission, in folders that contain files of a single student.

    Args:
        files: each submission's path and student.
        identity: the course's identity.
    """
    owners: dict[Path, set[str]] = collections.defaultdict(set)
    for path, student in files:
        owners[path.parent].add(student)
    name = progress_file_name(identity)
    beside = {folder: _read(folder / name) for folder, students in owners.items() if len(students) == 1}
    return {path: habits for path, _student in files if (habits := beside.get(path.parent))}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LIMIT_BYTES:
            return {}
        return habits_from(path.read_bytes())
    except OSError:
        return {}
