"""Explain callbacks under transformations that they do not support: derivatives, batches, ordering."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, entry
from jaxguide.explain.known_facts import Facts, Part, Probe
from jaxguide.explain.scene import called

CALLBACKS_PAGE = "https://docs.jax.dev/en/latest/external-callbacks.html"


def _running(holds: Callable[[ast.Call], bool]) -> Probe:
    """Look at the innermost running call that is such a one, in any of the student's frames."""

    def found(facts: Facts) -> Part | None:
        for spot in reversed(facts.scene.spots):
            call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
            if call is not None and holds(call):
                return facts.at(call, spot)
        return None

    return found


def is_callback(call: ast.Call) -> bool:
    """Return whether a call runs a function on the host."""
    return called(call) in ("pure_callback", "io_callback", "callback") and bool(call.args)


def written_callbacks(facts: Facts) -> Iterator[Part]:
    """Yield the callbacks that are written in the files of the student's frames."""
    for source in {spot.source.file: spot.source for spot in facts.scene.spots if spot.source is not None}.values():
        yield from (Part(call, source, facts.scene) for call in source.calls() if is_callback(call))


def _last_argument(facts: Facts) -> Part:
    callback = facts.part("callback")
    given: ast.Call = facts.node("callback")
    return callback.inside([*given.args, *(one.value for one in given.keywords)][-1])


_CALLBACK: dict[str, Any] = {
    "callback": _running(is_callback),
    "host": probes.argument(0, of="callback"),
    "link": CALLBACKS_PAGE,
}
_MAPPED: dict[str, Any] = {
    # With `in_axes`, `lax.map` is not the same.
    "mapped": _running(
        lambda call: called(call.func) == "vmap" and len(call.args) == 1 and not getattr(call.func, "keywords", [])
    ),
    "vmap": lambda facts: facts["mapped"].inside(facts.node("mapped").func),
    "function": probes.argument(0, of="vmap"),
    "rows": probes.argument(0, of="mapped"),
}
_AS_MAP = Swap("Run row after row: `lax.map`.", mapped="{lax}.map({function}, {rows})")


# Derivatives.

_NO_DERIVATIVE: dict[str, Any] = {
    **_CALLBACK,
    "x": probes.one_of(
        lambda facts: next((one for one in facts["handed_on"] if is_tracer(one.value_or_missing)), None),
        probes.fact("host"),
    ),
    "when": lambda facts: facts["callback"].spot is facts.scene.spot,
    "handed_on": lambda facts: [facts["callback"].inside(one) for one in facts.node("callback").args[2:]],
    "arguments": lambda facts: ", ".join(map(str, facts["handed_on"])),
    "title": "A derivative through a callback",
    "what": "{x.is_here}",
    "why": "`{host}` runs in Python outside the program, so JAX cannot look inside `{f}` to differentiate it.",
}
_OWN_RULE = Code(
    "Give the derivative yourself: `jaxguide.callbacks.host_function`, or `jax.custom_jvp` by hand.",
    "host_function({host}, derivative=DERIVATIVE)({arguments})",
)
_AS_CONSTANT = Either(
    Swap(
        "Treat what it returns as a constant: its derivative is then zero.",
        when=lambda facts: len(facts["handed_on"]) == 1,
        x="{lax}.stop_gradient({x})",
    ),
    "Treat what it returns as a constant, with `lax.stop_gradient` around each argument: its derivative is then zero.",
)
entry(
    "callback_without_derivative",
    texts.CALLBACK_JVP,
    fixes=["Write it in JAX, if it can be: then nothing leaves the program.", _OWN_RULE, _AS_CONSTANT],
    **_NO_DERIVATIVE,
)
entry("io_callback_without_derivative", texts.IO_JVP, fixes=[_AS_CONSTANT, _OWN_RULE], **_NO_DERIVATIVE)


# Batches.

