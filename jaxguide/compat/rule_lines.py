"""Trace programs so that equations of custom derivative rules carry the lines of the rules."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

# The functions of JAX that evaluate a stored program and give each new equation the traceback of the stored one.
_EVALUATORS = frozenset({"eval_jaxpr", "backward_pass", "backward_pass3"})


@contextlib.contextmanager
def lines_of_rules(is_library: Callable[[str], bool]) -> Iterator[None]:
    """Give the equations that a custom rule makes the traceback of the rule while programs are traced.

    JAX gives everything that it computes for a stored equation that equation's traceback, so what the backward function
    of a `custom_vjp` computes has the line of the call (0.10.2 to 0.12.0.1). What was traced before without this is
    kept, but not used here: JAX's caches of traced functions are asked with another key.

    Args:
        is_library: whether a file name belongs to no user.
    """
    from jax._src import source_info_util

    original = source_info_util.current

    def current() -> Any:
        info = original()
        stored: Any = source_info_util._source_info_context.context
        if stored.traceback is None or not _in_a_rule(is_library):
            return info
        return info.replace(traceback=source_info_util.xla_client.Traceback.get_traceback())

    source_info_util.current = current
    try:
        with _other_cache_key():
            yield
    finally:
        source_info_util.current = original


def _in_a_rule(is_library: Callable[[str], bool]) -> bool:
    """Return whether the user's code runs within JAX's evaluation of a stored equation."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            return True
        if code.co_name in _EVALUATORS:
            return False
        frame = frame.f_back
    return False


def _other_cache_key() -> contextlib.AbstractContextManager[Any]:
    """Return a context in which JAX traces jitted functions anew, once per process.

    A context of `jax.make_user_context` would do the same, but making one invalidates what is compiled already.
    """
    from jax._src import config

    context = getattr(config, "jax_jit_cpp_cache_obj", None)
    key = _cache()
    return contextlib.nullcontext() if context is None or key is None else context(key)


@functools.cache
def _cache() -> Any:
    from jax._src.lib import _jax

    made = getattr(_jax, "PjitFunctionCache", None)
    return None if made is None else made()
