"""Test every public helper under each debugging flag of JAX: it gives the same answer, or refuses in one sentence."""

import contextlib
import functools
import importlib
import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxguide.callbacks import HostFunctionError, callback_timeline, host_function, io_function
from jaxguide.debug import capture, find_nan, nan_guard, record, record_gradient, recording
from jaxguide.explain import explain
from jaxguide.explain.notebook import load_ipython_extension, unload_ipython_extension
from jaxguide.keys import (
    KeyReuseError,
    KeyStream,
    KeyStreamError,
    check_keys,
    documented_draws,
    no_key_reuse,
)
from jaxguide.tracing import (
    TooManyTracesError,
    max_traces,
    program,
    show_lines,
    side_effects,
    watch_traces,
)

FLAGS: dict[str, Callable[[], Any]] = {
    "jax_debug_nans": lambda: jax.debug_nans(True),
    "jax_debug_infs": lambda: jax.debug_infs(True),
    "jax_debug_key_reuse": lambda: jax.debug_key_reuse(True),
    "jax_check_tracer_leaks": lambda: jax.checking_leaks(),
    "jax_disable_jit": lambda: jax.disable_jit(),
    "jax_numpy_rank_promotion": lambda: jax.numpy_rank_promotion("raise"),
    "jax_numpy_dtype_promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "jax_transfer_guard": lambda: jax.transfer_guard("disallow"),
    "jax_enable_x64": lambda: jax.enable_x64(True),
}
ROOMS = ("keys", "callbacks", "debug", "tracing", "explain")
# What helpers return or raise, and so no helpers.
RESULTS = {
    *("KeyProblem", "KeyReuseError", "KeyStreamError", "KeyReport", "Use"),
    *("DerivativeError", "HostFunction", "HostFunctionError", "HostRun", "Callback", "IOFunction", "Timeline"),
    *("Verification", "BadValue", "NanReport", "NonFiniteError", "Recording"),
    *("Constant", "FunctionTraces", "LineByLine", "Output", "Program", "Retrace", "SideEffect"),
    *("SideEffects", "TooManyTracesError", "Traces", "Edit", "Explanation", "Fix"),
}
# Helper and flag -> what the refusal says to do; it also names the flag.
REFUSALS = {
    ("max_traces", "jax_disable_jit"): "`with jax.disable_jit(False):`",
    ("watch_traces", "jax_disable_jit"): "`with jax.disable_jit(False):`",
    ("io_function", "jax_transfer_guard"): '`with jax.transfer_guard("allow"):`',
    ("record", "jax_transfer_guard"): "pass `ordered=False`",
    ("record_gradient", "jax_transfer_guard"): "pass `ordered=False`",
    ("recording", "jax_transfer_guard"): "pass `ordered=False`",
}
F = np.float32


GIVEN: dict[str, Any] = {}


def _given(name: str) -> Any:
    """Return an array that was on the device before the flag was switched on."""
    return GIVEN[name]


@pytest.fixture(autouse=True)
def fresh_arrays() -> None:
    """Make the arrays that the cases use; `jax_debug_key_reuse` remembers which keys were used."""
    numbers = {"zero": 0, "one": 1, "minus": -1, "many": 1000, "row": range(3), "rows": [[1] * 3] * 2, "eye": np.eye(2)}
    GIVEN.update({name: jnp.asarray(value, F) for name, value in numbers.items()}, key=jax.random.key(0))


def _noise(key: Any) -> Any:
    return jax.random.normal(key, (3,), F) + jax.random.uniform(key, (3,), F)


@jax.jit
def _good(key: Any) -> Any:
    first, second = jax.random.split(key)
    return jax.random.normal(first, (3,), F) + jax.random.uniform(second, (3,), F)


@jax.jit
def _three_logs(x: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.log(c), None), x, None, length=3)[0]


def _layer(x: Any, key: Any) -> Any:
    y = x - x.mean(0, keepdims=True)
    return jnp.tanh(lax.map(lambda row: 2 * row, y)), _noise(key)


def _branches(x: Any) -> Any:
    return jnp.log(-x) if x > 0 else x


def _key_stream() -> Any:
    stream = KeyStream(0)
    first, second = stream.fork(2)
    x, stream = jax.jit(lambda x, s: (x + jax.random.normal(s.next(), x.shape, F), s))(_given("row"), stream)
    keys = [stream.next(), *stream.take(2), first.next(), second.next()]
    with pytest.raises(KeyStreamError):
        jax.make_jaxpr(lambda x: jax.random.normal(stream.next(), x.shape, F))(_given("row"))
    return x, [jax.random.key_data(key).tolist() for key in keys]


def _no_key_reuse() -> Any:
    with pytest.raises(KeyReuseError) as caught:
        no_key_reuse(_noise)(_given("key"))
    return str(caught.value), no_key_reuse(_good)(_given("key"))


def _documented_draws() -> Any:
    with documented_draws():
        return jax.random.normal(_given("key"), (), F)


