"""Failing programs with flax, haiku, optax and equinox, each with what it imports."""

from explain_cases.case import Case, no_code, no_edits

# What a program needs: the library, and how it is imported.
IMPORTS = {
    "linen": ("flax", "from flax import linen as nn"),
    "nnx": ("flax", "from flax import nnx"),
    "struct": ("flax", "from flax import struct"),
    "equinox": ("equinox", "import equinox as eqx"),
    "haiku": ("haiku", "import haiku as hk"),
    "optax": ("optax", "import optax"),
}


def _case(
    name: str, needed: str, kind: str, variable: str | None, source: str, result: str, after_fix: list[object]
) -> tuple[list[str], Case]:
    libraries, imports = zip(*(IMPORTS[one] for one in needed.split()), strict=True)
    program = "\n".join([*imports, source.lstrip("\n")])
    return list(libraries), Case(name, kind, variable, program, result, after_fix)  # type: ignore[arg-type]


CASES = [
    _case(
        "linen_params_twice",
        "linen",
        "flax_params_nested",
        "variables",
        """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(8)(x)))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((4, 5)))
result = net.apply({"params": variables}, jnp.ones((4, 5)))  # <--
""",
        "result.shape",
        [(4, 3)],
    ),
    _case(
        "linen_params_bare",
        "linen",
        "flax_params_bare",
        "params",
        """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
net = Net()
params = net.init(jax.random.key(0), jnp.ones((4, 5)))["params"]
result = net.apply(params, jnp.ones((4, 5)))  # <--
""",
        "result.shape",
        [(4, 3)],
    ),
    _case(
        "linen_params_shape",
        "linen",
        "other_parameters",
        "kernel",
        """
net = nn.Dense(3)
variables = net.init(jax.random.key(0), jnp.ones((4, 5)))
result = net.apply(variables, jnp.ones((4, 6)))  # <--
""",
        "result",
        [no_code],
    ),
    _case(
        "linen_params_other",
        "linen",
        "other_parameters",
        "kernel",
        """
variables = nn.Dense(3).init(jax.random.key(0), jnp.ones((4, 5)))
net = nn.Sequential([nn.Dense(3), nn.Dense(2)])
result = net.apply(variables, jnp.ones((4, 5)))  # <--
""",
        "result",
        [no_code],
    ),
    _case(
        "linen_collection",
        "linen",
        "flax_collection_missing",
        '{"params": variables["params"]}',
        """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(3)(x))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((4, 5)), train=False)
result = net.apply({"params": variables["params"]}, jnp.ones((4, 5)), train=False)  # <--
""",
        "result.shape",
        [(4, 3)],
    ),
    _case(
        "linen_outside_compact",
        "linen",
        "flax_outside_compact",
        "nn.Dense(3)",
        """
class Net(nn.Module):
    def __call__(self, x):
        return nn.Dense(3)(x)  # <--
net = Net()
print(net.init(jax.random.key(0), jnp.ones((4, 5))))
""",
        "1",
        [1],
    ),
    _case(
        "linen_param_outside",
        "linen",
        "flax_outside_compact",
        'self.param("w", nn.initializers.ones, (3,))',
        """
class Net(nn.Module):
    def __call__(self, x):
        w = self.param("w", nn.initializers.ones, (3,))  # <--
        return x * w
net = Net()
print(net.init(jax.random.key(0), jnp.ones(3)))
""",
        "1",
        [1],
    ),
    _case(
        "linen_unbound_own",
        "linen",
        "flax_unbound_module",
        "net",
        """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
net = Net()
y = net(jnp.ones((5, 5)))  # <--
""",
        "1",
        [no_edits],
    ),
    _case(
        "linen_no_dropout_rng",
        "linen",
        "flax_key_missing",
        "dropout",
        """
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(3)(x))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((4, 5)), train=False)
result = net.apply(variables, jnp.ones((4, 5)), train=True)  # <--
""",
        "result.shape",
        [(4, 3)],
    ),
    _case(
        "linen_no_params_rng",
        "linen",
        "flax_key_missing",
        "params",
        """
net = nn.Dense(3)
variables = net.init({"dropout": jax.random.key(0)}, jnp.ones((4, 5)))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "linen_attr_set",
        "linen",
        "flax_frozen_module",
        "self.last",
        """
class Net(nn.Module):
    n: int = 3
    @nn.compact
    def __call__(self, x):
        self.last = x  # <--
        return nn.Dense(self.n)(x)
print(Net().init(jax.random.key(0), jnp.ones((4, 5))))
""",
        "1",
        [no_code],
    ),
    _case(
        "linen_struct_replace",
        "struct",
        "frozen_model",
        "s.x",
        """
@struct.dataclass
class St:
    x: jax.Array
s = St(jnp.ones(3))
s.x = s.x + 1  # <--
""",
        "s.x",
        [no_code],
    ),
    _case(
        "linen_struct_static",
        "struct",
        "array_in_static_field",
        "grid",
        """
@struct.dataclass
class Model:
    weight: jax.Array
    grid: np.ndarray = struct.field(pytree_node=False)
@jax.jit
def evaluate(model):
    return jnp.sum(model.weight * model.grid)
for s in (1., 2.):
    evaluate(Model(jnp.full(4, s), np.ones(4)))  # <--
""",
        "1",
        [1],
    ),
    _case(
        "nnx_closure",
        "nnx",
        "nnx_changed_from_outside",
        "counter",
        """
class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.count.set_value(self.count[...] + 1)  # <--
        return x * 2
counter = Counter()
@nnx.jit
def forward(x):
    return counter(x)
forward(jnp.ones(2))
""",
        "int(counter.count[...])",
        [no_code],
    ),
    _case(
        "equinox_grad",
        "equinox",
        "equinox_model",
        "model",
        """
model = eqx.nn.MLP(2, 1, 4, 2, key=jax.random.key(0))
def loss(model, x):
    return (jax.vmap(model)(x) ** 2).mean()
print(jax.grad(loss)(model, jnp.ones((3, 2))))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "equinox_scan",
        "equinox",
        "equinox_model",
        "model",
        """
model = eqx.nn.MLP(2, 2, 4, 2, key=jax.random.key(0))
def body(m, x):
    return m, jax.vmap(m)(x)
lax.scan(body, model, jnp.ones((3, 4, 2)))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "equinox_optax_init",
        "equinox optax",
        "equinox_model",
        "model",
        """
model = eqx.nn.MLP(2, 1, 4, 2, key=jax.random.key(0))
opt = optax.adam(1e-3)
state = opt.init(model)  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "equinox_optax_update",
        "equinox optax",
        "equinox_model",
        "model",
        """
model = eqx.nn.MLP(2, 1, 4, 2, key=jax.random.key(0))
opt = optax.adamw(1e-3)
state = opt.init(eqx.filter(model, eqx.is_array))
grads = eqx.filter_grad(lambda m: (jax.vmap(m)(jnp.ones((3, 2))) ** 2).mean())(model)
updates, state = opt.update(grads, state, model)
model = optax.apply_updates(model, updates)  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "equinox_setattr",
        "equinox",
        "frozen_model",
        "m.w",
        """
class M(eqx.Module):
    w: jax.Array
m = M(jnp.ones(3))
m.w = m.w + 1  # <--
""",
        "m.w",
        [no_code],
    ),
    _case(
        "equinox_undeclared",
        "equinox",
        "frozen_model",
        "self.b",
        """
class M(eqx.Module):
    w: jax.Array
    def __init__(self):
        self.w = jnp.ones(3)
        self.b = jnp.ones(3)  # <--
M()
""",
        "1",
        [no_code],
    ),
    _case(
        "haiku_outside",
        "haiku",
        "haiku_outside_transform",
        "hk.Linear(3)",
        """
layer = hk.Linear(3)  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "haiku_rng_outside",
        "haiku",
        "haiku_outside_transform",
        "hk.next_rng_key()",
        """
net = hk.transform(lambda x: hk.Linear(1)(x))
params = net.init(hk.next_rng_key(), jnp.ones((1, 1)))  # <--
""",
        "1",
        [1],
    ),
    _case(
        "haiku_state",
        "haiku",
        "haiku_state",
        "net",
        """
net = hk.transform(lambda x: hk.BatchNorm(True, True, 0.9)(x, is_training=True))
params = net.init(jax.random.PRNGKey(0), jnp.ones((4, 3)))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "haiku_no_rng",
        "haiku",
        "haiku_key_missing",
        "net",
        """
net = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))
params = net.init(jax.random.PRNGKey(0), jnp.ones(3))
print(net.apply(params, None, jnp.ones(3)))  # <--
""",
        "1",
        [1],
    ),
    _case(
        "haiku_no_rng_wo",
        "haiku",
        "haiku_key_missing",
        "net",
        """
