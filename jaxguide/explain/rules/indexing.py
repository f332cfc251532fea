"""Explain indices that JAX does not support: masks and slices that change the shape, floats, lists and strings."""

import ast
from typing import Any

from jaxguide.base.text import plural
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.masks import masked, masked_slice, masked_update, rank_of, sliced_axis, spread
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rewrites.windows import window_of
from jaxguide.explain.transformed import parameters

_GOTCHAS = "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html"


def _indexed(facts: Facts) -> ast.Subscript | None:
    """Look at `x[i]`, and at `x.at[i]` in `x.at[i].set(y)`."""
    node = facts.scene.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node if isinstance(node, ast.Subscript) else None


_INDEX: dict[str, Any] = {
    "indexed": _indexed,
    "index": lambda facts: facts.node("indexed").slice,
    "array": lambda facts: facts.node("indexed").value,
}


# Masks and slices of an unknown number of values.


def _mask(facts: Facts) -> Any:
    """Look at the mask, by its name, or at what is traced in it or in the array."""
    if isinstance(facts.node("index"), ast.Name):
        return facts.node("index")
    return probes.first(is_tracer, of="index")(facts) or probes.first(is_tracer, of="array")(facts)


def _keep(facts: Facts) -> str | None:
    """Say the mask, shaped to broadcast with the array."""
    rank, own = rank_of(facts.scene, facts.node("array")), facts["g1"].count(",") + 1
    if isinstance(facts.node("index"), ast.Tuple):
        return None
    return spread(str(facts["index"]) if rank == own else facts["index"].atom, own - 1, rank)


def _masked(facts: Facts) -> Fix | None:
    """Make the fix that keeps the shape, also for `x.at[mask].set(f(x[mask]))` and `x[mask].sum()`."""
    keep = facts["keep"] if facts.knows("keep") else None
    said = (
        "Keep the shape, and let what is masked out count for nothing.",
        "Keep the shape, with 0 where the mask is False.",
    )
    return masked(facts.scene, facts.node("indexed"), keep, str(facts["index"]), said)


entry(
    "boolean_mask",
    texts.BOOLEAN_MASK,
    x=_mask,
    when=probes.is_written("node", ast.Subscript),
    keep=_keep,
    title="A mask picks an unknown number of values",
    why="How long `{node}` is depends on how many are True, and JAX must know every shape while it records.",
    fixes=Either(
        _masked,
        Code(
            "Keep the shape, with 0 where the mask is False. Right only if more zeros change nothing, as in a sum; "
            "not before a mean or a softmax.",
            "{jnp}.where(mask, {array}, 0)",
        ),
    ),
    link=texts.ERRORS_PAGE,
    **_INDEX,
)


def _window(facts: Facts) -> str | None:
    """Say the length of a slice such as `i : i + length`."""
    axis, cut = facts["cut"]
    value = facts["array"].value_or_missing
    entries = value.shape[axis] if is_array(value) and value.ndim > axis else None
    return window_of(facts.scene, cut, entries) if cut.lower is not None else None


def _static_bounds(facts: Facts) -> Fix | None:
    """Make the fix that makes all that is traced in the bounds a static argument."""
    parts = facts.scene.spot.parts(facts.node("index"))
    return static_fix(facts.scene, *(value for _part, value in parts if is_tracer(value)))


def _of_place(facts: Facts) -> Fix | None:
    """Make the fix for `x.at[:n].set(y)`, or for `x[:n]` whose length is not fixed."""
    node: Any = facts.node("indexed")
    if isinstance(facts.scene.node, ast.Call):
        return masked_update(facts.scene, facts.scene.node, node)
    return masked_slice(facts.scene, node)


entry(
    "dynamic_slice",
    texts.DYNAMIC_SLICE,
    x=probes.first(is_tracer, of="index"),
    cut=lambda facts: sliced_axis(facts.scene, facts.node("indexed")),
    window=_window,
    start=lambda facts: facts["cut"][1].lower,
    along=lambda facts: f", axis={facts['cut'][0]}" if facts["cut"][0] else "",
    title="A slice needs known bounds, but `{x}` is traced",
    why="How long `{indexed}` is depends on `{x}`, and JAX must know every shape while it records.",
    fixes=[
        Either(
            Swap(
                "Move a window of fixed length: `lax.dynamic_slice_in_dim` (at the end it moves back to fit).",
                when=probes.is_written("node", ast.Subscript),
                node="{lax}.dynamic_slice_in_dim({array}, {start}, {window}{along})",
            ),
            _of_place,
        ),
        _static_bounds,
    ],
    link=f"{texts.API}/jax.lax.dynamic_slice.html",
    **_INDEX,
)


