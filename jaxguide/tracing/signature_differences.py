"""Explain how two calls of a jitted function differ, and what to do about each difference."""

import functools
import re
from collections.abc import Iterator
from types import MethodType
from typing import Any, NamedTuple

from jaxguide.base.text import plural
from jaxguide.tracing.call_trees import Leaf, Static, Tree, TreeNode
from jaxguide.tracing.context_differences import of_options, of_settings
from jaxguide.tracing.functions import is_function
from jaxguide.tracing.placements import placements_differ, words_and_remedy
from jaxguide.tracing.signatures import Argument, Signature, TracedFunction
from jaxguide.tracing.static_differences import can_be_traced, remedy_for, same_static, static_difference

# Key implementations: of typed keys by their printed name, of legacy keys by their number of uint32 words.
_TYPED = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
_LEGACY = {2: "threefry2x32", 4: "rbg"}

_X64 = "jax_enable_x64"
_NAMED = 3  # arguments named in one difference
_SHOWN = 6  # differences of one call


def difference_of_keys(place: str, old: Leaf, new: Leaf) -> tuple[str, str] | None:
    """Return how two arguments differ and what to do, if they are known to be keys; otherwise None.

    One typed key is enough. A legacy key is `uint32[2]` or `uint32[4]`, as other arrays may be too: without a typed
    key, both must have such a shape, and the argument's name must contain "key" or "rng".

    >>> difference_of_keys("key", Leaf("key<fry>[]", False, ""), Leaf("uint32[2]", False, ""))[0]
    'argument `key` was a typed key key<fry>[] and is now a legacy key uint32[2]'
    >>> difference_of_keys("sizes", Leaf("uint32[2]", False, ""), Leaf("uint32[4]", False, "")) is None
    True
    """
    typed = [_typed(leaf) for leaf in (old, new)]
    legacy = [_legacy(leaf) for leaf in (old, new)]
    if typed == [None, None] and not (all(legacy) and re.search("key|rng", place, re.IGNORECASE)):
        return None
    text = f"argument `{place}` was {_words(old, typed)} and is now {_words(new, typed)}"
    if None in typed and not any(legacy):
        remedy = "pass a key as `{place}` in every call, such as `jax.random.key(seed)`"
    elif (typed[0] is None) != (typed[1] is None):
        remedy = "use one kind of key in every call: create them all with `jax.random.key`, not `jax.random.PRNGKey`"
    elif typed[0] != typed[1] or legacy[0] != legacy[1]:
        remedy = "use keys of one implementation in every call: create them all with the same `impl`"
    elif old.type.count(",") == new.type.count(",") and "[]" not in (old.type[-2:], new.type[-2:]):
        remedy = "pass the same number of keys as `{place}` in every call: `jax.random.split(key, n)` with one `n`"
    else:
        remedy = "pass `{place}` as one key in every call, or as an array of keys with the same axes"
    return text, remedy.format(place=place)


def _words(leaf: Leaf, typed: list[str | None]) -> str:
    if None not in typed:
        return str(leaf)
    if _typed(leaf):
        return f"a typed key {leaf}"
    return f"a legacy key {leaf}" if _legacy(leaf) else str(leaf)


def _typed(leaf: Leaf) -> str | None:
    found = re.match(r"key<(\w+)>", leaf.type)
    return found and _TYPED.get(found[1], found[1])


def _legacy(leaf: Leaf) -> str | None:
    found = re.fullmatch(r"uint32\[(?:\d+,)*(\d+)\]", leaf.type)
    return found and _LEGACY.get(int(found[1]))


class Difference(NamedTuple):
    """One difference between a call and an earlier one: what it is, and what to do about it."""

    text: str
    remedy: str


def closest_differences(new: Signature, earlier: list[Signature]) -> list[Difference]:
    """Return how a call differs from the earlier call most like it, the latest if there are several.

    If that call was equal but its trace failed, report the failure.
    """
    found, old = min(((_all(old, new), old) for old in reversed(earlier)), key=lambda pair: len(pair[0]))
    if found or old.progress.finished:
        return _together(found)
    failed = "an earlier trace of the same call failed, and JAX only keeps traces that finish"
    return [Difference(failed, "fix the error in the earlier call")]


