"""Rewrite Python's `if` and `while` as `jnp.where`, `lax.cond` and `lax.while_loop`, if the code is simple enough."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted, names_in
from jaxguide.code.user_frame import MISSING
from jaxguide.explain.rewrites.conditions import condition, decided_by_python
from jaxguide.explain.scene import Scene, called

_RETURN = "return"
_GROWING = ("append", "concatenate", "stack", "vstack", "hstack", "pad", "repeat", "tile")
Branch = dict[str, str]
_Choose = Callable[[Scene, ast.expr, str, str], str]


@dataclass
class Choice:
    """The edits for `jnp.where` and for `lax.cond`; empty if the code is not simple enough.

    A container can only be chosen with `lax.cond`.
    """

    where: list[Edit] = field(default_factory=list)
    cond: list[Edit] = field(default_factory=list)


def expression_of_if(scene: Scene, node: ast.If) -> Choice:
    """Return the edits that turn an `if` into one assignment or one `return`."""
    top = node
    while isinstance(parent := scene.source.parents.get(top), ast.If) and parent.orelse == [top]:
        top = parent  # an `elif`: start at its `if`
    last: ast.stmt = top
    where, cond = (_joined(scene, top, choose, {}) for choose in (_where, _cond))
    following = _return_after(scene, top)
    if where is None and following is not None and following.value is not None:
        rest, last = {_RETURN: _as_argument(scene, following.value)}, following
        where, cond = (_joined(scene, top, choose, rest) for choose in (_where, _cond))
    if not where or not cond or (len(where) > 1 and (_RETURN in where or _interfere(top, list(where)))):
        return Choice()
    first, end, glue = scene.source.start(top), scene.source.end(last), "\n" + scene.source.indent(top)
    texts = (
        glue.join(f"return {text}" if name == _RETURN else f"{name} = {text}" for name, text in made.items())
        for made in (where, cond)
    )
    by_where, by_cond = ([Edit(scene.source.file, first, end, text)] for text in texts)
    values = [one.value for one in ast.walk(top) if isinstance(one, ast.Assign | ast.Return) and one.value is not None]
    values += [ast.Name(name, ast.Load()) for name in where] + [getattr(last, "value", ast.Constant(0))]
    return Choice([] if any(_is_container(scene, one) for one in values) else by_where, by_cond)


def _is_container(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression is a tuple, a list or a dict, which `jnp.where` does not take."""
    return isinstance(node, ast.Tuple | ast.List | ast.Dict) or isinstance(scene.spot.value(node), tuple | list | dict)


def _where(scene: Scene, test: ast.expr, yes: str, no: str) -> str:
    return f"{scene.jnp}.where({condition(scene, test)}, {yes}, {no})"


def _cond(scene: Scene, test: ast.expr, yes: str, no: str) -> str:
    return f"{scene.lax}.cond({condition(scene, test)}, lambda: {yes}, lambda: {no})"


def loop_of_while(scene: Scene, node: ast.While) -> Edit | None:
    """Return the edit that turns a `while` into `lax.while_loop`, or None if it is not simple enough."""
    names = _carried(scene, node)
    if not names or decided_by_python(scene, node.test) is not None:
        return None
    test, carry, value = condition(scene, node.test), ", ".join(names), _only_value(scene, node.body, names)
    loop = f"{carry} = {scene.lax}.while_loop"
    if value is not None:
        return scene.source.replace(node, f"{loop}(lambda {carry}: {test}, lambda {carry}: {value}, {carry})")
    argument, start, unpack = ("carry", f"({carry})", [f"{carry} = carry"]) if len(names) > 1 else (carry, carry, [])
    goes_on = _function(scene, node, f"go_on({argument})", [*unpack, f"return {test}"])
    turn = _function(scene, node, f"turn({argument})", unpack, carry)
    return scene.source.replace(node, "".join([*goes_on, *turn, f"{loop}(go_on, turn, {start})"]))


def loop_of_range(scene: Scene, call: ast.Call) -> Edit | None:
    """Return the edit that turns a `for` over `range` into `lax.fori_loop`, or None if it is not simple enough."""
    loop = scene.source.parents.get(call)
    if not isinstance(loop, ast.For) or loop.iter is not call or not isinstance(loop.target, ast.Name):
        return None
    names, index = _carried(scene, loop), loop.target.id
    if not names or len(call.args) > 2:
        return None
    (start, stop), carry, value = turns(scene, call), ", ".join(names), _only_value(scene, loop.body, names)
    made = f"{carry} = {scene.lax}.fori_loop({start}, {stop}, "
    if value is not None:
        return scene.source.replace(loop, f"{made}lambda {index}, {carry}: {value}, {carry})")
    argument, first, unpack = ("carry", f"({carry})", [f"{carry} = carry"]) if len(names) > 1 else (carry, carry, [])
    turn = _function(scene, loop, f"turn({index}, {argument})", unpack, carry)
    return scene.source.replace(loop, "".join([*turn, f"{made}turn, {first})"]))


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
    grows = any(called(one) in _GROWING for one in ast.walk(loop))  # what a loop carries keeps its shape
    if loop.orelse or grows or leaves_early(loop.body) or changes_objects(loop.body):
        return []
    index = [loop.target.id] if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) else []
    made = assigned_names(loop.body)
    names = [name for name in made if name not in index and _is_known(scene, name)]
    return names if not read_after(scene, loop, {*made, *index} - set(names)) else []


def _only_value(scene: Scene, body: list[ast.stmt], names: list[str]) -> str | None:
    """Return what the only statement of a loop assigns to the only name that it carries."""
    return _value_of(scene, body[0]) if len(body) == 1 and [_target_of(scene, body[0])] == names else None


