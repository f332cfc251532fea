"""Keep the texts of JAX's errors about pytrees, and about functions that return or take the wrong parts."""

import re

from jaxguide.compat import error_texts
from jaxguide.compat.error_texts import Phrase

# 0.10 has the first text for `jnp.unique(np.array(["a"]))` too.
NOT_NUMERIC = Phrase(
    TypeError,
    r"with dtype \S+ is not a valid JAX array type"
    r"|Error interpreting argument to .*?problematic value is of type <class 'numpy\.ndarray'>",
)

# Python's own words, when JAX calls the student's function: `step() missing 1 required positional argument: 'x'`.
ARGUMENT_COUNT = Phrase(
    TypeError,
    r"^(?:\S+\.)?(<lambda>|\w+)\(\) (?:takes (?:from )?\d+|missing \d+ required positional)[^\n]*$",
    shared=True,
)
NOT_A_FUNCTION = Phrase(TypeError, r"^lax\.(\w+): .* arguments? should be (?:a )?callable")
NO_LEADING_AXIS = Phrase(ValueError, r"scan got value with no leading axis to scan over")
SWITCH_INDEX = Phrase(TypeError, r"^Index type must be an integer, got .* as (\w+)$")

# Python's own words for arithmetic with containers; `0.1 * (a, b)` and `-params` have others.
CONTAINER_OPERAND = Phrase(
    TypeError,
    r"^unsupported operand type\(s\) for (?P<sign>\S+): '.+' and '.+'$|^bad operand type for unary -: '.+'$"
    r"|^can't multiply sequence by non-int of type '.+'$"
    r"|^Only integer scalar arrays can be converted to a scalar index",
)
COMPARED = Phrase(ValueError, error_texts.AMBIGUOUS.pattern)
TREES_DIFFER = Phrase(ValueError, r"^pytree structure error: (different [\w ]+?) at key path\s+tree_map tree([^\n]*)\n")
SUBTREE_TYPES = re.compile(
    r"type\s+<class '(?:\w+\.)*(list|tuple|\w*[dD]ict)'>.*?<class '(?:\w+\.)*(list|tuple|\w*[dD]ict)'>", re.DOTALL
)
SUBTREE_KEYS = re.compile(r"with metadata\s+\(([^\n]*?),?\)\n.*?with metadata\s+\(([^\n]*?),?\)\n", re.DOTALL)
MIXED_KEYS = Phrase(ValueError, r"Comparator raised exception while sorting pytree dictionary keys")
# Up to 0.10, without the class.
ARRAY_IN_METADATA = Phrase(
    ValueError,
    r"Exception raised while checking equality of metadata fields of pytree(?: node of type <class '([^']+)'>)?",
)
TREE_FOR_ARRAY = Phrase(
    TypeError, r"^(?:[\w.]+\.)?(\w+) requires ndarray or scalar arguments, got <class '([\w.]+)'> at position"
)

