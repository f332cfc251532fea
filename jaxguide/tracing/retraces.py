"""Watch what a block of code traces and compiles, how often, and why it does so again."""

import functools
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType, FunctionType, MethodType
from typing import Any

from jaxguide.base.render.card import STATELESS, CardFace, Code, Part, Prose
from jaxguide.base.render.card_html import card_html
from jaxguide.base.text import plural
from jaxguide.code.frames import is_library, is_own
from jaxguide.code.lines import Line, calling_line, function_name
from jaxguide.compat.jit_calls import (
    EAGER_LOOPS,
    JitCall,
    call_of_jit,
    caller_of_jit,
    frame_of_jit,
    is_frame_of_loop,
    jit_call,
    known_calls,
    traced_call,
)
from jaxguide.jaxpr.arguments import require_jit
from jaxguide.tracing.differences import Difference, closest_differences
from jaxguide.tracing.functions import function_key, is_jitted, is_users, users_part
from jaxguide.tracing.jit_events import hearing
from jaxguide.tracing.signatures import Signature, TracedFunction, signature, transformation_of
from jaxguide.tracing.wrapped_calls import package_of_function, users_call

_SHOWN = 8  # retraces printed of each function
_ARGUMENTS = 4  # arguments printed of the first trace
_UNNAMED = "jit(<unnamed function>)"  # what JAX calls programs of objects without a name (0.10.2 to 0.12.0.1)
_GONE = Difference(
    "its call is the same as an earlier one, of which JAX has no trace: that trace failed, or the caches were cleared",
    "fix the error in the earlier call, and do not clear the caches",
)
_OF_LOOP = (
    "define it once, outside the loop, and pass whatever changes in its arguments, or jit the function that calls it "
    "and call that"
)
_EXPECT_ONE = "expect one compile for each transformation, and for each size of a `vmap`: pad its batches to one size"
_PROGRAMS = ("jit(scan)", "jit(while)", "jit(cond)")  # of `EAGER_LOOPS` that are called outside of `jax.jit`


@dataclass(frozen=True)
class Retrace:
    """Another trace of a function that had been traced before, or another compile without a new trace.

    Args:
        function: the function's name as printed, in backticks.
        line: the user's line whose call caused it, or None.
        differences: how the call differs from the most similar earlier one, with remedies; empty if the reason is not
            known.
        done: "traced again", or "compiled without a new trace".
    """

    function: str
    line: Line | None
    differences: tuple[Difference, ...]
    done: str = "traced again"

    @property
    def reason(self) -> str:
        """Return why it was done again, without a full stop."""
        told = "; ".join(difference.text for difference in self.differences)
        return told or "its call is the same as an earlier one, and the reason is not known"

    @property
    def remedy(self) -> str:
        """Return what to do about it, without a full stop."""
        found = dict.fromkeys(difference.remedy for difference in self.differences)
        return "; ".join(found) or "read what JAX logs with `jax.config.update('jax_explain_cache_misses', True)`"

    def __str__(self) -> str:
        return _capital(f"{self.function} was {self.done}{_at(self.line)}: {self.reason}.")


@dataclass
class FunctionTraces:
    """What happened to one function while it was watched.

    Args:
        name: its name as the user wrote it; a lambda is identified by its line.
        traces: how often it was traced by `jax.jit`, or by a loop such as `jax.lax.scan` outside of it.
        compiles: how many programs were compiled from it; 0 if it only runs inside other jitted functions.
        retraces: each trace after the first, with its reason.
        recompiles: each compile without a new trace, with its reason.
        first: where it was traced first in the block, and for which arguments; empty if it was not.
        by: what traces it: "jit", or the loop, such as "scan".
        trace_s, compile_s: how long that took; traces inside other traces count as part of those.
    """

    name: str
    traces: int = 0
    compiles: int = 0
    retraces: list[Retrace] = field(default_factory=list)
    recompiles: list[Retrace] = field(default_factory=list)
    first: str = ""
    by: str = "jit"
    trace_s: float = 0.0
    compile_s: float = 0.0

    def _counts(self) -> str:
        traces = plural("{count} trace", "{count} traces", self.traces)
        compiles = plural("{count} compile", "{count} compiles", self.compiles)
        return _capital(f"{self.name}: {traces}{_took(self.trace_s)}, {compiles}{_took(self.compile_s)}")

    def _shown_again(self) -> Iterator[tuple[str, Retrace | None]]:
        """Yield a sentence for each thing that was done again, the same ones once, and for those that are left out."""
        for again in (Counter(self.retraces), Counter(self.recompiles)):
            shown = list(again.items())[:_SHOWN]
            for one, count in shown:
                yield f"{one} ({count} times)" if count > 1 else str(one), one
            left = again.total() - sum(count for _, count in shown)
            if left:
                yield f"... and {left} more", None

    def __str__(self) -> str:
        lines = [self._counts(), *([f"  {self.first}"] if self.first else [])]
        for sentence, one in self._shown_again():
            lines += [f"  {sentence}", *([f"    What to do: {one.remedy}."] if one is not None else [])]
        return "\n".join(lines)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of a card that say the same, with the code that was called."""
        yield Prose("", self._counts())
        yield from [Prose(self.first)] if self.first else []
        for sentence, one in self._shown_again():
            yield Prose(sentence)
            if one is not None:
                source = one.line.text() if one.line is not None else None
                yield from [Code(source, is_python=True)] if source else []
                yield Prose(f"{one.remedy}.", "What to do:")


@dataclass(repr=False)
class Traces:
    """The report of `watch_traces`: each of the user's functions that was traced or compiled, in order.

    `str` gives the report as text. Index it by a function's name, as printed but without backticks.
    """

    functions: list[FunctionTraces] = field(default_factory=list)

    @property
    def traces(self) -> int:
        """Return the total number of traces of the user's functions."""
        return sum(one.traces for one in self.functions)

    @property
    def compiles(self) -> int:
        """Return the total number of programs compiled from the user's functions."""
        return sum(one.compiles for one in self.functions)

    @property
    def retraces(self) -> list[Retrace]:
        """Return every trace after the first of each function."""
        return [retrace for one in self.functions for retrace in one.retraces]

    def __getitem__(self, name: str) -> FunctionTraces:
        for one in self.functions:
            if one.name.strip("`") == name:
                return one
        seen = ", ".join(one.name for one in self.functions) or "nothing"
        raise KeyError(f"`{name}` was not traced; this block traced {seen}.")

    def __iter__(self) -> Iterator[FunctionTraces]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __str__(self) -> str:
        return "\n".join(map(str, self.functions)) or "Nothing was traced."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        badge = replace(STATELESS, tone="partly" if self.retraces else "quiet")
        parts = tuple(part for one in self.functions for part in one.parts()) or (Prose(str(self)),)
        return card_html(CardFace(badge, "", parts=parts))


