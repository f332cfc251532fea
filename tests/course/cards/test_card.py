"""Test that cards show what was found, in every format, and contain nothing harmful."""

import dataclasses
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from made_results import ALL, EXPLAINED, FAILED, GRADED, GUESSED, NOT_STARTED, PASSED, RAISED, F, N, P, check, exercise
from rich.cells import cell_len
from rich.console import Console

from jaxguide.base.render.card import Prose
from jaxguide.base.render.terminal import plain_text
from jaxguide.course.cards import JSON_TYPE, Card, result_from_plain, result_to_plain, summary_card
from jaxguide.course.cards.shown import DisplayText
from jaxguide.course.verdict import ErrorInfo, ExerciseResult, ExplanationText, Verdict

NASTY = "<script>alert(1)</script><b onclick=x>&\x1b[31mred\x1b[0m\x07\u202e\ud800\x00 \" ' `"


# JupyterLab's sanitizer keeps these, as `tests/browser` proves.
ELEMENTS = ("section", "p", "strong", "u", "span", "code", "ul", "li", "div", "details", "summary")


class Elements(HTMLParser):
    """Collect element names, attribute names and text."""

    def __init__(self, source: str):
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.words = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("result", ALL, ids=lambda result: result.name)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_longer_than_the_terminal(result: ExerciseResult, width: int) -> None:
    lines = Card(result).text(width).splitlines()
    assert lines
    assert max(map(cell_len, lines)) <= width


def test_long_words_and_values_are_folded_not_cut() -> None:
    value = "q" * 300
    result = exercise("f", "F", F, [check("a", "It is a.", F, got=value, expected="y", message="m" * 200)])
    lines = Card(result).text(60).splitlines()
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("q") == 300


def in_terminal(result: ExerciseResult, width: int = 80, verbose: bool = False) -> str:
    return plain_text(Card(result, verbose=verbose), width)


def test_a_failure_is_told_from_top_to_bottom_with_the_list_folded() -> None:
    lines = in_terminal(FAILED, 120).splitlines()
    assert lines[0] == "✗ Not right yet: Draw twice (two_draws)"
    assert lines[1] == "  Both draws are the same number: both came from one key."
    assert lines[2].split(maxsplit=1) == ["Call", "two_draws(jax.random.key(3))"]
    assert re.search(r"Got +\(-0.3721109, -0.3721109\) +Expected +two different numbers", lines[3])
    assert lines[4] == "  A key is spent once it is drawn from: `split` it first."
    assert "hint(two_draws)" in lines[5]
    assert lines[6:] == ["  1 of 4 checks passed"]


def test_a_terminal_lists_the_checks_if_it_is_asked_to() -> None:
    assert "Both draws are float32 scalars." not in in_terminal(FAILED)
    assert "Both draws are float32 scalars." in in_terminal(FAILED, verbose=True)
    assert "Both draws are float32 scalars." in Card(FAILED).text(80), "nobody can unfold a text"


LINES = "  … 12 equal lines\n  a\n- b = f x\n?      ^\n+ b = f(x)\n?      ^ ^"


def test_lines_are_shown_as_a_diff_with_what_differs_marked() -> None:
    failing = check("a", "It is a.", F, call="f(1)", got="long", expected="long", difference=LINES, label="Printed")
    result = exercise("f", "F", F, [failing])
    assert in_terminal(result).splitlines()[3:8] == [
        "  Printed: - yours, + expected",
        "      … 12 equal lines",
        "      a",
        "    - b = f x",
        "    + b = f(x)",
    ]
    html = Card(result).html()
    assert html.count("<strong><u>") == 3
    assert "+ b = f<strong><u>(</u></strong>x<strong><u>)</u></strong>" in html
    assert "long" not in html


def test_of_a_pair_the_parts_that_differ_are_marked() -> None:
    def marked(got: str, expected: str) -> list[str]:
        html = Card(exercise("f", "F", F, [check("a", "It is a.", F, got=got, expected=expected)])).html()
        return re.findall("<strong><u>(.*?)</u></strong>", html)

    assert marked("'abc'", "'abd'") == ["c", "d"]
    assert marked("[1.5, 2.25]", "[1.5, 2.75]") == ["2.25", "2.75"]
    assert marked("3", "17") == []


def test_what_the_answer_does_is_said_instead_of_the_idea() -> None:
    failing = check("a", "It is a.", F, call="f(1)", idea="Squares are positive.", says=("It cubes.",))
    text = in_terminal(exercise("f", "F", F, [failing]))
    assert "It cubes." in text
    assert "Squares are positive." not in text


