"""The part of the instructor's report that is for the record: names, how far to trust it, how to run it again."""

import shlex
from collections.abc import Iterable, Iterator

from jaxguide.base.clean import clean
from jaxguide.base.text import _, plural
from jaxguide.course.verdict import Kind
from jaxguide.grading.batch.batch_result import BatchResult
from jaxguide.grading.batch.limits_text import write_limits
from jaxguide.grading.batch.submission_result import State, SubmissionResult
from jaxguide.grading.isolation.tier import MEDIUM, PROCESS, STRONG
from jaxguide.grading.reports.csv_tables import file_names, points_cell
from jaxguide.grading.reports.insight import checks_of
from jaxguide.grading.reports.marks import Row, columns_of
from jaxguide.grading.reports.page import prose, table, text
from jaxguide.grading.reports.results_json import feedback_stems

# What becomes of a cell with nothing to tell of it.
_EXPECTED_FATES = ("ran", "as printed", "empty")


def tier_sentence(tier: str) -> str:
    """Say what an isolation tier means for the results."""
    return {
        STRONG: _("Each submission ran alone, in namespaces of its own, kept from the key, the disk and the network."),
        MEDIUM: _(
            "Each submission ran kept from the key, the disk and the network, without namespaces of its own, "
            "which this machine refuses."
        ),
        PROCESS: _(
            "Nothing kept a submission from reading the key or the disk. So not even the checks that decide on values "
            "are protected here: a submission that read the key could return what is expected."
        ),
        "": _("No submission's code ran."),
    }.get(tier, "")


def lists_section(batch: BatchResult, rows: list[Row]) -> Iterator[str]:
    """Yield who has no mark and why, and what else the instructor should look at, folded away since it names people."""
    not_graded = [(row.student, why) for row in rows if row.state is State.NOT_GRADED for why in _why_not(row)]
    unreadable = [(one.student, f"{one.path.name}: {one.unreadable}") for one in batch.counted if one.unreadable]
    replaced = [(one.student, one.path.name) for one in batch.submissions if one.state is State.SUPERSEDED]
    repairs = [(one.student, line) for one in batch.counted for line in one.repairs]
    given = [
        (
            one.student,
            _("{exercise}: {points:g} instead of {was}. {comment}").format(
                exercise=one.exercise,
                points=one.points,
                was=_("no mark") if one.was is None else f"{one.was:g}",
                comment=one.comment,
            ),
        )
        for one in batch.overrides
    ]
    lists = [
        (_("Not graded, for no fault of theirs"), not_graded),
        (_("Not readable"), unreadable),
        (_("Absent"), [(row.student, "") for row in rows if row.state is State.ABSENT]),
        (_("Not on the roster"), [(student, "") for student in batch.unknown]),
        (_("Earlier files that do not count"), replaced),
        (_("Points given by hand"), given),
        (_("Mended while reading"), repairs),
        (_("Cells that failed or did not run"), list(_cells(batch))),
    ]
    lists = [(title, entries) for title, entries in lists if entries]
    if not lists:
        return
    yield f"<h2>{text(_('Names'))}</h2>"
    yield f"<p>{text(_('Open these when nobody looks over your shoulder.'))}</p>"
    for title, entries in lists:
        items = "".join(f"<li>{text(who, 200)}{': ' if what else ''}{prose(what, 600)}</li>" for who, what in entries)
        head = f'{text(title)} <span class="tag">{len(entries)}</span>'
        yield f'<details class="panel"><summary>{head}</summary><ul class="plain">{items}</ul></details>'


def _cells(batch: BatchResult) -> Iterator[tuple[str, str]]:
    for one in batch.counted:
        for cell in one.cells:
            if cell["fate"] not in _EXPECTED_FATES:
                yield one.student, ": ".join(str(cell[name]) for name in ("label", "fate", "why") if cell[name])


def _why_not(row: Row) -> Iterator[str]:
    for one in row.submissions:
        for exercise, why in one.not_graded.items():
            yield f"{exercise}: {why}" if exercise else why


