"""Explain what `has_aux`, `jax.jvp` and the pullbacks of `jax.vjp` are given, if it does not fit."""

import ast
from functools import partial

from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import TRANSFORMS

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
    fixes=Swap("Put all but the loss into one tuple.", when=lambda facts: facts["x"].count > 2, x="{paired}"),
    otherwise="Leave `has_aux=True` out, or return the loss and what comes with it: `return loss, aux`.",
    link=f"{error_texts.API}/jax.grad.html",
)


def _output(facts: Facts) -> ast.expr | None:
    """Look at the name to which `out, pull = jax.vjp(...)` assigned the output, if a bare cotangent is given."""
    made = [one for one in ast.walk(facts.scene.source.tree) if isinstance(one, ast.Assign)]
    pairs = [getattr(one.targets[0], "elts", []) for one in made if called(one.value) == "vjp"]
    found = [pair[0] for pair in pairs if len(pair) > 1 and facts.scene.quote(pair[1]) == str(facts["f"])]
    is_bare = not isinstance(facts.node("x"), ast.List | ast.Tuple)
    return found[0] if found and is_bare and isinstance(found[0], ast.Name) and found[0].id != "_" else None


_pullback = partial(entry, x=probes.argument(0), link=f"{error_texts.API}/jax.vjp.html")
_pullback(
    "pullback_tree",
    structure_texts.PULLBACK_TREE,
    when=lambda facts: facts["rest"] == "",
    was=lambda facts: "one array" if "leaf" in facts["g2"] else f"a {facts['g2']}".replace("'>", ""),
    output=_output,
    title="A pullback needs one cotangent for each part of the output",
    what="`{x}` is given, where the function returned {was}.",
    why="The pullback takes one cotangent for each output, in the same containers as the output.",
    fixes=[
        Swap(
            "Give one cotangent for each part of the output. Ones differentiate the sum of all its entries; zeros "
            "leave a part out.",
            when=lambda facts: facts["output"].value is not None,
            x="{jax}.tree.map({jnp}.ones_like, {output})",
        ),
        Words(
            "If only the first part is to be differentiated: `{jax}.vjp(..., has_aux=True)`.",
            when=lambda facts: isinstance(facts.value("output"), tuple) and len(facts.value("output")) == 2,
        ),
    ],
    otherwise="Give one cotangent for each part of the output, in the same containers.",
)
_pullback(
    "pullback_count",
    structure_texts.PULLBACK_COUNT,
    x=probes.function,
    title="A pullback called with several arguments",
    what="`{call}` gives it {g2} arguments.",
    why="The function returned one thing, maybe a tuple, so its pullback takes one: cotangents in that container.",
    fixes=Swap("Put them into one tuple.", call="{x}(({given}))"),
)
_pullback(
    "cotangent_shape",
    error_texts.VJP_SHAPE,
    when=lambda facts: facts["rest"] == "",
    title="A cotangent that does not fit the output",
    what="`{x}` is {g1}, and the output is {g2}[{g3}].",
    why="The pullback takes one number for each number of the output: how much each counts.",
    fixes="Give the output's shape and dtype, such as `{jnp}.ones_like` of the output.",
)

_jvp = partial(
    entry,
    primals=probes.argument(1, "primals"),
    tangents=probes.argument(2, "tangents"),
    x=probes.one_of(probes.fact("tangent"), probes.fact("tangents")),
    when=probes.calls("jvp"),
    why="A tangent is a small change of its primal, so both have one shape and one dtype.",
    link=f"{error_texts.API}/jax.jvp.html",
)
_jvp(
    "tangent_shape",
    structure_texts.JVP_SHAPES,
    pairs=lambda facts: zip(facts["primals"].items, facts["tangents"].items, strict=False),
    tangent=lambda facts: next((one for of, one in facts["pairs"] if of.shape != () and one.shape == ()), None),
    title="A tangent of another shape than its primal",
    what="The primal has shape {g1}, and the tangent has shape {g2}.",
    fixes="Give tangents of the primals' shapes, such as `{jnp}.ones_like(primal)`.",
)
_jvp(
    "tangent_dtype",
    error_texts.JVP_DTYPE,
    tangent=lambda facts: next((one for one in facts["tangents"].items if isinstance(one.value_or_missing, int)), None),
    title="A tangent of another dtype than its primal",
    fixes=Swap("Give floats.", tangent="float({x})"),
    otherwise="Give tangents of the primals' dtypes.",
)
_jvp(
    "tangent_parts",
    structure_texts.JVP_TREES,
    x=probes.fact("tangents"),
    title="Tangents whose parts are not those of the primals",
    what="`{x}` is given for `{primals}`.",
    why="There is one tangent for each primal, in the same containers with the same keys.",
    fixes="Give a tangent for every part; zeros for one that does not change.",
)
_jvp(
    "jvp_without_tuples",
    error_texts.JVP_CONTAINER,
    x=probes.fact("primals"),
    title="`jax.jvp` was not given tuples",
    what="`{x}` is not a tuple.",
    why="A function may have several arguments, so `jax.jvp` takes all primals in one tuple, all tangents in another.",
    fixes="Put all primals into one tuple, and all tangents into another.",
)
