"""Find what to do about a matrix that cannot be decomposed or inverted, from its eigenvalues and its rank."""

import contextlib

import jax.numpy as jnp
import numpy as np

from jaxguide.compat.primitives import LINEAR_SOLVE
from jaxguide.debug.nan_case import NanCase, called_name, expression_at
from jaxguide.debug.nan_flow import TRANSPARENT, ancestors, made_by


def matrix_advice(case: NanCase) -> str:
    """Advise on decompositions and solvers, from the eigenvalues and the rank of the matrix."""
    if case.bad.primitive == "cholesky":
        matrix = _matrix_at(case, case.values[0])
        if matrix is None or not np.isfinite(matrix).all():
            return ""
        lower = np.tril(matrix)
        smallest, largest = np.linalg.eigvalsh(lower + np.tril(lower, -1).T)[[0, -1]]
        if smallest < -1e-3 * max(abs(largest), 1e-30):
            return (
                f"The matrix is not positive definite: its smallest eigenvalue is {float(smallest):.3g}, too far below "
                "0 for rounding, so a small number on the diagonal would only hide it. Find out why."
            )
        symmetric = lower + np.tril(lower, -1).T
        return (
            f"The matrix is not positive definite in {case.dtype.name}: its smallest eigenvalue is "
            f"{float(smallest):.3g}. Add a small number to the diagonal first, as in `a + "
            f"{_jitter(symmetric, case.dtype)} * jnp.eye({len(matrix)})`."
        )
    if case.bad.primitive in (LINEAR_SOLVE, "triangular_solve") and case.flow is not None and case.operation:
        for place in case.operation.inputs:
            for maker in ancestors(place, 60):
                if maker.name == "lu":
                    return _singular(_matrix_at(case, case.flow.value(maker.inputs[0])))
        if case.bad.primitive == "triangular_solve":
            return _singular(_matrix_at(case, case.values[0]))
    if case.bad.made == "-inf" and case.bad.primitive == "log":
        return _log_of_determinant(case)
    return ""


def _matrix_at(case: NanCase, value: np.ndarray | None) -> np.ndarray | None:
    """Return the matrix of a batch to which the bad element belongs, in float64."""
    if value is None or value.ndim < 2 or not jnp.issubdtype(value.dtype, jnp.floating):
        return None
    batch = value.shape[:-2]
    index = case.bad.index[: len(batch)]
    if len(index) < len(batch) or any(i >= size for i, size in zip(index, batch, strict=True)):
        return None
    return np.asarray(value[index], np.float64)


def _singular(matrix: np.ndarray | None) -> str:
    if matrix is None or not np.isfinite(matrix).all() or matrix.shape[0] != matrix.shape[1]:
        return ""
    rank = int(np.linalg.matrix_rank(matrix.astype(np.float32)))
    if rank == len(matrix):
        return ""
    return (
        "The {n} by {n} matrix is singular: its rank is {rank}. Use the pseudo-inverse `jnp.linalg.pinv` or "
        "`jnp.linalg.lstsq`, or add a small number to the diagonal first, as in `a + {number} * jnp.eye({n})`."
    ).format(n=len(matrix), rank=rank, number=f"1e{_small_power(matrix)}")


def _jitter(matrix: np.ndarray, dtype: np.dtype) -> str:
    """Return a power of ten as text with which on its diagonal a matrix is positive definite, by a small margin."""
    first = _small_power(matrix)
    for power in range(first, first + 6):
        with contextlib.suppress(np.linalg.LinAlgError):
            np.linalg.cholesky((matrix + 0.8 * 10.0**power * np.eye(len(matrix))).astype(dtype))
            return f"1e{power}"
    return f"1e{first}"


def _small_power(matrix: np.ndarray) -> int:
    """Return the exponent of a power of ten, 1e-6 or more, that is small next to the elements of a matrix."""
    return max(int(np.ceil(np.log10(float(np.abs(matrix).max()) or 1.0))), 0) - 6


def _log_of_determinant(case: NanCase) -> str:
    """Advise on the logarithm of the determinant of a singular matrix."""
    for outer in case.step.outward():
        if outer.eqn.params.get("name") == "slogdet":
            return _no_determinant(_matrix_at(case, np.asarray(outer.inputs[0])))
    place = case.place(0)
    maker = None if place is None else made_by(place, through=TRANSPARENT | {"abs"})
    if maker is None or maker.spot is None or case.flow is None:
        return ""
    if (called_name(expression_at(maker.spot)) or "").rpartition(".")[2] != "det":
        return ""
    inside = [one for one in ancestors(maker.outputs[0], 300) if one.spot == maker.spot]
    for given in (given for one in inside for given in one.inputs):
        if given.maker is None or given.maker.spot != maker.spot:
            matrix = _matrix_at(case, case.flow.value(given))
            if matrix is not None and matrix.shape[0] == matrix.shape[1]:
                return _no_determinant(matrix) or (
                    f"The determinant is too small for {case.dtype.name}: use `jnp.linalg.slogdet`, which gives "
                    "its logarithm."
                )
    return ""


def _no_determinant(matrix: np.ndarray | None) -> str:
    if not _singular(matrix):
        return ""
    assert matrix is not None
    return (
        "The matrix is singular, so its determinant is 0: add a small number to the diagonal first, as in "
        "`a + {number} * jnp.eye({n})`."
    ).format(n=len(matrix), number=f"1e{_small_power(matrix)}")
