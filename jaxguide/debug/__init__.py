"""Capture prints, record values, find the first NaN, and report problems of the installation."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.debug.captured import capture
    from jaxguide.debug.diagnosis import Diagnosis, Trouble, doctor
    from jaxguide.debug.nan_report import BadValue, NanReport
    from jaxguide.debug.nan_search import find_nan
    from jaxguide.debug.recordings import Recording, record, record_gradient, recording

# Public name -> module that defines it, so that each helper loads only what it needs.
_HOMES = {
    "BadValue": "nan_report",
    "Diagnosis": "diagnosis",
    "NanReport": "nan_report",
    "Recording": "recordings",
    "Trouble": "diagnosis",
    "capture": "captured",
    "doctor": "diagnosis",
    "find_nan": "nan_search",
    "record": "recordings",
    "record_gradient": "recordings",
    "recording": "recordings",
}
_GONE = {
    "breakpoint_if_nonfinite": "that of jaxguide.course.breakpoints",
    "scripted_breakpoints": "that of jaxguide.course.breakpoints",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES, _GONE)

__all__ = [
    "BadValue",
    "Diagnosis",
    "NanReport",
    "Recording",
    "Trouble",
    "capture",
    "doctor",
    "find_nan",
    "record",
    "record_gradient",
    "recording",
]
