"""Explain values of the wrong type: lists, None, strings and objects instead of arrays, arrays as keys of dicts."""

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.pytrees import (
    are_meant_as_trees,
    as_pytree,
    class_named,
    is_tree_of_arrays,
    tree_map_around,
)
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called, is_traced_integer
from jaxguide.explain.transformed import makers
from jaxguide.jaxpr.value_words import array_type, describe

_TRANSFORMATIONS = ("vmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian")
_ARRAY = f"{error_texts.API}/jax.numpy.asarray.html"
_GOING_THROUGH = (enumerate, iter, list, max, min, reversed, set, sorted, sum, tuple, zip)


@explains(error_texts.LAX_DTYPE)
def lax_dtypes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.add(1, 1.0)`."""
    call = scene.call()
    if call is None or len(call.args) < 2:
        return None
    function, dtypes, name = found.groups()
    if called(call) != function:
        return None
    kinds = dtypes.split(", ")
    odd = next((i for i, kind in enumerate(kinds) if kind.startswith(("int", "uint", "bool"))), 0)
    text: str | None = None
    convert: Fix | None = None
    joined = isinstance(call.args[0], ast.List | ast.Tuple) or isinstance(scene.spot.value(call.args[0]), list | tuple)
    if len(kinds) == len(call.args) and not call.keywords and not joined:
        node = call.args[odd]
        other = next((kind for kind in kinds if kind != kinds[odd]), kinds[-1])
        text, value = scene.quote(node), scene.spot.value(node)
        new = f"{scene.atom(node)}.astype({scene.jnp}.{other})"
        if isinstance(value, int | float):
            new = f"float({text})" if other.startswith("float") else f"{scene.jnp}.asarray({text}, {scene.jnp}.{other})"
        convert = scene.fix("Convert one yourself.", scene.source.replace(node, new))
    edit = scene.source.replace(call.func, f"{scene.jnp}.{name}")

    return scene.explanation(
        "lax_dtypes",
        title=f"`lax.{function}` does not mix dtypes",
        what=f"The arguments are {dtypes}.",
        variable=text,
        why="`jax.lax` is the exact layer: it promotes nothing, and `jax.numpy` above it does.",
        fixes=[
            scene.fix("Use the function of `jax.numpy`, which promotes.", edit),
            convert,
        ],
        link="https://docs.jax.dev/en/latest/type_promotion.html",
    )


@explains(error_texts.NOT_ARRAY)
def not_an_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sum([1.0, 2.0])` and `jnp.sin(None)`."""
    call = scene.call()
    position = int(found[3])
    if call is None or found[2] == "dict":  # a pytree, even if its values are not known here
        return None
    node = call.args[position] if position < len(call.args) else None
    if node is None or ((value := scene.spot.value(node)) is not MISSING and type(value).__name__ != found[2]):
        # The positions are those of a function inside, such as that of an array's method.
        held = [one for one in call.args if type(scene.spot.value(one)).__name__ == found[2]]
        node = held[0] if len(held) == 1 else None
    return None if node is None or _is_tree(scene.spot.value(node)) else no_array(scene, call, node)


def no_array(scene: Scene, call: ast.Call, node: ast.expr) -> Explanation | None:
    """Explain an argument of a `jax.numpy` function that is not an array."""
    text, value = scene.quote(node), scene.spot.value(node)
    fixes: list[Fix | None] = []
    if value is None:
        kind = "none_for_array"
        why = "None is not a number. It often comes from a function that lacks its `return`."
        fixes = _from_a_function(scene, node)
    elif isinstance(value, str):
        kind = "string_for_array"
        why = "JAX computes with numbers; a text has none."
        numeric = re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", value)
        fixes = [
            scene.fix("Read the number out of it.", scene.source.replace(node, f"float({text})"))
            if numeric
            else scene.fix("Give each choice a number, and pass the number.", code=f"{{{value!r}: 0}}[{text}]")
        ]
    elif isinstance(value, list | tuple) or (
        value is MISSING and isinstance(node, ast.List | ast.ListComp | ast.Tuple)
    ):
        kind = "list_for_array"
        why = "JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss."
        fixes = [scene.fix("Say that it is an array.", scene.source.replace(node, f"{scene.jnp}.array({text})"))]
    else:
        return None
    return scene.explanation(
        kind,
        title=f"`{scene.quote(call.func)}` needs an array",
        what=f"`{text}` is {describe(value)} here." if value is not MISSING else "",
        variable=text,
        why=why,
        fixes=fixes,
        link=_ARRAY,
    )


@explains(error_texts.OPERAND)
def operand_not_taken(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x + [1.0, 2.0]` and `x + None`."""
    node = scene.node
    if not isinstance(node, ast.BinOp):
        return None
    wrong = node.right
    text, value = scene.quote(wrong), scene.spot.value(wrong)
    if value is None and tree_map_around(scene) is not None:  # a leaf: `pytrees` explains it
        return None
    if value is None:
        kind, fixes = "none_for_array", _from_a_function(scene, wrong)
        why = "None is not a number. It often comes from a function that lacks its `return`."
    elif isinstance(value, list | tuple) and not _is_tree(value):
        kind = "list_for_array"
        why = "JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss."
        fixes = [scene.fix("Say that it is an array.", scene.source.replace(wrong, f"{scene.jnp}.array({text})"))]
    else:
        return None
    return scene.explanation(
        kind,
        title=f"`{found[1]}` needs an array on both sides",
        what=f"`{text}` is {describe(value)} here.",
        variable=text,
        why=why,
        fixes=fixes,
        link=_ARRAY,
    )


