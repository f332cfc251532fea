"""List the names that JAX once had: since when each is gone, and what JAX's change log names in its place."""

from typing import NamedTuple


class Removal(NamedTuple):
    """One name that JAX removed.

    Args:
        since: the first version without it, as JAX's change log says; '' if the change log does not say.
        new: the name that does the same, called in the same way; '' if there is none.
        code: what to write instead, if another name alone does not do.
    """

    since: str = ""
    new: str = ""
    code: str = ""


def _moved(since: str, old: str, new: str, names: str) -> dict[str, Removal]:
    """Return the entries of names that have another beginning now, and the same end or that behind a `>`."""
    ends = [name.partition(">") for name in names.split()]
    return {f"{old}{name}": Removal(since, f"{new}{end or name}") for name, _sign, end in ends}


def _gone(since: str, module: str, names: str, code: str = "") -> dict[str, Removal]:
    """Return the entries of names that no other name replaces."""
    return {f"{module}.{name}": Removal(since, code=code) for name in names.split()}


# Old name -> what became of it. An entry is used only where the installed JAX really lacks the name, so it cannot be
# wrong on an older one. JAX's CHANGELOG.md up to 0.12; names that it does not mention were compared with releases.
REMOVALS: dict[str, Removal] = {
    # jax
    **_moved("0.6.0", "jax.tree_", "jax.tree.", "map flatten leaves structure transpose unflatten"),
    **_moved("", "jax.tree_", "jax.tree.", "all reduce multimap>map"),
    **_moved("0.6.0", "jax.", "jax.tree_util.", "treedef_is_leaf"),
    **_moved("0.2.21", "jax.", "", "api>jax partial>functools.partial util.partial>functools.partial"),
    "jax.tree_util.tree_multimap": Removal("0.3.16", "jax.tree.map"),
    "jax.xla_computation": Removal("0.4.34", code="jax.jit(f).lower(*args).compiler_ir('hlo')"),
    "jax.clear_backends": Removal("0.4.36", "jax.extend.backend.clear_backends"),
    "jax.linear_util": Removal("0.4.24", code="jax.extend.linear_util"),
    "jax.prng": Removal("0.4.24", code="jax.extend.random"),
    "jax.abstract_arrays": Removal("0.4.17", code="jax.core.ShapedArray"),
    "jax.abstract_arrays.ShapedArray": Removal("0.4.16", "jax.core.ShapedArray"),
    **_moved("0.4.14", "jax.", "jax.interpreters.", "partial_eval pxla xla"),
    "jax.ShapedArray": Removal("0.4.14", "jax.core.ShapedArray"),
    "jax.config": Removal("0.4.29", "jax.config"),  # the module: `jax.config` is an object of `jax` now
    "jax.config.config": Removal("0.4.25", "jax.config"),
    **_moved("0.10.0", "jax.ad_checkpoint.", "jax.", "checkpoint remat"),
    **_gone("0.10.0", "jax", "device_put_sharded device_put_replicated", "jax.device_put(x, sharding)"),
    "jax.stages.OutInfo": Removal("0.7.0", "jax.ShapeDtypeStruct"),
    "jax.dlpack.to_dlpack": Removal("0.8.0", code="other_library.from_dlpack(x)"),
    # jax.numpy and jax.scipy
    "jax.numpy.DeviceArray": Removal("0.4.14", "jax.Array"),
    **_moved("0.4.24", "jax.numpy.", "jax.numpy.", "trapz>trapezoid row_stack>vstack"),
    **_moved("0.4.16", "jax.numpy.", "jax.numpy.", "alltrue>all sometrue>any product>prod cumproduct>cumprod"),
    "jax.numpy.in1d": Removal("0.4.24", code="jax.numpy.isin(x, y).ravel()"),
    "jax.numpy.issubsctype": Removal("0.4.24", code="jax.numpy.issubdtype(x.dtype, t)"),
    "jax.numpy.NINF": Removal("0.4.24", code="-jax.numpy.inf"),
    "jax.numpy.msort": Removal("0.4.9", code="jax.numpy.sort(x, axis=0)"),
    "jax.numpy.round_": Removal("0.4.38", "jax.numpy.round"),
    "jax.numpy.fix": Removal("0.10.0", "jax.numpy.trunc"),
    **_moved("0.4.24", "jax.scipy.linalg.", "jax.numpy.", "tril triu"),
    "jax.scipy.special.sph_harm": Removal("0.10.0", code="jax.scipy.special.sph_harm_y"),
    # jax.lax and jax.nn
    "jax.lax.prod": Removal("0.4.16", "math.prod"),
    "jax.lax.pvary": Removal("0.10.0", code="jax.lax.pcast(x, axis_name, to='varying')"),
    "jax.nn.normalize": Removal("0.4.29", "jax.nn.standardize"),
    # jax.ops
    **_gone("", "jax.ops", "index", "x.at[...]"),
    **_gone("0.3.2", "jax.ops", "index_update", "x.at[index].set(y)"),
    **_gone("0.3.2", "jax.ops", "index_mul", "x.at[index].multiply(y)"),
    **{f"jax.ops.index_{name}": Removal("0.3.2", code=f"x.at[index].{name}(y)") for name in ("add", "min", "max")},
    # jax.random
    "jax.random.shuffle": Removal("0.4.31", code="jax.random.permutation(key, x, independent=True)"),
    **_moved("0.4.24", "jax.random.", "jax.", "KeyArray>Array PRNGKeyArray>Array"),
    # jax.core
    **_moved(
        "0.6.0", "jax.core.", "jax.extend.core.", "ClosedJaxpr Jaxpr JaxprEqn Literal Primitive Token Var jaxpr_as_fun"
    ),
    **_moved("0.7.0", "jax.core.", "jax.extend.core.primitives.", "call_p closed_call_p"),
    **_moved(
        "0.11.0",
        "jax.core.",
        "jax.extend.core.",
        "DebugInfo DropVar Effect Effects check_jaxpr concrete_or_error find_top_trace gensym "
        "get_opaque_trace_state jaxprs_in_params new_jaxpr_eqn no_effects primal_dtype_to_tangent_dtype valid_jaxtype",
    ),
    **_moved("0.11.0", "jax.core.", "jax.errors.", "InconclusiveDimensionOperation JaxprTypeError"),
    **_moved("0.7.0", "jax.core.", "jax.errors.", "ConcretizationTypeError"),
    **_moved(
        "0.4.24",
        "jax.core.",
        "jax.errors.",
        "TracerArrayConversionError TracerIntegerConversionError UnexpectedTracerError",
    ),
    "jax.core.get_aval": Removal("0.10.0", "jax.typeof"),
    "jax.core.ConcreteArray": Removal("", code="not isinstance(x, jax.core.Tracer)"),
    # jax.interpreters
    **_moved("0.4.11", "jax.interpreters.pxla.", "jax.sharding.", "PartitionSpec Mesh"),
    **_moved("0.4.11", "jax.interpreters.xla.", "jax.", "Device device_put DeviceArray>Array Buffer>Array"),
    **_moved("0.4.14", "jax.interpreters.pxla.", "jax.", "device_put ShardedDeviceArray>Array"),
    "jax.interpreters.xla.ShapedArray": Removal("0.4.24", "jax.core.ShapedArray"),
    "jax.interpreters.xla.canonicalize_dtype": Removal("0.8.0", "jax.dtypes.canonicalize_dtype"),
    **_gone(
        "0.4.29",
        "jax.interpreters.xla",
        "backend_specific_translations translations register_translation",
        "jax.interpreters.mlir.register_lowering(primitive, rule)",
    ),
    "jax.interpreters.mlir.custom_call": Removal("0.8.0", code="jax.ffi.ffi_call"),
    # jax.lib
    **_moved("0.8.0", "jax.lib.xla_bridge.", "jax.extend.backend.", "get_backend get_compile_options"),
    "jax.lib.xla_bridge.default_backend": Removal("0.4.38", "jax.default_backend"),
    **_moved("", "jax.lib.xla_bridge.", "jax.", "device_count devices"),
    "jax.lib.xla_bridge": Removal("", code="jax.extend.backend"),
    **_moved("0.5.0", "jax.lib.xla_client.", "jax.", "XlaRuntimeError>errors.JaxRuntimeError Device"),
    **_moved("0.6.0", "jax.lib.xla_client.", "jax.", "ArrayImpl>Array"),
    **_moved("0.6.0", "jax.lib.xla_extension.", "jax.", "XlaRuntimeError>errors.JaxRuntimeError ArrayImpl>Array"),
    "jax.lib.xla_client.register_custom_call_target": Removal("0.6.0", code="jax.ffi.register_ffi_target"),
    # jax.sharding
    "jax.sharding.XLACompatibleSharding": Removal("0.4.34", "jax.sharding.Sharding"),
    "jax.sharding.use_mesh": Removal("0.7.1", "jax.set_mesh"),
    "jax.sharding.PmapSharding": Removal("0.10.0", code="jax.sharding.NamedSharding"),
    # jax.experimental and jax.extend
    **_moved("0.3.16", "jax.experimental.", "jax.example_libraries.", "stax optimizers"),
    "jax.experimental.maps": Removal("0.4.31", code="jax.vmap"),
    "jax.experimental.maps.xmap": Removal("0.4.31", code="jax.vmap"),
    "jax.experimental.maps.Mesh": Removal("0.4.11", "jax.sharding.Mesh"),
    "jax.experimental.PartitionSpec": Removal("0.4.11", "jax.sharding.PartitionSpec"),
    **_moved("0.4.11", "jax.experimental.pjit.", "jax.sharding.", "PartitionSpec NamedSharding"),
    "jax.experimental.pjit.with_sharding_constraint": Removal("", "jax.lax.with_sharding_constraint"),
    "jax.experimental.host_callback": Removal(
        "0.8.0", code="jax.debug.callback, jax.pure_callback, jax.experimental.io_callback"
    ),
    "jax.experimental.host_callback.call": Removal("0.8.0", code="jax.experimental.io_callback(f, result_shape, x)"),
    "jax.experimental.host_callback.id_tap": Removal("0.8.0", code="jax.debug.callback(lambda x: f(x, ()), x)"),
    "jax.experimental.host_callback.id_print": Removal("0.8.0", code='jax.debug.print("{}", x)'),
    "jax.experimental.host_callback.barrier_wait": Removal("0.8.0", code="jax.effects_barrier()"),
    "jax.experimental.export": Removal("0.4.36", "jax.export"),
    "jax.experimental.global_device_array": Removal("", code="jax.Array"),
    "jax.extend.ffi": Removal("0.7.0", "jax.ffi"),
    # jax.util
    "jax.util": Removal("0.8.0"),
    "jax.util.prod": Removal("", "math.prod"),
}

