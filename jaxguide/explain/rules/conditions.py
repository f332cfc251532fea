"""Explain traced values where Python needs True or False: `if`, `while`, `assert`, `and`, `not`."""

import ast
import re

from jaxguide.base.text import _
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation
from jaxguide.explain.rewrites.branching import expression_of_if, loop_of_while
from jaxguide.explain.rewrites.logic import condition, is_comparison, leaves, logical
from jaxguide.explain.rewrites.printing import debug_print
from jaxguide.explain.rules import explains
from jaxguide.explain.rules.comprehensions import chosen_element, filter_around, filtered
from jaxguide.explain.rules.traced_test import Place, test_around
from jaxguide.explain.rules.truth_calls import any_or_all, conversion, extremum, inside_a_call, membership, sorting
from jaxguide.explain.scene import Scene, called


@explains(error_texts.BOOL)
def truth_of_a_tracer(scene: Scene, found: re.Match[str]) -> Explanation | None:
    """Explain Python's wish for a truth value that is not known while JAX traces."""
    source, node = scene.source, scene.node
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):  # Python 3.12 places what is in it at the whole
        choices = [part for part in ast.walk(node) if isinstance(part, ast.IfExp)]
        node = choices[0].test if len(choices) == 1 and filter_around(scene, node) is None else node
    traced = scene.tracer(node)
    filters = filter_around(scene, node)
    if filters is not None:
        return filtered(scene, filters)
    if traced is None:
        test_of = test_around(scene, node)
        return chosen_element(scene, test_of) if isinstance(test_of, ast.IfExp) else None
    variable, tracer = scene.quote(traced[0]), traced[1]
    at = _Test(scene, node, variable, tracer)
    call = node if isinstance(node, ast.Call) else None
    if call is not None and isinstance(call.func, ast.Name) and call.args:
        if call.func.id in ("max", "min"):
            return extremum(at, call)
        if call.func.id in ("any", "all"):
            return any_or_all(at, call)
        if call.func.id == "sorted":
            return sorting(at, call)
        if call.func.id == "bool":
            return conversion(at, call)
    statement = scene.spot.statement
    test_of = test_around(scene, node)
    if isinstance(test_of, ast.If):
        return at.if_statement(test_of)
    if isinstance(test_of, ast.IfExp):
        return at.if_expression(test_of)
    if isinstance(test_of, ast.While):
        return at.while_statement(test_of)
    if isinstance(test_of, ast.Assert):
        return at.assertion(test_of)
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        return membership(at, node)
    logic = source.around(node, (ast.BoolOp, ast.Compare, ast.UnaryOp))
    if logic is not None and source.statement(logic) is statement and call is None:
        return at.logic(logic)
    return inside_a_call(at, call) if call is not None else None


class _Test(Place):
    """A test written with Python's own words: `if`, `while`, `assert`, `and`, `not`."""

    def if_statement(self, node: ast.If) -> Explanation | None:
        """Explain `if`: a switch that a Python value should be, or a choice that must go into the program."""
        scene = self.scene
        if self._is_recursive():
            return self._recursion()
        if _only_prints(node):
            return self._printing(node)
        edits = expression_of_if(scene, node)
        where = scene.fix(_("Choose with `jnp.where`: both sides are computed, one is taken."), *edits.where)
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
            where = scene.fix(
                _("Check at run time with `checkify`, in place of `raise`."),
                code=f"checkify.check(~({condition(scene, node.test)}), {_message(node.body[0])})",
            )
        elif where is None:
            body = ast.unparse(node.body[0]).split("\n")[0]
            code = f"{scene.jnp}.where({condition(scene, node.test)}, value_if_true, value_if_false)"
            where = scene.fix(
                _("Compute both sides and choose with `jnp.where`, in place of `{body}`.").format(body=body), code=code
            )
        why = _("Python's `if` must choose now, while JAX records the program, and the value comes later.")
        title = _("`if` needs a value that is still traced")
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
            _("Choose with `jnp.where`: both sides are computed, one is taken."),
            scene.source.replace(node, f"{scene.jnp}.where({test}, {yes}, {no})"),
        )
        cond = scene.fix(
            _("With `lax.cond`, for one scalar choice: only one side runs."),
            scene.source.replace(node, f"{scene.lax}.cond({test}, lambda: {yes}, lambda: {no})"),
        )
        why = _("Python's `if` must choose now, while JAX records the program, and the value comes later.")
        title = _("`if` needs a value that is still traced")
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
            _("`while` needs a value that is still traced"),
            why,
            loop,
            self.static_if_plain(),
            link=f"{error_texts.API}/jax.lax.while_loop.html",
        )

    def assertion(self, node: ast.Assert) -> Explanation | None:
        """Explain `assert`."""
        scene = self.scene
        test = condition(scene, node.test)
        outside = scene.fix(
            _("Mark what must not happen with NaN, and look at the result outside."),
            scene.source.replace(node, f"{self.variable} = {scene.jnp}.where({test}, {self.variable}, {scene.jnp}.nan)")
            if self.variable.isidentifier()
            else None,
        )
        check = scene.fix(
            _(
                "Check at run time: write this in its place, call with `err, y = checkify.checkify(f)(...)`, then "
                "`err.throw()`."
            ),
            code=f'checkify.check({scene.quote(node.test)}, "{scene.quote(node.test)}")',
        )
        return self.said(
            "assert_on_tracer",
            _("`assert` needs a value that is still traced"),
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
        return self.said(
            kind,
            _("`{word}` needs a value that is still traced").format(word=word),
            _(
                "Python's `{word}` decides now what is true, while JAX records the program; it cannot be recorded."
            ).format(word="and" if kind.startswith("chained") else word),
            fix if all(is_comparison(part) for part in leaves(top)) else functions,
            functions if all(is_comparison(part) for part in leaves(top)) else None,
            self.static_if_plain(),
            link=f"{error_texts.API}/jax.numpy.logical_and.html",
        )

    def _is_recursive(self) -> bool:
        """Tell whether the function at this place calls itself."""
        function = self.scene.spot.function
        return isinstance(function, ast.FunctionDef) and any(
            isinstance(node, ast.Call) and called(node) == function.name for node in ast.walk(function)
        )

    def _recursion(self) -> Explanation | None:
        """Explain a test in a function that calls itself: both sides would be recorded, and so without an end."""
        return self.said(
            "if_on_tracer",
            _("`if` needs a value that is still traced"),
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
            _("`if` needs a value that is still traced"),
            _("Python's `if` must choose now, while JAX records the program, and the value comes later."),
            scene.fix(sentence, scene.source.replace(node, text)) if known else scene.advice(sentence),
            link=f"{error_texts.API}/jax.debug.print.html",
        )

    def _is_switch(self, test: ast.expr) -> bool:
        """Tell whether a test is of a bare argument, which most often is an option such as `train`."""
        plain = test.operand if isinstance(test, ast.UnaryOp) else test
        return isinstance(plain, ast.Name) and self.static is not None


def _only_prints(node: ast.If) -> bool:
    """Tell whether each branch of an `if` is one `print`."""
    blocks = [block for block in (node.body, node.orelse) if block]
    return all(len(b) == 1 and isinstance(b[0], ast.Expr) and called(b[0].value) == "print" for b in blocks)


def _message(node: ast.Raise) -> str:
    """Return the text that an error is raised with, as `checkify.check` takes it."""
    given = node.exc.args[0] if isinstance(node.exc, ast.Call) and node.exc.args else None
    text = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
    if text is None:
        text = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) if node.exc else "error"
    return repr(text.replace("{", "{{").replace("}", "}}"))
