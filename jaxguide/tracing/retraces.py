"""Watch what a block of code traces and compiles, how often, and why it does so again."""

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType, MethodType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.base.render.card import STATELESS, CardFace, Code, Part, Prose
from jaxguide.base.render.card_html import card_html
from jaxguide.base.text import plural
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line, calling_line, function_name
from jaxguide.compat.jit_calls import JitCall, is_differentiating_backward, jit_call
from jaxguide.jaxpr.arguments import require_jit
from jaxguide.tracing.functions import function_key, is_jitted
from jaxguide.tracing.jit_events import JitTrace, Listener, frame_of_trace, hearing
from jaxguide.tracing.signature_differences import Difference, closest_differences, closest_placements, differences
from jaxguide.tracing.signatures import Signature, TracedFunction, signature
from jaxguide.tracing.trace_counting import is_users
from jaxguide.tracing.wrapped_calls import package_of_function, users_call

_SHOWN = 8  # retraces printed of each function
_UNNAMED = "jit(<unnamed function>)"  # what JAX calls programs of objects without a name (0.10.2 to 0.12.0.1)


@dataclass(frozen=True)
class _Again:
    """Something that JAX did again.

    Args:
        function: the function's name as printed, in backticks.
        line: the user's line whose call caused it, or None.
        differences: how the call differs from the most similar earlier one, with remedies; empty if no difference is
            known.
    """

    function: str
    line: Line | None
    differences: tuple[Difference, ...]

    @property
    def reason(self) -> str:
        """Return why it was done again, without a full stop."""
        if self.differences:
            return "; ".join(difference.text for difference in self.differences)
        return "its call is the same as an earlier one, and the reason is not known"

    @property
    def remedy(self) -> str:
        """Return what to do about it, without a full stop."""
        found = dict.fromkeys(difference.remedy for difference in self.differences)
        return "; ".join(found) or "read what JAX logs with `jax.config.update('jax_explain_cache_misses', True)`"


@dataclass(frozen=True)
class Retrace(_Again):
    """Another trace of a function that had been traced before.

    Args:
        function: the function's name as printed, in backticks.
        line: the user's line whose call caused it, or None.
        differences: how the call differs from the most similar earlier one, with remedies. A trace that failed and
            caches that were cleared count as differences; empty if the reason is not known.
    """

    def __str__(self) -> str:
        sentence = "{function} was traced again at {line}: {reason}."
        if self.line is None:
            sentence = "{function} was traced again: {reason}."
        return _capital(sentence.format(function=self.function, line=self.line, reason=self.reason))


@dataclass(frozen=True)
class Recompile(_Again):
    """Another compile of a function without a new trace.

    Args:
        function: the function's name as printed, in backticks.
        line: the user's line whose call caused it, or None.
        differences: how the call differs from the most similar one that was compiled, with remedies; empty if the
            reason is not known.
    """

    def __str__(self) -> str:
        sentence = "{function} was compiled without a new trace at {line}: {reason}."
        if self.line is None:
            sentence = "{function} was compiled without a new trace: {reason}."
        return _capital(sentence.format(function=self.function, line=self.line, reason=self.reason))


