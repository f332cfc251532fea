"""Test the plain data that crosses between answers and checks."""

import copy
import functools
import operator
from collections.abc import Callable
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


matrix = jnp.arange(1.0, 7.0).reshape(2, 3)
plain = np.asarray(matrix)
LIKE_NUMPY: dict[str, Callable[[Any], Any]] = {
    "equal": lambda a: a == matrix,
    "equal, reflected": lambda a: matrix == a,
    "not equal": lambda a: a != plain + 1,
    "not equal, reflected": lambda a: (plain + 1) != a,
    "compared with itself": lambda a: a == a,
    "ordered": lambda a: (a > 2, operator.ge(3, a)),
    "arithmetic": lambda a: (a - matrix, matrix - a, plain / a, 2 * a**2, -a, abs(a), a @ a.T, divmod(a, 2), a // 2),
    "logic": lambda a: ~(a > 1) | (a < 3),
    "methods": lambda a: (a.mean(), a.sum(axis=0), a.max(), a.any(), a.astype("int32"), a.tolist(), a.reshape(3, 2)),
    "attributes": lambda a: (a.T, a.ndim, a.size, a.real, a.shape, a.dtype),
    "indices": lambda a: (a[0], a[0, 1], a[:, None], a[a > 1], [1, 2, 3][a[0, 0].astype(int)]),
    "iterated": lambda a: [*a, *reversed(a), 3.0 in a, 9.0 in a, *map(sum, a)],
    "a row": lambda a: sorted(a[0]),
    "functions of NumPy": lambda a: (np.allclose(a, matrix), np.add.reduce(a), np.where(a > 2, a, 0), np.stack([a, a])),
    "inside containers": lambda a: (a[0, 0], 2) != (3, 2),
    "changed in place": lambda a: _and_one(a),
    "the truth of several": lambda a: bool(a),
    "one of several as a number": lambda a: float(a),
    "compared with another shape": lambda a: a == np.ones(4),
    "a number": lambda a: (bool(a[:1, :1] == 1), f"{np.sum(a):.2f}", round(np.sum(a), 1)),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "a truth value": bool,
    "a float": float,
    "an index": lambda a: [5, 6, 7][a],
    "a range": lambda a: len(range(a)),
    "complex": complex,
    "text": lambda a: f"{a:.2f} {a}",
    "iterated": list,
    "its length": len,
    "compared": lambda a: (a == 2, a != 2, a < 3, operator.gt(3, a)),
}


def _and_one(a: Any) -> Any:
    total = np.ones((2, 3))
    total += a
    a += 1
    return total, a


def _outcome(ask: Callable[[Any], Any], value: Any) -> str:
    try:
        found = ask(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return repr(jax.tree.map(lambda part: part if isinstance(part, str | type) else np.asarray(part), found))


@pytest.mark.parametrize("what", LIKE_NUMPY)
def test_a_result_is_used_like_a_numpy_array(what: str) -> None:
    ask, data = LIKE_NUMPY[what], to_data(matrix)
    assert _outcome(ask, data) == _outcome(ask, plain.copy())
    assert np.array_equal(data.values, plain), "it was changed"


@pytest.mark.parametrize("what", NUMBERS)
def test_a_result_is_used_like_a_number(what: str) -> None:
    assert _outcome(NUMBERS[what], to_data(jnp.int32(2))) == _outcome(NUMBERS[what], np.asarray(2, np.int32))


def test_functions_of_jax_say_or_show_how_to_use_a_result() -> None:
    data = to_data(matrix)
    assert jnp.array_equal(jnp.asarray(data), matrix)
    with pytest.raises(AttributeError, match=r"no `at`; write `jnp.asarray\(got\).at`"):
        data.at[0].set(1)
    with pytest.raises(ValueError, match=r"explicitly convert your object using jax.numpy.array\(\)"):
        jnp.sum(data)


@pytest.mark.parametrize(
    "value", [jax.random.key, lambda seed: Point(seed, 1), lambda seed: len, lambda seed: object()]
)
def test_what_is_compared_as_a_whole_says_so(value: Callable[[int], Any]) -> None:
    one, other = to_data(value(0)), to_data(value(0))
    for ask in (
        *(lambda a, b: a == b.__class__, lambda a, b: a != 3, lambda a, b: operator.eq(3, a), lambda a, b: plain != a),
        *(lambda a, b: a < b, lambda a, b: a - 1, lambda a, b: 1 - a, lambda a, b: matrix * a, lambda a, b: bool(a)),
        *(lambda a, b: a(3), lambda a, b: float(a), lambda a, b: np.asarray(a), lambda a, b: [a] == [3]),
    ):
        with pytest.raises(TypeError, match="is not a number or an array; compare it by `expect_equal`"):
            ask(one, other)
    with pytest.raises(AttributeError, match="`mean`"):
        one.mean()


def test_keys_are_split_into_keys() -> None:
    keys = jax.random.split(jax.random.key(7), 3)
    data = to_data(keys)
    assert [one.bits.tolist() for one in data] == np.asarray(jax.random.key_data(keys)).tolist()
    assert data[1:].shape == (2,)
    with pytest.raises(TypeError, match="unsized"):
        list(data[0])


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
