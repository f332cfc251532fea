"""Explain a traced value as the key of a dict or an element of a set."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.user_frame import MISSING, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


@explains(error_texts.UNHASHABLE_TRACER)
def looked_up(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `table[i]` with a dict, and a traced value as the key of one."""
    node = scene.node
    where = node.slice if isinstance(node, ast.Subscript) else node
    traced = scene.tracer(where)
    if traced is None:
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    table = scene.spot.value(node.value) if isinstance(node, ast.Subscript) else MISSING
    by_number = None
    read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    if read and isinstance(table, dict) and table and list(table) == list(range(len(table))):
        name = scene.quote(node.value)  # type: ignore[attr-defined]
        by_number = scene.fix(
            _("Make an array of its values: an array can be indexed by a traced number."),
            scene.source.replace(node, f"{scene.jnp}.array(list({name}.values()))[{scene.quote(where)}]"),
        )
    fixes = [by_number, static_fix(scene, *(value for _part, value in scene.spot.parts(where) if is_tracer(value)))]
    if not any(fixes):
        words = _(
            "Keep an array of keys and one of values, and compare: `{jnp}.where(keys == {name}, values, 0).sum()`."
        )
        fixes = [scene.advice(words.format(jnp=scene.jnp, name=variable))]
    return scene.explanation(
        "dict_key_of_tracer",
        title=_("A dict needs a key that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("A dict is looked up now by the key's value, while JAX records the program, and the value comes later."),
        fixes=fixes,
        link=error_texts.STATIC_LINK,
    )
