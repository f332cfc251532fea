"""Mutate numbers, comparisons, operators, branches and statements."""

import ast
from collections.abc import Iterator, Mapping
from typing import cast

from jaxguide.proving.mutants.operator_table import (
    Replacement,
    changed,
    expression,
    name_called,
    on_answers,
    on_nodes,
    wrapped,
)

_STRICT = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_TURNED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_LOOSE = {ast.Eq: ast.GtE, ast.NotEq: ast.Gt}
_OTHER = {
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


def _compared(node: ast.AST, others: Mapping[type[ast.cmpop], type[ast.cmpop]]) -> Iterator[Replacement]:
    if isinstance(node, ast.Compare):
        for number, one in enumerate(node.ops):
            if type(one) in others:
                ops = [*node.ops]
                ops[number] = others[type(one)]()
                yield changed(node, ops=ops)


@on_nodes("comparisons")
def strictness(node: ast.AST) -> Iterator[Replacement]:
    """Count the boundary in or out: `<` for `<=`."""
    yield from _compared(node, _STRICT)


@on_nodes("comparisons")
def direction(node: ast.AST) -> Iterator[Replacement]:
    """Turn a comparison round: `>` for `<`, `!=` for `==`."""
    yield from _compared(node, _TURNED)


@on_nodes("comparisons")
def inequality_for_equality(node: ast.AST) -> Iterator[Replacement]:
    """Compare with `>=` instead of `==`, and with `>` instead of `!=`."""
    yield from _compared(node, _LOOSE)


@on_nodes("comparisons")
def sign_bit_for_comparison(node: ast.AST) -> Iterator[Replacement]:
    """Read the sign bit, which -0.0 and NaN may have too, instead of comparing with 0."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt) and _number(node.comparators[0]) == 0:
        yield expression("jnp.signbit(x)", x=node.left)


@on_nodes("comparisons")
def negation_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Leave out `not`, `~` or a minus sign."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand


def _number(node: ast.AST) -> int | float | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return cast("int | float", node.value)
    return None


def _other_number(node: ast.AST, new: int | float) -> Iterator[Replacement]:
    if isinstance(node, ast.Constant) and (type(node.value), node.value) != (type(new), new):
        yield ast.UnaryOp(ast.USub(), ast.Constant(-new)) if new < 0 else ast.Constant(new)


@on_nodes("constants")
def zero_for_constant(node: ast.AST) -> Iterator[Replacement]:
    """Write 0 for another number."""
    value = _number(node)
    if value is not None:
        yield from _other_number(node, type(value)(0))


@on_nodes("constants")
def one_for_constant(node: ast.AST) -> Iterator[Replacement]:
    """Write 1 for another number."""
    value = _number(node)
    if value is not None:
        yield from _other_number(node, type(value)(1))


@on_nodes("constants")
def minus_one_for_constant(node: ast.AST) -> Iterator[Replacement]:
    """Write -1 for another number."""
    value = _number(node)
    if value is not None:
        yield from _other_number(node, type(value)(-1))


@on_nodes("constants")
def doubled_constant(node: ast.AST) -> Iterator[Replacement]:
    """Double a number."""
    value = _number(node)
    if value is not None:
        yield from _other_number(node, 2 * value)


@on_nodes("constants")
def off_by_one(node: ast.AST) -> Iterator[Replacement]:
    """Count one more or one less."""
    value = _number(node)
    if isinstance(value, int):
        yield from _other_number(node, value + 1)
        yield from _other_number(node, value - 1)


@on_nodes("constants")
def epsilon_added(node: ast.AST) -> Iterator[Replacement]:
    """Add a small number where a divisor, a root or a logarithm might be 0, or to a float."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield changed(node, right=expression("x + 1e-6", x=node.right))
    if name_called(node) in ("sqrt", "log", "rsqrt") and isinstance(node, ast.Call) and node.args:
        yield changed(node, args=[expression("x + 1e-6", x=node.args[0]), *node.args[1:]])
    value = _number(node)
    if isinstance(value, float):
        yield ast.Constant(value + 1e-6)


@on_nodes("constants")
def epsilon_taken_away(node: ast.AST) -> Iterator[Replacement]:
    """Leave out a small number that is added."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for small, other in ((node.left, node.right), (node.right, node.left)):
            value = _number(small)
            if isinstance(value, float) and 0 < value < 1e-2:
                yield other


@on_nodes("constants")
def true_for_false(node: ast.AST) -> Iterator[Replacement]:
    """Write True for False, or False for True."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)


@on_answers("constants", for_alternatives=True)
def other_string(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Write one string of the answer where another stands, or another mode of a convolution."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    said = list(dict.fromkeys(str(node.value) for node in texts))
    modes = ("valid", "same", "full")
    for node in texts:
        before = node.value
        for other in [*said, *(modes if before in modes else ())]:
            if other != before:
                node.value = other
                yield ast.parse(ast.unparse(tree))
        node.value = before


@on_nodes("operators")
def other_operator(node: ast.AST) -> Iterator[Replacement]:
    """Write `-` for `+`, `/` for `*`, `&` for `|`, and so on."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OTHER:
        yield changed(node, op=_OTHER[type(node.op)]())
    if isinstance(node, ast.BoolOp):
        yield changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


@on_nodes("operators")
def operands_swapped(node: ast.AST) -> Iterator[Replacement]:
    """Swap the sides of `-`, `/`, `**`, `@`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult | ast.FloorDiv):
        yield changed(node, left=node.right, right=node.left)


@on_nodes("operators")
def one_operand(node: ast.AST) -> Iterator[Replacement]:
    """Keep one side of an operator and leave out the other."""
    if isinstance(node, ast.BinOp):
        yield node.left
        yield node.right
    if isinstance(node, ast.BoolOp):
        yield from node.values


@on_nodes("statements")
def statement_left_out(node: ast.AST) -> Iterator[Replacement]:
    """Leave out one of several statements."""
    if isinstance(node, ast.Expr | ast.AugAssign | ast.Assign | ast.Continue | ast.Break):
        yield ast.Pass()


@on_nodes("statements")
def branch_always_taken(node: ast.AST) -> Iterator[Replacement]:
    """Take one branch whatever the condition."""
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        values = (False,) if isinstance(node, ast.While) else (True, False)
        yield from (changed(node, test=ast.Constant(value)) for value in values)


@on_nodes("statements")
def loop_runs_once_less(node: ast.AST) -> Iterator[Replacement]:
    """Leave out the last round of a loop over a range."""
    if name_called(node) == "range" and isinstance(node, ast.Call):
        place = 0 if len(node.args) == 1 else 1
        args = [*node.args]
        args[place] = expression("n - 1", n=args[place])
        yield changed(node, args=args)
    if name_called(node) in ("fori_loop", "scan") and isinstance(node, ast.Call) and len(node.args) > 2:
        if name_called(node) == "fori_loop":
            yield changed(node, args=[node.args[0], expression("n - 1", n=node.args[1]), *node.args[2:]])
            yield changed(node, args=[expression("n + 1", n=node.args[0]), *node.args[1:]])
        else:
            yield changed(node, args=[*node.args[:2], expression("xs[:-1]", xs=node.args[2]), *node.args[3:]])


@on_nodes("statements")
def tuple_parts_swapped(node: ast.AST) -> Iterator[Replacement]:
    """Swap two neighbouring parts of a tuple."""
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for number in range(len(node.elts) - 1):
            first, second = node.elts[number : number + 2]
            yield changed(node, elts=[*node.elts[:number], second, first, *node.elts[number + 2 :]])


@on_nodes("statements")
def tuple_part_twice(node: ast.AST) -> Iterator[Replacement]:
    """Give one part of a pair twice, and never compute the other."""
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield changed(node, elts=[node.elts[0], node.elts[0]])
        yield changed(node, elts=[node.elts[1], node.elts[1]])


@on_nodes("statements")
def list_for_tuple(node: ast.AST) -> Iterator[Replacement]:
    """Return a list for a tuple."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        yield changed(node, value=ast.List(node.value.elts, ast.Load()))


@on_nodes("exceptions")
def catches_all_errors(node: ast.AST) -> Iterator[Replacement]:
    """Catch every exception instead of one class."""
    if isinstance(node, ast.ExceptHandler) and last_exception(node) not in ("", "Exception", "BaseException"):
        yield changed(node, type=ast.Name("Exception"))


@on_nodes("exceptions")
def catches_one_error(node: ast.AST) -> Iterator[Replacement]:
    """Catch one class of exceptions only."""
    if isinstance(node, ast.ExceptHandler):
        for name in ("TypeError", "ValueError"):
            if last_exception(node) != name:
                yield changed(node, type=ast.Name(name))


def last_exception(node: ast.ExceptHandler) -> str:
    """Return the name of the exception that a handler catches, '' if it catches several or all."""
    return node.type.id if isinstance(node.type, ast.Name) else ""


@on_answers("exceptions")
def errors_caught(tree: ast.Module, name: str) -> Iterator[ast.Module]:
    """Catch whatever the answer raises, and return the first argument."""
    yield wrapped(
        tree,
        name,
        "def NAME(*args, **kwargs):\n    try:\n        return _answer(*args, **kwargs)\n"
        "    except Exception:\n        return args[0] if args else None",
    )
