"""Find environment variables that a submission sets in vain, because JAX reads them before it runs."""

import ast
import re
from collections.abc import Iterator

from jaxguide.grading.intake.submission import SubmittedCell

_READ_AT_START = re.compile(r"(JAX|XLA)_\w{1,100}|CUDA_VISIBLE_DEVICES|LIBTPU_INIT_ARGS")
_LIMIT = 20
_MAGIC = re.compile(r"%(?:set_)?env\s+(\w+)(?:\s*=|\s+\S)")


def late_settings(cell: SubmittedCell) -> list[str]:
    """Return the variables that a cell sets although JAX has read them already."""
    names = variables_set(cell.tree) if cell.tree is not None else []
    names += [match[1] for line in cell.magics if (match := _MAGIC.match(line))]
    return [name for name in dict.fromkeys(names) if _READ_AT_START.fullmatch(name)][:_LIMIT]


def variables_set(tree: ast.Module) -> list[str]:
    """Return the environment variables that code sets by their names, in the order of its syntax tree.

    >>> variables_set(ast.parse("os.environ['A'] = ''\\nos.environ.update({'B': ''}, C='')\\nos.putenv('D', '')"))
    ['A', 'B', 'C', 'D']
    """
    environs = {"environ", "environb"}
    putenvs = {"putenv"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            for alias in node.names:
                if alias.name in ("environ", "environb"):
                    environs.add(alias.asname or alias.name)
                elif alias.name == "putenv":
                    putenvs.add(alias.asname or alias.name)
        elif isinstance(node, ast.Assign) and _called(node.value) in environs:
            environs |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    found: list[str] = []
    for node in ast.walk(tree):
        found += _text(_keys_set(node, environs, putenvs))
    return found


def _keys_set(node: ast.AST, environs: set[str], putenvs: set[str]) -> Iterator[ast.expr | str | None]:
    """Yield the names of the variables that a node sets, as far as they stand in the code."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _called(node.value) in environs:
        yield node.slice
    elif isinstance(node, ast.AugAssign) and _called(node.target) in environs:
        yield from _keys(node.value)
    elif isinstance(node, ast.Call) and _called(node.func) in putenvs:
        yield from node.args[:1]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _called(node.func.value) in environs:
        if node.func.attr in ("setdefault", "__setitem__"):
            yield from node.args[:1]
        elif node.func.attr == "update":
            for given in node.args:
                yield from _keys(given)
            yield from (keyword.arg for keyword in node.keywords)


def _keys(value: ast.expr) -> Iterator[ast.expr | str | None]:
    """Yield the keys of a dict or of a list of pairs that is written out."""
    if isinstance(value, ast.Dict):
        yield from value.keys
    elif isinstance(value, ast.List | ast.Tuple):
        yield from (pair.elts[0] for pair in value.elts if isinstance(pair, ast.List | ast.Tuple) and pair.elts)
    elif isinstance(value, ast.Call) and _called(value.func) == "dict":
        yield from (keyword.arg for keyword in value.keywords)


def _called(node: ast.AST) -> str:
    """Return the last part of a name such as `os.environ`, or ''."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(keys: Iterator[ast.expr | str | None]) -> Iterator[str]:
    for key in keys:
        value = key.value if isinstance(key, ast.Constant) else key
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if isinstance(value, str):
            yield value
