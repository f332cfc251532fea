"""Run a function without tracing it and show each operation to an observer.

For functions that need real values, such as a Python `if` on an array. Rests on `jax.core.Trace`, the public base class
of what receives operations, and on `jax.extend.core.set_current_trace`.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import jax
from jax.extend import core, source_info_util

from jaxguide import interpret


@dataclass(eq=False)
class Operation:
    """One operation, with the fields of a jaxpr's equation that an observer reads."""

    primitive: Any
    params: dict[str, Any]
    source_info: Any
    invars: tuple[Any, ...] = ()
    outvars: tuple[Any, ...] = ()
    ctx: Any = field(default_factory=lambda: SimpleNamespace(manager=contextlib.nullcontext()))


class _Empty:
    """Stands for the jaxpr of what was never traced."""

    eqns = ()


class ObservingTrace(jax.core.Trace):
    """Receive the operations of a function that runs, show them to the observer, then run them."""

    only_watches = True

    def __init__(self, parent: Any, observer: interpret.Observer) -> None:
        super().__init__()
        self.parent_trace = parent
        self.observer = observer
        self.scope = interpret.Scope(_Empty(), {})

    def stage_value(self, val: Any) -> Any:
        """Return a value as the trace below does."""
        return self.parent_trace.stage_value(val)

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: dict[str, Any], /) -> Any:
        """Run one operation; JAX calls this for each."""
        operation = Operation(primitive, params, source_info_util.current())
        with core.set_current_trace(self.parent_trace):
            if not self.observer.watches(operation):
                if primitive.name.startswith("debug_"):
                    return []
                return primitive.bind(*tracers, **params)
            step = interpret.Step(operation, list(tracers), self.scope)
            outputs = self.observer.before(step)
            if outputs is None and self.observer.enters(step) and interpret.inner_jaxprs(operation):
                closed = jax.make_jaxpr(lambda *args: primitive.bind(*args, **params))(*tracers)
                outputs = interpret.run(closed, tracers, self.observer, step)
            if outputs is None:
                result = primitive.bind(*tracers, **params)
                outputs = result if primitive.multiple_results else [result]
            self.observer.after(step, outputs)
            return outputs if primitive.multiple_results else outputs[0]

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], /, **_: Any) -> Any:
        """Run the function of a custom JVP rule; nothing is differentiated here."""
        with core.set_current_trace(self):
            return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Sequence[Any], /, **_: Any
    ) -> Any:
        """Run the function of a custom VJP rule; nothing is differentiated here."""
        with core.set_current_trace(self):
            return fun.call_wrapped(*tracers)


def run_eagerly(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], observer: interpret.Observer
) -> Any:
    """Call `fn` on real values, show each operation to `observer`, and return the result.

    Containers among the arguments are copied first, as tracing does: what `fn` changes in place stays its own.

    Raises:
        Exception: whatever `fn` raises.
    """
    with contextlib.suppress(Exception):  # a container that is no pytree for JAX, such as a dict with unlike keys
        args, kwargs = jax.tree.map(lambda leaf: leaf, (tuple(args), dict(kwargs)))
    with core.take_current_trace() as current:
        trace = ObservingTrace(current, observer)
        with core.set_current_trace(trace):
            return fn(*args, **kwargs)
