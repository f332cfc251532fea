"""Explain gradients that do not exist: of non-scalars, of integers, in reverse mode through loops of unknown length."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import _, plural
from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, Spot, is_array
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.static_arguments import static_edits
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, argument_of, called
from jaxguide.explain.transformed import argnums, definition_of, function_behind, parameters, transformation

_GRAD = f"{error_texts.API}/jax.grad.html"


@explains(error_texts.GRAD_SHAPE)
def gradient_of_many(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function whose result is not a scalar."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args or _has_own_rule(scene, made.args[0]):
        return None
    function = scene.quote(made.args[0])
    shape = found[1]
    place = definition_of(scene, made.args[0])
    aux = any(keyword.arg == "has_aux" for keyword in made.keywords)
    if aux and place is not None and isinstance(place[1], ast.Tuple) and place[1].elts:
        place = place[0], place[1].elts[0]
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
    if called(made) == "grad" and not aux:
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


@explains(error_texts.GRAD_OUTPUT)
def gradient_of_a_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns several values or none."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if made is None or not made.args or _has_own_rule(scene, made.args[0]):
        return None
    function = scene.quote(made.args[0])
    fixes: list[Fix | None] = []
    if found[1] == "None":
        node = function_behind(scene.spot, made.args[0])
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
    if found[1].startswith("{"):
        words = _("Return the loss alone; or return it first, then the dict, and say `has_aux=True`.")
        return _of_several(scene, function, [scene.advice(words)])
    if not found[1].startswith(("(", "[")):
        return None
    fixes.append(
        scene.fix(
            _("If the first is the loss and the rest is extra: say so. Then the extra comes back with the gradient."),
            scene.source.insert_after(made.args[-1], ", has_aux=True") if not made.keywords else None,
        )
    )
    place = definition_of(scene, made.args[0])
    if place is not None and isinstance(place[1], ast.Tuple):
        source, result = place
        fixes.append(
            scene.fix(_("Return the loss alone."), source.replace(result, source.quote(result.elts[0])))  # type: ignore[attr-defined]
        )
    return _of_several(scene, function, fixes)


def _has_own_rule(scene: Scene, node: ast.expr) -> bool:
    """Return whether a function has a rule of its own, whose result counts, and not that of the function."""
    value = scene.spot.value(node)
    return value is not MISSING and hasattr(value, "defvjp")


def _of_several(scene: Scene, function: str, fixes: list[Fix | None]) -> Explanation | None:
    return scene.explanation(
        "gradient_of_tuple",
        title=_("A gradient of several things"),
        what=_("`{function}` returns more than one value.").format(function=function),
        variable=function,
        why=_("A gradient says how one number changes."),
        fixes=fixes,
        link=_GRAD,
    )


@explains(error_texts.GRAD_COMPLEX)
def gradient_complex(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a complex result."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if outer is None or made is None or not made.args:
        return None
    place = definition_of(scene, made.args[0])
    fixes: list[Fix | None] = []
    if place is not None:
        source, result = place
        fixes.append(
            scene.fix(
                _("Differentiate one real number made of it, such as its size or its real part."),
                source.replace(result, f"{scene.jnp}.abs({source.quote(result)})"),
            )
        )
    position = argnums(made)[0]
    if position < len(outer.args):
        given = outer.args[position]
        edits = [scene.source.insert_after(made.args[-1], ", holomorphic=True") if not made.keywords else None]
        if _is_complex(scene, given):
            sentence = _("For a holomorphic function, say so.")
        else:
            sentence = _("For a holomorphic function, say so, and give a complex argument.")
            number, text = isinstance(scene.spot.value(given), int | float), scene.quote(given)
            new = f"complex({text})" if number else f"{scene.atom(given)}.astype(complex)"
            edits.append(scene.source.replace(given, new))
        fixes.append(scene.fix(sentence, *edits))
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


def _is_complex(scene: Scene, node: ast.expr) -> bool:
    """Return whether an argument is already complex, by its value or by a literal such as `1j`."""
    value = scene.spot.value(node)
    if value is MISSING:
        numbers = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
        return any(isinstance(number, complex) for number in numbers)
    return isinstance(value, complex) or (is_array(value) and bool(np.iscomplexobj(value)))


@explains(error_texts.GRAD_INTEGER_OUT)
def gradient_integer_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` of a function that returns an integer, such as a count or an index."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    if made is None or not made.args:
        return None
    function = scene.quote(made.args[0])
    place = definition_of(scene, made.args[0])
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


@explains(error_texts.GRAD_ARGNUMS)
def argument_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `argnums=1` for a function that is called with one argument."""
    outer = scene.call()
    made = transformation(scene, outer) if outer is not None else None
    keyword = next((k for k in made.keywords if k.arg == "argnums"), None) if made is not None else None
    if made is None or keyword is None or int(found[2]) == 0:
        return None
    last = int(found[2]) - 1
    return scene.explanation(
        "argnums_too_large",
        title=_("`argnums` names an argument that is not there"),
        what=plural(
            "`{text}` is called with {count} positional argument: its number is 0.",
            "`{text}` is called with {count} positional arguments, 0 to {last}.",
            last + 1,
            text=scene.quote(made.args[0]),
            last=last,
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


@explains(error_texts.GRAD_INTEGER, error_texts.JACOBIAN_INTEGER)
def gradient_of_integers(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad(f)(3)` and `jax.grad(loss)({"w": 1.0, "n": 3})`."""
    outer = scene.call()
    if outer is None:
        return None
    made = transformation(scene, outer)
    positions = [position for position in argnums(made) if position < len(outer.args)]
    if not positions:
        return None
    position = _integer_position(scene, outer, positions)
    if position is None:
        return None
    node = outer.args[position]
    if "key" in found.groups():
        return _of_a_key(scene, outer, made, position)
    if _is_index(scene, made, position):
        return _of_an_index(scene, outer, made, position)
    text, value = scene.quote(node), scene.spot.value(node)
    if isinstance(node, ast.List | ast.Tuple | ast.Dict) or _is_tree(value):
        return _in_a_tree(scene, node, value)
    if isinstance(value, bool):
        return None
    if isinstance(node, ast.Constant):
        new = f"{text}.0"
    elif isinstance(value, int):
        new = f"float({text})"
    else:
        new = f"{scene.atom(node)}.astype(float)" if is_array(value) or _of_jax(scene, node) else _floats(scene, text)
    what = scene.what(text, value) if is_array(value) else _("`{name}` is an int here.").format(name=text)
    dtype = next(group for group in found.groups()[::-1] if group)
    if value is MISSING:
        what = _("`{name}` has dtype {dtype} here.").format(name=text, dtype=dtype)
    fixes: list[Fix | None] = [scene.fix(_("Give floats."), scene.source.replace(node, new))]
    if len(outer.args) > 1 and made is not None and argument_of(made, 1, "argnums") is None:
        other = next((i for i, a in enumerate(outer.args) if i != position), None)
        fixes.append(
            scene.fix(
                _("Differentiate with respect to another argument."),
                scene.source.insert_after(made.args[-1], f", argnums={other}") if made.args else None,
            )
        )
    return _explained(scene, text, what, *fixes)


def _integer_position(scene: Scene, outer: ast.Call, positions: list[int]) -> int | None:
    """Return the number of the argument that holds integers; None if that is not certain."""
    values = {position: scene.spot.value(outer.args[position]) for position in positions}
    known = [position for position, value in values.items() if _integer_leaf(value) is not None]
    unknown = [position for position, value in values.items() if value is MISSING]
    candidates = known or unknown
    return candidates[0] if known or len(candidates) == 1 else None


def _is_index(scene: Scene, made: ast.Call | None, position: int) -> bool:
    """Return whether the function uses an argument as an index, which must stay an integer."""
    place = function_behind(scene.spot, made.args[0]) if made is not None and made.args else None
    own = parameters(place[1]) if place is not None else []
    if place is None or position >= len(own):
        return False
    name = own[position].arg
    return any(isinstance(node, ast.Subscript) and name in names_in(node.slice) for node in ast.walk(place[1])) or any(
        isinstance(node, ast.Call)
        and called(node) in ("range", "one_hot", "arange", "take", "zeros", "ones")
        and name in {n for a in node.args for n in names_in(a)}
        for node in ast.walk(place[1])
    )


def _of_an_index(scene: Scene, outer: ast.Call, made: ast.Call | None, position: int) -> Explanation | None:
    """Explain a derivative with respect to an argument that is an index or a size."""
    text = scene.quote(outer.args[position])
    value = scene.spot.value(outer.args[position])
    what = scene.what(text, value) if is_array(value) else _("`{name}` holds integers.").format(name=text)
    others = [str(i) for i in range(len(outer.args)) if i != position]
    words = _(
        "Arguments are counted from 0, and `{name}` is number {number}: give `argnums` the number of another one."
    )
    if not others or made is None:
        return None
    return _explained(scene, text, what, scene.advice(words.format(name=text, number=position)))


def _of_a_key(scene: Scene, outer: ast.Call, made: ast.Call | None, position: int) -> Explanation | None:
    """Explain a derivative with respect to a random key."""
    text = scene.quote(outer.args[position])
    other = next((i for i in range(len(outer.args)) if i != position), None)
    if other is None:
        return None
    plain = made is not None and bool(made.args) and argument_of(made, 1, "argnums") is None
    return scene.explanation(
        "gradient_of_a_key",
        title=_("A derivative with respect to a key"),
        what=_("`{name}` is a key here.").format(name=text),
        variable=text,
        why=_("A derivative asks what a small change does, and a key cannot change by a little."),
        fixes=[
            scene.fix(
                _("Differentiate with respect to another argument."),
                scene.source.insert_after(made.args[-1], f", argnums={other}") if made is not None and plain else None,
                code="" if plain else "argnums=...",
            )
        ],
        link=_GRAD,
    )


def _explained(scene: Scene, variable: str, what: str, *fixes: Fix | None) -> Explanation | None:
    return scene.explanation(
        "gradient_of_integers",
        title=_("A derivative with respect to integers"),
        what=what,
        variable=variable,
        why=_("A derivative asks what a small change does, and an integer cannot change by a little."),
        fixes=fixes,
        link=_GRAD,
    )


def _in_a_tree(scene: Scene, node: ast.expr, value: Any) -> Explanation | None:
    """Explain an integer among the leaves of a list, a tuple, a dict or another pytree."""
    text, leaf = scene.quote(node), _integer_leaf(value)
    written = _written(scene, node) if isinstance(node, ast.Name) else node
    whole = _integers(written) if written is not None else []
    if isinstance(node, ast.Dict | ast.List | ast.Tuple) or leaf is None:
        what = _("`{name}` holds the integer {value}.").format(name=text, value=whole[0].value) if whole else ""
        return _explained(scene, text, what, _floats_fix(scene, node, whole, value))
    path, number = leaf
    name = f"{text}{path}"
    what = scene.what(name, number) if is_array(number) else _("`{name}` is an int here.").format(name=name)
    words = _("Or take `{name}` out, and pass it as an argument of its own, which is not differentiated.")
    fixes = [_floats_fix(scene, node, whole, value), scene.advice(words.format(name=name))]
    return _explained(scene, name, what, *fixes)


def _floats_fix(scene: Scene, node: ast.expr, whole: list[ast.Constant], value: Any) -> Fix | None:
    """Return the fix that writes the integers as floats, or else converts all leaves at the call."""
    all_written = value is MISSING or sum(_is_integer(leaf) for leaf in jax.tree.leaves(value)) == len(whole)
    edits = [scene.source.replace(number, f"{scene.quote(number)}.0") for number in whole]
    if not edits or not all_written:
        edits = [scene.source.replace(node, _floats(scene, scene.quote(node)))]
    return scene.fix(_("Give floats."), *edits)


def _floats(scene: Scene, text: str) -> str:
    return f"{scene.jax}.tree.map(lambda leaf: {scene.jnp}.asarray(leaf, float), {text})"


def _written(scene: Scene, name: ast.Name) -> ast.expr | None:
    """Return the container literal that is assigned to a name, or None unless there is exactly one assignment."""
    found = [
        node.value
        for node in ast.walk(scene.source.tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name.id for target in node.targets)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], ast.Dict | ast.List | ast.Tuple) else None


def _integers(node: ast.expr) -> list[ast.Constant]:
    """Return the integer literals in a container, including nested ones."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [node]
    inside = node.values if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return [number for part in inside for number in _integers(part)]


def _integer_leaf(value: Any) -> tuple[str, Any] | None:
    """Return the first integer leaf of a pytree, with its path such as `['w']`."""
    if value is MISSING or callable(value):
        return None
    leaves, _tree = jax.tree_util.tree_flatten_with_path(value)
    return next(((jax.tree_util.keystr(path), leaf) for path, leaf in leaves if _is_integer(leaf)), None)


def _is_integer(leaf: Any) -> bool:
    if is_array(leaf):
        return bool(jax.dtypes.issubdtype(leaf.dtype, np.integer) or leaf.dtype == bool)
    return isinstance(leaf, int)


def _is_tree(value: Any) -> bool:
    return value is not MISSING and not jax.tree_util.all_leaves([value])


def _of_jax(scene: Scene, node: ast.expr) -> bool:
    """Return False for a call of a function outside JAX, which may return a pytree, and True for anything else."""
    function = scene.spot.value(node.func) if isinstance(node, ast.Call) else MISSING
    module = getattr(function, "__module__", None)
    return not isinstance(node, ast.Call) or (isinstance(module, str) and module.split(".")[0] in ("jax", "jaxlib"))


@explains(error_texts.REVERSE_WHILE)
def reverse_through_while(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad` through `lax.while_loop`, or `lax.fori_loop` with a traced count."""
    loop = _loop_before(scene)
    spot, call = loop if loop is not None else (scene.spot, None)
    outer = scene.call()
    fixes: list[Fix | None] = []
    name, line = None, scene.spot.line
    if call is not None and spot.source is not None:
        line = Line(spot.line.file, spot.source.start(call)[0])
        quote = spot.source.quote
        if called(call) == "while_loop":
            go, turn, start = (argument_of(call, i, n) for i, n in enumerate(("cond_fun", "body_fun", "init_val")))
            if go is not None and turn is not None and start is not None:
                name = quote(start)
                step = f"{scene.lax}.cond({_called(quote(go), 'c')}, {_function(quote(turn))}, lambda c: c, c)"
                text = f"{scene.lax}.fori_loop(0, 100, lambda _, c: {step}, {quote(start)})"
                fixes.append(
                    scene.fix(
                        _("Give a largest number of turns (here 100), and do nothing in those that are too many."),
                        spot.source.replace(call, text),
                    )
                )
        else:
            stop = argument_of(call, 1, "upper")
            if stop is not None:
                name = quote(stop)
                fixes.append(_static_count(scene, spot, stop, name))
    made = transformation(scene, outer) if outer is not None else None
    if made is not None and called(made) == "grad":
        base = scene.quote(made.func).removesuffix("grad")
        fixes.append(
            scene.fix(
                _("Go forward, which needs no memory of the turns: good for few inputs."),
                scene.source.replace(made.func, f"{base or scene.jax + '.'}jacfwd"),
            )
        )
    text = "lax.while_loop" if call is None else spot.quote(call.func)
    return scene.explanation(
        "reverse_through_while",
        title=_("A gradient back through a loop of unknown length"),
        what=_("`{name}` decides how often the loop of `{loop}` turns.").format(name=name, loop=text) if name else "",
        variable=name,
        why=_(
            "Going back needs what every turn computed, and how many turns there are is not known when JAX sets "
            "aside the room."
        ),
        fixes=fixes,
        link=f"{error_texts.API}/jax.lax.while_loop.html",
        line=line,
    )


def _static_count(scene: Scene, spot: Spot, stop: ast.expr, name: str) -> Fix | None:
    """Return the fix that makes a loop's count static, in the source of a function that has already returned."""
    if spot.source is None or not isinstance(stop, ast.Name):
        return None
    function = spot.source.function(stop)
    if function is None or name not in [a.arg for a in function.args.args]:
        return None
    edits = static_edits(scene, spot.source, function, name)
    sentence = _("Make `{name}` static: then the number of turns is known.").format(name=name)
    return scene.fix(sentence, *edits) if edits else None


def _loop_before(scene: Scene) -> tuple[Spot, ast.Call] | None:
    """Return the loop that was traced before it was transformed: JAX keeps that traceback as the cause."""
    cause = scene.error.__cause__
    while cause is not None:
        before = Scene(cause)
        for spot in reversed(before.spots):
            call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
            if call is not None and called(call) in ("while_loop", "fori_loop"):
                return spot, call
            named = _named_at(spot)
            if named is not None:
                return spot, named
        cause = cause.__cause__
    return None


def _named_at(spot: Spot) -> ast.Call | None:
    """Return the loop on a line, for tracebacks that know the line but not the column."""
    if spot.source is None:
        return None
    for call in spot.source.calls():
        if called(call) in ("while_loop", "fori_loop") and call.lineno <= spot.line.number <= (call.end_lineno or 0):
            return call
    return None


def _called(function: str, argument: str) -> str:
    return f"({function})({argument})" if function.startswith("lambda") else f"{function}({argument})"


def _function(text: str) -> str:
    return f"({text})" if text.startswith("lambda") else text
