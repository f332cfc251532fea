"""Say where an array lies, and how the places of two arrays differ."""

from typing import Any, NamedTuple

import jax
from jax.sharding import NamedSharding

_MANY_DEVICES = 4


class Placement(NamedTuple):
    """Where an argument lies: its sharding, and whether it is committed to it.

    JAX moves uncommitted arrays where it likes, so it only compares the shardings of committed ones. NumPy arrays and
    Python numbers have no sharding.
    """

    sharding: Any
    committed: bool

    @property
    def compared(self) -> Any:
        """Return what `jax.jit` compares to find a compiled program."""
        return self.sharding if self.committed else None

    @property
    def devices(self) -> list[Any]:
        """Return the devices, in the order of the mesh if there is one."""
        mesh: Any = getattr(self.sharding, "mesh", None)
        if hasattr(mesh, "devices"):
            return list(mesh.devices.flat)
        return sorted(getattr(self.sharding, "device_set", ()), key=lambda device: device.id)


def placement(value: Any) -> Placement | None:
    """Return where a value lies; None for tracers, which lie nowhere yet.

    >>> placement(jax.numpy.ones(3)).committed, placement(2.0).compared is None
    (False, True)
    """
    if isinstance(value, jax.core.Tracer):
        return None
    if not isinstance(value, jax.Array):
        return Placement(None, False)
    try:
        return Placement(value.sharding, bool(value.committed))
    except Exception:  # deleted or donated arrays
        return None


def placements_differ(old: Placement | None, new: Placement | None) -> bool:
    """Return whether JAX compiles a program for each of two places, as far as both are known."""
    return old is not None and new is not None and old.compared != new.compared


def words_and_remedy(old: Placement, new: Placement) -> tuple[str, str, str]:
    """Return where two arrays lie, in words that differ, and what to do about it; `{place}` stands for the argument."""
    both = (old, new)
    on_one = not any(len(one.devices) > 1 or isinstance(one.sharding, NamedSharding) for one in both)
    if on_one and old.committed != new.committed:
        words = [f"committed to {_names(one)}" if one.committed else "not committed to a device" for one in both]
        remedy = (
            "commit `{place}` in every call or in none: `jax.device_put(x, device)` commits an array, and so do "
            "programs with a committed argument; without a device, it stays uncommitted"
        )
        return words[0], words[1], remedy
    words = [_words(one) for one in both]
    if words[0] == words[1]:
        words = [f"{_words(one)} of {_names(one)}" for one in both]
    if words[0] == words[1]:
        words = [f"{_words(one)} as {one.sharding}" for one in both]
    remedy = "place `{place}` the same way before each call: `jax.device_put(x, sharding)` with one `sharding`"
    if {*old.devices} != {*new.devices} and len(old.devices) == len(new.devices):
        remedy = (
            "a program is compiled for particular devices: use the same devices in every call, or expect one compile "
            "for each set of devices"
        )
    return words[0], words[1], remedy


def _words(where: Placement) -> str:
    sharding = where.sharding
    if isinstance(sharding, NamedSharding):
        mesh = mesh_words(sharding.mesh)
        if all(part is None for part in sharding.spec):
            return f"replicated over {mesh}"
        return f"sharded as P({', '.join(map(repr, sharding.spec))}) over {mesh}"
    if sharding is None:
        return "not on a device"
    if not where.committed:
        return "uncommitted on one device"
    return f"committed to {_names(where)}" if len(where.devices) == 1 else str(sharding)


def _names(where: Placement) -> str:
    names = [f"{device.platform}:{device.id}" for device in where.devices]
    if len(names) > _MANY_DEVICES:
        names[2:-1] = ["..."]
    return ", ".join(names) or "the host"


def device_names(mesh: Any) -> str:
    """Name the devices of a mesh, or the first and the last of many.

    >>> device_names(jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)))
    'cpu:0'
    """
    return _names(Placement(NamedSharding(mesh, jax.P()), True))


def mesh_words(mesh: Any) -> str:
    """Describe a mesh by its axes and their sizes.

    >>> mesh_words(jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)))
    "the mesh ('x': 1)"
    """
    axes = ", ".join(f"{name!r}: {size}" for name, size in mesh.shape.items())
    kinds = [str(getattr(kind, "name", kind)).lower() for kind in getattr(mesh, "axis_types", None) or ()]
    special = ", ".join(dict.fromkeys(kind for kind in kinds if kind != "auto"))
    return f"the mesh ({axes}{'; ' * bool(special)}{special})" if axes else "no mesh"
