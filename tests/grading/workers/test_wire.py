"""Test that data survives the wire, and that bytes that are not a message raise only `WireError`."""

import contextlib
import dataclasses
import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from needs import first_of

from jaxguide.course.judging.evaluate import Request, Step
from jaxguide.course.judging.values import ArrayData, FunctionName, KeyData, Unsupported, to_data
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.wire import WireError, decode, encode


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same, a, b)) and all(map(same, a.values(), b.values()))
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return a == b


@pytest.mark.parametrize("dtype", list(wire.DTYPES.values()), ids=str)
def test_arrays_of_every_allowed_dtype_come_back(dtype: np.dtype) -> None:
    for shape in ((), (0,), (2, 3), (1, 0, 4)):
        values = np.ones(shape).astype(dtype)
        assert same(decode(encode(ArrayData(values))), ArrayData(values))


def test_python_and_array_scalars_stay_distinct() -> None:
    values = to_data((1.0, np.float64(1.0), jnp.float32(1.0), True, np.bool_(True)))
    back = decode(encode(values))
    assert [type(v) for v in back] == [float, ArrayData, ArrayData, bool, ArrayData]
    assert [v.origin for v in back[1:3]] == ["numpy", "jax"]


def test_keys_cross_as_bits_and_implementation() -> None:
    for impl in wire.KEY_WORDS:
        keys = to_data(jax.random.split(jax.random.key(3, impl=impl), 2))
        back = decode(encode(keys))
        assert isinstance(back, KeyData)
        assert same(back, keys)


def test_requests_cross() -> None:
    steps = (Step("jit"), Step("vmap", (("in_axes", (0, None)), ("out_axes", 0))))
    request = Request(steps, "value", (((to_data(jnp.ones(3)), FunctionName("loss")), {"n": 3}),), explains=True)
    sent = encode({"id": 1, "request": request})
    assert same(decode(sent, takes_requests=True)["request"], request)
    for stray in (sent, encode({"value": steps[0]})):  # as a worker may not reply
        with pytest.raises(wire.WireError, match="does not belong"):
            decode(stray)


def test_what_may_not_cross_becomes_unsupported() -> None:
    dates = ArrayData(np.array(["2026-01-01"], "datetime64[D]"))
    words = ArrayData(np.array(["a"]))
    own_key = KeyData(np.zeros(7, np.uint32), "my_own")
    back = decode(encode([dates, words, own_key, 10**5000, np.dtype("datetime64[s]")]))
    assert all(isinstance(value, Unsupported) for value in back)


def test_lone_surrogates_do_not_come_through() -> None:
    assert decode(encode("a\ud800b")).encode() == b"a?b"


def test_too_much_is_refused_before_it_is_sent() -> None:
    deep: Any = 1
    for _level in range(200):
        deep = [deep]
    for value in (
        deep,
        [0] * (wire.LEAF_LIMIT + 1),
        object(),
        ArrayData(np.zeros(wire.PAYLOAD_LIMIT_BYTES + 1, np.int8)),
        {number * ONE_HASH: None for number in range(100)},
    ):
        with pytest.raises(WireError):
            encode(value)


# Multiples of this have one hash in CPython.
ONE_HASH = 2**61 - 1


def only_wire_errors(frame: bytes) -> None:
    with contextlib.suppress(WireError):
        decode(frame)


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000,
        b'["a","float32",["0x1000000000000"],false,"jax"]',
        b'["a","float32",["-0x1"],false,"jax"]',
        b'["a","object",["0x1"],false,"jax"]',
        b'["k","uint32",["0x3"],"threefry2x32"]',
        b'["i","' + b"9" * 10_000 + b'"]',
        b"1" * 5000,
        b"NaN",
        b'["d",["a",true],["a",true]]',
        b'["d",[["l"],true]]',
        # Making this dict would take minutes.
        json.dumps(["d", *([["i", hex(number * ONE_HASH)], None] for number in range(90_000))]).encode(),
        b'["R",["t"],"value",["t"]]',
        b'["f","0x1p99999999999"]',
        b'"\\ud800',
        b"\xff",
        b"",
    ],
)
def test_hand_made_headers_are_refused(header: bytes) -> None:
    with pytest.raises(WireError):
        decode(wire.PREFIX.pack(wire.MAGIC, len(header), 0) + header)


def test_announced_sizes_are_capped_before_reading() -> None:
    with pytest.raises(WireError, match="limit"):
        wire.frame_size(wire.PREFIX.pack(wire.MAGIC, 10, 2**40))


@pytest.mark.parametrize("name", first_of(["data_comes_back_as_it_was", "invented_headers_give_wire_errors_only"], 1))
def test_what_hypothesis_invents(name: str) -> None:
    import wire_properties

    getattr(wire_properties, name)()
