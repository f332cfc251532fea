"""Explain traced values used where Python needs a number: `float`, `int`, `.item()`, `math`, `range`, list indices."""

import ast
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Static, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.control_flow import loop_of_range, turns
from jaxguide.explain.rewrites.static_arguments import SIZED_FUNCTIONS, static_fix
from jaxguide.explain.scene import called, is_traced_integer

_NUMBERS = ("float", "int", "complex")
_LATER = "now, while JAX records the program, and the value comes later."


# Values of Python's own.

entry(
    "item_of_tracer",
    texts.CONCRETE,
    x=probes.first(is_tracer, of="owner"),
    when=[probes.is_written("node", ast.Call), probes.calls("item", "tolist"), lambda facts: not facts["given"]],
    title="`.{f.name}()` needs a known value, but `{x}` is traced",
    why=f"`.{{f.name}}()` makes a Python value {_LATER}",
    fixes=[
        Either(
            Swap(
                "Leave it out: an array of shape () is a number for JAX. Call it on the result, outside.",
                when=probes.calls("item"),
                call="{owner}",
            ),
            Swap("Leave it out, and compute with the array. Call it on the result, outside.", call="{owner}"),
        )
    ],
)


# Indices of lists, and counts of loops; the index or the count may be `int(i)`.


def _conversion(facts: Facts) -> ast.Call | None:
    """Look at the call of `float`, `int` or `complex`; Python 3.12 reports the whole comprehension around it."""
    node = facts.scene.node
    inside = ast.walk(node) if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp) else [node]
    found = [one for one in inside if isinstance(one, ast.Call) and called(one) in _NUMBERS and len(one.args) == 1]
    plain = [one for one in found if isinstance(one.func, ast.Name) and not one.keywords]
    return plain[0] if len(plain) == 1 else None


def _converted(facts: Facts) -> ast.expr | None:
    return facts.node("conversion").args[0] if facts.knows("conversion") else None


def _place(facts: Facts) -> ast.Subscript | None:
    """Look at `items[i]` or `items[int(i)]`."""
    node = facts.scene.source.parents.get(facts.node("conversion")) if facts.knows("conversion") else facts.scene.node
    of_list = isinstance(node, ast.Subscript) and not isinstance(facts.scene.spot.value(node.value), dict)
    return node if of_list and isinstance(node, ast.Subscript) else None


def _index(facts: Facts) -> str:
    """Say the index as an integer that JAX can trace."""
    index = facts["converted" if facts.knows("converted") else "slice"]
    is_float = facts.knows("converted") and facts.scene.spot.first(index.node, _is_floating) is not None
    return f"{index.atom}.astype(int)" if is_float else str(index)


def _is_floating(value: Any) -> bool:
    return is_array(value) and bool(jnp.issubdtype(value.dtype, np.floating))


def _is_of_unlike(facts: Facts) -> bool:
    """Ask whether a list holds what does not make one array, such as texts or arrays of several shapes."""
    items = facts["items"].value
    shapes = {np.shape(one) for one in items if is_array(one)}
    return len(shapes) > 1 or not all(is_array(one) or isinstance(one, int | float | complex | list) for one in items)


def _switched(facts: Facts) -> Fix | None:
    """Return the fix for `functions[i](x)`."""
    scene, place = facts.scene, facts.node("place")
    call = scene.source.parents.get(place)
    if not isinstance(call, ast.Call) or call.func is not place or call.keywords:
        return None
    given = "".join(f", {scene.quote(argument)}" for argument in call.args)
    text = facts.say("{lax}.switch({index}, {items}") + f"{given})"
    return scene.fix("Let the program choose one of the functions: `lax.switch`.", scene.source.replace(call, text))


