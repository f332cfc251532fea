"""Read a function's source: the lines of each statement, and the names that it uses and binds."""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType

from jaxguide.code.slices import first_line_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Statement = ast.stmt | ast.excepthandler | ast.match_case


@dataclass(eq=False)
class StatementLines:
    """One statement (only the head of a compound one), or several on the same line.

    Args:
        start, end: its first and last line in the file.
        uses, binds: its names, and attributes such as `x.shape`, in source order.
        body: the first line of a loop's body, or None if it begins on the line of the loop.
        block_end: the last line of a `with` block, or None; Python returns to the head to leave the block.
        runs: whether Python runs anything for it (not for a docstring or a declaration).
    """

    start: int
    end: int
    uses: list[str] = field(default_factory=list)
    binds: list[str] = field(default_factory=list)
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


def read_source(code: CodeType) -> FunctionSource | None:
    """Return the source of a function's code, or None if it cannot be found.

    >>> read_source(read_source.__code__).lines[0]
    'def read_source(code: CodeType) -> FunctionSource | None:'
    >>> read_source(eval("lambda x: x").__code__) is None
    True
    """
    lines = linecache.getlines(code.co_filename)
    try:
        module = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    node = _node(module, code)
    if node is None:
        return None
    start, end = first_line_of(node), node.end_lineno or node.lineno
    statements: dict[int, StatementLines] = {}
    if isinstance(node, ast.Lambda):
        statement = StatementLines(start, end, runs=True)
        statements = dict.fromkeys(range(start, end + 1), statement)
        _note_names(statement, node.body)
    else:
        _read(node, statements)
        for number in range(start, node.lineno):  # its decorators ran at its definition
            statements.pop(number, None)
        statements[node.lineno].start = node.lineno
    return FunctionSource(code.co_filename, start, _dedented(lines[start - 1 : end]), statements)


def _node(module: ast.AST, code: CodeType) -> _Function | ast.Lambda | None:
    # Of several lambdas on a line, it is the one whose body begins where the first instruction comes from.
    places = [(line, column) for line, _end, column, end_column in code.co_positions() if end_column]
    begins = min(places, default=None) if code.co_name == "<lambda>" else None
    for node in ast.walk(module):
        if isinstance(node, _Function) and (node.name, first_line_of(node)) == (code.co_name, code.co_firstlineno):
            return node
        if isinstance(node, ast.Lambda) and (node.body.lineno, node.body.col_offset) == begins:
            return node
    return None


def _dedented(lines: list[str]) -> list[str]:
    texts = [line.rstrip().expandtabs(4) for line in lines]
    indent = min((len(text) - len(text.lstrip()) for text in texts if text), default=0)
    first = len(texts[0]) - len(texts[0].lstrip())
    return [text[min(indent, first) :] for text in texts]


def _read(node: ast.AST, statements: dict[int, StatementLines]) -> None:
    """Read a statement and those inside it."""
    if isinstance(node, _Statement):
        _claim(node, statements)
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, _Statement):
            _read(inner, statements)


def _claim(node: ast.stmt | ast.excepthandler | ast.match_case, statements: dict[int, StatementLines]) -> None:
    place = node.pattern if isinstance(node, ast.match_case) else node
    start = first_line_of(node) if isinstance(node, _Function) else place.lineno
    head = list(_head(node))
    end = place.end_lineno or start
    if any(isinstance(inner, _Statement) for inner in ast.iter_child_nodes(node)):
        end = max([place.lineno, *(getattr(part, "end_lineno", 0) for one in head for part in ast.walk(one))])
    statement = statements.get(start) or StatementLines(start, end)
    statement.end = max(statement.end, end)
    for number in range(start, end + 1):
        statements.setdefault(number, statement)
    if isinstance(node, ast.For | ast.While) and node.body[0].lineno > start:
        statement.body = node.body[0].lineno
    if isinstance(node, ast.With):
        statement.block_end = node.end_lineno
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        _add(statement.uses, node.target.id)
    says_nothing = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    says_nothing |= isinstance(node, ast.AnnAssign) and node.value is None
    if not says_nothing and not isinstance(node, ast.Global | ast.Nonlocal):
        statement.runs = True
        for part in head:
            _note_names(statement, part)


def _note_names(statement: StatementLines, node: ast.AST, hidden: frozenset[str] = frozenset()) -> None:
    """Note the names of an expression, except `hidden` ones, which a lambda or comprehension around it binds."""
    if isinstance(node, ast.Lambda):
        hidden |= {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        hidden |= {one.id for part in node.generators for one in ast.walk(part.target) if isinstance(one, ast.Name)}
    elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        _add(statement.binds, node.name)
    elif isinstance(node, ast.Name) and node.id not in hidden:
        _add(statement.uses if isinstance(node.ctx, ast.Load) else statement.binds, node.id)
    for inner in _head(node):
        _note_names(statement, inner, hidden)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in hidden:
        _add(statement.uses if isinstance(node.ctx, ast.Load) else statement.binds, f"{node.value.id}.{node.attr}")


def _head(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement or expression that are neither statements nor annotations."""
    for name, value in ast.iter_fields(node):
        if name not in ("returns", "annotation", "type_params"):
            parts = value if isinstance(value, list) else [value]
            yield from (part for part in parts if isinstance(part, ast.AST) and not isinstance(part, _Statement))


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
