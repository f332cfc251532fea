"""Run the session of `jaxguide watch`: show the current exercise, check after each save, react to keys."""

import contextlib
import dataclasses
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import RenderableType
from rich.rule import Rule

from jaxguide.base.clean import clean
from jaxguide.base.render.terminal import Layout
from jaxguide.base.text import plural
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import Outline
from jaxguide.course.cards import Card, summary_card
from jaxguide.course.exercise import Task
from jaxguide.course.progress import Progress
from jaxguide.course.set_up import beside_files
from jaxguide.course.settings import said_of_dropped
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.grader import SubmissionResult
from jaxguide.grading.intake.submission import Submission, UnreadableSubmission, parse_submission
from jaxguide.grading.workers.worker_process import GraderError
from jaxguide.student.answers_in_files import (
    FileAnswers,
    find_files,
    home_of,
    read_all,
    read_answers,
    where_to_answer,
)
from jaxguide.student.check_file import Checker, note
from jaxguide.student.help import FrontEnd, below_pass, hint_card, solution_card, stuck, why_closed
from jaxguide.student.index import kept_progress
from jaxguide.student.keyboard import END, ENTER, Keyboard
from jaxguide.student.reset import BACKUP_FOLDER, give_stub_back, reset_sentence
from jaxguide.student.session_texts import ExerciseText, console
from jaxguide.student.standing import Position, course_card, standing_card

_LOOKS_AFTER_S = 0.03
_WAKES_AFTER_S = 1.0
_STATUS_BAR_CELLS = 10


