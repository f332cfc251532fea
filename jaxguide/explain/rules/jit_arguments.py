"""Explain what `jax.jit` cannot take or return: unhashable static arguments, strings, functions, objects."""

import ast
import dataclasses
import difflib
import functools
import re
import sys
from types import BuiltinFunctionType, FunctionType
from typing import Any

import jax
import numpy as np

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.frames import is_library
from jaxguide.code.lines import Line
from jaxguide.code.source import FunctionNode, Source, arguments_of, dotted, source_of
from jaxguide.code.user_frame import MISSING, UserFrame, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.objects import object_fixes
from jaxguide.explain.rewrites.pytrees import as_pytree, class_named
from jaxguide.explain.rewrites.static_arguments import is_jit, jit_call_of, static_edits, static_fix, static_keyword
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import part_of, returned
from jaxguide.jaxpr.value_words import describe, object_of_type


@explains(error_texts.UNHASHABLE_STATIC)
def unhashable_static(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a list, dict or array as a static argument."""
    call = scene.call()
    if call is None:
        return None
    mapped = isinstance(call.func, ast.Call) and called(call.func) == "vmap" and bool(call.func.args)
    if mapped and isinstance(call.func, ast.Call):
        call = ast.Call(call.func.args[0], call.args, call.keywords)
    jitted = _jitted_function(scene, call)
    if jitted is None:
        return None
    source, function = jitted
    names = arguments_of(function)
    declared = jit_call_of(source, function) if isinstance(function, ast.FunctionDef) else None
    static = _static_names(declared, names) if declared is not None else names
    method = 1 if isinstance(call.func, ast.Attribute) and names[:1] == ["self"] else 0
    given = [(names[i + method], a) for i, a in enumerate(call.args) if i + method < len(names)]
    given += [(k.arg, k.value) for k in call.keywords if k.arg]
    for name, node in given:
        value = scene.spot.value(node)
        if name not in static or (value is not MISSING and _hashable(value)):
            continue
        text = scene.quote(node)
        traced = scene.tracer(node)
        if mapped or traced is not None:
            return _traced_static(
                scene, name, _function_name(function), node, traced[1] if traced is not None else None
            )
        found_class = _class_without_hash(scene, value)
        if found_class is not None:
            return _object_without_hash(scene, found_class, name, _function_name(function), node, value)
        array = is_array(value) or (value is MISSING and isinstance(node, ast.Call) and _is_of_array(scene))
        fixes: list[Fix | None] = []
        if isinstance(node, ast.List) or isinstance(value, list):
            new = f"({text[1:-1].rstrip(', ')},)" if isinstance(node, ast.List) and node.elts else f"tuple({text})"
            if isinstance(node, ast.List) and len(node.elts) > 1:
                new = f"({text[1:-1]})"
            fixes.append(
                scene.fix("Give a tuple: it cannot change, so it has a hash.", scene.source.replace(node, new))
            )
        elif is_array(value) and value.ndim == 0 and not is_tracer(value):
            convert = "int" if jax.dtypes.issubdtype(value.dtype, np.integer) else "float"
            number = scene.source.replace(node, f"{convert}({text})")
            fixes.append(scene.fix("Give a Python number, which has a hash.", number))
        elif value is MISSING and isinstance(node, ast.Dict):
            words = (
                "Make each option that decides a shape or a branch a static argument of its own, and leave the arrays "
                "traced; or give a frozen dataclass."
            )
            fixes.append(scene.advice(words))
        elif array or isinstance(value, dict):
            fixes.append(
                scene.fix(
                    f"Leave `{name}` traced: what holds numbers need not be static.",
                    *_without_static(source, declared, name, names),
                )
            )
        if not fixes:
            return None
        kind = "an array" if array else "a dict" if value is MISSING else describe(value)
        return scene.explanation(
            "unhashable_static",
            title="A static argument has no hash",
            what=f"`{text}` is {kind}, given for the static argument `{name}` of `{_function_name(function)}`.",
            variable=name,
            why=(
                "JAX keeps one compiled program for each static value and looks it up by its hash; what can change "
                "has none."
            ),
            fixes=fixes,
            link=error_texts.STATIC_LINK,
        )
    return None


def _is_of_array(scene: Scene) -> bool:
    """Return whether JAX says that the argument without a hash is an array."""
    said = error_texts.UNHASHABLE_TYPE.search(scene.message)
    return said is not None and said[1].rpartition(".")[2] in ("ArrayImpl", "ndarray")


def _class_without_hash(scene: Scene, value: Any) -> type | None:
    """Return the student's class that JAX names as that of the argument without a hash; None if it is another."""
    said = error_texts.UNHASHABLE_TYPE.search(scene.message)
    if said is None or "." not in said[1]:
        return None
    found = type(value) if value is not MISSING else scene.spot.value(ast.Name(said[1].rpartition(".")[2], ast.Load()))
    same = isinstance(found, type) and f"{found.__module__}.{found.__qualname__}" == said[1]
    return found if same and class_named(scene, found.__name__)[1] is not None else None


def _object_without_hash(
    scene: Scene, kind: type, name: str, function: str, node: ast.expr, value: Any
) -> Explanation | None:
    """Explain an object of a student's class as a static argument."""
    said = error_texts.UNHASHABLE_TYPE.search(scene.message)
    part = said[2] if said is not None else ""
    if getattr(kind, "__hash__", None) is not None:  # it asks its fields for their hashes
        why = "Its hash needs the hash of each part, and {part} is not hashable.".format(part=f"`{part}`")
        fix: Fix | None = scene.advice(
            f"Keep in `{kind.__name__}` what has a hash, such as tuples in place of lists, and pass arrays by "
            "themselves."
        )
    elif dataclasses.is_dataclass(kind):
        why = "Python gives a dataclass no hash, because its fields can change; a frozen one has that of its fields."
        fix = _frozen(scene, kind, node, value)
    else:
        why = "A class that defines `__eq__` has no hash unless it defines `__hash__` too."
        fix = scene.advice(
            f"Define `__hash__` in `{kind.__name__}`, such that equal objects have equal hashes, and never change them."
        )
    return scene.explanation(
        "unhashable_static",
        title="A static argument has no hash",
        what=(
            f"`{scene.quote(node)}` is an object of `{kind.__name__}`, given for the static argument `{name}` of "
            f"`{function}`."
        ),
        variable=name,
        why=why,
        fixes=[fix],
        link=error_texts.STATIC_LINK,
    )


def _frozen(scene: Scene, kind: type, node: ast.expr, value: Any) -> Fix:
    """Return the fix that freezes a dataclass; in words if something changes its fields, or they may have no hash."""
    names = [field.name for field in dataclasses.fields(kind)]
    sentence = f"Declare `{kind.__name__}` with `frozen=True`: its fields cannot be set later, and give it a hash."
    stored = [
        one.lineno
        for source in dict.fromkeys(spot.source for spot in scene.spots if spot.source is not None)
        for one in ast.walk(source.tree)
        if isinstance(one, ast.Attribute) and one.attr in names and not isinstance(one.ctx, ast.Load)
    ]
    if stored:
        words = (
            "Declare `{kind}` with `frozen=True`, which gives it a hash, and make a copy with `dataclasses.replace` "
            "where line {line} sets a field."
        )
        return scene.advice(words.format(kind=kind.__name__, line=stored[0]))
    given = (
        [getattr(value, name, MISSING) for name in names] if value is not MISSING else _given_fields(scene, node, kind)
    )
    if any(one is not MISSING and not _hashable(one) for one in given):
        words = (
            "Declare `{kind}` with `frozen=True`, and keep in it what has a hash: tuples in place of lists, and no "
            "arrays, which are arguments of their own."
        )
        return scene.advice(words.format(kind=kind.__name__))
    source, found = class_named(scene, kind.__name__)
    edit = _freezing(source, found) if source is not None and found is not None else None
    alone = not kind.__subclasses__() and not any(dataclasses.is_dataclass(base) for base in kind.__mro__[1:])
    made = scene.fix(sentence, edit) if edit is not None and alone and MISSING not in given else None
    return made or scene.advice(sentence)


def _given_fields(scene: Scene, node: ast.expr, kind: type) -> list[Any]:
    """Return what the fields of a new object are; MISSING for what is not known."""
    if not isinstance(node, ast.Call) or scene.spot.value(node.func) is not kind or "__post_init__" in vars(kind):
        return [MISSING]
    values = [scene.spot.value(one) for one in [*node.args, *(keyword.value for keyword in node.keywords)]]
    fields = [field for field in dataclasses.fields(kind) if field.init][len(node.args) :]
    rest = [field for field in fields if field.name not in [keyword.arg for keyword in node.keywords]]
    unset = dataclasses.MISSING
    return values + [MISSING if field.default is unset else field.default for field in rest]


def _freezing(source: Source, found: ast.ClassDef) -> Edit | None:
    """Return the edit that writes `frozen=True` into the decorator of a dataclass."""
    for one in found.decorator_list:
        decorator = one.func if isinstance(one, ast.Call) else one
        if dotted(decorator).split(".")[-1] != "dataclass":
            continue
        given = [source.quote(a) for a in one.keywords if a.arg != "frozen"] if isinstance(one, ast.Call) else []
        return source.replace(one, f"{source.quote(decorator)}({', '.join(['frozen=True', *given])})")
    return None


def _traced_static(scene: Scene, name: str, function: str, node: ast.expr, tracer: Any) -> Explanation | None:
    """Explain a traced value passed as a static argument, inside another `jax.jit` or under `jax.vmap`."""
    text = scene.quote(node)
    fix = static_fix(scene, tracer) if tracer is not None else None
    words = "Give a Python value: a number that is known while JAX records, and the same for every row."
    return scene.explanation(
        "traced_for_static",
        title=f"A static argument needs a known value, but `{text}` is traced",
        what=f"`{text}` is given for the static argument `{name}` of `{function}`.",
        variable=text,
        why=f"`{function}` is compiled for each value of `{name}`, and a traced value comes only later.",
        fixes=[fix or scene.advice(words)],
        link=error_texts.STATIC_LINK,
    )


@explains(error_texts.STATIC_NAME)
def unknown_static_name(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a name in `static_argnames` that the function does not have."""
    wrong = re.findall(r"'(\w+)'", found[1])
    source = scene.source
    statement = scene.spot.statement
    function = statement if isinstance(statement, ast.FunctionDef) else source.around(scene.node, ast.FunctionDef)
    names = arguments_of(function) if function is not None else []
    if function is None:
        call = scene.call()
        value = scene.spot.value(call.args[0]) if call is not None and call.args else None
        code = getattr(value, "__code__", None)
        names = list(code.co_varnames[: code.co_argcount]) if code else []
    if not wrong or not names:
        return None
    near = difflib.get_close_matches(wrong[0], names, n=1)
    constants = [n for n in ast.walk(statement or scene.node) if isinstance(n, ast.Constant) and n.value == wrong[0]]
    return scene.explanation(
        "static_name_unknown",
        title="`static_argnames` names an argument that is not there",
        what="`{name}` is not one of the arguments ({names}).".format(name=wrong[0], names=", ".join(names)),
        variable=wrong[0],
        why="`jax.jit` finds a static argument by its name in the `def` line.",
        fixes=[
            scene.fix(
                "Write the argument's own name.",
                source.replace(constants[0], f'"{near[0]}"') if constants and near else None,
            )
            or scene.advice("Name one of these, or leave it out.")
        ],
        link=error_texts.STATIC_LINK,
    )


@explains(error_texts.STATIC_NUMBER)
def unknown_static_number(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a number in `static_argnums` that is too large."""
    statement = scene.spot.statement
    keyword = next(
        (n for n in ast.walk(statement) if isinstance(n, ast.keyword) and n.arg == "static_argnums")
        if statement
        else iter(()),
        None,
    )
    if keyword is None or int(found[2]) == 0:
        return None
    last = int(found[2]) - 1
    return scene.explanation(
        "static_number_unknown",
        title="`static_argnums` counts an argument that is not there",
        what=plural(
            "`static_argnums={number}` for a function of {count} argument.",
            "`static_argnums={number}` for a function of {count} arguments.",
            int(found[2]),
            number=found[1],
        ),
        variable="static_argnums",
        why="Arguments are counted from 0.",
        fixes=[
            scene.fix(
                "Give the number of the last one, or better its name in `static_argnames`.",
                scene.source.replace(keyword.value, str(last)) if int(found[1]) == last + 1 else None,
            )
            or scene.advice("Give the argument's own name, in `static_argnames`.")
        ],
        link=error_texts.STATIC_LINK,
    )


def _static_names(declared: ast.Call, names: list[str]) -> list[str]:
    static: list[str] = []
    for keyword in declared.keywords:
        values = [n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant)]
        if keyword.arg == "static_argnames":
            static += [str(v) for v in values]
        elif keyword.arg == "static_argnums":
            static += [names[v] for v in values if isinstance(v, int) and v < len(names)]
    return static


def _without_static(source: Source, declared: ast.Call | None, name: str, names: list[str]) -> list[Edit | None]:
    """Return the edits that remove a name from the static arguments, or the whole keyword if it is the only one."""
    static = _static_names(declared, names) if declared is not None else []
    if declared is None or name not in static:
        return [None]
    others = [n for n in static if n != name]
    rest = [k for k in declared.keywords if k.arg not in ("static_argnames", "static_argnums")]
    arguments = [source.quote(a) for a in declared.args] + [f"{k.arg}={source.quote(k.value)}" for k in rest]
    if others:
        arguments.append(static_keyword(others))
    if dotted(declared.func).endswith("partial") and len(arguments) == 1:
        return [source.replace(declared, arguments[0])]
    if not arguments:
        return [source.replace(declared, source.quote(declared.func))]
    return [source.replace(declared, f"{source.quote(declared.func)}({', '.join(arguments)})")]


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@explains(error_texts.NOT_AN_ARGUMENT)
def not_an_array_argument(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a string, a function or an object passed to a jitted function."""
    call = scene.call()
    if call is None:
        return None
    path = found[2]
    top = re.split(r"[.\[]", path)[0]
    jitted = _jitted_function(scene, call) or _jitted_method(scene)
    if jitted is None:  # one of JAX's own functions, which `wrong_types` explains
        return None
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
    if top == "self" and value is not MISSING and type(value).__name__ != kind:
        given, value = None, MISSING
    if path != top:
        return _inside_an_argument(scene, source, function, path, given, found[1])
    if kind == "ndarray":  # not of numbers: `arrays_of_text` explains those that it knows
        return None
    static = scene.fix(
        f"Make `{top}` static: JAX then compiles once for each value of it.",
        *static_edits(scene, source, function, top),
        code="" if isinstance(function, ast.Lambda) else f'@{scene.jax}.jit(static_argnames="{top}")',
    )
    if isinstance(value, str):
        kinds, fixes = "string_argument", [static]
    elif _is_function(value) and top != "self":
        kinds, fixes = "function_argument", [static]
        if isinstance(given, ast.Name | ast.Attribute) and isinstance(function, ast.FunctionDef):
            fixes.append(
                scene.fix(
                    "Leave it out of the jitted function's arguments: jit a function that uses it.",
                    code=f"{scene.jax}.jit(lambda ...: {function.name}({scene.quote(given)}, ...))",
                )
            )
    else:
        kinds = "object_argument"
        fixes = object_fixes(scene, (source, function), top, kind, value, given)
    said = "self" if top == "self" else scene.quote(given) if given is not None else path
    what = (
        f"`{said}` is {describe(value) if value is not MISSING else object_of_type(kind)} here, and "
        f"`{_function_name(function)}` is compiled by `jax.jit`."
    )
    return scene.explanation(
        kinds,
        title="`jax.jit` was given something that is not an array",
        what=what,
        variable=said,
        why="Every argument of a jitted function becomes a traced array, unless it is declared static.",
        fixes=fixes,
        link=error_texts.STATIC_LINK,
    )


def _is_function(value: object) -> bool:
    """Return whether a value is found by what it is and has no attributes to change: a function or a class."""
    plain = isinstance(value, FunctionType | BuiltinFunctionType | type | functools.partial)
    of_jax = type(value).__module__.split(".")[0] in ("jax", "jaxlib", "numpy")  # jitted functions, ufuncs
    return plain or (callable(value) and of_jax)


def _inside_an_argument(
    scene: Scene, source: Source, function: FunctionNode, path: str, given: ast.expr | None, kind: str
) -> Explanation | None:
    """Explain a leaf that is not an array, such as a text in a dict or a function in a model."""
    inside = path[len(re.split(r"[.\[]", path)[0]) :]
    value = scene.spot.value(given)
    leaves = jax.tree_util.tree_flatten_with_path(value)[0] if value is not MISSING else []
    leaf = next((leaf for where, leaf in leaves if jax.tree_util.keystr(where) == inside), MISSING)
    name = f"{scene.quote(given)}{inside}" if given is not None else path
    last = kind.split(".")[-1]
    held = [one for _where, one in leaves]
    if held and all(map(_is_function, held)) and _hashable(value):  # as an optimizer of optax is
        top = path.removesuffix(inside)
        words = f"Make `{top}` static: JAX then compiles once for each value of it."
        fixes: list[Fix | None] = [scene.fix(words, *static_edits(scene, source, function, top)) or scene.advice(words)]
    elif any(cls.__module__.split(".")[0] == "equinox" for cls in type(value).__mro__):
        fixes = [_filter_jit(scene, source, function)]
    elif class_named(scene, last)[1] is not None:
        fixes = [as_pytree(scene, last, leaf)]
        fixes += [
            scene.advice(f"Pass its arrays in a tuple or a dict, or register its class `{last}` as a pytree.")
            if not any(fixes)
            else None
        ]
    else:
        words = "Take `{name}` out, and pass it as an argument of its own, which is static."
        fixes = [scene.advice(words.format(name=name))]
    return scene.explanation(
        "object_argument",
        title="`jax.jit` was given something that is not an array",
        what=(
            f"`{name}` is {describe(leaf) if leaf is not MISSING else object_of_type(last)} here, and "
            f"`{_function_name(function)}` is compiled by `jax.jit`."
        ),
        variable=name,
        why="Every leaf of an argument of a jitted function becomes a traced array.",
        fixes=fixes,
        link=error_texts.STATIC_LINK,
    )


def _filter_jit(scene: Scene, source: Source, function: FunctionNode) -> Fix | None:
    """Return the fix that jits a function of an Equinox model, whose activation functions are leaves of the pytree."""
    sentence = "Use Equinox's `filter_jit`, which makes everything static that is not an array."
    known = source.file == scene.source.file
    name = scene.name_of("equinox") if known and "equinox" in sys.modules else ""
    plain = [d for d in getattr(function, "decorator_list", []) if is_jit(d)]
    if len(plain) != 1 or name.startswith(f"{scene.jax}.") or not name:
        return scene.advice(sentence)
    return scene.fix(sentence, source.replace(plain[0], f"{name}.filter_jit"))


@explains(error_texts.NOT_JAX_RESULT)
def not_an_array_result(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a string or a function returned by a jitted function."""
    source = source_of(found[2])
    if source is None:
        return None
    function = source.function_at(found[1].split(".")[-1], int(found[3]))
    if function is None:
        return None
    result = returned(function)
    path = re.sub(r"^\w+", "", found[5] or "")
    node = part_of(result, path) if result is not None else None
    name, edit = _function_name(function), _without(source, node) if path and node is not None else None
    text = source.quote(node) if node is not None else name
    return scene.explanation(
        "result_no_array",
        title="A jitted function returns something that is not an array",
        what=f"`{text}` is of type `{found[4]}`, returned by `{name}`."
        if node is not None
        else f"`{name}` returns a value of type `{found[4]}`.",
        variable=text,
        why="The compiled program hands back arrays; what is not an array cannot come out of it.",
        fixes=[
            *_registered(scene, found[4]),
            scene.fix("Return the arrays only, and make the rest outside.", edit),
            scene.fix(
                "Jit only the part that computes, and call it from a plain function.",
                code=f"compute = {scene.jax}.jit(...)",
            ),
        ],
        link=f"{error_texts.API}/jax.jit.html",
        line=_line(source, node if node is not None else function),
    )


def _without(source: Source, node: ast.expr) -> Edit | None:
    """Return the edit that leaves a value out of the tuple or list that holds it; None if that would be empty."""
    holder = source.parents.get(node)
    if not isinstance(holder, ast.Tuple | ast.List):
        return None
    rest = [source.quote(one) for one in holder.elts if one is not node]
    text = ", ".join(rest)
    if isinstance(holder, ast.List):
        text = f"[{text}]"
    elif len(rest) > 1 and not isinstance(source.parents.get(holder), ast.Return):
        text = f"({text})"
    return source.replace(holder, text) if rest else None


def _registered(scene: Scene, kind: str) -> list[Fix | None]:
    """Return the fixes for a result that is an object of a student's class."""
    name = kind.split(".")[-1]
    if "." not in kind or class_named(scene, name)[1] is None:
        return []
    words = "Register its class `{kind}` as a pytree, or return its arrays in a tuple or a dict."
    return [as_pytree(scene, name) or scene.advice(words.format(kind=name))]


# The result of a computation, as JAX prints what it got in place of a function.
_IS_NUMBER = re.compile(r"\w*Tracer|Traced<|Array\(|\[[\[\s\d.\-]|-?(?:\d|inf|nan)|True|False")


@explains(error_texts.NOT_CALLABLE)
def called_too_early(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jax.grad(f(x))`, which calls the function instead of passing it."""
    call = scene.call()
    if call is None or not call.args or not isinstance(call.args[0], ast.Call):
        return None
    if not _IS_NUMBER.match(scene.message[found.end() :].strip()):  # such as None, of a factory without `return`
        return None
    inner, name = call.args[0], scene.quote(call.func)
    function = scene.quote(inner.func)
    outer = scene.source.parents.get(call)
    again = isinstance(outer, ast.Call) and outer.func is call
    if not again and not _is_users(
        scene.spot, getattr(getattr(scene.spot.value(inner.func), "__code__", None), "co_filename", "<frozen ")
    ):
        return None  # `jax.jit(jnp.ones(3))`: unclear what was meant
    arguments = ", ".join(scene.quote(a) for a in [*inner.args, *(k.value for k in inner.keywords)])
    made = scene.source.replace(inner, function) if again else None
    whole = None if again or call.keywords else scene.source.replace(call, f"{name}({function})({arguments})")
    return scene.explanation(
        "function_called_too_early",
        title=f"`{name}` needs a function",
        what=f"`{scene.quote(inner)}` calls `{function}` at once, and gives its result to `{name}`.",
        variable=scene.quote(inner),
        why="A transformation takes a function and returns a function; the arguments come afterwards.",
        fixes=[scene.fix("Hand over the function, then call what comes back.", made or whole)],
        link=f"{error_texts.API}/jax.{called(call)}.html",
    )


def _line(source: Source, node: ast.AST) -> Line:
    return Line(source.file, source.start(node)[0])


def _jitted_function(scene: Scene, call: ast.Call) -> tuple[Source, ast.FunctionDef | ast.Lambda] | None:
    """Return the student's jitted function that a call calls: its source and its definition."""
    value = scene.spot.value(call.func)
    if isinstance(call.func, ast.Call) and is_jit(call.func.func) and isinstance(call.func.args[0], ast.Lambda):
        return scene.source, call.func.args[0]
    if value is MISSING and isinstance(call.func, ast.Attribute):
        name = call.func.attr
        found = [f for f in scene.source.functions(name) if any(_jits(d) for d in f.decorator_list)]
        return (scene.source, found[0]) if found else None
    inner = getattr(value, "__wrapped__", None)
    if inner is None:
        made = scene.spot.value(call.func.func) if isinstance(call.func, ast.Call) else None
        kind = made if isinstance(made, type) else type(value)
        inner = getattr(vars(kind).get("__call__"), "__wrapped__", None)
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    if code is None or not _is_users(scene.spot, code.co_filename):
        return None
    source = source_of(code.co_filename)
    function = source.function_at(code.co_name, code.co_firstlineno) if source else None
    return (source, function) if source is not None and function is not None else None  # type: ignore[return-value]


def _jitted_method(scene: Scene) -> tuple[Source, ast.FunctionDef] | None:
    """Return the jitted method that JAX's message names, which may be called inside `jax.grad(self.loss)`."""
    named = error_texts.INTERPRETED_FUNCTION.search(scene.message)
    if named is None or "." not in named[1]:
        return None
    found = [f for f in scene.source.functions(named[1].split(".")[-1]) if any(_jits(d) for d in f.decorator_list)]
    return (scene.source, found[0]) if len(found) == 1 else None


def _jits(decorator: ast.expr) -> bool:
    return any(is_jit(node) for node in ast.walk(decorator))


def _is_users(spot: UserFrame, file: str) -> bool:
    """Return whether a file is the student's: the current one, or one outside libraries."""
    return file == spot.line.file or not is_library(file)


def _function_name(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
    """Return the name of a function as shown in tracebacks."""
    return "<lambda>" if isinstance(function, ast.Lambda) else function.name