@contextmanager
def watch_traces() -> Iterator[Traces]:
    """Report which of your functions JAX traces and compiles in a `with` block, and why it does so again.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> step = jax.jit(lambda x, lr: x - lr * x)
    >>> with watch_traces() as traces:
    ...     for n in (3, 4, 3):
    ...         _ = step(jnp.ones(n), 0.1)
    >>> print(traces)
    The lambda at ..., line 1: 2 traces in ... ms, 2 compiles in ... ms
      First traced at ..., line 3, for `x`: float32[3], `lr`: a Python float (weakly typed float32[]).
      The lambda at ..., line 1 was traced again at ..., line 3: argument `x` was float32[3] and is now float32[4].
        What to do: call it with arrays of one shape: pad `x` to the largest with `jnp.pad` and mask the padding.
    >>> traces.traces
    2

    JAX traces a jitted function again if its call has something new: a shape, dtype or weak type, another value of a
    static argument, another pytree structure, or another function object, such as a lambda created in a loop. Calls are
    compared argument by argument, also with those before the block of which JAX still has a trace.

    Counts what this thread does in the block, including jitted functions inside others, and under `vmap` and `grad`,
    which share one trace. The functions of `jax.lax.scan`, `while_loop` and the like count if they are called outside
    of `jax.jit`. What JAX and other libraries jit for themselves is left out, and so are traces of this package's other
    helpers. Functions of yours that a library jits, as with `equinox.filter_jit` or `flax.nnx.jit`, count.

    Based on the hook with which JAX tests its caches, and on the events of `jax.monitoring`.

    Yields:
        The report, which is filled in while the block runs.

    Raises:
        RuntimeError: `jax_disable_jit` is on.
    """
    require_jit("watch_traces")
    watch = Watch()
    with hearing(watch):
        yield watch.report


@dataclass
class _History:
    """What was heard of the functions of one key."""

    found: FunctionTraces
    program: str  # what JAX calls its programs
    traced: list[Signature] = field(default_factory=list)
    compiled: list[Signature] = field(default_factory=list)
    uncompiled: int = 0  # traces since the last compile


