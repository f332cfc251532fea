"""Find the texts for students in a book or a key from its source, in which authors need not mark them."""

import ast
import dataclasses
import inspect
import itertools
import re
import string
from collections.abc import Iterator

from jaxguide.course.books.percent import split_cells
from jaxguide.course.books.translatable import comments, pieces

# The argument of a decorator or expectation -> what translators read about its text.
_SAID = {
    "title": "title",
    "hints": "hint",
    "idea": "idea",
    "misconception": "misconception",
    "says": "misconception",
}
_CHECKS = frozenset({"visible", "hidden"})
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclasses.dataclass(frozen=True)
class Found:
    """One text: its line in the file, its kind, and whether it is a template, with `{names}` for inserted values."""

    line: int
    text: str
    what: str
    is_template: bool = False


def texts_in_book(text: str) -> Iterator[Found]:
    """Yield the texts of a book, cell by cell: prose, titles, contracts, hints, comments, and messages of checks.

    >>> [found.text for found in texts_in_book("# %% [markdown]\\n# # Keys\\n#\\n# A key is an array.")]
    ['Keys', 'A key is an array.']
    """
    for kind, source, line in split_cells(text):
        if kind == "[markdown]":
            prose = "\n".join(one.removeprefix("#").removeprefix(" ") for one in source.split("\n"))
            yield from _pieces(prose, line + 1, "prose")
        elif kind == "check":
            yield from _in_checks(ast.parse(source), line)
        else:
            yield from _marked(ast.parse(source), line)
            for one in comments(source):
                if one.is_docstring:
                    yield from _pieces(one.text, line + one.first, "docstring")
                else:
                    yield Found(line + one.first, one.text, "comment")


def texts_in_key(text: str) -> Iterator[Found]:
    """Yield a key's texts for students: facts, ideas and messages of hidden checks, and misconceptions."""
    for kind, source, line in split_cells(text):
        if kind == "[markdown]":
            continue
        tree = ast.parse(source)
        for node in tree.body:
            name = _wrong_name(node)
            if name:
                yield Found(line + node.lineno, name.replace("_", " "), "misconception")
        answers = [node for node in tree.body if set(_decorator_names(node)) & {"answer", "wrong", "alternative"}]
        rest = ast.Module([node for node in tree.body if node not in answers], [])
        yield from _in_checks(rest, line)
        for node in answers:
            yield from _marked(node, line)


def _pieces(text: str, line: int, what: str) -> Iterator[Found]:
    for piece in pieces(text):
        if piece.words:
            yield Found(line, piece.words, what)
        line += len(piece.lines)


def _in_checks(tree: ast.Module, line: int) -> Iterator[Found]:
    """Yield the texts of checks: facts, and every string of words that the code neither compares nor looks up."""
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node):
            docstrings.add(id(node.body[0].value))  # type: ignore[attr-defined]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _CHECKS & set(_decorator_names(node)):
            fact = inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
            if fact:
                yield Found(line + node.lineno, fact, "fact")
    marked = [*_marked(tree, line), *_single_words(tree, line)]
    yield from marked
    seen = {(found.line, found.text) for found in marked}
    for node in _spoken(tree):
        for found in _literal(node, line, "message"):
            if id(node) not in docstrings and (found.line, found.text) not in seen and _reads_as_words(found):
                yield found


def _marked(tree: ast.AST, line: int) -> Iterator[Found]:
    """Yield the titles, hints, ideas and misconceptions that are passed as keyword arguments."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for keyword in call.keywords:
            if keyword.arg in _SAID:
                values = keyword.value.elts if isinstance(keyword.value, ast.List | ast.Tuple) else [keyword.value]
                for value in values:
                    for found in _literal(value, line, _SAID[keyword.arg]):
                        # A misconception without spaces is the name of a wrong answer.
                        if keyword.arg != "misconception" or " " in found.text:
                            yield found


def _single_words(tree: ast.AST, line: int) -> Iterator[Found]:
    """Yield single words shown as got or expected, such as "equal" in `expect_that(condition, message, "equal")`."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if ast.unparse(call.func) == "expect_that":
            for value in call.args[2:]:
                for found in _literal(value, line, "got or expected"):
                    if _WORD.fullmatch(found.text):
                        yield found


def _literal(node: ast.AST, line: int, what: str) -> Iterator[Found]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip():
        yield Found(line + node.lineno, node.value, what)
    elif isinstance(node, ast.JoinedStr):
        yield Found(line + node.lineno, _template(node), what, is_template=True)
    elif _is_format(node):
        yield Found(line + node.lineno, _numbered(node.func.value.value), what, is_template=True)  # type: ignore[attr-defined]
    elif isinstance(node, ast.IfExp):
        yield from _literal(node.body, line, what)
        yield from _literal(node.orelse, line, what)


def _template(node: ast.JoinedStr) -> str:
    """Return an f-string as a template, with the variable's name or a number for each inserted value.

    >>> _template(ast.parse("f'{count} of {len(x)}'", mode="eval").body)
    '{count} of {1}'
    """
    parts: list[str] = []
    number = 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            own = part.value.id if isinstance(part.value, ast.Name) else ""
            name = own if own and f"{{{own}}}" not in parts else str(number)
            parts.append(f"{{{name}}}")
            number += 1
    return "".join(parts)


def _spoken(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the strings of a syntax tree, except those that code compares, looks up or passes to a method."""
    if isinstance(node, ast.Constant | ast.JoinedStr) or _is_format(node):
        yield node
        return
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Compare):
        children = []
    elif isinstance(node, ast.Subscript):
        children = [node.value]
    elif isinstance(node, ast.Dict):
        children = list(node.values)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        children = [node.func]
    for child in children:
        yield from _spoken(child)


def _is_format(node: ast.AST) -> bool:
    """Return whether a node is `"...".format(...)`."""
    function = node.func if isinstance(node, ast.Call) else None
    text = function.value if isinstance(function, ast.Attribute) and function.attr == "format" else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def _numbered(text: str) -> str:
    """Return the string of `"...".format(...)` as a template, with a name or number for each inserted value.

    >>> _numbered("{} of {:.2f}, {name}")
    '{0} of {1}, {name}'
    """
    parts = []
    number = itertools.count()
    for said, name, _spec, _conversion in string.Formatter().parse(text):
        parts.append(said if name is None else f"{said}{{{name or next(number)}}}")
    return "".join(parts)


def _reads_as_words(found: Found) -> bool:
    """Return whether a text is for people: at least two words, where an inserted value counts as a word."""
    parts = found.text.split()
    return len(parts) > 1 and any(_WORD.fullmatch(part.strip("`'\".,;:!?()")) for part in parts)


def _decorator_names(node: ast.stmt) -> list[str]:
    calls = [d.func if isinstance(d, ast.Call) else d for d in getattr(node, "decorator_list", [])]
    return [ast.unparse(call) for call in calls]


def _wrong_name(node: ast.stmt) -> str:
    """Return the name of the wrong answer that a statement plants, which reports show as words, or ''."""
    if isinstance(node, ast.FunctionDef) and "wrong" in _decorator_names(node):
        return node.name
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "wrong_value" and call.args:
        first = call.args[0]
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return ""
