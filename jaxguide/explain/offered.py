"""Offer a fix as code only if what it writes is Python and every name in it exists."""

import ast
import builtins
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

from jaxguide.code.edits import Edit, apply_edits
from jaxguide.code.source import Source, source_of
from jaxguide.code.user_frame import UserFrame
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.scene import Scene


def offered(scene: Scene, explanation: Explanation) -> Explanation:
    """Return an explanation without code that cannot run: such a fix is left out, or only said if no other has code."""
    judged = [(fix, can_be_offered(scene, fix)) for fix in explanation.fixes]
    is_known = any(fix.edits and right for fix, right in judged)
    fixes = tuple(fix if right else Fix(fix.sentence, "") for fix, right in judged if right or not is_known)
    return replace(explanation, fixes=fixes)


def can_be_offered(scene: Scene, fix: Fix) -> bool:
    """Return whether the code that a fix makes parses, and its names exist; nothing is run."""
    for file in dict.fromkeys(edit.file for edit in fix.edits):
        source, edits = source_of(file), [edit for edit in fix.edits if edit.file == file]
        spots = [spot for spot in scene.spots if spot.line.file == file]
        try:
            new = Source(file, apply_edits(source.text, edits)) if source is not None else None
        except (SyntaxError, ValueError):
            return False
        if new is None or (spots and not all(_exists(new, node, spots) for node in _read(new, edits))):
            return False
    return True


def _read(new: Source, edits: list[Edit]) -> Iterator[ast.expr]:
    """Yield the names and attributes that the changed lines read."""
    changed, moved = set[int](), 0
    for edit in sorted(edits):
        lines = edit.text.count("\n")
        changed |= set(range(edit.first[0] + moved, edit.first[0] + moved + lines + 1))
        moved += lines - (edit.last[0] - edit.first[0])
    for node in ast.walk(new.tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and node.lineno in changed:
            yield node


def _exists(new: Source, node: ast.expr, spots: list[UserFrame]) -> bool:
    """Return whether a name is bound somewhere, and whether a module has an attribute that is read from it."""
    if isinstance(node, ast.Attribute):
        module = _module(node.value, spots)
        return module is None or _has(module, node.attr)
    names = [vars(builtins), spots[0].frame.f_globals, *(spot.frame.f_locals for spot in spots), _bound(new.tree)]
    return any(node.id in known for known in names if isinstance(node, ast.Name))


def _module(node: ast.expr, spots: list[UserFrame]) -> ModuleType | None:
    """Return the module that an expression names, also one that the fix imports."""
    if isinstance(node, ast.Attribute):
        outer = _module(node.value, spots)
        value = getattr(outer, node.attr, None) if outer is not None and _has(outer, node.attr) else None
        return value if isinstance(value, ModuleType) else None
    return next((value for spot in reversed(spots) if isinstance(value := spot.value(node), ModuleType)), None)


def _has(module: ModuleType, name: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names warn
        return hasattr(module, name) or f"{module.__name__}.{name}" in sys.modules


def _bound(tree: ast.AST) -> set[str]:
    """Return all names that a file binds."""
    nodes = list(ast.walk(tree))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    named = {getattr(node, place, None) for node in nodes for place in ("arg", "asname", "name")}
    return stored | {name.split(".")[0] for name in named if isinstance(name, str)}
