"""Keep the texts of JAX's errors in each supported version, and links to their documentation, in one place."""

import functools
import re
from dataclasses import dataclass

import jax

_DOCS = "https://docs.jax.dev/en/latest"
API = f"{_DOCS}/_autosummary"


@dataclass(frozen=True)
class Phrase:
    """One kind of error: the class of the exception, a pattern for its text, and whether others use that text.

    In the pattern, a dot also stands for the end of a line. A `shared` text is also used by Python or NumPy.
    """

    error: type[BaseException] | tuple[type[BaseException], ...]
    pattern: str = ""
    shared: bool = False

    @functools.cached_property
    def text(self) -> re.Pattern[str]:
        """The pattern, which is compiled when an error of this class comes first."""
        return re.compile(self.pattern, re.DOTALL)

    def match(self, error: BaseException) -> re.Match[str] | None:
        """Return the match in an error's message; None if the class or text differs."""
        return self.text.search(str(error)) if isinstance(error, self.error) else None


# JAX's word for a transformation -> what a student writes.
TRANSFORMATIONS = {
    "jit": "jax.jit",
    "pjit": "jax.jit",
    "vmap": "jax.vmap",
    "grad": "jax.grad",
    "scan": "lax.scan",
    "while_loop": "lax.while_loop",
    "while_body": "lax.while_loop",
    "while_cond": "lax.while_loop",
    "fori_loop": "lax.fori_loop",
    "cond": "lax.cond",
    "switch": "lax.switch",
    "map": "lax.map",
    "checkpoint / remat": "jax.checkpoint",
}


def link(message: str) -> str:
    """Return the page that JAX's message links to, '' if it has no link; the errors page moved in 0.12."""
    found = re.search(r"See (https://docs\.jax\.dev/\S+)", message)
    return found[1] if found else ""


ERRORS_PAGE = f"{_DOCS}/errors.html"
STATIC_LINK = f"{_DOCS}/jit-compilation.html"
AT_LINK = f"{API}/jax.numpy.ndarray.at.html"

BOOL = Phrase(jax.errors.TracerBoolConversionError)
INTEGER = Phrase(jax.errors.TracerIntegerConversionError)
TO_NUMPY = Phrase(jax.errors.TracerArrayConversionError)
CONCRETE = Phrase(jax.errors.ConcretizationTypeError)
# A `~` before a dtype marks a weak type; the dtype of a typed key is `key<fry>`.
_DTYPE = r"~?([\w<>]+)"
BOOLEAN_MASK = Phrase(jax.errors.NonConcreteBooleanIndexError, r"got ~?bool\[([\d,]*)\]")
LEAK = Phrase(jax.errors.UnexpectedTracerError)
# Any error that JAX is involved in.
ANY = Phrase(Exception, shared=True)
# Arguments of the jitted function, possibly with an index, as in params['w'].
DEPENDS_ON = re.compile(r"depends on the values? of the arguments? ([^\n]*?)\.?(?:\n|$)")
# Of `jax.checking_leaks`: its second paragraph has a line for each object on the way to what holds the tracer.
LEAK_FOUND = Phrase(Exception, r"^Leaked trace")
LEAKED_TRACER = re.compile(r"<\w*Tracer (\d+)>")
# Which function was traced, and where the traced value was made.
LEAK_FUNCTION = re.compile(r"(?:value leaked was|while tracing the function) (\S+) at (.+):(\d+) (?:traced )?for \S+")
LEAK_MADE = re.compile(r"created on line:?\s+(.+):(\d+):\d+ \((\S+)\)")

# 0.10: "Slice entries must be static integers."
DYNAMIC_SLICE = Phrase(IndexError, r"Slice entries must be static integers|slice indices must have static")
# The entries of a shape: `(3.0, 2)`, or `(Array(3., dtype=float32),)`.
SHAPE = Phrase(
    TypeError,
    r"Shapes must be 1D sequences of concrete values of integer type(?:.*got \((?P<entries>.*)\)\.)?",
)
PARAMETER = Phrase(TypeError, r"In a call to primitive (\w+), the value of parameter (\w+) was not hashable")
# NumPy's error for `np.zeros(n)` and `np.random.normal(size=n)`; 0.10 writes the tracer differently.
NUMPY_SIZE = Phrase(TypeError, r"expected a sequence of integers or a single integer, got '\w*Tracer")
UNHASHABLE_TRACER = Phrase(TypeError, r"unhashable type: '(?:\w+\.)*\w*Tracer'")

