"""Explain errors of flax, haiku, optax and equinox: what models and optimizers are given."""

import ast
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts, structure_texts
from jaxguide.compat import library_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, known
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import TRANSFORMS, argnums, function_behind, parameters, part_of
from jaxguide.jaxpr.value_words import describe

# Flax's linen: what `init` and `apply` are given.
_GUIDE = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals"
_linen = partial(
    entry,
    run=probes.running("apply", "apply_fn", "init", "init_with_output"),
    line="run",
    given=probes.argument(0, "variables", of="run"),
    x=probes.fact("given"),
    params=lambda facts: facts.part("given").inside(known(part_of(facts.node("given"), "['params']"))),
    alone=lambda facts: facts["params"] if len(getattr(facts.node("given"), "keys", ())) == 1 else None,
    runner=probes.function_of("run"),
    last=probes.last_of("run"),
    module=lambda facts: "The model" if facts["where"] == "/" else f"`{facts['where']}`",
    link=f"{_GUIDE}/flax_basics.html",
)
_linen(
    "flax_params_nested",
    texts.LINEN_NESTED,
    x=probes.one_of(probes.fact("params"), probes.fact("given")),
    title="The parameters are one level too deep",
    what=("`{params}` already has the key `params`.", '`{x}` is `{{"params": {{"params": ...}}}}`.'),
    why="`init` returns all collections by name, `params` among them, and `apply` takes the same dict.",
    fixes=Swap("Give the dict that `init` returned as it is.", given="{alone}"),
    otherwise=Swap("Take off one level.", x='{x.atom}["params"]'),
)
_linen(
    "flax_params_bare",
    texts.LINEN_NO_COLLECTIONS,
    texts.LINEN_NO_COLLECTION,
    when=lambda facts: isinstance(facts.value("x"), Mapping) and facts.value("x") and "params" not in facts.value("x"),
    title="`apply` was given the parameters without their collection",
    what="`{x}` has no key `params`.",
    why="`apply` takes collections by name, and the parameters are one of them.",
    fixes=Swap("Say that they are the parameters.", x='{{"params": {x}}}'),
)
_linen(
    "flax_collection_missing",
    texts.LINEN_NO_COLLECTION,
    whole=lambda facts: facts.part("alone").inside(known(getattr(facts.node("alone"), "value", None))),
    when=lambda facts: facts["collection"] != "params",
    title="A collection was left out of `apply`",
    what="{module} reads the collection `{collection}`, which `{x}` does not have.",
    why="A module keeps no state itself, so `apply` must be given every collection that the module reads.",
    fixes=Swap(
        "Give it all that `init` returned.",
        when=lambda facts: isinstance(facts.value("whole"), Mapping) and facts["collection"] in facts.value("whole"),
        x="{whole}",
    ),
    otherwise="Give it the collection `{collection}`, which `init` returned, too.",
)
_linen(
    "flax_collection_immutable",
    texts.LINEN_IMMUTABLE,
    x=probes.words("{collection}"),
    around=lambda facts: facts.part("run").source.parents.get(facts.node("run")),
    target=lambda facts: facts.part("run").inside(known(getattr(facts.node("around"), "targets", [None])[0])),
    title="A module changes a collection that may not change",
    what="{module} updates the collection `{collection}`.",
    why="`apply` is a pure function: what changes is named in `mutable`, and comes out as a second result.",
    fixes=Swap(
        "Let it change, and take the new values: `apply` then returns two things.",
        when=lambda facts: "mutable=" not in str(facts["run"]) and isinstance(facts.node("target"), ast.Name),
        last='{last}, mutable=["{collection}"]',
        target="{target}, updates",
    ),
    otherwise='Call it with `mutable=["{collection}"]`: it then returns the result and the new values.',
)
_linen(
    "flax_key_missing",
    texts.LINEN_NO_STREAM,
    x=probes.words("{stream}"),
    without=lambda facts: (
        facts["runner"] if "rngs=" not in str(facts["run"]) and facts["runner"].name != "init" else None
    ),
    title="A module needs a key that it was not given",
    what=("`{without}` gives no key for `{stream}`.", "`{runner}` runs a module that has no key for `{stream}`."),
    why="A module draws no numbers without a key, and keys are given by the name of what they are for.",
    fixes=Swap(
        "Give a key for `{stream}`, another one for every step.",
        when=probes.knows("without"),
        last='{last}, rngs={{"{stream}": {random}.key(0)}}',
    ),
    otherwise="Give `rngs` a key by the name `{stream}`, too; `nn.vmap` and `nn.scan` need the name in `split_rngs`.",
    link=f"{_GUIDE}/rng_guide.html",
)

