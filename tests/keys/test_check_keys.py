"""Test `check_keys` and `no_key_reuse`: messages with both lines and the key's name, errors, and one check per call."""

import collections
import functools
import importlib.util
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo import normalised_hlo
from jax import lax, random
from kernel import run_in_kernel

from jaxguide.keys import KeyReuseError, KeyStream, check_keys, no_key_reuse


def the_problem(fn, *args, **kwargs):
    (problem,) = check_keys(fn, *args, **kwargs)
    return problem


def helper(k, shape=()):
    return random.normal(k, shape)


jitted_helper = jax.jit(helper)


# The message: both lines, the file, the student's name for the key.


def test_a_sentence_names_both_lines_the_file_and_the_key():
    def noise(rng):
        a = random.normal(rng, (2,))
        return a + random.uniform(rng, (2,))

    problem = the_problem(noise, random.key(0))
    line = noise.__code__.co_firstlineno + 1
    assert str(problem) == problem.message
    assert str(problem) == (
        f"`rng` was drawn from twice (test_check_keys.py, line {line}: `a = random.normal(rng, (2,))`; "
        f"then line {line + 1}: `return a + random.uniform(rng, (2,))`): split it and give each draw its own key."
    )
    assert (problem.first_line, problem.second_line) == (line, line + 1)
    assert (problem.first_file, problem.second_file, problem.name) == ("test_check_keys.py",) * 2 + ("rng",)


def test_every_kind_has_a_sentence_that_ends_and_names_the_key():
    programs = {
        "drawn_twice": lambda key: random.normal(key) + random.uniform(key),
        "parent_used_after_split": lambda key: random.normal(random.split(key)[0]) + random.uniform(key),
        "parent_used_after_fold": lambda key: random.normal(random.fold_in(key, 1)) + random.uniform(key),
        "split_twice": lambda key: random.normal(random.split(key)[0]) + random.normal(random.split(key)[1]),
        "fold_twice_same_data": lambda key: (
            random.normal(random.fold_in(key, 1)) - random.uniform(random.fold_in(key, 1))
        ),
        "split_and_fold_mixed": lambda key: random.normal(random.split(key)[0]) + random.normal(random.fold_in(key, 5)),
        "same_key_for_all_rows": lambda key: jax.vmap(lambda x: x + random.normal(key))(jnp.ones(3)),
    }
    for kind, fn in programs.items():
        problem = the_problem(fn, random.key(0))
        assert (problem.kind, problem.name) == (kind, "key")
        assert "`key`" in str(problem)
        assert str(problem)[0].isupper() or str(problem).startswith("`key`")
        assert str(problem).endswith(".")
        assert "\n" not in str(problem)


def test_rows_that_share_a_key_are_told_with_the_line_that_maps():
    def noisy(key):
        def row(x):
            return x + helper(key)

        return jax.jit(jax.vmap(row))(jnp.ones(3))

    line = noisy.__code__.co_firstlineno + 4
    assert f"`return random.normal(k, shape)`, mapped in line {line}): map over one key" in str(
        the_problem(noisy, random.key(0))
    )


def test_a_seed_is_named_by_its_number():
    assert "built from the seed 3 twice" in str(the_problem(lambda: random.key(3) is random.key(3)))


def test_a_statement_over_several_lines_is_shown_whole():
    def noise(key):
        a = random.normal(
            key,  # the first use
            (2, 3),
        )
        b = {
            "noise": random.uniform(
                key=key,
            )
        }
        return a, b

    problem = the_problem(noise, random.key(0))
    first = noise.__code__.co_firstlineno + 1
    assert problem.first_source == "a = random.normal(key, (2, 3))"
    assert problem.second_source == "b = {'noise': random.uniform(key=key)}"
    assert (problem.first_line, problem.second_line, problem.name) == (first, first + 5, "key")


