"""Explain what is too large: integers for their dtype, and arrays for the memory."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


# Integers.


def _integer(facts: Facts, node: ast.AST | None, depth: int = 0) -> int | None:
    """Return the value of an integer that is known, or written as a power, product or shift of such."""
    value = facts.scene.spot.value(node)
    if type(value) is int or not isinstance(node, ast.BinOp) or depth > 4:
        return value if type(value) is int else None
    left, right = _integer(facts, node.left, depth + 1), _integer(facts, node.right, depth + 1)
    if left is None or right is None or max(abs(left), abs(right)) > 2**64:
        return None
    compute = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__}
    if 0 <= right <= 64:
        compute |= {ast.Pow: int.__pow__, ast.LShift: int.__lshift__}
    return compute[type(node.op)](left, right) if type(node.op) in compute else None


def _number(facts: Facts) -> int | None:
    """Return the number that the message names, if it does not fit."""
    said = facts.found.groupdict()
    number, limits = int(said["value"] or said["given"]), facts["limits"]
    return None if limits.min <= number <= limits.max else number


def _written(facts: Facts) -> ast.AST | None:
    """Look at the outermost expression in the failing code whose value is this number."""
    return next((one for one in ast.walk(facts.scene.node) if _integer(facts, one) == facts["number"]), None)


def _is_below_zero(facts: Facts) -> bool:
    """Ask whether a negative number is meant for a dtype without a sign."""
    return bool(facts["number"] < 0 and facts["int_type"].startswith("u"))


def _is_beside_floats(facts: Facts) -> bool:
    """Ask whether the number is an operand, and the other one an array of floats."""
    operation = facts.scene.source.parents.get(facts.node("written"))
    values = [facts.scene.spot.value(one) for one in probes.operands(operation)] if operation is not None else []
    return any(is_array(value) and jax.dtypes.issubdtype(value.dtype, np.floating) for value in values)


_INTEGER = (texts.TOO_LARGE, texts.OUT_OF_BOUNDS)
_TOO_LARGE: dict[str, Any] = {
    "x": probes.one_of(_written, probes.words("{number}")),
    "int_type": lambda facts: facts.found["dtype"] or "int32",
    "limits": lambda facts: np.iinfo(facts["int_type"]),
    "number": _number,
    "written": _written,
    "computed": lambda facts: facts["number"] if str(facts["x"]) != str(facts["number"]) else None,
    "title": "An integer does not fit into {int_type}",
    "what": ("`{x}` is {computed} here.", ""),
    "why": "{int_type} holds {limits.min} to {limits.max}, and JAX makes no larger type by itself.",
    "link": "https://docs.jax.dev/en/latest/default_dtypes.html",
}
entry(
    "too_large_integer",
    *_INTEGER,
    when=lambda facts: facts["int_type"] not in ("int32", "uint32") or _is_below_zero(facts),
    larger=lambda facts: "int16" if abs(facts["number"]) < 2**15 else "int32",
    fixes=Either(
        Words("Take a dtype with negative numbers, such as `{jnp}.int32`.", when=_is_below_zero),
        Swap(
            "Take a dtype that holds it, such as `{jnp}.{larger}`.",
            when=lambda facts: facts["f"].name == facts["int_type"],
            or_say=True,
            f="{jnp}.{larger}",
        ),
    ),
    **_TOO_LARGE,
)
entry(
    "too_large_integer",
    *_INTEGER,
    fixes=[
        Swap("Beside an array of floats, make it a float.", when=_is_beside_floats, x="float({x})"),
        Words(
            "Turn on 64-bit types at the start of the program: `{jax}.config.update('jax_enable_x64', True)`.",
            when=lambda facts: abs(facts["number"]) < 2**63 and not jax.config.jax_enable_x64,
        ),
        "Count in larger units, or keep the number in NumPy or Python.",
    ],
    **_TOO_LARGE,
)
entry(
    "too_large_seed",
    texts.TOO_LARGE_SEED,
    x=probes.argument(0, "seed"),
    when=[
        lambda facts: facts.value("f") in (jax.random.key, jax.random.PRNGKey),
        lambda facts: not facts.knows("number") or abs(facts["number"]) >= 2**63,
    ],
    number=lambda facts: _integer(facts, facts.node("x")),
    title="A seed does not fit into 64 bits",
    what=("`{x}` is {number} here.", ""),
    why="`{f}` takes an integer of at most 64 bits.",
    fixes=Swap("Take the remainder, which fits.", x="{x.atom} % 2**32"),
    link=f"{texts.API}/jax.random.key.html",
)


# Memory.


def _amount(size: int) -> str:
    """Return a number of bytes in the largest unit of which there is at least one.

    >>> _amount(400_000_000_000), _amount(12)
    ('372.5 GiB', '12 bytes')
    """
    unit = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{size / 1024**unit:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[0]}"


entry(
    "out_of_memory",
    texts.OUT_OF_MEMORY,
    x=probes.one_of(probes.function, probes.node),
    size=lambda facts: _amount(int(facts["g1"])) if facts["g2"] == "bytes" else facts["g1"] + facts["g2"],
    title="The device does not have enough memory",
    what="{size} were asked for at once.",
    why="No free piece of the device's memory is that large.",
    fixes="Make the array smaller, or compute it in parts: `{lax}.map(f, xs, batch_size=n)` takes `n` entries at a "
    "time.",
    link="https://docs.jax.dev/en/latest/gpu_memory_allocation.html",
)
