"""Test that explanations of pytrees, functions, rules and sizes stay silent about failures that look alike."""

import linecache
from pathlib import Path

import pytest
from failing import failure, program

from jaxguide.explain import Explanation, explain, knowledge

# No explanation: the failure has another cause, or the cause is not certain.
SILENT = {
    "values_that_are_not_keys": "a, b, c = (1, 2)",
    "too_many_values_of_a_function": "def split(key):\n    return 1, 2, 3\na, b = split(0)",
    "json_of_a_set": "import json\njson.dumps({1, 2})",
    "the_length_of_a_number": "len(3)",
    "the_length_of_a_numpy_number": "len(np.array(3))",
    "a_numpy_einsum": "np.einsum('ij,j->i', np.ones((4, 3)), np.ones((4, 3)))",
    "a_numpy_inverse": "np.linalg.inv(np.ones((3, 2)))",
    "a_numpy_squeeze": "np.squeeze(np.ones((3, 4)), axis=0)",
    "einsum_with_unknown_operands": """
def make():
    return jnp.ones((2, 3))
jnp.einsum("ij,j->i", make(), make())
""",
    "a_convolution_of_unknown_shapes": """
def make(channels):
    return jnp.ones((1, channels, 8, 8))
lax.conv(make(3), make(4), (1, 1), "SAME")
""",
    "a_list_in_a_set": "{[1]}",
    "a_list_as_key": "{[1]: 2}",
    "dicts_without_arrays": "{'a': 1} - {'a': 2}",
    "lists_without_arrays": "[1, 2] - [3]",
    "a_number_times_none": "0.1 * None",
    "comparing_numpy_trees": "assert {'a': np.ones(3)} == {'a': np.ones(3)}",
    "an_own_call_in_a_scan_with_too_few": """
def step(c, x):
    return add(c), None
def add(c, x):
    return c + x
lax.scan(step, 0.0, jnp.ones(3))
""",
    "an_own_function_called_scan": """
def scan(f, init, xs):
    return f(init)
scan(lambda c, x: c, 0.0, None)
""",
    "an_own_call_of_a_rule": """
@jax.custom_vjp
def f(x):
    return x
def fwd(x):
    return x, None
def bwd(saved, g):
    return (g,)
f.defvjp(fwd, bwd)
bwd(None)
""",
    "an_assertion_beside_a_linear_rule": """
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
@f.defjvp
def rule(primals, tangents):
    x, = primals
    t, = tangents
    return jnp.sin(x), jnp.cos(x) * t
assert not jax.grad(f)(1.0)
""",
    "an_assertion_beside_a_rule_that_is_not_linear": """
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
@f.defjvp
def rule(primals, tangents):
    x, = primals
    t, = tangents
    return jnp.sin(x), t * t
assert False
""",
    "integers_among_two_unknown_arguments": """
def make():
    return jnp.array([0, 1])
jax.grad(lambda i, x: x[i].sum(), argnums=(0, 1))(make(), jnp.ones(3))
""",
    "a_list_by_key": "[{'a': 1}]['a']",
    "a_float_for_an_own_range": "list(range(3.0))",
    "a_plain_unflatten": "jax.tree.unflatten(jax.tree.structure([1, 2]), [1])",
}
MUTABLE = """
class Model:
    def __init__(self):
        self.scale = 2.0
        self.steps = 0
    @jax.jit
    def apply(self, x):
        {body}
        return self.scale * x
model = Model()
model.apply(1.0)
"""


def explained(source: str, file: Path) -> Explanation | None:
    return explain(failure(program(source), file))


@pytest.fixture(autouse=True)
def rules_that_may_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "rules_may_raise", True)


@pytest.mark.parametrize("name", SILENT)
def test_failures_that_look_alike_are_not_explained(name: str, tmp_path: Path) -> None:
    assert explained(SILENT[name], tmp_path / "student.py") is None


def _kind(source: str, file: Path) -> str | None:
    explanation = explained(source, file)
    return explanation.kind if explanation is not None else None


@pytest.mark.long
def test_a_traced_value_is_not_called_leaked_while_its_function_runs(tmp_path: Path) -> None:
    sources = {
        "in_the_function": """
seen = []
@jax.jit
def f(x):
    seen.append(x)
    return seen[0] + jnp.ones(4)
f(jnp.ones(3))
""",
        "in_a_helper": "def add(x):\n    return x + jnp.ones(4)\njax.vmap(lambda x: add(x))(jnp.ones((2, 3)))",
        "explained_inside": """
kinds = []
def f(x):
    try:
        return x + jnp.ones(4)
    except TypeError as error:
        from jaxguide.explain import explain
        kinds.append(explain(error).kind)
        raise
jax.grad(lambda x: f(x).sum())(jnp.ones(3))
""",
    }
    for name, source in sources.items():
        assert _kind(source, tmp_path / f"{name}.py") == "shapes_do_not_broadcast", name


