"""Explain NumPy arrays that hold no numbers: texts and Python objects."""

from typing import Any

import numpy as np

from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, entry
from jaxguide.explain.known_facts import Facts


def _is_of_texts(facts: Facts) -> bool:
    value = facts["x"].value
    return value.dtype.kind in "US" or bool(value.size and all(isinstance(one, str) for one in value.flat))


_NO_NUMBERS: dict[str, Any] = {
    "x": probes.first(lambda value: isinstance(value, np.ndarray) and value.dtype.kind in "USO", of="call"),
    "what": "`{x}` is a NumPy array of dtype {x.dtype} and shape {x.shape} here.",
    "why": "JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else.",
    "link": f"{texts.API}/jax.numpy.asarray.html",
}
_PHRASES = (structure_texts.NOT_NUMERIC, structure_texts.NO_ABSTRACT_ARRAY)
entry(
    "array_of_text",
    *_PHRASES,
    when=_is_of_texts,
    title="JAX was given an array of text",
    fixes=[
        Either(
            Swap(
                "Number the texts outside, and hand over the numbers.",
                when=lambda facts: facts["x"].ndim == 1 and facts["x"].dtype.kind in "US",
                x="{np}.unique({x}, return_inverse=True)[1]",
            ),
            Code("Number the texts outside, and hand over the numbers.", "{np}.unique({x}, return_inverse=True)[1]"),
        )
    ],
    **_NO_NUMBERS,
)
entry(
    "array_of_objects",
    *_PHRASES,
    title="JAX was given an array of Python objects",
    fixes=["Give it a dtype of numbers: `{x}.astype(float)` works if every entry is one number."],
    **_NO_NUMBERS,
)
