"""Keep the texts of JAX's errors in each supported version, and links to their documentation, in one place."""

import re
from dataclasses import dataclass

import jax

_DOCS = "https://docs.jax.dev/en/latest"
API = f"{_DOCS}/_autosummary"


@dataclass(frozen=True)
class Phrase:
    """One kind of error: the class of the exception, a pattern for its text, and whether others use that text.

    A `shared` text is also used by Python or NumPy.
    """

    error: type[BaseException] | tuple[type[BaseException], ...]
    text: re.Pattern[str]
    shared: bool = False

    def match(self, error: BaseException) -> re.Match[str] | None:
        """Return the match in an error's message; None if the class or text differs."""
        return self.text.search(str(error)) if isinstance(error, self.error) else None

    @classmethod
    def of(
        cls, error: type[BaseException] | tuple[type[BaseException], ...], text: str = "", *, shared: bool = False
    ) -> "Phrase":
        """Return the phrase of a class and a pattern, in which a dot also stands for the end of a line."""
        return cls(error, re.compile(text, re.DOTALL), shared)


_phrase = Phrase.of


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

BOOL = _phrase(jax.errors.TracerBoolConversionError)
INTEGER = _phrase(jax.errors.TracerIntegerConversionError)
TO_NUMPY = _phrase(jax.errors.TracerArrayConversionError)
CONCRETE = _phrase(jax.errors.ConcretizationTypeError)
# A `~` before a dtype marks a weak type; the dtype of a typed key is `key<fry>`.
_DTYPE = r"~?([\w<>]+)"
BOOLEAN_MASK = _phrase(jax.errors.NonConcreteBooleanIndexError, r"got ~?bool\[([\d,]*)\]")
LEAK = _phrase(jax.errors.UnexpectedTracerError)
# Arguments of the jitted function, possibly with an index, as in params['w'].
DEPENDS_ON = re.compile(r"depends on the values? of the arguments? ([^\n]*?)\.?(?:\n|$)")
# Of `jax.checking_leaks`: its second paragraph has a line for each object on the way to what holds the tracer.
LEAK_FOUND = _phrase(Exception, r"^Leaked trace")
LEAK_HOLDER = re.compile(r" is referred to by (.+)$")
LEAK_CREATED = re.compile(r"created on line (.+):(\d+):\d+ \((\S+)\)")
LEAK_FUNCTION = re.compile(r"value leaked was (\S+) at (.+):(\d+) traced for (\S+?)\.?\n")

# Which function was traced, or where the traced value was made.
LEAK_TRACED = re.compile(r"while tracing the function (\S+) at (.+):(\d+) for \S+")
LEAK_MADE = re.compile(r"was created on line:?\s+(.+):(\d+):\d+ \((\S+)\)")

# 0.10: "Slice entries must be static integers."
DYNAMIC_SLICE = _phrase(IndexError, r"Slice entries must be static integers|slice indices must have static")
SHAPE = _phrase(TypeError, r"Shapes must be 1D sequences of concrete values of integer type")
PARAMETER = _phrase(TypeError, r"In a call to primitive (\w+), the value of parameter (\w+) was not hashable")
# NumPy's error for `np.zeros(n)` and `np.random.normal(size=n)`; 0.10 writes the tracer differently.
NUMPY_SIZE = _phrase(TypeError, r"expected a sequence of integers or a single integer, got '\w*Tracer")
# The entries of a shape: `(3.0, 2)`, or `(Array(3., dtype=float32),)`.
SHAPE_ENTRIES = re.compile(r"got \((.*)\)\.")
UNHASHABLE_TRACER = _phrase(TypeError, r"unhashable type: '(?:\w+\.)*\w*Tracer'")