def differences(old: Signature, new: Signature) -> list[Difference]:
    """Return how a call differs from an earlier one, in the order of the arguments.

    >>> import jax
    >>> from jaxguide.tracing.jit_events import JitTrace
    >>> from jaxguide.tracing.signatures import signature
    >>> def call(x):
    ...     return signature(JitTrace(lambda x: x, (x,), {}, None, (), ()))
    >>> [one.text for one in differences(call(2.0), call(jax.ShapeDtypeStruct((3,), "float32")))][-1]
    'argument `x` was a Python float (weakly typed float32[]) and is now float32[3]'
    """
    return _together(_all(old, new))


def closest_placements(new: Signature, earlier: list[Signature]) -> list[Difference]:
    """Return how a call that was compiled again differs from the earlier call most like it."""
    return _together(min((_all(old, new, compiled=True) for old in reversed(earlier)), key=len))


class _Found(NamedTuple):
    """A difference; for places of arrays also the argument and the words without it; whether shapes, or only widths."""

    text: str
    remedy: str
    place: str = ""
    words: str = ""
    is_shape: bool = False
    is_width: bool = False


def _all(old: Signature, new: Signature, *, compiled: bool = False) -> list[_Found]:
    found = list(_of_functions(old, new))
    for name in [*old.arguments, *(name for name in new.arguments if name not in old.arguments)]:
        pair = old.arguments.get(name), new.arguments.get(name)
        found += _with_one_shape(name, list(_of_arguments(name, *pair, compiled=compiled, wrapped=new.is_wrapped)))
    if old.settings.get(_X64) != new.settings.get(_X64):
        found = [one for one in found if not one.is_width]  # the setting alone makes float64 of a NumPy array
    return [*found, *(_Found(*one) for one in of_settings(old.settings, new.settings, compiled=compiled))]


def _with_one_shape(name: str, found: list[_Found]) -> list[_Found]:
    """Replace the remedy if several arrays of one argument have other shapes: such arrays are not batches to pad."""
    if sum(one.is_shape for one in found) < 2:
        return found
    remedy = f"pass `{name}` with arrays of the same shapes in every call"
    return [one._replace(remedy=remedy) if one.is_shape else one for one in found]


def _together(found: list[_Found]) -> list[Difference]:
    """Join differences that are the same for several arguments, and count those beyond a few."""
    groups: dict[str, list[_Found]] = {}
    for one in found:
        groups.setdefault(one.words or one.text, []).append(one)
    joined = []
    for words, group in groups.items():
        if len(group) == 1 or not group[0].words:
            one = group[0]
            joined.append(Difference(one.text, one.remedy.format(place=one.place) if one.words else one.remedy))
            continue
        named = [f"`{one.place}`" for one in group[:_NAMED]]
        if len(group) > _NAMED:
            named.append(plural("{count} more", "{count} more", len(group) - _NAMED))
        places = "{places} and {last}".format(places=", ".join(named[:-1]), last=named[-1])
        text = f"arguments {places} {words}"
        joined.append(Difference(text, group[0].remedy.format(place=group[0].place)))
    if len(joined) > _SHOWN:
        more = plural("{count} more difference", "{count} more differences", len(joined) - _SHOWN)
        joined = [*joined[:_SHOWN], Difference(more, joined[_SHOWN].remedy)]
    return joined


def _of_functions(old: Signature, new: Signature) -> Iterator[_Found]:
    before, now = old.function, new.function
    if before.is_the_same(now) or (new.is_wrapped and before.is_written_as(now)):
        if not new.is_wrapped:
            yield from (_Found(*one) for one in of_options(old.options, new.options))
    elif before.key != now.key:
        yield _Found(
            f"the traced function was {before.name} and is now {now.name}",
            "allow one trace for each jitted function that calls it, or limit those functions instead",
        )
    else:
        yield _Found(*_of_new_function(before, now))


def _of_new_function(before: TracedFunction, now: TracedFunction) -> tuple[str, str]:
    once = (
        "define it and apply `jax.jit` once, outside the loop, and pass whatever changes as an argument (in "
        "`static_argnames` if it must stay a Python value)"
    )
    if issubclass(now.kind, MethodType):
        if before.has_the_same_owner(now):
            return (
                "each access to the method makes a new object, and JAX forgot the earlier one with its trace",
                "apply `jax.jit` to the method once, keep the result, and call that",
            )
        return (
            f"the method belongs to a different `{now.owner}` object",
            "jit a function that takes the object's arrays as arguments, or create the object once",
        )
    if issubclass(now.kind, functools.partial):
        return (
            "the `functools.partial` object is new",
            (
                "create the partial once, outside the loop, or pass whatever changes as an argument (in "
                "`static_argnames` if it must stay a Python value)"
            ),
        )
    if before.is_made_of_the_same(now):
        maker = f"`{now.made_by}`" if now.made_by else "what wraps it"
        return (
            f"the function object is new, because {maker} made another one of the same function",
            f"apply {maker} and `jax.jit` once, outside the loop, and call the result",
        )
    if not now.is_defined and not now.is_made:
        return (
            f"the object that is called is a new `{now.kind.__name__}`",
            f"create the `{now.kind.__name__}` and apply `jax.jit` to it once, outside the loop",
        )
    return "the function object is new, because its definition ran again", once


