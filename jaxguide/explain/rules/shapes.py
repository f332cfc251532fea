"""Explain shapes that do not fit: broadcasting, products, reshaping, axes, and arrays that cannot be joined."""

import ast
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.written_shapes import computed_shape, made_with
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called

_BROADCASTING = "https://numpy.org/doc/stable/user/basics.broadcasting.html"


def _two(spot: UserFrame, node: ast.AST) -> list[ast.expr]:
    """Return the two operands of an operator or a function."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        return list(node.args)
    return []


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


@explains(error_texts.BROADCAST, error_texts.BROADCAST_TRACED, error_texts.LAX_RANK)
def shapes_do_not_broadcast(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x + y` with shapes that do not fit, and `lax.add` of different ranks."""
    if scene.library is not None:
        return _in_library(scene, scene.library, " ".join(scene.message.split(". ")[0].split()))
    node = scene.node
    operands = _two(scene.spot, node)
    if len(operands) != 2:
        return None
    left, right = operands
    texts = [scene.quote(left), scene.quote(right)]
    fixes: list[Fix | None] = []
    if found.re is error_texts.LAX_RANK.text:
        call = scene.call()
        values = [scene.spot.value(o) for o in operands]
        if call is None:
            return None
        fixes.append(
            scene.fix(
                "Use the function of `jax.numpy`, which broadcasts.",
                scene.source.replace(
                    call.func, f"{scene.jnp}.{error_texts.JNP_OF_LAX.get(called(call), called(call))}"
                ),
            )
        )
        why = f"`{scene.quote(call.func)}` does not broadcast: both shapes must be the same."
        if not all(is_array(v) or isinstance(v, int | float | complex) for v in values):
            return scene.explanation(
                "shapes_do_not_broadcast",
                title="Shapes that do not fit",
                what=f"`{texts[0]}` and `{texts[1]}` differ in their numbers of axes.",
                variable=texts[0],
                why=why,
                fixes=fixes,
                link=_BROADCASTING,
            )
        one, other = (tuple(np.shape(v)) for v in values)
    else:
        shapes = _confirmed_shapes(scene, node, operands, (_shape(found[1]), _shape(found[2])))
        if shapes is None:
            return None
        one, other = shapes
        why = "From the last axis backward, sizes must be the same or 1, and these are not."
        fixes += _broadcast_fixes(scene, left, right, one, other)
    return scene.explanation(
        "shapes_do_not_broadcast",
        title="Shapes that do not fit",
        what=f"`{texts[0]}` has shape {one}, `{texts[1]}` has shape {other}.",
        variable=texts[1] if isinstance(right, ast.Name) else texts[0],
        why=why,
        fixes=fixes,
        link=_BROADCASTING,
    )


_Shapes = tuple[tuple[int, ...], tuple[int, ...]]


def _confirmed_shapes(scene: Scene, node: ast.AST, operands: list[ast.expr], said: _Shapes) -> _Shapes | None:
    """Return the shapes of two operands; None for a call whose arguments may not be what JAX compared."""
    one, other = (computed_shape(scene, operand) for operand in operands)
    known = one is not None and other is not None and (_bare(one), _bare(other)) == tuple(map(_bare, said))
    if known and one is not None and other is not None:
        return one, other
    return None if isinstance(node, ast.Call) else said


