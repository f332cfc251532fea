"""Compare two values part by part, and name the near miss if they differ."""

import dataclasses

import numpy as np

from jaxguide.course.judging.literals import shortened, show
from jaxguide.course.judging.values import ArrayData, Data, KeyData, NodeData, Unsupported, children_of, describe_type
from jaxguide.course.verdict import CheckFailed

RESULT, DERIVED = "result", "found"
"""The names, in messages, of what a function returned and of what a check derived from it."""

_NAMES_SHOWN = 20
_REDUCED_LIMIT = 2**20  # elements
# Relative tolerance by dtype; the coarser of two dtypes counts. Right answers may add numbers in another order.
_RTOL = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-9, "complex64": 2e-5, "complex128": 1e-9}


class Mismatch(CheckFailed):
    """Two values differ at `path`; for arrays of one shape, `close` says of each element whether it is right."""

    def __init__(self, message: str, path: str, got: Data, expected: Data, close: np.ndarray | None = None):
        super().__init__(message)
        self.path, self.part, self.expected_part, self.close = path, got, expected, close

    @property
    def index(self) -> tuple[int, ...] | None:
        """The index of the first element that differs."""
        return None if self.close is None else tuple(int(place) for place in np.argwhere(~self.close)[0])


def reject_missing(got: Data, path: str = RESULT) -> None:
    """Reject a missing value: None after a forgotten `return`, the stub's `...`, or anything that is not data."""
    if got is not None and not isinstance(got, Unsupported):
        return
    inside = "" if got is None else ", and a check cannot look inside it"
    if path != RESULT:
        raise CheckFailed(f"The value{at_path(path)} is {describe_type(got)}{inside}.")
    known = {
        "None": "Your function returned None. Is the `return` missing?",
        "ellipsis": "Your function returned `...`: the stub is still there.",
        "function": "Your function returned a function. Is a call missing, such as the `(xs)` of `jax.vmap(f)(xs)`?",
    }
    kind = "None" if got is None else got.type_name
    raise CheckFailed(known.get(kind, f"Your function returned {describe_type(got)}{inside}."))


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How to compare values.

    Args:
        message: the message if values differ, instead of a near miss. Without either, a card says the check's fact.
        rtol, atol: tolerances instead of those of the dtype.
        weak_type: whether weak types must agree.
        exact: whether values must be equal, not only close.
    """

    message: str = ""
    rtol: float | None = None
    atol: float | None = None
    weak_type: bool = False
    exact: bool = False

    def compare(self, got: Data, expected: Data, path: str = RESULT) -> None:
        """Compare two values, part by part.

        Args:
            got, expected: the values.
            path: where they are: `RESULT`, a part of it such as `result[0].weights`, or `DERIVED`.

        Raises:
            Mismatch: two values, or their structures, differ.
            CheckFailed: a value is missing.
        """
        if expected is not None:
            reject_missing(got, path)
        children = list(children_of(expected))
        if not children and not isinstance(expected, tuple | list | dict | NodeData):
            wrong = self._wrong_leaf(got, expected, at_path(path))
            if wrong is not None:
                raise Mismatch(wrong, path, got, expected, self._which_are_close(got, expected))
            return
        try:
            _same_structure(got, expected, path)
            for (name, left), (_name, right) in zip(children_of(got), children, strict=True):
                self.compare(left, right, f"{path}{name}")
        except Mismatch as failure:
            if are_lines(got) and are_lines(expected):
                raise Mismatch(failure.message, path, got, expected) from None
            raise

    def _wrong_leaf(self, got: Data, expected: Data, where: str) -> str | None:
        """Return what is wrong with a value, '' if only that it is another one, and None if it is right."""
        if isinstance(expected, KeyData):
            return self._wrong_key(got, expected, where)
        if isinstance(expected, ArrayData) or _is_number(expected):
            return self._wrong_array(got, expected, where)
        if type(got) is type(expected) and got == expected:
            return None
        return self.message or (f"The value{where} is not the expected one." if where else "")

    def _wrong_key(self, got: Data, expected: KeyData, where: str) -> str | None:
        if isinstance(got, ArrayData) and got.dtype == np.uint32 and got.shape == expected.bits.shape:
            # A legacy key with the same bits is the same key.
            got = KeyData(got.values, expected.impl)
        if not isinstance(got, KeyData):
            return _other_kind(got, expected, where)
        if got.shape != expected.shape:
            return _wrong_shape(got.shape, expected.shape, where)
        if got.impl != expected.impl or not np.array_equal(got.bits, expected.bits):
            return self.message or f"The key{where} is another key."
        return None

    def _wrong_array(self, got: Data, expected: Data, where: str) -> str | None:
        if not isinstance(got, ArrayData) and not _is_number(got):
            return _other_kind(got, expected, where)
        left, right = np.asarray(got), np.asarray(expected)
        dtype_matters = isinstance(expected, ArrayData)
        if not dtype_matters and left.dtype.name in ("float16", "bfloat16"):
            left = left.astype(np.float32)  # a coarse dtype must not earn a coarse tolerance where any dtype is right
        if left.shape != right.shape:
            return self._near_shape(left, right, where)
        if not np.all(self._are_close(left, right, self.exact)):
            return self.message or self._near_value(left, right, where)
        if dtype_matters and not (isinstance(got, ArrayData) and left.dtype == right.dtype):
            return wrong_dtype(got, right.dtype.name, where)
        if self.weak_type and isinstance(expected, ArrayData) and got.weak_type != expected.weak_type:
            text = "Values and dtype{where} are right, but the type is {got} and should be {expected}."
            words = ("strong", "weak")
            return text.format(where=where, got=words[got.weak_type], expected=words[expected.weak_type])
        return None

    def _are_close(self, left: np.ndarray, right: np.ndarray, exact: bool = False) -> np.ndarray | bool:
        """Return for each element whether it is close, or False if the arrays cannot be compared."""
        if left.shape != right.shape or left.dtype.kind in "SU" or right.dtype.kind in "SU":
            return False
        if exact:
            is_nan = left.dtype.kind in "fc" and right.dtype.kind in "fc"
            same: np.ndarray = np.asarray(left == right)
            return same | (np.isnan(left) & np.isnan(right)) if is_nan else same
        wide = _widen(left), _widen(right)
        largest = float(np.max(np.abs(wide[1]), initial=0.0, where=np.isfinite(wide[1])))
        tolerance = max(_RTOL.get(left.dtype.name, 0.0), _RTOL.get(right.dtype.name, 0.0))
        # Infinities are compared by themselves; they would make the tolerance of the others infinite.
        close: np.ndarray = np.isclose(
            *wide,
            rtol=tolerance if self.rtol is None else self.rtol,
            atol=tolerance * max(1.0, largest) if self.atol is None else self.atol,
            equal_nan=True,
        )
        return close

    def _which_are_close(self, got: Data, expected: Data) -> np.ndarray | None:
        """Return for each element whether it is close, or None if all are or these are not arrays of one shape."""
        if not isinstance(got, ArrayData) or not isinstance(expected, ArrayData):
            return None
        close = self._are_close(got.values, expected.values, self.exact)
        return None if isinstance(close, bool) or close.all() else close

    def _near_shape(self, left: np.ndarray, right: np.ndarray, where: str) -> str:
        if left.size == right.size and np.all(self._are_close(left.reshape(right.shape), right)):
            return f"The values{where} are right but the shape is {left.shape}; expected {right.shape}."
        if left.ndim == 2 and np.all(self._are_close(left.T, right)):
            return f"The result{where} is transposed: shape {left.shape}; expected {right.shape}."
        if left.ndim > right.ndim and self._reduces_to(left, right):
            return f"A reduction{where} is missing: shape {left.shape}; expected {right.shape}."
        return _wrong_shape(left.shape, right.shape, where)

    def _reduces_to(self, left: np.ndarray, right: np.ndarray) -> bool:
        if left.dtype.kind not in "iufcb" or not 0 < left.size <= _REDUCED_LIMIT:
            return False
        axes = [None, *range(left.ndim)]
        return any(
            np.all(self._are_close(np.asarray(reduce(_widen(left), axis=axis)), right))
            for reduce in (np.sum, np.mean)
            for axis in axes
        )

    def _near_value(self, left: np.ndarray, right: np.ndarray, where: str) -> str:
        if left.dtype.kind in "fc" and not np.all(np.isfinite(left)) and np.all(np.isfinite(_widen(right))):
            return f"The result{where} holds NaN or infinity; every value should be finite."
        if left.dtype.kind in "iufc" and np.all(self._are_close(-_widen(left), right)):
            return f"The sign{where} is wrong: every value is the negative of the expected one."
        if left.ndim == 2 and np.all(self._are_close(left.T, right)):
            return f"The result{where} is transposed."
        if left.size > 1 and left.ndim and np.all(self._are_close(np.sort(left, None), np.sort(right, None))):
            return f"The values{where} are the expected ones in another order."
        return f"The values{where} are not the expected ones." if where else ""


def are_lines(data: Data) -> bool:
    """Return whether data is a list or tuple of strings, such as printed lines."""
    return isinstance(data, list | tuple) and all(isinstance(line, str) for line in data)


def _is_number(data: Data) -> bool:
    return isinstance(data, bool | int | float | complex)


def at_path(path: str) -> str:
    return f" at `{shortened(path)}`" if path not in (RESULT, DERIVED) else ""


def _same_structure(got: Data, expected: Data, path: str) -> None:
    kinds = (tuple, list)
    same_kind = type(got) is type(expected) and (
        not isinstance(expected, NodeData) or got.type_name == expected.type_name
    )
    names = [name for name, _child in children_of(expected)]
    if not same_kind or [name for name, _child in children_of(got)] != names:
        text = f"The structure{at_path(path)} is {_describe_tree(got)}; expected {_describe_tree(expected)}."
        if isinstance(got, kinds) and isinstance(expected, kinds) and len(got) == len(expected):
            text += " " + "A list is not a tuple: JAX treats them as different pytrees."
        raise Mismatch(text, path, got, expected)


def _describe_tree(data: Data) -> str:
    if not isinstance(data, dict):
        return describe_type(data)
    names = ", ".join(show(name) for name in list(data)[:_NAMES_SHOWN]) + (", …" if len(data) > _NAMES_SHOWN else "")
    return f"a dict with the keys {names or '(none)'}"


def _widen(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def shape_of(data: Data) -> tuple[int, ...] | None:
    if isinstance(data, ArrayData | KeyData):
        return data.shape
    return () if _is_number(data) else None


def _other_kind(got: Data, expected: Data, where: str) -> str:
    return f"Expected {describe_type(expected)}{where}, got {describe_type(got)}."


def _wrong_shape(got: tuple[int, ...], expected: tuple[int, ...], where: str) -> str:
    return f"The shape{where} is {got}; expected {expected}."


def wrong_dtype(got: Data, expected: str, where: str = "") -> str:
    text = f"The dtype{where} is {describe_type(got)}; it should be {expected}."
    is_numpy = isinstance(got, ArrayData) and got.origin == "numpy"
    if is_numpy and got.dtype.name == "float64" and expected == "float32":
        text += " " + "It is a NumPy array, and NumPy computes in float64 where jax.numpy computes in float32."
    return text
