"""Explain errors of flax: variables, collections, keys and parts of linen's modules, and modules of nnx."""

import ast
from collections.abc import Mapping
from typing import Any

from jaxguide.code.source import arguments_of, dotted
from jaxguide.code.user_frame import is_array
from jaxguide.compat import library_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.rewrites.static_arguments import given_for, static_edits
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import part_of

_GUIDE = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals"
_BASICS, _STATE = f"{_GUIDE}/flax_basics.html", f"{_GUIDE}/state_params.html"
_SETUP, _RNGS = f"{_GUIDE}/setup_or_nncompact.html", f"{_GUIDE}/rng_guide.html"

# Variables that `apply` is given.


def _written_params(facts: Facts) -> Part | None:
    """Look at what a written dict of variables has under `params`."""
    given = facts.part("given")
    found = part_of(given.node, "['params']") if isinstance(given.node, ast.Dict) else None
    return given.inside(found) if found is not None else None


def _whole(facts: Facts) -> Part | None:
    """Look at `variables` in `{"params": variables["params"]}`, if it has the collection that is missing."""
    params, count = facts.part("params"), len(facts.node("given").keys)
    whole = params.inside(params.node.value) if isinstance(params.node, ast.Subscript) else None
    has = whole is not None and isinstance(whole.value_or_missing, Mapping) and facts["collection"] in whole.value
    return whole if has and count == 1 else None


_APPLY: dict[str, Any] = {
    "run": probes.running("apply", "apply_fn"),
    "line": "run",
    "given": probes.argument(0, "variables", of="run"),
    "x": probes.fact("given"),
    "params": _written_params,
    "whole": _whole,
    "applied": probes.function_of("run"),
    "link": _BASICS,
}
entry(
    "flax_params_nested",
    library_texts.LINEN_NESTED,
    **{**_APPLY, "x": probes.one_of(_written_params, probes.fact("given"))},
    title="The parameters are one level too deep",
    what=("`{params}` already has the key `params`.", '`{x}` is `{{"params": {{"params": ...}}}}`.'),
    why="`init` returns all collections by name, `params` among them, and `apply` takes the same dict.",
    fixes=Swap(
        "Give the dict that `init` returned as it is.",
        when=lambda facts: facts.knows("params") and len(facts.node("given").keys) == 1,
        given="{params}",
    ),
    otherwise=Swap("Take off one level.", x='{x.atom}["params"]'),
)
entry(
    "flax_params_bare",
    library_texts.LINEN_NO_COLLECTIONS,
    library_texts.LINEN_NO_COLLECTION,
    **_APPLY,
    when=lambda facts: isinstance(facts.value("x"), Mapping) and facts.value("x") and "params" not in facts.value("x"),
    keys=lambda facts: ", ".join(f"`{key}`" for key in list(facts.value("x"))[:4]),
    title="`apply` was given the parameters without their collection",
    what="`{x}` has the keys {keys}, and none is `params`.",
    why="`apply` takes collections by name, and the parameters are one of them.",
    fixes=Swap("Say that they are the parameters.", x='{{"params": {x}}}'),
)
entry(
    "flax_collection_missing",
    library_texts.LINEN_NO_COLLECTION,
    **{**_APPLY, "link": _STATE},
    when=lambda facts: facts["collection"] != "params",
    title="A collection was left out of `apply`",
    what="`{where}` reads the collection `{collection}`, which `{x}` does not have.",
    why="A module keeps nothing itself: `apply` is given every collection that it reads.",
    fixes=Swap("Give it all that `init` returned.", x="{whole}"),
    otherwise="Give it the collection `{collection}`, which `init` returned, too.",
)


def _only_target(facts: Facts) -> Part | None:
    """Look at the one name to which the result of the call is assigned."""
    run = facts.part("run")
    statement = run.source.statement(run.node)
    is_plain = isinstance(statement, ast.Assign) and statement.value is run.node
    target = statement.targets[0] if isinstance(statement, ast.Assign) and is_plain else None
    return run.inside(target) if isinstance(target, ast.Name) else None


