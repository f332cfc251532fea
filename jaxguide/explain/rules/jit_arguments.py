"""Explain what `jax.jit` cannot take or return: unhashable static arguments, strings, functions, objects."""

import ast
import re
from functools import partial
from types import BuiltinFunctionType, FunctionType

import jax

from jaxguide.code.source import arguments_of, dotted
from jaxguide.code.user_frame import MISSING
from jaxguide.compat import error_texts as texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Static, Swap, Words, entry
from jaxguide.explain.explanation import Fix
from jaxguide.explain.known_facts import Facts, Part
from jaxguide.explain.rewrites.pytrees import as_pytree, class_named, is_constant
from jaxguide.explain.rewrites.static_arguments import is_jit, static_edits, static_names
from jaxguide.explain.scene import argument_of, called
from jaxguide.explain.transformed import function_behind


def _jitted(facts: Facts) -> Part | None:
    """Look at the definition of the student's jitted function that the running call calls."""
    func, source = facts.call().func, facts.scene.source
    while isinstance(func, ast.Call) and called(func) in ("jit", "vmap") and func.args:
        func = func.args[0]
    place = function_behind(facts.scene.spot, func)
    if place is not None:
        return Part(place[1], place[0], facts.scene)
    # A method: JAX may name it, and `jax.grad(self.loss)` calls it inside.
    named = texts.INTERPRETED_FUNCTION.search(facts.scene.message)
    name = named[1].split(".")[-1] if named is not None else getattr(func, "attr", "__call__")
    found = [one for one in source.functions(name) if any(is_jit(n) for d in one.decorator_list for n in ast.walk(d))]
    return Part(found[0], source, facts.scene) if len(found) == 1 else None


def _given(facts: Facts) -> dict[str, ast.expr]:
    """Find what the call gives, by the names of the jitted function's parameters; `self` is what a method is of."""
    names, call = arguments_of(facts.node("jitted")), facts.call()
    bound = isinstance(call.func, ast.Attribute) or facts["function"] == "__call__"
    own = {"self": getattr(call.func, "value", call.func)} if names[:1] == ["self"] and bound else {}
    given = {name: argument_of(call, number, name) for number, name in enumerate(names[len(own) :])}
    return own | {name: node for name, node in given.items() if node is not None}


def _own_class(facts: Facts) -> Part | None:
    source, found = class_named(facts.scene, facts["class_name"])
    return Part(found, source, facts.scene) if source is not None and found is not None else None


_of_jit = partial(
    entry,
    jitted=_jitted,
    function=lambda facts: getattr(facts.node("jitted"), "name", "<lambda>"),
    given_for=_given,
    class_name=lambda facts: facts["type"].split(".")[-1],
    own_class=_own_class,
    link=texts.STATIC_LINK,
)


# Static arguments without a hash, or that the function does not have.


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return value is not MISSING


def _without_hash(facts: Facts) -> tuple[str, ast.expr] | None:
    """Return the first static argument that may have no hash: its name, and what the call gives."""
    part = facts.part("jitted")
    static = static_names(part.source, part.node) or [*facts["given_for"]]  # type: ignore[arg-type]
    found = [(name, node) for name, node in facts["given_for"].items() if name in static]
    return next(((name, node) for name, node in found if not _is_hashable(facts.scene.spot.value(node))), None)


