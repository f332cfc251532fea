"""Explain arrays and traced values that Python wants to hash in a call: `hash(x)`, and functions with a cache."""

import ast
import re

import jax.numpy

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted, source_of
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

_CACHE = "https://docs.python.org/3/library/functools.html#functools.lru_cache"
_GOTCHAS = "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html"


@explains(error_texts.UNHASHABLE_ARRAY, error_texts.UNHASHABLE_TRACER)
def hashed_in_a_call(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `hash(x)`, `set(arrays)`, and a call of a function with `functools.lru_cache`."""
    call = scene.node
    if isinstance(call, ast.Dict | ast.Set):
        return _entry(scene, call)
    if isinstance(call, ast.Compare):
        return _member(scene, call)
    if not isinstance(call, ast.Call):
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    part = next(((a, v) for a in given if is_array(v := scene.spot.value(a))), None)
    function = scene.spot.value(call.func)
    if hasattr(function, "cache_info") and hasattr(function, "__wrapped__"):
        return _cached(scene, call, part[0] if part is not None else None)
    if function in (set, frozenset) and len(call.args) == 1:
        return _set_of(scene, call)
    if function is not hash or part is None:
        return None
    text, value = scene.quote(part[0]), part[1]
    fix = scene.advice(f"Hash something that is known while JAX traces, such as `{text}.shape`.")
    if not is_tracer(value):
        new = f"hash({scene.np}.asarray({text}).tobytes())"
        fix = (
            scene.fix("Hash its bytes: equal values of one dtype give the same.", scene.source.replace(call, new))
            or fix
        )
    return _explained(scene, "hashed_array", "An array has no hash", part[0], [fix], _GOTCHAS)


def _set_of(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `set(x)` of an array, or of a list of arrays."""
    given = call.args[0]
    value = scene.spot.value(given)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values or not all(is_array(one) for one in values):
        return None
    if any(is_tracer(one) for one in values):
        fix = scene.advice(
            f"Find different values with `{scene.jnp}.unique(..., size=...)`, which needs a largest count."
        )
    else:
        text = f"set({scene.np}.asarray({scene.quote(given)}).ravel().tolist())"
        plain = is_array(value) or all(one.ndim == 0 for one in values)
        fix = scene.fix(
            "Make a set of Python's numbers.", scene.source.replace(call, text) if plain else None
        ) or scene.advice("Make a set of Python's numbers and tuples: `.tolist()` gives them.")
    return _explained(scene, "set_of_arrays", "An array has no hash, so a set cannot hold it", given, [fix], _GOTCHAS)


def _entry(scene: Scene, node: ast.Dict | ast.Set) -> Explanation | None:
    """Explain an array as a key of a dict, or in a set that is written out."""
    entries = [key for key in (node.keys if isinstance(node, ast.Dict) else node.elts) if key is not None]
    made = {jax.numpy.array, jax.numpy.asarray}
    arrays = [e for e in entries if isinstance(e, ast.Call) and scene.spot.value(e.func) in made]
    if len(arrays) != 1 or len(entries) != 1:
        return None
    fix = scene.advice("Take a Python number or a tuple as the key: `x.item()`, or `tuple(x.tolist())`.")
    return _explained(scene, "array_as_key", "An array has no hash, so it cannot be a key", arrays[0], [fix], _GOTCHAS)


def _member(scene: Scene, node: ast.Compare) -> Explanation | None:
    """Explain `x in {1, 2}`, which looks for the hash of `x`."""
    value = scene.spot.value(node.left)
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.In | ast.NotIn) or not is_array(value):
        return None
    if is_tracer(value) or value.ndim:
        return None
    fix = scene.fix(
        "Look up its number.", scene.source.replace(node.left, f"{scene.atom(node.left)}.item()")
    ) or scene.advice("Look up its number.")
    return _explained(scene, "array_in_set", "An array has no hash to be found by", node.left, [fix], _GOTCHAS)


def _cached(scene: Scene, call: ast.Call, node: ast.expr | None) -> Explanation | None:
    """Explain a call of a function that `functools.lru_cache` or `functools.cache` wraps."""
    name = scene.quote(call.func)
    fixes = [_without_cache(scene, call) or scene.advice(f"Call the function without its cache: `{name}.__wrapped__`.")]
    value = scene.spot.value(node) if node is not None else MISSING
    if not is_tracer(value):
        fixes.append(scene.advice("Or pass Python numbers and tuples, which have a hash."))
    title = f"`{name}` has a cache, but an array has no hash"
    return _explained(scene, "cached_function_of_array", title, node, fixes, _CACHE)


def _explained(
    scene: Scene, kind: str, title: str, node: ast.expr | None, fixes: list[Fix], link: str
) -> Explanation | None:
    value = scene.spot.value(node) if node is not None else MISSING
    text = scene.quote(node) if node is not None else None
    return scene.explanation(
        kind,
        title=title,
        what=scene.what(text, value) if text is not None and is_array(value) else "",
        variable=text,
        why="A hash stands for a value, and a traced value comes later."
        if is_tracer(value)
        else "Equal objects need equal hashes, and arrays are compared entry by entry, so they have none.",
        fixes=fixes,
        link=link,
    )


def _without_cache(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix that removes the decorator of the called function."""
    inner = getattr(scene.spot.value(call.func), "__wrapped__", None)
    code = getattr(inner, "__code__", None)
    source = source_of(code.co_filename) if code is not None else None
    function = source.function_at(code.co_name, code.co_firstlineno) if source is not None and code else None
    if source is None or not isinstance(function, ast.FunctionDef):
        return None
    for decorator in function.decorator_list:
        outer = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted(outer).split(".")[-1] in ("lru_cache", "cache"):
            (first, _column), (last, _end) = source.start(decorator), source.end(decorator)
            return scene.fix("Do without the cache.", Edit(source.file, (first, 0), (last + 1, 0), ""))
    return None
