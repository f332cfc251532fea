"""Explain callbacks under transformations that they do not support: derivatives, batches, ordering."""

import ast
import re

import jax.numpy as jnp
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import source_of
from jaxguide.code.user_frame import UserFrame
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called

_PAGE = "https://docs.jax.dev/en/latest/external-callbacks.html"
_CALLBACKS = ("pure_callback", "io_callback")


def _callback(scene: Scene) -> tuple[UserFrame, ast.Call] | None:
    """Return the call of the callback, and the student's frame that it is in."""
    for spot in reversed(scene.spots):
        call = spot.source.around(spot.node, ast.Call) if spot.source else None
        if call is not None and called(call) in _CALLBACKS and call.args:
            return spot, call
    return None


@explains(error_texts.CALLBACK_JVP, error_texts.IO_JVP)
def no_derivative(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` through a callback."""
    place = _callback(scene)
    if place is None or place[0] is not scene.spot:
        return None
    _spot, call = place
    host, name = scene.quote(call.args[0]), scene.quote(call.func)
    kind = "callback_without_derivative" if called(call) == "pure_callback" else "io_callback_without_derivative"
    constant = [
        scene.source.replace(argument, f"{scene.lax}.stop_gradient({scene.quote(argument)})")
        for argument in call.args[2:]
    ]
    traced = scene.tracer(ast.Tuple(call.args[2:], ast.Load())) if call.args[2:] else None
    variable = scene.quote(traced[0]) if traced is not None else host
    arguments = ", ".join(scene.quote(a) for a in call.args[2:])
    elementwise = ", elementwise=True" if isinstance(scene.spot.value(call.args[0]), np.ufunc) else ""
    own_rule = scene.fix(
        "Give the derivative yourself: `jaxguide.callbacks.host_function`, or `jax.custom_jvp` by hand.",
        code=f"host_function({host}, derivative=DERIVATIVE{elementwise})({arguments})",
    )
    treat = (
        scene.fix("Treat what it returns as a constant: its derivative is then zero.", *constant) if constant else None
    )
    return scene.explanation(
        kind,
        title="A derivative through a callback",
        what=scene.what(variable, traced[1]) if traced is not None else "",
        variable=variable,
        why=f"`{host}` runs in Python outside the program, so JAX cannot look inside `{name}` to differentiate it.",
        fixes=[_in_jax(scene, call) if called(call) == "pure_callback" else None, own_rule, treat]
        if called(call) == "pure_callback"
        else [treat, own_rule],
        link=_PAGE,
    )


@explains(error_texts.CALLBACK_VMAP)
def no_method(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.vmap` of a callback without `vmap_method`."""
    place = _callback(scene)
    if place is None:
        return None
    spot, call = place
    assert spot.source is not None
    host = spot.quote(call.args[0])
    last = call.keywords[-1].value if call.keywords else call.args[-1]
    old = next((k.value for k in call.keywords if k.arg == "vmap_method"), None)

    def with_method(method: str) -> Edit:
        assert spot.source is not None
        if old is not None:
            return spot.source.replace(old, f'"{method}"')
        return spot.source.insert_after(last, f', vmap_method="{method}"')

    return scene.explanation(
        "callback_without_vmap_method",
        title="`jax.vmap` of a callback without a `vmap_method`",
        what=f"`{host}` is a function on the host, written for one row.",
        variable=host,
        why=f"Only you know whether `{host}` takes a whole batch at once, or must be called row by row.",
        fixes=[
            scene.fix("Call it row by row: always right, and slow.", with_method("sequential")),
            scene.fix(
                "Once, with the whole batch, if it works elementwise as NumPy's functions do.",
                with_method("broadcast_all") if isinstance(spot.value(call.args[0]), np.ufunc) else None,
                code='vmap_method="broadcast_all"',
            ),
        ],
        link=_PAGE,
    )


@explains(error_texts.HOST_RESULT)
def host_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a host function whose result differs from the declared one, which shows only when the program runs."""
    calls = [(s, c) for spot in scene.spots if (s := spot.source) for c in s.calls() if called(c) in _CALLBACKS]
    if len(calls) != 1 or len(calls[0][1].args) < 2:
        return None
    source, call = calls[0]
    host, promised = source.quote(call.args[0]), call.args[1]
    kind, expected, actual = found.groups()
    fixes: list[Fix | None] = []
    if isinstance(promised, ast.Call) and called(promised) == "ShapeDtypeStruct" and len(promised.args) == 2:
        shape, dtype = promised.args
        new = actual if kind == "shape" else f"{scene.jnp}.{actual}"
        fixes.append(
            scene.fix(
                "If the host function is right: promise what it returns.",
                source.replace(shape if kind == "shape" else dtype, new),
            )
        )
    definition = next(iter(source.functions(host)), None)
    returned = [n.value for n in ast.walk(definition) if isinstance(n, ast.Return) and n.value] if definition else []
    if kind == "dtype" and len(returned) == 1:
        fixes.append(
            scene.fix(
                "If the promise is right: convert the result.",
                source.replace(returned[0], f"{scene.np}.asarray({source.quote(returned[0])}, {scene.np}.{expected})"),
            )
        )
    return scene.explanation(
        "host_result",
        title="A host function did not return what was promised",
        what=f"`{host}` returned {kind} {actual}; {expected} was promised.",
        variable=host,
        why=f"The program is compiled before `{host}` runs, with the shape and dtype that were promised.",
        fixes=fixes,
        link=_PAGE,
        line=Line(source.file, source.start(call)[0]),
    )


@explains(error_texts.ORDERED_VMAP)
def ordered_batch(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.vmap` of an ordered callback."""
    place = _callback(scene)
    if place is None:
        return None
    spot, call = place
    assert spot.source is not None
    host = spot.quote(call.args[0])
    ordered = next((k for k in call.keywords if k.arg == "ordered"), None)
    return scene.explanation(
        "ordered_callback_under_vmap",
        title="`jax.vmap` of an ordered callback",
        what=f"`{spot.quote(call)}` is ordered: each call waits for the one before.",
        variable=host,
        why="`jax.vmap` runs all rows at once, so there is no first and no next.",
        fixes=[
            scene.fix(
                "Do without the order.", spot.source.replace(ordered.value, "False") if ordered is not None else None
            ),
            _as_map(scene),
        ],
        link=_PAGE,
    )


@explains(error_texts.IO_VMAP_WHILE)
def batched_loop(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.vmap` of a `while_loop` that calls the host with effects."""
    call = scene.call()
    if call is None:
        return None
    return scene.explanation(
        "io_callback_in_batched_loop",
        title="An `io_callback` in a loop under `jax.vmap`",
        what=f"`{scene.quote(call.func)}` calls the host in its body or condition.",
        variable=scene.quote(call.args[-1]) if call.args else None,
        why=(
            "`jax.vmap` runs the loop until the last row is done, so the host would be called for rows that are done "
            "already, and rows have no order."
        ),
        fixes=[
            _as_map(scene),
            scene.advice("If the host function has no side effects, call it with `jax.pure_callback`."),
        ],
        link=_PAGE,
    )


@explains(error_texts.IO_VMAP_COND)
def batched_branch(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.vmap` of a `cond` with an `io_callback` in a branch."""
    call = scene.call()
    if call is None:
        return None
    return scene.explanation(
        "io_callback_in_batched_cond",
        title="An `io_callback` in a branch under `jax.vmap`",
        what=f"`{scene.quote(call.func)}` calls the host in one of its branches.",
        variable=scene.quote(call.args[0]) if call.args else None,
        why="`jax.vmap` runs both branches for every row, so the host would be called for rows that did not ask.",
        fixes=[_as_map(scene)],
        link=_PAGE,
    )


def _as_map(scene: Scene) -> Fix | None:
    """Return the fix that runs row after row with `lax.map` instead of `jax.vmap`."""
    for spot in reversed(scene.spots):
        call = spot.source.around(spot.node, ast.Call) if spot.source else None
        if call is None or not isinstance(call.func, ast.Call) or called(call.func) != "vmap":
            continue
        if len(call.args) == 1 and len(call.func.args) == 1 and not call.func.keywords:
            assert spot.source is not None
            function, values = spot.quote(call.func.args[0]), spot.quote(call.args[0])
            return scene.fix(
                "Run row after row: `lax.map`.",
                spot.source.replace(call, f"{scene.lax}.map({function}, {values})"),
            )
    return None


def _in_jax(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix that rewrites a host function in `jax.numpy`, if all of its NumPy functions exist there."""
    value = scene.spot.value(call.args[0])
    arguments = ", ".join(scene.quote(a) for a in call.args[2:])
    sentence = "Write it in JAX, if it can be: then nothing leaves the program."
    text = scene.quote(call.args[0])
    if isinstance(value, np.ufunc) and hasattr(jnp, value.__name__):
        return scene.fix(sentence, scene.source.replace(call, f"{scene.jnp}.{value.__name__}({arguments})"))
    code = getattr(value, "__code__", None)
    if code is None:
        return None
    source = source_of(code.co_filename)
    function = source.function_at(code.co_name, code.co_firstlineno) if source is not None else None
    if source is None or function is None:
        return None
    edits: list[Edit] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if scene.spot.value(node.value) is not np:
                continue
            if not hasattr(jnp, node.attr):
                return None
            edits.append(source.replace(node.value, scene.jnp))
    return scene.fix(sentence, scene.source.replace(call, f"{text}({arguments})"), *edits) if edits else None