_ROW_BY_ROW = "Call it row by row: always right, and slow."
entry(
    "callback_without_vmap_method",
    texts.CALLBACK_VMAP,
    x=probes.fact("host"),
    method=probes.keyword("vmap_method", of="callback"),
    last=_last_argument,
    title="`jax.vmap` of a callback without a `vmap_method`",
    what="`{host}` is a function on the host, written for one row.",
    why="Only you know whether `{host}` takes a whole batch at once, or must be called row by row.",
    fixes=[
        Either(
            Swap(_ROW_BY_ROW, method='"sequential"'),
            Swap(_ROW_BY_ROW, last='{last}, vmap_method="sequential"'),
        ),
        Code(
            "Once, with the whole batch, if it works elementwise as NumPy's functions do.",
            'vmap_method="broadcast_all"',
        ),
    ],
    **_CALLBACK,
)
entry(
    "ordered_callback_under_vmap",
    texts.ORDERED_VMAP,
    x=probes.fact("host"),
    ordered=probes.keyword("ordered", of="callback"),
    title="`jax.vmap` of an ordered callback",
    what="`{callback}` is ordered: each call waits for the one before.",
    why="`jax.vmap` runs all rows at once, so there is no first and no next.",
    fixes=[Swap("Do without the order.", ordered="False"), _AS_MAP],
    **_CALLBACK | _MAPPED,
)
entry(
    "io_callback_in_batched_loop",
    texts.IO_VMAP_WHILE,
    x=lambda facts: facts.call().args[-1],
    title="An `io_callback` in a loop under `jax.vmap`",
    what="`{f}` calls the host in its body or condition.",
    why="`jax.vmap` runs the loop until the last row is done, so the host would be called for rows that are done "
    "already, and rows have no order.",
    fixes=[_AS_MAP, "If the host function has no side effects, call it with `jax.pure_callback`."],
    link=CALLBACKS_PAGE,
    **_MAPPED,
)
entry(
    "io_callback_in_batched_cond",
    texts.IO_VMAP_COND,
    x=probes.argument(0),
    title="An `io_callback` in a branch under `jax.vmap`",
    what="`{f}` calls the host in one of its branches.",
    why="`jax.vmap` runs both branches for every row, so the host would be called for rows that did not ask.",
    fixes=[_AS_MAP],
    link=CALLBACKS_PAGE,
    **_MAPPED,
)


# Results.


def _only_callback(facts: Facts) -> Part | None:
    """Look at the only callback in the files of the student's frames: a result is judged when the program runs."""
    written = list(written_callbacks(facts))
    return written[0] if len(written) == 1 else None


def _declared(facts: Facts) -> Part | None:
    """Look at the promised shape or dtype, whichever is wrong."""
    is_written = called(facts.node("promised")) == "ShapeDtypeStruct"
    place = {"shape": 0, "dtype": 1}[facts["g1"]]
    return probes.argument(place, facts["g1"], of="promised")(facts) if is_written else None


entry(
    "host_result",
    texts.HOST_RESULT,
    x=probes.argument(0, of="callback"),
    line="callback",
    callback=_only_callback,
    promised=probes.argument(1, of="callback"),
    declared=_declared,
    actual=lambda facts: facts["g3"] if facts["g1"] == "shape" else facts.say("{jnp}.{g3}"),
    function=probes.definition(probes.fact("x")),
    result=probes.result_of("function"),
    title="A host function did not return what was promised",
    what="`{x}` returned {g1} {g3}; {g2} was promised.",
    why="The program is compiled before `{x}` runs, with the shape and dtype that were promised.",
    fixes=[
        Swap("If the host function is right: promise what it returns.", declared="{actual}"),
        Swap(
            "If the promise is right: convert the result.",
            when=lambda facts: facts["g1"] == "dtype",
            result="{np}.asarray({result}, {np}.{g2})",
        ),
    ],
    otherwise=["Promise what it returns, or convert its result."],
    link=CALLBACKS_PAGE,
)
