"""Run a function without tracing it and show each operation to an observer.

It is for functions that need concrete values, such as a Python `if` on an array. Based on `jax.core.Trace`, the public
base class of traces, and on `jax.extend.core.set_current_trace`.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import jax

from jaxguide import compat
from jaxguide.jaxpr import interpret


@dataclass(eq=False)
class EagerOperation:
    """An operation, with those fields of a jaxpr equation that observers read."""

    primitive: Any
    params: dict[str, Any]
    source_info: Any
    invars: tuple[Any, ...] = ()
    outvars: tuple[Any, ...] = ()
    ctx: Any = field(default_factory=lambda: SimpleNamespace(manager=contextlib.nullcontext()))


@dataclass(eq=False)
class EagerVariable:
    """A placeholder for the jaxpr variable of a computed value."""

    aval: Any


class EagerJaxpr:
    """A placeholder for the jaxpr of a function that is not traced: under `vmap`, which operation made which value."""

    eqns = ()

    def __init__(self) -> None:
        self.makers: dict[Any, EagerOperation] = {}


class ObservingTrace(jax.core.Trace):
    """A trace that shows each operation of a running function to an observer, then runs it."""

    only_watches = True

    def __init__(self, parent: Any, observer: interpret.Observer) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parent_trace = parent
        self.observer = observer
        self.recorded = EagerJaxpr()
        self.scope = interpret.Scope(self.recorded, {})
        self._variables: dict[int, EagerVariable] = {}

    def stage_value(self, val: Any) -> Any:
        """Return a value as the parent trace does."""
        return self.parent_trace.stage_value(val)

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: dict[str, Any], /) -> Any:
        """Run one operation; JAX calls this for each."""
        from jax.extend import core, source_info_util

        operation = EagerOperation(primitive, params, source_info_util.current())
        # How operations depend on each other shows which row takes which branch of a batched cond.
        mapped = "vmap" in compat.transforms(operation.source_info)
        if mapped:
            operation.invars = tuple(map(self._atom, tracers))
        with core.set_current_trace(self.parent_trace):
            outputs = self._outputs(operation, primitive, tracers, params)
        if mapped:
            self._record(operation, outputs)
        return outputs if primitive.multiple_results else outputs[0]

    def _outputs(
        self, operation: EagerOperation, primitive: Any, tracers: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        step = interpret.BoundEquation(operation, list(tracers), self.scope)
        watched = self.observer.watches(operation)
        if not watched and primitive.name.startswith("debug_"):
            return []
        outputs = self.observer.before(step) if watched else None
        if outputs is None and watched and self.observer.enters(step) and interpret.inner_jaxprs(operation):
            closed = jax.make_jaxpr(lambda *args: primitive.bind(*args, **params))(*tracers)
            outputs = interpret.run(closed, tracers, self.observer, step)
        if outputs is None:
            result = primitive.bind(*tracers, **params)
            outputs = result if primitive.multiple_results else [result]
        if watched:
            self.observer.after(step, outputs)
        return outputs

    def _atom(self, value: Any) -> Any:
        if not isinstance(value, jax.Array):
            return SimpleNamespace(val=value)  # like a literal
        if id(value) not in self._variables:
            variable = self._variables[id(value)] = EagerVariable(jax.typeof(value))
            self.scope.env[variable] = value  # kept alive so that its id stays unique
        return self._variables[id(value)]

    def _record(self, operation: EagerOperation, outputs: Sequence[Any]) -> None:
        for value in outputs:
            variable = self._atom(value)
            if isinstance(variable, EagerVariable) and variable not in operation.invars:
                self.recorded.makers[variable] = operation

    def process_shard_map(self, primitive: Any, fun: Any, tracers: Sequence[Any], /, **params: Any) -> Any:
        """Stage a `shard_map` that is not jitted, and run it."""
        from jax.extend import core, source_info_util

        results = []

        def staged(*values: Any) -> list[Any]:
            with core.take_current_trace() as trace:
                pass
            results.append(trace.process_shard_map(primitive, fun, values, **params))
            return list(results[-1])

        step = interpret.BoundEquation(
            EagerOperation(primitive, {}, source_info_util.current()), list(tracers), self.scope
        )
        with core.set_current_trace(self.parent_trace):
            closed = jax.make_jaxpr(staged)(*tracers)
            outputs = interpret.run(closed, tracers, self.observer, step)
        return results[-1].update(outputs)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, *rules: Any, **_: Any) -> Any:
        """Run the function of a custom rule on the last of `rules`, its arguments: nothing is differentiated here."""
        from jax.extend import core

        with core.set_current_trace(self):
            return fun.call_wrapped(*rules[-1])

    process_custom_vjp_call = process_custom_jvp_call


def run_eagerly(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], observer: interpret.Observer
) -> Any:
    """Call `fn` on real values, show each operation to `observer`, and return the result.

    Containers among the arguments are copied first, as in tracing, so the caller's are safe from in-place changes.

    Raises:
        Exception: whatever `fn` raises.
    """
    with contextlib.suppress(Exception):  # JAX cannot flatten a container, such as a dict whose keys cannot be sorted
        args, kwargs = jax.tree.map(lambda leaf: leaf, (tuple(args), dict(kwargs)))
    from jax.extend import core  # importing it takes 20 to 27 ms (JAX 0.10.2 to 0.12.0.1)

    with core.take_current_trace() as current:
        trace = ObservingTrace(current, observer)
        with core.set_current_trace(trace):
            return fn(*args, **kwargs)
