"""Read the exercises of a book and the answers of a key from their text, without running them."""

import ast
import builtins
import inspect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxguide.base.text import _
from jaxguide.code.slices import Statement, bound_names, first_line_of, global_names, needed, statements
from jaxguide.course.books.outline import Lesson
from jaxguide.course.books.percent import BOOK_KINDS, PercentCell, decorator_line, decorators, parse_cells
from jaxguide.course.exercise import AuthorError, Mistakes, Planted, Task
from jaxguide.course.verdict import STAGES, Kind

RESERVED = frozenset({"check", "hint", "solution", "start", "progress", "jaxguide"})
EXERCISE_DECORATORS = ("exercise", "prediction")
PLANTED_DECORATORS = ("answer", "wrong", "alternative")
DECORATORS = frozenset({*EXERCISE_DECORATORS, "visible", "reveal", "hidden", "input", *PLANTED_DECORATORS})
"""The decorators of `jaxguide.course.author`."""
MOST_KEEPS = 0.3
"""The largest share of its points that an exercise may leave to answers that miss its point."""
_AUTHOR = "jaxguide.course.author"
_VALUES = {"alternative_value": "alternative", "wrong_value": "wrong"}
_DEFAULTS: Mapping[str, Any] = {
    **{"points": 1, "hints": (), "reproduces": (), "why_so_many": ""},
    **{"keeps": 0, "why_keeps": ""},
}
_PREDICTIONS_OPTIONS = frozenset({"title", "points", "hints"})


_Code = Sequence[tuple[PercentCell, list[ast.stmt]]]


class _NotPlain(Exception):
    """Raised if something in a book is known only after running it."""


def lesson_as_written(path: Path) -> Lesson | None:
    """Read a lesson from a book's text alone; return None if the book must be run.

    It must be run if the author computes something, such as a hint. If the text may have a mistake, the result is None
    too, since running the book reports the mistake.

    Raises:
        AuthorError: the text alone shows a mistake.
    """
    cells = parse_cells(path, BOOK_KINDS)
    nodes = {cell.line: exercise_node(path, cell) for cell in cells if cell.kind == "exercise"}
    above = headings(cells)
    code = [(cell, ast.parse(cell.source).body) for cell in cells if cell.kind != "prose"]
    try:
        _need_names(code)
        tasks: dict[str, Task] = {}
        for cell in cells:
            if cell.kind == "exercise":
                node, role = nodes[cell.line]
                contract = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
                task = make_task(path, cell, node, role, _options(node, role), contract, above[cell.line])
                if task.name in tasks:
                    raise AuthorError(path, task.line, stands_twice(task.name))
                tasks[task.name] = task
        for task in tasks.values():
            check_whole(task)
        _need_checks(code, tasks)
    except (_NotPlain, SyntaxError):  # running the book will report the syntax error
        return None
    return Lesson(path.stem, path, title_of(path.stem, cells), list(tasks.values()))


def exercise_node(path: Path, cell: PercentCell) -> tuple[ast.FunctionDef, str]:
    """Return the one function of an exercise cell that has an exercise decorator, and the decorator's name.

    Raises:
        AuthorError: there is not exactly one such function, or its name is reserved.
    """
    functions = [node for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef)]
    marked = [(n, d) for n in functions for d in decorators(n) if d in EXERCISE_DECORATORS]
    if len(marked) != 1:
        line = cell.line if len(marked) < 2 else decorator_line(marked[1][0], cell)
        message = _(
            "an exercise cell needs exactly one function with `@exercise` or `@prediction`; this one has {count}. "
            "Instead of a variable or a class, which are not supported, ask for a function that returns or uses it"
        )
        raise AuthorError(path, line, message.format(count=len(marked)))
    node = marked[0][0]
    if node.name in RESERVED:
        message = _("`{name}` is a reserved name; give the exercise another")
        raise AuthorError(path, decorator_line(node, cell), message.format(name=node.name))
    return marked[0]


def make_task(
    path: Path,
    cell: PercentCell,
    node: ast.FunctionDef,
    role: str,
    options: Mapping[str, Any],
    contract: str,
    above: tuple[str, ...],
) -> Task:
    """Create the task of an exercise cell.

    Args:
        path: the book.
        cell: the cell.
        node: its function with the decorator.
        role: 'exercise' or 'prediction'.
        options: the decorator's arguments.
        contract: the function's docstring.
        above: the headings above the cell.
    """
    lines = cell.source.split("\n")
    starter = [*other_decorators(node, lines), *lines[node.lineno - 1 : node.end_lineno]]
    first = min(decorator.lineno for decorator in node.decorator_list)
    return Task(
        name=node.name,
        title=options["title"],
        points=options["points"],
        hints=options["hints"],
        reproduces=options["reproduces"],
        why_so_many=options["why_so_many"],
        is_prediction=role == "prediction",
        signature=f"({ast.unparse(node.args)})",
        contract=contract,
        starter_source="\n".join(starter),
        cell_source="\n".join([*lines[: first - 1], *starter, *lines[node.end_lineno :]]).rstrip(),
        headings=above,
        line=decorator_line(node, cell),
        lesson=path.stem,
        path=path,
        keeps=options["keeps"],
        why_keeps=options["why_keeps"],
    )


