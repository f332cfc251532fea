"""Explain rules of `jax.custom_jvp` and `jax.custom_vjp` that are missing, take or return the wrong parts, or bend."""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxguide.base.text import plural
from jaxguide.code.source import arguments_of, dotted, names_in
from jaxguide.compat import error_texts, sharding_texts, structure_texts
from jaxguide.explain import probes
from jaxguide.explain.catalogue import Either, Swap, Words, entry
from jaxguide.explain.known_facts import Facts, Part, Probe
from jaxguide.explain.scene import called
from jaxguide.explain.transformed import TRANSFORMS, returned

# What gives the rules to a function -> their kinds.
_PARTS = {"defvjp": ("fwd", "bwd"), "defjvp": ("jvp",)}
# Functions that are not linear, so that no tangent may go through them.
_NOT_LINEAR = (
    *("abs", "cos", "cosh", "exp", "expm1", "log", "log1p", "max", "maximum", "min", "minimum", "power"),
    *("reciprocal", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
)


class _Rule(NamedTuple):
    """A function of the student that was registered as a rule.

    Args:
        part: 'fwd', 'bwd' or 'jvp'.
        own: its definition.
        primal: the definition of the function that it belongs to, if it was found.
    """

    part: str
    own: Part
    primal: Part | None

    @property
    def name(self) -> str:
        """The name of the rule; `<lambda>` for one without."""
        return str(getattr(self.own.node, "name", "<lambda>"))

    @property
    def arguments(self) -> list[str]:
        """The names of its arguments."""
        return arguments_of(self.own.node)  # type: ignore[arg-type]

    @property
    def static(self) -> list[str]:
        """The names of the function's arguments that `nondiff_argnums` lists."""
        nodes = [
            one for made in getattr(self.primal and self.primal.node, "decorator_list", []) for one in ast.walk(made)
        ]
        given = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg == "nondiff_argnums"]
        numbers = [getattr(one, "value", None) for value in given for one in ast.walk(value)]
        return [name for number, name in enumerate(self.of_primal) if number in numbers]

    @property
    def of_primal(self) -> list[str]:
        """The names of the function's arguments."""
        return arguments_of(self.primal.node) if self.primal else []  # type: ignore[arg-type]


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


def _only_rule(part: str, own: str = "", primal: str = "") -> Probe:
    """Find the only rule of a kind; its name, and that of its function, are those in these facts, if they are known."""

    def found(facts: Facts) -> _Rule | None:
        def fits(fact: str, name: object) -> bool:
            return not fact or not facts.knows(fact) or facts[fact].split(".")[-1] == name

        rules = [one for one in _rules(facts) if one.part in part and fits(own, one.name)]
        fitting = [one for one in rules if fits(primal, one.primal and one.primal.name)]
        return fitting[0] if len(fitting) == 1 else None

    return found


_RULE: dict[str, Any] = {
    "own": lambda facts: facts["rule"].own,
    "primal": lambda facts: facts["rule"].primal,
    "static": lambda facts: ", ".join(f"`{one}`" for one in facts["rule"].static) or None,
    "line": "x",
    "variable": "{rule.name}",
    "link": "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html",
}


# Rules that return the wrong number of parts.


entry(
    "forward_rule_pair",
    structure_texts.FWD_PAIR,
    x=probes.result_of("own"),
    rule=_only_rule("fwd", own="g1", primal="g2"),
    title="A forward rule that does not return a pair",
    what="`{rule.name}` returns `{x}`.",
    why="The forward rule returns two things: what the function returns, and what the backward rule needs.",
    fixes="Return the output, and what the backward rule needs: `return output, residuals`.",
    **_RULE,
)
entry(
    "tangent_rule_pair",
    structure_texts.JVP_PAIR,
    x=probes.result_of("own"),
    rule=_only_rule("jvp", own="g1", primal="g2"),
    when=probes.unless(probes.is_written("x", ast.Tuple)),
    title="A derivative rule that does not return a pair",
    what="`{rule.name}` returns `{x}` alone.",
    why="The rule of a `custom_jvp` returns two things: the function's output, and the output's tangent.",
    fixes=Swap(
        "Return the output too, if this is the tangent.",
        when=lambda facts: len(facts["rule"].arguments) == 2 and not facts["rule"].static,
        or_say=True,
        x="{primal.name}(*{rule.arguments[0]}), {x}",
    ),
    **_RULE,
)


