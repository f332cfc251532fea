"""Explain arrays used where Python needs True or False: `if`, `while`, `assert`, `and`, `not`, `max`, `bool`, `in`."""

import ast
import re
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.base.text import _
from jaxguide.code.source import names_in
from jaxguide.code.user_frame import MISSING, is_array, is_tracer
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.rewrites.conditions import REDUCERS, as_array, condition, is_comparison, leaves, logical
from jaxguide.explain.rewrites.control_flow import expression_of_if, loop_of_while
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.rewrites.static_arguments import argument_behind, static_fix
from jaxguide.explain.rules import explains
from jaxguide.explain.scene import Scene, called
from jaxguide.explain.transformed import defaults_of


# This error matches CONCRETE too, which `python_numbers` and `sizes` explain; they come later in alphabetical order.
@explains(error_texts.BOOL)
def truth_of_a_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain a truth value that Python needs but that is not known while JAX traces."""
    source, node = scene.source, scene.node
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):  # Python 3.12 reports the whole comprehension
        choices = [part for part in ast.walk(node) if isinstance(part, ast.IfExp)]
        node = choices[0].test if len(choices) == 1 and _filter_around(scene, node) is None else node
    traced = scene.tracer(node)
    given = _given_at_all(scene, node)
    if given is not None:
        return given
    filters = _filter_around(scene, node)
    if filters is not None:
        return _filtered(scene, filters)
    if traced is None:
        test_of = _test_around(scene, node)
        return _chosen_element(scene, test_of) if isinstance(test_of, ast.IfExp) else None
    variable, tracer = scene.quote(traced[0]), traced[1]
    at = _Test(scene, node, variable, tracer)
    call = node if isinstance(node, ast.Call) else None
    if call is not None and isinstance(call.func, ast.Name) and call.args:
        if call.func.id in ("max", "min"):
            return _extremum(at, call)
        if call.func.id in ("any", "all"):
            return _any_or_all(at, call)
        if call.func.id == "sorted":
            return _sorting(at, call)
        if call.func.id == "bool":
            return _conversion(at, call)
    statement = scene.spot.statement
    test_of = _test_around(scene, node)
    if isinstance(test_of, ast.If):
        return at.if_statement(test_of)
    if isinstance(test_of, ast.IfExp):
        return at.if_expression(test_of)
    if isinstance(test_of, ast.While):
        return at.while_statement(test_of)
    if isinstance(test_of, ast.Assert):
        return at.assertion(test_of)
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        return _membership(at, node)
    logic = source.around(node, (ast.BoolOp, ast.Compare, ast.UnaryOp))
    if logic is not None and source.statement(logic) is statement and call is None:
        return at.logic(logic)
    return _inside_a_call(at, call) if call is not None else None


class _Test:
    """A traced value whose truth Python needs, and the explanations for it."""

    def __init__(self, scene: Scene, node: ast.AST, variable: str, tracer: Any):
        self.scene, self.variable, self.tracer = scene, variable, tracer
        self.what = scene.traced_what(variable, tracer)
        self.static = static_fix(scene, *(value for _part, value in scene.spot.parts(node) if is_tracer(value)))

    def said(
        self, kind: str, title: str, why: str, *fixes: Fix | None, link: str = error_texts.ERRORS_PAGE
    ) -> Explanation | None:
        """Return an explanation with the facts of this value."""
        return self.scene.explanation(
            kind, title=title, why=why, what=self.what, variable=self.variable, fixes=fixes, link=link
        )

    def static_if_plain(self) -> Fix | None:
        """Return the fix that makes an argument static if it may be an option, that is, a Python int or bool."""
        plain = getattr(self.tracer, "weak_type", False) or self.tracer.dtype == bool
        kinds = (np.integer, np.bool_)
        integer = any(jax.dtypes.issubdtype(self.tracer.dtype, kind) for kind in kinds) and self.tracer.ndim == 0
        return self.static if plain and integer and argument_behind(self.scene, self.tracer) else None

    def if_statement(self, node: ast.If) -> Explanation | None:
        """Explain `if`: a switch that should be a Python value, or a choice that belongs in the program."""
        scene = self.scene
        if self._is_recursive():
            return self._recursion()
        if _only_prints(node):
            return self._printing(node)
        edits = expression_of_if(scene, node)
        where = scene.fix(_where_sentence(node.test, [*node.body, *node.orelse, *_after(scene, node)]), *edits.where)
        cond = scene.fix(_("With `lax.cond`, for one scalar choice: only one side runs."), *edits.cond)
        if where is None and isinstance(node.body[-1], ast.Break):
            where = scene.advice(
                _(
                    "Let the program loop: `lax.while_loop`, which carries what the loop changes and goes on while "
                    "`{test}` is false."
                ).format(test=scene.quote(node.test))
            )
        elif where is None and isinstance(node.body[-1], ast.Continue):
            where = scene.advice(
                _("Compute the turn all the same, and keep the old values with `jnp.where` where `{test}`.").format(
                    test=scene.quote(node.test)
                )
            )
        elif where is None and isinstance(node.body[0], ast.Raise):
            where = self._check(
                _(
                    "Check at run time in place of `raise`; call the outermost function through `checkify`, and let "
                    "`throw` raise."
                ),
                ast.UnaryOp(ast.Not(), node.test),
                _message(node.body[0]),
            )
        elif where is None and (once := _called_once(scene, node)) is not None:
            where = once
        elif where is None:
            body = ast.unparse(node.body[0]).split("\n")[0]
            code = f"{scene.jnp}.where({condition(scene, node.test)}, value_if_true, value_if_false)"
            where = scene.fix(
                _("Compute both sides and choose with `jnp.where`, in place of `{body}`.").format(body=body), code=code
            )
        why = _("Python's `if` must choose now, while JAX records the program, and the value comes later.")
        title = _("`if` needs a known value, but `{variable}` is traced").format(variable=self.variable)
        if self._is_switch(node.test):
            return self.said("if_on_tracer", title, why, self.static, where, cond)
        return self.said("if_on_tracer", title, why, where, cond, self.static_if_plain())

    def if_expression(self, node: ast.IfExp) -> Explanation | None:
        """Explain `a if test else b`."""
        scene = self.scene
        if self._is_recursive():
            return self._recursion()
        test, yes, no = condition(scene, node.test), scene.quote(node.body), scene.quote(node.orelse)
        where = scene.fix(
            _where_sentence(node.test, [node.body, node.orelse]),
            scene.source.replace(node, f"{scene.jnp}.where({test}, {yes}, {no})"),
        )
        cond = scene.fix(
            _("With `lax.cond`, for one scalar choice: only one side runs."),
            scene.source.replace(node, f"{scene.lax}.cond({test}, lambda: {yes}, lambda: {no})"),
        )
        why = _("Python's `if` must choose now, while JAX records the program, and the value comes later.")
        title = _("`if` needs a known value, but `{variable}` is traced").format(variable=self.variable)
        if self._is_switch(node.test):
            return self.said("if_on_tracer", title, why, self.static, where, cond)
        return self.said("if_on_tracer", title, why, where, cond, self.static_if_plain())

    def while_statement(self, node: ast.While) -> Explanation | None:
        """Explain `while`."""
        scene = self.scene
        why = _("Python's `while` asks before every turn, while JAX records the program, and no value is there yet.")
        loop = scene.fix(
            _("Let the program loop: `lax.while_loop` (forward mode only: `jax.grad` cannot go back through it)."),
            *loop_of_while(scene, node),
            code="" if loop_of_while(scene, node) else f"{scene.lax}.while_loop(condition, body, start)",
        )
        return self.said(
            "while_on_tracer",
            _("`while` needs a known value, but `{variable}` is traced").format(variable=self.variable),
            why,
            loop,
            self.static_if_plain(),
            link=f"{error_texts.API}/jax.lax.while_loop.html",
        )

    def _check(self, sentence: str, test: ast.expr, message: str) -> Fix | None:
        """Return the code that checks a test with `checkify`, and of the call that raises its error."""
        scene = self.scene
        while _is_not(test) and _is_not(test.operand):  # type: ignore[attr-defined]
            test = test.operand.operand  # type: ignore[attr-defined]
        value = scene.spot.value(test)
        number = is_array(value) and value.dtype != bool  # `checkify.check` takes only booleans
        holds = f"{scene.atom(test)} != 0" if number else condition(scene, test)
        name = self._outermost() or "outermost"
        call = f"error, result = {scene.jax}.jit(checkify.checkify({name}))(...)"
        return scene.fix(sentence, code=f"checkify.check({holds}, {message})\n{call}\nerror.throw()")

    def _outermost(self) -> str | None:
        """Return the name of the jitted function that fails, if no other transformation is around it."""
        by, spots = compat.traced_by(self.tracer), self.scene.spots
        name = by.function
        if name is None or self.scene.under(self.tracer) != "jax.jit":
            return None
        outer = [spot for spot in spots if spot.frame.f_code.co_name != name]
        traced = any(is_tracer(value) for spot in outer for value in spot.frame.f_locals.values())
        return name if not traced and callable(self.scene.spot.frame.f_globals.get(name)) else None

    def assertion(self, node: ast.Assert) -> Explanation | None:
        """Explain `assert`."""
        scene, said = self.scene, getattr(node.msg, "value", None)
        test = condition(scene, node.test)
        outside = scene.fix(
            _("Mark what must not happen with NaN, and look at the result outside."),
            scene.source.replace(node, f"{self.variable} = {scene.jnp}.where({test}, {self.variable}, {scene.jnp}.nan)")
            if self.variable.isidentifier()
            else None,
        )
        check = self._check(
            _(
                "Check at run time in place of `assert`; call the outermost function through `checkify`, and let "
                "`throw` raise."
            ),
            node.test,
            _literal(said if isinstance(said, str) else scene.quote(node.test)),
        )
        return self.said(
            "assert_on_tracer",
            _("`assert` needs a known value, but `{variable}` is traced").format(variable=self.variable),
            _("`assert` looks at the value now, while JAX records the program, and the value comes later."),
            outside,
            check,
            link="https://docs.jax.dev/en/latest/debugging/checkify_guide.html",
        )

    def logic(self, node: ast.expr) -> Explanation | None:
        """Explain `and`, `or`, `not` and `0 < x < 1`."""
        scene = self.scene
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return None
        words = {ast.And: "and", ast.Or: "or"}
        if isinstance(node, ast.BoolOp):
            word, kind = words[type(node.op)], "and_or_on_tracer"
        elif isinstance(node, ast.UnaryOp):
            word, kind = "not", "not_on_tracer"
        else:
            word, kind = scene.quote(node), "chained_comparison_on_tracer"
        outer = scene.source.parents.get(node)
        top = outer if isinstance(outer, ast.BoolOp) else node
        fix = scene.fix(
            _("Combine elementwise, with parentheses: `&`, `|`, `~` are `and`, `or`, `not` for arrays."),
            scene.source.replace(top, condition(scene, top)),
        )
        functions = scene.fix(
            _("With functions, which take numbers for truth values too."),
            scene.source.replace(top, logical(scene, top)),
        )
        taker = _taker(scene, top)
        if taker is not None:
            return self.said(
                kind,
                _("`{word}` needs a known value, but `{variable}` is traced").format(word=word, variable=self.variable),
                _(
                    "Python's `{word}` decides now what is true, while JAX records the program; it cannot be recorded."
                ).format(word="and" if kind.startswith("chained") else word),
                self.static,
                scene.advice(
                    _("Write `{new}`, if `{function}` can take a traced value.").format(
                        new=logical(scene, top), function=taker
                    )
                ),
                link=error_texts.STATIC_LINK,
            )
        return self.said(
            kind,
            _("`{word}` needs a known value, but `{variable}` is traced").format(word=word, variable=self.variable),
            _(
                "Python's `{word}` decides now what is true, while JAX records the program; it cannot be recorded."
            ).format(word="and" if kind.startswith("chained") else word),
            fix if all(is_comparison(part) for part in leaves(top)) else functions,
            functions if all(is_comparison(part) for part in leaves(top)) else None,
            self.static_if_plain(),
            link=f"{error_texts.API}/jax.numpy.logical_and.html",
        )

    def _is_recursive(self) -> bool:
        """Return whether the function at this place calls itself."""
        function = self.scene.spot.function
        return isinstance(function, ast.FunctionDef) and any(
            isinstance(node, ast.Call) and called(node) == function.name for node in ast.walk(function)
        )

    def _recursion(self) -> Explanation | None:
        """Explain a test in a function that calls itself, which would not end if both sides were recorded."""
        return self.said(
            "if_on_tracer",
            _("`if` needs a known value, but `{variable}` is traced").format(variable=self.variable),
            _("Python's `if` must choose now, while JAX records the program, and the value comes later."),
            self.static_if_plain(),
            self.scene.advice(
                _(
                    "Write the recursion as a loop, such as `lax.fori_loop`: `jnp.where` and `lax.cond` record both "
                    "sides, so a function that calls itself would never end."
                )
            ),
        )

    def _printing(self, node: ast.If) -> Explanation | None:
        """Explain `if x > 0: print(...)`."""
        scene, lines = self.scene, ["None", "None"]
        for place, block in enumerate((node.body, node.orelse)):
            if block and (line := debug_print(scene, block[0].value)) is not None:  # type: ignore[attr-defined]
                lines[place] = line
        test = condition(scene, node.test)
        known = (lines[0] != "None") and (bool(node.orelse) == (lines[1] != "None"))
        text = f"{scene.lax}.cond({test}, lambda: {lines[0]}, lambda: {lines[1]})"
        sentence = _("Print when the program runs, and let `lax.cond` choose: `jax.debug.print`.")
        return self.said(
            "if_on_tracer",
            _("`if` needs a known value, but `{variable}` is traced").format(variable=self.variable),
            _("Python's `if` must choose now, while JAX records the program, and the value comes later."),
            scene.fix(sentence, scene.source.replace(node, text)) if known else scene.advice(sentence),
            link=f"{error_texts.API}/jax.debug.print.html",
        )

    def _is_switch(self, test: ast.expr) -> bool:
        """Return whether a test is a bare argument, which usually is an option such as `train`."""
        plain = test.operand if isinstance(test, ast.UnaryOp) else test
        return isinstance(plain, ast.Name) and self.static is not None


def _taker(scene: Scene, node: ast.expr) -> str | None:
    """Return the text of a function, not of JAX, that is given a truth value and may itself need it to be known."""
    outer = scene.source.parents.get(node)
    outer = scene.source.parents.get(outer) if isinstance(outer, ast.keyword) else outer
    if not isinstance(outer, ast.Call) or outer.func is node:
        return None
    value = scene.spot.value(outer.func)
    module = getattr(value, "__module__", None) or ""
    of_jax = value is MISSING or module.split(".")[0] in ("jax", "jaxlib", "numpy") or module == "builtins"
    return None if of_jax else scene.quote(outer.func)


def _where_sentence(test: ast.expr, sides: list[ast.stmt] | list[ast.expr]) -> str:
    """Say how to choose with `jnp.where`, and that a side that is not taken can still spoil the gradient."""
    names = names_in(test)
    for node in (inner for side in sides for inner in ast.walk(side)):
        divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and names & names_in(node.right)
        curved = isinstance(node, ast.Call) and called(node) in (
            "log",
            "sqrt",
            "arccos",
            "arcsin",
            "power",
            "reciprocal",
        )
        if divides or (curved and names & names_in(node)):
            return _(
                "Choose with `jnp.where`. Both sides are computed: if the one that is not taken is infinite or NaN, so "
                "is the gradient, unless its input is made safe too."
            )
    return _("Choose with `jnp.where`: both sides are computed, one is taken.")


def _after(scene: Scene, node: ast.If) -> list[ast.stmt]:
    """Return the statement after an `if`, which is its other side if the first one returns."""
    block = scene.source.body_of(node)
    return block[block.index(node) + 1 :][:1] if node in block and not node.orelse else []


def _called_once(scene: Scene, node: ast.If) -> Fix | None:
    """Return the fix for two branches with the same call: the arguments that differ are chosen."""
    if len(node.body) != 1 or len(node.orelse) != 1:
        return None
    yes, no = node.body[0], node.orelse[0]
    if not isinstance(yes, ast.Expr) or not isinstance(no, ast.Expr):
        return None
    test = condition(scene, node.test)

    def joined(one: ast.expr, other: ast.expr) -> str | None:
        if ast.dump(one) == ast.dump(other):
            return scene.quote(one)
        if isinstance(one, ast.Call) and isinstance(other, ast.Call) and ast.dump(one.func) == ast.dump(other.func):
            names = [k.arg for k in one.keywords]
            if len(one.args) != len(other.args) or names != [k.arg for k in other.keywords] or None in names:
                return None
            parts = [joined(a, b) for a, b in zip(one.args, other.args, strict=True)]
            values = [joined(a.value, b.value) for a, b in zip(one.keywords, other.keywords, strict=True)]
            if None in parts or None in values:
                return None
            named = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
            return f"{scene.quote(one.func)}({', '.join([*map(str, parts), *named])})"
        if not (_is_number(scene, one) and _is_number(scene, other)):
            return None
        return f"{scene.jnp}.where({test}, {scene.quote(one)}, {scene.quote(other)})"

    text = joined(yes.value, no.value)
    if text is None:
        return None
    return scene.fix(_("Call it once, and choose with `jnp.where` what it is given."), scene.source.replace(node, text))


def _is_number(scene: Scene, node: ast.expr) -> bool:
    """Return whether an expression is arithmetic with numbers and arrays."""
    if isinstance(node, ast.BinOp):
        return _is_number(scene, node.left) and _is_number(scene, node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(scene, node.operand)
    value = scene.spot.value(node)
    return is_array(value) or type(value) in (int, float, complex)


def _only_prints(node: ast.If) -> bool:
    """Return whether each branch of an `if` is a single `print`."""
    blocks = [block for block in (node.body, node.orelse) if block]
    return all(len(b) == 1 and isinstance(b[0], ast.Expr) and called(b[0].value) == "print" for b in blocks)


def _message(node: ast.Raise) -> str:
    """Return the message of a raised error, as source text for `checkify.check`."""
    given = node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None
    text = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
    if text is None:
        text = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) if node.exc else "error"
    return _literal(text)


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _literal(text: str) -> str:
    """Return the message of a check as source text; braces stand for values there."""
    return repr(text.replace("{", "{{").replace("}", "}}"))


def _extremum(at: _Test, call: ast.Call) -> Explanation | None:
    """Explain the built-in `max` and `min`."""
    scene, name = at.scene, called(call)
    function = {"max": "maximum", "min": "minimum"}[name]
    if len(call.args) == 1:
        text = f"{scene.jnp}.{name}({as_array(scene, call.args[0])})"
    else:
        text = scene.quote(call.args[0])
        for argument in call.args[1:]:
            text = f"{scene.jnp}.{function}({text}, {scene.quote(argument)})"
    return at.said(
        "min_max_on_tracer",
        _("Python's `{name}` needs known values, but `{variable}` is traced").format(name=name, variable=at.variable),
        _(
            "Python's `{name}` compares now and keeps one, while JAX records the program, and the values come later."
        ).format(name=name),
        scene.fix(
            _("Use JAX's own, which goes into the program and works elementwise."),
            scene.source.replace(call, text) if not call.keywords else None,
        ),
        link=f"{error_texts.API}/jax.numpy.{function}.html",
    )


def _any_or_all(at: _Test, call: ast.Call) -> Explanation | None:
    """Explain the built-in `any` and `all`."""
    scene, name = at.scene, called(call)
    test = _test_around(scene, call)
    text = f"{scene.jnp}.{name}({as_array(scene, call.args[0])})"
    why = _("Python's `{name}` looks at one value after the other now, while JAX records the program.")
    if isinstance(test, ast.If):
        edits = expression_of_if(scene, test)
        fix = scene.fix(_("Use `jnp.{name}`, and choose with `jnp.where`.").format(name=name), *edits.where)
    else:
        fix = scene.fix(
            _("Use `jnp.{name}`, which goes into the program.").format(name=name), scene.source.replace(call, text)
        )
    return at.said(
        "any_all_on_tracer",
        _("Python's `{name}` needs known values, but `{variable}` is traced").format(name=name, variable=at.variable),
        why.format(name=name),
        fix or scene.fix(_("Use `jnp.{name}`, which goes into the program.").format(name=name), code=text),
        link=f"{error_texts.API}/jax.numpy.{name}.html",
    )


def _sorting(at: _Test, call: ast.Call) -> Explanation | None:
    """Explain the built-in `sorted`."""
    scene = at.scene
    text = f"{scene.jnp}.sort({as_array(scene, call.args[0])})"
    return at.said(
        "sorted_on_tracer",
        _("Python's `sorted` needs known values, but `{variable}` is traced").format(variable=at.variable),
        _("Python's `sorted` compares values now to order them, while JAX records the program."),
        scene.fix(
            _("Sort with `jnp.sort`, which goes into the program."),
            scene.source.replace(call, text) if not call.keywords else None,
            code=text,
        ),
        link=f"{error_texts.API}/jax.numpy.sort.html",
    )


def _conversion(at: _Test, call: ast.Call) -> Explanation | None:
    """Explain `bool(...)`."""
    scene, value = at.scene, call.args[0]
    plain = isinstance(value, ast.Compare | ast.BoolOp)
    text = f"({condition(scene, value)})" if plain else f"{scene.atom(value)}.astype(bool)"
    return at.said(
        "bool_of_tracer",
        _("`bool(...)` needs a known value, but `{variable}` is traced").format(variable=at.variable),
        _("`bool` makes a Python True or False now, while JAX records the program, and the value comes later."),
        scene.fix(
            _("Keep it an array: of dtype bool, it serves as a condition of `jnp.where` and `lax.cond`."),
            scene.source.replace(call, text),
        ),
        at.static_if_plain(),
    )


def _membership(at: _Test, node: ast.Compare) -> Explanation | None:
    """Explain `in`."""
    scene = at.scene
    container, item = node.comparators[0], scene.quote(node.left)
    values = as_array(scene, container)
    negated = isinstance(node.ops[0], ast.NotIn)
    text = f"{scene.jnp}.any({values} == {item})"
    text = f"~{text}" if negated else text
    outer = _test_around(scene, node)
    fix = None
    if isinstance(outer, ast.If):
        fix = scene.fix(
            _("Compare with all of them and choose with `jnp.where`."), *expression_of_if(scene, outer).where
        )
    fix = fix or scene.fix(_("Compare with all of them at once."), scene.source.replace(node, text))
    return at.said(
        "in_on_tracer",
        _("`in` needs known values, but `{variable}` is traced").format(variable=at.variable),
        _("Python's `in` compares now until one is equal, while JAX records the program, and no value is there yet."),
        fix,
        at.static_if_plain(),
        link=f"{error_texts.API}/jax.numpy.isin.html",
    )


def _inside_a_call(at: _Test, call: ast.Call) -> Explanation | None:
    """Explain a function that needs the truth of something computed from its argument."""
    scene = at.scene
    behind = error_texts.DEPENDS_ON.search(scene.message)
    name = behind[1] if behind and behind[1].isidentifier() else None
    for part, value in scene.spot.parts(call):
        if scene.quote(part) == name and value is not MISSING:
            at.variable, at.tracer = scene.quote(part), value
            at.what = scene.what(at.variable, value)
            at.static = static_fix(scene, value)
    function = scene.quote(call.func)
    return at.said(
        "static_needed",
        _("`{function}` needs a known value, but `{variable}` is traced").format(
            function=function, variable=at.variable
        ),
        _("`{function}` looks at this argument now, while JAX records the program, and its value comes later.").format(
            function=function
        ),
        at.static,
        link=error_texts.STATIC_LINK,
    )


def _filter_around(scene: Scene, node: ast.AST) -> tuple[ast.comprehension, ast.expr] | None:
    """Return a comprehension's clause and its only `if`, given a node in that `if` or the whole comprehension."""
    outer: ast.AST | None = scene.source.around(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp))
    parts = [part for part in ast.walk(outer) if isinstance(part, ast.comprehension)] if outer is not None else []
    tests = [(part, test) for part in parts for test in part.ifs]
    if len(tests) != 1 or (node is not outer and node not in set(ast.walk(tests[0][1]))):
        return None
    return tests[0]