class Watching:
    """A session: it handles one event after the other, and only the checks run in another thread.

    It prints line after line, so that nothing a student is reading disappears.

    Args:
        course: the course.
        folder: the workspace, absolute.
        progress: the student's progress.
        checker: runs the checks.
        has_keys: whether the session reads keys.
    """

    def __init__(self, course: Course, folder: Path, progress: Progress, checker: Checker, has_keys: bool):
        self.course, self.folder, self.progress, self.checker = course, folder, progress, checker
        self.has_keys = has_keys
        self.events: queue.Queue[Callable[[], None]] = queue.Queue()
        self._is_over = False
        self.files = {file.path: file for file in read_all(folder, course)}
        self.current: Task | None = self.place.current()
        self._checked: set[tuple[Path, str]] = set()
        self._job = 0
        self._checking: tuple[Path, frozenset[str]] | None = None
        self._waiting: dict[Path, frozenset[str]] = {}
        self._guess: tuple[SubmissionResult, bytes] | None = None
        self._asked: tuple[str, Callable[[], None]] | None = None

    @property
    def place(self) -> Position:
        """The student's place in the lessons that their files contain now."""
        return Position(self.course, self.progress, self.files.values())

    def run(self) -> None:
        """Show the current exercise, and handle events until `q` or the end of the keys."""
        self._go_to(self.current)
        while not self._is_over:
            try:
                event = self.events.get(timeout=_WAKES_AFTER_S)  # on Windows, Ctrl-C waits until `get` returns
            except queue.Empty:
                continue
            event()
            if self._waiting and not (self._checking or self._guess or self._asked):
                self._check(*self._waiting.popitem())

    def stop(self) -> None:
        """Stop the running check, if there is one."""
        self._job += 1
        self.checker.stop()

    # What is printed

    def say(self, *shown: RenderableType) -> None:
        """Print sentences and cards after an empty line."""
        out = console()
        out.print()
        for one in shown:
            out.print(self._layout().text(clean(one)) if isinstance(one, str) else one)

    def _layout(self) -> Layout:
        out = console()
        return Layout(out.width, out.options.ascii_only)

    def _name(self, path: Path) -> str:
        """Return the path of a workspace file, relative to the workspace, safe to print."""
        return clean(str(path.relative_to(self.folder)), 200)

    def _say_status(self) -> None:
        """Print how much is done, and which keys do what."""
        counts = self.place.counts(self.place.books)
        said = f" {counts.core_done} of {counts.core} done{counts.beyond}"
        if self.has_keys:
            solution = "  s solution" if self.course.has_solutions else ""
            said += f"  n next  h hint  l list{solution}  r reset  q quit"
        layout = self._layout()
        self.say(layout.bar(counts.share, _STATUS_BAR_CELLS).append_text(layout.text(said)))

    # Changed files

    def look_at(self, paths: Iterable[Path]) -> None:
        for path in sorted(paths):
            before = self.files.get(path, FileAnswers(path, {}, {}))
            try:
                now = read_answers(path, self.course)
            except FileNotFoundError:
                # The digests stay, because some editors delete a file and write it again.
                self.files[path] = dataclasses.replace(before, places={}, broken=())
                self._waiting.pop(path, None)
                continue
            except (UnreadableSubmission, OSError) as why:
                if path in self.files:
                    self.say(f"{self._name(path)}: {why}")
                continue
            self.files[path] = now
            changed = [name for name in now.prints if before.prints.get(name) != now.prints[name]]
            answered = {name for file in self.files.values() for name in file.prints if name in file.places}
            changed += before.prints.keys() & before.places.keys() - now.places.keys() - answered
            if before.broken != now.broken:
                for sentence in now.broken:
                    self.say(f"{self._name(path)}, {sentence}")
            dropped = [name for name in now.dropped if before.dropped.get(name) != now.dropped[name]]
            if dropped:
                self.say(said_of_dropped(dropped, self.course.settings.dropped))
            if changed:
                self._check(path, changed)

    def _check(self, path: Path, names: Iterable[str]) -> None:
        if self._checking is not None:
            # The running check is stopped. Its exercises have no result yet, so they are checked again: now if they are
            # in this file, because they may have changed, or else after this check.
            self._waiting.update([self._checking])
            self._checking = None
            self.stop()
        wanted = self._waiting.pop(path, frozenset()).union(names)
        try:
            content = path.read_bytes()
        except OSError as why:
            self.say(f"{self._name(path)}: {why}")
            return
        self._job, self._checking, self._guess, self._asked = self._job + 1, (path, wanted), None, None
        self._checked |= {(path, name) for name in wanted}
        in_order = [exercise.name for exercise in self.place.exercises if exercise.name in wanted]
        title = self._layout().text(f"{self._name(path)} · {time.strftime('%H:%M:%S')}")
        # Only the rule is dim: dim words are hard to read on a light background.
        self.say(Rule(title, align="left", style="dim"), f"Checking {', '.join(in_order)} …")
        threading.Thread(target=self._run_check, args=(self._job, path, content, wanted), daemon=True).start()

    def _run_check(self, job: int, path: Path, content: bytes, names: frozenset[str]) -> None:
        try:
            found: SubmissionResult | GraderError = self.checker.check(path, content, names)
        except GraderError as error:
            found = error
        self.events.put(lambda: self._show_result(job, content, found))

    def _show_result(self, job: int, content: bytes, found: SubmissionResult | GraderError) -> None:
        if job != self._job or self._checking is None:
            return  # the check was stopped
        self._checking = None
        if isinstance(found, GraderError) or found.unreadable is not None:
            self.say(str(found if isinstance(found, GraderError) else found.unreadable))
            return
        new = [result for result in found.results if self.progress.of(result.name).guess is None]
        guesses = [result for result in new if result.reveal is not None]
        if guesses and self.has_keys:
            self._guess = (dataclasses.replace(found, results=guesses), content)
            found.results = [result for result in found.results if result not in guesses]
        self._note_and_show(found, content)
        if self._guess is not None:
            for result in guesses:
                self._go_near(result.name)
                said = "Your guess for {name} is {guess}. Press Enter to lock it and see what JAX gives."
                self.say(said.format(name=result.name, guess=clean(result.note, 400)))

    def _note_and_show(self, found: SubmissionResult, content: bytes) -> None:
        submission = parse_submission(found.path, content)
        note(found, submission, self.course, self.progress)
        results = [result for result in found.results if result.verdict is not Verdict.NOT_ATTEMPTED]
        for result in results:
            if result.verdict is Verdict.PASSED:
                exercise = self.course.exercise(result.name)
                self.say(Card(result, more=below_pass(result, exercise, self.course, self.progress)))
        failed = [result for result in results if result.verdict is not Verdict.PASSED]
        if failed:
            here = self.current.name if self.current is not None else ""
            shown = next((result for result in failed if result.name == here), failed[0])
            if shown.first_failure is not None:
                where: FrontEnd = "watch" if self.has_keys else "terminal"
                shown.hint = stuck(self.course.exercise(shown.name), self.course, self.progress, where)
            known = said_of_dropped(self.files[found.path].dropped, self.course.settings.dropped)  # said at its save
            news = _news((repair for repair in found.repairs if repair != known), submission, shown.name)
            self.say(Card(shown), *news)
            if len(failed) > 1:
                self.say(summary_card(results))
            self._go_near(shown.name)
            self._say_status()
        elif results:
            last = self.course.exercise(results[-1].name)
            book = self.course.book_of(last)
            counts = self.place.counts([book])
            if counts.done == counts.exercises:
                one, more = "{lesson}: the exercise is done.", "{lesson}: all {count} exercises are done."
                self.say(plural(one, more, counts.exercises, lesson=book.title))
            self._go_to(self.place.after(last))
        elif self._guess is None:
            self._say_status()

    # The student's place

    def _go_near(self, name: str) -> None:
        """Make an exercise that the student works on the current one."""
        self.current = self.course.exercise(name)
        self.progress.move_to(name)

    def _go_to(self, exercise: Task | None) -> None:
        """Show an exercise, and check its answer if there is one that was not checked yet."""
        self.current = exercise
        if exercise is None:
            self.say(self.place.all_done)
            return
        self.progress.move_to(exercise.name)
        homes = home_of(exercise, list(self.files.values()))
        where = where_to_answer(exercise, homes, self.folder)
        self.say(ExerciseText(exercise, self.course.book_of(exercise), where))
        self._say_status()
        if homes and exercise.name in homes[0].prints and (homes[0].path, exercise.name) not in self._checked:
            self._check(homes[0].path, [exercise.name])

    # Keys

    def press(self, key: str) -> None:
        """React to a key."""
        asked, self._asked = self._asked, None
        if asked is not None and key == asked[0]:
            asked[1]()
        elif key in ("q", END):
            self._is_over = True
        elif key == ENTER and self._guess is not None:
            (found, content), self._guess = self._guess, None
            self._note_and_show(found, content)
        elif key == "n":
            following = self.place.after(self.current)
            self._go_to(following if following is not None else self.current)
        elif key == "l":
            self.say(course_card(self.place))
            if self.current is not None:
                self.say(standing_card(self.place, self.course.book_of(self.current)))
            self._say_status()
        elif key in ("?", ENTER):
            self._say_status()
        elif self.current is None:
            return
        elif key == "h":
            self._show_hint(self.current)
        elif key == "s":
            self._show_solution(self.current, sure=False)
        elif key == "r":
            self._ask_to_reset(self.current)

    def _show_hint(self, exercise: Task) -> None:
        """Show the next hint, again the last one if all were read, or all of them once the exercise has passed."""
        done = self.progress.of(exercise.name)
        number = None if done.passed else min(done.hints + 1, len(exercise.hints))
        self.say(hint_card(exercise, self.course, self.progress, "watch", number))
        self._say_status()

    def _show_solution(self, exercise: Task, sure: bool) -> None:
        closed = why_closed(exercise, self.course, self.progress, sure, "watch")
        if closed is None:
            self.say(solution_card(exercise, self.course))
        else:
            self.say(closed)
            if not sure and self.course.has_solutions:
                self._asked = ("s", lambda: self._show_solution(exercise, sure=True))
        self._say_status()

    def _ask_to_reset(self, exercise: Task) -> None:
        homes = [f for f in home_of(exercise, list(self.files.values())) if exercise.name in f.prints]
        if not homes:
            self.say(f"`{exercise.name}` is unchanged, so there is nothing to reset.")
            return
        path = homes[0].path
        text = (
            "Restore the empty `{name}` in {file}? Your answer goes to {kept}/. Press y for yes, any other key for no."
        )
        self.say(text.format(name=exercise.name, file=self._name(path), kept=BACKUP_FOLDER))
        self._asked = ("y", lambda: self._reset(exercise, path))

    def _reset(self, exercise: Task, path: Path) -> None:
        try:
            backup = give_stub_back(path, exercise, self.course.book_of(exercise), self.folder)
        except (OSError, ValueError) as error:
            self.say(str(error))
            return
        self.say(reset_sentence(path, backup, self.folder))
        self.look_at([path])


