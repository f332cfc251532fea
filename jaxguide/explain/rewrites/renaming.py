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


def spelled(scene: Scene, name: str) -> str:
    """Return how the student's code writes a name: `jnp.vstack` for `jax.numpy.vstack`."""
    home = module_behind(name)
    if name == "jax.numpy":  # a module that is used by its name alone
        return f"{scene.jax}.numpy"
    return scene.name_of(home) + name.removeprefix(home)


def needed_imports(scene: Scene, name: str) -> list[Edit]:
    """Return the edit that imports the module of a name, if neither the file nor `import jax` does that."""
    home = module_behind(name)
    is_known = scene.name_of(home).split(".")[0] not in ("jax", home) or home in _READY
    written = {one.name for node in ast.walk(scene.source.tree) if isinstance(node, ast.Import) for one in node.names}
    return [] if is_known or home in written else [import_line(scene.source, f"import {home}")]


def renamed_attribute(scene: Scene, gone: ast.Attribute, new: str) -> list[Edit]:
    """Return the edits that write another name wherever the file has this attribute, with JAX's names of arguments."""
    nodes = list(ast.walk(scene.source.tree))
    uses = [node for node in nodes if isinstance(node, ast.Attribute) and dotted(node) == dotted(gone)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and node.func in uses]
    edits = [scene.source.replace(node, spelled(scene, new)) for node in uses]
    old = [one for call in calls for one in call.keywords if one.arg in ARGUMENTS]
    edits += [scene.source.replace(one, f"{ARGUMENTS[one.arg or '']}={scene.quote(one.value)}") for one in old]
    return edits + needed_imports(scene, new)


def renamed_import(scene: Scene, statement: ast.Import | ast.ImportFrom) -> list[Edit]:
    """Return the edits that import what JAX renamed from where it is now; empty if some of it is not there."""
    lines: list[str] = []
    edits: list[Edit] = []
    for alias in statement.names:
        old = f"{statement.module}.{alias.name}" if isinstance(statement, ast.ImportFrom) else alias.name
        removal = removal_of(old)
        new = removal.new if removal is not None else old if resolved(old) is not MISSING else ""
        if not new:
            return []
        home = module_behind(new) if "." in new else ""
        if isinstance(statement, ast.Import) and not alias.asname:
            nodes = ast.walk(scene.source.tree)
            uses = [node for node in nodes if isinstance(node, ast.Attribute) and dotted(node) == old != new]
            edits += [scene.source.replace(node, new) for node in uses]
            lines.append(f"import {home or new}")
        else:
            lines.append(_import_of(new, alias.asname or alias.name))
    return [scene.source.replace(statement, f"\n{scene.source.indent(statement)}".join(lines)), *edits]


def _import_of(name: str, bound: str) -> str:
    """Return the line that imports a dotted name under another one."""
    home, _dot, last = name.rpartition(".")
    head = f"from {home} import {last}" if home else f"import {last}"
    return head if last == bound else f"{head} as {bound}"


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
