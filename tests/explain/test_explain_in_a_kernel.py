"""Test explanations in a real Jupyter kernel: below the usual traceback, and in a lesson above it."""

import re
from typing import Any

import pytest
from kernel import run_in_kernel

CELLS = {
    "imports": "import jax, jax.numpy as jnp, warnings",
    "before": "x = jnp.zeros(3)\nx[0] += 1.0",
    "load": "%load_ext jaxguide",
    "again": "%reload_ext jaxguide\nimport jaxguide\njaxguide.load_ipython_extension(get_ipython())",
    "in_place": "x = jnp.zeros(3)\nx[0] += 1.0",
    "defined": "@jax.jit\ndef ones(n):\n    return jnp.ones(n)",
    "called_from_another_cell": "ones(3)",
    "unknown": "1 / 0",
    "syntax": "if x",
    "interrupted": "raise KeyboardInterrupt",
    "fine": "1 + 1",
    "timed": "%%time\n@jax.jit\ndef f(x):\n    if x > 0:\n        return x\n    return -x\nf(1.0)",
    "fine_after_timed": "2 + 2",
    "breaks_explain": "import jaxguide.explain.explaining as inner\nkept = inner.explain\n"
    "def broken(error): raise RuntimeError('broken')\ninner.explain = broken",
    "with_a_broken_explain": "x[0] = 1.0",
    "mends_explain": "inner.explain = kept",
    "fixes": "try:\n    ones(3)\nexcept TypeError as error:\n    found = jaxguide.explain.explain(error)\n"
    "fix = found.fixes[0]\nprint(fix.code)\n"
    "for edit in fix.edits:\n    cell = ''.join(__import__('linecache').getlines(edit.file))\n"
    "    exec(fix.apply(cell, edit.file))\nprint(ones(3))",
    "last": "jaxguide.explain.explain()",
    "unload": "%unload_ext jaxguide",
    "after": "x[0] = 1.0",
    "lesson": "from jaxguide.lesson import start\nstart('random_numbers')",
    "in_a_lesson": "x[0] = 1.0",
    "again_in_a_lesson": "start('random_numbers')\nx[0] = 1.0",
    "shown_on_demand": "%tb",
    "unknown_in_a_lesson": "1 / 0",
    "timed_in_a_lesson": "%%time\nx[0] = 1.0",
    "broken_in_a_lesson": "inner.explain = broken\nx[0] = 1.0",
}


@pytest.fixture(scope="module")
def shown() -> dict[str, list[Any]]:
    """Run the cells in one kernel that continues after errors, and return each cell's outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS.values()]
    NotebookClient(notebook, timeout=300, allow_errors=True).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


def kinds(outputs: list[Any]) -> list[str]:
    """Return the types of a cell's outputs; printed text counts once, however many pieces it came in."""
    found = [output["output_type"] for output in outputs]
    return [kind for i, kind in enumerate(found) if kind != "stream" or found[i - 1 : i] != ["stream"]]


@pytest.mark.long
def test_the_card_comes_under_the_traceback_and_never_instead_of_it(shown: dict[str, list[Any]]) -> None:
    error, card = shown["in_place"]
    assert (error["output_type"], error["ename"]) == ("error", "TypeError")
    assert "immutable" in error["evalue"]
    assert "Traceback" in "".join(error["traceback"])
    assert card["output_type"] == "display_data"
    assert "Your code, cell [5], line 2: `x[0] += 1.0`" in card["data"]["text/plain"]
    assert "x = x.at[0].add(1.0)" in re.sub("<[^>]*>", "", card["data"]["text/html"])


@pytest.mark.long
def test_nothing_is_shown_before_it_is_loaded_nor_after_it_is_unloaded(shown: dict[str, list[Any]]) -> None:
    assert kinds(shown["before"]) == ["error"]
    assert kinds(shown["load"]) == kinds(shown["again"]) == kinds(shown["unload"]) == []
    assert kinds(shown["after"]) == ["error"]


def test_an_error_that_is_not_known_gets_no_card(shown: dict[str, list[Any]]) -> None:
    assert kinds(shown["unknown"]) == kinds(shown["syntax"]) == kinds(shown["interrupted"]) == ["error"]
    assert kinds(shown["fine"]) == ["execute_result"]


def test_a_fix_in_another_cell_names_that_cells_lines(shown: dict[str, list[Any]]) -> None:
    _error, card = shown["called_from_another_cell"]
    assert "cell [6], line 3: `return jnp.ones(n)`" in card["data"]["text/plain"]
    assert '@jax.jit(static_argnames="n")' in card["data"]["text/plain"]
    assert "".join(output["text"] for output in shown["fixes"]) == '@jax.jit(static_argnames="n")\n[1. 1. 1.]\n'


def test_a_cell_whose_source_ipython_hides_gets_a_card_without_its_line(shown: dict[str, list[Any]]) -> None:
    cards = [output for output in shown["timed"] if output["output_type"] == "display_data"]
    assert shown["timed"].index(cards[0]) > kinds(shown["timed"]).index("error")
    assert len(cards) == 1
    assert "`x` is a traced float32[] here, inside `jax.jit` of `f`." in cards[0]["data"]["text/plain"]
    assert "jnp.where(x > 0" in cards[0]["data"]["text/plain"]
    assert kinds(shown["fine_after_timed"]) == ["execute_result"]


def test_the_traceback_is_unharmed_where_explaining_fails(shown: dict[str, list[Any]]) -> None:
    assert kinds(shown["with_a_broken_explain"]) == ["error"]
    assert shown["with_a_broken_explain"][0]["ename"] == "TypeError"


def test_the_last_error_is_explained_on_request(shown: dict[str, list[Any]]) -> None:
    (card,) = shown["last"]
    assert "`x[0] = 1.0`" in card["data"]["text/plain"]
    assert "text/html" in card["data"]


def test_in_a_lesson_the_explanation_comes_first_and_the_traceback_is_folded(shown: dict[str, list[Any]]) -> None:
    assert kinds(shown["lesson"]) == ["display_data"]
    card, error = shown["in_a_lesson"]
    assert "`x[0] = 1.0`" in card["data"]["text/plain"]
    folded = card["data"]["text/html"].partition("<details")[2]
    assert "Traceback (most recent call last)" in folded
    assert "\x1b" not in folded
    assert (error["output_type"], error["ename"]) == ("error", "TypeError")
    assert error["evalue"].startswith("JAX arrays are immutable")
    (line,) = error["traceback"]
    assert "TypeError" in line
    assert "\n" not in line
    assert kinds(shown["again_in_a_lesson"]) == ["display_data", "display_data", "error"]
    assert kinds(shown["timed_in_a_lesson"]) == ["stream", "display_data", "error"]


def test_in_a_lesson_unknown_errors_keep_their_traceback(shown: dict[str, list[Any]]) -> None:
    for name in ("shown_on_demand", "unknown_in_a_lesson", "broken_in_a_lesson"):
        (error,) = shown[name]
        assert error["output_type"] == "error"
        assert "Traceback" in "".join(error["traceback"])


@pytest.mark.long
def test_loading_it_first_cures_prints_that_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    program = (
        "import jax, jax.numpy as jnp\ndef f(x):\n    y = jnp.tanh(x)\n    jax.debug.print('{}', y.mean())\n"
        "    return y\njax.jit(f)(jnp.zeros(4096)).shape"
    )
    assert run_in_kernel(["%load_ext jaxguide", program])[-1].endswith("(4096,)")