# Attributes that arrays once had -> (the first version without it, what to write; `{x}` is the array, `{given}`
# what was passed).
ARRAY_REMOVALS: dict[str, tuple[str, str]] = {
    "device_buffer": ("0.4.27", "{x.atom}.addressable_data(0)"),
    "device_buffers": ("0.4.27", "[shard.data for shard in {x.atom}.addressable_shards]"),
    "to_py": ("", "{np}.asarray({x})"),
    "split": ("0.4.14", "{jnp}.split({x}, {given})"),
    "broadcast": ("0.4.14", "{lax}.broadcast({x}, {given})"),
    "broadcast_in_dim": ("0.4.14", "{lax}.broadcast_in_dim({x}, {given})"),
    "tile": ("0.3.17", "{jnp}.tile({x}, ({given}))"),
}

# Options of `jax.config` that no longer exist -> the first version without it. What they switched is on, or gone.
OPTION_REMOVALS: dict[str, str] = {
    **dict.fromkeys(("jax_array", "jax_jit_pjit_api_merge"), "0.4.14"),
    **{f"experimental_cpp_{name}": "0.4.9" for name in ("jit", "pjit", "pmap")},
    "jax_enable_memories": "0.5.0",
    **dict.fromkeys(("jax_eager_pmap", "jax_data_dependent_tracing_fallback"), "0.6.0"),
    "jax_pmap_no_rank_reduction": "0.9.0",
}

# Keyword arguments that were renamed or removed: (function, old name) -> the new name, '' if it can be left out.
KEYWORD_REMOVALS: dict[tuple[str, str], str] = {
    ("jax.numpy.reshape", "newshape"): "shape",
    ("jax.numpy.clip", "a_min"): "min",
    ("jax.numpy.clip", "a_max"): "max",
    ("jax.numpy.clip", "a"): "arr",
    ("jax.numpy.percentile", "interpolation"): "method",
    ("jax.numpy.quantile", "interpolation"): "method",
    ("jax.nn.softmax", "initial"): "",
    ("jax.nn.log_softmax", "initial"): "",
    ("jax.lax.with_sharding_constraint", "axis_resources"): "shardings",
    ("jax.jit", "in_axis_resources"): "in_shardings",
    ("jax.jit", "out_axis_resources"): "out_shardings",
    ("jax.experimental.pjit.pjit", "in_axis_resources"): "in_shardings",
    ("jax.experimental.pjit.pjit", "out_axis_resources"): "out_shardings",
    ("jax.shard_map", "check_rep"): "check_vma",
    ("jax.export.export", "lowering_platforms"): "platforms",
}
