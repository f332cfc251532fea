"""Compare results with expected values, and explain differences in helpful messages."""

from collections.abc import Collection
from typing import Any

import numpy as np

from jaxguide.base.text import _
from jaxguide.course import ledger
from jaxguide.course.judging.answer import Observation
from jaxguide.course.judging.compare import compare, reject_missing, shape_of, wrong_dtype
from jaxguide.course.judging.values import ArrayData, Data, KeyData, describe_type, show, to_data
from jaxguide.course.verdict import CheckFailed
from jaxguide.keys import KeyUse

# All records are shorter, so a longer value differs from them and need not be converted.
_RECORD_LIMIT = 10_000


def expect_close(
    got: Data,
    expected: Any,
    message: str = "",
    *,
    rtol: float | None = None,
    atol: float | None = None,
    weak_type: bool = False,
    misconception: str = "",
) -> None:
    """Expect the same structure, shapes and dtypes, and values within the tolerance of their dtype.

    Args:
        got: the value that an answer returned.
        expected: data, or a value that can be converted to data.
        message: the message if values differ, instead of a near miss or the general sentence.
        rtol, atol: tolerances instead of those of the dtype.
        weak_type: whether weak types must agree too.
        misconception: the planted wrong answer that this failure points to.

    Raises:
        CheckFailed: the values differ; near misses (dtype, shape, transposed, sign, missing reduction...) are named.
    """
    got, wanted = to_data(got), to_data(expected)
    try:
        compare(got, wanted, "", message, rtol, atol, weak_type, exact=False)
    except CheckFailed as failure:
        raise _with(failure, got, wanted, misconception) from None


def expect_equal(got: Data, expected: Any, message: str = "", *, misconception: str = "") -> None:
    """Expect the same structure, shapes, dtypes and exactly the same values; keys must have the same bits."""
    got, wanted = to_data(got), to_data(expected)
    try:
        compare(got, wanted, "", message, None, None, weak_type=False, exact=True)
    except CheckFailed as failure:
        raise _with(failure, got, wanted, misconception) from None


def expect_different(first: Data, second: Any, message: str, *, misconception: str = "") -> None:
    """Expect two results that differ, neither of which is missing."""
    first, other = to_data(first), to_data(second)
    for data in (first, other):
        reject_missing(data)
    try:
        compare(first, other, "", "", 0.0, 0.0, weak_type=False, exact=True)
    except CheckFailed:
        return
    raise CheckFailed(message, show(first), _("different values"), misconception)


def expect_shape(got: Data, shape: tuple[int, ...], message: str = "", *, misconception: str = "") -> None:
    """Expect an array, or keys, with this shape."""
    reject_missing(got)
    seen = shape_of(got)
    if seen != shape:
        text = message or _("The shape is {seen}; expected {shape}.").format(seen=seen, shape=shape)
        if seen is None and not message:
            text = _("This is {what}; one array of shape {shape} is expected.")
            text = text.format(what=describe_type(got), shape=shape)
        raise CheckFailed(text, describe_type(got), str(shape), misconception)


def expect_dtype(got: Data, dtype: Any, message: str = "", *, misconception: str = "") -> None:
    """Expect an array with this dtype."""
    reject_missing(got)
    seen = got.dtype if isinstance(got, ArrayData) else None
    if seen != np.dtype(dtype):
        text = message or wrong_dtype(describe_type(got), np.dtype(dtype).name)
        raise CheckFailed(text, describe_type(got), np.dtype(dtype).name, misconception)


def expect_that(condition: bool, message: str, got: Any = "", expected: Any = "", *, misconception: str = "") -> None:
    """Expect a condition to hold; `message` is shown if it does not."""
    if not condition:
        seen, wanted = (value if isinstance(value, str) else show(to_data(value)) for value in (got, expected))
        raise CheckFailed(message, seen, wanted, misconception)


