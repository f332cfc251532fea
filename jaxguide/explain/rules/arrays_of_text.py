"""Explain NumPy arrays that hold no numbers: texts and Python objects."""

import ast
import re
from typing import Any

import numpy as np

from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


@explains(structure_texts.NOT_NUMERIC, structure_texts.NO_ABSTRACT_ARRAY)
def array_of_text(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.asarray(np.array(["cat", "dog"]))`, and an array of Python objects."""
    call = scene.call()
    said = found[1] if found.re is structure_texts.NOT_NUMERIC.text else None

    def is_meant(value: Any) -> bool:
        return _holds_no_numbers(value) and said in (None, str(value.dtype))

    part = scene.spot.first(call, is_meant) if call is not None else None
    if part is None:
        return None
    node, value = part
    text = scene.quote(node)
    texts = value.dtype.kind in "US" or (value.size and all(isinstance(entry, str) for entry in value.flat))
    if texts:
        title = "JAX was given an array of text"
        codes = f"{scene.np}.unique({text}, return_inverse=True)[1]"
        number = isinstance(node, ast.Name) and value.dtype.kind in "US" and value.ndim == 1
        fixes = [
            scene.fix(
                "Number the texts outside, and hand over the numbers.",
                scene.source.replace(node, codes) if number else None,
                code=codes,
            )
        ]
    else:
        title = "JAX was given an array of Python objects"
        fixes = [
            scene.advice(f"Give it a dtype of numbers: `{text}.astype(float)` works if every entry is one number.")
        ]
    return scene.explanation(
        "array_of_text" if texts else "array_of_objects",
        title=title,
        what=f"`{text}` is a NumPy array of dtype {value.dtype} and shape {value.shape} here.",
        variable=text,
        why="JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else.",
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.asarray.html",
    )


def _holds_no_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "USO"
