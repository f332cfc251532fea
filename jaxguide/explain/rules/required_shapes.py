"""Explain functions that ask for certain shapes: einsum, convolutions, squeeze, square matrices, slices with starts."""

import ast

from jaxguide.base.text import plural
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Code, Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.rewrites.written_shapes import known_shape

_OWN_CODE = probes.unless(probes.in_library)


def _terms(facts: Facts) -> list[tuple[str, Part, tuple[int, ...]]] | None:
    """Find the terms of `einsum`, if its formula is known, with the operands whose shapes are, and the shapes."""
    formula, *operands = facts.call().args
    said = facts.scene.spot.value(formula)
    written = said.replace(" ", "").split("->")[0].split(",") if isinstance(said, str) and "." not in said else []
    if len(written) != len(operands) or any(isinstance(one, ast.Starred) for one in operands):
        return None
    shapes = [known_shape(facts.scene, one) for one in operands]
    found = zip(written, operands, shapes, strict=True)
    return [(term, facts.at(node), shape) for term, node, shape in found if shape is not None]


def _with_letter(facts: Facts) -> list[tuple[Part, int, int]] | None:
    """Find the operands that have the letter, with its axis and the length of that; None if the lengths agree."""
    axes = [
        (part, term.index(facts["g1"]), shape[term.index(facts["g1"])])
        for term, part, shape in facts["terms"]
        if facts["g1"] in term and len(term) == len(shape)
    ]
    return axes if len({length for _part, _axis, length in axes}) > 1 else None


def _of_other_rank(facts: Facts) -> tuple[str, Part, tuple[int, ...]] | None:
    """Find the only operand with another number of axes than letters."""
    wrong = [found for found in facts["terms"] if len(found[0]) != len(found[2])]
    return wrong[0] if len(wrong) == 1 else None


entry(
    "einsum_sizes",
    structure_texts.EINSUM_SIZES,
    x=lambda facts: facts["axes"][-1][0],
    when=[_OWN_CODE, probes.calls("einsum")],
    terms=_terms,
    axes=_with_letter,
    said=lambda facts: ", ".join(f"{length} in axis {axis} of `{part}`" for part, axis, length in facts["axes"]),
    title="A letter of `einsum` that stands for axes of different lengths",
    what="`{g1}` is {said}.",
    why="Axes with the same letter are taken together, entry by entry, so they have one length.",
    fixes="Give these axes letters of their own if they are not meant to meet, or bring them to one length.",
    link=f"{texts.API}/jax.numpy.einsum.html",
)
entry(
    "einsum_rank",
    structure_texts.EINSUM_RANK,
    x=lambda facts: facts["wrong"][1],
    when=[_OWN_CODE, probes.calls("einsum")],
    terms=_terms,
    wrong=_of_other_rank,
    letters=lambda facts: plural("{count} letter", "{count} letters", len(facts["wrong"][0])),
    needed=lambda facts: plural("{count} letter", "{count} letters", len(facts["wrong"][2])),
    title="`einsum` needs a letter for each axis",
    what="`{x}` has shape {wrong[2]}, and its term `{wrong[0]}` has {letters}.",
    why="Each letter of a term names one axis of its operand, in order.",
    fixes="Write {needed} for `{x}`; a letter `b` in front and in the result keeps a batch.",
    link=f"{texts.API}/jax.numpy.einsum.html",
)


def _orders(facts: Facts) -> list[tuple[str, str, str]]:
    """Find the orders of the axes of image, kernel and result in which the channels fit, for a square window."""
    image, kernel = facts["x"].shape, facts["kernel"].shape
    axes = "DHW"[5 - len(image) :]
    return [
        (one, other, one)
        for one, channels in ((f"N{axes}C", image[-1]), (f"NC{axes}", image[1]))
        for other, taken, window in ((f"{axes}IO", kernel[-2], kernel[:-2]), (f"OI{axes}", kernel[1], kernel[2:]))
        if channels == taken * int(facts["g2"]) and len(set(window)) == 1
    ]


