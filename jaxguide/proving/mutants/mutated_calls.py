"""Mutate calls: axes and other options, functions that are taken for each other, dtypes, NumPy for JAX."""

import ast
from collections.abc import Iterator

from jaxguide.proving.mutants.operator_table import (
    Replacement,
    changed,
    expression,
    last_name,
    name_called,
    on_answers,
    on_nodes,
    with_keyword,
    without_keyword,
)

_REDUCES = frozenset({"sum", "mean", "std", "var", "prod", "max", "min", "any", "all", "argmax", "argmin", "norm"})
_TAKEN_FOR = {
    "less": ("less_equal", "greater"),
    "less_equal": ("less",),
    "greater": ("greater_equal", "less"),
    "greater_equal": ("greater",),
    "maximum": ("minimum", "fmax"),
    "minimum": ("maximum", "fmin"),
    "max": ("min", "nanmax"),
    "min": ("max", "nanmin"),
    "sum": ("mean", "nansum"),
    "mean": ("sum", "median", "nanmean"),
    "std": ("var",),
    "var": ("std",),
    "median": ("mean",),
    "prod": ("sum",),
    "any": ("all",),
    "all": ("any",),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "floor": ("round", "ceil"),
    "ceil": ("round", "floor"),
    "round": ("floor",),
    "zeros": ("ones",),
    "ones": ("zeros",),
    "zeros_like": ("ones_like",),
    "ones_like": ("zeros_like",),
    "dot": ("multiply",),
    "convolve": ("correlate",),
    "correlate": ("convolve",),
    "vstack": ("hstack",),
    "stack": ("concatenate",),
    "concatenate": ("stack",),
    "cumsum": ("cumprod",),
    "exp": ("exp2",),
    "isnan": ("isfinite", "isinf"),
    "isfinite": ("isnan",),
    "normal": ("uniform",),
    "uniform": ("normal",),
}
_AXES = (0, 1, -1)


@on_nodes("axes")
def other_axis(node: ast.AST) -> Iterator[Replacement]:
    """Reduce, stack or map along another axis."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in ("axis", "dimension"):
                yield from (with_keyword(node, keyword.arg, ast.Constant(axis)) for axis in _AXES)
        is_method = isinstance(node.func, ast.Attribute) and last_name(node.func.value) not in ("jnp", "np", "jax")
        place = 0 if is_method else 1
        if name_called(node) in _REDUCES and len(node.args) > place and isinstance(node.args[place], ast.Constant):
            for axis in _AXES:
                args = [*node.args]
                args[place] = ast.Constant(axis)
                yield changed(node, args=args)


@on_nodes("axes")
def axis_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Reduce over everything instead of one axis."""
    if isinstance(node, ast.Call) and any(keyword.arg == "axis" for keyword in node.keywords):
        yield without_keyword(node, "axis")


@on_nodes("axes")
def axis_added(node: ast.AST) -> Iterator[Replacement]:
    """Reduce over one axis instead of everything."""
    if isinstance(node, ast.Call) and name_called(node) in _REDUCES and not _has_axis(node):
        yield from (with_keyword(node, "axis", ast.Constant(axis)) for axis in (0, -1))


def _has_axis(node: ast.Call) -> bool:
    return any(keyword.arg in ("axis", None) for keyword in node.keywords) or len(node.args) > 1


@on_nodes("axes")
def keepdims_changed(node: ast.AST) -> Iterator[Replacement]:
    """Drop `keepdims`, or add it to a reduction along an axis."""
    if isinstance(node, ast.Call) and name_called(node) in _REDUCES:
        if any(keyword.arg == "keepdims" for keyword in node.keywords):
            yield without_keyword(node, "keepdims")
        else:
            yield with_keyword(node, "keepdims", ast.Constant(True))


@on_nodes("axes")
def transposed(node: ast.AST) -> Iterator[Replacement]:
    """Leave out a transposition."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield node.value


@on_nodes("options")
def other_argnums(node: ast.AST) -> Iterator[Replacement]:
    """Differentiate with respect to another argument."""
    if isinstance(node, ast.Call) and name_called(node) in ("grad", "value_and_grad", "jacobian", "jacfwd", "jacrev"):
        if any(keyword.arg == "argnums" for keyword in node.keywords):
            yield without_keyword(node, "argnums")
        for number in (0, 1):
            yield with_keyword(node, "argnums", ast.Constant(number))


@on_nodes("options")
def other_in_axes(node: ast.AST) -> Iterator[Replacement]:
    """Map over other axes, over all arguments or over the first one only."""
    if name_called(node) != "vmap" or not isinstance(node, ast.Call):
        return
    axes = next((keyword.value for keyword in node.keywords if keyword.arg == "in_axes"), None)
    axes = node.args[1] if len(node.args) > 1 else axes
    plain = ast.Call(node.func, node.args[:1], node.keywords)
    if axes is not None:
        yield without_keyword(plain, "in_axes")
        yield with_keyword(plain, "in_axes", ast.Constant(1))
    if isinstance(axes, ast.Tuple):
        yield with_keyword(plain, "in_axes", ast.Tuple(axes.elts[::-1], ast.Load()))
        for number, axis in enumerate(axes.elts):
            none = isinstance(axis, ast.Constant) and axis.value is None
            parts = [*axes.elts]
            parts[number] = ast.Constant(0 if none else None)
            yield with_keyword(plain, "in_axes", ast.Tuple(parts, ast.Load()))
    if axes is None:
        yield with_keyword(plain, "in_axes", ast.Constant(1))
    yield with_keyword(node, "out_axes", ast.Constant(1))


@on_nodes("options")
def other_static_arguments(node: ast.AST) -> Iterator[Replacement]:
    """Leave out which arguments are static, or name others."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in ("static_argnums", "static_argnames", "nondiff_argnums", "donate_argnums"):
                yield without_keyword(node, keyword.arg)
                if keyword.arg == "static_argnums":
                    yield from (with_keyword(node, keyword.arg, ast.Constant(number)) for number in (0, 1, 2))


