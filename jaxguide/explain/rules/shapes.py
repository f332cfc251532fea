"""Explain shapes that do not fit: broadcasting, products, reshaping, axes, and arrays that cannot be joined."""

import ast
import math
import re
from typing import Any

from jaxguide.base.text import plural
from jaxguide.code.user_frame import is_array
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import AnyFix, Code, Either, Swap, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Part, known
from jaxguide.explain.rewrites.written_shapes import computed_shape, known_shape
from jaxguide.explain.scene import called

_BROADCASTING = "https://numpy.org/doc/stable/user/basics.broadcasting.html"
_OWN_CODE = probes.unless(probes.in_library)
_Shape = tuple[int, ...]


def _shape(text: str) -> _Shape:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _shapes_of(facts: Facts, nodes: list[ast.expr]) -> str | None:
    """Say which shapes some expressions have: `x` (2, 3), `y` (4,)."""
    shapes = [(facts.scene.quote(one), known_shape(facts.scene, one)) for one in nodes]
    return ", ".join(f"`{text}` {shape}" for text, shape in shapes if shape is not None) or None


# Operators and functions of two arrays.


def _takes_one_example(facts: Facts) -> bool:
    """Ask whether a layer of equinox, which takes one example, was given a batch of them."""
    size = getattr(facts.value("f"), "in_features", getattr(facts.value("f"), "in_size", None))
    shape = known_shape(facts.scene, facts.node("batch"))
    return not facts.call().keywords and shape is not None and len(shape) == 2 and shape[-1] == size


def _compared(facts: Facts) -> tuple[_Shape, _Shape] | None:
    """Find the shapes of two operands; those of a call only if JAX compared its arguments as they are.

    JAX adds axes of length 1 to bring shapes to one rank.
    """
    said = (_shape(facts["g1"]), _shape(facts["g2"]))
    own = [computed_shape(facts.scene, one) for one in probes.operands(facts.scene.node)]
    if len(own) != 2:
        return None
    if own[0] is not None and own[1] is not None and all(_bare(a) == _bare(b) for a, b in zip(own, said, strict=True)):
        return own[0], own[1]
    return None if isinstance(facts.scene.node, ast.Call) else said


def _bare(shape: _Shape | None) -> _Shape | None:
    return _bare(shape[1:]) if shape and shape[0] == 1 else shape


def _are_vectors(facts: Facts) -> bool:
    return len(facts["one"]) == len(facts["other"]) == 1


def _is_column(small: _Shape, large: _Shape) -> bool:
    """Return whether a shape fits the first axis of a matrix, to which it is not broadcast."""
    return len(small) == 1 and len(large) == 2 and small[0] == large[0]


