"""Write values as Python that evaluates to them, or with dtype and shape if they are too long for that.

The Python evaluates with `import jax`, `import jax.numpy as jnp` and `import numpy as np`.
"""

import cmath
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from jaxguide.course.judging.values import (
    ArrayData,
    Data,
    FunctionName,
    InputFunction,
    KeyData,
    NodeData,
    Unsupported,
    describe_type,
)

LIMIT = 400
"""The default length of a written value, in characters."""

CUT = "…"
"""The character that stands for what was left out, which no complete literal of an array contains."""

_SHORT = 4  # elements of an array that is always written as a list of numbers
_WHOLE = 24  # elements of an array that is written as a list of numbers if it follows no rule
_SEARCHED = 2**20  # elements of an array that is searched for a rule, such as all zeros
_FORMATTED_LIMIT = 2_000  # elements
_LONGEST_INT_BITS = 14_000  # Python does not convert integers of more than 4300 digits to text
_LINE = 88
_PATH_LIMIT = 60
# Settings of NumPy that students may have changed, and that the text must not depend on.
_PRINTING: dict[str, Any] = {"formatter": None, "suppress": False, "sign": "-", "precision": 8, "legacy": False}


def show(data: Data, limit: int = LIMIT) -> str:
    """Write a value as Python that evaluates to it, in at most `limit` characters.

    An array that is too long is written as dtype, shape, and the elements at both ends.

    Args:
        data: the value.
        limit: the number of characters.

    >>> show((1, ArrayData(np.float32([0.5, 2]))))
    '(1, jnp.array([0.5, 2.], dtype=jnp.float32))'
    >>> show(ArrayData(np.float32(0.5))), show(ArrayData(np.float32(0.5), origin="numpy")), show(0.5)
    ('jnp.float32(0.5)', 'np.float32(0.5)', '0.5')
    >>> show(ArrayData(np.arange(100) % 7))
    'int64[100] [0, 1, 2, ..., 6, 0, 1]'
    """
    if isinstance(data, ArrayData):
        text = _array(data, limit)
    elif isinstance(data, KeyData):
        text = _key(data, limit)
    elif isinstance(data, tuple):
        text = "(" + _joined((in_line(child, limit) for child in data), limit) + ("," if len(data) == 1 else "") + ")"
    elif isinstance(data, list):
        text = "[" + _joined((in_line(child, limit) for child in data), limit) + "]"
    elif isinstance(data, dict):
        named = (f"{show(name, limit)}: {in_line(child, limit)}" for name, child in data.items())
        text = "{" + _joined(named, limit) + "}"
    elif isinstance(data, NodeData):
        named = (f"{name}={in_line(child, limit)}" for name, child in data.children.items())
        text = f"{data.type_name}({_joined(named, limit)})"
    elif isinstance(data, FunctionName | InputFunction):
        text = data.name
    elif isinstance(data, Unsupported):
        text = "..." if data.type_name == "ellipsis" else describe_type(data)
    elif isinstance(data, np.dtype):
        text = f'jnp.dtype("{data.name}")'
    elif isinstance(data, str):
        text = repr(data[: limit + 1])
    elif data is None or isinstance(data, bool | int | float | complex):
        text = _number(data)
    else:
        text = type(data).__name__
    return text if len(text) <= limit else text[: limit - 1] + CUT


def shortened(path: str) -> str:
    """Shorten the path of a part, whose names may be a student's."""
    return path if len(path) <= _PATH_LIMIT else path[: _PATH_LIMIT - 1] + CUT


def in_line(data: Data, limit: int = LIMIT) -> str:
    """Write a value on one line; the rows of an array would not line up in a call or a container."""
    text = show(data, limit)
    return _tidy(text) if isinstance(data, ArrayData | KeyData) else text


def _tidy(text: str) -> str:
    """Write an array on one line, without the spaces that line up its columns."""
    return re.sub(r"(?<=\[) | (?=[,\]])", "", " ".join(text.split()))


def _number(value: Any, library: str = "") -> str:
    """Write None, a bool or a number; with a library, NaN and infinity are the library's."""
    if isinstance(value, complex) and not cmath.isfinite(value):
        return f"complex({_number(value.real, library)}, {_number(value.imag, library)})"
    if isinstance(value, float) and not math.isfinite(value):
        if not library:
            return f'float("{value}")'
        return f"{'-' if value < 0 else ''}{library}.{'nan' if math.isnan(value) else 'inf'}"
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT_BITS:
        return f"an int of {value.bit_length()} bits"
    return repr(value)


def _array(data: ArrayData, limit: int) -> str:
    values, library = data.values, "np" if data.origin == "numpy" else "jnp"
    if not values.shape:
        return _scalar(values, library, data.weak_type)
    if not _is_of_numbers(values.dtype) and values.dtype.kind not in "SU":
        text = ""
    else:
        text = _rule(values, library) if values.size > _SHORT or not values.size else ""
        if not text and values.size <= _WHOLE:
            text = _literal(values, library)
    if text and len(text) <= limit:
        return text
    return f"{describe_type(data)} {_ends(values)}"


