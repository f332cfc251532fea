"""Tell from an equation's traceback the user's lines and the `jax.random` function that made it."""

import functools
import inspect
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.frames import is_library
from jaxguide.lines import Line, user_lines

# Functions of `jax.random` that handle keys; all others draw with one.
HANDLERS = frozenset(
    {
        *("split", "fold_in", "clone", "key", "PRNGKey", "key_data", "key_impl", "wrap_key_data"),
        *("threefry2x32_key", "rbg_key", "unsafe_rbg_key"),
    }
)


@dataclass(frozen=True)
class Origin:
    """Where an equation comes from.

    Args:
        lines: the user's lines, innermost first; empty inside library code that was traced on its own.
        sampler: the outermost function of `jax.random` below them that is no mere key handler, None elsewhere.
        call: tells apart the places in the code that called the sampler.
        site: tells apart the equations of one such call.
        moment: the traceback itself, one object for all equations of an inlined inner call.
    """

    lines: tuple[Line, ...]
    sampler: str | None
    call: tuple[Any, ...]
    site: tuple[Any, ...]
    moment: Any


@functools.cache
def _sampler_codes() -> dict[tuple[str, str], str]:
    """Map (file, function name) of the code of each public function of `jax.random` to its public name."""
    found = {}
    for name in dir(jax.random):
        function = inspect.unwrap(getattr(jax.random, name))
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and not name.startswith("_"):
            found[code.co_filename, code.co_name] = name
    return found


def origin(source_info: Any) -> Origin:
    """Return where an equation comes from, told from its `source_info`."""
    frames = compat.traceback_frames(source_info)
    inner = next((i for i, (code, _) in enumerate(frames) if not is_library(code.co_filename)), len(frames))
    sampler, entry = None, inner
    for i in reversed(range(inner)):
        code = frames[i][0]
        name = _sampler_codes().get((code.co_filename, code.co_name))
        if name is not None:
            sampler, entry = name, i
            break
    if sampler in HANDLERS:
        sampler = None
    return Origin(user_lines(frames), sampler, tuple(frames[entry:]), tuple(frames), source_info.traceback)
