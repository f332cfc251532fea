"""Test the debugging helpers on four devices; as a program, this file runs the cases there and prints their results."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from four_devices import print_results, results_of
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxguide.course.breakpoints import breakpoint_if_nonfinite, scripted_breakpoints
from jaxguide.debug import capture, record, record_gradient, recording


def two_steps(x):
    record("x", x)

    def step(x, _):
        record("step", x)
        return x + 1, None

    return record_gradient("slope", lax.scan(step, x, length=2)[0] ** 2)


def on(shape, kind):
    return jax.make_mesh(shape, ("i", "j")[: len(shape)], axis_types=(kind,) * len(shape))


def placed(x, mesh, spec):
    return jax.device_put(x, NamedSharding(mesh, spec))


def recorded(run):
    with recording() as rec:
        run()
    return {
        "values": {name: rec[name].tolist() for name in sorted(rec)},
        "repr": repr(rec).splitlines()[0],
    }


def gradient(f):
    return jax.grad(lambda x: f(x).sum())


def cases_of(kind):
    four, two_by_two = on((4,), kind), on((2, 2), kind)
    x, square = placed(jnp.arange(4.0), four, P("i")), placed(jnp.arange(4.0).reshape(2, 2), two_by_two, P("i", "j"))
    mapped = jax.shard_map(two_steps, mesh=four, in_specs=P("i"), out_specs=P("i"))
    in_part = jax.shard_map(two_steps, mesh=two_by_two, in_specs=P("i"), out_specs=P("i"), axis_names={"i"})
    remade = jax.shard_map(jax.checkpoint(two_steps), mesh=four, in_specs=P("i"), out_specs=P("i"))
    runs = {
        "jit": lambda: jax.jit(gradient(two_steps))(x),
        "eager": lambda: two_steps(x),
        "one of four": lambda: jax.jit(gradient(two_steps))(jax.device_put(jnp.arange(4.0), jax.devices()[2])),
        "vmap": lambda: jax.jit(jax.vmap(jax.grad(two_steps)))(x),
        "shard_map": lambda: jax.jit(gradient(mapped))(x),
        "eager shard_map": lambda: mapped(x),
        "checkpoint": lambda: jax.jit(gradient(remade))(x),
        "pmap": lambda: jax.pmap(gradient(two_steps))(jnp.arange(4.0).reshape(4, 1)),
        "named pmap": lambda: jax.pmap(gradient(two_steps), axis_name="d")(jnp.arange(4.0).reshape(4, 1)),
        "two axes": lambda: jax.jit(
            jax.shard_map(two_steps, mesh=two_by_two, in_specs=P("i", "j"), out_specs=P("i", "j"))
        )(square),
        "part of the axes": lambda: jax.jit(gradient(in_part))(square),
    }
    return {f"{name}, {kind.name}": partial(recorded, run) for name, run in runs.items()}


def many_steps():
    """Record a long loop, which JAX runs on the devices at different speeds."""

    def f(x):
        return lax.fori_loop(0, 300, lambda i, x: (record("i", (lax.axis_index("i"), i)), x)[1], x)

    with recording() as rec:
        mapped = jax.shard_map(f, mesh=on((4,), AxisType.Auto), in_specs=P("i"), out_specs=P("i"))
        jax.jit(mapped)(jnp.arange(4.0))
    devices, steps = rec["i"]
    return [steps[devices == i].tolist() == list(range(300)) for i in range(4)]


def one_trace_and_one_program_for_many_blocks():
    traces = []

    @jax.jit
    def f(x):
        traces.append(x)
        record("x", x)
        return x

    x = placed(jnp.arange(4.0), on((4,), AxisType.Auto), P("i"))
    lengths = []
    for _ in range(3):
        with recording() as rec:
            f(x)
        lengths.append(len(rec["x"]))
        f(x)
    return {"traces": len(traces), "lengths": lengths}


def mapped_over(f):
    mesh = on((4,), AxisType.Auto)
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(
        placed(jnp.arange(4.0), mesh, P("i"))
    )


def stop(x):
    breakpoint_if_nonfinite(jnp.log(x))
    return x


def stops_at_the_bad_shard():
    with scripted_breakpoints([]) as transcript:
        mapped_over(lambda x: stop(x - 2))
        mapped_over(lambda x: stop(x + 1))
    return transcript.stops


def stops_once_under_jit():
    x = placed(jnp.arange(4.0), on((4,), AxisType.Auto), P("i"))
    with scripted_breakpoints(["p x", "c"]) as transcript:
        jax.jit(stop)(x)
    return str(transcript)


def breakpoints_in_every_shard():
    def f(x):
        jax.debug.breakpoint()
        return x

    with scripted_breakpoints(["p x", "c"] * 4) as transcript:
        mapped_over(f)
    return sorted(line for line in str(transcript).splitlines() if line.startswith("Array")), transcript.unused


def printed():
    def f(x):
        jax.debug.print("x is {}", x)
        return x

    with capture() as lines:
        for _ in range(5):
            mapped_over(f)
            jax.pmap(f)(jnp.arange(4.0).reshape(4, 1))
    return sorted(lines)


def cases():
    return {
        **cases_of(AxisType.Auto),
        **cases_of(AxisType.Explicit),
        "many steps": many_steps,
        "blocks": one_trace_and_one_program_for_many_blocks,
        "bad shard": stops_at_the_bad_shard,
        "bad value": stops_once_under_jit,
        "breakpoint": breakpoints_in_every_shard,
        "prints": printed,
    }


pytestmark = pytest.mark.long
KINDS = ["Auto", "Explicit"]
WHOLE = {"x": [[0, 1, 2, 3]], "step": [[0, 1, 2, 3], [1, 2, 3, 4]], "slope": [[1] * 4]}
SHARDS = {
    "x": [[0], [1], [2], [3]],
    "step": [[0], [1], [1], [2], [2], [3], [3], [4]],
    "slope": [[1]] * 4,
}


def by_value(values):
    """Return recorded values sorted, because devices record in any order."""
    return {name: sorted(found) for name, found in values.items()}


@pytest.fixture(scope="module")
def results():
    return results_of(__file__)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["jit", "eager", "one of four"])
def test_whole_values_are_recorded_once_in_program_order(results, how, kind):
    got = results[f"{how}, {kind}"]
    assert got["values"] == {name: WHOLE[name] for name in (("x", "step") if how == "eager" else WHOLE)}
    assert got["repr"] == "x: 1 time float32[4]"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_sharded_vmap_come_in_order(results, kind):
    got = results[f"vmap, {kind}"]["values"]
    assert got == {"x": [0, 1, 2, 3], "step": [0, 1, 2, 3, 1, 2, 3, 4], "slope": [1]}  # the slope is that of every row


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["shard_map", "pmap", "named pmap"])
def test_each_shard_is_recorded(results, how, kind):
    got = results[f"{how}, {kind}"]
    assert by_value(got["values"]) == SHARDS
    assert got["repr"] == "x: 4 times float32[1]"


@pytest.mark.parametrize("kind", KINDS)
def test_an_eager_shard_map_records_too(results, kind):
    got = by_value(results[f"eager shard_map, {kind}"]["values"])
    assert got == {name: SHARDS[name] for name in ("x", "step")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpointed_shard_map_computes_and_records_twice(results, kind):
    got = by_value(results[f"checkpoint, {kind}"]["values"])
    assert got == by_value({"x": SHARDS["x"] * 2, "step": SHARDS["step"] * 2, "slope": SHARDS["slope"]})


@pytest.mark.parametrize("kind", KINDS)
def test_shards_of_two_axes_are_recorded(results, kind):
    assert by_value(results[f"two axes, {kind}"]["values"])["x"] == [[[0]], [[1]], [[2]], [[3]]]


def test_a_shard_map_over_part_of_the_axes_is_recorded_without_order(results):
    assert by_value(results["part of the axes, Auto"]["values"]) == {
        "x": [[[0, 1]], [[2, 3]]],
        "step": [[[0, 1]], [[1, 2]], [[2, 3]], [[3, 4]]],
        "slope": [[[1, 1]], [[1, 1]]],
    }


def test_each_device_keeps_the_order_of_a_long_loop(results):
    assert results["many steps"] == [True] * 4


def test_later_blocks_and_calls_outside_use_the_compiled_programs_again(results):
    assert results["blocks"] == {"traces": 2, "lengths": [1, 1, 1]}


def test_the_debugger_stops_only_at_the_bad_shards(results):
    assert results["bad shard"] == 3  # of -2, -1, 0 and 1, the logarithm of three is not finite: nan, nan, -inf


def test_the_debugger_stops_once_for_a_sharded_value(results):
    assert results["bad value"].startswith("Entering jdb:\n(jdb) p x\nArray([     -inf, 0.")


def test_a_breakpoint_in_a_shard_map_is_reached_in_every_shard(results):
    assert results["breakpoint"] == [[f"Array([{i}.], dtype=float32)" for i in range(4)], []]


def test_prints_of_every_shard_are_captured(results):
    assert results["prints"] == sorted([f"x is [{i}.]" for i in range(4)] * 10)


if __name__ == "__main__":
    print_results(cases())
