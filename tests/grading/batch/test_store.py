"""Test what the store of results records, returns and refuses."""

import contextlib
import dataclasses
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxguide.course.cards.shown import written
from jaxguide.course.judging.values import ArrayData
from jaxguide.course.limits import Limits
from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Kind, Verdict
from jaxguide.grading.batch.grader import GradeSettings
from jaxguide.grading.batch.store import LOCK_NAME, NAME, SCHEMA_VERSION, Store, StoreError, row_key, settings_digest
from jaxguide.grading.batch.submission_result import State, SubmissionResult

PARTS: list[Any] = ["ada", Path("/class/ada.ipynb"), "d" * 64, "c" * 64, "s" * 64]
KEY = row_key(*PARTS)
BOB = row_key("bob", *PARTS[1:])


def check(name: str = "doubles") -> CheckResult:
    error = ErrorInfo("ValueError", "odd text", 3, "x = 1")
    told = ("one_key", "two_keys")
    return CheckResult(
        name, "It doubles.", "value", Kind.VALUE, 1.0, True, Verdict.ERROR, error=error, misconceptions=told
    )


def full_result() -> SubmissionResult:
    reveal = (ArrayData(np.array([1.5, np.inf], np.float32), False, "jax"), {"a": 1 + 2j}, 10**30)
    one = ExerciseResult("double", "Double", "small", 3.0, Verdict.PARTLY_RIGHT, 1 / 3, [check()], reveal=reveal)
    other = ExerciseResult("triple", "Triple", "small", 1.0, Verdict.NOT_CHECKED, 0.0, note="busy")
    return SubmissionResult(
        Path("class/ada.ipynb"),
        "ada",
        State.NOT_GRADED,
        digest="d" * 64,
        lessons=["small"],
        results=[one, other],
        repairs=["line 1: left out"],
        not_graded={"triple": "busy"},
        course_digest="c" * 64,
        versions={"jax": "1"},
        cpu_s=0.5,
        wall_s=0.7,
        memory_bytes=2**28,
    )


def test_a_result_comes_back_from_json_as_it_went() -> None:
    result = full_result()
    again = SubmissionResult.from_plain(json.loads(json.dumps(result.to_plain())))
    assert again.results[0].reveal == written(result.results[0].reveal)
    result.results[0].reveal = again.results[0].reveal
    assert again == result


def test_a_record_with_fields_of_earlier_versions_is_read() -> None:
    result = SubmissionResult(Path("ada.ipynb"), "ada")
    assert SubmissionResult.from_plain({**result.to_plain(), "tier": "strong", "layers": []}) == result


def test_every_field_of_a_result_survives() -> None:
    # An interrupted batch would lose a new field that is not stored.
    plain = full_result().to_plain()
    assert set(plain) >= {field.name for field in dataclasses.fields(SubmissionResult)} - {"results"}
    assert set(plain["exercises"][0]) == {field.name for field in dataclasses.fields(ExerciseResult)}
    assert set(plain["exercises"][0]["checks"][0]) == {field.name for field in dataclasses.fields(CheckResult)}


def test_the_store_gives_back_what_it_was_given(tmp_path: Path) -> None:
    result = dataclasses.replace(full_result(), state=State.GRADED, not_graded={})
    with Store(tmp_path / "results") as store:
        store.record(KEY, result)
    with Store(tmp_path / "results") as store:
        found = store.find(KEY)
        assert found is not None
        assert found.to_plain() == result.to_plain()


@pytest.mark.parametrize("place", range(len(PARTS)))
def test_whatever_differs_is_graded_anew(tmp_path: Path, place: int) -> None:
    with Store(tmp_path) as store:
        store.record(KEY, SubmissionResult(Path("ada.ipynb"), "ada"))
        assert store.find(KEY) is not None
        assert store.find(row_key(*PARTS[:place], type(PARTS[place])("other"), *PARTS[place + 1 :])) is None


def test_a_row_recorded_again_stands_once(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for score in (1.0, 2.0):
            one = ExerciseResult("double", "Double", "small", 2.0, Verdict.PASSED, score)
            store.record(KEY, SubmissionResult(Path("ada.py"), "ada", results=[one]))
    with Store(tmp_path) as store:
        assert store.load(KEY).score == 2.0


def test_what_lacks_a_mark_is_graded_again(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.record(KEY, full_result())
        assert store.find(KEY) is None
        assert store.load(KEY).not_graded == {"triple": "busy"}


def test_what_is_forgotten_is_graded_again(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.record(KEY, SubmissionResult(Path("ada.py"), "ada"))
        store.forget([KEY])
        assert store.find(KEY) is None


@pytest.mark.long
def test_a_second_grader_on_one_folder_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path):
        code = "import pathlib, sys, jaxguide.grading.batch.store as s; s.Store(pathlib.Path(sys.argv[1]))"
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
        assert "Another grader is using" in done.stderr.splitlines()[-1]
    Store(tmp_path).close()  # the lock file stays, which does no harm
    assert (tmp_path / LOCK_NAME).exists()


def _other_version(path: Path) -> None:
    Store(path.parent).close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


def _other_program(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE submissions (id)")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_other_version, f"(layout {SCHEMA_VERSION + 1}; this version reads {SCHEMA_VERSION})"),
        (_other_program, "not a store of results. Move it away"),
        (lambda path: path.write_bytes(b"no database " * 1000), "is damaged or not a store of results"),
        (lambda path: path.mkdir(), "Results cannot be stored in"),
    ],
)
def test_a_file_that_is_no_store_of_ours_is_named_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    make(tmp_path / NAME)
    before = (tmp_path / NAME).read_bytes() if (tmp_path / NAME).is_file() else None
    with pytest.raises(StoreError) as caught:
        Store(tmp_path)
    assert said in str(caught.value)
    if before is not None:
        assert (tmp_path / NAME).read_bytes() == before
    with pytest.raises(StoreError) as again:  # and not because the first try still holds the lock
        Store(tmp_path)
    assert said in str(again.value)


def test_a_full_disk_is_one_clear_error_and_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.record(KEY, full_result())
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")  # makes SQLite behave as on a full disk
        big = dataclasses.replace(full_result(), repairs=["x" * 100_000])
        with pytest.raises(StoreError, match=r"No space is left for results in .* the same command again to continue"):
            store.record(BOB, big)
        assert store.load(KEY).student == "ada"
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.record(BOB, big)
        assert store.load(BOB).repairs == big.repairs


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"limits": Limits(cpu_s=1.0)},
        {"all_or_nothing": True},
        {"hidden": False},
        {"only": frozenset({"a"})},
    ],
)
def test_settings_that_decide_about_marks_change_the_digest(changed: dict[str, object]) -> None:
    assert settings_digest(GradeSettings(**changed)) != settings_digest(GradeSettings())  # type: ignore[arg-type]


def test_where_things_are_decides_nothing() -> None:
    moved = GradeSettings(conceal=(Path("/elsewhere"),), compile_cache=Path("/cache"))
    assert settings_digest(moved) == settings_digest(GradeSettings())
    one, other = (settings_digest(GradeSettings(only=frozenset(names))) for names in (("a", "b"), ("b", "a")))
    assert one == other
