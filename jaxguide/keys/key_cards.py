"""Show problems with keys, and uses of keys, as text and as cards in a notebook; `key_record` has their classes."""

import itertools
from collections.abc import Sequence
from typing import Any

from jaxguide.base.render.prose import lines_html
from jaxguide.base.text import plural

_MOST_USES = 40


def marked_lines(problems: Sequence[Any], cut_loops: Sequence[str]) -> list[str]:
    """Return a line for each problem, and one for each loop that was followed only in part."""
    return [*(f"✗ {problem}" for problem in problems), *(f"○ {sentence}" for sentence in cut_loops)]


def problems_text(problems: Sequence[Any], ignored: int, cut_loops: Sequence[str]) -> str:
    """Return the problems and what was not followed, below a line that counts the problems."""
    return "\n".join([_count(problems, ignored), *marked_lines(problems, cut_loops)])


def problems_card(problems: Sequence[Any], ignored: int = 0, cut_loops: Sequence[str] = ()) -> str:
    """Return the problems and what was not followed as HTML."""
    return lines_html(problems_text(problems, ignored, cut_loops), tone_of(problems))


def tone_of(problems: Sequence[Any]) -> str:
    """Return the colour of a card's edge; a problem inside a package is not the student's."""
    return "good" if not problems else "partly" if all(problem.package for problem in problems) else "bad"


def use_text(use: Any) -> str:
    """Return a use in one line.

    >>> from jaxguide.keys import Use
    >>> use_text(Use("draw", (0, 7), "fry", 3, "x = jax.random.normal(key)", "normal"))
    'normal from key 0:7, line 3: x = jax.random.normal(key)'
    """
    where = "" if use.line is None else f", line {use.line}"
    return f"{_done(use)}{where}{f': {use.source}' if use.source else ''}"


def _done(use: Any) -> str:
    key = ":".join(f"{word:x}" for word in use.bits)
    if use.kind == "draw":
        return f"{use.sampler or 'draw'} from key {key}"
    if use.kind == "split":
        return f"split of key {key} into {use.count}"
    if use.kind == "fold_in":
        return f"fold_in of {use.data} into key {key}"
    if use.kind == "seed":
        return f"key {key} from the seed {use.data}"
    return f"{use.kind} of key {key}"


def key_use_text(used: Any) -> str:
    """Return all uses in order, and the problems."""
    if used.untraceable is not None:
        return f"The program could not be run: {used.untraceable}"
    title = plural("{count} use of keys.", "{count} uses of keys.", len(used.uses))
    lines = [f"  {line}" for line in _lines(used.uses)]
    return "\n".join([title, *lines, problems_text(used.problems, used.ignored, used.cut_loops)])


def _count(problems: Sequence[Any], ignored: int) -> str:
    text = (
        plural("{count} problem with keys", "{count} problems with keys", len(problems))
        if problems
        else "✓ No problem with keys"
    )
    if ignored:
        text += plural(", {count} ignored", ", {count} ignored", ignored)
    return f"{text}."


def _lines(uses: Sequence[Any]) -> list[str]:
    """Return a line for each use; rows of one draw, and what goes beyond the first uses, are counted."""
    lines = []
    for _same, group in itertools.groupby(uses, lambda use: (use.kind, use.sampler, use.line, use.source)):
        first, *more = group
        text = use_text(first)
        if more:
            text += plural(" (and {count} more)", " (and {count} more)", len(more))
        lines.append(text)
    if len(lines) > _MOST_USES:
        rest = len(lines) - _MOST_USES
        lines[_MOST_USES:] = [plural("… and {count} more", "… and {count} more", rest)]
    return lines
