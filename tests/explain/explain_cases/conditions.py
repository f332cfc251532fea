"""Traced values where Python needs True or False."""

from explain_cases.case import Case

CASES = [
    Case(
        name="if_gt",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 0:  # <--
        y = x
    else:
        y = -x
    return y
result = f(-2.0)
""",
        result="result",
        after_fix=[2.0, 2.0],
    ),
    Case(
        name="in",
        kind="if_on_tracer",
        variable="v",
        source="""
@jax.jit
def f(x, v):
    if v in [x, 3.0]:  # <--
        return x
    return v
result = f(1.0, 3.0)
""",
        result="result",
        after_fix=[1.0, 1.0],
    ),
    Case(
        name="vmap_if",
        kind="if_on_tracer",
        variable="a",
        source="""
def f(a):
    if a > 0:  # <--
        return a
    return -a
result = jax.vmap(f)(jnp.array([1.0, -2.0, 3.0]))
""",
        result="result",
        after_fix=[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]],
    ),
    Case(
        name="static_flag",
        kind="if_on_tracer",
        variable="train",
        source="""
@jax.jit
def f(x, train):
    if train:  # <--
        return 2 * x
    return x
result = f(3.0, True)
""",
        result="result",
        after_fix=[6.0, 6.0, 6.0],
    ),
    Case(
        name="cond_if_closure",
        kind="if_on_tracer",
        variable="params['w']",
        source="""
@jax.jit
def f(params, x):
    if jnp.any(jnp.isnan(params['w'])):  # <--
        x = jnp.zeros_like(x)
    return x
result = f({'w': jnp.array([1.0, jnp.nan])}, 1.0)
""",
        result="result",
        after_fix=[0.0, 0.0],
    ),
    Case(
        name="elif",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 1:  # <--
        return 1.0
    elif x > 0:
        return x
    else:
        return 0.0
result = f(0.25)
""",
        result="result",
        after_fix=[0.25, 0.25],
    ),
    Case(
        name="ternary",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    y = x if x > 0 else 0.0  # <--
    return y
result = f(-1.0)
""",
        result="result",
        after_fix=[0.0, 0.0],
    ),
    Case(
        name="scan_if",
        kind="if_on_tracer",
        variable="x",
        source="""
def step(c, x):
    if x > 0:  # <--
        c = c + x
    return c, c
result = lax.scan(step, 0.0, jnp.array([1.0, -2.0, 3.0]))
""",
        result="result",
        after_fix=[(4.0, [1.0, 1.0, 4.0]), (4.0, [1.0, 1.0, 4.0])],
    ),
    Case(
        name="if_two_names",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def clip(x, low):
    if x < low:  # <--
        y = low
        hit = 1.0
    else:
        y = x
        hit = 0.0
    return y + 10 * hit
result = clip(1.0, 2.0)
""",
        result="result",
        after_fix=[12.0, 12.0],
    ),
    Case(
        name="if_in_helper",
        kind="if_on_tracer",
        variable="v",
        source="""
def relu(v):
    if v > 0:  # <--
        return v
    return 0.0
@jax.jit
def loss(w):
    return relu(w) * 3
result = loss(2.0)
""",
        result="result",
        after_fix=[6.0, 6.0],
    ),
    Case(
        name="if_and",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 0 and not x > 5:  # <--
        x = x + 1
    return x
result = f(2.0)
""",
        result="result",
        after_fix=[3.0, 3.0],
    ),
    Case(
        name="method_if",
        kind="if_on_tracer",
        variable="x",
        source="""
class Net:
    def __init__(self): self.w = 2.0
    def __call__(self, x):
        if (x * self.w).sum() > 0:  # <--
            out = x
        else:
            out = -x
        return out
net = Net()
fast = jax.jit(net)
result = fast(jnp.ones(2))
""",
        result="result",
        after_fix=[[1.0, 1.0], [1.0, 1.0]],
    ),
    Case(
        name="multiline_if",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x, y):
    if (x > 0 and  # <--
            y > 0):
        z = (x +
             y)
    else:
        z = x
    return z
result = f(1.0, 2.0)
""",
        result="result",
        after_fix=[3.0, 3.0],
    ),
    Case(
        name="tabs",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
	if x > 0:  # <--
		x = x + 1
	return x
result = f(1.0)
""",
        result="result",
        after_fix=[2.0, 2.0],
    ),
    Case(
        name="comp",
        kind="if_on_tracer",
        variable="v",
        source="""
@jax.jit
def f(xs):
    return [v if v > 0 else 0.0 for v in xs]  # <--
result = f([1.0, -2.0])
""",
        result="result",
        after_fix=[[1.0, 0.0], [1.0, 0.0]],
    ),
    Case(
        name="nestedif",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 0:  # <--
        if x > 1:
            x = x * 2
    return x
result = f(3.0)
""",
        result="result",
        after_fix=[6.0, 6.0],
    ),
    Case(
        name="vmapgrad",
        kind="if_on_tracer",
        variable="x",
        source="""
def f(x):
    return jnp.dot(x, x)
def g(x):
    if jax.grad(f)(x).sum() > 0:  # <--
        return x
    return 2 * x
result = jax.vmap(g)(jnp.ones((2, 3)))
""",
        result="result",
        after_fix=[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]],
    ),
    Case(
        name="optax_like",
        kind="if_on_tracer",
        variable="params[k]",
        source="""
@jax.jit
def step(params, lr):
    for k in params:
        params[k] -= lr
        if params[k] < 0:  # <--
            params[k] = 0.0
    return params
result = step({'a': 1.0}, 0.1)
""",
        result="result",
        after_fix=[{"a": 0.8999999761581421}, {"a": 0.8999999761581421}],
    ),
]
