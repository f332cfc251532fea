"""Run a request on a student's function, in the function's process, and return plain data."""

import contextlib
import dataclasses
import functools
import io
import linecache
import re
import traceback
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

import jax

from jaxguide import compat, tracing
from jaxguide.base.plain import plain_of
from jaxguide.code.frames import is_library
from jaxguide.code.lines import cell_name
from jaxguide.course.breakpoints import scripted_breakpoints
from jaxguide.course.judging.unattended import unattended
from jaxguide.course.judging.values import Data, from_data, to_data
from jaxguide.course.verdict import ErrorInfo, ExplanationText
from jaxguide.keys import KeyReport, check_keys
from jaxguide.tracing.functions import clear_caches

PRINTED_LIMIT = 20_000
# Code given by a lesson and run without the lesson's cells; its line numbers mean nothing to students.
_GIVEN = ("<setup", "<book>")
given_files: set[str] = set()
"""The paths of the books that this process has run: their code, too, is given, and not the student's."""
_MESSAGE_LIMIT = 600


class Printed(io.StringIO):
    """A text buffer that keeps the beginning and drops the rest, so that endless output cannot fill the memory.

    `spill`, if set, is called with the dropped text, so that a grader can measure it from outside the worker.
    """

    spill: ClassVar[Callable[[str], None] | None] = None

    def write(self, text: str) -> int:
        room = PRINTED_LIMIT - self.tell()
        if room > 0:
            super().write(text[:room])
        if len(text) > room and Printed.spill is not None:
            Printed.spill(text[max(0, room) :])
        return len(text)


@dataclasses.dataclass(frozen=True)
class Step:
    """A transformation of the answer, with its options: such as 'jit', 'vmap' or 'then'."""

    name: str
    options: tuple[tuple[str, Data], ...] = ()


@dataclasses.dataclass(frozen=True)
class Request:
    """A request to an answer: its transformations from the inside out, the question, and the arguments of each call.

    `explains` says whether an exception is to be explained, which takes time.
    """

    steps: tuple[Step, ...]
    question: str
    calls: tuple[tuple[tuple[Data, ...], dict[str, Data]], ...]
    explains: bool = False


def evaluate(function: Callable[..., Any], request: Request, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to a request: `{"value": ...}`, or `{"error": ...}` if it raised, and always `"printed"`.

    Args:
        function: the student's function.
        request: the request.
        names: the namespace in which functions passed by name are looked up.
    """
    namespace = dict(names)
    out = Printed()
    quiet = warnings.catch_warnings(action="ignore")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), quiet, unattended():
        try:
            subject = _transform(function, request.steps, namespace)
            calls = [(from_data(args, namespace), from_data(kwargs, namespace)) for args, kwargs in request.calls]
            reply = {"value": _reply(subject, request.question, calls, request.explains)}
        except BaseException as error:  # sys.exit() or KeyboardInterrupt in a student's code is a student's error
            reply = {"error": plain_of(describe_error(error, request.explains))}
    reply["printed"] = out.getvalue()
    return reply


def _transform(function: Callable[..., Any], steps: tuple[Step, ...], names: dict[str, Any]) -> Callable[..., Any]:
    for step in steps:
        options = dict(step.options)
        if step.name == "then":
            function = _made_by(function, options["args"], options["beside"], names)
        else:
            function = _STEPS[step.name](function, **options)
    return function


def _made_by(
    function: Callable[..., Any], outer: tuple[Data, ...], beside: tuple[Data, ...] | None, names: dict[str, Any]
) -> Callable[..., Any]:
    """Return what a function returns; it is made in the first call, before one beside it, and called in all."""

    @functools.cache
    def made() -> Callable[..., Any]:
        made_once: Callable[..., Any] = function(*from_data(outer, names))
        if beside is not None:
            function(*from_data(beside, names))
        return made_once

    return lambda *args: made()(*args)


def _summed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        return sum(jax.numpy.sum(leaf) for leaf in jax.tree.leaves(function(*args, **kwargs)))

    return run


def _with_commands(function: Callable[..., Any], commands: tuple[str, ...]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with scripted_breakpoints(commands) as transcript:
            value = jax.block_until_ready(function(*args, **kwargs))
        return value, transcript.stops, transcript.answers

    return run


_STEPS: dict[str, Callable[..., Callable[..., Any]]] = {
    "jit": jax.jit,
    "sum": _summed,
    "vmap": jax.vmap,
    "grad": jax.grad,
    "documented_draws": compat.documented_draws_setting(),
    "at_breakpoints": _with_commands,
}


_Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]


def _reply(subject: Callable[..., Any], question: str, calls: _Calls, explains: bool) -> Data:
    if question == "observe":
        return _observe(subject, calls, explains)
    args, kwargs = calls[0]
    if question == "program":
        return tracing.program(subject, *args, **kwargs).to_plain()
    if question == "key_use":
        return key_use(subject, *args, **kwargs).to_plain()
    return to_data(jax.block_until_ready(subject(*args, **kwargs)))


def key_use(subject: Callable[..., Any], /, *args: Any, **kwargs: Any) -> KeyReport:
    """Return what a call does with its keys; if it raises, only the exception's text, as `untraceable`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of keys that cannot be seen
            return check_keys(subject, *args, **kwargs)
    except Exception as error:
        return KeyReport(untraceable=f"{type(error).__name__}: {error}")


def _observe(subject: Callable[..., Any], calls: _Calls, explains: bool) -> list[dict[str, Any]]:
    clear_caches(subject)  # so that the counts do not depend on earlier calls
    seen: list[dict[str, Any]] = []
    for args, kwargs in calls:
        # Count and watch the same call: code that prints while it is traced would print nothing in a second call.
        with tracing.watch_traces() as traces:
            one = _watch(subject, args, kwargs, explains and not any(one["error"] for one in seen))
        jitted = [found for found in traces if found.by == "jit"]
        counts = {"traces": sum(found.traces for found in jitted), "compiles": sum(found.compiles for found in jitted)}
        seen.append({**one, **counts})
    return seen


def _watch(
    subject: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], explains: bool
) -> dict[str, Any]:
    out = Printed()
    value, error = None, None
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = to_data(jax.block_until_ready(subject(*args, **kwargs)))
        except BaseException as raised:
            if isinstance(raised, MemoryError) or "RESOURCE_EXHAUSTED" in _text_of(raised):
                raise  # this ends the exercise; it is not an observation
            value, error = None, plain_of(describe_error(raised, explains))
        jax.effects_barrier()
    return {
        "value": value,
        "arguments": to_data(args),
        "error": error,
        "lines": out.getvalue().splitlines(),
        "warnings": [f"{w.category.__name__}: {w.message}"[:500] for w in caught[:20]],
    }


