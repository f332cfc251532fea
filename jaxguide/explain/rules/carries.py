"""Explain carries that change from turn to turn in `lax.scan`, `lax.while_loop` and `lax.fori_loop`."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.source import FunctionNode, Source
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, parameters, returned

_SCAN = f"{error_texts.API}/jax.lax.scan.html"
LOOPS = ("scan", "while_loop", "fori_loop")
# Which argument of each is the function of one turn, by position and name, and which the start.
BODY = {"scan": (0, "f"), "while_loop": (1, "body_fun"), "fori_loop": (2, "body_fun")}
START = {"scan": (1, "init"), "while_loop": (2, "init_val"), "fori_loop": (3, "init_val")}


@explains(error_texts.CARRY_TYPE)
def carry_changes_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop whose carry comes out with another dtype or shape."""
    call = scene.call()
    if call is None or called(call) not in LOOPS:
        return None
    types = error_texts.CARRY_TYPES.search(scene.message)
    start = argument_of(call, *START[called(call)])
    if types is None or start is None:
        return None
    name, dtype, shape, new_dtype, new_shape = types.groups()
    place = function_behind(scene.spot, argument_of(call, *BODY[called(call)]))
    own = carry_name(call, place[1]) if place is not None else None
    name = name if own is None else name.replace("loop_carry[1]", own)
    text = scene.quote(start)
    fixes: list[Fix | None] = []
    single = "[" not in name and "." not in name and not isinstance(start, ast.Tuple | ast.List | ast.Dict)
    if shape == new_shape and single:
        title = _("A carry that changes its dtype")
        fixes.append(
            scene.fix(
                _("Start with the dtype that a turn gives."),
                scene.source.replace(start, f"{scene.jnp}.asarray({text}, {scene.jnp}.{new_dtype})"),
            )
        )
        fixes.append(_cast_result(scene, call, dtype))
    else:
        title = _("A carry that changes its shape") if shape != new_shape else _("A carry that changes its dtype")
        fixes.append(_collect(scene, call))
        if single and shape in ("", "1") and new_shape and not any(fixes):
            size = f"({new_shape},)" if "," not in new_shape else f"({new_shape})"
            fixes.append(
                scene.fix(
                    _("Start with the shape that a turn gives."),
                    scene.source.replace(
                        start, f"{scene.jnp}.broadcast_to({scene.jnp}.asarray({text}, {scene.jnp}.{new_dtype}), {size})"
                    ),
                )
            )
        if shape == new_shape:
            fixes = [_start_parts(scene, start)]
            fixes += [scene.advice(_("Start with the dtype that a turn gives.")) if not any(fixes) else None]
        elif not any(fixes):
            fixes.append(
                scene.advice(
                    _("Start with an array of the full size, and set one place of it in each turn with `.at[...].set`.")
                )
            )
    return scene.explanation(
        "carry_type",
        title=title,
        what=_("`{name}` goes in as {old} and comes out as {new}.").format(
            name=name, old=f"{dtype}[{shape}]", new=f"{new_dtype}[{new_shape}]"
        ),
        variable=name,
        why=_("One turn is compiled once and used for all, so what comes out must fit what goes in."),
        fixes=fixes,
        link=_SCAN,
    )


def carry_name(call: ast.Call, function: FunctionNode) -> str | None:
    """Return what the function of one turn calls the carry."""
    names = [a.arg for a in parameters(function)]
    place = 1 if called(call) == "fori_loop" else 0
    return names[place] if place < len(names) else None


def as_pair(source: Source, result: ast.expr, text: str) -> Edit:
    """Return the edit that puts two results in the place of a turn's result, in parentheses in a lambda."""
    return source.replace(result, f"({text})" if isinstance(source.parents.get(result), ast.Lambda) else text)


def _start_parts(scene: Scene, start: ast.expr) -> Fix | None:
    """Return the fix that gives parts of a written-out start the dtypes that a turn gives."""
    edits: list[Edit] = []
    for name, _dtype, shape, new_dtype, new_shape in error_texts.CARRY_TYPES.findall(scene.message):
        index = re.fullmatch(r".*[a-zA-Z_]\w*(?:\[1\])?\[(\d+)\]", name)
        if index is None or shape != new_shape or not isinstance(start, ast.Tuple | ast.List):
            return None
        if name.count("[") != (2 if name.startswith("loop_carry[1]") else 1) or int(index[1]) >= len(start.elts):
            return None
        part = start.elts[int(index[1])]
        edits.append(scene.source.replace(part, f"{scene.jnp}.asarray({scene.quote(part)}, {scene.jnp}.{new_dtype})"))
    return scene.fix(_("Start with the dtype that a turn gives."), *edits) if edits else None


def _cast_result(scene: Scene, call: ast.Call, dtype: str) -> Fix | None:
    """Return the fix that gives a turn's result the dtype that it came with."""
    place = function_behind(scene.spot, argument_of(call, *BODY[called(call)]))
    result = returned(place[1]) if place is not None else None
    if place is None or result is None:
        return None
    out = result.elts[0] if called(call) == "scan" and isinstance(result, ast.Tuple) and result.elts else result
    return scene.fix(
        _("Give the result the dtype that went in."),
        place[0].replace(out, f"{place[0].atom(out)}.astype({scene.jnp}.{dtype})"),
    )


def _collect(scene: Scene, call: ast.Call) -> Fix | None:
    """Return the fix for a carry that grows by `append` or `concatenate`: let scan stack the outputs."""
    place = function_behind(scene.spot, argument_of(call, *BODY[called(call)]))
    result = returned(place[1]) if place is not None else None
    if called(call) != "scan" or place is None or not isinstance(result, ast.Tuple) or len(result.elts) != 2:
        return None
    source, grown, output = place[0], *result.elts
    carry = carry_name(call, place[1])
    if not (isinstance(output, ast.Constant) and output.value is None) or carry is None:
        return None
    new = _added(source, grown, carry)
    if new is None:
        return None
    return scene.fix(
        _("Do not grow it: give the new entry as the turn's output, and `lax.scan` stacks the outputs."),
        as_pair(source, result, f"{carry}, {new}"),
    )


def _added(source: Source, grown: ast.expr, carry: str) -> str | None:
    """Return what `jnp.append(c, x)` or `jnp.concatenate([c, x[None]])` adds to `c`; None for anything else."""
    if not isinstance(grown, ast.Call) or not grown.args or grown.keywords:
        return None
    if called(grown) == "append" and len(grown.args) == 2:
        first, new = grown.args
    elif called(grown) in ("concatenate", "hstack", "vstack") and isinstance(grown.args[0], ast.List | ast.Tuple):
        if len(grown.args) != 1 or len(grown.args[0].elts) != 2:
            return None
        first, new = grown.args[0].elts
    else:
        return None
    if not isinstance(first, ast.Name) or first.id != carry:
        return None
    if isinstance(new, ast.Subscript) and isinstance(new.slice, ast.Constant) and new.slice.value is None:
        return source.quote(new.value)
    if isinstance(new, ast.List) and len(new.elts) == 1:
        return source.quote(new.elts[0])
    return source.quote(new)
