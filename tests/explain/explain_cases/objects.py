"""Things given to transformed functions that are no arrays, or traced where they must not be."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="vmap_of_a_list",
        kind="vmap_of_a_list",
        variable="xs",
        source="""
def square(v): return v * v
xs = [1.0, 2.0]
result = jax.vmap(square)(xs)  # <--
""",
        result="result",
        after_fix=[[1.0, 4.0]],
    ),
    Case(
        name="vmap_of_a_list_in_a_call",
        kind="vmap_of_a_list",
        variable="[1.0, 2.0]",
        source="""
result = jax.vmap(lambda a, b: a * b)(jnp.ones(2), [1.0, 2.0])  # <--
""",
        result="result",
        after_fix=[[1.0, 2.0]],
    ),
    Case(
        name="vmap_of_a_number_by_a_lambda",
        kind="vmap_axis",
        variable="3.0",
        source="""
result = jax.vmap(lambda v: v * 2)(3.0)  # <--
""",
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="vmap_axis_beyond_the_rank",
        kind="vmap_axis",
        variable="jnp.ones(2)",
        source="""
result = jax.vmap(lambda a, b: a + b, in_axes=(0, 1))(jnp.zeros(2), jnp.ones(2))  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0]],
    ),
    Case(
        name="static_inside_jit",
        kind="traced_for_static",
        variable="n",
        source="""
@partial(jax.jit, static_argnums=1)
def power(x, n):
    for _ in range(n): x = x * x
    return x

@jax.jit
def outer(x, n):
    return power(x, n)  # <--
result = outer(2.0, 3)
""",
        result="result",
        after_fix=[256.0],
    ),
    Case(
        name="static_under_vmap",
        kind="traced_for_static",
        variable="jnp.arange(3)",
        source="""
@partial(jax.jit, static_argnums=1)
def power(x, n):
    for _ in range(n): x = x * x
    return x

result = jax.vmap(power)(jnp.ones(3), jnp.arange(3))  # <--
""",
        result="result",
        after_fix=[no_code],
    ),
    Case(
        name="jitted_call_method",
        kind="object_argument",
        variable="self",
        source="""
class Net:
    def __init__(self): self.w = jnp.ones(3)
    @jax.jit
    def __call__(self, x): return self.w @ x

net = Net()
result = net(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[3.0, no_code],
    ),
    Case(
        name="jitted_call_of_a_new_object",
        kind="object_argument",
        variable="self",
        source="""
class Net:
    def __init__(self): self.w = jnp.ones(3)
    @jax.jit
    def __call__(self, x): return self.w @ x

result = Net()(jnp.ones(3))  # <--
""",
        result="result",
        after_fix=[3.0, no_code],
    ),
    Case(
        name="dataclass_under_jit",
        kind="object_argument",
        variable="p",
        source="""
from dataclasses import dataclass
@dataclass
class P:
    w: jax.Array
    b: float = 0.0

@jax.jit
def f(p, x): return p.w * x
p = P(jnp.ones(2))
result = f(p, 2.0)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0]],
    ),
    Case(
        name="dataclass_under_grad",
        kind="object_no_pytree",
        variable="P(jnp.ones(2))",
        source="""
from dataclasses import dataclass
@dataclass
class P:
    w: jax.Array
    b: float = 0.0

def f(p, x): return (p.w * x).sum() + p.b
result = jax.grad(f)(P(jnp.ones(2)), 2.0).w  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0]],
    ),
    Case(
        name="text_for_a_jitted_lambda",
        kind="string_argument",
        variable="'relu'",
        source="""
result = jax.jit(lambda x, mode: x if mode == 'relu' else -x)(1.0, 'relu')  # <--
""",
        result="result",
        after_fix=[1.0],
    ),
    Case(
        name="numpy_item",
        kind="numpy_item_of_tracer",
        variable="x",
        source="""
@jax.jit
def f(x):
    a = np.zeros(2)
    a[0] = x  # <--
    return a
result = f(1.0)
""",
        result="result",
        after_fix=[[1.0, 0.0]],
    ),
    Case(
        name="float_in_a_list",
        kind="number_of_tracer",
        variable="v",
        source="""
@jax.jit
def f(x):
    return sum([float(v) for v in x])  # <--
result = f(jnp.ones(3))
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="gradient_of_a_list",
        kind="gradient_of_integers",
        variable="[1, 2.0]",
        source="""
result = jax.grad(lambda w: w[0] * w[1])([1, 2.0])  # <--
""",
        result="result",
        after_fix=[[2.0, 1.0]],
    ),
    Case(
        name="random_size",
        kind="shape_of_tracer",
        variable="n",
        source="""
@jax.jit
def f(key, n):
    return jax.random.normal(key, (n,))  # <--
result = f(jax.random.key(0), 4).shape
""",
        result="result",
        after_fix=[(4,)],
    ),
]
