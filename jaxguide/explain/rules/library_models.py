"""Explain errors of equinox, optax and numpyro: models that are not arrays, optimizers, and sites of a model."""

import ast
import dataclasses
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.frames import package_of
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts, library_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Condition, Facts, Part, Probe
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import makers
from jaxguide.jaxpr.value_words import describe

# Equinox: models with more than arrays in them, and fields that are set once.

_EQUINOX = "https://docs.kidger.site/equinox/all-of-equinox/"
_STRUCT = "https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html"
# JAX's transformations for which equinox has one that leaves alone what is not an array.
_FILTERED = ("jit", "grad", "value_and_grad", "vmap", "jacfwd", "jacrev", "hessian")


def _equinox(facts: Facts) -> str:
    """Say the student's name for equinox."""
    return "eqx" if "eqx" in facts.scene.spot.frame.f_globals else facts.scene.name_of("equinox")


def _is_model(value: Any) -> bool:
    return probes.is_of(value, "equinox") and not isinstance(value, type)


def _transformation(facts: Facts) -> ast.expr | None:
    """Look at the only transformation of the called function, written in a call, an assignment or a decorator."""
    func = facts.call().func
    functions = list(facts.scene.source.functions(func.id)) if isinstance(func, ast.Name) else []
    made = [one.func for one in makers(facts.scene, facts.call()) if len(one.args) == 1 and not one.keywords]
    found = functions[0].decorator_list if len(functions) == 1 else made
    is_known = len(found) == 1 and dotted(found[0]).split(".")[-1] in _FILTERED
    return found[0] if is_known and not dotted(found[0]).startswith(("eqx.", "equinox.")) else None


def _holds_what_is_said(facts: Facts) -> bool:
    """Ask whether the model has a part of the type that the message names, so that no other argument is to blame."""
    kinds = {type(leaf).__name__ for leaf in jax.tree.leaves(facts.value("x"))}
    return any(text.split(".")[-1] in kinds for text in facts.found.groups() if text)


_MODEL: dict[str, Any] = {
    "x": probes.given(_is_model),
    "eqx": _equinox,
    "transformation": _transformation,
    "what": "`{x}` is a model of equinox, with functions or settings among its parts.",
    "link": _EQUINOX,
}
_ALONE = "Use equinox's transformation, which leaves alone what is not an array: `{eqx}.filter_{transformation.name}`."
entry(
    "equinox_model",
    error_texts.NOT_AN_ARGUMENT,
    error_texts.NOT_JAX_TYPE,
    **_MODEL,
    when=_holds_what_is_said,
    by=probes.words(("jax.{transformation.name}", "{f}")),
    title="`{by}` was given a model with more than arrays in it",
    why="A model is a pytree, and `{by}` takes every part of it for an array.",
    fixes=Swap(_ALONE, transformation="{eqx}.filter_{transformation.name}"),
    otherwise=(
        "Take the arrays out, `params, static = {eqx}.partition({x}, {eqx}.is_array)`, and put the model together "
        "inside: `{eqx}.combine(params, static)`."
    ),
)
entry(
    "equinox_model",
    library_texts.NOT_ARRAY_OUT,
    **{
        **_MODEL,
        "x": probes.function,
        "what": "`{x}` returns a `{type}`, which is not an array, as a part of its result.",
    },
    when=lambda facts: bool({"eqx", "equinox"} & set(facts.scene.spot.frame.f_globals)),
    title="`jax.vmap` was given a model with more than arrays in it",
    why="A model is a pytree, and `jax.vmap` takes every part of it for an array.",
    fixes=Swap(_ALONE, transformation="{eqx}.filter_{transformation.name}"),
)
_OPTIMIZED: dict[str, Any] = {**_MODEL, "title": "An optimizer was given a model with more than arrays in it"}
entry(
    "equinox_optimizer",
    library_texts.OPTAX_INIT,
    **_OPTIMIZED,
    when=probes.calls("init"),
    why="An optimizer keeps an array for every part of what it is given.",
    fixes=Swap("Give it the arrays alone.", x="{eqx}.filter({x}, {eqx}.is_array)"),
)
entry(
    "equinox_optimizer",
    library_texts.OPTAX_APPLY,
    **{**_OPTIMIZED, "x": probes.argument(0)},
    when=lambda facts: called(facts.call()) == "apply_updates" and _is_model(facts.value("x")),
    why="The updates are None for every part that is not an array, and None cannot be added.",
    fixes=Swap("Use equinox's function, which leaves it alone.", f="{eqx}.apply_updates"),
)


