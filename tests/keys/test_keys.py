"""Test key use: planted mistakes are found, correct programs raise no false alarm, for every kind of key."""

import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random
from needs import first_of

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


# Planted mistakes, with the kind that must be reported.

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
def helper_called_twice_on_one_line(key):
    return helper(key) + helper(key)


@bug("drawn_twice")
def dropout_twice_with_one_key(key):
    x = dropout(key, jnp.ones(8))
    return dropout(key, x)


@bug("drawn_twice")
def jitted_helper_twice(key):
    return jitted_helper(key) + jitted_helper(key)


@bug("drawn_twice")
@jax.jit
def inside_jit(key):
    return random.normal(key) + random.gumbel(key)


@bug("drawn_twice")
def python_loop(key):
    return sum(random.normal(key) for _ in range(3))


@bug("drawn_twice")
def scan_over_closed_key(key):
    return lax.scan(lambda c, x: (c + random.normal(key), x), 0.0, jnp.arange(4.0))


@bug("drawn_twice")
def scan_that_carries_its_key_unsplit(key):
    return lax.scan(lambda c, x: (c, random.normal(c) + x), key, jnp.arange(4.0))


@bug("drawn_twice")
def fori_loop_over_closed_key(key):
    return lax.fori_loop(0, 4, lambda i, c: c + random.normal(key), 0.0)


@bug("drawn_twice")
def while_over_closed_key(key):
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, random.normal(key)), (0, 0.0))


@bug("drawn_twice")
def branch_and_after_it(key):
    x = lax.cond(True, lambda k: random.normal(k), lambda k: 0.0, key)
    return x + random.normal(key)


@bug("drawn_twice")
def child_drawn_twice(key):
    _, b = random.split(key)
    return random.normal(b) + random.exponential(b)


@bug("drawn_twice")
def through_key_data(key):
    return jnp.sum(random.bits(key, (2,))) + jnp.sum(random.bits(key_again(key), (2,)))


def key_again(key):
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return random.wrap_key_data(random.key_data(key), impl=random.key_impl(key))
    return key


@bug("drawn_twice")
def gathered_twice(key):
    keys = random.split(key, 3)
    return random.normal(keys[jnp.asarray(1)]) + random.normal(keys[1])


@bug("drawn_twice")
def in_a_container(key):
    state = {"params": [key], "dropout": key}
    return random.normal(state["params"][0]) + random.uniform(state["dropout"])


@bug("drawn_twice")
def permutation_per_array(key):
    return random.permutation(key, 5), random.permutation(key, jnp.arange(5.0))


@bug("drawn_twice")
def under_grad(key):
    return jax.grad(lambda x: x * random.normal(key) + random.normal(key))(1.0)


@bug("drawn_twice")
def under_checkpoint(key):
    return jax.grad(jax.checkpoint(lambda x: jnp.sin(x * random.normal(key)) + random.normal(key)))(1.0)


@bug("drawn_twice")
def initialisers_share_a_key(key):
    return jax.nn.initializers.he_normal()(key, (3, 4)), jax.nn.initializers.glorot_uniform()(key, (4, 2))


@bug("drawn_twice")
def rows_reuse_their_keys(key):
    keys = random.split(key, 3)
    return jax.vmap(random.normal)(keys) + jax.vmap(random.uniform)(keys)


@bug("drawn_twice")
def unjitted_sampler_twice(key):
    return random.ball(key, 2) + random.ball(key, 2)


@bug("drawn_twice")
def cloned_once_drawn_three_times(key):
    copy = random.clone(key)
    return random.normal(key) + random.normal(copy) + random.normal(copy)


@bug("parent_used_after_split")
def drawn_then_split(key):
    x = random.normal(key)
    _, b = random.split(key)
    return x + random.normal(b)


@bug("parent_used_after_split")
def split_then_drawn(key):
    _, b = random.split(key)
    return random.normal(key) + random.normal(b)


@bug("parent_used_after_split")
def parent_drawn_while_rows_use_children(key):
    return jax.vmap(random.normal)(random.split(key, 3)) + random.normal(key)


