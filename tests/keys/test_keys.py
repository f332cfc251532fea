"""Test key use: planted mistakes are found, correct programs raise no false alarm, for every kind of key."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

from jaxguide.keys import check_keys


def helper(key):
    return random.normal(key, (3,))


jitted_helper = jax.jit(helper)


# A few programs beside those of the battery: mistakes, with the kind that must be reported, and correct ones.

BUGS: list[tuple[str, Callable[..., Any]]] = []


def bug(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        BUGS.append((kind, fn))
        return fn

    return register


@bug("drawn_twice")
def two_samplers(key):
    a = random.normal(key, (2,))
    b = random.uniform(key, (3,))
    return a.sum() + b.sum()


@bug("drawn_twice")
def unjitted_sampler_twice(key):
    return random.ball(key, 2) + random.ball(key, 2)


@bug("same_key_for_all_rows")
def keys_of_the_columns_reach_all_rows(key):
    keys = random.split(key, 3)
    return jax.vmap(lambda row: jax.vmap(lambda x, k: x + random.normal(k))(row, keys))(jnp.ones((2, 3)))


@bug("same_key_for_all_rows")
def vectorized_with_a_closed_key(key):
    return jnp.vectorize(lambda x: x + random.normal(key))(jnp.ones(3))


@bug("same_key_for_all_rows")
def one_row_in_each_branch_of_a_shared_key(key):
    def row(x):
        return lax.cond(x > 0, lambda: random.normal(key), lambda: random.uniform(key))

    return jax.vmap(row)(jnp.array([1.0, -1.0]))


@bug("drawn_twice")
def inside_custom_vmap(key):
    f = jax.custom_batching.sequential_vmap(lambda x: x * random.normal(key) + random.normal(key))
    return f(jnp.ones(3))


@bug("drawn_twice")
def scan_over_closed_key(key):
    return lax.scan(lambda c, x: (c + random.normal(key), x), 0.0, jnp.arange(4.0))


CORRECT: list[Callable[..., Any]] = []


def correct(fn: Callable[..., Any]) -> Callable[..., Any]:
    CORRECT.append(fn)
    return fn


@correct
def switch_of_partials_under_vmap(key):
    branches = [functools.partial(lambda k, s: s * random.normal(k), s=s) for s in (1.0, 2.0, 3.0)]
    return jax.vmap(lambda k, i: lax.switch(i, branches, k))(random.split(key, 4), jnp.array([0, 1, 2, 1]))


@correct
def jitted_branch_under_vmap(key):
    def row(k, x):
        return lax.cond(x > 0, lambda k: jitted_helper(k), lambda k: helper(random.split(k)[0]), k)

    return jax.vmap(row)(random.split(key, 4), jnp.array([1.0, -1.0, 2.0, -2.0]))


@correct
def some_rows_keep_their_key(key):
    def step(keys, x):
        def advance(k):
            k, sub = random.split(k)
            return k, random.normal(sub)

        return jax.vmap(lambda k, go: lax.cond(go, advance, lambda k: (k, 0.0), k))(keys, x)

    go = jnp.array([[True, False, False], [False, True, False], [True, True, False]])
    return lax.scan(step, random.split(key, 3), go)


@correct
def row_picks_its_own_of_shared_keys(key):
    return jax.vmap(lambda i: random.normal(random.split(key, 3)[i]))(jnp.arange(3))


@correct
def second_use_of_a_helper_traced_under_vmap(key):
    a, b = random.split(key)
    rows = jax.vmap(jitted_helper)(random.split(a, 3))
    return rows + jitted_helper(b)


@correct
def host_value_decides(key):
    a, b = random.split(key)
    if float(random.uniform(a)) > 0.5:
        return random.normal(b)
    return random.uniform(b)


def _without_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda key: fn(key) if random.bits(random.key(5)) >= 0 else None


AROUND = {"plain": lambda fn: fn, "jit": jax.jit, "without tracing": _without_tracing}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("kind", "fn"), BUGS, ids=lambda value: getattr(value, "__name__", None))
def test_a_mistake_is_reported_alone(kind, fn, around):
    report = check_keys(AROUND[around](fn), random.key(7))
    assert {problem.kind for problem in report} == {kind}
    for problem in report:
        assert problem.first_source
        assert problem.second_source


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("fn", CORRECT, ids=lambda fn: fn.__name__)
def test_a_correct_program_raises_no_alarm(fn, around):
    if around == "jit" and fn is host_value_decides:
        pytest.skip("it needs values")
    report = check_keys(AROUND[around](fn), random.key(7))
    assert not report
    assert report.uses


def test_uses_tell_bits_data_and_count():
    def fn(key):
        return random.normal(random.fold_in(random.split(key, 3)[0], 5))

    key = random.key(7)
    use = check_keys(fn, key)
    child = random.split(key, 3)[0]
    folded = random.fold_in(child, 5)
    assert [(u.kind, u.bits, u.data, u.count) for u in use.uses] == [
        ("split", tuple(random.key_data(key).tolist()), None, 3),
        ("fold_in", tuple(random.key_data(child).tolist()), 5, None),
        ("draw", tuple(random.key_data(folded).tolist()), None, None),
    ]
    assert {u.impl for u in use.uses} == {"fry"}


def test_a_batched_draw_has_one_use_for_each_row():
    use = check_keys(jax.vmap(random.normal), random.split(random.key(0), 5))
    assert [u.sampler for u in use.uses] == ["normal"] * 5
    assert len({u.bits for u in use.uses}) == 5


def test_ints_stay_static_and_numpy_is_taken():
    def fn(key, n, scale, x, flag=False):
        assert flag is True
        return random.normal(key, (n,)) * scale + jnp.asarray(x)

    use = check_keys(fn, np.asarray(random.PRNGKey(0)), 3, 0.5, np.arange(3.0), flag=True)
    assert [u.kind for u in use.uses] == ["draw"]


def test_each_pair_of_lines_is_reported_once():
    assert len(check_keys(scan_over_closed_key, random.key(0)).problems) == 1
