"""Explain what is too large: integers for their dtype, and arrays for the memory."""

import ast
import operator

import jax
import numpy as np

from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Swap, Words, entry
from jaxguide.explain.known_facts import Facts

_OPERATORS = {ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.Mult: operator.mul}


def _integer(facts: Facts, node: ast.AST) -> int | None:
    """Return the value of an integer that is known, or written as a power, shift or product of such."""
    value = facts.scene.spot.value(node)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = facts.scene.spot.value(node.left), facts.scene.spot.value(node.right)
        if type(left) is type(right) is int and abs(left) < 2**64 and 0 <= right <= 64:
            value = _OPERATORS[type(node.op)](left, right)
    return value if type(value) is int else None


entry(
    "too_large_integer",
    texts.TOO_LARGE,
    texts.OUT_OF_BOUNDS,
    x=probes.words(("{written}", "{number}")),
    int_type=lambda facts: facts.found["dtype"] or "int32",
    limits=lambda facts: np.iinfo(facts["int_type"]),
    named=lambda facts: int(facts.found["value"] or facts.found.groupdict()["given"]),
    number=lambda facts: None if facts["limits"].min <= facts["named"] <= facts["limits"].max else facts["named"],
    written=lambda facts: next((n for n in ast.walk(facts.scene.node) if _integer(facts, n) == facts["number"]), None),
    computed=lambda facts: facts["number"] if facts["x"] != str(facts["number"]) else None,
    title="An integer does not fit into {int_type}",
    what=("`{x}` is {computed} here.", ""),
    why="{int_type} holds {limits.min} to {limits.max}, and JAX makes no larger type by itself.",
    fixes=Words(
        "Take a dtype that holds it, such as `{jnp}.int32`.",
        when=lambda facts: facts["int_type"] != "int32" and -(2**31) <= facts["number"] < 2**31,
    ),
    otherwise=[
        Words(
            "Turn on 64-bit types at the start of the program: `{jax}.config.update('jax_enable_x64', True)`.",
            when=lambda facts: abs(facts["number"]) < 2**63 and not jax.config.jax_enable_x64,
        ),
        "Count in larger units, or keep the number in NumPy or Python.",
    ],
    link="https://docs.jax.dev/en/latest/default_dtypes.html",
)
entry(
    "too_large_seed",
    texts.TOO_LARGE_SEED,
    x=probes.argument(0, "seed"),
    when=lambda facts: facts.value("f") in (jax.random.key, jax.random.PRNGKey),
    title="A seed does not fit into 64 bits",
    why="`{f}` takes an integer of at most 64 bits.",
    fixes=Swap("Take the remainder, which fits.", x="{x.atom} % 2**32"),
    link=f"{texts.API}/jax.random.key.html",
)
entry(
    "out_of_memory",
    texts.OUT_OF_MEMORY,
    x=probes.one_of(probes.function, probes.node),
    size=lambda facts: f"{int(facts['g1']) / 2**30:,.1f} GiB" if facts["g2"] == "bytes" else facts["g1"] + facts["g2"],
    title="The device does not have enough memory",
    what="{size} were asked for at once.",
    why="No free piece of the device's memory is that large.",
    fixes="Make the array smaller, or compute it in parts: `{lax}.map(f, xs, batch_size=n)` takes `n` entries at a "
    "time.",
    link="https://docs.jax.dev/en/latest/gpu_memory_allocation.html",
)
