"""Find the `jax.shard_map`, `jax.pmap` or `jax.vmap` behind a call, as the student wrote it, and what it is given."""

import ast

import jax

from jaxguide.code.source import Source, dotted
from jaxguide.code.user_frame import UserFrame
from jaxguide.explain.known_facts import Facts, Part, Probe
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind

_STEPS_AT_MOST = 8


def mapping(*kinds: str) -> Probe:
    """Look at the call of `jax.shard_map` or the like, or of `functools.partial` with it, that made what is called."""
    return lambda facts: _made(facts, facts.scene.spot, kinds)


def mapping_outside(*kinds: str) -> Probe:
    """Look at the only call of `jax.shard_map` or the like that made a function which is running around this one."""

    def found(facts: Facts) -> Part | None:
        made = [_made(facts, spot, kinds) for spot in facts.scene.spots[:-1]]
        known = [one for one in made if one is not None]
        return known[0] if len(known) == 1 else None

    return found


def mapped_function(facts: Facts) -> Part | None:
    """Look at the definition of the function that is mapped."""
    made = facts.part("made")
    outer = made.source.parents.get(made.node)
    if isinstance(outer, ast.FunctionDef):  # a decorator
        return made.inside(outer)
    given = argument_of(made.node, 0, "f")  # type: ignore[arg-type]
    if given is None and isinstance(outer, ast.Call) and outer.func is made.node:  # `jax.shard_map(mesh=mesh)(f)`
        given = argument_of(outer, 0, "f")
    place = function_behind(made.spot, given) if made.spot is not None else None
    return Part(place[1], place[0], facts.scene) if place is not None else None


def spec_name(facts: Facts) -> str:
    """Say the student's name for `jax.sharding.PartitionSpec`."""
    frame = facts.scene.spot.frame
    names = (name for home in (frame.f_locals, frame.f_globals) for name, value in home.items() if _is_spec(value))
    return next((name for name in names if not name.startswith("_")), f"{facts['jax']}.sharding.PartitionSpec")


def axis_code(names: list[str]) -> str:
    """Return names of axes as code: `"x"`, or `("x", "y")`."""
    texts = [f'"{name}"' for name in names]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def as_written(source: Source, at: ast.AST, node: ast.expr | None) -> ast.expr | None:
    """Return the expression behind a name that is assigned once in its function or file, or the node itself."""
    if not isinstance(node, ast.Name):
        return node
    found = _assigned(source, node.id)
    return found[0] if len(found) == 1 else None


def _made(facts: Facts, spot: UserFrame, kinds: tuple[str, ...]) -> Part | None:
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    made = _behind(spot.source, call.func, kinds) if call is not None and spot.source is not None else None
    return facts.at(made, spot) if made is not None else None


def _behind(source: Source, node: ast.AST | None, kinds: tuple[str, ...]) -> ast.Call | None:
    """Return the call that maps the function which an expression gives, also behind names and as a decorator."""
    for _ in range(_STEPS_AT_MOST):
        if isinstance(node, ast.Call):
            if called(node) in kinds or (called(node) == "partial" and _last(node.args[:1]) in kinds):
                return node
            # `jax.shard_map(mesh=mesh)(f)`, or `jax.jit(f)` and the like
            inner = node.func if isinstance(node.func, ast.Call) else next(iter(node.args), None)
        elif isinstance(node, ast.Name | ast.Attribute):
            decorators = [one for function in source.functions(_last([node])) for one in function.decorator_list]
            made = [one for one in decorators if isinstance(one, ast.Call) and _behind(source, one, kinds)]
            behind = [*made, *_assigned(source, dotted(node))]
            inner = behind[0] if len(behind) == 1 else None
        else:
            return None
        node = inner
    return None


def _assigned(source: Source, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted(node.targets[0]) == name
    ]


def _last(nodes: list[ast.expr]) -> str:
    return dotted(nodes[0]).split(".")[-1] if nodes else ""


def _is_spec(value: object) -> bool:
    return value is jax.sharding.PartitionSpec
