"""Find facts about an error: which expression to look at, and what it is. Each probe returns None if it is not sure."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, Concatenate, ParamSpec

import jax

from jaxguide.code.source import FunctionNode, source_of
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.known_facts import Condition, Facts, Part, Probe, Said, Unsure, known
from jaxguide.explain.rewrites.static_arguments import size_arguments
from jaxguide.explain.scene import argument_of, called, is_traced_integer
from jaxguide.explain.transformed import function_behind, makers, own_nodes, parameters, part_of, returned

_P = ParamSpec("_P")
# The position and name of a loop's body, and of its initial value.
_LOOP_BODY = {"scan": (0, "f"), "while_loop": (1, "body_fun"), "fori_loop": (2, "body_fun")}
_LOOP_START = {"scan": (1, "init"), "while_loop": (2, "init_val"), "fori_loop": (3, "init_val")}


def probe_maker(look: Callable[Concatenate[Facts, _P], Any]) -> Callable[_P, Callable[[Facts], Any]]:
    """Make a function of facts and arguments into one of the arguments that returns a probe."""
    return lambda *args, **keywords: lambda facts: look(facts, *args, **keywords)


def node(facts: Facts) -> ast.AST:
    """Look at the expression that failed."""
    return facts.scene.node


def call(facts: Facts) -> ast.Call | None:
    """Look at the running call."""
    return facts.scene.call()


def function(facts: Facts) -> ast.expr:
    """Look at the function of the running call, as it is written."""
    return facts.call().func


def owner(facts: Facts) -> ast.expr | None:
    """Look at the object whose method is called: `x` in `x.reshape(3)`."""
    func = facts.call().func
    is_method = isinstance(func, ast.Attribute) and not isinstance(facts.scene.spot.value(func.value), ModuleType)
    return func.value if is_method and isinstance(func, ast.Attribute) else None


def holder(facts: Facts) -> ast.expr | None:
    """Look at the object that lacks the attribute that failed: `x` in `x.unsqueeze`."""
    return getattr(facts.scene.node, "value", None)


def statement(facts: Facts) -> ast.stmt | None:
    """Look at the statement that failed."""
    return facts.scene.spot.statement


@probe_maker
def argument(facts: Facts, position: int, name: str | None = None, of: str = "call") -> Any:
    """Look at an argument of the running call, or of another one, by position or by keyword."""
    node = argument_of(facts.node(of), position, name)
    return node if node is None or of == "call" else facts.part(of).inside(node)


def keyword(*names: str, of: str = "call") -> Probe:
    """Look at what the running call, or another one, gives for one of these keywords."""
    return _inside(of, lambda call: next((one.value for one in call.keywords if one.arg in names), None))


def function_of(call: str) -> Probe:
    """Look at the function of another call, as it is written."""
    return _inside(call, lambda call: call.func)


def owner_of(call: str) -> Probe:
    """Look at the object whose method another call is: `net` in `net.apply(params, x)`."""
    return _inside(call, lambda call: getattr(call.func, "value", None))


def last_of(call: str) -> Probe:
    """Look at the last argument of another call, which a new one can follow."""
    return _inside(call, lambda call: next(reversed([*call.args, *call.keywords]), None))


@probe_maker
def _inside(facts: Facts, call: str, look: Callable[[ast.Call], ast.AST | None]) -> Part | None:
    """Look at a part of a call, in the frame of that call."""
    part = facts.part(call)
    looked = look(part.node) if isinstance(part.node, ast.Call) else None
    return part.inside(looked) if looked is not None else None


@probe_maker
def running(facts: Facts, *names: str) -> Part | None:
    """Look at the innermost running call of a function or method with one of these names, in any of the frames."""
    for spot in reversed(facts.scene.spots):
        call = spot.source.around(spot.node, ast.Call) if spot.source is not None else None
        while call is not None and called(call) not in names and spot.source is not None:
            call = spot.source.around(spot.source.parents.get(call), ast.Call)
        if call is not None:
            return facts.at(call, spot)
    return None


def fact(name: str) -> Probe:
    """Look at another fact."""
    return lambda facts: facts[name]


@probe_maker
def given(facts: Facts, holds: Callable[[Any], object]) -> ast.expr | None:
    """Look at the only argument of the running call whose value is such a one."""
    values = [(one, facts.scene.spot.value(one)) for one in all_given(facts.call())]
    found = [one for one, value in values if value is not MISSING and holds(value)]
    return found[0] if len(found) == 1 else None


def as_said(facts: Facts) -> ast.expr | None:
    """Look at the only argument that is as the message says in its groups `value`, `type`, `dtype`, `shape`, `ndim`."""
    said = {name: text for name, text in facts.found.groupdict().items() if text is not None}
    return given(lambda value: all(text == str(_property(value, name)) for name, text in said.items()))(facts)  # type: ignore[no-any-return]


def _property(value: Any, name: str) -> Any:
    if name == "value":
        return MISSING if is_array(value) else value
    return type(value).__name__ if name == "type" else getattr(value, name, MISSING)


def receiver(position: int = 0, name: str | None = None) -> Probe:
    """Look at the array that a function or a method works on: `x` in `jnp.sum(x)` and in `x.sum()`."""
    return lambda facts: owner(facts) or argument_of(facts.call(), position, name)


def operand(number: int) -> Probe:
    """Look at the left (0) or right (1) operand of an operator, a comparison or a function of two arguments."""
    return lambda facts: dict(enumerate(operands(facts.scene.node))).get(number)


def operands(node: ast.AST) -> list[ast.expr]:
    """Return the two operands of an operator, a comparison or a function of two arguments; of others none."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        return list(node.args)
    return operands(node.test) if isinstance(node, ast.Assert | ast.If) else []


