"""Explain attempts to change an array in place: items, its shape, methods of lists, misuse of `.at`, NumPy."""

import ast
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.control_flow import operator_sign
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.transformed import set_to

_METHODS: dict[type[ast.AST], str] = {
    ast.Add: "add({change})",
    ast.Sub: "add(-{change.atom})",
    ast.Mult: "multiply({change})",
    ast.Div: "divide({change})",
    ast.Pow: "power({change})",
}


def _owner(node: Any) -> Any:
    """Return the array in `x[i]`, `x.shape` and `x.at[i]`."""
    inner: Any = getattr(node, "value", None)
    return inner.value if isinstance(node, ast.Subscript) and getattr(inner, "attr", "") == "at" else inner


_entry = partial(
    entry,
    x=lambda facts: _owner(facts.node("target")),
    index=lambda facts: getattr(facts.node("target"), "slice", None),
    why="JAX arrays never change: the same array may already be part of a recorded program, or shared.",
    link=texts.AT_LINK,
)


# Items.


def _place(facts: Facts) -> tuple[ast.expr, str]:
    """Find the array and the index of an item; `x[0][1]` is an item of a copy, so it is the item [0, 1] of `x`."""
    target: Any = facts.node("node")
    array: Any
    array, index = target.value, facts.scene.quote(target.slice)
    while isinstance(array, ast.Subscript) and is_array(facts.scene.spot.value(array.value)):
        array, index = array.value, f"{facts.scene.quote(array.slice)}, {index}"
    return array, index


def _update(facts: Facts) -> str | None:
    """Say the method of `.at[...]` for `x[i] = y` and `x[i] += y`."""
    statement = facts.scene.spot.statement
    if isinstance(statement, ast.AugAssign):
        sign = operator_sign(statement.op)
        return facts.say(_METHODS.get(type(statement.op), f"set({{x}}[{{index}}] {sign} {{change.atom}})"))
    return facts.say("set({change})") if getattr(statement, "targets", []) == [facts.scene.node] else None


def _mask(facts: Facts) -> str | None:
    """Say the index if it is a mask of the array's shape, which `.at` cannot take if it is traced."""
    index = facts.node("node").slice
    value = facts.scene.spot.value(index)
    is_mask = isinstance(index, ast.Compare) or (is_array(value) and value.dtype == bool)
    return facts["index"] if is_mask and computed_shape(facts.scene, index) == facts["x"].shape else None


def _is_filled_in_loop(facts: Facts) -> bool:
    """Ask whether an array with known values is changed in every turn of a Python loop."""
    outer = facts.scene.source.parents.get(facts.node("statement"))
    value = facts.value("x")
    return value is not MISSING and not is_tracer(value) and isinstance(outer, ast.For | ast.While)


_entry(
    "item_assignment",
    texts.SET_ITEM,
    x=lambda facts: _place(facts)[0],
    index=lambda facts: _place(facts)[1],
    when=probes.is_written("node", ast.Subscript),
    change=probes.assigned,
    mask=_mask,
    update=_update,
    title="An array cannot be changed in place",
    fixes=[
        Either(
            Swap(
                "Choose between the new value and the old ones.",
                when=probes.is_written("statement", ast.Assign),
                statement="{x} = {jnp}.where({mask}, {change}, {x})",
            ),
            Words(
                "Choose between the new value and the old ones: `{jnp}.where(mask, new, {x})`.",
                when=lambda facts: isinstance(cut := facts.node("node").slice, ast.Slice) and facts.scene.tracer(cut),
            ),
            Swap(
                "Make a new array with the change in it; under `jax.jit` nothing is copied.",
                statement="{x} = {x}.at[{index}].{update}",
            ),
            Code(
                "Make a new array with the change in it; of several changes, compute all new values first.",
                "{x} = {x}.at[{index}].set(value)",
            ),
        ),
        Code(
            "Build it in NumPy, whose arrays do change, and give it to JAX when it is done.",
            "{x} = {np}.array({x})",
            when=_is_filled_in_loop,
        ),
    ],
)
_entry(
    "numpy_item_of_tracer",
    texts.SET_NUMPY_ITEM,
    x=probes.first(is_tracer, of="assigned"),
    array=lambda facts: _owner(facts.node("target")),
    when=probes.is_written("array", ast.Name),
    title="A NumPy array holds known values, but `{x}` is traced",
    why="`{array}` holds numbers now, while JAX records the program, and the value comes later.",
    fixes=Swap(
        "Make it JAX's array, and a new one with the change in it.",
        statement="{array} = {jnp}.asarray({array}).at[{index}].set({assigned})",
    ),
)
_entry(
    "item_deletion",
    texts.DELETE_ITEM,
    target=lambda facts: facts.node("statement").targets[0],
    when=[probes.is_written("statement", ast.Delete), lambda facts: is_array(facts.value("x"))],
    along=lambda facts: ", axis=0" if facts["x"].ndim > 1 else "",
    title="An item of an array cannot be deleted",
    fixes=Swap("Make a new array without it.", statement="{x} = {jnp}.delete({x}, {index}{along})"),
)
_entry(
    "shape_assignment",
    texts.SET_SHAPE,
    title="An array's shape cannot be assigned",
    fixes=Swap("Make a new array of that shape.", statement="{x} = {x}.reshape({assigned})"),
)

