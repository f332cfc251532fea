"""See what JAX traces and how often."""

from jaxguide.tracing.programs import Output, Program, program
from jaxguide.tracing.traces import TraceCount, trace_counts

__all__ = ["Output", "Program", "TraceCount", "program", "trace_counts"]
