"""Convert the arguments and results of answers to plain data, the only form that checks see.

A student's object never reaches a check. It is converted to None, bool, int, float, complex, str, dtypes, the classes
below, and tuple, list and dict of these, so none of the student's methods can run.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import jax
import numpy as np

from jaxguide.jaxpr.value_words import describe_container, dtype_and_shape

Data = Any  # one of the classes below, a Python scalar, str, np.dtype, or tuple/list/dict of Data


class _Opaque:
    """Data that a check compares as a whole: what else Python could do with it says what to write instead."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        message = (
            "{what} is not a number or an array; compare it by `expect_equal` or `expect_different`, see the words of "
            "keys in `got.bits`, and call a returned function by `answer.then(...)`"
        )
        raise TypeError(message.format(what=describe_type(self)))

    __hash__ = object.__hash__
    __array_ufunc__ = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        message = "{what} has no `{name}` in a check"
        raise AttributeError(message.format(what=describe_type(self), name=name))


for _operation in (
    *("eq", "ne", "lt", "le", "gt", "ge", "bool", "call", "len", "iter", "getitem", "array", "float", "int"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "rmatmul", "pow", "neg", "abs"),
):
    setattr(_Opaque, f"__{_operation}__", _Opaque._refuse)


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayData(np.lib.mixins.NDArrayOperatorsMixin):
    """An array or array scalar: its values, whether its type is weak, and its library ('jax' or 'numpy').

    It has the operators and attributes of a NumPy array, which give plain NumPy arrays.

    >>> got = to_data(jax.numpy.arange(3.0))
    >>> got != 1, float(2 - got.mean())
    (array([ True, False,  True]), 1.0)
    """

    values: np.ndarray
    weak_type: bool = False
    origin: str = "jax"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    __hash__ = object.__hash__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __jax_array__(self) -> jax.Array:
        return jax.numpy.asarray(self.values)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(one is self for one in options.get("out", ())):  # `got += 1` makes a new array
            del options["out"]
        plain = (np.asarray(one) if isinstance(one, ArrayData | jax.Array) else one for one in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(np.ndarray, name):
            return getattr(self.values, name)
        message = "what an answer returns is like a NumPy array, which has no `{name}`; write `jnp.asarray(got).{name}`"
        raise AttributeError(message.format(name=name))


def _forwarded(operation: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(self.values, operation)(*args)


for _operation in ("len", "iter", "contains", "getitem", "float", "int", "index", "complex", "bool", "format"):
    setattr(ArrayData, f"__{_operation}__", _forwarded(f"__{_operation}__"))


@dataclasses.dataclass(frozen=True, eq=False)
class KeyData(_Opaque):
    """An array of typed PRNG keys: its bits (uint32[..., n]) and the name of its implementation."""

    bits: np.ndarray
    impl: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.bits.shape[:-1]

    def __len__(self) -> int:
        return len(self.bits[..., 0])

    def __getitem__(self, index: Any) -> "KeyData":
        places = np.arange(self.bits[..., 0].size).reshape(self.shape)[index]
        return KeyData(self.bits.reshape(-1, self.bits.shape[-1])[places], self.impl)

    def __iter__(self) -> Iterator["KeyData"]:
        return iter([self[place] for place in range(len(self))])


@dataclasses.dataclass(frozen=True, eq=False)
class NodeData(_Opaque):
    """A namedtuple or a registered pytree: the type's name, its named or numbered children, and its static part."""

    type_name: str
    children: dict[str, Data]
    static: Data = None

    def __getattr__(self, name: str) -> Data:
        children = self.__dict__.get("children", {})
        return children[name] if name in children else super().__getattr__(name)

    def __len__(self) -> int:
        return len(self.children)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.children.values())

    def __getitem__(self, index: int) -> Data:
        return list(self.children.values())[index]


@dataclasses.dataclass(frozen=True)
class FunctionName:
    """A function of the book, passed to an answer by name."""

    name: str


@dataclasses.dataclass(frozen=True)
class InputFunction:
    """A function of the key that is an input, passed to an answer by its source, which is all that goes over."""

    name: str
    source: str

    def define(self, names: dict[Any, Any]) -> Any:
        """Define the function among the book's names, once for the requests that share `names`."""
        if self not in names:
            namespace = {name: value for name, value in names.items() if isinstance(name, str)}
            exec(compile(self.source, f"<book> {self.name}", "exec", dont_inherit=True), namespace)
            names[self] = namespace[self.name]
        return names[self]


@dataclasses.dataclass(frozen=True)
class Unsupported(_Opaque):
    """A value that is not data: the name of its type and, optionally, a note about it."""

    type_name: str
    note: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unsupported):
            self._refuse()
        return (self.type_name, self.note) == (other.type_name, other.note)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        message = "`{kind}` is not data, so it has no `{name}` here: let the answer return arrays or numbers"
        raise AttributeError(message.format(kind=self.__dict__.get("type_name"), name=name))


class NotData(TypeError):
    """An argument in a check is not data, so it cannot be passed to a student's function."""


SOURCE_LIMIT = 20_000
"""The most characters of a function that is passed by its source."""
_SCALARS = (bool, int, float, complex, str)
_CLASSES = (ArrayData, KeyData, NodeData, FunctionName, InputFunction, Unsupported)