def other_decorators(node: ast.FunctionDef, lines: list[str]) -> list[str]:
    """Return the lines of a function's decorators that do not belong to the author interface."""
    kept = []
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(call, ast.Name) and call.id in DECORATORS:
            continue
        kept += lines[decorator.lineno - 1 : decorator.end_lineno]
    return kept


def check_whole(task: Task) -> None:
    """Check that an exercise has everything that grading needs.

    Raises:
        AuthorError: hints are not texts, a prediction takes arguments, or the points make no sense.
    """
    message = _about_points(task)
    if type(task.hints) is not tuple or not all(isinstance(hint, str) for hint in task.hints):
        message = _("the hints of `{name}` must be a list of texts")
    elif task.is_prediction and task.signature != "()":
        message = _("the prediction `{name}` must take no arguments")
    if message:
        words = {"points": repr(task.points), "keeps": repr(task.keeps), "most": f"{MOST_KEEPS:g}"}
        raise AuthorError(task.path, task.line, message.format(name=task.name, **words))


def _about_points(task: Task) -> str:
    if not is_number(task.points) or task.points < 0:
        return _("the points of `{name}` must be a number, 0 or more, but are {points}")
    if not is_number(task.keeps) or not 0 <= task.keeps <= MOST_KEEPS:
        return _("`keeps` of `{name}` must be a share of its points from 0 to {most}, but is {keeps}")
    return ""


def is_number(value: object) -> bool:
    """Return whether a value is an int or a finite float.

    >>> is_number(2), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    return type(value) is int or (type(value) is float and math.isfinite(value))


def stands_twice(name: str) -> str:
    """Return the message for two exercises of a book with the same name."""
    return _("the exercise `{name}` is defined twice").format(name=name)


def title_of(topic: str, cells: Sequence[PercentCell]) -> str:
    """Return a lesson's title: the first top-level heading of its prose, or else its topic."""
    for cell in cells:
        match = re.search(r"^# (.+)$", cell.prose, re.MULTILINE) if cell.kind == "prose" else None
        if match:
            return match[1]
    return topic


def headings(cells: Sequence[PercentCell]) -> dict[int, tuple[str, ...]]:
    """Return the headings above each exercise cell, without the lesson's title, by the cell's line."""
    found: dict[int, tuple[str, ...]] = {}
    above: dict[int, str] = {}
    for cell in cells:
        if cell.kind == "prose":
            for match in re.finditer(r"^(#+) (.+)$", cell.prose, re.MULTILINE):
                level = len(match[1])
                above = {n: text for n, text in above.items() if n < level} | {level: match[2].strip()}
        elif cell.kind == "exercise":
            found[cell.line] = tuple(text for level, text in sorted(above.items()) if level > 1)
    return found


def _need_names(code: _Code) -> None:
    """Require that a book defines every name it uses, and that its decorators come from the author interface."""
    nodes = [node for _cell, body in code for node in body]
    imports = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.module == _AUTHOR and not n.level]
    ours = DECORATORS & {alias.name for node in imports for alias in node.names if alias.asname in (None, alias.name)}
    others = frozenset[str]().union(*(bound_names(node) for node in nodes if node not in imports))
    authors = frozenset[str]().union(*(bound_names(node) for node in imports))
    read = frozenset[str]().union(*(global_names(cell.source) for cell, _body in code if cell.kind != "example"))
    if "*" in others | authors or others & DECORATORS or authors & DECORATORS != ours:
        raise _NotPlain
    if not read <= others | authors | vars(builtins).keys() | {"__name__"}:
        raise _NotPlain


def _options(node: ast.FunctionDef, role: str) -> dict[str, Any]:
    """Return the arguments of an exercise's decorator."""
    (decorator,) = node.decorator_list[:1]
    # Another decorator may change the name or remove the docstring.
    if len(node.decorator_list) != 1 or not isinstance(decorator, ast.Call) or decorator.args:
        raise _NotPlain
    options = {**_DEFAULTS, **_literals(decorator)}
    allowed = {"title", *_DEFAULTS} if role == "exercise" else _PREDICTIONS_OPTIONS
    is_right = (
        {keyword.arg for keyword in decorator.keywords} <= allowed
        and isinstance(options.get("title"), str)
        and type(options["points"]) in (int, float)
        and type(options["keeps"]) in (int, float)
        and isinstance(options["why_so_many"], str)
        and isinstance(options["why_keeps"], str)
    )
    if not is_right:
        raise _NotPlain
    for name in ("hints", "reproduces"):
        if not isinstance(options[name], list | tuple) or not all(isinstance(text, str) for text in options[name]):
            raise _NotPlain
        options[name] = tuple(options[name])
    return options