entry(
    "flax_collection_immutable",
    library_texts.LINEN_IMMUTABLE,
    **{**_APPLY, "x": probes.words("{collection}"), "link": _STATE},
    target=_only_target,
    mutable=probes.keyword("mutable", of="run"),
    last=probes.last_of("run"),
    title="A module changes a collection that may not change",
    what="`{where}` updates the collection `{collection}`.",
    why="`apply` is a pure function: what changes is named in `mutable`, and comes out as a second result.",
    fixes=Swap(
        "Let it change, and take the new values: `apply` then returns two things.",
        when=probes.unless(probes.knows("mutable")),
        last='{last}, mutable=["{collection}"]',
        target="{target}, updates",
    ),
    otherwise='Call it with `mutable=["{collection}"]`: it then returns the result and the new values.',
)
entry(
    "flax_apply_order",
    library_texts.LINEN_ARRAY_AS_DICT,
    **_APPLY,
    second=probes.argument(1, of="run"),
    module=probes.owner_of("run"),
    when=lambda facts: (
        probes.is_of(facts.value("module"), "flax")
        and isinstance(facts.value("second"), Mapping)
        and is_array(facts.value("x"))
    ),
    title="`apply` was given the input in place of the variables",
    what="`{second}` holds the variables, and comes second.",
    why="`apply` takes the variables first, and then what `__call__` takes.",
    fixes=Swap("Change their order.", x="{second}", second="{x}"),
)


# Keys.

_DRAWS: dict[str, Any] = {
    "run": probes.running("apply", "apply_fn", "init", "init_with_output"),
    "line": "run",
    "runner": probes.function_of("run"),
    "last": probes.last_of("run"),
    "rngs": lambda facts: (
        probes.keyword("rngs", of="run")(facts)
        or (probes.argument(0, of="run")(facts) if called(facts.node("run")).startswith("init") else None)
    ),
    "link": _RNGS,
}


def _holds_stream(facts: Facts) -> bool:
    """Ask whether the key is among those that are given."""
    given, value = facts.part("rngs"), facts.value("rngs")
    written = [one.value for one in getattr(given.node, "keys", []) if isinstance(one, ast.Constant)]
    return facts["stream"] in (value if isinstance(value, Mapping) else written)


entry(
    "flax_key_not_handed_on",
    library_texts.LINEN_NO_STREAM,
    **_DRAWS,
    x=probes.words("{stream}"),
    when=_holds_stream,
    title="A key does not reach the module that needs it",
    what="`{runner}` is given a key for `{stream}`, and a module inside has none.",
    why="A lifted transformation such as `nn.vmap` or `nn.scan` hands on only the keys that `split_rngs` names.",
    fixes="Name it there: `{stream}: True` draws anew for each part, and `False` draws the same for all.",
)
entry(
    "flax_key_missing",
    library_texts.LINEN_NO_STREAM,
    **_DRAWS,
    x=probes.words("{stream}"),
    when=lambda facts: not facts.knows("rngs") or not _holds_stream(facts),
    last_key=lambda facts: facts.part("rngs").inside(facts.node("rngs").values[-1]),
    title="A module needs a key that it was not given",
    what="`{runner}` gives no key for `{stream}`.",
    why="A module draws no numbers without a key, and keys are given by the name of what they are for.",
    fixes=Either(
        Swap(
            "Give a key for `{stream}`, another one for every step.",
            when=probes.is_written("rngs", ast.Dict),
            last_key='{last_key}, "{stream}": {random}.key(1)',
        ),
        Swap(
            "Give a key for `{stream}`, another one for every step.",
            when=lambda facts: not facts.knows("rngs"),
            last='{last}, rngs={{"{stream}": {random}.key(0)}}',
        ),
        "Give `rngs` a key by the name `{stream}`, too.",
    ),
)
entry(
    "flax_init_without_key",
    library_texts.LINEN_NO_KEY,
    run=probes.running("init", "init_with_output"),
    line="run",
    x=probes.argument(0, of="run"),
    when=lambda facts: "key<" not in str(getattr(facts.value("x"), "dtype", "")),
    title="`init` was given no key",
    what="`{x}` has shape {x.shape}, and stands where the key belongs.",
    why="`init` draws the parameters, so it takes a key first, and then what `__call__` takes.",
    fixes=Swap("Give a key first.", x="{random}.key(0), {x}"),
    link=_BASICS,
)


