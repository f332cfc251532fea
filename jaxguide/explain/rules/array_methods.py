"""Explain methods and attributes that arrays of PyTorch, TensorFlow or NumPy have, and JAX's arrays have otherwise."""

import ast
import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.written_shapes import made_with
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene
from jaxguide.jaxpr.value_words import describe

_ARRAY = f"{error_texts.API}/jax.Array.html"
# Method -> (the number of arguments, what to write). `{x}` is the array, `{0}` an argument, `{args}` all of them.
_METHODS: dict[str, tuple[int | None, str]] = {
    "unsqueeze": (1, "{jnp}.expand_dims({x}, {args})"),
    "permute": (None, "{x}.transpose({args})"),
    "numel": (0, "{x}.size"),
    "nelement": (0, "{x}.size"),
    "dim": (0, "{x}.ndim"),
    "ndimension": (0, "{x}.ndim"),
    "get_shape": (0, "{x}.shape"),
    "float": (0, "{x}.astype({jnp}.float32)"),
    "half": (0, "{x}.astype({jnp}.float16)"),
    "bfloat16": (0, "{x}.astype({jnp}.bfloat16)"),
    "int": (0, "{x}.astype({jnp}.int32)"),
    "long": (0, "{x}.astype({jnp}.int32)"),
    "bool": (0, "{x}.astype(bool)"),
    "clamp": (None, "{jnp}.clip({x}, {args})"),
    "clamp_min": (1, "{jnp}.maximum({x}, {args})"),
    "clamp_max": (1, "{jnp}.minimum({x}, {args})"),
    "masked_fill": (2, "{jnp}.where({0}, {1}, {x})"),
    "index_select": (2, "{jnp}.take({x}, {1}, axis={0})"),
    "gather": (2, "{jnp}.take_along_axis({x}, {1}, axis={0})"),
    "expand_as": (1, "{jnp}.broadcast_to({x}, {0}.shape)"),
    "view_as": (1, "{x}.reshape({0}.shape)"),
    "reshape_as": (1, "{x}.reshape({0}.shape)"),
    "new_zeros": (1, "{jnp}.zeros({0}, {x}.dtype)"),
    "new_ones": (1, "{jnp}.ones({0}, {x}.dtype)"),
    "detach": (0, "{lax}.stop_gradient({x})"),
    "contiguous": (0, "{x}"),
    "cpu": (0, "{x}"),
    "cuda": (None, "{x}"),
    "clone": (0, "{jnp}.copy({x})"),
    "numpy": (0, "{np}.asarray({x})"),
    "to_numpy": (0, "{np}.asarray({x})"),
    "asnumpy": (0, "{np}.asarray({x})"),
    "t": (0, "{x}.T"),
    "add": (1, "{x} + {0}"),
    "sub": (1, "{x} - {0}"),
    "mul": (1, "{x} * {0}"),
    "div": (1, "{x} / {0}"),
    "neg": (0, "-{x}"),
    "mm": (1, "{x} @ {0}"),
    "bmm": (1, "{x} @ {0}"),
    "norm": (0, "{jnp}.linalg.norm({x})"),
    "flip": (None, "{jnp}.flip({x}, {args})"),
    "roll": (None, "{jnp}.roll({x}, {args})"),
    "outer": (1, "{jnp}.outer({x}, {0})"),
    "tril": (None, "{jnp}.tril({x}, {args})"),
    "triu": (None, "{jnp}.triu({x}, {args})"),
    "unique": (0, "{jnp}.unique({x})"),
    "equal": (1, "{jnp}.array_equal({x}, {0})"),
}
_IN_PLACE = {
    "add_": (1, "{x} + {0}"),
    "sub_": (1, "{x} - {0}"),
    "mul_": (1, "{x} * {0}"),
    "div_": (1, "{x} / {0}"),
    "zero_": (0, "{jnp}.zeros_like({x})"),
    "fill_": (1, "{jnp}.full_like({x}, {0})"),
    "clamp_": (None, "{jnp}.clip({x}, {args})"),
    "exp_": (0, "{jnp}.exp({x})"),
    "sqrt_": (0, "{jnp}.sqrt({x})"),
    "abs_": (0, "{jnp}.abs({x})"),
}
_GRADIENTS = ("backward", "grad", "grad_fn", "requires_grad", "requires_grad_", "retain_grad", "zero_grad")
_ACTIVATIONS = ("relu", "sigmoid", "softmax", "log_softmax", "softplus", "gelu", "silu", "logsumexp", "elu")
_KEYWORDS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "shifts": "shift"}
_DEVICES = re.compile(r"(cpu|cuda|gpu|tpu|mps|metal)(:\d+)?")
_UNCALLED = ("shape", "size", "ndim", "dtype", "T", "mT", "nbytes", "itemsize", "real", "imag", "sharding")
# What NumPy's arrays lack, and only somebody who expects JAX's array asks for: not `.delete` or `.format`.
_ONLY_JAX = frozenset(
    (
        *("addressable_data", "addressable_shards", "at", "block_until_ready", "copy_to_host_async", "devices"),
        *("is_deleted", "sharding"),
    )
)
_CONTAINERS = ("tuple", "list", "dict", "ndarray", "float", "int", "float32", "float64", "int32", "int64")


