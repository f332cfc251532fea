"""Explain gradients that do not exist: of arrays, tuples and integers, and back through loops of unknown length."""

import ast
from typing import Any

from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import TRANSFORMS

_GRAD = f"{texts.API}/jax.grad.html"
_LOOPS = ("while_loop", "fori_loop")


def _has_own_rule(facts: Facts) -> bool:
    """Ask whether the function has a rule of its own, whose result counts, and not that of the function."""
    return hasattr(facts.value("x"), "defvjp")


def _is_grad(facts: Facts) -> bool:
    """Ask whether `jax.grad` made the function, and not `jax.value_and_grad` or another one."""
    return called(facts.node("made")) == "grad"


def _is_grad_without_options(facts: Facts) -> bool:
    """Ask whether `jax.grad(f)` or the like is given the function alone."""
    return len(facts.node("made").args) == 1 and not facts.node("made").keywords


_GRADIENT: dict[str, Any] = {
    "made": probes.made_by(*TRANSFORMS),
    "maker": lambda facts: facts.node("made").func,
    "module": lambda facts: str(facts["maker"]).rpartition(".")[0] or facts["jax"],
    "x": probes.argument(0, "fun", of="made"),
    "at": probes.argument(0),
    "body": probes.definition(probes.argument(0, "fun", of="made")),
    "result": probes.result_of("body"),
    "link": _GRAD,
}


# A result that is not one number.


def _is_one_number(facts: Facts) -> bool:
    """Ask whether the result is an array of one entry."""
    return set(facts["g1"]) <= set("(1, )")


entry(
    "gradient_of_many",
    texts.GRAD_SHAPE,
    when=probes.unless(_has_own_rule),
    aux=probes.keyword("has_aux", of="made"),
    first=lambda facts: "first result" if facts.knows("aux") else None,
    loss=lambda facts: facts["result"].items[0] if facts.knows("aux") else facts["result"],
    title="A gradient of more than one number",
    what=("The {first} of `{x}` has shape {g1} here.", "`{x}` returns an array of shape {g1} here."),
    why="A gradient says how one number changes; a result of shape {g1} is not one number of shape ().",
    fixes=[
        Either(
            Swap("Take the one number out of its array.", when=_is_one_number, loss="{jnp}.squeeze({loss})"),
            Swap("Reduce the result to one number: a loss is a sum or a mean.", loss="{jnp}.sum({loss})"),
        ),
        Swap(
            "Ask for every derivative of every output: the Jacobian.",
            when=lambda facts: _is_grad(facts) and not facts.knows("aux"),
            maker="{module}.jacobian",
        ),
    ],
    **_GRADIENT,
)


# A result of several parts, or none.


_HAS_AUX = (
    "If the first is the loss and the rest is extra: say so with `has_aux=True`. Then the extra comes back with the "
    "gradient."
)
entry(
    "gradient_of_none",
    texts.GRAD_OUTPUT,
    when=[lambda facts: facts["g1"] == "None", probes.returns_nothing("body"), probes.unless(_has_own_rule)],
    title="A gradient of a function that returns nothing",
    what="`{x}` ends without `return`, so it gives None.",
    why="`jax.grad` differentiates what the function returns.",
    fixes="Return the value.",
    **_GRADIENT,
)
entry(
    "gradient_of_tuple",
    texts.GRAD_OUTPUT,
    when=[lambda facts: facts["g1"][0] in "{[(", probes.unless(_has_own_rule)],
    gradient=lambda facts: "gradient, aux" if _is_grad(facts) else "(value, aux), gradient",
    title="A gradient of several things",
    what="`{x}` returns more than one value.",
    why="A gradient says how one number changes.",
    fixes=[
        Either(
            Words(
                "Return the loss alone; or return it first, then the dict, and say `has_aux=True`.",
                when=lambda facts: facts["g1"].startswith("{"),
            ),
            Code(_HAS_AUX, "{gradient} = {maker}({x}, has_aux=True)({given})", when=_is_grad_without_options),
            _HAS_AUX,
        ),
        Swap(
            "Return the loss alone.",
            when=lambda facts: isinstance(facts.node("result"), ast.Tuple) and facts["result"].count > 1,
            result="{result.items[0]}",
        ),
    ],
    **_GRADIENT,
)


