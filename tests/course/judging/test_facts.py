"""Test which facts are read in text made by JAX, and what counts as wording."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxguide.course import ledger
from jaxguide.course.author import expect_documented
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.facts import agree
from jaxguide.course.verdict import CheckFailed

TRACER = "x = JitTracer(float32[3,4])"

SAME = [
    (TRACER, "x = Traced<ShapedArray(float32[3,4])>with<DynamicJaxprTrace(level=1/0)>"),
    (TRACER, "x = Traced<ShapedArray(float32[3,4], weak_type=True)>with<DynamicJaxprTrace>"),
    (TRACER, "x = Traced<~float32[3,4]>with<DynamicJaxprTrace>"),
    (TRACER, "x = JitTracer<float32[3,4]>"),
    (TRACER, "x = JitTracer(~float32[3,4])"),
    (TRACER, "x = VmapTracer(aval=float32[3,4], batched=float32[2,3,4])"),
    (TRACER, "x = GradTracer(primal=JitTracer(~float32[3,4]), typeof(tangent)=f32[3,4])"),
    (TRACER, "x = GradTracer(primal=[[1. 1.] [1. 1.]], typeof(tangent)=f32[3,4])"),
    ("key: JitTracer(key<fry>[])", "key: Traced<ShapedArray(key<fry>[])>with<DynamicJaxprTrace>"),
    ("must be concrete; got bool[10]", "must be concrete; got ShapedArray(bool[10])"),
    ("jaxlib._jax.ArrayImpl", "jaxlib.xla_extension.ArrayImpl"),
    ("jax.errors.TracerBoolConversionError: no", "TracerBoolConversionError: no"),
    ("c:f32[3] = add a 1.0:f32[]\n  d:i32[] = mul b 2:i32[]", "c:f32[3] = add a 1.0 d:i32[] = mul b 2"),
    ("Array([0.25773212, 5.3623195 ], dtype=float32)", "Array([0.25773215, 5.362319], dtype=float32)"),
    ("at /home/ada/x.py:12:5, see https://docs.jax.dev/x", "at /tmp/x.py:1, see https://jax.readthedocs.io/y"),
    ("<function f at 0x7f00>", "<function f at 0x12ab>"),
    ("a BatchTracer with object id 14", "a BatchTracer with object id 9"),
    ("line 5:8 (f)", "<ipython-input-2-ab>:3 (f)"),
]
OTHER = [
    (TRACER, "x = [[1. 1.] [1. 1.]]"),
    (TRACER, "x = JitTracer(int32[3,4])"),
    (TRACER, "x = JitTracer(float32[4,3])"),
    (TRACER, "x = float32[3,4]"),
    (TRACER, "y = JitTracer(float32[3,4])"),
    (TRACER, "x = JitTracer(float32[3,4])."),
    ("(2, 3)", "(2, 4)"),
    ("2", "2.0"),
    ("0.25773212", "0.25774"),
    ("c:f32[3] = add a 1.0:f32[]", "c:f32[3] = add a 2.0:f32[]"),
    ("c:f32[3] = add a b", "c:f32[3] = sub a b"),
    ("c:f32[3] = add a b", "c:i32[3] = add a b"),
    ("yes/no", "yes/yes"),
    ("see line 5", "see line 6"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_wording_does_not_count(one: str, other: str) -> None:
    assert agree(one, other, 1e-6)
    assert agree(["", f"  {one}"], [other], 1e-6)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_facts_count(one: str, other: str) -> None:
    assert not agree(one, other, 1e-6)


def test_verbatim_only_the_machine_and_the_last_digits_may_differ() -> None:
    differ = [(one, other) for one, other in SAME if not agree(one, other, 1e-6, verbatim=True)]
    assert differ == SAME[:-5]


@pytest.mark.parametrize(
    "got", [TRACER, [TRACER, TRACER], [1], 1, None, [[TRACER]], "x" * 1_000_000, [TRACER * 1_000_000]]
)
def test_what_is_no_such_list_of_lines_is_something_else(got: Any) -> None:
    assert not agree(got, [TRACER], 1e-6)


TRANSFORMS = {"jit": jax.jit, "grad": jax.grad, "jit of grad": lambda f: jax.jit(jax.grad(f)), "none": lambda f: f}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_the_tracers_of_this_jax_are_read(transform: Any, capsys: pytest.CaptureFixture[str]) -> None:
    transform(lambda x: (print("x =", x), x * 2.0)[1])(jnp.float32(1.0))
    jax.vmap(transform(lambda x: (print("x =", x), x * 2.0)[1]))(jnp.ones(2))
    alone, mapped = capsys.readouterr().out.splitlines()
    assert agree(mapped, "x = JitTracer(float32[])", 1e-6)
    assert agree(alone, mapped, 1e-6) == (alone != "x = 1.0")


LOOK = {
    "compare": "facts",
    "documented": [
        "Running f():",
        "x = Traced<ShapedArray(float32[3,4])>with<DynamicJaxprTrace(level=1/0)>",
        "Array([7., 7., 7.], dtype=float32)",
    ],
    "today": ["Running f():", TRACER, "Array([7., 7., 7.], dtype=float32)"],
    "since": "0.8.2",
}
REFUSED = {
    "compare": "facts",
    "documented": "TypeError: '<class 'jaxlib.xla_extension.ArrayImpl'>' object does not support item assignment. "
    "JAX arrays are immutable.",
    "today": "TypeError: JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, "
    "use x = x.at[idx].set(y) or another .at[] method: "
    "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html",
    "phrase": "JAX arrays are immutable",
}


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that puts a record into the ledger."""
    return lambda record: monkeypatch.setitem(ledger.entries(), "T0-01", {"record": record})


