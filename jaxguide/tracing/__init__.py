"""See what JAX traces and how often."""

from jaxguide.tracing.limit import TooManyTracesError, max_traces
from jaxguide.tracing.lines import LineByLine, show_lines
from jaxguide.tracing.programs import Output, Program, program
from jaxguide.tracing.traces import TraceCount, trace_counts
from jaxguide.tracing.watch import FunctionTraces, Retrace, Traces, watch_traces

__all__ = [
    "FunctionTraces",
    "LineByLine",
    "Output",
    "Program",
    "Retrace",
    "TooManyTracesError",
    "TraceCount",
    "Traces",
    "max_traces",
    "program",
    "show_lines",
    "trace_counts",
    "watch_traces",
]
