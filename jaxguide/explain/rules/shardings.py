"""Explain how arrays are split over devices: names of axes, specs of `jax.shard_map`, shardings, meshes, `jax.pmap`.

`jax.make_mesh` makes explicit axes, whose split is part of an array's type, and JAX does not guess it;
`jax.sharding.Mesh` makes automatic ones, where the compiler chooses.
"""

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import UserFrame, is_array, is_tracer
from jaxguide.compat import error_texts, structure_texts
from jaxguide.compat import sharding_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, known
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind, makers, parameters, part_of


def _axes(facts: Facts) -> str:
    """Say the names of axes in the message as code: `"x"`, or `("x", "y")`."""
    names = [f'"{name}"' for name in probes.names_in_group(facts, "axes")]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _made(facts: Facts, spot: UserFrame, *kinds: str) -> Part | None:
    """Look at the call of `jax.shard_map` or the like, or of `functools.partial` with it, that made what is called."""
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    if call is None:
        return None
    source, function = function_behind(spot, call.func) or (None, None)
    decorators = getattr(function, "decorator_list", []) if source is spot.source else []
    for one in [*makers(facts.scene.at(spot), call), *(one for one in decorators if isinstance(one, ast.Call))]:
        maker = one.args[0] if called(one) == "partial" and one.args else one.func
        if dotted(maker).split(".")[-1] in kinds:
            return facts.at(one, spot)
    return None


@probes.probe_maker
def _mapping_outside(facts: Facts, *kinds: str) -> Part | None:
    """Look at the only call of `jax.shard_map` or the like that made a function which is running around this one."""
    made = [one for spot in facts.scene.spots[:-1] if (one := _made(facts, spot, *kinds)) is not None]
    return made[0] if len(made) == 1 else None


def _mapped_function(facts: Facts) -> Part | None:
    """Look at the definition of the function that the call `made` maps."""
    made = facts.part("made")
    outer = made.source.parents.get(made.node)
    if isinstance(outer, ast.FunctionDef):  # a decorator
        return made.inside(outer)
    place = function_behind(facts.scene.spot, argument_of(facts.node("made"), 0, "f"))
    return Part(place[1], place[0], facts.scene) if place is not None else None


def _axis_argument(facts: Facts) -> ast.expr | None:
    """Look at what a collective of `jax.lax` is given as the name of the axis."""
    place = 0 if probes.calls("axis_index", "axis_size")(facts) else 1
    return argument_of(facts.call(), place, "axis_name") if probes.calls_of(texts.COLLECTIVES)(facts) else None


def _bound_names(facts: Facts) -> list[str] | None:
    """Return the names of the axes that the mapping around gives, if this one is not among them."""
    named = facts.value("axis_name")
    names = [*getattr(facts.value("mesh"), "axis_names", [named] if isinstance(named, str) else [])]
    return names if names and isinstance(facts["name"], str) and facts["name"] not in names else None


entry(
    "axis_name",
    texts.UNBOUND_AXIS,
    texts.BARE_ASSERTION,
    x=probes.call,
    place=_axis_argument,
    name=lambda facts: facts.value("place"),  # `BARE_ASSERTION` does not say it
    made=_mapping_outside("vmap", "pmap", "shard_map"),
    mesh=probes.keyword("mesh", of="made"),
    axis_name=probes.keyword("axis_name", of="made"),
    names=_bound_names,
    bound=lambda facts: " and ".join(f"`{one}`" for one in facts["names"]),
    unnamed=lambda facts: facts["made"] if facts["made"].name in ("vmap", "pmap") else None,
    last=probes.last_of("made"),
    when=lambda facts: facts.knows("names") or isinstance(facts.scene.error, NameError),
    variable="{name}",
    title="No axis has the name `{name}`",
    what="`{f}` works across the axis that is called `{name}`.",
    why=(
        "The function is mapped over {bound} here, and the name must be the same on both sides.",
        "An axis gets its name where it is mapped, and `jax.{unnamed.name}` gives none here.",
        "An axis gets its name from the `jax.shard_map`, `jax.vmap` or `jax.pmap` around, and none gives this one.",
    ),
    fixes=[
        Swap(
            "Write the name that the axis has.",
            when=lambda facts: isinstance(facts.node("place"), ast.Constant) and len(facts["names"]) == 1,
            place='"{names[0]}"',
        ),
        Swap(
            "Name the axis where it is mapped.",
            when=lambda facts: facts.knows("unnamed") and not facts.knows("axis_name"),
            last='{last}, axis_name="{name}"',
        ),
    ],
    otherwise="Call it in a function that `jax.shard_map` runs on a mesh with an axis `{name}`, or that `jax.vmap` "
    'maps with `axis_name="{name}"`.',
    link=f"{error_texts.API}/jax.lax.psum.html",
)
entry(
    "carry_varies",
    texts.CARRY_VARIES,
    body=probes.loop_body,
    x=lambda facts: facts["path"].replace("loop_carry[1]", facts["named"]),
    named=probes.one_of(probes.loop_carry, probes.words("loop_carry[1]")),
    start=lambda facts: part_of(known(probes.loop_start(facts)), re.sub(r"^(loop_carry\[1\]|\w+)", "", facts["path"])),
    along=probes.listed("axes"),
    axis=_axes,
    title="A carry that differs between devices on one side of the loop only",
    what="`{x}` goes in the same on all devices, and comes out different along {along}.",
    why="Under `jax.shard_map`, the axes along which a value differs from device to device are part of its type, and "
    "a carry keeps its type.",
    fixes=Swap(
        "Start with a value that may differ along {along}: `jax.lax.pcast`.",
        or_say=True,
        when=lambda facts: facts.scene.message.count("but the corresponding output") == 1,
        start='{lax}.pcast({start}, {axis}, to="varying")',
    ),
    link=f"{texts.GUIDE}#scan-vma",
)