class Watch:
    """Listen to hooks and write the report."""

    def __init__(self) -> None:
        self.report = Traces()
        self._histories: dict[object, _History] = {}
        self._loop: _History | None = None  # of the function of a loop outside of `jax.jit` that was traced last

    def traced(self, frame: FrameType) -> None:
        call = traced_call(frame)
        if call is None:
            return
        is_loop = call.traced_for in EAGER_LOOPS
        if is_loop:
            users = _function_of_loop(call, frame)
            if users is None or frame_of_jit(frame) is not None:
                return
            if users is not call.function:  # JAX made another one of it
                call = call._replace(function=users, args=(), kwargs={"inputs": call.args})
        call, ids = users_call(call, frame)
        if not is_loop and not _is_users(call, ids is not None, frame):
            return
        new = signature(call, ids)
        history = self._of(new.function)
        history.found.by = call.traced_for
        history.found.traces += 1
        history.uncompiled += 1
        earlier = history.traced or ([] if ids is not None else _before_the_block(call, new))
        if earlier:
            found = closest_differences(new, earlier) or [_GONE]
            if is_loop:
                found = [one._replace(remedy=_OF_LOOP) if "object is new" in one.text else one for one in found]
            history.found.retraces.append(Retrace(new.function.name, calling_line(), tuple(found)))
        else:
            history.found.first = _first(new, f" by `{call.traced_for}`, outside of `jax.jit`," if is_loop else "")
        history.traced.append(new)
        if is_loop:
            self._loop = history

    def timed(self, seconds: float) -> None:
        frame = frame_of_jit(sys._getframe(1))
        if frame is not None:
            call, _ids = users_call(call_of_jit(frame), frame)
            history = self._histories.get(function_key(call.function))
            if history is not None:
                history.found.trace_s += seconds

    def compiled(self, name: str, seconds: float) -> None:
        frame = sys._getframe(1)
        call = jit_call(frame)
        if name in _PROGRAMS and self._loop is not None:
            self._count_compile(self._loop, seconds, None, "")
            self._loop = None
        elif call is not None and name in (f"jit({function_name(call.function)})", _UNNAMED):
            call, ids = users_call(call, frame)
            is_mine = package_of_function(call.function) is None and is_users(call.function)
            if ids is not None or is_mine or function_key(call.function) in self._histories:
                new, by = signature(call, ids), transformation_of(call)
                told = f"it was called under {by}" if by else ""
                self._count_compile(self._of(new.function), seconds, None if by else new, told)
        else:
            history = next((one for one in self._histories.values() if one.program == name), None)
            if history is not None:
                told = "it was compiled outside of its calls, as the backward pass of a derivative is"
                self._count_compile(history, seconds, None, told)

    def _count_compile(self, history: _History, seconds: float, new: Signature | None, told: str) -> None:
        """Count a compile: of a call without a transformation, or for what is told."""
        history.found.compiles += 1
        history.found.compile_s += seconds
        if history.uncompiled:
            history.uncompiled -= 1
        elif history.found.compiles > 1 or told:
            if new is not None and not history.compiled:
                told = "it was compiled under a transformation before and is now called without it"
            known = [Difference(told, _EXPECT_ONE)] if told else []
            if new is not None and history.compiled:
                known = closest_differences(new, history.compiled, compiled=True)
            again = Retrace(history.found.name, calling_line(), tuple(known), "compiled without a new trace")
            history.found.recompiles.append(again)
        if new is not None:
            history.compiled.append(new)

    def counted(self, body: FunctionType) -> list[FunctionTraces]:
        """Return what was traced that runs this Python function."""
        known = self._histories.values()
        return [one.found for one in known if any(call.function.written() is body for call in one.traced)]

    def _of(self, function: TracedFunction) -> _History:
        if function.key not in self._histories:
            self._histories[function.key] = _History(FunctionTraces(function.name), function.program)
            self.report.functions.append(self._histories[function.key].found)
        return self._histories[function.key]


def _function_of_loop(call: JitCall, frame: FrameType) -> Any:
    """Return the user's function that a loop traces, or None; some loops keep it only in their frame."""
    found = users_part(call.function)
    while found is None and frame.f_back is not None and is_frame_of_loop(frame):
        frame = frame.f_back
        found = next((value for value in frame.f_locals.values() if callable(value) and is_users(value)), None)
    return found


def _before_the_block(call: JitCall, new: Signature) -> list[Signature]:
    """Return the other calls of a function of which JAX has a trace."""
    known = [
        signature(call._replace(args=one.args, kwargs=one.kwargs), settings=context)
        for one, context in known_calls(call.function)
    ]
    return [one for one in known if closest_differences(new, [one])]


def _first(new: Signature, by: str) -> str:
    told = [f"`{name}`: {tree}" for name, tree in list(new.arguments.items())[:_ARGUMENTS]]
    more = len(new.arguments) - len(told)
    told += [plural("{count} more argument", "{count} more arguments", more)] if more else []
    return f"First traced{by}{_at(calling_line())}{', for ' * bool(told)}{', '.join(told)}."


def _at(line: Line | None) -> str:
    return "" if line is None else f" at {line}"


def _is_users(call: JitCall, is_wrapped: bool, frame: FrameType) -> bool:
    """Return whether the user jits a function, or a library that got it from the user, which `is_wrapped` says."""
    function: Any = call.function
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    if is_wrapped:
        return package_of_function(function) is None or not isinstance(function, FunctionType)
    caller = caller_of_jit(frame)
    if caller is not None and is_library(caller.f_code.co_filename) and not is_own(caller.f_code.co_filename):
        return package_of_function(function) is None and is_users(function)
    home = sys.modules.get(getattr(function, "__module__", None) or "")
    return is_users(function) or not is_jitted(getattr(home, getattr(function, "__name__", ""), None))


def _took(seconds: float) -> str:
    if not seconds:
        return ""
    return f" in {seconds:.1f} s" if seconds >= 1 else f" in {1000 * seconds:.0f} ms"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