def _bare(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without its first axes of length 1, which JAX adds to bring shapes to one rank."""
    return _bare(shape[1:]) if shape[:1] == (1,) else shape


def _in_library(scene: Scene, library: str, said: str) -> Explanation | None:
    """Explain shapes that do not fit in the code of a package that the student called."""
    call = scene.call()
    if call is None:
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    shapes = [
        (node, value.shape if is_array(value := scene.spot.value(node)) else made_with(scene, node)) for node in given
    ]
    texts = [f"`{scene.quote(node)}` {tuple(shape)}" for node, shape in shapes if shape is not None]
    return scene.explanation(
        "shapes_in_library",
        title=f"Shapes that do not fit, in the code of {library}",
        what="`{function}` is given arrays of these shapes: {shapes}.".format(
            function=scene.quote(call.func), shapes=", ".join(texts)
        )
        if texts
        else "",
        variable=scene.quote(call.func),
        why="It combines them, or what it makes of them, and JAX refuses: {said}.".format(said=said.rstrip(".")),
        fixes=[
            _over_a_batch(scene, call),
            scene.advice(f"Compare them with the shapes that `{scene.quote(call.func)}` expects."),
        ],
        link=_BROADCASTING,
    )


def _over_a_batch(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix for a layer of equinox, which takes one example, if it was given a batch of them."""
    layer = scene.spot.value(call.func)
    size = getattr(layer, "in_features", getattr(layer, "in_size", None))
    if not any(kind.__module__.startswith("equinox.") for kind in type(layer).__mro__) or len(call.args) != 1:
        return None
    value = scene.spot.value(call.args[0])
    shape = value.shape if is_array(value) else made_with(scene, call.args[0])
    if call.keywords or not isinstance(size, int) or shape is None or len(shape) != 2 or shape[-1] != size:
        return None
    return scene.fix(
        "It takes one example: map it over the batch with `jax.vmap`.",
        scene.source.replace(call.func, f"{scene.jax}.vmap({scene.quote(call.func)})"),
    )


def _broadcast_fixes(
    scene: Scene, left: ast.expr, right: ast.expr, one: tuple[int, ...], other: tuple[int, ...]
) -> list[Fix | None]:
    source = scene.source
    if len(one) == len(other) == 1:
        return [
            scene.fix(
                "If every pair is meant: put one along a new axis.",
                source.replace(left, f"{scene.atom(left)}[:, None]"),
            ),
            scene.fix(
                "If one is too long: cut it.",
                source.replace(left, f"{scene.atom(left)}[:{other[0]}]")
                if one[0] > other[0]
                else source.replace(right, f"{scene.atom(right)}[:{one[0]}]"),
            ),
        ]
    fixes: list[Fix | None] = []
    for node, small, large in ((right, other, one), (left, one, other)):
        if len(small) == 1 and len(large) == 2 and small[0] == large[0]:
            fixes.append(
                scene.fix(
                    "Line it up with the rows: give it a second axis of length 1.",
                    source.replace(node, f"{scene.atom(node)}[:, None]"),
                )
            )
    if len(one) == len(other) == 2 and one[::-1] == other:
        fixes.append(scene.fix("Swap the axes of one.", source.replace(right, f"{scene.atom(right)}.T")))
    if not fixes:
        fixes.append(scene.advice("Bring one to the other's shape, where you know which axis is which."))
    return fixes


@explains(error_texts.DOT)
def contraction(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `w @ x` with sizes that do not match."""
    if scene.library is not None:
        return _in_library(scene, scene.library, " ".join(scene.message.split(". ")[0].split()))
    operands = _two(scene.spot, scene.node)
    if len(operands) != 2 or (isinstance(scene.node, ast.Call) and called(scene.node) not in ("dot", "matmul")):
        return None
    left, right = operands
    values = [scene.spot.value(o) for o in operands]
    shapes = [tuple(v.shape) if is_array(v) else None for v in values]
    if None in shapes and (written := [made_with(scene, o) for o in operands]) and None not in written:
        shapes = written
    texts = [scene.quote(left), scene.quote(right)]
    fixes: list[Fix | None] = []
    one, other = shapes
    if one and len(one) == 2 and other and one[0] == other[0 if len(other) == 1 else -2]:
        fixes.append(
            scene.fix(
                f"Swap the axes of `{texts[0]}`.",
                scene.source.replace(left, f"{scene.atom(left)}.T"),
            )
        )
    if other and len(other) == 2 and one and one[-1] == other[1]:
        fixes.append(
            scene.fix(
                f"Swap the axes of `{texts[1]}`.",
                scene.source.replace(right, f"{scene.atom(right)}.T"),
            )
        )
    if isinstance(scene.node, ast.BinOp) and one and other and len(other) == 2 and other[-1] == one[0]:
        swapped = f"{scene.atom(right)} @ {scene.atom(left)}"
        fixes.append(scene.fix("Multiply in the other order.", scene.source.replace(scene.node, swapped)))
    if isinstance(scene.node, ast.BinOp):
        one, other = (shape or computed_shape(scene, o) for shape, o in zip(shapes, operands, strict=True))
    if not fixes:
        fixes += _one_row(scene, scene.node)
        fixes.append(scene.advice("Look at both shapes, and bring the axes that are to be summed to one length."))
    return scene.explanation(
        "product_of_shapes",
        title="A product of shapes that do not meet",
        what=f"`{texts[0]}` has shape {one}, `{texts[1]}` has shape {other}."
        if one is not None and other is not None
        else "In `{text}`, the axes that are summed over have the lengths {one} and {other}.".format(
            text=scene.quote(scene.node), one=found[1].strip("(,)"), other=found[2].strip("(,)")
        ),
        variable=texts[0],
        why="A matrix product sums over the last axis of the left and the last but one (or only) axis of the right.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.matmul.html",
    )


def _one_row(scene: Scene, node: ast.AST) -> list[Fix | None]:
    """Return advice to map over the first axis of the one array of which a single entry would fit in a product."""
    if not isinstance(node, ast.BinOp):
        return []
    fitting = []
    for name in dict.fromkeys(one.id for one in ast.walk(node) if isinstance(one, ast.Name)):
        value = scene.spot.value(ast.Name(name, ast.Load()))
        if is_array(value) and value.ndim > 1 and computed_shape(scene, node, {name: value.shape[1:]}) is not None:
            fitting.append((name, value.shape))
    if len(fitting) != 1:
        return []
    name, shape = fitting[0]
    words = (
        "With one entry of `{name}`, of shape {entry}, the product fits: if `{name}` is a batch of {size}, write this "
        "for one entry, and map over the batch with `jax.vmap`."
    )
    return [scene.advice(words.format(name=name, entry=shape[1:], size=shape[0]))]


@explains(error_texts.RESHAPE)
def reshaped(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a reshape that changes the number of entries."""
    call = scene.call()
    if call is None or called(call) != "reshape" or scene.library is not None:
        return None
    size, wanted = int(found[2]), _shape(found[3])
    method = isinstance(call.func, ast.Attribute) and not isinstance(scene.spot.value(call.func.value), ModuleType)
    if not method and not call.args:
        return None
    array = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0]
    numbers = [
        n for a in (call.args if method else call.args[1:]) for n in (a.elts if isinstance(a, ast.Tuple) else [a])
    ]
    fixes: list[Fix | None] = []
    for i, node in list(enumerate(numbers)):
        others = 1
        for j, n in enumerate(wanted):
            others *= n if j != i else 1
        if len(numbers) == len(wanted) and others and size % others == 0:
            fixes.append(
                scene.fix(
                    f"Let JAX count one of the sizes: {size // others}.",
                    scene.source.replace(node, "-1"),
                )
            )
    name = scene.quote(array)
    return scene.explanation(
        "reshape_size",
        title="A reshape to another number of entries",
        what=plural(
            "`{name}` has shape {shape}: {count} entry.",
            "`{name}` has shape {shape}: {count} entries.",
            size,
            name=name,
            shape=found[1],
        ),
        variable=name,
        why=f"Reshaping keeps every entry, and {found[3]} has room for another number of them.",
        fixes=[*_repeated(scene, call, array, _shape(found[1]), wanted), *fixes[:2]]
        or [scene.advice(f"Choose sizes whose product is {size}.")],
        link=f"{error_texts.API}/jax.numpy.reshape.html",
    )


def _repeated(
    scene: Scene, call: ast.Call, array: ast.expr, shape: tuple[int, ...], wanted: tuple[int, ...]
) -> list[Fix | None]:
    """Return the fixes that repeat an array along new axes, before its own or behind them, to get a wanted shape."""
    if not shape or len(shape) >= len(wanted) or 0 in wanted or call.keywords:
        return []
    given = call.args[-1] if isinstance(call.func, ast.Attribute) and len(call.args) in (1, 2) else None
    value = scene.spot.value(given) if given is not None else MISSING
    text = scene.quote(given) if given is not None and given is not array else str(wanted)
    if value != wanted and not (value is MISSING and ".shape" in text):
        text = str(wanted)
    new, fixes = len(wanted) - len(shape), []
    if wanted[: len(shape)] == shape:
        places = ", ".join([":"] * len(shape) + ["None"] * new)
        fixes.append(
            scene.fix(
                "If each entry is to be repeated along the new axes: broadcast, because `reshape` repeats nothing.",
                scene.source.replace(call, f"{scene.jnp}.broadcast_to({scene.atom(array)}[{places}], {text})"),
            )
        )
    if wanted[new:] == shape:
        fixes.append(
            scene.fix(
                "If all of it is to be repeated along new first axes: broadcast, because `reshape` repeats nothing.",
                scene.source.replace(call, f"{scene.jnp}.broadcast_to({scene.quote(array)}, {text})"),
            )
        )
    return [*fixes]


@explains(error_texts.AXIS)
def axis_out_of_bounds(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an axis that an array does not have."""
    call = scene.call()
    if call is None or scene.library is not None:
        return None
    node = next((k.value for k in call.keywords if k.arg in ("axis", "out_axes")), None)
    if node is None and isinstance(call.func, ast.Call):  # jax.vmap(f, out_axes=2)(x)
        node = next((k.value for k in call.func.keywords if k.arg == "out_axes"), None)
    if node is None:
        return None
    array = None if isinstance(call.func, ast.Call) else next(iter(call.args), None)
    owner = scene.spot.value(call.func.value) if isinstance(call.func, ast.Attribute) else None
    method = isinstance(call.func, ast.Attribute) and not isinstance(owner, ModuleType)
    if method and isinstance(call.func, ast.Attribute) and (array is None or is_array(owner)):
        array = call.func.value
    held = scene.spot.value(array)
    part = scene.spot.first(array, is_array)
    part = part if part is not None and part[1].ndim == int(found[2]) else None
    whole = is_array(held) or isinstance(array, ast.List | ast.Tuple)
    name = scene.quote(part[0]) if part is not None and whole else scene.quote(array if array is not None else call)
    value = scene.spot.value(node)
    return scene.explanation(
        "axis_out_of_bounds",
        title="An axis that is not there",
        what=scene.what(name, part[1]) if part is not None and whole else "",
        variable=name,
        why=plural(
            "Axes are counted from 0, and there is {count}: its number is 0. Axis -1 is the last one.",
            "Axes are counted from 0: {count} axes end at {last}. Axis -1 is the last one.",
            int(found[2]),
            last=int(found[2]) - 1,
        ),
        fixes=[
            scene.fix(
                "Take the last axis.",
                scene.source.replace(node, "-1") if value is not MISSING and not isinstance(value, tuple) else None,
            )
        ],
        link=_BROADCASTING,
    )


@explains(error_texts.CONCATENATE_SCALARS)
def joined_scalars(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.concatenate` of numbers."""
    call = scene.call()
    if call is None or not call.args:
        return None
    if len(call.args) > 1 and not isinstance(call.args[0], ast.List | ast.Tuple):
        return joined_without_list(scene, found)
    text = scene.quote(call.args[0])
    return scene.explanation(
        "concatenate_scalars",
        title="Numbers, which have no axis to be joined along",
        what=f"`{text}` holds numbers of shape ().",
        variable=text,
        why="`concatenate` joins along an axis that is there; `stack` makes a new one.",
        fixes=[
            scene.fix(
                "Stack them.",
                scene.source.replace(call, f"{scene.jnp}.stack({scene.jnp}.asarray({text}))")
                if not isinstance(call.args[0], ast.List | ast.Tuple)
                else scene.source.replace(call, f"{scene.jnp}.array({text})"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.stack.html",
    )


@explains(error_texts.CONCATENATE_CALL, error_texts.CONCATENATE_DTYPE, error_texts.CONCATENATE_AXIS)
def joined_without_list(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.concatenate(x, y)`, whose second argument is the axis."""
    call = scene.call()
    if call is None or called(call) not in ("concatenate", "stack", "hstack", "vstack") or len(call.args) < 2:
        return None
    if any(isinstance(a, ast.List | ast.Tuple | ast.Starred) for a in call.args):
        return None
    if any(type(scene.spot.value(a)) in (int, list, tuple) for a in call.args):
        return None
    arrays = [scene.quote(a) for a in call.args]
    rest = "".join(f", {k.arg}={scene.quote(k.value)}" for k in call.keywords)
    new = f"{scene.quote(call.func)}([{', '.join(arrays)}]{rest})"
    values = [scene.spot.value(a) for a in call.args]
    if not rest and called(call) == "concatenate" and all(is_array(v) and v.ndim == 2 for v in values):
        (rows, columns), (more_rows, more_columns) = values[0].shape, values[1].shape
        if rows == more_rows and columns != more_columns:
            new = f"{scene.quote(call.func)}([{', '.join(arrays)}], axis=1)"
    return scene.explanation(
        "concatenate_without_list",
        title=f"`{called(call)}` was given its arrays one by one, not in a list",
        what=f"`{arrays[1]}` is given as an argument of its own, beside `{arrays[0]}`.",
        variable=arrays[1],
        why="The first argument is the list of all arrays; what follows says how they are joined.",
        fixes=[scene.fix("Put them into a list.", scene.source.replace(call, new))],
        link=f"{error_texts.API}/jax.numpy.{called(call)}.html",
    )


@explains(error_texts.CONCATENATE_RANKS, error_texts.CONCATENATE_SHAPES, error_texts.STACK_SHAPES)
def joined_shapes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain arrays whose shapes cannot be joined."""
    call = scene.call()
    if call is None or not call.args or scene.library is not None:
        return None
    if not isinstance(call.args[0], ast.List | ast.Tuple):
        return _joined_name(scene, call)
    if called(call) == "array":
        return ragged(scene, found)
    parts = call.args[0].elts
    values = [scene.spot.value(p) for p in parts]
    said = [_shape(text) for text in error_texts.SHAPES_SAID.findall(scene.message)]
    if len(parts) < 2 or (not all(is_array(v) for v in values) and len(said) != len(parts)):
        return None
    texts = [scene.quote(p) for p in parts]
    shapes = [tuple(v.shape) for v in values] if all(is_array(v) for v in values) else said
    ranks = {len(shape) for shape in shapes}
    wrong = 1
    fixes: list[Fix | None] = []
    if len(ranks) > 1:
        wrong = min(range(len(shapes)), key=lambda i: len(shapes[i]))
        fixes.append(_lacking_axis(scene, call, parts, shapes))
    elif len(shapes[0]) > 1:
        axes = [a for a in range(len(shapes[0])) if len({s[:a] + s[a + 1 :] for s in shapes}) == 1]
        old = argument_of(call, 1, "axis")
        if axes and called(call) == "concatenate":
            fixes.append(
                scene.fix(
                    "Join along the axis in which they differ.",
                    scene.source.insert_after(call.args[0], f", axis={axes[0]}")
                    if old is None
                    else scene.source.replace(old, str(axes[0])),
                )
            )
        elif axes:
            new = f"{scene.jnp}.concatenate({scene.quote(call.args[0])}, axis={axes[0]})"
            fixes.append(scene.fix("Join them along an axis that is there.", scene.source.replace(call, new)))
    if not fixes:
        fixes.append(scene.fix("Look at the shapes first.", code=", ".join(f"{t}.shape" for t in texts)))
    return scene.explanation(
        "joined_shapes",
        title="Arrays that cannot be joined",
        what="The shapes are {shapes}.".format(
            shapes=", ".join(f"`{t}` {s}" for t, s in zip(texts, shapes, strict=True))
        ),
        variable=texts[wrong],
        why=(
            "Joined arrays agree in the number of axes, and in all sizes but that of the axis along which they are "
            "joined."
        )
        if called(call) == "concatenate"
        else "Stacked arrays all have the same shape.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.{called(call)}.html",
    )


def _lacking_axis(scene: Scene, call: ast.Call, parts: list[ast.expr], shapes: list[tuple[int, ...]]) -> Fix | None:
    """Return the fix that adds the missing axis to arrays that are joined with arrays of one more axis."""
    full = max(shapes, key=len)
    given = argument_of(call, 1, "axis") if called(call) == "concatenate" else None
    value = scene.spot.value(given) if given is not None else 0
    if not isinstance(value, int):
        return None
    axis = value % len(full) if called(call) == "concatenate" else min(1, len(full) - 1)  # `hstack` joins columns
    low = [i for i, shape in enumerate(shapes) if len(shape) < len(full)]
    fits = [a for a in range(len(full)) if all(shapes[i] == full[:a] + full[a + 1 :] for i in low)]
    if not fits:
        return None
    place = axis if axis in fits else fits[0]
    edits = [scene.source.replace(parts[i], _with_axis(scene, parts[i], place, shapes[i])) for i in low]
    if place != axis and called(call) != "concatenate":
        return None
    if place != axis:
        new = scene.source.replace(given, str(place)) if given is not None else None
        edits.append(new or scene.source.insert_after(call.args[0], f", axis={place}"))
    names = ", ".join(f"`{scene.quote(parts[i])}`" for i in low)
    return scene.fix(f"Give {names} the axis that it lacks.", *edits)


def _with_axis(scene: Scene, node: ast.expr, axis: int, shape: tuple[int, ...]) -> str:
    """Return the text of an array with one more axis; a plain number becomes an array of length 1."""
    if not shape and not is_array(scene.spot.value(node)):
        return f"{scene.jnp}.array([{scene.quote(node)}])"
    return f"{scene.atom(node)}[{':, ' * axis}None]"


def _joined_name(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain arrays of different ranks in a named list."""
    name, value = scene.quote(call.args[0]), scene.spot.value(call.args[0])
    if not isinstance(value, list | tuple) or not all(is_array(v) for v in value) or len(value) < 2:
        return None
    ranks = [v.ndim for v in value]
    if called(call) == "stack" and len({tuple(v.shape) for v in value}) > 1:
        return _stacked_name(scene, name, value)
    if len(set(ranks)) < 2 or called(call) != "concatenate":
        return None
    wrong = ranks.index(min(ranks))
    full = max((tuple(v.shape) for v in value), key=len)
    rows = len(full) == 2 and len(call.args) == 1 and not call.keywords
    rows = rows and all(v.ndim == 2 or tuple(v.shape) == full[1:] for v in value)
    text = f"{scene.quote(call.func)}([{scene.jnp}.atleast_2d(part) for part in {name}])"
    return scene.explanation(
        "joined_shapes",
        title="Arrays that cannot be joined",
        what="The shapes are {shapes}.".format(
            shapes=", ".join(f"`{name}[{i}]` {tuple(v.shape)}" for i, v in enumerate(value))
        ),
        variable=f"{name}[{wrong}]",
        why=(
            "Joined arrays agree in the number of axes, and in all sizes but that of the axis along which they are "
            "joined."
        ),
        fixes=[
            scene.fix("Make a row of every part that has one axis.", scene.source.replace(call, text))
            if rows
            else scene.advice("Give every part the same number of axes: `part[None]` adds one in front.")
        ],
        link=f"{error_texts.API}/jax.numpy.concatenate.html",
    )


def _stacked_name(scene: Scene, name: str, values: Sequence[Any]) -> Explanation | None:
    """Explain arrays of different shapes in a named list that is stacked."""
    shapes = [tuple(value.shape) for value in values]
    wrong = next(i for i, shape in enumerate(shapes) if shape != shapes[0])
    return scene.explanation(
        "joined_shapes",
        title="Arrays that cannot be joined",
        what=f"`{name}[0]` has shape {shapes[0]}, and `{name}[{wrong}]` has shape {shapes[wrong]}.",
        variable=f"{name}[{wrong}]",
        why="`stack` puts arrays side by side along a new axis, so all have the same shape.",
        fixes=[
            scene.advice(
                f"Bring all to one shape first: fill up the short ones with `{scene.jnp}.pad`, and keep the lengths."
            ),
            scene.advice("Or join them along an axis that is there: `concatenate`."),
        ],
        link=f"{error_texts.API}/jax.numpy.stack.html",
    )


@explains(error_texts.RAGGED)
def ragged(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.array([[1, 2], [3]])`."""
    call = scene.call()
    if call is None or not call.args:
        return None
    rows = call.args[0]
    text, value = scene.quote(rows), scene.spot.value(rows)
    lengths = [len(row) for row in value if isinstance(row, list | tuple)] if isinstance(value, list | tuple) else []
    fixes: list[Fix | None] = []
    if lengths and len(lengths) == len(value) and len(set(lengths)) > 1:
        longest = max(lengths)
        padded = f"[[*row, *[0] * ({longest} - len(row))] for row in {text}]"
        fixes.append(
            scene.fix("Fill up the short rows, and keep the lengths beside.", scene.source.replace(rows, padded))
        )
    fixes.append(
        scene.fix(
            "Keep a list of arrays: most of JAX takes lists as pytrees.",
            scene.source.replace(call, f"[{scene.jnp}.array(row) for row in {text}]"),
        )
    )
    return scene.explanation(
        "ragged_list",
        title="Rows of different lengths",
        what="`{text}` has rows of {lengths} entries.".format(text=text, lengths=", ".join(map(str, lengths)))
        if lengths
        else "",
        variable=text,
        why="An array is a full block: every row has the same length.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.array.html",
    )
