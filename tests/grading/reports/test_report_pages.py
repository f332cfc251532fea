"""Test that each page shows its reader the right content, as one safe HTML file that fetches nothing."""

import copy
import dataclasses
import enum
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import pytest
from made_class import EVIL, EXERCISES, SECRET, exercise, made_class

import jaxguide.grading.reports
from jaxguide.course.cards import Card
from jaxguide.course.limits import Limits, parse_limits, write_limits
from jaxguide.course.verdict import Outcome, Verdict
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.similarity import SimilarGroup
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports.feedback import feedback_html, feedback_text, feedback_view
from jaxguide.grading.reports.marks import Row, rows_of
from jaxguide.grading.reports.overview import (
    distribution_of,
    misconceptions_of,
    rates_of,
    report_html,
    report_view,
    reproduce,
)
from jaxguide.grading.reports.page import rendered

VOID = {"meta", "br"}
REPORTS = Path(jaxguide.grading.reports.__file__).parent


class _Page(HTMLParser):
    """Parse a page into elements and text, and fail if elements are not properly nested."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words += data


def _row(batch: BatchResult, student: str) -> Row:
    return next(row for row in rows_of(batch) if row.student == student)


@pytest.fixture(params=["report", "report with names", "Ada", "Fay", "Hal", EVIL, "Nobody"])
def page(request: pytest.FixtureRequest) -> str:
    batch = made_class()
    if request.param.startswith("report"):
        return report_html(batch, names=request.param != "report")
    return feedback_html(_row(batch, request.param), batch)


def test_a_page_is_one_file_without_scripts_that_fetches_nothing(page: str) -> None:
    parsed = _Page(page)
    names = {name for name, _attributes in parsed.elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}
    for _name, attributes in parsed.elements:
        assert not [key for key in attributes if key.startswith("on")]
        assert "src" not in attributes
        assert re.match("feedback/|#", attributes.get("href") or "#")
    assert "url(" not in re.sub(r"url\(#\w+\)", "", page)
    assert "@import" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page


def test_a_page_holds_no_control_character_and_no_markup_of_a_student(page: str) -> None:
    assert not {c for c in page if ord(c) < 32} - {"\n"}
    assert "\u202e" not in page
    assert "<script" not in page.casefold()
    assert "&amp;lt;" not in page


def test_what_a_student_wrote_is_shown_as_they_wrote_it() -> None:
    assert "</pre><script>alert(1)</script>" in _Page(report_html(made_class())).words


@pytest.fixture(params=["report", "report with other misconceptions", "Ada", "Bo", "Fay", "Hal", EVIL, "=Absent"])
def view(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """A template's name and what it is given, with something to show in every place."""
    batch = made_class()
    batch.only = list(EXERCISES)
    batch.similar = [SimilarGroup("random_walk", ["Ada", "Bo"], 1.0, "both loop")]
    batch.overrides *= 2
    if not request.param.startswith("report"):
        return "feedback.html", feedback_view(_row(batch, request.param), batch, reveal=True)
    if request.param != "report":
        checks = [check for one in batch.submissions for result in one.results for check in result.checks]
        for number, check in enumerate(check for check in checks if check.misconceptions):
            check.says = (f"Does wrong {number % 20}.",)
    return "report.html", report_view(batch, names=True)


def _planted(value: Any, plants: list[str]) -> Any:
    """Return the same with hostile text, another each time, in place of every text that is not empty."""
    if isinstance(value, enum.Enum) or not value:
        return value
    if isinstance(value, str):
        plants.append(f"<i id=n{len(plants)}>\"'>&amp;")
        return plants[-1]
    if isinstance(value, Card):
        return Card(_planted(value.result, []), value.reveal)
    if isinstance(value, dict):
        return {name: _planted(child, plants) for name, child in value.items()}
    if isinstance(value, list | tuple | Iterator):
        return [_planted(child, plants) for child in value]
    if dataclasses.is_dataclass(value):
        changed = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(changed, field.name, _planted(getattr(value, field.name), plants))
        return changed
    assert isinstance(value, int | float), value
    return value


