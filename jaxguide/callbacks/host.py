"""Call NumPy and SciPy functions from JAX programs, with `host_function`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from jaxguide.callbacks.derivative import derivatives
from jaxguide.callbacks.finite_differences import Verification, verify_derivative
from jaxguide.callbacks.host_call import HostCall
from jaxguide.compat.debug_flags import CHECKS, flags_off
from jaxguide.jaxpr.arguments import require_values

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
    itself calls JAX can deadlock, waiting for the program that waits for it: compute with NumPy inside. Each call
    copies its arguments to the host and its result back. For a value that is sharded over several devices, a `jax.jit`
    calls it once with the whole value; inside `jax.shard_map` and `jax.pmap`, each device calls it with its shard.

    Args:
        fn: the function. It gets its arguments as read-only NumPy arrays and returns NumPy arrays or numbers. Arguments
            are arrays or pytrees of arrays, passed by position or name; bind other options with `functools.partial`.
            `functools.partial(host_function, elementwise=True)` is a decorator.
        out: the result: a `jax.ShapeDtypeStruct`, an array like it, a pytree of them, or a function that makes one from
            the arguments' `jax.ShapeDtypeStruct`s, such as `lambda a, b: a`. Required unless `elementwise`: then the
            shape is that to which the arguments broadcast, the dtype is that of the arguments promoted to floating
            point, and `out` may be another dtype, such as `bool`, or a pytree of dtypes. If it is omitted and no
            argument is a float, `fn` gets booleans as float64 and short integers as int32, because NumPy would compute
            in float16.
        vmap_method: how `jax.vmap` calls `fn`, as in `jax.pure_callback`: "sequential" once for each row,
            "sequential_unrolled" the same without a loop, "expand_dims" and "broadcast_all" once for all rows, with a
            leading axis on every argument (of size 1, or repeated, if an argument is not mapped). Defaults to
            "expand_dims" for elementwise functions, whose ranks are aligned so that rows broadcast, and to "sequential"
            for others.
        derivative: a function if `fn` has one argument, otherwise a tuple with one for each argument or a dict by
            argument name; None or omitted for an argument without a derivative. With `elementwise`, a partial
            derivative `partial(*args)`: the factor by which a small change is multiplied. Otherwise, a linear map
            `rule(tangent, result, *args)` that returns the change of the result, as in
            `jax.custom_jvp(...).defjvps`. Write either with `jax.numpy` and host functions (this one too), so that it
            can be differentiated again; but use only `jax.numpy` on `tangent`, because reverse mode has to transpose
            that part.
        elementwise: `fn` works element by element on arrays of any shape and broadcasts its arguments, as NumPy's
            ufuncs do. `np.vectorize` makes such a function from a function of one number.

    Returns:
        A function of arrays of any shape and dtype. Its results have exactly the promised shapes and dtypes: wider
        ones, such as NumPy's float64, are narrowed as JAX does. Its method `verify` checks the derivative, and in a
        block of its method `errors`, compiled programs raise the function's own error.

    Raises:
        TypeError, ValueError: an argument is invalid, in this call or in a call of the result; in `jax.grad`, a
            derivative is missing.
        NotImplementedError: it is called in a `jax.shard_map` over some of the axes of its mesh.
        HostFunctionError: at run time, `fn` raised, or returned another shape or dtype than promised; under `jax.jit`,
            JAX raises an error of its own with this text, except in a block of `errors`.

    Based on `jax.pure_callback` and `jax.custom_jvp`; see
    https://docs.jax.dev/en/latest/external-callbacks.html.
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
        self._derivatives = derivatives(self, derivative, elementwise)
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
        """
        arguments = self._arguments(args, kwargs)
        require_values(f"{self.__name__}.verify", args, kwargs, of="arrays", such_as="such as `jnp.ones(3)`")
        return verify_derivative(self, self._derivatives, arguments)

    def _pure(self, *args: Any) -> Any:
        return self._on_host(self._callback, *args)

    def _jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        out = self._run(*primals)
        return out, self._derivatives.tangent(out, primals, tangents)
