"""Test watching and limiting traces: how often, on which line, and why a function was traced again."""

import functools
import re
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo

from jaxguide.debug import record, recording
from jaxguide.tracing import TooManyTracesError, max_traces, program, watch_traces

X3, X4 = np.ones(3, np.float32), np.ones(4, np.float32)


def fresh_step():
    """Return a jitted function that has not been traced."""

    @functools.partial(jax.jit, static_argnames=("n", "mode"))
    def step(x, n=1, *, mode="sum"):
        return jax.tree.map(lambda leaf: [leaf] * n, x)

    return step


def line_of(words):
    """Return the number of the line in this file that contains these words."""
    lines = Path(__file__).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if words in line and "line_of" not in line]
    return number


class Config:
    pass


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


CASES = {
    "shape": (((X3,), {}), ((X4,), {}), "argument `x` was float32[3] and is now float32[4]", "jnp.pad"),
    "dtype": (
        ((X3,), {}),
        ((X3.astype(np.int32),), {}),
        "argument `x` was float32[3] and is now int32[3]",
        "`jnp.asarray(x, dtype=jnp.float32)`",
    ),
    "weak type": (
        ((1.0,), {}),
        ((np.float32(1),), {}),
        "argument `x` was a Python float (weakly typed float32[]) and is now float32[]",
        "`jnp.asarray(x, dtype=jnp.float32)`",
    ),
    "float after int": (
        ((0,), {}),
        ((-0.1,), {}),
        "argument `x` was a Python int (weakly typed int32[]) and is now a Python float (weakly typed float32[])",
        "`jnp.asarray(x, dtype=jnp.float32)`",  # with the int's dtype, the fraction would be lost
    ),
    "axes": (
        ((X3,), {}),
        ((X3[None],), {}),
        "argument `x` was float32[3] and is now float32[1,3]",
        "arrays of one rank",
    ),
    "static value": (((X3, 1), {}), ((X3, 2), {}), "static argument `n` was 1 and is now 2", "static_argnames"),
    "new entry": (
        (({"w": X3},), {}),
        (({"w": X3, "b": X3},), {}),
        "argument `x` now has `x['b']`",
        "same containers and keys",
    ),
    "by name": (
        ((X3,), {}),
        ((), {"x": X3}),
        "argument `x` was passed by position and is now passed by name",
        "same way",
    ),
    "left out": (((X3,), {}), ((X3, 1), {}), "argument `n` was left out and is now 1", "same way"),
    "key": (
        ((jax.random.key,), {}),
        ((lambda seed: jax.random.key(seed, impl="rbg"),), {}),
        "argument `x` was key<fry>[] and is now key<rbg>[]",
        "the same kind and number of keys",
    ),
    "typed and legacy key": (
        ((jax.random.key,), {}),
        ((jax.random.PRNGKey,), {}),
        "argument `x` was key<fry>[] and is now uint32[2]",
        "make them all with `jax.random.key`",
    ),
    "a seed and a key": (
        ((7,), {}),
        ((jax.random.key,), {}),
        "argument `x` was a Python int (weakly typed int32[]) and is now key<fry>[]",
        "the same kind and number of keys as `x`",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_retrace_is_explained(case):
    first, second, reason, remedy = CASES[case]
    if "key" in case.split() or "keys" in case.split():  # keys are made when the test runs, not at collection
        first, second = (
            (tuple(make(0) if callable(make) else make for make in args), {}) for args, _ in (first, second)
        )
    step = fresh_step()
    with watch_traces() as traces:
        for args, kwargs in (first, second, first, second):
            step(*args, **kwargs)
    assert (traces["step"].traces, traces["step"].compiles, len(traces)) == (2, 2, 1)
    (retrace,) = traces.retraces
    assert retrace.reason.startswith(reason)
    assert len(retrace.differences) == 1
    assert remedy in retrace.remedy


def test_the_report_names_function_line_and_reason():
    step = fresh_step()
    with watch_traces() as traces:
        step(X3)
        step(X4)  # the second shape
    line = line_of("# the second shape")
    assert re.sub(r" in [\d.]+ m?s", "", str(traces)) == (
        "`step`: 2 traces, 2 compiles\n"
        f"  First traced at test_watch_traces.py, line {line - 1}, for `x`: float32[3].\n"
        f"  `step` was traced again at test_watch_traces.py, line {line}: "
        "argument `x` was float32[3] and is now float32[4].\n"
        "    What to do: call it with arrays of one shape: pad `x` to the largest with `jnp.pad` and "
        "mask the padding."
    )
    with watch_traces() as quiet:
        step(X3)
        jnp.tanh(X3)
    assert str(quiet) == "Nothing was traced."
    with pytest.raises(KeyError, match=r"`walk` was not traced; this block traced `step`"):
        traces["walk"]


def test_a_call_is_compared_with_the_earlier_one_most_like_it():
    step = fresh_step()
    with watch_traces() as traces:
        step(X3, 1)
        step(X4, 2)
        step(X4, 3)
    assert [retrace.reason for retrace in traces.retraces] == [
        "argument `x` was float32[3] and is now float32[4]; static argument `n` was 1 and is now 2",
        "static argument `n` was 2 and is now 3",
    ]


class Model:
    def scale(self, x):
        return x * 2


def each_time_a(kind, i):
    if kind == "lambda":
        return lambda x: x * i
    if kind == "partial":
        return functools.partial(lambda n, x: x * n, i)
    if kind == "method":
        return Model().scale

    def local(x):
        return x * i

    return jax.vmap(local) if kind == "vmap" else local


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("lambda", "the function object is new, because its definition ran again"),
        ("def", "the function object is new, because its definition ran again"),
        ("vmap", "the function object is new, because its definition ran again"),
        ("partial", "the `functools.partial` object is new"),
        ("method", "the method belongs to a different `Model` object"),
    ],
)
def test_a_new_function_object_each_time_is_the_reason(kind, reason):
    kept = []
    with watch_traces() as traces:
        for i in range(3):
            kept.append(each_time_a(kind, i))
            jax.jit(kept[-1])(X3)
    (found,) = traces
    assert (found.traces, found.compiles) == (3, 3)
    assert [retrace.reason for retrace in found.retraces] == [reason] * 2
    assert "(2 times)" in str(traces)