def _is_undeclared(facts: Facts) -> bool:
    fields = [field.name for field in dataclasses.fields(facts.value("model"))]
    return str(facts["model"]) == "self" and facts["x"].name not in fields


def _changed(facts: Facts) -> str | None:
    """Say how to make a changed model of equinox, or an object of `flax.struct.dataclass`, which leaves a mark."""
    if _is_model(facts.value("model")):
        return facts.say("{eqx}.tree_at(lambda m: m.{x.name}, {model}, {assigned})")
    is_of_flax = hasattr(type(facts.value("model")), "_flax_dataclass")
    return facts.say("{model}.replace({x.name}={assigned})") if is_of_flax else None


entry(
    "frozen_model",
    library_texts.FROZEN_FIELD,
    x=probes.target,
    model=lambda facts: getattr(facts.node("x"), "value", None),
    eqx=_equinox,
    changed=_changed,
    title="A model cannot be changed in place",
    what="`{model}` is an object of type `{model.type}`, whose fields are set once.",
    why="It is a pytree, and the same one may already be part of a recorded program.",
    when=probes.knows("changed"),
    fixes=Either(
        Words("Declare the field in the class, `{x.name}: jax.Array`, and set it in `__init__`.", when=_is_undeclared),
        Swap(
            "Make a new one that differs in this field.",
            when=lambda facts: facts.scene.spot.function is None and probes.is_written("statement", ast.Assign)(facts),
            statement="{model} = {changed}",
        ),
        "Make a new one that differs in this field, and return it: `{changed}`.",
    ),
    page=lambda facts: _EQUINOX if _is_model(facts.value("model")) else _STRUCT,
    link="{page}",
)


def _static_arrays(facts: Facts) -> list[tuple[str, str]]:
    """List the static fields of the student's dataclasses that are annotated as arrays, each after its class."""
    names = [value for spot in facts.scene.spots for value in {**spot.frame.f_globals, **spot.frame.f_locals}.values()]
    kinds = dict.fromkeys(one for one in names if isinstance(one, type) and dataclasses.is_dataclass(one))
    return [
        (kind.__name__, one.name)
        for kind in kinds
        for one in dataclasses.fields(kind)
        if (one.metadata.get("static") or one.metadata.get("pytree_node") is False)
        and re.search("Array|ndarray", getattr(one.type, "__name__", str(one.type)))
        and (not facts.knows("g1") or facts["g1"].endswith(kind.__qualname__))
    ]


def _declared(facts: Facts) -> ast.AnnAssign | None:
    """Look at where the field is declared with nothing but that it is static."""
    nodes = [one for one in ast.walk(facts.scene.source.tree) if isinstance(one, ast.AnnAssign)]
    fields = [one for one in nodes if dotted(one.target) == facts["x"] and isinstance(one.value, ast.Call)]
    return fields[0] if len(fields) == 1 and len(list(ast.iter_child_nodes(fields[0].value))) == 2 else None  # type: ignore[arg-type]


entry(
    "array_in_static_field",
    structure_texts.ARRAY_IN_METADATA,
    held=_static_arrays,
    when=lambda facts: len({kind for kind, _field in facts["held"]}) == 1,
    x=lambda facts: facts["held"][0][1],
    declared=_declared,
    annotation=lambda facts: getattr(facts.node("declared"), "annotation", None),
    title="An array in a static field",
    what="The field `{x}` of `{held[0][0]}` is static, and holds an array.",
    why="JAX compares static fields with `==` to find the compiled program, and arrays give no single answer.",
    fixes=Swap(
        "Make it an ordinary field: an array is traced, and may then differ from call to call.",
        or_say=True,
        declared="{x}: {annotation}",
    ),
    link=f"{error_texts.API}/jax.tree_util.register_dataclass.html",
)