def _host_function() -> Any:
    sin = host_function(np.sin, elementwise=True, derivative=jnp.cos)
    inv = host_function(np.linalg.inv, out=lambda a: a, derivative=lambda da, inverse, a: -inverse @ da @ inverse)
    # Its own product is of a scalar with a row, and of a float with an int.
    times = host_function(np.multiply, elementwise=True, derivative=(lambda x, y: y, lambda x, y: 1))
    row, one = _given("row"), _given("one")
    slopes = jax.jit(jax.grad(lambda x: times(x, row).sum()))(one), jax.jit(jax.grad(times))(one, one)
    reports = [str(sin.verify(row)), str(inv.verify(_given("eye")))]
    fails = host_function(lambda x: 1 / 0, elementwise=True)
    with pytest.raises(HostFunctionError, match="ZeroDivisionError"), fails.errors():
        jax.jit(fails)(one).block_until_ready()
    return sin(row), jax.jit(jax.vmap(jax.grad(sin)))(row), jax.jit(inv)(_given("eye")), slopes, reports


def _io_function() -> Any:
    seen: list[float] = []

    def keep(x: Any) -> Any:
        seen.append(float(x))
        return x

    read = io_function(keep, out=jax.ShapeDtypeStruct((), F))
    last = read(_given("minus")), lax.scan(lambda c, x: (read(c) + x, None), _given("one"), _given("row"))[0]
    jax.effects_barrier()
    return seen, last


def _callback_timeline() -> Any:
    seen = callback_timeline(lambda x: lax.map(host_function(np.sin, elementwise=True), x), _given("row"))
    return len(seen.sites), len(seen.runs), seen.result


def _find_nan() -> Any:
    def logs(x: Any, key: Any) -> Any:
        return jnp.where(x > 0, jnp.log(x), 0) + _noise(key)

    key, one = _given("key"), _given("one")
    calls = (_three_logs, one), (logs, _given("row"), key), (_branches, one), (jnp.exp, _given("many"))
    return [str(find_nan(*call)) for call in calls]


def _capture() -> Any:
    with capture() as lines:
        jax.jit(lambda x: (jax.debug.print("x={}", x), print("traced")))(_given("one"))
    return sorted(lines)


def _recording() -> Any:
    @jax.jit
    def f(w: Any) -> Any:
        record("log", jnp.log(w))
        return (record_gradient("tanh", jnp.tanh(w)) ** 2).sum()

    with recording() as recorded:
        jax.jit(jax.grad(f))(_given("row"))
    return recorded["log"], recorded["tanh"]


def _watch_traces() -> Any:
    @jax.jit
    def f(x: Any) -> Any:
        return x * 2

    with watch_traces() as traces:
        f(_given("row")), f(_given("rows")), f(_given("row"))
    return traces.traces, traces.compiles, list(map(str, traces.retraces))


def _max_traces() -> Any:
    limited = max_traces(1)(jax.jit(lambda x: x * 2))
    limited(_given("row"))
    with pytest.raises(TooManyTracesError) as caught:
        limited(_given("rows"))
    return str(caught.value)


def _side_effects() -> Any:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    return [str(side_effects(f, _given("row"))), str(side_effects(_layer, _given("rows"), _given("key")))]


def _explain() -> Any:
    said = []
    calls: Any = (lambda x: x.__setitem__(0, 1), lambda x: x @ x, lambda x: _given("key") + x)
    for fails in calls:
        try:
            fails(_given("rows"))
        except Exception as error:
            said.append(str(explain(error)))
    return said


def _extension() -> Any:
    shell = mock.MagicMock()
    load_ipython_extension(shell)
    unload_ipython_extension(shell)
    return len(shell.method_calls)


CASES: dict[str, Callable[[], Any]] = {
    "check_keys": lambda: [str(check_keys(f, _given("key"))) for f in (_noise, _good, jax.jit(_noise))],
    "KeyStream": _key_stream,
    "no_key_reuse": _no_key_reuse,
    "documented_draws": _documented_draws,
    "host_function": _host_function,
    "io_function": _io_function,
    "callback_timeline": _callback_timeline,
    "find_nan": _find_nan,
    "capture": _capture,
    **dict.fromkeys(("recording", "record", "record_gradient"), _recording),
    "nan_guard": lambda: nan_guard(jax.jit(jnp.sin))(_given("one")),
    "show_lines": lambda: str(show_lines(_layer, _given("rows"), _given("key"))),
    "program": lambda: str(program(_layer, _given("rows"), _given("key"))),
    "watch_traces": _watch_traces,
    "max_traces": _max_traces,
    "side_effects": _side_effects,
    "explain": _explain,
    **dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), _extension),
}


def test_every_public_helper_has_a_case() -> None:
    public = {name for room in ROOMS for name in importlib.import_module(f"jaxguide.{room}").__all__}
    assert public - RESULTS == CASES.keys()
    assert public.issuperset(RESULTS)


@functools.cache
def _usual(case: Callable[[], Any]) -> str:
    return _plain(case())


def _plain(answer: Any) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+ ms", "", repr(jax.tree.map(np.asarray, answer)))


@pytest.mark.long
@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("name", CASES)
def test_a_helper_is_right_under_a_flag_or_refuses(name: str, flag: str) -> None:
    usual = _usual(CASES[name])
    advice = REFUSALS.get((name, flag))
    refusal: Any = (
        contextlib.nullcontext() if advice is None else pytest.raises((RuntimeError, UserWarning), match=flag)
    )
    with refusal as caught, FLAGS[flag]():
        assert _plain(CASES[name]()) == usual
    if advice is not None:
        assert advice in str(caught.value)
        assert "\n" not in str(caught.value)
