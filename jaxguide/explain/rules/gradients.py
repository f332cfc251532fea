"""Explain derivatives that do not exist, and what `has_aux`, `jax.jvp` and the pullbacks of `jax.vjp` are given."""

import ast
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import TRANSFORMS, argnums

_LOOPS = ("while_loop", "fori_loop")


def _is_grad(facts: Facts) -> bool:
    """Ask whether `jax.grad` made the function, and not `jax.value_and_grad` or another one."""
    return called(facts.node("made")) == "grad"


_of_made = partial(
    entry,
    made=probes.made_by(*TRANSFORMS),
    maker=probes.function_of("made"),
    module=lambda facts: str(facts["maker"]).rpartition(".")[0] or facts["jax"],
    link=f"{texts.API}/jax.grad.html",
)
_gradient = partial(
    _of_made,
    x=probes.argument(0, "fun", of="made"),
    # The result of a rule of its own is not that of the function.
    when=lambda facts: not hasattr(facts.value("x"), "defvjp"),
    at=probes.argument(0),
    aux=probes.keyword("has_aux", of="made"),
    body=probes.definition(probes.argument(0, "fun", of="made")),
    result=probes.result_of("body"),
    why="A gradient says how one number changes.",
)

# A result that is not one number.
_gradient(
    "gradient_of_many",
    texts.GRAD_SHAPE,
    first=lambda facts: "first result" if facts.knows("aux") else None,
    loss=lambda facts: facts["result"].items[0] if facts.knows("aux") else facts["result"],
    title="A gradient of more than one number",
    what=("The {first} of `{x}` has shape {g1} here.", "`{x}` returns an array of shape {g1} here."),
    why="A gradient says how one number changes; a result of shape {g1} is not one number of shape ().",
    fixes=[
        Either(
            Swap(
                "Take the one number out of its array.",
                when=lambda facts: set(facts["g1"]) <= set("(1, )"),
                loss="{jnp}.squeeze({loss})",
            ),
            Swap("Reduce the result to one number: a loss is a sum or a mean.", loss="{jnp}.sum({loss})"),
        ),
        Swap(
            "Ask for every derivative of every output: the Jacobian.",
            when=lambda facts: _is_grad(facts) and not facts.knows("aux"),
            maker="{module}.jacobian",
        ),
    ],
)

# A result of several parts, or none.
_gradient(
    "gradient_of_none",
    texts.GRAD_OUTPUT,
    when=[lambda facts: facts["g1"] == "None", probes.returns_nothing("body")],
    title="A gradient of a function that returns nothing",
    what="`{x}` ends without `return`, so it gives None.",
    why="`jax.grad` differentiates what the function returns.",
    fixes="Return the value.",
)
_gradient(
    "gradient_of_tuple",
    texts.GRAD_OUTPUT,
    when=lambda facts: facts["g1"][0] in "{[(" and not hasattr(facts.value("x"), "defvjp"),
    title="A gradient of several things",
    what="`{x}` returns more than one value.",
    fixes=[
        Either(
            Words(
                "Return the loss alone; or return it first, then the dict, and say `has_aux=True`.",
                when=lambda facts: facts["g1"].startswith("{"),
            ),
            "If the first is the loss and the rest is extra: say so with `has_aux=True`. Then the extra comes back "
            "with the gradient.",
        ),
        Swap(
            "Return the loss alone.",
            when=lambda facts: isinstance(facts.node("result"), ast.Tuple) and facts["result"].count > 1,
            result="{result.items[0]}",
        ),
    ],
)