def test_hostile_text_in_any_place_of_a_page_is_shown_as_text(view: tuple[str, dict[str, Any]]) -> None:
    template, values = view
    plants: list[str] = []
    parsed = _Page(rendered(template, _planted(values, plants)))
    assert "i" not in {name for name, _attributes in parsed.elements}
    shown = {text for _name, attributes in parsed.elements for text in attributes.values()} | {parsed.words}
    together = "\n".join(filter(None, shown))
    shown_plants = sum(plant in together for plant in plants)
    # The report gets whole results of checks, of which it does not show everything.
    assert shown_plants > 500 if template == "report.html" else shown_plants == len(plants) > 0


def test_a_page_is_given_every_value_that_it_names(view: tuple[str, dict[str, Any]]) -> None:
    template, values = view
    for name in values:
        with pytest.raises(jinja2.UndefinedError, match=name):
            rendered(template, {other: value for other, value in values.items() if other != name})


def test_only_cards_and_prose_are_trusted_to_be_html() -> None:
    for path in (REPORTS / "templates").iterdir():
        assert re.findall(r"\| *safe|autoescape|Markup|__html__", path.read_text("utf-8")) == [], path
    trusted = {path.name: re.findall(r"Markup\((.*)\),\n", path.read_text("utf-8")) for path in REPORTS.glob("*.py")}
    assert {name: found for name, found in trusted.items() if found} == {
        "page.py": ["prose_html(clean(str(words), limit))", "shown.html()"]
    }


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "panel"])
def test_text_has_a_contrast_of_four_and_a_half_and_shapes_of_three(mode: str, ground: str) -> None:
    light, dark = report_html(BatchResult([])).split("@media(prefers-color-scheme:dark)")[:2]
    colours = dict(re.findall(r"--(\w+):(#\w{6})", light if mode == "light" else dark))
    for name in ("text", "muted", "link"):
        assert _contrast(colours[name], colours[ground]) >= 4.5, name
    for name in ("good", "partly", "bad", "quiet"):
        assert _contrast(colours[name], colours[ground]) >= 3, name


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_chart_is_described() -> None:
    batch = made_class()
    said = [one["aria-label"] or "" for _name, one in _Page(report_html(batch)).elements if one.get("role") == "img"]
    assert said[0].startswith("Marks of 25 students by share of the points; ")
    assert sum(int(count) for count in re.findall(r"%: (\d+)", said[0])) == 25
    for rate, words in zip(rates_of(batch), said[1:], strict=True):
        assert sum(int(count) for count in re.findall(r"\d+", words)) == sum(rate["counts"].values())


def test_a_student_reads_nothing_of_what_a_hidden_check_saw() -> None:
    batch = made_class()
    seen = 0
    for row in rows_of(batch):
        failed = [c for one in row.submissions for r in one.results for c in r.checks if c.got == SECRET]
        for said in (feedback_html(row, batch), feedback_text(row, batch)):
            assert "0.4127" not in said
            assert "9.75" not in said
            assert "check raised" not in said
        if failed:
            seen += 1
            assert "It holds for any input." in feedback_text(row, batch)
            assert failed[0].idea in " ".join(feedback_text(row, batch).split())
            assert "0.4127" in feedback_html(row, batch, reveal=True)
            assert "0.4127" in feedback_text(row, batch, reveal=True)
    assert seen > 3


def test_a_student_reads_points_what_was_mended_and_why_there_is_no_mark() -> None:
    batch = made_class()
    bo = feedback_text(_row(batch, "Bo"), batch)
    assert "Your instructor gave these points. the idea is right" in " ".join(bo.split())
    assert "3 of 3  ✓" in bo
    assert "old.ipynb does not count" in feedback_text(_row(batch, "Ada"), batch)
    assert "magic or shell line" in feedback_html(_row(batch, "Hal"), batch)
    fay = feedback_text(_row(batch, "Fay"), batch)
    assert fay.count("not your fault") == 2
    assert "Dropout that differs by row       \u2013 of 3  Not graded yet" in fay
    assert "cut off" in feedback_text(_row(batch, EVIL), batch)
    assert "Nothing was handed in." in feedback_text(_row(batch, "Nobody"), batch)


