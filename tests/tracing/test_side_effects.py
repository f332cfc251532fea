"""Test the report of a function's side effects: leaks, mutations, host randomness, output, unequal traces."""

import contextlib
import functools
import importlib
import io
import itertools
import random
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxguide.tracing import SideEffects, side_effects

log: list = []
count = 0
settings = {"scale": 2.0}
rng = np.random.default_rng(0)
own_random = random.Random(0)


def line_of(fn, words: str) -> str:
    """Return the file and line number of the line in a function that contains these words."""
    import inspect

    lines, first = inspect.getsourcelines(fn)
    return f"test_side_effects.py, line {next(first + i for i, line in enumerate(lines) if words in line)}"


def only(seen: SideEffects):
    assert len(seen) == 1, str(seen)
    (effect,) = seen
    assert str(seen) == effect.message
    if effect.line:
        assert effect.message.startswith(f"{effect.line}: ")
    assert effect.message.endswith(".")
    return effect


def keeps_in_list(x):
    y = x * 2
    log.append(y)
    return y


def keeps_deep(x):
    settings["h"] = {"rows": [1, x]}
    return x


class Space:
    last = None


space = Space()


def keeps_attribute(x):
    space.last = x
    return x


def keeps_in_closure(x):
    log.append(lambda: x)
    return x


def keeps_from_a_scan(xs):
    def body(carry, x):
        settings["carry"] = carry
        return carry + x, x

    return lax.scan(body, 0.0, xs)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, lambda f: jax.vmap(f)], ids=["plain", "jit", "vmap"])
@pytest.mark.parametrize(
    ("fn", "words", "place", "type_"),
    [
        (keeps_in_list, "log.append(y)", "log[0]", "float32["),
        (keeps_deep, 'settings["h"]', "settings['h']['rows'][1]", "float32["),
        (keeps_attribute, "space.last", "space.last", "float32["),
        (keeps_in_closure, "log.append", "log[0] (x)", "float32["),
    ],
)
def test_a_tracer_that_is_kept_is_named_with_its_place_and_line(fn, words, place, type_, transform):
    effect = only(side_effects(transform(fn), jnp.ones(3)))
    assert (effect.kind, effect.line, effect.before) == ("leak", line_of(fn, words), place)
    assert effect.after.startswith(type_)
    assert f"still holds a tracer, `{place}`" in effect.message
    assert "Return the value instead of storing it." in effect.message


def test_a_tracer_of_an_inner_trace_is_found():
    effect = only(side_effects(keeps_from_a_scan, jnp.ones(3)))
    assert (effect.kind, effect.before) == ("leak", "settings['carry']")
    assert effect.line == line_of(keeps_from_a_scan, "settings[")


def test_a_tracer_that_cannot_be_removed_is_told_so():
    memo = itertools.repeat({})  # what iterators hold is not searched

    def fn(x):
        kept = next(memo)
        if not kept:
            kept["table"] = jnp.sin(x)
        return x + kept["table"]

    effect = only(side_effects(fn, jnp.ones(3)))
    assert effect.kind == "leak"
    assert effect.message.startswith("A tracer outlives the trace (`jax.checking_leaks`), and `side_effects` could not")


def counts(x):
    global count
    count += 1
    return x


def new_global(x):
    global made_here
    made_here = 3
    return x


def changes_dict(x):
    settings["scale"] = 3.0
    return x * 2


def changes_default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x


def changes_own_attribute(x):
    changes_own_attribute.calls = 1
    return x


def helper(x):
    log.append("called")
    return x


def through_a_helper(x):
    return helper(x) + 1


