"""Run a batch: every submission once, whatever happens, each recorded the moment it is there."""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.text import _
from jaxguide.course.books.library import Course
from jaxguide.course.books.places import places as default_places
from jaxguide.grading.batch.control import GraderBroken
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.habits import habits_of
from jaxguide.grading.batch.pools import Graded, Pool, PoolLost
from jaxguide.grading.batch.store import Key, Store, StoreError, settings_digest
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.file_to_grade import ReadEntry
from jaxguide.grading.intake.lineup import LineUp, Submitted
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.remote import GraderError

Watch = Callable[[SubmissionResult, bool], None]
"""Told each result as it comes, and whether it was graded now rather than found in the store."""


def grade_batch(
    line: LineUp,
    course: Course,
    settings: GradeSettings,
    store: Store,
    pool: Pool,
    watch: Watch = lambda result, is_new: None,
) -> None:
    """Grade all that has no final result in the store yet, and record each result at once.

    Whatever ends this, run it again with the same store and it goes on: each submission is recorded once, and run
    once or more, the later times with the same inputs as the first.

    Args:
        line: the files.
        course: the course, with its keys.
        settings: how.
        store: where results are kept.
        pool: what grades.
        watch: is told of progress.

    Raises:
        GraderBroken: the key's own answers do not pass. What was graded since they last did is taken out of the store.
        PoolLost: nothing grades any more.
        StoreError: the disk is full, or the store cannot be written.
    """
    _Batch(course, settings, store, pool, watch).run(line)


@dataclasses.dataclass
class _Batch:
    course: Course
    settings: GradeSettings
    store: Store
    pool: Pool
    watch: Watch
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    unconfirmed: list[tuple[int, str, int]] = dataclasses.field(default_factory=list)

    def run(self, line: LineUp) -> None:
        self.settings_digest = settings_digest(self.settings)
        self.rows = [{"student": one.student, "path": str(one.entry.path)} for one in line.files]
        self.habits = habits_of([(one.entry.path, one.student) for one in line.files])
        pending: dict[concurrent.futures.Future[Graded], tuple[int, Key]] = {}
        try:
            for place, key, entry in self._to_grade(line.files):
                # A short queue: what is read and not yet graded is all that is held in memory.
                while len(pending) >= 2 * self.pool.jobs:
                    self._take(pending)
                pending[self.pool.submit(entry)] = place, key
            while pending:
                self._take(pending)
        except GraderBroken:
            self._forget_unconfirmed()
            raise
        finally:
            with contextlib.suppress(StoreError):
                self.store.keep_batch(self._description(line))

    def _forget_unconfirmed(self) -> None:
        forgotten = {row for row, _source, _passed in self.unconfirmed}
        self.store.forget(sorted(forgotten))
        for row in self.rows:
            if row.get("row") in forgotten:
                del row["row"]

    def _to_grade(self, files: Sequence[Submitted]) -> Iterator[tuple[int, Key, ReadEntry]]:
        """Yield each file that needs grading; write down at once what does not."""
        for place, one in enumerate(files):
            path = one.entry.path
            try:
                content = one.entry.read()
            except UnreadableSubmission as problem:
                result = self._bare(one, "", State.UNREADABLE)
                result.unreadable = str(problem)
                self._record(place, self._key(one, ""), result)
                continue
            digest = hashlib.sha256(content).hexdigest()
            if one.superseded:
                self.rows[place]["plain"] = self._bare(one, digest, State.SUPERSEDED).to_plain()
                continue
            key = self._key(one, digest)
            row = self.store.find(key)
            if row is not None:
                self.rows[place]["row"] = row
                self.watch(self.store.load(row), False)
                continue
            yield place, key, ReadEntry(path, content)

    def _key(self, one: Submitted, digest: str) -> Key:
        return Key(one.student, str(one.entry.path.absolute()), digest, self.pool.course_digest, self.settings_digest)

    def _bare(self, one: Submitted, digest: str, state: State) -> SubmissionResult:
        return SubmissionResult(
            one.entry.path,
            one.student,
            state,
            digest=digest,
            seed=self.settings.seed,
            course_digest=self.pool.course_digest,
        )

    def _take(self, pending: "dict[concurrent.futures.Future[Graded], tuple[int, Key]]") -> None:
        """Wait for the next results and record them."""
        done, _waiting = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            place, key = pending.pop(future)
            try:
                result, source, passed = future.result()
            except (GraderBroken, PoolLost):
                raise
            except GraderError as error:
                result = SubmissionResult(Path(self.rows[place]["path"]), key.student, State.NOT_GRADED)
                result.digest, result.seed, result.course_digest = key.digest, self.settings.seed, key.course_digest
                result.not_graded[""] = _("Not graded: {error}").format(error=error)
                self._record(place, key, result)
            else:
                habits = self.habits.get(Path(self.rows[place]["path"]), {})
                row = self._record(place, key, dataclasses.replace(result, student=key.student, habits=habits))
                self.unconfirmed = [one for one in self.unconfirmed if one[1] != source or one[2] >= passed]
                self.unconfirmed.append((row, source, passed))

    def _record(self, place: int, key: Key, result: SubmissionResult) -> int:
        row = self.store.record(key, result)
        self.rows[place]["row"] = row
        self.watch(result, True)
        return row

    def _description(self, line: LineUp) -> dict[str, Any]:
        settings = self.settings
        places = self.course.places
        return {
            "rows": self.rows,
            "absent": line.absent,
            "roster": line.roster,
            "unknown": line.unknown,
            "course_name": "" if places == default_places() else places.exercises.absolute().parent.name,
            "course_folder": "" if places == default_places() else str(places.exercises.parent),
            "course_digest": self.pool.course_digest,
            "seed": settings.seed,
            "limits": dataclasses.asdict(settings.limits),
            "all_or_nothing": settings.all_or_nothing,
            "only": None if settings.only is None else sorted(settings.only),
            "points": {name: (e.lesson, e.title, e.points) for name, e in self.course.exercises.items()},
        }
