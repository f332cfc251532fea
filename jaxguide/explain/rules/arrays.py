"""Explain values that are no arrays, and what arrays do not do: lists, None, strings, dtypes of `lax`, hashes."""

import ast
import re

import numpy as np

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.jaxpr.arguments import array_type, describe

_ARRAY = f"{error_texts.API}/jax.numpy.asarray.html"


@explains(error_texts.LAX_DTYPE)
def lax_dtypes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.add(1, 1.0)`."""
    call = scene.call()
    if call is None or len(call.args) < 2:
        return None
    function, dtypes, name = found.groups()
    kinds = dtypes.split(", ")
    odd = next((i for i, kind in enumerate(kinds) if kind.startswith(("int", "uint", "bool"))), 0)
    node = call.args[odd]
    other = next((kind for kind in kinds if kind != kinds[odd]), kinds[-1])
    text, value = scene.quote(node), scene.spot.value(node)
    new = f"{scene.atom(node)}.astype({scene.jnp}.{other})"
    if isinstance(value, int | float):
        new = f"float({text})" if other.startswith("float") else f"{scene.jnp}.asarray({text}, {scene.jnp}.{other})"
    return scene.explanation(
        "lax_dtypes",
        title=_("`lax.{name}` does not mix dtypes").format(name=function),
        what=_("The arguments are {dtypes}.").format(dtypes=dtypes),
        variable=text,
        why=_("`jax.lax` is the exact layer: it promotes nothing, and `jax.numpy` above it does."),
        fixes=[
            scene.fix(
                _("Use the function of `jax.numpy`, which promotes."),
                scene.source.replace(call.func, f"{scene.jnp}.{name}"),
            ),
            scene.fix(_("Convert one yourself."), scene.source.replace(node, new)),
        ],
        link="https://docs.jax.dev/en/latest/type_promotion.html",
    )


@explains(error_texts.NOT_ARRAY)
def not_an_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sum([1.0, 2.0])` and `jnp.sin(None)`."""
    call = scene.call()
    position = int(found[3])
    if call is None or position >= len(call.args):
        return None
    return no_array(scene, call, call.args[position])


def no_array(scene: Scene, call: ast.Call, node: ast.expr) -> Explanation | None:
    """Explain an argument of a function of `jax.numpy` that is no array."""
    text, value = scene.quote(node), scene.spot.value(node)
    fixes: list[Fix | None] = []
    if value is None:
        kind = "none_for_array"
        why = _("None is no number. It often comes from a function that lacks its `return`.")
        fixes = _from_a_function(scene, node)
    elif isinstance(value, str):
        kind = "string_for_array"
        why = _("JAX computes with numbers; a text has none.")
        numeric = re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", value)
        fixes = [
            scene.fix(_("Read the number out of it."), scene.source.replace(node, f"float({text})"))
            if numeric
            else scene.fix(_("Number what you mean, and pass the number."), code=f"{{{value!r}: 0}}[{text}]")
        ]
    else:
        kind = "list_for_array"
        why = _("JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss.")
        fixes = [scene.fix(_("Say that it is an array."), scene.source.replace(node, f"{scene.jnp}.array({text})"))]
    return scene.explanation(
        kind,
        title=_("`{function}` needs an array").format(function=scene.quote(call.func)),
        what=_("`{name}` is {what} here.").format(name=text, what=describe(value)) if value is not MISSING else "",
        variable=text,
        why=why,
        fixes=fixes,
        link=_ARRAY,
    )


@explains(error_texts.OPERAND)
def operand(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x + [1.0, 2.0]` and `x + None`."""
    node = scene.node
    if not isinstance(node, ast.BinOp):
        return None
    wrong = node.right
    text, value = scene.quote(wrong), scene.spot.value(wrong)
    if value is None:
        kind, fixes = "none_for_array", _from_a_function(scene, wrong)
        why = _("None is no number. It often comes from a function that lacks its `return`.")
    elif isinstance(value, list | tuple):
        kind = "list_for_array"
        why = _("JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss.")
        fixes = [scene.fix(_("Say that it is an array."), scene.source.replace(wrong, f"{scene.jnp}.array({text})"))]
    else:
        return None
    return scene.explanation(
        kind,
        title=_("`{sign}` needs an array on both sides").format(sign=found[1]),
        what=_("`{name}` is {what} here.").format(name=text, what=describe(value)),
        variable=text,
        why=why,
        fixes=fixes,
        link=_ARRAY,
    )


