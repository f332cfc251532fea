"""Test `documented_draws`: numbers are those documented before JAX 0.5 inside the block, and today's outside."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

from jaxguide.keys import documented_draws

# `jax.random.normal(key(42))`, and three draws from `split(key(42), 3)`, as documented before 0.5.
DOCUMENTED = np.float32(-0.18471177)
TODAY = np.float32(-0.028304616)
ROWS = np.array([-0.04838832, 0.10796154, -1.2226542], np.float32)


@pytest.fixture
def key():
    return random.key(42)


def test_the_documented_number_comes_out_inside_and_todays_outside(key):
    assert random.normal(key) == TODAY
    with documented_draws():
        assert random.normal(key) == DOCUMENTED
        np.testing.assert_allclose(jax.vmap(random.normal)(random.split(key, 3)), ROWS, rtol=1e-6)
    assert random.normal(key) == TODAY


def test_a_function_jitted_before_is_traced_again_and_back(key):
    traces = []

    @jax.jit
    def draw(key):
        traces.append(1)
        return random.normal(key)

    assert draw(key) == TODAY
    with documented_draws():
        assert draw(key) == DOCUMENTED
    assert draw(key) == TODAY
    with documented_draws():
        assert draw(key) == DOCUMENTED
    assert len(traces) == 2


@pytest.mark.parametrize(
    "around",
    [
        jax.jit,
        lambda f: lambda key: jax.vmap(f)(key[None])[0],
        lambda f: lambda key: lax.scan(lambda c, k: (c, f(k)), 0, key[None])[1][0],
        lambda f: lambda key: jax.grad(lambda w: w * f(key))(1.0),
        lambda f: lambda key: jax.checkpoint(f)(key),
    ],
    ids=["jit", "vmap", "scan", "grad", "checkpoint"],
)
def test_a_decorated_function_keeps_its_numbers_under_transformations(around, key):
    @documented_draws()
    def draw(key):
        """Draw."""
        return random.normal(key)

    assert around(draw)(key) == DOCUMENTED
    assert (draw.__name__, draw.__doc__) == ("draw", "Draw.")
    assert random.normal(key) == TODAY


def test_an_exception_passes_through_and_the_setting_ends(key):
    with pytest.raises(ZeroDivisionError), documented_draws():
        _ = 1 // 0
    assert random.normal(key) == TODAY

    @documented_draws()
    def fails(key):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jax.jit(fails)(key)
    assert random.normal(key) == TODAY


def test_another_thread_keeps_its_own_setting(key):
    drawn = []
    with documented_draws():
        thread = threading.Thread(target=lambda: drawn.append(random.normal(key)))
        thread.start()
        thread.join()
    assert drawn == [TODAY]


def test_the_setting_is_the_same_as_before_for_what_it_does_not_concern(key):
    rbg = random.key(42, impl="rbg")
    outside = random.bits(rbg), random.key_data(random.fold_in(key, 3)), jnp.sin(0.5)
    with documented_draws():
        inside = random.bits(rbg), random.key_data(random.fold_in(key, 3)), jnp.sin(0.5)
    for before, after in zip(outside, inside, strict=True):
        np.testing.assert_array_equal(before, after)


def test_what_is_given_without_parentheses_is_told_how_it_is_written():
    with pytest.raises(TypeError) as caught:
        documented_draws(jax.random.normal)
    assert str(caught.value) == (
        "`documented_draws` takes no arguments, but got the function `normal`: write it with empty parentheses, as in "
        "`@documented_draws()` or `with documented_draws():`."
    )
