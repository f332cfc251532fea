"""Record a student's progress in a small file in a hidden folder of the workspace."""

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxguide.base.files import write_whole
from jaxguide.code.sameness import WITHOUT_SOURCE
from jaxguide.course.settings import BUNDLED
from jaxguide.course.verdict import ExerciseResult, Verdict

_VERSION = 1
_LOCK_NAME = "progress.lock"
_OLD_LOCK_NAME = ".jaxguide-progress.lock"
_LOCK_LIMIT_S = 5.0


@dataclasses.dataclass
class ExerciseProgress:
    """Progress in one exercise: whether it passed, ids of the answers checked, hints read, the locked guess, the start.

    `is_right` says whether the locked guess is, None if that is not known. `started_s` is the time of the first check
    in seconds since 1970, or None.
    """

    passed: bool = False
    attempts: list[str] = dataclasses.field(default_factory=list)
    hints: int = 0
    guess: str | None = None
    is_right: bool | None = None
    started_s: float | None = None

    @property
    def tries(self) -> int:
        """The number of different answers checked.

        An answer without source may be the same as one with source, so the larger of the two counts is returned.

        >>> ExerciseProgress(attempts=["1f", "2e", "code-1f"]).tries
        2
        """
        unread = sum(str(attempt).startswith(WITHOUT_SOURCE) for attempt in self.attempts)
        return max(unread, len(self.attempts) - unread)


_KINDS = {
    "passed": bool,
    "attempts": list,
    "hints": int,
    "guess": str | None,
    "is_right": bool | None,
    "started_s": float | int | None,
}


def read_progress(content: bytes) -> dict[str, ExerciseProgress]:
    """Return the progress in each exercise from the bytes of a progress file.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the file is damaged.
    """
    found = {}
    for exercise, plain in json.loads(content)["exercises"].items():
        plain.pop("passed_s", None)  # once recorded
        found[exercise] = entry = ExerciseProgress(**plain)
        for name, kind in _KINDS.items():
            if not isinstance(getattr(entry, name), kind):
                raise TypeError(f"{name!r} is {getattr(entry, name)!r}")
    return found


def progress_paths(folder: Path, identity: str) -> tuple[Path, Path]:
    """Return the file with a student's progress in a course, and the one that earlier versions of jaxguide wrote.

    >>> [path.as_posix() for path in progress_paths(Path("mine"), "physics")]
    ['mine/.jaxguide/progress-physics.json', 'mine/jaxguide-progress-physics.json']
    """
    suffix = "" if identity == BUNDLED else f"-{identity}"
    return folder / ".jaxguide" / f"progress{suffix}.json", folder / f"jaxguide-progress{suffix}.json"


def has_progress(folder: Path, *identities: str) -> bool:
    """Return whether a folder has a student's progress in one of these courses; the identity `*` is any but our own."""
    paths = (path for identity in identities for path in progress_paths(folder, identity))
    return any(any(path.parent.glob(path.name)) for path in paths)


class Progress:
    """The progress in one course stored in one folder; each change is written immediately and atomically.

    Args:
        folder: the student's workspace.
        identity: the course's identity.
        changed: called after each change.
    """

    def __init__(self, folder: Path, identity: str = BUNDLED, changed: "Callable[[Progress], None]" = lambda _: None):
        self.folder, self.changed = folder, changed
        self.path, self._old_path = progress_paths(folder, identity)
        self.trouble = ""

    @property
    def _source(self) -> Path:
        """The file to read; that of an earlier version counts until the first change."""
        return self._old_path if self._old_path.exists() and not self.path.exists() else self.path

    def of(self, name: str) -> ExerciseProgress:
        """Return the progress in one exercise."""
        return self.everything().get(name, ExerciseProgress())

    def everything(self) -> dict[str, ExerciseProgress]:
        """Return the progress in each exercise that the student has worked on; set a damaged file aside."""
        path = self._source
        try:
            return read_progress(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self.trouble = f"{path.relative_to(self.folder).as_posix()}: {error}"
            with contextlib.suppress(OSError):
                path.replace(path.with_suffix(".damaged.json"))
            return {}

    def update(self, name: str, *, is_place: bool = False, **changes: Any) -> ExerciseProgress:
        """Change fields of one exercise's progress, which may become the place, and write the file."""
        with self._alone():
            everything = self.everything()
            everything[name] = dataclasses.replace(everything.get(name, ExerciseProgress()), **changes)
            self._write(everything, name if is_place else self.place)
        return everything[name]

    @property
    def place(self) -> str | None:
        """The exercise that the student worked on last, or None if that is not known."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            place = json.loads(self._source.read_bytes()).get("place")
            return place if isinstance(place, str) else None
        return None

    def move_to(self, name: str) -> None:
        """Record which exercise the student is working on."""
        with self._alone():
            if self.place != name:
                self._write(self.everything(), name)

    def _write(self, everything: dict[str, ExerciseProgress], place: str | None) -> None:
        exercises = {name: dataclasses.asdict(entry) for name, entry in everything.items()}
        plain = {"version": _VERSION, "exercises": exercises} | ({"place": place} if place else {})
        source = self._source
        try:
            write_whole(self.path, json.dumps(plain, indent=1, sort_keys=True) + "\n")
            for old in (source, self.folder / _OLD_LOCK_NAME) if source != self.path else ():
                old.unlink(missing_ok=True)
        except OSError as error:
            # Students can go on working even if the folder cannot be written.
            self.trouble = str(error)
        self.changed(self)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file against other processes: a notebook and a terminal may be in use at the same time."""
        import filelock

        lock = filelock.FileLock(self.path.with_name(_LOCK_NAME), timeout=_LOCK_LIMIT_S)
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # If the file cannot be locked, go on without a lock.
        with contextlib.suppress(OSError, NotImplementedError):
            lock.acquire()
        try:
            yield
        finally:
            lock.release(force=True)

    def note(self, result: ExerciseResult, attempt: str) -> None:
        """Record a result. The first guess of a prediction is locked, and `result` tells of that guess from then on.

        Args:
            result: the result of checking an answer.
            attempt: the answer's id (`jaxguide.code.sameness`).
        """
        if result.verdict in (Verdict.NOT_ATTEMPTED, Verdict.NO_SUCH_FUNCTION):
            guess = self.of(result.name).guess
            if guess is not None:
                result.note, result.is_locked = f"Your first guess, `{guess}`, counts; this one does not.", True
            return
        done = self.of(result.name)
        started_s = round(time.time()) if done.started_s is None else done.started_s
        changes: dict[str, Any]
        if result.reveal is not None:
            from jaxguide.course.judging.judge import guessed_right  # loads JAX, which the judge has done already

            result.note = done.guess if done.guess is not None else result.note
            changes = {"guess": result.note, "is_right": guessed_right(result), "passed": True}
        else:
            attempts = done.attempts if attempt in done.attempts else [*done.attempts, attempt]
            changes = {"attempts": attempts, "passed": done.passed or result.verdict is Verdict.PASSED}
        self.update(result.name, is_place=True, started_s=started_s, **changes)
