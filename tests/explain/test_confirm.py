"""Test that fixes are offered as code only if they are confirmed, and that confirming them changes nothing."""

import ast
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import pytest
from failing import failure, program

from jaxguide.explain import Fix
from jaxguide.explain.rewrites import confirm
from jaxguide.explain.rewrites.confirm import holds
from jaxguide.explain.scene import Scene


def offered(source: str, file: Path, new: str) -> bool:
    """Return whether a fix that writes `new` in place of the marked line's statement is confirmed."""
    scene = Scene(failure(program(source), file))
    statement = scene.spot.statement
    assert statement is not None
    fix = Fix("Write it.", new, (scene.source.replace(statement, new),))
    return holds(scene, fix)


PLAIN = """
@jax.jit
def f(x, w):
    y = x @ w
    return np.sin(y)
f(jnp.ones(3), jnp.ones((3, 2)))
"""
CONFIRMED = {
    "return jnp.sin(y)": True,
    "return jnp.sin(y) @ jnp.ones(2)": True,
    "return jnp.sin(z)": False,  # no such name
    "return jnp.sine(y)": False,  # no such function
    "return jnp.sin(y": False,  # no Python
    "return jnp.sin(y) @ jnp.ones(3)": False,  # shapes
    "return jnp.sin(y, axis=0)": False,  # no such argument
    "return float(y[0])": False,  # as wrong as before
    "z = y\n    return jnp.sin(z)": True,
    "return (lambda z: jnp.sin(z))(y)": True,
    "return jnp.stack([jnp.sin(one) for one in y])": True,
}


@pytest.mark.parametrize("new", CONFIRMED)
def test_a_fix_is_offered_if_its_code_is_traced_without_an_error(new: str, tmp_path: Path) -> None:
    assert offered(PLAIN, tmp_path / "student.py", new) is CONFIRMED[new]


# Each changes something outside, or may: the fix fails if it is traced, and must not be traced.
ACTING = {
    "print": "print('again')",
    "a file": "open('again', 'w')",
    "a global": "global COUNT; COUNT = 1",
    "a list": "SEEN.append(1)",
    "an item": "TABLE['again'] = 1",
    "an attribute": "BOX.again = 1",
    "a NumPy array in place": "buffer = HOST; buffer += 1",
    "NumPy's random numbers": "np.random.seed(0)",
    "a method of the student's": "BOX.act()",
    "a function that acts": "act()",
    "a function in a function": "outer()",
    "a decorator": "decorated(x)",
    "a cache": "cached(3)",
    "a function given to JAX": "lax.map(decorated, x)",
    "a property": "BOX.seen",
    "a callback": "jax.debug.callback(act)",
    "a setting": "jax.config.update('jax_debug_nans', False)",
    "a generator": "next(STREAM)",
}
OUTSIDE = """
import functools
SEEN, TABLE, HOST = [], {}, np.zeros(3)
STREAM = iter(range(9))
class Box:
    def act(self):
        SEEN.append(1)
    @property
    def seen(self):
        return self.act()
BOX = Box()
def act():
    SEEN.append(1)
def acting(f):
    @functools.wraps(f)
    def wrapper(*args):
        SEEN.append(1)
        return f(*args)
    return wrapper
@acting
def decorated(x):
    return x
@functools.cache
def cached(x):
    return x
def outer():
    return jax.vmap(lambda x: [act(), x][1])(jnp.ones(2))
@jax.jit
def f(x):
    %s
    return np.sin(x)
f(jnp.ones(3))
"""


@pytest.mark.parametrize("name", ACTING)
def test_a_function_that_acts_on_something_else_is_not_traced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    traced: list[Any] = []
    monkeypatch.setattr(confirm.jax, "eval_shape", lambda *values: traced.append(values))
    scene = Scene(failure(program(OUTSIDE % ACTING[name]), tmp_path / "student.py"))
    statement = scene.spot.statement
    assert statement is not None
    function = scene.source.function(statement)
    assert isinstance(function, ast.FunctionDef)
    names = scene.spot.frame.f_globals
    before = str(names["SEEN"]), str(names["TABLE"]), str(names["HOST"]), vars(names["BOX"]).copy()
    capsys.readouterr()
    assert not confirm.is_harmless(function.body, {**names, **scene.spot.frame.f_locals})
    holds(scene, Fix("Write it.", "", (scene.source.replace(statement, "return jnp.sin(x)"),)))
    assert len(traced) == 1  # of the changed statement alone
    assert not capsys.readouterr().out
    assert (str(names["SEEN"]), str(names["TABLE"]), str(names["HOST"]), vars(names["BOX"])) == before