# A result of another kind of numbers.
_gradient(
    "gradient_complex",
    texts.GRAD_COMPLEX,
    title="A gradient of a complex number",
    what="`{x}` returns a complex number here.",
    why="A complex result is two real ones, so it has two gradients, unless the function is holomorphic.",
    fixes=[
        Swap(
            "Differentiate one real number made of it, such as its size or its real part.", result="{jnp}.abs({result})"
        ),
        Swap(
            "For a holomorphic function, say so, and give a complex argument.",
            when=lambda facts: not facts.node("made").keywords,
            x="{x}, holomorphic=True",
            at="{jnp}.asarray({at}, complex)",
        ),
    ],
)
_gradient(
    "gradient_integer_result",
    texts.GRAD_INTEGER_OUT,
    title="A gradient of an integer",
    what="`{x}` returns {g1} here.",
    why="An integer changes in jumps: its derivative is zero or does not exist.",
    fixes="Use a smooth function in its place, such as a mean weighted by softmax; that of a float made of it is 0.",
)
_of_made(
    "argnums_too_large",
    texts.GRAD_ARGNUMS,
    x=probes.argument(1, "argnums", of="made"),
    variable="argnums",
    when=lambda facts: facts["g2"] != "0",
    of=probes.argument(0, "fun", of="made"),
    last=lambda facts: int(facts["g2"]) - 1,
    count=probes.counted("g2", "positional argument", "positional arguments"),
    title="`argnums` names an argument that is not there",
    what="`{of}` is called with {count}, and the number of the last one is {last}.",
    why="Arguments are counted from 0, and those given by keyword do not count.",
    fixes=Swap("Give the number of an argument that is there.", x="{last}"),
)


# Back through a loop.


def _loop_before(facts: Facts) -> Part | None:
    """Look at the loop that was traced before it was transformed: JAX keeps that traceback as the cause."""
    cause = facts.scene.error.__cause__
    while cause is not None:
        for spot in reversed(Scene(cause).spots):
            calls = [one for one in spot.source.calls() if called(one) in _LOOPS] if spot.source else []
            here = [one for one in calls if one.lineno <= spot.line.number <= (one.end_lineno or 0)]
            if here and spot.source is not None:
                return Part(max(here, key=lambda one: one.lineno), spot.source, facts.scene)
        cause = cause.__cause__
    return None


def _static_count(facts: Facts) -> Fix | None:
    """Make the bound of a loop static, in the source of a function that has already returned."""
    x = facts["x"]
    function = x.source.function(x.node)
    if facts.knows("while_loop") or function is None or str(x) not in [one.arg for one in function.args.args]:
        return None
    edits = static_edits(facts.scene, x.source, function, str(x))
    return facts.scene.fix(f"Make `{x}` static: then the number of turns is known.", *edits)


_reverse = partial(
    _of_made,
    "reverse_through_while",
    texts.REVERSE_WHILE,
    title="A gradient back through a loop of unknown length",
    why="Going back needs what every turn computed, and how many turns there are is not known when JAX sets aside "
    "the room.",
    otherwise="Let the number of turns be known: with both bounds static, JAX can go back through the loop.",
    link=f"{texts.API}/jax.lax.while_loop.html",
)
_FORWARD = Swap(
    "Go forward, which needs no memory of the turns: good for few inputs.", when=_is_grad, maker="{module}.jacfwd"
)
_reverse(
    x=probes.one_of(probes.argument(2, "init_val", of="while_loop"), probes.fact("bound")),
    # The only bound of `lax.fori_loop` that is a name; if both are, either may be traced.
    bounds=lambda facts: [one for one in facts.node("loop").args[:2] if isinstance(one, ast.Name)],
    bound=lambda facts: facts["loop"].inside(facts["bounds"][0]) if len(facts["bounds"]) == 1 else None,
    line="loop",
    loop=_loop_before,
    while_loop=lambda facts: facts["loop"] if called(facts.node("loop")) == "while_loop" else None,
    go=probes.argument(0, "cond_fun", of="while_loop"),
    turn=probes.argument(1, "body_fun", of="while_loop"),
    looped=probes.function_of("loop"),
    what="`{x}` decides how often the loop of `{looped}` turns.",
    fixes=[
        Swap(
            "Give a largest number of turns (here 100), and do nothing in those that are too many.",
            loop="{lax}.fori_loop(0, 100, lambda _, c: {lax}.cond({go.atom}(c), {turn.atom}, lambda c: c, c), {x})",
        ),
        _static_count,
        _FORWARD,
    ],
)
_reverse(x=probes.one_of(_loop_before, probes.node), line="x", variable=None, what="", fixes=_FORWARD)


