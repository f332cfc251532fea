"""Explain what `jax.vmap` cannot map: missing axes, sizes that differ, lists, and `in_axes` that do not fit."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _, plural
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called

_VMAP = f"{error_texts.API}/jax.vmap.html"


@explains(error_texts.VMAP_SIZES)
def sizes_differ(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain mapped arguments of different sizes."""
    mapped = _mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    sizes = re.findall(
        r"(?:axis|axes) (?:\([^)]*\) )?had size (\d+): axis (\d+) of (?:argument (\w+)|args?\S*)", scene.message
    )
    axes = _axes_of(made, len(outer.args))
    used = [i for i, axis in enumerate(axes) if axis != "None"]
    if len(used) < 2 or made.args[:1] == []:
        return None
    last, first = used[-1], used[0]
    text = scene.quote(outer.args[last])
    function = scene.quote(made.args[0])
    whole = [*axes]
    whole[last] = "None"
    pairs = None
    if len(outer.args) == 2:
        name = scene.quote(made.func)
        inner, around = _as_tuple(["None", axes[1]]), _as_tuple([axes[0], "None"])
        pairs = scene.fix(
            _("Map over one after the other: every pair, a result with both sizes."),
            scene.source.replace(made, f"{name}({name}({function}, in_axes={inner}), in_axes={around})"),
        )
    said = _(" and ").join(f"{size[0]}" for size in sizes) or _("different numbers of")
    return scene.explanation(
        "vmap_sizes",
        title=_("`jax.vmap` maps over sizes that differ"),
        what=_("`{first}` and `{last}` are mapped together, and have {sizes} entries there.").format(
            first=scene.quote(outer.args[first]), last=text, sizes=said
        ),
        variable=text,
        why=_("`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each."),
        fixes=[
            _axes_fix(scene, made, _("Hand `{name}` whole to every call.").format(name=text), _as_tuple(whole)),
            pairs,
        ],
        link=_VMAP,
    )


@explains(error_texts.VMAP_RANK)
def axis_missing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an axis that an argument does not have, such as any axis of a scalar."""
    mapped = _mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    axis, rank = int(found[1]), int(found[2])
    axes = _axes_of(made, len(outer.args))
    position = 0 if len(outer.args) == 1 else None
    for i, argument in enumerate(outer.args):
        value = scene.spot.value(argument)
        ndim = getattr(value, "ndim", 0 if isinstance(value, int | float | complex) else None)
        if ndim is not None and axes[i] == str(axis) and ndim == rank:
            position = i
            break
    values = [scene.spot.value(argument) for argument in outer.args]
    numbers = [i for i, v in enumerate(values) if isinstance(v, list | tuple) and axes[i] == str(axis) and _plain(v)]
    if rank == 0 and len(numbers) == 1:
        return _list_given(scene, outer.args[numbers[0]])
    alone = [i for i, given in enumerate(axes) if given == str(axis)]
    if position is None and len(alone) == 1:
        position = alone[0]
    if position is None:
        return None
    text, value = scene.quote(outer.args[position]), scene.spot.value(outer.args[position])
    whole = [*axes]
    whole[position] = "None" if rank == 0 else "0"
    fixes = []
    if rank == 0 and len(outer.args) > 1:
        fixes.append(
            _axes_fix(scene, made, _("Hand `{name}` whole to every call.").format(name=text), _as_tuple(whole))
        )
    elif rank:
        fixes.append(_axes_fix(scene, made, _("Map over an axis that it has: 0 is the first."), _as_tuple(whole)))
    else:
        fixes.append(
            scene.fix(
                _("One number needs no `vmap`: call the function itself."),
                scene.source.replace(made, scene.atom(made.args[0])) if made.args else None,
            )
        )
    return scene.explanation(
        "vmap_axis",
        title=_("`jax.vmap` maps over an axis that is not there"),
        what=scene.what(text, value)
        if is_array(value)
        else plural("`{name}` has {count} axis.", "`{name}` has {count} axes.", rank, name=text),
        variable=text,
        why=_("Axis {axis} was asked for, and it has {rank}: `jax.vmap` takes an axis away from each argument.").format(
            axis=axis, rank=rank
        ),
        fixes=fixes,
        link=_VMAP,
    )


def _plain(value: list[Any] | tuple[Any, ...]) -> bool:
    return bool(value) and all(isinstance(entry, int | float | complex) for entry in value)


def _list_given(scene: Scene, node: ast.expr) -> Explanation | None:
    """Explain `jax.vmap(f)([1.0, 2.0])`."""
    text = scene.quote(node)
    return scene.explanation(
        "vmap_of_a_list",
        title=_("`jax.vmap` was given a list of numbers"),
        what=scene.what(text, scene.spot.value(node)),
        variable=text,
        why=_("A list is a pytree of numbers for JAX, and `jax.vmap` looks for an axis in each of them."),
        fixes=[scene.fix(_("Make one array of it."), scene.source.replace(node, f"{scene.jnp}.array({text})"))],
        link=_VMAP,
    )


@explains(error_texts.UNBOUND_AXIS)
def axis_name(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.pmean(x, "batch")` if no `vmap` names that axis."""
    name = found[1]
    made: ast.Call | None = None
    for spot in reversed(scene.spots[:-1]):
        for node in ast.walk(spot.statement) if spot.statement is not None else ():
            if isinstance(node, ast.Call) and called(node) == "vmap" and spot.source is scene.source:
                made = node
    call = scene.call()
    function = scene.quote(call.func) if call is not None else "lax.psum"
    return scene.explanation(
        "axis_name",
        title=_("No axis has the name `{name}`").format(name=name),
        what=_("`{function}` works across an axis of the batch that is called `{name}`.").format(
            function=function, name=name
        ),
        variable=name,
        why=_("An axis gets its name from the `jax.vmap` that maps over it, and none gives this one."),
        fixes=[
            scene.fix(
                _("Name the axis where it is mapped."),
                scene.source.insert_after(
                    made.keywords[-1].value if made.keywords else made.args[-1], f', axis_name="{name}"'
                )
                if made is not None
                else None,
                code=f'{scene.jax}.vmap(f, axis_name="{name}")' if made is None else "",
            )
        ],
        link=_VMAP,
    )


