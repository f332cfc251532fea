"""Find the `jax.vmap` behind a call, and word other axes for it."""

import ast

from jaxguide.explain.explanation import Fix
from jaxguide.explain.scene import Scene, called


def mapped_call(scene: Scene) -> tuple[ast.Call, ast.Call] | None:
    """Return the call that failed and the `jax.vmap(f, ...)` behind it, written on the spot or kept under a name."""
    outer = scene.call()
    if outer is None:
        return None
    if isinstance(outer.func, ast.Call) and called(outer.func) == "vmap":
        return outer, outer.func
    if isinstance(outer.func, ast.Name):
        for node in ast.walk(scene.source.tree):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            if node.targets[0].id == outer.func.id and isinstance(node.value, ast.Call):
                made: ast.AST = node.value
                while isinstance(made, ast.Call):
                    if called(made) == "vmap":
                        return outer, made
                    made = made.args[0] if made.args else ast.Constant(None)
    return None


def axes_fix(scene: Scene, made: ast.Call, sentence: str, axes: str) -> Fix | None:
    """Return the fix that gives `jax.vmap` other `in_axes`."""
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if given is not None:
        return scene.fix(sentence, scene.source.replace(given, axes))
    if not made.args:
        return None
    return scene.fix(sentence, scene.source.insert_after(made.args[0], f", in_axes={axes}"))


def axes_of(made: ast.Call, count: int) -> list[str]:
    """Return the axes in force for `count` arguments, as text."""
    given = next((k.value for k in made.keywords if k.arg == "in_axes"), made.args[1] if len(made.args) > 1 else None)
    if isinstance(given, ast.Tuple | ast.List):
        axes = [ast.unparse(element) for element in given.elts]
        return [*axes, *["0"] * count][:count]
    return [ast.unparse(given) if given is not None else "0"] * count


def as_tuple(axes: list[str]) -> str:
    """Return axes as `in_axes` takes them: one alone, or several in parentheses."""
    return axes[0] if len(axes) == 1 else f"({', '.join(axes)})"
