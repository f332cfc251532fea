"""Test the battery of key bugs: it is large enough and sound on plain JAX, and `check_keys` judges every case right."""

import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import jax
import pytest
from needs import ON_THE_NEWEST, lacks

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from key_battery.bugs import BUGS
from key_battery.case import Case, equal, first_is_made_of_children, one_starts_the_other, same_order
from key_battery.correct import CORRECT
from key_battery.proof import prove
from key_battery.scoreboard import MODES, ask_check_keys

from jaxguide.keys import check_keys

KINDS = {
    "drawn_twice",
    "parent_used_after_split",
    "parent_used_after_fold",
    "split_twice",
    "fold_twice_same_data",
    "split_and_fold_mixed",
    "same_key_for_all_rows",
    "seed_built_twice",
}


def _each(cases: list[Case], *key_kinds: str) -> pytest.MarkDecorator:
    """Run a test for every case with every key kind that the case supports."""
    parameters = [
        pytest.param(case, kind, id=f"{case.name}-{kind}")
        for case in cases
        for kind in case.key_kinds
        if kind in key_kinds
    ]
    return pytest.mark.parametrize(("case", "key_kind"), parameters)


def _asked(cases: list[Case]) -> pytest.MarkDecorator:
    """Run a test for every case, key kind and mode; not `long` is one, which varies, of every third case."""
    parameters = []
    for number, case in enumerate(cases):
        ways = [(kind, mode) for kind in ("typed", "legacy") if kind in case.key_kinds for mode in MODES]
        for turn, (kind, mode) in enumerate(ways):
            marks = () if number % 3 == 0 and turn == number // 3 % len(ways) else pytest.mark.long
            parameters.append(pytest.param(case, kind, mode, id=f"{case.name}-{kind}-{mode}", marks=marks))
    return pytest.mark.parametrize(("case", "key_kind", "mode"), parameters)


@pytest.fixture(autouse=True, scope="module")
def _compiling_takes_less_of_the_time() -> Iterator[None]:
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def _need_library(case: Case) -> None:
    if not case.installed():
        lacks(f"{case.needs} (install it with pip)")


def test_cases_have_names_of_their_own_and_say_what_they_are() -> None:
    names = [case.name for case in BUGS + CORRECT]
    assert len(set(names)) == len(names)
    assert all(case.why for case in BUGS + CORRECT)


def test_every_kind_of_problem_is_planted_and_no_other() -> None:
    assert {case.kinds[0] for case in BUGS} == KINDS
    assert {kind for case in BUGS for kind in case.kinds} == KINDS
    assert not any(case.kinds for case in CORRECT)


def test_marks_come_in_pairs() -> None:
    assert [case.name for case in BUGS if bool(case.marked("first")) != bool(case.marked("second"))] == []
    assert sum(bool(case.marked("first")) for case in BUGS) >= 40


def test_the_evidence_tells_related_draws_from_unrelated_ones() -> None:
    mine, other = jax.random.key(0), jax.random.key(1)
    normal, uniform = (draw(mine, (12,)) for draw in (jax.random.normal, jax.random.uniform))
    elsewhere = jax.random.normal(other, (12,))
    assert equal(normal, normal, mine)
    assert not equal(normal, elsewhere, mine)
    assert same_order(normal, uniform, mine)
    assert not same_order(elsewhere, uniform, mine)
    assert one_starts_the_other(normal, normal[:5], mine)
    assert not one_starts_the_other(normal, elsewhere[:5], mine)
    assert first_is_made_of_children(normal, None, mine)
    assert not first_is_made_of_children(normal, None, other)


def test_the_proof_rejects_a_correct_program_and_evidence_that_always_holds() -> None:
    def two_children(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        a, b = jax.random.split(key)
        return jax.random.normal(a, (3,)), jax.random.normal(b, (3,))

    related = prove(Case(two_children, kinds=("drawn_twice",), evidence=equal), "typed")
    assert related == "its two values are not related as the evidence says"
    vacuous = prove(Case(two_children, kinds=("drawn_twice",), evidence=lambda *_: True), "typed")
    assert vacuous == "the evidence holds of unrelated values too"


@ON_THE_NEWEST
@_each(BUGS + CORRECT, "typed")
def test_the_program_runs_and_a_bug_is_one(case: Case, key_kind: str) -> None:
    _need_library(case)
    assert prove(case, key_kind) is None


@pytest.mark.hours(reason="CI runs the same programs with typed threefry keys")
@_each(BUGS + CORRECT, "legacy", "rbg")
def test_the_program_runs_and_a_bug_is_one_with_other_keys(case: Case, key_kind: str) -> None:
    _need_library(case)
    assert prove(case, key_kind) is None


@_asked(BUGS)
def test_check_keys_finds_the_bug(case: Case, key_kind: str, mode: str) -> None:
    _need_library(case)
    verdict = ask_check_keys(case, key_kind, mode)
    assert verdict.reported, f"expected one of {case.kinds}, got: {verdict.said or 'nothing'}"
    assert verdict.right_lines in (True, None), verdict.said


@_asked(CORRECT)
def test_check_keys_leaves_the_correct_program_in_peace(case: Case, key_kind: str, mode: str) -> None:
    _need_library(case)
    verdict = ask_check_keys(case, key_kind, mode)
    assert not verdict.reported, verdict.said


def _some(*key_kinds: str, but: Collection[str] = ()) -> pytest.MarkDecorator:
    """Run a test for every case that supports these keys; not `long` is every tenth."""
    parameters = []
    for number, case in enumerate(BUGS + CORRECT):
        kind = key_kinds[number % len(key_kinds)]
        if kind in case.key_kinds and case.name not in but:
            marks = () if number % 10 == 0 else pytest.mark.long
            parameters.append(pytest.param(case, kind, id=f"{case.name}-{kind}", marks=marks))
    return pytest.mark.parametrize(("case", "key_kind"), parameters)


@_some("rbg")
def test_check_keys_judges_programs_with_rbg_keys(case: Case, key_kind: str) -> None:
    _need_library(case)
    verdict = ask_check_keys(case, key_kind, "eager")
    assert verdict.right, verdict.said


# Each operation is compiled by itself, so that these take 10 s each.
SLOW = ("continuous_samplers", "count_samplers", "gradient_of_samplers", "initialisers", "positive_samplers")


@_some("typed", "legacy", but=SLOW)
def test_check_keys_judges_programs_that_need_values(case: Case, key_kind: str) -> None:
    _need_library(case)
    program, arguments = case.build(key_kind)

    def needs_values(x: jax.Array, *args: object) -> object:
        return program(*args) if x > 0 else None

    kinds = {problem.kind for problem in check_keys(needs_values, jax.numpy.float32(1), *arguments)}
    assert kinds & {*case.kinds} if case.kinds else not kinds