def test_a_helper_called_twice_is_told_by_its_calls_and_the_callers_name():
    def two_calls(rng):
        x = helper(rng)
        return x + helper(shape=(), k=rng)

    def jitted(rng):
        x = jitted_helper(rng)
        return x + jitted_helper(rng, ())

    def one_line(rng):
        return helper(rng) + helper(rng)

    def helper_and_here(rng):
        x = helper(rng)
        return x + random.uniform(rng)

    def two_helpers(rng):
        def other(key):
            return random.gumbel(key)

        x = helper(rng)
        return x + other(rng)

    for fn in (two_calls, jitted, helper_and_here, two_helpers):
        problem = the_problem(fn, random.key(0))
        assert problem.first_source in ("x = helper(rng)", "x = jitted_helper(rng)"), fn
        assert problem.second_source.startswith("return x + "), fn
        assert problem.name == "rng", fn
    problem = the_problem(one_line, random.key(0))
    assert (problem.first_source, problem.name) == ("return helper(rng) + helper(rng)", "rng")


class Sampler:
    def __init__(self, key):
        self.key = key

    def sample(self):
        return random.normal(self.key)

    def twice(self):
        return random.normal(self.key) + random.uniform(self.key)

    def __call__(self, x, key):
        return x + random.normal(key)


State = collections.namedtuple("State", "rng")


def element(keys):
    return random.normal(keys[0]) + random.uniform(keys[0])


def entry(params):
    return random.normal(params["key"]) + random.uniform(key=params["key"])


def field(state):
    return random.normal(state.rng) + random.uniform(state.rng)


def own_attribute(key):
    return Sampler(key).twice()


def attribute_through_a_method(key):
    model = Sampler(key)
    return model.sample() + model.sample()


def through_a_call_method(key):
    model = Sampler(key)
    return model(model(1.0, key), key)


def closure(key):
    def noise():
        return random.normal(key)

    return noise() + noise()


def entry_of_a_display(rng):
    def noise(params):
        return random.normal(params["key"])

    return noise({"key": rng}) + noise({"key": rng, "scale": 1.0})


def by_partial(rng):
    noise = functools.partial(random.normal, shape=(2,))
    return noise(rng) + noise(rng)


def initialisers(rng):
    init = jax.nn.initializers.he_normal()
    return init(rng, (3, 3)) + init(rng, (3, 3))


def mapped(keys):
    return jax.vmap(helper)(keys) + jax.vmap(random.uniform)(keys)


def assigned_in_place(key):
    return random.normal(again := key) + random.uniform(again)


def two_names(key):
    alias = key
    x = random.normal(key)
    return x + random.uniform(alias)


NAMES = [
    (element, random.split, "keys[0]"),
    (entry, lambda key: {"key": key}, "params['key']"),
    (field, State, "state.rng"),
    (own_attribute, lambda key: key, "self.key"),
    (attribute_through_a_method, lambda key: key, "model.key"),
    (through_a_call_method, lambda key: key, "key"),
    (closure, lambda key: key, "key"),
    (entry_of_a_display, lambda key: key, "rng"),
    (by_partial, lambda key: key, "rng"),
    (initialisers, lambda key: key, "rng"),
    (mapped, random.split, "keys"),
    (assigned_in_place, lambda key: key, "again"),
    (two_names, lambda key: key, "key"),
]


@pytest.mark.parametrize(("fn", "argument", "name"), NAMES, ids=[fn.__name__ for fn, _, _ in NAMES])
def test_a_key_is_called_what_the_student_calls_it(fn, argument, name):
    for key in (random.key(0), random.PRNGKey(0)):
        names = {problem.name for problem in check_keys(fn, argument(key))}
        assert names == {name}


def test_a_second_name_of_the_key_is_said():
    assert "`key`, which is also `alias`, was drawn from" in str(the_problem(two_names, random.key(0)))


def test_a_key_without_a_name_is_a_key():
    problem = the_problem(
        lambda make: random.normal(make()) + random.uniform(make()), lambda: random.wrap_key_data(DATA)
    )
    assert problem.name is None
    assert str(problem).startswith("A key was drawn from twice")