entry(
    "convolution_channels",
    structure_texts.CONV_CHANNELS,
    x=probes.argument(0, "lhs"),
    when=[
        _OWN_CODE,
        probes.calls("conv", "conv_with_general_padding", "conv_general_dilated"),
        lambda facts: len(facts["x"].shape) == len(facts["kernel"].shape),
    ],
    kernel=probes.argument(1, "rhs"),
    layout=probes.argument(6, "dimension_numbers"),
    orders=lambda facts: None if facts.knows("layout") else _orders(facts) or None,
    order=lambda facts: facts["orders"][0] if len(facts["orders"]) == 1 else None,
    every_order=lambda facts: "\n".join(f"dimension_numbers={order}" for order in facts["orders"]),
    last=lambda facts: [*facts.call().args, *(one.value for one in facts.call().keywords)][-1],
    taken=lambda facts: int(facts["g3"]) * int(facts["g2"]),
    title="A convolution whose image and kernel differ in their channels",
    what="`{x}` has shape {x.shape}, and `{kernel}` has shape {kernel.shape}.",
    why=(
        "`dimension_numbers={layout}` says which axis of each holds the channels. Read so, the image has {g1} "
        "channels, and the kernel takes {taken}.",
        "Without `dimension_numbers`, the channels are axis 1 of both: image (N, C, ...), kernel (O, I, ...). "
        "Read so, the image has {g1} channels, and the kernel takes {taken}.",
    ),
    fixes=Either(
        Swap(
            "Say the order of the axes, if it is this: `{order[0]}` for the image, `{order[1]}` for the kernel.",
            f="{lax}.conv_general_dilated",
            last="{last}, dimension_numbers={order}",
        ),
        Code(
            "Say the order of the axes (image, kernel, result) in `lax.conv_general_dilated`; each of these fits.",
            "{every_order}",
        ),
        when=lambda facts: len(facts.call().args) <= 4,
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
    when=[_OWN_CODE, probes.calls("squeeze")],
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
    when=[
        _OWN_CODE,
        probes.calls("inv", "cholesky", "eigh", "eig", "eigvals", "eigvalsh", "det", "slogdet"),
    ],
    title="`{f.name}` needs a square matrix",
    what="`{x}` has shape {g2}.",
    why="It is defined for matrices with as many rows as columns: the last two axes have one length.",
    fixes=[
        Swap(
            "The pseudoinverse exists for every shape; to solve equations, use `lstsq`.",
            when=probes.calls("inv"),
            f="{jnp}.linalg.pinv",
        ),
        Words(
            "Give a square matrix, such as `x.T @ x`, or use `{jnp}.linalg.svd`.",
            when=probes.unless(probes.calls("inv")),
        ),
    ],
    link=f"{texts.API}/jax.numpy.linalg.{{f.name}}.html",
)


def _shapes_given(facts: Facts) -> str:
    """Say the shapes of all arguments."""
    return ", ".join(f"`{part}` {part.shape}" for part in map(facts.at, facts.call().args))


entry(
    "shared_axis_differs",
    structure_texts.CORE_SIZES,
    x=lambda facts: facts.call().args[-1],
    when=_OWN_CODE,
    shapes=_shapes_given,
    signature=lambda facts: facts["g4"].partition("->")[0],
    title="Arguments that share an axis, with different lengths",
    what="The shapes are {shapes}.",
    why="`{f}` takes the shapes `{signature}`: the same letter is the same length.",
    fixes="Bring both to one length, {g2} or {g3}.",
    link=f"{texts.API}/jax.numpy.vectorize.html",
)
entry(
    "start_for_each_axis",
    structure_texts.STARTS_COUNT,
    x=probes.argument(0),
    when=[_OWN_CODE, probes.calls("dynamic_slice", "dynamic_update_slice")],
    axes=lambda facts: plural("{count} axis", "{count} axes", len(ast.literal_eval(facts["g2"]))),
    starts=lambda facts: plural("{count} start was", "{count} starts were", int(facts["g1"])),
    title="`{f.name}` needs a start for each axis",
    what="`{x}` has shape {g2}.",
    why="{starts} given, and the array has {axes}.",
    fixes="Give 0 for an axis that is taken whole, or use `{f.name}_in_dim`, which takes one axis.",
    link=f"{texts.API}/jax.lax.{{f.name}}.html",
)
