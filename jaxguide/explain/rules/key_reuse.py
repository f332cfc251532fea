"""Explain keys that are used twice, as `jax.debug_key_reuse` finds them: both uses."""

import ast
from itertools import combinations
from typing import Any

from jaxguide.code.lines import Line, frames_of_traceback
from jaxguide.code.user_frame import UserFrame
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.transformed import own_nodes


def _key_given(facts: Facts, spot: UserFrame) -> Part | None:
    """Look at the argument of a frame's call that is a key, or a part of an array of keys."""
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    given = probes.all_given(call) if call is not None else []
    keys = [one for one in given if probes.is_key(spot.value(one.value if isinstance(one, ast.Subscript) else one))]
    return facts.at(keys[0], spot) if keys else None


def _uses(facts: Facts) -> tuple[Part | None, Line | None]:
    """Find the key in the frame in which both uses are, and the line of the first use."""
    cause = facts.scene.error.__cause__ or facts.scene.error.__context__
    before = list(frames_of_traceback(cause.__traceback__)) if cause is not None else []
    found = list[tuple[Part, Line]]()
    for spot in reversed(facts.scene.spots):
        name = spot.frame.f_code.co_name  # JAX makes the first use's traceback anew, with other code objects
        lines = [line for frame, line in before if (line.file, frame.f_code.co_name) == (spot.line.file, name)]
        if lines and (key := _key_given(facts, spot)) is not None:
            found.append((key, lines[-1]))
    # On one line, it is a loop, or a helper that is called twice.
    apart = [use for use in found if use[0].line != use[1]]
    return next(iter(apart or found), (_key_given(facts, facts.scene.spot), before[-1][1] if before else None))


_SPLIT = "Split it before the first use, with `{random}.split`, and give each use a key of its own."
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
    what=(
        "`{x}` was used on {here} before, in an earlier turn or call.",
        "`{x}` was used before, in {first}: `{first_text}`.",
        "`{x}` was used before this line.",
    ),
    fixes=_SPLIT,
    **_KEY,
)


def _pair(facts: Facts) -> tuple[Part, ...] | None:
    """Find the only key that a function gives to two calls of `jax.random`, if the function sets no such name."""
    body, value = facts["body"], facts.scene.spot.value
    nodes = list(own_nodes(body.node))
    set_names = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    calls = [one for one in nodes if isinstance(one, ast.Call) and one.args]
    drawn = [one for one in calls if str(getattr(value(one.func), "__module__", "")).startswith(texts.RANDOM_MODULES)]
    keys = sorted((key for one in drawn if isinstance(key := one.args[0], ast.Name)), key=body.source.start)
    pairs = [pair for pair in combinations(keys, 2) if pair[0].id == pair[1].id not in set_names]
    return tuple(map(body.inside, pairs[0])) if len(pairs) == 1 else None


def _held(facts: Facts) -> str | None:
    """Say the only key that the body of a loop reads from outside."""
    parts = facts.scene.spot.parts(facts.node("body"))
    names = {facts.scene.quote(part) for part, value in parts if probes.is_key(value)}
    return names.pop() if len(names) == 1 else None


entry(
    "key_used_twice",
    texts.KEY_REUSED_INSIDE,
    x=probes.one_of(lambda facts: facts["pair"][1], probes.function),
    line="x",
    body=probes.definition(probes.function),
    pair=_pair,
    said=lambda facts: [f"in {one.line}, `{one.line.text()}`" for one in facts["pair"]],
    what=("`{f}` uses `{x}` twice: {said[0]}, and {said[1]}.", "`{x}` uses a key twice."),
    fixes=Either(Words(_SPLIT, when=probes.knows("pair")), "See both lines: `jaxguide.keys.check_keys({f}, ...)`."),
    **_KEY,
)
entry(
    "key_used_twice",
    texts.KEY_REUSED_IN_LOOP,
    x=probes.function,
    variable=("{held}", "{x}"),
    body=probes.one_of(*(probes.body_of(position) for position in range(3))),
    held=_held,
    what=("Every turn of `{x}` draws from the same key, `{held}`.", "Every turn of `{x}` draws from the same key."),
    fixes="Put a key into the carry and split it in each turn, or split it before, one key for each turn.",
    **_KEY,
)