@bug("parent_used_after_fold")
def folded_and_drawn(key):
    return random.normal(random.fold_in(key, 1)) + random.normal(key)


@bug("parent_used_after_fold")
def drawn_then_folded_in_scan(key):
    x = random.normal(key)
    return lax.scan(lambda c, i: (c + random.normal(random.fold_in(key, i)), None), x, jnp.arange(3))


@bug("split_twice")
def one_key_split_in_two_places(key):
    a = random.split(key)
    b = random.split(key)
    return random.normal(a[0]) + random.normal(b[1])


@bug("split_twice")
def split_for_two_layers(key):
    def layer(k):
        a, b = random.split(k)
        return random.normal(a, (2,)) + random.normal(b, (2,))

    return layer(key) + layer(key)


@bug("fold_twice_same_data")
def same_number_folded_twice(key):
    return random.normal(random.fold_in(key, 3)) + random.uniform(random.fold_in(key, 3))


@bug("fold_twice_same_data")
def step_not_counted_in_scan(key):
    return lax.scan(lambda c, x: (c + random.normal(random.fold_in(key, 0)), x), 0.0, jnp.arange(3.0))


@bug("split_and_fold_mixed")
def split_and_fold(key):
    a, _ = random.split(key)
    return random.normal(a) + random.normal(random.fold_in(key, 5))


@bug("same_key_for_all_rows")
def broadcast_key(key):
    keys = jnp.broadcast_to(key, (4, *key.shape))
    return jax.vmap(helper)(keys)


@bug("same_key_for_all_rows")
def stacked_key(key):
    return jax.jit(jax.vmap(random.uniform))(jnp.stack([key, key]))


@bug("same_key_for_all_rows")
def repeated_index(key):
    keys = random.split(key, 3)[jnp.array([0, 1, 1])]
    return jax.vmap(random.normal)(keys)


@bug("same_key_for_all_rows")
def key_given_to_all_rows(key):
    return jax.vmap(lambda k, x: x + random.normal(k, (3,)), in_axes=(None, 0))(key, jnp.ones((4, 3)))


@bug("same_key_for_all_rows")
def key_closed_over_by_rows(key):
    return jax.vmap(lambda x: x + jitted_helper(key))(jnp.ones((4, 3)))


@bug("same_key_for_all_rows")
def keys_of_the_columns_reach_all_rows(key):
    keys = random.split(key, 3)
    return jax.vmap(lambda row: jax.vmap(lambda x, k: x + random.normal(k))(row, keys))(jnp.ones((2, 3)))


@bug("same_key_for_all_rows")
def split_inside_each_row(key):
    return jax.vmap(lambda x: x + random.normal(random.split(key)[1]))(jnp.ones(3))


@bug("same_key_for_all_rows")
def shared_under_vmap_of_grad(key):
    return jax.vmap(jax.grad(jax.checkpoint(lambda x: jnp.sin(x * random.normal(key)))))(jnp.ones(3))


@bug("same_key_for_all_rows")
def vectorized_with_a_closed_key(key):
    return jnp.vectorize(lambda x: x + random.normal(key))(jnp.ones(3))


@bug("same_key_for_all_rows")
def one_of_two_branches_of_a_shared_key_under_vmap(key):
    def row(k, x):
        return lax.cond(x > 0, lambda: random.normal(k), lambda: random.uniform(k))

    return jax.vmap(row, in_axes=(None, 0))(key, jnp.array([1.0, -1.0, 2.0, -2.0]))


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
def inside_custom_jvp(key):
    @jax.custom_jvp
    def f(x):
        return x * random.normal(key)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * random.normal(key)))
    return jax.grad(f)(1.0)


@bug("drawn_twice")
def inside_custom_vjp(key):
    @jax.custom_vjp
    def f(x):
        return x * random.normal(key)

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * random.normal(key),))
    return jax.grad(f)(1.0)


@bug("seed_built_twice")
def one_seed_for_two_keys(key):
    return random.normal(random.key(3)) + random.uniform(random.key(3))


@bug("seed_built_twice")
def seed_built_in_a_loop(key):
    return sum(random.normal(random.PRNGKey(0)) for _ in range(3))


