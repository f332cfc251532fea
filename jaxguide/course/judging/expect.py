"""Compare results with expected values, and explain differences in helpful messages."""

import dataclasses
import functools
from collections.abc import Callable, Collection
from typing import Any, NoReturn, ParamSpec, TypedDict, Unpack

import numpy as np

from jaxguide.course import ledger
from jaxguide.course.judging.calls import Observation, ValueOrigin, current_log
from jaxguide.course.judging.compare import (
    DERIVED,
    RESULT,
    Comparison,
    Mismatch,
    at_path,
    reject_missing,
    shape_of,
    wrong_dtype,
)
from jaxguide.course.judging.difference import difference_of
from jaxguide.course.judging.facts import agree
from jaxguide.course.judging.literals import shortened, show
from jaxguide.course.judging.values import ArrayData, Data, KeyData, children_of, describe_type, to_data
from jaxguide.course.verdict import CheckFailed, Evidence
from jaxguide.keys import KeyReport

# All records are shorter, so a longer value differs from them and need not be converted.
_RECORD_LIMIT = 10_000
_P = ParamSpec("_P")


class Remarks(TypedDict, total=False):
    """What can be added to each expectation.

    Args:
        label: what the check compares, if it derived it from what the function returned: 'the sum of row 0'.
        on: the kind of input, in words, such as 'a row with a zero in it'. Students see it, also if the check is
            hidden, so write no value of the input.
        misconception: the planted wrong answer that this failure points to, or a sentence if the check itself saw
            what was misunderstood.
    """

    label: str
    on: str
    misconception: str


def _expectation(function: Callable[_P, None]) -> Callable[_P, None]:
    """Note, each time an expectation holds, that the calls before it are settled."""

    @functools.wraps(function)
    def expect(*args: _P.args, **kwargs: _P.kwargs) -> None:
        function(*args, **kwargs)
        log = current_log.get()
        if log is not None:
            log.settle()

    return expect


@_expectation
def expect_close(
    got: Data,
    expected: Any,
    message: str = "",
    *,
    rtol: float | None = None,
    atol: float | None = None,
    weak_type: bool = False,
    **remarks: Unpack[Remarks],
) -> None:
    """Expect the same structure, shapes and dtypes, and values within the tolerance of their dtype.

    Args:
        got: the value that an answer returned.
        expected: data, or a value that can be converted to data.
        message: the message if values differ, instead of a near miss or the general sentence.
        rtol, atol: tolerances instead of those of the dtype.
        weak_type: whether weak types must agree too.
        remarks: see `Remarks`.

    Raises:
        CheckFailed: the values differ; near misses (dtype, shape, transposed, sign, missing reduction...) are named.
    """
    _compare(got, expected, Comparison(message, rtol, atol, weak_type), remarks)


@_expectation
def expect_equal(got: Data, expected: Any, message: str = "", **remarks: Unpack[Remarks]) -> None:
    """Expect the same structure, shapes, dtypes and exactly the same values; keys must have the same bits."""
    _compare(got, expected, Comparison(message, exact=True), remarks)


def _compare(got: Any, expected: Any, how: Comparison, remarks: Remarks) -> None:
    seen, wanted = to_data(got), to_data(expected)
    try:
        _with_path(got, lambda path: how.compare(seen, wanted, path))
    except CheckFailed as failure:
        raise _described(failure, how, got, seen, expected, wanted, remarks) from None


def _with_path(got: Any, test: Callable[[str], None]) -> None:
    """Test a value by `test(path)`; the call that it came from, which takes time to find, counts only if it fails."""
    try:
        test(RESULT)
    except CheckFailed:
        test(_path(_origin(got)))


def _described(
    failure: CheckFailed, how: Comparison, got: Any, seen: Data, expected: Any, wanted: Data, remarks: Remarks
) -> CheckFailed:
    """Add the values to a failure, and the call: of several whose results a check lists, the first that is wrong."""
    found = _failure(failure.message, got, show(seen), show(wanted), remarks, expected)
    if isinstance(failure, Mismatch):
        differs = difference_of(failure, seen, wanted)
        found.evidence = _one_call(how, seen, wanted) or dataclasses.replace(found.evidence, **differs)
    return found


