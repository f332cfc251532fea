"""Compare what came out with what was expected, and say what is wrong in words that help."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from jaxguide.course import ledger
from jaxguide.course.answer import Observation
from jaxguide.course.values import ArrayData, Data, KeyData, NodeData, Unsupported, describe_type, show, to_data
from jaxguide.course.verdict import CheckFailed
from jaxguide.keys import KeyUse
from jaxguide.text import _

# Relative tolerance by the coarser dtype of the two sides: a right answer may order its sums differently.
_RTOL = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-9, "complex64": 2e-5, "complex128": 1e-9}


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
        got: what an answer returned.
        expected: data or a value that can become data.
        message: said instead of the general sentence when values differ and no near miss fits.
        rtol, atol: tolerances instead of those of the dtype.
        weak_type: whether weak types must agree too.
        misconception: the planted wrong answer that this failure points to.

    Raises:
        CheckFailed: they differ; near misses (dtype, shape, transposed, sign, missing reduction...) have own words.
    """
    got, wanted = to_data(got), to_data(expected)
    try:
        _compare(got, wanted, "", message, rtol, atol, weak_type, exact=False)
    except CheckFailed as failure:
        raise _with(failure, got, wanted, misconception) from None


def expect_equal(got: Data, expected: Any, message: str = "", *, misconception: str = "") -> None:
    """Expect the same structure, shapes and dtypes, and exactly the same values; of keys, the same bits."""
    got, wanted = to_data(got), to_data(expected)
    try:
        _compare(got, wanted, "", message, None, None, weak_type=False, exact=True)
    except CheckFailed as failure:
        raise _with(failure, got, wanted, misconception) from None


def expect_different(first: Data, second: Any, message: str, *, misconception: str = "") -> None:
    """Expect two results that have the same form and not the same values."""
    first, other = to_data(first), to_data(second)
    for data in (first, other):
        _reject_missing(data)
    try:
        _compare(first, other, "", "", 0.0, 0.0, weak_type=False, exact=True)
    except CheckFailed:
        return
    raise CheckFailed(message, show(first), _("something else each time"), misconception)


def expect_shape(got: Data, shape: tuple[int, ...], message: str = "", *, misconception: str = "") -> None:
    """Expect an array, or keys, of this shape."""
    _reject_missing(got)
    seen = _shape(got)
    if seen != shape:
        text = message or _("The shape is {seen}; expected {shape}.").format(seen=seen, shape=shape)
        raise CheckFailed(text, describe_type(got), str(shape), misconception)


def expect_dtype(got: Data, dtype: Any, message: str = "", *, misconception: str = "") -> None:
    """Expect an array of this dtype."""
    _reject_missing(got)
    seen = got.dtype if isinstance(got, ArrayData) else None
    if seen != np.dtype(dtype):
        text = message or _wrong_dtype(describe_type(got), np.dtype(dtype).name)
        raise CheckFailed(text, describe_type(got), np.dtype(dtype).name, misconception)


def expect_that(condition: bool, message: str, got: Any = "", expected: Any = "", *, misconception: str = "") -> None:
    """Expect a condition to hold, and say `message` where it does not."""
    if not condition:
        seen, wanted = (value if isinstance(value, str) else show(to_data(value)) for value in (got, expected))
        raise CheckFailed(message, seen, wanted, misconception)


def expect_no_key_problem(use: KeyUse, allow: Collection[str] = (), *, misconception: str = "") -> None:
    """Expect clean key use; otherwise say the first problem that is not of an allowed kind."""
    for problem in use.problems:
        if problem.kind not in allow:
            raise CheckFailed(problem.message, problem.kind.replace("_", " "), _("each key used once"), misconception)


def expect_raises(observation: Observation, type_name: str, phrase: str = "", *, misconception: str = "") -> None:
    """Expect that a call raised an exception of this class with this phrase in its message."""
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
    """Expect what the ledger records for a documented example.

    Args:
        example: the example's id, such as 'S0-41'.
        got: what came out.
        part: 'value', or 'documented' and 'today' where the JAX of today gives other digits.
        message: said instead of the general sentence.

    Raises:
        CheckFailed: what came out is not what the record says.
        KeyError: the ledger has no such example, or the example no record with that part.
    """
    record = ledger.compare(example, part)
    expected = record.value
    if record.compare == "error":
        if not (isinstance(got, Observation) and got.error):
            raise CheckFailed(_("It ran without an error."), "", f"{record.type_name}", misconception)
        expect_raises(got, record.type_name, record.phrase, misconception=misconception)
        return
    shown = show(to_data(expected))
    message = message or _("Documented example {example} shows {expected}.").format(example=example, expected=shown)
    _reject_missing(got)
    plain = _plain(got)
    if record.compare == "text":
        same = isinstance(plain, str) and " ".join(plain.split()) == " ".join(str(expected).split())
    elif record.compare == "numeric":
        same = _numbers_close(plain, expected, record.rtol)
    else:
        same = _same_json(plain, expected)
    if not same:
        raise CheckFailed(message, show(got), shown, misconception)


