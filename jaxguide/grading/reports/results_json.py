"""Write a batch as `results.json`, laid out as in `results.schema.json`, and read it from there or from a store."""

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jaxguide
from jaxguide.base.clean import clean, cleaned
from jaxguide.base.plain import fits, plain_of, read_plain
from jaxguide.base.text import plural
from jaxguide.grading.batch import store
from jaxguide.grading.batch.batch_result import BatchResult, load_batch
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.reports.marks import rows_of

RESULTS_FORMAT = "jaxguide-results/5"
_OLD_FORMAT = "jaxguide-results/4"  # without groups, ids and files passed over
RESULTS_FILE_NAME = "results.json"
SCHEMA = Path(__file__).with_name("results.schema.json")

# Parts of a batch that stand elsewhere in the document, or are made from the others.
_APART = ("submissions", "course_name", "course_folder", "course_digest", "ids")
_BATCH = [field.name for field in dataclasses.fields(BatchResult) if field.name not in _APART]
# Parts of a submission that are told once for the batch.
_OF_BATCH = ("course_digest", "versions")


class NoResults(Exception):
    """Raised if results cannot be read; the message says why in one sentence."""


def to_text(batch: BatchResult) -> str:
    """Return the text of `results.json`.

    It includes details that students may not see. A score is null if there is no mark. Control characters are removed
    from text that comes from a submission. Between two runs with the same seed, only the fields `cpu_s`, `wall_s` and
    `memory_bytes` differ. Submissions are converted one at a time, which saves 0.04 MB of memory for each of them.

    >>> plain = json.loads(to_text(BatchResult([], course_name="optics")))
    >>> plain["format"], plain["course"]["name"], plain["submissions"]
    ('jaxguide-results/5', 'optics', [])
    """
    rows = rows_of(batch)
    stems = feedback_stems(row.student for row in rows)
    students = [
        {
            "student": row.student,
            "ids": row.ids,
            "state": row.state.value,
            "score": row.score,
            "points": row.points,
            "feedback": f"feedback/{stems[row.student]}.html",
            "marks": {name: mark.score for name, mark in row.marks.items()},
        }
        for row in rows
    ]
    head = {
        "format": RESULTS_FORMAT,
        "jaxguide": jaxguide.__version__,
        "course": {"name": batch.course_name, "folder": batch.course_folder, "digest": batch.course_digest},
        **{name: plain_of(getattr(batch, name)) for name in _BATCH},
        "complete": batch.is_complete,
        "students": students,
        "submissions": [],
    }
    if not batch.submissions:
        return _dumped(head) + "\n"
    each = ({name: part for name, part in one.to_plain().items() if name not in _OF_BATCH} for one in batch.submissions)
    submissions = ",".join("\n    " + _dumped(one).replace("\n", "\n    ") for one in each)
    return _dumped(head).removesuffix("]\n}") + submissions + "\n  ]\n}\n"


def _dumped(plain: Any) -> str:
    return json.dumps(cleaned(plain), indent=2, ensure_ascii=False)