@pytest.mark.parametrize(
    ("fn", "words", "name", "before", "after"),
    [
        (counts, "count += 1", "the global `count`", "0", "1"),
        (new_global, "made_here = 3", "the global `made_here`", "nothing", "3"),
        (changes_dict, "settings[", "the dict `settings`", "{'scale': 2.0}", "{'scale': 3.0}"),
        (changes_default, "", "the list `seen`", "[]", "[1]"),
        (
            changes_own_attribute,
            ".calls = 1",
            "an attribute of the function `changes_own_attribute`",
            "nothing",
            "calls=1",
        ),
    ],
)
def test_a_change_is_named_with_before_and_after_and_undone(fn, words, name, before, after):
    for transform in (lambda f: f, jax.jit):
        effect = only(side_effects(transform(fn), jnp.ones(3)))
        expected = ("change", line_of(fn, words) if words else None, name, before, after)
        assert (effect.kind, effect.line, effect.name, effect.before, effect.after) == expected
    assert (count, settings, log) == (0, {"scale": 2.0}, [])
    assert "made_here" not in globals()
    assert changes_default.__defaults__ == ([],)
    assert not hasattr(changes_own_attribute, "calls")


def test_a_change_in_a_helper_is_at_the_helpers_line():
    effect = only(side_effects(through_a_helper, 1.0))
    assert effect.line == line_of(helper, "log.append")


def test_a_global_array_or_iterator_that_is_bound_anew_is_told_without_being_read():
    def fn(x):
        global latest, stream
        latest = jnp.sum(x)
        stream = None
        return x

    globals().update(latest=jnp.ones(4), stream=iter([1, 2]))
    before = latest, stream
    seen = side_effects(fn, jnp.ones(3))
    assert [(effect.kind, effect.name) for effect in seen] == [
        ("leak", "the global `latest`"),
        ("change", "the global `stream`"),
    ]
    assert (latest, stream) == before
    assert next(stream) == 1


def test_a_closures_variable_is_named():
    calls = 0

    def fn(x):
        nonlocal calls
        calls += 1
        return x

    effect = only(side_effects(fn, 1.0))
    assert (effect.kind, effect.name) == ("change", "the closure variable `calls` of `fn`")
    assert calls == 0


class Model:
    def __init__(self):
        self.cache = {}
        self.steps = 0

    def __call__(self, x):
        self.cache["h"] = x
        self.steps += 1
        return x

    def quiet(self, x):
        return x * self.steps


def test_objects_are_watched_and_put_back():
    model = Model()
    for fn in (model, model.__call__, lambda x: model(x)):
        change, leak = sorted(side_effects(fn, jnp.ones(2)), key=lambda effect: effect.kind)
        assert leak.before.endswith(".cache['h']")
        assert (change.before, change.after) == ("steps=0", "steps=1")
        assert vars(model) == {"cache": {}, "steps": 0}
    assert not side_effects(model.quiet, jnp.ones(2))


@pytest.mark.parametrize(
    ("kept", "act", "kind", "after"),
    [
        ([0], lambda kept, x: kept.extend([x, 0]), "leak", "float32[2]"),
        ([0], lambda kept, x: kept.__setitem__(0, 1), "change", "[1]"),
        ({"a": 1}, lambda kept, x: kept.update(a=2, b=[x]), "leak", "float32[2]"),
        ({"a": 1, "b": 2}, lambda kept, x: kept.update(a=2, c=3), "change", "{'a': 2, 'c': 3}"),
        ({0}, lambda kept, x: kept.add(5), "change", "{0, 5}"),
    ],
)
def test_a_containers_leak_comes_before_its_changes(kept, act, kind, after):
    before = kept.copy()
    effect = only(side_effects(lambda x: (act(kept, x), x)[1], jnp.ones(2)))
    assert (effect.kind, effect.after) == (kind, after)
    assert kept == before


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (lambda x: x + random.random(), "Python's `random`"),
        (lambda x: x + np.random.rand(), "NumPy's global random state"),
        (lambda x: x + rng.normal(), "the generator `rng`"),
        (lambda x: x + own_random.random(), "the generator `own_random`"),
    ],
)
def test_host_random_numbers_are_told_and_their_state_put_back(fn, name):
    def states():
        return str((random.getstate(), np.random.get_state(), rng.bit_generator.state, own_random.getstate()))

    before = states()
    told, constant = side_effects(fn, 1.0)
    assert (told.kind, told.name, constant.kind) == ("random", name, "constant")
    assert "`jax.random` key" in told.message
    assert constant.line.endswith(f"line {fn.__code__.co_firstlineno}")
    assert "TypedFloat" not in constant.message
    assert states() == before


