"""Explain gradients that do not exist: of arrays, tuples and integers, and back through loops of unknown length."""

import ast
import re

import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import Source
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rewrites.written_shapes import known_shape
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import (
    argnums,
    definition_of,
    function_behind,
    own_nodes,
    transformation,
)

_GRAD = f"{error_texts.API}/jax.grad.html"


@explains(error_texts.GRAD_SHAPE)
def gradient_of_many(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function whose result is not a scalar."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args or _has_own_rule(scene, made.args[0]):
        return None
    function = scene.quote(made.args[0])
    shape = found[1]
    place = definition_of(scene, made.args[0])
    aux = any(keyword.arg == "has_aux" for keyword in made.keywords)
    if aux and place is not None and isinstance(place[1], ast.Tuple) and place[1].elts:
        place = place[0], place[1].elts[0]
    fixes: list[Fix | None] = []
    one = shape.replace(",", "").replace(" ", "").strip("()").replace("1", "") == ""
    if place is not None:
        source, result = place
        text = source.quote(result)
        if one:
            fixes.append(
                scene.fix(
                    "Take the one number out of its array.",
                    source.replace(result, f"{scene.jnp}.squeeze({text})"),
                )
            )
        else:
            fixes.append(
                scene.fix(
                    "Reduce the result to one number: a loss is a sum or a mean.",
                    source.replace(result, f"{scene.jnp}.sum({text})"),
                )
            )
    if called(made) == "grad" and not aux:
        jacobian = scene.quote(made.func).removesuffix("grad") + "jacobian"
        fixes.append(
            scene.fix(
                "Ask for every derivative of every output: the Jacobian.",
                scene.source.replace(made.func, jacobian if "." in jacobian else f"{scene.jax}.jacobian"),
            )
        )
        if not one and len(outer.args) == 1 and not made.keywords and _has_shape(scene, outer.args[0], shape):
            fixes.append(
                scene.fix(
                    "If each output belongs to one input, one derivative for each.",
                    scene.source.replace(made, f"{scene.jax}.vmap({scene.quote(made)})"),
                )
            )
    return scene.explanation(
        "gradient_of_many",
        title="A gradient of more than one number",
        what=(
            "The first result of `{function}` has shape {shape} here."
            if aux
            else "`{function}` returns an array of shape {shape} here."
        ).format(function=function, shape=shape),
        variable=function,
        why=f"A gradient says how one number changes; a result of shape {shape} is not one number of shape ().",
        fixes=fixes,
        link=_GRAD,
    )


def _has_shape(scene: Scene, node: ast.expr, shape: str) -> bool:
    """Return whether an argument has the shape that JAX writes for the result, or is an array of unknown shape."""
    known = known_shape(scene, node)
    if known is not None:
        return known == tuple(int(size) for size in re.findall(r"\d+", shape))
    home = getattr(scene.spot.value(node.func), "__module__", None) if isinstance(node, ast.Call) else None
    return isinstance(home, str) and home.split(".")[0] == "jax"


@explains(error_texts.GRAD_OUTPUT)
def gradient_of_a_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns several values or none."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args or _has_own_rule(scene, made.args[0]):
        return None
    function = scene.quote(made.args[0])
    if found[1] == "None":
        return _of_nothing(scene, made.args[0])
    if found[1].startswith("{"):
        words = "Return the loss alone; or return it first, then the dict, and say `has_aux=True`."
        return _of_several(scene, function, [scene.advice(words)])
    if not found[1].startswith(("(", "[")):
        return None
    place = definition_of(scene, made.args[0])
    words = (
        "If the first is the loss and the rest is extra: say so with `has_aux=True`. Then the extra comes back with "
        "the gradient."
    )
    fixes: list[Fix | None] = [scene.fix(words, *_with_aux(scene, outer, made, place)) or scene.advice(words)]
    if place is not None and isinstance(place[1], ast.Tuple):
        source, result = place
        fixes.append(
            scene.fix("Return the loss alone.", source.replace(result, source.quote(result.elts[0])))  # type: ignore[attr-defined]
        )
    return _of_several(scene, function, fixes)


def _of_nothing(scene: Scene, node: ast.expr) -> Explanation | None:
    """Explain `jax.grad` of a function that ends without `return`."""
    place = function_behind(scene.spot, node)
    if place is None:
        return None
    source, definition = place
    given = [one for one in own_nodes(definition) if isinstance(one, ast.Return) and one.value is not None]
    if isinstance(definition, ast.Lambda) or given:  # what it returns is None
        return None
    last = definition.body[-1]
    edit: Edit | None = None
    if isinstance(last, ast.Expr) and _computes(last.value):
        edit = source.insert_before(last, "return ")
    elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        edit = source.insert_after(last, f"\n{source.indent(last)}return {last.targets[0].id}")
    function = scene.quote(node)
    return scene.explanation(
        "gradient_of_none",
        title="A gradient of a function that returns nothing",
        what=f"`{function}` ends without `return`, so it gives None.",
        variable=function,
        why="`jax.grad` differentiates what the function returns.",
        fixes=[scene.fix("Return the value.", edit, code="" if edit else "return value")],
        link=_GRAD,
    )


def _computes(node: ast.expr) -> bool:
    """Return whether an expression looks like a loss, and not like `print(...)` or `losses.append(...)`."""
    names = ("sum", "mean", "dot", "vdot", "norm", "max", "min", "prod", "logsumexp", "squeeze", "average")
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Name) or called(node) in names


