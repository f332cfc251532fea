"""Explain shapes that do not fit: broadcasting, products, reshaping, axes, joins, and what functions ask for."""

import ast
import re
from functools import partial

from jaxguide.base.text import plural
from jaxguide.compat import error_texts as texts
from jaxguide.compat import structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts
from jaxguide.explain.rewrites.written_shapes import computed_shape
from jaxguide.explain.scene import argument_of, called

_BROADCASTING = "https://numpy.org/doc/stable/user/basics.broadcasting.html"
_Shape = tuple[int, ...]
_of_numpy = partial(entry, link=f"{texts.API}/jax.numpy.{{f.name}}.html")


def _shape(text: str) -> _Shape:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _shapes_given(facts: Facts) -> str | None:
    """Say which shapes the arguments have: `x` (2, 3), `y` (4,)."""
    shapes = [(facts.scene.quote(one), computed_shape(facts.scene, one)) for one in probes.all_given(facts.call())]
    return ", ".join(f"`{text}` {shape}" for text, shape in shapes if shape is not None) or None


_blamed = partial(
    entry,
    x=lambda facts: facts["right" if isinstance(facts.node("right"), ast.Name) else "left"],
    title="Shapes that do not fit",
    link=_BROADCASTING,
)
entry(
    "shapes_in_library",
    texts.BROADCAST,
    texts.BROADCAST_TRACED,
    texts.LAX_RANK,
    texts.DOT,
    x=probes.function,
    when=probes.in_library,
    shapes=_shapes_given,
    said=lambda facts: " ".join(facts.scene.message.split(". ")[0].split()).rstrip("."),
    title="Shapes that do not fit, in the code of {library}",
    what=("`{f}` is given arrays of these shapes: {shapes}.", ""),
    why="It combines them, or what it makes of them, and JAX refuses: {said}.",
    fixes=[
        Words(
            "A layer of equinox takes one example: map it over a batch with `{jax}.vmap`.",
            when=lambda facts: probes.is_of(facts.value("f"), "equinox"),
        ),
        "Compare them with the shapes that `{f}` expects.",
    ],
    link=_BROADCASTING,
)
_blamed(
    "shapes_do_not_broadcast",
    texts.LAX_RANK,
    name=lambda facts: texts.JNP_OF_LAX.get(facts["f"].name, facts["f"].name),
    what=(
        "`{left}` has shape {left.shape}, `{right}` has shape {right.shape}.",
        "`{left}` and `{right}` differ in their numbers of axes.",
    ),
    why="`{f}` does not broadcast: both shapes must be the same.",
    fixes=Swap("Use the function of `jax.numpy`, which broadcasts.", f="{jnp}.{name}"),
)
_blamed(
    "shapes_do_not_broadcast",
    texts.BROADCAST,
    texts.BROADCAST_TRACED,
    # JAX compares the operands as they are.
    pairs=lambda facts: [(facts["left"].shape, _shape(facts["g1"])), (facts["right"].shape, _shape(facts["g2"]))],
    when=lambda facts: all(said[-len(shape) :] == shape for shape, said in facts["pairs"]),
    what="`{left}` has shape {left.shape}, `{right}` has shape {right.shape}.",
    why="From the last axis backward, sizes must be the same or 1, and these are not.",
    fixes=Swap(
        "If every pair is meant: put one along a new axis.",
        when=lambda facts: facts["left"].ndim == facts["right"].ndim == 1,
        left="{left.atom}[:, None]",
    ),
    otherwise="Bring one to the other's shape, where you know which axis is which.",
)


entry(
    "product_of_shapes",
    texts.DOT,
    x=probes.fact("left"),
    when=lambda facts: called(facts.scene.node) in ("", "dot", "matmul"),
    title="A product of shapes that do not meet",
    what=(
        "`{left}` has shape {left.shape}, `{right}` has shape {right.shape}.",
        "In `{node}`, the axes that are summed over have the lengths {g1} and {g2}.",
    ),
    why="A matrix product sums over the last axis of the left and the last but one (or only) axis of the right.",
    fixes=Swap(
        "Swap the axes of `{left}`.",
        when=lambda facts: facts["left"].ndim == 2 and facts["left"].shape[0] in facts["right"].shape[-2:][:1],
        left="{left.atom}.T",
    ),
    otherwise=[
        Words(
            "With one entry of `{right}`, of shape ({right.shape[1]},), the product fits: if it is a batch of "
            "{right.shape[0]}, write this for one entry, and map over the batch with `jax.vmap`.",
            when=lambda facts: facts["left"].shape[-1:] == facts["right"].shape[1:],
        ),
        "Look at both shapes, and bring the axes that are to be summed to one length.",
    ],
    link=f"{texts.API}/jax.numpy.matmul.html",
)


