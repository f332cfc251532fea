"""Explain rules of `jax.custom_jvp` and `jax.custom_vjp` that take or return the wrong parts, or are not linear."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxguide.base.text import plural
from jaxguide.code.edits import Edit
from jaxguide.code.lines import Line
from jaxguide.code.source import Source, dotted, names_in
from jaxguide.compat import sharding_texts, structure_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import TRANSFORMS, own_nodes, returned

_LINK = "https://docs.jax.dev/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html"
# Functions that are not linear, so that no tangent may go through them.
_NOT_LINEAR = frozenset(
    (
        *("abs", "cos", "cosh", "exp", "expm1", "log", "log1p", "max", "maximum", "min", "minimum", "power"),
        *("reciprocal", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
    )
)


@dataclass(frozen=True)
class _Rule:
    """A function of the student that was registered as a rule.

    Args:
        source: where it is defined.
        function: its definition.
        primal: the function that it belongs to, if its definition was found.
        part: 'fwd', 'bwd' or 'jvp'.
    """

    source: Source
    function: ast.FunctionDef | ast.Lambda
    primal: ast.FunctionDef | None
    part: str

    @property
    def name(self) -> str:
        """The name of the function; `<lambda>` for one without."""
        return "<lambda>" if isinstance(self.function, ast.Lambda) else self.function.name

    @property
    def static(self) -> list[str]:
        """The names of the arguments that `nondiff_argnums` lists."""
        if self.primal is None:
            return []
        names = [argument.arg for argument in self.primal.args.args]
        numbers = [
            node.value
            for decorator in self.primal.decorator_list
            for keyword in ast.walk(decorator)
            if isinstance(keyword, ast.keyword) and keyword.arg == "nondiff_argnums"
            for node in ast.walk(keyword.value)
            if isinstance(node, ast.Constant)
        ]
        return [names[number] for number in sorted(n for n in numbers if isinstance(n, int)) if number < len(names)]


def _rules(scene: Scene) -> Iterator[_Rule]:
    """Yield the rules that the student's sources register."""
    sources = dict.fromkeys(spot.source for spot in scene.spots if spot.source is not None)
    for source in sources:
        defined = {node.name: node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)}
        for call in source.calls():
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("defvjp", "defjvp"):
                continue
            primal = defined.get(dotted(call.func.value))
            parts = ("fwd", "bwd") if call.func.attr == "defvjp" else ("jvp",)
            for part, given in zip(parts, call.args, strict=False):
                function = given if isinstance(given, ast.Lambda) else defined.get(dotted(given))
                if function is not None:
                    yield _Rule(source, function, primal, part)
        for function in defined.values():
            for decorator in function.decorator_list:
                if isinstance(decorator, ast.Attribute) and decorator.attr == "defjvp":
                    yield _Rule(source, function, defined.get(dotted(decorator.value)), "jvp")


def _rule(scene: Scene, part: str, name: str | None = None, primal: str | None = None) -> _Rule | None:
    """Return the only rule that fits, or None."""
    found = [
        rule
        for rule in _rules(scene)
        if rule.part == part
        and (name is None or rule.name == name)
        and (primal is None or (rule.primal is not None and rule.primal.name == primal))
    ]
    return found[0] if len(found) == 1 else None


def _said(
    scene: Scene, rule: _Rule, kind: str, title: str, what: str, why: str, *fixes: Fix | None, at: ast.AST | None = None
) -> Explanation | None:
    place = at if at is not None else rule.function
    return scene.explanation(
        kind,
        title=title,
        what=what,
        variable=rule.name,
        why=why,
        fixes=fixes,
        link=_LINK,
        line=Line(rule.source.file, rule.source.start(place)[0]),
    )


