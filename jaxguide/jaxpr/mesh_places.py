"""Say where in a mesh of devices code runs, inside `jax.shard_map` and `jax.pmap`."""

from collections.abc import Iterable
from typing import Any

import jax
from jax.sharding import NamedSharding

from jaxguide import compat
from jaxguide.compat.sharding_texts import PMAP_AXIS


def shard_label(indices: Iterable[tuple[object, int]]) -> str:
    """Return the name of a shard, from the axes of its mesh and its index along each.

    >>> shard_label({"data": 1, "model": 0}.items())
    'data=1, model=0'
    """
    return ", ".join(f"{_axis_name(axis)}={index}" for axis, index in indices)


def _axis_name(axis: object) -> str:
    return "device" if axis == PMAP_AXIS else str(axis)


def mapped_in_part() -> bool:
    """Return whether the code here is in a `jax.shard_map` over some of the axes of its mesh, not over all."""
    mesh = jax.sharding.get_abstract_mesh()
    return 0 < len(mesh.manual_axes) < len(mesh.axis_names)


def require_host_calls(helper: str) -> None:
    """Raise NotImplementedError if JAX cannot call the host here for a result (0.10.2 to 0.12.0.1)."""
    if mapped_in_part():
        raise NotImplementedError(
            f"`{helper}` is in a `jax.shard_map` over {_mapped(jax.sharding.get_abstract_mesh())} only, and JAX can "
            "call the host for a result only where all axes of the mesh are mapped: leave out `axis_names`, or call it "
            "outside the `shard_map`."
        )


def varying_like(value: Any, like: Iterable[Any]) -> Any:
    """Return an array marked as different in each shard along the axes along which any of the others is.

    JAX marks what a callback returns as equal in all shards of a `jax.shard_map` (0.10.2 to 0.12.0.1).
    """
    axes = frozenset[Any]().union(*map(compat.varying_axes, like)) - compat.varying_axes(value)
    return jax.lax.pcast(value, tuple(axes), to="varying") if axes else value


def typed_like(value: Any, other: Any) -> Any:
    """Return an array with the sharding and the varying axes in the type of another of the same shape."""
    sharding: Any = jax.typeof(other).sharding
    if sharding.spec != jax.typeof(value).sharding.spec and not sharding.mesh.empty:
        value = jax.sharding.reshard(value, sharding)
    return varying_like(value, [other])


def placed_like(value: Any, like: Iterable[Any]) -> Any:
    """Return what an eager callback returned with a sharding that JAX can compute with, that of its arguments.

    For arguments on several devices, JAX returns an array that it refuses in the next operation (0.10.2 to 0.12.0.1).
    """
    if isinstance(value, jax.core.Tracer) or not isinstance(value, jax.Array) or len(value.devices()) == 1:
        return value
    for other in like:
        sharding = getattr(other, "sharding", None)
        if isinstance(sharding, NamedSharding) and sharding.device_set == value.devices():
            same = other.shape == value.shape
            return jax.device_put(value, sharding if same else NamedSharding(sharding.mesh, jax.P()))
    return value


def _mapped(mesh: jax.sharding.AbstractMesh) -> str:
    return " and ".join(f"`{axis}`" for axis in mesh.manual_axes)
