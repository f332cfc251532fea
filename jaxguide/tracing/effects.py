"""Report a function's side effects, which under `jax.jit` happen once per trace."""

import contextlib
import gc
import inspect
import io
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render.prose import lines_html
from jaxguide.code.lines import Line, calling_line, function_name, lines_of_equation
from jaxguide.compat import error_texts
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import inner_jaxprs, is_literal
from jaxguide.tracing.fresh_trace import trace_anew
from jaxguide.tracing.state import Search, clear_caches_with_tracers
from jaxguide.tracing.value_description import describe_value


@dataclass(frozen=True)
class SideEffect:
    """One side effect of a function.

    Args:
        kind: 'leak' (a tracer outlives the trace), 'change' (of a global, closure or object), 'random' (the host's
            random numbers), 'print', 'constant' (two traces gave different programs).
        message: one sentence, with the line and what to do.
        line: the line, such as 'lesson.py, line 3', or None if unknown.
        name: what it concerns, such as 'the global `log`'; may be empty.
        before, after: what changed, in a few words; may be empty.
    """

    kind: str
    message: str
    line: str | None = None
    name: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, repr=False)
class SideEffects:
    """The side effects that `side_effects` found; prints one sentence each; empty and false if there are none."""

    function: str
    effects: tuple[SideEffect, ...] = ()

    def __str__(self) -> str:
        if not self.effects:
            return f"No side effects seen: two traces of `{self.function}` left nothing behind and agreed."
        return "\n".join(effect.message for effect in self.effects)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return lines_html(str(self), "partly" if self.effects else "good")

    def __iter__(self) -> Iterator[SideEffect]:
        return iter(self.effects)

    def __len__(self) -> int:
        return len(self.effects)


