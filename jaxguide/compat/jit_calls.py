"""What JAX compares when it looks for a trace, and the frame in which it was called (0.10.2 to 0.12.0.1)."""

import functools
import inspect
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

# Names in the trace context that are not names of settings.
MESH_CONTEXTS = ("mesh_context_manager", "abstract_mesh_context_manager")
AXES_CONTEXT = "axis_env_state"
# The devices of the mesh of `jax.set_mesh`, which are not part of the trace context: only programs depend on them.
DEVICES_CONTEXT = "concrete_mesh"

# Fields of the options of `jax.jit` -> the argument that sets them; those that say the same as another are left out.
_OPTIONS = {
    "static_argnums": "static_argnums",
    "static_argnames": "static_argnames",
    "donate_argnums": "donate_argnums",
    "donate_argnames": "donate_argnames",
    "in_shardings_leaves": "in_shardings",
    "out_shardings_leaves": "out_shardings",
    "device": "device",
    "backend": "backend",
    "keep_unused": "keep_unused",
    "inline": "inline",
    "compiler_options_kvs": "compiler_options",
}


class JitCall(NamedTuple):
    """A call of a jitted function that JAX's caches did not answer: the Python function, its options and arguments."""

    function: Callable[..., Any]
    options: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def jit_call(frame: FrameType | None) -> JitCall | None:
    """Return the innermost call of a jitted function, from `frame` outward; None if JAX's frames do not show it."""
    while frame is not None:
        held = frame.f_locals
        if {"fun", "jit_info", "args", "kwargs"}.issubset(held) and isinstance(held["args"], tuple):
            return JitCall(held["fun"], held["jit_info"], held["args"], held["kwargs"])
        frame = frame.f_back
    return None


def is_differentiating_backward(frame: FrameType | None) -> bool:
    """Return whether JAX is computing the backward pass of a derivative, in `frame` or outside it."""
    while frame is not None:
        if frame.f_code.co_name in ("backward_pass", "backward_pass3") and "jaxpr" in frame.f_locals:
            return True
        frame = frame.f_back
    return False


def trace_context() -> dict[str, Any]:
    """Return the settings and contexts by which JAX tells traces apart, and `DEVICES_CONTEXT`, by their names.

    Empty if this JAX does not name them.

    >>> trace_context()["jax_enable_x64"]
    False
    """
    from jax._src import config, mesh

    names: tuple[str, ...] = getattr(config, "trace_context_names", tuple)()
    values = config.trace_context()
    if len(names) != len(values):
        return {}
    return {**dict(zip(names, values, strict=True)), DEVICES_CONTEXT: mesh.get_concrete_mesh()}


def axes_in_scope(context: Any) -> dict[Any, int]:
    """Return the sizes of the named axes that `vmap` or `shard_map` put in scope, of a value of `AXES_CONTEXT`."""
    return dict(getattr(context, "axis_sizes", {}))


def option_differences(old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    """Return the options of `jax.jit` that differ, by the name of the argument that sets them.

    JAX infers positions from names and names from positions; only the first of two such options is kept.
    """
    found = {}
    for field, name in _OPTIONS.items():
        before, after = getattr(old, field, None), getattr(new, field, None)
        if before != after and not (name.endswith("names") and name.replace("names", "nums") in found):
            found[name] = (before, after)
    return found


@functools.cache
def clearing_codes() -> frozenset[CodeType]:
    """Return the code of JAX's functions that clear the caches of one jitted function, and of all."""
    import jax

    jitted: Any = type(jax.jit(lambda: None))
    functions = (jax.clear_caches, jitted.clear_cache)
    codes = (getattr(inspect.unwrap(function), "__code__", None) for function in functions)
    return frozenset(code for code in codes if isinstance(code, CodeType))