@pytest.mark.long
def test_a_chain_of_methods_is_said_and_not_rewritten(tmp_path: Path) -> None:
    explanation = explained("x = jnp.ones((2, 3))\nx.detach().pin_memory()", tmp_path / "student.py")
    assert explanation is not None
    assert "lax.stop_gradient(x)" in explanation.fixes[0].sentence
    assert not explanation.fixes[0].edits


@pytest.mark.long
def test_a_parameter_is_compared_with_none_only_if_that_says_whether_it_was_given(tmp_path: Path) -> None:
    sources = {
        "a_flag": "@jax.jit\ndef f(x, train=None):\n    return x if train else -x\nf(1.0, True)",
        "another_default": "def f(x, mask=0):\n    return x if mask else -x\nf(1.0, jnp.ones(2))",
        "made_in_the_function": "def f(x, mask=None):\n    mask = x > 0\n    return x if mask else -x\nf(jnp.ones(2))",
        "no_default": "def f(x, mask):\n    return x if mask else -x\nf(1.0, jnp.ones(2))",
    }
    for name, source in sources.items():
        assert _kind(source, tmp_path / f"{name}.py") in ("if_on_tracer", "several_truth_values"), name


@pytest.mark.long
def test_shapes_that_a_library_made_are_not_said_to_be_those_of_its_arguments(tmp_path: Path) -> None:
    pytest.importorskip("optax")
    source = "import optax\nlogits, labels = jnp.ones((4, 3)), jnp.ones(4)\noptax.softmax_cross_entropy(logits, labels)"
    explanation = explained(source, tmp_path / "student.py")
    assert explanation is not None
    assert explanation.kind == "shapes_in_library"
    assert "`logits` (4, 3), `labels` (4,)" in explanation.what
    assert not any(fix.edits for fix in explanation.fixes)


@pytest.mark.parametrize("body", ["pass", "self.steps = 1"])
def test_an_object_that_can_change_is_never_made_static(body: str, tmp_path: Path) -> None:
    explanation = explained(MUTABLE.format(body=body), tmp_path / "student.py")
    assert explanation is not None
    assert not any("static_arg" in edit.text for fix in explanation.fixes for edit in fix.edits)
    assert any("frozen dataclass" in fix.sentence for fix in explanation.fixes)


def test_a_frozen_dataclass_without_arrays_may_be_static(tmp_path: Path) -> None:
    source = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Options:
    name: str
@jax.jit
def f(options, x):
    return x if options.name == "a" else -x
options = Options("a")
f(options, 1.0)
"""
    explanation = explained(source, tmp_path / "student.py")
    assert explanation is not None
    assert any("static_arg" in edit.text for fix in explanation.fixes for edit in fix.edits)


def test_a_fix_imports_jax_where_only_its_numpy_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "student.py"
    file.write_text('import jax.numpy as jnp\na, b = {"w": jnp.ones(3)}, {"w": jnp.ones(3)}\nsame = a == b\n')
    linecache.checkcache(str(file))
    with pytest.raises(ValueError, match="truth value") as raised:
        exec(compile(file.read_text(), str(file), "exec"), {})
    explanation = explain(raised.value)
    assert explanation is not None
    names: dict[str, object] = {}
    exec(explanation.fixes[0].apply(file.read_text()), names)
    assert names["same"]


# Program -> words that its explanation contains, and words that it must not contain.
SAID: dict[str, tuple[str, list[str], list[str]]] = {
    "a_slice_that_a_softmax_takes": (
        """
@jax.jit
def attend(query, cache, pos):
    keys = cache[:pos]
    return jax.nn.softmax(keys @ query) @ keys
attend(jnp.ones(4), jnp.ones((6, 4)), 3)
""",
        ["Keep all of `cache`, and use the mask `jnp.arange(cache.shape[0]) < pos`", "-inf in place of 0"],
        [],
    ),
    "a_window_that_is_longer_than_the_array": (
        "x = jnp.ones(4)\nlax.map(lambda i: x[3 * i:3 * (i + 2)].sum(), jnp.arange(2))",
        ["A slice needs known bounds"],
        ["a window"],
    ),
    "a_mask_whose_entries_are_counted": (
        """
@jax.jit
def f(x):
    far = x > 0
    return jnp.median(x[far])
