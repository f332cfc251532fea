"""Test that keys which an installed package uses twice are told apart from the user's, and what `ignore` leaves out."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax, random

from jaxguide.keys import KeyReuseError, check_keys, no_key_reuse

SOURCE = """\
import jax
from jax import lax, random

def init(key):
    return random.normal(key)

def careless(key):
    return random.normal(key) + random.uniform(key)

def by_halves(key):
    def body(carry, _):
        return carry + random.split(key, 3).size, None
    return lax.scan(body, 0, None, 3)[0]

def by_thirds(key):
    return [random.split(key) for _ in range(3)]

def with_stream(model, key):
    box[:] = [key]
    model()
    return random.split(key)

box = []

def sample():
    return random.split(box[0])

def called_with(function, key):
    return function(key), function(key)

def stepped(function, count):
    return lax.fori_loop(0, count, lambda _, x: x + function(), 0.0)

def seeded():
    return random.normal(random.key(3)) + random.normal(random.key(3))
"""


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A package that uses keys twice, installed as pip would."""
    folder = tmp_path_factory.mktemp("environment") / "site-packages"
    (folder / "boxes").mkdir(parents=True)
    (folder / "boxes" / "__init__.py").write_text(SOURCE)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("boxes")
    sys.path.remove(str(folder))
    del sys.modules["boxes"]


def _only(program: Any, **options: Any) -> Any:
    (problem,) = check_keys(program, random.key(0), **options)
    return problem


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("careless", "drawn_twice", "a key was drawn from twice (each time in boxes/__init__.py, line 8)"),
        ("by_halves", "split_twice", "a key was split twice (each time in boxes/__init__.py, line 12)"),
        ("by_thirds", "split_twice", "a key was split twice (each time in boxes/__init__.py, line 16)"),
    ],
)
@pytest.mark.parametrize("jitted", [False, True])
def test_what_a_package_does_is_told_as_its_own(
    boxes: ModuleType, name: str, kind: str, said: str, jitted: bool
) -> None:
    def program(key: Any) -> Any:
        use = getattr(boxes, name)
        return use(key)

    problem = _only(jax.jit(program) if jitted else program)
    assert (problem.kind, problem.package, problem.name) == (kind, "boxes", None)
    assert problem.message.startswith(f"Inside boxes, {said}, called in test_key_packages.py, line ")
    assert problem.message.endswith("`return use(key)`. `ignore='boxes'` leaves this out.")
    assert problem.first_source == problem.second_source == "return use(key)"


def test_a_package_that_calls_the_users_model_in_between(boxes: ModuleType) -> None:
    def model() -> Any:
        return boxes.sample()

    problem = _only(lambda key: boxes.with_stream(model, key))
    assert problem.package == "boxes"
    assert "line 26; then boxes/__init__.py, line 21" in problem.message
    assert "boxes.with_stream(model, key)" in problem.first_source


def test_a_seed_that_a_package_uses_twice(boxes: ModuleType) -> None:
    problem = _only(lambda key: boxes.seeded())
    assert (problem.kind, problem.package) == ("seed_built_twice", "boxes")


def test_a_key_that_the_user_gives_twice_is_the_users_mistake(boxes: ModuleType) -> None:
    def side_by_side(key: Any) -> Any:
        return boxes.init(key), boxes.init(key)

    def again(key: Any) -> Any:
        return [boxes.init(key) for _ in range(3)]

    def through_a_callback(key: Any) -> Any:
        return jax.tree.map(lambda _: boxes.init(key), [1, 2, 3])

    def through_a_scan(key: Any) -> Any:
        return lax.scan(lambda x, _: (x + boxes.init(key), None), 0.0, None, 3)

    def through_a_loop_of_the_package(key: Any) -> Any:
        return boxes.stepped(lambda: boxes.init(key), 3)

    def mixed(key: Any) -> Any:
        return boxes.init(key) + random.normal(key)

    for program in (side_by_side, again, through_a_callback, through_a_scan, through_a_loop_of_the_package, mixed):
        problem = _only(program)
        assert (problem.kind, problem.package) == ("drawn_twice", None), program.__name__
    assert str(_only(side_by_side)).startswith("`key` was given to boxes twice (both in test_key_packages.py,")
    assert str(_only(again)).startswith("`key` was given to boxes more than once (each time in ")
    assert str(_only(again)).endswith("): split it and give each call its own key.")
    assert "was drawn from twice" in str(_only(mixed))


def test_a_key_that_a_package_splits_and_the_user_draws_from(boxes: ModuleType) -> None:
    def split_by_the_package(key: Any) -> Any:
        boxes.by_thirds(key)
        return random.normal(key)

    def drawn_first(key: Any) -> Any:
        return random.normal(key), boxes.with_stream(lambda: None, key)

    def split_by_the_user(key: Any) -> Any:
        return random.split(key), boxes.init(key)

    for program in (drawn_first, split_by_the_user):
        said = str(_only(program))
        assert said.startswith("`key` was given to boxes and also used directly (")
        assert said.endswith("split it and give each its own key.")
    kinds = [problem.kind for problem in check_keys(split_by_the_package, random.key(0), ignore="boxes")]
    assert kinds == ["parent_used_after_split"]


