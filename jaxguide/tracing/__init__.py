"""See what JAX traces and how often."""

from typing import TYPE_CHECKING

from jaxguide.base.lazy import names_on_demand

if TYPE_CHECKING:
    from jaxguide.tracing.effects import SideEffect, SideEffects, side_effects
    from jaxguide.tracing.line_by_line import LineByLine, show_lines
    from jaxguide.tracing.programs import Constant, Output, Program, program
    from jaxguide.tracing.retraces import FunctionTraces, Retrace, Traces, watch_traces
    from jaxguide.tracing.trace_limit import TooManyTracesError, max_traces

# Public name -> module that defines it: using one helper imports only what it needs.
_HOMES = {
    "Constant": "programs",
    "FunctionTraces": "retraces",
    "LineByLine": "line_by_line",
    "Output": "programs",
    "Program": "programs",
    "Retrace": "retraces",
    "SideEffect": "effects",
    "SideEffects": "effects",
    "TooManyTracesError": "trace_limit",
    "Traces": "retraces",
    "max_traces": "trace_limit",
    "program": "programs",
    "show_lines": "line_by_line",
    "side_effects": "effects",
    "watch_traces": "retraces",
}
# Former public name -> what to use now.
_GONE = {
    "assert_avoids": '`assert "scan" not in program(f, *args).primitives`',
    "assert_max_equations": "`assert program(f, *args).equations <= 10`",
    "assert_uses": '`assert "scan" in program(f, *args).primitives`',
    "draw_program": "`program(f, *args)`, which draws itself",
    "trace_counts": "`with watch_traces() as traces:` and `traces.traces`",
}
__getattr__, __dir__ = names_on_demand(__name__, _HOMES, _GONE)

__all__ = [
    "Constant",
    "FunctionTraces",
    "LineByLine",
    "Output",
    "Program",
    "Retrace",
    "SideEffect",
    "SideEffects",
    "TooManyTracesError",
    "Traces",
    "max_traces",
    "program",
    "show_lines",
    "side_effects",
    "watch_traces",
]
