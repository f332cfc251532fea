"""Explain what `jax.vmap` cannot map: missing axes, sizes that differ, lists, and `in_axes` that do not fit."""

import ast
import re
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxguide.base.text import _, plural
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, Spot, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.mapped import as_written
from jaxguide.explain.rewrites.written_shapes import made_with
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import function_behind, parameters
from jaxguide.jaxpr.value_words import describe

_VMAP = f"{error_texts.API}/jax.vmap.html"


class _MappedSize(NamedTuple):
    """A size along the mapped axes, as JAX's message lists it.

    Args:
        size: the size.
        alone: whether only one array has it.
        name: the parameter of the first array that has it, and where the array is in its tree, or `kwargs['name']`.
        node: the argument in the call; None if it is not known.
    """

    size: int
    alone: bool
    name: str
    node: ast.expr | None

    @property
    def keyword(self) -> str | None:
        """The name of an argument that is given by keyword."""
        found = re.match(r"kwargs\['(\w+)'\]", self.name)
        return found[1] if found else None


@explains(error_texts.VMAP_SIZES)
def sizes_differ(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain mapped arguments of different sizes."""
    mapped = _mapped_call(scene)
    outer, made = mapped or (None, None)
    sizes = _said_sizes(scene, outer, made)
    if len(sizes) < 2:
        return None
    by_keyword = [one for one in sizes if one.keyword is not None and one.alone]
    if len(sizes) == 2 and by_keyword:
        given = [keyword.arg for keyword in outer.keywords] if outer is not None else []
        odd = max(by_keyword, key=lambda one: given.index(one.keyword) if one.keyword in given else -1)
        place = function_behind(scene.spot, made.args[0]) if made is not None and made.args else None
        only = place is not None and odd.keyword in [one.arg for one in place[1].args.kwonlyargs]
        return _keyword_size(scene, odd, next(one for one in sizes if one is not odd), only=only)
    if outer is None or made is None or not made.args or any(one.node is None for one in sizes):
        return _sizes_of_arguments(scene, sizes)
    several = [one for one in sizes if len(_leading_sizes(scene.spot.value(one.node))) > 1]
    trees = several or [one for one in sizes if _is_tree(scene.spot.value(one.node))]
    nodes = list(dict.fromkeys(one.node for one in sizes))
    if (len(sizes) > 2 and not several) or len(nodes) != 2 or len({one.node for one in several}) > 1:
        return _sizes_of_arguments(scene, sizes)
    # A tree beside arrays is often meant whole, as parameters are; of several arrays, the one that differs from them.
    odd = trees[0] if len({one.node for one in trees}) == 1 else next((o for o in sizes[::-1] if o.alone), sizes[-1])
    other = next(one for one in sizes if one.node is not odd.node)
    if _is_keys(scene, odd.node):  # no call needs all of the keys
        odd, other = other, odd
    first, last = (one for one in sizes if one in (odd, other))
    assert odd.node is not None
    assert other.node is not None
    text = scene.quote(odd.node)
    return scene.explanation(
        "vmap_sizes",
        title=_("`jax.vmap` maps over sizes that differ"),
        what=_("`{first}` and `{last}` are mapped together, and have {one} and {other} entries there.").format(
            first=_said(scene, first), last=_said(scene, last), one=first.size, other=last.size
        ),
        variable=text,
        why=_("`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each."),
        fixes=[
            *_as_many(scene, odd, other, several=bool(several)),
            *_whole_or_pairs(scene, outer, made, odd, pairs=len(outer.args) == 2 and not several and odd.alone),
        ],
        link=_VMAP,
    )


def _said(scene: Scene, one: _MappedSize) -> str:
    """Return the student's text of an argument, or of an array in its tree."""
    inside = re.search(r"[\[.].*", one.name)
    return (scene.quote(one.node) if one.node is not None else one.name) + (inside[0] if inside else "")


def _said_sizes(scene: Scene, outer: ast.Call | None, made: ast.Call | None) -> list[_MappedSize]:
    """Return the sizes that JAX lists, with the arguments of the call behind its names."""
    names: list[str] = []
    place = function_behind(scene.spot, made.args[0]) if made is not None and made.args else None
    if place is not None:
        names = [argument.arg for argument in parameters(place[1])]
    given = outer.args if outer is not None and not any(isinstance(a, ast.Starred) for a in outer.args) else []
    found = []
    for one in error_texts.VMAP_AXIS_SIZES.finditer(scene.message):
        name = re.match(r"\w*", one["name"])
        plain = name[0] if name else ""
        index = names.index(plain) if plain in names else None
        number = re.match(r"args\[(\d+)\]", one["name"])
        index = int(number[1]) if number else index
        node = given[index] if index is not None and index < len(given) else None
        found.append(_MappedSize(int(one["size"]), one["count"] == "one", one["name"], node))
    return found


def _as_many(scene: Scene, odd: _MappedSize, other: _MappedSize, *, several: bool) -> list[Fix]:
    """Return advice to make as many entries of one argument as of the other, where each belongs to one of the other."""
    if several:
        return []
    for keys, of in ((odd, other), (other, odd)):
        if keys.alone and _is_keys(scene, keys.node) and not _is_keys(scene, of.node):
            words = _("If each entry of `{name}` is to get a key of its own: split {count} keys, not {now}.")
            return [scene.advice(words.format(name=_said(scene, of), count=of.size, now=keys.size))]
    return [scene.advice(_("If one entry of each belongs to every call: make as many of one as of the other."))]


def _is_keys(scene: Scene, node: ast.expr | None) -> bool:
    """Return whether an argument is an array of keys: of their own dtype, or made by `jax.random.split`."""
    value = scene.spot.value(node) if node is not None else MISSING
    if jax.dtypes.issubdtype(getattr(value, "dtype", None), jax.dtypes.prng_key):
        return True
    made = as_written(scene.source, node, node) if node is not None else None
    return isinstance(made, ast.Call) and scene.spot.value(made.func) is jax.random.split


def _whole_or_pairs(
    scene: Scene, outer: ast.Call, made: ast.Call, odd: _MappedSize, *, pairs: bool
) -> list[Fix | None]:
    """Return the fixes that map over one argument less, or over one argument after the other."""
    axes = _axes_of(made, len(outer.args))
    assert odd.node is not None
    index, function, name = outer.args.index(odd.node), scene.quote(made.args[0]), scene.quote(made.func)
    words = _("If every call is to get all of `{name}`: hand it over whole.").format(name=scene.quote(odd.node))
    whole = [*axes]
    whole[index] = "None"
    fixes = [_axes_fix(scene, made, words, _as_tuple(whole)) if {*whole} != {"None"} else None]
    if pairs and "None" not in axes:
        inner, around = _as_tuple(["None", axes[1]]), _as_tuple([axes[0], "None"])
        new = f"{name}({name}({function}, in_axes={inner}), in_axes={around})"
        every = _("If every pair is meant: map over one after the other, for a result with both sizes.")
        fixes.append(scene.fix(every, scene.source.replace(made, new)))
    return fixes


def _keyword_size(scene: Scene, odd: _MappedSize, other: _MappedSize, *, only: bool) -> Explanation | None:
    """Explain an array given by keyword, which `jax.vmap` maps too, if its size differs."""
    name = odd.keyword or ""
    whole = _(
        "If every call is to get all of `{name}`: give it by position, with None in `in_axes`; or bind it before, with "
        "`functools.partial`."
    )
    what = _("`{name}` has {one} entries along its first axis, and `{other}` has {size} along its mapped axis.")
    if only:  # it cannot be given by position
        whole = _("If every call is to get all of `{name}`: bind it before, with `functools.partial`.")
    return scene.explanation(
        "vmap_keyword",
        title=_("`jax.vmap` maps over arguments given by keyword too"),
        what=what.format(name=name, one=odd.size, other=other.keyword or _said(scene, other), size=other.size),
        variable=name,
        why=_by_keyword(),
        fixes=[
            scene.advice(whole.format(name=name)),
            scene.advice(_("If every call is to get one entry of it: make {count} of them.").format(count=other.size)),
        ],
        link=_VMAP,
    )


def _by_keyword() -> str:
    return _("What is given by keyword is mapped along axis 0, and `in_axes` says nothing about it.")


def _leading_sizes(value: Any) -> set[int]:
    """Return the sizes of the first axes of a tree's leaves."""
    if value is MISSING or is_array(value) or callable(value):
        return set()
    return {np.shape(leaf)[0] for leaf in jax.tree.leaves(value) if np.shape(leaf)}


def _sizes_of_arguments(scene: Scene, sizes: list[_MappedSize]) -> Explanation | None:
    """Explain sizes that differ with the names that JAX gives, if the call of `jax.vmap` is not known or not simple."""
    names = [one.keyword or (_said(scene, one) if one.node is not None else one.name) for one in sizes]
    if any(name.startswith("args[") for name in names):
        return None
    parts = _(" and ").join(f"`{name}` {one.size}" for name, one in list(zip(names, sizes, strict=True))[:3])
    return scene.explanation(
        "vmap_sizes",
        title=_("`jax.vmap` maps over sizes that differ"),
        what=_("Along the mapped axis, the arguments have these sizes: {parts}.").format(parts=parts),
        variable=names[-1],
        why=_by_keyword()
        if any(one.keyword is not None for one in sizes)
        else _("`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each."),
        fixes=[
            scene.advice(
                _("Give None in `in_axes` for what every call is to get whole, also inside a dict or a tuple.")
            ),
            scene.advice(_("Of what every call is to get one entry of, make as many as of the others.")),
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
    listed = next((argument for argument in outer.args if _records(scene.spot.value(argument))), None)
    if listed is not None and rank == 0:
        return _list_of_records(scene, listed)
    trees = [i for i, argument in enumerate(outer.args) if _is_tree(scene.spot.value(argument))]
    if trees and axis == 0 and rank == 0 and not outer.keywords:
        return _scalar_leaf(scene, outer, made, trees[0])
    if outer.keywords or (made.args and isinstance(made.args[0], ast.Call)):
        return _keyword_mapped(scene, outer) if axis == 0 and rank == 0 else None
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


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict | list | tuple) and not _plain(list(value) if not isinstance(value, dict) else [])


def _records(value: Any) -> bool:
    """Return whether a value is a list of dicts, tuples or other trees of one structure, one for each call."""
    if not isinstance(value, list) or len(value) < 2 or any(is_array(one) or not _is_tree(one) for one in value):
        return False
    return len({jax.tree.structure(one) for one in value}) == 1


def _stacked(scene: Scene, node: ast.expr) -> Fix | None:
    """Return the fix that makes one tree of arrays out of a list of trees."""
    text = f"{scene.jax}.tree.map(lambda *leaves: {scene.jnp}.stack(leaves), *{scene.atom(node)})"
    return scene.fix(
        _("Stack them into one tree of arrays, whose first axis counts them."), scene.source.replace(node, text)
    )


def _list_of_records(scene: Scene, node: ast.expr, spot: Spot | None = None) -> Explanation | None:
    """Explain `jax.vmap(f)([{"a": 1.0}, {"a": 2.0}])`."""
    text = scene.quote(node) if spot is None else spot.quote(node)
    value = scene.spot.value(node) if spot is None else spot.value(node)
    return scene.explanation(
        "vmap_of_records",
        title=_("`jax.vmap` was given a list to go through"),
        what=_("`{name}` is {what} here.").format(name=text, what=describe(value)),
        variable=text,
        why=_("`jax.vmap` maps over an axis of every array, not over the items of a list: a list is a pytree for JAX."),
        fixes=[_stacked(scene, node)],
        link=_VMAP,
        line=spot.line if spot is not None else None,
    )


@explains(error_texts.LIST_BY_KEY)
def item_of_a_list(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `p["w"]` in a mapped function if `p` is the whole list of dicts."""
    node = scene.node
    if not isinstance(node, ast.Subscript) or len(scene.spots) < 2:
        return None
    value, spot = scene.spot.value(node.value), scene.spots[-2]
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    if not isinstance(value, list) or call is None or spot.source is not scene.source:
        return None
    traced = any(is_tracer(leaf) and scene.under(leaf) == "jax.vmap" for leaf in jax.tree.leaves(value))
    given = [a for a in call.args if _records(spot.value(a)) and len(spot.value(a)) == len(value)]
    return _list_of_records(scene, given[0], spot) if traced and len(given) == 1 else None


def _scalar_leaf(scene: Scene, outer: ast.Call, made: ast.Call, position: int) -> Explanation | None:
    """Explain a number among the leaves of a mapped dict or tuple."""
    node = outer.args[position]
    value, axes = scene.spot.value(node), _axes_of(made, len(outer.args))
    leaves = jax.tree_util.tree_flatten_with_path(value)[0]
    scalars = [jax.tree_util.keystr(path) for path, leaf in leaves if np.ndim(leaf) == 0]
    if not scalars or len(scalars) == len(leaves) or axes[position] != "0":
        return None
    each = [*axes]
    each[position] = _axes_text(value)
    text = f"({', '.join(each)},)" if len(each) == 1 else f"({', '.join(each)})"
    name = f"{scene.quote(node)}{scalars[0]}"
    return scene.explanation(
        "vmap_axis",
        title=_("`jax.vmap` maps over an axis that is not there"),
        what=_("`{name}` is one number, of shape ().").format(name=name),
        variable=name,
        why=_("`jax.vmap` takes an axis away from every leaf of an argument, and this one has none."),
        fixes=[_axes_fix(scene, made, _("Hand `{name}` whole to every call.").format(name=name), text)],
        link=_VMAP,
    )


def _axes_text(value: Any) -> str:
    """Return an entry of `in_axes` for a tree: 0 for its arrays, None for its numbers."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f'"{k}": {_axes_text(v)}' if isinstance(k, str) else f"{k!r}: {_axes_text(v)}" for k, v in value.items()
            )
            + "}"
        )
    if type(value) in (list, tuple):
        inside = ", ".join(map(_axes_text, value))
        comma = "," if len(value) == 1 else ""
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{comma})"
    return "0" if np.ndim(jax.tree.leaves(value)[0]) else "None"


