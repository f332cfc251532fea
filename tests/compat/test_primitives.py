"""Test that JAX makes the primitives that `compat.primitives` names, so that a new release that renames one says so."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from jaxguide import compat
from jaxguide.compat import primitives
from jaxguide.jaxpr.interpret import inner_jaxprs

X = jnp.ones(3)
KEY = jax.random.key(0)
MADE = {
    primitives.SCAN: lambda: lax.scan(lambda carry, x: (carry, x), 0.0, X),
    primitives.WHILE: lambda: lax.while_loop(lambda x: x < 3, lambda x: x + 1, 0),
    primitives.COND: lambda: lax.cond(X[0] > 0, jnp.sin, jnp.cos, X),
    primitives.PURE_CALLBACK: lambda: jax.pure_callback(np.sin, X, X),
    primitives.IO_CALLBACK: lambda: io_callback(np.sin, X, X),
    primitives.DEBUG_CALLBACK: lambda: jax.debug.callback(np.sin, X),
    primitives.DEBUG_PRINT: lambda: jax.debug.print("{}", X),
    primitives.MATMUL: lambda: X @ X,
    primitives.LINEAR_SOLVE: lambda: lax.custom_linear_solve(lambda x: 2 * x, X, lambda _f, b: b / 2),
    primitives.EQUAL: lambda: X == 1,
    primitives.SELECT: lambda: jnp.where(X > 0, X, -X),
    primitives.STOP_GRADIENT: lambda: lax.stop_gradient(X),
    primitives.BROADCAST_IN_DIM: lambda: jnp.broadcast_to(X, (2, 3)),
    primitives.CONVERT: lambda: X.astype(int),
    "random_bits": lambda: jax.random.bits(KEY),
    "random_gamma": lambda: jax.random.gamma(KEY, 1.0),
    "rng_bit_generator": lambda: lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (2,)),
    "random_split": lambda: jax.random.split(KEY),
    "random_fold_in": lambda: jax.random.fold_in(KEY, 1),
    "random_seed": lambda: jax.random.key(1),
    "random_clone": lambda: jax.random.clone(KEY),
}


def _made_by(make: Callable[[], Any]) -> set[str]:
    def names(jaxpr: Any) -> set[str]:
        eqns = compat.jaxpr_parts(jaxpr)[0].eqns
        return {eqn.primitive.name for eqn in eqns}.union(
            *(names(inner) for eqn in eqns for inner in inner_jaxprs(eqn))
        )

    return names(jax.make_jaxpr(lambda: make())())


@pytest.mark.parametrize("name", MADE)
def test_jax_makes_the_primitive(name: str) -> None:
    assert name in _made_by(MADE[name])


def test_every_use_of_a_key_is_tried() -> None:
    assert primitives.KEY_USES.keys() <= MADE.keys()
