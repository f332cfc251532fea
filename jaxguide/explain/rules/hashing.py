"""Explain arrays and traced values that Python wants to hash in a call: `hash(x)`, and functions with a cache."""

import ast
from functools import partial
from typing import Any

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts


def _is_known(facts: Facts) -> bool:
    value = facts.value("x")
    return not any(map(is_tracer, value if isinstance(value, list | tuple) else [value]))


def _is_of_arrays(value: Any) -> bool:
    return is_array(value) or (isinstance(value, list | tuple) and bool(value) and all(map(is_array, value)))


def _without_cache(facts: Facts) -> Fix | None:
    """Return the fix that removes the decorator of the called function."""
    part = facts.part("definition")
    for decorator in getattr(part.node, "decorator_list", []):
        if dotted(getattr(decorator, "func", decorator)).split(".")[-1] in ("lru_cache", "cache"):
            first, last = part.source.start(decorator)[0], part.source.end(decorator)[0]
            return facts.scene.fix("Do without the cache.", Edit(part.source.file, (first, 0), (last + 1, 0), ""))
    return None


_hashed = partial(
    entry,
    why="Equal objects need equal hashes, but arrays are compared entry by entry, so an array has no hash; and the "
    "entries of a traced array are not even known yet.",
    link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
)
_hashed(
    "cached_function_of_array",
    texts.UNHASHABLE_ARRAY,
    texts.UNHASHABLE_TRACER,
    x=probes.first(is_array),
    when=lambda facts: hasattr(facts.value("f"), "cache_info") and hasattr(facts.value("f"), "__wrapped__"),
    definition=probes.definition(probes.function),
    title="`{f}` has a cache, but an array has no hash",
    fixes=[
        Either(_without_cache, "Call the function without its cache: `{f}.__wrapped__`."),
        Words("Or pass Python numbers and tuples, which have a hash.", when=_is_known),
    ],
    link="https://docs.python.org/3/library/functools.html#functools.lru_cache",
)
_hashed(
    "hashed_array",
    texts.UNHASHABLE_ARRAY,
    texts.UNHASHABLE_TRACER,
    x=probes.given(is_array),
    when=probes.calls("hash"),
    title="An array has no hash",
    fixes=Swap(
        "Hash its bytes: equal values of one dtype give the same.",
        when=_is_known,
        call="hash({np}.asarray({x}).tobytes())",
    ),
    otherwise="Hash something that is known while JAX traces, such as `{x}.shape`.",
)
_hashed(
    "set_of_arrays",
    texts.UNHASHABLE_ARRAY,
    texts.UNHASHABLE_TRACER,
    x=probes.given(_is_of_arrays),
    when=probes.calls("set", "frozenset"),
    title="An array has no hash, so a set cannot hold it",
    fixes=Words("Make a set of Python's numbers and tuples: `.tolist()` gives them.", when=_is_known),
    otherwise="Find different values with `{jnp}.unique(..., size=...)`, which needs a largest count.",
)
_hashed(
    "array_in_set",
    texts.UNHASHABLE_ARRAY,
    texts.UNHASHABLE_TRACER,
    x=probes.operand(0),
    when=[probes.is_written("node", ast.Compare), lambda facts: facts["x"].ndim == 0 and _is_known(facts)],
    title="An array has no hash to be found by",
    fixes=Swap("Look up its number.", x="{x.atom}.item()"),
)