def read_document(path: Path) -> BatchResult:
    """Read a `results.json`, each part of which must have its type.

    Raises:
        NoResults: the file cannot be read, does not contain results, or is in another format.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"), parse_constant=int)  # which refuses NaN and infinity
    except OSError as error:
        raise NoResults(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise NoResults(f"{path} is not valid JSON.") from None
    found = plain.get("format") if isinstance(plain, dict) else None
    if found not in (RESULTS_FORMAT, _OLD_FORMAT):
        said = clean(repr(found), 100)
        raise NoResults(f"The results are in the format {said}; this jaxguide reads '{RESULTS_FORMAT}'. Grade again.")
    try:
        head = {name: plain[name] for name in _BATCH if name in plain or name != "passed_over"}
        head |= {f"course_{name}": plain["course"][name] for name in ("name", "folder", "digest")}
        batch: BatchResult = read_plain(BatchResult, {**head, "submissions": []})
        batch.submissions = [SubmissionResult.from_plain(one) for one in plain["submissions"]]
        batch.ids = {one["student"]: one["ids"] for one in plain["students"] if one.get("ids")}
        if not fits(batch, BatchResult):
            raise TypeError("a part has another type")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoResults(f"The results are damaged ({clean(repr(error), 100)}). Grade again.") from None
    return batch


def recorded_course(folder: Path) -> Path | None:
    """Return the folder of the course that was graded; None for the one that comes with the package, or if unknown.

    Raises:
        NoResults: the store cannot be read.
    """
    if not (folder / store.NAME).is_file():
        return None
    try:
        with store.Store(folder) as kept:
            place = (kept.last_batch() or {}).get("course_folder", "")
    except store.StoreError as error:
        raise NoResults(with_marks_elsewhere(error, folder)) from None
    return Path(place) if place else None


def read_results(path: Path, overrides: Sequence[Override] | None = None) -> BatchResult:
    """Return the results in a folder, or in a `results.json`.

    Args:
        overrides: the instructor's current points; None for those in `results.json`, if that file exists.

    Raises:
        NoResults: there are no readable results.
    """
    document = path if path.is_file() else path / RESULTS_FILE_NAME
    if path.is_dir() and (path / store.NAME).is_file():
        try:
            before = read_document(document) if document.is_file() else None
            if overrides is None:
                overrides = before.overrides if before is not None else []
            with store.Store(path) as kept:
                return load_batch(kept, overrides, before)
        except store.NoBatch as error:
            if not document.is_file():  # if there is one, the store was lost and this one is empty
                raise NoResults(str(error)) from None
        except store.StoreError as error:
            raise NoResults(with_marks_elsewhere(error, path)) from None
    if not document.is_file():
        neither = f"it has neither {store.NAME} nor {RESULTS_FILE_NAME}"
        raise NoResults(f"There are no results in {path}: {neither}. Grade first.")
    if overrides:
        raise NoResults(f"Points given by hand need the store, {store.NAME}, which is missing.")
    return read_document(document)


def with_marks_elsewhere(error: store.StoreError, folder: Path) -> str:
    """Return why the store of a folder cannot be used; if it is damaged, also where the finished marks still are."""
    document = folder / RESULTS_FILE_NAME
    before = results_before(folder) if isinstance(error, store.DamagedStore) else None
    count = sum(one.is_complete for one in before.submissions) if before is not None else 0
    if not count:
        return str(error)
    files = plural("{count} file", "{count} files", count)
    return (
        f"{error} `{document}` still has the marks of {files}: `jaxguide report {document}` writes the reports from it."
    )


def results_before(folder: Path) -> BatchResult | None:
    """Return the results that a folder has before another run, None if there are none that can be read."""
    try:
        return read_document(folder / RESULTS_FILE_NAME)
    except NoResults:
        return None


def marks_without_store(folder: Path) -> str:
    """Return why grading must not begin in a folder whose `results.json` has marks that no store has, or ''."""
    document = folder / RESULTS_FILE_NAME
    if (folder / store.NAME).exists() or not document.is_file():
        return ""
    before = results_before(folder)
    if before is not None and not any(one.is_complete for one in before.submissions):
        return ""
    return (
        f"`{document}` has marks, but the store `{store.NAME}` beside it is missing. `jaxguide report {folder}` writes "
        f"the reports from these marks. To grade again, name another folder with --out, or move `{document}` away."
    )


def feedback_stems(students: Iterable[str]) -> dict[str, str]:
    """Return the name of each student's feedback files, unique even on file systems that ignore case.

    >>> feedback_stems(["ada", "Ada", "../e v", ""])
    {'ada': 'ada', 'Ada': 'Ada-2', '../e v': 'e_v', '': 'student'}
    """
    taken: set[str] = set()
    stems = {}
    for student in students:
        stem = re.sub(r"[^\w.-]+", "_", clean(student, 80)).strip("._") or "student"
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.casefold())
        stems[student] = name
    return stems