@probe_maker
def first(facts: Facts, holds: Callable[[Any], object], of: str = "node") -> ast.AST | None:
    """Look at the first part of the failing expression, or of another fact, that has such a value."""
    part = facts.part(of)
    hit = part.spot.first(part.node, lambda value: bool(holds(value))) if part.spot is not None else None
    return hit[0] if hit is not None else None


def traced(facts: Facts) -> ast.AST | None:
    """Look at the first traced part of the failing expression."""
    hit: ast.AST | None = first(is_tracer)(facts)
    return hit


def traced_size(facts: Facts) -> ast.expr | None:
    """Look at the traced integer in the size of a call, preferably the one that JAX says it depends on."""
    running, spot = facts.call(), facts.scene.spot
    parts = [(part, value) for one in size_arguments(running) for part, value in spot.parts(one)]
    found = [part for part, value in parts if is_traced_integer(value)]
    behind = error_texts.DEPENDS_ON.search(facts.scene.message)
    named = [part for part in found if behind is not None and facts.scene.quote(part) == behind[1]]
    return next(iter([*named, *reversed(found)]), None)


def leaf(holds: Callable[[Any], object], of: str = "node") -> Probe:
    """Look at the first array, by itself or in a pytree, that is such a one: `x`, or `state['key']`."""
    return _within(of, lambda value: [(jax.tree_util.keystr(p), v) for p, v in jax.tree.leaves_with_path(value)], holds)


def container(holds: Callable[[Any], object], of: str = "node") -> Probe:
    """Look at the first dict, list or tuple, by itself or inside another one, that is such a one."""
    return _within(of, _containers, holds)


@probe_maker
def _within(
    facts: Facts, of: str, inside: Callable[[Any], Iterable[tuple[str, Any]]], holds: Callable[[Any], object]
) -> Part | None:
    whole = facts.part(of)
    for part, value in whole.spot.parts(whole.node) if whole.spot is not None else ():
        for path, held in inside(value):
            if holds(held):
                return Part(part, whole.source, facts.scene, whole.spot, path, held)
    return None


def _containers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list | tuple):
        yield path, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _containers(item, f"{path}[{key!r}]")


def value_at(tree: Any, path: str) -> Any:
    """Return the value at a path that JAX writes, such as `['dense'][0].w`; `MISSING` if there is none."""
    value = tree
    for key, name in re.findall(r"\[(.*?)\]|\.(\w+)", path):
        is_known = hasattr(value, "_fields") if name else isinstance(value, dict | list | tuple)
        try:
            value = (getattr(value, name) if name else value[ast.literal_eval(key)]) if is_known else MISSING
        except (AttributeError, LookupError, SyntaxError, TypeError, ValueError):
            return MISSING
    return value


@probe_maker
def item(facts: Facts, of: str, number: int) -> Part | None:
    """Look at one of the items that a list, a tuple or the like writes out."""
    part = facts.part(of)
    items = getattr(part.node, "elts", [])
    return part.inside(items[number]) if number < len(items) else None


@probe_maker
def first_and_rest(facts: Facts, of: str) -> str | None:
    """Say the first of the items that a tuple writes out, and the others in a tuple of their own: `loss, (a, b)`."""
    texts = [str(one) for one in facts.part(of).items]
    return f"{texts[0]}, ({', '.join(texts[1:])})" if len(texts) > 2 else ", ".join(texts)


