"""Explain `lax.cond` and `lax.switch`: branches that differ or are not functions, conditions that are not scalars."""

import ast
import re

from jaxguide.code.source import FunctionNode, Source, arguments_of, source_of
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import function_behind, own_nodes, part_of, returned

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


def _definitions(scene: Scene) -> tuple[str, list[tuple[Source, FunctionNode] | None]] | None:
    """Return `cond` or `switch`, and the definitions of the branches that JAX's message compares."""
    call = scene.call()
    if call is None or called(call) not in ("cond", "switch"):
        return None
    said = error_texts.BRANCH_PLACES.findall(scene.message)
    place = _branches(scene)
    written = place[1] if place is not None else []
    found: list[tuple[Source, FunctionNode] | None] = []
    for name, function, file, line in said[:2]:
        number = 1 if name == "false_fun" else int(re.sub(r"\D", "", name) or 0)
        behind = function_behind(scene.spot, written[number]) if number < len(written) else None
        source = source_of(file)
        if behind is None and source is not None and function != "<lambda>":
            node = source.function_at(function.split(".")[-1], int(line))
            behind = (source, node) if node is not None else None
        elif behind is None and source is not None:
            lambdas = [n for n in ast.walk(source.tree) if isinstance(n, ast.Lambda) and n.lineno == int(line)]
            behind = (source, lambdas[0]) if len(lambdas) == 1 else None
        found.append(behind)
    return (called(call), found) if len(found) == 2 else None


