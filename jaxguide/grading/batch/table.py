"""Show a batch in the terminal: progress, then a table."""

import os
import sys
import time
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from jaxguide.base.clean import clean
from jaxguide.base.render.card import Badge
from jaxguide.base.render.terminal import Layout
from jaxguide.base.text import plural
from jaxguide.course.cards import content
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.submission_result import State, SubmissionResult

_FEW = 3
_NARROW = 70
# Longer paths are too wide for a terminal of 80 columns; the student's name is shown instead.
_SHORT = 24
_WITHOUT_CODE = {
    State.ABSENT: "sent nothing",
    State.SUPERSEDED: "another file of this student counts",
}
_COUNTED_STATES = {
    State.ABSENT: ("{count} student sent nothing.", "{count} students sent nothing."),
    State.SUPERSEDED: ("{count} file was replaced by another one.", "{count} files were replaced by other ones."),
}
_COUNTED = (Verdict.PASSED, Verdict.NOT_ATTEMPTED)


class ProgressBar:
    """Show a progress bar for one batch, as a context manager.

    If standard error is not a terminal, print failures, and a line after each tenth of the files.

    Args:
        total: how many files there are.
    """

    def __init__(self, total: int):
        # Bind the stream now: running the key's answers temporarily replaces `sys.stderr`.
        self.console = Console(file=sys.stderr, highlight=False)
        self.total = total
        self.done = 0
        self.failed = 0
        self._bar = Progress(
            TextColumn("Grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failures]}", style="red"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("", total=total, failures="", rate="")
        self._graded, self._started = 0, time.monotonic()

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(self, *unused: object) -> None:
        if self.console.is_terminal:  # before rich 14.3, a bar that is disabled ends with an empty line
            self._bar.stop()

    def watch(self, result: SubmissionResult, is_new: bool) -> None:
        """Count one result, and print why if it has no marks."""
        self.done += 1
        self._graded += is_new
        if not result.is_complete:
            self.failed += 1
            whys = [result.unreadable] if result.unreadable is not None else dict.fromkeys(result.not_graded.values())
            for why in whys:
                self.console.print(clean(f"{result.path}: {why}"), markup=False, soft_wrap=True)
        failures = f"{self.failed} failed" if self.failed else ""
        if not self.console.is_terminal and self.done < self.total and self.done % -(-self.total // 10) == 0:
            self.console.print(f"Graded {self.done} of {self.total}.")
        # Without those found in the store.
        rate = f"{60 * self._graded / max(1e-3, time.monotonic() - self._started):.0f} a minute" if self._graded else ""
        self._bar.update(self._task, completed=self.done, failures=failures, rate=rate)


class GradeTable:
    """A table with one row per submission: its name, its points, and its exercises grouped by verdict.

    Args:
        results: the submissions.
        lessons: the lessons, in the course's order.
    """

    def __init__(self, results: Sequence[SubmissionResult], lessons: Sequence[str] = ()):
        self.results, self._lessons = list(results), list(lessons)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        layout = Layout(options.max_width, options.ascii_only)
        yield from self._stacked(layout) if layout.width < _NARROW else self._columns(layout)
        yield Text("")
        for line in self._totals():
            yield layout.text(line)

    def _stacked(self, layout: Layout) -> Iterator[RenderableType]:
        for result in self.results:
            yield layout.text(f"{_name(result)}  {_points(result)}", style="bold")
            yield from (Padding(line, (0, 0, 0, 2)) for line in self._lines(result, layout))

    def _columns(self, layout: Layout) -> Iterator[RenderableType]:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold", max_width=max(16, layout.width // 3))
        table.add_column(overflow="fold", justify="right")
        table.add_column(overflow="fold", ratio=1)
        heads = ("Submission", "Points", "Exercises")
        table.add_row(*(layout.text(head, style="bold") for head in heads))
        for result in self.results:
            table.add_row(
                layout.text(_name(result)), layout.text(_points(result)), Text("\n").join(self._lines(result, layout))
            )
        yield table

    def _lines(self, result: SubmissionResult, layout: Layout) -> Iterator[Text]:
        for one in result.above_the_points:
            points = f"{one.score:g} of {one.points:g} points"
            yield layout.text(f"{clean(one.name, 60)}: {points}, given by hand")
        if result.unreadable is not None:
            badge = Badge("✗", "x", State.UNREADABLE.word, "bad")
            yield layout.badge(badge).append_text(layout.text(f": {clean(result.unreadable, 500)}"))
            return
        if result.state in _WITHOUT_CODE:
            why = clean(" ".join(result.repairs), 500) or _WITHOUT_CODE[result.state]
            yield layout.text(f"{result.state.word}: {why}")
            return
        for verdict in Verdict:
            names = [one.name for one in result.results if one.verdict is verdict]
            if not names:
                continue
            said = ", ".join(clean(name, 60) for name in names)
            if verdict in _COUNTED and len(self.results) > _FEW:
                said = plural("{count} exercise", "{count} exercises", len(names))
            badge = content.check_badge(verdict)
            yield layout.badge(badge).append_text(layout.text(f": {said}"))
        for why in result.not_graded.values():
            yield layout.text(clean(why, 500))
        if result.repairs:
            count = len(result.repairs)
            yield layout.text(plural("{count} note on how it was read", "{count} notes on how it was read", count))

    def _totals(self) -> Iterator[str]:
        graded = len({result.path for result in self.results if result.state not in _WITHOUT_CODE})
        yield plural("{count} submission", "{count} submissions", graded)
        points = {one.name: (one.lesson, one.points) for result in self.results for one in result.results}
        order = dict.fromkeys([*self._lessons, *(lesson for lesson, _own in points.values())])
        lessons = {lesson: sum(own for of, own in points.values() if of == lesson) for lesson in order}
        if lessons:
            said = ", ".join(f"{clean(lesson, 60)} ({total:g})" for lesson, total in lessons.items())
            yield plural("Lesson and its points: {said}.", "Lessons and their points: {said}.", len(lessons), said=said)
        for state, (one, many) in _COUNTED_STATES.items():
            count = sum(result.state is state and not result.repairs for result in self.results)
            if count:
                yield plural(one, many, count)
        incomplete = sum(not result.is_complete and result.state not in _WITHOUT_CODE for result in self.results)
        if incomplete:
            message = "{count} submission could not be graded in full."
            yield plural(message, "{count} submissions could not be graded in full.", incomplete)


def _name(result: SubmissionResult) -> str:
    """Return the file's path, or if that is long and the student's name is known, the student's and the file's name.

    The path is relative to the current folder if that is shorter.
    """
    if result.state is State.ABSENT:
        return clean(result.student, 200)
    if result.members:
        return clean(f"{result.student}: {result.path.name}", 200)
    path = min(str(result.path), os.path.relpath(result.path), key=len)
    if len(path) <= _SHORT or result.student in ("", result.path.stem):
        return clean(path, 200)
    return clean(f"{result.student}: {result.path.name}", 200)


def _points(result: SubmissionResult) -> str:
    has_no_marks = result.unreadable is not None or result.state in _WITHOUT_CODE or "" in result.not_graded
    return "\u2013" if has_no_marks else f"{result.score:g}/{result.points:g}"
