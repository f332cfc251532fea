"""Planted key reuse bugs, written as students write them; each returns two values that should be independent.

A checker may place the first use at lines that end in `# first`, and the second at lines that end in `# second`: the
draw itself, or calls of the student's helpers that lead to it. A bug without marks leaves the lines open.
"""

# Students write loops, and unpack values that they do not use.
# ruff: noqa: PERF401, RUF059

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from key_battery.case import (
    THREEFRY,
    Case,
    bug,
    drawn_by,
    equal,
    first_is_made_of_children,
    one_starts_the_other,
    same_order,
    second_is_made_of_children,
)

BUGS: list[Case] = []

DRAWN_AND_SPLIT = ("parent_used_after_split", "drawn_twice")
DRAWN_AND_FOLDED = ("parent_used_after_fold", "drawn_twice")
SPLIT_TWICE = ("split_twice", "drawn_twice")
FOLD_TWICE = ("fold_twice_same_data", "drawn_twice")
SHARED = ("same_key_for_all_rows", "drawn_twice")
SEED_TWICE = ("seed_built_twice", "drawn_twice")


# One key, two draws.


@bug("drawn_twice", evidence=equal)
def weights_and_noise(key):
    """The noise equals the weights."""
    weights = jax.random.normal(key, (3,))  # first
    inputs = jnp.ones(3)
    noise = jax.random.normal(key, (3,))  # second
    return weights * inputs, noise


@bug("drawn_twice", evidence=same_order)
def weight_and_bias(key):
    """One layer's weight and bias are drawn from one key by different samplers."""
    w = jax.random.normal(key, (12,))  # first
    b = jax.random.uniform(key, (12,), minval=-0.1, maxval=0.1)  # second
    return w, b


@bug("drawn_twice", evidence=one_starts_the_other)
def long_and_short_sample(key):
    """Different shapes do not give different numbers."""
    short = jax.random.normal(key, (4,))  # first
    long = jax.random.normal(key, (7,))  # second
    return short, long


@bug("drawn_twice", evidence=equal)
def layers_in_a_comprehension(key):
    """All layers start with the same weights."""
    sizes = [(4, 4), (4, 4), (4, 4)]
    layers = [jax.random.normal(key, size) for size in sizes]  # first and second
    return layers[0], layers[1]


@bug("drawn_twice", evidence=one_starts_the_other)
def init_network(key):
    """A helper for one layer gets the network's key each time."""

    def layer(rng, n_in, n_out):
        w = jax.random.normal(rng, (n_out,)) / jnp.sqrt(n_in)  # first and second
        return {"w": w, "b": jnp.zeros(n_out)}

    hidden = layer(key, 2, 8)  # first
    output = layer(key, 2, 3)  # second
    return hidden["w"], output["w"]


@bug("drawn_twice", evidence=equal)
def dropout_twice(key):
    """An MLP calls its dropout helper twice with one key: both layers drop the same units."""

    def dropout(rng, x, rate=0.5):
        keep = jax.random.bernoulli(rng, 1 - rate, x.shape)  # first and second
        return jnp.where(keep, x / (1 - rate), 0.0)

    def mlp(x):
        h = dropout(key, jnp.tanh(x + 1))  # first
        return h, dropout(key, jnp.tanh(x + 1))  # second

    return mlp(jnp.ones(16))


@bug("drawn_twice", evidence=same_order)
def diffusion_time_and_noise(key):
    """A diffusion loss draws the times and the noise from one key."""
    x0 = jnp.ones(12)
    t = jax.random.uniform(key, x0.shape)  # first
    eps = jax.random.normal(key, x0.shape)  # second
    noisy = jnp.sqrt(1 - t) * x0 + jnp.sqrt(t) * eps
    return t, eps + 0 * noisy


@bug("drawn_twice", evidence=same_order)
def metropolis_proposal_and_acceptance(key):
    """Each step has a separate key, but uses it for both the proposal and the acceptance."""

    def step(x, step_key):
        move = jax.random.normal(step_key)  # first
        proposal = x + 0.5 * move
        u = jax.random.uniform(step_key)  # second
        accept = u < jnp.exp(0.5 * (x**2 - proposal**2))
        return jnp.where(accept, proposal, x), (move, u)

    _, (moves, us) = jax.lax.scan(step, 0.0, jax.random.split(key, 16))
    return moves, us


@bug(
    "drawn_twice",
    *DRAWN_AND_SPLIT,
    evidence=drawn_by(lambda key: (jax.random.uniform(key, (5,)), jax.random.randint(key, (5,), 0, 100))),
)
def epsilon_greedy(key):
    """The coin and the random action are drawn from one key."""
    coin = jax.random.uniform(key, (5,))  # first
    action = jax.random.randint(key, (5,), 0, 100)  # second
    return coin, action


@bug(
    "drawn_twice",
    *DRAWN_AND_SPLIT,
    evidence=drawn_by(lambda key: (jax.random.categorical(key, jnp.zeros(50)), jax.random.normal(key, (3,)))),
)
def mixture_component_and_noise(key):
    """A Gaussian mixture draws the component from the key of the noise."""
    component = jax.random.categorical(key, jnp.zeros(50))  # first
    noise = jax.random.normal(key, (3,))  # second
    return component, noise


@bug("drawn_twice", "split_twice", evidence=one_starts_the_other)
def permutation_and_choice(key):
    """The minibatch is the beginning of the shuffled data."""
    shuffled = jax.random.permutation(key, jnp.arange(30))  # first
    batch = jax.random.choice(key, jnp.arange(30), (10,), replace=False)  # second
    return shuffled, batch


@bug("drawn_twice", "split_twice", evidence=equal)
def same_shuffle_every_epoch(key):
    """The data are shuffled the same way in each epoch."""
    orders = []
    for _ in range(2):
        orders.append(jax.random.permutation(key, 20))  # first and second
    return orders[0], orders[1]


