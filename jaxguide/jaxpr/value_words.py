"""Say what a value is, in a few words.

Sentences use `describe`. Three places say something else and share its parts: cards give only the type, of data that a
worker sent (`describe_type` in `course.judging.values`); `tracing.value_description` writes a value as one would type
it, with types for what is traced; `describe_out` in `callbacks.host_call` writes a pytree of types.
"""

import functools
import itertools
from collections.abc import Sequence, Sized
from typing import Any

import jax
import numpy as np

from jaxguide.code.lines import function_name


def describe(value: Any) -> str:
    """Describe a value in a few words: arrays by dtype and shape as JAX prints them, others by type.

    >>> describe(np.zeros((2, 3), np.float32)), describe(3), describe(max), describe(None), describe([1, 2])
    ('an array float32[2,3]', 'the int 3', 'the function `max`', 'None', 'a list of 2')
    """
    if value is None:
        return "None"
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if isinstance(value, jax.core.Tracer):
            return f"a tracer {array_type(value)}"
        return f"an array {array_type(value)}"
    if isinstance(value, list | tuple | dict | set):
        return describe_container(value)
    if isinstance(value, bool | int | float | complex | str | bytes):
        text = repr(value)
        return f"the {type(value).__name__} {text if len(text) <= 60 else f'{text[:57]}...'}"
    return describe_object(value)


def describe_container(value: Sized) -> str:
    """Describe a container by its type and length.

    >>> describe_container((1, 2))
    'a tuple of 2'
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name} of {len(value)}"


def describe_object(value: Any) -> str:
    """Describe a class or a function by its name, any other object by its type.

    >>> describe_object(dict), describe_object(max), describe_object(...)
    ('the class `dict`', 'the function `max`', 'an object of type `ellipsis`')
    """
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function `{function_name(value)}`"
    return object_of_type(type(value).__name__)


def object_of_type(name: str) -> str:
    """Describe an object by the name of its type.

    >>> object_of_type("Layer")
    'an object of type `Layer`'
    """
    return f"an object of type `{name}`"


def array_type(value: Any) -> str:
    """Return the dtype and shape as JAX prints them, for anything that has both: an array, a tracer, an aval.

    >>> array_type(np.zeros((2, 3), np.float32)), array_type(jax.ShapeDtypeStruct((), "int32"))
    ('float32[2,3]', 'int32[]')
    >>> mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    >>> array_type(jax.device_put(np.zeros((2, 3)), jax.NamedSharding(mesh, jax.P(None, "d"))))
    'float32[2,3@d]'
    """
    kind: Any = jax.typeof(value) if isinstance(value, jax.Array) else value
    # Only types have no axes but those of Explicit meshes.
    spec = getattr(getattr(kind, "sharding", None), "spec", ()) if not isinstance(kind, jax.ShapeDtypeStruct) else ()
    sizes: Sequence[object] = kind.shape
    if any(spec):
        axes = [f"@({','.join(axis)})" if isinstance(axis, tuple) else axis and f"@{axis}" for axis in spec]
        sizes = [f"{size}{axis or ''}" for size, axis in itertools.zip_longest(kind.shape, axes)]
    return dtype_and_shape(_dtype_name(kind.dtype), sizes)


_dtype_name = functools.cache(str)  # NumPy takes longer


def dtype_and_shape(dtype: object, shape: Sequence[object]) -> str:
    """Join a dtype, or the name of one, and a shape as JAX prints them.

    >>> dtype_and_shape("key<fry>", (2,))
    'key<fry>[2]'
    """
    return f"{dtype}[{','.join(map(str, shape))}]"