def _is_tree(value: Any) -> bool:
    """Return whether a value is a pytree rather than a list of numbers: `pytrees` explains those."""
    return is_tree_of_arrays(value) and are_meant_as_trees([value])


@explains(error_texts.LIST_TIMES)
def repeated_list(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `[1.0] * n` with a traced count."""
    node, kind = scene.node, found[1]
    traced = scene.tracer(node)
    if traced is None or not isinstance(node, ast.BinOp):
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    array = scene.fix(
        "If every entry is to be multiplied: make an array of the list.",
        scene.source.replace(node.left, f"{scene.jnp}.array({scene.quote(node.left)})"),
    )
    return scene.explanation(
        "list_times_tracer",
        title=f"A {kind} needs a known count, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=f"Python repeats a {kind} now, while JAX records the program, and the count comes later.",
        fixes=[
            static_fix(scene, tracer) if is_traced_integer(tracer) else None,  # a float counts nothing
            array if kind != "str" else None,
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
    least = 3 if called(call) == "full" else 2
    if len(numbers) < least or call.args[-len(numbers) :] != numbers:
        return None
    if not _takes_a_shape(scene.spot.value(call.func)):
        return None
    at_dtype = numbers[1]
    if called(call) == "full":  # the entry comes last
        at_dtype, numbers = numbers[-1], numbers[:-1]
    texts = [scene.quote(n) for n in numbers]
    source = scene.source
    return scene.explanation(
        "shape_without_tuple",
        title="A shape that is not in one tuple",
        what=f"`{scene.quote(at_dtype)}` stands where the dtype belongs.",
        variable=scene.quote(at_dtype),
        why=f"`{scene.quote(call.func)}` takes the whole shape as one argument.",
        fixes=[
            scene.fix(
                "Put the sizes into a tuple.",
                Edit(source.file, source.start(numbers[0]), source.end(numbers[-1]), f"({', '.join(texts)})"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.zeros.html",
    )


def _takes_a_shape(function: Any) -> bool:
    try:
        return "shape" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


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
    found_key = next(((k, scene.spot.value(k)) for k in keys if isinstance(scene.spot.value(k), jax.Array)), None)
    if found_key is None:
        return None
    key, value = found_key
    text = scene.quote(key)
    new = f"{scene.atom(key)}.item()" if value.ndim == 0 else f"tuple({scene.atom(key)}.tolist())"
    if value.ndim > 1:  # the tuple would hold lists
        new = f"tuple({scene.atom(key)}.ravel().tolist())"
    return scene.explanation(
        "array_as_key",
        title="An array used where a hash is needed",
        what=scene.what(text, value),
        variable=text,
        why="A dict finds a key by its hash, and arrays are compared entry by entry, so they have none.",
        fixes=[scene.fix("Use Python numbers as the key.", scene.source.replace(key, new))],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


@explains(error_texts.UNHASHABLE_TRACER)
def looked_up(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a traced value as the key of a dict, as in `table[i]`."""
    node = scene.node
    where = node.slice if isinstance(node, ast.Subscript) else node
    traced = scene.tracer(where)
    method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if method is not None and not isinstance(scene.spot.value(method.value), dict | set | frozenset):
        return None  # a method with a cache, for one
    if traced is None or (isinstance(node, ast.Call) and method is None):
        return None
    held = scene.spot.value(method.value) if method is not None else None
    if isinstance(node, ast.Compare):
        held = scene.spot.value(node.comparators[-1])
    kind = type(held).__name__ if isinstance(held, set | frozenset) else "set" if isinstance(node, ast.Set) else "dict"
    variable, tracer = scene.quote(traced[0]), traced[1]
    table = scene.spot.value(node.value) if isinstance(node, ast.Subscript) else MISSING
    by_number: Fix | None = None
    read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    if read and isinstance(table, dict) and table and list(table) == list(range(len(table))):
        name = scene.quote(node.value)  # type: ignore[attr-defined]
        values = list(table.values())
        if all(callable(one) for one in values):
            words = "Let the program choose one of the functions: `{lax}.switch({index}, list({name}.values()), ...)`."
            by_number = scene.advice(words.format(lax=scene.lax, index=scene.quote(where), name=name))
        elif all(is_array(one) or isinstance(one, int | float) for one in values):
            by_number = scene.fix(
                "Make an array of its values: an array can be indexed by a traced number.",
                scene.source.replace(node, f"{scene.jnp}.array(list({name}.values()))[{scene.quote(where)}]"),
            )
    fixes = [by_number, static_fix(scene, *(value for _part, value in scene.spot.parts(where) if is_tracer(value)))]
    if not any(fixes) and isinstance(node, ast.Subscript) and not read:
        words = "Keep the values in an array, which is changed with `.at[{name}].set(...)`."
        fixes = [scene.advice(words.format(name=variable))]
    if not any(fixes):
        words = "Keep an array of keys and one of values, and compare: `{jnp}.where(keys == {name}, values, 0).sum()`."
        fixes = [scene.advice(words.format(jnp=scene.jnp, name=variable))]
    return scene.explanation(
        "dict_key_of_tracer",
        title=f"A dict needs a known key, but `{variable}` is traced"
        if kind == "dict"
        else f"A {kind} needs known entries, but `{variable}` is traced",
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=f"A {kind} looks up a value now, while JAX records the program, and the value comes later.",
        fixes=fixes,
        link=error_texts.STATIC_LINK,
    )


@explains(structure_texts.NO_LENGTH)
def length_of_scalar(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `len(x)` of an array of shape ()."""
    call = scene.node
    if not isinstance(call, ast.Call) or called(call) != "len" or len(call.args) != 1:
        return None
    text, value = scene.quote(call.args[0]), scene.spot.value(call.args[0])
    inner = call.args[0]
    made = isinstance(inner, ast.Call) and scene.spot.value(inner.func) in (jax.numpy.array, jax.numpy.asarray)
    if not made and not (is_array(value) and value.ndim == 0):
        return None
    return scene.explanation(
        "length_of_scalar",
        title="A number has no length",
        what=scene.what(text, value) if is_array(value) else "",
        variable=text,
        why="`len` counts the entries of the first axis, and an array of shape () has no axis.",
        fixes=[
            scene.fix("Count all entries: 1 here.", scene.source.replace(call, f"{scene.atom(inner)}.size")),
            scene.advice("Or find out why it has no axis: `jax.vmap` and indices take one away."),
        ],
        link=f"{error_texts.API}/jax.numpy.size.html",
    )


@explains(error_texts.SCALAR_ITERATION)
def scalar_iteration(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop over an array of shape ()."""
    node: ast.AST = scene.node.iter if isinstance(scene.node, ast.For | ast.comprehension) else scene.node
    if isinstance(getattr(node, "ctx", None), ast.Store):  # a result that is taken apart: the names hold older values
        return None
    outer = scene.source.parents.get(node)
    looped = isinstance(outer, ast.For | ast.comprehension) and outer.iter is node
    part = scene.spot.first(node, _is_number)
    if isinstance(node, ast.Call) and any(scene.spot.value(node.func) is one for one in _GOING_THROUGH):
        part = next(((one, value) for one in node.args if _is_number(value := scene.spot.value(one))), None)
        if len(node.args) == 1 and isinstance(node.args[0], ast.Call):
            return _iteration_of_result(scene, node.args[0])
    elif isinstance(node, ast.Call) and looped:
        return _iteration_of_result(scene, node)
    if part is None:
        return None
    text = scene.quote(part[0])
    integer = jax.dtypes.issubdtype(part[1].dtype, np.integer) and not is_tracer(part[1])
    fixes = [
        scene.fix(
            "Give it an axis of length 1.",
            scene.source.replace(part[0], f"{scene.jnp}.atleast_1d({text})"),
        )
    ]
    if integer:
        fixes.insert(
            0,
            scene.fix("Count up to it.", scene.source.replace(part[0], f"range({text})")),
        )
    return scene.explanation(
        "scalar_iteration",
        title="A number has no entries to go through",
        what=scene.what(text, part[1]),
        variable=text,
        why="{type} has no axis: `for` goes along the first one.".format(type=f"`{array_type(part[1])}`"),
        fixes=fixes,
        link=f"{error_texts.API}/jax.numpy.atleast_1d.html",
    )


def _is_number(value: Any) -> bool:
    return is_array(value) and value.ndim == 0


def _iteration_of_result(scene: Scene, node: ast.Call) -> Explanation | None:
    """Explain a loop over the result of a call, such as `x.sum()`, which is a number."""
    text = scene.quote(node)
    return scene.explanation(
        "scalar_iteration",
        title="A number has no entries to go through",
        what=f"`{text}` has shape () here.",
        variable=text,
        why="An array of shape () has no axis: `for` goes along the first one.",
        fixes=[
            scene.fix("Give it an axis of length 1.", scene.source.replace(node, f"{scene.jnp}.atleast_1d({text})")),
            scene.advice("Or keep an axis where it is computed: `axis=` says which one goes."),
        ],
        link=f"{error_texts.API}/jax.numpy.atleast_1d.html",
    )


def _first(scene: Scene, outer: ast.Call, holds: Callable[[Any], bool]) -> int | None:
    values = [scene.spot.value(argument) for argument in outer.args]
    return next((i for i, value in enumerate(values) if value is not MISSING and holds(value)), None)


@explains(error_texts.NOT_JAX_TYPE)
def not_a_jax_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a string or another value that is not an array, passed to a mapped or differentiated function."""
    outer = scene.call()
    if outer is None:
        return None
    name = found[2].split(".")[-1]
    made = outer.func if isinstance(outer.func, ast.Call) else next(iter(makers(scene, outer)), outer)
    if "." in found[2] and class_named(scene, name)[1] is not None:
        return _object_given(scene, outer, made, name)
    if called(made) not in _TRANSFORMATIONS or not made.args:
        return None
    if any(_is_of_equinox(scene.spot.value(argument)) for argument in outer.args):
        return _model_given(scene, outer, made)
    if made is not outer.func:
        return None
    position = _first(scene, outer, lambda value: type(value).__name__ == name and not is_array(value))
    if position is None or outer.keywords or len(made.args) != 1 or made.keywords:
        return None
    node = outer.args[position]
    text, function, name = scene.quote(node), scene.atom(made.args[0]), scene.quote(made.func)
    names = [f"x{i}" if i else "x" for i in range(len(outer.args) - 1)]
    handed = [*names]
    handed.insert(position, text)
    rest = [scene.quote(a) for i, a in enumerate(outer.args) if i != position]
    new = f"{name}(lambda {', '.join(names)}: {function}({', '.join(handed)}))({', '.join(rest)})"
    number = next((i for i in range(len(outer.args)) if i != position), None)
    return scene.explanation(
        "mapped_no_array" if called(made) == "vmap" else "differentiated_no_array",
        title=f"`{name}` was given something that is not an array",
        what=f"`{text}` is {describe(scene.spot.value(node))} here.",
        variable=text,
        why="`jax.vmap` takes every argument apart along an axis, and only arrays have axes."
        if called(made) == "vmap"
        else "A derivative asks what a small change of the argument does, and only numbers change by a little.",
        fixes=[
            scene.fix("Pass it inside a function of the other arguments.", scene.source.replace(outer, new)),
            scene.fix(
                "Differentiate with respect to another argument.",
                scene.source.insert_after(made.args[0], f", argnums={number}"),
            )
            if called(made) != "vmap" and number is not None
            else None,
        ],
        link=f"{error_texts.API}/jax.vmap.html" if called(made) == "vmap" else f"{error_texts.API}/jax.grad.html",
    )


def _is_of_equinox(value: Any) -> bool:
    return any(cls.__module__.split(".")[0] == "equinox" for cls in type(value).__mro__)


def _model_given(scene: Scene, outer: ast.Call, made: ast.Call) -> Explanation | None:
    """Explain `jax.grad(loss)(model)` of an Equinox model, which holds activation functions too."""
    node = next(argument for argument in outer.args if _is_of_equinox(scene.spot.value(argument)))
    name = {"grad": "filter_grad", "value_and_grad": "filter_value_and_grad", "vmap": "filter_vmap"}.get(called(made))
    module = scene.name_of("equinox")
    if name is None:
        return None
    known = not module.startswith(f"{scene.jax}.") and not made.keywords
    return scene.explanation(
        "model_with_functions",
        title=f"`{scene.quote(made.func)}` was given a model that holds more than arrays",
        what=scene.what(scene.quote(node), scene.spot.value(node)),
        variable=scene.quote(node),
        why="An Equinox model is a pytree, and its functions, such as the activation, are leaves of it.",
        fixes=[
            scene.fix(
                f"Use Equinox's `{name}`, which leaves alone what is not an array.",
                scene.source.replace(made.func, f"{module}.{name}") if known else None,
                code="" if known else f"equinox.{name}",
            )
        ],
        link="https://docs.kidger.site/equinox/api/transformations/",
    )


def _object_given(scene: Scene, outer: ast.Call, made: ast.Call, name: str) -> Explanation | None:
    """Explain an object of a student's class that is not a pytree."""
    given = next((a for a in outer.args if type(scene.spot.value(a)).__name__ == name), None)
    given = given or next((a for a in outer.args if isinstance(a, ast.Call) and called(a) == name), None)
    text = scene.quote(given) if given is not None else name
    value = scene.spot.value(given)
    return scene.explanation(
        "object_no_pytree",
        title=f"`{scene.quote(made.func)}` was given something that is not an array",
        what=f"`{text}` is an object of type `{name}` here."
        if given is not None
        else f"An argument holds an object of type `{name}`.",
        variable=text,
        why="JAX looks for arrays in an argument, and into a class only where it is registered as a pytree.",
        fixes=[
            as_pytree(scene, name, value if type(value).__name__ == name else MISSING, given)
            or scene.advice("Pass its arrays in a tuple or a dict, or register its class as a pytree.")
        ],
        link=f"{error_texts.API}/jax.tree_util.register_dataclass.html",
    )


def _gives_an_array(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression computes with arrays: an operation, or a call of a function of JAX or NumPy."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.BinOp | ast.Subscript | ast.Name)
    home = str(getattr(scene.spot.value(node.func), "__module__", None))
    return home.split(".")[0] in ("jax", "numpy") and "callback" not in home and "debug" not in home


def _from_a_function(scene: Scene, node: ast.expr) -> list[Fix | None]:
    """Return the fix for a value that a function should have returned."""
    if not isinstance(node, ast.Name):
        return [scene.fix("Find where it comes from, and give an array.", code=f"print({scene.quote(node)})")]
    for statement in ast.walk(scene.source.tree):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if not any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
            continue
        if scene.source.function(statement) is not scene.spot.function:
            continue
        for function in scene.source.functions(called(statement.value)):
            last = function.body[-1]
            if any(isinstance(n, ast.Return) for n in ast.walk(function)):
                continue
            name = scene.quote(statement.value.func)
            if isinstance(last, ast.Expr) and not _gives_an_array(scene, last.value):
                return [scene.advice(f"`{name}` returns nothing: let it return an array.")]
            if isinstance(last, ast.Expr):
                return [
                    scene.fix(
                        f"`{name}` returns nothing: let it return its last value.",
                        scene.source.insert_before(last, "return "),
                    )
                ]
            if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
                line = f"\n{scene.source.indent(last)}return {last.targets[0].id}"
                return [
                    scene.fix(
                        f"`{name}` returns nothing: let it return its last value.",
                        scene.source.insert_after(last, line),
                    )
                ]
    return [scene.fix(f"Find where `{node.id}` became None.", code=f"assert {node.id} is not None")]
