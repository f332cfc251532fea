# url: https://github.com/google/flax/pull/2675
# verdict: correct
# why: The training state keeps one dropout key for ever, but each step folds its own number into it before the apply.
# needs: flax

# %% program
import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp


@flax.struct.dataclass
class TrainState:
    step: int
    key: jax.Array


def train_step(state, x):
    dropout_train_key = jax.random.fold_in(key=state.key, data=state.step)
    y = nn.Dropout(0.5, deterministic=False).apply({}, x, rngs={"dropout": dropout_train_key})
    return state.replace(step=state.step + 1), y


def program(key):
    state, ys = TrainState(0, key), []
    for _ in range(4):
        state, y = train_step(state, jnp.ones(24))
        ys.append(y)
    return ys