# Other indices.


def _loop_parameters(facts: Facts) -> list[ast.arg]:
    """Look at the two parameters of a body of `lax.fori_loop`, of which the index is the second: the carry."""
    function, value = facts.scene.spot.function, facts.value("index")
    own = parameters(function) if function is not None else []
    is_second = len(own) == 2 and str(facts["index"]) == own[1].arg
    return own if is_second and is_tracer(value) and facts.scene.under(value) == "lax.fori_loop" else []


def _is_python_number(facts: Facts) -> bool:
    """Ask whether the index is computed from Python's numbers, lengths and shapes alone."""
    own = isinstance(facts.value("x"), float)
    calls = [one.func for one in ast.walk(facts.node("x")) if isinstance(one, ast.Call)]
    arrays = facts.scene.spot.first(facts.node("x"), is_array)
    plain = all(isinstance(one, ast.Name) and one.id in ("len", "float", "int", "round") for one in calls)
    return own or (arrays is None and plain)


entry(
    "swapped_parameters",
    texts.INDEX_FLOAT,
    x=probes.fact("index"),
    first=lambda facts: next(iter(_loop_parameters(facts)), None),
    second=lambda facts: _loop_parameters(facts)[1],
    when=probes.knows("first"),
    title="A loop body with its two parameters the other way round",
    why="`lax.fori_loop` gives its body the number of the turn first, and the carry second.",
    fixes=Swap("Take the number of the turn first.", first="{second}", second="{first}"),
    link=f"{texts.API}/jax.lax.fori_loop.html",
    **_INDEX,
)
entry(
    "index_of_floats",
    texts.INDEX_FLOAT,
    x=probes.fact("index"),
    quotient=lambda facts: facts.node("x") if isinstance(getattr(facts.node("x"), "op", None), ast.Div) else None,
    one=lambda facts: facts.node("quotient").left,
    other=lambda facts: facts.node("quotient").right,
    title="An index that is a float",
    what=("{x.is_here}", "`{x}` is a float here."),
    why="Positions are counted, so a float names none, even one without a fraction.",
    fixes=Either(
        Swap("Make it an integer.", when=_is_python_number, quotient="{one.atom} // {other.atom}"),
        Swap("Make it an integer.", when=_is_python_number, x="int({x})"),
        Swap(
            "Make it an integer.",
            when=lambda facts: facts.scene.spot.first(facts.node("x"), is_array) is not None,
            x="{x.atom}.astype(int)",
        ),
        "Make it an integer.",
    ),
    link=f"{texts.API}/jax.numpy.astype.html",
    **_INDEX,
)
entry(
    "index_of_list",
    texts.INDEX_LIST,
    x=probes.fact("index"),
    title="A list used as an index",
    what="`{x}` is a list here.",
    why="NumPy takes a list for an array of positions; JAX does not guess, and a tuple means one index per axis.",
    fixes=Swap("Say that it is an array of positions.", x="{jnp}.array({x})"),
    link=_GOTCHAS,
    **_INDEX,
)


def _is_mapped(facts: Facts) -> bool:
    return is_tracer(facts.value("x")) and facts.scene.under(facts.value("x")) == "jax.vmap"


def _first_indices(facts: Facts) -> str | None:
    """Say one index for each axis, from the first; not if one makes a new axis or stands for several."""
    special = [one for one in facts["index"].items if getattr(one.node, "value", 0) in (None, ...)]
    return ", ".join(str(one) for one in facts["index"].items[: int(facts["g1"])]) if not special else None


entry(
    "too_many_indices",
    texts.TOO_MANY_INDICES,
    x=probes.fact("array"),
    when=probes.is_written("index", ast.Tuple),
    axes=lambda facts: plural("{count} axis", "{count} axes", int(facts["g1"])),
    fitting=_first_indices,
    title="More indices than axes",
    why="It has {axes} and {g2} indices were given: one index takes away one axis.",
    fixes=[
        Either(
            Words(
                "If one is for the axis that `jax.vmap` maps over: leave it out, since each call gets one entry.",
                when=_is_mapped,
            ),
            Swap("Give one index for each axis, from the first.", index="{fitting}"),
        ),
        Code("Look at the shape first.", "{x.atom}.shape"),
    ],
    link=_GOTCHAS,
    **_INDEX,
)
