"""Show a function line by line as JAX traces it."""

import contextlib
import inspect
import io
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from types import CodeType
from typing import Any, NamedTuple

import jax

from jaxguide import compat
from jaxguide.base.render import Picture
from jaxguide.base.render.theme import CODE, CODE_FONT, FOREGROUND, edge, frame
from jaxguide.code.frames import is_own, is_users_code, package_name
from jaxguide.code.lines import Line, calling_line, frames_of_traceback, function_name
from jaxguide.compat.debug_flags import CHECKS, DISABLE_JIT, flags_off
from jaxguide.jaxpr.arguments import require_call
from jaxguide.jaxpr.interpret import inner_jaxprs
from jaxguide.jaxpr.stage import traced_leaves
from jaxguide.tracing.code_events import code_events
from jaxguide.tracing.fresh_trace import trace_anew, trace_until_error
from jaxguide.tracing.function_source import FunctionSource, read_source
from jaxguide.tracing.functions import is_jitted, written_function
from jaxguide.tracing.line_record import Recorder
from jaxguide.tracing.line_rows import LineRow, make_rows, primitives_by_statement


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
    Python 3.11, where the trace function of a debugger or of coverage is suspended meanwhile). A line's primitives come
    from the equations of the jaxpr (`jax.make_jaxpr`, or `jax.jit(f).trace` for a jitted `f`) and their source lines.
    Shows what "How to think in JAX" shows with `print`: `x` is traced, `x.shape` is not.

    Args:
        fn: a function written in a file or a notebook cell. It may be a method, jitted, decorated or transformed: for
            `jax.vmap(f)` and `jax.grad(f)`, the lines of `f` are shown with the types that they see. If a library
            wrote `fn`, such as `network.apply`, it is called once more, to find your function that made most of the
            program or that raised, and to show that; if there is none, its own lines are shown.
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
    code, source = _code_to_show(fn, args, kwargs)
    recorder = Recorder(source, code)
    with code_events(recorder.codes, recorder.heard):
        jaxpr, error = _trace(fn, args, kwargs)
    traced_arguments = recorder.traced_arguments
    if traced_arguments is None and error is not None:
        raise error
    if jaxpr is None:
        jaxpr = _again(fn, args, kwargs, traced_arguments or {})
    message, line = None, None
    if traced_arguments is None:
        message = "This call did not run the function's code."
    elif error is not None:
        message = _one_line(error)
        codes = {id(one) for one in recorder.codes}
        reached = [line.number for frame, line in frames_of_traceback(error.__traceback__) if id(frame.f_code) in codes]
        line = reached[-1] if reached else None
    head = None
    called = written_function(fn)
    if called is not None and called.__code__ is not code:
        head = "`{function}` of {package} calls this function; you called it in {line}.".format(
            function=called.__qualname__.rpartition("<locals>.")[2],
            package=package_name(called.__code__.co_filename),
            line=calling_line(),
        )
    primitives = primitives_by_statement(jaxpr, recorder)
    rows = make_rows(recorder, primitives, (line, message) if line and message else None)
    elsewhere = primitives.get(None, {})
    feet = [f"Outside these lines: {_with_counts(elsewhere)}."] if elsewhere else []
    feet += [f"✗ {message}"] if message and line is None else []
    name = code.co_qualname.rpartition("<locals>.")[2]
    title = f"{name}({', '.join(_parameters(code))}) · {Line(source.file, source.start)}"
    text, html = view_text(title, head, rows, feet), view_html(title, head, rows, feet)
    return LineByLine(text, html, rows=rows, elsewhere=elsewhere, error=message)