def _of_arguments(
    name: str, old: Argument | None, new: Argument | None, *, compiled: bool, wrapped: bool
) -> Iterator[_Found]:
    same_way = f"pass `{name}` the same way in every call"
    if old is None or new is None:
        words = "argument `{name}` was {old} and is now left out" if new is None else ""
        words = words or "argument `{name}` was left out and is now {new}"
        yield _Found(words.format(name=name, old=old, new=new), same_way)
        return
    if old.named != new.named and not wrapped:
        words = "argument `{name}` was passed by position and is now passed by name"
        if old.named:
            words = "argument `{name}` was passed by name and is now passed by position"
        yield _Found(words.format(name=name), same_way)
    if old.is_static != new.is_static:
        words = "argument `{name}` was traced, {old}, and is now static, {new}"
        if old.is_static:
            words = "argument `{name}` was static, {old}, and is now traced, {new}"
        remedy = "declare the same arguments static wherever `jax.jit` is applied"
        yield _Found(words.format(name=name, old=old, new=new), remedy)
    elif isinstance(old.value, Static) and isinstance(new.value, Static) and old.is_static:
        if not same_static(old.value, new.value):
            yield _of_static(name, old.value, new.value)
    else:
        yield from _of_trees(name, old.value, new.value, compiled=compiled)


def _of_static(name: str, old: Static, new: Static) -> _Found:
    found = static_difference(name, old, new)
    if old.value is new.value:
        text = "static argument `{name}` was changed in place: it was {old} and is now {new}"
        if str(old) == str(new):
            text = "static argument `{name}` is the same object, but its hash or equality changed with its contents"
        remedy = "do not change a static argument after the first call: create another object with the new values"
        return _Found(text.format(name=name, old=old, new=new), remedy)
    if found.kind == "function":
        text = "static argument `{place}` is again {new}, but a new function object"
    elif found.kind == "object":
        text = "static argument `{place}` is again {new}, but not equal to the previous one"
    elif found.kind == "class":
        text = "static argument `{place}` is again {new}, but its class is another: its definition ran again"
    else:
        text = "static argument `{place}` was {old} and is now {new}"
    remedy = "each value of a static argument needs a separate trace: pass one `{name}`, or expect a trace for each"
    if can_be_traced(found.held):
        remedy = (
            "each value of a static argument needs a separate trace: remove `{name}` from `static_argnums` or "
            "`static_argnames` if the function can work with a traced array"
        )
    remedy = remedy_for(found, name) or remedy.format(name=name)
    if found.kind == "value" and found.place == name and is_function(old.value) and is_function(new.value):
        remedy = "each function needs a separate trace: pass the same function as `{name}` in every call"
        remedy = remedy.format(name=name)
    return _Found(text.format(place=found.place, old=found.old, new=found.new), remedy)


def _of_trees(place: str, old: Tree, new: Tree, *, compiled: bool) -> Iterator[_Found]:
    if isinstance(old, Leaf) and isinstance(new, Leaf):
        yield from _of_leaves(place, old, new, compiled=compiled)
    elif isinstance(old, Static) and isinstance(new, Static):
        if not same_static(old, new):
            yield _of_static_leaf(place, old, new)
    elif isinstance(old, TreeNode) and isinstance(new, TreeNode) and old.kind is new.kind:
        yield from _of_nodes(place, old, new, compiled=compiled)
    elif str(old) == str(new) and isinstance(old, TreeNode) and isinstance(new, TreeNode):
        text = "argument `{place}` is again {new}, but the class of that name is another: its definition ran again"
        yield _Found(text.format(place=place, new=new), "define and register the class once")
    else:
        text = f"argument `{place}` was {old} and is now {new}"
        yield _Found(text, _same_kind(place, old, new))


