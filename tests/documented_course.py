"""A course whose exercise reproduces two documented examples, which are put into the ledger."""

from pathlib import Path

import pytest

from jaxguide.course import ledger

BOOK = '''\
# %%
import jax
import jax.numpy as jnp
from jaxguide.course.author import exercise, expect_close, expect_documented, expect_that, visible

# %% exercise
@exercise(
    title="Look",
    reproduces=["T0-01", "T0-02"],
    follows={"T0-02": ("T0-01", "who prints numbers does so in each call")},
)
def look(x):
    """Print x while it is traced, and return x + 1: float32[3] -> float32[3]."""
    ...

# %% check
@visible(look)
def one_is_added(answer):
    """The result is x + 1."""
    expect_close(answer(jnp.ones(3)), jnp.full(3, 2.0))


@visible(look, stage="traces", required=True, reproduces=["T0-01"])
def the_first_call_prints_a_tracer(answer):
    """The first call prints the tracer."""
    expect_documented("T0-01", answer.observe(jnp.ones(3)).lines)


@visible(look, stage="traces", reproduces=["T0-02"])
def the_second_call_prints_nothing(answer):
    """The second call prints nothing."""
    second = answer.observe_calls([(jnp.ones(3),), (jnp.zeros(3),)])[1]
    expect_that(not second.lines, "It should print nothing.", second.lines)
    expect_documented("T0-02", second.value)
'''

KEY = """\
# %%
import jax
from jaxguide.course.author import alternative, answer, wrong

# %% look
@answer
@jax.jit
def look(x):
    print("x =", x)
    return x + 1


@wrong(rejected_by="the_first_call_prints_a_tracer", lacks="T0-01")
def not_jitted(x):
    print("x =", x)
    return x + 1


@wrong(rejected_by="the_first_call_prints_a_tracer", lacks="T0-01")
@jax.jit
def says_y(x):
    print("y =", x)
    return x + 1


@wrong(rejected_by="the_second_call_prints_nothing", lacks="T0-02")
def jitted_anew(x):
    @jax.jit
    def plus_one(x):
        print("x =", x)
        return x + 1

    return plus_one(x)


@alternative
@jax.jit
def one_first(x):
    print("x =", x)
    return 1 + x
"""

RECORDS = {
    "T0-01": {
        "compare": "facts",
        "documented": ["x = Traced<ShapedArray(float32[3])>with<DynamicJaxprTrace(level=1/0)>"],
        "today": ["x = JitTracer(float32[3])"],
        "since": "0.8.2",
    },
    "T0-02": {"compare": "numeric", "value": [1.0, 1.0, 1.0]},
}


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a course with one exercise, which reproduces two examples that are put into the ledger."""
    for folder, text in (("exercises", BOOK), ("solutions", KEY)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tiny.py").write_text(text)
    for example, record in RECORDS.items():
        entry = {"says": "", "documented": "", "class": "CHANGED", "record": record}
        monkeypatch.setitem(ledger.entries(), example, entry)
    return tmp_path
