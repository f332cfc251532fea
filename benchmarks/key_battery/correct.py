"""Correct programs, most of them close to a bug: a checker that reports any of them raises a false alarm."""

# Students write loops, print, and unpack values that they do not use.
# ruff: noqa: PERF401, RUF059

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from key_battery.case import THREEFRY, Case, correct

CORRECT: list[Case] = []


# split.


@correct()
def one_draw(key):
    """One draw from one key; a second call of the program repeats it, but does not count as reuse."""
    return jax.random.normal(key, (3,))


@correct()
def split_and_draw_from_the_children(key):
    """Each child is drawn from once."""
    w_key, b_key, noise_key = jax.random.split(key, 3)
    w = jax.random.normal(w_key, (4,))
    b = jax.random.normal(b_key, (4,))
    return w + b, jax.random.normal(noise_key, (4,))


@correct()
def split_before_each_draw(key):
    """`key, subkey = split(key)` before each draw, and a last draw from the remaining key."""
    draws = []
    for _ in range(3):
        key, subkey = jax.random.split(key)
        draws.append(jax.random.normal(subkey, (3,)))
    return draws, jax.random.normal(key, (3,))


@correct()
def split_in_the_carry(key):
    """The loop splits the key in its carry, and the final key is drawn from after the loop."""

    def step(carry, x):
        rng, w = carry
        rng, sub = jax.random.split(rng)
        return (rng, w + x * jax.random.normal(sub)), w

    (rng, w), _ = jax.lax.scan(step, (key, 0.0), jnp.arange(5.0))
    return w, jax.random.normal(rng)


@correct()
def keys_as_scanned_input(key):
    """Each step gets a separate key, in a scan that runs backwards and is unrolled."""

    def step(total, rng):
        x = jax.random.normal(rng)
        return total + x, x

    return jax.lax.scan(step, 0.0, jax.random.split(key, 6), reverse=True, unroll=2)


@correct()
def epochs_with_keys_of_their_own(key):
    """Each epoch makes new keys for its steps."""

    def train_step(w, step_key):
        return w + jax.random.normal(step_key), None

    def epoch(carry, _):
        w, rng = carry
        rng, epoch_key = jax.random.split(rng)
        w, _ = jax.lax.scan(train_step, w, jax.random.split(epoch_key, 4))
        return (w, rng), w

    return jax.lax.scan(epoch, (0.0, key), length=2)[1]


@correct()
def distinct_dynamic_indices(key):
    """Each step takes two keys from an array by traced indices that never repeat."""
    keys = jax.random.split(key, 8)

    def body(i, total):
        x = jax.random.normal(keys[2 * i])
        y = jax.random.normal(keys[2 * i + 1])
        return total + x * y

    return jax.lax.fori_loop(0, 4, body, 0.0)


@correct()
def disjoint_slices_and_a_permutation(key):
    """The keys are rolled, permuted, joined and sliced without overlap."""
    keys = jnp.concatenate([jax.random.split(k, 3) for k in jax.random.split(key)])
    keys = jnp.roll(keys, 1, axis=0)[jnp.array([5, 0, 3, 1, 4, 2])]
    draw = jax.vmap(lambda k: jax.random.normal(k, (2,)))
    return draw(keys[:2]), draw(keys[2:5]), jax.random.normal(keys[-1], (2,))


@correct()
def grid_of_keys(key):
    """Nested vmaps draw from a grid of keys."""
    keys = jax.random.split(key, (2, 3))
    return jax.vmap(jax.vmap(lambda k: jax.random.normal(k, (2,))))(keys)


@correct()
def keys_for_the_leaves_of_a_tree(key):
    """Each leaf of the parameters has a separate key."""
    shapes = {"w": (3, 4), "b": (4,), "scale": ()}
    leaves, treedef = jax.tree.flatten(shapes, is_leaf=lambda node: isinstance(node, tuple))
    keys = jax.tree.unflatten(treedef, list(jax.random.split(key, len(leaves))))
    return jax.tree.map(lambda k, shape: jax.random.normal(k, shape), keys, shapes)


