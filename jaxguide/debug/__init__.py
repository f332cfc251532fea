"""Capture prints, record values, and find the first NaN."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.debug.captured import capture
    from jaxguide.debug.guard import NonFiniteError, nan_guard
    from jaxguide.debug.nan_report import BadValue, NanReport
    from jaxguide.debug.nan_search import find_nan
    from jaxguide.debug.recordings import Recording, record, record_gradient, recording

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "BadValue": "nan_report",
    "NanReport": "nan_report",
    "NonFiniteError": "guard",
    "Recording": "recordings",
    "capture": "captured",
    "find_nan": "nan_search",
    "nan_guard": "guard",
    "record": "recordings",
    "record_gradient": "recordings",
    "recording": "recordings",
}
# Former public name -> what to use now.
_GONE = {
    "breakpoint_if_nonfinite": "`jaxguide.course.breakpoints.breakpoint_if_nonfinite`",
    "doctor": "the command `jaxguide doctor`",
    "scripted_breakpoints": "`jaxguide.course.breakpoints.scripted_breakpoints`",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES, _GONE)

__all__ = [
    "BadValue",
    "NanReport",
    "NonFiniteError",
    "Recording",
    "capture",
    "find_nan",
    "nan_guard",
    "record",
    "record_gradient",
    "recording",
]
