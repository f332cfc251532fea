"""The result of a batch: the record from which all reports are written."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.plain import read_plain
from jaxguide.course.judging.draw import DEFAULT_SEED
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.similarity import SimilarGroup, similar_groups
from jaxguide.grading.batch.store import NoBatch, Store, damaged
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.intake.student_names import ClassList, Person, name_key


@dataclasses.dataclass
class BatchResult:
    """Everything that reports need; equal records give equal reports.

    Args:
        submissions: a row for each file and each of its students, in the order in which they were found, then one for
            each absent student.
        course_name: the course's title or the name of its folder, or '' for the bundled course.
        course_folder: the path of the course's folder, as the user gave it, or '' for the bundled course.
        course_digest: digest of the course and the JAX version, see `course_state_digest`.
        seed: the seed that every input derives from.
        settings: digest of the settings that affect marks, see `settings_digest`; '' if an earlier version graded.
        limits: the resource limits.
        versions: the versions of Python, jax, jaxlib, numpy and jaxguide.
        all_or_nothing: whether partial marks were disabled.
        only: the names of the exercises that were graded, or None if all were.
        beyond: the names of those that do not count, since only the core does.
        unknown: students who submitted but are not on the roster.
        lessons: the lessons of which some exercise was graded, in the course's order.
        passed_over: the paths of the files that answer no exercise, beside others that do, or are of another kind.
        ids: student -> kind of id -> the id by which a learning platform knows the student.
        similar: groups of near-identical answers, for information only.
        overrides: the overrides that were applied.
    """

    submissions: list[SubmissionResult]
    course_name: str = ""
    course_folder: str = ""
    course_digest: str = ""
    seed: int = DEFAULT_SEED
    settings: str = ""
    limits: Limits = dataclasses.field(default_factory=Limits)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    all_or_nothing: bool = False
    only: list[str] | None = None
    beyond: list[str] = dataclasses.field(default_factory=list)
    unknown: list[str] = dataclasses.field(default_factory=list)
    lessons: list[str] = dataclasses.field(default_factory=list)
    passed_over: list[str] = dataclasses.field(default_factory=list)
    ids: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    similar: list[SimilarGroup] = dataclasses.field(default_factory=list)
    overrides: list[Override] = dataclasses.field(default_factory=list)

    @property
    def counted(self) -> list[SubmissionResult]:
        """The rows that count for marks: all but superseded files."""
        return [one for one in self.submissions if one.state is not State.SUPERSEDED]

    @property
    def is_complete(self) -> bool:
        """Whether every file that counts has a mark for every exercise; absent students do not count."""
        return all(one.is_complete or one.state is State.ABSENT for one in self.counted)

    def outdated(self, override: Override) -> bool:
        """Return whether points by hand were given for other files than those that count now."""
        return override.files is not None and override.files != _files(self.submissions, override)


def load_batch(store: Store, overrides: Sequence[Override] = (), before: BatchResult | None = None) -> BatchResult:
    """Load the result of the last batch in a store.

    Args:
        store: the store of the batch.
        overrides: points that the instructor set by hand.
        before: the results in the last reports, which know for which files the same points by hand were given.

    Raises:
        NoBatch: the store does not contain a batch.
        DamagedStore: what the store contains is not a batch.
    """
    try:
        plain = store.last_batch()
        if plain is None:
            raise NoBatch(f"Nothing has been graded in `{store.folder}` yet.")
        batch = _batch(store, plain)
        points = dict(plain["points"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged(store.folder) from None
    counted = [one for one in overrides if one.exercise not in batch.beyond]
    batch.overrides = apply_overrides(batch.submissions, counted, points, batch.ids)
    given = {_by_hand(one): one.files for one in before.overrides} if before is not None else {}
    for number, one in enumerate(batch.overrides):
        if (files := given.get(_by_hand(one))) is None:
            files = _files(batch.submissions, one)
        batch.overrides[number] = dataclasses.replace(one, files=files)
    return batch


def _by_hand(one: Override) -> tuple[object, ...]:
    return name_key(one.student), one.exercise, one.points, one.comment


def _files(submissions: Sequence[SubmissionResult], override: Override) -> list[str]:
    """Return the digests of a student's files that answer the lesson of an override."""
    digests = {
        one.digest
        for one in _counted(submissions, override.student)
        for result in one.results
        if result.name == override.exercise and result.lesson in one.lessons
    }
    return sorted(digests)


