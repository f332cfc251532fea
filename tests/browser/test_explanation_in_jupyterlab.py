"""Test that an error in a lesson in JupyterLab is explained first, in light and dark, above a folded traceback."""

import pytest
from lab_page import LabPage
from needs import ON_THE_NEWEST

pytestmark = [pytest.mark.browser, ON_THE_NEWEST, pytest.mark.timeout(300)]

CODE = """x = jnp.array([1.0, -2.0, 3.0])

@jax.jit
def total(x):
    s = 0.0
    for i in range(3):
        if x[i] > 0:
            s = s + x[i]
    return s

total(x)"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_card_above_a_traceback_can_be_read(lab_page: LabPage, theme: str) -> None:
    lab_page.open("random_numbers.ipynb", theme)
    lab_page.run("from jaxguide.lesson import")
    lab_page.run("import jax.numpy as jnp")
    cell = lab_page.run("check(two_samples)", f"import jax\nimport jax.numpy as jnp\n{CODE}")
    card, error = cell.locator(".jp-OutputArea-output").all()
    (line,) = error.inner_text().splitlines()
    assert line.startswith("TracerBoolConversionError: Attempted boolean conversion")
    words = card.inner_text()
    assert "s = jnp.where(x[i] > 0, s + x[i], s)" in words
    assert "`" not in words
    traceback = card.locator("code").last
    assert not traceback.is_visible()
    text, ground = card.locator("p").first.evaluate(
        "e => [getComputedStyle(e).color, getComputedStyle(e.closest('section')).backgroundColor]"
    )
    assert abs(_light(text) - _light(ground)) > 0.5
    card.scroll_into_view_if_needed()
    lab_page.picture(card, f"explanation-{theme.split()[-1].lower()}")
    lab_page.picture(cell, f"traceback-{theme.split()[-1].lower()}")
    card.locator("summary").last.click()
    assert "Traceback (most recent call last)" in traceback.inner_text()
    assert "\x1b" not in traceback.inner_text()


def _light(rgb: str) -> float:
    import re

    return sum(int(part) for part in re.findall(r"\d+", rgb)[:3]) / 765
