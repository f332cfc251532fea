"""Damage bytes and plain data at random, and bound what reading them may cost."""

import contextlib
import copy
import random
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxguide.course.judging.values import ArrayData, NodeData, Unsupported

_BYTES = b'[]",{}0123456789truefalsn-x.'
# Whatever the wire can carry, in the place of something else.
_OTHERS: list[Any] = [
    *(None, True, False, 0, -1, 3, 10**30, -(2**63), 1.5, float("nan"), float("inf"), 1j, "", "x", "x" * 30_000, "\0"),
    *("1e308", "double", "\u202e", [], {}, (), [[]], {"a": None}, (1, "x"), [None] * 50, {0: 0, None: 1}),
    *(ArrayData(np.ones((2, 2), np.float32)), NodeData("Point", {"x": 1}), Unsupported("set", "of 3")),
]
_CPU_LIMIT_S, _MEMORY_LIMIT_BYTES = 5.0, 128 * 2**20


def with_other_bytes(frame: bytes, chance: random.Random) -> bytes:
    """Change, drop or add up to four bytes anywhere, or truncate the frame."""
    changed = bytearray(frame)
    for _change in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed))
        action = chance.randrange(5)
        if action == 0:
            changed[place] = chance.randrange(256)
        elif action == 1:
            changed[place] = chance.choice(_BYTES)
        elif action == 2 and len(changed) > 1:
            del changed[place]
        elif action == 3:
            changed.insert(place, chance.randrange(256))
        elif chance.random() < 0.1:
            del changed[max(1, place) :]
    return bytes(changed)


def with_other_parts(plain: Any, chance: random.Random, others: list[Any] | None = None) -> Any:
    """Return a copy of plain data in which up to three parts are replaced, dropped, doubled or renamed."""
    changed = [copy.deepcopy(plain)]
    for _change in range(chance.randint(1, 3)):
        inside = chance.choice(list(_containers(changed)))
        places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not places:
            continue
        place, action = chance.choice(places), chance.randrange(6)
        if action == 0 and inside is not changed:
            del inside[place]
        elif action == 1 and isinstance(inside, dict):
            inside[chance.choice(["x", "", *places])] = inside.pop(place)
        elif action == 2 and isinstance(inside, list) and inside is not changed:
            inside.insert(place, copy.deepcopy(inside[place]))
        else:
            inside[place] = copy.deepcopy(chance.choice(_OTHERS if others is None else others))
    return changed[0]


def _containers(plain: Any) -> Iterator[Any]:
    if isinstance(plain, dict | list):
        yield plain
        for part in plain.values() if isinstance(plain, dict) else plain:
            yield from _containers(part)


@contextlib.contextmanager
def bounded(given: Any) -> Iterator[None]:
    """Fail if the block takes much processor time or memory, whatever it raises."""
    before_s, before_bytes = time.process_time(), _peak_bytes()
    try:
        yield
    finally:
        took_s, more_bytes = time.process_time() - before_s, _peak_bytes() - before_bytes
        said = f"{took_s:.1f} CPU s and {more_bytes / 2**20:.0f} MB more for {str(given)[:2000]}"
        assert took_s < _CPU_LIMIT_S, said
        assert more_bytes < _MEMORY_LIMIT_BYTES, said


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