def _keyword_mapped(scene: Scene, outer: ast.Call) -> Explanation | None:
    """Explain a number given by keyword, which `jax.vmap` maps too."""
    odd = [k for k in outer.keywords if k.arg is not None and isinstance(scene.spot.value(k.value), int | float)]
    if len(odd) != 1:
        return None
    name = odd[0].arg or ""
    return scene.explanation(
        "vmap_keyword",
        title=_("`jax.vmap` maps over arguments given by keyword too"),
        what=_("`{name}` is one number, of shape ().").format(name=name),
        variable=name,
        why=_by_keyword(),
        fixes=[
            scene.advice(
                _(
                    "Give `{name}` by position, with None in `in_axes`; or bind it before, with `functools.partial`."
                ).format(name=name)
            )
        ],
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


@explains(error_texts.VMAP_IN_AXES)
def axes_do_not_fit(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes` with more or fewer entries than arguments."""
    mapped = _mapped_call(scene)
    if mapped is None:
        return None
    outer, made = mapped
    given = _given_axes(made)
    if given is None:
        return None
    text, count = scene.quote(given), int(found[1])
    fix: Fix | None = None
    value = scene.spot.value(outer.args[0]) if len(outer.args) == 1 else MISSING
    if outer.keywords:
        by_position = len(outer.keywords) == 1 and outer.keywords[0].arg is not None and count == len(outer.args) + 1
        keyword = outer.keywords[0]
        edit = Edit(
            scene.source.file,
            scene.source.start(keyword),
            scene.source.end(keyword),
            scene.quote(keyword.value),
        )
        fix = scene.fix(
            _("Give it by position: `in_axes` does not count what is given by keyword."), edit if by_position else None
        )
        fix = fix or scene.advice(_("Give by position what `in_axes` counts: it says nothing about keywords."))
    elif (isinstance(value, tuple) and len(value) == count) or (
        len(outer.args) == 1 and isinstance(outer.args[0], ast.Tuple) and len(outer.args[0].elts) == count
    ):
        fix = _axes_fix(scene, made, _("Give the entries of the one tuple in a tuple of their own."), f"({text},)")
    given_axes = _axes_of(made, len(outer.args))[:count]
    sizes = _mapped_sizes(scene, outer, given_axes)
    rest = [_axis_of(scene, a, sizes) for a in outer.args[count:]]
    each = [*given_axes, *(axis for axis in rest if axis is not None)]
    axes = _as_tuple(each) if len(outer.args) > 1 else f"({each[0]},)"
    one_each = _("Give one entry for each argument.")
    if len(each) < len(outer.args):
        fix = fix or scene.advice(one_each)
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
        fixes=[fix or _axes_fix(scene, made, one_each, axes)],
        link=_VMAP,
    )


@explains(error_texts.VMAP_IN_AXES_KIND)
def axes_of_another_kind(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `in_axes={"x": 0}`, which needs a tuple around it."""
    made = scene.call()  # JAX raises this error before the mapped function is called
    given = _given_axes(made) if made is not None else None
    if made is None or given is None:
        return None
    outer = scene.source.parents.get(made)
    place = function_behind(scene.spot, made.args[0]) if made.args else None
    count = len(parameters(place[1])) if place is not None else 0
    if isinstance(outer, ast.Call) and outer.func is made and not outer.keywords:
        count = len(outer.args)
    single = isinstance(given, ast.Dict) and count == 1
    fix = (
        _axes_fix(scene, made, _("Put it into a tuple with one entry for each argument."), f"({scene.quote(given)},)")
        if single
        else scene.advice(_("Give an int, or a tuple with one entry for each positional argument."))
    )
    return scene.explanation(
        "vmap_in_axes",
        title=_("`in_axes` is not an int or a tuple"),
        what=_("`in_axes={axes}` is given.").format(axes=scene.quote(given)),
        variable="in_axes",
        why=_(
            "There is one entry of `in_axes` for each positional argument; a dict is such an entry, for one argument."
        ),
        fixes=[fix],
        link=_VMAP,
    )


@explains(error_texts.VMAP_OUT_PREFIX)
def out_axes_of_a_tree(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `out_axes` with other parts than the result."""
    mapped = _mapped_call(scene)
    keyword = next((k for k in mapped[1].keywords if k.arg == "out_axes"), None) if mapped is not None else None
    if keyword is None or mapped is None:
        return None
    inside = {n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant) and type(n.value) is int}
    return scene.explanation(
        "vmap_out_axes",
        title=_("`out_axes` has other parts than the result"),
        what=_("`out_axes={axes}` is given.").format(axes=scene.quote(keyword.value)),
        variable="out_axes",
        why=_("`out_axes` is one axis for all of the result, or has the parts and keys that the function returns."),
        fixes=[
            scene.fix(_("Give one axis for all of it."), scene.source.replace(keyword.value, str(*inside)))
            if len(inside) == 1
            else scene.advice(_("Give an axis for each part of the result, in the same containers."))
        ],
        link=_VMAP,
    )


def _given_axes(made: ast.Call) -> ast.expr | None:
    return next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)


def _shapes(scene: Scene, node: ast.expr) -> list[tuple[int, ...]] | None:
    """Return the shapes of an argument's leaves; None if they are not known."""
    value = scene.spot.value(node)
    if value is MISSING:
        made = made_with(scene, node)
        return [made] if made is not None else None
    return [np.shape(leaf) for leaf in jax.tree.leaves(value)]


def _mapped_sizes(scene: Scene, outer: ast.Call, axes: list[str]) -> set[int] | None:
    """Return the sizes of the axes that are mapped already; None if one is not known."""
    found: set[int] = set()
    for node, axis in zip(outer.args, axes, strict=False):
        if axis == "None":
            continue
        shapes = _shapes(scene, node)
        if shapes is None or not re.fullmatch(r"-?\d+", axis):
            return None
        found |= {shape[int(axis)] for shape in shapes if -len(shape) <= int(axis) < len(shape)}
    return found


def _axis_of(scene: Scene, node: ast.expr, sizes: set[int] | None) -> str | None:
    """Return the axis to map an argument over: '0' if its length is that of the others, 'None' if not; None if unknown.

    An argument without axes is not mapped, whatever the others are.
    """
    shapes = _shapes(scene, node)
    if shapes is None:
        return None
    if not all(shapes):
        return "None"
    if sizes is None:
        return None
    return "0" if all(shape[0] in sizes for shape in shapes) or not sizes else "None"


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
    given = _given_axes(made)
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
    value, element = scene.spot.value(outer.args[tree]), given.elts[tree]
    completed = _completed(scene, value, element) if isinstance(element, ast.Dict) and isinstance(value, dict) else None
    fix = _axes_fix(scene, made, _("Give one axis for all of it."), _as_tuple(axes))
    if completed is not None:
        axes[tree] = completed
        whole = f"({', '.join(axes)},)" if len(axes) == 1 else f"({', '.join(axes)})"
        fix = _axes_fix(scene, made, _("Give an axis, or None, for every key of the argument."), whole)
    elif len(_leading_sizes(value)) > 1:
        fix = scene.advice(_("Give an axis, or None, for every part of the argument."))
    return scene.explanation(
        "vmap_axes_of_a_tree",
        title=_("`in_axes` has other parts than the argument"),
        what=_("`{axes}` is given for `{argument}`.").format(
            axes=scene.quote(given.elts[tree]), argument=scene.quote(outer.args[tree])
        ),
        variable="in_axes",
        why=_("An entry of `in_axes` is one axis for the whole argument, or has the argument's own keys and parts."),
        fixes=[fix],
        link=_VMAP,
    )


def _completed(scene: Scene, value: dict[Any, Any], given: ast.Dict) -> str | None:
    """Return a dict of axes with every key of an argument: new keys are mapped if they are as long as the others."""
    axes = {}
    for key, axis in zip(given.keys, given.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(axis, ast.Constant) or isinstance(axis.value, bytes):
            return None
        axes[key.value] = axis.value
    lengths = {
        np.shape(value[key])[0] for key, axis in axes.items() if axis == 0 and key in value and np.ndim(value[key])
    }
    entries = []
    for key, part in value.items():
        if not isinstance(key, str) or jax.tree.leaves(part) != [part]:
            return None
        same = np.ndim(part) > 0 and np.shape(part)[0] in lengths
        entries.append(f'"{key}": {axes.get(key, 0 if same else None)}')
    return "{" + ", ".join(entries) + "}"


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
    given = _given_axes(made)
    if given is not None:
        return scene.fix(sentence, scene.source.replace(given, axes))
    if not made.args:
        return None
    return scene.fix(sentence, scene.source.insert_after(made.args[0], f", in_axes={axes}"))


def _axes_of(made: ast.Call, count: int) -> list[str]:
    """Return the entries of `in_axes` for `count` arguments, as text."""
    given = _given_axes(made)
    if isinstance(given, ast.Tuple | ast.List):
        axes = [ast.unparse(element) for element in given.elts]
        return [*axes, *["0"] * count][:count]
    return [ast.unparse(given) if given is not None else "0"] * count


def _as_tuple(axes: list[str]) -> str:
    """Return axes as text for `in_axes`: a single one, or several in parentheses."""
    return axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
