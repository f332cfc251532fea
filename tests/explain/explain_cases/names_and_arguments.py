"""Cases of names and arguments that JAX's functions never had."""

from explain_cases.case import Case, no_code


def case(name: str, kind: str, variable: str, line: str, *after_fix: object, before: str = "") -> Case:
    """Return a case with a vector `v`; the line makes `result`, or changes `v`."""
    source = f"v = jnp.array([3.0, -1.0, 2.0])\n{before}{line}  # <--\n"
    return Case(name, kind, variable, source, "result" if "result" in line else "v", [*after_fix])


CASES = [
    case("torch_dim_of_sum", "unknown_argument", "dim", "result = v.sum(dim=0)", 4.0),
    case("torch_keepdim", "unknown_argument", "keepdim", "result = v.sum(0, keepdim=True)", [4.0]),
    case("torch_both", "unknown_argument", "dim", "result = jnp.max(v, dim=0, keepdim=True)", [3.0]),
    case("torch_dim_of_softmax", "unknown_argument", "dim", "result = jax.nn.softmax(0 * v, dim=-1).sum()", 1.0),
    case("torch_dim_of_a_sum", "unknown_argument", "dim", "result = (2 * v).sum(dim=0)", 8.0),
    case("numpy_newshape", "unknown_argument", "newshape", "result = jnp.reshape(v, newshape=(3, 1)).shape", [3, 1]),
    case("numpy_clip", "unknown_argument", "a_max", "result = jnp.clip(v, a_min=0.0, a_max=2.0)", [2.0, 0.0, 2.0]),
    case(
        "numpy_size_of_draws",
        "unknown_argument",
        "size",
        "result = jax.random.normal(jax.random.key(0), size=(2, 3)).shape",
        [2, 3],
    ),
    case(
        "torch_requires_grad",
        "unknown_argument",
        "requires_grad",
        "result = jnp.zeros(2, requires_grad=True)",
        [0.0, 0.0],
    ),
    case("out_of_exp", "out_argument", "v", "jnp.abs(v, out=v)", [3.0, 1.0, 2.0]),
    case("out_of_sum", "out_argument", "result", "jnp.sum(v, out=result)", 4.0, before="result = jnp.zeros(())\n"),
    case("out_of_add", "out_argument", "v", "v = jnp.add(v, 1.0, out=v)", no_code),
    case("out_used", "out_argument", "v", "result = 2 * jnp.add(v, 1.0, out=v)", no_code),
    case("sort_kind", "unknown_argument", "kind", "result = jnp.sort(v, kind='quicksort')", [-1.0, 2.0, 3.0]),
    case("sort_kind_stable", "unknown_argument", "kind", "result = jnp.argsort(v, kind='stable')", [1, 2, 0]),
    case("misspelled_name", "missing_name", "jnp.concatenat", "result = jnp.concatenat([v, v]).shape", [6]),
    case("misspelled_letters", "missing_name", "jnp.linsapce", "result = jnp.linsapce(0, 1, 3)", [0.0, 0.5, 1.0]),
    case("misspelled_in_two_ways", "missing_name", "jnp.sun", "result = jnp.sun(v)", no_code),
    case("in_another_module", "missing_name", "jnp.softmax", "result = jnp.softmax(0 * v).sum()", 1.0),
    case("in_the_module_of_norms", "missing_name", "jnp.norm", "result = jnp.norm(jnp.array([3.0, 4.0]))", 5.0),
    case("in_numpys_module", "missing_name", "jax.ones", "result = jax.ones(2)", [1.0, 1.0]),
    case("in_several_modules", "missing_name", "jnp.cond", "result = jnp.cond(v)", no_code),
    case("numpys_int", "missing_name", "jnp.int", "result = v.astype(jnp.int)", [3, -1, 2]),
    case("key_of_jax", "missing_name", "jax.PRNGKey", "result = jax.PRNGKey(0).shape", [2]),
    case("draws_of_jnp", "missing_name", "jnp.normal", "result = jnp.normal(0.0, 1.0, (3,))", no_code),
    case("of_torch", "missing_name", "jnp.cat", "result = jnp.cat([v, v], dim=0).shape", [6]),
    case("of_torch_a_tensor", "missing_name", "jnp.tensor", "result = jnp.tensor([1.0])", [1.0]),
    case("of_torch_random", "missing_name", "jnp.randn", "result = jnp.randn(3)", no_code),
    case("of_numpy_copyto", "missing_name", "jnp.copyto", "jnp.copyto(v, 0.0, where=v < 0)", [3.0, 0.0, 2.0]),
    case("of_numpy_putmask", "missing_name", "jnp.putmask", "jnp.putmask(v, v < 0, 0.0)", no_code),
    case("of_numpy_module", "missing_name", "jnp.testing", "result = jnp.testing.assert_allclose(v, v)", no_code),
    case("of_numpy_function", "missing_name", "jnp.savetxt", "jnp.savetxt('file', v)", no_code),
    case("hash_of_array", "hashed_array", "v", "result = hash(v) == hash(np.asarray(v).tobytes())", True),
    Case(
        name="hash_of_tracer",
        kind="hashed_array",
        variable="x",
        source="""
@jax.jit
def f(x):
    return x * hash(x)  # <--
f(1.0)
""",
        result="f",
    ),
    Case(
        name="cache_of_tracer",
        kind="cached_function_of_array",
        variable="x",
        source="""
from functools import lru_cache
@lru_cache(maxsize=8)
def double(x):
    return 2 * x
@jax.jit
def f(x):
    return double(x) + 1  # <--
result = f(1.0)
""",
        result="result",
        after_fix=[3.0],
    ),
    Case(
        name="cache_of_array",
        kind="cached_function_of_array",
        variable="x",
        source="""
import functools
x = jnp.ones(2)
@functools.cache
def double(x):
    return 2 * x
result = double(x)  # <--
""",
        result="result",
        after_fix=[[2.0, 2.0], no_code],
    ),
    case("integer_of_40_bits", "too_large_integer", "2**40", "result = v + 2**40", no_code, no_code),
    case(
        "integer_of_34_bits",
        "too_large_integer",
        "n",
        "result = jnp.arange(3) * n",
        no_code,
        no_code,
        before="n = 10_000_000_000\n",
    ),
    case("integer_for_array", "too_large_integer", "2**31", "result = jnp.array(2**31)", no_code, no_code),
    case("integer_for_bytes", "too_large_integer", "300", "result = jnp.uint8(300)", no_code),
    case("negative_without_sign", "too_large_integer", "-1", "result = jnp.uint8(-1)", no_code),
    case("seed_of_70_bits", "too_large_seed", "2**70", "result = jax.random.key(2**70).shape", []),
    case("memory", "out_of_memory", "jnp.zeros", "result = jnp.zeros((2**20, 2**30))", no_code),
    case("torch_steps", "unknown_argument", "steps", "result = jnp.linspace(0, 1, steps=3)", [0.0, 0.5, 1.0]),
    case("torch_size_of_zeros", "unknown_argument", "size", "result = jnp.zeros(size=(2,))", [0.0, 0.0]),
    case("reshape_by_name", "unknown_argument", "shape", "result = v.reshape(shape=(3, 1)).shape", [3, 1]),
    case("in_scipys_module", "missing_name", "jnp.linalg.expm", "result = jnp.linalg.expm(jnp.zeros((1, 1)))", [[1.0]]),
    case(
        "of_scipy",
        "missing_name",
        "jax.scipy.integrate.quad",
        "result = jax.scipy.integrate.quad(jnp.sin, 0, 1)",
        no_code,
        before="import jax.scipy.integrate\n",
    ),
]
