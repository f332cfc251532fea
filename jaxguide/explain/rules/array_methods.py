"""Explain methods and attributes that arrays of PyTorch, TensorFlow or NumPy have, and JAX's arrays have otherwise."""

import ast
import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import ACTIVATIONS, ARGUMENTS, GRADIENTS, METHODS
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part

_ARRAY = f"{texts.API}/jax.Array.html"


# Methods of other libraries.


def _renamed(facts: Facts) -> str:
    """Say the arguments, with the names that JAX has."""
    keywords = [(ARGUMENTS.get(one.arg or "", one.arg), one.value) for one in facts.call().keywords]
    positional = [facts.scene.quote(one) for one in facts.call().args]
    if facts["f"].name == "permute" and len(keywords) == 1:  # `dims=` has no name in JAX
        return facts.scene.quote(keywords[0][1])
    return ", ".join([*positional, *(f"{name}={facts.scene.quote(value)}" for name, value in keywords)])


def _template(name: str) -> str | None:
    """Find what to write for a method."""
    if name in METHODS:
        return METHODS[name]
    if isinstance(getattr(np, name, None), np.ufunc) and hasattr(jnp, name):
        return f"{{jnp}}.{name}({{x}}, {{renamed}})"
    return f"{{jax}}.nn.{name}({{x}}, {{renamed}})" if name in ACTIVATIONS else None


def _written(facts: Facts) -> str | None:
    """Say what stands for the call in JAX, if its arguments are those that the method has."""
    call, template = facts.call(), _template(facts["f"].name.removesuffix("_"))
    if template is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    count = ("{first" in template) + ("{second" in template)
    if "{renamed}" not in template and len(call.args) + len(call.keywords) != count:
        return None
    if facts["f"].name == "expand" and set("-([") & set(facts["renamed"]):  # -1 keeps a size in PyTorch
        return None
    text = facts.say(template).replace(", )", ")")
    outer = facts.scene.source.parents.get(call)
    bare = isinstance(outer, ast.stmt | ast.keyword) or (isinstance(outer, ast.Call) and call in outer.args)
    return f"({text})" if not bare and (template.startswith("-") or "} " in template) else text


def _is_last(facts: Facts) -> bool:
    """Ask whether no further method that JAX's arrays lack is called on the result."""
    outer = facts.scene.source.parents.get(facts.call())
    return not isinstance(outer, ast.Attribute) or (hasattr(np.ndarray, outer.attr) and outer.attr != "view")


def _is_for_numpy(facts: Facts) -> bool:
    """Ask whether a traced array is made NumPy's, also by a later method in the statement."""
    wanted = re.search(r"\.(to_numpy|asnumpy|numpy)\(", str(facts["statement"]))
    return wanted is not None and facts.scene.tracer(facts.node("x")) is not None


def _is_device(facts: Facts) -> bool:
    value = facts.value("first")
    return isinstance(value, str) and re.fullmatch(r"(cpu|cuda|gpu|tpu|mps|metal)(:\d+)?", value) is not None


_METHOD: dict[str, Any] = {
    "x": probes.holder,
    "first": probes.argument(0),
    "second": probes.argument(1),
    "renamed": _renamed,
    "written": _written,
}
_OTHER: dict[str, Any] = {
    "title": "JAX's arrays have no method `{f.name}`",
    "why": "It belongs to another library's arrays. JAX's have the methods of NumPy's; the rest are functions.",
    "link": _ARRAY,
    **_METHOD,
}
_NO_NEED = "Leave it out: JAX's arrays are on its default device, which is an accelerator if it has one."
entry(
    "gradient_of_array",
    texts.NO_METHOD,
    when=lambda facts: facts["node"].name in GRADIENTS,
    title="JAX's arrays do not record how they were computed",
    why="So they have no `.{node.name}`. JAX differentiates functions, not results.",
    fixes=(
        "Write the loss as a function of the parameters: `jax.grad(loss)(parameters)` is the gradient, and "
        "`jax.value_and_grad` returns the loss too."
    ),
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
        Swap(_NO_NEED, when=_is_device, call="{x}"),
        Swap(
            "Write `{x.atom}.astype`.",
            when=probes.is_valued("first", type, np.dtype),
            call="{x.atom}.astype({first})",
        ),
        "For a dtype write `.astype(dtype)`, and for a device `{jax}.device_put(x, device)`.",
    ),
    **_OTHER,
)
entry(
    "method_of_another_library",
    texts.NO_METHOD,
    when=probes.is_called,
    function=lambda facts: (re.match(r"([\w.]+)\(", facts["written"]) or [None, None])[1],
    fixes=Either(
        Words(
            "Return it, and convert the result outside: `{np}.asarray(result)`.",
            when=_is_for_numpy,
        ),
        Words("Write it with JAX's own functions, the first as `{written}`.", when=probes.unless(_is_last)),
        Swap("Write `{function}`.", call="{written}"),
        Swap("JAX's own way.", call="{written}"),
    ),
    **_OTHER,
)