# Derivatives with respect to integers: numbers, leaves of trees, indices and random keys.


def _is_integer(leaf: Any) -> bool:
    if is_array(leaf):
        return bool(jax.dtypes.issubdtype(leaf.dtype, np.integer) or leaf.dtype == bool)
    return isinstance(leaf, int)


def _integers(facts: Facts) -> Part | None:
    """Look at the argument that holds integers, or at the only one that may: its value is not known."""
    given = [facts.at(one) for one in facts.call().args]
    is_made = facts.knows("made")
    numbers = argnums(facts.node("made")) if is_made else range(len(given))
    parts = [given[number] for number in numbers if number < len(given)]
    unknown = [one for one in parts if one.value_or_missing is MISSING]
    whole = [one for one in parts if one not in unknown and any(map(_is_integer, jax.tree.leaves(one.value)))]
    if not is_made:
        return whole[0] if len(whole) == 1 and not unknown else None
    return whole[0] if whole else unknown[0] if len(unknown) == 1 else None


def _is_key(facts: Facts) -> bool:
    """Ask whether the argument is a random key, also one of the old style, which is an array of integers."""
    x, value = facts["argument"], facts.value("argument")
    made = isinstance(x.node, ast.Call) and facts.scene.spot.value(x.node.func) is jax.random.PRNGKey
    is_raw = is_array(value) and value.dtype == np.uint32 and value.shape == (2,)
    return "key" in facts.found.groups() or made or is_raw


def _leaf(facts: Facts) -> Part:
    """Look at the first integer in the containers that a name holds, or at the argument itself."""
    is_named = probes.is_written("argument", ast.Name, ast.Attribute)(facts)
    return (probes.leaf(_is_integer, of="argument")(facts) if is_named else None) or facts.part("argument")


_by_integers = partial(
    _of_made,
    argument=_integers,
    x=_leaf,
    number=lambda facts: facts.call().args.index(facts.node("argument")),
    known=lambda facts: facts["x"].is_here if is_array(facts.value("x")) else None,
    int=lambda facts: "an int" if isinstance(facts.value("x"), int) else None,
    title="A derivative with respect to integers",
    what=("{known}", "`{x}` is {int} here.", "`{x}` holds integers."),
    why="A derivative asks what a small change does, and an integer cannot change by a little.",
)
_by_integers(
    "gradient_of_a_key",
    texts.GRAD_INTEGER,
    texts.JACOBIAN_INTEGER,
    x=_integers,
    when=[_is_key, lambda facts: len(facts.call().args) > 1],
    title="A derivative with respect to a key",
    what="`{x}` is a key here.",
    why="A derivative asks what a small change does, and a key cannot change by a little.",
    fixes="Differentiate with respect to another argument: `argnums` takes its number, counted from 0.",
)
_by_integers(
    "gradient_of_integers",
    texts.GRAD_INTEGER,
    texts.JACOBIAN_INTEGER,
    when=[probes.unless(_is_key), probes.unless(probes.is_valued("x", bool))],
    fixes=[
        Swap("Give floats.", when=probes.is_written("x", ast.Constant), x="{x}.0"),
        Words(
            "Arguments are counted from 0, and `{argument}` is number {number}: give `argnums` the number of another "
            "one.",
            when=lambda facts: len(facts.call().args) > 1,
        ),
        Words(
            "Or take `{x}` out, and pass it as an argument of its own, which is not differentiated.",
            when=lambda facts: bool(facts["x"].path),
        ),
        Words(
            "If these are quantities, not indices or sizes: give floats.",
            when=probes.unless(probes.is_written("x", ast.Constant)),
        ),
    ],
)