def test_what_the_users_function_does_is_not_the_packages_that_calls_it(boxes: ModuleType) -> None:
    def draw(key: Any) -> Any:
        return random.normal(key)

    problem = _only(lambda key: boxes.called_with(draw, key))
    assert problem.package is None

    def closed_over(key: Any) -> Any:
        return boxes.stepped(lambda: random.normal(key), 3)

    assert _only(closed_over).package is None


def _both(boxes: ModuleType) -> Any:
    def program(key: Any) -> Any:
        first, second = random.split(key)
        mine = random.normal(first) + random.normal(first)
        return boxes.careless(second) + mine

    return program


def test_every_helper_leaves_out_and_counts_what_it_is_told_to(boxes: ModuleType) -> None:
    program, key = _both(boxes), random.key(0)
    assert [problem.package for problem in check_keys(program, key)] == [None, "boxes"]
    left = check_keys(program, key, ignore="boxes")
    assert [problem.package for problem in left] == [None]
    assert left.ignored == 1
    assert "1 problem with keys, 1 ignored." in str(left)
    used = check_keys(program, key, ignore=["boxes"])
    assert (len(used), used.ignored, type(used).from_plain(used.to_plain()).ignored) == (1, 1, 1)
    assert "2 keys reused" in str(check_keys(program, key).tree)
    assert "1 key reused" in str(check_keys(program, key, ignore=["boxes"]).tree)
    with pytest.raises(KeyReuseError) as raised:
        no_key_reuse(program, ignore="boxes")(key)
    assert [problem.package for problem in raised.value.problems] == [None]

    @no_key_reuse(ignore="boxes")
    def told(key: Any) -> Any:
        return boxes.careless(key)

    assert told(key).shape == ()


def test_a_wrong_ignore_is_refused_in_one_sentence() -> None:
    for wrong in (3, [3], None, [["jax"]]):
        with pytest.raises(TypeError, match=r"`check_keys` got .* as `ignore`: pass the names of packages, as in"):
            check_keys(random.normal, random.key(0), ignore=wrong)


def test_a_package_that_is_not_installed_is_warned_of(boxes: ModuleType) -> None:
    program, key = _both(boxes), random.key(0)
    with pytest.warns(UserWarning, match=r"no package of this name is installed here\.$") as warned:
        found = check_keys(program, key, ignore=["no_such_package"])
    assert [Path(warning.filename).name for warning in warned] == [Path(__file__).name]
    assert str(found) == str(check_keys(program, key))


def test_no_key_reuse_checks_its_arguments() -> None:
    with pytest.warns(UserWarning, match="`no_key_reuse` got `ignore='no_such_package'`") as warned:
        no_key_reuse(ignore="no_such_package")(random.normal)
    assert len(warned) == 1


@pytest.mark.long
def test_flax_recurrent_networks() -> None:
    linen = pytest.importorskip("flax.linen")
    x = jnp.ones((2, 3, 4))
    problem = _only(lambda key: linen.RNN(linen.LSTMCell(4)).init(key, x))
    assert problem.package == "flax"
    assert not check_keys(lambda key: linen.RNN(linen.LSTMCell(4)).init(key, x), random.key(0), ignore="flax")
    layer = linen.Dense(2)
    assert _only(lambda key: (layer.init(key, x), layer.init(key, x))).package is None


@pytest.mark.long
def test_numpyro_samplers() -> None:
    numpyro = pytest.importorskip("numpyro")
    infer = importlib.import_module("numpyro.infer")

    def model() -> None:
        x = numpyro.sample("x", numpyro.distributions.Normal(0, 1))
        numpyro.sample("y", numpyro.distributions.Normal(x, 1), obs=0.5)

    def chain(key: Any) -> Any:
        sampler = infer.MCMC(infer.NUTS(model), num_warmup=2, num_samples=2, progress_bar=False)
        sampler.run(key)
        return sampler.get_samples()

    assert {problem.package for problem in check_keys(chain, random.key(0))} == {"numpyro"}


@pytest.mark.long
def test_diffrax_brownian_trees() -> None:
    diffrax = pytest.importorskip("diffrax")

    def increment(key: Any) -> Any:
        return diffrax.VirtualBrownianTree(0, 1, tol=1e-2, shape=(2,), key=key).evaluate(0.1, 0.4)

    assert {problem.package for problem in check_keys(increment, random.key(0))} == {"diffrax"}


def test_rows_that_share_a_key_in_equinox_are_told_and_rows_with_their_own_are_not() -> None:
    equinox = pytest.importorskip("equinox")
    dropout, x = equinox.nn.Dropout(0.5), jnp.ones((4, 3))

    def shared(key: Any) -> Any:
        return equinox.filter_vmap(lambda x: dropout(x, key=key))(x)

    def own(key: Any) -> Any:
        return equinox.filter_vmap(lambda x, key: dropout(x, key=key))(x, random.split(key, 4))

    problem = _only(shared)
    assert (problem.kind, problem.name, problem.package) == ("same_key_for_all_rows", "key", None)
    assert not check_keys(own, random.key(0))
