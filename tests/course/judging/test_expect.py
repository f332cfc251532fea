"""Test that near misses get specific messages."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course import ledger
from jaxguide.course.judging import expect
from jaxguide.course.judging.values import to_data
from jaxguide.course.verdict import CheckFailed
from jaxguide.keys import check_keys

X = jnp.arange(6.0).reshape(2, 3) + 1

NEAR_MISSES = [
    (np.asarray(X, np.float64), X, "float64", "NumPy computes in float64"),
    (X.reshape(3, 2), X, "values are right but the shape is (3, 2)", "expected (2, 3)"),
    (X.T, X, "transposed", "(3, 2)"),
    (X[:2, :2].T, X[:2, :2], "transposed", ""),
    (-X, X, "sign", "negative"),
    (X, X.sum(0), "reduction", "missing"),
    (X, X.mean(1), "reduction", "missing"),
    (X[:, ::-1], X, "another order", ""),
    (None, X, "`return` missing", ""),
    (..., X, "stub is still there", ""),
    (X.at[0, 0].set(jnp.nan), X, "NaN or infinity", ""),
    (jnp.ones((1, 1)), jnp.ones((1,)), "shape is (1, 1); expected (1,)", ""),
    (len, X, "a function", "Is a call missing"),
    ([X, X], (X, X), "a list is not a tuple", ""),
    ((X,), (X, X), "a tuple of 1; expected a tuple of 2", ""),
    ({"a": X}, {"a": X, "b": X}, "'a', 'b'", ""),
    ({"a": None}, {"a": X}, "The value at `result['a']` is None", ""),
    ((X, X + 1), (X, X), "`result[1]`", "not the expected ones"),
    (2.5, jnp.float32(2.5), "a Python float", "should be float32"),
    ("text", X, "Expected float32[2,3]", "a Python str"),
    (jnp.bfloat16(2.5 * 1.01), 2.5, "", ""),
]


@pytest.mark.parametrize(("got", "expected", "words", "more"), NEAR_MISSES)
def test_a_near_miss_is_named(got: Any, expected: Any, words: str, more: str) -> None:
    with pytest.raises(CheckFailed) as failure:
        expect.expect_close(to_data(got), expected)
    assert words.lower() in failure.value.message.lower()
    assert more in failure.value.message


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (X, X),
        (X * (1 + 1e-6), X),
        (np.asarray(X), X),
        (X.astype(jnp.bfloat16), X.astype(jnp.bfloat16) * 1.004),
        ((X, [X, {"a": X}]), (X, [X, {"a": X}])),
        (3, 3),
        (jnp.float32(2.5), 2.5),
        (jnp.array([jnp.nan, 1.0]), jnp.array([jnp.nan, 1.0])),
    ],
)
def test_right_results_pass(got: Any, expected: Any) -> None:
    expect.expect_close(to_data(got), expected)


def test_exactly_the_same_keys_pass_typed_or_legacy() -> None:
    expect.expect_equal(to_data(jax.random.key(3)), jax.random.key(3))
    expect.expect_equal(to_data(jax.random.PRNGKey(3)), jax.random.key(3))
    with pytest.raises(CheckFailed, match="another key"):
        expect.expect_equal(to_data(jax.random.key(3)), jax.random.key(4))


def test_weak_types_matter_only_when_asked_for() -> None:
    weak, strong = to_data(jnp.asarray(2.0)), jnp.float32(2.0)
    expect.expect_close(weak, strong)
    with pytest.raises(CheckFailed, match="is weak and should be strong"):
        expect.expect_close(weak, strong, weak_type=True)


def test_infinity_among_the_expected_values_excuses_no_other_value() -> None:
    expected = np.float32([np.inf, 1.0, np.nan])
    expect.expect_close(to_data(expected), expected)
    for wrong in ([np.inf, 2.0, np.nan], [1.0, 1.0, np.nan], [-np.inf, 1.0, np.nan], [np.inf, 1.0, 0.0]):
        with pytest.raises(CheckFailed):
            expect.expect_close(to_data(np.float32(wrong)), expected)


def test_different_means_not_the_same() -> None:
    expect.expect_different(to_data(X), X + 1, "same")
    with pytest.raises(CheckFailed, match="same"):
        expect.expect_different(to_data(X), X, "same")


def test_plain_arrays_are_taken_for_data() -> None:
    with pytest.raises(CheckFailed, match="same"):
        expect.expect_different(np.ones(2), np.ones(2), "same")


def test_a_documented_record_is_compared() -> None:
    expect.expect_documented("S0-35", to_data(ledger_value("S0-35")))
    with pytest.raises(CheckFailed, match="as documented"):
        expect.expect_documented("S0-35", to_data("something else"))
    with pytest.raises(KeyError, match="S9-99"):
        expect.expect_documented("S9-99", 1)


def test_numbers_of_a_record_have_a_tolerance_also_under_names(monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"compare": "numeric", "value": {"w": [1.0, 2.0], "b": 3.0}, "rtol": 1e-5}
    monkeypatch.setitem(ledger.entries(), "T0-01", {"record": record})
    expect.expect_documented("T0-01", to_data({"b": 3.000001, "w": [1.0, 2.000001]}))
    for other in ({"w": [1.0, 2.0], "b": 3.001}, {"w": [1.0, 2.0]}, {"w": [1.0], "b": 3.0}, [1.0, 2.0, 3.0]):
        with pytest.raises(CheckFailed):
            expect.expect_documented("T0-01", to_data(other))


def ledger_value(example: str) -> Any:
    return ledger.entries()[example]["record"]["value"]


def test_a_list_where_one_array_should_be_is_called_a_list() -> None:
    with pytest.raises(CheckFailed, match="a list of 3; one array of shape"):
        expect.expect_shape(to_data([1.0, 2.0, 3.0]), (3,))


def _halves_of_two_splits(key: jax.Array) -> jax.Array:
    return jax.random.normal(jax.random.split(key)[0]) + jax.random.normal(jax.random.split(key)[1])


def _one_half_of_two_splits(key: jax.Array) -> jax.Array:
    return jax.random.normal(jax.random.split(key)[0]) + jax.random.normal(jax.random.split(key)[0])


def _a_step_made_again(key: jax.Array) -> jax.Array:
    first, second = jax.random.fold_in(key, 1), jax.random.fold_in(key, 1)
    return jax.random.normal(jax.random.fold_in(first, 2)) + jax.random.normal(jax.random.fold_in(second, 3))


def _one_number_folded_in_twice(key: jax.Array) -> jax.Array:
    return jax.random.normal(jax.random.fold_in(key, 1)) + jax.random.uniform(jax.random.fold_in(key, 1))


def _one_child_drawn_from_and_split(key: jax.Array) -> jax.Array:
    child, again = jax.random.split(key)[0], jax.random.split(key)[0]
    return jax.random.normal(child) + jax.random.normal(jax.random.split(again)[0])


@pytest.mark.parametrize("right", [_halves_of_two_splits, _a_step_made_again])
def test_to_make_a_key_again_is_no_use_of_it(right: Any) -> None:
    expect.expect_no_key_problem(check_keys(right, jax.random.key(0)))


@pytest.mark.parametrize(
    "wrong", [_one_half_of_two_splits, _one_number_folded_in_twice, _one_child_drawn_from_and_split]
)
def test_a_key_that_is_made_again_is_used_once(wrong: Any) -> None:
    with pytest.raises(CheckFailed):
        expect.expect_no_key_problem(check_keys(wrong, jax.random.key(0)))


@pytest.mark.parametrize("far", [np.inf, np.nan])
def test_an_infinity_or_nan_does_not_widen_the_tolerance_of_the_other_values(far: float) -> None:
    wanted = jnp.array([far, 1.0])
    expect.expect_close(to_data(wanted), wanted)
    with pytest.raises(CheckFailed):
        expect.expect_close(to_data(jnp.array([far, 2.0])), wanted)
