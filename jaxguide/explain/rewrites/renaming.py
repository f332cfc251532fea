"""Rename what a program uses of JAX: attributes of modules, and imports, wherever they are written in the file."""

import ast
import importlib
import sys
import warnings
from types import ModuleType
from typing import Any, NamedTuple

from jaxguide.code.edits import Edit
from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import MISSING
from jaxguide.compat.removals import REMOVALS, Removal
from jaxguide.explain.scene import Scene, import_line

# `import jax` alone makes these modules available; others are imported by a line of their own.
_MODULES = "numpy lax nn random tree tree_util sharding errors core profiler dtypes stages debug ops"
_READY = {"jax", "numpy", *(f"jax.{name}" for name in _MODULES.split())}
_SHORT = {"jax.numpy": "jnp", "numpy": "np"}


def resolved(name: str) -> Any:
    """Return what a dotted name of an installed package stands for; MISSING if it does not exist.

    >>> resolved("math.prod")((2, 3)), resolved("jax.tree_map") is MISSING
    (6, True)
    """
    parts = name.split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names warn
        for count in range(len(parts), 0, -1):
            try:
                value: Any = importlib.import_module(".".join(parts[:count]))
            except ImportError:
                continue
            for part in parts[count:]:
                value = getattr(value, part, MISSING)
                if value is MISSING:
                    return MISSING
            return value
    return MISSING


def module_behind(name: str) -> str:
    """Return the module part of a dotted name: 'jax.tree' for 'jax.tree.map'."""
    parts = name.split(".")
    while len(parts) > 1 and not isinstance(resolved(".".join(parts)), ModuleType):
        parts.pop()
    return ".".join(parts)


class Spelled(NamedTuple):
    """A dotted name as the student writes it, with the import that it needs, '' if none."""

    text: str
    needs: str = ""


def spelled(scene: Scene, name: str) -> Spelled:
    """Return how the student's code writes a name: `jnp.vstack` for `jax.numpy.vstack`."""
    home = module_behind(name)
    rest = name.removeprefix(home)
    known = scene.spot.frame.f_globals
    module = sys.modules.get(home)
    for alias, value in known.items():
        if value is module and module is not None and not alias.startswith("_"):
            return Spelled(alias + rest)
    if (home in _SHORT and rest) or home == "jax":
        return Spelled(_SHORT.get(home, home) + rest)  # `Scene.fix` adds the import
    if home in _READY:
        return Spelled(f"{scene.jax}{home.removeprefix('jax')}{rest}")
    root = home.split(".")[0]
    if root == "jax" and scene.jax != "jax":
        return Spelled(name, f"import {home}")
    return Spelled(home + rest, f"import {home}")


def renamed_attribute(scene: Scene, old: ast.Attribute, new: str, extra: str = "") -> list[Edit]:
    """Return the edits that write another name wherever the file has this attribute; empty if that would be wrong.

    Args:
        scene: the failure.
        old: the attribute, such as `jnp.trapz`.
        new: the dotted name to write.
        extra: an argument to add to each call.
    """
    source, text = scene.source, dotted(old)
    spell = spelled(scene, new)
    uses = [node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute) and dotted(node) == text]
    edits = [source.replace(node, spell.text) for node in uses]
    if extra:
        more = _more_arguments(source, uses, extra)
        if more is None:
            return []
        edits += more
    return edits + needed_imports(source, spell)


def renamed_import(scene: Scene, statement: ast.Import | ast.ImportFrom) -> list[Edit]:
    """Return the edits that import what JAX renamed from where it is now; empty if some of it is not there."""
    if isinstance(statement, ast.Import):
        return _renamed_modules(scene, statement)
    lines: dict[str, list[str]] = {}
    more: list[Edit] = []
    for alias in statement.names:
        old = f"{statement.module}.{alias.name}"
        removal = removal_of(old)
        bound = alias.asname or alias.name
        new = removal.new if removal is not None else old if resolved(old) is not MISSING else ""
        if not new:
            return []
        home, _dot, name = new.rpartition(".")
        if not home:
            lines[f"import {new}" if new == bound else f"import {new} as {bound}"] = []
        else:
            lines.setdefault(f"from {home} import ", []).append(name if name == bound else f"{name} as {bound}")
        if removal is not None and removal.extra:
            uses = [node for node in ast.walk(scene.source.tree) if isinstance(node, ast.Name) and node.id == bound]
            added = _more_arguments(scene.source, uses, removal.extra)
            if added is None:
                return []
            more += added
    text = f"\n{scene.source.indent(statement)}".join(head + ", ".join(names) for head, names in lines.items())
    return [scene.source.replace(statement, text), *more]


def _renamed_modules(scene: Scene, statement: ast.Import) -> list[Edit]:
    """Return the edits for `import jax.experimental.stax`, with or without `as`."""
    if len(statement.names) != 1:
        return []
    (alias,) = statement.names
    removal = removal_of(alias.name)
    if removal is None or not removal.new:
        return []
    source, home = scene.source, module_behind(removal.new)
    name = removal.new.removeprefix(home).removeprefix(".")
    if alias.asname:
        new = f"from {home} import {name} as {alias.asname}" if name else f"import {home} as {alias.asname}"
        return [source.replace(statement, new)]
    uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Attribute) and dotted(n) == alias.name]
    edits = [source.replace(node, removal.new) for node in uses] if removal.new != alias.name else []
    return [source.replace(statement, f"import {home}"), *edits]


def removal_of(name: str) -> Removal | None:
    """Return what became of a name that the installed JAX lacks; None if JAX has it, or never had it.

    A name in a module that was renamed as a whole counts as renamed with it.
    """
    entry = REMOVALS.get(name)
    if entry is None:
        home, _dot, last = name.rpartition(".")
        whole = REMOVALS.get(home)
        if whole is None or not whole.new or resolved(f"{whole.new}.{last}") is MISSING:
            return None
        entry = whole._replace(new=f"{whole.new}.{last}")
    if resolved(name) is not MISSING and name not in (entry.new, "jax.config.config"):
        return None
    return entry if not entry.new or resolved(entry.new) is not MISSING else entry._replace(new="")


def _more_arguments(source: Source, uses: list[Any], extra: str) -> list[Edit] | None:
    """Return the edits that add an argument to each call of a function; None if it is used otherwise."""
    edits = []
    for use in uses:
        call = source.parents.get(use)
        if not isinstance(call, ast.Call) or call.func is not use or not (call.args or call.keywords):
            return None
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        last = max(given, key=source.end)
        edits.append(source.insert_after(last, f", {extra}"))
    return edits


def needed_imports(source: Source, spell: Spelled) -> list[Edit]:
    """Return the edit that adds the import that a name needs, if the file does not have it."""
    written = {alias.name for n in ast.walk(source.tree) if isinstance(n, ast.Import) for alias in n.names}
    if not spell.needs or spell.needs.removeprefix("import ") in written:
        return []
    return [import_line(source, spell.needs)]
