"""Cases of deleted arrays, NaNs, and `checkify` checks that are not functionalized."""

from explain_cases.case import Case, no_code, no_edits

CASES = [
    Case(
        name="donated",
        kind="deleted_array",
        variable="x",
        source="""
@partial(jax.jit, donate_argnums=0)
def f(x):
    return x + 1
x = jnp.ones(3)
y = f(x)
z = -x  # <--
""",
        result="z",
        after_fix=[[-1.0, -1.0, -1.0], no_code, no_code],
    ),
    Case(
        name="donated2",
        kind="deleted_array",
        variable="x",
        source="""
@partial(jax.jit, donate_argnums=0)
def f(x):
    return x + 1
x = jnp.ones(3)
y = f(x)
z = x + y  # <--
""",
        result="z",
        after_fix=[[3.0, 3.0, 3.0], no_code, no_code],
    ),
    Case(
        name="debug_nans",
        kind="not_a_number",
        variable="x",
        source="""
jax.config.update('jax_debug_nans', True)
x = jnp.float32(0.0)
y = x / x  # <--
""",
        result="y",
        after_fix=[0.0, no_edits],
    ),
    Case(
        name="debug_nans_jit",
        kind="not_a_number",
        variable="x",
        source="""
jax.config.update('jax_debug_nans', True)
@jax.jit
def f(x):
    y = jnp.log(x)  # <--
    return y * 2
result = f(-1.0)
""",
        after_fix=[0.0, no_edits],
    ),
    Case(
        name="checkify",
        kind="check_not_wrapped",
        variable="f",
        source="""
from jax.experimental import checkify
@jax.jit
def f(x):
    checkify.check(x > 0, "must be positive: {x}", x=x)
    return jnp.log(x)
result = f(1.0)  # <--
""",
        after_fix=[no_edits],
    ),
    Case(
        name="state_donated_and_read",
        kind="deleted_array",
        variable="state['w']",
        source="""
step = jax.jit(lambda s: jax.tree.map(lambda a: a + 1.0, s), donate_argnums=0)
state = {"w": jnp.ones(2)}
new = step(state)
result = jax.tree.map(lambda a: a[0], state)["w"]  # <--
""",
        after_fix=[1.0, no_code, no_code],
    ),
    Case(
        name="state_donated_in_every_turn",
        kind="deleted_array",
        variable="state['w']",
        source="""
step = jax.jit(lambda s: jax.tree.map(lambda a: a + 1.0, s), donate_argnums=0)
state = {"w": jnp.ones(2)}
for _ in range(2):
    result = step(state)  # <--
""",
        result="result['w']",
        after_fix=[[2.0, 2.0], no_code, no_code],
    ),
    Case(
        name="attribute_donated",
        kind="deleted_array",
        variable="self.state",
        source="""
class Trainer:
    def __init__(self):
        self.state = jnp.ones(2)
        self.step = jax.jit(lambda s: s * 2.0, donate_argnums=0)
    def run(self):
        new = self.step(self.state)
        return new - self.state  # <--
result = Trainer().run()
""",
        after_fix=[[1.0, 1.0], no_code, no_code],
    ),
    Case(
        name="one_array_donated_twice",
        kind="donated_twice",
        variable="target",
        source="""
update = jax.jit(lambda online, target: (online - 1.0, 0.5 * target), donate_argnums=(0, 1))
online = jnp.ones(2)
target = online
result = update(online, target)  # <--
""",
        after_fix=[[[0.0, 0.0], [0.5, 0.5]]],
    ),
    Case(
        name="parts_donated_twice",
        kind="donated_twice",
        variable="state['v']",
        source="""
update = jax.jit(lambda s: jax.tree.map(lambda a: a + 1.0, s), donate_argnums=0)
zeros = jnp.zeros(2)
state = {"m": zeros, "v": zeros}
result = update(state)  # <--
""",
    ),
]
