"""Test `bessel_jv`: it matches SciPy, and has derivatives of second order and higher under every transformation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from bessel import bessel_jv

from jaxguide import compat

ORDERS = np.arange(5)
Z = np.linspace(0.0, 20.0, 41, dtype=np.float32)


def derivative(order):
    f = bessel_jv
    for _ in range(order):
        f = jax.grad(f, 1)
    return jax.vmap(jax.vmap(f, (None, 0)), (0, None))


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_values_and_derivatives_equal_scipys(order, jit):
    expected = scipy.special.jvp(ORDERS[:, None], Z.astype(float), order)
    np.testing.assert_allclose(jit(derivative(order))(ORDERS, Z), expected, atol=3e-7)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_recurrence_is_exact_in_float64(order):
    with compat.float64():
        out = derivative(order)(ORDERS, Z.astype(float))
    np.testing.assert_allclose(out, scipy.special.jvp(ORDERS[:, None], Z.astype(float), order), atol=1e-14)


@pytest.mark.parametrize(
    "hessian",
    [
        jax.hessian(bessel_jv, 1),
        jax.jit(jax.hessian(bessel_jv, 1)),
        jax.jacfwd(jax.jacfwd(bessel_jv, 1), 1),
        jax.jacrev(jax.jacfwd(bessel_jv, 1), 1),
        jax.jacrev(jax.jacrev(bessel_jv, 1), 1),
    ],
)
def test_second_order_in_every_combination_of_modes(hessian):
    for v in (0, 1, 3):
        np.testing.assert_allclose(hessian(v, 2.0), scipy.special.jvp(v, 2.0, 2), rtol=2e-6)


def test_the_documents_numbers_come_out():
    def j1(z):
        return bessel_jv(1, z)

    printed = "[ 0.          0.44005057  0.5767248   0.33905897 -0.06604332]"
    z = jnp.arange(5.0)
    assert [str(f(z)) for f in (j1, jax.jit(j1), jax.vmap(j1))] == [printed] * 3
    assert str(jax.grad(j1)(2.0)) == "-0.06447162"
    assert str(jax.hessian(j1)(2.0)) == "-0.4003078"


def test_the_derivative_agrees_with_finite_differences_at_fractional_orders_too():
    for arguments in ((ORDERS[:, None], Z[1:]), (np.array([0.5, 1.3]), np.array([2.0, 3.0]))):
        found = bessel_jv.verify(*arguments).differences
        assert found["`v`"] == "no derivative was given"
        assert found["`z`"] < 1e-6
