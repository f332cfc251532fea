"""Explain arguments, axes and results that do not fit `jax.vmap`."""

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, Probe, known
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.scene import argument_of
from jaxguide.explain.transformed import parameters


def _axes(facts: Facts) -> list[str]:
    """Find the axis of each argument, as text."""
    given, count = argument_of(facts.node("made"), 1, "in_axes"), len(facts.call().args)
    if isinstance(given, ast.Tuple | ast.List):
        return [*(facts.scene.quote(one) for one in given.elts), *["0"] * count][:count]
    return [facts.scene.quote(given) if given is not None else "0"] * count


def _in_a_tuple(axes: list[str]) -> str:
    return axes[0] if len(axes) == 1 else f"({', '.join(axes)})"


def _filled(facts: Facts) -> str | None:
    """Say `in_axes` with None for the argument `x`, after the function if there is none yet; not if none is mapped."""
    pairs = zip(facts["arguments"], facts["axes"], strict=True)
    axes = ["None" if one.node is facts.node("x") else own for one, own in pairs]
    text = _in_a_tuple(axes) if facts.knows("in_axes") else f"{facts['mapped']}, in_axes={_in_a_tuple(axes)}"
    return text if {*axes} - {"None"} else None


_vmap = partial(
    entry,
    made=probes.made_by("vmap"),
    mapped=probes.argument(0, "fun", of="made"),
    in_axes=probes.argument(1, "in_axes", of="made"),
    starred=lambda facts: any(isinstance(one, ast.Starred) for one in facts.call().args),
    arguments=lambda facts: None if facts["starred"] else [facts.at(one) for one in facts.call().args],
    axes=_axes,
    slot=probes.one_of(probes.fact("in_axes"), probes.fact("mapped")),
    filled=_filled,
    link=f"{texts.API}/jax.vmap.html",
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | complex) or (is_array(value) and np.ndim(value) == 0)


def _is_of_records(value: object) -> bool:
    """Return whether a value is a list of dicts, tuples or other trees of one structure, one for each call."""
    if not isinstance(value, list) or len(value) < 2 or any(jax.tree_util.all_leaves([one]) for one in value):
        return False
    return len({jax.tree.structure(one) for one in value}) == 1


def _argument(holds: Callable[[Any], object]) -> Probe:
    """Look at the first argument that has such a value, if JAX says that a number is mapped."""
    return lambda facts: next(
        (one for one in facts["arguments"] if facts["g2"] == "0" and holds(one.value_or_missing)), None
    )


def _without_axis(facts: Facts) -> Part | None:
    """Look at the first argument, or part of one, that has as many axes as JAX says along the axis that it says."""
    pairs, rank = zip(facts["arguments"], facts["axes"], strict=True), int(facts["g2"])
    for part in [part for part, axis in pairs if axis == facts["g1"]]:
        shape, leaves = computed_shape(facts.scene, part.node), jax.tree.leaves_with_path(part.value_or_missing)
        low = [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves if np.ndim(leaf) == rank]
        if shape is not None and len(shape) == rank:
            return part  # type: ignore[no-any-return]
        if shape is None and 0 < len(low) < len(leaves):
            return Part(part.node, part.source, facts.scene, part.spot, *low[0])
    return None


_records = partial(
    _vmap,
    title="`jax.vmap` was given a list to go through",
    what="`{x}` is {x.what} here.",
    why="`jax.vmap` maps over an axis of every array, not over the items of a list: a list is a pytree for JAX.",
    fixes=Swap(
        "Stack them into one tree of arrays, whose first axis counts them.",
        x="{jax}.tree.map(lambda *leaves: {jnp}.stack(leaves), *{x.atom})",
    ),
)
_records("vmap_of_records", texts.VMAP_RANK, x=_argument(_is_of_records))
_records(
    "vmap_of_records",
    texts.LIST_BY_KEY,
    x=probes.container(_is_of_records, of="caller"),
    caller=probes.caller,
    holder=probes.holder,
    when=lambda facts: "jax.vmap" in [facts.scene.under(one) for one in facts["inside"] if is_tracer(one)],
    inside=lambda facts: jax.tree.leaves(facts.value("holder")),
    line="caller",
)
_vmap(
    "vmap_of_a_list",
    texts.VMAP_RANK,
    x=_argument(lambda value: isinstance(value, list | tuple) and value and all(map(_is_number, value))),
    title="`jax.vmap` was given a list of numbers",
    why="A list is a pytree of numbers for JAX, and `jax.vmap` looks for an axis in each of them.",
    fixes=Swap("Make one array of it.", x="{jnp}.array({x})"),
)
_vmap(
    "vmap_axis",
    texts.VMAP_RANK,
    x=_without_axis,
    when=lambda facts: not facts.call().keywords and not isinstance(facts.node("mapped"), ast.Call),
    array=lambda facts: facts["x"].is_here if is_array(facts.value("x")) else None,
    count=probes.counted("g2", "axis", "axes"),
    title="`jax.vmap` maps over an axis that is not there",
    what=("{array}", "`{x}` has {count}."),
    why="Axis {g1} was asked for, and it has {g2}: `jax.vmap` takes an axis away from each argument.",
    fixes=Either(
        Words(
            "Hand `{x}` whole to every call: make its entry of `in_axes` such a tree, with None there.",
            when=lambda facts: bool(facts["x"].path),
        ),
        Words("Map over an axis that it has: 0 is the first.", when=lambda facts: facts["g2"] != "0"),
        Swap("Hand `{x}` whole to every call.", slot="{filled}"),
        Swap("One number needs no `vmap`: call the function itself.", made="{mapped.atom}"),
    ),
)


