"""Test the mutants of a small course: which are made, and that those which pass its checks are printed as diffs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from documents import ROOT
from tiny_course import edit

from jaxguide.course.books.library import Course, load_course
from jaxguide.course.exercise import AuthorError
from tools.mutants import __main__, making, operators
from tools.mutants.making import MOST, make_mutants

# For ones, twice the input is also two divided by it.
WEAKER = {
    "x = draw.floats(n)": ("exercises", "x = np.ones(n, np.float32)"),
    "x = draw.floats(3)": ("exercises", "x = np.ones(3, np.float32)"),
    "x = draw.floats(4)": ("solutions", "x = np.ones(4, np.float32)"),
}


def forever(node: ast.AST) -> Iterator[ast.AST]:
    """Never end, in Python or in a compiled loop, which no signal interrupts."""
    if isinstance(node, ast.Return):
        yield ast.parse("while True: pass").body[0]
        yield ast.parse("return jax.lax.while_loop(lambda y: (y < 9).any(), lambda y: jnp.sin(y + 1), x)").body[0]


def marked(folder: Path, mutant: str, because: str = "It is right.") -> None:
    edit(folder, "solutions/tiny.py", "import alternative,", "import alternative, equivalent,")
    edit(
        folder,
        "solutions/tiny.py",
        "# %% guess_shape",
        f'equivalent("{mutant}", because="{because}")\n# %% guess_shape',
    )


def judged(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(__main__.main, ["--course", str(folder), "--jobs", "1", *arguments])


@pytest.fixture
def arithmetic_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "OPERATORS", (operators.arithmetic, operators.other_constant))


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("transformation_left_out", "y = jax.vmap(f)(x)", "y = f(x)"),
        ("transformation_left_out", "@jax.jit\ndef f(x):\n    return x", "def f(x):\n    return x"),
        ("call_left_out", "y = jax.lax.stop_gradient(x)", "y = x"),
        ("call_left_out", "y = jnp.where(m, a, b)", "y = b"),
        ("call_left_out", "y = x.astype(int)", "y = x"),
        ("other_axis", "y = x.sum(axis=0)", "y = x.sum(axis=1)"),
        ("other_axis", "y = jnp.sum(x)", "y = jnp.sum(x, axis=0)"),
        ("other_axis", "f = jax.vmap(g, (0, None))", "f = jax.vmap(g, (None, 0))"),
        ("other_axis", "f = jax.grad(g, argnums=1)", "f = jax.grad(g, argnums=0)"),
        ("keyword_left_out", "y = x.max(axis=1, keepdims=True)", "y = x.max(axis=1)"),
        ("key_used_twice", "a, b = jax.random.split(key)", "a, b = jnp.stack([key] * 2)"),
        ("key_used_twice", "k = jax.random.fold_in(key, i)", "k = key"),
        ("numpy_for_jax", "y = jnp.sin(x)", "y = np.sin(x)"),
        ("other_result", "def f(x):\n    return x", "def f(x):\n    return jnp.nan_to_num(x)"),
        ("other_result", "def f(x):\n    return (x, y)", "def f(x):\n    return (y, x)"),
        ("other_function", "y = jnp.sum(x)", "y = jnp.mean(x)"),
        ("comparison", "y = x < 3", "y = x <= 3"),
        ("comparison", "y = x == 3", "y = x != 3"),
        ("arithmetic", "y = a + b", "y = a - b"),
        ("arithmetic", "y = a and b", "y = a or b"),
        ("other_constant", "y = x + 2", "y = x + 0"),
        ("other_constant", "f(flag=True)", "f(flag=False)"),
        ("swapped", "y = f(a, b, c)", "y = f(b, a, c)"),
        ("swapped", "y = a @ b", "y = b @ a"),
        ("operand_left_out", "y = a + b", "y = a"),
        ("operand_left_out", "y = -a", "y = a"),
        ("branch", "y = a if c else b", "y = a if True else b"),
    ],
)
def test_each_operator_makes_this_mistake(operator: str, before: str, after: str) -> None:
    assert f"{after}\n" in list(making._sources(before, getattr(operators, operator)))


def test_mutants_are_few_different_and_always_the_same(whole_course: Course) -> None:
    counts = []
    for exercise in whole_course.lesson("autodiff").exercises:
        mutants = make_mutants(exercise)
        assert [one.id for one in make_mutants(exercise)] == [one.id for one in mutants]
        assert len({one.planted.source for one in mutants}) == len({one.id for one in mutants}) == len(mutants)
        counts.append(len(mutants))
    assert max(counts) == MOST == 12


def test_no_mutant_is_an_answer_of_the_key_or_marked(tiny: Path) -> None:
    edit(tiny, "solutions/tiny.py", "    return x + x", "    return 3 * x")
    edit(tiny, "solutions/tiny.py", "    return x * x", "    return 2 / x")
    edit(tiny, "solutions/tiny.py", "@jax.jit\n", "")
    (first, *others) = make_mutants(load_course(tiny).exercise("double"))
    changes = "\n".join(one.diff for one in (first, *others))
    assert "+    return 0 * x" in changes
    assert "+    return 3 * x" not in changes
    assert "+    return 2 / x" not in changes
    marked(tiny, first.id)
    assert first.id not in [one.id for one in make_mutants(load_course(tiny).exercise("double"))]


def test_a_prediction_has_no_mutants(tiny: Path) -> None:
    assert make_mutants(load_course(tiny).exercise("guess_shape")) == []


def test_a_mark_needs_a_reason(tiny: Path) -> None:
    marked(tiny, "0123456789", because=" ")
    with pytest.raises(AuthorError, match="give the reason"):
        load_course(tiny)


@pytest.mark.long
@pytest.mark.usefixtures("arithmetic_only")
def test_strong_checks_reject_all_mutants(tiny: Path) -> None:
    done = judged(tiny)
    assert done.stdout == "double: 3 mutants, 0 passed\nguess_shape: 0 mutants, 0 passed\n3 mutants judged, 0 passed\n"
    assert done.exit_code == 0


@pytest.mark.long
@pytest.mark.usefixtures("arithmetic_only")
def test_a_mutant_that_passes_weak_checks_is_printed_as_a_diff_until_it_is_marked(tiny: Path) -> None:
    for old, (folder, new) in WEAKER.items():
        edit(tiny, f"{folder}/tiny.py", old, new)
    (survivor,) = (one for one in make_mutants(load_course(tiny).exercise("double")) if "2 / x" in one.diff)
    done = judged(tiny, "--only", "double")
    assert done.stdout.splitlines() == [
        "double: 3 mutants, 1 passed",
        "--- double",
        f"+++ {survivor.id}: {operators.arithmetic.__doc__}",
        "@@ -1,2 +1,2 @@",
        " def double(x):",
        "-    return 2 * x",
        "+    return 2 / x",
        "",
        "3 mutants judged, 1 passed",
    ]
    assert done.exit_code == 1
    marked(tiny, survivor.id)
    done = judged(tiny, "tiny")
    assert (done.exit_code, "2 mutants judged, 0 passed" in done.stdout) == (0, True)


@pytest.mark.long
def test_a_mutant_that_never_ends_is_stopped_and_the_others_are_judged(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "OPERATORS", (forever, operators.arithmetic))
    (tiny / "course.toml").write_text('[limits]\ncpu = "1s"\n')
    assert "double: 3 mutants, 0 passed" in judged(tiny).stdout


def test_an_unknown_exercise_is_a_usage_error(tiny: Path) -> None:
    done = judged(tiny, "--only", "doubel")
    assert done.exit_code == 2
    assert "Did you mean `double`?" in done.stderr


def test_the_command_of_the_documentation_exists() -> None:
    command = [sys.executable, "-m", "tools.mutants", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.startswith("Usage: python -m tools.mutants [OPTIONS] [LESSON]...")