def _one_call(how: Comparison, seen: Data, wanted: Data) -> Evidence | None:
    """Return the first call that returned what it should not, if a value lists what several calls returned."""
    log = current_log.get()
    parts, rights = list(children_of(seen)), list(children_of(wanted))
    if log is None or len(parts) < 2 or [name for name, _part in parts] != [name for name, _right in rights]:
        return None
    calls = log.calls_of([part for _name, part in parts])
    for call, (_name, part), (_same, right) in zip(calls, parts, rights, strict=False):
        try:
            how.compare(part, right)
        except Mismatch as failure:
            differs = difference_of(failure, part, right)
            return Evidence(call=call.written(log.name), got=call.returned(), **differs)
    return None


def _origin(value: Any) -> ValueOrigin | None:
    log = current_log.get()
    return log.origin(value) if log is not None and log.request is not None else None


def _path(origin: ValueOrigin | None) -> str:
    """Return how messages name a value from this origin."""
    if origin is None:
        return RESULT
    return DERIVED if origin.path is None else f"{RESULT}{origin.path}"


def _failure(message: str, value: Any, text: str, expected: str, remarks: Remarks, other: Any = None) -> CheckFailed:
    """Return a failure with the call that gave a value, what it returned, and what the check compared.

    Args:
        message: the message.
        value: what the check compared, the very object.
        text: `value` as it is shown.
        expected: what it should be, in text.
        remarks: see `Remarks`.
        other: what it was compared with, which may come from a call, too.
    """
    failure = CheckFailed(message, text, expected, remarks.get("misconception", ""), remarks.get("on", ""))
    log, origin = current_log.get(), _origin(value)
    if log is None or origin is None:
        return failure
    failure.evidence = log.evidence(origin, text, remarks.get("label", ""))
    failure.evidence.expected = expected
    against = () if other is None else log.origin(other).calls
    log.blamed = tuple(dict.fromkeys((*origin.calls, *against, *log.unsettled())))
    return failure


@_expectation
def expect_different(first: Data, second: Any, message: str, **remarks: Unpack[Remarks]) -> None:
    """Expect two results that differ, neither of which is missing."""
    one, other = _present(first, remarks), _present(second, remarks)
    try:
        Comparison(exact=True).compare(one, other)
    except CheckFailed:
        return
    raise _failure(message, first, show(one), "different values", remarks, second)


def _present(got: Any, remarks: Remarks) -> Data:
    """Return a value as data, which must not be missing."""
    data = to_data(got)
    try:
        _with_path(got, lambda path: reject_missing(data, path))
    except CheckFailed as failure:
        raise _failure(failure.message, got, show(data), "", remarks) from None
    return data


@_expectation
def expect_shape(got: Data, shape: tuple[int, ...], message: str = "", **remarks: Unpack[Remarks]) -> None:
    """Expect an array, or keys, with this shape."""
    data = _present(got, remarks)
    seen = shape_of(data)
    if seen != shape:
        text = message or f"The shape is {seen}; expected {shape}."
        if seen is None and not message:
            text = "This is {what}; one array of shape {shape} is expected."
            text = text.format(what=describe_type(data), shape=shape)
        raise _property(text, got, data, "shape", "" if seen is None else str(seen), str(shape), remarks)


@_expectation
def expect_dtype(got: Data, dtype: Any, message: str = "", **remarks: Unpack[Remarks]) -> None:
    """Expect an array with this dtype."""
    data = _present(got, remarks)
    seen = data.dtype if isinstance(data, ArrayData) else None
    if seen != np.dtype(dtype):
        text = message or wrong_dtype(data, np.dtype(dtype).name, at_path(_path(_origin(got))))
        raise _property(text, got, data, "dtype", "" if seen is None else seen.name, np.dtype(dtype).name, remarks)


