"""Test the operators that make mutants, each on a small answer, and that mutants run and differ from right answers."""

import ast

import pytest

from jaxguide.proving.mutants.making import OPERATORS

# The operator, an answer's body or source, and what one of its mutants contains.
MADE = [
    ("strictness", "return x < 0", "x <= 0"),
    ("direction", "return x < 0", "x > 0"),
    ("inequality_for_equality", "return x == 0", "x >= 0"),
    ("sign_bit_for_comparison", "return x < 0", "return jnp.signbit(x)"),
    ("negation_left_out", "return ~x", "return x"),
    ("zero_for_constant", "return x + 3", "x + 0"),
    ("one_for_constant", "return x + 3", "x + 1"),
    ("minus_one_for_constant", "return x + 3", "x + -1"),
    ("doubled_constant", "return x + 3", "x + 6"),
    ("off_by_one", "return x + 3", "x + 4"),
    ("epsilon_added", "return x / x.std()", "x / (x.std() + 1e-06)"),
    ("epsilon_added", "return jnp.sqrt(x)", "jnp.sqrt(x + 1e-06)"),
    ("epsilon_taken_away", "return x / (y + 1e-6)", "return x / y"),
    ("true_for_false", "return f(x, ordered=True)", "ordered=False"),
    ("other_string", "return jnp.convolve(x, y, mode='valid')", "mode='same'"),
    ("other_operator", "return x + y", "x - y"),
    ("operands_swapped", "return x - y", "y - x"),
    ("one_operand", "return x * y", "return y"),
    ("statement_left_out", "x += 1\n    return x", "pass"),
    ("branch_always_taken", "return x if y else 0", "x if True else 0"),
    ("loop_runs_once_less", "return [f(i) for i in range(x)]", "range(x - 1)"),
    ("loop_runs_once_less", "return jax.lax.fori_loop(0, x, f, y)", "fori_loop(0, x - 1, f, y)"),
    ("tuple_parts_swapped", "return x, y", "return (y, x)"),
    ("tuple_part_twice", "return x, y", "return (x, x)"),
    ("list_for_tuple", "return x, y", "return [x, y]"),
    ("catches_all_errors", "try:\n        f(x)\n    except TypeError:\n        return y", "except Exception"),
    ("catches_one_error", "try:\n        f(x)\n    except Exception:\n        return y", "except TypeError"),
    ("errors_caught", "return x", "except Exception:\n        return args[0]"),
    ("other_axis", "return x.mean(axis=1)", "axis=0"),
    ("other_axis", "return jnp.mean(x, 1)", "jnp.mean(x, -1)"),
    ("axis_left_out", "return x.mean(axis=1)", "x.mean()"),
    ("axis_added", "return x.mean()", "x.mean(axis=0)"),
    ("keepdims_changed", "return x.mean(axis=1, keepdims=True)", "x.mean(axis=1)"),
    ("transposed", "return x.T", "return x"),
    ("other_argnums", "return jax.grad(f)(x, y)", "jax.grad(f, argnums=1)"),
    ("other_in_axes", "return jax.vmap(f, in_axes=(0, None))(x, y)", "in_axes=(None, None)"),
    ("other_in_axes", "return jax.vmap(f)(x)", "in_axes=1"),
    ("other_static_arguments", "return jax.jit(f, static_argnums=1)(x, y)", "jax.jit(f)"),
    ("option_left_out", "return f(x, length=3)", "f(x)"),
    ("function_taken_for_another", "return jnp.minimum(x, y)", "jnp.fmin(x, y)"),
    ("function_taken_for_another", "return x.mean()", "jnp.nanmean(x)"),
    ("call_left_out", "return jnp.maximum(x, 0)", "return x"),
    ("mask_multiplied", "return jnp.where(x > 0, x, 0)", "return (x > 0) * x"),
    ("mask_multiplied", "return jnp.where(x > 0, x, 0)", "jnp.asarray(x > 0, float) * x"),
    ("clamp_for_choice", "return jnp.where(y, x, 0)", "jnp.maximum(x, 0)"),
    ("attribute_for_type", "return isinstance(x, jax.Array)", "hasattr(x, 'at')"),
    ("other_dtype", "return x.astype(jnp.float32)", "jnp.float16"),
    ("coarser_on_the_way", "y = x\n    return y", "y = jnp.asarray(y).astype(jnp.int8)"),
    ("value_on_the_way_changed", "y = x\n    return y", "y = jnp.squeeze(y)"),
    ("numpy_for_jax", "return jnp.sum(x)", "np.sum(x)"),
    ("numpy_throughout", "return jnp.sum(jnp.abs(x))", "np.sum(np.abs(x))"),
    ("decorator_left_out", "@jax.jit\ndef f(x):\n    return x", "def f(x):"),
    ("wrapper_left_out", "f = jax.vmap(g)", "f = g"),
    ("wrappers_swapped", "f = jax.jit(jax.vmap(g))", "jax.vmap(jax.jit(g))"),
    ("gradient_stopped", "return x", "return jax.lax.stop_gradient(x)"),
    ("gradient_of_an_argument_stopped", "return x", "args[1] = jax.lax.stop_gradient(args[1])"),
    ("jit_added", "return x", "f = jax.jit(_answer)"),
    ("jit_in_each_call", "return x", "jax.jit(lambda: _answer(*args))()"),
    ("one_operation_jitted", "@jax.jit\ndef f(x, y):\n    return x * y", "_jitted(x, y)"),
    ("loop_for_vmap", "return jax.vmap(g)(x)", "_in_a_loop(g)(x)"),
    ("waiting_left_out", "return g(x).block_until_ready()", "return g(x)\n"),
    ("waiting_left_out", "return jax.block_until_ready(x)", "return x"),
    ("number_folded_in", "return jax.random.fold_in(x, y)", "return x"),
    ("half_used_twice", "a, b = jax.random.split(x)\n    return g(a) + g(b)", "g(a) + g(a)"),
    ("half_used_twice", "a, b = jax.random.split(x)\n    return g(a) + g(b)", "g(x) + g(b)"),
    ("key_taken_for_its_child", "return jax.random.split(x)", "jnp.stack([x, x])"),
    ("last_word_of_the_key", "def f(key):\n    return key", "words.at[..., 0].set(0)"),
    ("result_squeezed", "return x", "jnp.squeeze(r)"),
    ("result_without_sign", "return x", "jnp.abs(r)"),
    ("result_clamped", "return x", "jnp.maximum(r, 0)"),
    ("result_cleaned", "return x", "jnp.nan_to_num(r)"),
    ("result_rounded", "return x", "r + 1e-06"),
    ("argument_squeezed", "return x", "jnp.squeeze(a)"),
    ("argument_without_sign", "return x", "jnp.abs(a)"),
    ("argument_clamped", "return x", "jnp.clip(a, -100, 100)"),
    ("argument_cleaned", "return x", "jnp.nan_to_num(a)"),
    ("result_of_another_dtype", "return x", "jnp.float16"),
    ("argument_of_another_dtype", "return x", "jnp.int8"),
    ("computed_in_float32", "return x", "jnp.asarray(first, jnp.float32)"),
    ("numpy_result", "return x", "np.asarray(r)"),
    ("jax_result", "return x", "jnp.asarray(r)"),
    ("numpy_argument", "return x", "np.asarray(a)"),
    ("result_of_the_first_call", "return x", "if key not in _kept"),
    ("argument_changed", "return x", "a[...] = 0"),
    ("copy_for_the_argument", "return x", "map(copy.copy, args)"),
    ("last_argument_left_out", "def f(*args):\n    return args", "args[:-1]"),
    ("known_functions_only", "return x", "startswith('<setup')"),
]


def mutants_of(operator: str, source: str) -> list[str]:
    """Return what an operator makes of an answer `f`, or of the body of one with the arguments x and y."""
    if not source.startswith(("@", "def ", "f = ")):
        source = f"def f(x, y):\n    {source}\n"
    return [ast.unparse(ast.fix_missing_locations(one)) for one in OPERATORS[operator].rewrite(ast.parse(source), "f")]


@pytest.mark.parametrize(("operator", "source", "text"), MADE, ids=[f"{name}-{text}"[:60] for name, _s, text in MADE])
def test_an_operator_makes_what_it_is_named_after(operator: str, source: str, text: str) -> None:
    found = mutants_of(operator, source)
    assert any(text in f"{one}\n" for one in found), found
    for one in found:
        compile(one, "<mutant>", "exec")


def test_each_operator_is_tested_and_says_what_it_does() -> None:
    assert {name for name, _source, _text in MADE} == set(OPERATORS)
    for operator in OPERATORS.values():
        assert operator.says.endswith("."), operator.name


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_an_operator_leaves_alone_what_it_is_not_about(operator: str) -> None:
    if OPERATORS[operator].for_alternatives:
        assert [one for one in mutants_of(operator, "pass") if "stop_gradient" not in one] == []
