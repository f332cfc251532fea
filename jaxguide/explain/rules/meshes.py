"""Explain meshes: their devices, names of axes, explicit axes, and values that differ from device to device.

`jax.make_mesh` makes explicit axes, whose split is part of an array's type, and JAX does not guess it;
`jax.sharding.Mesh` makes automatic ones, where the compiler chooses.
"""

import ast
import math
import re
from typing import Any

from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts, sharding_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Probe
from jaxguide.explain.mapped import axis_code, mapping_outside, spec_name
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import part_of

# Names of axes that nothing binds, in `lax.psum` and the like.


def _axis_argument(facts: Facts) -> ast.expr | None:
    """Look at what a collective of `jax.lax` is given as the name of the axis."""
    place = 0 if probes.calls("axis_index", "axis_size")(facts) else 1
    return argument_of(facts.call(), place, "axis_name") if probes.calls_of(sharding_texts.COLLECTIVES)(facts) else None


def _bound_names(facts: Facts) -> list[str] | None:
    """Return the names of the axes that the mapping around gives."""
    mesh, name = (facts.value(word) for word in ("mesh", "axis_name"))
    names = getattr(mesh, "axis_names", [name] if isinstance(name, str) else [])
    return [str(one) for one in names] or None


_NAME: dict[str, Any] = {
    "x": probes.call,
    "made": mapping_outside("vmap", "pmap", "shard_map"),
    "mesh": probes.keyword("mesh", of="made"),
    "axis_name": probes.keyword("axis_name", of="made"),
    "names": _bound_names,
    "variable": "{name}",
    "title": "No axis has the name `{name}`",
    "what": "`{f}` works across the axis that is called `{name}`.",
    "link": f"{error_texts.API}/jax.lax.psum.html",
}
entry(
    "axis_name",
    sharding_texts.UNBOUND_AXIS,
    sharding_texts.BARE_ASSERTION,
    **_NAME,
    place=_axis_argument,
    name=lambda facts: facts.value("place"),  # `BARE_ASSERTION` does not say it
    when=lambda facts: isinstance(facts["name"], str) and facts["name"] not in facts["names"],
    bound=lambda facts: " and ".join(f"`{one}`" for one in facts["names"]),
    why="The function is mapped over {bound} here, and the name must be the same on both sides.",
    fixes=[
        Swap(
            "Write the name that the axis has.",
            when=lambda facts: isinstance(facts.node("place"), ast.Constant) and len(facts["names"]) == 1,
            place='"{names[0]}"',
        ),
        Swap(
            "Give the axis that name, where it is mapped.",
            when=probes.is_written("axis_name", ast.Constant),
            axis_name='"{name}"',
        ),
    ],
    otherwise="Write one of the names that the axes have.",
)
entry(
    "axis_name",
    sharding_texts.UNBOUND_AXIS,
    **_NAME,
    when=lambda facts: called(facts.node("made")) in ("vmap", "pmap") and not facts.knows("axis_name"),
    last=probes.last_of("made"),
    why="An axis gets its name where it is mapped, and `jax.{made.name}` gives none here.",
    fixes=Swap("Name the axis where it is mapped.", last='{last}, axis_name="{name}"'),
)
entry(
    "axis_name",
    sharding_texts.UNBOUND_AXIS,
    **_NAME,
    why="An axis gets its name from the `jax.shard_map`, `jax.vmap` or `jax.pmap` around, and none gives this one.",
    fixes=(
        "Call it in a function that `jax.shard_map` runs on a mesh with an axis `{name}`, or that `jax.vmap` maps with "
        '`axis_name="{name}"`.'
    ),
)


# Values under `jax.shard_map` that differ from device to device, where others are the same on all. The message has the
# axes along which they differ `before` and `after`, such as `{V:x}` and `{V:(x,y)}`.


def _axes(facts: Facts, group: str) -> set[str]:
    return set(re.findall(r"\w+", facts.found[group] or "")) - {"V"}


def _between(facts: Facts) -> list[str]:
    """Return the axes along which one differs and the other does not."""
    return sorted(_axes(facts, "before") ^ _axes(facts, "after"))


def _gains(facts: Facts) -> bool:
    """Ask whether what comes after differs along more axes."""
    return _axes(facts, "before") < _axes(facts, "after")


def _carry_name(facts: Facts) -> str:
    """Say the part of the carry in the student's words."""
    name = probes.loop_carry(facts) if facts.knows("body") else None
    return str(facts["path"]) if name is None else str(facts["path"]).replace("loop_carry[1]", name)


