"""Explain rules of `jax.custom_jvp` and `jax.custom_vjp` that are missing, take or return the wrong parts, or bend."""

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from jaxguide.base.text import plural
from jaxguide.code.source import arguments_of, dotted, names_in
from jaxguide.compat import error_texts, sharding_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, entry
from jaxguide.explain.known_facts import Facts, Part, Probe
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import TRANSFORMS

# What gives the rules to a function -> their kinds.
_PARTS = {"defvjp": ("fwd", "bwd"), "defjvp": ("jvp",)}
# What JAX gives to a rule, besides what `nondiff_argnums` lists: for how many arguments, and in words.
_GIVEN = {
    "fwd": (0, "the arguments of the function"),
    "bwd": (2, "what the forward rule kept, and the cotangents of the output"),
    "jvp": (2, "a tuple of the primals, and a tuple of the tangents"),
}
# Functions that are not linear, so that no tangent may go through them.
_NOT_LINEAR = (
    *("abs", "cos", "cosh", "exp", "expm1", "log", "log1p", "max", "maximum", "min", "minimum", "power"),
    *("reciprocal", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
)


class _Rule(NamedTuple):
    """A function of the student that was registered as a rule, its kind, and the function that it belongs to."""

    part: str
    own: Part
    primal: Part | None


def _rules(facts: Facts) -> Iterator[_Rule]:
    """Yield the rules that the student's files register, by a call or a decorator."""
    for source in dict.fromkeys(spot.source for spot in facts.scene.spots if spot.source is not None):
        functions = [one for one in ast.walk(source.tree) if isinstance(one, ast.FunctionDef)]
        defined = {one.name: Part(one, source, facts.scene) for one in functions}
        made: list[tuple[Any, list[Any]]] = [(call.func, call.args) for call in source.calls()]
        made += [(decorator, [one]) for one in functions for decorator in one.decorator_list]
        for func, given in made:
            for part, node in zip(_PARTS.get(getattr(func, "attr", ""), ()), given, strict=False):
                named = defined.get(getattr(node, "name", dotted(node)))
                own = Part(node, source, facts.scene) if isinstance(node, ast.Lambda) else named
                if own is not None:
                    yield _Rule(part, own, defined.get(dotted(func.value)))


def _only_rule(parts: str, *names: str) -> Probe:
    """Find the only rule of these kinds that has the names in these facts, or whose function has, if they are known."""

    def found(facts: Facts) -> _Rule | None:
        said = {facts[name].split(".")[-1] for name in names if facts.knows(name)}
        rules = [one for one in _rules(facts) if one.part in parts]
        fitting = [one for one in rules if said <= {getattr(of.node, "name", "<lambda>") for of in one[1:] if of}]
        return fitting[0] if len(fitting) == 1 else None

    return found


def _static(facts: Facts) -> list[str]:
    """Find the names of the function's arguments that `nondiff_argnums` lists."""
    decorators = getattr(facts.node("primal"), "decorator_list", []) if facts.knows("primal") else []
    nodes = [one for made in decorators for one in ast.walk(made)]
    given = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg == "nondiff_argnums"]
    numbers = [getattr(one, "value", None) for value in given for one in ast.walk(value)]
    return [name for number, name in enumerate(facts["of_primal"]) if number in numbers]


_LINK = "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html"
_entry = partial(
    entry,
    x=probes.one_of(probes.result_of("own"), probes.fact("own")),
    own=lambda facts: facts["rule"].own,
    primal=lambda facts: facts["rule"].primal,
    name=lambda facts: getattr(facts.node("own"), "name", "<lambda>"),
    arguments=lambda facts: arguments_of(facts.node("own")),
    of_primal=lambda facts: arguments_of(facts.node("primal")) if facts.knows("primal") else [],
    static=_static,
    listed=lambda facts: ", ".join(f"`{one}`" for one in facts["static"]) or None,
    line="x",
    variable="{name}",
    link=_LINK,
)

