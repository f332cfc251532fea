"""Explain traced values where Python or NumPy needs a number: `float`, `int`, `.item()`, `range`, indices, NumPy."""

import ast
import math
import re
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxguide.explain import phrases
from jaxguide.explain.arrays import formatted
from jaxguide.explain.branching import assigned_names, body_lines, leaves_early, operator_sign
from jaxguide.explain.explanation import Edit, Explanation, Fix
from jaxguide.explain.jitted import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called, is_traced_integer
from jaxguide.explain.scipy_calls import random_on_tracer, scipy_home, scipy_on_tracer
from jaxguide.explain.source import dotted, names_in
from jaxguide.explain.spot import MISSING, is_array, is_tracer
from jaxguide.text import _


@explains(phrases.CONCRETE)
def python_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `float(x)`, `int(x)`, `complex(x)`, `x.item()`, `x.tolist()` and `math.sin(x)`."""
    node, source = scene.node, scene.source
    call = node if isinstance(node, ast.Call) else None
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):  # Python 3.12 places what is in it at the whole
        inside = [c for c in ast.walk(node) if isinstance(c, ast.Call) and called(c) in ("float", "int", "complex")]
        return _number_of_element(scene, inside[0]) if len(inside) == 1 else None
    if call is None:
        text = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and scene.spot.value(node.left)
        return formatted(scene, found) if isinstance(text, str) else None
    name = called(call)
    if name in ("item", "tolist") and isinstance(call.func, ast.Attribute) and not call.args:
        traced = scene.tracer(call.func.value)
        if traced is None:
            return None
        variable = scene.quote(traced[0])
        return scene.explanation(
            "item_of_tracer",
            title=_("`.{name}()` needs a value that is still traced").format(name=name),
            what=scene.traced_what(variable, traced[1]),
            variable=variable,
            why=_(
                "`.{name}()` makes a Python value now, while JAX records the program, and the value comes later."
            ).format(name=name),
            fixes=[
                scene.fix(
                    _("Leave it out: an array of shape () is a number for JAX. Call it on the result, outside."),
                    source.replace(call, scene.quote(call.func.value)),
                )
            ],
        )
    traced = scene.tracer(call)
    if traced is None:
        return _number_of_element(scene, call)
    variable, tracer = scene.quote(traced[0]), traced[1]
    if name in ("float", "int", "complex") and isinstance(call.func, ast.Name) and len(call.args) == 1:
        keep = scene.fix(
            _("Change the dtype and keep it an array, which goes into the program."),
            source.replace(call, f"{scene.atom(call.args[0])}.astype({name})"),
        )
        static = static_fix(scene, tracer) if name == "int" else None
        first = [static] if static is not None and _is_size(scene, call) else [keep, static]
        return scene.explanation(
            "number_of_tracer",
            title=_("`{name}(...)` needs a value that is still traced").format(name=name),
            what=scene.traced_what(variable, tracer),
            variable=variable,
            why=_(
                "`{name}` makes a Python number now, while JAX records the program, and the value comes later."
            ).format(name=name),
            fixes=first,
            link=phrases.ERRORS_PAGE,
        )
    module, _dot, function = dotted(call.func).rpartition(".")
    if scene.spot.value(ast.parse(module or "None", mode="eval").body) is math:
        there = hasattr(jnp, function)
        return scene.explanation(
            "math_on_tracer",
            title=_("`{name}` needs a value that is still traced").format(name=scene.quote(call.func)),
            what=scene.traced_what(variable, tracer),
            variable=variable,
            why=_("The module `math` computes with Python numbers now, while JAX records the program."),
            fixes=[
                scene.fix(
                    _("Use JAX's own function of that name."),
                    source.replace(call.func, f"{scene.jnp}.{function}") if there else None,
                )
            ],
            link=f"{phrases.API}/jax.numpy.{function}.html",
        )
    home = scipy_home(scene, call.func)
    return scipy_on_tracer(scene, call, home, variable, tracer) if home is not None else None


@explains(phrases.INTEGER)
def python_integer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `range(n)` and `items[i]`, for which Python needs an integer."""
    node, source = scene.node, scene.source
    traced = scene.spot.first(node, is_traced_integer)
    if isinstance(node, ast.Subscript):
        traced = scene.spot.first(node.slice, is_tracer)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    static = static_fix(scene, tracer)
    what = scene.traced_what(variable, tracer)
    if isinstance(node, ast.Call) and called(node) == "range":
        loop = _for_loop(scene, node)
        return scene.explanation(
            "range_of_tracer",
            title=_("`range` needs a number that is still traced"),
            what=what,
            variable=variable,
            why=_("Python's `for` runs now and repeats what JAX records, and how often is not known yet."),
            fixes=[loop, static],
            link=f"{phrases.API}/jax.lax.fori_loop.html",
        )
    if isinstance(node, ast.Subscript):
        index, items = scene.quote(node.slice), scene.quote(node.value)
        value = scene.spot.value(node.value)
        kinds = value if isinstance(value, list | tuple) else ()
        functions = bool(kinds) and all(callable(item) for item in kinds)
        call = source.parents.get(node)
        if functions and isinstance(call, ast.Call) and call.func is node and not call.keywords:
            given = "".join(f", {scene.quote(argument)}" for argument in call.args)
            choose = scene.fix(
                _("Let the program choose one of the functions: `lax.switch`."),
                source.replace(call, f"{scene.lax}.switch({index}, {items}{given})"),
            )
        elif value is not MISSING and not all(
            is_array(i) or isinstance(i, int | float | complex | list) for i in value
        ):
            choose = scene.advice(
                _(
                    "Let the program choose what is done for each entry: `lax.switch({index}, [...])`, with one "
                    "function for each."
                ).format(index=index)
            )
            return _list_index(scene, variable, what, static, choose)
        else:
            stack = "stack" if any(is_array(item) and item.ndim for item in kinds) else "array"
            choose = scene.fix(
                _("Make one array of the list: an array can be indexed by a traced number."),
                source.replace(node, f"{scene.jnp}.{stack}({items})[{index}]") if not functions else None,
            )
        return _list_index(scene, variable, what, choose, static)
    if isinstance(node, ast.Call):
        return needs_static(scene, variable, tracer, static, scene.quote(node.func))
    return None