@correct()
def iterator_of_keys(key):
    """`next(keys)` takes one key after the other."""
    keys = iter(jax.random.split(key, 3))
    first = jax.random.normal(next(keys), (2,))
    second = jax.random.normal(next(keys), (2,))
    return first, second, jax.random.permutation(next(keys), 5)


@correct()
def sequence_object(key):
    """A stream like haiku's `PRNGSequence` splits at each call."""

    class Stream:
        def __init__(self, rng):
            self.rng = rng

        def next(self):
            self.rng, sub = jax.random.split(self.rng)
            return sub

    stream = Stream(key)
    return [jax.random.uniform(stream.next(), (3,)) for _ in range(3)]


@correct()
def two_names_and_one_draw(key):
    """The key has several names and sits in several containers, but is drawn from once."""
    rng = key
    state = {"rng": key, "pair": (rng, key)}
    return jax.random.normal(state["pair"][1], (3,))


@correct()
def one_draw_used_twice(key):
    """Antithetic sampling: one draw, used with both signs."""
    eps = jax.random.normal(key, (4,))
    return jnp.exp(eps), jnp.exp(-eps)


# fold_in.


@correct()
def fold_in_the_step(key):
    """The base key is never drawn from; each step folds in its number."""

    def step(w, i):
        return w + jax.random.normal(jax.random.fold_in(key, i)), None

    return jax.lax.scan(step, 0.0, jnp.arange(6))[0]


@correct()
def fold_in_distinct_numbers(key):
    """Each layer folds in a different number."""
    return [jax.random.normal(jax.random.fold_in(key, i), (3,)) for i in range(4)]


@correct()
def fold_in_epoch_then_step(key):
    """The epoch is folded in first, and the step is folded into the result."""

    def epoch(_, e):
        epoch_key = jax.random.fold_in(key, e)

        def step(_, s):
            return None, jax.random.normal(jax.random.fold_in(epoch_key, s))

        return jax.lax.scan(step, None, jnp.arange(3))

    return jax.lax.scan(epoch, None, jnp.arange(2))[1]


@correct()
def fold_in_a_global_step(key):
    """`epoch * steps + step` never repeats."""
    draws = []
    for epoch in range(2):
        for step in range(3):
            draws.append(jax.random.normal(jax.random.fold_in(key, epoch * 3 + step)))
    return draws


@correct()
def fold_in_the_row(key):
    """All rows share the key, but each row folds in its number before it draws."""

    def row(i, x):
        return x + jax.random.normal(jax.random.fold_in(key, i), x.shape)

    return jax.vmap(row)(jnp.arange(4), jnp.zeros((4, 3)))


@correct()
def same_number_into_different_keys(key):
    """Two different children fold in the same number."""
    dropout_key, augment_key = jax.random.split(key)

    def step(_, i):
        keep = jax.random.uniform(jax.random.fold_in(dropout_key, i))
        shift = jax.random.uniform(jax.random.fold_in(augment_key, i))
        return None, (keep, shift)

    return jax.lax.scan(step, None, jnp.arange(4))[1]


@correct()
def fold_into_one_child_split_the_other(key):
    """One child is only folded into, the other only split."""
    init_key, step_key = jax.random.split(key)
    layers = [jax.random.normal(k) for k in jax.random.split(init_key, 3)]
    return layers, [jax.random.normal(jax.random.fold_in(step_key, i)) for i in range(3)]


# Declared second uses, and operations that look at a key without using it.


@correct()
def clone_for_a_second_draw(key):
    """`clone` declares that the second draw is meant to repeat the first."""
    first = jax.random.normal(key, (3,))
    again = jax.random.normal(jax.random.clone(key), (3,))
    return first, again


@correct()
def paired_shuffle(key):
    """Images and labels are shuffled the same way, with a clone made beforehand."""
    label_key = jax.random.clone(key)
    images = jax.random.permutation(key, jnp.arange(12.0).reshape(6, 2))
    labels = jax.random.permutation(label_key, jnp.arange(6))
    return images, labels


@correct()
def clone_of_a_key_that_is_split(key):
    """The clone repeats the split."""
    a, b = jax.random.split(key)
    c, d = jax.random.split(jax.random.clone(key))
    return jax.random.normal(a), jax.random.normal(b)


