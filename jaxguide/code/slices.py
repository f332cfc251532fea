"""Find the names that code reads, binds and changes in place, and the statements that define them."""

import ast
import builtins
import dataclasses
import re
import symtable
from collections.abc import Iterable

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BUILTINS = frozenset(dir(builtins))
# Functions that change what they are given.
_CHANGES_ARGUMENTS = re.compile(r"(register|update_wrapper|shuffle|copyto|put|fill|heap|setattr|delattr)")
# Functions of modules that change how the rest of the program runs.
_CONFIGURES = re.compile(r"(set_|setdefault|update|seed$|enable|disable|filterwarnings|simplefilter|use$)")


@dataclasses.dataclass(frozen=True)
class Statement:
    """A top-level statement: its source, the names it binds, and the global names that it reads and changes.

    `touches` has the names whose values it may change in place, and `configures` those of them that it certainly would
    change if they were modules: `jax.config.update(...)`, but not `np.sum(...)`.
    """

    source: str
    line: int
    binds: frozenset[str]
    reads: frozenset[str]
    is_import: bool
    is_definition: bool
    touches: frozenset[str] = frozenset()
    configures: frozenset[str] = frozenset()


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
    names: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _DEFINITIONS):
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


def changed_names(node: ast.stmt) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names whose values a statement may change or delete, and those it would change if they were modules.

    >>> touched, configured = changed_names(ast.parse("jax.config.update(option, True)").body[0])
    >>> sorted(touched), sorted(configured)
    (['jax'], ['jax'])
    >>> changed_names(ast.parse("print(f(x))").body[0])[0]
    frozenset()
    """
    touched: set[str] = set()
    configured: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _DEFINITIONS):
            touched |= decorating_names(part)
            continue
        for target in _targets(part):
            if isinstance(target, ast.Attribute | ast.Subscript) and (root := root_name(target)):
                touched.add(root)
                configured.add(root)
            elif isinstance(part, ast.Delete) and isinstance(target, ast.Name):
                touched.add(target.id)
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            function, root = part.value.func, root_name(part.value.func)
            called = function.attr if isinstance(function, ast.Attribute) else root
            if isinstance(function, ast.Attribute) and root:
                touched.add(root)
                if _CONFIGURES.match(function.attr):
                    configured.add(root)
            if called and _CHANGES_ARGUMENTS.match(called):
                touched |= {argument.id for argument in part.value.args if isinstance(argument, ast.Name)}
        inside = (ast.stmt, ast.ExceptHandler, ast.match_case)
        waiting += [child for child in ast.iter_child_nodes(part) if isinstance(child, inside)]
    return frozenset(touched), frozenset(configured)


def _targets(node: ast.AST) -> list[ast.expr]:
    """Return what a statement assigns to or deletes, without the tuples and lists around it."""
    waiting: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        waiting += node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        waiting.append(node.target)
    found = []
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
        else:
            found.append(target)
    return found


def decorating_names(node: ast.stmt) -> set[str]:
    """Return the names that decorators of a statement change, as `@f.defjvp` changes f."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    calls = [one.func if isinstance(one, ast.Call) else one for one in decorators]
    return {root_name(call) for call in calls if isinstance(call, ast.Attribute)} - {""}


def root_name(node: ast.expr) -> str:
    """Return the name that an expression like `a.b[0].c` begins with, '' if it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


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
        touches, configures = changed_names(node)
        found.append(
            Statement(
                source=text,
                line=first_line + start - 1,
                binds=bound_names(node),
                reads=global_names(text),
                is_import=isinstance(node, ast.Import | ast.ImportFrom),
                is_definition=isinstance(node, ast.FunctionDef | ast.ClassDef),
                touches=touches,
                configures=configures,
            )
        )
    return found


def needed(
    available: Iterable[Statement], names: Iterable[str], elsewhere: frozenset[str] = frozenset()
) -> list[Statement]:
    """Return the statements that define `names` and everything these need in turn, in order, and all star imports.

    A statement that binds none of these but changes one of their values, as `settings["rate"] = 0.5` or
    `register_pytree_node(Point, ...)` do, is also returned, unless it reads a name that no statement binds and that is
    not bound `elsewhere`. Changes of modules are not: they would hold for all code in the process.
    """
    return _slice(list(available), names, elsewhere)[0]


def left_out(available: Iterable[Statement], names: Iterable[str]) -> list[tuple[Statement, frozenset[str]]]:
    """Return the statements that change what `names` need, or a package that they use, and that `needed` leaves out.

    Returns:
        Each statement and the names that it reads and no statement binds; none if it changes a package.
    """
    pool = list(available)
    kept, wanted = _slice(pool, names)
    bound, imported = _bound(pool)
    packages = {_package(s) for s in pool if s.is_import and s.binds & wanted}
    in_use = {name for s in pool if s.is_import and _package(s) in packages for name in s.binds}
    found = []
    for statement in pool:
        if statement not in kept:
            if statement.touches & wanted & (bound - imported):
                found.append((statement, statement.reads - bound - _BUILTINS))
            elif statement.configures & in_use:
                found.append((statement, frozenset()))
    return found


def _slice(
    pool: list[Statement], names: Iterable[str], elsewhere: frozenset[str] = frozenset()
) -> tuple[list[Statement], set[str]]:
    """Return the statements that `needed` returns, and all names that are needed."""
    bound, imported = _bound(pool)
    known = bound | elsewhere | _BUILTINS
    wanted, kept = set(names), {i for i, s in enumerate(pool) if "*" in s.binds}
    growing = True
    while growing:
        growing = False
        for i, statement in enumerate(pool):
            changes = statement.touches & wanted & (bound - imported) and statement.reads <= known
            if i not in kept and (statement.binds & wanted or changes):
                kept.add(i)
                wanted |= statement.reads
                growing = True
    return [pool[i] for i in sorted(kept)], wanted


def _package(statement: Statement) -> str:
    """Return the package that an import statement imports from, such as 'jax'."""
    return re.split(r"[\s.,;]", statement.source.split(maxsplit=1)[1])[0]


def _bound(pool: list[Statement]) -> tuple[set[str], set[str]]:
    """Return the names that statements bind, and those of them that are imported."""
    bound = {name for statement in pool for name in statement.binds}
    imported = {name for statement in pool if statement.is_import for name in statement.binds}
    return bound, imported


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
        if isinstance(node, ast.Yield | ast.YieldFrom) or (isinstance(node, ast.Return) and not returns_none(node)):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def returns_none(node: ast.stmt) -> bool:
    """Return whether a statement is `return` or `return None`."""
    is_none = isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is None
    return is_none or (isinstance(node, ast.Return) and node.value is None)
