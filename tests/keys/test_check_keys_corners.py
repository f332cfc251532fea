"""Test corner cases of `check_keys`: delayed function bodies, JAX's own checker, empty draws, names."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random
from needs import first_of

from jaxguide.keys import KeyReuseError, check_keys, no_key_reuse

KEYS = {"typed": random.key, "legacy": random.PRNGKey, "rbg": functools.partial(random.key, impl="rbg")}


def twice(key):
    return random.normal(key) + random.uniform(key)


def once_each(key):
    first, second = random.split(key)
    return random.normal(first) + random.uniform(second)


def kinds(fn, *args, **kwargs):
    return [problem.kind for problem in check_keys(fn, *args, **kwargs)]


# Functions that return before their body has run.


def draws(key):
    yield random.normal(key)
    yield random.uniform(key)


async def drawing(key):
    return random.normal(key) + random.uniform(key)


async def drawing_on(key):
    yield twice(key)


class Model:
    def noise(self, key):
        yield twice(key)


UNFINISHED = {
    "a generator function": (draws, "`draws` returned a `generator`"),
    "one in a partial": (functools.partial(draws), "`draws` returned a `generator`"),
    "a method": (Model().noise, "`noise` returned a `generator`"),
    "a generator expression": (lambda key: (twice(key) for _ in range(2)), "`<lambda>` returned a `generator`"),
    "a map": (lambda key: map(twice, [key]), "`<lambda>` returned a `map`"),
    "an asynchronous function": (drawing, "`drawing` returned a `coroutine`"),
    "an asynchronous generator": (drawing_on, "`drawing_on` returned a `async_generator`"),
}


@pytest.mark.parametrize(("fn", "start"), UNFINISHED.values(), ids=UNFINISHED)
def test_a_function_that_has_not_run_is_refused_in_one_sentence(fn, start):
    with pytest.raises(TypeError) as caught:
        check_keys(fn, random.key(0))
    assert str(caught.value).startswith(f"{start} object, which has not run yet, so nothing in it could be checked: ")


@pytest.mark.parametrize("fn", [draws, drawing, drawing_on, Model().noise])
def test_the_decorator_refuses_what_returns_before_it_has_run(fn):
    with pytest.raises(TypeError, match=rf"^`no_key_reuse` cannot check `{fn.__name__}`, which returns before "):
        no_key_reuse(fn)


# Inside JAX's own checker.


@pytest.mark.parametrize("make_key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
class TestWithinJaxsOwnChecker:
    def test_problems_are_found_and_the_key_stays_unused(self, make_key, wrap):
        with jax.debug_key_reuse(True):
            key = make_key(0)
            for _ in range(2):
                assert kinds(wrap(twice), key) == ["drawn_twice"]
                assert kinds(wrap(once_each), key) == []
                assert "1 key reused" in str(check_keys(wrap(twice), key).tree)
            random.normal(key)
            assert jax.config.jax_debug_key_reuse

    def test_the_decorator_leaves_the_key_to_the_call(self, make_key, wrap):
        with jax.debug_key_reuse(True):
            assert no_key_reuse(wrap(once_each))(make_key(0)).shape == ()
            with pytest.raises(KeyReuseError):
                no_key_reuse(wrap(twice))(make_key(0))

    def test_a_program_that_needs_values_is_checked_too(self, make_key, wrap):
        def needs_values(key, x):
            return wrap(twice)(key) if x > 0 else wrap(once_each)(key)

        with jax.debug_key_reuse(True):
            assert kinds(needs_values, make_key(0), np.float32(1)) == ["drawn_twice"]
            assert kinds(needs_values, make_key(0), np.float32(-1)) == []


def test_a_jitted_function_that_was_checked_is_not_traced_again():
    traces = []

    @no_key_reuse
    @jax.jit
    def fn(key):
        traces.append(1)
        return once_each(key)

    fn(random.key(0))
    assert len(traces) == 1


# Empty draws, and rows.

EMPTY = {
    "normal": lambda key: random.normal(key, (0,)),
    "uniform": lambda key: random.uniform(key, (3, 0)),
    "bits": lambda key: random.bits(key, (0,)),
    "randint": lambda key: random.randint(key, (0,), 0, 9),
    "bernoulli": lambda key: random.bernoulli(key, 0.3, (0, 2)),
    "gamma": lambda key: random.gamma(key, 2.0, (0,)),
    "permutation": lambda key: random.permutation(key, 0),
    "choice": lambda key: random.choice(key, 9, (0,)),
    "categorical": lambda key: random.categorical(key, jnp.zeros((0, 3))),
}


@pytest.mark.parametrize("sampler", first_of(EMPTY, 4))
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_drawing_an_empty_array_uses_nothing(sampler, wrap):
    draw = wrap(EMPTY[sampler])

    def around(key):
        return draw(key), random.normal(key, (2,)), draw(key)

    def needs_values(key, x):
        return around(key) if x > 0 else None

    for make_key in KEYS.values():
        assert kinds(around, make_key(0)) == []
        assert kinds(needs_values, make_key(0), np.float32(1)) == []
    assert check_keys(around, random.key(0)).tree.text.count("normal") >= 1


def test_a_vmap_of_one_row_counts_as_of_many():
    for rows in (1, 3):
        assert kinds(
            lambda key, rows=rows: jax.vmap(lambda x: x + random.normal(key))(jnp.ones(rows)), random.key(0)
        ) == ["same_key_for_all_rows"]
        assert kinds(lambda key, rows=rows: jax.vmap(random.normal)(random.split(key, rows)), random.key(0)) == []


# Keys on the way to others.


def _folded(*numbers):
    return lambda key: random.normal(functools.reduce(random.fold_in, numbers, key))


# What is done with each key, and whether the number that is folded in twice is a problem.
STEPS = {
    "two levels": ([_folded(1, 1), _folded(1, 2), _folded(2, 1), _folded(2, 2)], False),
    "three levels": ([_folded(i, j, k) for i in (1, 2) for j in (1, 2) for k in (1, 2)], False),
    "the same at the end": ([_folded(1, 2), _folded(1, 2)], True),
    "the same below": ([_folded(1, 1, 3), _folded(1, 1, 3)], True),
    "drawn from as well": ([_folded(1, 2), _folded(1)], True),
    "returned": ([_folded(1, 2), lambda key: random.fold_in(key, 1)], False),
    "of a clone": ([_folded(1), lambda key: random.normal(random.fold_in(random.clone(key), 1))], False),
    "split": ([lambda key: random.split(random.fold_in(key, 1)), _folded(1, 2)], True),
}


@pytest.mark.parametrize("case", first_of(STEPS, 1))
def test_a_number_may_be_folded_in_again_on_the_way_to_other_keys(case):
    draws, is_problem = STEPS[case]
    found = kinds(lambda key: [draw(key) for draw in draws], random.key(0))
    assert ("fold_twice_same_data" in found) is is_problem
    assert bool(found) is is_problem


@pytest.mark.long
def test_a_generator_whose_folds_commute_is_told_apart():
    draws = STEPS["two levels"][0]
    assert kinds(lambda key: [draw(key) for draw in draws], random.key(0, impl="unsafe_rbg"))


# Names.


@pytest.mark.parametrize("helper", [check_keys])
def test_an_argument_may_have_the_name_of_the_helpers_own(helper):
    seen = []

    def noise(key, fn, args, helper):
        seen.append((fn, args, helper))
        return random.normal(key)

    helper(noise, key=random.key(0), fn="fn", args="args", helper="helper")
    assert seen == [("fn", "args", "helper")]
