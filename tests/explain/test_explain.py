"""Test what `explain` says about real failures, and that each of its fixes works when applied."""

import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from explain_cases import CASES
from explain_cases.case import MARK, Case, no_code, no_edits
from failing import failure, program, run

from jaxguide import tracing
from jaxguide.explain import Explanation, Fix, explain, knowledge, rules
from jaxguide.explain.catalogue import RULES

LINES_AT_MOST = 12


def explained(program: str, file: Path) -> Explanation:
    """Run a failing program and return the explanation."""
    error = failure(program, file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge, "rules_may_raise", True)
        explanation = explain(error)
    assert explanation is not None, "".join(traceback.format_exception(error))
    return explanation


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return [[key, plain(v)] for key, v in value.items()]
    return np.asarray(value).tolist() if isinstance(value, jax.Array | np.ndarray | float) else value


def same(value: Any, expected: Any) -> bool:
    value, expected = plain(value), plain(expected)
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(map(same, value, expected))
    if isinstance(expected, float | complex):
        return bool(abs(value - expected) < 1e-4)
    return bool(value == expected)


def _first_of_each_kind() -> list[object]:
    """Return the cases: the first of each kind for `make test`, the others marked long."""
    first: dict[str, str] = {}
    for case in CASES:
        first.setdefault(case.kind, case.name)
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(case, id=case.name, marks=marks[first[case.kind] == case.name]) for case in CASES]


@pytest.mark.parametrize("case", _first_of_each_kind())
def test_the_line_and_the_variable_are_right_and_every_fix_runs_when_applied(case: Case, tmp_path: Path) -> None:
    explanation = explained(case.program, tmp_path / "student.py")
    assert (explanation.kind, explanation.variable) == (case.kind, case.variable)
    assert (explanation.line.file, explanation.line.number) == (str(tmp_path / "student.py"), case.line)
    assert len(explanation.fixes) == len(case.after_fix)
    for number, (fix, expected) in enumerate(zip(explanation.fixes, case.after_fix, strict=True)):
        assert fix.sentence
        if expected is no_edits or expected is no_code:
            assert fix.edits == ()
            assert bool(fix.code) == (expected is no_edits)
            continue
        mended = fix.apply(case.program)
        assert mended != case.program
        file = tmp_path / f"mended_{number}.py"
        names = run(mended, file)
        assert same(eval(case.result, names), expected), mended


def test_every_family_is_listed_and_tried_in_the_order_of_the_list() -> None:
    files = {path.stem for path in Path(rules.__path__[0]).glob("*.py")} - {"__init__"}
    assert sorted(rules.FAMILIES) == sorted(files)
    loaded = [name.rpartition(".")[2] for name in sys.modules if name.startswith(f"{rules.__name__}.")]
    assert loaded == list(rules.FAMILIES)


def test_there_are_many_failures_of_every_family() -> None:
    assert len(CASES) >= 200
    assert len({case.kind for case in CASES}) >= 90
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES[::17], ids=lambda case: case.name)
def test_the_card_is_short_and_in_plain_html(case: Case, tmp_path: Path) -> None:
    explanation = explained(case.program, tmp_path / "student.py")
    text = str(explanation)
    first = explanation.fixes[0].code.count("\n")
    assert len(text.split("\n")) <= max(LINES_AT_MOST, 7 + first + 1)
    assert explanation.why in text
    assert explanation.fixes[0].sentence in text
    bundle = explanation._repr_mimebundle_()
    assert bundle["text/plain"] == text
    assert "<table" not in bundle["text/html"]
    assert "class=" not in bundle["text/html"]
    assert explanation.link.startswith("https://")
    words = re.sub("`[^`]*`", "", explanation.title + explanation.what + explanation.why)  # without the student's code
    assert "{" not in words


TRACED_IF = """
@jax.jit
def f(x):
    if x > 0:  # <--
        return x
    return -x
f(1.0)
"""
BACK_THROUGH_WHILE = """
def f(x):
    return lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)  # <--
jax.grad(f)(1.0)
"""
ADDED_IN_PLACE = """
def f(x):
    x[0] += 1.0  # <--
    return x
jax.vmap(f)(jnp.ones((2, 3)))
"""