def test_feedback_begins_with_a_table_whose_rows_lead_to_the_cards() -> None:
    page = feedback_html(_row(made_class(), "Dag"), made_class())
    table = page.split("</table>")[0]
    assert "<article" not in table
    parsed = _Page(page)
    links = [attributes["href"] for name, attributes in parsed.elements if name == "a"]
    assert links == [f"#{name}" for name in EXERCISES]
    cards = [f"#{attributes['id']}" for name, attributes in parsed.elements if name == "article"]
    assert sorted(cards) == sorted(links)
    assert [attributes["scope"] for name, attributes in parsed.elements if name == "th"] == ["col"] * 4 + ["row"] * 5
    assert "Both draws use the same key" in table
    assert "It computed for more than 30 s." in table


def test_feedback_shows_the_most_lost_points_first_and_folds_what_is_not_wrong() -> None:
    batch = made_class()
    row = _row(batch, "Dag")
    row.submissions[0].results[2] = exercise("random_walk", Verdict.PASSED)
    row.submissions[0].results[3] = exercise("guess_shape", Verdict.NOT_ATTEMPTED)
    row = _row(batch, "Dag")
    below = feedback_html(row, batch).split("</table>")[1]
    assert re.findall('<h2>(.*)</h2>|<summary>(.*) <span|id="(.*)"', below) == [
        ("What went wrong, the most points first", "", ""),
        ("", "", "dropout_rows"),  # 3 points lost
        ("", "", "two_samples"),  # 2 points, and first in the lesson
        ("", "", "train_step"),
        ("", "Passed", ""),
        ("", "", "random_walk"),
        ("", "Not attempted", ""),
        ("", "", "guess_shape"),
    ]
    table, *cards = feedback_text(row, batch).split("-" * 40)[1:]
    assert [card.strip().split("(")[1].split(")")[0] for card in cards] == ["dropout_rows", "two_samples", "train_step"]
    assert "A random walk under `scan`        3 of 3  ✓" in table
    assert "What shape comes out?             0 of 1  ○" in table


def test_points_by_hand_stand_in_the_table_with_their_reason() -> None:
    batch = made_class()
    assert (
        "Your instructor gave these points. the idea is right"
        in feedback_html(_row(batch, "Bo"), batch).split("</table>")[0]
    )
    lowered = dataclasses.replace(batch, overrides=[dataclasses.replace(batch.overrides[0], points=1.0)])
    assert "random_walk" in feedback_html(_row(lowered, "Bo"), lowered).split("<details class")[0].split("</table>")[1]


def test_a_student_reads_of_nobody_else() -> None:
    batch = made_class()
    others = {row.student for row in rows_of(batch)} - {"Zoe"}
    assert not [
        name for name in others if re.search(rf"\b{re.escape(name)}\b", feedback_text(_row(batch, "Zoe"), batch))
    ]


def test_the_report_counts_what_the_class_did() -> None:
    batch = made_class()
    rows = rows_of(batch)
    marks = distribution_of(rows)
    assert marks is not None
    assert sum(count for count, _height in marks["bars"]) == sum(row.score is not None for row in rows) == 25
    rate = next(one for one in rates_of(batch) if one["column"].name == "dropout_rows")
    passed = sum(r.verdict is Verdict.PASSED for one in batch.counted for r in one.results if r.name == "dropout_rows")
    assert (rate["counts"][Outcome.PASSED], rate["counts"][Outcome.NOT_GRADED], sum(rate["counts"].values())) == (
        passed,
        1,
        26,
    )
    assert rate["share"] == pytest.approx(passed / 25)
    words = " ".join(_Page(report_html(batch)).words.split())
    assert f"{passed} passed" in words
    for part in ("median", "1 ended early", "2 absent", "1 not readable", "1 not graded", "seed", "jax 0.12.0"):
        assert part in words.casefold(), part


