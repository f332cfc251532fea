"""Write results as JUnit XML for continuous integration: one suite per student, one case per exercise."""

import re
import xml.etree.ElementTree as ET

from jaxguide.base.clean import clean
from jaxguide.course.verdict import Verdict
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
    cases = [_case(row, mark) for mark in row.marks.values() if mark.result is not None]
    if not cases or (row.state is State.UNREADABLE and row.score is None):
        cases.append(_file_case(row))
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="state", value=_xml(row.state.value))
    suite.extend(cases)
    found = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    suite.set("tests", str(len(cases)))
    for name, tag in found.items():
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(one.wall_s for one in row.submissions):.3f}")
    return suite


def _case(row: Row, mark: Mark) -> ET.Element:
    assert mark.result is not None
    column, result = mark.column, mark.result
    case = ET.Element("testcase", classname=_xml(f"{row.student}.{column.lesson}"), name=_xml(column.name))
    if mark.score is None:
        why = next((one.not_graded[column.name] for one in row.submissions if column.name in one.not_graded), mark.said)
        _mark_case(case, "error", mark.said, why)
    elif result.verdict is Verdict.NOT_ATTEMPTED and not mark.score:
        ET.SubElement(case, "skipped", message=_xml(mark.said))
    elif mark.score < column.points:
        failure = result.first_failure
        said = failure.message or failure.fact if failure else result.note
        points = f"{mark.score:g} of {column.points:g} points"
        _mark_case(case, "failure", mark.said, f"{points}\n{said}")
    return case


def _file_case(row: Row) -> ET.Element:
    """Return a case for a whole submission: no exercise was graded, or an unreadable file may contain answers."""
    case = ET.Element("testcase", classname=_xml(row.student), name="submission")
    if row.state is State.ABSENT:
        ET.SubElement(case, "skipped", message=State.ABSENT.value)
    elif row.state is not State.GRADED:
        whys = [why for one in row.submissions for why in (one.unreadable, *one.not_graded.values()) if why]
        _mark_case(case, "error", row.state.value, "\n".join(whys))
    return case


def _mark_case(case: ET.Element, tag: str, kind: str, text: str) -> None:
    first = text.strip().split("\n")[-1] if tag == "failure" else text.strip().split("\n")[0]
    ET.SubElement(case, tag, type=_xml(kind), message=_xml(first, 300)).text = _xml(text, 2000)


def _xml(text: str, limit: int = 500) -> str:
    return _NO_XML.sub("\ufffd", clean(text, limit))