def _sizes(facts: Facts) -> list[dict[str, Any]]:
    """Find the sizes along the mapped axes that JAX lists, with the arguments of the call behind its names."""
    names = [one.arg for one in parameters(facts.node("body"))] if facts.knows("body") else []
    given = facts["arguments"] if facts.knows("made", "arguments") else []
    sizes = []
    for one in texts.VMAP_AXIS_SIZES.finditer(facts.scene.message):
        said = known(texts.VMAP_AXIS_NAME.match(one["name"]))
        number = names.index(said["name"]) if said["name"] in names else int(said["number"] or len(given))
        part = given[number] if number < len(given) and not said["key"] else None
        name = f"{part}{said['path']}" if part is not None else said["key"] or one["name"]
        sizes.append({**one.groupdict(), "key": said["key"], "name": name, "part": part})
    return sizes


def _by_keyword(facts: Facts) -> str | None:
    """Say the keyword by which one number is given, or the only array of another size than all others."""
    given = {one.arg: facts.scene.spot.value(one.value) for one in facts.call().keywords}
    if facts.found.groups():
        return next((name for name, value in given.items() if name and _is_number(value)), None)
    alone = [one["name"] for one in facts["sizes"] if one["key"] in given and one["count"] == "one"]
    return alone[0] if alone and len(facts["sizes"]) == 2 else None


def _odd_size(facts: Facts) -> dict[str, Any] | None:
    """Find the size that was perhaps not meant to be mapped, of two arguments: a tree's, or the last that is no key."""
    parts: list[Part | None] = [one["part"] for one in facts["sizes"]]
    if len(parts) != 2 or None in parts or parts[0] is parts[1]:
        return None
    is_tree, other_is = (not jax.tree_util.all_leaves([known(part).value_or_missing]) for part in parts)
    return facts["sizes"][0 if is_tree > other_is or _is_keys(parts[1]) else 1]  # type: ignore[no-any-return]


def _is_keys(part: Part | None) -> bool:
    return part is not None and str(getattr(part.value_or_missing, "dtype", "")).startswith(("key<", "uint32"))


_sizes_entry = partial(
    _vmap,
    body=probes.definition(probes.argument(0, "fun", of="made")),
    sizes=_sizes,
    other=lambda facts: next((one for one in facts["sizes"] if one is not facts["odd"]), None),
)
_sizes_entry(
    "vmap_keyword",
    texts.VMAP_RANK,
    texts.VMAP_SIZES,
    x=_by_keyword,
    odd=lambda facts: next((one for one in facts["sizes"] if one["name"] == facts["x"]), None),
    when=lambda facts: facts.found.groups() in ((), ("0", "0")),
    title="`jax.vmap` maps over arguments given by keyword too",
    what=(
        "`{x}` has {odd[size]} entries along its first axis, and `{other[name]}` has {other[size]} along its mapped "
        "axis.",
        "`{x}` is one number, of shape ().",
    ),
    why="What is given by keyword is mapped along axis 0, and `in_axes` says nothing about it.",
    fixes=[
        "If every call is to get all of `{x}`: bind it before, with `functools.partial`.",
        "If every call is to get one entry of it: make {other[size]} of them.",
    ],
)
_sizes_entry(
    "vmap_sizes",
    texts.VMAP_SIZES,
    x=probes.one_of(lambda facts: facts["odd"]["part"], lambda facts: facts["sizes"][-1]["name"]),
    odd=_odd_size,
    when=[
        probes.unless(probes.in_library),  # the names are those of its own functions
        lambda facts: not any(one["name"].startswith("args[") for one in facts["sizes"]),
    ],
    title="`jax.vmap` maps over sizes that differ",
    what="`{sizes[0][name]}` and `{sizes[1][name]}` are mapped together, and have {sizes[0][size]} and "
    "{sizes[1][size]} entries there.",
    why="`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each.",
    fixes=[
        Either(
            Words(
                "If each entry of `{odd[name]}` is to get a key of its own: split {odd[size]} keys, not {other[size]}.",
                when=lambda facts: facts["other"]["count"] == "one" and _is_keys(facts["other"]["part"]),
            ),
            "If one entry of each belongs to every call: make as many of one as of the other.",
        ),
        Either(
            Swap(
                "If every call is to get all of `{x}`: hand it over whole.", when=probes.knows("odd"), slot="{filled}"
            ),
            "If every call is to get all of one: give None for it in `in_axes`, also inside a dict or a tuple.",
        ),
    ],
)


