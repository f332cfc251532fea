# url: https://github.com/eserie/wax-ml/pull/45
# verdict: reuse
# wrong: The scan's body closes over the key, so each time step adds the same noise.
# shows: np.allclose(np.diff(out), np.diff(out)[0])
# mend: lax.scan(body, 0.0, None, length=10) ==> lax.scan(body, 0.0, jax.random.split(key, 10))
# mend: shock = jax.random.normal(key) ==> shock = jax.random.normal(_)

# %% program
import jax
from jax import lax


def program(key):
    def body(level, _):
        shock = jax.random.normal(key)  # first # second
        return level + shock, level

    return lax.scan(body, 0.0, None, length=10)[1]
