"""Write a batch as JSON, in `results.json`, and read it again; `results.schema.json` documents the layout."""

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jaxguide
from jaxguide.base.clean import clean, cleaned
from jaxguide.course.cards.shown import DisplayText, written
from jaxguide.course.limits import Limits
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.cell_states import CellFact, CellState
from jaxguide.grading.batch.similarity import SimilarGroup
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.instructor_tables import Override
from jaxguide.grading.reports.marks import Row, rows_of
from jaxguide.grading.workers.replies import fits

RESULTS_FORMAT = "jaxguide-results/5"
_OLD_FORMAT = "jaxguide-results/4"
"""The format without groups, ids and files passed over."""
RESULTS_FILE_NAME = "results.json"
SCHEMA = Path(__file__).with_name("results.schema.json")

# Fields that are converted, moved or left out in the document; all others are only cleaned.
_APART_OF_BATCH = {
    "submissions",
    "course_name",
    "course_folder",
    "course_digest",
    "limits",
    "similar",
    "overrides",
    "ids",
}
_BATCH = [field.name for field in dataclasses.fields(BatchResult) if field.name not in _APART_OF_BATCH]
_APART_OF_SUBMISSION = {"results", "score", "fingerprints", "course_digest", "versions"}
_DIGITS = 12  # of each number of a fingerprint
_SUBMISSION = [field.name for field in dataclasses.fields(SubmissionResult) if field.name not in _APART_OF_SUBMISSION]

# Fields that a document may lack.
_OPTIONAL = {"members", "passed_over", "lessons", "beyond"}


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
    head = _dumped({**_head(batch), "submissions": []})
    if not batch.submissions:
        return head + "\n"
    submissions = ",".join("\n    " + _dumped(_submission(one)).replace("\n", "\n    ") for one in batch.submissions)
    return head.removesuffix("]\n}") + submissions + "\n  ]\n}\n"


def _dumped(plain: Any) -> str:
    return json.dumps(cleaned(plain), indent=2, ensure_ascii=False)


def _head(batch: BatchResult) -> dict[str, Any]:
    rows = rows_of(batch)
    stems = feedback_stems(row.student for row in rows)
    return {
        "format": RESULTS_FORMAT,
        "jaxguide": jaxguide.__version__,
        "course": {"name": batch.course_name, "folder": batch.course_folder, "digest": batch.course_digest},
        **{name: getattr(batch, name) for name in _BATCH},
        "complete": batch.is_complete,
        "limits": dataclasses.asdict(batch.limits),
        "similar": [dataclasses.asdict(group) for group in batch.similar],
        "overrides": [dataclasses.asdict(one) for one in batch.overrides],
        "students": [_student(row, stems[row.student]) for row in rows],
    }


def _student(row: Row, stem: str) -> dict[str, Any]:
    return {
        "student": row.student,
        "ids": row.ids,
        "state": row.state.value,
        "score": row.score,
        "points": row.points,
        "feedback": f"feedback/{stem}.html",
        "marks": {name: mark.score for name, mark in row.marks.items()},
    }


def _submission(one: SubmissionResult) -> dict[str, Any]:
    plain = one.to_plain(written)
    runs = {name: "".join(f"{run:0{_DIGITS}x}" for run in runs) for name, runs in one.fingerprints.items()}
    for exercise in plain["results"]:
        if exercise["name"] in one.not_graded:
            exercise["score"] = None
    return {
        **{name: plain[name] for name in _SUBMISSION},
        "path": plain["path"] if one.path.name else "",
        "score": one.score if one.is_complete else None,
        "fingerprints": runs,
        "exercises": plain["results"],
    }


def batch_from_plain(plain: dict[str, Any]) -> BatchResult:
    """Rebuild a batch from the data in the text of `to_text`; each part must have its type.

    Raises:
        NoResults: the data is in another format or damaged.
    """
    found = plain.get("format") if isinstance(plain, dict) else None
    if found not in (RESULTS_FORMAT, _OLD_FORMAT):
        message = "The results are in the format {found}; this jaxguide reads {format}. Grade again."
        raise NoResults(message.format(found=clean(repr(found), 100), format=f"'{RESULTS_FORMAT}'"))
    try:
        head = {name: plain[name] for name in _BATCH if name in plain or name not in _OPTIONAL}
        batch = BatchResult(
            submissions=[_submission_from(one) for one in plain["submissions"]],
            course_name=plain["course"]["name"],
            course_folder=plain["course"]["folder"],
            course_digest=plain["course"]["digest"],
            limits=Limits(**plain["limits"]),
            similar=[SimilarGroup(**one) for one in plain["similar"]],
            overrides=[Override(**one) for one in plain["overrides"]],
            ids={one["student"]: one["ids"] for one in plain["students"] if one.get("ids")},
            **head,
        )
        _require(batch, BatchResult)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = "The results are damaged ({error}). Grade again."
        raise NoResults(message.format(error=clean(repr(error), 100))) from None
    return batch


def _submission_from(plain: dict[str, Any]) -> SubmissionResult:
    results = [{**one, "score": 0.0 if one["score"] is None else one["score"]} for one in plain["exercises"]]
    kept = {name: plain[name] for name in _SUBMISSION if name in plain or name not in _OPTIONAL}
    score = round(sum(one["score"] for one in results), 2)
    runs = {name: _runs(text) for name, text in plain["fingerprints"].items()}
    found = SubmissionResult.from_plain({**kept, "results": results, "score": score, "fingerprints": runs}, DisplayText)
    _require([CellFact(**{**one, "fate": CellState(one["fate"])}) for one in found.cells], list[CellFact])
    return found


def _runs(text: str) -> list[int]:
    if re.fullmatch(f"([0-9a-f]{{{_DIGITS}}})*", text) is None:
        raise ValueError(text[:40])
    return [int(text[start : start + _DIGITS], 16) for start in range(0, len(text), _DIGITS)]


def _require(value: Any, kind: Any) -> None:
    if not fits(value, kind):
        raise TypeError(getattr(kind, "__name__", str(kind)))


def read_document(path: Path) -> BatchResult:
    """Read a `results.json`.

    Raises:
        NoResults: the file cannot be read, or does not contain results.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        message = "{path} cannot be read: {error}."
        raise NoResults(message.format(path=path, error=error.strerror)) from None
    except (ValueError, RecursionError):
        raise NoResults(f"{path} is not valid JSON.") from None
    return batch_from_plain(plain)


def _no_number(text: str) -> None:
    """Refuse NaN and infinity, which JSON does not have but Python reads."""
    raise ValueError(text)


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
