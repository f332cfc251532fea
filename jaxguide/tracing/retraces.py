"""Watch what a block of code traces and compiles, how often, and why it does so again."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jaxguide.base.text import _, plural
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, calling_line, function_name
from jaxguide.tracing.functions import is_jitted
from jaxguide.tracing.jit_events import JitTrace, TraceProgress, hearing
from jaxguide.tracing.signature_differences import Difference, closest_differences
from jaxguide.tracing.signatures import Signature, function_key, name_of, signature
from jaxguide.tracing.trace_counting import is_users

_SHOWN = 8  # retraces printed of each function


@dataclass(frozen=True)
class Retrace:
    """Another trace of a function that had been traced before.

    Args:
        function: the function's name as printed, in backticks.
        line: the user's line whose call caused it, or None.
        differences: how the call differs from the most similar earlier one, with remedies; empty if the call is the
            same and JAX no longer had the trace (an earlier trace that failed counts as a difference).
    """

    function: str
    line: Line | None
    differences: tuple[Difference, ...]

    @property
    def reason(self) -> str:
        """Return why it was traced again, without a full stop."""
        if self.differences:
            return "; ".join(difference.text for difference in self.differences)
        return _("its call is the same, so JAX's caches were cleared, or a context such as the mesh has changed")

    @property
    def remedy(self) -> str:
        """Return what to do about it, without a full stop."""
        found = dict.fromkeys(difference.remedy for difference in self.differences)
        return "; ".join(found) or _("do not clear the caches, and stay in one context")

    def __str__(self) -> str:
        sentence = _("{function} was traced again at {line}: {reason}.")
        if self.line is None:
            sentence = _("{function} was traced again: {reason}.")
        return _capital(sentence.format(function=self.function, line=self.line, reason=self.reason))


@dataclass
class FunctionTraces:
    """What happened to one function while it was watched.

    Args:
        name: its name as the user wrote it; a lambda is identified by its line.
        traces: how often `jax.jit` traced it.
        compiles: how many programs were compiled from it; 0 if it only runs inside other jitted functions.
        retraces: each trace after the first, with its reason.
        recompiles: the lines that caused another compile without a new trace.
    """

    name: str
    traces: int = 0
    compiles: int = 0
    retraces: list[Retrace] = field(default_factory=list)
    recompiles: list[Line | None] = field(default_factory=list)

    def __str__(self) -> str:
        counted = [plural("{count} trace", "{count} traces", self.traces)]
        counted.append(plural("{count} compile", "{count} compiles", self.compiles))
        lines = [_capital(f"{self.name}: {', '.join(counted)}")]
        said = Counter((str(retrace), retrace.remedy) for retrace in self.retraces)
        for (sentence, remedy), count in list(said.items())[:_SHOWN]:
            lines.append(f"  {sentence}" if count == 1 else f"  {sentence} " + _("({count} times)").format(count=count))
            lines.append("    " + _("What to do: {remedy}.").format(remedy=remedy))
        more = sum(list(said.values())[_SHOWN:])
        if more:
            lines.append("  " + plural("... and {count} more retrace", "... and {count} more retraces", more))
        if self.recompiles:
            where = ", ".join(dict.fromkeys(str(line) for line in self.recompiles[:_SHOWN] if line is not None))
            words = _("compiled without a new trace, because of `vmap`, `grad`, or another device or sharding")
            lines.append(f"  {words}: {where}" if where else f"  {words}")
        return "\n".join(lines)


@dataclass(repr=False)
class Traces:
    """The report of `watch_traces`: each of the user's functions that was traced or compiled, in order.

    `str` gives the report as text. Index it by a function's name, as printed but without backticks.
    """

    functions: list[FunctionTraces] = field(default_factory=list)

    @property
    def traces(self) -> int:
        """Return the total number of traces."""
        return sum(one.traces for one in self.functions)

    @property
    def compiles(self) -> int:
        """Return the total number of compiled programs."""
        return sum(one.compiles for one in self.functions)

    @property
    def retraces(self) -> list[Retrace]:
        """Return every trace after the first of each function."""
        return [retrace for one in self.functions for retrace in one.retraces]

    def __getitem__(self, name: str) -> FunctionTraces:
        for one in self.functions:
            if one.name.strip("`") == name:
                return one
        if not self.functions:
            raise KeyError(_("`{name}` was not traced: this block traced nothing.").format(name=name))
        seen = ", ".join(one.name for one in self.functions)
        raise KeyError(_("`{name}` was not traced; this block traced {seen}.").format(name=name, seen=seen))

    def __iter__(self) -> Iterator[FunctionTraces]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __str__(self) -> str:
        return "\n".join(map(str, self.functions)) or _("Nothing was traced.")

    __repr__ = __str__


@contextmanager
def watch_traces() -> Iterator[Traces]:
    """Report which of your functions `jax.jit` traces and compiles in a `with` block, and why it does so again.

    JAX traces a jitted function again if its call has something new: a shape, dtype or weak type, another value of a
    static argument, another pytree structure, or another function object, such as a lambda created in a loop. This
    helper compares calls argument by argument, so it finds reasons that `jax_explain_cache_misses` does not.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> step = jax.jit(lambda x, lr: x - lr * x)
    >>> with watch_traces() as traces:
    ...     for n in (3, 4, 3):
    ...         _ = step(jnp.ones(n), 0.1)
    >>> print(traces)
    The lambda at ..., line 1: 2 traces, 2 compiles
      The lambda at ..., line 1 was traced again at ..., line 3: argument `x` was float32[3] and is now float32[4].
        What to do: call it with arrays of one shape: pad `x` to the largest with `jnp.pad` and mask the padding.
    >>> traces.traces
    2

    Counts what this thread does in the block, including jitted functions inside others, and under `vmap` and `grad`,
    which share one trace. A function traced before the block is not traced again for a call that JAX knows; the first
    trace in the block counts as its first. Functions that JAX and other libraries jit themselves are left out.

    Based on `sys.monitoring`, which reports when JAX starts a trace, and on the events of `jax.monitoring`. Python 3.11
    uses `sys.setprofile` instead: Python is slower in the block, and other profilers are suspended.

    Yields:
        The report, which is filled in while the block runs.
    """
    watch = _Watch()
    try:
        with hearing(watch):
            yield watch.report
    finally:
        watch.forget()


class _Watch:
    """Listen to hooks and write the report."""

    def __init__(self) -> None:
        self.report = Traces()
        self._found: dict[tuple[Any, ...], FunctionTraces] = {}
        self._seen: dict[tuple[Any, ...], list[Signature]] = {}
        self._uncompiled: dict[tuple[Any, ...], list[TraceProgress]] = {}

    def traced(self, trace: JitTrace) -> None:
        if not _is_users_trace(trace):
            return
        key = function_key(trace.function)
        found = self._of(trace.function)
        found.traces += 1
        self._uncompiled.setdefault(key, []).append(trace.progress)
        new = signature(trace)
        earlier = self._seen.setdefault(key, [])
        if earlier:
            found.retraces.append(Retrace(found.name, calling_line(), tuple(closest_differences(new, earlier))))
        earlier.append(new)

    def compiled(self, name: str) -> None:
        function = self._function_in_compile(name)
        if function is None:
            return
        key = function_key(function)
        found = self._of(function)
        found.compiles += 1
        waiting = self._uncompiled.get(key, [])
        traced = next((progress for progress in waiting if progress.finished), None)
        if traced is None:
            found.recompiles.append(calling_line())
        else:
            waiting.remove(traced)

    def forget(self) -> None:
        """Drop the functions and static values that were compared."""
        self._seen.clear()

    def _function_in_compile(self, name: str) -> Any:
        """Return the user's function whose program of this name is being compiled; JAX's frames hold it."""
        frame = sys._getframe(2)
        while frame is not None and (outer := frame.f_back) is not None:
            if is_library(frame.f_code.co_filename):
                for value in frame.f_locals.values():
                    if callable(value) and f"jit({function_name(value)})" == name and self._is_known(value):
                        return value
            frame = outer
        return None

    def _is_known(self, function: Any) -> bool:
        return function_key(function) in self._found or is_users(function)

    def _of(self, function: Any) -> FunctionTraces:
        key = function_key(function)
        if key not in self._found:
            self._found[key] = FunctionTraces(name_of(function))
            self.report.functions.append(self._found[key])
        return self._found[key]


def _is_users_trace(trace: JitTrace) -> bool:
    """Return whether the user jitted this function: it is theirs, or a library's that they passed to `jax.jit`."""
    function = trace.function
    if is_users(function):
        return True
    home = sys.modules.get(getattr(function, "__module__", None) or "")
    return trace.direct and not is_jitted(getattr(home, getattr(function, "__name__", ""), None))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
