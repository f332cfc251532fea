"""Keep former public names of helpers for the notebooks that import them, which were printed when helpers had them."""

from collections.abc import Callable
from typing import Any

from jaxguide.base import lazy

# Former name -> the module and name that give it now.
_NAMES: dict[str, tuple[str, str]] = {
    "jaxguide.debug.breakpoint_if_nonfinite": ("jaxguide.course.breakpoints", "breakpoint_if_nonfinite"),
    "jaxguide.debug.scripted_breakpoints": ("jaxguide.course.breakpoints", "scripted_breakpoints"),
    "jaxguide.tracing.draw_program": ("jaxguide.tracing.programs", "program"),
    "jaxguide.keys.key_tree": ("jaxguide.course.printed_names", "key_tree"),
    "jaxguide.keys.key_use": ("jaxguide.course.judging.evaluate", "key_use"),
}


def keep_printed_names() -> None:
    """Let imports of former names work in this process, in which a lesson is checked or a submission is graded."""
    lazy.printed_names.update(_NAMES)


def key_tree(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return the picture of a call's keys."""
    from jaxguide.keys import check_keys

    return check_keys(fn, *args, **kwargs).tree
