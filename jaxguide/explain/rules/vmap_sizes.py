"""Explain arguments of `jax.vmap` whose sizes along the mapped axes differ."""

import ast
import re
from typing import NamedTuple

import jax

from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.mapped import as_written
from jaxguide.explain.rewrites.mapped_axes import (
    VMAP_LINK,
    axes_as_tuple,
    axes_fix,
    axes_written,
    is_container,
    keywords_are_mapped,
    leading_sizes,
    vmap_call,
)
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.transformed import function_behind, parameters


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
    mapped = vmap_call(scene)
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
    several = [one for one in sizes if len(leading_sizes(scene.spot.value(one.node))) > 1]
    trees = several or [one for one in sizes if is_container(scene.spot.value(one.node))]
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
        title="`jax.vmap` maps over sizes that differ",
        what=(
            f"`{_said(scene, first)}` and `{_said(scene, last)}` are mapped together, and have {first.size} and "
            f"{last.size} entries there."
        ),
        variable=text,
        why="`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each.",
        fixes=[
            *_as_many(scene, odd, other, several=bool(several)),
            *_whole_or_pairs(scene, outer, made, odd, pairs=len(outer.args) == 2 and not several and odd.alone),
        ],
        link=VMAP_LINK,
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
            words = "If each entry of `{name}` is to get a key of its own: split {count} keys, not {now}."
            return [scene.advice(words.format(name=_said(scene, of), count=of.size, now=keys.size))]
    return [scene.advice("If one entry of each belongs to every call: make as many of one as of the other.")]


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
    axes = axes_written(made, len(outer.args))
    assert odd.node is not None
    index, function, name = outer.args.index(odd.node), scene.quote(made.args[0]), scene.quote(made.func)
    words = f"If every call is to get all of `{scene.quote(odd.node)}`: hand it over whole."
    whole = [*axes]
    whole[index] = "None"
    fixes = [axes_fix(scene, made, words, axes_as_tuple(whole)) if {*whole} != {"None"} else None]
    if pairs and "None" not in axes:
        inner, around = axes_as_tuple(["None", axes[1]]), axes_as_tuple([axes[0], "None"])
        new = f"{name}({name}({function}, in_axes={inner}), in_axes={around})"
        every = "If every pair is meant: map over one after the other, for a result with both sizes."
        fixes.append(scene.fix(every, scene.source.replace(made, new)))
    return fixes


def _keyword_size(scene: Scene, odd: _MappedSize, other: _MappedSize, *, only: bool) -> Explanation | None:
    """Explain an array given by keyword, which `jax.vmap` maps too, if its size differs."""
    name = odd.keyword or ""
    whole = (
        "If every call is to get all of `{name}`: give it by position, with None in `in_axes`; or bind it before, with "
        "`functools.partial`."
    )
    what = "`{name}` has {one} entries along its first axis, and `{other}` has {size} along its mapped axis."
    if only:  # it cannot be given by position
        whole = "If every call is to get all of `{name}`: bind it before, with `functools.partial`."
    return scene.explanation(
        "vmap_keyword",
        title="`jax.vmap` maps over arguments given by keyword too",
        what=what.format(name=name, one=odd.size, other=other.keyword or _said(scene, other), size=other.size),
        variable=name,
        why=keywords_are_mapped(),
        fixes=[
            scene.advice(whole.format(name=name)),
            scene.advice(f"If every call is to get one entry of it: make {other.size} of them."),
        ],
        link=VMAP_LINK,
    )


def _sizes_of_arguments(scene: Scene, sizes: list[_MappedSize]) -> Explanation | None:
    """Explain sizes that differ with the names that JAX gives, if the call of `jax.vmap` is not known or not simple."""
    if scene.library is not None:  # the names are those of its own functions
        return None
    names = [one.keyword or (_said(scene, one) if one.node is not None else one.name) for one in sizes]
    if any(name.startswith("args[") for name in names):
        return None
    parts = " and ".join(f"`{name}` {one.size}" for name, one in list(zip(names, sizes, strict=True))[:3])
    return scene.explanation(
        "vmap_sizes",
        title="`jax.vmap` maps over sizes that differ",
        what=f"Along the mapped axis, the arguments have these sizes: {parts}.",
        variable=names[-1],
        why=keywords_are_mapped()
        if any(one.keyword is not None for one in sizes)
        else "`jax.vmap` takes one entry of every mapped argument at a time, so there must be as many of each.",
        fixes=[
            scene.advice("Give None in `in_axes` for what every call is to get whole, also inside a dict or a tuple."),
            scene.advice("Of what every call is to get one entry of, make as many as of the others."),
        ],
        link=VMAP_LINK,
    )
