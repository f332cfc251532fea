"""Test recorded values and gradients: what is kept, in which order, and that nothing is added to programs."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo
from jax import lax
from needs import first_of

from jaxguide.debug import record, record_gradient, recording

ROWS = np.arange(3, dtype=np.float32)


def twice(x):
    record("x", x)
    y = 10 * x
    record("y", y)
    return y


def running_sum(start, xs):
    def step(total, x):
        record("total", total)
        return total + x, total * x

    return lax.scan(step, start, xs)[0]


def by_branch(x):
    def positive(x):
        record("positive", x)
        return 2 * x

    def other(x):
        record("other", x)
        return x

    return lax.cond(x > 0, positive, other, x)


def to_three(x):
    def body(x):
        record("x", x)
        return x + 1

    return lax.while_loop(lambda x: x < 3, body, x)


def checkpointed(x):
    @jax.checkpoint
    def inner(x):
        record("x", x)
        return jnp.sin(x)

    return inner(x)


CASES = {
    "eager after jit": (lambda x: (jax.jit(twice)(x), twice(x + 1)), (1.0,), {"x": [1, 2], "y": [10, 20]}),
    "eager": (twice, (1.0,), {"x": [1], "y": [10]}),
    "jit": (jax.jit(twice), (1.0,), {"x": [1], "y": [10]}),
    "vmap": (jax.vmap(twice), (ROWS,), {"x": [0, 1, 2], "y": [0, 10, 20]}),
    "jit of vmap": (jax.jit(jax.vmap(twice)), (ROWS,), {"x": [0, 1, 2], "y": [0, 10, 20]}),
    "vmap of jit": (jax.vmap(jax.jit(twice)), (ROWS,), {"x": [0, 1, 2], "y": [0, 10, 20]}),
    "grad": (jax.grad(twice), (1.0,), {"x": [1], "y": [10]}),
    "jit of vmap of grad": (jax.jit(jax.vmap(jax.grad(twice))), (ROWS,), {"x": [0, 1, 2], "y": [0, 10, 20]}),
    "map": (lambda xs: lax.map(twice, xs), (ROWS,), {"x": [0, 1, 2], "y": [0, 10, 20]}),
    "scan": (running_sum, (0.0, ROWS), {"total": [0, 0, 1]}),
    "grad of scan": (jax.jit(jax.grad(running_sum)), (1.0, ROWS), {"total": [1, 1, 2]}),
    "vmap of scan": (jax.vmap(running_sum, (0, None)), (ROWS[:2], ROWS), {"total": [0, 1, 0, 1, 1, 2]}),
    "cond": (by_branch, (1.0,), {"positive": [1]}),
    "vmap of cond runs both": (jax.vmap(by_branch), (ROWS[:2],), {"positive": [0, 1], "other": [0, 1]}),
    "while": (jax.jit(to_three), (0,), {"x": [0, 1, 2]}),
    "vmap of while runs to the last": (jax.vmap(to_three), (np.array([1, 2]),), {"x": [1, 2, 2, 3]}),
    "checkpoint": (jax.jit(checkpointed), (1.0,), {"x": [1]}),
    "grad of checkpoint computes twice": (jax.jit(jax.grad(checkpointed)), (1.0,), {"x": [1, 1]}),
    "hessian": (jax.hessian(twice), (1.0,), {"x": [1], "y": [10]}),
    "jvp": (lambda x: jax.jvp(twice, (x,), (x,)), (1.0,), {"x": [1], "y": [10]}),
}


@pytest.mark.parametrize("case", first_of(CASES, 9))
def test_values_are_stacked_in_program_order_also_of_functions_called_before(case):
    fn, args, expected = CASES[case]
    fn(*args)
    for _ in range(2):
        with recording() as rec:
            fn(*args)
        fn(*args)
        assert {name: rec[name].tolist() for name in rec} == expected


def test_names_keep_the_program_order_among_each_other(monkeypatch):
    order = []

    with recording() as rec:
        monkeypatch.setattr(rec, "_add", lambda name, value: order.append(f"{name}{value:.0f}"))
        jax.jit(lambda xs: lax.map(twice, xs))(ROWS)
    assert order == ["x0", "y0", "x1", "y10", "x2", "y20"]


def test_a_block_costs_one_more_trace_and_later_blocks_none():
    traced = []

    @jax.jit
    def f(x):
        traced.append(x)
        record("x", x)
        return x

    f(1.0)
    with recording():
        f(1.0)
        f(2.0)
    with recording():
        f(1.0)
    f(2.0)
    assert len(traced) == 2


def test_stacked_arrays_keep_shape_and_dtype():
    with recording() as rec:
        for dtype in (jnp.bfloat16, jnp.int8, jnp.complex64, bool):
            record(jnp.dtype(dtype).name, jnp.ones((2, 3), dtype))
            record(jnp.dtype(dtype).name, jnp.zeros((2, 3), dtype))
        record("number", 2.5)
        record("numpy", np.float32(2))
    for name in ("bfloat16", "int8", "complex64", "bool"):
        assert isinstance(rec[name], np.ndarray)
        assert (rec[name].dtype, rec[name].shape) == (jnp.dtype(name), (2, 2, 3))
        assert rec[name][0].all()
        assert not rec[name][1].any()
    assert rec["number"].tolist() == [2.5]
    assert rec["numpy"].dtype == np.float32


def test_pytrees_are_stacked_leaf_by_leaf():
    @jax.jit
    def f(x):
        record("state", {"w": x, "more": (x.sum(), None)})
        return x

    with recording() as rec:
        f(ROWS)
        f(ROWS + 1)
    assert rec["state"]["w"].tolist() == [[0, 1, 2], [1, 2, 3]]
    assert rec["state"]["more"][0].tolist() == [3, 6]


def test_keys_are_recorded_as_key_data():
    keys = jax.random.split(jax.random.key(0), 3)
    with recording() as rec:
        jax.vmap(lambda key: record("key", key))(keys)
        record("legacy", jax.random.PRNGKey(0))
    np.testing.assert_array_equal(rec["key"], jax.random.key_data(keys))
    assert rec["legacy"].tolist() == [[0, 0]]


def test_values_are_copies_of_what_was_there():
    @jax.jit
    def f(x):
        return lax.fori_loop(0, 50, lambda i, x: (record("x", x), x + 1)[1], x)

    with recording() as rec:
        f(np.zeros(1000, np.float32))
    np.testing.assert_array_equal(rec["x"], np.broadcast_to(np.arange(50.0)[:, None], (50, 1000)))
    rec.entries("x")[0][0] = 5


def test_a_recording_can_be_read_inside_its_block():
    with recording() as rec:
        assert list(rec) == []
        jax.jit(twice)(1.0)
        assert rec["x"].tolist() == [1]
        jax.jit(twice)(2.0)
    assert rec["x"].tolist() == [1, 2]


def test_it_is_complete_when_an_exception_leaves_the_block():
    kept = []

    def block():
        with recording() as rec:
            kept.append(rec)
            jax.jit(twice)(1.0)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        block()
    assert kept[0]["y"].tolist() == [10]
    jax.jit(twice)(2.0)
    assert kept[0]["y"].tolist() == [10]


def test_the_innermost_of_nested_recordings_gets_the_values():
    with recording() as outer:
        twice(1.0)
        with recording() as inner:
            twice(2.0)
        twice(3.0)
    assert outer["x"].tolist() == [1, 3]
    assert inner["x"].tolist() == [2]


def test_other_threads_do_not_record():
    with recording() as rec:
        thread = threading.Thread(target=twice, args=[1.0])
        thread.start()
        thread.join()
    assert len(rec) == 0


def test_threads_that_record_one_after_the_other_share_one_program():
    traced, found = [], []

    @jax.jit
    def f(x):
        traced.append(x)
        record("x", x)
        return x

    def work():
        with recording() as rec:
            f(float(len(found)))
        found.append(rec["x"].tolist())

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [[0], [1], [2]]
    assert len(traced) == 1


def test_a_program_lowered_in_a_block_is_quiet_after_it():
    with recording() as rec:
        compiled = jax.jit(twice).lower(1.0).compile()
        compiled(1.0)
    compiled(2.0)
    assert rec["x"].tolist() == [1]


# Gradients


def loss(w):
    hidden = record_gradient("hidden", jnp.tanh(w))
    return (hidden**2).sum()


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.checkpoint])
def test_cotangents_are_recorded_and_change_nothing(transform):
    w = np.array([0.5, 1.0], np.float32)
    plain = jax.grad(lambda w: (jnp.tanh(w) ** 2).sum())(w)
    with recording() as rec:
        gradient = jax.grad(transform(loss))(w)
    np.testing.assert_allclose(rec["hidden"], [2 * np.tanh(w)], rtol=1e-6)
    np.testing.assert_array_equal(gradient, plain)
    np.testing.assert_array_equal(jax.grad(transform(loss))(w), plain)


def test_cotangents_of_a_scan_come_from_the_last_step_to_the_first():
    def product(w):
        return lax.scan(lambda c, x: (record_gradient("c", c * x), None), w, np.array([2, 3, 5], np.float32))[0]

    with recording() as rec:
        jax.jit(jax.grad(product))(1.0)
    assert rec["c"].tolist() == [1, 5, 15]


def test_cotangents_of_a_pytree_have_its_structure():
    def f(w):
        parts = record_gradient("parts", {"a": w, "b": 3 * w})
        return (parts["a"] * 2 + parts["b"]).sum()

    with recording() as rec:
        jax.grad(f)(ROWS)
    assert rec["parts"]["a"].tolist() == [[2, 2, 2]]
    assert rec["parts"]["b"].tolist() == [[1, 1, 1]]


def test_a_pullback_made_in_one_block_records_in_the_block_that_runs_it():
    with recording() as first:
        _, pullback = jax.vjp(lambda x: 3 * record_gradient("x", x), 1.0)
    pullback(1.0)
    with recording() as second:
        pullback(2.0)
    assert len(first) == 0
    assert second["x"].tolist() == [6]


def test_a_second_derivative_is_right():
    f = lambda x: record_gradient("x", x) ** 3  # noqa: E731
    with recording() as rec:
        assert jax.grad(jax.grad(f))(2.0) == 12
    assert rec["x"].tolist() == [12]


def test_outside_a_recording_the_value_itself_comes_back_and_forward_mode_works():
    x = jnp.ones(2)
    assert record_gradient("x", x) is x
    assert jax.jvp(lambda x: record_gradient("x", x) ** 2, (1.0,), (1.0,))[1] == 2


# Nothing is added to the program


def test_outside_a_recording_the_program_is_the_one_without():
    def plain(x):
        return jnp.sin(jnp.sin(x))

    def recorded(x):
        y = record_gradient("y", jnp.sin(x))
        record("y", y)
        return jnp.sin(y)

    assert normalised_hlo(recorded, ROWS) == normalised_hlo(plain, ROWS)
    assert normalised_hlo(jax.grad(recorded), 1.0) == normalised_hlo(jax.grad(plain), 1.0)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("transform", [lambda f: f, jax.vmap])
def test_in_a_recording_the_program_is_the_raw_callbacks(ordered, transform):
    def raw(x):
        jax.debug.callback(lambda v: None, x * 2, ordered=ordered)
        return jnp.sin(x)

    def recorded(x):
        record("double", x * 2, ordered=ordered)
        return jnp.sin(x)

    with recording():
        assert normalised_hlo(transform(recorded), ROWS) == normalised_hlo(transform(raw), ROWS)


# Messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: record("x", "three"),
            "`record('x', ...)` needs arrays, numbers, or a pytree of them, but got the str",
        ),
        (lambda: record("x", None), "but got None: only values that JAX can compute with can be recorded."),
        (lambda: record("x", [1.0, "a"]), "but got the str 'a'"),
        (lambda: record("x", {}), "but got a dict of 0"),
        (lambda: record(jnp.ones(2), "x"), "`record` needs a name first, but got an array float32[2]: write"),
        (lambda: record_gradient(1, 2.0), "`record_gradient` needs a name first, but got the int 1"),
        (lambda: record_gradient("n", jnp.arange(3)), "got an array int32[3], but only floating-point values have a"),
        (lambda: record_gradient("x", max), "but got the function `max`"),
    ],
)
@pytest.mark.parametrize("on", [True, False])
def test_what_cannot_be_recorded_is_refused_in_one_sentence(call, message, on):
    def in_block():
        with recording():
            call()

    with pytest.raises(TypeError) as caught:
        in_block() if on else call()
    assert message in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_other_shapes_are_refused_when_stacked_and_kept_as_entries():
    with recording() as rec:
        record("x", np.zeros(2, np.float32))
        record("x", np.zeros(3, np.float32))
    with pytest.raises(
        ValueError, match=r"`x` was recorded with different shapes, float32\[2\] or float32\[3\], which"
    ):
        rec["x"]
    assert [x.shape for x in rec.entries("x")] == [(2,), (3,)]
    assert "x" in rec
    assert repr(rec) == "x: 2 times float32[2] or float32[3]"


def test_a_block_inside_a_traced_function_says_that_it_comes_too_early():
    @jax.jit
    def f(x):
        with recording() as rec:
            record("x", x)
        return rec["x"]

    with pytest.raises(KeyError, match=r"the block is in a function that JAX traces.*around the call of that function"):
        f(1.0)


def test_an_unknown_name_is_answered_with_the_near_one():
    with recording() as rec:
        assert repr(rec) == "nothing recorded"
        with pytest.raises(KeyError, match=r"is there a `record"):
            rec["loss"]
        record("loss", 1.0)
    assert "losses" not in rec
    with pytest.raises(KeyError, match=r"Nothing was recorded as 'losss', only 'loss'. Did you mean `loss`"):
        rec["losss"]
