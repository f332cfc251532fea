"""Know what `shard_map` and the collectives in it look like in a jaxpr (0.10.2 to 0.12.0.1)."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

SHARD_MAPS = frozenset({"shard_map"})

# Collectives with equal values on all devices -> those with the same values that work under `jax.vmap`.
_PLAIN = {"psum_invariant": "psum", "all_gather_invariant": "all_gather"}
# Operations that change only the type of a value: whether it is known to be equal on all devices.
CASTS = frozenset({"pvary", "pcast", "pbroadcast", "reduced_vary_cast", "vary_unreduced_cast"})
_COLLECTIVES = frozenset(
    {"psum", "psum2", "pmax", "pmin", "all_gather", "all_to_all", "ppermute", "reduce_scatter", "axis_index", *_PLAIN}
)
AXIS_INDEX = "axis_index"
SUMS = frozenset({"psum", "psum2", "psum_invariant"})

Division = tuple[tuple[str, ...], ...]


def divisions(eqn: Any) -> tuple[dict[str, int], tuple[Division, ...], tuple[Division, ...]] | None:
    """Return the axes that a `shard_map` maps over with their sizes, and how they divide its inputs and outputs.

    None if the equation is something else, or lacks what these releases have.
    """
    params = eqn.params
    if eqn.primitive.name not in SHARD_MAPS or not {"mesh", "in_specs", "out_specs"} <= set(params):
        return None
    manual = params.get("newly_manual_axes", params.get("manual_axes", params["mesh"].axis_names))
    axes = {name: size for name, size in params["mesh"].shape.items() if name in manual}
    inputs, outputs = (tuple(map(_division, params[which])) for which in ("in_specs", "out_specs"))
    named = {axis for division in (*inputs, *outputs) for part in division for axis in part}
    return (axes, inputs, outputs) if named <= set(axes) else None


def _division(spec: Any) -> Division:
    return tuple(() if part is None else part if isinstance(part, tuple) else (part,) for part in spec)


def axes_of(eqn: Any) -> tuple[str, ...]:
    """Return the names of the axes that a collective works on."""
    axes = eqn.params.get("axes", eqn.params.get("axis_name", ()))
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    return tuple(axis for axis in axes if isinstance(axis, str))


def mentions_axes(eqn: Any) -> bool:
    """Return whether an equation depends on which device runs it, or is a cast that says whether it does."""
    return is_known(eqn) or any(type(effect).__name__ == "NamedAxisEffect" for effect in getattr(eqn, "effects", ()))


def is_known(eqn: Any) -> bool:
    """Return whether `run_collective` can run a collective."""
    return eqn.primitive.name in CASTS or eqn.primitive.name in _COLLECTIVES


def is_cast(eqn: Any) -> bool:
    """Return whether an equation changes only what JAX knows about a value."""
    return eqn.primitive.name in CASTS


def is_collective(eqn: Any) -> bool:
    """Return whether an equation combines values of several devices."""
    return eqn.primitive.name in _COLLECTIVES and eqn.primitive.name != AXIS_INDEX


def run_collective(eqn: Any, inputs: Sequence[Any], axes: Mapping[str, int]) -> list[Any]:
    """Run a collective on arrays that have the devices' axes in front, and return such arrays."""
    import jax

    def one(*values: Any) -> Any:
        return _plain(eqn, values)

    mapped = one
    for axis, size in reversed(list(axes.items())):
        mapped = jax.vmap(mapped, axis_name=axis, axis_size=size)
    with threefry_as_in(eqn):
        outputs = mapped(*inputs)
    return list(outputs) if eqn.primitive.multiple_results else [outputs]


def _plain(eqn: Any, values: Sequence[Any]) -> Any:
    import jax

    name, params = eqn.primitive.name, eqn.params
    if name == "psum_invariant":
        return jax.lax.psum(values[0], params["axes"])
    if name == "all_gather_invariant":
        return jax.lax.all_gather(
            values[0], params["axis_name"], axis=params["all_gather_dimension"], tiled=params["tiled"]
        )
    return eqn.primitive.bind(*values, **params)


def equation_context(eqn: Any) -> AbstractContextManager[Any]:
    """Return the settings under which an equation was traced, without the devices of a `shard_map` around it."""
    mesh = getattr(eqn.ctx, "cur_abstract_mesh", None)
    if mesh is None or not getattr(mesh, "manual_axes", ()):
        manager: AbstractContextManager[Any] = eqn.ctx.manager
        return manager
    return threefry_as_in(eqn)


def threefry_as_in(eqn: Any) -> AbstractContextManager[Any]:
    """Return the setting under which an equation was traced to draw its numbers."""
    import jax

    setting: AbstractContextManager[Any] = jax.threefry_partitionable(eqn.ctx.threefry_partitionable)
    return setting