def test_the_report_speaks_of_the_student_and_feedback_to_them() -> None:
    batch = made_class()
    ada = batch.submissions[0]
    ada.repairs = [
        "code cell 2: left out. Your code was stopped after 20 seconds of computing.",
        "code cell 4: raised ValueError: Your own words. Why? (line 3).",
    ]
    ada.results = [exercise("two_samples", Verdict.FAILED), exercise("random_walk", Verdict.OUT_OF_TIME)]
    ada.results[0].checks[0].message = "A value is expected; yours returned None."
    ada.results[1].checks[0].message = "Your code was stopped after 0.5 seconds of waiting. Does it sleep, or wait?"
    batch.submissions = [ada]
    said = " ".join(_Page(report_html(batch)).words.split())
    for words in (
        "left out. The student's code was stopped after 20 seconds of computing.",
        "raised ValueError: Your own words. Why? (line 3).",
        "A value is expected; the student's returned None.",
        "The student's code was stopped after 0.5 seconds of waiting.",
        f"Students read: {EXERCISES['two_samples'][2]}",
    ):
        assert words in said
    assert "Does it sleep" not in said
    assert re.findall("(?i)your.{9}", said) == ["your screen. ", "Your own word"]
    told = feedback_text(_row(batch, "Ada"), batch)
    assert "left out. Your code was stopped" in told
    assert "student's" not in told


def test_the_report_has_what_feedback_says_of_groups_lessons_differences_and_points() -> None:
    batch = made_class()
    ada = batch.submissions[0]
    ada.members, ada.lessons = ["Ada", "Bo"], ["random_numbers", "loops"]
    ada.results = [exercise("two_samples", Verdict.FAILED), exercise("random_walk", Verdict.PASSED)]
    ada.results[1].lesson = "loops"
    shown = ada.results[0].checks[0]
    shown.difference, shown.extent, shown.on = "- a:i32[]\n+ a:f32[]", "1 of 2 elements differs.", "an empty array"
    copy_of_bo = dataclasses.replace(ada, student="Bo")
    batch.submissions, batch.lessons = [ada, copy_of_bo], ["random_numbers", "loops"]
    batch.overrides = [dataclasses.replace(batch.overrides[0], points=5.0)]
    said = _Page(report_html(batch)).words
    assert said.count("random_numbers.ipynb: Ada, Bo\n") == 1
    for words in (
        "- a:i32[]\n+ a:f32[]",
        shown.extent,
        shown.on,
        "random_walk: 5 of 3 instead of 0. the idea is right",
    ):
        assert words in said
    assert re.search(r"Points\s+random_numbers\s+loops\s+two_samples\s+random_walk\s+Run again", said)
    assert re.search(r"Ada\s+graded\s+3\s+0\s+3\s+0\s+3", said)


def test_full_marks_and_none_fall_into_the_last_and_the_first_tenth() -> None:
    rows = rows_of(made_class())[:3]
    shares = [
        dataclasses.replace(row, score=score, points=10.0) for row, score in zip(rows, (0.0, 7.0, 10.0), strict=True)
    ]
    found = distribution_of(shares)
    assert found is not None
    assert [count for count, _height in found["bars"]] == [1, 0, 0, 0, 0, 0, 0, 1, 0, 1]
    assert "1 student has full marks. 1 student has no points." in found["words"]
    assert found["median"] == 70


def test_misconceptions_are_counted_by_answer_and_exemplified_by_a_visible_check() -> None:
    batch = made_class()
    found = misconceptions_of(batch)
    one = next(m for m in found if m.names == ("The rows share one key, so that every row drops the same columns.",))
    met = {
        s.student
        for s in batch.counted
        for r in s.results
        if r.first_failure is not None and r.first_failure.misconceptions == ("one_key_for_all_rows",)
    }
    assert set(one.students) == met
    assert not one.check.hidden
    assert [m.answers for m in found] == sorted((m.answers for m in found), reverse=True)
    assert {m.names for m in found if not m.is_named} == {("raised TypeError",), ("out of time",)}