@correct()
def printed_key(key):
    """Printing a key, by Python or by JAX, does not use it."""
    print("key:", key)
    jax.debug.print("key: {}", key)
    first = jax.random.normal(key, (2,))
    jax.debug.print("bits: {}", jax.random.key_data(key))
    return first


@correct()
def saved_key(key):
    """The bits of every key are saved in addition to the draws from it."""
    saved = [jax.random.key_data(key)]
    key, sub = jax.random.split(key)
    saved.append(jax.random.key_data(sub))
    x = jax.random.normal(sub, (3,))
    saved.append(jax.random.key_data(key))
    return saved, x, jax.random.normal(key, (3,))


@correct()
def key_bits_sent_to_the_host(key):
    """The bits go to a callback that saves them."""
    jax.debug.callback(lambda bits: None, jax.random.key_data(key))
    return jax.random.normal(key, (2,))


@correct()
def restored_key_alone(key):
    """A key is saved and restored, and only the restored key is drawn from."""
    impl = jax.random.key_impl(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else None
    restored = jax.random.wrap_key_data(jax.random.key_data(key), impl=impl)
    a, b = jax.random.split(restored)
    return jax.random.normal(a), jax.random.normal(b)


@correct()
def compared_keys(key):
    """Comparing keys does not use them."""
    a, b = jax.random.split(key)
    same = jnp.all(a == b)
    return same, jax.random.normal(a), jax.random.normal(b)


@correct()
def shapes_asked_before_the_draw(key):
    """`eval_shape` runs nothing."""

    def init(rng):
        return {"w": jax.random.normal(rng, (3, 2))}

    shapes = jax.eval_shape(init, key)
    params = init(key)
    return jax.tree.map(lambda p, s: p + jnp.zeros(s.shape), params, shapes)


@correct()
def key_passed_through(key):
    """The key passes unused through `device_put`, a jitted identity and a `cond`."""
    rng = jax.jit(lambda k: k)(jax.device_put(key))
    rng = jax.lax.cond(jnp.ones(()) > 0, lambda k: k, lambda k: k, rng)
    return jax.random.normal(rng, (3,))


@correct(takes="closure")
def global_key_split_once(key):
    """The program takes its key from the enclosing function, and splits it once."""

    def program():
        a, b = jax.random.split(key)
        return jax.random.normal(a, (3,)), jax.random.normal(b, (3,))

    return program


# Containers.


class State(NamedTuple):
    """Parameters and a key."""

    params: jax.Array
    rng: jax.Array


@correct()
def advanced_key_in_a_namedtuple(key):
    """The step returns the new key."""

    @jax.jit
    def train_step(state):
        rng, sub = jax.random.split(state.rng)
        return State(state.params + jax.random.normal(sub, (3,)), rng)

    state = State(jnp.zeros(3), key)
    for _ in range(3):
        state = train_step(state)
    return state.params


@correct()
def streams_in_a_dict(key):
    """A dict holds a stream for each purpose, and all of them advance."""
    rngs = dict(zip(["params", "dropout"], jax.random.split(key), strict=True))

    def take(rngs, name):
        rng, sub = jax.random.split(rngs[name])
        return {**rngs, name: rng}, sub

    draws = []
    for name in ["params", "dropout", "dropout"]:
        rngs, sub = take(rngs, name)
        draws.append(jax.random.normal(sub, (2,)))
    return draws


@correct()
def jitted_helper_with_two_keys(key):
    """One jitted helper is called with different children."""

    @partial(jax.jit, static_argnames="n")
    def noise(rng, n):
        return jax.random.normal(rng, (n,))

    a, b, c = jax.random.split(key, 3)
    return noise(a, 3), noise(b, 3), noise(c, 2)


# Branches and loops.


@correct()
def both_branches_draw(key):
    """Only one branch is taken, so both may draw from the key."""
    return jax.lax.cond(
        jnp.arange(3).sum() > 2,
        lambda k: jax.random.normal(k, (3,)),
        lambda k: jax.random.uniform(k, (3,)),
        key,
    )


@correct()
def all_cases_of_a_switch_draw(key):
    """Each step draws one of three proposals, with its own key."""
    proposals = [jax.random.normal, jax.random.cauchy, jax.random.laplace]

    def step(x, rng):
        choice_key, move_key = jax.random.split(rng)
        which = jax.random.randint(choice_key, (), 0, 3)
        return x + jax.lax.switch(which, proposals, move_key), which

    return jax.lax.scan(step, 0.0, jax.random.split(key, 5))


@correct()
def both_branches_draw_under_vmap(key):
    """Under vmap, both branches are computed, but each row keeps only one."""

    def row(rng, flag):
        return jax.lax.cond(flag, jax.random.normal, jax.random.uniform, rng)

    return jax.vmap(row)(jax.random.split(key, 4), jnp.array([True, False, False, True]))


@correct()
def one_branch_splits_under_vmap(key):
    """Some rows split and draw from the child, the others draw from their unsplit key."""

    def row(rng, flag):
        rng = jax.lax.cond(flag, lambda k: jax.random.split(k)[0], lambda k: k, rng)
        return jax.random.normal(rng)

    return jax.vmap(row)(jax.random.split(key, 4), jnp.array([True, False, True, False]))


@correct()
def draw_in_the_branch_or_after_it(key):
    """One key is used in the branch, and another after it."""
    first, second = jax.random.split(key)
    x = jax.lax.cond(jnp.ones(()) > 2, lambda: jax.random.normal(first), lambda: 0.0)
    return x + jax.random.normal(second)


@correct()
def rejection_sampling(key):
    """The loop splits the key for each proposal."""

    def body(state):
        rng, x = state
        rng, sub = jax.random.split(rng)
        return rng, jax.random.normal(sub)

    rng, sub = jax.random.split(key)
    return jax.lax.while_loop(lambda state: state[1] < 0.5, body, (rng, jax.random.normal(sub)))[1]


@correct(key_kinds=THREEFRY)
def mapped_rejection_sampling(key):
    """Rows stop at different times; finished rows keep their values while the others continue."""

    def row(rng):
        def body(state):
            rng, _, n = state
            rng, sub = jax.random.split(rng)
            return rng, jax.random.uniform(sub), n + 1

        rng, x, n = jax.lax.while_loop(lambda state: state[1] < 0.7, body, (rng, 0.0, 0))
        return x, n, jax.random.normal(rng)

    return jax.vmap(row)(jax.random.split(key, 6))


@correct()
def mapped_loop_of_unequal_length(key):
    """Each row runs a different number of rounds."""

    def row(rng, n):
        def body(_, state):
            rng, total = state
            rng, sub = jax.random.split(rng)
            return rng, total + jax.random.normal(sub)

        return jax.lax.fori_loop(0, n, body, (rng, 0.0))[1]

    return jax.vmap(row)(jax.random.split(key, 4), jnp.array([0, 3, 1, 2]))


@correct()
def condition_and_body_with_keys_of_their_own(key):
    """The condition draws from one key and the body from the other."""

    def body(state):
        rngs, i, x = state
        stop, move, rest = jax.random.split(rngs[2], 3)
        return (stop, move, rest), i + 1, x + jax.random.normal(rngs[1])

    start = (tuple(jax.random.split(key, 3)), 0, 0.0)
    go_on = lambda state: (jax.random.uniform(state[0][0]) < 0.8) & (state[1] < 5)  # noqa: E731
    return jax.lax.while_loop(go_on, body, start)[2]


# vmap.


@correct()
def one_key_for_each_row(key):
    """Each row has a separate key."""
    return jax.vmap(lambda k, x: x + jax.random.normal(k, x.shape))(jax.random.split(key, 4), jnp.zeros((4, 3)))


@correct()
def one_mask_for_all_rows(key):
    """Sharing on purpose: the mask is drawn once, outside the vmap."""
    mask = jax.random.bernoulli(key, 0.5, (16,))
    return jax.vmap(lambda x: x * mask)(jnp.ones((4, 16)))


@correct()
def one_mask_for_all_steps(key):
    """Variational dropout: the mask is drawn once, outside the scan."""
    mask = jax.random.bernoulli(key, 0.5, (16,))
    return jax.lax.scan(lambda h, x: (jnp.tanh(h * mask + x), None), jnp.zeros(16), jnp.ones((5, 16)))[0]


@correct()
def map_over_keys(key):
    """`lax.map` runs over keys, one by one and in batches."""
    a, b = jax.random.split(key)
    one_by_one = jax.lax.map(lambda k: jax.random.normal(k, (2,)), jax.random.split(a, 3))
    batched = jax.lax.map(lambda k: jax.random.normal(k, (2,)), jax.random.split(b, 5), batch_size=2)
    return one_by_one, batched


@correct(key_kinds=THREEFRY)
def mapped_samplers(key):
    """Samplers with internal loops get a separate key for each row."""
    keys = jax.random.split(key, (5, 3))
    rates = jnp.array([0.5, 4.0, 20.0])
    return (
        jax.vmap(jax.random.poisson)(keys[0], rates),
        jax.vmap(jax.random.gamma)(keys[1], rates),
        jax.vmap(lambda k, n: jax.random.binomial(k, n, 0.4))(keys[2], rates),
        jax.vmap(lambda k: jax.random.choice(k, 6, (3,), replace=False))(keys[3]),
        jax.vmap(lambda k: jax.random.permutation(k, 5))(keys[4]),
    )


@correct(takes="seed", key_kinds=("typed",))
def mapped_seeds(seed):
    """Each row is a run with a different seed."""
    return jax.vmap(lambda number: jax.random.normal(jax.random.key(number), (2,)))(seed + jnp.arange(4))


@correct(takes="seed", key_kinds=("legacy",))
def mapped_legacy_seeds(seed):
    """The same with legacy keys."""
    return jax.vmap(lambda number: jax.random.normal(jax.random.PRNGKey(number), (2,)))(seed + jnp.arange(4))


@correct(takes="nothing", key_kinds=("typed",))
def two_seeds():
    """Two keys have different seeds, and one of them is split into two children."""
    model, data = jax.random.key(0), jax.random.key(1)
    k1, k2 = jax.random.split(data)
    return jax.random.normal(model), jax.random.normal(k1), jax.random.normal(k2)


@correct(takes="nothing", key_kinds=("legacy",))
def two_legacy_seeds():
    """The same with legacy keys."""
    model, data = jax.random.PRNGKey(0), jax.random.PRNGKey(1)
    k1, k2 = jax.random.split(data)
    return jax.random.normal(model), jax.random.normal(k1), jax.random.normal(k2)


# Derivatives.


def _noisy_loss(w, x, rng):
    keep = jax.random.bernoulli(rng, 0.8, x.shape)
    return jnp.sum((jnp.tanh(w * x) * keep) ** 2)


@correct()
def training_loop(key):
    """A training loop uses a new key for each step."""
    w, x = jnp.ones(4), jnp.arange(4.0)
    for _ in range(3):
        key, sub = jax.random.split(key)
        loss, g = jax.value_and_grad(_noisy_loss)(w, x, sub)
        w = w - 0.1 * g
    return w


@correct()
def per_example_gradients_with_keys(key):
    """Per-example gradients have separate dropout keys."""
    keys = jax.random.split(key, 3)
    return jax.vmap(jax.grad(_noisy_loss), in_axes=(None, 0, 0))(jnp.ones(4), jnp.ones((3, 4)), keys)


@correct()
def jacobian_by_forward_mode(key):
    """`jacfwd` maps over tangent directions, but runs the function once."""
    return jax.jacfwd(lambda w: jnp.sin(w) * jax.random.normal(key, (3,)))(jnp.ones(3))


@correct()
def hessian_of_a_noisy_loss(key):
    """The same for `hessian`."""
    return jax.hessian(_noisy_loss)(jnp.ones(3), jnp.arange(3.0), key)


@correct()
def linearised_draw(key):
    """`jvp` and `vjp` of one draw each."""
    a, b = jax.random.split(key)
    x = jnp.ones(3)
    y, dy = jax.jvp(lambda v: v * jax.random.normal(a, (3,)), (x,), (x,))
    z, pull = jax.vjp(lambda v: v * jax.random.normal(b, (3,)), x)
    return y, dy, z, pull(x), pull(2 * x)


@correct()
def gradient_through_a_scan(key):
    """The backward pass of the scan draws nothing."""

    def loss(w):
        def step(carry, _):
            rng, h = carry
            rng, sub = jax.random.split(rng)
            return (rng, jnp.tanh(w * h + jax.random.normal(sub))), None

        return jax.lax.scan(step, (key, 0.5), length=4)[0][1]

    return jax.value_and_grad(loss)(0.7)


@correct()
def checkpointed_draw(key):
    """The backward pass of a checkpointed block draws the same mask again, as intended."""

    @jax.checkpoint
    def block(w, rng):
        return jnp.sin(w) * jax.random.bernoulli(rng, 0.5, w.shape)

    def loss(w):
        a, b = jax.random.split(key)
        return jnp.sum(block(block(w, a), b))

    return jax.value_and_grad(loss)(jnp.ones(8))


@correct()
def checkpointed_scan(key):
    """The body of the scan is checkpointed, with its split inside."""

    def loss(w):
        @jax.checkpoint
        def step(carry, x):
            rng, h = carry
            rng, sub = jax.random.split(rng)
            return (rng, jnp.tanh(w * h + x * jax.random.normal(sub))), None

        return jax.lax.scan(step, (key, 0.5), jnp.arange(3.0))[0][1]

    return jax.grad(loss)(0.7)


@correct()
def checkpoint_with_a_policy(key):
    """The policy saves only matrix products, so the draw is repeated."""

    @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
    def layer(w, rng):
        return jnp.tanh(w @ w) * jax.random.normal(rng, w.shape)

    return jax.grad(lambda w: jnp.sum(layer(w, key)))(jnp.eye(3))


@correct()
def jacobian_of_a_checkpointed_draw(key):
    """`jacrev` maps over the backward pass, in which the checkpoint draws again."""

    @jax.checkpoint
    def block(w):
        return jnp.sin(w) * jax.random.normal(key, w.shape)

    return jax.jacrev(block)(jnp.ones(3))


@correct()
def mapped_checkpointed_gradients(key):
    """Checkpointed blocks under grad under vmap, with a key for each row."""

    @jax.checkpoint
    def block(w, rng):
        return jnp.sin(w) * jax.random.normal(rng, w.shape)

    row = jax.grad(lambda w, rng: jnp.sum(block(w, rng)))
    return jax.vmap(row, in_axes=(None, 0))(jnp.ones(3), jax.random.split(key, 4))


@correct()
def custom_jvp_with_one_draw(key):
    """The derivative rule calls the function again; only the rule runs."""

    @jax.custom_jvp
    def sample(mu, rng):
        return mu + jax.random.normal(rng, mu.shape)

    @sample.defjvp
    def sample_jvp(primals, tangents):
        return sample(*primals), tangents[0]

    a, b = jax.random.split(key)
    return jax.value_and_grad(lambda mu: jnp.sum(sample(mu, a) ** 2))(jnp.ones(3)), sample(jnp.ones(3), b)


@correct()
def custom_vjp_that_keeps_its_noise(key):
    """The forward rule passes its noise to the backward rule."""

    @jax.custom_vjp
    def stochastic_round(x, rng):
        return jnp.floor(x + jax.random.uniform(rng, x.shape))

    def forward(x, rng):
        u = jax.random.uniform(rng, x.shape)
        return jnp.floor(x + u), u

    stochastic_round.defvjp(forward, lambda u, ct: (ct * (1 + 0 * u), None))
    return jax.grad(lambda x: jnp.sum(stochastic_round(x, key) ** 2))(jnp.linspace(0.0, 2.0, 5))


@correct()
def gradient_of_samplers(key):
    """Samplers that are differentiable in their parameters."""

    def loss(a):
        k1, k2, k3 = jax.random.split(key, 3)
        return jnp.sum(jax.random.gamma(k1, a)) + jax.random.beta(k2, a[0], a[1]) + jax.random.dirichlet(k3, a)[0] ** 2

    return jax.value_and_grad(loss)(jnp.array([1.5, 2.5, 0.7]))


# Samplers of jax.random, and initialisers: each call is one use of its key, whatever it does internally.


@correct(key_kinds=THREEFRY)
def count_samplers(key):
    """Samplers of counts, which loop and reuse keys internally."""
    k = jax.random.split(key, 6)
    return (
        jax.random.binomial(k[0], 10, 0.3, (4,)),
        jax.random.binomial(k[1], jnp.array([3.0, 200.0]), jnp.array([0.9, 0.5])),
        jax.random.poisson(k[2], 3.0, (4,)),
        jax.random.poisson(k[3], jnp.array([0.1, 50.0])),
        jax.random.geometric(k[4], 0.2, (3,)),
        jax.random.multinomial(k[5], 8, jnp.array([0.2, 0.3, 0.5])),
    )


@correct()
def positive_samplers(key):
    """Samplers built on gamma."""
    k = jax.random.split(key, 6)
    return (
        jax.random.gamma(k[0], 0.5, (3,)),
        jax.random.loggamma(k[1], 2.0, (3,)),
        jax.random.beta(k[2], 2.0, 3.0, (3,)),
        jax.random.dirichlet(k[3], jnp.ones(3), (2,)),
        jax.random.chisquare(k[4], 3.0, shape=(2,)),
        jax.random.f(k[5], 3.0, 4.0, shape=(2,)),
    )


@correct()
def continuous_samplers(key):
    """Samplers of real numbers."""
    k = iter(jax.random.split(key, 14))
    return (
        jax.random.t(next(k), 3.0, (3,)),
        jax.random.cauchy(next(k), (3,)),
        jax.random.gumbel(next(k), (3,)),
        jax.random.laplace(next(k), (3,)),
        jax.random.logistic(next(k), (3,)),
        jax.random.lognormal(next(k), shape=(3,)),
        jax.random.maxwell(next(k), (3,)),
        jax.random.double_sided_maxwell(next(k), 0.0, 1.0, (3,)),
        jax.random.pareto(next(k), 2.0, (3,)),
        jax.random.rayleigh(next(k), 1.0, (3,)),
        jax.random.triangular(next(k), 0.0, 0.5, 1.0, (3,)),
        jax.random.truncated_normal(next(k), -1.0, 1.0, (3,)),
        jax.random.wald(next(k), 1.0, (3,)),
        jax.random.weibull_min(next(k), 1.0, 2.0, (3,)),
    )


@correct()
def vector_samplers(key):
    """Samplers of vectors and matrices."""
    k = jax.random.split(key, 5)
    return (
        jax.random.ball(k[0], 3, shape=(2,)),
        jax.random.orthogonal(k[1], 3),
        jax.random.multivariate_normal(k[2], jnp.zeros(2), jnp.eye(2)),
        jax.random.generalized_normal(k[3], 1.5, (3,)),
        jax.random.normal(k[4], (2,), dtype=jnp.complex64),
    )


@correct()
def choosing_samplers(key):
    """Samplers that choose."""
    k = iter(jax.random.split(key, 12))
    p = jnp.array([0.1, 0.2, 0.3, 0.4])
    return (
        jax.random.categorical(next(k), jnp.log(p), shape=(3,)),
        jax.random.categorical(next(k), jnp.log(p), shape=(2,), replace=False),
        jax.random.choice(next(k), 5, (3,)),
        jax.random.choice(next(k), 5, (3,), replace=False),
        jax.random.choice(next(k), 4, (3,), p=p),
        jax.random.choice(next(k), 4, (2,), replace=False, p=p),
        jax.random.permutation(next(k), 7),
        jax.random.permutation(next(k), jnp.arange(12).reshape(3, 4), axis=1, independent=True),
        jax.random.randint(next(k), (3,), 0, 10),
        jax.random.bits(next(k), (3,), dtype="uint8"),
        jax.random.bernoulli(next(k), 0.3, (3,)),
        jax.random.rademacher(next(k), (3,)),
    )


@correct()
def initialisers(key):
    """The initialisers of `jax.nn`, with a separate key each."""
    make = jax.nn.initializers
    matrices = [
        make.glorot_normal(),
        make.glorot_uniform(),
        make.he_normal(),
        make.lecun_normal(),
        make.normal(),
        make.orthogonal(),
        make.truncated_normal(),
        make.uniform(),
        make.variance_scaling(1.0, "fan_avg", "uniform"),
        make.zeros,
    ]
    *keys, last = jax.random.split(key, len(matrices) + 1)
    weights = [init(k, (4, 3)) for init, k in zip(matrices, keys, strict=True)]
    return weights, make.delta_orthogonal()(last, (3, 2, 2))


# Libraries.


@correct(needs="flax")
def flax_dropout(key):
    """A flax network with two dropout layers, initialised and trained for two steps."""
    from flax import linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for width in (4, 4):
                x = nn.Dropout(0.5, deterministic=False)(nn.relu(nn.Dense(width)(x)))
            return nn.Dense(1)(x)

    net, x = Net(), jnp.ones((2, 3))
    params_key, init_key, key = jax.random.split(key, 3)
    params = net.init({"params": params_key, "dropout": init_key}, x)

    def loss(params, rng):
        return jnp.mean(net.apply(params, x, rngs={"dropout": rng}) ** 2)

    for _ in range(2):
        key, sub = jax.random.split(key)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, sub))
    return params