@on_nodes("options")
def option_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Leave out an option of a call, so that its default holds."""
    if isinstance(node, ast.Call) and last_name(node.func) not in ("vmap", "grad", "jit", "partial"):
        for keyword in node.keywords:
            if keyword.arg not in (None, "axis", "keepdims"):
                yield without_keyword(node, str(keyword.arg))


@on_nodes("calls")
def function_taken_for_another(node: ast.AST) -> Iterator[Replacement]:
    """Call a function that is easily taken for the right one: `mean` for `sum`, `fmin` for `minimum`."""
    if isinstance(node, ast.Call):
        for name in _TAKEN_FOR.get(name_called(node), ()):
            if isinstance(node.func, ast.Attribute) and _is_array_method(node.func, name):
                function = ast.Attribute(ast.Name("jnp"), name, ast.Load())
                yield ast.Call(function, [node.func.value, *node.args], node.keywords)
            elif isinstance(node.func, ast.Attribute):
                yield changed(node, func=changed(node.func, attr=name))


def _is_array_method(function: ast.Attribute, name: str) -> bool:
    """Return whether a function of `jnp` must be called instead, because arrays have no such method."""
    return last_name(function.value) not in ("jnp", "np", "lax", "random") and name in ("median", "nanmean", "nansum")


@on_nodes("calls")
def call_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Leave out a call and use its first argument as it is: a root, a clamp, a conversion."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if last_name(node.func.value) in ("jnp", "np", "lax", "nn") and node.args:
            yield from (one for one in node.args[:2] if not isinstance(one, ast.Starred))
        elif name_called(node) in ("astype", "reshape", "ravel", "copy", "flatten", "squeeze"):
            yield node.func.value


@on_nodes("calls")
def mask_multiplied(node: ast.AST) -> Iterator[Replacement]:
    """Multiply by a mask instead of choosing with `where`: 0 times NaN or infinity is NaN."""
    if name_called(node) == "where" and isinstance(node, ast.Call) and len(node.args) == 3:
        mask, first, second = node.args
        yield expression("m * a + (1 - m) * b", m=mask, a=first, b=second)
        yield expression("m * a", m=mask, a=first)
        # JAX (0.12) chooses where a factor is a boolean.
        yield expression("jnp.asarray(m, float) * a", m=mask, a=first)
        yield expression("~m * b", m=mask, b=second)


@on_nodes("calls")
def clamp_for_choice(node: ast.AST) -> Iterator[Replacement]:
    """Clamp at a number instead of choosing with `where`."""
    if name_called(node) == "where" and isinstance(node, ast.Call) and len(node.args) == 3:
        _mask, first, second = node.args
        yield expression("jnp.maximum(a, b)", a=first, b=second)
        yield expression("jnp.minimum(a, b)", a=first, b=second)


@on_nodes("calls")
def attribute_for_type(node: ast.AST) -> Iterator[Replacement]:
    """Ask for an attribute that other types may have, instead of for the type."""
    if name_called(node) == "isinstance" and isinstance(node, ast.Call) and len(node.args) == 2:
        for name in ("shape", "at"):
            yield expression(f"hasattr(x, {name!r})", x=node.args[0])
        yield expression("not isinstance(x, (int, float))", x=node.args[0])


@on_nodes("dtypes")
def other_dtype(node: ast.AST) -> Iterator[Replacement]:
    """Write a coarser dtype."""
    coarser = {"float32": "float16", "float64": "float32", "int32": "int8", "int64": "int32", "uint32": "uint8"}
    if isinstance(node, ast.Attribute) and node.attr in coarser and last_name(node.value) in ("jnp", "np"):
        yield changed(node, attr=coarser[node.attr])
    if isinstance(node, ast.Name) and node.id in ("int", "float") and isinstance(node.ctx, ast.Load):
        yield ast.Name("float" if node.id == "int" else "int", ast.Load())


@on_nodes("dtypes")
def coarser_on_the_way(node: ast.AST) -> Iterator[Replacement]:
    """Round a value on the way to a coarser dtype, and convert it back."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        target = node.targets[0]
        for dtype in ("float16", "int8", "int32"):
            rounded = expression(f"jnp.asarray(v).astype(jnp.{dtype}).astype(jnp.asarray(v).dtype)", v=target)
            yield [node, ast.Assign([target], rounded, lineno=0)]


@on_nodes("values")
def value_on_the_way_changed(node: ast.AST) -> Iterator[Replacement]:
    """Squeeze, clamp or clean a value on the way, or take its absolute value."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        target = node.targets[0]
        for template in ("jnp.squeeze(v)", "jnp.abs(v)", "jnp.nan_to_num(v)", "jnp.maximum(v, 0)"):
            yield [node, ast.Assign([target], expression(template, v=target), lineno=0)]


@on_nodes("libraries")
def numpy_for_jax(node: ast.AST) -> Iterator[Replacement]:
    """Call NumPy's function for JAX's."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "jnp":
        yield changed(node, value=ast.Name("np", ast.Load()))


@on_answers("libraries", for_alternatives=True)
def numpy_throughout(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Call NumPy's functions for JAX's everywhere."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "jnp"]
    for node in names:
        node.id = "np"
    if len(names) > 1:
        yield tree
