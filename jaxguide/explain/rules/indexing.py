"""Explain indices that JAX does not support, and attempts to change an array in place, also by its methods or NumPy."""

import ast
import re
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Condition, Facts, known
from jaxguide.explain.rewrites.control_flow import operator_sign
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import parameters, set_to


def _indexed(facts: Facts) -> ast.Subscript | None:
    """Look at `x[i]`, and at `x.at[i]` in `x.at[i].set(y)`."""
    node = facts.scene.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node if isinstance(node, ast.Subscript) else None


def _owner(node: Any) -> Any:
    """Return the array in `x[i]`, `x.shape` and `x.at[i]`."""
    inner: Any = getattr(node, "value", None)
    return inner.value if isinstance(node, ast.Subscript) and getattr(inner, "attr", "") == "at" else inner


_entry = partial(
    entry,
    indexed=_indexed,
    index=lambda facts: facts.node("indexed").slice,
    array=lambda facts: _owner(facts.node("indexed")),
    x=probes.fact("index"),
    link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
)


# Masks, and slices of unknown length, which become masks.


def _is_update(facts: Facts) -> bool:
    """Ask whether the same index names what is updated: `x.at[i].set(2 * x[i])`."""
    index, around = ast.unparse(facts.node("index")), ast.unparse(facts.scene.spot.function or facts.scene.source.tree)
    return f".at[{index}]" in around or f"[{index}] =" in around


def _reduction(facts: Facts) -> ast.Call | None:
    """Look at the call that reduces the indexed array and does no more, such as `x[mask].sum()`."""
    node, parents = facts.node("indexed"), facts.scene.source.parents
    outer: Any = parents.get(node)
    call, given = (parents.get(outer), []) if isinstance(outer, ast.Attribute) else (outer, [node])
    is_plain = isinstance(call, ast.Call) and not call.keywords and call.args == given
    return call if is_plain and called(call) in ("sum", "prod", "mean", "std", "var", "any", "all") else None  # type: ignore[return-value]


def _keep(facts: Facts) -> str | None:
    """Say the mask, with axes added after its last one so that it broadcasts with the array."""
    mask, after = str(facts["mask"]), facts["array"].ndim - facts["axis"] - 1
    spread = f"{mask if mask.isidentifier() else f'({mask})'}[...{', None' * after}]"
    return None if after < 0 else spread if after else mask


_masked = partial(_entry, reduction=_reduction, keep=_keep)
_MASK = Either(
    Words(
        "Compute the new value for every entry, without the mask, and choose: `{jnp}.where(mask, new, {array})`.",
        when=_is_update,
    ),
    Swap(
        "Keep the shape, and let what is masked out count for nothing.",
        reduction="{jnp}.{reduction.name}({array}, where={keep})",
    ),
    "Keep all of `{array}`, and use the mask `{mask}` in what follows: `{jnp}.where(mask, values, 0)` in a sum, "
    "`where=mask` in a mean, -inf in place of 0 in the argument of a softmax.",
)
_masked(
    "boolean_mask",
    texts.BOOLEAN_MASK,
    x=probes.one_of(probes.first(is_tracer, of="index"), probes.first(is_tracer, of="array")),
    when=probes.is_written("node", ast.Subscript),
    mask=lambda facts: None if isinstance(facts.node("index"), ast.Tuple) else str(facts["index"]),
    axis=lambda facts: facts["g1"].count(","),
    title="A mask picks an unknown number of values",
    why="How long `{node}` is depends on how many are True, and JAX must know every shape while it records.",
    fixes=_MASK,
    otherwise="Keep all of `{array}`, and use the mask in what follows.",
)


def _cut(facts: Facts) -> tuple[int, ast.Slice] | None:
    """Find the one axis that a traced slice cuts, and the slice; None if other axes are indexed too."""
    parts = getattr(facts.node("index"), "elts", [facts.node("index")])
    cut = [(axis, part) for axis, part in enumerate(parts) if ast.unparse(part) != ":"]
    is_one = len(cut) == 1 and isinstance(cut[0][1], ast.Slice) and facts.scene.tracer(cut[0][1]) is not None
    return cut[0] if is_one else None


def _mask(facts: Facts) -> str | None:
    """Say the mask of what a slice takes; None if it has a step or counts from the end."""
    axis, cut = facts["cut"]
    bounds = {">=": cut.lower, "<": cut.upper}
    if cut.step is not None or any(isinstance(bound, ast.UnaryOp) for bound in bounds.values()):
        return None
    places = f"{facts['jnp']}.arange({facts['array'].atom}.shape[{axis}])"
    tests = [f"{places} {sign} {facts.scene.quote(bound)}" for sign, bound in bounds.items() if bound is not None]
    return tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)


