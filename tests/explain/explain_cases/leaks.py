"""Cases of traced values that outlive their function."""

from explain_cases.case import Case

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
        after_fix=[3.0, 3.0],
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
        result="z",
        after_fix=[3.0],
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
        result="result",
        after_fix=[4.0],
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
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
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
        result="result",
        after_fix=[4.0],
    ),
]
