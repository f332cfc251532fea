"""A student's session in JupyterLab: the printed notebook, a wrong answer, a right one, and the card's words."""

import json
import re
from pathlib import Path

import pytest
from lab_page import LabPage

from jaxguide.course.book import load_book
from jaxguide.course.exercise import Key
from jaxguide.course.key import load_key
from jaxguide.course.places import places

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

LESSON = "random_numbers"
EXERCISE = "two_samples"
CARD = ".jp-OutputArea-output section"


@pytest.fixture(scope="module")
def key() -> Key:
    book = load_book(places().exercises / f"{LESSON}.py")
    load_key(places().solutions / f"{LESSON}.py", book)
    found = next(exercise.key for exercise in book.exercises if exercise.name == EXERCISE)
    assert found is not None
    return found


def luminance(rgb: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", rgb)[:3]]
    r, g, b = ((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_a_wrong_and_a_right_answer_get_their_cards(lab_page: LabPage, key: Key) -> None:
    lab_page.open(f"{LESSON}.ipynb")
    setup = lab_page.run("from jaxguide.lesson import")
    assert "ready" in setup.inner_text()
    lab_page.run("import jax.numpy as jnp")

    check = f"\n\ncheck({EXERCISE})"
    started = lab_page.run(f"check({EXERCISE})")
    assert "Not started yet" in started.locator(CARD).inner_text()

    cell = lab_page.run(f"check({EXERCISE})", key.wrong[0].source.strip() + check)
    assert cell.locator(CARD).count() == 1
    words = cell.locator(CARD).inner_text()
    assert re.search("✗ (Not right yet|Partly right)|◐ Partly right", words)
    assert "✗ failed" in words
    assert "\nCall\n" in words
    assert f"hint({EXERCISE})" in words
    lab_page.picture(cell, "wrong-light")

    cell = lab_page.run(f"check({EXERCISE})", key.answer.source.strip() + check)
    words = cell.locator(CARD).inner_text()
    assert "✓ Visible checks passed" in words
    assert "failed" not in words
    assert cell.locator(".jp-OutputArea-output").count() == 1
    lab_page.picture(cell, "right-light")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_card_reads_well_in_both_themes_also_when_the_notebook_is_not_trusted(
    lab_page: LabPage, key: Key, theme: str
) -> None:
    name = theme.split()[-1].lower()
    lab_page.open(f"{LESSON}.ipynb", theme)
    lab_page.run("from jaxguide.lesson import")
    lab_page.run("import jax.numpy as jnp")
    cell = lab_page.run(f"check({EXERCISE})", f"{key.wrong[0].source.strip()}\n\ncheck({EXERCISE})")
    assert_readable(lab_page, CARD)
    lab_page.picture(cell, f"wrong-{name}")
    lab_page.save()

    distrust(lab_page.lab.workspace / f"{LESSON}.ipynb")
    lab_page.open("distrusted.ipynb", theme)
    lab_page.page.wait_for_selector(CARD)
    source = lab_page.page.locator(CARD).evaluate("card => card.outerHTML")
    assert "var(--jp-layout-color1" not in source, "the sanitizer was not at work"
    assert_readable(lab_page, CARD)
    words = lab_page.page.locator(CARD).inner_text()
    assert "✗ failed" in words
    assert "Expected" in words or "Error" in words or "Call" in words
    lab_page.picture(lab_page.cell(f"check({EXERCISE})"), f"untrusted-{name}")


def assert_readable(lab_page: LabPage, selector: str) -> None:
    """Every text of the card stands out from what is behind it, and nothing is wider than the card."""
    seen = lab_page.page.locator(selector).evaluate(
        """card => [...card.querySelectorAll('*')].filter(e => e.innerText).map(e => {
            let behind = e;
            while (behind && /rgba?\\(.*, 0\\)|transparent/.test(getComputedStyle(behind).backgroundColor))
                behind = behind.parentElement;
            return [e.innerText, getComputedStyle(e).color,
                    behind ? getComputedStyle(behind).backgroundColor : 'rgb(255, 255, 255)',
                    e.getBoundingClientRect().right - card.getBoundingClientRect().right]
        })"""
    )
    assert seen
    for words, colour, behind, beyond in seen:
        light, dark = sorted([luminance(colour), luminance(behind)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{words!r}: {colour} on {behind}"
        assert beyond <= 1, f"{words!r} is wider than the card"


def distrust(notebook: Path) -> None:
    """Copy a notebook with its outputs in such a way that JupyterLab has no reason to trust them."""
    content = json.loads(notebook.read_text())
    for cell in content["cells"]:
        cell["metadata"].pop("trusted", None)
        cell["source"] = [*cell["source"], "\n"]
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"]["text/html"] = [*output["data"]["text/html"], "<!-- from elsewhere -->"]
    notebook.with_name("distrusted.ipynb").write_text(json.dumps(content))
