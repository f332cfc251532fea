"""Explain traced values that outlive their function, in a list, an attribute, a global or an outer variable."""

import ast
import inspect
import re
from dataclasses import replace
from functools import cached_property

from jaxguide import compat
from jaxguide.code.edits import Edit
from jaxguide.code.frames import package_name
from jaxguide.code.lines import Line
from jaxguide.code.source import Source, dotted, names_in, source_of
from jaxguide.code.user_frame import MISSING, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene


@explains(error_texts.LEAK)
def leaked_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a tracer used after its trace: where it was stored, and how to return it instead."""
    made = error_texts.LEAK_CREATED.search(scene.message)
    leak = error_texts.LEAK_FUNCTION.search(scene.message)
    return _leaked(scene, made, (leak[1], leak[2], int(leak[3])) if leak is not None else None)


def leaked_before(scene: Scene) -> Explanation | None:
    """Explain any error that comes from a traced value used after tracing ended; None without such a value."""
    traced = scene.tracer()
    if traced is None or _is_within_jax(scene):
        return None
    by = compat.traced_by(traced[1])
    if by.file is None or by.function is None or by.line is None:
        return _of_unknown_function(scene, scene.quote(traced[0]))
    found = _leaked(scene, None, (by.function, by.file, by.line))
    if found is None:
        return None
    # What JAX itself says may be wrong too: no fix of the leak is known to be enough.
    said = scene.advice("Then see whether this remains: {said}".format(said=scene.message.split("\n")[0]))
    return replace(found, fixes=(*(Fix(fix.sentence, fix.code) for fix in found.fixes[:2]), said))


def _of_unknown_function(scene: Scene, text: str) -> Explanation | None:
    """Explain a tracer that does not say which function it comes from."""
    return scene.explanation(
        "leaked_tracer",
        title="A traced value was used after its function had ended",
        what=f"`{text}` is what is left of a traced value.",
        variable=text,
        why="While JAX records a function, its values stand for values to come; kept elsewhere they stand for nothing.",
        fixes=[
            scene.advice(
                "Return the value from the traced function (`has_aux=True` for `jax.grad`), and keep it outside."
            )
        ],
        link=error_texts.ERRORS_PAGE,
    )


def _is_within_jax(scene: Scene) -> bool:
    """Return whether a function of JAX called the failing one, directly or not: it may be tracing."""
    frame = scene.spot.frame.f_back
    while frame is not None:
        if package_name(frame.f_code.co_filename) == "jax":
            return True
        frame = frame.f_back
    return False


def _leaked(scene: Scene, made: re.Match[str] | None, leak: tuple[str, str, int] | None) -> Explanation | None:
    """Explain a tracer that was made at a place, while a function was traced, whose name, file and line are given."""
    function_name = (made[3] if made else "").removesuffix(".<locals>").split(".")[-1]
    if leak is not None:
        function_name = leak[0].split(".")[-1]
    traced = scene.tracer()
    source = source_of(leak[1]) if leak else scene.source
    lazy = _computed_lazily(scene, traced[0]) if traced is not None else None
    if lazy is not None:
        return lazy
    function = None
    if source is not None and leak is not None:
        function = source.function_at(function_name, leak[2])
    held = scene.quote(traced[0]) if traced is not None else None
    keeper = _keeper(function, source, held) if isinstance(function, ast.FunctionDef) and source is not None else None
    if traced is not None:
        variable = scene.quote(traced[0])
    elif keeper is not None and source is not None:
        variable = source.quote(keeper.target)
    else:
        return _cached(scene, made) or _held(scene)
    if not function_name:  # `jax.grad` alone does not say which
        return _of_unknown_function(scene, variable)
    place = f" ({Line(made[1], int(made[2]))})" if made else ""
    left = "`{name}` is what is left of a traced value of `{function}`{place}."
    if keeper is not None and traced is None and keeper.method is not None:
        left = "`{name}` holds what is left of a traced value of `{function}`{place}."
    what = left.format(name=variable, function=function_name, place=place)
    fixes: list[Fix | None] = []
    if keeper is not None and source is not None and isinstance(function, ast.FunctionDef):
        fixes.append(_return_it(scene, source, function, keeper))
        if keeper.method is not None:
            fixes.append(_by_callback(scene, source, keeper))
    if not any(fixes):
        sentence = f"Return the value from `{function_name}` and keep it outside."
        called_here = any(_name(call.func) == function_name for call in scene.source.calls())
        kept = re.split(r"[.\[]", variable)
        plain = called_here and "[" not in variable and kept[-1].isidentifier()
        fixes.append(scene.fix(sentence, code=f"result, {kept[-1]} = {function_name}(...)" if plain else ""))
        if not any(fixes):
            fixes.append(scene.advice(sentence))
    return scene.explanation(
        "leaked_tracer",
        title="A traced value was used after its function had ended",
        what=what,
        variable=variable,
        why=(
            f"While JAX records `{function_name}`, its values stand for values to come; kept elsewhere they stand for "
            "nothing. Only what is returned comes out."
        ),
        fixes=fixes,
        link=error_texts.ERRORS_PAGE,
    )


def _cached(scene: Scene, made: re.Match[str] | None) -> Explanation | None:
    """Explain a function with `functools.cache` that was called for the first time in a traced function."""
    source = source_of(made[1]) if made is not None else None
    name = made[3].split(".")[-1] if made is not None else ""
    for function in source.functions(name) if source is not None else ():
        nodes = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
        if not any(dotted(node).split(".")[-1] in ("cache", "lru_cache") for node in nodes):
            continue
        return scene.explanation(
            "leaked_tracer",
            title="A traced value was used after its function had ended",
            what=f"`{name}` keeps its results, and made one while JAX was recording another function.",
            variable=name,
            why=(
                "While JAX records a function, its values stand for values to come; kept elsewhere they "
                "stand for nothing."
            ),
            fixes=[
                scene.advice(f"Compute with NumPy in `{name}`, or inside `with jax.ensure_compile_time_eval():`."),
                scene.advice("Or do without the cache: a compiled program computes it once, when it is recorded."),
            ],
            link=error_texts.ERRORS_PAGE,
        )
    return None


def _held(scene: Scene) -> Explanation | None:
    """Explain a list or dict that still holds traced values."""
    for node, value in scene.spot.parts(scene.node):
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        if not any(is_tracer(one) for one in values):
            continue
        text = scene.quote(node)
        return scene.explanation(
            "leaked_tracer",
            title="A traced value was used after its function had ended",
            what=f"`{text}` holds what is left of traced values.",
            variable=text,
            why=(
                "While JAX records a function, its values stand for values to come; kept elsewhere they "
                "stand for nothing."
            ),
            fixes=[scene.advice("Return the values from the function, and keep them outside.")],
            link=error_texts.ERRORS_PAGE,
        )
    return None


def _computed_lazily(scene: Scene, node: ast.expr) -> Explanation | None:
    """Explain an attribute that `functools.cached_property` computed for the first time in a traced function."""
    if not isinstance(node, ast.Attribute):
        return None
    owner = scene.spot.value(node.value)
    if owner is MISSING or not isinstance(inspect.getattr_static(type(owner), node.attr, None), cached_property):
        return None
    text = scene.quote(node)
    made = [
        decorator
        for function in scene.source.functions(node.attr)
        for decorator in function.decorator_list
        if dotted(decorator).split(".")[-1] == "cached_property"
    ]
    return scene.explanation(
        "leaked_tracer",
        title="A traced value was used after its function had ended",
        what=f"`{text}` was computed for the first time in a traced function, and is kept as a traced value.",
        variable=text,
        why="While JAX records a function, its values stand for values to come; kept elsewhere they stand for nothing.",
        fixes=[
            scene.fix(
                "Compute it each time; a compiled program does so once, when it is recorded.",
                scene.source.replace(made[0], "property"),
            )
            if len(made) == 1
            else None,
            scene.advice("Or compute it in `__init__`, before any function is traced."),
        ],
        link=error_texts.ERRORS_PAGE,
    )


@explains(error_texts.LEAK_FOUND)
def found_leak(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a leak that `jax.checking_leaks` found: the statement that stores a traced value outside its function."""
    for name, file, number in error_texts.LEAK_TRACED.findall(scene.message):
        source = source_of(file)
        function = source.function_at(name.split(".")[-1], int(number)) if source is not None else None
        if (explanation := _stored(scene, source, function)) is not None:
            return explanation
    for file, number, name in error_texts.LEAK_MADE.findall(scene.message):
        source = source_of(file)
        for function in source.functions(name.split(".")[-1]) if source is not None else ():
            inside = function.lineno <= int(number) <= (function.end_lineno or 0)
            if inside and (explanation := _stored(scene, source, function)) is not None:
                return explanation
    return None


