"""Rewrite Python's `if` and `while` as `jnp.where`, `lax.cond` and `lax.while_loop`, if the code is simple enough."""

import ast

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING
from jaxguide.explain.rewrites.conditions import condition, decided_by_python
from jaxguide.explain.scene import Scene, called

_RETURN = "return"
_GROWING = ("append", "concatenate", "stack", "vstack", "hstack", "pad", "repeat", "tile")
# Choices of a test and both sides.
WHERE = "{jnp}.where({test}, {yes}, {no})"
COND = "{lax}.cond({test}, lambda: {yes}, lambda: {no})"


def filled(scene: Scene, template: str, test: str, yes: str, no: str) -> str:
    """Return the text of a choice with `jnp.where` or `lax.cond`."""
    return template.format(jnp=scene.jnp, lax=scene.lax, test=test, yes=yes, no=no)


def expression_of_if(scene: Scene, node: ast.If, template: str) -> Edit | None:
    """Return the edit that turns an `if` into one assignment or `return`, or None if a side of it does more."""
    block = scene.source.body_of(node)
    is_followed = isinstance(node.body[0], ast.Return) and not node.orelse and block[-2:-1] == [node]
    last = block[-1] if is_followed else node
    yes, no = _side(scene, node.body), _side(scene, [last] if is_followed else node.orelse)
    if yes is not None and not node.orelse and yes[0] != _RETURN and _is_known(scene, yes[0]):
        no = yes[0], yes[0]
    is_elif = scene.quote(node).startswith("elif")
    if yes is None or no is None or yes[0] != no[0] or is_elif or decided_by_python(scene, node.test) is not None:
        return None
    if template == WHERE and (_is_container(scene, yes[1]) or _is_container(scene, no[1])):
        return None
    chosen = filled(scene, template, condition(scene, node.test), yes[1], no[1])
    text = f"return {chosen}" if yes[0] == _RETURN else f"{yes[0]} = {chosen}"
    return Edit(scene.source.file, scene.source.start(node), scene.source.end(last), text)


def _side(scene: Scene, block: list[ast.stmt]) -> tuple[str, str] | None:
    """Return the target and the value of a block that is one assignment or `return`."""
    target = _target(scene, block[0]) if len(block) == 1 else None
    return (target, _value(scene, block[0])) if target is not None else None


def _is_container(scene: Scene, text: str) -> bool:
    """Return whether an expression is a tuple, a list or a dict, which `jnp.where` does not take."""
    node = ast.parse(f"({text})", mode="eval").body
    return isinstance(node, ast.Tuple | ast.List | ast.Dict) or isinstance(scene.spot.value(node), tuple | list | dict)


def _target(scene: Scene, statement: ast.stmt) -> str | None:
    """Return the target of an assignment to one name, attribute or item; 'return' for a result."""
    if isinstance(statement, ast.Return):
        return _RETURN if ast.unparse(statement) not in ("return", "return None") else None
    if isinstance(statement, ast.AugAssign):
        return scene.quote(statement.target)
    is_plain = isinstance(statement, ast.Assign) and not isinstance(statement.targets[-1], ast.Tuple | ast.List)
    return scene.quote(statement.targets[0]) if is_plain and len(statement.targets) == 1 else None  # type: ignore[attr-defined]


def _value(scene: Scene, statement: ast.stmt) -> str:
    """Return the expression that a statement assigns or returns, with `x += 1` as `x + 1`, tuples in parentheses."""
    value: ast.expr = statement.value  # type: ignore[attr-defined]
    if isinstance(statement, ast.AugAssign):
        return f"{scene.quote(statement.target)} {operator_sign(statement.op)} {scene.atom(value)}"
    return ast.unparse(value) if isinstance(value, ast.Tuple) else scene.quote(value)


def operator_sign(op: ast.operator) -> str:
    """Return the text of an operator.

    >>> operator_sign(ast.Add())
    '+'
    """
    name = ast.Name("x", ast.Load())
    return ast.unparse(ast.BinOp(name, op, name))[1:-1].strip()


def loop_of_while(scene: Scene, node: ast.While) -> Edit | None:
    """Return the edit that turns a `while` into `lax.while_loop`, or None if it is not simple enough."""
    if decided_by_python(scene, node.test) is not None:
        return None
    return _loop(scene, node, "while_loop(", test=condition(scene, node.test))


