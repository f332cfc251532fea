"""Keep all code that depends on the JAX version, with the version from which it can go."""

import contextlib
import functools
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

# jaxlib versions whose CPU compiler fails on a reduction of 4096 or more elements that feeds an unordered callback.
# Can go when none of them is supported.
_PRINT_FLAG_VERSIONS = frozenset({"0.10.2", "0.11.2", "0.12.0", "0.12.0.1"})
_PRINT_FLAG = "--xla_cpu_experimental_ynn_fusion_type=-reduce"


def print_flag(jaxlib_version: str) -> str | None:
    """Return the XLA flag that lets `jax.debug.print` compile on CPU with this jaxlib; None if it needs none.

    >>> print_flag("0.12.0.1")
    '--xla_cpu_experimental_ynn_fusion_type=-reduce'
    >>> print_flag("0.10.1") is None
    True
    """
    return _PRINT_FLAG if jaxlib_version in _PRINT_FLAG_VERSIONS else None


def set_print_flag() -> None:
    """Add the flag of `print_flag` to `XLA_FLAGS` for the installed jaxlib; call it before JAX starts.

    Existing flags are kept, including another value of this one.
    """
    import importlib.metadata

    try:
        flag = print_flag(importlib.metadata.version("jaxlib"))
    except importlib.metadata.PackageNotFoundError:
        return
    present = os.environ.get("XLA_FLAGS", "")
    if flag is None or flag.split("=")[0] in {part.split("=")[0] for part in present.split()}:
        return
    os.environ["XLA_FLAGS"] = f"{present} {flag}".strip()


# With XLA's own caches, which are for GPUs, the cache folder's path is in the cache key of a program (0.10.2; not in
# 0.12.0.1), so programs cached in one folder would not be found in another.
CACHE_KEY_WITHOUT_FOLDER = {"jax_persistent_cache_enable_xla_caches": "none"}


def backend_started() -> bool:
    """Return whether JAX has started a backend and its threads, without starting one.

    JAX has no public function for this (0.10.2 to 0.12.0.1); those in `jax.extend.backend` start the backend.
    """
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


def cpu_device_count() -> int:
    """Return how many CPU devices JAX has; 0 if it does not use the CPU. This starts the backend."""
    import jax

    try:
        return len(jax.local_devices(backend="cpu"))
    except RuntimeError:
        return 0


def has_option(variable: str) -> bool:
    """Return whether an environment variable sets an option of JAX that can still be set after JAX was imported."""
    import jax

    values: Any = jax.config.values
    return variable.startswith("JAX_") and variable.lower() in values


def set_option(variable: str, text: str) -> None:
    """Set the option of JAX that an environment variable sets when JAX is imported; do nothing for other variables.

    Raises:
        ValueError: the option has no such value.
    """
    import jax

    if not has_option(variable):
        return
    config: Any = jax.config  # its fields are defined at run time
    before = config.values[variable.lower()]
    value: Any = text
    if isinstance(before, bool):
        words = {"y", "yes", "t", "true", "on", "1"}, {"n", "no", "f", "false", "off", "0"}
        if text.lower() not in words[0] | words[1]:
            raise ValueError(f"{text!r} is neither true nor false")
        value = text.lower() in words[0]
    elif isinstance(before, int | float):
        value = type(before)(text)
    config.update(variable.lower(), value)


def why_not_fork() -> str:
    """Return why a fork of this process would hang, or '' if it would not."""
    if backend_started():
        return "JAX's backend has started"
    try:
        threads = len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return "its threads cannot be counted on this system"
    return f"it has {threads} threads" if threads != 1 else ""


def keep_lowering_context() -> None:
    """Make one MLIR context now, and lower all programs of this thread and its forks in it.

    JAX makes a new context for every tenth program, so that long-running processes free memory; in a process that ends
    soon, this takes a tenth of the time. Can go when JAX has a public setting or the cost is gone (0.12.0.1 has
    neither). In 0.10.2, which makes a context for each program, this does nothing.
    """
    from jax._src.interpreters import mlir

    kept: Any = getattr(mlir, "_thread_local_context", None)
    if hasattr(kept, "set_local"):
        kept.set_local((mlir.make_ir_context(), -(10**9)))  # the count of programs lowered in it; JAX renews it at ten


@contextlib.contextmanager
def documented_draws_setting() -> Iterator[None]:
    """Reproduce the random numbers of documents written before JAX 0.5 (`jax.threefry_partitionable(False)`).

    >>> import jax
    >>> with documented_draws_setting():
    ...     print(jax.random.normal(jax.random.key(42)))
    -0.18471177
    """
    import jax

    # The default before 0.5 was False. Can go when JAX drops the setting.
    with jax.threefry_partitionable(False):
        yield


