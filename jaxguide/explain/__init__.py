"""Explain a JAX error in the student's names: the line, what the variable is there, why it fails, how to fix it.

>>> import jax.numpy as jnp
>>> from jaxguide.explain import explain
>>> x = jnp.zeros(3)
>>> try:
...     x[0] += 1.0
... except TypeError as error:
...     print(explain(error).fixes[0].code)
x = x.at[0].add(1.0)
"""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand
from jaxguide.explain.notebook import load_ipython_extension, unload_ipython_extension

if TYPE_CHECKING:
    from jaxguide.code.edits import Edit
    from jaxguide.explain.explaining import explain
    from jaxguide.explain.explanation import Explanation, Fix

__all__ = ["Edit", "Explanation", "Fix", "explain", "load_ipython_extension", "unload_ipython_extension"]

# Every lesson turns the cards on, so their modules are loaded only at the first error.
_HOMES = {
    "explain": "explaining",
    "Edit": "explanation",
    "Explanation": "explanation",
    "Fix": "explanation",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES)
