"""List what PyTorch, TensorFlow and NumPy call what JAX has: functions, methods of arrays, arguments."""

import numpy as np

# What an argument is called in other libraries -> what NumPy and JAX call it.
ARGUMENTS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "shifts": "shift"}
# Those that mean this only in some functions -> the names, of which the first that the function has is meant.
ARGUMENTS_OF_SOME = {"input": ("a", "x"), "dims": ("axis", "axes", "shape"), "size": ("shape",), "steps": ("num",)}
# Function or method -> what does the same when it is called in the same way, the array first.
NAMES = {
    "cat": "jax.numpy.concatenate",
    "tensor": "jax.numpy.array",
    "unsqueeze": "jax.numpy.expand_dims",
    "clamp": "jax.numpy.clip",
    "mul": "jax.numpy.multiply",
    "sub": "jax.numpy.subtract",
    "div": "jax.numpy.divide",
    "neg": "jax.numpy.negative",
    "rsqrt": "jax.lax.rsqrt",
    "cast": "jax.numpy.astype",
    "PRNGKey": "jax.random.PRNGKey",
    "fold_in": "jax.random.fold_in",
    **dict.fromkeys(("as_tensor", "from_numpy", "convert_to_tensor", "ascontiguousarray"), "jax.numpy.asarray"),
    **dict.fromkeys(("mm", "bmm"), "jax.numpy.matmul"),
    **dict.fromkeys(("numel", "nelement"), "jax.numpy.size"),
    **dict.fromkeys(("dim", "ndimension"), "jax.numpy.ndim"),
    **{f"reduce_{name}": f"jax.numpy.{name}" for name in ("sum", "mean", "max", "min", "prod")},
}
_UFUNCS = [name for name, value in vars(np).items() if isinstance(value, np.ufunc)]
_ACTIVATIONS = ("relu", "sigmoid", "softmax", "log_softmax", "softplus", "gelu", "silu", "logsumexp", "elu")
# Method of an array -> what to write, if NAMES has nothing. `{x}` is the array, `{first}` and `{second}` are its
# arguments, `{renamed}` are all of them with the names that JAX has, `{sizes}` the same if all are plain sizes.
METHODS = {
    **{name: f"{{jnp}}.{name}({{x}}, {{renamed}})" for name in (*_UFUNCS, "roll", "outer", "tril", "triu", "unique")},
    **{name: f"{{jax}}.nn.{name}({{x}}, {{renamed}})" for name in _ACTIVATIONS},
    **dict.fromkeys(("cpu", "cuda", "contiguous"), "{x}"),
    "type": "{x.atom}.astype({first})",
    "permute": "{jnp}.permute_dims({x}, ({renamed}))",
    "flip": "{jnp}.flip({x}, ({renamed}))",
    "float": "{x.atom}.astype({jnp}.float32)",
    "half": "{x.atom}.astype({jnp}.float16)",
    "bfloat16": "{x.atom}.astype({jnp}.bfloat16)",
    **dict.fromkeys(("int", "long"), "{x.atom}.astype({jnp}.int32)"),
    "bool": "{x.atom}.astype(bool)",
    "clamp_min": "{jnp}.maximum({x}, {renamed})",
    "clamp_max": "{jnp}.minimum({x}, {renamed})",
    "masked_fill": "{jnp}.where({first}, {second}, {x})",
    "index_select": "{jnp}.take({x}, {second}, axis={first})",
    "gather": "{jnp}.take_along_axis({x}, {second}, axis={first})",
    "expand": "{jnp}.broadcast_to({x}, ({sizes},))",
    "expand_as": "{jnp}.broadcast_to({x}, {first.atom}.shape)",
    **dict.fromkeys(("view_as", "reshape_as"), "{x.atom}.reshape({first.atom}.shape)"),
    "new_zeros": "{jnp}.zeros({first}, {x.atom}.dtype)",
    "new_ones": "{jnp}.ones({first}, {x.atom}.dtype)",
    "detach": "{lax}.stop_gradient({x})",
    "clone": "{jnp}.copy({x})",
    **dict.fromkeys(("numpy", "to_numpy", "asnumpy"), "{np}.asarray({x})"),
    "t": "{x.atom}.T",
    "norm": "{jnp}.linalg.norm({x})",
    "zero": "{jnp}.zeros_like({x})",
    "fill": "{jnp}.full_like({x}, {first})",
    "equal": "{jnp}.array_equal({x}, {first})",
}
# Name in a module -> what to write instead, which is not called in the same way.
INSTEAD = {
    **dict.fromkeys(("copyto", "putmask"), "x = jnp.where(mask, new, x)"),
    **dict.fromkeys(("randn", "normal"), "jax.random.normal(key, shape)"),
    **dict.fromkeys(("rand", "uniform"), "jax.random.uniform(key, shape)"),
    **dict.fromkeys(("permutation", "shuffle"), "jax.random.permutation(key, x)"),
    "randint": "jax.random.randint(key, shape, minval, maxval)",
    "randperm": "jax.random.permutation(key, n)",
    "manual_seed": "key = jax.random.key(seed)",
    "no_grad": "jax.lax.stop_gradient(x)",
    "GradientTape": "jax.grad(loss)(parameters)",
    **dict.fromkeys(("Variable", "Tensor"), "jnp.array(x)"),
    "index_select": "jnp.take(x, indices, axis=axis)",
    "gather": "jnp.take_along_axis(x, indices, axis=axis)",
}
