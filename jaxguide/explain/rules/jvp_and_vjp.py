"""Explain arguments that do not fit `jax.jvp` and `jax.vjp`, and incomplete custom derivative rules."""

import ast
import re

from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import arguments_of, dotted
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import transformation
from jaxguide.jaxpr.value_words import describe

_RULES = "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html"


@explains(error_texts.JVP_CONTAINER)
def jvp_without_tuples(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.jvp(f, x, v)`."""
    call = scene.call()
    if call is None or len(call.args) != 3:
        return None
    edits = [
        scene.source.replace(a, f"({scene.quote(a)},)")
        for a in call.args[1:]
        if not isinstance(scene.spot.value(a), tuple | list)
    ]
    return scene.explanation(
        "jvp_without_tuples",
        title="`jax.jvp` was not given tuples",
        what=f"`{scene.quote(call.args[1])}` is not a tuple.",
        variable=scene.quote(call.args[1]),
        why=(
            "A function may have several arguments, so `jax.jvp` takes all primals in one tuple, all tangents in "
            "another."
        ),
        fixes=[scene.fix("Put each into a tuple of one.", *edits)],
        link=f"{error_texts.API}/jax.jvp.html",
    )


@explains(error_texts.JVP_DTYPE)
def jvp_dtype(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain tangents whose dtype differs from that of the primals."""
    call = scene.call()
    if call is None or len(call.args) != 3 or not isinstance(call.args[2], ast.Tuple | ast.List):
        return None
    edits = []
    for node in call.args[2].elts:
        text, value = scene.quote(node), scene.spot.value(node)
        if isinstance(node, ast.Constant) and isinstance(value, int):
            edits.append(scene.source.replace(node, f"{text}.0"))
        elif isinstance(value, int):
            edits.append(scene.source.replace(node, f"float({text})"))
        elif is_array(value):
            edits.append(scene.source.replace(node, f"{scene.atom(node)}.astype(float)"))
    if not edits:
        return None
    text = scene.quote(call.args[2].elts[0])
    return scene.explanation(
        "tangent_dtype",
        title="A tangent of another dtype than its primal",
        what=f"`{text}` is {describe(scene.spot.value(call.args[2].elts[0]))} here.",
        variable=text,
        why="A tangent is a small change of its primal, so both have one shape and one dtype.",
        fixes=[scene.fix("Give floats.", *edits)],
        link=f"{error_texts.API}/jax.jvp.html",
    )


@explains(error_texts.VJP_SHAPE)
def vjp_cotangent(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a cotangent whose shape or dtype differs from that of the output."""
    call = scene.call()
    if call is None or len(call.args) != 1:
        return None
    text = scene.quote(call.args[0])
    shape = f"({found[3]},)" if found[3] and "," not in found[3] else f"({found[3]})"
    new = f"{scene.jnp}.full({shape}, {text}, {scene.jnp}.{found[2]})"
    if not found[1].endswith("[]"):
        new = f"{scene.jnp}.ones({shape}, {scene.jnp}.{found[2]})"
    return scene.explanation(
        "cotangent_shape",
        title="A cotangent that does not fit the output",
        what=f"`{text}` is {found[1]}, and the output is {found[2]}[{found[3]}].",
        variable=text,
        why="The pullback takes one number for each number of the output: how much each counts.",
        fixes=[scene.fix("Give the output's shape and dtype.", scene.source.replace(call.args[0], new))],
        link=f"{error_texts.API}/jax.vjp.html",
    )


@explains(error_texts.NO_JVP_RULE)
def rule_missing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a `custom_jvp` or `custom_vjp` function without a rule."""
    name, forward = found[2], found[1] == "JVP"
    defined = [f for spot in scene.spots if spot.source for f in [*spot.source.functions(name)]]
    if not defined:
        return None
    definition, source = defined[0], scene.source
    decorator = next((d for d in definition.decorator_list if "custom_" in dotted(d)), None)
    arguments = arguments_of(definition)
    given = ", ".join(arguments)
    if forward:
        tangents = [f"{a}_dot" for a in arguments]
        code = "\n".join(
            [
                f"@{name}.defjvp",
                "def rule(primals, tangents):",
                f"    {', '.join(arguments)}, = primals; {', '.join(tangents)}, = tangents",
                f"    return {name}({', '.join(arguments)}), DERIVATIVE * {tangents[0]}",
            ]
        )
    else:
        code = "\n".join(
            [
                f"def forward({given}): return {name}({given}), ({given},)",
                f"def backward(saved, g): {', '.join(arguments)}, = saved; return (DERIVATIVE * g,)",
                f"{name}.defvjp(forward, backward)",
            ]
        )
    drop = None
    if decorator is not None:
        (line, _c), (end, _e) = source.start(decorator), source.end(decorator)
        drop = Edit(source.file, (line, 0), (end + 1, 0), "")
    return scene.explanation(
        "rule_missing",
        title="A derivative rule was promised and not given",
        what=f"`{name}` is declared with a rule of its own, and none was given.",
        variable=name,
        why=f"The decorator tells JAX not to look inside `{name}`, so it has nothing to differentiate.",
        fixes=[
            scene.fix("Let JAX differentiate what is inside: take the decorator away.", drop),
            scene.fix("Give the rule.", code=code),
        ],
        link=_RULES,
    )


@explains(error_texts.BWD_TUPLE)
def backward_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a backward rule that does not return one cotangent per argument."""
    for spot in reversed(scene.spots):
        source = spot.source
        for call in source.calls() if source else ():
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "defvjp" or len(call.args) != 2:
                continue
            assert source is not None
            name = source.quote(call.args[1])
            for definition in source.functions(name):
                returned = [n for n in ast.walk(definition) if isinstance(n, ast.Return) and n.value is not None]
                if len(returned) == 1 and not isinstance(returned[0].value, ast.Tuple):
                    value = returned[0].value
                    assert value is not None
                    return scene.explanation(
                        "backward_no_tuple",
                        title="A backward rule that does not return a tuple",
                        what=f"`{name}` returns `{source.quote(value)}`, which is not a tuple.",
                        variable=name,
                        why=(
                            "The backward rule returns one cotangent for each argument of the function, in a tuple, "
                            "also for one."
                        ),
                        fixes=[
                            scene.fix("Put it into a tuple of one.", source.replace(value, f"({source.quote(value)},)"))
                        ],
                        link=_RULES,
                        line=Line(source.file, source.start(value)[0]),
                    )
    return None


@explains(error_texts.FORWARD_OF_VJP)
def forward_of_vjp(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain forward mode through a function that has only a reverse rule."""
    call = scene.call()
    made = transformation(scene, call) if call is not None else None
    if made is None or called(made) not in ("jacfwd", "hessian"):
        return None
    function = scene.quote(made.args[0])
    base = scene.quote(made.func).removesuffix(called(made))
    new = f"{base}jacrev" if called(made) == "jacfwd" else None
    edit = scene.source.replace(made.func, new) if new else None
    if called(made) == "hessian":
        edit = scene.source.replace(made, f"{base}jacrev({base}jacrev({function}))")
    return scene.explanation(
        "forward_of_custom_vjp",
        title="Forward mode through a reverse rule",
        what=f"`{function}` has a rule from `jax.custom_vjp`.",
        variable=function,
        why=f"`{scene.quote(made.func)}` goes forward, and a `custom_vjp` rule says only how to go back.",
        fixes=[scene.fix("Go back: the same derivatives in reverse mode.", edit)],
        link=_RULES,
    )