def _same_kind(place: str, old: Tree, new: Tree) -> str:
    """Return what to do about values of which only one is an array or a container."""
    if _is_none(old) or _is_none(new):
        words = "pass None as `{place}` in every call or in none, or expect one trace for each"
        return words.format(place=place)
    if isinstance(old, Static) or isinstance(new, Static):
        return f"pass `{place}` as an array in every call, or in none"
    return _same_containers(place)


def _is_none(tree: Tree) -> bool:
    return isinstance(tree, TreeNode) and tree.kind is type(None)


def _same_containers(place: str) -> str:
    argument = re.split(r"[.\[]", place)[0]
    remedy = "pass `{name}` with the same containers and keys in every call, and zeros for missing entries"
    return remedy.format(name=argument)


def _of_static_leaf(place: str, old: Static, new: Static) -> _Found:
    found = static_difference(place, old, new)
    if found.kind == "value":
        text = "`{place}`, which is static because it is not an array, was {old} and is now {new}"
    elif found.kind == "class":
        text = (
            "`{place}`, which is static because it is not an array, is again {new}, but its class is another: its "
            "definition ran again"
        )
    else:
        text = "`{place}`, which is static because it is not an array, is again {new}, but another object"
    remedy = remedy_for(found, place)
    if not remedy and isinstance(new.value, bool):
        remedy = "expect one trace for each of its two values"
    if not remedy and isinstance(new.value, int | float | complex):
        remedy = (
            "each value needs a separate trace: pass `{place}` as an array, such as `jnp.asarray({place})`, if the "
            "function can work with a traced one"
        )
    remedy = remedy or "each value needs a separate trace: pass the same `{place}` in every call"
    return _Found(text.format(place=found.place, old=found.old, new=found.new), remedy.replace("{place}", found.place))


def _of_nodes(place: str, old: TreeNode, new: TreeNode, *, compiled: bool) -> Iterator[_Found]:
    gone = [path for path in old.children if path not in new.children]
    added = [path for path in new.children if path not in old.children]
    if gone or added:
        words = ["no longer has `{path}`".format(path=f"{place}{path}") for path in gone[:2]]
        words += ["now has `{path}`".format(path=f"{place}{path}") for path in added[:2]]
        more = len(gone[2:]) + len(added[2:])
        if more:
            words.append(plural("{count} more change", "{count} more changes", more))
        text = "argument `{name}` {changes}".format(name=place, changes=" and ".join(words))
        yield _Found(text, _same_containers(place))
    elif list(old.children) != list(new.children):
        text = f"the order of the keys of `{place}` was {_keys(old)} and is now {_keys(new)}"
        remedy = "create `{place}` with its keys in one order, or as a plain dict, whose keys JAX sorts"
        yield _Found(text, remedy.replace("{place}", place))
    elif not same_static(old.metadata, new.metadata):
        yield _of_metadata(place, old, new)
    for path in [path for path in old.children if path in new.children]:
        yield from _of_trees(f"{place}{path}", old.children[path], new.children[path], compiled=compiled)


def _keys(node: TreeNode) -> str:
    keys = [path[1:-1] if path.startswith("[") else path.lstrip(".") for path in node.children]
    return ", ".join([*keys[:_NAMED], "..."] if len(keys) > _NAMED else keys)


def _of_metadata(place: str, old: TreeNode, new: TreeNode) -> _Found:
    """Return how the static parts of two containers differ."""
    inner = place if old.name is None else f"{place}.{old.name}"
    names = old.names if old.names == new.names else ()
    found = static_difference(inner, old.metadata, new.metadata, names)
    field = "".join(re.findall(r"^\.\w+", found.place.removeprefix(place)))
    what = f"the static part `{found.place}` of `{place}`"
    if not field:  # a place in what `tree_flatten` returns, which has no name
        key = re.search(r"\['(.+)'\]$", found.place)
        what = f"the static part of `{place}`"
        what = f"`{key[1]}` in {what}" if key else what
    if found.kind == "function":
        text = "{what} is again {new}, but a new function object"
    elif found.kind == "object":
        text = "{what} is again {new}, but not equal to the previous one"
    elif found.kind == "class":
        text = "{what} is again {new}, but its class is another: its definition ran again"
    else:
        text = "{what} was {old} and is now {new}"
    remedy = remedy_for(found, place, f"{place}{field}") or (
        "each value of a static part needs a separate trace: keep it the same in every call, leave it out of the "
        "static part if the function does not need it, or pass it as a traced array"
    )
    return _Found(text.format(what=what, old=found.old, new=found.new), remedy)


