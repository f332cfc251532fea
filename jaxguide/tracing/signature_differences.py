"""Explain how two calls of a jitted function differ, and what to do about each difference."""

import functools
import re
from collections.abc import Iterator
from types import MethodType
from typing import Any, NamedTuple

from jaxguide.base.text import _, plural
from jaxguide.tracing.signatures import Argument, Leaf, Signature, function_key, name_of, same, short

# Key implementations: of typed keys by their printed name, of legacy keys by their number of uint32 words.
_TYPED = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
_LEGACY = {2: "threefry2x32", 4: "rbg"}


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
    text = _("argument `{place}` was {old} and is now {new}").format(
        place=place, old=_words(old, typed), new=_words(new, typed)
    )
    if None in typed and not any(legacy):
        remedy = _("pass a key as `{place}` in every call, such as `jax.random.key(seed)`")
    elif (typed[0] is None) != (typed[1] is None):
        remedy = _("use one kind of key in every call: create them all with `jax.random.key`, not `jax.random.PRNGKey`")
    elif typed[0] != typed[1] or legacy[0] != legacy[1]:
        remedy = _("use keys of one implementation in every call: create them all with the same `impl`")
    elif old.type.count(",") == new.type.count(",") and "[]" not in (old.type[-2:], new.type[-2:]):
        remedy = _("pass the same number of keys as `{place}` in every call: `jax.random.split(key, n)` with one `n`")
    else:
        remedy = _("pass `{place}` as one key in every call, or as an array of keys with the same axes")
    return text, remedy.format(place=place)


def _words(leaf: Leaf, typed: list[str | None]) -> str:
    if None not in typed:
        return str(leaf)
    if _typed(leaf):
        return _("a typed key {type}").format(type=leaf)
    return _("a legacy key {type}").format(type=leaf) if _legacy(leaf) else str(leaf)


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
    found, old = min(((differences(old, new), old) for old in reversed(earlier)), key=lambda pair: len(pair[0]))
    if found or old.progress.finished:
        return found
    failed = _("an earlier trace of the same call failed, and JAX only keeps traces that finish")
    return [Difference(failed, _("fix the error in the earlier call"))]


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
    found = list(_of_functions(old, new))
    for name in [*old.arguments, *(name for name in new.arguments if name not in old.arguments)]:
        found += _of_arguments(name, old.arguments.get(name), new.arguments.get(name))
    for name, value in new.settings.items():
        before = old.settings.get(name)
        if before is not value and before != value:
            found.append(
                Difference(
                    _("JAX's setting `{name}` was {old} and is now {new}").format(name=name, old=before, new=value),
                    _("set `{name}` once, before the first call").format(name=name),
                )
            )
    return found


def _of_functions(old: Signature, new: Signature) -> Iterator[Difference]:
    function = new.function
    if same(old.function, function):
        if not _same_options(old.options, new.options):
            yield Difference(
                _("`jax.jit` was applied again, with different options"),
                _("apply `jax.jit` once, outside the loop, and call the result"),
            )
    elif function_key(old.function) != function_key(function):
        yield Difference(
            _("the traced function was {old} and is now {new}").format(
                new=name_of(function), old=name_of(old.function)
            ),
            _("allow one trace for each jitted function that calls it, or limit those functions instead"),
        )
    elif isinstance(function, MethodType):
        yield Difference(
            _("the method belongs to a different `{type}` object").format(type=type(function.__self__).__name__),
            _("jit a function that takes the object's arrays as arguments, or create the object once"),
        )
    elif isinstance(function, functools.partial):
        yield Difference(
            _("the `functools.partial` object is new"),
            _(
                "create the partial once, outside the loop, or pass whatever changes as an argument (in "
                "`static_argnames` if it must stay a Python value)"
            ),
        )
    else:
        yield Difference(
            _("the function object is new, because its definition ran again"),
            _(
                "define it and apply `jax.jit` once, outside the loop, and pass whatever changes as an argument (in "
                "`static_argnames` if it must stay a Python value)"
            ),
        )


def _same_options(old: Any, new: Any) -> bool:
    # JAX compares options by identity, and keeps one object for equal options of a function.
    return old is new or (isinstance(old, tuple) and isinstance(new, tuple) and same(tuple(old), tuple(new)))