# Optax: what optimizers and their updates are given.


def _is_state(value: Any) -> bool:
    """Return whether a value is a state of an optimizer, or a tuple of them."""
    if type(value) is tuple:
        return bool(value) and all(_is_state(part) for part in value)
    return isinstance(value, tuple) and probes.is_of(value, "optax")


def _made_for(state: Any) -> Any:
    """Return the part of an optimizer's state that has the parameters' structure; `MISSING` if there is none."""
    waiting = [state]
    while waiting:
        part = waiting.pop(0)
        if type(part).__name__ in ("MaskedState", "PartitionState"):
            return MISSING  # it leaves out what is not meant
        for name in ("mu", "trace", "nu"):
            if name in getattr(part, "_fields", ()):
                return getattr(part, name)
        waiting += part if isinstance(part, tuple) else ()
    return MISSING


def _wanted(facts: Facts) -> Any:
    """Find what the gradients must be like: what the optimizer was made for."""
    wanted = _made_for(facts.value("state"))
    return wanted if wanted is not MISSING and facts.value("grads") is not MISSING else None


def _is_like(one: Any, other: Any) -> bool:
    structures: list[Any] = [jax.tree.structure(value) for value in (one, other)]
    return bool(structures[0] == structures[1])


def _paths(value: Any) -> list[str]:
    return [jax.tree_util.keystr(path) for path, _leaf in jax.tree_util.tree_leaves_with_path(value)]


def _lacking(facts: Facts) -> str | None:
    """Say a part that the parameters have and the gradients have not, if they have other parts of them."""
    own, wanted = _paths(facts.value("x")), _paths(facts["wanted"])
    lacks = [path for path in wanted if path not in own]
    return lacks[0] if 0 < len(lacks) < len(wanted) else None


def _has_other_shapes(facts: Facts) -> bool:
    """Ask whether gradients have other shapes than the parameters, or only the message knows them."""
    if facts.value("x") is MISSING:
        return True
    own, wanted = (jax.tree.map(np.shape, one) for one in (facts.value("x"), facts["wanted"]))
    return _is_like(facts.value("x"), facts["wanted"]) and own != wanted


def _shown(name: str) -> Probe:
    """Say what a value is, a dict by its keys."""

    def found(facts: Facts) -> str:
        value = facts[name].value if isinstance(facts[name], Part) else facts[name]
        keys = ", ".join(f"`{key}`" for key in list(value)[:6]) if isinstance(value, dict) else ""
        words = "a dict with the key {keys}", "a dict with the keys {keys}"
        return plural(*words, len(value), keys=keys) if keys else describe(value)

    return found


def _only_in(facts: Facts, one: str, other: str) -> list[str]:
    """Return the names in one group of the message that are not in another."""
    return [name for name in probes.names_in_group(facts, one) if name not in probes.names_in_group(facts, other)]


def _unused_key(facts: Facts) -> ast.expr | None:
    """Look at the only key of the transformations that no label has, where the message has one label without one."""
    unused, calls = _only_in(facts, "keys", "labels"), facts.scene.source.calls()
    tables = [one.args[0] for one in calls if called(one) in ("multi_transform", "partition") and one.args]
    keys = [key for table in tables for key in getattr(table, "keys", [])]
    found = [key for key in keys if isinstance(key, ast.Constant) and key.value in unused]
    return found[0] if len(found) == len(unused) == len(_only_in(facts, "labels", "keys")) == 1 else None