def _literals(call: ast.Call) -> dict[str, Any]:
    try:
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise _NotPlain from None


def _need_checks(code: _Code, tasks: Mapping[str, Task]) -> None:
    """Require a check for each exercise, a `reveal` for each prediction, and that all checks are well formed."""
    checks: set[tuple[str, str]] = set()
    revealed = set()
    for function, call in _checks(code):
        target = _target(call)
        if target not in tasks:
            raise _NotPlain
        if call.func.id == "reveal":  # type: ignore[attr-defined]
            revealed.add(target)
        elif (target, function.name) in checks or not _is_check(function, call):
            raise _NotPlain
        else:
            checks.add((target, function.name))
    checked = {target for target, _name in checks}
    predictions = {task.name for task in tasks.values() if task.is_prediction}
    if revealed != predictions or tasks.keys() - predictions - checked:
        raise _NotPlain


def _checks(code: _Code) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """Yield the top-level functions decorated with `@visible(...)` or `@reveal(...)`, with the decorator call."""
    for cell, body in code:
        if cell.kind != "example":
            for node in body:
                for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else []:
                    call = decorator if isinstance(decorator, ast.Call) else None
                    if call is not None and isinstance(call.func, ast.Name) and call.func.id in ("visible", "reveal"):
                        assert isinstance(node, ast.FunctionDef)
                        yield node, call


def _target(call: ast.Call) -> str:
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "target")]
    if len(given) == 1 and isinstance(given[0], ast.Name):
        return given[0].id
    if len(given) == 1 and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
        return given[0].value
    raise _NotPlain