# `i : i + length` and `i * length : (i + 1) * length`.
_WINDOW = re.compile(r"(.+):\1\+(?P<length>[\w.]+)|(\w+)\*(?P<times>[\w.]+):\(\3\+1\)\*\4")


def _window(facts: Facts) -> str | None:
    """Say the length of a slice that is always as long, if it is known and fits."""
    axis, cut = facts["cut"]
    found = known(_WINDOW.fullmatch(facts.scene.quote(cut).replace(" ", "")))
    length = found["length"] or found["times"]
    size = facts.scene.spot.value(ast.parse(length, mode="eval").body)
    return length if isinstance(size, int) and 0 < size <= facts["array"].shape[axis] else None


_masked(
    "dynamic_slice",
    texts.DYNAMIC_SLICE,
    x=probes.first(is_tracer, of="index"),
    cut=_cut,
    axis=lambda facts: facts["cut"][0],
    mask=_mask,
    bounds=lambda facts: facts.scene.spot.parts(facts.node("index")),
    window=_window,
    start=lambda facts: facts["cut"][1].lower,
    along=lambda facts: f", axis={facts['axis']}" if facts["axis"] else "",
    title="A slice needs known bounds, but `{x}` is traced",
    why="How long `{indexed}` is depends on `{x}`, and JAX must know every shape while it records.",
    fixes=[
        Either(
            Swap(
                "Move a window of fixed length: `lax.dynamic_slice_in_dim` (at the end it moves back to fit).",
                when=probes.is_written("node", ast.Subscript),
                node="{lax}.dynamic_slice_in_dim({array}, {start}, {window}{along})",
            ),
            _MASK,
        ),
        lambda facts: static_fix(facts.scene, *(one for _part, one in facts["bounds"] if is_tracer(one))),
    ],
    link=f"{texts.API}/jax.lax.dynamic_slice.html",
)


def _is_under(transformation: str) -> Condition:
    """Ask whether `x` is traced by this transformation."""
    return lambda facts: is_tracer(facts.value("x")) and facts.scene.under(facts.value("x")) == transformation


_entry(
    "swapped_parameters",
    texts.INDEX_FLOAT,
    when=[_is_under("lax.fori_loop"), lambda facts: str(facts["x"]) == facts.node("last").arg],
    last=lambda facts: next(reversed(parameters(known(facts.scene.spot.function))), None),  # type: ignore[arg-type]
    title="A loop body with its two parameters the other way round",
    why="`lax.fori_loop` gives its body the number of the turn first, and the carry second.",
    fixes="Take the number of the turn first, and the carry second.",
    link=f"{texts.API}/jax.lax.fori_loop.html",
)
_entry(
    "index_of_floats",
    texts.INDEX_FLOAT,
    inside=probes.first(is_array, of="x"),
    title="An index that is a float",
    what=("{x.is_here}", "`{x}` is a float here."),
    why="Positions are counted, so a float names none, even one without a fraction.",
    fixes=Either(
        Swap("Make it an integer.", when=probes.knows("inside"), x="{x.atom}.astype(int)"),
        # JAX takes Python's numbers for float64 here.
        Swap("Make it an integer.", when=lambda facts: facts["g1"] == "float64", x="int({x})"),
        "Make it an integer.",
    ),
    link=f"{texts.API}/jax.numpy.astype.html",
)


def _mask_said(facts: Facts) -> ast.AST | None:
    """Look at the first mask with the shape that JAX names."""
    shape = facts["g1"]
    return probes.first(lambda one: is_array(one) and one.dtype == bool and str(one.shape) == shape, "index")(facts)  # type: ignore[no-any-return]


