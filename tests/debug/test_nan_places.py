"""Test where `find_nan` finds a NaN: on several devices, in rules of custom derivatives, and in every kind of body."""

import inspect
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from needs import first_of

from jaxguide.debug import find_nan


@jax.custom_vjp
def normed(x):
    return x * 1.0


def normed_forward(x):
    return normed(x), x


def normed_backward(x, g):
    size = jnp.linalg.norm(x)
    return (g / size,)  # in the backward rule


normed.defvjp(normed_forward, normed_backward)


@jax.custom_jvp
def rooted(x):
    return jnp.sqrt(x)


@rooted.defjvp
def rooted_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return rooted(x), t / (2 * x)  # in the tangent rule


def calls_normed(x):
    y = normed(x)  # the call
    return y.sum()


def calls_rooted(x):
    y = rooted(x)
    return y.sum()


def in_a_body(x):
    return jnp.log(x)  # in a body


BODIES = {
    "scan": lambda x: jax.lax.scan(lambda c, a: (c + in_a_body(a), None), 0.0, x)[0],
    "while": lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, in_a_body(c[1]) + 1), (0, x))[1],
    "fori": lambda x: jax.lax.fori_loop(0, 2, lambda i, c: c + in_a_body(x), x),
    "cond": lambda x: jax.lax.cond(x.sum() > 0, in_a_body, lambda x: x, x),
    "switch": lambda x: jax.lax.switch(1, [jnp.sin, in_a_body, jnp.cos], x),
    "map": lambda x: jax.lax.map(in_a_body, x),
    "checkpoint": lambda x: jax.checkpoint(in_a_body)(x),
    "jit": lambda x: jax.jit(lambda x: jax.jit(in_a_body)(x))(x),
    "vmap": lambda x: jax.vmap(in_a_body)(x),
    "associative_scan": lambda x: jax.lax.associative_scan(lambda a, b: in_a_body(a) + b, x),
}


def line_of(mark: str) -> int:
    source, _ = inspect.findsource(inspect.getmodule(line_of))
    return next(i for i, text in enumerate(source, 1) if text.rstrip().endswith(f"# {mark}"))


def in_a_scan(fn):
    return lambda x: jax.lax.scan(lambda c, row: (c + fn(row), None), 0.0, jnp.stack([x + 1.0, x]))[0]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint, in_a_scan], ids=["f", "jit", "remat", "scan"])
@pytest.mark.parametrize(
    ("fn", "mark"), [(calls_normed, "in the backward rule"), (calls_rooted, "in the tangent rule")], ids=["vjp", "jvp"]
)
def test_the_line_in_a_custom_rule(fn, mark, wrap):
    x = jnp.zeros(2)
    differentiated = jax.grad(wrap(fn))
    differentiated(x)  # what JAX has traced before does not count
    for report in (find_nan(differentiated, x), find_nan(jax.jit(differentiated), x), find_nan(wrap(fn), x)):
        bad = report.found[-1]
        assert (bad.primitive, bad.line.number, bad.backward) == ("div", line_of(mark), True)


def test_what_jax_has_compiled_is_not_traced_again_for_it():
    traced = []

    @jax.jit
    def counted(x):
        traced.append(x)
        return calls_normed(x)

    differentiated = jax.grad(counted)
    differentiated(jnp.ones(2))
    find_nan(differentiated, jnp.zeros(2))
    before = len(traced)
    differentiated(jnp.ones(2))
    counted(jnp.ones(2))
    find_nan(differentiated, jnp.zeros(2))
    assert len(traced) == before


@pytest.mark.parametrize("body", first_of(BODIES, 3))
def test_the_line_in_a_body(body):
    bad = find_nan(BODIES[body], jnp.array([1.0, 0.0, 2.0])).first
    assert (bad.primitive, bad.line.number) == ("log", line_of("in a body"))


