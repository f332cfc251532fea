"""Explain callbacks under transformations that they do not support: derivatives, batches, ordering."""

from collections.abc import Iterator
from typing import Any

from jaxguide.code.user_frame import is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Swap, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import called

CALLBACKS_PAGE = "https://docs.jax.dev/en/latest/external-callbacks.html"
_CALLBACKS = ("pure_callback", "io_callback", "callback")


def written_callbacks(facts: Facts) -> Iterator[Part]:
    """Yield the calls of functions on the host that are written in the files of the student's frames."""
    for source in {spot.source.file: spot.source for spot in facts.scene.spots if spot.source is not None}.values():
        calls = [one for one in source.calls() if called(one) in _CALLBACKS and one.args]
        yield from (Part(one, source, facts.scene) for one in calls)


_CALLBACK: dict[str, Any] = {
    "callback": probes.running(*_CALLBACKS),
    "host": probes.argument(0, of="callback"),
    "link": CALLBACKS_PAGE,
}
for _kind, _phrase in (
    ("callback_without_derivative", texts.CALLBACK_JVP),
    ("io_callback_without_derivative", texts.IO_JVP),
):
    entry(
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
        **_CALLBACK,
    )
entry(
    "callback_without_vmap_method",
    texts.CALLBACK_VMAP,
    x=probes.fact("host"),
    last=probes.last_of("callback"),
    title="`jax.vmap` of a callback without a `vmap_method`",
    what="`{host}` is a function on the host, written for one row.",
    why="Only you know whether `{host}` takes a whole batch at once, or must be called row by row.",
    fixes=[
        Swap("Call it row by row: always right, and slow.", last='{last}, vmap_method="sequential"'),
        Code(
            "Once, with the whole batch, if it works elementwise as NumPy's functions do.",
            'vmap_method="broadcast_all"',
        ),
    ],
    **_CALLBACK,
)
_AS_MAP = "Run row after row: `{lax}.map` in place of `jax.vmap`."
entry(
    "ordered_callback_under_vmap",
    texts.ORDERED_VMAP,
    x=probes.fact("host"),
    ordered=probes.keyword("ordered", of="callback"),
    title="`jax.vmap` of an ordered callback",
    what="`{callback}` is ordered: each call waits for the one before.",
    why="`jax.vmap` runs all rows at once, so there is no first and no next.",
    fixes=[Swap("Do without the order.", ordered="False"), _AS_MAP],
    **_CALLBACK,
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
)
entry(
    "io_callback_in_batched_cond",
    texts.IO_VMAP_COND,
    x=probes.argument(0),
    title="An `io_callback` in a branch under `jax.vmap`",
    what="`{f}` calls the host in one of its branches.",
    why="`jax.vmap` runs both branches for every row, so the host would be called for rows that did not ask.",
    fixes=_AS_MAP,
    link=CALLBACKS_PAGE,
)


def _only_callback(facts: Facts) -> Part | None:
    """Look at the only callback in the files of the student's frames: a result is judged when the program runs."""
    written = list(written_callbacks(facts))
    return written[0] if len(written) == 1 else None


entry(
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
    link=CALLBACKS_PAGE,
)
