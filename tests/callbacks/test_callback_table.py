"""Test the table of callbacks in the lesson: the installed JAX gives each cell and each refusal that it shows."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

from jaxguide.course import ledger

Call = Callable[[Any], Any]

LESSON = (Path(__file__).parents[2] / "exercises" / "callbacks.py").read_text("utf-8")
_TABLE = re.search(r"^# \| situation \| Python .*\n# \| ---.*\n((?:# \|.*\n)+)", LESSON, re.MULTILINE)
assert _TABLE is not None
ROWS = [[cell.strip() for cell in line.strip("# |").split(" | ")] for line in _TABLE[1].splitlines()]
# The beginning of each error that the lesson shows, by its letter.
REFUSALS = {letter: error for letter, _, error in re.findall(r"^# - \((\w)\)(?:\n# )? +(`+)(.+?)\2", LESSON, re.M)}

ONE, THREE = jnp.float32(1.0), jnp.arange(3.0)


def like(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x))


def debug(host: Callable[[Any], Any], x: Any, ordered: bool) -> Any:
    returned = jax.debug.callback(host, x, ordered=ordered)
    return x if returned is None else returned


# The columns: each calls the host and returns its value, or else its argument.
KINDS: list[Callable[[Callable[[Any], Any], Any, str | None], Any]] = [
    lambda host, x, method: jax.pure_callback(host, like(x), x, vmap_method=method),
    lambda host, x, method: io_callback(host, like(x), x),
    lambda host, x, method: io_callback(host, like(x), x, ordered=True),
    lambda host, x, method: debug(host, x, ordered=False),
    lambda host, x, method: debug(host, x, ordered=True),
]
ORDERED = (2, 4)


def scan(body: Call) -> Any:
    return lax.scan(lambda carry, x: (carry, body(x)), 0.0, THREE)[1]


def count_to(limit: Any, call: Call) -> Any:
    return lax.while_loop(lambda i: i < limit, lambda i: call(i) * 0.0 + i + 1.0, 0.0)


def grad_of_scan(body: Call) -> Any:
    return jax.grad(lambda y: scan(lambda x: (body(x), x * y)[1]).sum())(ONE)


def used(x: Any, value: Any) -> Any:
    return x * 1.0 + lax.stop_gradient(value) * 0.0


def call_at_one(x: Any, call: Call) -> Any:
    return lax.cond(x == 1.0, call, lambda x: x, x)


def sine_of_seen(x: Any, call: Call) -> Any:
    return jnp.sin(used(x, call(lax.stop_gradient(x))))


PROGRAMS: dict[str, Callable[[Call], Any]] = {
    "gives a value back": lambda call: call(ONE),
    "`jit`": lambda call: jax.jit(call)(ONE),
    "`vmap` over 3 rows": lambda call: jax.vmap(call)(THREE),
    'the same, `vmap_method="sequential"`': lambda call: jax.vmap(call)(THREE),
    "`grad`": lambda call: jax.grad(call)(ONE),
    "`scan` of 3 steps": scan,
    "`while_loop` of 3 steps": lambda call: count_to(3.0, call),
    "2 calls in each of 3 steps of a `map`": lambda call: lax.map(lambda x: call(x) * 0.0 + call(x + 1.0), 2.0 * THREE),
    "value not used": lambda call: jax.jit(lambda x: (call(x), x)[1])(ONE),
    "constant argument, in a scan of 3": lambda call: scan(lambda x: used(x, call(ONE))),
    "value not used, in a scan of 3 under `grad`": grad_of_scan,
    "the same, constant argument": lambda call: grad_of_scan(lambda _: call(ONE)),
    "`vmap` of `cond`: 1 of 3 rows calls": lambda call: jax.vmap(lambda x: call_at_one(x, call))(THREE),
    "`vmap` of `while_loop`: rows of 0, 1 and 2 steps": lambda call: jax.vmap(lambda n: count_to(n, call))(THREE),
    "`checkpoint` under `grad`": lambda call: jax.grad(jax.checkpoint(lambda y: sine_of_seen(y, call)))(ONE),
}

# The examples of the ledger that have the guide's rows, one for each column here, and the rows here for its columns.
GUIDE = ["S4-07", "S4-08", "S4-08", "S4-09", "S4-09"]
GUARANTEED = ["value not used", "value not used, in a scan of 3 under `grad`", "the same, constant argument"]
IN_GUIDE = [
    ["gives a value back"],
    ["`jit`"],
    ["`vmap` over 3 rows"],
    ["`grad`"],
    ["`scan` of 3 steps", "`while_loop` of 3 steps"],
    GUARANTEED,
]


def guide(row: str, column: int) -> str:
    """Return what the guide says: 'yes', 'no', or '' if it says nothing."""
    record = ledger.entries()[GUIDE[column]]["record"]
    answers = zip(IN_GUIDE, record.get("documented") or record["value"], strict=True)
    said = "".join(answer for rows, answer in answers if row in rows)
    return said.split("/")[-1 if column in ORDERED else 0]


def outcome(row: str, column: int, python: str) -> str:
    """Run one kind of callback in one situation, and say what happened as the table does."""
    seen: list[float] = []

    def host(x: Any) -> np.ndarray:
        seen.append(float(np.asarray(x).flat[0]))
        return np.full(np.shape(x), 7.0, np.float32)

    method = None if row == "`vmap` over 3 rows" else "sequential"
    try:
        result = jax.block_until_ready(PROGRAMS[row](lambda x: KINDS[column](host, x, method)))
        jax.effects_barrier()
    except Exception as error:  # each kind raises another class, some Exception itself
        said = f"{type(error).__name__}: {error}"
        (letter,) = [letter for letter, beginning in REFUSALS.items() if said.startswith(beginning)]
        return f"refused ({letter})"
    if python == "yes":
        return "yes" if result == 7.0 else "no"
    calls, _, order = python.partition(", ")
    if order and column in ORDERED and seen == sorted(seen):
        return f"{len(seen)}, in order"
    return calls if len(seen) == int(calls) else f"**{len(seen)}**"


@pytest.mark.parametrize(("row", "python", "shown"), [(row, python, shown) for row, python, *shown in ROWS])
def test_jax_gives_each_cell(row: str, python: str, shown: list[str]) -> None:
    measured = []
    for column in range(len(KINDS)):
        cell = outcome(row, column, python)
        works = cell in (python, python.split(",")[0])
        said = guide(row, column)
        differs = (said == "yes" and not works) or (said == "no" and works and row not in GUARANTEED)
        measured.append(f"{cell} ≠" if differs else cell)
    if row.startswith("the same, `vmap_method"):
        measured[1:] = ["-"] * 4  # no other kind has this parameter
    assert shown == measured


def test_the_table_has_each_situation_and_the_errors_are_all_in_it() -> None:
    assert [row for row, *_ in ROWS] == list(PROGRAMS)
    assert set(re.findall(r"refused \((\w)\)", _TABLE[1])) == set(REFUSALS)