def _with_aux(
    scene: Scene, outer: ast.Call, made: ast.Call, place: tuple[Source, ast.expr] | None
) -> list[Edit | None]:
    """Return the edits for `has_aux=True`: where it is said, in a result of three, and where the result is unpacked."""
    result = place[1] if place is not None else None
    if place is None or made.keywords or not isinstance(result, ast.Tuple) or len(result.elts) < 2:
        return [None]
    edits: list[Edit | None] = [scene.source.insert_after(made.args[-1], ", has_aux=True")]
    first, rest = place[0].quote(result.elts[0]), [place[0].quote(one) for one in result.elts[1:]]
    if len(rest) > 1:
        edits.append(place[0].replace(result, f"({first}, ({', '.join(rest)}))"))
    statement, name = scene.spot.statement, "aux"
    calls = [one for one in scene.source.calls() if ast.dump(one.func) == ast.dump(outer.func)]
    if isinstance(statement, ast.Expr) and statement.value is outer:
        return edits
    if not isinstance(statement, ast.Assign) or statement.value is not outer or len(calls) > 1:
        return [None]
    target = statement.targets[0]
    if called(made) == "value_and_grad" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        value = target.elts[0]
        edits.append(scene.source.replace(value, f"({scene.quote(value)}, {name})"))
    elif called(made) == "grad" and isinstance(target, ast.Name | ast.Attribute):
        edits.append(scene.source.replace(target, f"{scene.quote(target)}, {name}"))
    else:
        return [None]
    return edits


def _has_own_rule(scene: Scene, node: ast.expr) -> bool:
    """Return whether a function has a rule of its own, whose result counts, and not that of the function."""
    value = scene.spot.value(node)
    return value is not MISSING and hasattr(value, "defvjp")


def _of_several(scene: Scene, function: str, fixes: list[Fix | None]) -> Explanation | None:
    return scene.explanation(
        "gradient_of_tuple",
        title="A gradient of several things",
        what=f"`{function}` returns more than one value.",
        variable=function,
        why="A gradient says how one number changes.",
        fixes=fixes,
        link=_GRAD,
    )


