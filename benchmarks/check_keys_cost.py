"""Measure what `check_keys` costs on programs of JAX's libraries, as a multiple of what the program itself costs.

    python benchmarks/check_keys_cost.py            # needs flax, optax, haiku, equinox, diffrax, blackjax and numpyro
    python benchmarks/check_keys_cost.py blackjax_nuts
    python benchmarks/check_keys_cost.py --real     # the 110 programs with keys in `real_programs`, in place of these

"first" compares the first check with the first call, which both compile; "again" compares further checks with warm
calls. All times are CPU time, which other programs on the machine change less than they change the time on the clock,
and the smallest of several runs.
"""

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Some of the real programs divide their arrays among four devices.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from jaxguide.keys import check_keys, no_key_reuse

Program = Callable[[Any], Any]
ROUNDS, CALLS, LONG_S = 5, 10, 0.05


def flax_programs() -> dict[str, Program]:
    """Return programs that train a small network with dropout."""
    import flax.linen as nn
    import optax

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any, *, train: bool = True) -> Any:
            x = nn.Dropout(0.5, deterministic=not train)(nn.relu(nn.Dense(16)(x)))
            return nn.Dense(1)(x)

    net, x, optimizer = Net(), jnp.ones((32, 8)), optax.adam(1e-3)
    params = net.init({"params": jax.random.key(0)}, x, train=False)

    @jax.jit
    def step(params: Any, state: Any, key: Any) -> Any:
        grads = jax.grad(lambda p: (net.apply(p, x, rngs={"dropout": key}) ** 2).mean())(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state

    def train(key: Any) -> Any:
        now, state = params, optimizer.init(params)
        for k in jax.random.split(key, 10):
            now, state = step(now, state, k)
        return now

    def scan_train(key: Any) -> Any:
        start = params, optimizer.init(params)
        return jax.lax.scan(lambda now, k: (step(*now, k), None), start, jax.random.split(key, 50))[0]

    return {
        "flax_train": train,
        "flax_scan_train": jax.jit(scan_train),
        "flax_init": lambda key: net.init({"params": key}, x, train=False),
    }


def haiku_programs() -> dict[str, Program]:
    """Return a network with dropout."""
    import haiku as hk

    x = jnp.ones((32, 8))
    net = hk.transform(lambda x: hk.Linear(1)(hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(16)(x))))
    params, apply = net.init(jax.random.key(0), x), jax.jit(net.apply)
    return {"haiku_apply": lambda key: apply(params, key, x)}


def blackjax_programs() -> dict[str, Program]:
    """Return samplers with many steps."""
    import blackjax

    def chain(sampler: Any, steps: int) -> Program:
        def run(key: Any) -> Any:
            start = sampler.init(jnp.zeros(2))
            return jax.lax.scan(lambda s, k: (sampler.step(k, s)[0], s.position), start, jax.random.split(key, steps))[
                1
            ]

        return jax.jit(run)

    def density(q: Any) -> Any:
        return -0.5 * (q**2).sum()

    hmc = chain(blackjax.hmc(density, 0.1, jnp.ones(2), 5), 200)
    nuts = chain(blackjax.nuts(density, 0.1, jnp.ones(2)), 30)
    return {
        "blackjax_hmc": hmc,
        "blackjax_nuts": nuts,
        "blackjax_chains": jax.jit(lambda key: jax.vmap(hmc)(jax.random.split(key, 4))),
    }


def equinox_programs() -> dict[str, Program]:
    """Return a gradient through dropout, and a stochastic differential equation."""
    import diffrax
    import equinox as eqx

    x = jnp.ones((32, 8))
    model, dropout = eqx.nn.MLP(8, 1, 16, 2, key=jax.random.key(0)), eqx.nn.Dropout(0.5)

    @eqx.filter_jit
    def gradient(model: Any, key: Any) -> Any:
        def loss(model: Any) -> Any:
            return jnp.mean(jax.vmap(lambda x, k: model(dropout(x, key=k)))(x, jax.random.split(key, 32)) ** 2)

        return eqx.filter_grad(loss)(model)

    @eqx.filter_jit
    def solve(key: Any) -> Any:
        path = diffrax.VirtualBrownianTree(0, 1, tol=1e-2, shape=(), key=key)
        noise = diffrax.ControlTerm(lambda t, y, args: 0.1, path)
        terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, args: -y), noise)
        return diffrax.diffeqsolve(terms, diffrax.Euler(), 0, 1, 0.05, jnp.array(1.0)).ys

    return {"equinox_gradient": lambda key: gradient(model, key), "diffrax_sde": solve}


