"""Explain values of the wrong type: lists, None and strings instead of arrays, arrays where Python needs a hash."""

import ast
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Static, Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.pytrees import (
    are_meant_as_trees,
    as_pytree,
    class_named,
    is_tree_of_arrays,
    tree_map_around,
)
from jaxguide.explain.scene import called, is_traced_integer
from jaxguide.explain.transformed import TRANSFORMS, makers

_GOTCHAS = "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html"


def _odd_one(facts: Facts) -> Any:
    """Look at the operand of whole numbers, or else at the first, if both are given one by one."""
    if isinstance(facts.node("left"), ast.List | ast.Tuple):
        return None
    whole = [dtype.startswith(("int", "uint", "bool")) for dtype in (facts["one"], facts["other"])]
    return probes.operand(1 if whole == [False, True] else 0)(facts)


_lax_dtypes = partial(
    entry,
    when=[lambda facts: facts["f"].name == facts["function"], probes.unless(probes.in_library)],
    title="`lax.{function}` does not mix dtypes",
    what="The arguments are {one}, {other}.",
    why="`jax.lax` is the exact layer: it promotes nothing, and `jax.numpy` above it does.",
    link="https://docs.jax.dev/en/latest/type_promotion.html",
)
_lax_dtypes(
    "lax_dtypes",
    texts.LAX_DTYPE,
    x=probes.one_of(_odd_one, probes.call),
    odd=_odd_one,
    wanted=lambda facts: facts["other" if facts.node("odd") is facts.node("left") else "one"],
    fixes=[
        Swap("Use the function of `jax.numpy`, which promotes.", f="{jnp}.{name}"),
        Swap("Convert one yourself.", odd="{jnp}.asarray({odd}, {jnp}.{wanted})"),
    ],
)
_lax_dtypes(
    "lax_dtypes",
    structure_texts.LAX_DTYPES_OF_PARTS,
    x=probes.argument(1),
    whole=probes.argument(0),
    fixes=[
        Swap("Convert what is written to the dtype of the array.", x="{x.atom}.astype({whole.atom}.dtype)"),
        "Or, to keep fractions, convert the array: `{whole.atom}.astype({x.atom}.dtype)`.",
    ],
)


def _no_array(facts: Facts) -> Any:
    """Look at the operand or argument that is no array: at the place that the message says, or the only such one."""
    if isinstance(facts.scene.node, ast.BinOp | ast.AugAssign):
        return probes.operand(1)(facts)
    if facts.found.re is not texts.NOT_ARRAY.text:  # of a function of JAX that is jitted
        return probes.given(lambda one: one is None)(facts)
    # The positions may be those of a function inside, such as that of an array's method.
    said: ast.expr | None = probes.as_said(facts)
    at: ast.expr | None = probes.argument(int(facts["g2"]))(facts)
    return said or (at if facts.scene.spot.value(at) is MISSING else None)


def _is_of_jax(facts: Facts) -> bool:
    return not isinstance(facts.scene.node, ast.Call) or probes.calls_of("jax")(facts)


def _is_list(facts: Facts) -> bool:
    """Ask whether it is a list of numbers; `pytrees` explains lists that are meant as pytrees."""
    value = facts.value("x")
    if value is MISSING:
        return isinstance(facts.node("x"), ast.List | ast.ListComp | ast.Tuple)
    return isinstance(value, list | tuple) and not (is_tree_of_arrays(value) and are_meant_as_trees([value]))


_needs_array = partial(
    entry,
    x=_no_array,
    sign=lambda facts: None,  # unless the message names an operator
    title=("`{sign}` needs an array on both sides", "`{f}` needs an array"),
    what=("`{x}` is {x.what} here.", ""),
    link=f"{texts.API}/jax.numpy.asarray.html",
)
_needs_array(
    "none_for_array",
    texts.NOT_ARRAY,
    texts.OPERAND,
    texts.NOT_AN_ARGUMENT,
    when=[_is_of_jax, probes.is_valued("x", type(None)), lambda facts: tree_map_around(facts.scene) is None],
    why="None is not a number. It often comes from a function that lacks its `return`.",
    fixes="Find where `{x}` became None, and give an array.",
)
_needs_array(
    "list_for_array",
    texts.NOT_ARRAY,
    texts.OPERAND,
    when=[_is_of_jax, _is_list],
    why="JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss.",
    fixes=Swap("Say that it is an array.", x="{jnp}.array({x})"),
)


