"""Wrap SciPy's Bessel function of the first kind: a host function with an argument that has no derivative."""

import functools
from typing import Any

from jaxguide.callbacks import host_function


def _slope(v: Any, z: Any) -> Any:
    """Return J_v'(z) by https://dlmf.nist.gov/10.6#E1, which is right for v = 0 too because J_{-1} = -J_1."""
    return (bessel_jv(v - 1, z) - bessel_jv(v + 1, z)) / 2


@functools.partial(host_function, elementwise=True, derivative={"z": _slope})
def bessel_jv(v: Any, z: Any) -> Any:
    """Compute the Bessel function J_v(z) with `scipy.special.jv`, differentiable in `z` to any order.

    >>> import jax, jax.numpy as jnp
    >>> print(bessel_jv(1, jnp.arange(5.0)))
    [ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]
    >>> j1 = lambda z: bessel_jv(1, z)
    >>> print(jax.grad(j1)(2.0), jax.jit(jax.hessian(j1))(2.0))
    -0.06447162 -0.4003078
    """
    import scipy.special

    return scipy.special.jv(v, z)
