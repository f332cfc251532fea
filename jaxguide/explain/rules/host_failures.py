"""Explain host functions that fail while a compiled program runs: JAX passes on only the text of their error."""

import ast
import sys

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
    lines = facts.scene.message.strip().splitlines()
    frames = [i for i, line in enumerate(lines) if texts.HOST_FRAMES.match(line)]
    # Below a frame, its line of code and the marks under it are indented further; the error is not.
    last = next((i for i in range(frames[-1] + 1, len(lines)) if not lines[i].startswith(" ")), len(lines) - 1)
    return " ".join(" ".join(lines[last:]).split())


def _failed(facts: Facts) -> tuple[str, str, str, int] | None:
    """Return the name of the host function, what is to be said, and the file and line of the failure."""
    said = texts.HOST_ERROR.search(facts.scene.message)
    if said is not None:  # a function of `jaxguide.callbacks`, which says it all
        modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        files = {file for file in modules if file and not is_library(file)}
        files |= {spot.line.file for spot in facts.scene.spots}
        fitting = [file for file in files if place_name(file) == said["file"]]
        return said["name"], said["text"], fitting[0] if len(fitting) == 1 else "", int(said["line"] or 0)
    frames = texts.HOST_FRAMES.findall(facts.scene.message)
    # The frames of the host function itself come last, except those of libraries that it calls.
    own = [number for number, (file, _line, _name) in enumerate(frames) if not is_library(file)]
    if not own or not any(file.endswith("callback.py") for file, _line, _name in frames[: own[-1]]):
        return None
    file, line, name = frames[own[-1]]
    return name, f"`{name}` raised {facts['error'].partition('. ')[0].rstrip('.')}.", file, int(line)


def _place(facts: Facts) -> Part | None:
    """Look at what begins on the line of the failure."""
    _name, _error, file, number = facts["failed"]
    source = source_of(file)
    found = [one for one in ast.walk(source.tree) if getattr(one, "lineno", 0) == number] if source is not None else []
    return Part(found[0], source, facts.scene) if source is not None and found else None


def _call_with_keyword(facts: Facts) -> Part | None:
    """Look at the only callback that gives the host function the keyword that it does not know."""
    name, keyword = facts["unexpected"]
    found = [
        call
        for call in written_callbacks(facts)
        if any(one.arg == keyword for one in call.node.keywords)  # type: ignore[attr-defined]
        and name in ("<lambda>", call.source.quote(call.node.args[0]).split(".")[-1])  # type: ignore[attr-defined]
    ]
    return found[0] if len(found) == 1 else None


entry(
    "callback_keyword",
    texts.HOST_FAILURE,
    x=_call_with_keyword,
    line="x",
    unexpected=lambda facts: known(texts.HOST_KEYWORD.search(_error(facts))).groups(),
    function=probes.function_of("x"),
    keyword=lambda facts: facts["x"].inside(
        next(one for one in facts.node("x").keywords if one.arg == facts["unexpected"][1])
    ),
    method=lambda facts: {"vectorized=True": "expand_dims", "vectorized=False": "sequential"}.get(
        str(facts["keyword"])
    ),
    variable="{unexpected[1]}",
    title="A callback hands a keyword on to the host function",
    what="`{function}` has no keyword `{unexpected[1]}`, so it was given to `{unexpected[0]}`, which has none either.",
    why="All keywords that a callback of JAX does not know are meant for the host function.",
    fixes=Either(
        Swap("Say it with `vmap_method`, which took its place.", keyword='vmap_method="{method}"'),
        "Leave it out, or let the host function take it.",
    ),
    link=CALLBACKS_PAGE,
)
entry(
    "host_function_failed",
    texts.HOST_FAILURE,
    x=lambda facts: facts["failed"][0],
    line="where",
    error=_error,
    failed=_failed,
    place=_place,
    where=probes.one_of(probes.fact("place"), probes.node),
    title="A host function failed while the program was running",
    what="{failed[1]}",
    why="The compiled program calls it, so its error arrives where Python waits for the result, as text alone.",
    fixes=[
        Words(
            "Write into a copy, `{np}.array(...)`: what a host function is given is JAX's own memory.",
            when=lambda facts: "immutable" in facts["error"] or "read-only" in facts["error"],
        ),
        Either(
            Words(
                "Mend it on that line; called outside of `jax.jit`, with the same values, it shows the whole "
                "traceback.",
                when=probes.knows("place"),
            ),
            "Mend the function; called outside of `jax.jit`, with the same values, it fails by itself.",
        ),
    ],
    link=CALLBACKS_PAGE,
)
