"""Explain shardings that do not fit an array, arrays of different devices or meshes, and `jax.pmap`'s device axis."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts, sharding_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.mapped import Mapped, mapped, spec_name
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called


@explains(structure_texts.SQUEEZED)
def too_many_entries_for_pmap(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an argument of `jax.pmap` with more entries than devices, if the devices divide them."""
    place = mapped(scene.spot, "pmap")
    if place is None or place.call is not scene.node or place.option("in_axes") is not None or place.call.keywords:
        return None
    count = jax.local_device_count()
    for node in place.call.args:
        value = scene.spot.value(node)
        shape = np.shape(value) if is_array(value) else _shape_of_call(scene, node)
        if shape and shape[0] > count and shape[0] % count == 0:
            text = scene.quote(node)
            return scene.explanation(
                "pmap_axis",
                title="`jax.pmap` was given more entries than there are devices",
                what="`{name}` has shape {shape}, and there are {count}.".format(
                    name=text, shape=tuple(shape), count=plural("{count} device", "{count} devices", count)
                ),
                variable=text,
                why="`jax.pmap` takes one entry along the first axis of every array for each device.",
                fixes=[
                    _several_for_each_device(scene, place, place.call, shape[0], count) if count > 1 else None,
                    _on_one_device(scene, place, place.call, shape[0]),
                    scene.advice(
                        "Or use `jax.shard_map`, which cuts an axis into as many parts as there are devices: its "
                        "function gets a part, not one entry."
                    ),
                ],
                link=f"{error_texts.API}/jax.pmap.html",
            )
    return None


def _several_for_each_device(scene: Scene, place: Mapped, call: ast.Call, size: int, count: int) -> Fix | None:
    """Return the fix that gives each device a batch, and maps the function over it."""
    function = argument_of(place.made, 0, "fun")
    each = size // count
    sentence = (
        f"Give each device {each} entries, with `jax.vmap` inside if the function takes one entry: the result's first "
        f"axes are {count} and {each}."
    )
    if place.option("axis_name") is not None:
        words = "{advice} `jax.lax.psum` and the like go over the devices alone, not over the entries of each."
        return scene.advice(words.format(advice=sentence))
    if function is None or any(_leading(scene, node) != size for node in call.args):
        return scene.advice(sentence)
    cut = [f"{scene.atom(one)}.reshape({count}, {each}, *{scene.atom(one)}.shape[1:])" for one in call.args]
    return scene.fix(
        sentence,
        place.source.replace(function, f"{scene.jax}.vmap({place.source.quote(function)})"),
        *(scene.source.replace(node, text) for node, text in zip(call.args, cut, strict=True)),
    )


def _on_one_device(scene: Scene, place: Mapped, call: ast.Call, size: int) -> Fix | None:
    """Return the fix that maps with `jax.vmap`, if the mapped function is all that `jax.pmap` is given."""
    if place.made.keywords or len(place.made.args) != 1 or called(place.made) != "pmap":
        return None
    if any(_leading(scene, node) != size for node in call.args):
        return None
    return scene.fix(
        f"Or compute all {size} on one device, for a result with {size} entries.",
        place.source.replace(place.made.func, f"{scene.jax}.vmap"),
    )


def _leading(scene: Scene, node: ast.expr) -> int | None:
    """Return the size of the first axis of an array; None if it is not known."""
    value = scene.spot.value(node)
    shape = np.shape(value) if is_array(value) else _shape_of_call(scene, node)
    return shape[0] if shape else None