# Correct programs, for which nothing may be reported.

CORRECT: list[Callable[..., Any]] = []


def correct(fn: Callable[..., Any]) -> Callable[..., Any]:
    CORRECT.append(fn)
    return fn


@correct
def one_draw_of_a_batch(key):
    return random.normal(key, (4, 3))


@correct
def dropout_rows_with_split_keys(key):
    return jax.vmap(dropout)(random.split(key, 4), jnp.ones((4, 3)))


@correct
def scan_carries_its_key(key):
    def step(carry, x):
        carry, sub = random.split(carry)
        return carry, x + random.normal(sub)

    return lax.scan(step, key, jnp.arange(5.0))


@correct
def scan_over_split_keys(key):
    return lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, random.split(key, 5))


@correct
def init_of_each_layer(key):
    sizes, params = [3, 4, 2], []
    for m, n in itertools.pairwise(sizes):
        key, w, b = random.split(key, 3)
        params.append((random.normal(w, (m, n)), random.uniform(b, (n,))))
    return params


@correct
def one_permutation_for_inputs_and_labels(key):
    order = random.permutation(key, 6)
    return jnp.arange(6.0)[order], jnp.arange(6)[order]


@correct
def fold_epoch_then_step(key):
    total = 0.0
    for epoch in range(2):
        in_epoch = random.fold_in(key, epoch)
        for step in range(3):
            total += random.normal(random.fold_in(in_epoch, step))
    return total


@correct
def fold_row_numbers_under_vmap(key):
    return jax.vmap(lambda i: random.normal(random.fold_in(key, i), (2,)))(jnp.arange(4))


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
def initialisers(key):
    a, b, c, d = random.split(key, 4)
    init = jax.nn.initializers
    return (
        init.he_normal()(a, (3, 4)),
        init.orthogonal()(b, (3, 3)),
        init.truncated_normal()(c, (2, 2)),
        init.glorot_uniform(dtype=jnp.complex64)(d, (2, 3)),
    )


@correct
def clone_declares_sharing(key):
    return random.normal(key, (3,)), random.normal(random.clone(key), (3,))


@correct
def looked_at_and_printed(key):
    jax.debug.print("key {}", random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key)
    return random.normal(key)


@correct
def gradient_through_checkpointed_noise(key):
    def loss(x):
        return jnp.sum(jax.checkpoint(lambda y: jnp.sin(y * random.normal(key, (3,))))(x))

    return jax.value_and_grad(loss)(jnp.ones(3))


@correct
def gradient_through_checkpointed_scan(key):
    @jax.checkpoint
    def body(c, k):
        return jnp.tanh(c * random.normal(k)), c

    return jax.grad(lambda x: lax.scan(body, x, random.split(key, 3))[0])(1.0)


@correct
def shared_mask_under_vmap(key):
    mask = random.bernoulli(key, 0.5, (3,))
    return jax.vmap(lambda x: jnp.where(mask, x, 0.0))(jnp.ones((4, 3)))


@correct
def one_of_two_branches(key):
    return lax.cond(jnp.asarray(True), lambda k: random.normal(k), lambda k: random.uniform(k), key)


@correct
def one_of_two_branches_under_vmap(key):
    def row(k, x):
        return lax.cond(x > 0, lambda: random.normal(k), lambda: random.uniform(k))

    return jax.vmap(row)(random.split(key, 4), jnp.array([1.0, -1.0, 2.0, -2.0]))


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
def rejection_loop_under_vmap(key):
    def sample(k):
        def again(carry):
            k, _ = carry
            k, sub = random.split(k)
            return k, random.uniform(sub)

        return lax.while_loop(lambda c: c[1] > 0.3, again, (k, 1.0))[1]

    return jax.vmap(sample)(random.split(key, 6))


@correct
def clone_declares_sharing_by_rows(key):
    return jax.vmap(lambda x: x + random.normal(random.clone(key)))(jnp.ones(3))


@correct
def clone_declares_sharing_by_rounds(key):
    return lax.scan(lambda c, x: (c + random.normal(random.clone(key)), x), 0.0, jnp.arange(3.0))


