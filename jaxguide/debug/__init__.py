"""See what ran: printed lines, recorded values, scripted breakpoints, the first NaN, trouble of the installation."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxguide.debug.breakpoints import Transcript, scripted_breakpoints
    from jaxguide.debug.captured import capture
    from jaxguide.debug.diagnosis import Diagnosis, Trouble, doctor
    from jaxguide.debug.nan_report import BadValue, NanReport
    from jaxguide.debug.nans import find_nan
    from jaxguide.debug.nonfinite import breakpoint_if_nonfinite
    from jaxguide.debug.recordings import Recording, record, record_gradient, recording

# Public name -> module that defines it, imported when a name is touched: the search for NaN needs much that the rest
# does not. No module may have the name of a function, which it would hide.
_HOMES = {
    "BadValue": "nan_report",
    "Diagnosis": "diagnosis",
    "NanReport": "nan_report",
    "Recording": "recordings",
    "Transcript": "breakpoints",
    "Trouble": "diagnosis",
    "breakpoint_if_nonfinite": "nonfinite",
    "capture": "captured",
    "doctor": "diagnosis",
    "find_nan": "nans",
    "record": "recordings",
    "record_gradient": "recordings",
    "recording": "recordings",
    "scripted_breakpoints": "breakpoints",
}

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


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'jaxguide.debug' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"jaxguide.debug.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
