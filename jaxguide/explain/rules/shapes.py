"""Explain shapes that do not fit: broadcasting, products, reshaping, axes."""

import ast
import re
from types import ModuleType

from jaxguide.base.text import _, plural
from jaxguide.code.user_frame import MISSING, Spot, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called

_BROADCASTING = "https://numpy.org/doc/stable/user/basics.broadcasting.html"


def _two(spot: Spot, node: ast.AST) -> list[ast.expr]:
    """Return the two operands of an operator or a function."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        return list(node.args)
    return []


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


@explains(error_texts.BROADCAST, error_texts.BROADCAST_TRACED, error_texts.LAX_RANK)
def shapes_do_not_broadcast(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x + y` with shapes that do not fit, and `lax.add` with another number of axes."""
    node = scene.node
    operands = _two(scene.spot, node)
    if len(operands) != 2:
        return None
    left, right = operands
    texts = [scene.quote(left), scene.quote(right)]
    fixes: list[Fix | None] = []
    if found.re is error_texts.LAX_RANK.text:
        call = scene.call()
        values = [scene.spot.value(o) for o in operands]
        if call is None:
            return None
        fixes.append(
            scene.fix(
                _("Use the function of `jax.numpy`, which broadcasts."),
                scene.source.replace(
                    call.func, f"{scene.jnp}.{error_texts.JNP_OF_LAX.get(called(call), called(call))}"
                ),
            )
        )
        one, other = (tuple(getattr(v, "shape", ())) for v in values)
        why = _("`{function}` does not broadcast: both shapes must be the same.").format(
            function=scene.quote(call.func)
        )
    else:
        one, other = _shape(found[1]), _shape(found[2])
        why = _("From the last axis backward, sizes must be the same or 1, and these are not.")
        fixes += _broadcast_fixes(scene, left, right, one, other)
    return scene.explanation(
        "shapes_do_not_broadcast",
        title=_("Shapes that do not fit"),
        what=_("`{left}` has shape {one}, `{right}` has shape {other}.").format(
            left=texts[0], one=one, right=texts[1], other=other
        ),
        variable=texts[1] if isinstance(right, ast.Name) else texts[0],
        why=why,
        fixes=fixes,
        link=_BROADCASTING,
    )


def _broadcast_fixes(
    scene: Scene, left: ast.expr, right: ast.expr, one: tuple[int, ...], other: tuple[int, ...]
) -> list[Fix | None]:
    source = scene.source
    if len(one) == len(other) == 1:
        return [
            scene.fix(
                _("If every pair is meant: put one along a new axis."),
                source.replace(left, f"{scene.atom(left)}[:, None]"),
            ),
            scene.fix(
                _("If one is too long: cut it."),
                source.replace(left, f"{scene.atom(left)}[:{other[0]}]")
                if one[0] > other[0]
                else source.replace(right, f"{scene.atom(right)}[:{one[0]}]"),
            ),
        ]
    fixes: list[Fix | None] = []
    for node, small, large in ((right, other, one), (left, one, other)):
        if len(small) == 1 and len(large) == 2 and small[0] == large[0]:
            fixes.append(
                scene.fix(
                    _("Line it up with the rows: give it a second axis of length 1."),
                    source.replace(node, f"{scene.atom(node)}[:, None]"),
                )
            )
    if len(one) == len(other) == 2 and one[::-1] == other:
        fixes.append(scene.fix(_("Swap the axes of one."), source.replace(right, f"{scene.atom(right)}.T")))
    if not fixes:
        fixes.append(scene.advice(_("Bring one to the other's shape, where you know which axis is which.")))
    return fixes


