"""Read from the source what the student calls the keys that a call returns."""

import ast
from collections.abc import Sequence

from jaxguide.keys import names
from jaxguide.keys.places import Place

# The calls that make keys as an operation of each kind does.
_MAKERS = {
    "seed": ("key", "PRNGKey"),
    "split": ("split", "take", "fork"),
    "fold_in": ("fold_in", "next", "KeyStream"),
    "clone": ("clone",),
}


def made_names(places: Sequence[Place], kind: str, count: int) -> list[str] | None:
    """Return the name of each key that a call makes, None where the statement does not tell.

    `first, *rest = split(key, 3)` gives `first`, `rest[0]`, `rest[1]`; `keys = split(key)` gives `keys[0]`, `keys[1]`.

    Args:
        places: from the call that makes the keys outward.
        kind: 'seed', 'split', 'fold_in' or 'clone'.
        count: how many keys it made.
    """
    call = names.call_at(places[0]) if places else None
    if call is None or names.called(call) not in _MAKERS.get(kind, ()):
        return None
    for node in names.nodes_around(places[0]):
        target = _target(node, call)
        if target is not None:
            return _spread(target, count, one=kind != "split")
    return None


def _target(node: ast.AST, call: ast.Call) -> tuple[ast.expr, bool] | None:
    """Return what `node` binds the call's result to, and whether it takes its elements one by one."""
    if isinstance(node, ast.Assign):
        return _pick(node.targets[0], node.value, call)
    if isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        return _pick(node.target, node.value, call)
    if isinstance(node, ast.For | ast.comprehension):
        each = _element(node.target, node.iter, call)
        return None if each is None else (each, True)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return next((found for g in node.generators if (found := _target(g, call)) is not None), None)
    return None


def _pick(target: ast.expr, value: ast.expr, call: ast.Call) -> tuple[ast.expr, bool] | None:
    if _same(value, call):
        return target, False
    if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) and len(value.elts) == len(target.elts):
        return next((found for t, v in zip(target.elts, value.elts, strict=True) if (found := _pick(t, v, call))), None)
    return None


def _element(target: ast.expr, iterated: ast.expr, call: ast.Call) -> ast.expr | None:
    """Return what a loop calls each element of the call's result, also through `zip` and `enumerate`."""
    if _same(iterated, call):
        return target
    if not isinstance(iterated, ast.Call) or not isinstance(target, ast.Tuple):
        return None
    if names.called(iterated) == "enumerate" and len(target.elts) == 2 and iterated.args:
        return _element(target.elts[1], iterated.args[0], call)
    if names.called(iterated) == "zip" and len(target.elts) == len(iterated.args):
        pairs = zip(target.elts, iterated.args, strict=True)
        return next((found for t, i in pairs if (found := _element(t, i, call)) is not None), None)
    return None


def _spread(bound: tuple[ast.expr, bool], count: int, *, one: bool) -> list[str] | None:
    target, elementwise = bound
    if elementwise:
        return [f"{ast.unparse(target)} #{i}" for i in range(count)]
    if isinstance(target, ast.Tuple | ast.List):
        return _unpacked(target.elts, count)
    name = ast.unparse(target)
    return [name] if one and count == 1 else [f"{name}[{i}]" for i in range(count)]


def _unpacked(targets: Sequence[ast.expr], count: int) -> list[str] | None:
    starred = [target for target in targets if isinstance(target, ast.Starred)]
    extra = count - len(targets) + 1
    if (not starred and len(targets) != count) or extra < 0:
        return None
    found = []
    for target in targets:
        if isinstance(target, ast.Starred):
            found += [f"{ast.unparse(target.value)}[{i}]" for i in range(extra)]
        else:
            found.append(ast.unparse(target))
    return found


def _same(node: ast.expr, call: ast.Call) -> bool:
    return node is call
