# url: https://github.com/goodfire-ai/spd/issues/667
# verdict: correct
# why: Each host is meant to draw the same batch-wide noise; here it is drawn once per step with the step folded in, and the hosts take disjoint slices of it.

# %% program
import jax


def global_noise(run_key, step):
    return jax.random.normal(jax.random.fold_in(run_key, step), (8,))


def program(run_key):
    steps = []
    for step in range(3):
        noise = global_noise(run_key, step)
        steps.append([noise[2 * host : 2 * host + 2] for host in range(4)])
    return steps
