"""Explain strings made from arrays and traced values, and NumPy arrays that hold texts or objects."""

import ast
from typing import Any

import numpy as np

from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.scene import called

_PAGE = f"{texts.API}/jax.debug.print.html"


def _is_traced(facts: Facts) -> bool:
    return is_tracer(facts.value("x"))


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
    link=_PAGE,
)
_JSON: dict[str, Any] = {
    "title": "JSON has no arrays of JAX",
    "why": "`json` writes Python's numbers, texts, lists and dicts.",
    "link": "https://docs.python.org/3/library/json.html",
}
_WRITES = probes.calls("dump", "dumps")
entry(
    "json_of_array",
    structure_texts.NOT_JSON,
    x=probes.traced,
    when=_WRITES,
    fixes="Return the value, and write it outside, when the program has run.",
    **{**_JSON, "why": "The value of a traced array comes later, when the program runs."},
)
entry(
    "json_of_array",
    structure_texts.NOT_JSON,
    x=probes.first(is_array),
    when=_WRITES,
    fixes=Swap("Convert it to Python's numbers.", x="{x.atom}.tolist()"),
    **_JSON,
)
entry(
    "json_of_array",
    structure_texts.NOT_JSON,
    x=probes.call,
    variable=None,
    what="",
    when=_WRITES,
    fixes="Convert every array first: `jax.tree.map(lambda x: {np}.asarray(x).tolist(), tree)`.",
    **_JSON,
)


# Formats.


def _is_in_text(facts: Facts) -> bool:
    """Ask whether a number is made for a text: in an f-string, for `%`, or as an argument of `print`."""
    node = facts.scene.node
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and isinstance(facts.value("left"), str)
    is_printed = facts.knows("printed") and node in facts.node("printed").args
    is_inside = facts.scene.source.around(node, ast.FormattedValue) is not None
    return probes.calls("item", "float", "int")(facts) and (is_inside or is_printed)


def _printed(facts: Facts) -> ast.AST | None:
    """Look at the call of `print` that is the failing statement."""
    found = getattr(facts.node("statement"), "value", None)
    return found if called(found) == "print" else None


def _spec(facts: Facts) -> str:
    """Say the format of a part of an f-string: `.2f` of `{x:.2f}`."""
    joined: ast.FormattedValue | None = facts.scene.source.around(facts.node("x"), ast.FormattedValue)
    written = facts.scene.quote(joined) if joined is not None else ""
    return written.rpartition(":")[2].rstrip("}") if ":" in written else ".2f"


_FORMATTED: dict[str, Any] = {
    "x": probes.one_of(probes.first(is_array), probes.first(is_array, of="statement")),
    "printed": _printed,
    "link": _PAGE,
}
for _phrase, _condition in ((texts.FORMAT, _is_traced), (texts.CONCRETE, _is_in_text)):
    entry(
        "format_of_tracer",
        _phrase,
        when=_condition,
        line_of_print=lambda facts: debug_print(facts.scene, facts.node("printed")),
        title="A text needs a known value, but `{x}` is traced",
        why="A text is made now, while JAX records the program, and the value comes later.",
        fixes=[
            Either(
                Swap(
                    "Print it when the program runs.",
                    when=lambda facts: len(facts.node("printed").args) == 1,
                    printed="{line_of_print}",
                ),
                Code("Print it when the program runs.", '{jax}.debug.print("{{}}", {x})'),
            ),
            Code("Format the result, outside.", 'f"{{result:.2f}}"'),
        ],
        **_FORMATTED,
    )
entry(
    "format_of_array",
    texts.FORMAT,
    when=probes.unless(_is_traced),
    spec=_spec,
    title="A format for one number",
    why="A format such as `.2f` is for one number.",
    fixes=[
        Code(
            "Let NumPy write the whole array (`precision=` says how fine).",
            'f"{{{np}.array2string({np}.asarray({x}), precision=2)}}"',
        ),
        Code("One number of it.", 'f"{{{x.atom}[0]:{spec}}}"'),
    ],
    **_FORMATTED,
)


# NumPy arrays that hold no numbers.


def _is_of_texts(facts: Facts) -> bool:
    value = facts["x"].value
    return value.dtype.kind in "US" or bool(value.size and all(isinstance(one, str) for one in value.flat))


_NO_NUMBERS: dict[str, Any] = {
    "x": probes.first(lambda value: isinstance(value, np.ndarray) and value.dtype.kind in "USO", of="call"),
    "what": "`{x}` is a NumPy array of dtype {x.dtype} and shape {x.shape} here.",
    "why": "JAX's arrays hold numbers, truth values and keys, because a device computes with nothing else.",
    "link": f"{texts.API}/jax.numpy.asarray.html",
}
_NOT_NUMERIC = (structure_texts.NOT_NUMERIC, structure_texts.NO_ABSTRACT_ARRAY)
entry(
    "array_of_text",
    *_NOT_NUMERIC,
    when=_is_of_texts,
    title="JAX was given an array of text",
    fixes=Either(
        Swap(
            "Number the texts outside, and hand over the numbers.",
            when=lambda facts: facts["x"].ndim == 1 and facts["x"].dtype.kind in "US",
            x="{np}.unique({x}, return_inverse=True)[1]",
        ),
        Code("Number the texts outside, and hand over the numbers.", "{np}.unique({x}, return_inverse=True)[1]"),
    ),
    **_NO_NUMBERS,
)
entry(
    "array_of_objects",
    *_NOT_NUMERIC,
    title="JAX was given an array of Python objects",
    fixes="Give it a dtype of numbers: `{x}.astype(float)` works if every entry is one number.",
    **_NO_NUMBERS,
)
