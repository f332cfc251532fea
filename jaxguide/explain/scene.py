"""Show the place at which an error happened: frames, expressions, the values of names, and ways to word a fix."""

import ast
import builtins
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FrameType, ModuleType, TracebackType
from typing import Any

import jax
import numpy as np

from jaxguide import compat
from jaxguide.arguments import array_type, describe
from jaxguide.explain import phrases
from jaxguide.explain.explanation import Edit, Explanation, Fix, apply_edits
from jaxguide.explain.source import FunctionNode, Source, arguments_of, dotted, source_of
from jaxguide.frames import is_library
from jaxguide.lines import Line
from jaxguide.text import _

MISSING = object()
# Name -> the line that brings it, where a fix uses one that the student does not have.
_IMPORTS = {
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "lax": "from jax import lax",
    "checkify": "from jax.experimental import checkify",
}


@dataclass
class Spot:
    """One of the student's frames in a traceback, with the expression that it had reached."""

    frame: FrameType
    line: Line
    instruction: int

    @cached_property
    def source(self) -> Source | None:
        """The source of the file or cell, None where it cannot be read."""
        return source_of(self.line.file)

    @cached_property
    def node(self) -> ast.AST | None:
        """The expression or statement that was running."""
        if self.source is None:
            return None
        positions = list(self.frame.f_code.co_positions())
        if not 0 <= self.instruction // 2 < len(positions):
            return None
        line, end_line, column, end_column = positions[self.instruction // 2]
        if line is None or end_line is None or column is None or end_column is None:
            return None
        if end_line > len(self.source.lines):
            return None
        node = self.source.find(self.source.position(line, column), self.source.position(end_line, end_column))
        # Python 3.11 places a jump at its whole statement where the test is a name or a call.
        return node.test if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) else node

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that was running."""
        return self.source.statement(self.node) if self.source else None

    @property
    def function(self) -> FunctionNode | None:
        """The function around it, None at the top level."""
        return self.source.function(self.node) if self.source else None

    def value(self, node: ast.AST | None) -> Any:
        """Return what an expression is worth here, where that takes no running of code; else MISSING."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            for names in (self.frame.f_locals, self.frame.f_globals, vars(builtins)):
                if node.id in names:
                    return names[node.id]
        elif isinstance(node, ast.Attribute):
            return _attribute(self.value(node.value), node.attr)
        elif isinstance(node, ast.Subscript):
            base, index = self.value(node.value), self.value(node.slice)
            if isinstance(base, dict | list | tuple) and isinstance(index, int | str):
                try:
                    return base[index]  # type: ignore[index]
                except (LookupError, TypeError):
                    return MISSING
        elif isinstance(node, ast.Tuple | ast.List):
            values = [self.value(element) for element in node.elts]
            if not any(value is MISSING for value in values):
                return tuple(values) if isinstance(node, ast.Tuple) else values
        elif isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            keys, values = [self.value(key) for key in node.keys], [self.value(value) for value in node.values]
            if not any(part is MISSING for part in [*keys, *values]):
                return dict(zip(keys, values, strict=True))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.value(node.operand)
            return -value if isinstance(value, int | float) else MISSING
        return MISSING

    def parts(self, node: ast.AST) -> Iterator[tuple[ast.expr, Any]]:
        """Yield the names, attributes and items in a node whose value is known, each with it, in reading order."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            value = self.value(node)
            if value is not MISSING and not isinstance(value, ModuleType):
                yield node, value
                return
        for child in ast.iter_child_nodes(node):
            yield from self.parts(child)

    def first(self, node: ast.AST | None, holds: Callable[[Any], bool]) -> tuple[ast.expr, Any] | None:
        """Return the first part of a node whose value `holds`, with the value."""
        if node is None:
            return None
        return next(((part, value) for part, value in self.parts(node) if holds(value)), None)

    def quote(self, node: ast.AST) -> str:
        """Return the student's text of a node."""
        return self.source.quote(node) if self.source else ""