def _of_leaves(place: str, old: Leaf, new: Leaf, *, compiled: bool) -> Iterator[_Found]:
    if (_without_sharding(old), old.weak) != (_without_sharding(new), new.weak):
        yield _of_types(place, old, new)
    differ = old.aval is not None and new.aval is not None and old.aval != new.aval
    if differ and not compiled and _without_sharding(old) != _without_sharding(new):
        differ = _mesh_of(old) != _mesh_of(new)  # of the place, a trace only knows the mesh
    if (compiled or differ) and placements_differ(old.where, new.where):
        yield _of_placements(place, old, new)
    elif differ and _without_sharding(old) == _without_sharding(new) and old.weak == new.weak and not compiled:
        words = (str(old), str(new)) if old.type != new.type else (_full_type(old), _full_type(new))
        text = f"argument `{place}` was {words[0]} and is now {words[1]}"
        yield _Found(text, f"pass `{place}` with one sharding in every call")


def _mesh_of(leaf: Leaf) -> Any:
    return getattr(getattr(leaf.aval, "sharding", None), "mesh", None)


def _without_sharding(leaf: Leaf) -> str:
    """Return a type without the axes of an explicit mesh, which are shown as in float32[8@x]."""
    return re.sub(r"@(\([^)]*\)|[^,\]]*)", "", leaf.type)


def _full_type(leaf: Leaf) -> str:
    """Return a type with everything that JAX compares, such as the mesh."""
    try:
        return str(leaf.aval.str_short(True, True))
    except (AttributeError, TypeError):
        return str(leaf.aval)


def _of_placements(place: str, old: Leaf, new: Leaf) -> _Found:
    assert old.where is not None
    assert new.where is not None
    before, now, remedy = words_and_remedy(old.where, new.where)
    words = "{was} {old} and {now} {new}"
    one = words.format(was="was", now="is now", old=before, new=now)
    several = words.format(was="were", now="are now", old=before, new=now)
    text = f"argument `{place}` {one}"
    return _Found(text, remedy, place, several)


def _of_types(place: str, old: Leaf, new: Leaf) -> _Found:
    of_keys = difference_of_keys(place, old, new)
    if of_keys is not None:
        return _Found(*of_keys)
    old_shape, new_shape = (_without_sharding(leaf).partition("[")[2].removesuffix("]") for leaf in (old, new))
    dtype = _common_dtype(old, new)
    if old_shape.count(",") != new_shape.count(",") or bool(old_shape) != bool(new_shape):
        remedy = "call it with arrays of one rank: pass `{place}` with the same axes in every call"
    elif old_shape != new_shape:
        remedy = "call it with arrays of one shape: pad `{place}` to the largest with `jnp.pad` and mask the padding"
    elif dtype is None:
        remedy = "pass the same kind of value as `{place}` in every call"
    else:
        remedy = _converted()
    if old_shape != new_shape and dtype is not None and not old.weak and not new.weak and _dtype(old) != _dtype(new):
        remedy = f"{remedy}; {_converted()}"
    text = f"argument `{place}` was {old} and is now {new}"
    return _Found(
        text,
        remedy.format(place=place, dtype=dtype),
        is_shape=old_shape != new_shape,
        is_width=(old_shape, old.weak) == (new_shape, new.weak) and _without_width(old) == _without_width(new),
    )


def _converted() -> str:
    return "convert `{place}` before each call: `jnp.asarray({place}, dtype=jnp.{dtype})`"


def _dtype(leaf: Leaf) -> str:
    return leaf.type.partition("[")[0]


def _without_width(leaf: Leaf) -> str:
    return re.sub(r"\d", "", _dtype(leaf))


def _common_dtype(old: Leaf, new: Leaf) -> str | None:
    """Return the dtype to which JAX promotes both; None if either is not a number."""
    import jax.numpy as jnp

    try:
        types = [jnp.dtype(leaf.type.partition("[")[0]) for leaf in (old, new)]
        if old.weak == new.weak:
            return jnp.promote_types(*types).name
        weak, strong = types if old.weak else reversed(types)
        return jnp.result_type({"b": bool, "i": int, "u": int, "f": float, "c": complex}[weak.kind], strong).name
    except (TypeError, KeyError):  # a key
        return None
