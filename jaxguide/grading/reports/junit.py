"""Write results as JUnit XML for continuous integration: one suite per student, one case per exercise."""

import re
import xml.etree.ElementTree as ET

from jaxguide.base.clean import clean
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports.marks import Mark, Row, rows_of

# Characters that `clean` keeps but XML 1.0 does not allow.
_NO_XML = re.compile("[\ufffe\uffff]")


def junit_xml(batch: BatchResult) -> str:
    """Return `junit.xml`: lost points are failures, ungraded exercises are errors, unattempted ones are skipped."""
    suites = ET.Element("testsuites", name=_xml(batch.course_name or "jaxguide"))
    suites.extend(_suite(row) for row in rows_of(batch))
    for name in ("tests", "failures", "errors", "skipped"):
        suites.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(row: Row) -> ET.Element:
    suite = ET.Element("testsuite", name=_xml(row.student))
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="state", value=_xml(row.state.value))
    cases = []
    for mark in row.marks.values():
        if mark.result is not None:
            place = f"{row.student}.{mark.column.lesson}"
            cases.append(_case(place, mark.column.name, *_outcome(row, mark, mark.result)))
    if not cases or (row.state is State.UNREADABLE and row.score is None):  # there may be answers in a file
        whys = [why for one in row.submissions for why in (one.unreadable, *one.not_graded.values()) if why]
        tag = {State.ABSENT: "skipped", State.GRADED: ""}.get(row.state, "error")
        cases.append(_case(row.student, "submission", tag, row.state.value, "\n".join(whys)))
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    for name, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(one.wall_s for one in row.submissions):.3f}")
    return suite


def _outcome(row: Row, mark: Mark, result: ExerciseResult) -> tuple[str, str, str]:
    """Return the tag that tells how an exercise came out, '' if it passed, its kind and its text."""
    name, failure = mark.column.name, result.first_failure
    if mark.score is None:
        return (
            "error",
            mark.said,
            next((o.not_graded[name] for o in row.submissions if name in o.not_graded), mark.said),
        )
    if result.verdict is Verdict.NOT_ATTEMPTED and not mark.score:
        return "skipped", mark.said, ""
    said = failure.message or failure.fact if failure else result.note
    tag = "failure" if mark.score < mark.column.points else ""
    return tag, mark.said, f"{mark.score:g} of {mark.column.points:g} points\n{said}"


def _case(place: str, name: str, tag: str, kind: str, text: str) -> ET.Element:
    case = ET.Element("testcase", classname=_xml(place), name=_xml(name))
    lines = text.strip().split("\n")
    if tag == "skipped":
        ET.SubElement(case, tag, message=_xml(kind))
    elif tag:
        message = _xml(lines[-1 if tag == "failure" else 0], 300)
        ET.SubElement(case, tag, type=_xml(kind), message=message).text = _xml(text, 2000)
    return case


def _xml(text: str, limit: int = 500) -> str:
    return _NO_XML.sub("\ufffd", clean(text, limit))
