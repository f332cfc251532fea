"""Tell which files of a workspace were saved."""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from watchfiles import watch

from jaxguide.course.books.outline import Outline
from jaxguide.student.answers_in_files import find_files, is_watched

_STEP_MS = 30
_DEBOUNCE_MS = 300
_LOOKS_AFTER_MS = 1000


class Saves:
    """Calls `tell` with the files that changed, from a thread of its own.

    The system says what changes. Some folders say nothing (those of another machine, or of a container's host), and
    what changes before the system listens is not said either, so the files are looked at every second too.

    Args:
        folder: the workspace, absolute.
        course: whose own files are left out.
        tell: gets the files, absolute.
    """

    def __init__(self, folder: Path, course: Outline, tell: Callable[[frozenset[Path]], None]):
        self._folder, self._course, self._tell = folder, course, tell
        self._is_over = threading.Event()
        self._looks = _looks_of(find_files(folder, course))

    def __enter__(self) -> "Saves":
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._is_over.set()

    def _run(self) -> None:
        try:
            self._watch(is_polling=False)
        except (OSError, RuntimeError):  # the system has no watches left
            self._watch(is_polling=True)

    def _watch(self, is_polling: bool) -> None:
        changes = watch(
            self._folder,
            watch_filter=lambda _change, path: is_watched(Path(path), self._folder, self._course),
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            rust_timeout=_LOOKS_AFTER_MS,
            yield_on_timeout=True,
            stop_event=self._is_over,
            raise_interrupt=False,
            force_polling=is_polling or None,
            ignore_permission_denied=True,
        )
        for found in changes:
            paths = {Path(path) for _change, path in found} or set(self._looks)
            looks = _looks_of(paths)
            saved = frozenset(path for path in paths if self._looks.get(path) != looks.get(path))
            self._looks = {path: look for path, look in self._looks.items() if path not in saved} | looks
            if saved and not self._is_over.is_set():
                self._tell(saved)


def _looks_of(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return when each file was changed and how long it is, for those that are there."""
    found = {}
    for path in paths:
        try:
            about = os.stat(path)
        except OSError:
            continue
        found[path] = (about.st_mtime_ns, about.st_size)
    return found
