"""Record the calls that a check makes, and find the call that a compared value came from."""

import contextvars
import dataclasses
import functools
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxguide.course.judging.evaluate import Request
from jaxguide.course.judging.literals import CUT, in_line, shortened, show
from jaxguide.course.judging.values import ArrayData, Data, children_of, to_data
from jaxguide.course.verdict import ErrorInfo, Evidence

_ARGUMENT_LIMIT = 240  # characters
_KEPT = 64  # calls
_KEPT_BYTES = 2**27  # of what they returned
_SHOWN = 3  # calls
_SHOWN_LENGTH = 200  # characters of several calls; the last is shown whatever its length
_LEAVES = 64  # of values that are read as lists of numbers
_NODES = 10_000  # parts of a value that are searched
_SCALARS = (bool, int, float, complex, str)
_NOT_GIVEN = object()


@dataclasses.dataclass(frozen=True)
class Observation:
    """Everything observed in one call.

    Args:
        value: what it returned.
        arguments: the arguments as the call left them.
        error: the exception that it raised.
        lines: the printed lines, in order.
        warnings: the warnings.
        traces, compiles: how often it was traced and compiled.
    """

    value: Data
    arguments: tuple[Data, ...]
    error: ErrorInfo | None
    lines: list[str]
    warnings: list[str]
    traces: int
    compiles: int


@dataclasses.dataclass(frozen=True, eq=False)
class MadeCall:
    """One call of the function: the request, which of its calls it is, and what came back.

    `reply` is the value, an `Observation`, or, for other questions and exceptions, plain data about the function.
    """

    request: Request
    number: int
    reply: Any
    made: int

    def written(self, name: str) -> str:
        """Return the call as a student would type it."""
        return write_call(name, self.request, self.number)

    @property
    def value(self) -> Data:
        """What the function returned; `_NOT_GIVEN` if it was not asked for."""
        if isinstance(self.reply, Observation):
            return self.reply.value if self.reply.error is None else _NOT_GIVEN
        return self.reply if self.request.question == "value" else _NOT_GIVEN

    @functools.cached_property
    def size_bytes(self) -> int:
        """About how much memory its value takes."""
        parts = (part for _path, part in _parts(self.value))
        return sum(part.values.nbytes if isinstance(part, ArrayData) else sys.getsizeof(part) for part in parts)

    def returned(self) -> str:
        """Write what the function returned, or the exception that was observed; '' if neither was asked for."""
        if isinstance(self.reply, Observation):
            if self.reply.error is not None:
                return f"{self.reply.error.type_name}: {self.reply.error.message}"
            if self.reply.value is None:  # of a function that prints, it says nothing
                return ""
        return "" if self.value is _NOT_GIVEN else show(self.value)


class ValueOrigin(NamedTuple):
    """Where a compared value came from: the calls, and its path in what the call returned, None if it was derived.

    `label` says what it is, if that is known. `is_whole` says that it was derived, but has the numbers of all that the
    call returned.
    """

    calls: tuple[MadeCall, ...]
    path: str | None
    label: str = ""
    is_whole: bool = False


