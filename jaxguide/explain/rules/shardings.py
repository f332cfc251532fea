"""Explain how arrays are split over devices: specs and shardings that do not fit, and `jax.pmap`'s axis of devices."""

import ast
import dataclasses
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, sharding_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, Probe
from jaxguide.explain.mapped import as_written, axis_code, mapped_function, mapping, spec_name
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import parameters, part_of
from jaxguide.jaxpr.value_words import array_type

# `in_specs` and `out_specs` of `jax.shard_map`: their structure.


def _specs(facts: Facts) -> Part | None:
    """Look at `in_specs` or `out_specs`, as written where they are given or named."""
    made = facts.part("made")
    given = next((one.value for one in made.node.keywords if one.arg == f"{facts['side']}_specs"), None)  # type: ignore[attr-defined]
    node = as_written(made.source, made.node, given)
    return made.inside(node) if node is not None else None


def _spec(facts: Facts) -> Part | None:
    """Look at the one that the message counts as `in_specs[0]['w']`."""
    specs = facts.part("specs")
    found = part_of(specs.node, facts["path"]) if isinstance(specs.node, ast.expr) else None
    return specs.inside(found) if found is not None else None


def _left_out(facts: Facts) -> str | None:
    """Say the parameters that the call leaves out, if there is a spec for each parameter."""
    specs, values = int(facts["count"]), int(facts["values"])
    names = [one.arg for one in parameters(facts.node("function"))]
    return " and ".join(f"`{name}`" for name in names[values:]) if len(names) == specs > values else None


_SPECS: dict[str, Any] = {
    "x": probes.call,
    "made": mapping("shard_map"),
    "function": mapped_function,
    "specs": _specs,
    "spec": _spec,
    "P": spec_name,
    "link": sharding_texts.GUIDE,
}
_ENTRIES = "A `PartitionSpec` has an entry for each axis of an array: the mesh axis that splits it, or None."
_SPECS_WORDS: dict[str, Any] = {**_SPECS, "variable": "{side}_specs", "title": "`{side}_specs` does not fit"}
_STRUCTURE: dict[str, Any] = {
    **_SPECS_WORDS,
    "why": "`in_specs` has the structure of the tuple of arguments, and `out_specs` that of the result.",
}
entry(
    "shard_map_specs",
    sharding_texts.SPECS_LENGTH,
    noun=lambda facts: "argument" if facts["side"] == "in" else "result",
    entries=probes.counted("count", "entry", "entries"),
    said_values=lambda facts: probes.counted("values", facts["noun"], f"{facts['noun']}s")(facts),
    left_out=_left_out,
    what="`{side}_specs` has {entries}, for {said_values}.",
    why="There is one entry of `{side}_specs` for each {noun}: how it is split over the devices.",
    fixes="Give the call {left_out} too.",
    otherwise="Give one entry for each {noun}: `{P}()` for what every device has whole.",
    **_SPECS_WORDS,
)
entry(
    "shard_map_specs",
    sharding_texts.SPECS_LIST,
    what="`{side}_specs` is a list.",
    fixes=Swap("Give a tuple.", or_say=True, when=lambda facts: facts["specs"].count == 1, specs="({specs.items[0]},)"),
    **_STRUCTURE,
)
entry(
    "shard_map_specs",
    sharding_texts.SPECS_OF_ONE,
    what="`{side}_specs` is a {type}, and the function returns a single array.",
    fixes=Swap("Give the spec alone.", when=lambda facts: facts["specs"].count == 1, specs="{specs.items[0]}"),
    otherwise="Give one spec alone, or return as many arrays as there are specs.",
    **_STRUCTURE,
)
entry(
    "shard_map_specs",
    sharding_texts.SPECS_KEYS,
    given=lambda facts: facts.call().args[int(facts["number"])],
    given_keys=probes.listed("own"),
    spec_keys=probes.listed("keys"),
    what="`{given}` has the keys {given_keys}, and its entry of `{side}_specs` has {spec_keys}.",
    fixes="Give the specs the keys of the argument, or one spec for all of it.",
    **_STRUCTURE,
)
entry(
    "shard_map_specs",
    sharding_texts.SPECS_NO_SPEC,
    **{**_STRUCTURE, "title": "A spec that is not a `PartitionSpec`", "why": _ENTRIES},
    what="`{side}_specs{path}` is {text}, of type {type}.",
    fixes=Swap(
        "Put the name into a `PartitionSpec`.",
        when=lambda facts: facts["type"] == "str" and isinstance(facts.node("spec"), ast.Constant),
        spec="{P}({spec})",
    ),
    otherwise="Give a `PartitionSpec`, such as `{P}()`.",
)
entry(
    "shard_map_without_mesh",
    sharding_texts.NO_CONTEXT_MESH,
    x=mapping("shard_map"),
    made=mapping("shard_map"),
    when=probes.unless(probes.knows("mesh")),
    mesh=probes.keyword("mesh", of="made"),
    variable="mesh",
    title="`jax.shard_map` without a mesh",
    what="`{x}` names no mesh, and none is set.",
    why="The specs name axes of a mesh of devices: that of `mesh=`, or that of `jax.set_mesh`.",
    fixes="Give `mesh=`, or call the function inside `with jax.set_mesh(mesh):`.",
    link=sharding_texts.GUIDE,
)