_BLAMED: dict[str, Any] = {
    "x": lambda facts: facts["right" if isinstance(facts.node("right"), ast.Name) else "left"],
    "title": "Shapes that do not fit",
    "link": _BROADCASTING,
}
entry(
    "shapes_in_library",
    texts.BROADCAST,
    texts.BROADCAST_TRACED,
    texts.LAX_RANK,
    texts.DOT,
    x=probes.function,
    when=probes.in_library,
    batch=probes.argument(0),
    shapes=lambda facts: _shapes_of(facts, [*facts.call().args, *(one.value for one in facts.call().keywords)]),
    said=lambda facts: " ".join(facts.scene.message.split(". ")[0].split()).rstrip("."),
    title="Shapes that do not fit, in the code of {library}",
    what=("`{f}` is given arrays of these shapes: {shapes}.", ""),
    why="It combines them, or what it makes of them, and JAX refuses: {said}.",
    fixes=[
        Swap(
            "It takes one example: map it over the batch with `jax.vmap`.",
            when=lambda facts: probes.is_of(facts.value("f"), "equinox") and _takes_one_example(facts),
            f="{jax}.vmap({f})",
        ),
        "Compare them with the shapes that `{f}` expects.",
    ],
    link=_BROADCASTING,
)
entry(
    "shapes_do_not_broadcast",
    texts.LAX_RANK,
    name=lambda facts: texts.JNP_OF_LAX.get(facts["f"].name, facts["f"].name),
    what=(
        "`{left}` has shape {left.shape}, `{right}` has shape {right.shape}.",
        "`{left}` and `{right}` differ in their numbers of axes.",
    ),
    why="`{f}` does not broadcast: both shapes must be the same.",
    fixes=[Swap("Use the function of `jax.numpy`, which broadcasts.", f="{jnp}.{name}")],
    **_BLAMED,
)
entry(
    "shapes_do_not_broadcast",
    texts.BROADCAST,
    texts.BROADCAST_TRACED,
    one=lambda facts: known(_compared(facts))[0],
    other=lambda facts: known(_compared(facts))[1],
    what="`{left}` has shape {one}, `{right}` has shape {other}.",
    why="From the last axis backward, sizes must be the same or 1, and these are not.",
    fixes=[
        Swap("If every pair is meant: put one along a new axis.", when=_are_vectors, left="{left.atom}[:, None]"),
        Either(
            Swap(
                "If one is too long: cut it.",
                when=lambda facts: facts["one"] > facts["other"],
                left="{left.atom}[:{other[0]}]",
            ),
            Swap("If one is too long: cut it.", right="{right.atom}[:{one[0]}]"),
            when=_are_vectors,
        ),
        Swap(
            "Line it up with the rows: give it a second axis of length 1.",
            when=lambda facts: _is_column(facts["other"], facts["one"]),
            right="{right.atom}[:, None]",
        ),
        Swap(
            "Line it up with the rows: give it a second axis of length 1.",
            when=lambda facts: _is_column(facts["one"], facts["other"]),
            left="{left.atom}[:, None]",
        ),
        Swap(
            "Swap the axes of one.",
            when=lambda facts: len(facts["one"]) == 2 and facts["one"][::-1] == facts["other"],
            right="{right.atom}.T",
        ),
    ],
    otherwise=["Bring one to the other's shape, where you know which axis is which."],
    **_BLAMED,
)


def _fits_one_entry(facts: Facts) -> Part | None:
    """Look at the only array of which a single entry, along the first axis, would fit in a product."""
    names = {one.id: one for one in ast.walk(facts.scene.node) if isinstance(one, ast.Name)}
    arrays = {name: value for name, one in names.items() if is_array(value := facts.scene.spot.value(one))}
    batches = {name: value.shape[1:] for name, value in arrays.items() if value.ndim > 1}
    fitting = [
        name for name, shape in batches.items() if computed_shape(facts.scene, facts.node("node"), {name: shape})
    ]
    return facts.at(names[fitting[0]]) if len(fitting) == 1 else None


entry(
    "product_of_shapes",
    texts.DOT,
    x=lambda facts: facts["left"],
    when=[_OWN_CODE, lambda facts: called(facts.scene.node) in ("", "dot", "matmul")],
    one=lambda facts: known_shape(facts.scene, facts.node("left")),
    other=lambda facts: known_shape(facts.scene, facts.node("right")),
    lengths=lambda facts: [facts["g1"].strip("(,)"), facts["g2"].strip("(,)")],
    batch=_fits_one_entry,
    entry_shape=lambda facts: facts["batch"].shape[1:],
    title="A product of shapes that do not meet",
    what=(
        "`{left}` has shape {left.shape}, `{right}` has shape {right.shape}.",
        "In `{node}`, the axes that are summed over have the lengths {lengths[0]} and {lengths[1]}.",
    ),
    why="A matrix product sums over the last axis of the left and the last but one (or only) axis of the right.",
    fixes=[
        Swap(
            "Swap the axes of `{left}`.",
            when=lambda facts: len(facts["one"]) == 2 and facts["one"][0] in facts["other"][-2:][:1],
            left="{left.atom}.T",
        ),
        Swap(
            "Swap the axes of `{right}`.",
            when=lambda facts: len(facts["other"]) == 2 and facts["one"][-1:] == facts["other"][1:],
            right="{right.atom}.T",
        ),
        Swap(
            "Multiply in the other order.",
            when=lambda facts: (
                not called(facts.scene.node) and len(facts["other"]) == 2 and facts["one"][:1] == facts["other"][-1:]
            ),
            node="{right.atom} @ {left.atom}",
        ),
    ],
    otherwise=[
        "With one entry of `{batch}`, of shape {entry_shape}, the product fits: if `{batch}` is a batch of "
        "{batch.shape[0]}, write this for one entry, and map over the batch with `jax.vmap`.",
        "Look at both shapes, and bring the axes that are to be summed to one length.",
    ],
    link=f"{texts.API}/jax.numpy.matmul.html",
)