SET_ITEM = Phrase(TypeError, r"immutable and do not support in-place item assignment")
SET_NUMPY_ITEM = Phrase(ValueError, r"^setting an array element with a sequence\.$")
DELETE_ITEM = Phrase(AttributeError, r"__delitem__", shared=True)
SET_SHAPE = Phrase(AttributeError, r"property 'shape' of '\w+' object has no setter|can't set attribute 'shape'")
NO_METHOD = Phrase(
    AttributeError,
    r"'(?:[\w.]*ArrayImpl|\w*Tracer)' object has no attribute '(\w+)'|^(?:\w*Tracer) has no attribute (\w+)",
)
# A missing name of JAX: while it is deprecated, the text is JAX's own; afterwards it is Python's.
NO_MODULE_NAME = Phrase(AttributeError, r"^module '(?P<module>jax(?:\.\w+)*)' has no attribute '(?P<name>\w+)'")
DEPRECATED_NAME = Phrase(
    AttributeError, r"^(?P<module>jax(?:\.\w+)*)\.(?P<name>\w+) (?:is deprecated|was deprecated|was removed)"
)
NO_IMPORT = Phrase(ImportError, r"^cannot import name '(?P<name>\w+)' from '(?P<module>jax(?:\.\w+)*)'")
NO_MODULE = Phrase(ModuleNotFoundError, r"^No module named '(?P<name>jax(?:\.\w+)+)'")
DEPRECATED_ATTRIBUTE = Phrase(AttributeError, r"^arr\.(\w+) has been deprecated\.")
NO_OPTION = Phrase(AttributeError, r"^Unrecognized config option: (\w+)")
# 0.10 writes the class without its module.
DEVICE_CALLED = Phrase(TypeError, r"^'(?:[\w.]*\.)?(?:Device|NamedSharding)' object is not callable$")
VALUE_CALLED = Phrase(TypeError, r"^'[\w.]+' object is not callable$", shared=True)
TRANSPOSE = Phrase(
    TypeError,
    r"^transpose permutation isn't a permutation of operand dimensions, got permutation \(([^)]*)\) "
    r"for operand shape \(([^)]*)\)",
)
VIEW_SHAPE = Phrase(NotImplementedError, r"^`type` argument of array\.view\(\) is not supported")
VIEW_DTYPE = Phrase(
    TypeError, r"^(?:Cannot interpret '-?\d+' as a data type|_view\(\) takes from 1 to 3 positional)", shared=True
)
# A NumPy array has no `.at`, a tuple of arrays no `.block_until_ready`.
NO_JAX_METHOD = Phrase(AttributeError, r"^'([\w.]+)' object has no attribute '(\w+)'$")
FLATTEN_ORDER = Phrase(
    (ValueError, TypeError),
    r"^Unexpected value for 'order' argument: \d|^_?flatten\(\) got an unexpected keyword argument 'start_dim'",
)
BOOL_AS_DTYPE = Phrase(TypeError, r"^Cannot interpret '(True|False)' as a data type", shared=True)
NOT_AVAILABLE_WHILE_TRACING = Phrase(
    AttributeError, r"^The '(block_until_ready|copy_to_host_async)' method is not available on traced array"
)
NOT_A_SCALAR = Phrase(
    (TypeError, ValueError),
    r"^Only scalar arrays can be converted to Python scalars|^can only convert an array of size 1 to a Python scalar",
    shared=True,
)
READ_ONLY = Phrase(ValueError, r"^(?:assignment destination|output array|\w+ array) is read-only$")
NUMPY_CHANGES = Phrase(
    (TypeError, NotImplementedError),
    r"^JAX Arrays do not implement the arr\.flat property|argument 1 must be a? ?numpy\.ndarray, not \S*ArrayImpl"
    r"|^putmask: first argument must be an array|^return arrays must be of ArrayType"
    r"|immutable and do not support in-place item assignment",
)
# A host function's error keeps the text of its traceback only.
NO_ARGUMENT = Phrase(TypeError, r"^(?:[\w.]+\.)?(\w+)\(\) got an unexpected keyword argument '(\w+)'")
NO_OUT = Phrase(
    NotImplementedError, r"^The 'out' argument to (\S+) is not supported|^out argument of <jnp\.ufunc '(\w+)'>"
)
NO_KIND = Phrase(TypeError, r"^'kind' argument to (\w+) is not supported\. Use stable=")
TOO_LARGE = Phrase(
    OverflowError,
    r"^Python int (?P<value>-?\d+) too large to convert to (?P<dtype>u?int\d+)"
    r"|^An overflow was encountered while parsing an argument to a jitted computation, whose argument path is "
    r"(?P<path>\S+)\. Got <class 'int'> with value (?P<given>-?\d+)",
)
OUT_OF_BOUNDS = Phrase(
    OverflowError, r"^Python integer (?P<value>-?\d+) out of bounds for (?P<dtype>u?int\d+)", shared=True
)
TOO_LARGE_SEED = Phrase(OverflowError, r"^Python int too large to convert to C long", shared=True)
OUT_OF_MEMORY = Phrase(
    RuntimeError, r"^(?:RESOURCE_EXHAUSTED|INTERNAL): .*?[Oo]ut of memory.*? allocat\w+ ([\d.]*\d) ?(bytes|[KMGT]i?B)"
)
AT_CALLED = Phrase(TypeError, r"_IndexUpdateHelper' object is not callable")
AT_SET = Phrase(TypeError, r"_IndexUpdateHelper' object does not support item assignment")
AT_ARITHMETIC = Phrase(TypeError, r"unsupported operand type\(s\) for (\S+): '_IndexUpdateRef'")

