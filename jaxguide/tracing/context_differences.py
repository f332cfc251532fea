"""Say which of JAX's settings, contexts and options of `jax.jit` changed between two calls."""

from collections.abc import Iterator
from typing import Any

from jaxguide.compat.jit_calls import AXES_CONTEXT, DEVICES_CONTEXT, MESH_CONTEXTS, axes_in_scope, option_differences
from jaxguide.tracing.placements import device_names, mesh_words
from jaxguide.tracing.static_differences import same

_FEW = 2  # options named


def of_options(old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """Yield how the options of two calls differ, and what to do."""
    if old is new:
        return
    found = option_differences(old, new)
    if found:
        changes = ", ".join(
            f"`{name}` was {before} and is now {after}" for name, (before, after) in list(found.items())[:_FEW]
        )
        yield (
            f"`jax.jit` was applied again, with different options: {changes}",
            "apply `jax.jit` once, outside the loop, and call the result",
        )


def of_settings(old: dict[str, Any], new: dict[str, Any], *, compiled: bool) -> Iterator[tuple[str, str]]:
    """Yield which settings and contexts differ for a trace, or for a compile without one, and what to do."""
    changed = [name for name, value in new.items() if name in old and not same(old[name], value)]
    if DEVICES_CONTEXT in changed:
        changed.remove(DEVICES_CONTEXT)
        if compiled:
            yield _of_devices(old[DEVICES_CONTEXT], new[DEVICES_CONTEXT])
    meshes = [name for name in changed if name in MESH_CONTEXTS]
    if meshes:
        yield _of_meshes([old[name] for name in meshes], [new[name] for name in meshes])
    for name in changed:
        if name == AXES_CONTEXT:
            yield _of_axes(axes_in_scope(old[name]), axes_in_scope(new[name]))
        elif name.startswith("jax_"):
            yield (
                f"JAX's setting `{name}` was {old[name]} and is now {new[name]}",
                f"set `{name}` once, before the first call",
            )
        elif name not in meshes:
            yield (
                f"JAX's context `{name}` was {old[name]} and is now {new[name]}",
                "call it in the same context every time",
            )


def _of_meshes(old: list[Any], new: list[Any]) -> tuple[str, str]:
    words = [next(filter(None, map(_mesh, meshes)), "none") for meshes in (old, new)]
    text = f"the mesh in context was {words[0]} and is now {words[1]}"
    if words[0] == words[1]:
        text = "the mesh in context is another one, with the same axes"
    return text, "make every call inside the same `jax.set_mesh`, or every call outside"


def _of_devices(old: Any, new: Any) -> tuple[str, str]:
    words = [f"{mesh_words(mesh)} of {device_names(mesh)}" if mesh.shape else "none" for mesh in (old, new)]
    return (
        f"the mesh of `jax.set_mesh` was {words[0]} and is now {words[1]}",
        "a program is compiled for particular devices: use one mesh in every call, or expect one compile for each",
    )


def _mesh(context: Any) -> str:
    """Describe the value of a mesh's context; empty if there is no mesh in it."""
    if isinstance(context, tuple):  # of `with mesh:`, which can be nested
        return f"{mesh_words(context[-1])} of `with mesh`" if context else ""
    return mesh_words(context) if getattr(context, "shape", None) else ""


def _of_axes(old: dict[Any, int], new: dict[Any, int]) -> tuple[str, str]:
    words = [", ".join(f"`{name}` of size {size}" for name, size in axes.items()) for axes in (old, new)]
    none = "none"
    return (
        f"the named axes in scope, from `vmap` or `shard_map`, were {words[0] or none} and are now {words[1] or none}",
        "each set of named axes needs a separate trace: use the same axis names and sizes, or expect one trace each",
    )