# Reshaping, and axes.


def _new_sizes(facts: Facts) -> list[ast.expr]:
    """Look at the sizes that `reshape` is given, one by one or as a tuple."""
    given = [one for one in facts.call().args if one is not facts.node("x")]
    return [size for one in given for size in (one.elts if isinstance(one, ast.Tuple) else [one])]


def _counted_by_jax(facts: Facts) -> list[Fix | None]:
    """Make fixes that let JAX count one of the new sizes."""
    new, sizes, fixes = facts["new"], _new_sizes(facts), []
    for number, node in enumerate(sizes if len(sizes) == len(new) else []):
        rest = math.prod((*new[:number], *new[number + 1 :]))
        if rest and int(facts["g2"]) % rest == 0:
            sentence = f"Let JAX count one of the sizes: {int(facts['g2']) // rest}."
            fixes.append(facts.scene.fix(sentence, facts.scene.source.replace(node, "-1")))
    return fixes[:2]


def _is_repeated(facts: Facts) -> bool:
    """Ask whether an array was to be repeated along new axes, and the new shape is one argument."""
    return 0 < len(facts["old"]) < len(facts["new"]) and 0 not in facts["new"] and not facts.call().keywords


def _new_shape(facts: Facts) -> str:
    """Say the new shape, by the student's own expression where that is known to be one."""
    given = facts.call().args[-1]
    own = facts.scene.spot.value(given) == facts["new"] or ".shape" in facts.scene.quote(given)
    return facts.scene.quote(given) if own else str(facts["new"])


entry(
    "reshape_size",
    texts.RESHAPE,
    x=probes.receiver(0),
    when=[probes.calls("reshape"), _OWN_CODE],
    old=lambda facts: _shape(facts["g1"]),
    new=lambda facts: _shape(facts["g3"]),
    shape=_new_shape,
    places=lambda facts: ", ".join([":"] * len(facts["old"]) + ["None"] * (len(facts["new"]) - len(facts["old"]))),
    entries=lambda facts: plural("{count} entry", "{count} entries", int(facts["g2"])),
    title="A reshape to another number of entries",
    what="`{x}` has shape {g1}: {entries}.",
    why="Reshaping keeps every entry, and {g3} has room for another number of them.",
    fixes=[
        Swap(
            "If each entry is to be repeated along the new axes: broadcast, because `reshape` repeats nothing.",
            when=lambda facts: _is_repeated(facts) and facts["new"][: len(facts["old"])] == facts["old"],
            call="{jnp}.broadcast_to({x.atom}[{places}], {shape})",
        ),
        Swap(
            "If all of it is to be repeated along new first axes: broadcast, because `reshape` repeats nothing.",
            when=lambda facts: _is_repeated(facts) and facts["new"][-len(facts["old"]) :] == facts["old"],
            call="{jnp}.broadcast_to({x}, {shape})",
        ),
        _counted_by_jax,
    ],
    otherwise=["Choose sizes whose product is {g2}."],
    link=f"{texts.API}/jax.numpy.reshape.html",
)


