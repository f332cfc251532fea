"""Explain arguments, axes and results that do not fit `jax.vmap`."""

import ast
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, always, entry
from jaxguide.explain.known_facts import Condition, Facts, Part, known
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.scene import argument_of
from jaxguide.explain.transformed import parameters

_LINK = f"{texts.API}/jax.vmap.html"
_KEYWORDS = "What is given by keyword is mapped along axis 0, and `in_axes` says nothing about it."


# What `jax.vmap` maps over.


def _arguments(facts: Facts) -> list[Part] | None:
    """Find what the mapped function is given by position; not known if some of it is unpacked."""
    given = facts.call().args
    return None if any(isinstance(one, ast.Starred) for one in given) else [facts.at(one) for one in given]


def _axes(facts: Facts) -> list[str]:
    """Find the axis of each argument, as text."""
    given, count = argument_of(facts.node("made"), 1, "in_axes"), len(facts.call().args)
    if isinstance(given, ast.Tuple | ast.List):
        return [*(facts.scene.quote(one) for one in given.elts), *["0"] * count][:count]
    return [facts.scene.quote(given) if given is not None else "0"] * count


def _in_a_tuple(axes: list[str]) -> str:
    return axes[0] if len(axes) == 1 else f"({', '.join(axes)})"


def _axes_with(axis: str) -> Any:
    """Say `in_axes` with another axis for the argument `x`; nothing if no argument would be mapped."""

    def found(facts: Facts) -> str | None:
        pairs = zip(facts["arguments"], facts["axes"], strict=True)
        axes = [axis if one.node is facts.node("x") else own for one, own in pairs]
        return _in_a_tuple(axes) if {*axes} != {"None"} else None

    return found


def _with_axes(sentence: str, axes: str, when: Condition = always) -> Either:
    """Make the fix that writes `in_axes`."""
    return Either(Swap(sentence, in_axes=axes), Swap(sentence, mapped=f"{{mapped}}, in_axes={axes}"), when=when)


_VMAP: dict[str, Any] = {
    "made": probes.made_by("vmap"),
    "maker": lambda facts: facts.node("made").func,
    "mapped": probes.argument(0, "fun", of="made"),
    "in_axes": probes.argument(1, "in_axes", of="made"),
    "arguments": _arguments,
    "axes": _axes,
    "link": _LINK,
}


# An axis that is not there.


def _is_one_number(value: object) -> bool:
    return isinstance(value, int | float | complex) or (is_array(value) and np.ndim(value) == 0)


def _is_tree(value: object) -> bool:
    """Return whether a value is a pytree of parts, one of which has axes."""
    return not is_array(value) and any(is_array(leaf) and leaf.ndim for leaf in jax.tree.leaves(value))


def _records(facts: Facts) -> Part | None:
    """Look at an argument that is a list of dicts, tuples or other trees of one structure, one for each call."""
    return next((one for one in facts["arguments"] if _is_of_records(one.value_or_missing)), None)


def _is_of_records(value: object) -> bool:
    if not isinstance(value, list) or len(value) < 2 or any(jax.tree_util.all_leaves([one]) for one in value):
        return False
    return len({jax.tree.structure(one) for one in value}) == 1


def _list_of_numbers(facts: Facts) -> Part | None:
    """Look at an argument that is a list or tuple of numbers."""
    values = [(one, one.value_or_missing) for one in facts["arguments"]]
    lists = [(one, value) for one, value in values if isinstance(value, list | tuple) and value]
    return next((one for one, value in lists if all(isinstance(entry, int | float | complex) for entry in value)), None)


def _number_in_a_tree(facts: Facts) -> Part | None:
    """Look at a number in a mapped argument whose other parts have axes."""
    for part, axis in zip(facts["arguments"], facts["axes"], strict=True):
        value = part.value_or_missing
        for path, leaf in jax.tree_util.tree_leaves_with_path(value) if axis == "0" and _is_tree(value) else ():
            if _is_one_number(leaf):
                return Part(part.node, part.source, facts.scene, part.spot, jax.tree_util.keystr(path), leaf)
    return None


