"""The instructor's `report.html`: one page for the whole class, which can be projected down to where names begin."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from jaxguide.base.text import _, plural
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.isolation.tier import PROCESS
from jaxguide.grading.reports import class_sections, record_sections
from jaxguide.grading.reports.charts import PATTERNS
from jaxguide.grading.reports.marks import rows_of
from jaxguide.grading.reports.page import page, text


def report_html(batch: BatchResult, names: bool = False) -> str:
    """Return the instructor's page.

    Args:
        batch: what was graded.
        names: whether misconceptions say who met them; else only the folded lists at the end name anybody.
    """
    rows = rows_of(batch)
    title = _("Grading of {course}").format(course=batch.course_name) if batch.course_name else _("Grading of a class")
    parts = [
        PATTERNS,
        f"<header><h1>{text(title, 200)}</h1>",
        f'<p class="muted">{text(record_sections.count_line(batch, rows))}</p></header>',
        *_warnings(batch),
        class_sections.tiles(rows),
        *class_sections.marks_section(rows),
        *class_sections.exercises_section(batch),
        *class_sections.misconceptions_section(batch, names),
        *class_sections.effort_section(batch),
        *record_sections.how_section(batch),
        *record_sections.checks_section(batch),
        *record_sections.lists_section(batch, rows),
        *record_sections.students_section(batch, rows),
        *record_sections.similar_section(_similar(batch)),
    ]
    return page(title, parts, class_sections.STYLE)


def _warnings(batch: BatchResult) -> Iterator[str]:
    missing = sum(not one.is_complete for one in batch.counted if one.state.value == "not graded")
    if missing:
        message = (
            "{count} submission is not graded in full: no mark stands in place of one. Grade again to fill the gap."
        )
        many = (
            "{count} submissions are not graded in full: no mark stands in place of one. Grade again to fill the gaps."
        )
        yield f'<p class="panel notice">{text(plural(message, many, missing))}</p>'
    above = sum(len(one.above_the_points) for one in batch.counted)
    if above:
        message = "{count} mark given by hand is above what its exercise gives. If no bonus is meant, change it."
        many = "{count} marks given by hand are above what their exercises give. If no bonus is meant, change them."
        yield f'<p class="panel notice">{text(plural(message, many, above))}</p>'
    if batch.tier == PROCESS:
        warning = _("Weak isolation.") + " " + record_sections.tier_sentence(PROCESS)
        yield f'<p class="panel notice bad">{text(warning)}</p>'


def _similar(batch: BatchResult) -> Iterator[tuple[str, list[str], str]]:
    for group in batch.similar:
        plain: dict[str, Any] = group if isinstance(group, dict) else dataclasses.asdict(group)
        yield (
            str(plain.get("exercise", "")),
            [str(name) for name in plain.get("students", ())],
            str(plain.get("says", "")),
        )
