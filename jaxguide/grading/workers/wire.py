"""Encode data exchanged by the grader and a worker as bytes: declared sizes, allow-listed types, no pickle, no eval.

A message is a frame: 4 bytes `JGW1`, the header's length (uint32), the payload's length (uint64), the header (JSON in
which everything but None, bool and str is a tagged list) and the payload (the bytes of all arrays, one after the other,
little-endian, in C order). Anything else raises `WireError`.

Code goes in one direction only: workers take requests, and in these functions by their source; the grader takes none.
"""

import dataclasses
import functools
import json
import math
import struct
from collections import Counter
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from jaxguide.base.plain import fits
from jaxguide.course.judging.evaluate import Request, Step
from jaxguide.course.judging.values import (
    ArrayData,
    Data,
    FunctionName,
    InputFunction,
    KeyData,
    NodeData,
    Unsupported,
)

PREFIX = struct.Struct("<4sIQ")
MAGIC = b"JGW1"
HEADER_LIMIT_BYTES = 8 * 2**20
PAYLOAD_LIMIT_BYTES = 32 * 2**20
DEPTH_LIMIT = 100
LEAF_LIMIT = 200_000
INT_LIMIT_BITS = 14_000  # Python does not convert integers of more than 4300 digits to text
_NAME_LIMIT = 200
_AXES_LIMIT = 32
_EMPTY_LIMIT = 2**28  # on the product of the nonzero axes of an empty array
_SAME_HASH_LIMIT = 16

# What is sent as a tag and its fields. The last three go to workers only.
_KINDS = {"n": NodeData, "F": FunctionName, "u": Unsupported, "S": Step, "P": InputFunction, "R": Request}
_TO_WORKERS = ("S", "P", "R")
_TAGS = {kind: tag for tag, kind in _KINDS.items()}