def test_jit_in_a_loop_of_one_function_is_no_retrace_but_other_options_are():
    with watch_traces() as traces:
        for _ in range(3):
            jax.jit(double)(X3)
    assert (traces.traces, traces.retraces) == (1, [])
    with watch_traces() as traces:
        for donated in ((), (0,)):
            jax.jit(double, donate_argnums=donated, keep_unused=True)(jnp.ones(7))
    (found,) = traces
    assert (found.traces, found.compiles) == (1, 2)
    assert [again.reason for again in found.recompiles] == [
        "`jax.jit` was applied again, with different options: `donate_argnums` was () and is now (0,)"
    ]


GONE = (
    "its call is the same as an earlier one, of which JAX has no trace: that trace failed, or the caches were cleared"
)


def test_a_setting_and_cleared_caches_are_told_apart():
    step = fresh_step()
    with watch_traces() as traces:
        step(X3)
        with jax.default_matmul_precision("highest"):
            step(X3)
        step.clear_cache()
        step(X3)
    first, second = (retrace.reason for retrace in traces.retraces)
    assert first == "JAX's setting `jax_default_matmul_precision` was None and is now highest"
    assert second == GONE


def test_a_wider_type_is_no_reason_of_its_own_if_the_setting_made_it():
    step = fresh_step()
    with watch_traces() as traces:
        step(np.ones(3))
        with jax.enable_x64(True):
            step(np.ones(3))
    assert traces.retraces[0].reason == "JAX's setting `jax_enable_x64` was False and is now True"


def test_a_compile_outside_of_the_transformation_is_told():
    step = fresh_step()
    with watch_traces() as traces:
        jax.vmap(step)(jnp.ones((2, 3)))
        step(X3)
    (again,) = traces["step"].recompiles
    assert again.reason == "it was compiled under a transformation before and is now called without it"


def failing_once():
    """Return a jitted function whose first trace fails."""
    attempts = []

    @jax.jit
    def step(x):
        attempts.append(x.shape)
        if len(attempts) == 1:
            raise OverflowError("not yet")
        return x + 1

    return step