@explains(structure_texts.FWD_PAIR)
def forward_without_pair(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a forward rule that does not return the output and the residuals."""
    rule = _rule(scene, "fwd", found[1].split(".")[-1], found[2].split(".")[-1])
    result = returned(rule.function) if rule is not None else None
    if rule is None or result is None:
        return None
    text = rule.source.quote(result)
    fix: Fix | None = None
    if isinstance(result, ast.Tuple) and len(result.elts) > 2:
        first, *rest = [rule.source.quote(element) for element in result.elts]
        new = f"{first}, ({', '.join(rest)})"
        fix = scene.fix("Put what the backward rule needs into one tuple.", rule.source.replace(result, new))
    else:
        fix = scene.advice("Return the output, and what the backward rule needs: `return output, residuals`.")
    return _said(
        scene,
        rule,
        "forward_rule_pair",
        "A forward rule that does not return a pair",
        f"`{rule.name}` returns `{text}`.",
        "The forward rule returns two things: what the function returns, and what the backward rule needs.",
        fix,
        at=result,
    )


@explains(structure_texts.JVP_PAIR)
def tangent_rule_without_pair(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a rule of `custom_jvp` that returns the tangent alone."""
    rule = _rule(scene, "jvp", found[1].split(".")[-1], found[2].split(".")[-1])
    result = returned(rule.function) if rule is not None else None
    if rule is None or result is None or isinstance(result, ast.Tuple):
        return None
    text, own = rule.source.quote(result), [argument.arg for argument in rule.function.args.args]
    name = found[2].split(".")[-1]
    stored = {n.id for n in ast.walk(rule.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    plain = len(own) == 2 and own[0] not in stored and not rule.static
    return _said(
        scene,
        rule,
        "tangent_rule_pair",
        "A derivative rule that does not return a pair",
        f"`{rule.name}` returns `{text}` alone.",
        "The rule of a `custom_jvp` returns two things: the function's output, and the output's tangent.",
        scene.fix(
            "Return the output too, if this is the tangent.",
            rule.source.replace(result, f"{name}(*{own[0]}), {text}") if plain else None,
            code=f"return {name}(...), {text}" if not plain else "",
        ),
        at=result,
    )


@explains(structure_texts.BWD_COUNT)
def backward_count(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a backward rule that returns more or fewer cotangents than the function has arguments."""
    structures = structure_texts.BWD_STRUCTURES.search(scene.message)
    got, wanted = (_top_parts(text) for text in structures.groups()) if structures is not None else (None, None)
    rules = [rule for rule in _rules(scene) if rule.part == "bwd"]
    results = [(rule, returned(rule.function)) for rule in rules]
    fitting = [
        (rule, result)
        for rule, result in results
        if result is not None and (len(result.elts) if isinstance(result, ast.Tuple) else None) == got
    ]
    if wanted is None or got == wanted or len(fitting) != 1:
        return None
    rule, result = fitting[0]
    if got is None and wanted == 1:
        return None  # one value without its tuple, which another rule explains
    name, source = rule.name, rule.source
    primal = rule.primal.name if rule.primal is not None else "the function"
    fix: Fix | None = None
    if isinstance(result, ast.Tuple) and got is not None and got > wanted:
        kept, rest = result.elts[:wanted], result.elts[wanted:]
        nothing = all(isinstance(element, ast.Constant) and element.value is None for element in rest)
        text = ", ".join(source.quote(element) for element in kept) + ("," if wanted == 1 else "")
        fix = scene.fix(
            "Leave out what belongs to no argument that is differentiated.",
            source.replace(result, f"({text})") if nothing and wanted else None,
        )
    fix = fix or scene.advice(
        "Return a tuple with one cotangent for each of these arguments, and None for one that has none."
    )
    arguments = plural("{count} argument", "{count} arguments", wanted)
    if rule.static:
        names = ", ".join(f"`{one}`" for one in rule.static)
        arguments = f"{arguments} without {names} of `nondiff_argnums`"
    return _said(
        scene,
        rule,
        "backward_rule_count",
        "A backward rule that returns too many values"
        if got is not None and got > wanted
        else "A backward rule that returns too few values",
        "`{name}` returns {got}, and `{primal}` has {arguments}.".format(
            name=name,
            got=plural("{count} value", "{count} values", got) if got is not None else "one value, not in a tuple",
            primal=primal,
            arguments=arguments,
        ),
        "The backward rule returns one cotangent for each argument that is differentiated, in their order.",
        fix,
        at=result,
    )


def _top_parts(text: str) -> int | None:
    """Return the number of parts of the tuple that a PyTreeDef describes; None if it is not a tuple.

    >>> _top_parts("(*, {'a': (*, *)})"), _top_parts("(*,)"), _top_parts("*")
    (2, 1, None)
    """
    if not text.startswith("("):
        return None
    depth, parts, waiting = 0, 0, False
    for sign in text:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
        if depth == 1 and sign == ",":
            parts, waiting = parts + 1, False
        elif depth >= 1 and sign not in "( ,":
            waiting = True
        elif depth == 0:
            break
    return parts + waiting


@explains(structure_texts.ARGUMENT_COUNT)
def rule_arguments(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a rule that takes another number of arguments than JAX gives it."""
    call = scene.call()
    name = found[1]
    if call is not None and called(call) == name:  # the student's own call
        return None
    named = [rule for rule in _rules(scene) if rule.name == name]
    if len(named) != 1:
        return None
    rule = named[0]
    own = [argument.arg for argument in rule.function.args.args]
    if rule.function.args.vararg is not None or rule.function.args.defaults:
        return None
    static = rule.static
    if rule.part == "fwd":
        needs = [argument.arg for argument in rule.primal.args.args] if rule.primal is not None else []
        order = "the arguments of the function"
    elif rule.part == "bwd":
        needs = [*static, "residuals", "cotangents"]
        order = "what the forward rule kept, and the cotangents of the output"
    else:
        needs = [*static, "primals", "tangents"]
        order = "a tuple of the primals, and a tuple of the tangents"
    if len(own) == len(needs) or not needs:
        return None
    if static and rule.part != "fwd":
        names = ", ".join(f"`{one}`" for one in static)
        order = f"{names} of `nondiff_argnums`, then {order}"
    edit: Edit | None = None
    lacks = len(own) + len(static) == len(needs) and not set(static) & set(own)
    if rule.part == "bwd" and static and lacks:
        edit = rule.source.insert_before(rule.function.args.args[0], f"{', '.join(static)}, ")
    return _said(
        scene,
        rule,
        "rule_arguments",
        "A derivative rule that takes the wrong number of arguments",
        "`{name}` takes {takes}, and is given {given}.".format(
            name=name, takes=plural("{count} argument", "{count} arguments", len(own)), given=str(len(needs))
        ),
        f"JAX gives it {order}.",
        scene.fix("Take what `nondiff_argnums` names first.", edit)
        or scene.advice("Let it take {needs}.".format(needs=", ".join(f"`{need}`" for need in needs))),
    )


@explains(structure_texts.BWD_TYPE)
def backward_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a cotangent whose shape or dtype differs from that of its argument."""
    if sharding_texts.BACKWARD_VARIES.match(scene.error) is not None:  # `meshes` explains it
        return None
    rule = _rule(scene, "bwd", primal=found[1].split(".")[-1] if found[1] else None)
    if rule is None or rule.primal is None:
        return None
    names = [a.arg for a in rule.primal.args.args if a.arg not in rule.static]
    number = int(found[2])
    result = returned(rule.function)
    if number >= len(names):
        return None
    return _said(
        scene,
        rule,
        "backward_rule_type",
        "A backward rule that returns a cotangent of another type",
        f"`{rule.name}` returns {found[3]} for `{names[number]}`, which is {found[4]}.",
        "A cotangent says how much each number of the argument counts, so both have one shape and dtype.",
        scene.advice(f"Return it with the shape and dtype of `{names[number]}`."),
        at=result,
    )


@explains(structure_texts.JVP_TYPE)
def tangent_type(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain an output tangent whose shape or dtype differs from that of the output."""
    rule = _rule(scene, "jvp")
    if rule is None:
        return None
    return _said(
        scene,
        rule,
        "tangent_rule_type",
        "A derivative rule that returns a tangent of another type than the output",
        f"`{rule.name}` returns the tangent {found[2]} for an output whose tangent is {found[1]}.",
        "A tangent is a small change of the output, so both have one shape and dtype.",
        scene.advice("Reduce or convert the tangent as the function does with its input, for instance by a sum."),
        at=returned(rule.function),
    )


@explains(structure_texts.NONDIFF_TRACER)
def traced_nondiff(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a traced value for an argument that `nondiff_argnums` lists."""
    rules = [rule for rule in _rules(scene) if rule.part == "bwd" and rule.static]
    if len(rules) != 1 or rules[0].primal is None:
        return None
    rule, static = rules[0], rules[0].static
    assert rule.primal is not None
    names = ", ".join(f"`{name}`" for name in static)
    return scene.explanation(
        "nondiff_of_tracer",
        title="`nondiff_argnums` names a value that is traced",
        what=f"`{rule.primal.name}` lists {names} in `nondiff_argnums`.",
        variable=static[0],
        why="Such an argument is handed on as it is, so it cannot be traced; it is meant for functions and options.",
        fixes=[
            scene.advice(
                "Leave it out of `nondiff_argnums`: keep it among the residuals, and return None for it in the "
                "backward rule."
            )
        ],
        link=_LINK,
    )


@explains(structure_texts.NOT_LINEAR)
def rule_not_linear(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain reverse mode through a rule of `custom_jvp` whose tangent is squared or goes through a sine."""
    if type(scene.error) not in (AssertionError, NotImplementedError) or isinstance(scene.spot.statement, ast.Assert):
        return None
    for rule in _rules(scene):
        if rule.part != "jvp" or isinstance(rule.function, ast.Lambda) or len(rule.function.args.args) < 2:
            continue
        guilty = _not_linear(rule.function)
        if guilty is None:
            continue
        node, tangents, between = guilty
        return _said(
            scene,
            rule,
            "rule_not_linear",
            "A derivative rule that is not linear in the tangent",
            _linearity(rule.name, rule.source.quote(node), tangents, between),
            "Reverse mode turns the rule around, which works only if twice the tangent gives twice the result.",
            scene.advice("Let the tangent enter once, as a factor: `derivative * tangent`."),
            at=node,
        )
    return None


def _linearity(name: str, text: str, tangents: list[str], between: list[str]) -> str:
    """Say what is not linear in which tangents, and which other names depend on them."""
    said = plural(
        "In `{name}`, `{text}` is not linear in the tangent `{tangents}`.",
        "In `{name}`, `{text}` is not linear in the tangents `{tangents}`.",
        len(tangents),
        name=name,
        text=text,
        tangents="`, `".join(tangents),
    )
    if not between:
        return said
    others = plural(
        "`{names}` depends on it, too.", "`{names}` depend on it, too.", len(between), names="`, `".join(between)
    )
    return f"{said} {others}" if len(tangents) == 1 else said


def _not_linear(function: ast.FunctionDef) -> tuple[ast.expr, list[str], list[str]] | None:
    """Return the first expression that is not linear in the tangents, those tangents, and the names made of them."""
    tangents = function.args.args[-1].arg
    behind: dict[str, set[str]] = {tangents: {tangents}}
    depend = {tangents}
    statements = sorted((n for n in own_nodes(function) if isinstance(n, ast.stmt)), key=lambda n: n.lineno)
    for statement in statements:
        if isinstance(statement, ast.For | ast.While | ast.If | ast.With | ast.AugAssign):
            return None  # names may be set again: too much to follow
        for node in ast.walk(statement):
            if isinstance(node, ast.expr) and _squares(node, depend):
                used = names_in(node) & depend
                named = sorted(set().union(*(behind[name] for name in used)))
                return node, named, sorted(name for name in used if behind[name] != {name})
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            for name, value in _set_by(target, statement.value, depend).items():
                parts = names_in(value) & depend
                whole = isinstance(value, ast.Name | ast.Subscript) and parts == {tangents}
                behind[name] = {name} if whole else set().union(*(behind[part] for part in parts))
                depend.add(name)
    return None


def _set_by(target: ast.expr, value: ast.expr, depend: set[str]) -> dict[str, ast.expr]:
    """Return the names that an assignment makes depend on the tangents, with what each is set to."""
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(target.elts, value.elts, strict=True))
    return {
        node.id: right
        for left, right in pairs
        if names_in(right) & depend
        for node in ast.walk(left)
        if isinstance(node, ast.Name)
    }


def _squares(node: ast.expr, depend: set[str]) -> bool:
    """Return whether a node multiplies what depends on the tangents with itself, or puts it into a curved function."""

    def uses(part: ast.AST) -> bool:
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "ndim", "size", "dtype"):
            return False
        if isinstance(part, ast.Name):
            return part.id in depend
        return any(uses(child) for child in ast.iter_child_nodes(part))

    if isinstance(node, ast.BinOp):
        left, right = uses(node.left), uses(node.right)
        if isinstance(node.op, ast.Mult | ast.MatMult):
            return left and right
        if isinstance(node.op, ast.Div):
            return right
        return isinstance(node.op, ast.Pow) and (left or right)
    return isinstance(node, ast.Call) and called(node) in _NOT_LINEAR and any(uses(part) for part in node.args)


@explains(structure_texts.TUPLE_ATTRIBUTE)
def forward_returns_more(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a forward rule whose first result is a tuple, where the function returns an array."""
    node = scene.node
    call = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    call = node.value if isinstance(node, ast.Attribute) else call
    if not isinstance(call, ast.Call) or not hasattr(scene.spot.value(call.func), "defvjp"):
        return None
    outer = [spot.node for spot in scene.spots[:-1] if isinstance(spot.node, ast.Call)]
    rule = _rule(scene, "fwd", primal=called(call))
    result = returned(rule.function) if rule is not None else None
    if rule is None or not isinstance(result, ast.Tuple) or len(result.elts) != 2:
        return None
    if rule.primal is None or isinstance(returned(rule.primal), ast.Tuple):
        return None
    if not any(called(one.func) in TRANSFORMS for one in outer):
        return None
    first = rule.source.quote(result.elts[0])
    return _said(
        scene,
        rule,
        "forward_rule_output",
        "A forward rule whose first part is not what the function returns",
        f"`{rule.name}` returns `{first}` as its first part, and it is a tuple.",
        f"While JAX differentiates, the forward rule runs in place of `{called(call)}`, so its first part is the "
        "result.",
        scene.advice(f"Return first what `{called(call)}` returns, and second what the backward rule needs."),
        at=result,
    )
