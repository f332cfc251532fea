"""Run a program once and show each call to the host with its time, with `callback_timeline`."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

from jaxguide import compat
from jaxguide.base.render import Drawing, Picture, drawn
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.compat.primitives import DEBUG_CALLBACK, DEBUG_PRINT, IO_CALLBACK, PURE_CALLBACK
from jaxguide.compat.rule_lines import lines_of_rules
from jaxguide.jaxpr.arguments import require_function
from jaxguide.jaxpr.own_lines import users_place
from jaxguide.jaxpr.stage import stage
from jaxguide.jaxpr.value_words import array_type

# Primitive -> what users write.
_KINDS = {
    PURE_CALLBACK: "pure_callback",
    IO_CALLBACK: "io_callback",
    DEBUG_CALLBACK: "debug.callback",
    DEBUG_PRINT: "debug.print",
}


@dataclass(frozen=True)
class Callback:
    """A callback in the program.

    Args:
        name: the name of the host function, or the format of a `jax.debug.print`.
        kind: 'pure_callback', 'io_callback', 'debug.callback' or 'debug.print'.
        ordered: whether it has `ordered=True`.
        line: the user's line that calls it; None if there is none.
    """

    name: str
    kind: str
    ordered: bool = False
    line: Line | None = None

    def __str__(self) -> str:
        name = repr(self.name) if self.kind == "debug.print" else self.name
        return " · ".join(filter(None, [name, self.kind, "ordered" if self.ordered else "", str(self.line or "")]))


@dataclass(frozen=True)
class HostRun:
    """One call on the host.

    Args:
        site: the callback.
        given: the dtypes and shapes of its arguments, such as 'float32[3]'.
        start_s, end_s: seconds since the program was called.
    """

    site: Callback
    given: str
    start_s: float
    end_s: float


@dataclass(frozen=True, repr=False)
class Timeline:
    """The calls to the host in one run of a program. Print it, or end a notebook cell with it.

    Args:
        name: the function's name.
        sites: the callbacks in its program, including those that never ran.
        runs: the calls on the host, in the order in which they began.
        returned_s: when the call returned to Python; the program may still run, as JAX dispatches asynchronously.
        ready_s: when the results were ready and all callbacks had ended.
        result: what the function returned.
    """

    name: str
    sites: tuple[Callback, ...]
    runs: tuple[HostRun, ...]
    returned_s: float
    ready_s: float
    result: Any

    def picture(self) -> Picture:
        """Return the timeline as text, HTML and SVG."""
        title = f"Host calls of {self.name}"
        sites = plural("{count} callback", "{count} callbacks", len(self.sites))
        calls = plural("{count} call", "{count} calls", len(self.runs))
        summary = (
            f"{title}: {calls} of {sites}. The call returned after {_ms(self.returned_s)}, and its result was ready "
            f"after {_ms(self.ready_s)}."
        )
        lines = _lines(self)
        return drawn(_draw(title, " ".join([summary, *lines]), self), summary, "\n".join(lines))

    def __str__(self) -> str:
        return str(self.picture())

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.picture()._repr_mimebundle_()


@flags_off(*CHECKS, DISABLE_JIT)
def callback_timeline(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Timeline:
    """Run a function once as a jitted program, and show which host calls it makes, in which order and when.

    >>> import jax.numpy as jnp
    >>> def log(x):
    ...     return None
    >>> def steps(xs):
    ...     return jax.lax.map(lambda x: (jax.debug.callback(log, x, ordered=True), 2 * x)[1], xs)
    >>> timeline = callback_timeline(steps, jnp.arange(3.0))
    >>> [(run.site.name, run.site.kind, run.given) for run in timeline.runs][:2]
    [('log', 'debug.callback', 'float32[]'), ('log', 'debug.callback', 'float32[]')]
    >>> print(timeline)
    Host calls of steps: 3 calls of 1 callback. ...

    Compilation is finished before the clock starts. The side effects of the host functions happen once. The times are
    those of this run on this machine: a program only guarantees the order of ordered callbacks.

    Args:
        fn: the function, jitted or not.
        args, kwargs: its arguments.

    Raises:
        TypeError: `fn` is not a function.
        Exception: whatever `fn` raises while it is traced, or its host functions raise.

    Based on `jax.make_jaxpr`; see https://docs.jax.dev/en/latest/external-callbacks.html.
    """
    require_function("callback_timeline", fn, "callback_timeline(f, x)")
    with lines_of_rules(is_library):
        staged = stage(fn, args, kwargs)
    sites: list[Callback] = []
    runs: list[HostRun] = []

    def now() -> float:
        return time.perf_counter() - called

    def watched(site: Callback, host: Callable[..., Any]) -> Callable[..., Any]:
        sites.append(site)

        def run(*args: Any) -> Any:
            start_s = now()
            try:
                return host(*args)
            finally:
                runs.append(HostRun(site, ", ".join(map(array_type, args)), start_s, now()))

        return run

    jaxpr = _watched(staged.jaxpr, watched)
    program = jax.jit(jaxpr_as_fun(jaxpr)).lower(*staged.arguments).compile()
    called = time.perf_counter()
    flat = program(*staged.arguments)
    returned_s = now()
    jax.block_until_ready(flat)
    jax.effects_barrier()
    ready_s = now()
    result = jax.tree.unflatten(jax.tree.structure(staged.result), flat)
    runs.sort(key=lambda run: run.start_s)
    return Timeline(function_name(fn), tuple(sites), tuple(runs), returned_s, ready_s, result)


# Wraps a callback's host function, so that its calls are recorded.
_Wrapper = Callable[[Callback, Callable[..., Any]], Callable[..., Any]]


def _watched(value: Any, wrapper: _Wrapper) -> Any:
    """Return a jaxpr, or a parameter of an equation, with every callback wrapped, including in loops and branches."""
    if type(value) is tuple:  # not the named tuples of a gather, which contain no program
        return tuple(_watched(one, wrapper) for one in value)
    if not hasattr(value, "eqns"):
        return value
    plain, _consts = compat.jaxpr_parts(value)
    new = plain.replace(eqns=[_watched_eqn(eqn, wrapper) for eqn in plain.eqns])
    return new if value is plain else value.replace(jaxpr=new)


def _watched_eqn(eqn: Any, wrapper: _Wrapper) -> Any:
    kind = eqn.primitive.name
    if kind not in _KINDS:
        return eqn.replace(params={name: _watched(value, wrapper) for name, value in eqn.params.items()})
    place = users_place(eqn.source_info)
    ordered = bool(eqn.params.get("ordered", "Ordered" in repr(eqn.params.get("effect"))))
    if kind == DEBUG_PRINT:  # it has a format instead of a callback (0.10.2 to 0.12.0.1)
        host = functools.partial(eqn.primitive.impl, **eqn.params)
        return _as_callback(eqn, wrapper(Callback(eqn.params["fmt"], _KINDS[kind], ordered, place and place[0]), host))
    host = eqn.params["callback"]
    site = Callback(function_name(compat.host_function_of(host)), _KINDS[kind], ordered, place and place[0])
    return eqn.replace(params={**eqn.params, "callback": wrapper(site, host)})


def _as_callback(eqn: Any, host: Callable[..., Any]) -> Any:
    """Return a `jax.debug.callback` equation to replace a print."""
    like = [jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in eqn.invars]
    made = jax.make_jaxpr(lambda *xs: jax.debug.callback(host, *xs, ordered=eqn.params["ordered"]))(*like)
    (callback,) = compat.jaxpr_parts(made)[0].eqns
    return callback.replace(invars=eqn.invars, outvars=eqn.outvars, source_info=eqn.source_info)


# The maximum number of calls that are listed and drawn.
_MOST = 100


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def _lines(timeline: Timeline) -> list[str]:
    """Return a line for each call and event, in the order of time, and for each callback that was never called."""
    marks = (timeline.returned_s, "back in Python"), (timeline.ready_s, "result ready")
    found = [(seconds, f"   - {_ms(seconds):>12}  {words}") for seconds, words in marks]
    for number, run in enumerate(timeline.runs[:_MOST], 1):
        took = f"took {_ms(run.end_s - run.start_s)}"
        found.append((run.start_s, f"{number:>4} {_ms(run.start_s):>12}  {run.site}  ({run.given})  {took}"))
    if (more := len(timeline.runs) - _MOST) > 0:
        found.append((timeline.runs[_MOST].start_s, "     " + plural("{count} more call", "{count} more calls", more)))
    never = [site for site in timeline.sites if all(run.site is not site for run in timeline.runs)]
    return [line for _seconds, line in sorted(found)] + [f"never called: {site}" for site in never]


_LANE, _BOX, _MARGIN, _TOP = 54, 18, 18, 24
# Longer ones would be cut off at the right edge of a notebook's page.
_AXIS = 640.0


def _draw(title: str, description: str, timeline: Timeline) -> Drawing:
    labels = [f"your Python · back after {_ms(timeline.returned_s)}", *map(str, timeline.sites)]
    floor = _TOP + _LANE * len(labels)
    width = max([_AXIS + text_width("result ready", 11), *map(text_width, labels)])
    drawing = Drawing(title, description, _MARGIN + width + _MARGIN, floor + 24)
    lanes = [_TOP + _LANE * (i + 1) - 14 for i in range(len(labels))]
    by_site = dict(zip(map(id, timeline.sites), lanes[1:], strict=True))

    def place(seconds: float) -> float:
        return _MARGIN + _AXIS * seconds / timeline.ready_s

    for label, y in zip(labels, lanes, strict=True):
        drawing.words(_MARGIN, y - 26, label, bold=y == lanes[0])
        drawing.path(f"M{_MARGIN} {y} h{_AXIS:g}", dashed=True)
    returned, ready = place(timeline.returned_s), _MARGIN + _AXIS
    drawing.path(f"M{_MARGIN} {lanes[0]} H{returned:g}")
    drawing.arrowhead(returned, lanes[0])
    drawing.path(f"M{ready:g} {_TOP - 8} V{floor}", note=_ms(timeline.ready_s))
    drawing.words(ready + 4, _TOP - 8, "result ready", size=11)
    for number, run in enumerate(timeline.runs[:_MOST], 1):
        x, y = place(run.start_s), by_site[id(run.site)]
        note = f"{number}: {run.site} ({run.given}), {_ms(run.start_s)} to {_ms(run.end_s)}"
        drawing.box(x, y - _BOX / 2, max(2.0, place(run.end_s) - x), _BOX, tone="good", note=note)
    drawing.path(f"M{_MARGIN} {floor} h{_AXIS:g}")
    for seconds in (timeline.ready_s * part / 5 for part in range(6)):
        drawing.path(f"M{place(seconds):g} {floor} v5")
        drawing.words(place(seconds), floor + 18, f"{seconds * 1000:.2g} ms", size=11, anchor="middle")
    return drawing
