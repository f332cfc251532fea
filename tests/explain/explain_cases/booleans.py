"""Cases of arrays where Python needs True or False."""

from explain_cases.case import Case, no_code, no_edits

CASES = [
    Case(
        name="truth_arr",
        kind="several_truth_values",
        variable="x",
        source="""
x = jnp.arange(3)
if x > 1:  # <--
    pass
""",
        result="x",
        after_fix=[[0, 1, 2], [0, 1, 2]],
    ),
    Case(
        name="assert",
        kind="assert_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    assert x > 0  # <--
    return jnp.log(x)
result = f(1.0)
""",
        after_fix=[no_edits],
    ),
    Case(
        name="while",
        kind="while_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    while x < 10:  # <--
        x = x * 2
    return x
result = f(1.0)
""",
        after_fix=[16.0],
    ),
    Case(
        name="while_two",
        kind="while_on_tracer",
        variable="n",
        source="""
@jax.jit
def collatz(n):
    steps = 0
    while n > 1:  # <--
        n = n // 2
        steps += 1
    return steps
result = collatz(20)
""",
        after_fix=[4, 4],
    ),
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
        after_fix=[no_edits],
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
        after_fix=[no_edits],
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
        after_fix=[no_edits],
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
        after_fix=[{"a": 0.8999999761581421}, {"a": 0.8999999761581421}],
    ),
    Case(
        name="chained_comparison_of_an_array",
        kind="several_truth_values",
        variable="x",
        source="""
x = jnp.array([-1.0, 0.5])
result = jnp.where(0 < x < 1, x, 0.0)  # <--
""",
        after_fix=[[0.0, 0.5]],
    ),
    Case(
        name="and_of_arrays",
        kind="several_truth_values",
        variable="x",
        source="""
x = jnp.array([-1.0, 0.5])
result = jnp.where(x > 0 and x < 1, x, 0.0)  # <--
""",
        after_fix=[[0.0, 0.5]],
    ),
    Case(
        name="recursion",
        kind="if_on_tracer",
        variable="n",
        source="""
@jax.jit
def rec(n):
    if n <= 1: return 1  # <--
    return n * rec(n - 1)
result = rec(5)
""",
        after_fix=[120, no_code],
    ),
    Case(
        name="recursion_in_an_expression",
        kind="if_on_tracer",
        variable="n",
        source="""
def rec(n):
    return 1 if n <= 1 else n * rec(n - 1)  # <--
result = jax.jit(rec)(5)
""",
        after_fix=[120, no_code],
    ),
    Case(
        name="break_in_a_loop",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def halve(x, small):
    for i in range(10):
        x = x / 2
        if jnp.abs(x).max() < small:  # <--
            break
    return x
result = halve(jnp.ones(3), 0.1)
""",
    ),
    Case(
        name="if_prints",
        kind="if_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if x > 0: print('positive', x)  # <--
    return x
result = f(1.0)
""",
    ),
    Case(
        name="and",
        kind="and_or_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x, y):
    return x > 0 and y > 0  # <--
result = f(1.0, -2.0)
""",
        after_fix=[False, False],
    ),
    Case(
        name="not",
        kind="not_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return not x  # <--
result = f(True)
""",
        after_fix=[False, False],
    ),
    Case(
        name="max",
        kind="min_max_on_tracer",
        variable="a",
        source="""
@jax.jit
def f(a, b):
    return max(a, b)  # <--
result = f(1.0, 2.0)
""",
    ),
    Case(
        name="in_arr",
        kind="in_on_tracer",
        variable="v",
        source="""
@jax.jit
def f(x, v):
    return v in x  # <--
result = f(jnp.arange(3), 2)
""",
        after_fix=[True],
    ),
    Case(
        name="chained",
        kind="chained_comparison_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return 0 < x < 1  # <--
result = f(0.5)
""",
        after_fix=[True, True],
    ),
    Case(
        name="choice_dyn",
        kind="static_needed",
        variable="n",
        source="""
@jax.jit
def f(key, x, n):
    return jax.random.choice(key, x, (n,))  # <--
result = f(jax.random.key(0), jnp.ones(3), 2)
""",
        result="result.shape",
        after_fix=[(2,)],
    ),
    Case(
        name="any",
        kind="any_all_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    if any(x > 0):  # <--
        return x
    return -x
result = f(jnp.array([-1.0, 2.0]))
""",
    ),
    Case(
        name="bool",
        kind="bool_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return bool(x > 0)  # <--
result = f(-1.0)
""",
        after_fix=[False],
    ),
    Case(
        name="sorted",
        kind="sorted_on_tracer",
        variable="a",
        source="""
@jax.jit
def f(a, b):
    return sorted([a, b])[0]  # <--
result = f(2.0, 1.0)
""",
    ),
    Case(
        name="topk_dyn",
        kind="static_needed",
        variable="k",
        source="""
@jax.jit
def f(x, k):
    return lax.top_k(x, k)  # <--
result = f(jnp.ones(3), 2)
""",
        after_fix=[[[1.0, 1.0], [0, 1]]],
    ),
    Case(
        name="max_list",
        kind="min_max_on_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    return max([x, 2 * x])  # <--
result = f(3.0)
""",
    ),
]
