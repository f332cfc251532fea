"""Explain names of axes that nothing binds, in `lax.psum` and the like."""

import ast
import re

from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts, sharding_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.mapped import Mapped, mapped_outside
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called

_KINDS = ("vmap", "pmap", "shard_map")
# Functions of `jax.lax` -> the place of the axis' name.
_COLLECTIVES = {
    **dict.fromkeys(
        ("psum", "pmean", "pmax", "pmin", "all_gather", "ppermute", "pshuffle", "pswapaxes", "all_to_all"), 1
    ),
    "psum_scatter": 1,
    "axis_index": 0,
    "axis_size": 0,
}


@explains(sharding_texts.UNBOUND_AXIS)
def axis_name(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.pmean(x, "batch")` if nothing around it gives an axis that name."""
    return _unbound(scene, found[1])


@explains(sharding_texts.BARE_ASSERTION)
def axis_name_in_shard_map(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.psum(x, "batch")` under a `jax.shard_map` whose mesh has no such axis: a bare AssertionError."""
    if isinstance(scene.spot.statement, ast.Assert):
        return None
    call = scene.node if isinstance(scene.node, ast.Call) else None
    place = _axis_argument(call)
    name = scene.spot.value(place) if place is not None else MISSING
    around = next(mapped_outside(scene, *_KINDS), None)
    if around is None or not isinstance(name, str) or not (names := _names(around)) or name in names:
        return None
    return _unbound(scene, name)


def _unbound(scene: Scene, name: str) -> Explanation | None:
    call = scene.call()
    place = _axis_argument(call)
    own = place is not None and scene.spot.value(place) == name  # or a library's, such as a batch norm's
    around = list(mapped_outside(scene, *_KINDS))
    mapping = around[0] if len(around) == 1 else None
    names = _names(mapping) if mapping is not None else None
    function = scene.quote(call.func) if call is not None else "lax.psum"
    fixes: list[Fix | None] = []
    kind = called(mapping.made) if mapping is not None else ""
    if kind == "partial" and mapping is not None:
        kind = ast.unparse(mapping.made.args[0]).split(".")[-1]
    if mapping is not None and names:
        why = "`{transformation}` maps over {names} here, and the name must be the same on both sides.".format(
            transformation=f"jax.{kind}", names=" and ".join(f"`{one}`" for one in names)
        )
        if isinstance(place, ast.Constant) and own and len(names) == 1:
            sentence = "Write the name that the axis has."
            fixes.append(scene.fix(sentence, scene.source.replace(place, f'"{names[0]}"')))
        given = mapping.option("axis_name")
        if isinstance(given, ast.Constant) and kind != "shard_map":
            sentence = "Give the axis that name, where it is mapped."
            fixes.append(scene.fix(sentence, mapping.source.replace(given, f'"{name}"')))
        if not any(fixes):
            fixes.append(scene.advice("Write one of the names that the axes have."))
    elif mapping is not None and kind in ("vmap", "pmap") and mapping.option("axis_name") is None and mapping.made.args:
        why = "An axis gets its name where it is mapped, and `{transformation}` gives none here.".format(
            transformation=f"jax.{kind}"
        )
        last = mapping.made.keywords[-1].value if mapping.made.keywords else mapping.made.args[-1]
        sentence = "Name the axis where it is mapped."
        fixes.append(scene.fix(sentence, mapping.source.insert_after(last, f', axis_name="{name}"')))
    else:
        why = (
            "An axis gets its name from the `jax.shard_map`, `jax.vmap` or `jax.pmap` around, and none gives this one."
        )
        fixes.append(
            scene.advice(
                f"Call it in a function that `jax.shard_map` runs on a mesh with an axis `{name}`, or "
                "that `jax.vmap` "
                f'maps with `axis_name="{name}"`.'
            )
        )
    return scene.explanation(
        "axis_name",
        title=f"No axis has the name `{name}`",
        what=f"`{function}` works across the axis that is called `{name}`.",
        variable=name,
        why=why,
        fixes=fixes,
        link=sharding_texts.GUIDE if kind == "shard_map" else f"{error_texts.API}/jax.lax.psum.html",
    )


def _axis_argument(call: ast.Call | None) -> ast.expr | None:
    """Return what a call of `lax.psum` or the like gives as the axis' name."""
    if call is None or called(call) not in _COLLECTIVES:
        return None
    return argument_of(call, _COLLECTIVES[called(call)], "axis_name")


def _names(mapping: Mapped) -> list[str] | None:
    """Return the names of the axes that a mapping gives; None if they are not known."""
    mesh = mapping.mesh
    if mesh is not MISSING:
        return [str(name) for name in mesh.axis_names]
    given = mapping.option("axis_name")
    value = mapping.spot.value(given) if given is not None else MISSING
    return [value] if isinstance(value, str) else None
