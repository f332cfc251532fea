"""Test that explanations of sizes, shapes, loops, gradients and `vmap` name the cause at hand, and their code runs."""

import linecache
from pathlib import Path

import pytest
from failing import failure, program, run

from jaxguide.explain import explain, knowledge

# Program -> words that its explanation contains, and words that it must not contain.
SAID: dict[str, tuple[str, list[str], list[str]]] = {
    "branches_that_return_tuples": (
        """
@jax.jit
def f(x):
    if x > 0:
        return x, 1.0
    else:
        return -x, 2.0
result = f(3.0)
""",
        ["lax.cond(x > 0, lambda: (x, 1.0), lambda: (-x, 2.0))"],
        ["jnp.where(x > 0, x, 1.0"],
    ),
    "a_branch_with_a_tree": (
        """
def update(p): return jax.tree.map(lambda a: a * 0.5, p)
@jax.jit
def f(loss, params):
    if loss > 1.0:
        params = update(params)
    return params
result = f(3.0, {"w": jnp.ones(2), "b": jnp.zeros(())})
""",
        ["lax.cond"],
        ["jnp.where(loss"],
    ),
    "a_branch_that_returns_none": (
        """
@jax.jit
def f(x):
    if x > 0:
        return None
    return x
result = f(3.0)
""",
        [],
        ["jnp.where(x > 0, None"],
    ),
    "a_key_of_a_dict_in_a_test": (
        """
@jax.jit
def f(params, x):
    if "bias" in params and x > 0:
        y = x + params["bias"]
    else:
        y = x
    return y
result = f({"bias": 1.0}, 2.0)
""",
        ['"bias" in params'],
        ["params == ", "jnp.where("],
    ),
    "none_in_a_test": (
        """
@jax.jit
def f(x, mask=None):
    if mask is not None and x > 0:
        x = x * mask
    return x
result = f(2.0, 3.0)
""",
        ["mask is not None"],
        ["jnp.where(("],
    ),
    "or_with_a_number": (
        """
@jax.jit
def f(x, scale):
    scale = scale or 1.0
    return x * scale
result = f(2.0, 3.0)
""",
        ["If the number `scale` is meant"],
        ["logical_or"],
    ),
    "a_name_of_a_loop_that_is_read_after_it": (
        """
@jax.jit
def f(x):
    while x > 1.0:
        y = x / 2
        x = y
    return x + y
result = f(8.0)
""",
        [],
        ["lambda x: x > 1.0"],
    ),
    "a_list_that_a_loop_fills": (
        """
@jax.jit
def f(x):
    path = []
    while x > 1.0:
        x = x / 2
        path.append(x)
    return x, jnp.stack(path)
result = f(8.0)
""",
        [],
        ["def turn"],
    ),
    "an_assertion_about_an_integer": (
        """
@jax.jit
def f(x, i):
    assert i < 3, "range"
    return x[i]
result = f(jnp.arange(3.0), 1)
""",
        ["checkify"],
        ["NaN"],
    ),
    "max_as_a_size": (
        """
@partial(jax.jit)
def f(x, n):
    return x[:3] + jnp.zeros(max(n, 3))
result = f(jnp.ones(5), 2)
""",
        ["static"],
        ["jnp.maximum(n, 3)"],
    ),
    "sorted_pairs": (
        """
@jax.jit
def f(scores, items):
    return sorted(zip(scores, items))[0][1]
result = f(jnp.array([2.0, 1.0]), jnp.array([5.0, 6.0]))
""",
        ["argsort"],
        ["jnp.sort("],
    ),
    "a_method_of_the_same_name": (
        """
class Inner:
    def loss(self, x): return x * 2
class Outer:
    def __init__(self): self.inner = Inner()
    def loss(self, x):
        if x > 0:
            y = self.inner.loss(x)
        else:
            y = -x
        return y
m = Outer()
result = jax.jit(m.loss)(2.0)
""",
        ["jnp.where(x > 0, self.inner.loss(x), -x)"],
        ["recursion"],
    ),
    "static_beside_numbers": (
        """
@partial(jax.jit, static_argnums=(1,))
def f(x, n, train):
    if train:
        x = x * n
    return x
result = f(jnp.ones(3), 2, True)
""",
        ['static_argnames=("n", "train")'],
        ['static_argnames="train"'],
    ),
    "a_static_float": (
        """
@jax.jit
def f(x, scale):
    if scale:
        x = x / scale
    return x
result = f(jnp.ones(3), jnp.array(0.5))
""",
        [],
        ["int("],
    ),
    "static_in_a_method": (
        """
class M:
    def __hash__(self): return 1
    def __eq__(self, other): return self is other
    @partial(jax.jit, static_argnums=(0,))
    def step(self, x, train, k):
        if train:
            x = x * k
        return x
result = M().step(jnp.ones(3), True, jnp.array(2))
""",
        ['static_argnames=("self", "train")'],
        ["int(jnp.array(2))"],
    ),
    "a_class_in_a_test": (
        """
@jax.jit
def f(x):
    if isinstance(x, dict):
        y = x["a"]
    elif x > 0:
        y = x
    else:
        y = -x
    return y
result = f(-2.0)
""",
        [],
        ["where(isinstance"],
    ),
    "two_mapped_functions_of_one_name": (
        """
def a(x):
    g = jax.vmap(lambda v: v + 1)
    return g(x)
def b(x, y):
    g = jax.vmap(lambda u, v: (u * v).sum())
    return g(x, y)
result = b(jnp.ones((3, 2)), jnp.ones((4, 2)))
""",
        [],
        ["lambda v: v + 1"],
    ),
    "a_number_in_a_registered_class": (
        """
from dataclasses import dataclass
@jax.tree_util.register_dataclass
@dataclass
class State:
    x: jax.Array
    step: jax.Array
s = State(jnp.ones((3, 2)), jnp.array(0))
result = jax.vmap(lambda s: s.x.sum() + s.step)(s)
""",
        ["s.step"],
        ["`s` has 0 axes", "needs no `vmap`"],
    ),
    "three_results_in_a_name": (
        """
def step(c, x):
    out = (c + x, c, x)
    return out
result = lax.scan(step, 0.0, jnp.ones(4))
""",
        ["returns `out`, which is not a pair"],
        ["return out, None"],
    ),
    "one_branch_that_is_a_value": (
        """
x = jnp.array(2.0)
result = lax.cond(x > 0, lambda: x, -x)
""",
        ["`-x` is a value"],
        ["`lambda: x` is a value", "jnp.where("],
    ),
    "branches_that_close_over_arrays": (
        """
x = jnp.array([1.0, -2.0])
result = lax.cond(x > 0, lambda: x, lambda: -x)
""",
        ["choose elementwise, with `jnp.where`"],
        ["vmap"],
    ),
    "a_key_of_the_old_style": (
        """
def loss(key, w):
    return (w * jax.random.normal(key, w.shape)).sum()
result = jax.grad(loss)(jax.random.PRNGKey(0), jnp.ones(3))
""",
        ["`argnums` takes its number"],
        ["astype(float)"],
    ),
    "a_loop_with_a_traced_start": (
        """
def f(x, start):
    return lax.fori_loop(start, 10, lambda i, c: c * x, x)
result = jax.jit(jax.grad(f))(2.0, 3)
""",
        ["`start` decides"],
        ["`10` decides"],
    ),
    "a_size_beside_a_value": (
        """
@jax.jit
def f(n, v):
    m = n + 1
    return jnp.full((m,), v)
result = f(2, 7)
""",
        ["`m` is traced"],
        ["`v` is traced"],
    ),
    "a_shape_times_a_traced_number": (
        """
@jax.jit
def f(x, k):
    n = x.shape[0] * k
    return jnp.zeros(n)
result = f(jnp.ones(3), 2)
""",
        [],
        ["A shape is known"],
    ),
    "shapes_of_two_ranks": (
        """
result = jnp.ones(2) + jnp.ones((3, 4))
""",
        ["(2,)", "(3, 4)"],
        ["(1, 2)"],
    ),
    "none_among_gradients": (
        """
p = {"w": jnp.ones(2), "b": jnp.ones(1)}
g = {"w": jnp.ones(2), "b": None}
result = jax.tree.map(lambda a, b: a - b, p, g)
""",
        ["`g['b']` is None"],
        ["lacks its `return`"],
    ),
    "a_frozen_dict_and_a_dict": (
        """
import flax
p = flax.core.freeze({"w": jnp.ones(2)})
g = {"w": jnp.ones(2)}
result = jax.tree.map(lambda a, b: a - b, p, g)
""",
        ["a `FrozenDict` is not a `dict`"],
        ["same keys and lengths"],
    ),
    "a_list_and_a_tuple": (
        """
result = jax.tree.map(jnp.add, [jnp.ones(2), jnp.ones(2)], (jnp.ones(2), jnp.ones(2)))
""",
        ["a `list` is not a `tuple`"],
        ["same keys and lengths"],
    ),
    "an_index_for_a_mapped_axis": (
        """
x = jnp.ones((4, 3))
result = jax.vmap(lambda r: r[0, 1])(x)
""",
        ["`jax.vmap` maps over"],
        ["lambda r: r[0])"],
    ),
}
# No explanation: the failure has another cause, or the cause is not certain.
UNCERTAIN = {
    "a_number_in_an_unknown_tree": """
def make():
    return {"a": jnp.ones(3), "b": 1.0}
result = jax.vmap(lambda t: t["a"])(make())
""",
    "sizes_inside_a_library": """
import equinox as eqx
result = eqx.filter_vmap(lambda a, b: a * b)(jnp.ones(3), jnp.ones(4))
""",
    "a_factory_without_return": """
def make_step(lr):
    def step(x):
        return x - lr
result = jax.jit(make_step(0.1))(1.0)
""",
    "a_pair_of_functions": """
def net():
    return (lambda k: 0.0), (lambda p, x: x)
result = jax.jit(net())
""",
    "a_lambda_that_returns_none": """
def loss(w):
    (w ** 2).sum()
result = jax.grad(lambda w: loss(w))(jnp.ones(3))
""",
    "a_gradient_of_unknown_argnums": """
class T:
    def __init__(self, f): self.grad = jax.grad(f, argnums=1)
t = T(lambda i, w: (w * i).sum())
result = t.grad(jnp.arange(3), jnp.arange(3))
""",
    "full_of_an_array": """
result = jnp.full((3,), jnp.ones(2))
""",
    "a_reduction_of_shapes": """
import functools
xs = [jnp.ones(2), jnp.ones(3)]
result = functools.reduce(jnp.add, xs)
""",
    "an_inner_product": """
a, b = jnp.ones((2, 3)), jnp.ones((3, 2))
result = jnp.inner(a, b)
""",
    "an_own_call_in_a_body": """
def helper(a, b): return a + b
def body(i, x): return helper(x)
result = lax.fori_loop(0, 3, body, 1.0)
""",
    "an_own_call_in_a_branch": """
def g(x, y): return x + y
result = lax.cond(True, lambda: g(1.0), lambda: 2.0)
""",
}
LIBRARIES = ("flax", "equinox")


