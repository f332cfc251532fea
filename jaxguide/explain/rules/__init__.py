"""The families of errors that can be explained, in the order in which they are tried: the most special first.

Each module adds its entries to the catalogue when it is imported; a module that another one imports stands before it.
"""

from jaxguide.explain.catalogue import RULES, Rule, explains

__all__ = ["FAMILIES", "RULES", "Rule", "explains"]

FAMILIES = (
    "leaks",  # what JAX says of a value that has leaked may be wrong
    "ambiguous_truths",
    "array_methods",
    "meshes",  # before `cond_and_switch`, `custom_derivatives` and `loops`: types that differ in their axes only
    "shardings",
    "boolean_functions",
    "booleans",  # before `python_numbers` and `sizes`, which explain what is left of their common phrase
    "callbacks",
    "choices",
    "computed_sizes",
    "cond_and_switch",
    "custom_derivatives",
    "derivative_calls",
    "equinox_models",
    "flax_linen",
    "flax_nnx",
    "function_arguments",
    "gradient_transformations",
    "gradients",
    "gradients_of_integers",
    "haiku_transforms",
    "hashing",
    "host_failures",
    "in_place_updates",
    "indexing",
    "wrong_types",
    "jit_arguments",
    "jvp_and_vjp",
    "key_reuse",
    "keyword_names",
    "limits",
    "loops",
    "missing_names",
    "numpy_and_scipy",
    "numpyro_models",
    "texts",
    "python_numbers",
    "pytrees",
    "random_keys",
    "references",
    "removed_names",
    "required_shapes",
    "run_time_errors",
    "shapes",
    "sizes",
    "vmap",
    "vmap_axes",
    "vmap_sizes",
)
