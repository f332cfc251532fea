"""Keep the texts of errors of flax, haiku, optax, equinox and numpyro, and of JAX's below a call of them."""

import dataclasses
import re
from dataclasses import dataclass
from types import TracebackType

from jaxguide.compat.error_texts import Phrase


@dataclass(frozen=True)
class LibraryPhrase(Phrase):
    """An error of a library, or one that JAX or Python raised below a call of it; known without importing the library.

    Args:
        package: the library's top-level module.
        name: the name of the exception's class; '' for any.
    """

    package: str = ""
    name: str = ""

    def match(self, error: BaseException) -> re.Match[str] | None:
        """Return the match in an error's message; None if the class, the library or the text differs."""
        is_named = self.name in ("", type(error).__name__)
        return super().match(error) if is_named and self.package in _packages(error) else None


def _packages(error: BaseException) -> set[str]:
    """Return the top-level modules of an error's class and of the code that it passed through."""
    found = {type(error).__module__.split(".")[0]}
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        found.add(str(traceback.tb_frame.f_globals.get("__name__", "")).split(".")[0])
        traceback = traceback.tb_next
    return found


def _of(package: str, text: str = "", name: str = "") -> LibraryPhrase:
    return LibraryPhrase(Exception, text, package=package, name=name)


LINEN_NESTED = _of("flax", name="ApplyScopeInvalidVariablesStructureError")
LINEN_NO_COLLECTIONS = _of("flax", name="ApplyScopeInvalidVariablesTypeError")
LINEN_NO_COLLECTION = _of(
    "flax",
    r'Tried to access ".+?" from collection "(?P<collection>\w+)" in "(?P<where>\S*)" but',
    "ScopeCollectionNotFound",
)
LINEN_IMMUTABLE = _of(
    "flax", r'in "(?P<where>\S*)" because collection "(?P<collection>\w+)" is immutable', "ModifyScopeVariableError"
)
LINEN_SUBMODULE = _of("flax", r"Submodule \w+ must be defined in", "AssignSubModuleError")
# Flax hides its own frames, so the error is known by the module in the student's frame.
LINEN_PARAMETER = Phrase(ValueError, r"^(?:Parameters|Variables) must be initialized in `setup\(\)`")
LINEN_NAME_IN_USE = _of(
    "flax", r'Could not create \w+ "(?P<name>\w+)" in Module (?P<module>\w+): Name in use', "NameInUseError"
)
LINEN_UNBOUND = _of("flax", name="CallCompactUnboundModuleError")
LINEN_IN_SETUP = _of("flax", r"has no attribute \"(?P<name>\w+)\"\. If \"\w+\" is defined in '\.setup\(\)'")
LINEN_NO_STREAM = _of("flax", r'needs PRNG for "(?P<stream>\w+)"', "InvalidRngError")
LINEN_PARAM_SHAPE = _of(
    "flax",
    r'For parameter "(?P<name>.+?)" in "(?P<where>\S*)", the given initializer is expected to generate shape '
    r"\((?P<needed>[\d, ]*)\), but the existing parameter it received has shape (?P<own>\([\d, ]*\))",
    "ScopeParamShapeError",
)
LINEN_PARAM_MISSING = _of(
    "flax", r'Could not find parameter named "(?P<name>.+?)" in scope "(?P<where>\S*)"', "ScopeParamNotFoundError"
)
LINEN_FROZEN = _of("flax", r"Can't set \w+=.* for Module of type (?P<module>\w+)", "SetAttributeFrozenModuleError")
LINEN_NO_KEY = _of("flax", r"RNGs should be of shape \(2,\) or PRNGKey", "InvalidRngError")
LINEN_ARRAY_AS_DICT = Phrase(TypeError, r"^Array\.__contains__: unsupported operand type <class 'str'>")
# `jax.jit` passes a tracer in place of each argument, and a tracer has none of a module's methods.
LINEN_NO_ATTRIBUTE = Phrase(AttributeError, r"Tracer(?:' object)? has no attribute '?(?:apply|init)\b")

NNX_OTHER_TRACE = _of("flax", r"Cannot mutate (?P<variable>\w+) from a different trace level", "TraceContextError")
NNX_NO_RNGS = Phrase(TypeError, r"^(?P<module>\w+)\.__init__\(\) missing 1 required keyword-only argument: 'rngs'")
NNX_NO_WRT = _of("flax", r"^Missing required argument `wrt`\.")
NNX_PLAIN = _of(
    "flax", r"^Found data on value of type '<class '(?P<type>list|dict)'>' assigned to static attribute '(?P<name>\w+)'"
)

HAIKU_OUTSIDE = _of("haiku", r"^(?:All `hk\.Module`s must be initialized inside|`hk\.\w+` must be used as part of) an")
HAIKU_STATE = _of("haiku", name="NonEmptyStateError")
HAIKU_NO_KEY = _of("haiku", name="MissingRNGError")
HAIKU_KEY_FORGOTTEN = _of(
    "haiku", r"^(?P<method>Init|Apply) must be called with an RNG as the (?:first|second) argument"
)
HAIKU_PARAM_SHAPE = _of(
    "haiku", r"^'(?P<name>\S+)' with retrieved shape (?P<own>\([\d, ]*\)) does not match shape=\[(?P<needed>[\d, ]*)\]"
)
HAIKU_PARAM_MISSING = _of("haiku", r"^Unable to retrieve parameter '(?P<name>\S+)' for module '(?P<where>\S+)'")
HAIKU_NO_PARAMS = _of("haiku", r"^params argument does not appear valid\. It should be a mapping but is of type")
HAIKU_ARGUMENTS = _of("haiku", r"takes (\d+) positional arguments? but (\d+) (?:was|were) given$")

OPTAX_LABELS = _of(
    "optax",
    r"^Some parameters have no corresponding transformation\.\s*Parameter labels: (?P<labels>\[.*?\])\s*Transforms "
    r"keys: (?P<keys>\[.*?\])",
)
OPTAX_LABEL_DTYPE = _of(
    "optax", r"to have a dtype that is a subdtype of <class 'numpy\.integer'>, got (?P<dtype>\w+) instead"
)
OPTAX_NEEDS_PARAMS = _of("optax", r"^You are using a transformation that requires the current value of parameters")
OPTAX_CHAIN = _of("optax", r"^The number of updates and states has to be the same in chain")
OPTAX_MISMATCH = _of(
    "optax",
    r"pytree structure error|unsupported operand type\(s\) for|Custom node type mismatch|"
    r"Expected (?:dict|tuple|list|None)",
)
OPTAX_SHAPES = _of("optax", r"got incompatible shapes for broadcasting: (?P<one>\([\d, ]*\)), (?P<other>\([\d, ]*\))")
OPTAX_INIT = _of("optax", r"requires ndarray or scalar arguments, got <class '([^']+)'>")
OPTAX_APPLY = _of("optax", r"unsupported operand type\(s\) for \+: '(\w+)' and 'NoneType'")

NOT_ARRAY_OUT = Phrase(
    TypeError, r"Output from batched function .*? with type <class '[^']*?(?P<type>\w+)'> is not a valid JAX type"
)
FROZEN_FIELD = Phrase(dataclasses.FrozenInstanceError, r"^cannot assign to field '\w+'$")

NUMPYRO_TWICE = _of("numpyro", r"^all sites must have unique names but got `(?P<name>.+?)` duplicated")
NUMPYRO_NO_KEY = LibraryPhrase(AssertionError, r"^$", package="numpyro")