class Scene:
    """An error and the student's frames that it went through.

    Args:
        error: the exception.
    """

    def __init__(self, error: BaseException):
        self.error = error
        self.message = str(error)
        self.spots, self.raised_by_user = _spots(error.__traceback__)

    @property
    def spot(self) -> Spot:
        """The innermost of the student's frames."""
        return self.spots[-1]

    @property
    def source(self) -> Source:
        """The source at the innermost frame; a scene without one is not explained."""
        assert self.spot.source is not None
        return self.spot.source

    @property
    def node(self) -> ast.AST:
        """The expression that was running in the innermost frame."""
        assert self.spot.node is not None
        return self.spot.node

    def is_of_jax(self) -> bool:
        """Tell whether JAX has a part in the error: NumPy and Python have many of the same words."""
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
        """Return the name under which the student's code knows a module of JAX, such as `jnp`."""
        short = {"jax.numpy": "jnp", "jax.lax": "lax", "jax": "jax"}.get(module, module.split(".")[-1])
        found = sys.modules.get(module)
        names = self.spot.frame.f_globals
        if found is not None:
            if names.get(short) is found:
                return short
            for name, value in names.items():
                if value is found and not name.startswith("_"):
                    return name
        # `jax.random` rather than a name of its own, but everybody writes `jnp`.
        return short if module in ("jax", "jax.numpy") else f"{self.name_of('jax')}.{short}"

    @property
    def jnp(self) -> str:
        """The student's name of `jax.numpy`."""
        return self.name_of("jax.numpy")

    @property
    def lax(self) -> str:
        """The student's name of `jax.lax`."""
        return self.name_of("jax.lax")

    @property
    def jax(self) -> str:
        """The student's name of `jax`."""
        return self.name_of("jax")

    @property
    def random(self) -> str:
        """The student's name of `jax.random`."""
        return self.name_of("jax.random")

    def call(self) -> ast.Call | None:
        """Return the call that was running in the innermost frame."""
        return self.source.around(self.node, ast.Call)

    def tracer(self, node: ast.AST | None = None) -> tuple[ast.expr, Any] | None:
        """Return the student's first traced expression in a node, with its value."""
        return self.spot.first(node if node is not None else self.node, is_tracer)

    def traced_what(self, text: str, tracer: Any) -> str:
        """Say what a traced value is at this point: `x` is a traced float32[5] here, inside `jax.jit` of `f`."""
        return _("`{name}` is a traced {type} here{inside}.").format(
            name=text, type=array_type(tracer), inside=self.inside(tracer)
        )

    def what(self, text: str, value: Any) -> str:
        """Say what a value is at this point."""
        if is_tracer(value):
            return self.traced_what(text, value)
        return _("`{name}` is {what} here.").format(name=text, what=describe(value))

    def inside(self, tracer: Any) -> str:
        """Say which transformation of which function traces a value: `, inside `jax.jit` of `f``."""
        by = compat.traced_by(tracer)
        transformation = phrases.TRANSFORMATIONS.get(by.transformation or "")
        if transformation is None:
            return ""
        name = by.function
        if name is None:
            code = self.spot.frame.f_code.co_name
            name = code if not code.startswith("<") else None
        if name is None or name == "<lambda>":
            return _(", inside {transformation}").format(transformation=f"`{transformation}`")
        return _(", inside {transformation} of {name}").format(transformation=f"`{transformation}`", name=f"`{name}`")

    def under(self, tracer: Any) -> str:
        """Return the transformation that traces a value as the student writes it, such as `jax.jit`."""
        return phrases.TRANSFORMATIONS.get(compat.traced_by(tracer).transformation or "", "jax.jit")

    def fix(self, sentence: str, *edits: Edit | None, code: str = "") -> Fix | None:
        """Return a fix made of edits, with the changed lines as its code; None where an edit is missing or fails."""
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
            lines += _changed_lines(source, own)
        return Fix(sentence, code or "\n".join(lines), tuple(made))

    def fixes(self, *fixes: Fix | None) -> tuple[Fix, ...]:
        """Return the fixes that could be made, three at most."""
        return tuple(fix for fix in fixes if fix is not None)[:3]

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
        """Return the explanation of this error; None where no fix could be worded, as a card without one is no help."""
        made = self.fixes(*fixes)
        if not made:
            return None
        return Explanation(
            kind, title, line or self.spot.line, variable, what, why, made, phrases.link(self.message) or link
        )

    def _imports(self, source: Source, edits: list[Edit]) -> list[Edit]:
        text = " ".join(edit.text for edit in edits)
        known = self.spot.frame.f_globals
        used = {node.id for node in _names(text)}
        missing = [line for name, line in _IMPORTS.items() if name in used and name not in known]
        if not missing or any(line in source.text for line in missing):
            return []
        after = 0
        for statement in source.tree.body:
            documentation = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not documentation and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
                break
            after = statement.end_lineno or 0
        return [Edit(source.file, (after + 1, 0), (after + 1, 0), "\n".join(missing) + "\n")]