_HOST_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:  .*\n)*")


def describe_error(error: BaseException, explains: bool = False) -> ErrorInfo:
    """Describe an exception of a student's code, with the innermost line of that code in the traceback.

    Args:
        error: the exception.
        explains: whether to explain it, if it is known; the line is then that of the explanation.
    """
    line, source, cell = None, "", ""
    paths = set()
    for frame, number in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if _is_students(path):
            paths.add(path)
            line, source = number, linecache.getline(path, number, frame.f_globals).strip()
            cell = cell_name(path)
    # Code may raise a SyntaxError of any line.
    if isinstance(error, SyntaxError) and isinstance(error.lineno, int) and 0 <= error.lineno <= 10**6:
        line, source = error.lineno, (error.text or "").strip()
    text = _without_paths(_text_of(error), paths)
    found = ErrorInfo(type(error).__name__, _first_lines(text), line, source[:300], cell)
    return _explained(error, found) if explains else found


def _explained(error: BaseException, found: ErrorInfo) -> ErrorInfo:
    """Return what is known about an exception with its explanation, if it has one."""
    if not isinstance(error, Exception) or isinstance(error, MemoryError):
        return found
    from jaxguide.explain import explain  # loads its rules at the first error: 0.2 s and 6 MB

    try:
        explanation = explain(error)
    except Exception:  # a student's objects may do anything when inspected
        return found
    if explanation is None or not _is_students(explanation.line.file):
        return found
    fixes = tuple((fix.sentence, fix.code) for fix in explanation.fixes)
    text = ExplanationText(explanation.title, explanation.what, explanation.why, fixes, explanation.link)
    return dataclasses.replace(
        found,
        line=explanation.line.number,
        source=(explanation.line.text() or "")[:300],
        cell=cell_name(explanation.line.file),
        explanation=text.bounded(),
    )


def _text_of(error: BaseException) -> str:
    try:
        # The message of an exception in a host function includes a traceback, whose library frames hide the error.
        text = _HOST_TRACEBACK.sub("", str(error))
        return f"{text}{_did_you_mean(error, text)}" if isinstance(error, NameError | AttributeError) else text
    except Exception:  # the `__str__` of a student's exception class may raise
        return "<exception str() failed>"


def _did_you_mean(error: BaseException, text: str) -> str:
    """Return what Python adds to the message of a misspelled name when it prints a traceback (since Python 3.12)."""
    said = traceback.TracebackException(type(error), error, error.__traceback__, limit=0, lookup_lines=False)
    return str(said).removeprefix(text) if str(said).startswith(text) else ""


def _without_paths(text: str, paths: Collection[str]) -> str:
    """Replace `file:line` by the line in a message, and leave it out for given code: students know no such file."""
    for path in given_files:
        text = re.sub(rf" at {re.escape(path)}:\d+", "", text)
    for path in paths:
        text = re.sub(re.escape(path) + r":(\d+)", lambda found: f"line {found[1]}", text)
    return text


def _first_lines(text: str) -> str:
    kept = text.split("\n\n")[0].strip()
    return kept if len(kept) <= _MESSAGE_LIMIT else kept[: _MESSAGE_LIMIT - 1] + "…"


def _is_students(path: str) -> bool:
    return not path.startswith(_GIVEN) and path not in given_files and not is_library(path)
