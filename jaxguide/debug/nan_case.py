"""Give rules of advice the facts about an operation that made a NaN or an infinity."""

import ast
import re
from collections.abc import Collection, Iterator
from functools import cached_property
from types import CodeType
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxguide import compat
from jaxguide.code.lines import user_frames
from jaxguide.code.source import dotted, source_of
from jaxguide.compat.primitives import ELEMENTWISE, SELECT
from jaxguide.debug.nan_flow import TRANSPARENT, Operation, ProgramValue, ValueFlow, ancestors, made_by, source, uses
from jaxguide.debug.nan_report import BadValue

# Operations behind which an element is at the same place as before.
_IN_PLACE = ELEMENTWISE | {"convert_element_type", "copy", "stop_gradient", "reduce_precision", "optimization_barrier"}


# Functions that call others, and say nothing of what is computed.
_CALLERS = frozenset(
    {"map", "tree_map", "scan", "while_loop", "fori_loop", "cond", "switch", "reduce", "apply", "associative_scan"}
)
_STEPS_AT_MOST = 20
_DIVIDES = ("divide", "true_divide", "div")
_SELECTS = ("where", "select", "select_n", "cond", "switch", "piecewise")
_OPERATORS: dict[type[ast.operator], str] = {ast.Div: "div", ast.Mult: "mul", ast.Sub: "sub", ast.Add: "add"}


