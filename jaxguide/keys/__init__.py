"""Show how a program uses its PRNG keys, find keys that it uses twice, and hand out fresh keys."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.keys.check import check_keys
    from jaxguide.keys.documented import documented_draws
    from jaxguide.keys.key_record import KeyProblem, KeyUse, Use
    from jaxguide.keys.observe import key_use
    from jaxguide.keys.reuse import KeyReuseError, no_key_reuse
    from jaxguide.keys.stream import KeyStream, KeyStreamError
    from jaxguide.keys.tree import key_tree

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "KeyProblem": "key_record",
    "KeyReuseError": "reuse",
    "KeyStream": "stream",
    "KeyStreamError": "stream",
    "KeyUse": "key_record",
    "Use": "key_record",
    "check_keys": "check",
    "documented_draws": "documented",
    "key_tree": "tree",
    "key_use": "observe",
    "no_key_reuse": "reuse",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES)

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
