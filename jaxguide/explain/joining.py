"""Explain arrays that cannot be joined: `concatenate`, `stack`, `vstack`, `hstack`, and rows of different lengths."""

import ast
import re

from jaxguide.explain import phrases
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.spot import is_array
from jaxguide.text import _


@explains(phrases.CONCATENATE_SCALARS)
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
        link=f"{phrases.API}/jax.numpy.stack.html",
    )


@explains(phrases.CONCATENATE_CALL, phrases.CONCATENATE_DTYPE, phrases.CONCATENATE_AXIS)
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
        link=f"{phrases.API}/jax.numpy.{called(call)}.html",
    )


@explains(phrases.CONCATENATE_RANKS, phrases.CONCATENATE_SHAPES, phrases.STACK_SHAPES)
def joined_shapes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain arrays whose shapes cannot be joined."""
    call = scene.call()
    if call is None or not call.args or not isinstance(call.args[0], ast.List | ast.Tuple):
        return None
    if called(call) == "array":
        return ragged(scene, found)
    parts = call.args[0].elts
    values = [scene.spot.value(p) for p in parts]
    if not all(is_array(v) for v in values) or len(values) < 2:
        return None
    texts, shapes = [scene.quote(p) for p in parts], [tuple(v.shape) for v in values]
    ranks = {len(shape) for shape in shapes}
    wrong = 1
    fixes: list[Fix | None] = []
    if len(ranks) > 1:
        wrong = min(range(len(shapes)), key=lambda i: len(shapes[i]))
        fixes.append(
            scene.fix(
                _("Give `{name}` the axis that it lacks.").format(name=texts[wrong]),
                scene.source.replace(parts[wrong], f"{scene.atom(parts[wrong])}[None]"),
            )
        )
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
        link=f"{phrases.API}/jax.numpy.{called(call)}.html",
    )


@explains(phrases.RAGGED)
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
        link=f"{phrases.API}/jax.numpy.array.html",
    )