@explains(error_texts.LIST_TIMES)
def repeated_list(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `[1.0] * n` with a traced count."""
    node = scene.node
    traced = scene.tracer(node)
    if traced is None or not isinstance(node, ast.BinOp):
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    return scene.explanation(
        "list_times_tracer",
        title=_("A list needs a count that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("A Python list is made now, while JAX records the program, and the count comes later."),
        fixes=[
            static_fix(scene, tracer),
            scene.fix(
                _("If every entry is to be multiplied: make an array of the list."),
                scene.source.replace(node.left, f"{scene.jnp}.array({scene.quote(node.left)})"),
            ),
        ],
        link=error_texts.STATIC_LINK,
    )


@explains(error_texts.SHAPE_AS_DTYPE)
def shape_without_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.zeros(2, 3)`, whose second argument is the dtype."""
    call = scene.call()
    if call is None:
        return None
    numbers = [a for a in call.args if isinstance(scene.spot.value(a), int)]
    if len(numbers) < 2 or call.args[-len(numbers) :] != numbers:
        return None
    texts = [scene.quote(n) for n in numbers]
    source = scene.source
    return scene.explanation(
        "shape_without_tuple",
        title=_("A shape is one tuple"),
        what=_("`{second}` stands where the dtype belongs.").format(second=texts[1]),
        variable=texts[1],
        why=_("`{function}` takes the whole shape as one argument.").format(function=scene.quote(call.func)),
        fixes=[
            scene.fix(
                _("Put the sizes into a tuple."),
                Edit(source.file, source.start(numbers[0]), source.end(numbers[-1]), f"({', '.join(texts)})"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.zeros.html",
    )


@explains(error_texts.UNHASHABLE_ARRAY)
def array_as_key(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an array as the key of a dict or an element of a set."""
    node = scene.node
    keys: list[ast.expr] = []
    if isinstance(node, ast.Dict):
        keys = [key for key in node.keys if key is not None]
    elif isinstance(node, ast.Set):
        keys = node.elts
    elif isinstance(node, ast.Subscript):
        keys = [node.slice]
    found_key = next(((k, scene.spot.value(k)) for k in keys if is_array(scene.spot.value(k))), None)
    if found_key is None:
        return None
    key, value = found_key
    text = scene.quote(key)
    new = f"{scene.atom(key)}.item()" if value.ndim == 0 else f"tuple({scene.atom(key)}.tolist())"
    return scene.explanation(
        "array_as_key",
        title=_("An array has no hash"),
        what=scene.what(text, value),
        variable=text,
        why=_("A dict finds a key by its hash, and arrays are compared entry by entry, so they have none."),
        fixes=[scene.fix(_("Use Python numbers as the key."), scene.source.replace(key, new))],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


@explains(error_texts.SCALAR_ITERATION)
def scalar_iteration(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop over an array of shape ()."""
    part = scene.spot.first(scene.node, is_array)
    if part is None or part[1].ndim:
        return None
    text = scene.quote(part[0])
    integer = np.issubdtype(part[1].dtype, np.integer) and not is_tracer(part[1])
    fixes = [
        scene.fix(
            _("Give it an axis of length 1."),
            scene.source.replace(part[0], f"{scene.jnp}.atleast_1d({text})"),
        )
    ]
    if integer:
        fixes.insert(
            0,
            scene.fix(_("Count up to it."), scene.source.replace(part[0], f"range({text})")),
        )
    return scene.explanation(
        "scalar_iteration",
        title=_("A number has no entries to go through"),
        what=scene.what(text, part[1]),
        variable=text,
        why=_("{type} has no axis: `for` goes along the first one.").format(type=f"`{array_type(part[1])}`"),
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.atleast_1d.html",
    )


def _from_a_function(scene: Scene, node: ast.expr) -> list[Fix | None]:
    """Return the fix for a value that a function should have returned."""
    if not isinstance(node, ast.Name):
        return [scene.fix(_("Find where it comes from, and give an array."), code=f"print({scene.quote(node)})")]
    for statement in ast.walk(scene.source.tree):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if not any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
            continue
        for function in scene.source.functions(called(statement.value)):
            last = function.body[-1]
            if any(isinstance(n, ast.Return) for n in ast.walk(function)):
                continue
            name = scene.quote(statement.value.func)
            if isinstance(last, ast.Expr):
                return [
                    scene.fix(
                        _("`{name}` returns nothing: let it return its last value.").format(name=name),
                        scene.source.insert_before(last, "return "),
                    )
                ]
            if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
                line = f"\n{scene.source.indent(last)}return {last.targets[0].id}"
                return [
                    scene.fix(
                        _("`{name}` returns nothing: let it return its last value.").format(name=name),
                        scene.source.insert_after(last, line),
                    )
                ]
    return [scene.fix(_("Find where `{name}` became None.").format(name=node.id), code=f"assert {node.id} is not None")]