def _number_by_keyword(facts: Facts) -> str | None:
    """Say the name of the only number that is given by keyword."""
    found = [one.arg for one in facts.call().keywords if _is_one_number(facts.scene.spot.value(one.value))]
    return found[0] if len(found) == 1 else None


def _without_axis(facts: Facts) -> Part | None:
    """Look at the first argument that has as many axes as JAX says, and is mapped over the axis that it says."""
    for part, axis in zip(facts["arguments"], facts["axes"], strict=True):
        shape = computed_shape(facts.scene, part.node)
        if shape is not None and len(shape) == int(facts["g2"]) and axis == facts["g1"]:
            return part  # type: ignore[no-any-return]
    return None


def _is_number(facts: Facts) -> bool:
    """Ask whether JAX says that a number is mapped."""
    return (facts["g1"], facts["g2"]) == ("0", "0")


_RECORDS: dict[str, Any] = {
    **_VMAP,
    "title": "`jax.vmap` was given a list to go through",
    "what": "`{x}` is {x.what} here.",
    "why": "`jax.vmap` maps over an axis of every array, not over the items of a list: a list is a pytree for JAX.",
    "fixes": [
        Swap(
            "Stack them into one tree of arrays, whose first axis counts them.",
            x="{jax}.tree.map(lambda *leaves: {jnp}.stack(leaves), *{x.atom})",
        )
    ],
}
_MISSING: dict[str, Any] = {**_VMAP, "title": "`jax.vmap` maps over an axis that is not there"}
entry("vmap_of_records", texts.VMAP_RANK, x=_records, when=lambda facts: facts["g2"] == "0", **_RECORDS)
entry(
    "vmap_axis",
    texts.VMAP_RANK,
    x=_number_in_a_tree,
    when=_is_number,
    what="`{x}` is one number, of shape ().",
    why="`jax.vmap` takes an axis away from every leaf of an argument, and this one has none.",
    fixes=["Hand `{x}` whole to every call: make its entry of `in_axes` such a tree, with None there."],
    **_MISSING,
)
entry(
    "vmap_keyword",
    texts.VMAP_RANK,
    x=_number_by_keyword,
    when=_is_number,
    title="`jax.vmap` maps over arguments given by keyword too",
    what="`{x}` is one number, of shape ().",
    why=_KEYWORDS,
    fixes=["Give `{x}` by position, with None in `in_axes`; or bind it before, with `functools.partial`."],
    **_VMAP,
)
entry(
    "vmap_of_a_list",
    texts.VMAP_RANK,
    x=_list_of_numbers,
    when=lambda facts: facts["g2"] == "0",
    title="`jax.vmap` was given a list of numbers",
    why="A list is a pytree of numbers for JAX, and `jax.vmap` looks for an axis in each of them.",
    fixes=[Swap("Make one array of it.", x="{jnp}.array({x})")],
    **_VMAP,
)
entry(
    "vmap_axis",
    texts.VMAP_RANK,
    x=_without_axis,
    when=lambda facts: not facts.call().keywords and not isinstance(facts.node("mapped"), ast.Call),
    array=lambda facts: facts["x"].is_here if is_array(facts.value("x")) else None,
    count=probes.counted("g2", "axis", "axes"),
    whole=_axes_with("None"),
    first=_axes_with("0"),
    what=("{array}", "`{x}` has {count}."),
    why="Axis {g1} was asked for, and it has {g2}: `jax.vmap` takes an axis away from each argument.",
    fixes=[
        Either(
            _with_axes("Map over an axis that it has: 0 is the first.", "{first}", lambda facts: facts["g2"] != "0"),
            _with_axes("Hand `{x}` whole to every call.", "{whole}"),
            Swap("One number needs no `vmap`: call the function itself.", made="{mapped.atom}"),
        )
    ],
    **_MISSING,
)


def _given_list(facts: Facts) -> Part | None:
    """Look at the list of trees that the caller gives to `jax.vmap`, and that is still whole in the mapped function."""
    node, caller = facts.scene.node, facts["caller"]
    value: Any = facts.scene.spot.value(node.value) if isinstance(node, ast.Subscript) else None
    call = caller.source.around(caller.node, ast.Call)
    leaves = [one for one in jax.tree.leaves(value) if is_tracer(one) and facts.scene.under(one) == "jax.vmap"]
    given = [caller.inside(one) for one in call.args] if call is not None and isinstance(value, list) and leaves else []
    lists = [one for one in given if _is_of_records(one.value_or_missing) and len(one.value) == len(value)]
    return lists[0] if len(lists) == 1 else None