# What `has_aux`, `jax.jvp` and the pullbacks of `jax.vjp` are given.
_of_made(
    "aux_without_pair",
    structure_texts.AUX_PAIR,
    x=probes.result_of("body"),
    line="x",
    variable="{of}",
    of=probes.argument(0, "fun", of="made"),
    body=probes.definition(probes.argument(0, "fun", of="made")),
    pair=probes.first_and_rest("x"),
    title="`has_aux=True` for a function that does not return a pair",
    what="`{of}` returns `{x}`.",
    why="With `has_aux`, the function returns exactly two things: the number to differentiate, and the rest.",
    fixes=Swap("Put all but the loss into one tuple.", when=lambda facts: facts["x"].count > 2, x="{pair}"),
    otherwise="Leave `has_aux=True` out, or return the loss and what comes with it: `return loss, aux`.",
)


_pullback = partial(entry, x=probes.argument(0), link=f"{texts.API}/jax.vjp.html")
_pullback(
    "pullback_tree",
    structure_texts.PULLBACK_TREE,
    when=lambda facts: facts["rest"] == "",
    was=lambda facts: "one array" if "leaf" in facts["g2"] else f"a {facts['g2']}".replace("'>", ""),
    title="A pullback needs one cotangent for each part of the output",
    what="`{x}` is given, where the function returned {was}.",
    why="The pullback takes one cotangent for each output, in the same containers as the output.",
    fixes=[
        "Give one cotangent for each part of the output, such as `{jax}.tree.map({jnp}.ones_like, output)`. Ones "
        "differentiate the sum of all its entries; zeros leave a part out.",
        "If the output is a pair, and only its first part is to be differentiated: `{jax}.vjp(..., has_aux=True)`.",
    ],
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
    texts.VJP_SHAPE,
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
    x=probes.fact("tangents"),
    when=probes.calls("jvp"),
    why="There is one tangent for each primal, a small change of it: in the same containers, of one shape and dtype.",
    link=f"{texts.API}/jax.jvp.html",
)
_jvp(
    "tangent_shape",
    structure_texts.JVP_SHAPES,
    pairs=lambda facts: zip(facts["primals"].items, facts["tangents"].items, strict=False),
    scalar=lambda facts: next((one for of, one in facts["pairs"] if of.shape != () and one.shape == ()), None),
    x=probes.one_of(probes.fact("scalar"), probes.fact("tangents")),
    title="A tangent of another shape than its primal",
    what="The primal has shape {g1}, and the tangent has shape {g2}.",
    fixes="Give tangents of the primals' shapes, such as `{jnp}.ones_like(primal)`.",
)
_jvp(
    "tangent_dtype",
    texts.JVP_DTYPE,
    int=lambda facts: next((one for one in facts["tangents"].items if isinstance(one.value_or_missing, int)), None),
    x=probes.one_of(probes.fact("int"), probes.fact("tangents")),
    title="A tangent of another dtype than its primal",
    fixes="Give tangents of the primals' dtypes: floats for floats.",
)
_jvp(
    "tangent_parts",
    structure_texts.JVP_TREES,
    title="Tangents whose parts are not those of the primals",
    what="`{x}` is given for `{primals}`.",
    fixes="Give a tangent for every part; zeros for one that does not change.",
)
_jvp(
    "jvp_without_tuples",
    texts.JVP_CONTAINER,
    x=probes.fact("primals"),
    title="`jax.jvp` was not given tuples",
    what="`{x}` is not a tuple.",
    why="A function may have several arguments, so `jax.jvp` takes all primals in one tuple, all tangents in another.",
    fixes="Put all primals into one tuple, and all tangents into another.",
)
