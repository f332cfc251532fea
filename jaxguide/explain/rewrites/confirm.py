"""Confirm fixes before they are offered: the changed code parses, its names exist, and it can be traced."""

import ast
import builtins
import contextlib
import linecache
import re
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType, ModuleType
from typing import Any

import jax

from jaxguide.code.edits import Edit, apply_edits
from jaxguide.code.frames import is_library
from jaxguide.code.source import Source, names_in, source_of
from jaxguide.code.user_frame import MISSING, UserFrame, is_tracer
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.harmless import is_harmless
from jaxguide.explain.scene import Scene

_LIMIT_S = 2.0
_FILE = "<fix>"


def confirmed(scene: Scene, explanation: Explanation) -> Explanation:
    """Return an explanation whose fixes can be trusted.

    A fix whose code fails is left out if that of another one holds; without any, its sentence is kept as advice.
    """
    judged = [(fix, not fix.edits or holds(scene, fix)) for fix in explanation.fixes]
    known = any(fix.edits and right for fix, right in judged)
    fixes = tuple(fix if right else Fix(fix.sentence, "") for fix, right in judged if right or not known)
    return explanation if fixes == explanation.fixes else replace(explanation, fixes=fixes)


def holds(scene: Scene, fix: Fix) -> bool:
    """Return whether the code that a fix makes parses, has all its names, and fails neither when it is traced.

    It is traced only if it is harmless; a fix whose code cannot be traced is judged by its names alone.
    """
    for file in dict.fromkeys(edit.file for edit in fix.edits):
        source = source_of(file)
        if source is None:
            return False
        edits = [edit for edit in fix.edits if edit.file == file]
        text = apply_edits(source.text, edits)
        try:
            new = Source(file, text)
        except (SyntaxError, ValueError):
            return False
        spots = [spot for spot in scene.spots if spot.line.file == file]
        if not spots:
            continue
        changed = list(_changed(edits))
        if not all(_is_known(new, node, spots) for node in _expressions(new.tree, changed)):
            return False
        if any(_fails_traced(source, new, edits, spot) for spot in reversed(spots)):
            return False
        elsewhere = not any(_changes(source, edits, spot) for spot in spots)
        if elsewhere and any(_fails_with_definitions(source, new, edits, spot) for spot in reversed(spots)):
            return False
    return True


