# url: https://github.com/patrick-kidger/equinox/issues/940
# cause: The TrainState's tx is static metadata; the state of the second run was created with another tx of the same settings.
# needs: flax, optax

# %% program
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


def predict(params, x):
    return x @ params["w"]


def new_run():
    return TrainState.create(apply_fn=predict, params={"w": jnp.ones(3)}, tx=optax.adam(1e-2))


@jax.jit
def step(state, x):
    grads = jax.grad(lambda p: (state.apply_fn(p, x) ** 2).mean())(state.params)
    return state.apply_gradients(grads=grads)


calls = [(new_run(), jnp.ones((2, 3))), (new_run(), jnp.ones((2, 3)))]
