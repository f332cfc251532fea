"""Explain errors of flax's linen modules: variables, collections, random streams, and where submodules are made."""

import ast
import re
from typing import Any

import jax

from jaxguide.code.edits import Edit
from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import MISSING, UserFrame, is_array
from jaxguide.compat.error_texts import Phrase
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.library_errors import call_of, is_instance, is_mapping, of_library
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rewrites.written_shapes import made_with
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind

_GUIDE = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/flax_basics.html"
_STATE = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/state_params.html"
_RNGS = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/rng_guide.html"
_SETUP = "https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/setup_or_nncompact.html"

_NESTED = of_library("flax", name="ApplyScopeInvalidVariablesStructureError")
_NO_COLLECTIONS = of_library("flax", name="ApplyScopeInvalidVariablesTypeError")
_NO_COLLECTION = of_library(
    "flax", r'Tried to access "(.+?)" from collection "(\w+)" in "(\S*)" but', name="ScopeCollectionNotFound"
)
_IMMUTABLE = of_library("flax", r'in "(\S*)" because collection "(\w+)" is immutable', name="ModifyScopeVariableError")
_SUBMODULE = of_library("flax", r"Submodule (\w+) must be defined in", name="AssignSubModuleError")
# Flax hides its own frames, so the error is known by the module in the student's frame.
_PARAMETER = Phrase(ValueError, r"^(Parameters|Variables) must be initialized in `setup\(\)`")
_NAME_IN_USE = of_library("flax", r'Could not create (\w+) "(\w+)" in Module (\w+): Name in use', name="NameInUseError")
_UNBOUND = of_library("flax", name="CallCompactUnboundModuleError")
_IN_SETUP = of_library("flax", r"has no attribute \"(\w+)\"\. If \"\w+\" is defined in '\.setup\(\)'")
_NO_STREAM = of_library("flax", r'needs PRNG for "(\w+)"', name="InvalidRngError")
_PARAM_SHAPE = of_library(
    "flax",
    r'For parameter "(.+?)" in "(\S*)", the given initializer is expected to generate shape (\([\d, ]*\)), but the '
    r"existing parameter it received has shape (\([\d, ]*\))",
    name="ScopeParamShapeError",
)
_PARAM_MISSING = of_library(
    "flax", r'Could not find parameter named "(.+?)" in scope "(\S*)"', name="ScopeParamNotFoundError"
)
_FROZEN = of_library("flax", r"Can't set (\w+)=.* for Module of type (\w+)", name="SetAttributeFrozenModuleError")
_NO_KEY = of_library("flax", r"RNGs should be of shape \(2,\) or PRNGKey", name="InvalidRngError")
_ARRAY_AS_DICT = Phrase(TypeError, r"^Array\.__contains__: unsupported operand type <class 'str'>")
# `jax.jit` passes a tracer in place of each argument, and a tracer has none of a module's methods.
_NO_ATTRIBUTE = of_library("builtins", r"Tracer(?:' object)? has no attribute '?(apply|init)\b")


def _variables(scene: Scene) -> tuple[UserFrame, ast.Call, ast.expr, Any] | None:
    """Return the call of `apply` that failed, its frame, and its variables with their value."""
    place = call_of(scene, "apply", "apply_fn")
    node = argument_of(place[1], 0, "variables") if place is not None else None
    if place is None or node is None:
        return None
    return (*place, node, place[0].value(node))