@bug("drawn_twice", evidence=equal)
def layer_that_keeps_its_key(key):
    """A PyTorch-style dropout layer keeps one key for all its calls."""

    class Dropout:
        def __init__(self, rng):
            self.rng = rng

        def __call__(self, x):
            return x * jax.random.bernoulli(self.rng, 0.5, x.shape)  # first and second

    dropout = Dropout(key)
    first = dropout(jnp.ones(32))  # first
    second = dropout(jnp.ones(32))  # second
    return first, second


@bug("drawn_twice", evidence=equal)
def sampler_by_partial(key):
    """The key is bound once and drawn from at each call."""
    sample = partial(jax.random.normal, key)
    first = sample((3,))  # first
    second = sample((3,))  # second
    return first, second


@bug("drawn_twice", evidence=equal)
def noise_from_a_closure(key):
    """A function that remembers its key gives the same noise each time."""

    def make_noise(rng):
        def noise(x):
            return x + jax.random.normal(rng, x.shape)  # first and second

        return noise

    noise = make_noise(key)
    train = noise(jnp.zeros(5))  # first
    test = noise(jnp.zeros(5))  # second
    return train, test


@bug("drawn_twice", evidence=one_starts_the_other)
def init_by_tree_map(key):
    """All leaves of the parameters are drawn from one key."""
    shapes = {"w1": (5,), "w2": (8,)}
    params = jax.tree.map(
        lambda shape: jax.random.normal(key, shape),  # first and second
        shapes,
        is_leaf=lambda node: isinstance(node, tuple),
    )
    return params["w1"], params["w2"]


@bug("drawn_twice", evidence=same_order)
def augmentation_brightness_and_shift(key):
    """An image's brightness and shift are drawn from one key."""

    def augment(rng, images):
        brightness = jax.random.uniform(rng, (12,))  # first
        shift = jax.random.normal(rng, (12,))  # second
        return images * brightness + shift, brightness, shift

    _, brightness, shift = augment(key, jnp.ones(12))
    return brightness, shift


@bug("drawn_twice", "split_twice", evidence=equal)
def bootstrap_with_one_key(key):
    """All bootstrap resamples are the same."""
    data = jnp.linspace(0.0, 1.0, 20)
    means = [jax.random.choice(key, data, data.shape).mean() for _ in range(3)]  # first and second
    return means[0], means[1]


@bug("drawn_twice", evidence=equal)
def gibbs_sweep(key):
    """Both coordinates of a Gibbs sweep move with the same noise."""

    def sweep(state, sweep_key):
        x, y = state
        e1 = jax.random.normal(sweep_key)  # first
        x = 0.9 * y + e1
        e2 = jax.random.normal(sweep_key)  # second
        y = 0.9 * x + e2
        return (x, y), (e1, e2)

    _, (e1, e2) = jax.lax.scan(sweep, (0.0, 0.0), jax.random.split(key, 4))
    return e1, e2


@bug("drawn_twice", evidence=equal)
def key_under_another_name(key):
    """Assignment does not copy a key."""
    rng = key
    init_rng, data_rng = rng, key
    w = jax.random.normal(init_rng, (4,))  # first
    x = jax.random.normal(data_rng, (4,))  # second
    return w, x


# Keys in containers.


@bug("drawn_twice", evidence=equal)
def key_in_a_dict(key):
    """A training state carries a key that is never advanced."""

    def step(state):
        noise = jax.random.normal(state["key"], (3,))  # first and second
        return {**state, "params": state["params"] + noise}, noise

    state = {"params": jnp.zeros(3), "key": key}
    state, first = step(state)  # first
    state, second = step(state)  # second
    return first, second


class TrainState(NamedTuple):
    """Parameters and a key, as in many tutorials."""

    params: jax.Array
    rng: jax.Array


@bug("drawn_twice", evidence=equal)
def key_in_a_namedtuple(key):
    """The new state gets the old key."""

    def train_step(state, _):
        noise = jax.random.normal(state.rng, (3,))  # first and second
        return TrainState(state.params - 0.1 * noise, state.rng), noise

    state = TrainState(jnp.zeros(3), key)
    _, noise = jax.lax.scan(train_step, state, length=4)
    return noise[0], noise[3]


@partial(jax.tree_util.register_dataclass, data_fields=["position", "rng"], meta_fields=["scale"])
class Walker:
    """A random walker as a registered pytree."""

    def __init__(self, position, rng, scale):
        self.position, self.rng, self.scale = position, rng, scale


@bug("drawn_twice", evidence=equal)
def key_in_a_registered_class(key):
    """A walker that keeps its key takes the same step again and again."""

    @jax.jit
    def walk(walker):
        step = walker.scale * jax.random.normal(walker.rng, (2,))  # first and second
        return Walker(walker.position + step, walker.rng, walker.scale), step

    walker = Walker(jnp.zeros(2), key, 0.5)
    walker, first = walk(walker)  # first
    walker, second = walk(walker)  # second
    return first, second


@bug("drawn_twice", evidence=equal)
def same_key_twice_in_a_tuple(key):
    """Both elements of a tuple are the same key."""
    keys = (key, key)
    first, second = (jax.random.normal(k, (3,)) for k in keys)  # first and second
    return first, second


@bug("drawn_twice", evidence=equal, takes="closure")
def global_key(key):
    """The program draws from a key of the enclosing function; it has no key argument."""

    def program():
        first = jax.random.normal(key, (3,))  # first
        second = jax.random.normal(key, (3,))  # second
        return first, second

    return program


# Inner jit.


@bug("drawn_twice", evidence=equal)
def jitted_helper_called_twice(key):
    """A jitted helper is called twice with one key."""

    @jax.jit
    def noisy(rng, x):
        return x + jax.random.normal(rng, x.shape)  # first and second

    a = noisy(key, jnp.zeros(4))  # first
    b = noisy(key, jnp.zeros(4))  # second
    return a, b


