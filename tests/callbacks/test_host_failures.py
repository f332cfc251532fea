"""Test host functions that raise: each call gets its own error, in every thread, and no reference is kept."""

import gc
import logging
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxguide.callbacks import HostFunctionError, host_function, io_function

X = np.ones(3, np.float32)


class Negative(ValueError):
    """An error that the host function raises; `number` is the function's argument."""

    def __init__(self, text, number):
        super().__init__(text)
        self.number = number


def root(x):
    if np.min(x) < 0:
        raise Negative("below zero", float(np.min(x)))
    return np.sqrt(x)


def number_by_number():
    f = host_function(root, elementwise=True, derivative=lambda x: 0.5 / f(x))
    return f


def as_a_whole():
    return host_function(root, out=lambda x: x, derivative=lambda dx, y, x: dx / (2 * y))


def total(f):
    return lambda x: f(x).sum()


EAGER = {
    "call": lambda f: f,
    "vmap": jax.vmap,
    "grad": lambda f: jax.grad(total(f)),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
    "hessian": lambda f: jax.hessian(total(f)),
}
TRACED = {
    "jit": jax.jit,
    "jit of vmap": lambda f: jax.jit(jax.vmap(f)),
    "map": lambda f: lambda x: lax.map(f, x),
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(total(f))),
}


@pytest.mark.parametrize("calls_before", [0, 1])
@pytest.mark.parametrize("make", [number_by_number, as_a_whole])
class TestEveryCall:
    @pytest.mark.parametrize("transform", EAGER)
    def test_an_eager_call_raises_the_hosts_error_also_after_good_calls(self, make, transform, calls_before):
        run = EAGER[transform](make())
        for _ in range(calls_before):
            jax.block_until_ready(run(X))
        for number in (-1.0, -2.0):
            with pytest.raises(HostFunctionError) as caught:
                jax.block_until_ready(run(number * X))
            assert str(caught.value).startswith("`root` raised Negative: below zero (test_host_failures.py, line ")
            assert caught.value.__cause__.number == number
        jax.block_until_ready(run(X))

    @pytest.mark.parametrize("transform", TRACED)
    def test_in_a_traced_program_the_sentence_is_the_last_line(self, make, transform, calls_before):
        f = make()
        run = TRACED[transform](f)
        for _ in range(calls_before):
            jax.block_until_ready(run(X))
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError)) as caught:
            jax.block_until_ready(run(-X))
        assert "HostFunctionError: `root` raised Negative: below zero" in str(caught.value).strip().splitlines()[-1]
        for number in (-1.0, -2.0):
            with pytest.raises(HostFunctionError) as caught, f.errors():
                jax.block_until_ready(run(number * X))
            assert str(caught.value).startswith("`root` raised Negative: below zero (test_host_failures.py, line ")
            assert caught.value.__cause__.number == number


@pytest.mark.parametrize("ordered", [True, False])
def test_a_function_with_side_effects_raises_its_error_also_after_good_calls(ordered):
    for out in (None, lambda x: x):
        note = io_function(root, out=out, ordered=ordered)
        note(X), note(X)
        for number in (-1.0, -2.0):
            with pytest.raises(HostFunctionError) as caught:
                note(number * X)
            assert caught.value.__cause__.number == number


@jax.jit
def slowly(x):
    """Return ones, so slowly that the caller has long continued."""
    return lax.fori_loop(0, 40, lambda _, y: (y @ y) / 500, x)


def test_an_error_is_raised_at_the_call_also_where_the_argument_is_still_being_computed():
    f, note = as_a_whole(), io_function(root, out=None)
    for run in (f, jax.grad(total(f)), note):
        argument = slowly(-jnp.ones((500, 500)) * jnp.eye(500))
        with pytest.raises(HostFunctionError, match="below zero"):
            run(argument - 2)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_traced_function_with_side_effects_raises_its_error_in_the_block(ordered):
    note = io_function(root, out=None, ordered=ordered)
    program = jax.jit(lambda x: (note(x), x)[1])

    def run(x):
        jax.block_until_ready(program(x))
        jax.effects_barrier()

    run(X)
    with pytest.raises(HostFunctionError, match="`root` raised Negative: below zero") as caught, note.errors():
        run(-X)
    assert caught.value.__cause__.number == -1


def test_in_the_block_other_errors_are_jaxs_own():
    def refuse(x):
        raise ValueError("not ours")

    f = as_a_whole()
    for other in (lambda x: jax.pure_callback(refuse, x, x), host_function(refuse, out=lambda x: x)):
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="not ours") as caught, f.errors():
            jax.jit(other)(X)
        assert not isinstance(caught.value, HostFunctionError)
    with pytest.raises(HostFunctionError, match="below zero"), f.errors():
        f(-X)


def test_other_errors_come_through_as_they_are():
    def refuse(tangent, out, x):
        raise ValueError("not today")

    f = host_function(root, out=lambda x: x, derivative=refuse)
    with pytest.raises(ValueError, match=r"^not today") as caught:
        jax.jvp(f, (X,), (X,))
    assert caught.type is ValueError


@pytest.mark.long
def test_each_of_many_threads_gets_its_own_error():
    threads, rounds = 8, 20
    # All fail at the same time: each host function waits for the others before it raises.
    together = threading.Barrier(threads, timeout=60)

    def fail(x):
        if x == 0:
            return x
        together.wait()
        raise Negative(f"got {float(x)}", float(x))

    f = host_function(fail, out=lambda x: x)
    f(np.float32(0))
    pairs = []

    def work(thread):
        for number in map(np.float32, range(thread, threads * rounds + 1, threads)):
            with pytest.raises(HostFunctionError) as caught:
                f(number)
            pairs.append((number, caught.value.__cause__.number))

    started = [threading.Thread(target=work, args=(i,)) for i in range(1, threads + 1)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert len(pairs) == threads * rounds
    assert all(given == got for given, got in pairs)


def test_nothing_of_a_failure_is_kept(request):
    def fail(x):
        error = Negative("below zero", 0)
        errors.append(weakref.ref(error))
        raise error

    logging.disable(logging.CRITICAL)  # pytest keeps JAX's log records, and the error in them
    request.addfinalizer(lambda: logging.disable(logging.NOTSET))
    errors = []
    f = host_function(fail, out=lambda x: x)
    for run in (f, jax.jit(f)):
        with pytest.raises((HostFunctionError, jax.errors.JaxRuntimeError)):
            run(X)
    gc.collect()
    assert [error() for error in errors] == [None] * len(errors)
    assert len(errors) == 2
