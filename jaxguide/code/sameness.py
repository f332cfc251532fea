"""Tell whether two pieces of code are the same answer, and whether an answer is still the printed stub."""

# Notebook, terminal and grader share these definitions:
#
# - An answer is the last statement that binds the exercise's name, with the statements of the same file or session
#   that it needs or that register something on them (`@f.defjvp`). Imports and the book's own code do not count, so an
#   answer is the same in a lesson's notebook and in a file that contains nothing else.
# - Two answers are the same if they differ only in comments, layout, docstrings and annotations of functions.
# - An answer is still the stub if its last statement is a `def` that does nothing, like the stub, with any arguments
#   and decorators, or if it has the stub's statements, arguments and decorators. Decorators count because one may be
#   the whole answer, such as `@jax.jit` above correct code. So an empty stub from an older print is still a stub, but a
#   stub with code in it that was printed differently counts as an attempt.
# - Code that is given in the exercise's cell belongs to it: whoever changes that, in any cell, has changed the stub.

import ast
import dataclasses
import functools
import hashlib
import inspect
import linecache
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from jaxguide.code.as_ipython import UNREADABLE, as_ipython
from jaxguide.code.slices import (
    Statement,
    bound_names,
    decorating_names,
    global_names,
    returns_none,
    root_name,
    statements,
)

# The prefix of ids of answers without source, which can only be compared with each other.
WITHOUT_SOURCE = "code-"
_TIMED = "<timed exec>"  # IPython's name for the code below `%%time`, whose source it does not keep
_REGISTERS = ("def", "register")  # prefixes of methods and functions that register: `f.defjvps(...)`


class HasStarter(Protocol):
    """The part of an exercise that this module needs."""

    @property
    def name(self) -> str:
        """The name of the function to write."""

    @property
    def starter_source(self) -> str:
        """The printed stub."""

    @property
    def cell_source(self) -> str:
        """The printed cell: the stub and the code that is given with it."""


def answer_in_session(
    function: Any, exercise: HasStarter, names: Mapping[str, Any], given: Sequence[Statement] = ()
) -> tuple[str, bool]:
    """Identify the answer behind a function by the source of its notebook, script or module, or else its bytecode.

    Args:
        function: the answer, as defined in the session.
        exercise: the exercise that it answers.
        names: the session's namespace, in which a notebook keeps its inputs and a script its file.
        given: the book's own statements, which are left out.

    Returns:
        An id that is equal for answers that are the same, and whether the answer is still the printed stub.
    """
    values = {**names, exercise.name: function}
    own = _source_of(_code_of(function))
    for pool in (_pool_run(names), StatementPool([(own, own)])):
        place = pool.place(exercise.name, _code_of(function))
        if place is not None:
            code_of, also = lambda name: _code_of(values.get(name)), given_in(exercise).names
            found = pool.answer(place, exercise.name, given, code_of, also)
            return _id(found), is_starter("\n".join(one.source for one in found), exercise)
    is_stub = _is_starter_code(function, exercise.starter_source)
    is_as_given = all(_is_starter_code(names[n], s) for n, s in given_in(exercise).functions.items() if n in names)
    return _code_id(function), is_stub and is_as_given


def answer_id(
    cells: Sequence[str],
    name: str,
    given: Sequence[Statement] = (),
    cell: int | None = None,
    also: Iterable[str] = (),
) -> str:
    """Return an id that is equal for answers that are the same, and different for others.

    Args:
        cells: the sources of a file's cells.
        name: the exercise's name.
        given: the book's own statements, which are left out.
        cell: the index of the cell with the answer; by default the last one that binds the name.
        also: more names that belong to the answer, see `given_in`.

    >>> one, other = "def f(x):\\n    'Double.'\\n    return 2 * x  # twice", "def f(x): return 2*x"
    >>> answer_id([one], "f") == answer_id(["import jax", other], "f")
    True
    """
    pool = StatementPool((source, "") for source in cells)
    place = pool.place(name, cell=cell)
    if place is None:
        return short_digest([cells[-1 if cell is None else cell].strip()])
    return _id(pool.answer(place, name, given, also=also))


def _id(answer: Iterable[Statement]) -> str:
    # Sorted by text, because cells may have run in another order than in the file.
    return short_digest(sorted(kept_meaning(statement.source) for statement in answer))


