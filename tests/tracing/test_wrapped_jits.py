"""Test functions that another library jits: whose traces they are, and that a limit above them counts."""

import functools
import importlib
import sys

import jax
import numpy as np
import pytest

from jaxguide.tracing import TooManyTracesError, jit_events, max_traces, watch_traces

X3, X4 = np.ones(3, np.float32), np.ones(4, np.float32)

# As `equinox.filter_jit` does: one jitted function of the library's, which gets the user's as a static argument.
LIBRARY = '''
import functools
import types

import jax


def _is_array(x):
    return hasattr(x, "shape")


class filter_jit:
    def __init__(self, fun):
        functools.update_wrapper(self, fun)
        self.fun = fun

        def fun_wrapped(dynamic, static):
            structure, parts, fun = static
            dynamic = iter(dynamic)
            leaves = [next(dynamic) if part is None else part[0] for part in parts]
            args, kwargs = jax.tree.unflatten(structure, leaves)
            return fun(*args, **kwargs)

        self.cached = jax.jit(fun_wrapped, static_argnums=1)

    def __call__(self, *args, **kwargs):
        leaves, structure = jax.tree.flatten((args, kwargs))
        static = tuple(None if _is_array(leaf) else (leaf,) for leaf in leaves)
        return self.cached([leaf for leaf in leaves if _is_array(leaf)], (structure, static, self.fun))

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)


def solve(term, y):
    """Jit anew in each call."""
    return jax.jit(lambda y: term(y))(y)


def apply(model, x):
    """Jit a part, as `flax` does, which is the library's business."""
    return jax.jit(lambda x: x + 1)(x) * model
'''


@pytest.fixture(autouse=True)
def _errors_show(monkeypatch):
    monkeypatch.setattr(jit_events, "listeners_may_raise", True)


@pytest.fixture
def library(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "otherlib.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("otherlib")
    sys.modules.pop("otherlib")


def made():
    def loss(x, rate=1.0, mode="sum"):
        return (x * rate).sum()

    return loss


def test_the_users_function_in_another_librarys_jit_is_the_users(library):
    step = library.filter_jit(made())
    with watch_traces() as traces:
        step(X3)
        step(X3)
        step(X4)
        step(X4, rate=2.0)
        step(X4, rate=3.0)
    (found,) = traces
    assert (found.name, found.traces, found.compiles) == ("`loss`", 4, 4)
    assert [(one.reason, one.remedy[:55]) for one in found.retraces] == [
        (
            "argument `x` was float32[3] and is now float32[4]",
            "call it with arrays of one shape: pad `x` to the larges",
        ),
        ("argument `rate` was left out and is now 2.0", "pass `rate` the same way in every call"),
        (
            "`rate`, which is static because it is not an array, was 2.0 and is now 3.0",
            "each value needs a separate trace: pass `rate` as an ar",
        ),
    ]
    assert found.recompiles == []


def test_a_new_function_in_another_librarys_jit_is_told(library):
    with watch_traces() as traces:
        for _ in range(2):
            library.filter_jit(made())(X3)
    assert [one.reason for one in traces.retraces] == ["the function object is new, because its definition ran again"]


def test_what_a_library_jits_for_itself_is_left_out(library):
    with watch_traces() as traces:
        library.solve(jax.jit(lambda y: y), X3)
        for _ in range(2):
            library.solve(len, X4)
    assert [one.traces for one in traces] == [1]  # the user's term


def wrapped(function):
    jitted = jax.jit(function)

    @functools.wraps(function)
    def outer(*args):
        return jitted(*args)

    return outer


class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        return x + 1

    @functools.partial(jax.jit, static_argnums=0)
    def __call__(self, x):
        return x + 1


ABOVE = {
    "filter_jit": lambda library: library.filter_jit(made()),
    "filter_jit of grad": lambda library: library.filter_jit(jax.grad(made())),
    "partial of filter_jit": lambda library: functools.partial(library.filter_jit(made()), rate=2.0),
    "pmap": lambda library: jax.pmap(made()),
    "wraps": lambda library: wrapped(made()),
    "wraps the jitted": lambda library: functools.wraps(jitted := jax.jit(made()))(lambda x: jitted(x)),
    "partial": lambda library: functools.partial(jax.jit(made()), rate=2.0),
    "vmap": lambda library: jax.vmap(jax.jit(made())),
    "grad": lambda library: jax.grad(jax.jit(made())),
    "bound method": lambda library: Model().step,
    "jitted call": lambda library: Model(),
    "jit of an object": lambda library: jax.jit(type("Plain", (), {"__call__": lambda self, x: x})()),
}


@pytest.mark.parametrize("case", ABOVE)
def test_a_limit_above_what_jits_counts_or_refuses(library, case):
    limited = max_traces(1)(ABOVE[case](library))
    axes = (1,) if case in ("pmap", "vmap") else ()
    limited(np.ones((*axes, 3), np.float32))
    limited(np.zeros((*axes, 3), np.float32))
    with pytest.raises(TooManyTracesError, match=r"float32\[.*3\] and is now float32\[.*4\]\. What to do") as caught:
        limited(np.ones((*axes, 4), np.float32))  # beyond the limit
    if not case.startswith("wraps"):  # whose line is in the wrapper
        assert caught.value.retrace.line.text() == "limited(np.ones((*axes, 4), np.float32))  # beyond the limit"


def test_a_limit_above_filter_jit_counts_static_values_and_earlier_calls_do_not_matter(library):
    step = library.filter_jit(made())
    step(X3)
    step(X4)
    limited = max_traces(1)(step)
    limited(X3, mode="sum")
    with pytest.raises(TooManyTracesError, match="`mode`, which is static because it is not an array, was 'sum'"):
        limited(X3, mode="mean")


def test_a_limit_that_cannot_count_says_so(library):
    with pytest.raises(TypeError, match="decorates a jitted function of yours"):
        max_traces(1)(library.filter_jit(len))


@pytest.mark.long
def test_equinox_and_flax():
    equinox = pytest.importorskip("equinox")
    nnx = pytest.importorskip("flax.nnx")
    linear = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    mlp = equinox.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
    for jit, model in ((equinox.filter_jit, mlp), (nnx.jit, linear)):

        def step(model, x):
            return jax.vmap(model)(x)

        limited = max_traces(1)(jit(step))
        limited(model, np.ones((5, 3), np.float32))
        limited(model, np.zeros((5, 3), np.float32))
        with watch_traces() as traces, pytest.raises(TooManyTracesError, match=r"argument `x` was float32\[5,3\]"):
            limited(model, np.ones((6, 3), np.float32))
        assert traces["step"].traces == 1
