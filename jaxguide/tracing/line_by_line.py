"""Show a function line by line as JAX traces it."""

import contextlib
import inspect
import io
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import jax

from jaxguide.base.render import Picture
from jaxguide.base.render.theme import CODE, CODE_FONT, FOREGROUND, edge, frame
from jaxguide.code.frames import package_name
from jaxguide.code.lines import Line, calling_line, frames_of_traceback, function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.stage import traced_leaves
from jaxguide.tracing.fresh_trace import trace_anew, trace_until_error
from jaxguide.tracing.function_source import FunctionSource, StatementLines, read_source
from jaxguide.tracing.functions import is_jitted, written_function
from jaxguide.tracing.line_record import LineRecorders, Recorder
from jaxguide.tracing.line_rows import LibraryRow, LineRow, make_rows, primitives_by_statement

if TYPE_CHECKING:
    from jaxguide.tracing.line_rows import LineRow, Name


@dataclass(frozen=True, repr=False)
class LineByLine(Picture):
    """A function's lines with what JAX sees on each: printed as text, shown as HTML in a notebook.

    Args:
        text, html, svg: the forms in which it is shown; see `jaxguide.base.render.Picture`.
        rows: the statements in order, as plain data.
        elsewhere: the primitives of the program that come from no line of the function, by name and count.
        libraries: the same by library, with the user's lines that led there.
        error: what stopped the function, in one line; None if it returned.
    """

    rows: tuple[LineRow, ...] = ()
    elsewhere: dict[str, int] = field(default_factory=dict)
    libraries: tuple[LibraryRow, ...] = ()
    error: str | None = None


@flags_off(*CHECKS, DISABLE_JIT)
def show_lines(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> LineByLine:
    """Show a function line by line: what is static, what is traced, and what goes into the program.

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

    Calls `fn` once with tracers, as `jax.jit` would, and watches its lines with `sys.monitoring` (`sys.settrace` in
    Python 3.11); the trace function of a debugger or of coverage is suspended meanwhile. A line's primitives come from
    the equations of the jaxpr (`jax.make_jaxpr`, or `jax.jit(f).trace` for a jitted `f`) and their source lines. Shows
    what "How to think in JAX" shows with `print`: `x` is traced, `x.shape` is not.

    Args:
        fn: a function written in a file or a notebook cell. It may be a method, jitted, decorated or transformed: for
            `jax.vmap(f)` and `jax.grad(f)`, the lines of `f` are shown with the types that they see. If a library
            wrote `fn`, such as `network.apply`, your function that it calls is shown; its own lines, if there is none.
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
    recorders = LineRecorders(Recorder(source, function.__code__))
    caller = calling_line()
    jaxpr, error = None, None
    with recorders:
        try:
            if is_jitted(fn):
                jaxpr = trace_anew(fn, args, kwargs)
            else:
                jaxpr, error = trace_until_error(fn, args, kwargs, traced_leaves(fn, args, kwargs), Exception)
        except Exception as raised:
            error = raised
    traced_arguments = recorders.first.traced_arguments
    if traced_arguments is None and error is not None:
        raise error
    if jaxpr is None:
        jaxpr = _again(fn, args, kwargs, traced_arguments or {})
    reached = (
        [] if error is None else [(frame, line.number) for frame, line in frames_of_traceback(error.__traceback__)]
    )
    recorder, primitives, outside = _shown(recorders, jaxpr, {id(frame.f_code) for frame, _line in reached})
    message, line = None, None
    if recorder.traced_arguments is None:
        message = "This call did not run the function's code."
    elif error is not None:
        message = _one_line(error)
        line = next((number for frame, number in reversed(reached) if id(frame.f_code) in recorder.codes), None)
    rows = make_rows(recorder.source, recorder.visits, primitives, (line, message) if line and message else None)
    head = None
    if recorder is not recorders.first:
        head = "`{function}` of {package} calls this function; you called it in {line}.".format(
            function=function.__qualname__.rpartition("<locals>.")[2],
            package=package_name(function.__code__.co_filename),
            line=caller,
        )
    return _picture(recorder, rows, outside, head, message, beside=line is not None)


def _shown(
    recorders: LineRecorders, jaxpr: Any, reached: set[int]
) -> tuple[Recorder, dict[StatementLines, dict[str, int]], tuple[LibraryRow, ...]]:
    """Return the function to show, the primitives of its statements, and those of other code.

    Of several functions that a library calls, it is the one that raised or that made most of the program.

    Args:
        recorders: what was recorded.
        jaxpr: the traced program.
        reached: the ids of the code objects that an error came through.
    """
    found = [
        (recorder, *primitives_by_statement(jaxpr, recorder.source, set(recorder.codes)))
        for recorder in recorders.users or [recorders.first]
    ]
    return max(found, key=lambda one: (id(one[0].code) in reached, sum(sum(own.values()) for own in one[1].values())))


def _written(fn: Callable[..., Any]) -> tuple[FunctionType, FunctionSource]:
    if isinstance(fn, type):
        raise TypeError(
            f"`show_lines` needs a function, but `{fn.__name__}` is a class: pass one of its methods, or a function "
            "that creates the object and uses it."
        )
    function = written_function(fn)
    if function is None:
        raise TypeError(
            f"`show_lines` needs a function written in Python, but `{function_name(fn)}` is not: it has no lines to "
            "show."
        )
    source = read_source(function)
    if source is None and function.__name__ == "<lambda>":
        raise ValueError(
            "`show_lines` cannot find the source of this lambda: write it on a separate line of a file or "
            "notebook cell, or write it with `def`."
        )
    if source is None:
        raise ValueError(
            f"`show_lines` cannot read the source of `{function_name(function)}`: write the function in a file or a "
            "notebook cell rather than with `exec` or `eval`, and import or run it again if it has changed since."
        )
    return function, source


def _again(fn: Any, args: Any, kwargs: Any, by_name: dict[str, bool]) -> Any:
    """Return a jitted function's jaxpr up to the error, tracing the same arguments as `jax.jit`."""
    leaves, structure = jax.tree.flatten((args, kwargs))
    positional, keywords = jax.tree.unflatten(structure, range(len(leaves)))
    bound = inspect.signature(fn).bind(*positional, **keywords).arguments
    static = {number for name in bound if not by_name.get(name, True) for number in jax.tree.leaves(bound[name])}
    with contextlib.redirect_stdout(io.StringIO()):
        traced = [number not in static for number in range(len(leaves))]
        return trace_until_error(fn.__wrapped__, args, kwargs, traced, Exception)[0]


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split("\n\n")[0].split())
    # JAX's messages continue with where the function was defined, which the lines already show.
    words = words.split(" The error occurred while tracing")[0]
    text = f"{type(error).__name__}: {words}"
    return text if len(text) <= 300 else f"{text[:297]}..."