_OPTAX = "https://optax.readthedocs.io/en/latest"
_UPDATE: dict[str, Any] = {
    "run": probes.running("update", "apply_gradients", "apply_updates"),
    "line": "run",
    "grads": probes.one_of(probes.keyword("grads", of="run"), probes.argument(0, of="run")),
    "state": probes.argument(1, of="run"),
    "x": probes.fact("grads"),
    "wanted": _wanted,
    "link": f"{_OPTAX}/getting_started.html",
}
entry(
    "optax_label",
    library_texts.OPTAX_LABELS,
    x=lambda facts: next(iter(_only_in(facts, "labels", "keys")), None),
    missing=lambda facts: ", ".join(f"`{label}`" for label in _only_in(facts, "labels", "keys")),
    present=probes.listed("keys"),
    written=_unused_key,
    title="A label without a transformation",
    what="Parameters are labeled {missing}; there are transformations for {present}.",
    why="The labels of the parameters and the keys of the transformations are the same words.",
    fixes=[
        Swap("Give the transformation the label's name.", written='"{x}"'),
        "Add a transformation for {missing}; `optax.set_to_zero()` leaves parameters as they are.",
    ],
    link=f"{_OPTAX}/api/combining_optimizers.html",
)
entry(
    "optax_needs_params",
    library_texts.OPTAX_NEEDS_PARAMS,
    **{**_UPDATE, "x": probes.function_of("run")},
    title="The optimizer also needs the parameters",
    what="`{x}` is given the gradients and the state.",
    why="Weight decay, for one, pulls the parameters to zero, so it must know them.",
    fixes="Give the parameters as the third argument: `{x}({grads}, {state}, params)`.",
)
entry(
    "optax_update_order",
    library_texts.OPTAX_CHAIN,
    **_UPDATE,
    when=lambda facts: _is_state(facts.value("x")) and not _is_state(facts.value("state")),
    title="The state was passed in place of the gradients",
    what="`{x}` is a state of the optimizer.",
    why="`update` takes the gradients first, then the state.",
    fixes=Swap("Change their order.", x="{state}", state="{x}"),
)


def _runs(*names: str) -> Condition:
    """Ask which of these functions is running."""
    return lambda facts: called(facts.node("run")) in names


_adds = _runs("apply_updates")


def _is_pair(facts: Facts) -> bool:
    value = facts.value("x")
    return type(value) is tuple and len(value) == 2


_ADDED: dict[str, Any] = {
    **_UPDATE,
    "params": probes.fact("grads"),
    "x": probes.fact("state"),
    "why": "`update` returns the updates, which are added to the parameters, and the state for the next step.",
}
entry(
    "optax_state_for_updates",
    library_texts.OPTAX_MISMATCH,
    **_ADDED,
    when=[_adds, lambda facts: _is_state(facts.value("x"))],
    title="The state was passed in place of the updates",
    what="`{x}` is a state of the optimizer.",
    fixes="Give the first of the two things that `update` returned.",
)
entry(
    "optax_updates_and_state",
    library_texts.OPTAX_MISMATCH,
    **_ADDED,
    when=[_adds, _is_pair, lambda facts: _is_like(facts.value("x")[0], facts.value("params"))],
    title="Updates and state were passed in place of the updates",
    what="`{x}` is a pair: updates and a state.",
    fixes="Take both apart: the updates come first.",
)
entry(
    "optax_updates_differ",
    library_texts.OPTAX_MISMATCH,
    **{**_ADDED, "why": "Each parameter is changed by its own update, so both have the same keys and parts."},
    when=[_adds, lambda facts: not _is_like(facts.value("x"), facts.value("params"))],
    own=_shown("x"),
    all=_shown("params"),
    title="The updates are not those of the parameters",
    what="`{x}` is {own}, and `{params}` is {all}.",
    fixes="Give the parameters first, and the updates that `update` returned for them.",
)
entry(
    "optax_value_and_gradients",
    library_texts.OPTAX_MISMATCH,
    **_UPDATE,
    when=[
        _is_pair,
        lambda facts: getattr(facts.value("x")[0], "shape", None) == (),
        lambda facts: _runs("apply_gradients")(facts) or _is_like(facts.value("x")[1], facts["wanted"]),
    ],
    title="A value and its gradients were passed in place of the gradients",
    what="`{x}` is a pair: a value and gradients.",
    why="`jax.value_and_grad` returns both, and the optimizer takes the gradients.",
    fixes="Take both apart: the value comes first.",
)
entry(
    "optax_gradients_differ",
    library_texts.OPTAX_SHAPES,
    **_UPDATE,
    when=[_runs("update"), _has_other_shapes],
    title="The gradients are not those of the parameters",
    what="`{x}` has another shape than the parameter that the optimizer was made for: {one} and {other}.",
    why="The optimizer keeps an average for every parameter, of the parameter's shape.",
    fixes="Give `init` and `update` the same parameters, or call `init` again for new ones.",
)
entry(
    "optax_gradients_differ",
    library_texts.OPTAX_MISMATCH,
    **_UPDATE,
    when=lambda facts: not _is_like(facts.value("x"), facts["wanted"]),
    lacking=_lacking,
    own=_shown("x"),
    all=_shown("wanted"),
    title="The gradients are not those of the parameters",
    what=(
        "Compared with what the optimizer was made for, `{x}{lacking}` is missing.",
        "`{x}` is {own}, and the optimizer was made for {all}.",
    ),
    why="Each parameter is changed by its own gradient, so both have the same keys and parts.",
    fixes=(
        "Give `update` the gradients of the parameters that `init` was given: they are the argument that `jax.grad` "
        "takes, by default the first."
    ),
)


