"""Test trace counts: what each call costs from cleared caches, however often the function was called before."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from needs import first_of

from jaxguide.tracing import watch_traces
from jaxguide.tracing.functions import clear_caches, reach

X = np.arange(3, dtype=np.float32)
CALLS = [((X,), {}), ((X + 1,), {}), ((np.arange(4, dtype=np.float32),), {})]


@jax.jit
def inner(x):
    return jnp.sin(x)


@jax.jit
def outer(x):
    return inner(x) + jnp.tanh(x)


TABLE = {"outer": [outer]}


@functools.cache
def multiplier(n):
    return jax.jit(lambda x: x * n)


class Model:
    def __init__(self):
        self.step = jax.jit(self._step)

    def _step(self, x):
        return inner(x) * 2

    def __call__(self, x):
        return self.step(x)


class Pond:
    def step(self, x):
        return outer(x)

    @staticmethod
    @jax.jit
    def halve(x):
        return x / 2


def make():
    scale = jax.jit(lambda x: 2 * x)
    return lambda x: scale(x)


def jit_in_each_call(x):
    return jax.jit(lambda y: y * 2)(x)


def triple(x):
    return 3 * x


def with_default(x, f=outer):
    return f(x)


def gradient(x):
    return jax.grad(lambda x: inner(x).sum())(x)


def halves(xs):
    yield from map(inner, xs)


CASES = {
    "jitted": (inner, [(1, 1), (0, 0), (1, 1)]),
    "jitted in jitted": (outer, [(2, 1), (0, 0), (2, 1)]),
    "eager, by global": (lambda x: outer(x) * 3, [(2, 1), (0, 0), (2, 1)]),
    "jitted anew in each call": (lambda x: jax.jit(triple)(x), [(1, 1), (0, 0), (1, 1)]),
    "by container": (lambda x: TABLE["outer"][0](x), [(2, 1), (0, 0), (2, 1)]),
    "by closure": (make(), [(1, 1), (0, 0), (1, 1)]),
    "by default": (with_default, [(2, 1), (0, 0), (2, 1)]),
    "by memo": (lambda x: multiplier(3)(x), [(1, 1), (0, 0), (1, 1)]),
    "by object": (Model(), [(2, 1), (0, 0), (2, 1)]),
    "by class": (lambda x: Pond().step(x), [(2, 1), (0, 0), (2, 1)]),
    "by class, a jitted method": (lambda x: Pond.halve(x), [(1, 1), (0, 0), (1, 1)]),
    "by the class of an object": (functools.partial(lambda pond, x: pond.step(x), Pond()), [(2, 1), (0, 0), (2, 1)]),
    "by a generator": (lambda x: next(halves([x])), [(1, 1), (0, 0), (1, 1)]),
    "by method": (Model().__call__, [(2, 1), (0, 0), (2, 1)]),
    "vmap of jitted": (jax.vmap(inner), [(1, 1), (0, 0), (0, 1)]),
    "jit of vmap": (jax.jit(jax.vmap(inner)), [(2, 1), (0, 0), (1, 1)]),
    "partial of jitted": (functools.partial(inner), [(1, 1), (0, 0), (1, 1)]),
    "jit of partial": (jax.jit(functools.partial(lambda x, n: x * n, n=3)), [(1, 1), (0, 0), (1, 1)]),
    "jit of library": (jax.jit(jnp.sum), [(1, 1), (0, 0), (1, 1)]),
    "jit of checkpoint": (jax.jit(jax.checkpoint(lambda x: x * 2)), [(1, 1), (0, 0), (1, 1)]),
    "jit of grad": (jax.jit(jax.grad(lambda x: (x**2).sum())), [(1, 1), (0, 0), (1, 1)]),
    "jit of scan": (jax.jit(lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x)), [(1, 1), (0, 0), (1, 1)]),
    "new jit each call": (jit_in_each_call, [(1, 1), (1, 1), (1, 1)]),
    "nothing jitted": (lambda x: jnp.cos(x) + 1, [(0, 0), (0, 0), (0, 0)]),
}


def trace_counts(fn, calls):
    """Return the traces and compiles of each call, from cleared caches."""
    clear_caches(fn)
    counts = []
    for args, kwargs in calls:
        with watch_traces() as traces:
            jax.block_until_ready(fn(*args, **kwargs))
        counts.append((traces.traces, traces.compiles))
    return counts


@pytest.mark.parametrize("case", first_of(CASES, 8))
def test_counts_are_right_and_the_same_after_use(case):
    fn, expected = CASES[case]
    fn(X)
    inner(X)
    outer(jnp.asarray(X))
    jax.make_jaxpr(fn)(X)
    for _ in range(3):
        assert trace_counts(fn, CALLS) == expected


def test_a_gradient_is_counted_the_same_each_time():
    first = trace_counts(gradient, CALLS)
    gradient(X)
    inner(X)
    assert trace_counts(gradient, CALLS) == first
    assert [traces for traces, _ in first] == [1, 0, 1]


def test_a_users_function_named_as_one_of_jax_is_counted():
    @jax.jit
    def multiply(x):
        return x * 2

    assert trace_counts(lambda x: multiply(x), CALLS) == [(1, 1), (0, 0), (1, 1)]


def test_clearing_reaches_inner_functions():
    outer(X)
    assert any(found is inner for found in reach(outer))
    clear_caches(lambda x: outer(x))
    assert outer._cache_size() == 0
    assert inner._cache_size() == 0


def test_self_referring_objects_are_walked_once():
    loop: list = []
    loop.append(loop)
    assert sum(found is inner for found in reach(lambda x: (loop, inner)[1](x))) == 1
