"""Explain NumPy and SciPy functions, NumPy arrays and random numbers that get a traced value or size."""

import ast
import importlib
import re
import sys
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.source import dotted
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.renaming import needed_imports, spelled
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called, is_traced_integer

_DRAWS = ("normal", "uniform", "exponential")


def _tables(scene: Scene, node: ast.Subscript) -> list[ast.expr]:
    """Return the NumPy arrays that a statement indexes by traced values, so that all are converted together."""
    statement = scene.spot.statement
    found = [
        part.value
        for part in (ast.walk(statement) if isinstance(statement, ast.Assign | ast.Return | ast.Expr) else ())
        if isinstance(part, ast.Subscript)
        and isinstance(scene.spot.value(part.value), np.ndarray)
        and scene.tracer(part.slice) is not None
    ]
    return found if node.value in found else [node.value]


@explains(error_texts.TO_NUMPY)
def numpy_on_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain NumPy functions and arrays that get a traced value."""
    node, source = scene.node, scene.source
    if isinstance(node, ast.Subscript):
        traced = scene.tracer(node.slice)
        if traced is None:
            return None
        variable = scene.quote(traced[0])
        return scene.explanation(
            "numpy_index_of_tracer",
            title=f"A NumPy array needs a known index, but `{variable}` is traced",
            what=scene.traced_what(variable, traced[1]),
            variable=variable,
            why="NumPy looks up now, while JAX records the program, and the index comes later.",
            fixes=[
                scene.fix(
                    "Make it JAX's array first: that can be indexed by a traced number.",
                    *(
                        source.replace(table, f"{scene.jnp}.asarray({scene.quote(table)})")
                        for table in _tables(scene, node)
                    ),
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
        return _random_on_tracer(scene, call, variable, tracer)
    if call is not None:
        module, _dot, function = dotted(call.func).rpartition(".")
        root = module.split(".")[0]
        if scene.spot.value(ast.Name(root, ast.Load())) is np:
            inner = module.removeprefix(root)
            target = jnp if not inner else getattr(jnp, inner[1:], None)
            new = f"{scene.jnp}{inner}.{function}"
            fixes.append(
                scene.fix(
                    "Use JAX's function of the same name.",
                    source.replace(call.func, new) if hasattr(target, function) else None,
                )
            )
    fixes.append(
        scene.fix(
            f"Leave NumPy outside: return `{variable}` and convert the result.",
            code=f"{scene.np}.asarray(result)  # {'outside the transformed function'}",
        )
    )
    return scene.explanation(
        "numpy_on_tracer",
        title=f"NumPy needs a known value, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why="NumPy computes with numbers now, while JAX records the program, and the values come later.",
        fixes=fixes,
        link=error_texts.ERRORS_PAGE,
    )


def _is_numpy(scene: Scene, function: ast.expr) -> bool:
    return scene.spot.value(ast.Name(dotted(function).split(".")[0], ast.Load())) is np


@explains(error_texts.NUMPY_SIZE)
def numpy_size(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `np.random.normal(size=n)` with a traced `n`."""
    call = scene.call()
    traced = scene.spot.first(call, is_traced_integer)
    if call is None or traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    function = scene.quote(call.func)
    draws = called(call) in _DRAWS  # of `np.random`, or of a generator from `np.random.default_rng`
    static = static_fix(scene, tracer)
    return scene.explanation(
        "numpy_size_of_tracer",
        title=f"`{function}` needs a known size, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why="NumPy draws now, once, while JAX records the program, and the size comes later."
        if draws
        else "NumPy makes its array now, while JAX records the program, and the size comes later.",
        fixes=[
            static or scene.advice("Give NumPy a size that is known, such as a shape, or a static argument."),
            scene.fix(
                "Draw with JAX, from a key that the function takes as an argument; the size is static there too.",
                code=f"{scene.random}.{called(call)}(key, ({variable},))",
            )
            if draws
            else None,
        ],
        link=error_texts.STATIC_LINK,
    )


def scipy_home(scene: Scene, function: ast.expr) -> str | None:
    """Return the SciPy module of a called function, such as 'scipy.special', or None."""
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
        spell = spelled(scene, f"jax.{home}.{function}")
        fixes.append(
            scene.fix(
                "Use JAX's function of the same name.",
                scene.source.replace(call.func, spell.text),
                *needed_imports(scene.source, spell),
            )
        )
    elif isinstance(scene.spot.value(call.func), np.ufunc):
        fixes.append(
            scene.fix(
                "JAX has no such function: let the program call this one on the host.",
                scene.source.replace(call.func, f"host_function({text}, elementwise=True)"),
            )
        )
    else:
        fixes.append(
            scene.advice(
                "Call it outside the transformed function, or let the program call it on the host: "
                "`jaxguide.callbacks.host_function`."
            )
        )
    return scene.explanation(
        "scipy_on_tracer",
        title=f"SciPy needs a known value, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why="SciPy computes with numbers now, while JAX records the program, and the values come later.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.{home}.{function}.html" if there else error_texts.ERRORS_PAGE,
    )


def _random_on_tracer(scene: Scene, call: ast.Call, variable: str, tracer: Any) -> Explanation | None:
    """Explain `np.random.normal(x)`."""
    function = called(call)
    sentence = "Draw with JAX, from a key that the function takes as an argument."
    known = function in ("normal", "uniform", "exponential", "permutation") and hasattr(jax.random, function)
    given = f", {variable}" if function == "permutation" else f", {variable}.shape"
    return scene.explanation(
        "numpy_random_of_tracer",
        title=f"NumPy's random numbers need a known value, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why="NumPy draws now, once, while JAX records the program, and the values come later.",
        fixes=[scene.fix(sentence, code=f"{scene.random}.{function}(key{given})") if known else scene.advice(sentence)],
        link="https://docs.jax.dev/en/latest/random-numbers.html",
    )