@explains(error_texts.NO_METHOD)
def method_of_another_library(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.unsqueeze(0)`, `x.numpy()`, `x.exp()` and `loss.backward()`."""
    node = scene.node
    if not isinstance(node, ast.Attribute) or node.attr not in (found[1], found[2]):
        return None
    parent = scene.source.parents.get(node)
    call = parent if isinstance(parent, ast.Call) and parent.func is node else None
    if node.attr in _GRADIENTS:
        return _gradient(scene, node)
    if call is None:
        return None
    if node.attr in _IN_PLACE or (node.attr.endswith("_") and node.attr[:-1] in _METHODS):
        return _in_place(scene, node, call)
    if node.attr == "to":
        return _moved_to(scene, node, call)
    names = [node.attr, *(attribute.attr for attribute, _outer in _rest_of_chain(scene, call))]
    if scene.tracer(node.value) is not None and any(name in ("numpy", "to_numpy", "asnumpy") for name in names):
        fix: Fix | None = scene.advice(f"Return it, and convert the result outside: `{scene.np}.asarray(result)`.")
    else:
        text, whole, complete = _written(scene, node, call), call, True
        for attribute, outer in _rest_of_chain(scene, call):
            if text is None:
                break
            further = _written(scene, attribute, outer, text)
            if _is_shape_view(scene, outer):
                further = f"{text}.reshape({', '.join(map(scene.quote, outer.args))})"
            elif hasattr(jax.Array, attribute.attr):
                further = text + scene.quote(outer)[len(scene.quote(outer.func.value)) :]  # type: ignore[attr-defined]
            complete = further is not None
            if further is None:
                break
            text, whole = further, outer
        edit = scene.source.replace(whole, text) if text is not None and complete else None
        words = _words_for(node.attr, text or "") if whole is call else "Write it with JAX's own functions."
        fix = scene.fix(words, edit, code="" if complete else text) if text else None
    return _no_method(scene, node, fix)


def _rest_of_chain(scene: Scene, call: ast.Call) -> list[tuple[ast.Attribute, ast.Call]]:
    """Return the methods called on a call's result, one after the other, up to the last that JAX's arrays lack too."""
    found: list[tuple[ast.Attribute, ast.Call]] = []
    while True:
        node = scene.source.parents.get(call)
        outer = scene.source.parents.get(node) if node is not None else None
        if not isinstance(node, ast.Attribute) or not isinstance(outer, ast.Call) or outer.func is not node:
            break
        found.append((node, outer))
        call = outer
    while found and hasattr(jax.Array, found[-1][0].attr) and not _is_shape_view(scene, found[-1][1]):
        found.pop()
    return found


def _is_shape_view(scene: Scene, call: ast.Call) -> bool:
    """Return whether a call is PyTorch's `.view(2, -1)`."""
    sizes = [scene.spot.value(a) for a in call.args]
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "view" and not call.keywords
    return named and bool(sizes) and all(type(size) in (int, tuple) for size in sizes)


def _words_for(name: str, text: str) -> str:
    if name in ("cpu", "cuda"):
        return "Leave it out: JAX's arrays are on its default device, which is an accelerator if it has one."
    if name == "contiguous":
        return "Leave it out: JAX lays out memory by itself."
    function = re.match(r"([\w.]+)\(", text)
    if function is not None:
        return f"Write `{function[1]}`."
    return "JAX's own way."


def _no_method(scene: Scene, node: ast.Attribute, fix: Fix | None) -> Explanation | None:
    name, value = scene.quote(node.value), scene.spot.value(node.value)
    return scene.explanation(
        "method_of_another_library",
        title=f"JAX's arrays have no method `{node.attr}`",
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why="It belongs to another library's arrays. JAX's have the methods of NumPy's; the rest are functions.",
        fixes=[fix],
        link=_ARRAY,
    )


def _written(scene: Scene, node: ast.Attribute, call: ast.Call, array: str | None = None) -> str | None:
    """Return what stands for a method's call in JAX; None if that is not certain.

    `array` is the text of the array if it is not what the student wrote.
    """
    name = node.attr
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    if name == "expand":
        sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
        if any(isinstance(scene.spot.value(s), int) and scene.spot.value(s) < 0 for s in sizes) or call.keywords:
            return None
        shape = ", ".join(scene.quote(size) for size in sizes)
        return f"{scene.jnp}.broadcast_to({array or scene.quote(node.value)}, ({shape},))" if sizes else None
    if name == "type":
        dtype = scene.spot.value(call.args[0]) if len(call.args) == 1 else MISSING
        return f"{array or scene.atom(node.value)}.astype({scene.quote(call.args[0])})" if _is_dtype(dtype) else None
    known = _METHODS.get(name)
    if known is None:
        home = ""
        if isinstance(getattr(np, name, None), np.ufunc) and hasattr(jnp, name):
            home = scene.jnp
        elif name in _ACTIVATIONS and hasattr(jax.nn, name):
            home = f"{scene.jax}.nn"
        known = (None, f"{home}.{name}({{x}}, {{args}})") if home else None
    return _filled(scene, known, node, call, array) if known is not None else None


def _filled(
    scene: Scene, known: tuple[int | None, str], node: ast.Attribute, call: ast.Call, array: str | None
) -> str | None:
    count, template = known
    if count is not None and (len(call.args) != count or call.keywords) and "{args}" not in template:
        return None
    joined = "{x} " in template or " {0}" in template or template.startswith("-")
    arguments = [scene.atom(a) if joined or "{0}." in template else scene.quote(a) for a in call.args]
    keywords = [f"{_KEYWORDS.get(k.arg or '', k.arg)}={scene.quote(k.value)}" for k in call.keywords]
    if node.attr == "permute" and not arguments and [k.arg for k in call.keywords] == ["dims"]:
        arguments, keywords = [scene.quote(call.keywords[0].value)], []
    if node.attr == "flip" and len(arguments) > 1:  # the axes one after the other
        arguments = [f"({', '.join(arguments)})"]
    plain = template.startswith(("{x}.", "{x} ", "-")) or template == "{x}"
    text = template.format(
        *arguments,
        x=array or (scene.atom(node.value) if plain else scene.quote(node.value)),
        args=", ".join([*arguments, *keywords]),
        jnp=scene.jnp,
        np=scene.np,
        lax=scene.lax,
    ).replace(", )", ")")
    outer = scene.source.parents.get(call)
    bare = isinstance(outer, ast.stmt | ast.keyword) or (isinstance(outer, ast.Call) and call in outer.args)
    return text if bare or not joined else f"({text})"


def _in_place(scene: Scene, node: ast.Attribute, call: ast.Call) -> Explanation | None:
    """Explain `x.add_(1.0)`."""
    statement, name = scene.spot.statement, scene.quote(node.value)
    text = _filled(scene, _IN_PLACE.get(node.attr) or _METHODS[node.attr[:-1]], node, call, None)
    alone = isinstance(statement, ast.Expr) and statement.value is call and isinstance(node.value, ast.Name)
    if text is None or (call.keywords and "clamp" not in node.attr):
        return None
    value = scene.spot.value(node.value)
    return scene.explanation(
        "in_place_method",
        title="An array cannot be changed in place",
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why=f"JAX arrays never change, so they have no method `{node.attr}`.",
        fixes=[
            scene.fix("Make a new array, and keep it.", scene.source.replace(call, f"{name} = {text}"))
            if alone
            else scene.advice(f"Make a new array, and use it from here on: `{text}`.")
        ],
        link=error_texts.AT_LINK,
    )


def _gradient(scene: Scene, node: ast.Attribute) -> Explanation | None:
    """Explain `loss.backward()`, `w.grad` and `w.requires_grad`."""
    name, value = scene.quote(node.value), scene.spot.value(node.value)
    return scene.explanation(
        "gradient_of_array",
        title="JAX's arrays do not record how they were computed",
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why=f"So they have no `.{node.attr}`. JAX differentiates functions, not results.",
        fixes=[
            scene.advice(
                "Write the loss as a function of the parameters: `jax.grad(loss)(parameters)` is the gradient, and "
                "`jax.value_and_grad` returns the loss too."
            )
        ],
        link=f"{error_texts.API}/jax.grad.html",
    )


def _moved_to(scene: Scene, node: ast.Attribute, call: ast.Call) -> Explanation | None:
    """Explain `x.to("cuda")` and `x.to(jnp.float16)`."""
    if len(call.args) != 1 or call.keywords:
        return None
    given, text = scene.spot.value(call.args[0]), scene.quote(call.args[0])
    if isinstance(given, str) and _DEVICES.fullmatch(given):
        fix = scene.fix(_words_for("cuda", ""), scene.source.replace(call, scene.quote(node.value)))
    elif isinstance(given, jax.Device | jax.sharding.Sharding):
        new = f"{scene.jax}.device_put({scene.quote(node.value)}, {text})"
        fix = scene.fix("Put it there with a function.", scene.source.replace(call, new))
    elif _is_dtype(given):
        new = f"{scene.atom(node.value)}.astype({text})"
        fix = scene.fix(_words_for("astype", new), scene.source.replace(call, new))
    else:
        fix = scene.advice(f"For a dtype write `.astype(dtype)`, and for a device `{scene.jax}.device_put(x, device)`.")
    return _no_method(scene, node, fix)


def _is_dtype(value: Any) -> bool:
    if value is MISSING or value is None or isinstance(value, str):
        return False
    try:
        jnp.dtype(value)
    except TypeError:
        return False
    return True


def _holds_arrays(value: Any) -> bool:
    """Return whether a list consists of JAX's arrays of one shape."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(one, jax.Array) for one in value) and len({one.shape for one in value}) == 1


def _is_numeric(value: Any) -> bool:
    """Return whether a value is a list of numbers, or of lists of numbers."""
    return isinstance(value, list) and all(
        _is_numeric(one) if isinstance(one, list) else isinstance(one, int | float | complex) for one in value
    )


@explains(error_texts.VALUE_CALLED)
def attribute_called(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.size(0)`, `x.shape()` and `x.T()`."""
    call = scene.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
        return None
    name, array = call.func.attr, scene.atom(call.func.value)
    value = scene.spot.value(call.func.value)
    if name not in _UNCALLED or not is_array(value) or len(call.args) > 1:
        return None
    if call.args:
        if name not in ("size", "shape"):
            return None
        one = scene.quote(call.args[0])
        fixes = [scene.fix("Take that entry of the shape.", _in(scene, call, f"{array}.shape[{one}]"))]
    elif name == "size":
        fixes = [
            scene.fix("If you mean the sizes of all axes, as in PyTorch.", _in(scene, call, f"{array}.shape")),
            scene.fix("If you mean the number of entries.", _in(scene, call, f"{array}.size")),
        ]
    else:
        fixes = [scene.fix("Leave out the parentheses.", _in(scene, call, f"{array}.{name}"))]
    text = scene.quote(call.func.value)
    return scene.explanation(
        "attribute_called",
        title=f"`.{name}` of an array is not a method",
        what=scene.what(text, value),
        variable=text,
        why=f"`.{name}` is a value already, as in NumPy, and cannot be called.",
        fixes=fixes,
        link=_ARRAY,
    )


def _in(scene: Scene, call: ast.Call, text: str) -> Any:
    return scene.source.replace(call, text)


@explains(error_texts.TRANSPOSE)
def two_axes_transposed(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.transpose(1, 2)`, which swaps two axes in PyTorch only."""
    call = scene.node
    given = [part for part in found[1].replace(" ", "").split(",") if part]
    rank = len([part for part in found[2].replace(" ", "").split(",") if part])
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
        return None
    module = scene.spot.value(call.func.value)
    of_module = module is jnp
    if call.func.attr not in ("transpose", "permute_dims") or (not of_module and hasattr(module, "__path__")):
        return None
    axes = call.args[1:] if of_module else call.args
    first = axes[0] if len(axes) == 1 else None
    in_tuple = isinstance(first, ast.Tuple | ast.List)  # NumPy's way: an axis may have been forgotten
    if isinstance(first, ast.Tuple | ast.List):
        axes = first.elts
    array = call.args[0] if of_module and call.args else call.func.value
    texts = [scene.quote(axis) for axis in axes]
    fix: Fix | None
    if len(given) == 2 == len(texts) and rank > 2 and not in_tuple:
        text = f"{scene.atom(array)}.swapaxes({', '.join(texts)})"
        fix = scene.fix("Swap the two axes with `swapaxes`.", scene.source.replace(call, text))
    else:
        fix = scene.advice(f"Give each of the {rank} axes once, in the order of the result.")
    variable, value = scene.quote(array), scene.spot.value(array)
    return scene.explanation(
        "two_axes_transposed",
        title="`transpose` needs every axis",
        what=scene.what(variable, value) if is_array(value) else f"The array has shape ({found[2]}): {rank} axes.",
        variable=variable,
        why=f"As in NumPy, it takes the order of all axes; ({found[1]}) is not one of {rank} axes.",
        fixes=[fix],
        link=f"{error_texts.API}/jax.numpy.swapaxes.html",
    )


@explains(error_texts.VIEW_SHAPE, error_texts.VIEW_DTYPE)
def viewed_as_shape(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.view(3, -1)`, which reshapes in PyTorch only."""
    call = scene.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "view":
        return None
    value = scene.spot.value(call.func.value)
    if isinstance(value, np.ndarray):
        return None
    sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List) else call.args
    known = [scene.spot.value(size) for size in sizes]
    if not known or call.keywords or not all(isinstance(size, int) or size is MISSING for size in known):
        return None
    if len(known) == 1 and known[0] is MISSING:  # it may be a dtype
        return None
    text, variable = ", ".join(scene.quote(a) for a in call.args), scene.quote(call.func.value)
    return scene.explanation(
        "viewed_as_shape",
        title="`.view` takes a dtype, not a shape",
        what=scene.what(variable, value) if is_array(value) else "",
        variable=variable,
        why="As in NumPy, `.view` reads the same bytes as another dtype; it is PyTorch's that changes the shape.",
        fixes=[
            scene.fix(
                "Change the shape with `.reshape`.",
                scene.source.replace(call, f"{scene.atom(call.func.value)}.reshape({text})"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.reshape.html",
    )


@explains(error_texts.FLATTEN_ORDER)
def flattened_from_axis(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.flatten(1)` and `x.flatten(start_dim=1)`, which keep the first axes in PyTorch only."""
    call = scene.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "flatten":
        return None
    value, given = scene.spot.value(call.func.value), [*call.args, *(keyword.value for keyword in call.keywords)]
    named = not call.keywords or [keyword.arg for keyword in call.keywords] == ["start_dim"]
    first = scene.spot.value(given[0]) if len(given) == 1 else MISSING
    if not isinstance(first, int) or first < 1 or not named or isinstance(value, np.ndarray):
        return None
    name, text = scene.quote(call.func.value), scene.atom(call.func.value)
    return scene.explanation(
        "flattened_from_axis",
        title="`.flatten` makes one axis of all",
        what=scene.what(name, value) if is_array(value) else "",
        variable=name,
        why="As in NumPy, it takes an order; it is PyTorch's that takes the axis to start from.",
        fixes=[
            scene.fix(
                "Keep the sizes of the first axes, and join the rest.",
                _in(scene, call, f"{text}.reshape(*{text}.shape[:{first}], -1)"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.reshape.html",
    )


@explains(error_texts.BOOL_AS_DTYPE)
def kept_axis_by_position(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.sum(0, True)`, whose second argument is PyTorch's `keepdim`."""
    call = scene.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
        return None
    function = call.func
    if function.attr not in ("sum", "mean", "prod") or not call.args:  # of PyTorch's `std`, `unbiased` comes second
        return None
    last, of_module = call.args[-1], scene.spot.value(function.value) is jnp
    if len(call.args) != 2 + of_module or not isinstance(scene.spot.value(last), bool):
        return None
    variable, text = scene.quote(call.args[0] if of_module else function.value), scene.quote(last)
    return scene.explanation(
        "kept_axis_by_position",
        title="The argument after the axis is the dtype",
        what=f"`{text}` stands where the dtype belongs.",
        variable=variable,
        why="As in NumPy, `keepdims` is given by name; it is PyTorch's that comes second.",
        fixes=[scene.fix("Give it by name.", scene.source.replace(last, f"keepdims={text}"))],
        link=f"{error_texts.API}/jax.numpy.sum.html",
    )


@explains(error_texts.NOT_AVAILABLE_WHILE_TRACING)
def waiting_while_tracing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x.block_until_ready()` in a jitted function."""
    call = scene.source.parents.get(scene.node)
    if not isinstance(scene.node, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not scene.node:
        return None
    array = scene.node.value
    text, value = scene.quote(array), scene.spot.value(array)
    return scene.explanation(
        "waiting_while_tracing",
        title=f"`.{found[1]}` has nothing to wait for while JAX traces",
        what=scene.traced_what(text, value) if is_tracer(value) else "",
        variable=text,
        why="The function is only recorded now, and computes later.",
        fixes=[
            scene.fix(
                "Leave it out here, and wait for the result of the whole function.", scene.source.replace(call, text)
            )
        ],
        link=f"{error_texts.API}/jax.block_until_ready.html",
    )


@explains(error_texts.NOT_A_SCALAR)
def scalar_of_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `float(x)` and `x.item()` of an array with several entries."""
    call = scene.node
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    item = isinstance(call.func, ast.Attribute) and call.func.attr == "item"
    if item and not call.args and isinstance(call.func, ast.Attribute):
        array = call.func.value
    elif len(call.args) == 1:
        array = call.args[0]
    else:
        return None
    value, text = scene.spot.value(array), scene.quote(array)
    written = made_with(scene, array) if value is MISSING else None
    if written and not item and isinstance(call.func, ast.Name) and call.func.id in ("float", "int", "complex"):
        return _number_of_written(scene, text, written)
    if not isinstance(value, jax.Array) or is_tracer(value) or not value.ndim:
        return None
    module = scene.spot.value(call.func.value) if isinstance(call.func, ast.Attribute) and not item else None
    fix: Fix | None
    if module is math and isinstance(call.func, ast.Attribute) and hasattr(jnp, call.func.attr):
        new = f"{scene.jnp}.{call.func.attr}"
        fix = scene.fix("Use JAX's function, which takes arrays.", scene.source.replace(call.func, new))
    elif value.size == 1:
        fix = scene.fix("Take its one entry.", scene.source.replace(array, f"{scene.atom(array)}.reshape(())"))
    elif not value.size:
        fix = scene.advice("It has no entries: find out where it becomes empty.")
    else:
        entry = f"{scene.atom(array)}[{', '.join('0' * value.ndim)}]"
        fix = scene.advice(
            f"Take one entry, such as `{entry}`, or reduce it, as `{scene.atom(array)}.mean()` does; `.tolist()` gives "
            "all."
        )
    return scene.explanation(
        "scalar_of_array",
        title="Python needs one number, but this array has axes",
        what=scene.what(text, value),
        variable=text,
        why="Only an array of shape () is a number for Python."
        if not item
        else f"`.item()` returns the only entry, and there are {value.size}.",
        fixes=[fix],
        link=_ARRAY,
    )


def _number_of_written(scene: Scene, text: str, shape: tuple[int, ...]) -> Explanation | None:
    """Explain `float(jnp.ones(3))`."""
    return scene.explanation(
        "scalar_of_array",
        title="Python needs one number, but this array has axes",
        what=f"`{text}` has shape {shape}.",
        variable=text,
        why="Only an array of shape () is a number for Python.",
        fixes=[scene.advice("Take one entry by an index, or reduce it, as `.mean()` does; `.tolist()` gives all.")],
        link=_ARRAY,
    )


@explains(error_texts.NO_JAX_METHOD)
def jax_method_of_other(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `.at` and other attributes of JAX's arrays on a NumPy array, a list, or a tuple of arrays."""
    node, kind = scene.node, found[1].split(".")[-1]
    if not isinstance(node, ast.Attribute) or node.attr != found[2]:
        return None
    value, text = scene.spot.value(node.value), scene.quote(node.value)
    parent = scene.source.parents.get(node)
    fix: Fix | None
    if node.attr == "block_until_ready":
        if not isinstance(parent, ast.Call) or parent.func is not node or parent.args:
            return None
        if kind not in _CONTAINERS and (value is MISSING or not any(is_array(x) for x in jax.tree.leaves(value))):
            return None  # a function that was not called, for one
        fix = scene.fix(
            "Wait with the function: it takes arrays, NumPy's arrays, and tuples or dicts of them.",
            scene.source.replace(parent, f"{scene.jax}.block_until_ready({text})"),
        )
    elif kind in ("list", "tuple") and _holds_arrays(value) and hasattr(jax.Array, node.attr):
        new = f"{scene.jnp}.{'stack' if value[0].ndim else 'array'}({text})"
        if kind == "list":
            fix = scene.fix("Make one array of them first.", scene.source.replace(node.value, new))
        else:  # often the results of a function
            words = "Take the one that you mean, such as `{name}[0]`, or make one array of them: `{new}`."
            fix = scene.advice(words.format(name=text, new=new))
    elif (kind == "ndarray" or _is_numeric(value)) and node.attr in _ONLY_JAX:
        fix = scene.fix("Make it JAX's array first.", scene.source.replace(node.value, f"{scene.jnp}.asarray({text})"))
    else:
        return None
    return scene.explanation(
        "jax_method_of_other",
        title=f"Only JAX's arrays have `.{node.attr}`"
        if node.attr in _ONLY_JAX
        else f"A {kind} of arrays is not an array",
        what=f"`{text}` is {describe(value)} here."
        if value is not MISSING
        else f"`{text}` is of type `{found[1]}` here.",
        variable=text,
        why="A NumPy array is changed with `x[i] = y`; JAX's arrays never change, and have `.at` for that."
        if node.attr == "at" and kind == "ndarray"
        else f"It is of type `{found[1]}`, which has no such attribute.",
        fixes=[fix],
        link=error_texts.AT_LINK if node.attr == "at" else f"{error_texts.API}/jax.block_until_ready.html",
    )
