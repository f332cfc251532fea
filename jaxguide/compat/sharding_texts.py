"""Keep the texts of JAX's errors about `jax.shard_map`, shardings, meshes and donated arrays (0.10.2 to 0.12.0.1)."""

from jaxguide.compat.error_texts import Phrase

GUIDE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
PARALLEL = "https://docs.jax.dev/en/latest/sharded-computation.html"
EXPLICIT = "https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html"

# Types in messages: `float32[2]{V:x}` differs from device to device along the mesh axis `x`, `{V:(x,y)}` along two;
# `float32[8@x]` is split along `x`.
CARRY_VARIES = Phrase(
    TypeError,
    r"nput carry (?:component )?(?P<path>\S+) has type (?P<type>\w+\[[^\]]*\])(?P<before>\{[^}]*\})? but the "
    r"corresponding output carry component has type (?P=type)(?P<after>\{[^}]*\})?, so the manual axis types do not "
    r"match",
)
BRANCH_VARIES = Phrase(
    TypeError,
    r"he output of (?P<one>true_fun|branch ?\d+)(?: at path (?P<path>\S+))? has type (?P<type>\w+\[[^\]]*\])"
    r"(?P<before>\{[^}]*\})? but the corresponding output of (?P<other>false_fun|branch ?\d+) has type (?P=type)"
    r"(?P<after>\{[^}]*\})?, so the manual axis types do not match",
)
BACKWARD_VARIES = Phrase(
    ValueError,
    r"Custom VJP bwd rule .*?at output(?:\[(?P<number>\d+)\])?\S* the bwd rule produced an output of type "
    r"\w+\[[^\]]*\](?P<after>\{[^}]*\})? corresponding to an input of type \w+\[[^\]]*\](?P<before>\{[^}]*\})?, so the "
    r"manual axis types do not match",
)

SPECS_LENGTH = Phrase(
    ValueError,
    r"different lengths of (?:tuple|list) at key path\s+shard_map (?P<side>in|out)_specs\n.*? of length "
    r"(?P<count>\d+), but .*? of length (?P<values>\d+)",
)
SPECS_LIST = Phrase(
    ValueError,
    r"different types at key path\s+shard_map (?P<side>in|out)_specs\n.*?has a subtree of type\s+<class 'list'>"
    r".*?of different type\s+<class 'tuple'>",
)
SPECS_OF_ONE = Phrase(
    ValueError,
    r"different types at key path\s+shard_map (?P<side>out)_specs\n.*?has a subtree of type\s+<class "
    r"'(?P<type>tuple|list)'>.*?of different type\s+<class '[\w.]*Tracer'>",
)
SPECS_KEYS = Phrase(
    ValueError,
    r"different (?:pytree metadata|numbers of pytree children) at key path\s+shard_map "
    r"(?P<side>in)_specs\[(?P<number>\d+)\]\n.*?'dict'>\s+with (?:metadata|\d+ child "
    r"keys?)\s+(?P<keys>[^\n]*)\n.*?with (?:metadata|\d+ child keys?)\s+(?P<own>[^\n]*)\n",
)
SPECS_NO_SPEC = Phrase(
    TypeError,
    r"shard_map (?:in|out)_specs argument must be .*?\n\n\s+(?:\* ?)?(?P<side>in|out)_specs(?P<path>\S*) is "
    r"(?P<text>.+?) of type (?P<type>\w+)",
)
SPEC_NAME = Phrase(
    ValueError,
    r"shard_map (?P<side>in|out)_specs argument must refer to an axis marked as manual "
    r"\((?:frozenset\()?(?P<axes>.*?)\), but:.*?_specs\S* refers to '(?P<name>\w+)'",
)
_LENGTH = r"P\((?P<split>.*?),?\) which has length (?P<length>\d+), but "
_RANK = r"has shape (?P<array>\S+), which has rank (?P<rank>\d+)"
IN_SPEC_RANK = Phrase(
    ValueError,
    rf"was given an in_specs entry which is too long .*?(?P<side>in)_specs(?P<path>\S*) is {_LENGTH}the passed "
    rf"args\[(?P<number>\d+)\](?P<inner>[^\s,]*),? .*?{_RANK}",
)
OUT_SPEC_RANK = Phrase(
    ValueError,
    rf"was given an out_specs entry which is too long .*?(?P<side>out)_specs(?P<path>\S*) is {_LENGTH}"
    rf"(?P<applied>\S+?)\(\*args\)(?P<inner>\S*) {_RANK}",
)
INDIVISIBLE_SPEC = Phrase(
    ValueError,
    r"the passed args\[(?P<number>\d+)\](?P<inner>\S*) of shape (?P<array>[^\s,]+(?:,\d+)*\]).*? corresponds to "
    r"in_specs.*?, which maps array axis (?P<axis>\d+) \(of size (?P<size>\d+)\) to mesh ax[ie]s (?P<axes>.*?) \(of "
    r"(?:total )?size (?P<parts>\d+)\)",
)
NOT_REPLICATED = Phrase(
    ValueError,
    r"was given out_specs which require replication which can't be statically "
    r"inferred.*?(?P<side>out)_specs(?P<path>\S*) is P\((?P<split>.*?),?\) which implies that the corresponding output "
    r"value is (?:replicated|only varying) across mesh ax(?:is '|es \{.*?\} and not \{)(?P<axes>[\w,]+)",
)
NO_CONTEXT_MESH = Phrase(ValueError, r"^The context mesh cannot be empty\. Use `jax\.set_mesh")

