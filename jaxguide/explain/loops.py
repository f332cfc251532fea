"""Explain `lax.scan`, `lax.while_loop`, `lax.fori_loop`: carries that change, bodies of another form, gradients."""

import ast
import re

from jaxguide.explain import phrases
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, returned
from jaxguide.text import _

_SCAN = f"{phrases.API}/jax.lax.scan.html"
_LOOPS = ("scan", "while_loop", "fori_loop")
# Which argument of each is the function of one turn, by position and name, and which the start.
_BODY = {"scan": (0, "f"), "while_loop": (1, "body_fun"), "fori_loop": (2, "body_fun")}
_START = {"scan": (1, "init"), "while_loop": (2, "init_val"), "fori_loop": (3, "init_val")}


@explains(phrases.CARRY_TYPE)
def carry_changes_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry comes out with another dtype or shape."""
    call = scene.call()
    if call is None or called(call) not in _LOOPS:
        return None
    types = phrases.CARRY_TYPES.search(scene.message)
    start = argument_of(call, *_START[called(call)])
    if types is None or start is None:
        return None
    name, dtype, shape, new_dtype, new_shape = types.groups()
    text = scene.quote(start)
    fixes: list[Fix | None] = []
    single = "[" not in name and "." not in name and not isinstance(start, ast.Tuple | ast.List | ast.Dict)
    if shape == new_shape and single:
        title = _("A carry that changes its dtype")
        fixes.append(
            scene.fix(
                _("Start with the dtype that a turn gives."),
                scene.source.replace(start, f"{scene.jnp}.asarray({text}, {scene.jnp}.{new_dtype})"),
            )
        )
        fixes.append(_cast_result(scene, call, dtype))
    else:
        title = _("A carry that changes its shape")
        fixes.append(_collect(scene, call))
        if single and shape in ("", "1") and new_shape and not any(fixes):
            size = f"({new_shape},)" if "," not in new_shape else f"({new_shape})"
            fixes.append(
                scene.fix(
                    _("Start with the shape that a turn gives."),
                    scene.source.replace(
                        start, f"{scene.jnp}.broadcast_to({scene.jnp}.asarray({text}, {scene.jnp}.{new_dtype}), {size})"
                    ),
                )
            )
        if not any(fixes):
            fixes.append(
                scene.fix(
                    _("Start at full size, and fill in one place in each turn."),
                    code=f"{name} = {name}.at[i].set(value)",
                )
            )
    return scene.explanation(
        "carry_type",
        title=title,
        what=_("`{name}` goes in as {old} and comes out as {new}.").format(
            name=name, old=f"{dtype}[{shape}]", new=f"{new_dtype}[{new_shape}]"
        ),
        variable=name,
        why=_("One turn is compiled once and used for all, so what comes out must fit what goes in."),
        fixes=fixes,
        link=_SCAN,
    )


@explains(phrases.CARRY_STRUCTURE)
def carry_changes_structure(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry comes out with more or fewer parts."""
    call = scene.call()
    if call is None or called(call) not in _LOOPS:
        return None
    body = argument_of(call, *_BODY[called(call)])
    place = function_behind(scene.spot, body)
    if place is None or body is None:
        return None
    source, function = place
    result = returned(function)
    names = [a.arg for a in function.args.args]
    carry = names[1] if called(call) == "fori_loop" and len(names) > 1 else names[0]
    out = result.elts[0] if called(call) == "scan" and isinstance(result, ast.Tuple) and result.elts else result
    fixes: list[Fix | None] = []
    if called(call) == "scan" and isinstance(result, ast.Tuple) and isinstance(out, ast.Tuple | ast.List) and out.elts:
        extra = ", ".join(source.quote(e) for e in out.elts[1:])
        given = extra if len(out.elts) == 2 else f"({extra})"
        fixes.append(
            scene.fix(
                _("Keep the carry as it came, and give the rest as the output of the turn."),
                source.replace(result, f"{source.quote(out.elts[0])}, {given}"),
            )
        )
    start = argument_of(call, *_START[called(call)])
    if not any(fixes) and start is not None:
        fixes.append(
            scene.fix(
                _("Give the start the same parts as what a turn returns."), code=f"{scene.quote(start)} -> {carry}"
            )
        )
    return scene.explanation(
        "carry_structure",
        title=_("A carry that changes its parts"),
        what=_("`{name}` goes in with other parts than `{text}`, which comes out.").format(
            name=carry, text=source.quote(out) if out is not None else "..."
        ),
        variable=carry,
        why=_("What one turn returns as carry is what the next one takes, so both have the same parts."),
        fixes=fixes,
        link=_SCAN,
    )


