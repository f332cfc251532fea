"""Explain arguments that a function of JAX does not take: renamed, PyTorch's, or NumPy's `out`."""

import inspect
import re
from functools import partial
from typing import Any

import jax

from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import ARGUMENTS, ARGUMENTS_OF_SOME
from jaxguide.compat.removals import KEYWORD_REMOVALS
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, entry
from jaxguide.explain.known_facts import Facts

_LEFT_OUT = ("out", "requires_grad")
# How the values or the indices are taken from PyTorch's result.
_TAKEN = re.compile(r"\)(\[[01]\]|\.(values|indices)\b)|^\w+, *\w+ = ")


def _of_jax(facts: Facts) -> Any:
    """Find the function of JAX that is called, also a method of an array, which may be computed in the same line."""
    value, name = facts.value("f"), facts["f"].name
    is_array = facts.scene.message.startswith(f"_{name}()") or isinstance(facts.value("base"), jax.Array)
    if value is MISSING and is_array:
        value = getattr(jax.Array, name, None)
    return value if str(getattr(value, "__module__", "")).startswith("jax.") else None


def _new_name(facts: Facts, old: str | None) -> str | None:
    """Find what an argument is called, '' if it can be left out."""
    declared, given = inspect.signature(facts["function"]).parameters, {one.arg for one in facts.call().keywords}
    removed = {old: new for (name, old), new in KEYWORD_REMOVALS.items() if name.endswith(f".{facts['f'].name}")}
    names = ARGUMENTS_OF_SOME.get(str(old)) or [ARGUMENTS.get(str(old), "" if old in _LEFT_OUT else None)]
    names = [removed[old]] if old in removed else [old] if old in declared else names
    return next((one for one in names if one in ("", old) or one in {*declared} - given), None)


def _renamed(facts: Facts) -> str | None:
    """Say all arguments with the names that the function has; None if one is not known."""
    declared = inspect.signature(facts["function"]).parameters
    if facts["g2"] in declared or any(one.kind is one.VAR_KEYWORD for one in declared.values()):
        return None  # it hands on the others
    new = {one: _new_name(facts, one.arg) for one in facts.call().keywords}
    said = [facts.scene.quote(one) for one in facts.call().args]
    said += [f"{name}={facts.scene.quote(one.value)}" for one, name in new.items() if name]
    return ", ".join(said) if None not in new.values() else None


_JAX = probes.knows("function")
_entry = partial(
    entry,
    base=lambda facts: getattr(facts.node("f"), "value", None),
    function=_of_jax,
    when=_JAX,
    home=lambda facts: getattr(facts.value("base"), "__name__", "jax.numpy"),
    renamed=_renamed,
    variable="{argument}",
    argument=lambda facts: facts["g2"],
    title="`{f}` has no argument `{argument}`",
    what="",
    why="JAX's function does not take `{argument}`, whatever other libraries or older versions do.",
    link=f"{texts.API}/{{home}}.{{f.name}}.html",
)
_entry(
    "values_and_indices",
    texts.NO_ARGUMENT,
    x=probes.fact("base"),
    other=lambda facts: {"max": "argmax", "min": "argmin", "sort": "argsort"}.get(facts["f"].name),
    when=[_JAX, lambda facts: facts["g2"] == "dim" and bool(_TAKEN.search(str(facts["statement"])))],
    title="`{f}` has no argument `dim`, and returns no indices",
    why="As in NumPy, it returns the values alone, and `{other}` finds where they are.",
    fixes="Write `{f}({renamed})` for the values, and `{x.atom}.{other}({renamed})` for the places.",
)
_entry(
    "out_argument",
    texts.NO_ARGUMENT,
    texts.NO_OUT,
    x=probes.keyword("out"),
    variable="{x}",
    title="`{f}` cannot write into an array",
    what=("{x.is_here}", ""),
    why="JAX arrays never change: every function returns a new array, so there is no `out`.",
    fixes=Swap("Keep what it returns.", when=probes.is_statement, call="{x} = {f}({others})"),
    otherwise="Leave it out, and use what the function returns.",
)
_entry(
    "unknown_argument",
    texts.NO_ARGUMENT,
    x=probes.call,
    shape=probes.keyword("shape"),
    new=lambda facts: _new_name(facts, facts["g2"]) or None,
    fixes=Either(
        Swap("Give it without a name.", lambda facts: facts["f"].name == "reshape", call="{f}({shape})"),
        Swap("The argument is called `{new}`.", call="{f}({renamed})"),
        Swap("Leave it out.", call="{f}({renamed})"),
    ),
)
_entry(
    "unknown_argument",
    texts.NO_KIND,
    x=probes.keyword("kind"),
    argument=probes.words("kind"),
    fixes=Swap("Leave it out: equal entries keep their order.", call="{f}({others})"),
)