# Rules that return the wrong number of parts.
_entry(
    "forward_rule_pair",
    structure_texts.FWD_PAIR,
    x=probes.result_of("own"),
    rule=_only_rule("fwd", "g1", "g2"),
    title="A forward rule that does not return a pair",
    what="`{name}` returns `{x}`.",
    why="The forward rule returns two things: what the function returns, and what the backward rule needs.",
    fixes="Return the output, and what the backward rule needs: `return output, residuals`.",
)
_entry(
    "tangent_rule_pair",
    structure_texts.JVP_PAIR,
    x=probes.result_of("own"),
    rule=_only_rule("jvp", "g1", "g2"),
    when=probes.unless(probes.is_written("x", ast.Tuple)),
    title="A derivative rule that does not return a pair",
    what="`{name}` returns `{x}` alone.",
    why="The rule of a `custom_jvp` returns two things: the function's output, and the output's tangent.",
    fixes=Swap(
        "Return the output too, if this is the tangent.",
        when=lambda facts: len(facts["arguments"]) == 2 and not facts["static"],
        or_say=True,
        x="{primal.name}(*{arguments[0]}), {x}",
    ),
)
_BACKWARD: dict[str, Any] = {
    "x": probes.result_of("own"),
    "rule": _only_rule("bwd"),
    "is_tuple": probes.is_written("x", ast.Tuple),
    "got": lambda facts: facts["x"].count if facts["is_tuple"] else 0,
    "wanted": lambda facts: len(facts["of_primal"]) - len(facts["static"]),
}
_entry(
    "backward_no_tuple",
    structure_texts.BWD_STRUCTURE,
    # JAX ends with the structure of the arguments: `((*,))` for one.
    when=lambda facts: not facts["is_tuple"] and facts["g1"][0] not in "([" and ",))." in facts.scene.message,
    title="A backward rule that does not return a tuple",
    what="`{name}` returns `{x}`, which is not a tuple.",
    why="The backward rule returns one cotangent for each argument of the function, in a tuple, also for one.",
    fixes=Swap("Put it into a tuple of one.", x="({x},)"),
    **_BACKWARD,
)
_entry(
    "backward_rule_count",
    structure_texts.BWD_STRUCTURE,
    when=lambda facts: facts["got"] != facts["wanted"] and facts["is_tuple"] is (facts["g1"][0] == "("),
    takes=lambda facts: plural("{count} argument", "{count} arguments", facts["wanted"]),
    title="A backward rule that returns the wrong number of values",
    what="`{name}` returns `{x}`, and `{primal.name}` has {takes} to differentiate.",
    why="The backward rule returns one cotangent for each argument that is differentiated, in their order.",
    fixes="Return a tuple with a cotangent for each of these arguments: None where there is none.",
    **_BACKWARD,
)


# Rules that take the wrong number of arguments, or give values of another type.


_entry(
    "rule_arguments",
    structure_texts.ARGUMENT_COUNT,
    x=probes.fact("own"),
    rule=_only_rule("fwd bwd jvp", "g1"),
    before=lambda facts: facts["listed"] if facts["rule"].part != "fwd" else None,
    given=lambda facts: _GIVEN[facts["rule"].part],
    count=lambda facts: facts["given"][0] + len(facts["static"] if facts["given"][0] else facts["of_primal"]),
    when=[
        lambda facts: called(facts.scene.call()) != facts["g1"],  # by the student
        lambda facts: not facts.node("own").args.vararg and not facts.node("own").args.defaults,
        lambda facts: facts["count"] not in (0, len(facts["arguments"])),
    ],
    takes=lambda facts: plural("{count} argument", "{count} arguments", len(facts["arguments"])),
    first=lambda facts: facts["own"].inside(facts.node("own").args.args[0]),
    named=lambda facts: ", ".join(facts["static"]) or None,
    title="A derivative rule that takes the wrong number of arguments",
    what="`{name}` takes {takes}, and is given {count}.",
    why=("JAX gives it {before} of `nondiff_argnums`, then {given[1]}.", "JAX gives it {given[1]}."),
    fixes=Swap(
        "Take what `nondiff_argnums` names first.",
        when=lambda facts: facts["rule"].part == "bwd" and len(facts["arguments"]) == 2,
        first="{named}, {first}",
    ),
    otherwise="Let it take these.",
)
_entry(
    "backward_rule_type",
    structure_texts.BWD_TYPE,
    rule=_only_rule("bwd", "g1"),
    # `shardings` explains it.
    when=lambda facts: sharding_texts.VARIES.match(facts.scene.error) is None,
    of=lambda facts: [one for one in facts["of_primal"] if one not in facts["static"]][int(facts["g2"])],
    title="A backward rule that returns a cotangent of another type",
    what="`{name}` returns {g3} for `{of}`, which is {g4}.",
    why="A cotangent says how much each number of the argument counts, so both have one shape and dtype.",
    fixes="Return it with the shape and dtype of `{of}`.",
)
_entry(
    "tangent_rule_type",
    structure_texts.JVP_TYPE,
    rule=_only_rule("jvp"),
    title="A derivative rule that returns a tangent of another type than the output",
    what="`{name}` returns the tangent {g2} for an output whose tangent is {g1}.",
    why="A tangent is a small change of the output, so both have one shape and dtype.",
    fixes="Reduce or convert the tangent as the function does with its input, for instance by a sum.",
)
_entry(
    "nondiff_of_tracer",
    structure_texts.NONDIFF_TRACER,
    x=lambda facts: next(iter(facts["static"]), None),
    rule=_only_rule("bwd"),
    title="`nondiff_argnums` names a value that is traced",
    what="`{primal.name}` lists {listed} in `nondiff_argnums`.",
    why="Such an argument is handed on as it is, so it cannot be traced; it is meant for functions and options.",
    fixes="Do not list it: keep it among the residuals, and return None for it in the backward rule.",
    variable="{x}",
    line="",
)


# Rules that are not linear, or whose first part is not the function's result.


