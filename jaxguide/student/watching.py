"""Run the session of `jaxguide watch`: show the current exercise, check after each save, react to keys."""

import contextlib
import dataclasses
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from watchfiles import watch as watch_files

from jaxguide.base.clean import clean
from jaxguide.base.text import plural
from jaxguide.course.books.library import Course
from jaxguide.course.books.outline import Outline
from jaxguide.course.exercise import Task
from jaxguide.course.progress import Progress, progress_file_name
from jaxguide.course.set_up import beside_files
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.grader import SubmissionResult
from jaxguide.grading.intake.submission import UnreadableSubmission, is_submission, parse_submission
from jaxguide.grading.workers.worker_process import GraderError
from jaxguide.student.answers_in_files import FileAnswers, find_files, home_of, is_watched, read_all, read_answers
from jaxguide.student.check_file import Checker, note
from jaxguide.student.help import FrontEnd, hint_card, solution_card, stuck, why_closed
from jaxguide.student.keyboard import END, ENTER, Keyboard
from jaxguide.student.position import Position, topics_of
from jaxguide.student.reset import BACKUP_FOLDER, give_stub_back
from jaxguide.student.screen import Screen, news, reset_sentence
from jaxguide.student.workspace import DEFAULT_FOLDER, find_workspace, lay_workspace

_LOOKS_AFTER_S = 1.0


@dataclasses.dataclass(frozen=True)
class FilesSaved:
    """Some files changed."""

    paths: frozenset[Path]


@dataclasses.dataclass(frozen=True)
class KeyPressed:
    """A key was pressed."""

    key: str


@dataclasses.dataclass(frozen=True)
class CheckEnded:
    """A check has ended, with a result or with the error that prevented it."""

    job: int
    content: bytes
    found: SubmissionResult | GraderError