def _of_arguments(name: str, old: Argument | None, new: Argument | None) -> Iterator[Difference]:
    same_way = _("pass `{name}` the same way in every call").format(name=name)
    if old is None or new is None:
        words = _("argument `{name}` was {old} and is now left out") if new is None else ""
        words = words or _("argument `{name}` was left out and is now {new}")
        yield Difference(words.format(name=name, old=old, new=new), same_way)
    else:
        if old.named != new.named:
            words = _("argument `{name}` was passed by position and is now passed by name")
            if old.named:
                words = _("argument `{name}` was passed by name and is now passed by position")
            yield Difference(words.format(name=name), same_way)
        yield from _of_static(name, old, new) if old.is_static or new.is_static else _of_trees(name, old, new)


def _of_static(name: str, old: Argument, new: Argument) -> Iterator[Difference]:
    if old.is_static and new.is_static and type(old.static) is type(new.static) and same(old.static, new.static):
        return
    if callable(new.static) and callable(old.static):
        words = _("static argument `{name}` was {old} and is now {new}")
        if function_key(old.static) == function_key(new.static):
            words = _("static argument `{name}` is again {new}, but a new function object")
        remedy = _("create the function for `{name}` once, outside the loop")
        yield Difference(words.format(name=name, old=old, new=new), remedy.format(name=name))
        return
    if str(old) == str(new):
        yield Difference(
            _("static argument `{name}` is again {new}, but not equal to the previous one").format(name=name, new=new),
            _("pass the same object, or define `__eq__` and `__hash__` in `{type}`").format(
                type=type(new.static).__name__
            ),
        )
        return
    yield Difference(
        _("static argument `{name}` was {old} and is now {new}").format(name=name, old=old, new=new),
        _(
            "each value of a static argument needs a separate trace: remove `{name}` from `static_argnums` or "
            "`static_argnames` if the function can work with a traced array"
        ).format(name=name),
    )


def _of_trees(name: str, old: Argument, new: Argument) -> Iterator[Difference]:
    if old.structure != new.structure:
        yield _of_structures(name, old, new)
    for path in [path for path in old.leaves if path in new.leaves]:
        if old.leaves[path][:2] != new.leaves[path][:2]:
            yield _of_leaves(f"{name}{path}", old.leaves[path], new.leaves[path])


def _of_structures(name: str, old: Argument, new: Argument) -> Difference:
    gone = [path for path in old.leaves if path not in new.leaves]
    added = [path for path in new.leaves if path not in old.leaves]
    another_kind = old.container.partition(_(" of "))[0] != new.container.partition(_(" of "))[0]
    if another_kind or "" in gone or "" in added:
        text = _("argument `{name}` was {old} and is now {new}").format(name=name, old=old, new=new)
    elif gone or added:
        words = [_("no longer has `{path}`").format(path=f"{name}{path}") for path in gone[:2]]
        words += [_("now has `{path}`").format(path=f"{name}{path}") for path in added[:2]]
        more = len(gone[2:]) + len(added[2:])
        if more:
            words.append(plural("{count} more change", "{count} more changes", more))
        text = _("argument `{name}` {changes}").format(name=name, changes=_(" and ").join(words))
    else:
        text = _("argument `{name}` was {old} and is now {new}")
        text = text.format(name=name, old=_layout(old), new=_layout(new))
    remedy = _("pass `{name}` with the same containers and keys in every call, and zeros for missing entries")
    return Difference(text, remedy.format(name=name))


def _layout(argument: Argument) -> str:
    return short(str(argument.structure).removeprefix("PyTreeDef(").removesuffix(")"))


def _of_leaves(place: str, old: Leaf, new: Leaf) -> Difference:
    of_keys = difference_of_keys(place, old, new)
    if of_keys is not None:
        return Difference(*of_keys)
    old_shape, new_shape = (leaf.type.partition("[")[2].removesuffix("]") for leaf in (old, new))
    dtype = _common_dtype(old, new)
    if old_shape.count(",") != new_shape.count(",") or bool(old_shape) != bool(new_shape):
        remedy = _("call it with arrays of one rank: pass `{place}` with the same axes in every call")
    elif old_shape != new_shape:
        remedy = _("call it with arrays of one shape: pad `{place}` to the largest with `jnp.pad` and mask the padding")
    elif dtype is None:
        remedy = _("pass the same kind of value as `{place}` in every call")
    else:
        remedy = _("convert `{place}` before each call: `jnp.asarray({place}, dtype=jnp.{dtype})`")
    text = _("argument `{place}` was {old} and is now {new}").format(place=place, old=old, new=new)
    return Difference(text, remedy.format(place=place, dtype=dtype))


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