entry(
    "labels_not_integers",
    library_texts.OPTAX_LABEL_DTYPE,
    x=probes.argument(1, "labels"),
    logits=probes.argument(0, "logits"),
    when=probes.calls("softmax_cross_entropy_with_integer_labels"),
    module=probes.owner_of("call"),
    title="Labels that are not integers",
    what="`{x}` is of dtype {dtype}.",
    why="Each label is the number of a class, which picks one of the logits.",
    fixes=[
        Swap(
            "For probabilities, such as one-hot rows, there is another function.",
            when=lambda facts: facts["x"].shape == facts["logits"].shape,
            f="{module}.softmax_cross_entropy",
        ),
        Swap(
            "Make integers of them.",
            when=lambda facts: facts["x"].ndim == facts["logits"].ndim - 1,
            x="{x.atom}.astype(int)",
        ),
    ],
    otherwise="Give the numbers of the classes, with one axis fewer than the logits.",
    link=f"{_OPTAX}/api/losses.html",
)


# Numpyro.


def _is_called_by_numpyro(facts: Facts) -> bool:
    """Ask whether inference or a handler runs the model, from numpyro's own code."""
    caller = facts.scene.spot.frame.f_back
    while caller is not None and package_of(caller.f_code.co_filename) != "numpyro":
        caller = caller.f_back
    return caller is not None


_SITE: dict[str, Any] = {"x": probes.argument(0), "link": "https://num.pyro.ai/en/stable/primitives.html"}
entry(
    "numpyro_name_twice",
    library_texts.NUMPYRO_TWICE,
    **_SITE,
    when=lambda facts: facts.value("x") == facts["name"],
    loop=probes.around(ast.For, ast.While),
    title="Two sites of a model have the same name",
    what="`{name}` is the name of a site already.",
    why="Inference keeps one value for each name.",
    fixes=Words(
        'In a loop, number the names, as in `f"{name}_{{i}}"`, or draw all at once in `numpyro.plate`.',
        when=probes.knows("loop"),
    ),
    otherwise="Give one of them another name.",
)
entry(
    "numpyro_without_key",
    library_texts.NUMPYRO_NO_KEY,
    **{**_SITE, "link": "https://num.pyro.ai/en/stable/handlers.html"},
    when=[
        probes.calls("sample"),
        probes.calls_of("numpyro"),
        probes.in_library,
        probes.unless(probes.knows("key")),
        probes.unless(_is_called_by_numpyro),
    ],
    key=probes.argument(3, "rng_key"),
    model=lambda facts: facts.scene.spot.function,
    title="A model that draws without a key",
    what="`{call}` runs in `{model.name}`, which was called as a plain function.",
    why="A model gets its keys from the inference or the handler that runs it.",
    fixes=Code(
        "To draw from it, give it a key with a handler.",
        "numpyro.handlers.seed({model.name}, {random}.key(0))(...)",
    ),
)