def _array_with_axes(facts: Facts) -> ast.AST | None:
    """Look at the array, or the one in a list, that has as many axes as the message says."""
    array = facts["array"]
    whole = is_array(array.value_or_missing) or isinstance(array.node, ast.List | ast.Tuple)
    has_axes = probes.first(lambda value: is_array(value) and value.ndim == int(facts["g2"]), of="array")
    return has_axes(facts) if whole else None


entry(
    "axis_out_of_bounds",
    texts.AXIS,
    x=probes.one_of(probes.fact("part"), probes.fact("array"), probes.call),
    # Not for `jax.vmap(f, out_axes=2)(x)`: the axis is one of the result.
    array=lambda facts: None if isinstance(facts.call().func, ast.Call) else probes.receiver(0)(facts),
    part=_array_with_axes,
    axis=probes.one_of(probes.keyword("axis", "out_axes"), probes.keyword("out_axes", of="f")),
    when=[_OWN_CODE, probes.knows("axis")],
    axes=lambda facts: plural(
        "Axes are counted from 0, and there is {count}: its number is 0. Axis -1 is the last one.",
        "Axes are counted from 0: {count} axes end at {last}. Axis -1 is the last one.",
        int(facts["g2"]),
        last=int(facts["g2"]) - 1,
    ),
    title="An axis that is not there",
    what=("{part.is_here}", ""),
    why="{axes}",
    fixes=[Swap("Take the last axis.", when=lambda facts: not isinstance(facts["axis"].value, tuple), axis="-1")],
    link=_BROADCASTING,
)


# Arrays that are joined.

_IN_A_LIST = probes.is_written("x", ast.List, ast.Tuple)


def _are_given_one_by_one(facts: Facts) -> bool:
    given, value = facts.call().args, facts.scene.spot.value
    lists = any(isinstance(one, ast.List | ast.Tuple | ast.Starred) for one in given)
    return not lists and not any(type(value(one)) in (int, list, tuple) for one in given)


def _how_joined(facts: Facts) -> str:
    """Say how arrays are joined: by the keywords that are given, or along the axis in which two matrices differ."""
    keywords = "".join(f", {one.arg}={facts.scene.quote(one.value)}" for one in facts.call().keywords)
    one, other = (known_shape(facts.scene, array) or () for array in facts.call().args[:2])
    wide = len(one) == len(other) == 2 and one[0] == other[0] and one[1] != other[1]
    return ", axis=1" if wide and not keywords and probes.calls("concatenate")(facts) else keywords


entry(
    "concatenate_without_list",
    texts.CONCATENATE_CALL,
    texts.CONCATENATE_DTYPE,
    texts.CONCATENATE_AXIS,
    texts.CONCATENATE_SCALARS,
    x=probes.argument(1),
    first=probes.argument(0),
    when=[probes.calls("concatenate", "stack", "hstack", "vstack"), _are_given_one_by_one],
    arrays=lambda facts: ", ".join(facts.scene.quote(one) for one in facts.call().args),
    how=_how_joined,
    title="`{f.name}` was given its arrays one by one, not in a list",
    what="`{x}` is given as an argument of its own, beside `{first}`.",
    why="The first argument is the list of all arrays; what follows says how they are joined.",
    fixes=[Swap("Put them into a list.", call="{f}([{arrays}]{how})")],
    link=f"{texts.API}/jax.numpy.{{f.name}}.html",
)
entry(
    "concatenate_scalars",
    texts.CONCATENATE_SCALARS,
    x=probes.argument(0),
    title="Numbers, which have no axis to be joined along",
    what="`{x}` holds numbers of shape ().",
    why="`concatenate` joins along an axis that is there; `stack` makes a new one.",
    fixes=[
        Swap("Stack them.", when=_IN_A_LIST, call="{jnp}.array({x})"),
        Swap("Stack them.", when=probes.unless(_IN_A_LIST), call="{jnp}.stack({jnp}.asarray({x}))"),
    ],
    link=f"{texts.API}/jax.numpy.stack.html",
)


