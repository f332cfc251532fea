"""Test a drawn program in a browser: all text is inside the drawing, readable in light and dark, and never small."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from needs import ON_THE_NEWEST

from jaxguide.tracing import program

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
    path.write_text(program(steps, jnp.ones((3, 3)), jnp.ones((5, 3))).drawing.svg)
    page = browser.new_page(color_scheme=scheme)
    page.goto(path.as_uri())
    assert page.evaluate("() => document.querySelectorAll('text').length") > 20
    assert page.evaluate(OUTSIDE) == []
    words, paper = (sum(map(int, c.strip("rgb()").split(","))) for c in page.evaluate(COLOURS))
    assert (words > paper) == dark
    assert abs(words - paper) > 500
    page.close()


# How JupyterLab styles a drawing in an output.
LAB_STYLE = "<style>svg { max-width: 100%; height: auto; } div { box-sizing: border-box; }</style>"
SMALLEST = """() => Math.min(...[...document.querySelectorAll("text")].map(
    words => parseFloat(words.getAttribute("font-size")) * words.getScreenCTM().a
))"""
SCROLLS = "() => [...document.querySelectorAll('div')].map(div => div.scrollWidth > div.clientWidth)"


@pytest.mark.browser
@ON_THE_NEWEST
@pytest.mark.parametrize("width", [1280, 700])
def test_a_wide_drawing_scrolls_and_keeps_the_size_of_its_text(browser: "Browser", width) -> None:
    def long_names(parameters_of_the_first_layer, parameters_of_the_second_layer):
        weights = parameters_of_the_first_layer["weights"] @ parameters_of_the_second_layer["weights"]
        return jax.lax.scan(lambda carry, x: (jnp.tanh(carry + x + weights.sum()), carry), jnp.zeros(3), weights)

    picture = program(long_names, {"weights": jnp.ones((3, 3))}, {"weights": jnp.ones((3, 3))}).drawing
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_content(LAB_STYLE + picture.html + picture.html)
    assert page.evaluate(SMALLEST) >= 11
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.evaluate("() => document.querySelectorAll('[id]').length") == 0
    if width == 700:
        assert page.evaluate(SCROLLS) == [True, True]
    page.close()
