"""Explain `in_axes` and `out_axes` of `jax.vmap` that do not fit the arguments and the result."""

import ast
import re

import jax
import numpy as np

from jaxguide.base.text import _, plural
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.mapped_axes import as_tuple, axes_fix, axes_of, mapped_call
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

_VMAP = f"{error_texts.API}/jax.vmap.html"


@explains(error_texts.VMAP_IN_AXES)
def axes_do_not_fit(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes` with more or fewer entries than arguments."""
    mapped = mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if given is None:
        return None
    text, count = scene.quote(given), int(found[1])
    each = [*axes_of(made, len(outer.args))[:count], *(_axis_of(scene, outer, a) for a in outer.args[count:])]
    axes = as_tuple(each) if len(outer.args) > 1 else f"({each[0]},)"
    return scene.explanation(
        "vmap_in_axes",
        title=_("`in_axes` does not fit the arguments"),
        what=_("`in_axes={axes}` has {entries}, and the call has {arguments}.").format(
            axes=text,
            entries=plural("{count} entry", "{count} entries", count),
            arguments=plural("{count} positional argument", "{count} positional arguments", int(found[2])),
        ),
        variable="in_axes",
        why=_("There is one entry of `in_axes` for each positional argument: its axis, or None to hand it over whole."),
        fixes=[axes_fix(scene, made, _("Give one entry for each argument."), axes)],
        link=_VMAP,
    )


def _axis_of(scene: Scene, outer: ast.Call, node: ast.expr) -> str:
    """Return the axis of an argument that has none yet: None where it has not as many entries as the first one."""
    first, value = scene.spot.value(outer.args[0]), scene.spot.value(node)
    if value is MISSING:
        return "0"
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(value)]
    entries = np.shape(first)[:1] if is_array(first) else None
    return "0" if all(shape and entries in (None, shape[:1]) for shape in shapes) else "None"


@explains(error_texts.VMAP_ALL_NONE)
def nothing_mapped(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes=None`."""
    mapped = mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    axes = ["0", *["None"] * (len(outer.args) - 1)]
    return scene.explanation(
        "vmap_nothing",
        title=_("`jax.vmap` has nothing to map over"),
        what=_("Every entry of `in_axes` is None."),
        variable="in_axes",
        why=_("None hands an argument over whole; at least one must be taken apart, to say how many calls there are."),
        fixes=[
            axes_fix(
                scene,
                made,
                _("Map over the first axis of `{name}`.").format(name=scene.quote(outer.args[0])),
                as_tuple(axes),
            )
            if outer.args
            else None
        ],
        link=_VMAP,
    )


@explains(error_texts.VMAP_OUT_NONE)
def result_is_batched(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_axes=None` for a result that differs from row to row."""
    mapped = mapped_call(scene)
    if mapped is None:
        return None
    _outer, made = mapped
    keyword = next((k for k in made.keywords if k.arg == "out_axes"), None)
    return scene.explanation(
        "vmap_out_axes",
        title=_("`out_axes=None` for a result that is mapped"),
        what=_("The result of `{name}` differs from call to call.").format(name=scene.quote(made.args[0])),
        variable="out_axes",
        why=_("None says that all calls give the same; this result depends on the mapped argument."),
        fixes=[
            scene.fix(
                _("Stack the results along an axis: 0 is the first."),
                scene.source.replace(keyword.value, "0") if keyword is not None else None,
            )
        ],
        link=_VMAP,
    )


@explains(error_texts.VMAP_PREFIX)
def axes_of_a_tree(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes` whose dict has other keys than the argument."""
    mapped = mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if not isinstance(given, ast.Tuple) or len(given.elts) != len(outer.args):
        return None
    axes = [
        "0" if isinstance(element, ast.Dict | ast.List | ast.Tuple) else scene.quote(element) for element in given.elts
    ]
    tree = next(
        (i for i, element in enumerate(given.elts) if isinstance(element, ast.Dict | ast.List | ast.Tuple)), None
    )
    if tree is None:
        return None
    return scene.explanation(
        "vmap_axes_of_a_tree",
        title=_("`in_axes` has other parts than the argument"),
        what=_("`{axes}` is given for `{argument}`.").format(
            axes=scene.quote(given.elts[tree]), argument=scene.quote(outer.args[tree])
        ),
        variable="in_axes",
        why=_("An entry of `in_axes` is one axis for the whole argument, or has the argument's own keys and parts."),
        fixes=[axes_fix(scene, made, _("Give one axis for all of it."), as_tuple(axes))],
        link=_VMAP,
    )