class NanCase:
    """An operation that made a NaN or an infinity, with its values and what is around it in the program.

    Args:
        bad: what was made.
        flow: the operations around it; None if the function was not traced.
        carried: for each loop, by the id of the step that runs it, that step and the magnitudes of what it carries.
    """

    def __init__(
        self, bad: BadValue, flow: ValueFlow | None, carried: dict[int, tuple[Any, list[tuple[float, ...]]]]
    ) -> None:
        self.bad = bad
        self.carried = carried
        self.step = bad.step
        self.flow = flow
        self.operation = None if flow is None else flow.operation
        self.values = [_array(value) for value in self.step.inputs]
        floats = [value.dtype for value in self.values if jnp.issubdtype(value.dtype, jnp.inexact)]
        outputs = [variable.aval.dtype for variable in self.step.eqn.outvars if hasattr(variable, "aval")]
        self.dtype = np.dtype((outputs or floats or [np.dtype("float32")])[0])

    def number(self, i: int) -> float | None:
        """Return the operand's element at the place of the bad one; None if the shapes do not broadcast."""
        try:
            value = complex(self.bad.operands[i])
        except (IndexError, ValueError, TypeError):
            return None
        return value.real if value.imag == 0 else None

    def place(self, i: int) -> ProgramValue | None:
        """Return operand `i` in the flow; None if there is no flow."""
        return None if self.operation is None else self.operation.inputs[i]

    def divisor(self) -> ProgramValue | None:
        """Return what the operation divides by; None if it does not divide."""
        which = {"div": 1, "integer_pow": 0}.get(self.bad.primitive)
        return None if which is None else self.place(which)

    def at_index(self, place: ProgramValue) -> float | None:
        """Return the element of another value at the place of the bad one; None if it is not known."""
        value = None if self.flow is None else self.flow.value(place)
        return element(value, self.bad.index, self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the operation's result."""
        if self.operation is not None:
            return tuple(self.step.eqn.outvars[0].aval.shape)
        return np.broadcast_shapes(*(value.shape for value in self.values))

    def select_that_drops_it(self, operation: Operation | None = None) -> Operation | None:
        """Return the `select_n`, such as that of `jnp.where`, that takes another element than this; None if none does.

        Args:
            operation: the operation whose result it drops; the bad one if None.
        """
        start = operation or self.operation
        if self.flow is None or start is None:
            return None
        for user, arrives in uses(start.outputs[0], _IN_PLACE):
            # The derivative of `jnp.where` selects derivatives.
            if user.name != SELECT or user.transposed or arrives not in user.inputs[1:]:
                continue
            which = self.flow.value(user.inputs[0])
            taken = element(which, self.bad.index, self.shape)
            if taken is None and which is not None and which.size and (which == which.flat[0]).all():
                taken = float(which.flat[0])  # for every element
            if taken is not None and user.inputs[1 + int(taken)] is not arrives and _is_written(user):
                return user
        return None

    def reaches(self, place: ProgramValue, through: Collection[str], *names: str) -> tuple[Operation, int] | None:
        """Return the first operation of these names that uses a value, and as which input; look behind `through`."""
        for user, arrives in uses(place, TRANSPARENT | set(through)):
            if user.name in names:
                return user, user.inputs.index(arrives)
        return None

    def row_of(self, place: ProgramValue, axes: tuple[int, ...]) -> str | None:
        """Return words for the row of the bad element in another value, if all of that row is minus infinity.

        Args:
            place: the value.
            axes: the axes along which a row lies.
        """
        data = None if self.flow is None else self.flow.value(place)
        if data is None:
            return None
        index = list(self.bad.index)
        if len(index) < data.ndim and len(index) + len(axes) == data.ndim:
            for axis in sorted(axes):
                index.insert(axis, 0)
        return minus_infinity_row(data, axes, tuple(index))

    @cached_property
    def expression(self) -> ast.AST | None:
        """The expression of the user's that the operation belongs to; None if its source cannot be read."""
        for step in self.step.outward():
            frames = user_frames(compat.traceback_frames(step.eqn.source_info))
            if frames:
                return expression_at(frames[0])
        return None

    @property
    def called(self) -> str | None:
        """Return the name of the function whose call is the operation, such as 'jnp.std'; None if it is an operator."""
        return called_name(self.expression)

    @property
    def caller_words(self) -> str | None:
        """Return words for the function whose call is the operation; None if it is an operator or not known."""
        if not isinstance(self.expression, ast.Call):
            return None
        return "A function in this line" if self.called is None else f"`{self.called}`"

    @property
    def is_in_library(self) -> bool:
        """Return whether a function that the user calls divides, and not the user."""
        return self.caller_words is not None and (self.called or "").rpartition(".")[2] not in _DIVIDES

    @property
    def differentiates(self) -> bool:
        """Return whether the program takes a gradient."""
        return self.flow is not None and self.flow.differentiates

    @property
    def is_written(self) -> bool:
        """Return whether the user wrote this very operation, and not one whose derivative or inside it is."""
        if isinstance(self.expression, ast.BinOp | ast.AugAssign):
            return self.bad.primitive == _OPERATORS.get(type(self.expression.op))
        name = (self.called or "").rpartition(".")[2]
        return bool(name) and self.bad.primitive in (name, name.replace("arc", "a"))

    def small(self, number: str) -> str:
        """Return a small number as text, or a larger one where this one is 0 in the operation's dtype."""
        return "1e-4" if self.dtype == np.float16 else number

    @property
    def gap(self) -> str:
        """Return a number as text that keeps its distance from 1 in the operation's dtype, as in `1 - 1e-6`."""
        return {"float16": "1e-3", "bfloat16": "1e-2"}.get(self.dtype.name, "1e-6")

    def called_with(self, *functions: str) -> str | None:
        """Return the text of the argument in the call of such a function; None if it is not clear."""
        return first_argument(self.expression, functions) or argument_text(self.bad.source, functions)


def expression_at(spot: tuple[CodeType, int]) -> ast.AST | None:
    """Return the expression of an instruction of a user's code; None if its source cannot be read."""
    text = source_of(spot[0].co_filename)
    span = None if text is None else text.span(*spot)
    return None if text is None or span is None else text.find(*span)


def called_name(node: ast.AST | None) -> str | None:
    """Return the name of the function that an expression calls; None if it calls none, or one that tells nothing.

    >>> called_name(ast.parse("jnp.std(x)", mode="eval").body), called_name(ast.parse("x / y", mode="eval").body)
    ('jnp.std', None)
    """
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    return None if name.rpartition(".")[2] in _CALLERS else name or None


def first_argument(node: ast.AST | None, functions: Collection[str]) -> str | None:
    """Return the text of the first argument if an expression calls one of these functions, and the text is short.

    >>> first_argument(ast.parse("jnp.log(-x)", mode="eval").body, ("log", "log2"))
    '-x'
    """
    if not isinstance(node, ast.Call) or not node.args or dotted(node.func).rpartition(".")[2] not in functions:
        return None
    return short_text(node.args[0])


def exponential_in(place: ProgramValue) -> Operation | None:
    """Return the exponential that a value is, perhaps times weights; None if it is none."""
    maker = made_by(place)
    if maker is None or maker.name == "exp":
        return maker
    factors = [exponential_in(one) for one in maker.inputs] if maker.name == "mul" else []
    return next(filter(None, factors), None)


def is_square(operation: Operation) -> bool:
    """Return whether an operation squares its input, as x * x and x @ x do."""
    if operation.name in ("mul", "dot_general"):
        return source(operation.inputs[0]) is source(operation.inputs[1])
    return operation.name == "square" or (operation.name == "integer_pow" and operation.eqn.params["y"] == 2)


def is_spread(place: ProgramValue) -> bool:
    """Return whether a value is a variance or its root: a mean of squared differences from the mean."""
    for maker in ancestors(place, 14):
        if maker.name in ("square", "integer_pow", "mul"):
            difference = made_by(maker.inputs[0], "sub")
            if difference is None:
                continue
            mean = made_by(difference.inputs[1], "div", "mul")
            if mean is not None and made_by(mean.inputs[0], "reduce_sum") is not None:
                return True
    return False


def makers_of_zero(case: NanCase) -> Iterator[Operation]:
    """Yield the operations behind an infinity that was divided by, if an operand of the bad one is the 0 from that."""
    for i, place in enumerate(case.operation.inputs if case.operation is not None else ()):
        if case.number(i) != 0.0:
            continue
        for _step in range(_STEPS_AT_MOST):
            maker = place.maker
            if maker is None or not maker.inputs:
                break
            if maker.name in ("div", "rsqrt", "integer_pow", "pow"):
                under = maker.inputs[1 if maker.name == "div" else 0]
                if np.isinf(case.at_index(under) or 0.0):
                    yield from ancestors(under)
                break
            zeros = [one for one in maker.inputs if case.at_index(one) == 0.0]
            if maker.name not in _IN_PLACE | TRANSPARENT or not zeros:
                break
            place = zeros[0]


def minus_infinity_row(data: np.ndarray, axes: tuple[int, ...], index: tuple[int, ...]) -> str | None:
    """Return words for the row through `index`, which lies along `axes`, if all of it is minus infinity.

    >>> minus_infinity_row(np.array([[0.0, -np.inf], [-np.inf, -np.inf]]), (1,), (1, 0))
    'Row [1, :]'
    """
    if len(index) != data.ndim or any(i >= size for i, size in zip(index, data.shape, strict=True)):
        return None
    row = data[tuple(slice(None) if i in axes else place for i, place in enumerate(index))]
    if not row.size or not np.isneginf(row).all():
        return None
    if len(axes) >= data.ndim:
        return "The whole input"
    return "Row [{where}]".format(where=", ".join(":" if i in axes else str(n) for i, n in enumerate(index)))


def all_masked(case: NanCase, row: str) -> str:
    """Return advice on a row that is minus infinity throughout."""
    return (
        f"{row} is -inf throughout, so it has nothing to normalize: mask with a large finite number, such as "
        f"{mask_number(case)}, in place of -inf, or give such rows other numbers with `jnp.where` first."
    )


def mask_number(case: NanCase) -> str:
    """Return a number of the dtype that masks a logit as minus infinity does."""
    return "-1e4" if case.dtype == np.float16 else "-1e9"


def _is_written(select: Operation) -> bool:
    """Return whether the user selects, and not a library function in the line."""
    call = None if select.spot is None else expression_at(select.spot)
    name = dotted(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
    if name:
        return name in _SELECTS
    # Not `jax.nn.softmax(x, where=mask)`.
    return re.search(rf"\b({'|'.join(_SELECTS)})\(", (select.line.text() if select.line else None) or "") is not None


def element(value: np.ndarray | None, index: tuple[int, ...], shape: tuple[int, ...]) -> float | None:
    """Return the element of a value at an index of a shape that it broadcasts to; None if it does not."""
    if value is None:
        return None
    try:
        return float(np.broadcast_to(value, shape)[index])
    except (ValueError, TypeError, IndexError):
        return None


def argument_text(line: str | None, functions: Collection[str]) -> str | None:
    """Return the text of the first argument in the only call of one of these functions in a line.

    >>> argument_text("kl = [jnp.exp(log_var) + 1,", ("exp",)), argument_text("exp(a) + exp(b)", ("exp",))
    ('log_var', None)
    """
    calls = list(re.finditer(rf"\b({'|'.join(functions)})\(", line or ""))
    if len(calls) != 1:
        return None
    rest = (line or "")[calls[0].end() :]
    for end in (i for i, letter in enumerate(rest) if letter == ")"):
        try:
            call = ast.parse(f"f({rest[: end + 1]}", mode="eval").body
        except SyntaxError:
            continue
        return short_text(call.args[0]) if isinstance(call, ast.Call) and call.args else None
    return None


def operand_text(line: str | None, operator: type[ast.operator], *, right: bool) -> str | None:
    """Return the text of one side of the only use of an operator in a line.

    >>> operand_text("unit = d / length", ast.Div, right=True)
    'length'
    """
    found = [n for n in ast.walk(parsed(line)) if isinstance(n, ast.BinOp) and isinstance(n.op, operator)]
    return short_text(found[0].right if right else found[0].left) if len(found) == 1 else None


def plain_name(text: str | None, default: str) -> str:
    """Return a text if it is short to repeat: a name, an attribute or an item.

    >>> plain_name("params['std']", "y"), plain_name("jnp.sum(m)", "y")
    ("params['std']", 'y')
    """
    return text if text is not None and re.fullmatch(r"[\w.]+(\[[\w.'\"]+\])?", text) else default


def parsed(line: str | None) -> ast.AST:
    """Return the syntax tree of a line; an empty one if it is only a part of a statement."""
    text = re.sub(r"^(el)?if\b(.*):$|^(for|while|with)\b.*:$", "pass", line or "")
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def short_text(node: ast.expr) -> str | None:
    """Return the text of an expression that is short enough for a sentence."""
    text = ast.unparse(node)
    return text if len(text) <= 40 else None


def _array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except TypeError:  # a key
        return np.zeros((), bool)
