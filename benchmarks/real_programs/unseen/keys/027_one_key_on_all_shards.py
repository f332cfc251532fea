# url: https://github.com/jax-ml/jax/issues/15398
# verdict: reuse
# wrong: The key is replicated over the mesh and used as it is, so each device draws the same block.
# shows: bool((np.asarray(out).reshape(4, 3) == np.asarray(out)[:3]).all())
# mend: jax.random.normal(key, (3,))  # first # second ==> jax.random.normal(jax.random.fold_in(key, jax.lax.axis_index("x")), (3,))

# %% program
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
import jax
from jax.sharding import PartitionSpec as P


def program(key):
    mesh = jax.make_mesh((4,), ("x",))

    def block(key):
        return jax.random.normal(key, (3,))  # first # second

    return jax.shard_map(block, mesh=mesh, in_specs=P(), out_specs=P("x"), check_vma=False)(key)