def loop_of_range(scene: Scene, call: ast.Call) -> Edit | None:
    """Return the edit that turns a `for` over `range` into `lax.fori_loop`, or None if it is not simple enough."""
    loop = scene.source.parents.get(call)
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or len(call.args) > 2:
        return None
    return _loop(scene, loop, "fori_loop({}, {}, ".format(*turns(scene, call)), index=f"{loop.target.id}, ")


def _loop(scene: Scene, loop: ast.For | ast.While, made: str, index: str = "", test: str = "") -> Edit | None:
    """Return the edit that calls a function of `lax` with the body of a loop, as a lambda if that is one expression."""
    names = _carried(scene, loop)
    carry, body = ", ".join(names), loop.body
    made = f"{carry} = {scene.lax}.{made}"
    if not names:
        return None
    if [_target(scene, one) for one in body] == names[:1] and len(names) == 1:
        first = f"lambda {carry}: {test}, " if test else ""
        return scene.source.replace(loop, f"{made}{first}lambda {index}{carry}: {_value(scene, body[0])}, {carry})")
    argument, start, unpack = ("carry", f"({carry})", [f"{carry} = carry"]) if len(names) > 1 else (carry, carry, [])
    indent, old = scene.source.indent(loop), scene.source.indent(body[0])
    inside = scene.source.lines[scene.source.start(body[0])[0] - 1 : scene.source.end(body[-1])[0]]
    functions: list[tuple[str, str, list[str]]] = [(f"go_on({argument})", f"return {test}", [])] if test else []
    functions += [(f"turn({index}{argument})", f"return {carry}", [line.removeprefix(old) for line in inside])]
    lines = [f"def {head}:\n    " + "\n    ".join([*unpack, *own, last]) for head, last, own in functions]
    lines += [f"{made}{'go_on, ' if test else ''}turn, {start})"]
    return scene.source.replace(loop, "\n".join(lines).replace("\n", f"\n{indent}"))


def turns(scene: Scene, call: ast.Call) -> tuple[str, str]:
    """Return the start and the stop of `range` as integers for `lax.fori_loop`."""
    start, stop = ["0", *(_bound(scene, argument) for argument in call.args[:2])][-2:]
    return start, stop


def _bound(scene: Scene, node: ast.expr) -> str:
    text, traced = scene.quote(node), scene.tracer(node)
    made = [one for one in ast.walk(node) if isinstance(one, ast.Call) and called(one) == "int"]
    for call in made:
        text = text.replace(scene.quote(call), f"{scene.atom(call.args[0])}.astype(int)")
    if made or traced is None or str(traced[1].dtype) in ("int32", "int64"):
        return text
    return f"{scene.atom(node)}.astype(int)"


def _carried(scene: Scene, loop: ast.For | ast.While) -> list[str]:
    """Return the names that a loop carries from one turn to the next; none if it is not simple enough."""
    if loop.orelse or any(map(_does_more, ast.walk(loop))):
        return []
    index = getattr(getattr(loop, "target", None), "id", None)
    made = assigned_names(loop)
    names = [name for name in made if name != index and _is_known(scene, name)]
    return names if not _read_after(scene, loop, set(made) - set(names)) else []


def _does_more(node: ast.AST) -> bool:
    """Return whether a part of a loop leaves it, changes an object, or makes an array grow, so it cannot be carried."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ".debug." not in dotted(node.value.func)
    leaves = ast.Break | ast.Continue | ast.Return | ast.Yield | ast.Raise | ast.Global | ast.Nonlocal
    return isinstance(node, leaves) or called(node) in _GROWING


def assigned_names(node: ast.AST) -> list[str]:
    """Return the names that a loop or a function assigns, in order."""
    stored = [one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return list(dict.fromkeys(one.id for one in sorted(stored, key=lambda one: (one.lineno, one.col_offset))))


def _read_after(scene: Scene, loop: ast.For | ast.While, names: set[str]) -> bool:
    """Return whether the code after a loop reads one of these names before it sets them anew."""
    nodes = ast.walk(scene.spot.function or scene.source.tree)
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id in names]
    later = sorted((scene.source.start(one), one.id, isinstance(one.ctx, ast.Load)) for one in uses)
    first = {name: read for place, name, read in reversed(later) if place > scene.source.end(loop)}
    return any(first.values())


def _is_known(scene: Scene, name: str) -> bool:
    return scene.spot.value(ast.parse(name, mode="eval").body) is not MISSING
