"""Explain functions that ask for certain shapes: einsum, convolutions, squeeze, square matrices, slices with starts."""

import ast

from jaxguide.base.text import plural
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Swap, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.scene import argument_of


def _operand(facts: Facts) -> ast.expr | None:
    """Look at the operand of `einsum` that JAX names by its number, which follows the formula."""
    is_formula = isinstance(facts.scene.spot.value(facts.call().args[0]), str)
    return argument_of(facts.call(), int(facts["g2"]) + 1) if is_formula else None


entry(
    "einsum_sizes",
    structure_texts.EINSUM_SIZES,
    x=_operand,
    when=probes.calls("einsum"),
    title="One letter of `einsum` for axes of different lengths",
    what="`{g1}` stands for axes of the lengths {g3} and {g4}, one of them in `{x}`.",
    why="Axes with the same letter are taken together, entry by entry, so they have one length.",
    fixes="Give these axes letters of their own if they are not meant to meet, or bring them to one length.",
    link=f"{texts.API}/jax.numpy.einsum.html",
)
entry(
    "einsum_rank",
    structure_texts.EINSUM_RANK,
    x=_operand,
    when=probes.calls("einsum"),
    letters=lambda facts: plural("{count} letter", "{count} letters", len(facts["g1"])),
    needed=lambda facts: plural("{count} letter", "{count} letters", facts["x"].ndim),
    title="`einsum` needs a letter for each axis",
    what="`{x}` has shape {x.shape}, and its term `{g1}` has {letters}.",
    why="Each letter of a term names one axis of its operand, in order.",
    fixes="Write {needed} for `{x}`; a letter `b` in front and in the result keeps a batch.",
    link=f"{texts.API}/jax.numpy.einsum.html",
)


def _order(facts: Facts) -> tuple[str, str, str] | None:
    """Find the only order of the axes of image, kernel and result in which the channels fit, for a square window."""
    image, kernel = facts["x"].shape, facts["kernel"].shape
    axes = "DHW"[5 - len(image) :]
    orders = [
        (one, other, one)
        for one, channels in ((f"N{axes}C", image[-1]), (f"NC{axes}", image[1]))
        for other, taken, window in ((f"{axes}IO", kernel[-2], kernel[:-2]), (f"OI{axes}", kernel[1], kernel[2:]))
        if channels == taken * int(facts["g2"]) and len(set(window)) == 1
    ]
    return orders[0] if len(orders) == 1 and not facts.knows("layout") and len(facts.call().args) <= 4 else None


entry(
    "convolution_channels",
    structure_texts.CONV_CHANNELS,
    x=probes.argument(0, "lhs"),
    when=probes.calls("conv", "conv_with_general_padding", "conv_general_dilated"),
    kernel=probes.argument(1, "rhs"),
    layout=probes.argument(6, "dimension_numbers"),
    order=_order,
    last=lambda facts: probes.all_given(facts.call())[-1],
    taken=lambda facts: int(facts["g3"]) * int(facts["g2"]),
    title="A convolution whose image and kernel differ in their channels",
    what="`{x}` has shape {x.shape}, and `{kernel}` has shape {kernel.shape}.",
    why=(
        "`dimension_numbers={layout}` says which axis of each holds the channels. Read so, the image has {g1} "
        "channels, and the kernel takes {taken}.",
        "Without `dimension_numbers`, the channels are axis 1 of both: image (N, C, ...), kernel (O, I, ...). "
        "Read so, the image has {g1} channels, and the kernel takes {taken}.",
    ),
    fixes=Swap(
        "Say the order of the axes, if it is this: `{order[0]}` for the image, `{order[1]}` for the kernel.",
        f="{lax}.conv_general_dilated",
        last="{last}, dimension_numbers={order}",
    ),
    otherwise=(
        "Bring the axes into the order that is expected, or say the order in `lax.conv_general_dilated`: "
        "`dimension_numbers`."
    ),
    link=f"{texts.API}/jax.lax.conv_general_dilated.html",
)
entry(
    "squeeze_of_a_long_axis",
    structure_texts.SQUEEZED,
    x=probes.receiver(0),
    when=probes.calls("squeeze"),
    title="`squeeze` removes axes of length 1 only",
    what="`{x}` has shape {g1}.",
    why="An axis with more than one entry cannot go without losing entries.",
    fixes=[
        "Take one entry along it by an index, or reduce it, as `.mean(axis)` does.",
        "Or look where the axis of length 1 is: it may have come from a batch of one.",
    ],
    link=f"{texts.API}/jax.numpy.squeeze.html",
)
entry(
    "matrix_not_square",
    structure_texts.NOT_SQUARE,
    x=probes.argument(0),
    when=probes.calls("inv", "cholesky", "eigh", "eig", "eigvals", "eigvalsh", "det", "slogdet"),
    title="`{f.name}` needs a square matrix",
    what="`{x}` has shape {g2}.",
    why="It is defined for matrices with as many rows as columns: the last two axes have one length.",
    fixes=(
        "Give a square matrix, such as `x.T @ x`, or use what exists for every shape: `{jnp}.linalg.pinv`, "
        "`{jnp}.linalg.lstsq` or `{jnp}.linalg.svd`."
    ),
    link=f"{texts.API}/jax.numpy.linalg.{{f.name}}.html",
)
entry(
    "shared_axis_differs",
    structure_texts.CORE_SIZES,
    x=lambda facts: facts.call().args[-1],
    when=probes.unless(probes.in_library),
    signature=lambda facts: facts["g4"].partition("->")[0],
    title="Arguments that share an axis, with different lengths",
    what="`{g1}` is {g2} in one of them, and {g3} in another.",
    why="`{f}` takes the shapes `{signature}`: the same letter is the same length.",
    fixes="Bring both to one length, {g2} or {g3}.",
    link=f"{texts.API}/jax.numpy.vectorize.html",
)
entry(
    "start_for_each_axis",
    structure_texts.STARTS_COUNT,
    x=probes.argument(0),
    when=probes.calls("dynamic_slice", "dynamic_update_slice"),
    axes=lambda facts: plural("{count} axis", "{count} axes", len(ast.literal_eval(facts["g2"]))),
    starts=lambda facts: plural("{count} start was", "{count} starts were", int(facts["g1"])),
    title="`{f.name}` needs a start for each axis",
    what="`{x}` has shape {g2}.",
    why="{starts} given, and the array has {axes}.",
    fixes="Give 0 for an axis that is taken whole, or use `{f.name}_in_dim`, which takes one axis.",
    link=f"{texts.API}/jax.lax.{{f.name}}.html",
)