def _scalar(values: np.ndarray, library: str, weak_type: bool) -> str:
    if weak_type:  # a strong type would be another value to JAX
        return f"jnp.asarray({element(values, 'jnp')})"
    if values.dtype.kind == "U":
        return f"np.str_({values.item()!r})"
    if not _is_of_numbers(values.dtype):
        return f"{values.dtype.name}[]"
    name = _dtype(values.dtype, library)
    if not name.startswith(library):  # NumPy has no type of this name
        return f"np.array({element(values, library)}, dtype={name})"
    return f"{name}({element(values, library)})"


def element(value: Any, library: str) -> str:
    """Write an element of an array with as few digits as its dtype needs."""
    value = _as_usual(np.asarray(value))
    if value.dtype.kind in "fc" and np.isfinite(value):
        return str(value[()]).strip("()") if value.dtype.kind == "f" else str(value[()])
    return _number(value.item(), library)


def _is_of_numbers(dtype: np.dtype) -> bool:
    return dtype.kind in "biufc" or _is_registered(dtype)


def _is_registered(dtype: np.dtype) -> bool:
    """Return whether a dtype is one that NumPy itself lacks, such as bfloat16 or int4."""
    return dtype.isbuiltin == 2


def _dtype(dtype: np.dtype, library: str) -> str:
    """Return the name of a dtype in a library; NumPy does not have all of them."""
    name = "bool_" if dtype.name == "bool" else dtype.name
    return f"jnp.{name}" if _is_registered(dtype) else f"{library}.{name}"


def _as_usual(values: np.ndarray) -> np.ndarray:
    """Return numbers of a type that NumPy lacks as float32 or int32."""
    if not _is_registered(values.dtype):
        return values
    return values.astype(np.int32 if values.dtype.name.startswith(("int", "uint")) else np.float32)


def _literal(values: np.ndarray, library: str) -> str:
    """Write an array with all its elements."""
    opening = f"{library}.array("
    dtype = "" if values.dtype.kind in "bSU" else f", dtype={_dtype(values.dtype, library)}"
    return f"{opening}{_elements(values, library, opening)}{dtype})"


def _elements(values: np.ndarray, library: str, opening: str) -> str:
    values = _as_usual(values)
    if values.dtype.kind == "c" and not np.isfinite(values).all():
        rows = [_elements(row, library, opening) if row.shape else element(row, library) for row in values]
        return f"[{', '.join(rows)}]"
    with np.printoptions(**_PRINTING, nanstr=f"{library}.nan", infstr=f"{library}.inf"):
        text = np.array2string(
            values,
            separator=", ",
            floatmode="unique",
            threshold=values.size + 1,
            max_line_width=_LINE,
            prefix=opening,
        )
    return _tidy(text) if values.ndim == 1 and _is_of_numbers(values.dtype) else text


def _rule(values: np.ndarray, library: str) -> str:
    """Write an empty array, or one that follows a simple rule; '' if there is none."""
    if not _is_of_numbers(values.dtype) or values.size > _SEARCHED:
        return ""
    shape, dtype = tuple(map(int, values.shape)), f"dtype={_dtype(values.dtype, library)}"
    if not values.size:
        return f"{library}.zeros({shape}, {dtype})"
    usual = _as_usual(values)
    first = usual.flat[0]
    if (usual == first).all() and (first != 0 or usual.dtype.kind != "f" or not np.signbit(usual).any()):
        name = {0: "zeros", 1: "ones"}.get(first.item())
        if name is not None:
            return f"{library}.{name}({shape}, {dtype})"
        return f"{library}.full({shape}, {element(first, library)}, {dtype})"
    if usual.dtype.kind in "iuf" and not np.signbit(first) and np.array_equal(usual.ravel(), np.arange(usual.size)):
        return f"{library}.arange({usual.size}, {dtype})" + (f".reshape{shape}" if usual.ndim > 1 else "")
    return ""


def _ends(values: np.ndarray) -> str:
    """Write the elements at both ends of each axis, on one line."""
    if math.prod(min(axis, 7) for axis in values.shape) > _FORMATTED_LIMIT:
        values = values.reshape(-1)  # short axes are never shortened, and there may be dozens of them
    with np.printoptions(**_PRINTING):
        edge = 3 if values.ndim == 1 else 1
        return _tidy(np.array2string(values, separator=", ", threshold=2 * edge, edgeitems=edge))


def _key(data: KeyData, limit: int) -> str:
    bits = ArrayData(data.bits)
    words = data.bits.tolist() if data.bits.size <= _WHOLE else []
    if data.impl == "threefry2x32" and not data.shape and words[0] == 0 and words[1] < 2**31:
        return f"jax.random.key({words[1]})"  # of a seed, threefry takes 64 bits
    impl = "" if data.impl == "threefry2x32" else f", impl={data.impl!r}"
    if words and len(text := f"jax.random.wrap_key_data({show(bits, limit)}{impl})") <= limit:
        return text
    return f"{describe_type(data)} with the bits {_ends(data.bits)}"


def _joined(texts: Iterable[str], limit: int) -> str:
    """Join texts with commas, as far as `limit` characters can show them."""
    kept, length = [], 0
    for text in texts:
        kept.append(text)
        length += len(text) + 2
        if length > limit:
            break
    return ", ".join(kept)