def _plain(data: Data) -> Any:
    """Return data as JSON has it: arrays and keys as nested lists, tuples as lists."""
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
    # 1 == True in Python; in a record they are two things.
    return isinstance(got, bool) == isinstance(expected, bool) and bool(got == expected)


def _numbers_close(got: Any, expected: Any, rtol: float) -> bool:
    try:
        left, right = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return left.shape == right.shape and bool(np.allclose(left, right, rtol=rtol, atol=rtol))


def _with(failure: CheckFailed, got: Data, expected: Data, misconception: str) -> CheckFailed:
    return CheckFailed(failure.message, failure.got or show(got), failure.expected or show(expected), misconception)


def _reject_missing(got: Data) -> None:
    if got is None:
        raise CheckFailed(_("Your function returned None. Is the `return` missing?"), "None")
    if isinstance(got, Unsupported) and got.type_name == "ellipsis":
        raise CheckFailed(_("Your function returned `...`: the stub is still there."), "...")
    if isinstance(got, Unsupported):
        raise CheckFailed(
            _("Your function returned {what}, and a check cannot look inside it.").format(what=describe_type(got)),
            describe_type(got),
        )


def _compare(
    got: Data,
    expected: Data,
    path: str,
    message: str,
    rtol: float | None,
    atol: float | None,
    weak_type: bool,
    exact: bool,
) -> None:
    if expected is not None:
        _reject_missing(got)
    children = list(_children(expected))
    if children or isinstance(expected, tuple | list | dict | NodeData):
        _same_structure(got, expected, path)
        for (name, left), (_name, right) in zip(_children(got), children, strict=True):
            _compare(left, right, f"{path}{name}", message, rtol, atol, weak_type, exact)
        return
    if isinstance(expected, KeyData):
        _compare_keys(got, expected, path, message)
    elif isinstance(expected, ArrayData) or _is_number(expected):
        _compare_arrays(got, expected, path, message, rtol, atol, weak_type, exact)
    elif type(got) is not type(expected) or got != expected:
        raise CheckFailed(message or _("The value{where} is not the expected one.").format(where=_where(path)))


def _is_number(data: Data) -> bool:
    return isinstance(data, bool | int | float | complex)


def _children(data: Data) -> Iterator[tuple[str, Data]]:
    if isinstance(data, tuple | list):
        yield from ((f"[{i}]", child) for i, child in enumerate(data))
    elif isinstance(data, dict):
        yield from ((f"[{name!r}]", data[name]) for name in sorted(data, key=repr))
    elif isinstance(data, NodeData):
        yield from ((f".{name}", child) for name, child in data.children.items())


def _where(path: str) -> str:
    return _(" at `result{path}`").format(path=path) if path else ""


def _same_structure(got: Data, expected: Data, path: str) -> None:
    kinds = (tuple, list)
    same_kind = type(got) is type(expected) and (
        not isinstance(expected, NodeData) or got.type_name == expected.type_name
    )
    names = [name for name, _child in _children(expected)]
    if not same_kind or [name for name, _child in _children(got)] != names:
        text = _("The structure{where} is {got}; expected {expected}.").format(
            where=_where(path), got=_describe_tree(got), expected=_describe_tree(expected)
        )
        if isinstance(got, kinds) and isinstance(expected, kinds) and len(got) == len(expected):
            text += " " + _("A list is not a tuple: JAX treats them as different pytrees.")
        raise CheckFailed(text)


def _describe_tree(data: Data) -> str:
    if isinstance(data, dict):
        return _("a dict with the keys {names}").format(names=", ".join(map(repr, data)) or _("(none)"))
    return describe_type(data)


def _compare_keys(got: Data, expected: KeyData, path: str, message: str) -> None:
    if isinstance(got, ArrayData) and got.dtype == np.uint32 and got.shape == expected.bits.shape:
        # A legacy key with the same bits is the same key.
        got = KeyData(got.values, expected.impl)
    if not isinstance(got, KeyData):
        text = _("Expected {expected}{where}, got {got}.")
        raise CheckFailed(text.format(expected=describe_type(expected), where=_where(path), got=describe_type(got)))
    if got.shape != expected.shape:
        raise CheckFailed(_wrong_shape(got.shape, expected.shape, path))
    if got.impl != expected.impl or not np.array_equal(got.bits, expected.bits):
        raise CheckFailed(message or _("The key{where} is another key.").format(where=_where(path)))


