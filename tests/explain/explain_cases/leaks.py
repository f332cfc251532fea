"""Cases of traced values that outlive their function."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="leak_list",
        kind="leaked_tracer",
        variable="seen[0]",
        source="""
seen = []
@jax.jit
def f(x):
    y = x * 2
    seen.append(y)
    return y
f(1.0)
print(seen[0] + 1)  # <--
""",
        result="float(seen[0] + 1)",
        after_fix=[no_code, 3.0],
    ),
    Case(
        name="leak_self",
        kind="leaked_tracer",
        variable="m.total",
        source="""
class M:
    @partial(jax.jit, static_argnums=0)
    def update(self, x):
        self.total = x * 2
        return x
m = M()
m.update(1.0)
z = m.total + 1  # <--
""",
    ),
    Case(
        name="leak_closure",
        kind="leaked_tracer",
        variable="last",
        source="""
def outer():
    last = 0.0
    @jax.jit
    def step(x):
        nonlocal last
        last = x + 1
        return x
    step(1.0)
    return last * 2  # <--
result = outer()
""",
    ),
    Case(
        name="leak_global",
        kind="leaked_tracer",
        variable="state",
        source="""
state = 0.0
@jax.jit
def f(x):
    global state
    state = state + x
    return x
f(1.0)
result = f(jnp.ones(3))  # <--
""",
    ),
    Case(
        name="leak_dict",
        kind="leaked_tracer",
        variable="cache['h']",
        source="""
cache = {}
@jax.jit
def f(x):
    cache['h'] = x * 2
    return x
f(1.0)
result = cache['h'] * 2  # <--
""",
    ),
    Case(
        name="leak_that_is_checked",
        kind="leak_found",
        variable="stats",
        source="""
stats = []
def normalise(x):
    mean = jnp.mean(x)
    stats.append(mean)  # <--
    return x - mean
with jax.checking_leaks():
    result = jax.vmap(normalise)(jnp.arange(6.0).reshape(2, 3))
""",
        result="sorted(float(s) for s in stats)",
        after_fix=[no_code, [1.0, 4.0]],
    ),
    Case(
        name="leak_of_an_attribute_that_is_checked",
        kind="leak_found",
        variable="self.last",
        source="""
class Model:
    @partial(jax.jit, static_argnums=0)
    def double(self, x):
        self.last = x * 2  # <--
        return x
model = Model()
with jax.checking_leaks():
    model.double(3.0)
""",
    ),
    Case(
        name="leak_of_a_cached_property",
        kind="leaked_tracer",
        variable="self.scale",
        source="""
from functools import cached_property
class Prior:
    @cached_property
    def scale(self):
        return jnp.exp(jnp.asarray(0.0))
    def density(self, x):
        return x - self.scale  # <--
prior = Prior()
jax.jit(prior.density)(0.5)
result = prior.density(0.1)
""",
        after_fix=[-0.9, no_code],
    ),
    Case(
        name="leaks_in_a_list",
        kind="leaked_tracer",
        variable="stats",
        source="""
stats = []
def f(x):
    stats.append(x.mean())
    return x - x.mean()
jax.vmap(f)(jnp.ones((3, 2)))
result = sum(stats)  # <--
""",
    ),
    Case(
        name="leak_in_a_cache",
        kind="leaked_tracer",
        variable="table",
        source="""
import functools
@functools.cache
def table(n):
    return jnp.arange(n) * 2.0
first = jax.jit(lambda x: x + table(3))
last = jax.jit(lambda x: x * table(3))
result = first(jnp.ones(3))
result = last(jnp.ones(3))  # <--
""",
        after_fix=[no_code, no_code],
    ),
]