@dataclasses.dataclass(frozen=True)
class _CellStatement:
    statement: Statement
    cell: int
    whole: str

    @property
    def is_function(self) -> bool:
        return self.statement.is_definition and not self.statement.source.startswith("class")

    def holds(self, code: types.CodeType) -> bool:
        """Return whether code was compiled from this statement."""
        first = self.statement.line
        is_inside = first <= code.co_firstlineno <= first + self.statement.source.count("\n")
        return is_inside and self.whole == _source_of(code)


class StatementPool:
    """The statements of a file or session in the order in which they run, to find answers in.

    Args:
        parts: each cell's source, and the text that was compiled with it, which locates functions.
    """

    def __init__(self, parts: Iterable[tuple[str, str]]):
        self._placed = [
            _CellStatement(statement, number, whole)
            for number, (source, whole) in enumerate(parts)
            for statement in cell_statements(source)
        ]
        self._binding: dict[str, list[int]] = {}
        for place, one in enumerate(self._placed):
            for name in one.statement.binds:
                self._binding.setdefault(name, []).append(place)

    def place(self, name: str, code: types.CodeType | None = None, cell: int | None = None) -> int | None:
        """Return the index of the statement that gave a name its value; None if it is an import or not in the pool.

        Args:
            name: the name.
            code: the code of its value, if any: it reveals that a cell failed before its `def`.
            cell: the index of the cell to search; by default all are searched.
        """
        places = [place for place in self._binding.get(name, ()) if cell in (None, self._placed[place].cell)]
        if not places or self._placed[places[-1]].statement.is_import:
            return None
        if code is not None and self._placed[places[-1]].is_function:
            having = [place for place in places if self._placed[place].is_function and self._placed[place].holds(code)]
            is_from_elsewhere = code.co_name == name and code.co_filename != _TIMED
            return having[-1] if having else None if is_from_elsewhere else places[-1]
        return places[-1]

    def answer(
        self,
        place: int,
        name: str,
        given: Sequence[Statement] = (),
        code_of: Callable[[str], types.CodeType | None] = lambda name: None,
        also: Iterable[str] = (),
    ) -> list[Statement]:
        """Return the statements of an answer, ending with the one that binds its name.

        Args:
            place: the index of that statement.
            name: the name.
            given: the book's own statements, which are left out.
            code_of: returns the code of a name's value, or None.
            also: more names that belong to the answer.
        """
        found, seen, new = set[int](), {name}, {place, *self._before(place, name)}
        more = {one for one in (self.place(other, code_of(other)) for other in also) if one is not None}
        while new:
            found |= new
            reads = frozenset(also).union(*(self._placed[one].statement.reads for one in new)) - seen
            seen |= reads
            at = {read: self.place(read, code_of(read)) for read in reads}
            helpers = {
                one for read, where in at.items() if where is not None for one in (where, *self._before(where, read))
            }
            new = {one for one in helpers | self._attached(found | more) if not self._is_left_out(one, given)} - found
        return [self._placed[one].statement for one in sorted(found - {place})] + [self._placed[place].statement]

    def _before(self, place: int, name: str) -> list[int]:
        """Return the earlier statements that bind a name and that its value builds on, as in `f = jax.jit(f)`."""
        found, earlier = [], [other for other in self._binding[name] if other < place]
        while earlier and name in self._placed[place].statement.reads and not self._placed[place].is_function:
            place = earlier.pop()
            found.append(place)
        return found

    def _attached(self, found: set[int]) -> set[int]:
        """Return the statements that register something on the names of these; of several alike, the last."""
        owners = {name: place for place in sorted(found) for name in self._placed[place].statement.binds}
        last: dict[tuple[object, ...], int] = {}
        for place, one in enumerate(self._placed):
            touched = attached_to(one.statement.source)
            if any(owners.get(name, place) < place for name in touched):
                last[touched, one.statement.binds] = place
        return set(last.values())

    def _is_left_out(self, place: int, given: Sequence[Statement]) -> bool:
        statement = self._placed[place].statement
        alike = (other for other in given if other.binds == statement.binds)
        return statement.is_import or any(
            kept_meaning(other.source) == kept_meaning(statement.source) for other in alike
        )


