"""Keep the texts of JAX's errors about `jax.shard_map`, shardings, meshes and donated arrays (0.10.2 to 0.12.0.1)."""

import re

from jaxguide.compat.error_texts import Phrase

GUIDE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
PARALLEL = "https://docs.jax.dev/en/latest/sharded-computation.html"
EXPLICIT = "https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html"

# Array types in messages: `float32[2]{V:x}` differs from device to device along the mesh axis `x`, `{V:(x,y)}` along
# two; `float32[8@x]` is split along `x`.
VARIES = re.compile(r"\bV:(?:\(([^)]*)\)|([^,}]+))")
CARRY_VARIES = Phrase(TypeError, r"carry input and carry output must have equal types.*manual axis types do not match")
CARRY_LEAVES = re.compile(
    r"nput carry (?:component )?(\S+) has type (\S+) but the corresponding output carry component has type "
    r"([^\s,]+\](?:\{[^}]*\})?)"
)
BRANCH_VARIES = Phrase(
    TypeError, r"(cond|switch) branches must have equal output types.*manual axis types do not match"
)
BRANCH_LEAVES = re.compile(
    r"he output of (true_fun|branch ?\d+)(?: at path (\S+))? has type (\S+) but the corresponding output of "
    r"(false_fun|branch ?\d+) has type ([^\s,]+\](?:\{[^}]*\})?)"
)
BACKWARD_VARIES = Phrase(
    ValueError,
    r"Custom VJP bwd rule .*?at output(\S*) the bwd rule produced an output of type (\S+) corresponding to an input of "
    r"type (\S+\](?:\{[^}]*\})?), so the manual axis types do not match",
)

SPECS_LENGTH = Phrase(
    ValueError,
    r"different lengths of (tuple|list) at key path\s+shard_map (in|out)_specs(\S*)\s.*?of type "
    r"(?:tuple|list) of length "
    r"(\d+), but .*? of length (\d+)",
)
SPECS_TYPE = Phrase(
    ValueError,
    r"different types at key path\s+shard_map (in|out)_specs(\S*)\s.*?has a subtree of type\s+<class '([^']+)'>"
    r".*?of different type\s+<class '([^']+)'>",
)
SPECS_KEYS = Phrase(
    ValueError,
    r"different (?:pytree metadata|numbers of pytree children) at key path\s+shard_map (in|out)_specs(\S*)\s",
)
SPECS_NO_SPEC = Phrase(
    TypeError,
    r"shard_map (in|out)_specs argument must be a pytree .*?\n\n\s+\* ?|shard_map (in|out)_specs argument must",
)
NO_SPEC = re.compile(r"(in|out)_specs(\S*) is (.+?) of type (\w+)")
SPEC_NAME = Phrase(
    ValueError,
    r"shard_map (in|out)_specs argument must refer to an axis marked as manual \((.*?)\), but:.*?"
    r"(?:in|out)_specs(\S*) refers to '(\w+)'",
)
SPEC_RANK = Phrase(ValueError, r"was given an (in|out)_specs entry which is too long to be compatible")
SPEC_RANKS = re.compile(
    r"(?:in|out)_specs(\S*) is (P\(.*?\)) which has length (\d+), but (?:the passed "
    r"args|.*?\(\*args\))(\S*?)(?:, where "
    r"args\S+ (?:is bound to .*?'s parameter '([^']+)'|is the index \d+ component .*?),)? has shape (\S+), "
    r"which has rank "
    r"(\d+)"
)
INDIVISIBLE_SPEC = Phrase(ValueError, r"was given argument arrays with axis sizes that are not evenly divisible")
INDIVISIBLE_SPECS = re.compile(
    r"the passed args\[(\d+)\](\S*) of shape (\S+?)(?:, where args\S+ (?:is bound to .*?'s parameter '([^']+)'|is the "
    r"index \d+ component .*?),)?,? corresponds to in_specs(\S*) of value (P\(.*?\)), which maps array axis (\d+) \(of "
    r"size (\d+)\) to mesh (?:axis|axes) (.*?) \(of (?:total )?size (\d+)\)"
)
NOT_REPLICATED = Phrase(ValueError, r"was given out_specs which require replication which can't be statically inferred")
NOT_REPLICATED_SPECS = re.compile(
    r"out_specs(\S*) is (P\(.*?\)) which implies that the corresponding output value is (?:replicated across mesh axis "
    r"'(\w+)'|only varying across mesh axes \{.*?\} and not \{(.*?)\})"
)
NO_CONTEXT_MESH = Phrase(ValueError, r"^The context mesh cannot be empty\. Use `jax\.set_mesh")

UNBOUND_AXIS = Phrase(NameError, r"unbound axis name: (\w+)")
# For `lax.psum` and others with a name that the surrounding `jax.shard_map` does not have.
BARE_ASSERTION = Phrase(AssertionError, r"^$")

