"""Explain errors of numpyro's models: names that are used twice, and models that are called without a key."""

import ast
import re

from jaxguide.code.frames import package_of
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.library_errors import of_library
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called

_PAGE = "https://num.pyro.ai/en/stable/primitives.html"
_TWICE = of_library("numpyro", r"^all sites must have unique names but got `(.+?)` duplicated")
_NO_KEY = of_library("numpyro", r"^$")


@explains(_TWICE)
def name_used_twice(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain two sites of a model with one name."""
    call = scene.call()
    if call is None or not call.args or scene.spot.value(call.args[0]) != found[1]:
        return None
    loop = scene.source.around(call, (ast.For, ast.While))
    others = [
        one
        for one in scene.source.calls()
        if one is not call
        and called(one) == called(call)
        and one.args
        and ast.dump(one.args[0]) == ast.dump(call.args[0])
        and scene.source.function(one) is scene.source.function(call)
    ]
    if loop is None and not others:
        return None
    return scene.explanation(
        "numpyro_name_twice",
        title="Two sites of a model have the same name",
        what=f"`{found[1]}` is the name of a site already.",
        variable=scene.quote(call.args[0]),
        why="Inference keeps one value for each name.",
        fixes=[
            scene.advice(
                f'In a loop, number the names, as in `f"{found[1]}_{{i}}"`, or draw all at once in `numpyro.plate`.'
            )
            if loop is not None
            else scene.advice("Give one of them another name.")
        ],
        link=_PAGE,
    )


@explains(_NO_KEY)
def model_without_key(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `numpyro.sample` in a model that is called as a plain function, so that it has no key."""
    call = scene.call()
    if not isinstance(scene.error, AssertionError) or call is None or called(call) != "sample":
        return None
    function = scene.spot.function
    module = getattr(scene.spot.value(call.func), "__module__", "")
    if not str(module).startswith("numpyro") or argument_of(call, 3, "rng_key") is not None:
        return None
    if not isinstance(function, ast.FunctionDef) or scene.library != "numpyro":
        return None
    caller = scene.spot.frame.f_back
    while caller is not None:  # inference and handlers call the model from numpyro's own code
        if package_of(caller.f_code.co_filename) == "numpyro":
            return None
        caller = caller.f_back
    name = function.name
    return scene.explanation(
        "numpyro_without_key",
        title="A model that draws without a key",
        what=f"`{scene.quote(call)}` runs in `{name}`, which was called as a plain function.",
        variable=scene.quote(call.args[0]) if call.args else None,
        why="A model gets its keys from the inference or the handler that runs it.",
        fixes=[
            scene.fix(
                "To draw from it, give it a key with a handler.",
                code=f"numpyro.handlers.seed({name}, {scene.random}.key(0))(...)",
            )
        ],
        link="https://num.pyro.ai/en/stable/handlers.html",
    )