@correct(needs="flax")
def flax_dropout_by_step(key):
    """As flax recommends, the step is folded into the dropout key."""
    from flax import linen as nn

    model = nn.Dropout(0.5, deterministic=False)

    def step(x, i):
        return model.apply({}, x, rngs={"dropout": jax.random.fold_in(key, i)}), None

    return jax.lax.scan(step, jnp.ones(8), jnp.arange(3))[0]


@correct(needs="flax")
def flax_nnx_layers(key):
    """flax's nnx layers, made and used inside the program, draw from counting streams."""
    from flax import nnx

    params_key, dropout_key = jax.random.split(key)
    rngs = nnx.Rngs(params=params_key, dropout=dropout_key)
    first, second = nnx.Linear(3, 4, rngs=rngs), nnx.Linear(4, 2, rngs=rngs)
    drop = nnx.Dropout(0.5, rngs=rngs)
    return second(drop(drop(first(jnp.ones((2, 3))))))


@correct(needs="haiku")
def haiku_init_and_apply(key):
    """A haiku network with dropout, initialised and applied with separate keys."""
    import haiku as hk

    def net(x):
        x = hk.dropout(hk.next_rng_key(), 0.5, hk.nets.MLP([4, 4])(x))
        return hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(2)(x))

    model = hk.transform(net)
    init_key, a, b = jax.random.split(key, 3)
    params = model.init(init_key, jnp.ones((2, 3)))
    return model.apply(params, a, jnp.ones((2, 3))), model.apply(params, b, jnp.ones((2, 3)))


@correct(needs="blackjax")
def blackjax_hmc(key):
    """Hamiltonian Monte Carlo with a key for each step."""
    import blackjax

    sampler = blackjax.hmc(lambda x: -0.5 * jnp.sum(x**2), 0.1, jnp.ones(2), 3)

    def step(state, rng):
        state, _ = sampler.step(rng, state)
        return state, state.position

    return jax.lax.scan(step, sampler.init(jnp.ones(2)), jax.random.split(key, 4))[1]


@correct(needs="blackjax")
def blackjax_chains(key):
    """Several chains side by side: random-walk Metropolis under vmap."""
    import blackjax

    sampler = blackjax.rmh(lambda x: -0.5 * jnp.sum(x**2), lambda rng, x: x + 0.3 * jax.random.normal(rng, x.shape))

    def chain(rng, start):
        def step(state, step_key):
            state, _ = sampler.step(step_key, state)
            return state, state.position

        return jax.lax.scan(step, sampler.init(start), jax.random.split(rng, 3))[1]

    return jax.vmap(chain)(jax.random.split(key, 3), jnp.zeros((3, 2)))
