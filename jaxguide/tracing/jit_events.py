"""Listen to every `jax.jit` trace and every XLA compilation on the current thread."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, NamedTuple

import jax

from jaxguide import compat
from jaxguide.code.frames import is_library, is_own
from jaxguide.compat.jit_calls import clearing_codes

# Set in tests, so that errors in listeners show there and never to users.
listeners_may_raise = False

_COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


@dataclass(eq=False)
class TraceProgress:
    """The progress of a trace: `finished` is false while it runs, and stays false if it fails."""

    finished: bool = True


class JitTrace(NamedTuple):
    """A trace that `jax.jit` is about to make.

    Args:
        function: the traced function.
        args, kwargs: its arguments as passed to the jitted function; None if this version of JAX does not show them.
        options: an object that is identical in all calls of one jitted function.
        static_argnums, static_argnames: which arguments are static.
        direct: whether code outside JAX called the jitted function.
        progress: tells later whether the trace finished.
        traced: None, unless another library jits the function: then the ids of the values that it has traced.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...] | None
    kwargs: dict[str, Any] | None
    options: Any
    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    direct: bool = True
    progress: TraceProgress = TraceProgress()
    traced: frozenset[int] | None = None


class Listener:
    """An object that `hearing` notifies; by default, it ignores everything."""

    def traced(self, trace: JitTrace) -> None:
        """Handle a trace that is about to start, possibly of a function of JAX's own."""

    def compiled(self, name: str) -> None:
        """Handle a compiled program, given its name, such as `jit(step)`."""

    def cleared(self, jitted: Any) -> None:
        """Handle a clearing of caches: those of a jitted function, or all if it is None."""

    def ran(self, frame: FrameType) -> None:
        """Handle the start of a function whose code was given to `hearing`."""


_thread = threading.local()


@contextmanager
def hearing(listener: Listener, body: CodeType | None = None) -> Iterator[None]:
    """Notify the listener of what this thread traces and compiles in the `with` block; blocks may be nested.

    Based on `jax.monitoring` and `sys.monitoring`, or `sys.setprofile` before Python 3.12.

    Args:
        listener: the listener.
        body: the code of a Python function whose runs it is also told.
    """
    _place()  # it traces, which no listener should hear
    _listen_to_compiles()
    tool = _monitoring_tool()
    profiles = tool is None
    if body is not None and body not in _bodies:
        _bodies.add(body)
        if tool is not None:
            _monitoring().set_local_events(tool, body, _monitoring().events.PY_START)
    listeners = _listeners()
    previous = sys.getprofile()
    listeners.append(listener)
    if profiles and len(listeners) == 1:
        sys.setprofile(_called)
    try:
        yield
    finally:
        listeners.remove(listener)
        if profiles and not listeners:
            _set_profiler(previous)


def traced_frame(frame: FrameType | None) -> JitTrace | None:
    """Return the trace that this JAX frame starts, or None."""
    place = _place()
    if frame is None or frame.f_code is not place.code:
        return None
    values = frame.f_locals
    options = values.get(place.options)
    argnums, argnames = compat.static_arguments(options)
    args, kwargs = values.get(place.args), values.get(place.kwargs)
    direct = _is_direct(frame, place)
    return JitTrace(values[place.function], args, kwargs, options, argnums, argnames, direct, TraceProgress())


def _is_direct(frame: FrameType, place: "_TracingFunction") -> bool:
    caller: FrameType | None = frame
    while caller is not None and caller.f_code in place.chain:
        caller = caller.f_back
    return caller is None or is_own(caller.f_code.co_filename) or not is_library(caller.f_code.co_filename)


