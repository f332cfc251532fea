"""Explain NumPy's functions and arrays given a traced value."""

import ast
import re

import jax.numpy as jnp
import numpy as np

from jaxguide.base.text import _
from jaxguide.code.source import dotted
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.scipy_calls import random_on_tracer, scipy_home, scipy_on_tracer
from jaxguide.explain.scene import Scene


@explains(error_texts.TO_NUMPY)
def numpy_on_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain NumPy's functions and arrays given a traced value."""
    node, source = scene.node, scene.source
    if isinstance(node, ast.Subscript):
        traced = scene.tracer(node.slice)
        if traced is None:
            return None
        variable, items = scene.quote(traced[0]), scene.quote(node.value)
        return scene.explanation(
            "numpy_index_of_tracer",
            title=_("A NumPy array needs an index that is still traced"),
            what=scene.traced_what(variable, traced[1]),
            variable=variable,
            why=_("NumPy looks up now, while JAX records the program, and the index comes later."),
            fixes=[
                scene.fix(
                    _("Make it JAX's array first: that can be indexed by a traced number."),
                    source.replace(node.value, f"{scene.jnp}.asarray({items})"),
                ),
                static_fix(scene, traced[1]),
            ],
            link=error_texts.ERRORS_PAGE,
        )
    call = source.around(node, ast.Call)
    traced = scene.tracer(node)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    fixes: list[Fix | None] = []
    if call is not None and (home := scipy_home(scene, call.func)) is not None:
        return scipy_on_tracer(scene, call, home, variable, tracer)
    if call is not None and dotted(call.func).split(".")[-2:-1] == ["random"] and _is_numpy(scene, call.func):
        return random_on_tracer(scene, call, variable, tracer)
    if call is not None:
        module, _dot, function = dotted(call.func).rpartition(".")
        root = module.split(".")[0]
        if scene.spot.value(ast.Name(root, ast.Load())) is np:
            inner = module.removeprefix(root)
            target = jnp if not inner else getattr(jnp, inner[1:], None)
            new = f"{scene.jnp}{inner}.{function}"
            fixes.append(
                scene.fix(
                    _("Use JAX's function of the same name."),
                    source.replace(call.func, new) if hasattr(target, function) else None,
                )
            )
    fixes.append(
        scene.fix(
            _("Leave NumPy outside: return `{name}` and convert the result.").format(name=variable),
            code=f"{scene.np}.asarray(result)  # {_('outside the transformed function')}",
        )
    )
    return scene.explanation(
        "numpy_on_tracer",
        title=_("NumPy needs a value that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("NumPy computes with numbers now, while JAX records the program, and the values come later."),
        fixes=fixes,
        link=error_texts.ERRORS_PAGE,
    )


def _is_numpy(scene: Scene, function: ast.expr) -> bool:
    return scene.spot.value(ast.Name(dotted(function).split(".")[0], ast.Load())) is np
