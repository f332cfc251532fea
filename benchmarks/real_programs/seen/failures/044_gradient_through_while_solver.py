# url: https://github.com/google-deepmind/mujoco/issues/1182
# wrong: Reverse mode would have to remember an unknown number of while_loop rounds; run a fixed number of rounds (fori_loop with static bounds or scan), or differentiate the solution implicitly.

# %% fails
import jax
import jax.numpy as jnp

def contact_force(penetration):
    def unfinished(state):
        f, i = state
        return (jnp.abs(f - jnp.exp(-f) * penetration) > 1e-4) & (i < 50)
    def improve(state):
        f, i = state
        return 0.5 * (f + jnp.exp(-f) * penetration), i + 1
    force, _ = jax.lax.while_loop(unfinished, improve, (penetration, 0))
    return force

print(jax.grad(contact_force)(0.4))

# %% works
import jax
import jax.numpy as jnp

def contact_force(penetration):
    def improve(_, f):
        return 0.5 * (f + jnp.exp(-f) * penetration)
    return jax.lax.fori_loop(0, 30, improve, penetration)

print(jax.grad(contact_force)(0.4))
