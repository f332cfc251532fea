"""Keep what a batch needs in its results folder: each result as soon as it is ready, and the secret seed."""

import contextlib
import dataclasses
import errno
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import filelock

from jaxguide.base.files import write_whole
from jaxguide.course.judging.draw import fresh_seed
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_search import STORE_NAME

NAME = STORE_NAME
LOCK_NAME = "grading.lock"
SEED_FILE_NAME = "seed.txt"
SCHEMA_VERSION = 4
_RESULT_LIMIT = 64 * 10**6
_APPLICATION = 0x4A584731  # 'JXG1', to detect files of other programs
_TABLES = """
CREATE TABLE submissions (key TEXT PRIMARY KEY, state TEXT NOT NULL, result TEXT NOT NULL);
CREATE TABLE batch (id INTEGER PRIMARY KEY CHECK (id = 1), plain TEXT NOT NULL);
"""


class StoreError(Exception):
    """The results folder cannot be used; the message says why and what to do."""


class DamagedStore(StoreError):
    """The store's file is damaged, not a store of results, or one of another version."""


class SeedError(ValueError):
    """The text is not a seed, or the secret seed cannot be read or written; the message says what to do."""


class NoBatch(StoreError):
    """No batch has been graded in this folder yet, not even partly."""


def row_key(student: str, file: Path, digest: str, course_digest: str, settings: str) -> str:
    """Return the key of one row. The same row is never graded twice, and identical files of two students are two rows.

    Args:
        student: the student's name.
        file: the submitted file.
        digest: SHA-256 of the file's bytes.
        course_digest: see `course_state_digest`.
        settings: see `settings_digest`.
    """
    text = "\0".join((student, str(file.absolute()), digest, course_digest, settings))
    # A file name may contain bytes that are not valid UTF-8.
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def settings_digest(settings: GradeSettings) -> str:
    """Return a digest of the settings that affect marks: all but the paths.

    >>> settings_digest(GradeSettings(seed=1)) == settings_digest(GradeSettings(seed=1, compile_cache=Path("c")))
    True
    """
    plain = dataclasses.asdict(settings)
    plain["only"] = None if settings.only is None else sorted(settings.only)
    kept = {name: value for name, value in plain.items() if name not in ("conceal", "compile_cache")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


class Store:
    """The store of results in one folder: a context manager, for one thread, and for one process at a time.

    Args:
        folder: the results folder, created if it does not exist.

    Raises:
        StoreError: another grader uses the folder, another program or version wrote the file, or the disk is full.
    """

    def __init__(self, folder: Path):
        self.folder, self.file = folder, folder / NAME
        with contextlib.ExitStack() as opened, _explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                opened.enter_context(filelock.FileLock(folder / LOCK_NAME).acquire(timeout=0))
            except filelock.Timeout:
                raise StoreError(
                    f"Another grader is using `{folder}`. Wait for it to finish, or name another folder with --out."
                ) from None
            self._connection = opened.enter_context(contextlib.closing(sqlite3.connect(self.file)))
            self._open()
            self._opened = opened.pop_all()

    def _open(self) -> None:
        run = self._connection.execute
        version, application = run("PRAGMA user_version").fetchone()[0], run("PRAGMA application_id").fetchone()[0]
        is_new = not run("SELECT 1 FROM sqlite_master").fetchone()
        if not is_new and application != _APPLICATION:
            raise damaged(self.folder)
        if not is_new and version != SCHEMA_VERSION:
            raise DamagedStore(
                f"`{self.file}` was written by another version of jaxguide (layout {version}; this version reads "
                f"{SCHEMA_VERSION}). Use that version, or name another folder with --out."
            )
        # A result that was reported as done must survive a power failure.
        run("PRAGMA journal_mode = DELETE")
        run("PRAGMA synchronous = FULL")
        if is_new:
            ours = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION};"
            self._connection.executescript(f"BEGIN; {_TABLES} {ours} COMMIT;")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and let other graders use the folder."""
        self._opened.close()

    def find(self, key: str) -> SubmissionResult | None:
        """Return a submission's final result; None if it needs grading, as also if the result cannot be read."""
        query = "SELECT result FROM submissions WHERE key = ? AND state IN (?, ?)"
        with _explained(self.folder):
            found = self._connection.execute(query, (key, State.GRADED.value, State.UNREADABLE.value)).fetchone()
        try:
            return None if found is None else SubmissionResult.from_plain(json.loads(found[0]))
        except (TypeError, ValueError, KeyError, AttributeError):
            return None

    def record(self, key: str, result: SubmissionResult) -> None:
        """Save one result, replacing an earlier one with the same key.

        Raises:
            StoreError: the result could not be written; the store is unchanged.
            ValueError: the result is too large.
        """
        text = json.dumps(result.to_plain())
        if len(text) > _RESULT_LIMIT:
            raise ValueError(f"a result of {len(text)} characters; at most {_RESULT_LIMIT} are stored")
        with _explained(self.folder), self._connection as run:
            run.execute("INSERT OR REPLACE INTO submissions VALUES (?, ?, ?)", (key, result.state.value, text))

    def load(self, key: str) -> SubmissionResult:
        """Return one result, equal to the one that was recorded."""
        with _explained(self.folder):
            found = self._connection.execute("SELECT result FROM submissions WHERE key = ?", (key,)).fetchone()
            if found is None:
                raise damaged(self.folder)
        return SubmissionResult.from_plain(json.loads(found[0]))

    def forget(self, keys: Iterable[str]) -> None:
        """Delete results, so that their files are graded again."""
        with _explained(self.folder), self._connection as run:
            run.executemany("DELETE FROM submissions WHERE key = ?", [(key,) for key in keys])

    def keep_batch(self, plain: dict[str, Any]) -> None:
        """Save the description of the last batch, so that reports can be written again."""
        with _explained(self.folder), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO batch VALUES (1, ?)", (json.dumps(plain),))

    def last_batch(self) -> dict[str, Any] | None:
        """Return the description of the last batch, or None if there is none."""
        with _explained(self.folder):
            found = self._connection.execute("SELECT plain FROM batch").fetchone()
        return None if found is None else json.loads(found[0])