net = hk.without_apply_rng(hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x)))
params = net.init(jax.random.PRNGKey(0), jnp.ones(3))
print(net.apply(params, jnp.ones(3)))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "haiku_param_shape",
        "haiku",
        "other_parameters",
        "linear/w",
        """
net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(2)(x)))
params = net.init(jax.random.PRNGKey(0), jnp.ones((4, 3)))
print(net.apply(params, jnp.ones((4, 5))))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "haiku_param_missing",
        "haiku",
        "other_parameters",
        "w",
        """
net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(2, name="a")(x)))
net2 = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(2, name="b")(x)))
params = net.init(jax.random.PRNGKey(0), jnp.ones((4, 3)))
print(net2.apply(params, jnp.ones((4, 3))))  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "optax_structure",
        "optax",
        "optax_gradients_differ",
        "grads",
        """
params = {"w": jnp.ones((3, 1))}
def loss(target, x):
    return jnp.mean((target - x @ params["w"]) ** 2)
opt = optax.adam(0.1)
state = opt.init(params)
grads = jax.grad(loss)(jnp.zeros((4, 1)), jnp.ones((4, 3)))
updates, state = opt.update(grads, state)  # <--
params = optax.apply_updates(params, updates)
""",
        "1",
        [no_code],
    ),
    _case(
        "optax_value_and_grad",
        "optax",
        "optax_gradients_differ",
        "grads",
        """
params = {"w": jnp.ones((3, 1)), "b": jnp.ones(1)}
loss = lambda p: (p["w"] ** 2).sum()
opt = optax.adam(0.1)
state = opt.init(params)
grads = jax.value_and_grad(loss)(params)
updates, state = opt.update(grads, state)  # <--
""",
        "float(value)",
        [no_code],
    ),
    _case(
        "optax_sgd_mom_shape",
        "optax",
        "optax_gradients_differ",
        "jnp.ones(4)",
        """
opt = optax.sgd(0.1, momentum=0.9)
state = opt.init(jnp.ones(3))
updates, state = opt.update(jnp.ones(4), state)  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "optax_no_params",
        "optax",
        "optax_needs_params",
        "opt.update",
        """
params = {"w": jnp.ones(3)}
opt = optax.adamw(0.1)
state = opt.init(params)
updates, state = opt.update(params, state)  # <--
""",
        "1",
        [no_code],
    ),
    _case(
        "optax_jit_opt",
        "optax",
        "object_argument",
        "opt.init",
        """
@jax.jit
def step(params, opt, state, g):
    u, state = opt.update(g, state)
    return optax.apply_updates(params, u), state
params = jnp.ones(3)
opt = optax.adam(1e-3)
step(params, opt, opt.init(params), params)  # <--
""",
        "1",
        [1],
    ),
    _case(
        "eqx_layer_of_a_batch",
        "equinox",
        "shapes_in_library",
        "model",
        """
model = eqx.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))
x = jnp.ones((16, 4))
result = model(x)  # <--
""",
        "result.shape",
        [no_code, no_code],
    ),
    _case(
        "nnx_optimizer_of_old",
        "nnx optax",
        "nnx_optimizer_without_wrt",
        "nnx.Optimizer(model, optax.sgd(0.1))",
        """
model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
result = nnx.Optimizer(model, optax.sgd(0.1))  # <--
""",
        "type(result).__name__",
        ["Optimizer"],
    ),
    _case(
        "nnx_list_of_layers",
        "nnx",
        "nnx_plain_container",
        "self.layers",
        """
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = [nnx.Linear(2, 2, rngs=rngs) for _ in range(2)]  # <--
result = len(Net(nnx.Rngs(0)).layers)
""",
        "result",
        [2],
    ),
]