_hashless = partial(
    _of_jit,
    found=_without_hash,
    name=lambda facts: facts["found"][0],
    x=lambda facts: facts["found"][1],
    variable="{name}",
    title="A static argument has no hash",
)
_hashless(
    "traced_for_static",
    texts.UNHASHABLE_STATIC,
    when=lambda facts: called(facts.call().func) == "vmap" or facts.scene.tracer(facts.node("x")) is not None,
    variable="{x}",
    title="A static argument needs a known value, but `{x}` is traced",
    what="`{x}` is given for the static argument `{name}` of `{function}`.",
    why="`{function}` is compiled for each value of `{name}`, and a traced value comes only later.",
    fixes=Static("x"),
    otherwise="Give a Python value: a number that is known while JAX records, and the same for every row.",
)
_hashless(
    "unhashable_static",
    texts.UNHASHABLE_STATIC,
    number=lambda facts: "int" if facts["x"].dtype.kind in "iu" else "float",
    what=(
        "`{x}` is {x.what}, given for the static argument `{name}` of `{function}`.",
        "`{x}` is given for the static argument `{name}` of `{function}`.",
    ),
    why=(
        "A class that defines `__eq__`, as a dataclass does, has a hash only if it also defines `__hash__`, or is a "
        "frozen dataclass whose fields all have one: `{own_class.name}` has none.",
        "JAX keeps one program per static value and looks it up by its hash: a value without a hash cannot be static.",
    ),
    fixes=Either(
        "Declare `{own_class.name}` with `frozen=True` if it is a dataclass, or else define `__hash__`. Keep in it "
        "what has a hash, such as tuples in place of lists, and pass arrays by themselves.",
        Swap("Give a tuple: it cannot change, so it has a hash.", when=probes.is_valued("x", list), x="tuple({x})"),
        Swap("Give a Python number, which has a hash.", when=lambda facts: facts["x"].ndim == 0, x="{number}({x})"),
        Words(
            "Make each option that decides a shape or a branch a static argument of its own, and leave the arrays "
            "traced; or give a frozen dataclass that holds only numbers and strings.",
            when=probes.is_written("x", ast.Dict),
        ),
        "Leave `{name}` traced, if it holds numbers: these need not be static.",
    ),
)
_of_jit(
    "static_name_unknown",
    texts.STATIC_NAME,
    x=lambda facts: facts["name"],
    definition=probes.one_of(probes.body_of(0), probes.around(ast.FunctionDef)),
    names=lambda facts: ", ".join(arguments_of(facts.node("definition"))),
    title="`static_argnames` names an argument that is not there",
    what="`{x}` is not one of the arguments ({names}).",
    why="`jax.jit` finds a static argument by its name in the `def` line.",
    fixes="Name one of these, or leave it out.",
)
_of_jit(
    "static_number_unknown",
    texts.STATIC_NUMBER,
    x=probes.words("static_argnums"),
    count=probes.counted("of", "argument", "arguments"),
    title="`static_argnums` counts an argument that is not there",
    what="`static_argnums={number}` for a function of {count}.",
    why="Arguments are counted from 0.",
    fixes="Give the argument's own name, in `static_argnames`.",
)


# Strings, functions and objects as arguments.


def _passed(facts: Facts) -> Part | None:
    """Look at what the call gives for the argument that the message names, or at the part of it that is no array."""
    node = facts["given_for"].get(facts["top"])
    if node is None:
        return None
    whole, inside = facts.at(node), facts["path"].removeprefix(facts["top"])
    if inside:
        return Part(
            node, whole.source, facts.scene, whole.spot, inside, probes.value_at(whole.value_or_missing, inside)
        )
    is_other = facts["top"] == "self" and type(whole.value_or_missing).__name__ not in (facts["class_name"], "object")
    return None if is_other else whole


def _is_function(value: object) -> bool:
    """Return whether a value is found by what it is and has no attributes to change: a function or a class."""
    of_jax = type(value).__module__.split(".")[0] in ("jax", "jaxlib", "numpy")  # jitted functions, ufuncs
    return isinstance(value, FunctionType | BuiltinFunctionType | type | partial) or (callable(value) and of_jax)


def _is_safe(facts: Facts) -> bool:
    """Ask whether an object may be static: a module of linen, what holds only functions, or what cannot change."""
    value = facts.scene.spot.value(facts.node("passed"))
    leaves = jax.tree.leaves(value) if value is not MISSING else []
    functions = bool(leaves) and all(map(_is_function, leaves)) and _is_hashable(value)
    linen = any(one.__module__.startswith("flax.linen") for one in type(value).__mro__)
    return linen or functions or (value is not MISSING and is_constant(value))


def _changed(facts: Facts) -> str | None:
    """Say the first attribute of the argument that the jitted function sets."""
    nodes = [one for one in ast.walk(facts.node("jitted")) if isinstance(one, ast.Attribute)]
    own = [dotted(one) for one in nodes if isinstance(one.ctx, ast.Store) and dotted(one.value) == facts["top"]]
    return f"`{own[0]}`" if own else None