def _count(structure: str) -> int | None:
    """Return how many parts the tuple has that a PyTreeDef describes, such as `(*, {'a': *})`; 0 for no tuple."""
    try:
        return len(getattr(ast.parse(structure.replace("*", "0"), mode="eval").body, "elts", ()))
    except SyntaxError:
        return None


def _backward_rule(facts: Facts) -> _Rule | None:
    """Find the only backward rule that returns as many values as JAX got."""
    results = [(one, returned(one.own.node)) for one in _rules(facts) if one.part == "bwd"]  # type: ignore[arg-type]
    fitting = [rule for rule, node in results if node and len(getattr(node, "elts", ())) == facts["got"]]
    return fitting[0] if len(fitting) == 1 else None


_BACKWARD: dict[str, Any] = {
    **_RULE,
    "x": probes.result_of("own"),
    "rule": _backward_rule,
    "structures": probes.said(structure_texts.BWD_STRUCTURES),
    "got": lambda facts: _count(facts["structures"][1]),
    "wanted": lambda facts: _count(facts["structures"][2]),
}
entry(
    "backward_no_tuple",
    error_texts.BWD_TUPLE,
    when=lambda facts: (facts["got"], facts["wanted"]) == (0, 1),
    title="A backward rule that does not return a tuple",
    what="`{rule.name}` returns `{x}`, which is not a tuple.",
    why="The backward rule returns one cotangent for each argument of the function, in a tuple, also for one.",
    fixes=Swap("Put it into a tuple of one.", x="({x},)"),
    **_BACKWARD,
)
entry(
    "backward_rule_count",
    structure_texts.BWD_COUNT,
    when=lambda facts: facts["got"] != facts["wanted"],
    number=lambda facts: "many" if facts["got"] > facts["wanted"] else "few",
    values=lambda facts: plural("{count} value", "{count} values", facts["got"]) if facts["got"] else None,
    arguments=lambda facts: plural("{count} argument", "{count} arguments", facts["wanted"]),
    title="A backward rule that returns too {number} values",
    what=(
        "`{rule.name}` returns {values}, and `{primal.name}` has {arguments} without {static} of `nondiff_argnums`.",
        "`{rule.name}` returns {values}, and `{primal.name}` has {arguments}.",
        "`{rule.name}` returns one value, not in a tuple, and `{primal.name}` has {arguments}.",
    ),
    why="The backward rule returns one cotangent for each argument that is differentiated, in their order.",
    fixes="Return a tuple with a cotangent for each of these arguments: None where there is none.",
    **_BACKWARD,
)


# Rules that take the wrong number of arguments, or give values of another type.


def _needs(facts: Facts) -> list[str] | None:
    """Find the names of what JAX gives to a rule, if the rule takes another number of arguments."""
    rule, takes = facts["rule"], facts.node("own").args
    if rule.part == "fwd":
        needs = rule.of_primal
    else:
        needs = rule.static + (["residuals", "cotangents"] if rule.part == "bwd" else ["primals", "tangents"])
    return needs if needs and not (takes.vararg or takes.defaults or len(needs) == len(takes.args)) else None


def _with_static(facts: Facts) -> str | None:
    """Say the first argument of a backward rule behind those of `nondiff_argnums`, if just these are missing."""
    rule = facts["rule"]
    missing = rule.part == "bwd" and len(rule.arguments) == 2 and rule.arguments[0] not in rule.static
    return ", ".join((*rule.static, str(facts["first"]))) if missing and rule.static else None


