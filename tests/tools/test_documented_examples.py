"""Test what `tools/documented_examples.py` reports about the documented examples on the installed JAX."""

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from documented_course import RECORDS

from jaxguide.course import ledger
from jaxguide.course.books.documented_index import example_places
from jaxguide.course.books.library import Course, load_course
from tools import documented_examples
from tools.documented_examples import (
    AS_DOCUMENTED,
    CHANGED,
    NEWLY_CHANGED,
    NOT_COMPARED,
    WITH_SETTING,
    Drift,
    measure_drift,
)


@pytest.fixture(scope="module")
def course(whole_course: Course) -> Course:
    """Return one lesson with two documented examples: one that works as documented, and one that needs a setting."""
    book = whole_course.books["random_numbers"]
    wanted = {"S0-24", "S0-41"}
    exercises = [
        one if wanted & set(one.reproduces) else dataclasses.replace(one, reproduces=()) for one in book.exercises
    ]
    return dataclasses.replace(whole_course, books={book.topic: dataclasses.replace(book, exercises=exercises)})


def found(course: Course) -> dict[str, Drift]:
    return {one.example: one for one in measure_drift(course)}


@pytest.mark.long
def test_each_example_is_as_the_ledger_has_it(course: Course) -> None:
    now = found(course)
    assert list(now) == list(ledger.entries())
    assert now["S0-24"].state == AS_DOCUMENTED
    assert dataclasses.replace(now["S0-41"], says="", exercise="") == Drift(
        "S0-41", WITH_SETTING, "", setting="jax_threefry_partitionable=False", since="0.5.0"
    )
    assert now["S4-01"].state == NOT_COMPARED
    assert not [one for one in now.values() if one.state == NEWLY_CHANGED]


@pytest.mark.long
@pytest.mark.parametrize("part", ["documented", "today"])
def test_what_comes_out_otherwise_is_newly_changed_and_nothing_else_is(course: Course, part: str) -> None:
    before = found(course)
    with ledger.corrupted("S0-41", part):
        after = found(course)
    changed = {name for name, one in after.items() if one != before[name]}
    assert changed == {"S0-41"}
    assert after["S0-41"].state == NEWLY_CHANGED
    assert "expected" in after["S0-41"].got


def run(course: Course, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setattr("jaxguide.cli.common.read_course", lambda *unused, **options: course)
    return CliRunner().invoke(documented_examples.main, arguments)


def test_drift_counts_and_its_status_says_whether_anything_is_new(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(course, monkeypatch, "drift", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["counts"][NEWLY_CHANGED]) == (0, 0)
    assert sum(said["counts"].values()) == len(said["examples"]) == len(ledger.entries())
    with ledger.corrupted("S0-41", "today"):
        done = run(course, monkeypatch, "drift")
    assert done.exit_code == 1
    assert "newly changed 1" in done.stdout


def test_find_says_where_an_example_is(whole_course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documented_examples, "read_course", lambda *unused, **options: whole_course)
    place = example_places(whole_course)["S2-01"]
    said = json.loads(CliRunner().invoke(documented_examples.main, ["find", "S2-01", "--json"]).stdout)
    assert said["page"] == "Automatic vectorization"
    assert said.items() >= dataclasses.asdict(place).items()
    done = CliRunner().invoke(documented_examples.main, ["find", "S2-01"])
    assert "\nlesson vectorization, exercise sliding_dot\n" in done.stdout
    assert f"\ncell {place.cell} of " in done.stdout
    done = CliRunner().invoke(documented_examples.main, ["find", "S2-1"])
    assert (done.exit_code, "There is no documented example S2-1. Did you mean `S2-" in done.output) == (2, True)


def test_coverage_counts_what_is_missing(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = {example for one in course.exercises.values() for example in one.reproduces}
    done = run(course, monkeypatch, "coverage", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["reproduced"]) == (1, len(claimed))
    assert set(said["missing"]) == set(ledger.entries()) - claimed


def drift_of(folder: Path) -> tuple[str, str]:
    one = found(load_course(folder))["T0-01"]
    return one.state, one.since


def test_of_a_text_made_by_jax_every_word_counts(documented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drift_of(documented) == (CHANGED, "0.8.2")
    weak = {**RECORDS["T0-01"], "today": ["x = JitTracer(~float32[3])"]}
    monkeypatch.setitem(ledger.entries()["T0-01"], "record", weak)
    assert drift_of(documented) == (NEWLY_CHANGED, "0.8.2")
    later = [{"since": "0.10.0", "today": ["x = JitTracer(float32[3])"]}, {"since": "99.0", "today": ["x"]}]
    monkeypatch.setitem(ledger.entries()["T0-01"], "record", {**weak, "later": later})
    assert drift_of(documented) == (CHANGED, "0.10.0")


def test_coverage_lists_examples_with_their_exercises(documented: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(load_course(documented), monkeypatch, "coverage")
    assert "T0-02  look\n" in done.stdout
    assert f"2 of {len(ledger.entries())} documented examples are reproduced by graded exercises\n" in done.stdout