@bug("drawn_twice", evidence=equal)
def inside_and_outside_of_jit(key):
    """One draw is inside a jitted helper, the other outside it."""
    inside = jax.jit(lambda k: jax.random.normal(k, (4,)))(key)  # first
    outside = jax.random.normal(key, (4,))  # second
    return inside, outside


@bug("drawn_twice", evidence=same_order)
def two_draws_in_a_jitted_helper(key):
    """Both draws are in one jitted helper."""

    @jax.jit
    def blobs(rng):
        centre = jax.random.normal(rng, (12,))  # first
        spread = jax.random.uniform(rng, (12,))  # second
        return centre, spread

    return blobs(key)


# Loops.


@bug("drawn_twice", evidence=equal)
def monte_carlo_in_scan(key):
    """A Monte Carlo estimate repeats one sample 8 times, because the loop closes over the key."""

    def add_sample(total, _):
        x = jax.random.uniform(key)  # first and second
        return total + x**2, x

    _, xs = jax.lax.scan(add_sample, 0.0, length=8)
    return xs[0], xs[7]


@bug("drawn_twice", evidence=equal)
def scan_carries_a_spent_key(key):
    """The key is in the carry, but never split."""

    def step(carry, x):
        rng, w = carry
        noise = jax.random.normal(rng)  # first and second
        return (rng, w + x * noise), noise

    _, noise = jax.lax.scan(step, (key, 0.0), jnp.arange(5.0))
    return noise[0], noise[1]


@bug("drawn_twice", evidence=equal)
def hutchinson_probes(key):
    """A trace estimate in `fori_loop` uses the same probe in each round."""
    matrix = jnp.diag(jnp.arange(1.0, 4.0))

    def probe(i, found):
        v = jax.random.rademacher(key, (3,), dtype=float)  # first and second
        return found.at[i].set(v @ matrix)

    found = jax.lax.fori_loop(0, 4, probe, jnp.zeros((4, 3)))
    return found[0], found[3]


@bug("drawn_twice", evidence=equal)
def rejection_sampling_forgets_to_split(key):
    """The loop proposes the same number until the limit stops it."""

    def unfinished(state):
        tries, _, _ = state
        return tries < 3

    def propose(state):
        tries, rng, seen = state
        x = jax.random.normal(rng)  # first and second
        return tries + 1, rng, seen.at[tries].set(x)

    _, _, seen = jax.lax.while_loop(unfinished, propose, (0, key, jnp.zeros(3)))
    return seen[0], seen[2]


@bug("drawn_twice", *DRAWN_AND_SPLIT, evidence=equal)
def loop_condition_draws_too(key):
    """The loop's condition and body draw from one key, so every walker that moves goes left."""

    def walk(_, walker_key):
        def restless(state):
            moves, rng, _ = state
            return (moves < 1) & (jax.random.uniform(rng) < 0.5)  # first

        def move(state):
            moves, rng, x = state
            x = x + jax.random.normal(rng)  # second
            _, rng = jax.random.split(rng)
            return moves + 1, rng, x

        moves, _, x = jax.lax.while_loop(restless, move, (0, walker_key, 0.0))
        return None, (moves, x < 0)

    _, (moved, went_left) = jax.lax.scan(walk, None, jax.random.split(key, 32))
    return moved, went_left


@bug("drawn_twice", evidence=equal)
def noise_in_lax_map(key):
    """Each row of the data gets the same noise."""
    rows = jnp.zeros((3, 4))
    noisy = jax.lax.map(lambda row: row + jax.random.normal(key, row.shape), rows)  # first and second
    return noisy[0], noisy[2]


@bug("drawn_twice", evidence=equal)
def generated_text(key):
    """A language model samples every token with the same Gumbel noise."""
    logits = jnp.sin(jnp.arange(500.0))

    def next_token(carry, _):
        rng, last = carry
        token = jax.random.categorical(rng, logits)  # first and second
        return (rng, token), token

    _, tokens = jax.lax.scan(next_token, (key, 0), length=6)
    return tokens[:3], tokens[3:]


@bug("drawn_twice", evidence=equal)
def dropout_in_scanned_layers(key):
    """All layers in a scanned stack drop the same units."""
    weights = jnp.ones((3, 16))

    def layer(x, w):
        mask = jax.random.bernoulli(key, 0.5, x.shape)  # first and second
        return jnp.where(mask, x * w, 0.0), mask

    _, masks = jax.lax.scan(layer, jnp.ones(16), weights)
    return masks[0], masks[1]


@bug("drawn_twice", evidence=equal)
def gradient_accumulation(key):
    """All microbatches have the same dropout mask."""

    def loss(w, x, rng):
        mask = jax.random.bernoulli(rng, 0.5, x.shape)  # first and second
        return jnp.sum(w * x * mask)

    def accumulate(total, x):
        g = jax.grad(loss)(jnp.ones(16), x, key)  # first and second
        return total + g, g

    _, grads = jax.lax.scan(accumulate, jnp.zeros(16), jnp.ones((4, 16)))
    return grads[0], grads[3]


@bug("drawn_twice", evidence=equal)
def epochs_over_the_same_keys(key):
    """The keys of the steps are made once, before the loop over epochs."""
    step_keys = jax.random.split(key, 4)

    def train_step(w, step_key):
        noise = jax.random.normal(step_key)  # first and second
        return w + noise, noise

    def epoch(w, _):
        return jax.lax.scan(train_step, w, step_keys)

    _, noise = jax.lax.scan(epoch, 0.0, length=2)
    return noise[0], noise[1]


# Branches.


@bug("drawn_twice", evidence=equal)
def before_and_in_a_branch(key):
    """The taken branch draws from the key of an earlier draw."""
    x = jax.random.normal(key, (4,))  # first
    y = jax.lax.cond(
        x.sum() < 1000,
        lambda: jax.random.normal(key, (4,)),  # second
        lambda: jnp.zeros(4),
    )
    return x, y