def _start(facts: Facts) -> ast.AST | None:
    """Look at the initial value of the only part of the carry that the message names, if it is written there."""
    start: ast.expr | None = probes.loop_start(facts)
    is_only_one = facts.scene.message.count("but the corresponding output") == 1
    path = re.sub(r"^(?:loop_carry\[1\]|\w+)", "", facts["path"])
    return part_of(start, path) if start is not None and is_only_one else None


_IN_TYPE = "Under `jax.shard_map`, the axes along which a value differs from device to device are part of its type, and"
_VARIES: dict[str, Any] = {
    "along": lambda facts: " and ".join(f"`{axis}`" for axis in _between(facts)),
    "link": f"{sharding_texts.GUIDE}#scan-vma",
}
_CARRY: dict[str, Any] = {
    **_VARIES,
    "x": _carry_name,
    "body": probes.loop_body,
    "title": "A carry that differs between devices on one side of the loop only",
    "why": f"{_IN_TYPE} a carry keeps its type.",
}
_START = "Start with a value that may differ along {along}: `jax.lax.pcast`."
entry(
    "carry_varies",
    sharding_texts.CARRY_VARIES,
    **_CARRY,
    when=_gains,
    start=_start,
    axis=lambda facts: axis_code(_between(facts)),
    what="`{x}` goes in the same on all devices, and comes out different along {along}.",
    fixes=Swap(_START, start='{lax}.pcast({start}, {axis}, to="varying")'),
    otherwise=_START,
)
entry(
    "carry_varies",
    sharding_texts.CARRY_VARIES,
    **_CARRY,
    what="`{x}` goes in different along {along}, and comes out the same on all devices.",
    fixes=[
        "Let what comes out count as differing along {along}, as what goes in: `jax.lax.pcast`.",
        "Or start with a value that is the same on all devices.",
    ],
)


def _same_branch(facts: Facts) -> ast.expr | None:
    """Look at the branch whose result is the same on all devices, which JAX calls `true_fun` or `branch1`."""
    branches = getattr(argument_of(facts.call(), 1, "branches"), "elts", facts.call().args[1:3])
    number = re.sub(r"\D", "", facts["same"]) or int(facts["same"] == "false_fun")
    return branches[int(number)] if int(number) < len(branches) else None


entry(
    "branch_varies",
    sharding_texts.BRANCH_VARIES,
    **_VARIES,
    same=lambda facts: facts["one" if _gains(facts) else "other"],
    differs=lambda facts: facts["other" if _gains(facts) else "one"],
    branch=probes.definition(_same_branch),
    x=probes.one_of(probes.result_of("branch"), probes.fact("same")),
    title="Only one branch gives a result that differs between devices",
    why=f"{_IN_TYPE} all branches give one type.",
    what="What `{differs}` gives differs along {along}, and what `{same}` gives is the same on all devices.",
    fixes="Let the result of `{same}` count as differing along {along}: `jax.lax.pcast`.",
)
entry(
    "backward_rule_varies",
    sharding_texts.BACKWARD_VARIES,
    **{**_VARIES, "x": probes.fact("along")},
    when=_gains,
    variable=None,
    title="A backward rule that leaves out the sum over devices",
    what=(
        "What the bwd rule gives for argument {number} differs along {along}, and the argument does not.",
        "What the bwd rule gives differs along {along}, and the argument that it belongs to does not.",
    ),
    why="An argument that all devices share acts on every device, so its derivative is the sum over all of them.",
    fixes="Sum it in the bwd rule: `jax.lax.psum` over {along}, if the argument has no such axes.",
)


# Explicit axes.

_AUTOMATIC = (
    "Or let the compiler choose, with automatic axes: `jax.make_mesh(..., axis_types=(jax.sharding.AxisType.Auto, "
    "...))`."
)
_EXPLICIT: dict[str, Any] = {
    "x": probes.node,
    "P": spec_name,
    "why": "With explicit axes, how an array is split is part of its type, and JAX does not guess it.",
    "link": sharding_texts.EXPLICIT,
}


def _asked(facts: Facts) -> object:
    """Look at the function that can be told how its result is split."""
    is_product = isinstance(getattr(facts.scene.node, "op", None), ast.MatMult)
    return facts.say("{jnp}.matmul") if is_product else getattr(facts.scene.node, "func", None)


