"""Test the index in JupyterLab: it is shown as a page, leads to the next exercise, and follows while it is open."""

import re
from typing import TYPE_CHECKING

import pytest
from lab_page import IN_FRONT, LabPage
from needs import ON_THE_NEWEST

from jaxguide.course.books.library import students_course
from jaxguide.student.index import kept_progress

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.browser, ON_THE_NEWEST, pytest.mark.timeout(420)]

LESSON = "random_numbers"
DRAWS = "jax.random.normal(key_a, (n,)), jax.random.normal(key_b, (m,))"
CHECK = "check(two_samples)"
RIGHT = f"def two_samples(key, n, m):\n    key_a, key_b = jax.random.split(key)\n    return {DRAWS}\n\n{CHECK}"
PAGE = ".jp-MarkdownViewer .jp-RenderedMarkdown"
# Below the toolbar, and with room for the task.
LANDED = """heading => {
    const panel = heading.closest(".jp-Notebook").getBoundingClientRect(), { top } = heading.getBoundingClientRect();
    return panel.top <= top && top < panel.top + panel.height / 2;
}"""


def test_it_leads_to_the_next_exercise_and_shows_what_passed_without_being_reloaded(lab_page: LabPage) -> None:
    course, lab, page = students_course(), lab_page.lab, lab_page.page
    last, book = course.books[LESSON].exercises[-1], course.books[LESSON]
    kept_progress(lab.workspace, course.identity, students_course).move_to(last.name)
    page.goto(f"{lab.address}/lab/workspaces/jaxguide/tree/index.md?token={lab.token}")
    index = page.locator(PAGE)
    index.get_by_role("heading", name="Lessons").wait_for()
    assert "jaxguide keeps" not in index.inner_text()
    assert index.get_by_role("row").count() == 1 + len(course.books)
    assert share(index, book.title) == 0
    index.get_by_role("progressbar", name="All lessons: 0 of ").wait_for()

    index.get_by_role("link", name=last.title).click()
    page.wait_for_selector(f'{IN_FRONT} .jp-Notebook-ExecutionIndicator[data-status="idle"]')
    heading = page.locator(f"{IN_FRONT} h3").filter(has_text=last.title)
    heading.wait_for()
    page.wait_for_function(LANDED, arg=heading.element_handle())

    lab_page.run("from jaxguide.lesson import")
    lab_page.run("import jax.numpy as jnp")
    assert "Right so far" in lab_page.run(CHECK, RIGHT).inner_text()
    page.get_by_role("tab", name="index.md").click()
    core = [exercise.is_more for exercise in book.exercises].count(False)
    index.get_by_role("row", name=book.title).get_by_text(f"1 of {core}").wait_for()
    assert share(index, book.title) == pytest.approx(1 / core)


def share(index: "Locator", title: str) -> float:
    """Return the share that the bar of a lesson shows, and check that it is seen."""
    bar = index.get_by_role("row", name=re.compile(re.escape(title))).get_by_role("progressbar")
    box = bar.bounding_box()
    assert box is not None
    assert box["width"] > 50
    found: float = bar.evaluate("bar => bar.position")
    return found
