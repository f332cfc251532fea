"""Explain `lax.cond` and `lax.switch`: branches that differ or are not functions, conditions that are not scalars."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.source import arguments_of
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import function_behind, returned

_COND = f"{error_texts.API}/jax.lax.cond.html"


def _branches(scene: Scene) -> tuple[ast.Call, list[ast.expr]] | None:
    """Return the call and the expressions of its branches."""
    call = scene.call()
    if call is None or len(call.args) < 2:
        return None
    if called(call) == "cond" and len(call.args) > 2:
        return call, [call.args[1], call.args[2]]
    if called(call) == "switch" and isinstance(call.args[1], ast.List | ast.Tuple):
        return call, list(call.args[1].elts)
    return None


@explains(error_texts.BRANCH_TYPE)
def branch_types(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain branches whose results differ in dtype or shape."""
    place = _branches(scene)
    types = error_texts.BRANCH_TYPES.search(scene.message)
    if place is None or types is None:
        return None
    call, branches = place
    one, dtype, shape, other, other_dtype, other_shape = types.groups()
    wanted = _wider(dtype, other_dtype)
    wrong = 0 if other_dtype == wanted else len(branches) - 1
    if dtype == other_dtype:  # the shapes differ: broadcast the scalar one
        wrong = 0 if shape == "" else len(branches) - 1
    if called(call) == "switch":
        number = re.search(r"(\d+)$", one if wrong == 0 else other)
        wrong = int(number[1]) if number else wrong
    definition = function_behind(scene.spot, branches[wrong])
    result = returned(definition[1]) if definition is not None else None
    if definition is None or result is None:
        return None
    source, text = definition[0], definition[0].quote(result)
    fixes: list[Fix | None] = []
    if dtype != other_dtype:
        fixes.append(
            scene.fix(
                _("Give both one dtype: say it where the other one comes from."),
                source.replace(result, f"{scene.jnp}.asarray({text}, {scene.jnp}.{wanted})"),
            )
        )
    else:
        full = shape if wrong else other_shape
        size = f"({full},)" if full and "," not in full else f"({full})"
        fixes.append(
            scene.fix(
                _("Give both one shape."),
                source.replace(result, f"{scene.jnp}.broadcast_to({text}, {size})")
                if (other_shape if wrong else shape) in ("", "1")
                else None,
                code=f"{scene.jnp}.zeros({size})",
            )
        )
    fixes.append(_as_where(scene, call, branches) if called(call) == "cond" else None)
    return scene.explanation(
        "branch_types",
        title=_("Branches with results of different types"),
        what=_("One branch gives {one}, the other {other}.").format(
            one=f"`{dtype}[{shape}]`", other=f"`{other_dtype}[{other_shape}]`"
        ),
        variable=text,
        why=_("The program goes on with one result, whichever branch ran, so both have the same shape and dtype."),
        fixes=fixes,
        link=_COND,
    )


