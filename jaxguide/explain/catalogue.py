"""Explain errors from a catalogue: an entry has a phrase of the message, which expression to look at, and the words."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from jaxguide.code.edits import Edit
from jaxguide.code.user_frame import is_tracer
from jaxguide.compat.error_texts import Phrase
from jaxguide.explain.explanation import Explanation, Fix
from jaxguide.explain.known_facts import Condition, Facts, Probe, Said, Unsure
from jaxguide.explain.probes import STANDARD
from jaxguide.explain.rewrites.static_arguments import static_fix
from jaxguide.explain.scene import Scene

Rule = Callable[[Scene, re.Match[str]], Explanation | None]
# The first that returns an explanation wins.
RULES: list[tuple[Phrase, Rule]] = []


def always(facts: Facts) -> bool:
    """Hold for every error."""
    return True


class Swap:
    """A fix that writes a template in place of an expression: `Swap("Take one of them.", x="{x.atom}[0]")`.

    Args:
        sentence: what to do.
        when: a condition.
        or_say: whether to say the sentence alone where the code is not known.
        texts: for each fact that is replaced, what to write. New lines are indented like the replaced one.
    """

    def __init__(self, sentence: str, when: Condition = always, or_say: bool = False, **texts: str):
        self.sentence, self.when, self.or_say, self.texts = sentence, when, or_say, texts

    def made(self, facts: Facts) -> Fix | None:
        """Return the fix."""
        edits = [_replaced(facts, place, text) for place, text in self.texts.items()]
        return facts.scene.fix(facts.say(self.sentence), *edits)


@dataclass(frozen=True)
class Code:
    """A fix that shows code, which the student puts where it belongs."""

    sentence: Said
    text: Said
    when: Condition = always

    def made(self, facts: Facts) -> Fix | None:
        """Return the fix."""
        sentence = facts.say(self.sentence)
        return facts.scene.fix(sentence, code=facts.say(self.text)) if self.text else facts.scene.advice(sentence)


# A fix in words only; a plain text among the fixes is the same without a condition.
Words = partial(Code, text="")


class Either:
    """The first of several fixes that can be made."""

    def __init__(self, *fixes: "AnyFix", when: Condition = always):
        self.fixes, self.when = fixes, when

    def made(self, facts: Facts) -> Fix | None:
        """Return the fix."""
        return next((made for fix in self.fixes for made in _made(facts, fix)), None)


class Static:
    """The fix that makes static the arguments of a jitted function whose traced values these facts are, or else all."""

    def __init__(self, *facts: str, when: Condition = always):
        self.facts, self.when = facts, when

    def made(self, facts: Facts) -> Fix | None:
        """Return the fix."""
        values = [facts.part(name).value for name in self.facts]
        traced = (value for _part, value in facts.scene.spot.parts(facts.scene.node) if is_tracer(value))
        return static_fix(facts.scene, *(values or traced))


# A function is for a fix that is computed; it may return several.
AnyFix = Swap | Code | Either | Static | str | Callable[[Facts], Fix | Sequence[Fix | None] | None]


@dataclass(frozen=True)
class Entry:
    """One kind of failure, or one of the ways in which it is explained; called like a rule. See `entry`."""

    kind: str
    title: Said
    what: Said
    why: Said
    fixes: Sequence[AnyFix]
    otherwise: Sequence[AnyFix]
    variable: Said | None
    when: Sequence[Condition]
    link: Said
    line: str
    probes: Mapping[str, Probe] = field(repr=False)

    def __call__(self, scene: Scene, found: re.Match[str]) -> Explanation | None:
        facts = Facts(scene, found, self.probes)
        try:
            if not all(condition(facts) for condition in self.when) or not facts.knows("x"):
                return None
            made = [made for fix in self.fixes for made in _made(facts, fix)]
            return scene.explanation(
                self.kind,
                title=facts.say(self.title),
                what=facts.say(self.what),
                why=facts.say(self.why),
                variable=facts.say(self.variable) if self.variable is not None else None,
                fixes=made or [made for fix in self.otherwise for made in _made(facts, fix)],
                link=facts.say(self.link),
                line=facts.part(self.line).line if self.line else None,
            )
        except Unsure:
            return None


def entry(
    kind: str,
    *phrases: Phrase,
    x: Probe,
    title: Said,
    why: Said,
    fixes: Sequence[AnyFix] | AnyFix,
    otherwise: Sequence[AnyFix] | AnyFix = (),
    what: Said = ("{x.is_here}", ""),
    variable: Said | None = "{x}",
    when: Condition | Sequence[Condition] = (),
    link: Said = "",
    line: str = "",
    **facts: Probe,
) -> None:
    """Add an entry to the catalogue. The first whose facts are known explains the error, if it has a fix.

    A template names facts: `{x}` is the text of an expression, `{x.shape}` and the like a property of it (see `Part`),
    `{g1}` or `{name}` a group of the message; `STANDARD` in `probes.py` lists what is always there. A fact that is not
    known drops the fix that names it, and silences the entry if other words do.

    Args:
        kind: the name of the failure.
        phrases: what JAX says.
        x: finds the expression that is to blame; without one the entry is silent.
        title, what, why: the words; of several templates the first counts whose facts are known.
        fixes: one fix, or several, the best first.
        otherwise: fixes for when none of these can be made.
        variable: what is to blame.
        when: conditions that must hold.
        link: the page of JAX's documentation, if its message names none.
        line: the fact whose line is named, by default the failing one.
        facts: further facts, each found by a probe when it is first needed.
    """
    conditions = (when,) if callable(when) else tuple(when)
    probes = {**STANDARD, "x": x, **facts}
    made, others = _several(fixes), _several(otherwise)
    added = Entry(kind, title, what, why, made, others, variable, conditions, link, line, probes)
    RULES.extend((phrase, added) for phrase in phrases)


def _several(fixes: Sequence[AnyFix] | AnyFix) -> tuple[AnyFix, ...]:
    return tuple(fixes) if isinstance(fixes, Sequence) and not isinstance(fixes, str) else (fixes,)


def _made(facts: Facts, fix: AnyFix) -> list[Fix]:
    """Return the fixes that one comes to; none if a fact is not known, or if its condition does not hold."""
    made = _tried(facts, fix)
    return made or (_tried(facts, fix.sentence) if isinstance(fix, Swap) and fix.or_say else [])


def _tried(facts: Facts, fix: AnyFix) -> list[Fix]:
    try:
        if isinstance(fix, str):
            return [facts.scene.advice(facts.say(fix))]
        if isinstance(fix, Swap | Code | Either | Static):
            made: Fix | Sequence[Fix | None] | None = fix.made(facts) if fix.when(facts) else None
        else:
            made = fix(facts)
    except Unsure:
        return []
    return [one for one in ([made] if isinstance(made, Fix) else made or []) if one is not None]


def _replaced(facts: Facts, place: str, template: str) -> Edit:
    """Return the edit that writes a template in place of a fact."""
    part = facts.part(place)
    node, source = part.written, part.source
    text = facts.say(template.replace("\n", f"\n{source.indent(node)}"))
    if isinstance(source.parents.get(node), ast.Lambda) and _is_bare_tuple(text):
        text = f"({text})"
    return source.replace(node, text)


def _is_bare_tuple(text: str) -> bool:
    """Return whether a text is a tuple without parentheses, at whose first comma a lambda would end."""
    try:
        return isinstance(ast.parse(f"lambda: {text}", mode="eval").body, ast.Tuple)
    except SyntaxError:
        return False
