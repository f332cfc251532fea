"""Explain arguments that a function of JAX does not take: renamed, PyTorch's, or NumPy's `out`."""

import ast
import inspect
from types import ModuleType
from typing import Any

import jax

from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts as texts
from jaxguide.compat import in_jax
from jaxguide.compat.other_libraries import ARGUMENTS, ARGUMENTS_OF_SOME
from jaxguide.compat.removals import KEYWORD_REMOVALS
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, entry
from jaxguide.explain.known_facts import Facts

# Functions that return values and indices in PyTorch if they are given `dim`, and what finds the indices in JAX.
_WITH_INDICES = {"max": "argmax", "min": "argmin", "sort": "argsort"}
_LEFT_OUT = ("out", "requires_grad")


def _of_jax(facts: Facts) -> Any:
    """Find the function of JAX that is called, also a method of an array."""
    value, owner = facts.value("f"), facts.value("owner")
    if value is MISSING and isinstance(owner, jax.Array):
        return getattr(owner, facts["f"].name, None)
    if value is MISSING:  # the array may be computed in the same line: the message has the name of the method
        is_method = facts.knows("owner") and facts.scene.message.startswith(f"_{facts['f'].name}()")
        return getattr(jax.Array, facts["f"].name, None) if is_method else None
    inner = inspect.unwrap(value) if callable(value) else None
    code = getattr(inner, "__code__", None)
    if code is not None:  # of a function with a derivative rule, for one: the user's own
        return value if in_jax(code) else None
    return value if type(value).__module__.startswith("jax.") and callable(value) else None


def _public_name(facts: Facts) -> str:
    """Say the dotted name of the called function, such as `jax.numpy.reshape`."""
    function, name = facts.node("f"), facts["f"].name
    if isinstance(function, ast.Attribute):
        base = facts.scene.spot.value(function.value)
        return f"{base.__name__}.{name}" if isinstance(base, ModuleType) else f"jax.Array.{name}"
    modules = (jax, jax.numpy, jax.nn, jax.lax, jax.random)
    found = [one.__name__ for one in modules if getattr(one, name, None) is facts.value("f")]
    return f"{found[0]}.{name}" if found else name


def _page(facts: Facts) -> str:
    page = facts["public"].replace("jax.Array.", "jax.numpy.")
    return f"{texts.API}/{page if page.startswith('jax.') else 'jax.Array'}.html"


def _new_name(facts: Facts, old: str, free: set[str]) -> str | None:
    """Find what an argument is called, '' if it can be left out."""
    known = KEYWORD_REMOVALS.get((facts["public"], old))
    if known is not None:
        return known if not known or known in free else None
    habits = ARGUMENTS_OF_SOME.get(old, (ARGUMENTS.get(old, ""),))
    return next((one for one in habits if one in free), "" if old in _LEFT_OUT else None)


def _renamed(facts: Facts) -> str | None:
    """Say all arguments with the names that the function has; None if one is not known."""
    declared = inspect.signature(facts["function"]).parameters
    given = {one.arg for one in facts.call().keywords}
    if facts["g2"] in declared or any(one.kind is one.VAR_KEYWORD for one in declared.values()) or None in given:
        return None  # it hands on the others
    said = [facts.scene.quote(one) for one in facts.call().args]
    for one in facts.call().keywords:
        old, value = one.arg or "", facts.scene.quote(one.value)
        new = old if old in declared else _new_name(facts, old, set(declared) - given)
        if new is None:
            return None
        said += [f"{new}={value}"] if new else []
    return ", ".join(said)


def _new_said(facts: Facts) -> str | None:
    """Say the new name of the argument that the message names."""
    return _new_name(facts, facts["g2"], set(inspect.signature(facts["function"]).parameters)) or None


def _indices_of(facts: Facts) -> str | None:
    """Say the method that finds the indices."""
    return _WITH_INDICES.get(facts["f"].name) if facts["g2"] == "dim" else None


def _takes_one(facts: Facts) -> bool:
    """Ask whether one of PyTorch's two results is taken: `x.max(dim=1)[0]` and `x.max(dim=1).indices`."""
    outer = facts.scene.source.parents.get(facts.call())
    by_number = isinstance(outer, ast.Subscript) and facts.scene.spot.value(outer.slice) in (0, 1)
    return by_number or getattr(outer, "attr", "") in ("values", "indices")


def _is_unpacked(facts: Facts) -> bool:
    """Ask whether the result is assigned to two names."""
    return facts.node("assigned") is facts.node("call") and len(getattr(facts.node("target"), "elts", ())) == 2


_KNOWN: dict[str, Any] = {"function": _of_jax, "public": _public_name, "page": _page}
_JAX = probes.knows("function")
entry(
    "values_and_indices",
    texts.NO_ARGUMENT,
    x=lambda facts: getattr(facts.node("f"), "value", None),
    when=[_JAX, probes.knows("other"), lambda facts: _takes_one(facts) or _is_unpacked(facts)],
    other=_indices_of,
    renamed=_renamed,
    variable="{g2}",
    link=f"{texts.API}/jax.numpy.{{other}}.html",
    title="`{f}` has no argument `dim`, and returns no indices",
    what="",
    why="As in NumPy, it returns the values alone, and `{other}` finds where they are.",
    fixes=Either(
        Swap("Call both, with `axis`.", when=_is_unpacked, call="{f}({renamed}), {x.atom}.{other}({renamed})"),
        "Write `{f}({renamed})` for the values, and `{x.atom}.{other}({renamed})` for the places.",
    ),
    **_KNOWN,
)
entry(
    "out_argument",
    texts.NO_ARGUMENT,
    texts.NO_OUT,
    x=probes.keyword("out"),
    when=_JAX,
    link="{page}",
    title="`{f}` cannot write into an array",
    why="JAX arrays never change: every function returns a new array, so there is no `out`.",
    fixes=Either(
        Swap(
            "Leave it out: the result is returned.",
            when=lambda facts: str(facts["target"]) == str(facts["x"]),
            call="{f}({others})",
        ),
        Swap(
            "Keep what it returns.",
            when=probes.is_statement,
            call="{x} = {f}({others})",
        ),
        "Leave it out, and use what the function returns.",
    ),
    **_KNOWN,
)
_UNKNOWN: dict[str, Any] = {
    "what": "",
    "title": "`{f}` has no argument `{argument}`",
    "why": "JAX's function does not take `{argument}`, whatever other libraries or older versions do.",
    "variable": "{argument}",
    "link": "{page}",
    **_KNOWN,
}
entry(
    "unknown_argument",
    texts.NO_ARGUMENT,
    x=probes.call,
    argument=lambda facts: facts["g2"],
    when=_JAX,
    shape=probes.keyword("shape"),
    renamed=_renamed,
    new=_new_said,
    fixes=Either(
        Swap(
            "Give it without a name.",
            when=lambda facts: facts["public"] == "jax.Array.reshape",
            call="{f}({shape})",
        ),
        Swap("The argument is called `{new}`.", call="{f}({renamed})"),
        Swap("Leave it out.", call="{f}({renamed})"),
    ),
    **_UNKNOWN,
)
entry(
    "unknown_argument",
    texts.NO_KIND,
    x=probes.keyword("kind"),
    argument=lambda facts: "kind",
    fixes=Either(
        Swap(
            "Say that equal entries keep their order.",
            when=lambda facts: facts.value("x") in ("stable", "mergesort"),
            call="{f}({others}, stable=True)",
        ),
        Swap("Leave it out.", call="{f}({others})"),
    ),
    **_UNKNOWN,
)