def _sizes(facts: Facts) -> list[ast.expr] | None:
    """Look at the sizes, which are the last arguments."""
    args = facts.call().args
    numbers = [one for one in args if isinstance(facts.scene.spot.value(one), int)]
    return numbers if len(numbers) > 1 and args[-len(numbers) :] == numbers else None


entry(
    "list_times_tracer",
    texts.LIST_TIMES,
    x=probes.traced,
    when=probes.is_written("node", ast.BinOp),
    title="A {g1} needs a known count, but `{x}` is traced",
    why="Python repeats a {g1} now, while JAX records the program, and the count comes later.",
    fixes=[
        Static("x", when=lambda facts: is_traced_integer(facts.value("x"))),  # a float counts nothing
        "If every entry is to be multiplied: make an array of it, `{jnp}.array({left})`.",
    ],
    link=texts.STATIC_LINK,
)
entry(
    "shape_without_tuple",
    texts.SHAPE_AS_DTYPE,
    x=lambda facts: facts["sizes"][1],
    sizes=_sizes,
    when=probes.calls("zeros", "ones", "empty", "normal", "uniform", "truncated_normal", "laplace", "exponential"),
    start=lambda facts: facts["sizes"][0],
    end=lambda facts: facts["sizes"][-1],
    title="A shape that is not in one tuple",
    what="`{x}` stands where the dtype belongs.",
    why="`{f}` takes the whole shape as one argument.",
    fixes=Swap("Put the sizes into a tuple.", start="({start}", end="{end})"),
    link=f"{texts.API}/jax.numpy.zeros.html",
)
entry(
    "array_as_key",
    texts.UNHASHABLE_ARRAY,
    x=probes.first(lambda value: isinstance(value, jax.Array)),
    when=probes.is_written("node", ast.Dict, ast.Set, ast.Subscript),
    title="An array used where a hash is needed",
    why="A dict finds a key by its hash, but arrays are compared entry by entry, so an array has no hash.",
    fixes=Either(
        Swap("Use Python numbers as the key.", when=lambda facts: facts["x"].ndim == 0, x="{x.atom}.item()"),
        Swap("Use Python numbers as the key.", x="tuple({x.atom}.ravel().tolist())"),
    ),
    link=_GOTCHAS,
)
entry(
    "dict_key_of_tracer",
    texts.UNHASHABLE_TRACER,
    x=probes.traced,
    # Not a call of another function, such as one with a cache.
    when=lambda facts: not isinstance(facts.scene.node, ast.Call) or probes.is_valued("owner", dict, set)(facts),
    title="A dict or set needs known keys, but `{x}` is traced",
    why="A dict or set looks up a value now, while JAX records the program, and the value comes later.",
    fixes=Static(),
    otherwise="Keep the values in an array, which is changed with `.at[{x}].set(...)`; if the keys are no indices, "
    "keep them in an array, too, and compare: `{jnp}.where(keys == {x}, values, 0).sum()`.",
    link=texts.STATIC_LINK,
)


entry(
    "length_of_scalar",
    structure_texts.NO_LENGTH,
    x=probes.argument(0),
    when=[probes.calls("len"), lambda facts: facts["x"].ndim == 0],
    title="A number has no length",
    why="`len` counts the entries of the first axis, and an array of shape () has no axis.",
    fixes=[
        Swap("Count all entries: 1 here.", call="{x.atom}.size"),
        "Or find out why it has no axis: `jax.vmap` and indices take one away.",
    ],
    link=f"{texts.API}/jax.numpy.size.html",
)


def _iterated(facts: Facts) -> ast.AST | None:
    """Look at what a loop goes through; from Python 3.13 on, that is the expression that failed, before it the loop."""
    node = getattr(facts.scene.node, "iter", facts.scene.node)
    return node if getattr(facts.scene.source.parents.get(node), "iter", None) is node else None


entry(
    "scalar_iteration",
    texts.SCALAR_ITERATION,
    # The names on the left of an assignment hold older values.
    when=lambda facts: not isinstance(getattr(facts.scene.node, "ctx", None), ast.Store),
    x=probes.one_of(probes.first(lambda value: is_array(value) and value.ndim == 0), probes.fact("iterated")),
    iterated=_iterated,
    title="A number has no entries to go through",
    what=("{x.is_here}", "`{x}` has shape () here."),
    why="An array of shape () has no axis: `for` goes along the first one.",
    fixes=[
        Swap(
            "Count up to it.",
            when=lambda facts: jax.dtypes.issubdtype(facts["x"].dtype, np.integer) and not is_tracer(facts["x"].value),
            x="range({x})",
        ),
        Swap("Give it an axis of length 1.", x="{jnp}.atleast_1d({x})"),
    ],
    link=f"{texts.API}/jax.numpy.atleast_1d.html",
)