def test_a_failure_with_the_cause_of_the_first_says_so() -> None:
    same = {"call": "f(1)", "message": "Your code raised ValueError: no", "error": ErrorInfo("ValueError", "no")}
    checks = [check(name, f"It is {name}.", Verdict.ERROR, **same) for name in "abc"]
    checks.append(check("d", "It is d.", F, call="f(1)", got="1"))
    text = in_terminal(exercise("f", "F", F, checks), verbose=True)
    assert text.count("✗ error, likewise") == 2
    assert re.search("✗ error +It is a.", text)
    assert re.search("✗ failed +It is d.", text)
    assert "likewise" not in in_terminal(FAILED, verbose=True)


def test_got_and_expected_stand_below_each_other_where_they_do_not_fit() -> None:
    lines = Card(FAILED).text(60).splitlines()
    got = next(line for line in lines if "Got" in line)
    expected = next(line for line in lines if "Expected" in line)
    assert got is not expected
    assert got.index("(-0.37") == expected.index("two different")


def test_every_check_has_a_glyph_and_a_word() -> None:
    text = Card(FAILED).text(100)
    assert re.search("✓ passed +Both draws are float32 scalars.", text)
    assert re.search("✗ failed +The two draws differ.", text)
    assert re.search("\u2013 not checked +It works under `jax.jit`.", text)
    words = Elements(Card(FAILED).html()).words
    assert "✓ passed · Both draws" in words
    assert "✗ failed · The two draws differ." in words
    assert "\u2013 not checked · It works" in words


def test_an_error_shows_the_students_own_line_and_is_said_once() -> None:
    for words in (Card(RAISED).text(120), Elements(Card(RAISED).html()).words):
        assert words.count("TracerBoolConversionError") == 1
        assert "if r @ r > 0:" in words
        assert "line 4" in words


def test_an_error_without_a_message_of_its_own_names_the_exception() -> None:
    error = ErrorInfo("ValueError", "shapes (3,) and (2,)", 2, "return a @ b")
    text = Card(exercise("f", "F", Verdict.ERROR, [check("a", "It runs.", Verdict.ERROR, error=error)])).text(100)
    assert "ValueError: shapes (3,) and (2,)" in text
    assert re.search("Where +line 2: `return a @ b`", text)


def test_an_error_that_is_explained_says_what_why_and_how_to_fix_it() -> None:
    html = Card(EXPLAINED).html()
    for words in (" ".join(Card(EXPLAINED).text(120).split()), " ".join(Elements(html).words.split())):
        for part in (
            "if` needs a known value, but `x` is traced",
            "cell [7], line 4: `if x > 0:`",
            "`x` is a traced float32[] here. Python's `if` must choose now.",
            "Choose with `jnp.where`.",
            "y = jnp.where(x > 0, x, -x)",
            "Or decide outside.",
        ):
            assert part.replace("`", "") in words.replace("`", "")
        assert words.count("TracerBoolConversionError") == 1
    folded = html.partition("JAX&#x27;s own words</summary>")[2].partition("</details>")[0]
    assert folded.count("The error occurred") == 6
    shown = plain_text(Card(EXPLAINED), 80)
    assert len(shown.splitlines()) <= 14
    assert "while tracing" not in shown


def test_a_long_error_is_cut_with_the_whole_message_folded() -> None:
    error = ErrorInfo("ValueError", "word " * 100, 2, "return a @ b")
    seen = check("a", "It runs.", Verdict.ERROR, message=f"Your code raised ValueError: {error.message}", error=error)
    card = Card(exercise("f", "F", Verdict.ERROR, [seen]))
    assert len(plain_text(card, 80).splitlines()) <= 12
    assert card.html().partition("The whole message</summary>")[2].count(" word") == 100


def test_code_that_is_no_python_is_called_that() -> None:
    error = ErrorInfo("SyntaxError", "'(' was never closed", 2, "print(")
    seen = check("a", "It runs.", Verdict.ERROR, message="SyntaxError: '(' was never closed", error=error)
    text = Card(exercise("f", "F", Verdict.ERROR, [seen])).text(100)
    assert "✗ Python cannot read your code: F" in text
    assert "line 2: `print(`" in text
    assert "While checking" not in text


def test_passed_claims_no_more_than_the_checks_that_ran() -> None:
    assert "✓ Right so far: A right one" in Card(PASSED).text()
    assert "✓ Right: A right one" in Card(dataclasses.replace(PASSED, is_all=True)).text()
    graded = exercise("f", "F", P, [check("a", "It is a.", P), check("b", "It is b.", P, hidden=True)], is_all=True)
    assert "✓ Right: F" in Card(graded).text()
    assert "1 of 1 hidden check passed" in Card(graded).text()


def test_below_a_pass_stands_what_comes_next_and_nowhere_else() -> None:
    more = [Prose("Next: Twice (`twice`).")]
    assert "Next: Twice" in Card(PASSED, more=more).text()
    assert "Next: Twice" not in Card(FAILED, more=more).text()


