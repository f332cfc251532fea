"""Test that only the first iterations of a loop are followed, that the others still run, and that this is said."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

from jaxguide.jaxpr import interpret
from jaxguide.keys import check_keys, observe
from jaxguide.keys.events import KeyLog

Fn = Callable[..., Any]


def carried(key: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        key, x = state
        key, sub = random.split(key)
        return key, x + random.normal(sub)

    return lax.fori_loop(0, 20, body, (key, 0.0))


def until_small(key: Any) -> Any:
    def body(state: Any) -> Any:
        key, x, n = state
        key = random.fold_in(key, n)
        inner = lax.while_loop(
            lambda s: s[1] < 7, lambda s: (s[0] + random.uniform(random.fold_in(key, s[1])), s[1] + 1), (x, 0)
        )
        return key, inner[0] / 4, n + 1

    return lax.while_loop(lambda s: s[2] < 9, body, (key, 8.0, 0))


def rows_until_small(key: Any) -> Any:
    def one(key: Any, n: Any) -> Any:
        def body(state: Any) -> Any:
            key, x, i = state
            key, sub = random.split(key)
            return key, x + random.normal(sub), i + 1

        return lax.while_loop(lambda s: s[2] < n, body, (key, 0.0, 0))[:2]

    return jax.vmap(one)(random.split(key, 3), jnp.array([2, 8, 5]))


def scans_in_a_scan(key: Any) -> Any:
    @jax.jit
    def noisy(x: Any, key: Any) -> Any:
        return x + random.normal(key), x

    def outer(carry: Any, i: Any) -> Any:
        x, key = carry
        key, now = random.split(random.fold_in(key, i))
        x, rows = lax.scan(noisy, x, random.split(now, 5))
        return (x, key), rows.astype(jnp.bfloat16)

    return lax.scan(outer, (0.0, key), jnp.arange(6))


def in_a_ref(key: Any) -> Any:
    total = jax.new_ref(jnp.float32(0))

    def body(key: Any, i: Any) -> Any:
        key, now = random.split(key)
        total[...] += random.normal(now)
        return key, None

    key, _ = lax.scan(body, key, jnp.arange(9))
    return total[...], key


PROGRAMS: list[Fn] = [carried, until_small, rows_until_small, scans_in_a_scan, in_a_ref]


def _plain(value: Any) -> Any:
    keys = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return np.asarray(random.key_data(value) if keys else value.astype(jnp.float32))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_a_loop_that_is_cut_returns_what_it_always_does(program: Fn, make: Fn, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make(0)
    everything = check_keys(program, key)
    monkeypatch.setattr(observe, "_MOST_ITERATIONS", 3)
    log = KeyLog()
    outputs = interpret.run(jax.make_jaxpr(program)(key), [key], observe.KeyObserver(log))
    for found, wanted in zip(outputs, jax.tree.leaves(program(key)), strict=True):
        np.testing.assert_allclose(_plain(jnp.asarray(found)), _plain(jnp.asarray(wanted)), rtol=1e-5)
    assert log.cut
    assert 0 < len(log.events) < len(everything.uses)
    known = {(use.kind, use.bits, use.data) for use in everything.uses}
    assert {(event.use.kind, event.use.bits, event.use.data) for event in log.events} <= known


def long_loop(loop: str, count: int, from_on: int) -> Fn:
    """Return a program that draws from one key again from iteration `from_on` on, and twice from what it returns."""

    def body(state: Any) -> Any:
        i, key, x = state
        new, now = random.split(key)
        return i + 1, lax.select(i < from_on, new, key), x + random.normal(now)

    def program(key: Any) -> Any:
        start = jnp.int32(0), key, 0.0
        if loop == "scan":
            _, key, x = lax.scan(lambda state, _: (body(state), None), start, None, count)[0]
        elif loop == "fori_loop":
            _, key, x = lax.fori_loop(0, count, lambda _, state: body(state), start)
        else:
            _, key, x = lax.while_loop(lambda state: state[0] < count, body, start)
        return x + random.normal(key) + random.uniform(key)

    return program


SENTENCE = r"Only the first 64 of 10,000 iterations of the loop \(test_cut_loops.py, line \d+\) were followed\."


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop"])
@pytest.mark.parametrize("transform", [jax.jit, lambda f: f])
def test_the_first_64_iterations_are_followed_and_what_comes_after_the_loop(loop: str, transform: Fn) -> None:
    problems = check_keys(transform(long_loop(loop, 10_000, 62)), random.key(0))
    assert problems.problems[0].kind == "split_twice"
    problems = check_keys(transform(long_loop(loop, 10_000, 64)), random.key(0))
    (after,) = problems
    assert after.first_source == "return x + random.normal(key) + random.uniform(key)"
    (sentence,) = problems.cut_loops
    assert re.fullmatch(SENTENCE, sentence)


def test_a_loop_of_64_iterations_is_not_cut() -> None:
    for loop in ("scan", "fori_loop", "while_loop"):
        assert check_keys(long_loop(loop, 64, 64), random.key(0)).cut_loops == []
        (sentence,) = check_keys(long_loop(loop, 65, 65), random.key(0)).cut_loops
        assert sentence.startswith("Only the first 64 of 65 iterations of the loop")


def test_loops_inside_loops_are_followed_for_fewer_iterations() -> None:
    def million(key: Any) -> Any:
        def inner(state: Any, _: None) -> Any:
            key, x = state
            key, now = random.split(key)
            return (key, x + random.normal(now)), None

        def outer(state: Any, _: None) -> Any:
            return lax.scan(inner, state, None, 1000)[0], None

        (key, x), _ = lax.scan(outer, (key, 0.0), None, 1000)
        return x + random.normal(key)

    for program in (million, jax.jit(million)):
        used = check_keys(program, random.key(0))
        assert len(used.uses) == 64 * 8 * 2 + 1
        assert used.problems == []
        assert [re.findall(r"[\d,]+(?= of|\sit)", sentence) for sentence in used.cut_loops] == [
            ["8", "1,000"],
            ["64", "1,000"],
        ]


def test_what_no_key_depends_on_is_not_computed_after_the_cut() -> None:
    calls = []

    def host(x: Any) -> Any:
        return jax.pure_callback(lambda x: calls.append(x) or x, jax.ShapeDtypeStruct((), jnp.float32), x)

    def scan(key: Any) -> Any:
        def body(state: Any, _: None) -> Any:
            key, x = state
            key, now = random.split(key)
            return (key, host(x) + random.normal(now)), None

        return random.normal(lax.scan(body, (key, jnp.float32(0)), None, 70)[0][0])

    def wait(key: Any) -> Any:
        def body(state: Any) -> Any:
            i, key, x = state
            key, now = random.split(key)
            return i + 1, key, jax.jit(host)(x) + random.normal(now)

        return random.normal(lax.while_loop(lambda state: state[0] < 70, body, (0, key, jnp.float32(0)))[1])

    for program in (scan, wait):
        assert len(check_keys(program, random.key(0)).cut_loops) == 1
        assert calls == []


def test_a_loop_of_a_device_is_cut_too() -> None:
    mesh, spec = jax.sharding.Mesh(jax.devices()[:1], ("x",)), jax.sharding.PartitionSpec()

    def scan(key: Any) -> Any:
        def body(key: Any, _: None) -> Any:
            key, now = random.split(key)
            return key, lax.psum(random.normal(now), "x")

        key, rows = lax.scan(body, key, None, 70)
        return rows.sum() + random.normal(key)

    def wait(key: Any) -> Any:
        def body(state: Any) -> Any:
            return state[0] + 1, random.split(state[1])[0]

        return random.normal(lax.while_loop(lambda state: state[0] < 70, body, (0, key))[1])

    for walk, uses in ((scan, 64 * 2 + 1), (wait, 64 + 1)):
        used = check_keys(jax.shard_map(walk, mesh=mesh, in_specs=spec, out_specs=spec), random.key(0))
        assert len(used.uses) == uses
        assert used.problems == []
        assert used.cut_loops[0].startswith("Only the first 64 of 70 iterations of the loop")


def test_text_and_card_say_what_was_not_followed() -> None:
    program = long_loop("scan", 70, 70)
    report = check_keys(program, random.key(0))
    for shown in (report, report._repr_html_(), report.tree, report.tree.html):
        assert "○ Only the first 64 of 70 iterations of the loop" in str(shown)


def test_a_tree_says_which_keys_were_not_followed() -> None:
    def rows(key: Any) -> Any:
        return lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, random.split(key, 100))

    for make in (random.key, random.PRNGKey):
        text = str(check_keys(rows, make(0)).tree)
        assert "Keys of rows: 100 keys made, 64 draws, no key reused." in text
        assert "k #0" in text
        assert "… not followed" in text
        assert "not used" not in text