def students_section(batch: BatchResult, rows: list[Row]) -> Iterator[str]:
    """Yield everybody's marks with their feedback pages, folded away."""
    columns = columns_of(batch)
    stems = feedback_stems(row.student for row in rows)
    lines = []
    for row in rows:
        link = f'<a href="feedback/{text(stems[row.student])}.html">{text(row.student, 200)}</a>'
        marks = (points_cell(row.marks[column.name].score) or "\u2013" for column in columns)
        again = "<br>".join(f"<code>{text(reproduce(batch, one))}</code>" for one in row.submissions if one.path.name)
        lines.append([link, text(row.state.value), points_cell(row.score) or "\u2013", *marks, again])
    heads = [(text(_("Student")), ""), (text(_("State")), ""), (text(_("Points")), "number")]
    heads += [(f"<code>{text(column.name, 100)}</code>", "number") for column in columns]
    heads.append((text(_("Run again")), "again"))
    head = _("Every student's marks, feedback page, and the command that grades them again")
    body = table(heads, lines, text(_("A dash is no mark, which is not 0.")))
    yield f'<details class="panel"><summary>{text(head)}</summary>{body}</details>'


def similar_section(groups: Iterable[tuple[str, list[str], str]]) -> Iterator[str]:
    """Yield near-identical answers, as information.

    Args:
        groups: exercise, students, and what is alike.
    """
    items = "".join(
        f"<li><code>{text(exercise, 100)}</code>: {text(', '.join(students), 2000)}"
        f"{' · ' if what else ''}{text(what)}</li>"
        for exercise, students, what in groups
    )
    if not items:
        return
    said = _(
        "Answers that are near-identical once names, comments and layout are taken out. Short answers often are, and a "
        "class that worked together on purpose is: this is a place to look, no finding."
    )
    head = _("Similar answers")
    yield (
        f'<details class="panel"><summary>{text(head)}</summary><p>{text(said)}</p><ul class="plain">{items}</ul>'
        "</details>"
    )


def checks_section(batch: BatchResult) -> Iterator[str]:
    """Yield each check: what it decides on, and how it went."""
    checks = checks_of(batch)
    if not checks:
        return
    protected = batch.tier != PROCESS
    kinds = {
        Kind.VALUE: _("value, cannot be forged") if protected else _("value, not protected here"),
        Kind.RELATION: _("relation"),
        Kind.OBSERVED: _("observed"),
    }
    rows = [
        [
            f"<code>{text(check.exercise, 100)}</code>",
            prose(check.fact or check.name),
            text(kinds[check.kind]),
            text(_("hidden") if check.hidden else _("visible")),
            str(check.passed),
            str(check.failed),
            str(check.not_checked),
        ]
        for check in checks
    ]
    heads = [(text(_("Exercise")), ""), (text(_("Check")), ""), (text(_("Decides on")), ""), (text(_("Seen by")), "")]
    heads += [(text(name), "number") for name in (_("Passed"), _("Failed"), _("Not reached"))]
    said = _(
        "To return the right value for a fresh input, code must compute it. A relation holds between several such "
        "values. What is observed (traces, printed lines, the program) is evidence that a hostile submission could "
        "make up, so that no exercise whose contract has a value passes on it alone."
    )
    head = _("Every check: value, relation or observed")
    yield (f'<details class="panel"><summary>{text(head)}</summary><p>{text(said)}</p>{table(heads, rows)}</details>')