UNHASHABLE_STATIC = Phrase(
    ValueError,
    r"Non-hashable static arguments are not supported(?:.*hash an object of type <class '(?P<type>[^']+)'>)?",
)
NOT_AN_ARGUMENT = Phrase(
    TypeError,
    r"Error interpreting argument to .*?problematic value is of type <class '(?P<type>[^']+)'> .*?"
    r"at path (?P<path>.+?)\.?\n",
)
INTERPRETED_FUNCTION = re.compile(r"Error interpreting argument to <function (\S+) at")
NOT_JAX_RESULT = Phrase(
    TypeError,
    r"function (?P<name>\S+) at (?P<file>.+):(?P<number>\d+) traced for jit returned a value of type "
    r"<class '(?P<type>[^']+)'>(?: at output component (?P<path>\S+?),)?",
)
STATIC_NAME = Phrase(ValueError, r"has invalid argnames \{'(?P<name>\w+)'.*?\} in static_argnames")
STATIC_NUMBER = Phrase(ValueError, r"has static_argnums=\((?P<number>\d+),?\), but only accepts (?P<of>\d+) positional")
# The result of a computation in place of a function.
NOT_CALLABLE = Phrase(
    TypeError,
    r"Expected a callable value, got\s*(?:\w*Tracer|Traced<|Array\(|\[[\[\s\d.\-]|-?(?:\d|inf|nan)|True|False)",
)

