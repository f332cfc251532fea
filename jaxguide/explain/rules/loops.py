"""Explain `lax.scan`, `lax.while_loop`, `lax.fori_loop`: bodies and conditions of another form, lengths."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.carries import BODY, LOOPS
from jaxguide.explain.rules.loop_results import forgotten_return
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, parameters, returned

_SCAN = f"{error_texts.API}/jax.lax.scan.html"


@explains(error_texts.SCAN_PAIR)
def scan_without_pair(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a scan body that returns the carry alone."""
    call = scene.call()
    body = argument_of(call, 0, "f") if call is not None else None
    place = function_behind(scene.spot, body)
    if call is None or place is None or body is None:
        return None
    source, function = place
    result = returned(function)
    if result is None:
        return forgotten_return(scene, call, body, source, function)
    text = source.quote(result)
    lambda_body = isinstance(function, ast.Lambda)
    return scene.explanation(
        "scan_pair",
        title=_("A scan step returns two things"),
        what=_("`{name}` returns `{text}` alone.").format(name=scene.quote(body).split(":")[0], text=text),
        variable=scene.quote(body) if not lambda_body else text,
        why=_("`lax.scan` takes from each turn the carry for the next, and an output to stack, which may be None."),
        fixes=[
            scene.fix(
                _("Return the carry and no output."),
                source.replace(result, f"({text}, None)" if lambda_body else f"{text}, None"),
            ),
            scene.fix(
                _("Keep every turn's value too."),
                source.replace(result, f"({text}, {text})" if lambda_body else f"{text}, {text}"),
            ),
        ],
        link=_SCAN,
    )


@explains(error_texts.SCAN_LENGTH, error_texts.SCAN_NO_LENGTH, error_texts.SCAN_SIZES)
def scan_length(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a scan whose length is given twice, or not at all, or differs from array to array."""
    call = scene.call()
    if call is None or called(call) != "scan":
        return None
    xs = argument_of(call, 2, "xs")
    length = next((k for k in call.keywords if k.arg == "length"), None)
    text = scene.quote(xs) if xs is not None else "None"
    fixes: list[Fix | None] = []
    if length is not None and xs is not None:
        rest = [scene.quote(a) for a in call.args]
        rest += [f"{k.arg}={scene.quote(k.value)}" for k in call.keywords if k is not length]
        new = f"{scene.quote(call.func)}({', '.join(rest)})"
        fixes.append(scene.fix(_("Leave `length` out: the arrays say it."), scene.source.replace(call, new)))
        what = _("`{name}` has another length than `length={length}`.").format(
            name=text, length=scene.quote(length.value)
        )
        why = _("`lax.scan` takes one turn for each entry, so the length says nothing new.")
        variable = "length"
    elif found.re is error_texts.SCAN_SIZES.text and xs is not None:
        what = _("The arrays in `{name}` have {first} and {second} entries.").format(
            name=text, first=found[1], second=found[2]
        )
        why = _("`lax.scan` takes one entry of each array per turn, so all have the same length.")
        fewest = min(int(found[1]), int(found[2]))
        new = f"{scene.jax}.tree.map(lambda a: a[:{fewest}], {text})"
        fixes.append(scene.fix(_("Cut them to one length."), scene.source.replace(xs, new)))
        variable = text
    else:
        what = _("`xs` is None and there is no `length`.")
        why = _("`lax.scan` must know how many turns there are: from arrays, or from `length`.")
        fixes.append(scene.fix(_("Say how many turns."), code=f"{scene.quote(call)[:-1]}, length=TURNS)"))
        variable = "length"
    return scene.explanation(
        "scan_length",
        title=_("A scan of no clear length"),
        what=what,
        variable=variable,
        why=why,
        fixes=fixes,
        link=_SCAN,
    )


@explains(error_texts.WHILE_CONDITION)
def while_condition(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop condition that is no boolean scalar."""
    call = scene.call()
    node = argument_of(call, 0, "cond_fun") if call is not None else None
    place = function_behind(scene.spot, node)
    if place is None:
        return None
    source, function = place
    result = returned(function)
    if result is None:
        return None
    text, atom = source.quote(result), source.atom(result)
    new = f"{atom} != 0" if not found[2] else f"{scene.jnp}.any({text})"
    return scene.explanation(
        "while_condition",
        title=_("A loop condition that is no single truth value"),
        what=_("`{text}` is {dtype}[{shape}].").format(text=text, dtype=found[1], shape=found[2]),
        variable=text,
        why=_("`lax.while_loop` asks one question before each turn: its answer is one bool, of shape ()."),
        fixes=[
            scene.fix(
                _("Compare, so that the result is a bool.") if not found[2] else _("Make one truth value of them."),
                source.replace(result, new),
            )
        ],
        link=f"{error_texts.API}/jax.lax.while_loop.html",
    )


@explains(error_texts.BODY_ARGUMENTS)
def body_arguments(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop body that takes another number of arguments than the loop gives."""
    call = scene.call()
    if call is None or called(call) not in LOOPS:
        return None
    node = argument_of(call, *BODY[called(call)])
    place = function_behind(scene.spot, node)
    if place is None or node is None:
        return None
    source, function = place
    own = parameters(function)
    if called(call) != "fori_loop" or len(own) != 1:
        return None
    bound = len(function.args.args) - len(own)  # Python counts the `self` of a method
    return scene.explanation(
        "loop_body_arguments",
        title=_("A loop body takes another number of arguments"),
        what=_("`{name}` takes {takes} and is given {given}.").format(
            name=found[1], takes=int(found[2]) - bound, given=int(found[3]) - bound
        ),
        variable=found[1],
        why=_("`lax.fori_loop` gives its body the number of the turn and the carry."),
        fixes=[scene.fix(_("Take the number of the turn first."), source.insert_before(own[0], "i, "))],
        link=f"{error_texts.API}/jax.lax.fori_loop.html",
    )