# A result of another kind of numbers.


entry(
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
            when=_is_grad_without_options,
            x="{x}, holomorphic=True",
            at="{jnp}.asarray({at}, complex)",
        ),
    ],
    **_GRADIENT,
)
entry(
    "gradient_integer_result",
    texts.GRAD_INTEGER_OUT,
    title="A gradient of an integer",
    what="`{x}` returns {g1} here.",
    why="An integer changes in jumps: its derivative is zero or does not exist.",
    fixes=[
        "Use a smooth function in its place, such as a mean weighted by softmax.",
        Swap("Make it a float: its gradient is then zero everywhere.", result="{result.atom}.astype(float)"),
    ],
    **_GRADIENT,
)
entry(
    "argnums_too_large",
    texts.GRAD_ARGNUMS,
    x=probes.argument(1, "argnums", of="made"),
    variable="argnums",
    when=lambda facts: facts["g2"] != "0",
    made=probes.made_by(*TRANSFORMS),
    of=probes.argument(0, "fun", of="made"),
    last=lambda facts: int(facts["g2"]) - 1,
    one=lambda facts: "argument" if facts["g2"] == "1" else None,
    title="`argnums` names an argument that is not there",
    what=(
        "`{of}` is called with 1 positional {one}: its number is 0.",
        "`{of}` is called with {g2} positional arguments, 0 to {last}.",
    ),
    why="Arguments are counted from 0, and those given by keyword do not count.",
    fixes=Swap("Give the number of an argument that is there.", x="{last}"),
    link=_GRAD,
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


def _unknown_bound(facts: Facts) -> Part | None:
    """Look at the one bound of `lax.fori_loop` that is a name; None if both may be traced."""
    bounds = [facts["loop"].inside(one) for one in facts.node("loop").args[:2] if isinstance(one, ast.Name)]
    return bounds[0] if len(bounds) == 1 else None


def _static_count(facts: Facts) -> Fix | None:
    """Make the bound of a loop static, in the source of a function that has already returned."""
    x = facts["x"]
    function = x.source.function(x.node)
    if facts.knows("while_loop") or function is None or str(x) not in [one.arg for one in function.args.args]:
        return None
    edits = static_edits(facts.scene, x.source, function, str(x))
    return facts.scene.fix(f"Make `{x}` static: then the number of turns is known.", *edits)


_FORWARD = Swap(
    "Go forward, which needs no memory of the turns: good for few inputs.", when=_is_grad, maker="{module}.jacfwd"
)
_REVERSE: dict[str, Any] = {
    **{name: _GRADIENT[name] for name in ("made", "maker", "module")},
    "title": "A gradient back through a loop of unknown length",
    "why": "Going back needs what every turn computed, and how many turns there are is not known when JAX sets aside "
    "the room.",
    "otherwise": ["Let the number of turns be known: with both bounds static, JAX can go back through the loop."],
    "link": f"{texts.API}/jax.lax.while_loop.html",
}
entry(
    "reverse_through_while",
    texts.REVERSE_WHILE,
    x=probes.one_of(probes.argument(2, "init_val", of="while_loop"), _unknown_bound),
    line="loop",
    loop=_loop_before,
    while_loop=lambda facts: facts["loop"] if called(facts.node("loop")) == "while_loop" else None,
    go=probes.argument(0, "cond_fun", of="while_loop"),
    turn=probes.argument(1, "body_fun", of="while_loop"),
    looped=lambda facts: facts["loop"].inside(facts.node("loop").func),
    what="`{x}` decides how often the loop of `{looped}` turns.",
    fixes=[
        Swap(
            "Give a largest number of turns (here 100), and do nothing in those that are too many.",
            loop="{lax}.fori_loop(0, 100, lambda _, c: {lax}.cond({go.atom}(c), {turn.atom}, lambda c: c, c), {x})",
        ),
        _static_count,
        _FORWARD,
    ],
    **_REVERSE,
)
entry(
    "reverse_through_while",
    texts.REVERSE_WHILE,
    x=probes.one_of(_loop_before, probes.node),
    line="x",
    variable=None,
    what="",
    fixes=[_FORWARD],
    **_REVERSE,
)
