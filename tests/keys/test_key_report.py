"""Test the report of `check_keys`: its problems as a list, its text, card and plain data, and names that went."""

import json
from typing import Any

import jax
import pytest
from jax import random

from jaxguide.keys import KeyProblem, KeyReport, KeyReuseError, check_keys, no_key_reuse


def _twice(key: Any) -> Any:
    a = random.normal(key, (2,))
    return a < random.uniform(key, (2,))


def _once(key: Any) -> Any:
    first, second = random.split(key)
    return random.normal(first), jax.vmap(random.normal)(random.split(random.fold_in(second, 3), 4))


def test_a_report_is_true_if_there_are_problems_and_iterates_over_them() -> None:
    none, one = check_keys(_once, random.key(0)), check_keys(_twice, random.key(0))
    assert (bool(none), len(none), list(none), str(none)) == (False, 0, [], "✓ No problem with keys.")
    assert (bool(one), len(one), list(one)) == (True, 1, one.problems)
    assert str(one) == repr(one) == f"1 problem with keys.\n✗ {one.problems[0].message}"
    card = one._repr_html_()
    assert card.startswith("<section")
    assert card.count("✗") == 1
    assert "a &lt; random.uniform(key, (2,))" in card
    assert "#388e3c" in none._repr_html_()


def test_a_problem_has_a_card_and_an_error_shows_its_problems() -> None:
    (problem,) = check_keys(_twice, random.key(0))
    assert problem._repr_html_().count("✗") == 1
    assert KeyProblem("drawn_twice", "a < b")._repr_html_().count("a &lt; b") == 1
    assert repr(problem) == str(problem) == problem.message
    with pytest.raises(KeyReuseError) as raised:
        no_key_reuse(_twice)(random.key(0))
    assert raised.value._repr_html_().count("✗") == 1


def test_each_use_is_one_line() -> None:
    uses = [str(use) for use in check_keys(_once, random.key(7)).uses]
    assert uses[0].startswith("split of key 0:7 into 2, line ")
    assert uses[0].endswith(": first, second = random.split(key)")
    assert [use.split()[0] for use in uses] == ["split", "normal", "fold_in", "split", *["normal"] * 4]
    made = str(check_keys(lambda key: random.clone(random.key(3)), random.key(0)).uses)
    assert "key 0:3 from the seed 3" in made
    assert "clone of key 0:3" in made


def test_a_report_crosses_as_plain_data_without_its_tree() -> None:
    report = check_keys(_twice, random.key(0))
    again = KeyReport.from_plain(json.loads(json.dumps(report.to_plain())))
    assert again == report
    assert str(again) == str(report)
    with pytest.raises(ValueError, match="Only the report that `check_keys` returns has a tree"):
        _ = again.tree


def test_an_answer_that_cannot_run_says_why() -> None:
    report = KeyReport(untraceable="ZeroDivisionError: division by zero")
    assert str(report) == "The program could not be run: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in report._repr_html_()
