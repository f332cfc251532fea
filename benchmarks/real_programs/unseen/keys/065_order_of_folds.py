# url: https://github.com/jax-ml/jax/issues/21405
# verdict: correct
# why: (epoch, batch) and (batch, epoch) give different keys with the default generator, whose fold_in depends on the order.

# %% program
import jax


def program(key):
    fold = jax.random.fold_in
    return [jax.random.normal(fold(fold(key, epoch), batch), (2,)) for epoch in (1, 2) for batch in (1, 2)]
