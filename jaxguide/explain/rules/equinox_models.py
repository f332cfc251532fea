"""Explain errors that models of equinox meet in JAX's own transformations: what of them is not an array."""

import ast
import dataclasses
import re
from typing import Any

import jax

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.compat.error_texts import Phrase
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.library_errors import is_instance, of_library
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called

_PAGE = "https://docs.kidger.site/equinox/all-of-equinox/"
# JAX's transformation -> equinox's, which leaves alone what is not an array.
_FILTERED = {
    "jit": "filter_jit",
    "grad": "filter_grad",
    "value_and_grad": "filter_value_and_grad",
    "vmap": "filter_vmap",
    "jacfwd": "filter_jacfwd",
    "jacrev": "filter_jacrev",
    "hessian": "filter_hessian",
}
_NOT_ARRAY_OUT = Phrase(
    TypeError,
    r"Output from batched function .*? with type <class '([^']+)'> is not "
    r"a valid JAX type",
)
_ARGUMENT = Phrase(TypeError, r"Argument '.*?' of type '<class '([\w.]+)'>' is not a valid JAX type")
_FROZEN = Phrase(dataclasses.FrozenInstanceError, r"^cannot assign to field '(\w+)'$")
_INIT = of_library("optax", r"requires ndarray or scalar arguments, got <class '([^']+)'>")
_APPLY = of_library("optax", r"unsupported operand type\(s\) for \+: '(\w+)' and 'NoneType'")
# 0.10 does not say which class it is.
_METADATA = Phrase(
    ValueError,
    r"Exception raised while checking equality of metadata fields of pytree(?: node of type <class '([^']+)'>)?",
)


def _equinox(scene: Scene) -> str:
    """Return the student's name for equinox."""
    return scene.name_of("equinox") if "eqx" not in scene.spot.frame.f_globals else "eqx"


def _model(scene: Scene, call: ast.Call) -> tuple[ast.expr, Any] | None:
    """Return the argument of a call that is a model of equinox."""
    for node in [*call.args, *(k.value for k in call.keywords)]:
        value = scene.spot.value(node)
        if value is not MISSING and is_instance(value, "equinox", "Module"):
            return node, value
    return None


