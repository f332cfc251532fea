"""Run `check_keys` on programs for four devices, and print JSON: {name: [wanted kinds, found kinds, warnings]}."""

import json
import os
import warnings
from collections.abc import Callable
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxguide.keys import check_keys

S = P("i")
ROWS = jnp.arange(8.0)
PROGRAMS: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {}


def says(*kinds: str) -> Callable[[Any], Any]:
    """Register a program with the kinds of problems that it has."""

    def register(program: Any) -> Any:
        PROGRAMS[program.__name__] = kinds, program
        return program

    return register


def line() -> Mesh:
    return Mesh(np.array(jax.devices()), ("i",))


def square() -> Mesh:
    return Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))


def over(f: Any, inputs: Any, outputs: Any, mesh: Mesh | None = None, **options: Any) -> Any:
    return jax.shard_map(f, mesh=mesh or line(), in_specs=inputs, out_specs=outputs, **options)


def own(key: Any, axis: Any = "i") -> Any:
    return random.fold_in(key, lax.axis_index(axis))


def noisy(x: Any, key: Any) -> Any:
    return x + random.normal(key, x.shape)


def noisy_with_first(x: Any, keys: Any) -> Any:
    return noisy(x, keys[0])


ALL_ALIKE = "same_key_for_all_rows"


@says(ALL_ALIKE)
def one_key_for_all_devices(key: Any) -> Any:
    return over(noisy, (S, P()), S)(ROWS, key)


@says()
def device_folded_in(key: Any) -> Any:
    return over(lambda x, key: noisy(x, own(key)), (S, P()), S)(ROWS, key)


@says()
def keys_over_devices(key: Any) -> Any:
    return over(noisy_with_first, (S, S), S)(ROWS, random.split(key, 4))


@says("drawn_twice")
def two_draws_on_each_device(key: Any) -> Any:
    def both(x: Any, keys: Any) -> Any:
        return noisy(x, keys[0]) * random.uniform(keys[0], x.shape)

    return over(both, (S, S), S)(ROWS, random.split(key, 4))


@says()
def noise_on_a_sum_over_devices(key: Any) -> Any:
    return over(lambda x, key: noisy(lax.psum(x, "i"), key), (S, P()), P())(ROWS, key)


@says()
def shared_on_purpose(key: Any) -> Any:
    return over(lambda x, key: noisy(x, random.clone(key)), (S, P()), S)(ROWS, key)


@says()
def shared_by_pairs_of_devices(key: Any) -> Any:
    return over(lambda x, key: noisy(x, random.fold_in(key, lax.axis_index("i") // 2)), (S, P()), S)(ROWS, key)


@says(ALL_ALIKE)
def scan_carries_one_key_for_all(key: Any) -> Any:
    def walk(x: Any, key: Any) -> Any:
        def body(carry: Any, _: None) -> Any:
            x, key = carry
            key, now = random.split(key)
            return (noisy(x, now), key), None

        return lax.scan(body, (x, key), None, 3)[0][0]

    return over(walk, (S, P()), S)(ROWS, key)


@says()
def loops_of_different_lengths(key: Any) -> Any:
    def walk(x: Any, key: Any) -> Any:
        def body(carry: Any) -> Any:
            i, key, x = carry
            key, now = random.split(key)
            return i + 1, key, noisy(x, now)

        start = (lax.axis_index("i") * 0, own(key), x)
        return lax.while_loop(lambda carry: carry[0] < 2 + lax.axis_index("i"), body, start)[2]

    return over(walk, (S, P()), S)(ROWS, key)


@says()
def only_the_first_device_draws(key: Any) -> Any:
    def first(x: Any, key: Any) -> Any:
        return lax.cond(lax.axis_index("i") == 0, lambda: noisy(x, key), lambda: x)

    return over(first, (S, P()), S)(ROWS, key)


@says()
def keys_gathered_and_picked(key: Any) -> Any:
    def pick(x: Any, key: Any) -> Any:
        return noisy(x, lax.all_gather(key, "i", tiled=True)[lax.axis_index("i")])

    return over(pick, (S, S), S)(ROWS, random.split(key, 4))


@says()
def one_key_along_an_axis_without_data(key: Any) -> Any:
    return over(lambda x, key: noisy(x, own(key, "data")), (P("data"), P()), P("data"), square())(ROWS, key)


@says("drawn_twice")
def gradient_through_devices(key: Any) -> Any:
    def total(w: Any) -> Any:
        def part(x: Any, w: Any, keys: Any) -> Any:
            return lax.psum((w * noisy_with_first(x, keys) * random.normal(keys[0], x.shape)).sum(), "i")

        return over(part, (S, P(), S), P())(ROWS, w, random.split(key, 4))

    return jax.grad(total)(1.0)


@says(ALL_ALIKE)
def not_traced_because_of_a_branch(key: Any) -> Any:
    if float(random.uniform(random.key(1))) < 2 and int(random.key_data(key).sum()) >= 0:
        return over(noisy, (S, P()), S)(ROWS, key)
    return None


@says()
def pmap_over_split_keys(key: Any) -> Any:
    return jax.pmap(noisy)(ROWS.reshape(4, 2), random.split(key, 4))


@says(ALL_ALIKE)
def pmap_with_one_key(key: Any) -> Any:
    return jax.pmap(noisy, in_axes=(0, None))(ROWS.reshape(4, 2), key)


def main() -> None:
    """Check all programs."""
    found = {}
    for name, (kinds, program) in PROGRAMS.items():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            problems = check_keys(program, random.key(0))
        unseen = [str(one.message) for one in warned if "not checked" in str(one.message)]
        found[name] = [list(kinds), sorted({problem.kind for problem in problems}), unseen]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
