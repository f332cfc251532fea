"""Explain methods, attributes and arguments that PyTorch, TensorFlow or NumPy have, and JAX has otherwise."""

import ast
import inspect
import math
import re
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.compat.other_libraries import ARGUMENTS, ARGUMENTS_OF_SOME, METHODS, NAMES
from jaxguide.compat.removals import KEYWORD_REMOVALS
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


_method = partial(
    entry,
    x=probes.holder,
    first=probes.argument(0),
    second=probes.argument(1),
    renamed=_renamed,
    # In PyTorch, -1 keeps a size.
    sizes=lambda facts: None if set("-([") & set(facts["renamed"]) else facts["renamed"],
    written=_written,
)
_method(
    "gradient_of_array",
    texts.NO_METHOD,
    when=lambda facts: facts["node"].name.rstrip("_") in ("grad", "backward", "grad_fn", "requires_grad", "zero_grad"),
    title="JAX's arrays do not record how they were computed",
    why="So they have no `.{node.name}`. JAX differentiates functions, not results.",
    fixes="Write the loss as a function of the parameters: `jax.grad(loss)(parameters)` is the gradient, and "
    "`jax.value_and_grad` returns the loss too.",
    link=f"{texts.API}/jax.grad.html",
)
_method(
    "in_place_method",
    texts.NO_METHOD,
    when=[probes.is_called, lambda facts: facts["f"].name.endswith("_")],
    title="An array cannot be changed in place",
    why="JAX arrays never change, so they have no method `{f.name}`.",
    fixes=Swap("Make a new array, and keep it.", when=probes.is_statement, call="{x} = {written}"),
    otherwise="Make a new array, and use it from here on: `{written}`.",
    link=texts.AT_LINK,
)
_method(
    "method_of_another_library",
    texts.NO_METHOD,
    title="JAX's arrays have no method `{f.name}`",
    why="It belongs to another library's arrays. JAX's have the methods of NumPy's; the rest are functions.",
    link=_ARRAY,
    when=[probes.is_called, lambda facts: probes.calls("to")(facts) or facts.knows("written")],
    # What is called on the result, which may be a method that JAX's arrays lack, too.
    after=lambda facts: getattr(facts.scene.source.parents[facts.call()], "attr", "shape"),
    function=lambda facts: facts["written"].partition("(")[0] or facts["written"],
    fixes=Either(
        Swap("Write `{x.atom}.astype`.", when=probes.is_valued("first", type, np.dtype), f="{x.atom}.astype"),
        Words(
            "For a dtype write `.astype(dtype)`. Leave a device out: JAX uses an accelerator if it has one; otherwise "
            "write `{jax}.device_put(x, device)`.",
            when=probes.calls("to"),
        ),
        Words(
            "Return it, and convert the result outside: `{np}.asarray(result)`.",
            when=lambda facts: "numpy()" in str(facts["statement"]) and facts.scene.tracer(facts.node("x")) is not None,
        ),
        Words(
            "Write it with JAX's own functions, the first as `{written}`.",
            when=lambda facts: not hasattr(np.ndarray, facts["after"]),
        ),
        Swap("Write `{function}`.", call="{written}"),
    ),
)


# Methods and attributes that mean something else in other libraries.


def _array(facts: Facts) -> ast.expr | None:
    """Look at the array of a method or a function of `jax.numpy`; not at one of NumPy's."""
    found: ast.expr | None = probes.receiver(0)(facts)
    return None if isinstance(facts.scene.spot.value(found), np.ndarray) else found