def _property(
    message: str, value: Any, data: Data, name: str, text: str, expected: str, remarks: Remarks
) -> CheckFailed:
    """Return a failure about an attribute of a value, given as its name and text ('' if the value has none)."""
    failure = _failure(message, value, show(data), expected, remarks)
    if text:
        failure.evidence.compared = text
        failure.evidence.label = remarks.get("label") or f"{shortened(_path(_origin(value)))}.{name}"
    return failure


@_expectation
def expect_that(condition: bool, message: str, got: Any = "", expected: Any = "", **remarks: Unpack[Remarks]) -> None:
    """Expect a condition to hold; `message` is shown if it does not. Strings are words, or what a call returned."""
    if condition:
        return
    seen, wanted = to_data(got), to_data(expected)
    if isinstance(seen, str) or isinstance(wanted, str):
        raise _failure(message, got, *_as_words(got, seen, wanted), remarks)
    _reject(got, seen, expected, message, 0.0, remarks)


def _reject(got: Any, seen: Data, expected: Any, message: str, rtol: float, remarks: Remarks) -> NoReturn:
    """Fail with this message on a value that is known to be wrong, and show where it differs, if it does."""
    wanted, how = to_data(expected), Comparison(message, rtol, rtol, exact=not rtol)
    try:
        how.compare(seen, wanted, _path(_origin(got)))
    except Mismatch as failure:
        failure.message = message
        raise _described(failure, how, got, seen, expected, wanted, remarks) from None
    except CheckFailed:
        pass
    raise _failure(message, got, show(seen), show(wanted), remarks)


def _as_words(got: Any, seen: Data, wanted: Data) -> tuple[str, str]:
    """Return the texts of what a check got and expected: words as they are, values as Python writes them."""
    origin = _origin(got)
    is_value = (
        isinstance(got, str)
        and "\n" not in got
        and origin is not None
        and bool(origin.label or origin.path is not None)
    )
    is_word = isinstance(wanted, str) and not (is_value and wanted and " " not in wanted)
    return str(seen) if isinstance(seen, str) and not is_value else show(seen), str(wanted) if is_word else show(wanted)


@_expectation
def expect_no_key_problem(use: KeyReport, allow: Collection[str] = (), **remarks: Unpack[Remarks]) -> None:
    """Expect no problems in key use other than the allowed kinds; the first problem is shown.

    To make a key again, by the same split, `fold_in` or seed, is no use of it: what counts is whether a key is drawn
    from twice, or used in two ways of draw, split and fold.
    """
    for problem in use.problems:
        if problem.kind not in allow and (problem.kind not in _MADE_AGAIN or _has_clash(use)):
            seen, wanted = problem.kind.replace("_", " "), "each key used once"
            failure = _failure(problem.message, use, seen, wanted, {"label": "Keys", **remarks})
            failure.evidence.names_cause = True
            raise failure


# The problems of keys that are made again.
_MADE_AGAIN = ("split_twice", "fold_twice_same_data", "seed_built_twice")


def _has_clash(use: KeyReport) -> bool:
    """Return whether a key is drawn from twice, or used in two ways of draw, split and fold."""
    ways: dict[tuple[int, ...], set[str]] = {}
    for one in use.uses:
        known = ways.setdefault(one.bits, set())
        if one.kind == "draw" and "draw" in known:
            return True
        if one.kind in ("draw", "split", "fold_in"):
            known.add(one.kind)
    return any(len(known) > 1 for known in ways.values())


@_expectation
def expect_raises(observation: Observation, type_name: str, phrase: str = "", **remarks: Unpack[Remarks]) -> None:
    """Expect a call to have raised an exception of this class, with this phrase in its message."""
    error = observation.error
    if error is None:
        message = f"It ran without an error; expected {type_name}."
        raise _failure(message, observation, show(observation.value), type_name, remarks)
    if error.type_name != type_name or phrase not in error.message:
        seen, wanted = f"{error.type_name}: {error.message}", f"{type_name}: …{phrase}…" if phrase else type_name
        raise _failure("It raised another error than expected.", observation, seen, wanted, remarks)


