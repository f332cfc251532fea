"""Test that a timeline lists what ran on the host, in order, and does not change what the program does."""

import re
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from jaxguide.callbacks import callback_timeline, host_function
from jaxguide.callbacks.timeline import Callback, HostRun, Timeline

THREE = jnp.arange(3.0)


def double(x: Any) -> np.ndarray:
    return np.asarray(x) * 2


def test_all_kinds_are_listed_with_what_they_were_given() -> None:
    seen: list[float] = []

    def keep(x: Any) -> None:
        seen.append(float(x))

    def body(total: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = jax.pure_callback(double, jax.ShapeDtypeStruct((), jnp.float32), x, vmap_method="sequential")
        io_callback(keep, None, y, ordered=True)
        jax.debug.callback(keep, y)
        jax.debug.print("y is {}", y)
        return total + y, y

    timeline = callback_timeline(jax.jit(lambda xs: jax.lax.scan(body, jnp.float32(0), xs)), THREE)
    first = body.__code__.co_firstlineno
    sites = [run.site for run in timeline.runs]
    runs = Counter((site.name, site.kind, site.ordered, site.line and site.line.number - first) for site in sites)
    assert runs == {
        ("double", "pure_callback", False, 1): 3,
        ("keep", "io_callback", True, 2): 3,
        ("keep", "debug.callback", False, 3): 3,
        ("y is {}", "debug.print", False, 4): 3,
    }
    assert {run.given for run in timeline.runs} == {"float32[]"}
    assert sorted(seen) == [0, 0, 2, 2, 4, 4]
    total, ys = timeline.result
    assert (float(total), ys.tolist()) == (6.0, [0.0, 2.0, 4.0])
    starts = [run.start_s for run in timeline.runs]
    assert starts == sorted(starts)
    assert all(0 < run.start_s <= run.end_s <= timeline.ready_s for run in timeline.runs)


def test_a_callback_that_was_dropped_is_named() -> None:
    def unused(x: jax.Array) -> jax.Array:
        jax.pure_callback(double, x, x)
        return x + 1

    timeline = callback_timeline(unused, THREE)
    assert timeline.runs == ()
    assert "0 calls of 1 callback." in str(timeline)
    line = unused.__code__.co_firstlineno + 1
    assert str(timeline).endswith(f"never called: double · pure_callback · test_callback_timeline.py, line {line}")


def test_vmap_makes_every_row_of_a_cond_call() -> None:
    def row(x: jax.Array) -> jax.Array:
        return jax.lax.cond(x > 1, lambda y: (jax.debug.callback(double, y), y)[1], lambda y: y, x)

    assert [len(callback_timeline(row, x).runs) for x in THREE] == [0, 0, 1]
    assert len(callback_timeline(jax.vmap(row), THREE).runs) == 3


def test_a_print_prints_what_it_prints_without_a_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    def noisy(x: jax.Array) -> jax.Array:
        jax.debug.print("x {:.2f} of {who}, {}", x, "two", who="me", ordered=True)
        jax.debug.print("no placeholder", ordered=True)
        return x

    noisy(jnp.float32(1.5))
    jax.effects_barrier()
    plain = capsys.readouterr().out
    timeline = callback_timeline(noisy, jnp.float32(1.5))
    assert capsys.readouterr().out == plain
    assert [run.site.ordered for run in timeline.runs] == [True, True]


def test_a_host_function_has_its_own_name_and_one_call_for_a_batch() -> None:
    twice = host_function(double, elementwise=True)
    (run,) = callback_timeline(jax.jit(jax.vmap(twice)), THREE).runs
    assert (run.site.name, run.given) == ("double", "float32[3]")


def test_a_program_without_callbacks_says_so() -> None:
    assert str(callback_timeline(jnp.sin, 1.0)).startswith("Host calls of sin: 0 calls of 0 callbacks.")


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match=r"callback_timeline\(f, x\)"):
        callback_timeline(jnp.ones(2))  # type: ignore[arg-type]


def test_the_picture_says_in_words_what_it_draws_and_many_calls_are_counted() -> None:
    def steps(xs: jax.Array) -> jax.Array:
        return jax.lax.map(lambda x: (jax.debug.callback(double, x, ordered=True), x)[1], xs)

    picture = callback_timeline(steps, jnp.arange(106.0)).picture()
    assert "<title" in picture.svg
    assert "Host calls of steps: 106 calls of 1 callback." in picture.svg.partition("<desc")[2]
    assert (picture.svg.count("<rect"), "6 more calls" in picture.text) == (100, True)
    assert picture.html.count("<svg") == 1
    assert "double · debug.callback · ordered" in picture.svg


def test_the_time_axis_has_a_scale_and_calls_lie_on_it_where_they_began() -> None:
    site = Callback("double", "pure_callback")
    runs = tuple(HostRun(site, "float32[]", start, start + 0.004) for start in (0.002, 0.010, 0.018))
    svg = Timeline("steps", (site,), runs, returned_s=0.001, ready_s=0.025, result=None).picture().svg
    ticks = {float(ms): float(x) for x, ms in re.findall(r'<text x="([\d.]+)"[^>]*>([\d.]+) ms</text>', svg)}
    assert list(ticks) == [0, 5, 10, 15, 20, 25]
    a_ms = (ticks[25] - ticks[0]) / 25
    boxes = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    assert [(float(x) - ticks[0]) / a_ms for x, _width in boxes] == pytest.approx([2, 10, 18], abs=0.01)
    assert [float(width) / a_ms for _x, width in boxes] == pytest.approx([4, 4, 4], abs=0.01)


def test_a_program_with_gathers_and_scatters_is_shown() -> None:
    def rows(table: jax.Array, which: jax.Array) -> jax.Array:
        return jnp.zeros(4).at[which].add(table[which].sum(axis=1)) + jax.lax.cumsum(table, axis=1)[:, 0]

    timeline = callback_timeline(rows, jnp.ones((4, 3)), jnp.array([1, 2]))
    assert timeline.runs == ()
    assert timeline.result.tolist() == [1.0, 4.0, 4.0, 1.0]
