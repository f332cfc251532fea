"""Explain names that JAX does not have: removed, misspelled, of NumPy alone, of another library, of another module."""

import ast
from difflib import get_close_matches
from functools import partial
from types import ModuleType
from typing import Any

import jax

from jaxguide.base.did_you_mean import suggestion
from jaxguide.code.source import dotted
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import INSTEAD, NAMES
from jaxguide.compat.removals import ARRAY_REMOVALS, OPTION_REMOVALS, REMOVALS, Removal
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import (
    imported,
    removal_of,
    renamed_attribute,
    renamed_import,
    resolved,
    spelled,
)

# Where a name is looked up that another module lacks -> modules with the same functions, in a wider form.
_HOMES = {
    **dict.fromkeys(("jax", "jax.numpy", "jax.nn", "jax.numpy.linalg", "jax.numpy.fft", "jax.tree"), ()),
    "jax.scipy.linalg": ("jax.numpy.linalg",),
    "jax.scipy.special": ("jax.nn",),
    "jax.lax": ("jax.numpy", "jax.nn", "jax.scipy.special"),
}


def _places(facts: Facts) -> list[str]:
    """Find the functions with this name in other modules."""
    homes = {one for one in _HOMES if one != facts["module"] and callable(resolved(f"{one}.{facts['name']}"))}
    found = [home for home, wider in _HOMES.items() if home in homes and not homes & {*wider}]
    return [f"{home}.{facts['name']}" for home in found]


def _same(facts: Facts) -> str | None:
    """Say which name of JAX does the same when it is called in the same way."""
    if facts["name"] in NAMES and facts["module"] in ("jax.numpy", "jax", "jax.nn"):
        return NAMES[facts["name"]]
    close = [f"{facts['module']}.{one}" for one in facts["close"]]
    found = facts["places"] or ([] if facts.knows("other") else close)
    return found[0] if len(found) == 1 else None


def _other(facts: Facts) -> Any:
    """Find the function of NumPy or SciPy with this name; a type may be one that JAX's arrays cannot have."""
    found = resolved(f"{facts['module'].removeprefix('jax.')}.{facts['name']}")
    return None if isinstance(found, type) else found


def _close(facts: Facts) -> list[str]:
    """Find the names of the module that differ by one slip; none for very short names."""
    name = facts["name"]
    return get_close_matches(name, dir(facts["home"].value), cutoff=1 - 1.05 / len(name)) if len(name) > 2 else []


def _is_missing(facts: Facts) -> bool:
    """Ask whether JAX lacks the name of the module that the message names, and never had it."""
    full, module = f"{facts['module']}.{facts['name']}", facts.value("home")
    said = isinstance(module, ModuleType) and module.__name__ == facts["module"] and not facts["name"].startswith("_")
    # `jnp.random` is explained with the keys that it needs.
    return said and full not in REMOVALS and full != "jax.numpy.random" and resolved(full) is MISSING


def _renamed(facts: Facts) -> Fix:
    """Make the fix that writes the name that does the same, wherever the file has this one."""
    sentence = f"Write `{spelled(facts.scene, facts['same'])}`."
    edits = renamed_attribute(facts.scene, facts.node("node"), facts["same"])
    return facts.scene.fix(sentence, *edits) or facts.scene.advice(sentence)


_name = partial(
    entry,
    x=probes.node,
    home=probes.holder,
    places=_places,
    close=_close,
    other=_other,
    what="",
    link="https://docs.jax.dev/en/latest/jax.html",
)
_missing = partial(_name, title="`{module}` has no `{name}`")
_name(
    "module_not_imported",
    texts.NO_MODULE_NAME,
    when=lambda facts: isinstance(resolved(f"{facts['module']}.{facts['name']}"), ModuleType),
    title="`{module}.{name}` is not imported",
    why="It is a module of its own, which `import jax` alone does not load.",
    fixes="Add `import {module}.{name}` at the top.",
)
_missing(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: facts["name"] in ("int", "float", "complex", "str", "object")],
    number=lambda facts: facts["name"] if facts["name"] in ("int", "float", "complex") else None,
    why=(
        "NumPy had `{number}` as another name for Python's type, up to 1.23.",
        "JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else.",
    ),
    fixes=Either(Swap("Write Python's type.", x="{number}"), "Keep what is not a number in Python or NumPy."),
)
_missing(
    "missing_name",
    texts.NO_MODULE_NAME,
    same=_same,
    when=_is_missing,
    instead=lambda facts: facts["same"] if facts.knows("same") else facts["said_instead"],
    said_instead=lambda facts: INSTEAD.get(facts["name"]) if facts["module"] in ("jax.numpy", "jax") else None,
    there=lambda facts: name if (name := facts["instead"].partition("(")[0]).endswith(f".{facts['name']}") else None,
    named=lambda facts: " and ".join(f"`{place}`" for place in facts["places"]) if len(facts["places"]) > 1 else None,
    lacking=lambda facts: facts["module"] if facts.knows("other") else None,
    scipy=lambda facts: "SciPy" if facts["lacking"].startswith("jax.scipy") else None,
    another=lambda facts: "Another" if facts["instead"].split(".")[-1] not in facts["close"] else None,
    array=probes.argument(0),
    new=probes.argument(1),
    where=probes.keyword("where"),
    asked=lambda facts: suggestion(facts["close"]).strip() or None,
    why=(
        "`{there}` has that name: it is in another module.",
        "Other modules have that name: {named}.",
        "{scipy} has it, and JAX does not.",
        "NumPy has it, and `{lacking}` does not.",
        "{another} library has it; JAX has it under another name.",
        "No name of that spelling is in this module.",
    ),
    fixes=Either(
        _renamed,
        # Of `copyto(x, new, where=mask)`.
        Swap("Choose between the new value and the old ones.", call="{array} = {jnp}.where({where}, {new}, {array})"),
        "JAX has `{instead}` for this.",
        Words("Write the one that you mean.", when=probes.knows("named")),
        "Call {scipy}'s outside of transformed functions; inside, the program can call it on the host: "
        "`jaxguide.callbacks.host_function`.",
        Words("Call NumPy's, outside of transformed functions.", when=probes.knows("lacking")),
        "{asked}",
    ),
)


_MISSING = (texts.NO_MODULE_NAME, texts.DEPRECATED_NAME, texts.NO_IMPORT, texts.NO_MODULE)


def _said(facts: Facts) -> str:
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
    return [facts.scene.advice(f"In place of `{name}`, write `{code}`.") for name, code in codes.items() if code]


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
        "JAX has nothing in its place. Do without it, or install an older JAX: `pip install 'jax<{since}'`.",
        "JAX's change log says when it went, and why.",
    ),
)


_gone_entry(
    "library_for_older_jax",
    *_MISSING,
    x=probes.node,
    full=_said,
    removal=lambda facts: removal_of(facts["full"]),
    when=[probes.in_library, probes.knows("removal")],
    variable="{library}",
    title="`{library}` was written for an older JAX",
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