SET_ITEM = _phrase(TypeError, r"immutable and do not support in-place item assignment")
SET_NUMPY_ITEM = _phrase(ValueError, r"^setting an array element with a sequence\.$")
DELETE_ITEM = _phrase(AttributeError, r"__delitem__", shared=True)
SET_SHAPE = _phrase(AttributeError, r"property 'shape' of '\w+' object has no setter|can't set attribute 'shape'")
NO_METHOD = _phrase(
    AttributeError,
    r"'(?:[\w.]*ArrayImpl|\w*Tracer)' object has no attribute '(\w+)'|^(?:\w*Tracer) has no attribute (\w+)",
)
# A missing name of JAX: while it is deprecated, the text is JAX's own; afterwards it is Python's.
NO_MODULE_NAME = _phrase(AttributeError, r"^module '(?P<module>jax(?:\.\w+)*)' has no attribute '(?P<name>\w+)'")
DEPRECATED_NAME = _phrase(
    AttributeError, r"^(?P<module>jax(?:\.\w+)*)\.(?P<name>\w+) (?:is deprecated|was deprecated|was removed)"
)
NO_IMPORT = _phrase(ImportError, r"^cannot import name '(?P<name>\w+)' from '(?P<module>jax(?:\.\w+)*)'")
NO_MODULE = _phrase(ModuleNotFoundError, r"^No module named '(?P<name>jax(?:\.\w+)+)'")
DEPRECATED_ATTRIBUTE = _phrase(AttributeError, r"^arr\.(\w+) has been deprecated\.")
NO_OPTION = _phrase(AttributeError, r"^Unrecognized config option: (\w+)")
# 0.10 writes the class without its module.
DEVICE_CALLED = _phrase(TypeError, r"^'(?:[\w.]*\.)?(?:Device|NamedSharding)' object is not callable$")
VALUE_CALLED = _phrase(TypeError, r"^'[\w.]+' object is not callable$", shared=True)
TRANSPOSE = _phrase(
    TypeError,
    r"^transpose permutation isn't a permutation of operand dimensions, got permutation \(([^)]*)\) "
    r"for operand shape \(([^)]*)\)",
)
VIEW_SHAPE = _phrase(NotImplementedError, r"^`type` argument of array\.view\(\) is not supported")
VIEW_DTYPE = _phrase(
    TypeError, r"^(?:Cannot interpret '-?\d+' as a data type|_view\(\) takes from 1 to 3 positional)", shared=True
)
# A NumPy array has no `.at`, a tuple of arrays no `.block_until_ready`.
NO_JAX_METHOD = _phrase(AttributeError, r"^'([\w.]+)' object has no attribute '(\w+)'$")
FLATTEN_ORDER = _phrase(
    (ValueError, TypeError),
    r"^Unexpected value for 'order' argument: \d|^_?flatten\(\) got an unexpected keyword argument 'start_dim'",
)
BOOL_AS_DTYPE = _phrase(TypeError, r"^Cannot interpret '(True|False)' as a data type", shared=True)
NOT_AVAILABLE_WHILE_TRACING = _phrase(
    AttributeError, r"^The '(block_until_ready|copy_to_host_async)' method is not available on traced array"
)
NOT_A_SCALAR = _phrase(
    (TypeError, ValueError),
    r"^Only scalar arrays can be converted to Python scalars|^can only convert an array of size 1 to a Python scalar",
    shared=True,
)
READ_ONLY = _phrase(ValueError, r"^(?:assignment destination|output array|\w+ array) is read-only$")
NUMPY_CHANGES = _phrase(
    (TypeError, NotImplementedError),
    r"^JAX Arrays do not implement the arr\.flat property|argument 1 must be a? ?numpy\.ndarray, not \S*ArrayImpl"
    r"|^putmask: first argument must be an array|^return arrays must be of ArrayType"
    r"|immutable and do not support in-place item assignment",
)
# A host function's error keeps the text of its traceback only.
NO_ARGUMENT = _phrase(TypeError, r"^(?:[\w.]+\.)?(\w+)\(\) got an unexpected keyword argument '(\w+)'")
NO_OUT = _phrase(
    NotImplementedError, r"^The 'out' argument to (\S+) is not supported|^out argument of <jnp\.ufunc '(\w+)'>"
)
NO_KIND = _phrase(TypeError, r"^'kind' argument to (\w+) is not supported\. Use stable=")
TOO_LARGE = _phrase(
    OverflowError,
    r"^Python int (?P<value>-?\d+) too large to convert to (?P<dtype>u?int\d+)"
    r"|^An overflow was encountered while parsing an argument to a jitted computation, whose argument path is "
    r"(?P<path>\S+)\. Got <class 'int'> with value (?P<given>-?\d+)",
)
OUT_OF_BOUNDS = _phrase(
    OverflowError, r"^Python integer (?P<value>-?\d+) out of bounds for (?P<dtype>u?int\d+)", shared=True
)
TOO_LARGE_SEED = _phrase(OverflowError, r"^Python int too large to convert to C long", shared=True)
OUT_OF_MEMORY = _phrase(
    RuntimeError, r"^(?:RESOURCE_EXHAUSTED|INTERNAL): .*?[Oo]ut of memory.*? allocat\w+ ([\d.]*\d) ?(bytes|[KMGT]i?B)"
)
AT_CALLED = _phrase(TypeError, r"_IndexUpdateHelper' object is not callable")
AT_SET = _phrase(TypeError, r"_IndexUpdateHelper' object does not support item assignment")
AT_ARITHMETIC = _phrase(TypeError, r"unsupported operand type\(s\) for (\S+): '_IndexUpdateRef'")

