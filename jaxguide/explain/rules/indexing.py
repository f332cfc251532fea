"""Explain indices that JAX does not support: masks and slices that change the shape, floats, lists and strings."""

import ast
import re
from functools import partial
from typing import Any

from jaxguide.base.text import plural
from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Condition, Facts, known
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import parameters


def _indexed(facts: Facts) -> ast.Subscript | None:
    """Look at `x[i]`, and at `x.at[i]` in `x.at[i].set(y)`."""
    node = facts.scene.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node if isinstance(node, ast.Subscript) else None


def _array(facts: Facts) -> Any:
    """Look at the array that is indexed: `x` in `x[i]` and `x.at[i]`."""
    array: Any = facts.node("indexed").value
    return array.value if getattr(array, "attr", "") == "at" else array


_entry = partial(
    entry,
    indexed=_indexed,
    index=lambda facts: facts.node("indexed").slice,
    array=_array,
    x=probes.fact("index"),
    link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
)


# Masks, and slices of unknown length, which become masks.


def _is_update(facts: Facts) -> bool:
    """Ask whether the same index names what is updated: `x.at[i].set(2 * x[i])`."""
    index, around = ast.unparse(facts.node("index")), ast.unparse(facts.scene.spot.function or facts.scene.source.tree)
    return f".at[{index}]" in around or f"[{index}] =" in around


def _reduction(facts: Facts) -> ast.Call | None:
    """Look at the call that reduces the indexed array and does no more, such as `x[mask].sum()`."""
    node, parents = facts.node("indexed"), facts.scene.source.parents
    outer: Any = parents.get(node)
    call, given = (parents.get(outer), []) if isinstance(outer, ast.Attribute) else (outer, [node])
    is_plain = isinstance(call, ast.Call) and not call.keywords and call.args == given
    return call if is_plain and called(call) in ("sum", "prod", "mean", "std", "var", "any", "all") else None  # type: ignore[return-value]


def _keep(facts: Facts) -> str | None:
    """Say the mask, with axes added after its last one so that it broadcasts with the array."""
    mask, after = str(facts["mask"]), facts["array"].ndim - facts["axis"] - 1
    spread = f"{mask if mask.isidentifier() else f'({mask})'}[...{', None' * after}]"
    return None if after < 0 else spread if after else mask


_masked = partial(_entry, reduction=_reduction, keep=_keep)
_MASK = Either(
    Words(
        "Compute the new value for every entry, without the mask, and choose: `{jnp}.where(mask, new, {array})`.",
        when=_is_update,
    ),
    Swap(
        "Keep the shape, and let what is masked out count for nothing.",
        reduction="{jnp}.{reduction.name}({array}, where={keep})",
    ),
    "Keep all of `{array}`, and use the mask `{mask}` in what follows: `{jnp}.where(mask, values, 0)` in a sum, "
    "`where=mask` in a mean, -inf in place of 0 in the argument of a softmax.",
)
_masked(
    "boolean_mask",
    texts.BOOLEAN_MASK,
    x=probes.one_of(probes.first(is_tracer, of="index"), probes.first(is_tracer, of="array")),
    when=probes.is_written("node", ast.Subscript),
    mask=lambda facts: None if isinstance(facts.node("index"), ast.Tuple) else str(facts["index"]),
    axis=lambda facts: facts["g1"].count(","),
    title="A mask picks an unknown number of values",
    why="How long `{node}` is depends on how many are True, and JAX must know every shape while it records.",
    fixes=_MASK,
    otherwise="Keep all of `{array}`, and use the mask in what follows.",
    link=texts.ERRORS_PAGE,
)


def _cut(facts: Facts) -> tuple[int, ast.Slice] | None:
    """Find the one axis that a traced slice cuts, and the slice; None if other axes are indexed too."""
    parts = getattr(facts.node("index"), "elts", [facts.node("index")])
    cut = [(axis, part) for axis, part in enumerate(parts) if ast.unparse(part) != ":"]
    is_one = len(cut) == 1 and isinstance(cut[0][1], ast.Slice) and facts.scene.tracer(cut[0][1]) is not None
    return cut[0] if is_one else None


def _mask(facts: Facts) -> str | None:
    """Say the mask of what a slice takes; None if it has a step or counts from the end."""
    axis, cut = facts["cut"]
    bounds = {">=": cut.lower, "<": cut.upper}
    if cut.step is not None or any(isinstance(bound, ast.UnaryOp) for bound in bounds.values()):
        return None
    places = f"{facts['jnp']}.arange({facts['array'].atom}.shape[{axis}])"
    tests = [f"{places} {sign} {facts.scene.quote(bound)}" for sign, bound in bounds.items() if bound is not None]
    return tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)


# `i : i + length` and `i * length : (i + 1) * length`.
_WINDOW = re.compile(r"(.+):\1\+(?P<length>[\w.]+)|(\w+)\*(?P<times>[\w.]+):\(\3\+1\)\*\4")


