"""Test `io_function`: calls that JAX runs, drops, repeats, reorders or refuses, errors, and cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo
from jax import lax
from jax.experimental import io_callback

from jaxguide.callbacks import HostFunctionError, io_function

STEPS = np.arange(3, dtype=np.float32)


@pytest.fixture
def log():
    return []


@pytest.fixture(params=[True, False], ids=["ordered", "unordered"])
def ordered(request):
    return request.param


def calls(log, program, *args):
    """Run a program and return what was logged."""
    log.clear()
    jax.block_until_ready(program(*args))
    jax.effects_barrier()
    return [np.asarray(value).tolist() for value in log]


def in_scan(call):
    """Return a loss with `call(step)` in a loop whose result depends on `x`."""
    return lambda x: lax.scan(lambda c, step: (call(step, c), None), x, STEPS)[0]


class TestIoFunction:
    def test_results_come_back_as_promised(self, ordered):
        draws = np.random.default_rng(0)
        draw = io_function(lambda like: draws.uniform(size=like.shape), out=lambda like: like, ordered=ordered)
        out = jax.jit(draw)(jnp.zeros(5))
        assert out.dtype == jnp.float32
        # the numbers in https://docs.jax.dev/en/latest/external-callbacks.html
        np.testing.assert_allclose(out, [0.6369617, 0.26978672, 0.04097353, 0.01652764, 0.8132702], rtol=1e-6)

    def test_calls_run_whether_their_result_is_used_or_not(self, log, ordered):
        note = io_function(log.append, out=None, ordered=ordered)
        assert calls(log, note, 1.0) == [1]
        assert calls(log, jax.jit(lambda x: (note(x), x)[1]), 2.0) == [2]

    def test_what_fn_returns_is_ignored_where_nothing_was_promised(self):
        assert io_function(lambda x: "text", out=None)(1.0) is None

    def test_arguments_are_numpy_arrays_and_may_be_pytrees(self, log):
        note = io_function(lambda tree, name=0: log.append((type(tree["a"]), int(name))), out=None)
        jax.jit(note)({"a": jnp.ones(2)}, name=3)
        jax.effects_barrier()
        assert log == [(np.ndarray, 3)]

    def test_ordered_is_the_default_and_keeps_the_program_s_order(self, log):
        note = io_function(log.append, out=None)
        assert calls(log, jax.jit(lambda x: (note(x), note(x + 1), note(x + 2), x)[3]), 0.0) == [0, 1, 2]
        mapped = jax.jit(lambda xs: lax.map(lambda x: (note(x), note(x + 100), x)[2], xs))
        assert calls(log, mapped, STEPS) == [0, 100, 1, 101, 2, 102]

    def test_vmap_needs_ordered_false_and_says_so(self, log):
        note = io_function(log.append, out=None, ordered=False)
        assert sorted(calls(log, jax.jit(jax.vmap(lambda x: (note(x), x)[1])), STEPS)) == [0, 1, 2]
        assert calls(log, jax.vmap(lambda x: (note(7), x)[1]), STEPS) == [7]
        with pytest.raises(ValueError, match=r"`append` keeps its calls in order.*io_function\(..., ordered=False\)"):
            jax.jit(jax.vmap(io_function(log.append, out=None)))(STEPS)

    def test_derivatives_are_refused_and_stop_gradient_is_the_way_out(self, log, ordered):
        note = io_function(log.append, out=None, ordered=ordered)
        with pytest.raises(ValueError, match=r"`append` has side effects and no derivative.*stop_gradient"):
            jax.grad(lambda x: (note(x), x)[1])(1.0)
        assert calls(log, jax.grad(lambda x: (note(lax.stop_gradient(x)), x)[1]), 1.0) == [1]

    def test_a_differentiated_loop_drops_calls_whose_result_is_not_used(self, log, ordered):
        """As the docstring says; JAX 0.10.2, 0.11.2 and 0.12.0.1 behave the same."""
        note = io_function(log.append, out=None, ordered=ordered)
        read = io_function(lambda x: log.append(x) or x, out=lambda x: x, ordered=ordered)
        unused = in_scan(lambda step, c: (note(step), c * c)[1])
        used = in_scan(lambda step, c: c * c + read(step))
        same = in_scan(lambda step, c: (note(7), c * c)[1])
        assert calls(log, jax.jit(unused), 1.0) == [0, 1, 2]
        assert calls(log, jax.jit(jax.grad(unused)), 1.0) == []
        assert calls(log, jax.jit(jax.grad(same)), 1.0) == [7]
        assert calls(log, jax.jit(jax.grad(used)), 1.0) == [0, 1, 2]

    @pytest.mark.parametrize(
        "program",
        [
            lambda note: jax.vmap(lambda x: lax.cond(x > 1, lambda: note(x), lambda: None))(STEPS),
            lambda note: jax.vmap(lambda n: lax.while_loop(lambda i: i < n, lambda i: (note(i), i + 1)[1], 0.0))(STEPS),
            lambda note: jax.grad(jax.checkpoint(lambda x: (note(lax.stop_gradient(x)), jnp.sin(x))[1]))(1.0),
        ],
        ids=["vmap of cond", "vmap of while", "grad of checkpoint"],
    )
    def test_what_the_docstring_says_is_refused_is_refused(self, log, ordered, program):
        with pytest.raises(Exception, match="not supported"):
            program(io_function(log.append, out=None, ordered=ordered))
        assert log == []

    def test_mistakes_are_one_sentence(self):
        with pytest.raises(TypeError, match="`io_function` needs a function, but got the int 3"):
            io_function(3, out=None)
        with pytest.raises(HostFunctionError, match=r"returned float32\[\], but float32\[3\] was promised"):
            io_function(lambda x: x[0], out=lambda x: x)(STEPS)

    def test_the_compiled_program_equals_the_raw_call_s(self, ordered):
        wrapped_io = io_function(np.sin, out=lambda x: x, ordered=ordered)

        def wrapped(x):
            return wrapped_io(x) + 1

        def raw(x):
            return io_callback(np.sin, x, x, ordered=ordered) + 1

        assert normalised_hlo(wrapped, STEPS) == normalised_hlo(raw, STEPS)
