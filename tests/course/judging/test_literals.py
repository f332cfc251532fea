"""Test that values are written as Python that evaluates to them, and that long ones stay short."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course.judging.literals import CUT, in_line, show
from jaxguide.course.judging.values import ArrayData, Data, FunctionName, KeyData, NodeData, Unsupported, to_data

NAMES = {"jax": jax, "jnp": jnp, "np": np}
VALUES = [
    *(None, True, 3, -2.5, float("-inf"), 1 + 2j, "it's", (1,), [1, (2.0, "a")], {"a": [1], 2: ()}),
    *(jnp.int32(1), jnp.float32(0.1), jnp.bool_(True), jnp.complex64(1 - 2j), jnp.float32(jnp.inf)),
    *(jnp.bfloat16(0.1), jnp.float16(0.1), jnp.uint8(200), jnp.asarray(2.0), jnp.asarray(3)),
    *(np.float32(0.1), np.float64(0.1), np.int64(-7), np.bool_(False), np.str_("a")),
    *(jnp.array([0.1, -2.0, 3e-10]), jnp.array([[1, 2], [3, 4]]), np.array([[0.1, 1e300]]), jnp.array([True, False])),
    *(jnp.array([jnp.nan, -jnp.inf, -0.0]), np.array([np.nan, 1.0], np.float32), jnp.array([1 + 1j, jnp.nan])),
    *(
        jnp.ones((2, 3), jnp.bfloat16) / 3,
        jnp.arange(4, dtype=jnp.int4),
        np.ones(2, jnp.bfloat16),
        np.array(["a", "b"]),
    ),
    *(
        jnp.zeros((0, 3)),
        jnp.zeros((100, 2)),
        jnp.ones(500, "int8"),
        jnp.full(99, 0.1, "float32"),
        jnp.arange(1000),
        np.arange(50),
    ),
    *(jax.random.key(42), jax.random.split(jax.random.key(0), 3), jax.random.PRNGKey(3)),
    *(jax.random.key(1, impl="rbg"), (jnp.float32(0.5), {"w": jnp.ones((2, 2))})),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: show(to_data(value))[:40])
def test_what_is_written_evaluates_to_the_value(value: Any) -> None:
    data = to_data(value)
    for text in (show(data), in_line(data)):
        assert same(to_data(eval(text, dict(NAMES))), data), text
        assert "\n" not in in_line(data)


def same(one: Data, other: Data) -> bool:
    """Return whether two values are the same down to the dtype, the weak type and the bits."""
    if isinstance(one, ArrayData) and isinstance(other, ArrayData):
        kinds = [(a.shape, a.dtype, a.weak_type, a.origin) for a in (one, other)]
        return kinds[0] == kinds[1] and one.values.tobytes() == other.values.tobytes()
    if isinstance(one, KeyData) and isinstance(other, KeyData):
        return one.impl == other.impl and np.array_equal(one.bits, other.bits)
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (jnp.int32(1), "jnp.int32(1)"),
        (np.float32(0.5), "np.float32(0.5)"),
        (jnp.array([1.0, 2.5]), "jnp.array([1., 2.5], dtype=jnp.float32)"),
        ((jnp.float32(0.1), 2), "(jnp.float32(0.1), 2)"),
        (jax.random.key(7), "jax.random.key(7)"),
        (jnp.zeros((8, 8)), "jnp.zeros((8, 8), dtype=jnp.float32)"),
        (jnp.arange(12.0).reshape(3, 4), "jnp.arange(12, dtype=jnp.float32).reshape(3, 4)"),
        (jnp.asarray(0.1), "jnp.asarray(0.1)"),
    ],
)
def test_scalars_are_written_as_what_they_are_and_arrays_with_library_and_dtype(value: Any, text: str) -> None:
    assert show(to_data(value)) == text


def test_a_long_array_is_written_with_type_shape_and_both_ends_on_a_line() -> None:
    long = ArrayData(np.float32(np.arange(400) ** 0.5).reshape(100, 4))
    assert show(long) == "float32[100,4] [[0., ..., 1.7320508], ..., [19.899748, ..., 19.974985]]"


def test_what_has_no_python_is_described() -> None:
    assert show(Unsupported("ellipsis")) == "..."
    assert show(Unsupported("function")) == "a function"
    assert show(FunctionName("loss")) == "loss"
    assert show(NodeData("Point", {"x": 1, "y": ArrayData(np.int32(2))})) == "Point(x=1, y=jnp.int32(2))"
    assert show(np.dtype("float32")) == 'jnp.dtype("float32")'
    assert show(10**5000) == "an int of 16610 bits"
    assert show("x" * 500).endswith(CUT)


def test_settings_of_the_student_change_nothing() -> None:
    data = to_data(jnp.array([0.123456, 1e-10]))
    before = show(data)
    with np.printoptions(precision=1, suppress=True, sign="+", formatter={"float": "{:.1f}".format}):
        assert show(data) == before


@pytest.mark.parametrize(
    "value",
    [
        ArrayData(np.ones((2,) * 21, np.int8)),
        ArrayData(np.arange(2**20, dtype=np.float32) % 7),
        KeyData(np.ones((2,) * 18, np.uint32), "threefry2x32"),
        [1.5] * 1_000_000,
        dict.fromkeys(range(1_000_000), 1.5),
        "x" * 10**7,
        [ArrayData(np.zeros(2**20))] * 1000,
    ],
)
def test_large_values_are_shown_without_formatting_all_of_them(value: Data) -> None:
    before_s = time.process_time()
    assert len(show(value)) <= 400
    assert time.process_time() - before_s < 5  # of minutes, for the first
