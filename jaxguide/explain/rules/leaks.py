"""Explain traced values that outlive their function, in a list, an attribute, a global or an outer variable."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import Source, names_in, source_of
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


@explains(error_texts.LEAK)
def leaked_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a tracer used after its trace: where it was stored, and how to return it instead."""
    made = error_texts.LEAK_CREATED.search(scene.message)
    function_name = (made[3] if made else "").removesuffix(".<locals>").split(".")[-1]
    leak = error_texts.LEAK_FUNCTION.search(scene.message)
    if leak is not None:
        function_name = leak[1].split(".")[-1]
    traced = scene.tracer()
    source = source_of(leak[2]) if leak else scene.source
    function = None
    if source is not None and leak is not None:
        function = source.function_at(leak[1].split(".")[-1], int(leak[3]))
    keeper = _keeper(function) if isinstance(function, ast.FunctionDef) else None
    if traced is not None:
        variable = scene.quote(traced[0])
    elif keeper is not None and source is not None:
        variable = source.quote(keeper.target)
    else:
        return None
    place = f" ({Line(made[1], int(made[2]))})" if made else ""
    left = _("`{name}` is what is left of a traced value of `{function}`{place}.")
    if keeper is not None and traced is None and keeper.method is not None:
        left = _("`{name}` holds what is left of a traced value of `{function}`{place}.")
    what = left.format(name=variable, function=function_name, place=place)
    fixes: list[Fix | None] = []
    if keeper is not None and source is not None and isinstance(function, ast.FunctionDef):
        fixes.append(_return_it(scene, source, function, keeper))
        if keeper.method is not None:
            fixes.append(_by_callback(scene, source, keeper))
    if not any(fixes):
        fixes.append(
            scene.fix(
                _("Return the value from `{function}` and keep it outside.").format(function=function_name),
                code=f"result, {variable.split('.')[-1].split('[')[0]} = {function_name}(...)",
            )
        )
    return scene.explanation(
        "leaked_tracer",
        title=_("A traced value was used after its function had ended"),
        what=what,
        variable=variable,
        why=_(
            "While JAX records `{function}`, its values stand for values to come; kept elsewhere they stand for "
            "nothing. Only what is returned comes out."
        ).format(function=function_name),
        fixes=fixes,
        link=error_texts.ERRORS_PAGE,
    )


class _Keeper:
    """A statement in a traced function that stores a value outside the function."""

    def __init__(self, statement: ast.stmt, target: ast.expr, value: ast.expr, method: str | None = None):
        self.statement, self.target, self.value, self.method = statement, target, value, method


def _keeper(function: ast.FunctionDef) -> _Keeper | None:
    """Return the last statement of a function that stores a value outside the function, or None."""
    outer = {name for n in ast.walk(function) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    local = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - outer
    keepers = []
    for statement in function.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if (
                isinstance(target, ast.Attribute)
                or (isinstance(target, ast.Name) and target.id in outer)
                or (isinstance(target, ast.Subscript) and not names_in(target.value) & local)
            ):
                keepers.append(_Keeper(statement, target, statement.value))
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Attribute):
            if isinstance(statement.target, ast.Attribute) or statement.target.id in outer:
                keepers.append(_Keeper(statement, statement.target, statement.value))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "add") and len(call.args) == 1:
                keepers.append(_Keeper(statement, call.func.value, call.args[0], call.func.attr))
    return keepers[-1] if keepers else None


def _return_it(scene: Scene, source: Source, function: ast.FunctionDef, keeper: _Keeper) -> Fix | None:
    """Return a fix that makes the function return the stored value as well, and moves the store to the caller."""
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None or _returns(function) != 1:
        return None
    result, kept = source.quote(last.value), source.quote(keeper.target)
    reads = isinstance(keeper.statement, ast.AugAssign) or _reads(function, keeper)
    if reads and not isinstance(keeper.target, ast.Name):
        return None
    edits: list[Edit] = []
    if keeper.method is not None:
        value = source.quote(keeper.value)
        edits += [source.remove_statement(keeper.statement), source.replace(last.value, f"{result}, {value}")]
    elif isinstance(keeper.target, ast.Name):
        edits += _without_declaration(source, function, keeper.target.id)
        edits.append(source.replace(last.value, f"{result}, {kept}"))
    else:
        value = source.quote(keeper.value)
        edits += [source.remove_statement(keeper.statement), source.replace(last.value, f"{result}, {value}")]
    calls = [c for c in source.calls() if _name(c.func) == function.name and source.function(c) is not function]
    for call in calls:
        edit = _call_site(source, call, keeper, kept, reads)
        if edit is None:
            return None
        edits += edit
    if reads:
        first = function.args.args[0]
        edits.append(source.insert_before(first, f"{kept}, "))
    sentence = _("Return it too, and keep it where `{function}` is called.")
    if reads:
        sentence = _("Take it as an argument, return it, and keep it where `{function}` is called.")
    return scene.fix(sentence.format(function=function.name), *edits) if calls else None


def _call_site(source: Source, call: ast.Call, keeper: _Keeper, kept: str, reads: bool) -> list[Edit] | None:
    statement = source.statement(call)
    target = kept
    if isinstance(keeper.target, ast.Attribute) and kept.startswith("self.") and isinstance(call.func, ast.Attribute):
        target = f"{source.quote(call.func.value)}.{kept.removeprefix('self.')}"
    edits = [source.insert_before(call.args[0], f"{kept}, ")] if reads and call.args else []
    new = target if keeper.method is None else "value"
    if isinstance(statement, ast.Expr) and statement.value is call:
        edits.append(source.insert_before(statement, f"_, {new} = "))
    elif isinstance(statement, ast.Assign) and statement.value is call:
        edits.append(source.insert_after(statement.targets[-1], f", {new}"))
    else:
        return None
    if keeper.method is not None:
        edits.append(source.insert_after(statement, f"\n{source.indent(statement)}{kept}.{keeper.method}(value)"))
    return edits


def _by_callback(scene: Scene, source: Source, keeper: _Keeper) -> Fix | None:
    kept, value = source.quote(keeper.target), source.quote(keeper.value)
    return scene.fix(
        _("Let the running program hand over the value, in every run."),
        source.replace(keeper.statement, f"{scene.jax}.debug.callback({kept}.{keeper.method}, {value})"),
    )


def _without_declaration(source: Source, function: ast.FunctionDef, name: str) -> list[Edit]:
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            others = [n for n in node.names if n != name]
            if not others:
                return [source.remove_statement(node)]
            word = "global" if isinstance(node, ast.Global) else "nonlocal"
            return [source.replace(node, f"{word} {', '.join(others)}")]
    return []


def _reads(function: ast.FunctionDef, keeper: _Keeper) -> bool:
    """Return whether a function also reads the place where it stores a value."""
    wanted = ast.dump(keeper.target).replace("Store()", "Load()")
    if keeper.method is not None:
        return False
    return any(
        isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and ast.dump(node) == wanted
        for statement in function.body
        for node in ast.walk(statement)
    )


def _returns(function: ast.FunctionDef) -> int:
    return sum(isinstance(node, ast.Return) for node in ast.walk(function))


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
