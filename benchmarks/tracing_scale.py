"""Measure what the tracing helpers cost on large training steps, as multiples of `jax.make_jaxpr`.

    python benchmarks/tracing_scale.py

Each training step is traced by `jax.make_jaxpr` and by each helper, side by side in one process, in changing order.
JAX's caches are cleared before each measurement, so that each traces everything. The table shows medians over the
rounds: processor time for `jax.make_jaxpr`, and for the helpers the ratio to it, with the lines that each result
shows. `side_effects` has to trace twice, so its ratio is at least 2. Compare ratios within one run, not seconds.

Args on the command line: `--equations` (sizes), `--rounds`, `--kinds` (plain, flax), `--helpers`.
"""

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxguide.tracing import program, show_lines, side_effects

# Python 3.11 lacks `sys.monitoring`: there `jax.make_jaxpr` takes more than twice as long under a trace function that
# does nothing, so `show_lines` cannot take less.
_MONITORING = hasattr(sys, "monitoring")
LIMITS = {
    "program": 2.0,
    "drawing": 2.0,
    "show_lines": 2.0 if _MONITORING else 3.0,
    "side_effects": 3.5,
}
Step = tuple[Callable[..., Any], tuple[Any, ...]]


def plain_step(layers: int) -> Step:
    """Return a training step in plain JAX, with a layer norm and a gated residual block per layer, and Adam."""
    width = 8

    def norm(layer: Any, x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return layer["scale"] * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def block(layer: Any, x: Any) -> Any:
        y = norm(layer, x)
        return x + jnp.tanh(y @ layer["w"] + layer["b"])

    def loss(params: Any, batch: Any) -> Any:
        x, target = batch
        for layer in params["layers"]:
            x = block(layer, x)
        return jnp.mean((x - target) ** 2)

    def adam(params: Any, grads: Any, state: Any) -> Any:
        count = state["count"] + 1.0
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], grads)

        def move(p: Any, m: Any, v: Any) -> Any:
            step = (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
            return p - 1e-3 * step

        return jax.tree.map(move, params, m, v), {"m": m, "v": v, "count": count}

    def train_step(params: Any, state: Any, batch: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, batch)
        params, state = adam(params, grads, state)
        return params, state, value

    layer = {"w": jnp.ones((width, width)), "b": jnp.ones(width), "scale": jnp.ones(width)}
    params = {"layers": [dict(layer) for _ in range(layers)]}
    zeros = jax.tree.map(jnp.zeros_like, params)
    batch = (jnp.ones((4, width)), jnp.zeros((4, width)))
    return train_step, (params, {"m": zeros, "v": zeros, "count": 0.0}, batch)


def flax_step(layers: int) -> Step:
    """Return a training step of a Flax network with optax's Adam."""
    import flax.linen as nn
    import optax
    from flax.training.train_state import TrainState

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            y = nn.LayerNorm()(x)
            y = nn.Dense(8)(y)
            return x + nn.gelu(y)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for _ in range(layers):
                x = Block()(x)
            return nn.Dense(1)(x)

    net = Net()
    batch = (jnp.ones((4, 8)), jnp.zeros((4, 1)))
    shapes = jax.eval_shape(net.init, jax.random.key(0), batch[0])
    params = jax.tree.map(lambda leaf: jnp.ones(leaf.shape, leaf.dtype), shapes)
    state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))

    def train_step(state: Any, batch: Any) -> Any:
        def loss(params: Any) -> Any:
            x, target = batch
            return optax.l2_loss(state.apply_fn(params, x), target).mean()

        value, grads = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=grads), value

    return train_step, (state, batch)


STEPS = {"plain": plain_step, "flax": flax_step}


def drawing(fn: Callable[..., Any], *args: Any) -> Any:
    """Return the drawing of a program."""
    return program(fn, *args).drawing


HELPERS = {"program": program, "drawing": drawing, "show_lines": show_lines, "side_effects": side_effects}


def of_size(kind: str, equations: int) -> tuple[Step, int]:
    """Return the training step of about as many equations, and how many it has."""
    counts = []
    for layers in (2, 4):
        step, args = STEPS[kind](layers)
        counts.append(program(step, *args).equations)
    each = (counts[1] - counts[0]) / 2
    layers = max(round((equations - counts[0]) / each) + 2, 1)
    return STEPS[kind](layers), round(counts[0] + each * (layers - 2))


def seconds(run: Callable[..., Any], step: Step) -> tuple[float, Any]:
    """Return the processor time of a call that finds JAX's caches empty, and what it returned."""
    jax.clear_caches()
    gc.collect()
    started = time.process_time()
    result = run(step[0], *step[1])
    return time.process_time() - started, result


def make_jaxpr(fn: Callable[..., Any], *args: Any) -> Any:
    """Return the jaxpr of a call."""
    return jax.make_jaxpr(fn)(*args)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equations", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--helpers", nargs="+", choices=HELPERS, default=list(HELPERS))
    asked = parser.parse_args()
    names = ("make_jaxpr", *asked.helpers)
    print(f"jax {jax.__version__}, medians of {asked.rounds} rounds")
    for kind in asked.kinds:
        for size in asked.equations:
            step, equations = of_size(kind, size)
            leaves = len(jax.tree.leaves(step[1]))
            print(f"\n{kind}, {equations:,} equations, {leaves:,} leaves of arguments", flush=True)
            times: dict[str, list[float]] = {name: [] for name in names}
            lines: dict[str, int] = {}
            for turn in range(asked.rounds):
                for name in names[turn % len(names) :] + names[: turn % len(names)]:
                    spent, result = seconds(HELPERS.get(name, make_jaxpr), step)
                    times[name].append(spent)
                    if name in HELPERS:
                        lines[name] = len(str(result).splitlines())
            print(f"{'make_jaxpr':14} {statistics.median(times['make_jaxpr']):7.2f} s")
            for name in asked.helpers:
                # Compare within a round, so that a machine that slows down between rounds has little influence.
                ratio = statistics.median(a / b for a, b in zip(times[name], times["make_jaxpr"], strict=True))
                print(f"{name:14} {ratio:7.2f} of make_jaxpr (at most {LIMITS[name]}), {lines[name]} lines", flush=True)


if __name__ == "__main__":
    main()