@dataclass
class FunctionTraces:
    """What happened to one function while it was watched.

    Args:
        name: its name as the user wrote it; a lambda is identified by its line.
        traces: how often `jax.jit` traced it.
        compiles: how many programs were compiled from it; 0 if it only runs inside other jitted functions.
        retraces: each trace after the first, with its reason.
        recompiles: each compile without a new trace, with its reason.
        package: the installed package that jits it, if it is not the user's.
    """

    name: str
    traces: int = 0
    compiles: int = 0
    retraces: list[Retrace] = field(default_factory=list)
    recompiles: list[Recompile] = field(default_factory=list)
    package: str = ""

    def _counts(self) -> str:
        counted = [plural("{count} trace", "{count} traces", self.traces)]
        counted.append(plural("{count} compile", "{count} compiles", self.compiles))
        name = self.name
        if self.package:
            name = f"{name} inside {self.package}, which is not your code"
        return _capital(f"{name}: {', '.join(counted)}")

    def _shown_again(self) -> Iterator[tuple[str, _Again | None]]:
        """Yield a sentence for each thing that was done again, and for those that are left out; the same ones once."""
        for again in (self.retraces, self.recompiles):
            said: dict[tuple[str, str], list[_Again]] = {}
            for one in again:
                said.setdefault((str(one), one.remedy), []).append(one)
            for (sentence, _remedy), same in list(said.items())[:_SHOWN]:
                yield sentence + (f" ({len(same)} times)" if len(same) > 1 else ""), same[0]
            more = sum(len(same) for same in list(said.values())[_SHOWN:])
            if more and again is self.retraces:
                yield plural("... and {count} more retrace", "... and {count} more retraces", more), None
            elif more:
                yield plural("... and {count} more compile", "... and {count} more compiles", more), None

    def __str__(self) -> str:
        lines = [self._counts()]
        for sentence, one in self._shown_again():
            lines += [f"  {sentence}", *([f"    What to do: {one.remedy}."] if one is not None else [])]
        return "\n".join(lines)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of a card that say the same, with the code that was called."""
        yield Prose("", self._counts())
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
        return sum(one.traces for one in self.functions if not one.package)

    @property
    def compiles(self) -> int:
        """Return the total number of programs compiled from the user's functions."""
        return sum(one.compiles for one in self.functions if not one.package)

    @property
    def retraces(self) -> list[Retrace]:
        """Return every trace after the first of each function."""
        return [retrace for one in self.functions for retrace in one.retraces]

    def __getitem__(self, name: str) -> FunctionTraces:
        for one in self.functions:
            if one.name.strip("`") == name:
                return one
        if not self.functions:
            raise KeyError(f"`{name}` was not traced: this block traced nothing.")
        seen = ", ".join(one.name for one in self.functions)
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
    """Report which of your functions `jax.jit` traces and compiles in a `with` block, and why it does so again.

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

    JAX traces a jitted function again if its call has something new: a shape, dtype or weak type, another value of a
    static argument, another pytree structure, or another function object, such as a lambda created in a loop. This
    helper compares calls argument by argument, so it finds reasons that `jax_explain_cache_misses` does not.

    Counts what this thread does in the block, including jitted functions inside others, and under `vmap` and `grad`,
    which share one trace. A function traced before the block is not traced again for a call that JAX knows; the first
    trace in the block counts as its first. Functions that JAX jits itself are left out. Those that another library jits
    are shown as that library's if they are traced again, and functions of yours that a library jits, as with
    `equinox.filter_jit` or `flax.nnx.jit`, count as yours.

    Based on `sys.monitoring`, which reports when JAX starts a trace, and on the events of `jax.monitoring`. Python 3.11
    uses `sys.setprofile` instead: Python is slower in the block, and other profilers are suspended.

    Yields:
        The report, which is filled in while the block runs.

    Raises:
        RuntimeError: `jax_disable_jit` is on.
    """
    require_jit("watch_traces")
    watch = _Watch()
    try:
        with hearing(watch):
            yield watch.report
    finally:
        watch.forget()


