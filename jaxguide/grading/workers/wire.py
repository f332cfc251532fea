"""Encode data exchanged by the grader and a worker as bytes: declared sizes, allow-listed types, no pickle, no eval.

A message is a frame: 4 bytes `JGW1`, the header's length (uint32), the payload's length (uint64), the header (JSON in
which everything but None, bool and str is a tagged list) and the payload (the bytes of all arrays, one after the other,
little-endian, in C order). Anything else raises `WireError`.

Code goes in one direction and place only: a worker takes functions by their source as arguments of a request.
"""

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np

from jaxguide.course.judging.evaluate import Request, Step
from jaxguide.course.judging.values import (
    SOURCE_LIMIT,
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

_HEX_INT = re.compile(r"-?0x[0-9a-f]+")


class WireError(Exception):
    """The bytes are not a valid message, or the data exceeds the limits."""


class CutOff(WireError):
    """The connection ended in the middle of a message."""


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
        raise CutOff("the beginning of a frame was cut off")
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
    data = reader.read(tree, 0)
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
        return self._write_object(data, depth)

    def _write_object(self, data: Data, depth: int) -> Any:
        if isinstance(data, ArrayData):
            if data.dtype.name not in DTYPES:
                return self.write(Unsupported(f"array of dtype {data.dtype.name[:40]}"), depth)
            return ["a", *self._array(data.values), data.weak_type, data.origin]
        if isinstance(data, KeyData):
            if not _is_key(data.bits, data.impl):
                return self.write(Unsupported("key", f"of the implementation {data.impl[:40]}"), depth)
            return ["k", *self._array(data.bits), data.impl]
        if isinstance(data, NodeData):
            children = [[name[:_NAME_LIMIT], self.write(child, depth + 1)] for name, child in data.children.items()]
            return ["n", data.type_name[:_NAME_LIMIT], children, self.write(data.static, depth + 1)]
        if isinstance(data, FunctionName):
            return ["F", data.name]
        if isinstance(data, InputFunction):
            return ["P", data.name, data.source]
        if isinstance(data, Unsupported):
            return ["u", data.type_name[:_NAME_LIMIT], data.note[:_NAME_LIMIT]]
        if isinstance(data, Step):
            return ["S", data.name, *([name, self.write(value, depth + 1)] for name, value in data.options)]
        if isinstance(data, Request):
            steps = self.write(data.steps, depth + 1)
            return ["R", steps, data.question, self.write(data.calls, depth + 1), data.explains]
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
        self._takes_requests, self._is_in_request = takes_requests, False

    def read(self, tree: Any, depth: int) -> Data:
        self.leaves += 1
        if depth > DEPTH_LIMIT or self.leaves > LEAF_LIMIT:
            raise WireError("a message is nested too deeply or contains too many values")
        if tree is None or tree is True or tree is False:
            return tree
        if isinstance(tree, str):
            return _text(tree, None)
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str) or tree[0] not in _READERS:
            raise WireError("a message contains a value without a known tag")
        tag, *parts = tree
        least, most, reader = _READERS[tag]
        if not least <= len(parts) <= most:
            raise WireError(f"a value with the tag `{tag}` has {len(parts)} parts")
        return reader(self, parts, depth + 1)

    def sequence(self, parts: list[Any], depth: int) -> list[Data]:
        return [self.read(part, depth) for part in parts]

    def mapping(self, parts: list[Any], depth: int) -> dict[Any, Data]:
        keys, values = [], []
        for name, value in _pairs(parts):
            key = self.read(name, depth)
            if not (key is None or type(key) in (bool, int, float, complex, str)):
                raise WireError("a dict key is not None, a bool, a number or a str")
            keys.append(key)
            values.append(self.read(value, depth))
        _require_different_hashes(keys)
        result: dict[Any, Data] = dict(zip(keys, values, strict=True))
        if len(result) != len(parts):
            raise WireError("a dict has the same key twice")
        return result

    def array(self, name: Any, shape: Any) -> np.ndarray:
        dtype = DTYPES.get(name) if isinstance(name, str) else None
        if dtype is None:
            raise WireError("the dtype of an array is not supported")
        if not isinstance(shape, list) or len(shape) > _AXES_LIMIT:
            raise WireError("an array's shape is not a short list")
        axes = [_integer(axis) for axis in shape]
        if any(axis < 0 or axis >= 2**48 for axis in axes):
            raise WireError("an array has an axis of impossible length")
        if _extent(axes) > _EMPTY_LIMIT:
            raise WireError("an array has too long axes")
        size_bytes = math.prod(axes) * dtype.itemsize
        if size_bytes > len(self.rest):
            raise WireError("an array is larger than the payload")
        taken, self.rest = self.rest[:size_bytes], self.rest[size_bytes:]
        if dtype.kind == "b" and size_bytes and (np.frombuffer(taken, np.uint8) > 1).any():
            raise WireError("an array of bool contains other values")
        try:
            return np.frombuffer(taken, dtype).reshape(axes).copy()
        except ValueError:
            raise WireError("an array's shape is impossible") from None

    def array_data(self, parts: list[Any], depth: int) -> ArrayData:
        name, shape, weak, origin = parts
        if not isinstance(weak, bool) or origin not in ("jax", "numpy"):
            raise WireError("an array's description is not valid")
        return ArrayData(self.array(name, shape), weak, origin)

    def key_data(self, parts: list[Any], depth: int) -> KeyData:
        name, shape, impl = parts
        bits = self.array(name, shape)
        if not isinstance(impl, str) or not _is_key(bits, impl):
            raise WireError("a key's bits do not match its implementation")
        return KeyData(bits, impl)

    def node(self, parts: list[Any], depth: int) -> NodeData:
        name, children, static = parts
        if not isinstance(children, list):
            raise WireError("a node's children are not a list")
        named = {_text(child): self.read(value, depth) for child, value in _pairs(children)}
        if len(named) != len(children):
            raise WireError("a node has two children with the same name")
        return NodeData(_text(name), named, self.read(static, depth))

    def step(self, parts: list[Any], depth: int) -> Step:
        if not self._is_in_request:
            raise WireError("a message contains a step where none belongs")
        name, *options = parts
        return Step(_text(name), tuple((_text(key), self.read(value, depth)) for key, value in _pairs(options)))

    def function_source(self, parts: list[Any], depth: int) -> InputFunction:
        if not self._is_in_request:
            raise WireError("a message contains code where none belongs")
        return InputFunction(_text(parts[0]), _text(parts[1], SOURCE_LIMIT))

    def request(self, parts: list[Any], depth: int) -> Request:
        if not self._takes_requests:
            raise WireError("a message contains a request where none belongs")
        self._is_in_request = True
        steps, question, calls = self.read(parts[0], depth), _text(parts[1]), self.read(parts[2], depth)
        self._is_in_request = False
        if type(steps) is not tuple or not all(type(step) is Step for step in steps):
            raise WireError("a request's steps are not valid")
        good = type(calls) is tuple and calls and all(_is_call(call) for call in calls)
        if not good:
            raise WireError("a request's calls are not valid")
        if type(parts[3]) is not bool:
            raise WireError("a request does not say whether it explains")
        return Request(steps, question, calls, parts[3])


