"""Test pictures in JupyterLab on a narrow page, with two notebooks open: none breaks, shrinks or loses its indents."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_page import IN_FRONT, LabPage
from needs import ON_THE_NEWEST

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.browser, ON_THE_NEWEST, pytest.mark.timeout(420)]

SETUP = "import jax, jax.numpy as jnp\nfrom jaxguide import callbacks, keys, tracing"
KEYS = """def noise(key):
    noise_key, dropout_key, shuffle_key = jax.random.split(key, 3)
    noise = jax.random.normal(noise_key, (3,)) + jax.random.bernoulli(dropout_key, 0.5, (3,))
    return jax.random.permutation(jax.random.fold_in(shuffle_key, 7), noise)

keys.check_keys(noise, jax.random.key(0)).tree"""
PROGRAM = """def steps(weights_of_the_layer, inputs_of_all_steps):
    return jax.lax.scan(lambda c, x: (jnp.tanh(weights_of_the_layer @ c + x), c), jnp.zeros(3), inputs_of_all_steps)

tracing.program(steps, jnp.ones((3, 3)), jnp.ones((5, 3)))"""
TIMELINE = """def note_each_of_the_values(x): pass

def noted(xs):
    return jax.lax.map(lambda x: (jax.debug.callback(note_each_of_the_values, x, ordered=True), x)[1], xs)

callbacks.callback_timeline(noted, jnp.arange(8.0))"""
LINES = """def layers(weights, biases, inputs):
    for weight, bias in zip(weights, biases):
        if weight.ndim == 2:
            inputs = jnp.tanh(inputs @ weight + bias) * jnp.float32(len(weights)) + inputs.mean(0, keepdims=True)
    return inputs

tracing.show_lines(layers, [jnp.ones((3, 3))], [jnp.ones(3)], jnp.ones((2, 3)))"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_pictures_of_two_notebooks_in_one_narrow_page_can_be_read(lab_page: LabPage, theme: str) -> None:
    for name in ("first", "second"):
        write_notebook(lab_page.lab.workspace / f"{name}.ipynb")
    lab_page.open("first.ipynb", theme)
    run_all(lab_page, f"first-{theme.split()[-1]}")
    lab_page.open_too("second.ipynb")
    lab_page.page.set_viewport_size({"width": 700, "height": 900})
    assert_indented(run_all(lab_page, f"second-{theme.split()[-1]}"))
    assert lab_page.page.locator("svg[role=img]").count() == 4, "both notebooks are to be in the page"
    assert lab_page.page.locator("svg[role=img] [id], svg[role=img][id]").count() == 0, "notebooks would share it"


def write_notebook(path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate((SETUP, KEYS, PROGRAM, TIMELINE, LINES))
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


def run_all(lab_page: LabPage, name: str) -> "Locator":
    """Draw each picture of the notebook in front, and return the cell of the last."""
    lab_page.run("import jax, jax.numpy")
    for words in ("keys.check_keys", "callbacks.callback_timeline"):
        cell = lab_page.run(words)
        assert_whole(cell.locator(".jp-OutputArea-output svg[role=img]"))
        lab_page.picture(cell, f"{name}-{words}")
    for words in ("tracing.program", "tracing.show_lines"):
        cell = lab_page.run(words)
        lab_page.picture(cell, f"{name}-{words}")
    panel = lab_page.page.locator(f"{IN_FRONT} .jp-Notebook")
    beyond = "panel => [...panel.querySelectorAll('.jp-OutputArea-output')].map(o => o.scrollWidth - o.clientWidth)"
    assert max(panel.evaluate(beyond)) <= 1
    return cell


def assert_whole(drawing: "Locator") -> None:
    """Assert that a drawing has its own size, scrolls if that is too wide, and that its text is not small."""
    drawing.wait_for()
    scale, smallest = drawing.evaluate(
        """svg => [svg.getScreenCTM().a,
            Math.min(...[...svg.querySelectorAll('text')].map(words => parseFloat(words.getAttribute('font-size'))))]"""
    )
    assert scale == pytest.approx(1, abs=0.01)
    assert smallest >= 10
    own, scrolls = drawing.evaluate("svg => [svg.clientWidth, svg.parentElement.scrollWidth]")
    assert scrolls >= own


def assert_indented(cell: "Locator") -> None:
    """Assert that the long line of code continues to the right of where its code begins."""
    lefts = cell.locator("pre", has_text="jnp.tanh(").last.evaluate(
        """pre => {
            const begin = pre.textContent.indexOf('inputs =');
            const code = document.createRange();
            code.setStart(pre.firstChild, begin);
            code.setEnd(pre.firstChild, pre.textContent.length);
            return [...code.getClientRects()].map(line => line.left);
        }"""
    )
    first, *more = lefts
    assert more
    assert min(more) > first