HARMLESS = {
    "a loop": "for i in range(3): x = x + i",
    "a list of its own": "made = []; made.append(x); x = jnp.stack(made)[0]",
    "a jitted function": "x = jitted(x)",
    "a transformed function": "x = jax.vmap(jax.grad(jnp.sin))(x)",
    "a scan": "x = lax.scan(lambda c, one: (c + one, one), 0.0, x)[1]",
    "a method of an array": "x = x.at[0].set(x.sum())",
    "a decorator that only computes": "x = doubled(x)",
}
INSIDE = """
import functools
@jax.jit
def jitted(x):
    y = {'a': x}
    return y['a'] * 2
def doubling(f):
    @functools.wraps(f)
    def wrapper(*args):
        return 2 * f(*args)
    return wrapper
@doubling
def doubled(x):
    return x
@jax.jit
def f(v):
    x = v + 1
    %s
    return np.sin(x)
f(jnp.ones(3))
"""


@pytest.mark.parametrize("name", HARMLESS)
def test_a_function_that_only_computes_is_traced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []
    kept = jax.eval_shape
    monkeypatch.setattr(confirm.jax, "eval_shape", lambda *values: traced.append("") or kept(*values))
    source = INSIDE % HARMLESS[name]
    assert offered(source, tmp_path / "student.py", "return jnp.sin(x)")
    assert len(traced) == 1  # of the whole function
    assert not offered(source, tmp_path / "student.py", "return jnp.sin(x) @ jnp.ones(7)")


ELSEWHERE = """
def body(c):
    return c + x, None
x = jnp.ones(3)
lax.scan(body, 0.0, jnp.ones(2))
"""


@pytest.mark.parametrize(
    ("new", "is_offered"),
    {
        "def body(c, _):\n    return c + 1.0, None": True,
        "def body(c, _):\n    return c + x, None": False,  # the carry changes its shape
        "def body(c, _):\n    return c + 1.0": False,  # not a pair
        "def body(c, _):\n    print(c)\n    return c": True,  # not traced, because it prints
    }.items(),
)
def test_a_changed_definition_is_traced_with_the_statement_that_uses_it(
    new: str, is_offered: bool, tmp_path: Path
) -> None:
    scene = Scene(failure(program(ELSEWHERE), tmp_path / "student.py"))
    (function,) = scene.source.functions("body")
    fix = Fix("Write it.", new, (scene.source.replace(function, new),))
    assert holds(scene, fix) is is_offered


def test_a_changed_definition_is_not_traced_where_only_something_made_of_it_is_used(tmp_path: Path) -> None:
    source = """
    def loss(x):
        return 2 * x
    gradient = jax.grad(loss)
    gradient(jnp.ones(2))
    """
    scene = Scene(failure(program(source), tmp_path / "student.py"))
    (function,) = scene.source.functions("loss")
    new = "def loss(x):\n    return jnp.sum(2 * x)"
    assert holds(scene, Fix("Write it.", new, (scene.source.replace(function, new),)))


def test_values_that_the_failing_call_knew_do_not_count_against_a_fix(tmp_path: Path) -> None:
    source = """
    x = jnp.array([2.0, 1.0])
    y = x.at(0)  # <--
    """
    assert offered(source, tmp_path / "student.py", "y = float(x.at[0].get())")
    assert not offered(source, tmp_path / "student.py", "y = float(x.at[0].take())")


def test_an_endless_loop_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "_LIMIT_S", 0.2)
    source = """
    @jax.jit
    def f(x):
        return np.sin(x)
    f(1.0)
    """
    started = time.monotonic()
    assert offered(source, tmp_path / "student.py", "while True: y = 1")
    called = "def endless():\n    while True: y = 1\n" + textwrap.dedent(source)
    assert offered(called, tmp_path / "calls.py", "return endless()")
    assert time.monotonic() - started < 60


def test_fixes_are_confirmed_in_any_thread(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(offered, PLAIN, tmp_path / "student.py", "return jnp.sin(y) @ jnp.ones(3)")
        assert done.result() is False


def test_a_fix_that_is_not_confirmed_is_only_a_sentence(tmp_path: Path) -> None:
    scene = Scene(failure(program(PLAIN), tmp_path / "student.py"))
    edit = scene.source.replace(scene.node, "jnp.sine(y)")
    made = scene.explanation("kind", title="t", why="w", fixes=[scene.fix("Write it.", edit)])
    assert made is not None
    assert made.fixes[0].edits
    assert confirm.confirmed(scene, made).fixes == (Fix("Write it.", ""),)
