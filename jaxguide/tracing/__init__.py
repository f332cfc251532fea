"""See what JAX traces and how often."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.tracing.asserts import assert_avoids, assert_max_equations, assert_uses
    from jaxguide.tracing.draw import draw_program
    from jaxguide.tracing.effects import SideEffect, SideEffects, side_effects
    from jaxguide.tracing.limit import TooManyTracesError, max_traces
    from jaxguide.tracing.lines import LineByLine, show_lines
    from jaxguide.tracing.programs import Constant, LineUse, Output, Program, program
    from jaxguide.tracing.traces import TraceCount, trace_counts
    from jaxguide.tracing.watch import FunctionTraces, Retrace, Traces, watch_traces

# Public name -> module that defines it: using one helper imports only what it needs.
_HOMES = {
    "Constant": "programs",
    "FunctionTraces": "watch",
    "LineByLine": "lines",
    "LineUse": "programs",
    "Output": "programs",
    "Program": "programs",
    "Retrace": "watch",
    "SideEffect": "effects",
    "SideEffects": "effects",
    "TooManyTracesError": "limit",
    "TraceCount": "traces",
    "Traces": "watch",
    "assert_avoids": "asserts",
    "assert_max_equations": "asserts",
    "assert_uses": "asserts",
    "draw_program": "draw",
    "max_traces": "limit",
    "program": "programs",
    "show_lines": "lines",
    "side_effects": "effects",
    "trace_counts": "traces",
    "watch_traces": "watch",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES)

__all__ = [
    "Constant",
    "FunctionTraces",
    "LineByLine",
    "LineUse",
    "Output",
    "Program",
    "Retrace",
    "SideEffect",
    "SideEffects",
    "TooManyTracesError",
    "TraceCount",
    "Traces",
    "assert_avoids",
    "assert_max_equations",
    "assert_uses",
    "draw_program",
    "max_traces",
    "program",
    "show_lines",
    "side_effects",
    "trace_counts",
    "watch_traces",
]
