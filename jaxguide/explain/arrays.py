"""Explain values that are no arrays, and what arrays do not do: lists, None, strings, dtypes of `lax`, texts, truth."""

import ast
import re

import numpy as np

from jaxguide.arguments import array_type, describe
from jaxguide.explain import phrases
from jaxguide.explain.explanation import Edit, Explanation, Fix
from jaxguide.explain.jitted import static_fix
from jaxguide.explain.logic import condition
from jaxguide.explain.printing import debug_print
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.spot import MISSING, is_array, is_tracer
from jaxguide.text import _

_ARRAY = f"{phrases.API}/jax.numpy.asarray.html"


@explains(phrases.LAX_DTYPE)
def lax_dtypes(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `lax.add(1, 1.0)`."""
    call = scene.call()
    if call is None or len(call.args) < 2:
        return None
    function, dtypes, name = found.groups()
    kinds = dtypes.split(", ")
    odd = next((i for i, kind in enumerate(kinds) if kind.startswith(("int", "uint", "bool"))), 0)
    node = call.args[odd]
    other = next((kind for kind in kinds if kind != kinds[odd]), kinds[-1])
    text, value = scene.quote(node), scene.spot.value(node)
    new = f"{scene.atom(node)}.astype({scene.jnp}.{other})"
    if isinstance(value, int | float):
        new = f"float({text})" if other.startswith("float") else f"{scene.jnp}.asarray({text}, {scene.jnp}.{other})"
    return scene.explanation(
        "lax_dtypes",
        title=_("`lax.{name}` does not mix dtypes").format(name=function),
        what=_("The arguments are {dtypes}.").format(dtypes=dtypes),
        variable=text,
        why=_("`jax.lax` is the exact layer: it promotes nothing, and `jax.numpy` above it does."),
        fixes=[
            scene.fix(
                _("Use the function of `jax.numpy`, which promotes."),
                scene.source.replace(call.func, f"{scene.jnp}.{name}"),
            ),
            scene.fix(_("Convert one yourself."), scene.source.replace(node, new)),
        ],
        link="https://docs.jax.dev/en/latest/type_promotion.html",
    )


@explains(phrases.NOT_ARRAY)
def not_an_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.sum([1.0, 2.0])` and `jnp.sin(None)`."""
    call = scene.call()
    position = int(found[3])
    if call is None or position >= len(call.args):
        return None
    return no_array(scene, call, call.args[position])


def no_array(scene: Scene, call: ast.Call, node: ast.expr) -> Explanation | None:
    """Explain an argument of a function of `jax.numpy` that is no array."""
    text, value = scene.quote(node), scene.spot.value(node)
    fixes: list[Fix | None] = []
    if value is None:
        kind = "none_for_array"
        why = _("None is no number. It often comes from a function that lacks its `return`.")
        fixes = _from_a_function(scene, node)
    elif isinstance(value, str):
        kind = "string_for_array"
        why = _("JAX computes with numbers; a text has none.")
        numeric = re.fullmatch(r"\s*[-+]?[\d.]+(e[-+]?\d+)?\s*", value)
        fixes = [
            scene.fix(_("Read the number out of it."), scene.source.replace(node, f"float({text})"))
            if numeric
            else scene.fix(_("Number what you mean, and pass the number."), code=f"{{{value!r}: 0}}[{text}]")
        ]
    else:
        kind = "list_for_array"
        why = _("JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss.")
        fixes = [scene.fix(_("Say that it is an array."), scene.source.replace(node, f"{scene.jnp}.array({text})"))]
    return scene.explanation(
        kind,
        title=_("`{function}` needs an array").format(function=scene.quote(call.func)),
        what=_("`{name}` is {what} here.").format(name=text, what=describe(value)) if value is not MISSING else "",
        variable=text,
        why=why,
        fixes=fixes,
        link=_ARRAY,
    )


@explains(phrases.OPERAND)
def operand(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `x + [1.0, 2.0]` and `x + None`."""
    node = scene.node
    if not isinstance(node, ast.BinOp):
        return None
    wrong = node.right
    text, value = scene.quote(wrong), scene.spot.value(wrong)
    if value is None:
        kind, fixes = "none_for_array", _from_a_function(scene, wrong)
        why = _("None is no number. It often comes from a function that lacks its `return`.")
    elif isinstance(value, list | tuple):
        kind = "list_for_array"
        why = _("JAX does not turn lists into arrays by itself: element by element, that is slow and easy to miss.")
        fixes = [scene.fix(_("Say that it is an array."), scene.source.replace(wrong, f"{scene.jnp}.array({text})"))]
    else:
        return None
    return scene.explanation(
        kind,
        title=_("`{sign}` needs an array on both sides").format(sign=found[1]),
        what=_("`{name}` is {what} here.").format(name=text, what=describe(value)),
        variable=text,
        why=why,
        fixes=fixes,
        link=_ARRAY,
    )


@explains(phrases.LIST_TIMES)
def repeated_list(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `[1.0] * n` with a traced count."""
    node = scene.node
    traced = scene.tracer(node)
    if traced is None or not isinstance(node, ast.BinOp):
        return None
    variable, tracer = scene.quote(traced[0]), traced[1]
    return scene.explanation(
        "list_times_tracer",
        title=_("A list needs a count that is still traced"),
        what=scene.traced_what(variable, tracer),
        variable=variable,
        why=_("A Python list is made now, while JAX records the program, and the count comes later."),
        fixes=[
            static_fix(scene, tracer),
            scene.fix(
                _("If every entry is to be multiplied: make an array of the list."),
                scene.source.replace(node.left, f"{scene.jnp}.array({scene.quote(node.left)})"),
            ),
        ],
        link=phrases.STATIC_LINK,
    )


@explains(phrases.SHAPE_AS_DTYPE)
def shape_without_tuple(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `jnp.zeros(2, 3)`, whose second argument is the dtype."""
    call = scene.call()
    if call is None:
        return None
    numbers = [a for a in call.args if isinstance(scene.spot.value(a), int)]
    if len(numbers) < 2 or call.args[-len(numbers) :] != numbers:
        return None
    texts = [scene.quote(n) for n in numbers]
    source = scene.source
    return scene.explanation(
        "shape_without_tuple",
        title=_("A shape is one tuple"),
        what=_("`{second}` stands where the dtype belongs.").format(second=texts[1]),
        variable=texts[1],
        why=_("`{function}` takes the whole shape as one argument.").format(function=scene.quote(call.func)),
        fixes=[
            scene.fix(
                _("Put the sizes into a tuple."),
                Edit(source.file, source.start(numbers[0]), source.end(numbers[-1]), f"({', '.join(texts)})"),
            )
        ],
        link=f"{phrases.API}/jax.numpy.zeros.html",
    )


@explains(phrases.UNHASHABLE_ARRAY)
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
    found_key = next(((k, scene.spot.value(k)) for k in keys if is_array(scene.spot.value(k))), None)
    if found_key is None:
        return None
    key, value = found_key
    text = scene.quote(key)
    new = f"{scene.atom(key)}.item()" if value.ndim == 0 else f"tuple({scene.atom(key)}.tolist())"
    return scene.explanation(
        "array_as_key",
        title=_("An array has no hash"),
        what=scene.what(text, value),
        variable=text,
        why=_("A dict finds a key by its hash, and arrays are compared entry by entry, so they have none."),
        fixes=[scene.fix(_("Use Python numbers as the key."), scene.source.replace(key, new))],
        link="https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",
    )


@explains(phrases.STRING_PLUS)
def text_and_array(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `"x is " + x`."""
    node = scene.node
    if not isinstance(node, ast.BinOp):
        return None
    text, value = scene.quote(node.right), scene.spot.value(node.right)
    if is_tracer(value):
        fix = scene.fix(
            _("Print the value when the program runs."),
            code=f'{scene.jax}.debug.print("{{}}", {text})',
        )
    else:
        fix = scene.fix(_("Put the value into the text."), scene.source.replace(node.right, f"str({text})"))
    return scene.explanation(
        "text_and_array",
        title=_("A text and an array cannot be added"),
        what=scene.what(text, value) if is_array(value) else "",
        variable=text,
        why=_("`+` joins two texts or adds two arrays."),
        fixes=[fix],
        link=f"{phrases.API}/jax.debug.print.html",
    )


@explains(phrases.FORMAT)
def formatted(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `f"{x:.2f}"` with a tracer or an array of several numbers."""
    part = scene.spot.first(scene.node, is_array) or scene.spot.first(scene.spot.statement, is_array)
    if part is None:
        return None
    text, value = scene.quote(part[0]), part[1]
    statement = scene.spot.statement
    fixes: list[Fix | None] = []
    if is_tracer(value):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and called(call) == "print" and len(call.args) == 1:
            line = debug_print(scene, call)
            if line is not None:
                fixes.append(scene.fix(_("Print it when the program runs."), scene.source.replace(call, line)))
        if not fixes:
            code = f'{scene.jax}.debug.print("{{}}", {text})'
            fixes.append(scene.fix(_("Print it when the program runs."), code=code))
        fixes.append(scene.fix(_("Format the result, outside."), code='f"{result:.2f}"'))
        why = _("A text is made now, while JAX records the program, and the value comes later.")
        kind = "format_of_tracer"
    else:
        joined = scene.source.around(part[0], ast.FormattedValue)
        if joined is not None:
            inside = scene.quote(joined)
            spec = inside.rpartition(":")[2].rstrip("}") if ":" in inside else ".2f"
            new = f"{{np.array2string(np.asarray({text}), precision=2)}}"
            fixes.append(
                scene.fix(_("Let NumPy write the whole array (`precision=` says how fine)."), code=f'f"{new}"')
            )
            fixes.append(scene.fix(_("One number of it."), code=f'f"{{{scene.atom(part[0])}[0]:{spec}}}"'))
        why = _("A format such as `.2f` is for one number.")
        kind = "format_of_array"
    return scene.explanation(
        kind,
        title=_("A text is made of a value that is still traced") if is_tracer(value) else _("A format for one number"),
        what=scene.what(text, value),
        variable=text,
        why=why,
        fixes=fixes,
        link=f"{phrases.API}/jax.debug.print.html",
    )


@explains(phrases.AMBIGUOUS)
def several_truths(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `if x > 1:` with an array that is not traced."""
    node = scene.node
    part = scene.spot.first(node, is_array)
    if part is None:
        return None
    text = scene.quote(part[0])
    logic = _logic_around(scene, node)
    inner = logic if logic is not None else node
    if not isinstance(inner, ast.Compare | ast.Name | ast.BoolOp | ast.UnaryOp):
        return None
    test = condition(scene, inner)
    outer = scene.source.parents.get(inner)
    if logic is not None and not (
        isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is inner
    ):
        fixes = [
            scene.fix(
                _("Combine elementwise, with parentheses: `&`, `|`, `~` are `and`, `or`, `not` for arrays."),
                scene.source.replace(inner, test),
            )
        ]
    else:
        fixes = [
            scene.fix(_("All of them?"), scene.source.replace(inner, f"{scene.jnp}.all({test})")),
            scene.fix(_("Any of them?"), scene.source.replace(inner, f"{scene.jnp}.any({test})")),
        ]
    return scene.explanation(
        "several_truth_values",
        title=_("More than one truth value"),
        what=scene.what(text, part[1]),
        variable=text,
        why=_("`{test}` has one answer for each entry, and Python asks for one in all.").format(
            test=scene.quote(inner)
        ),
        fixes=fixes,
        link=f"{phrases.API}/jax.numpy.all.html",
    )


def _logic_around(scene: Scene, node: ast.AST) -> ast.expr | None:
    """Return the outermost `and`, `or`, `not` or `0 < x < 1` that a node is part of."""
    found: ast.expr | None = None
    here: ast.AST | None = node
    while isinstance(here, ast.BoolOp | ast.Compare | ast.Name) or (
        isinstance(here, ast.UnaryOp) and isinstance(here.op, ast.Not)
    ):
        if not isinstance(here, ast.Name) and (not isinstance(here, ast.Compare) or len(here.ops) > 1):
            found = here
        here = scene.source.parents.get(here)
    return found


@explains(phrases.SCALAR_ITERATION)
def scalar_iteration(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a loop over an array of shape ()."""
    part = scene.spot.first(scene.node, is_array)
    if part is None or part[1].ndim:
        return None
    text = scene.quote(part[0])
    integer = np.issubdtype(part[1].dtype, np.integer) and not is_tracer(part[1])
    fixes = [
        scene.fix(
            _("Give it an axis of length 1."),
            scene.source.replace(part[0], f"{scene.jnp}.atleast_1d({text})"),
        )
    ]
    if integer:
        fixes.insert(
            0,
            scene.fix(_("Count up to it."), scene.source.replace(part[0], f"range({text})")),
        )
    return scene.explanation(
        "scalar_iteration",
        title=_("A number has no entries to go through"),
        what=scene.what(text, part[1]),
        variable=text,
        why=_("{type} has no axis: `for` goes along the first one.").format(type=f"`{array_type(part[1])}`"),
        fixes=fixes,
        link=f"{phrases.API}/jax.numpy.atleast_1d.html",
    )


def _from_a_function(scene: Scene, node: ast.expr) -> list[Fix | None]:
    """Return the fix for a value that a function should have returned."""
    if not isinstance(node, ast.Name):
        return [scene.fix(_("Find where it comes from, and give an array."), code=f"print({scene.quote(node)})")]
    for statement in ast.walk(scene.source.tree):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if not any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
            continue
        for function in scene.source.functions(called(statement.value)):
            last = function.body[-1]
            if any(isinstance(n, ast.Return) for n in ast.walk(function)):
                continue
            name = scene.quote(statement.value.func)
            if isinstance(last, ast.Expr):
                return [
                    scene.fix(
                        _("`{name}` returns nothing: let it return its last value.").format(name=name),
                        scene.source.insert_before(last, "return "),
                    )
                ]
            if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
                line = f"\n{scene.source.indent(last)}return {last.targets[0].id}"
                return [
                    scene.fix(
                        _("`{name}` returns nothing: let it return its last value.").format(name=name),
                        scene.source.insert_after(last, line),
                    )
                ]
    return [scene.fix(_("Find where `{name}` became None.").format(name=node.id), code=f"assert {node.id} is not None")]