f(jnp.ones(4))
""",
        ["Keep all of `x`, and use the mask `far`"],
        ["mask = far", "compress"],
    ),
    "an_update_by_a_mask_that_mixes_entries": (
        """
@jax.jit
def f(x):
    far = x > 0
    return x.at[far].set(x[far] - jnp.mean(x[far]))
f(jnp.ones(4))
""",
        ["without the mask, and choose: `jnp.where(mask, new, x)`"],
        ["jnp.where(far, x -", "Keep all"],
    ),
    "a_masked_part_that_is_written_back_later": (
        """
@jax.jit
def f(x):
    far = x > 0
    part = x[far] * 2
    return x.at[far].set(part)
f(jnp.ones(4))
""",
        ["without the mask, and choose: `jnp.where(mask, new, x)`"],
        ["Keep all"],
    ),
    "a_check_of_a_finite_input": (
        """
@jax.jit
def f(x):
    if not jnp.isfinite(x).all():
        raise ValueError("not finite")
    return x
f(jnp.ones(4))
""",
        [
            "from jax.experimental import checkify\n",
            "checkify.check(jnp.isfinite(x).all(), 'message')",
            "error, result = jax.jit(checkify.checkify(outermost))(...)\n",
            "error.throw()",
        ],
        ["logical_not"],
    ),
    "a_check_in_a_loop": (
        """
def body(i, x):
    if x < 0:
        raise ValueError("negative")
    return x
jax.jit(lambda x: lax.fori_loop(0, 3, body, x))(1.0)
""",
        ["checkify.check(~(x < 0), 'message')", "checkify.checkify(outermost))(...)"],
        ["checkify.checkify(body)"],
    ),
    "a_scan_over_unknown_numbers": (
        "lax.scan(lambda c, i: (c + i, c), 0, sorted([3, 1, 2]))",
        ["if all are numbers, make one array of them"],
        [],
    ),
    "a_logarithm_of_minus_a_square": (
        """
jax.config.update("jax_debug_nans", True)
jax.jit(lambda x: jnp.log(-jnp.square(x)))(jnp.ones(2))
""",
        ["Look at the sign: `-jnp.square(x)` is never > 0."],
        ["jnp.where("],
    ),
    "a_logarithm_of_negative_numbers": (
        """
jax.config.update("jax_debug_nans", True)
jnp.log(x := jnp.array([-1.0, -2.0]))
""",
        ["input may lie outside the domain, and the result is 0 then"],
        ["never"],
    ),
    "a_division_of_infinities": (
        """
jax.config.update("jax_debug_nans", True)
x = jnp.array([jnp.inf])
x / x
""",
        ["find_nan"],
        ["divisor", "where("],
    ),
    "a_division_by_a_small_number": (
        """
jax.config.update("jax_debug_infs", True)
x = jnp.array([1e30])
x / 1e-30
""",
        ["find_nan"],
        ["divisor", "where("],
    ),
    "a_rule_with_the_tangent_in_two_factors": (
        """
@jax.custom_jvp
def f(x):
    return jnp.sin(x)
@f.defjvp
def rule(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    slope = 0.5 * x_dot
    return jnp.sin(x), slope * x_dot
jax.grad(f)(1.0)
""",
        ["`slope * x_dot` is not linear in the tangent."],
        [],
    ),
    "a_rule_that_multiplies_two_tangents": (
        """
@jax.custom_jvp
def f(x, y):
    return x * y
@f.defjvp
def rule(primals, tangents):
    x, y = primals
    s, t = tangents
    return x * y, s * t
jax.grad(f, (0, 1))(1.0, 2.0)
""",
        ["`s * t` is not linear in the tangent."],
        [],
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if number else ()) for number, name in enumerate(SAID)]
)
def test_a_remedy_says_what_it_makes_of_the_values(name: str, tmp_path: Path) -> None:
    source, contained, absent = SAID[name]
    text = str(explained(source, tmp_path / f"{name}.py"))
    for words in contained:
        assert words in text
    for words in absent:
        assert words not in text


@pytest.mark.long
def test_code_that_is_only_shown_names_the_imports_that_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "student.py"
    for head, shown in {"": "import jax\n      jax.tree.all(", "import jax\n": "leaf.\n      jax.tree.all("}.items():
        file.write_text(f"{head}import jax.numpy as jnp\na, b = {{'w': jnp.ones(2)}}, {{'w': jnp.ones(2)}}\na == b\n")
        linecache.checkcache(str(file))
        with pytest.raises(ValueError, match="truth value") as raised:
            exec(compile(file.read_text(), str(file), "exec"), {})
        assert shown in str(explain(raised.value))