@explains(phrases.UNHASHABLE_TRACER)
def looked_up(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `table[i]` with a dict, and a traced value as the key of one."""
    node = scene.node
    where = node.slice if isinstance(node, ast.Subscript) else node
    traced = scene.tracer(where)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    table = scene.spot.value(node.value) if isinstance(node, ast.Subscript) else MISSING
    by_number = None
    if isinstance(table, dict) and isinstance(node, ast.Subscript) and list(table) == list(range(len(table))):
        name = scene.quote(node.value)
        by_number = scene.fix(
            _("Make an array of its values: an array can be indexed by a traced number."),
            scene.source.replace(node, f"{scene.jnp}.array(list({name}.values()))[{scene.quote(node.slice)}]"),
        )
    return scene.explanation(
        "dict_key_of_tracer",
        title=_("A dict needs a key that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("A dict is looked up now by the key's value, while JAX records the program, and the value comes later."),
        fixes=[by_number, static_fix(scene, tracer)],
        link=phrases.STATIC_LINK,
    )


@explains(phrases.TO_NUMPY)
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
            link=phrases.ERRORS_PAGE,
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
            code=f"np.asarray(result)  # {_('outside the transformed function')}",
        )
    )
    return scene.explanation(
        "numpy_on_tracer",
        title=_("NumPy needs a value that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("NumPy computes with numbers now, while JAX records the program, and the values come later."),
        fixes=fixes,
        link=phrases.ERRORS_PAGE,
    )


def _is_numpy(scene: Scene, function: ast.expr) -> bool:
    return scene.spot.value(ast.Name(dotted(function).split(".")[0], ast.Load())) is np


def _list_index(scene: Scene, variable: str, what: str, *fixes: Fix | None) -> Explanation | None:
    return scene.explanation(
        "list_index_of_tracer",
        title=_("A list needs an index that is still traced"),
        what=what,
        variable=variable,
        why=_("A Python list is looked up now, while JAX records the program, and the index comes later."),
        fixes=fixes,
        link=phrases.ERRORS_PAGE,
    )


def needs_static(scene: Scene, variable: str, tracer: Any, static: Fix | None, function: str) -> Explanation | None:
    """Explain an argument of a function that must be known while JAX traces."""
    return scene.explanation(
        "static_needed",
        title=_("`{function}` needs a number that is still traced").format(function=function),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("`{function}` uses this argument now, while JAX records the program, and its value comes later.").format(
            function=function
        ),
        fixes=[static],
        link=phrases.STATIC_LINK,
    )


def _number_of_element(scene: Scene, call: ast.Call) -> Explanation | None:
    """Explain `[float(v) for v in x]`, where `v` is gone by the time the error arrives."""
    if called(call) not in ("float", "int", "complex") or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
        return None
    name, text = called(call), scene.quote(call.args[0])
    return scene.explanation(
        "number_of_tracer",
        title=_("`{name}(...)` needs a value that is still traced").format(name=name),
        variable=text,
        why=_("`{name}` makes a Python number now, while JAX records the program, and the value comes later.").format(
            name=name
        ),
        fixes=[
            scene.fix(
                _("Change the dtype and keep it an array, which goes into the program."),
                scene.source.replace(call, f"{text}.astype({name})"),
            )
        ],
        link=phrases.ERRORS_PAGE,
    )


def _is_size(scene: Scene, call: ast.Call) -> bool:
    """Tell whether the integer made by a call is used as a size or a count further down."""
    statement = scene.source.statement(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, function = statement.targets[0], scene.spot.function
        if isinstance(target, ast.Name) and function is not None:
            uses = [n for n in ast.walk(function) if isinstance(n, ast.Call) and n is not call]
            return any(target.id in names_in(use) for use in uses)
    outer = scene.source.parents.get(call)
    return isinstance(outer, ast.Call | ast.Tuple | ast.Slice)


def _for_loop(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix that turns a `for` over `range` into `lax.fori_loop`."""
    loop, source = scene.source.parents.get(call), scene.source
    if not isinstance(loop, ast.For) or loop.iter is not call or not isinstance(loop.target, ast.Name):
        return None
    if loop.orelse or leaves_early(loop.body) or len(call.args) > 2:
        return None
    index = loop.target.id
    names = [n for n in assigned_names(loop.body) if n != index]
    names = [n for n in names if scene.spot.value(ast.Name(n, ast.Load())) is not MISSING]
    if not names:
        return None
    start, stop = ["0", *(scene.quote(argument) for argument in call.args)][-2:]
    carry, indent = ", ".join(names), source.indent(loop)
    sentence = _("Let the program loop: `lax.fori_loop`. (`jax.grad` needs a static count.)")
    statement = loop.body[0]
    if len(names) == 1 and len(loop.body) == 1 and isinstance(statement, ast.Assign | ast.AugAssign):
        value = scene.quote(statement.value)
        if isinstance(statement, ast.AugAssign):
            value = f"{carry} {operator_sign(statement.op)} {scene.atom(statement.value)}"
        text = f"{carry} = {scene.lax}.fori_loop({start}, {stop}, lambda {index}, {carry}: {value}, {carry})"
        return scene.fix(sentence, source.replace(loop, text))
    argument = "carry" if len(names) > 1 else carry
    unpack = [f"{indent}    {carry} = carry"] if len(names) > 1 else []
    given = f"({carry})" if len(names) > 1 else carry
    lines = [
        f"def turn({index}, {argument}):",
        *unpack,
        *body_lines(scene, loop.body, indent + "    "),
        f"{indent}    return {carry}",
        f"{indent}{carry} = {scene.lax}.fori_loop({start}, {stop}, turn, {given})",
    ]
    return scene.fix(sentence, Edit(source.file, source.start(loop), source.end(loop), "\n".join(lines)))
