"""Report a function's side effects, which under `jax.jit` happen once per trace."""

import contextlib
import inspect
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.render.prose import lines_html
from jaxguide.code.lines import Line, function_name, lines_of_equation
from jaxguide.compat import error_texts
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import inner_jaxprs, is_literal
from jaxguide.tracing.code_events import Untraced
from jaxguide.tracing.effect_watch import Change, EffectWatch
from jaxguide.tracing.fresh_trace import trace_anew
from jaxguide.tracing.functions import written_function
from jaxguide.tracing.state_search import reachable_state
from jaxguide.tracing.value_description import describe_value

_PLAIN = (bool, int, float, complex, str, np.ndarray, np.generic, np.dtype, tuple)


def first_difference(one: Any, two: Any) -> tuple[Line | None, str, str] | None:
    """Return the first line whose equations differ between two jaxprs, and what each has; None if they are equal.

    >>> import itertools, jax
    >>> numbers = itertools.count()
    >>> first_difference(*(jax.make_jaxpr(lambda x: x + next(numbers))(1.0) for _ in range(2)))[1:]
    ('float32[] 0.', 'float32[] 1.')
    """
    return next(_differences(one, two), None)


def _differences(one: Any, two: Any) -> Iterator[tuple[Line | None, str, str]]:
    (first, first_consts), (second, second_consts) = compat.jaxpr_parts(one), compat.jaxpr_parts(two)
    values = (
        dict(zip(first.constvars, first_consts, strict=False)),
        dict(zip(second.constvars, second_consts, strict=False)),
    )
    for a, b in zip(first.eqns, second.eqns, strict=False):
        if a.primitive.name != b.primitive.name:
            yield _line(a), f"`{a.primitive.name}`", f"`{b.primitive.name}`"
            return
        for x, y in zip(a.invars, b.invars, strict=False):
            if is_literal(x) and is_literal(y) and _same_number(x.val, y.val) and x.aval == y.aval:
                continue
            left, right = _constant(x, values[0]), _constant(y, values[1])
            if not _equal(left, right):
                yield _line(a), describe_value(left).text, describe_value(right).text
            elif x.aval != y.aval and str(x.aval) != str(y.aval):
                yield _line(a), str(x.aval), str(y.aval)
        for name, left in a.params.items():
            right = b.params.get(name)
            if left is right or not isinstance(left, _PLAIN) or type(left) is not type(right):
                continue
            if _is_plain(left) and not _equal(left, right):
                yield _line(a), f"{name}={describe_value(left).text}", f"{name}={describe_value(right).text}"
        for left, right in zip(inner_jaxprs(a), inner_jaxprs(b), strict=False):
            yield from _differences(left, right)
    for a, b in zip(first.outvars, second.outvars, strict=False):
        left, right = _constant(a, values[0]), _constant(b, values[1])
        if not _equal(left, right):
            yield None, describe_value(left).text, describe_value(right).text
    if len(first.eqns) != len(second.eqns):
        longer = max((first, second), key=lambda jaxpr: len(jaxpr.eqns))
        eqn = longer.eqns[min(len(first.eqns), len(second.eqns))]
        yield _line(eqn), f"{len(first.eqns)} equations", f"{len(second.eqns)} equations"


def _line(eqn: Any) -> Line | None:
    return next(iter(lines_of_equation(eqn.source_info)), None)


def _same_number(one: Any, two: Any) -> bool:
    return type(one) is type(two) and isinstance(one, bool | int | float) and repr(one) == repr(two)


def _constant(atom: Any, values: dict[Any, Any]) -> Any:
    # JAX 0.12 stores a Python number as a `TypedFloat` or `TypedInt`, names that users do not know.
    return np.asarray(atom.val, atom.aval.dtype) if is_literal(atom) else values.get(atom)


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, _PLAIN) or value is None


