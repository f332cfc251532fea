"""Explain methods and attributes that arrays of PyTorch, TensorFlow or NumPy have, and JAX's arrays have otherwise."""

import ast
import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import ARGUMENTS, METHODS, NAMES
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.renaming import spelled

_ARRAY = f"{texts.API}/jax.Array.html"


# Methods of other libraries.


def _renamed(facts: Facts) -> str:
    """Say the arguments, with the names that JAX has."""
    named = [f"{ARGUMENTS.get(one.arg or '', one.arg)}={facts.scene.quote(one.value)}" for one in facts.call().keywords]
    return ", ".join([*(facts.scene.quote(one) for one in facts.call().args), *named])


def _written(facts: Facts) -> str | None:
    """Say what stands for the call in JAX, if its arguments are those that the method has."""
    call, name = facts.call(), facts["f"].name.removesuffix("_")
    template = METHODS.get(name) or (
        f"{spelled(facts.scene, NAMES[name])}({{x}}, {{renamed}})" if name in NAMES else ""
    )
    count = ("{first" in template) + ("{second" in template)
    is_other = not re.search("renamed|sizes", template) and len(call.args) + len(call.keywords) != count
    return None if is_other or not template else facts.say(template).replace(", )", ")")


def _is_last(facts: Facts) -> bool:
    """Ask whether no further method that JAX's arrays lack is called on the result."""
    return hasattr(np.ndarray, getattr(facts.scene.source.parents[facts.call()], "attr", "shape"))


def _is_for_numpy(facts: Facts) -> bool:
    """Ask whether a traced array is made NumPy's, also by a later method in the statement."""
    return "numpy()" in str(facts["statement"]) and facts.scene.tracer(facts.node("x")) is not None


_METHOD: dict[str, Any] = {
    "x": probes.holder,
    "first": probes.argument(0),
    "second": probes.argument(1),
    "renamed": _renamed,
    # In PyTorch, -1 keeps a size.
    "sizes": lambda facts: None if set("-([") & set(facts["renamed"]) else facts["renamed"],
    "written": _written,
}
_OTHER: dict[str, Any] = {
    "title": "JAX's arrays have no method `{f.name}`",
    "why": "It belongs to another library's arrays. JAX's have the methods of NumPy's; the rest are functions.",
    "link": _ARRAY,
    **_METHOD,
}
_NO_NEED = "Leave it out: JAX's arrays are on its default device, which is an accelerator if it has one."
_GRADIENTS = ("backward", "grad", "grad_fn", "requires_grad", "retain_grad", "zero_grad")
entry(
    "gradient_of_array",
    texts.NO_METHOD,
    when=lambda facts: facts["node"].name.rstrip("_") in _GRADIENTS,
    title="JAX's arrays do not record how they were computed",
    why="So they have no `.{node.name}`. JAX differentiates functions, not results.",
    fixes="Write the loss as a function of the parameters: `jax.grad(loss)(parameters)` is the gradient, and "
    "`jax.value_and_grad` returns the loss too.",
    link=f"{texts.API}/jax.grad.html",
    **_METHOD,
)
entry(
    "in_place_method",
    texts.NO_METHOD,
    when=[probes.is_called, lambda facts: facts["f"].name.endswith("_")],
    title="An array cannot be changed in place",
    why="JAX arrays never change, so they have no method `{f.name}`.",
    fixes=Either(
        Swap(
            "Make a new array, and keep it.",
            when=lambda facts: probes.is_statement(facts) and isinstance(facts.node("x"), ast.Name),
            call="{x} = {written}",
        ),
        "Make a new array, and use it from here on: `{written}`.",
    ),
    link=texts.AT_LINK,
    **_METHOD,
)
entry(
    "method_of_another_library",
    texts.NO_METHOD,
    when=[probes.is_called, probes.calls("to", "type", "cpu", "cuda", "contiguous")],
    fixes=Either(
        Swap("Leave it out: JAX lays out memory by itself.", when=probes.calls("contiguous"), call="{x}"),
        Swap(_NO_NEED, when=probes.calls("cpu", "cuda"), call="{x}"),
        Swap(_NO_NEED, when=probes.is_valued("first", str), call="{x}"),
        Swap("Write `{x.atom}.astype`.", when=probes.is_valued("first", type, np.dtype), f="{x.atom}.astype"),
        "For a dtype write `.astype(dtype)`, and for a device `{jax}.device_put(x, device)`.",
    ),
    **_OTHER,
)
entry(
    "method_of_another_library",
    texts.NO_METHOD,
    when=[probes.is_called, probes.knows("written")],
    fixes=Either(
        Words("Return it, and convert the result outside: `{np}.asarray(result)`.", when=_is_for_numpy),
        Words("Write it with JAX's own functions, the first as `{written}`.", when=probes.unless(_is_last)),
        Swap("Write `{function}`.", call="{written}"),
        Swap("JAX's own way.", call="{written}"),
        "Write `{function}`.",
    ),
    function=lambda facts: facts["written"].partition("(")[0] or None,
    **_OTHER,
)


