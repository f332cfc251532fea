"""Test `KeyStream`: every key is new, under every transformation; if one would repeat, it raises instead."""

import copy
import functools
import itertools
import pickle
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo
from jax import lax, random
from needs import first_of

from jaxguide.keys import KeyStream, KeyStreamError, check_keys

KEYS = {
    "typed": lambda: random.key(7),
    "legacy": lambda: random.PRNGKey(7),
    "rbg": lambda: random.key(7, impl="rbg"),
    "unsafe_rbg": lambda: random.key(7, impl="unsafe_rbg"),
}


@pytest.fixture
def stream():
    return KeyStream(0)


def bits(keys):
    """Return the words of each key, as a list of tuples."""
    data = np.asarray(random.key_data(keys) if jnp.issubdtype(keys.dtype, jax.dtypes.prng_key) else keys)
    return [tuple(row) for row in data.reshape(-1, data.shape[-1]).tolist()]


def noisy(x, stream):
    return x + random.normal(stream.next(), jnp.shape(x)), stream


def draw(stream):
    return random.normal(stream.next())


# What the keys are.


def test_keys_are_what_the_docstrings_say(stream):
    key = stream.key
    assert bits(stream.next()) == bits(random.fold_in(key, 0))
    assert bits(stream.take(3)) == bits(random.split(random.fold_in(key, 1), 3))
    assert bits(stream.fork(3).key) == bits(random.split(random.fold_in(key, 2), 3))
    assert bits(stream.fork().key) == bits(random.split(random.fold_in(key, 3), 1))
    assert int(stream.count) == 4


@pytest.mark.parametrize("kind", first_of(KEYS, 2))
def test_no_key_comes_twice_and_none_is_made_elsewhere_from_the_same_key(kind):
    key = KEYS[kind]()
    stream = KeyStream(key)
    seen = bits(key) + bits(stream.key)
    seen += bits(random.split(key, 50))
    if kind != "unsafe_rbg":
        seen += [b for i in range(50, 60) for b in bits(random.fold_in(key, i))]  # below 50, `split` made the same keys

    def walk(stream, depth):
        found = bits(stream.next()) + bits(stream.take(5)) + bits(stream.next()) + bits(stream.take(1))
        if depth:
            for child in (*stream.fork(3), stream.fork(), *stream.fork(1)):
                found += bits(child.key) + walk(child, depth - 1)
        return found + bits(stream.next())

    seen += walk(stream, 2)
    assert len(seen) > 300
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("kind", first_of(KEYS, 2))
def test_keys_are_of_the_kind_that_the_stream_was_made_of(kind):
    key = KEYS[kind]()
    stream = KeyStream(key)
    for made, shape in ((stream.next(), ()), (stream.take(3), (3,)), (stream.fork(2).key, (2,))):
        assert made.dtype == key.dtype
        assert made.shape == shape + key.shape
    assert jax.jit(draw)(stream).shape == ()
    assert len(set(np.asarray(jax.vmap(draw)(stream.fork(6))).tolist())) == 6


@pytest.mark.parametrize("seed", [3, np.int64(3), np.uint8(3), np.array(3), jnp.int32(3), random.key(3)])
def test_a_seed_may_be_any_whole_number(seed):
    assert bits(KeyStream(seed).next()) == bits(KeyStream(3).next())


def test_eager_jit_and_disabled_jit_give_the_same_keys():
    def keys(stream):
        return stream.next(), stream.take(2), stream.fork(2).key, stream.next()

    eager, compiled = keys(KeyStream(5)), jax.jit(keys)(KeyStream(5))
    with jax.disable_jit():
        disabled = jax.jit(keys)(KeyStream(5))
    for one, two, three in zip(eager, compiled, disabled, strict=True):
        assert bits(one) == bits(two) == bits(three)


# Under transformations, as argument and result.


