"""See how a program uses its PRNG keys, and where it uses one twice; hand out keys so that it does not."""

from jaxguide.keys.check import check_keys
from jaxguide.keys.documented import documented_draws
from jaxguide.keys.observe import key_use
from jaxguide.keys.record import KeyProblem, KeyUse, Use
from jaxguide.keys.reuse import KeyReuseError, no_key_reuse
from jaxguide.keys.stream import KeyStream, KeyStreamError
from jaxguide.keys.tree import key_tree

__all__ = [
    "KeyProblem",
    "KeyReuseError",
    "KeyStream",
    "KeyStreamError",
    "KeyUse",
    "Use",
    "check_keys",
    "documented_draws",
    "key_tree",
    "key_use",
    "no_key_reuse",
]
