"""Keep the texts of errors of flax, haiku, optax and equinox, and of JAX's below a call of them."""

import dataclasses
import re
import traceback
from dataclasses import dataclass

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
        frames = [frame for frame, _line in traceback.walk_tb(error.__traceback__)]
        modules = [type(error).__module__, *(str(frame.f_globals.get("__name__", "")) for frame in frames)]
        is_meant = self.name in ("", type(error).__name__) and self.package in [one.split(".")[0] for one in modules]
        return super().match(error) if is_meant else None


def _of(package: str, text: str = "", name: str = "") -> LibraryPhrase:
    return LibraryPhrase(Exception, text, package=package, name=name)


LINEN_NESTED = _of("flax", name="ApplyScopeInvalidVariablesStructureError")
LINEN_NO_COLLECTIONS = _of("flax", name="ApplyScopeInvalidVariablesTypeError")
LINEN_NO_COLLECTION = _of("flax", r'from collection "(?P<collection>\w+)" in "(?P<where>\S*)" but')
LINEN_IMMUTABLE = _of("flax", r'in "(?P<where>\S*)" because collection "(?P<collection>\w+)" is immutable')
LINEN_SUBMODULE = _of("flax", name="AssignSubModuleError")
# Flax hides its own frames.
LINEN_PARAMETER = Phrase(ValueError, r"^(?:Parameters|Variables) must be initialized in `setup\(\)`")
LINEN_UNBOUND = _of("flax", name="CallCompactUnboundModuleError")
LINEN_NO_STREAM = _of("flax", r'needs PRNG for "(?P<stream>\w+)"')
LINEN_OTHER_PARAMETERS = _of(
    "flax",
    r'^(?:For parameter|Could not find parameter named) "(?P<name>.+?)" in (?:scope )?"(?P<where>\S*)"(?:, the given '
    r"initializer is expected to generate shape \((?P<needed>[\d, ]*)\).* received has shape (?P<own>\([\d, ]*\)))?",
)
LINEN_FROZEN = _of("flax", r"Can't set \w+=.* for Module of type (?P<module>\w+)")

NNX_OTHER_TRACE = _of("flax", r"Cannot mutate (?P<variable>\w+) from a different trace level")
NNX_NO_WRT = _of("flax", r"^Missing required argument `wrt`\.")
NNX_PLAIN = _of("flax", r"^Found data on value of type '<class '(?P<type>\w+)'>' .* static attribute '(?P<name>\w+)'")

HAIKU_OUTSIDE = _of("haiku", r"^(?:All `hk\.Module`s must be initialized inside|`hk\.\w+` must be used as part of) an")
HAIKU_STATE = _of("haiku", name="NonEmptyStateError")
HAIKU_NO_KEY = _of("haiku", name="MissingRNGError")
HAIKU_OTHER_PARAMETERS = _of(
    "haiku",
    r"^(?:Unable to retrieve parameter )?'(?P<name>\S+)' (?:for module '(?P<where>\S+)'|with retrieved shape "
    r"(?P<own>\([\d, ]*\)) does not match shape=\[(?P<needed>[\d, ]*)\])",
)

OPTAX_NEEDS_PARAMS = _of("optax", r"^You are using a transformation that requires the current value of parameters")
OPTAX_MISMATCH = _of(
    "optax",
    r"pytree structure error|unsupported operand type\(s\) for|Custom node type mismatch|Expected (?:dict|tuple|list|"
    r"None)|incompatible shapes for broadcasting: (?P<one>\([\d, ]*\)), (?P<other>\([\d, ]*\))",
)
OPTAX_INIT = _of("optax", r"requires ndarray or scalar arguments, got <class '[^']+'>")
OPTAX_APPLY = _of("optax", r"unsupported operand type\(s\) for \+: '\w+' and 'NoneType'")

FROZEN_FIELD = Phrase(dataclasses.FrozenInstanceError, r"^cannot assign to field '\w+'$")