_ORDER = {
    "fwd": "the arguments of the function",
    "bwd": "what the forward rule kept, and the cotangents of the output",
    "jvp": "a tuple of the primals, and a tuple of the tangents",
}
entry(
    "rule_arguments",
    structure_texts.ARGUMENT_COUNT,
    x=probes.fact("own"),
    rule=_only_rule("fwd bwd jvp", own="g1"),
    needs=_needs,
    when=lambda facts: called(facts.scene.call()) != facts["g1"],  # by the student
    takes=lambda facts: plural("{count} argument", "{count} arguments", len(facts["rule"].arguments)),
    count=lambda facts: len(facts["needs"]),
    needed=lambda facts: ", ".join(f"`{one}`" for one in facts["needs"]),
    order=lambda facts: _ORDER[facts["rule"].part],
    before=lambda facts: facts["static"] if facts["rule"].part != "fwd" else None,
    first=lambda facts: facts["own"].inside(facts.node("own").args.args[0]),
    with_static=_with_static,
    title="A derivative rule that takes the wrong number of arguments",
    what="`{rule.name}` takes {takes}, and is given {count}.",
    why=("JAX gives it {before} of `nondiff_argnums`, then {order}.", "JAX gives it {order}."),
    fixes=Either(Swap("Take what `nondiff_argnums` names first.", first="{with_static}"), "Let it take {needed}."),
    **_RULE,
)
entry(
    "backward_rule_type",
    structure_texts.BWD_TYPE,
    x=probes.one_of(probes.result_of("own"), probes.fact("own")),
    rule=_only_rule("bwd", primal="g1"),
    # `shardings` explains it.
    when=lambda facts: sharding_texts.VARIES.match(facts.scene.error) is None,
    differentiated=lambda facts: [name for name in facts["rule"].of_primal if name not in facts["rule"].static],
    of=lambda facts: dict(enumerate(facts["differentiated"])).get(int(facts["g2"])),
    title="A backward rule that returns a cotangent of another type",
    what="`{rule.name}` returns {g3} for `{of}`, which is {g4}.",
    why="A cotangent says how much each number of the argument counts, so both have one shape and dtype.",
    fixes="Return it with the shape and dtype of `{of}`.",
    **_RULE,
)
entry(
    "tangent_rule_type",
    structure_texts.JVP_TYPE,
    x=probes.one_of(probes.result_of("own"), probes.fact("own")),
    rule=_only_rule("jvp"),
    title="A derivative rule that returns a tangent of another type than the output",
    what="`{rule.name}` returns the tangent {g2} for an output whose tangent is {g1}.",
    why="A tangent is a small change of the output, so both have one shape and dtype.",
    fixes="Reduce or convert the tangent as the function does with its input, for instance by a sum.",
    **_RULE,
)
entry(
    "nondiff_of_tracer",
    structure_texts.NONDIFF_TRACER,
    x=lambda facts: next(iter(facts["rule"].static), None),
    rule=_only_rule("bwd"),
    title="`nondiff_argnums` names a value that is traced",
    what="`{primal.name}` lists {static} in `nondiff_argnums`.",
    why="Such an argument is handed on as it is, so it cannot be traced; it is meant for functions and options.",
    fixes="Do not list it: keep it among the residuals, and return None for it in the backward rule.",
    **{**_RULE, "variable": "{x}", "line": ""},
)


# Rules that are not linear, or whose first part is not the function's result.


def _not_linear(facts: Facts) -> tuple[_Rule, Part] | None:
    """Find the first expression of a rule that is not linear in the tangents."""
    for rule in _rules(facts):
        tangents = set(rule.arguments[-1:])
        for statement in getattr(rule.own.node, "body", []) if rule.part == "jvp" and len(rule.arguments) > 1 else ():
            if not isinstance(statement, ast.Assign | ast.Return | ast.Expr):
                break  # names may be set again: too much to follow
            for node in ast.walk(statement):
                if isinstance(node, ast.expr) and _bends(node, tangents):
                    return rule, rule.own.inside(node)
            if isinstance(statement, ast.Assign):
                whole = statement.targets[0], statement.value
                left, right = (getattr(one, "elts", [one]) for one in whole)
                for target, value in zip(left, right, strict=True) if len(left) == len(right) else [whole]:
                    if names_in(value) & tangents:
                        tangents |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    return None


