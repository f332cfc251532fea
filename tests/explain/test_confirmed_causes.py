"""Test that explanations of names, types, keys, leaks and run-time errors give only causes that are confirmed."""

import sys
from pathlib import Path

import pytest
from failing import failure, program, run
from test_explain import same

from jaxguide.explain import Explanation, explain, knowledge

# No explanation: what looks like JAX's array, key or function is something else.
SILENT = {
    "an_own_device": """
class Settings:
    device = jax.devices()[0]
class Trainer:
    @property
    def settings(self):
        return Settings()
trainer = Trainer()
trainer.settings.device()
""",
    "a_list_without_delete": "items = [1, 2, 3]\nitems.delete(1)",
    "a_list_of_texts_without_format": "rows = ['{}', 'b']\nrows.format(1)",
    "numpys_array_without_delete": "a = np.ones(3)\na.delete(0)",
    "texts_without_at": "names = ['a', 'b']\nnames.at[0].set('c')",
    "waiting_for_a_function": "step = jax.jit(lambda x: x + 1)\nstep.block_until_ready()",
    "waiting_for_a_future": ("from concurrent.futures import Future\nresult = Future()\nresult.block_until_ready()"),
    "pytorchs_unbiased_deviation": "x = jnp.ones((2, 3))\nx.std(0, True)",
    "a_keyword_of_an_own_function_with_a_rule": """
@jax.custom_jvp
def f(x, axis=0):
    return x.sum(axis)
@f.defjvp
def rule(primals, tangents):
    return f(*primals), tangents[0].sum(primals[1])
f(jnp.ones((2, 3)), dim=1)
""",
    "a_keyword_that_is_handed_on": """
def f(row, scale=1.0):
    return row * scale
jnp.apply_along_axis(f, 0, jnp.ones((2, 3)), dim=1)
""",
    "a_sum_that_starts_elsewhere": "jnp.cumsum(jnp.ones(3), initial=1.0)",
    "a_function_for_an_array": "jnp.sin(jnp.cos)",
    "an_object_for_an_array": "class Box: pass\nbox = Box()\njnp.sum(box)",
    "two_entries_without_brackets": "jnp.array(1, 2)",
    "a_number_taken_apart": """
loss, accuracy = jnp.float32(0), jnp.float32(0)
loss, accuracy = jnp.ones(3).sum()
""",
    "a_text_repeated": "jax.jit(lambda n: '-' * n)(3)",
    "a_text_in_a_tree": "params = {'w': 1.0, 'kind': 'relu'}\njax.grad(lambda p: p['w'] ** 2)(params)",
}
# Program -> words that its explanation contains, and words that it must not contain.
SAID: dict[str, tuple[str, list[str], list[str]]] = {
    "numpy_of_an_expression_in_jit": (
        "@jax.jit\ndef f(x):\n    return (x + 1).detach().numpy()\nf(jnp.ones(3))",
        ["convert the result outside: `np.asarray(result)`"],
        [],
    ),
    "one_entry_of_a_matrix": ("m = jnp.ones((2, 3))\nfloat(m)", ["such as `m[0, 0]`"], ["`m[0]`"]),
    "the_entry_of_an_empty_array": ("x = jnp.zeros(0)\nx.item()", ["find out where it becomes empty"], ["x[0]"]),
    "numpys_reader_of_files": (
        "jnp.loadtxt('data.csv')",
        ["Call NumPy's, outside of transformed functions."],
        ["asarray", "inside"],
    ),
    "a_dtype_of_objects": ("jnp.zeros(2, jnp.object)", ["hold numbers"], ["Python's type"]),
    "a_name_of_another_module": (
        "jax.stop_gradient(jnp.ones(2))",
        ["`jax.lax.stop_gradient` has that name"],
        ["Another library"],
    ),
    "arrays_of_several_shapes_by_number": (
        "ws = [jnp.ones((2, 3)), jnp.ones((3, 4))]\njax.jit(lambda i: ws[i].sum())(0)",
        ["lax.switch(i, [...])"],
        ["one array"],
    ),
    "a_loop_that_fills_a_list": (
        """
@jax.jit
def f(h, n):
    outs = []
    for i in range(n):
        h = 2 * h
        outs.append(h)
    return jnp.stack(outs)
f(jnp.ones(2), 3)
""",
        ["static"],
        ["fori_loop("],
    ),
    "a_loop_of_unknown_length_that_fills_a_dict": (
        """
@jax.jit
def f(h):
    seen = {}
    while h.sum() < 10:
        h = 2 * h
        seen["last"] = h
    return seen["last"]
f(jnp.ones(2))
""",
        [],
        ["while_loop(lambda", "def turn"],
    ),
    "one_of_two_traced_integers": (
        "@jax.jit\ndef f(x, i, axis):\n    return jnp.take(x, i, axis=axis)\nf(jnp.ones((2, 3)), 0, 1)",
        ["`axis` is traced"],
        ["`i` is traced"],
    ),
    "arrays_and_a_number_side_by_side": (
        "a, n = jnp.ones(3), jnp.float32(2)\nfor p, q in zip(a, n):\n    pass",
        ["`n` is an array float32[]"],
        ["`zip(a, n)`"],
    ),
    "nothing_as_a_default": (
        """
def note(x):
    2 * x
def other():
    w = note(1)
def loss(x, w=None):
    return x * w
loss(jnp.ones(2))
""",
        ["`w` became None"],
        ["`note`"],
    ),
    "an_array_given_away_under_another_name": (
        """
step = jax.jit(lambda s: s + 1.0, donate_argnums=0)
state = jnp.ones(2)
old = state
state = step(state)
print(old + 1)
""",
        ["maybe under another name"],
        ["Delete it"],
    ),
    "a_nan_in_the_data": (
        "jax.config.update('jax_debug_nans', True)\ndata = np.array([1.0, np.nan])\njnp.log(data)",
        ["`data` already holds NaN", "from what was read"],
        ["where("],
    ),
    "an_infinity_that_is_written": (
        "jax.config.update('jax_debug_infs', True)\njnp.where(jnp.array([True, False]), 0.0, -jnp.inf)",
        ["If it is meant, switch `jax_debug_infs` off"],
        ["from what was read"],
    ),
    "a_loop_whose_index_is_read_later": (
        "@jax.jit\ndef f(x, n):\n    for i in range(n):\n        x = x + i\n    return x * i\nf(1, 3)",
        ["static"],
        ["fori_loop("],
    ),
    "a_loop_whose_part_is_read_later": (
        """
@jax.jit
def f(x):
    while x < 10:
        half = x
        x = x + half
    return half
f(1)
""",
        [],
        ["def turn"],
    ),
    "a_loop_that_grows": (
        """
@jax.jit
def f(x, n):
    for i in range(n):
        x = jnp.concatenate([x, x])
    return x
f(jnp.ones(1), 3)
""",
        ["static"],
        ["Let the program loop"],
    ),
    "a_key_that_a_call_leaves_out": (
        "def f(x, key=None):\n    return jax.random.normal(key, x.shape)\nf(jnp.ones(2))",
        ["Give a key in the outermost call that leaves `key` out"],
        ["jax.random.key(0)"],
    ),
    "a_none_that_a_call_hands_on": (
        """
def f(x, key=None):
    return jax.random.normal(key, x.shape)
def run(config):
    return f(jnp.ones(2), key=config["key"])
run({"key": None})
""",
        ["`key` is None here."],
        ["left out"],
    ),
    "a_leak_beside_a_list_of_its_own": (
        """
cache = {}
@jax.jit
def f(x):
    parts = []
    cache["y"] = 2 * x
    parts.append(x)
    return jnp.stack(parts)
f(1.0)
cache["y"] + 1
""",
        ['`cache["y"]` is what is left'],
        ["parts.append", "callback(parts"],
    ),
    "the_values_of_a_maximum": ("jnp.ones((2, 2)).max(dim=1)[0]", ["`jnp.ones((2, 2)).max(axis=1)`"], ["dim=1)`"]),
    "the_named_places_of_a_minimum": ("x = jnp.ones((2, 2))\nx.min(dim=1).indices", ["`x.argmin(axis=1)`"], []),
    "a_seed_for_numpys_numbers": ("jnp.random.seed(0)", ["key = jax.random.key(seed)"], ["normal"]),
}
# Program that makes `result` once it is mended -> what each of its fixes makes of it.
MENDED: dict[str, tuple[str, list[object]]] = {
    "repeated_along_two_axes": ("x = jnp.ones((2, 1))\nresult = x.tile(2, 3).shape", [[4, 3]]),
    "turned_along_two_axes": ("x = jnp.arange(4).reshape(2, 2)\nresult = x.flip(0, 1)", [[[3, 2], [1, 0]]]),
    "an_integer_index_of_a_list": (
        "items = [1.0, 2.0]\n@jax.jit\ndef f(i):\n    return items[int(i)]\nresult = f(1)",
        [2.0, 2.0],
    ),
    "an_array_beside_a_number_as_keys": (
        "i, x = np.int64(1), jnp.ones(2)\nresult = list({i: 'a', x: 'b'})",
        [[1, [1.0, 1.0]]],
    ),
    "a_key_after_the_shape": ("key = jax.random.key(0)\nresult = jax.random.normal((3,), key).shape", [[3]]),
    "an_array_without_a_key": ("x = jnp.ones(3)\nresult = jax.random.choice(x, (2,))", [[1.0, 1.0]]),
}