def _stored(scene: Scene, source: Source | None, function: object) -> Explanation | None:
    if source is None or not isinstance(function, ast.FunctionDef) or (keeper := _keeper(function, source)) is None:
        return None
    fixes = [_return_it(scene, source, function, keeper)]
    if keeper.method is not None:
        fixes.append(_by_callback(scene, source, keeper))
    text = source.quote(keeper.target)
    return scene.explanation(
        "leak_found",
        title="A traced value is kept outside of its function",
        what=f"`{function.name}` keeps a traced value in `{text}`.",
        variable=text,
        why=(
            f"While JAX records `{function.name}`, its values stand for values to come; kept elsewhere they stand for "
            "nothing. Only what is returned comes out."
        ),
        fixes=[
            *fixes,
            None if any(fixes) else scene.advice(f"Return the value from `{function.name}` and keep it outside."),
        ],
        link=error_texts.ERRORS_PAGE,
        line=Line(source.file, source.start(keeper.statement)[0]),
    )


class _Keeper:
    """A statement in a traced function that stores a value outside the function."""

    def __init__(self, statement: ast.stmt, target: ast.expr, value: ast.expr, method: str | None = None):
        self.statement, self.target, self.value, self.method = statement, target, value, method


def _keeper(function: ast.FunctionDef, source: Source, held: str | None = None) -> _Keeper | None:
    """Return the last statement of a function that stores a value outside the function, or None.

    Args:
        function: the function.
        source: its source.
        held: what holds the value where it was used; of several statements, the one that stores it there counts.
    """
    outer = {name for n in ast.walk(function) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    local = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - outer
    keepers = []
    for statement in function.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            shared = [n for n in getattr(target, "elts", ()) if isinstance(n, ast.Name) and n.id in outer]
            if isinstance(target, ast.Tuple) and len(shared) == 1:
                keepers.append(_Keeper(statement, shared[0], statement.value))
            elif (isinstance(target, ast.Name) and target.id in outer) or (
                isinstance(target, ast.Attribute | ast.Subscript) and not names_in(target.value) & local
            ):
                keepers.append(_Keeper(statement, target, statement.value))
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Attribute):
            inner = statement.target
            if inner.id in outer if isinstance(inner, ast.Name) else not names_in(inner.value) & local:
                keepers.append(_Keeper(statement, inner, statement.value))
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if not isinstance(call.func, ast.Attribute) or names_in(call.func.value) & local:
                continue
            if call.func.attr in ("append", "add") and len(call.args) == 1:
                keepers.append(_Keeper(statement, call.func.value, call.args[0], call.func.attr))
    if len(keepers) > 1 and held is not None:
        last = re.split(r"\W+", held.rstrip("])'\""))
        same = [one for one in keepers if source.quote(one.target) == held]
        same = same or [
            one for one in keepers if set(re.split(r"\W+", source.quote(one.target))) & set(last) - {"self"}
        ]
        return same[-1] if same else None
    return keepers[-1] if keepers else None


