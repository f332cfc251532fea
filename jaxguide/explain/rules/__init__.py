"""The families of errors that can be explained, in the order in which they are tried: the most special first.

Each module adds its entries to the catalogue when it is imported; a module that another one imports stands before it.
"""

FAMILIES = (
    "shardings",  # before `cond_and_switch`, `custom_derivatives` and `loops`: types that differ in their axes only
    "custom_derivatives",  # before `leaks`: a tracer that `nondiff_argnums` took
    "leaks",  # what JAX says of a value that has leaked may be wrong
    "booleans",  # before `concrete_values` and `sizes`, which explain what is left of their common phrase
    "array_methods",
    "callbacks",
    "sizes",
    "cond_and_switch",
    "libraries",
    "gradients",
    "indexing",
    "wrong_types",
    "jit_arguments",
    "limits",
    "loops",
    "texts",
    "concrete_values",
    "pytrees",
    "random_keys",
    "references",
    "names",
    "run_time_errors",
    "shapes",
    "vmap",
)
