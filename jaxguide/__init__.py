"""Learn and teach JAX: helpers over the real API, lessons that check themselves, an autograder."""

# Up to the version check, use no syntax newer than Python 3.5: this must also run on Pythons that are too old.
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (a clone can be run without being installed)
    sys.exit(
        "jaxguide needs Python 3.11 or newer, but this is Python %d.%d: "  # noqa: UP031
        "start it with a newer one, such as python3.12." % sys.version_info[:2]
    )

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Public name -> module that defines it. Nothing, least of all jax, is imported before a name is used.
_HOMES = {
    "check": "jaxguide.lesson",
    "hint": "jaxguide.lesson",
    "progress": "jaxguide.lesson",
    "solution": "jaxguide.lesson",
    "start": "jaxguide.lesson",
    "program": "jaxguide.tracing",
    "load_ipython_extension": "jaxguide.explain",
    "unload_ipython_extension": "jaxguide.explain",
}
# Former public name -> what to use now.
_GONE = {
    "key_use": "`jaxguide.keys.check_keys(f, *args).uses`",
    "trace_counts": "`with jaxguide.tracing.watch_traces() as traces:`",
}
_MODULES = ("callbacks", "debug", "explain", "keys", "lesson", "tracing")

__all__ = [
    "callbacks",
    "check",
    "debug",
    "explain",
    "hint",
    "keys",
    "lesson",
    "program",
    "progress",
    "solution",
    "start",
    "tracing",
]

if TYPE_CHECKING:
    from jaxguide import callbacks, debug, explain, keys, lesson, tracing
    from jaxguide.lesson import check, hint, progress, solution, start
    from jaxguide.tracing import program


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"jaxguide.{name}")
    if name in _GONE:
        raise ImportError(f"jaxguide no longer has {name!r}: use {_GONE[name]}.")
    raise AttributeError(f"module 'jaxguide' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
