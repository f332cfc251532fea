"""Explain errors of flax's nnx: variables that a transformed function changes without having been given them."""

import ast
import re

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, UserFrame
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.library_errors import is_instance, of_library
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.explain.transformed import parameters

_PAGE = "https://flax.readthedocs.io/en/latest/guides/transforms.html"
_OTHER_TRACE = of_library("flax", r"Cannot mutate (\w+) from a different trace level", name="TraceContextError")

_NO_RNGS = of_library("builtins", r"^(\w+)\.__init__\(\) missing 1 required keyword-only argument: 'rngs'")
_NO_WRT = of_library("flax", r"^Missing required argument `wrt`\.")
_PLAIN_LIST = of_library(
    "flax", r"^Found data on value of type '<class '(list|dict)'>' assigned to static attribute '(\w+)'"
)


@explains(_NO_RNGS)
def module_without_rngs(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `nnx.Linear(2, 3)`, which draws its parameters at once."""
    call = scene.node if isinstance(scene.node, ast.Call) else None
    kind = scene.spot.value(call.func) if call is not None else None
    if call is None or not isinstance(kind, type) or kind.__name__ != found[1]:
        return None
    if not any(one.__module__.startswith("flax.nnx") for one in kind.__mro__):
        return None
    function = scene.spot.function
    own = [p.arg for p in parameters(function)] if function is not None else []
    nnx = _nnx(scene)
    text = "rngs" if "rngs" in own else f"{nnx}.Rngs(0)"
    last = call.keywords[-1].value if call.keywords else call.args[-1] if call.args else None
    return scene.explanation(
        "nnx_without_rngs",
        title="A module of nnx that is given no keys",
        what=f"`{scene.quote(call)}` has no `rngs`.",
        variable=scene.quote(call.func),
        why="A module of nnx draws its parameters when it is made, from the keys in `rngs`.",
        fixes=[
            scene.fix("Give it keys.", scene.source.insert_after(last, f", rngs={text}") if last is not None else None)
            or scene.advice(f"Give it keys: `rngs={text}`.")
        ],
        link=_PAGE.replace("transforms", "randomness"),
    )


@explains(_NO_WRT)
def optimizer_without_wrt(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `nnx.Optimizer(model, tx)`, which asks what it updates."""
    call = scene.call()
    if call is None or len(call.args) != 2 or any(k.arg == "wrt" for k in call.keywords):
        return None
    return scene.explanation(
        "nnx_optimizer_without_wrt",
        title="An optimizer that is not told what it updates",
        what=f"`{scene.quote(call)}` has no `wrt`.",
        variable=scene.quote(call),
        why="Since flax 0.11, `wrt` says which variables of the model are updated.",
        fixes=[
            scene.fix("Update the parameters.", scene.source.insert_after(call.args[-1], f", wrt={_nnx(scene)}.Param"))
        ],
        link="https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/training/optimizer.html",
    )


@explains(_PLAIN_LIST)
def plain_list_of_modules(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `self.layers = [nnx.Linear(...), ...]`."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Attribute) or target.attr != found[2]:
        return None
    kind = {"list": "List", "dict": "Dict"}[found[1]]
    new = f"{_nnx(scene)}.{kind}({scene.quote(statement.value)})"
    return scene.explanation(
        "nnx_plain_container",
        title=f"Modules in a plain {found[1]}",
        what=f"`{scene.quote(target)}` is a {found[1]} that holds arrays or modules.",
        variable=scene.quote(target),
        why="nnx takes a plain container for a setting, and looks for no parameters in it.",
        fixes=[
            scene.fix("Use the container of nnx.", scene.source.replace(statement.value, new)),
        ],
        link="https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/module.html",
    )


def _nnx(scene: Scene) -> str:
    """Return the student's name for `flax.nnx`."""
    return scene.name_of("flax.nnx")


@explains(_OTHER_TRACE)
def changed_from_outside(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a transformed function that changes a module which it only closes over."""
    for spot in reversed(scene.spots):
        name = _closed_over(spot)
        function = spot.function
        if name is None or spot.source is None or function is None:
            continue
        source = spot.source
        label = function.name if not isinstance(function, ast.Lambda) else "<lambda>"
        fix: Fix | None = None
        sentence = f"Give `{name}` to `{label}` as an argument."
        if isinstance(function, ast.FunctionDef) and _is_nnx(function) and parameters(function):
            calls = [c for c in source.calls() if dotted(c.func) == label and c.args]
            uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == label]
            if calls and len(uses) == len(calls):
                edits = [source.insert_before(call.args[0], f"{name}, ") for call in calls]
                fix = scene.fix(sentence, source.insert_before(parameters(function)[0], f"{name}, "), *edits)
        advice = "Give `{name}` to `{function}` as an argument, and use nnx's transformation: `nnx.jit` and others."
        return scene.explanation(
            "nnx_changed_from_outside",
            title="A transformed function changes a module from outside",
            what=f"`{label}` changes a {found[1]} of `{name}`, which it only closes over.",
            variable=name,
            why=f"While JAX records `{label}`, its values stand for values to come; kept outside, they would leak.",
            fixes=[fix or scene.advice(advice.format(name=name, function=label))],
            link=_PAGE,
        )
    return None


def _closed_over(spot: UserFrame) -> str | None:
    """Return the name of the module that a frame's running code reads from outside its function, if there is one."""
    code = spot.frame.f_code
    if spot.node is None or code.co_name == "<module>":
        return None
    names = [n.id for n in ast.walk(spot.node) if isinstance(n, ast.Name)]
    statement = spot.statement
    names += [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)] if statement is not None else []
    for name in dict.fromkeys(names):
        own = name in code.co_varnames or name in code.co_cellvars
        value = MISSING if own else spot.value(ast.Name(name))
        if value is not MISSING and (is_instance(value, "flax", "Module") or is_instance(value, "flax", "Variable")):
            return name
    return None


def _is_nnx(function: ast.FunctionDef) -> bool:
    """Return whether a function is decorated with one of nnx's own transformations."""
    return len(function.decorator_list) == 1 and dotted(function.decorator_list[0]).startswith("nnx.")