DATA = np.array([1, 2], np.uint32)


def test_code_without_source_is_told_by_its_line_number():
    names = {"random": random}
    exec("def noise(key):\n    a = random.normal(key)\n    return a + random.uniform(key)\n", names)
    problem = the_problem(names["noise"], random.key(0))
    assert "(line 2; then line 3)" in str(problem)
    assert problem.name is None


def test_lines_of_two_files_name_both(tmp_path):
    file = tmp_path / "noise_of_mine.py"
    file.write_text("import jax\n\n\ndef uniform(key):\n    return jax.random.uniform(key)\n")
    spec = importlib.util.spec_from_file_location("noise_of_mine", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def normal(key):
        return random.normal(key)

    def chosen(key):
        return sum(jax.tree.map(lambda draw: draw(key), [normal, module.uniform]))

    def callback(key):
        return normal(key) + lax.cond(True, module.uniform, module.uniform, key)

    assert the_problem(chosen, random.key(0)).first_file == "test_check_keys.py"
    text = str(the_problem(callback, random.key(0)))
    assert "test_check_keys.py, line" in text
    assert "; then noise_of_mine.py, line 5: `return jax.random.uniform(key)`; the key is used in line " in text


@pytest.mark.long
def test_in_a_notebook_a_line_is_told_by_its_cell():
    cells = [
        "import jax\nfrom jaxguide.keys import check_keys\n\ndef draw(key):\n    return jax.random.normal(key)",
        "%matplotlib agg\ndef noise(rng):\n    x = draw(rng)\n    return x + draw(rng)",
        "print(*check_keys(noise, jax.random.key(0)))",
    ]
    shown = run_in_kernel(cells)
    assert shown[2].startswith(
        "`rng` was drawn from twice (cell [2], line 3: `x = draw(rng)`; then line 4: `return x + draw(rng)`; "
        "the key is used in cell [1], line 5): split it"
    )


# Arguments that it rejects, and errors that it does not swallow.


def test_bad_arguments_give_one_sentence():
    with pytest.raises(TypeError, match="`check_keys` needs a function, but got the int 3"):
        check_keys(3)
    with pytest.raises(TypeError, match=r"cannot call `helper.*` with 0 arguments: missing a required argument: 'k'"):
        check_keys(helper)
    with pytest.raises(TypeError, match="`no_key_reuse` needs a function, but got an array float32"):
        no_key_reuse(jnp.ones(3))
    with pytest.raises(TypeError, match=r"but got a `jax.ShapeDtypeStruct`, which has no values: pass arrays"):
        check_keys(helper, jax.ShapeDtypeStruct((2,), np.uint32))


def test_a_program_that_raises_gives_its_own_error_and_no_verdict():
    class OutOfLayers(Exception):
        pass

    def fn(key):
        random.normal(key)
        raise OutOfLayers("layer 3 of 2")

    with pytest.raises(OutOfLayers, match="layer 3 of 2"):
        check_keys(fn, random.key(0))
    with pytest.raises(TypeError, match="dot_general"):
        check_keys(lambda key: random.normal(key, (3,)) @ jnp.ones(4), random.key(0))
    with pytest.raises(ValueError, match="accepts a single key"):
        check_keys(lambda key: random.normal(random.split(key)), random.key(0))


def test_inside_a_transformation_it_says_that_it_cannot():
    def inner(key):
        return check_keys(helper, key)

    for transformed in (jax.jit(inner), jax.vmap(inner)):
        with pytest.raises(RuntimeError, match=r"call it outside `jax.jit`, `jax.vmap` and `jax.grad`"):
            transformed(random.split(random.key(0)))
    with pytest.raises(RuntimeError, match="when keys have no values yet"):
        jax.jit(lambda: check_keys(helper, 0) or 1)()


def test_keys_that_cannot_be_seen_are_no_clean_bill():
    def fn(key):
        def scale(key, x):
            return x * random.normal(key) * random.normal(key)

        return jax.custom_derivatives.linear_call(scale, scale, key, 2.0)

    with pytest.warns(UserWarning, match=r"Keys used inside `linear_call` \(test_check_keys.py, line \d+\) were not"):
        assert not check_keys(fn, random.key(0))
    with pytest.warns(UserWarning, match="Keys used inside `linear_call`"):
        no_key_reuse(fn)(random.key(0))


# The decorator.


def two_draws(key, scale=1.0):
    return scale * random.normal(key, (3,)) + random.uniform(key, (3,))


def one_draw(key, scale=1.0):
    return scale * random.normal(key, (3,))


@pytest.mark.parametrize("make_key", [random.key, random.PRNGKey, functools.partial(random.key, impl="rbg")])
@pytest.mark.parametrize("wrap", [lambda fn: fn, jax.jit, lambda fn: jax.jit(jax.vmap(fn)), jax.vmap])
def test_the_decorator_guards_plain_jitted_and_mapped_functions(wrap, make_key):
    key = make_key(0)
    if wrap not in (jax.jit,) and wrap(one_draw) is not one_draw:
        key = random.split(key, 2)
    np.testing.assert_array_equal(no_key_reuse(wrap(one_draw))(key), wrap(one_draw)(key))
    with pytest.raises(KeyReuseError, match="`key` was drawn from twice") as caught:
        no_key_reuse(wrap(two_draws))(key)
    assert [problem.kind for problem in caught.value.problems] == ["drawn_twice"]


def test_the_decorator_guards_methods():
    class Model:
        @no_key_reuse
        def bad(self, key):
            return two_draws(key)

        @no_key_reuse
        @functools.partial(jax.jit, static_argnums=0)
        def jitted(self, key, x):
            return x + one_draw(key) + (random.normal(key) if x.ndim else 0.0)

        @staticmethod
        @no_key_reuse
        def static(key):
            return two_draws(key)

    model = Model()
    for call in (model.bad, Model.static, functools.partial(model.jitted, x=jnp.ones(3))):
        with pytest.raises(KeyReuseError):
            call(random.key(0))
    assert model.jitted(random.key(0), jnp.float32(1.0)).shape == (3,)


def count_checks(monkeypatch):
    from jaxguide.keys import reuse

    seen, observe = [], reuse.observe_keys
    monkeypatch.setattr(reuse, "observe_keys", lambda *args: seen.append(1) or observe(*args))
    return seen


def test_each_new_signature_is_checked_once(monkeypatch):
    checks = count_checks(monkeypatch)

    @no_key_reuse
    def fn(key, x, n=1, mode="a", tree=None):
        return one_draw(key) + n

    key = random.key(0)
    for args, kwargs in [
        ((key, jnp.ones(3)), {}),
        ((key, jnp.ones(4)), {}),
        ((key, jnp.ones(3, jnp.int32)), {}),
        ((key, 1.0), {}),
        ((key, jnp.ones(3)), {"n": 2}),
        ((key, jnp.ones(3)), {"n": True}),
        ((key, jnp.ones(3)), {"mode": "b"}),
        ((key, jnp.ones(3)), {"tree": [1.0]}),
        ((key, jnp.ones(3)), {"tree": (1.0,)}),
        ((random.PRNGKey(0), jnp.ones(3)), {}),
        ((key, jnp.float32(1.0)), {}),
        ((key, jnp.asarray(1.0)), {}),
    ]:
        before = len(checks)
        fn(*args, **kwargs)
        new = len(checks) - before
        fn(*jax.tree.map(lambda x: x * 1 if isinstance(x, jax.Array) and x.dtype == jnp.float32 else x, args), **kwargs)
        fn(random.key(5) if args[0] is key else random.PRNGKey(5), *args[1:], **kwargs)
        assert len(checks) - before == new <= 1, (args, kwargs)
    assert len(checks) == 12


def test_numbers_of_a_jitted_function_are_no_new_signature_unless_static(monkeypatch):
    checks = count_checks(monkeypatch)

    @no_key_reuse
    @functools.partial(jax.jit, static_argnames="n")
    def step(key, count, n):
        return random.normal(random.fold_in(key, count), (n,))

    for count in range(4):
        step(random.key(0), count, n=2)
    assert len(checks) == 1
    step(random.key(0), 0, n=3)
    assert len(checks) == 2


def test_another_object_is_another_signature(monkeypatch):
    checks = count_checks(monkeypatch)

    class Settings:
        pass

    guarded = no_key_reuse(lambda key, settings: one_draw(key))
    settings = Settings()
    for _ in range(2):
        guarded(random.key(0), settings)
    assert len(checks) == 1
    guarded(random.key(0), Settings())
    guarded(random.key(0), {"list": [settings]})
    assert len(checks) == 3


def test_a_container_with_data_that_cannot_be_hashed_is_taken():
    class Box:
        def __init__(self, key, notes):
            self.key, self.notes = key, notes

    jax.tree_util.register_pytree_node(Box, lambda box: ([box.key], box.notes), lambda notes, keys: Box(*keys, notes))
    assert no_key_reuse(lambda box: one_draw(box.key))(Box(random.key(0), ["a list"])).shape == (3,)
    with pytest.raises(KeyReuseError):
        no_key_reuse(lambda box: two_draws(box.key))(Box(random.key(0), ["a list"]))


def test_reuse_raises_at_every_call_before_the_function_runs():
    ran = []

    @no_key_reuse
    def fn(key):
        jax.debug.callback(lambda: ran.append(1))
        return two_draws(key)

    for _ in range(2):
        with pytest.raises(KeyReuseError):
            fn(random.key(0))
    jax.effects_barrier()
    assert ran == []


def test_under_an_outer_trace_the_decorator_passes_through_quietly(monkeypatch):
    checks = count_checks(monkeypatch)
    guarded = no_key_reuse(two_draws)
    key = random.key(0)
    for call in (
        jax.jit(guarded),
        jax.grad(lambda scale: guarded(key, scale).sum()),
        jax.checkpoint(guarded),
    ):
        call(2.0) if "<lambda>" in repr(call) else call(key)
    jax.vmap(guarded)(random.split(key))
    jax.vmap(lambda x: x + guarded(key))(jnp.ones(3))
    assert checks == []


def test_a_guarded_function_inside_a_checked_one_is_checked_with_it():
    guarded = no_key_reuse(one_draw)
    assert [p.kind for p in check_keys(lambda key: guarded(key) + guarded(key), random.key(0))] == ["drawn_twice"]
    with pytest.raises(KeyReuseError):
        no_key_reuse(lambda key: guarded(key) + guarded(key))(random.key(0))


def test_the_decorator_adds_nothing_to_the_compiled_program():
    key = random.key(0)

    def fn(key, scale):
        return jnp.tanh(scale * random.normal(key, (64,)))

    assert normalised_hlo(no_key_reuse(fn), key, 2.0) == normalised_hlo(fn, key, 2.0)
    jitted = jax.jit(fn)
    assert no_key_reuse(jitted).lower(key, 2.0).as_text() == jitted.lower(key, 2.0).as_text()
    grad = jax.grad(lambda scale: fn(key, scale).sum())
    guarded = jax.grad(lambda scale: no_key_reuse(fn)(key, scale).sum())
    assert normalised_hlo(guarded, 2.0) == normalised_hlo(grad, 2.0)


def test_the_decorator_keeps_name_docstring_and_signature():
    @no_key_reuse
    def noise(key, n: int = 3):
        """Draw noise."""
        return random.normal(key, (n,))

    import inspect

    assert (noise.__name__, noise.__doc__) == ("noise", "Draw noise.")
    assert list(inspect.signature(noise).parameters) == ["key", "n"]
    assert not hasattr(noise, "lower")


def test_the_functions_own_error_comes_through_the_decorator():
    @no_key_reuse
    def fn(key, n):
        return random.normal(key, (n,)) @ jnp.ones(3)

    with pytest.raises(TypeError, match="dot_general") as caught:
        fn(random.key(0), 4)
    assert caught.value.__context__ is None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'n'"):
        fn(random.key(0))
    assert fn(random.key(0), 3).shape == ()


def test_a_call_that_works_but_cannot_be_checked_says_so():
    calls = []

    @no_key_reuse
    def fn(key):
        calls.append(1)
        if len(calls) <= 2:
            raise ValueError("not yet")
        return one_draw(key)

    with pytest.warns(UserWarning, match=r"The keys of `fn` could not be checked \(ValueError: not yet\)"):
        fn(random.key(0))


def test_donated_buffers_live_until_the_call():
    @no_key_reuse
    @functools.partial(jax.jit, donate_argnums=1)
    def step(key, x):
        inner = jax.jit(lambda x: x * 2, donate_argnums=0)
        return inner(x) + random.normal(key, (3,))

    assert step(random.key(0), jnp.ones(3)).shape == (3,)


def test_the_error_carries_its_problems_and_crosses_processes():
    error = KeyReuseError(check_keys(two_draws, random.key(0)), "two_draws")
    again = pickle.loads(pickle.dumps(error))
    assert (again.problems, again.function, str(again)) == (error.problems, "two_draws", str(error))
    assert isinstance(error, RuntimeError)
    both = KeyReuseError(error.problems * 2)
    assert str(both) == f"{error}\n{error}"


@pytest.mark.long
def test_the_fixture_of_the_same_name_works_in_a_run_of_pytest(tmp_path):
    (tmp_path / "test_noise.py").write_text(
        "import jax\n"
        "from jaxguide.keys import KeyReuseError\n\n"
        "def draw(key):\n    return jax.random.normal(key)\n\n"
        "def twice(key):\n    return draw(key) + draw(key)\n\n"
        "def test_right(no_key_reuse):\n    assert no_key_reuse(draw)(jax.random.key(0)).shape == ()\n\n"
        "def test_wrong(no_key_reuse):\n    no_key_reuse(twice)(jax.random.key(0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)], capture_output=True, text=True
    )
    assert "1 failed, 1 passed" in done.stdout
    assert "KeyReuseError: `key` was drawn from twice (both in test_noise.py, line 8: `return" in done.stdout


def test_a_stream_that_is_not_returned_is_told_by_its_name():
    def step(x, s):
        return x + jax.random.normal(s.next(), x.shape)

    @jax.jit
    def train(x, s):
        copies = [jax.tree.map(lambda leaf: leaf, s) for _ in range(2)]
        x = step(x, copies[0])
        return step(x, copies[1])

    (problem,) = check_keys(train, jnp.ones(3), KeyStream(0))
    assert problem.kind == "fold_twice_same_data"
    assert problem.message.startswith("The stream `s` gave the same key twice (")
    assert "return it from the function that it was passed to" in problem.message


def test_a_key_used_beside_the_stream_that_has_it_is_told():
    def both(key):
        stream = KeyStream(key)
        return jax.random.normal(stream.next()) + jax.random.normal(key)

    (problem,) = check_keys(both, jax.random.key(0))
    assert problem.message.startswith("`key` was passed to a `KeyStream` and also used directly (")


def test_a_sentence_is_short():
    def noise(key):
        return [jax.random.normal(key, shape=(3, 4), dtype=jnp.float32) + jnp.zeros((3, 4)) for _ in range(3)]

    (problem,) = check_keys(noise, jax.random.key(0))
    assert problem.message.startswith("`key` was drawn from more than once (each time in ")
    assert len(problem.message) < 200
