"""Show an explanation below the traceback of a failed cell, and add `%jaxguide`, in IPython and notebooks."""

import sys
from collections.abc import Callable
from typing import Any

from jaxguide import compat

_Explains = Callable[[BaseException], Any]
# The last error that IPython showed before the cell ran: `%%time` and `%run` show a traceback but report no error.
_shown_before: BaseException | None = None
# What a lesson asks first about an error: it returns something to display, or None.
_also: _Explains | None = None


def load_ipython_extension(ipython: Any) -> None:
    """Show a card below the traceback of each known JAX error; called by `%load_ext jaxguide`.

    Adds the magic `%jaxguide`: `%jaxguide trace f(x)`, `%jaxguide keys f(key)` and `%jaxguide program f(x)`.

    Tracebacks are not changed, and unknown errors get no card. If JAX has not run anything yet, this also sets a flag
    that works around a known problem of the installed jaxlib: see `jaxguide.debug.doctor`.

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


def explain_in_notebook(also: _Explains | None = None) -> None:
    """Turn on the cards and the magic in IPython; do nothing elsewhere.

    Args:
        also: asked first about an error: it returns something to display, or None.
    """
    global _also
    _also = also
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        load_ipython_extension(shell)


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
        if error is None or "jax" not in sys.modules:
            return
        from IPython.display import display

        from jaxguide.explain.explaining import explain

        explanation = (_also(error) if _also is not None else None) or explain(error)
        if explanation is not None:
            display(explanation)
    except Exception:
        return
