"""Test a session in JupyterLab apart from cards: the first line, hints, magics, and progress after a restart."""

from typing import TYPE_CHECKING

import pytest
from lab_page import LabPage
from needs import ON_THE_NEWEST

from jaxguide.course.books.library import students_course

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.browser, ON_THE_NEWEST, pytest.mark.timeout(420)]

EXERCISE = "two_samples"
CHECK = f"check({EXERCISE})"
DRAWS = "jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))"
RIGHT = f"def {EXERCISE}(key, n, m):\n    key_a, key_b = jax.random.split(key)\n    return {DRAWS}\n\n{CHECK}"
WRONG = f"def {EXERCISE}(key, n, m):\n    return jnp.zeros(n), jnp.zeros(m)\n\n{CHECK}"
SETUP = "from jaxguide.lesson import"
DEFINED = "import jax\ndef twice(key):\n    return jax.random.normal(key) + jax.random.uniform(key)"
OUTPUT = ".jp-OutputArea-output"
CARD = f"{OUTPUT} section"


def test_a_session_goes_on_after_the_kernel_was_restarted(lab_page: LabPage) -> None:
    lab_page.open("random_numbers.ipynb", "JupyterLab Dark")
    assert lab_page.run("importlib.util.find_spec").locator(OUTPUT).count() == 0, "nothing is to be installed"
    line = words(lab_page.run(SETUP))
    exercises = students_course().books["random_numbers"].exercises
    points = sum(exercise.points for exercise in exercises)
    core = [exercise.is_more for exercise in exercises].count(False)
    counted = f"of {core} core exercises done · 0 of {len(exercises) - core} more beyond it"
    assert f"0 {counted} · 0 of {points:g} points" in line
    lab_page.run("import jax.numpy as jnp")
    assert "✗ Not right yet" in words(lab_page.run(CHECK, WRONG))
    undefined = lab_page.run(f"# hint({EXERCISE})", f"hint({EXERCISE}x)").locator(CARD)
    assert f"{EXERCISE}x is not defined. Did you mean {EXERCISE}" in undefined.inner_text()
    hint = lab_page.run(f"hint({EXERCISE}x)", f"hint({EXERCISE})").locator(CARD)
    assert "Hint 1 of" in hint.inner_text()
    assert f"hint({EXERCISE}, 2)" in hint.inner_text()
    assert "✓ Right so far" in words(lab_page.run(CHECK, RIGHT))
    assert_magics(lab_page)

    lab_page.page.keyboard.press("Escape")
    lab_page.page.keyboard.press("0")
    lab_page.page.keyboard.press("0")
    lab_page.page.locator(".jp-Dialog .jp-mod-accept").click()
    lab_page.page.wait_for_selector('.jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status="idle"]')
    assert f"1 {counted} · 2 of " in words(lab_page.run(SETUP))
    cell = lab_page.run("import jax.numpy as jnp", "progress()")
    card = cell.locator(CARD)
    said = f"1 {counted} · 2 of {points:g} points · 1 hint read"
    assert said in card.inner_text()
    assert "✓ done · Two independent samples (two_samples)" in card.inner_text()
    assert "Next: " in card.inner_text()
    bar = card.locator("div > div")
    share = bar.evaluate("bar => bar.offsetWidth / bar.parentElement.clientWidth")
    assert 0.8 / core < share < 1.5 / core
    lab_page.picture(cell, "progress")


def assert_magics(lab_page: LabPage) -> None:
    """Assert that each magic draws its picture, and that Tab completes its subcommands and the function's name."""
    cell = lab_page.run("np.random.seed", f"{DEFINED}\n%jaxguide keys twice(jax.random.key(0))\n1 + 1")
    drawing = cell.locator(f"{OUTPUT} svg[role=img]")
    assert "Keys of twice" in drawing.locator("title").first.text_content()
    assert "drawn from twice" in drawing.locator("desc").text_content()
    lab_page.picture(cell, "keys-magic")
    cell = lab_page.run("%jaxguide keys", f"{DEFINED}\n%jaxguide program twice(jax.random.key(0))")
    assert "jit normal" in cell.locator(f"{OUTPUT} pre").first.inner_text()
    cell = lab_page.run("%jaxguide program", f"{DEFINED}\n%jaxguide trace twice(jax.random.key(0))")
    assert "traced" in words(cell)
    assert "Did you mean `keys`" in words(lab_page.run("%jaxguide trace", "%jaxguide key twice"))

    cell.locator(".cm-content").first.click()
    lab_page.page.keyboard.press("Control+a")
    lab_page.page.keyboard.insert_text("%jaxguide pro")
    lab_page.page.keyboard.press("Tab")
    lab_page.page.locator(".jp-Completer-item").filter(has_text="program").wait_for()
    lab_page.page.keyboard.press("Enter")
    assert "%jaxguide program" in cell.locator(".cm-content").inner_text()


def words(cell: "Locator") -> str:
    """Return all text in a cell's output."""
    return "\n".join(cell.locator(OUTPUT).all_inner_texts())
