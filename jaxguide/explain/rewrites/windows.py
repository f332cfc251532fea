"""Find slices of fixed length whose bounds are traced: `x[i * b : (i + 1) * b]` always has `b` entries."""

import ast
import math
from collections import Counter
from collections.abc import Mapping

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import is_tracer
from jaxguide.explain.scene import Scene
from jaxguide.explain.transformed import set_to

# A sum of products: the names and other parts of each product, and how often it is added.
_Sum = Counter[tuple[str, ...]]


def window_of(scene: Scene, node: ast.Slice, entries: int | None) -> str | None:
    """Return the length of a slice such as `i : i + length`, or None.

    It must not depend on a traced value, and an array with this many entries along the axis must have room for it.
    """
    lower, upper = node.lower, node.upper
    step = node.step
    if lower is None or upper is None or not (step is None or (isinstance(step, ast.Constant) and step.value == 1)):
        return None
    if isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add):
        for start, added in ((upper.left, upper.right), (upper.right, upper.left)):
            if ast.dump(start) == ast.dump(lower):
                fits = scene.tracer(added) is None and _has_room(scene, _sum(scene, added), entries)
                return ast.unparse(added) if fits else None
    length = _sum(scene, upper)
    length.subtract(_sum(scene, lower))
    parts = {product: count for product, count in length.items() if count}
    known = all(_is_known(scene, part) for product in parts for part in product)
    return _text(parts) if parts and known and _has_room(scene, parts, entries) else None


def _sum(scene: Scene, node: ast.expr) -> _Sum:
    """Return an integer expression as a sum of products, with what traced names of the function were set to."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Counter({(): node.value})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return Counter({product: -count for product, count in _sum(scene, node.operand).items()})
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        left, right = _sum(scene, node.left), _sum(scene, node.right)
        if isinstance(node.op, ast.Mult):
            product: _Sum = Counter()
            for one, count in left.items():
                for other, times in right.items():
                    product[tuple(sorted(one + other))] += count * times
            return product
        (left.update if isinstance(node.op, ast.Add) else left.subtract)(right)
        return left
    traced = isinstance(node, ast.Name) and is_tracer(scene.spot.value(node))
    value = set_to(scene.spot, node.id) if isinstance(node, ast.Name) and traced else None
    if value is not None and _changes_later(scene, value):
        value = None
    return _sum(scene, value) if value is not None else Counter({(ast.unparse(node),): 1})


def _changes_later(scene: Scene, value: ast.expr) -> bool:
    """Return whether a name in an expression is set again on its line or after it."""
    nodes = ast.walk(scene.spot.function or scene.source.tree)
    stored = [one for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]
    return any(one.id in names_in(value) and one.lineno >= value.lineno for one in stored)


def _is_known(scene: Scene, part: str) -> bool:
    """Return whether a part of a product is an integer that is known while JAX traces."""
    node = ast.parse(part, mode="eval").body
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    if any(not isinstance(n.func, ast.Name) or n.func.id != "len" for n in calls):
        return False
    held = [value for _part, value in scene.spot.parts(node)]
    return scene.tracer(node) is None and (bool(calls) or any(isinstance(value, int) for value in held))


def _has_room(scene: Scene, parts: Mapping[tuple[str, ...], int], entries: int | None) -> bool:
    """Return whether a length is positive and at most the number of entries, as far as it is known."""
    length = 0
    for product, count in parts.items():
        values = [scene.spot.value(ast.parse(part, mode="eval").body) for part in product]
        if not all(isinstance(value, int) for value in values):
            return True
        length += count * math.prod(values)
    return length > 0 and (entries is None or length <= entries)


def _text(parts: dict[tuple[str, ...], int]) -> str:
    """Return a sum of products as code.

    >>> _text({("n", "b"): 2, (): -1})
    '2 * n * b - 1'
    >>> _text({("len(x) // 2",): 1})
    'len(x) // 2'
    """
    if list(parts.values()) == [1] and len(next(iter(parts))) == 1:
        return next(iter(parts))[0]
    terms = [([] if count == 1 and product else [str(count)], map(_atom, product)) for product, count in parts.items()]
    text = " + ".join(" * ".join([*number, *factors]) for number, factors in terms)
    return text.replace("+ -1 * ", "- ").replace("+ -", "- ")


def _atom(part: str) -> str:
    node = ast.parse(part, mode="eval").body
    return part if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({part})"
