"""Test the plain data that crosses between answers and checks."""

import copy
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course.judging.values import (
    ArrayData,
    FunctionName,
    KeyData,
    NodeData,
    NotData,
    Unsupported,
    describe_type,
    from_data,
    to_data,
)


class Point(NamedTuple):
    x: Any
    y: Any


@functools.partial(jax.tree_util.register_dataclass, data_fields=["weights"], meta_fields=["name"])
class Layer:
    def __init__(self, weights: Any, name: str):
        self.weights, self.name = weights, name


@pytest.mark.parametrize("value", [None, True, 3, 2.5, 1j, "text"])
def test_python_scalars_stay_python_scalars(value: Any) -> None:
    assert from_data(to_data(value)) == value
    assert type(from_data(to_data(value))) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64", "uint32"])
def test_jax_arrays_come_back_as_they_were(dtype: str) -> None:
    array = jnp.ones((2, 3), dtype)
    back = from_data(to_data(array))
    assert isinstance(back, jax.Array)
    assert back.dtype == array.dtype
    assert np.array_equal(np.asarray(back), np.asarray(array))


def test_weak_types_are_kept() -> None:
    weak = jnp.asarray(2.0)
    assert to_data(weak).weak_type == weak.weak_type is True
    assert from_data(to_data(weak)).weak_type is True
    assert to_data(jnp.zeros(2)).weak_type is False


def test_numpy_arrays_and_scalars_stay_numpy() -> None:
    assert type(from_data(to_data(np.zeros(2)))) is np.ndarray
    assert type(from_data(to_data(np.float64(2)))) is np.float64
    assert to_data(np.float64(2)).origin == "numpy"


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_cross_as_bits_and_implementation(impl: str) -> None:
    keys = jax.random.split(jax.random.key(7, impl=impl), 3)
    data = to_data(keys)
    assert data.shape == (3,)
    back = from_data(data)
    assert back.dtype == keys.dtype
    assert np.array_equal(jax.random.key_data(back), jax.random.key_data(keys))


def test_a_legacy_key_is_an_array() -> None:
    assert isinstance(to_data(jax.random.PRNGKey(0)), ArrayData)


def test_containers_keep_their_kind() -> None:
    value = ([1, (2,)], {"a": jnp.zeros(1)}, Point(1, 2))
    data = to_data(value)
    assert type(data) is tuple
    assert type(data[0]) is list
    assert isinstance(data[2], NodeData)
    assert data[2].x == 1
    assert from_data(data[2], {"Point": Point}) == Point(1, 2)


def test_a_registered_pytree_crosses_as_name_and_children() -> None:
    data = to_data(Layer(jnp.ones(2), "dense"))
    assert isinstance(data, NodeData)
    assert data.type_name == "Layer"
    assert list(np.asarray(data.weights)) == [1, 1]


def test_what_is_no_data_says_what_it_is() -> None:
    assert to_data(object()) == Unsupported("object")
    assert to_data(len) == Unsupported("function")
    leaked = []
    jax.jit(lambda x: leaked.append(x) or x)(1.0)
    assert to_data(leaked[0]).type_name == "tracer"
    with pytest.raises(NotData, match="object"):
        from_data(to_data(object()))


def test_an_object_that_lies_about_equality_has_no_say() -> None:
    class Liar(np.ndarray):
        def __eq__(self, other: object) -> bool:  # type: ignore[override]
            return True

    data = to_data(np.zeros(3).view(Liar))
    assert type(data.values) is np.ndarray


def test_each_call_gets_arguments_of_its_own() -> None:
    data = to_data(np.zeros(2))
    from_data(data)[0] = 5
    assert from_data(data)[0] == 0


def test_a_function_goes_by_name() -> None:
    assert from_data(FunctionName("loss"), {"loss": len}) is len
    with pytest.raises(NotData, match="`lost`"):
        from_data(FunctionName("lost"), {})


def test_types_are_written_as_jax_prints_them() -> None:
    assert describe_type(to_data(jnp.zeros((2, 3)))) == "float32[2,3]"
    assert describe_type(to_data(jax.random.key(0))) == "key<fry>[]"
    assert describe_type(KeyData(np.zeros((2, 2), np.uint32), "threefry2x32")) == "key<fry>[2]"
    assert describe_type(2.0) == "a Python float"


def test_reading_a_part_of_what_is_not_data_says_so() -> None:
    plot = to_data(object())
    assert copy.deepcopy(plot) == plot
    with pytest.raises(AttributeError, match="`object` is not data, so it has no `lines` here"):
        plot.lines  # noqa: B018


def test_an_object_of_functions_as_an_argument_is_refused_with_what_to_do() -> None:
    optimizer = Point(jnp.sin, jnp.cos)
    with pytest.raises(NotData, match="let a function make it, and pass that with `given`"):
        from_data(to_data(optimizer), {})
