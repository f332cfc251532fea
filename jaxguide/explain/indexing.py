"""Explain indices that JAX cannot take: masks and slices that change the shape, floats, lists and strings."""

import ast
import re

from jaxguide.explain import phrases
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.jitted import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.spot import MISSING, is_array
from jaxguide.text import _

# Reductions of what a mask picks -> what to put where the mask is False (an `initial` for NumPy's `where=`).
_NEUTRAL = {"sum": "0", "prod": "1", "any": "False", "all": "True", "max": "-{jnp}.inf", "min": "{jnp}.inf"}
_AVERAGES = ("mean", "std", "var")


@explains(phrases.BOOLEAN_MASK)
def boolean_mask(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[mask]`, whose length depends on how many values are True."""
    node, source = scene.node, scene.source
    if not isinstance(node, ast.Subscript):
        return None
    mask, values = scene.quote(node.slice), scene.quote(node.value)
    traced = scene.tracer(node.slice) or scene.tracer(node.value)
    if traced is None:
        return None
    variable = scene.quote(node.slice) if isinstance(node.slice, ast.Name) else scene.quote(traced[0])
    value = scene.spot.value(ast.Name(variable, ast.Load()))
    what = scene.what(variable, value if value is not MISSING else traced[1])
    reduced = _reduction(scene, node)
    fixes: list[Fix | None] = []
    if reduced is not None:
        outer, name, rest = reduced
        if name in _AVERAGES:
            text = f"{scene.jnp}.{name}({values}, where={mask}{rest})"
        else:
            neutral = _NEUTRAL[name].format(jnp=scene.jnp)
            text = f"{scene.jnp}.{name}({scene.jnp}.where({mask}, {values}, {neutral}){rest})"
        fixes.append(
            scene.fix(_("Keep the shape, and let what is masked out count for nothing."), source.replace(outer, text))
        )
    else:
        fixes.append(
            scene.fix(
                _("Keep the shape, with 0 where the mask is False."),
                source.replace(node, f"{scene.jnp}.where({mask}, {values}, 0)"),
            )
        )
    if reduced is None and getattr(traced[1], "ndim", 0) == 1:
        fixes.append(
            scene.fix(
                _("Pack them to the front, at full length, filled up with 0."),
                source.replace(node, f"{scene.jnp}.compress({mask}, {values}, size={scene.atom(node.value)}.shape[0])"),
            )
        )
    return scene.explanation(
        "boolean_mask",
        title=_("A mask picks a number of values that is not known"),
        what=what,
        variable=variable,
        why=_(
            "How long `{text}` is depends on how many are True, and JAX must know every shape while it records."
        ).format(text=scene.quote(node)),
        fixes=fixes,
        link=phrases.ERRORS_PAGE,
    )


@explains(phrases.DYNAMIC_SLICE)
def dynamic_slice(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[:n]` and `x[i : i + 2]` with a traced bound."""
    node, source = scene.node, scene.source
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return None
    traced = scene.tracer(node.slice)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    values = scene.quote(node.value)
    lower = scene.quote(node.slice.lower) if node.slice.lower else "0"
    upper = scene.quote(node.slice.upper) if node.slice.upper else ""
    window = _window(node.slice)
    slide = None
    if window is not None:
        slide = scene.fix(
            _("A window of fixed length that moves: `lax.dynamic_slice_in_dim` (at the end it moves back to fit)."),
            source.replace(node, f"{scene.lax}.dynamic_slice_in_dim({values}, {lower}, {window})"),
        )
    reduced = _reduction(scene, node)
    mask = None
    if window is None and node.slice.step is None:
        places = f"{scene.jnp}.arange({scene.atom(node.value)}.shape[0])"
        inside = [f"{places} >= {lower}"] if node.slice.lower else []
        inside += [f"{places} < {upper}"] if node.slice.upper else []
        keep = inside[0] if len(inside) == 1 else " & ".join(f"({test})" for test in inside)
        if reduced is not None and reduced[1] in _NEUTRAL:
            outer, name, rest = reduced
            neutral = _NEUTRAL[name].format(jnp=scene.jnp)
            text = f"{scene.jnp}.{name}({scene.jnp}.where({keep}, {values}, {neutral}){rest})"
            mask = scene.fix(_("Keep the length and mask the rest."), source.replace(outer, text))
        else:
            text = f"{scene.jnp}.where({keep}, {values}, 0)"
            mask = scene.fix(_("Keep the length, with 0 for the rest."), source.replace(node, text))
    return scene.explanation(
        "dynamic_slice",
        title=_("A slice has a bound that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("How long `{text}` is depends on `{name}`, and JAX must know every shape while it records.").format(
            text=scene.quote(node), name=variable
        ),
        fixes=[slide, mask, static_fix(scene, tracer)],
        link=f"{phrases.API}/jax.lax.dynamic_slice.html",
    )


@explains(phrases.INDEX_FLOAT)
def float_index(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[1.0]`."""
    node = scene.node
    if not isinstance(node, ast.Subscript):
        return None
    index = scene.quote(node.slice)
    value = scene.spot.value(node.slice)
    python = isinstance(value, float)
    text = f"int({index})" if python else f"{scene.atom(node.slice)}.astype(int)"
    return scene.explanation(
        "index_of_floats",
        title=_("An index must be an integer"),
        what=scene.what(index, value)
        if value is not MISSING and not python
        else _("`{name}` is a float here.").format(name=index),
        variable=index,
        why=_("Positions are counted, so a float names none, even one without a fraction."),
        fixes=[scene.fix(_("Make it an integer."), scene.source.replace(node.slice, text))],
        link=f"{phrases.API}/jax.numpy.astype.html",
    )


@explains(phrases.INDEX_LIST)
def list_index(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[[0, 1]]`."""
    node = scene.node
    if not isinstance(node, ast.Subscript):
        return None
    index = scene.quote(node.slice)
    return scene.explanation(
        "index_of_list",
        title=_("A list is no index for JAX"),
        what=_("`{name}` is a list here.").format(name=index),
        variable=index,
        why=_(
            "NumPy takes a list for an array of positions; JAX does not guess, and a tuple means one index per axis."
        ),
        fixes=[
            scene.fix(
                _("Say that it is an array of positions."),
                scene.source.replace(node.slice, f"{scene.jnp}.array({index})"),
            ),
        ],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


@explains(phrases.TOO_MANY_INDICES)
def too_many_indices(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x[0, 1]` of a vector."""
    node = scene.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    value = scene.spot.value(node.value)
    rank, name = int(found[1]), scene.quote(node.value)
    kept = [scene.quote(element) for element in node.slice.elts[:rank]]
    return scene.explanation(
        "too_many_indices",
        title=_("More indices than axes"),
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why=_("It has {rank} axes and {given} indices were given: one index takes away one axis.").format(
            rank=rank, given=found[2]
        ),
        fixes=[
            scene.fix(
                _("Give one index for each axis, from the first."),
                scene.source.replace(node.slice, ", ".join(kept)) if kept else None,
            ),
            scene.fix(_("Look at the shape first."), code=f"{scene.atom(node.value)}.shape"),
        ],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


def _reduction(scene: Scene, node: ast.Subscript) -> tuple[ast.Call, str, str] | None:
    """Return the call that reduces what was picked, its name and more arguments: `x[m].sum()`, `jnp.sum(x[m])`."""
    outer = scene.source.parents.get(node)
    names = {*_NEUTRAL, *_AVERAGES}
    if isinstance(outer, ast.Attribute) and outer.attr in names:
        call = scene.source.parents.get(outer)
        if isinstance(call, ast.Call) and call.func is outer and not call.args and not call.keywords:
            return call, outer.attr, ""
    if isinstance(outer, ast.Call) and outer.args == [node] and not outer.keywords and called(outer) in names:
        return outer, called(outer), ""
    return None


def _window(node: ast.Slice) -> str | None:
    """Return the length of a slice `i : i + length`, None for any other."""
    lower, upper = node.lower, node.upper
    if lower is None or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or node.step:
        return None
    for start, length in ((upper.left, upper.right), (upper.right, upper.left)):
        if ast.dump(start) == ast.dump(lower):
            return ast.unparse(length)
    return None