def test_two_answers_of_one_student_count_twice_and_the_share_is_of_answers() -> None:
    ada = made_class().submissions[0]
    ada.results = [exercise(name, Verdict.FAILED) for name in ("random_walk", "train_step")]
    for result in ada.results:
        result.checks[0].says = ("The loop starts over.",)
    bo = dataclasses.replace(ada, student="Bo", results=[exercise("random_walk", Verdict.PASSED)])
    batch = BatchResult([ada, bo])
    (one,) = misconceptions_of(batch)
    assert (one.names, one.answers, one.students) == (("The loop starts over.",), 2, ("Ada",))
    assert "2 answers, 67 %" in report_html(batch)


def test_an_exception_counts_as_the_misconception_that_raises_it() -> None:
    batch = made_class()
    ada, bo = batch.submissions[:2]
    for one in (ada, bo):
        one.results = [exercise("dropout_rows", Verdict.ERROR)]
    ada.results[0].checks[0].says = ("The rows are split by Python.",)
    found = {one.names: (one.students, one.is_named) for one in misconceptions_of(BatchResult([ada, bo]))}
    (raised,) = found.keys() - {("The rows are split by Python.",)}
    assert raised[0].startswith("raised ")
    assert found == {("The rows are split by Python.",): (("Ada",), True), raised: (("Bo",), False)}


def test_an_example_is_of_a_visible_check_where_there_is_one() -> None:
    batch = made_class()
    ada, bo = batch.submissions[:2]
    ada.results = [exercise("dropout_rows", Verdict.FAILED, hidden_fails=True)]
    bo.results = [exercise("dropout_rows", Verdict.FAILED)]
    (one,) = misconceptions_of(BatchResult([ada, bo]))
    assert (one.students, one.student) == (("Ada", "Bo"), "Bo")


def test_the_order_of_the_files_does_not_change_what_is_said_of_the_class() -> None:
    batch = made_class()
    turned = dataclasses.replace(batch, submissions=batch.submissions[::-1])
    assert [(m.names, m.students, m.student) for m in misconceptions_of(turned)] == [
        (m.names, m.students, m.student) for m in misconceptions_of(batch)
    ]


def _above_the_names(page: str) -> str:
    head, publish = page.split("<h2>Names</h2>")[0].split("<summary>Before you publish</summary>")
    return head + "</details>" + publish.partition("</details>")[2]


def test_the_report_names_nobody_between_its_lists_of_names_unless_asked() -> None:
    batch = made_class()
    names = [row.student for row in rows_of(batch) if row.student.isalpha()]
    shown = _Page(_above_the_names(report_html(batch)) + "</main></body></html>").words
    assert not [name for name in names if re.search(rf"\b{name}\b", shown)]
    asked = _above_the_names(report_html(batch, names=True))
    assert "Students:" in asked
    page = report_html(batch)
    assert "Ida: code cell 2: failed: NameError: jnp" in page
    assert "code cell 1" not in page
    for title, name in (
        ("Absent", "Nobody"),
        ("Similar answers", "Ada"),
    ):
        section = page.split(f"<summary>{title}")[1].split("</details>")[0]
        assert name in section, title


def test_who_needs_attention_stands_open_at_the_top_and_nowhere_else() -> None:
    batch = made_class()
    one = batch.submissions[8]
    one.repairs = ["code cell 2: not run. Python cannot read it.", "code cell 5: mended."]
    one.cells[1].answers.append("train_step")
    batch.submissions[9].results = [exercise(name, Verdict.NOT_ATTEMPTED) for name in EXERCISES]
    page = report_html(batch)
    top, rest = page.split('<details class="panel notice" open><summary>Before you publish')[1].split("</details>", 1)
    said = " ".join(re.sub("<[^>]*>", " ", top).split())
    assert re.search(r"Handed in without points( \w+)* Jon ", said)
    mark = one.results[4]
    for words in (
        "Fay: dropout_rows: Not graded: a check raised TypeError",
        "ipynb: The notebook is cut off",
        "Dag: train_step: It computed for more than 30 s.",
        f"Ida: code cell 2: not run. Python cannot read it. (train_step: {mark.score:g} of {mark.points:g} points)",
        "class/Ada/essay.pdf: The file is neither a notebook (.ipynb) nor Python (.py).",
        "class/Ada/helper.py: The file answers no exercise.",
    ):
        assert words in said
        assert words not in " ".join(re.sub("<[^>]*>", " ", rest).split())
    assert "Ida: code cell 5: mended." in rest
    assert "code cell 2: not run" not in rest
    nobody = dataclasses.replace(batch, submissions=batch.submissions[:1], passed_over=[])
    assert "Before you publish" not in report_html(nobody)