@pytest.mark.parametrize("inside", [False, True], ids=["called", "inside another"])
def test_a_trace_after_one_that_failed_is_told(inside):
    inner = failing_once()
    step = jax.jit(lambda x: 2 * inner(x)) if inside else inner
    with watch_traces() as traces:
        with pytest.raises(OverflowError):
            step(X3)
        step(X3)
        step(X3)
        step.clear_cache()
        inner.clear_cache()
        step(X3)
    assert traces["step"].traces == 3
    assert (
        traces["step" if not inside else f"the lambda at test_watch_traces.py, line {line_of('2 * inner')}"].compiles
        == 2
    )
    assert [again.reason for again in traces["step"].retraces] == [GONE] * 2
    assert not any(function.recompiles for function in traces)


def test_a_limit_tells_that_the_trace_before_failed():
    limited = max_traces(1)(failing_once())
    with pytest.raises(OverflowError):
        limited(X3)
    with pytest.raises(TooManyTracesError, match="of which JAX has no trace: that trace failed"):
        limited(X3)


def test_inner_jits_count_and_transformations_share_one_trace():
    @jax.jit
    def inner(x):
        return jnp.sin(x)

    @jax.jit
    def outer(x):
        return inner(x) * 2

    with watch_traces() as traces:
        outer(X3)
        outer(X4)
    assert [(one.name, one.traces, one.compiles) for one in traces] == [("`outer`", 2, 2), ("`inner`", 2, 0)]
    with watch_traces() as traces:
        jax.vmap(inner)(np.ones((2, 3), np.float32))
        jax.grad(lambda x: inner(x).sum())(X3)  # compiles inner
    found = traces["inner"]
    assert found.traces == 0
    assert found.compiles >= 2
    assert [again.reason for again in found.recompiles] == [
        "it was called under `vmap`",
        "it was called under `grad`",
        *["it was compiled outside of its calls, as the backward pass of a derivative is"] * (found.compiles - 2),
    ]
    assert str(line_of("# compiles inner")) in str(traces)


def test_a_loop_outside_of_jit_is_told():
    with watch_traces() as traces:
        for k in range(2):
            jax.lax.scan(lambda total, x, k=k: (total + k * x, None), 0.0, X3)  # scanned
            jax.lax.while_loop(lambda i: i < 3, lambda i, k=k: i + k + 1, 0)
            jax.lax.fori_loop(0, 2, lambda i, total, k=k: total + k, 0)
    assert [(one.traces, one.compiles) for one in traces] == [(2, 2), (2, 0), (2, 2), (2, 2)]
    assert {again.reason for again in traces.retraces} == {
        "the function object is new, because its definition ran again"
    }
    assert {again.remedy.partition(",")[0] for again in traces.retraces} == {"define it once"}
    assert {one.by for one in traces} <= {"scan", "while_cond", "while_body", "fori_loop"}
    place = f"test_watch_traces.py, line {line_of('# scanned')}"
    assert f"First traced by `scan`, outside of `jax.jit`, at {place}, for `total`" in str(traces)


def test_a_call_is_compared_with_those_before_the_block():
    step = fresh_step()
    step(X3, 2)
    with watch_traces() as traces:
        step(X4, 2)
        step(X3, 2)
    (found,) = traces
    assert (found.traces, found.compiles, found.first) == (1, 1, "")
    assert [again.reason for again in found.retraces] == ["argument `x` was float32[3] and is now float32[4]"]


def test_the_other_helpers_traces_are_left_out():
    step = fresh_step()
    with watch_traces() as traces:
        program(step, X3)
        assert len(traces) == 0
        step(X3)
    assert traces.retraces == []
    assert traces["step"].recompiles == []


def test_a_recording_is_named_as_what_changed():
    @jax.jit
    def step(x):
        return record("x", x)

    with watch_traces() as traces:
        step(X3)
        with recording():
            step(X3)
    (again,) = traces.retraces
    assert again.reason == "JAX's context `user_context` was not recording and is now recording"


def test_only_what_the_user_jits_is_counted():
    total = jax.jit(jnp.sum)
    with watch_traces() as traces:
        total(np.ones(5, np.float32))
        jnp.linalg.norm(jnp.where(np.ones(6) > 0, 1.0, 2.0))
        jax.random.normal(jax.random.key(0), (5,))
    assert [(one.name, one.traces, one.compiles) for one in traces] == [("`sum`", 1, 1)]


