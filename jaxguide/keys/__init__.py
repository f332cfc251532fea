"""Show how a program uses its PRNG keys, find keys that it uses twice, and hand out fresh keys."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.keys.check import check_keys
    from jaxguide.keys.documented import documented_draws
    from jaxguide.keys.key_report import KeyProblem, KeyReport, Use
    from jaxguide.keys.reuse import KeyReuseError, no_key_reuse
    from jaxguide.keys.stream import KeyStream, KeyStreamError

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "KeyProblem": "key_report",
    "KeyReport": "key_report",
    "KeyReuseError": "reuse",
    "KeyStream": "stream",
    "KeyStreamError": "stream",
    "Use": "key_report",
    "check_keys": "check",
    "documented_draws": "documented",
    "no_key_reuse": "reuse",
}
_GONE = {
    "KeyUse": "`KeyReport`",
    "key_tree": "`check_keys(f, *args).tree`",
    "key_use": "`check_keys(f, *args).uses`",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES, _GONE)

__all__ = [
    "KeyProblem",
    "KeyReport",
    "KeyReuseError",
    "KeyStream",
    "KeyStreamError",
    "Use",
    "check_keys",
    "documented_draws",
    "no_key_reuse",
]
