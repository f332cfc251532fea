"""Test `callback_table`: what each kind of callback does on the installed JAX, as opposed to what JAX's guide says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from jaxguide.callbacks import CallbackTable, callback_table

KINDS = ["pure_callback", "io_callback", "io_callback ordered", "debug.callback", "debug.callback ordered"]


@pytest.fixture(scope="module")
def table() -> CallbackTable:
    return callback_table()


def _calls(table: CallbackTable, row: str) -> list[int | None]:
    assert list(table.rows[row]) == KINDS
    return [cell.calls for cell in table.rows[row].values()]


# Measured on CPU with jax 0.10.2, 0.11.2 and 0.12.0.1, which agree. None stands for a program that JAX rejects.
MEASURED = {
    "jit": [1, 1, 1, 1, 1],
    "vmap": [None, 3, None, 3, 3],
    "vmap_method": [3, 3, None, 3, 3],
    "grad": [None, None, None, 1, 1],
    "scan": [3, 3, 3, 3, 3],
    "while": [3, 3, 3, 3, 3],
    "order": [6, 6, 6, 6, 6],
    "unused": [0, 1, 1, 1, 1],
    "constant_in_scan": [1, 3, 3, 3, 3],
    "unused_in_scan_under_grad": [0, 0, 0, 3, 3],
    "constant_in_scan_under_grad": [0, 1, 1, 1, 1],
    "vmap_of_cond": [3, None, None, 3, 3],
    "vmap_of_while": [6, None, None, 6, 6],
    "checkpoint_under_grad": [2, None, None, 2, 2],
}


@pytest.mark.long
@pytest.mark.parametrize("row", MEASURED)
def test_how_often_each_kind_ran(table, row):
    assert _calls(table, row) == MEASURED[row]


def test_only_debug_callbacks_return_nothing(table):
    assert [cell.value for cell in table.rows["value"].values()] == [True, True, True, False, False]


def test_ordered_kinds_keep_the_order(table):
    assert [table.rows["order"][kind].in_order for kind in KINDS if "ordered" in kind] == [True, True]


def test_differences_from_the_guide_are_found_and_marked(table):
    assert set(table.differences()) == {
        ("vmap", "pure_callback"),
        *((row, kind) for row in MEASURED if row.endswith("under_grad") and "scan" in row for kind in KINDS[1:3]),
    }
    assert str(table).count("≠") == len(table.differences()) + 1, "one more, in the legend"


def test_the_numbers_are_measured_in_this_process():
    # The same program written out: a callback whose result is unused, in a differentiated loop.
    seen = []

    def total(y):
        def body(carry, x):
            io_callback(lambda x: seen.append(x) or np.float32(0), jnp.float32(0), x)
            return carry, x * y

        return jax.lax.scan(body, 0.0, jnp.arange(3.0))[1].sum()

    jax.block_until_ready(jax.grad(total)(1.0))
    jax.effects_barrier()
    assert len(seen) == MEASURED["unused_in_scan_under_grad"][1]


def test_each_refusal_is_given_with_its_class(table):
    text = str(table)
    assert "NotImplementedError: vmap is only supported for the pure_callback primitive when vmap_method" in text
    assert "ValueError: IO callbacks do not support JVP" in text
    assert " object at 0x" not in text


def test_text_and_html_say_the_same(table):
    text, html = str(table), table._repr_html_()
    for words in ("vmap of cond, 1 of 3 rows calls", "! 3, not 1", "✗ refused", "yes ≠"):
        assert words in text
        assert words in html
    assert max(map(len, text.splitlines()[:30])) <= 120
    assert table.to_plain()["rows"]["unused"]["pure_callback"]["calls"] == 0
