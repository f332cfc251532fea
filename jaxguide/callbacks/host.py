"""Call NumPy and SciPy functions from JAX programs, with `host_function`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from jaxguide.callbacks.finite_differences import Verification, verify_derivative
from jaxguide.callbacks.host_call import HostCall, describe_out, signature_of
from jaxguide.compat.debug_flags import CHECKS, PROMOTION, flags_off
from jaxguide.jaxpr.arguments import is_array_like, require_values
from jaxguide.jaxpr.mesh_places import typed_like
from jaxguide.jaxpr.value_words import array_type, describe

# A rule, or one for each argument by position or by name; None for an argument without a derivative.
Derivative = Callable[..., Any] | Sequence[Callable[..., Any] | None] | Mapping[str, Callable[..., Any] | None]


def host_function(
    fn: Callable[..., Any],
    *,
    out: Any = None,
    vmap_method: str | None = None,
    derivative: Derivative | None = None,
    elementwise: bool = False,
) -> "HostFunction":
    """Make a NumPy or SciPy function jittable, vmappable and, with a derivative, differentiable to any order.

    >>> import jax.numpy as jnp, numpy as np, scipy.special
    >>> ndtr = host_function(
    ...     scipy.special.ndtr, elementwise=True, derivative=lambda x: jnp.exp(-(x**2) / 2) / jnp.sqrt(2 * jnp.pi)
    ... )
    >>> jax.jit(ndtr)(jnp.array([0.0, 1.0]))
    Array([0.5      , 0.8413448], dtype=float32)
    >>> print(jax.grad(ndtr)(1.0), jax.hessian(ndtr)(1.0))
    0.24197073 -0.24197073
    >>> print(ndtr.verify(np.array([-1.0, 0.5])))
    The derivative of `ndtr` agrees with finite differences.
      `x1`: largest difference ...

    For a function that is not elementwise, `out` describes the result, and the derivative is a linear map for each
    argument:

    >>> inv = host_function(np.linalg.inv, out=lambda a: a, derivative=lambda da, inverse, a: -inverse @ da @ inverse)
    >>> print(jax.grad(lambda s: inv(s * jnp.eye(2)).sum())(2.0))
    -0.5

    JAX assumes that the function is pure: it may call it more than once, not at all (if the result is not used), or
    once for many loop steps. For reading, writing and drawing random numbers, use `io_function`. A host function that
    itself calls JAX can deadlock, waiting for the program that waits for it: compute with NumPy inside. On several
    devices, a `jax.jit` calls it once with the whole value; inside `jax.shard_map` and `jax.pmap`, each device calls it
    with its shard.

    Args:
        fn: the function. It gets its arguments as read-only NumPy arrays and returns NumPy arrays or numbers. Arguments
            are arrays or pytrees of arrays, passed by position or name; bind other options with `functools.partial`.
            `functools.partial(host_function, elementwise=True)` is a decorator.
        out: the result: a `jax.ShapeDtypeStruct`, an array like it, a pytree of them, or a function that makes one from
            the arguments' `jax.ShapeDtypeStruct`s, such as `lambda a, b: a`. Required unless `elementwise`: then the
            shape is that to which the arguments broadcast, the dtype is that of the arguments promoted to floating
            point, and `out` may be another dtype, such as `bool`, or a pytree of dtypes. If it is omitted and no
            argument is a float, `fn` gets booleans and short integers as int32: NumPy would compute in float16.
        vmap_method: how `jax.vmap` calls `fn`, as in `jax.pure_callback`. Defaults to "expand_dims", which is once for
            all rows, for elementwise functions, whose mapped arguments are broadcast to one shape, and to "sequential",
            once for each row, for others.
        derivative: a function if `fn` has one argument, otherwise a tuple with one for each argument or a dict by
            argument name; None or omitted for an argument without a derivative. With `elementwise`, a partial
            derivative `partial(*args)`: the factor by which a small change is multiplied. Otherwise, a linear map
            `rule(tangent, result, *args)` that returns the change of the result. Write either with `jax.numpy` and host
            functions (this one too), so that it can be differentiated again; but use only `jax.numpy` on `tangent`,
            because reverse mode has to transpose that part.
        elementwise: `fn` works element by element on arrays of any shape and broadcasts its arguments, as NumPy's
            ufuncs do. `np.vectorize` makes such a function from a function of one number.

    Returns:
        A function of arrays of any shape and dtype. Its results have exactly the promised shapes, and the promised
        dtypes: others are converted if NumPy calls that "same_kind", such as float64 or int64 to float32. Its method
        `verify` checks the derivative, and in a block of its method `errors`, compiled programs raise the function's
        own error.

    Raises:
        TypeError, ValueError: an argument is invalid, in this call or in a call of the result; in `jax.grad`, a
            derivative is missing.
        NotImplementedError: it is called in a `jax.shard_map` over some of the axes of its mesh.
        HostFunctionError: at run time, `fn` raised, or returned something other than promised; under `jax.jit`,
            JAX raises an error of its own with this text, except in a block of `errors`.

    Based on `jax.pure_callback` and `jax.custom_jvp`; see https://docs.jax.dev/en/latest/external-callbacks.html.
    """
    return HostFunction(fn, out, vmap_method, derivative, elementwise)


class HostFunction(HostCall):
    """A function that runs on the host and is called from JAX; made by `host_function`."""

    def __init__(
        self, fn: Callable[..., Any], out: Any, vmap_method: str | None, derivative: Any, elementwise: bool
    ) -> None:
        super().__init__("host_function(np.sin, elementwise=True)", fn, out, elementwise)
        if out is None and not elementwise:
            raise TypeError(
                f"`host_function` cannot know what `{self.__name__}` returns: pass `elementwise=True` if it works "
                "element by element, `out=jax.ShapeDtypeStruct(shape, dtype)` if the result is always the same, or a "
                "function of the arguments, such as `out=lambda x: x` for the shape and dtype of `x`."
            )
        method = vmap_method or ("expand_dims" if elementwise else "sequential")
        self._callback = functools.partial(jax.pure_callback, vmap_method=method)
        self.rules = self._by_position(derivative)
        self._run = jax.custom_jvp(self._pure)
        self._run.defjvp(self._jvp, symbolic_zeros=True)

    @flags_off(*CHECKS)
    def verify(self, /, *args: Any, **kwargs: Any) -> Verification:
        """Compare the derivative with finite differences in float64, for these arguments.

        >>> import jax.numpy as jnp, numpy as np
        >>> wrong = host_function(np.sin, elementwise=True, derivative=lambda x: -jnp.cos(x))
        >>> wrong.verify(1.0)
        Traceback (most recent call last):
        jaxguide.callbacks.finite_differences.DerivativeError: The derivative of `sin` with respect to `x1` is
        -0.540302, but finite differences give 0.540302 (difference 1.08).

        The host function receives float64 NumPy arrays regardless of `jax_enable_x64`. The derivative is computed in
        float64 too, unless `out` declares a lower precision. Elementwise derivatives are compared element by element,
        others along three fixed directions for each argument, to 5 digits if the precision of the result allows.
        Integer arguments are held constant.

        Args:
            args, kwargs: arguments as in a call, inside the function's domain and away from its kinks.

        Returns:
            A report to print, with the largest difference for each argument, or why it was not compared.

        Raises:
            DerivativeError: a derivative is wrong; says for which argument, where, and by how much.
            TypeError: no derivative was given, or an argument is invalid.
            RuntimeError: it was called inside `jax.jit`, `jax.vmap` or another transformation.
            HostFunctionError: the function raised, at these arguments or right beside them.
        """
        arguments = self._arguments(args, kwargs)
        require_values(f"{self.__name__}.verify", args, kwargs, of="arrays", such_as="such as `jnp.ones(3)`")
        return verify_derivative(self, arguments)

    def _by_position(self, given: Any) -> dict[int, Callable[..., Any]]:
        """Return the rules of the arguments that have one, from the argument `derivative` of `host_function`."""
        if given is None:
            return {}
        call = f"{self.__name__}{self.__signature__}"
        rules = tuple(given) if isinstance(given, list | tuple) else (given,)
        if isinstance(given, Mapping):
            if unknown := [key for key in given if key not in self.argument_names]:
                raise TypeError(
                    f"`derivative` of `{self.__name__}` names {unknown[0]!r}, which is not an argument of `{call}`."
                )
            rules = tuple(map(given.get, self.argument_names))
        try:
            if not all(rule is None or callable(rule) for rule in rules):
                raise TypeError
            self.__signature__.bind(*rules)
        except TypeError:
            raise TypeError(
                f"`derivative` of `{call}` is {describe(given)}: pass a tuple with a function or None for each "
                "argument, or a dict by argument name."
            ) from None
        return {i: rule for i, rule in enumerate(rules) if rule is not None}

    def _pure(self, *args: Any) -> Any:
        return self._on_host(self._callback, *args)

    def _jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return the result, and as its tangent the sum of what each argument's tangent adds."""
        out = self._run(*primals)
        leaves, structure = jax.tree.flatten(out)
        sums: list[Any] = [None] * len(leaves)
        if any(map(_has_tangent, leaves)):
            for i, tangent in enumerate(tangents):
                if not all(map(_is_zero, jax.tree.leaves(tangent))):
                    terms = self._terms(i, jax.tree.map(_instantiated, tangent), out, primals)
                    sums = [term if have is None else have + term for have, term in zip(sums, terms, strict=True)]
        tangents = [_zero(leaf) if term is None else term for leaf, term in zip(leaves, sums, strict=True)]
        return out, jax.tree.unflatten(structure, tangents)

    def _terms(self, index: int, tangent: Any, out: Any, primals: Sequence[Any]) -> list[Any]:
        """Return what an argument's tangent adds to that of each array of the result; None if that has no tangent."""
        name, argument, rule = self.__name__, self.argument_name(index), self.rules.get(index)
        if rule is None:
            raise TypeError(
                f"`{name}` has no derivative with respect to {argument}: pass one to `host_function(..., "
                f"derivative=...)`, choose other `argnums`, or hold {argument} constant with `jax.lax.stop_gradient`."
            )
        names = list(self.argument_names[: len(primals)]) or [f"x{i + 1}" for i in range(len(primals))]
        names = names if self.elementwise else ["tangent", "out", *names]
        try:
            signature_of(rule).bind(*names)
        except TypeError:
            raise TypeError(
                f"`derivative` of `{name}` for {argument} is called with ({', '.join(names)}), but takes "
                f"{signature_of(rule)}."
            ) from None
        value = rule(*primals) if self.elementwise else rule(tangent, out, *primals)
        terms, structure = jax.tree.leaves(value), jax.tree.structure(value)
        wanted: Any = jax.tree.structure(out)
        try:
            if structure != wanted or not all(map(is_array_like, terms)):
                raise ValueError
            return [self._fitted(x, tangent, leaf) for x, leaf in zip(terms, jax.tree.leaves(out), strict=True)]
        except (TypeError, ValueError):
            got = array_type(jnp.asarray(value)) if is_array_like(value) else describe(value)
            raise TypeError(
                f"The derivative of `{name}` with respect to {argument} returned {got}, but {describe_out(out)} was "
                "expected, like the result."
            ) from None

    def _fitted(self, value: Any, tangent: Any, leaf: Any) -> Any:
        """Return a term with the shape and dtype of an array of the result, or raise if it does not fit."""
        if not _has_tangent(leaf):
            return None
        if self.elementwise:
            with flags_off(*PROMOTION):
                value = tangent * value
        value = jnp.asarray(value)
        if (value.shape != leaf.shape and not self.elementwise) or jnp.iscomplexobj(value) > jnp.iscomplexobj(leaf):
            raise ValueError
        return typed_like(jnp.broadcast_to(value.astype(leaf.dtype), leaf.shape), leaf)


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, SymbolicZero) or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _instantiated(tangent: Any) -> Any:
    """Return a tangent as an array: if an argument is a pytree, some of its leaves may be constant."""
    if not isinstance(tangent, SymbolicZero):
        return tangent
    aval: Any = tangent.aval
    return (np.zeros if aval.dtype == jax.dtypes.float0 else jnp.zeros)(aval.shape, aval.dtype)


def _has_tangent(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _zero(leaf: Any) -> Any:
    if not _has_tangent(leaf):
        return np.zeros(leaf.shape, jax.dtypes.float0)
    return typed_like(jnp.zeros_like(leaf), leaf)