def _picture(
    recorder: Recorder,
    rows: tuple[LineRow, ...],
    libraries: tuple[LibraryRow, ...],
    head: str | None,
    error: str | None,
    beside: bool,
) -> LineByLine:
    code = recorder.code
    name = code.co_qualname.rpartition("<locals>.")[2]
    title = f"{name}({', '.join(_parameters(code))}) · {Line(recorder.source.file, recorder.source.start)}"
    feet = [*_outside(libraries), *([f"✗ {error}"] if error and not beside else [])]
    elsewhere: Counter[str] = Counter()
    for row in libraries:
        elsewhere.update(row.primitives)
    return LineByLine(
        view_text(title, head, rows, feet),
        view_html(title, head, rows, feet),
        rows=rows,
        elsewhere=dict(elsewhere),
        libraries=libraries,
        error=error,
    )


def _parameters(code: CodeType) -> list[str]:
    """Return the names of a function's parameters, marked as in its definition."""
    names = list(code.co_varnames)
    positional, keywords = code.co_argcount, code.co_kwonlyargcount
    rest = names[positional + keywords :]
    stars = [f"*{rest.pop(0)}"] if code.co_flags & inspect.CO_VARARGS else []
    both = [f"**{rest.pop(0)}"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    return [*names[:positional], *stars, *names[positional : positional + keywords], *both]


def _outside(libraries: Sequence[LibraryRow]) -> list[str]:
    """Return a sentence for what came from JAX called by the user's other lines, and one for each other library."""
    users: Counter[str] = Counter()
    for row in libraries:
        if row.package == "jax":
            users.update(row.primitives)
    texts = [f"Outside these lines: {_with_counts(users)}."] if users else []
    for row in libraries:
        if row.package != "jax" and row.line is None:
            words = f"In {row.package}: {_with_counts(row.primitives)}."
            texts.append(words)
        elif row.package != "jax":
            words = "In {package}, called in {line}: {names}."
            texts.append(words.format(package=row.package, line=row.line, names=_with_counts(row.primitives)))
    return texts


WIDTH = 110
_CODE_WIDTH = 54
_WORD_WIDTH = 8


def view_text(title: str, head: str | None, rows: "Sequence[LineRow]", feet: Sequence[str]) -> str:
    """Return the picture as text of at most 110 columns, or more if a source line is longer."""
    code_width = max(len(line) for row in rows for line in row.source)
    code_width = min(code_width, _CODE_WIDTH)
    digits = len(str(rows[-1].number + len(rows[-1].source) - 1))
    lines = [title, *(textwrap.wrap(head, WIDTH) if head else []), ""]
    for row in rows:
        notes = _notes(row, WIDTH - digits - code_width - 6)
        for i, source in enumerate(row.source):
            numbered = f"{row.number + i:>{digits}}  {source}"
            beside = notes.pop(0) if notes and len(source) <= code_width else ""
            lines.append(f"{numbered:<{digits + 2 + code_width}}  | {beside}" if beside else numbered.rstrip())
        lines += [f"{'':<{digits + 2 + code_width}}  | {note}" for note in notes]
    for foot in feet:
        lines += ["", *textwrap.wrap(foot, WIDTH)]
    return "\n".join(lines)


def _notes(row: "LineRow", width: int) -> list[str]:
    width = max(width, 40)
    notes = []
    longest = max((len(name.name) for name in row.names), default=0)
    for name in row.names:
        notes += _hanging(name.kind, f"{name.name:<{longest}}  {name.text}", longest + 2, width)
    if row.primitives:
        notes += _hanging("makes", _with_counts(row.primitives), 0, width)
    if row.times > 1:
        notes += _hanging("ran", _times(row.times), 0, width)
    if row.error:
        notes += _hanging("✗", row.error, 0, width)
    if row.state == "not run":
        notes.append("not run")
    return notes


def _hanging(word: str, text: str, indent: int, width: int) -> list[str]:
    return textwrap.wrap(
        f"{word:<{_WORD_WIDTH - 1}} {text}",
        width,
        subsequent_indent=" " * (_WORD_WIDTH + indent),
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def view_html(title: str, head: str | None, rows: "Sequence[LineRow]", feet: Sequence[str]) -> str:
    """Return the picture as HTML with inline styles only, which JupyterLab's sanitizer keeps."""
    items = "".join(_item(row) for row in rows)
    bad = f' style="{edge("bad", 3)};padding-left:0.5em"'
    foot = "".join(f"<p{bad}>{escape(one)}</p>" if one.startswith("✗") else f"<p>{_code(one)}</p>" for one in feet)
    above = f'<p style="margin:0 0 0.2em 0">{escape(head)}</p>' if head else ""
    legend = (
        "~ traced: only its type is known while JAX traces. = static: a Python value, fixed in the program. "
        "+ makes: primitives that the line adds to the program."
    )
    return (
        f'<section style="{frame("quiet")};max-width:72em">'
        f'<p style="margin:0 0 0.2em 0"><strong>{escape(title)}</strong></p>{above}'
        f'<p style="margin:0 0 0.5em 0;font-size:90%">{escape(legend)}</p>'
        f'<ul style="list-style:none;margin:0;padding:0">{items}</ul>{foot}</section>'
    )


def _item(row: "LineRow") -> str:
    width = 4
    source = "".join(_source_line(f"{row.number + i:>{width}}  ", line) for i, line in enumerate(row.source))
    chips = [_chip(name) for name in row.names]
    if row.primitives:
        chips.append(_label("quiet", f"+ makes {_code(_with_counts(row.primitives))}"))
    if row.times > 1:
        chips.append(_label("quiet", f"ran {_times(row.times)}"))
    if row.error:
        chips.append(_label("bad", f"✗ {escape(row.error)}"))
    if row.state == "not run":
        chips.append(_label("quiet", "not run"))
    notes = f'<div style="margin:0 0 0.35em 4.5em;font-size:90%">{" ".join(chips)}</div>' if chips else ""
    return f'<li style="margin:0;padding:0">{source}{notes}</li>'


def _source_line(number: str, line: str) -> str:
    """Return one line of code; if it is too long for the page, what follows is indented more than its beginning."""
    indent_em = 0.6 * (len(number) + len(line) - len(line.lstrip()) + 4)
    style = f"{CODE};padding-left:{indent_em:.1f}em;text-indent:-{indent_em:.1f}em"
    return f'<pre style="{style}">{escape(number + line)}</pre>'


_GLYPHS = {"traced": "~", "static": "=", "mixed": "≈"}
_TONES = {"traced": "partly", "static": "good", "mixed": "partly"}


def _chip(name: "Name") -> str:
    return _label(_TONES[name.kind], f"{_GLYPHS[name.kind]} {name.kind} {_code(f'{name.name}: {name.text}')}")


def _label(tone: str, inner: str) -> str:
    return (
        f'<span style="{edge(tone, 3)};padding:0 0.9em 0 0.35em;display:inline-block;color:{FOREGROUND}">{inner}</span>'
    )


def _code(text: str) -> str:
    return f'<span style="font-family:monospace;font-family:{CODE_FONT}">{escape(text)}</span>'


def _times(times: int) -> str:
    return f"{times} times"


def _with_counts(primitives: dict[str, int]) -> str:
    """Return primitives and their counts as text.

    >>> _with_counts({"sin": 1, "add": 3})
    'sin, add ×3'
    """
    return ", ".join(
        name if count == 1 else f"{name} \N{MULTIPLICATION SIGN}{count}" for name, count in primitives.items()
    )
