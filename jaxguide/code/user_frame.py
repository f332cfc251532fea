"""Inspect one of the student's frames in a traceback: the running expression, and the values of names."""

import ast
import builtins
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FrameType, ModuleType, TracebackType
from typing import Any

import jax
import numpy as np

from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line
from jaxguide.code.source import FunctionNode, Source, arguments_of, source_of

MISSING = object()


@dataclass
class UserFrame:
    """One of the student's frames in a traceback, with the expression that was running."""

    frame: FrameType
    line: Line
    instruction: int

    @cached_property
    def source(self) -> Source | None:
        """The source of the file or cell; None if it cannot be read."""
        return source_of(self.line.file)

    @cached_property
    def node(self) -> ast.AST | None:
        """The expression or statement that was running."""
        if self.source is None:
            return None
        span = self.source.span(self.frame.f_code, self.instruction)
        if span is None:
            return None
        if span[0][0] != self.line.number:
            return self._on_its_line(self.source)
        node = self.source.find(*span)
        # Python 3.11 gives a jump the position of its whole statement if the test is a name or a call.
        return node.test if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) else node

    def _on_its_line(self, source: Source) -> ast.AST | None:
        """Return the expression of the statement on this line.

        JAX's filter of tracebacks takes the instruction from the frame, so if an error was raised again, it is that of
        `raise`; the line is right (0.10.2 to 0.12.0.1).
        """
        number = self.line.number
        found = [s for s in ast.walk(source.tree) if isinstance(s, ast.stmt) and s.lineno <= number <= _last_line(s)]
        if not found:
            return None
        statement = found[-1]  # `walk` goes from outside to inside
        if isinstance(statement, ast.If | ast.While | ast.Assert):
            return statement.test if statement.test.lineno <= number <= _last_line(statement.test) else None
        if isinstance(statement, ast.Return | ast.Assign | ast.AnnAssign | ast.Expr):
            return statement.value
        return statement if isinstance(statement, ast.AugAssign | ast.Raise) else None

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that was running."""
        return self.source.statement(self.node) if self.source else None

    @property
    def function(self) -> FunctionNode | None:
        """The innermost function around it; None at the top level."""
        return self.source.function(self.node) if self.source else None

    def value(self, node: ast.AST | None) -> Any:
        """Return an expression's value in this frame if that does not run code; else MISSING."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            for names in (self.frame.f_locals, self.frame.f_globals, vars(builtins)):
                if node.id in names:
                    return names[node.id]
        elif isinstance(node, ast.Attribute):
            return _attribute(self.value(node.value), node.attr)
        elif isinstance(node, ast.Subscript):
            base, index = self.value(node.value), self.value(node.slice)
            if isinstance(base, dict | list | tuple) and isinstance(index, int | str):
                try:
                    return base[index]  # type: ignore[index]
                except (LookupError, TypeError):
                    return MISSING
        elif isinstance(node, ast.Tuple | ast.List):
            values = [self.value(element) for element in node.elts]
            if not any(value is MISSING for value in values):
                return tuple(values) if isinstance(node, ast.Tuple) else values
        elif isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            keys, values = [self.value(key) for key in node.keys], [self.value(value) for value in node.values]
            known = not any(part is MISSING for part in [*keys, *values])
            if known and all(isinstance(key, Hashable) for key in keys):
                return dict(zip(keys, values, strict=True))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.value(node.operand)
            return -value if isinstance(value, int | float) else MISSING
        return MISSING

    def parts(self, node: ast.AST) -> Iterator[tuple[ast.expr, Any]]:
        """Yield the names, attributes and items in a node that have a known value, with the value, in reading order."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            value = self.value(node)
            if value is not MISSING and not isinstance(value, ModuleType):
                yield node, value
                return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            return  # a length is known, also that of a traced array
        if isinstance(node, ast.Lambda):  # this frame may have other values by the names of its parameters
            inside, own = self.parts(node.body), arguments_of(node)
            yield from (
                found for found in inside if not any(getattr(one, "id", "") in own for one in ast.walk(found[0]))
            )
            return
        for child in ast.iter_child_nodes(node):
            yield from self.parts(child)

    def first(self, node: ast.AST | None, holds: Callable[[Any], bool]) -> tuple[ast.expr, Any] | None:
        """Return the first part of a node for whose value `holds` is true, with the value."""
        if node is None:
            return None
        return next(((part, value) for part, value in self.parts(node) if holds(value)), None)

    def quote(self, node: ast.AST) -> str:
        """Return the text of a node as the student wrote it."""
        return self.source.quote(node) if self.source else ""


def _last_line(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def traceback_frames(traceback: TracebackType | None) -> tuple[list[UserFrame], bool]:
    """Return the user's frames of a traceback, and whether the last of them raised the error itself.

    `checkify.check` raises the same object at each call (0.10.2 to 0.12.0.1), whose traceback then has those of earlier
    calls after its own.
    """
    spots, last_is_user = [], False
    for step in _steps(traceback):
        frame = step.tb_frame
        file = frame.f_code.co_filename
        last_is_user = not is_library(file) and not file.endswith(".pyx")  # Cython reports its files without a folder
        if last_is_user:
            spots.append(UserFrame(frame, Line(file, step.tb_lineno), step.tb_lasti))
    raised = last_is_user and isinstance(spots[-1].statement, ast.Raise)
    return spots, raised


def _steps(traceback: TracebackType | None) -> list[TracebackType]:
    """Return the steps of a traceback, up to where the error was raised the first time.

    The frames by which JAX says where an operation comes from, such as one that it differentiates, have no callers.
    """
    steps: list[TracebackType] = []
    while traceback is not None:
        frame = traceback.tb_frame
        if steps and frame.f_back is not None and not _is_called_by(frame, steps[-1].tb_frame):
            break
        steps.append(traceback)
        traceback = traceback.tb_next
    return steps


def _is_called_by(frame: FrameType | None, caller: FrameType) -> bool:
    while frame is not None and frame is not caller:
        frame = frame.f_back
    return frame is not None


def _attribute(base: Any, name: str) -> Any:
    if base is MISSING:
        return MISSING
    if isinstance(base, ModuleType) or name in getattr(base, "__dict__", {}):
        return getattr(base, name, MISSING)
    if is_array(base) and name in ("shape", "ndim", "dtype", "size"):
        return getattr(base, name)
    return MISSING


def is_tracer(value: Any) -> bool:
    """Return whether a value is a tracer."""
    return isinstance(value, jax.core.Tracer)


def is_array(value: Any) -> bool:
    """Return whether a value is a JAX or NumPy array, or a tracer."""
    return isinstance(value, jax.Array | np.ndarray | np.generic)