def jaxpr_parts(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """Return the plain jaxpr and the constants of a `Jaxpr` or `ClosedJaxpr`.

    Up to 0.10, equation parameters hold a `ClosedJaxpr`; since 0.11, both names are one class. Can go at 0.11.
    """
    return getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ())


def is_dropped(variable: Any) -> bool:
    """Return whether a variable of a jaxpr is printed as `_`, because nothing uses it (0.10.2 to 0.12.0.1)."""
    return type(variable).__name__ == "DropVar"


# Classes in `jax._src.state.types` (0.10.2 to 0.12.0.1).
_REF_EFFECTS = frozenset({"ReadEffect", "WriteEffect", "AccumEffect"})


def touches_refs(eqn: Any) -> bool:
    """Return whether an equation reads or writes a `jax.Ref`, which must happen in program order."""
    return any(type(effect).__name__ in _REF_EFFECTS for effect in getattr(eqn, "effects", ()))


def host_function_of(callback: Any) -> Any:
    """Return the Python function behind the `callback` parameter of an equation, or the parameter if none is found.

    `pure_callback` and `io_callback` keep it in an attribute; `debug_callback` closes over it (0.10.2 to 0.12.0.1).
    """
    closed_over = (cell.cell_contents for cell in getattr(callback, "__closure__", None) or ())
    return getattr(callback, "callback_func", None) or next((one for one in closed_over if callable(one)), callback)


def key_array_data(keys: Any) -> Any:
    """Return the words of an array of typed keys, which must be no tracer.

    `jax.random.key_data` is an operation, which takes ten times as long; the attribute has no public name (0.10.2 to
    0.12.0.1).

    >>> import jax
    >>> key_array_data(jax.random.key(7)).tolist()
    [0, 7]
    """
    import jax

    held = getattr(keys, "_base_array", None)
    return jax.random.key_data(keys) if held is None else held


def traceback_frames(source_info: Any) -> list[tuple[CodeType, int]]:
    """Return the (code, instruction) pairs of an equation's traceback, innermost first; empty if JAX has none.

    `jax.extend.source_info_util.summarize` gives only the line; `raw_frames` is a method of the public object.
    """
    traceback = getattr(source_info, "traceback", None)
    if traceback is None or not hasattr(traceback, "raw_frames"):
        return []
    codes, instructions = traceback.raw_frames()
    return list(zip(codes, instructions, strict=True))


def function_place(jaxpr: Any) -> tuple[str, int] | None:
    """Return the file and first line of the function that a jaxpr was traced from; None if JAX does not know them.

    >>> import jax
    >>> function_place(jax.make_jaxpr(lambda x: x + 1)(2.0))[1]
    1

    `debug_info` has no public name (0.10.2 to 0.12.0.1).
    """
    words = getattr(getattr(jaxpr_parts(jaxpr)[0], "debug_info", None), "func_src_info", None)
    found = re.fullmatch(r"\S+ at (.+):(\d+)", words or "")
    return (found[1], int(found[2])) if found else None


def frame_line(code: CodeType, instruction: int) -> int:
    """Return the source line of an instruction of `code`, both as in `traceback_frames`."""
    first = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            return number
    return first


def frame_span(code: CodeType, instruction: int) -> tuple[int, int, int, int] | None:
    """Return the first line, last line, first column and last column of an instruction of `code`; None if unknown.

    Columns count UTF-8 bytes, as in `ast`.
    """
    positions = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    first, last, start, end = positions
    return None if first is None or last is None or start is None or end is None else (first, last, start, end)


def transforms(source_info: Any) -> tuple[str, ...]:
    """Return the names of the transformations around an equation in its jaxpr, outermost first.

    >>> import jax
    >>> (equation,) = jax.make_jaxpr(jax.vmap(lambda x: x + 1))(jax.numpy.ones(2)).eqns
    >>> transforms(equation.source_info)
    ('vmap',)

    `name_stack` is a field of the public object, but its parts have no public names (0.10.2 to 0.12.0.1).
    """
    parts = getattr(getattr(source_info, "name_stack", None), "stack", ())
    return tuple(part.name for part in parts if type(part).__name__ == "Transform")


