"""Find, quote and edit expressions in the student's source."""

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType
from typing import TypeVar

from jaxguide.code.edits import Edit
from jaxguide.code.slices import first_line_of

Node = TypeVar("Node", bound=ast.AST)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# Nodes that need no parentheses next to an operator, a dot or brackets.
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp)


class Source:
    """The syntax tree of a file or cell, with methods to quote and edit parts of it."""

    def __init__(self, file: str, text: str):
        self.file = file
        self.text = text
        self.lines = text.split("\n")
        self.tree = ast.parse(text)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def position(self, line: int, column_bytes: int) -> tuple[int, int]:
        """Return (line, character) for a column in bytes, as Python counts it."""
        return line, len(self.lines[line - 1].encode()[:column_bytes].decode(errors="ignore"))

    def start(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins, as (line, character)."""
        return self.position(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node ends, as (line, character)."""
        return self.position(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def quote(self, node: ast.AST) -> str:
        """Return the text of a node as the student wrote it."""
        (line, column), (end_line, end_column) = self.start(node), self.end(node)
        if line == end_line:
            return self.lines[line - 1][column:end_column]
        middle = self.lines[line : end_line - 1]
        return "\n".join([self.lines[line - 1][column:], *middle, self.lines[end_line - 1][:end_column]])

    def atom(self, node: ast.AST) -> str:
        """Return the text of a node, in parentheses if an operator next to it could split it."""
        text = self.quote(node)
        negative = isinstance(node, ast.Constant) and text.startswith("-")
        return text if isinstance(node, _ATOMS) and not negative else f"({text})"

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Return an edit that replaces a node with `text`."""
        return Edit(self.file, self.start(node), self.end(node), text)

    def insert_before(self, node: ast.AST, text: str) -> Edit:
        """Return an edit that inserts `text` before a node."""
        return Edit(self.file, self.start(node), self.start(node), text)

    def insert_after(self, node: ast.AST, text: str) -> Edit:
        """Return an edit that inserts `text` after a node."""
        return Edit(self.file, self.end(node), self.end(node), text)

    def indent(self, node: ast.AST) -> str:
        """Return the indentation of the line on which a node begins."""
        line = self.lines[self.start(node)[0] - 1]
        return line[: len(line) - len(line.lstrip())]

    def span(self, code: CodeType, instruction: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return where the expression of an instruction begins and ends, for `find`; None if Python does not know."""
        positions = list(code.co_positions())
        if not 0 <= instruction // 2 < len(positions):
            return None
        line, end_line, column, end_column = positions[instruction // 2]
        if line is None or end_line is None or column is None or end_column is None or end_line > len(self.lines):
            return None
        return self.position(line, column), self.position(end_line, end_column)

    def find(self, first: tuple[int, int], last: tuple[int, int]) -> ast.AST | None:
        """Return the outermost expression or statement at exactly these positions, else the smallest around them."""
        best: ast.AST | None = None
        for node in ast.walk(self.tree):
            if not hasattr(node, "lineno") or not isinstance(node, ast.expr | ast.stmt):
                continue
            start, end = self.start(node), self.end(node)
            if (start, end) == (first, last) and not isinstance(node, ast.Expr):
                return node
            if start <= first and last <= end:
                best = node  # `walk` goes from outside to inside
        return best

    def around(self, node: ast.AST | None, kind: type[Node] | tuple[type[Node], ...]) -> Node | None:
        """Return this node if it is of the given kind, or else the nearest one around it."""
        while node is not None and not isinstance(node, kind):
            node = self.parents.get(node)
        return node

    def statement(self, node: ast.AST | None) -> ast.stmt | None:
        """Return the statement that a node is part of."""
        return self.around(node, ast.stmt)

    def function(self, node: ast.AST | None) -> FunctionNode | None:
        """Return the innermost function around a node."""
        while node is not None:
            node = self.parents.get(node)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return node
        return None

    def body_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the block that a statement belongs to."""
        parent = self.parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    def functions(self, name: str) -> Iterator[ast.FunctionDef]:
        """Yield the functions with this name that are defined with `def`."""
        yield from (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef) and node.name == name)

    def function_at(self, name: str, line: int) -> FunctionNode | None:
        """Return the function with this name that begins on a line, as tracebacks and JAX count lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line:
                return node
            if isinstance(node, ast.FunctionDef) and node.name == name and line in (first_line_of(node), node.lineno):
                return node
        return None

    def calls(self) -> Iterator[ast.Call]:
        """Yield every call."""
        yield from (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))


def source_of(file: str) -> Source | None:
    """Return the source of a file or cell; None if it cannot be read or is not Python."""
    return _parsed(file, "".join(linecache.getlines(file)))


@functools.lru_cache(maxsize=32)
def _parsed(file: str, text: str) -> Source | None:
    if not text.strip():
        return None
    try:
        return Source(file, text)
    except (SyntaxError, ValueError):
        return None


def arguments_of(function: FunctionNode) -> list[str]:
    """Return the names of a function's arguments, positional ones first."""
    arguments = function.args
    return [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]


def names_in(node: ast.AST) -> set[str]:
    """Return the names that a node reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for names joined by dots, and '' for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
