"""Explain what is too large: integers for their dtype, and arrays for the memory."""

import ast
import re
from collections.abc import Iterator

import jax
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.jaxpr.value_words import array_type

_X64 = "https://docs.jax.dev/en/latest/default_dtypes.html"
_MEMORY = "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@explains(error_texts.TOO_LARGE, error_texts.OUT_OF_BOUNDS)
def too_large_integer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x + 2**40` and `jnp.uint8(300)`."""
    said = found.groupdict()
    number, dtype = int(said["value"] or said["given"]), said["dtype"] or "int32"
    limits = np.iinfo(dtype)
    if limits.min <= number <= limits.max:
        return None
    node = _node_of(scene, number)
    text = scene.quote(node) if node is not None else str(number)
    return scene.explanation(
        "too_large_integer",
        title=f"An integer does not fit into {dtype}",
        what=f"`{text}` is {number} here." if text != str(number) else "",
        variable=text,
        why=f"{dtype} holds {limits.min} to {limits.max}, and JAX makes no larger type by itself.",
        fixes=list(_fixes(scene, node, number, dtype)),
        link=_X64,
    )


def _fixes(scene: Scene, node: ast.expr | None, number: int, dtype: str) -> Iterator[Fix | None]:
    wide = np.iinfo(np.int64)
    if number < 0 and dtype.startswith("u"):
        yield scene.advice(f"Take a dtype with negative numbers, such as `{scene.jnp}.int32`.")
        return
    if dtype not in ("int32", "uint32"):
        larger = next((one for one in ("int16", "int32") if np.iinfo(one).min <= number <= np.iinfo(one).max), None)
        call = scene.call()
        if larger is not None and call is not None and called(call) == dtype:
            yield scene.fix("Take a dtype that holds it.", scene.source.replace(call.func, f"{scene.jnp}.{larger}"))
        else:
            words = "Take a dtype that holds it, such as `{jnp}.{dtype}`."
            yield scene.advice(words.format(jnp=scene.jnp, dtype=larger or "int32"))
        return
    operator = scene.source.parents.get(node) if node is not None else None
    if node is not None and isinstance(operator, ast.BinOp):
        other = scene.spot.value(operator.right if operator.left is node else operator.left)
        if is_array(other) and jax.dtypes.issubdtype(other.dtype, np.floating):
            yield scene.fix(
                "Beside an array of floats, make it a float.",
                scene.source.replace(node, f"float({scene.quote(node)})"),
            )
    if wide.min <= number <= wide.max and not jax.config.jax_enable_x64:
        words = "Turn on 64-bit types at the start of the program: `{jax}.config.update('jax_enable_x64', True)`."
        yield scene.advice(words.format(jax=scene.jax))
    yield scene.advice("Count in larger units, or keep the number in NumPy or Python.")


def _node_of(scene: Scene, number: int) -> ast.expr | None:
    """Return the outermost expression in the failing code whose value is this number."""
    for node in ast.walk(scene.node):
        if isinstance(node, ast.expr) and _integer(scene, node) == number:
            return node
    return None


def _integer(scene: Scene, node: ast.expr, depth: int = 0) -> int | None:
    """Return the value of an expression of integers, as long as it is small enough to compute."""
    value = scene.spot.value(node)
    if type(value) is int:
        return value
    if value is not MISSING or not isinstance(node, ast.BinOp) or depth > 8:
        return None
    left, right = _integer(scene, node.left, depth + 1), _integer(scene, node.right, depth + 1)
    if left is None or right is None or max(abs(left), abs(right)) > 2**64:
        return None
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Pow():
            return int(left**right) if 0 <= right <= 64 else None
        case ast.LShift():
            return left << right if 0 <= right <= 64 else None
    return None


@explains(error_texts.TOO_LARGE_SEED)
def too_large_seed(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.random.key(2**70)`."""
    call = scene.call()
    if call is None or not call.args or scene.spot.value(call.func) not in (jax.random.key, jax.random.PRNGKey):
        return None
    seed = call.args[0]
    number = _integer(scene, seed)
    if number is not None and abs(number) < 2**63:
        return None
    text = scene.quote(seed)
    return scene.explanation(
        "too_large_seed",
        title="A seed does not fit into 64 bits",
        what=f"`{text}` is {number} here." if number is not None else "",
        variable=text,
        why=f"`{scene.quote(call.func)}` takes an integer of at most 64 bits.",
        fixes=[scene.fix("Take the remainder, which fits.", scene.source.replace(seed, f"{scene.atom(seed)} % 2**32"))],
        link=f"{error_texts.API}/jax.random.key.html",
    )


@explains(error_texts.OUT_OF_MEMORY)
def exhausted_memory(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain RESOURCE_EXHAUSTED: say how much was asked for, and for what if that is certain."""
    size = _amount(int(found[1])) if found[2] == "bytes" else found[1] + found[2]
    call = scene.call()
    said = scene.quote(call.func) if call is not None and isinstance(call.func, ast.Name | ast.Attribute) else None
    part = max(
        ((node, value) for node, value in scene.spot.parts(scene.node) if _is_live(value)),
        key=lambda pair: pair[1].nbytes,
        default=None,
    )
    what = f"{size} were asked for at once."
    if part is not None and part[1].nbytes:
        what += " " + f"`{scene.quote(part[0])}` is {array_type(part[1])}: {_amount(part[1].nbytes)}."
    return scene.explanation(
        "out_of_memory",
        title="The device does not have enough memory",
        what=what,
        variable=said,
        why="No free piece of the device's memory is that large.",
        fixes=[
            scene.advice(
                f"Make the array smaller, or compute it in parts: `{scene.lax}.map(f, xs, batch_size=n)` takes `n` "
                "entries at a time."
            )
        ],
        link=_MEMORY,
    )


def _is_live(value: object) -> bool:
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and not value.is_deleted()


def _amount(size: int) -> str:
    """Return a number of bytes in the largest unit of which there is at least one.

    >>> _amount(400_000_000_000), _amount(12)
    ('372.5 GiB', '12 bytes')
    """
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[0]}"