@pytest.fixture(autouse=True)
def rules_that_may_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "rules_may_raise", True)


def _needs_its_libraries(source: str) -> None:
    for library in LIBRARIES:
        if f"import {library}" in source:
            pytest.importorskip(library)


def _cases(names: dict[str, object]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.long if number else ()) for number, name in enumerate(names)]


@pytest.mark.parametrize("name", _cases({**SAID}))
def test_the_cause_at_hand_is_named_and_code_runs(name: str, tmp_path: Path) -> None:
    source, contained, absent = SAID[name]
    _needs_its_libraries(source)
    file, text = tmp_path / f"{name}.py", program(source)
    explanation = explain(failure(text, file))
    assert explanation is not None
    said = "\n".join([str(explanation), *(f"{fix.sentence}\n{fix.code}" for fix in explanation.fixes)])
    for words in contained:
        assert words in said
    for words in absent:
        assert words not in said
    for number, fix in enumerate(explanation.fixes):
        if fix.edits:
            linecache.checkcache(str(file))
            run(fix.apply(text, str(file)), tmp_path / f"mended_{number}.py")


@pytest.mark.parametrize("name", _cases({**UNCERTAIN}))
def test_an_uncertain_cause_is_not_explained(name: str, tmp_path: Path) -> None:
    _needs_its_libraries(UNCERTAIN[name])
    assert explain(failure(program(UNCERTAIN[name]), tmp_path / f"{name}.py")) is None
