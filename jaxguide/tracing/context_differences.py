"""Say which of JAX's settings, contexts and options of `jax.jit` changed between two calls."""

from collections.abc import Iterator
from typing import Any

from jaxguide.base.text import _
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
        changes = _(", ").join(
            _("`{name}` was {old} and is now {new}").format(name=name, old=before, new=after)
            for name, (before, after) in list(found.items())[:_FEW]
        )
        yield (
            _("`jax.jit` was applied again, with different options: {changes}").format(changes=changes),
            _("apply `jax.jit` once, outside the loop, and call the result"),
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
                _("JAX's setting `{name}` was {old} and is now {new}").format(name=name, old=old[name], new=new[name]),
                _("set `{name}` once, before the first call").format(name=name),
            )
        elif name not in meshes:
            yield (
                _("JAX's context `{name}` was {old} and is now {new}").format(name=name, old=old[name], new=new[name]),
                _("call it in the same context every time"),
            )


def _of_meshes(old: list[Any], new: list[Any]) -> tuple[str, str]:
    words = [next(filter(None, map(_mesh, meshes)), _("none")) for meshes in (old, new)]
    text = _("the mesh in context was {old} and is now {new}").format(old=words[0], new=words[1])
    if words[0] == words[1]:
        text = _("the mesh in context is another one, with the same axes")
    return text, _("make every call inside the same `jax.set_mesh`, or every call outside")


def _of_devices(old: Any, new: Any) -> tuple[str, str]:
    words = [
        _("{mesh} of {devices}").format(mesh=mesh_words(mesh), devices=device_names(mesh)) if mesh.shape else _("none")
        for mesh in (old, new)
    ]
    return (
        _("the mesh of `jax.set_mesh` was {old} and is now {new}").format(old=words[0], new=words[1]),
        _("a program is compiled for particular devices: use one mesh in every call, or expect one compile for each"),
    )


def _mesh(context: Any) -> str:
    """Describe the value of a mesh's context; empty if there is no mesh in it."""
    if isinstance(context, tuple):  # of `with mesh:`, which can be nested
        return _("{mesh} of `with mesh`").format(mesh=mesh_words(context[-1])) if context else ""
    return mesh_words(context) if getattr(context, "shape", None) else ""


def _of_axes(old: dict[Any, int], new: dict[Any, int]) -> tuple[str, str]:
    words = [", ".join(f"`{name}` of size {size}" for name, size in axes.items()) for axes in (old, new)]
    none = _("none")
    return (
        _("the named axes in scope, from `vmap` or `shard_map`, were {old} and are now {new}").format(
            old=words[0] or none, new=words[1] or none
        ),
        _("each set of named axes needs a separate trace: use the same axis names and sizes, or expect one trace each"),
    )