@flags_off(*CHECKS, DISABLE_JIT)
def side_effects(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> SideEffects:
    """Trace a function twice and report its side effects, as advice that never affects a mark.

    >>> import jax.numpy as jnp
    >>> log, calls = [], 0
    >>> def f(x):
    ...     global calls
    ...     calls += 1
    ...     log.append(x * 2)
    ...     return x * 2
    >>> seen = side_effects(f, jnp.ones(3))
    >>> [(effect.kind, effect.name, effect.before, effect.after) for effect in seen]
    [('change', 'the global `calls`', '0', '1'), ('leak', 'the list `log`', 'log[0]', 'float32[3]')]
    >>> print(seen.effects[0].message.partition(": ")[2])
    the global `calls` changes from 0 to 1 while JAX traces, so under `jax.jit` once per trace, not once per call. Pass
    the value as an argument and return the new one.
    >>> log, calls
    ([], 0)
    >>> side_effects(jnp.sin, 1.0)
    No side effects seen: two traces of `sin` left nothing behind and agreed.

    Reports tracers that outlive the trace, as `jax.checking_leaks` finds them, in caches too; changes to globals,
    closures, objects and containers; use of the host's random generators; printing; and constants that differ between
    the two traces, such as the time. Under `jax.jit`, all of this happens when JAX traces, not in every call.

    State is compared once, after the trace: a change has a line if only one line names the variable, and changes of
    class attributes, of NumPy arrays, of a library's objects and of pytrees among the arguments, which are copies, are
    not seen. Nor are clocks, files and other sources of randomness, unless the two programs differ for them. If a
    tracer leaks, the trace may end there, so remove the leak to see what else changes.

    The state is then restored, and each `functools.lru_cache` that got a tracer is cleared. What cannot be restored is
    files, iterators, the effects of host callbacks, and a library's state: a leak that stays there is reported so.
    Printed text is reported instead of shown.

    Args:
        fn: any function that can be traced.
        args, kwargs: its arguments. If `fn` comes from `jax.jit`, its static arguments stay static and all others are
            traced; otherwise arrays, keys, floats and `jax.ShapeDtypeStruct` are traced, and integers, strings,
            booleans and None stay static.

    Returns:
        The side effects, which print as one sentence each.

    Raises:
        TypeError: if `fn` is not a function or rejects these arguments.
        Exception: whatever `fn` raises while it is traced the first time.
    """
    require_call("side_effects", fn, args, kwargs)
    values = {"self": fn}
    with contextlib.suppress(TypeError, ValueError):  # some builtins have no signature
        values |= inspect.signature(fn).bind(*args, **kwargs).arguments
    places = Search(values).places
    program, printed, leaked = None, _Printed(), ""
    try:
        try:
            with contextlib.redirect_stdout(printed), jax.checking_leaks():
                program = trace_anew(fn, args, kwargs)
        except IndexError:  # JAX 0.10.2 may raise it when it looks for what holds a tracer; one of `fn` is raised again
            with contextlib.redirect_stdout(printed), contextlib.suppress(jax.errors.UnexpectedTracerError):
                trace_anew(fn, args, kwargs)
        except Exception as error:
            if not error_texts.LEAK_FOUND.match(error):
                raise
            leaked = str(error)
        found = [
            _effect(effect[0], place.line, place.words, *effect[1:]) for place in places if (effect := place.effect())
        ]
        found += [_effect("print", line, after=text) for line, text in printed.by_line.items() if text.strip()]
        if program is not None:
            found += _of_second_trace(program, fn, args, kwargs)
    finally:
        for place in places:
            place.restore()
        caches = clear_caches_with_tracers() if program is None else []
    found += [_effect("leak in a cache", None, f"the cache of `{name}`", "", type_) for name, type_ in caches]
    if leaked:
        gc.collect()
        ids = {id(one) for one in gc.get_objects() if issubclass(type(one), jax.core.Tracer)}
        if ids & set(map(int, error_texts.LEAKED_TRACER.findall(leaked))):
            found.append(_effect("leak elsewhere", None))
    return SideEffects(function_name(fn), tuple(found))


class _Printed(io.TextIOBase):
    """Collect printed text by the line that printed it."""

    def __init__(self) -> None:
        self.by_line: dict[Line | None, str] = {}

    def write(self, text: str) -> int:
        line = calling_line()
        self.by_line[line] = (self.by_line.get(line, "") + text)[:500]
        return len(text)


def _of_second_trace(program: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> list[SideEffect]:
    """Trace again, and return how the programs differ."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            again = trace_anew(fn, args, kwargs)
    except Exception as error:
        return [_effect("constant from the first trace", None, after=type(error).__name__)]
    for (eqn, one), (other, two) in zip(_parts(program), _parts(again), strict=False):
        if one is not two and _content(one) != _content(two):
            eqn = eqn or other
            line = None if eqn is None else next(iter(lines_of_equation(eqn.source_info)), None)
            return [_effect("constant", line, "", _words(one), _words(two))]
    return []


def _parts(jaxpr: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what a program consists of, each with its equation: primitives, inputs, parameters and constants."""
    plain, constants = compat.jaxpr_parts(jaxpr)
    values = dict(zip(plain.constvars, constants, strict=False))

    def value(atom: Any) -> Any:
        # JAX 0.12 stores a Python number as a `TypedFloat` or `TypedInt`, names that users do not know.
        return np.asarray(atom.val, atom.aval.dtype) if is_literal(atom) else values.get(atom, atom.aval)

    for eqn in plain.eqns:
        yield eqn, eqn.primitive
        yield from ((eqn, value(atom)) for atom in eqn.invars)
        yield from ((eqn, param) for param in eqn.params.items() if _is_plain(param))
        for inner in inner_jaxprs(eqn):
            yield from _parts(inner)
    yield None, "return"
    yield from ((None, value(atom)) for atom in plain.outvars)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, bool | int | float | complex | str | np.ndarray | np.generic | np.dtype | None)


def _content(part: Any) -> Any:
    """Return something that is equal for equal parts of two programs."""
    if isinstance(part, jax.Array | np.ndarray) and not jax.dtypes.issubdtype(part.dtype, jax.dtypes.extended):
        return part.dtype, part.shape, np.asarray(part).tobytes()
    return str(part)


def _words(part: Any) -> str:
    if isinstance(part, jax.Array | np.ndarray):
        return describe_value(part).text
    return f"{part[0]}={describe_value(part[1]).text}" if isinstance(part, tuple) else f"`{part}`"


# Kind, or what begins with it -> the sentence.
_SENTENCES = {
    "leak": "{name} still holds a tracer, `{before}` ({after}), after the trace: using it raises "
    "UnexpectedTracerError. Return the value instead of storing it.",
    "leak in a cache": "{name} (`functools.lru_cache`) keeps a tracer ({after}) after the trace: the next call that "
    "gets it from there raises UnexpectedTracerError. Cache only what is computed with NumPy or outside of a trace.",
    "leak elsewhere": "a tracer outlives the trace (`jax.checking_leaks`), and `side_effects` could not remove it. If "
    "your code stores it, using it raises UnexpectedTracerError: return the value instead. If not, a library keeps it.",
    "change": "{name} changes from {before} to {after} while JAX traces, so under `jax.jit` once per trace, not once "
    "per call. Pass the value as an argument and return the new one.",
    "random": "{name} draws numbers while JAX traces, so every later call repeats them. Pass a `jax.random` key as an "
    "argument and use it instead.",
    "print": "`{first}` is printed while JAX traces, so once per trace, not once per call. To print the values of each "
    "call, use `jax.debug.print`.",
    "constant": "two traces gave different programs, with {before} in one and {after} in the other, so the result of "
    "a call depends on when it was traced. Pass whatever changes as an argument.",
    "constant from the first trace": "the second trace raised {after}, but the first did not: the function depends on "
    "state that its first call left behind. Pass that state as an argument and return it.",
}


def _effect(sentence: str, line: Line | None, name: str = "", before: str = "", after: str = "") -> SideEffect:
    first = next((text for text in after.splitlines() if text.strip()), "")
    first = textwrap.shorten(first, 60, placeholder="...")
    text = _SENTENCES[sentence].format(name=name, before=before, after=after, first=first)
    message = text[:1].upper() + text[1:] if line is None else f"{line}: {text}"
    return SideEffect(sentence.split()[0], message, None if line is None else str(line), name, before, after)