def _counted(submissions: Sequence[SubmissionResult], student: str) -> list[SubmissionResult]:
    """Return the rows of a student that count for marks."""
    own = [one for one in submissions if name_key(one.student) == name_key(student)]
    return [one for one in own if one.state is not State.SUPERSEDED]


def _batch(store: Store, plain: dict[str, Any]) -> BatchResult:
    batch: BatchResult = read_plain(BatchResult, {**plain, "submissions": []}, any_version=True)
    batch.submissions = _submissions(store, plain)
    graded = {result.lesson for one in batch.submissions for result in one.results}
    batch.lessons = list(dict.fromkeys(lesson for lesson, *_rest in plain["points"].values() if lesson in graded))
    batch.versions = next((one.versions for one in batch.submissions if one.versions), {})
    graded_only = [row["only"] for row in plain["rows"]] or [plain["only"]]
    batch.only = None if None in graded_only else sorted({name for only in graded_only for name in only})
    batch.similar = similar_groups(batch.counted)
    return batch


def _submissions(store: Store, plain: dict[str, Any]) -> list[SubmissionResult]:
    """Return a batch's rows. What several runs graded of a student's file, each other exercises, is one row."""
    order, merged = list(plain["points"]), dict[tuple[str, Path], SubmissionResult]()
    for row in plain["rows"]:
        for one in _rows(store, row, plain):
            newer = merged.get((one.student, one.path))
            merged[one.student, one.path] = one if newer is None else _together(one, newer, order)
    sent, notes, digest = {student for student, _path in merged}, plain["elsewhere"], plain["course_digest"]
    absent = [
        SubmissionResult(Path(), name, State.ABSENT, course_digest=digest, repairs=notes.get(name, []))
        for name in plain["absent"]
        if name not in sent
    ]
    return [*merged.values(), *absent]


def _together(old: SubmissionResult, new: SubmissionResult, order: list[str]) -> SubmissionResult:
    """Return the result of a file that was graded in two runs, each for other exercises."""
    lessons = {one.lesson for one in new.results}
    results = sorted([*old.results, *new.results], key=lambda one: order.index(one.name) if one.name in order else -1)
    waiting = {name: why for name, why in old.not_graded.items() if name}
    return dataclasses.replace(
        new,
        lessons=list(dict.fromkeys([*old.lessons, *new.lessons])),
        results=results,
        repairs=list(dict.fromkeys([*old.repairs, *new.repairs])),
        cells=[*(cell for cell in old.cells if cell.lesson not in lessons), *new.cells],
        fingerprints={**old.fingerprints, **new.fingerprints},
        not_graded={**waiting, **new.not_graded},
    )


def _rows(store: Store, row: dict[str, Any], plain: dict[str, Any]) -> Iterator[SubmissionResult]:
    """Yield the result of a file for each of its students, unless later runs have graded all of it."""
    path, digest, students = Path(row["path"]), plain["course_digest"], row["students"]
    for student in students:
        counts = row["counts"].get(student)
        one = SubmissionResult(path, student, State.NOT_GRADED, digest=row["digest"], course_digest=digest)
        if counts == []:  # since another file counts
            one.state = State.SUPERSEDED
        elif "row" in row:
            one = store.load(row["row"])
            if counts is not None:
                one = one.of_exercises(counts)
                if one.state is State.NOT_GRADED and not one.not_graded:
                    one.state = State.GRADED
        else:
            one.not_graded[""] = "Not graded yet: the batch was interrupted first."
        one = dataclasses.replace(one, path=path, student=student, members=students if len(students) > 1 else [])
        gone = {*row["without"].get(student, ()), *plain["beyond"]}
        one = one.of_exercises({*one.not_graded, *(result.name for result in one.results)} - gone)
        if one.results or one.state is not State.GRADED or student not in row["without"]:
            yield one