entry(
    "explicit_result",
    sharding_texts.EXPLICIT_RESHAPE,
    sharding_texts.EXPLICIT_CONTRACTION,
    sharding_texts.EXPLICIT_RESULT,
    sharding_texts.EXPLICIT_SCATTER,
    **_EXPLICIT,
    asked=_asked,
    title="How a result is split over the devices is not clear",
    what="`{x}` works across an axis that is split over the devices.",
    fixes=[
        "Say how the result is split: `{asked}(..., out_sharding={P}(...))`; `{P}()` gives it whole to every device.",
        _AUTOMATIC,
    ],
)
entry(
    "explicit_index",
    sharding_texts.EXPLICIT_GATHER,
    **{**_EXPLICIT, "x": probes.one_of(probes.holder, probes.node)},
    index=lambda facts: getattr(facts.scene.node, "slice", None),
    title="An index into an axis that is split over the devices",
    what="`{node}` works on {array}, where `@` names the mesh axis that splits an axis.",
    fixes=[
        Either(
            Swap(
                "Say how the result is split; `{P}()` gives it whole to every device.",
                node="{x.atom}.at[{index}].get(out_sharding={P}())",
            ),
            "Index with `.at[...].get(out_sharding={P}(...))`, which says how the result is split.",
        ),
        _AUTOMATIC,
    ],
)
entry(
    "explicit_operands",
    sharding_texts.EXPLICIT_OPERANDS,
    **{**_EXPLICIT, "x": probes.fact("right")},
    title="Operands that are split differently over the devices",
    what="`{left}` is split by {one}, and `{right}` by {other}.",
    fixes=[
        Swap(
            "Split one like the other first: `jax.sharding.reshard`.",
            or_say=True,
            when=lambda facts: facts["left"].shape == facts["right"].shape,
            right="{jax}.sharding.reshard({right}, {jax}.typeof({left}).sharding)",
        ),
        _AUTOMATIC,
    ],
)
entry(
    "explicit_operands",
    sharding_texts.EXPLICIT_CONCATENATE,
    **{**_EXPLICIT, "x": probes.argument(0)},
    title="Operands that are split differently over the devices",
    what="The arrays in `{x}` are not split alike.",
    fixes=["Split all of them alike first: `jax.sharding.reshard`.", _AUTOMATIC],
)


def _unsplit(type_text: str) -> str:
    """Return a type such as `float32[8@x]` without its axes of the mesh."""
    return re.sub(r"@[\w(),]*?(?=[,\]])", "", type_text)


entry(
    "explicit_carry",
    sharding_texts.EXPLICIT_CARRY,
    **{**_EXPLICIT, "x": probes.words("{path}")},
    when=lambda facts: facts["before"] != facts["after"] and _unsplit(facts["before"]) == _unsplit(facts["after"]),
    title="A carry that changes how it is split over the devices",
    what="`{x}` goes in as {before} and comes out as {after}.",
    fixes=["Start with an array that is split as a turn gives it: `jax.sharding.reshard`.", _AUTOMATIC],
)
entry(
    "constraint_with_explicit_axes",
    sharding_texts.CONSTRAINT_DIFFERS,
    sharding_texts.CONSTRAINT_EXPLICIT,
    **{**_EXPLICIT, "x": lambda facts: facts.call().args[0] if len(facts.call().args) == 2 else None},
    title="`with_sharding_constraint` on a mesh with explicit axes",
    what="`{right}` names axes that are explicit, and `{x}` is not split so.",
    fixes=[
        Either(
            Swap(
                "Ask for the split: `jax.sharding.reshard`.",
                when=lambda facts: isinstance(facts.scene.error, AssertionError),  # a mesh is set
                f="{jax}.sharding.reshard",
            ),
            "Ask for the split: `jax.sharding.reshard`, inside `with jax.set_mesh(mesh):`.",
        ),
        _AUTOMATIC,
    ],
)
entry(
    "spec_without_mesh",
    sharding_texts.CONSTRAINT_NO_MESH,
    x=probes.argument(1, "shardings"),
    title="A spec without a mesh",
    what="`{x}` names axes, and no mesh is set.",
    why="A spec names axes of a mesh; a `NamedSharding` carries its mesh.",
    fixes=[
        "Give a `jax.sharding.NamedSharding(mesh, {x})`.",
        "Or call the function inside `with jax.set_mesh(mesh):`.",
    ],
    link=sharding_texts.PARALLEL,
)
entry(
    "specs_of_another_split",
    sharding_texts.SPECS_OF_EXPLICIT,
    x=probes.words(("{argument}", "{array}")),
    argument=lambda facts: facts.call().args[0] if len(facts.call().args) == 1 else None,
    title="`in_specs` that differ from how an argument is split",
    what="`{x}` is split by `P({own})`, and `in_specs` says `P({wanted})`.",
    why="With explicit axes, which `jax.make_mesh` makes, `shard_map` moves no data: both must say the same.",
    fixes=["Split the argument that way first, with `jax.device_put`.", _AUTOMATIC],
    link=sharding_texts.EXPLICIT,
)
entry(
    "out_sharding_of_automatic_axes",
    sharding_texts.SPEC_OF_AUTO,
    x=probes.words("{axis}"),
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
    link=sharding_texts.EXPLICIT,
)


