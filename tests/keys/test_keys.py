"""Test key use: planted mistakes are found, correct programs raise no false alarm, for every kind of key."""

import functools
import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

from jaxguide.keys import KeyProblem, KeyReport, Use, check_keys

KEYS: dict[str, Callable[[], Any]] = {
    "typed": lambda: random.key(7),
    "legacy": lambda: random.PRNGKey(7),
    "rbg": lambda: random.key(7, impl="rbg"),
}


def helper(key):
    return random.normal(key, (3,))


jitted_helper = jax.jit(helper)


def dropout(key, x, rate=0.5):
    return jnp.where(random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


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
def dropout_twice_with_one_key(key):
    x = dropout(key, jnp.ones(8))
    return dropout(key, x)


@bug("drawn_twice")
def unjitted_sampler_twice(key):
    return random.ball(key, 2) + random.ball(key, 2)


@bug("drawn_twice")
def rows_reuse_their_keys(key):
    keys = random.split(key, 3)
    return jax.vmap(random.normal)(keys) + jax.vmap(random.uniform)(keys)


@bug("same_key_for_all_rows")
def keys_of_the_columns_reach_all_rows(key):
    keys = random.split(key, 3)
    return jax.vmap(lambda row: jax.vmap(lambda x, k: x + random.normal(k))(row, keys))(jnp.ones((2, 3)))


@bug("same_key_for_all_rows")
def shared_under_vmap_of_grad(key):
    return jax.vmap(jax.grad(jax.checkpoint(lambda x: jnp.sin(x * random.normal(key)))))(jnp.ones(3))


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
def every_sampler_once(key):
    keys = iter(random.split(key, 20))
    p = jnp.array([0.2, 0.3, 0.5])
    return [
        random.binomial(next(keys), 10.0, 0.4, (3,)),
        random.poisson(next(keys), 4.0, (3,)),
        random.choice(next(keys), 5, (2,), replace=False),
        random.choice(next(keys), jnp.arange(3), (2,), p=p),
        random.categorical(next(keys), jnp.log(p)),
        random.truncated_normal(next(keys), -1, 1, (3,)),
        random.dirichlet(next(keys), p),
        random.multivariate_normal(next(keys), jnp.zeros(2), jnp.eye(2)),
        random.gamma(next(keys), 2.0, (2,)),
        random.beta(next(keys), 1.0, 2.0),
        random.t(next(keys), 3.0),
        random.ball(next(keys), 3),
        random.orthogonal(next(keys), 3),
        random.rademacher(next(keys), (2,)),
        random.randint(next(keys), (3,), 0, 9),
        random.permutation(next(keys), jnp.ones((3, 2)), independent=True),
        random.generalized_normal(next(keys), 2.0, (2,)),
        random.laplace(next(keys)),
    ]


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


@correct
def hmc_like_chain(key):
    def kernel(state, k):
        momentum, accept = random.split(k)
        proposal = state + random.normal(momentum, state.shape)
        return jnp.where(random.uniform(accept) < 0.5, proposal, state), None

    def chain(k, x):
        return lax.scan(kernel, x, random.split(k, 5))[0]

    return jax.vmap(chain)(random.split(key, 3), jnp.zeros((3, 2)))


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


def test_lines_and_sources_are_the_users():
    use = check_keys(two_samplers, random.key(0))
    first = two_samplers.__code__.co_firstlineno + 2
    assert [(u.line, u.sampler) for u in use.uses] == [(first, "normal"), (first + 1, "uniform")]
    (problem,) = use.problems
    assert (problem.first_line, problem.second_line) == (first, first + 1)
    assert problem.first_source == "a = random.normal(key, (2,))"
    assert problem.second_source == "b = random.uniform(key, (3,))"
    assert "`key` was drawn from twice" in problem.message


def test_a_helper_called_twice_is_told_by_its_calls():
    (problem,) = check_keys(dropout_twice_with_one_key, random.key(0)).problems
    assert problem.first_source == "x = dropout(key, jnp.ones(8))"
    assert problem.second_source == "return dropout(key, x)"


def test_a_jitted_helper_called_twice_is_told_by_its_calls():
    def two_lines(key):
        x = jitted_helper(key)
        return x + jitted_helper(key)

    jitted_helper(random.key(0))
    (problem,) = check_keys(two_lines, random.key(0)).problems
    assert problem.first_source == "x = jitted_helper(key)"
    assert problem.second_source == "return x + jitted_helper(key)"


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


def test_a_seed_is_told_by_its_number():
    use = check_keys(lambda: random.normal(random.key(12)))
    assert [(u.kind, u.data) for u in use.uses] == [("seed", 12), ("draw", None)]


def test_library_samplers_count_once():
    use = check_keys(every_sampler_once, random.key(0))
    assert [u.kind for u in use.uses] == ["split"] + ["draw"] * 18


def test_ints_stay_static_and_numpy_is_taken():
    def fn(key, n, scale, x, flag=False):
        assert flag is True
        return random.normal(key, (n,)) * scale + jnp.asarray(x)

    use = check_keys(fn, np.asarray(random.PRNGKey(0)), 3, 0.5, np.arange(3.0), flag=True)
    assert [u.kind for u in use.uses] == ["draw"]


def test_warm_jit_caches_hide_nothing_without_tracing():
    key = random.key(0)
    for _ in range(3):
        jitted_helper(key)

    def fn(key):
        while float(jitted_helper(key)[0]) > 1e9:
            pass
        return jitted_helper(key)

    assert [p.kind for p in check_keys(fn, key).problems] == ["drawn_twice"]


def test_host_callbacks_do_not_run():
    seen = []

    def fn(key):
        x = random.normal(key)
        jax.debug.callback(lambda value: seen.append(value), x)
        return x

    check_keys(fn, random.key(0))
    jax.effects_barrier()
    assert seen == []


def test_running_leaves_the_state_of_jax_alone():
    check_keys(host_value_decides, random.key(0))
    assert float(jnp.ones(2).sum()) == 2.0


def test_a_report_crosses_as_plain_data():
    use = check_keys(two_samplers, random.key(0))
    assert KeyReport.from_plain(json.loads(json.dumps(use.to_plain()))) == use
    assert KeyReport.from_plain(KeyReport(untraceable="x").to_plain()) == KeyReport(untraceable="x")
    assert isinstance(use.uses[0], Use)
    assert isinstance(use.problems[0], KeyProblem)


def test_each_pair_of_lines_is_reported_once():
    assert len(check_keys(scan_over_closed_key, random.key(0)).problems) == 1
