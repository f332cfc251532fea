"""Describe the place where an error happened (frames, expressions, values of names), and build fixes for it."""

import ast
import re
import sys
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.code.edits import Edit, apply_edits, changed_lines
from jaxguide.code.frames import is_own, package_of
from jaxguide.code.lines import Line
from jaxguide.code.source import Source, dotted, source_of
from jaxguide.code.user_frame import MISSING, UserFrame, is_tracer, traceback_frames
from jaxguide.compat import error_texts
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.jaxpr.value_words import array_type, describe

# Name -> the import to add if a fix uses the name and the student's code does not have it.
_IMPORTS = {
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "np": "import numpy as np",
    "lax": "from jax import lax",
    "host_function": "from jaxguide.callbacks import host_function",
    "checkify": "from jax.experimental import checkify",
}


# Packages that JAX itself calls.
_BELOW_JAX = ("jaxlib", "numpy", "opt_einsum", "scipy", "ml_dtypes")


class Scene:
    """An error and the student's frames that it passed through.

    Args:
        error: the exception.
    """

    def __init__(self, error: BaseException):
        self.error = error
        self.message = str(error)
        self.spots, self.raised_by_user = traceback_frames(error.__traceback__)
        while len(self.spots) > 1 and _is_generated(self.spots[-1]):
            self.spots.pop()

    def at(self, spot: UserFrame) -> "Scene":
        """Return the scene as one of the outer frames sees it."""
        outer = Scene(self.error)
        outer.spots = self.spots[: self.spots.index(spot) + 1]
        return outer

    @property
    def spot(self) -> UserFrame:
        """The innermost of the student's frames."""
        return self.spots[-1]

    @property
    def source(self) -> Source:
        """The source of the innermost frame; rules only get scenes that have one."""
        assert self.spot.source is not None
        return self.spot.source

    @property
    def node(self) -> ast.AST:
        """The expression that was running in the innermost frame."""
        assert self.spot.node is not None
        return self.spot.node

    @property
    def library(self) -> str | None:
        """The package that the innermost frame called and that led to the error; None for JAX and NumPy alone."""
        traceback, found = self.error.__traceback__, None
        while traceback is not None:
            if traceback.tb_frame is self.spot.frame:
                found = None
            elif found is None:
                found = package_of(traceback.tb_frame.f_code.co_filename)
                found = None if found in _BELOW_JAX else found
            traceback = traceback.tb_next
        return found

    def is_of_jax(self) -> bool:
        """Return whether JAX is involved in the error, because NumPy and Python raise many of the same messages."""
        if type(self.error).__module__.split(".")[0] in ("jax", "jaxlib"):
            return True
        for node in ast.walk(self.node):
            value = self.spot.value(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else MISSING
            if value is MISSING:
                continue
            homes = (getattr(value, "__module__", None), getattr(value, "__name__", None), type(value).__module__)
            if hasattr(value, "__wrapped__") or any(_is_jax_module(home) for home in homes):
                return True
        return False

    def quote(self, node: ast.AST) -> str:
        """Return the student's text of a node in the innermost frame's source."""
        return self.source.quote(node)

    def atom(self, node: ast.AST) -> str:
        """Return the student's text of a node, in parentheses where needed."""
        return self.source.atom(node)

    def name_of(self, module: str) -> str:
        """Return the name by which the student's code refers to a module, such as `jnp`."""
        short = {"jax.numpy": "jnp", "jax.lax": "lax", "jax": "jax", "numpy": "np"}.get(module, module.split(".")[-1])
        found = sys.modules.get(module)
        names = self.spot.frame.f_globals
        if found is not None:
            if names.get(short) is found:
                return short
            for name, value in names.items():
                if value is found and not name.startswith("_"):
                    return name
        # Without an import of it, write `jax.random` in full, but `jnp` as usual.
        if module in ("jax", "jax.numpy", "numpy") or not module.startswith("jax."):
            return short if module in ("jax.numpy", "numpy") else module
        return f"{self.name_of('jax')}.{module.removeprefix('jax.')}"

    # The student's names for these modules.
    jnp = property(lambda self: self.name_of("jax.numpy"))
    np = property(lambda self: self.name_of("numpy"))
    lax = property(lambda self: self.name_of("jax.lax"))
    jax = property(lambda self: self.name_of("jax"))
    random = property(lambda self: self.name_of("jax.random"))

    def call(self) -> ast.Call | None:
        """Return the call that was running in the innermost frame."""
        return self.source.around(self.node, ast.Call)

    def tracer(self, node: ast.AST | None = None) -> tuple[ast.expr, Any] | None:
        """Return the student's first traced expression in a node, with its value."""
        return self.spot.first(node if node is not None else self.node, is_tracer)

    def traced_what(self, text: str, tracer: Any) -> str:
        """Say what a traced value is at this point: `x` is a traced float32[5] here, inside `jax.jit` of `f`."""
        return f"`{text}` is a traced {array_type(tracer)} here{self.inside(tracer)}."

    def what(self, text: str, value: Any) -> str:
        """Say what a value is at this point."""
        if is_tracer(value):
            return self.traced_what(text, value)
        return f"`{text}` is {describe(value)} here."

    def inside(self, tracer: Any) -> str:
        """Say which transformation of which function traces a value: `, inside `jax.jit` of `f``."""
        by = compat.traced_by(tracer)
        if by.file is not None and is_own(by.file):  # traced by a helper, not by the student
            return ""
        transformation = error_texts.TRANSFORMATIONS.get(by.transformation or "")
        if transformation is None:
            return ""
        code = self.spot.frame.f_code.co_name
        name = by.function or ("<lambda>" if code.startswith("<") else code)
        return f", inside `{transformation}`" + (f" of `{name}`" if name != "<lambda>" else "")

    def under(self, tracer: Any) -> str:
        """Return the transformation that traces a value as the student writes it, such as `jax.jit`."""
        return error_texts.TRANSFORMATIONS.get(compat.traced_by(tracer).transformation or "", "jax.jit")

    def fix(self, sentence: str, *edits: Edit | None, code: str = "") -> Fix | None:
        """Return a fix made of edits; if an edit is missing, a fix that only shows `code`, or None without `code`.

        The code that is shown begins with the imports that it needs and that the student's code does not have.
        """
        code = "\n".join([*self._missing_imports(self.spot.source, code), code])
        made = [edit for edit in edits if edit is not None]
        if len(made) < len(edits) or not made:
            return Fix(sentence, code) if code else None
        lines: list[str] = []
        for file in dict.fromkeys(edit.file for edit in made):
            source = source_of(file)
            if source is None:
                return None
            own = [edit for edit in made if edit.file == file]
            own += self._imports(source, own)
            made += [edit for edit in own if edit not in made]
            try:
                ast.parse(apply_edits(source.text, own))
            except (SyntaxError, ValueError):
                return None
            lines += changed_lines(source.lines, own)
        return Fix(sentence, code or "\n".join(lines), tuple(made))

    def advice(self, sentence: str) -> Fix:
        """Return a fix in words only, if the right code is uncertain."""
        return Fix(sentence, "")

    def explanation(
        self,
        kind: str,
        *,
        title: str,
        why: str,
        what: str = "",
        variable: str | None = None,
        fixes: Sequence[Fix | None] = (),
        link: str = "",
        line: Line | None = None,
    ) -> Explanation | None:
        """Return the explanation of this error with at most three fixes, or None without any: it would not help."""
        made = tuple(dict.fromkeys(fix for fix in fixes if fix is not None))[:3]
        page = error_texts.link(self.message) or link
        return Explanation(kind, title, line or self.spot.line, variable, what, why, made, page) if made else None

    def _imports(self, source: Source, edits: list[Edit]) -> list[Edit]:
        text = " ".join(edit.text for edit in edits if not edit.text.startswith(("import ", "from ")))
        missing = self._missing_imports(source, text)
        return [import_line(source, "\n".join(missing))] if missing else []

    def _missing_imports(self, source: Source | None, text: str) -> list[str]:
        """Return the imports that a piece of code needs and a file or cell does not have."""
        known = self.spot.frame.f_globals
        used = set(re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*(?=\.|\()", text))
        present = {line.strip() for line in source.lines} if source is not None else set()
        return [line for name, line in _IMPORTS.items() if name in used and name not in known and line not in present]


def import_line(source: Source, line: str) -> Edit:
    """Return the edit that adds an import at the top of a file, below its docstring."""
    after = 0
    for statement in source.tree.body:
        documentation = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not documentation and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
        after = statement.end_lineno or 0
    return Edit(source.file, (after + 1, 0), (after + 1, 0), f"{line}\n")


def _is_generated(spot: UserFrame) -> bool:
    """Return whether a frame runs a method that `dataclasses` wrote, such as `__init__`."""
    code = spot.frame.f_code
    return code.co_filename == "<string>" and re.fullmatch(r"__\w+__", code.co_name) is not None


def _is_jax_module(name: object) -> bool:
    return isinstance(name, str) and name.split(".")[0] in ("jax", "jaxlib")


def is_traced_integer(value: Any) -> bool:
    """Return whether a value is a tracer of a single integer."""
    return is_tracer(value) and value.ndim == 0 and bool(jax.dtypes.issubdtype(value.dtype, np.integer))


def argument_of(call: ast.Call, position: int, name: str | None = None) -> ast.expr | None:
    """Return the expression that a call passes for an argument, by keyword or by position."""
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg == name:
            return keyword.value
    if any(isinstance(argument, ast.Starred) for argument in call.args[: position + 1]):
        return None
    return call.args[position] if position < len(call.args) else None


def called(call: ast.AST | None) -> str:
    """Return the last part of the called name: 'zeros' for `jnp.zeros(3)`."""
    if not isinstance(call, ast.Call):
        return ""
    name = dotted(call.func)
    return name.split(".")[-1] if name else getattr(call.func, "attr", "")
