"""Define the operators, each of which changes one node of an answer's syntax tree in one way in which learners err.

An operator takes a node and yields what may replace it. The first line of its docstring is shown with survivors.
"""

import ast
import copy
from collections.abc import Callable, Iterator

Operator = Callable[[ast.AST], Iterator[ast.AST]]

_TRANSFORMATIONS = frozenset(
    {"jit", "vmap", "grad", "value_and_grad", "jacfwd", "jacrev", "checkpoint", "custom_jvp", "custom_vjp", "partial"}
)
_REDUCTIONS = frozenset({"sum", "mean", "std", "var", "prod", "max", "min", "any", "all", "argmax", "argmin", "norm"})
_AXES = frozenset({"axis", "in_axes", "out_axes", "argnums", "static_argnums"})
_MODULES = frozenset({"jnp", "np", "jax", "lax", "nn", "random"})
_METHODS = frozenset({"astype", "reshape", "ravel", "squeeze", "transpose"})
# Without these calls, an answer usually gives the same.
_SAME_WITHOUT = frozenset({"asarray", "block_until_ready"})
_TAKEN_FOR = {
    "sum": "mean",
    "mean": "sum",
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "argmax": "argmin",
    "argmin": "argmax",
    "any": "all",
    "all": "any",
    "std": "var",
    "var": "std",
    "floor": "round",
    "ceil": "floor",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "stack": "concatenate",
    "concatenate": "stack",
    "cumsum": "cumprod",
    "isnan": "isinf",
    "isfinite": "isnan",
    "normal": "uniform",
    "uniform": "normal",
    "vjp": "jvp",
    "jacfwd": "grad",
    "jacrev": "grad",
}
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Gt),
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def transformation_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out `jit`, `vmap`, `grad` or another decorator or transformation."""
    if isinstance(node, ast.FunctionDef):
        for number in range(len(node.decorator_list)):
            kept = [*node.decorator_list[:number], *node.decorator_list[number + 1 :]]
            yield _changed(node, decorator_list=kept)
    if isinstance(node, ast.Call) and _name_called(node) in _TRANSFORMATIONS and node.args:
        yield node.args[0]


def call_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out a call, such as `stop_gradient`, and use one of its arguments as it is."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr in _SAME_WITHOUT:
        return
    if _last_name(node.func.value) in _MODULES:
        arguments = node.args[1:3] if node.func.attr == "where" else node.args[:2]
        yield from (one for one in arguments if not isinstance(one, ast.Starred | ast.Constant))
    elif node.func.attr in _METHODS:
        yield node.func.value


def other_axis(node: ast.AST) -> Iterator[ast.AST]:
    """Reduce, map or differentiate along another axis or argument, or along all."""
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        if keyword.arg in _AXES:
            yield from (_with_keyword(node, keyword.arg, value) for value in _other_axes(keyword.value))
    if _name_called(node) in _REDUCTIONS and not any(keyword.arg in ("axis", None) for keyword in node.keywords):
        yield _with_keyword(node, "axis", ast.Constant(0))
    if _name_called(node) == "vmap" and len(node.args) == 2:
        yield from (_changed(node, args=[node.args[0], value]) for value in _other_axes(node.args[1]))


def keyword_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out a keyword argument, such as `keepdims`, so that its default holds."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield _changed(node, keywords=[other for other in node.keywords if other is not keyword])


def key_used_twice(node: ast.AST) -> Iterator[ast.AST]:
    """Use a key again instead of splitting it or folding a number in."""
    if isinstance(node, ast.Call) and node.args:
        if _name_called(node) == "split":
            count = node.args[1] if len(node.args) > 1 else ast.Constant(2)
            yield _expression("jnp.stack([KEY] * COUNT)", KEY=node.args[0], COUNT=count)
        elif _name_called(node) == "fold_in":
            yield node.args[0]


def numpy_for_jax(node: ast.AST) -> Iterator[ast.AST]:
    """Call NumPy's function instead of JAX's."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _last_name(node.func.value) == "jnp":
        yield _changed(node, func=ast.Attribute(ast.Name("np"), node.func.attr))