def look(x: jax.Array) -> jax.Array:
    print("Running f():")
    print("x =", x)
    return x.sum(axis=1) + 3


def lines_of(function: Any) -> list[str]:
    seen = LocalAnswer("f", function, {}).observe(jnp.ones((3, 4)))
    return [*seen.lines, repr(jnp.asarray(np.asarray(seen.value)))]


def test_lines_are_compared_with_todays_by_their_facts(put: Any) -> None:
    put(LOOK)
    expect_documented("T0-01", lines_of(jax.jit(look)))
    with pytest.raises(CheckFailed, match=r"JitTracer\(float32\[3,4\]\)"):
        expect_documented("T0-01", lines_of(look))


def test_the_key_must_give_the_recorded_text(put: Any) -> None:
    put({**LOOK, "today": ["Running f():", "x = JitTracer(~float32[3,4])", LOOK["today"][2]]})
    lines = lines_of(jax.jit(look))
    expect_documented("T0-01", lines)
    with ledger.asking_the_key() as noted, pytest.raises(CheckFailed):
        expect_documented("T0-01", lines)
    assert noted == {("T0-01", "value")}


def test_of_an_error_with_a_phrase_its_class_and_the_phrase_count(put: Any) -> None:
    put(REFUSED)

    def raised(error: Exception | None) -> Any:
        def function(x: jax.Array) -> None:
            if error is None:
                x[0] = 1.0  # type: ignore[index]
            raise error or ValueError

        return LocalAnswer("f", function, {}).observe_error(jnp.ones(2))

    expect_documented("T0-01", raised(None))
    expect_documented("T0-01", raised(TypeError("I say: JAX arrays are immutable.\nMore.")))
    for wrong in (TypeError("JAX arrays are frozen"), ValueError("JAX arrays are immutable")):
        with pytest.raises(CheckFailed, match="It should give"):
            expect_documented("T0-01", raised(wrong))
    with pytest.raises(CheckFailed, match="It ran without an error"):
        expect_documented("T0-01", LocalAnswer("f", lambda x: x, {}).observe_error(1.0))
    with ledger.asking_the_key():
        expect_documented("T0-01", raised(None))
        with pytest.raises(CheckFailed):
            expect_documented("T0-01", raised(TypeError("JAX arrays are immutable")))


def test_a_text_that_changed_again_is_one_more_today(put: Any) -> None:
    later = [{"since": "0.9.0", "today": "now"}, {"since": "99.0", "today": "some day"}]
    put({"compare": "facts", "documented": "then", "today": "before", "since": "0.8.2", "later": later})
    expect_documented("T0-01", "now")
    for other in ("then", "before", "some day"):
        with pytest.raises(CheckFailed, match="'now'"):
            expect_documented("T0-01", other)
    with ledger.corrupted("T0-01", "value"), pytest.raises(CheckFailed):
        expect_documented("T0-01", "now")
    expect_documented("T0-01", "now")


def test_without_a_text_of_today_the_documents_holds(put: Any) -> None:
    put({"compare": "facts", "documented": "then"})
    expect_documented("T0-01", "then")
    with pytest.raises(CheckFailed):
        expect_documented("T0-01", "now")


@pytest.mark.parametrize("record", [LOOK, REFUSED])
def test_a_corrupted_record_is_noticed(put: Any, record: dict[str, Any]) -> None:
    put(record)
    expect_documented("T0-01", record["today"])
    with ledger.corrupted("T0-01", "value"), pytest.raises(CheckFailed):
        expect_documented("T0-01", record["today"])