DEVICES = """
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
from jaxguide.debug import find_nan
from jaxguide.jaxpr import interpret, stage
from jaxguide.debug.nan_watch import NanWatch
mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
"""
SHARD_MAP = """
def rows(x):
    jax.debug.print("{}", x.sum())
    return x / jax.lax.psum(x, "b")  # line 11

f = jax.shard_map(rows, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", "b"))
x = jnp.ones((2, 4)).at[1, 1].set(0.0).at[1, 3].set(0.0)
for fn in (f, jax.jit(f)):
    bad = find_nan(fn, x).first
    assert (bad.primitive, bad.line.number, bad.operands) == ("div", 11, ("0.0", "0.0")), bad
    assert "It divides by 0" in str(find_nan(fn, x))
    assert not find_nan(fn, x + 1.0)
# What one device masks, another passes on.
def weights(x):
    e = jnp.exp(x)  # line 22
    return e / jax.lax.psum(e.sum(), ("a", "b"))

report = find_nan(jax.shard_map(weights, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", "b")), 99 * x)
assert (report.first.primitive, report.first.line.number, report.first.device) == ("exp", 22, "a=0, b=0"), report
assert "Subtract the largest value first" in str(report)
# The slope of a root in a `shard_map`.
def lengths(x):
    return jnp.sqrt((x**2).sum(-1))  # line 30

f_lengths = jax.shard_map(lengths, mesh=mesh, in_specs=P("a"), out_specs=P("a"))
report = find_nan(jax.grad(lambda x: f_lengths(x).sum()), 0 * x)
assert report.first.line.number == 30 and "slope of the square root is infinite" in str(report), report
# In the gradient, too.
bad = find_nan(lambda x: f(x).sum(), jnp.ones((2, 4)).at[1, 1].set(-1.0)).first
assert (bad.primitive, bad.line.number) == ("div", 11), bad
assert find_nan(jax.grad(lambda x: f(x).sum()), x).found[-1].line.number == 11
"""
COLLECTIVES = """
def body(x, w):
    def step(c, row):
        return c + row / jax.lax.psum(row, "a"), row

    start = jax.lax.pcast(jnp.zeros(x.shape[1:]), ("a", "b"), to="varying")
    total, rows = jax.lax.scan(step, start, x)
    total = jax.lax.cond(jax.lax.axis_index("a") == 0, lambda t: t, lambda t: t * 2, total)
    total = jax.lax.while_loop(lambda t: t[0] < 10, lambda t: t * 2, total**2 + 1)
    total = jax.lax.ppermute(jax.lax.all_gather(total, "b"), "a", [(0, 1), (1, 0)])
    return jax.lax.pmean((total @ w).sum(), ("a", "b")), total.sum(0)[None], jax.lax.pmax(rows.max(), ("a", "b"))

class Looks(NanWatch):
    def unseen(self, step):
        raise AssertionError(step)

f = jax.shard_map(body, mesh=mesh, in_specs=(P("a", "b"), P()), out_specs=(P(), P(("b", "a")), P()))
args = jax.random.uniform(jax.random.key(0), (4, 4)) + 1, jax.random.normal(jax.random.key(1), (2, 3))
for fn in (f, jax.jit(f)):
    staged = stage.stage(fn, args, {})
    ours = interpret.run(staged.jaxpr, staged.arguments, Looks())
    for got, want in zip(ours, jax.tree.leaves(fn(*args)), strict=True):
        assert got.shape == want.shape and jnp.allclose(got, want, rtol=1e-5), (got, want)
"""
BRANCHES = """
# Collectives that only the devices of one row of the mesh run.
def rows(x):
    take = lambda x: x / (jax.lax.psum(x, "b") - 5)  # line 11
    return jax.lax.cond(jax.lax.axis_index("a") == 1, take, lambda x: x * 2, x)

f = jax.shard_map(rows, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", "b"))
bad = find_nan(f, jnp.arange(4.0).reshape(2, 2)).first
assert (bad.primitive, bad.line.number, bad.device) == ("div", 11, "a=1, b=0"), bad
assert not find_nan(f, jnp.ones((2, 2)))
"""
PMAP = """
def rows(x):
    return jnp.log(x) - jax.lax.psum(x, "i")  # line 10

bad = find_nan(jax.pmap(rows, axis_name="i"), jnp.arange(8.0).reshape(4, 2)).first
assert (bad.primitive, bad.line.number, bad.backward, bad.operands) == ("log", 10, False, ("0.0",)), bad
assert (bad.device, bad.index) == ("i=0", (0,)), bad
"""
SHARDED = """
def loss(x):
    return jax.nn.softmax(x).sum()  # line 10

x = jax.device_put(jnp.ones((4, 3)).at[2].set(-jnp.inf), NamedSharding(mesh, P(("a", "b"))))
for fn in (loss, jax.jit(loss)):
    report = find_nan(fn, x)
    assert (report.first.primitive, report.first.line.number, report.first.index) == ("sub", 10, (2, 0)), report
    assert "Row [2, :] is -inf throughout" in str(report)
"""


PROGRAMS = {"shard_map": SHARD_MAP, "all": COLLECTIVES, "branches": BRANCHES, "pmap": PMAP, "jit": SHARDED}


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_line_on_several_devices(program, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(DEVICES + PROGRAMS[program])
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