def short_digest(parts: Iterable[str]) -> str:
    """Return a digest of a list of texts as 16 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]


@functools.lru_cache(maxsize=4096)
def cell_statements(source: str) -> Sequence[Statement]:
    """Return the statements of a cell; empty if it is not valid Python."""
    try:
        return statements(source)
    except UNREADABLE:  # also errors that only the compiler finds, such as `return` outside a function
        return []


def meaning(source: str) -> str:
    """Return code in a canonical form, without docstrings and annotations of functions; its text if it is invalid.

    >>> meaning("def f(x: int) -> int:\\n    'Twice.'\\n    return 2*x") == meaning("def f(x): return 2 * x  # twice")
    True
    """
    try:
        return canonical(ast.parse(source).body, words=False)
    except UNREADABLE:
        return source.strip()


# Only for the student's own statements: submissions from others could fill the memory.
kept_meaning = functools.lru_cache(maxsize=4096)(meaning)


def canonical(node: Any, words: bool = True) -> str:
    """Write a syntax tree in a form that does not depend on the Python version.

    `ast.dump` omits empty fields since Python 3.13, and `ast.unparse` chooses quotes differently in each version.

    Args:
        node: the tree, or a list of trees.
        words: whether to include docstrings, other statements that do nothing, and annotations of functions.

    >>> canonical(ast.parse("x   = 1  # one").body[0])
    "(Assign targets=[(Name id='x')] value=(Constant value=1))"
    """
    if isinstance(node, list):
        kept = node if words else [part for part in node if not _says_nothing(part)]
        return f"[{' '.join([canonical(part, words) for part in kept])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    skipped: tuple[str, ...] = ("ctx", "kind", "type_comment")
    if not words and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.arg):
        skipped += ("annotation", "returns")
    fields = [(name, value) for name, value in ast.iter_fields(node) if name not in skipped and value not in (None, [])]
    if isinstance(node, ast.Constant):
        fields = [("value", node.value)]
    if isinstance(node, ast.JoinedStr):
        # Python 3.12 adds an empty text to an f-string that ends in a value.
        fields = [("values", [part for part in node.values if not isinstance(part, ast.Constant) or part.value])]
    return f"({' '.join([type(node).__name__, *(f'{name}={canonical(value, words)}' for name, value in fields)])})"


def _says_nothing(node: Any) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


@functools.lru_cache(maxsize=4096)
def run_at_once(source: str) -> tuple[str, frozenset[str]]:
    """Return what a cell runs at once, without bodies of functions, and the names that it reads from other cells."""
    run, reads, bound = list[ast.stmt](), set[str](), set[str]()
    found = cell_statements(source)
    for statement, node in zip(found, ast.parse(source).body if found else [], strict=True):
        now = statement.reads
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]
            now = global_names(ast.unparse(node))
        run += [] if _says_nothing(node) else [node]
        reads |= now - bound
        bound |= statement.binds
    try:
        return canonical(run), frozenset(reads)
    except RecursionError:
        return source, frozenset(reads)


# Is it still the stub?


@dataclasses.dataclass(frozen=True)
class GivenCode:
    """The code that an exercise's cell gives with its function: names, statements in canonical form, and functions."""

    names: frozenset[str]
    statements: frozenset[str]
    functions: Mapping[str, str]


def given_in(exercise: HasStarter) -> GivenCode:
    """Return the code that an exercise's cell gives and that belongs to it: what it needs, functions and classes."""
    return _given_code(exercise.cell_source, exercise.name)


@functools.lru_cache(maxsize=4096)
def _given_code(cell: str, name: str) -> GivenCode:
    pool = StatementPool([(cell, "")])
    place = pool.place(name)
    needed = pool.answer(place, name) if place is not None else []
    found = [s for s in cell_statements(cell) if not (s.is_import or (name in s.binds and s.is_definition))]
    names = frozenset[str]().union(*(s.binds for s in found if s.is_definition or s in needed)) - {name}
    functions = {
        n: s.source for s in found if isinstance(ast.parse(s.source).body[0], ast.FunctionDef) for n in s.binds
    }
    return GivenCode(names, frozenset(kept_meaning(s.source) for s in found), functions)


