"""Explain callbacks under transformations that they do not support, and host functions that fail."""

import ast
import re
from collections.abc import Iterator
from functools import partial

from jaxguide.code.frames import is_library
from jaxguide.code.lines import place_name
from jaxguide.code.source import source_of
from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, known
from jaxguide.explain.scene import called

_CALLBACKS = ("pure_callback", "io_callback", "callback")


def written_callbacks(facts: Facts) -> Iterator[Part]:
    """Yield the calls of functions on the host that are written in the files of the student's frames."""
    for source in {spot.source.file: spot.source for spot in facts.scene.spots if spot.source is not None}.values():
        calls = [one for one in source.calls() if called(one) in _CALLBACKS and one.args]
        yield from (Part(one, source, facts.scene) for one in calls)


_entry = partial(entry, link="https://docs.jax.dev/en/latest/external-callbacks.html")
_of_callback = partial(
    _entry,
    callback=probes.running(*_CALLBACKS),
    host=probes.argument(0, of="callback"),
)
for _kind, _phrase in (
    ("callback_without_derivative", texts.CALLBACK_JVP),
    ("io_callback_without_derivative", texts.IO_JVP),
):
    _of_callback(
        _kind,
        _phrase,
        x=probes.one_of(probes.first(is_tracer, of="callback"), probes.fact("host")),
        when=lambda facts: facts["callback"].spot is facts.scene.spot,
        title="A derivative through a callback",
        why="`{host}` runs in Python outside the program, so JAX cannot look inside `{f}` to differentiate it.",
        fixes=[
            "Write it in JAX, if it can be: then nothing leaves the program.",
            "Give the derivative yourself: `jaxguide.callbacks.host_function`, or `jax.custom_jvp` by hand.",
            "Treat what it returns as a constant, with `{lax}.stop_gradient`: its derivative is then zero.",
        ],
    )
_of_callback(
    "callback_without_vmap_method",
    texts.CALLBACK_VMAP,
    x=probes.fact("host"),
    last=probes.last_of("callback"),
    title="`jax.vmap` of a callback without a `vmap_method`",
    what="`{host}` runs on the host, and `jax.vmap` cannot see how to batch it.",
    why="Only you know whether `{host}` takes a whole batch at once, or must be called row by row.",
    fixes=[
        Swap("Call it row by row: always right, but slow.", last='{last}, vmap_method="sequential"'),
        'Or once, with the whole batch, if it works elementwise: `vmap_method="broadcast_all"`.',
    ],
)
_AS_MAP = "Run row after row: `{lax}.map` in place of `jax.vmap`."
_of_callback(
    "ordered_callback_under_vmap",
    texts.ORDERED_VMAP,
    x=probes.fact("host"),
    ordered=probes.keyword("ordered", of="callback"),
    title="`jax.vmap` of an ordered callback",
    what="`{callback}` is ordered: each call waits for the one before.",
    why="`jax.vmap` runs all rows at once, so there is no first and no next.",
    fixes=[Swap("Do without the order.", ordered="False"), _AS_MAP],
)
_entry(
    "io_callback_in_batched_loop",
    texts.IO_VMAP_WHILE,
    x=lambda facts: facts.call().args[-1],
    title="An `io_callback` in a loop under `jax.vmap`",
    what="`{f}` calls the host in its body or condition.",
    why="`jax.vmap` runs the loop until the last row is done, so the host would be called for rows that are done "
    "already, and rows have no order.",
    fixes=[_AS_MAP, "If the host function has no side effects, call it with `jax.pure_callback`."],
)
_entry(
    "io_callback_in_batched_cond",
    texts.IO_VMAP_COND,
    x=probes.argument(0),
    title="An `io_callback` in a branch under `jax.vmap`",
    what="`{f}` calls the host in one of its branches.",
    why="`jax.vmap` runs both branches for every row, so the host would be called for rows that did not ask.",
    fixes=_AS_MAP,
)


def _only_callback(facts: Facts) -> Part | None:
    """Look at the only callback in the files of the student's frames: a result is judged when the program runs."""
    written = list(written_callbacks(facts))
    return written[0] if len(written) == 1 else None


_entry(
    "host_result",
    texts.HOST_RESULT,
    x=probes.argument(0, of="callback"),
    line="callback",
    callback=_only_callback,
    promised=probes.argument(1, of="callback"),
    declared=lambda facts: probes.argument({"shape": 0, "dtype": 1}[facts["g1"]], facts["g1"], of="promised")(facts),
    actual=lambda facts: facts["g3"] if facts["g1"] == "shape" else facts.say("{jnp}.{g3}"),
    function=probes.definition(probes.fact("x")),
    result=probes.result_of("function"),
    title="A host function did not return what was promised",
    what="`{x}` returned {g1} {g3}; {g2} was promised.",
    why="The program is compiled before `{x}` runs, with the shape and dtype that were promised.",
    fixes=[
        Swap(
            "If the host function is right: promise what it returns.",
            when=lambda facts: called(facts.node("promised")) == "ShapeDtypeStruct",
            declared="{actual}",
        ),
        Swap(
            "If the promise is right: convert the result.",
            when=lambda facts: facts["g1"] == "dtype",
            result="{np}.asarray({result}, {np}.{g2})",
        ),
    ],
    otherwise="Promise what it returns, or convert its result.",
)


# Host functions that fail while a compiled program runs: JAX passes on only the text of their error.


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


_entry(
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
    what="`{function}` has no keyword `{unexpected[2]}`, and neither has `{unexpected[1]}`, to which it was handed on.",
    why="All keywords that a callback of JAX does not know are meant for the host function.",
    fixes=Either(
        Swap("Say it with `vmap_method`, which took its place.", x='vmap_method="{method}"'),
        "Leave it out, or let the host function take it.",
    ),
)
_entry(
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
)
