"""Write a result as the description of a card."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from jaxguide.base.clean import clean
from jaxguide.base.render.card import Badge, CardFace, Code, Diff, Folded, Item, Items, Pair, Part, Prose
from jaxguide.base.render.line_diff import marked_apart
from jaxguide.base.text import plural
from jaxguide.course.cards.shown import written
from jaxguide.course.cards.student_view import for_student
from jaxguide.course.verdict import CheckResult, ErrorInfo, ExerciseResult, ExplanationText, Outcome, Verdict, about
from jaxguide.explain.explanation import explained

BEHIND = "What it does"
"""The label of what an answer gets wrong, in the author's sentence."""

_CASES_SHOWN = 10
_MESSAGE = 240  # characters of an error, so that a card has room for the rest
_LINES = 5
_GOT = 130  # characters of what was returned, beside what a check found in it


def face_of(
    result: ExerciseResult,
    reveal: bool = False,
    cases: Mapping[str, list[str]] = MappingProxyType({}),
    more: tuple[Part, ...] = (),
) -> CardFace:
    """Describe a result: what failed and why, then `more`, then every check. Hidden details need `reveal`."""
    result = result if reveal else for_student(result)
    name = clean(result.name, 100)
    parts = [*_first_parts(result, name), *more, *_hint(result), *_checks(result, cases), *_printed(result)]
    return CardFace(exercise_badge(result), clean(result.title, 200) or name, name, tuple(parts))


def _first_parts(result: ExerciseResult, name: str) -> list[Part]:
    """Return what a student reads first: what went wrong in a sentence, the call and the difference."""
    note, failure = clean(result.note, 600), result.leading
    if result.as_given is not None:
        # The idea would tell what to repair.
        said = Prose("This code is to be repaired. As given, it fails:")
        return [said, *_failure(replace(result.as_given, idea=""), note)]
    if result.verdict is Verdict.NOT_ATTEMPTED:
        return [Prose(note or f"Write your answer in `{name}`, then check again.")]
    if is_prediction(result):
        return _guess(result)
    if failure is not None:
        return _failure(failure, note)
    return [Prose(note)] if note else []


def _hint(result: ExerciseResult) -> list[Part]:
    return [Prose(clean(result.hint, 600), "Next")] if result.hint and result.verdict is not Verdict.PASSED else []


def _checks(result: ExerciseResult, cases: Mapping[str, list[str]]) -> list[Part]:
    """Return the counts of checks, with the list of them folded away."""
    # Facts that checks state can tell an answer that nobody has tried yet.
    if not result.checks or result.verdict is Verdict.NOT_ATTEMPTED:
        return []
    counts, missed = counts_of(result), _missed(result)
    items = tuple(
        Item(
            _listed_badge(check, result.leading),
            f"{_fact(check)} · no points without this one" if check is missed else _fact(check),
            tuple(clean(case, 400) for case in _first_cases(cases.get(check.name, []))),
        )
        for check in result.checks
    )
    return [Folded(f"{counts} · no points: a required check failed" if missed else counts, (Items(items),))]


def _listed_badge(check: CheckResult, first: CheckResult | None) -> Badge:
    """Return the badge of a check in the list: one that fails as the first failure does, on the same call, says so."""
    badge = check_badge(check.seen)
    is_alike = first is not None and check is not first and first.call and _cause(check) == _cause(first)
    return replace(badge, word=f"{badge.word}, likewise") if is_alike else badge


def _cause(check: CheckResult) -> tuple[object, ...]:
    return check.seen, check.call, check.error, check.got, check.compared, check.expected


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
        if _is_right_guess(result):
            return Badge("✓", "+", "You guessed right", "good")
        return Badge("≠", "!", "Not what you guessed", "partly")
    if result.verdict is Verdict.PASSED:
        return _badge(result.verdict, about(result.verdict).of_exercise if not result.is_all else "Right")
    if result.verdict is Verdict.NOT_ATTEMPTED and not result.checks:
        return _badge(result.verdict, "Your guess is locked" if result.is_locked else "No guess yet")
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
    """Return how many checks passed, counting visible and hidden ones separately if there are both."""
    visible = [check for check in result.checks if not check.hidden]
    hidden = [check for check in result.checks if check.hidden]
    kinds = [("visible ", visible), ("hidden ", hidden)] if hidden else [("", visible)]
    return " · ".join(_passed(checks, kind) for kind, checks in kinds if checks)


def _passed(checks: list[CheckResult], kind: str) -> str:
    one, more = "{passed} of {count} {kind}check passed", "{passed} of {count} {kind}checks passed"
    return plural(one, more, len(checks), passed=sum(check.seen is Verdict.PASSED for check in checks), kind=kind)


def _missed(result: ExerciseResult) -> CheckResult | None:
    """Return the failed check that takes the points of the others, if one does."""
    failed = (check for check in result.checks if check.required and check.verdict is not Verdict.NOT_CHECKED)
    missed = next((check for check in failed if not check.passed), None)
    is_taken = not result.score and any(check.passed for check in result.checks)
    return missed if is_taken else None