UNHASHABLE_STATIC = _phrase(ValueError, r"Non-hashable static arguments are not supported")
UNHASHABLE_TYPE = re.compile(r"hash an object of type <class '([^']+)'>.*unhashable type: '([^']+)'", re.DOTALL)
NOT_AN_ARGUMENT = _phrase(
    TypeError,
    r"Error interpreting argument to .*?problematic value is of type <class '([^']+)'> .*?at path (.+?)\.?\n",
)
INTERPRETED_FUNCTION = re.compile(r"Error interpreting argument to <function (\S+) at")
NOT_JAX_RESULT = _phrase(
    TypeError,
    r"function (\S+) at (.+):(\d+) traced for jit returned a value of type <class '([^']+)'>"
    r"(?: at output component (\S+?),)?",
)
STATIC_NAME = _phrase(ValueError, r"has invalid argnames \{(.*?)\} in static_argnames")
STATIC_NUMBER = _phrase(ValueError, r"has static_argnums=\((\d+),?\), but only accepts (\d+) positional")
NOT_CALLABLE = _phrase(TypeError, r"Expected a callable value, got")

GRAD_INTEGER = _phrase(TypeError, r"(grad|value_and_grad) requires real- or complex-valued inputs .*? but got (\w+)")
JACOBIAN_INTEGER = _phrase(
    TypeError, r"(jacfwd|jacrev) requires (?:real-valued|real- or complex-valued) inputs .*? but got (u?int\w*|bool)"
)
GRAD_SHAPE = _phrase(TypeError, r"Gradient only defined for scalar-output functions\. Output had shape: (\([^)]*\))")
GRAD_OUTPUT = _phrase(TypeError, r"Gradient only defined for scalar-output functions\. Output was (.*?)\.$")
GRAD_COMPLEX = _phrase(TypeError, r"requires real-valued outputs .*? but got complex\w+")
GRAD_INTEGER_OUT = _phrase(TypeError, r"requires real-valued outputs .*? but got (u?int\w+|bool)")
GRAD_ARGNUMS = _phrase(
    TypeError, r"differentiating with respect to argnums=(\d+) requires at least .* only (\d+) positional"
)
JVP_DTYPE = _phrase(TypeError, r"arguments to jax\.jvp do not match; dtypes must be equal")
JVP_CONTAINER = _phrase(TypeError, r"arguments to jax\.jvp must be tuples or lists")
VJP_SHAPE = _phrase(
    ValueError, rf"for argument to VJP function: got ([^,\[]+\[[^\]]*\]), but expected {_DTYPE}\[([\d,]*)\]"
)
NO_JVP_RULE = _phrase(AttributeError, r"No (JVP|VJP) defined for custom_(?:jvp|vjp) function (\w+)")
BWD_TUPLE = _phrase(TypeError, r"Custom VJP bwd rule must produce an output with the same container")
FORWARD_OF_VJP = _phrase(TypeError, r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function")

VMAP_SIZES = _phrase(ValueError, r"vmap got inconsistent sizes for array axes to be mapped")
VMAP_RANK = _phrase(ValueError, r"vmap was requested to map its argument along axis (-?\d+).*?but is only (\d+)")
VMAP_IN_AXES = _phrase(ValueError, r"vmap in_axes must be an int.*len\(in_axes\)=(\d+), len\(args\)=(\d+)")
VMAP_AXIS_SIZES = re.compile(
    r"(?P<count>one|most|some) (?:axis|axes) (?:\([^)]*\) )?had size (?P<size>\d+)(?::|, e\.g\.) "
    r"axis -?\d+ of (?:argument )?(?P<name>\S+) of type"
)
VMAP_IN_AXES_KIND = _phrase(TypeError, r"vmap in_axes must be an int, None, or a tuple of entries .*, but got (?!len)")
VMAP_OUT_PREFIX = _phrase(ValueError, r"vmap out_axes specification must be a tree prefix")
LIST_BY_KEY = _phrase(TypeError, r"^list indices must be integers or slices, not str$")
VMAP_ALL_NONE = _phrase(ValueError, r"vmap must have at least one non-None value in in_axes")
VMAP_OUT_NONE = _phrase(
    ValueError,
    r"at vmap out_axes, got axis spec None but output was batched|vmap has mapped output.* but out_axes is None",
)
VMAP_PREFIX = _phrase(ValueError, r"vmap in_axes specification must be a tree prefix")
NOT_JAX_TYPE = _phrase(TypeError, r"Argument '(.*)' of type '?<class '([\w.]+)'>'? is not a valid JAX type")

CALLBACK_JVP = _phrase(ValueError, r"Pure callbacks do not support JVP")
CALLBACK_VMAP = _phrase(NotImplementedError, r"vmap is only supported for the pure_callback primitive")
ORDERED_VMAP = _phrase(ValueError, r"Cannot `vmap` ordered IO callback")
IO_JVP = _phrase(ValueError, r"IO callbacks do not support JVP")
NO_TRANSPOSE = _phrase(ValueError, r"transpose")
IO_VMAP_COND = _phrase(NotImplementedError, r"IO effect not supported in vmap-of-cond")
IO_VMAP_WHILE = _phrase(Exception, r"[Oo]rdered IO effects not supported in (?:vmap|while_loop with batched predicate)")
HOST_RESULT = _phrase(
    RuntimeError, r"Incorrect output (shape|dtype) for return value #\d+: Expected: (.+?), Actual: (.+?)\s*$"
)

# Of a `jax.Ref`. Where the function that returns it was traced, and which of its results it is.
REF_RETURNED = _phrase(
    ValueError,
    r"function (\S+) at (.+?):(\d+) traced for [^\n]+? returned a mutable array reference of type [^\n]+?"
    r"(?: at output tree path result(\S+))?, but mutable array references cannot be returned",
)
REF_TWICE = _phrase(ValueError, r"only one reference to a mutable array may be passed .* appeared at both ([^ ]+) and")
REF_CLOSED_OVER = _phrase(ValueError, r"a mutable array reference .* was both closed over and passed as the argument")
# In 0.10.2, in forward mode, and in 0.12.
REF_DIFFERENTIATED = _phrase(
    (TypeError, ValueError),
    r"Expected cotangent type Ref\{|must be called on `Ref` types|cannot differentiate with respect to a Ref-typed",
)
REF_WRITE = _phrase(Exception, r"operation with (?:a )?(differentiated|vmapped) value on an? [\w-]+ array reference")

# The message has the traceback of the host function, below that of the thread that runs the program.
HOST_FAILURE = _phrase(Exception, r"Traceback \(most recent call last\):\n  File .*callback\.py")
HOST_FRAMES = re.compile(r'^  File "(.+?)", line (\d+), in (\S+)$', re.MULTILINE)
HOST_ERROR = re.compile(r"^(?:jaxguide\.callbacks\.errors\.)?HostFunctionError: (.+)$", re.MULTILINE)
HOST_KEYWORD = re.compile(r"^TypeError: (?:\S+\.)?(\w+|<lambda>)\(\) got an unexpected keyword argument '(\w+)'")

LAX_DTYPE = _phrase(TypeError, r"lax\.(\w+) requires arguments to have the same dtypes, got (.*?)\. .*?Tip: jnp\.(\w+)")
LAX_RANK = _phrase(TypeError, r"^(\w+): arrays must have the same number of dimensions")
REVERSE_WHILE = _phrase(ValueError, r"Reverse-mode differentiation does not work for lax\.while_loop or lax\.fori_loop")
CARRY_TYPE = _phrase(
    TypeError,
    r"(?:body|body_fun|scan body) ?function carry input and carry output must have equal types|"
    r"carry input and carry output must have equal types",
)
CARRY_TYPES = re.compile(
    rf"input carry (?:component )?(\S+) has type {_DTYPE}\[([\d,]*)\].*?component has type {_DTYPE}\[([\d,]*)\]"
)
CARRY_KEYS = re.compile(r"symmetric difference of key sets: \{(.*?)\}")
CARRY_OTHER_KEYS = re.compile(
    r"is a <class 'dict'> with pytree metadata \((.*?),?\) but [^\n]*? is a <class 'dict'> "
    r"with pytree metadata \((.*?),?\),"
)
CARRY_STRUCTURE = _phrase(TypeError, r"carry input and carry output must have the same pytree structure")
SCAN_PAIR = _phrase(TypeError, r"scan body output must be a pair, got")
SCAN_LENGTH = _phrase(ValueError, r"scan got `length` argument of (\d+) which disagrees with leading axis sizes")
SCAN_SIZES = _phrase(ValueError, r"scan got values with different leading axis sizes: (\d+), (\d+)")
SCAN_NO_LENGTH = _phrase(ValueError, r"scan got no values to scan over and `length` not provided")
WHILE_CONDITION = _phrase(
    TypeError, rf"cond_fun must return a boolean scalar, but got output type\(s\) \[ShapedArray\({_DTYPE}\[([\d,]*)"
)
BRANCH_TYPE = _phrase(TypeError, r"(cond|switch) branches must have equal output types")
BRANCH_TYPES = re.compile(
    rf"[Tt]he output of (\S+?|branch ?\d+)(?: at path (\S+))? has type {_DTYPE}\[([\d,]*)\]"
    rf"[^\n]*? output of (.+?) has type {_DTYPE}\[([\d,]*)\]"
)
# `branch 0 is f at FILE:LINE`
BRANCH_PLACES = re.compile(r"^(true_fun|false_fun|branch ?\d+) is (\S+) at (.+):(\d+)$", re.MULTILINE)
BRANCH_STRUCTURE = _phrase(TypeError, r"(cond|switch) branch outputs must have the same pytree structure")
COND_NOT_CALLABLE = _phrase(TypeError, r"lax\.cond: true_fun and false_fun arguments should be callable")
COND_PREDICATE = _phrase(TypeError, r"Pred must be a scalar, got .* of shape (\([^)]*\))")
COND_OPERANDS = _phrase(
    TypeError,
    r"^(?:\S+\.)?(<lambda>|\w+)\(\) missing (\d+) required positional arguments?: '(\w+)'",
    shared=True,
)

KEY_NUMBER = _phrase(TypeError, r"expected key_data to have ndim, shape, and dtype attributes\. Got")
KEY_DTYPE = _phrase(TypeError, r"expected key_data\.dtype = uint32; got dtype=(\w+)")
KEY_SHAPE = _phrase(TypeError, r"expected key_data\.shape to end with \((\d+),\); got shape=(\([^)]*\))")
KEY_TYPE = _phrase(TypeError, r"unexpected PRNG key type <class '(\w+)'>")
# Of `jax.debug_key_reuse`; the error's cause has the traceback of the first use, except inside jitted functions.
KEY_REUSED = _phrase(jax.errors.KeyReuseError, r"^Previously-consumed key passed to (\S+)")
KEY_REUSED_INSIDE = _phrase(jax.errors.KeyReuseError, r"^In (?:jit|pjit), argument (\d+) is already consumed")
KEY_REUSED_IN_LOOP = _phrase(
    jax.errors.KeyReuseError, r"^(scan|while_loop) (?:\w+ function leads to key reuse|cond and body functions both use)"
)
# Where JAX defines the functions of `jax.random`.
RANDOM_MODULES = ("jax.random", "jax._src.random")
KEY_NDIM = _phrase(TypeError, r"expected key_data\.ndim >= 1; got ndim=0")
KEY_PROMOTION = _phrase(ValueError, r"dtype=key<\w+> is not a valid dtype for JAX type promotion")
KEY_BATCH = _phrase(ValueError, r"(\w+) accepts a single key, but was given a key array of shape")
KEY_ARITHMETIC = _phrase(TypeError, r"^(\w+) does not accept dtypes? .*?key<")
KEY_DTYPES = re.compile(r"(key<\w+>|\w+\d+|bool)(?=[,.]|$)")
KEY_STREAM_NEXT = _phrase(TypeError, r"^'KeyStream' object is not an iterator$")
KEY_SEED = _phrase(TypeError, r"PRNG key seed must be an integer")
KEY_OF_KEY = _phrase(TypeError, r"key accepts a scalar seed, but was given a PRNG key")
KEY_SEEDS = _phrase(TypeError, r"(\w+) accepts a scalar seed, but was given an array of shape")
KEY_TO_NUMPY = _phrase(TypeError, r"PRNGKey dtype cannot be converted to a NumPy array")
NO_MODULE_RANDOM = _phrase(AttributeError, r"module 'jax\.numpy' has no attribute 'random'")

BROADCAST = _phrase((TypeError), r"got incompatible shapes for broadcasting: (\([^)]*\)), (\([^)]*\))")
# While tracing, the same mistake raises another class with another text.
BROADCAST_TRACED = _phrase(ValueError, r"Incompatible shapes for broadcasting: shapes=\[(\([^)]*\)), (\([^)]*\))\]")
DOT = _phrase(
    TypeError, r"dot_general requires contracting dimensions to have the same shape, got (\([^)]*\)) and (\([^)]*\))"
)
CONCATENATE_SCALARS = _phrase(ValueError, r"Zero-dimensional arrays cannot be concatenated")
CONCATENATE_RANKS = _phrase(TypeError, r"Cannot concatenate arrays with different numbers of dimensions")
CONCATENATE_SHAPES = _phrase(TypeError, r"Cannot concatenate arrays with shapes that differ in dimensions other than")
CONCATENATE_CALL = _phrase(TypeError, r"Only integer scalar arrays can be converted to a scalar index")
# `range` of a float array of shape () raises the same text as `jnp.concatenate(x, y)`.
INTEGER_SCALAR = _phrase(TypeError, CONCATENATE_CALL.text.pattern)
CONCATENATE_DTYPE = _phrase(ValueError, r"Passing an array as a dtype argument is no longer supported")
CONCATENATE_AXIS = _phrase(TypeError, r"concatenate\(\) got multiple values for argument 'axis'")
SHAPES_SAID = re.compile(r"\(\d*(?:, ?\d+)*,?\)")
STACK_SHAPES = _phrase(ValueError, r"All input arrays must have the same shape\. Got")
RESHAPE = _phrase(TypeError, r"cannot reshape array of shape (\([^)]*\)) \(size (\d+)\) into shape (\([^)]*\))")
AXIS = _phrase(ValueError, r"axis (-?\d+) is out of bounds for array of dimension (\d+)", shared=True)
TOO_MANY_INDICES = _phrase(
    IndexError, r"Too many indices: array is (\d+)-dimensional, but (\d+) were indexed", shared=True
)
INDEX_FLOAT = _phrase(TypeError, r"Indexer must have integer or boolean type, got indexer with type (float\w+)")
INDEX_LIST = _phrase(TypeError, r"Using a non-tuple sequence for multidimensional indexing is not allowed")
RAGGED = _phrase(ValueError, r"setting an array element with a sequence.*inhomogeneous shape", shared=True)
AMBIGUOUS = _phrase(ValueError, r"truth value of an array with more than one element is ambiguous", shared=True)

NOT_ARRAY = _phrase(TypeError, r"^(\w+) requires ndarray or scalar arguments, got <class '(\w+)'> at position (\d+)")
OPERAND = _phrase(TypeError, r"unsupported operand type\(s\) for (\S+): '(?:[\w.]*ArrayImpl|\w*Tracer)' and '(\w+)'")
LIST_TIMES = _phrase(TypeError, r"unsupported operand type\(s\) for \*: '(list|tuple|str)' and '\w*Tracer'")
SHAPE_AS_DTYPE = _phrase(TypeError, r"Cannot interpret '(\d+)' as a data type", shared=True)
UNHASHABLE_ARRAY = _phrase(TypeError, r"unhashable type: '[\w.]*ArrayImpl'")
STRING_PLUS = _phrase(TypeError, r'can only concatenate str \(not "(?:[\w.]*ArrayImpl|\w*Tracer)"\) to str')
FORMAT = _phrase(
    TypeError,
    r"unsupported format string passed to (\w*Tracer|numpy\.ndarray|ArrayImpl)\.__format__"
    r"|format: a(?:n integer| real number) is required, not \w*Tracer",
    shared=True,
)
SCALAR_ITERATION = _phrase(TypeError, r"iteration over a 0-d array", shared=True)

# In 0.10, operations that are already compiled raise ValueError with another text.
DELETED = _phrase(Exception, r"Array has been deleted|Buffer has been deleted or donated")
NAN = _phrase(FloatingPointError, r"invalid value \((nan|inf)\) encountered in (\S+)")
CHECKIFY = _phrase(ValueError, r"checkify\.check which was not functionalized")

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