def _require_different_hashes(keys: Iterable[Any]) -> None:
    """Raise WireError if many keys have the same hash, since making a dict of n of them takes n**2 comparisons."""
    if max(Counter(map(hash, keys)).values(), default=0) > _SAME_HASH_LIMIT:
        raise WireError(f"more than {_SAME_HASH_LIMIT} keys of a dict have the same hash")


def _is_call(call: Any) -> bool:
    return type(call) is tuple and len(call) == 2 and type(call[0]) is tuple and type(call[1]) is dict


def _pairs(parts: list[Any]) -> list[list[Any]]:
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in parts):
        raise WireError("a list of pairs contains something else")
    return parts


def _text(value: Any, limit: int | None = _NAME_LIMIT) -> str:
    if not isinstance(value, str) or (limit is not None and len(value) > limit):
        raise WireError("a name is not a short string")
    # Python allows a lone surrogate in a str, but cannot print it or write it to a file.
    return value.encode("utf-8", "replace").decode("utf-8")


def _integer(value: Any) -> int:
    if not isinstance(value, str) or len(value) > INT_LIMIT_BITS // 4 + 4 or not _HEX_INT.fullmatch(value):
        raise WireError("an integer is not in hexadecimal format")
    return int(value, 16)


def _float(value: Any) -> float:
    try:
        return float.fromhex(value)
    except (TypeError, ValueError, OverflowError):
        raise WireError("a float is not in hexadecimal format") from None


def _dtype(parts: list[Any]) -> np.dtype:
    if not isinstance(parts[0], str) or parts[0] not in DTYPES:
        raise WireError("a dtype is not supported")
    return DTYPES[parts[0]]


# Tag -> minimum and maximum number of parts, and the function that reads them.
_MANY = LEAF_LIMIT
_READERS: dict[str, tuple[int, int, Callable[[_Reader, list[Any], int], Data]]] = {
    "i": (1, 1, lambda reader, parts, depth: _integer(parts[0])),
    "f": (1, 1, lambda reader, parts, depth: _float(parts[0])),
    "c": (2, 2, lambda reader, parts, depth: complex(_float(parts[0]), _float(parts[1]))),
    "t": (0, _MANY, lambda reader, parts, depth: tuple(reader.sequence(parts, depth))),
    "l": (0, _MANY, _Reader.sequence),
    "d": (0, _MANY, _Reader.mapping),
    "D": (1, 1, lambda reader, parts, depth: _dtype(parts)),
    "a": (4, 4, _Reader.array_data),
    "k": (3, 3, _Reader.key_data),
    "n": (3, 3, _Reader.node),
    "F": (1, 1, lambda reader, parts, depth: FunctionName(_text(parts[0]))),
    "P": (2, 2, _Reader.function_source),
    "u": (2, 2, lambda reader, parts, depth: Unsupported(_text(parts[0]), _text(parts[1]))),
    "S": (1, _MANY, _Reader.step),
    "R": (4, 4, _Reader.request),
}
