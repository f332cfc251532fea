"""Write the text of a card, before it is laid out for a terminal or a notebook."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.cards.shown import written
from jaxguide.course.cards.student_view import for_student
from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, Outcome, Verdict, about

_CASES_SHOWN = 10


@dataclasses.dataclass(frozen=True)
class Badge:
    """A state as a glyph (and one for ASCII-only terminals), a word, and a tone for the edge."""

    glyph: str
    ascii_glyph: str
    word: str
    tone: str


@dataclasses.dataclass(frozen=True)
class CardRow:
    """One labelled entry of a card.

    With `code`, the text is shown verbatim in a code font; if it is `folded`, a page shows it on demand and a terminal
    its first two lines.
    """

    label: str
    text: str
    code: bool = False
    folded: bool = False


@dataclasses.dataclass(frozen=True)
class Content:
    """The full content of one card, from the first line to the last.

    `pair` is what the check compared and what it should be. `got` is what the function returned, if that is another.
    """

    badge: Badge
    title: str
    name: str
    failed: str = ""
    message: str = ""
    on: CardRow | None = None
    call: CardRow | None = None
    got: CardRow | None = None
    pair: tuple[CardRow, ...] = ()
    error: tuple[CardRow, ...] = ()
    idea: str = ""
    misconceptions: CardRow | None = None
    hint: CardRow | None = None
    counts: str = ""
    checks: tuple[tuple[Badge, str, tuple[str, ...]], ...] = ()
    printed: CardRow | None = None


def content_of(
    result: ExerciseResult, reveal: bool = False, cases: Mapping[str, list[str]] = MappingProxyType({})
) -> Content:
    """Describe a result: first what failed and why, then every check. Hidden details need `reveal`."""
    result = result if reveal else for_student(result)
    failure = result.first_failure
    content = Content(
        badge=exercise_badge(result),
        title=clean(result.title, 200) or clean(result.name, 100),
        name=clean(result.name, 100),
        counts=" · ".join(filter(None, [counts_of(result), _what_is_required(result)])),
        checks=tuple(
            (
                check_badge(check.verdict),
                _fact(check),
                tuple(clean(case, 400) for case in _first_cases(cases.get(check.name, []))),
            )
            for check in result.checks
        ),
        printed=_printed(result.printed + result.hidden_printed),
    )
    if result.verdict is Verdict.NOT_ATTEMPTED:
        start = f"Write your answer in `{content.name}`, down to its `return`. Then check again."
        content = dataclasses.replace(content, message=clean(result.note, 600) or start)
    elif is_prediction(result):
        content = dataclasses.replace(content, pair=_guess_and_truth(result), message=_guess_message(result))
    elif failure is not None:
        content = _with_failure(content, failure, clean(result.note, 600), verbose=bool(cases))
    else:
        content = dataclasses.replace(content, message=clean(result.note, 600))
    if result.hint and result.verdict is not Verdict.PASSED:
        content = dataclasses.replace(content, hint=CardRow("Next", clean(result.hint, 600)))
    return content


def _first_cases(lines: list[str]) -> list[str]:
    """Return the first cases of a check, and the number of further ones."""
    more = len(lines) - _CASES_SHOWN
    return lines if more <= 0 else [*lines[:_CASES_SHOWN], plural("… and {count} more", "… and {count} more", more)]


def is_prediction(result: ExerciseResult) -> bool:
    """Return whether a result belongs to a prediction whose guess is locked."""
    return result.reveal is not None


def exercise_badge(result: ExerciseResult) -> Badge:
    """Return the badge of an exercise; it claims no more than the checks that ran."""
    if is_prediction(result):
        word = "Your guess is in"
        return Badge("✓", "+", word, "good") if _is_right_guess(result) else Badge("≠", "!", word, "partly")
    if result.verdict is Verdict.PASSED:
        hidden = any(check.hidden for check in result.checks)
        return _badge(result.verdict, "All checks passed" if hidden else about(result.verdict).of_exercise)
    if result.verdict is Verdict.ERROR and result.first_failure and _is_unreadable(result.first_failure):
        return Badge("✗", "x", "Python cannot read your code", "bad")
    return _badge(result.verdict, about(result.verdict).of_exercise)


def _is_unreadable(failure: CheckResult) -> bool:
    return failure.error is not None and failure.error.type_name == "SyntaxError"


def check_badge(verdict: Verdict) -> Badge:
    """Return the badge of one check."""
    return _badge(verdict, about(verdict).of_check)


def _badge(verdict: Verdict, word: str) -> Badge:
    glyph, ascii_glyph, tone = {
        Outcome.PASSED: ("✓", "+", "good"),
        Outcome.PARTLY: ("◐", "~", "partly"),
        Outcome.FAILED: ("✗", "x", "bad"),
        Outcome.STOPPED: ("✗", "x", "bad"),
        Outcome.NOT_ATTEMPTED: ("○", "o", "quiet"),
        Outcome.NOT_GRADED: ("\u2013", "-", "quiet"),
    }[about(verdict).outcome]
    return Badge(glyph, ascii_glyph, word, tone)


def counts_of(result: ExerciseResult) -> str:
    """Return how many checks passed, counting visible and hidden ones separately."""
    visible = [check for check in result.checks if not check.hidden]
    hidden = [check for check in result.checks if check.hidden]
    said = []
    if visible and result.verdict is Verdict.NOT_ATTEMPTED:
        return plural("{count} visible check is waiting", "{count} visible checks are waiting", len(visible))
    if visible:
        words = plural(
            "{{passed}} of {count} visible check passed", "{{passed}} of {count} visible checks passed", len(visible)
        )
        said.append(words.format(passed=sum(check.passed for check in visible)))
    if hidden:
        words = plural(
            "{{passed}} of {count} hidden check passed", "{{passed}} of {count} hidden checks passed", len(hidden)
        )
        said.append(words.format(passed=sum(check.passed for check in hidden)))
    return " · ".join(said)


def _what_is_required(result: ExerciseResult) -> str:
    """Return which failed check takes the points of the others, if one does."""
    failed = (check for check in result.checks if check.required and check.verdict is not Verdict.NOT_CHECKED)
    missed = next((check for check in failed if not check.passed), None)
    if missed is None or result.score or not any(check.passed for check in result.checks):
        return ""
    return f"no points without this one: {_fact(missed)}"


def _with_failure(content: Content, check: CheckResult, note: str, verbose: bool) -> Content:
    got, compared, expected = (clean(t, 600) for t in (check.got, check.compared, check.expected))
    returned = CardRow("Got", got, code=True) if got else None
    pair = [returned] if returned and not compared else []
    pair += [CardRow(clean(check.label, 60) or "Compared", compared, code=True)] if compared else []
    pair += [CardRow("Expected", expected, code=True)] if expected else []
    message = clean(check.message, 1000) or note
    error: tuple[CardRow, ...] = ()
    if check.error and check.error.explanation:
        message, error = "", explained(check.error, verbose)
    elif check.error:
        error = tuple(filter(None, [_error_row(check.error, message)]))
    behind = _behind(check)
    failed = "Failed: {fact}" if check.verdict is Verdict.FAILED else "While checking: {fact}"
    return dataclasses.replace(
        content,
        failed="" if _is_unreadable(check) else failed.format(fact=_fact(check)),
        message=message,
        on=CardRow("Input", clean(check.on, 200)) if check.on and not check.call else None,
        call=CardRow("Call", clean(check.call, 600), code=True) if check.call else None,
        got=returned if compared else None,
        pair=tuple(pair),
        error=error,
        idea=clean(check.idea, 600),
        misconceptions=CardRow("What it does", behind) if behind else None,
    )


def _fact(check: CheckResult) -> str:
    return clean(check.fact or check.name, 300)


def _behind(check: CheckResult) -> str:
    """Return what planted wrong answers do that fail in the same way, in the author's sentences."""
    return clean(" Or: ".join(one for one in check.says), 300)