def _return_it(scene: Scene, source: Source, function: ast.FunctionDef, keeper: _Keeper) -> Fix | None:
    """Return a fix that makes the function return the stored value as well, and moves the store to the caller."""
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None or _returns(function) != 1:
        return None
    calls = [c for c in source.calls() if _name(c.func) == function.name and source.function(c) is not function]
    (result, flat), kept = _result(source, last.value, calls), source.quote(keeper.target)
    reads = isinstance(keeper.statement, ast.AugAssign) or _reads(function, keeper)
    if reads and not isinstance(keeper.target, ast.Name):
        return None
    edits: list[Edit] = []
    if keeper.method is not None:
        value = source.quote(keeper.value)
        edits += [source.remove_statement(keeper.statement), source.replace(last.value, f"{result}, {value}")]
    elif isinstance(keeper.target, ast.Name):
        edits += _without_declaration(source, function, keeper.target.id)
        edits.append(source.replace(last.value, f"{result}, {kept}"))
    else:
        value = source.quote(keeper.value)
        edits += [source.remove_statement(keeper.statement), source.replace(last.value, f"{result}, {value}")]
    uses = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Load) and _name(n) == function.name
    ]
    jitted = [n for n in uses if _is_jitted_as_itself(source, n, function.name)]
    if len(uses) != len(calls) + len(jitted):  # `jax.grad` of it would get a pair, too
        return None
    for call in calls:
        edit = _call_site(source, call, keeper, kept, reads, flat=flat)
        if edit is None:
            return None
        edits += edit
    if reads:
        first = function.args.args[0]
        edits.append(source.insert_before(first, f"{kept}, "))
    sentence = "Return it too, and keep it where `{function}` is called."
    if reads:
        sentence = "Take it as an argument, return it, and keep it where `{function}` is called."
    return scene.fix(sentence.format(function=function.name), *edits) if calls else None


