"""Explain functions that ask for certain shapes: einsum, convolutions, squeeze, square matrices, slices with starts."""

import ast
import re

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.written_shapes import known_shape
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called

_LINALG = f"{error_texts.API}/jax.numpy.linalg"


def _einsum(scene: Scene) -> tuple[ast.Call, list[str], list[ast.expr]] | None:
    """Return a call of `einsum` with its terms and operands, if both are written out."""
    call = scene.call()
    if call is None or called(call) != "einsum" or not call.args or scene.library is not None:
        return None
    formula = scene.spot.value(call.args[0])
    if not isinstance(formula, str):
        return None
    terms = formula.replace(" ", "").split("->")[0].split(",")
    operands = call.args[1:]
    plain = len(terms) == len(operands) and not any(isinstance(one, ast.Starred) for one in operands)
    return (call, terms, operands) if plain and "." not in formula else None


@explains(structure_texts.EINSUM_SIZES)
def einsum_sizes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a letter of `einsum` that stands for axes of different lengths."""
    place = _einsum(scene)
    if place is None:
        return None
    _call, terms, operands = place
    letter = found[1]
    said = []
    for term, node in zip(terms, operands, strict=True):
        shape = known_shape(scene, node)
        if letter in term and shape is not None and len(shape) == len(term):
            axis = term.index(letter)
            said.append((scene.quote(node), axis, shape[axis]))
    if len({size for _name, _axis, size in said}) < 2:
        return None
    parts = ", ".join(f"{size} in axis {axis} of `{name}`" for name, axis, size in said)
    return scene.explanation(
        "einsum_sizes",
        title="A letter of `einsum` that stands for axes of different lengths",
        what=f"`{letter}` is {parts}.",
        variable=said[-1][0],
        why="Axes with the same letter are taken together, entry by entry, so they have one length.",
        fixes=[
            scene.advice(
                "Give these axes letters of their own if they are not meant to meet, or bring them to one length."
            )
        ],
        link=f"{error_texts.API}/jax.numpy.einsum.html",
    )


@explains(structure_texts.EINSUM_RANK)
def einsum_rank(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an operand of `einsum` with more or fewer axes than letters."""
    place = _einsum(scene)
    if place is None:
        return None
    _call, terms, operands = place
    wrong = [
        (term, scene.quote(node), shape)
        for term, node in zip(terms, operands, strict=True)
        if (shape := known_shape(scene, node)) is not None and len(shape) != len(term)
    ]
    if len(wrong) != 1:
        return None
    term, name, shape = wrong[0]
    return scene.explanation(
        "einsum_rank",
        title="`einsum` needs a letter for each axis",
        what="`{name}` has shape {shape}, and its term `{term}` has {letters}.".format(
            name=name, shape=shape, term=term, letters=plural("{count} letter", "{count} letters", len(term))
        ),
        variable=name,
        why="Each letter of a term names one axis of its operand, in order.",
        fixes=[
            scene.advice(
                plural(
                    "Write {count} letter for `{name}`; a letter `b` in front and in the result keeps a batch.",
                    "Write {count} letters for `{name}`; a letter `b` in front and in the result keeps a batch.",
                    len(shape),
                    name=name,
                )
            )
        ],
        link=f"{error_texts.API}/jax.numpy.einsum.html",
    )


# Function of `jax.lax` -> the position of `dimension_numbers`, if it has them; all take (N, C, ...) and (O, I, ...).
_CONVOLUTIONS: dict[str, int | None] = {
    "conv": None,
    "conv_with_general_padding": None,
    "conv_general_dilated": 6,
}


