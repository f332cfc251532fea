"""See what JAX traces and how often."""

from jaxguide.tracing.asserts import assert_avoids, assert_max_equations, assert_uses
from jaxguide.tracing.draw import draw_program
from jaxguide.tracing.effects import SideEffect, SideEffects, side_effects
from jaxguide.tracing.limit import TooManyTracesError, max_traces
from jaxguide.tracing.lines import LineByLine, show_lines
from jaxguide.tracing.programs import Constant, LineUse, Output, Program, program
from jaxguide.tracing.traces import TraceCount, trace_counts
from jaxguide.tracing.watch import FunctionTraces, Retrace, Traces, watch_traces

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
