"""Test a session in Chinese: columns are aligned although each character takes two cells."""

import unicodedata
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from two_lessons import CHINESE

from jaxguide.base.catalogues import COURSE, PACKAGE
from jaxguide.course.books.library import Course
from jaxguide.course.progress import Progress
from jaxguide.course.verdict import CheckResult, ExerciseResult, Kind, Verdict
from jaxguide.student.place import Place
from jaxguide.student.screen import Screen
from jaxguide.translation.update import compiled

SAID = {
    PACKAGE: {
        "new": "未做",
        "tried": "尝试过",
        "Got": "得到",
        "Expected": "应为",
        "Why": "原因",
        "Not right yet": "还不对",
        "Failed: {fact}": "未通过：{fact}",
        "{done} of {count} done": "已完成 {done}/{count}",
    },
    COURSE: {
        "Twice": "两倍",
        "Return 2.0 times float32[n].": "返回 float32[n] 的两倍。" * 5,
        "Args:": "参数：",
        "x: float32[n].": "x：float32[n]。",
        "It multiplies three numbers by 2.0.": "它把三个数各乘以二。" * 6,
        "One factor for all.": "所有的数都用同一个因子。" * 6,
    },
}


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    for domain, texts in SAID.items():
        catalogue = Catalog(locale="zh_CN", domain=domain)
        for message, translation in texts.items():
            catalogue.add(message, translation)
        assert compiled(tmp_path / "zh_CN" / "LC_MESSAGES" / f"{domain}.po", catalogue).problems == ()
    monkeypatch.setenv("JAXGUIDE_LANG", "zh_CN")
    monkeypatch.setenv("JAXGUIDE_CATALOGUES", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    return Screen(tmp_path, has_keys=True)


def width(text: str) -> int:
    """Return how many terminal cells a text takes according to Unicode, independently of the package."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def column(lines: list[str], text: str) -> int:
    """Return the terminal cell in which a text begins."""
    line = next(line for line in lines if text in line)
    return width(line[: line.index(text)])


def test_the_columns_of_the_list_stand_below_each_other(
    screen: Screen, course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(course, Progress(tmp_path))
    place.progress.update("double", attempts=["a"])
    screen.lessons(place, course.exercises["double"])
    lines = capsys.readouterr().out.splitlines()
    assert len({column(lines, name) for name in ("double", "triple", "predict_size")}) == 1
    assert len({column(lines, title) for title in ("两倍", CHINESE, "Predict: a size")}) == 1
    assert "Multiply (multiply)  已完成 0/3" in lines


def test_arguments_stand_below_their_chinese_heading(
    screen: Screen, course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.exercise(course.exercises["double"], [], Place(course, Progress(tmp_path)))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(width, lines)) <= 80
    assert lines[lines.index("  参数：") + 1] == "      x：float32[n]。"


def test_a_card_is_wrapped_at_80_cells_with_its_values_in_one_column(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    check = CheckResult(
        name="doubles_three_numbers",
        fact="It multiplies three numbers by 2.0.",
        stage="value",
        kind=Kind.VALUE,
        weight=1,
        hidden=False,
        idea="One factor for all.",
        verdict=Verdict.FAILED,
        got="[3.]",
        expected="[2.]",
        message="Each is 1.0 too large.",
    )
    result = ExerciseResult("double", "Twice", "multiply", 1, Verdict.FAILED, score=0, checks=[check])
    screen.failed(result, [result], [])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(width, lines)) <= 80
    assert any(line.startswith("✗ 还不对: 两倍 (double)") for line in lines)
    assert column(lines, "[3.]") == column(lines, "Each is 1.0")
    assert "应为  [2.]" in "\n".join(lines)
