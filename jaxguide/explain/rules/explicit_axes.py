"""Explain meshes with explicit axes, whose shardings are part of an array's type, and meshes with automatic axes.

`jax.make_mesh` makes explicit axes, where JAX does not guess how a result is split; `jax.sharding.Mesh` makes automatic
ones, where the compiler does.
"""

import ast
import re

import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import is_array
from jaxguide.compat import sharding_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.mapped import mapped, spec_name
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called


def _why() -> str:
    return "With explicit axes, how an array is split is part of its type, and JAX does not guess it."


def _automatic(scene: Scene) -> Fix:
    """Return the advice to leave the choice to the compiler."""
    return scene.advice(
        "Or let the compiler choose, with automatic axes: `jax.make_mesh(..., "
        "axis_types=(jax.sharding.AxisType.Auto,"
        " ...))`."
    )


def _is_sharding_error(scene: Scene) -> bool:
    return type(scene.error).__name__ == sharding_texts.SHARDING_ERROR


@explains(sharding_texts.EXPLICIT_RESHAPE)
def reshape(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a reshape that splits or joins an axis that lies on several devices."""
    if not _is_sharding_error(scene):
        return None
    call = scene.call()
    if call is None or called(call) != "reshape":
        return None
    return _asks(
        scene,
        "explicit_reshape",
        title="A reshape of an axis that is split over the devices",
        what=f"`{scene.quote(call)}` gives {found[1]} the shape {found[2]}.",
        call=call,
    )


@explains(sharding_texts.EXPLICIT_CONTRACTION, sharding_texts.EXPLICIT_RESULT)
def product(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a product over an axis that is split over the devices."""
    if not _is_sharding_error(scene):
        return None
    node = scene.node
    call = node if isinstance(node, ast.Call) and called(node) in ("dot", "matmul", "einsum", "tensordot") else None
    if call is None and not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        return None
    contracted = found.re is sharding_texts.EXPLICIT_CONTRACTION.text
    what = f"`{scene.quote(node)}` sums over an axis that both operands have split over the devices."
    if not contracted:
        what = f"`{scene.quote(node)}` would be {found[3]}, with one axis of the mesh twice."
    return _asks(
        scene, "explicit_product", title="A product whose split over the devices is not clear", what=what, call=call
    )


def _asks(scene: Scene, kind: str, *, title: str, what: str, call: ast.Call | None) -> Explanation | None:
    """Explain an operation that asks for `out_sharding`."""
    name = scene.quote(call.func) if call is not None else f"{scene.jnp}.matmul"
    spec = spec_name(scene)
    return scene.explanation(
        kind,
        title=title,
        what=what,
        variable=scene.quote(scene.node),
        why=_why(),
        fixes=[
            scene.advice(
                f"Say how the result is split: `{name}(..., out_sharding={spec}(...))`; `{spec}()` "
                "gives it whole to "
                "every device."
            ),
            _automatic(scene),
        ],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.EXPLICIT_OPERANDS)
def sharded_operands(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain two operands that are split along different axes of the mesh."""
    node = scene.node
    if not _is_sharding_error(scene):
        return None
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else list(getattr(node, "args", []))
    if len(parts) != 2:
        return None
    first, last = (scene.quote(part) for part in parts)
    values = [scene.spot.value(part) for part in parts]
    edit: Edit | None = None
    if all(is_array(value) for value in values) and np.shape(values[0]) == np.shape(values[1]):
        new = f"{scene.jax}.sharding.reshard({last}, {scene.jax}.typeof({first}).sharding)"
        edit = scene.source.replace(parts[1], new)
    sentence = "Split one like the other first: `jax.sharding.reshard`."
    specs = re.findall(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", found[2])
    return scene.explanation(
        "explicit_operands",
        title="Operands that are split differently over the devices",
        what=f"`{first}` is split by {specs[0]}, and `{last}` by {specs[1]}." if len(specs) == 2 else "",
        variable=last,
        why=_why(),
        fixes=[scene.fix(sentence, edit) if edit is not None else scene.advice(sentence), _automatic(scene)],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.EXPLICIT_GATHER, sharding_texts.EXPLICIT_SCATTER)
def indexing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an index into an axis that is split over the devices."""
    if not _is_sharding_error(scene):
        return None
    node = scene.node
    spec = spec_name(scene)
    reads = found.re is sharding_texts.EXPLICIT_GATHER.text
    fix: Fix | None = None
    if reads and isinstance(node, ast.Subscript):
        sentence = f"Say how the result is split; `{spec}()` gives it whole to every device."
        new = f"{scene.atom(node.value)}.at[{scene.quote(node.slice)}].get(out_sharding={spec}())"
        fix = scene.fix(sentence, scene.source.replace(node, new))
        name = scene.quote(node.value)
    elif reads:
        name = scene.quote(node)
        fix = scene.advice(f"Index with `.at[...].get(out_sharding={spec}(...))`, which says how the result is split.")
    else:
        name = scene.quote(node)
        fix = scene.advice(f"Say how the result is split: `.at[...].set(..., out_sharding={spec}(...))`.")
    return scene.explanation(
        "explicit_index",
        title="An index into an axis that is split over the devices",
        what=f"`{scene.quote(node)}` works on {found[1]}, where `@` names the mesh axis that splits an axis.",
        variable=name,
        why=_why(),
        fixes=[fix, _automatic(scene)],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.EXPLICIT_CONCATENATE)
def concatenation(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain arrays that are joined, and split differently over the devices."""
    call = scene.call()
    if not _is_sharding_error(scene) or call is None or not call.args:
        return None
    return scene.explanation(
        "explicit_operands",
        title="Operands that are split differently over the devices",
        what=f"The arrays in `{scene.quote(call.args[0])}` are not split alike.",
        variable=scene.quote(call.args[0]),
        why=_why(),
        fixes=[scene.advice("Split all of them alike first: `jax.sharding.reshard`."), _automatic(scene)],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.EXPLICIT_CARRY)
def carry(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry comes out split otherwise than it goes in."""
    name, old, new = found[1], found[2], found[3]
    if re.sub(r"@[\w(),]*?(?=[,\]])", "", old) != re.sub(r"@[\w(),]*?(?=[,\]])", "", new) or old == new:
        return None
    return scene.explanation(
        "explicit_carry",
        title="A carry that changes how it is split over the devices",
        what=f"`{name}` goes in as {old} and comes out as {new}.",
        variable=name,
        why=_why(),
        fixes=[
            scene.advice("Start with an array that is split as a turn gives it: `jax.sharding.reshard`."),
            _automatic(scene),
        ],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.CONSTRAINT_DIFFERS, sharding_texts.CONSTRAINT_EXPLICIT)
def constraint(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `with_sharding_constraint` on a mesh with explicit axes."""
    call = scene.call()
    if call is None or called(call) != "with_sharding_constraint" or len(call.args) != 2 or call.keywords:
        return None
    text = scene.quote(call.args[0])
    differs = found.re is sharding_texts.CONSTRAINT_DIFFERS.text
    return scene.explanation(
        "constraint_with_explicit_axes",
        title="`with_sharding_constraint` on a mesh with explicit axes",
        what="`{name}` is split by {own}, and {wanted} is asked for.".format(
            name=text, own=found[1].replace(",)", ")"), wanted=found[2].replace(",)", ")")
        )
        if differs
        else f"The mesh of `{scene.quote(call.args[1])}` has explicit axes.",
        variable=text,
        why="It is a hint to the compiler, which chooses for automatic axes only; explicit axes are split by request.",
        fixes=[
            scene.fix(
                "Ask for the split: `jax.sharding.reshard`.",
                scene.source.replace(call.func, f"{scene.jax}.sharding.reshard"),
            )
            if differs
            else scene.advice("Ask for the split: `jax.sharding.reshard`, inside `with jax.set_mesh(mesh):`."),
            _automatic(scene),
        ],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.CONSTRAINT_NO_MESH)
def constraint_without_mesh(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `with_sharding_constraint` with a spec, and no mesh that is set."""
    call = scene.call()
    if call is None or called(call) != "with_sharding_constraint" or len(call.args) < 2:
        return None
    text = scene.quote(call.args[1])
    return scene.explanation(
        "spec_without_mesh",
        title="A spec without a mesh",
        what=f"`{text}` names axes, and no mesh is set.",
        variable=text,
        why="A spec names axes of a mesh; a `NamedSharding` carries its mesh.",
        fixes=[
            scene.advice(f"Give a `jax.sharding.NamedSharding(mesh, {text})`."),
            scene.advice("Or call the function inside `with jax.set_mesh(mesh):`."),
        ],
        link=sharding_texts.PARALLEL,
    )


@explains(sharding_texts.SPECS_OF_EXPLICIT)
def specs_of_another_split(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_specs` that differ from how an argument is split already."""
    place = mapped(scene.spot, "shard_map")
    if place is None or place.call is None:
        return None
    wanted, own = (re.sub(r",\)$", ")", text) for text in found.group(1, 2))
    given = place.option("mesh")
    mesh = place.source.quote(given) if given is not None else None
    alone = len(place.call.args) == 1 and not place.call.keywords
    text = place.source.quote(place.call.args[0]) if alone else found[3]
    edit = None
    if alone and mesh is not None:
        spec = re.sub(r"^P\(", f"{spec_name(scene)}(", wanted)
        new = f"{scene.jax}.device_put({text}, {scene.jax}.sharding.NamedSharding({mesh}, {spec}))"
        edit = place.source.replace(place.call.args[0], new)
    return scene.explanation(
        "specs_of_another_split",
        title="`in_specs` that differ from how an argument is split",
        what=f"`{text}` is split by `{own}`, and `in_specs` says `{wanted}`.",
        variable=text,
        why="With explicit axes, which `jax.make_mesh` makes, `shard_map` moves no data: both must say the same.",
        fixes=[scene.fix("Split the argument that way first.", edit), _automatic(scene)],
        link=sharding_texts.EXPLICIT,
    )


@explains(sharding_texts.SPEC_OF_AUTO)
def out_sharding_of_automatic_axes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_sharding` and `reshard` on a mesh with automatic axes."""
    function, spec, axis, kind = found[1], found[2].replace(",)", ")"), found[3], found[4]
    call = scene.call()
    if call is None or kind != "Auto":
        return None
    keyword = next((k for k in call.keywords if k.arg == "out_sharding"), None)
    edit: Edit | None = None
    if keyword is not None and called(call) == function:
        given = [scene.quote(a) for a in call.args]
        given += [f"{k.arg}={scene.quote(k.value)}" for k in call.keywords if k is not keyword and k.arg]
        plain = f"{scene.quote(call.func)}({', '.join(given)})"
        new = f"{scene.lax}.with_sharding_constraint({plain}, {scene.quote(keyword.value)})"
        edit = scene.source.replace(call, new)
    elif function == "reshard" and called(call) == "reshard" and len(call.args) == 2:
        edit = scene.source.replace(call.func, f"{scene.lax}.with_sharding_constraint")
    return scene.explanation(
        "out_sharding_of_automatic_axes",
        title="A split is asked for along an axis that the compiler splits",
        what=f"`{function}` is given `{spec}`, and the axis `{axis}` of the mesh is automatic.",
        variable=axis,
        why=(
            "Along automatic axes the compiler chooses the split; only for explicit ones it can be said in the program."
        ),
        fixes=[
            scene.fix("Give the compiler a hint: `lax.with_sharding_constraint`.", edit) if edit is not None else None,
            scene.advice(
                "Or make the mesh with explicit axes: `jax.make_mesh(..., "
                "axis_types=(jax.sharding.AxisType.Explicit, ...))`."
            ),
        ],
        link=sharding_texts.EXPLICIT,
    )
