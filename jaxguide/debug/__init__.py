"""See what ran: printed lines, recorded values, scripted breakpoints, the first NaN, trouble of the installation."""

from jaxguide.debug.breakpoints import Transcript, scripted_breakpoints
from jaxguide.debug.captured import capture
from jaxguide.debug.diagnosis import Diagnosis, Trouble, doctor
from jaxguide.debug.nan_report import BadValue, NanReport
from jaxguide.debug.nans import find_nan
from jaxguide.debug.nonfinite import breakpoint_if_nonfinite
from jaxguide.debug.recordings import Recording, record, record_gradient, recording

__all__ = [
    "BadValue",
    "Diagnosis",
    "NanReport",
    "Recording",
    "Transcript",
    "Trouble",
    "breakpoint_if_nonfinite",
    "capture",
    "doctor",
    "find_nan",
    "record",
    "record_gradient",
    "recording",
    "scripted_breakpoints",
]
