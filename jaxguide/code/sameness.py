"""Tell whether two pieces of code are the same answer, and whether an answer is still the printed stub."""

# One notion for notebook, terminal and grader:
#
# - An answer is the statement that bound the exercise's name last, with those of the same file or session that it needs
#   or that register something on them (`@f.defjvp`). Imports and the book's own code do not count, so that an answer is
#   the same in a lesson's notebook and in a file that holds nothing else.
# - Two answers are the same where nothing differs but comments, layout, docstrings, and annotations of arguments.
# - An answer is still the stub where that statement is a `def` that does nothing, as the stub does, whatever its
#   arguments and decorators; or has the stub's statements, arguments and decorators. A decorator can be all that was
#   missing, as `@jax.jit` above code that is right. So the empty stubs of an older print are stubs still, and a stub to
#   mend that was printed otherwise is an attempt.

import ast
import dataclasses
import functools
import hashlib
import inspect
import linecache
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from jaxguide.code.slices import Statement, bound_names, global_names, statements

# Begins the id of an answer whose source is not to be had: it can be compared with its like alone.
WITHOUT_SOURCE = "code-"
_TIMED = "<timed exec>"  # what IPython calls the code below `%%time`, of which it keeps no source
_REGISTERS = ("def", "register")  # how methods and functions begin that do so: `f.defjvps(...)`
_UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)


class HasStarter(Protocol):
    """An exercise, of which only this much matters here."""

    @property
    def name(self) -> str:
        """The name of the function to write."""

    @property
    def starter_source(self) -> str:
        """The printed stub."""


@dataclasses.dataclass(frozen=True)
class SessionAnswer:
    """What a function of a live session says of the code behind it.

    Args:
        id: what tells this answer from others.
        is_starter: whether it is still the printed stub.
    """

    id: str
    is_starter: bool


def answer_in_session(
    function: Any, exercise: HasStarter, names: Mapping[str, Any], given: Sequence[Statement] = ()
) -> SessionAnswer:
    """Return what the code behind a function says: that of its notebook, script or module, else its bytecode.

    Args:
        function: the answer, as the session has it.
        exercise: what it answers.
        names: the session's names: a notebook keeps there what was run, and a script its file.
        given: the book's own statements.
    """
    values = {**names, exercise.name: function}
    own = _source_of(_code_of(function))
    for pool in (_pool_run(names), Pool([(own, own)])):
        place = pool.place(exercise.name, _code_of(function))
        if place is not None:
            found = pool.answer(place, exercise.name, given, lambda name: _code_of(values.get(name)))
            return SessionAnswer(_id(found), is_starter(found[-1].source, exercise))
    return SessionAnswer(_code_id(function), _is_starter_code(function, exercise))


def answer_id(cells: Sequence[str], name: str, given: Sequence[Statement] = (), cell: int | None = None) -> str:
    """Return what tells the answer to an exercise from others.

    Args:
        cells: the source of a file's cells.
        name: the exercise's.
        given: the book's own statements.
        cell: the index of the one that holds the answer; by default the last that binds the name.

    >>> one, other = "def f(x):\\n    'Double.'\\n    return 2 * x  # twice", "def f(x): return 2*x"
    >>> answer_id([one], "f") == answer_id(["import jax", other], "f")
    True
    """
    pool = Pool((source, "") for source in cells)
    place = pool.place(name, cell=cell)
    if place is None:
        return short_digest([cells[-1 if cell is None else cell].strip()])
    return _id(pool.answer(place, name, given))


def _id(answer: Iterable[Statement]) -> str:
    # In order of their text: cells may be run in another order than that of the file.
    return short_digest(sorted(kept_meaning(statement.source) for statement in answer))


@dataclasses.dataclass(frozen=True)
class _Placed:
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


