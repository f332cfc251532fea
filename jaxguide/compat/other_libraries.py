"""List what PyTorch, TensorFlow and NumPy call what JAX has: methods of arrays, functions of modules, arguments."""

# What an argument is called in other libraries -> what NumPy and JAX call it.
ARGUMENTS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "shifts": "shift"}
# Those that mean this only in some functions -> the names, of which the first that the function has is meant.
ARGUMENTS_OF_SOME = {"input": ("a", "x"), "dims": ("axis", "axes", "shape"), "size": ("shape",), "steps": ("num",)}
# Method of an array -> what to write. `{x}` is the array, `{first}` and `{second}` are its arguments, `{renamed}` are
# all of them with the names that JAX has; an `.atom` has parentheses where it needs them.
METHODS = {
    "unsqueeze": "{jnp}.expand_dims({x}, {renamed})",
    "permute": "{x.atom}.transpose({renamed})",
    **dict.fromkeys(("numel", "nelement"), "{x.atom}.size"),
    **dict.fromkeys(("dim", "ndimension"), "{x.atom}.ndim"),
    "get_shape": "{x.atom}.shape",
    "float": "{x.atom}.astype({jnp}.float32)",
    "half": "{x.atom}.astype({jnp}.float16)",
    "bfloat16": "{x.atom}.astype({jnp}.bfloat16)",
    **dict.fromkeys(("int", "long"), "{x.atom}.astype({jnp}.int32)"),
    "bool": "{x.atom}.astype(bool)",
    "clamp": "{jnp}.clip({x}, {renamed})",
    "clamp_min": "{jnp}.maximum({x}, {renamed})",
    "clamp_max": "{jnp}.minimum({x}, {renamed})",
    "masked_fill": "{jnp}.where({first}, {second}, {x})",
    "index_select": "{jnp}.take({x}, {second}, axis={first})",
    "gather": "{jnp}.take_along_axis({x}, {second}, axis={first})",
    "expand": "{jnp}.broadcast_to({x}, ({renamed},))",
    "expand_as": "{jnp}.broadcast_to({x}, {first.atom}.shape)",
    **dict.fromkeys(("view_as", "reshape_as"), "{x.atom}.reshape({first.atom}.shape)"),
    "new_zeros": "{jnp}.zeros({first}, {x.atom}.dtype)",
    "new_ones": "{jnp}.ones({first}, {x.atom}.dtype)",
    "detach": "{lax}.stop_gradient({x})",
    "clone": "{jnp}.copy({x})",
    **dict.fromkeys(("numpy", "to_numpy", "asnumpy"), "{np}.asarray({x})"),
    "t": "{x.atom}.T",
    "add": "{x.atom} + {first.atom}",
    "sub": "{x.atom} - {first.atom}",
    "mul": "{x.atom} * {first.atom}",
    "div": "{x.atom} / {first.atom}",
    "neg": "-{x.atom}",
    **dict.fromkeys(("mm", "bmm"), "{x.atom} @ {first.atom}"),
    "norm": "{jnp}.linalg.norm({x})",
    "zero": "{jnp}.zeros_like({x})",
    "fill": "{jnp}.full_like({x}, {first})",
    "flip": "{jnp}.flip({x}, ({renamed}))",
    **{name: f"{{jnp}}.{name}({{x}}, {{renamed}})" for name in ("roll", "outer", "tril", "triu", "unique")},
    "equal": "{jnp}.array_equal({x}, {first})",
}
ACTIVATIONS = ("relu", "sigmoid", "softmax", "log_softmax", "softplus", "gelu", "silu", "logsumexp", "elu")
# What belongs to the gradients that arrays of other libraries hold.
GRADIENTS = ("backward", "grad", "grad_fn", "requires_grad", "requires_grad_", "retain_grad", "zero_grad")
# Name in a module -> what does the same when it is called in the same way.
NAMES = {
    "cat": "jax.numpy.concatenate",
    "tensor": "jax.numpy.array",
    **dict.fromkeys(
        ("as_tensor", "from_numpy", "convert_to_tensor", "ascontiguousarray", "asfortranarray", "asanyarray"),
        "jax.numpy.asarray",
    ),
    "Tensor": "jax.Array",
    "unsqueeze": "jax.numpy.expand_dims",
    "clamp": "jax.numpy.clip",
    **dict.fromkeys(("mm", "bmm"), "jax.numpy.matmul"),
    "mul": "jax.numpy.multiply",
    "sub": "jax.numpy.subtract",
    "div": "jax.numpy.divide",
    "neg": "jax.numpy.negative",
    "rsqrt": "jax.lax.rsqrt",
    **{f"reduce_{name}": f"jax.numpy.{name}" for name in ("sum", "mean", "max", "min", "prod")},
    "cast": "jax.numpy.astype",
    "numel": "jax.numpy.size",
    "PRNGKey": "jax.random.PRNGKey",
    "fold_in": "jax.random.fold_in",
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
    "Variable": "jnp.array(x)",
    "index_select": "jnp.take(x, indices, axis=axis)",
    "gather": "jnp.take_along_axis(x, indices, axis=axis)",
}
