"""Test cards in JupyterLab: after a wrong and a right answer in a printed notebook, trusted or not, in both themes."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_page import LabPage
from needs import ON_THE_NEWEST

from jaxguide.course.books.book import load_book
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.key import load_key
from jaxguide.course.exercise import ExerciseKey

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.browser, ON_THE_NEWEST, pytest.mark.timeout(420)]

LESSON = "random_numbers"
EXERCISE = "two_samples"
CARD = ".jp-OutputArea-output section"


@pytest.fixture(scope="module")
def key() -> ExerciseKey:
    book = load_book(course_folders().exercises / f"{LESSON}.py")
    load_key(course_folders().solutions / f"{LESSON}.py", book)
    found = next(exercise.key for exercise in book.exercises if exercise.name == EXERCISE)
    assert found is not None
    return found


def luminance(rgb: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", rgb)[:3]]
    r, g, b = ((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_students_answers_get_cards_that_can_be_read(lab_page: LabPage, key: ExerciseKey, theme: str) -> None:
    name = theme.split()[-1].lower()
    check = f"check({EXERCISE})"
    lab_page.open(f"{LESSON}.ipynb", theme)
    setup = lab_page.run("from jaxguide.lesson import")
    assert f"({LESSON})" in setup.locator(CARD).inner_text()
    lab_page.run("import jax.numpy as jnp")

    card = lab_page.run(check).locator(CARD)
    assert "○ Not started yet" in card.inner_text()
    assert_readable(card)

    cell = lab_page.run(check, f"{key.wrong[0].source.strip()}\n\n{check}")
    assert cell.locator(".jp-OutputArea-output").count() == 1, "there must be one card and no other output"
    card = cell.locator(CARD)
    assert_failure(card)
    lab_page.picture(cell, f"wrong-{name}")
    lab_page.save()
    distrust(lab_page.lab.workspace / f"{LESSON}.ipynb")

    cell = lab_page.run(check, f"{key.answer.source.strip()}\n\n{check}")
    card = cell.locator(CARD)
    card.get_by_role("heading", name="✓ Right so far: ").wait_for()
    assert "grading tries more than this check did" in card.inner_text()
    assert "✗" not in card.inner_text()
    assert_readable(card)
    lab_page.picture(cell, f"right-{name}")

    lab_page.open("distrusted.ipynb", theme)
    cell = lab_page.cell(check)
    card = cell.locator(CARD)
    card.wait_for()
    source = card.evaluate("card => card.outerHTML")
    assert "var(--jp-layout-color1" not in source, "JupyterLab's sanitizer was not active"
    assert_failure(card)
    lab_page.picture(cell, f"untrusted-{name}")


def assert_failure(card: "Locator") -> None:
    words = card.inner_text()
    assert re.search("✗ Not right yet|◐ Partly right", words)
    assert "\nCall\n" in words
    assert f"hint({EXERCISE})" in words
    assert "✗ failed" not in words
    # The sanitizer keeps what folds the list of checks, and what highlights a call.
    card.locator("details > summary").click()
    assert "✗ failed" in card.inner_text()
    assert card.locator("code span").count()
    assert_readable(card)


def assert_readable(card: "Locator") -> None:
    """Assert that all text on the card stands out from its background, and that nothing is wider than the card."""
    seen = card.evaluate(
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
    """Copy a notebook so that JupyterLab does not trust the outputs of the copy."""
    content = json.loads(notebook.read_text())
    for cell in content["cells"]:
        cell["metadata"].pop("trusted", None)
        cell["source"] = [*cell["source"], "\n"]
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"]["text/html"] = [*output["data"]["text/html"], "<!-- from elsewhere -->"]
    notebook.with_name("distrusted.ipynb").write_text(json.dumps(content))