def expect_no_key_problem(use: KeyUse, allow: Collection[str] = (), *, misconception: str = "") -> None:
    """Expect no problems in key use other than the allowed kinds; the first problem is shown.

    To make a key again, by the same split, `fold_in` or seed, is no use of it: what counts is whether a key is drawn
    from twice, or used in two ways of draw, split and fold.
    """
    clashes: bool | None = None
    for problem in use.problems:
        if problem.kind in _MADE_AGAIN:
            clashes = _has_clash(use) if clashes is None else clashes
        if problem.kind not in allow and (problem.kind not in _MADE_AGAIN or clashes):
            raise CheckFailed(problem.message, _in_words(problem.kind), _("each key used once"), misconception)


# The problems of keys that are made again.
_MADE_AGAIN = ("split_twice", "fold_twice_same_data", "seed_built_twice")


def _has_clash(use: KeyUse) -> bool:
    """Return whether a key is drawn from twice, or used in two ways of draw, split and fold."""
    ways: dict[tuple[int, ...], set[str]] = {}
    for one in use.uses:
        known = ways.setdefault(one.bits, set())
        if one.kind == "draw" and "draw" in known:
            return True
        if one.kind in ("draw", "split", "fold_in"):
            known.add(one.kind)
    return any(len(known) > 1 for known in ways.values())


def _in_words(kind: str) -> str:
    """Return the kind of a key problem in words for students."""
    said = {
        "drawn_twice": _("drawn twice"),
        "parent_used_after_split": _("parent used after split"),
        "parent_used_after_fold": _("parent used after fold"),
        "split_twice": _("split twice"),
        "fold_twice_same_data": _("fold twice same data"),
        "split_and_fold_mixed": _("split and fold mixed"),
        "same_key_for_all_rows": _("same key for all rows"),
        "seed_built_twice": _("seed built twice"),
    }
    return said.get(kind, kind.replace("_", " "))


def expect_raises(observation: Observation, type_name: str, phrase: str = "", *, misconception: str = "") -> None:
    """Expect a call to have raised an exception of this class, with this phrase in its message."""
    error = observation.error
    if error is None:
        raise CheckFailed(
            _("It ran without an error; expected {name}.").format(name=type_name),
            show(observation.value),
            type_name,
            misconception,
        )
    if error.type_name != type_name or phrase not in error.message:
        raise CheckFailed(
            _("It raised another error than expected."),
            f"{error.type_name}: {error.message}",
            f"{type_name}: …{phrase}…" if phrase else type_name,
            misconception,
        )


def expect_documented(
    example: str, got: Data, part: str = "value", message: str = "", *, misconception: str = ""
) -> None:
    """Expect the result that the ledger records for a documented example.

    Args:
        example: the example's id, such as 'S0-41'.
        got: the result.
        part: 'value', or 'documented' or 'today' if today's JAX gives other digits than the document.
        message: the message if they differ, instead of the general sentence.

    Raises:
        CheckFailed: the result differs from the record.
        KeyError: the ledger has no such example, or the example's record has no such part.
    """
    record = ledger.record_part(example, part)
    expected = record.value
    if record.compare == "error":
        if not (isinstance(got, Observation) and got.error):
            raise CheckFailed(_("It ran without an error."), "", f"{record.type_name}", misconception)
        expect_raises(got, record.type_name, record.phrase, misconception=misconception)
        return
    shown = show(to_data(expected))
    message = message or _("Documented example {example} shows {expected}.").format(example=example, expected=shown)
    reject_missing(got)
    if _size(got) > _RECORD_LIMIT:
        raise CheckFailed(message, describe_type(got), shown, misconception)
    plain = _plain(got)
    if record.compare == "text":
        same = isinstance(plain, str) and " ".join(plain.split()) == " ".join(str(expected).split())
    elif record.compare == "numeric":
        same = _numbers_close(plain, expected, record.rtol)
    else:
        same = _same_json(plain, expected)
    if not same:
        raise CheckFailed(message, show(got), shown, misconception)


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
    if isinstance(data, np.ndarray | np.generic):
        return data.tolist()
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
    try:
        left, right = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return left.shape == right.shape and bool(np.allclose(left, right, rtol=rtol, atol=rtol))


def _with(failure: CheckFailed, got: Data, expected: Data, misconception: str) -> CheckFailed:
    return CheckFailed(failure.message, failure.got or show(got), failure.expected or show(expected), misconception)
