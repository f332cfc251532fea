"""Cases of pytrees used as arrays, of trees that differ, and of classes that are not registered."""

from explain_cases.case import Case

CASES = [
    Case(
        name="sgd_dict",
        kind="arithmetic_on_trees",
        variable="grads",
        source="""
def loss(params, x):
    return jnp.sum((params["w"] @ x + params["b"]) ** 2)
params = {"w": jnp.ones((2, 3)), "b": jnp.zeros(2)}
grads = jax.grad(loss)(params, jnp.ones(3))
params = params - 0.1 * grads  # <--
result = params
""",
    ),
    Case(
        name="sgd_list",
        kind="arithmetic_on_trees",
        variable="grads",
        source="""
def loss(params, x):
    return jnp.sum((params[0] @ x + params[1]) ** 2)
@jax.jit
def update(params, x, lr):
    grads = jax.grad(loss)(params, x)
    return params - lr * grads  # <--
result = update([jnp.ones((2, 3)), jnp.zeros(2)], jnp.ones(3), 0.1)
""",
    ),
    Case(
        name="sgd_half",
        kind="arithmetic_on_trees",
        variable="params",
        source="""
def loss(params, x):
    return jnp.sum((params["w"] @ x + params["b"]) ** 2)
params = {"w": jnp.ones((2, 3)), "b": jnp.zeros(2)}
grads = jax.grad(loss)(params, jnp.ones(3))
step = jax.tree.map(lambda g: 0.1 * g, grads)
params = params - step  # <--
""",
    ),
    Case(
        name="tuple_minus",
        kind="arithmetic_on_trees",
        variable="state",
        source="""
state = (jnp.ones(2), jnp.zeros(2))
velocity = (jnp.ones(2), jnp.ones(2))
state = state - velocity  # <--
""",
    ),
    Case(
        name="tree_keys",
        kind="trees_differ",
        variable="grads['dense']",
        source="""
params = {"dense": {"w": jnp.ones(2), "b": jnp.zeros(2)}}
grads = {"dense": {"w": jnp.ones(2), "bias": jnp.zeros(2)}}
result = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # <--
""",
    ),
    Case(
        name="tree_list_tuple",
        kind="trees_differ",
        variable="grads['layers']",
        source="""
params = {"layers": [jnp.ones(2), jnp.zeros(2)]}
grads = {"layers": (jnp.ones(2), jnp.zeros(2))}
result = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # <--
""",
    ),
    Case(
        name="tree_lengths",
        kind="trees_differ",
        variable="grads",
        source="""
params = [(jnp.ones(2), jnp.zeros(2)), (jnp.ones(2), jnp.zeros(2))]
grads = [(jnp.ones(2), jnp.zeros(2))]
result = jax.tree.map(jnp.add, params, grads)  # <--
""",
    ),
    Case(
        name="tree_none",
        kind="leaf_of_another_kind",
        variable="grads['b']",
        source="""
params = {"w": jnp.ones(2), "b": jnp.zeros(2)}
grads = {"w": jnp.ones(2), "b": None}
result = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # <--
""",
    ),
    Case(
        name="tree_none_arith",
        kind="leaf_of_another_kind",
        variable="grads['b']",
        source="""
def update(p, g):
    return p - 0.1 * g  # <--
params = {"w": jnp.ones(2), "b": jnp.zeros(2)}
grads = {"w": jnp.ones(2), "b": None}
result = jax.tree.map(update, params, grads, is_leaf=lambda v: v is None)
""",
    ),
    Case(
        name="tree_missing_arg",
        kind="trees_differ",
        variable="lr",
        source="""
params = {"w": jnp.ones(2), "b": jnp.zeros(2)}
lr = 0.1
result = jax.tree.map(lambda p, l: p * l, params, lr)  # <--
""",
    ),
    Case(
        name="tree_too_deep",
        kind="leaf_of_another_kind",
        variable="momentum['w']",
        source="""
params = {"w": jnp.ones(2)}
momentum = {"w": {"m": jnp.ones(2), "v": jnp.ones(2)}}
result = jax.tree.map(lambda p, m: p - m, params, momentum)  # <--
""",
    ),
    Case(
        name="mixed_keys",
        kind="mixed_keys",
        variable="params",
        source="""
params = {0: jnp.ones(2), "bias": jnp.zeros(2)}
result = jax.jit(lambda p: p["bias"] + p[0])(params)  # <--
""",
    ),
    Case(
        name="mixed_keys_grad",
        kind="mixed_keys",
        variable="params['layers']",
        source="""
params = {"layers": {0: jnp.ones(2), None: jnp.zeros(2)}}
result = jax.grad(lambda p: p["layers"][0].sum())(params)  # <--
""",
    ),
    Case(
        name="aux_arrays",
        kind="array_in_metadata",
        variable="Grid",
        source="""
@jax.tree_util.register_pytree_node_class
class Grid:
    def __init__(self, values, spacing):
        self.values, self.spacing = values, spacing
    def tree_flatten(self):
        return (self.values,), self.spacing
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux)
f = jax.jit(lambda g: g.values.sum())
f(Grid(jnp.ones(3), jnp.array([0.1, 0.2])))
f(Grid(jnp.ones(3), jnp.array([0.1, 0.2])))  # <--
""",
    ),
    Case(
        name="compare_trees",
        kind="trees_compared",
        variable="b",
        source="""
a = {"w": jnp.ones(3), "b": jnp.zeros(3)}
b = {"w": jnp.ones(3), "b": jnp.zeros(3)}
assert a == b  # <--
""",
        result="1",
        after_fix=[1],
    ),
    Case(
        name="compare_lists_if",
        kind="trees_compared",
        variable="new",
        source="""
old = [jnp.ones(3), jnp.zeros(2)]
new = [x * 2 for x in old]
if old != new:  # <--
    print("changed")
""",
        result="1",
        after_fix=[1],
    ),
    Case(
        name="in_list",
        kind="trees_compared",
        variable="layers",
        source="""
layers = [jnp.ones(3), jnp.zeros(3)]
result = jnp.zeros(3) in layers  # <--
""",
    ),
    Case(
        name="jnp_of_dict",
        kind="tree_for_array",
        variable="params",
        source="""
params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
result = jnp.sum(params)  # <--
""",
    ),
    Case(
        name="norm_of_tree",
        kind="tree_for_array",
        variable="grads",
        source="""
grads = [jnp.ones((2, 2)), jnp.zeros(3)]
result = jnp.linalg.norm(grads)  # <--
""",
    ),
    Case(
        name="sum_of_tree_tuple",
        kind="tree_for_array",
        variable="params",
        source="""
params = (jnp.ones((2, 2)), jnp.zeros(3))
result = jnp.square(params)  # <--
""",
    ),
]
