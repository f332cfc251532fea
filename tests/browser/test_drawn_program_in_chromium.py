"""Test a drawn program in a browser: all text is inside the drawing, and readable in light and dark."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from needs import ON_THE_NEWEST

from jaxguide.tracing import draw_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OUTSIDE = """() => {
    const frame = document.documentElement.getBoundingClientRect();
    return [...document.querySelectorAll("text")].filter(words => {
        const box = words.getBoundingClientRect();
        return box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom;
    }).map(words => words.textContent);
}"""
COLOURS = (
    "() => { const style = getComputedStyle(document.documentElement); return [style.color, style.backgroundColor] }"
)


@pytest.mark.browser
@ON_THE_NEWEST
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_every_word_is_inside_and_stands_out(browser: "Browser", tmp_path, scheme, dark) -> None:
    def steps(w, xs):
        return jax.lax.scan(lambda c, x: (jnp.tanh(w @ c + x), c.sum()), jnp.zeros(3), xs)

    path = tmp_path / "steps.svg"
    path.write_text(draw_program(steps, jnp.ones((3, 3)), jnp.ones((5, 3))).svg)
    page = browser.new_page(color_scheme=scheme)
    page.goto(path.as_uri())
    assert page.evaluate("() => document.querySelectorAll('text').length") > 20
    assert page.evaluate(OUTSIDE) == []
    words, paper = (sum(map(int, c.strip("rgb()").split(","))) for c in page.evaluate(COLOURS))
    assert (words > paper) == dark
    assert abs(words - paper) > 500
    page.close()
