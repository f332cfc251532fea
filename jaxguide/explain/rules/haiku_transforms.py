"""Explain errors of haiku: what needs `hk.transform`, state, and keys."""

import ast
import re

from jaxguide.code.user_frame import is_array
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.library_errors import call_of, is_instance, of_library
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.flax_linen import is_other_input, not_for_this_network
from jaxguide.explain.scene import Scene, argument_of, called

_PAGE = "https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html"
_API = "https://dm-haiku.readthedocs.io/en/latest/api.html"
_OUTSIDE_MODULE = of_library("haiku", r"^All `hk\.Module`s must be initialized inside an `hk\.transform`")
_OUTSIDE = of_library("haiku", r"^`hk\.(\w+)` must be used as part of an `hk\.transform`")
_STATE = of_library("haiku", name="NonEmptyStateError")
_NO_KEY = of_library("haiku", name="MissingRNGError")
_KEY_FORGOTTEN = of_library("haiku", r"^(Init|Apply) must be called with an RNG as the (first|second) argument")
_PARAM_SHAPE = of_library("haiku", r"^'(\S+)' with retrieved shape (\([\d, ]*\)) does not match shape=(\[[\d, ]*\])")
_PARAM_MISSING = of_library("haiku", r"^Unable to retrieve parameter '(\S+)' for module '(\S+)'")
_NO_PARAMS = of_library("haiku", r"^params argument does not appear valid\. It should be a mapping but is of type")
_ARGUMENTS = of_library("haiku", r"takes (\d+) positional arguments? but (\d+) (?:was|were) given$")