@bug("drawn_twice", evidence=equal)
def twice_in_a_branch(key):
    """The taken branch draws twice."""

    def explore(rng):
        step = jax.random.normal(rng, (3,))  # first
        jitter = jax.random.normal(rng, (3,))  # second
        return step, jitter

    def stay(rng):
        return jnp.zeros(3), jnp.ones(3)

    return jax.lax.cond(jnp.arange(3).sum() == 3, explore, stay, key)


@bug("drawn_twice", evidence=equal)
def after_a_switch(key):
    """The key of the chosen proposal is drawn from again."""
    proposals = [
        lambda rng: jax.random.uniform(rng, (4,)),
        lambda rng: jax.random.normal(rng, (4,)),  # first
        lambda rng: jax.random.cauchy(rng, (4,)),
    ]
    x = jax.lax.switch(jnp.int32(1), proposals, key)  # first
    noise = jax.random.normal(key, (4,))  # second
    return x, noise


@bug("drawn_twice", evidence=equal)
def branch_under_vmap(key):
    """Each row draws from its key before the branch and, if the branch is taken, again inside it."""

    def row(rng, flag):
        x = jax.random.normal(rng)  # first
        y = jax.lax.cond(
            flag,
            lambda r: jax.random.normal(r),  # second
            lambda r: 0.0,
            rng,
        )
        return x, y

    x, y = jax.vmap(row)(jax.random.split(key, 4), jnp.array([True, False, True, True]))
    return x[2:], y[2:]


# Derivatives.


@bug("drawn_twice", evidence=same_order)
def reparametrisation_and_dropout(key):
    """A VAE's noise and its dropout share a key, inside value_and_grad."""

    def loss(mu, rng):
        eps = jax.random.normal(rng, mu.shape)  # first
        u = jax.random.uniform(rng, mu.shape)  # second
        z = (mu + eps) * (u < 0.9)
        return jnp.sum(z**2), (eps, u)

    (_, (eps, u)), _ = jax.value_and_grad(loss, has_aux=True)(jnp.ones(12), key)
    return eps, u


@bug("drawn_twice", evidence=equal)
def training_loop_without_split(key):
    """Every step of the training loop has the same dropout mask."""

    def loss(w, x, rng):
        mask = jax.random.bernoulli(rng, 0.5, x.shape)  # first and second
        return jnp.mean((w * x * mask) ** 2), mask

    w, x = jnp.ones(32), jnp.ones(32)
    masks = []
    for _ in range(2):
        (_, mask), g = jax.value_and_grad(loss, has_aux=True)(w, x, key)  # first and second
        w = w - 0.1 * g
        masks.append(mask)
    return masks[0], masks[1]


@bug("drawn_twice", evidence=equal)
def jvp_of_two_draws(key):
    """Both draws are inside a function that jvp differentiates."""

    def f(x):
        a = x * jax.random.normal(key, (3,))  # first
        b = x * jax.random.normal(key, (3,))  # second
        return a, b

    _, (da, db) = jax.jvp(f, (1.0,), (1.0,))
    return da, db


@bug("drawn_twice", evidence=equal)
def checkpointed_blocks(key):
    """Two checkpointed blocks drop the same units, under grad."""

    @jax.checkpoint
    def block(w, rng):
        mask = jax.random.bernoulli(rng, 0.5, w.shape)  # first and second
        return jnp.sin(w) * mask

    def loss(ws):
        first = block(ws[0], key)  # first
        second = block(ws[1], key)  # second
        return jnp.sum(first) + jnp.sum(second)

    g = jax.grad(loss)((jnp.ones(32), jnp.ones(32)))
    return g[0], g[1]


@bug("drawn_twice", evidence=equal)
def in_and_after_a_checkpoint(key):
    """One draw is in a checkpointed function, the other after it."""

    @jax.checkpoint
    def features(rng):
        return jax.random.normal(rng, (5,))  # first

    a = features(key)  # first
    b = jax.random.normal(key, (5,))  # second
    return a, b


@bug("drawn_twice", evidence=equal)
def custom_jvp_sampler_twice(key):
    """A sampler with a custom derivative rule is called twice with one key, under grad."""

    @jax.custom_jvp
    def sample(mu, rng):
        return mu + jax.random.normal(rng, mu.shape)

    @sample.defjvp
    def sample_jvp(primals, tangents):
        return sample(*primals), tangents[0]

    def loss(mu):
        a = sample(mu, key)
        b = sample(mu, key)
        return jnp.sum(a * b), (a, b)

    _, (a, b) = jax.grad(loss, has_aux=True)(jnp.ones(4))
    return a, b


@bug("drawn_twice", evidence=same_order)
def custom_vjp_forward_draws_twice(key):
    """The forward rule of a straight-through estimator draws its noise and its mask from one key."""

    @jax.custom_vjp
    def quantise(x, rng):
        return jnp.round(x), x, x

    def forward(x, rng):
        noise = jax.random.uniform(rng, x.shape)  # first
        jitter = jax.random.normal(rng, x.shape)  # second
        return (jnp.floor(x + noise), noise, jitter), None

    def backward(_, cotangents):
        return cotangents[0], None

    quantise.defvjp(forward, backward)

    def loss(x):
        y, noise, jitter = quantise(x, key)
        return jnp.sum(y), (noise, jitter)

    _, (noise, jitter) = jax.grad(loss, has_aux=True)(jnp.ones(12))
    return noise, jitter


@bug("drawn_twice", evidence=equal)
def custom_vjp_called_without_grad(key):
    """A function with a custom VJP is called twice with one key, without grad."""

    @jax.custom_vjp
    def noisy(x, rng):
        return x + jax.random.normal(rng, x.shape)  # first and second

    noisy.defvjp(lambda x, rng: (noisy(x, rng), None), lambda _, ct: (ct, None))
    a = noisy(jnp.zeros(3), key)  # first
    b = noisy(jnp.zeros(3), key)  # second
    return a, b


