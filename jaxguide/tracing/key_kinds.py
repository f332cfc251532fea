"""Tell PRNG keys of different kinds apart by their types: typed, legacy, and by implementation."""

import re

from jaxguide.base.text import _
from jaxguide.tracing.signatures import Leaf

# The implementation of a typed key by how JAX prints it, and of a legacy key by its number of words.
_TYPED = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
_LEGACY = {2: "threefry2x32", 4: "rbg"}


def difference_of_keys(place: str, old: Leaf, new: Leaf) -> tuple[str, str] | None:
    """Return how two arguments differ of which one is a typed key, or both are legacy keys, and what to do.

    None where neither can be told to be a key. A legacy key is an array uint32[2] or uint32[4]; where both may be one,
    only the name tells that they are.

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
        remedy = _("give `{place}` a key in every call, such as `jax.random.key(seed)`")
    elif (typed[0] is None) != (typed[1] is None):
        remedy = _(
            "use one kind of key in every call: make them all with `jax.random.key`, none with `jax.random.PRNGKey`"
        )
    elif typed[0] != typed[1] or legacy[0] != legacy[1]:
        remedy = _("use keys of one implementation in every call: make them all with the same `impl`")
    elif old.type.count(",") == new.type.count(",") and "[]" not in (old.type[-2:], new.type[-2:]):
        remedy = _("give `{place}` the same number of keys in every call: `jax.random.split(key, n)` with one `n`")
    else:
        remedy = _("give `{place}` either one key in every call, or an array of keys with the same axes")
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
