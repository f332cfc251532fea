"""Explain keys that are used twice, as `jax.debug_key_reuse` finds them: both uses, and where to split."""

import ast
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.code.lines import Line, frames_of_traceback
from jaxguide.code.user_frame import UserFrame
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.transformed import own_nodes


def _is_key(value: object) -> bool:
    return isinstance(value, jax.Array) and bool(jnp.issubdtype(value.dtype, jax.dtypes.prng_key))


# Where the key is used, and where it can be split.


def _key_given(facts: Facts, spot: UserFrame) -> Part | None:
    """Look at the argument of a frame's call that is a key, or a part of an array of keys."""
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    for node in [*call.args, *(one.value for one in call.keywords)] if call is not None else []:
        if _is_key(spot.value(node)) or (isinstance(node, ast.Subscript) and _is_key(spot.value(node.value))):
            return facts.at(node, spot)
    return None


def _uses(facts: Facts) -> tuple[Part | None, Line | None]:
    """Find the key in the frame in which both uses are, and the line of the first use."""
    cause = facts.scene.error.__cause__ or facts.scene.error.__context__
    before = list(frames_of_traceback(cause.__traceback__)) if cause is not None else []
    found: list[tuple[Part, Line]] = []
    for spot in reversed(facts.scene.spots):
        code, key = spot.frame.f_code, _key_given(facts, spot)
        home = (code.co_filename, code.co_name)
        lines = [line for frame, line in before if (frame.f_code.co_filename, frame.f_code.co_name) == home]
        found += [(key, lines[-1])] if key is not None and lines else []
    # On one line, it is a loop, or a helper that is called twice.
    apart = [(key, line) for key, line in found if key.spot and key.spot.line != line]
    here = _key_given(facts, facts.scene.spot), before[-1][1] if before else None
    return next(iter(apart or found), here)


def _first_statement(facts: Facts) -> Part | None:
    """Look at the statement that uses the key first, if it is in the same block and nothing sets the key in between."""
    x, first = facts["x"], facts["first"]
    second = x.spot.statement
    if not isinstance(x.node, ast.Name) or x.ndim or first.file != x.source.file:
        return None
    if first == x.spot.line:
        return x.inside(second) if isinstance(x.source.parents.get(second), ast.For | ast.While) else None
    block = x.source.body_of(second)
    start = next((one for one in block if one.lineno <= first.number <= (one.end_lineno or 0)), second)
    between = [node for one in block[block.index(start) : block.index(second)] for node in ast.walk(one)]
    stored = [one for one in between if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return x.inside(start) if start is not second and str(x) not in [one.id for one in stored] else None


def _split(facts: Facts) -> Fix | None:
    """Split the key before its first use, and give the other use a half of its own."""
    x, start = facts["x"], facts["start"].node
    names = {getattr(one, "id", getattr(one, "arg", None)) for one in ast.walk(x.source.tree)}
    other = next(new for new in ("subkey", *(f"subkey{number}" for number in range(2, 100))) if new not in names)
    line = f"{x}, {other} = {facts['random']}.split({x})\n{x.source.indent(start)}"
    return facts.scene.fix(
        f"Split it above {Line(x.source.file, start.lineno)}, before its first use: each use gets a key of its own.",
        x.source.insert_before(start, line),
        x.replaced_by(other),
    )


_LOOK = "See both lines: `jaxguide.keys.check_keys({f}, ...)`."
_KEY: dict[str, Any] = {
    "title": "A key is used twice",
    "why": "The same key gives the same numbers, so what is drawn is not independent.",
    "link": "https://docs.jax.dev/en/latest/random-numbers.html",
}
entry(
    "key_used_twice",
    texts.KEY_REUSED,
    x=lambda facts: facts["uses"][0],
    line="x",
    uses=_uses,
    first=lambda facts: facts["uses"][1],
    first_text=lambda facts: facts["first"].text() or "...",
    here=lambda facts: "this line" if facts["first"] == facts["x"].spot.line else None,
    start=_first_statement,
    what=(
        "`{x}` was used on {here} before, in an earlier turn or call.",
        "`{x}` was used before, in {first}: `{first_text}`.",
        "`{x}` was used before this line.",
    ),
    fixes=[Either(_split, "Split it before the first use, and give each use a key of its own.")],
    **_KEY,
)


# In a jitted function, or in a loop of `jax.lax`.


def _pair(facts: Facts) -> tuple[Part, Part] | None:
    """Find the only key that a function gives to two calls of `jax.random`, without a new value between them."""
    body, value = facts["body"], facts.scene.spot.value
    nodes = list(own_nodes(body.node))
    stored = [(one.id, one.lineno) for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    calls = [one for one in nodes if isinstance(one, ast.Call) and one.args]
    drawn = [one for one in calls if str(getattr(value(one.func), "__module__", "")).startswith(texts.RANDOM_MODULES)]
    keys = [one.args[0] for one in sorted(drawn, key=lambda one: (one.lineno, one.col_offset))]
    named = [one for one in keys if isinstance(one, ast.Name)]
    pairs = [(one, next((new for new in named[n:] if new.id == one.id), None)) for n, one in enumerate(named, 1)]
    same = [
        (body.inside(one), body.inside(other))
        for one, other in pairs
        if other and not any(name == one.id and one.lineno <= line < other.lineno for name, line in stored)
    ]
    return same[0] if len(same) == 1 else None


def _statement_of_the_first(facts: Facts) -> Part | None:
    """Look at the statement of the first use, if both uses stand directly in the function."""
    first, last = (one.source.statement(one.node) for one in facts["pair"])
    body = facts.node("body").body
    return facts["body"].inside(first) if isinstance(body, list) and first in body and last in body else None


def _held(facts: Facts) -> str | None:
    """Say the name of the only key that the body of a loop reads from outside."""
    names = [one.id for one in own_nodes(facts.node("body")) if isinstance(one, ast.Name)]
    values = {name: facts.scene.spot.value(ast.Name(name, ast.Load())) for name in names}
    found = [name for name, value in values.items() if _is_key(value)]
    return found[0] if len(found) == 1 else None


entry(
    "key_used_twice",
    texts.KEY_REUSED_INSIDE,
    x=lambda facts: facts["pair"][1],
    line="x",
    body=probes.definition(probes.function),
    pair=_pair,
    start=_statement_of_the_first,
    lines=lambda facts: [Line(one.source.file, one.node.lineno) for one in facts["pair"]],
    said=lambda facts: [f"in {line}, `{line.text()}`" for line in facts["lines"]],
    what="`{f}` uses `{x}` twice: {said[0]}, and {said[1]}.",
    fixes=[Either(_split, _LOOK)],
    **_KEY,
)
entry(
    "key_used_twice", texts.KEY_REUSED_INSIDE, x=probes.function, what="`{x}` uses a key twice.", fixes=[_LOOK], **_KEY
)
entry(
    "key_used_twice",
    texts.KEY_REUSED_IN_LOOP,
    x=probes.function,
    variable=("{held}", "{x}"),
    body=probes.one_of(*(probes.body_of(position) for position in range(3))),
    held=_held,
    what=(
        "Every turn of `{x}` draws from the same key, `{held}`.",
        "Every turn of `{x}` draws from the same key.",
    ),
    fixes=["Put a key into the carry and split it in each turn, or split it before, one key for each turn."],
    **_KEY,
)
