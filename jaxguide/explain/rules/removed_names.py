"""Explain names that JAX no longer has, in the student's code or in a library that was written for an older JAX."""

import ast
import importlib.metadata
from types import ModuleType, TracebackType
from typing import Any

import jax

from jaxguide.code.frames import is_library
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat import in_jax
from jaxguide.compat.removals import ARRAY_REMOVALS, OPTION_REMOVALS, REMOVALS, Removal
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import removal_of, renamed_attribute, renamed_import, spelled

_MISSING = (texts.NO_MODULE_NAME, texts.DEPRECATED_NAME, texts.NO_IMPORT, texts.NO_MODULE)


# Where the name is written.


def _last_outside_jax(facts: Facts) -> TracebackType | None:
    """Find the last frame that is not JAX's own."""
    last, traceback = None, facts.scene.error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith("<frozen ") and not in_jax(code):
            last = traceback
        traceback = traceback.tb_next
    return last


def _is_own(facts: Facts) -> bool:
    """Ask whether the student's own line failed, not a library that it called or imported."""
    last = _last_outside_jax(facts)
    return last is not None and last.tb_frame is facts.scene.spot.frame


def _said(facts: Facts) -> str:
    """Say the dotted name in JAX's or Python's message."""
    groups = facts.found.groupdict()
    return f"{groups.get('module') or ''}.{groups.get('name') or ''}".strip(".")


def _whole(facts: Facts) -> tuple[ast.Attribute, str] | None:
    """Find the longest removed name around the attribute: `jax.experimental.maps.xmap` fails at `maps`."""
    node, found = facts.scene.node, None
    home = facts.scene.spot.value(node.value) if isinstance(node, ast.Attribute) else None
    name = home.__name__ if isinstance(home, ModuleType) else ""
    while isinstance(node, ast.Attribute) and name:
        name = f"{name}.{node.attr}"
        if removal_of(name) is not None and (found is None or name in REMOVALS):
            found = node, name
        node = facts.scene.source.parents[node]
    return found