# Parts of modules.


def _compact(facts: Facts) -> Fix | None:
    """Return the fix that makes `__call__` compact, if no method is and it is what runs."""
    methods = [one for one in facts.node("owner_class").body if isinstance(one, ast.FunctionDef)]
    makes = [
        one for one in methods if one.name == "setup" or any(dotted(d).endswith("compact") for d in one.decorator_list)
    ]
    outer = next((one for one in methods if one.name == "__call__" and not one.decorator_list), None)
    if makes or outer is None or all(spot.function is not outer for spot in facts.scene.spots):
        return None
    linen = "nn" if "nn" in facts.scene.spot.frame.f_globals else facts.scene.name_of("flax.linen")
    decorator = f"@{linen}.compact\n{facts.scene.source.indent(outer)}"
    sentence = "Let `__call__` make its submodules as it runs: `nn.compact`."
    return facts.scene.fix(sentence, facts.scene.source.insert_before(outer, decorator))


entry(
    "flax_outside_compact",
    library_texts.LINEN_SUBMODULE,
    library_texts.LINEN_PARAMETER,
    x=probes.node,
    when=lambda facts: probes.is_of(facts.scene.spot.frame.f_locals.get("self"), "flax"),
    method=lambda facts: facts.scene.spot.function,
    owner_class=lambda facts: facts.scene.source.parents.get(facts.node("method")),
    title="A part of a module is made where flax does not look for it",
    what="`{x}` is made in `{owner_class.name}.{method.name}`.",
    why="Flax must know every part before it runs: they are made in `setup`, or in one method that is compact.",
    fixes=_compact,
    otherwise="Make it in `setup`, and keep it in an attribute of `self`.",
    link=_SETUP,
)
entry(
    "flax_name_in_use",
    library_texts.LINEN_NAME_IN_USE,
    x=probes.words("{name}"),
    title="Two parts of a module have one name",
    what="`{module}` already has a part named `{name}`.",
    why="The parameters of a part are kept under its name, so each name is used once in a module.",
    fixes="Give this one another name; to use a part twice, make it once and call it twice.",
    link=_SETUP,
)
entry(
    "flax_unbound_module",
    library_texts.LINEN_UNBOUND,
    x=lambda facts: (
        probes.model("flax")(facts) or (facts.call().func if isinstance(facts.call().func, ast.Call) else None)
    ),
    title="A module is called without its parameters",
    what="`{x}` describes a network, and holds no parameters.",
    why="Flax keeps the parameters outside: `init` makes them, and `apply` computes with them.",
    fixes=Code(
        "Make the parameters once, and compute with them.",
        "variables = {x}.init({random}.key(0), {given})\n{x}.apply(variables, {given})",
    ),
    link=_BASICS,
)
entry(
    "flax_defined_in_setup",
    library_texts.LINEN_IN_SETUP,
    x=probes.node,
    module=probes.holder,
    when=lambda facts: probes.is_of(facts.value("module"), "flax"),
    title="A part of a module that exists only while it runs",
    what="`{x}` is made in `setup`, which runs inside `init` and `apply`.",
    why="Outside of them, a module describes a network, and its parts have no parameters.",
    fixes=[
        "Use it in a method, and call that: `{module}.apply(variables, ..., method=...)`.",
        "Or bind the parameters first: `{module}.bind(variables).{name}`.",
    ],
    link=_SETUP,
)
entry(
    "flax_frozen_module",
    library_texts.LINEN_FROZEN,
    x=probes.target,
    changed=lambda facts: getattr(facts.node("x"), "value", None),
    title="A module cannot be changed after it was made",
    what="`{x}` is set on a module of type `{module}`.",
    why="A module only describes a network: the same one may run with other parameters, or under `jax.jit`.",
    fixes=Either(
        Words(
            "Return the value, or let flax keep it: `self.sow` for a record, `self.variable` for state.",
            when=lambda facts: str(facts["changed"]) == "self",
        ),
        Words(
            "In `setup`, a part is named after its attribute, `self.NAME = ...`; elsewhere, give it `name=`.",
            when=lambda facts: facts["x"].name == "name",
        ),
        "Give it where the module is made, or make a copy that differs: `{changed}.copy(...)`.",
    ),
    link=_STATE,
)