def frame_of_trace(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame, from `frame` outward, in which `jax.jit` makes a trace, or None."""
    while frame is not None and frame.f_code is not _place().code:
        frame = frame.f_back
    return frame


def _listeners() -> list[Listener]:
    if not hasattr(_thread, "listeners"):
        _thread.listeners = []
    listeners: list[Listener] = _thread.listeners
    return listeners


def _notify(tell: Callable[[Listener], None]) -> None:
    """Tell each listener of this thread; its errors must not end the program that it watches."""
    for listener in _listeners():
        try:
            tell(listener)
        except Exception:  # a user's objects may do anything when inspected
            if listeners_may_raise:
                raise


_bodies: set[CodeType] = set()


def _monitoring() -> Any:
    return getattr(sys, "monitoring", None)  # since Python 3.12


@functools.cache
def _monitoring_tool() -> int | None:
    """Have `sys.monitoring` report each trace, on every thread, at no cost to other code; return its id, or None."""
    monitoring = _monitoring()
    if monitoring is None:
        return None
    tool: int | None = next((number for number in (3, 4) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return None
    monitoring.use_tool_id(tool, "jaxguide")
    events = monitoring.events
    monitoring.register_callback(tool, events.PY_START, lambda code, _: _started(sys._getframe(1)))
    # PY_RETURN occurs when the trace finishes, not when it raises.
    monitoring.register_callback(tool, events.PY_RETURN, lambda code, *_: _end(sys._getframe(1)))
    monitoring.set_local_events(tool, _place().body, events.PY_START | events.PY_RETURN)
    for code in clearing_codes():
        monitoring.set_local_events(tool, code, events.PY_START)
    return tool


def _called(frame: FrameType, event: str, returned: Any) -> None:
    """Handle each call of a Python function, as a profiler."""
    if event == "call":
        _started(frame)
    elif event == "return" and frame.f_code is _place().body and returned is not None:  # None if it raised
        _end(frame)


def _started(frame: FrameType) -> None:
    """Handle the start of one of JAX's functions."""
    if frame.f_code is _place().body:
        _tell(frame)
    elif frame.f_code in clearing_codes():
        jitted = next((value for value in frame.f_locals.values() if hasattr(value, "clear_cache")), None)
        _notify(lambda listener: listener.cleared(jitted))
    elif frame.f_code in _bodies:
        _notify(lambda listener: listener.ran(frame))


def _tell(frame: FrameType) -> None:
    _running().pop(id(frame), None)
    if not _listeners():
        return
    trace = traced_frame(frame if frame.f_code is _place().code else frame.f_back)
    if trace is not None:
        trace.progress.finished = False
        _running()[id(frame)] = trace.progress
        _notify(lambda listener: listener.traced(trace))


def _end(frame: FrameType) -> None:
    progress = _running().pop(id(frame), None)
    if progress is not None:
        progress.finished = True


def _running() -> dict[int, TraceProgress]:
    """Return this thread's running traces by the id of JAX's frame; a failed one stays until its id is reused."""
    if not hasattr(_thread, "running"):
        _thread.running = {}
    running: dict[int, TraceProgress] = _thread.running
    return running


def _set_profiler(previous: Any) -> None:
    # Up to Python 3.11, `cProfile` can only be set as the profiler by its `enable` method.
    if previous is None or callable(previous):
        sys.setprofile(previous)
    else:
        sys.setprofile(None)
        previous.enable()


@functools.cache
def _listen_to_compiles() -> None:
    """Start listening to JAX's compile events, only once, because there is no public way to stop."""

    def on_event(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == _COMPILE_EVENT:
            _notify(lambda listener: listener.compiled(str(kwargs.get("fun_name"))))

    jax.monitoring.register_event_duration_secs_listener(on_event)


class _TracingFunction(NamedTuple):
    """The JAX function that performs `jax.jit` tracing: its code, it and its callers in JAX, its parameters' names.

    JAX has a second cache below it: `body` is the code that only runs if that has no trace either.
    """

    code: CodeType
    body: CodeType
    chain: frozenset[CodeType]
    function: str
    args: str
    kwargs: str
    options: str


@functools.cache
def _place() -> _TracingFunction:
    """Find the JAX function that `jax.jit` calls for each trace, with the function to trace.

    Found by experiment rather than by name, because JAX's internals move: of the functions between a traced body and
    its caller, the innermost that no other transformation uses; and of its parameters, those that hold the arguments.
    """
    loops = (
        lambda probe, x: jax.lax.scan(lambda c, y: (probe(c), y), 0.0, x),
        lambda probe, x: jax.lax.cond(x[0] > 0, probe, lambda y: y, x),
        lambda probe, x: jax.lax.while_loop(lambda c: probe(c)[0] > 0, lambda c: c, x),
    )
    others = (jax.vmap, jax.checkpoint, lambda probe: jax.grad(lambda y: probe(y).sum()))
    ours = _between(lambda probe, x: jax.jit(probe)(x))
    theirs = {code for use in loops for code in _between(use)}
    theirs.update(code for other in others for code in _between(lambda probe, x, other=other: other(probe)(x)))
    code = next(code for code in ours if code not in theirs)
    number = ours.index(code)
    return _TracingFunction(code, ours[max(number - 1, 0)], frozenset(ours[number:]), *_parameters(code))


def _between(use: Callable[..., Any]) -> list[CodeType]:
    """Return JAX's functions, innermost first, between a probe and the code in this file that calls it."""
    chain: list[CodeType] = []

    def probe(value: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_code.co_filename != __file__ and frame.f_back is not None:
            chain.append(frame.f_code)
            frame = frame.f_back
        return value

    jax.make_jaxpr(lambda x: use(probe, x))(jax.ShapeDtypeStruct((2,), "float32"))
    return chain


def _parameters(code: CodeType) -> tuple[str, str, str, str]:
    """Return the names of the parameters that hold the function, its args, its kwargs and the options of `jax.jit`.

    Names that are not found are empty.
    """
    found: dict[str, str] = {}

    def probe(value: Any, kind: str, *, scale: Any) -> Any:
        return value

    def called(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is code and any(value is probe for value in frame.f_locals.values()):
            for name, value in frame.f_locals.items():
                if value is probe:
                    found["function"] = name
                elif isinstance(value, tuple) and len(value) == 2 and value[1] == "static":
                    found["args"] = name
                elif isinstance(value, dict) and set(value) == {"scale"}:
                    found["kwargs"] = name
                elif compat.static_arguments(value) == ((1,), ("kind",)):
                    found["options"] = name

    def use(x: Any) -> Any:
        return jax.jit(probe, static_argnums=1)(x, "static", scale=x)

    previous = sys.getprofile()
    sys.setprofile(called)
    try:
        jax.make_jaxpr(use)(jax.ShapeDtypeStruct((2,), "float32"))
    finally:
        _set_profiler(previous)
    return found["function"], found.get("args", ""), found.get("kwargs", ""), found.get("options", "")
