"""Print a session's output line after line, so that nothing a student is reading disappears."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.rule import Rule

from jaxguide.base.clean import clean
from jaxguide.base.render.card_view import CardView
from jaxguide.base.render.terminal import Layout
from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson
from jaxguide.course.cards import Card, LessonSummary
from jaxguide.course.exercise import Task
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.intake.submission import Submission, is_notebook
from jaxguide.student.answers_in_files import FileAnswers
from jaxguide.student.help import below_pass
from jaxguide.student.position import Position
from jaxguide.student.session_texts import ExerciseList, ExerciseText, console

_STATUS_BAR_CELLS = 10


class Screen:
    """The terminal of a session.

    Args:
        folder: the workspace, absolute.
        has_keys: whether the session reads keys.
    """

    def __init__(self, folder: Path, has_keys: bool):
        self.folder, self.has_keys = folder, has_keys

    def say(self, text: str, style: str = "") -> None:
        """Print a sentence after an empty line."""
        self._print(self._layout().text(clean(text), style=style))

    def name(self, path: Path) -> str:
        """Return the path of a workspace file, relative to the workspace, safe to print."""
        return clean(str(path.relative_to(self.folder)), 200)

    def checking(self, path: Path, names: Sequence[str]) -> None:
        """Print that a check begins."""
        layout = self._layout()
        title = f"{self.name(path)} · {time.strftime('%H:%M:%S')}"
        # Only the rule is dim: dim words are hard to read on a light background.
        rule = Rule(layout.text(title), align="left", style="dim", characters="-" if layout.ascii_only else "─")
        words = "Checking {names} …".format(names=", ".join(names))
        self._print(rule)
        console().print(layout.text(words))

    def exercise(self, exercise: Task, homes: list[FileAnswers], place: Position) -> None:
        """Print an exercise and where to answer it."""
        book = place.course.book_of(exercise)
        self._print(ExerciseText(exercise, book, where(exercise, homes, self.folder)))

    def lessons(self, place: Position, current: Task | None) -> None:
        """Print the lessons, and the exercises of the current one."""
        opened = [place.course.book_of(current)] if current is not None else []
        self._print(ExerciseList(place, opened, place.books))

    def card(self, shown: CardView) -> None:
        """Print a card."""
        self._print(shown)

    def lesson_done(self, book: Lesson, place: Position) -> None:
        """Print that a lesson is done, if all of its exercises are."""
        counts = place.counts([book])
        if counts.done == counts.exercises:
            words = plural(
                "{{lesson}}: the exercise is done.", "{{lesson}}: all {count} exercises are done.", counts.exercises
            )
            self.say(words.format(lesson=book.title), style="bold")

    def status(self, place: Position) -> None:
        """Print how much is done, and which keys do what."""
        layout = self._layout()
        counts = place.counts(place.books)
        line = layout.bar(counts.share, _STATUS_BAR_CELLS)
        line.append_text(layout.text(" " + f"{counts.done} of {counts.exercises} done"))
        if self.has_keys:
            keys = "n next  h hint  l list  s solution  r reset  q quit"
            if not place.course.has_solutions:
                keys = "n next  h hint  l list  r reset  q quit"
            line.append_text(layout.text(f"  {keys}"))
        self._print(line)

    def passed(self, result: ExerciseResult, place: Position) -> None:
        """Print that an exercise has passed, or for a prediction, what JAX gives."""
        exercise = place.course.exercise(result.name)
        self._print(Card(result, more=below_pass(result, exercise, place.course, place.progress)))

    def failed(self, shown: ExerciseResult, results: Sequence[ExerciseResult], repairs: Sequence[str]) -> None:
        """Print the card of one result, and a summary of all results if several did not pass.

        Args:
            shown: the result to explain.
            results: all results of the check.
            repairs: other problems in the file, a sentence each.
        """
        self._print(Card(shown))
        for repair in repairs:
            console().print(self._layout().text(clean(repair)))
        if sum(result.verdict is not Verdict.PASSED for result in results) > 1:
            self._print(LessonSummary(results))

    def _layout(self) -> Layout:
        out = console()
        return Layout(out.width, out.options.ascii_only)

    def _print(self, what: RenderableType) -> None:
        out = console()
        out.print()
        out.print(what)


def news(repairs: Sequence[str], submission: Submission, name: str) -> list[str]:
    """Return the problems in a file, except those in the cell of the named exercise, which are on its card already.

    Magics that were not run are left out too: students need not read about them at every save.
    """
    magics = {magic[:100] for cell in submission.cells for magic in cell.magics}
    own = tuple(f"{cell.label}:" for cell in submission.cells if name in cell.defines)
    found = [repair for repair in repairs if not repair.startswith(own)]
    return [repair for repair in found if not any(f"`{magic}`" in repair for magic in magics)]


def where(exercise: Task, homes: list[FileAnswers], folder: Path) -> str:
    """Return a sentence that says in which files to answer, beginning with the one to open."""
    if not homes:
        words = "None of your files has `{name}`. Write it in a .py file or a notebook in {folder} and save."
        return words.format(name=exercise.name, folder=folder.name)
    places = [f"{home.path.relative_to(folder)} ({home.places[exercise.name]})" for home in homes]
    if exercise.name in homes[0].prints:
        return f"Your answer is in {places[0]}."
    return "Write your answer in {places} and save the file.".format(places=" or ".join(places))


def reset_sentence(path: Path, backup: Path, folder: Path) -> str:
    """Return a sentence that says what a reset did and where the old answer is."""
    said = "{file} has the empty function again. Your old answer is in {backup}."
    said = said.format(file=path.relative_to(folder), backup=backup.relative_to(folder))
    if is_notebook(path):
        said += " " + "If the notebook is open, reload it (File > Reload Notebook from Disk)."
    return said