# The same for programs with a library.
WITH_LIBRARY: dict[str, tuple[str, str, list[str], list[str]]] = {
    "parameters_too_deep_beside_statistics": (
        "flax",
        """
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=True)(nn.Dense(3)(x))
variables = Net().init(jax.random.key(0), jnp.ones((4, 5)))
stats = variables["batch_stats"]
Net().apply({"params": variables, "batch_stats": stats}, jnp.ones((4, 5)))
""",
        ['{"params": variables["params"], "batch_stats": stats}'],
        ['}["params"]'],
    ),
    "a_key_that_is_not_handed_on": (
        "flax",
        """
from flax import linen as nn
class Row(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dropout(0.5, deterministic=False)(x)
Rows = nn.vmap(Row, variable_axes={}, split_rngs={"params": False})
Rows().apply({}, jnp.ones((4, 5)), rngs={"dropout": jax.random.key(1)})
""",
        ["`nn.vmap` and `nn.scan` need the name in `split_rngs`"],
        ["gives no key", "jax.random.key(0)"],
    ),
    "no_key_beside_no_mask": (
        "haiku",
        """
import haiku as hk
net = hk.transform(lambda mask: hk.dropout(hk.next_rng_key(), 0.5, jnp.ones(3)))
rng = None
net.apply({}, rng, None)
""",
        ["gives no key"],
        ["rng, jax.random"],
    ),
    "a_text_beside_a_model_of_arrays": (
        "equinox",
        """
import equinox as eqx
model = eqx.nn.Linear(2, 3, key=jax.random.key(0))
@jax.jit
def step(model, x, kind):
    return model(x)
step(model, jnp.ones(2), "relu")
""",
        ["kind"],
        ["is a model of equinox"],
    ),
    "keys_for_one_model": (
        "equinox",
        """
import equinox as eqx
keys = jax.random.split(jax.random.key(0), 2)
eqx.nn.Linear(2, 3, key=keys)
""",
        ["Take one of them.", "key=keys[0]"],
        ["lambda key"],
    ),
    "gradients_in_another_kind_of_dict": (
        "optax flax",
        """
import optax
from flax.core import freeze
params = {"a": {"w": jnp.ones(2)}}
opt = optax.adam(0.1)
state = opt.init(freeze(params))
opt.update(params, state)
""",
        ["a `dict` is not a `FrozenDict`"],
        ["Differentiate"],
    ),
}