GRAD_INTEGER = Phrase(TypeError, r"(grad|value_and_grad) requires real- or complex-valued inputs .*? but got (\w+)")
JACOBIAN_INTEGER = Phrase(
    TypeError, r"(jacfwd|jacrev) requires (?:real-valued|real- or complex-valued) inputs .*? but got (u?int\w*|bool)"
)
GRAD_SHAPE = Phrase(TypeError, r"Gradient only defined for scalar-output functions\. Output had shape: (\([^)]*\))")
GRAD_OUTPUT = Phrase(TypeError, r"Gradient only defined for scalar-output functions\. Output was (.*?)\.$")
GRAD_COMPLEX = Phrase(TypeError, r"requires real-valued outputs .*? but got complex\w+")
GRAD_INTEGER_OUT = Phrase(TypeError, r"requires real-valued outputs .*? but got (u?int\w+|bool)")
GRAD_ARGNUMS = Phrase(
    TypeError, r"differentiating with respect to argnums=(\d+) requires at least .* only (\d+) positional"
)
JVP_DTYPE = Phrase(TypeError, r"arguments to jax\.jvp do not match; dtypes must be equal")
JVP_CONTAINER = Phrase(TypeError, r"arguments to jax\.jvp must be tuples or lists")
VJP_SHAPE = Phrase(
    ValueError, rf"for argument to VJP function: got ([^,\[]+\[[^\]]*\]), but expected {_DTYPE}\[([\d,]*)\]"
)
NO_JVP_RULE = Phrase(AttributeError, r"No (JVP|VJP) defined for custom_(?:jvp|vjp) function (\w+)")
FORWARD_OF_VJP = Phrase(TypeError, r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function")

VMAP_SIZES = Phrase(ValueError, r"vmap got inconsistent sizes for array axes to be mapped")
VMAP_RANK = Phrase(ValueError, r"vmap was requested to map its argument along axis (-?\d+).*?but is only (\d+)")
VMAP_IN_AXES = Phrase(ValueError, r"vmap in_axes must be an int.*len\(in_axes\)=(\d+), len\(args\)=(\d+)")
VMAP_AXIS_SIZES = re.compile(
    r"(?P<count>one|most|some) (?:axis|axes) (?:\([^)]*\) )?had size (?P<size>\d+)(?::|, e\.g\.) "
    r"axis -?\d+ of (?:argument )?(?P<name>\S+) of type"
)
# How it names an array: by its position, keyword or parameter, and its place in a tree.
VMAP_AXIS_NAME = re.compile(r"(?:args\[(?P<number>\d+)\]|kwargs\['(?P<key>\w+)'\]|(?P<name>\w*))(?P<path>.*)")
VMAP_IN_AXES_KIND = Phrase(TypeError, r"vmap in_axes must be an int, None, or a tuple of entries .*, but got (?!len)")
VMAP_OUT_PREFIX = Phrase(ValueError, r"vmap out_axes specification must be a tree prefix")
LIST_BY_KEY = Phrase(TypeError, r"^list indices must be integers or slices, not str$")
VMAP_ALL_NONE = Phrase(ValueError, r"vmap must have at least one non-None value in in_axes")
VMAP_OUT_NONE = Phrase(
    ValueError,
    r"at vmap out_axes, got axis spec None but output was batched|vmap has mapped output.* but out_axes is None",
)
VMAP_PREFIX = Phrase(ValueError, r"vmap in_axes specification must be a tree prefix")
NOT_JAX_TYPE = Phrase(
    TypeError, r"Argument '(.*)' of type '?<class '((?:[\w.]+\.)?(?P<type>\w+))'>'? is not a valid JAX type"
)

CALLBACK_JVP = Phrase(ValueError, r"Pure callbacks do not support JVP")
CALLBACK_VMAP = Phrase(NotImplementedError, r"vmap is only supported for the pure_callback primitive")
ORDERED_VMAP = Phrase(ValueError, r"Cannot `vmap` ordered IO callback")
IO_JVP = Phrase(ValueError, r"IO callbacks do not support JVP")
IO_VMAP_COND = Phrase(NotImplementedError, r"IO effect not supported in vmap-of-cond")
IO_VMAP_WHILE = Phrase(Exception, r"[Oo]rdered IO effects not supported in (?:vmap|while_loop with batched predicate)")
HOST_RESULT = Phrase(
    RuntimeError, r"Incorrect output (shape|dtype) for return value #\d+: Expected: (.+?), Actual: (.+?)\s*$"
)

# Of a `jax.Ref`. Where the function that returns it was traced, and which of its results it is.
REF_RETURNED = Phrase(
    ValueError,
    r"function (?P<name>\S+) at (?P<file>.+?):(?P<number>\d+) traced for [^\n]+? returned a mutable array "
    r"reference of type [^\n]+?(?: at output tree path result(?P<path>\S+))?, but mutable array references cannot "
    r"be returned",
)
REF_TWICE = Phrase(ValueError, r"only one reference to a mutable array may be passed .* appeared at both ([^ ]+) and")
REF_CLOSED_OVER = Phrase(ValueError, r"a mutable array reference .* was both closed over and passed as the argument")
# In 0.10.2, in forward mode, and in 0.12.
REF_DIFFERENTIATED = Phrase(
    (TypeError, ValueError),
    r"Expected cotangent type Ref\{|must be called on `Ref` types|cannot differentiate with respect to a Ref-typed",
)
REF_WRITE = Phrase(Exception, r"operation with (?:a )?(differentiated|vmapped) value on an? [\w-]+ array reference")

# The message has the traceback of the host function, below that of the thread that runs the program.
HOST_FAILURE = Phrase(Exception, r"Traceback \(most recent call last\):\n  File .*callback\.py")
HOST_FRAMES = re.compile(r'^  File "(.+?)", line (\d+), in (\S+)$', re.MULTILINE)
HOST_ERROR = re.compile(
    r"^(?:jaxguide\.callbacks\.host_call\.)?HostFunctionError: (?P<text>`(?P<name>.+?)`"
    r"(?:.*?\((?P<file>[^()\n]+), line (?P<line>\d+)\))?.*)$",
    re.MULTILINE,
)
HOST_KEYWORD = re.compile(r"^TypeError: (?:\S+\.)?(\w+|<lambda>)\(\) got an unexpected keyword argument '(\w+)'")

LAX_DTYPE = Phrase(
    TypeError,
    r"lax\.(?P<function>\w+) requires arguments to have the same dtypes, got (?P<one>\w+), (?P<other>[\w, ]+)\. "
    r".*?Tip: jnp\.(?P<name>\w+)",
)
LAX_RANK = Phrase(TypeError, r"^(\w+): arrays must have the same number of dimensions")
REVERSE_WHILE = Phrase(ValueError, r"Reverse-mode differentiation does not work for lax\.while_loop or lax\.fori_loop")
CARRY_TYPE = Phrase(
    TypeError,
    r"(?:body|body_fun|scan body) ?function carry input and carry output must have equal types|"
    r"carry input and carry output must have equal types",
)
CARRY_TYPES = re.compile(
    r"input carry (?:component )?(?P<name>\S+) has type ~?(?P<old>(?P<dtype>[\w<>]+)\[(?P<shape>[\d,]*)\]).*?"
    r"component has type ~?(?P<new>(?P<new_dtype>[\w<>]+)\[(?P<new_shape>[\d,]*)\])"
)
CARRY_KEYS = re.compile(r"symmetric difference of key sets: \{(.*?)\}")
CARRY_OTHER_KEYS = re.compile(
    r"is a <class 'dict'> with pytree metadata \((.*?),?\) but [^\n]*? is a <class 'dict'> "
    r"with pytree metadata \((.*?),?\),"
)
CARRY_STRUCTURE = Phrase(TypeError, r"carry input and carry output must have the same pytree structure")
SCAN_PAIR = Phrase(TypeError, r"scan body output must be a pair, got")
SCAN_LENGTH = Phrase(ValueError, r"scan got `length` argument of (\d+) which disagrees with leading axis sizes")
SCAN_SIZES = Phrase(ValueError, r"scan got values with different leading axis sizes: (\d+), (\d+)")
SCAN_NO_LENGTH = Phrase(ValueError, r"scan got no values to scan over and `length` not provided")
WHILE_CONDITION = Phrase(
    TypeError, rf"cond_fun must return a boolean scalar, but got output type\(s\) \[ShapedArray\({_DTYPE}\[([\d,]*)"
)
BRANCH_TYPE = Phrase(TypeError, r"(cond|switch) branches must have equal output types")
BRANCH_TYPES = re.compile(
    r"[Tt]he output of (?P<one>\S+?|branch ?\d+)(?: at path (?P<path>\S+))? has type ~?(?P<dtype>[\w<>]+)"
    r"\[(?P<shape>[\d,]*)\][^\n]*? output of (?P<other>.+?) has type ~?(?P<other_dtype>[\w<>]+)"
    r"\[(?P<other_shape>[\d,]*)\]"
)
# `branch 0 is f at FILE:LINE`
BRANCH_PLACES = re.compile(r"^(true_fun|false_fun|branch ?\d+) is (\S+) at (.+):(\d+)$", re.MULTILINE)
BRANCH_STRUCTURE = Phrase(TypeError, r"(cond|switch) branch outputs must have the same pytree structure")
COND_NOT_CALLABLE = Phrase(TypeError, r"lax\.cond: true_fun and false_fun arguments should be callable")
COND_PREDICATE = Phrase(TypeError, r"Pred must be a scalar, got .* of shape (\([^)]*\))")

KEY_NUMBER = Phrase(
    TypeError, r"expected key_data to have ndim, shape, and dtype attributes\. Got (?P<value>.+?)[ .]*$"
)
KEY_DTYPE = Phrase(TypeError, r"expected key_data\.dtype = uint32; got dtype=(?P<dtype>\w+)")
KEY_SHAPE = Phrase(TypeError, r"expected key_data\.shape to end with \(\d+,\); got shape=(?P<shape>\([^)]*\))")
KEY_TYPE = Phrase(TypeError, r"unexpected PRNG key type <class '(?P<type>\w+)'>")
# Of `jax.debug_key_reuse`; the error's cause has the traceback of the first use, except inside jitted functions.
KEY_REUSED = Phrase(jax.errors.KeyReuseError, r"^Previously-consumed key passed to (\S+)")
KEY_REUSED_INSIDE = Phrase(jax.errors.KeyReuseError, r"^In (?:jit|pjit), argument (\d+) is already consumed")
KEY_REUSED_IN_LOOP = Phrase(
    jax.errors.KeyReuseError, r"^(scan|while_loop) (?:\w+ function leads to key reuse|cond and body functions both use)"
)
# Where JAX defines the functions of `jax.random`.
RANDOM_MODULES = ("jax.random", "jax._src.random")
KEY_NDIM = Phrase(TypeError, r"expected key_data\.ndim >= 1; got ndim=(?P<ndim>0)")
KEY_PROMOTION = Phrase(ValueError, r"dtype=key<\w+> is not a valid dtype for JAX type promotion")
KEY_BATCH = Phrase(ValueError, r"(\w+) accepts a single key, but was given a key array of shape")
KEY_ARITHMETIC = Phrase(TypeError, r"^(\w+) does not accept dtypes? .*?key<")
KEY_DTYPES = re.compile(r"(key<\w+>|\w+\d+|bool)(?=[,.]|$)")
KEY_STREAM_NEXT = Phrase(TypeError, r"^'KeyStream' object is not an iterator$")
KEY_SEED = Phrase(TypeError, r"PRNG key seed must be an integer")
KEY_OF_KEY = Phrase(TypeError, r"key accepts a scalar seed, but was given a PRNG key")
KEY_SEEDS = Phrase(TypeError, r"(\w+) accepts a scalar seed, but was given an array of shape")
KEY_TO_NUMPY = Phrase(TypeError, r"PRNGKey dtype cannot be converted to a NumPy array")
LARGER_SAMPLE = Phrase(ValueError, r"^Cannot take a larger sample \(size (\d+)\) than population \(size (\d+)\)")
NO_MODULE_RANDOM = Phrase(AttributeError, r"module 'jax\.numpy' has no attribute 'random'")

BROADCAST = Phrase(TypeError, r"got incompatible shapes for broadcasting: (\([^)]*\)), (\([^)]*\))")
# While tracing, the same mistake raises another class with another text.
BROADCAST_TRACED = Phrase(ValueError, r"Incompatible shapes for broadcasting: shapes=\[(\([^)]*\)), (\([^)]*\))\]")
DOT = Phrase(
    TypeError, r"dot_general requires contracting dimensions to have the same shape, got (\([^)]*\)) and (\([^)]*\))"
)
CONCATENATE_SCALARS = Phrase(ValueError, r"Zero-dimensional arrays cannot be concatenated")
JOINED = Phrase(
    (TypeError, ValueError),
    r"^Cannot (?:concatenate|stack) arrays with (?:different numbers of dimensions|shapes that differ)"
    r"|^All input arrays must have the same shape\. Got",
)
# `range` of a float array of shape () raises the same text as `jnp.concatenate(x, y)`.
INTEGER_SCALAR = Phrase(TypeError, r"Only integer scalar arrays can be converted to a scalar index")
CONCATENATE_CALL = Phrase(
    (TypeError, ValueError),
    rf"{INTEGER_SCALAR.pattern}|Passing an array as a dtype argument is no longer supported"
    r"|concatenate\(\) got multiple values for argument 'axis'",
)
SHAPES_SAID = re.compile(r"\(\d*(?:, ?\d+)*,?\)")
RESHAPE = Phrase(TypeError, r"cannot reshape array of shape (\([^)]*\)) \(size (\d+)\) into shape (\([^)]*\))")
AXIS = Phrase(ValueError, r"axis (-?\d+) is out of bounds for array of dimension (\d+)", shared=True)
TOO_MANY_INDICES = Phrase(
    IndexError, r"Too many indices: array is (\d+)-dimensional, but (\d+) were indexed", shared=True
)
MASK_SHAPE = Phrase(
    IndexError,
    r"^boolean index did not match shape of indexed array in index \d+: got (\([^)]*\)), expected \[([\d, ]+)\]",
)
INDEX_FLOAT = Phrase(TypeError, r"Indexer must have integer or boolean type, got indexer with type (float\w+)")
INDEX_LIST = Phrase(TypeError, r"Using a non-tuple sequence for multidimensional indexing is not allowed")
RAGGED = Phrase(ValueError, r"setting an array element with a sequence.*inhomogeneous shape", shared=True)
AMBIGUOUS = Phrase(ValueError, r"truth value of an array with more than one element is ambiguous", shared=True)

NOT_ARRAY = Phrase(
    TypeError,
    r"^\w+ requires ndarray or scalar arguments, got <class '(?P<type>\w+)'> at position (\d+)",
)
OPERAND = Phrase(
    TypeError, r"unsupported operand type\(s\) for (?P<sign>\S+): '(?:[\w.]*ArrayImpl|\w*Tracer)' and '\w+'"
)
LIST_TIMES = Phrase(TypeError, r"unsupported operand type\(s\) for \*: '(list|tuple|str)' and '\w*Tracer'")
SHAPE_AS_DTYPE = Phrase(TypeError, r"Cannot interpret '(\d+)' as a data type", shared=True)
UNHASHABLE_ARRAY = Phrase(TypeError, r"unhashable type: '[\w.]*ArrayImpl'")
STRING_PLUS = Phrase(TypeError, r'can only concatenate str \(not "(?:[\w.]*ArrayImpl|\w*Tracer)"\) to str')
FORMAT = Phrase(
    TypeError,
    r"unsupported format string passed to (\w*Tracer|numpy\.ndarray|ArrayImpl)\.__format__"
    r"|format: a(?:n integer| real number) is required, not \w*Tracer",
    shared=True,
)
SCALAR_ITERATION = Phrase(TypeError, r"iteration over a 0-d array", shared=True)

# In 0.10, operations that are already compiled raise ValueError with another text.
DELETED = Phrase(Exception, r"Array has been deleted|Buffer has been deleted or donated")
NAN = Phrase(FloatingPointError, r"invalid value \((nan|inf)\) encountered in (\S*\w)")
CHECKIFY = Phrase(ValueError, r"checkify\.check which was not functionalized")

# `jax.lax` name -> `jax.numpy` name, if they differ.
JNP_OF_LAX = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "rem": "remainder",
    "pow": "power",
    "max": "maximum",
    "min": "minimum",
}