@dataclasses.dataclass
class CallLog:
    """The calls that the current check made, and everything that the student's code printed, in order.

    `explains` says whether an exception is to be explained. `request` is the last request, and `raised` says which of
    its calls raised the exception that was observed.
    `blamed` are the calls that the check failed on, and `check` is its name.
    """

    name: str = ""
    check: str = ""
    explains: bool = False
    request: Request | None = None
    printed: str = ""
    raised: int | None = None
    calls: list[MadeCall] = dataclasses.field(default_factory=list)
    blamed: tuple[MadeCall, ...] = ()
    _made: int = 0
    _settled: int = 0
    _settled_before: int = 0

    def start_check(self, name: str) -> None:
        """Forget the calls of the check before."""
        self.check = name
        self.request, self.calls, self.blamed = None, [], ()
        self._made = self._settled = self._settled_before = 0

    @property
    def last(self) -> str:
        """The last request as a student would type it: the call that raised an exception, or else all of its calls."""
        if self.request is None:
            return ""
        count = len(self.request.calls)
        numbers = range(count) if self.raised is None else [self.raised]
        found = list(dict.fromkeys(write_call(self.name, self.request, one) for one in numbers))
        shown = _last(found)
        return _in_rows(shown, len(shown) < len(found))

    def add(self, request: Request, number: int, reply: Any) -> None:
        """Record a call and what came back."""
        self.calls.append(MadeCall(request, number, reply, self._made))
        self._made += 1
        del self.calls[:-_KEPT]
        while len(self.calls) > 1 and sum(call.size_bytes for call in self.calls) > _KEPT_BYTES:
            del self.calls[0]

    def settle(self) -> None:
        """Note that an expectation held: calls made until now are not what a later one fails on, unless it says so."""
        if self._made > self._settled:
            self._settled_before, self._settled = self._settled, self._made

    def origin(self, value: Any) -> ValueOrigin:
        """Return where a value that an expectation got came from.

        A value that no call returned was derived: from an array with the same memory, from a value with the same
        numbers, or else from the calls since the expectation before.
        """
        for find in (_origin_in, _origin_of_same_numbers):
            for call in reversed(self.calls):
                found = find(call, value)
                if found is not None:
                    return found
        return ValueOrigin(self.unsettled(), None)

    def calls_of(self, values: Sequence[Any]) -> tuple[MadeCall, ...]:
        """Return the last calls, if these are the values that they returned, in this order."""
        calls = tuple(self.calls[-len(values) :])
        read = [_leaves(call.value) for call in calls]
        return calls if None not in read and read == [_leaves(to_data(value)) for value in values] else ()

    def unsettled(self) -> tuple[MadeCall, ...]:
        """Return the calls since the last expectation that held; if there are none, those since the one before."""
        since = self._settled if self._made > self._settled else self._settled_before
        return tuple(call for call in self.calls if call.made >= since)

    def evidence(self, origin: ValueOrigin | None = None, text: str = "", label: str = "") -> Evidence:
        """Return what to show for a value from `origin`, by default the unsettled calls, that is written as `text`."""
        origin = origin or ValueOrigin(self.unsettled(), None)
        found = list(dict.fromkeys((one.written(self.name), one.returned()) for one in origin.calls))
        pairs = found[-len(_last([call for call, _got in found])) :]
        is_cut = len(pairs) < len(found)
        call = _in_rows([call for call, _got in pairs], is_cut)
        if origin.path == "":
            return Evidence(call=call, got=text)
        several = [" ".join(got.split()) for _call, got in pairs]
        got = pairs[0][1] if len(pairs) == 1 else _in_rows(several if any(several) else [], is_cut)
        if text == got or origin.is_whole:
            return Evidence(call=call, got=got)
        if origin.label:  # what was printed is compared, whatever was returned
            got = ""
        place = shortened(f"result{origin.path}") if origin.path else ""
        return Evidence(call=call, got=got, compared=text, label=label or origin.label or place)


current_log: contextvars.ContextVar[CallLog | None] = contextvars.ContextVar("current_log", default=None)
"""The log of the answer whose check is running, in which expectations find its calls."""


def _last(calls: list[str]) -> list[str]:
    """Return the last few calls; fewer if they are so long that they would fill a card."""
    last = calls[-_SHOWN:]
    while len(last) > 1 and sum(map(len, last)) > _SHOWN_LENGTH:
        del last[0]
    return last


def _in_rows(texts: list[str], is_cut: bool) -> str:
    """Put texts on lines of their own, after a mark if they are the last of more; equal ones are written once."""
    if len(set(texts)) <= 1:
        return texts[0] if texts else ""
    return "\n".join([CUT, *texts] if is_cut else texts)


def _origin_in(call: MadeCall, value: Any) -> ValueOrigin | None:
    """Return the origin of a value that came from this call, or None."""
    reply = call.reply
    if isinstance(reply, Observation):
        if value is reply:
            return ValueOrigin((call,), "")
        for part, label in ((reply.lines, "Printed"), (reply.warnings, "Warnings")):
            if value is part or any(value is line for line in part):
                return ValueOrigin((call,), None, label)
    whole = call.value
    if whole is _NOT_GIVEN:
        return None
    # Equal scalars read the same, whichever call they came from; but an observed number may be a count.
    is_scalar = type(value) in _SCALARS and not isinstance(reply, Observation)
    if (value is None and whole is None) or (is_scalar and type(whole) is type(value) and whole == value):
        return ValueOrigin((call,), "")
    path = _path_to(whole, value)
    if path is not None:
        return ValueOrigin((call,), path)
    arrays = (part.values for _path, part in _parts(whole) if isinstance(part, ArrayData))
    if isinstance(value, np.ndarray) and any(np.may_share_memory(value, array) for array in arrays):
        return ValueOrigin((call,), None)
    return None