@explains(_NESTED)
def nested_params(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `net.apply({"params": variables}, x)`, where `variables` has the key `params` itself."""
    place = _variables(scene)
    if place is None or place[0].source is None:
        return None
    spot, _call, node, value = place
    source = place[0].source
    text = source.quote(node)
    fix: Fix | None = None
    sentence = "Give the dict that `init` returned as it is."
    if isinstance(node, ast.Dict):
        own = next((v for k, v in zip(node.keys, node.values, strict=True) if spot.value(k) == "params"), None)
        if own is None:
            return None
        text = source.quote(own)
        fix = scene.fix(sentence, source.replace(node, text))
        if len(node.keys) > 1:
            fix = scene.fix("Take off one level.", source.replace(own, f'{source.atom(own)}["params"]'))
    elif is_mapping(value):
        fix = scene.fix("Take off one level.", source.replace(node, f'{source.atom(node)}["params"]'))
    return scene.explanation(
        "flax_params_nested",
        title="The parameters are one level too deep",
        what=f"`{text}` already has the key `params`."
        if isinstance(node, ast.Dict)
        else f'`{text}` is `{{"params": {{"params": ...}}}}`.',
        variable=text,
        why="`init` returns all collections by name, `params` among them, and `apply` takes the same dict.",
        fixes=[fix or scene.advice(sentence)],
        link=_GUIDE,
        line=spot.line,
    )


@explains(_NO_COLLECTIONS)
def no_collections(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `net.apply(params, x)` with the parameters alone."""
    return _bare(scene)


@explains(_NO_COLLECTION)
def no_collection(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain variables without a collection that a module reads, such as `batch_stats`."""
    collection, where = found[2], found[3]
    if collection == "params":
        return _bare(scene)
    place = _variables(scene)
    if place is None or place[0].source is None:
        return None
    spot, _call, node, value = place
    source = place[0].source
    text = source.quote(node)
    keys = _keys(node, value)
    if keys is None or collection in keys:
        return None
    whole = _whole(spot, node, collection)
    sentence = f"Give it the collection `{collection}`, which `init` returned, too."
    fix = scene.fix("Give it all that `init` returned.", source.replace(node, whole)) if whole is not None else None
    return scene.explanation(
        "flax_collection_missing",
        title="A collection was left out of `apply`",
        what="`{name}` has {keys}, and `{where}` also reads `{collection}`.".format(
            name=text, keys=", ".join(f"`{key}`" for key in keys), where=where, collection=collection
        ),
        variable=text,
        why="A module keeps nothing itself: `apply` is given every collection that it reads.",
        fixes=[fix or scene.advice(sentence)],
        link=_STATE,
        line=spot.line,
    )


def _bare(scene: Scene) -> Explanation | None:
    place = _variables(scene)
    if place is None or place[0].source is None:
        return None
    spot, _call, node, value = place
    if not is_mapping(value) or "params" in value or not value:
        return None
    source, text = place[0].source, place[0].source.quote(node)
    return scene.explanation(
        "flax_params_bare",
        title="`apply` was given the parameters without their collection",
        what="`{name}` has the keys {keys}, and none is `params`.".format(
            name=text, keys=", ".join(f"`{key}`" for key in list(value)[:4])
        ),
        variable=text,
        why="`apply` takes collections by name, and the parameters are one of them.",
        fixes=[
            scene.fix("Say that they are the parameters.", source.replace(node, f'{{"params": {text}}}')),
        ],
        link=_GUIDE,
        line=spot.line,
    )


def _keys(node: ast.expr, value: Any) -> list[str] | None:
    """Return the keys of variables; None if they are not known."""
    if is_mapping(value):
        return [str(key) for key in value]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return [str(key.value) for key in node.keys if isinstance(key, ast.Constant)]
    return None


def _whole(spot: UserFrame, node: ast.expr, collection: str) -> str | None:
    """Return `variables` for `{"params": variables["params"]}`, if it has the collection."""
    if not isinstance(node, ast.Dict) or len(node.values) != 1:
        return None
    part = node.values[0]
    if not isinstance(part, ast.Subscript) or spot.value(part.slice) != "params":
        return None
    value = spot.value(part.value)
    return spot.quote(part.value) if is_mapping(value) and collection in value else None


@explains(_IMMUTABLE)
def not_mutable(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a module that updates a collection which `apply` was not told to let change."""
    where, collection = found[1], found[2]
    place = call_of(scene, "apply", "apply_fn")
    if place is None or place[0].source is None:
        return None
    spot, call = place
    source = place[0].source
    statement = source.statement(call)
    fix: Fix | None = None
    sentence = "Let it change, and take the new values: `apply` then returns two things."
    plain = isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name)
    if isinstance(statement, ast.Assign) and plain and not any(k.arg == "mutable" for k in call.keywords):
        last = (call.keywords[-1].value if call.keywords else call.args[-1]) if call.keywords or call.args else None
        if last is not None:
            fix = scene.fix(
                sentence,
                source.insert_after(last, f', mutable=["{collection}"]'),
                source.insert_after(statement.targets[0], ", updates"),
            )
    advice = f'Call it with `mutable=["{collection}"]`: it then returns the result and the new values.'
    return scene.explanation(
        "flax_collection_immutable",
        title="A module changes a collection that may not change",
        what=f"`{where}` updates the collection `{collection}`.",
        variable=collection,
        why="`apply` is a pure function: what changes is named in `mutable`, and comes out as a second result.",
        fixes=[fix or scene.advice(advice)],
        link=_STATE,
        line=spot.line,
    )


@explains(_SUBMODULE, _PARAMETER)
def outside_compact(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a submodule or a parameter made in a method that is not compact."""
    function = scene.spot.function
    owner = scene.source.parents.get(function) if function is not None else None
    if not is_instance(scene.spot.frame.f_locals.get("self"), "flax", "Module"):
        return None
    if not isinstance(function, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
        return None
    methods = [one for one in owner.body if isinstance(one, ast.FunctionDef)]
    free = not any(dotted(d).endswith("compact") for one in methods for d in one.decorator_list)
    free = free and not any(one.name == "setup" for one in methods)
    # Helpers that a compact method calls may make parts, too.
    outer = next((one for one in methods if one.name == "__call__" and not one.decorator_list), None)
    runs = any(spot.function is outer for spot in scene.spots)
    fix: Fix | None = None
    if free and outer is not None and runs:
        sentence = f"Let `{outer.name}` make its submodules as it runs: `nn.compact`."
        decorator = f"@{_linen(scene)}.compact\n{scene.source.indent(outer)}"
        fix = scene.fix(sentence, scene.source.insert_before(outer, decorator))
    text = scene.quote(scene.node)
    return scene.explanation(
        "flax_outside_compact",
        title="A part of a module is made where flax does not look for it",
        what="`{text}` is made in `{method}`.".format(text=text, method=f"{owner.name}.{function.name}"),
        variable=text,
        why="Flax must know every part before it runs: they are made in `setup`, or in one method that is compact.",
        fixes=[fix or scene.advice("Make it in `setup`, and keep it in an attribute of `self`.")],
        link=_SETUP,
    )


def _linen(scene: Scene) -> str:
    return scene.name_of("flax.linen") if "nn" not in scene.spot.frame.f_globals else "nn"


@explains(_NAME_IN_USE)
def name_in_use(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain two parts of a module with one name."""
    name, module = found[2], found[3]
    return scene.explanation(
        "flax_name_in_use",
        title="Two parts of a module have one name",
        what=f"`{module}` already has a part named `{name}`.",
        variable=name,
        why="The parameters of a part are kept under its name, so each name is used once in a module.",
        fixes=[scene.advice("Give this one another name; to use a part twice, make it once and call it twice.")],
        link=_SETUP,
    )


@explains(_UNBOUND)
def unbound(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `layer(x)`, for a module that holds no parameters."""
    call = scene.call()
    if call is None:
        return None
    node = call.func
    if not is_instance(scene.spot.value(node), "flax", "Module") and isinstance(node, ast.Attribute):
        node = node.value  # a method of the module
    if not is_instance(scene.spot.value(node), "flax", "Module") and not isinstance(node, ast.Call):
        return None
    text = scene.quote(node)
    given = ", ".join(scene.quote(a) for a in [*call.args, *call.keywords])
    return scene.explanation(
        "flax_unbound_module",
        title="A module is called without its parameters",
        what=f"`{text}` describes a network, and holds no parameters.",
        variable=text,
        why="Flax keeps the parameters outside: `init` makes them, and `apply` computes with them.",
        fixes=[
            scene.fix(
                "Make the parameters once, and compute with them.",
                code=f"variables = {text}.init({scene.random}.key(0), {given})\n{text}.apply(variables, {given})",
            )
        ],
        link=_GUIDE,
    )


@explains(_IN_SETUP)
def defined_in_setup(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `net.dense` from outside, for a part that is made in `setup`."""
    node = scene.node if isinstance(scene.node, ast.Attribute) else None
    owner = scene.spot.value(node.value) if node is not None else MISSING
    if node is None or node.attr != found[1] or not is_instance(owner, "flax", "Module"):
        return None
    text = scene.quote(node)
    return scene.explanation(
        "flax_defined_in_setup",
        title="A part of a module that exists only while it runs",
        what=f"`{text}` is made in `setup`, which runs inside `init` and `apply`.",
        variable=text,
        why="Outside of them, a module describes a network, and its parts have no parameters.",
        fixes=[
            scene.advice(
                f"Use it in a method, and call that: `{scene.quote(node.value)}.apply(variables, ..., method=...)`."
            ),
            scene.advice(f"Or bind the parameters first: `{scene.quote(node.value)}.bind(variables).{node.attr}`."),
        ],
        link=_SETUP,
    )


@explains(_NO_STREAM)
def no_stream(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a missing key, such as that of dropout."""
    stream = found[1]
    place = call_of(scene, "apply", "apply_fn", "init", "init_with_output")
    if place is None or place[0].source is None:
        return None
    spot, call = place
    source = place[0].source
    applies = called(call) in ("apply", "apply_fn")
    given = argument_of(call, -1, "rngs") if applies else argument_of(call, 0, "rngs")
    if applies:
        given = next((k.value for k in call.keywords if k.arg == "rngs"), None)
    known = _keys(given, spot.value(given)) if given is not None else None
    if known is not None and stream in known:
        return _stream_not_split(scene, spot, call, stream)
    seed = len(given.values) if isinstance(given, ast.Dict) else 0
    entry = f'"{stream}": {scene.random}.key({seed})'
    fix: Fix | None = None
    edit: Edit | None = None
    sentence = f"Give a key for `{stream}`, another one for every step."
    if isinstance(given, ast.Dict) and given.values:
        edit = source.insert_after(given.values[-1], f", {entry}")
    elif applies and given is None and (call.keywords or call.args) and not any(k.arg is None for k in call.keywords):
        last = call.keywords[-1].value if call.keywords else call.args[-1]
        edit = source.insert_after(last, f", rngs={{{entry}}}")
    fix = scene.fix(sentence, edit) if edit is not None else None
    return scene.explanation(
        "flax_key_missing",
        title="A module needs a key that it was not given",
        what=f"`{source.quote(call.func)}` gives no key for `{stream}`.",
        variable=stream,
        why="A module draws no numbers without a key, and keys are given by the name of what they are for.",
        fixes=[fix or scene.advice(f"Give `rngs` a key by the name `{stream}`, too.")],
        link=_RNGS,
        line=spot.line,
    )


def _stream_not_split(scene: Scene, spot: UserFrame, call: ast.Call, stream: str) -> Explanation | None:
    """Explain a key that is given, and that a lifted transformation such as `nn.vmap` does not hand on."""
    sources = dict.fromkeys(one.source for one in scene.spots if one.source is not None)
    if not any(keyword.arg == "split_rngs" for source in sources for c in source.calls() for keyword in c.keywords):
        return None
    return scene.explanation(
        "flax_key_not_handed_on",
        title="A key does not reach the module that needs it",
        what=f"`{spot.quote(call.func)}` is given a key for `{stream}`, and a module inside has none.",
        variable=stream,
        why="A lifted transformation such as `nn.vmap` or `nn.scan` hands on only the keys that `split_rngs` names.",
        fixes=[
            scene.advice(
                f"Name it there: `{stream}: True` draws anew for each part, and `False` draws the same for all."
            )
        ],
        link=_RNGS,
        line=spot.line,
    )


def is_other_input(name: str, own: str, wanted: str) -> bool:
    """Return whether a weight differs in the size of its input alone, so that not the network, but its input changed.

    >>> is_other_input("kernel", "(5, 3)", "(6, 3)"), is_other_input("kernel", "(5, 3)", "(5, 4)")
    (True, False)
    """
    one, other = (re.findall(r"\d+", text) for text in (own, wanted))
    same = len(one) == len(other) >= 2 and one[:-2] == other[:-2] and one[-1] == other[-1]
    return name in ("kernel", "w") and same


def not_for_this_network() -> tuple[str, str]:
    """Return a title and an advice for parameters of another shape, if the reason is not known."""
    return (
        "The parameters have other shapes than this network and input need",
        "Give `apply` what `init` of the same network made, with an input of the same sizes, except for the batch.",
    )


@explains(_PARAM_SHAPE)
def parameter_of_another_shape(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain parameters that were made for inputs of another size."""
    place = call_of(scene, "apply", "apply_fn")
    if place is None:
        return None
    title = "The parameters were made for inputs of another size"
    advice = "Give `init` and `apply` inputs whose axes, except those of the batch, have the same sizes."
    if not is_other_input(found[1], found[4], found[3]):
        title, advice = not_for_this_network()
    return scene.explanation(
        "flax_parameter_shape",
        title=title,
        what=f"`{found[1]}` of `{found[2]}` has shape {found[4]}, and {found[3]} is needed here.",
        variable=found[1],
        why="`init` chose the shapes by the network and the input that it was given, and `apply` keeps them.",
        fixes=[scene.advice(advice)],
        link=_GUIDE,
        line=place[0].line,
    )


@explains(_PARAM_MISSING)
def other_parameters(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain the parameters of another network."""
    place = _variables(scene)
    if place is None:
        return None
    spot, call, node, _value = place
    return scene.explanation(
        "flax_other_parameters",
        title="The parameters are those of another network",
        what=f"`{spot.quote(node)}` has no `{found[1]}` for `{found[2]}`.",
        variable=spot.quote(node),
        why="`init` makes the parameters under the names of the network's parts, and `apply` looks for the same names.",
        fixes=[scene.advice(f"Give `{spot.quote(call.func)}` what `init` of the same network made.")],
        link=_GUIDE,
        line=spot.line,
    )


@explains(_FROZEN)
def frozen(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `self.last = x` in a method of a module."""
    statement = scene.spot.statement
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    if not isinstance(target, ast.Attribute):
        return None
    text, own = scene.quote(target), scene.quote(target.value) == "self"
    advice = "Return the value, or let flax keep it: `self.sow` for a record, `self.variable` for state."
    if not own:
        advice = (
            f"Give it where the module is made, or make a copy that differs: `{scene.quote(target.value)}.copy(...)`."
        )
    if not own and target.attr == "name":
        advice = "In `setup`, a part is named after its attribute, `self.NAME = ...`; elsewhere, give it `name=`."
    return scene.explanation(
        "flax_frozen_module",
        title="A module cannot be changed after it was made",
        what=f"`{text}` is set on a module of type `{found[2]}`.",
        variable=text,
        why="A module only describes a network: the same one may run with other parameters, or under `jax.jit`.",
        fixes=[scene.advice(advice)],
        link=_STATE,
    )


@explains(_NO_ATTRIBUTE)
def module_as_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a linen module given to a jitted function."""
    node = scene.node.value if isinstance(scene.node, ast.Attribute) else None
    if node is None and isinstance(scene.node, ast.Call) and isinstance(scene.node.func, ast.Attribute):
        node = scene.node.func.value
    function = scene.spot.function
    if not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef):
        return None
    for spot in reversed(scene.spots[:-1]):
        call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
        if call is None or spot.source is None or (behind := function_behind(spot, call.func)) is None:
            continue
        if behind[1] is not function:
            continue
        names = [a.arg for a in function.args.args]
        if node.id not in names:
            return None
        given = argument_of(call, names.index(node.id), node.id)
        if given is None or not is_instance(spot.value(given), "flax", "Module"):
            return None
        return _static_module(scene, behind[0], function, node.id, spot.quote(given))
    return None


def _static_module(
    scene: Scene, source: Source, function: ast.FunctionDef, name: str, given: str
) -> Explanation | None:
    return scene.explanation(
        "flax_module_as_argument",
        title="`jax.jit` was given a module",
        what=f"`{name}` is the module `{given}`, which `jax.jit` takes for an array.",
        variable=name,
        why="A module holds no arrays; it only says how to compute with parameters.",
        fixes=[
            scene.fix(
                f"Make `{name}` static: JAX compiles once for each module.",
                *static_edits(scene, source, function, name),
            ),
            scene.advice("Or leave it out of the arguments, and use it from outside the function."),
        ],
        link=_GUIDE,
    )


@explains(_NO_KEY)
def init_without_key(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `model.init(x)`, whose first argument is a key."""
    place = call_of(scene, "init", "init_with_output")
    if place is None or not place[1].args or place[0].source is None:
        return None
    spot, call = place
    first = call.args[0]
    value, text = spot.value(first), spot.quote(first)
    shape = value.shape if is_array(value) else made_with(scene, first) if spot is scene.spot else None
    if shape is None or (is_array(value) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)):
        return None
    return scene.explanation(
        "flax_init_without_key",
        title="`init` was given no key",
        what=f"`{text}` has shape {tuple(shape)}, and stands where the key belongs.",
        variable=text,
        why="`init` draws the parameters, so it takes a key first, and then what `__call__` takes.",
        fixes=[
            scene.fix("Give a key first.", scene.source.insert_before(first, f"{scene.random}.key(0), "))
            if spot is scene.spot
            else scene.advice("Give a key first.")
        ],
        link=_GUIDE,
    )


@explains(_ARRAY_AS_DICT)
def apply_in_another_order(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `model.apply(x, params)`, which takes the variables first."""
    place = call_of(scene, "apply", "apply_fn")
    if place is None or len(place[1].args) < 2 or place[0] is not scene.spot:
        return None
    spot, call = place
    first, second = call.args[:2]
    module = spot.value(call.func.value) if isinstance(call.func, ast.Attribute) else MISSING
    if not is_instance(module, "flax", "Module"):
        return None
    if not is_mapping(spot.value(second)) or is_mapping(spot.value(first)):
        return None
    return scene.explanation(
        "flax_apply_order",
        title="`apply` was given the input in place of the variables",
        what=f"`{spot.quote(second)}` holds the variables, and comes second.",
        variable=spot.quote(first),
        why="`apply` takes the variables first, and then what `__call__` takes.",
        fixes=[
            scene.fix(
                "Change their order.",
                scene.source.replace(first, spot.quote(second)),
                scene.source.replace(second, spot.quote(first)),
            )
        ],
        link=_GUIDE,
    )