# Methods and attributes that mean something else in other libraries.


def _array(facts: Facts) -> ast.expr | None:
    """Look at the array of a method or a function of `jax.numpy`; not at one of NumPy's."""
    found: ast.expr | None = probes.receiver(0)(facts)
    return None if isinstance(facts.scene.spot.value(found), np.ndarray) else found


_HERE: dict[str, Any] = {
    "x": _array,
    "first": probes.argument(0),
    # What is given besides the array.
    "axes": lambda facts: [one for one in facts.call().args if one is not facts.node("x")],
    "link": _ARRAY,
}
_NO_KEYWORDS = [probes.is_written("node", ast.Call), lambda facts: not facts.call().keywords]
entry(
    "attribute_called",
    texts.VALUE_CALLED,
    when=[
        *_NO_KEYWORDS,
        probes.calls("shape", "size", "ndim", "dtype", "T", "mT", "nbytes", "itemsize", "real", "imag", "sharding"),
        lambda facts: is_array(facts.value("x")),
    ],
    title="`.{f.name}` of an array is not a method",
    why="`.{f.name}` is a value already, as in NumPy, and cannot be called.",
    fixes=Swap("Take that entry of the shape.", when=probes.calls("size", "shape"), call="{x.atom}.shape[{first}]"),
    otherwise=[
        Swap("If you mean the sizes of all axes, as in PyTorch.", when=probes.calls("size"), call="{x.atom}.shape"),
        Swap("Leave out the parentheses.", call="{f}"),
    ],
    **_HERE,
)
entry(
    "two_axes_transposed",
    texts.TRANSPOSE,
    when=[*_NO_KEYWORDS, probes.calls("transpose", "permute_dims")],
    rank=lambda facts: len(re.findall(r"\d+", facts["g2"])),
    title="`transpose` needs every axis",
    what=("{x.is_here}", "The array has shape ({g2}): {rank} axes."),
    why="As in NumPy, it takes the order of all axes; ({g1}) is not one of {rank} axes.",
    fixes=Swap(
        "Swap the two axes with `swapaxes`.",
        when=lambda facts: len(facts["axes"]) == 2,
        call="{x.atom}.swapaxes({others})",
    ),
    otherwise="Give each of the {rank} axes once, in the order of the result.",
    **_HERE,
)
entry(
    "viewed_as_shape",
    texts.VIEW_SHAPE,
    texts.VIEW_DTYPE,
    when=[*_NO_KEYWORDS, probes.calls("view")],
    title="`.view` takes a dtype, not a shape",
    why="As in NumPy, `.view` reads the same bytes as another dtype; it is PyTorch's that changes the shape.",
    fixes=Swap("Change the shape with `.reshape`.", call="{x.atom}.reshape({given})"),
    **_HERE,
)
entry(
    "flattened_from_axis",
    texts.FLATTEN_ORDER,
    axis=probes.one_of(probes.argument(0), probes.keyword("start_dim")),
    when=[probes.calls("flatten"), probes.is_valued("axis", int)],
    title="`.flatten` makes one axis of all",
    why="As in NumPy, it takes an order; it is PyTorch's that takes the axis to start from.",
    fixes=Swap("Keep the first axes, and join the rest.", call="{x.atom}.reshape(*{x.atom}.shape[:{axis}], -1)"),
    **_HERE,
)
entry(
    "kept_axis_by_position",
    texts.BOOL_AS_DTYPE,
    last=lambda facts: facts["axes"][1],
    # Of PyTorch's `std`, `unbiased` comes second.
    when=[*_NO_KEYWORDS, probes.calls("sum", "mean", "prod"), lambda facts: len(facts["axes"]) == 2],
    title="The argument after the axis is the dtype",
    what="`{last}` stands where the dtype belongs.",
    why="As in NumPy, `keepdims` is given by name; it is PyTorch's that comes second.",
    fixes=Swap("Give it by name.", last="keepdims={last}"),
    **_HERE,
)
entry(
    "waiting_while_tracing",
    texts.NOT_AVAILABLE_WHILE_TRACING,
    x=probes.holder,
    title="`.{g1}` has nothing to wait for while JAX traces",
    why="The function is only recorded now, and computes later.",
    fixes=Swap("Leave it out here, and wait for the result of the whole function.", call="{x}"),
    link=f"{texts.API}/jax.block_until_ready.html",
)


