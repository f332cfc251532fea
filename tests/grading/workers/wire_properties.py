"""Test the wire with Hypothesis; `test_wire.py` runs this module, so that no other test waits for Hypothesis."""

import json
import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_wire import only_wire_errors, same
from test_wire_fuzz import check

from jaxguide.course.judging.values import ArrayData, FunctionName, NodeData, Unsupported
from jaxguide.grading.workers import wire
from jaxguide.grading.workers.wire import decode, encode

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**40), 10**40),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    st.sampled_from(list(wire.DTYPES.values())),
    st.builds(FunctionName, st.text("abc_", max_size=9)),
    st.builds(Unsupported, st.text("abc", max_size=9), st.text("abc", max_size=9)),
)
plain_keys = st.one_of(st.text("abc", max_size=4), st.integers(), st.booleans(), st.none())


@st.composite
def arrays(draw: st.DrawFn) -> ArrayData:
    dtype = draw(st.sampled_from(list(wire.DTYPES.values())))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    numbers = draw(st.lists(st.integers(0, 1), min_size=math.prod(shape), max_size=math.prod(shape)))
    values = np.array(numbers).reshape(shape).astype(dtype)
    return ArrayData(values, draw(st.booleans()), draw(st.sampled_from(["jax", "numpy"])))


data = st.recursive(
    st.one_of(scalars, arrays()),
    lambda child: st.one_of(
        st.lists(child, max_size=4),
        st.lists(child, max_size=4).map(tuple),
        st.dictionaries(plain_keys, child, max_size=4),
        st.builds(NodeData, st.text("ABC", max_size=5), st.dictionaries(st.text("xyz", max_size=3), child, max_size=3)),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(data)
def data_comes_back_as_it_was(value: Any) -> None:
    assert same(decode(encode(value)), value)


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6),
                              st.sampled_from([*"ifctldDaknFuSR", "0x2", "float32", "bool", "jax", "threefry2x32"])),
                    lambda child: st.lists(child, max_size=5), max_leaves=15), st.binary(max_size=40))  # fmt: skip
def invented_headers_give_wire_errors_only(tree: Any, payload: bytes) -> None:
    header = json.dumps(tree).encode()
    only_wire_errors(wire.PREFIX.pack(wire.MAGIC, len(header), len(payload)) + header + payload)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def any_bytes_after_a_beginning_are_a_wire_error(rest: bytes, header_bytes: int, payload_bytes: int) -> None:
    frame = wire.PREFIX.pack(wire.MAGIC, header_bytes, payload_bytes) + rest
    # A frame can be read only if its announced sizes are right.
    assert not check(frame) or len(rest) == header_bytes + payload_bytes


@settings(max_examples=300, deadline=None)
@given(st.data())
def any_change_gives_data_or_a_wire_error(samples: list[bytes], data: st.DataObject) -> None:
    frame = bytearray(data.draw(st.sampled_from(samples)))
    for _change in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(frame)))
        frame[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    check(bytes(frame))
