"""Capture prints, record values, script breakpoints, and find the first NaN."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.debug.breakpoints import Transcript, scripted_breakpoints
    from jaxguide.debug.captured import capture
    from jaxguide.debug.guard import NonFiniteError, nan_guard
    from jaxguide.debug.nan_report import BadValue, NanReport
    from jaxguide.debug.nan_search import find_nan
    from jaxguide.debug.nonfinite import breakpoint_if_nonfinite
    from jaxguide.debug.recordings import Recording, record, record_gradient, recording

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "BadValue": "nan_report",
    "NanReport": "nan_report",
    "NonFiniteError": "guard",
    "Recording": "recordings",
    "Transcript": "breakpoints",
    "breakpoint_if_nonfinite": "nonfinite",
    "capture": "captured",
    "find_nan": "nan_search",
    "nan_guard": "guard",
    "record": "recordings",
    "record_gradient": "recordings",
    "recording": "recordings",
    "scripted_breakpoints": "breakpoints",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES, gone={"doctor": "the command `jaxguide doctor`"})

__all__ = [
    "BadValue",
    "NanReport",
    "NonFiniteError",
    "Recording",
    "Transcript",
    "breakpoint_if_nonfinite",
    "capture",
    "find_nan",
    "nan_guard",
    "record",
    "record_gradient",
    "recording",
    "scripted_breakpoints",
]
