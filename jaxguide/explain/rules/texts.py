"""Explain strings made from arrays and traced values, and NumPy arrays that hold texts or objects."""

import ast
from functools import partial

import jax
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.scene import called

_DEBUG_PRINT = f"{texts.API}/jax.debug.print.html"
_is_traced = probes.is_valued("x", jax.core.Tracer)
entry(
    "text_and_array",
    texts.STRING_PLUS,
    x=probes.fact("right"),
    when=probes.is_written("node", ast.BinOp),
    title="A text and an array cannot be added",
    why="`+` joins two texts or adds two arrays.",
    fixes=Either(
        Code("Print the value when the program runs.", '{jax}.debug.print("{{}}", {x})', when=_is_traced),
        Swap("Put the value into the text.", x="str({x})"),
    ),
    link=_DEBUG_PRINT,
)
_json = partial(
    entry,
    when=probes.calls("dump", "dumps"),
    title="JSON has no arrays of JAX",
    why="`json` writes Python's numbers, texts, lists and dicts.",
    link="https://docs.python.org/3/library/json.html",
)
_json(
    "json_of_array",
    structure_texts.NOT_JSON,
    x=probes.first(is_array),
    fixes=Swap("Convert it to Python's numbers.", when=probes.unless(_is_traced), x="{x.atom}.tolist()"),
    otherwise="Return the value, and write it outside, when the program has run.",
)
_json(
    "json_of_array",
    structure_texts.NOT_JSON,
    x=probes.call,
    variable=None,
    fixes="Convert every array first: `jax.tree.map(lambda x: {np}.asarray(x).tolist(), tree)`.",
)


def _is_for_text(facts: Facts) -> bool:
    """Ask whether a number is made for a text: in an f-string, for `%`, or as an argument of `print`."""
    node, source = facts.scene.node, facts.scene.source
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and isinstance(facts.value("left"), str)
    is_inside = source.around(node, ast.FormattedValue) is not None or called(source.parents[node]) == "print"
    return probes.calls("item", "float", "int")(facts) and is_inside


_formatted = probes.one_of(probes.first(is_array), probes.first(is_array, of="statement"))
for _phrase, _condition in ((texts.FORMAT, _is_traced), (texts.CONCRETE, _is_for_text)):
    entry(
        "format_of_tracer",
        _phrase,
        x=_formatted,
        when=_condition,
        new=lambda facts: debug_print(facts.scene, getattr(facts.node("statement"), "value", None)),
        title="A text needs a known value, but `{x}` is traced",
        why="A text is made now, while JAX records the program, and the value comes later.",
        fixes=[
            Either(
                Swap("Print it when the program runs.", statement="{new}"),
                Code("Print it when the program runs.", '{jax}.debug.print("{{}}", {x})'),
            ),
            Code("Format the result, outside.", 'f"{{result:.2f}}"'),
        ],
        link=_DEBUG_PRINT,
    )
entry(
    "format_of_array",
    texts.FORMAT,
    x=_formatted,
    when=probes.unless(_is_traced),
    title="A format for one number",
    why="A format such as `.2f` is for one number.",
    fixes=[
        "Let NumPy write the whole array: `{np}.array2string({np}.asarray({x}), precision=2)`.",
        'Or one number of it: `f"{{{x.atom}[0]:.2f}}"`.',
    ],
    link=_DEBUG_PRINT,
)
_no_numbers = partial(
    entry,
    x=probes.first(lambda value: isinstance(value, np.ndarray) and value.dtype.kind in "USO", of="call"),
    what="`{x}` is a NumPy array of dtype {x.dtype} and shape {x.shape} here.",
    why="JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else.",
    link=f"{texts.API}/jax.numpy.asarray.html",
)
_no_numbers(
    "array_of_text",
    structure_texts.NOT_NUMERIC,
    when=lambda facts: facts["x"].dtype.kind in "US",
    title="JAX was given an array of text",
    fixes=Swap("Number the texts outside, and hand over the numbers.", x="{np}.unique({x}, return_inverse=True)[1]"),
)
_no_numbers(
    "array_of_objects",
    structure_texts.NOT_NUMERIC,
    title="JAX was given an array of Python objects",
    fixes="Give it a dtype of numbers: `{x}.astype(float)` works if every entry is one number.",
)