def around(*kinds: type[ast.AST]) -> Probe:
    """Look at the nearest expression or statement of a kind around the failing one, or at the failing one itself."""
    return lambda facts: facts.scene.source.around(facts.scene.node, kinds)


def target(facts: Facts) -> ast.expr | None:
    """Look at what the failing statement assigns to."""
    found = facts.scene.spot.statement
    if isinstance(found, ast.Assign) and len(found.targets) == 1:
        return found.targets[0]
    return found.target if isinstance(found, ast.AnnAssign | ast.AugAssign) else None


def assigned(facts: Facts) -> ast.expr | None:
    """Look at what the failing statement assigns."""
    found = facts.scene.spot.statement
    return found.value if isinstance(found, ast.Assign | ast.AnnAssign | ast.AugAssign) else None


@probe_maker
def others(facts: Facts, than: str = "x") -> str:
    """Say what the running call is given besides one argument: `, y, axis=0`; '' for nothing."""
    left_out = facts.node(than) if than else None
    running, quote = facts.call(), facts.scene.quote
    texts = [quote(one) for one in running.args if one is not left_out]
    for one in running.keywords:
        name = f"{one.arg}=" if one.arg is not None else "**"
        texts += [f"{name}{quote(one.value)}"] if one.value is not left_out else []
    return "".join(f", {text}" for text in texts)


def given_text(facts: Facts) -> str:
    """Say what the running call is given: `x, axis=0`."""
    return str(others("")(facts)).removeprefix(", ")


def body_of(position: int, name: str | None = None) -> Probe:
    """Look at the definition of the student's function that the running call is given."""
    return definition(argument(position, name))


@probe_maker
def definition(facts: Facts, given_by: Probe) -> Part | None:
    """Look at the definition of the student's function that an expression names, or that it is."""
    given: Any = given_by(facts)
    node: Any = given.node if isinstance(given, Part) else given
    place = function_behind(facts.scene.spot, node)
    return Part(place[1], place[0], facts.scene) if place is not None else None


@probe_maker
def result_of(facts: Facts, function: str) -> Part | None:
    """Look at the one expression that a function returns."""
    part = facts.part(function)
    result = returned(part.node) if isinstance(part.node, FunctionNode) else None
    return part.inside(result) if result is not None else None


def said_function(facts: Facts) -> Part | None:
    """Look at the traced function that the message names in its groups `file`, `name` and `number`."""
    source = known(source_of(facts["file"]))
    node = source.function_at(facts["name"].split(".")[-1], int(facts["number"]))
    return Part(node, source, facts.scene) if node is not None else None


def said_result(facts: Facts) -> Part | None:
    """Look at what that function returns, or at the part of it that the message names in its group `path`."""
    part = known(said_function(facts))
    node = part_of(known(returned(part.node)), re.sub(r"^\w+", "", facts.found["path"] or ""))  # type: ignore[arg-type]
    return part.inside(node) if node is not None else None


@probe_maker
def returns_nothing(facts: Facts, function: str) -> bool:
    """Ask whether a `def` has no `return` with a value."""
    inside = facts.node(function)
    nodes = own_nodes(inside) if isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return nodes is not None and not any(isinstance(one, ast.Return) and one.value is not None for one in nodes)


@probe_maker
def parameter_of(facts: Facts, function: str, number: int) -> str | None:
    """Say the name of a positional parameter of a function."""
    names = [one.arg for one in parameters(facts.node(function))]
    return names[number] if number < len(names) else None


def loop_given(facts: Facts) -> ast.expr | None:
    """Look at the body that a loop of `jax.lax` is given."""
    place = _LOOP_BODY.get(called(facts.call()))
    return argument_of(facts.call(), *place) if place is not None else None


loop_body = definition(loop_given)


def loop_start(facts: Facts) -> ast.expr | None:
    """Look at the initial value of a loop of `jax.lax`."""
    place = _LOOP_START.get(called(facts.call()))
    return argument_of(facts.call(), *place) if place is not None else None


def loop_carry(facts: Facts) -> str | None:
    """Say the name that the carry has in the body of a loop."""
    name = parameter_of("body", 1 if called(facts.call()) == "fori_loop" else 0)(facts)
    return None if name is None else str(name)


def made_by(*names: str) -> Probe:
    """Look at the call of `jax.grad` or the like that made the called function: `jax.grad(f)` in `jax.grad(f)(x)`."""
    return lambda facts: next((one for one in makers(facts.scene, facts.call()) if called(one) in names), None)