def _layout(scene: Scene, call: ast.Call, shapes: tuple[tuple[int, ...], tuple[int, ...]], groups: int) -> Fix | None:
    """Return the fix that says the order of the axes; the code of each order if several fit the channels."""
    (image, kernel), spatial = shapes, {3: "W", 4: "HW", 5: "DHW"}.get(len(shapes[0]))
    if spatial is None:
        return None
    orders = [
        (one, other, window)
        for one, channels, sizes in ((f"N{spatial}C", image[-1], image[1:-1]), (f"NC{spatial}", image[1], image[2:]))
        for other, taken, window in ((f"{spatial}IO", kernel[-2], kernel[:-2]), (f"OI{spatial}", kernel[1], kernel[2:]))
        if channels == taken * groups and all(a <= b for a, b in zip(window, sizes, strict=True))
    ]
    square = [order for order in orders if len(set(order[2])) == 1]
    orders = square if len(square) == 1 else orders
    if len(orders) != 1:
        if not orders:
            return None
        code = "\n".join(f"dimension_numbers={(one, other, one)}" for one, other, _window in orders)
        return scene.fix(
            "Say the order of the axes (image, kernel, result) in `lax.conv_general_dilated`; each of these fits.",
            code=code,
        )
    one, other, _window = orders[0]
    said = f"dimension_numbers={(one, other, one)}"
    end = call.keywords[-1].value if call.keywords else call.args[-1]
    edits: list[Edit | None] = [None]
    if len(call.args) <= 6 and called(call) == "conv_general_dilated":
        edits = [scene.source.insert_after(end, f", {said}")]
    elif len(call.args) <= 4:
        edits = [
            scene.source.replace(call.func, f"{scene.lax}.conv_general_dilated"),
            scene.source.insert_after(end, f", {said}"),
        ]
    sentence = f"Say the order of the axes, if it is this: `{one}` for the image, `{other}` for the kernel."
    return scene.fix(sentence, *edits, code=said if edits == [None] else "")


