"""Find the `jax.shard_map`, `jax.pmap` or `jax.vmap` behind a call, as the student wrote it, and its mesh."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax

from jaxguide.code.source import FunctionNode, Source, dotted
from jaxguide.code.user_frame import MISSING, UserFrame
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import function_behind

_STEPS_AT_MOST = 8


@dataclass(frozen=True)
class Mapped:
    """A call of a mapped function: the call, and the transformation that made the function.

    Args:
        spot: the frame that makes the call.
        call: the call of the mapped function; None if the frame is not at a call.
        made: the call of `jax.shard_map` or another, or of `functools.partial` with it.
        function: the function that is mapped; None if it is not known.
    """

    spot: UserFrame
    call: ast.Call | None
    made: ast.Call
    function: tuple[Source, FunctionNode] | None

    @property
    def source(self) -> Source:
        """The source of both calls."""
        assert self.spot.source is not None
        return self.spot.source

    def option(self, name: str) -> ast.expr | None:
        """Return what is given for a keyword of the transformation."""
        return next((k.value for k in self.made.keywords if k.arg == name), None)

    def specs(self, side: str) -> ast.expr | None:
        """Return `in_specs` or `out_specs` as written where the function is mapped, also behind a name."""
        return as_written(self.source, self.made, self.option(f"{side}_specs"))

    @property
    def mesh(self) -> Any:
        """The mesh; MISSING if its value is not known here."""
        given = self.option("mesh")
        value = self.spot.value(given) if given is not None else MISSING
        return value if isinstance(value, jax.sharding.Mesh | jax.sharding.AbstractMesh) else MISSING


def mapped(spot: UserFrame, *kinds: str) -> Mapped | None:
    """Return the call of a mapped function that a frame is making, or None.

    Args:
        spot: the frame.
        kinds: the transformations to look for, such as "shard_map".
    """
    call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
    while call is not None and spot.source is not None:
        found = _behind(spot.source, call.func, kinds)
        if found is not None:
            made, node = found
            function = (spot.source, node) if isinstance(node, ast.FunctionDef) else function_behind(spot, node)
            return Mapped(spot, call, made, function)
        call = spot.source.around(spot.source.parents.get(call), ast.Call)
    return None


def mapped_outside(scene: Scene, *kinds: str) -> Iterator[Mapped]:
    """Yield the calls of mapped functions that led to the innermost frame, innermost first."""
    for spot in reversed(scene.spots[:-1]):
        found = mapped(spot, *kinds)
        if found is not None:
            yield found


def as_written(source: Source, at: ast.AST, node: ast.expr | None) -> ast.expr | None:
    """Return the expression behind a name that is assigned once in its function or file, or the node itself."""
    if not isinstance(node, ast.Name):
        return node
    found = _assigned(source, node.id)
    return found[0] if len(found) == 1 else None


def _behind(
    source: Source, node: ast.AST | None, kinds: tuple[str, ...]
) -> tuple[ast.Call, ast.expr | ast.FunctionDef | None] | None:
    """Return the call that maps the function which an expression gives, and the function."""
    for _ in range(_STEPS_AT_MOST):
        if isinstance(node, ast.Call):
            if called(node) in kinds:
                return node, argument_of(node, 0, "f")
            if called(node) == "partial" and node.args and _last(node.args[0]) in kinds:
                return node, None
            if isinstance(node.func, ast.Call) and (called(node.func) in kinds or _is_partial(node.func, kinds)):
                return node.func, node.args[0] if node.args else None  # `jax.shard_map(mesh=...)(f)`
            node = node.args[0] if node.args else None  # `jax.jit(...)` and the like
            continue
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        name = dotted(node)
        definitions = list(source.functions(_last(node)))
        assigned = _assigned(source, name)
        if len(definitions) + len(assigned) != 1:
            return None
        if assigned:
            node = assigned[0]
            continue
        for decorator in definitions[0].decorator_list:
            if isinstance(decorator, ast.Call) and (called(decorator) in kinds or _is_partial(decorator, kinds)):
                return decorator, definitions[0]
        return None
    return None


def _assigned(source: Source, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted(node.targets[0]) == name
    ]


def _is_partial(node: ast.Call, kinds: tuple[str, ...]) -> bool:
    return called(node) == "partial" and bool(node.args) and _last(node.args[0]) in kinds


def _last(node: ast.AST) -> str:
    return dotted(node).split(".")[-1]


def spec_name(scene: Scene) -> str:
    """Return the student's name for `jax.sharding.PartitionSpec`."""
    frame = scene.spot.frame
    for names in (frame.f_locals, frame.f_globals):
        for name, value in names.items():
            if value is jax.sharding.PartitionSpec and not name.startswith("_"):
                return name
    return f"{scene.jax}.sharding.PartitionSpec"