def _equal(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if one is None or two is None:
        return False
    if isinstance(one, str | int) and type(one) is type(two):
        return bool(one == two)
    try:
        left, right = np.asarray(one), np.asarray(two)
        if left.dtype.kind not in "biufc" or right.dtype.kind not in "biufc":
            return left.dtype.kind == "O" or bool(np.array_equal(left, right))
        return left.dtype == right.dtype and bool(np.array_equal(left, right, equal_nan=True))
    except Exception:  # keys, and anything else that is not a plain array
        return True


@dataclass(frozen=True)
class SideEffect:
    """One side effect of a function.

    Args:
        kind: 'leak' (a tracer outlives the trace), 'change' (of a global, closure or object), 'argument' (a change of a
            container that was passed in), 'random' (the host's random numbers), 'time', 'file', 'print', 'constant'
            (two traces gave different programs).
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

    Reports tracers that outlive the trace (including those that `jax.checking_leaks` finds); changes to globals,
    closures, objects and containers; use of the host's random numbers, clock and files; printing; and constants that
    differ between the two traces. Under `jax.jit`, all of this happens when JAX traces, not in every call.

    The watched state is then restored: rebound globals and closures, lists, dictionaries, sets, NumPy arrays,
    attributes of the user's objects, and random states. Files, iterators, the state of other libraries and the effects
    of host callbacks cannot be restored. Printed text is reported instead of shown. The trace function of a debugger
    or of coverage is suspended meanwhile.

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
    holders = reachable_state(fn, _bound(fn, args, kwargs))
    written = written_function(fn)
    code = None if written is None else written.__code__
    try:
        first = EffectWatch(holders, code)
        with first:
            one = trace_anew(fn, args, kwargs)
        leaks = any(change.kind == "leak" for change in first.changes.values())
        with Untraced(), contextlib.redirect_stdout(io.StringIO()):
            # `jax.checking_leaks` takes a second to find what holds a tracer: skip it if a leak is already known.
            two, again = _trace_again(fn, args, kwargs, contextlib.nullcontext() if leaks else jax.checking_leaks())
    finally:
        for holder in holders:
            holder.restore()
    placed = [(change.line, _of_change(change)) for change in [*first.changes.values(), *first.argument_changes]]
    placed += [(line, _of_call(kind, line, name)) for (kind, line), name in first.calls.items()]
    placed += [(line, _of_print(line, text)) for line, text in first.printed.items() if text.strip()]
    placed.sort(key=lambda pair: (pair[0] is None, pair[0] and (pair[0].file, pair[0].number)))
    found = [effect for _line, effect in placed]
    if again is not None:
        found.append(again)
    if two is not None and (difference := first_difference(one, two)) is not None:
        found.append(_of_difference(*difference))
    return SideEffects(function_name(fn), tuple(found))


def _bound(fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # some builtins have no signature
        return {}


def _trace_again(
    fn: Any, args: Any, kwargs: Any, checking: contextlib.AbstractContextManager[Any]
) -> tuple[Any, SideEffect | None]:
    """Trace a second time; return the jaxpr, or None if that fails, and the problem, or None."""
    try:
        with checking:
            return trace_anew(fn, args, kwargs), None
    except Exception as error:
        if error_texts.LEAK_FOUND.match(error):
            lines = str(error).split("\n\n")[1].splitlines()[1:]
            return None, _leak_elsewhere([found[1] for found in map(error_texts.LEAK_HOLDER.search, lines) if found])
        return None, SideEffect(
            "constant",
            (
                f"The second trace raised {type(error).__name__}, but the first did not: `{function_name(fn)}` depends "
                "on state that its first call left behind. Pass that state as an argument and return it."
            ),
        )


def _leak_elsewhere(held: list[str]) -> SideEffect:
    holder = held[-1] if held else "an object that JAX could not name"
    if holder.startswith("<Jaxpr"):
        words = (
            "A tracer outlives the trace in a program (jaxpr) that is kept (`jax.checking_leaks`). If your code keeps "
            "none, a library does, and there is nothing to do."
        )
        return SideEffect("leak", words)
    return SideEffect(
        "leak",
        (
            f"A tracer outlives the trace: {holder} refers to it (`jax.checking_leaks`). Using it after the "
            "trace raises UnexpectedTracerError. Return the value instead."
        ),
        name=holder,
    )


def _of_change(change: Change) -> SideEffect:
    line = None if change.line is None else str(change.line)
    if change.kind == "leak":
        text = (
            f"{change.words} still holds a tracer, `{change.before}` ({change.after}), after the trace: using it "
            "raises UnexpectedTracerError. Return the value instead of storing it."
        )
    elif change.kind == "random":
        text = (
            f"{change.words} draws numbers while JAX traces, so every later call repeats them. Pass a "
            "`jax.random` key as an argument and use it instead."
        )
    elif change.kind == "argument":
        text = (
            f"{change.words}, an argument, is changed in place; under a JAX transformation, this changes only a copy "
            "and the caller's stays the same. Create a new one and return it."
        )
    else:
        text = (
            f"{change.words} changes from {change.before} to {change.after} while JAX traces, so under `jax.jit` once "
            "per trace, not once per call. Pass the value as an argument and return the new one."
        )
    return SideEffect(change.kind, _placed(change.line, text), line, change.words, change.before, change.after)


def _of_call(kind: str, line: Line, name: str) -> SideEffect:
    if kind == "time":
        text = (
            "`{name}` reads the clock while JAX traces, so the program keeps that value. Read the clock outside, "
            "around `f(x).block_until_ready()`, or pass the time as an argument."
        )
    elif kind == "entropy":
        text = (
            "random bits are read from the system while JAX traces, so every later call repeats them. Pass a "
            "`jax.random` key as an argument and use it instead."
        )
    else:
        text = (
            "`{name}` runs while JAX traces, so once per trace, not once per call. Read before the call and write "
            "after it, or use `jax.experimental.io_callback`."
        )
    kind = "random" if kind == "entropy" else kind
    return SideEffect(kind, _placed(line, text.format(name=name)), str(line), f"`{name}`")


def _of_print(line: Line | None, printed: str) -> SideEffect:
    first = next(text for text in printed.splitlines() if text.strip())
    text = (
        "`{printed}` is printed while JAX traces, so once per trace, not once per call. To print the values of each "
        "call, use `jax.debug.print`."
    ).format(printed=first if len(first) <= 60 else f"{first[:57]}...")
    return SideEffect("print", _placed(line, text), None if line is None else str(line), after=printed)


def _of_difference(line: Line | None, before: str, after: str) -> SideEffect:
    text = (
        f"two traces gave different programs, with {before} in one and {after} in the other, so the result of a call "
        "depends on when it was traced. Pass whatever changes as an argument."
    )
    return SideEffect("constant", _placed(line, text), None if line is None else str(line), "", before, after)


def _placed(line: Line | None, text: str) -> str:
    return text[:1].upper() + text[1:] if line is None else f"{line}: {text}"
