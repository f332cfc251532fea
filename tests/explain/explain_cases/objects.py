"""Cases of objects, texts and arrays of text given to transformed functions."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="unregistered_result",
        kind="result_no_array",
        variable="Stats(x.mean(), x.var())",
        source="""
class Stats:
    def __init__(self, mean, var):
        self.mean, self.var = mean, var
@jax.jit
def stats(x):
    return Stats(x.mean(), x.var())  # <--
result = stats(jnp.ones(3)).mean
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="unregistered_dataclass_result",
        kind="result_no_array",
        variable="Stats(x.mean(), x.var())",
        source="""
from dataclasses import dataclass
@dataclass
class Stats:
    mean: jax.Array
    var: jax.Array
@jax.jit
def stats(x):
    return Stats(x.mean(), x.var())  # <--
result = stats(jnp.ones(3)).mean
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="unregistered_grad",
        kind="object_no_pytree",
        variable="Params(jnp.ones(3))",
        source="""
class Params:
    def __init__(self, w):
        self.w = w
def loss(p, x):
    return jnp.sum(p.w * x)
result = jax.grad(loss)(Params(jnp.ones(3)), jnp.ones(3)).w  # <--
""",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="unregistered_scan",
        kind="object_no_pytree",
        variable="State(jnp.zeros(2), jnp.ones(2))",
        source="""
class State:
    def __init__(self, x, v):
        self.x, self.v = x, v
def step(s, _):
    return State(s.x + s.v, s.v), s.x
result = jax.lax.scan(step, State(jnp.zeros(2), jnp.ones(2)), None, length=3)[1]  # <--
""",
        after_fix=[[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]],
    ),
    Case(
        name="unregistered_vmap",
        kind="object_no_pytree",
        variable="Particle(jnp.zeros(2), jnp.ones(2))",
        source="""
class Particle:
    def __init__(self, x, v):
        self.x, self.v = x, v
result = jax.vmap(lambda p: p.x + p.v)(Particle(jnp.zeros(2), jnp.ones(2)))  # <--
""",
        after_fix=[[1.0, 1.0]],
    ),
    Case(
        name="unregistered_list",
        kind="object_argument",
        variable="[Body(1.0), Body(2.0)][0]",
        source="""
class Body:
    def __init__(self, m):
        self.m = m
@jax.jit
def total(bodies):
    return sum(b.m for b in bodies)
result = total([Body(1.0), Body(2.0)])  # <--
""",
    ),
    Case(
        name="self_jit_mutable",
        kind="object_argument",
        variable="self",
        source="""
class Model:
    def __init__(self):
        self.scale = jnp.ones(3)
        self.steps = 0
    @jax.jit
    def __call__(self, x):
        return self.scale * x
m = Model()
result = m(jnp.ones(3))  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="self_jit_partial",
        kind="object_argument",
        variable="self",
        source="""
class Env:
    def __init__(self, dt):
        self.dt = dt
    @partial(jax.jit, static_argnames="n")
    def step(self, state, n):
        return state + n * self.dt
e = Env(0.1)
result = e.step(jnp.zeros(2), 3)  # <--
""",
        after_fix=[[0.3, 0.3]],
    ),
    Case(
        name="self_jit_frozen",
        kind="object_argument",
        variable="self",
        source="""
from dataclasses import dataclass
@dataclass(frozen=True)
class Config:
    dt: float
    n: int
    @jax.jit
    def step(self, x):
        return x + self.dt * self.n
result = Config(0.1, 3).step(jnp.zeros(2))  # <--
""",
        after_fix=[[0.3, 0.3]],
    ),
    Case(
        name="self_jit_training",
        kind="object_argument",
        variable="self",
        source="""
class Trainer:
    def __init__(self):
        self.params = {"w": jnp.ones(3)}
        self.lr = 0.1
    @jax.jit
    def loss(self, params, x):
        return jnp.sum(params["w"] * x) * self.lr
    def train(self, x):
        g = jax.grad(self.loss)(self.params, x)  # <--
        self.params = jax.tree.map(lambda p, q: p - q, self.params, g)
Trainer().train(jnp.ones(3))
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="strings_in_dict",
        kind="object_argument",
        variable="batch['name']",
        source="""
batch = {"x": jnp.ones(3), "name": "train"}
result = jax.jit(lambda b: b["x"] * 2)(batch)  # <--
""",
    ),
    Case(
        name="text_array",
        kind="array_of_text",
        variable="labels",
        source="""
labels = np.array(["cat", "dog"])
@jax.jit
def f(x, labels):
    return x * len(labels)
result = f(jnp.ones(3), labels)  # <--
""",
        after_fix=[[2.0, 2.0, 2.0]],
    ),
    Case(
        name="text_array_jnp",
        kind="array_of_text",
        variable="names",
        source="""
names = np.array(["cat", "dog", "cat"])
result = jnp.unique(names)  # <--
""",
        after_fix=[[0, 1]],
    ),
    Case(
        name="object_array",
        kind="array_of_objects",
        variable="rows",
        source="""
rows = np.array([[1, 2], [3]], dtype=object)
result = jnp.array(rows)  # <--
""",
    ),
]
