"""Explain static arguments of `jax.jit`: without a hash, traced, or named and counted wrongly."""

import ast
import difflib
import re
from typing import Any

from jaxguide.base.text import _, plural
from jaxguide.code.edits import Edit
from jaxguide.code.source import Source, arguments_of, dotted
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.jit_calls import function_name, jitted_function
from jaxguide.explain.rewrites.static_arguments import jit_call_of, static_fix, static_keyword
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.jaxpr.arguments import describe


@explains(error_texts.UNHASHABLE_STATIC)
def unhashable_static(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a list, dict or array as a static argument."""
    call = scene.call()
    if call is None:
        return None
    mapped = isinstance(call.func, ast.Call) and called(call.func) == "vmap" and bool(call.func.args)
    if mapped and isinstance(call.func, ast.Call):
        call = ast.Call(call.func.args[0], call.args, call.keywords)
    jitted = jitted_function(scene, call)
    if jitted is None:
        return None
    source, function = jitted
    names = arguments_of(function)
    declared = jit_call_of(source, function) if isinstance(function, ast.FunctionDef) else None
    static = _static_names(declared, names) if declared is not None else names
    method = 1 if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else 0
    given = [(names[i + method], a) for i, a in enumerate(call.args) if i + method < len(names)]
    given += [(k.arg, k.value) for k in call.keywords if k.arg]
    for name, node in given:
        value = scene.spot.value(node)
        if name not in static or (value is not MISSING and _hashable(value)):
            continue
        text = scene.quote(node)
        traced = scene.tracer(node)
        if mapped or traced is not None:
            return _traced_static(scene, name, function_name(function), node, traced[1] if traced is not None else None)
        array = is_array(value) or (value is MISSING and isinstance(node, ast.Call))
        fixes: list[Fix | None] = []
        if isinstance(node, ast.List) or isinstance(value, list):
            new = f"({text[1:-1].rstrip(', ')},)" if isinstance(node, ast.List) and node.elts else f"tuple({text})"
            if isinstance(node, ast.List) and len(node.elts) > 1:
                new = f"({text[1:-1]})"
            fixes.append(
                scene.fix(_("Give a tuple: it cannot change, so it has a hash."), scene.source.replace(node, new))
            )
        elif array or isinstance(value, dict):
            fixes.append(
                scene.fix(
                    _("Leave `{name}` traced: what holds numbers need not be static.").format(name=name),
                    *_without_static(source, declared, name, names),
                )
            )
        if not fixes:
            return None
        kind = _("an array") if array else describe(value)
        return scene.explanation(
            "unhashable_static",
            title=_("A static argument has no hash"),
            what=_("`{text}` is {what}, given for the static argument `{name}` of `{function}`.").format(
                text=text, what=kind, name=name, function=function_name(function)
            ),
            variable=name,
            why=_(
                "JAX keeps one compiled program for each static value and looks it up by its hash; what can change "
                "has none."
            ),
            fixes=fixes,
            link=error_texts.STATIC_LINK,
        )
    return None


def _traced_static(scene: Scene, name: str, function: str, node: ast.expr, tracer: Any) -> Explanation | None:
    """Explain a traced value given for a static argument, inside another `jax.jit` or under `jax.vmap`."""
    text = scene.quote(node)
    fix = static_fix(scene, tracer) if tracer is not None else None
    words = _("Give a Python value: a number that is known while JAX records, and the same for every row.")
    return scene.explanation(
        "traced_for_static",
        title=_("A static argument was given a value that is still traced"),
        what=_("`{text}` is given for the static argument `{name}` of `{function}`.").format(
            text=text, name=name, function=function
        ),
        variable=text,
        why=_("`{function}` is compiled for each value of `{name}`, and a traced value comes only later.").format(
            function=function, name=name
        ),
        fixes=[fix or scene.advice(words)],
        link=error_texts.STATIC_LINK,
    )


@explains(error_texts.STATIC_NAME)
def unknown_static_name(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a name in `static_argnames` that the function does not have."""
    wrong = re.findall(r"'(\w+)'", found[1])
    source = scene.source
    statement = scene.spot.statement
    function = statement if isinstance(statement, ast.FunctionDef) else source.around(scene.node, ast.FunctionDef)
    names = arguments_of(function) if function is not None else []
    if function is None:
        call = scene.call()
        value = scene.spot.value(call.args[0]) if call is not None and call.args else None
        code = getattr(value, "__code__", None)
        names = list(code.co_varnames[: code.co_argcount]) if code else []
    if not wrong or not names:
        return None
    near = (difflib.get_close_matches(wrong[0], names, n=1) or names[-1:])[0]
    constants = [n for n in ast.walk(statement or scene.node) if isinstance(n, ast.Constant) and n.value == wrong[0]]
    return scene.explanation(
        "static_name_unknown",
        title=_("`static_argnames` names no argument"),
        what=_("`{name}` is none of the arguments ({names}).").format(name=wrong[0], names=", ".join(names)),
        variable=wrong[0],
        why=_("`jax.jit` finds a static argument by its name in the `def` line."),
        fixes=[
            scene.fix(
                _("Write the argument's own name."), source.replace(constants[0], f'"{near}"') if constants else None
            )
        ],
        link=error_texts.STATIC_LINK,
    )


@explains(error_texts.STATIC_NUMBER)
def unknown_static_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a number in `static_argnums` that is too large."""
    statement = scene.spot.statement
    keyword = next(
        (n for n in ast.walk(statement) if isinstance(n, ast.keyword) and n.arg == "static_argnums")
        if statement
        else iter(()),
        None,
    )
    if keyword is None or int(found[2]) == 0:
        return None
    last = int(found[2]) - 1
    return scene.explanation(
        "static_number_unknown",
        title=_("`static_argnums` counts an argument that is not there"),
        what=plural(
            "`static_argnums={number}` for a function of {count} argument.",
            "`static_argnums={number}` for a function of {count} arguments.",
            int(found[2]),
            number=found[1],
        ),
        variable="static_argnums",
        why=_("Arguments are counted from 0."),
        fixes=[
            scene.fix(
                _("Give the number of the last one, or better its name in `static_argnames`."),
                scene.source.replace(keyword.value, str(last)),
            )
        ],
        link=error_texts.STATIC_LINK,
    )


def _static_names(declared: ast.Call, names: list[str]) -> list[str]:
    static: list[str] = []
    for keyword in declared.keywords:
        values = [n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)]
        if keyword.arg == "static_argnames":
            static += [str(v) for v in values]
        elif keyword.arg == "static_argnums":
            static += [names[v] for v in values if isinstance(v, int) and v < len(names)]
    return static


def _without_static(source: Source, declared: ast.Call | None, name: str, names: list[str]) -> list[Edit | None]:
    """Return the edits that take a name out of the static arguments; the whole keyword where it is the only one."""
    static = _static_names(declared, names) if declared is not None else []
    if declared is None or name not in static:
        return [None]
    others = [n for n in static if n != name]
    rest = [k for k in declared.keywords if k.arg not in ("static_argnames", "static_argnums")]
    arguments = [source.quote(a) for a in declared.args] + [f"{k.arg}={source.quote(k.value)}" for k in rest]
    if others:
        arguments.append(static_keyword(others))
    if dotted(declared.func).endswith("partial") and len(arguments) == 1:
        return [source.replace(declared, arguments[0])]
    if not arguments:
        return [source.replace(declared, source.quote(declared.func))]
    return [source.replace(declared, f"{source.quote(declared.func)}({', '.join(arguments)})")]


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