_here = partial(
    entry,
    x=_array,
    first=probes.argument(0),
    # What is given besides the array.
    axes=lambda facts: [one for one in facts.call().args if one is not facts.node("x")],
    link=_ARRAY,
)
_NO_KEYWORDS = [probes.is_written("node", ast.Call), lambda facts: not facts.call().keywords]
_here(
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
)
_here(
    "two_axes_transposed",
    texts.TRANSPOSE,
    when=[*_NO_KEYWORDS, probes.calls("transpose", "permute_dims")],
    rank=lambda facts: len(re.findall(r"\d+", facts["g2"])),
    title="`transpose` needs every axis",
    what=("{x.is_here}", "The array has shape ({g2}): {rank} axes."),
    why="As in NumPy, `{f.name}` takes an order of all axes; ({g1}) does not name each of the {rank} exactly once.",
    fixes=Swap(
        "Swap the two axes with `swapaxes`.",
        when=lambda facts: len(facts["axes"]) == 2,
        call="{x.atom}.swapaxes({others})",
    ),
    otherwise="Give each of the {rank} axes once, in the order of the result.",
)
_here(
    "viewed_as_shape",
    texts.VIEW_SHAPE,
    texts.VIEW_DTYPE,
    when=[*_NO_KEYWORDS, probes.calls("view")],
    title="`.view` takes a dtype, not a shape",
    why="As in NumPy, `.view` reads the same bytes as another dtype; it is PyTorch's that changes the shape.",
    fixes=Swap("Change the shape with `.reshape`.", call="{x.atom}.reshape({given})"),
)
_here(
    "flattened_from_axis",
    texts.FLATTEN_ORDER,
    axis=probes.one_of(probes.argument(0), probes.keyword("start_dim")),
    when=[probes.calls("flatten"), probes.is_valued("axis", int)],
    title="`.flatten` makes one axis of all",
    why="As in NumPy, it takes an order; it is PyTorch's that takes the axis to start from.",
    fixes=Swap("Keep the first axes, and join the rest.", call="{x.atom}.reshape(*{x.atom}.shape[:{axis}], -1)"),
)
_here(
    "kept_axis_by_position",
    texts.BOOL_AS_DTYPE,
    last=lambda facts: facts["axes"][1],
    # Of PyTorch's `std`, `unbiased` comes second.
    when=[*_NO_KEYWORDS, probes.calls("sum", "mean", "prod"), lambda facts: len(facts["axes"]) == 2],
    title="The argument after the axis is the dtype",
    what="`{last}` stands where the dtype belongs.",
    why="As in NumPy, `keepdims` is given by name; it is PyTorch's that comes second.",
    fixes=Swap("Give it by name.", last="keepdims={last}"),
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
    one_entry=lambda facts: ", ".join("0" * facts["x"].ndim) if 0 not in facts["x"].shape else None,
    title="Python needs one number, but this array has axes",
    what=("{x.is_here}", "`{x}` has shape {x.shape}."),
    why="`float(x)` and the like take an array of shape (), and `x.item()` one that has a single entry.",
    fixes=Either(
        Swap(
            "Use JAX's function, which takes arrays.",
            when=lambda facts: facts.value("f") is getattr(math, facts["f"].name, 0) and hasattr(jnp, facts["f"].name),
            f="{jnp}.{f.name}",
        ),
        Swap("Take its one entry.", when=lambda facts: set(facts["x"].shape) == {1}, x="{x.atom}.reshape(())"),
        "Take one entry, such as `{x.atom}[{one_entry}]`, or reduce it, as `{x.atom}.mean()` does; `.tolist()` "
        "gives all.",
        "It has no entries: find out where it becomes empty.",
    ),
    link=_ARRAY,
)

# What NumPy's arrays lack, and only somebody who expects JAX's array asks for: not `.delete` or `.format`.
_ONLY_JAX = ("addressable_data", "addressable_shards", "at", "copy_to_host_async", "devices", "is_deleted", "sharding")


def _is_meant_as_array(facts: Facts) -> bool:
    """Ask whether it is an array of NumPy, a list of numbers or of arrays of one shape, or what may be waited for."""
    holder, leaves = facts["g1"].split(".")[-1], jax.tree.leaves(facts.value("x"))
    if facts["g2"] == "block_until_ready":  # a number is one of NumPy's, a call's value is not known
        return holder in ("tuple", "list", "dict", "ndarray", "float32", "float64") or any(map(is_array, leaves))
    if holder in ("list", "tuple") and all(isinstance(one, jax.Array) for one in leaves):
        return len({*map(np.shape, leaves)}) == 1 and hasattr(jax.Array, facts["g2"])
    is_numeric = holder == "ndarray" or (holder == "list" and all(isinstance(one, int | float) for one in leaves))
    return is_numeric and facts["g2"] in _ONLY_JAX


entry(
    "jax_method_of_other",
    texts.NO_JAX_METHOD,
    x=probes.holder,
    when=_is_meant_as_array,
    title="A `{g1}` is not JAX's array",
    what=("`{x}` is {x.what} here.", ""),
    why="It is of type `{g1}`, which has no `.{g2}`.",
    fixes=Either(
        Swap(
            "Wait with the function, which takes pytrees.",
            when=lambda facts: facts["g2"] == "block_until_ready",
            call="{jax}.block_until_ready({x})",
        ),
        # A tuple often has the results of a function.
        Words(
            "Take the one that you mean, such as `{x}[0]`, or make one array of them: `{jnp}.stack({x})`.",
            when=probes.is_valued("x", tuple),
        ),
        Swap("Make it JAX's array first.", x="{jnp}.asarray({x})"),
    ),
    link=_ARRAY,
)

