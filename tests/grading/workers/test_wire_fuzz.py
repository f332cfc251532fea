"""Test that reading a damaged frame gives data that can be written again, or raises `WireError`."""

import contextlib
import copy
import json
import random
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from mutations import with_other_bytes

from jaxguide.course.judging.evaluate import Request, Step
from jaxguide.course.judging.values import ArrayData, FunctionName, NodeData, Unsupported, to_data
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.wire import WireError, decode, encode

QUICK, ALL = 2_000, 100_000
_WORDS = [
    *("i", "f", "c", "t", "l", "d", "D", "a", "k", "n", "F", "u", "S", "R", "", "Z", "\ud800", "x" * 300),
    *("0x0", "-0x1", "0xffffffffffff", "0x" + "f" * 4000, "0x1p+0", "0x1p99999", "nan", "-inf", "1e5", "0x_1"),
    *("float32", "bool", "object", "int4", "bfloat16", "float8_e4m3fn", "jax", "numpy", "threefry2x32", "rbg"),
    *(None, True, False, 3, -1.5, 10**30, [], {}, {"a": []}, [[]]),
]


@pytest.fixture(scope="module")
def samples() -> list[bytes]:
    """Return frames with every kind of data that may cross the wire."""
    key = to_data(jax.random.key(1))
    arrays = [ArrayData(np.ones((2, 3), dtype), weak_type=False) for dtype in wire.DTYPES.values()]
    request = Request((Step("grad", (("argnums", (0, 1)),)), Step("jit")), "value", (((1, key), {"x": 2.5}),))
    values: list[Any] = [
        {"id": 3, "value": (1, 2.5, 1j, [None, True, "text"], {1: "a", "b": 2, None: 3.0})},
        {"id": 4, "op": "ask", "request": request},
        {"value": key, "node": NodeData("Point", {"x": arrays[0], "y": None}, ("static", 3))},
        {"values": arrays},
        [np.dtype(ml_dtypes.bfloat16), FunctionName("loss"), Unsupported("set", "of 3"), -(10**40), float("nan")],
    ]
    return [encode(value) for value in values]


def check(frame: bytes) -> bool:
    """Read a frame and write its data again; return whether it could be read."""
    try:
        data = decode(frame)
    except WireError:
        return False
    with contextlib.suppress(WireError):
        encode(data)
    return True


def parts_of(frame: bytes) -> tuple[bytes, bytes]:
    start = wire.PREFIX.size
    size = wire.PREFIX.unpack(frame[:start])[1]
    return frame[start : start + size], frame[start + size :]


def framed(header: bytes, payload: bytes) -> bytes:
    return wire.PREFIX.pack(wire.MAGIC, len(header), len(payload)) + header + payload


def with_other_text(frame: bytes, chance: random.Random) -> bytes:
    """Change bytes of the header and correct its announced size, so that reading does not stop at the size."""
    header, payload = parts_of(frame)
    header = with_other_bytes(header, chance)
    return framed(header, payload if chance.random() < 0.9 else payload[: chance.randrange(len(payload) + 1)])


def with_other_parts(frame: bytes, chance: random.Random) -> bytes:
    """Replace, drop, duplicate or swap parts of the header's tree, which stays valid JSON."""
    header, payload = parts_of(frame)
    tree = json.loads(header)
    for _change in range(chance.randint(1, 3)):
        lists = [tree, *_lists_in(tree)]
        inside = chance.choice(lists)
        if not inside:
            inside.append(chance.choice(_WORDS))
            continue
        place, action = chance.randrange(len(inside)), chance.randrange(5)
        if action == 0:
            inside[place] = copy.deepcopy(chance.choice(_WORDS))
        elif action == 1:
            del inside[place]
        elif action == 2:
            inside.insert(place, copy.deepcopy(inside[place]))
        elif action == 3:
            inside[place] = copy.deepcopy(chance.choice(lists))
        else:
            chance.shuffle(inside)
    return framed(json.dumps(tree, ensure_ascii=True).encode("ascii"), payload)


def _lists_in(tree: list[Any]) -> list[list[Any]]:
    found = [child for child in tree if isinstance(child, list)]
    return found + [below for child in found for below in _lists_in(child)]


WAYS = (with_other_bytes, with_other_text, with_other_parts)


@pytest.mark.parametrize("count", [QUICK, pytest.param(ALL, marks=pytest.mark.long)])
def test_changed_frames_are_data_or_wire_errors(samples: list[bytes], count: int) -> None:
    chance = random.Random(count)
    read = [0] * len(WAYS)
    for number in range(count):
        way = number % len(WAYS)
        read[way] += check(WAYS[way](chance.choice(samples), chance))
    # Some damaged frames of each sort can still be read, so the changes reach all of the reader.
    assert min(read) > count / 1000, read
    assert max(read) < count / len(WAYS), read


def test_what_hypothesis_makes_of_frames(samples: list[bytes]) -> None:
    import wire_properties

    wire_properties.any_bytes_after_a_beginning_are_a_wire_error()
    wire_properties.any_change_gives_data_or_a_wire_error(samples)