def last_batch_in(folder: Path) -> dict[str, Any]:
    """Return the description of the last batch in a results folder that no one needs to hold, {} if there is none."""
    if not (folder / NAME).is_file():
        return {}
    try:
        with contextlib.closing(sqlite3.connect(f"{(folder / NAME).absolute().as_uri()}?mode=ro", uri=True)) as store:
            (text,) = store.execute("SELECT plain FROM batch").fetchone() or ("{}",)
        return dict(json.loads(text))
    except (sqlite3.Error, ValueError, TypeError):
        return {}  # opening it says what is wrong


def seed_of(asked: str, folder: Path) -> int:
    """Return the seed that an instructor requests.

    Args:
        asked: a whole number, or 'secret' for a random one, which is reused by later runs into the same folder.
        folder: the folder for results. A secret seed is stored in its `seed.txt`, readable by the owner only.

    Raises:
        SeedError: `asked` is neither, `seed.txt` does not contain a number, or it cannot be written.

    >>> seed_of("17", Path("results"))
    17
    """
    if asked != "secret":
        try:
            return int(asked)
        except ValueError:
            said = "is not a seed. Give a whole number, or `secret` for one that no one can guess."
            raise SeedError(f"`{asked}` {said}") from None
    path = folder / SEED_FILE_NAME
    try:
        if not path.exists():
            write_whole(path, f"{fresh_seed()}\n", 0o600)
        return int(path.read_text("ascii"))
    except ValueError:
        said = "does not contain a number. Delete it to get a new seed; everything will be regraded."
        raise SeedError(f"`{path}` {said}") from None
    except OSError as error:
        raise SeedError(f"The secret seed cannot be stored in `{path}`: {error.strerror}.") from error


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn a failure of the disk or the database into a `StoreError` that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what only some kinds of it tell
        if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            said = "Free some and run the same command again to continue."
            raise StoreError(f"No space is left for results in `{folder}`. {said}") from error
        # The last: a table is missing.
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
            raise damaged(folder) from error
        said = "Name another folder with --out."
        raise StoreError(f"Results cannot be stored in `{folder}`: {error}. {said}") from error


def damaged(folder: Path) -> DamagedStore:
    """Return the error for a results folder whose store is damaged or another program's file."""
    said = "is damaged or not a store of results. Move it away, or name another folder with --out."
    return DamagedStore(f"`{folder / NAME}` {said}")