_NUMPY_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
_EXTRA_NAMES = (
    *("bfloat16", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
DTYPES: dict[str, np.dtype] = {name: np.dtype(name) for name in _NUMPY_NAMES}
DTYPES.update({n: np.dtype(getattr(ml_dtypes, n)) for n in _EXTRA_NAMES if hasattr(ml_dtypes, n)})

KEY_WORDS = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}
"""The supported key implementations, each with the length of one key in words of 32 bits."""


class WireError(Exception):
    """The bytes are not a valid message, or the data exceeds the limits."""


def encode(data: Data) -> bytes:
    """Encode data as one frame.

    Arrays, keys and integers that are not supported become `Unsupported`.

    >>> decode(encode({"value": (1, float("inf"))}))
    {'value': (1, inf)}

    Raises:
        WireError: a value is not of the type `Data`, or the data is too large for a frame.
    """
    writer = _Writer()
    tree = writer.write(data, 0)
    header = json.dumps(tree, ensure_ascii=True, separators=(",", ":"), check_circular=False).encode("ascii")
    if len(header) > HEADER_LIMIT_BYTES:
        raise WireError(f"the values need {len(header)} bytes of header, but the limit is {HEADER_LIMIT_BYTES} bytes")
    return b"".join([PREFIX.pack(MAGIC, len(header), writer.size_bytes), header, *writer.payload])


def frame_size(prefix: bytes) -> int:
    """Return how many bytes follow a frame's first `PREFIX.size` bytes.

    Raises:
        WireError: the bytes do not begin a frame, or the announced size exceeds the limits.
    """
    if len(prefix) != PREFIX.size:
        raise WireError("the beginning of a frame was cut off")
    magic, header_bytes, payload_bytes = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise WireError("these bytes do not begin a frame")
    if header_bytes > HEADER_LIMIT_BYTES or payload_bytes > PAYLOAD_LIMIT_BYTES:
        raise WireError(f"a frame announces {header_bytes} + {payload_bytes} bytes, more than the limit")
    size: int = header_bytes + payload_bytes
    return size


def decode(frame: bytes, takes_requests: bool = False) -> Data:
    """Decode the data of one complete frame.

    Args:
        frame: the frame.
        takes_requests: whether it may contain requests, and these functions by their source. Only workers take them.

    Raises:
        WireError: the frame is not valid.
    """
    following = frame_size(frame[: PREFIX.size])
    if len(frame) != PREFIX.size + following:
        raise WireError(f"a frame has {len(frame)} bytes but announces {PREFIX.size + following}")
    header_bytes = PREFIX.unpack(frame[: PREFIX.size])[1]
    start = PREFIX.size + header_bytes
    try:
        tree = json.loads(frame[PREFIX.size : start].decode("ascii"), parse_constant=_refuse, parse_int=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame's header is not valid JSON: {type(error).__name__}") from None
    reader = _Reader(memoryview(frame)[start:], takes_requests)
    try:
        data = reader.read(tree)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise WireError(f"a message contains something that is not valid: {type(error).__name__}") from None
    if reader.rest:
        raise WireError(f"{len(reader.rest)} bytes of the payload do not belong to any array")
    return data


def _refuse(text: str) -> Any:
    raise WireError("a frame's header contains an untagged number")


class _Writer:
    def __init__(self) -> None:
        self.payload: list[bytes] = []
        self.size_bytes = 0
        self.leaves = 0

    def write(self, data: Data, depth: int) -> Any:
        self.leaves += 1
        if depth > DEPTH_LIMIT or self.leaves > LEAF_LIMIT:
            raise WireError(f"the data exceeds {DEPTH_LIMIT} levels of nesting or {LEAF_LIMIT} values")
        kind = type(data)
        if data is None or kind in (bool, str):
            return data
        if kind is int and data.bit_length() > INT_LIMIT_BITS:
            return self.write(Unsupported("int", "of thousands of digits"), depth)
        if kind is int:
            return ["i", hex(data)]
        if kind is float:
            return ["f", data.hex()]
        if kind is complex:
            return ["c", data.real.hex(), data.imag.hex()]
        if kind in (tuple, list):
            return ["t" if kind is tuple else "l", *(self.write(child, depth + 1) for child in data)]
        if kind is dict:
            _require_different_hashes(data)
            pairs = ([self.write(name, depth + 1), self.write(child, depth + 1)] for name, child in data.items())
            return ["d", *pairs]
        if isinstance(data, np.dtype):
            return ["D", data.name] if data.name in DTYPES else self.write(Unsupported(f"dtype {data.name}"), depth)
        if kind in _TAGS:
            fields = [getattr(data, field.name) for field in dataclasses.fields(kind)]
            return [_TAGS[kind], *(self.write(value, depth + 1) for value in fields)]
        if isinstance(data, ArrayData):
            if data.dtype.name not in DTYPES:
                return self.write(Unsupported(f"array of dtype {data.dtype.name[:40]}"), depth)
            return ["a", *self._array(data.values), data.weak_type, data.origin]
        if isinstance(data, KeyData):
            if not _is_key(data.bits, data.impl):
                return self.write(Unsupported("key", f"of the implementation {data.impl[:40]}"), depth)
            return ["k", *self._array(data.bits), data.impl]
        raise WireError(f"values of type {type(data).__name__} are not supported")

    def _array(self, values: np.ndarray) -> tuple[str, list[str]]:
        dtype = DTYPES[values.dtype.name]
        if _extent(values.shape) > _EMPTY_LIMIT:
            raise WireError("an empty array has too long axes")
        self.size_bytes += values.size * dtype.itemsize
        if self.size_bytes > PAYLOAD_LIMIT_BYTES:
            raise WireError(f"the arrays need more than {PAYLOAD_LIMIT_BYTES // 2**20} MB")
        self.payload.append(values.astype(dtype, copy=False).tobytes())
        return dtype.name, [hex(axis) for axis in values.shape]


def _extent(axes: Iterable[int]) -> int:
    """Return how many elements an array has, leaving out axes of length 0: what reducing one of them may compute."""
    return math.prod(max(1, axis) for axis in axes)


def _is_key(bits: np.ndarray, impl: str) -> bool:
    return bits.dtype == np.uint32 and bits.ndim > 0 and KEY_WORDS.get(impl) == bits.shape[-1]


class _Reader:
    def __init__(self, payload: memoryview, takes_requests: bool):
        self.rest = payload
        self.leaves = 0
        self._takes_requests = takes_requests

    def read(self, tree: Any, depth: int = 0) -> Data:
        """Return a part of a message. What is not valid raises `WireError`, or an error that `decode` catches."""
        self.leaves += 1
        if depth > DEPTH_LIMIT or self.leaves > LEAF_LIMIT:
            raise WireError("a message is nested too deeply or contains too many values")
        below = functools.partial(self.read, depth=depth + 1)
        match tree:
            case None | True | False:
                return tree
            case str():
                # Python allows a lone surrogate in a str, but cannot print it or write it to a file.
                return tree.encode("utf-8", "replace").decode("utf-8")
            case ["i", str(digits)]:
                return _integer(digits)
            case ["f", str(digits)]:
                return float.fromhex(digits)
            case ["c", str(real), str(imaginary)]:
                return complex(float.fromhex(real), float.fromhex(imaginary))
            case ["t", *parts]:
                return tuple(map(below, parts))
            case ["l", *parts]:
                return list(map(below, parts))
            case ["d", *pairs]:
                return _mapping([(below(key), below(value)) for key, value in pairs])
            case ["D", str(name)]:
                return DTYPES[name]
            case ["a", str(name), list(shape), bool(weak), "jax" | "numpy" as origin]:
                return ArrayData(self._array(DTYPES[name], shape), weak, origin)
            case ["k", "uint32", list(shape), str(impl)]:
                bits = self._array(DTYPES["uint32"], shape)
                if _is_key(bits, impl):
                    return KeyData(bits, impl)
            case [str(tag), *parts] if tag in _KINDS and (self._takes_requests or tag not in _TO_WORKERS):
                read = _KINDS[tag](*map(below, parts))
                if fits(read, _KINDS[tag]) and (tag in _TO_WORKERS or _has_short_names(read)):
                    return read
        raise WireError("a message contains something that is not valid or does not belong there")

    def _array(self, dtype: np.dtype, shape: list[Any]) -> np.ndarray:
        axes = [_integer(axis) for axis in shape]
        if len(axes) > _AXES_LIMIT or any(axis < 0 or axis >= 2**48 for axis in axes) or _extent(axes) > _EMPTY_LIMIT:
            raise WireError("an array's shape is impossible")
        size_bytes = math.prod(axes) * dtype.itemsize
        if size_bytes > len(self.rest):
            raise WireError("an array is larger than the payload")
        taken, self.rest = self.rest[:size_bytes], self.rest[size_bytes:]
        if dtype.kind == "b" and size_bytes and (np.frombuffer(taken, np.uint8) > 1).any():
            raise WireError("an array of bool contains other values")
        return np.frombuffer(taken, dtype).reshape(axes).copy()


def _mapping(pairs: list[tuple[Data, Data]]) -> dict[Any, Data]:
    keys = [key for key, _value in pairs]
    if not all(key is None or type(key) in (bool, int, float, complex, str) for key in keys):
        raise WireError("a dict key is not None, a bool, a number or a str")
    _require_different_hashes(keys)
    result: dict[Any, Data] = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("a dict has the same key twice")
    return result


def _require_different_hashes(keys: Iterable[Any]) -> None:
    """Raise WireError if many keys have the same hash, since making a dict of n of them takes n**2 comparisons."""
    if max(Counter(map(hash, keys)).values(), default=0) > _SAME_HASH_LIMIT:
        raise WireError(f"more than {_SAME_HASH_LIMIT} keys of a dict have the same hash")


def _has_short_names(data: Data) -> bool:
    """Return whether the names in data, which messages show, are short."""
    names = [data.type_name, *data.children] if isinstance(data, NodeData) else vars(data).values()
    return all(len(name) <= _NAME_LIMIT for name in names)


def _integer(value: str) -> int:
    if len(value) > INT_LIMIT_BITS // 4 + 4:
        raise WireError("an integer is too long")
    return int(value, 16)
