"""Submissions may read JAX's own programs, on each release, and none that holds an author's code."""

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import Primitive
from jax.interpreters import mlir
from needs import first_of

from jaxguide.course.judging.compilation_cache import compiled_once
from jaxguide.grading.workers import public_programs

Compiled = Callable[[Callable[[jax.Array], object]], dict[str, bool]]
_sizes = itertools.count(23)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    public_programs.listen()
    with compiled_once(tmp_path_factory.mktemp("programs")) as folder:
        yield folder


@pytest.fixture
def compiled(folder: Path) -> Compiled:
    """Return a function that tells which programs a piece of code compiles, and whether they are public."""

    def run(code: Callable[[jax.Array], object]) -> dict[str, bool]:
        x = jax.device_put(jnp.ones(next(_sizes)))  # of a size that nothing was compiled for
        before = set(os.listdir(folder))
        code(x)
        new = set(os.listdir(folder)) - before
        return {file.removeprefix("jit_").rsplit("-", 2)[0]: public_programs.is_public(file) for file in new}

    return run


LIBRARY: dict[str, Callable[[jax.Array], object]] = {
    "arithmetic": lambda x: (x + x, 2 * x, x - 1, x / x, x**2, -x, abs(x), x @ x),
    "comparisons": lambda x: (x < 1, x == x, x >= x, (x > 0) & (x < 1), jnp.where(x > 1, x, 0.0)),
    "elementwise": lambda x: (jnp.exp(x), jnp.log(x), jnp.sin(x), jnp.sqrt(x), jnp.maximum(x, 0)),
    "reductions": lambda x: (x.sum(), jnp.mean(x), x.max(), jnp.var(x), jnp.argmax(x)),
    "scans": lambda x: (jnp.cumsum(x), jnp.diff(x)),
    "sorting": lambda x: (jnp.sort(x), jnp.argsort(x)),
    "making": lambda x: (jnp.zeros_like(x), jnp.full(len(x), 2.5), jnp.arange(len(x)), jnp.linspace(0, 1, len(x))),
    "matrices": lambda x: (jnp.outer(x, x), jnp.dot(x, x), jnp.linalg.norm(x), jnp.eye(len(x))),
    "solving": lambda x: jnp.linalg.solve(jnp.eye(len(x)), x),
    "shapes": lambda x: (x[:, None], x.reshape(1, -1), jnp.stack([x, x]), jnp.concatenate([x, x])),
    "indexing": lambda x: (x[1:3], x[::-1], x[jnp.array([1, 2])], x.at[1].set(3.0)),
    "types": lambda x: (x.astype(int), x.astype(jnp.bfloat16)),
    "neural networks": lambda x: (jax.nn.relu(x), jax.nn.softmax(x), jax.nn.logsumexp(x)),
    "fft": lambda x: jnp.fft.fft(x),
    "lax": lambda x: (jax.lax.rsqrt(x), jax.lax.dynamic_slice(x, (1,), (2,)), jax.lax.clamp(0.0, x, 1.0)),
    "calls within a transformation": lambda x: (
        jax.vmap(lambda row: jnp.dot(row, row))(x[:, None]),
        jax.jvp(lambda x: jnp.exp(x) * 2, (x,), (x,)),
    ),
    "random": lambda x: [
        *(draw(jax.random.key(0), x.shape) for draw in (jax.random.normal, jax.random.uniform)),
        *(jax.random.split(jax.random.key(1), len(x)), jax.random.fold_in(jax.random.key(1), 7)),
        jax.random.permutation(jax.random.key(2), x),
    ],
}


@pytest.mark.parametrize("name", first_of(LIBRARY, 6))
def test_operations_of_jax_are_public(compiled: Compiled, name: str) -> None:
    programs = compiled(LIBRARY[name])
    assert programs
    assert [program for program, is_public in programs.items() if not is_public] == []


def own(x: jax.Array) -> jax.Array:
    return 3 * x + 1


def loss(x: jax.Array) -> jax.Array:
    return own(x).sum()


def weighted(one: jax.Array, other: jax.Array) -> jax.Array:
    return one + 2 * other


@jax.custom_jvp
def tripled(x: jax.Array) -> jax.Array:
    return 3 * x


tripled.defjvp(lambda primals, tangents: (3 * primals[0], 3 * tangents[0]))


def mean(x: jax.Array) -> jax.Array:
    return 3 * x + 1


def by_own_primitive(x: jax.Array) -> Any:
    primitive = Primitive("add")
    primitive.def_impl(partial(jax.lax.add_p.impl.func, primitive))  # as JAX does for its own
    primitive.def_abstract_eval(lambda aval: aval)
    mlir.register_lowering(primitive, mlir.lower_fun(own, multiple_results=False))
    return primitive.bind(x)


aliased_dot = jnp.dot
# The name of the program, and code that compiles it.
SECRETS: dict[str, tuple[str, Callable[[jax.Array], object]]] = {
    "a function": ("own", jax.jit(own)),
    "a function with JAX's name": ("mean", jax.jit(mean)),
    "a lambda": ("_lambda", jax.jit(lambda x: 3 * x)),
    "ahead of time": ("own", lambda x: jax.jit(own).lower(x).compile()),
    "a derivative": ("loss", jax.jit(jax.grad(loss))),
    "a closure": ("inner", lambda x: jax.jit(closing_over(x))(x)),
    "a function of JAX, mapped": ("dot", lambda x: jax.jit(jax.vmap(aliased_dot))(x[:, None], x[:, None])),
    "a function of JAX, mapped as it runs": ("dot", lambda x: jax.vmap(aliased_dot)(x[:, None], x[:, None])),
    "a function of JAX, differentiated as it runs": ("sin", lambda x: jax.jvp(jnp.sin, (x,), (x,))),
    "a partial application": ("dot", lambda x: jax.jit(partial(aliased_dot, x))(x)),
    "a ufunc's method": ("outer", lambda x: jnp.frompyfunc(lambda a, b: a * b + 7, 2, 1).outer(x, x)),
    "a function at indices": ("scatter", lambda x: x.at[0].apply(lambda v: 3 * v + 1)),
    "pieces": ("_piecewise", lambda x: jnp.piecewise(x, [x > 1], [own, 0.0])),
    "pieces of JAX": ("_piecewise", lambda x: jnp.piecewise(x, [x > 1], [jnp.sin, jnp.cos])),
    "scan": ("scan", lambda x: jax.lax.scan(lambda c, v: (c + v, c * v), 0.0, x)),
    "while_loop": ("while", lambda x: jax.lax.while_loop(lambda v: v.sum() < 50, lambda v: 3 * v, x)),
    "cond": ("cond", lambda x: jax.lax.cond(x.sum() > 0, own, lambda v: v, x)),
    "map": ("scan", lambda x: jax.lax.map(own, x)),
    "reduce": ("reduce", lambda x: jax.lax.reduce(x, 0.0, weighted, (0,))),
    "reduce_window": ("reduce_window", lambda x: jax.lax.reduce_window(x, 0.0, weighted, (2,), (1,), "SAME")),
    "custom_jvp": ("tripled", lambda x: jax.jit(tripled)(x)),
    "a primitive with JAX's name": ("add", by_own_primitive),
}


def closing_over(value: jax.Array) -> Callable[[jax.Array], jax.Array]:
    def inner(x: jax.Array) -> jax.Array:
        return x + value

    return inner


@pytest.mark.parametrize("name", SECRETS)
def test_what_holds_the_code_of_an_author_is_not_public(compiled: Compiled, name: str) -> None:
    program, code = SECRETS[name]
    programs = compiled(code)
    assert programs[program] is False
