"""Write down what grading came to: `results.json` for the instructor, one feedback file for each submission."""

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jaxguide
from jaxguide.course.card import Card, clean, result_to_plain
from jaxguide.course.verdict import ExerciseResult
from jaxguide.files import write_whole
from jaxguide.grading.grade import SubmissionResult
from jaxguide.text import _

FORMAT = "jaxguide-results/1"
_WIDTH = 100


def to_plain(results: Iterable[SubmissionResult], ended_early: bool = False) -> dict[str, Any]:
    """Return everything as JSON data, in the layout of `results.json`.

    The top level holds "format", "jaxguide" (its version), "complete" (whether every exercise of every file has a mark;
    not where grading ended early) and "submissions". Each submission holds

    - "path", "student", "feedback" (its file, seen from this folder), "lessons", "score", "points", "seed",
      "tier" and "versions" (of its worker),
    - "unreadable": null, or why nothing was graded,
    - "not_graded": exercise -> why, where grading failed and the student is not to blame,
    - "repairs": what was left out or mended, one sentence each,
    - "exercises": for each its name, title, lesson, points, score, verdict and "checks", each with its name, fact,
      stage, kind (value, relation or observed), weight, whether it is hidden or required, verdict, message, call, got,
      expected, error and misconceptions. This includes what students may not see.

    Text that comes from a submission is cleaned of control characters.
    """
    results = list(results)
    files = _feedback_files(results)
    submissions = [_submission_to_plain(result, file) for result, file in zip(results, files, strict=True)]
    complete = not ended_early and all(one["unreadable"] is None and not one["not_graded"] for one in submissions)
    return {"format": FORMAT, "jaxguide": jaxguide.__version__, "complete": complete, "submissions": submissions}


def _submission_to_plain(result: SubmissionResult, file: str) -> dict[str, Any]:
    return {
        "path": clean(str(result.path)),
        "student": clean(result.student),
        "feedback": file,
        "lessons": result.lessons,
        "score": result.score,
        "points": result.points,
        "seed": result.seed,
        "tier": result.tier,
        "versions": {name: clean(version, 100) for name, version in result.versions.items()},
        "unreadable": result.unreadable and clean(result.unreadable),
        "not_graded": {name: clean(why) for name, why in result.not_graded.items()},
        "repairs": [_one_line(repair) for repair in result.repairs],
        "exercises": [result_to_plain(one) for one in result.results],
    }


def feedback(result: SubmissionResult) -> str:
    """Return what one student may read: points, what was repaired, and a card for each exercise."""
    lines = [f"{_one_line(result.student)}: {_one_line(result.path.name)}", ""]
    if result.unreadable is not None:
        return "\n".join([*lines, _("Nothing was graded. {why}").format(why=_one_line(result.unreadable)), ""])
    lines.append(points_of(result))
    if result.repairs:
        lines += ["", _("While reading your file:"), *(f"  - {_one_line(repair)}" for repair in result.repairs)]
    for one in result.results:
        why = result.not_graded.get(one.name)
        lines += ["", "-" * 40, "", *(_not_graded(one) if why else [Card(one).text(_WIDTH), "", _exercise_points(one)])]
    return "\n".join([*lines, ""])


def points_of(result: SubmissionResult) -> str:
    """Say a submission's points: '7.5 of 10 points'."""
    return _("{score:g} of {points:g} points").format(score=result.score, points=result.points)


def _exercise_points(one: ExerciseResult) -> str:
    return _("{score:g} of {points:g} points").format(score=one.score, points=one.points)


def _not_graded(one: ExerciseResult) -> list[str]:
    # What went wrong in the grader may name a hidden check's inputs, so that only the instructor reads it.
    message = _("{title}: not graded yet. This is not your fault; your instructor knows.")
    return [message.format(title=clean(one.title, 200))]


def _one_line(text: str) -> str:
    return " ".join(clean(text, 500).split())


def write_reports(results: Sequence[SubmissionResult], folder: Path, ended_early: bool = False) -> list[Path]:
    """Write `results.json` and `feedback/<student>.txt` into `folder`; return the files.

    Args:
        results: what was graded.
        folder: made where it is missing.
        ended_early: whether further submissions were to be graded.

    Raises:
        OSError: the folder cannot be made or written.
    """
    files = {folder / "results.json": json.dumps(to_plain(results, ended_early), indent=2, ensure_ascii=False) + "\n"}
    for result, file in zip(results, _feedback_files(results), strict=True):
        files[folder / file] = feedback(result)
    for path, text in files.items():
        write_whole(path, text)
    return list(files)


def _feedback_files(results: Iterable[SubmissionResult]) -> list[str]:
    """Return where each submission's feedback goes: named after its student, no two alike on any file system."""
    taken: dict[str, str] = {}
    for result in results:
        stem = re.sub(r"[^\w.-]+", "_", clean(result.student, 80)).strip("._") or "student"
        names = (f"feedback/{stem}{suffix}.txt" for suffix in itertools.chain([""], _numbers()))
        name = next(name for name in names if name.casefold() not in taken)
        taken[name.casefold()] = name
    return list(taken.values())


def _numbers() -> Iterable[str]:
    return (f"-{number}" for number in itertools.count(2))
