"""Test the machines for stopwatches: their times, and that nothing but the clock tells them."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxguide.clock import Machine, real_machine, simulated_machine


def _seconds_per_run(machine: Machine, wait: Any) -> float:
    wait(machine.run())
    before = machine.clock()
    wait(machine.run())
    return machine.clock() - before


def test_a_call_compiles_once_and_returns_before_its_work_is_done() -> None:
    machine = simulated_machine(compile_s=32.0, dispatch_s=1.0, work_s=8.0)
    first = machine.run()
    assert machine.clock() == 33
    first.block_until_ready()
    assert machine.clock() == 41
    second, third = machine.run(), machine.run()
    assert machine.clock() == 43
    assert second.block_until_ready() is second
    assert machine.clock() == 50
    third.block_until_ready()
    assert machine.clock() == 58
    first.block_until_ready()
    assert machine.clock() == 58


def test_only_blocking_waits_for_a_result() -> None:
    waits = {"method": lambda r: r.block_until_ready(), "function": jax.block_until_ready, "none": lambda r: r}
    times = {}
    for name, wait in waits.items():
        times[name] = _seconds_per_run(simulated_machine(compile_s=30e-3, dispatch_s=20e-6, work_s=492e-6), wait)
    assert times == pytest.approx({"method": 512e-6, "function": 512e-6, "none": 20e-6})


def test_no_attribute_tells_a_time() -> None:
    machine = simulated_machine(compile_s=32.0, dispatch_s=1.0, work_s=8.0)
    assert list(vars(machine)) == ["run", "clock"]
    result = machine.run()
    told = [getattr(x, name) for x in (machine.run, machine.clock, result, result.block_until_ready) for name in dir(x)]
    inside = [value for each in told for value in (each if isinstance(each, tuple) else (each,))]
    assert [value for value in inside if isinstance(value, float)] == []


def test_a_real_machine_runs_the_function_and_reads_the_real_clock() -> None:
    machine = real_machine(jax.jit(jnp.add), jnp.ones(2), 1.0)
    assert machine.run().block_until_ready().tolist() == [2, 2]
    assert machine.clock is time.perf_counter
    assert _seconds_per_run(machine, jax.block_until_ready) > 0
