"""Cases of names that JAX removed."""

from explain_cases.case import Case, no_code

CASES = [
    Case(
        name="removed_tree_map",
        kind="removed_name",
        variable="jax.tree_map",
        source="""
def double(tree):
    return jax.tree_map(lambda leaf: 2 * leaf, tree)  # <--
def more(tree):
    return jax.tree_map(lambda leaf: leaf + 1, tree)
result = double({"a": 1.0, "b": 3.0}), more(1.0)
""",
        result="result",
        after_fix=[({"a": 2.0, "b": 6.0}, 2.0)],
    ),
    Case(
        name="removed_from_jax_config",
        kind="removed_name",
        variable="jax.config.config",
        source="""
from jax.config import config  # <--
config.update("jax_debug_nans", False)
result = config.jax_debug_nans
""",
        result="result",
        after_fix=[False],
    ),
    Case(
        name="removed_import_jax_config",
        kind="removed_name",
        variable="jax.config",
        source="""
import jax.config  # <--
jax.config.update("jax_debug_nans", False)
result = jax.config.jax_debug_nans
""",
        result="result",
        after_fix=[False],
    ),
    Case(
        name="removed_device_array",
        kind="removed_name",
        variable="jnp.DeviceArray",
        source="""
def norm(x: jnp.DeviceArray) -> jnp.DeviceArray:  # <--
    return jnp.sum(x * x)
result = norm(jnp.ones(3))
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="removed_index_update",
        kind="removed_name",
        variable="jax.ops.index_update",
        source="""
x = jnp.zeros((2, 2))
x = jax.ops.index_update(x, jax.ops.index[0, :], 5.0)  # <--
x = jax.ops.index_update(x, (1, 1), 3.0)
""",
        result="x",
    ),
    Case(
        name="removed_index_import",
        kind="removed_name",
        variable="jax.ops.index",
        source="""
from jax.ops import index, index_update, index_add  # <--
x = index_update(jnp.zeros(3), index[1:], 5.0)
x = index_add(x, 0, 1.0)
""",
        result="x",
    ),
    Case(
        name="removed_tree_multimap_import",
        kind="removed_name",
        variable="jax.tree_util.tree_multimap",
        source="""
from jax.tree_util import tree_leaves, tree_multimap  # <--
result = tree_leaves(tree_multimap(lambda a, b: a + b, [1, 2], [3, 4]))
""",
        result="result",
        after_fix=[[4, 6]],
    ),
    Case(
        name="removed_optimizers_module",
        kind="removed_name",
        variable="jax.experimental.optimizers",
        source="""
import jax.experimental.optimizers  # <--
init, update, params = jax.experimental.optimizers.sgd(0.5)
result = params(update(0, 1.0, init(3.0)))
""",
        result="result",
        after_fix=[2.5],
    ),
    Case(
        name="removed_module_in_two_places",
        kind="removed_name",
        variable="jax.experimental.stax",
        source="""
init, apply = jax.experimental.stax.serial(  # <--
    jax.experimental.stax.Dense(2), jax.experimental.stax.Relu
)
result = init(jax.random.key(0), (1, 3))[0]
""",
        result="result",
        after_fix=[(1, 2)],
    ),
    Case(
        name="removed_module_under_another_name",
        kind="removed_name",
        variable="jax.experimental.optimizers",
        source="""
from jax.experimental import optimizers as optim  # <--
init, update, params = optim.sgd(0.5)
result = params(update(0, 1.0, init(3.0)))
""",
        result="result",
        after_fix=[2.5],
    ),
    Case(
        name="removed_primitive",
        kind="removed_name",
        variable="jax.core.Primitive",
        source="""
double_p = jax.core.Primitive("double")  # <--
double_p.def_impl(lambda x: 2 * x)
result = double_p.bind(3.0)
""",
        result="result",
        after_fix=[6.0],
    ),
    Case(
        name="removed_shuffle",
        kind="removed_name",
        variable="random.shuffle",
        source="""
from jax import random
result = jnp.sort(random.shuffle(random.key(0), jnp.arange(3)))  # <--
""",
        result="result",
    ),
    Case(
        name="removed_shuffle_import",
        kind="removed_name",
        variable="jax.random.shuffle",
        source="""
from jax.random import key, shuffle  # <--
result = jnp.sort(shuffle(key(0), jnp.arange(3)))
""",
        result="result",
    ),
    Case(
        name="removed_lax_prod",
        kind="removed_name",
        variable="lax.prod",
        source="""
result = lax.prod((2, 3))  # <--
""",
        result="result",
        after_fix=[6],
    ),
    Case(
        name="removed_xmap",
        kind="removed_name",
        variable="jax.experimental.maps.xmap",
        source="""
f = jax.experimental.maps.xmap(jnp.sin, in_axes=["b"], out_axes=["b"])  # <--
""",
        result="f",
    ),
    Case(
        name="removed_host_callback",
        kind="removed_name",
        variable="jax.experimental.host_callback.id_print",
        source="""
from jax.experimental.host_callback import id_print  # <--
""",
        result="id_print",
    ),
    Case(
        name="removed_host_callback_by_alias",
        kind="removed_name",
        variable="jax.experimental.host_callback",
        source="""
from jax.experimental import host_callback as hcb  # <--
hcb.id_tap(print, hcb.call(abs, 1.0, result_shape=1.0))
""",
        result="hcb",
        after_fix=[no_code, no_code],
    ),
    Case(
        name="removed_inner_name_of_a_module",
        kind="removed_name",
        variable="jax.util",
        source="""
from jax.util import safe_zip  # <--
""",
        result="safe_zip",
    ),
    Case(
        name="removed_device_put_replicated",
        kind="removed_name",
        variable="jax.device_put_replicated",
        source="""
x = jax.device_put_replicated(1.0, jax.devices())  # <--
""",
        result="x",
    ),
    Case(
        name="removed_device_buffer",
        kind="removed_array_attribute",
        variable="x",
        source="""
x = jnp.ones(3)
result = x.device_buffer  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="removed_to_py",
        kind="removed_array_attribute",
        variable="x",
        source="""
x = jnp.ones(3)
result = x.to_py()  # <--
""",
        result="result",
        after_fix=[[1.0, 1.0, 1.0]],
    ),
    Case(
        name="removed_device_method",
        kind="device_called",
        variable="x",
        source="""
x = jnp.ones(3)
result = x.device() == jax.devices()[0]  # <--
""",
        result="result",
        after_fix=[True],
    ),
    Case(
        name="removed_option",
        kind="removed_option",
        variable="jax_array",
        source="""
jax.config.update("jax_array", True)  # <--
result = 1
""",
        result="result",
        after_fix=[1],
    ),
]