def _not_linear(facts: Facts) -> Part | None:
    """Look at the first expression of a rule that is not linear in the tangents."""
    rule = facts["rule"]
    tangents = set(facts["arguments"][-1:])
    for statement in getattr(rule.own.node, "body", []):
        if not isinstance(statement, ast.Assign | ast.Return | ast.Expr):
            break  # names may be set again: too much to follow
        bent = next((one for one in ast.walk(statement) if _bends(one, tangents)), None)
        if bent is not None:
            return rule.own.inside(bent)  # type: ignore[no-any-return]
        if isinstance(statement, ast.Assign):
            whole = statement.targets[0], statement.value
            left, right = (getattr(one, "elts", [one]) for one in whole)
            for target, value in zip(left, right, strict=True) if len(left) == len(right) else [whole]:
                if names_in(value) & tangents:
                    tangents |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    return None


def _bends(node: ast.AST, tangents: set[str]) -> bool:
    """Return whether a node multiplies tangents with each other, or puts one into a curved function."""
    if not isinstance(node, ast.BinOp):
        return called(node) in _NOT_LINEAR and not tangents.isdisjoint(names_in(node))
    left, right = (not tangents.isdisjoint(names_in(one)) for one in (node.left, node.right))
    if isinstance(node.op, ast.Mult | ast.MatMult):
        return left and right
    return right if isinstance(node.op, ast.Div) else isinstance(node.op, ast.Pow) and (left or right)


_entry(
    "rule_not_linear",
    structure_texts.NOT_LINEAR,
    x=_not_linear,
    rule=_only_rule("jvp"),
    when=lambda facts: not isinstance(facts.scene.spot.statement, ast.Assert),  # of the student's
    title="A derivative rule that is not linear in the tangent",
    what="In `{name}`, `{x}` is not linear in the tangent.",
    why="Reverse mode turns the rule around, which works only if twice the tangent gives twice the result.",
    fixes="Let the tangent enter once, as a factor: `derivative * tangent`.",
)
_entry(
    "forward_rule_output",
    structure_texts.TUPLE_ATTRIBUTE,
    x=probes.result_of("own"),
    read=probes.holder,
    of=lambda facts: facts["read"].name,
    rule=_only_rule("fwd", "of"),
    result=probes.result_of("primal"),
    when=[
        lambda facts: facts["x"].count == 2 and not isinstance(facts.node("result"), ast.Tuple),
        # While it is differentiated.
        lambda facts: any(called(getattr(spot.node, "func", None)) in TRANSFORMS for spot in facts.scene.spots[:-1]),
    ],
    title="A forward rule whose first part is not what the function returns",
    what="`{name}` returns `{x.items[0]}` as its first part, and it is a tuple.",
    why="While JAX differentiates, the forward rule runs in place of `{of}`, so its first part is the result.",
    fixes="Return first what `{of}` returns, and second what the backward rule needs.",
)

# Functions without a rule, or with one for the other direction.
entry(
    "rule_missing",
    error_texts.NO_JVP_RULE,
    x=probes.words("{g2}"),
    back=lambda facts: "forward and a backward rule" if facts["g1"] == "VJP" else None,
    title="A derivative rule was promised and not given",
    what="`{g2}` is declared with a rule of its own, and none was given.",
    why="The decorator tells JAX not to look inside `{g2}`, so it has nothing to differentiate.",
    fixes=[
        "Let JAX differentiate what is inside: take the decorator away.",
        Either("Give it a {back}: `{g2}.defvjp(forward, backward)`.", "Give it its rule: `{g2}.defjvp(rule)`."),
    ],
    link=_LINK,
)
entry(
    "forward_of_custom_vjp",
    error_texts.FORWARD_OF_VJP,
    x=probes.argument(0, "fun", of="made"),
    made=probes.made_by("jacfwd", "hessian"),
    maker=probes.function_of("made"),
    title="Forward mode through a reverse rule",
    what="`{x}` has a rule from `jax.custom_vjp`.",
    why="`{maker}` goes forward, and a `custom_vjp` rule says only how to go back.",
    fixes="Go back: `{jax}.jacrev` gives what `jacfwd` does, and `{jax}.jacrev({jax}.jacrev({x}))` the Hessian.",
    link=_LINK,
)
_entry(
    "forward_rule_calls_its_function",
    error_texts.FORWARD_OF_VJP,
    x=lambda facts: facts["f"].name,
    rule=_only_rule("fwd", "x"),
    when=lambda facts: facts.scene.spot.function is facts.node("own"),
    title="A forward rule that calls its own function",
    what="The forward rule of `{x}` calls `{x}`.",
    why="Forward mode, as in `jax.hessian`, goes through this rule and meets `{x}` again, and a `custom_vjp` function "
    "has no forward-mode derivative.",
    fixes="In `{name}`, call the original function, `{f}.__wrapped__`; or differentiate in reverse mode only, with "
    "`{jax}.jacrev({jax}.jacrev(f))` in place of `jax.hessian(f)`.",
    variable="{x}",
    line="",
)
