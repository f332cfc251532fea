"""Keep every result of a batch on disk from the moment it is there: one transaction for each submission."""

import contextlib
import dataclasses
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock

from jaxguide.base.text import _
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_search import STORE_NAME

NAME = STORE_NAME
LOCK_NAME = "grading.lock"
SCHEMA_VERSION = 2
_APPLICATION = 0x4A584731  # 'JXG1', so that no other program's file is taken for ours
_TABLES = """
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    student TEXT NOT NULL,
    file TEXT NOT NULL,
    digest TEXT NOT NULL,
    course_digest TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,
    result TEXT NOT NULL,
    UNIQUE (student, file, digest, course_digest, settings)
);
CREATE TABLE batch (id INTEGER PRIMARY KEY CHECK (id = 1), plain TEXT NOT NULL);
"""


class StoreError(Exception):
    """The folder of results cannot be used; the message says why and what to do."""


class NoBatch(StoreError):
    """No batch was graded in this folder yet, not even in part."""


@dataclasses.dataclass(frozen=True)
class RowKey:
    """What one row stands for; the same row is never graded twice, and two students' equal files are two rows.

    Args:
        student, file: whose, and where it was handed in, as an absolute path.
        digest: SHA-256 of the file's bytes.
        course_digest: of what decides about marks.
        settings: digest of the settings that marks depend on.
    """

    student: str
    file: str
    digest: str
    course_digest: str
    settings: str


def settings_digest(settings: GradeSettings) -> str:
    """Return a digest of the settings that decide about marks: all but where things are.

    >>> settings_digest(GradeSettings(seed=1)) == settings_digest(GradeSettings(seed=1, compile_cache=Path("c")))
    True
    """
    plain = dataclasses.asdict(settings)
    plain["only"] = None if settings.only is None else sorted(settings.only)
    kept = {name: value for name, value in plain.items() if name not in ("conceal", "compile_cache")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


class Store:
    """The results in one folder; use it with `with`, from one thread, and in one process at a time.

    Args:
        folder: made where it is missing.

    Raises:
        StoreError: another grader works here, the file is another program's or another version's, or the disk is full.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        with _explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(folder / LOCK_NAME, timeout=0)
            try:
                self._lock.acquire()
            except filelock.Timeout:
                message = _(
                    "Another grader works in `{folder}`. Wait for it to end, or name another folder with --out."
                )
                raise StoreError(message.format(folder=folder)) from None
        try:
            with _explained(folder):
                self._connection = sqlite3.connect(folder / NAME, isolation_level=None)
                try:
                    self._open()
                except BaseException:
                    self._connection.close()
                    raise
        except BaseException:
            self._lock.release()
            raise

    def _open(self) -> None:
        run = self._connection.execute
        version, application = run("PRAGMA user_version").fetchone()[0], run("PRAGMA application_id").fetchone()[0]
        is_new = not run("SELECT 1 FROM sqlite_master").fetchone()
        if not is_new and application != _APPLICATION:
            message = _("`{file}` is not a store of results. Move it away, or name another folder with --out.")
            raise StoreError(message.format(file=self.folder / NAME))
        if not is_new and version != SCHEMA_VERSION:
            message = _(
                "`{file}` was written by another version of jaxguide (layout {found}; this one reads {wanted}). "
                "Use that version, or name another folder with --out."
            )
            raise StoreError(message.format(file=self.folder / NAME, found=version, wanted=SCHEMA_VERSION))
        # A result that was reported as done is on the disk: also after the power went.
        run("PRAGMA journal_mode = DELETE")
        run("PRAGMA synchronous = FULL")
        if is_new:
            with self._transaction():
                for statement in _TABLES.split(";\n"):
                    run(statement)
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the folder go."""
        self._connection.close()
        self._lock.release()

    def find(self, key: RowKey) -> int | None:
        """Return the row of a submission that needs no grading any more, None where it does."""
        query = "SELECT id FROM submissions WHERE (student, file, digest, course_digest, settings) = (?, ?, ?, ?, ?)"
        final = (State.GRADED.value, State.UNREADABLE.value)
        with _explained(self.folder):
            found = self._connection.execute(f"{query} AND state IN (?, ?)", (*_columns(key), *final)).fetchone()
        return None if found is None else int(found[0])

    def record(self, key: RowKey, result: SubmissionResult) -> int:
        """Write down one result, in place of what stood under its key, and return its row.

        Raises:
            StoreError: it could not be written; nothing of it was.
        """
        with _explained(self.folder), self._transaction():
            row = self._connection.execute(
                "INSERT OR REPLACE INTO submissions (student, file, digest, course_digest, settings, state, result)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*_columns(key), result.state.value, json.dumps(result.to_plain())),
            ).lastrowid
        assert row is not None
        return row

    def load(self, row: int) -> SubmissionResult:
        """Return one result, equal to what was recorded."""
        with _explained(self.folder):
            found = self._connection.execute("SELECT result FROM submissions WHERE id = ?", (row,)).fetchone()
            if found is None:
                raise StoreError(_("`{file}` lacks a row that it should hold.").format(file=self.folder / NAME))
        return SubmissionResult.from_plain(json.loads(found[0]))

    def forget(self, rows: list[int]) -> None:
        """Take results out again, so that they are graded anew."""
        with _explained(self.folder), self._transaction():
            self._connection.executemany("DELETE FROM submissions WHERE id = ?", [(row,) for row in rows])

    def keep_batch(self, plain: dict[str, Any]) -> None:
        """Write down what the last batch consisted of, so that it can be reported again."""
        with _explained(self.folder), self._transaction():
            self._connection.execute("INSERT OR REPLACE INTO batch VALUES (1, ?)", (json.dumps(plain),))

    def last_batch(self) -> dict[str, Any] | None:
        """Return what the last batch consisted of, None where there was none."""
        with _explained(self.folder):
            found = self._connection.execute("SELECT plain FROM batch").fetchone()
        return None if found is None else json.loads(found[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk may have ended the transaction already.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise


def _columns(key: RowKey) -> tuple[str, ...]:
    # A file's name may hold bytes that are no text, which SQLite does not take.
    return tuple(value.encode("utf-8", "backslashreplace").decode() for value in dataclasses.astuple(key))


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say what a failure of the disk or the file means, and what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(_what_is_wrong(folder, error)) from error


def _what_is_wrong(folder: Path, error: sqlite3.Error | OSError) -> str:
    import errno

    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        message = _("There is no space left for results in `{folder}`. Make some and run the same command: it goes on.")
        return message.format(folder=folder)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        message = _("`{file}` is damaged or not a store of results. Move it away, or name another folder with --out.")
        return message.format(file=folder / NAME)
    message = _("Results cannot be kept in `{folder}`: {error}. Name another folder with --out.")
    return message.format(folder=folder, error=error)
