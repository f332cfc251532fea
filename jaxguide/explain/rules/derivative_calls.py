"""Explain what `has_aux`, `jax.jvp` and the pullbacks of `jax.vjp` are given, if it does not fit."""

import ast
import re
from typing import Any

from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import TRANSFORMS

_VJP = f"{error_texts.API}/jax.vjp.html"
_SMALL_CHANGE = "A tangent is a small change of its primal, so both have one shape and one dtype."

entry(
    "aux_without_pair",
    structure_texts.AUX_PAIR,
    x=probes.result_of("body"),
    line="x",
    variable="{of}",
    made=probes.made_by(*TRANSFORMS),
    of=probes.argument(0, "fun", of="made"),
    body=probes.definition(probes.argument(0, "fun", of="made")),
    paired=probes.first_and_rest("x"),
    title="`has_aux=True` for a function that does not return a pair",
    what="`{of}` returns `{x}`.",
    why="With `has_aux`, the function returns exactly two things: the number to differentiate, and the rest.",
    fixes=[
        Either(
            Swap("Put all but the loss into one tuple.", when=lambda facts: facts["x"].count > 2, x="{paired}"),
            Words(
                "Return the loss first, then the dict: `return loss, {{...}}`.", when=probes.is_written("x", ast.Dict)
            ),
            "Leave `has_aux=True` out, or return the loss and what comes with it: `return loss, aux`.",
        )
    ],
    link=f"{error_texts.API}/jax.grad.html",
)


# Pullbacks.