def starters_in_cells(
    cells: Sequence[ast.Module | None], exercises: Mapping[str, HasStarter]
) -> tuple[list[set[str]], set[str]]:
    """Return for each cell of a file which exercises it defines as printed, so that it replaces no answer.

    Returns:
        These, and the exercises whose printed function is an answer because code given with it changed elsewhere.
    """
    given = {name: given_in(exercise) for name, exercise in exercises.items()}
    last = [_last_bindings(cell, given) if cell else {} for cell in cells]
    changes = [set(_changed_given(cell, given)) if cell else set() for cell in cells]
    # Two exercises may give code of one name: then it belongs to the one in whose cell it is.
    changes = [changed & one.keys() or changed for changed, one in zip(changes, last, strict=True)]
    found = [{name for name, node in one.items() if _is_untouched(node, exercises[name])} for one in last]
    elsewhere = set()
    wrapped = ({name for name, node in one.items() if node is None} for one in last)
    for name in frozenset[str]().union(*changes, *wrapped):
        having = [place for place, one in enumerate(last) if name in one]
        answers = [place for place in having if name in changes[place] or name not in found[place]]
        if answers:  # given code that is all that binds the name, as `f = jax.jit(f)`, wraps the answer
            answers += [place for place in having if last[place][name] is None]
        elif any(name in one for one in changes):
            answers = having
            elsewhere.add(name)
        for place in answers:
            found[place].discard(name)
    return found, elsewhere


def _changed_given(cell: ast.Module, given: Mapping[str, GivenCode]) -> Iterator[str]:
    """Yield the exercises whose given code a cell binds in another way than printed, or on which it registers more."""
    for node in cell.body:
        touched = _touched(node)
        names = bound_names(node) | touched
        owners = [name for name, code in given.items() if names & code.names or name in touched]
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if owners and not is_import and not any(_is_as_given(node, code) for code in given.values()):
            yield from owners


def _is_as_given(node: ast.stmt, code: GivenCode) -> bool:
    source = code.functions.get(getattr(node, "name", ""))
    if source is not None and isinstance(node, ast.FunctionDef) and _is_stub(node, source):
        return True
    try:
        return bool(code.statements) and canonical([node], words=False) in code.statements
    except RecursionError:
        return False


def _last_bindings(cell: ast.Module, given: Mapping[str, GivenCode]) -> dict[str, ast.stmt | None]:
    """Return the exercises that a cell binds, each with the last binding besides given code, if any."""
    last: dict[str, ast.stmt | None] = {}
    for node in cell.body:
        for name in bound_names(node) & given.keys():
            last[name] = last.get(name) if _is_as_given(node, given[name]) else node
    return last


def _is_untouched(node: ast.stmt | None, exercise: HasStarter) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _is_stub(node, exercise.starter_source)
    return node is None


def is_starter(cell: str, exercise: HasStarter) -> bool:
    """Return whether a cell's last binding of an exercise's name is the printed stub, and all given code as printed."""
    return exercise.name in starters_in_cells([ast.parse(cell)], {exercise.name: exercise})[0][0]


def is_to_repair(starter: str) -> bool:
    """Return whether a stub is code to repair: it does something, and leaves nothing to fill in.

    >>> is_to_repair("def f(x):\\n    return x[..., 0]"), is_to_repair("def f(x):\\n    y = ...\\n    return y")
    (True, False)
    """
    nodes = list(ast.walk(ast.parse(starter)))
    indices = {part for node in nodes if isinstance(node, ast.Subscript) for part in ast.walk(node.slice)}
    blanks = [n for n in nodes if isinstance(n, ast.Constant) and n.value is Ellipsis and n not in indices]
    is_refused = any(isinstance(node, ast.Name) and node.id == "NotImplementedError" for node in nodes)
    return _stub(starter)[0] != () and not blanks and not is_refused


def _is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef, source: str) -> bool:
    try:
        body, head = _stub(source)
        return _body(function) == body and (not body or _head(function) == head)
    except RecursionError:  # nested too deeply to be written out, which a stub never is
        return False


@functools.cache
def _stub(source: str) -> tuple[tuple[str, ...], tuple[str, str]]:
    """Return the body and the head of a stub in canonical form."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return _body(function), _head(function)


def _head(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, str]:
    return canonical(function.args, words=False), canonical(function.decorator_list)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """Return a function's statements in canonical form; empty if it only returns None."""
    said = [node for node in function.body if not _says_nothing(node)]
    return () if all(map(returns_none, said)) else tuple(canonical(node, words=False) for node in said)


