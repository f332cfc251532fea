"""Explain gradients back through loops whose length is not known."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.lines import Line
from jaxguide.code.user_frame import Spot
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import transformation


@explains(error_texts.REVERSE_WHILE)
def reverse_through_while(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` through `lax.while_loop`, or `lax.fori_loop` with a traced count."""
    loop = _loop_before(scene)
    spot, call = loop if loop is not None else (scene.spot, None)
    outer = scene.call()
    fixes: list[Fix | None] = []
    name, line = None, scene.spot.line
    if call is not None and spot.source is not None:
        line = Line(spot.line.file, spot.source.start(call)[0])
        quote = spot.source.quote
        if called(call) == "while_loop":
            go, turn, start = (argument_of(call, i, n) for i, n in enumerate(("cond_fun", "body_fun", "init_val")))
            if go is not None and turn is not None and start is not None:
                name = quote(start)
                step = f"{scene.lax}.cond({_called(quote(go), 'c')}, {_function(quote(turn))}, lambda c: c, c)"
                text = f"{scene.lax}.fori_loop(0, 100, lambda _, c: {step}, {quote(start)})"
                fixes.append(
                    scene.fix(
                        _("Give a largest number of turns (here 100), and do nothing in those that are too many."),
                        spot.source.replace(call, text),
                    )
                )
        else:
            stop = argument_of(call, 1, "upper")
            if stop is not None:
                name = quote(stop)
                fixes.append(_static_count(scene, spot, stop, name))
    made = transformation(scene, outer) if outer is not None else None
    if made is not None and called(made) == "grad":
        base = scene.quote(made.func).removesuffix("grad")
        fixes.append(
            scene.fix(
                _("Go forward, which needs no memory of the turns: good for few inputs."),
                scene.source.replace(made.func, f"{base or scene.jax + '.'}jacfwd"),
            )
        )
    text = "lax.while_loop" if call is None else spot.quote(call.func)
    return scene.explanation(
        "reverse_through_while",
        title=_("A gradient back through a loop of unknown length"),
        what=_("`{name}` decides how often the loop of `{loop}` turns.").format(name=name, loop=text) if name else "",
        variable=name,
        why=_(
            "Going back needs what every turn computed, and how many turns there are is not known when JAX sets "
            "aside the room."
        ),
        fixes=fixes,
        link=f"{error_texts.API}/jax.lax.while_loop.html",
        line=line,
    )


def _static_count(scene: Scene, spot: Spot, stop: ast.expr, name: str) -> Fix | None:
    """Return the fix that makes a loop's count static, found by the frame that was left long ago."""
    if spot.source is None or not isinstance(stop, ast.Name):
        return None
    function = spot.source.function(stop)
    if function is None or name not in [a.arg for a in function.args.args]:
        return None
    edits = static_edits(scene, spot.source, function, name)
    sentence = _("Make `{name}` static: then the number of turns is known.").format(name=name)
    return scene.fix(sentence, *edits) if edits else None


def _loop_before(scene: Scene) -> tuple[Spot, ast.Call] | None:
    """Return the loop that was recorded before it was transformed: JAX keeps its traceback as the cause."""
    cause = scene.error.__cause__
    while cause is not None:
        before = Scene(cause)
        for spot in reversed(before.spots):
            call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
            if call is not None and called(call) in ("while_loop", "fori_loop"):
                return spot, call
            named = _named_at(spot)
            if named is not None:
                return spot, named
        cause = cause.__cause__
    return None


def _named_at(spot: Spot) -> ast.Call | None:
    """Return the loop on a line, for tracebacks that know the line but not the place on it."""
    if spot.source is None:
        return None
    for call in spot.source.calls():
        if called(call) in ("while_loop", "fori_loop") and call.lineno <= spot.line.number <= (call.end_lineno or 0):
            return call
    return None


def _called(function: str, argument: str) -> str:
    return f"({function})({argument})" if function.startswith("lambda") else f"{function}({argument})"


def _function(text: str) -> str:
    return f"({text})" if text.startswith("lambda") else text
