"""Explain errors of optax: gradients, parameters and states that do not fit, labels, and the order of arguments."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, UserFrame
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.library_errors import call_of, is_instance, of_library
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rewrites.written_shapes import known_shape
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, parameters
from jaxguide.jaxpr.value_words import describe

_PAGE = "https://optax.readthedocs.io/en/latest/getting_started.html"
_LABELS = of_library(
    "optax",
    r"^Some parameters have no corresponding transformation\.\s*Parameter labels: "
    r"(\[.*?\])\s*Transforms keys: (\[.*?\])",
)
_LABEL_DTYPE = of_library("optax", r"to have a dtype that is a subdtype of <class 'numpy\.integer'>, got (\w+) instead")
_NEEDS_PARAMS = of_library("optax", r"^You are using a transformation that requires the current value of parameters")
_CHAIN = of_library("optax", r"^The number of updates and states has to be the same in chain")
_MISMATCH = of_library(
    "optax",
    r"pytree structure error|unsupported operand type\(s\) for|Custom node type mismatch|got incompatible "
    r"shapes for broadcasting|Expected "
    r"(?:dict|tuple|list|None)",
)


@explains(_LABELS)
def label_without_transform(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a label for which `optax.multi_transform` has no transformation."""
    labels, keys = (re.findall(r"'([^']*)'", text) for text in found.groups())
    missing = [label for label in labels if label not in keys]
    unused = [key for key in keys if key not in labels]
    if not missing:
        return None
    fix: Fix | None = None
    tables = [
        key
        for call in scene.source.calls()
        if called(call) in ("multi_transform", "partition") and call.args and isinstance(call.args[0], ast.Dict)
        for key in call.args[0].keys
        if isinstance(key, ast.Constant) and key.value in unused
    ]
    if len(missing) == len(unused) == len(tables) == 1:
        sentence = "Give the transformation the label's name."
        fix = scene.fix(sentence, scene.source.replace(tables[0], f'"{missing[0]}"'))
    said = ", ".join(f"`{label}`" for label in missing)
    return scene.explanation(
        "optax_label",
        title="A label without a transformation",
        what="Parameters are labeled {labels}; there are transformations for {keys}.".format(
            labels=said, keys=", ".join(f"`{key}`" for key in keys)
        ),
        variable=missing[0],
        why="The labels of the parameters and the keys of the transformations are the same words.",
        fixes=[
            fix,
            scene.advice(f"Add a transformation for {said}; `optax.set_to_zero()` leaves parameters as they are."),
        ],
        link="https://optax.readthedocs.io/en/latest/api/combining_optimizers.html",
    )


