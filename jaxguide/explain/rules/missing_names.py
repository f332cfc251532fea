"""Explain names that a module of JAX never had: misspelled, of NumPy alone, of another library, of another module."""

import ast
import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.base.did_you_mean import suggestion
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import INSTEAD, NAMES
from jaxguide.compat.removals import REMOVALS
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import renamed_attribute, resolved, spelled

# Modules in which a name is looked up that another module lacks; those in one group have the same functions.
_GROUPS = (
    ("jax",),
    ("jax.numpy",),
    ("jax.nn", "jax.scipy.special"),
    ("jax.lax",),
    ("jax.numpy.linalg", "jax.scipy.linalg"),
    ("jax.numpy.fft",),
    ("jax.tree",),
)


def _places(facts: Facts) -> Iterator[str]:
    """Yield the dotted names of functions with this name in other modules, one of each group."""
    for group in _GROUPS:
        for home in group:
            value = resolved(f"{home}.{facts['name']}") if home != facts["module"] else MISSING
            # What `jax.lax` shares with these modules accepts more there.
            shared = any(hasattr(module, facts["name"]) for module in (jnp, jax.nn, jax.scipy.special))
            if value is not MISSING and callable(value) and not (home == "jax.lax" and shared):
                yield f"{home}.{facts['name']}"
                break


def _same(facts: Facts) -> str | None:
    """Say which name of JAX does the same when it is called in the same way."""
    outer = facts.scene.source.parents.get(facts.scene.node)
    if facts["name"] == "Tensor" and isinstance(outer, ast.Call) and outer.func is facts.scene.node:
        return "jax.numpy.array"  # the class cannot be called
    if facts["name"] in NAMES and facts["module"] in ("jax.numpy", "jax", "jax.nn"):
        return NAMES[facts["name"]]
    places = list(_places(facts))
    return places[0] if len(places) == 1 else None


def _of_other(facts: Facts) -> Any:
    """Find what NumPy or SciPy has under the name, in the module that JAX's stands for."""
    home = facts["module"].removeprefix("jax.")
    try:
        module = importlib.import_module(home)
    except ImportError:
        return None
    return getattr(module, facts["name"], None) if facts["module"].startswith(("jax.numpy", "jax.scipy.")) else None


def _close(facts: Facts) -> list[str] | None:
    """Find the names of the module that differ by one slip; none for very short names."""
    names = [one for one in dir(facts["home"].value) if not one.startswith("_") and _one_slip(facts["name"], one)]
    return names if 0 < len(names) <= 3 and len(facts["name"]) > 2 else None


def _one_slip(name: str, other: str) -> bool:
    """Return whether two names differ by one letter, or by two swapped ones."""
    if abs(len(name) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(name), len(other)) and name[start] == other[start]:
        start += 1
    rest, more = name[start:], other[start:]
    swapped = len(rest) >= 2 and len(more) >= 2 and rest[:2] == more[1::-1] and rest[2:] == more[2:]
    return rest[1:] == more[1:] or rest[1:] == more or rest == more[1:] or swapped


def _computes(facts: Facts) -> bool:
    """Ask whether the function of NumPy is given an array to compute with, and does not write files or settings."""
    writes = facts["name"].startswith(("save", "load", "set", "print", "from", "get", "gen"))
    return not writes and any(is_array(facts.scene.spot.value(one)) for one in facts.call().args)


def _is_missing(facts: Facts) -> bool:
    """Ask whether JAX lacks the name of the module that the message names, and never had it."""
    home, name, module = facts["module"], facts["name"], facts.value("home")
    said = isinstance(module, ModuleType) and module.__name__ == home and not name.startswith("_")
    # `jnp.random` is explained with the keys that it needs.
    is_known = f"{home}.{name}" in REMOVALS or (home, name) == ("jax.numpy", "random")
    return said and not is_known and resolved(f"{home}.{name}") is MISSING


def _everywhere(new: str) -> Any:
    """Make the fix that writes another name, a fact, wherever the file has this one."""

    def made(facts: Facts) -> Fix:
        edits = renamed_attribute(facts.scene, facts.node("node"), facts[new])
        sentence = f"Write `{spelled(facts.scene, facts[new])}`."
        return facts.scene.fix(sentence, *edits) or facts.scene.advice(sentence)

    return made