def _is_jitted_as_itself(source: Source, node: ast.AST, name: str) -> bool:
    """Return whether a name is the argument in `f = jax.jit(f)`."""
    call = source.parents.get(node)
    made = source.parents.get(call) if call is not None else None
    jitted = isinstance(call, ast.Call) and dotted(call.func).split(".")[-1] == "jit" and node in call.args
    return jitted and isinstance(made, ast.Assign) and [_name(target) for target in made.targets] == [name]


def _result(source: Source, node: ast.expr, calls: list[ast.Call]) -> tuple[str, bool]:
    """Return how a longer result begins, and whether it is a tuple that all calls unpack, which is taken apart."""
    if not isinstance(node, ast.Tuple):
        return source.quote(node), False
    inner = ", ".join(source.quote(element) for element in node.elts)
    for call in calls:
        statement = source.statement(call)
        target = statement.targets[-1] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(node.elts):
            return f"({inner},)" if len(node.elts) == 1 else f"({inner})", False
    return inner, True


def _call_site(
    source: Source, call: ast.Call, keeper: _Keeper, kept: str, reads: bool, *, flat: bool
) -> list[Edit] | None:
    statement = source.statement(call)
    target = kept
    if isinstance(keeper.target, ast.Attribute) and kept.startswith("self.") and isinstance(call.func, ast.Attribute):
        target = f"{source.quote(call.func.value)}.{kept.removeprefix('self.')}"
    edits = [source.insert_before(call.args[0], f"{kept}, ")] if reads and call.args else []
    new = target if keeper.method is None else "value"
    if isinstance(statement, ast.Expr) and statement.value is call:
        edits.append(source.insert_before(statement, f"_, {new} = "))
    elif isinstance(statement, ast.Assign) and statement.value is call:
        last = statement.targets[-1]
        if isinstance(last, ast.Tuple) and not flat:
            edits.append(source.replace(last, f"({', '.join(map(source.quote, last.elts))}), {new}"))
        else:
            edits.append(source.insert_after(last, f", {new}"))
    else:
        return None
    if keeper.method is not None:
        edits.append(source.insert_after(statement, f"\n{source.indent(statement)}{kept}.{keeper.method}(value)"))
    return edits


def _by_callback(scene: Scene, source: Source, keeper: _Keeper) -> Fix | None:
    kept, value = source.quote(keeper.target), source.quote(keeper.value)
    return scene.fix(
        "Let the running program hand over the value, in every run.",
        source.replace(keeper.statement, f"{scene.jax}.debug.callback({kept}.{keeper.method}, {value})"),
    )


def _without_declaration(source: Source, function: ast.FunctionDef, name: str) -> list[Edit]:
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            others = [n for n in node.names if n != name]
            if not others:
                return [source.remove_statement(node)]
            word = "global" if isinstance(node, ast.Global) else "nonlocal"
            return [source.replace(node, f"{word} {', '.join(others)}")]
    return []


def _reads(function: ast.FunctionDef, keeper: _Keeper) -> bool:
    """Return whether a function also reads the place where it stores a value."""
    wanted = ast.dump(keeper.target).replace("Store()", "Load()")
    if keeper.method is not None:
        return False
    return any(
        isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and ast.dump(node) == wanted
        for statement in function.body
        for node in ast.walk(statement)
    )


def _returns(function: ast.FunctionDef) -> int:
    return sum(isinstance(node, ast.Return) for node in ast.walk(function))


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