def _chosen_element(scene: Scene, node: ast.IfExp) -> Explanation | None:
    """Explain `if` on an element of a comprehension, whose name no longer exists by the time the error is caught."""
    test, yes, no = condition(scene, node.test), scene.quote(node.body), scene.quote(node.orelse)
    names = sorted(n.id for n in ast.walk(node.test) if isinstance(n, ast.Name))
    return scene.explanation(
        "if_on_tracer",
        title=_("`if` needs a known value, but its test is traced"),
        variable=names[0] if names else None,
        why=_("Python's `if` must choose now, while JAX records the program, and the value comes later."),
        fixes=[
            scene.fix(
                _("Choose with `jnp.where`: both sides are computed, one is taken."),
                scene.source.replace(node, f"{scene.jnp}.where({test}, {yes}, {no})"),
            ),
            scene.fix(
                _("With `lax.cond`, for one scalar choice: only one side runs."),
                scene.source.replace(node, f"{scene.lax}.cond({test}, lambda: {yes}, lambda: {no})"),
            ),
        ],
        link=error_texts.ERRORS_PAGE,
    )


def _filtered(scene: Scene, place: tuple[ast.comprehension, ast.expr]) -> Explanation | None:
    """Explain `[v for v in x if v > 0]`."""
    part, test = place
    items, name = scene.quote(part.iter), scene.quote(part.target)
    part_of = scene.spot.first(test, is_tracer)
    return scene.explanation(
        "filter_on_tracer",
        title=_("`if` in a comprehension needs known values, but its test is traced"),
        what=scene.traced_what(scene.quote(part_of[0]), part_of[1]) if part_of is not None else "",
        variable=scene.quote(part_of[0]) if part_of is not None else name,
        why=_("How long the list is depends on the values, and these come later."),
        fixes=[
            scene.fix(
                _("Work on the whole array, and keep the shape: 0 where the test fails, counted or summed after."),
                code=re.sub(rf"\b{re.escape(name)}\b", items, f"{scene.jnp}.where({scene.quote(test)}, {name}, 0)"),
            )
        ],
        link=f"{error_texts.API}/jax.numpy.where.html",
    )