_entry(
    "mask_of_another_shape",
    texts.MASK_SHAPE,
    x=probes.one_of(_mask_said, probes.fact("index")),
    when=probes.unless(probes.is_written("x", ast.Tuple)),
    needed=lambda facts: ast.literal_eval(f"({facts['g2']},)"),
    title="A mask and an array of different shapes",
    what="`{x}` has shape {g1}, and what it picks from has shape {needed}.",
    why="A mask says for each entry whether to keep it, so it needs one value per entry.",
    fixes=[
        "Make the mask from the array itself, or cut one of them to the size of the other.",
        Words(
            "Or say which axis it is for, as `[:, mask]` does.",
            when=lambda facts: facts["array"].ndim > 1 and not isinstance(facts.node("index"), ast.Tuple),
        ),
    ],
)
_entry(
    "index_of_list",
    texts.INDEX_LIST,
    title="A list used as an index",
    what="`{x}` is a list here.",
    why="NumPy takes a list for an array of positions; JAX does not guess, and a tuple means one index per axis.",
    fixes=Swap("Say that it is an array of positions.", x="{jnp}.array({x})"),
)
_entry(
    "too_many_indices",
    texts.TOO_MANY_INDICES,
    x=probes.fact("array"),
    when=probes.is_written("index", ast.Tuple),
    axes=lambda facts: plural("{count} axis", "{count} axes", int(facts["g1"])),
    title="More indices than axes",
    why="It has {axes} and {g2} indices were given: one index takes away one axis.",
    fixes=Words(
        "If one is for the axis that `jax.vmap` maps over: leave it out, since each call gets one entry.",
        when=_is_under("jax.vmap"),
    ),
    otherwise="Give at most one index for each axis, from the first: `{x.atom}.shape` has the axes.",
)

# Changes in place.

_METHODS: dict[type[ast.AST], str] = {
    ast.Add: "add({change})",
    ast.Sub: "add(-{change.atom})",
    ast.Mult: "multiply({change})",
    ast.Div: "divide({change})",
    ast.Pow: "power({change})",
}


_change = partial(
    entry,
    x=lambda facts: _owner(facts.node("target")),
    index=lambda facts: getattr(facts.node("target"), "slice", None),
    why="JAX arrays never change: the same array may already be part of a recorded program, or shared.",
    link=texts.AT_LINK,
)


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


def _whole_mask(facts: Facts) -> str | None:
    """Say the index if it is a mask of the array's shape, which `.at` cannot take if it is traced."""
    index = facts.node("node").slice
    value = facts.scene.spot.value(index)
    is_mask = isinstance(index, ast.Compare) or (is_array(value) and value.dtype == bool)
    return facts["index"] if is_mask and computed_shape(facts.scene, index) == facts["x"].shape else None


_change(
    "item_assignment",
    texts.SET_ITEM,
    x=lambda facts: _place(facts)[0],
    index=lambda facts: _place(facts)[1],
    when=probes.is_written("node", ast.Subscript),
    change=probes.assigned,
    mask=_whole_mask,
    cut=lambda facts: facts.node("node").slice,
    bound=probes.first(is_tracer, of="cut"),
    update=_update,
    outer=lambda facts: facts.scene.source.parents.get(facts.node("statement")),
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
                when=lambda facts: facts.knows("bound") and isinstance(facts.node("cut"), ast.Slice),
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
            # Filled in a loop of Python's.
            when=lambda facts: not is_tracer(facts["x"].value) and isinstance(facts.node("outer"), ast.For | ast.While),
        ),
    ],
)
_change(
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
_change(
    "item_deletion",
    texts.DELETE_ITEM,
    target=lambda facts: facts.node("statement").targets[0],
    when=[probes.is_written("statement", ast.Delete), lambda facts: is_array(facts.value("x"))],
    along=lambda facts: ", axis=0" if facts["x"].ndim > 1 else "",
    title="An item of an array cannot be deleted",
    fixes=Swap("Make a new array without it.", statement="{x} = {jnp}.delete({x}, {index}{along})"),
)
_change(
    "shape_assignment",
    texts.SET_SHAPE,
    title="An array's shape cannot be assigned",
    fixes=Swap("Make a new array of that shape.", statement="{x} = {x}.reshape({assigned})"),
)

# Methods of lists, and `.at`.
_change(
    "list_method",
    texts.NO_METHOD,
    x=probes.holder,
    when=[probes.is_written("node", ast.Attribute), probes.calls("append", "extend", "insert", "fill")],
    title="An array has no method `{f.name}`",
    fixes="Make a new array, and keep it: `{jnp}.append(x, value)` for one axis, or `x.at[...].set(value)`. In a loop, "
    "collect in a Python list and stack once at the end.",
)
_change(
    "at_assigned",
    texts.AT_SET,
    title="`.at[...]` is not assigned to",
    why="`.at[...]` only names the place; `.set(...)` returns a new array, and the old one stays as it was.",
    fixes=Swap("Call `.set`, and keep what it returns.", statement="{x} = {x}.at[{index}].set({assigned})"),
)
_change(
    "at_called",
    texts.AT_CALLED,
    x=probes.owner,
    when=probes.calls("at"),
    title="`.at` takes square brackets",
    why="`.at` names a place as an index does, so slices work in it, and these need brackets.",
    fixes=Swap("Write an index, and keep the new array.", call="{x}.at[{given}]"),
)
_change(
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