FWD_PAIR = Phrase(
    TypeError, r"Custom VJP fwd rule (\S+) for function (\S+) must produce a pair .*but instead of a pair"
)
JVP_PAIR = Phrase(TypeError, r"Custom JVP rule (\S+) for function (\S+) must produce a pair [^,]*outputs, but got")
BWD_STRUCTURE = Phrase(
    TypeError, r"Custom VJP bwd rule must .* but got bwd output structure PyTreeDef\((.*)\) for primal input structure"
)
# Up to 0.10, without the name of the function.
BWD_TYPE = Phrase(
    ValueError,
    r"Custom VJP bwd rule (?:attached to (\S+) at .*? )?must .*? at output\[(\d+)\]\S* the bwd rule "
    r"produced an output of type (?:shape/dtype )?~?(\S+) corresponding to an input of type ~?(\S+?),? so",
)
JVP_TYPE = Phrase(
    TypeError,
    r"Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes\. "
    r"Expected ~?(\S+) \(tangent type of \S+\) but got ~?(\S+?)\.$",
)
NONDIFF_TRACER = Phrase(Exception, r"^Found a JAX Tracer object passed as an argument to a custom_vjp function")
# Reverse mode of a rule that is not linear: an assertion of JAX's own, or no transpose rule for what it computes.
NOT_LINEAR = Phrase(Exception, r"^\(ValAccum|Transpose rule \(for reverse-mode differentiation\) for '(\w+)' not")
TUPLE_ATTRIBUTE = Phrase(AttributeError, r"^'tuple' object has no attribute '(\w+)'$")
AUX_PAIR = Phrase(TypeError, r"expected function with aux output to return a two-element tuple, but got type")
PULLBACK_TREE = Phrase(
    ValueError,
    r"argument to a VJP function returned by `jax\.vjp` must match the pytree.*?"
    r"\* out(\S*) was a (?:<class '(?:\w+\.)*)?(.*?) in the original output, but a ",
)
PULLBACK_COUNT = Phrase(TypeError, r"function returned by `jax\.vjp` applied to (\S+) was called with (\d+) arguments")
JVP_SHAPES = Phrase(
    ValueError,
    r"called with different primal and tangent shapes; ?Got primal shape (\(.*?\)) and tangent shape as (\(.*?\))",
)
JVP_TREES = Phrase(TypeError, r"primal and tangent arguments to jax\.jvp must have the same tree structure")
FLOAT_AS_INTEGER = Phrase(
    TypeError, r"^'(?:numpy\.)?float(?:\d+)?' object cannot be interpreted as an integer$", shared=True
)

EINSUM_SIZES = Phrase(
    ValueError, r"^Size of label '(\w)' for operand (\d+) \((\d+)\) does not match previous terms \((\d+)\)"
)
EINSUM_RANK = Phrase(
    ValueError, r"^Einstein sum subscript '?(\w*)'? does not contain the correct number of indices for operand (\d+)"
)
CONV_CHANNELS = Phrase(
    ValueError,
    r"^conv_general_dilated lhs feature dimension size divided by feature_group_count must equal the rhs input "
    r"feature dimension size, but (\d+) // (\d+) != (\d+)",
)
SQUEEZED = Phrase(
    ValueError,
    r"^cannot select an axis to squeeze out which has size not equal to one, got shape=(\([\d, ]*\)) and "
    r"dimensions=(\([\d, ]*\))",
)
NOT_SQUARE = Phrase(ValueError, r"^Argument to (\S+) must have shape \[\.\.\., n, n\], got (\([\d, ]*\))")
CORE_SIZES = Phrase(
    ValueError, r"^inconsistent size for core dimension '(\w+)': (\d+) vs (\d+) on vectorized .*signature='(.+?)'"
)
UNPACKED = Phrase(ValueError, r"^(?:not enough|too many) values to unpack \(expected (\d+)(?:, got (\d+))?\)")
NOT_JSON = Phrase(TypeError, r"^Object of type (ArrayImpl|\w*Tracer) is not JSON serializable")
NO_LENGTH = Phrase(TypeError, r"^len\(\) of unsized object", shared=True)
STARTS_COUNT = Phrase(
    ValueError, r"^Length of slice indices must match number of operand dimensions \((\d+) vs (\([\d, ]*\))"
)
LAX_DTYPES_OF_PARTS = Phrase(
    TypeError,
    r"^lax\.(?P<function>dynamic_update_slice) requires arguments to have the same dtypes, "
    r"got (?P<one>\w+), (?P<other>\w+)",
)
NO_BACKEND = Phrase(
    RuntimeError,
    r"^(?:Unknown backend:?|Backend) '?(\w+)'?(?: requested.*?Platforms present are: ([\w, ]+)|"
    # Without `JAX_PLATFORMS`, JAX looks for the library of a TPU that is not installed (0.10.2 to 0.12.0.1).
    r"(?: failed to initialize: INTERNAL: Failed to open libtpu\.so.*?)?\. Available backends are \[(.*?)\])",
)
COMPILED_TYPES = Phrase(TypeError, r"^Argument types differ from the types for which this computation was compiled")
COMPILED_TYPE = re.compile(r"Argument '(\S+)' compiled with (\S+) and called with (\S+)")