# Parts of linen's modules.
_part = partial(entry, x=probes.node, link=f"{_GUIDE}/flax_basics.html")
_part(
    "flax_outside_compact",
    texts.LINEN_SUBMODULE,
    texts.LINEN_PARAMETER,
    method=lambda facts: facts.scene.spot.function,
    owner_class=lambda facts: facts.scene.source.parents.get(facts.node("method")),
    calls=lambda facts: [one for one in facts.node("owner_class").body if getattr(one, "name", "") == "__call__"],
    outer=lambda facts: next(iter(facts["calls"]), None),
    linen=lambda facts: facts.scene.name_of("flax.linen"),
    indent=lambda facts: facts.scene.source.indent(facts.node("outer")),
    title="A part of a module is made where flax does not look for it",
    what="`{x}` is made in `{owner_class.name}.{method.name}`.",
    why="Flax must know every part before it runs: they are made in `setup`, or in one method that is compact.",
    fixes=Either(
        lambda facts: facts.scene.fix(
            "Let `__call__` make its submodules as it runs: `nn.compact`.",
            facts.scene.source.insert_before(facts.node("outer"), facts.say("@{linen}.compact\n{indent}")),
        ),
        when=lambda facts: not re.search(r"def setup|compact", str(facts["owner_class"])),
    ),
    otherwise="Make it in `setup`, and keep it in an attribute of `self`.",
    link=f"{_GUIDE}/setup_or_nncompact.html",
)
_part(
    "flax_unbound_module",
    texts.LINEN_UNBOUND,
    x=probes.function,
    title="A module is called without its parameters",
    what="`{x}` describes a network, and holds no parameters.",
    why="Flax keeps the parameters outside: `init` makes them, and `apply` computes with them.",
    fixes=Code(
        "Make the parameters once, and compute with them.",
        "variables = {x}.init({random}.key(0), {given})\n{x}.apply(variables, {given})",
    ),
)
_part(
    "flax_frozen_module",
    texts.LINEN_FROZEN,
    x=probes.target,
    title="A module cannot be changed after it was made",
    what="`{x}` is set on a module of type `{module}`.",
    why="A module only describes a network: the same one may run with other parameters, or under `jax.jit`.",
    fixes=Either(
        Words(
            "In `setup`, a part is named after its attribute, `self.NAME = ...`; elsewhere, give it `name=`.",
            when=lambda facts: facts["x"].name == "name",
        ),
        "In a method, return the value, or let flax keep it, as `self.sow` does; elsewhere, make a `copy(...)`.",
    ),
)

# Flax's nnx.
_nnx = partial(
    entry,
    nnx=lambda facts: facts.scene.name_of("flax.nnx"),
    last=probes.last_of("call"),
    link="https://flax.readthedocs.io/en/latest/nnx_basics.html",
)
_nnx(
    "nnx_optimizer_without_wrt",
    texts.NNX_NO_WRT,
    x=probes.call,
    title="An optimizer that is not told what it updates",
    what="`{x}` has no `wrt`.",
    why="Since flax 0.11, `wrt` says which variables of the model are updated.",
    fixes=Swap("Update the parameters.", last="{last}, wrt={nnx}.Param"),
)
_nnx(
    "nnx_plain_container",
    texts.NNX_PLAIN,
    x=probes.target,
    when=lambda facts: facts["x"].name == facts["name"],
    container=lambda facts: facts["type"].capitalize(),
    title="Modules in a plain {type}",
    what="`{x}` is a {type} that holds arrays or modules.",
    why="nnx takes a plain container for a setting, and looks for no parameters in it.",
    fixes=Swap("Use the container of nnx.", assigned="{nnx}.{container}({assigned})"),
)


def _closed_over(facts: Facts) -> Part | None:
    """Look at the module that a function changes and only closes over."""
    for spot in reversed(facts.scene.spots):
        code, held = spot.frame.f_code, spot.first(known(spot.statement), lambda value: probes.is_of(value, "flax"))
        if held and getattr(held[0], "id", "") in code.co_names + code.co_freevars and code.co_name != "<module>":
            return facts.at(held[0], spot)
    return None


_nnx(
    "nnx_changed_from_outside",
    texts.NNX_OTHER_TRACE,
    x=_closed_over,
    function=lambda facts: facts["x"].spot.frame.f_code.co_name,
    title="A transformed function changes a module from outside",
    what="`{function}` changes a {variable} of `{x}`, which it only closes over.",
    why="While JAX records `{function}`, its values stand for values to come; kept outside, they would leak.",
    fixes="Give `{x}` to `{function}` as an argument, and use nnx's transformation: `nnx.jit` and others.",
)