def test_a_training_loop_traces_once_and_draws_anew_each_time(stream):
    traces, values = [], []

    @jax.jit
    def step(x, stream):
        traces.append(1)
        return noisy(x, stream)

    for _ in range(4):
        x, stream = step(0.0, stream)
        values.append(float(x))
    assert (int(stream.count), len(set(values)), len(traces)) == (4, 4, 1)


def test_scan_carries_a_stream_and_draws_anew_at_each_step(stream):
    after, values = lax.scan(lambda s, _: (s, draw(s)), stream, None, length=5)
    assert int(after.count) == 5
    again = KeyStream(0)
    np.testing.assert_array_equal(values, jnp.stack([draw(again) for _ in range(5)]))


def test_vmap_gives_each_row_of_a_batch_its_own_numbers_and_returns_the_batch(stream):
    values, after = jax.vmap(noisy)(jnp.zeros((4, 2)), stream.fork(4))
    assert len(set(np.asarray(values).ravel().tolist())) == 8
    np.testing.assert_array_equal(after.count, np.ones(4, np.uint32))
    more, _ = jax.vmap(noisy, in_axes=(None, 0))(0.0, after)
    assert not set(np.asarray(more).tolist()) & set(np.asarray(values).ravel().tolist())


@pytest.mark.parametrize("around", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_grad_takes_a_stream_and_returns_it_beside_the_value(around, stream):
    def loss(w, stream):
        value, stream = noisy(w, stream)
        return (value**2).sum(), stream

    (_, after), gradient = around(jax.value_and_grad(loss, has_aux=True))(jnp.ones(3), stream)
    assert int(after.count) == 1
    np.testing.assert_allclose(gradient, 2 * noisy(jnp.ones(3), KeyStream(0))[0], rtol=1e-6)


def test_grad_alone_runs_once_so_the_stream_moves_on_in_place(stream):
    gradients = [float(jax.grad(lambda w: w * draw(stream))(1.0)) for _ in range(3)]
    assert len(set(gradients)) == 3
    assert int(stream.count) == 3


def test_cond_and_while_carry_a_stream(stream):
    def often(s):
        return draw(s) + draw(s), s

    for yes, count in ((True, 2), (False, 0)):
        _, after = jax.jit(lambda p, s: lax.cond(p, often, lambda s: (0.0, s), s))(yes, stream)
        assert int(after.count) == count

    def advance(s):
        s.next()
        return s

    assert int(lax.while_loop(lambda s: s.count < 5, advance, stream).count) == 5
    assert int(lax.fori_loop(0, 4, lambda i, s: advance(s), stream).count) == 4


def test_custom_rules_take_a_stream():
    @jax.custom_vjp
    def scaled(x, stream):
        return x * draw(stream)

    scaled.defvjp(lambda x, s: ((r := draw(s)) * x, r), lambda r, g: (g * r, None))
    assert float(jax.grad(scaled)(2.0, KeyStream(0))) == float(draw(KeyStream(0)))


class SlowCount(int):
    """A count that lets other threads run during an addition."""

    def __add__(self, other):
        time.sleep(0.002)
        return SlowCount(int(self) + int(other))


def test_threads_that_share_it_get_no_key_twice(stream):
    shared = KeyStream.tree_unflatten(None, (stream.key, SlowCount(0)))
    found = []

    def work():
        for _ in range(10):
            found.extend(bits(shared.next()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == len(found) == 40


# Uses that would repeat numbers.


CLOSURES = {
    "jit": lambda f: jax.jit(f)(1.0),
    "vmap": lambda f: jax.vmap(f)(jnp.ones(3)),
    "scan": lambda f: lax.scan(lambda c, x: (c, f(x)), 0.0, jnp.ones(3)),
    "map": lambda f: lax.map(f, jnp.ones(3)),
    "while": lambda f: lax.while_loop(lambda x: x < 5, f, 1.0),
    "cond": lambda f: lax.cond(True, f, lambda x: x, 1.0),
    "jit of grad": lambda f: jax.jit(jax.grad(f))(1.0),
    "grad of jit": lambda f: jax.grad(jax.jit(f))(1.0),
    "vmap of grad": lambda f: jax.vmap(jax.grad(f))(jnp.ones(3)),
    "jit of vmap": lambda f: jax.jit(jax.vmap(f))(jnp.ones(3)),
    "checkpoint": lambda f: jax.checkpoint(f)(1.0),
    "eval_shape": lambda f: jax.eval_shape(f, 1.0),
    "make_jaxpr": lambda f: jax.make_jaxpr(f)(1.0),
}


@pytest.mark.parametrize("way", CLOSURES)
def test_a_stream_from_an_enclosing_scope_is_refused(way, stream):
    with pytest.raises(KeyStreamError) as caught:
        CLOSURES[way](lambda x: x + draw(stream))
    assert "`KeyStream.next` was called on a stream that was not passed to" in str(caught.value)
    for advice in ("`y, stream = f(x, stream)`", "`stream.fork(n)`", "draw the keys outside"):
        assert advice in str(caught.value)
    assert int(stream.count) == 0
    stream.next()  # the stream still works


@pytest.mark.parametrize("use", [lambda s: s.take(1), lambda s: s.fork().next(), lambda s: s.fork(2).key])
def test_each_method_refuses(use, stream):
    with pytest.raises(KeyStreamError, match=r"`KeyStream\.(take|fork)` was called on a stream that was not passed to"):
        jax.jit(lambda: use(stream))()


@pytest.mark.parametrize(
    "smuggled",
    [
        lambda s: lambda x: lax.scan(lambda c, _: (c, draw(c)), s, None, length=2)[1],
        lambda s: lambda x: jax.jit(draw)(s),
        lambda s: lambda x: (x, s),
        lambda s: lambda x: draw(copy.copy(s)),
        lambda s: lambda x: draw(copy.deepcopy(s)),
        lambda s: lambda x: draw(jax.tree.map(lambda leaf: leaf, s)),
        lambda s: lambda x: draw(pickle.loads(pickle.dumps(s))),
        lambda s: functools.partial(lambda s, x: draw(s), s),
    ],
    ids=["scan", "jit", "returned", "copy", "deepcopy", "tree_map", "pickle", "partial"],
)
def test_no_way_round_smuggles_an_enclosing_stream_in(smuggled, stream):
    with pytest.raises(KeyStreamError, match="not passed to the function that JAX is tracing"):
        jax.jit(smuggled(stream))(1.0)


def test_a_stream_that_left_its_trace_is_refused(stream):
    box = []

    @jax.jit
    def keeps(stream):
        box.append(stream)
        return draw(stream)

    keeps(stream)
    assert repr(box[0]) == "KeyStream(key<fry>[], count=traced)"
    for use in (draw, jax.tree.leaves, pickle.dumps):
        with pytest.raises(KeyStreamError, match=r"made inside a function that JAX traced.* return the stream"):
            use(box[0])


def test_a_batch_says_to_map_over_it(stream):
    for use in (KeyStream.next, KeyStream.fork, lambda s: s.take(2)):
        with pytest.raises(KeyStreamError, match=r"a batch of 2 streams: map over the batch with `jax\.vmap`"):
            use(stream.fork(2))


def test_a_single_stream_is_not_unpacked(stream):
    with pytest.raises(TypeError, match=r"cannot be iterated over or unpacked: use `stream\.take\(n\)`"):
        _ = [*stream]


# Key checks.


def test_the_key_checker_finds_nothing_in_right_programs():
    def program(x, stream):
        y = x + draw(stream) + random.normal(stream.take(2)[0]) + random.normal(stream.take(2)[1])
        y = y + jax.vmap(draw)(stream.fork(3)).sum()
        stream, rows = lax.scan(lambda s, _: (s, draw(s)), stream, None, length=3)
        a, b = stream.fork(2)
        return y + rows.sum() + draw(a) + draw(b) + jax.jit(draw)(stream.fork()), stream

    for make, around in itertools.product(KEYS.values(), (lambda f: f, jax.jit)):
        given = KeyStream(make())
        used = check_keys(around(program), 1.0, given)
        assert not used
        assert sum(use.kind == "draw" for use in used.uses) == 12
        assert int(given.count) == 0
    assert check_keys(lambda key: draw(KeyStream(key)), random.key(0)).problems == []
    assert check_keys(lambda: program(1.0, KeyStream(0))[0]).problems == []


def test_a_program_that_needs_values_is_checked_on_a_copy(stream):
    def program(x, stream):
        return draw(stream) if x > 0 else x

    used = check_keys(program, jnp.float32(1), stream)
    assert (used.problems, int(stream.count)) == ([], 0)


def test_the_key_checker_finds_a_stream_that_was_lent_and_not_returned(stream):
    def program(x, stream):
        step = jax.jit(lambda x, s: x + draw(s))
        return step(x, stream) + step(x, stream)

    assert [problem.kind for problem in check_keys(program, 1.0, stream).problems] == ["fold_twice_same_data"]


# Compiled programs.


def test_a_stream_made_inside_compiles_to_plain_folds():
    def mine(key):
        stream = KeyStream(key)
        return random.normal(stream.next()), random.uniform(stream.next())

    def raw(key):
        key = random.fold_in(key, 0x6B657973)
        return random.normal(random.fold_in(key, 0)), random.uniform(random.fold_in(key, 1))

    assert normalised_hlo(mine, random.key(0)) == normalised_hlo(raw, random.key(0))


# The object.


def test_copies_repeat_the_numbers(stream):
    stream.next()
    for copied in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        assert int(copied.count) == 1
        assert bits(copied.next()) == bits(copy.copy(stream).next())
    assert int(stream.count) == 1
    assert bits(copy.deepcopy({"a": [stream]})["a"][0].next()) == bits(copy.copy(stream).next())


def test_its_repr_is_short(stream):
    stream.next()
    shown = [repr(stream), repr(stream.fork(2)), repr(KeyStream(random.PRNGKey(0)))]
    assert shown == [
        "KeyStream(key<fry>[], count=1)",
        "KeyStream(key<fry>[2], count=uint32[2])",
        "KeyStream(uint32[2], count=0)",
    ]
    jax.jit(lambda s: shown.append(repr(s)))(stream)
    jax.vmap(lambda s: shown.append(repr(s)))(stream.fork(2))
    assert shown[3:] == ["KeyStream(key<fry>[], count=traced)"] * 2
    assert repr(jax.tree.map(lambda leaf: None, stream)) == "KeyStream(NoneType, count=NoneType)"


def test_it_is_a_pytree_of_a_key_and_a_count(stream):
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(stream)]
    assert paths == [".key", ".count"]
    assert [leaf.dtype for leaf in jax.tree.leaves(stream)] == [random.key(0).dtype, np.uint32]
    with pytest.raises(AttributeError):
        stream.count = 0


@pytest.mark.parametrize(
    "value", [1.5, np.float32(1), None, "0", [0, 1], np.zeros(2), np.zeros(3, np.uint32), KeyStream(0)]
)
def test_what_is_no_seed_and_no_key_is_refused_by_jax(value):
    with pytest.raises((TypeError, ValueError)):
        KeyStream(value)


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_an_array_of_keys_is_refused(make):
    with pytest.raises(ValueError, match=r"starts from one key, but got an array of keys of shape \(3,\): use one"):
        KeyStream(random.split(make(0), 3))


@pytest.mark.parametrize("n", [1.5, None, "3", [1], np.float32(2)])
def test_a_number_of_keys_is_a_whole_number(n, stream):
    with pytest.raises((TypeError, ValueError)):
        stream.take(n)
    if n is not None:
        with pytest.raises((TypeError, ValueError)):
            stream.fork(n)
    assert stream.take(np.int8(2)).shape == stream.take(jnp.int32(2)).shape == (2,)
    assert stream.take(0).shape == (0,)
