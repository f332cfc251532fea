"""Test `nan_guard`: the leaf, the step and the line, for steps of optax, flax nnx and equinox."""

import functools

import jax
import jax.numpy as jnp
import pytest

from jaxguide.debug import NonFiniteError, nan_guard

ONES, ZEROS = jnp.ones((2, 3)), jnp.zeros((2, 3))


def loss(params, x):
    return jnp.sqrt(x @ params["w"]).mean() + params["b"]  # the root


def descent(params, x):
    value, slope = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slope), value


def caught(step, *calls):
    *finite, bad = calls
    for call in finite:
        step(*call)
    with pytest.raises(NonFiniteError) as error:
        step(*bad)
    return error.value


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_the_leaf_the_step_and_the_line_are_named(wrap):
    params = {"w": jnp.ones(3), "b": 0.0}
    error = caught(nan_guard(wrap(descent)), (params, ONES), (params, ONES), (params, ZEROS))
    assert str(error).startswith("`params['w']` is nan after step 3.\n✗ The result contains a NaN or an infinity")
    assert error.step == 3
    assert error.report.first.source.endswith("# the root")
    assert error.report.first.backward


def test_what_is_finite_is_passed_on():
    step = nan_guard(descent)
    params, _value = step({"w": jnp.ones(3), "b": 0.0}, x=ONES)
    assert params["w"].shape == (3,)
    assert step.__name__ == "descent"
    assert nan_guard(lambda n: (n, "text", jax.random.key(0)))(3)[:2] == (3, "text")


def test_an_infinite_loss_has_no_name_of_an_argument():
    error = caught(nan_guard(lambda x: (x, 1 / (x - x).sum())), (jnp.ones(2),))
    assert str(error).startswith("`result[1]` is inf after step 1.")


def test_donated_arguments_are_said_to_be_gone():
    step = nan_guard(functools.partial(jax.jit, donate_argnums=0)(descent))
    error = caught(step, ({"w": jnp.ones(3), "b": jnp.zeros(())}, ZEROS))
    assert str(error).startswith("`params['w']` is nan after step 1. The step donates its arguments, so they are gone")
    assert error.report is None


def test_below_jit_it_is_refused():
    with pytest.raises(RuntimeError, match=r"^`nan_guard` needs the values of each step: put it above `jax.jit`"):
        jax.jit(nan_guard(lambda x: x))(1.0)


def test_a_step_of_optax():
    optax = pytest.importorskip("optax")
    rule = optax.adam(0.1)

    @nan_guard
    @jax.jit
    def step(params, state, x):
        value, slope = jax.value_and_grad(loss)(params, x)
        updates, state = rule.update(slope, state)
        return optax.apply_updates(params, updates), state, value

    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    error = caught(step, (params, rule.init(params), ONES), (params, rule.init(params), ZEROS))
    said = "`params['w']` is nan after step 2; not finite either: `state[0].mu['w']`, `state[0].nu['w']`."
    assert str(error).startswith(f"{said}\n")
    assert error.report.first.source.endswith("# the root")


@pytest.mark.parametrize("jitted", [False, True])
def test_a_step_of_nnx_that_changes_its_model(jitted):
    nnx, optax = pytest.importorskip("flax.nnx"), pytest.importorskip("optax")

    def step(model, optimizer, x):
        value, slope = nnx.value_and_grad(lambda model: jnp.sqrt(model(x) ** 2).mean())(model)  # of nnx
        optimizer.update(model, slope)
        return value

    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    given = model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    error = caught(nan_guard(nnx.jit(step) if jitted else step), (*given, ZEROS))
    assert str(error).startswith("`model.")
    assert error.report.first.source.endswith("# of nnx")


def test_a_step_of_equinox():
    eqx = pytest.importorskip("equinox")

    @nan_guard
    @eqx.filter_jit
    def step(model, x):
        slope = eqx.filter_grad(lambda model: jnp.sqrt(jax.vmap(model)(x)).sum())(model)  # of equinox
        return eqx.apply_updates(model, slope)

    model = eqx.nn.Linear(3, 1, use_bias=False, key=jax.random.key(0))
    error = caught(step, (model, ZEROS))
    assert str(error).startswith("`model.weight` is nan after step 1.")
    assert error.report.first.source.endswith("# of equinox")
