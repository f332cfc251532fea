"""Find the student's name for a key in the source, such as `key`, `keys[0]` or `self.key`, also through helpers."""

import ast
import functools
import itertools
import re
from collections.abc import Sequence
from types import CodeType

from jaxguide import compat
from jaxguide.code.source import source_of
from jaxguide.keys.origins import HANDLERS, CallSite

_KEYLIKE = re.compile(r"(?i)(^|_)(sub|prng)?(keys?|rngs?|seeds?|k)\d*(_|$)")
# The functions that these call get the key under another name than at the call.
_CONTROL_FLOW = frozenset({"scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan"})
_HIGHER_ORDER = _CONTROL_FLOW | {"partial", "apply_along_axis"}
# Their result is the key in their first argument, or copies of it.
_MOVES = frozenset(
    {
        *("clone", "wrap_key_data", "key_data", "asarray", "array", "stack", "broadcast_to", "tile", "repeat"),
        *("expand_dims", "reshape", "ravel", "next", "device_put"),
    }
)
_LONGEST_NAME = 40


def key_name(places: Sequence[CallSite], depth: int, verb: str | None) -> str | None:
    """Return the student's name for a key at `places[depth]`; None if it has no name there.

    Args:
        places: the call that uses the key, then its callers, going outward.
        depth: the index of the place to name it for.
        verb: the function of `jax.random` that used the key, such as 'normal' or 'split'.
    """
    if not places:
        return None
    name = _key_argument(call_at(places[0]), verb)
    for inner, outer in itertools.pairwise(places[: depth + 1]):
        call = call_at(outer)
        name = (_passed(name, inner.code, call) if name is not None else None) or _key_argument(call, None) or name
    if name is None or isinstance(name, ast.Constant):
        return None
    text = ast.unparse(name)
    return text if len(text) <= _LONGEST_NAME else None


def passes_a_key(place: CallSite) -> bool:
    """Return whether the call at a place has an argument that is named like a key."""
    return _key_argument(call_at(place), None) is not None


def calls_a_loop(place: CallSite) -> bool:
    """Return whether a place calls a loop or branch of JAX; the function inside is then the better place to show."""
    call = call_at(place)
    return call is not None and callee(call) in _CONTROL_FLOW


def statement_text(place: CallSite) -> str | None:
    """Return the source line of a place; if its call spans several lines, the statement joined into one."""
    span = compat.frame_span(place.code, place.instruction)
    call = call_at(place) if span is not None and span[0] != span[1] else None
    if call is None:
        return place.line.text()
    statement = [node for node in nodes_around(place) if isinstance(node, ast.stmt)][-1]
    is_simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr)
    text = ast.unparse(statement) if is_simple else ""
    return text if 0 < len(text) <= 120 else ast.unparse(call)


def _key_argument(call: ast.Call | None, verb: str | None) -> ast.expr | None:
    """Return a call's key argument: the first argument of `verb`, else the one that is named like a key."""
    if call is None:
        return None
    for keyword in call.keywords:
        if keyword.arg is not None and _KEYLIKE.search(keyword.arg):
            return _plain(keyword.value)
    known = verb is not None and (callee(call) == verb or callee(call) in HANDLERS)
    if known and call.args:
        return _plain(call.args[0])
    named = [(arg, _plain(arg)) for arg in call.args]
    likely = {ast.unparse(name): name for arg, name in named if name is not None and _KEYLIKE.search(_last_word(name))}
    return likely.popitem()[1] if len(likely) == 1 else None


def _plain(node: ast.expr) -> ast.expr | None:
    """Return the name, attribute or element behind an expression that at most moves keys; None for others."""
    if isinstance(node, ast.NamedExpr):
        return node.target
    if isinstance(node, ast.Starred):
        return _plain(node.value)
    if isinstance(node, ast.Call) and node.args and callee(node) in _MOVES:
        return _plain(node.args[0])
    if isinstance(node, ast.List | ast.Tuple | ast.Dict):
        values = node.values if isinstance(node, ast.Dict) else node.elts
        names = {ast.unparse(name): name for name in map(_plain, values) if name is not None}
        return names.popitem()[1] if len(names) == 1 else None
    return node if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else None


def _last_word(node: ast.expr) -> str:
    """Return the most telling identifier of an expression: `rng` of `self.rng`, `key` of `p["key"]`."""
    if isinstance(node, ast.Subscript):
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return index if isinstance(index, str) else _last_word(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _passed(name: ast.expr, helper: CodeType, call: ast.Call | None) -> ast.expr | None:
    """Return what the caller passed for a name inside `helper`; the name itself if it comes from outside `helper`."""
    root = _root(name)
    parameters = helper.co_varnames[: helper.co_argcount + helper.co_kwonlyargcount]
    if root is None or root.id not in parameters:
        return name if root is not None and root.id in (*helper.co_freevars, *helper.co_names) else None
    if call is None or callee(call) in _HIGHER_ORDER:
        return None
    given = _argument(root.id, parameters[: helper.co_argcount], helper, call)
    inside = ast.unparse(name).removeprefix(root.id)  # such as `["key"]`
    if given is None or (inside and isinstance(given, ast.Dict | ast.List | ast.Tuple)):
        return None
    return _plain(ast.parse(f"{ast.unparse(given)}{inside}", mode="eval").body)


def _argument(parameter: str, positional: Sequence[str], helper: CodeType, call: ast.Call) -> ast.expr | None:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if parameter in keywords:
        return keywords[parameter]
    if parameter not in positional or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    index = positional.index(parameter)
    if positional[0] in ("self", "cls"):
        if index == 0:
            return call.func if helper.co_name == "__call__" else getattr(call.func, "value", None)
        positional, index = positional[1:], index - 1
    if index >= len(call.args):
        return None
    given = call.args[index]
    # A partial or a wrapper may pass other arguments: then only trust a name like a key's.
    certain = callee(call) == helper.co_name or len(call.args) + len(keywords) == len(positional)
    plain = _plain(given)
    return given if certain or (plain is not None and _KEYLIKE.search(_last_word(plain))) else None


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def callee(call: ast.Call) -> str:
    """Return the last part of a called function's name: `split` of `jax.random.split(key)`."""
    return _last_word(call.func)


def call_at(place: CallSite) -> ast.Call | None:
    """Return the call that a place's instruction makes."""
    around, span = nodes_around(place), compat.frame_span(place.code, place.instruction)
    call = around[-1] if around else None
    return call if isinstance(call, ast.Call) and _span(call) == span else None


@functools.lru_cache(maxsize=1024)
def nodes_around(place: CallSite) -> tuple[ast.AST, ...]:
    """Return the nodes of the source around a place's call, outermost first, and the call."""
    source = source_of(place.line.file)
    span = source.span(place.code, place.instruction) if source else None
    found: list[ast.AST] = []
    node = source.find(*span) if source and span else None
    while source and node is not None:
        found.insert(0, node)
        node = source.parents.get(node)
    return tuple(found)


def _span(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