class _Watch(Listener):
    """Listen to hooks and write the report."""

    def __init__(self) -> None:
        self.report = Traces()
        self._found: dict[tuple[Any, ...], FunctionTraces] = {}
        self._seen: dict[tuple[Any, ...], list[Signature]] = {}
        self._compiled: dict[tuple[Any, ...], list[Signature]] = {}
        self._uncompiled: dict[tuple[Any, ...], list[Signature]] = {}
        self._cleared: dict[int, Difference] = {}  # by the id of a signature that was forgotten
        self._transformed: dict[int, str] = {}  # transformations, by the id of a signature that was compiled
        self._sizes: dict[int, tuple[int, ...]] = {}  # of the batches of `vmap`, by the id of a signature

    def traced(self, trace: JitTrace) -> None:
        trace = users_call(trace, sys._getframe(2))
        package = _package(trace)
        if package is None or (package and _is_inside_another()):
            return
        new = signature(trace)
        found = self._of(new.function, package)
        found.traces += 1
        key = new.function.key
        self._uncompiled.setdefault(key, []).append(new)
        earlier = self._seen.setdefault(key, [])
        if earlier:
            found.retraces.append(Retrace(found.name, calling_line(), tuple(self._differences(new, earlier))))
            if package and not any(found is one for one in self.report.functions):
                self.report.functions.append(found)
        earlier.append(new)

    def _differences(self, new: Signature, earlier: list[Signature]) -> list[Difference]:
        found = closest_differences(new, earlier)
        if found:
            return found
        latest = next((one for one in reversed(earlier) if not differences(one, new)), None)
        return [self._cleared[id(latest)]] if id(latest) in self._cleared else []

    def compiled(self, name: str) -> None:
        call = jit_call(sys._getframe(2))
        if call is None or name not in (f"jit({function_name(call.function)})", _UNNAMED):
            function = self._function_in_compile(name)
            if function is not None:
                function = function.__wrapped__ if is_jitted(function) else function
                self._count_compile(TracedFunction(function), "", None, self._without_call())
            return
        argnums, argnames = compat.static_arguments(call.options)
        trace = JitTrace(call.function, call.args, call.kwargs, call.options, argnums, argnames)
        trace = users_call(trace, sys._getframe(2))
        if trace.traced is None and not self._is_known(trace.function):
            return
        new = signature(trace)
        by = _transformation(call)
        sizes = _batch_sizes(call)
        known = [] if by is None else self._under(by, sizes, new)
        self._count_compile(new.function, _package(trace) or "", new, known)
        if by is not None:
            self._transformed[id(new)] = by
            self._sizes[id(new)] = sizes

    def _under(self, by: str, sizes: tuple[int, ...], new: Signature) -> list[Difference]:
        """Return that a call was compiled under a transformation, and whether a `vmap` had another size before."""
        alike = [one for one in self._compiled.get(new.function.key, []) if self._transformed.get(id(one)) == by]
        before = [self._sizes[id(one)] for one in alike if not differences(one, new)]
        if before and sizes not in before and len(before[-1]) == len(sizes) > 0:
            words = "it was called under {by} over {new}, and before over {old}"
            told = words.format(by=by, new=_entries(sizes), old=_entries(before[-1]))
            return [Difference(told, "expect one compile for each size of a `vmap`, or make all batches of one size")]
        return [Difference(f"it was called under {by}", _expect_one())]

    def _count_compile(
        self, function: TracedFunction, package: str, new: Signature | None, known: list[Difference]
    ) -> None:
        found = self._of(function, package)
        found.compiles += 1
        waiting = self._uncompiled.get(function.key, [])
        traced = next((one for one in waiting if one.progress.finished), None)
        earlier = self._compiled.setdefault(function.key, [])
        if traced is not None:
            waiting.remove(traced)
        else:
            if new is not None and not known:
                known = self._differences_of_compile(new, earlier)
            found.recompiles.append(Recompile(found.name, calling_line(), tuple(known)))
        if new is not None:
            earlier.append(new)

    def _differences_of_compile(self, new: Signature, earlier: list[Signature]) -> list[Difference]:
        """Return why a call outside of transformations was compiled again."""
        plain = [one for one in earlier if id(one) not in self._transformed]
        if plain:
            return closest_placements(new, plain)
        if earlier:
            words = "it was compiled under {by} before and is now called without it"
            return [Difference(words.format(by=self._transformed[id(earlier[-1])]), _expect_one())]
        return []

    def _without_call(self) -> list[Difference]:
        if is_differentiating_backward(sys._getframe(3)):
            return [Difference("it is the backward pass of a derivative", _expect_one())]
        return []

    def cleared(self, jitted: Any) -> None:
        line = calling_line()
        function = TracedFunction(jitted.__wrapped__) if hasattr(jitted, "__wrapped__") else None
        words = "its call is the same, but JAX's caches were cleared at {line}"
        if line is None:
            words = "its call is the same, but JAX's caches were cleared"
        why = Difference(words.format(line=line), "do not clear the caches")
        for key, signatures in self._seen.items():
            if function is None or function.key == key:
                self._cleared.update({id(one): why for one in signatures})

    def forget(self) -> None:
        """Drop the static values that were compared."""
        for kept in (self._seen, self._compiled, self._uncompiled):
            kept.clear()

    def _function_in_compile(self, name: str) -> Any:
        """Return the user's function whose program of this name is being compiled; JAX's frames hold it."""
        frame = sys._getframe(3)
        while frame is not None and (outer := frame.f_back) is not None:
            if is_library(frame.f_code.co_filename):
                for value in frame.f_locals.values():
                    if callable(value) and f"jit({function_name(value)})" == name and self._is_known(value):
                        return value
            frame = outer
        return None

    def _is_known(self, function: Any) -> bool:
        return function_key(function) in self._found or is_users(function)

    def _of(self, function: TracedFunction, package: str) -> FunctionTraces:
        if function.key not in self._found:
            self._found[function.key] = found = FunctionTraces(function.name, package=package)
            if not package:
                self.report.functions.append(found)
        return self._found[function.key]


def _package(trace: JitTrace) -> str | None:
    """Return the package that jits a function: none if the user does, and None if it is JAX or this package."""
    function = trace.function
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    package = package_of_function(function)
    if package is not None and (isinstance(function, FunctionType) if trace.traced is not None else not trace.direct):
        return package
    if trace.traced is not None or is_users(trace.function):
        return ""
    home = sys.modules.get(getattr(function, "__module__", None) or "")
    if trace.direct and not is_jitted(getattr(home, getattr(function, "__name__", ""), None)):
        return ""
    return package


def _transformation(call: JitCall) -> str | None:
    """Return the transformation that called a jitted function, or None if none did."""
    for leaf in jax.tree.leaves((call.args, call.kwargs)):
        if isinstance(leaf, jax.core.Tracer):
            by = compat.traced_by(leaf).transformation
            return f"`{by}`" if by else "a transformation"
    return None


def _batch_sizes(call: JitCall) -> tuple[int, ...]:
    """Return the sizes of the `vmap` around a call; empty if it is not called under `vmap`."""
    found = (compat.batch_sizes(leaf) for leaf in jax.tree.leaves((call.args, call.kwargs)))
    return max(found, key=len, default=())


def _entries(sizes: tuple[int, ...]) -> str:
    return plural("{count} entry", "{count} entries", sizes[0]) if len(sizes) == 1 else f"sizes {sizes[::-1]}"


def _expect_one() -> str:
    return (
        "expect one compile for each transformation, and for each size of a `vmap`, or apply `jax.jit` around the "
        "transformation"
    )


def _is_inside_another() -> bool:
    """Return whether the trace that is starting is part of another."""
    frame = frame_of_trace(sys._getframe(2))
    return frame is not None and frame_of_trace(frame.f_back) is not None


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
