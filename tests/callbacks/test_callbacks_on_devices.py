"""Test callbacks on four devices; as a program, this file runs the cases there and prints their results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from four_devices import print_results, results_of
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxguide.callbacks import callback_timeline, host_function, io_function

X = np.arange(4, dtype=np.float32)


def _gradient(f):
    def slope(x):
        y, pull_back = jax.vjp(f, x)
        return pull_back(y * 0 + 1)[0]

    return slope


def _in_each_way(kind, f, gradient=False):
    """Return what a function of a sharded array gives in each way of running it on several devices."""
    mesh = jax.make_mesh((4,), ("i",), axis_types=(kind,))
    x = jax.device_put(X, NamedSharding(mesh, P("i")))
    whole, mapped = f, jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    by_pmap = f
    if gradient:
        whole, mapped, by_pmap = map(_gradient, (whole, mapped, by_pmap))
    ways = {
        "eager": lambda: whole(x) * 1,  # a second operation on the result
        "jit": lambda: jax.jit(whole)(x),
        "shard_map": lambda: jax.jit(mapped)(x),
        "pmap": lambda: jax.pmap(by_pmap)(X.reshape(4, 1)),
    }
    return {way: np.ravel(run()).tolist() for way, run in ways.items()}


def _in_part(f):
    mesh = jax.make_mesh((2, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)
    mapped = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"), axis_names={"i"})
    jax.jit(mapped)(jax.device_put(X.reshape(2, 2), NamedSharding(mesh, P("i"))))


def _seen(kind, make):
    """Return what the host was given in each way, where each device's order was kept if `make` asks for it."""
    found = {}
    mesh = jax.make_mesh((4,), ("i",), axis_types=(kind,))
    x = jax.device_put(X, NamedSharding(mesh, P("i")))
    for way in ("jit", "shard_map", "pmap"):
        log = []
        note = make(log)

        def f(x, note=note):
            for step in range(3):
                note(10.0 * step + x)
            return x

        mapped = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
        run = {"jit": jax.jit(f), "shard_map": jax.jit(mapped), "pmap": jax.pmap(f)}[way]
        jax.block_until_ready(run(X.reshape(4, 1) if way == "pmap" else x))
        jax.effects_barrier()
        found[way] = [seen.ravel().tolist() for seen in log]
    return found


def _timeline():
    mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
    f = jax.shard_map(sine, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    timeline = callback_timeline(f, jax.device_put(X, NamedSharding(mesh, P("i"))))
    return [(run.site.name, run.given) for run in timeline.runs]


sine = host_function(np.sin, elementwise=True, derivative=lambda x: jnp.cos(x))
line = host_function(lambda a, x: a * x + 1, elementwise=True, derivative={"a": lambda a, x: x, "x": lambda a, x: a})
running = host_function(
    np.cumsum, out=lambda x: x, derivative=lambda tangent, out, x: jnp.tril(jnp.ones((x.size, x.size))) @ tangent
)
doubled = io_function(lambda x: 2 * x, out=lambda x: x)


def cases():
    made = {}
    for kind in (AxisType.Auto, AxisType.Explicit):
        ways = {
            "elementwise": (sine, False),
            "gradient": (sine, True),
            "second derivative": (_gradient(sine), True),
            "one shared argument": (lambda x: line(2.0, x), True),
            "not elementwise": (running, False),
            "gradient, not elementwise": (running, True),
            "io": (doubled, False),
        }
        for name, (f, gradient) in ways.items():
            made[f"{name}, {kind.name}"] = lambda kind=kind, f=f, gradient=gradient: _in_each_way(kind, f, gradient)
        notes = {
            "ordered io": lambda log: io_function(lambda x: log.append(x), out=None),
            "io": lambda log: io_function(lambda x: log.append(x), out=None, ordered=False),
        }
        for name, make in notes.items():
            made[f"seen by {name}, {kind.name}"] = lambda kind=kind, make=make: _seen(kind, make)
    return made | {
        "part, host function": lambda: _in_part(sine),
        "part, io function": lambda: _in_part(doubled),
        "timeline": _timeline,
    }


pytestmark = pytest.mark.long
KINDS = ["Auto", "Explicit"]


@pytest.fixture(scope="module")
def results():
    return results_of(__file__)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("elementwise", np.sin(X)),
        ("gradient", np.cos(X)),
        ("second derivative", -np.sin(X)),
        ("one shared argument", np.full(4, 2)),
        ("io", 2 * X),
    ],
)
def test_elementwise_results_and_derivatives_are_right_in_every_way(results, case, expected, kind):
    for way, got in results[f"{case}, {kind}"].items():
        np.testing.assert_allclose(got, expected, rtol=1e-5, err_msg=way)


@pytest.mark.parametrize("kind", KINDS)
def test_other_functions_get_the_whole_array_or_each_shard(results, kind):
    whole, shards = [0, 1, 3, 6], [0, 1, 2, 3]
    expected = {"eager": whole, "jit": whole, "shard_map": shards, "pmap": shards}
    assert results[f"not elementwise, {kind}"] == expected
    whole, shards = [4, 3, 2, 1], [1, 1, 1, 1]
    expected = {"eager": whole, "jit": whole, "shard_map": shards, "pmap": shards}
    assert results[f"gradient, not elementwise, {kind}"] == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("helper", ["ordered io", "io"])
def test_the_host_sees_whole_values_once_and_each_shard_once(results, helper, kind):
    got = results[f"seen by {helper}, {kind}"]
    assert sorted(got["jit"]) == [[10 * step + i for i in range(4)] for step in range(3)]
    for way in ("shard_map", "pmap"):
        assert sorted(got[way]) == [[10 * step + i] for step in range(3) for i in range(4)]


@pytest.mark.parametrize("kind", KINDS)
def test_ordered_calls_are_in_order_on_each_device(results, kind):
    for got in results[f"seen by ordered io, {kind}"].values():
        for i in range(4):
            steps = [row[0] // 10 for row in got if row[0] % 10 == i]
            assert steps == sorted(steps)


def test_what_jax_cannot_do_in_part_of_a_mesh_is_one_sentence(results):
    assert results["part, host function"] == (
        "NotImplementedError: `sin` is in a `jax.shard_map` over `i` only, and JAX can call the host for a result only "
        "where all axes of the mesh are mapped: leave out `axis_names`, or call it outside the `shard_map`."
    )
    assert "`<lambda>` is in a `jax.shard_map` over `i` only" in results["part, io function"]


def test_the_timeline_shows_the_call_of_each_shard(results):
    assert results["timeline"] == [["sin", "float32[1]"]] * 4


if __name__ == "__main__":
    print_results(cases())