# Arguments that a function of JAX does not take: renamed, PyTorch's, or NumPy's `out`.
_LEFT_OUT = ("out", "requires_grad")
# How the values or the indices are taken from PyTorch's result.
_TAKEN = re.compile(r"\)(\[[01]\]|\.(values|indices)\b)|^\w+, *\w+ = ")


def _of_jax(facts: Facts) -> Any:
    """Find the function of JAX that is called, also a method of an array, which may be computed in the same line."""
    value, name = facts.value("f"), facts["f"].name
    is_array = facts.scene.message.startswith(f"_{name}()") or isinstance(facts.value("base"), jax.Array)
    if value is MISSING and is_array:
        value = getattr(jax.Array, name, None)
    return value if str(getattr(value, "__module__", "")).startswith("jax.") else None


def _new_name(facts: Facts, old: str | None) -> str | None:
    """Find what an argument is called, '' if it can be left out."""
    declared, given = inspect.signature(facts["function"]).parameters, {one.arg for one in facts.call().keywords}
    removed = {old: new for (name, old), new in KEYWORD_REMOVALS.items() if name.endswith(f".{facts['f'].name}")}
    names = ARGUMENTS_OF_SOME.get(str(old)) or [ARGUMENTS.get(str(old), "" if old in _LEFT_OUT else None)]
    names = [removed[old]] if old in removed else [old] if old in declared else names
    return next((one for one in names if one in ("", old) or one in {*declared} - given), None)


def _with_new_names(facts: Facts) -> str | None:
    """Say all arguments with the names that the function has; None if one is not known."""
    declared = inspect.signature(facts["function"]).parameters
    if facts["g2"] in declared or any(one.kind is one.VAR_KEYWORD for one in declared.values()):
        return None  # it hands on the others
    new = {one: _new_name(facts, one.arg) for one in facts.call().keywords}
    said = [facts.scene.quote(one) for one in facts.call().args]
    said += [f"{name}={facts.scene.quote(one.value)}" for one, name in new.items() if name]
    return ", ".join(said) if None not in new.values() else None


_JAX = probes.knows("function")
_keyword = partial(
    entry,
    base=lambda facts: getattr(facts.node("f"), "value", None),
    function=_of_jax,
    when=_JAX,
    home=lambda facts: getattr(facts.value("base"), "__name__", "jax.numpy"),
    renamed=_with_new_names,
    variable="{g2}",
    title="`{f}` has no argument `{g2}`",
    what="",
    why="JAX's function does not take `{g2}`, whatever other libraries or older versions do.",
    link=f"{texts.API}/{{home}}.{{f.name}}.html",
)
_keyword(
    "values_and_indices",
    texts.NO_ARGUMENT,
    x=probes.fact("base"),
    other=lambda facts: {"max": "argmax", "min": "argmin", "sort": "argsort"}.get(facts["f"].name),
    when=[_JAX, lambda facts: facts["g2"] == "dim" and bool(_TAKEN.search(str(facts["statement"])))],
    title="`{f}` has no argument `dim`, and returns no indices",
    why="As in NumPy, it returns the values alone, and `{other}` finds where they are.",
    fixes="Write `{f}({renamed})` for the values, and `{x.atom}.{other}({renamed})` for the places.",
)
_keyword(
    "out_argument",
    texts.NO_ARGUMENT,
    texts.NO_OUT,
    x=probes.keyword("out"),
    variable="{x}",
    title="`{f}` cannot write into an array",
    what=("{x.is_here}", ""),
    why="JAX arrays never change: every function returns a new array, so there is no `out`.",
    fixes=Swap("Keep what it returns.", when=probes.is_statement, call="{x} = {f}({others})"),
    otherwise="Leave it out, and use what the function returns.",
)
_keyword(
    "unknown_argument",
    texts.NO_ARGUMENT,
    x=probes.call,
    shape=probes.keyword("shape"),
    new=lambda facts: _new_name(facts, facts["g2"]) or None,
    fixes=Either(
        Swap("Give it without a name.", lambda facts: facts["f"].name == "reshape", call="{f}({shape})"),
        Swap("The argument is called `{new}`.", call="{f}({renamed})"),
        Swap("Leave it out.", call="{f}({renamed})"),
    ),
)
_keyword(
    "unknown_argument",
    texts.NO_KIND,
    x=probes.keyword("kind"),
    variable="kind",
    title="`{f}` has no argument `kind`",
    why="JAX's function does not take `kind`, and keeps the order of equal entries unless `stable=False` is given.",
    fixes=Swap("Leave it out.", call="{f}({others})"),
)
