"""Run a program once and show each call to the host with its time, with `callback_timeline`."""

import functools
import itertools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun

from jaxguide import compat
from jaxguide.base.render import Drawing, Picture, drawn
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
from jaxguide.callbacks.checked import Checked
from jaxguide.code.lines import function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.compat.primitives import DEBUG_CALLBACK, DEBUG_PRINT, IO_CALLBACK, PURE_CALLBACK
from jaxguide.jaxpr.arguments import require_function
from jaxguide.jaxpr.stage import stage
from jaxguide.jaxpr.value_words import array_type

# Primitive -> what users write.
_KINDS = {PURE_CALLBACK: "pure_callback", IO_CALLBACK: "io_callback", DEBUG_CALLBACK: "debug.callback"}


@dataclass(frozen=True)
class Callback:
    """A callback in the program.

    Args:
        name: the name of the host function, or the format of a `jax.debug.print`.
        kind: 'pure_callback', 'io_callback', 'debug.callback' or 'debug.print'.
        ordered: whether it has `ordered=True`.
    """

    name: str
    kind: str
    ordered: bool = False


@dataclass(frozen=True)
class HostRun:
    """One call on the host.

    Args:
        site: the callback.
        given: the dtypes and shapes of its arguments, such as 'float32[3]'.
        start_s, end_s: seconds since the program was called.
        thread: the name of the thread that ran it.
    """

    site: Callback
    given: str
    start_s: float
    end_s: float
    thread: str


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
        return timeline_picture(self)

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
    staged = stage(fn, args, kwargs)
    clock = _Clock()
    program = jax.jit(jaxpr_as_fun(_instrumented(staged.jaxpr, clock))).lower(*staged.arguments).compile()
    clock.start()
    flat = program(*staged.arguments)
    returned_s = clock.now()
    jax.block_until_ready(flat)
    jax.effects_barrier()
    ready_s = clock.now()
    result = jax.tree.unflatten(jax.tree.structure(staged.result), flat)
    runs = tuple(sorted(clock.runs, key=lambda run: run.start_s))
    return Timeline(function_name(fn), tuple(clock.sites), runs, returned_s, ready_s, result)


