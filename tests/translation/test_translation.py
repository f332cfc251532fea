"""Test translation: which language is chosen, what falls back, and that all text for students can be translated."""

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import made_up_language
import pytest
from click.testing import CliRunner
from made_class import made_class
from made_up_language import left_on_card, outside, words_outside
from needs import first_of
from rich.cells import cell_len

from jaxguide.base.catalogues import COURSE, PACKAGE, in_language
from jaxguide.base.text import _, plural, translated
from jaxguide.cli import main
from jaxguide.course.books.book import run_answer
from jaxguide.course.books.folders import course_folders
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.books.printer import printed_cells
from jaxguide.course.books.translatable import said, said_in_code
from jaxguide.course.cards import Card
from jaxguide.course.judging.answer import LocalAnswer
from jaxguide.course.judging.judge import judge
from jaxguide.grading.reports.feedback import feedback_html
from jaxguide.grading.reports.marks import rows_of
from jaxguide.grading.reports.overview import report_html
from jaxguide.student.workspace import lay_workspace

HEADER = (
    'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\nPlural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
)


def write(folder: Path, language: str, domain: str, **texts: str) -> None:
    """Write a catalogue by hand and compile it, without checking it for mistakes."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    lines = [f'msgid "{text}"\nmsgstr "{translation}"\n' for text, translation in texts.items()]
    path = folder / language / "LC_MESSAGES" / f"{domain}.mo"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_mo(file, read_po(io.StringIO(HEADER + "\n".join(lines))))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is used for catalogues, with no language set."""
    for name in ("JAXGUIDE_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JAXGUIDE_CATALOGUES", str(tmp_path))
    return tmp_path


