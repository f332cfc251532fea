"""Explain arrays that cannot be joined: `concatenate`, `stack`, `vstack`, `hstack`, and rows of different lengths."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called


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
        title=_("Numbers have no axis to be joined along"),
        what=_("`{text}` holds numbers of shape ().").format(text=text),
        variable=text,
        why=_("`concatenate` joins along an axis that is there; `stack` makes a new one."),
        fixes=[
            scene.fix(
                _("Stack them."),
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
        title=_("`{name}` takes its arrays in one list").format(name=called(call)),
        what=_("`{name}` is given as an argument of its own, beside `{first}`.").format(
            name=arrays[1], first=arrays[0]
        ),
        variable=arrays[1],
        why=_("The first argument is the list of all arrays; what follows says how they are joined."),
        fixes=[scene.fix(_("Put them into a list."), scene.source.replace(call, new))],
        link=f"{error_texts.API}/jax.numpy.{called(call)}.html",
    )


@explains(error_texts.CONCATENATE_RANKS, error_texts.CONCATENATE_SHAPES, error_texts.STACK_SHAPES)
def joined_shapes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain arrays whose shapes cannot be joined."""
    call = scene.call()
    if call is None or not call.args:
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
                    _("Join along the axis in which they differ."),
                    scene.source.insert_after(call.args[0], f", axis={axes[0]}")
                    if old is None
                    else scene.source.replace(old, str(axes[0])),
                )
            )
        elif axes:
            new = f"{scene.jnp}.concatenate({scene.quote(call.args[0])}, axis={axes[0]})"
            fixes.append(scene.fix(_("Join them along an axis that is there."), scene.source.replace(call, new)))
    if not fixes:
        fixes.append(scene.fix(_("Look at the shapes first."), code=", ".join(f"{t}.shape" for t in texts)))
    return scene.explanation(
        "joined_shapes",
        title=_("Arrays that cannot be joined"),
        what=_("The shapes are {shapes}.").format(
            shapes=", ".join(f"`{t}` {s}" for t, s in zip(texts, shapes, strict=True))
        ),
        variable=texts[wrong],
        why=_(
            "Joined arrays agree in the number of axes, and in all sizes but that of the axis along which they are "
            "joined."
        )
        if called(call) == "concatenate"
        else _("Stacked arrays all have the same shape."),
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.{called(call)}.html",
    )


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", text))


def _lacking_axis(scene: Scene, call: ast.Call, parts: list[ast.expr], shapes: list[tuple[int, ...]]) -> Fix | None:
    """Return the fix that gives arrays the axis that they lack beside those of one axis more."""
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
    return scene.fix(_("Give {names} the axis that it lacks.").format(names=names), *edits)


def _with_axis(scene: Scene, node: ast.expr, axis: int, shape: tuple[int, ...]) -> str:
    """Return the text of an array with one axis more; a plain number becomes an array of one."""
    if not shape and not is_array(scene.spot.value(node)):
        return f"{scene.jnp}.array([{scene.quote(node)}])"
    return f"{scene.atom(node)}[{':, ' * axis}None]"


def _joined_name(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain arrays of different ranks in a list that has a name."""
    name, value = scene.quote(call.args[0]), scene.spot.value(call.args[0])
    if not isinstance(value, list | tuple) or not all(is_array(v) for v in value) or len(value) < 2:
        return None
    ranks = [v.ndim for v in value]
    if len(set(ranks)) < 2 or called(call) != "concatenate":
        return None
    wrong = ranks.index(min(ranks))
    full = max((tuple(v.shape) for v in value), key=len)
    rows = len(full) == 2 and len(call.args) == 1 and not call.keywords
    rows = rows and all(v.ndim == 2 or tuple(v.shape) == full[1:] for v in value)
    text = f"{scene.quote(call.func)}([{scene.jnp}.atleast_2d(part) for part in {name}])"
    return scene.explanation(
        "joined_shapes",
        title=_("Arrays that cannot be joined"),
        what=_("The shapes are {shapes}.").format(
            shapes=", ".join(f"`{name}[{i}]` {tuple(v.shape)}" for i, v in enumerate(value))
        ),
        variable=f"{name}[{wrong}]",
        why=_(
            "Joined arrays agree in the number of axes, and in all sizes but that of the axis along which they are "
            "joined."
        ),
        fixes=[
            scene.fix(_("Make a row of every part that has one axis."), scene.source.replace(call, text))
            if rows
            else scene.advice(_("Give every part the same number of axes: `part[None]` adds one in front."))
        ],
        link=f"{error_texts.API}/jax.numpy.concatenate.html",
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
            scene.fix(_("Fill up the short rows, and keep the lengths beside."), scene.source.replace(rows, padded))
        )
    fixes.append(
        scene.fix(
            _("Keep a list of arrays: most of JAX takes lists as pytrees."),
            scene.source.replace(call, f"[{scene.jnp}.array(row) for row in {text}]"),
        )
    )
    return scene.explanation(
        "ragged_list",
        title=_("Rows of different lengths"),
        what=_("`{text}` has rows of {lengths} entries.").format(text=text, lengths=", ".join(map(str, lengths)))
        if lengths
        else "",
        variable=text,
        why=_("An array is a full block: every row has the same length."),
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.array.html",
    )