def _object_given(facts: Facts) -> ast.expr | None:
    """Look at the argument that is, or makes, an object of the class that the message names."""
    made = [one for one in facts.call().args if called(one) == facts["type"]]
    return probes.as_said(facts) or next(iter(made), None)


def _has_no_options(facts: Facts) -> bool:
    return not facts.node("made").keywords and len(facts.node("made").args) == 1


_made = partial(
    entry,
    made=lambda facts: next(makers(facts.scene, facts.call()), facts.call()),
    maker=lambda facts: facts.node("made").func,
)
_made(
    "object_no_pytree",
    texts.NOT_JAX_TYPE,
    x=probes.one_of(_object_given, probes.call),
    given_object=_object_given,
    when=lambda facts: "." in facts["g2"] and class_named(facts.scene, facts["type"])[1] is not None,
    variable=("{given_object}", "{type}"),
    title="`{maker}` was given something that is not an array",
    what=("`{given_object}` is an object of type `{type}` here.", "An argument holds an object of type `{type}`."),
    why="JAX looks for arrays in an argument, and into a class only where it is registered as a pytree.",
    given_node=lambda facts: facts.node("given_object") if facts.knows("given_object") else ast.Constant(None),
    fixes=lambda facts: as_pytree(facts.scene, facts["type"], facts.value("given_object"), facts.node("given_node")),
    otherwise="Pass its arrays in a tuple or a dict, or register its class as a pytree.",
    link=f"{texts.API}/jax.tree_util.register_dataclass.html",
)
_no_array_given = partial(
    _made,
    x=probes.as_said,
    title="`{maker}` was given something that is not an array",
    what="`{x}` is {x.what} here.",
)
_no_array_given(
    "mapped_no_array",
    texts.NOT_JAX_TYPE,
    when=[_has_no_options, lambda facts: facts["maker"].name == "vmap"],
    why="`jax.vmap` takes every argument apart along an axis, and only arrays have axes.",
    fixes="Pass it inside a function of the other arguments, such as a `lambda`.",
    link=f"{texts.API}/jax.vmap.html",
)
_no_array_given(
    "differentiated_no_array",
    texts.NOT_JAX_TYPE,
    when=[_has_no_options, lambda facts: facts["maker"].name in TRANSFORMS],
    why="A derivative asks what a small change of the argument does, and only numbers change by a little.",
    fixes="Name another argument in `argnums`, or pass this one inside a function of the others, such as a `lambda`.",
    link=f"{texts.API}/jax.grad.html",
)


# Functions with a cache, `hash(x)` and sets.


def _parts(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _is_known(facts: Facts) -> bool:
    return not any(map(is_tracer, _parts(facts.value("x"))))


_UNHASHABLE = (texts.UNHASHABLE_ARRAY, texts.UNHASHABLE_TRACER)
_hashed = partial(
    entry,
    why="Equal objects need equal hashes, but arrays are compared entry by entry, so an array has no hash; and the "
    "entries of a traced array are not even known yet.",
    link=_GOTCHAS,
)
_hashed(
    "cached_function_of_array",
    *_UNHASHABLE,
    x=probes.first(is_array),
    when=lambda facts: hasattr(facts.value("f"), "cache_info") and hasattr(facts.value("f"), "__wrapped__"),
    title="`{f}` has a cache, but an array has no hash",
    fixes=[
        Swap("Call the function without its cache.", f="{f}.__wrapped__"),
        Words("Or pass Python numbers and tuples, which have a hash.", when=_is_known),
    ],
    link="https://docs.python.org/3/library/functools.html#functools.lru_cache",
)
_hashed(
    "hashed_array",
    *_UNHASHABLE,
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
    *_UNHASHABLE,
    x=probes.given(lambda value: all(map(is_array, _parts(value)))),
    when=probes.calls("set", "frozenset"),
    title="An array has no hash, so a set cannot hold it",
    fixes=Words("Make a set of Python's numbers and tuples: `.tolist()` gives them.", when=_is_known),
    otherwise="Find different values with `{jnp}.unique(..., size=...)`, which needs a largest count.",
)
_hashed(
    "array_in_set",
    *_UNHASHABLE,
    x=probes.operand(0),
    when=[probes.is_written("node", ast.Compare), lambda facts: facts["x"].ndim == 0 and _is_known(facts)],
    title="An array has no hash to be found by",
    fixes=Swap("Look up its number.", x="{x.atom}.item()"),
)