SessionEvent = FilesSaved | KeyPressed | CheckEnded


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
        self.screen = Screen(folder, has_keys)
        self.events: queue.Queue[SessionEvent] = queue.Queue()
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
        return Position(self.course, self.progress, topics_of(self.files.values(), self.course))

    def tell(self, event: SessionEvent) -> None:
        """Queue an event; any thread may call this."""
        self.events.put(event)

    def run(self) -> None:
        """Show the current exercise, and handle events until `q` or the end of the keys."""
        self._go_to(self.current)
        while True:
            try:
                event = self.events.get(timeout=_LOOKS_AFTER_S)  # on Windows, Ctrl-C waits until `get` returns
            except queue.Empty:
                continue
            if isinstance(event, KeyPressed):
                if event.key in ("q", END):
                    return
                self._press(event.key)
            elif isinstance(event, FilesSaved):
                self._look_at(event.paths)
            else:
                self._show_result(event)
            if self._waiting and not (self._checking or self._guess or self._asked):
                self._check(*self._waiting.popitem())

    def stop(self) -> None:
        """Stop the running check, if there is one."""
        self._job += 1
        self.checker.stop()

    # Changed files

    def _look_at(self, paths: Iterable[Path]) -> None:
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
                    self.screen.say(f"{self.screen.name(path)}: {why}")
                continue
            self.files[path] = now
            changed = [name for name in now.prints if before.prints.get(name) != now.prints[name]]
            answered = {name for file in self.files.values() for name in file.prints if name in file.places}
            changed += before.prints.keys() & before.places.keys() - now.places.keys() - answered
            if before.broken != now.broken:
                for sentence in now.broken:
                    self.screen.say(f"{self.screen.name(path)}, {sentence}")
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
            self.screen.say(f"{self.screen.name(path)}: {why}")
            return
        self._job, self._checking, self._guess, self._asked = self._job + 1, (path, wanted), None, None
        self._checked |= {(path, name) for name in wanted}
        in_order = [exercise.name for exercise in self.place.exercises if exercise.name in wanted]
        self.screen.checking(path, in_order)
        threading.Thread(target=self._run_check, args=(self._job, path, content, wanted), daemon=True).start()

    def _run_check(self, job: int, path: Path, content: bytes, names: frozenset[str]) -> None:
        try:
            found: SubmissionResult | GraderError = self.checker.check(path, content, names)
        except GraderError as error:
            found = error
        self.tell(CheckEnded(job, content, found))

    def _show_result(self, event: CheckEnded) -> None:
        if event.job != self._job or self._checking is None:
            return  # the check was stopped
        self._checking = None
        found = event.found
        if isinstance(found, GraderError) or found.unreadable is not None:
            self.screen.say(clean(str(found if isinstance(found, GraderError) else found.unreadable)))
            return
        guesses = [result for result in found.results if result.reveal is not None and self._is_new(result)]
        if guesses and self.screen.has_keys:
            self._guess = (dataclasses.replace(found, results=guesses), event.content)
            found.results = [result for result in found.results if result not in guesses]
        note(found, parse_submission(found.path, event.content), self.course, self.progress)
        self._show(found, event.content)
        if self._guess is not None:
            for result in guesses:
                self._go_near(result.name)
                said = "Your guess for {name} is {guess}. Press Enter to lock it and see what JAX gives."
                self.screen.say(said.format(name=result.name, guess=clean(result.note, 400)))

    def _is_new(self, result: ExerciseResult) -> bool:
        return self.progress.of(result.name).guess is None

    def _show(self, found: SubmissionResult, content: bytes) -> None:
        results = [result for result in found.results if result.verdict is not Verdict.NOT_ATTEMPTED]
        for result in results:
            if result.verdict is Verdict.PASSED:
                self.screen.passed(result, self.place)
        failed = [result for result in results if result.verdict is not Verdict.PASSED]
        if failed:
            here = self.current.name if self.current is not None else ""
            shown = next((result for result in failed if result.name == here), failed[0])
            if shown.first_failure is not None:
                where: FrontEnd = "watch" if self.screen.has_keys else "terminal"
                shown.hint = stuck(self.course.exercise(shown.name), self.course, self.progress, where)
            submission = parse_submission(found.path, content)
            self.screen.failed(shown, results, news(found.repairs, submission, shown.name))
            self._go_near(shown.name)
            self.screen.status(self.place)
        elif results:
            last = self.course.exercise(results[-1].name)
            self.screen.lesson_done(self.course.book_of(last), self.place)
            self._go_to(self.place.after(last))
        elif self._guess is None:
            self.screen.status(self.place)

    # The student's place

    def _go_near(self, name: str) -> None:
        """Make an exercise that the student works on the current one."""
        if self.current is None or self.current.name != name:
            self.current = self.course.exercise(name)
        self.progress.move_to(name)

    def _go_to(self, exercise: Task | None) -> None:
        """Show an exercise, and check its answer if there is one that was not checked yet."""
        self.current = exercise
        if exercise is None:
            words = plural("The exercise is done.", "All {count} exercises are done.", len(self.place.exercises))
            self.screen.say(words, style="bold")
            return
        self.progress.move_to(exercise.name)
        homes = home_of(exercise, list(self.files.values()))
        self.screen.exercise(exercise, homes, self.place)
        self.screen.status(self.place)
        if homes and exercise.name in homes[0].prints and (homes[0].path, exercise.name) not in self._checked:
            self._check(homes[0].path, [exercise.name])

    # Keys

    def _press(self, key: str) -> None:
        asked, self._asked = self._asked, None
        if asked is not None and key == asked[0]:
            asked[1]()
        elif key == ENTER and self._guess is not None:
            (found, content), self._guess = self._guess, None
            note(found, parse_submission(found.path, content), self.course, self.progress)
            self._show(found, content)
        elif key == "n":
            following = self.place.after(self.current)
            self._go_to(following if following is not None else self.current)
        elif key == "l":
            self.screen.lessons(self.place, self.current)
            self.screen.status(self.place)
        elif key in ("?", ENTER):
            self.screen.status(self.place)
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
        self.screen.card(hint_card(exercise, self.course, self.progress, "watch", number))
        self.screen.status(self.place)

    def _show_solution(self, exercise: Task, sure: bool) -> None:
        closed = why_closed(exercise, self.course, self.progress, sure, "watch")
        if closed is None:
            self.screen.card(solution_card(exercise, self.course))
        else:
            self.screen.say(closed)
            if not sure and self.course.has_solutions:
                self._asked = ("s", lambda: self._show_solution(exercise, sure=True))
        self.screen.status(self.place)

    def _ask_to_reset(self, exercise: Task) -> None:
        homes = [f for f in home_of(exercise, list(self.files.values())) if exercise.name in f.prints]
        if not homes:
            self.screen.say(f"`{exercise.name}` is unchanged, so there is nothing to reset.")
            return
        path = homes[0].path
        text = (
            "Restore the empty `{name}` in {file}? Your answer goes to {kept}/. Press y for yes, any other key for no."
        )
        self.screen.say(text.format(name=exercise.name, file=self.screen.name(path), kept=BACKUP_FOLDER))
        self._asked = ("y", lambda: self._reset(exercise, path))

    def _reset(self, exercise: Task, path: Path) -> None:
        try:
            done = give_stub_back(path, exercise, self.course.book_of(exercise), self.folder)
        except (OSError, ValueError) as error:
            self.screen.say(str(error))
            return
        self.screen.say(reset_sentence(done.path, done.backup, self.folder))
        self._look_at([path])


