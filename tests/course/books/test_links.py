"""Test that a link from one lesson to another leads to a heading."""

import re

from jaxguide.course.books.library import students_course


def test_links_between_lessons_lead_to_headings() -> None:
    notebooks = students_course().folders.notebooks
    texts = {path.stem: path.read_text() for path in notebooks.glob("*.py")}
    targets = {target for text in texts.values() for target in re.findall(r"\]\((\w+)\.ipynb#([^)]+)\)", text)}
    assert targets
    for lesson, anchor in targets:
        heads = re.findall(r"^# #+ (.*)$", texts[lesson], re.MULTILINE)
        # As JupyterLab makes anchors.
        assert anchor in {head.replace(" ", "-") for head in heads}