def with_earlier(plain: dict[str, Any], last: dict[str, Any], is_part: bool) -> dict[str, Any]:
    """Return the description of a run with the rows of earlier runs that it does not replace.

    Args:
        plain: the description of the run.
        last: the description that the store has.
        is_part: whether the run is about some students of the class; the others keep their rows.
    """
    only, rows = plain["only"], plain["rows"]
    anew = {student for row in rows for student in row["students"]}
    here = anew if is_part else anew.union(plain["absent"])
    others, earlier = [], []
    for row in last["rows"]:
        if only is not None and (row["only"] is None or not set(row["only"]) <= set(only)):
            without = {one: sorted({*row["without"].get(one, ()), *only}) for one in row["students"] if one in here}
            earlier.append(row | {"without": row["without"] | without})
        elif is_part and not anew.issuperset(row["students"]):
            others.append(row | {"counts": row["counts"] | {one: [] for one in row["students"] if one in anew}})
    found = {**plain, "rows": [*others, *rows, *earlier]}
    if earlier or is_part:
        found["absent"] = list(dict.fromkeys([*last["absent"], *plain["absent"]]))
        found["elsewhere"] = {**last["elsewhere"], **plain["elsewhere"]}
    if earlier and not plain["beyond"]:
        found["beyond"] = sorted({*last["beyond"]}.difference(only))
    if is_part:
        found |= {name: list(dict.fromkeys([*last[name], *plain[name]])) for name in ("unknown", "passed_over")}
        found |= {"roots": last["roots"], "ids": {**last["ids"], **plain["ids"]}}
    return found


def apply_overrides(
    submissions: Sequence[SubmissionResult],
    overrides: Sequence[Override],
    exercises: dict[str, tuple[str, str, float]],
    ids: dict[str, dict[str, str]] | None = None,
) -> list[Override]:
    """Replace the grader's points with the instructor's, and return the overrides that were applied.

    Args:
        submissions: the rows, changed in place. If a student has several files, the one that answers the exercise's
            lesson is changed.
        overrides: the instructor's points.
        exercises: exercise name -> lesson, title, points.
        ids: the students' ids, by which overrides may name them.
    """
    applied = []
    names = {one.student: (ids or {}).get(one.student, {}) for one in submissions}
    students = ClassList(tuple(Person(name, own) for name, own in names.items()))
    for given in overrides:
        lesson, title, points = exercises[given.exercise]
        student = students.find(given.student)
        override = dataclasses.replace(given, student=student.name if student is not None else given.student)
        target = _overridden(submissions, override.student, lesson, override.exercise)
        if target is None:
            continue
        was = next((one for one in target.results if one.name == override.exercise), None)
        if was is None:
            was = ExerciseResult(override.exercise, title, lesson, points, Verdict.NOT_CHECKED, 0.0)
            target.results.append(was)
            had: float | None = None
        else:
            had = None if override.exercise in target.not_graded else was.score
        target.not_graded.pop(override.exercise, None)
        was.score = override.points
        if target.state is State.NOT_GRADED and not target.not_graded:
            target.state = State.GRADED
        applied.append(dataclasses.replace(override, was=had))
    return applied


def _overridden(
    submissions: Sequence[SubmissionResult], student: str, lesson: str, exercise: str
) -> SubmissionResult | None:
    """Return the row in which an override of this student's points in an exercise of this lesson takes effect."""
    own = _counted(submissions, student)
    own.sort(key=lambda one: (all(result.name != exercise for result in one.results), lesson not in one.lessons))
    return own[0] if own else None
