"""Test captures, recordings and breakpoints in a real Jupyter kernel."""

import pytest
from kernel import run_in_kernel

CELLS = {
    "setup": """
import jax, jax.numpy as jnp, sys, threading
from jaxguide.course.breakpoints import *
from jaxguide.debug import *
stdout = sys.stdout
""",
    "capture": """
show = jax.jit(lambda x: jax.debug.print("x = {}", x))
with capture() as lines:
    show(2.0); print("printed", end="")
    thread = threading.Thread(target=print, args=["thread"]); thread.start(); thread.join()
lines
""",
    "after": """
print("shown"); show(3.0); jax.effects_barrier()
sys.stdout is stdout
""",
    "recording": """
f = jax.jit(jax.grad(lambda x: record_gradient("g", x) ** 2))
f(1.0)
with recording() as rec:
    f(3.0)
    record("x", 1)
rec
""",
    "breakpoint": """
@jax.jit
def g(x, y):
    z = x / y
    breakpoint_if_nonfinite(z)
    return z
@jax.jit
def h(x):
    jax.debug.breakpoint()
    return x
with scripted_breakpoints(["p x", "u", "p is_finite", "u", "p (z, y)", "c", "p x"]) as transcript:
    g(2.0, 0.0); h(2.0); print("printed")
print(*[line for line in str(transcript).splitlines() if "jdb" in line or "Array" in line], sep="\\n")
""",
    "rows": """
with scripted_breakpoints(["p (row, x)", "c"]) as transcript:
    jax.vmap(lambda y: breakpoint_if_nonfinite(1 / y))(jnp.array([1.0, 2.0, 0.0]))
transcript
""",
}

EXPECTED = {
    "setup": "",
    "capture": "['x = 2.0', 'thread', 'printed']",
    "after": "shown\nx = 3.0\nTrue",
    "recording": "g: 1 time float32[]\nx: 1 time int32[]",
    "breakpoint": """printed
Entering jdb:
(jdb) p x
Array(inf, dtype=float32)
(jdb) u
(jdb) p is_finite
Array(False, dtype=bool)
(jdb) u
(jdb) p (z, y)
(Array(inf, dtype=float32), Array(0., dtype=float32))
(jdb) c
Entering jdb:
(jdb) p x
Array(2., dtype=float32)
(jdb) c  [typed by `scripted_breakpoints`: no command was left]
""",
    "rows": "Entering jdb:\n(jdb) p (row, x)\n(Array(2, dtype=int32), Array(inf, dtype=float32))\n(jdb) c",
}


@pytest.fixture(scope="module")
def shown():
    return dict(zip(CELLS, run_in_kernel(list(CELLS.values())), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_shows_what_it_shows_in_python(shown, cell):
    assert shown[cell] == EXPECTED[cell]
