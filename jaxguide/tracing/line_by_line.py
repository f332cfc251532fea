"""Show a function line by line as JAX traces it."""

import contextlib
import inspect
import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from types import FunctionType
from typing import TYPE_CHECKING, Any

import jax

from jaxguide.base.render import Picture
from jaxguide.base.render.theme import CODE, CODE_FONT, FOREGROUND, edge, frame
from jaxguide.base.text import _
from jaxguide.code.lines import Line, frames_of_traceback, function_name
from jaxguide.jaxpr.arguments import require_call
from jaxguide.tracing.abstract import is_traced
from jaxguide.tracing.fresh_trace import trace_anew, trace_until_error
from jaxguide.tracing.function_source import FunctionSource, read_source
from jaxguide.tracing.functions import codes_within, is_jitted, written_function
from jaxguide.tracing.line_record import Recorder
from jaxguide.tracing.line_rows import LineRow, make_rows, primitives_by_statement

if TYPE_CHECKING:
    from jaxguide.tracing.line_rows import LineRow, Name


@dataclass(frozen=True, repr=False)
class LineByLine(Picture):
    """A function's lines with what JAX sees on each: printed as text, shown as HTML in a notebook.

    Args:
        text, html, svg: the forms in which it is shown; see `jaxguide.base.render.Picture`.
        rows: the statements in order, as plain data.
        elsewhere: the primitives of the program that come from no line of the function, by name and count.
        error: what stopped the function, in one line; None if it returned.
    """

    rows: tuple[LineRow, ...] = ()
    elsewhere: dict[str, int] = field(default_factory=dict)
    error: str | None = None