def _error_row(error: ErrorInfo, message: str) -> CardRow | None:
    """Return the exception, unless the message already has it, and the line of the student's code."""
    said = ": ".join(part for part in (clean(error.type_name, 100), clean(error.message, 600)) if part)
    if said and said in message:
        said = ""
    place = _place(error)
    if not said:
        return CardRow("Your code", place) if place else None
    return CardRow("Error", "\n".join([said, *([f"Your code, {place}"] if place else [])]))


def _place(error: ErrorInfo) -> str:
    place, source = clean(error.place, 100), clean(error.source, 300)
    return f"{place}: `{source}`" if place and source else place


def explained(error: ErrorInfo, verbose: bool = False) -> tuple[CardRow, ...]:
    """Return the rows for an error with an explanation: what, why and how to fix it; then JAX's own words, folded.

    >>> from jaxguide.course.verdict import ExplanationText
    >>> text = ExplanationText("`if` needs a known value", "", "JAX traces `x`.", (("Use `jnp.where`.", "y = 1"),))
    >>> error = ErrorInfo("TracerBoolConversionError", "Attempted ...", 3, "if x > 0:", "cell [7]", text)
    >>> for row in explained(error):
    ...     print(f"{row.label} | {row.text}")
    Error | `if` needs a known value
    Your code | cell [7], line 3: `if x > 0:`
    Why | JAX traces `x`.
    To fix it | Use `jnp.where`.
     | y = 1
    JAX's own words | TracerBoolConversionError: Attempted ...
    """
    text = error.explanation
    assert text is not None
    rows = [CardRow("Error", clean(text.title, 200)), CardRow("Your code", _place(error))]
    rows.append(CardRow("Why", clean(f"{text.what} {text.why}".strip(), 1200)))
    for number, (sentence, code) in enumerate(text.fixes):
        rows.append(CardRow("Or" if number else "To fix it", clean(sentence, 400)))
        rows += [CardRow("", clean(code, 1000), code=True)] if code else []
    rows += [CardRow("More", clean(text.link, 300))] if text.link else []
    said = f"{clean(error.type_name, 100)}: {clean(error.message, 600)}"
    return (*rows, CardRow("JAX's own words", said, folded=not verbose))


def _guess_and_truth(result: ExerciseResult) -> tuple[CardRow, ...]:
    return (
        CardRow("Your guess", clean(result.note, 400), code=True),
        CardRow("JAX gives", written(result.reveal), code=True),
    )


def _is_right_guess(result: ExerciseResult) -> bool:
    return clean(result.note) == written(result.reveal)


def _guess_message(result: ExerciseResult) -> str:
    if _is_right_guess(result):
        return "Your guess was right. It is locked now."
    return "Your guess is locked now. Compare the two: what made the difference?"


def _printed(text: str) -> CardRow | None:
    lines = clean(text, 2000).rstrip().split("\n")
    if lines == [""]:
        return None
    more = ["…"] if len(lines) > 10 else []
    return CardRow("Your code printed", "\n".join([*lines[:10], *more]), code=True)
