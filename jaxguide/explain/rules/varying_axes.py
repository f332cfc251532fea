"""Explain values under `jax.shard_map` that differ from device to device, where others are the same on all.

The axes of the mesh along which a value differs are part of its type: `float32[]{V:x}` is not `float32[]`.
"""

import ast
import re

from jaxguide.code.edits import Edit
from jaxguide.code.source import Source
from jaxguide.compat import sharding_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind, parameters, returned

# For each loop: the position and name of its body, and of its initial value, and the carry's place in the body.
_LOOPS = {
    "scan": ((0, "f"), (1, "init"), 0),
    "while_loop": ((1, "body_fun"), (2, "init_val"), 0),
    "fori_loop": ((2, "body_fun"), (3, "init_val"), 1),
}


@explains(sharding_texts.CARRY_VARIES)
def carry_varies(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a carry that goes in the same on all devices, and comes out different on each, or the other way round."""
    call = scene.call()
    leaves = sharding_texts.CARRY_LEAVES.findall(scene.message)
    if call is None or called(call) not in _LOOPS or not leaves:
        return None
    if any(_plain(old) != _plain(new) for _path, old, new in leaves):
        return None  # the dtype or the shape changes, too
    body, start, place = _LOOPS[called(call)]
    function = function_behind(scene.spot, argument_of(call, *body))
    given = argument_of(call, *start)
    names = [a.arg for a in parameters(function[1])] if function is not None else []
    own = names[place] if place < len(names) else None
    said = [(_named(path, own), _axes(old), _axes(new)) for path, old, new in leaves]
    name, before, after = said[0]
    axes = after - before or before - after
    grows = bool(after - before)
    if any(bool(new - old) != grows for _name, old, new in said):
        return None
    fixes: list[Fix | None] = []
    if grows:
        sentence = f"Start with a value that may differ along {_said(axes)}: `jax.lax.pcast`."
        edits = [_start(scene, given, path, len(leaves), _axes(new) - _axes(old)) for path, old, new in leaves]
        fixes.append(scene.fix(sentence, *edits) if all(edits) else None)
        fixes.append(scene.advice(sentence) if not any(fixes) else None)
        what = "`{name}` goes in the same on all devices, and comes out different along {axes}."
    else:
        sentence = f"Let what comes out count as differing along {_said(axes)}, as what goes in: `jax.lax.pcast`."
        edit = _result(scene, call, function, axes) if len(leaves) == 1 and not _inner(leaves[0][0]) else None
        fixes.append(scene.fix(sentence, edit) if edit is not None else scene.advice(sentence))
        fixes.append(scene.advice("Or start with a value that is the same on all devices."))
        what = "`{name}` goes in different along {axes}, and comes out the same on all devices."
    return scene.explanation(
        "carry_varies",
        title="A carry that differs between devices on one side of the loop only",
        what=what.format(name=name, axes=_said(axes)),
        variable=name,
        why=(
            "Under `jax.shard_map`, the axes along which a value differs from device to device are part of "
            "its type, and "
            "a carry keeps its type."
        ),
        fixes=fixes,
        link=f"{sharding_texts.GUIDE}#scan-vma",
    )


@explains(sharding_texts.BRANCH_VARIES)
def branch_varies(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain branches of which one gives the same on all devices, and the other not."""
    call = scene.call()
    leaves = sharding_texts.BRANCH_LEAVES.findall(scene.message)
    if call is None or called(call) not in ("cond", "switch") or not leaves:
        return None
    if any(_plain(one) != _plain(other) for _first, _path, one, _second, other in leaves):
        return None
    first, path, one, second, other = leaves[0]
    axes = _axes(one) - _axes(other) or _axes(other) - _axes(one)
    same, differs = (second, first) if _axes(one) - _axes(other) else (first, second)
    place = function_behind(scene.spot, _branch(call, same))
    result = returned(place[1]) if place is not None else None
    edit = None
    if place is not None and result is not None and len(leaves) == 1 and not path:
        edit = place[0].replace(result, _cast(scene, place[0].quote(result), axes))
    sentence = f"Let the result of `{same}` count as differing along {_said(axes)}: `jax.lax.pcast`."
    shown = result if place is not None and place[0] is scene.source else None
    return scene.explanation(
        "branch_varies",
        title="Only one branch gives a result that differs between devices",
        what=f"What `{differs}` gives differs along {_said(axes)}, and what `{same}` gives is the same on all devices.",
        variable=scene.quote(shown) if shown is not None else same,
        why=(
            "Under `jax.shard_map`, the axes along which a value differs from device to device are part of "
            "its type, and "
            "all branches give one type."
        ),
        fixes=[scene.fix(sentence, edit) if edit is not None else scene.advice(sentence)],
        link=f"{sharding_texts.GUIDE}#scan-vma",
    )


@explains(sharding_texts.BACKWARD_VARIES)
def backward_rule_varies(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a backward rule whose result differs between devices, for an argument that is the same on all."""
    produced, wanted = _axes(found[2]), _axes(found[3])
    axes = produced - wanted
    if not axes:
        return None
    index = re.fullmatch(r"\[(\d+)\]", found[1])
    what = "What the bwd rule gives differs along {axes}, and the argument that it belongs to does not."
    if index is not None:
        what = "What the bwd rule gives for argument {number} differs along {axes}, and the argument does not."
    return scene.explanation(
        "backward_rule_varies",
        title="A backward rule that leaves out the sum over devices",
        what=what.format(axes=_said(axes), number=index[1] if index is not None else ""),
        why="An argument that all devices share acts on every device, so its derivative is the sum over all of them.",
        fixes=[
            scene.advice(
                f"Sum it in the bwd rule: `jax.lax.psum` over {_said(axes)}, if the argument has no such axes."
            )
        ],
        link=f"{sharding_texts.GUIDE}#scan-vma",
    )


def _axes(type_text: str) -> frozenset[str]:
    """Return the mesh axes along which a value of this type differs."""
    found = sharding_texts.VARIES.search(type_text)
    return frozenset((found[1] or found[2]).split(",")) if found is not None else frozenset()


def _plain(type_text: str) -> str:
    """Return a type without its axes."""
    return type_text.split("{")[0]


def _said(axes: frozenset[str]) -> str:
    return " and ".join(f"`{axis}`" for axis in sorted(axes))


def _named(path: str, own: str | None) -> str:
    """Return a leaf's path with the student's name of the carry."""
    return path if own is None else path.replace("loop_carry[1]", own)


def _inner(path: str) -> str:
    """Return the path below the carry: `['total']`; '' for the carry itself."""
    found = re.fullmatch(r"(?:loop_carry\[1\]|\w+)(.*)", path)
    return found[1] if found is not None else path


def _cast(scene: Scene, text: str, axes: frozenset[str]) -> str:
    names = [f'"{name}"' for name in sorted(axes)]
    named = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f'{scene.lax}.pcast({text}, {named}, to="varying")'


def _start(scene: Scene, start: ast.expr | None, path: str, leaves: int, axes: frozenset[str]) -> Edit | None:
    """Return the edit that casts the part of the initial value at a path; None if that part is not written there."""
    inner = _inner(path)
    part: ast.expr | None = start
    for number, key in re.findall(r"\[(?:(\d+)|'([^']*)')\]", inner):
        if number and isinstance(part, ast.Tuple | ast.List) and int(number) < len(part.elts):
            part = part.elts[int(number)]
        elif key and isinstance(part, ast.Dict):
            keys = [k.value if isinstance(k, ast.Constant) else None for k in part.keys]
            part = part.values[keys.index(key)] if key in keys else None
        else:
            return None
    if part is None or "".join(re.findall(r"\[(?:\d+|'[^']*')\]", inner)) != inner:
        return None
    if isinstance(part, ast.Starred) or (leaves > 1 and not inner):
        return None
    return scene.source.replace(part, _cast(scene, scene.quote(part), axes))


def _result(scene: Scene, call: ast.Call, function: tuple[Source, ast.AST] | None, axes: frozenset[str]) -> Edit | None:
    """Return the edit that casts what a loop's body gives."""
    result = returned(function[1]) if function is not None else None  # type: ignore[arg-type]
    if function is None or result is None:
        return None
    out: ast.expr = result
    if called(call) == "scan":
        if not isinstance(result, ast.Tuple) or len(result.elts) != 2:
            return None
        out = result.elts[0]
    return function[0].replace(out, _cast(scene, function[0].quote(out), axes))


def _branch(call: ast.Call, name: str) -> ast.expr | None:
    """Return the branch that JAX calls `true_fun`, `false_fun` or `branch1`."""
    if name in ("true_fun", "false_fun"):
        return argument_of(call, 1 if name == "true_fun" else 2, name)
    branches = argument_of(call, 1, "branches")
    number = int(re.sub(r"\D", "", name))
    if isinstance(branches, ast.Tuple | ast.List) and number < len(branches.elts):
        return branches.elts[number]
    return None