# The same bits in another way.


@bug("drawn_twice", evidence=equal)
def saved_and_restored_key(key):
    """Both a key and its saved and restored copy are drawn from."""
    saved = jax.random.key_data(key)
    before = jax.random.normal(key, (3,))  # first
    impl = jax.random.key_impl(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else None
    restored = jax.random.wrap_key_data(saved, impl=impl)
    after = jax.random.normal(restored, (3,))  # second
    return before, after


@bug("drawn_twice", evidence=equal)
def restored_twice(key):
    """Two runs start from the same saved key."""
    impl = jax.random.key_impl(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else None
    checkpoint = {"key": jax.random.key_data(jax.random.split(key)[1])}
    run_a = jax.random.normal(jax.random.wrap_key_data(checkpoint["key"], impl=impl), (3,))  # first
    run_b = jax.random.normal(jax.random.wrap_key_data(checkpoint["key"], impl=impl), (3,))  # second
    return run_a, run_b


@bug("drawn_twice", *SHARED, evidence=equal, key_kinds=THREEFRY)
def gather_with_a_repeated_index(key):
    """An index that occurs twice takes one key twice."""
    keys = jax.random.split(key, 4)
    picked = keys[jnp.array([0, 2, 0])]
    draws = jax.vmap(lambda k: jax.random.normal(k, (3,)))(picked)
    return draws[0], draws[2]


@bug("same_key_for_all_rows", "drawn_twice", evidence=equal, key_kinds=THREEFRY)
def stacked_copies(key):
    """A batch of copies of one key is not a batch of different keys."""
    keys = jnp.stack([key] * 4)
    noise = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
    return noise[0], noise[3]


@bug("drawn_twice", "same_key_for_all_rows", evidence=equal)
def broadcast_key_in_scan(key):
    """The key is broadcast to the length of the scan."""
    keys = jnp.broadcast_to(key, (5, *key.shape))

    def step(total, rng):
        x = jax.random.normal(rng)  # first and second
        return total + x, x

    _, xs = jax.lax.scan(step, 0.0, keys)
    return xs[0], xs[4]


@bug("drawn_twice", evidence=equal)
def last_key_by_two_names(key):
    """`keys[2]` and `keys[-1]` are the same key."""
    keys = jax.random.split(key, 3)
    layers = [jax.random.normal(keys[i], (4,)) for i in range(3)]  # first
    noise = jax.random.normal(keys[-1], (4,))  # second
    return layers[2], noise


@bug("drawn_twice", evidence=equal, key_kinds=THREEFRY)
def overlapping_slices(key):
    """The slices for the two halves overlap by one key."""
    keys = jax.random.split(key, 5)
    draw = jax.vmap(lambda k: jax.random.normal(k))
    train = draw(keys[:3])
    test = draw(keys[2:])
    return train[2], test[0]


@bug("drawn_twice", evidence=equal)
def index_out_of_range(key):
    """Five rounds with four keys: JAX clamps the index, so the last key is used twice."""
    keys = jax.random.split(key, 4)

    def round_(i, xs):
        x = jax.random.normal(keys[i])  # first and second
        return xs.at[i].set(x)

    xs = jax.lax.fori_loop(0, 5, round_, jnp.zeros(5))
    return xs[3], xs[4]


@bug("drawn_twice", evidence=equal)
def keys_taken_in_turn(key):
    """Four steps share two keys, chosen by `step % 2`."""
    keys = jax.random.split(key)

    def step(total, i):
        x = jax.random.normal(keys[i % 2])  # first and second
        return total + x, x

    _, xs = jax.lax.scan(step, 0.0, jnp.arange(4))
    return xs[:2], xs[2:]


@bug("drawn_twice", evidence=equal, key_kinds=THREEFRY)
def one_row_again(key):
    """One key of a batch is drawn from again after the whole batch."""
    keys = jax.random.split(key, 4)
    batch = jax.vmap(lambda k: jax.random.uniform(k, (2,)))(keys)
    extra = jax.random.uniform(keys[1], (2,))
    return batch[1], extra


# One key for all rows of a vmap.


@bug(*SHARED, evidence=equal)
def vmap_with_in_axes_none(key):
    """The key is not mapped over, so every row has the same noise."""

    def noisy(rng, x):
        return x + jax.random.normal(rng, x.shape)

    rows = jax.vmap(noisy, in_axes=(None, 0))(key, jnp.zeros((4, 3)))
    return rows[0], rows[3]


@bug(*SHARED, evidence=equal)
def vmap_over_a_closure(key):
    """The mapped function closes over the key."""
    rows = jax.vmap(lambda x: x + jax.random.normal(key, x.shape))(jnp.zeros((4, 3)))
    return rows[0], rows[3]


@bug(*SHARED, evidence=equal)
def inner_vmap_shares(key):
    """Each sentence has a separate key, but all its words share it."""

    def word(rng, x):
        return x * jax.random.bernoulli(rng, 0.5, x.shape)

    def sentence(rng, words):
        return jax.vmap(word, in_axes=(None, 0))(rng, words)

    out = jax.vmap(sentence)(jax.random.split(key, 2), jnp.ones((2, 3, 32)))
    return out[:, 0], out[:, 1]


@bug(*SHARED, evidence=equal)
def per_example_gradients(key):
    """Per-example gradients all use the same dropout mask."""

    def loss(w, x, rng):
        keep = jax.random.bernoulli(rng, 0.5, w.shape)
        return jnp.sum(w * x * keep)

    grads = jax.vmap(jax.grad(loss), in_axes=(None, 0, None))(jnp.ones(32), jnp.ones((4, 32)), key)
    return grads[0], grads[1]


@bug(*SHARED, evidence=equal)
def ensemble_with_one_key(key):
    """All members of an ensemble start the same: their jitted initialiser uses a key that was split before the vmap."""
    init_key, _ = jax.random.split(key)

    @jax.jit
    def member(scale):
        return scale * jax.random.normal(init_key, (4,))

    members = jax.vmap(member)(jnp.ones(5))
    return members[0], members[4]


@bug(*SHARED, *SPLIT_TWICE, evidence=equal)
def split_in_the_mapped_function(key):
    """Splitting in the mapped function does not help: each row splits the same key."""

    def augment(image):
        flip_key, noise_key = jax.random.split(key)
        flip = jax.random.bernoulli(flip_key)
        return jnp.where(flip, image[::-1], image) + jax.random.normal(noise_key, image.shape)

    images = jax.vmap(augment)(jnp.zeros((3, 4)))
    return images[0], images[2]


@bug("drawn_twice", "same_key_for_all_rows", evidence=equal)
def mapped_loop_without_split(key):
    """Each row has a separate key, but uses it in every round of its loop."""

    def row(rng):
        def body(i, xs):
            return xs.at[i].set(jax.random.normal(rng))  # first and second

        return jax.lax.fori_loop(0, 3, body, jnp.zeros(3))

    xs = jax.vmap(row)(jax.random.split(key, 4))
    return xs[:, 0], xs[:, 2]


# split.


@bug(*DRAWN_AND_SPLIT, evidence=second_is_made_of_children, key_kinds=THREEFRY)
def split_then_parent(key):
    """The children are drawn from, and then their parent."""
    keys = jax.random.split(key, 12)  # first
    layers = [jax.random.normal(k, (2,)) for k in keys]
    noise = jax.random.normal(key, (12,))  # second
    return layers, noise


@bug(*DRAWN_AND_SPLIT, evidence=first_is_made_of_children, key_kinds=THREEFRY)
def draw_then_split(key):
    """The key is drawn from first and split afterwards."""
    data = jax.random.uniform(key, (12,))  # first
    keys = jax.random.split(key, 12)  # second
    layers = [jax.random.normal(k, (2,)) for k in keys]
    return data, layers


@bug(*DRAWN_AND_SPLIT, evidence=drawn_by(lambda key: (jax.random.normal(key, (3,)), _drawn_from_child(key))))
def drew_from_the_carry(key):
    """`key` and `subkey` are mixed up: the draw uses the key that is split next."""
    draws = []
    for _ in range(2):
        draws.append(jax.random.normal(key, (3,)))  # first
        key, subkey = jax.random.split(key)  # second
    return draws[0], draws[1]


def _drawn_from_child(key):
    return jax.random.normal(jax.random.split(key)[0], (3,))


@bug(*DRAWN_AND_SPLIT, evidence=second_is_made_of_children, key_kinds=THREEFRY)
def helper_splits_its_copy(key):
    """A helper splits its argument, and the caller still draws from the parent."""

    def init(rng, n):
        keys = jax.random.split(rng, n)  # first
        return [jax.random.normal(k, (2,)) for k in keys]

    params = init(key, 12)  # first
    noise = jax.random.uniform(key, (12,))  # second
    return params, noise


@bug(*SPLIT_TWICE, evidence=equal)
def split_never_stored(key):
    """`_, subkey = split(key)` in a loop gives the same subkey each time."""
    draws = []
    for _ in range(2):
        _, subkey = jax.random.split(key)  # first and second
        draws.append(jax.random.normal(subkey, (3,)))
    return draws[0], draws[1]


@bug(*SPLIT_TWICE, evidence=one_starts_the_other)
def split_for_layers_and_for_data(key):
    """Two functions split the same key."""

    def layer_weights(rng):
        keys = jax.random.split(rng, 3)  # first
        return jnp.stack([jax.random.normal(k) for k in keys])

    def batches(rng):
        keys = jax.random.split(rng, 5)  # second
        return jnp.stack([jax.random.normal(k) for k in keys])

    weights = layer_weights(key)  # first
    data = batches(key)  # second
    return weights, data


@bug(*DRAWN_AND_SPLIT, evidence=drawn_by(lambda key: tuple(_draws_from_the_chain(key))))
def scan_carries_the_drawn_subkey(key):
    """The loop passes on the subkey that it drew from."""

    def step(rng, _):
        _, subkey = jax.random.split(rng)  # second
        x = jax.random.normal(subkey)  # first
        return subkey, x

    _, xs = jax.lax.scan(step, key, length=4)
    return xs[0], xs[1]


def _draws_from_the_chain(key):
    for _ in range(2):
        _, key = jax.random.split(key)
        yield jax.random.normal(key)


@bug(*SPLIT_TWICE, evidence=equal)
def scan_returns_the_old_key(key):
    """The loop splits the key, but passes on the parent."""

    def step(rng, _):
        new_rng, subkey = jax.random.split(rng)  # first and second
        return rng, jax.random.normal(subkey)

    _, xs = jax.lax.scan(step, key, length=4)
    return xs[0], xs[1]


@bug(*SPLIT_TWICE, evidence=equal)
def while_loop_returns_the_old_key(key):
    """The same in a while loop, with the key in a dict."""

    def body(state):
        i, rngs, xs = state
        new, sub = jax.random.split(rngs["noise"])  # first and second
        return i + 1, rngs, xs.at[i].set(jax.random.normal(sub))

    _, _, xs = jax.lax.while_loop(lambda state: state[0] < 3, body, (0, {"noise": key}, jnp.zeros(3)))
    return xs[0], xs[2]


@bug(*SPLIT_TWICE, evidence=equal)
def jitted_step_splits_its_argument(key):
    """A jitted training step splits its key, but does not return the new one."""

    @jax.jit
    def train_step(w, rng):
        rng, noise_key = jax.random.split(rng)  # first and second
        noise = jax.random.normal(noise_key, w.shape)
        return w + noise, noise

    w = jnp.zeros(4)
    w, first = train_step(w, key)  # first
    w, second = train_step(w, key)  # second
    return first, second


# fold_in.


@bug(*FOLD_TWICE, evidence=equal)
def fold_in_with_one_number(key):
    """Two layers fold in the same number."""
    w1 = jax.random.normal(jax.random.fold_in(key, 0), (4,))  # first
    w2 = jax.random.normal(jax.random.fold_in(key, 0), (4,))  # second
    return w1, w2


@bug(*FOLD_TWICE, evidence=one_starts_the_other)
def fold_in_the_width(key):
    """Each layer folds in its width, but two layers have the same width."""
    layers = []
    for width, depth in [(4, 8), (6, 8), (4, 5)]:
        layer_key = jax.random.fold_in(key, width)  # first and second
        layers.append(jax.random.normal(layer_key, (depth,)))
    return layers[0], layers[2]


@bug(*FOLD_TWICE, evidence=equal)
def epoch_plus_step(key):
    """`epoch + step` is the same for epoch 0, step 1 and epoch 1, step 0."""
    steps = jnp.arange(3)

    def epoch(_, e):
        def step(_, s):
            step_key = jax.random.fold_in(key, e + s)  # first and second
            return None, jax.random.normal(step_key)

        return jax.lax.scan(step, None, steps)

    _, noise = jax.lax.scan(epoch, None, jnp.arange(2))
    return noise[0, 1:], noise[1, :2]


@bug(*FOLD_TWICE, evidence=equal)
def two_users_fold_the_step(key):
    """Dropout and augmentation both fold the step into one key."""

    def train_step(w, step):
        dropout_key = jax.random.fold_in(key, step)  # first
        keep = jax.random.uniform(dropout_key, (4,))
        augment_key = jax.random.fold_in(key, step)  # second
        shift = jax.random.uniform(augment_key, (4,))
        return w + shift * keep, (keep, shift)

    _, (keep, shift) = jax.lax.scan(train_step, jnp.zeros(4), jnp.arange(3))
    return keep, shift


@bug(*FOLD_TWICE, evidence=equal)
def encoder_and_decoder_count_from_zero(key):
    """Two stacks of layers both count from 0."""

    def stack(rng, n):
        layer_keys = [jax.random.fold_in(rng, i) for i in range(n)]  # first and second
        return [jax.random.normal(k, (3,)) for k in layer_keys]

    encoder = stack(key, 2)  # first
    decoder = stack(key, 2)  # second
    return encoder[1], decoder[1]


@bug(*FOLD_TWICE, *SHARED, evidence=equal, key_kinds=THREEFRY)
def fold_in_the_label(key):
    """Each row folds in its label, but two rows have the same label."""
    labels = jnp.array([3, 1, 3])
    noise = jax.vmap(lambda label: jax.random.normal(jax.random.fold_in(key, label), (3,)))(labels)
    return noise[0], noise[2]


@bug(*DRAWN_AND_FOLDED, evidence=drawn_by(lambda key: (_folded(key, 1), jax.random.normal(key, (3,)))))
def fold_in_then_parent(key):
    """A child is made with fold_in, and the parent is drawn from, too."""
    step_key = jax.random.fold_in(key, 1)  # first
    noise = jax.random.normal(step_key, (3,))
    w = jax.random.normal(key, (3,))  # second
    return noise, w


def _folded(key, data):
    return jax.random.normal(jax.random.fold_in(key, data), (3,))


@bug(*DRAWN_AND_FOLDED, evidence=second_is_made_of_children, key_kinds=THREEFRY)
def final_draw_after_a_folding_loop(key):
    """Each step folds in its number, and at the end the key itself is drawn from."""

    def step(total, i):
        x = jax.random.normal(jax.random.fold_in(key, i))  # first
        return total + x, x

    _, xs = jax.lax.scan(step, 0.0, jnp.arange(12))
    final = jax.random.normal(key, (12,))  # second
    return xs, final


@bug(*DRAWN_AND_FOLDED, evidence=first_is_made_of_children, key_kinds=THREEFRY)
def init_then_fold_the_step(key):
    """The steps' keys are folded from the key of the initial weights."""
    w = jax.random.normal(key, (12,))  # first
    noise = [jax.random.normal(jax.random.fold_in(key, step)) for step in range(12)]  # second
    return w, noise


# split and fold_in on one key.


@bug("split_and_fold_mixed", *FOLD_TWICE, evidence=equal, key_kinds=THREEFRY)
def split_and_fold_in(key):
    """`split(key)[0]` is `fold_in(key, 0)`."""
    init_key, _ = jax.random.split(key)  # first
    w = jax.random.normal(init_key, (3,))
    step_key = jax.random.fold_in(key, 0)  # second
    noise = jax.random.normal(step_key, (3,))
    return w, noise


@bug("split_and_fold_mixed", *FOLD_TWICE, evidence=equal, key_kinds=THREEFRY)
def layers_by_split_steps_by_fold_in(key):
    """Layers get keys by split and steps by fold_in, both from the experiment's only key."""
    layers = jax.vmap(lambda k: jax.random.normal(k))(jax.random.split(key, 4))  # first

    def step(carry, i):
        return carry, jax.random.normal(jax.random.fold_in(key, i))  # second

    _, noise = jax.lax.scan(step, None, jnp.arange(4))
    return layers, noise


@bug("split_and_fold_mixed", "drawn_twice", evidence=equal, key_kinds=THREEFRY)
def fold_in_first_then_split(key):
    """The same in reverse order, across an inner jit."""

    @jax.jit
    def dropout_mask(rng, layer):
        return jax.random.uniform(jax.random.fold_in(rng, layer), (4,))  # first

    mask = dropout_mask(key, 1)  # first
    _, data_key = jax.random.split(key)  # second
    return mask, jax.random.uniform(data_key, (4,))


# Seeds.


@bug(*SEED_TWICE, evidence=equal, takes="nothing", key_kinds=("typed",))
def key_zero_twice():
    """Model and data both make `key(0)`."""

    def init():
        return jax.random.normal(jax.random.key(0), (4,))  # first

    def data():
        return jax.random.normal(jax.random.key(0), (4,))  # second

    weights = init()  # first
    inputs = data()  # second
    return weights, inputs


@bug(*SEED_TWICE, evidence=equal, takes="nothing", key_kinds=("legacy",))
def prngkey_zero_twice():
    """Model and data both make `PRNGKey(0)`."""
    rng = jax.random.PRNGKey(0)  # first
    w = jax.random.normal(rng, (4,))
    rng2 = jax.random.PRNGKey(0)  # second
    x = jax.random.normal(rng2, (4,))
    return w, x


@bug(*SEED_TWICE, evidence=equal, takes="seed", key_kinds=("typed",))
def seed_argument_used_twice(seed):
    """Two helpers build their key from the same seed."""

    def make_key(number):
        return jax.random.key(number)  # first and second

    model_key = make_key(seed)  # first
    data_key = make_key(seed)  # second
    return jax.random.normal(model_key, (4,)), jax.random.normal(data_key, (4,))


@bug(*SEED_TWICE, evidence=equal, takes="seed", key_kinds=("legacy",))
def legacy_seed_argument_used_twice(seed):
    """The same with legacy keys, and a split in between."""
    k1, k2 = jax.random.split(jax.random.PRNGKey(seed))  # first
    w = jax.random.normal(k1, (4,))
    k3, k4 = jax.random.split(jax.random.PRNGKey(seed))  # second
    x = jax.random.normal(k3, (4,))
    return w, x


@bug(*SEED_TWICE, evidence=equal, takes="seed", key_kinds=("typed",))
def seed_in_the_step(seed):
    """The step of a scan makes the same key each time."""

    def step(w, _):
        rng = jax.random.key(seed)  # first and second
        noise = jax.random.normal(rng)
        return w + noise, noise

    _, noise = jax.lax.scan(step, 0.0, length=3)
    return noise[0], noise[2]


@bug(*SEED_TWICE, evidence=equal, takes="nothing", key_kinds=("legacy",))
def legacy_seed_in_a_helper():
    """A noise helper with a fixed seed is called twice."""

    def add_noise(x):
        return x + jax.random.normal(jax.random.PRNGKey(42), x.shape)  # first and second

    first = add_noise(jnp.zeros(3))  # first
    second = add_noise(jnp.zeros(3))  # second
    return first, second


@bug("same_key_for_all_rows", *SEED_TWICE, evidence=equal, takes="seed", key_kinds=("typed",))
def seed_in_the_mapped_function(seed):
    """Each row of a vmap makes the same key."""
    rows = jax.vmap(lambda x: x + jax.random.normal(jax.random.key(seed), x.shape))(jnp.zeros((4, 3)))
    return rows[0], rows[3]


@bug("same_key_for_all_rows", *SEED_TWICE, evidence=equal, takes="seed", key_kinds=("legacy",))
def legacy_seed_in_the_mapped_function(seed):
    """The same with legacy keys."""
    rows = jax.vmap(lambda x: x + jax.random.normal(jax.random.PRNGKey(seed), x.shape))(jnp.zeros((4, 3)))
    return rows[0], rows[3]


@bug(*SEED_TWICE, evidence=equal, takes="seed", key_kinds=("typed",))
def typed_and_legacy_key_of_one_seed(seed):
    """`key(n)` and `PRNGKey(n)` have the same bits; the case counts as one with typed keys."""
    new = jax.random.key(seed)  # first
    w = jax.random.normal(new, (4,))
    old = jax.random.PRNGKey(seed)  # second
    x = jax.random.normal(old, (4,))
    return w, x


# clone.


@bug("drawn_twice", evidence=equal)
def clone_drawn_twice(key):
    """A clone allows one more use, not two."""
    twin = jax.random.clone(key)
    x = jax.random.normal(key, (3,))  # first
    y = jax.random.normal(twin, (3,))  # first and second
    z = jax.random.normal(twin, (3,))  # second
    return x + y, 2 * z


@bug("drawn_twice", evidence=equal)
def original_drawn_twice_beside_a_clone(key):
    """The clone does not excuse the second draw from the original."""
    x = jax.random.normal(key, (3,))  # first
    y = jax.random.normal(jax.random.clone(key), (3,))  # first
    z = jax.random.normal(key, (3,))  # second
    return x + y, 2 * z


# Libraries.


@bug(*FOLD_TWICE, *SPLIT_TWICE, evidence=equal, needs="flax")
def flax_dropout_with_one_key(key):
    """A flax model is applied twice with the same dropout key."""
    from flax import linen as nn

    model = nn.Dropout(0.5, deterministic=False)
    x = jnp.ones(32)
    first = model.apply({}, x, rngs={"dropout": key})  # first
    second = model.apply({}, x, rngs={"dropout": key})  # second
    return first, second


@bug(*SPLIT_TWICE, evidence=equal, needs="haiku")
def haiku_apply_with_one_key(key):
    """A haiku model is applied twice with the same key."""
    import haiku as hk

    model = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))
    x = jnp.ones(32)
    first = model.apply({}, key, x)  # first
    second = model.apply({}, key, x)  # second
    return first, second


@bug(*SPLIT_TWICE, evidence=equal, needs="blackjax")
def blackjax_step_with_one_key(key):
    """A sampler is stepped twice with the same key from the same state."""
    import blackjax

    sampler = blackjax.hmc(lambda x: -0.5 * jnp.sum(x**2), 0.1, jnp.ones(2), 3)
    start = sampler.init(jnp.ones(2))
    first, _ = sampler.step(key, start)  # first
    second, _ = sampler.step(key, start)  # second
    return first.position, second.position