def explained(source: str, file: Path) -> Explanation | None:
    return explain(failure(program(source), file))


@pytest.fixture(autouse=True)
def rules_that_may_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "rules_may_raise", True)


def _marked(names: object) -> list[object]:
    """Return the names: the first for `make test`, the others marked long."""
    return [pytest.param(name, marks=pytest.mark.long if i else ()) for i, name in enumerate(names)]  # type: ignore[arg-type, var-annotated]


@pytest.mark.parametrize("name", SILENT)
def test_what_only_looks_like_an_error_of_jax_is_not_explained(name: str, tmp_path: Path) -> None:
    assert explained(SILENT[name], tmp_path / "student.py") is None


@pytest.mark.parametrize("name", _marked(SAID))
def test_a_text_says_what_was_confirmed(name: str, tmp_path: Path) -> None:
    source, contained, absent = SAID[name]
    text = str(explained(source, tmp_path / "student.py"))
    for words in contained:
        assert words in text
    for words in absent:
        assert words not in text


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_LIBRARY)
def test_a_text_about_a_library_says_what_was_confirmed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries, source, contained, absent = WITH_LIBRARY[name]
    for library in libraries.split():
        pytest.importorskip(library)
    monkeypatch.setitem(sys.modules, "student", type(sys)("student"))  # dataclasses look for it
    text = str(explained(source, tmp_path / "student.py"))
    for words in contained:
        assert words in text
    for words in absent:
        assert words not in text


@pytest.mark.parametrize("name", _marked(MENDED))
def test_a_mended_program_computes_what_was_meant(name: str, tmp_path: Path) -> None:
    source, results = MENDED[name]
    explanation = explained(source, tmp_path / "student.py")
    assert explanation is not None
    assert len(explanation.fixes) == len(results)
    for number, (fix, expected) in enumerate(zip(explanation.fixes, results, strict=True)):
        mended = fix.apply(program(source))
        assert same(run(mended, tmp_path / f"mended_{number}.py")["result"], expected), mended