entry("vmap_of_records", texts.LIST_BY_KEY, x=_given_list, caller=probes.caller, line="caller", **_RECORDS)


# Sizes that differ.


class _Size(NamedTuple):
    """A size along the mapped axes, as JAX's message lists it.

    Args:
        size: the size.
        alone: whether only one array has it.
        name: how the student names this array.
        argument: the argument in the call that has it; None if it is not known.
        keyword: whether it is given by keyword.
    """

    size: int
    alone: bool
    name: str
    argument: Part | None
    keyword: bool


def _sizes(facts: Facts) -> list[_Size]:
    """Find the sizes that JAX lists, with the arguments of the call behind its names."""
    names = [one.arg for one in parameters(facts.node("body"))] if facts.knows("body") else []
    given = facts["arguments"] if facts.knows("made", "arguments") else []
    sizes = []
    for one in texts.VMAP_AXIS_SIZES.finditer(facts.scene.message):
        said = known(texts.VMAP_AXIS_NAME.match(one["name"]))
        number = int(said["number"] or (names.index(said["name"]) if said["name"] in names else len(given)))
        part = given[number] if number < len(given) and not said["key"] else None
        name = f"{part}{said['path']}" if part is not None else said["key"] or one["name"]
        sizes.append(_Size(int(one["size"]), one["count"] == "one", name, part, bool(said["key"])))
    return sizes


def _keyword_size(facts: Facts) -> _Size | None:
    """Find the size of what is given by keyword, the last one in the call."""
    given = [one.arg for one in facts.call().keywords]
    found: list[_Size] = [one for one in facts["sizes"] if one.keyword and one.alone and one.name in given]
    return max(found, key=lambda one: given.index(one.name)) if found and len(facts["sizes"]) == 2 else None


def _is_keys(part: Part | None) -> bool:
    value: Any = part.value_or_missing if part is not None else None
    is_raw = getattr(value, "dtype", None) == np.uint32 and value.shape[1:] == (2,)
    return is_raw or bool(jax.dtypes.issubdtype(getattr(value, "dtype", None), jax.dtypes.prng_key))


def _odd_size(facts: Facts) -> _Size | None:
    """Find the size that was perhaps not meant to be mapped, of two arguments: a tree's beside arrays, or the last.

    Keys are meant: no call needs all of them.
    """
    sizes: list[_Size] = facts["sizes"]
    nodes = [one.argument.node for one in sizes if one.argument is not None]
    if len(sizes) != 2 or len(set(nodes)) != 2:
        return None
    trees = [one for one in sizes if one.argument and not jax.tree_util.all_leaves([one.argument.value_or_missing])]
    odd = trees[0] if len(trees) == 1 else next((one for one in sizes[::-1] if one.alone), sizes[-1])
    return next((one for one in sizes if one is not odd), odd) if _is_keys(odd.argument) else odd


def _other_size(facts: Facts) -> _Size | None:
    """Find the other size."""
    sizes: list[_Size] = facts["sizes"]
    return next((one for one in sizes if one is not facts["odd"]), None)