# The module of `lax.psum` and the like (0.10.2 to 0.12.0.1).
COLLECTIVES = "jax._src.lax.parallel"
UNBOUND_AXIS = Phrase(NameError, r"unbound axis name: (?P<name>\w+)")
# For `lax.psum` and others with a name that the surrounding `jax.shard_map` does not have.
BARE_ASSERTION = Phrase(AssertionError, r"^$")

# The name of the axis of a `jax.pmap` without `axis_name` (0.10.2 to 0.12.0.1).
PMAP_AXIS = "_internal_pmap_axis_name"
PMAP_INDIVISIBLE = Phrase(ValueError, rf"'{PMAP_AXIS}'.*? implies that (?:the )?array axis 0 is partitioned")
PMAP_RANK = Phrase(ValueError, rf"'{PMAP_AXIS}'.*? is only valid for values of rank at least 1")
# Which array it is; 0.10 does not say it where an array cannot be divided.
_WHICH = (
    rf"^(?!.*{PMAP_AXIS})(?:One of (?:device_put args|pjit arguments(?: with pytree key path (?P<argument>\S+))?|"
    r"pjit outputs(?: with pytree key path result)?(?P<result>\S*)) )?"
)
INDIVISIBLE = Phrase(
    ValueError,
    rf"{_WHICH}.*?implies that (?:the )?array axis (?P<axis>\d+) is partitioned (?P<parts>\d+) times, but (?:(?:the )?"
    r"dimension size is|does not evenly divide the dimension size) (?P<size>\d+)(?: \(full shape|\. Got shape): "
    r"(?P<shape>\([\d, ]*\))",
)
SHARDING_RANK = Phrase(
    ValueError,
    rf"{_WHICH}.*?spec=P\((?P<split>.*?),?\), .*? is only valid for values of rank at least (?P<length>\d+), but was "
    rf"applied to a value of rank (?P<rank>\d+)",
)
# With explicit axes, where a spec is too long for an array (0.10 has an assertion without a text).
EXPLICIT_RANK = Phrase(
    ValueError,
    rf"{_WHICH}Length of sharding\.spec \((?P<length>\d+)\) must be equal to aval's ndim \((?P<rank>\d+)\)\. Got "
    rf"sharding\.spec P\((?P<split>.*?),?\), aval",
)
MESH_NAME = Phrase(ValueError, r"^Resource axis: (?P<name>\w+) of P\(.*?\) is not found in mesh: (?P<axes>\(.*?\))")
IN_SHARDINGS_LENGTH = Phrase(
    ValueError,
    r"in_shardings is the wrong length: got a tuple or list of length (?P<count>\d+) for an args tuple of length "
    r"(?P<values>\d+)",
)
SHARDING_DIFFERS = Phrase(
    ValueError,
    r"^Sharding passed to jit does not match the sharding on the respective arg.*?spec=P\((?P<wanted>.*?),?\), .*?arg "
    r"sharding: .*?spec=P\((?P<own>.*?),?\), .*? for arg type: (?P<array>\w+\[[\d,]*\])",
)
DEVICES_DIFFER = Phrase(
    ValueError,
    r"^Received incompatible devices for jitted computation\. Got argument (?P<name>.*?) of .*? with device ids "
    r"(?P<one>\[[\d, ]*\]).*? and argument (?P<other_name>.*?) of .*? with device ids (?P<other>\[[\d, ]*\])",
)
MESHES_DIFFER = Phrase(
    ValueError, r"^Mesh for all inputs should be equal\. Got one mesh: (?P<one>.*?) and another mesh: (?P<other>.*)$"
)
CONTEXT_MESH_DIFFERS = Phrase(
    ValueError, r"context mesh (?P<one>.*?) should match the aval mesh (?P<other>.*?) for shape"
)
MESH_RANK = Phrase(
    ValueError,
    r"^Mesh requires the ndim of its first argument .*?devices\.ndim == (?P<rank>\d+) and len\(axis_names\) == "
    r"(?P<names>\d+)",
)
MESH_DEVICES = Phrase(
    ValueError, r"^Number of devices (?P<devices>\d+) must be >= the product of mesh_shape (?P<shape>\(.*?\))"
)

