"""Explain Python's own functions and `in`, which ask for the truth of traced values: `max`, `any`, `bool`."""

import ast

from jaxguide.base.text import _
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.branching import expression_of_if
from jaxguide.explain.rewrites.logic import as_array, condition
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules.traced_test import Place, test_around
from jaxguide.explain.scene import called


def extremum(at: Place, call: ast.Call) -> Explanation | None:
    """Explain the built-in `max` and `min`."""
    scene, name = at.scene, called(call)
    function = {"max": "maximum", "min": "minimum"}[name]
    if len(call.args) == 1:
        text = f"{scene.jnp}.{name}({as_array(scene, call.args[0])})"
    else:
        text = scene.quote(call.args[0])
        for argument in call.args[1:]:
            text = f"{scene.jnp}.{function}({text}, {scene.quote(argument)})"
    return at.said(
        "min_max_on_tracer",
        _("Python's `{name}` needs values that are still traced").format(name=name),
        _(
            "Python's `{name}` compares now and keeps one, while JAX records the program, and the values come later."
        ).format(name=name),
        scene.fix(
            _("Use JAX's own, which goes into the program and works elementwise."),
            scene.source.replace(call, text) if not call.keywords else None,
        ),
        link=f"{error_texts.API}/jax.numpy.{function}.html",
    )


def any_or_all(at: Place, call: ast.Call) -> Explanation | None:
    """Explain the built-in `any` and `all`."""
    scene, name = at.scene, called(call)
    test = test_around(scene, call)
    text = f"{scene.jnp}.{name}({as_array(scene, call.args[0])})"
    why = _("Python's `{name}` looks at one value after the other now, while JAX records the program.")
    if isinstance(test, ast.If):
        edits = expression_of_if(scene, test)
        fix = scene.fix(_("Use `jnp.{name}`, and choose with `jnp.where`.").format(name=name), *edits.where)
    else:
        fix = scene.fix(
            _("Use `jnp.{name}`, which goes into the program.").format(name=name), scene.source.replace(call, text)
        )
    return at.said(
        "any_all_on_tracer",
        _("Python's `{name}` needs values that are still traced").format(name=name),
        why.format(name=name),
        fix or scene.fix(_("Use `jnp.{name}`, which goes into the program.").format(name=name), code=text),
        link=f"{error_texts.API}/jax.numpy.{name}.html",
    )


def sorting(at: Place, call: ast.Call) -> Explanation | None:
    """Explain the built-in `sorted`."""
    scene = at.scene
    text = f"{scene.jnp}.sort({as_array(scene, call.args[0])})"
    return at.said(
        "sorted_on_tracer",
        _("Python's `sorted` needs values that are still traced"),
        _("Python's `sorted` compares values now to order them, while JAX records the program."),
        scene.fix(
            _("Sort with `jnp.sort`, which goes into the program."),
            scene.source.replace(call, text) if not call.keywords else None,
            code=text,
        ),
        link=f"{error_texts.API}/jax.numpy.sort.html",
    )


def conversion(at: Place, call: ast.Call) -> Explanation | None:
    """Explain `bool(...)`."""
    scene, value = at.scene, call.args[0]
    plain = isinstance(value, ast.Compare | ast.BoolOp)
    text = f"({condition(scene, value)})" if plain else f"{scene.atom(value)}.astype(bool)"
    return at.said(
        "bool_of_tracer",
        _("`bool(...)` needs a value that is still traced"),
        _("`bool` makes a Python True or False now, while JAX records the program, and the value comes later."),
        scene.fix(
            _("Keep it an array: of dtype bool, it serves as a condition of `jnp.where` and `lax.cond`."),
            scene.source.replace(call, text),
        ),
        at.static_if_plain(),
    )


def membership(at: Place, node: ast.Compare) -> Explanation | None:
    """Explain `in`."""
    scene = at.scene
    container, item = node.comparators[0], scene.quote(node.left)
    values = as_array(scene, container)
    negated = isinstance(node.ops[0], ast.NotIn)
    text = f"{scene.jnp}.any({values} == {item})"
    text = f"~{text}" if negated else text
    outer = test_around(scene, node)
    fix = None
    if isinstance(outer, ast.If):
        fix = scene.fix(
            _("Compare with all of them and choose with `jnp.where`."), *expression_of_if(scene, outer).where
        )
    fix = fix or scene.fix(_("Compare with all of them at once."), scene.source.replace(node, text))
    return at.said(
        "in_on_tracer",
        _("`in` needs values that are still traced"),
        _("Python's `in` compares now until one is equal, while JAX records the program, and no value is there yet."),
        fix,
        at.static_if_plain(),
        link=f"{error_texts.API}/jax.numpy.isin.html",
    )


def inside_a_call(at: Place, call: ast.Call) -> Explanation | None:
    """Explain a function that asks for the truth of something made from its argument."""
    scene = at.scene
    behind = error_texts.DEPENDS_ON.search(scene.message)
    name = behind[1] if behind and behind[1].isidentifier() else None
    for part, value in scene.spot.parts(call):
        if scene.quote(part) == name and value is not MISSING:
            at.variable, at.tracer = scene.quote(part), value
            at.what = scene.what(at.variable, value)
            at.static = static_fix(scene, value)
    function = scene.quote(call.func)
    return at.said(
        "static_needed",
        _("`{function}` needs a value that is still traced").format(function=function),
        _("`{function}` looks at this argument now, while JAX records the program, and its value comes later.").format(
            function=function
        ),
        at.static,
        link=error_texts.STATIC_LINK,
    )