@explains(error_texts.BRANCH_STRUCTURE)
def branch_structures(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain branches that return different numbers of values."""
    place = _branches(scene)
    if place is None:
        return None
    _call, branches = place
    ends = [(branch, function_behind(scene.spot, branch)) for branch in branches]
    results = [(d[0], returned(d[1])) for _b, d in ends if d is not None]
    if len(results) < 2 or any(result is None for _s, result in results):
        return None
    (one_source, one), (other_source, other) = results[0], results[-1]
    assert one is not None
    assert other is not None
    many, single, source = (one, other, other_source) if isinstance(one, ast.Tuple) else (other, one, one_source)
    fixes: list[Fix | None] = []
    text = source.quote(single)
    if isinstance(many, ast.Tuple) and not isinstance(single, ast.Tuple | ast.List | ast.Dict):
        extra = [f"{scene.jnp}.zeros_like({text})"] * (len(many.elts) - 1)
        fixes.append(
            scene.fix(
                _("Return as many from both, with something that fits for what is missing."),
                source.replace(single, f"({', '.join([text, *extra])})"),
            )
        )
    else:
        fixes.append(scene.fix(_("Return the same parts from both branches."), code=f"return {text}"))
    return scene.explanation(
        "branch_structure",
        title=_("Branches that return different parts"),
        what=_("One branch returns `{one}`, the other `{other}`.").format(
            one=one_source.quote(one), other=other_source.quote(other)
        ),
        variable=text,
        why=_("The program goes on with one result, whichever branch ran, so both return the same parts."),
        fixes=fixes,
        link=_COND,
    )


@explains(error_texts.COND_NOT_CALLABLE)
def branch_no_function(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.cond(test, x, -x)`."""
    place = _branches(scene)
    if place is None:
        return None
    call, branches = place
    texts = [scene.quote(b) for b in branches]
    edits = [scene.source.replace(b, f"lambda: {t}") for b, t in zip(branches, texts, strict=True)]
    return scene.explanation(
        "branch_no_function",
        title=_("A branch that is no function"),
        what=_("`{text}` is a value, computed before `lax.cond` is asked.").format(text=texts[0]),
        variable=texts[0],
        why=_("`lax.cond` runs one of two functions; a value is computed already, whichever is chosen."),
        fixes=[
            scene.fix(_("Make functions of them."), *edits) if len(call.args) == 3 else None,
            scene.fix(
                _("With both values at hand, choose."),
                scene.source.replace(call, f"{scene.jnp}.where({scene.quote(call.args[0])}, {texts[0]}, {texts[1]})"),
            ),
        ],
        link=_COND,
    )


@explains(error_texts.COND_PREDICATE)
def condition_with_axes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.cond` with an array as its condition."""
    place = _branches(scene)
    if place is None:
        return None
    call, branches = place
    test = scene.quote(call.args[0])
    operands = [scene.quote(a) for a in call.args[3:]]
    functions = [scene.quote(b) for b in branches]
    names = ["p", *(f"a{i}" if i else "a" for i in range(len(operands)))]
    rows = (
        f"{scene.jax}.vmap(lambda {', '.join(names)}: {scene.lax}.cond(p, {', '.join([*functions, *names[1:]])}))"
        f"({', '.join([test, *operands])})"
    )
    return scene.explanation(
        "condition_with_axes",
        title=_("A condition with axes"),
        what=_("`{text}` has shape {shape}.").format(text=test, shape=found[1]),
        variable=test,
        why=_("`lax.cond` makes one choice, so its condition is one bool, of shape ()."),
        fixes=[
            _as_where(scene, call, branches),
            scene.fix(_("Choose row by row."), scene.source.replace(call, rows) if called(call) == "cond" else None),
        ],
        link=_COND,
    )


@explains(error_texts.COND_OPERANDS)
def operands_missing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.cond(test, lambda x: ..., lambda x: ...)` without the operand."""
    place = _branches(scene)
    if place is None:
        return None
    call, branches = place
    definition = function_behind(scene.spot, branches[0])
    if definition is None or (called(call) == "cond" and len(call.args) != 3):
        return None
    names = arguments_of(definition[1])
    known = [n for n in names if is_array(scene.spot.value(ast.Name(n, ast.Load())))]
    given = f"{scene.quote(call)[:-1]}, {', '.join(names)})"
    return scene.explanation(
        "operands_missing",
        title=_("The branches are given no operand"),
        what=_("`{name}` takes `{arguments}`, and nothing follows the branches.").format(
            name=found[1], arguments=", ".join(names)
        ),
        variable=found[3],
        why=_("`lax.cond` calls the branch that it takes with the operands that come after the branches."),
        fixes=[
            scene.fix(
                _("Give the operands after the branches."),
                scene.source.insert_after(call.args[-1], f", {', '.join(names)}") if known == names else None,
                code="" if known == names else given,
            )
        ],
        link=_COND,
    )


def _as_where(scene: Scene, call: ast.Call, branches: list[ast.expr]) -> Fix | None:
    """Return the fix that chooses elementwise, if both branches are lambdas with the operands' names."""
    if len(branches) != 2 or not all(isinstance(b, ast.Lambda) for b in branches):
        return None
    operands = [scene.quote(a) for a in call.args[3:]]
    texts = []
    for branch in branches:
        assert isinstance(branch, ast.Lambda)
        if arguments_of(branch) != operands:
            return None
        texts.append(scene.quote(branch.body))
    return scene.fix(
        _("Choose elementwise: both sides are computed, and their dtypes are promoted."),
        scene.source.replace(call, f"{scene.jnp}.where({scene.quote(call.args[0])}, {texts[0]}, {texts[1]})"),
    )


def _wider(one: str, other: str) -> str:
    """Return the dtype to which JAX promotes both.

    >>> _wider("float32", "int32")
    'float32'
    """
    import jax.numpy as jnp

    return str(jnp.promote_types(one, other))