@explains(error_texts.NOT_AN_ARGUMENT, error_texts.NOT_JAX_TYPE, _ARGUMENT)
def model_as_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a model under `jax.jit`, `jax.grad` or `lax.scan`."""
    call = scene.call()
    place = _model(scene, call) if call is not None else None
    if call is None or place is None:
        return None
    model = scene.quote(place[0])
    names = [text for text in found.groups() if text and re.fullmatch(r"[\w.]+", text)]
    kinds = {type(leaf).__name__ for leaf in jax.tree.leaves(place[1]) if not is_array(leaf)}
    if not kinds & {name.split(".")[-1] for name in names}:  # another argument is not an array
        return None
    if called(call) in ("scan", "while_loop", "fori_loop"):
        return _explained(
            scene,
            model,
            call,
            scene.advice(
                (
                    "Take the arrays out, `params, static = {eqx}.partition({model}, {eqx}.is_array)`, and "
                    "put the model "
                    "together inside: `{eqx}.combine(params, static)`."
                ).format(eqx=_equinox(scene), model=model)
            ),
            f"lax.{called(call)}",
        )
    nodes = _transforms(scene, call)
    if not nodes:
        return None
    first = dotted(nodes[0]).split(".")[-1]
    eqx = _equinox(scene)
    edits: list[Edit | None] = []
    for node in nodes:
        name = dotted(node).split(".")[-1]
        outer = scene.source.parents.get(node)
        options = outer.keywords if isinstance(outer, ast.Call) and outer.func is node else []
        if any(k.arg not in ("has_aux",) for k in options) or (isinstance(outer, ast.Call) and len(outer.args) > 1):
            edits.append(None)
        else:
            edits.append(scene.source.replace(node, f"{eqx}.{_FILTERED[name]}"))
    sentence = "Use equinox's transformation, which leaves alone what is not an array: `{name}`.".format(
        name=f"{eqx}.{_FILTERED[first]}"
    )
    fix = scene.fix(sentence, *edits) if all(edits) else None
    return _explained(scene, model, call, fix or scene.advice(sentence), f"jax.{first}")


def _explained(scene: Scene, model: str, call: ast.Call, fix: Fix, transformation: str) -> Explanation | None:
    return scene.explanation(
        "equinox_model",
        title=f"`{transformation}` was given a model with more than arrays in it",
        what=f"`{model}` is a model of equinox, with functions or settings among its parts.",
        variable=model,
        why=f"A model is a pytree, and `{transformation}` takes every part of it for an array.",
        fixes=[fix],
        link=_PAGE,
    )


def _transforms(scene: Scene, call: ast.Call) -> list[ast.expr]:
    """Return where the transformations of the called function are named: in the call, an assignment or a decorator."""
    node: ast.expr = call.func
    source = scene.source
    if isinstance(node, ast.Name):
        assigned = [
            one.value
            for one in ast.walk(source.tree)
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and dotted(one.targets[0]) == node.id
        ]
        functions = list(source.functions(node.id))
        if len(assigned) + len(functions) != 1:
            return []
        if functions:
            found = [d.func if isinstance(d, ast.Call) else d for d in functions[0].decorator_list]
            known = [d for d in found if _is_transform(d)]
            return known if len(known) == len(found) else []
        node = assigned[0]
    nodes: list[ast.expr] = []
    while isinstance(node, ast.Call):
        if not _is_transform(node.func):
            return []
        nodes.append(node.func)
        if not node.args:
            return []
        node = node.args[0]
    return nodes


def _is_transform(node: ast.expr) -> bool:
    name = dotted(node)
    return name.split(".")[-1] in _FILTERED and not name.startswith(("eqx.", "equinox."))


@explains(_NOT_ARRAY_OUT)
def model_as_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.vmap(make_model)(keys)`."""
    call = scene.call()
    if call is None or not scene.spot.frame.f_globals.get("eqx", scene.spot.frame.f_globals.get("equinox")):
        return None
    nodes = _transforms(scene, call)
    if len(nodes) != 1 or dotted(nodes[0]).split(".")[-1] != "vmap":
        return None
    outer = scene.source.parents.get(nodes[0])
    if isinstance(outer, ast.Call) and (outer.keywords or len(outer.args) != 1):
        return None
    kind = found[1].split(".")[-1]
    return scene.explanation(
        "equinox_model",
        title="`{transformation}` was given a model with more than arrays in it".format(transformation="jax.vmap"),
        what=f"`{scene.quote(call.func)}` returns a `{kind}`, which is not an array, as a part of its result.",
        variable=scene.quote(call.func),
        why="A model is a pytree, and `{transformation}` takes every part of it for an array.".format(
            transformation="jax.vmap"
        ),
        fixes=[
            scene.fix(
                "Use equinox's transformation, which leaves alone what is not an array: `{name}`.".format(
                    name=f"{_equinox(scene)}.filter_vmap"
                ),
                scene.source.replace(nodes[0], f"{_equinox(scene)}.filter_vmap"),
            )
        ],
        link=_PAGE,
    )