@explains(_OUTSIDE_MODULE, _OUTSIDE)
def outside_transform(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a module, a parameter or a key of haiku outside of a transformed function."""
    call = scene.call()
    if call is None:
        return None
    text = scene.quote(call)
    fix: Fix | None = None
    advice = "Use it in a function, and transform that: `net = hk.transform(f)`, then `net.init` and `net.apply`."
    if called(call) == "next_rng_key" and scene.spot.function is None:
        fix = scene.fix("Give a key of JAX.", scene.source.replace(call, f"{scene.random}.PRNGKey(0)"))
    return scene.explanation(
        "haiku_outside_transform",
        title="A part of haiku outside of `hk.transform`",
        what=f"`{text}` runs outside of a function that `hk.transform` has transformed.",
        variable=text,
        why="Haiku keeps parameters, state and keys for the function that it transforms; outside there is no place.",
        fixes=[fix or scene.advice(advice)],
        link=_PAGE,
    )


@explains(_STATE)
def state(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain state, such as that of batch norm, under `hk.transform`."""
    place = call_of(scene, "init", "apply")
    if place is None or place[0].source is None or not isinstance(place[1].func, ast.Attribute):
        return None
    source = place[0].source
    net = source.quote(place[1].func.value)
    return scene.explanation(
        "haiku_state",
        title="State needs `hk.transform_with_state`",
        what=f"The function of `{net}` keeps state, such as the running averages of a batch norm.",
        variable=net,
        why="`hk.transform` handles parameters only; state goes in and comes out with every call.",
        fixes=[
            scene.fix(
                "Transform it with state: `init` and `apply` then return two things.",
                code=(
                    f"{net} = hk.transform_with_state(...)\n"
                    f"params, state = {net}.init(key, ...)\n"
                    f"out, state = {net}.apply(params, state, key, ...)"
                ),
            )
        ],
        link=f"{_API}#haiku.transform_with_state",
        line=place[0].line,
    )


@explains(_NO_KEY)
def no_haiku_key(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain None as a key where numbers are drawn."""
    place = call_of(scene, "init", "apply")
    if place is None or place[0].source is None or not isinstance(place[1].func, ast.Attribute):
        return None
    spot, call = place
    source, net = place[0].source, place[0].quote(place[1].func.value)
    places = call.args[:1] if called(call) == "init" else call.args[1:3]  # with state, the key comes third
    given: ast.expr | None = next((a for a in places if spot.value(a) is None), None)
    given = next((k.value for k in call.keywords if k.arg == "rng"), given)
    fix: Fix | None = None
    if isinstance(given, ast.Constant) and given.value is None:
        sentence = "Give a key, another one for every step."
        fix = scene.fix(sentence, source.replace(given, f"{scene.random}.PRNGKey(0)"))
    return scene.explanation(
        "haiku_key_missing",
        title="A function of haiku needs a key that it was not given",
        what=f"`{source.quote(call.func)}` gives no key, and the function draws numbers.",
        variable=net,
        why="Parameters are drawn in `init`, and dropout draws in `apply`, from the key that these are given.",
        fixes=[
            fix
            or scene.advice(
                "Give `{call}` a key; without `hk.without_apply_rng`, `apply` takes one.".format(
                    call=f"{net}.{called(call)}"
                )
            )
        ],
        link=f"{_API}#haiku.next_rng_key",
        line=spot.line,
    )


@explains(_KEY_FORGOTTEN)
def key_forgotten(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `net.apply(params, x)`, where the key comes second."""
    place = call_of(scene, "init", "apply")
    if place is None or place[0].source is None:
        return None
    spot, call = place
    given = argument_of(call, 0 if found[1] == "Init" else 1, "rng")
    if given is None:
        return None
    text = place[0].quote(given)
    return scene.explanation(
        "haiku_key_forgotten",
        title="The key was left out",
        what=f"`{text}` stands where the key belongs.",
        variable=text,
        why="`init` takes the key first, and `apply` after the parameters; the function's own arguments follow.",
        fixes=[
            scene.fix(
                "Give a key; None will do if the function draws no numbers.",
                place[0].source.insert_before(given, f"{scene.random}.PRNGKey(0), "),
            )
            if is_array(spot.value(given)) or isinstance(given, ast.Call)
            else scene.advice("Give a key; None will do if the function draws no numbers."),
            scene.advice("Or leave it out for good: `hk.without_apply_rng(hk.transform(f))`.")
            if found[1] == "Apply"
            else None,
        ],
        link=_PAGE,
        line=spot.line,
    )


@explains(_ARGUMENTS)
def key_too_many(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `net.apply(params, None, x)` after `hk.without_apply_rng`."""
    place = call_of(scene, "apply")
    if place is None or place[0].source is None or int(found[2]) != int(found[1]) + 1:
        return None
    spot, call = place
    given = argument_of(call, 1, "rng")
    if not isinstance(given, ast.Constant) or given.value is not None or len(call.args) < 3:
        return None
    if not isinstance(call.func, ast.Attribute) or not is_instance(spot.value(call.func.value), "haiku"):
        return None
    rest = ", ".join(place[0].quote(a) for a in [call.args[0], *call.args[2:]])
    rest += "".join(f", {k.arg}={place[0].quote(k.value)}" for k in call.keywords)
    return scene.explanation(
        "haiku_key_too_many",
        title="A key is given where none is taken",
        what=f"`{place[0].quote(call.func)}` takes no key, and None is handed on to the function.",
        variable="None",
        why="`hk.without_apply_rng` takes the key out of `apply`.",
        fixes=[
            scene.fix("Leave it out.", place[0].source.replace(call, f"{place[0].quote(call.func)}({rest})")),
        ],
        link=f"{_API}#haiku.without_apply_rng",
        line=spot.line,
    )


@explains(_NO_PARAMS)
def state_not_unpacked(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain the pair that `init` of `hk.transform_with_state` returns, given as parameters."""
    place = call_of(scene, "apply")
    node = argument_of(place[1], 0, "params") if place is not None else None
    if place is None or node is None or not isinstance(place[0].value(node), tuple) or len(place[0].value(node)) != 2:
        return None
    text = place[0].quote(node)
    return scene.explanation(
        "haiku_state_not_unpacked",
        title="Parameters and state are given as one",
        what=f"`{text}` is a pair of parameters and state.",
        variable=text,
        why="With `hk.transform_with_state`, `init` returns both, and `apply` takes them one after the other.",
        fixes=[
            scene.advice(
                "Unpack what `init` returns, `params, state = ...`, and call `apply(params, state, key, ...)`."
            ),
        ],
        link=f"{_API}#haiku.transform_with_state",
        line=place[0].line,
    )


@explains(_PARAM_SHAPE, _PARAM_MISSING)
def other_haiku_parameters(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain parameters of another network, or made for inputs of another size."""
    place = call_of(scene, "apply")
    if place is None:
        return None
    shape = found.re is _PARAM_SHAPE.text
    title = "The parameters are those of another network"
    advice = "Give `apply` the parameters that `init` of the same network made."
    if shape and is_other_input(found[1].rpartition("/")[2], found[2], found[3]):
        title = "The parameters were made for inputs of another size"
        advice = "Give `init` and `apply` inputs whose axes, except those of the batch, have the same sizes."
    elif shape:
        title, advice = not_for_this_network()
    return scene.explanation(
        "haiku_other_parameters",
        title=title,
        what="`{name}` has shape {own}, and {wanted} is needed here.".format(
            name=found[1], own=found[2], wanted=f"({found[3][1:-1]})"
        )
        if shape
        else f"They have no `{found[1]}` for the module `{found[2]}`.",
        variable=found[1],
        why="`init` makes the parameters, by the names of the modules and the shape of the input that it is given.",
        fixes=[scene.advice(advice)],
        link=_PAGE,
        line=place[0].line,
    )