def _compare_arrays(
    got: Data,
    expected: Data,
    path: str,
    message: str,
    rtol: float | None,
    atol: float | None,
    weak_type: bool,
    exact: bool,
) -> None:
    if not isinstance(got, ArrayData) and not _is_number(got):
        text = _("Expected {expected}{where}, got {got}.")
        raise CheckFailed(text.format(expected=describe_type(expected), where=_where(path), got=describe_type(got)))
    left, right = np.asarray(got), np.asarray(expected)
    close = _close(left, right, rtol, atol, exact)
    if left.shape != right.shape:
        raise CheckFailed(_near_shape(left, right, rtol, atol, path))
    dtype_matters = isinstance(expected, ArrayData)
    same_dtype = not dtype_matters or (isinstance(got, ArrayData) and left.dtype == right.dtype)
    if close and not same_dtype:
        raise CheckFailed(_wrong_dtype(describe_type(got), right.dtype.name, path))
    if not close:
        raise CheckFailed(message or _near_value(left, right, rtol, atol, path))
    if weak_type and isinstance(expected, ArrayData) and got.weak_type != expected.weak_type:
        text = _("Values and dtype{where} are right, but the type is {got} and should be {expected}.")
        words = (_("strong"), _("weak"))
        raise CheckFailed(text.format(where=_where(path), got=words[got.weak_type], expected=words[expected.weak_type]))


def _close(left: np.ndarray, right: np.ndarray, rtol: float | None, atol: float | None, exact: bool) -> bool:
    if left.shape != right.shape or left.dtype.kind in "SU" or right.dtype.kind in "SU":
        return False
    if exact:
        return bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc" and right.dtype.kind in "fc"))
    wide = _widen(left), _widen(right)
    tolerance = max(_RTOL.get(left.dtype.name, 0.0), _RTOL.get(right.dtype.name, 0.0))
    return bool(
        np.allclose(
            *wide,
            rtol=tolerance if rtol is None else rtol,
            atol=tolerance * max(1.0, float(np.max(np.abs(wide[1]), initial=0.0))) if atol is None else atol,
            equal_nan=True,
        )
    )


def _widen(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _near_shape(left: np.ndarray, right: np.ndarray, rtol: float | None, atol: float | None, path: str) -> str:
    where = _where(path)
    if left.size == right.size and _close(left.reshape(right.shape), right, rtol, atol, exact=False):
        return _("The values{where} are right but the shape is {got}; expected {expected}.").format(
            where=where, got=left.shape, expected=right.shape
        )
    if left.ndim == 2 and left.T.shape == right.shape and _close(left.T, right, rtol, atol, exact=False):
        return _("The result{where} is transposed: shape {got}; expected {expected}.").format(
            where=where, got=left.shape, expected=right.shape
        )
    if left.ndim > right.ndim and _reduces_to(left, right, rtol, atol):
        return _("A reduction{where} is missing: shape {got}; expected {expected}.").format(
            where=where, got=left.shape, expected=right.shape
        )
    return _wrong_shape(left.shape, right.shape, path)


def _reduces_to(left: np.ndarray, right: np.ndarray, rtol: float | None, atol: float | None) -> bool:
    if left.dtype.kind not in "iufcb":
        return False
    axes = [None, *range(left.ndim)]
    return any(
        _close(np.asarray(reduce(_widen(left), axis=axis)), right, rtol, atol, exact=False)
        for reduce in (np.sum, np.mean)
        for axis in axes
    )


def _near_value(left: np.ndarray, right: np.ndarray, rtol: float | None, atol: float | None, path: str) -> str:
    where = _where(path)
    if left.dtype.kind in "fc" and not np.all(np.isfinite(left)) and np.all(np.isfinite(_widen(right))):
        return _("The result{where} holds NaN or infinity; every value should be finite.").format(where=where)
    if left.dtype.kind in "iufc" and _close(-_widen(left), right, rtol, atol, exact=False):
        return _("The sign{where} is wrong: every value is the negative of the expected one.").format(where=where)
    if left.ndim == 2 and left.T.shape == right.shape and _close(left.T, right, rtol, atol, exact=False):
        return _("The result{where} is transposed.").format(where=where)
    if left.size > 1 and left.ndim and _close(np.sort(left, None), np.sort(right, None), rtol, atol, exact=False):
        return _("The values{where} are the expected ones in another order.").format(where=where)
    if not where:
        return _("The values are not the expected ones.")
    return _("The values{where} are not the expected ones.").format(where=where)


def _shape(data: Data) -> tuple[int, ...] | None:
    if isinstance(data, ArrayData | KeyData):
        return data.shape
    return () if _is_number(data) else None


def _wrong_shape(got: tuple[int, ...], expected: tuple[int, ...], path: str) -> str:
    return _("The shape{where} is {got}; expected {expected}.").format(where=_where(path), got=got, expected=expected)


def _wrong_dtype(got: str, expected: str, path: str = "") -> str:
    text = _("The dtype{where} is {got}; it should be {expected}.").format(
        where=_where(path), got=got, expected=expected
    )
    if got.startswith("float64") and expected == "float32":
        text += " " + _("NumPy computes in float64: did `np.` slip in for `jnp.`?")
    return text