@correct
def drawn_once_outside_of_rows_and_rounds(key):
    noise = random.normal(key, (3,))
    rows = jax.vmap(lambda x: x + noise)(jnp.ones((4, 3)))
    return lax.scan(lambda c, x: (c + x + noise, None), jnp.zeros(3), rows)


@correct
def row_picks_its_own_of_shared_keys(key):
    return jax.vmap(lambda i: random.normal(random.split(key, 3)[i]))(jnp.arange(3))


@correct
def jacobians_map_over_directions(key):
    def f(x):
        return x * random.normal(key, x.shape)

    @jax.checkpoint
    def total(x):
        return jnp.sum(jnp.sin(x * random.normal(random.clone(key), x.shape)))

    x = jnp.ones(3)
    return jax.jacfwd(f)(x), jax.hessian(total)(x)


@correct
def second_use_of_a_helper_traced_under_vmap(key):
    a, b = random.split(key)
    rows = jax.vmap(jitted_helper)(random.split(a, 3))
    return rows + jitted_helper(b)


@correct
def several_keys_in_one_call(key):
    keys = random.split(key, (2, 3))
    return jax.vmap(jax.vmap(random.normal))(keys)


@correct
def fresh_seeds(key):
    return [random.normal(random.key(seed)) for seed in range(3)]


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


# `poisson` needs threefry; an rbg loop under `vmap` never ends, because all rows draw from the first key.
NOT_WITH_RBG = (every_sampler_once, rejection_loop_under_vmap)


def _name(value: Any) -> str | None:
    return getattr(value, "__name__", None)


every_kind_of_key = pytest.mark.parametrize(
    "key_kind", [pytest.param(kind, marks=() if kind == "typed" else pytest.mark.long) for kind in KEYS]
)


@every_kind_of_key
@pytest.mark.parametrize(("kind", "fn"), BUGS, ids=_name)
def test_a_planted_mistake_is_reported_alone(kind, fn, key_kind):
    use = check_keys(fn, KEYS[key_kind]())
    assert {problem.kind for problem in use.problems} == {kind}
    for problem in use.problems:
        assert problem.message.endswith(".")
        assert problem.first_line is not None
        assert problem.second_line is not None
        assert problem.first_source
        assert problem.second_source


@every_kind_of_key
@pytest.mark.parametrize("fn", CORRECT, ids=_name)
def test_a_correct_program_raises_no_alarm(fn, key_kind):
    if key_kind == "rbg" and fn in NOT_WITH_RBG:
        pytest.skip("JAX itself does not run this with rbg keys")
    use = check_keys(fn, KEYS[key_kind]())
    assert use.problems == []
    assert use.uses


@pytest.mark.parametrize("fn", [fn for kind, fn in BUGS], ids=_name)
def test_a_mistake_is_found_inside_jit(fn):
    kinds = {f: kind for kind, f in BUGS}
    assert {problem.kind for problem in check_keys(jax.jit(fn), random.key(1)).problems} == {kinds[fn]}


@pytest.mark.parametrize("fn", [fn for fn in CORRECT if fn is not host_value_decides], ids=_name)
def test_no_alarm_inside_jit(fn):
    assert check_keys(jax.jit(fn), random.key(1)).problems == []


@pytest.mark.parametrize("fn", first_of(CORRECT, 8), ids=_name)
def test_no_alarm_without_tracing(fn):
    def needs_values(key, x):
        if x > 0:
            return fn(key)
        return None

    use = check_keys(needs_values, random.key(1), jnp.float32(1.0))
    assert use.problems == []


@pytest.mark.parametrize("fn", first_of([fn for kind, fn in BUGS], 12), ids=_name)
def test_a_mistake_is_found_without_tracing(fn):
    kinds = {f: kind for kind, f in BUGS}

    def needs_values(key, x):
        if x > 0:
            return fn(key)
        return None

    use = check_keys(needs_values, random.key(1), jnp.float32(1.0))
    assert {problem.kind for problem in use.problems} == {kinds[fn]}


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