_OF_LIST: dict[str, Any] = {
    "conversion": _conversion,
    "converted": _converted,
    "place": _place,
    "slice": lambda facts: facts.node("place").slice,
    "items": lambda facts: facts.node("place").value,
    "x": probes.first(is_tracer, of="slice"),
    "index": _index,
    "title": "A list needs a known index, but `{x}` is traced",
    "why": "A Python list is looked up now, while JAX records the program, and the index comes later.",
    "link": texts.ERRORS_PAGE,
}
entry(
    "list_index_of_tracer",
    texts.INTEGER,
    texts.CONCRETE,
    when=lambda facts: all(map(callable, facts["items"].value)),
    fixes=[_switched, Static("x")],
    **_OF_LIST,
)
entry(
    "list_index_of_tracer",
    texts.INTEGER,
    texts.CONCRETE,
    when=_is_of_unlike,
    fixes=[
        Static("x"),
        "Let the program choose what is done for each entry: `lax.switch({index}, [...])`, with one function for each.",
    ],
    **_OF_LIST,
)
entry(
    "list_index_of_tracer",
    texts.INTEGER,
    texts.CONCRETE,
    make=lambda facts: "stack" if any(is_array(one) and one.ndim for one in facts["items"].value) else "array",
    fixes=[
        Swap(
            "Make one array of the list: an array can be indexed by a traced number.",
            place="{jnp}.{make}({items})[{index}]",
        ),
        Static("x"),
    ],
    **_OF_LIST,
)


def _range(facts: Facts) -> ast.Call | None:
    """Look at the call of `range`, or at the one that counts to `int(...)`."""
    node: ast.AST | None = facts.scene.node
    if facts.knows("conversion"):
        node = facts.scene.source.parents.get(facts.node("conversion"))
        while isinstance(node, ast.BinOp | ast.UnaryOp):
            node = facts.scene.source.parents.get(node)
    return node if isinstance(node, ast.Call) and called(node) == "range" else None


entry(
    "range_of_tracer",
    texts.INTEGER,
    texts.INTEGER_SCALAR,
    texts.CONCRETE,
    conversion=_conversion,
    range=_range,
    x=probes.one_of(probes.first(is_traced_integer, of="range"), probes.first(is_tracer, of="range")),
    loop=lambda facts: facts.scene.source.parents.get(facts.node("range")),
    turn=lambda facts: getattr(facts.node("loop"), "target", ast.Name("i", ast.Load())),
    stop=lambda facts: turns(facts.scene, facts.node("range"))[1],
    title="`range` needs a known integer, but `{x}` is traced",
    why="Python's `for` runs now and repeats what JAX records, and how often is not known yet.",
    fixes=[
        lambda facts: facts.scene.fix(
            "Let the program loop: `lax.fori_loop`. (`jax.grad` needs a static count.)",
            loop_of_range(facts.scene, facts.node("range")),
        ),
        Static("x", when=lambda facts: is_traced_integer(facts.value("x"))),
    ],
    otherwise=[
        "Repeat a largest number of times that is known, and keep the old value in the turns that are too many: "
        "`{jnp}.where({turn} < {stop}, new, old)`."
    ],
    link=f"{texts.API}/jax.lax.fori_loop.html",
)
entry(
    "range_of_float",
    texts.INTEGER_SCALAR,
    x=probes.given(_is_floating),
    when=probes.calls("range"),
    title="`range` counts in integers, but was given a float",
    why="A float cannot say how often a loop turns, not even 3.0.",
    fixes=[
        Swap("Make an integer of it.", when=lambda facts: facts["x"].ndim == 0, x="int({x})"),
    ],
    otherwise=["Give one number, such as `{x}.size`."],
    link="https://docs.python.org/3/library/stdtypes.html#range",
)


# Numbers of Python's own.


def _is_size(facts: Facts) -> bool:
    """Ask whether the integer that is made is in a slice or in a call that takes a size, by itself or by its name."""
    made, name = facts.node("conversion"), getattr(facts.node("target"), "id", "") if facts.knows("target") else ""
    uses = [
        one
        for one in ast.walk(facts.scene.spot.function or facts.scene.source.tree)
        if isinstance(one, ast.Slice) or called(one) in SIZED_FUNCTIONS
    ]
    return called(made) == "int" and any(made in ast.walk(one) or name in names_in(one) for one in uses)