def _given_module(facts: Facts) -> Part | None:
    """Look at the module that the caller gives for the parameter."""
    function, name = facts.node("function"), str(facts["x"])
    found = given_for(facts.scene, function, name) if name in arguments_of(function) else None
    given = facts.at(found[1], found[0]) if found is not None else None
    return given if given is not None and probes.is_of(given.value_or_missing, "flax") else None


def _static(facts: Facts) -> Fix | None:
    """Return the fix that makes a module static."""
    function, name = facts.part("function"), str(facts["x"])
    edits = static_edits(facts.scene, function.source, function.node, name)  # type: ignore[arg-type]
    return facts.scene.fix(f"Make `{name}` static: JAX compiles once for each module.", *edits)


entry(
    "flax_module_as_argument",
    library_texts.LINEN_NO_ATTRIBUTE,
    x=probes.one_of(probes.holder, probes.owner),
    function=lambda facts: facts.scene.spot.function,
    module=_given_module,
    title="`jax.jit` was given a module",
    what="`{x}` is the module `{module}`, which `jax.jit` takes for an array.",
    why="A module holds no arrays; it only says how to compute with parameters.",
    fixes=[_static, "Or leave it out of the arguments, and use it from outside the function."],
    link=_BASICS,
)


# nnx.

_NNX = "https://flax.readthedocs.io/en/latest"


def _nnx(facts: Facts) -> str:
    """Say the student's name for `flax.nnx`."""
    return facts.scene.name_of("flax.nnx")


entry(
    "nnx_without_rngs",
    library_texts.NNX_NO_RNGS,
    x=probes.function,
    when=lambda facts: (
        isinstance(facts.value("x"), type)
        and any(kind.__module__.startswith("flax.nnx") for kind in facts.value("x").__mro__)
    ),
    nnx=_nnx,
    last=probes.last_of("call"),
    own=lambda facts: "rngs" if "rngs" in facts.scene.spot.frame.f_locals else None,
    rngs=probes.words(("{own}", "{nnx}.Rngs(0)")),
    title="A module of nnx that is given no keys",
    what="`{call}` has no `rngs`.",
    why="A module of nnx draws its parameters when it is made, from the keys in `rngs`.",
    fixes=Swap("Give it keys.", last="{last}, rngs={rngs}"),
    otherwise="Give it keys: `rngs={rngs}`.",
    link=f"{_NNX}/guides/randomness.html",
)
entry(
    "nnx_optimizer_without_wrt",
    library_texts.NNX_NO_WRT,
    x=probes.call,
    nnx=_nnx,
    last=probes.last_of("call"),
    title="An optimizer that is not told what it updates",
    what="`{x}` has no `wrt`.",
    why="Since flax 0.11, `wrt` says which variables of the model are updated.",
    fixes=Swap("Update the parameters.", last="{last}, wrt={nnx}.Param"),
    link=f"{_NNX}/api_reference/flax.nnx/training/optimizer.html",
)
entry(
    "nnx_plain_container",
    library_texts.NNX_PLAIN,
    x=probes.target,
    when=lambda facts: facts["x"].name == facts["name"],
    nnx=_nnx,
    container=lambda facts: facts["type"].capitalize(),
    title="Modules in a plain {type}",
    what="`{x}` is a {type} that holds arrays or modules.",
    why="nnx takes a plain container for a setting, and looks for no parameters in it.",
    fixes=Swap("Use the container of nnx.", assigned="{nnx}.{container}({assigned})"),
    link=f"{_NNX}/api_reference/flax.nnx/module.html",
)