def _window(facts: Facts) -> str | None:
    """Say the length of a slice that is always as long, if it is known and fits."""
    axis, cut = facts["cut"]
    found = known(_WINDOW.fullmatch(facts.scene.quote(cut).replace(" ", "")))
    length = found["length"] or found["times"]
    size = facts.scene.spot.value(ast.parse(length, mode="eval").body)
    return length if isinstance(size, int) and 0 < size <= facts["array"].shape[axis] else None


_masked(
    "dynamic_slice",
    texts.DYNAMIC_SLICE,
    x=probes.first(is_tracer, of="index"),
    cut=_cut,
    axis=lambda facts: facts["cut"][0],
    mask=_mask,
    bounds=lambda facts: facts.scene.spot.parts(facts.node("index")),
    window=_window,
    start=lambda facts: facts["cut"][1].lower,
    along=lambda facts: f", axis={facts['axis']}" if facts["axis"] else "",
    title="A slice needs known bounds, but `{x}` is traced",
    why="How long `{indexed}` is depends on `{x}`, and JAX must know every shape while it records.",
    fixes=[
        Either(
            Swap(
                "Move a window of fixed length: `lax.dynamic_slice_in_dim` (at the end it moves back to fit).",
                when=probes.is_written("node", ast.Subscript),
                node="{lax}.dynamic_slice_in_dim({array}, {start}, {window}{along})",
            ),
            _MASK,
        ),
        lambda facts: static_fix(facts.scene, *(one for _part, one in facts["bounds"] if is_tracer(one))),
    ],
    link=f"{texts.API}/jax.lax.dynamic_slice.html",
)


def _is_under(transformation: str) -> Condition:
    """Ask whether `x` is traced by this transformation."""
    return lambda facts: is_tracer(facts.value("x")) and facts.scene.under(facts.value("x")) == transformation


_entry(
    "swapped_parameters",
    texts.INDEX_FLOAT,
    when=[_is_under("lax.fori_loop"), lambda facts: str(facts["x"]) == facts.node("last").arg],
    last=lambda facts: next(reversed(parameters(known(facts.scene.spot.function))), None),  # type: ignore[arg-type]
    title="A loop body with its two parameters the other way round",
    why="`lax.fori_loop` gives its body the number of the turn first, and the carry second.",
    fixes="Take the number of the turn first, and the carry second.",
    link=f"{texts.API}/jax.lax.fori_loop.html",
)
_entry(
    "index_of_floats",
    texts.INDEX_FLOAT,
    inside=probes.first(is_array, of="x"),
    title="An index that is a float",
    what=("{x.is_here}", "`{x}` is a float here."),
    why="Positions are counted, so a float names none, even one without a fraction.",
    fixes=Either(
        Swap("Make it an integer.", when=probes.knows("inside"), x="{x.atom}.astype(int)"),
        # JAX takes Python's numbers for float64 here.
        Swap("Make it an integer.", when=lambda facts: facts["g1"] == "float64", x="int({x})"),
        "Make it an integer.",
    ),
    link=f"{texts.API}/jax.numpy.astype.html",
)


def _mask_said(facts: Facts) -> ast.AST | None:
    """Look at the first mask with the shape that JAX names."""
    shape = facts["g1"]
    return probes.first(lambda one: is_array(one) and one.dtype == bool and str(one.shape) == shape, "index")(facts)  # type: ignore[no-any-return]


def _could_say_axis(facts: Facts) -> bool:
    return facts["array"].ndim > 1 and not isinstance(facts.node("index"), ast.Tuple)


_entry(
    "mask_of_another_shape",
    texts.MASK_SHAPE,
    x=probes.one_of(_mask_said, probes.fact("index")),
    when=probes.unless(probes.is_written("x", ast.Tuple)),
    needed=lambda facts: ast.literal_eval(f"({facts['g2']},)"),
    title="A mask and an array of different shapes",
    what="`{x}` has shape {g1}, and what it picks from has shape {needed}.",
    why="A mask says for each entry whether to keep it, so it needs one value per entry.",
    fixes=[
        "Make the mask from the array itself, or cut one of them to the size of the other.",
        Words("Or say which axis it is for, as `[:, mask]` does.", when=_could_say_axis),
    ],
)
_entry(
    "index_of_list",
    texts.INDEX_LIST,
    title="A list used as an index",
    what="`{x}` is a list here.",
    why="NumPy takes a list for an array of positions; JAX does not guess, and a tuple means one index per axis.",
    fixes=Swap("Say that it is an array of positions.", x="{jnp}.array({x})"),
)
_entry(
    "too_many_indices",
    texts.TOO_MANY_INDICES,
    x=probes.fact("array"),
    when=probes.is_written("index", ast.Tuple),
    axes=lambda facts: plural("{count} axis", "{count} axes", int(facts["g1"])),
    title="More indices than axes",
    why="It has {axes} and {g2} indices were given: one index takes away one axis.",
    fixes=Words(
        "If one is for the axis that `jax.vmap` maps over: leave it out, since each call gets one entry.",
        when=_is_under("jax.vmap"),
    ),
    otherwise="Give at most one index for each axis, from the first: `{x.atom}.shape` has the axes.",
)
