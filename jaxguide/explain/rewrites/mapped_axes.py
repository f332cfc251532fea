"""Find the `jax.vmap` behind a call, read which axes it maps over, and change its `in_axes`."""

import ast
from typing import Any

import jax
import numpy as np

from jaxguide.code.user_frame import MISSING, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import makers

VMAP_LINK = f"{error_texts.API}/jax.vmap.html"


def vmap_call(scene: Scene) -> tuple[ast.Call, ast.Call] | None:
    """Return the call that failed and the `jax.vmap(f, ...)` behind it, written in the call or assigned to a name."""
    outer = scene.call()
    if outer is None:
        return None
    if isinstance(outer.func, ast.Call) and called(outer.func) == "vmap":
        return outer, outer.func
    if not isinstance(outer.func, ast.Name):
        return None
    made = next((made for made in makers(scene, outer) if called(made) == "vmap"), None)
    return (outer, made) if made is not None else None


def axes_fix(scene: Scene, made: ast.Call, sentence: str, axes: str) -> Fix | None:
    """Return the fix that changes the `in_axes` of `jax.vmap`."""
    given = axes_given(made)
    if given is not None:
        return scene.fix(sentence, scene.source.replace(given, axes))
    if not made.args:
        return None
    return scene.fix(sentence, scene.source.insert_after(made.args[0], f", in_axes={axes}"))


def axes_written(made: ast.Call, count: int) -> list[str]:
    """Return the entries of `in_axes` for `count` arguments, as text."""
    given = axes_given(made)
    if isinstance(given, ast.Tuple | ast.List):
        axes = [ast.unparse(element) for element in given.elts]
        return [*axes, *["0"] * count][:count]
    return [ast.unparse(given) if given is not None else "0"] * count


def axes_as_tuple(axes: list[str]) -> str:
    """Return axes as text for `in_axes`: a single one, or several in parentheses."""
    return axes[0] if len(axes) == 1 else f"({', '.join(axes)})"


def axes_given(made: ast.Call) -> ast.expr | None:
    """Return the expression for `in_axes` in a call of `jax.vmap`, by keyword or by position."""
    return next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)


def leading_sizes(value: Any) -> set[int]:
    """Return the sizes of the first axes of a tree's leaves."""
    if value is MISSING or is_array(value) or callable(value):
        return set()
    return {np.shape(leaf)[0] for leaf in jax.tree.leaves(value) if np.shape(leaf)}


def is_container(value: Any) -> bool:
    """Return whether a value is a dict, list or tuple, and not a list or tuple of numbers."""
    return isinstance(value, dict | list | tuple) and not is_of_numbers(
        list(value) if not isinstance(value, dict) else []
    )


def is_of_numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether a list or tuple has entries, and all are numbers."""
    return bool(value) and all(isinstance(entry, int | float | complex) for entry in value)


def keywords_are_mapped() -> str:
    """Say what `jax.vmap` does with arguments given by keyword."""
    return "What is given by keyword is mapped along axis 0, and `in_axes` says nothing about it."