def _static(facts: Facts) -> Fix | None:
    part, top = facts.part("jitted"), facts["top"]
    edits = static_edits(facts.scene, part.source, part.node, top)  # type: ignore[arg-type]
    code = "" if edits or isinstance(part.node, ast.Lambda) else f'@{facts.scene.jax}.jit(static_argnames="{top}")'
    return facts.scene.fix(f"Make `{top}` static: JAX then compiles once for each value of it.", *edits, code=code)


def _registered(facts: Facts) -> Fix | None:
    node = facts.node("passed") if facts.knows("passed") else None
    return as_pytree(facts.scene, facts["class_name"], facts.value("passed"), node)


_is_whole = probes.unless(probes.knows("inside"))
_no_array = partial(
    _of_jit,
    top=lambda facts: re.split(r"[.\[]", facts["path"])[0],
    inside=lambda facts: facts["path"].removeprefix(facts["top"]) or None,
    passed=_passed,
    x=lambda facts: "self" if facts["path"] == "self" else facts["passed" if facts.knows("passed") else "path"],
    title="`jax.jit` was given something that is not an array",
    what=(
        "`{x}` is {passed.what} here, and `{function}` is compiled by `jax.jit`.",
        "`{x}` is an object of type `{class_name}` here, and `{function}` is compiled by `jax.jit`.",
    ),
    why="Every argument of a jitted function becomes a traced array, unless it is declared static.",
)
_no_array("string_argument", texts.NOT_AN_ARGUMENT, when=[_is_whole, probes.is_valued("passed", str)], fixes=_static)
_no_array(
    "function_argument",
    texts.NOT_AN_ARGUMENT,
    when=[_is_whole, lambda facts: facts["top"] != "self" and _is_function(facts.value("passed"))],
    fixes=[_static, "Leave it out of the jitted function's arguments: jit a function that uses it."],
)
_no_array(
    "object_argument",
    texts.NOT_AN_ARGUMENT,
    # An array that is not of numbers: `texts` explains those that it knows.
    when=lambda facts: facts["class_name"] != "ndarray",
    changed=_changed,
    fixes=[
        Either(_registered, when=probes.unless(probes.knows("changed"))),
        Either(_static, when=_is_safe),
    ],
    otherwise=[
        Either(
            "Pass the arrays of `{own_class.name}` in a tuple or a dict in place of `{x}`.",
            "Take `{x}` out, and pass it as an argument of its own, which is static.",
            when=probes.knows("inside"),
        ),
        "Do not set {changed} inside: under `jax.jit` that happens while JAX records. Return the new value, and set "
        "it outside.",
        Words("Pass the arrays that it uses as arguments of a jitted function.", when=_is_whole),
        Words(
            "Make `{top}` static only if `{own_class.name}` is a frozen dataclass. With attributes that can change, "
            "JAX would go on with the old ones.",
            when=_is_whole,
        ),
    ],
)


# Results, and functions that are called too early.


_of_jit(
    "result_no_array",
    texts.NOT_JAX_RESULT,
    part=probes.said_result,
    x=probes.one_of(probes.said_result, probes.said_function),
    jitted=probes.said_function,
    variable=("{part}", "{function}"),
    title="A jitted function returns something that is not an array",
    what=("`{part}` is of type `{type}`, returned by `{function}`.", "`{function}` returns a value of type `{type}`."),
    why="The compiled program hands back arrays; what is not an array cannot come out of it.",
    fixes=[
        Either(
            "Register its class `{own_class.name}` as a pytree, or return its arrays in a tuple or a dict.",
            "Return the arrays only, and make the rest outside.",
        ),
        "Or jit only the part that computes, and call it from a plain function.",
    ],
    line="x",
    link=f"{texts.API}/jax.jit.html",
)
entry(
    "function_called_too_early",
    texts.NOT_CALLABLE,
    x=probes.argument(0),
    when=probes.is_written("x", ast.Call),
    early=probes.function_of("x"),
    title="`{f}` needs a function",
    what="`{x}` calls `{early}` at once, and gives its result to `{f}`.",
    why="A transformation takes a function and returns a function; the arguments come afterwards.",
    fixes="Hand over the function, then call what comes back: `{f}({early})(...)`.",
    link=f"{texts.API}/jax.{{f.name}}.html",
)
