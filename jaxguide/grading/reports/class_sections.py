"""The part of the instructor's report that can be shown to the class: marks, exercises, misconceptions, effort."""

from collections.abc import Iterator
from html import escape

from jaxguide.base.clean import clean
from jaxguide.base.text import _, plural
from jaxguide.course.verdict import Outcome
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.submission_result import State
from jaxguide.grading.reports.charts import group_count, histogram, legend, share_bar, stacked_bar
from jaxguide.grading.reports.insight import Distribution, distribution_of, efforts_of, rates_of
from jaxguide.grading.reports.marks import Row
from jaxguide.grading.reports.misconceptions import Example, Misconception, misconceptions_of
from jaxguide.grading.reports.page import prose, table, text

_SHOWN = 12
_VALUE_LIMIT = 600


def tiles(rows: list[Row]) -> str:
    """Return the numbers to start with."""
    states = [row.state for row in rows]
    marked = sum(row.score is not None for row in rows)
    median = distribution_of(rows).median
    numbers = [
        (str(len(rows)), plural("student", "students", len(rows))),
        (str(marked), plural("has marks", "have marks", marked)),
        ("\u2013" if median is None else f"{100 * median:.0f} %", _("median of the points")),
    ]
    numbers += [
        (str(states.count(state)), word)
        for state, word in (
            (State.ABSENT, _("absent")),
            (State.UNREADABLE, _("not readable")),
            (State.NOT_GRADED, _("not graded")),
        )
        if state in states
    ]
    items = "".join(f"<li><strong>{text(number)}</strong> <span>{text(word)}</span></li>" for number, word in numbers)
    return f'<ul class="tiles">{items}</ul>'


def marks_section(rows: list[Row]) -> Iterator[str]:
    """Yield how the marks spread."""
    distribution = distribution_of(rows)
    if not distribution.total:
        return
    yield f"<h2>{text(_('Marks'))}</h2><p>{text(_in_words(distribution))}</p>"
    caption = _("How many students have which share of the points. Whoever has no mark is not in it.")
    yield f'<figure class="panel chart">{histogram(distribution)}<figcaption>{text(caption)}</figcaption></figure>'


def _in_words(found: Distribution) -> str:
    assert found.low is not None
    assert found.median is not None
    assert found.high is not None
    said = _(
        "Half of the class has {median:.0f} % of the points or more; "
        "the middle half lies between {low:.0f} and {high:.0f} %."
    )
    words = [said.format(median=100 * found.median, low=100 * found.low, high=100 * found.high)]
    if found.full:
        words.append(plural("{count} student has all of them.", "{count} students have all of them.", found.full))
    if found.none:
        words.append(plural("{count} student has none.", "{count} students have none.", found.none))
    return " ".join(words)


def exercises_section(batch: BatchResult) -> Iterator[str]:
    """Yield each exercise's pass rate."""
    rates = rates_of(batch)
    if not rates:
        return
    used = [group for group in Outcome if any(rate.counts[group] for rate in rates)]
    rows = []
    for number, rate in enumerate(rates):
        said = ", ".join(group_count(group, count) for group, count in rate.counts.items() if count)
        share = "\u2013" if rate.share is None else f"{100 * rate.share:.0f} %"
        title = clean(rate.column.title, 200)
        bar = stacked_bar(str(number), _("{title}: {share} passed").format(title=title, share=share), rate.counts)
        name = f"<code>{text(rate.column.name, 100)}</code>"
        head = f'{prose(title)}<br><span class="under name">{name}</span>'
        rows.append([head, f"<strong>{share}</strong>", f'{bar}<span class="under">{text(said)}</span>'])
    yield f"<h2>{text(_('Exercises'))}</h2>"
    yield f"<p>{text(_('The share of those with a mark who passed every check, and how the others fared.'))}</p>"
    heads = [(text(_("Exercise")), ""), (text(_("Passed")), "number"), (text(_("How it went")), "bars")]
    yield f'<div class="panel">{legend(used)}{table(heads, rows, stacks=True)}</div>'


def misconceptions_section(batch: BatchResult, names: bool) -> Iterator[str]:
    """Yield what failures point to, the most frequent first, each with an example that names nobody unless asked."""
    causes = misconceptions_of(batch)
    found = [one for one in causes if one.is_named]
    students = len({one.student for one in batch.counted if one.results})
    yield from _named(found, students, names)
    yield from _others([one for one in causes if not one.is_named], names)


def _named(found: list[Misconception], students: int, names: bool) -> Iterator[str]:
    if not found:
        return
    yield f"<h2>{text(_('What the class misunderstands'))}</h2>"
    said = _("Each exercise's first failure, gathered by what it points to. A student counts once for each.")
    yield f"<p>{text(said)}</p><ol class='causes'>"
    for number, one in enumerate(found[:_SHOWN]):
        yield _misconception(number, one, students, names)
    yield "</ol>"
    if len(found) > _SHOWN:
        more = "".join(f"<li>{text(_title(one))}: {len(one.students)}</li>" for one in found[_SHOWN:])
        left = len(found) - _SHOWN
        head = plural("{count} more, met by fewer", "{count} more, met by fewer", left)
        yield f'<details class="panel"><summary>{text(head)}</summary><ul class="plain">{more}</ul></details>'