def _code_to_show(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[CodeType, FunctionSource]:
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
    codes = [function.__code__]
    if not is_users_code(function.__code__):
        with contextlib.redirect_stdout(io.StringIO()):
            jaxpr, error = _trace(fn, args, kwargs)
        reached = [] if error is None else [frame.f_code for frame, _line in frames_of_traceback(error.__traceback__)]
        made = [] if jaxpr is None else [code for code, _count in Counter(_users_codes(jaxpr, None)).most_common()]
        codes = [*reached[:1], *made, *codes]
    for code in codes:
        source = read_source(code)
        if source is not None:
            return code, source
    raise ValueError(
        f"`show_lines` cannot read the source of `{function_name(function)}`: write the function in a file or a "
        "notebook cell (a lambda on a line of its own) rather than with `exec` or `eval`, and import or run it again "
        "if it has changed since."
    )


def _users_codes(jaxpr: Any, around: CodeType | None) -> Iterator[CodeType]:
    """Yield for each equation the user's outermost code that led to it."""
    for eqn in compat.jaxpr_parts(jaxpr)[0].eqns:
        code = around
        for inside, _instruction in compat.traceback_frames(eqn.source_info) if around is None else ():
            if code is not None and is_own(inside.co_filename):  # further out is the user's call into this package
                break
            code = inside if is_users_code(inside) else code
        if code is not None:
            yield code
        for inner in inner_jaxprs(eqn):
            yield from _users_codes(inner, code)


def _trace(fn: Any, args: Any, kwargs: Any) -> tuple[Any, Exception | None]:
    """Return the jaxpr, if only up to an error unless `fn` is jitted, and the error."""
    try:
        if is_jitted(fn):
            return trace_anew(fn, args, kwargs), None
        return trace_until_error(fn, args, kwargs, traced_leaves(fn, args, kwargs), Exception)
    except Exception as error:
        return None, error


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


def _parameters(code: CodeType) -> list[str]:
    """Return the names of a function's parameters, marked as in its definition."""
    names = list(code.co_varnames)
    positional, keywords = code.co_argcount, code.co_kwonlyargcount
    rest = names[positional + keywords :]
    stars = [f"*{rest.pop(0)}"] if code.co_flags & inspect.CO_VARARGS else []
    both = [f"**{rest.pop(0)}"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    return [*names[:positional], *stars, *names[positional : positional + keywords], *both]


_WIDTH = 110
_CODE_WIDTH = 54
_WORD_WIDTH = 8
_GLYPHS = {"traced": "~", "static": "=", "mixed": "≈"}
_TONES = {"traced": "partly", "static": "good", "mixed": "partly"}


class _Note(NamedTuple):
    glyph: str
    word: str
    text: str
    name: str = ""
    tone: str = "quiet"


def _notes(row: LineRow) -> list[_Note]:
    """Return what is said beside a line, in text and in HTML."""
    notes = [_Note(_GLYPHS[one.kind], one.kind, one.text, one.name, _TONES[one.kind]) for one in row.names]
    if row.primitives:
        notes.append(_Note("+", "makes", _with_counts(row.primitives)))
    if row.times > 1:
        notes.append(_Note("", "ran", f"{row.times} times"))
    if row.error:
        notes.append(_Note("✗", "", row.error, tone="bad"))
    if row.state == "not run":
        notes.append(_Note("", "not run", ""))
    return notes


def view_text(title: str, head: str | None, rows: Sequence[LineRow], feet: Sequence[str]) -> str:
    """Return the picture as text of at most 110 columns, or more if a source line is longer."""
    code_width = min(max(len(line) for row in rows for line in row.source), _CODE_WIDTH)
    digits = len(str(rows[-1].number + len(rows[-1].source) - 1))
    lines = [title, *(textwrap.wrap(head, _WIDTH) if head else []), ""]
    for row in rows:
        notes = _notes_text(row, max(_WIDTH - digits - code_width - 6, 40))
        for i, source in enumerate(row.source):
            numbered = f"{row.number + i:>{digits}}  {source}"
            beside = notes.pop(0) if notes and len(source) <= code_width else ""
            lines.append(f"{numbered:<{digits + 2 + code_width}}  | {beside}" if beside else numbered.rstrip())
        lines += [f"{'':<{digits + 2 + code_width}}  | {note}" for note in notes]
    for foot in feet:
        lines += ["", *textwrap.wrap(foot, _WIDTH)]
    return "\n".join(lines)


def _notes_text(row: LineRow, width: int) -> list[str]:
    longest = max((len(name.name) + 2 for name in row.names), default=0)
    lines = []
    for note in _notes(row):
        indent = longest if note.name else 0
        text = f"{note.word or note.glyph:<{_WORD_WIDTH}}{note.name:<{indent}}{note.text}"
        hanging = " " * (_WORD_WIDTH + indent)
        lines += textwrap.wrap(text, width, subsequent_indent=hanging, break_on_hyphens=False)
    return lines


def view_html(title: str, head: str | None, rows: Sequence[LineRow], feet: Sequence[str]) -> str:
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


def _item(row: LineRow) -> str:
    source = "".join(_source_line(f"{row.number + i:>4}  ", line) for i, line in enumerate(row.source))
    labels = " ".join(map(_label, _notes(row)))
    notes = f'<div style="margin:0 0 0.35em 4.5em;font-size:90%">{labels}</div>' if labels else ""
    return f'<li style="margin:0;padding:0">{source}{notes}</li>'


def _source_line(number: str, line: str) -> str:
    """Return one line of code; if it is too long for the page, what follows is indented more than its beginning."""
    indent_em = 0.6 * (len(number) + len(line) - len(line.lstrip()) + 4)
    style = f"{CODE};padding-left:{indent_em:.1f}em;text-indent:-{indent_em:.1f}em"
    return f'<pre style="{style}">{escape(number + line)}</pre>'


def _label(note: _Note) -> str:
    text = f"{note.name}: {note.text}" if note.name else note.text
    words = " ".join(filter(None, (note.glyph, note.word, _code(text) if note.glyph and note.word else escape(text))))
    style = f"{edge(note.tone, 3)};padding:0 0.9em 0 0.35em;display:inline-block;color:{FOREGROUND}"
    return f'<span style="{style}">{words}</span>'


def _code(text: str) -> str:
    return f'<span style="font-family:monospace;font-family:{CODE_FONT}">{escape(text)}</span>'


def _with_counts(primitives: dict[str, int]) -> str:
    """Return primitives and their counts as text.

    >>> _with_counts({"sin": 1, "add": 3})
    'sin, add ×3'
    """
    return ", ".join(
        name if count == 1 else f"{name} \N{MULTIPLICATION SIGN}{count}" for name, count in primitives.items()
    )