@pytest.mark.parametrize("mode", ["off", "tracebackhide", "remove_frames", "quiet_remove_frames"])
@pytest.mark.parametrize("source", [TRACED_IF, BACK_THROUGH_WHILE, ADDED_IN_PLACE])
def test_every_way_of_filtering_tracebacks_gives_the_same_explanation(mode: str, source: str, tmp_path: Path) -> None:
    jax.config.update("jax_traceback_filtering", mode)
    explanation = explained(program(source), tmp_path / "student.py")
    line = next(i for i, text in enumerate(program(source).split("\n"), 1) if text.endswith(MARK))
    assert explanation.line.number == line
    run(explanation.fixes[0].apply(program(source)), tmp_path / "mended.py")


UNKNOWN = {
    "a_plain_mistake": "1 / 0",
    "a_missing_name": "jnp.ones(3) + y",
    "an_array_read_as_a_ref": "jax.ref.get(jnp.ones(3), 0)",
    "a_missing_key": "{}['a']",
    "a_wrong_call": "jnp.sin(1.0, 2.0, 3.0, 4.0)",
    "raised_by_the_student_with_the_words_of_jax": (
        "raise TypeError('JAX arrays are immutable and do not support in-place item assignment')"
    ),
    "items_of_a_tuple": "x = (1, 2)\nx[0] = 3",
    "items_of_a_string": "x = 'ab'\nx[0] = 'c'",
    "a_numpy_shape": "np.ones(3) + np.ones(4)",
    "a_numpy_axis": "np.ones(3).sum(axis=1)",
    "a_numpy_dtype": "np.zeros(2, 3)",
    "ragged_rows_for_numpy": "np.array([[1, 2], [3]])",
    "several_truths_of_numpy": "if np.arange(3) > 1: pass",
    "a_numpy_format": "x = np.ones(3)\nf'{x:.2f}'",
    "an_index_of_numpy": "np.ones(3)[1.0]",
    "text_and_number": "'a' + 1",
    "a_list_without_a_method": "[].push(1)",
    "a_function_with_too_few_arguments": "def f(x): pass\nf()",
    "a_module_of_numpy": "np.linalg.inv(np.zeros((2, 2)))",
    "a_name_that_jax_never_had": "jnp.frobnicate(1.0)",
    "a_name_that_another_module_never_had": "import math\nmath.sun(1.0)",
    "a_removed_name_of_the_students_own_module": (
        "import types\nmine = types.ModuleType('mine')\nmine.tree_map(jnp.sin, 1.0)"
    ),
    "an_import_of_nothing": "from jax import frobnicate",
    "a_module_that_jax_never_had": "import jax.frobnicate",
    "an_option_that_jax_never_had": "jax.config.update('jax_frobnicate', True)",
    "an_option_that_is_read": "jax.config.jax_array",
    "an_argument_that_jax_never_had": "jnp.sum(jnp.ones(3), frobnicate=1)",
    "an_argument_of_the_students_function": "def f(x): return x\nf(jnp.ones(3), dim=1)",
    "an_argument_of_the_students_function_under_jit": "jax.jit(lambda x: x)(jnp.ones(3), dim=1)",
    "an_argument_of_numpy": "np.sum(np.ones(3), dim=0)",
    "arguments_that_are_handed_on": "given = {'dim': 0}\njnp.sum(jnp.ones(3), **given)",
    "a_method_that_no_array_has": "jnp.ones(3).frobnicate()",
    "a_method_of_numpys_array": "np.ones(3).unsqueeze(0)",
    "an_attribute_of_a_list": "[1, 2].shape",
    "waiting_for_none": "def f(): pass\nf().block_until_ready()",
    "a_read_only_array_of_numpy": "a = np.ones(3)\na.flags.writeable = False\na[0] = 1.0",
    "a_read_only_array_of_bytes": "a = np.frombuffer(b'abcd', np.uint8)\na[0] = 1",
    "a_list_of_arrays_of_several_shapes": "[jnp.ones(2), jnp.ones(3)].shape",
    "a_float_of_a_numpy_array": "float(np.ones(3))",
    "a_number_called": "n = 3\nn()",
    "a_shape_entry_called": "jnp.ones(3).shape[0]()",
    "an_array_called": "x = jnp.ones(3)\nx(0)",
    "the_size_of_the_students_object": "class Box: size = 3\nBox().size(0)",
    "a_hash_of_a_list": "hash([1])",
    "an_integer_for_numpy": "np.uint8(300)",
    "a_mask_for_numpy": "np.ones(3)[np.ones(2, bool)]",
    "a_sample_of_numpy": "np.random.default_rng(0).choice(3, 4, replace=False)",
    "forward_mode_through_a_rule_that_calls_another_function_with_rules": (
        "f, g = jax.custom_vjp(lambda x: x), jax.custom_vjp(lambda x: x)\n"
        "f.defvjp(lambda x: (g(x), x), lambda x, t: (t,))\n"
        "g.defvjp(lambda x: (x, x), lambda x, t: (t,))\n"
        "jax.hessian(f)(1.0)"
    ),
    "a_failure_of_memory_in_python": "raise MemoryError",
    "a_derivative_with_respect_to_a_key": "jax.grad(lambda k: jax.random.normal(k))(jax.random.key(0))",
    "a_key_wrapped_again": "jax.random.wrap_key_data(jax.random.key(0))",
    "an_empty_assertion": "assert jnp.ones(()) == 0",
    "a_check_of_the_students_own": (
        "from jax.experimental import checkify\n"
        "def f(x):\n    checkify.check(x > 0, 'small')\n    return x\n"
        "checkify.checkify(f)(-1.0)[0].throw()"
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_error_that_is_not_known_is_left_alone(name: str, tmp_path: Path) -> None:
    assert explain(failure(program(UNKNOWN[name]), tmp_path / "student.py")) is None


def test_errors_of_this_package_explain_themselves(tmp_path: Path) -> None:
    error = failure(program(TRACED_IF), tmp_path / "student.py")
    error.__class__ = type("KeyReuseError", (type(error),), {"__module__": "jaxguide.keys"})
    assert explain(error) is None


def test_an_error_that_was_never_raised_is_left_alone() -> None:
    assert explain(TypeError("JAX arrays are immutable and do not support in-place item assignment.")) is None


def test_a_syntax_error_is_left_alone(tmp_path: Path) -> None:
    assert explain(failure("if x\n", tmp_path / "student.py")) is None


def test_the_cause_of_an_unknown_error_is_explained(tmp_path: Path) -> None:
    source = """
    x = jnp.zeros(3)
    try:
        x[0] = 1.0  # <--
    except TypeError as error:
        raise RuntimeError("training failed") from error
    """
    assert explained(program(source), tmp_path / "student.py").kind == "item_assignment"


def test_an_error_that_jax_raises_as_the_same_object_again_is_that_of_the_last_cell(tmp_path: Path) -> None:
    jax.config.update("jax_traceback_filtering", "tracebackhide")  # as in notebooks
    cell = "from jax.experimental import checkify\njax.jit(lambda x: checkify.check(x > 0, 'small'))({})"
    for number in (1.0, 2.0):
        file = tmp_path / f"cell_{number}.py"
        assert explained(program(cell.format(number)), file).line.file == str(file)


def test_the_exception_and_its_traceback_are_not_changed(tmp_path: Path) -> None:
    error = failure(program(TRACED_IF), tmp_path / "student.py")
    before = "".join(traceback.format_exception(error))
    assert explain(error) is not None
    assert "".join(traceback.format_exception(error)) == before


def test_a_rule_that_fails_has_nothing_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = failure(program(TRACED_IF), tmp_path / "student.py")

    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("jaxguide.explain.knowledge.RULES", [(phrase, broken) for phrase, _ in RULES])
    assert explain(error) is None


def test_an_object_that_cannot_be_looked_at_does_no_harm(tmp_path: Path) -> None:
    source = """
    class Odd:
        def __getattr__(self, name):
            raise RuntimeError(name)
    odd = Odd()
    odd + jnp.ones(3)
    """
    assert explain(failure(program(source), tmp_path / "student.py")) is None


def test_without_an_argument_the_error_being_handled_is_explained() -> None:
    x = jnp.zeros(3)
    try:
        x[0] = 1.0  # type: ignore[index]
    except TypeError:
        explanation = explain()
    assert explanation is not None
    assert explanation.variable == "x"


def test_without_an_argument_the_last_error_shown_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    error = failure(program(TRACED_IF), tmp_path / "student.py")
    monkeypatch.setattr(sys, "last_exc", error, raising=False)
    monkeypatch.setattr(sys, "last_value", error, raising=False)
    explanation = explain()
    assert explanation is not None
    assert explanation.kind == "if_on_tracer"


def test_without_an_argument_an_unknown_error_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    error = KeyError("a")
    try:
        raise error
    except KeyError:
        assert explain() is None
    assert capsys.readouterr().out.startswith("No explanation for this KeyError: it is not a JAX error")
    assert explain(error) is None
    assert capsys.readouterr().out == ""


def test_without_any_error_yet_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr(sys, name, raising=False)
    with pytest.raises(ValueError, match="there was no exception yet"):
        explain()


@pytest.mark.parametrize("value", [3, "TypeError", TypeError])
def test_what_is_no_exception_is_refused_in_one_sentence(value: Any) -> None:
    with pytest.raises(TypeError, match=r"`explain` needs an exception and got .*: write"):
        explain(value)


def test_a_fix_without_edits_cannot_be_applied() -> None:
    with pytest.raises(ValueError, match="needs a decision of yours"):
        Fix("Decide.", "x").apply("x = 1")


def test_the_traced_function_is_named_where_a_helper_fails(tmp_path: Path) -> None:
    source = """
    def size(n):
        return jnp.zeros(n)  # <--
    @jax.jit
    def model(steps):
        return size(steps).sum()
    model(3)
    """
    explanation = explained(program(source), tmp_path / "student.py")
    assert "inside `jax.jit` of `model`" in explanation.what
    assert explanation.fixes[0].code == '@jax.jit(static_argnames="steps")'
    run(explanation.fixes[0].apply(program(source)), tmp_path / "mended.py")


def test_a_student_who_names_modules_otherwise_reads_the_own_names(tmp_path: Path) -> None:
    source = textwrap.dedent(
        """
        from jax import jit
        import jax.numpy as xnp

        @jit
        def f(x):
            if x > 0:
                y = x
            else:
                y = -x
            return y
        f(1.0)
        """
    )
    assert explained(source, tmp_path / "student.py").fixes[0].code == "y = xnp.where(x > 0, x, -x)"


def test_a_student_who_names_numpy_otherwise_reads_the_own_name(tmp_path: Path) -> None:
    loop = "x = jnp.zeros(3)\nfor i in range(3):\n    x[i] = i\n"
    for head, expected in {
        "import jax.numpy as jnp\nimport numpy as onp\n": "x = onp.array(x)",
        "import jax.numpy as jnp\nimport numpy\n": "x = numpy.array(x)",
        "import jax.numpy as jnp\n": "import numpy as np\nx = np.array(x)",
    }.items():
        assert explained(head + loop, tmp_path / "student.py").fixes[1].code == expected


COUNTED = {
    "jax.vmap(lambda x, y: x * y, in_axes=(0,))(jnp.ones(3), 2.0)": (
        "`in_axes=(0,)` has 1 entry, and the call has 2 positional arguments."
    ),
    "jnp.ones(3)[0, 1]": "It has 1 axis and 2 indices were given: one index takes away one axis.",
    "jnp.ones(1).reshape(2, 3)": "`jnp.ones(1)` has shape (1,): 1 entry.",
    "jnp.ones(3).sum(axis=1)": "Axes are counted from 0, so the number of the last one is 0; -1 stands for it too.",
    "jax.grad(lambda x: x ** 2, argnums=1)(3.0)": "with 1 positional argument, and the number of the last one is 0.",
    "jax.vmap(lambda x: x)(3.0)": "`3.0` has 0 axes.",
}


@pytest.mark.parametrize("source", COUNTED)
def test_one_thing_is_not_said_as_several(source: str, tmp_path: Path) -> None:
    assert COUNTED[source] in str(explained(program(source), tmp_path / "student.py"))


def test_a_nan_inside_a_gradient_leads_to_the_search_for_it(tmp_path: Path) -> None:
    source = """
    jax.config.update("jax_debug_nans", True)
    def loss(w):
        return jnp.sqrt((w ** 2).sum())
    jax.grad(loss)(jnp.zeros(3))  # <--
    """
    jax.clear_caches()
    explanation = explained(program(source), tmp_path / "student.py")
    assert (explanation.kind, explanation.line.number) == ("not_a_number", 7)
    assert "It happened in the derivative of line 6: `return jnp.sqrt((w ** 2).sum())`." in explanation.what
    # JAX fails in another place if the operation has run before.
    after = source.replace("jax.grad(loss)(jnp.zeros(3))", "jax.grad(loss)(jnp.ones(3)); jax.grad(loss)(jnp.zeros(3))")
    assert explained(program(after), tmp_path / "again.py").what == explanation.what
    assert "`jnp.sqrt` has no finite slope at 0" in explanation.fixes[0].sentence
    assert explanation.fixes[1].code == "find_nan(f, *args)"


@pytest.mark.long
def test_a_nan_of_a_gradient_without_a_root_is_not_blamed_on_one(tmp_path: Path) -> None:
    source = """
    jax.config.update("jax_debug_nans", True)
    def loss(w):
        length = jnp.sqrt(w)
        return (w * jnp.log(w)).sum() + 0 * length.sum()
    jax.grad(loss)(jnp.zeros(3))  # <--
    """
    explanation = explained(program(source), tmp_path / "student.py")
    assert explanation.kind == "not_a_number"
    assert not any("slope" in fix.sentence for fix in explanation.fixes)


def test_an_import_is_added_where_only_a_longer_one_is_there(tmp_path: Path) -> None:
    source = "import jax.numpy as jnp\nfrom jax import random\n\nx = random.normal(0)\n"
    fixed = explained(source, tmp_path / "student.py").fixes[0].apply(source)
    assert run(fixed, tmp_path / "mended.py")["x"].shape == ()
    source = "import jax.numpy as jnp\nfrom jax.random import normal\n\nx = normal(0)\n"
    fixed = explained(source, tmp_path / "student.py").fixes[0].apply(source)
    assert run(fixed, tmp_path / "mended.py")["x"].shape == ()


def test_an_import_that_a_fix_needs_is_part_of_it(tmp_path: Path) -> None:
    source = (
        '"""Mine."""\nfrom jax import jit\nimport numpy as np\n\n@jit\ndef f(x):\n    return np.exp(x)\n\ny = f(0.0)\n'
    )
    fix = explained(source, tmp_path / "student.py").fixes[0]
    assert fix.apply(source).startswith('"""Mine."""\nimport jax.numpy as jnp\nfrom jax import jit\n')
    assert run(fix.apply(source), tmp_path / "mended.py")["y"] == 1.0


def test_letters_of_any_script_before_an_expression_do_not_shift_the_fix(tmp_path: Path) -> None:
    source = 'import jax\nimport jax.numpy as jnp\n\nx = jnp.zeros(3)\ns = "数组 ü"; x[0] = 1.0\n'
    assert '"数组 ü"; x = x.at[0].set(1.0)' in explained(source, tmp_path / "student.py").fixes[0].apply(source)


def test_in_a_plain_python_it_prints_and_the_traceback_is_shown_as_ever(tmp_path: Path) -> None:
    script = tmp_path / "student.py"
    script.write_text(
        program(
            """
            from jaxguide.explain import explain
            x = jnp.zeros(3)
            try:
                x[0] += 1.0
            except TypeError as error:
                print(explain(error))
                raise
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Your code, student.py, line 7: `x[0] += 1.0`" in done.stdout
    assert "x = x.at[0].add(1.0)" in done.stdout
    assert "Traceback (most recent call last)" in done.stderr
    assert "TypeError: JAX arrays are immutable" in done.stderr
    assert "→" not in done.stderr


def test_random_numbers_of_numpy_are_explained_at_the_students_line(tmp_path: Path) -> None:
    source = """
    @jax.jit
    def f(w):
        return w + np.random.normal(w)  # <--
    f(jnp.zeros(3))
    """
    explanation = explained(program(source), tmp_path / "student.py")
    assert (explanation.line.number, explanation.variable) == (6, "w")


def test_a_text_made_with_percent_is_explained(tmp_path: Path) -> None:
    source = """
    @jax.jit
    def f(x):
        print('loss: %.3f' % x)
        return x
    f(1.0)
    """
    explanation = explained(program(source), tmp_path / "student.py")
    assert (explanation.kind, explanation.variable) == ("format_of_tracer", "x")
    assert explanation.fixes[0].code == 'jax.debug.print("{}", x)'


IN_THE_SHELL = {
    "f = jax.jit(lambda x: x if x > 0 else -x); f(1.0)": ("truth_of_tracer", "x"),
    "f = jax.jit(lambda n: jnp.zeros(n)); f(3)": ("shape_of_tracer", "n"),
    "f = jax.jit(lambda x: float(x)); f(3.0)": ("number_of_tracer", "x"),
    "f = jax.jit(lambda x: np.sin(x)); f(3.0)": ("number_of_tracer", "x"),
    "f = jax.jit(lambda n: [1, 2][n]); f(1)": ("number_of_tracer", "n"),
    "f = jax.jit(lambda x: x[x > 0]); f(jnp.ones(2))": ("boolean_mask", "x"),
    "f = jax.jit(lambda x, n: x[:n]); f(jnp.ones(2), 1)": ("dynamic_slice", "n"),
    "a = []; f = jax.jit(lambda x: a.append(x)); f(1.0); a[0] + 1": ("leaked_tracer", None),
    "x = jnp.ones(2); x[0] = 2.0": ("item_assignment", "x"),
}


@pytest.mark.parametrize("source", IN_THE_SHELL)
def test_where_the_source_is_not_known_the_idea_is_said_all_the_same(source: str) -> None:
    try:
        exec(compile(source, "<stdin>", "exec"), {"jax": jax, "jnp": jnp, "np": np})
    except Exception as error:
        explanation = explain(error)
    assert explanation is not None
    assert (explanation.kind, explanation.variable) == IN_THE_SHELL[source]
    assert "Your code, <stdin>, line 1" in str(explanation)
    assert explanation.fixes[0].code


def test_switching_the_cards_on_loads_neither_jax_nor_the_rules() -> None:
    code = (
        "import sys, jaxguide\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "from traitlets.config import Config\n"
        "shell = InteractiveShell(config=Config(HistoryManager={'enabled': False}))\n"
        "heard = lambda: [len(shell.events.callbacks[event]) for event in ('pre_run_cell', 'post_run_cell')]\n"
        "before = heard()\n"
        "jaxguide.load_ipython_extension(shell)\n"
        "print(*heard(), 'jax' in sys.modules, 'jaxguide.explain.scene' in sys.modules)\n"
        "jaxguide.unload_ipython_extension(shell)\n"
        "print(heard() == before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["1 1 False False", "True"]


def test_a_function_that_a_helper_traces_is_not_said_to_be_inside_anything() -> None:
    def positive(x: jax.Array) -> jax.Array:
        twice = 2 * x
        return twice if twice > 0 else -twice

    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        tracing.program(positive, jnp.float32(1.0))
    said = str(explain(caught.value))
    assert "`twice` is a traced float32[] here.\n" in said
    assert "jax.jit" not in said.partition("→")[0]
