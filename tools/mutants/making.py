"""Make the mutants of an exercise, at most a dozen, spread over the operators."""

import ast
import copy
import dataclasses
import difflib
import hashlib
import itertools
import warnings
from collections.abc import Iterator

from jaxguide.course.exercise import Exercise, Planted
from tools.mutants.operators import OPERATORS, Operator

MOST = 12
"""The largest number of mutants of one exercise."""

# What operators write needs these, whatever the answer imports.
_IMPORTS = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n"
_ID_LENGTH = 10
_MOST_OF_ONE_OPERATOR = 3


@dataclasses.dataclass(frozen=True)
class Mutant:
    """The key's answer to an exercise, changed by one operator.

    Args:
        id: a digest of its source, by which a key marks it as `equivalent`.
        planted: the mutant as an answer that can be judged.
        diff: how it differs from the key's answer, as a unified diff.
    """

    id: str
    planted: Planted
    diff: str


def make_mutants(exercise: Exercise) -> list[Mutant]:
    """Return the mutants of an exercise, whose key must be loaded; always the same ones for the same key.

    None is an answer of the key, or marked there as equivalent; predictions have none.
    """
    key = exercise.key
    assert key is not None
    if exercise.is_prediction:
        return []
    seen = {_plain(ast.parse(one.source)) for one in (key.answer, *key.alternatives, *key.wrong)}
    found = []
    for operator in OPERATORS:
        mutants = []
        for source in _sources(key.answer.source, operator):
            if source not in seen:
                seen.add(source)
                mutants.append(_mutant(exercise.name, key.answer, operator, source))
        # In the order of their digests, which favors no part of the answer.
        by_digest = sorted((one for one in mutants if one.id not in key.equivalent), key=lambda one: one.id)
        found.append(by_digest[:_MOST_OF_ONE_OPERATOR])
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*found))
    return list(itertools.islice(filter(None, in_turn), MOST))


def _sources(source: str, operator: Operator) -> Iterator[str]:
    """Yield what an operator makes of an answer, one change at a time."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for new in operator(node):
            fresh = copy.deepcopy(tree)
            # A copy is walked in the same order, so the number finds the node in it.
            old = next(itertools.islice(ast.walk(fresh), number, None))
            mutated = _plain(_Replace(old, copy.deepcopy(new)).visit(fresh))
            if _compiles(mutated):
                yield mutated


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.old:
            return self.new
        visited: ast.AST = self.generic_visit(node)
        return visited


def _plain(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<mutant>", "exec")
    except SyntaxError:
        return False
    return True


def _mutant(name: str, answer: Planted, operator: Operator, source: str) -> Mutant:
    digest = hashlib.sha256(source.encode("utf-8", "backslashreplace")).hexdigest()[:_ID_LENGTH]
    planted = dataclasses.replace(answer, name=digest, source=_IMPORTS + source)
    says = (operator.__doc__ or "").strip()
    before = _plain(ast.parse(answer.source)).splitlines()
    lines = difflib.unified_diff(before, source.splitlines(), name, f"{digest}: {says}", lineterm="")
    return Mutant(digest, planted, "\n".join(lines))