def test_a_block_sees_its_own_thread_and_blocks_nest():
    step = fresh_step()
    with watch_traces() as outer:
        thread = threading.Thread(target=step, args=(X3,))
        thread.start()
        thread.join()
        with watch_traces() as inner:
            step(X4)
        step(np.ones(5, np.float32))
    assert (inner.traces, outer.traces) == (1, 2)
    assert outer.retraces[-1].reason == "argument `x` was float32[4] and is now float32[5]"


def test_an_exception_ends_the_block():
    with pytest.raises(ValueError, match="stop"), watch_traces() as traces:
        raise ValueError("stop")
    fresh_step()(X3)
    assert traces.traces == 0


# max_traces


def test_one_trace_too_many_raises_with_reason_and_remedy():
    @max_traces(2)
    @functools.partial(jax.jit, static_argnums=1)
    def step(x, n):
        return x * n

    assert step.__name__ == "step"
    for args in ((X3, 1), (X4, 1), (X3, 1), (X4, 1)):
        step(*args)
    with pytest.raises(TooManyTracesError) as caught:
        step(X3, 2)  # one too many
    assert str(caught.value) == (
        "`step` was traced 3 times; 2 are allowed. `step` was traced again at test_watch_traces.py, "
        f"line {line_of('# one too many')}: static argument `n` was 1 and is now 2. What to do: each value of a static "
        "argument needs a separate trace: remove `n` from `static_argnums` or `static_argnames` if the function can "
        "work with a traced array."
    )
    assert caught.value.retrace.line.number == line_of("# one too many")


def test_a_limit_adds_nothing_to_the_program():
    def step(x):
        return jnp.tanh(x) @ x

    assert normalised_hlo(max_traces(5)(jax.jit(step)), X3) == normalised_hlo(jax.jit(step), X3)


def test_a_limit_of_none_raises_at_the_first_trace():
    square = max_traces(0)(jax.jit(double))
    with pytest.raises(TooManyTracesError, match=r"`double` was traced 1 time; 0 are allowed\.$"):
        square(3.0)


def test_a_limit_on_a_used_function_counts_from_a_cleared_cache():
    step = fresh_step()
    step(X3)
    limited = max_traces(np.int64(1))(step)
    limited(X3)
    with pytest.raises(TooManyTracesError):
        limited(X4)


def test_a_limited_jitted_function_keeps_its_methods_and_binds_as_a_method():
    class Walker:
        @max_traces(1)
        @functools.partial(jax.jit, static_argnums=0)
        def walk(self, x):
            return x + 1

    walker = Walker()
    assert walker.walk(1.0) == 2.0
    with pytest.raises(TooManyTracesError, match="static argument `self` is again an object of type `Walker`"):
        Walker().walk(1.0)
    limited = max_traces(3)(jax.jit(lambda x: x + 1))
    assert limited.lower(X3).compile()(X3).shape == (3,)
    assert jax.vmap(limited)(np.ones((2, 3))).shape == (2, 3)
    assert jax.jit(limited)(X3).shape == (3,)


@pytest.mark.parametrize("wrong", [double, -1, True, 1.5, "1"])
def test_a_limit_without_its_number_is_refused_in_one_sentence(wrong):
    with pytest.raises(
        TypeError, match=r"`max_traces` needs the number .*, 0 or more, .* write `@max_traces\(1\)` above the function"
    ):
        max_traces(wrong)


@pytest.mark.parametrize(
    ("given", "got"), [(3, "the int 3"), (double, "the function `double`"), (Config, "the class `Config`")]
)
def test_a_limit_on_no_jitted_function_says_how_the_decorator_is_used(given, got):
    with pytest.raises(TypeError) as caught:
        max_traces(2)(given)
    assert str(caught.value) == (
        f"`@max_traces(2)` decorates a jitted function of yours, but got {got}: write it above `@jax.jit`, or "
        "`limited = max_traces(2)(jax.jit(f))`, and call the result like `f`."
    )


def test_the_fixture_is_this_decorator(request):
    assert request.getfixturevalue("max_traces") is max_traces
