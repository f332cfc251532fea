"""Test that checking keys computes no more than the keys depend on: a host callback runs only if it is needed."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax, random

from jaxguide.keys import check_keys


class Host:
    """A function on the host that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        def called(x: Any) -> Any:
            self.calls += 1
            return x

        return jax.pure_callback(called, jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), x)


def _scan(host: Host, key: Any) -> Any:
    def body(carry: Any, key: Any) -> Any:
        weights, count = carry
        weights = host(weights) + random.normal(key)
        return (weights, count + 1), weights

    return lax.scan(body, (jnp.float32(0), 0), random.split(key, 3))


def _scan_that_splits(host: Host, key: Any) -> Any:
    def body(carry: Any, _: None) -> Any:
        weights, key = carry
        key, now = random.split(key)
        return (host(weights) + random.normal(now), key), None

    return lax.scan(body, (jnp.float32(0), key), None, 3)


def _while(host: Host, key: Any) -> Any:
    def body(carry: Any) -> Any:
        i, weights, key = carry
        key, now = random.split(key)
        return i + 1, host(weights) + random.normal(now), key

    return lax.while_loop(lambda carry: carry[0] < 3, body, (0, jnp.float32(0), key))


def _logits(host: Host, key: Any) -> Any:
    return random.categorical(key, host(jnp.ones(3)))


@pytest.mark.parametrize("program", [_scan, _scan_that_splits, _while, _logits])
@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_what_no_key_depends_on_is_not_computed(program: Any, make: Any) -> None:
    host = Host()
    assert not check_keys(lambda key: program(host, key), make(0))
    assert host.calls == 0


def test_what_a_key_depends_on_is_computed() -> None:
    host = Host()

    def in_scan(key: Any) -> Any:
        def body(count: Any, _: None) -> Any:
            return host(count) + 1, random.normal(random.fold_in(key, count))

        return lax.scan(body, 5, None, 3)

    def in_while(key: Any) -> Any:
        return lax.while_loop(
            lambda carry: carry[0] < 3, lambda carry: (host(carry[0]) + 1, random.fold_in(carry[1], carry[0])), (0, key)
        )

    assert [use.data for use in check_keys(in_scan, random.key(0)).uses if use.kind == "fold_in"] == [5, 6, 7]
    assert host.calls == 3
    assert [use.data for use in check_keys(in_while, random.key(0)).uses] == [0, 1, 2]
    assert host.calls == 6


def test_rows_of_a_batched_branch_are_still_told_apart() -> None:
    def row(x: Any, key: Any) -> Any:
        return lax.cond(x > 0, lambda x: x + random.normal(key), lambda x: x, x)

    def program(key: Any) -> Any:
        return jax.vmap(row)(jnp.array([1.0, -1.0, 2.0]), random.split(key, 3))

    assert len([use for use in check_keys(program, random.key(0)).uses if use.kind == "draw"]) == 2