# What only some of the messages say.
_UNSAID: dict[str, Any] = dict.fromkeys(
    ("number", "inner", "path", "name", "array", "applied", "argument", "result", "count"), lambda facts: None
)
_specs: Callable[..., None] = partial(
    entry,
    **_UNSAID,
    made=lambda facts: _made(facts, facts.scene.spot, "shard_map"),
    function=_mapped_function,
    specs=lambda facts: probes.keyword(facts["name"], of="made")(facts),
    spec=lambda facts: part_of(facts.node("specs"), facts["path"]),
    passed=lambda facts: argument_of(facts.call(), int(facts["number"])),
    returned=lambda facts: (
        probes.result_of("function")(facts) if (facts["name"], facts["path"]) == ("out_specs", "") else None
    ),
    put=lambda facts: (
        probes.given(lambda value: is_array(value) or isinstance(value, float))(facts)
        if probes.calls("device_put")(facts)
        else None
    ),
    axis_names=probes.listed("axes"),
    x=probes.call,
    subject=probes.words(
        (
            "`{passed}{inner}`",
            "`{returned}`",
            "`{put}`",
            "The result `{f}(...){result}`",
            "The argument `{argument}`",
            "An argument or a result of `{f}`",
        )
    ),
    link=texts.GUIDE,
)


def _left_out(facts: Facts) -> str | None:
    """Say the parameters that the call leaves out, if there is a spec for each parameter."""
    specs, values = int(facts["count"]), int(facts["values"])
    names = [one.arg for one in parameters(facts.node("function"))]
    is_for_each = facts["name"] == "in_specs" and len(names) == specs > values
    return " and ".join(f"`{name}`" for name in names[values:]) if is_for_each else None


