"""Test that a NaN in a `jax.Ref` is blamed on the equation that made it, not on the one that reads it."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxguide.debug import find_nan


def read(x, r):
    r[...] = jnp.log(x) * jnp.ones(4)
    return r[...]


def initial(x, r):
    return jax.new_ref(jnp.log(x))[...] + r[0]


def added(x, r):
    r[...] += jnp.log(x)
    return r[...]


def updated(x, r):
    jax.ref.addupdate(r, 1, jnp.log(x))
    return r[...]


def indexed(x, r):
    r[jnp.array([3, 1])] = jnp.log(x) * jnp.ones(2)
    return r[1]


def swapped(x, r):
    r[...] = jnp.log(x) * jnp.ones(4)
    return jax.ref.swap(r, ..., jnp.sqrt(x) * jnp.ones(4))


def in_a_scan(x, r):
    def body(c, i):
        r[i] = jnp.log(c)
        return c, None

    lax.scan(body, x, jnp.arange(3))
    return r[...]


def in_a_while(x, r):
    def body(i):
        r[i] = jnp.log(x)
        return i + 1

    lax.while_loop(lambda i: i < 2, body, 0)
    return r[...]


def in_a_branch(x, r):
    def no(x):
        r[...] = jnp.log(x) * jnp.ones(4)

    lax.cond(x > 0, lambda x: None, no, x)
    return r[...]


def in_jit(x, r):
    @jax.jit
    def write(x):
        r[...] = jnp.log(x) * jnp.ones(4)

    write(x)
    return r[...]


def under_vmap(x, r):
    def row(x):
        held = jax.new_ref(0.0)
        held[...] = jnp.log(x)
        return held[...]

    return jax.vmap(row)(x * jnp.ones(2))


def needs_values(x, r):
    if x < 0:
        r[...] = jnp.log(x) * jnp.ones(4)
    return r[...]


FUNCTIONS = [
    *(read, initial, added, updated, indexed, swapped, in_a_scan, in_a_while, in_a_branch, in_jit, under_vmap),
    needs_values,
]


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("where", ["inside", "argument", "argument of jit"])
def test_the_log_is_blamed(fn, where):
    if where == "inside":
        report = find_nan(lambda x: fn(x, jax.new_ref(jnp.zeros(4))), -1.0)
    else:
        given = fn if where == "argument" or fn is needs_values else jax.jit(fn)
        report = find_nan(given, -1.0, jax.new_ref(jnp.zeros(4)))
    assert {(bad.primitive, bad.operands[0]) for bad in report.found if not bad.masked} == {("log", "-1.0")}
    assert "jnp.log(" in report.first.source
    assert {bad.primitive for bad in report.found} <= {"log", "sqrt"}


def test_an_iteration_that_another_overwrites_is_not_the_first():
    def f(x):
        held = jax.new_ref(0.0)

        def body(c, _):
            held[...] = jnp.sqrt(c)
            return c - 1, None

        lax.scan(body, x, None, length=4)
        return held[...]

    report = find_nan(f, 1.0)
    assert (report.first.primitive, report.first.loops[0].iteration) == ("sqrt", 3)
    assert [bad.loops[0].iteration for bad in report.found if bad.masked] == [2]


def test_which_of_several_writes_was_read_is_not_guessed():
    def f(x, r):
        r[0] = jnp.sqrt(x)
        r[1] = jnp.log(x)
        return r[1]

    report = find_nan(f, -1.0, jax.new_ref(jnp.zeros(4)))
    assert (report.first.kind, report.first.source) == ("held", "return r[1]")


def test_a_nan_that_is_overwritten_does_not_reach_the_result():
    def f(x):
        held = jax.new_ref(jnp.log(x))
        held[...] = x
        return held[...]

    report = find_nan(f, -1.0)
    assert report.result_is_finite
    assert [(bad.primitive, bad.masked, bad.masked_at) for bad in report.found] == [("log", True, None)]


def test_a_sum_in_a_ref_that_overflows_is_made_there():
    def f(x):
        held = jax.new_ref(x)
        jax.ref.addupdate(held, ..., x)
        return held[...]

    report = find_nan(f, jnp.float32(3e38))
    assert (report.first.primitive, report.first.made, report.first.kind) == ("addupdate", "inf", "made")
    assert report.first.operands == ("float32[]", "3e+38")


def test_what_a_ref_held_before_comes_from_outside():
    held = jax.new_ref(jnp.array([1.0, jnp.nan]))
    report = find_nan(lambda x, r: x * r[...], 2.0, held)
    assert report.bad_arguments == ["r"]
    assert not report.found
    assert not find_nan(lambda x, r: x * r[0], 2.0, held).found
    report = find_nan(lambda x: x * held[...], 2.0)
    assert "nan came in at test_nan_in_refs.py" in str(report)
    assert "from a `jax.Ref` that held it before" in str(report)