def _function(scene: Scene, loop: ast.For | ast.While, head: str, first: list[str], result: str = "") -> list[str]:
    """Return the lines of a function in place of a loop: some lines, and then its body if that has a result."""
    indent, old = scene.source.indent(loop), scene.source.indent(loop.body[0])
    start, end = scene.source.start(loop.body[0])[0], scene.source.end(loop.body[-1])[0]
    body = [line.removeprefix(old) for line in scene.source.lines[start - 1 : end]]
    lines = [*first, *body, f"return {result}"] if result else first
    return [f"def {head}:\n", *(f"{indent}    {line}\n" for line in lines), indent]


def _joined(scene: Scene, node: ast.If, choose: _Choose, rest: Branch) -> Branch | None:
    """Return name -> the choice between both sides of an `if`; None for anything but assignments and `return`.

    A side that does not set a name keeps it, or takes it from what comes after the `if`.
    """
    sides = [_branch(scene, block, choose, rest) for block in (node.body, node.orelse)]
    yes, no = sides
    if yes is None or no is None or decided_by_python(scene, node.test) is not None:
        return None
    joined: Branch = {}
    for name in {**yes, **no}:
        kept = rest.get(name, name if name != _RETURN and _is_known(scene, name) else None)
        if kept is None and not (name in yes and name in no):
            return None
        joined[name] = choose(scene, node.test, yes.get(name, str(kept)), no.get(name, str(kept)))
    return joined


def _branch(scene: Scene, body: list[ast.stmt], choose: _Choose, rest: Branch) -> Branch | None:
    """Return name -> expression for a block of plain assignments, for one `return`, or for one `if`."""
    if len(body) == 1 and isinstance(body[0], ast.If):
        return _joined(scene, body[0], choose, rest)
    branch: Branch = {}
    for statement in body:
        target, value = _target_of(scene, statement), _value_of(scene, statement)
        if isinstance(statement, ast.Pass):
            continue
        if target is None or value is None or target in branch:
            return None
        if branch and (not target.isidentifier() or names_in(statement.value) & set(branch)):  # type: ignore[attr-defined]
            return None
        branch[target] = value
    return branch


def _target_of(scene: Scene, statement: ast.stmt) -> str | None:
    """Return the target of an assignment to one name, attribute or item; 'return' for a result."""
    if isinstance(statement, ast.Return):
        return _RETURN
    if isinstance(statement, ast.AugAssign):
        return scene.quote(statement.target)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return scene.quote(target) if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) else None
    return None


def _value_of(scene: Scene, statement: ast.stmt) -> str | None:
    """Return the expression that a statement assigns or returns, with `x += 1` as `x + 1`."""
    if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None:
        return _as_argument(scene, statement.value)
    if isinstance(statement, ast.AugAssign):
        return f"{scene.quote(statement.target)} {operator_sign(statement.op)} {scene.atom(statement.value)}"
    return None


def operator_sign(op: ast.operator) -> str:
    """Return the text of an operator.

    >>> operator_sign(ast.Add())
    '+'
    """
    name = ast.Name("x", ast.Load())
    return ast.unparse(ast.BinOp(name, op, name))[1:-1].strip()


def assigned_names(body: list[ast.stmt]) -> list[str]:
    """Return the names that a block assigns, in order."""
    names: dict[str, None] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = None
    return list(names)


def leaves_early(body: list[ast.stmt]) -> bool:
    """Return whether a block has a `break`, `continue`, `return`, `yield` or `raise`."""
    kinds = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.Raise)
    return any(isinstance(node, kinds) for statement in body for node in ast.walk(statement))


def read_after(scene: Scene, loop: ast.For | ast.While, names: set[str]) -> bool:
    """Return whether the code after a loop reads one of these names before it sets them anew."""
    function = scene.spot.function
    inside = set(ast.walk(loop))
    uses = [n for n in ast.walk(function or scene.source.tree) if isinstance(n, ast.Name) and n.id in names]
    later = sorted((n for n in uses if n not in inside and scene.source.start(n) > scene.source.end(loop)), key=_start)
    first = {name: next((n for n in later if n.id == name), None) for name in names}
    return any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) for node in first.values())


def _start(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


def changes_objects(body: list[ast.stmt]) -> bool:
    """Return whether a block changes more than its names: a list, an attribute, an item, or what a call changes."""
    for node in (node for statement in body for node in ast.walk(statement)):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ".debug." not in dotted(node.value.func):
            return True
    return False


def _is_known(scene: Scene, name: str) -> bool:
    return scene.spot.value(ast.parse(name, mode="eval").body) is not MISSING


def _as_argument(scene: Scene, node: ast.expr) -> str:
    """Return the text of a value as an argument of a call: a tuple in parentheses."""
    if not isinstance(node, ast.Tuple):
        return scene.quote(node)
    comma = "," if len(node.elts) == 1 else ""
    return f"({', '.join(scene.quote(element) for element in node.elts)}{comma})"


def _return_after(scene: Scene, node: ast.If) -> ast.Return | None:
    block = scene.source.body_of(node)
    index = block.index(node) if node in block else len(block)
    following = block[index + 1] if index + 1 < len(block) else None
    return following if isinstance(following, ast.Return) else None


def _interfere(node: ast.If, names: list[str]) -> bool:
    """Return whether one of several assignments reads a name that an earlier one changes."""
    assigned = [one.value for one in ast.walk(node) if isinstance(one, ast.Assign | ast.AugAssign)]
    return any(names_in(one) & set(names[:-1]) for one in [*assigned, node.test])