def _joined(facts: Facts) -> dict[str, _Shape] | None:
    """Find the arrays that are joined, those of a written list or of a named one, and their shapes."""
    given, value = facts.node("list"), facts.value("list")
    if isinstance(given, ast.List | ast.Tuple):
        parts = [facts.scene.quote(one) for one in given.elts]
        shapes = [known_shape(facts.scene, one) for one in given.elts]
        said = [_shape(text) for text in texts.SHAPES_SAID.findall(facts.scene.message)]
        shapes = [*said] if None in shapes and len(said) == len(parts) else shapes
    elif isinstance(value, list | tuple) and all(is_array(one) for one in value):
        parts = [f"{facts['list']}[{number}]" for number in range(len(value))]
        shapes = [tuple(one.shape) for one in value]
    else:
        return None
    found = {text: shape for text, shape in zip(parts, shapes, strict=True) if shape is not None}
    return found if len(found) == len(parts) > 1 else None


def _differ_in_rank(facts: Facts) -> bool:
    return len({len(shape) for shape in facts["joined"].values()}) > 1


def _odd_one(facts: Facts) -> str | None:
    """Say which array has the fewest axes, or the first that has another shape than the one before."""
    (_text, whole), *rest = facts["joined"].items()
    if _differ_in_rank(facts):
        return str(min(facts["joined"], key=lambda text: len(facts["joined"][text])))
    return next((text for text, shape in rest if shape != whole), None)


def _differing_axis(facts: Facts) -> int | None:
    """Find the only axis in which arrays of the same rank, of two axes or more, differ."""
    shapes = list(facts["joined"].values())
    axes = range(0 if _differ_in_rank(facts) or len(shapes[0]) < 2 else len(shapes[0]))
    return next((a for a in axes if len({shape[:a] + shape[a + 1 :] for shape in shapes}) == 1), None)


def _lacking_axis(facts: Facts) -> Fix | None:
    """Make the fix that adds the missing axis to arrays that are joined with arrays of one more axis."""
    scene, shapes, full = facts.scene, facts["joined"], max(facts["joined"].values(), key=len)
    low = [part for part in facts["list"].items if len(shapes[str(part)]) < len(full)]
    fits = [a for a in range(len(full)) if all(shapes[str(part)] == full[:a] + full[a + 1 :] for part in low)]
    joins = probes.calls("concatenate")(facts)
    axis = facts.value("axis") % len(full) if facts.knows("axis") else 0 if joins else min(1, len(full) - 1)
    if not fits or (axis not in fits and not joins):
        return None
    place = axis if axis in fits else fits[0]
    edits = [scene.source.replace(part.node, _with_axis(part, place, shapes[str(part)])) for part in low]
    if place != axis and facts.knows("axis"):
        edits.append(scene.source.replace(facts.node("axis"), str(place)))
    elif place != axis:
        edits.append(scene.source.insert_after(facts.node("list"), f", axis={place}"))
    return scene.fix(f"Give {', '.join(f'`{part}`' for part in low)} the axis that it lacks.", *edits)


def _with_axis(part: Part, axis: int, shape: _Shape) -> str:
    """Return the text of an array with one more axis; a plain number becomes an array of length 1."""
    if not shape and not is_array(part.value_or_missing):
        return f"{part.scene.jnp}.array([{part}])"
    return f"{part.atom}[{':, ' * axis}None]"