def numpyro_programs() -> dict[str, Program]:
    """Return variational inference."""
    import numpyro
    from numpyro.distributions import Normal
    from numpyro.infer import SVI, Trace_ELBO

    def model() -> None:
        numpyro.sample("y", Normal(numpyro.sample("x", Normal(0, 1)), 1), obs=0.5)

    def guide() -> None:
        numpyro.sample("x", Normal(numpyro.param("m", 0.0), 1))

    svi = SVI(model, guide, numpyro.optim.Adam(0.1), Trace_ELBO())
    update = jax.jit(svi.update)

    def infer(key: Any) -> Any:
        state = svi.init(key)
        for _ in range(5):
            state, loss = update(state)
        return loss

    return {"numpyro_svi": infer}


def plain_programs() -> dict[str, Program]:
    """Return programs of JAX alone."""

    @jax.jit
    def noise(key: Any) -> Any:
        return jax.random.normal(key, (64, 64)).sum()

    @jax.jit
    def metropolis(key: Any) -> Any:
        def step(x: Any, key: Any) -> Any:
            forward, accept = jax.random.split(key)
            new = x + jax.random.normal(forward)
            return jnp.where(jnp.log(jax.random.uniform(accept)) < x**2 - new**2, new, x), x

        return jax.lax.scan(step, 0.0, jax.random.split(key, 1000))[1]

    return {"two_draws": lambda key: sum(map(noise, jax.random.split(key))), "metropolis": metropolis}


def real_programs() -> dict[str, Program]:
    """Return the programs with keys of the battery, each a function of a key."""
    programs = {}
    for path in sorted(Path(__file__).parent.glob("real_programs/*/keys/*.py")):
        names: dict[str, Any] = {}
        code = path.read_text().split("# %% program\n")[1].split("# %% ")[0]
        exec(compile(code, str(path), "exec"), names)
        programs[path.stem[:18]] = names["program"]
    return programs


FAMILIES = [
    *(flax_programs, haiku_programs, blackjax_programs, equinox_programs, numpyro_programs, plain_programs),
]


def least_s(function: Callable[[], Any]) -> float:
    """Return the least CPU time of a call."""
    calls = CALLS if once_s(function) < LONG_S else 1
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(calls):
            jax.block_until_ready(function())
        times.append((time.process_time() - start) / calls)
    return min(times)


def once_s(function: Callable[[], Any]) -> float:
    """Return the CPU time of one call."""
    start = time.process_time()
    jax.block_until_ready(function())
    return time.process_time() - start


def main() -> int:
    """Print the table, and return 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("only", nargs="*", help="the names of programs")
    parser.add_argument("--real", action="store_true", help="measure the programs of `real_programs`")
    options = parser.parse_args()
    only, families = options.only, [real_programs] if options.real else FAMILIES
    warnings.simplefilter("ignore")
    key, ratios = jax.random.key(1), []
    print(f"{'program':18}{'first call':>12}{'check':>10}{'ratio':>8}{'warm call':>12}{'check':>10}{'ratio':>8}")
    for name, program in ((n, p) for family in families for n, p in family().items()):
        if only and name not in only:
            continue
        call, check = (lambda program=program: program(key)), (lambda program=program: check_keys(program, key))
        cold_call, cold_check = once_s(call), once_s(check)
        warm_call, warm_check = least_s(call), least_s(check)
        ratios.append(warm_check / warm_call)
        print(
            f"{name:18}{cold_call * 1e3:9.1f} ms{cold_check * 1e3:7.1f} ms{cold_check / cold_call:8.1f}"
            f"{warm_call * 1e3:9.2f} ms{warm_check * 1e3:7.1f} ms{ratios[-1]:8.1f}",
            flush=True,
        )
    if len(ratios) > 1:
        tenths = statistics.quantiles(ratios, n=10, method="inclusive")
        print(f"again: median {statistics.median(ratios):.1f}, 90 % up to {tenths[-1]:.1f}, largest {max(ratios):.1f}")
    if not only and not options.real:
        tiny = jax.jit(lambda key: jax.random.normal(key, (3,)))
        guarded = no_key_reuse(tiny)
        guarded(key)
        tiny_s, guarded_s = (least_s(lambda f=f: [f(key) for _ in range(100)]) for f in (tiny, guarded))
        print(f"no_key_reuse on a tiny jitted function: {guarded_s / tiny_s:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