def test_not_started_says_what_to_do_and_gives_nothing_away() -> None:
    text = Card(NOT_STARTED).text()
    assert "○ Not started yet: Many keys" in text
    assert "Write your answer in `many`" in text
    assert NOT_STARTED.checks[0].fact not in text + Card(NOT_STARTED).html()


def test_a_prediction_shows_guess_truth_and_why() -> None:
    why = dataclasses.replace(GUESSED, why="A key has no shape of its own.", shows="key.shape")
    for words in (Card(why).text(), Elements(Card(why).html()).words):
        assert re.search(r"Your first guess\s*\(2,\)", words)
        assert re.search(r"JAX gives\s*\(3, 2\)", words)
        assert "≠ Not what you guessed" in words
        assert "A key has no shape of its own." in " ".join(words.split())
        assert re.search(r"See it\s*key\.shape", words)
    right = exercise("guess_shape", "Which shape?", P, [], note="(3, 2)", reveal=(3, 2))
    assert "✓ You guessed right" in Card(right).text()


@pytest.mark.parametrize("verdict", [v for v in Verdict if v not in (P, F, N)])
def test_an_exercise_that_ended_early_has_words(verdict: Verdict) -> None:
    text = Card(exercise("f", "F", verdict, [check("a", "It is a.", verdict, message="It was stopped.")])).text()
    assert re.match("[✗◐○] [A-Z].*: F", text)


def test_the_html_uses_only_what_an_untrusted_notebook_keeps() -> None:
    for result in ALL:
        elements = Elements(Card(result).html())
        assert elements.open == []
        assert set(elements.names) <= {*ELEMENTS}
        assert elements.attributes <= {"style", "role", "aria-level"}, "untrusted, it is no heading"


def test_no_text_has_a_colour_of_its_own() -> None:
    colours = re.findall(r"[;\"]color:([^;\"]*)", Card(FAILED).html())
    theirs = ("var(--jp-content-font-color1, var(--vscode-editor-foreground, CanvasText))", "inherit")
    code = r"var\(--jp-mirror-editor-\w+-color, inherit\)"
    assert [colour for colour in set(colours) if colour not in theirs and not re.fullmatch(code, colour)] == []


def test_each_themed_edge_follows_a_plain_one() -> None:
    """The sanitizer of untrusted notebooks may drop `var(...)`, which must not remove the edge."""
    edges = re.findall(r"border-left-color:(#[0-9a-f]{6});border-left-color:var\(", Card(FAILED).html())
    assert edges == ["#d32f2f", "#388e3c", "#d32f2f", "#757575", "#757575"]


def nasty_results() -> list[ExerciseResult]:
    explanation = ExplanationText(NASTY, NASTY, NASTY, ((NASTY, NASTY),), NASTY)
    error = ErrorInfo(NASTY, NASTY, 1, NASTY, NASTY, explanation)
    more: dict[str, Any] = {
        "message": NASTY,
        "idea": NASTY,
        "call": NASTY,
        "got": NASTY,
        "difference": "\n".join(f"{margin} {NASTY}" for margin in "-?+ "),
        "extent": NASTY,
        "expected": NASTY,
        "misconceptions": (NASTY,),
    }
    checks = [check(NASTY, NASTY, Verdict.ERROR, error=error, **more), check(NASTY, NASTY, P, hidden=True)]
    return [
        exercise(NASTY, NASTY, Verdict.ERROR, checks[:1], note=NASTY, printed=NASTY, hint=NASTY),
        exercise(NASTY, NASTY, Verdict.FAILED, checks, note=NASTY, printed=NASTY, hint=NASTY),
        exercise(NASTY, NASTY, P, [], note=NASTY, reveal=DisplayText(NASTY)),
        exercise(NASTY, NASTY, Verdict.NOT_ATTEMPTED, [], note=NASTY),
    ]


@pytest.mark.parametrize("result", nasty_results(), ids=["error", "hidden", "prediction", "not started"])
def test_what_a_student_printed_or_named_is_harmless(result: ExerciseResult) -> None:
    card = Card(result)
    elements = Elements(card.html())
    assert "script" not in elements.names
    assert "b" not in elements.names
    assert "<script>alert(1)</script>" in elements.words
    summary = summary_card([result]).text()
    for text in (card.text(), card.html(), summary):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)
        assert "[31m" not in text
        text.encode()
    json.dumps(card.plain(), ensure_ascii=False).encode()


def test_rich_markup_in_a_students_text_stays_text() -> None:
    result = exercise("f", "[red]F[/red]", F, [check("a", "[bold]a", F, got="[1, 2]", message="[/nothing]")])
    text = Card(result).text()
    assert all(words in text for words in ("[red]F[/red]", "[bold]a", "[1, 2]", "[/nothing]"))


