"""Explain what `jax.jit` cannot take or return: texts, functions, objects, and functions called too early."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import Source, arguments_of, source_of
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.jit_calls import function_name, is_users, jitted_function
from jaxguide.explain.rewrites.pytrees import as_pytree
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.arrays import no_array
from jaxguide.explain.scene import Scene, called
from jaxguide.jaxpr.arguments import describe


@explains(error_texts.NOT_AN_ARGUMENT)
def not_an_array_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a string, a function or an object given to a jitted function."""
    call = scene.call()
    if call is None:
        return None
    path = found[2]
    top = re.split(r"[.\[]", path)[0]
    jitted = jitted_function(scene, call)
    if jitted is None:  # one of JAX's own functions
        given = next(
            (a for a in call.args if isinstance(scene.spot.value(a), str | bytes) or scene.spot.value(a) is None), None
        )
        return None if given is None else no_array(scene, call, given)
    source, function = jitted
    names = arguments_of(function)
    if top not in names:
        return None
    position = names.index(top)
    bound = isinstance(call.func, ast.Attribute)
    method = names[:1] == ["self"] and (bound or function.name == "__call__")  # type: ignore[union-attr]
    given = next((k.value for k in call.keywords if k.arg == top), None)
    place = position - (1 if method else 0)
    if given is None and 0 <= place < len(call.args):
        given = call.args[place]
    if given is None and method and position == 0 and isinstance(call.func, ast.Attribute):
        given = call.func.value
    if given is None and method and position == 0:
        given = call.func
    value = scene.spot.value(given)
    kind = found[1].split(".")[-1]
    pytree = as_pytree(scene, kind)
    fixes = [
        scene.fix(
            _("Make `{name}` static: JAX then compiles once for each value of it.").format(name=top),
            *static_edits(scene, source, function, top),
            code="" if isinstance(function, ast.Lambda) else f'@{scene.jax}.jit(static_argnames="{top}")',
        )
    ]
    if isinstance(value, str) and path == top:
        kinds = "string_argument"
    elif callable(value) and path == top and top != "self":
        kinds = "function_argument"
        if isinstance(given, ast.Name | ast.Attribute) and isinstance(function, ast.FunctionDef):
            fixes.append(
                scene.fix(
                    _("Leave it out of the jitted function's arguments: jit a function that uses it."),
                    code=f"{scene.jax}.jit(lambda ...: {function.name}({scene.quote(given)}, ...))",
                )
            )
    else:
        kinds = "object_argument"
        if path != top:
            fixes = []
        if pytree is not None:
            fixes = [pytree]
        else:
            fixes.append(
                scene.advice(
                    _("Pass its arrays in a tuple or a dict, or register its class `{kind}` as a pytree.").format(
                        kind=kind
                    )
                )
            )
    said = "self" if top == "self" else scene.quote(given) if given is not None else path
    what = _("`{name}` is {what} here, and `{function}` is compiled by `jax.jit`.").format(
        name=said,
        what=describe(value) if value is not MISSING else _("an object of type `{type}`").format(type=kind),
        function=function_name(function),
    )
    return scene.explanation(
        kinds,
        title=_("`jax.jit` was given something that is no array"),
        what=what,
        variable=path if path.startswith("self") else said,
        why=_("Every argument of a jitted function becomes a traced array, unless it is declared static."),
        fixes=fixes,
        link=error_texts.STATIC_LINK,
    )


@explains(error_texts.NOT_JAX_RESULT)
def not_an_array_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a string or a function returned by a jitted function."""
    source = source_of(found[2])
    if source is None:
        return None
    function = source.function_at(found[1].split(".")[-1], int(found[3]))
    if function is None:
        return None
    returned = _returned(function)
    if returned is None:
        return None
    node: ast.expr = returned
    edit: Edit | None = None
    for index in re.findall(r"\[(\d+)\]", found[5] or ""):
        if isinstance(node, ast.Tuple | ast.List) and int(index) < len(node.elts):
            rest = [source.quote(e) for i, e in enumerate(node.elts) if i != int(index)]
            edit = source.replace(node, rest[0] if len(rest) == 1 else ", ".join(rest)) if rest else None
            node = node.elts[int(index)]
    text = source.quote(node)
    return scene.explanation(
        "result_no_array",
        title=_("A jitted function returns something that is no array"),
        what=_("`{text}` is of type `{type}`, returned by `{function}`.").format(
            text=text, type=found[4], function=function_name(function)
        ),
        variable=text,
        why=_("The compiled program hands back arrays; what is no array cannot come out of it."),
        fixes=[
            scene.fix(_("Return the arrays only, and make the rest outside."), edit),
            scene.fix(
                _("Jit only the part that computes, and call it from a plain function."),
                code=f"compute = {scene.jax}.jit(...)",
            ),
        ],
        link=f"{error_texts.API}/jax.jit.html",
        line=_line(source, node),
    )


@explains(error_texts.NOT_CALLABLE)
def called_too_early(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad(f(x))`, where the function was called before it was handed over."""
    call = scene.call()
    if call is None or not call.args or not isinstance(call.args[0], ast.Call):
        return None
    inner, name = call.args[0], scene.quote(call.func)
    function = scene.quote(inner.func)
    outer = scene.source.parents.get(call)
    again = isinstance(outer, ast.Call) and outer.func is call
    if not again and not is_users(
        scene.spot, getattr(getattr(scene.spot.value(inner.func), "__code__", None), "co_filename", "<frozen ")
    ):
        return None  # `jax.jit(jnp.ones(3))`: no telling what was meant
    arguments = ", ".join(scene.quote(a) for a in [*inner.args, *(k.value for k in inner.keywords)])
    made = scene.source.replace(inner, function) if again else None
    whole = None if again or call.keywords else scene.source.replace(call, f"{name}({function})({arguments})")
    return scene.explanation(
        "function_called_too_early",
        title=_("`{name}` needs a function").format(name=name),
        what=_("`{text}` calls `{function}` at once, and gives its result to `{name}`.").format(
            text=scene.quote(inner), function=function, name=name
        ),
        variable=scene.quote(inner),
        why=_("A transformation takes a function and returns a function; the arguments come afterwards."),
        fixes=[scene.fix(_("Hand over the function, then call what comes back."), made or whole)],
        link=f"{error_texts.API}/jax.{called(call)}.html",
    )


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.expr | None:
    if isinstance(function, ast.Lambda):
        return function.body
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
    return returns[-1].value if returns else None


def _line(source: Source, node: ast.AST) -> Line:
    return Line(source.file, source.start(node)[0])