_of_numpy(
    "reshape_size",
    texts.RESHAPE,
    x=probes.receiver(0),
    when=probes.calls("reshape"),
    old=lambda facts: _shape(facts["g1"]),
    new=lambda facts: _shape(facts["g3"]),
    shape=lambda facts: facts["others"] if re.fullmatch(r"[^,]*\.shape[^,]*", facts["others"]) else facts["g3"],
    places=lambda facts: ", ".join([":"] * len(facts["old"]) + ["None"] * (len(facts["new"]) - len(facts["old"]))),
    entries=lambda facts: plural("{count} entry", "{count} entries", int(facts["g2"])),
    title="A reshape to another number of entries",
    what="`{x}` has shape {g1}: {entries}.",
    why="Reshaping keeps every entry, and {g3} has room for another number of them.",
    fixes=[
        Swap(
            "If each entry is to be repeated along the new axes: broadcast, because `reshape` repeats nothing.",
            when=lambda facts: facts["new"][: len(facts["old"])] == facts["old"],
            call="{jnp}.broadcast_to({x.atom}[{places}], {shape})",
        ),
    ],
    otherwise="Choose sizes whose product is {g2}.",
)
entry(
    "axis_out_of_bounds",
    texts.AXIS,
    x=probes.one_of(probes.fact("array"), probes.call),
    # Not for `jax.vmap(f, out_axes=2)(x)`: the axis is one of the result.
    array=lambda facts: None if isinstance(facts.call().func, ast.Call) else probes.receiver(0)(facts),
    axis=probes.one_of(probes.keyword("axis", "out_axes"), probes.keyword("out_axes", of="f")),
    when=[probes.unless(probes.in_library), probes.knows("axis")],
    last=lambda facts: int(facts["g2"]) - 1,
    title="An axis that is not there",
    why="Axes are counted from 0, so the number of the last one is {last}; -1 stands for it too.",
    fixes=Swap("Take the last axis.", when=probes.unless(probes.is_valued("axis", tuple)), axis="-1"),
    otherwise="Give an axis that is there.",
    link=_BROADCASTING,
)


_of_numpy(
    "concatenate_without_list",
    texts.CONCATENATE_CALL,
    texts.CONCATENATE_SCALARS,
    x=probes.argument(1),
    first=probes.argument(0),
    when=[
        probes.calls("concatenate", "stack", "hstack", "vstack"),
        lambda facts: not any(isinstance(facts.value(one), int | list | tuple) for one in ("first", "x")),
        probes.unless(probes.is_written("first", ast.List)),
    ],
    arrays=lambda facts: ", ".join(facts.scene.quote(one) for one in facts.call().args),
    keywords=lambda facts: facts["given"].removeprefix(facts["arrays"]),
    title="`{f.name}` was given its arrays one by one, not in a list",
    what="`{x}` is given as an argument of its own, beside `{first}`.",
    why="The first argument is the list of all arrays; what follows says how they are joined.",
    fixes=Swap(
        "Put them into a list.",
        when=lambda facts: facts["keywords"] != "" or facts["x"].shape[1:] == facts["first"].shape[1:],
        or_say=True,
        call="{f}([{arrays}]{keywords})",
    ),
)
entry(
    "concatenate_scalars",
    texts.CONCATENATE_SCALARS,
    x=probes.argument(0),
    title="Numbers, which have no axis to be joined along",
    what="`{x}` holds numbers of shape ().",
    why="`concatenate` joins along an axis that is there; `stack` makes a new one.",
    fixes=Swap("Stack them.", call="{jnp}.array({x})"),
    link=f"{texts.API}/jax.numpy.stack.html",
)


def _joined(facts: Facts) -> list[tuple[str, _Shape]] | None:
    """Find the arrays that are joined, by their text or their number in a named list, and their shapes."""
    shapes, given = [_shape(text) for text in texts.SHAPES_SAID.findall(facts.scene.message)], facts["list"]
    if not isinstance(given.node, ast.List | ast.Tuple):
        is_list = isinstance(given.value, list | tuple) and len(shapes) > 1
        return [(f"{given}[{number}]", shape) for number, shape in enumerate(shapes)] if is_list else None
    own = [computed_shape(facts.scene, one.node) for one in given.items]  # JAX adds axes in `vstack`
    found = zip(map(str, given.items), own, shapes, strict=False)
    return [(text, own or said) for text, own, said in found] if len(own) == len(shapes) else None


