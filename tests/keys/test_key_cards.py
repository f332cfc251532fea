"""Test how problems with keys, and uses of keys, are shown as text and in a notebook."""

import copy
import pickle
from typing import Any

import jax
import pytest
from jax import random

from jaxguide.keys import KeyProblem, KeyReuseError, check_keys, key_use, no_key_reuse


def _twice(key: Any) -> Any:
    a = random.normal(key, (2,))
    return a < random.uniform(key, (2,))


def _once(key: Any) -> Any:
    first, second = random.split(key)
    return random.normal(first), jax.vmap(random.normal)(random.split(random.fold_in(second, 3), 4))


def test_problems_are_a_list_that_a_notebook_shows_as_one_card() -> None:
    none, one = check_keys(_once, random.key(0)), check_keys(_twice, random.key(0))
    assert isinstance(none, list)
    assert none == []
    assert repr(none) == "[]"
    assert str(none) == "✓ No problem with keys."
    assert one == [one[0]]
    assert one != none
    assert str(one) == f"1 problem with keys.\n✗ {one[0].message}"
    card = one._repr_html_()
    assert card.startswith("<section")
    assert card.count("✗") == 1
    assert "a &lt; random.uniform(key, (2,))" in card
    assert "#388e3c" in none._repr_html_()
    for copied in (copy.copy(one), pickle.loads(pickle.dumps(one))):
        assert (copied, copied.ignored) == (one, 0)


def test_a_problem_has_a_card_and_an_error_shows_its_problems() -> None:
    (problem,) = check_keys(_twice, random.key(0))
    assert problem._repr_html_().count("✗") == 1
    assert KeyProblem("drawn_twice", "a < b")._repr_html_().count("a &lt; b") == 1
    assert repr(problem) == str(problem) == problem.message
    with pytest.raises(KeyReuseError) as raised:
        no_key_reuse(_twice)(random.key(0))
    assert raised.value._repr_html_().count("✗") == 1


def test_uses_are_listed_with_rows_counted() -> None:
    used = key_use(_once, random.key(7))
    lines = str(used).splitlines()
    assert lines[0] == "8 uses of keys."
    assert lines[1].startswith("  split of key 0:7 into 2, line ")
    assert lines[1].endswith(": first, second = random.split(key)")
    assert [line.split()[0] for line in lines[1:-1]] == ["split", "normal", "fold_in", "split", "normal"]
    assert lines[-2].endswith(" (and 3 more)")
    assert lines[-1] == "✓ No problem with keys."
    assert repr(used) == str(used)
    assert repr(used.uses[0]) == lines[1].strip()
    assert used._repr_html_().count("1.2em") == 5  # indented


def test_uses_show_the_problems_too() -> None:
    used = key_use(_twice, random.key(7))
    assert str(used).splitlines()[-2:] == ["1 problem with keys.", f"✗ {used.problems[0].message}"]
    assert "✗" in used._repr_html_()
    assert [problem.message for problem in type(used).from_plain(used.to_plain()).problems] == [
        used.problems[0].message
    ]


def test_a_program_that_cannot_run_says_why() -> None:
    used = key_use(lambda key: 1 / 0, random.key(0))
    assert str(used) == "The program could not be run: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in used._repr_html_()


def test_no_dataclass_is_shown_raw() -> None:
    used = key_use(lambda key: random.clone(random.key(3)), random.key(0))
    for shown in (str(used), repr(used), repr(used.uses), used._repr_html_()):
        assert "Use(" not in shown
        assert "None" not in shown
    assert "key 0:3 from the seed 3" in str(used)
    assert "clone of key 0:3" in str(used)