# Meshes and devices.


def _is_on(group: str) -> Probe:
    """Look at the array on the devices that a group of the message lists."""

    def found(facts: Facts) -> Any:
        ids = [int(number) for number in re.findall(r"\d+", facts[group])]
        return probes.one_of(*(probe(lambda value: _devices(value) == ids) for probe in (probes.first, probes.leaf)))(
            facts
        )

    return found


def _devices(value: Any) -> list[int] | None:
    return sorted(device.id for device in value.devices()) if is_array(value) and not is_tracer(value) else None


def _fits(facts: Facts) -> bool:
    """Ask whether an array can be split as the other one is."""
    try:
        facts.value("target").sharding.shard_shape(facts.value("x").shape)
    except (ValueError, IndexError):
        return False
    return True


def _axes_of(group: str) -> Probe:
    """Say the axes of a mesh in the message, with their sizes."""
    return lambda facts: ", ".join(f"`{name}` ({size})" for name, size in re.findall(r"'(\w+)': (\d+)", facts[group]))


entry(
    "devices_differ",
    sharding_texts.DEVICES_DIFFER,
    x=_is_on("other"),
    target=_is_on("one"),
    title="Arrays on different devices",
    what="`{target}` is on the devices {one}, and `{x}` on the devices {other}.",
    why="One computation runs on one set of devices, and JAX moves no array that was put somewhere on purpose.",
    fixes=Swap("Move one to where the other is: `{x}`.", when=_fits, x="{jax}.device_put({x}, {target.atom}.sharding)"),
    otherwise="Move `{x}` with `jax.device_put` to the devices of `{target}`, before `{node}`.",
    link=f"{error_texts.API}/jax.device_put.html",
)
entry(
    "meshes_differ",
    sharding_texts.MESHES_DIFFER,
    sharding_texts.CONTEXT_MESH_DIFFERS,
    x=_axes_of("one"),
    y=_axes_of("other"),
    variable=None,
    title="Arrays of different meshes",
    what="Two meshes meet here: one with the axes {x}, another with {y}.",
    why="With explicit axes, the mesh is part of an array's type, and one computation works on one mesh.",
    fixes=[
        "Make the mesh once, and use it for all arrays and in `jax.set_mesh`.",
        "Or move the array to the other mesh with `jax.device_put`.",
    ],
    link=sharding_texts.EXPLICIT,
)
entry(
    "mesh_names",
    sharding_texts.MESH_RANK,
    x=probes.argument(0),
    variable=None,
    axes=probes.counted("rank", "axis", "axes"),
    said_names=probes.counted("names", "name", "names"),
    title="A mesh needs a name for each of its axes",
    what="The devices have {axes}, and the mesh gets {said_names}.",
    why="A mesh is an array of devices, whose axes have names.",
    fixes=Either(
        Swap(
            "Give a list of devices, also of a single one.",
            when=lambda facts: (facts["rank"], facts["names"]) == ("0", "1"),
            x="[{x}]",
        ),
        Words("Give one name for each size.", when=probes.calls("make_mesh")),
        "Arrange the devices along as many axes as there are names: `jax.make_mesh(sizes, names)` does it.",
    ),
    link=f"{error_texts.API}/jax.make_mesh.html",
)
entry(
    "mesh_too_large",
    sharding_texts.MESH_DEVICES,
    x=probes.node,
    variable=None,
    found=probes.counted("devices", "device", "devices"),
    needed=lambda facts: math.prod(int(size) for size in re.findall(r"\d+", facts["shape"])),
    title="A mesh of more devices than there are",
    what="The mesh has shape {shape}, and JAX finds {found}.",
    why="Each place of a mesh is a device of its own.",
    fixes=[
        "Take the sizes from `jax.device_count()`.",
        "To try it out on a CPU: set the environment variable `XLA_FLAGS` to "
        "`--xla_force_host_platform_device_count={needed}` before JAX starts.",
    ],
    link=f"{error_texts.API}/jax.make_mesh.html",
)