@explains(sharding_texts.INDIVISIBLE)
def not_divisible(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a sharding that splits an axis into parts that are not of one size."""
    axis, parts, size, shape = int(found[1]), int(found[2]), int(found[3]), found[4]
    if sharding_texts.PMAP_AXIS in scene.message:
        return _pmapped(scene, parts, size)
    name, what = _which(scene, lambda value: np.shape(value) == tuple(map(int, re.findall(r"\d+", shape))))
    if name is None and what is None:
        return None
    said = f"{what} has shape {shape}: axis {axis} has {size} entries, for {parts} parts."
    fixes = [
        scene.advice(
            f"Pad the axis to {-(-size // parts) * parts} entries, or keep {size // parts * parts} of them."
            if size > parts
            else f"Pad the axis to {parts} entries."
        ),
        scene.advice(
            f"Or leave that axis whole: an entry None in the spec, or `{spec_name(scene)}()` for the whole array."
        ),
    ]
    return scene.explanation(
        "not_divisible",
        title="An axis that cannot be split evenly over the devices",
        what=said,
        variable=name,
        why=f"Every device gets a part of the same size, and {parts} does not divide {size}.",
        fixes=fixes,
        link=sharding_texts.PARALLEL,
    )


@explains(sharding_texts.SHARDING_RANK)
def sharding_too_long(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a sharding with more entries than an array has axes."""
    least, rank = int(found[1]), int(found[2])
    if sharding_texts.PMAP_AXIS in scene.message:
        return _pmapped(scene, None, None)
    name, what = _which(scene, lambda value: np.ndim(value) == rank)
    how = sharding_texts.SHARDED_HOW.search(scene.message)
    if (name is None and what is None) or how is None:
        return None
    spec = f"P({how[1].rstrip(',')})"
    whole = f"{spec_name(scene)}()"
    return scene.explanation(
        "spec_too_long",
        title="A spec splits an axis that an array does not have",
        what="{what} has {axes}, and its spec `{spec}` is for at least {least}.".format(
            what=what, axes=plural("{count} axis", "{count} axes", rank), spec=spec, least=least
        ),
        variable=name,
        why="Each entry of a spec says how one axis of the array is split over the devices.",
        fixes=[
            scene.advice(f"Give it a sharding of its own, with `{whole}`: every device gets it whole.")
            if rank == 0
            else scene.advice(
                "Give it a spec with at most {count}.".format(count=plural("{count} entry", "{count} entries", rank))
            )
        ],
        link=sharding_texts.PARALLEL,
    )


@explains(sharding_texts.EXPLICIT_RANK)
def explicit_sharding_too_long(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a sharding with explicit axes and more entries than an array has axes."""
    rank = int(found[2])
    name, what = _which(scene, lambda value: np.ndim(value) == rank)
    if what is None or int(found[1]) <= rank:
        return None
    return scene.explanation(
        "spec_too_long",
        title="A spec splits an axis that an array does not have",
        what="{what} has {axes}, and its spec `{spec}` is for {count}.".format(
            what=what, axes=plural("{count} axis", "{count} axes", rank), spec=found[3], count=found[1]
        ),
        variable=name,
        why="Each entry of a spec says how one axis of the array is split over the devices.",
        fixes=[
            scene.advice(
                "Give it a spec with at most {count}.".format(count=plural("{count} entry", "{count} entries", rank))
            )
        ],
        link=sharding_texts.PARALLEL,
    )


def _which(scene: Scene, fits: Any) -> tuple[str | None, str | None]:
    """Return the student's text of the array that a sharding does not fit, and words for it; None if unknown."""
    call = scene.call()
    said = sharding_texts.SHARDED_WHAT.match(scene.message)
    if call is None:
        return None, None
    if said is not None and said[1] == "pjit outputs":
        path = (said[2] or "").removeprefix("result")
        text = f"{scene.quote(call.func)}(...){path}"
        return text, f"The result `{text}`"
    if said is not None and said[1] == "pjit arguments" and said[2]:
        return said[2], f"The argument `{said[2]}`"
    device_put = called(call) == "device_put"
    if said is None and not device_put:  # 0.10 does not say which
        if call is not scene.node:
            return None, None
        return None, f"An argument or a result of `{scene.quote(call.func)}`"
    arguments = call.args[:1] if device_put else [*call.args, *(k.value for k in call.keywords)]
    held: list[str] = []
    for node in arguments:
        value = scene.spot.value(node)
        if value is MISSING:
            if device_put and not isinstance(node, ast.Dict | ast.Tuple | ast.List):
                return scene.quote(node), f"`{scene.quote(node)}`"  # the only one there is
            return None, None
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            if fits(leaf):
                held.append(scene.quote(node) + jax.tree_util.keystr(path))
    return (held[0], f"`{held[0]}`") if len(held) == 1 else (None, None)


def _pmapped(scene: Scene, parts: int | None, size: int | None) -> Explanation | None:
    """Explain an argument of `jax.pmap` without an axis of the devices, or with another number of them."""
    place = mapped(scene.spot, "pmap")
    if place is None or place.call is None or place.option("in_axes") is not None or place.call.keywords:
        return None
    leaves: list[tuple[int, str, tuple[int, ...]]] = []
    for index, node in enumerate(place.call.args):
        value = scene.spot.value(node)
        if value is MISSING:
            shape = _shape_of_call(scene, node)
            if shape is None:
                return None
            leaves.append((index, scene.quote(node), shape))
            continue
        leaves += [
            (index, scene.quote(node) + jax.tree_util.keystr(path), np.shape(leaf))
            for path, leaf in jax.tree_util.tree_leaves_with_path(value)
        ]
    sizes = {shape[0] if shape else None for _index, _name, shape in leaves}
    count = jax.device_count()
    wanted = count if count in sizes else None
    arguments = range(len(place.call.args))
    wrong = [leaf for leaf in leaves if wanted is not None and (not leaf[2] or leaf[2][0] != wanted)]
    if wrong:
        broken = {leaf[0] for leaf in wrong}
        index, name, shape = wrong[0]
        axes = ", ".join("None" if i in broken else "0" for i in arguments)
        sentence = f"Hand `{scene.quote(place.call.args[index])}` whole to every device."
        last = place.made.args[-1] if called(place.made) == "pmap" and place.made.args else None
        fix: Fix | None = None
        if last is not None and len(broken) < len(place.call.args):
            fix = scene.fix(sentence, place.source.insert_after(last, f", in_axes=({axes})"))
        what = f"`{name}` has shape {shape}, and {wanted} devices take part."
        return scene.explanation(
            "pmap_axis",
            title="`jax.pmap` maps over an axis of devices that is not there",
            what=what,
            variable=name,
            why="`jax.pmap` takes one entry along the first axis of every array for each device.",
            fixes=[
                fix or scene.advice(sentence),
                scene.advice("Or repeat it for each device, along a new first axis."),
            ],
            link=f"{error_texts.API}/jax.pmap.html",
        )
    if size is None or len(sizes) != 1 or size not in sizes or size <= count:
        return None
    name = leaves[0][1]
    return scene.explanation(
        "pmap_axis",
        title="`jax.pmap` has more entries than devices",
        what="`{name}` has {size} entries along its first axis, and there are {count}.".format(
            name=name, size=size, count=plural("{count} device", "{count} devices", count)
        ),
        variable=name,
        why="`jax.pmap` gives one entry to each device.",
        fixes=[
            scene.advice(
                f"Give each device several: shape ({count}, {size // count}, ...), and `jax.vmap` inside."
                if size % count == 0
                else f"Pad it to a multiple of {count}, give each device several, and use `jax.vmap` inside."
            ),
            scene.advice("With `jax.jit` and `jax.shard_map`, one device may hold several entries."),
        ],
        link=f"{error_texts.API}/jax.pmap.html",
    )


def _shape_of_call(scene: Scene, node: ast.expr) -> tuple[int, ...] | None:
    """Return the shape that `jnp.ones((4, 5))` and the like say."""
    if not isinstance(node, ast.Call) or called(node) not in ("ones", "zeros", "arange") or not node.args:
        return None
    value = scene.spot.value(node.args[0])
    if called(node) == "arange" and len(node.args) == 1 and isinstance(value, int | float):
        return (int(np.ceil(value)),)
    if called(node) == "arange":
        return None
    value = (value,) if isinstance(value, int) else value
    return tuple(value) if isinstance(value, tuple | list) and all(isinstance(v, int) for v in value) else None


@explains(sharding_texts.MESH_NAME)
def sharding_names_no_axis(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a sharding with the name of an axis that its mesh does not have."""
    name, axes = found[1], re.findall(r"'(\w+)'", found[2])
    if not axes:
        return None
    constants = [n for n in ast.walk(scene.node) if isinstance(n, ast.Constant) and n.value == name]
    sentence = "Write the name of the mesh's axis."
    fix = None
    if len(axes) == 1 and len(constants) == 1:
        fix = scene.fix(sentence, scene.source.replace(constants[0], f'"{axes[0]}"'))
    return scene.explanation(
        "spec_names_no_axis",
        title="A spec names an axis that the mesh does not have",
        what="The spec has the axis `{name}`; the mesh has {axes}.".format(
            name=name, axes=", ".join(f"`{axis}`" for axis in axes)
        ),
        variable=name,
        why="A spec says which axis of the mesh splits which axis of the array, by the names that the mesh gave them.",
        fixes=[fix or scene.advice("Write one of the names of the mesh, or give the mesh this one.")],
        link=sharding_texts.PARALLEL,
    )


@explains(sharding_texts.IN_SHARDINGS_LENGTH)
def shardings_count(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_shardings` with more or fewer entries than arguments."""
    shardings, values = int(found[1]), int(found[2])
    return scene.explanation(
        "in_shardings",
        title="`in_shardings` does not fit the arguments",
        what="`in_shardings` has {entries}, and the call has {arguments}.".format(
            entries=plural("{count} entry", "{count} entries", shardings),
            arguments=plural("{count} positional argument", "{count} positional arguments", values),
        ),
        variable="in_shardings",
        why="There is one entry for each positional argument; one sharding alone is for all of them.",
        fixes=[
            scene.advice("Give one entry for each argument; None leaves an argument's sharding as it comes."),
        ],
        link=f"{error_texts.API}/jax.jit.html",
    )


@explains(sharding_texts.SHARDING_DIFFERS)
def sharding_differs(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an argument that is not laid out as `in_shardings` says."""
    call = scene.call()
    if call is None:
        return None
    specs = [f"P({text.rstrip(',')})" for text in re.findall(r"spec=P\((.*?)\), ", scene.message)]
    if len(specs) != 2:
        return None
    held = []
    for node in call.args:
        value = scene.spot.value(node)
        sharding = getattr(value, "sharding", None) if is_array(value) and not is_tracer(value) else None
        spec = getattr(sharding, "spec", None)
        if spec is not None and f"P({', '.join(map(repr, spec))})" == specs[1]:
            held.append(scene.quote(node))
    text = held[0] if len(held) == 1 else None
    subject = f"`{text}`" if text is not None else "An argument"
    return scene.explanation(
        "sharding_differs",
        title="An argument is not laid out as `in_shardings` says",
        what=f"{subject} is laid out by `{specs[1]}`, and `in_shardings` says `{specs[0]}`.",
        variable=text,
        why="`jax.jit` moves no array that was put somewhere on purpose: that would be slow, and nobody would see why.",
        fixes=[
            scene.advice("Move it first, with `jax.device_put` and the sharding that is asked for."),
            scene.advice("Or leave `in_shardings` out: `jax.jit` then takes the arguments as they lie."),
        ],
        link=sharding_texts.PARALLEL,
    )


@explains(sharding_texts.DEVICES_DIFFER)
def devices_differ(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain arrays on different devices in one computation."""
    kinds, texts, devices = (found[1], found[4]), (found[2], found[5]), (found[3], found[6])
    if kinds != ("argument", "argument"):
        return None
    first, last = _argument_at(scene, texts[0]), _argument_at(scene, texts[1])
    call = scene.call()
    if first is None or last is None:
        return None
    count = [len(re.findall(r"\d+", ids)) for ids in devices]
    mover, target = (last, first) if count[0] >= count[1] else (first, last)
    fix: Fix | None = None
    if mover[1] is not None and target[1] is not None and mover[0] != target[0]:
        value, moved = scene.spot.value(target[1]), scene.spot.value(mover[1])
        if is_array(value) and is_array(moved) and _fits(value, moved):
            new = f"{scene.jax}.device_put({scene.quote(mover[1])}, {scene.atom(target[1])}.sharding)"
            sentence = f"Move one to where the other is: `{mover[0]}`."
            fix = scene.fix(sentence, scene.source.replace(mover[1], new))
    subject = scene.quote(call) if call is not None else scene.quote(scene.node)
    return scene.explanation(
        "devices_differ",
        title="Arrays on different devices",
        what=f"`{first[0]}` is on the devices {devices[0]}, and `{last[0]}` on the devices {devices[1]}.",
        variable=mover[0],
        why="One computation runs on one set of devices, and JAX moves no array that was put somewhere on purpose.",
        fixes=[
            fix
            or scene.advice(
                f"Move `{mover[0]}` with `jax.device_put` to the devices of `{target[0]}`, before `{subject}`."
            )
        ],
        link=f"{error_texts.API}/jax.device_put.html",
    )


def _fits(value: Any, moved: Any) -> bool:
    """Return whether the sharding of an array can be used for another one."""
    sharding = getattr(value, "sharding", None)
    if is_tracer(value) or is_tracer(moved) or sharding is None:
        return False
    try:
        sharding.shard_shape(moved.shape)
    except (ValueError, IndexError):
        return False
    return True


def _argument_at(scene: Scene, said: str) -> tuple[str, ast.expr | None] | None:
    """Return the student's text and expression for an argument that JAX calls `w['k'] of loss with shape ...`."""
    found = sharding_texts.ARGUMENT_OF.match(said)
    if found is None:
        return None
    path, function = found[1], found[2]
    top = re.match(r"\w+", path)
    node = scene.node
    if isinstance(node, ast.BinOp) and path in ("x", "y"):
        side = node.left if path == "x" else node.right
        return scene.quote(side), side
    call = scene.call()
    if call is None or top is None:
        return path, None
    position = _position(scene, call, function, top[0])
    if position is None and called(call) == function and path in ("x", "y") and len(call.args) == 2:
        position = "xy".index(path)  # JAX's elementwise functions of two arguments
    given = next((k.value for k in call.keywords if k.arg == top[0]), None)
    if given is None and position is not None and position < len(call.args):
        given = call.args[position]
    if given is None or any(isinstance(a, ast.Starred) for a in call.args):
        return path, None
    inner = path[top.end() :]
    if inner:
        text = scene.quote(given) if isinstance(given, ast.Name | ast.Attribute) else top[0]
        return f"{text}{inner}", None
    return scene.quote(given), given


def _position(scene: Scene, call: ast.Call, function: str, parameter: str) -> int | None:
    """Return the position of a parameter in the function that was called."""
    value = scene.spot.value(call.func)
    if value is MISSING and isinstance(call.func, ast.Call) and call.func.args:  # `jax.jit(f)(x)`
        value = scene.spot.value(call.func.args[0])
    value = getattr(value, "__wrapped__", value)
    code = getattr(value, "__code__", None)
    if code is None or getattr(value, "__name__", None) != function:
        return None
    names = code.co_varnames[: code.co_argcount]
    return names.index(parameter) if parameter in names else None


@explains(sharding_texts.MESHES_DIFFER)
def meshes_differ(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain arrays of different meshes with explicit axes in one computation."""
    context = found[3] is not None
    meshes = [_mesh(text) for text in ((found[3], found[4]) if context else (found[1], found[2]))]
    if not all(meshes):
        return None
    return scene.explanation(
        "meshes_differ",
        title="Arrays of different meshes",
        what=f"The mesh that is set has the axes {meshes[0]}, and an array here lies on a mesh with {meshes[1]}."
        if context
        else f"One array lies on a mesh with the axes {meshes[0]}, another on a mesh with {meshes[1]}.",
        why="With explicit axes, the mesh is part of an array's type, and one computation works on one mesh.",
        fixes=[
            scene.advice("Make the mesh once, and use it for all arrays and in `jax.set_mesh`."),
            scene.advice("Or move the array to the other mesh with `jax.device_put`."),
        ],
        link=sharding_texts.EXPLICIT,
    )


def _mesh(text: str) -> str:
    return ", ".join(f"`{name}` ({size})" for name, size in sharding_texts.MESH_AXES.findall(text))


@explains(sharding_texts.MESH_RANK)
def mesh_of_another_rank(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a mesh with more or fewer names than axes."""
    rank, names = int(found[1]), int(found[2])
    call = scene.call()
    if call is None:
        return None
    made = called(call) == "make_mesh"
    fix: Fix | None = None
    if not made and rank == 0 and names == 1 and call.args:
        sentence = "Give a list of devices, also of a single one."
        fix = scene.fix(sentence, scene.source.replace(call.args[0], f"[{scene.quote(call.args[0])}]"))
    return scene.explanation(
        "mesh_names",
        title="A mesh needs a name for each of its axes",
        what="The devices have {axes}, and there are {names}.".format(
            axes=plural("{count} axis", "{count} axes", rank), names=plural("{count} name", "{count} names", names)
        ),
        variable=None,
        why="A mesh is an array of devices, whose axes have names.",
        fixes=[
            fix,
            None
            if fix is not None
            else scene.advice(
                "Arrange the devices along as many axes as there are names: `jax.make_mesh(sizes, names)` does it."
                if not made
                else "Give one name for each size."
            ),
        ],
        link=f"{error_texts.API}/jax.make_mesh.html",
    )


@explains(sharding_texts.MESH_DEVICES)
def mesh_too_large(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a mesh of more devices than there are."""
    return scene.explanation(
        "mesh_too_large",
        title="A mesh of more devices than there are",
        what="The mesh has shape {shape}, and JAX finds {devices}.".format(
            shape=found[2], devices=plural("{count} device", "{count} devices", int(found[1]))
        ),
        why="Each place of a mesh is a device of its own.",
        fixes=[
            scene.advice("Take the sizes from `jax.device_count()`."),
            scene.advice(
                (
                    "To try it out on a CPU: set the environment variable `XLA_FLAGS` to "
                    "`--xla_force_host_platform_device_count={count}` before JAX starts."
                ).format(count=int(np.prod([int(size) for size in re.findall(r"\d+", found[2])])))
            ),
        ],
        link=f"{error_texts.API}/jax.make_mesh.html",
    )