def _misconception(number: int, one: Misconception, students: int, names: bool) -> str:
    count, title = len(one.students), _title(one)
    share = count / students if students else 0.0
    counted = plural("{count} student", "{count} students", count) + f", {100 * share:.0f} %"
    parts = [
        f"<h3>{prose(title)}</h3>",
        f'<div class="share"><span>{text(counted)}</span>{share_bar(str(number), title, share)}</div>',
    ]
    if one.says:
        parts.append(f"<p>{prose(one.says)}</p>")
    if one.idea and one.idea != one.says:
        parts.append(f"<p>{prose(one.idea)}</p>")
    where = ", ".join(clean(title, 200) for title in one.exercises)
    parts.append(f'<p class="under">{prose(_("Met in: {exercises}").format(exercises=where))}</p>')
    if names:
        who = ", ".join(clean(student, 100) for student in one.students)
        parts.append(f'<p class="under">{text(_("Met by: {students}").format(students=who), 5000)}</p>')
    return f'<li class="panel"><div>{"".join(parts)}</div>{_example(one.example, names)}</li>'


def _others(found: list[Misconception], names: bool) -> Iterator[str]:
    """Yield what ended early, by exception and by limit."""
    if not found:
        return
    rows = []
    for one in found:
        where = ", ".join(clean(title, 200) for title in one.exercises)
        said = one.example.check.error.message if one.example.check.error else one.example.check.message
        who = "<br>" + text(_("Met by: {students}").format(students=", ".join(one.students)), 5000) if names else ""
        # What a hidden check's call raised may say what it asked.
        said = _("(a hidden check)") if one.example.check.hidden else said
        rows.append([text(_title(one)), str(len(one.students)), prose(where) + who, prose(said, 200)])
    heads = [(text(_("What")), ""), (text(_("Students")), "number"), (text(_("Met in")), ""), (text(_("Said")), "")]
    yield f"<h2>{text(_('Errors and limits'))}</h2>"
    yield f"<p>{text(_('Where code raised or was stopped before a check could tell what is wrong.'))}</p>"
    yield f'<div class="panel">{table(heads, rows, stacks=True)}</div>'


def _title(one: Misconception) -> str:
    first, *others = one.names
    return first[:1].upper() + first[1:] + "".join(_(", or {name}").format(name=name) for name in others)


def _example(example: Example, names: bool) -> str:
    """Show one failure. What a hidden check asked is folded away, since the page may be shown round."""
    check = example.check
    facts = [(_("Check"), prose(check.fact or check.name))]
    if check.message:
        facts.append((_("Said"), prose(check.message, _VALUE_LIMIT)))
    for label, value in ((_("Call"), check.call), (_("Got"), check.got), (_("Expected"), check.expected)):
        if value:
            facts.append((label, f"<pre>{_block(value)}</pre>"))
    if check.error is not None and check.error.source:
        facts.append((_("Line"), f"<pre>{_block(check.error.source)}</pre>"))
    if names:
        facts.append((_("Student"), text(example.student, 200)))
    items = "".join(f"<dt>{text(label)}</dt><dd>{value}</dd>" for label, value in facts)
    head = _("An example, from a hidden check") if check.hidden else _("An example")
    is_open = "" if check.hidden else " open"
    return f'<details{is_open}><summary>{text(head)}</summary><dl class="facts">{items}</dl></details>'


def _block(value: str) -> str:
    """Keep a value's lines and columns."""
    return escape(clean(value, _VALUE_LIMIT))


def effort_section(batch: BatchResult) -> Iterator[str]:
    """Yield time and hints, where workspaces recorded them."""
    efforts = efforts_of(batch)
    if not efforts:
        return
    rows = [
        [
            prose(one.column.title),
            str(one.students),
            f"{one.tries:g}",
            f"{one.hints:g}",
            f"{100 * one.read_hints / one.students:.0f} %",
            "\u2013" if one.minutes is None else f"{one.minutes:g}",
        ]
        for one in efforts
    ]
    heads = [
        (text(_("Exercise")), ""),
        (text(_("Students")), "number"),
        (text(_("Tries")), "number"),
        (text(_("Hints")), "number"),
        (text(_("Read a hint")), "number"),
        (text(_("Minutes")), "number"),
    ]
    said = _(
        "Medians, for those whose workspace came along: different versions checked, hints read, minutes from the first "
        "check to the first pass, breaks included. It is what their own file says; it decides nothing."
    )
    yield f"<h2>{text(_('Time and hints'))}</h2><p>{text(said)}</p>"
    yield f'<div class="panel">{table(heads, rows)}</div>'


STYLE = """
.chart{margin:.9rem 0}
.chart svg{max-width:50rem;margin:0 auto}
.halo{paint-order:stroke;stroke:var(--panel);stroke-width:5px}
figcaption{margin-top:.5rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;margin:0 0 .8rem;padding:0;list-style:none;font-size:.95rem}
.legend li{display:flex;align-items:center;gap:.45rem}
td.bars{width:55%}
.bars .under{display:block;margin-top:.25rem;font-size:.95rem}
.name{font-weight:400}
.causes{padding:0;margin:0;list-style:none;counter-reset:cause}
.causes>li{counter-increment:cause}
.causes h3::before{content:counter(cause) ". "}
.share{display:grid;grid-template-columns:max-content minmax(4rem,18rem);align-items:center;gap:.2rem .9rem;
  margin:.3rem 0}
.causes p{margin:.35rem 0}
@media(min-width:60rem){
  .causes>li{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:0 2rem}
  .causes details{margin:0}
}
"""
