"""Keep the texts of JAX's errors about `jax.shard_map`, shardings, meshes and donated arrays (0.10.2 to 0.12.0.1)."""

from jaxguide.compat.error_texts import Phrase

GUIDE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
PARALLEL = "https://docs.jax.dev/en/latest/sharded-computation.html"
EXPLICIT = "https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html"

# The module of `lax.psum` and the like (0.10.2 to 0.12.0.1).
COLLECTIVES = "jax._src.lax.parallel"
UNBOUND_AXIS = Phrase(NameError, r"unbound axis name: (?P<name>\w+)")
# For `lax.psum` and others with a name that the surrounding `jax.shard_map` does not have.
BARE_ASSERTION = Phrase(AssertionError, r"^$")

# Types in messages: `float32[2]{V:x}` differs from device to device along the mesh axis `x`, `{V:(x,y)}` along two;
# `float32[8@x]` is split along `x`.
CARRY_VARIES = Phrase(
    TypeError,
    r"nput carry (?:component )?(?P<path>\S+) has type (?P<type>\w+\[[^\]]*\]) but the corresponding output carry "
    r"component has type (?P=type)\{V:(?P<axes>[^}]*)\}, so the manual axis types do not match",
)

# In a carry, branches, or an argument and its derivative.
VARIES = Phrase((TypeError, ValueError), r"so the manual axis types do not match")

_NAME = r"shard_map (?P<name>in_specs|out_specs)"
SPECS_LENGTH = Phrase(
    ValueError,
    rf"different lengths of (?:tuple|list) at key path\s+{_NAME}\n.*? of length (?P<count>\d+), but .*? of length "
    r"(?P<values>\d+)",
)
SHARDINGS_LENGTH = Phrase(
    ValueError,
    r"(?P<name>in_shardings) is the wrong length: got .*? of length (?P<count>\d+) for .*? of length (?P<values>\d+)",
)
SPECS_STRUCTURE = Phrase(
    (TypeError, ValueError), rf"^(?:pytree structure error: .*? at key path\s+)?{_NAME}(?! argument must refer to)"
)
SPEC_RANK = Phrase(
    ValueError,
    r"specs entry which is too long .*?(?P<name>in_specs|out_specs)(?P<path>\S*) is P\((?P<split>.*?),?\) which has "
    r"length (?P<length>\d+), but (?:the passed args\[(?P<number>\d+)\](?P<inner>[^\s,]*)|(?P<applied>\S+?)\(\*args\))"
    r".*? has shape (?P<array>\S+), which has rank (?P<rank>\d+)",
)
INDIVISIBLE_SPEC = Phrase(
    ValueError,
    r"the passed args\[(?P<number>\d+)\](?P<inner>\S*) of shape (?P<array>\w+\[[\d,]+\]).*? corresponds to in_specs"
    r".*?, which maps array axis (?P<axis>\d+) \(of size (?P<size>\d+)\) to .*? \(of (?:total )?size (?P<parts>\d+)\)",
)
NOT_REPLICATED = Phrase(
    ValueError,
    r"out_specs which require replication .*?(?P<name>out_specs)(?P<path>\S*) is P\((?P<split>.*?),?\) which implies "
    r"that the corresponding output value is .*? mesh ax(?:is '|es \{.*?\} and not \{)(?P<axes>[^'}]+)",
)

# The name of the axis of a `jax.pmap` without `axis_name` (0.10.2 to 0.12.0.1).
PMAP_AXIS = "_internal_pmap_axis_name"
PMAP = Phrase(ValueError, rf"'{PMAP_AXIS}'.*? (?:implies that (?:the )?array axis 0 is partitioned|of rank at least 1)")
# Which array it is; 0.10 does not say it where an array cannot be divided.
_WHICH = (
    rf"^(?!.*{PMAP_AXIS})(?:One of (?:device_put args|pjit arguments(?: with pytree key path (?P<argument>\S+))?|"
    r"pjit outputs(?: with pytree key path result)?(?P<result>\S*)) )?"
)
INDIVISIBLE = Phrase(
    ValueError,
    rf"{_WHICH}.*?implies that (?:the )?array axis (?P<axis>\d+) is partitioned (?P<parts>\d+) times, but \D*"
    r"(?P<size>\d+)(?: \(full shape|\. Got shape): (?P<shape>\([\d, ]*\))",
)
# The second with explicit axes, where 0.10 has an assertion without a text.
SHARDING_RANK = Phrase(
    ValueError,
    rf"^(?!.*{PMAP_AXIS}).*?(?:of rank at least \d+, but was applied to a value of rank |Length of sharding\.spec .*?"
    r" aval's ndim \()(?P<rank>\d+)",
)
DEVICES_DIFFER = Phrase(
    ValueError,
    r"^Received incompatible devices for jitted computation\. Got argument .*? with device ids (?P<one>\[[\d, ]*\]).*? "
    r"and argument .*? with device ids (?P<other>\[[\d, ]*\])",
)
SPEC_OF_AUTO = Phrase(
    ValueError,
    r"^PartitionSpec passed to (?P<function>\w+) cannot contain axis names that are of type Auto or Manual\. Got "
    r"PartitionSpec: P\((?P<split>.*?),?\) with axis name: (?P<axis>\w+) of type: AxisType\.Auto",
)
EXPLICIT_RESULT = Phrase(
    Exception,
    r"^This reshape is not supported\..*?Got operand type|^Contracting dimensions are sharded and it is ambiguous"
    r"|^\w+ operation with inputs: .*? produces an illegally sharded result|^Use `\.at\[\.\.\.\]\.set.*?out_sharding=",
)
EXPLICIT_GATHER = Phrase(
    Exception, r"^Use `\.at\[\.\.\.\]\.get\(out_sharding=\)` .*?Got operand=ShapedArray\((?P<array>.*?\])\), indices="
)

DONATED_TWICE = Phrase(
    RuntimeError, r"Attempt to (?:donate the same buffer twice|use a buffer that was previously donated) in .*?Execute"
)
