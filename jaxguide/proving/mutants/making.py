"""Make the mutants of an exercise: every operator on the key's answer, and most of them on its alternatives."""

import ast
import dataclasses
import difflib
import hashlib
import warnings
from collections.abc import Iterator

from jaxguide.code.slices import global_names
from jaxguide.course.exercise import Exercise
from jaxguide.proving.mutants import mutated_arithmetic, mutated_calls, mutated_results, mutated_transformations
from jaxguide.proving.mutants.operator_table import OPERATORS

# Importing these registers their operators.
KINDS_OF_MUTATION = (mutated_arithmetic, mutated_calls, mutated_transformations, mutated_results)
_IMPORTS = {"jax": "import jax", "jnp": "import jax.numpy as jnp", "np": "import numpy as np"}
_ID_LENGTH = 10


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A right answer, changed by one operator.

    Args:
        id: a digest of its source, by which authors and records refer to it.
        operator: the operator's name.
        origin: the name of the right answer.
        source: its source, which binds the exercise's name.
        change: the lines that differ from the right answer, marked with `-` and `+`.
    """

    id: str
    operator: str
    origin: str
    source: str
    change: str


def make_mutants(exercise: Exercise) -> list[Mutant]:
    """Return the mutants of an exercise's right answers; no two have the same source, and none is a right answer."""
    key = exercise.key
    assert key is not None
    if exercise.is_prediction:
        return []
    right = [key.answer, *key.alternatives]
    seen = {_plain(one.source) for one in right}
    found = []
    for planted in right:
        before = _plain(planted.source)
        imported = _imported(ast.parse(planted.source)) | global_names(planted.source)
        for operator in OPERATORS.values():
            if planted is key.answer or operator.for_alternatives:
                for source in _sources(operator.rewrite(ast.parse(planted.source), exercise.name)):
                    if source not in seen:
                        seen.add(source)
                        whole = _with_imports(source, imported)
                        change = _change(before, source)
                        found.append(Mutant(mutant_id(source), operator.name, planted.name, whole, change))
    return found


def mutant_id(source: str) -> str:
    """Return the id of a mutant: a digest of its source."""
    return hashlib.sha256(source.encode("utf-8", "backslashreplace")).hexdigest()[:_ID_LENGTH]


def _plain(source: str) -> str:
    """Return source in the form in which mutants are written."""
    return ast.unparse(ast.parse(source)) + "\n"


def _sources(trees: Iterator[ast.Module]) -> Iterator[str]:
    for tree in trees:
        source = ast.unparse(ast.fix_missing_locations(tree))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, "<mutant>", "exec")
        except (SyntaxError, ValueError):  # for example, a name that is both static and unknown
            continue
        yield source + "\n"


def _imported(tree: ast.Module) -> set[str]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(alias.asname or alias.name).split(".")[0] for node in nodes for alias in node.names}


def _with_imports(source: str, known: set[str] | frozenset[str]) -> str:
    """Add the imports that an operator needs and that the right answer does not use."""
    missing = [line for name, line in _IMPORTS.items() if name in global_names(source) and name not in known]
    return "\n".join([*missing, source])


def _change(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))