def _changed_from_outside(facts: Facts) -> Part | None:
    """Look at the module that a function changes and only closes over."""
    for spot in reversed(facts.scene.spots):
        code, statement = spot.frame.f_code, spot.statement
        names = [one for one in ast.walk(statement) if isinstance(one, ast.Name)] if statement is not None else []
        outer = [one for one in names if one.id not in code.co_varnames + code.co_cellvars]
        held = [one for one in outer if probes.is_of(spot.value(one), "flax") and not isinstance(spot.value(one), type)]
        if held and code.co_name != "<module>":
            return facts.at(held[0], spot)
    return None


entry(
    "nnx_changed_from_outside",
    library_texts.NNX_OTHER_TRACE,
    x=_changed_from_outside,
    function=lambda facts: facts["x"].spot.frame.f_code.co_name,
    title="A transformed function changes a module from outside",
    what="`{function}` changes a {variable} of `{x}`, which it only closes over.",
    why="While JAX records `{function}`, its values stand for values to come; kept outside, they would leak.",
    fixes="Give `{x}` to `{function}` as an argument, and use nnx's transformation: `nnx.jit` and others.",
    link=f"{_NNX}/guides/transforms.html",
)


# Haiku.

_HAIKU = "https://dm-haiku.readthedocs.io/en/latest"
_HAIKU_BASICS, _HAIKU_API = f"{_HAIKU}/notebooks/basics.html", f"{_HAIKU}/api.html"
_HAIKU_RUN: dict[str, Any] = {
    "run": probes.running("init", "apply"),
    "line": "run",
    "runner": probes.function_of("run"),
    "net": probes.owner_of("run"),
    "key": lambda facts: probes.argument(0 if called(facts.node("run")) == "init" else 1, "rng", of="run")(facts),
}
entry(
    "haiku_outside_transform",
    library_texts.HAIKU_OUTSIDE,
    x=probes.call,
    title="A part of haiku outside of `hk.transform`",
    what="`{x}` runs outside of a function that `hk.transform` has transformed.",
    why="Haiku keeps parameters, state and keys for the function that it transforms; outside there is no place.",
    fixes=Swap(
        "Give a key of JAX.",
        when=lambda facts: called(facts.node("x")) == "next_rng_key" and facts.scene.spot.function is None,
        x="{random}.PRNGKey(0)",
    ),
    otherwise="Use it in a function, and transform that: `net = hk.transform(f)`, then `net.init` and `net.apply`.",
    link=_HAIKU_BASICS,
)
entry(
    "haiku_state",
    library_texts.HAIKU_STATE,
    **_HAIKU_RUN,
    x=probes.fact("net"),
    title="State needs `hk.transform_with_state`",
    what="The function of `{x}` keeps state, such as the running averages of a batch norm.",
    why="`hk.transform` handles parameters only; state goes in and comes out with every call.",
    fixes=Code(
        "Transform it with state: `init` and `apply` then return two things.",
        "{x} = hk.transform_with_state(...)\n"
        "params, state = {x}.init(key, ...)\n"
        "out, state = {x}.apply(params, state, key, ...)",
    ),
    link=f"{_HAIKU_API}#haiku.transform_with_state",
)
entry(
    "haiku_key_missing",
    library_texts.HAIKU_NO_KEY,
    **_HAIKU_RUN,
    x=probes.fact("net"),
    title="A function of haiku needs a key that it was not given",
    what="`{runner}` gives no key, and the function draws numbers.",
    why="Parameters are drawn in `init`, and dropout draws in `apply`, from the key that these are given.",
    fixes=Swap(
        "Give a key, another one for every step.",
        when=lambda facts: facts.value("key") is None,
        key="{random}.PRNGKey(0)",
    ),
    otherwise="Give `{runner}` a key; without `hk.without_apply_rng`, `apply` takes one.",
    link=f"{_HAIKU_API}#haiku.next_rng_key",
)
entry(
    "haiku_key_forgotten",
    library_texts.HAIKU_KEY_FORGOTTEN,
    **_HAIKU_RUN,
    x=probes.fact("key"),
    title="The key was left out",
    what="`{x}` stands where the key belongs.",
    why="`init` takes the key first, and `apply` after the parameters; the function's own arguments follow.",
    fixes=[
        Swap("Give a key; None will do if the function draws no numbers.", x="{random}.PRNGKey(0), {x}"),
        Words(
            "Or leave it out for good: `hk.without_apply_rng(hk.transform(f))`.",
            when=lambda facts: facts["method"] == "Apply",
        ),
    ],
    link=_HAIKU_BASICS,
)
entry(
    "haiku_key_too_many",
    library_texts.HAIKU_ARGUMENTS,
    **_HAIKU_RUN,
    x=probes.fact("key"),
    first=probes.argument(0, of="run"),
    second=probes.argument(2, of="run"),
    when=lambda facts: (
        probes.is_of(facts.value("net"), "haiku")
        and facts.value("x") is None
        and int(facts["g2"]) == int(facts["g1"]) + 1
    ),
    title="A key is given where none is taken",
    what="`{runner}` takes no key, and None is handed on to the function.",
    why="`hk.without_apply_rng` takes the key out of `apply`.",
    fixes=Swap(
        "Leave it out.",
        or_say=True,
        when=lambda facts: len(list(ast.iter_child_nodes(facts.node("run")))) == 4,
        run="{runner}({first}, {second})",
    ),
    link=f"{_HAIKU_API}#haiku.without_apply_rng",
)
entry(
    "haiku_state_not_unpacked",
    library_texts.HAIKU_NO_PARAMS,
    **_HAIKU_RUN,
    x=probes.argument(0, "params", of="run"),
    when=lambda facts: isinstance(facts.value("x"), tuple) and len(facts.value("x")) == 2,
    title="Parameters and state are given as one",
    what="`{x}` is a pair of parameters and state.",
    why="With `hk.transform_with_state`, `init` returns both, and `apply` takes them one after the other.",
    fixes="Unpack what `init` returns, `params, state = ...`, and call `apply(params, state, key, ...)`.",
    link=f"{_HAIKU_API}#haiku.transform_with_state",
)


# Parameters of another network, or for other inputs.

_OTHER: dict[str, Any] = {
    **_APPLY,
    "page": lambda facts: _HAIKU_BASICS if facts.scene.library == "haiku" else _BASICS,
    "link": "{page}",
    "why": "`init` makes the parameters by the names of the network's parts and the shape of the input that it is "
    "given.",
    "fixes": "Give `{applied}` what `init` of the same network made, for an input of the same sizes except for the "
    "batch.",
}
entry(
    "other_parameters",
    library_texts.LINEN_PARAM_SHAPE,
    library_texts.HAIKU_PARAM_SHAPE,
    **{**_OTHER, "x": probes.words("{name}")},
    title="The parameters were made for another network or for inputs of another size",
    what="`{x}` has shape {own}, and ({needed}) is needed here.",
)
for _phrase, _x in (
    (library_texts.LINEN_PARAM_MISSING, probes.fact("given")),
    (library_texts.HAIKU_PARAM_MISSING, probes.words("{name}")),
):
    entry(
        "other_parameters",
        _phrase,
        **{**_OTHER, "x": _x},
        title="The parameters are those of another network",
        what="`{given}` has no `{name}` for `{where}`.",
    )