def test_jaxguide_lang_comes_before_the_locale_and_english_ends_the_list(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(own, "de", PACKAGE, Passed="Bestanden")
    write(own, "fr", PACKAGE, Passed="Réussi")
    assert _("Passed") == "Passed"
    monkeypatch.setenv("LC_ALL", "de_AT.UTF-8")
    assert _("Passed") == "Bestanden"
    monkeypatch.setenv("JAXGUIDE_LANG", "fr")
    assert _("Passed") == "Réussi"
    monkeypatch.setenv("JAXGUIDE_LANG", "en:de")
    assert _("Passed") == "Passed"
    monkeypatch.setenv("JAXGUIDE_LANG", "no/such/../place")
    assert _("Passed") == "Passed"


def test_each_message_falls_back_for_itself(own: Path) -> None:
    write(own, "de", PACKAGE, Passed="Bestanden")
    write(own, "fr", PACKAGE, Passed="Réussi", Failed="Échoué")
    with in_language("de:fr"):
        assert [_("Passed"), _("Failed"), _("Error")] == ["Bestanden", "Échoué", "Error"]


def test_a_translation_with_other_placeholders_is_none(own: Path) -> None:
    write(own, "de", PACKAGE, **{"{name} is new": "{nom} ist neu", "{n} of {all}": "{n} von {all", "{a}!": "Oh, {a}!"})
    with in_language("de"):
        assert [_("{name} is new"), _("{n} of {all}"), _("{a}!")] == ["{name} is new", "{n} of {all}", "Oh, {a}!"]


@pytest.mark.parametrize("content", [b"", b"nothing", b"\xde\x12\x04\x95" + b"\xff" * 40])
def test_a_broken_file_is_passed_over(own: Path, content: bytes) -> None:
    write(own, "de", PACKAGE, Passed="Bestanden")
    with in_language("de"):
        assert _("Passed") == "Bestanden"
    (own / "xx" / "LC_MESSAGES").mkdir(parents=True)
    (own / "xx" / "LC_MESSAGES" / "jaxguide.mo").write_bytes(content)
    with in_language("xx:de"):
        assert _("Passed") == "Bestanden"
        assert plural("{count} check", "{count} checks", 2) == "2 checks"


def test_what_an_f_string_said_is_translated_by_the_f_string(own: Path) -> None:
    texts = {"Return a tuple of {count} values.": "Gib ein Tupel mit {count} Werten.", "no values": "keine Werte"}
    write(own, "de", COURSE, **texts, **{"{what}: not all.": "Nicht alle: {what}."})
    with in_language("de"):
        assert translated("Return a tuple of 3 values.") == "Gib ein Tupel mit 3 Werten."
        assert translated("no values: not all.") == "Nicht alle: keine Werte."
        assert translated("Return a list.") == "Return a list."


def test_prose_and_code_keep_their_form(own: Path) -> None:
    write(
        own,
        "de",
        COURSE,
        Keys="Schlüssel",
        **{"one more": "eins", "Add one.": "Addiere eins.", "x: a number.": "x: Zahl."},
    )
    with in_language("de"):
        assert (
            said("## Keys\n\n- one\n  more\n- two\n\n```\nKeys\n```")
            == "## Schlüssel\n\n- eins\n- two\n\n```\nKeys\n```"
        )
        code = 'def f(x):\n    """Add one.\n\n    Args:\n        x: a number.\n    """\n    return x + 1  # one more'
        expected = 'def f(x):\n    """Addiere eins.\n\n    Args:\n        x: Zahl.\n    """\n    return x + 1  # eins'
        assert said_in_code(code) == expected


def test_chinese_is_aligned_in_a_card_of_80_columns(own: Path) -> None:
    from made_results import FAILED

    chinese = {
        "Got": "得到",
        "Expected": "应为",
        "Why": "原因",
        "Not right yet": "还不对",
        "passed": "通过",
        "failed": "未通过",
    }
    write(own, "zh", PACKAGE, **chinese)
    message = "Both draws are the same number: both came from one key."
    write(
        own,
        "zh",
        COURSE,
        **{message: "两次抽取的是同一个数:它们来自同一个密钥。" * 3, "The two draws differ.": "两次抽取不同。"},
    )
    with in_language("zh_CN"):
        lines = Card(FAILED).text(80).splitlines()
    assert max(map(cell_len, lines)) <= 80
    why = next(i for i, line in enumerate(lines) if line.startswith("  原因"))
    column = cell_len(lines[why].split("两次")[0])
    assert cell_len(lines[why + 1]) - cell_len(lines[why + 1].lstrip()) == column
    texts = ("Both draws are float32", "两次抽取不同", "The same key", "It works")
    assert len({cell_len(line.split(text)[0]) for text in texts for line in lines[why + 1 :] if text in line}) == 1


def test_a_translator_is_told_of_mistakes_and_what_is_wrong_stays_english(own: Path) -> None:
    course = own / "course"
    (course / "exercises").mkdir(parents=True)
    text = '# %% [markdown]\n# # Keys\n\n# %% check\nexpect_that(x, f"With {n} keys it fails.")\n'
    (course / "exercises" / "keys.py").write_text(text)
    command = ["translate", "de", "--course", str(course)]
    first = CliRunner().invoke(main, command)
    assert (first.exit_code, first.output.endswith("course.po: 0 of 2 messages translated\n")) == (0, True)
    po = course / "locale" / "de" / "LC_MESSAGES" / "course.po"
    catalogue = po.read_text().replace('"Keys"\nmsgstr ""', '"Keys"\nmsgstr "Schlüssel"')
    po.write_text(catalogue.replace('it fails."\nmsgstr ""', 'it fails."\nmsgstr "Mit {zahl} geht es nicht."'))
    second = CliRunner().invoke(main, command)
    assert second.exit_code == 1
    assert "course.po: 1 of 2 messages translated, 1 with a mistake" in second.output
    assert re.search(r"course\.po:\d+: `With \{n\} keys it fails\.` needs the placeholders \{n\};", second.output)
    assert "has {zahl}" in second.output
    po.write_text("no catalogue")
    third = CliRunner().invoke(main, command)
    assert (third.exit_code, "course.po:1: this is not a valid catalogue" in third.output) == (1, True)
    unknown = CliRunner().invoke(main, ["translate", "klingon", "--to", str(own)])
    assert (unknown.exit_code, "There is no language `klingon`" in unknown.output) == (1, True)


def test_a_workspace_gets_the_lessons_printed_in_the_readers_language(own: Path) -> None:
    notebooks = own / "notebooks"
    (notebooks / "de").mkdir(parents=True)
    for path in ("one.py", "two.py", "de/one.py"):
        (notebooks / path).write_text(path)
    with in_language("de_AT:fr"):
        lay_workspace(own / "workspace", notebooks)
    assert {path.name: path.read_text() for path in (own / "workspace").iterdir()} == {
        "one.py": "de/one.py",
        "two.py": "two.py",
    }


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set the made-up language, which puts each text between ⟦ and ⟧."""
    with made_up_language.spoken(tmp_path_factory.mktemp("catalogues"), course_folders()):
        yield


@pytest.fixture(scope="module")
def course(made_up: None) -> Course:
    return load_course()


@pytest.mark.long
def test_every_text_of_a_printed_lesson_can_be_translated(course: Course) -> None:
    left = []
    for topic, book in course.books.items():
        for cell in printed_cells(book):
            texts = (
                [re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL)] if cell.kind == "prose" else _said(cell.source)
            )
            left += [(topic, text) for text in texts if words_outside(text)]
    assert left == []


def _said(code: str) -> list[str]:
    """Return the comments and docstrings of code."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    comments = [t.string for t in tokens if t.type == tokenize.COMMENT and len(t.string.split()) > 2]
    return comments + re.findall(r'^ *"""(.*?)"""', code, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.long
def test_every_hint_title_fact_and_idea_can_be_translated(course: Course) -> None:
    for exercise in course.exercises.values():
        checks = exercise.all_checks()
        texts = [exercise.title, *exercise.hints, *(c.fact for c in checks), *(c.idea for c in checks if c.idea)]
        assert [text for text in texts if outside(translated(text))] == []


@pytest.mark.long
def test_every_text_of_a_card_can_be_translated(course: Course) -> None:
    assert _left_on_cards(course, "random_numbers", 4) == []


def _left_on_cards(course: Course, topic: str, exercises: int) -> list[tuple[str, str, str]]:
    """Return untranslated text on the cards of all planted answers: (exercise, answer, text)."""
    book, left = course.books[topic], []
    for exercise in book.exercises[:exercises]:
        assert exercise.key is not None
        for planted in [exercise.key.answer, *exercise.key.wrong]:
            functions = []
            for source in (planted.source, exercise.key.answer.source):
                names = run_answer(book, source)
                functions.append(LocalAnswer(exercise.name, names[exercise.name], book.names))
            result = judge(
                exercise, functions[0], reference=None if exercise.is_prediction else functions[1], until_failure=True
            )
            left += [(exercise.name, planted.name, text) for text in left_on_card(result)]
    return left


COMMANDS = ["start", "watch", "list", "next", "progress", "check", "hint", "solution", "reset", "completion", "doctor"]


@pytest.mark.parametrize("command", first_of([[], *[[name] for name in COMMANDS]], 1))
def test_the_help_of_a_command_can_be_translated(made_up: None, command: list[str]) -> None:
    # In a separate process, since click caches the help of `--help` in the language in which it was first shown.
    shown = subprocess.run(
        [sys.executable, "-m", "jaxguide", *command, "--help"], capture_output=True, text=True, encoding="utf-8"
    )
    assert shown.returncode == 0
    # Ignore the usage line, names of options and commands at the start of a line, and placeholders in capitals.
    lines = [
        re.sub(r"^ +(-[\w, /-]+|\w+)(?=  | ⟦|$| [A-Z])", "", line) for line in outside(shown.stdout).splitlines()[1:]
    ]
    assert re.findall(r"[a-z]{2,}", " ".join(lines)) == []


def test_the_words_of_a_report_are_said_in_the_readers_language(made_up: None) -> None:
    batch = made_class()
    for page in (report_html(batch, names=True), feedback_html(rows_of(batch)[0], batch)):
        said = re.findall(r'<(?:h2|th scope="col"[^>]*|summary|caption|figcaption|dt)>([^<]+)', page)
        assert said
        assert [text for text in said if words_outside(text)] == []


def test_a_wrong_command_is_said_in_the_readers_language(made_up: None) -> None:
    for arguments in (["chek"], ["hint"], ["check", "--nope"], ["check", "none.py"]):
        shown = CliRunner().invoke(main, arguments, prog_name="jaxguide")
        assert shown.exit_code == 2
        assert words_outside(shown.output.partition("\n")[2]) == []
