"""The result of a batch: the record from which all reports are written."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

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


def load_batch(store: Store, overrides: Sequence[Override] = ()) -> BatchResult:
    """Load the result of the last batch in a store.

    Args:
        store: the store of the batch.
        overrides: points that the instructor set by hand.

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
    return batch


def _batch(store: Store, plain: dict[str, Any]) -> BatchResult:
    submissions = _submissions(store, plain)
    graded = {result.lesson for one in submissions for result in one.results}
    return BatchResult(
        submissions,
        course_name=plain["course_name"],
        course_folder=plain["course_folder"],
        course_digest=plain["course_digest"],
        seed=plain["seed"],
        settings=plain.get("settings", ""),
        limits=Limits(**plain["limits"]),
        versions=next((one.versions for one in submissions if one.versions), {}),
        all_or_nothing=plain["all_or_nothing"],
        only=_only(plain),
        beyond=plain.get("beyond", []),
        unknown=plain["unknown"],
        lessons=list(dict.fromkeys(lesson for lesson, *_rest in plain["points"].values() if lesson in graded)),
        passed_over=plain.get("passed_over", []),
        ids=plain.get("ids", {}),
        similar=similar_groups(one for one in submissions if one.state is not State.SUPERSEDED),
    )


def _only(plain: dict[str, Any]) -> list[str] | None:
    before = plain.get("before")
    if plain["only"] is None or before is None:
        return list(plain["only"]) if plain["only"] is not None else None
    earlier = _only(before)
    return None if earlier is None else sorted({*earlier, *plain["only"]})


def _submissions(store: Store, plain: dict[str, Any]) -> list[SubmissionResult]:
    """Return a batch's rows; if it has only some exercises, with the marks of the batch before for all others."""
    found = [one for row in plain["rows"] for one in _rows(store, row, plain)]
    notes, digest = plain.get("elsewhere", {}), plain["course_digest"]
    found += [
        SubmissionResult(Path(), name, State.ABSENT, course_digest=digest, repairs=notes.get(name, []))
        for name in plain["absent"]
    ]
    if plain.get("before") is None:
        return found
    order = list(plain["points"])
    anew = {(one.student, one.path): one for one in found}
    students = {one.student for one in found}
    merged = dict(anew)
    for old in (_without(one, plain.get("beyond", ())) for one in _submissions(store, plain["before"])):
        key = old.student, old.path
        if old.student not in students:
            merged.setdefault(key, old)
        elif old.state is not State.ABSENT:
            old = _without(old, plain["only"])
            if key in anew:
                merged[key] = _together(old, anew[key], order)
            elif old.results or old.state is not State.GRADED:
                merged[key] = old
            if old.results:
                merged.pop((old.student, Path()), None)  # absent from these exercises alone
    return list(merged.values())


def _without(one: SubmissionResult, names: Collection[str]) -> SubmissionResult:
    """Return the result of a file without the marks of these exercises."""
    return one.of_exercises({*one.not_graded, *(result.name for result in one.results)}.difference(names))


def _together(old: SubmissionResult, new: SubmissionResult, order: list[str]) -> SubmissionResult:
    """Return the result of a file that was graded in two runs, each for other exercises."""
    lessons = {one.lesson for one in new.results}
    results = sorted([*old.results, *new.results], key=lambda one: order.index(one.name) if one.name in order else -1)
    waiting = {name: why for name, why in old.not_graded.items() if name}
    return dataclasses.replace(
        new,
        lessons=list(dict.fromkeys([*old.lessons, *new.lessons])),
        results=results,
        score=round(sum(one.score for one in results), 2),
        points=sum(one.points for one in results),
        repairs=list(dict.fromkeys([*old.repairs, *new.repairs])),
        cells=[*(cell for cell in old.cells if cell["lesson"] not in lessons), *new.cells],
        fingerprints={**old.fingerprints, **new.fingerprints},
        not_graded={**waiting, **new.not_graded},
    )


def _rows(store: Store, row: dict[str, Any], plain: dict[str, Any]) -> Iterator[SubmissionResult]:
    """Yield the result of a file for each of its students."""
    students = row["students"] if "students" in row else [row["student"]]  # before groups were known
    for student in students:
        one = _row(store, row, plain, student)
        if student in row.get("replaced", ()):
            one = SubmissionResult(one.path, student, State.SUPERSEDED, one.digest, course_digest=one.course_digest)
        elif student in row.get("counts", ()):  # not recorded by earlier versions
            one = one.of_exercises(row["counts"][student])  # since others count in another file
            if one.state is State.NOT_GRADED and not one.not_graded:
                one.state = State.GRADED
        yield dataclasses.replace(one, student=student, members=students if len(students) > 1 else [])


def _row(store: Store, row: dict[str, Any], plain: dict[str, Any], student: str) -> SubmissionResult:
    if "plain" in row:
        return SubmissionResult.from_plain(row["plain"])
    path = Path(row["path"])
    found = store.load(row["row"]) if "row" in row else None
    if found is not None:
        return dataclasses.replace(found, path=path)
    waiting = SubmissionResult(path, student, State.NOT_GRADED, course_digest=plain["course_digest"])
    waiting.not_graded[""] = "Not graded yet: the batch was interrupted first."
    return waiting


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
        target.score = round(sum(one.score for one in target.results), 2)
        target.points = sum(one.points for one in target.results)
        if target.state is State.NOT_GRADED and not target.not_graded:
            target.state = State.GRADED
        applied.append(dataclasses.replace(override, was=had))
    return applied


def _overridden(
    submissions: Sequence[SubmissionResult], student: str, lesson: str, exercise: str
) -> SubmissionResult | None:
    """Return the row in which an override of this student's points in an exercise of this lesson takes effect."""
    own = [one for one in submissions if name_key(one.student) == name_key(student)]
    own = [one for one in own if one.state is not State.SUPERSEDED]
    own.sort(key=lambda one: (all(result.name != exercise for result in one.results), lesson not in one.lessons))
    return own[0] if own else None