def _odd_one(facts: Facts) -> str | None:
    """Say which array has the fewest axes, or the first that has another shape than the one before."""
    (text, _least), first = min(facts["joined"], key=lambda one: len(one[1])), facts["joined"][0][1]
    others = [text for text, shape in facts["joined"] if shape != first]
    return text if facts["ranks"] > 1 else next(iter(others), None)


_of_numpy(
    "joined_shapes",
    texts.JOINED,
    x=_odd_one,
    list=probes.argument(0),
    joined=_joined,
    ranks=lambda facts: len({len(shape) for _text, shape in facts["joined"]}),
    when=probes.calls("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack"),
    shapes=lambda facts: ", ".join(f"`{text}` {shape}" for text, shape in facts["joined"]),
    title="Arrays that cannot be joined",
    what="The shapes are {shapes}.",
    why="Joined arrays agree in the number of axes, and in all sizes but that of the axis along which they are joined.",
    fixes=Either(
        Words(
            "Give every part the same number of axes: `part[None]` adds one in front.",
            when=lambda facts: facts["ranks"] > 1,
        ),
        "Join along the axis in which they differ, if it is the only one, with `{jnp}.concatenate`; or bring all to "
        "one shape first: fill up the short ones with `{jnp}.pad`, and keep the lengths.",
    ),
)
_of_numpy(
    "ragged_list",
    texts.RAGGED,
    texts.JOINED,
    x=probes.argument(0),
    when=probes.calls("array", "asarray"),
    lengths=lambda facts: ", ".join(str(len(row)) for row in facts["x"].value if isinstance(row, list | tuple)) or None,
    title="Rows of different lengths",
    what=("`{x}` has rows of {lengths} entries.", ""),
    why="An array is a full block: every row has the same length.",
    fixes=[
        "Fill up the short rows, and keep the lengths beside.",
        Swap("Keep a list of arrays: most of JAX takes lists as pytrees.", call="[{jnp}.array(row) for row in {x}]"),
    ],
)


def _operand(facts: Facts) -> ast.expr | None:
    """Look at the operand of `einsum` that JAX names by its number, which follows the formula."""
    is_formula = isinstance(facts.scene.spot.value(facts.call().args[0]), str)
    return argument_of(facts.call(), int(facts["g2"]) + 1) if is_formula else None


_of_numpy(
    "einsum_sizes",
    structure_texts.EINSUM_SIZES,
    x=_operand,
    when=probes.calls("einsum"),
    title="One `einsum` letter stands for axes of different lengths",
    what="`{g1}` stands for an axis of length {g3} and for one of length {g4}; one of them is in `{x}`.",
    why="Axes with the same letter are matched entry by entry, so they must have the same length.",
    fixes="Give these axes letters of their own if they are not meant to meet, or bring them to one length.",
)
_of_numpy(
    "einsum_rank",
    structure_texts.EINSUM_RANK,
    x=_operand,
    when=probes.calls("einsum"),
    title="`einsum` needs a letter for each axis",
    what="`{x}` has shape {x.shape}, and its term is `{g1}`.",
    why="Each letter of a term names one axis of its operand, in order.",
    fixes="Write a letter for each axis of `{x}`; a letter `b` in front and in the result keeps a batch.",
)


entry(
    "convolution_channels",
    structure_texts.CONV_CHANNELS,
    x=probes.argument(0, "lhs"),
    when=probes.calls("conv", "conv_with_general_padding", "conv_general_dilated"),
    kernel=probes.argument(1, "rhs"),
    taken=lambda facts: int(facts["g3"]) * int(facts["g2"]),
    title="A convolution whose image and kernel differ in their channels",
    what="`{x}` has shape {x.shape}, and `{kernel}` has shape {kernel.shape}.",
    why="Axis 1 of both holds the channels, image (N, C, ...) and kernel (O, I, ...), unless `dimension_numbers` says "
    "otherwise. Read so, the image has {g1} channels, and the kernel takes {taken}.",
    fixes="Bring the axes into this order, or say their order in `lax.conv_general_dilated`: with all channels last, "
    "`dimension_numbers=('NHWC', 'HWIO', 'NHWC')`.",
    link=f"{texts.API}/jax.lax.conv_general_dilated.html",
)
_of_numpy(
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
    title="`{f.name}` needs a start for each axis",
    what="`{x}` has shape {g2}, and the number of starts that were given is {g1}.",
    why="One start is needed for each axis of the array.",
    fixes="Give 0 for an axis that is taken whole, or use `{f.name}_in_dim`, which takes one axis.",
    link=f"{texts.API}/jax.lax.{{f.name}}.html",
)