def _mask(facts: Facts) -> ast.expr | None:
    """Look at the mask of `putmask(x, mask, new)`."""
    return facts.call().args[1] if facts["name"] == "putmask" else None


_NAME: dict[str, Any] = {
    "x": probes.node,
    "home": probes.holder,
    "same": _same,
    "other": _of_other,
    "link": "https://docs.jax.dev/en/latest/jax.html",
}
_MISSING: dict[str, Any] = {"title": "`{module}` has no `{name}`", "what": "", **_NAME}
_ELSEWHERE = "Another library has it; JAX has it under another name."
entry(
    "module_not_imported",
    texts.NO_MODULE_NAME,
    when=lambda facts: isinstance(resolved(f"{facts['module']}.{facts['name']}"), ModuleType),
    title="`{module}.{name}` is not imported",
    what="",
    why="It is a module of its own, which `import jax` alone does not load.",
    fixes="Add `import {module}.{name}` at the top.",
    **_NAME,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: facts["name"] in ("int", "float", "complex")],
    why="NumPy had it as another name for Python's type, up to 1.23.",
    fixes=Swap("Write Python's type.", x="{name}"),
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: facts["name"] in ("str", "object")],
    why="JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else.",
    fixes="Keep what is not a number in Python or NumPy.",
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[
        _is_missing,
        probes.unless(probes.knows("same")),
        lambda facts: facts["name"] in INSTEAD and facts["module"] in ("jax.numpy", "jax"),
    ],
    why=("NumPy has it, and `{lacking}` does not.", "`{there}` has that name: it is in another module.", _ELSEWHERE),
    instead=lambda facts: INSTEAD[facts["name"]],
    lacking=lambda facts: facts["module"] if facts["other"] is not None else None,
    there=lambda facts: facts["instead"].partition("(")[0] if f".{facts['name']}(" in facts["instead"] else None,
    where=probes.one_of(probes.keyword("where"), _mask),
    array=probes.argument(0),
    new=lambda facts: facts.call().args[-1],
    fixes=Either(
        Swap("Choose between the new value and the old ones.", call="{array} = {jnp}.where({where}, {new}, {array})"),
        "JAX has `{instead}` for this.",
    ),
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, probes.knows("same")],
    why=("`{there}` has that name: it is in another module.", _ELSEWHERE),
    there=lambda facts: facts["same"] if facts["same"].endswith(f".{facts['name']}") else None,
    fixes=_everywhere("same"),
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=_is_missing,
    places=lambda facts: " and ".join(f"`{place}`" for place in _places(facts)) or None,
    why="Other modules have that name: {places}.",
    fixes="Write the one that you mean.",
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: facts["module"].startswith("jax.scipy") and callable(facts["other"])],
    why="SciPy has it, and JAX does not.",
    fixes=(
        "Call SciPy's outside of transformed functions; inside, the program can call it on the host: "
        "`jaxguide.callbacks.host_function`."
    ),
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: not isinstance(facts["other"], type)],
    inner=lambda facts: facts["module"].removeprefix("jax.numpy"),
    why="NumPy has it, and `{module}` does not.",
    fixes=Either(
        Swap(
            "Take NumPy's: it works on results, outside of transformed functions.",
            when=lambda facts: isinstance(facts["other"], ModuleType),
            x="{np}{inner}.{name}",
        ),
        Words(
            "Call NumPy's outside of transformed functions, on `{np}.asarray(x)`; inside, write it with functions "
            "of `{module}`.",
            when=_computes,
        ),
        "Call NumPy's, outside of transformed functions.",
    ),
    **_MISSING,
)
entry(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=_is_missing,
    close=_close,
    closest=lambda facts: f"{facts['module']}.{facts['close'][0]}" if len(facts["close"]) == 1 else None,
    asked=lambda facts: suggestion(facts["close"]).strip(),
    why="No name of that spelling is in this module.",
    fixes=Either(_everywhere("closest"), "{asked}"),
    **_MISSING,
)
