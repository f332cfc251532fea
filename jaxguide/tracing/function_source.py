"""Read a function's source: the lines of each statement, and the names that it uses and binds."""

import ast
import linecache
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType

from jaxguide.code.slices import first_line_of
from jaxguide.tracing.value_description import ValueDescription

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Statement = ast.stmt | ast.excepthandler


@dataclass(eq=False)
class StatementLines:
    """One statement (only the head of a compound one), or several on the same line, and what happens on it.

    Args:
        uses, binds: its names, and attributes such as `x.shape`, in source order.
        body: the first line of the body of a loop or a `with` block, whose head Python runs once more to leave it;
            None if it begins on the line of the head.
        times: how often it ran.
        seen: by name, what it was, first to last; the names of a lambda's own variables end in " (lambda)".
        primitives: those that it added to the program.
    """

    uses: list[str] = field(default_factory=list)
    binds: list[str] = field(default_factory=list)
    body: int | None = None
    times: int = 0
    seen: dict[str, list[ValueDescription]] = field(default_factory=dict)
    primitives: Counter[str] = field(default_factory=Counter)


@dataclass(eq=False)
class FunctionSource:
    """The source of one function.

    Args:
        code: the function's code.
        start: the number of its first line.
        lines: its lines, without their common indentation.
        definition: the statement that defines it, without decorators.
        statements: by line number; lines without a statement (blank, comment, decorator) are missing.
    """

    code: CodeType
    start: int
    lines: list[str]
    definition: StatementLines
    statements: dict[int, StatementLines]


def read_source(code: CodeType) -> FunctionSource | None:
    """Return the source of a function's code, or None if it cannot be found.

    >>> read_source(read_source.__code__).lines[0]
    'def read_source(code: CodeType) -> FunctionSource | None:'
    >>> read_source(eval("lambda x: x").__code__) is None
    True
    """
    lines = linecache.getlines(code.co_filename)
    try:
        node = _node(ast.parse("".join(lines)), code)
    except (SyntaxError, ValueError):
        return None
    if node is None:
        return None
    start, end = first_line_of(node), node.end_lineno or node.lineno
    statements: dict[int, StatementLines] = {}
    if isinstance(node, ast.Lambda):
        statements = dict.fromkeys(range(start, end + 1), StatementLines())
        _note_names(statements[start], node.body)
    for inner in ast.walk(node):  # a statement comes before those inside it
        if isinstance(inner, _Statement):
            _claim(inner, statements)
    for number in range(start, node.lineno):  # its decorators ran at its definition
        del statements[number]
    text = textwrap.dedent("".join(lines[start - 1 : end]).expandtabs(4))
    return FunctionSource(code, start, text.splitlines(), statements[node.lineno], statements)


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


def _claim(node: _Statement, statements: dict[int, StatementLines]) -> None:
    """Note a statement for its lines, except those of the statements inside it."""
    start = first_line_of(node) if isinstance(node, _Function) else node.lineno
    head = list(_head(node))
    end = node.end_lineno or start
    if hasattr(node, "body") or isinstance(node, ast.Match):
        end = max([node.lineno, *(getattr(part, "end_lineno", 0) for one in head for part in ast.walk(one))])
    statement = statements.get(start) or StatementLines()
    for number in range(start, end + 1):
        statements.setdefault(number, statement)
    if isinstance(node, ast.For | ast.While | ast.With) and node.body[0].lineno > start:
        statement.body = node.body[0].lineno
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        _add(statement.uses, node.target.id)
    for part in head:
        _note_names(statement, part)


def _note_names(statement: StatementLines, node: ast.AST, hidden: frozenset[str] = frozenset()) -> None:
    """Note the names of an expression, except `hidden` ones, which a lambda or comprehension around it binds."""
    if isinstance(node, ast.Lambda):
        hidden |= {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        hidden |= {one.id for part in node.generators for one in ast.walk(part.target) if isinstance(one, ast.Name)}
    elif isinstance(node, ast.Name) and node.id not in hidden:
        _add(statement.uses if isinstance(node.ctx, ast.Load) else statement.binds, node.id)
    for inner in _head(node):
        _note_names(statement, inner, hidden)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in hidden:
        _add(statement.uses if isinstance(node.ctx, ast.Load) else statement.binds, f"{node.value.id}.{node.attr}")


def _head(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement or expression that are neither statements, `case`s nor annotations."""
    for name, value in ast.iter_fields(node):
        if name not in ("returns", "annotation", "type_params", "cases"):
            parts = value if isinstance(value, list) else [value]
            yield from (part for part in parts if isinstance(part, ast.AST) and not isinstance(part, _Statement))


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