@explains(_NEEDS_PARAMS)
def needs_params(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `opt.update(grads, state)` for an optimizer that also reads the parameters."""
    place = call_of(scene, "update")
    if place is None or place[0].source is None or any(k.arg == "params" for k in place[1].keywords):
        return None
    spot, call = place
    if len(call.args) != 2 or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    name = _parameters(spot, call)
    sentence = "Give the parameters, too."
    fix = scene.fix(sentence, place[0].source.insert_after(call.args[-1], f", {name}")) if name is not None else None
    return scene.explanation(
        "optax_needs_params",
        title="The optimizer also needs the parameters",
        what=f"`{spot.quote(call.func)}` is given the gradients and the state.",
        variable=spot.quote(call.func),
        why="Weight decay, for one, pulls the parameters to zero, so it must know them.",
        fixes=[fix or scene.advice("Give the parameters as the third argument.")],
        link=_PAGE,
        line=spot.line,
    )


def _parameters(spot: UserFrame, call: ast.Call) -> str | None:
    """Return the name of what the same optimizer's `init` was given, if it has the structure of the gradients."""
    assert spot.source is not None
    optimizer = dotted(call.func).rpartition(".")[0]
    found = {
        dotted(one.args[0])
        for one in spot.source.calls()
        if dotted(one.func) == f"{optimizer}.init" and len(one.args) == 1 and dotted(one.args[0])
    }
    if len(found) != 1:
        return None
    (name,) = found
    value = spot.value(ast.parse(name, mode="eval").body)
    grads = spot.value(call.args[0])
    known = value is not MISSING and grads is not MISSING
    return name if known and _structure(value) == _structure(grads) else None


@explains(_CHAIN)
def arguments_swapped(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `opt.update(state, grads)`."""
    place = call_of(scene, "update")
    if place is None or len(place[1].args) < 2:
        return None
    spot, call = place
    first, last = (spot.value(node) for node in call.args[:2])
    if not _is_state(first) or _is_state(last) or spot.source is None:
        return None
    one, other = (spot.quote(node) for node in call.args[:2])
    return scene.explanation(
        "optax_update_order",
        title="The state was passed in place of the gradients",
        what=f"`{one}` is a state of the optimizer.",
        variable=one,
        why="`update` takes the gradients first, then the state.",
        fixes=[
            scene.fix(
                "Change their order.",
                spot.source.replace(call.args[0], other),
                spot.source.replace(call.args[1], one),
            )
        ],
        link=_PAGE,
        line=spot.line,
    )


def _is_state(value: Any) -> bool:
    """Return whether a value is a state of an optimizer, or a tuple of them."""
    if isinstance(value, tuple) and type(value) is tuple:
        return bool(value) and all(_is_state(part) for part in value)
    return isinstance(value, tuple) and is_instance(value, "optax")


@explains(_MISMATCH)
def do_not_fit(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain gradients, updates and parameters of different structures."""
    place = call_of(scene, "update", "apply_updates", "apply_gradients")
    if place is None or place[0].source is None:
        return None
    spot, call = place
    if called(call) == "apply_updates":
        return _updates(scene, spot, call)
    if called(call) == "apply_gradients":
        return _gradients(scene, spot, next((k.value for k in call.keywords if k.arg == "grads"), None), None)
    if len(call.args) < 2:
        return None
    value = spot.value(call.args[0])
    if value is MISSING:
        return None if "broadcasting" not in found[0] else _unlike(scene, spot, call.args[0])
    return _gradients(scene, spot, call.args[0], _of_state(spot.value(call.args[1])))


def _structure(value: Any) -> Any:
    return jax.tree.structure(value)


def _of_state(state: Any) -> Any:
    """Return the part of an optimizer's state that has the parameters' structure; MISSING if there is none."""
    waiting = [state]
    while waiting:
        part = waiting.pop(0)
        if is_instance(part, "optax", "MaskedState") or is_instance(part, "optax", "PartitionState"):
            return MISSING  # it leaves out what is not meant
        for name in ("mu", "trace", "nu"):
            if isinstance(part, tuple) and hasattr(part, "_fields") and name in part._fields:
                return getattr(part, name)
        if isinstance(part, tuple):
            waiting += part
    return MISSING


def _gradients(scene: Scene, spot: UserFrame, node: ast.expr | None, params: Any) -> Explanation | None:
    value: Any = spot.value(node) if node is not None else MISSING
    if node is None or value is MISSING or params is MISSING or spot.source is None:
        return None
    text = spot.quote(node)
    pair = isinstance(value, tuple) and len(value) == 2 and _scalar(value[0])
    if pair and (params is None or _structure(value[1]) == _structure(params)):
        return _pair(scene, spot, node, text)
    if params is None:
        return None
    if _structure(value) == _structure(params):
        return _shapes(scene, spot, text, value, params)
    own, wanted = _paths(value), _paths(params)
    lacks, more = [path for path in wanted if path not in own], [path for path in own if path not in wanted]
    what = f"`{text}` is {_shown(value)}, and the optimizer was made for {_shown(params)}."
    advice = (
        "Differentiate with respect to the parameters: they are the argument that `jax.grad` takes, by default the "
        "first."
    )
    if not lacks and not more:
        what = f"`{text}` has the parts that the optimizer was made for, in containers of other types."
        advice = "Give `init` and `update` trees of the same types: not a `FrozenDict` and a dict, for one."
    elif len(lacks) < len(wanted):
        parts = [f"`{text + lacks[0]}` is missing"] if lacks else []
        parts += [f"the optimizer does not know `{text + more[0]}`"] if more else []
        what = "Compared with what the optimizer was made for: {parts}.".format(parts=" and ".join(parts))
        advice = "Give `update` the gradients of the same parameters that `init` was given."
    return scene.explanation(
        "optax_gradients_differ",
        title="The gradients are not those of the parameters",
        what=what,
        variable=text,
        why="Each parameter is changed by its own gradient, so both have the same keys and parts.",
        fixes=[scene.advice(advice)],
        link=_PAGE,
        line=spot.line,
    )


def _paths(value: Any) -> list[str]:
    return [jax.tree_util.keystr(path) for path, _leaf in jax.tree_util.tree_leaves_with_path(value)]


def _unlike(scene: Scene, spot: UserFrame, node: ast.expr) -> Explanation | None:
    shapes = re.findall(r"\([\d, ]*\)", scene.message)
    if len(shapes) != 2:
        return None
    return _other_shape(scene, spot, spot.quote(node), *shapes)


def _shapes(scene: Scene, spot: UserFrame, text: str, value: Any, params: Any) -> Explanation | None:
    """Explain gradients whose shapes are not those of the parameters that an optimizer was made for."""
    leaves, wanted = jax.tree_util.tree_leaves_with_path(value), jax.tree.leaves(params)
    wrong = [
        (text + jax.tree_util.keystr(path), np.shape(leaf), np.shape(own))
        for (path, leaf), own in zip(leaves, wanted, strict=True)
        if np.shape(leaf) != np.shape(own)
    ]
    if not wrong:
        return None
    return _other_shape(scene, spot, *wrong[0])


def _other_shape(scene: Scene, spot: UserFrame, name: str, shape: Any, own: Any) -> Explanation | None:
    return scene.explanation(
        "optax_gradients_differ",
        title="The gradients are not those of the parameters",
        what=f"`{name}` has shape {shape}, and the optimizer was made for a parameter of shape {own}.",
        variable=name,
        why="The optimizer keeps an average for every parameter, of the parameter's shape.",
        fixes=[scene.advice("Give `init` and `update` the same parameters, or call `init` again for new ones.")],
        link=_PAGE,
        line=spot.line,
    )


@explains(error_texts.NOT_AN_ARGUMENT)
def optimizer_as_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an optimizer given to a jitted function."""
    call = scene.call()
    place = function_behind(scene.spot, call.func) if call is not None else None
    if call is None or place is None:
        return None
    name = re.split(r"[.\[]", found[2])[0]
    names = [a.arg for a in parameters(place[1])]
    given = argument_of(call, names.index(name), name) if name in names else None
    if given is None or not is_instance(scene.spot.value(given), "optax"):
        return None
    text = scene.quote(given)
    return scene.explanation(
        "optax_optimizer_as_argument",
        title="`jax.jit` was given an optimizer",
        what=f"`{text}` is a pair of functions, `init` and `update`.",
        variable=text,
        why="Every argument of a jitted function becomes a traced array, unless it is declared static.",
        fixes=[
            scene.fix(
                f"Make `{name}` static: JAX compiles once for each optimizer.",
                *static_edits(scene, *place, name),
            ),
            scene.advice("Or leave it out of the arguments, and use it from outside the function."),
        ],
        link=_PAGE,
    )


def _pair(scene: Scene, spot: UserFrame, node: ast.expr, text: str) -> Explanation | None:
    assert spot.source is not None
    found = [
        one
        for one in ast.walk(spot.source.tree)
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and dotted(one.targets[0]) == text and text
    ]
    made = found[0] if len(found) == 1 and isinstance(node, ast.Name) else None
    sentence = "Take both apart: the value comes first."
    return scene.explanation(
        "optax_value_and_gradients",
        title="A value and its gradients were passed in place of the gradients",
        what=f"`{text}` is a pair: a value and gradients.",
        variable=text,
        why="`jax.value_and_grad` returns both, and the optimizer takes the gradients.",
        fixes=[
            scene.fix(sentence, spot.source.insert_before(made.targets[0], "value, "))
            if made is not None
            else scene.advice(sentence)
        ],
        link=_PAGE,
        line=spot.line,
    )


def _updates(scene: Scene, spot: UserFrame, call: ast.Call) -> Explanation | None:
    if len(call.args) != 2 or spot.source is None:
        return None
    params, updates = (spot.value(node) for node in call.args)
    if params is MISSING or updates is MISSING:
        return None
    text = spot.quote(call.args[1])
    same = _structure(params)
    if _is_state(updates):
        return scene.explanation(
            "optax_state_for_updates",
            title="The state was passed in place of the updates",
            what=f"`{text}` is a state of the optimizer.",
            variable=text,
            why="`update` returns the updates, which are added to the parameters, and the state for the next step.",
            fixes=[scene.advice("Give the first of the two things that `update` returned.")],
            link=_PAGE,
            line=spot.line,
        )
    if isinstance(updates, tuple) and len(updates) == 2 and _structure(updates[0]) == same:
        found = [
            one
            for one in ast.walk(spot.source.tree)
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and dotted(one.targets[0]) == text and text
        ]
        made = found[0] if len(found) == 1 and _is_state(updates[1]) else None
        state = argument_of(made.value, 1, "state") if made is not None and isinstance(made.value, ast.Call) else None
        sentence = "Take both apart: the updates come first."
        return scene.explanation(
            "optax_updates_and_state",
            title="Updates and state were passed in place of the updates",
            what=f"`{text}` is a pair: updates and a state.",
            variable=text,
            why="`update` returns the updates, which are added to the parameters, and the state for the next step.",
            fixes=[
                scene.fix(sentence, spot.source.insert_after(made.targets[0], f", {spot.quote(state)}"))
                if made is not None and isinstance(state, ast.Name)
                else scene.advice(sentence)
            ],
            link=_PAGE,
            line=spot.line,
        )
    if _structure(updates) == same:
        return None
    return scene.explanation(
        "optax_updates_differ",
        title="The updates are not those of the parameters",
        what=f"`{text}` is {_shown(updates)}, and `{spot.quote(call.args[0])}` is {_shown(params)}.",
        variable=text,
        why="Each parameter is changed by its own update, so both have the same keys and parts.",
        fixes=[scene.advice("Give the parameters first, and the updates that `update` returned for them.")],
        link=_PAGE,
        line=spot.line,
    )


def _scalar(value: Any) -> bool:
    return getattr(value, "shape", None) == ()


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(f"`{key}`" for key in list(value)[:6])
        return plural("a dict with the key {keys}", "a dict with the keys {keys}", len(value), keys=keys)
    return describe(value)


@explains(_LABEL_DTYPE)
def labels_of_floats(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `softmax_cross_entropy_with_integer_labels` with labels that are not integers."""
    call = scene.call()
    if call is None or called(call) != "softmax_cross_entropy_with_integer_labels":
        return None
    nodes = [argument_of(call, 0, "logits"), argument_of(call, 1, "labels")]
    if nodes[0] is None or nodes[1] is None:
        return None
    logits, labels = (known_shape(scene, node) for node in nodes if node is not None)
    text = scene.quote(nodes[1])
    fixes: list[Fix | None] = []
    if logits is not None and logits == labels and isinstance(call.func, ast.Attribute) and len(call.args) == 2:
        new = f"{scene.quote(call.func.value)}.softmax_cross_entropy"
        fixes.append(
            scene.fix(
                "For probabilities, such as one-hot rows, there is another function.",
                scene.source.replace(call.func, new),
            )
        )
    elif logits is not None and labels is not None and len(labels) == len(logits) - 1:
        fixes.append(
            scene.fix("Make integers of them.", scene.source.replace(nodes[1], f"{scene.atom(nodes[1])}.astype(int)"))
        )
    return scene.explanation(
        "labels_not_integers",
        title="Labels that are not integers",
        what=f"`{text}` is of dtype {found[1]}.",
        variable=text,
        why="Each label is the number of a class, which picks one of the logits.",
        fixes=fixes or [scene.advice("Give the numbers of the classes, with one axis fewer than the logits.")],
        link="https://optax.readthedocs.io/en/latest/api/losses.html",
    )