class Pool:
    """The statements of a file or session, in the order in which they run, in which answers are found.

    Args:
        parts: the source of each cell, and the text that was compiled with it, by which a function's place is known.
    """

    def __init__(self, parts: Iterable[tuple[str, str]]):
        self._placed = [
            _Placed(statement, number, whole)
            for number, (source, whole) in enumerate(parts)
            for statement in cell_statements(source)
        ]
        self._binding: dict[str, list[int]] = {}
        for place, one in enumerate(self._placed):
            for name in one.statement.binds:
                self._binding.setdefault(name, []).append(place)

    def place(self, name: str, code: types.CodeType | None = None, cell: int | None = None) -> int | None:
        """Return where a name got its value; None where that is an import, or is not here.

        Args:
            name: the name.
            code: that of its value, where there is one: it shows that a cell failed before its `def`.
            cell: the index of the cell to look in, by default all.
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
    ) -> list[Statement]:
        """Return the statements of an answer, that which binds its name as the last.

        Args:
            place: where it does.
            name: the name.
            given: the book's own statements, which are left out.
            code_of: returns the code of a name's value, where there is one.
        """
        found, seen, new = set[int](), {name}, {place, *self._before(place, name)}
        while new:
            found |= new
            reads = frozenset[str]().union(*(self._placed[one].statement.reads for one in new)) - seen
            seen |= reads
            at = {read: self.place(read, code_of(read)) for read in reads}
            helpers = {
                one for read, where in at.items() if where is not None for one in (where, *self._before(where, read))
            }
            new = {one for one in helpers | self._attached(found) if not self._is_left_out(one, given)} - found
        return [self._placed[one].statement for one in sorted(found - {place})] + [self._placed[place].statement]

    def _before(self, place: int, name: str) -> list[int]:
        """Return the places that a name was bound at before, as far as `f = jax.jit(f)` goes on from them."""
        found, earlier = [], [other for other in self._binding[name] if other < place]
        while earlier and name in self._placed[place].statement.reads and not self._placed[place].is_function:
            place = earlier.pop()
            found.append(place)
        return found

    def _attached(self, found: set[int]) -> set[int]:
        """Return the places of what registers something on these statements' names, of several alike the last."""
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
    """Return 16 hexadecimal digits that tell one list of texts from another."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]


@functools.lru_cache(maxsize=4096)
def cell_statements(source: str) -> Sequence[Statement]:
    """Return the statements of a cell; none where it is no Python."""
    try:
        return statements(source)
    except _UNREADABLE:  # also what only compiling finds, such as `return` outside a function
        return []


def meaning(source: str) -> str:
    """Return what code says in a canonical form, without docstrings and annotations of arguments; else its text.

    >>> meaning("def f(x: int) -> int:\\n    'Twice.'\\n    return 2*x") == meaning("def f(x): return 2 * x  # twice")
    True
    """
    try:
        return canonical(ast.parse(source).body, words=False)
    except _UNREADABLE:
        return source.strip()


# For a student's own statements; what strangers hand in could fill the memory.
kept_meaning = functools.lru_cache(maxsize=4096)(meaning)


def canonical(node: Any, words: bool = True) -> str:
    """Write a syntax tree so that every Python writes it alike.

    `ast.dump` leaves out empty fields since Python 3.13, and each Python's own `ast.unparse` has its own quotes.

    Args:
        node: the tree, or a list of trees.
        words: whether docstrings, other statements that do nothing, and annotations of functions are written too.

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
        # Python 3.12 puts empty text behind a format that ends in a value.
        fields = [("values", [part for part in node.values if not isinstance(part, ast.Constant) or part.value])]
    return f"({' '.join([type(node).__name__, *(f'{name}={canonical(value, words)}' for name, value in fields)])})"


def _says_nothing(node: Any) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


# Whether it is the stub


def starters_in(tree: ast.Module, exercises: Mapping[str, HasStarter]) -> Iterator[str]:
    """Yield the exercises for which the last thing that a cell binds to their name is the printed stub."""
    last = {name: node for node in tree.body for name in bound_names(node) if name in exercises}
    for name, node in last.items():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_stub(node, exercises[name]):
            yield name


def is_starter(cell: str, exercise: HasStarter) -> bool:
    """Return whether the last thing that a cell binds to the name of an exercise is the printed stub."""
    return exercise.name in starters_in(ast.parse(cell), {exercise.name: exercise})


def _is_stub(function: ast.FunctionDef | ast.AsyncFunctionDef, exercise: HasStarter) -> bool:
    try:
        body = _body(function)
        stub = _stub(exercise.starter_source)
        return body == stub.body and (not body or _head(function) == stub.head)
    except RecursionError:  # nested so deep that it cannot be written out, which no stub is
        return False


@dataclasses.dataclass(frozen=True)
class _Stub:
    head: tuple[str, str]
    body: tuple[str, ...]


@functools.cache
def _stub(source: str) -> _Stub:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return _Stub(_head(function), _body(function))