@explains(error_texts.DOT)
def contraction(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `w @ x` with sizes that do not meet."""
    operands = _two(scene.spot, scene.node)
    if len(operands) != 2:
        return None
    left, right = operands
    values = [scene.spot.value(o) for o in operands]
    shapes = [tuple(v.shape) if is_array(v) else None for v in values]
    if None in shapes and (written := [_made_with(scene, o) for o in operands]) and None not in written:
        shapes = written
    texts = [scene.quote(left), scene.quote(right)]
    fixes: list[Fix | None] = []
    one, other = shapes
    if one and len(one) == 2 and other and one[0] == other[0 if len(other) == 1 else -2]:
        fixes.append(
            scene.fix(
                _("Swap the axes of `{name}`.").format(name=texts[0]),
                scene.source.replace(left, f"{scene.atom(left)}.T"),
            )
        )
    if other and len(other) == 2 and one and one[-1] == other[1]:
        fixes.append(
            scene.fix(
                _("Swap the axes of `{name}`.").format(name=texts[1]),
                scene.source.replace(right, f"{scene.atom(right)}.T"),
            )
        )
    if isinstance(scene.node, ast.BinOp) and one and other and len(other) == 2 and other[-1] == one[0]:
        swapped = f"{scene.atom(right)} @ {scene.atom(left)}"
        fixes.append(scene.fix(_("Multiply in the other order."), scene.source.replace(scene.node, swapped)))
    if not fixes:
        fixes.append(scene.advice(_("Look at both shapes, and bring the axes that are to be summed to one length.")))
    return scene.explanation(
        "product_of_shapes",
        title=_("A product of shapes that do not meet"),
        what=_("`{left}` has shape {one}, `{right}` has shape {other}.").format(
            left=texts[0], one=one, right=texts[1], other=other
        )
        if one is not None and other is not None
        else _("In `{text}`, the axes that are summed over have the lengths {one} and {other}.").format(
            text=scene.quote(scene.node), one=found[1].strip("(,)"), other=found[2].strip("(,)")
        ),
        variable=texts[0],
        why=_("A matrix product sums over the last axis of the left and the last but one (or only) axis of the right."),
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.matmul.html",
    )


def _made_with(scene: Scene, node: ast.expr) -> tuple[int, ...] | None:
    """Return the shape with which `jnp.ones((3, 4))` and its like, written on the spot, make an array."""
    if not isinstance(node, ast.Call) or called(node) not in ("ones", "zeros", "empty", "full") or not node.args:
        return None
    shape = scene.spot.value(node.args[0])
    shape = (shape,) if isinstance(shape, int) else shape
    return shape if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape) else None


@explains(error_texts.RESHAPE)
def reshaped(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a reshape to another number of entries."""
    call = scene.call()
    if call is None or called(call) != "reshape":
        return None
    size, wanted = int(found[2]), _shape(found[3])
    method = isinstance(call.func, ast.Attribute) and not isinstance(scene.spot.value(call.func.value), ModuleType)
    if not method and not call.args:
        return None
    array = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0]
    numbers = [
        n for a in (call.args if method else call.args[1:]) for n in (a.elts if isinstance(a, ast.Tuple) else [a])
    ]
    fixes: list[Fix | None] = []
    for i, node in list(enumerate(numbers)):
        others = 1
        for j, n in enumerate(wanted):
            others *= n if j != i else 1
        if len(numbers) == len(wanted) and others and size % others == 0:
            fixes.append(
                scene.fix(
                    _("Let JAX count one of the sizes: {number}.").format(number=size // others),
                    scene.source.replace(node, "-1"),
                )
            )
    name = scene.quote(array)
    return scene.explanation(
        "reshape_size",
        title=_("A reshape to another number of entries"),
        what=plural(
            "`{name}` has shape {shape}: {count} entry.",
            "`{name}` has shape {shape}: {count} entries.",
            size,
            name=name,
            shape=found[1],
        ),
        variable=name,
        why=_("Reshaping keeps every entry, and {shape} has room for another number of them.").format(shape=found[3]),
        fixes=fixes[:2] or [scene.advice(_("Choose sizes whose product is {size}.").format(size=size))],
        link=f"{error_texts.API}/jax.numpy.reshape.html",
    )


@explains(error_texts.AXIS)
def axis_out_of_bounds(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an axis that an array does not have."""
    call = scene.call()
    if call is None:
        return None
    node = next((k.value for k in call.keywords if k.arg in ("axis", "out_axes")), None)
    if node is None and isinstance(call.func, ast.Call):  # jax.vmap(f, out_axes=2)(x)
        node = next((k.value for k in call.func.keywords if k.arg == "out_axes"), None)
    if node is None:
        return None
    part = scene.spot.first(ast.Tuple(call.args, ast.Load()) if call.args else call.func, is_array)
    name = scene.quote(part[0]) if part is not None else scene.quote(call)
    value = scene.spot.value(node)
    return scene.explanation(
        "axis_out_of_bounds",
        title=_("An axis that is not there"),
        what=scene.what(name, part[1]) if part is not None else "",
        variable=name,
        why=plural(
            "Axes are counted from 0, and there is {count}: its number is 0. Axis -1 is the last one.",
            "Axes are counted from 0: {count} axes end at {last}. Axis -1 is the last one.",
            int(found[2]),
            last=int(found[2]) - 1,
        ),
        fixes=[
            scene.fix(
                _("Take the last axis."),
                scene.source.replace(node, "-1") if value is not MISSING and not isinstance(value, tuple) else None,
            )
        ],
        link=_BROADCASTING,
    )