def _static_with_numpy(facts: Facts) -> Fix | None:
    """Return the fix for `int(jnp.sqrt(n))`: a static `n`, and NumPy, which computes with it at once."""
    static, scene, own = static_fix(facts.scene, facts["x"].value), facts.scene, f"{facts['jnp']}."
    text = str(facts["converted"])
    if static is None or not static.edits or own not in text:
        return None
    edit = scene.source.replace(facts.node("converted"), text.replace(own, f"{facts['np']}."))
    return scene.fix(facts.say("Make `{x}` static, and compute with NumPy what is known then."), *static.edits, edit)


_NUMBER: dict[str, Any] = {
    "conversion": _conversion,
    "converted": _converted,
    "name": lambda facts: facts["conversion"].name,
    "title": "`{name}(...)` needs a known value, but `{x}` is traced",
    "why": f"`{{name}}` makes a Python number {_LATER}",
    "link": texts.ERRORS_PAGE,
}


def _is_key(facts: Facts) -> bool:
    """Ask whether the number is the key of a dict, which a traced one cannot be."""
    outer = facts.scene.source.parents.get(facts.node("conversion"))
    return isinstance(outer, ast.Subscript) and isinstance(facts.scene.spot.value(outer.value), dict)


entry(
    "number_of_tracer",
    texts.CONCRETE,
    x=probes.first(is_tracer, of="converted"),
    when=_is_size,
    fixes=[
        Either(
            _static_with_numpy,
            Static("x"),
            "Compute it outside, and give it as a static argument: a size must be known while JAX records.",
        )
    ],
    **_NUMBER,
)
entry(
    "number_of_tracer",
    texts.CONCRETE,
    x=probes.one_of(probes.first(is_tracer, of="converted"), _converted),
    when=lambda facts: facts["x"].value_or_missing is not MISSING or probes.is_written("x", ast.Name)(facts),
    fixes=[
        Swap(
            "Change the dtype and keep it an array, which goes into the program.",
            when=probes.unless(_is_key),
            conversion="{converted.atom}.astype({name})",
        ),
        Static("x", when=lambda facts: facts["name"] == "int"),
    ],
    **_NUMBER,
)


def _functions_of_jax(facts: Facts) -> Fix | None:
    """Return the fix that takes JAX's functions in place of those of `math` in the statement that get tracers."""
    scene, edits = facts.scene, []
    for call in ast.walk(facts.node("statement")):
        value = scene.spot.value(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or getattr(value, "__module__", "") != "math" or scene.tracer(call) is None:
            continue
        given = [f"{facts['jnp']}.log({scene.quote(one)})" for one in call.args]
        if called(call) == "log" and len(given) == 2:
            edits.append(scene.source.replace(call, f"({' / '.join(given)})"))
        elif hasattr(jnp, called(call)):
            edits.append(scene.source.replace(call.func, f"{facts['jnp']}.{called(call)}"))
    return scene.fix("Use JAX's own function of that name.", *edits)


entry(
    "math_on_tracer",
    texts.CONCRETE,
    x=probes.traced,
    when=probes.calls_of("math"),
    title="`{f}` needs a known value, but `{x}` is traced",
    why="The module `math` computes with Python numbers now, while JAX records the program.",
    fixes=[_functions_of_jax],
    link=f"{texts.API}/jax.numpy.{{f.name}}.html",
)
entry(
    "static_needed",
    texts.INTEGER,
    x=probes.traced_size,
    when=[probes.is_written("node", ast.Call), probes.unless(probes.calls("range"))],
    title="`{f}` needs a known number, but `{x}` is traced",
    why="`{f}` uses this argument now, while JAX records the program, and its value comes later.",
    fixes=[Static("x")],
    link=texts.STATIC_LINK,
)
