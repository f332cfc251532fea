"""Rewrite Python's `if` and `while` as `jnp.where`, `lax.cond` and `lax.while_loop`, if the code is simple enough."""

import ast
from dataclasses import dataclass, field

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted, names_in
from jaxguide.code.user_frame import MISSING
from jaxguide.explain.rewrites.conditions import condition, decided_by_python
from jaxguide.explain.scene import Scene

_RETURN = "return"
# Methods that change a list, a dict or a set.
CHANGING = frozenset({"append", "extend", "insert", "update", "setdefault", "add", "pop", "remove", "sort", "reverse"})
Branch = dict[str, str]


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
    chain, tail = _chain(scene, top)
    if not chain:
        return Choice()
    names = list(dict.fromkeys(name for _test, branch in chain for name in branch))
    names += [name for name in tail if name not in names]
    if _RETURN in names and names != [_RETURN]:
        return Choice()
    last = top
    if _RETURN in names and _RETURN not in tail:
        following = _return_after(scene, top)
        if following is None or following.value is None:
            return Choice()
        tail, last = {_RETURN: _as_argument(scene, following.value)}, following  # type: ignore[assignment]
    for name in names:
        if name not in tail and name != _RETURN and not _is_known(scene, name):
            return Choice()
    statements_where, statements_cond = [], []
    for name in names:
        where = cond = tail.get(name, name)
        for test, branch in reversed(chain):
            value = branch.get(name, name)
            where = f"{scene.jnp}.where({test}, {value}, {where})"
            cond = f"{scene.lax}.cond({test}, lambda: {value}, lambda: {cond})"
        target = "return " if name == _RETURN else f"{name} = "
        statements_where.append(target + where)
        statements_cond.append(target + cond)
    if len(names) > 1 and _interfere(scene, top, names):
        return Choice()
    glue = "\n" + scene.source.indent(top)
    first, end = scene.source.start(top), scene.source.end(last)
    values = [*names, *tail.values(), *(value for _test, branch in chain for value in branch.values())]
    trees = any(_is_container(scene, text) for text in values if text != _RETURN)
    return Choice(
        [] if trees else [Edit(scene.source.file, first, end, glue.join(statements_where))],
        [Edit(scene.source.file, first, end, glue.join(statements_cond))],
    )


def _is_container(scene: Scene, text: str) -> bool:
    """Return whether an expression is a tuple, a list or a dict, which `jnp.where` does not take."""
    node = ast.parse(text, mode="eval").body
    return isinstance(node, ast.Tuple | ast.List | ast.Dict) or isinstance(scene.spot.value(node), tuple | list | dict)


def loop_of_while(scene: Scene, node: ast.While) -> list[Edit]:
    """Return the edits that turn a `while` into `lax.while_loop`, or none if it is not simple enough."""
    names = assigned_names(node.body)
    if not names or node.orelse or leaves_early(node.body) or changes_objects(node.body):
        return []
    made = names
    names = [name for name in names if _is_known(scene, name)]
    if not names or read_after(scene, node, set(made) - set(names)):
        return []
    test, carry = condition(scene, node.test), ", ".join(names)
    body = node.body
    indent = scene.source.indent(node)
    plain = len(names) == 1 and len(body) == 1 and _target_of(scene, body[0]) == names[0]
    if plain and (value := _value_of(scene, body[0])) is not None:
        text = f"{carry} = {scene.lax}.while_loop(lambda {carry}: {test}, lambda {carry}: {value}, {carry})"
        return [scene.source.replace(node, text)]
    return [scene.source.replace(node, _loop_text(scene, indent, test, names, body))]


def body_lines(scene: Scene, body: list[ast.stmt], indent: str) -> list[str]:
    """Return a block's lines at another indentation."""
    first, last = scene.source.start(body[0])[0], scene.source.end(body[-1])[0]
    old = scene.source.indent(body[0])
    return [indent + line.removeprefix(old) for line in scene.source.lines[first - 1 : last]]


def _loop_text(scene: Scene, indent: str, test: str, names: list[str], body: list[ast.stmt]) -> str:
    carry = ", ".join(names)
    unpack = [f"{indent}    {carry} = carry"] if len(names) > 1 else []
    argument = "carry" if len(names) > 1 else carry
    start = f"({carry})" if len(names) > 1 else carry
    return "\n".join(
        [
            f"def go_on({argument}):",
            *unpack,
            f"{indent}    return {test}",
            f"{indent}def turn({argument}):",
            *unpack,
            *body_lines(scene, body, indent + "    "),
            f"{indent}    return {carry}",
            f"{indent}{carry} = {scene.lax}.while_loop(go_on, turn, {start})",
        ]
    )


def _chain(scene: Scene, node: ast.If) -> tuple[list[tuple[str, Branch]], Branch]:
    """Return each test of an if-elif-else with what its branch assigns or returns, and the same for `else`."""
    chain: list[tuple[str, Branch]] = []
    here: ast.If | None = node
    tail: Branch = {}
    while here is not None:
        branch = _branch(scene, here.body)
        if branch is None or decided_by_python(scene, here.test) is not None:
            return [], {}
        chain.append((condition(scene, here.test), branch))
        if len(here.orelse) == 1 and isinstance(here.orelse[0], ast.If):
            here = here.orelse[0]
            continue
        if here.orelse:
            ending = _branch(scene, here.orelse)
            if ending is None:
                return [], {}
            tail = ending
        here = None
    return chain, tail


def _branch(scene: Scene, body: list[ast.stmt]) -> Branch | None:
    """Return name -> expression for a block of plain assignments, or for one `return`; None for anything else."""
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return {_RETURN: _as_argument(scene, body[0].value)}
    branch: Branch = {}
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.If) and len(body) == 1:
            return _nested(scene, statement)
        target, value = _target_of(scene, statement), _value_of(scene, statement)
        if target is None or value is None or target in branch:
            return None
        assert isinstance(statement, ast.Assign | ast.AugAssign)
        if branch and (not target.isidentifier() or names_in(statement.value) & set(branch)):
            return None
        branch[target] = value
    return branch


def _nested(scene: Scene, node: ast.If) -> Branch | None:
    """Return name -> expression for an `if` that is the only statement in a branch."""
    chain, tail = _chain(scene, node)
    names = list(dict.fromkeys([name for _test, branch in chain for name in branch] + list(tail)))
    if not chain or _RETURN in names:
        return None
    nested: Branch = {}
    for name in names:
        text = tail.get(name, name)
        for test, branch in reversed(chain):
            text = f"{scene.jnp}.where({test}, {branch.get(name, name)}, {text})"
        nested[name] = text
    return nested


def _target_of(scene: Scene, statement: ast.stmt) -> str | None:
    """Return the target of an assignment to one name, attribute or item; None for any other statement."""
    if isinstance(statement, ast.AugAssign):
        return scene.quote(statement.target)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return scene.quote(target) if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) else None
    return None


def _value_of(scene: Scene, statement: ast.stmt) -> str | None:
    """Return the expression that a statement assigns, with `x += 1` as `x + 1`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
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


def _interfere(scene: Scene, node: ast.If, names: list[str]) -> bool:
    """Return whether one of several assignments reads a name that an earlier one changes."""
    read = {
        name
        for statement in ast.walk(node)
        if isinstance(statement, ast.Assign | ast.AugAssign)
        for name in names_in(statement.value)
    }
    return bool(read & set(names[:-1])) or bool(names_in(node.test) & set(names[:-1]))
