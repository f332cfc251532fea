"""Explain host functions that fail while a compiled program runs: JAX passes on only the text of their error."""

import ast
import re

from jaxguide.code.frames import is_library
from jaxguide.code.lines import place_name
from jaxguide.code.source import source_of
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, known
from jaxguide.explain.rules.callbacks import CALLBACKS_PAGE, written_callbacks


def _error(facts: Facts) -> str:
    """Say what the last traceback in the message ends with: the error and its text, in one line."""
    below = facts.scene.message.rpartition('\n  File "')[2]
    return " ".join(re.sub(r"^.*?\n(?=\S)", "", below, flags=re.DOTALL).split())


def _failed(facts: Facts) -> tuple[str, str, str, int] | None:
    """Return the name of the host function, what is to be said, and the file and line of the failure."""
    said = texts.HOST_ERROR.search(facts.scene.message)
    if said is not None:  # a function of `jaxguide.callbacks`, which says it all
        files = {spot.line.file for spot in facts.scene.spots if place_name(spot.line.file) == said["file"]}
        return said["name"], said["text"], next(iter(files), ""), int(said["line"] or 0)
    # Frames of the host function come after those of JAX's callback, and before those of libraries that it calls.
    frames = texts.HOST_FRAMES.findall(facts.scene.message.rpartition('/callback.py"')[2])
    file, line, name = known(next((frame for frame in reversed(frames) if not is_library(frame[0])), None))
    return name, f"`{name}` raised {facts['error'].partition('. ')[0].rstrip('.')}.", file, int(line)


def _place(facts: Facts) -> Part | None:
    """Look at what begins on the line of the failure."""
    source = known(source_of(facts["failed"][2]))
    found = [one for one in ast.walk(source.tree) if getattr(one, "lineno", 0) == facts["failed"][3]]
    return Part(found[0], source, facts.scene) if found else None


def _keyword(facts: Facts) -> Part | None:
    """Look at the only keyword of a callback that is the one which the host function does not know."""
    given = [(call, one) for call in written_callbacks(facts) for one in getattr(call.node, "keywords", [])]
    found = [call.inside(one) for call, one in given if one.arg == facts["unexpected"][2]]
    return found[0] if len(found) == 1 else None


entry(
    "callback_keyword",
    texts.HOST_FAILURE,
    x=_keyword,
    line="x",
    error=_error,
    unexpected=lambda facts: texts.HOST_KEYWORD.search(facts["error"]),
    callback=lambda facts: facts["x"].inside(facts["x"].source.parents[facts.node("x")]),
    function=probes.function_of("callback"),
    method=lambda facts: {"vectorized=True": "expand_dims", "vectorized=False": "sequential"}.get(str(facts["x"])),
    variable="{unexpected[2]}",
    title="A callback hands a keyword on to the host function",
    what="`{function}` has no keyword `{unexpected[2]}`, so it was given to `{unexpected[1]}`, which has none either.",
    why="All keywords that a callback of JAX does not know are meant for the host function.",
    fixes=Either(
        Swap("Say it with `vmap_method`, which took its place.", x='vmap_method="{method}"'),
        "Leave it out, or let the host function take it.",
    ),
    link=CALLBACKS_PAGE,
)
entry(
    "host_function_failed",
    texts.HOST_FAILURE,
    x=lambda facts: facts["failed"][0],
    line="place",
    error=_error,
    failed=_failed,
    place=_place,
    title="A host function failed while the program was running",
    what="{failed[1]}",
    why="The compiled program calls it, so its error arrives where Python waits for the result, as text alone.",
    fixes=[
        Words(
            "Write into a copy, `{np}.array(...)`: what a host function is given is JAX's own memory.",
            when=lambda facts: "immutable" in facts["error"] or "read-only" in facts["error"],
        ),
        "Mend it on that line; called outside of `jax.jit`, with the same values, it shows the whole traceback.",
    ],
    link=CALLBACKS_PAGE,
)