class _Clock:
    """The callbacks of a program, and the calls of each."""

    def __init__(self) -> None:
        self.sites: list[Callback] = []
        self.runs: list[HostRun] = []
        self._zero = 0.0

    def start(self) -> None:
        self._zero = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self._zero

    def watched(self, site: Callback, host: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a host function so that its calls are recorded."""
        self.sites.append(site)

        def run(*args: Any) -> Any:
            start_s = self.now()
            try:
                return host(*args)
            finally:
                given = ", ".join(array_type(arg) for arg in args)
                self.runs.append(HostRun(site, given, start_s, self.now(), threading.current_thread().name))

        return run


def _instrumented(jaxpr: Any, clock: _Clock) -> Any:
    """Return a jaxpr, closed or not, with every callback recorded, including in loops and branches."""
    plain, _consts = compat.jaxpr_parts(jaxpr)
    eqns = [_instrumented_eqn(eqn, clock) for eqn in plain.eqns]
    new = plain.replace(eqns=eqns)
    return new if jaxpr is plain else jaxpr.replace(jaxpr=new)


def _instrumented_eqn(eqn: Any, clock: _Clock) -> Any:
    kind = eqn.primitive.name
    if kind in _KINDS:
        host = eqn.params["callback"]
        function = compat.host_function_of(host)
        function = function.fn if isinstance(function, Checked) else function
        site = Callback(function_name(function), _KINDS[kind], _is_ordered(eqn))
        return eqn.replace(params={**eqn.params, "callback": clock.watched(site, host)})
    if kind == DEBUG_PRINT:  # it has a format instead of a callback (0.10.2 to 0.12.0.1)
        site = Callback(eqn.params["fmt"], "debug.print", eqn.params["ordered"])
        return _as_callback(eqn, clock.watched(site, functools.partial(_print, eqn.params)))
    params = {name: _instrumented_value(value, clock) for name, value in eqn.params.items()}
    return eqn.replace(params=params)


def _instrumented_value(value: Any, clock: _Clock) -> Any:
    if type(value) is tuple:  # not the named tuples of a gather, which contain no program
        return tuple(_instrumented_value(one, clock) for one in value)
    return _instrumented(value, clock) if hasattr(value, "eqns") or hasattr(value, "jaxpr") else value


def _is_ordered(eqn: Any) -> bool:
    return bool(eqn.params.get("ordered", "Ordered" in repr(eqn.params.get("effect"))))


def _as_callback(eqn: Any, host: Callable[..., Any]) -> Any:
    """Return a `jax.debug.callback` equation to replace a print."""
    like = [jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in eqn.invars]
    made = jax.make_jaxpr(lambda *xs: jax.debug.callback(host, *xs, ordered=eqn.params["ordered"]))(*like)
    (callback,) = compat.jaxpr_parts(made)[0].eqns
    return callback.replace(invars=eqn.invars, outvars=eqn.outvars, source_info=eqn.source_info)


def _print(params: dict[str, Any], *arrays: Any) -> None:
    """Print as `jax.debug.print` does."""
    given, static = iter(arrays), dict(params["static_args"])
    leaves = [static[i] if i in static else next(given) for i in range(len(arrays) + len(static))]
    args, kwargs = jax.tree.unflatten(params["in_tree"], leaves)
    with np.printoptions(**dict(params["np_printoptions"])):
        print(
            params["fmt"].format(*args, **kwargs)
            if params["has_placeholders"]
            else " ".join([params["fmt"], *map(str, args)])
        )


# The maximum numbers of calls that are listed and drawn.
_MOST, _MOST_DRAWN = 24, 200
_LANE, _BOX, _MARGIN, _TOP = 54, 18, 18, 24
# The axis is as long as it takes to keep two calls of a callback this far apart, within these limits: what is wider
# than a notebook's page is cut off at its right edge.
_APART, _SHORTEST, _LONGEST = 20.0, 560.0, 700.0
_TICK = 90.0


def timeline_picture(timeline: "Timeline") -> Picture:
    """Return the picture of one run of a program."""
    title = f"Host calls of {timeline.name}"
    summary = f"{title}: {_summary(timeline)}"
    lines = _lines(timeline)
    drawing = _draw(title, " ".join([summary, *lines]), timeline)
    return drawn(drawing, summary, "\n".join(lines))


def _summary(timeline: "Timeline") -> str:
    if not timeline.sites:
        return "its program has no callbacks."
    sites = plural("{count} callback", "{count} callbacks", len(timeline.sites))
    runs = plural("{count} call of {sites}.", "{count} calls of {sites}.", len(timeline.runs), sites=sites)
    back = "The call returned after {returned}, and its result was ready after {ready}."
    return f"{runs} {back.format(returned=_ms(timeline.returned_s), ready=_ms(timeline.ready_s))}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def _label(site: "Callback") -> str:
    name = repr(site.name) if site.kind == "debug.print" else site.name
    return f"{name} · {site.kind}" + (" · ordered" if site.ordered else "")


@dataclass(frozen=True)
class _Mark:
    """An event other than a host call: the program's call returned, or its result was ready."""

    start_s: float
    is_end: bool

    def __str__(self) -> str:
        return "result ready" if self.is_end else "back in Python"


def _marks(timeline: "Timeline") -> list[_Mark]:
    return [_Mark(timeline.returned_s, is_end=False), _Mark(timeline.ready_s, is_end=True)]


def _lines(timeline: "Timeline") -> list[str]:
    """Return a line for each call and event, and the number of calls that are left out."""
    found, number = [], 0
    events: list[HostRun | _Mark] = [*timeline.runs, *_marks(timeline)]
    for what in sorted(events, key=lambda what: what.start_s):
        if isinstance(what, _Mark):
            found.append(f"   - {_ms(what.start_s):>12}  {what}")
            continue
        number += 1
        if number <= _MOST:
            took = f"took {_ms(what.end_s - what.start_s)}"
            given = f"({what.given})"
            found.append(f"{number:>4} {_ms(what.start_s):>12}  {_label(what.site)}  {given}  {took}")
        elif number == _MOST + 1:
            found.append("     " + plural("{count} more call", "{count} more calls", len(timeline.runs) - _MOST))
    never = [site for site in timeline.sites if all(run.site is not site for run in timeline.runs)]
    return found + [f"never called: {_label(site)}" for site in never]


def _draw(title: str, description: str, timeline: "Timeline") -> Drawing:
    runs = timeline.runs[:_MOST_DRAWN]
    labels = [_label(site) for site in timeline.sites]
    left, length = _MARGIN, _length(timeline)
    floor = _TOP + _LANE * (len(labels) + 1)
    width = max(length + text_width("result ready", 11), max(map(text_width, labels), default=0))
    drawing = Drawing(title, description, left + width + _MARGIN, floor + 24)
    lanes = {id(site): _TOP + _LANE * (i + 2) - 14 for i, site in enumerate(timeline.sites)}

    def place(seconds: float) -> float:
        return left + length * seconds / timeline.ready_s

    for label, y in zip(labels, lanes.values(), strict=True):
        drawing.words(left, y - 26, label)
        drawing.path(f"M{left:g} {y:g} h{length:g}", dashed=True)
    python = _TOP + _LANE - 14
    drawing.words(left, python - 26, "your Python", bold=True)
    for mark in _marks(timeline):
        x = place(mark.start_s)
        drawing.path(f"M{x:g} {_TOP - 8:g} V{floor:g}", note=f"{mark}: {_ms(mark.start_s)}")
        is_left = not mark.is_end and x - text_width(str(mark), 11) > left
        drawing.words(x - 4 if is_left else x + 4, _TOP - 8, str(mark), size=11, anchor="end" if is_left else "start")
    drawing.path(f"M{left:g} {python:g} H{place(timeline.returned_s):g}")
    drawing.arrowhead(place(timeline.returned_s), python)
    numbered: dict[int, float] = {}
    for number, run in enumerate(runs, 1):
        x, y = place(run.start_s), lanes[id(run.site)]
        note = f"{number}: {_label(run.site)} ({run.given}), {_ms(run.start_s)} to {_ms(run.end_s)}"
        drawing.box(x, y - _BOX / 2, max(2.0, place(run.end_s) - x), _BOX, tone="good", note=note)
        if x - numbered.get(id(run.site), -_APART) >= _APART:  # the list has all numbers
            drawing.words(x, y - _BOX / 2 - 3, str(number), size=11)
            numbered[id(run.site)] = x
    _draw_axis(drawing, left, length, floor, timeline.ready_s * 1000)
    return drawing


def _length(timeline: "Timeline") -> float:
    """Return the length of the time axis, so that calls of one callback do not lie on each other."""
    gaps = []
    for site in timeline.sites:
        starts = [run.start_s for run in timeline.runs[:_MOST_DRAWN] if run.site is site]
        gaps += [after - before for before, after in itertools.pairwise(starts) if after > before]
    return min(max(_SHORTEST, _APART * timeline.ready_s / min(gaps, default=timeline.ready_s)), _LONGEST)


def _draw_axis(drawing: Drawing, left: float, length: float, y: float, until_ms: float) -> None:
    drawing.path(f"M{left:g} {y:g} h{length:g}")
    step = _round_step(until_ms * _TICK / length)
    for number in range(int(until_ms / step) + 1):
        x = left + length * number * step / until_ms
        drawing.path(f"M{x:g} {y:g} v5")
        drawing.words(x, y + 18, f"{number * step:g} ms", size=11, anchor="middle")


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not less.

    >>> _round_step(0.3), _round_step(12.0)
    (0.5, 20.0)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
