"""Say where an array lies, and how the places of two arrays differ."""

from typing import Any, NamedTuple

import jax
from jax.sharding import NamedSharding

_MANY_DEVICES = 4


class Placement(NamedTuple):
    """Where an argument lies: its sharding, which NumPy arrays do not have, and whether it is committed to it."""

    sharding: Any
    committed: bool

    @property
    def devices(self) -> list[Any]:
        """Return the devices, in the order of the mesh if there is one."""
        mesh: Any = getattr(self.sharding, "mesh", None)
        if hasattr(mesh, "devices"):
            return list(mesh.devices.flat)
        return sorted(getattr(self.sharding, "device_set", ()), key=lambda device: device.id)


def placement(value: Any) -> Placement | None:
    """Return where a value lies; None for tracers, which lie nowhere yet.

    >>> placement(jax.numpy.ones(3)).committed, placement(2.0)
    (False, Placement(sharding=None, committed=False))
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
    """Return whether JAX compiles a program for each of two places: it moves uncommitted arrays where it likes."""
    if old is None or new is None:
        return False
    was, now = (one.sharding if one.committed else None for one in (old, new))
    return bool(was != now)


def words_and_remedy(old: Placement, new: Placement) -> tuple[str, str, str]:
    """Return where two arrays lie, in words that differ, and what to do about it; `{place}` stands for the argument."""
    both = (old, new)
    if old.committed != new.committed and not any(isinstance(one.sharding, NamedSharding) for one in both):
        words = [f"committed to {_names(one)}" if one.committed else "not committed to a device" for one in both]
        remedy = (
            "commit `{place}` in every call or in none: `jax.device_put(x, device)` commits an array, and so do "
            "programs with a committed argument; without a device, it stays uncommitted"
        )
        return words[0], words[1], remedy
    words = [_words(one) for one in both]
    if words[0] == words[1]:
        words = [f"{words[0]} of {_names(one)}" for one in both]
    if words[0] == words[1]:  # such as a kind of memory
        words = [f"{words[0]} as {one.sharding}" for one in both]
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
    return f"committed to {_names(where)}" if where.committed else "uncommitted on one device"


def _names(where: Placement) -> str:
    names = [f"{device.platform}:{device.id}" for device in where.devices]
    if len(names) > _MANY_DEVICES:
        names[2:-1] = ["..."]
    return ", ".join(names) or "the host"


def mesh_words(mesh: Any) -> str:
    """Describe a mesh by its axes and their sizes.

    >>> mesh_words(jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)))
    "the mesh ('x': 1)"
    """
    axes = ", ".join(f"{name!r}: {size}" for name, size in mesh.shape.items())
    kinds = dict.fromkeys(kind.name.lower() for kind in mesh.axis_types if kind.name != "Auto")
    return f"the mesh ({axes}{'; ' * bool(kinds)}{', '.join(kinds)})" if axes else "no mesh"