_SIZES: dict[str, Any] = {
    **_VMAP,
    "body": probes.definition(probes.argument(0, "fun", of="made")),
    "sizes": _sizes,
    "other": _other_size,
}
_SAME_SIZES = "`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each."
entry(
    "vmap_keyword",
    texts.VMAP_SIZES,
    x=lambda facts: facts["odd"].name,
    odd=_keyword_size,
    title="`jax.vmap` maps over arguments given by keyword too",
    what="`{x}` has {odd.size} entries along its first axis, and `{other.name}` has {other.size} along its mapped "
    "axis.",
    why=_KEYWORDS,
    fixes=[
        "If every call is to get all of `{x}`: bind it before, with `functools.partial`.",
        "If every call is to get one entry of it: make {other.size} of them.",
    ],
    **_SIZES,
)
entry(
    "vmap_sizes",
    texts.VMAP_SIZES,
    x=lambda facts: facts["odd"].argument,
    odd=_odd_size,
    whole=_axes_with("None"),
    mapped_alone=lambda facts: facts["axes"] if len(facts["axes"]) == 2 and "None" not in facts["axes"] else None,
    title="`jax.vmap` maps over sizes that differ",
    what="`{sizes[0].name}` and `{sizes[1].name}` are mapped together, and have {sizes[0].size} and {sizes[1].size} "
    "entries there.",
    why=_SAME_SIZES,
    fixes=[
        Either(
            Words(
                "If each entry of `{odd.name}` is to get a key of its own: split {odd.size} keys, not {other.size}.",
                when=lambda facts: facts["other"].alone and _is_keys(facts["other"].argument),
            ),
            "If one entry of each belongs to every call: make as many of one as of the other.",
        ),
        _with_axes("If every call is to get all of `{x}`: hand it over whole.", "{whole}"),
        Swap(
            "If every pair is meant: map over one after the other, for a result with both sizes.",
            when=lambda facts: facts["odd"].alone,
            made="{maker}({maker}({mapped}, in_axes=(None, {mapped_alone[1]})), in_axes=({mapped_alone[0]}, None))",
        ),
    ],
    **_SIZES,
)
entry(
    "vmap_sizes",
    texts.VMAP_SIZES,
    x=lambda facts: facts["sizes"][-1].name,
    when=[
        probes.unless(probes.in_library),  # the names are those of its own functions
        lambda facts: len(facts["sizes"]) > 1 and not any(one.name.startswith("args[") for one in facts["sizes"]),
    ],
    by_keyword=lambda facts: _KEYWORDS if any(one.keyword for one in facts["sizes"]) else None,
    all=lambda facts: " and ".join(f"`{one.name}` {one.size}" for one in facts["sizes"][:3]),
    title="`jax.vmap` maps over sizes that differ",
    what="Along the mapped axis, the arguments have these sizes: {all}.",
    why=("{by_keyword}", _SAME_SIZES),
    fixes=[
        "Give None in `in_axes` for what every call is to get whole, also inside a dict or a tuple.",
        "Of what every call is to get one entry of, make as many as of the others.",
    ],
    **_SIZES,
)


# `in_axes` that do not fit the arguments.


def _one_for_each(facts: Facts) -> str | None:
    """Say `in_axes` for all arguments: those that it leaves out are mapped if they are as long as the mapped ones."""
    shapes, axes = [one.shape for one in facts["arguments"]], facts["axes"][: int(facts["g1"])]
    if not all(axis == "None" or axis.isdigit() for axis in axes):
        return None
    mapped = [(shape, int(axis)) for shape, axis in zip(shapes, axes, strict=False) if axis != "None"]
    lengths = {shape[axis] for shape, axis in mapped if axis < len(shape)}
    rest = ["0" if shape and (not lengths or shape[0] in lengths) else "None" for shape in shapes[len(axes) :]]
    return f"({', '.join([*axes, *rest])}{',' if len(shapes) == 1 else ''})"


def _is_one_tuple(facts: Facts) -> bool:
    """Ask whether the only argument is a tuple of as many entries as `in_axes` has."""
    if len(facts["arguments"]) != 1:
        return False
    only = facts["arguments"][0]
    return int(facts["g1"]) == (len(only.value) if isinstance(only.value_or_missing, tuple) else only.count)


def _is_for_one_argument(facts: Facts) -> bool:
    """Ask whether a dict is given as `in_axes` where the mapped function is called with one argument."""
    outer: Any = facts.scene.source.parents.get(facts.node("made"))
    is_called = isinstance(outer, ast.Call) and outer.func is facts.node("made")
    return isinstance(facts.node("x"), ast.Dict) and is_called and len([*outer.args, *outer.keywords]) == 1


