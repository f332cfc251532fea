"""Explain a `jax.Ref` where JAX allows none: returned, differentiated, passed twice, or written by each row."""

import ast
import re

import jax

from jaxguide.code.edits import Edit
from jaxguide.code.source import source_of
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene

_PAGE = "https://docs.jax.dev/en/latest/array_refs.html"


@explains(error_texts.REF_RETURNED)
def returned_reference(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a Ref that a traced function returns."""
    function, file, line, path = found.groups()
    source = source_of(file)
    node = source.function_at(function.split(".")[-1], int(line)) if source is not None else None
    if source is None or node is None:
        return None
    ends = [node] if isinstance(node, ast.Lambda) else [n for n in ast.walk(node) if isinstance(n, ast.Return)]
    value = (ends[0].body if isinstance(ends[0], ast.Lambda) else ends[0].value) if len(ends) == 1 else None
    if path is not None:
        number = re.fullmatch(r"\[(\d+)\]", path)
        parts = value.elts if number is not None and isinstance(value, ast.Tuple) else []
        value = parts[int(number[1])] if number is not None and len(parts) > int(number[1]) else None
    text = source.quote(value) if value is not None else None
    instead = source.replace(value, f"{source.atom(value)}[...]") if value is not None else None
    name = f"`{function}`" if not isinstance(node, ast.Lambda) else "the lambda"
    return scene.explanation(
        "returned_reference",
        title="A `jax.Ref` is returned",
        what=f"`{text}` is a `jax.Ref` that {name} returns." if text else "",
        variable=text,
        why="A Ref is a place in memory that a program may change; only arrays can leave a traced function.",
        fixes=[
            scene.fix("Return what is in it, an array.", instead, code="" if instead else "return ref[...]"),
            scene.advice("If the caller has the Ref, return nothing: the caller sees what was written to it."),
        ],
        link=_PAGE,
    )


@explains(error_texts.REF_DIFFERENTIATED)
def differentiated_reference(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a derivative with respect to a Ref."""
    ref, edit = _reference_argument(scene, last=False)
    if ref is None:
        return None
    return scene.explanation(
        "differentiated_reference",
        title="A derivative with respect to a `jax.Ref`",
        what=f"`{ref}` is a `jax.Ref` here, or contains one.",
        variable=ref,
        why="`jax.grad` returns derivatives as arrays, and takes them with respect to arrays.",
        fixes=[
            scene.fix("Differentiate with respect to what is in it, if the function only reads it.", edit),
            scene.advice("Pass an array, and make the Ref inside the function, with `jax.new_ref`."),
        ],
        link=_PAGE,
    )


@explains(error_texts.REF_TWICE, error_texts.REF_CLOSED_OVER)
def aliased_reference(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a Ref that a function gets twice: as two arguments, or as an argument and from an enclosing scope."""
    ref, edit = _reference_argument(scene, last=True)
    if ref is None:
        return None
    return scene.explanation(
        "aliased_reference",
        title="One `jax.Ref` under two names",
        what=f"The Ref in `{ref}` reaches the function twice.",
        variable=ref,
        why="JAX orders reads and writes by Ref, so a Ref must have one name in a traced function.",
        fixes=[
            scene.fix("Pass what is in it, if this argument is only read.", edit),
            scene.advice("Pass it once, or only use it from the enclosing scope."),
        ],
        link=_PAGE,
    )


@explains(error_texts.REF_WRITE)
def write_to_shared_reference(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a write of a row's value under `jax.vmap`, or of a differentiated value, to a Ref from outside."""
    part = scene.spot.first(scene.source.statement(scene.node), lambda value: isinstance(value, jax.Ref))
    text = None if part is None else scene.quote(part[0])
    if found[1] == "vmapped":
        return scene.explanation(
            "reference_shared_by_rows",
            title="Each row of a `jax.vmap` writes to the same `jax.Ref`",
            what=f"`{text}` is one `jax.Ref` for all rows." if text else "",
            variable=text,
            why="Under `jax.vmap` all rows run at once, so it is not defined which one would be written.",
            fixes=[
                scene.advice("Return the value, and write all rows at once to the Ref outside of `jax.vmap`."),
                scene.advice(
                    "Give each row its part: make a Ref with an axis for the rows, and pass it as a mapped argument."
                ),
            ],
            link=_PAGE,
        )
    statement = scene.source.statement(scene.node)
    constant = None
    if isinstance(statement, ast.Assign | ast.AugAssign):
        constant = scene.source.replace(statement.value, f"{scene.lax}.stop_gradient({scene.quote(statement.value)})")
    return scene.explanation(
        "write_of_differentiated_value",
        title="A differentiated value is written to a `jax.Ref` from outside",
        what=f"`{text}` was made outside of the differentiated function." if text else "",
        variable=text,
        why="The derivative would have to follow the value out of the function, through the Ref.",
        fixes=[
            scene.fix("Write it as a constant, to look at it.", constant),
            scene.advice("Make the Ref inside the function, with `jax.new_ref`, or return the value instead."),
        ],
        link=_PAGE,
    )


def _reference_argument(scene: Scene, last: bool) -> tuple[str | None, Edit | None]:
    """Return the first or last argument of the running call that is a Ref, and the edit that passes its content."""
    for spot in reversed(scene.spots):
        call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
        given = [] if call is None else [*call.args, *(keyword.value for keyword in call.keywords)]
        given = [one.value if isinstance(one, ast.Starred) else one for one in given]
        refs = [one for one in given if any(isinstance(leaf, jax.Ref) for leaf in jax.tree.leaves(spot.value(one)))]
        if refs and spot.source is not None:
            node = refs[-1 if last else 0]
            is_alone = isinstance(spot.value(node), jax.Ref)  # and not in a container
            return spot.quote(node), spot.source.replace(node, f"{spot.source.atom(node)}[...]") if is_alone else None
    return None, None