def _origin_of_same_numbers(call: MadeCall, value: Any) -> ValueOrigin | None:
    """Return the origin of a value that has the numbers of a call's result, or of one part of it, as another type."""
    read, whole = _leaves(to_data(value)), _leaves(call.value)
    # A single integer may be a count of something else.
    if not read or not whole or (len(read) == 1 and (type(value) is int or isinstance(call.reply, Observation))):
        return None
    if read == whole:
        return ValueOrigin((call,), None, is_whole=True)
    same = [path for path, part in _parts(call.value) if _leaves(part) == read]
    return ValueOrigin((call,), same[0]) if len(same) == 1 else None


def _leaves(data: Any) -> list[Any] | None:
    """Return the numbers and strings in data, in order, as Python has them; None if there are others, or too many."""
    found: list[Any] = []
    waiting = [data]
    while waiting:
        one = waiting.pop()
        children = [child for _name, child in itertools.islice(children_of(one), _LEAVES + 1)]
        if isinstance(one, ArrayData) and one.values.size <= _LEAVES and one.values.dtype.kind in "biuf":
            found += one.values.ravel().tolist()
        elif children:
            waiting += children[::-1]
        elif type(one) in _SCALARS:
            found.append(one)
        elif not isinstance(one, tuple | list | dict):
            return None
        if len(found) + len(waiting) > _LEAVES:
            return None
    return found


def _path_to(whole: Data, part: Any) -> str | None:
    """Return the path of an object within data, such as `[0]`, or None if it is not in there."""
    if part is None or isinstance(part, bool) or (type(part) is int and abs(part) < 257):
        return None  # Python has one object for all that are equal
    for path, child in _parts(whole):
        if child is part or (isinstance(child, ArrayData) and child.values is part):
            return path
    return None


def _parts(data: Data) -> Iterator[tuple[str, Data]]:
    """Yield data and its parts, each with its path."""
    waiting, seen = [("", data)], 0
    while waiting and seen < _NODES:
        path, one = waiting.pop()
        seen += 1
        yield path, one
        base = shortened(path)  # a long one, once for each of its parts, would fill the memory
        waiting += [(base + name, child) for name, child in itertools.islice(children_of(one), _NODES)]


def write_call(name: str, request: Request, number: int = 0) -> str:
    """Write one of a request's calls as a student would type it."""
    text = name
    for step in request.steps:
        options = dict(step.options)
        if step.name == "then":
            made = [
                f"{text}({_write_arguments(options[one], {})})"
                for one in ("args", "beside")
                if options[one] is not None
            ]
            text = made[0] if len(made) == 1 else f"[{', '.join(made)}][0]"
        elif step.name == "documented_draws":
            text = f"[jax.threefry_partitionable(False)] {text}"
        elif step.name == "at_breakpoints":
            text = f"[typed in the debugger: {', '.join(options['commands'])}] {text}"
        elif step.name == "sum":
            text = f"(lambda *args: sum(jnp.sum(x) for x in jax.tree.leaves({text}(*args))))"
        else:
            given = {k: v for k, v in options.items() if v != 0}
            text = f"jax.{step.name}({', '.join([text, *(f'{k}={v!r}' for k, v in given.items())])})"
    args, kwargs = request.calls[number]
    return f"{text}({_write_arguments(args, kwargs)})"


def _write_arguments(args: tuple[Data, ...], kwargs: dict[str, Data]) -> str:
    shown = [in_line(arg, _ARGUMENT_LIMIT) for arg in args]
    return ", ".join([*shown, *(f"{name}={in_line(value, _ARGUMENT_LIMIT)}" for name, value in kwargs.items())])