_GIVEN: dict[str, Any] = {**_VMAP, "x": probes.argument(1, "in_axes", of="made"), "variable": "in_axes"}
entry(
    "vmap_in_axes",
    texts.VMAP_IN_AXES,
    entries=probes.counted("g1", "entry", "entries"),
    count=probes.counted("g2", "positional argument", "positional arguments"),
    one_for_each=_one_for_each,
    title="`in_axes` does not fit the arguments",
    what="`in_axes={x}` has {entries}, and the call has {count}.",
    why="There is one entry of `in_axes` for each positional argument: its axis, or None to hand it over whole.",
    fixes=[
        Either(
            Words(
                "Give by position what `in_axes` counts: it says nothing about keywords.",
                when=lambda facts: bool(facts.call().keywords),
            ),
            Swap("Give the entries of the one tuple in a tuple of their own.", when=_is_one_tuple, x="({x},)"),
            Swap("Give one entry for each argument.", x="{one_for_each}"),
            "Give one entry for each argument.",
        )
    ],
    **_GIVEN,
)
entry(
    "vmap_in_axes",
    texts.VMAP_IN_AXES_KIND,
    x=probes.argument(1, "in_axes", of="made"),
    variable="in_axes",
    made=probes.call,  # JAX raises this error before the mapped function is called
    title="`in_axes` is not an int or a tuple",
    what="`in_axes={x}` is given.",
    why="There is one entry of `in_axes` for each positional argument; a dict is such an entry, for one argument.",
    fixes=[
        Either(
            Swap("Put it into a tuple with one entry for each argument.", when=_is_for_one_argument, x="({x},)"),
            "Give an int, or a tuple with one entry for each positional argument.",
        )
    ],
    link=_LINK,
)


def _tree_of_axes(facts: Facts) -> tuple[Part, Part] | None:
    """Find the first entry of `in_axes` that is a container, and its argument."""
    pairs = zip(facts["in_axes"].items, facts["arguments"], strict=False)
    return next((pair for pair in pairs if isinstance(pair[0].node, ast.Dict | ast.List | ast.Tuple)), None)


entry(
    "vmap_nothing",
    texts.VMAP_ALL_NONE,
    x=probes.made_by("vmap"),
    variable="in_axes",
    title="`jax.vmap` has nothing to map over",
    what="Every entry of `in_axes` is None.",
    why="None hands an argument over whole; at least one must be taken apart, to say how many calls there are.",
    fixes=[
        "Give an axis, such as 0, for an argument that has a part for every call.",
    ],
    **_VMAP,
)
entry(
    "vmap_axes_of_a_tree",
    texts.VMAP_PREFIX,
    x=lambda facts: facts["pair"][0],
    variable="in_axes",
    pair=_tree_of_axes,
    title="`in_axes` has other parts than the argument",
    what="`{x}` is given for `{pair[1]}`.",
    why="An entry of `in_axes` is one axis for the whole argument, or has the argument's own keys and parts.",
    fixes=[
        "Give one axis for all of it, or an axis, or None, for every part of the argument.",
    ],
    **_VMAP,
)


# `out_axes` that do not fit the result.


def _only_axis(facts: Facts) -> int | None:
    """Find the only axis that `out_axes` names."""
    axes = {one.value for one in ast.walk(facts.node("x")) if isinstance(one, ast.Constant) and type(one.value) is int}
    return axes.pop() if len(axes) == 1 else None


_OUT: dict[str, Any] = {**_VMAP, "x": probes.argument(2, "out_axes", of="made"), "variable": "out_axes"}
entry(
    "vmap_out_axes",
    texts.VMAP_OUT_PREFIX,
    axis=_only_axis,
    title="`out_axes` has other parts than the result",
    what="`out_axes={x}` is given.",
    why="`out_axes` is one axis for all of the result, or has the parts and keys that the function returns.",
    fixes=[
        Either(
            Swap("Give one axis for all of it.", x="{axis}"),
            "Give an axis for each part of the result, in the same containers.",
        )
    ],
    **_OUT,
)
entry(
    "vmap_out_axes",
    texts.VMAP_OUT_NONE,
    title="`out_axes=None` for a result that is mapped",
    what="The result of `{mapped}` differs from call to call.",
    why="None says that all calls give the same; this result depends on the mapped argument.",
    fixes=[Swap("Stack the results along an axis: 0 is the first.", x="0")],
    **_OUT,
)