INDIVISIBLE = Phrase(
    ValueError,
    r"implies that (?:the )?array axis (\d+) is partitioned (\d+) times, but (?:(?:the )?dimension size is|does not "
    r"evenly divide the dimension size) (\d+)(?: \(full shape|\. Got shape): (\([\d, ]*\))",
)
# With explicit axes, where a spec is too long for an array (0.10 has an assertion without a text).
EXPLICIT_RANK = Phrase(
    ValueError,
    r"^Length of sharding\.spec \((\d+)\) must be equal to aval's ndim \((\d+)\)\. Got sharding\.spec (P\(.*?\)), aval",
)
SPECS_OF_EXPLICIT = Phrase(
    ValueError,
    r"^in_specs passed to shard_map: (P\(.*?\)) does not match the specs of the input: (P\(.*?\)) for arg: (\S+)\. ",
)
SHARDING_RANK = Phrase(
    ValueError, r"is only valid for values of rank at least (\d+), but was applied to a value of rank (\d+)"
)
# Which array it is: "One of pjit outputs with pytree key path result[0] was given the sharding"; 0.10 does not say it
# where an array cannot be divided.
SHARDED_WHAT = re.compile(r"^One of (pjit arguments|pjit outputs|device_put args)(?: with pytree key path (\S+))? ")
SHARDED_HOW = re.compile(r"spec=P\((.*?)\), ")
# The name of the axis of a `jax.pmap` without `axis_name` (0.10.2 to 0.12.0.1).
PMAP_AXIS = "_internal_pmap_axis_name"
MESH_NAME = Phrase(ValueError, r"^Resource axis: (\w+) of P\(.*?\) is not found in mesh: (\(.*?\))")
IN_SHARDINGS_LENGTH = Phrase(
    ValueError,
    r"in_shardings is the wrong length: got a tuple or list of length (\d+) for an args tuple of length (\d+)",
)
SHARDING_DIFFERS = Phrase(ValueError, r"^Sharding passed to jit does not match the sharding on the respective arg")
DEVICES_DIFFER = Phrase(
    ValueError,
    r"^Received incompatible devices for jitted computation\. Got (argument|explicit output sharding|context mesh|"
    r"sharding_constraint|\S+) ?(.*?) with device ids (\[[\d, .]*\]).*? and (argument|\S+) ?(.*?) with device ids "
    r"(\[[\d, .]*\])",
)
ARGUMENT_OF = re.compile(r"^(\S+) of (\S+) with shape (\S+?)(?: and)?$")
MESHES_DIFFER = Phrase(
    ValueError,
    r"^Mesh for all inputs should be equal\. Got one mesh: (.*?) and another mesh: (.*)$|"
    r"context mesh (.*?) should match the aval mesh (.*?) for shape",
)
MESH_AXES = re.compile(r"'(\w+)': (\d+)")
MESH_RANK = Phrase(
    ValueError,
    r"^Mesh requires the ndim of its first argument .*?devices\.ndim == (\d+) and len\(axis_names\) == (\d+)",
)
MESH_DEVICES = Phrase(ValueError, r"^Number of devices (\d+) must be >= the product of mesh_shape (\(.*?\))")

CONSTRAINT_DIFFERS = Phrase(
    AssertionError,
    r"^`with_sharding_constraint` acts as an assert .*? The array sharding: (P\(.*?\)) did not match the sharding "
    r"provided: (P\(.*?\))\.",
)
CONSTRAINT_EXPLICIT = Phrase(
    ValueError, r"^The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the mesh"
)
CONSTRAINT_NO_MESH = Phrase(RuntimeError, r"^with_sharding_constraint requires a non-empty mesh")
SPEC_OF_AUTO = Phrase(
    ValueError,
    r"^PartitionSpec passed to (\w+) cannot contain axis names that are of type Auto or Manual\. Got PartitionSpec: "
    r"(P\(.*?\)) with axis name: (\w+) of type: AxisType\.(Auto|Manual)",
)
EXPLICIT_RESHAPE = Phrase(
    Exception,
    r"^This reshape is not supported\..*?Got operand type: (\S+), new sizes: (\(.*?\))",
)
EXPLICIT_CONTRACTION = Phrase(
    Exception, r"^Contracting dimensions are sharded and it is ambiguous how the output should be sharded"
)
EXPLICIT_RESULT = Phrase(Exception, r"^(\w+) operation with inputs: (.*?) produces an illegally sharded result: (\S+)")
EXPLICIT_OPERANDS = Phrase(Exception, r"^(\w+) got incompatible shardings for broadcasting: (.*?)\.$")
EXPLICIT_GATHER = Phrase(
    Exception, r"^Use `\.at\[\.\.\.\]\.get\(out_sharding=\)` .*?Got operand=ShapedArray\((.*?\])\), indices="
)
EXPLICIT_SCATTER = Phrase(
    Exception, r"^Use `\.at\[\.\.\.\]\.set.*?\(out_sharding=\)` .*?Got operand=ShapedArray\((.*?\])\), indices="
)
EXPLICIT_CONCATENATE = Phrase(Exception, r"^All operands should have the same sharding\. Got shardings")
EXPLICIT_CARRY = Phrase(
    TypeError,
    r"nput carry (?:component )?(\S+) has type (\w+\[[^\]]*\]) but the corresponding output carry component has type "
    r"(\w+\[[^\]]*\])",
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
SHARDING_ERROR = "ShardingTypeError"