def how_section(batch: BatchResult) -> Iterator[str]:
    """Yield how it was graded, and the command that runs one student's again."""
    yield f"<h2>{text(_('How this was graded'))}</h2>"
    yield f'<div class="panel"><dl class="facts">{"".join(_facts(batch))}</dl></div>'
    layers = "".join(
        f"<li>{text(layer.get('name', ''))}: {text(_('holds') if layer.get('holds') else _('does not hold'))}"
        f"{text('. ' + layer['why'] if layer.get('why') else '')}</li>"
        for layer in batch.layers
    )
    if layers:
        head = _("The layers of isolation, each tried before grading")
        yield f'<details class="panel"><summary>{text(head)}</summary><ul class="plain">{layers}</ul></details>'
    said = _(
        "To run one submission again, with the same inputs (each student's own command stands beside their marks):"
    )
    yield f'<p>{text(said)}</p><pre class="panel" tabindex="0">{text(reproduce(batch))}</pre>'


def _facts(batch: BatchResult) -> Iterator[str]:
    yield _fact(_("Isolation"), f"<strong>{text(batch.tier or _('none'))}</strong>. {text(tier_sentence(batch.tier))}")
    yield _fact(_("Seed"), f"<code>{batch.seed}</code> " + text(_("(keep it to yourself while students may hand in)")))
    yield _fact(_("Course"), text(batch.course_name) + f" <code>{text(batch.course_digest[:12])}</code>")
    yield _fact(_("Versions"), text(", ".join(f"{name} {version}" for name, version in batch.versions.items())))
    limits = _("{cpu:g} s of processor time and {memory:g} MB for an exercise").format(
        cpu=batch.limits.cpu_s, memory=batch.limits.memory_bytes / 2**20
    )
    yield _fact(_("Limits"), text(limits))
    yield _fact(_("Marks"), text(_("all or nothing") if batch.all_or_nothing else _("partial marks are given")))
    if batch.only is not None:
        yield _fact(_("Graded alone"), ", ".join(f"<code>{text(name)}</code>" for name in batch.only))
    ran = [one for one in batch.submissions if one.cpu_s or one.wall_s]
    if ran:
        said = _("{cpu:.1f} s of processor time in all, at most {memory:.0f} MB for a submission").format(
            cpu=sum(one.cpu_s for one in ran), memory=max(one.memory_bytes for one in ran) / 2**20
        )
        # On a line of its own: all else is the same whenever the same files are graded.
        yield "\n" + _fact(_("Used"), f'<span class="times">{text(said)}</span>') + "\n"


def _fact(label: str, value: str) -> str:
    return f"<dt>{text(label)}</dt><dd>{value}</dd>"


def reproduce(batch: BatchResult, one: SubmissionResult | None = None) -> str:
    """Return the command that grades one submission again with the same inputs, or where none is given its form.

    >>> from pathlib import Path
    >>> reproduce(BatchResult([], seed=7), SubmissionResult(Path("my class/ada.ipynb"), "ada"))
    "jaxguide grade 'my class/ada.ipynb' --seed 7 --out again"
    >>> reproduce(BatchResult([], seed=7, course_name="spring", course_folder="../spring", tier="medium"))
    'jaxguide grade FILE --course ../spring --seed 7 --only EXERCISE --isolation medium --out again'
    """
    words = ["jaxguide", "grade", clean(str(one.path), 500) if one else "FILE"]
    words += ["--course", clean(batch.course_folder, 500)] if batch.course_folder else []
    words += ["--seed", str(batch.seed)]
    failed = next((r.name for r in one.results if r.first_failure), "") if one else "EXERCISE"
    words += ["--only", clean(failed, 100)] if failed else []
    words += ["--all-or-nothing"] if batch.all_or_nothing else []
    words += ["--limits", limits] if (limits := write_limits(batch.limits)) else []
    words += ["--isolation", batch.tier] if batch.tier not in ("", STRONG) else []
    words += ["--trust-submissions"] if batch.tier == PROCESS else []
    return shlex.join([*words, "--out", "again"])


def count_line(batch: BatchResult, rows: list[Row]) -> str:
    """Say in one line what the report is of."""
    files = sum(len(file_names(row)) for row in rows)
    return plural("{count} file of {{students}}", "{count} files of {{students}}", files).format(
        students=plural("{count} student", "{count} students", len(rows))
    )