def _plain_kind(said: str) -> str:
    """Return JAX's words for a part of a tree in plainer ones.

    >>> _plain_kind("<class 'tuple'>"), _plain_kind("pytree leaf"), _plain_kind("tuple of length 2")
    ('a tuple', 'one array', 'a tuple of length 2')
    """
    if said.startswith("pytree leaf"):
        return "one array"
    return "a {kind}".format(kind=re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", said))


def _output(facts: Facts) -> ast.expr | None:
    """Look at the name to which `out, pull = jax.vjp(...)` assigned the output."""
    pairs = [
        node.targets[0].elts
        for node in ast.walk(facts.scene.source.tree)
        if isinstance(node, ast.Assign) and called(node.value) == "vjp" and isinstance(node.targets[0], ast.Tuple)
    ]
    found = [pair[0] for pair in pairs if len(pair) == 2 and facts.scene.quote(pair[1]) == str(facts["f"])]
    return found[0] if found and isinstance(found[0], ast.Name) and found[0].id != "_" else None


entry(
    "pullback_tree",
    structure_texts.PULLBACK_TREE,
    x=probes.argument(0),
    when=lambda facts: facts["rest"] == "",
    was=lambda facts: _plain_kind(facts["g2"]),
    output=_output,
    title="A pullback needs one cotangent for each part of the output",
    what="`{x}` is given, where the function returned {was}.",
    why="The pullback takes one cotangent for each output, in the same containers as the output.",
    fixes=[
        Either(
            Swap(
                "Give the number itself.",
                when=lambda facts: facts["was"] == "one array" and facts["x"].count == 1,
                x="{x.items[0]}",
            ),
            Swap(
                "Give a tuple: a list is not a tuple.",
                when=lambda facts: facts["g2"] == "<class 'tuple'>" and isinstance(facts.node("x"), ast.List),
                x="tuple({x})",
            ),
            Swap(
                "Give one cotangent for each part of the output. Ones differentiate the sum of all its entries; zeros "
                "leave a part out.",
                when=lambda facts: facts["output"].value is not None,
                x="{jax}.tree.map({jnp}.ones_like, {output})",
            ),
            "Give one cotangent for each part of the output, in the same containers.",
        ),
        Words(
            "If only the first part is to be differentiated: `{jax}.vjp(..., has_aux=True)`.",
            when=lambda facts: (
                type(facts.value("output")) is tuple
                and len(facts.value("output")) == 2
                and not isinstance(facts.node("x"), ast.List)
            ),
        ),
    ],
    link=_VJP,
)
entry(
    "pullback_count",
    structure_texts.PULLBACK_COUNT,
    x=probes.function,
    title="A pullback called with several arguments",
    what="`{call}` gives it {g2} arguments.",
    why="The function returned one thing, maybe a tuple, so its pullback takes one: cotangents in that container.",
    fixes=[Swap("Put them into one tuple.", call="{x}(({given}))")],
    link=_VJP,
)
entry(
    "cotangent_shape",
    error_texts.VJP_SHAPE,
    x=probes.argument(0),
    when=lambda facts: facts["rest"] == "",
    shape=lambda facts: str(tuple(int(size) for size in facts["g3"].split(",") if size)),
    title="A cotangent that does not fit the output",
    what="`{x}` is {g1}, and the output is {g2}[{g3}].",
    why="The pullback takes one number for each number of the output: how much each counts.",
    fixes=[
        Either(
            Swap(
                "Give the output's shape and dtype.",
                when=lambda facts: facts["g1"].endswith("[]"),
                x="{jnp}.full({shape}, {x}, {jnp}.{g2})",
            ),
            Swap("Give the output's shape and dtype.", x="{jnp}.ones({shape}, {jnp}.{g2})"),
        )
    ],
    link=_VJP,
)


# Tangents.


def _number_for_an_array(facts: Facts) -> tuple[Part, Part] | None:
    """Find the first number among the tangents whose primal is an array with axes, after this primal."""
    pairs = zip(facts["primals"].items, facts["tangents"].items, strict=False)
    return next((pair for pair in pairs if pair[0].shape != () and pair[1].shape == ()), None)


def _are_no_tuples(facts: Facts) -> bool:
    given = [facts["primals"], facts["tangents"]]
    return not any(isinstance(one.node, ast.Tuple | ast.List) or one.type in ("tuple", "list") for one in given)


_JVP: dict[str, Any] = {
    "primals": probes.argument(1, "primals"),
    "tangents": probes.argument(2, "tangents"),
    "when": probes.calls("jvp"),
    "link": f"{error_texts.API}/jax.jvp.html",
}
entry(
    "tangent_shape",
    structure_texts.JVP_SHAPES,
    x=probes.one_of(lambda facts: facts["pair"][1], probes.fact("tangents")),
    pair=_number_for_an_array,
    title="A tangent of another shape than its primal",
    what="The primal has shape {g1}, and the tangent has shape {g2}.",
    why=_SMALL_CHANGE,
    fixes=[
        Either(
            Swap("Give a number for each entry of the primal.", x="{jnp}.full_like({pair[0]}, {x})"),
            "Give tangents of the primals' shapes.",
        )
    ],
    **_JVP,
)
entry(
    "tangent_dtype",
    error_texts.JVP_DTYPE,
    x=probes.one_of(probes.fact("whole"), probes.fact("tangents")),
    whole=lambda facts: next((one for one in facts["tangents"].items if isinstance(one.value_or_missing, int)), None),
    title="A tangent of another dtype than its primal",
    why=_SMALL_CHANGE,
    fixes=[Either(Swap("Give floats.", whole="float({x})"), "Give tangents of the primals' dtypes.")],
    **_JVP,
)
entry(
    "tangent_parts",
    structure_texts.JVP_TREES,
    x=probes.argument(2, "tangents"),
    title="Tangents whose parts are not those of the primals",
    what="`{x}` is given for `{primals}`.",
    why="There is one tangent for each primal, in the same containers with the same keys.",
    fixes=["Give a tangent for every part; zeros for one that does not change."],
    **_JVP,
)
entry(
    "jvp_without_tuples",
    error_texts.JVP_CONTAINER,
    x=probes.argument(1, "primals"),
    title="`jax.jvp` was not given tuples",
    what="`{x}` is not a tuple.",
    why="A function may have several arguments, so `jax.jvp` takes all primals in one tuple, all tangents in another.",
    fixes=[
        Either(
            Swap("Put each into a tuple of one.", when=_are_no_tuples, x="({x},)", tangents="({tangents},)"),
            "Put all primals into one tuple, and all tangents into another.",
        )
    ],
    **_JVP,
)
