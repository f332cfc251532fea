"""Rename what a program uses of JAX: attributes of modules, and imports, wherever they are written in the file."""

import ast
import importlib
import warnings
from types import ModuleType
from typing import Any

from jaxguide.code.edits import Edit
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING
from jaxguide.compat.other_libraries import ARGUMENTS
from jaxguide.compat.removals import REMOVALS, Removal
from jaxguide.explain.scene import Scene, import_line

# `import jax` alone makes these modules available; others are imported by a line of their own.
_MODULES = "numpy lax nn random tree tree_util sharding errors core profiler dtypes stages debug ops"
_READY = {"jax", "numpy", *(f"jax.{name}" for name in _MODULES.split())}


def resolved(name: str) -> Any:
    """Return what a dotted name of an installed package stands for; MISSING if it does not exist.

    >>> resolved("math.prod")((2, 3)), resolved("jax.tree_map") is MISSING
    (6, True)
    """
    home, _dot, last = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names warn
        try:
            return importlib.import_module(name)
        except ImportError:
            return getattr(resolved(home), last, MISSING) if home else MISSING


def module_behind(name: str) -> str:
    """Return the module part of a dotted name: 'jax.tree' for 'jax.tree.map'."""
    home = name.rpartition(".")[0]
    return name if not home or isinstance(resolved(name), ModuleType) else module_behind(home)


def spelled(scene: Scene, name: str) -> str:
    """Return how the student's code writes a name: `jnp.vstack` for `jax.numpy.vstack`."""
    home = module_behind(name)
    if name == "jax.numpy":  # a module that is used by its name alone
        return f"{scene.jax}.numpy"
    return scene.name_of(home) + name.removeprefix(home)


def needed_imports(scene: Scene, name: str) -> list[Edit]:
    """Return the edit that imports the module of a name, if neither the file nor `import jax` does that."""
    home = module_behind(name)
    line, is_named = f"import {home}", scene.name_of(home).split(".")[0] not in ("jax", home)
    return [] if is_named or home in _READY or line in scene.source.lines else [import_line(scene.source, line)]


def renamed_attribute(scene: Scene, gone: ast.Attribute, new: str) -> list[Edit]:
    """Return the edits that write another name wherever the file has this attribute, with JAX's names of arguments."""
    edits = [scene.source.replace(node, spelled(scene, new)) for node in _uses(scene, dotted(gone))]
    for call in scene.source.calls():
        old = [one for one in call.keywords if one.arg in ARGUMENTS and dotted(call.func) == dotted(gone)]
        edits += [scene.source.replace(one, f"{ARGUMENTS[one.arg or '']}={scene.quote(one.value)}") for one in old]
    return edits + needed_imports(scene, new)


def renamed_import(scene: Scene, statement: ast.Import | ast.ImportFrom) -> list[Edit]:
    """Return the edits that import what JAX renamed from where it is now; empty if some of it is not there."""
    lines, edits = list[str](), list[Edit]()
    for alias, old in zip(statement.names, imported(statement), strict=True):
        new = (removal_of(old) or Removal(new=old)).new
        home, _dot, last = new.rpartition(".")
        if not new or resolved(new) is MISSING:
            return []
        if isinstance(statement, ast.Import) and not alias.asname:
            lines.append(f"import {module_behind(new)}")
            edits += [scene.source.replace(node, new) for node in _uses(scene, old) if old != new]
        else:
            bound = alias.asname or alias.name
            lines.append(
                (f"from {home} " if home else "") + f"import {last}" + (f" as {bound}" if bound != last else "")
            )
    return [scene.source.replace(statement, f"\n{scene.source.indent(statement)}".join(lines)), *edits]


def imported(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the full names that a statement imports."""
    home = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    return [f"{home}{alias.name}" for alias in statement.names]


def _uses(scene: Scene, name: str) -> list[ast.Attribute]:
    nodes = ast.walk(scene.source.tree)
    return [node for node in nodes if isinstance(node, ast.Attribute) and dotted(node) == name]


def removal_of(name: str) -> Removal | None:
    """Return what became of a name that the installed JAX lacks; None if JAX has it, or never had it.

    A name in a module that was renamed as a whole counts as renamed with it.
    """
    home, _dot, last = name.rpartition(".")
    entry, whole = REMOVALS.get(name), REMOVALS.get(home)
    if entry is None and whole is not None and whole.new and resolved(f"{whole.new}.{last}") is not MISSING:
        entry = whole._replace(new=f"{whole.new}.{last}")
    if entry is None or (resolved(name) is not MISSING and name not in (entry.new, "jax.config.config")):
        return None
    return entry if not entry.new or resolved(entry.new) is not MISSING else entry._replace(new="")