def _one_for_each(facts: Facts) -> str | None:
    """Say `in_axes` for all arguments: those that it leaves out are mapped if they are as long as the mapped ones."""
    shapes, axes = [one.shape for one in facts["arguments"]], facts["axes"][: int(facts["g1"])]
    pairs = [(shape, int(axis)) for shape, axis in zip(shapes, axes, strict=False) if axis.isdigit()]
    lengths = {shape[axis] for shape, axis in pairs if axis < len(shape)}
    rest = ["0" if lengths.intersection(shape[:1]) else "None" for shape in shapes[len(axes) :]]
    return _in_a_tuple([*axes, *rest]) if lengths else None


def _is_for_one_argument(facts: Facts) -> bool:
    """Ask whether a dict is given as `in_axes` where the mapped function is called with one argument."""
    outer: Any = facts.scene.source.parents.get(facts.node("made"))
    is_called = isinstance(outer, ast.Call) and outer.func is facts.node("made")
    return isinstance(facts.node("x"), ast.Dict) and is_called and len([*outer.args, *outer.keywords]) == 1


_in = partial(
    _vmap,
    x=probes.fact("in_axes"),
    variable="in_axes",
    what="`in_axes={x}` is given.",
)
_out = partial(
    _vmap,
    x=probes.argument(2, "out_axes", of="made"),
    variable="out_axes",
)
_in(
    "vmap_in_axes",
    texts.VMAP_IN_AXES,
    entries=probes.counted("g1", "entry", "entries"),
    count=probes.counted("g2", "positional argument", "positional arguments"),
    one_for_each=_one_for_each,
    title="`in_axes` does not fit the arguments",
    what="`in_axes={x}` has {entries}, and the call has {count}.",
    why="There is one entry of `in_axes` for each positional argument: its axis, or None to hand it over whole.",
    fixes=Either(
        Words(
            "Give by position what `in_axes` counts: it says nothing about keywords.",
            when=lambda facts: bool(facts.call().keywords),
        ),
        Swap("Give one entry for each argument.", or_say=True, x="{one_for_each}"),
    ),
)
_in(
    "vmap_in_axes",
    texts.VMAP_IN_AXES_KIND,
    title="`in_axes` is not an int or a tuple",
    why="There is one entry of `in_axes` for each positional argument; a dict is such an entry, for one argument.",
    fixes=Either(
        Swap("Put it into a tuple with one entry for each argument.", when=_is_for_one_argument, x="({x},)"),
        "Give an int, or a tuple with one entry for each positional argument.",
    ),
    made=probes.call,  # JAX raises this error before the mapped function is called
)
_in(
    "vmap_nothing",
    texts.VMAP_ALL_NONE,
    title="`jax.vmap` has nothing to map over",
    what="Every entry of `in_axes` is None.",
    why="None hands an argument over whole; at least one must be taken apart, to say how many calls there are.",
    fixes="Give an axis, such as 0, for an argument that has a part for every call.",
)
_in(
    "vmap_axes_of_a_tree",
    texts.VMAP_PREFIX,
    title="`in_axes` has other parts than the argument",
    why="An entry of `in_axes` is one axis for the whole argument, or has the argument's own keys and parts.",
    fixes="Give one axis for all of it, or an axis, or None, for every part of the argument.",
)
_out(
    "vmap_out_axes",
    texts.VMAP_OUT_PREFIX,
    title="`out_axes` has other parts than the result",
    what="`out_axes={x}` is given.",
    why="`out_axes` is one axis for all of the result, or has the parts and keys that the function returns.",
    fixes="Give one axis for all of it, or an axis for each part of the result, in the same containers.",
)
_out(
    "vmap_out_axes",
    texts.VMAP_OUT_NONE,
    title="`out_axes=None` for a result that is mapped",
    what="The result of `{mapped}` differs from call to call.",
    why="None says that all calls give the same; this result depends on the mapped argument.",
    fixes=Swap("Stack the results along an axis: 0 is the first.", x="0"),
)
