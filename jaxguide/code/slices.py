"""Find the names that code reads and binds, and the statements that define them."""

import ast
import dataclasses
import symtable
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Statement:
    """A top-level statement: its source, the names it binds, and the global names it reads."""

    source: str
    line: int
    binds: frozenset[str]
    reads: frozenset[str]
    is_import: bool
    is_definition: bool


def global_names(source: str) -> frozenset[str]:
    """Return the names that `source` reads from the module's namespace.

    Parameters and local variables of functions are not included.

    >>> sorted(global_names("def f(key):\\n    return scale * key"))
    ['scale']
    """
    table = symtable.symtable(source, "<names>", "exec")
    names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    waiting = list(table.get_children())
    while waiting:
        inner = waiting.pop()
        names |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global() and symbol.is_referenced()}
        waiting += inner.get_children()
    return frozenset(names)


def bound_names(node: ast.stmt) -> frozenset[str]:
    """Return the names that a top-level statement binds, including inside loops and branches.

    >>> sorted(bound_names(ast.parse("key, (a, *rest) = f()").body[0]))
    ['a', 'key', 'rest']
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({node.name})
    names: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(part.name)
            continue
        if isinstance(part, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        if isinstance(part, ast.alias):
            names.add((part.asname or part.name).split(".")[0])
        waiting.extend(ast.iter_child_nodes(part))
    return frozenset(names)


def first_line_of(node: ast.stmt | ast.expr) -> int:
    """Return where a node begins: a decorated function or class at its first decorator.

    >>> first_line_of(ast.parse("@jit\\ndef f(x): ...").body[0])
    1
    """
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def statements(source: str, first_line: int = 1) -> list[Statement]:
    """Split source into its top-level statements."""
    lines = source.split("\n")
    found = []
    for node in ast.parse(source).body:
        start = first_line_of(node)
        text = "\n".join(lines[start - 1 : node.end_lineno])
        found.append(
            Statement(
                source=text,
                line=first_line + start - 1,
                binds=bound_names(node),
                reads=global_names(text),
                is_import=isinstance(node, ast.Import | ast.ImportFrom),
                is_definition=isinstance(node, ast.FunctionDef | ast.ClassDef),
            )
        )
    return found


def needed(available: Iterable[Statement], names: Iterable[str]) -> list[Statement]:
    """Return the statements that define `names` and everything these need in turn, in order, and all star imports."""
    pool = list(available)
    wanted, kept = set(names), {i for i, s in enumerate(pool) if "*" in s.binds}
    growing = True
    while growing:
        growing = False
        for i, statement in enumerate(pool):
            if i not in kept and statement.binds & wanted:
                kept.add(i)
                wanted |= statement.reads
                growing = True
    return [pool[i] for i in sorted(kept)]


def returns_value(source: str, name: str) -> bool:
    """Return whether `source` defines `name` as something that may return a value other than None.

    >>> returns_value("def f(x):\\n    print(x)", "f"), returns_value("def f(x):\\n    return x", "f")
    (False, True)
    """
    binding = [node for node in ast.parse(source).body if name in bound_names(node)]
    if not binding or not isinstance(binding[-1], ast.FunctionDef):
        return True
    waiting: list[ast.AST] = [*binding[-1].body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
            return True
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