@explains(structure_texts.CONV_CHANNELS)
def channels(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a convolution whose image and kernel differ in their channels."""
    call = scene.call()
    function = called(call)
    if call is None or scene.library is not None or function not in _CONVOLUTIONS:
        return None
    nodes = [argument_of(call, 0, "lhs"), argument_of(call, 1, "rhs")]
    if nodes[0] is None or nodes[1] is None:
        return None
    image, kernel = (known_shape(scene, node) for node in nodes if node is not None)
    if image is None or kernel is None or len(image) != len(kernel):
        return None
    position = _CONVOLUTIONS[function]
    layout = argument_of(call, position, "dimension_numbers") if position is not None else None
    fixes: list[Fix | None] = []
    if layout is None:
        fixes.append(_layout(scene, call, (image, kernel), int(found[2])))
    if not any(fixes):
        fixes.append(
            scene.advice("Bring the axes into the order that is expected, or say the order: `dimension_numbers`.")
            if position is not None
            else scene.advice(
                "Bring the axes into the order that is expected, or say the order in `lax.conv_general_dilated`: "
                "`dimension_numbers`."
            )
        )
    order = (
        "Without `dimension_numbers`, the channels are axis 1 of both: image (N, C, ...), kernel (O, I, ...)."
        if layout is None
        else "`dimension_numbers` says which axis of each holds the channels."
    )
    return scene.explanation(
        "convolution_channels",
        title="A convolution whose image and kernel differ in their channels",
        what=f"`{scene.quote(nodes[0])}` has shape {image}, and `{scene.quote(nodes[1])}` has shape {kernel}.",
        variable=scene.quote(nodes[0]),
        why=(
            f"{order} Read so, the image has {int(found[1])} channels, and the kernel takes "
            f"{int(found[3]) * int(found[2])}."
        ),
        fixes=fixes,
        link=f"{error_texts.API}/jax.lax.conv_general_dilated.html",
    )


@explains(structure_texts.SQUEEZED)
def squeezed(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `squeeze` of an axis that has more than one entry."""
    call = scene.call()
    if call is None or called(call) != "squeeze" or scene.library is not None:
        return None
    function = call.func
    array = call.args[0] if call.args else None
    if isinstance(function, ast.Attribute) and scene.quote(function.value) != scene.jnp:
        array = function.value
    if array is None:
        return None
    name = scene.quote(array)
    return scene.explanation(
        "squeeze_of_a_long_axis",
        title="`squeeze` removes axes of length 1 only",
        what=f"`{name}` has shape {found[1]}.",
        variable=name,
        why="An axis with more than one entry cannot go without losing entries.",
        fixes=[
            scene.advice("Take one entry along it by an index, or reduce it, as `.mean(axis)` does."),
            scene.advice("Or look where the axis of length 1 is: it may have come from a batch of one."),
        ],
        link=f"{error_texts.API}/jax.numpy.squeeze.html",
    )


@explains(structure_texts.NOT_SQUARE)
def not_square(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain functions of square matrices that are given others."""
    call = scene.call()
    name = called(call)
    if call is None or name not in ("inv", "cholesky", "eigh", "eig", "eigvals", "eigvalsh", "det", "slogdet"):
        return None
    if not call.args or scene.library is not None:
        return None
    text = scene.quote(call.args[0])
    other = scene.advice(f"Give a square matrix, such as `x.T @ x`, or use `{scene.jnp}.linalg.svd`.")
    if name == "inv":
        sentence = "The pseudoinverse exists for every shape; to solve equations, use `lstsq`."
        other = scene.fix(sentence, scene.source.replace(call.func, f"{scene.jnp}.linalg.pinv")) or other
    return scene.explanation(
        "matrix_not_square",
        title=f"`{name}` needs a square matrix",
        what=f"`{text}` has shape {found[2]}.",
        variable=text,
        why="It is defined for matrices with as many rows as columns: the last two axes have one length.",
        fixes=[other],
        link=f"{_LINALG}.{name}.html",
    )


@explains(structure_texts.CORE_SIZES)
def core_sizes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.linalg.solve` and others whose arguments share an axis of different lengths."""
    call = scene.call()
    if call is None or not call.args or scene.library is not None:
        return None
    parts = [f"`{scene.quote(node)}` {shape}" for node in call.args if (shape := known_shape(scene, node)) is not None]
    if len(parts) != len(call.args):
        return None
    return scene.explanation(
        "shared_axis_differs",
        title="Arguments that share an axis, with different lengths",
        what="The shapes are {shapes}.".format(shapes=", ".join(parts)),
        variable=scene.quote(call.args[-1]),
        why="`{function}` takes the shapes `{signature}`: the same letter is the same length.".format(
            function=scene.quote(call.func), signature=found[4].partition("->")[0]
        ),
        fixes=[scene.advice(f"Bring both to one length, {found[2]} or {found[3]}.")],
        link=f"{error_texts.API}/jax.numpy.vectorize.html",
    )


@explains(structure_texts.STARTS_COUNT)
def start_for_each_axis(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.dynamic_slice` with too few or too many starts."""
    call = scene.call()
    if call is None or called(call) not in ("dynamic_slice", "dynamic_update_slice") or not call.args:
        return None
    if scene.library is not None:
        return None
    shape = found[2]
    rank = len(re.findall(r"\d+", shape))
    return scene.explanation(
        "start_for_each_axis",
        title=f"`{called(call)}` needs a start for each axis",
        what=f"`{scene.quote(call.args[0])}` has shape {shape}.",
        variable=scene.quote(call.args[0]),
        why=plural(
            "{count} start was given, and the array has {axes}.",
            "{count} starts were given, and the array has {axes}.",
            int(found[1]),
            axes=plural("{count} axis", "{count} axes", rank),
        ),
        fixes=[
            scene.advice(
                f"Give 0 for an axis that is taken whole, or use `{called(call)}_in_dim`, which takes one axis."
            )
        ],
        link=f"{error_texts.API}/jax.lax.{called(call)}.html",
    )


@explains(structure_texts.LAX_DTYPES_OF_PARTS)
def update_of_another_dtype(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.dynamic_update_slice` with an update of another dtype."""
    call = scene.call()
    if call is None or called(call) != found[1] or len(call.args) < 2 or scene.library is not None:
        return None
    operand, update = call.args[:2]
    text = scene.quote(update)
    wider = scene.fix(
        "Keep the fractions: convert the array.",
        scene.source.replace(operand, f"{scene.atom(operand)}.astype({scene.atom(update)}.dtype)")
        if "int" in found[2] and "float" in found[3]
        else None,
    )
    return scene.explanation(
        "lax_dtypes",
        title=f"`lax.{found[1]}` does not mix dtypes",
        what="The arguments are {dtypes}.".format(dtypes=f"{found[2]}, {found[3]}"),
        variable=text,
        why="`jax.lax` is the exact layer: it promotes nothing, and `jax.numpy` above it does.",
        fixes=[
            wider,
            scene.fix(
                "Convert what is written to the dtype of the array.",
                scene.source.replace(update, f"{scene.atom(update)}.astype({scene.atom(operand)}.dtype)"),
            ),
        ],
        link="https://docs.jax.dev/en/latest/type_promotion.html",
    )
