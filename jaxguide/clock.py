"""Provide machines to time: simulated ones, which take the same times everywhere, and the real one behind them."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine with one job.

    Args:
        run: start the job, and return its result at once; `block_until_ready()` of the result waits for it.
        clock: return the time, in seconds.
    """

    run: Callable[[], Any]
    clock: Callable[[], float]


class _Result:
    """What a simulated machine returns. Like the machine, it has no attribute that tells its time."""

    def __init__(self, wait: Callable[[], None]) -> None:
        def block_until_ready() -> "_Result":
            wait()
            return self

        self.block_until_ready = block_until_ready


def simulated_machine(*, work_s: float, dispatch_s: float = 0.0, compile_s: float = 0.0) -> Machine:
    """Start a machine that behaves like JAX, with a clock that only its own work moves.

    >>> machine = simulated_machine(work_s=8.0, dispatch_s=1.0, compile_s=30.0)
    >>> result = machine.run()
    >>> machine.clock()
    31.0
    >>> result = result.block_until_ready()
    >>> machine.clock()
    39.0

    Args:
        work_s: how long the job takes. Jobs wait in a queue for those started before.
        dispatch_s: how long each call of `run` takes.
        compile_s: how much longer the first call takes.
    """
    now = free_at = 0.0
    to_compile = compile_s

    def run() -> _Result:
        nonlocal now, free_at, to_compile
        now += to_compile + dispatch_s
        to_compile = 0.0
        free_at = ready_at = max(now, free_at) + work_s

        def wait() -> None:
            nonlocal now
            now = max(now, ready_at)

        return _Result(wait)

    return Machine(run, lambda: now)


def real_machine(function: Callable[..., Any], *args: Any) -> Machine:
    """Return this computer as such a machine: the job is `function(*args)`, which returns a JAX array.

    >>> import jax, jax.numpy as jnp
    >>> machine = real_machine(jax.jit(jnp.sin), jnp.zeros(2))
    >>> machine.run().block_until_ready()
    Array([0., 0.], dtype=float32)
    """
    return Machine(lambda: function(*args), time.perf_counter)
