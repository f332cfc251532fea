"""Find the user's code and the `jax.random` function behind an equation, from its traceback."""

import functools
import inspect
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax

from jaxguide import compat
from jaxguide.code.frames import is_library, package_of
from jaxguide.code.lines import Line, user_frames

# Functions of `jax.random` that handle keys; all others draw from one.
HANDLERS = frozenset(
    {
        *("split", "fold_in", "clone", "key", "PRNGKey", "key_data", "key_impl", "wrap_key_data"),
        *("threefry2x32_key", "rbg_key", "unsafe_rbg_key"),
    }
)
Frame = tuple[CodeType, int]
_ONLY_CALLS_VMAP = "equinox"  # in `filter_vmap`


@dataclass(frozen=True)
class CallSite:
    """A call in the user's code: its line, and the instruction that tells it from others on that line."""

    line: Line
    code: CodeType
    instruction: int


def call_site(frame: Frame) -> CallSite:
    """Return the call that a frame is in."""
    code, instruction = frame
    return CallSite(Line(code.co_filename, compat.frame_line(code, instruction)), code, instruction)


@dataclass(frozen=True)
class EquationOrigin:
    """Where an equation comes from.

    Args:
        places: the calls in the user's code, innermost first; empty inside library code that was traced on its own.
        sampler: the outermost function of `jax.random` that they call, if it draws; otherwise None.
        call: identifies the code that called the sampler.
        site: identifies the equation within such a call.
        moment: the traceback object, which all equations of an inlined inner call share.
        vmaps: the number of the user's `jax.vmap`s between the equation and the start of its jaxpr.
        mapped: how many of the `places` are inside the innermost of them; None if unknown.
    """

    places: tuple[CallSite, ...]
    sampler: str | None
    call: tuple[Any, ...]
    site: tuple[Any, ...]
    moment: Any
    vmaps: int
    mapped: int | None


@functools.cache
def _sampler_codes() -> dict[tuple[str, str], str]:
    """Map the (file, function name) of each public function of `jax.random` to its public name."""
    found = {}
    for name in dir(jax.random):
        function = inspect.unwrap(getattr(jax.random, name))
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and not name.startswith("_"):
            found[code.co_filename, code.co_name] = name
    return found


def origin(source_info: Any, jaxpr: Any) -> EquationOrigin:
    """Return where an equation of `jaxpr` comes from, according to its `source_info`."""
    frames = compat.traceback_frames(source_info)
    inner = next((i for i, (code, _) in enumerate(frames) if not is_library(code.co_filename)), len(frames))
    sampler, caller, below = None, inner, 0
    for i in reversed(range(inner)):
        code = frames[i][0]
        name = _sampler_codes().get((code.co_filename, code.co_name))
        if name is not None:
            sampler, caller, below = name, i + 1, i
            break
    if sampler in HANDLERS:
        sampler = None
    vmaps, mapped = _user_vmaps(source_info, frames[below:], inner - below, jaxpr)
    places = tuple(map(call_site, user_frames(frames)))
    return EquationOrigin(places, sampler, tuple(frames[caller:]), tuple(frames), source_info.traceback, vmaps, mapped)


def _user_vmaps(source_info: Any, frames: list[Frame], inner: int, jaxpr: Any) -> tuple[int, int | None]:
    """Count the user's `vmap`s around an equation, not those that a sampler, `jacfwd` or a library uses internally.

    Returns the number, and how many of the user's calls are inside the innermost.
    """
    around = compat.transforms(source_info)
    count = around.count("vmap")
    if count == 0 or "transpose" in around:
        return 0, None
    drawn_by_user = all(compat.in_jax(code) for code, _ in frames[:inner])
    seen = [i for i, (code, _) in enumerate(frames) if compat.in_jax(code) and code.co_name == compat.VMAP_FRAME]
    users = [i for i in seen if _on_behalf_of_user(frames, i, drawn_by_user)]
    if not seen and _has_jacfwd(jaxpr):
        # JAX inlined a checkpointed function: its equations keep the names of the transformations, not their frames.
        return 0, None
    return max(count - len(seen) + len(users), 0), len(user_frames(frames[: users[0]])) if users else None


def _on_behalf_of_user(frames: list[Frame], vmap: int, drawn_by_user: bool) -> bool:
    outer = [code for code, _ in frames[vmap + 1 :] if code.co_name != compat.API_FRAME]
    if not outer:
        return True
    caller = outer[0]
    if compat.in_jax(caller):
        return caller.co_name == compat.VECTORIZE_FRAME
    if package_of(caller.co_filename) == _ONLY_CALLS_VMAP:
        caller = next((code for code in outer if package_of(code.co_filename) != _ONLY_CALLS_VMAP), caller)
    # Lifted transformations, such as flax's, declare what is shared.
    return drawn_by_user or not is_library(caller.co_filename)


def _has_jacfwd(jaxpr: Any) -> bool:
    """Return whether `jax.jacfwd`, which maps over directions and not over rows, made equations of this jaxpr."""
    frames = (frame for eqn in jaxpr.eqns for frame in compat.traceback_frames(eqn.source_info))
    return any(code.co_name == compat.JACFWD_FRAME and compat.in_jax(code) for code, _ in frames)
