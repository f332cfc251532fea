"""Read a function's source: the lines of each statement, and the names that it uses and binds."""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from jaxguide.code.slices import first_line_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(eq=False)
class StatementLines:
    """One statement (only the head of a compound one), or several on the same line.

    Args:
        start, end: its first and last line in the file.
        uses, binds: its names, and attributes such as `x.shape`, in source order.
        inner_binds: the variables of the comprehensions in it.
        repeats: whether it is a loop with its body on the same line.
        body: the first line of a loop's body, or None.
        block_end: the last line of a `with` block, or None; Python returns to the head to leave the block.
        runs: whether Python runs anything for it (not for a docstring or a declaration).
    """

    start: int
    end: int
    uses: list[str] = field(default_factory=list)
    binds: list[str] = field(default_factory=list)
    inner_binds: list[str] = field(default_factory=list)
    repeats: bool = False
    body: int | None = None
    block_end: int | None = None
    runs: bool = False


@dataclass(eq=False)
class FunctionSource:
    """The source of one function.

    Args:
        file: the file, or the kernel's name for a cell.
        start: the number of its first line.
        lines: its lines, without their common indentation.
        statements: by line number; lines without a statement (blank, comment) are missing.
    """

    file: str
    start: int
    lines: list[str]
    statements: dict[int, StatementLines]

    def head(self, first_line: int) -> StatementLines | None:
        """Return the statement that defines the function or lambda whose code starts on a line."""
        number = first_line
        while number not in self.statements and number < self.start + len(self.lines):
            number += 1  # decorators of the function itself are not statements
        return self.statements.get(number)


def read_source(function: FunctionType) -> FunctionSource | None:
    """Return a function's source, or None if it cannot be found.

    >>> read_source(read_source).lines[0]
    'def read_source(function: FunctionType) -> FunctionSource | None:'
    >>> read_source(eval("lambda x: x")) is None
    True
    """
    return read_code(function.__code__, function.__globals__)


def read_code(code: CodeType, names: dict[str, Any]) -> FunctionSource | None:
    """Return the source of a function's code, given its globals, or None if it cannot be found."""
    lines = linecache.getlines(code.co_filename, names)
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    node = _node(module, code)
    if node is None:
        return None
    start, end = first_line_of(node), node.end_lineno or node.lineno
    reader = _Reader()
    if isinstance(node, ast.Lambda):
        statement = StatementLines(start, end, runs=True)
        reader.statements = dict.fromkeys(range(start, end + 1), statement)
        reader.names(statement, node.body)
    else:
        reader.read(node)
        for number in range(start, node.lineno):  # its decorators ran at its definition
            reader.statements.pop(number, None)
        reader.statements[node.lineno].start = node.lineno
    return FunctionSource(code.co_filename, start, _dedented(lines[start - 1 : end]), reader.statements)


def _node(module: ast.AST, code: CodeType) -> _Function | ast.Lambda | None:
    lambdas = []
    for node in ast.walk(module):
        if isinstance(node, _Function) and (node.name, first_line_of(node)) == (code.co_name, code.co_firstlineno):
            return node
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            lambdas.append(node)
    fitting = [node for node in lambdas if _holds(node.body, code)]
    # `ast.walk` goes from the outside in, so the innermost of nested lambdas comes last.
    return fitting[-1] if fitting else None


def _holds(body: ast.expr, code: CodeType) -> bool:
    """Return whether all instructions of a code object come from an expression."""
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [(p[0], p[2], p[1], p[3]) for p in code.co_positions() if None not in p and p[3] != 0]
    return bool(places) and all(start <= (a, b) and (c, d) <= end for a, b, c, d in places)


def _dedented(lines: list[str]) -> list[str]:
    texts = [line.rstrip().expandtabs(4) for line in lines]
    indent = min((len(text) - len(text.lstrip()) for text in texts if text), default=0)
    first = len(texts[0]) - len(texts[0].lstrip())
    return [text[min(indent, first) :] for text in texts]


class _Reader:
    def __init__(self) -> None:
        self.statements: dict[int, StatementLines] = {}

    def read(self, node: ast.AST) -> None:
        """Read a statement and those inside it."""
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            self._claim(node)
        for name in _BLOCKS:
            for inner in getattr(node, name, None) or ():
                if isinstance(inner, ast.AST):
                    self.read(inner)

    def _claim(self, node: ast.AST) -> None:
        head = list(_head(node))
        place = node.pattern if isinstance(node, ast.match_case) else node
        assert isinstance(place, ast.stmt | ast.excepthandler | ast.pattern)
        start = first_line_of(node) if isinstance(node, _Function) else place.lineno
        compound = any(getattr(node, name, None) for name in _BLOCKS)
        ends = [part.end_lineno for inner in head for part in ast.walk(inner) if hasattr(part, "end_lineno")]
        end = max([place.lineno, *(e for e in ends if e)]) if compound else place.end_lineno or start
        statement = self.statements.get(start) or StatementLines(start, end)
        statement.end = max(statement.end, end)
        for number in range(start, end + 1):
            self.statements.setdefault(number, statement)
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            statement.body = node.body[0].lineno
            statement.repeats = statement.body == start
        if _is_declaration(node):
            return
        statement.runs = True
        if isinstance(node, ast.With | ast.AsyncWith):
            statement.block_end = node.end_lineno
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            _add(statement.uses, [node.target.id])
        for inner in head:
            self.names(statement, inner)

    def names(self, statement: StatementLines, node: ast.AST, hidden: frozenset[str] = frozenset()) -> None:
        """Note the names of an expression, except `hidden` ones, which a lambda or comprehension around it binds."""
        if isinstance(node, ast.Lambda):
            inner = hidden | {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                if default is not None:
                    self.names(statement, default, hidden)
            self.names(statement, node.body, inner)
            return
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            bound = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
            _add(statement.inner_binds, [name for name in bound if name not in hidden])
            hidden |= set(bound)
        elif isinstance(node, ast.Name) and node.id not in hidden:
            _add(statement.uses if isinstance(node.ctx, ast.Load) else statement.binds, [node.id])
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            _add(statement.binds, [node.name])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in hidden:
            self.names(statement, node.value, hidden)
            dotted = f"{node.value.id}.{node.attr}"
            _add(statement.uses if isinstance(node.ctx, ast.Load) else statement.binds, [dotted])
            return
        for inner_node in ast.iter_child_nodes(node):
            if not isinstance(inner_node, ast.arg):
                self.names(statement, inner_node, hidden)


def _is_declaration(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Global | ast.Nonlocal) or (isinstance(node, ast.AnnAssign) and node.value is None)


def _head(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are neither statements nor annotations."""
    for name, value in ast.iter_fields(node):
        if name in (*_BLOCKS, "returns", "annotation", "type_params"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.arguments):
                yield from (d for d in [*part.defaults, *part.kw_defaults] if d is not None)
            elif isinstance(part, ast.AST):
                yield part


def _add(names: list[str], more: list[str]) -> None:
    names += [name for name in dict.fromkeys(more) if name not in names]