_BLAMED = ("{passed}{inner}", "{returned}", "{put}", "{f}(...)")
_specs(
    "shard_map_specs",
    texts.SPECS_LENGTH,
    texts.SHARDINGS_LENGTH,
    texts.SPECS_STRUCTURE,
    entries=probes.counted("count", "entry", "entries"),
    noun=lambda facts: "argument" if facts["name"].startswith("in") else "result",
    said_values=lambda facts: probes.counted("values", facts["noun"], f"{facts['noun']}s")(facts),
    left_out=_left_out,
    variable="{name}",
    title="`{name}` does not fit",
    what=("`{name}` has {entries}, for {said_values}.", ""),
    why="`in_specs` or `in_shardings` has the structure of the tuple of arguments, and `out_specs` that of the result.",
    fixes=Either(
        "Give the call {left_out} too.",
        Words("Give one entry for each {noun}, `P()` for what every device has whole.", when=probes.knows("entries")),
    ),
    otherwise="Give tuples and dicts like those of the values, with a `PartitionSpec` for each array, or one for all.",
)
_specs(
    "spec_too_long",
    texts.SPEC_RANK,
    texts.SHARDING_RANK,
    axes=probes.counted("rank", "axis", "axes"),
    entries=probes.counted("length", "entry", "entries"),
    variable=_BLAMED,
    title="A spec splits an axis that an array does not have",
    what=(
        "{subject} is {array}, with {axes}, and its spec `P({split})` has {entries}.",
        "{subject} has {axes}, and its spec is for more.",
    ),
    why="Each entry of a spec says how one axis of the array is split over the devices.",
    fixes=Either(
        Swap(
            "Give it whole to every device: `P()`.",
            when=lambda facts: facts["path"] == f"[{facts['number']}]{facts['inner']}",
            spec="{jax}.P()",
        ),
        Words(
            "Keep each device's own value by giving it an axis, or sum them with `lax.psum` and say `P()`.",
            when=probes.knows("applied"),
        ),
        "Give it a spec of its own, `P()`: every device then gets it whole.",
    ),
)
_specs(
    "not_divisible",
    texts.INDIVISIBLE_SPEC,
    texts.INDIVISIBLE,
    padded=lambda facts: -(-int(facts["size"]) // int(facts["parts"])) * int(facts["parts"]),
    kept=lambda facts: int(facts["size"]) // int(facts["parts"]) * int(facts["parts"]) or None,
    variable=_BLAMED,
    title="An axis that cannot be split evenly over the devices",
    what=(
        "{subject} is {array}: axis {axis} has {size} entries, for {parts} parts.",
        "{subject} has shape {shape}: axis {axis} has {size} entries, for {parts} parts.",
    ),
    why="Every device gets a part of the same size, and {parts} does not divide {size}.",
    fixes=[
        Words(("Pad the axis to {padded} entries, or keep {kept} of them.", "Pad the axis to {padded} entries.")),
        "Or leave that axis whole: an entry None in the spec, or `P()` for the whole array.",
    ],
    link=texts.PARALLEL,
)
_specs(
    "not_replicated",
    texts.NOT_REPLICATED,
    axis=_axes,
    over=lambda facts: facts["returned"].name if facts["returned"].name in ("mean", "sum", "max", "min") else None,
    variable=("{returned}", "out_specs"),
    title="`out_specs` promises one value for all devices",
    what=(
        "`P({split})` leaves out {axis_names}, and JAX cannot prove that `{returned}` is the same along it.",
        "`out_specs{path}` is `P({split})`, which leaves out {axis_names}; JAX cannot prove that all results are the "
        "same along it.",
    ),
    why="Where a spec leaves an axis out, JAX takes one device's value for all, so it asks for proof that they agree.",
    fixes=[
        Either(
            Swap("The {over} over all devices: `lax.p{over}`.", returned="{lax}.p{over}({returned}, {axis})"),
            Words(
                "What is gathered is the same on all devices, which JAX does not prove: give `check_vma=False`.",
                when=lambda facts: called(facts.node("returned")) == "all_gather",
            ),
            "If one value is meant, combine the devices' values: `lax.psum` or `lax.pmean` over {axis_names}.",
        ),
        "If every device's own part is meant, name {axis_names} in `out_specs`: the parts are then put together.",
    ],
)


def _devices(value: Any) -> str:
    """Say the devices on which an array was put; '' for arrays that JAX itself moves."""
    is_put = isinstance(value, jax.Array) and not is_tracer(value) and value.committed
    return str(sorted(one.id for one in value.devices())) if is_put else ""


def _fits(facts: Facts) -> bool:
    """Ask whether an array can be split as the other one is."""
    try:
        facts.value("target").sharding.shard_shape(facts.value("x").shape)
    except (ValueError, IndexError):
        return False
    return True


entry(
    "devices_differ",
    texts.DEVICES_DIFFER,
    x=lambda facts: probes.leaf(lambda value: _devices(value) == facts["other"])(facts),
    target=lambda facts: probes.leaf(lambda value: _devices(value) == facts["one"])(facts),
    title="Arrays on different devices",
    what="`{target}` is on the devices {one}, and `{x}` is on the devices {other}.",
    why="One computation runs on one set of devices, and JAX does not move an array that you placed on purpose.",
    fixes=Swap("Move `{x}` to where `{target}` is.", when=_fits, x="{jax}.device_put({x}, {target.atom}.sharding)"),
    otherwise="Move `{x}` with `jax.device_put` to the devices of `{target}`, before `{node}`.",
    link=f"{error_texts.API}/jax.device_put.html",
)
_AUTOMATIC = (
    "Or let the compiler choose, with automatic axes: `jax.make_mesh(..., axis_types=(jax.sharding.AxisType.Auto, "
    "...))`, where `jax.device_put` with a `NamedSharding` splits arrays."
)
_explicit = partial(
    entry,
    why="With explicit axes, how an array is split is part of its type, and JAX does not guess it.",
    link=texts.EXPLICIT,
)
_explicit(
    "explicit_result",
    texts.EXPLICIT_RESULT,
    x=probes.node,
    asked=lambda facts: getattr(facts.scene.node, "func", facts.say("{jnp}.matmul")),
    title="It is not clear how the result is split over the devices",
    what="`{x}` works across an axis that is split over the devices.",
    fixes=[
        "Say how the result is split: `{asked}(..., out_sharding=P(...))`; `P()` gives it whole to every device.",
        _AUTOMATIC,
    ],
)
_explicit(
    "explicit_index",
    texts.EXPLICIT_GATHER,
    x=probes.one_of(probes.holder, probes.node),
    index=lambda facts: getattr(facts.scene.node, "slice", None),
    title="Indexing an axis that is split over the devices",
    what="`{node}` indexes {array}, where `@` names the mesh axis over which an axis is split.",
    fixes=[
        Swap(
            "Say how the result is split; `P()` gives it whole to every device.",
            or_say=True,
            node="{x.atom}.at[{index}].get(out_sharding={jax}.P())",
        ),
        _AUTOMATIC,
    ],
)


entry(
    "out_sharding_of_automatic_axes",
    texts.SPEC_OF_AUTO,
    x=probes.fact("axis"),
    split_by=probes.keyword("out_sharding"),
    others=lambda facts: probes.others("split_by")(facts).removeprefix(", "),
    title="A split is asked for along an axis that the compiler splits",
    what="`{function}` is given `P({split})`, and the axis `{axis}` of the mesh is automatic.",
    why="Along automatic axes the compiler chooses the split; only for explicit ones it can be said in the program.",
    fixes=[
        Swap(
            "Give the compiler a hint: `lax.with_sharding_constraint`.",
            call="{lax}.with_sharding_constraint({f}({others}), {split_by})",
        ),
        "Or make the mesh with explicit axes: `jax.make_mesh(..., axis_types=(jax.sharding.AxisType.Explicit, ...))`.",
    ],
    link=texts.EXPLICIT,
)


def _in_axes(facts: Facts) -> str | None:
    """Say `in_axes` that hand the arguments without an axis of devices whole to every device."""
    values = [facts.at(one).value for one in facts.call().args]
    fits = [all(np.shape(one)[:1] == (facts["devices"],) for one in jax.tree.leaves(value)) for value in values]
    return str(tuple(0 if one else None for one in fits)) if any(fits) and not facts.knows("in_axes") else None


_pmap = partial(
    entry,
    x=lambda facts: probes.leaf(lambda one: is_array(one) and one.shape[:1] != (facts["devices"],), "call")(facts),
    made=lambda facts: _made(facts, facts.scene.spot, "pmap"),
    mapper=probes.function_of("made"),
    mapped=probes.argument(0, "fun", of="made"),
    in_axes=probes.keyword("in_axes", of="made"),
    devices=lambda facts: jax.device_count(),
    why="`jax.pmap` takes one entry along the first axis of every array for each device.",
    link=f"{error_texts.API}/jax.pmap.html",
)
_pmap(
    "pmap_axis",
    texts.PMAP,
    axes=_in_axes,
    when=probes.knows("axes"),
    whole=lambda facts: facts["x"].node,
    title="`jax.pmap` maps over an axis of devices that is not there",
    what="`{x}` has shape {x.shape}, and {devices} devices take part.",
    fixes=[
        Swap("Hand `{whole}` whole to every device.", or_say=True, mapped="{mapped}, in_axes={axes}"),
        "Or repeat it for each device, along a new first axis.",
    ],
)
_pmap(
    "pmap_axis",
    texts.PMAP,
    structure_texts.SQUEEZED,
    when=lambda facts: facts.knows("made") and facts["x"].shape[:1] > (facts["devices"],),
    title="`jax.pmap` was given more entries than there are devices",
    what="`{x}` has shape {x.shape}, and `jax.device_count()` is {devices}.",
    fixes=[
        Words(
            "Pad it to a multiple of {devices}, give each device several, and use `jax.vmap` inside: shape ({devices}, "
            "n, ...).",
            when=lambda facts: facts["devices"] > 1,
        ),
        Swap(
            "Or compute all on one device, with `jax.vmap`.",
            when=lambda facts: facts.say("{f}({given})") == facts.say("{mapper}({mapped})({x})"),
            mapper="{jax}.vmap",
        ),
        "Or use `jax.shard_map`, which cuts an axis into as many parts as there are devices: its function gets a part, "
        "not one entry.",
    ],
)
