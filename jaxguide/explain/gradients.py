"""Explain derivatives that do not exist as asked: of integers, of several outputs, complex ones, without a rule."""

import ast
import re
from typing import Any

from jaxguide.arguments import describe
from jaxguide.explain import phrases
from jaxguide.explain.explanation import Edit, Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import MISSING, Scene, called, is_array
from jaxguide.explain.source import Source, arguments_of, dotted, source_of
from jaxguide.text import _

_GRAD = f"{phrases.API}/jax.grad.html"
_RULES = "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html"
_TRANSFORMS = ("grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian")


@explains(phrases.GRAD_INTEGER, phrases.JACOBIAN_INTEGER)
def gradient_of_integers(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad(f)(3)`."""
    outer = scene.call()
    if outer is None:
        return None
    made = _transformation(scene, outer)
    position = _argnums(made) if made is not None else 0
    if position >= len(outer.args):
        return None
    node = outer.args[position]
    text, value = scene.quote(node), scene.spot.value(node)
    if isinstance(value, bool) or (value is not MISSING and not isinstance(value, int) and not is_array(value)):
        return None
    if isinstance(node, ast.Constant):
        new = f"{text}.0"
    elif isinstance(value, int):
        new = f"float({text})"
    else:
        new = f"{scene.atom(node)}.astype(float)"
    what = scene.what(text, value) if is_array(value) else _("`{name}` is an int here.").format(name=text)
    dtype = next(group for group in found.groups()[::-1] if group)
    if value is MISSING:
        what = _("`{name}` has dtype {dtype} here.").format(name=text, dtype=dtype)
    fixes: list[Fix | None] = [scene.fix(_("Give floats."), scene.source.replace(node, new))]
    if len(outer.args) > 1 and made is not None and "argnums" not in {k.arg for k in made.keywords}:
        other = next((i for i, a in enumerate(outer.args) if i != position), None)
        fixes.append(
            scene.fix(
                _("Differentiate with respect to another argument."),
                scene.source.insert_after(made.args[-1], f", argnums={other}") if made.args else None,
            )
        )
    return scene.explanation(
        "gradient_of_integers",
        title=_("A derivative with respect to integers"),
        what=what,
        variable=text,
        why=_("A derivative asks what a small change does, and an integer cannot change by a little."),
        fixes=fixes,
        link=_GRAD,
    )


@explains(phrases.GRAD_SHAPE)
def gradient_of_many(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function whose result is no scalar."""
    outer = scene.call()
    made = _transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    shape = found[1]
    place = _definition(scene, made.args[0])
    fixes: list[Fix | None] = []
    one = shape.replace(",", "").replace(" ", "").strip("()").replace("1", "") == ""
    if place is not None:
        source, result = place
        text = source.quote(result)
        if one:
            fixes.append(
                scene.fix(
                    _("Take the one number out of its array."),
                    source.replace(result, f"{scene.jnp}.squeeze({text})"),
                )
            )
        else:
            fixes.append(
                scene.fix(
                    _("Reduce the result to one number: a loss is a sum or a mean."),
                    source.replace(result, f"{scene.jnp}.sum({text})"),
                )
            )
    if called(made) == "grad":
        jacobian = scene.quote(made.func).removesuffix("grad") + "jacobian"
        fixes.append(
            scene.fix(
                _("Ask for every derivative of every output: the Jacobian."),
                scene.source.replace(made.func, jacobian if "." in jacobian else f"{scene.jax}.jacobian"),
            )
        )
        if not one and len(outer.args) == 1 and not made.keywords:
            fixes.append(
                scene.fix(
                    _("If each output belongs to one input, one derivative for each."),
                    scene.source.replace(made, f"{scene.jax}.vmap({scene.quote(made)})"),
                )
            )
    return scene.explanation(
        "gradient_of_many",
        title=_("A gradient of more than one number"),
        what=_("`{function}` returns an array of shape {shape} here.").format(function=function, shape=shape),
        variable=function,
        why=_(
            "A gradient says how one number changes; a result of shape {shape} is not one number of shape ()."
        ).format(shape=shape),
        fixes=fixes,
        link=_GRAD,
    )


@explains(phrases.GRAD_OUTPUT)
def gradient_of_a_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns several things, or nothing."""
    outer = scene.call()
    made = _transformation(scene, outer) if outer is not None else None
    if made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    fixes: list[Fix | None] = []
    if found[1] == "None":
        node = _function_node(scene, made.args[0])
        if node is None:
            return None
        source, definition = node
        last = definition.body[-1] if isinstance(definition, ast.FunctionDef) else None
        edit: Edit | None = None
        if isinstance(last, ast.Expr):
            edit = source.insert_before(last, "return ")
        elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
            indent = source.indent(last)
            edit = source.insert_after(last, f"\n{indent}return {last.targets[0].id}")
        fixes.append(scene.fix(_("Return the value."), edit, code="" if edit else "return value"))
        return scene.explanation(
            "gradient_of_none",
            title=_("A gradient of a function that returns nothing"),
            what=_("`{function}` ends without `return`, so it gives None.").format(function=function),
            variable=function,
            why=_("`jax.grad` differentiates what the function returns."),
            fixes=fixes,
            link=_GRAD,
        )
    if not found[1].startswith(("(", "[")):
        return None
    fixes.append(
        scene.fix(
            _("If the first is the loss and the rest is extra: say so. Then the extra comes back with the gradient."),
            scene.source.insert_after(made.args[-1], ", has_aux=True") if not made.keywords else None,
        )
    )
    place = _definition(scene, made.args[0])
    if place is not None and isinstance(place[1], ast.Tuple):
        source, result = place
        fixes.append(
            scene.fix(_("Return the loss alone."), source.replace(result, source.quote(result.elts[0])))  # type: ignore[attr-defined]
        )
    return scene.explanation(
        "gradient_of_tuple",
        title=_("A gradient of several things"),
        what=_("`{function}` returns more than one value.").format(function=function),
        variable=function,
        why=_("A gradient says how one number changes."),
        fixes=fixes,
        link=_GRAD,
    )


@explains(phrases.GRAD_COMPLEX)
def gradient_complex(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a complex result."""
    outer = scene.call()
    made = _transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args:
        return None
    place = _definition(scene, made.args[0])
    fixes: list[Fix | None] = []
    if place is not None:
        source, result = place
        fixes.append(
            scene.fix(
                _("Differentiate one real number made of it, such as its size or its real part."),
                source.replace(result, f"{scene.jnp}.abs({source.quote(result)})"),
            )
        )
    position = _argnums(made)
    if position < len(outer.args):
        given = outer.args[position]
        fixes.append(
            scene.fix(
                _("For a holomorphic function, say so, and give a complex argument."),
                scene.source.insert_after(made.args[-1], ", holomorphic=True") if not made.keywords else None,
                scene.source.replace(given, f"complex({scene.quote(given)})")
                if isinstance(scene.spot.value(given), int | float)
                else scene.source.replace(given, f"{scene.atom(given)}.astype(complex)"),
            )
        )
    function = scene.quote(made.args[0])
    return scene.explanation(
        "gradient_complex",
        title=_("A gradient of a complex number"),
        what=_("`{function}` returns a complex number here.").format(function=function),
        variable=function,
        why=_("A complex result is two real ones, so it has two gradients, unless the function is holomorphic."),
        fixes=fixes,
        link=_GRAD,
    )


@explains(phrases.GRAD_INTEGER_OUT)
def gradient_integer_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns an integer, such as a count or an index."""
    outer = scene.call()
    made = _transformation(scene, outer) if outer is not None else None
    if made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    place = _definition(scene, made.args[0])
    fixes: list[Fix | None] = []
    if place is not None:
        source, result = place
        text = source.quote(result)
        soft = None
        if isinstance(result, ast.Call) and called(result) == "argmax" and len(result.args) == 1:
            x = source.quote(result.args[0])
            weights = f"{scene.jax}.nn.softmax({x})"
            soft = source.replace(result, f"{scene.jnp}.sum({weights} * {scene.jnp}.arange({x}.size))")
        fixes.append(scene.fix(_("Use a smooth function in its place, such as a mean weighted by softmax."), soft))
        fixes.append(
            scene.fix(
                _("Make it a float: its gradient is then zero everywhere."),
                source.replace(result, f"{source.atom(result)}.astype(float)") if text else None,
            )
        )
    return scene.explanation(
        "gradient_integer_result",
        title=_("A gradient of an integer"),
        what=_("`{function}` returns {dtype} here.").format(function=function, dtype=found[1]),
        variable=function,
        why=_("An integer changes in jumps: its derivative is zero or does not exist."),
        fixes=fixes,
        link=_GRAD,
    )


@explains(phrases.GRAD_ARGNUMS)
def argument_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `argnums=1` for a function that is called with one argument."""
    outer = scene.call()
    made = _transformation(scene, outer) if outer is not None else None
    keyword = next((k for k in made.keywords if k.arg == "argnums"), None) if made is not None else None
    if made is None or keyword is None or int(found[2]) == 0:
        return None
    last = int(found[2]) - 1
    return scene.explanation(
        "argnums_too_large",
        title=_("`argnums` names an argument that is not there"),
        what=_("`{text}` is called with positional arguments 0 to {last}.").format(
            text=scene.quote(made.args[0]), last=last
        ),
        variable="argnums",
        why=_("Arguments are counted from 0, and those given by keyword do not count."),
        fixes=[
            scene.fix(
                _("Give the number of an argument that is there."), scene.source.replace(keyword.value, str(last))
            )
        ],
        link=_GRAD,
    )


@explains(phrases.JVP_CONTAINER)
def jvp_without_tuples(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.jvp(f, x, v)`."""
    call = scene.call()
    if call is None or len(call.args) != 3:
        return None
    edits = [
        scene.source.replace(a, f"({scene.quote(a)},)")
        for a in call.args[1:]
        if not isinstance(scene.spot.value(a), tuple | list)
    ]
    return scene.explanation(
        "jvp_without_tuples",
        title=_("`jax.jvp` takes tuples"),
        what=_("`{text}` is no tuple.").format(text=scene.quote(call.args[1])),
        variable=scene.quote(call.args[1]),
        why=_(
            "A function may have several arguments, so `jax.jvp` takes all primals in one tuple, all tangents in "
            "another."
        ),
        fixes=[scene.fix(_("Put each into a tuple of one."), *edits)],
        link=f"{phrases.API}/jax.jvp.html",
    )


@explains(phrases.JVP_DTYPE)
def jvp_dtype(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain tangents of another dtype than the primals."""
    call = scene.call()
    if call is None or len(call.args) != 3 or not isinstance(call.args[2], ast.Tuple | ast.List):
        return None
    edits = []
    for node in call.args[2].elts:
        text, value = scene.quote(node), scene.spot.value(node)
        if isinstance(node, ast.Constant) and isinstance(value, int):
            edits.append(scene.source.replace(node, f"{text}.0"))
        elif isinstance(value, int):
            edits.append(scene.source.replace(node, f"float({text})"))
        elif is_array(value):
            edits.append(scene.source.replace(node, f"{scene.atom(node)}.astype(float)"))
    if not edits:
        return None
    text = scene.quote(call.args[2].elts[0])
    return scene.explanation(
        "tangent_dtype",
        title=_("A tangent of another dtype than its primal"),
        what=_("`{text}` is {what} here.").format(text=text, what=describe(scene.spot.value(call.args[2].elts[0]))),
        variable=text,
        why=_("A tangent is a small change of its primal, so both have one shape and one dtype."),
        fixes=[scene.fix(_("Give floats."), *edits)],
        link=f"{phrases.API}/jax.jvp.html",
    )


@explains(phrases.VJP_SHAPE)
def vjp_cotangent(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a cotangent of another shape or dtype than the output."""
    call = scene.call()
    if call is None or len(call.args) != 1:
        return None
    text = scene.quote(call.args[0])
    shape = f"({found[3]},)" if found[3] and "," not in found[3] else f"({found[3]})"
    new = f"{scene.jnp}.full({shape}, {text}, {scene.jnp}.{found[2]})"
    if not found[1].endswith("[]"):
        new = f"{scene.jnp}.ones({shape}, {scene.jnp}.{found[2]})"
    return scene.explanation(
        "cotangent_shape",
        title=_("A cotangent that does not fit the output"),
        what=_("`{text}` is {got}, and the output is {dtype}[{shape}].").format(
            text=text, got=found[1], dtype=found[2], shape=found[3]
        ),
        variable=text,
        why=_("The pullback takes one number for each number of the output: how much each counts."),
        fixes=[scene.fix(_("Give the output's shape and dtype."), scene.source.replace(call.args[0], new))],
        link=f"{phrases.API}/jax.vjp.html",
    )


@explains(phrases.NO_JVP_RULE)
def rule_missing(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a `custom_jvp` or `custom_vjp` function without its rule."""
    name, forward = found[2], found[1] == "JVP"
    defined = [f for spot in scene.spots if spot.source for f in [*spot.source.functions(name)]]
    if not defined:
        return None
    definition, source = defined[0], scene.source
    decorator = next((d for d in definition.decorator_list if "custom_" in dotted(d)), None)
    arguments = arguments_of(definition)
    given = ", ".join(arguments)
    if forward:
        tangents = [f"{a}_dot" for a in arguments]
        code = "\n".join(
            [
                f"@{name}.defjvp",
                "def rule(primals, tangents):",
                f"    {', '.join(arguments)}, = primals; {', '.join(tangents)}, = tangents",
                f"    return {name}({', '.join(arguments)}), DERIVATIVE * {tangents[0]}",
            ]
        )
    else:
        code = "\n".join(
            [
                f"def forward({given}): return {name}({given}), ({given},)",
                f"def backward(saved, g): {', '.join(arguments)}, = saved; return (DERIVATIVE * g,)",
                f"{name}.defvjp(forward, backward)",
            ]
        )
    drop = None
    if decorator is not None:
        (line, _c), (end, _e) = source.start(decorator), source.end(decorator)
        drop = Edit(source.file, (line, 0), (end + 1, 0), "")
    return scene.explanation(
        "rule_missing",
        title=_("A derivative rule was promised and not given"),
        what=_("`{name}` is declared with a rule of its own, and none was given.").format(name=name),
        variable=name,
        why=_("The decorator tells JAX not to look inside `{name}`, so it has nothing to differentiate.").format(
            name=name
        ),
        fixes=[
            scene.fix(_("Let JAX differentiate what is inside: take the decorator away."), drop),
            scene.fix(_("Give the rule."), code=code),
        ],
        link=_RULES,
    )


@explains(phrases.BWD_TUPLE)
def backward_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a backward rule that does not return one cotangent for each argument."""
    for spot in reversed(scene.spots):
        source = spot.source
        for call in source.calls() if source else ():
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "defvjp" or len(call.args) != 2:
                continue
            assert source is not None
            name = source.quote(call.args[1])
            for definition in source.functions(name):
                returned = [n for n in ast.walk(definition) if isinstance(n, ast.Return) and n.value is not None]
                if len(returned) == 1 and not isinstance(returned[0].value, ast.Tuple):
                    value = returned[0].value
                    assert value is not None
                    from jaxguide.lines import Line

                    return scene.explanation(
                        "backward_no_tuple",
                        title=_("A backward rule returns a tuple"),
                        what=_("`{name}` returns `{text}`, which is no tuple.").format(
                            name=name, text=source.quote(value)
                        ),
                        variable=name,
                        why=_(
                            "The backward rule returns one cotangent for each argument of the function, in a tuple, "
                            "also for one."
                        ),
                        fixes=[
                            scene.fix(
                                _("Put it into a tuple of one."), source.replace(value, f"({source.quote(value)},)")
                            )
                        ],
                        link=_RULES,
                        line=Line(source.file, source.start(value)[0]),
                    )
    return None


@explains(phrases.FORWARD_OF_VJP)
def forward_of_vjp(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain forward mode through a function with a reverse rule only."""
    call = scene.call()
    made = _transformation(scene, call) if call is not None else None
    if made is None or called(made) not in ("jacfwd", "hessian"):
        return None
    function = scene.quote(made.args[0])
    base = scene.quote(made.func).removesuffix(called(made))
    new = f"{base}jacrev" if called(made) == "jacfwd" else None
    edit = scene.source.replace(made.func, new) if new else None
    if called(made) == "hessian":
        edit = scene.source.replace(made, f"{base}jacrev({base}jacrev({function}))")
    return scene.explanation(
        "forward_of_custom_vjp",
        title=_("Forward mode through a reverse rule"),
        what=_("`{function}` has a rule from `jax.custom_vjp`.").format(function=function),
        variable=function,
        why=_("`{name}` goes forward, and a `custom_vjp` rule says only how to go back.").format(
            name=scene.quote(made.func)
        ),
        fixes=[scene.fix(_("Go back: the same derivatives in reverse mode."), edit)],
        link=_RULES,
    )


def _transformation(scene: Scene, outer: ast.Call) -> ast.Call | None:
    """Return the call of `jax.grad` or its like behind `jax.grad(f)(x)`, `g = jax.grad(f); g(x)` or a decorator."""
    if isinstance(outer.func, ast.Call) and called(outer.func) in _TRANSFORMS:
        return outer.func
    if isinstance(outer.func, ast.Name):
        for node in ast.walk(scene.source.tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == outer.func.id
            ):
                value: ast.expr = node.value
                while isinstance(value, ast.Call):
                    if called(value) in _TRANSFORMS:
                        return value
                    value = value.args[0] if value.args else ast.Constant(None)
    return None


def _argnums(made: ast.Call) -> int:
    for keyword in made.keywords:
        if keyword.arg == "argnums":
            values = [n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)]
            return int(values[0]) if values else 0  # type: ignore[arg-type]
    return 0


def _function_node(scene: Scene, node: ast.expr) -> tuple[Source, Any] | None:
    """Return the definition of a student's function, with the source that it stands in."""
    if isinstance(node, ast.Lambda):
        return scene.source, node
    value = scene.spot.value(node)
    code = getattr(getattr(value, "__wrapped__", value), "__code__", None)
    source = source_of(code.co_filename) if code is not None else None
    function = source.function_at(code.co_name, code.co_firstlineno) if source and code else None
    return (source, function) if source is not None and function is not None else None


def _definition(scene: Scene, node: ast.expr) -> tuple[Source, ast.expr] | None:
    """Return the one expression that a student's function returns, with its source."""
    found = _function_node(scene, node)
    if found is None:
        return None
    source, function = found
    if isinstance(function, ast.Lambda):
        return source, function.body
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    return (source, returns[0].value) if len(returns) == 1 and returns[0].value is not None else None