def _changed(edits: list[Edit]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of what each edit made, counted after all edits."""
    moved = 0
    for edit in sorted(edits):
        lines = edit.text.count("\n")
        first = edit.first[0] + moved
        yield first, first + lines
        moved += lines - (edit.last[0] - edit.first[0])


def _expressions(tree: ast.AST, changed: list[tuple[int, int]]) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names and attributes that the changed lines read."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if any(first <= node.lineno and (node.end_lineno or 0) <= last for first, last in changed):
            yield node


def _is_known(new: Source, node: ast.Name | ast.Attribute, spots: list[UserFrame]) -> bool:
    """Return whether a name is bound where it is read, and whether a module has an attribute that is read from it."""
    if isinstance(node, ast.Attribute):
        base = _module(new, node.value, spots)
        return base is None or _has(base, node.attr)
    names = {**vars(builtins), **spots[0].frame.f_globals}
    if node.id in names or any(node.id in spot.frame.f_locals for spot in spots):
        return True
    return any(node.id in _bound(scope) for scope in _scopes(new, node))


def _module(new: Source, node: ast.expr, spots: list[UserFrame]) -> ModuleType | None:
    """Return the module that an expression names, also if the fix itself imports it."""
    if isinstance(node, ast.Attribute):
        base = _module(new, node.value, spots)
        value = getattr(base, node.attr, None) if base is not None and _has(base, node.attr) else None
        return value if isinstance(value, ModuleType) else None
    if not isinstance(node, ast.Name):
        return None
    for spot in reversed(spots):
        value = spot.value(node)
        if value is not MISSING:
            return value if isinstance(value, ModuleType) else None
    return None


def _has(module: ModuleType, name: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names warn
        return hasattr(module, name) or f"{module.__name__}.{name}" in sys.modules


def _scopes(new: Source, node: ast.AST) -> Iterator[ast.AST]:
    here: ast.AST | None = node
    while here is not None:
        if isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module) or hasattr(
            here, "generators"
        ):
            yield here
        here = new.parents.get(here)


def _bound(scope: ast.AST) -> set[str]:
    """Return the names that a scope binds, with those of scopes inside it."""
    names: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _fails_traced(source: Source, new: Source, edits: list[Edit], spot: UserFrame) -> bool:
    """Return whether the changed statement of a frame fails when it is traced; False if that cannot be tried.

    The whole function is tried if its arguments still are what they were at the call, or else the statement.
    """
    statement = spot.statement
    if statement is None:
        return False
    start, end = source.start(statement), source.end(statement)
    inside = [edit for edit in edits if start <= edit.first and edit.last <= end]
    imports = [edit for edit in edits if edit not in inside and _is_import(edit)]
    elsewhere = [edit for edit in edits if edit not in inside and edit not in imports]
    if not inside or (elsewhere and len({edit.text for edit in inside + elsewhere}) > 1):
        return False  # what is changed elsewhere decides too, unless one name is only written otherwise
    added = _imported(imports)
    before = [edit for edit in imports + elsewhere if edit.first <= start]
    moved = sum(edit.text.count("\n") - (edit.last[0] - edit.first[0]) for edit in before)
    function = source.function(statement)
    if isinstance(function, ast.FunctionDef) and spot.frame.f_code.co_name == function.name:
        above = [edit for edit in before if edit.first < source.start(function)]
        line = function.lineno + sum(edit.text.count("\n") - (edit.last[0] - edit.first[0]) for edit in above)
        changed = new.function_at(function.name, line)
        if isinstance(changed, ast.FunctionDef) and not _rebinds(function):
            outer = _arguments(changed) | set(spot.frame.f_code.co_freevars)
            given = {name: value for name, value in spot.frame.f_locals.items() if name in outer}
            found = _traced(changed.body, {**spot.frame.f_globals, **added, **given})
            if found is not None:
                return not found
    lines = sum(edit.text.count("\n") - (edit.last[0] - edit.first[0]) for edit in inside)
    first, last = start[0] + moved, end[0] + moved + lines
    body = [n for n in ast.walk(new.tree) if isinstance(n, ast.stmt) and _within(n, first, last)]
    body = [node for node in body if new.parents.get(node) not in body]
    names = {**spot.frame.f_globals, **spot.frame.f_locals, **added}
    return bool(body) and _traced(body, names) is False


def _imported(imports: list[Edit]) -> dict[str, Any]:
    """Return the names that imports of JAX, NumPy or this package bind."""
    names: dict[str, Any] = {}
    for edit in imports:
        exec(edit.text, names)
    return names


def _changes(source: Source, edits: list[Edit], spot: UserFrame) -> bool:
    """Return whether an edit is in the statement that a frame was running."""
    statement = spot.statement
    if statement is None:
        return False
    start, end = source.start(statement), source.end(statement)
    return any(start <= edit.first and edit.last <= end for edit in edits if not _is_import(edit))


def _fails_with_definitions(source: Source, new: Source, edits: list[Edit], spot: UserFrame) -> bool:
    """Return whether a frame's statement fails when it is traced with the changed definitions that it can see.

    These are functions and assignments in its own block or function, or in the file; if anything else is changed, it
    cannot be tried.
    """
    statement, function = spot.statement, spot.function
    if statement is None or isinstance(function, ast.Lambda):
        return False
    made = [edit for edit in edits if not _is_import(edit)]
    lines = list(_changed([edit for edit in edits if not _is_import(edit)]))
    shift = sum(edit.text.count("\n") for edit in edits if _is_import(edit))
    wanted = [(first + shift, last + shift) for first, last in lines]
    start = source.start(statement)[0]
    moved = sum(edit.text.count("\n") - (edit.last[0] - edit.first[0]) for edit in edits if edit.first[0] < start)
    here = [node for node in ast.walk(new.tree) if isinstance(node, ast.stmt) and node.lineno == start + moved]
    scopes: list[list[ast.stmt]] = [new.tree.body]
    if function is not None and len(here) == 1:
        scopes.append(new.body_of(here[0]))
    if len(here) != 1 or not made:
        return False
    body: list[ast.stmt] = []
    for first, last in wanted:
        found = [
            node
            for scope in scopes
            for node in scope
            if isinstance(node, ast.FunctionDef | ast.Assign)
            and _first_line(node) <= first
            and last <= (node.end_lineno or node.lineno)
        ]
        around = [node for node in found if _first_line(node) <= here[0].lineno <= (node.end_lineno or 0)]
        if around and here[0] not in found:
            return False  # the statement is in the changed function itself
        if here[0].lineno <= first and last <= (here[0].end_lineno or 0):
            continue
        if len(found) != 1 or found[0].lineno > here[0].lineno:
            return False
        body += [] if found[0] in body else found
    made_names = [_bound_by(node) for node in body]
    if not body or not all(names & names_in(here[0]) for names in made_names):
        return False  # what was made of the old definition, such as a jitted function, still has it
    ordered = sorted(body, key=lambda node: node.lineno)
    imported = _imported([edit for edit in edits if _is_import(edit)])
    names = {**spot.frame.f_globals, **spot.frame.f_locals, **imported}
    for node in ordered:
        if isinstance(node, ast.FunctionDef):
            names.pop(node.name, None)
    return _traced([*ordered, here[0]], names) is False


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _within(node: ast.stmt, first: int, last: int) -> bool:
    return first <= node.lineno and (node.end_lineno or node.lineno) <= last


def _is_import(edit: Edit) -> bool:
    return edit.first == edit.last and edit.text.startswith(("import ", "from "))


def _arguments(function: ast.FunctionDef) -> set[str]:
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def _rebinds(function: ast.FunctionDef) -> bool:
    """Return whether a function assigns to one of its arguments, so that the frame no longer has what was passed."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return bool(_arguments(function) & stored)


class _TimeUp(BaseException):
    pass


def _traced(body: list[ast.stmt], names: dict[str, Any]) -> bool | None:
    """Return whether statements can be traced on the abstract values of the names that they read.

    None if they are not harmless, or if an error may come from values being abstract.
    """
    if not is_harmless(body, names):
        return None
    read = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    held = {name: names[name] for name in read if name in names and not isinstance(names[name], ModuleType)}
    leaves, tree = jax.tree.flatten(held)
    arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]
    if not all(is_tracer(leaves[i]) or not leaves[i].is_deleted() for i in arrays):
        return None
    concrete = not arrays or not all(is_tracer(leaves[i]) for i in arrays)
    try:
        code = compile(_function_of(body, sorted(held)), _FILE, "exec")
    except (SyntaxError, ValueError):
        return None
    space = dict(names)
    exec(code, space)
    run = space["_fix"]

    def call(*values: Any) -> int:
        filled = list(leaves)
        for i, value in zip(arrays, values, strict=True):
            filled[i] = value
        run(**jax.tree.unflatten(tree, filled))
        return 0

    try:
        given = [_abstract(leaves[i]) for i in arrays]
        with warnings.catch_warnings(), _limited():
            warnings.simplefilter("ignore")
            jax.eval_shape(call, *given)
    except _TimeUp:
        return None
    except Exception as error:
        return None if _is_undecided(error, body, concrete) else False
    return True