# Haiku.
_HAIKU = "https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html"
_haiku = partial(
    entry,
    run=probes.running("init", "apply", "apply_fn"),
    line="run",
    given=probes.argument(0, "params", of="run"),
    runner=probes.function_of("run"),
    x=probes.owner_of("run"),
    key=lambda facts: probes.argument(0 if called(facts.node("run")) == "init" else 1, "rng", of="run")(facts),
    link=_HAIKU,
)
_haiku(
    "haiku_outside_transform",
    texts.HAIKU_OUTSIDE,
    x=probes.call,
    line="x",
    title="A part of haiku outside of `hk.transform`",
    what="`{x}` runs outside of a function that `hk.transform` has transformed.",
    why="Haiku keeps parameters, state and keys for the function that it transforms; outside there is no place.",
    fixes=Swap(
        "Give a key of JAX.",
        when=lambda facts: called(facts.node("x")) == "next_rng_key" and facts.scene.spot.function is None,
        x="{random}.PRNGKey(0)",
    ),
    otherwise="Use it in a function, and transform that: `net = hk.transform(f)`, then `net.init` and `net.apply`.",
)
_haiku(
    "haiku_state",
    texts.HAIKU_STATE,
    title="State needs `hk.transform_with_state`",
    what="The function of `{x}` keeps state, such as the running averages of a batch norm.",
    why="`hk.transform` handles parameters only; state goes in and comes out with every call.",
    fixes="Transform it with state: `params, state = {x}.init(key, ...)`, and then `out, state = {x}.apply(params, "
    "state, key, ...)`.",
)
_haiku(
    "haiku_key_missing",
    texts.HAIKU_NO_KEY,
    none=lambda facts: facts["key"] if facts.value("key") is None else None,
    title="A function of haiku needs a key that it was not given",
    what="`{runner}` gives no key, and the function draws numbers.",
    why="Parameters are drawn in `init`, and dropout draws in `apply`, from the key that these are given.",
    fixes=Swap("Give a key, another one for every step.", none="{random}.PRNGKey(0)"),
    otherwise="Give `{runner}` a key; without `hk.without_apply_rng`, `apply` takes one.",
)
_haiku(
    "other_parameters",
    texts.LINEN_OTHER_PARAMETERS,
    texts.HAIKU_OTHER_PARAMETERS,
    x=probes.words("{name}"),
    page=lambda facts: _HAIKU if facts.scene.library == "haiku" else f"{_GUIDE}/flax_basics.html",
    title="The parameters were made for another network or for inputs of another size",
    what=("`{x}` has shape {own}, and ({needed}) is needed here.", "`{given}` has no `{x}` for `{where}`."),
    why="`init` makes the parameters by the names of the network's parts and the shape of the input that it is given.",
    fixes="Give `{runner}` what `init` of the same network made, for an input of the same sizes except for the batch.",
    link="{page}",
)

# Equinox: models with more than arrays in them; and fields of dataclasses, also of flax.
_EQUINOX = "https://docs.kidger.site/equinox/all-of-equinox/"


entry(
    "equinox_model",
    error_texts.NOT_AN_ARGUMENT,
    error_texts.NOT_JAX_TYPE,
    texts.OPTAX_INIT,
    texts.OPTAX_APPLY,
    x=probes.given(lambda one: probes.is_of(one, "equinox") and not all(map(is_array, jax.tree.leaves(one)))),
    eqx=lambda facts: facts.scene.name_of("equinox"),
    title="`{f.name}` was given a model with more than arrays in it",
    what="`{x}` is a model of equinox, with functions or settings among its parts.",
    why="A model is a pytree, and JAX takes every part of it for an array.",
    fixes="Use equinox's function, such as `{eqx}.filter_jit`, `{eqx}.filter_grad` or `{eqx}.apply_updates`; or take "
    "out the arrays, `{eqx}.partition({x}, {eqx}.is_array)`, and `{eqx}.combine` them inside with the rest.",
    link=_EQUINOX,
)
entry(
    "frozen_model",
    texts.FROZEN_FIELD,
    x=probes.target,
    model=lambda facts: getattr(facts.node("x"), "value", None),
    when=lambda facts: (
        probes.is_of(facts.value("model"), "equinox") or hasattr(type(facts.value("model")), "_flax_dataclass")
    ),
    title="A model cannot be changed in place",
    what="`{model}` is an object of type `{model.type}`, whose fields are set once.",
    why="It is a pytree, and the same one may already be part of a recorded program.",
    fixes="Make a new one that differs in this field, with `eqx.tree_at` or, of a dataclass of flax, with "
    "`{model}.replace({x.name}={assigned})`; a method returns it. In `__init__`, declare the field in the class first.",
    link=_EQUINOX,
)