def to_data(value: Any, depth: int = 0) -> Data:
    """Convert a value to plain data.

    >>> to_data((1, jax.numpy.ones(2)))[1].values
    array([1., 1.], dtype=float32)
    """
    if depth > 50:
        return Unsupported(type(value).__name__, "nested more than 50 deep")
    kind = type(value)
    if value is None or kind in _SCALARS or kind in _CLASSES:
        return value
    if isinstance(value, jax.core.Tracer):
        return Unsupported("tracer", "a tracer that left its transformation")
    if isinstance(value, jax.Array):
        return _array_to_data(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        if value.dtype.hasobject:
            return Unsupported("object array")
        return ArrayData(np.array(value), origin="numpy")
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    if kind in (tuple, list):
        return kind(to_data(child, depth + 1) for child in value)
    if kind is dict:
        if not all(type(name) in _SCALARS or name is None for name in value):
            return Unsupported("dict", "with keys that are not plain")
        return {name: to_data(child, depth + 1) for name, child in value.items()}
    return _node_to_data(value, depth)


def _array_to_data(value: jax.Array) -> Data:
    if value.is_deleted():  # such as a donated argument
        return Unsupported("deleted array")
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return KeyData(np.array(jax.random.key_data(value)), str(jax.random.key_impl(value)))
    return ArrayData(np.array(value), weak_type=bool(getattr(value, "weak_type", False)))


def _node_to_data(value: Any, depth: int) -> Data:
    kind = type(value)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        fields = {name: to_data(child, depth + 1) for name, child in zip(kind._fields, value, strict=True)}
        return NodeData(kind.__name__, fields)
    if isinstance(value, dict):
        return to_data({**value}, depth)
    if isinstance(value, np.ndarray):
        return to_data(np.asarray(value), depth)
    if callable(value):
        return Unsupported("function")
    try:
        children, _form = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda x: x is not value)
    except Exception:  # a student's flatten rule may raise anything
        return Unsupported(kind.__name__)
    if len(children) == 1 and children[0][1] is value:
        return Unsupported(kind.__name__)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _child in children]
    parts = [to_data(child, depth + 1) for _path, child in children]
    return NodeData(kind.__name__, dict(zip(names, parts, strict=True)))


def from_data(data: Data, names: dict[Any, Any] | None = None) -> Any:
    """Build a new value from data; since it is new, a call cannot change the arguments of another.

    Args:
        data: the result of `to_data`.
        names: the namespace in which functions and namedtuples are looked up; it keeps those that come as source.

    Raises:
        NotData: the data cannot be an argument.
    """
    if isinstance(data, ArrayData):
        return _array_from_data(data)
    if isinstance(data, KeyData):
        return jax.random.wrap_key_data(jax.numpy.asarray(data.bits), impl=data.impl)
    if isinstance(data, FunctionName):
        if names is None or data.name not in names:
            raise NotData(f"the book does not define a function `{data.name}` to pass as an argument")
        return names[data.name]
    if isinstance(data, InputFunction):
        return data.define({} if names is None else names)
    if type(data) in (tuple, list):
        return type(data)(from_data(child, names) for child in data)
    if type(data) is dict:
        return {name: from_data(child, names) for name, child in data.items()}
    if isinstance(data, NodeData):
        kind = (names or {}).get(data.type_name)
        if kind is None or not hasattr(kind, "_fields"):
            message = (
                "`{name}` is not a namedtuple defined in the book; let a function make it, and pass that with `given`"
            )
            raise NotData(message.format(name=data.type_name))
        return kind(**{name: from_data(child, names) for name, child in data.children.items()})
    if isinstance(data, Unsupported):
        raise NotData(f"a {data.type_name} cannot be an argument of an answer")
    return data


def _array_from_data(data: ArrayData) -> Any:
    if data.origin == "numpy":
        copy = np.array(data.values)
        return copy if copy.ndim else copy[()]
    if data.weak_type:
        # `asarray` of a Python scalar is the public way to get a weakly typed array.
        scalar = jax.numpy.asarray(data.values.reshape(-1)[0].item() if data.values.size else 0)
        return scalar if not data.shape else jax.numpy.asarray(data.values)
    # Copy, since the array may share NumPy's memory; `jax.numpy.array` would compile a program for each shape.
    return jax.device_put(np.array(data.values))


def describe_type(data: Data) -> str:
    """Return the type of a value as JAX prints it: `float32[3,2]`, `key<fry>[]`, `a tuple of 2`.

    >>> describe_type(to_data(jax.numpy.zeros((3, 2))))
    'float32[3,2]'
    """
    if isinstance(data, ArrayData):
        text = dtype_and_shape(data.dtype.name, data.shape)
        return text + (" (weak type)" if data.weak_type else "")
    if isinstance(data, KeyData):
        return dtype_and_shape(f"key<{_IMPL_TAGS.get(data.impl, data.impl)}>", data.shape)
    if isinstance(data, tuple | list | dict):
        return describe_container(data)
    if isinstance(data, NodeData):
        return data.type_name
    if isinstance(data, FunctionName | InputFunction):
        return f"the function {data.name}"
    if isinstance(data, Unsupported):
        return f"a {data.type_name}" + (f" ({data.note})" if data.note else "")
    if data is None:
        return "None"
    return f"a Python {type(data).__name__}" if isinstance(data, _SCALARS) else str(data)


_IMPL_TAGS = {"threefry2x32": "fry", "rbg": "rbg", "unsafe_rbg": "urbg"}


def children_of(data: Data) -> Iterator[tuple[str, Data]]:
    """Yield the children of data, each with its place as it is written after the name of the whole."""
    if isinstance(data, tuple | list):
        yield from ((f"[{i}]", child) for i, child in enumerate(data))
    elif isinstance(data, dict):
        yield from ((f"[{name!r}]", data[name]) for name in sorted(data, key=repr))
    elif isinstance(data, NodeData):
        yield from ((f".{name}", child) for name, child in data.children.items())
