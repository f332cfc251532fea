"""Explain functions of SciPy, and NumPy's random numbers, given a traced value."""

import ast
import importlib
import sys
from types import ModuleType
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.scene import Scene, called


def scipy_home(scene: Scene, function: ast.expr) -> str | None:
    """Return the module of SciPy that a function is called from or was imported from, such as 'scipy.special'."""
    if isinstance(function, ast.Attribute):
        module = scene.spot.value(function.value)
        name = module.__name__ if isinstance(module, ModuleType) else ""
        return name if name.startswith("scipy.") else None
    if isinstance(function, ast.Name):
        value = scene.spot.value(function)
        for name, module in list(sys.modules.items()):
            public = name.startswith("scipy.") and name.count(".") == 1 and "._" not in name
            if public and callable(value) and vars(module).get(function.id) is value:
                return name
    return None


def scipy_on_tracer(scene: Scene, call: ast.Call, home: str, variable: str, tracer: Any) -> Explanation | None:
    """Explain `scipy.special.gammaln(x)`."""
    function, text = called(call), scene.quote(call.func)
    fixes: list[Fix | None] = []
    try:
        there = hasattr(importlib.import_module(f"jax.{home}"), function)
    except ImportError:
        there = False
    if there:
        fixes.append(
            scene.fix(
                _("Use JAX's function of the same name."),
                scene.source.replace(call.func, f"{scene.jax}.{home}.{function}"),
            )
        )
    elif isinstance(scene.spot.value(call.func), np.ufunc):
        fixes.append(
            scene.fix(
                _("JAX has no such function: let the program call this one on the host."),
                scene.source.replace(call.func, f"host_function({text}, elementwise=True)"),
            )
        )
    else:
        fixes.append(
            scene.advice(
                _(
                    "Call it outside the transformed function, or let the program call it on the host: "
                    "`jaxguide.callbacks.host_function`."
                )
            )
        )
    return scene.explanation(
        "scipy_on_tracer",
        title=_("SciPy needs a value that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("SciPy computes with numbers now, while JAX records the program, and the values come later."),
        fixes=fixes,
        link=f"{error_texts.API}/jax.{home}.{function}.html" if there else error_texts.ERRORS_PAGE,
    )


def random_on_tracer(scene: Scene, call: ast.Call, variable: str, tracer: Any) -> Explanation | None:
    """Explain `np.random.normal(x)`."""
    function = called(call)
    sentence = _("Draw with JAX, from a key that the function takes as an argument.")
    known = function in ("normal", "uniform", "exponential", "permutation") and hasattr(jax.random, function)
    given = f", {variable}" if function == "permutation" else f", {variable}.shape"
    return scene.explanation(
        "numpy_random_of_tracer",
        title=_("NumPy's random numbers need a value that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("NumPy draws now, once, while JAX records the program, and the values come later."),
        fixes=[scene.fix(sentence, code=f"{scene.random}.{function}(key{given})") if known else scene.advice(sentence)],
        link="https://docs.jax.dev/en/latest/random-numbers.html",
    )