_STEP_MS = 30
_DEBOUNCE_MS = 300
_LOOKS_AFTER_MS = 1000


class Saves:
    """A context that calls `tell` from its own thread with the files that changed.

    The operating system reports changes, but not in some folders (those of another machine, or of a container's host)
    and not before it has begun to watch. So the files are also compared every second.

    Args:
        folder: the workspace, absolute.
        course: the course; its own files are left out.
        tell: gets the changed files, absolute.
    """

    def __init__(self, folder: Path, course: Outline, tell: Callable[[frozenset[Path]], None]):
        self._folder, self._course, self._tell = folder, course, tell
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._looks = _looks_of(find_files(folder, course))

    def __enter__(self) -> "Saves":
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._is_over.set()
        # If Python ends while the thread is in compiled code, the process may abort (watchfiles 1.0).
        self._thread.join(_LOOKS_AFTER_S)

    def _run(self) -> None:
        try:
            self._watch(is_polling=False)
        except (OSError, RuntimeError):  # the system has no watches left
            self._watch(is_polling=True)

    def _watch(self, is_polling: bool) -> None:
        changes = watch_files(
            self._folder,
            watch_filter=lambda _change, path: is_watched(Path(path), self._folder, self._course),
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            rust_timeout=_LOOKS_AFTER_MS,
            yield_on_timeout=True,
            stop_event=self._is_over,
            raise_interrupt=False,
            force_polling=is_polling or None,
            ignore_permission_denied=True,
        )
        for found in changes:
            paths = {Path(path) for _change, path in found} or set(self._looks)
            looks = _looks_of(paths)
            saved = frozenset(path for path in paths if self._looks.get(path) != looks.get(path))
            self._looks = {path: look for path, look in self._looks.items() if path not in saved} | looks
            if saved and not self._is_over.is_set():
                self._tell(saved)


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


class NoWorkspace(Exception):
    """A folder is not a workspace; the message says what to type."""


def usual_folder(course: Course) -> Path:
    """Return the folder to watch by default: the existing workspace, or the one to create."""
    found = find_workspace(course.books, course.identity, course.folders)
    if found != Path() or _is_begun(found, course.identity):
        return found
    names = course.exercises.keys()
    for path in sorted(found.iterdir()):
        with contextlib.suppress(UnreadableSubmission, OSError):
            if is_submission(path) and names & read_answers(path, course).places.keys():
                return found
    return Path(DEFAULT_FOLDER)


def _is_begun(folder: Path, identity: str) -> bool:
    return (folder / progress_file_name(identity)).is_file()


def open_workspace(folder: Path, course: Course) -> Path:
    """Return a workspace's absolute path; copy the lessons into it if it is missing or empty.

    Raises:
        NoWorkspace: it cannot be created, or it contains files but no exercise.
    """
    folder = folder.resolve()
    notebooks = course.folders.notebooks
    try:
        if not folder.exists() or not any(folder.iterdir()):
            if not notebooks.is_dir():
                message = "There are no lessons to copy into {folder}: {notebooks} is missing."
                raise NoWorkspace(message.format(folder=folder, notebooks=notebooks))
            laid = lay_workspace(folder, notebooks, course.files, course.identity)
            words = plural(
                "{count} file copied into {folder}.", "{count} files copied into {folder}.", len(laid), folder=folder
            )
            print(words)
    except OSError as error:
        raise NoWorkspace(f"The workspace could not be created: {error}.") from None
    if not read_all(folder, course):
        message = "There is no exercise in {folder}. `jaxguide watch workspace` creates a folder with the lessons."
        raise NoWorkspace(message.format(folder=folder))
    return folder


def run_session(course: Course, folder: Path, cpu_limit_s: float) -> None:
    """Run a session until the student ends it; keys are read only in a terminal."""
    has_keys = sys.stdin.isatty() and sys.stdout.isatty()
    limits = dataclasses.replace(course.settings.limits, cpu_s=cpu_limit_s)
    watching = Watching(course, folder, Progress(folder, course.identity), Checker(course, limits), has_keys)
    words = "Watching {folder}. Save a file to check the answers that changed in it."
    watching.screen.say(words.format(folder=folder))
    with contextlib.ExitStack() as stack:
        stack.enter_context(beside_files(course.files))
        stack.callback(watching.stop)
        stack.enter_context(Saves(folder, course, lambda paths: watching.tell(FilesSaved(paths))))
        if has_keys:
            stack.enter_context(Keyboard(lambda key: watching.tell(KeyPressed(key))))
        watching.run()