def test_what_no_state_shows_is_told_if_the_program_depends_on_it():
    effect = only(side_effects(lambda x: x + np.random.default_rng().normal(), 1.0))
    assert effect.kind == "constant"
    assert not side_effects(lambda x: x + np.random.default_rng(0).normal(), 1.0)


@pytest.mark.parametrize("cache", [functools.cache, functools.lru_cache])
def test_a_cache_that_keeps_a_tracer_is_told_and_cleared(cache):
    @cache
    def table(n):
        return {"sin": [jnp.sin(jnp.arange(n))]}

    def fn(x):
        return x + table(3)["sin"][0]

    for transformed in (fn, jax.jit(fn)):
        effect = only(side_effects(transformed, jnp.ones(3)))
        assert (effect.kind, effect.name, effect.after) == ("leak", "the cache of `table`", "float32[3]")
        assert table.cache_info().currsize == 0
        fn(jnp.ones(3))
        table.cache_clear()
    with pytest.raises(jax.errors.TracerBoolConversionError):
        side_effects(lambda x: fn(x) if table(3) and x else x, 1.0)
    assert table.cache_info().currsize == 0


def prints(x, y):
    print("Running f():")
    print(f"  x = {x}", file=sys.stdout)
    jax.debug.print("not this {}", x)
    return jnp.dot(x + 1, y + 1)


def test_what_is_printed_while_tracing_is_told_and_not_shown(capsys):
    seen = side_effects(jax.jit(prints), jnp.ones((3, 4)), jnp.ones(4))
    assert capsys.readouterr().out == ""
    assert [(effect.kind, effect.line) for effect in seen] == [
        ("print", line_of(prints, "Running")),
        ("print", line_of(prints, "x = ")),
    ]
    assert "`Running f():` is printed while JAX traces" in str(seen)
    assert "`jax.debug.print`" in str(seen)


def test_constants_that_differ_between_two_traces_are_told():
    numbers = itertools.count(5)

    def fn(x):
        y = jnp.sin(x)
        return y * next(numbers)

    effect = only(side_effects(fn, jnp.ones(2)))
    assert (effect.kind, effect.line) == ("constant", line_of(fn, "next(numbers)"))
    assert "5." in effect.before
    assert "6." in effect.after

    def unrolled(x):
        for _ in range(next(numbers)):
            x = jnp.cos(x)
        return x

    effect = only(side_effects(unrolled, 1.0))
    assert (effect.before, effect.after, effect.line) == ("`return`", "`cos`", line_of(unrolled, "x = "))


def test_a_second_trace_that_fails_is_told():
    numbers = iter([1.0])

    effect = only(side_effects(lambda x: x + next(numbers), 1.0))
    assert effect.kind == "constant"
    assert "The second trace raised StopIteration, but the first did not" in effect.message


W = jnp.ones((3, 3))


@functools.lru_cache
def cached_table(n):
    return np.arange(n)


@jax.custom_vjp
def own_rule(x):
    return jnp.sin(x)


own_rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))


@functools.partial(jax.jit, static_argnames="n")
def loops(x, n):
    return lax.fori_loop(0, n, lambda i, c: jnp.sin(c @ W), x)


def local_containers(x):
    kept, by_name = [], {}
    kept.append(x)
    by_name["x"] = x
    return sum(kept) + by_name["x"]


def control(x):
    chosen = lax.cond(x[0] > 0, lambda v: v, lambda v: -v, x)
    return lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, chosen)


def host_calls(x):
    jax.debug.print("x {}", x)
    return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct((3,), "float32"), x)


def draws(key):
    a, b = jax.random.split(key)
    return jax.random.normal(a, (3,)), jax.random.permutation(b, 5)


def uses_a_ref(x):
    ref = jax.new_ref(x)
    ref[...] = ref[...] + 1
    return ref[...]


