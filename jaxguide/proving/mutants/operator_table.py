"""Register the operators, each of which changes a right answer in one way, and apply them to Python source.

The modules `mutated_*` define the operators by kind. An operator is a function with the name and the sentence that
reports show. It either rewrites single nodes of the syntax tree (`on_nodes`), or the whole answer (`on_answers`).
"""

import ast
import copy
import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator

Replacement = ast.AST | list[ast.stmt]
_RewriteNode = Callable[[ast.AST], Iterator[Replacement]]
_RewriteAnswer = Callable[[ast.Module, str], Iterator[ast.Module]]


@dataclasses.dataclass(frozen=True)
class Operator:
    """One way in which learners err.

    Args:
        name: its name in reports.
        kind: what it is about, such as 'constants'.
        says: what it does, in a sentence.
        rewrite: yields the changed trees of an answer, given its tree and the name that it binds.
        for_alternatives: whether it is applied to alternative answers, too. What it does from outside an answer is the
            same for all right ones.
    """

    name: str
    kind: str
    says: str
    rewrite: _RewriteAnswer
    for_alternatives: bool


OPERATORS: dict[str, Operator] = {}


def on_nodes(kind: str) -> Callable[[_RewriteNode], _RewriteNode]:
    """Register an operator: given a node, it yields what may stand in its place, or a list of statements."""

    def decorate(function: _RewriteNode) -> _RewriteNode:
        def rewrite(tree: ast.Module, name: str) -> Iterator[ast.Module]:
            for number, node in enumerate(ast.walk(tree)):
                for new in function(node):
                    fresh = copy.deepcopy(tree)
                    # A copy is walked in the same order, so the number finds the node in it.
                    found = next(itertools.islice(ast.walk(fresh), number, None))
                    mutated = _Replace(found, new).visit(fresh)
                    assert isinstance(mutated, ast.Module)
                    yield mutated

        _register(function, kind, rewrite, for_alternatives=True)
        return function

    return decorate


def on_answers(kind: str, for_alternatives: bool = False) -> Callable[[_RewriteAnswer], _RewriteAnswer]:
    """Register an operator: given an answer's tree and the exercise's name, it yields changed trees."""

    def decorate(function: _RewriteAnswer) -> _RewriteAnswer:
        _register(function, kind, lambda tree, name: function(copy.deepcopy(tree), name), for_alternatives)
        return function

    return decorate


def _register(function: Callable[..., object], kind: str, rewrite: _RewriteAnswer, for_alternatives: bool) -> None:
    name = function.__name__
    assert name not in OPERATORS, name
    OPERATORS[name] = Operator(name, kind, inspect.getdoc(function) or "", rewrite, for_alternatives)


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: Replacement):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        return self.new if node is self.old else self.generic_visit(node)


# What operators are written with


def expression(template: str, **parts: ast.expr) -> ast.expr:
    """Return an expression in which names stand for other expressions.

    >>> ast.unparse(expression("a / (b + 1)", a=ast.Name("x"), b=ast.Name("y")))
    'x / (y + 1)'
    """
    filled: ast.expr = _Fill(parts).visit(ast.parse(template, mode="eval").body)
    return filled


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts.get(node.id, node)


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def name_called(node: ast.AST) -> str:
    """Return the last part of the name of the called function, '' if the node is no call of a named function.

    >>> name_called(ast.parse("jax.lax.cond(a, f, g)", mode="eval").body)
    'cond'
    """
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name, '' for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def without_keyword(call: ast.Call, name: str) -> ast.Call:
    """Return a call without one of its keyword arguments."""
    new = changed(call, keywords=[keyword for keyword in call.keywords if keyword.arg != name])
    assert isinstance(new, ast.Call)
    return new


def with_keyword(call: ast.Call, name: str, value: ast.expr) -> ast.Call:
    """Return a call in which a keyword argument has this value."""
    new = without_keyword(call, name)
    new.keywords = [*new.keywords, ast.keyword(name, value)]
    return new


def binding_of(tree: ast.Module, name: str) -> ast.FunctionDef | ast.Assign | None:
    """Return the last statement of an answer that binds the exercise's name."""
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and [last_name(target) for target in node.targets] == [name]:
            return node
    return None


def wrapped(tree: ast.Module, name: str, source: str) -> ast.Module:
    """Return an answer renamed to `_answer`, followed by source that defines `NAME`, the exercise's function, anew."""
    renamed: ast.Module = _Rename(name, "_answer").visit(copy.deepcopy(tree))
    renamed.body = [*renamed.body, *ast.parse(source.replace("NAME", name)).body]
    return renamed


class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.new if node.id == self.old else node.id
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.new if node.name == self.old else node.name
        return self.generic_visit(node)