def _is_jax_module(name: object) -> bool:
    return isinstance(name, str) and name.split(".")[0] in ("jax", "jaxlib")


def is_tracer(value: Any) -> bool:
    """Tell whether a value is a tracer."""
    return isinstance(value, jax.core.Tracer)


def is_array(value: Any) -> bool:
    """Tell whether a value is an array or a tracer, of JAX or of NumPy."""
    return isinstance(value, jax.Array | np.ndarray | np.generic)


def is_traced_integer(value: Any) -> bool:
    """Tell whether a value is a tracer that stands for one integer."""
    return is_tracer(value) and value.ndim == 0 and bool(jax.dtypes.issubdtype(value.dtype, np.integer))


def argument_of(call: ast.Call, position: int, name: str | None = None) -> ast.expr | None:
    """Return what a call gives for an argument, by keyword or by position."""
    for keyword in call.keywords:
        if keyword.arg is not None and keyword.arg == name:
            return keyword.value
    if any(isinstance(argument, ast.Starred) for argument in call.args[: position + 1]):
        return None
    return call.args[position] if position < len(call.args) else None


def is_argument(spot: Spot, name: str) -> bool:
    """Tell whether a name is an argument of the function at a spot."""
    return spot.function is not None and name in arguments_of(spot.function)


def called(call: ast.AST | None) -> str:
    """Return the last part of the name of what is called: `jnp.zeros(3)` gives 'zeros'."""
    if not isinstance(call, ast.Call):
        return ""
    name = dotted(call.func)
    return name.split(".")[-1] if name else getattr(call.func, "attr", "")


def _spots(traceback: TracebackType | None) -> tuple[list[Spot], bool]:
    """Return the user's frames of a traceback, and whether the last of them raised the error itself."""
    spots, last_is_user = [], False
    while traceback is not None:
        frame = traceback.tb_frame
        last_is_user = not is_library(frame.f_code.co_filename)
        if last_is_user:
            line = Line(frame.f_code.co_filename, traceback.tb_lineno)
            spots.append(Spot(frame, line, traceback.tb_lasti))
        traceback = traceback.tb_next
    raised = last_is_user and isinstance(spots[-1].statement, ast.Raise)
    return spots, raised


def _attribute(base: Any, name: str) -> Any:
    if base is MISSING:
        return MISSING
    if isinstance(base, ModuleType) or name in getattr(base, "__dict__", {}):
        return getattr(base, name, MISSING)
    if is_array(base) and name in ("shape", "ndim", "dtype", "size"):
        return getattr(base, name)
    return MISSING


def _names(text: str) -> Iterator[ast.Name]:
    """Yield the names in a piece of code that need not be complete."""
    import re

    for word in re.findall(r"(?<![\w.\"'])[A-Za-z_]\w*(?=\.|\()", text):
        yield ast.Name(word)


def _changed_lines(source: Source, edits: list[Edit]) -> list[str]:
    """Return the lines that edits change, as they will read, without common indentation."""
    import textwrap

    groups: list[list[Edit]] = []
    for edit in sorted(edits):
        if groups and edit.first[0] <= max(e.last[0] for e in groups[-1]):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    lines: list[str] = []
    for group in groups:
        first, last = group[0].first[0], max(edit.last[0] for edit in group)
        kept = "\n".join(source.lines[first - 1 : last])
        moved = [
            Edit(e.file, (e.first[0] - first + 1, e.first[1]), (e.last[0] - first + 1, e.last[1]), e.text)
            for e in group
        ]
        text = textwrap.dedent(apply_edits(kept, moved)).strip("\n")
        removed_line = len(group) == 1 and not group[0].text and group[0].last[1] == 0
        inserted_lines = len(group) == 1 and group[0].text.endswith("\n") and group[0].last[1] == 0
        if inserted_lines:
            text = textwrap.dedent(group[0].text).strip("\n")
        if not removed_line:
            lines += [line for line in text.split("\n") if line.strip()]
    return [_without_comment(line) for line in lines]


def _without_comment(line: str) -> str:
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]].rstrip()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return line.rstrip()
