"""Run a program once and show each call to the host with its time, with `callback_timeline`."""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

from jaxguide import compat
from jaxguide.base.render import Drawing, Picture, drawn
from jaxguide.base.render.svg import text_width
from jaxguide.base.text import plural
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

    def __str__(self) -> str:
        name = repr(self.name) if self.kind == "debug.print" else self.name
        return f"{name} · {self.kind}" + (" · ordered" if self.ordered else "")


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
    staged = stage(fn, args, kwargs)
    clock = _Clock()
    program = jax.jit(jaxpr_as_fun(_instrumented(staged.jaxpr, clock))).lower(*staged.arguments).compile()
    clock.zero = time.perf_counter()
    flat = program(*staged.arguments)
    returned_s = clock.now()
    jax.block_until_ready(flat)
    jax.effects_barrier()
    ready_s = clock.now()
    result = jax.tree.unflatten(jax.tree.structure(staged.result), flat)
    runs = tuple(sorted(clock.runs, key=lambda run: run.start_s))
    return Timeline(function_name(fn), tuple(clock.sites), runs, returned_s, ready_s, result)


@dataclass
class _Clock:
    """The callbacks of a program, the calls of each, and the time when the program was called."""

    sites: list[Callback] = field(default_factory=list)
    runs: list[HostRun] = field(default_factory=list)
    zero: float = 0.0

    def now(self) -> float:
        return time.perf_counter() - self.zero

    def watched(self, site: Callback, host: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a host function so that its calls are recorded."""
        self.sites.append(site)

        def run(*args: Any) -> Any:
            start_s = self.now()
            try:
                return host(*args)
            finally:
                self.runs.append(HostRun(site, ", ".join(map(array_type, args)), start_s, self.now()))

        return run


def _instrumented(jaxpr: Any, clock: _Clock) -> Any:
    """Return a jaxpr, closed or not, with every callback recorded, including in loops and branches."""
    plain, _consts = compat.jaxpr_parts(jaxpr)
    new = plain.replace(eqns=[_instrumented_eqn(eqn, clock) for eqn in plain.eqns])
    return new if jaxpr is plain else jaxpr.replace(jaxpr=new)


def _instrumented_eqn(eqn: Any, clock: _Clock) -> Any:
    kind = eqn.primitive.name
    if kind in _KINDS:
        host = eqn.params["callback"]
        ordered = eqn.params.get("ordered", "Ordered" in repr(eqn.params.get("effect")))
        site = Callback(function_name(compat.host_function_of(host)), _KINDS[kind], bool(ordered))
        return eqn.replace(params={**eqn.params, "callback": clock.watched(site, host)})
    if kind == DEBUG_PRINT:  # it has a format instead of a callback (0.10.2 to 0.12.0.1)
        site = Callback(eqn.params["fmt"], "debug.print", eqn.params["ordered"])
        return _as_callback(eqn, clock.watched(site, functools.partial(eqn.primitive.impl, **eqn.params)))
    return eqn.replace(params={name: _instrumented_value(value, clock) for name, value in eqn.params.items()})


def _instrumented_value(value: Any, clock: _Clock) -> Any:
    if type(value) is tuple:  # not the named tuples of a gather, which contain no program
        return tuple(_instrumented_value(one, clock) for one in value)
    return _instrumented(value, clock) if hasattr(value, "eqns") or hasattr(value, "jaxpr") else value


def _as_callback(eqn: Any, host: Callable[..., Any]) -> Any:
    """Return a `jax.debug.callback` equation to replace a print."""
    like = [jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in eqn.invars]
    made = jax.make_jaxpr(lambda *xs: jax.debug.callback(host, *xs, ordered=eqn.params["ordered"]))(*like)
    (callback,) = compat.jaxpr_parts(made)[0].eqns
    return callback.replace(invars=eqn.invars, outvars=eqn.outvars, source_info=eqn.source_info)


# The maximum numbers of calls that are listed and drawn.
_MOST, _MOST_DRAWN = 24, 200


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def _marks(timeline: Timeline) -> list[tuple[float, str]]:
    """Return the events other than calls."""
    return [(timeline.returned_s, "back in Python"), (timeline.ready_s, "result ready")]


def _lines(timeline: Timeline) -> list[str]:
    """Return a line for each call and event, and the number of calls that are left out."""
    found = [(seconds, f"   - {_ms(seconds):>12}  {words}") for seconds, words in _marks(timeline)]
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
    labels = list(map(str, timeline.sites))
    floor = _TOP + _LANE * (len(labels) + 1)
    width = max([_AXIS + text_width("result ready", 11), *map(text_width, labels)])
    drawing = Drawing(title, description, _MARGIN + width + _MARGIN, floor + 24)
    lanes = {id(site): _TOP + _LANE * (i + 2) - 14 for i, site in enumerate(timeline.sites)}

    def place(seconds: float) -> float:
        return _MARGIN + _AXIS * seconds / timeline.ready_s

    for label, y in zip(labels, lanes.values(), strict=True):
        drawing.words(_MARGIN, y - 26, label)
        drawing.path(f"M{_MARGIN} {y} h{_AXIS:g}", dashed=True)
    python = _TOP + _LANE - 14
    drawing.words(_MARGIN, python - 26, "your Python", bold=True)
    drawing.path(f"M{_MARGIN} {python} H{place(timeline.returned_s):g}")
    drawing.arrowhead(place(timeline.returned_s), python)
    for (seconds, words), anchor in zip(_marks(timeline), ("end", "start"), strict=True):
        x = place(seconds)
        drawing.path(f"M{x:g} {_TOP - 8} V{floor}", note=f"{words}: {_ms(seconds)}")
        anchor = anchor if x - text_width(words, 11) > _MARGIN else "start"
        drawing.words(x - 4 if anchor == "end" else x + 4, _TOP - 8, words, size=11, anchor=anchor)
    for number, run in enumerate(timeline.runs[:_MOST_DRAWN], 1):
        x, y = place(run.start_s), lanes[id(run.site)]
        note = f"{number}: {run.site} ({run.given}), {_ms(run.start_s)} to {_ms(run.end_s)}"
        drawing.box(x, y - _BOX / 2, max(2.0, place(run.end_s) - x), _BOX, tone="good", note=note)
    _draw_axis(drawing, floor, timeline.ready_s * 1000)
    return drawing


def _draw_axis(drawing: Drawing, y: float, until_ms: float) -> None:
    drawing.path(f"M{_MARGIN} {y:g} h{_AXIS:g}")
    power = 10.0 ** math.floor(math.log10(until_ms / 7))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= until_ms / 7)
    for number in range(int(until_ms / step) + 1):
        x = _MARGIN + _AXIS * number * step / until_ms
        drawing.path(f"M{x:g} {y:g} v5")
        drawing.words(x, y + 18, f"{number * step:g} ms", size=11, anchor="middle")