# Specs of `jax.shard_map` and of shardings that do not fit the mesh or the array.


def _name_in(place: str) -> Probe:
    """Look at the only place in an expression where the name of the axis is written, if the mesh has one axis."""

    def found(facts: Facts) -> Part | None:
        part = facts.part(place)
        written = [one for one in ast.walk(part.node) if isinstance(one, ast.Constant) and one.value == facts["name"]]
        return part.inside(written[0]) if len(written) == len(probes.names_in_group(facts, "axes")) == 1 else None

    return found


def _argument(facts: Facts) -> Part | None:
    """Look at the argument, or the part of one, that the message counts as `args[0]['w']`."""
    given, number = facts.call().args, int(facts["number"])
    return dataclasses.replace(facts.at(given[number]), path=facts["inner"]) if number < len(given) else None


def _for_each(facts: Facts) -> str | None:
    """Say a spec for each argument in place of the one for all: the same, but the whole array for the one to blame."""
    count, number = len(facts.call().args), int(facts["number"])
    texts = [facts.say("{P}()" if i == number else "{specs}") for i in range(count)]
    return _tuple(texts) if not facts["path"] and not facts["inner"] else None


def _tuple(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _result(facts: Facts) -> Part | None:
    """Look at what the mapped function returns, if that is written as one and has one spec."""
    result: Part | None = probes.result_of("function")(facts)
    is_one = result is not None and not isinstance(result.node, ast.Tuple | ast.List | ast.Dict)
    return result if is_one and isinstance(facts.node("specs"), ast.Call) and not facts["path"] else None


def _is_scalar(facts: Facts) -> bool:
    return bool(facts["rank"] == "0")


def _axis_of_scalar(facts: Facts) -> str | None:
    """Say the axis that is said to split a number."""
    names = probes.names_in_group(facts, "split") if "'" in facts["split"] else []
    return axis_code(names) if _is_scalar(facts) and facts["length"] == "1" and len(names) == 1 else None


for _place, _phrase, _what, _link in (
    ("specs", sharding_texts.SPEC_NAME, "`{side}_specs`", sharding_texts.GUIDE),
    ("node", sharding_texts.MESH_NAME, "The spec", sharding_texts.PARALLEL),
):
    entry(
        "spec_names_no_axis",
        _phrase,
        **{**_SPECS, "link": _link},
        written=_name_in(_place),
        axis_names=probes.listed("axes"),
        one=lambda facts: probes.names_in_group(facts, "axes")[0],
        variable="{name}",
        title="A spec names an axis that the mesh does not have",
        what=f"{_what} has the axis `{{name}}`; the mesh has {{axis_names}}.",
        why="A spec says which axis of the mesh splits which axis of the array, by the names that the mesh gave them.",
        fixes=Swap("Write the name of the mesh's axis.", written='"{one}"'),
        otherwise="Write one of the names of the mesh, or give the mesh this one.",
    )
_TOO_LONG: dict[str, Any] = {
    "axes": probes.counted("rank", "axis", "axes"),
    "entries": probes.counted("length", "entry", "entries"),
    "at_most": probes.counted("rank", "entry", "entries"),
    "title": "A spec splits an axis that an array does not have",
    "why": "Each entry of a spec says how one axis of the array is split over the devices.",
}
_SHORTER = "Give it a spec with at most {at_most}."
_TO_ALL = "Give it whole to every device: `{P}()`."
entry(
    "spec_too_long",
    sharding_texts.IN_SPEC_RANK,
    **{**_SPECS, **_TOO_LONG, "x": _argument},
    for_each=_for_each,
    what="`{x}` is {array}, with {axes}, and its spec `P({split})` has {entries}.",
    fixes=Either(
        Words(_SHORTER, when=probes.unless(_is_scalar)),
        Swap(_TO_ALL, when=lambda facts: facts["path"] == f"[{facts['number']}]" and not facts["inner"], spec="{P}()"),
        Swap(_TO_ALL, specs="{for_each}"),
        "Give `{x}` a spec of its own, `{P}()`: every device then gets it whole.",
    ),
)
entry(
    "spec_too_long",
    sharding_texts.OUT_SPEC_RANK,
    **{**_SPECS, **_TOO_LONG, "x": probes.one_of(_result, probes.words("{applied}(...){inner}"))},
    result=_result,
    axis=_axis_of_scalar,
    what="`{x}` is {array}, with {axes}, and its spec `P({split})` has {entries}.",
    fixes=[
        Swap(
            "Keep every device's own value: give it an axis, along which they are put together.",
            when=probes.knows("axis"),
            result="{result.atom}[None]",
        ),
        Swap("Or sum them: the sum is the same on all devices.", result="{lax}.psum({result}, {axis})", specs="{P}()"),
    ],
    otherwise=Either(
        Words(_SHORTER, when=probes.unless(_is_scalar)),
        "Keep each device's own value by giving it an axis, or sum them with `lax.psum` and say `{P}()`.",
    ),
)
_UNEVEN: dict[str, Any] = {
    "padded": lambda facts: -(-int(facts["size"]) // int(facts["parts"])) * int(facts["parts"]),
    "kept": lambda facts: int(facts["size"]) // int(facts["parts"]) * int(facts["parts"]) or None,
    "title": "An axis that cannot be split evenly over the devices",
    "why": "Every device gets a part of the same size, and {parts} does not divide {size}.",
}
entry(
    "not_divisible",
    sharding_texts.INDIVISIBLE_SPEC,
    **{**_SPECS, **_UNEVEN, "x": _argument},
    axis_names=probes.listed("axes"),
    what="`{x}` is {array}: axis {axis} has {size} entries, for {parts} devices along {axis_names}.",
    fixes=[
        Words(
            (
                "Pad the axis to {padded} entries and leave the padding out of sums, or use {kept} of them.",
                "Pad the axis to {padded} entries and leave the padding out of sums.",
            )
        ),
        "Or use a mesh whose size divides {size}.",
    ],
)
# What the mapped function computes -> what combines it over devices, and how it is said.
_OVER_DEVICES = {
    "mean": ("pmean", "The mean over all devices: `lax.pmean`."),
    "sum": ("psum", "The sum over all devices: `lax.psum`."),
    "max": ("pmax", "The largest on any device: `lax.pmax`."),
    "min": ("pmin", "The smallest on any device: `lax.pmin`."),
}
entry(
    "not_replicated",
    sharding_texts.NOT_REPLICATED,
    **{**_SPECS, "x": probes.one_of(_result, probes.words("out_specs"))},
    result=_result,
    last=probes.last_of("made"),
    axis_names=probes.listed("axes"),
    axis=lambda facts: axis_code(probes.names_in_group(facts, "axes")),
    over=lambda facts: _OVER_DEVICES.get(called(facts.node("result"))),
    title="`out_specs` promises one value for all devices",
    what=(
        "`P({split})` leaves out {axis_names}, and JAX cannot prove that `{result}` is the same along it.",
        "`out_specs{path}` is `P({split})`, which leaves out {axis_names}; JAX cannot prove that all results are the "
        "same along it.",
    ),
    why="Where a spec leaves an axis out, JAX takes one device's value for all, so it asks for proof that they agree.",
    fixes=[
        Either(
            Swap("{over[1]}", result="{lax}.{over[0]}({result}, {axis})"),
            Swap(
                "What is gathered is the same on all devices, which JAX does not prove: switch the check off.",
                when=lambda facts: called(facts.node("result")) == "all_gather",
                last="{last}, check_vma=False",
            ),
            "If one value is meant, combine the devices' values: `lax.psum` or `lax.pmean` over {axis_names}.",
        ),
        "If every device's own part is meant, name {axis_names} in `out_specs`: the parts are then put together.",
    ],
)


def _put(facts: Facts) -> Part | None:
    """Look at what `jax.device_put` is given, or at its only part of the shape or rank that the message says."""
    if not probes.calls("device_put")(facts):
        return None
    given = facts.at(facts.call().args[0])
    if given.value_or_missing is MISSING:
        return None if isinstance(given.node, ast.Dict | ast.Tuple | ast.List) else given
    said = {name: text for name, text in facts.found.groupdict().items() if name in ("shape", "rank")}
    leaves = [part for part in _leaves(given) if all(text == str(_rank_or_shape(part, n)) for n, text in said.items())]
    return leaves[0] if len(leaves) == 1 else None


def _rank_or_shape(part: Part, name: str) -> object:
    return np.shape(part.value) if name == "shape" else np.ndim(part.value)


def _leaves(part: Part) -> list[Part]:
    """Return the arrays in the containers that an expression gives; the expression itself if its value is not known."""
    if part.value_or_missing is MISSING:
        return [part]
    leaves = jax.tree_util.tree_leaves_with_path(part.value)
    return [dataclasses.replace(part, path=jax.tree_util.keystr(path), held=leaf) for path, leaf in leaves]


_SHARDED: dict[str, Any] = {
    "put": _put,
    "x": probes.words(("{put}", "{f}(...){result}", "{argument}", "{f}(...)")),
    "subject": probes.words(
        ("`{put}`", "The result `{f}(...){result}`", "The argument `{argument}`", "An argument or a result of `{f}`")
    ),
    "P": spec_name,
    "when": lambda facts: facts.knows("put") or not probes.calls("device_put")(facts),
    "link": sharding_texts.PARALLEL,
}
entry(
    "not_divisible",
    sharding_texts.INDIVISIBLE,
    **_SHARDED,
    **_UNEVEN,
    what="{subject} has shape {shape}: axis {axis} has {size} entries, for {parts} parts.",
    fixes=[
        Words(("Pad the axis to {padded} entries, or keep {kept} of them.", "Pad the axis to {padded} entries.")),
        "Or leave that axis whole: an entry None in the spec, or `{P}()` for the whole array.",
    ],
)
entry(
    "spec_too_long",
    sharding_texts.SHARDING_RANK,
    sharding_texts.EXPLICIT_RANK,
    **_SHARDED,
    **_TOO_LONG,
    what="{subject} has {axes}, and its spec `P({split})` is for at least {length}.",
    fixes=Words("Give it a sharding of its own, with `{P}()`: every device gets it whole.", when=_is_scalar),
    otherwise=_SHORTER,
)
entry(
    "in_shardings",
    sharding_texts.IN_SHARDINGS_LENGTH,
    x=probes.call,
    entries=probes.counted("count", "entry", "entries"),
    arguments=probes.counted("values", "positional argument", "positional arguments"),
    variable="in_shardings",
    title="`in_shardings` does not fit the arguments",
    what="`in_shardings` has {entries}, and the call has {arguments}.",
    why="There is one entry for each positional argument; one sharding alone is for all of them.",
    fixes="Give one entry for each argument; None leaves an argument's sharding as it comes.",
    link=f"{error_texts.API}/jax.jit.html",
)
entry(
    "sharding_differs",
    sharding_texts.SHARDING_DIFFERS,
    x=lambda facts: probes.given(lambda value: is_array(value) and array_type(value) == facts["array"])(facts),
    title="An argument is not laid out as `in_shardings` says",
    what="`{x}` is laid out by `P({own})`, and `in_shardings` says `P({wanted})`.",
    why="`jax.jit` moves no array that was put somewhere on purpose: that would be slow, and nobody would see why.",
    fixes=[
        "Move it first, with `jax.device_put` and the sharding that is asked for.",
        "Or leave `in_shardings` out: `jax.jit` then takes the arguments as they lie.",
    ],
    link=sharding_texts.PARALLEL,
)


# The axis of devices of `jax.pmap`.


def _unlike(facts: Facts) -> Part | None:
    """Look at the first array that has not one entry for each device, if all shapes are known and none is mapped."""
    leaves = [leaf for one in facts.call().args for leaf in _leaves(facts.at(one))]
    wrong = [leaf for leaf in leaves if leaf.shape[:1] != (jax.device_count(),)]
    options = [one.arg for one in getattr(facts.node("made"), "keywords", [])]
    return wrong[0] if wrong and "in_axes" not in options and not facts.call().keywords else None


def _axes_of_pmap(facts: Facts) -> str | None:
    """Say `in_axes` that hand the arguments without an axis of devices whole to every device."""
    count = (jax.device_count(),)
    fits = [all(leaf.shape[:1] == count for leaf in _leaves(facts.at(one))) for one in facts.call().args]
    return _tuple(["0" if one else "None" for one in fits]) if any(fits) else None


_PMAP: dict[str, Any] = {
    "x": _unlike,
    "made": mapping("pmap"),
    "devices": lambda facts: jax.device_count(),
    "why": "`jax.pmap` takes one entry along the first axis of every array for each device.",
    "link": f"{error_texts.API}/jax.pmap.html",
}
entry(
    "pmap_axis",
    sharding_texts.PMAP_INDIVISIBLE,
    sharding_texts.PMAP_RANK,
    **_PMAP,
    when=probes.knows("axes"),
    axes=_axes_of_pmap,
    whole=lambda facts: facts.at(facts["x"].node),
    mapped=probes.argument(0, "fun", of="made"),
    title="`jax.pmap` maps over an axis of devices that is not there",
    what="`{x}` has shape {x.shape}, and {devices} devices take part.",
    fixes=[
        Swap("Hand `{whole}` whole to every device.", or_say=True, mapped="{mapped}, in_axes={axes}"),
        "Or repeat it for each device, along a new first axis.",
    ],
)
entry(
    "pmap_axis",
    sharding_texts.PMAP_INDIVISIBLE,
    structure_texts.SQUEEZED,
    **_PMAP,
    when=lambda facts: facts["x"].shape[:1] > (facts["devices"],),
    mapper=lambda facts: facts.part("made").inside(facts.node("made").func),
    said_devices=lambda facts: plural("{count} device", "{count} devices", facts["devices"]),
    size=lambda facts: facts["x"].shape[0],
    each=lambda facts: facts["size"] // facts["devices"] if facts["size"] % facts["devices"] == 0 else None,
    title="`jax.pmap` was given more entries than there are devices",
    what="`{x}` has shape {x.shape}, and there are {said_devices}.",
    fixes=[
        Words(
            (
                "Give each device {each} entries: shape ({devices}, {each}, ...), with `jax.vmap` inside.",
                "Pad it to a multiple of {devices}, give each device several, and use `jax.vmap` inside.",
            ),
            when=lambda facts: facts["devices"] > 1,
        ),
        Swap(
            "Or compute all {size} on one device, for a result with {size} entries.",
            when=lambda facts: (
                probes.others("")(facts) == f", {facts['x']}" and not getattr(facts.node("made"), "keywords", ())
            ),
            mapper="{jax}.vmap",
        ),
        "Or use `jax.shard_map`, which cuts an axis into as many parts as there are devices: its function gets a part, "
        "not one entry.",
    ],
)