def _test_around(scene: Scene, node: ast.AST) -> ast.If | ast.IfExp | ast.While | ast.Assert | None:
    """Return the statement or expression whose test a node is part of."""
    inner: ast.AST | None = node
    while inner is not None:
        outer = scene.source.parents.get(inner)
        if isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is inner:
            return outer
        # A call or a comprehension in between consumes the value and returns another.
        wraps = isinstance(outer, ast.BoolOp | ast.UnaryOp | ast.Compare) or (
            isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id in (*REDUCERS, "bool")
        )
        if not wraps:
            return None
        inner = outer
    return None


@explains(error_texts.AMBIGUOUS)
def several_truths(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain `if x > 1:` with an array that is not traced."""
    node = scene.node
    part = scene.spot.first(node, is_array)
    if part is None:
        return None
    text = scene.quote(part[0])
    given = _given_at_all(scene, node)
    if given is not None:
        return given
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
        link=f"{error_texts.API}/jax.numpy.all.html",
    )


def _given_at_all(scene: Scene, node: ast.AST) -> Explanation | None:
    """Explain `if mask:` and `mask = mask or default` for a parameter whose default is None: was it given at all?"""
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:  # only the first value's truth is asked for
        node = node.values[0]
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    plain = node.operand if isinstance(node, ast.UnaryOp) and negated else node
    function, value = scene.spot.function, scene.spot.value(plain)
    if not isinstance(plain, ast.Name) or function is None or not is_array(value):
        return None
    default = defaults_of(function).get(plain.id)
    if not isinstance(default, ast.Constant) or default.value is not None or _is_rebound(function, plain.id):
        return None
    if value.dtype == bool and value.ndim == 0:  # a flag, which may be False
        return None
    outer = scene.source.parents.get(node)
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
        node, negated, outer = outer, True, scene.source.parents.get(outer)
    name = plain.id
    test = f"{name} is None" if negated else f"{name} is not None"
    edit = None
    if isinstance(outer, ast.If | ast.IfExp | ast.While | ast.Assert) and outer.test is node:
        edit = scene.source.replace(node, test)
    elif isinstance(outer, ast.BoolOp) and outer.values[0] is node and not negated:
        rest = outer.values[1:]
        if isinstance(outer.op, ast.Or) and len(rest) == 1:
            edit = scene.source.replace(outer, f"{name} if {test} else {scene.quote(rest[0])}")
        elif isinstance(outer.op, ast.And):
            edit = scene.source.replace(node, test)
    return scene.explanation(
        "array_given_or_none",
        title=_("An array has no truth value that says whether it was given"),
        what=scene.what(name, scene.spot.value(plain)),
        variable=name,
        why=_(
            "`{name}` is None if it is not given. Python asks an array for its entries, not whether it is there."
        ).format(name=name),
        fixes=[
            scene.fix(_("Compare with None."), edit)
            or scene.advice(_("Compare with None: `{test}`.").format(test=test))
        ],
        link=error_texts.ERRORS_PAGE,
    )


def _is_rebound(function: ast.AST, name: str) -> bool:
    """Return whether a function assigns to a name in another way than `name = name or default`."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        and not (isinstance(node.value, ast.BoolOp) and names_in(node.value.values[0]) == {name})
        for node in ast.walk(function)
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
