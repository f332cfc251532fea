# url: https://github.com/jax-ml/jax/pull/20249
# verdict: correct
# why: The key is replicated over the devices, each of which folds its position in the mesh into it.

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
from jax.sharding import PartitionSpec as P


def program(key):
    mesh = jax.make_mesh((4,), ("x",))

    def block(key):
        here = jax.random.fold_in(key, jax.lax.axis_index("x"))
        return jax.random.uniform(here, (3,))

    return jax.shard_map(block, mesh=mesh, in_specs=P(), out_specs=P("x"), check_vma=False)(key)