# Methods of lists, and `.at`.
_entry(
    "list_method",
    texts.NO_METHOD,
    x=probes.holder,
    when=[probes.is_written("node", ast.Attribute), probes.calls("append", "extend", "insert", "fill")],
    title="An array has no method `{f.name}`",
    fixes="Make a new array, and keep it: `{jnp}.append(x, value)` for one axis, or `x.at[...].set(value)`. In a loop, "
    "collect in a Python list and stack once at the end.",
)
_entry(
    "at_assigned",
    texts.AT_SET,
    title="`.at[...]` is not assigned to",
    why="`.at[...]` only names the place; `.set(...)` returns a new array, and the old one stays as it was.",
    fixes=Swap("Call `.set`, and keep what it returns.", statement="{x} = {x}.at[{index}].set({assigned})"),
)
_entry(
    "at_called",
    texts.AT_CALLED,
    x=probes.owner,
    when=probes.calls("at"),
    title="`.at` takes square brackets",
    why="`.at` names a place as an index does, so slices work in it, and these need brackets.",
    fixes=Swap("Write an index, and keep the new array.", call="{x}.at[{given}]"),
)
_entry(
    "at_arithmetic",
    texts.AT_ARITHMETIC,
    x=lambda facts: _owner(facts.node("left")),
    change=probes.fact("right"),
    method=lambda facts: facts.say(_METHODS[type(facts.node("node").op)]),
    when=probes.is_written("node", ast.BinOp),
    title="`.at[...]` is a place, not a value",
    why="`.at[...]` only names the place; its methods, such as `.add(...)`, return the new array.",
    fixes=Swap("Call the method.", node="{left}.{method}"),
)

# NumPy's functions that change an array, and its views of JAX's memory.
entry(
    "read_only_view",
    texts.READ_ONLY,
    x=probes.first(lambda value: isinstance(value, np.ndarray) and not value.flags.writeable),
    made=lambda facts: set_to(facts.scene.spot, str(facts["x"])),
    by=probes.function_of("made"),
    view=probes.argument(0, of="made"),
    when=[probes.is_written("x", ast.Name), lambda facts: facts.value("by") in (np.asarray, jax.device_get)],
    title="NumPy cannot change the memory of a JAX array",
    what="`{x}` was made by `{made}`.",
    why="It shares its memory with a JAX array, which never changes, so it is read-only.",
    fixes=Swap("Make a copy, which can be changed.", made="{np}.array({view})"),
    link="https://docs.jax.dev/en/latest/faq.html",
)


def _is_of_numpy(facts: Facts) -> bool:
    root = ast.Name(dotted(facts.node("f")).split(".")[0], ast.Load())
    return facts.scene.spot.value(root) is np and isinstance(facts.value("x"), jax.Array)


entry(
    "changed_by_numpy",
    texts.NUMPY_CHANGES,
    x=probes.one_of(probes.keyword("out"), probes.argument(0)),
    when=[probes.is_written("node", ast.Call), _is_of_numpy],
    title="`{f}` cannot change a JAX array",
    why="NumPy's function writes into its argument, and JAX arrays never change.",
    fixes=Either(
        Words("Make a new array, from a key: `{random}.permutation(key, {x})`.", when=probes.calls("shuffle")),
        "Make a new array with a function of JAX, and keep what it returns.",
    ),
    link=texts.AT_LINK,
)