def _is_undecided(error: Exception, body: list[ast.stmt], concrete: bool) -> bool:
    """Return whether an error may come from how the code was tried, and not from the code.

    Left out are transformations and meshes around it, and the values that its arrays had (`concrete`).
    """
    text = str(error)
    if isinstance(error, jax.errors.UnexpectedTracerError | NameError):  # an axis; or a comprehension's own frame
        return True
    if re.search("mesh|sharding", text):
        return True
    if concrete and (type(error).__module__.startswith("jax") or re.search("[Tt]racer|concrete|static", text)):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return True
    file, line = last.tb_frame.f_code.co_filename, last.tb_lineno
    if file == _FILE:
        raised = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Raise | ast.Assert) and n.lineno == line]
        return bool(raised)
    return not is_library(file) and linecache.getline(file, line).lstrip().startswith(("raise", "assert"))


def _abstract(value: Any) -> Any:
    aval = value.aval
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=bool(getattr(aval, "weak_type", False)))


def _function_of(body: list[ast.stmt], arguments: list[str]) -> ast.Module:
    """Return a module with one function that has statements as its body."""
    made = ast.parse(f"def _fix({', '.join(arguments)}): pass")
    function = made.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = list(body)
    return ast.fix_missing_locations(made)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Stop what runs in this thread after a time limit, also in the middle of a loop of the traced code.

    A trace function of Python is used, because signals work in the main thread only.
    """
    before, until = sys.gettrace(), time.monotonic() + _LIMIT_S

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        if time.monotonic() > until:
            raise _TimeUp
        return None if is_library(frame.f_code.co_filename) else watch  # the fix, and what it calls of the user's

    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)