def _failure(check: CheckResult, note: str) -> list[Part]:
    if check.error and check.error.explanation:
        return _explained(check, check.error, check.error.explanation)
    message = clean(check.message, 1000) or note or ("" if _is_unreadable(check) else f"Failed: {_fact(check)}")
    is_long = check.error is not None and len(message) > _MESSAGE
    parts: list[Part] = [Prose(f"{message[:_MESSAGE]}…" if is_long else message)] if message else []
    if check.call:
        parts.append(Code(clean(check.call, 600), "Call", is_python=True))
    elif check.on:
        parts.append(Prose(clean(check.on, 200), "Input"))
    parts += _difference(check)
    parts += _error(check.error, message) if check.error else []
    parts += [Folded("The whole message", (Prose(message),))] if is_long else []
    behind, idea = _behind(check), clean(check.idea, 600)
    # Of a hidden check, students see no values, so there is room for both.
    parts += [Prose(idea)] if idea and (check.hidden or not behind) else []
    return [*parts, Prose(behind, BEHIND)] if behind else parts


def _difference(check: CheckResult) -> list[Part]:
    """Return what the call returned and what was expected, or where they differ."""
    got, compared, expected = (_first_lines(text) for text in (check.got, check.compared, check.expected))
    label, extent = clean(check.label, 60), clean(check.extent, 200)
    after: list[Part] = [Prose(extent)] if extent else []
    if check.difference:
        return [Diff(clean(check.difference, 2000), f"{label or 'Difference'}: - yours, + expected"), *after]
    parts: list[Part] = []
    first = Code(got, "Got") if got else None
    if compared:
        # A part of the result says enough; and several results would hide what was made of them.
        is_shown = got and not label.startswith("result") and "\n" not in check.call
        parts += [Code(clean(" ".join(got.split()), _GOT), "Got")] if is_shown else []
        first = Code(compared, label or "Found")
    second = Code(expected, "Expected") if expected else None
    if not first or not second:
        return [*parts, *(one for one in (first, second) if one), *after]
    return [*parts, _pair(first, second), *after]


def _pair(got: Code, expected: Code) -> Pair:
    """Mark the characters in which two strings differ, and in other values the words and numbers."""
    is_text = got.text[:1] in ("'", '"')
    marks = marked_apart(got.text, expected.text, words=not is_text)
    return Pair(replace(got, marked=marks[0]), replace(expected, marked=marks[1]))


def _fact(check: CheckResult) -> str:
    return clean(check.fact or check.name, 300)


def _behind(check: CheckResult) -> str:
    """Return what planted wrong answers do that fail in the same way, in the author's sentences."""
    return clean(" Or: ".join(one for one in check.says), 300)


def _error(error: ErrorInfo, message: str) -> list[Part]:
    """Return the exception, unless the message already has it, and the line of the student's code."""
    said = ": ".join(part for part in (clean(error.type_name, 100), clean(error.message, 600)) if part)
    parts: list[Part] = [Prose(said, "Error")] if said and said not in message else []
    place = _place(error)
    return [*parts, Prose(place, "Where")] if place else parts


def _place(error: ErrorInfo) -> str:
    place, source = clean(error.place, 100), clean(error.source, 300)
    return f"{place}: `{source}`" if source and place else place


def _explained(check: CheckResult, error: ErrorInfo, text: ExplanationText) -> list[Part]:
    """Return an error as `explain` explains it: what, why and how to fix it, with JAX's own words folded."""
    text = text.bounded()
    parts: list[Part] = [Prose(f"{text.title}.")]
    parts += [Code(clean(check.call, 600), "Call", is_python=True)] if check.call else []
    parts += explained(_place(error), f"{text.what} {text.why}".strip(), text.fixes)
    said = Code(f"{clean(error.type_name, 100)}: {clean(error.message, 600)}")
    link: list[Part] = [Prose(text.link, "More")] if text.link else []
    return [*parts, Folded("JAX's own words", (said, *link))]


def _guess(result: ExerciseResult) -> list[Part]:
    """Return the locked guess beside what JAX gives, why JAX gives it, and code that shows it."""
    said = "" if _is_right_guess(result) else "Your first guess counts, and the points are for guessing."
    why, shows = f"{said} {clean(result.why, 1000)}".strip(), clean(result.shows, 1000)
    return [
        Pair(Code(clean(result.note, 400), "Your first guess"), Code(written(result.reveal), "JAX gives")),
        *([Prose(why)] if why else []),
        *([Code(shows, "See it", is_python=True)] if shows else []),
    ]


def _is_right_guess(result: ExerciseResult) -> bool:
    return clean(result.note) == written(result.reveal)


def _printed(result: ExerciseResult) -> list[Part]:
    printed = clean(result.printed + result.hidden_printed, 2000).rstrip()
    return [Code(_first_lines(printed), "Your code printed")] if printed else []


def _first_lines(text: str) -> str:
    lines = clean(text, 600).split("\n")
    return "\n".join(
        lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"… {len(lines) - _LINES + 1} more lines"]
    )