@explains(_INIT)
def optimizer_of_model(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `opt.init(model)`."""
    call = scene.call()
    place = _model(scene, call) if call is not None else None
    if call is None or place is None or called(call) != "init":
        return None
    text, eqx = scene.quote(place[0]), _equinox(scene)
    return scene.explanation(
        "equinox_optimizer",
        title="An optimizer was given a model with more than arrays in it",
        what=f"`{text}` is a model of equinox, with functions or settings among its parts.",
        variable=text,
        why="An optimizer keeps an array for every part of what it is given.",
        fixes=[
            scene.fix(
                "Give it the arrays alone.", scene.source.replace(place[0], f"{eqx}.filter({text}, {eqx}.is_array)")
            )
        ],
        link=_PAGE,
    )


@explains(_APPLY)
def updates_of_model(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `optax.apply_updates(model, updates)`."""
    call = scene.call()
    place = _model(scene, call) if call is not None else None
    if call is None or place is None or called(call) != "apply_updates":
        return None
    text, eqx = scene.quote(place[0]), _equinox(scene)
    return scene.explanation(
        "equinox_optimizer",
        title="An optimizer was given a model with more than arrays in it",
        what=f"`{text}` is a model of equinox, with functions or settings among its parts.",
        variable=text,
        why="The updates are None for every part that is not an array, and None cannot be added.",
        fixes=[
            scene.fix(
                "Use equinox's function, which leaves it alone.",
                scene.source.replace(call.func, f"{eqx}.apply_updates"),
            )
        ],
        link=_PAGE,
    )


@explains(_FROZEN)
def frozen_model(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `model.weight = ...` for a model of equinox or a dataclass of flax."""
    statement = scene.spot.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    if not isinstance(target, ast.Attribute) or not isinstance(statement, ast.Assign | ast.AugAssign):
        return None
    owner = scene.spot.value(target.value)
    equinox = is_instance(owner, "equinox", "Module")
    # `flax.struct.dataclass` gives classes the method `replace` and this mark.
    if owner is MISSING or not (equinox or hasattr(type(owner), "_flax_dataclass")):
        return None
    name, field = scene.quote(target.value), target.attr
    declared = [f.name for f in dataclasses.fields(owner)]
    fix: Fix | None = None
    if field not in declared and name == "self":
        fix = scene.advice(f"Declare the field in the class, `{field}: jax.Array`, and set it in `__init__`.")
    elif isinstance(target.value, ast.Name) and not _is_read_later(scene, statement, name):
        function = f"{_equinox(scene)}.tree_at" if equinox else f"{name}.replace"
        fix = scene.advice(f"Make a new one that differs in this field, with `{function}`, and return it.")
    elif isinstance(target.value, ast.Name) and isinstance(statement, ast.Assign):
        value = scene.quote(statement.value)
        new = f"{name} = {name}.replace({field}={value})"
        if equinox:
            new = f"{name} = {_equinox(scene)}.tree_at(lambda m: m.{field}, {name}, {value})"
        fix = scene.fix("Make a new one that differs in this field.", scene.source.replace(statement, new))
    return scene.explanation(
        "frozen_model",
        title="A model cannot be changed in place",
        what=f"`{name}` is an object of type `{type(owner).__name__}`, whose fields are set once.",
        variable=scene.quote(target),
        why="It is a pytree, and the same one may already be part of a recorded program.",
        fixes=[
            fix
            or scene.advice(
                "Make a new one that differs in this field: `{function}`.".format(
                    function="eqx.tree_at" if equinox else f"{name}.replace"
                )
            )
        ],
        link=_PAGE if equinox else "https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html",
    )


def _is_read_later(scene: Scene, statement: ast.stmt, name: str) -> bool:
    """Return whether a name is of use after a statement: anywhere at the top level, or if its function reads it on."""
    function = scene.spot.function
    if function is None:
        return True
    nodes = (n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    return name != "self" and any(node.lineno > (statement.end_lineno or statement.lineno) for node in nodes)


@explains(_METADATA)
def array_in_static_field(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an array in a static field of a model, or in one of flax with `pytree_node=False`."""
    source = scene.source
    known = [value for value in _dataclasses(scene) if found[1] in (None, f"{value.__module__}.{value.__qualname__}")]
    held_by = {one: fields for one in known if (fields := _held(scene, one, _static(one)))}
    if len(held_by) != 1:
        return None
    ((model, held),) = held_by.items()
    kind = model.__name__
    classes = [n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef) and n.name == kind]
    name = held[0]
    fix: Fix | None = None
    sentence = "Make it an ordinary field: an array is traced, and may then differ from call to call."
    declared = [
        n
        for owner in classes
        for n in owner.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id == name
    ]
    if len(declared) == 1 and isinstance(declared[0].value, ast.Call) and len(declared[0].value.keywords) == 1:
        target = declared[0]
        if not declared[0].value.args:
            text = f"{source.quote(target.target)}: {source.quote(target.annotation)}"
            fix = scene.fix(sentence, source.replace(target, text))
    return scene.explanation(
        "array_in_static_field",
        title="An array in a static field",
        what=f"The field `{name}` of `{kind}` is static, and holds an array.",
        variable=name,
        why="JAX compares static fields with `==` to find the compiled program, and arrays give no single answer.",
        fixes=[fix or scene.advice(sentence)],
        link=f"{error_texts.API}/jax.tree_util.register_dataclass.html",
    )


def _dataclasses(scene: Scene) -> list[type]:
    """Return the dataclasses among the student's names."""
    values = [value for spot in scene.spots for value in {**spot.frame.f_globals, **spot.frame.f_locals}.values()]
    return list(dict.fromkeys(v for v in values if isinstance(v, type) and dataclasses.is_dataclass(v)))


def _static(kind: type) -> list[str]:
    """Return the fields that are not part of the pytree: `static=True`, and `pytree_node=False` of flax."""
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.metadata.get("static") or field.metadata.get("pytree_node") is False
    ]


def _held(scene: Scene, kind: type, static: list[str]) -> list[str]:
    """Return the static fields that hold an array in an instance in the student's frames, or by their annotation."""
    for spot in scene.spots:
        for value in spot.frame.f_locals.values():
            if isinstance(value, kind):
                return [name for name in static if is_array(vars(value).get(name))]
    words = ("Array", "ndarray")
    annotations = {f.name: f.type for f in dataclasses.fields(kind)}
    return [
        name
        for name in static
        if any(word in str(getattr(annotations[name], "__name__", annotations[name])) for word in words)
    ]