def _head(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, str]:
    return canonical(function.args, words=False), canonical(function.decorator_list)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """Return what a function's statements say; nothing where all that it does is to return None."""
    said = [node for node in function.body if not _says_nothing(node)]
    return () if all(map(_returns_none, said)) else tuple(canonical(node, words=False) for node in said)


def _returns_none(node: ast.stmt) -> bool:
    is_none = isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is None
    return is_none or (isinstance(node, ast.Return) and node.value is None)


# What registers something on an answer


@functools.lru_cache(maxsize=4096)
def attached_to(source: str) -> frozenset[str]:
    """Return the names that a statement changes without binding them: `@f.defjvp` above a rule, `register(Point)`."""
    return frozenset(name for node in ast.parse(source).body for name in _touched(node))


def _touched(node: ast.stmt) -> Iterator[str]:
    for decorator in getattr(node, "decorator_list", []):
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(call, ast.Attribute):
            yield from _owner(call)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if called.startswith(_REGISTERS):
            yield from _owner(function) if isinstance(function, ast.Attribute) else ()
            yield from (argument.id for argument in node.value.args if isinstance(argument, ast.Name))


def _owner(node: ast.expr) -> Iterator[str]:
    """Yield `f` of `f.defjvp`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


# The code behind a function of a live session


def _pool_run(names: Mapping[str, Any]) -> Pool:
    """Return what a notebook has run, or a script's file."""
    inputs, file = names.get("In"), names.get("__file__")
    if isinstance(inputs, list):
        sources = [_below_magic(source).strip("\n") for source in inputs if isinstance(source, str)]
        return Pool(zip(sources, sources, strict=True))
    text = _source_of_file(file) if isinstance(file, str) else ""
    return Pool([(text, text)])


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


def _below_magic(source: str) -> str:
    """Return the Python below a cell magic such as `%%time`, of which IPython makes a call; other code as it is."""
    if not source.startswith("get_ipython().run_cell_magic("):
        return source
    try:
        (node,) = ast.parse(source).body
        body = ast.literal_eval(node.value.args[2])  # type: ignore[attr-defined]
    except (*_UNREADABLE, AttributeError, IndexError):
        return source
    return str(body)


# Where there is no source: a plain shell before Python 3.13, or code from `exec`


def _code_id(function: Any) -> str:
    code = _code_of(function)
    return WITHOUT_SOURCE + short_digest([repr(_essence(code)) if code else repr(type(function))])


def _is_starter_code(function: Any, exercise: HasStarter) -> bool:
    code = _code_of(function)
    if code is None:
        return False
    if not _stub(exercise.starter_source).body:
        return code.co_code in _empty_codes() and all(constant is None for constant in _constants(code))
    is_decorated = inspect.unwrap(function) is not function and not exercise.starter_source.startswith("@")
    return not is_decorated and _essence(code) in _starter_essences(exercise.starter_source)


@functools.cache
def _empty_codes() -> frozenset[bytes]:
    """Return the bytecode of functions that do nothing, with a docstring and without."""
    modules = (compile(f"def f(): {body}", "<empty>", "exec") for body in ("pass", "'Words.'"))
    return frozenset(_first_code(module).co_code for module in modules)


@functools.cache
def _starter_essences(source: str) -> tuple[tuple[Any, ...], ...]:
    """Return the stub's code as a cell of its own compiles, and as below the imports that a script has.

    CPython calls an attribute of a name in another way where the same source imports that name. And where a docstring
    was, another constant may stand when it is taken out: the stub is compiled without it, too.
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
    """Return what code does, without its place, its docstring and its comments; the same for the same code run again.

    >>> first, again = (compile("f = lambda x: [lambda: x]", "<cell>", "exec") for _time in range(2))
    >>> _essence(first) == _essence(again)
    True
    """
    constants = tuple(_essence(c) if isinstance(c, types.CodeType) else repr(c) for c in _constants(code))
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constants(code: types.CodeType) -> tuple[Any, ...]:
    """Return a code's constants without its docstring, which editing may have changed."""
    constants = code.co_consts
    has_docstring = bool(constants) and isinstance(constants[0], str)
    if "__firstlineno__" in code.co_names:  # of a class, since Python 3.13
        constants = tuple("its line" if c == code.co_firstlineno else c for c in constants)
    return constants[1:] if has_docstring else constants