def _bends(node: ast.expr, tangents: set[str]) -> bool:
    """Return whether a node multiplies tangents with each other, or puts one into a curved function."""
    if not isinstance(node, ast.BinOp):
        return called(node) in _NOT_LINEAR and not tangents.isdisjoint(names_in(node))
    left, right = (not tangents.isdisjoint(names_in(one)) for one in (node.left, node.right))
    if isinstance(node.op, ast.Mult | ast.MatMult):
        return left and right
    return right if isinstance(node.op, ast.Div) else isinstance(node.op, ast.Pow) and (left or right)


def _call_before_the_dot(facts: Facts) -> ast.expr | None:
    """Look at the call of a function with a forward rule whose result is read: `f(x)` in `f(x).sum()`."""
    node = facts.scene.node
    call = getattr(node.func if isinstance(node, ast.Call) else node, "value", None)
    return call if isinstance(call, ast.Call) and hasattr(facts.scene.spot.value(call.func), "defvjp") else None


entry(
    "rule_not_linear",
    structure_texts.NOT_LINEAR,
    x=lambda facts: facts["found"][1],
    found=_not_linear,
    rule=lambda facts: facts["found"][0],
    when=[
        lambda facts: type(facts.scene.error) in (AssertionError, NotImplementedError),
        # An assertion of the student's.
        lambda facts: not isinstance(facts.scene.spot.statement, ast.Assert),
    ],
    title="A derivative rule that is not linear in the tangent",
    what="In `{rule.name}`, `{x}` is not linear in the tangent.",
    why="Reverse mode turns the rule around, which works only if twice the tangent gives twice the result.",
    fixes="Let the tangent enter once, as a factor: `derivative * tangent`.",
    **_RULE,
)
entry(
    "forward_rule_output",
    structure_texts.TUPLE_ATTRIBUTE,
    x=probes.result_of("own"),
    of=lambda facts: facts["read"].name,
    read=_call_before_the_dot,
    rule=_only_rule("fwd", primal="of"),
    result=probes.result_of("primal"),
    when=[
        lambda facts: facts["x"].count == 2 and not isinstance(facts.node("result"), ast.Tuple),
        # While it is differentiated.
        lambda facts: any(called(getattr(spot.node, "func", None)) in TRANSFORMS for spot in facts.scene.spots[:-1]),
    ],
    title="A forward rule whose first part is not what the function returns",
    what="`{rule.name}` returns `{x.items[0]}` as its first part, and it is a tuple.",
    why="While JAX differentiates, the forward rule runs in place of `{of}`, so its first part is the result.",
    fixes="Return first what `{of}` returns, and second what the backward rule needs.",
    **_RULE,
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
    link=_RULE["link"],
)
entry(
    "forward_of_custom_vjp",
    error_texts.FORWARD_OF_VJP,
    x=probes.argument(0, "fun", of="made"),
    made=probes.made_by("jacfwd", "hessian"),
    maker=lambda facts: facts.node("made").func,
    back=lambda facts: str(facts["maker"]).removesuffix(facts["maker"].name) + "jacrev",
    title="Forward mode through a reverse rule",
    what="`{x}` has a rule from `jax.custom_vjp`.",
    why="`{maker}` goes forward, and a `custom_vjp` rule says only how to go back.",
    fixes=Either(
        Words("Go back twice: `{back}({back}({x}))`.", when=lambda facts: facts["maker"].name == "hessian"),
        Swap("Go back: the same derivatives in reverse mode.", maker="{back}"),
    ),
    link=_RULE["link"],
)
entry(
    "forward_rule_calls_its_function",
    error_texts.FORWARD_OF_VJP,
    x=lambda facts: facts["f"].name,
    rule=_only_rule("fwd", primal="x"),
    when=lambda facts: facts.scene.spot.function is facts.node("own"),
    title="A forward rule that calls its own function",
    what="The forward rule of `{x}` calls `{x}`.",
    why="Forward mode, as in `jax.hessian`, goes through this rule and meets `{x}` again, which can only go back.",
    fixes=[
        Swap("Call what the rules were added to, or write out what it computes.", f="{f}.__wrapped__"),
        "Or differentiate in reverse mode only: `jax.jacrev(jax.jacrev(f))` in place of `jax.hessian(f)`.",
    ],
    **{**_RULE, "variable": "{x}", "line": ""},
)