def show_lines(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> LineByLine:
    """Show a function line by line: what is static, what is traced, and what goes into the program.

    Calls `fn` once with tracers, as `jax.jit` would, and watches it with `sys.settrace`; the trace function of a
    debugger or of coverage is suspended meanwhile. A line's primitives come from the equations of the jaxpr
    (`jax.make_jaxpr`, or `jax.jit(f).trace` for a jitted `f`) and their source lines. Shows what "How to think in JAX"
    shows with `print`: `x` is traced, `x.shape` is not.

    >>> import jax, jax.numpy as jnp
    >>> def norm(x, n):
    ...     size = x.shape[0] + n
    ...     y = x - x.mean(0)
    ...     return y / size
    >>> show_lines(norm, jnp.ones((2, 3)), 1)
    norm(x, n) · ..., line 1
    <BLANKLINE>
    1  def norm(x, n):                | traced  x        float32[2,3]
                                      | static  n        1
    2      size = x.shape[0] + n      | traced  x        float32[2,3]
                                      | static  x.shape  (2, 3)
                                      | static  n        1
                                      | static  size     3
    3      y = x - x.mean(0)          | traced  x  float32[2,3]
                                      | traced  y  float32[2,3]
                                      | makes   reduce_sum, div, broadcast_in_dim, sub
    4      return y / size            | traced  y     float32[2,3]
                                      | static  size  3
                                      | makes   div

    A line that ran several times (JAX unrolls Python loops) shows how often, and the first and the last value. A line
    that raised is marked, after the lines that ran before it.

    Args:
        fn: a function written in a file or a notebook cell. It may be a method, jitted, decorated or transformed: for
            `jax.vmap(f)` and `jax.grad(f)`, the lines of `f` are shown with the types that they see.
        args, kwargs: its arguments. If `fn` comes from `jax.jit`, its static arguments stay static and all others are
            traced; otherwise arrays, keys, floats and `jax.ShapeDtypeStruct` are traced, and integers, strings,
            booleans and None stay static.

    Returns:
        The lines, to print or display; `.rows` has them as plain data.

    Raises:
        TypeError: if `fn` is not a function, rejects these arguments, or is not written in Python.
        ValueError: if the source of `fn` cannot be read, as after `exec`.
        Exception: whatever is raised before the first line of `fn` runs. (A jitted `fn` that raises later is traced
            again without `jax.jit`, to get the program up to the error; what it prints then is discarded.)
    """
    require_call("show_lines", fn, args, kwargs)
    function, source = _written(fn)
    recorder = Recorder(source, function.__code__)
    jaxpr, error = None, None
    with recorder:
        try:
            if is_jitted(fn):
                jaxpr = trace_anew(fn, args, kwargs)
            else:
                jaxpr, error = trace_until_error(fn, args, kwargs, _is_traced, Exception)
        except Exception as raised:
            error = raised
    if recorder.traced_arguments is None and error is not None:
        raise error
    if jaxpr is None:
        jaxpr = _again(fn, args, kwargs, recorder.traced_arguments or {})
    codes = {id(code) for code in codes_within(function.__code__)}
    primitives, elsewhere = primitives_by_statement(jaxpr, source, codes)
    message, line = None, None
    if recorder.traced_arguments is None:
        message = _("This call did not run the function's code.")
    elif error is not None:
        message = _one_line(error)
        reached = [line.number for frame, line in frames_of_traceback(error.__traceback__) if id(frame.f_code) in codes]
        line = reached[-1] if reached else None
    rows = make_rows(source, recorder.visits, primitives, (line, message) if line and message else None)
    return _picture(function, source, rows, elsewhere, message, beside=line is not None)


def _written(fn: Callable[..., Any]) -> tuple[FunctionType, FunctionSource]:
    if isinstance(fn, type):
        raise TypeError(
            _(
                "`show_lines` needs a function, but `{name}` is a class: pass one of its methods, or a function that "
                "creates the object and uses it."
            ).format(name=fn.__name__)
        )
    function = written_function(fn)
    if function is None:
        raise TypeError(
            _("`show_lines` needs a function written in Python, but `{name}` is not: it has no lines to show.").format(
                name=function_name(fn)
            )
        )
    source = read_source(function)
    if source is None and function.__name__ == "<lambda>":
        raise ValueError(
            _(
                "`show_lines` cannot find the source of this lambda: write it on a separate line of a file or "
                "notebook cell, or write it with `def`."
            )
        )
    if source is None:
        raise ValueError(
            _(
                "`show_lines` cannot read the source of `{name}`: write the function in a file or a notebook cell "
                "rather than with `exec` or `eval`, and import or run it again if it has changed since."
            ).format(name=function_name(function))
        )
    return function, source


def _is_traced(_number: int, leaf: Any) -> bool:
    return is_traced(leaf)


def _again(fn: Any, args: Any, kwargs: Any, traced: dict[str, bool]) -> Any:
    """Return a jitted function's jaxpr up to the error, tracing the same arguments as `jax.jit`."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    positional, keywords = jax.tree.unflatten(structure, range(len(leaves)))
    bound = inspect.signature(fn).bind(*positional, **keywords).arguments
    static = {number for name in bound if not traced.get(name, True) for number in jax.tree.leaves(bound[name])}
    with contextlib.redirect_stdout(io.StringIO()):
        return trace_until_error(fn.__wrapped__, args, kwargs, lambda number, _leaf: number not in static, Exception)[0]


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split("\n\n")[0].split())
    # JAX's messages continue with where the function was defined, which the lines already show.
    words = words.split(" The error occurred while tracing")[0]
    text = f"{type(error).__name__}: {words}"
    return text if len(text) <= 300 else f"{text[:297]}..."


def _picture(
    function: FunctionType,
    source: FunctionSource,
    rows: tuple[LineRow, ...],
    elsewhere: dict[str, int],
    error: str | None,
    beside: bool,
) -> LineByLine:
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    names = [f"{stars.get(parameter.kind, '')}{parameter.name}" for parameter in parameters]
    name = function.__qualname__.rpartition("<locals>.")[2]
    title = f"{name}({', '.join(names)}) · {Line(source.file, source.start)}"
    foot = None if beside else error
    return LineByLine(
        view_text(title, rows, elsewhere, foot),
        view_html(title, rows, elsewhere, foot),
        rows=rows,
        elsewhere=elsewhere,
        error=error,
    )


WIDTH = 110
_CODE_WIDTH = 54
_WORD_WIDTH = 8


def view_text(title: str, rows: "Sequence[LineRow]", elsewhere: dict[str, int], error: str | None) -> str:
    """Return the picture as text of at most 110 columns, or more if a source line is longer."""
    code_width = max(len(line) for row in rows for line in row.source)
    code_width = min(code_width, _CODE_WIDTH)
    digits = len(str(rows[-1].number + len(rows[-1].source) - 1))
    lines = [title, ""]
    for row in rows:
        notes = _notes(row, WIDTH - digits - code_width - 6)
        for i, source in enumerate(row.source):
            numbered = f"{row.number + i:>{digits}}  {source}"
            beside = notes.pop(0) if notes and len(source) <= code_width else ""
            lines.append(f"{numbered:<{digits + 2 + code_width}}  | {beside}" if beside else numbered.rstrip())
        lines += [f"{'':<{digits + 2 + code_width}}  | {note}" for note in notes]
    if elsewhere:
        lines += ["", *textwrap.wrap(_("Outside these lines: {names}.").format(names=_with_counts(elsewhere)), WIDTH)]
    if error:
        lines += ["", *textwrap.wrap(f"✗ {error}", WIDTH)]
    return "\n".join(lines)


def _notes(row: "LineRow", width: int) -> list[str]:
    width = max(width, 40)
    notes = []
    longest = max((len(name.name) for name in row.names), default=0)
    for name in row.names:
        notes += _hanging(_kind_word(name.kind), f"{name.name:<{longest}}  {name.text}", longest + 2, width)
    if row.primitives:
        notes += _hanging(_("makes"), _with_counts(row.primitives), 0, width)
    if row.times > 1:
        notes += _hanging(_("ran"), _times(row.times), 0, width)
    if row.error:
        notes += _hanging("✗", row.error, 0, width)
    if row.state == "not run":
        notes.append(_("not run"))
    return notes


def _hanging(word: str, text: str, indent: int, width: int) -> list[str]:
    return textwrap.wrap(
        f"{word:<{_WORD_WIDTH - 1}} {text}",
        width,
        subsequent_indent=" " * (_WORD_WIDTH + indent),
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def view_html(title: str, rows: "Sequence[LineRow]", elsewhere: dict[str, int], error: str | None) -> str:
    """Return the picture as HTML with inline styles only, which JupyterLab's sanitizer keeps."""
    items = "".join(_item(row) for row in rows)
    foot = ""
    if elsewhere:
        foot += f"<p>{_code(_('Outside these lines: {names}.').format(names=_with_counts(elsewhere)))}</p>"
    if error:
        foot += f'<p style="{edge("bad", 3)};padding-left:0.5em">✗ {escape(error)}</p>'
    legend = _(
        "~ traced: only its type is known while JAX traces. = static: a Python value, fixed in the program. "
        "+ makes: primitives that the line adds to the program."
    )
    return (
        f'<section style="{frame("quiet")};max-width:72em">'
        f'<p style="margin:0 0 0.2em 0"><strong>{escape(title)}</strong></p>'
        f'<p style="margin:0 0 0.5em 0;font-size:90%">{escape(legend)}</p>'
        f'<ul style="list-style:none;margin:0;padding:0">{items}</ul>{foot}</section>'
    )


def _item(row: "LineRow") -> str:
    width = 4
    source = "\n".join(f"{row.number + i:>{width}}  {line}" for i, line in enumerate(row.source))
    chips = [_chip(_GLYPHS[name.kind], _kind_word(name.kind), name) for name in row.names]
    if row.primitives:
        chips.append(_label("quiet", f"+ {_('makes')} {_code(_with_counts(row.primitives))}"))
    if row.times > 1:
        chips.append(_label("quiet", escape(f"{_('ran')} {_times(row.times)}")))
    if row.error:
        chips.append(_label("bad", f"✗ {escape(row.error)}"))
    if row.state == "not run":
        chips.append(_label("quiet", escape(_("not run"))))
    notes = f'<div style="margin:0 0 0.35em 4.5em;font-size:90%">{" ".join(chips)}</div>' if chips else ""
    return f'<li style="margin:0;padding:0"><pre style="{CODE}">{escape(source)}</pre>{notes}</li>'


_GLYPHS = {"traced": "~", "static": "=", "mixed": "≈"}
_TONES = {"traced": "partly", "static": "good", "mixed": "partly"}


def _chip(glyph: str, word: str, name: "Name") -> str:
    return _label(_TONES[name.kind], f"{glyph} {escape(word)} {_code(f'{name.name}: {name.text}')}")


def _label(tone: str, inner: str) -> str:
    return (
        f'<span style="{edge(tone, 3)};padding:0 0.9em 0 0.35em;display:inline-block;color:{FOREGROUND}">{inner}</span>'
    )


def _code(text: str) -> str:
    return f'<span style="font-family:monospace;font-family:{CODE_FONT}">{escape(text)}</span>'


def _kind_word(kind: str) -> str:
    return {"traced": _("traced"), "static": _("static"), "mixed": _("mixed")}[kind]


def _times(times: int) -> str:
    return _("{times} times").format(times=times)


def _with_counts(primitives: dict[str, int]) -> str:
    """Return primitives and their counts as text.

    >>> _with_counts({"sin": 1, "add": 3})
    'sin, add ×3'
    """
    return ", ".join(
        name if count == 1 else f"{name} \N{MULTIPLICATION SIGN}{count}" for name, count in primitives.items()
    )
