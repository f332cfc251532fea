"""Explain names that JAX no longer has, in the student's code or in a library that was written for an older JAX."""

import ast
import importlib.metadata
import re
from types import ModuleType, TracebackType

import jax

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.frames import is_library
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts, in_jax
from jaxguide.compat.removals import ARRAY_REMOVALS, OPTION_REMOVALS, REMOVALS, Removal
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.confirm import holds
from jaxguide.explain.rewrites.renaming import removal_of, renamed_attribute, renamed_import, spelled
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

_CHANGES = "https://docs.jax.dev/en/latest/changelog.html"
# Functions of `jax.ops` that changed an array -> the method of `.at`.
_INDEX_METHODS = {
    "index_update": "set",
    "index_add": "add",
    "index_mul": "multiply",
    "index_min": "min",
    "index_max": "max",
}
_HOST_CALLBACK = "jax.experimental.host_callback"


@explains(error_texts.NO_MODULE_NAME, error_texts.DEPRECATED_NAME)
def removed_attribute(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Explain `jax.tree_map(f, x)` and other names of modules."""
    if not _is_of_spot(scene):
        return _library(scene, _said_name(match))
    node = scene.node
    if not isinstance(node, ast.Attribute):
        return None
    module = scene.spot.value(node.value)
    if not isinstance(module, ModuleType):
        return None
    whole, name = node, f"{module.__name__}.{node.attr}"
    removal = removal_of(name)
    outer = scene.source.parents.get(node)
    while isinstance(outer, ast.Attribute):  # `jax.experimental.maps.xmap` fails at `maps`
        name = f"{name}.{outer.attr}"
        more = removal_of(name)
        if more is not None and name in REMOVALS:
            whole, removal = outer, more
        outer = scene.source.parents.get(outer)
    if removal is None:
        return None
    said = dotted(whole)
    fix = _index_fix(scene, [whole], whole.attr)
    if fix is None and removal.new:
        edits = renamed_attribute(scene, whole, removal.new, removal.extra)
        fix = _renamed(scene, removal, edits)
    full = _full_name(module, node, whole)
    return _explained(scene, said, full, removal, fix, _uses(scene, {said: full}))


@explains(error_texts.NO_IMPORT, error_texts.NO_MODULE)
def removed_import(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Explain `from jax.config import config` and other imports."""
    if not _is_of_spot(scene):
        return _library(scene, _said_name(match))
    statement = scene.node
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return None
    if isinstance(statement, ast.ImportFrom):
        names = [f"{statement.module}.{alias.name}" for alias in statement.names if not statement.level]
    else:
        names = [alias.name for alias in statement.names]
    missing = [(name, removal) for name in names if (removal := removal_of(name)) is not None]
    if not missing and isinstance(statement, ast.ImportFrom):  # a name that was not listed, of a module that is gone
        gone = removal_of(statement.module or "")
        missing = [(statement.module or "", gone)] if gone is not None else []
    if not missing:
        return None
    name, removal = missing[0]
    fix = _index_import(scene, statement)
    if fix is None:
        fix = _renamed(scene, removal, renamed_import(scene, statement)) if removal.new else None
    if fix is None and removal.needless and len(names) == 1 and not _is_used(scene, statement):
        fix = scene.fix("Delete the import: JAX does this by itself.", scene.source.remove_statement(statement))
    bound = {alias.asname or alias.name: full for alias, full in zip(statement.names, names, strict=False)}
    return _explained(scene, name, name, removal, fix, _uses(scene, bound))


@explains(error_texts.NO_METHOD, error_texts.DEPRECATED_ATTRIBUTE)
def removed_array_attribute(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Explain `x.device_buffer` and other attributes that arrays once had."""
    node = scene.node
    if not isinstance(node, ast.Attribute) or node.attr not in ARRAY_REMOVALS:
        return None
    since, new = ARRAY_REMOVALS[node.attr]
    call = scene.source.parents.get(node)
    called = isinstance(call, ast.Call) and call.func is node
    if called != ("{args}" in new or node.attr == "to_py") or hasattr(jax.Array, node.attr):
        return None
    whole: ast.expr = call if isinstance(call, ast.Call) and called else node
    given = scene.source
    args = ", ".join(given.quote(one) for one in [*call.args, *call.keywords]) if isinstance(call, ast.Call) else ""
    text = new.format(x=scene.atom(node.value), args=args, np=scene.np, jnp=scene.jnp, lax=scene.lax)
    value = scene.spot.value(node.value)
    words = "Write `{name}` in its place.".format(name=text.partition("(")[0]) if called else "Write this instead."
    fixes = [scene.fix(words, scene.source.replace(whole, text))]
    if node.attr in ("split", "tile") and isinstance(call, ast.Call):
        fixes = _as_elsewhere(scene, node, call, text)
    return scene.explanation(
        "removed_array_attribute",
        title="JAX's arrays no longer have `{name}`".format(name=f".{node.attr}"),
        what=scene.what(scene.quote(node.value), value) if is_array(value) else "",
        variable=scene.quote(node.value),
        why=_why(Removal(since)),
        fixes=fixes,
        link=_CHANGES,
    )


def _as_elsewhere(scene: Scene, node: ast.Attribute, call: ast.Call, text: str) -> list[Fix | None]:
    """Return the fixes for `x.split(3, dim=1)` and `x.tile(2, 2)`, which PyTorch's arrays have with other meanings."""
    array, quoted = scene.quote(node.value), [scene.quote(one) for one in call.args]
    axis = next((scene.quote(k.value) for k in call.keywords if k.arg in ("axis", "dim")), "0")
    axis = quoted[1] if len(quoted) == 2 else axis
    if node.attr == "tile":
        new = text if len(quoted) < 2 else f"{scene.jnp}.tile({array}, ({', '.join(quoted)}))"
        return [
            scene.fix("Write `{name}` in its place.".format(name=f"{scene.jnp}.tile"), scene.source.replace(call, new))
        ]
    new = f"{scene.jnp}.split({array}, {quoted[0] if quoted else ''}, axis={axis})"
    number = scene.spot.value(call.args[0]) if call.args else MISSING
    if type(number) is not int or len(quoted) > 2:
        sentence = "Write `{name}` in its place.".format(name=f"{scene.jnp}.split")
        return [scene.fix(sentence, scene.source.replace(call, text))]
    atom = scene.atom(node.value)
    bounds = f"list(range({quoted[0]}, {atom}.shape[{axis}], {quoted[0]}))"
    torch = scene.fix(
        plural("For parts of {count} entry, as in PyTorch.", "For parts of {count} entries, as in PyTorch.", number),
        scene.source.replace(call, f"{scene.jnp}.split({array}, {bounds}, axis={axis})"),
    )
    words = plural("For {count} part, as in NumPy.", "For {count} parts, as in NumPy.", number)
    parts = scene.fix(words, scene.source.replace(call, new))
    fixes = [torch] if any(k.arg == "dim" for k in call.keywords) else [parts, torch]
    # A number of parts that does not fit the array, or the names on the left, is not what is meant.
    return [fix for fix in fixes if fix is not None and holds(scene, fix)]


@explains(error_texts.DEVICE_CALLED)
def device_called(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Explain `x.device()`, which was a method."""
    call = scene.call()
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "device" or call.args:
        return None
    value = scene.spot.value(call.func.value)
    if not is_array(value) and (value is not MISSING or scene.spot.first(call.func.value, is_array) is None):
        return None
    text = scene.quote(call.func.value)
    return scene.explanation(
        "device_called",
        title="`.device` of an array is not a method any more",
        what=scene.what(text, value) if value is not MISSING else "",
        variable=text,
        why="JAX removed the method in version 0.4.27; `.device` is the device itself now, and was called.",
        fixes=[scene.fix("Leave out the parentheses.", scene.source.replace(call, scene.quote(call.func)))],
        link=_CHANGES,
    )


@explains(error_texts.NO_OPTION)
def removed_option(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Explain `jax.config.update("jax_array", True)`."""
    name, statement = match[1], scene.spot.statement
    since = OPTION_REMOVALS.get(name)
    if since is None or not isinstance(statement, ast.Expr) or statement.value is not scene.call():
        return None
    return scene.explanation(
        "removed_option",
        title=f"JAX no longer has the option `{name}`",
        variable=name,
        why=_why(Removal(since)),
        fixes=[scene.fix("Delete the line.", scene.source.remove_statement(statement))],
        link=_CHANGES,
    )


def _uses(scene: Scene, bound: dict[str, str]) -> dict[str, list[ast.Call]]:
    """Return the removed names that a file reads of what it imports, in order, with their calls.

    Args:
        scene: the error.
        bound: the names in the file of what was imported, with their full names.
    """
    found: dict[str, list[ast.Call]] = {name: [] for name in bound.values() if name.rpartition(".")[0] in REMOVALS}
    nodes = (node for node in ast.walk(scene.source.tree) if isinstance(node, ast.Name | ast.Attribute))
    for node in sorted(nodes, key=scene.source.start):
        first, _dot, rest = dotted(node).rpartition(".")
        whole = bound.get(dotted(node)) or (f"{bound[first]}.{rest}" if first in bound else "")
        if whole in REMOVALS and whole.rpartition(".")[0] in REMOVALS:
            call = scene.source.parents.get(node)
            found.setdefault(whole, [])
            found[whole] += [call] if isinstance(call, ast.Call) and call.func is node else []
    return found


def _instead(scene: Scene, uses: dict[str, list[ast.Call]]) -> list[Fix]:
    """Return what to write for what a file uses of a module that is gone."""
    said: list[str] = []
    for name, calls in uses.items():
        last, removal = name.rpartition(".")[2], REMOVALS.get(name, Removal())
        if name == f"{_HOST_CALLBACK}.id_tap":
            words = (
                "In place of `id_tap(f, x)`: `jax.debug.callback(f, x)`. It calls `f(x)`, without `transforms`, and "
                "returns None where `id_tap` returned `x` or its `result`."
            )
        elif name == f"{_HOST_CALLBACK}.id_print":
            words = (
                'In place of `id_print(x)`: `jax.debug.print("{}", x)`. It returns None where `id_print` returned `x` '
                "or its `result`."
            )
        elif name == f"{_HOST_CALLBACK}.call":
            words = _call_words(calls)
        elif removal.code or removal.new:
            words = f"In place of `{last}`: `{removal.code or removal.new}`."
        else:
            continue
        said.append(words)
    return [scene.advice(words) for words in said]


def _call_words(calls: list[ast.Call]) -> str:
    """Return what to write for `host_callback.call`, by whether its calls ask for a result."""
    shapes = {any(keyword.arg in ("result_shape", None) for keyword in call.keywords) for call in calls}
    result = (
        "For `call(f, x, result_shape=s)`: `jax.pure_callback(f, s, x)` if `f` only computes its result (JAX may skip "
        "or repeat it), and `jax.experimental.io_callback(f, s, x)` if it does anything else."
    )
    acts = (
        "For `call(f, x)`: `jax.debug.callback(f, x)` if `f` only reports, and `jax.experimental.io_callback(f, None, "
        "x)` if the program relies on what it does."
    )
    return result if shapes == {True} else acts if shapes == {False} else f"{result} {acts}"


def _host_callbacks() -> str:
    return (
        "`jax.debug.callback` reports and returns nothing; `jax.pure_callback` returns the result of a function that "
        "only computes; `jax.experimental.io_callback` calls one that does anything else, and may return a result."
    )


def _explained(
    scene: Scene, said: str, name: str, removal: Removal, fix: Fix | None, uses: dict[str, list[ast.Call]]
) -> Explanation | None:
    fixes: list[Fix | None] = [fix]
    known = _instead(scene, uses) if fix is None else []
    if known:
        fixes = list(known)
    elif fix is None and name == _HOST_CALLBACK:
        fixes = [scene.advice(_host_callbacks())]
    elif fix is None and removal.code:
        fixes = [scene.advice(f"JAX has `{removal.code}` for this now.")]
    elif fix is None and removal.new:
        fixes = [scene.advice(f"JAX has `{removal.new}` for this now.")]
    elif fix is None and removal.needless:
        fixes = [scene.advice("Leave it out: JAX does not need it any more.")]
    elif fix is None and removal.since:
        words = "JAX has nothing in its place. Do without it, or install an older JAX: `pip install 'jax<{since}'`."
        fixes = [scene.advice(words.format(since=removal.since))]
    elif fix is None:
        fixes = [scene.advice("JAX's change log says when it went, and why.")]
    return scene.explanation(
        "removed_name",
        title=f"JAX no longer has `{name}`",
        variable=said,
        why=_why(removal),
        fixes=fixes,
        link=_CHANGES,
    )


def _why(removal: Removal) -> str:
    if removal.since:
        return f"JAX removed it in version {removal.since}; version {jax.__version__} is installed."
    return f"Older versions had it; version {jax.__version__}, which is installed, does not."


def _renamed(scene: Scene, removal: Removal, edits: list[Edit]) -> Fix | None:
    if not edits:
        return None
    words = "Write `{name}` in its place."
    if removal.extra:
        words = "Write `{name}`, with `{extra}`, in its place."
    name = removal.new if isinstance(scene.node, ast.Import | ast.ImportFrom) else spelled(scene, removal.new).text
    return scene.fix(words.format(name=name, extra=removal.extra), *edits)


def _full_name(module: ModuleType, node: ast.Attribute, whole: ast.Attribute) -> str:
    return f"{module.__name__}.{node.attr}{dotted(whole).removeprefix(dotted(node))}"


def _index_fix(scene: Scene, functions: list[ast.Attribute], name: str) -> Fix | None:
    """Return the fix for `jax.ops.index_update(x, i, y)`, wherever it is called in the file."""
    if name not in _INDEX_METHODS:
        return None
    text = dotted(functions[0])
    calls = [call for call in scene.source.calls() if dotted(call.func) == text]
    edits = _index_edits(scene, [(call, _INDEX_METHODS[name]) for call in calls], f"{text.rpartition('.')[0]}.index")
    return scene.fix(_at_words(), *edits) if edits else None


def _index_import(scene: Scene, statement: ast.Import | ast.ImportFrom) -> Fix | None:
    """Return the fix for `from jax.ops import index, index_update`, with all calls."""
    if not isinstance(statement, ast.ImportFrom) or statement.module != "jax.ops":
        return None
    bound = {alias.asname or alias.name: alias.name for alias in statement.names}
    kept = [name for name, old in bound.items() if old not in _INDEX_METHODS and old != "index"]
    index = next((name for name, old in bound.items() if old == "index"), "")
    calls = [
        (call, _INDEX_METHODS[bound[call.func.id]])
        for call in scene.source.calls()
        if isinstance(call.func, ast.Name) and bound.get(call.func.id) in _INDEX_METHODS
    ]
    edits = _index_edits(scene, calls, index)
    if not edits or kept:
        return None
    return scene.fix(_at_words(), scene.source.remove_statement(statement), *edits)


def _at_words() -> str:
    return "Write `.at[...]`, which returns the changed array as the function did."


def _index_edits(scene: Scene, calls: list[tuple[ast.Call, str]], index: str) -> list[Edit]:
    edits, nodes = [], [call for call, _method in calls]
    for call, method in calls:
        inner = [one for argument in call.args for one in ast.walk(argument)]
        if len(call.args) != 3 or call.keywords or any(one in nodes for one in inner):
            return []
        array, place, value = call.args
        if isinstance(place, ast.Subscript) and dotted(place.value) == index:
            where = scene.quote(place.slice)
        else:
            where = scene.quote(place)
        edits.append(scene.source.replace(call, f"{scene.atom(array)}.at[{where}].{method}({scene.quote(value)})"))
    return edits


def _is_used(scene: Scene, statement: ast.Import | ast.ImportFrom) -> bool:
    bound = {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    return any(isinstance(node, ast.Name) and node.id in bound for node in ast.walk(scene.source.tree))


def _said_name(match: re.Match[str]) -> str:
    """Return the dotted name in JAX's or Python's message."""
    groups = match.groupdict()
    module, name = groups.get("module") or "", groups.get("name") or ""
    return f"{module}.{name}".strip(".")


def _is_of_spot(scene: Scene) -> bool:
    """Return whether the student's own line failed, not a library that it called or imported."""
    last = _last_outside_jax(scene.error.__traceback__)
    return last is not None and last.tb_frame is scene.spot.frame


def _last_outside_jax(traceback: TracebackType | None) -> TracebackType | None:
    last = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith("<frozen ") and not in_jax(code):
            last = traceback
        traceback = traceback.tb_next
    return last


def _library(scene: Scene, name: str) -> Explanation | None:
    """Explain a library that uses what JAX no longer has."""
    last = _last_outside_jax(scene.error.__traceback__)
    removal = removal_of(name)
    if last is None or removal is None or not is_library(last.tb_frame.f_code.co_filename):
        return None
    package = str(last.tb_frame.f_globals.get("__name__", "")).split(".")[0]
    if not package or package in ("jax", "jaxlib", "jaxguide"):
        return None
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    return scene.explanation(
        "library_for_older_jax",
        title=f"`{package}` {version} was written for an older JAX",
        what=f"It uses `{name}`.",
        variable=package,
        why=_why(removal),
        fixes=[scene.advice(f"Install a newer `{package}`, or a JAX that still has the name.")],
        link=_CHANGES,
    )