def _static_array(facts: Facts) -> ast.AnnAssign | None:
    """Look at the only declaration of a static field for an array, which says nothing else about it."""
    pattern = re.compile(r"(Array|ndarray)\b(?!.*default).*(static\W+True|pytree_node=False)\W*$", re.DOTALL)
    fields = [one for one in ast.walk(facts.scene.source.tree) if isinstance(one, ast.AnnAssign)]
    found = [one for one in fields if pattern.search(facts.scene.quote(one))]
    return found[0] if len(found) == 1 else None


entry(
    "array_in_static_field",
    structure_texts.ARRAY_IN_METADATA,
    field=_static_array,
    x=lambda facts: facts.node("field").target,
    annotation=lambda facts: facts.node("field").annotation,
    owner_class=lambda facts: facts.scene.source.parents.get(facts.node("field")),
    when=lambda facts: not facts.knows("g1") or facts["g1"].endswith(facts["owner_class"].name),
    title="An array in a static field",
    what="The field `{x}` of `{owner_class.name}` is static, and holds an array.",
    why="JAX compares static fields with `==` to find the compiled program, and arrays give no single answer.",
    fixes=Swap(
        "Make it an ordinary field: an array is traced, and may then differ from call to call.",
        field="{x}: {annotation}",
    ),
    link=f"{error_texts.API}/jax.tree_util.register_dataclass.html",
)

# Optax: what optimizers and their updates are given.


def _averages(state: Any) -> Any:
    """Return the part of an optimizer's state that is like the parameters; None if there is none."""
    names = [name for name in ("mu", "nu", "trace") if name in getattr(state, "_fields", ())]
    if names or not isinstance(state, tuple) or "Masked" in type(state).__name__:  # that leaves parameters out
        return getattr(state, names[0]) if names else None
    return next((found for part in state if (found := _averages(part)) is not None), None)


def _differentiated(facts: Facts) -> tuple[str, str] | None:
    """Say the function whose derivative the gradients are, and by which parameter it was differentiated."""
    name, source = str(facts["x"]), facts["x"].source
    for one in ast.walk(source.tree):
        made: Any = getattr(getattr(one, "value", None), "func", None)
        is_it = isinstance(one, ast.Assign) and name in source.quote(one.targets[0]).split(", ")
        if is_it and called(made) in TRANSFORMS and (place := function_behind(facts["x"].spot, made.args[0])):
            return source.quote(made.args[0]), parameters(place[1])[argnums(made)[0]].arg
    return None


_OPTAX = "https://optax.readthedocs.io/en/latest"
_optax = partial(
    entry,
    run=probes.running("update", "apply_gradients"),
    line="run",
    grads=probes.one_of(probes.keyword("grads", of="run"), probes.argument(0, of="run")),
    state=probes.argument(1, of="run"),
    x=probes.fact("grads"),
    wanted=lambda facts: _averages(
        getattr(facts.value("owner"), "__dict__", {}).get("opt_state", facts.value("state"))
    ),
    link=f"{_OPTAX}/getting_started.html",
)
_optax(
    "optax_needs_params",
    texts.OPTAX_NEEDS_PARAMS,
    x=probes.function_of("run"),
    title="The optimizer also needs the parameters",
    what="`{x}` is given the gradients and the state.",
    why="Weight decay, for one, pulls the parameters to zero, so it must know them.",
    fixes="Give the parameters as the third argument: `{x}({grads}, {state}, params)`.",
)
_optax(
    "optax_gradients_differ",
    texts.OPTAX_MISMATCH,
    when=lambda facts: jax.tree.map(np.shape, facts.value("x")) != jax.tree.map(np.shape, facts["wanted"]),
    all=lambda facts: said if (said := describe(facts["wanted"])) != facts["x"].what else None,
    title="The gradients are not those of the parameters",
    what=(
        "`{x}` has another shape than the parameter that the optimizer was made for: {one} and {other}.",
        "`{x}` is {x.what}, and the optimizer was made for {all}.",
        "`{x}`, {x.what}, has other parts than the parameters that the optimizer was made for.",
    ),
    why="Each parameter is changed by its own gradient, so both must have the same structure and shapes.",
    by=_differentiated,
    fixes=Either(
        Words(
            "If `jax.value_and_grad` returned it, take the pair apart: the value comes first.",
            when=lambda facts: isinstance(facts.value("x"), tuple) and np.shape(facts.value("x")[0]) == (),
        ),
        "`{by[0]}` was differentiated with respect to `{by[1]}`. Differentiate it with respect to the parameters that "
        "`init` was given: make them its first argument, or give their position in `argnums`.",
        "Give `update` the gradients of the parameters that `init` was given: they are the argument that `jax.grad` "
        "takes, by default the first.",
    ),
)
