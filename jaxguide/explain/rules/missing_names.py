"""Explain names that a module of JAX never had: misspelled, of NumPy alone, of another library, of another module."""

from difflib import get_close_matches
from functools import partial
from types import ModuleType

from jaxguide.base.did_you_mean import suggestion
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import INSTEAD, NAMES
from jaxguide.compat.removals import REMOVALS
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import renamed_attribute, resolved, spelled

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
    other=lambda facts: resolved(f"{facts['module'].removeprefix('jax.')}.{facts['name']}"),
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
    instead=lambda facts: facts["same"] if facts.knows("same") else INSTEAD.get(facts["name"]),
    when=[
        _is_missing,
        probes.knows("instead"),
        lambda facts: facts.knows("same") or facts["module"] in ("jax.numpy", "jax"),
    ],
    why=(
        "No name of {slip} is in this module.",
        "`{there}` has that name: it is in another module.",
        "NumPy has it, and `{lacking}` does not.",
        "Another library has it; JAX has it under another name.",
    ),
    slip=lambda facts: "that spelling" if facts["instead"].split(".")[-1] in facts["close"] else None,
    there=lambda facts: name if (name := facts["instead"].partition("(")[0]).endswith(f".{facts['name']}") else None,
    lacking=lambda facts: facts["module"] if facts.knows("other") else None,
    where=lambda facts: probes.argument(1)(facts) if facts["name"] == "putmask" else probes.keyword("where")(facts),
    array=probes.argument(0),
    new=lambda facts: facts.call().args[-1],
    fixes=Either(
        _renamed,
        # `copyto(x, new, where=mask)` and `putmask(x, mask, new)`.
        Swap("Choose between the new value and the old ones.", call="{array} = {jnp}.where({where}, {new}, {array})"),
        "JAX has `{instead}` for this.",
    ),
)
_missing(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: len(facts["places"]) > 1],
    why="Other modules have that name: {named}.",
    named=lambda facts: " and ".join(f"`{place}`" for place in facts["places"]),
    fixes="Write the one that you mean.",
)
_missing(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=[_is_missing, lambda facts: not isinstance(facts["other"], type)],
    scipy=lambda facts: "SciPy" if facts["module"].startswith("jax.scipy") else None,
    why=("{scipy} has it, and JAX does not.", "NumPy has it, and `{module}` does not."),
    fixes=Either(
        "Call {scipy}'s outside of transformed functions; inside, the program can call it on the host: "
        "`jaxguide.callbacks.host_function`.",
        "Call NumPy's, outside of transformed functions.",
    ),
)
_missing(
    "missing_name",
    texts.NO_MODULE_NAME,
    when=_is_missing,
    asked=lambda facts: suggestion(facts["close"]).strip() or None,
    why="No name of that spelling is in this module.",
    fixes="{asked}",
)