def test_exercises_stand_in_order_of_lost_points_and_those_that_nobody_attempted_last() -> None:
    ada, bo = made_class().submissions[:2]
    ada.results = [exercise("guess_shape", Verdict.FAILED), exercise("train_step", Verdict.NOT_ATTEMPTED)]
    ada.results += [exercise("two_samples", Verdict.PASSED), exercise("random_walk", Verdict.FAILED)]
    bo.results = [exercise(one.name, Verdict.NOT_ATTEMPTED) for one in ada.results]
    page = report_html(BatchResult([ada, bo]))
    rates = page[page.index("<h2>Exercises") : page.index("<h2>How")]
    assert re.findall("<code>(.*)</code></span>", rates) == ["random_walk", "guess_shape", "two_samples", "train_step"]
    assert rates.index("nobody attempted it") > rates.index("train_step")


def test_a_reused_key_is_the_cause_whichever_check_shows_it() -> None:
    ada, bo, chi = made_class().submissions[:3]
    for one, name in ((ada, "two_samples"), (bo, "random_walk"), (chi, "random_walk")):
        one.results = [exercise(name, Verdict.FAILED)]
        shown = one.results[0].checks[0]
        shown.says, shown.names_cause, shown.compared = (), one is not chi, "drawn twice" if one is not chi else ""
    found = {one.names: one.students for one in misconceptions_of(BatchResult([ada, bo, chi]))}
    assert found[("a key was drawn from twice",)] == ("Ada", "Bo")
    assert found[("fails: It is right where three numbers.",)] == ("Chi",)


def test_an_example_of_a_hidden_check_is_folded_away() -> None:
    before = _above_the_names(report_html(made_class())).split(SECRET)[0]
    assert before.rfind("<details><summary>An example, from a hidden check") > before.rfind("</details>")


def test_a_students_page_says_nothing_about_how_the_grader_protects_itself() -> None:
    batch = made_class()
    row = _row(batch, "Ada")
    for page in (_Page(feedback_html(row, batch)).words, feedback_text(row, batch)):
        assert re.search("isolation|protect|tier|the key", page, re.IGNORECASE) is None


def test_the_report_says_how_to_run_one_submission_again() -> None:
    page = _Page(report_html(made_class())).words
    assert "jaxguide grade FILE --course courses/spring --seed 7 --only EXERCISE --out again" in page
    assert "jaxguide grade class/Dag/random_numbers.ipynb --course courses/spring --seed 7 --only" in page


def test_the_command_asks_for_the_limits_that_were_set() -> None:
    limits = Limits(cpu_s=0.5, idle_s=90, total_cpu_s=7, memory_bytes=3 * 2**29, scratch_bytes=9_000)
    assert parse_limits(write_limits(limits)) == limits
    batch = dataclasses.replace(made_class(), limits=limits)
    assert f"--limits {write_limits(limits)}" in reproduce(batch)
    assert "--limits" not in reproduce(made_class())


def test_a_class_of_nobody_and_one_that_is_absent_have_reports() -> None:
    for batch in (BatchResult([]), BatchResult([one for one in made_class().submissions if one.state is State.ABSENT])):
        _Page(report_html(batch))
        assert [row.score for row in rows_of(batch)] in ([], [None, None])
