"""Explain names that JAX no longer has, in the student's code or in a library that was written for an older JAX."""

import ast
import importlib.metadata
from functools import partial

import jax

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat.removals import ARRAY_REMOVALS, OPTION_REMOVALS, REMOVALS, Removal
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import imported, removal_of, renamed_attribute, renamed_import, spelled

_MISSING = (texts.NO_MODULE_NAME, texts.DEPRECATED_NAME, texts.NO_IMPORT, texts.NO_MODULE)


def _said(facts: Facts) -> str:
    """Say the dotted name in JAX's or Python's message."""
    return f"{facts.found.groupdict().get('module', '')}.{facts['name']}".strip(".")


def _gone(facts: Facts) -> tuple[ast.AST, str] | None:
    """Find the longest removed name: `jax.experimental.maps.xmap` fails at `maps`, an import at the module."""
    node, name, found = facts.scene.node, _said(facts), None
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = imported(node)
        names += [one.rpartition(".")[0] for one in names]
        return next(((node, one) for one in names if removal_of(one) is not None), None)
    while isinstance(node, ast.Attribute):
        if removal_of(name) is not None and (found is None or name in REMOVALS):
            found = node, name
        node = facts.scene.source.parents[node]
        name += f".{getattr(node, 'attr', '')}"
    return found


def _new_name(facts: Facts) -> Fix | None:
    """Make the fix that writes the new name, wherever the file has the old one."""
    scene, node, new = facts.scene, facts["gone"][0], facts["removal"].new
    if not new:
        return None
    if isinstance(node, ast.Attribute):
        return scene.fix(f"Write `{spelled(scene, new)}` in its place.", *renamed_attribute(scene, node, new))
    return scene.fix(f"Write `{new}` in its place.", *renamed_import(scene, node))


def _of_module(facts: Facts) -> list[Fix]:
    """Say what to write for each name of a module that is gone and that the file calls."""
    home = facts["full"] if facts["full"] in REMOVALS else facts["full"].rpartition(".")[0]
    names = dict.fromkeys(dotted(call.func).split(".")[-1] for call in facts.scene.source.calls())
    new = {name: REMOVALS.get(f"{home}.{name}", Removal()) for name in names if home in REMOVALS}
    codes = {name: one.code or one.new for name, one in new.items()}
    return [facts.scene.advice(f"In place of `{name}`: `{code}`.") for name, code in codes.items() if code]


_gone_entry = partial(
    entry,
    since=lambda facts: facts["removal"].since or None,
    installed=lambda facts: jax.__version__,
    why=(
        "JAX removed it in version {since}; version {installed} is installed.",
        "Older versions had it; version {installed}, which is installed, does not.",
    ),
    link="https://docs.jax.dev/en/latest/changelog.html",
)
_gone_entry(
    "removed_name",
    *_MISSING,
    x=probes.node,
    gone=_gone,
    full=lambda facts: facts["gone"][1],
    removal=lambda facts: removal_of(facts["full"]),
    said=lambda facts: dotted(facts["gone"][0]) or facts["full"],
    when=[probes.unless(probes.in_library), probes.knows("removal")],
    variable="{said}",
    title="JAX no longer has `{full}`",
    what="",
    fixes=lambda facts: _new_name(facts) or _of_module(facts),
    instead=lambda facts: facts["removal"].code or facts["removal"].new or None,
    otherwise=Either(
        "JAX has `{instead}` for this now.",
        Words("Leave it out: JAX does not need it any more.", when=lambda facts: facts["removal"].needless),
        "JAX has nothing in its place. Do without it, or install an older JAX: `pip install 'jax<{since}'`.",
        "JAX's change log says when it went, and why.",
    ),
)


def _version(facts: Facts) -> str | None:
    try:
        return importlib.metadata.version(facts["library"])
    except importlib.metadata.PackageNotFoundError:
        return None


_gone_entry(
    "library_for_older_jax",
    *_MISSING,
    x=probes.node,
    version=_version,
    full=_said,
    removal=lambda facts: removal_of(facts["full"]),
    when=[probes.in_library, probes.knows("removal")],
    variable="{library}",
    title="`{library}` {version} was written for an older JAX",
    what="It uses `{full}`.",
    fixes="Install a newer `{library}`, or a JAX that still has the name.",
)


def _written(facts: Facts) -> str | None:
    """Say what to write for an attribute that arrays once had, if it is used as it was."""
    template = ARRAY_REMOVALS[facts["node"].name][1]
    was_called = "{given}" in template or facts["node"].name == "to_py"
    return facts.say(template) if was_called == (facts.knows("f") and probes.is_called(facts)) else None


_gone_entry(
    "removed_array_attribute",
    texts.NO_METHOD,
    texts.DEPRECATED_ATTRIBUTE,
    x=probes.holder,
    removal=lambda facts: Removal(ARRAY_REMOVALS[facts["node"].name][0]),
    when=lambda facts: facts["node"].name in ARRAY_REMOVALS and not hasattr(jax.Array, facts["node"].name),
    written=_written,
    title="JAX's arrays no longer have `.{node.name}`",
    fixes=Either(
        Words(
            "`{jnp}.split({x}, n)` makes n equal parts, as in NumPy; in PyTorch, n is the size of each part.",
            when=lambda facts: facts["node"].name == "split",
        ),
        Swap("Write this instead.", when=probes.is_called, call="{written}"),
        Swap("Write this instead.", node="{written}"),
    ),
)
_gone_entry(
    "device_called",
    texts.DEVICE_CALLED,
    x=probes.owner,
    when=[probes.calls("device"), lambda facts: is_array(facts.value("x")) and not facts.call().args],
    removal=lambda facts: Removal("0.4.27"),
    title="`.device` of an array is not a method any more",
    why="JAX removed the method in version 0.4.27; `.device` is the device itself now, and was called.",
    fixes=Swap("Leave out the parentheses.", call="{f}"),
)
_gone_entry(
    "removed_option",
    texts.NO_OPTION,
    x=probes.call,
    when=[probes.is_statement, lambda facts: facts["g1"] in OPTION_REMOVALS],
    removal=lambda facts: Removal(OPTION_REMOVALS[facts["g1"]]),
    variable="{g1}",
    title="JAX no longer has the option `{g1}`",
    what="",
    fixes=Swap("Delete the line.", or_say=True, statement=""),
)
