"""Run the session of `jaxguide watch`: show the current exercise, check after each save, react to keys."""

import contextlib
import dataclasses
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import Outline
from jaxguide.course.cards import Card, summary_card
from jaxguide.course.exercise import Task
from jaxguide.course.progress import Progress
from jaxguide.course.set_up import beside_files
from jaxguide.course.settings import said_of_dropped
from jaxguide.course.verdict import Verdict
from jaxguide.grading.batch.submission_result import SubmissionResult
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
from jaxguide.student.keyboard import END, ENTER, ESCAPE, Keyboard
from jaxguide.student.reset import BACKUP_FOLDER, give_stub_back, reset_sentence
from jaxguide.student.screen import KEYS, ExerciseText, Screen, console, help_card, keys_line
from jaxguide.student.standing import Position, course_card, standing_card

_LOOKS_AFTER_S = 0.03
_WAKES_AFTER_S = 1.0
_STATUS_BAR_CELLS = 10


class Watching:
    """A session: it handles one event after the other, and only the checks run in another thread.

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
        self.events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()  # signals may put events, too
        self.out = Screen(self.events.put, has_keys)
        self._is_over = False
        self.files = {file.path: file for file in read_all(folder, course)}
        self.current: Task | None = self.place.current()
        self._checked: set[tuple[Path, str]] = set()
        self._job = 0
        self._checking: tuple[Path, frozenset[str]] | None = None
        self._since_s = 0.0
        self._waiting: dict[Path, frozenset[str]] = {}
        self._gone: set[Path] = set()
        self._guesses: list[tuple[SubmissionResult, bytes]] = []
        self._title = ""
        self._asked: tuple[str, Callable[[], None]] | None = None

    @property
    def place(self) -> Position:
        """The student's place in the lessons that their files contain now."""
        return Position(self.course, self.progress, self.files.values())

    def run(self) -> None:
        """Show the current exercise, and handle events until `q` or the end of the keys."""
        self._go_to(self.current)
        while not self._is_over:
            self._draw()
            try:
                event = self.events.get(timeout=_WAKES_AFTER_S)  # on Windows, Ctrl-C waits until `get` returns
            except queue.Empty:
                continue
            event()
            if self._waiting and self._checking is None:
                self._check(*self._waiting.popitem())

    def stop(self) -> None:
        """Stop the running check, if there is one."""
        self._checking = None
        self.checker.stop()

    # What is shown

    def _draw(self) -> None:
        if not self.out.redraws:
            return
        state = self._bar()
        if self._checking is not None:
            since_s = int(time.monotonic() - self._since_s)
            then = "".join(f" · then {self._name(path)}" for path in self._waiting)
            state = self.out.text(f"{self._said_of_check()} {since_s} s · x stops it{then}", style="bold")
        self.out.draw(self._task(), state, self._keys())

    def _task(self) -> ExerciseText | Text:
        """Return the current exercise, or a sentence if all are done."""
        exercise = self.current
        if exercise is None:
            return self.out.text(self.place.all_done)
        homes = home_of(exercise, list(self.files.values()))
        is_headed = self.out.redraws and homes
        place = f"{self._name(homes[0].path)} ({homes[0].places[exercise.name]})" if is_headed else ""
        where = where_to_answer(exercise, homes, self.folder)
        return ExerciseText(exercise, self.course.book_of(exercise), where, place)

    def _name(self, path: Path) -> str:
        """Return the path of a workspace file, relative to the workspace, safe to print."""
        return clean(str(path.relative_to(self.folder)), 200)

    def _said_of_check(self) -> str:
        names = self._checking[1] if self._checking is not None else ()
        return f"Checking {', '.join(one.name for one in self.place.exercises if one.name in names)} …"

    def _bar(self) -> Text:
        counts = self.place.counts(self.place.books)
        bar = self.out.layout().bar(counts.share, _STATUS_BAR_CELLS)
        return bar.append_text(self.out.text(f" {counts.in_short()}"))

    def _keys(self) -> dict[str, str]:
        """Return the keys to show, with their names."""
        if not self.has_keys:
            return {}
        now = {"Enter": "lock your guess"} if self._guesses else {}
        now |= {"y": "yes"} if self._asked and self._asked[0] == "y" else {}
        keys = {key: name for key, (name, _does) in KEYS.items() if name}
        return now | {key: name for key, name in keys.items() if key != "s" or self.course.has_solutions}

    def _say_status(self) -> None:
        keys = self._keys()
        self.out.show("passing", self._bar(), *([keys_line(keys, self.out.layout().width)] if keys else []))

    def say_goodbye(self) -> None:
        """Say how much is done, and what is next, in a terminal that has its old screen back."""
        if self.out.redraws:
            console().print(self._bar())
            if self.current is not None:
                console().print(self.out.text(f"Next: {self.current.title} (`{self.current.name}`)."))

    # Changed files

    def look_at(self, paths: Iterable[Path]) -> None:
        self.out.turn()
        for path in sorted(paths):
            before = self.files.get(path, FileAnswers(path, {}, {}))
            try:
                now = read_answers(path, self.course)
            except FileNotFoundError:
                # The digests stay, because some editors delete a file and write it again.
                self.files[path] = dataclasses.replace(before, places={}, broken=())
                self._waiting.pop(path, None)
                if before.places:
                    self._gone.add(path)
                    self.out.show("told", f"{self._name(path)} is gone. Put it back, or answer in another file.")
                continue
            except (UnreadableSubmission, OSError) as why:
                if path in self.files:
                    self.out.show("told", f"{self._name(path)}: {why}")
                continue
            self.files[path] = now
            if path in self._gone:
                self._gone.remove(path)
                self.out.show("told", f"{self._name(path)} is back.")
            changed = [name for name in now.prints if before.prints.get(name) != now.prints[name]]
            answered = {name for file in self.files.values() for name in file.prints if name in file.places}
            changed += before.prints.keys() & before.places.keys() - now.places.keys() - answered
            if before.broken != now.broken:
                for sentence in now.broken:
                    self.out.show("told", f"{self._name(path)}, {sentence}")
            dropped = [name for name in now.dropped if before.dropped.get(name) != now.dropped[name]]
            if dropped:
                self.out.show("told", said_of_dropped(dropped, self.course.settings.dropped))
            if changed:
                self._check(path, changed)

    def _check(self, path: Path, names: Iterable[str]) -> None:
        """Check answers now, or after the check of another file; a check of the same file starts anew."""
        wanted = self._waiting.pop(path, frozenset()).union(names)
        if self._checking is not None:
            if self._checking[0] != path:
                self._waiting[path] = wanted
                return
            wanted |= self._checking[1]
            self.stop()
        # What was guessed is part of the file that is checked anew.
        wanted |= {result.name for found, _content in self._guesses if found.path == path for result in found.results}
        self._guesses = [guess for guess in self._guesses if guess[0].path != path]
        try:
            content = path.read_bytes()
        except OSError as why:
            self.out.show("told", f"{self._name(path)}: {why}")
            return
        self._job, self._checking, self._since_s = self._job + 1, (path, wanted), time.monotonic()
        self._checked |= {(path, name) for name in wanted}
        self._title = f"{self._name(path)} · {time.strftime('%H:%M:%S')}"
        self.out.show("passing", self._said_of_check())
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
            why = found if isinstance(found, GraderError) else found.unreadable
            self.out.show("told", str(why), title=self._title)
            return
        new = [result for result in found.results if self.progress.of(result.name).guess is None]
        guesses = [result for result in new if result.reveal is not None] if self.has_keys else []
        if guesses:
            self._guesses.append((dataclasses.replace(found, results=guesses), content))
            found.results = [result for result in found.results if result not in guesses]
        asks = "Your guess for {name} is {guess}. Press Enter to lock it and see what JAX gives."
        asked = [asks.format(name=result.name, guess=clean(result.note, 400)) for result in guesses]
        self._note_and_show(found, content, asked)
        for result in guesses:
            self._go_near(result.name)

    def _note_and_show(self, found: SubmissionResult, content: bytes, asked: Sequence[str] = ()) -> None:
        """Record and show results, and then what is asked about guesses."""
        submission = parse_submission(found.path, content)
        note(found, submission, self.course, self.progress)
        results = [result for result in found.results if result.verdict is not Verdict.NOT_ATTEMPTED]
        shown: list[RenderableType] = []
        for result in results:
            if result.verdict is Verdict.PASSED:
                exercise = self.course.exercise(result.name)
                shown.append(Card(result, more=below_pass(result, exercise, self.course, self.progress)))
        failed = [result for result in results if result.verdict is not Verdict.PASSED]
        if failed:
            here = self.current.name if self.current is not None else ""
            worst = next((result for result in failed if result.name == here), failed[0])
            if worst.first_failure is not None:
                where: FrontEnd = "watch" if self.has_keys else "terminal"
                worst.hint = stuck(self.course.exercise(worst.name), self.course, self.progress, where)
            known = said_of_dropped(self.files[found.path].dropped, self.course.settings.dropped)  # said at its save
            news = _news((repair for repair in found.repairs if repair != known), submission, worst.name)
            shown += [Card(worst), *news, *([summary_card(results)] if len(failed) > 1 else [])]
            self._go_near(worst.name)
        elif results:
            book = self.course.book_of(self.course.exercise(results[-1].name))
            counts = self.place.counts([book])
            if counts.done == counts.exercises:
                one, more = "{lesson}: the exercise is done.", "{lesson}: all {count} exercises are done."
                shown.append(plural(one, more, counts.exercises, lesson=book.title))
        self.out.show("told", *shown, *asked, title=self._title)
        if results and not failed:
            self._go_to(self.place.after(self.course.exercise(results[-1].name)))
        elif not asked:
            self._say_status()

    # The student's place

    def _go_near(self, name: str) -> None:
        """Make an exercise that the student works on the current one."""
        if self.current is None or self.current.name != name:
            self.out.close()
        self.current = self.course.exercise(name)
        self.progress.move_to(name)

    def _go_to(self, exercise: Task | None) -> None:
        """Show an exercise, and check its answer if there is one that was not checked yet."""
        self.current = exercise
        self.out.show("task", self._task())
        if exercise is None:
            return
        self.progress.move_to(exercise.name)
        self._say_status()
        homes = home_of(exercise, list(self.files.values()))
        if homes and exercise.name in homes[0].prints and (homes[0].path, exercise.name) not in self._checked:
            self._check(homes[0].path, [exercise.name])

    # Keys

    def press(self, key: str) -> None:
        """React to a key."""
        if self.out.scroll(key):
            return
        asked, self._asked = self._asked, None
        self.out.show("notice")
        if asked is not None and key == asked[0]:
            asked[1]()
        elif key == ENTER and self.out.close():
            return  # it locks no guess that is out of sight
        elif key in ("q", END):
            self._is_over = True
        elif key == ENTER and self._guesses:
            guesses, self._guesses = self._guesses, []
            self.out.turn()
            for found, content in guesses:
                self._note_and_show(found, content)
        elif key == "x" and self._checking is not None:
            self._stop_check(*self._checking)
        elif key == "n":
            following = self.place.after(self.current)
            self.out.turn()
            self._go_to(following if following is not None else self.current)
        elif key == "l":
            lesson = [standing_card(self.place, self.course.book_of(self.current))] if self.current is not None else []
            self._answer(course_card(self.place), *lesson)
        elif key == "?":
            self._answer(help_card(self.course))
        elif key == "t":
            self._answer(self._task())
        elif self.current is not None and key == "h":
            self._show_hint(self.current)
        elif self.current is not None and key == "s":
            self._show_solution(self.current, sure=False)
        elif self.current is not None and key == "r":
            self._ask_to_reset(self.current)
        elif not self.out.close() and asked is None:
            named = {ENTER: "Enter", ESCAPE: "Esc"}.get(key, key)
            said = "No check is running." if key == "x" else f"{named} does nothing here. Press ? for help."
            self.out.show("notice", said)

    def _answer(self, *shown: RenderableType) -> None:
        self.out.show("asked", *shown)
        self._say_status()

    def _stop_check(self, path: Path, names: frozenset[str]) -> None:
        said = self._said_of_check()
        self.stop()
        file = self.files[path]  # what was not checked counts as changed at the next save
        self.files[path] = dataclasses.replace(file, prints={**file.prints, **dict.fromkeys(names, "")})
        self.out.show("told", f"{said} stopped. Save {self._name(path)} to check again.", title=self._title)
        self._say_status()

    def _show_hint(self, exercise: Task) -> None:
        """Show the next hint and below it those before, or all of them once the exercise has passed."""
        done = self.progress.of(exercise.name)
        is_all = done.passed or not exercise.hints
        numbers = [None] if is_all else range(min(done.hints + 1, len(exercise.hints)), 0, -1)
        self._answer(*(hint_card(exercise, self.course, self.progress, "watch", number) for number in numbers))

    def _show_solution(self, exercise: Task, sure: bool) -> None:
        closed = why_closed(exercise, self.course, self.progress, sure, "watch")
        if closed is not None and not sure and self.course.has_solutions:
            self._asked = ("s", lambda: self._show_solution(exercise, sure=True))
        self._answer(closed if closed is not None else solution_card(exercise, self.course))

    def _ask_to_reset(self, exercise: Task) -> None:
        homes = [f for f in home_of(exercise, list(self.files.values())) if exercise.name in f.prints]
        if not homes:
            self.out.show("asked", f"`{exercise.name}` is unchanged, so there is nothing to reset.")
            return
        path = homes[0].path
        text = (
            "Restore the empty `{name}` in {file}? Your answer goes to {kept}/. Press y for yes, any other key for no."
        )
        self.out.show("asked", text.format(name=exercise.name, file=self._name(path), kept=BACKUP_FOLDER))
        self._asked = ("y", lambda: self._reset(exercise, path))

    def _reset(self, exercise: Task, path: Path) -> None:
        try:
            backup = give_stub_back(path, exercise, self.course.book_of(exercise), self.folder)
        except (OSError, ValueError) as error:
            self.out.show("asked", str(error))
            return
        self.out.show("told")  # the verdict was about the old answer
        self.out.show("asked", reset_sentence(path, backup, self.folder))
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
    with contextlib.ExitStack() as stack:
        stack.callback(watching.say_goodbye)
        stack.enter_context(beside_files(course.files))
        stack.callback(watching.stop)
        if watching.out.redraws:
            stack.enter_context(watching.out)
        else:
            watching.out.show("told", f"Watching {folder}. Save a file to check the answers that changed in it.")
        stack.enter_context(Saves(folder, course, lambda paths: watching.events.put(lambda: watching.look_at(paths))))
        if has_keys:
            stack.enter_context(Keyboard(lambda key: watching.events.put(lambda: watching.press(key))))
        watching.run()