def _news(repairs: Iterable[str], submission: Submission, name: str) -> list[str]:
    """Return the problems in a file, except those in the cell of the named exercise, which are on its card already.

    Magics that were not run are left out too: students need not read about them at every save.
    """
    magics = {magic[:100] for cell in submission.cells for magic in cell.magics}
    own = tuple(f"{cell.label}:" for cell in submission.cells if name in cell.defines)
    found = [repair for repair in repairs if not repair.startswith(own)]
    return [repair for repair in found if not any(f"`{magic}`" in repair for magic in magics)]


class Saves:
    """A context that calls `tell` from its own thread with the files that changed.

    The files are compared, since not every system reports changes in folders of another machine or a container's host.

    Args:
        folder: the workspace, absolute.
        course: the course; its own files are left out.
        tell: gets the changed files, absolute.
    """

    def __init__(self, folder: Path, course: Outline, tell: Callable[[set[Path]], None]):
        self._folder, self._course, self._tell = folder, course, tell
        self._is_over = threading.Event()
        self._told = _looks_of(find_files(folder, course))

    def __enter__(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def __exit__(self, *unused: object) -> None:
        self._is_over.set()

    def _run(self) -> None:
        before, took_s = self._told, 0.0
        # A large folder is looked at less often: looking takes at most a twentieth of the time.
        while not self._is_over.wait(max(_LOOKS_AFTER_S, 19 * took_s)):
            began_s = time.perf_counter()
            now = _looks_of(find_files(self._folder, self._course))
            took_s = time.perf_counter() - began_s
            if now == before:  # nothing is being written
                changed = {path for path in self._told.keys() | now.keys() if self._told.get(path) != now.get(path)}
                self._told = now
                if changed:
                    self._tell(changed)
            before = now


def _looks_of(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return the modification time and the size of each file that exists."""
    found = {}
    for path in paths:
        try:
            about = os.stat(path)
        except OSError:
            continue
        found[path] = (about.st_mtime_ns, about.st_size)
    return found


def run_session(course: Course, folder: Path, cpu_limit_s: float) -> None:
    """Run a session until the student ends it; keys are read only in a terminal."""
    has_keys = sys.stdin.isatty() and sys.stdout.isatty()
    limits = dataclasses.replace(course.settings.limits, cpu_s=cpu_limit_s)
    progress = kept_progress(folder, course.identity, lambda: course)
    watching = Watching(course, folder, progress, Checker(course, limits), has_keys)
    watching.say(f"Watching {folder}. Save a file to check the answers that changed in it.")
    with contextlib.ExitStack() as stack:
        stack.enter_context(beside_files(course.files))
        stack.callback(watching.stop)
        stack.enter_context(Saves(folder, course, lambda paths: watching.events.put(lambda: watching.look_at(paths))))
        if has_keys:
            stack.enter_context(Keyboard(lambda key: watching.events.put(lambda: watching.press(key))))
        watching.run()
