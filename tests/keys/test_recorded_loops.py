"""Test that loops which run compiled show the same uses of keys as those that run equation by equation."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax, random

from jaxguide.jaxpr import recorded
from jaxguide.keys import check_keys, key_use

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from key_battery.bugs import BUGS
from key_battery.case import Case
from key_battery.correct import CORRECT

Fn = Callable[..., Any]


def both_ways(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> tuple[Any, Any, int]:
    """Return what `run` returns with loops equation by equation and compiled, and how many ran compiled."""
    ran = []
    program = recorded._Program.run

    def counted(self: Any, inputs: Any) -> Any:
        ran.append(self.eqn)
        return program(self, inputs)

    monkeypatch.setattr(recorded._Program, "run", counted)
    found = []
    for cost in (0.0, 1e9):
        recorded._programs.clear()
        monkeypatch.setattr(recorded, "_STEP_MS", cost)
        monkeypatch.setattr(recorded, "_SHOW_MS", cost)
        found.append(run())
        assert cost or not ran
    recorded._programs.clear()
    return *found, len(ran)


def told(program: Fn, *arguments: Any) -> list[str]:
    return [str(problem) for problem in check_keys(program, *arguments)]


def used(program: Fn, *arguments: Any) -> Any:
    use = key_use(program, *arguments)
    return (
        [(u.kind, u.bits, u.impl, u.line, u.sampler, u.data, u.count) for u in use.uses],
        [str(p) for p in use.problems],
        use.untraceable,
    )


@pytest.mark.long
@pytest.mark.parametrize("case", [*BUGS, *CORRECT], ids=lambda case: case.name)
def test_battery(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    if not case.installed():
        pytest.skip("its library is not installed")
    for key_kind in case.key_kinds:
        program, arguments = case.build(key_kind)
        program = jax.jit(program) if case.needs is None and case.takes == "key" else program
        one, two, _ = both_ways(monkeypatch, functools.partial(used, program, *arguments))
        assert one == two
        one, two, _ = both_ways(monkeypatch, functools.partial(told, program, *arguments))
        assert one == two


def carried(key: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        key, x = state
        key, sub = random.split(key)
        return key, x + random.normal(sub)

    return lax.fori_loop(0, 20, body, (key, 0.0))


def stale(key: Any) -> Any:
    return lax.scan(lambda x, i: (x + random.normal(key), None), 0.0, jnp.arange(5))


def from_the_third_on(key: Any) -> Any:
    def body(state: Any, i: Any) -> Any:
        key, x = state
        new, sub = random.split(key)
        return (lax.cond(i < 3, lambda: new, lambda: key), x + random.normal(sub)), i

    return lax.scan(body, (key, 0.0), jnp.arange(6))


def until_small(key: Any) -> Any:
    def body(state: Any) -> Any:
        key, x, n = state
        key = random.fold_in(key, n)
        inner = lax.while_loop(
            lambda s: s[1] < 3, lambda s: (s[0] + random.uniform(random.fold_in(key, s[1])), s[1] + 1), (x, 0)
        )
        return key, inner[0] / 4, n + 1

    return lax.while_loop(lambda s: s[2] < 5, body, (key, 8.0, 0))


def rows_until_small(key: Any) -> Any:
    def one(key: Any, n: Any) -> Any:
        def body(state: Any) -> Any:
            key, x, i = state
            key, sub = random.split(key)
            return key, x + random.normal(sub), i + 1

        return lax.while_loop(lambda s: s[2] < n, body, (key, 0.0, 0))[1]

    return jax.vmap(one)(random.split(key, 3), jnp.array([2, 5, 0]))


def many_rounds(key: Any) -> Any:
    return lax.while_loop(lambda s: s[1] < 700, lambda s: (random.fold_in(s[0], s[1]), s[1] + 1), (key, 0))


def switched(key: Any) -> Any:
    def body(x: Any, given: Any) -> Any:
        i, k = given
        draws = [lambda k: random.normal(k), lambda k: random.uniform(random.split(k)[0]), lambda k: 0.0]
        return x + lax.switch(i % 3, draws, k), random.key_data(k)

    return lax.scan(body, 0.0, (jnp.arange(7), random.split(key, 7)), reverse=True)


def legacy(seed: Any) -> Any:
    def body(key: Any, i: Any) -> Any:
        key, sub = random.split(key)
        return key, random.bernoulli(sub, 0.5, (3,))

    return lax.scan(body, random.PRNGKey(3), length=4)


def seeded(key: Any) -> Any:
    return lax.map(lambda i: random.normal(random.key(i % 3)), jnp.arange(5))


def cloned(key: Any) -> Any:
    return lax.map(lambda i: random.normal(random.clone(key)), jnp.arange(3))


def reversed_fold(key: Any) -> Any:
    return lax.map(lambda i: random.normal(random.fold_in(key, jnp.minimum(i, 3))), jnp.arange(-2, 6))


def around(key: Any) -> Any:
    first = random.normal(key)
    out = carried(key)
    return first, out, random.uniform(out[0]), random.uniform(out[0])


def two_loops(key: Any) -> Any:
    return carried(key), carried(key)


def reversed_order(key: Any) -> Any:
    keys = random.split(key, 4)
    return lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, keys), random.normal(keys[2])


def by_gradient(key: Any) -> Any:
    def loss(w: Any) -> Any:
        return lax.scan(jax.checkpoint(lambda w, k: (w * random.normal(k), None)), w, random.split(key, 4))[0]

    return jax.grad(loss)(1.0), jax.value_and_grad(loss)(2.0)


PROGRAMS: list[Fn] = [
    *(carried, stale, from_the_third_on, until_small, rows_until_small, many_rounds, switched, legacy, seeded, cloned),
    *(reversed_fold, around, two_loops, reversed_order, by_gradient),
]


@pytest.mark.parametrize("program", PROGRAMS[:2])
def test_a_compiled_loop_shows_the_same(program: Fn, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, ran = both_ways(monkeypatch, lambda: used(jax.jit(program), random.key(0)))
    assert one == two
    assert ran
    one, two, ran = both_ways(monkeypatch, lambda: told(jax.jit(program), random.key(0)))
    assert one == two
    assert ran


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS[2:])
def test_every_compiled_loop_shows_the_same(program: Fn, monkeypatch: pytest.MonkeyPatch) -> None:
    test_a_compiled_loop_shows_the_same(program, monkeypatch)
    one, two, _ = both_ways(monkeypatch, lambda: used(jax.vmap(program), random.split(random.key(0), 2)))
    assert one == two
    one, two, _ = both_ways(monkeypatch, lambda: used(program, random.PRNGKey(1)))
    assert one == two
