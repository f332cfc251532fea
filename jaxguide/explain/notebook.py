"""Put an explanation under the traceback of a cell that failed, and add `%jaxguide`, in IPython and in notebooks."""

import sys
from typing import Any

from jaxguide import compat

# What IPython had shown last before the cell ran: `%%time` and `%run` show a traceback and report no error.
_shown_before: BaseException | None = None


def load_ipython_extension(ipython: Any) -> None:
    """Show a card under the traceback of each JAX error that is known; called by `%load_ext jaxguide`.

    Adds the magic `%jaxguide`: `%jaxguide trace f(x)`, `%jaxguide keys f(key)` and `%jaxguide program f(x)`.

    Tracebacks stay as they are, and errors that are not known get no card. Known trouble of the installed jaxlib that a
    flag cures is cured, if JAX has run nothing yet: see `jaxguide.debug.doctor`.

    Args:
        ipython: the shell, as `get_ipython()` returns it.
    """
    compat.set_print_flag()
    _before()  # the cell that loads this ends with `_after`, and began without `_before`
    # IPython registers one function once, however often it is asked.
    ipython.events.register("pre_run_cell", _before)
    ipython.events.register("post_run_cell", _after)
    from jaxguide.explain import magics  # needs IPython, which scripts do without

    magics.register(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Show no more cards and take `%jaxguide` away; called by `%unload_ext jaxguide`."""
    from jaxguide.explain import magics

    magics.unregister(ipython)
    for event, function in (("pre_run_cell", _before), ("post_run_cell", _after)):
        if function in ipython.events.callbacks[event]:
            ipython.events.unregister(event, function)


def explain_in_notebook() -> None:
    """Switch the cards and the magic on where IPython runs, and do nothing elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        load_ipython_extension(shell)


def _before(info: Any = None) -> None:
    global _shown_before
    _shown_before = getattr(sys, "last_value", None)


def _after(result: Any) -> None:
    # The traceback is on the screen by now. Whatever goes wrong here must add nothing to it.
    try:
        error = result.error_in_exec
        if error is None:
            last = getattr(sys, "last_value", None)
            error = last if last is not _shown_before else None
        if error is None or "jax" not in sys.modules:
            return
        from IPython.display import display

        from jaxguide.explain.explaining import explain

        explanation = explain(error)
        if explanation is not None:
            display(explanation)
    except Exception:
        return
