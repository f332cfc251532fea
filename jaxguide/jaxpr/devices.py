"""Know what a `shard_map` gives to each of its devices, and what collectives and outputs make of the devices' values.

`jax.pmap` is a `shard_map` too (JAX 0.10.2 to 0.12.0.1). `interpret` runs the body.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.compat import collectives
from jaxguide.compat.collectives import Division


@dataclass(frozen=True)
class Shards:
    """How a `shard_map` divides its arrays. A device has a number, that of its position in `devices()`.

    Args:
        axes: the axes of the mesh that it maps over, with their sizes.
        inputs, outputs: for each array, the axes of the mesh that divide each of its dimensions.
    """

    axes: dict[str, int]
    inputs: tuple[Division, ...]
    outputs: tuple[Division, ...]

    def devices(self) -> list[dict[str, int]]:
        """Return the position of each device on the axes."""
        positions = itertools.product(*(range(size) for size in self.axes.values()))
        return [dict(zip(self.axes, position, strict=True)) for position in positions]

    def index(self, axes: Sequence[str], device: int) -> int:
        """Return the index of a device along some axes, as `jax.lax.axis_index` does."""
        position, index = self.devices()[device], 0
        for axis in axes:
            index = index * self.axes[axis] + position[axis]
        return index

    def divided(self, value: Any, parts: Division) -> list[Any]:
        """Return each device's part of an array."""
        data, made = _on_host(value)
        return [made(data[offset]) for offset in self._offsets(parts, np.shape(value))]

    def joined(self, values: Sequence[Any], parts: Division) -> Any:
        """Return the array that the devices' parts make."""
        blocks = [_on_host(value)[0] for value in values]
        made = _on_host(values[0])[1]
        local = np.shape(values[0])
        counts = [math.prod(self.axes[axis] for axis in axes) for axes in parts]
        shape = [size * count for size, count in itertools.zip_longest(local, counts, fillvalue=1)]
        whole = np.empty((*shape, *blocks[0].shape[len(local) :]), blocks[0].dtype)
        for block, offset in zip(blocks, self._offsets(parts, shape), strict=True):
            whole[offset] = block
        return made(whole)

    def _offsets(self, parts: Division, shape: Sequence[int]) -> list[tuple[slice, ...]]:
        """Return the part of an array of this shape that each device has."""
        found = []
        for device in range(len(self.devices())):
            slices = []
            for size, axes in itertools.zip_longest(shape, parts, fillvalue=()):
                assert isinstance(size, int)
                block = size // math.prod(self.axes[axis] for axis in axes)
                start = self.index(axes, device) * block
                slices.append(slice(start, start + block))
            found.append(tuple(slices))
        return found

    def collective(self, eqn: Any, inputs: Mapping[int, Sequence[Any]]) -> dict[int, list[Any]]:
        """Run a collective, or what else depends on the device, and return the outputs of each device.

        Args:
            eqn: the equation.
            inputs: the inputs of each device that runs it.

        Raises:
            Exception: whatever JAX raises for a collective that does not work under `jax.vmap`.
        """
        if collectives.is_cast(eqn):
            return {device: list(values) for device, values in inputs.items()}
        if eqn.primitive.name == collectives.AXIS_INDEX:
            axes = collectives.axes_of(eqn)
            return {device: [np.asarray(self.index(axes, device), np.int32)] for device in inputs}
        # Devices that take a branch without this collective do not use its result, so any values will do for them.
        anything = next(iter(inputs.values()))
        columns = zip(*(inputs.get(device, anything) for device in range(len(self.devices()))), strict=True)
        sizes = tuple(self.axes.values())
        stacks = [stacked(column).reshape(*sizes, *np.shape(column[0])) for column in columns]
        outs = collectives.run_collective(eqn, stacks, self.axes)
        rows = [x.reshape(-1, *x.shape[len(sizes) :]) for x in outs]
        return {device: [row[device] for row in rows] for device in inputs}


def is_key_array(value: Any) -> bool:
    """Return whether a value is an array of typed PRNG keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def without_mesh(value: Any, dtype: Any = None) -> Any:
    """Return a constant as a NumPy array, because its type may name the devices of a `shard_map` (0.10.2)."""
    return value if is_key_array(value) else np.asarray(value, dtype)


def stacked(values: Sequence[Any]) -> Any:
    """Return arrays or keys, which may be spread over devices, as one with a new first axis."""
    data, made = zip(*map(_on_host, values), strict=True)
    return made[0](np.stack(data))


def _on_host(value: Any) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """Return an array, which may be spread over devices, as a NumPy array, and what makes such arrays of its parts."""
    if not is_key_array(value):
        return np.asarray(value), lambda part: part
    impl = jax.random.key_impl(value)
    return np.asarray(jax.random.key_data(value)), lambda part: jax.random.wrap_key_data(part, impl=impl)
