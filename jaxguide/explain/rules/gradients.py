"""Explain gradients of results that have none: several numbers, tuples, None, complex ones, integers."""

import ast
import re

import numpy as np

from jaxguide.base.text import _, plural
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import argnums, definition_of, function_behind, transformation

_GRAD = f"{error_texts.API}/jax.grad.html"


@explains(error_texts.GRAD_SHAPE)
def gradient_of_many(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function whose result is no scalar."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    shape = found[1]
    place = definition_of(scene, made.args[0])
    fixes: list[Fix | None] = []
    one = shape.replace(",", "").replace(" ", "").strip("()").replace("1", "") == ""
    if place is not None:
        source, result = place
        text = source.quote(result)
        if one:
            fixes.append(
                scene.fix(
                    _("Take the one number out of its array."),
                    source.replace(result, f"{scene.jnp}.squeeze({text})"),
                )
            )
        else:
            fixes.append(
                scene.fix(
                    _("Reduce the result to one number: a loss is a sum or a mean."),
                    source.replace(result, f"{scene.jnp}.sum({text})"),
                )
            )
    if called(made) == "grad":
        jacobian = scene.quote(made.func).removesuffix("grad") + "jacobian"
        fixes.append(
            scene.fix(
                _("Ask for every derivative of every output: the Jacobian."),
                scene.source.replace(made.func, jacobian if "." in jacobian else f"{scene.jax}.jacobian"),
            )
        )
        if not one and len(outer.args) == 1 and not made.keywords:
            fixes.append(
                scene.fix(
                    _("If each output belongs to one input, one derivative for each."),
                    scene.source.replace(made, f"{scene.jax}.vmap({scene.quote(made)})"),
                )
            )
    return scene.explanation(
        "gradient_of_many",
        title=_("A gradient of more than one number"),
        what=_("`{function}` returns an array of shape {shape} here.").format(function=function, shape=shape),
        variable=function,
        why=_(
            "A gradient says how one number changes; a result of shape {shape} is not one number of shape ()."
        ).format(shape=shape),
        fixes=fixes,
        link=_GRAD,
    )


@explains(error_texts.GRAD_OUTPUT)
def gradient_of_a_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns several things, or nothing."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    fixes: list[Fix | None] = []
    if found[1] == "None":
        node = function_behind(scene.spot, made.args[0])
        if node is None:
            return None
        source, definition = node
        last = definition.body[-1] if isinstance(definition, ast.FunctionDef) else None
        edit: Edit | None = None
        if isinstance(last, ast.Expr):
            edit = source.insert_before(last, "return ")
        elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
            indent = source.indent(last)
            edit = source.insert_after(last, f"\n{indent}return {last.targets[0].id}")
        fixes.append(scene.fix(_("Return the value."), edit, code="" if edit else "return value"))
        return scene.explanation(
            "gradient_of_none",
            title=_("A gradient of a function that returns nothing"),
            what=_("`{function}` ends without `return`, so it gives None.").format(function=function),
            variable=function,
            why=_("`jax.grad` differentiates what the function returns."),
            fixes=fixes,
            link=_GRAD,
        )
    if not found[1].startswith(("(", "[")):
        return None
    fixes.append(
        scene.fix(
            _("If the first is the loss and the rest is extra: say so. Then the extra comes back with the gradient."),
            scene.source.insert_after(made.args[-1], ", has_aux=True") if not made.keywords else None,
        )
    )
    place = definition_of(scene, made.args[0])
    if place is not None and isinstance(place[1], ast.Tuple):
        source, result = place
        fixes.append(
            scene.fix(_("Return the loss alone."), source.replace(result, source.quote(result.elts[0])))  # type: ignore[attr-defined]
        )
    return scene.explanation(
        "gradient_of_tuple",
        title=_("A gradient of several things"),
        what=_("`{function}` returns more than one value.").format(function=function),
        variable=function,
        why=_("A gradient says how one number changes."),
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
                _("Differentiate one real number made of it, such as its size or its real part."),
                source.replace(result, f"{scene.jnp}.abs({source.quote(result)})"),
            )
        )
    position = argnums(made)[0]
    if position < len(outer.args):
        given = outer.args[position]
        edits = [scene.source.insert_after(made.args[-1], ", holomorphic=True") if not made.keywords else None]
        if _is_complex(scene, given):
            sentence = _("For a holomorphic function, say so.")
        else:
            sentence = _("For a holomorphic function, say so, and give a complex argument.")
            number, text = isinstance(scene.spot.value(given), int | float), scene.quote(given)
            new = f"complex({text})" if number else f"{scene.atom(given)}.astype(complex)"
            edits.append(scene.source.replace(given, new))
        fixes.append(scene.fix(sentence, *edits))
    function = scene.quote(made.args[0])
    return scene.explanation(
        "gradient_complex",
        title=_("A gradient of a complex number"),
        what=_("`{function}` returns a complex number here.").format(function=function),
        variable=function,
        why=_("A complex result is two real ones, so it has two gradients, unless the function is holomorphic."),
        fixes=fixes,
        link=_GRAD,
    )


def _is_complex(scene: Scene, node: ast.expr) -> bool:
    """Tell whether an argument is complex already: by its value, or by the `1j` in a sum of numbers."""
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
        fixes.append(scene.fix(_("Use a smooth function in its place, such as a mean weighted by softmax."), soft))
        fixes.append(
            scene.fix(
                _("Make it a float: its gradient is then zero everywhere."),
                source.replace(result, f"{source.atom(result)}.astype(float)") if text else None,
            )
        )
    return scene.explanation(
        "gradient_integer_result",
        title=_("A gradient of an integer"),
        what=_("`{function}` returns {dtype} here.").format(function=function, dtype=found[1]),
        variable=function,
        why=_("An integer changes in jumps: its derivative is zero or does not exist."),
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
        title=_("`argnums` names an argument that is not there"),
        what=plural(
            "`{text}` is called with {count} positional argument: its number is 0.",
            "`{text}` is called with {count} positional arguments, 0 to {last}.",
            last + 1,
            text=scene.quote(made.args[0]),
            last=last,
        ),
        variable="argnums",
        why=_("Arguments are counted from 0, and those given by keyword do not count."),
        fixes=[
            scene.fix(
                _("Give the number of an argument that is there."), scene.source.replace(keyword.value, str(last))
            )
        ],
        link=_GRAD,
    )