def _is_check(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Return whether a check states a fact and its stage and kind, if given, are known literals."""
    said = {keyword.arg: keyword.value for keyword in call.keywords}
    for option, known in (("stage", STAGES[2:]), ("kind", [*Kind, None])):
        value = said.get(option)
        if value is not None and not (isinstance(value, ast.Constant) and value.value in known):
            return False
    return bool((ast.get_docstring(function) or "").strip()) and len(function.decorator_list) == 1


# Keys


def key_cells(path: Path, lesson: Lesson) -> list[PercentCell]:
    """Return the code cells of a lesson's key.

    Raises:
        AuthorError: the key is missing, an exercise has no cell or two cells, or a cell's title is missing or is not an
            exercise.
    """
    if not path.exists():
        names = ", ".join(f"`{task.name}`" for task in lesson.exercises)
        message = _("the key of {book} is missing; it must have a cell for each of its exercises: {names}")
        raise AuthorError(path, 1, message.format(book=lesson.path.name, names=names))
    cells = [cell for cell in parse_cells(path, None) if cell.kind != "[markdown]"]
    seen: set[str] = set()
    for cell in cells:
        marked = [] if cell.kind else [s for s in statements(cell.source, cell.line + 1) if _is_authors(s.source)]
        if marked:
            raise without_a_title(path, marked[0].line)
        if cell.kind and cell.kind not in lesson.exercise_names:
            message = _("the key has a cell for `{name}`, but the book `{book}` has no such exercise")
            raise AuthorError(path, cell.line, message.format(name=cell.kind, book=lesson.path.name))
        if cell.kind in seen:
            raise AuthorError(path, cell.line, _("the key has two cells for `{name}`").format(name=cell.kind))
        seen |= {cell.kind} - {""}
    mistakes = Mistakes()
    for task in lesson.exercises:
        with mistakes.noted():
            if task.name not in seen:
                message = _("the exercise `{name}` has no cell in the key {key}: add `# %% {name}` there")
                raise AuthorError(task.path, task.line, message.format(name=task.name, key=path))
    mistakes.tell()
    return cells


def without_a_title(path: Path, line: int) -> AuthorError:
    """Return the error for an answer or check in a cell without a title."""
    message = _("an answer or check is in a cell without a title; title the cell `# %% name_of_the_exercise`")
    return AuthorError(path, line, message)


def right_answers(path: Path, lesson: Lesson, name: str) -> list[str]:
    """Return the source code of the key's answer to an exercise, followed by the alternatives.

    Raises:
        AuthorError: the key's text shows a mistake.
    """
    try:
        planted = {cell.kind: planted_in(path, cell) for cell in key_cells(path, lesson) if cell.kind}[name]
    except SyntaxError as error:  # an error that parsing does not find, such as two parameters with one name
        raise AuthorError(path, 1, _("syntax error: {error}").format(error=error.msg)) from None
    return [one.source for one in (*planted["answer"], *planted["alternative"])]


def planted_in(path: Path, cell: PercentCell) -> dict[str, list[Planted]]:
    """Return the answers in a cell of a key by decorator, without the checks that must reject them.

    Raises:
        AuthorError: there is not exactly one answer to the exercise, or two have the same name.
    """
    planted: dict[str, list[Planted]] = {role: [] for role in PLANTED_DECORATORS}
    found: list[tuple[str, str, ast.stmt, str]] = []
    for node in ast.parse(cell.source).body:
        if isinstance(node, ast.FunctionDef):
            roles = [role for role in decorators(node) if role in PLANTED_DECORATORS]
            found += [(role, node.name, node, function_source(cell, node, cell.kind)) for role in roles[:1]]
        elif role := _value_role(node):
            assert isinstance(node, ast.Expr)
            assert isinstance(node.value, ast.Call)
            value = ast.get_source_segment(cell.source, node.value.args[1])
            found.append((role, ast.literal_eval(node.value.args[0]), node, f"{cell.kind} = {value}"))
    names = frozenset(name for _role, name, _node, _source in found)
    for role, name, node, source in found:
        whole = _with_its_cell(cell, name, source, first_line_of(node), names)
        planted[role].append(Planted(name, whole, cell.line + first_line_of(node), path))
    _check_planted(path, cell, planted)
    return planted


def _value_role(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        return _VALUES.get(node.value.func.id)
    return None


def function_source(cell: PercentCell, node: ast.FunctionDef, name: str) -> str:
    """Return the source of a function of a key, under another name and without the author's decorators."""
    lines = cell.source.split("\n")
    body = lines[node.lineno - 1 : node.end_lineno]
    body[0] = re.sub(rf"\bdef\s+{node.name}\b", f"def {name}", body[0], count=1)
    return "\n".join([*other_decorators(node, lines), *body])


def _with_its_cell(cell: PercentCell, name: str, source: str, line: int, planted: frozenset[str]) -> str:
    """Return an answer with the statements of its cell that it needs or that change it, in the cell's order.

    Args:
        cell: the cell.
        name: the answer's name in the cell; in its source, it bears the exercise's name.
        source: the answer's own source.
        line: its first line in the cell.
        planted: the names of all answers in the cell.
    """
    helpers = [s for s in statements(cell.source) if not _is_authors(s.source)]
    if name != cell.kind:  # leave out what changes the key's answer
        helpers = [s for s in helpers if cell.kind not in s.binds | s.touches]
    above, below = (
        [_renamed_statement(s, name, cell.kind) for s in helpers if (s.line < line) == is_above]
        for is_above in (True, False)
    )
    pool = [*above, _renamed_statement(statements(source)[0], name, cell.kind), *below]
    elsewhere = frozenset[str]().union(*(s.reads for s in pool)) - planted
    return "\n\n\n".join(s.source for s in needed(pool, {cell.kind}, elsewhere)) + "\n"


def _renamed_statement(statement: Statement, old: str, new: str) -> Statement:
    """Return a statement that reads and changes the name `new` instead of `old`."""
    if old == new or old not in statement.reads | statement.binds:
        return statement
    lines = statement.source.encode().split(b"\n")  # columns count bytes
    nodes = [node for node in ast.walk(ast.parse(statement.source)) if isinstance(node, ast.Name) and node.id == old]
    for node in sorted(nodes, key=lambda node: node.col_offset, reverse=True):
        line, first, last = lines[node.lineno - 1], node.col_offset, node.end_col_offset
        if line[first:last] == old.encode():  # before Python 3.12, places in f-strings are not exact
            lines[node.lineno - 1] = line[:first] + new.encode() + line[last:]
    return statements(b"\n".join(lines).decode())[0]


def _is_authors(source: str) -> bool:
    """Return whether a statement declares an answer or check, rather than a helper of the cell."""
    node = ast.parse(source).body[0]
    if isinstance(node, ast.FunctionDef):
        return any(role in DECORATORS for role in decorators(node))
    return _value_role(node) is not None


def _check_planted(path: Path, cell: PercentCell, planted: dict[str, list[Planted]]) -> None:
    answers = planted["answer"]
    if len(answers) != 1 or answers[0].name != cell.kind:
        message = _("the cell of `{name}` needs exactly one function `{name}` with `@answer`")
        raise AuthorError(path, cell.line, message.format(name=cell.kind))
    seen: set[str] = set()
    for one in [*planted["wrong"], *planted["alternative"]]:
        if one.name in seen:
            message = _("two answers in the key of `{exercise}` are named `{name}`")
            raise AuthorError(path, one.line, message.format(exercise=cell.kind, name=one.name))
        seen.add(one.name)
