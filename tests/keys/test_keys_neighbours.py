"""Test that `check_keys` raises no false alarm on jax.random, initialisers, flax, haiku and blackjax."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax import random

from jaxguide.keys import check_keys

KEYS = {"typed": random.key, "legacy": random.PRNGKey, "rbg": functools.partial(random.key, impl="rbg")}
SAMPLERS = {
    "ball": lambda key: random.ball(key, 3),
    "bernoulli": lambda key: random.bernoulli(key, 0.3, (4,)),
    "beta": lambda key: random.beta(key, 2.0, 3.0, (4,)),
    "binomial": lambda key: random.binomial(key, 10.0, 0.4, (3,)),
    "bits": lambda key: random.bits(key, (4,)),
    "categorical": lambda key: random.categorical(key, jnp.log(jnp.array([0.2, 0.8])), shape=(3,)),
    "cauchy": lambda key: random.cauchy(key, (4,)),
    "chisquare": lambda key: random.chisquare(key, 3.0, shape=(4,)),
    "choice": lambda key: random.choice(key, 9, (3,), replace=False, p=jnp.arange(1.0, 10.0) / 45),
    "dirichlet": lambda key: random.dirichlet(key, jnp.ones(3), (2,)),
    "double_sided_maxwell": lambda key: random.double_sided_maxwell(key, 0.0, 1.0, (4,)),
    "exponential": lambda key: random.exponential(key, (4,)),
    "f": lambda key: random.f(key, 3.0, 4.0, shape=(4,)),
    "gamma": lambda key: random.gamma(key, 2.0, (4,)),
    "generalized_normal": lambda key: random.generalized_normal(key, 2.0, (4,)),
    "geometric": lambda key: random.geometric(key, 0.3, (4,)),
    "gumbel": lambda key: random.gumbel(key, (4,)),
    "laplace": lambda key: random.laplace(key, (4,)),
    "loggamma": lambda key: random.loggamma(key, 2.0, (4,)),
    "logistic": lambda key: random.logistic(key, (4,)),
    "lognormal": lambda key: random.lognormal(key, shape=(4,)),
    "maxwell": lambda key: random.maxwell(key, (4,)),
    "multinomial": lambda key: random.multinomial(key, 5.0, jnp.array([0.2, 0.8])),
    "multivariate_normal": lambda key: random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2)),
    "normal": lambda key: random.normal(key, (4,), jnp.complex64),
    "orthogonal": lambda key: random.orthogonal(key, 3),
    "pareto": lambda key: random.pareto(key, 2.0, (4,)),
    "permutation": lambda key: random.permutation(key, jnp.ones((3, 2)), independent=True),
    "poisson": lambda key: random.poisson(key, 4.0, (3,)),
    "rademacher": lambda key: random.rademacher(key, (4,)),
    "randint": lambda key: random.randint(key, (4,), 0, 9),
    "rayleigh": lambda key: random.rayleigh(key, 2.0, (4,)),
    "t": lambda key: random.t(key, 3.0, (4,)),
    "triangular": lambda key: random.triangular(key, 0.0, 0.5, 1.0, (4,)),
    "truncated_normal": lambda key: random.truncated_normal(key, -1.0, 1.0, (4,)),
    "uniform": lambda key: random.uniform(key, (4,)),
    "wald": lambda key: random.wald(key, 2.0, (4,)),
    "weibull_min": lambda key: random.weibull_min(key, 1.0, 2.0, (4,)),
}
NO_SAMPLERS = {
    *("PRNGKey", "Key", "clone", "fold_in", "key", "key_data", "key_impl", "split", "wrap_key_data"),
    *(
        "key_dtype",
        "default_prng_impl",
        "random_gamma_p",
        "rbg_key",
        "threefry2x32_key",
        "threefry2x32_p",
        "threefry_2x32",
    ),
    *("unsafe_rbg_key",),
}
# JAX supports these with threefry keys only.
ONLY_THREEFRY = {"poisson"}


def test_every_sampler_of_jax_random_is_here():
    public = {name for name in dir(random) if not name.startswith("_") and callable(getattr(random, name))}
    assert public - NO_SAMPLERS - set(SAMPLERS) == set()


@pytest.mark.parametrize("kind", KEYS)
def test_one_call_of_each_sampler_is_one_use(kind):
    for name, fn in SAMPLERS.items():
        if kind == "rbg" and name in ONLY_THREEFRY:
            continue
        key = KEYS[kind](0)
        for form in (fn, jax.jit(fn)):
            use = check_keys(form, key)
            assert use.problems == [], name
            assert [u.kind for u in use.uses] == ["draw"], name


# Samplers of several calls; without tracing, each operation is compiled separately.
@pytest.mark.parametrize("kind", ["typed", "legacy"])
def test_the_second_call_of_each_sampler_is_found(kind):
    for name, fn in SAMPLERS.items():
        kinds = [problem.kind for problem in check_keys(lambda key, fn=fn: (fn(key), fn(key)), KEYS[kind](0))]
        assert kinds == ["drawn_twice"], name


# flax


@pytest.fixture(scope="module")
def linen_model():
    nn = pytest.importorskip("flax.linen")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, train=True):
            x = nn.Dense(8)(x)
            x = nn.Dropout(0.5, deterministic=not train)(x)
            x = nn.relu(nn.Dense(8)(x))
            return nn.Dropout(0.5, deterministic=not train)(x)

    return Model()


@pytest.mark.long
def test_flax_linen_dropout_with_one_key_for_two_calls_is_found_and_named(linen_model):
    params = linen_model.init(random.key(0), jnp.ones((4, 3)), train=False)

    def program(rng):
        first = linen_model.apply(params, jnp.ones((4, 3)), rngs={"dropout": rng})
        return first + linen_model.apply(params, jnp.zeros((4, 3)), rngs={"dropout": rng})

    problems = check_keys(program, random.key(0))
    assert problems
    for problem in problems:
        assert problem.name == "rng"
        assert problem.first_source.startswith("first = linen_model.apply(")
        assert problem.second_source.startswith("return first + linen_model.apply(")


@pytest.mark.long
def test_flax_linen_lifted_vmap_declares_what_is_shared():
    nn = pytest.importorskip("flax.linen")
    lifted = nn.vmap(nn.Dense, variable_axes={"params": None}, split_rngs={"params": False}, in_axes=0)
    ensemble = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=0)
    for model in (lifted, ensemble):
        assert not check_keys(lambda key, model=model: model(3).init(key, jnp.ones((4, 2))), random.key(0))


# haiku


# blackjax
