"""Say where an array lies, and how the places of two arrays differ."""

from typing import Any, NamedTuple

import jax
from jax.sharding import NamedSharding, Sharding

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
    if _is_on_one_device(old) and _is_on_one_device(new) and old.committed != new.committed:
        words = [_committed(old), _committed(new)]
        remedy = (
            "commit `{place}` in every call or in none: `jax.device_put(x, device)` commits an array, and so do "
            "programs with a committed argument; without a device, it stays uncommitted"
        )
        return words[0], words[1], remedy
    remedy = "place `{place}` the same way before each call: `jax.device_put(x, sharding)` with one `sharding`"
    words = [_words(one) for one in (old, new)]
    if words[0] == words[1]:
        words = [f"{_words(one)} of {_devices(one)}" for one in (old, new)]
    if words[0] == words[1]:
        words = [f"{_words(one)} as {one.sharding}" for one in (old, new)]
    if _device_set(old) != _device_set(new) and len(_device_set(old)) == len(_device_set(new)):
        remedy = (
            "a program is compiled for particular devices: use the same devices in every call, or expect one compile "
            "for each set of devices"
        )
    return words[0], words[1], remedy


def _is_on_one_device(where: Placement) -> bool:
    return len(_device_set(where)) < 2 and not isinstance(where.sharding, NamedSharding)


def _device_set(where: Placement) -> frozenset[Any]:
    return frozenset(where.sharding.device_set) if isinstance(where.sharding, Sharding) else frozenset()


def _committed(where: Placement) -> str:
    if where.committed:
        return f"committed to {_devices(where)}"
    return "not committed to a device"


def _words(where: Placement) -> str:
    sharding = where.sharding
    if isinstance(sharding, NamedSharding):
        mesh = mesh_words(sharding.mesh)
        if all(part is None for part in sharding.spec):
            return f"replicated over {mesh}"
        return f"sharded as {_spec(sharding.spec)} over {mesh}"
    if sharding is None:
        return "not on a device"
    if not where.committed:
        return "uncommitted on one device"
    if len(_device_set(where)) == 1:
        return f"committed to {_devices(where)}"
    return str(sharding)


def _spec(spec: Any) -> str:
    return f"P({', '.join(map(repr, spec))})"


def _devices(where: Placement) -> str:
    if not isinstance(where.sharding, Sharding):
        return "the host"
    mesh: Any = getattr(where.sharding, "mesh", None)
    if hasattr(mesh, "devices"):
        return device_names(mesh)
    return _names(sorted(_device_set(where), key=lambda device: device.id))


def device_names(mesh: Any) -> str:
    """Name the devices of a mesh, or the first and the last of many.

    >>> device_names(jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)))
    'cpu:0'
    """
    return _names(list(mesh.devices.flat))


def _names(devices: list[Any]) -> str:
    names = [f"{device.platform}:{device.id}" for device in devices]
    if len(names) > _MANY_DEVICES:
        return "{first}, ..., {last}".format(first=", ".join(names[:2]), last=names[-1])
    return ", ".join(names)


def mesh_words(mesh: Any) -> str:
    """Describe a mesh by its axes and their sizes.

    >>> mesh_words(jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)))
    "the mesh ('x': 1)"
    """
    types = [str(getattr(kind, "name", kind)) for kind in getattr(mesh, "axis_types", None) or ()]
    axes = ", ".join(f"{name!r}: {size}" for name, size in mesh.shape.items())
    if not axes:
        return "no mesh"
    special = dict.fromkeys(kind.lower() for kind in types if kind != "Auto")
    if special:
        return "the mesh ({axes}; {types})".format(axes=axes, types=", ".join(special))
    return f"the mesh ({axes})"