# Methods and attributes that mean something else in other libraries.


def _array(facts: Facts) -> ast.expr | None:
    """Look at the array of a method or a function of `jax.numpy`; not at one of NumPy's."""
    found: ast.expr | None = probes.receiver(0)(facts)
    return None if isinstance(facts.scene.spot.value(found), np.ndarray) else found


def _axes(facts: Facts) -> list[ast.expr]:
    """Look at what the method is given besides the array."""
    given = facts.call().args
    return [one for one in given if one is not facts.node("x")]


def _are_sizes(facts: Facts) -> bool:
    """Ask whether all arguments are sizes; one that is not known alone may be a dtype."""
    values = [facts.scene.spot.value(one) for one in facts.call().args]
    sizes = all(isinstance(one, int | tuple | list) for one in values if one is not MISSING)
    return sizes and (len(values) > 1 or MISSING not in values)


_HERE: dict[str, Any] = {"x": _array, "first": probes.argument(0)}
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
        Swap("If you mean the number of entries.", when=probes.calls("size"), call="{x.atom}.size"),
        Swap("Leave out the parentheses.", when=probes.unless(probes.calls("size")), call="{x.atom}.{f.name}"),
    ],
    link=_ARRAY,
    **_HERE,
)
entry(
    "two_axes_transposed",
    texts.TRANSPOSE,
    x=_array,
    when=[*_NO_KEYWORDS, probes.calls("transpose", "permute_dims")],
    two=lambda facts: _axes(facts) if len(_axes(facts)) == 2 else None,
    rank=lambda facts: len(re.findall(r"\d+", facts["g2"])),
    title="`transpose` needs every axis",
    what=("{x.is_here}", "The array has shape ({g2}): {rank} axes."),
    why="As in NumPy, it takes the order of all axes; ({g1}) is not one of {rank} axes.",
    fixes=Swap("Swap the two axes with `swapaxes`.", when=probes.knows("two"), call="{x.atom}.swapaxes({others})"),
    otherwise="Give each of the {rank} axes once, in the order of the result.",
    link=f"{texts.API}/jax.numpy.swapaxes.html",
)
entry(
    "viewed_as_shape",
    texts.VIEW_SHAPE,
    texts.VIEW_DTYPE,
    when=[*_NO_KEYWORDS, probes.calls("view"), _are_sizes],
    title="`.view` takes a dtype, not a shape",
    why="As in NumPy, `.view` reads the same bytes as another dtype; it is PyTorch's that changes the shape.",
    fixes=Swap("Change the shape with `.reshape`.", call="{x.atom}.reshape({given})"),
    link=f"{texts.API}/jax.numpy.reshape.html",
    **_HERE,
)
entry(
    "flattened_from_axis",
    texts.FLATTEN_ORDER,
    x=_array,
    axis=probes.one_of(probes.argument(0), probes.keyword("start_dim")),
    when=[probes.calls("flatten"), probes.is_valued("axis", int)],
    title="`.flatten` makes one axis of all",
    why="As in NumPy, it takes an order; it is PyTorch's that takes the axis to start from.",
    fixes=Swap(
        "Keep the sizes of the first axes, and join the rest.",
        call="{x.atom}.reshape(*{x.atom}.shape[:{axis}], -1)",
    ),
    link=f"{texts.API}/jax.numpy.reshape.html",
)
entry(
    "kept_axis_by_position",
    texts.BOOL_AS_DTYPE,
    x=_array,
    last=lambda facts: _axes(facts)[1],
    # Of PyTorch's `std`, `unbiased` comes second.
    when=[*_NO_KEYWORDS, probes.calls("sum", "mean", "prod"), lambda facts: len(_axes(facts)) == 2],
    title="The argument after the axis is the dtype",
    what="`{last}` stands where the dtype belongs.",
    why="As in NumPy, `keepdims` is given by name; it is PyTorch's that comes second.",
    fixes=Swap("Give it by name.", last="keepdims={last}"),
    link=f"{texts.API}/jax.numpy.sum.html",
)
entry(
    "waiting_while_tracing",
    texts.NOT_AVAILABLE_WHILE_TRACING,
    x=probes.holder,
    when=probes.is_called,
    title="`.{g1}` has nothing to wait for while JAX traces",
    why="The function is only recorded now, and computes later.",
    fixes=Swap("Leave it out here, and wait for the result of the whole function.", call="{x}"),
    link=f"{texts.API}/jax.block_until_ready.html",
)


# Arrays where a number is meant, and values that are not JAX arrays.


def _several(facts: Facts) -> Part | None:
    """Look at the array of which one number is wanted, if it has axes."""
    item = probes.calls("item")(facts)
    node: ast.expr | None = probes.owner(facts) if item else probes.argument(0)(facts)
    part = facts.at(node) if node is not None else None
    is_of_jax = part is not None and isinstance(part.value_or_missing, jax.Array | type(MISSING))
    return part if part is not None and is_of_jax and part.ndim else None


