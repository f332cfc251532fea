# url: https://github.com/gdsfactory/gplugins/issues/331
# wrong: The table jax.interpreters.xla.backend_specific_translations is gone; register a lowering for the primitive with jax.interpreters.mlir.register_lowering.

# %% fails
import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import xla

def solve_diagonal_impl(d, b):
    return b / d

solve_p = Primitive("solve_diagonal")
solve_p.def_impl(solve_diagonal_impl)
solve_p.def_abstract_eval(lambda d, b: b)
xla.backend_specific_translations["cpu"][solve_p] = solve_diagonal_impl

print(jax.jit(lambda d, b: solve_p.bind(d, b))(jnp.arange(1.0, 4.0), jnp.ones(3)))

# %% works
import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import mlir

def solve_diagonal_impl(d, b):
    return b / d

solve_p = Primitive("solve_diagonal")
solve_p.def_impl(solve_diagonal_impl)
solve_p.def_abstract_eval(lambda d, b: b)
mlir.register_lowering(solve_p, mlir.lower_fun(solve_diagonal_impl, multiple_results=False))

print(jax.jit(lambda d, b: solve_p.bind(d, b))(jnp.arange(1.0, 4.0), jnp.ones(3)))