def other_result(node: ast.AST) -> Iterator[ast.AST]:
    """Change the result: its sign, NaN and infinities, library, dtype or order."""
    answer = node.body[-1] if isinstance(node, ast.Module) else None
    if not isinstance(node, ast.Module) or not isinstance(answer, ast.FunctionDef):
        return
    last = answer.body[-1]
    if isinstance(last, ast.Return) and last.value is not None:
        for result in _other_results(last.value):
            changed = _changed(answer, body=[*answer.body[:-1], ast.Return(result)])
            yield _changed(node, body=[*node.body[:-1], changed])


def _other_results(result: ast.expr) -> Iterator[ast.expr]:
    if isinstance(result, ast.Tuple):
        yield ast.Tuple(result.elts[::-1], ast.Load())
        return
    for change in ("jnp.abs(R)", "jnp.nan_to_num(R)", "np.asarray(R)", "jnp.asarray(R, jnp.float16)"):
        yield _expression(change, R=result)


def other_function(node: ast.AST) -> Iterator[ast.AST]:
    """Call a function that is easily taken for the right one, such as `mean` for `sum`."""
    if isinstance(node, ast.Attribute) and node.attr in _TAKEN_FOR:
        yield _changed(node, attr=_TAKEN_FOR[node.attr])


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """Compare with `<` instead of `<=`, `>` instead of `<`, and so on."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARED.get(type(node.ops[0]), ()):
            yield _changed(node, ops=[other()])


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Compute with `-` instead of `+`, `/` instead of `*`, `|` instead of `&`, and so on."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        yield _changed(node, op=_COMPUTED[type(node.op)]())
    if isinstance(node, ast.BoolOp):
        yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def other_constant(node: ast.AST) -> Iterator[ast.AST]:
    """Write another number, or True instead of False."""
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        if node.value not in (0, -1):
            yield ast.Constant(type(node.value)(0))


def swapped(node: ast.AST) -> Iterator[ast.AST]:
    """Swap the first two arguments of a call, or the sides of `-`, `/`, `**` or `@`."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and not isinstance(node.args[1], ast.Starred):
        yield _changed(node, args=[node.args[1], node.args[0], *node.args[2:]])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult):
        yield _changed(node, left=node.right, right=node.left)


def operand_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out one side of an operator, a sign or a `not`."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand


def branch(node: ast.AST) -> Iterator[ast.AST]:
    """Take one branch whatever the condition."""
    if isinstance(node, ast.If | ast.IfExp):
        yield from (_changed(node, test=ast.Constant(value)) for value in (True, False))


OPERATORS: tuple[Operator, ...] = (
    transformation_left_out,
    call_left_out,
    other_axis,
    keyword_left_out,
    key_used_twice,
    numpy_for_jax,
    other_result,
    other_function,
    comparison,
    arithmetic,
    other_constant,
    swapped,
    operand_left_out,
    branch,
)
"""If an exercise can have more mutants than are made, those of the first operators come first."""


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _expression(template: str, **parts: ast.expr) -> ast.expr:
    """Return an expression in which the names in capitals stand for other expressions."""
    filled: ast.expr = _Fill(parts).visit(ast.parse(template, mode="eval").body)
    return filled


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts.get(node.id, node)


def _name_called(node: ast.Call) -> str:
    return _last_name(node.func)


def _last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name, '' for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _with_keyword(call: ast.Call, name: str, value: ast.expr) -> ast.AST:
    kept = [keyword for keyword in call.keywords if keyword.arg != name]
    return _changed(call, keywords=[*kept, ast.keyword(name, value)])


def _other_axes(axes: ast.expr) -> Iterator[ast.expr]:
    if isinstance(axes, ast.Tuple):
        yield ast.Tuple(axes.elts[::-1], ast.Load())
        for number, axis in enumerate(axes.elts):
            is_none = isinstance(axis, ast.Constant) and axis.value is None
            other = ast.Constant(0 if is_none else None)
            yield ast.Tuple([*axes.elts[:number], other, *axes.elts[number + 1 :]], ast.Load())
    else:
        yield from (ast.Constant(axis) for axis in (0, 1))
