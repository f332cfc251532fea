"""What JAX's frames hold when it asks its cache for a program (0.10.2 to 0.12.0.1).

JAX's events name a program; what it was made from is in no public place.
"""

import functools
import inspect
import os
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

# The event of `jax.monitoring` that JAX records, in the thread that compiles, before it looks for a program.
COMPILE_REQUESTED = "/jax/compilation_cache/compile_requests_use_cache"


class CompileRequest(NamedTuple):
    """A program that JAX is about to compile, or to read from its cache.

    Attributes:
        file: its name in the cache's folder.
        function: the function given to `jax.jit`; None if an operation runs by itself.
        primitive: that operation's primitive; None for functions.
        given: the arguments, and the parameters of the operation.
        frame: JAX's frame that was called with them.
    """

    file: str
    function: Callable[..., Any] | None
    primitive: Any
    given: Any
    frame: FrameType


def compile_request(frame: FrameType | None) -> CompileRequest | None:
    """Return what JAX compiles where it records `COMPILE_REQUESTED`; None if its frames do not show that.

    Args:
        frame: the frame that records the event.
    """
    file = ""
    while frame is not None:
        held = frame.f_locals
        file = file or str(held.get("cache_key") or "")
        if file and {"fun", "jit_info", "args", "kwargs"}.issubset(held):  # keys() is a list in Python 3.13
            function, given = held["fun"], (held["args"], held["kwargs"])
            if not file.startswith(f"jit_{getattr(function, '__name__', '')}-"):
                return None
            if not getattr(function, "_apply_primitive", False):
                return CompileRequest(f"{file}-cache", function, None, given, frame)
            # Made by JAX for one primitive with its parameters, which it closes over.
            cells = dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))
            primitive, parameters = cells["prim"].cell_contents, cells["params"].cell_contents
            return CompileRequest(f"{file}-cache", None, primitive, (given, parameters), frame)
        frame = frame.f_back
    return None


def is_called_from_outside(frame: FrameType) -> bool:
    """Return whether code outside JAX called a function of JAX's on arrays, and no transformation did.

    Args:
        frame: of a `CompileRequest`.
    """
    import jax

    from jaxguide import compat

    allowed = {frame.f_code.co_filename, jax.vmap.__code__.co_filename}  # that of `jax.jit`, and of what hides frames
    caller: FrameType | None = frame
    while caller is not None and compat.in_jax(caller.f_code):
        file = caller.f_code.co_filename
        if file not in allowed and not file.startswith(_folders_of_operations()):
            return False
        caller = caller.f_back
    return caller is not None


@functools.cache
def _folders_of_operations() -> tuple[str, ...]:
    import jax

    operations = (jax.numpy.mean, jax.lax.dot, jax.nn.softmax, jax.random.normal)
    folders = {os.path.dirname(inspect.unwrap(one).__code__.co_filename) for one in operations}
    # Transformations lie elsewhere; if they do not, nothing here tells them apart.
    folders.discard(os.path.dirname(inspect.unwrap(jax.vmap).__code__.co_filename))
    return tuple(f"{folder}{os.sep}" for folder in folders)
