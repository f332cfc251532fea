# url: https://github.com/jax-ml/jax/issues/20385
# wrong: jax.experimental.host_callback no longer works; report progress with jax.debug.callback (or io_callback).

# %% fails
import jax
from jax.experimental import host_callback as hcb

def report(step, transforms):
    print("step", step)

@jax.jit
def run(n):
    def body(i, x):
        hcb.id_tap(report, i)
        return x + i
    return jax.lax.fori_loop(0, n, body, 0)

print(run(3))

# %% works
import jax

def report(step):
    print("step", step)

@jax.jit
def run(n):
    def body(i, x):
        jax.debug.callback(report, i)
        return x + i
    return jax.lax.fori_loop(0, n, body, 0)

print(run(3))