@explains(phrases.SCAN_PAIR)
def scan_without_pair(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a scan body that returns the carry alone."""
    call = scene.call()
    body = argument_of(call, 0, "f") if call is not None else None
    place = function_behind(scene.spot, body)
    if place is None or body is None:
        return None
    source, function = place
    result = returned(function)
    if result is None:
        return None
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


@explains(phrases.SCAN_LENGTH, phrases.SCAN_NO_LENGTH, phrases.SCAN_SIZES)
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
    elif found.re is phrases.SCAN_SIZES.text and xs is not None:
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


@explains(phrases.WHILE_CONDITION)
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
        link=f"{phrases.API}/jax.lax.while_loop.html",
    )


@explains(phrases.BODY_ARGUMENTS)
def body_arguments(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop body that takes another number of arguments than the loop gives."""
    call = scene.call()
    if call is None or called(call) not in _LOOPS:
        return None
    node = argument_of(call, *_BODY[called(call)])
    place = function_behind(scene.spot, node)
    if place is None or node is None:
        return None
    source, function = place
    if called(call) != "fori_loop" or len(function.args.args) != 1:
        return None
    first = function.args.args[0]
    return scene.explanation(
        "loop_body_arguments",
        title=_("A loop body takes another number of arguments"),
        what=_("`{name}` takes {takes} and is given {given}.").format(name=found[1], takes=found[2], given=found[3]),
        variable=found[1],
        why=_("`lax.fori_loop` gives its body the number of the turn and the carry."),
        fixes=[scene.fix(_("Take the number of the turn first."), source.insert_before(first, "i, "))],
        link=f"{phrases.API}/jax.lax.fori_loop.html",
    )


def _cast_result(scene: Scene, call: ast.Call, dtype: str) -> Fix | None:
    """Return the fix that gives a turn's result the dtype that it came with."""
    place = function_behind(scene.spot, argument_of(call, *_BODY[called(call)]))
    result = returned(place[1]) if place is not None else None
    if place is None or result is None:
        return None
    out = result.elts[0] if called(call) == "scan" and isinstance(result, ast.Tuple) and result.elts else result
    return scene.fix(
        _("Give the result the dtype that went in."),
        place[0].replace(out, f"{place[0].atom(out)}.astype({scene.jnp}.{dtype})"),
    )


def _collect(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix for a carry that grows by `append` or `concatenate`: let scan stack the outputs."""
    place = function_behind(scene.spot, argument_of(call, *_BODY[called(call)]))
    result = returned(place[1]) if place is not None else None
    if called(call) != "scan" or place is None or not isinstance(result, ast.Tuple) or len(result.elts) != 2:
        return None
    grown, output = result.elts
    if not isinstance(grown, ast.Call) or called(grown) != "append" or len(grown.args) != 2:
        return None
    if not (isinstance(output, ast.Constant) and output.value is None):
        return None
    return scene.fix(
        _("Do not grow it: give the new entry as the turn's output, and `lax.scan` stacks the outputs."),
        place[0].replace(result, f"{place[0].quote(grown.args[0])}, {place[0].quote(grown.args[1])}"),
    )
