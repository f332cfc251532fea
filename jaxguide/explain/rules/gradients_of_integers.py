"""Explain derivatives with respect to integers: numbers, leaves of trees, indices and random keys."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import TRANSFORMS, argnums, parameters

# Functions whose integer arguments are sizes, positions or classes.
_COUNTED = frozenset(
    (
        *("range", "one_hot", "arange", "take", "zeros", "ones", "take_along_axis", "dynamic_slice", "fold_in", "eye"),
        *("dynamic_slice_in_dim", "roll", "segment_sum", "fori_loop", "softmax_cross_entropy_with_integer_labels"),
    )
)
_CONTAINERS = (ast.Dict, ast.List, ast.Tuple)


# What is differentiated with respect to.


def _is_integer(leaf: Any) -> bool:
    if is_array(leaf):
        return bool(jax.dtypes.issubdtype(leaf.dtype, np.integer) or leaf.dtype == bool)
    return isinstance(leaf, int)


def _integers(facts: Facts) -> Part | None:
    """Look at the argument that holds integers, or at the only one that may: its value is not known."""
    given = [facts.at(one) for one in facts.call().args]
    is_made = facts.knows("made")
    numbers = argnums(facts.node("made")) if is_made else range(len(given))
    parts = [given[number] for number in numbers if number < len(given)]
    unknown = [one for one in parts if one.value_or_missing is MISSING]
    whole = [one for one in parts if one not in unknown and any(map(_is_integer, jax.tree.leaves(one.value)))]
    if not is_made:
        return whole[0] if len(whole) == 1 and not unknown else None
    return whole[0] if whole else unknown[0] if len(unknown) == 1 else None


def _leaf(facts: Facts) -> Part:
    """Look at the first integer in the containers that a name holds, or at the argument itself."""
    x = facts["argument"]
    leaves = jax.tree_util.tree_leaves_with_path({} if isinstance(x.node, _CONTAINERS) else x.value_or_missing)
    path, leaf = next(((jax.tree_util.keystr(path), leaf) for path, leaf in leaves if _is_integer(leaf)), ("", None))
    return Part(x.node, x.source, facts.scene, x.spot, path, leaf) if path else x


def _is_key(facts: Facts) -> bool:
    """Ask whether the argument is a random key, also one of the old style, which is an array of integers."""
    x, value = facts["argument"], facts.value("argument")
    made = isinstance(x.node, ast.Call) and facts.scene.spot.value(x.node.func) is jax.random.PRNGKey
    is_raw = is_array(value) and value.dtype == np.uint32 and value.shape == (2,)
    return "key" in facts.found.groups() or made or is_raw


def _is_index(facts: Facts) -> bool:
    """Ask whether the function uses the argument as an index or a size, which must stay an integer."""
    own = parameters(facts.node("body")) if facts.knows("body") else []
    name = own[facts["number"]].arg if facts["number"] < len(own) else ""
    nodes = list(ast.walk(facts.node("body"))) if name else []
    indexed = [one.slice for one in nodes if isinstance(one, ast.Subscript)]
    return any(name in names_in(one) for one in (*indexed, *(one for one in nodes if called(one) in _COUNTED)))


def _is_one_array(facts: Facts) -> bool:
    """Ask whether the argument is a number or array: by its value, or as a function of `jax.numpy` gives it."""
    return not facts["x"].path and (_is_integer(facts.value("x")) or str(facts["x"]).startswith(f"{facts['jnp']}."))


def _has_argnums(facts: Facts) -> bool:
    return argument_of(facts.node("made"), 1, "argnums") is not None


_INTEGERS: dict[str, Any] = {
    "made": probes.made_by(*TRANSFORMS),
    "argument": _integers,
    "number": lambda facts: facts.call().args.index(facts.node("argument")),
    "another": lambda facts: int(facts["number"] == 0) if len(facts.call().args) > 1 else None,
    "of": probes.argument(0, "fun", of="made"),
    "body": probes.definition(probes.argument(0, "fun", of="made")),
    "known": lambda facts: facts["x"].is_here if is_array(facts.value("x")) else None,
    "int": lambda facts: "an int" if isinstance(facts.value("x"), int) else None,
    "link": f"{texts.API}/jax.grad.html",
}
_JUMPS: dict[str, Any] = {
    **_INTEGERS,
    "title": "A derivative with respect to integers",
    "why": "A derivative asks what a small change does, and an integer cannot change by a little.",
}
_BY_ANOTHER = Swap(
    "Differentiate with respect to another argument.",
    when=probes.unless(_has_argnums),
    of="{of}, argnums={another}",
)
entry(
    "gradient_of_a_key",
    texts.GRAD_INTEGER,
    texts.JACOBIAN_INTEGER,
    x=_integers,
    when=[_is_key, probes.knows("another")],
    title="A derivative with respect to a key",
    what="`{x}` is a key here.",
    why="A derivative asks what a small change does, and a key cannot change by a little.",
    fixes=[_BY_ANOTHER, Words("Differentiate with respect to another argument.", when=_has_argnums)],
    **_INTEGERS,
)
entry(
    "gradient_of_integers",
    texts.GRAD_INTEGER,
    texts.JACOBIAN_INTEGER,
    x=_integers,
    when=[probes.unless(_is_key), _is_index, probes.knows("another")],
    what=("{known}", "`{x}` holds integers."),
    fixes="Arguments are counted from 0, and `{x}` is number {number}: give `argnums` the number of another one.",
    **_JUMPS,
)
entry(
    "gradient_of_integers",
    texts.GRAD_INTEGER,
    texts.JACOBIAN_INTEGER,
    x=_leaf,
    when=[probes.unless(_is_key), probes.unless(_is_index), probes.unless(probes.is_valued("x", bool))],
    what=("{known}", "`{x}` is {int} here.", "`{x}` holds integers."),
    fixes=[
        Either(
            Swap("Give floats.", when=probes.is_written("x", ast.Constant), x="{x}.0"),
            Swap("Give floats.", when=_is_one_array, x="{jnp}.asarray({x}, float)"),
            Swap("Give floats.", argument="{jax}.tree.map(lambda leaf: {jnp}.asarray(leaf, float), {argument})"),
        ),
        Either(
            Words(
                "Or take `{x}` out, and pass it as an argument of its own, which is not differentiated.",
                when=lambda facts: bool(facts["x"].path),
            ),
            _BY_ANOTHER,
        ),
    ],
    **_JUMPS,
)