@explains(error_texts.VMAP_IN_AXES)
def axes_do_not_fit(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes` with more or fewer entries than arguments."""
    mapped = _mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if given is None:
        return None
    text, count = scene.quote(given), int(found[1])
    each = [*_axes_of(made, len(outer.args))[:count], *(_axis_of(scene, outer, a) for a in outer.args[count:])]
    axes = _as_tuple(each) if len(outer.args) > 1 else f"({each[0]},)"
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
        fixes=[_axes_fix(scene, made, _("Give one entry for each argument."), axes)],
        link=_VMAP,
    )


def _axis_of(scene: Scene, outer: ast.Call, node: ast.expr) -> str:
    """Return the axis to map an argument over: 0, or None if its length differs from that of the first argument."""
    first, value = scene.spot.value(outer.args[0]), scene.spot.value(node)
    if value is MISSING:
        return "0"
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(value)]
    entries = np.shape(first)[:1] if is_array(first) else None
    return "0" if all(shape and entries in (None, shape[:1]) for shape in shapes) else "None"


@explains(error_texts.VMAP_ALL_NONE)
def nothing_mapped(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes=None`."""
    mapped = _mapped_call(scene)
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
            _axes_fix(
                scene,
                made,
                _("Map over the first axis of `{name}`.").format(name=scene.quote(outer.args[0])),
                _as_tuple(axes),
            )
            if outer.args
            else None
        ],
        link=_VMAP,
    )


@explains(error_texts.VMAP_OUT_NONE)
def result_is_batched(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_axes=None` for a result that differs from row to row."""
    mapped = _mapped_call(scene)
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
    """Explain `in_axes` with a dict whose keys differ from the argument's."""
    mapped = _mapped_call(scene)
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
        fixes=[_axes_fix(scene, made, _("Give one axis for all of it."), _as_tuple(axes))],
        link=_VMAP,
    )


def _mapped_call(scene: Scene) -> tuple[ast.Call, ast.Call] | None:
    """Return the call that failed and the `jax.vmap(f, ...)` behind it, written in the call or assigned to a name."""
    outer = scene.call()
    if outer is None:
        return None
    if isinstance(outer.func, ast.Call) and called(outer.func) == "vmap":
        return outer, outer.func
    if isinstance(outer.func, ast.Name):
        for node in ast.walk(scene.source.tree):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            if node.targets[0].id == outer.func.id and isinstance(node.value, ast.Call):
                made: ast.AST = node.value
                while isinstance(made, ast.Call):
                    if called(made) == "vmap":
                        return outer, made
                    made = made.args[0] if made.args else ast.Constant(None)
    return None


def _axes_fix(scene: Scene, made: ast.Call, sentence: str, axes: str) -> Fix | None:
    """Return the fix that changes the `in_axes` of `jax.vmap`."""
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if given is not None:
        return scene.fix(sentence, scene.source.replace(given, axes))
    if not made.args:
        return None
    return scene.fix(sentence, scene.source.insert_after(made.args[0], f", in_axes={axes}"))


def _axes_of(made: ast.Call, count: int) -> list[str]:
    """Return the entries of `in_axes` for `count` arguments, as text."""
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if isinstance(given, ast.Tuple | ast.List):
        axes = [ast.unparse(element) for element in given.elts]
        return [*axes, *["0"] * count][:count]
    return [ast.unparse(given) if given is not None else "0"] * count


def _as_tuple(axes: list[str]) -> str:
    """Return axes as text for `in_axes`: a single one, or several in parentheses."""
    return axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