@explains(error_texts.GRAD_COMPLEX)
def gradient_complex(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a complex result."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args:
        return None
    place = definition_of(scene, made.args[0])
    fixes: list[Fix | None] = []
    if place is not None:
        source, result = place
        fixes.append(
            scene.fix(
                "Differentiate one real number made of it, such as its size or its real part.",
                source.replace(result, f"{scene.jnp}.abs({source.quote(result)})"),
            )
        )
    position = argnums(made)[0]
    if position < len(outer.args):
        given = outer.args[position]
        edits = [scene.source.insert_after(made.args[-1], ", holomorphic=True") if not made.keywords else None]
        if _is_complex(scene, given):
            sentence = "For a holomorphic function, say so."
        else:
            sentence = "For a holomorphic function, say so, and give a complex argument."
            number, text = isinstance(scene.spot.value(given), int | float), scene.quote(given)
            new = f"complex({text})" if number else f"{scene.atom(given)}.astype(complex)"
            edits.append(scene.source.replace(given, new))
        fixes.append(scene.fix(sentence, *edits))
    function = scene.quote(made.args[0])
    return scene.explanation(
        "gradient_complex",
        title="A gradient of a complex number",
        what=f"`{function}` returns a complex number here.",
        variable=function,
        why="A complex result is two real ones, so it has two gradients, unless the function is holomorphic.",
        fixes=fixes,
        link=_GRAD,
    )


def _is_complex(scene: Scene, node: ast.expr) -> bool:
    """Return whether an argument is already complex, by its value or by a literal such as `1j`."""
    value = scene.spot.value(node)
    if value is MISSING:
        numbers = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
        return any(isinstance(number, complex) for number in numbers)
    return isinstance(value, complex) or (is_array(value) and bool(np.iscomplexobj(value)))


@explains(error_texts.GRAD_INTEGER_OUT)
def gradient_integer_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns an integer, such as a count or an index."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    place = definition_of(scene, made.args[0])
    fixes: list[Fix | None] = []
    if place is not None:
        source, result = place
        text = source.quote(result)
        soft = None
        if isinstance(result, ast.Call) and called(result) == "argmax" and len(result.args) == 1:
            x = source.quote(result.args[0])
            weights = f"{scene.jax}.nn.softmax({x})"
            soft = source.replace(result, f"{scene.jnp}.sum({weights} * {scene.jnp}.arange({x}.size))")
        fixes.append(scene.fix("Use a smooth function in its place, such as a mean weighted by softmax.", soft))
        fixes.append(
            scene.fix(
                "Make it a float: its gradient is then zero everywhere.",
                source.replace(result, f"{source.atom(result)}.astype(float)") if text else None,
            )
        )
    return scene.explanation(
        "gradient_integer_result",
        title="A gradient of an integer",
        what=f"`{function}` returns {found[1]} here.",
        variable=function,
        why="An integer changes in jumps: its derivative is zero or does not exist.",
        fixes=fixes,
        link=_GRAD,
    )


@explains(error_texts.GRAD_ARGNUMS)
def argument_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `argnums=1` for a function that is called with one argument."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    keyword = next((k for k in made.keywords if k.arg == "argnums"), None) if made is not None else None
    if made is None or keyword is None or int(found[2]) == 0:
        return None
    last = int(found[2]) - 1
    return scene.explanation(
        "argnums_too_large",
        title="`argnums` names an argument that is not there",
        what=plural(
            "`{text}` is called with {count} positional argument: its number is 0.",
            "`{text}` is called with {count} positional arguments, 0 to {last}.",
            last + 1,
            text=scene.quote(made.args[0]),
            last=last,
        ),
        variable="argnums",
        why="Arguments are counted from 0, and those given by keyword do not count.",
        fixes=[
            scene.fix("Give the number of an argument that is there.", scene.source.replace(keyword.value, str(last)))
        ],
        link=_GRAD,
    )


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
                        "Give a largest number of turns (here 100), and do nothing in those that are too many.",
                        spot.source.replace(call, text),
                    )
                )
        else:
            stop = _unknown_bound(call)
            if stop is not None:
                name = quote(stop)
                fixes.append(_static_count(scene, spot, stop, name))
    made = transformation(scene, outer) if outer is not None else None
    if made is not None and called(made) == "grad":
        base = scene.quote(made.func).removesuffix("grad")
        fixes.append(
            scene.fix(
                "Go forward, which needs no memory of the turns: good for few inputs.",
                scene.source.replace(made.func, f"{base or scene.jax + '.'}jacfwd"),
            )
        )
    if not any(fixes) and call is not None:
        words = "Let the number of turns be known: with both bounds static, JAX can go back through the loop."
        fixes.append(scene.advice(words))
    text = "lax.while_loop" if call is None else spot.quote(call.func)
    return scene.explanation(
        "reverse_through_while",
        title="A gradient back through a loop of unknown length",
        what=f"`{name}` decides how often the loop of `{text}` turns." if name else "",
        variable=name,
        why=(
            "Going back needs what every turn computed, and how many turns there are is not known when JAX sets "
            "aside the room."
        ),
        fixes=fixes,
        link=f"{error_texts.API}/jax.lax.while_loop.html",
        line=line,
    )


def _unknown_bound(call: ast.Call) -> ast.expr | None:
    """Return the one bound of `lax.fori_loop` that is no literal and no size; None if both may be traced."""
    bounds = [argument_of(call, 0, "lower"), argument_of(call, 1, "upper")]
    traced = [
        bound
        for bound in bounds
        if bound is not None
        and not isinstance(bound, ast.Constant)
        and not any(isinstance(n, ast.Attribute) and n.attr in ("shape", "size", "ndim") for n in ast.walk(bound))
        and called(bound) != "len"
    ]
    return traced[0] if len(traced) == 1 else None


def _static_count(scene: Scene, spot: UserFrame, stop: ast.expr, name: str) -> Fix | None:
    """Return the fix that makes a loop's count static, in the source of a function that has already returned."""
    if spot.source is None or not isinstance(stop, ast.Name):
        return None
    function = spot.source.function(stop)
    if function is None or name not in [a.arg for a in function.args.args]:
        return None
    edits = static_edits(scene, spot.source, function, name)
    sentence = f"Make `{name}` static: then the number of turns is known."
    return scene.fix(sentence, *edits) if edits else None


def _loop_before(scene: Scene) -> tuple[UserFrame, ast.Call] | None:
    """Return the loop that was traced before it was transformed: JAX keeps that traceback as the cause."""
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


def _named_at(spot: UserFrame) -> ast.Call | None:
    """Return the loop on a line, for tracebacks that know the line but not the column."""
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