# Statements that register something on an answer


@functools.lru_cache(maxsize=4096)
def attached_to(source: str) -> frozenset[str]:
    """Return names that a statement changes but does not bind, as in `@f.defjvp` above a rule or `register(Point)`."""
    return frozenset[str]().union(*map(_touched, ast.parse(source).body))


def _touched(node: ast.stmt) -> set[str]:
    found = decorating_names(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if called.startswith(_REGISTERS):
            found |= {root_name(function)} - {""} if isinstance(function, ast.Attribute) else set()
            found |= {argument.id for argument in node.value.args if isinstance(argument, ast.Name)}
    return found


# The code behind a function of a live session


def _pool_run(names: Mapping[str, Any]) -> StatementPool:
    """Return the statements that a notebook has run, or those of a script's file."""
    inputs, file = names.get("In"), names.get("__file__")
    if isinstance(inputs, list):
        sources = [as_ipython(source).python.strip("\n") for source in inputs if isinstance(source, str)]
        return StatementPool(zip(sources, sources, strict=True))
    text = _source_of_file(file) if isinstance(file, str) else ""
    return StatementPool([(text, text)])


def _code_of(value: Any) -> types.CodeType | None:
    if not callable(value):
        return None
    try:
        code = getattr(inspect.unwrap(value), "__code__", None)
    except ValueError:  # it wraps itself
        return None
    return code if isinstance(code, types.CodeType) else None


def _source_of(code: types.CodeType | None) -> str:
    return "" if code is None else _source_of_file(code.co_filename)


def _source_of_file(filename: str) -> str:
    linecache.checkcache(filename)
    return "".join(linecache.getlines(filename)).strip("\n")


# Functions without source: in a plain shell before Python 3.13, or from `exec`


def _code_id(function: Any) -> str:
    code = _code_of(function)
    return WITHOUT_SOURCE + short_digest([repr(_essence(code)) if code else repr(type(function))])


def _is_starter_code(function: Any, source: str) -> bool:
    code = _code_of(function)
    if code is None:
        return False
    if not _stub(source)[0]:
        return code.co_code in _empty_codes() and all(constant is None for constant in _constants(code))
    is_decorated = inspect.unwrap(function) is not function and not source.startswith("@")
    return not is_decorated and _essence(code) in _starter_essences(source)


@functools.cache
def _empty_codes() -> frozenset[bytes]:
    """Return the bytecode of functions that do nothing, with and without a docstring."""
    modules = (compile(f"def f(): {body}", "<empty>", "exec") for body in ("pass", "'Words.'"))
    return frozenset(_first_code(module).co_code for module in modules)


@functools.cache
def _starter_essences(source: str) -> tuple[tuple[Any, ...], ...]:
    """Return the stub's code compiled as a cell and below a script's imports, each with and without its docstring.

    CPython calls an attribute of a name differently if the same source imports that name, and removing a docstring can
    put another constant in its place.
    """
    imports = "\n".join(f"import {name}" for name in sorted(global_names(source)))
    texts = [f"{above}\n{text}" for above in ("", imports) for text in (source, _without_docstring(source))]
    return tuple(_essence(_first_code(compile(text, "<starter>", "exec"))) for text in texts)


def _first_code(module: types.CodeType) -> types.CodeType:
    return next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))


def _without_docstring(source: str) -> str:
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _essence(code: types.CodeType) -> tuple[Any, ...]:
    """Return what code does, without its position, docstring and comments; equal if the same source runs again.

    >>> first, again = (compile("f = lambda x: [lambda: x]", "<cell>", "exec") for _time in range(2))
    >>> _essence(first) == _essence(again)
    True
    """
    constants = tuple(_essence(c) if isinstance(c, types.CodeType) else repr(c) for c in _constants(code))
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constants(code: types.CodeType) -> tuple[Any, ...]:
    """Return the constants of code without its docstring, which the student may have edited."""
    constants = code.co_consts
    has_docstring = bool(constants) and isinstance(constants[0], str)
    if "__firstlineno__" in code.co_names:  # of a class, since Python 3.13
        constants = tuple("its line" if c == code.co_firstlineno else c for c in constants)
    return constants[1:] if has_docstring else constants