# Arrays where a number is meant, and values that are not JAX arrays.


entry(
    "scalar_of_array",
    texts.NOT_A_SCALAR,
    x=probes.receiver(0),
    when=[*_NO_KEYWORDS, lambda facts: not isinstance(facts.value("x"), np.ndarray) and facts["x"].ndim],
    count=lambda facts: math.prod(facts["x"].shape),
    one_entry=lambda facts: ", ".join("0" * facts["x"].ndim),
    title="Python needs one number, but this array has axes",
    what=("{x.is_here}", "`{x}` has shape {x.shape}."),
    why="`float(x)` and the like take an array of shape (), and `x.item()` one that has a single entry.",
    fixes=Either(
        Swap(
            "Use JAX's function, which takes arrays.",
            when=lambda facts: facts.value("f") is getattr(math, facts["f"].name, 0) and hasattr(jnp, facts["f"].name),
            f="{jnp}.{f.name}",
        ),
        Swap("Take its one entry.", when=lambda facts: facts["count"] == 1, x="{x.atom}.reshape(())"),
        Words("It has no entries: find out where it becomes empty.", when=lambda facts: facts["count"] == 0),
        "Take one entry, such as `{x.atom}[{one_entry}]`, or reduce it, as `{x.atom}.mean()` does; `.tolist()` "
        "gives all.",
    ),
    link=_ARRAY,
)

_HOLDERS = ("tuple", "list", "dict", "ndarray", "float", "int", "float32", "float64", "int32", "int64")
# What NumPy's arrays lack, and only somebody who expects JAX's array asks for: not `.delete` or `.format`.
_ONLY_JAX = ("addressable_data", "addressable_shards", "at", "copy_to_host_async", "devices", "is_deleted", "sharding")


def _holds_arrays(facts: Facts) -> bool:
    """Ask whether it is a list or tuple of JAX's arrays of one shape, and the attribute is one of arrays."""
    value = facts.value("x")
    arrays = isinstance(value, list | tuple) and value and all(isinstance(one, jax.Array) for one in value)
    return bool(arrays) and len({one.shape for one in value}) == 1 and hasattr(jax.Array, facts["g2"])


def _is_numeric(facts: Facts) -> bool:
    """Ask whether it is NumPy's array, or a list of numbers."""
    leaves = jax.tree.leaves(facts.value("x"))
    return facts["holder"] == "ndarray" or (
        facts["holder"] == "list" and all(isinstance(one, int | float | complex) for one in leaves)
    )


_NO_ARRAY: dict[str, Any] = {
    "x": probes.holder,
    "holder": lambda facts: facts["g1"].split(".")[-1],
    "what": ("`{x}` is {x.what} here.", "`{x}` is of type `{g1}` here."),
    "why": "It is of type `{g1}`, which has no such attribute.",
    "link": _ARRAY,
}
entry(
    "jax_method_of_other",
    texts.NO_JAX_METHOD,
    when=[
        probes.is_called,
        lambda facts: facts["g2"] == "block_until_ready",
        # Not a function that was not called, for one.
        lambda facts: facts["holder"] in _HOLDERS or any(map(is_array, jax.tree.leaves(facts.value("x")))),
    ],
    title="Only JAX's arrays have `.{g2}`",
    fixes=Swap("Wait with the function, which takes pytrees.", call="{jax}.block_until_ready({x})"),
    **_NO_ARRAY,
)
entry(
    "jax_method_of_other",
    texts.NO_JAX_METHOD,
    when=lambda facts: facts.knows("held") or (facts["g2"] in _ONLY_JAX and _is_numeric(facts)),
    held=lambda facts: facts["holder"] if _holds_arrays(facts) else None,
    title=("A {held} of arrays is not an array", "Only JAX's arrays have `.{g2}`"),
    fixes=Either(
        # A tuple often has the results of a function.
        Words(
            "Take the one that you mean, such as `{x}[0]`, or make one array of them: `{jnp}.stack({x})`.",
            when=lambda facts: facts["holder"] == "tuple",
        ),
        Swap("Make it JAX's array first.", x="{jnp}.asarray({x})"),
    ),
    **_NO_ARRAY,
)
