"""Find the `jax.shard_map`, `jax.pmap` or `jax.vmap` behind a call, as the student wrote it, and what it is given."""

import ast

import jax

from jaxguide.code.source import dotted
from jaxguide.code.user_frame import UserFrame
from jaxguide.explain.known_facts import Facts, Part, Probe
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind, makers


def mapping(*kinds: str) -> Probe:
    """Look at the call of `jax.shard_map` or the like, or of `functools.partial` with it, that made what is called."""
    return lambda facts: _made(facts, facts.scene.spot, kinds)


def mapping_outside(*kinds: str) -> Probe:
    """Look at the only call of `jax.shard_map` or the like that made a function which is running around this one."""

    def found(facts: Facts) -> Part | None:
        made = [one for spot in facts.scene.spots[:-1] if (one := _made(facts, spot, kinds)) is not None]
        return made[0] if len(made) == 1 else None

    return found


def mapped_function(facts: Facts) -> Part | None:
    """Look at the definition of the function that the call `made` maps."""
    made = facts.part("made")
    outer = made.source.parents.get(made.node)
    if isinstance(outer, ast.FunctionDef):  # a decorator
        return made.inside(outer)
    place = function_behind(facts.scene.spot, argument_of(facts.node("made"), 0, "f"))
    return Part(place[1], place[0], facts.scene) if place is not None else None


def spec_name(facts: Facts) -> str:
    """Say the student's name for `jax.sharding.PartitionSpec`."""
    known = {**facts.scene.spot.frame.f_globals, **facts.scene.spot.frame.f_locals}
    names = [name for name, value in known.items() if value is jax.sharding.PartitionSpec and name[0] != "_"]
    return names[0] if names else f"{facts['jax']}.sharding.PartitionSpec"


def _made(facts: Facts, spot: UserFrame, kinds: tuple[str, ...]) -> Part | None:
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    if call is None:
        return None
    source, function = function_behind(spot, call.func) or (None, None)
    decorators = getattr(function, "decorator_list", []) if source is spot.source else []
    for one in [*makers(facts.scene.at(spot), call), *(one for one in decorators if isinstance(one, ast.Call))]:
        maker = one.args[0] if called(one) == "partial" and one.args else one.func
        if dotted(maker).split(".")[-1] in kinds:
            return facts.at(one, spot)
    return None