def deep(x):
    return jax.grad(lambda y: jax.jit(jax.checkpoint(lambda z: jnp.sum(own_rule(z) ** settings["scale"])))(y))(x)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (loops, lambda: (jnp.ones(3), 3)),
        (local_containers, lambda: (jnp.ones(3),)),
        (control, lambda: (jnp.ones(3),)),
        (host_calls, lambda: (jnp.ones(3),)),
        (draws, lambda: (jax.random.key(0),)),
        (uses_a_ref, lambda: (jnp.ones(3),)),
        (deep, lambda: (jnp.ones(3),)),
        (lambda x: x + cached_table(3), lambda: (jnp.ones(3),)),
        (jax.vmap(jax.value_and_grad(own_rule)), lambda: (jnp.ones(3),)),
        (jnp.linalg.norm, lambda: (jnp.ones((3, 3)),)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_program_without_side_effects_raises_no_alarm(fn, args):
    seen = side_effects(fn, *args())
    assert len(seen) == 0
    assert not seen
    assert str(seen).startswith("No side effects seen: two traces of ")


def test_a_module_of_the_users_is_searched_and_its_imports_raise_no_alarm(tmp_path, monkeypatch):
    (tmp_path / "own_counter.py").write_text(
        """
import warnings
calls = 0
def f(x):
    global calls
    calls += 1
    warnings.warn("often", UserWarning)
    import own_other
    return x
"""
    )
    (tmp_path / "own_other.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("own_counter")
    with warnings.catch_warnings(action="ignore"):
        effect = only(side_effects(eval("lambda x: module.f(x)", {"module": module}), 1.0))
    assert (effect.name, effect.line) == ("the global `calls`", "own_counter.py, line 6")
    assert module.calls == 0


@pytest.mark.long
def test_neural_network_libraries_raise_no_alarm():
    nn, nnx = pytest.importorskip("flax.linen"), pytest.importorskip("flax.nnx")

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dropout(0.5, deterministic=False)(nn.Dense(4)(x))

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.norm = nnx.BatchNorm(3, rngs=rngs)

        def __call__(self, x):
            return self.norm(x).sum()

    net, x = Net(), jnp.ones((2, 3))
    variables = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)
    assert not side_effects(lambda v, x, key: net.apply(v, x, rngs={"dropout": key}), variables, x, jax.random.key(2))
    assert not side_effects(nnx.jit(nnx.value_and_grad(lambda model, x: model(x))), Model(nnx.Rngs(0)), x)


def test_everything_is_put_back_when_the_function_raises():
    def fn(x):
        log.append(x)
        random.random()
        return 1.0 if x > 0 else 0.0

    state, out = random.getstate(), sys.stdout
    with pytest.raises(jax.errors.TracerBoolConversionError):
        side_effects(fn, 1.0)
    assert sys.stdout is out
    assert random.getstate() == state
    assert log == []


def test_earlier_calls_hide_nothing_and_nothing_is_traced_again_afterwards():
    fn = jax.jit(keeps_in_list)
    with contextlib.redirect_stdout(io.StringIO()):
        fn(jnp.ones(2))
    log.clear()
    for _ in range(2):
        assert only(side_effects(fn, jnp.ones(2))).kind == "leak"
    fn(jnp.ones(2))
    assert log == []


def test_jax_names_the_users_function_and_argument_where_a_value_is_needed():
    def branches(n, params):
        return params["w"] * n if params["w"] > 0 else 0.0

    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        side_effects(branches, 2, {"name": "linear", "w": 1.0})
    assert f"tracing the function branches at {__file__}" in str(caught.value)
    assert "the argument params['w']" in str(caught.value)


class OfArrays:
    """A pytree class whose leaves must be arrays."""

    def __init__(self, w, n):
        self.w, self.n = jnp.asarray(w), jnp.asarray(n)


jax.tree_util.register_pytree_node(OfArrays, lambda tree: ((tree.w, 3), None), lambda _, parts: OfArrays(*parts))


def test_a_pytree_that_is_made_of_arrays_only_is_taken():
    assert not side_effects(lambda tree: tree.w * tree.n, OfArrays(1.0, 3))


def test_bad_arguments_get_one_sentence():
    with pytest.raises(TypeError, match=r"`side_effects` needs a function, but got the int 3"):
        side_effects(3)
    with pytest.raises(TypeError, match=r"`side_effects` cannot call `counts\(x\)` with 0 arguments"):
        side_effects(counts)