@explains(error_texts.BRANCH_TYPE)
def branch_types(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain branches whose results differ in dtype or shape."""
    place = _definitions(scene)
    all_types = error_texts.BRANCH_TYPES.findall(scene.message)
    if place is None or not all_types:
        return None
    function, definitions = place
    one, path, dtype, shape, other, other_dtype, other_shape = all_types[0]
    if (dtype, shape) == (other_dtype, other_shape):  # they differ in what the text does not show, such as sharding
        return None
    keys = "key<" in dtype + other_dtype
    wanted = _wider(dtype, other_dtype) if not keys else ""
    wrong = 0 if other_dtype == wanted and dtype != wanted else 1
    if dtype == other_dtype:  # the shapes differ: broadcast the scalar one
        wrong = 0 if shape == "" else 1
    result = _leaf(definitions[wrong], path)
    fixes: list[Fix | None] = []
    # The branches between the two that are named agree with the first: change that one only if there are none.
    alone = wrong == 1 or function == "cond" or _only_two(scene)
    single = len(all_types) == 1 and not keys and alone
    if dtype != other_dtype and single and result is not None and shape == other_shape:
        source, node = result
        new = f"{scene.jnp}.asarray({source.quote(node)}, {scene.jnp}.{wanted})"
        fixes.append(
            scene.fix("Give both one dtype: say it where the other one comes from.", source.replace(node, new))
        )
    elif dtype == other_dtype and single and result is not None and "" in (shape, other_shape):
        source, node = result
        full = shape or other_shape
        size = f"({full},)" if "," not in full else f"({full})"
        new = f"{scene.jnp}.broadcast_to({source.quote(node)}, {size})"
        fixes.append(scene.fix("Give both one shape.", source.replace(node, new)))
    call = scene.call()
    written = _branches(scene)
    if function == "cond" and call is not None and written is not None and not path:
        fixes.append(_as_where(scene, call, written[1]) if shape == other_shape or "" in (shape, other_shape) else None)
    if not any(fixes):
        words = "Give both one shape: pad or reduce one of them." if shape != other_shape else "Give both one dtype."
        fixes.append(scene.advice(words))
    name = f"{one}{path}"
    text = result[0].quote(result[1]) if result is not None else name
    return scene.explanation(
        "branch_types",
        title="Branches with results of different types",
        what="{first} gives {one}, {second} gives {other}.".format(
            first=f"`{one.replace('branch', 'branch ').replace('  ', ' ')}{path}`",
            second=f"`{other.replace('branch', 'branch ').replace('  ', ' ')}{path}`",
            one=f"`{dtype}[{shape}]`",
            other=f"`{other_dtype}[{other_shape}]`",
        ),
        variable=text,
        why="The program goes on with one result, whichever branch ran, so both have the same shape and dtype.",
        fixes=fixes,
        link=_COND,
    )


def _only_two(scene: Scene) -> bool:
    place = _branches(scene)
    return place is not None and len(place[1]) == 2


def _leaf(definition: tuple[Source, FunctionNode] | None, path: str) -> tuple[Source, ast.expr] | None:
    """Return the expression of a leaf of what a function returns; None if it is not written there."""
    result = returned(definition[1]) if definition is not None else None
    node = part_of(result, path) if result is not None else None
    return (definition[0], node) if definition is not None and node is not None else None


@explains(error_texts.BRANCH_STRUCTURE)
def branch_structures(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain branches that return different numbers of values."""
    place = _definitions(scene)
    if place is None or None in place[1]:
        return None
    ends = [end for end in place[1] if end is not None]
    forgotten = next((end for end in ends if _returns_nothing(end[1])), None)
    if forgotten is not None:
        return _nothing_returned(scene, *forgotten)
    results = [(source, returned(function)) for source, function in ends]
    (one_source, one), (other_source, other) = results
    if one is None or other is None:
        return None
    many, single, source = (one, other, other_source) if isinstance(one, ast.Tuple) else (other, one, one_source)
    fixes: list[Fix | None] = []
    text = source.quote(single)
    plain = not isinstance(single, ast.Tuple | ast.List | ast.Dict | ast.Call | ast.Name)
    both = [one, other]
    if isinstance(many, ast.Tuple) and (plain or isinstance(single, ast.Name | ast.Call)) and _is_leaf(scene):
        extra = [f"{scene.jnp}.zeros_like({text})"] * (len(many.elts) - 1)
        fixes.append(
            scene.fix(
                "Return as many from both, with something that fits for what is missing.",
                source.replace(single, f"({', '.join([text, *extra])})"),
            )
        )
    elif {type(node) for node in both} == {ast.Tuple, ast.List} and len(one.elts) == len(other.elts):  # type: ignore[attr-defined]
        wrong, home = (one, one_source) if isinstance(one, ast.List) else (other, other_source)
        inside = ", ".join(home.quote(element) for element in wrong.elts)  # type: ignore[attr-defined]
        comma = "," if len(wrong.elts) == 1 else ""  # type: ignore[attr-defined]
        text = home.quote(wrong)
        fixes.append(
            scene.fix("Return a tuple from both: a list is not a tuple.", home.replace(wrong, f"({inside}{comma})"))
        )
    else:
        keys = error_texts.CARRY_KEYS.search(scene.message)
        words = "Return the same parts from both branches, in the same kind of container."
        if keys is not None:
            words = f"Return {keys[1]} from both branches, or from none."
        fixes.append(scene.advice(words))
    return scene.explanation(
        "branch_structure",
        title="Branches that return different parts",
        what=f"One branch returns `{one_source.quote(one)}`, the other `{other_source.quote(other)}`.",
        variable=text,
        why="The program goes on with one result, whichever branch ran, so both return the same parts.",
        fixes=fixes,
        link=_COND,
    )


def _is_leaf(scene: Scene) -> bool:
    """Return whether JAX says that one of the branches returns a single array."""
    return "output is a pytree leaf" in scene.message


def _returns_nothing(function: FunctionNode) -> bool:
    if isinstance(function, ast.Lambda):
        return False
    return not any(isinstance(node, ast.Return) and node.value is not None for node in own_nodes(function))


def _nothing_returned(scene: Scene, source: Source, function: FunctionNode) -> Explanation | None:
    """Explain a branch without `return`."""
    assert not isinstance(function, ast.Lambda)
    last = function.body[-1]
    fix: Fix | None = None
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        line = f"\n{source.indent(last)}return {last.targets[0].id}"
        fix = scene.fix("Return what the last line computes.", source.insert_after(last, line))
    return scene.explanation(
        "branch_returns_none",
        title="A branch without `return`",
        what=f"`{function.name}` returns None, and the other branch does not.",
        variable=function.name,
        why="The program goes on with one result, whichever branch ran, so both return the same parts.",
        fixes=[fix or scene.advice("End it with `return`, and what the other branch returns, changed or not.")],
        link=_COND,
    )


@explains(error_texts.COND_NOT_CALLABLE)
def branch_no_function(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.cond(test, x, -x)`."""
    place = _branches(scene)
    if place is None:
        return None
    call, branches = place
    values = [branch for branch in branches if not _is_function(scene, branch)]
    if not values:
        return None
    texts = [scene.quote(b) for b in branches]
    edits = [scene.source.replace(value, f"lambda: {scene.quote(value)}") for value in values]
    chosen = f"{scene.jnp}.where({scene.quote(call.args[0])}, {texts[0]}, {texts[1]})"
    words = "Make a function of it." if len(values) == 1 else "Make functions of them."
    return scene.explanation(
        "branch_no_function",
        title="A branch that is not a function",
        what=f"`{scene.quote(values[0])}` is a value, computed before `lax.cond` is asked.",
        variable=scene.quote(values[0]),
        why="`lax.cond` runs one of two functions; a value is computed already, whichever is chosen.",
        fixes=[
            scene.fix(words, *edits) if len(call.args) == 3 else None,
            scene.fix("With both values at hand, choose.", scene.source.replace(call, chosen))
            if len(values) == 2
            else None,
            scene.advice("Give a function in its place, which takes the operands.") if len(values) == 1 else None,
        ],
        link=_COND,
    )


def _is_function(scene: Scene, node: ast.expr) -> bool:
    value = scene.spot.value(node)
    return isinstance(node, ast.Lambda) or (value is not MISSING and callable(value))


@explains(structure_texts.SWITCH_INDEX)
def switch_index(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.switch` with a float or a truth value as its index."""
    call = scene.call()
    if call is None or called(call) != "switch" or not call.args:
        return None
    node = call.args[0]
    text, value = scene.quote(node), scene.spot.value(node)
    new = f"int({text})" if isinstance(value, int | float) else f"{scene.atom(node)}.astype(int)"
    return scene.explanation(
        "switch_index",
        title="`lax.switch` was given an index that is not an integer",
        what=f"`{text}` has dtype {found[1]} here.",
        variable=text,
        why="The branches are numbered from 0, and the index is the number of one.",
        fixes=[scene.fix("Make it an integer.", scene.source.replace(node, new))],
        link=f"{error_texts.API}/jax.lax.switch.html",
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
    fixes = [
        _as_where(scene, call, branches),
        scene.fix(
            "Choose row by row.",
            scene.source.replace(call, rows) if called(call) == "cond" and operands else None,
        ),
    ]
    if set(re.findall(r"\d+", found[1])) == {"1"}:
        squeezed = scene.source.replace(call.args[0], f"{scene.jnp}.squeeze({test})")
        fixes = [scene.fix("Take the one truth value out of its array.", squeezed)]
    if not any(fixes):
        words = "Make one truth value of it, with `jnp.all` or `jnp.any`; or choose elementwise, with `jnp.where`."
        fixes = [scene.advice(words)]
    return scene.explanation(
        "condition_with_axes",
        title="A condition with axes",
        what=f"`{test}` has shape {found[1]}.",
        variable=test,
        why="`lax.cond` makes one choice, so its condition is one bool, of shape ().",
        fixes=fixes,
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
    if definition is None or called(call) != "cond" or len(call.args) != 3 or call.keywords:
        return None
    names = arguments_of(definition[1])
    values = {name: scene.spot.value(ast.Name(name, ast.Load())) for name in names}
    known = [name for name, value in values.items() if is_array(value) or isinstance(value, int | float | complex)]
    given = f"{scene.quote(call)[:-1]}, {', '.join(names)})"
    return scene.explanation(
        "operands_missing",
        title="The branches are given no operand",
        what="`{name}` takes `{arguments}`, and nothing follows the branches.".format(
            name=found[1], arguments=", ".join(names)
        ),
        variable=found[3],
        why="`lax.cond` calls the branch that it takes with the operands that come after the branches.",
        fixes=[
            scene.fix(
                "Give the operands after the branches.",
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
        "Choose elementwise: both sides are computed, and their dtypes are promoted.",
        scene.source.replace(call, f"{scene.jnp}.where({scene.quote(call.args[0])}, {texts[0]}, {texts[1]})"),
    )


def _wider(one: str, other: str) -> str:
    """Return the dtype to which JAX promotes both.

    >>> _wider("float32", "int32")
    'float32'
    """
    import jax.numpy as jnp

    return str(jnp.promote_types(one, other))
