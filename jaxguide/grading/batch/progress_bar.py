"""Show the progress of a batch on standard error: done, failed, rate, time left."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.grading.batch.submission_result import SubmissionResult


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
        failures = plural("{count} failed", "{count} failed", self.failed) if self.failed else ""
        if not self.console.is_terminal and self.done < self.total and self.done % -(-self.total // 10) == 0:
            self.console.print(f"Graded {self.done} of {self.total}.")
        # Without those found in the store.
        rate = f"{60 * self._graded / max(1e-3, time.monotonic() - self._started):.0f} a minute" if self._graded else ""
        self._bar.update(self._task, completed=self.done, failures=failures, rate=rate)
