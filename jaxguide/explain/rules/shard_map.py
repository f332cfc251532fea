"""Explain `in_specs` and `out_specs` of `jax.shard_map` that do not fit the arguments, the results or the mesh."""

import ast
import re

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import sharding_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.mapped import Mapped, mapped, spec_name
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import parameters, returned


@explains(sharding_texts.SPECS_LENGTH)
def specs_count(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_specs` or `out_specs` with more or fewer entries than there are arguments or results."""
    side, path, specs, values = found[2], found[3], int(found[4]), int(found[5])
    place = mapped(scene.spot, "shard_map")
    if place is None or path or place.call is None:
        return None
    entries = plural("{count} entry", "{count} entries", specs)
    if side == "in":
        what = "`in_specs` has {entries}, and the call has {arguments}.".format(
            entries=entries, arguments=plural("{count} argument", "{count} arguments", values)
        )
        why = "There is one entry of `in_specs` for each argument: how it is split over the devices."
        names = [a.arg for a in parameters(place.function[1])] if place.function is not None else []
        if len(names) == specs > values:
            missing = " and ".join(f"`{name}`" for name in names[values:])
            advice = f"Give the call {missing} too."
        elif specs > values:
            advice = "Give the call all arguments, or leave out the entries that are too many."
        else:
            advice = f"Give an entry for each argument: `{spec_name(scene)}()` for what every device gets whole."
    else:
        what = "`out_specs` has {entries}, and the function returns {results}.".format(
            entries=entries, results=plural("{count} result", "{count} results", values)
        )
        why = "There is one entry of `out_specs` for each result: how the devices' parts are put together."
        advice = f"Give an entry for each result: `{spec_name(scene)}()` for what is the same on all devices."
    return scene.explanation(
        "shard_map_specs",
        title="`{specs}` does not fit".format(specs=f"{side}_specs"),
        what=what,
        variable=f"{side}_specs",
        why=why,
        fixes=[scene.advice(advice)],
        link=sharding_texts.GUIDE,
    )


@explains(sharding_texts.SPECS_TYPE)
def specs_of_another_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a list of specs, and a tuple of `out_specs` for a single result."""
    side, path, kind, other = found[1], found[2], found[3], found[4]
    place = mapped(scene.spot, "shard_map")
    given = place.specs(side) if place is not None else None
    if place is None or path:
        return None
    fix: Fix | None = None
    if kind == "list" and other == "tuple":
        what = "`{specs}` is a list.".format(specs=f"{side}_specs")
        advice = "Give a tuple."
        if isinstance(given, ast.List) and given.elts and place.call is not None:
            count = len(place.call.args) if side == "in" else None
            if count in (None, len(given.elts)):
                text = ", ".join(place.source.quote(e) for e in given.elts)
                new = f"({text},)" if len(given.elts) == 1 else f"({text})"
                fix = scene.fix(advice, place.source.replace(given, new))
    elif kind in ("tuple", "list") and side == "out" and "Tracer" in other:
        what = f"`out_specs` is a {kind}, and the function returns a single array."
        advice = "Give one spec alone, or return as many arrays as there are specs."
        if isinstance(given, ast.Tuple | ast.List) and len(given.elts) == 1:
            fix = scene.fix("Give the spec alone.", place.source.replace(given, place.source.quote(given.elts[0])))
    else:
        return None
    return scene.explanation(
        "shard_map_specs",
        title="`{specs}` does not fit".format(specs=f"{side}_specs"),
        what=what,
        variable=f"{side}_specs",
        why="`in_specs` has the structure of the tuple of arguments, and `out_specs` that of the result.",
        fixes=[fix or scene.advice(advice)],
        link=sharding_texts.GUIDE,
    )


@explains(sharding_texts.SPECS_KEYS)
def specs_with_other_keys(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a dict of specs whose keys are not those of the dict that they are for."""
    side, path = found[1], found[2]
    place = mapped(scene.spot, "shard_map")
    number = re.fullmatch(r"\[(\d+)\]", path)
    if place is None or place.call is None or side != "in" or number is None:
        return None
    index = int(number[1])
    specs = place.specs(side)
    entry = specs.elts[index] if isinstance(specs, ast.Tuple) and index < len(specs.elts) else None
    given = place.call.args[index] if index < len(place.call.args) else None
    value, wanted = scene.spot.value(entry), scene.spot.value(given)
    keys = _keys(entry) if value is MISSING else sorted(map(str, value)) if isinstance(value, dict) else None
    own = _keys(given) if wanted is MISSING else sorted(map(str, wanted)) if isinstance(wanted, dict) else None
    if keys is None or own is None or keys == own or given is None:
        return None
    lacks = [key for key in own if key not in keys]
    more = [key for key in keys if key not in own]
    said = [f"no spec for {_listed(lacks)}"] if lacks else []
    said += [f"a spec for {_listed(more)}, which is not there"] if more else []
    return scene.explanation(
        "shard_map_specs",
        title="`{specs}` does not fit".format(specs=f"{side}_specs"),
        what="For `{name}`, `in_specs` has {said}.".format(name=scene.quote(given), said=" and ".join(said)),
        variable=f"{side}_specs",
        why="An entry of `in_specs` is one spec for the whole argument, or has the argument's own keys and parts.",
        fixes=[scene.advice("Give the specs the keys of the argument, or one spec for all of it.")],
        link=sharding_texts.GUIDE,
    )


def _keys(node: ast.expr | None) -> list[str] | None:
    if not isinstance(node, ast.Dict) or not all(isinstance(key, ast.Constant) for key in node.keys):
        return None
    return sorted(str(key.value) for key in node.keys if isinstance(key, ast.Constant))


def _listed(keys: list[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


@explains(sharding_texts.SPECS_NO_SPEC)
def specs_of_strings(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain the name of an axis, or something else, in the place of a `PartitionSpec`."""
    said = sharding_texts.NO_SPEC.search(scene.message)
    place = mapped(scene.spot, "shard_map")
    if said is None or place is None:
        return None
    side, path, text, kind = said.groups()
    given = place.specs(side)
    index = re.fullmatch(r"\[(\d+)\]", path)
    if index is not None and isinstance(given, ast.Tuple | ast.List) and int(index[1]) < len(given.elts):
        given = given.elts[int(index[1])]
    elif path:
        given = None
    fix: Fix | None = None
    spec = spec_name(scene)
    if kind == "str" and isinstance(given, ast.Constant):
        fix = scene.fix(
            "Put the name into a `PartitionSpec`.",
            place.source.replace(given, f"{spec}({place.source.quote(given)})"),
        )
    return scene.explanation(
        "shard_map_specs",
        title="A spec that is not a `PartitionSpec`",
        what="`{specs}` is {text}, of type {kind}.".format(specs=f"{side}_specs{path}", text=text, kind=kind),
        variable=f"{side}_specs",
        why="A `PartitionSpec` has an entry for each axis of an array: the mesh axis that splits it, or None.",
        fixes=[fix or scene.advice(f"Give a `PartitionSpec`, such as `{spec}()`.")],
        link=sharding_texts.GUIDE,
    )


@explains(sharding_texts.SPEC_NAME)
def spec_of_another_mesh(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a spec with the name of an axis that the mesh does not have."""
    side, axes, name = found[1], re.findall(r"'(\w+)'", found[2]), found[4]
    place = mapped(scene.spot, "shard_map")
    if place is None or not axes:
        return None
    specs = place.specs(side)
    edits = _renamed(place, [specs], name, axes[0]) if len(axes) == 1 else []
    sentence = "Write the name of the mesh's axis."
    return scene.explanation(
        "spec_names_no_axis",
        title="A spec names an axis that the mesh does not have",
        what="`{specs}` has the axis `{name}`; the mesh has {axes}.".format(
            specs=f"{side}_specs", name=name, axes=_listed(axes)
        ),
        variable=name,
        why="A spec says which axis of the mesh splits which axis of the array, by the names that the mesh gave them.",
        fixes=[
            scene.fix(sentence, *edits)
            if edits
            else scene.advice("Write one of the names of the mesh, or give the mesh this one.")
        ],
        link=sharding_texts.GUIDE,
    )


def _renamed(place: Mapped, nodes: list[ast.expr | None], old: str, new: str) -> list[Edit | None]:
    """Return the edits that write another name of an axis in all calls of `PartitionSpec` in some expressions."""
    return [
        place.source.replace(constant, f'"{new}"')
        for node in nodes
        if node is not None
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant) and constant.value == old
    ]


@explains(sharding_texts.SPEC_RANK)
def spec_too_long(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a spec that splits more axes than an array has, such as any spec with a name for a scalar."""
    side = found[1]
    said = sharding_texts.SPEC_RANKS.search(scene.message)
    place = mapped(scene.spot, "shard_map")
    if said is None or place is None or place.call is None:
        return None
    spec_path, spec, length, path, parameter, array, rank = said.groups()
    return (_argument_too_flat if side == "in" else _result_too_flat)(
        scene, place, spec_path, spec, int(length), path, parameter, array, int(rank)
    )


def _argument_too_flat(
    scene: Scene,
    place: Mapped,
    spec_path: str,
    spec: str,
    length: int,
    path: str,
    parameter: str | None,
    array: str,
    rank: int,
) -> Explanation | None:
    assert place.call is not None
    top = re.match(r"\[(\d+)\]", path)
    if top is None or int(top[1]) >= len(place.call.args):
        return None
    index, inner = int(top[1]), path[top.end() :]
    text = _argument(scene, place.call.args[index], parameter if inner else None) + inner
    specs = place.specs("in")
    whole = f"{spec_name(scene)}()"
    edit: Edit | None = None
    if rank == 0 and not inner:
        if isinstance(specs, ast.Tuple) and spec_path == f"[{index}]" and index < len(specs.elts):
            edit = place.source.replace(specs.elts[index], whole)
        elif specs is not None and not isinstance(specs, ast.Tuple | ast.List) and not spec_path:
            each = [whole if i == index else place.source.quote(specs) for i in range(len(place.call.args))]
            edit = place.source.replace(specs, f"({', '.join(each)}{',' if len(each) == 1 else ''})")
    sentence = f"Give it whole to every device: `{whole}`."
    if rank:
        sentence = "Give it a spec with at most {count}.".format(count=plural("{count} entry", "{count} entries", rank))
    elif inner:
        sentence = f"Give `{text}` a spec of its own, `{whole}`: every device then gets it whole."
    return _too_long(scene, text, spec, length, array, rank, [scene.fix(sentence, edit) or scene.advice(sentence)])


def _result_too_flat(
    scene: Scene,
    place: Mapped,
    spec_path: str,
    spec: str,
    length: int,
    path: str,
    parameter: str | None,
    array: str,
    rank: int,
) -> Explanation | None:
    result = returned(place.function[1]) if place.function is not None else None
    source = place.function[0] if place.function is not None else None
    specs = place.specs("out")
    fixes: list[Fix | None] = []
    name = re.findall(r"'(\w+)'", spec)
    text = f"{_name(place)}(...){path}"
    if result is not None and source is not None and not path:
        text = source.quote(result)
        if rank == 0 and length == 1 and len(name) == 1:
            sentence = "Keep every device's own value: give it an axis, along which they are put together."
            shaped = f"{source.atom(result)}[None]"
            fixes.append(scene.fix(sentence, source.replace(result, shaped)))
            if specs is not None and not isinstance(specs, ast.Tuple | ast.List | ast.Dict) and not spec_path:
                sentence = "Or sum them: the sum is the same on all devices."
                summed = source.replace(result, f'{scene.lax}.psum({text}, "{name[0]}")')
                fixes.append(scene.fix(sentence, summed, place.source.replace(specs, f"{spec_name(scene)}()")))
    if not any(fixes):
        fixes.append(
            scene.advice(
                "Keep each device's own value by giving it an axis, or sum them with `lax.psum` and say "
                "`{spec}`.".format(spec=f"{spec_name(scene)}()")
                if rank == 0
                else "Give it a spec with at most {count}.".format(
                    count=plural("{count} entry", "{count} entries", rank)
                )
            )
        )
    return _too_long(scene, text, spec, length, array, rank, fixes)


def _name(place: Mapped) -> str:
    return (
        place.function[1].name if place.function is not None and isinstance(place.function[1], ast.FunctionDef) else "f"
    )


def _argument(scene: Scene, node: ast.expr, parameter: str | None) -> str:
    """Return an argument as written, or the name of its parameter if that is shorter."""
    return scene.quote(node) if parameter is None or isinstance(node, ast.Name | ast.Attribute) else parameter


def _too_long(
    scene: Scene, text: str, spec: str, length: int, array: str, rank: int, fixes: list[Fix | None]
) -> Explanation | None:
    return scene.explanation(
        "spec_too_long",
        title="A spec splits an axis that an array does not have",
        what="`{name}` is {array}, with {axes}, and its spec `{spec}` has {entries}.".format(
            name=text,
            array=array,
            axes=plural("{count} axis", "{count} axes", rank),
            spec=spec.replace(",)", ")"),
            entries=plural("{count} entry", "{count} entries", length),
        ),
        variable=text,
        why="Each entry of a spec says how one axis of the array is split over the devices.",
        fixes=fixes,
        link=sharding_texts.GUIDE,
    )


@explains(sharding_texts.INDIVISIBLE_SPEC)
def argument_not_divisible(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an argument whose axis cannot be split evenly over the devices."""
    said = sharding_texts.INDIVISIBLE_SPECS.search(scene.message)
    place = mapped(scene.spot, "shard_map")
    if said is None or place is None or place.call is None or int(said[1]) >= len(place.call.args):
        return None
    text = _argument(scene, place.call.args[int(said[1])], said[4] if said[2] else None) + said[2]
    array, axis, size, parts = said[3], int(said[7]), int(said[8]), int(said[10])
    axes = re.findall(r"'(\w+)'", said[9])
    return scene.explanation(
        "not_divisible",
        title="An axis that cannot be split evenly over the devices",
        what=f"`{text}` is {array}: axis {axis} has {size} entries, for {parts} devices along {_listed(axes)}.",
        variable=text,
        why=f"Every device gets a part of the same size, and {parts} does not divide {size}.",
        fixes=[
            scene.advice(
                f"Pad the axis to {-(-size // parts) * parts} entries and leave the padding out of sums, or use "
                f"{size // parts * parts} of them."
                if size > parts
                else f"Pad the axis to {parts} entries and leave the padding out of sums."
            ),
            scene.advice(f"Or use a mesh whose size divides {size}."),
        ],
        link=sharding_texts.GUIDE,
    )


@explains(sharding_texts.NOT_REPLICATED)
def not_replicated(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_specs` that promise one value for all devices, where each may have its own."""
    said = sharding_texts.NOT_REPLICATED_SPECS.search(scene.message)
    place = mapped(scene.spot, "shard_map")
    if said is None or place is None:
        return None
    path, spec, axes = said[1], said[2].replace(",)", ")"), [said[3]] if said[3] else said[4].split(",")
    result = returned(place.function[1]) if place.function is not None else None
    source = place.function[0] if place.function is not None else None
    whole = isinstance(place.specs("out"), ast.Call) and not path
    text = source.quote(result) if source is not None and result is not None and whole else None
    single = not isinstance(result, ast.Tuple | ast.List | ast.Dict)
    names = ", ".join(f'"{axis}"' for axis in axes)
    axis_text = names if len(axes) == 1 else f"({names})"
    fixes: list[Fix | None] = []
    if source is not None and result is not None and text is not None and single:
        if called(result) in ("mean", "sum", "max", "min"):
            reduction = {"mean": "pmean", "sum": "psum", "max": "pmax", "min": "pmin"}[called(result)]
            words = {
                "pmean": "The mean over all devices: `{function}`.",
                "psum": "The sum over all devices: `{function}`.",
                "pmax": "The largest on any device: `{function}`.",
                "pmin": "The smallest on any device: `{function}`.",
            }[reduction]
            new = f"{scene.lax}.{reduction}({text}, {axis_text})"
            fixes.append(scene.fix(words.format(function=f"lax.{reduction}"), source.replace(result, new)))
        elif called(result) == "all_gather":
            last = place.made.keywords[-1].value if place.made.keywords else None
            sentence = "What is gathered is the same on all devices, which JAX does not prove: switch the check off."
            edit = place.source.insert_after(last, ", check_vma=False") if last is not None else None
            fixes.append(scene.fix(sentence, edit) if edit is not None else None)
    if not any(fixes):
        fixes.append(
            scene.advice(
                f"If one value is meant, combine the devices' values: `lax.psum` or `lax.pmean` over {_listed(axes)}."
            )
        )
    fixes.append(
        scene.advice(
            f"If every device's own part is meant, name {_listed(axes)} in `out_specs`: the parts are then put "
            "together."
        )
    )
    return scene.explanation(
        "not_replicated",
        title="`out_specs` promises one value for all devices",
        what=f"`{spec}` leaves out {_listed(axes)}, and JAX cannot prove that `{text}` is the same along it."
        if text is not None and single
        else (
            "`{specs}` is `{spec}`, which leaves out {axes}; JAX cannot prove that all results are the same along it."
        ).format(specs=f"out_specs{path}", spec=spec, axes=_listed(axes)),
        variable=text if text is not None and single else "out_specs",
        why=(
            "Where a spec leaves an axis out, JAX takes one device's value for all, so it asks for proof "
            "that they agree."
        ),
        fixes=fixes,
        link=sharding_texts.GUIDE,
    )


@explains(sharding_texts.NO_CONTEXT_MESH)
def no_mesh(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.shard_map` without a mesh."""
    place = mapped(scene.spot, "shard_map")
    if place is None or place.option("mesh") is not None:
        return None
    return scene.explanation(
        "shard_map_without_mesh",
        title="`jax.shard_map` without a mesh",
        what=f"`{place.source.quote(place.made)}` names no mesh, and none is set.",
        variable="mesh",
        why="The specs name axes of a mesh of devices: that of `mesh=`, or that of `jax.set_mesh`.",
        fixes=[scene.advice("Give `mesh=`, or call the function inside `with jax.set_mesh(mesh):`.")],
        link=sharding_texts.GUIDE,
    )