def _size(facts: Facts) -> int:
    return math.prod(facts["x"].shape)


entry(
    "scalar_of_array",
    texts.NOT_A_SCALAR,
    x=_several,
    when=_NO_KEYWORDS,
    entries=lambda facts: _size(facts) if probes.calls("item")(facts) else None,
    one_entry=lambda facts: ", ".join("0" * facts["x"].ndim),
    title="Python needs one number, but this array has axes",
    what=("{x.is_here}", "`{x}` has shape {x.shape}."),
    why=(
        "`.item()` returns the only entry, and there are {entries}.",
        "Only an array of shape () is a number for Python.",
    ),
    fixes=Either(
        Swap(
            "Use JAX's function, which takes arrays.",
            when=lambda facts: facts.value("f") is getattr(math, facts["f"].name, 0) and hasattr(jnp, facts["f"].name),
            f="{jnp}.{f.name}",
        ),
        Swap("Take its one entry.", when=lambda facts: _size(facts) == 1, x="{x.atom}.reshape(())"),
        Words("It has no entries: find out where it becomes empty.", when=lambda facts: _size(facts) == 0),
        "Take one entry, such as `{x.atom}[{one_entry}]`, or reduce it, as `{x.atom}.mean()` does; `.tolist()` "
        "gives all.",
    ),
    link=_ARRAY,
)

# What NumPy's arrays lack, and only somebody who expects JAX's array asks for: not `.delete` or `.format`.
_ONLY_JAX = (
    *("addressable_data", "addressable_shards", "at", "block_until_ready", "copy_to_host_async", "devices"),
    *("is_deleted", "sharding"),
)


def _holds_arrays(facts: Facts) -> bool:
    """Ask whether it is a list or tuple of JAX's arrays of one shape, and the attribute is one of arrays."""
    value = facts.value("x")
    arrays = isinstance(value, list | tuple) and value and all(isinstance(one, jax.Array) for one in value)
    return bool(arrays) and len({one.shape for one in value}) == 1 and hasattr(jax.Array, facts["g2"])


def _is_numeric(value: Any) -> bool:
    """Return whether a value is a list of numbers, or of lists of numbers."""
    return isinstance(value, list) and all(
        _is_numeric(one) if isinstance(one, list) else isinstance(one, int | float | complex) for one in value
    )


def _is_waited_for(facts: Facts) -> bool:
    """Ask whether `.block_until_ready()` is called on arrays; not on a function that was not called, for one."""
    value = facts.value("x")
    kinds = ("tuple", "list", "dict", "ndarray", "float", "int", "float32", "float64", "int32", "int64")
    known = value is not MISSING and any(is_array(one) for one in jax.tree.leaves(value))
    return probes.is_called(facts) and facts["g2"] == "block_until_ready" and (known or facts["holder"] in kinds)


_NO_ARRAY: dict[str, Any] = {
    "x": probes.holder,
    "holder": lambda facts: facts["g1"].split(".")[-1],
    "what": ("`{x}` is {x.what} here.", "`{x}` is of type `{g1}` here."),
}
_NO_ATTRIBUTE = "It is of type `{g1}`, which has no such attribute."
entry(
    "jax_method_of_other",
    texts.NO_JAX_METHOD,
    when=_is_waited_for,
    title="Only JAX's arrays have `.{g2}`",
    why=_NO_ATTRIBUTE,
    fixes=Swap(
        "Wait with the function: it takes arrays, NumPy's arrays, and tuples or dicts of them.",
        call="{jax}.block_until_ready({x})",
    ),
    link=f"{texts.API}/jax.block_until_ready.html",
    **_NO_ARRAY,
)
entry(
    "jax_method_of_other",
    texts.NO_JAX_METHOD,
    when=_holds_arrays,
    title="A {holder} of arrays is not an array",
    why=_NO_ATTRIBUTE,
    fixes=Either(
        Swap("Make one array of them first.", when=probes.is_valued("x", list), x="{jnp}.stack({x})"),
        # Often the results of a function.
        "Take the one that you mean, such as `{x}[0]`, or make one array of them: `{jnp}.stack({x})`.",
    ),
    link=_ARRAY,
    **_NO_ARRAY,
)
entry(
    "jax_method_of_other",
    texts.NO_JAX_METHOD,
    when=lambda facts: facts["g2"] in _ONLY_JAX and (facts["holder"] == "ndarray" or _is_numeric(facts.value("x"))),
    title="Only JAX's arrays have `.{g2}`",
    why=_NO_ATTRIBUTE,
    fixes=Swap("Make it JAX's array first.", x="{jnp}.asarray({x})"),
    link=texts.AT_LINK,
    **_NO_ARRAY,
)
