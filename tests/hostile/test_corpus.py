"""Test that hostile submissions get the right verdicts and affect nothing and no one else."""

import os
import re
from pathlib import Path

import pytest
from needs import ON_THE_NEWEST, lacks

from hostile import course
from hostile.case import Case
from hostile.corpus import CASES
from hostile.runner import Run, grade, honest_names
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.isolation.self_test import find_isolation

_SECRETS = (course.KEY_SECRET, course.OTHERS_SECRET, course.HOME_SECRET, course.ENVIRONMENT_SECRET, "STOLEN")
# C0 and C1 control characters except tab and newline, and characters that change the text direction.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARKUP = re.compile(r"<img src|<script>alert")
_GRADER_LIMIT_BYTES = 700 * 2**20
# A worker's own limits for each request, plus the time to start it on a busy machine.
_WALL_LIMIT_S, _CPU_LIMIT_S = 300, 40
_WORKER_LIMIT_BYTES = 2 * 2**30


@pytest.fixture(autouse=True)
def isolated() -> None:
    if find_isolation().missing:
        lacks("; ".join(find_isolation().missing))


def test_some_of_each_kind_get_their_verdicts_and_do_no_harm(tmp_path: Path) -> None:
    cases = [case for case in CASES if case.quick]
    check(cases, grade(cases, tmp_path))


@ON_THE_NEWEST
def test_all_get_their_verdicts_and_do_no_harm(tmp_path: Path) -> None:
    check(CASES, grade(CASES, tmp_path))


def test_folders_that_submissions_nest_and_lock_are_removed_when_a_run_fails(tmp_path: Path) -> None:
    left = tmp_path / "tmp"
    left.mkdir()
    folder = os.open(left, os.O_RDONLY)
    for _level in range(2_000):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    (left / "d" / "d").chmod(0)
    with pytest.raises(FileExistsError):
        grade([], tmp_path)
    assert not left.exists()


def check(cases: list[Case], run: Run) -> None:
    """Fail with all problems at once, so that one case does not hide the others."""
    wrong = problems(cases, run)
    assert not wrong, "\n".join(wrong)


def problems(cases: list[Case], run: Run) -> list[str]:
    """Return all wrong verdicts and all broken invariants."""
    wrong = [problem for case in cases for problem in wrong_verdicts(case, run)]
    for name in dict.fromkeys(honest_names(cases)):
        honest = run.of(name)
        if (honest.state, honest.score) != (State.GRADED, 2.0):
            wrong.append(f"{name}: the honest submission got {honest.score}: {honest.not_graded}")
    wrong += [f"a process stayed: {stray}" for stray in run.strays]
    wrong += [f"a file changed: {path}" for path in run.changed]
    wrong += unbounded(run)
    wrong += leaks(cases, run)
    wrong += [f"{name}: {problem}" for name, text in run.all_texts().items() for problem in unclean(name, text)]
    # 1 means that some files have no marks; 3 and other codes mean that the grader itself failed.
    if run.status != int(any(not one.is_complete for one in run.batch.submissions)):
        wrong.append(f"the grader ended with {run.status}: {run.said[-2000:]}")
    return wrong


def wrong_verdicts(case: Case, run: Run) -> list[str]:
    """Return how a case's verdicts differ from the table."""
    try:
        row = run.of(case.student)
    except LookupError as problem:
        return [f"{case.name}: {problem}"]
    if not case.double:
        is_refused = row.state is State.UNREADABLE and row.unreadable and case.says in row.unreadable
        return [] if is_refused else [f"{case.name}: {row.state.value}, not unreadable: {row.unreadable}"]
    if row.state is not State.GRADED:
        return [f"{case.name}: {row.state.value}: {row.unreadable or row.not_graded}"]
    wrong = []
    for result, expected in zip(row.results, (case.double, case.total), strict=True):
        first = result.first_failure
        said = first.message if first else ""
        if result.verdict.value not in expected:
            wrong.append(f"{case.name}: {result.name} is {result.verdict.value}, not {expected}: {said[:300]}")
        elif result.name == "double" and case.says not in said:
            wrong.append(f"{case.name}: says {said[:300]!r}, not {case.says!r}")
    return wrong


def unbounded(run: Run) -> list[str]:
    """Return what used more time or memory than the limits and starting workers account for."""
    wrong = []
    for one in run.batch.submissions:
        if one.wall_s > _WALL_LIMIT_S or one.cpu_s > _CPU_LIMIT_S or one.memory_bytes > _WORKER_LIMIT_BYTES:
            used = f"{one.wall_s:.0f} s, {one.cpu_s:.0f} s of computing, {one.memory_bytes / 2**20:.0f} MB"
            wrong.append(f"{one.student}: used {used}")
    if run.grader_bytes > _GRADER_LIMIT_BYTES:
        wrong.append(f"the grader held {run.grader_bytes / 2**20:.0f} MB")
    return wrong


def leaks(cases: list[Case], run: Run) -> list[str]:
    """Return each secret found in a text whose readers must not see it."""
    wrong = [f"{name}: holds {s}" for name, text in run.all_texts().items() for s in _SECRETS if s in text]
    students = {case.student for case in cases} | set(honest_names(cases))
    for name, text in run.feedback().items():
        wrong += [f"{name}: holds hidden {digits}" for digits in course.HIDDEN_DIGITS if digits in text]
        named = {found for found in re.findall(r"h-[a-z0-9-]+(?:~honest)?", text) if found in students}
        if len(named) > 1:
            wrong.append(f"{name}: names others: {sorted(named)}")
    return wrong


def unclean(name: str, text: str) -> list[str]:
    """Return control characters and markup that reached a text that quotes submissions."""
    if name == "terminal":
        # The grader's own progress bar and table are in colour; text from submissions never is.
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)
    found = _CONTROL.search(text)
    wrong = [f"control character {found.group()!r} at {text[max(0, found.start() - 60) :][:100]!r}"] if found else []
    markup = _MARKUP.search(text) if name.endswith((".html", ".xml")) else None
    return wrong + ([f"markup at {text[max(0, markup.start() - 60) :][:100]!r}"] if markup else [])