SPECS_OF_EXPLICIT = Phrase(
    ValueError,
    r"^in_specs passed to shard_map: P\((?P<wanted>.*?),?\) does not match the specs of the input: P\((?P<own>.*?),?\) "
    r"for arg: (?P<array>\S+)\. ",
)
CONSTRAINT_DIFFERS = Phrase(
    AssertionError,
    r"^`with_sharding_constraint` acts as an assert .*? The array sharding: P\((?P<own>.*?),?\) did not match the "
    r"sharding provided: P\((?P<wanted>.*?),?\)\.",
)
CONSTRAINT_EXPLICIT = Phrase(
    ValueError, r"^The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh"
)
CONSTRAINT_NO_MESH = Phrase(RuntimeError, r"^with_sharding_constraint requires a non-empty mesh")
SPEC_OF_AUTO = Phrase(
    ValueError,
    r"^PartitionSpec passed to (?P<function>\w+) cannot contain axis names that are of type Auto or Manual\. Got "
    r"PartitionSpec: P\((?P<split>.*?),?\) with axis name: (?P<axis>\w+) of type: AxisType\.Auto",
)
EXPLICIT_RESHAPE = Phrase(
    Exception, r"^This reshape is not supported\..*?Got operand type: (?P<array>\S+), new sizes: (?P<shape>\(.*?\))"
)
EXPLICIT_CONTRACTION = Phrase(
    Exception, r"^Contracting dimensions are sharded and it is ambiguous how the output should be sharded"
)
EXPLICIT_RESULT = Phrase(
    Exception, r"^\w+ operation with inputs: .*? produces an illegally sharded result: (?P<array>\S+)"
)
EXPLICIT_OPERANDS = Phrase(
    Exception, r"^\w+ got incompatible shardings for broadcasting: (?P<one>\(.*\)), (?P<other>\(.*\))\.$"
)
EXPLICIT_GATHER = Phrase(
    Exception, r"^Use `\.at\[\.\.\.\]\.get\(out_sharding=\)` .*?Got operand=ShapedArray\((?P<array>.*?\])\), indices="
)
EXPLICIT_SCATTER = Phrase(
    Exception,
    r"^Use `\.at\[\.\.\.\]\.set.*?\(out_sharding=\)` .*?Got operand=ShapedArray\((?P<array>.*?\])\), indices=",
)
EXPLICIT_CONCATENATE = Phrase(Exception, r"^All operands should have the same sharding\. Got shardings")
EXPLICIT_CARRY = Phrase(
    TypeError,
    r"nput carry (?:component )?(?P<path>\S+) has type (?P<before>\w+\[[^\]]*\]) but the corresponding output carry "
    r"component has type (?P<after>\w+\[[^\]]*\])",
)

DONATED_TWICE = Phrase(
    RuntimeError,
    r"Attempt to donate the same buffer twice in Execute\(\) \(flattened argument (\d+),.*?first use: (\d+)",
)
DONATED_AND_USED = Phrase(
    RuntimeError,
    r"Attempt to use a buffer that was previously donated in the same call to Execute\(\) \(flattened argument (\d+),"
    r".*?first use: (\d+)",
)
