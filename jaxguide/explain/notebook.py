"""Show an explanation with the traceback of a failed cell, and add `%jaxguide`, in IPython and notebooks."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from jaxguide import compat
from jaxguide.base.clean import clean

_Explains = Callable[[BaseException], Any]
# The last error that IPython showed before the cell ran: `%%time` and `%run` show a traceback but report no error.
_shown_before: BaseException | None = None
# The last error whose explanation came first, which it does for all that are known in a lesson.
_explained_first: BaseException | None = None
_ANY = (Exception,)
# What a lesson asks first about an error: it returns something to display, or None.
_also: _Explains | None = None


def load_ipython_extension(ipython: Any) -> None:
    """Show a card below the traceback of each known JAX error; called by `%load_ext jaxguide`.

    Adds the magic `%jaxguide`: `%jaxguide trace f(x)`, `%jaxguide keys f(key)` and `%jaxguide program f(x)`.

    Tracebacks are not changed, and unknown errors get no card. If JAX has not run anything yet, this also sets a flag
    that works around a known problem of the installed jaxlib: see the command `jaxguide doctor`.

    Args:
        ipython: the shell, as `get_ipython()` returns it.
    """
    compat.set_print_flag()
    _before()  # the cell that loads this will run `_after`, but did not run `_before`
    # IPython registers a function only once.
    ipython.events.register("pre_run_cell", _before)
    ipython.events.register("post_run_cell", _after)
    from jaxguide.explain import magics  # needs IPython, which scripts may not have

    magics.register(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Stop showing cards and remove `%jaxguide`; called by `%unload_ext jaxguide`."""
    from jaxguide.explain import magics

    magics.unregister(ipython)
    for event, function in (("pre_run_cell", _before), ("post_run_cell", _after)):
        if function in ipython.events.callbacks[event]:
            ipython.events.unregister(event, function)
    if ipython.custom_exceptions is _ANY:
        ipython.set_custom_exc((), None)


def explain_in_notebook(also: _Explains | None = None) -> None:
    """Turn on the magic and the cards, which come before tracebacks here; do nothing outside of IPython.

    Args:
        also: asked first about an error: it returns something to display, or None.
    """
    global _also
    _also = also
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        load_ipython_extension(shell)
        if not shell.custom_exceptions:  # of another extension
            shell.set_custom_exc(_ANY, _explain_first)


def _before(info: Any = None) -> None:
    global _shown_before
    _shown_before = getattr(sys, "last_value", None)


def _after(result: Any) -> None:
    # The traceback is already on the screen, and an error in this function must not add to it.
    try:
        error = result.error_in_exec
        if error is None:
            last = getattr(sys, "last_value", None)
            error = last if last is not _shown_before else None
        if error is None or error is _explained_first:
            return
        explanation = _explanation(error)
        if explanation is not None:
            from IPython.display import display

            display(explanation)
    except Exception:
        return


def _explanation(error: BaseException) -> Any:
    """Return what explains an error, to display it, or None."""
    found = _also(error) if _also is not None else None
    if found is not None or "jax" not in sys.modules:
        return found
    from jaxguide.explain.explaining import explain

    return explain(error)


def _explain_first(
    shell: Any, kind: type[BaseException], error: BaseException, traceback: TracebackType, tb_offset: int | None = None
) -> None:
    """Show an error of a cell as IPython does, but before it the explanation, with the traceback folded."""
    global _explained_first
    shown = (kind, error, traceback)
    try:
        explanation = _explanation(error)
        if explanation is not None:
            _display_first(shell, explanation, shown, tb_offset)
            _explained_first = error
    except Exception:  # it must not hide the error of the student's code
        pass
    shell.showtraceback(shown, tb_offset=tb_offset)
    vars(error).pop("_render_traceback_", None)  # for `%tb`


def _display_first(shell: Any, explanation: Any, shown: tuple[Any, Any, Any], tb_offset: int | None) -> None:
    from IPython.display import display

    from jaxguide.base.render.card import Code, Folded
    from jaxguide.base.render.card_html import part_html

    if not hasattr(shell, "kernel"):  # a terminal cannot fold it
        display(explanation)
        return
    lines = shell.InteractiveTB.structured_traceback(*shown, tb_offset=tb_offset)
    whole = clean(shell.InteractiveTB.stb2text(lines), 100_000)
    folded = part_html(Folded("Python's traceback", (Code(whole),)))
    text = f"{explanation.text()}\n  `%tb` shows the traceback."
    display({"text/plain": text, "text/html": explanation.html() + folded}, raw=True)
    kind, error, _traceback = shown
    first = clean(str(error), 600).partition("\n")[0]
    error._render_traceback_ = lambda: [f"\x1b[31m{kind.__name__}\x1b[39m: {first}"]  # as IPython asks exceptions