def _imported(facts: Facts) -> list[str]:
    """Say the full names that the failing statement imports."""
    statement = facts.scene.node
    if isinstance(statement, ast.ImportFrom):
        return [f"{statement.module}.{alias.name}" for alias in statement.names if not statement.level]
    return [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []


def _removed_name(facts: Facts) -> str | None:
    """Say the full name that JAX removed, of an attribute or an import, or else the module that is gone."""
    if facts.knows("whole"):
        return str(facts["whole"][1])
    names = [*_imported(facts), *(name.rpartition(".")[0] for name in _imported(facts))]
    return next((name for name in names if removal_of(name) is not None), None)


# What became of it.


def _new_name(facts: Facts) -> Fix | None:
    """Make the fix that writes the new name, wherever the file has the old one."""
    scene, removal = facts.scene, facts["removal"]
    if not removal.new:
        return None
    if facts.knows("whole"):
        edits, name = renamed_attribute(scene, facts["whole"][0], removal.new), spelled(scene, removal.new)
    else:
        edits, name = renamed_import(scene, facts.node("node")), removal.new
    return scene.fix(f"Write `{name}` in its place.", *edits) if edits else None


def _without_import(facts: Facts) -> Fix | None:
    """Make the fix that deletes an import that JAX does not need any more, and that nothing uses."""
    statement: Any = facts.scene.node
    bound = {(alias.asname or alias.name).split(".")[0] for alias in getattr(statement, "names", [])}
    used = {node.id for node in ast.walk(facts.scene.source.tree) if isinstance(node, ast.Name)}
    if not facts["removal"].needless or len(bound) != 1 or bound & used:
        return None
    words = "Delete the import: JAX does this by itself."
    return facts.scene.fix(words, facts.scene.source.remove_statement(statement))


_HOST_CALLBACK = "jax.experimental.host_callback"
_HOST_CALLS = {
    True: "For `call(f, x, result_shape=s)`: `jax.pure_callback(f, s, x)` if `f` only computes its result (JAX may "
    "skip or repeat it), and `jax.experimental.io_callback(f, s, x)` if it does anything else.",
    False: "For `call(f, x)`: `jax.debug.callback(f, x)` if `f` only reports, and "
    "`jax.experimental.io_callback(f, None, x)` if the program relies on what it does.",
}
_RETURNS = {
    "id_tap": " It calls `f(x)`, without `transforms`, and returns None where `id_tap` returned `x` or its `result`.",
    "id_print": " It returns None where `id_print` returned `x` or its `result`.",
}


def _of_module(facts: Facts) -> list[str]:
    """Say what to write for each name of a module that is gone and that the file calls."""
    calls = {dotted(call.func).split(".")[-1]: call for call in facts.scene.source.calls()}
    home = facts["full"] if facts["full"] in REMOVALS else facts["full"].rpartition(".")[0]
    said = []
    for last, call in calls.items():
        removal = REMOVALS.get(f"{home}.{last}", Removal())
        if (home, last) == (_HOST_CALLBACK, "call"):
            said.append(_HOST_CALLS[any(one.arg == "result_shape" for one in call.keywords)])
        elif (removal.code or removal.new) and home in REMOVALS:
            said.append(f"In place of `{last}`: `{removal.code or removal.new}`.{_RETURNS.get(last, '')}")
    return said


_GONE: dict[str, Any] = {
    "since": lambda facts: facts["removal"].since or None,
    "installed": lambda facts: jax.__version__,
    "why": (
        "JAX removed it in version {since}; version {installed} is installed.",
        "Older versions had it; version {installed}, which is installed, does not.",
    ),
    "link": "https://docs.jax.dev/en/latest/changelog.html",
}
entry(
    "removed_name",
    *_MISSING,
    x=probes.node,
    whole=_whole,
    full=_removed_name,
    removal=lambda facts: removal_of(facts["full"]),
    said=lambda facts: dotted(facts["whole"][0]) if facts.knows("whole") else facts["full"],
    when=_is_own,
    variable="{said}",
    title="JAX no longer has `{full}`",
    what="",
    fixes=Either(_new_name, _without_import),
    of_module=lambda facts: _of_module(facts) or None,
    instead=lambda facts: facts["removal"].code or facts["removal"].new or None,
    otherwise=[
        lambda facts: [facts.scene.advice(one) for one in facts["of_module"]],
        Either(
            Words(
                "`jax.debug.callback` reports and returns nothing; `jax.pure_callback` returns the result of a "
                "function that only computes; `jax.experimental.io_callback` calls one that does anything else, and "
                "may return a result.",
                when=lambda facts: facts["full"] == _HOST_CALLBACK,
            ),
            "JAX has `{instead}` for this now.",
            Words("Leave it out: JAX does not need it any more.", when=lambda facts: facts["removal"].needless),
            "JAX has nothing in its place. Do without it, or install an older JAX: `pip install 'jax<{since}'`.",
            "JAX's change log says when it went, and why.",
            when=probes.unless(probes.knows("of_module")),
        ),
    ],
    **_GONE,
)


def _library(facts: Facts) -> str | None:
    """Say the installed library whose line failed."""
    last = _last_outside_jax(facts)
    if last is None or not is_library(last.tb_frame.f_code.co_filename):
        return None
    package = str(last.tb_frame.f_globals.get("__name__", "")).split(".")[0]
    return package if package not in ("", "jax", "jaxlib", "jaxguide") else None


def _version(facts: Facts) -> str | None:
    try:
        return importlib.metadata.version(facts["package"])
    except importlib.metadata.PackageNotFoundError:
        return None


entry(
    "library_for_older_jax",
    *_MISSING,
    x=probes.node,
    package=_library,
    version=_version,
    full=_said,
    removal=lambda facts: removal_of(facts["full"]),
    when=[probes.unless(_is_own), probes.knows("removal")],
    variable="{package}",
    title="`{package}` {version} was written for an older JAX",
    what="It uses `{full}`.",
    fixes="Install a newer `{package}`, or a JAX that still has the name.",
    **_GONE,
)


# Attributes of arrays, and options.


def _written(facts: Facts) -> str | None:
    """Say what to write for an attribute that arrays once had, if it is used as it was."""
    name = facts["node"].name
    template = ARRAY_REMOVALS[name][1]
    was_called = "{given}" in template or name == "to_py"
    return facts.say(template) if was_called == (facts.knows("f") and probes.is_called(facts)) else None


_ATTRIBUTE: dict[str, Any] = {
    "x": probes.holder,
    "removal": lambda facts: Removal(ARRAY_REMOVALS[facts["node"].name][0]),
    "title": "JAX's arrays no longer have `.{node.name}`",
    **_GONE,
}


def _splits_evenly(facts: Facts) -> bool:
    """Ask whether the axis is as long as so many equal parts; not if PyTorch's `dim` says which axis it is."""
    named = any(one.arg == "dim" for one in facts.call().keywords)
    return not named and facts["x"].shape[int(facts["axis_said"])] % facts["number"].value == 0


entry(
    "removed_array_attribute",
    texts.NO_METHOD,
    number=probes.argument(0),
    axis=probes.one_of(probes.argument(1), probes.keyword("axis", "dim")),
    axis_said=lambda facts: str(facts["axis"]) if facts.knows("axis") else "0",
    when=[probes.calls("split"), probes.is_called, probes.is_valued("number", int)],
    fixes=[
        Swap(
            "For {number} parts, as in NumPy.",
            when=_splits_evenly,
            call="{jnp}.split({x}, {number}, axis={axis_said})",
        ),
        Swap(
            "For parts of {number} entries, as in PyTorch.",
            call="{jnp}.split({x}, list(range({number}, {x.atom}.shape[{axis_said}], {number})), axis={axis_said})",
        ),
    ],
    **_ATTRIBUTE,
)
entry(
    "removed_array_attribute",
    texts.NO_METHOD,
    texts.DEPRECATED_ATTRIBUTE,
    when=lambda facts: facts["node"].name in ARRAY_REMOVALS and not hasattr(jax.Array, facts["node"].name),
    written=_written,
    function=lambda facts: facts["written"].partition("(")[0],
    fixes=Either(
        Swap("Write `{function}` in its place.", when=probes.is_called, call="{written}"),
        Swap("Write this instead.", node="{written}"),
    ),
    **_ATTRIBUTE,
)
entry(
    "device_called",
    texts.DEVICE_CALLED,
    x=probes.owner,
    when=[probes.calls("device"), lambda facts: not facts.call().args],
    array=probes.first(is_array, of="x"),
    removal=lambda facts: Removal("0.4.27"),
    title="`.device` of an array is not a method any more",
    why="JAX removed the method in version 0.4.27; `.device` is the device itself now, and was called.",
    fixes=Swap("Leave out the parentheses.", when=probes.knows("array"), call="{f}"),
    link=_GONE["link"],
)


def _without_option(facts: Facts) -> Fix | None:
    """Make the fix that deletes the line of an option."""
    edit = facts.scene.source.remove_statement(facts.node("statement"))
    return facts.scene.fix("Delete the line.", edit) if probes.is_statement(facts) else None


entry(
    "removed_option",
    texts.NO_OPTION,
    x=probes.call,
    when=lambda facts: facts["g1"] in OPTION_REMOVALS,
    removal=lambda facts: Removal(OPTION_REMOVALS[facts["g1"]]),
    variable="{g1}",
    title="JAX no longer has the option `{g1}`",
    what="",
    fixes=_without_option,
    **_GONE,
)
