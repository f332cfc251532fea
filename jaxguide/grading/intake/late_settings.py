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
    names = [name for node in ast.walk(cell.tree) for name in _names_set(node)] if cell.tree is not None else []
    names += [match[1] for line in cell.magics if (match := _MAGIC.match(line))]
    return [name for name in dict.fromkeys(names) if _READ_AT_START.fullmatch(name)][:_LIMIT]


def _names_set(node: ast.AST) -> Iterator[str]:
    """Yield the keys that a node sets in `os.environ` or any dict: no other has such keys."""
    keys: list[ast.expr | None] = []
    match node:
        case ast.Subscript(slice=key, ctx=ast.Store()):
            keys = [key]
        case ast.AugAssign(value=ast.Dict(keys=keys)):
            pass
        case ast.Call(func=ast.Attribute(attr="setdefault" | "putenv"), args=[key, *_]):
            keys = [key]
        case ast.Call(func=ast.Attribute(attr="update"), args=args, keywords=keywords):
            keys = [key for given in args if isinstance(given, ast.Dict) for key in given.keys]
            yield from (keyword.arg for keyword in keywords if keyword.arg)
    yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