@pytest.mark.parametrize("hidden", [False, True])
def test_a_card_says_what_the_planted_answer_does_that_fails_alike(hidden: bool) -> None:
    failing = check("a", "It is a.", Verdict.FAILED, hidden=hidden)
    failing.says = ("It squares.",)
    assert re.search(r"What it does\W+It squares\.", Card(exercise("f", "F", Verdict.FAILED, [failing])).text())


def test_of_a_hidden_check_a_student_sees_its_fact_and_idea_only() -> None:
    bundle = Card(GRADED)._repr_mimebundle_()
    for form in bundle.values():
        words = form if isinstance(form, str) else json.dumps(form)
        assert "123" not in words
        assert "No two steps share a key." in words
        assert "Epoch and step both matter." in words
    assert "epoch plus step" in Card(GRADED).text()
    assert "secret got 123" in json.dumps(result_to_plain(GRADED))


def test_no_part_of_an_error_in_a_hidden_check_can_carry_its_inputs_to_a_student() -> None:
    explanation = ExplanationText("123", "123", "123", (("123", "123"),), "https://docs.jax.dev/123")
    error = ErrorInfo("ValueError", "secret 123", 10**40, "x = 123", "cell 123", explanation)
    failing = check("h", "It holds for more.", Verdict.ERROR, hidden=True, error=error, message="123")
    card = Card(exercise("f", "F", Verdict.ERROR, [failing]))
    assert "123" not in json.dumps(card.plain()) + card.text() + card.html()
    assert str(10**40) not in card.text()
    placed = dataclasses.replace(failing, error=dataclasses.replace(error, line=12))
    text = Card(exercise("f", "F", Verdict.ERROR, [placed])).text()
    assert "ValueError" in text
    # The line number comes from the process in which the code ran.
    assert "line 12" not in text
    named = dataclasses.replace(failing, error=dataclasses.replace(error, type_name="Secret123"))
    assert "Secret123" not in Card(exercise("f", "F", Verdict.ERROR, [named])).text()


def console_output(result: ExerciseResult, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=80).print(Card(result))
    return out.getvalue()


def test_a_terminal_gets_colour_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search("\x1b\\[[0-9;]*3[12]m", console_output(FAILED, monkeypatch))
    plain = console_output(FAILED, monkeypatch, NO_COLOR="1")
    assert not re.search("\x1b\\[[0-9;]*3[0-9]", plain)
    assert "✗ Not right yet" in plain


def test_an_ascii_terminal_gets_ascii() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    for result in [*ALL, *nasty_results()]:
        Console(file=out, width=80).print(Card(result, verbose=True))
    Console(file=out, width=80).print(summary_card(ALL))
    out.flush()
    assert b"x Not right yet: Draw twice" in raw.getvalue()
    assert b"- not checked" in raw.getvalue()


def test_one_bundle_holds_text_html_and_json() -> None:
    bundle = Card(FAILED)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", JSON_TYPE}
    assert "application/json" not in bundle, "JupyterLab would show it instead of the HTML"
    assert bundle["text/plain"] == Card(FAILED).text() == repr(Card(FAILED))
    assert bundle[JSON_TYPE]["checks"][1]["got"] == "(-0.3721109, -0.3721109)"


def test_nothing_is_printed_while_a_notebook_asks_for_the_bundle(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a Jupyter kernel, rich displays everything printed with it."""
    shown: list[object] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *args: shown.append(args))
    Card(FAILED)._repr_mimebundle_()
    assert shown == []
    assert capsys.readouterr().out == ""


def test_a_result_comes_back_from_json() -> None:
    for result in ALL:
        plain = json.loads(json.dumps(result_to_plain(result)))
        again = result_from_plain(plain)
        assert result_to_plain(again) == plain
        assert Card(again).text(80) == Card(result).text(80)
        assert [c.verdict for c in again.checks] == [c.verdict for c in result.checks]


def test_a_lesson_has_one_line_per_exercise_and_a_total() -> None:
    text = summary_card(ALL).text(100)
    lines = text.splitlines()
    assert len(lines) == len(ALL) + 1
    assert re.match(" +✗ Not right yet +two_draws · 1 of 4 checks passed", lines[0])
    assert lines[-1] == "  2 of 8 exercises done. 1 not started."
    for width in (60, 80, 120):
        assert max(map(cell_len, summary_card(ALL).text(width).splitlines())) <= width


def test_the_name_of_an_exercise_stays_in_one_piece_at_80_columns() -> None:
    error = exercise("distance_from_batch_mean", "B", Verdict.ERROR, [check("a", "It is a.", N)] * 4)
    for width in (60, 80):
        assert "distance_from_batch_mean" in summary_card([error]).text(width)
