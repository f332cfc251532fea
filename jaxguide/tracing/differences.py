"""Explain how a call differs from earlier ones of the same function, and what to do about each difference."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxguide.base.text import plural
from jaxguide.compat.jit_calls import AXES_CONTEXT, MESH_CONTEXT, option_change
from jaxguide.tracing.functions import is_function
from jaxguide.tracing.placements import mesh_words, placements_differ, words_and_remedy
from jaxguide.tracing.signatures import (
    Leaf,
    Signature,
    Static,
    TracedFunction,
    Tree,
    TreeNode,
    are_one,
    short,
    static_text,
)

_X64 = "jax_enable_x64"
_NAMED = 3  # arguments named in one difference
_SHOWN = 6  # differences of one call
_DEEPEST = 6  # levels of a static value
_BEFORE = 20  # characters shown before the place where two long texts differ
_ONE_TRACE = "each value needs a separate trace"


class Difference(NamedTuple):
    """One difference between a call and an earlier one.

    Args:
        text: what it is, such as 'argument `x` was int32[] and is now float32[]'.
        remedy: what to do about it.
        place, words: of an array, where it is, and what it was and is, so that arrays with the same are joined.
        changes: "shape"; "dtype" or "placement" if nothing else of the type changed.
    """

    text: str
    remedy: str
    place: str = ""
    words: tuple[str, str] = ("", "")
    changes: str = ""


def closest_differences(new: Signature, earlier: list[Signature], *, compiled: bool = False) -> list[Difference]:
    """Return how a call differs from the earlier call most like it, the latest if there are several.

    >>> from jaxguide.compat.jit_calls import JitCall
    >>> from jaxguide.tracing.signatures import signature
    >>> def call(x):
    ...     return signature(JitCall(call, None, (x,), {}))
    >>> closest_differences(call(jnp.ones(3)), [call(2.0)])[0].text
    'argument `x` was a Python float (weakly typed float32[]) and is now float32[3]'

    Args:
        new: the call.
        earlier: the earlier calls, in order.
        compiled: whether a program is compiled without a new trace.
    """
    return _together(min((_all(old, new, compiled=compiled) for old in reversed(earlier)), key=len, default=[]))


def _all(old: Signature, new: Signature, *, compiled: bool) -> list[Difference]:
    found = list(_of_functions(old, new))
    for name in {**old.arguments, **new.arguments}:
        found += _of_argument(name, old, new)
    # JAX traces once for all placements, and the setting makes float64 of a NumPy array.
    no_reason = ["" if compiled else "placement", "dtype" if old.settings.get(_X64) != new.settings.get(_X64) else ""]
    found = [one for one in found if not one.changes or one.changes not in no_reason]
    return found + list(_of_settings(old.settings, new.settings))


def _together(found: list[Difference]) -> list[Difference]:
    """Join differences that are the same for several arguments, and count those beyond a few."""
    groups: dict[Any, list[Difference]] = {}
    for one in found:
        groups.setdefault(one.words if one.place else one.text, []).append(one)
    joined = []
    for first, *others in groups.values():
        text = first.text
        if first.place and others:
            named = [f"`{one.place}`" for one in (first, *others[: _NAMED - 1])]
            named += [f"{len(others) - _NAMED + 1} more"] if len(others) >= _NAMED else []
            was, now = first.words
            text = f"arguments {', '.join(named[:-1])} and {named[-1]} were {was} and are now {now}"
        joined.append(first._replace(text=text))
    if len(joined) > _SHOWN:
        more = plural("{count} more difference", "{count} more differences", len(joined) - _SHOWN)
        joined = [*joined[:_SHOWN], Difference(more, joined[_SHOWN].remedy)]
    return joined


def _of_functions(old: Signature, new: Signature) -> Iterator[Difference]:
    before, now = old.function, new.function
    if are_one(before.itself, now.itself) or (new.is_wrapped and are_one(before.written, now.written)):
        change = option_change(old.options, new.options) if old.options is not None else None
        if change is not None and not new.is_wrapped:
            text = "`jax.jit` was applied again, with different options: `{}` was {} and is now {}".format(*change)
            yield Difference(text, "apply `jax.jit` once, outside the loop, and call the result")
    else:
        yield Difference(*_of_new_function(before, now))


def _of_new_function(before: TracedFunction, now: TracedFunction) -> tuple[str, str]:
    changing = "pass whatever changes as an argument (in `static_argnames` if it must stay a Python value)"
    if issubclass(now.kind, MethodType):
        if are_one(before.owner, now.owner):
            told = "each access to the method makes a new object, and JAX forgot the earlier one with its trace"
            return told, "apply `jax.jit` to the method once, keep the result, and call that"
        told = f"the method belongs to a different `{now.owner_kind}` object"
        return told, "jit a function that takes the object's arrays as arguments, or create the object once"
    if issubclass(now.kind, functools.partial):
        return "the `functools.partial` object is new", f"create the partial once, outside the loop, or {changing}"
    if now.is_made and are_one(before.written, now.written):
        told = "a transformation such as `jax.grad` made another one of the same function"
        remedy = "apply the transformation and `jax.jit` once, outside the loop, and call the result"
        return f"the function object is new, because {told}", remedy
    if not now.is_defined and not now.is_made:
        remedy = f"create the `{now.kind.__name__}` and apply `jax.jit` to it once, outside the loop"
        return f"the object that is called is a new `{now.kind.__name__}`", remedy
    remedy = f"define it and apply `jax.jit` once, outside the loop, and {changing}"
    return "the function object is new, because its definition ran again", remedy


def _of_argument(name: str, before: Signature, now: Signature) -> Iterator[Difference]:
    old, new = before.arguments.get(name), now.arguments.get(name)
    same_way = f"pass `{name}` the same way in every call"
    if old is None or new is None:
        words = f"was {old} and is now left out" if new is None else f"was left out and is now {new}"
        yield Difference(f"argument `{name}` {words}", same_way)
        return
    ways = ["by name" if name in one.named else "by position" for one in (before, now)]
    if ways[0] != ways[1] and not now.is_wrapped:
        yield Difference(f"argument `{name}` was passed {ways[0]} and is now passed {ways[1]}", same_way)
    found = list(_of_trees(name, old, new))
    if sum(one.changes == "shape" for one in found) > 1:  # such arrays are not batches to pad
        remedy = f"pass `{name}` with arrays of the same shapes in every call"
        found = [one._replace(remedy=remedy) if one.changes == "shape" else one for one in found]
    yield from found


def _of_trees(place: str, old: Tree, new: Tree) -> Iterator[Difference]:
    if isinstance(old, Leaf) and isinstance(new, Leaf):
        yield from _of_leaves(place, old, new)
    elif isinstance(old, Static) and isinstance(new, Static):
        if not _same_static(old, new):
            yield _of_statics(place, old, new)
    elif isinstance(old, TreeNode) and isinstance(new, TreeNode) and old.kind is new.kind:
        yield from _of_nodes(place, old, new)
    elif str(old) == str(new):
        text = f"argument `{place}` is again {new}, but the class of that name is another: its definition ran again"
        yield Difference(text, "define and register the class once")
    else:
        remedy = _same_containers(place)
        if any(isinstance(one, TreeNode) and one.kind is type(None) for one in (old, new)):
            remedy = f"pass None as `{place}` in every call or in none, or expect one trace for each"
        elif isinstance(old, Static) or isinstance(new, Static):
            remedy = f"pass `{place}` as an array in every call, or in none"
        yield Difference(f"argument `{place}` was {old} and is now {new}", remedy)


def _same_containers(place: str) -> str:
    argument = re.split(r"[.\[]", place)[0]
    return f"pass `{argument}` with the same containers and keys in every call, and zeros for missing entries"


def _of_nodes(place: str, old: TreeNode, new: TreeNode) -> Iterator[Difference]:
    gone = [f"no longer has `{place}{path}`" for path in old.children if path not in new.children]
    added = [f"now has `{place}{path}`" for path in new.children if path not in old.children]
    keys = [[path.strip("[].") for path in one.children] for one in (old, new)]
    if gone or added:
        words = [*gone[:2], *added[:2]]
        more = len(gone) + len(added) - len(words)
        words += [plural("{count} more change", "{count} more changes", more)] if more else []
        yield Difference(f"argument `{place}` {' and '.join(words)}", _same_containers(place))
    elif keys[0] != keys[1]:
        was, now = (", ".join([*one[:_NAMED], "..."] if len(one) > _NAMED else one) for one in keys)
        remedy = f"create `{place}` with its keys in one order, or as a plain dict, whose keys JAX sorts"
        yield Difference(f"the order of the keys of `{place}` was {was} and is now {now}", remedy)
    elif not _same_static(old.metadata, new.metadata):
        yield _of_metadata(place, old, new)
    for path in old.children:
        if path in new.children:
            yield from _of_trees(f"{place}{path}", old.children[path], new.children[path])


def _of_leaves(place: str, old: Leaf, new: Leaf) -> Iterator[Difference]:
    is_same = _shape_and_dtype(old) == _shape_and_dtype(new) and old.weak == new.weak
    if not is_same:
        yield _of_types(place, old, new)
    # Of the place, a trace knows what the type says: with an explicit mesh, the sharding.
    known: list[Any] = [
        one.aval if is_same else getattr(getattr(one.aval, "sharding", None), "mesh", None) for one in (old, new)
    ]
    if placements_differ(old.where, new.where):
        assert old.where is not None
        assert new.where is not None
        was, now, remedy = words_and_remedy(old.where, new.where)
        yield _changed(place, was, now, remedy, "placement" if known[0] == known[1] else "")
    elif known[0] != known[1] and is_same:
        was, now = (str(aval.str_short(True, True)) for aval in known)
        yield _changed(place, was, now, f"pass `{place}` with one sharding in every call")


def _changed(place: str, old: str, new: str, remedy: str, changes: str = "") -> Difference:
    text = f"argument `{place}` was {old} and is now {new}"
    return Difference(text, remedy.replace("{place}", place), place, (old, new), changes)


def _shape_and_dtype(leaf: Leaf) -> Any:
    return getattr(leaf.aval, "shape", ()), getattr(leaf.aval, "dtype", leaf.type)


def _of_types(place: str, old: Leaf, new: Leaf) -> Difference:
    (old_shape, old_dtype), (new_shape, new_dtype) = map(_shape_and_dtype, (old, new))
    convert, changes = "pass the same kind of value as `{place}` in every call", "dtype" if old.weak == new.weak else ""
    with contextlib.suppress(TypeError, ValueError):  # a key
        dtype = jnp.result_type(old.aval, new.aval).name
        convert = f"convert `{{place}}` before each call: `jnp.asarray({{place}}, dtype=jnp.{dtype})`"
    remedy = convert
    if "key<" in f"{old_dtype}{new_dtype}":
        remedy = (
            "pass the same kind and number of keys as `{place}` in every call: make them all with `jax.random.key` and "
            "one `impl`, and split them into one number"
        )
    elif old_shape != new_shape:
        remedy = "call it with arrays of one shape: pad `{place}` to the largest with `jnp.pad` and mask the padding"
        if len(old_shape) != len(new_shape):
            remedy = "call it with arrays of one rank: pass `{place}` with the same axes in every call"
        if old_dtype != new_dtype and not old.weak and not new.weak:
            remedy = f"{remedy}; {convert}"
        changes = "shape"
    return _changed(place, str(old), str(new), remedy, changes)


class _Place(NamedTuple):
    """The innermost place where two static values differ: what both have there, and whose attribute it is."""

    place: str
    old: Any
    new: Any
    owner: Any = None


def _has_no_eq(kind: Any) -> bool:
    return kind.__eq__ is object.__eq__


def _same(old: Any, new: Any) -> bool:
    if old is new:
        return True
    try:
        return bool(old == new)
    except Exception:  # a user's `__eq__`
        return False


def _same_static(old: Static, new: Static) -> bool:
    """Return whether `jax.jit` finds a trace of the old value for the new one."""
    return type(old.value) is type(new.value) and old.hash == new.hash and _same(old.value, new.value)


def _innermost(at: _Place, depth: int = _DEEPEST) -> _Place:
    for part in _parts(at) if type(at.old) is type(at.new) and depth else ():
        if type(part.old) is not type(part.new) or not _same(part.old, part.new):
            found = _innermost(part, depth - 1)
            return found if found.owner is not None else found._replace(owner=part.owner)
    return at


def _parts(at: _Place) -> list[_Place]:
    """Return the parts of two values of one type, as far as they count for equality."""
    place, old, new, _ = at
    if isinstance(old, tuple | list) and len(old) == len(new):
        if all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) for one in (*old, *new)):
            return _parts(at._replace(old=dict(old), new=dict(new)))  # a dict's items
        names = [f".{name}" for name in getattr(old, "_fields", ())] or [f"[{i}]" for i in range(len(old))]
        return [_Place(f"{place}{name}", a, b) for name, a, b in zip(names, old, new, strict=True)]
    if isinstance(old, Mapping) and list(old) == list(new):
        return [_Place(f"{place}[{key!r}]", old[key], new[key]) for key in old]
    if hasattr(old, "__code__") or _has_no_eq(type(old)):  # its attributes do not count
        return []
    held, now = (getattr(one, "__dict__", {}) for one in (old, new))
    counts = [one.name for one in dataclasses.fields(old) if one.compare] if dataclasses.is_dataclass(old) else held
    return [_Place(f"{place}.{name}", held[name], now[name], new) for name in counts if name in held and name in now]


def _change(at: _Place, root: str) -> tuple[str, str]:
    """Return how a static value in an argument, or in an attribute of one, changed, and what to do, or ''."""
    old, new, kind = at.old, at.new, type(at.new)
    was, now = static_text(old), static_text(new)
    if was == now and is_function(old) and is_function(new):
        once = f"create the function for `{root}` once, outside the loop"
        if at.place != root:
            once = f"create `{root}` once, outside the loop, and pass the same object in every call"
        return f"is again {now}, but a new function object", once
    if was == now and type(old) is not kind:
        return f"is again {now}, but its class is another: its definition ran again", "define the class once"
    if was == now and now.endswith("...") and repr(old) != repr(new):
        texts = [repr(old), repr(new)]
        start = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), _BEFORE) - _BEFORE
        was, now = (short(f"...{text[start:]}") for text in texts)
    if was == now:
        remedy = f"pass the same object, or make `__eq__` and `__hash__` of `{kind.__name__}` agree for equal contents"
        if isinstance(new, float):
            remedy = "pass another value than NaN, which is not equal to itself"
        elif _has_no_eq(kind):
            remedy = (
                f"pass the same object, or define `__eq__` and `__hash__` in `{kind.__name__}`, which lacks `__eq__`"
            )
        return f"is again {now}, but not equal to the previous one", remedy
    remedy = ""
    if at.owner is not None and at.place != root:
        remedy = (
            f"`{type(at.owner).__name__}` compares its `{at.place.rpartition('.')[2]}`, and {_ONE_TRACE}: leave it out "
            "of `__eq__` and `__hash__` if the function does not depend on it, or pass it as an array"
        )
    elif is_function(new):
        remedy = f"each function needs a separate trace: pass the same function as `{root}` in every call"
    return f"was {was} and is now {now}", remedy


def _of_statics(place: str, old: Static, new: Static) -> Difference:
    """Return how two static arguments differ, or two values that are static because a library does not trace them."""
    at = _innermost(_Place(place, old.value, new.value))
    undeclared = f"`{at.place}`, which is static because it is not an array,"
    subject = f"static argument `{at.place}`" if new.is_declared else undeclared
    if old.value is new.value:
        remedy = "do not change a static argument after the first call: create another object with the new values"
        return Difference(f"{subject} is the same object, but its hash or equality changed with its contents", remedy)
    text, remedy = _change(at, place)
    number = _can_be_traced(at.new)
    if not remedy and new.is_declared:
        remedy = f"each value of a static argument needs a separate trace: pass one `{place}`, or expect one for each"
        if number:
            remedy = (
                f"each value of a static argument needs a separate trace: remove `{place}` from `static_argnums` or "
                "`static_argnames` if the function can work with a traced array"
            )
    elif not remedy:
        remedy = f"{_ONE_TRACE}: pass the same `{at.place}` in every call"
        if number:
            remedy = (
                f"{_ONE_TRACE}: pass `{at.place}` as an array, such as `jnp.asarray({at.place})`, if the function can "
                "work with a traced one"
            )
    return Difference(f"{subject} {text}", remedy)


def _of_metadata(place: str, old: TreeNode, new: TreeNode) -> Difference:
    """Return how the static parts of two containers differ."""
    held = ((f"{place}.{name}", old.fields.get(name), new.fields[name]) for name in new.fields)
    root, *pair = next((one for one in held if not _same(*one[1:])), (place, old.metadata.value, new.metadata.value))
    at = _innermost(_Place(root, *pair))
    what = f"the static part `{at.place}` of `{place}`"
    if root == place:  # a place in what `tree_flatten` returns, which has no name
        key = re.search(r"\['(.+)'\]$", at.place)
        what = f"`{key[1]}` in the static part of `{place}`" if key else f"the static part of `{place}`"
    text, remedy = _change(at, root)
    otherwise = (
        "each value of a static part needs a separate trace: keep it the same in every call, leave it out of the "
        "static part if the function does not need it, or pass it as a traced array"
    )
    return Difference(f"{what} {text}", remedy or otherwise)


def _can_be_traced(value: Any) -> bool:
    """Return whether a static value is a number or a container of numbers, so that an array could take its place."""
    if isinstance(value, tuple | list | frozenset):
        return bool(value) and all(map(_can_be_traced, value))
    return isinstance(value, bool | int | float | complex | np.generic | np.ndarray)


def _of_settings(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    """Yield which settings and contexts differ."""
    for name, value in new.items():
        if name not in old or _same(old[name], value):
            continue
        subject, remedy = f"JAX's context `{name}`", "call it in the same context every time"
        was, now = old[name], value
        if name.startswith("jax_"):
            subject, remedy = f"JAX's setting `{name}`", f"set `{name}` once, before the first call"
        elif name == MESH_CONTEXT:
            subject = "the mesh in context"
            remedy = "make every call inside the same `jax.set_mesh`, or every call outside"
            was, now = (mesh_words(one) if getattr(one, "shape", None) else "none" for one in (was, now))
        elif name == AXES_CONTEXT:
            subject = "the set of named axes in scope, from `vmap` or `shard_map`,"
            was, now = (dict(one.axis_sizes) or "none" for one in (was, now))
        yield Difference(f"{subject} was {was} and is now {now}", remedy)