def under_trace() -> bool:
    """Return whether JAX is tracing or transforming a function.

    >>> import jax
    >>> under_trace()
    False
    >>> int(jax.jit(lambda x: x + under_trace())(1))
    2

    The trace of eager execution has no public name, and to take it takes ten times as long (0.10.2 to 0.12.0.1).
    """
    from jax._src import core

    return not core.trace_ctx.is_top_level()


def varying_axes(value: Any) -> frozenset[Any]:
    """Return the axes of the mesh along which a value differs between shards, as its type says in a `shard_map`.

    The type's attribute has no documented name (0.10.2 to 0.12.0.1); it was `vma` before.
    """
    import jax

    kind: Any = jax.typeof(value)
    return frozenset(kind.manual_axis_type.varying)


# Names of JAX's own functions in tracebacks (0.10.2 to 0.12.0.1).
VMAP_FRAME = "vmap_f"
VECTORIZE_FRAME = "wrapped"
JACFWD_FRAME = "jacfun"
API_FRAME = "reraise_with_filtered_traceback"


@functools.cache
def in_jax(code: CodeType) -> bool:
    """Return whether code belongs to JAX.

    >>> import jax
    >>> in_jax(jax.random.split.__code__), in_jax(in_jax.__wrapped__.__code__)
    (True, False)
    """
    import jax

    return code.co_filename.startswith(f"{os.path.dirname(jax.__file__)}{os.sep}")


def trace_state() -> tuple[Any, bool]:
    """Return a value that identifies the current trace, and whether the code is plain eager code, without a trace.

    Two identities are equal if a value made under one can be used under the other. Skipped are traces that only
    differentiate, because they leave other values alone, and this package's traces that only watch.
    """
    from jax.extend import core

    with core.take_current_trace() as trace:
        pass
    # Names of 0.10.2 to 0.12.0.1; JAX has no public name for either class.
    while type(trace).__name__ in ("JVPTrace", "LinearizeTrace") or getattr(trace, "only_watches", False):
        trace = trace.parent_trace
    with core.set_current_trace(trace):
        return core.get_opaque_trace_state(), type(trace).__name__ == "EvalTrace"


class TracedBy(NamedTuple):
    """The transformation that made a tracer, the traced function, and where it is defined; None for what is unknown."""

    transformation: str | None
    function: str | None = None
    file: str | None = None
    line: int | None = None


# Tracer class -> transformation. 0.12 is renaming the classes: its messages say GradTracer and VmapTracer.
_TRACERS = {
    "DynamicJaxprTracer": "jit",
    "JitTracer": "jit",
    "BatchTracer": "vmap",
    "VmapTracer": "vmap",
    "JVPTracer": "grad",
    "LinearizeTracer": "grad",
    "GradTracer": "grad",
}


def traced_by(tracer: Any) -> TracedBy:
    """Return which transformation made a tracer.

    There is no public name for this as of 0.12; JAX's own messages use `_trace.frame.debug_info`.

    >>> import jax
    >>> _ = jax.make_jaxpr(lambda x: print(traced_by(x).transformation))(1.0)
    jit
    """
    info = getattr(getattr(getattr(tracer, "_trace", None), "frame", None), "debug_info", None)
    found = re.fullmatch(r"(\S+) at (.+):(\d+)", getattr(info, "func_src_info", None) or "")
    if found is None:
        return TracedBy(_TRACERS.get(type(tracer).__name__))
    return TracedBy(getattr(info, "traced_for", None), found[1], found[2], int(found[3]))


def is_recording(tracer: Any, frame: FrameType | None) -> bool:
    """Return whether a frame, or one that called it, runs the trace of a tracer, which JAX keeps in a local name there.

    After an error, the trace itself says that it has ended (0.10.2 to 0.12.0.1).
    """
    while frame is not None:
        if any(value is tracer._trace for value in frame.f_locals.values()):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def float64(on: bool | None = True) -> Iterator[None]:
    """Turn 64-bit types on or off, including in the threads in which the JAX runtime calls host functions.

    With None, they stay as they are.

    Up to 0.10, `jax.enable_x64` affects only the calling thread, so host functions get float32. The process-wide
    setting, which is changed for them, can go at 0.11.

    >>> import jax.numpy as jnp
    >>> with float64():
    ...     print(jnp.float64(1.5).dtype)
    float64
    """
    if on is None:
        yield
        return
    import jax
    from jax._src import config

    widen = jax.__version_info__ < (0, 11)
    before = config.enable_x64.get_global()  # `jax.config` has this thread's
    if widen:
        jax.config.update("jax_enable_x64", on)
    try:
        with jax.enable_x64(on):
            yield
    finally:
        if widen:
            jax.config.update("jax_enable_x64", before)
