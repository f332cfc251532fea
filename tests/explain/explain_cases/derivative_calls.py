"""Cases of `has_aux`, pullbacks and `jax.jvp`, and of derivatives with respect to indices and keys."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="aux3",
        kind="aux_without_pair",
        variable="loss",
        source="""
def loss(w, x):
    y = x @ w
    return jnp.mean(y**2), y, jnp.max(w)  # <--
g, aux = jax.grad(loss, has_aux=True)(jnp.ones(3), jnp.eye(3))
""",
        result="g",
        after_fix=[[0.66667, 0.66667, 0.66667]],
    ),
    Case(
        name="aux3_vag",
        kind="aux_without_pair",
        variable="loss",
        source="""
def loss(w, x):
    y = x @ w
    return jnp.mean(y**2), {"a": y}, jnp.max(w)  # <--
step = jax.jit(jax.value_and_grad(loss, has_aux=True))
(l, aux), g = step(jnp.ones(3), jnp.eye(3))
""",
        result="g",
        after_fix=[[0.66667, 0.66667, 0.66667]],
    ),
    Case(
        name="aux_scalar",
        kind="aux_without_pair",
        variable="loss",
        source="""
def loss(w, x):
    return jnp.mean((x @ w)**2)  # <--
g, aux = jax.grad(loss, has_aux=True)(jnp.ones(3), jnp.eye(3))
""",
    ),
    Case(
        name="aux_dict",
        kind="aux_without_pair",
        variable="loss",
        source="""
def loss(w):
    return {"loss": jnp.sum(w), "n": 3}  # <--
g, aux = jax.grad(loss, has_aux=True)(jnp.ones(3))
""",
    ),
    Case(
        name="aux_first_nonscalar",
        kind="gradient_of_many",
        variable="loss",
        source="""
def loss(w, x):
    y = x @ w
    return y, jnp.mean(y**2)
g, aux = jax.grad(loss, has_aux=True)(jnp.ones(3), jnp.eye(3))  # <--
""",
        result="g",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="grad_dict_out",
        kind="gradient_of_tuple",
        variable="loss",
        source="""
def loss(w):
    return {"loss": jnp.sum(w)}
g = jax.grad(loss)(jnp.ones(3))  # <--
""",
    ),
    Case(
        name="vjp_bare",
        kind="pullback_tree",
        variable="1.0",
        source="""
def f(x):
    return jnp.sin(x), jnp.cos(x)
y, pull = jax.vjp(f, 1.0)
result = pull(1.0)  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="vjp_two_args",
        kind="pullback_count",
        variable="pull",
        source="""
def f(x):
    return jnp.sin(x), jnp.cos(x)
y, pull = jax.vjp(f, 1.0)
result = pull(1.0, 1.0)  # <--
""",
        after_fix=[[-0.30117]],
    ),
    Case(
        name="vjp_tuple_for_single",
        kind="pullback_tree",
        variable="(1.0,)",
        source="""
y, pull = jax.vjp(jnp.sin, 1.0)
result = pull((1.0,))  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="vjp_list_tuple",
        kind="pullback_tree",
        variable="[1.0, 1.0]",
        source="""
def f(x):
    return jnp.sin(x), jnp.cos(x)
y, pull = jax.vjp(f, 1.0)
result = pull([1.0, 1.0])  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="vjp_dict",
        kind="pullback_tree",
        variable='{"a": 1.0}',
        source="""
def f(x):
    return {"a": jnp.sin(x), "b": jnp.cos(x)}
y, pull = jax.vjp(f, 1.0)
result = pull({"a": 1.0})  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="jvp_shape",
        kind="tangent_shape",
        variable="1.0",
        source="""
result = jax.jvp(jnp.sin, (jnp.ones(3),), (1.0,))  # <--
""",
    ),
    Case(
        name="jvp_mismatch",
        kind="tangent_parts",
        variable="(1.0,)",
        source="""
result = jax.jvp(jnp.multiply, (1.0, 2.0), (1.0,))  # <--
""",
    ),
    Case(
        name="int_argnums",
        kind="gradient_of_integers",
        variable="jnp.array([0, 1])",
        source="""
def energy(pos, idx):
    return jnp.sum(pos[idx] ** 2)
result = jax.grad(energy, argnums=1)(jnp.ones((4, 3)), jnp.array([0, 1]))  # <--
""",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="key_grad",
        kind="gradient_of_a_key",
        variable="jax.random.key(0)",
        source="""
def f(key, x):
    return x * jax.random.normal(key)
result = jax.grad(f)(jax.random.key(0), 1.0)  # <--
""",
    ),
]