def caller(facts: Facts) -> Part | None:
    """Look at the call of the function that failed, in the student's next outer frame."""
    spots = facts.scene.spots
    outer = spots[-2] if len(spots) > 1 else None
    return facts.at(outer.node, outer) if outer is not None and outer.source and outer.node else None


def is_key(value: object) -> bool:
    """Return whether a value is a typed PRNG key, or an array of them."""
    return isinstance(value, jax.Array) and bool(jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key))


def is_of(value: object, library: str) -> bool:
    """Return whether a value is an object of a class of a library, or of a class made from one."""
    return any(kind.__module__.split(".")[0] == library for kind in type(value).__mro__)


@probe_maker
def one_of(facts: Facts, *probes: Probe) -> Any:
    """Look at what the first of several probes finds."""
    for probe in probes:
        try:
            if (one := probe(facts)) is not None:
                return one
        except Unsure:
            continue
    return None


def said(pattern: re.Pattern[str]) -> Probe:
    """Find a further pattern in the message; its groups are `{name[1]}` or `{name[group]}`."""
    return lambda facts: pattern.search(facts.scene.message)


def words(text: Said) -> Probe:
    """Say a text that names other facts."""
    return lambda facts: facts.say(text)


def counted(group: str, one: str, many: str) -> Probe:
    """Say a number of the message with its noun: `counted("rank", "axis", "axes")` says `1 axis` or `2 axes`."""
    return lambda facts: f"{facts[group]} {one if facts[group] == '1' else many}"


def listed(group: str) -> Probe:
    """Say the names in a group of the message, as code: `x`, `y`."""
    return lambda facts: ", ".join(f"`{name}`" for name in names_in_group(facts, group)) or None


def names_in_group(facts: Facts, group: str) -> list[str]:
    """Return the names in a group of the message: what is quoted there, or else all words."""
    return re.findall(r"'([^']*)'", facts[group]) or re.findall(r"[\w.-]+", facts[group])


# Conditions.


def calls(*names: str) -> Condition:
    """Ask whether the running call is of a function with one of these names, whatever stands before the dot."""
    return lambda facts: called(facts.scene.call()) in names


def calls_of(*modules: str) -> Condition:
    """Ask whether the running call is of a function that is defined in one of these modules."""
    return lambda facts: str(getattr(facts.value("f"), "__module__", "")).startswith(modules)


def is_called(facts: Facts) -> bool:
    """Ask whether the attribute that failed is called."""
    return facts.node("f") is facts.scene.node


def is_statement(facts: Facts) -> bool:
    """Ask whether the running call is a statement, whose result is not used."""
    found = facts.scene.spot.statement
    return isinstance(found, ast.Expr) and found.value is facts.call()


def is_written(name: str, *kinds: type[ast.AST]) -> Condition:
    """Ask whether a fact is such syntax: `is_written("x", ast.Name)`."""
    return lambda facts: isinstance(facts.node(name), kinds)


def is_valued(name: str, *kinds: type[Any]) -> Condition:
    """Ask whether the value of a fact is of such a type."""
    return lambda facts: isinstance(facts.value(name), kinds)


def knows(*names: str) -> Condition:
    """Ask whether all of these facts are known."""
    return lambda facts: facts.knows(*names)


def unless(condition: Condition) -> Condition:
    """Ask whether a condition does not hold."""
    return lambda facts: not condition(facts)


def in_library(facts: Facts) -> bool:
    """Ask whether it failed in the code of another package, such as flax, that the student called."""
    return facts.scene.library is not None


# Facts that every entry has; see `Facts` for groups of the message.
STANDARD: dict[str, Probe] = {
    "node": node,
    "call": call,
    "f": function,
    "owner": owner,
    "left": operand(0),
    "right": operand(1),
    "statement": statement,
    "target": target,
    "assigned": assigned,
    "given": given_text,
    "rest": others("x"),
    "others": lambda facts: facts["rest"].removeprefix(", "),
    "library": lambda facts: facts.scene.library,
    "jnp": lambda facts: facts.scene.jnp,
    "np": lambda facts: facts.scene.np,
    "lax": lambda facts: facts.scene.lax,
    "jax": lambda facts: facts.scene.jax,
    "random": lambda facts: facts.scene.random,
}


def all_given(running: ast.Call) -> list[ast.expr]:
    """Return what a call is given, by position and by keyword."""
    return [*running.args, *(one.value for one in running.keywords)]