_JOINED: dict[str, Any] = {
    "x": _odd_one,
    "list": probes.argument(0),
    "joined": _joined,
    "shapes": lambda facts: ", ".join(f"`{text}` {shape}" for text, shape in facts["joined"].items()),
    "title": "Arrays that cannot be joined",
    "what": "The shapes are {shapes}.",
    "link": f"{texts.API}/jax.numpy.{{f.name}}.html",
}
_JOIN_PHRASES = (texts.CONCATENATE_RANKS, texts.CONCATENATE_SHAPES, texts.STACK_SHAPES)
_WRITTEN = probes.is_written("list", ast.List, ast.Tuple)
_AGREE = "Joined arrays agree in the number of axes, and in all sizes but that of the axis along which they are joined."
_JOIN_FIXES: list[AnyFix] = [
    Either(_lacking_axis, when=_differ_in_rank),
    Either(
        Swap("Join along the axis in which they differ.", axis="{differing}"),
        Swap("Join along the axis in which they differ.", list="{list}, axis={differing}"),
        when=probes.calls("concatenate"),
    ),
    Swap(
        "Join them along an axis that is there.",
        when=probes.unless(probes.calls("concatenate")),
        call="{jnp}.concatenate({list}, axis={differing})",
    ),
]
for _names, _why in (
    (["concatenate"], _AGREE),
    (["stack", "hstack", "vstack", "dstack", "column_stack"], "Stacked arrays all have the same shape."),
):
    entry(
        "joined_shapes",
        *_JOIN_PHRASES,
        when=[_OWN_CODE, probes.calls(*_names), _WRITTEN],
        axis=probes.argument(1, "axis"),
        differing=_differing_axis,
        looked=lambda facts: ", ".join(f"{text}.shape" for text in facts["joined"]),
        why=_why,
        fixes=_JOIN_FIXES,
        otherwise=[Code("Look at the shapes first.", "{looked}")],
        **_JOINED,
    )
entry(
    "joined_shapes",
    *_JOIN_PHRASES,
    when=[_OWN_CODE, probes.calls("stack")],
    why="`stack` puts arrays side by side along a new axis, so all have the same shape.",
    fixes=[
        "Bring all to one shape first: fill up the short ones with `{jnp}.pad`, and keep the lengths.",
        "Or join them along an axis that is there: `concatenate`.",
    ],
    **_JOINED,
)


def _are_rows_of_one_matrix(facts: Facts) -> bool:
    full = max(facts["joined"].values(), key=len)
    rows = all(len(shape) == 2 or shape == full[1:] for shape in facts["joined"].values())
    return len(full) == 2 and facts["rest_of_list"] == "" and rows


entry(
    "joined_shapes",
    *_JOIN_PHRASES,
    when=[_OWN_CODE, probes.calls("concatenate"), _differ_in_rank],
    rest_of_list=probes.others("list"),
    why=_AGREE,
    fixes=[
        Swap(
            "Make a row of every part that has one axis.",
            when=_are_rows_of_one_matrix,
            call="{f}([{jnp}.atleast_2d(part) for part in {list}])",
        )
    ],
    otherwise=["Give every part the same number of axes: `part[None]` adds one in front."],
    **_JOINED,
)


def _lengths(facts: Facts) -> list[int] | None:
    """Find the lengths of rows that differ."""
    value = facts.value("x")
    rows = [len(row) for row in value if isinstance(row, list | tuple)] if isinstance(value, list | tuple) else []
    return rows if len(set(rows)) > 1 and len(rows) == len(value) else None


entry(
    "ragged_list",
    texts.RAGGED,
    *_JOIN_PHRASES,
    x=probes.argument(0),
    when=probes.calls("array", "asarray"),
    lengths=_lengths,
    said=lambda facts: ", ".join(map(str, facts["lengths"])),
    longest=lambda facts: max(facts["lengths"]),
    title="Rows of different lengths",
    what=("`{x}` has rows of {said} entries.", ""),
    why="An array is a full block: every row has the same length.",
    fixes=[
        Swap(
            "Fill up the short rows, and keep the lengths beside.",
            x="[[*row, *[0] * ({longest} - len(row))] for row in {x}]",
        ),
        Swap("Keep a list of arrays: most of JAX takes lists as pytrees.", call="[{jnp}.array(row) for row in {x}]"),
    ],
    link=f"{texts.API}/jax.numpy.array.html",
)
