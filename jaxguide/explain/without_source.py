"""Explain errors whose source cannot be read: in Python's own shell, under `%%time`, in `exec`."""

import re

from jaxguide.code.user_frame import is_array, is_tracer
from jaxguide.compat import error_texts as texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.scene import Scene, is_traced_integer

# Phrases -> kind, title, why, what to do, and its code.
_KNOWN: dict[tuple[texts.Phrase, ...], tuple[str, str, str, str, str]] = {
    (texts.BOOL,): (
        "truth_of_tracer",
        "Python needs a known truth value, but it is traced",
        "`if`, `while`, `and` and `assert` decide now, while JAX records the program, and the value comes later.",
        "Choose with `jnp.where`, or with `lax.cond`; loop with `lax.while_loop`.",
        "jnp.where({x} > 0, value_if_true, value_if_false)",
    ),
    (texts.SHAPE,): (
        "shape_of_tracer",
        "JAX needs a known size, but it is traced",
        "JAX must know every shape while it records the program, and the value comes later.",
        "Make it static: JAX then compiles once for each value of it.",
        'jax.jit(f, static_argnames="{x}")',
    ),
    (texts.INTEGER, texts.TO_NUMPY, texts.CONCRETE): (
        "number_of_tracer",
        "Python or NumPy needs a known number, but it is traced",
        "`float`, `int`, `range`, a list's index and NumPy work now, while JAX records, and the value comes later.",
        "Use JAX's own functions on it; or make it static, if it is a size, a count or an option.",
        'jax.jit(f, static_argnames="{x}")',
    ),
    (texts.BOOLEAN_MASK,): (
        "boolean_mask",
        "A mask picks an unknown number of values",
        "How long the result is depends on how many are True, and JAX must know every shape while it records.",
        "Keep the shape, and let what is masked out count for nothing.",
        "jnp.where(mask, {x}, 0)",
    ),
    (texts.DYNAMIC_SLICE,): (
        "dynamic_slice",
        "A slice needs known bounds, but one is traced",
        "How long the slice is depends on a value, and JAX must know every shape while it records.",
        "Take a window of fixed length, or mask: `jnp.where(jnp.arange(size) < n, values, 0)`.",
        "lax.dynamic_slice_in_dim(values, start, length)",
    ),
    (texts.LEAK,): (
        "leaked_tracer",
        "A traced value was used after its function had ended",
        "While JAX records a function, its values stand for values to come; only what is returned comes out.",
        "Return the value from the function and keep it outside.",
        "result, value = f(...)",
    ),
    (texts.SET_ITEM,): (
        "item_assignment",
        "An array cannot be changed in place",
        "JAX arrays never change: the same array may already be part of a recorded program, or shared.",
        "Make a new array with the change in it; `.add`, `.multiply` and others stand for `+=`, `*=`.",
        "{x} = {x}.at[index].set(value)",
    ),
}


def explain_without_source(scene: Scene) -> Explanation | None:
    """Return an explanation based on the error and the values in the frame, as the student's expression is unknown."""
    said = next((said for phrases, said in _KNOWN.items() if any(one.match(scene.error) for one in phrases)), None)
    if said is None:
        return None
    kind, title, why, sentence, code = said
    names, behind = scene.spot.frame.f_locals, texts.DEPENDS_ON.search(scene.message)
    holds = {"item_assignment": is_array, "dynamic_slice": is_traced_integer}.get(kind, is_tracer)
    held = [name for name, value in names.items() if holds(value) and re.fullmatch(r"[a-zA-Z]\w*", name)]
    named = behind[1] if behind is not None and behind[1] in held else None
    variable = named or (held[0] if len(held) == 1 else None)
    what = scene.what(variable, names[variable]) if variable is not None else ""
    fix, link = Fix(sentence, code.format(x=variable or "x")), texts.link(scene.message) or texts.ERRORS_PAGE
    return Explanation(kind, title, scene.spot.line, variable, what, why, (fix,), link)