@_expectation
def expect_documented(
    example: str, got: Data, part: str = "value", message: str = "", **remarks: Unpack[Remarks]
) -> None:
    """Expect the result that the ledger records for a documented example.

    Args:
        example: the example's id, such as 'S0-41', which students do not see.
        got: the result; if the record has a text made by JAX, the text, its lines, or a call that raised it.
        part: 'value', or 'documented' or 'today' if today's JAX gives other digits than the document.
        message: the message if they differ, instead of the general sentence.
        remarks: see `Remarks`.

    Raises:
        CheckFailed: the result differs from the record.
        KeyError: the ledger has no such example, or the example's record has no such part.
    """
    record = ledger.record_part(example, part)
    expected = record.value
    if isinstance(got, Observation) and got.error is None:
        raise _failure("It ran without an error.", got, show(got.value), str(expected), remarks)
    shown = show(to_data(expected))
    data = _raised(got) if isinstance(got, Observation) else _present(got, remarks)
    is_todays = part == "today" or record.compare == "facts"
    message = message or f"It should give {shown}{'' if is_todays else ', as documented'}."
    if _size(data) > _RECORD_LIMIT:
        raise _failure(message, got, show(data), shown, remarks)
    plain = _plain(data)
    if record.compare == "text" and isinstance(plain, str):
        data, expected = " ".join(plain.split()), " ".join(str(expected).split())
        same = data == expected
    elif record.compare == "facts":
        same = _states_facts(plain, record)
    elif record.compare == "numeric":
        same = _numbers_close(plain, expected, record.rtol)
    else:
        same = _same_json(plain, expected)
    if not same:
        _reject(got, data, expected, message, record.rtol, remarks)


def _raised(observation: Observation) -> str:
    """Write an exception as the ledger does: its class, and the first line of its message."""
    assert observation.error is not None
    return ": ".join((observation.error.type_name, observation.error.message.partition("\n")[0]))


def _states_facts(text: Any, record: ledger.RecordPart) -> bool:
    """Return whether a text states the facts of the record: of an error with a phrase, its class and the phrase."""
    if record.phrase and not record.verbatim:
        kind = str(record.value).partition(":")[0]
        return isinstance(text, str) and text.startswith(f"{kind}:") and record.phrase in text
    return agree(text, record.value, record.rtol, verbatim=record.verbatim)


def _size(data: Data) -> int:
    """Return about how many numbers data contains."""
    if isinstance(data, ArrayData):
        return data.values.size
    children = data.values() if isinstance(data, dict) else data if isinstance(data, tuple | list) else ()
    return 1 + sum(map(_size, children))


def _plain(data: Data) -> Any:
    """Convert data to JSON data: arrays and keys become nested lists, tuples become lists."""
    if isinstance(data, ArrayData):
        return data.values.tolist()
    if isinstance(data, KeyData):
        return data.bits.tolist()
    if isinstance(data, tuple | list):
        return [_plain(child) for child in data]
    if isinstance(data, dict):
        return {str(name): _plain(child) for name, child in data.items()}
    return data


def _same_json(got: Any, expected: Any) -> bool:
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(_same_json, got, expected))
    # 1 == True in Python, but they differ in a record.
    return isinstance(got, bool) == isinstance(expected, bool) and bool(got == expected)


def _numbers_close(got: Any, expected: Any, rtol: float) -> bool:
    if isinstance(expected, dict):
        names_agree = isinstance(got, dict) and got.keys() == expected.keys()
        return names_agree and all(_numbers_close(got[name], expected[name], rtol) for name in expected)
    try:
        left, right = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return left.shape == right.shape and bool(np.allclose(left, right, rtol=rtol, atol=rtol))
