"""Grade submissions: one after the other, each in a worker of its own, every file with a result of its own."""

import collections
import dataclasses
import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from jaxguide.course.answer import Answer, LocalAnswer
from jaxguide.course.book import Book
from jaxguide.course.draw import DEFAULT_SEED
from jaxguide.course.exercise import Exercise
from jaxguide.course.judge import judge
from jaxguide.course.library import Course
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.course.verify import run_answer
from jaxguide.grading.box import LANDLOCK
from jaxguide.grading.plan import lessons_of, make_plan
from jaxguide.grading.remote import GraderError, NotGraded
from jaxguide.grading.session import Session, Surroundings
from jaxguide.grading.submission import SUFFIXES, Submission, UnreadableSubmission, read_submission
from jaxguide.grading.usage import Limits
from jaxguide.text import _

_FOLDERS_PASSED_OVER = frozenset({"__pycache__", "node_modules"})


@dataclasses.dataclass
class SubmissionResult:
    """What one file came to.

    Args:
        path: the file.
        student: whose it is, as far as names of files and folders tell: 'ada', or 'ada/homework' where several folders
            hold a file of this name.
        lessons: the lessons that it answers.
        results: every exercise of these lessons.
        score, points: the sums.
        repairs: what was left out or mended.
        unreadable: why nothing could be graded, else None.
        not_graded: exercises for which the grader, not the student, is to blame: name -> why.
        protection: what kept the key from the submission's code: 'landlock', 'audit hook', '' where none ran.
        seed: what every input derives from.
        versions: of Python, jax, jaxlib, numpy and jaxguide in the worker.
    """

    path: Path
    student: str
    lessons: list[str] = dataclasses.field(default_factory=list)
    results: list[ExerciseResult] = dataclasses.field(default_factory=list)
    score: float = 0.0
    points: float = 0.0
    repairs: list[str] = dataclasses.field(default_factory=list)
    unreadable: str | None = None
    not_graded: dict[str, str] = dataclasses.field(default_factory=dict)
    protection: str = ""
    seed: int = DEFAULT_SEED
    versions: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every exercise has a mark."""
        return self.unreadable is None and not self.not_graded


def find_submissions(paths: Iterable[Path]) -> list[Path]:
    """Return the notebooks and Python files among `paths` and below the folders among them, each once.

    Raises:
        FileNotFoundError: one of the paths is not there.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            found.update((p, None) for p in below if not _is_passed_over(p.relative_to(path)))
        elif path.exists():
            found[path] = None
        else:
            raise FileNotFoundError(_("There is no file or folder `{path}`.").format(path=path))
    return list(found)


def _holds_python(folder: Path) -> bool:
    """Return whether a folder holds what every worker needs, as when results are written to the top of a clone."""
    places = (sys.prefix, sys.base_prefix, Path(__file__).parent)
    return any(Path(place).is_relative_to(folder.absolute()) for place in places)


def _is_passed_over(path: Path) -> bool:
    return any(part.startswith(".") or part in _FOLDERS_PASSED_OVER for part in path.parts)


def grade(
    paths: Sequence[Path],
    course: Course,
    *,
    seed: int = DEFAULT_SEED,
    limits: Limits | None = None,
    all_or_nothing: bool = False,
    hidden: bool = True,
    only: Collection[str] | None = None,
    protection: str = LANDLOCK,
    conceal: Sequence[Path] = (),
) -> Iterator[SubmissionResult]:
    """Grade files and the files below folders; yield each file's result as it comes.

    Args:
        paths: notebooks, Python files, folders.
        course: the course, with its keys.
        seed: what every input derives from.
        limits: what one exercise may use.
        all_or_nothing: no partial marks.
        hidden: whether hidden checks run.
        only: names of exercises; the others are left out.
        protection: the best protection to try.
        conceal: further folders and files that no worker may see, such as the results.

    Raises:
        GraderError: workers do not start here.
        FileNotFoundError: one of the paths is not there.
    """
    files = find_submissions(paths)
    stems = collections.Counter(stem for stem, _folder in {(path.stem, path.absolute().parent) for path in files})
    concealed = (course.places.solutions, *(path for path in conceal if not _holds_python(path)), *files)
    grader = _Grader(
        course,
        Surroundings(tuple(path.absolute() for path in concealed), limits or Limits(), protection),
        seed=seed,
        all_or_nothing=all_or_nothing,
        hidden=hidden,
        only=only,
        shared_names=frozenset(stem for stem, count in stems.items() if count > 1),
    )
    for path in files:
        yield grader.grade(path)


def _no_exercise(submission: Submission) -> str:
    said = _("The file answers no exercise of this course.")
    broken = next((cell for cell in submission.cells if cell.error is not None), None)
    if broken is None or broken.error is None:
        return said
    message = _("{said} At {label}: {error} (line {line}).")
    return message.format(said=said, label=broken.label, error=broken.error.message, line=broken.error.line or "?")


@dataclasses.dataclass
class _Grader:
    """Grade one file at a time, with the same settings."""

    course: Course
    surroundings: Surroundings
    seed: int
    all_or_nothing: bool
    hidden: bool
    only: Collection[str] | None
    shared_names: frozenset[str]
    references: dict[str, Answer] = dataclasses.field(default_factory=dict)

    def grade(self, path: Path) -> SubmissionResult:
        result = SubmissionResult(path, self._student(path), seed=self.seed)
        try:
            if path.is_symlink() and path.resolve().parent != path.parent.resolve():
                # We may read what the student may not: the key, or the answers of another.
                raise UnreadableSubmission(_("The file is a link to another place; grade the file itself."))
            if path.suffix not in SUFFIXES:
                raise UnreadableSubmission(_("The file is neither a notebook (.ipynb) nor Python (.py)."))
            submission = read_submission(path)
            result.lessons = lessons_of(submission, self.course)
            if not result.lessons:
                raise UnreadableSubmission(_no_exercise(submission))
        except UnreadableSubmission as problem:
            result.unreadable = str(problem)
            return result
        for topic in result.lessons:
            self._grade_lesson(submission, self.course.books[topic], result)
        result.repairs = list(dict.fromkeys(result.repairs))
        result.score = round(sum(one.score for one in result.results), 4)
        result.points = sum(one.points for one in result.results)
        return result

    def _student(self, path: Path) -> str:
        folder = path.absolute().parent.name
        if path.stem in self.course.books:
            return folder
        return f"{folder}/{path.stem}" if path.stem in self.shared_names else path.stem

    def _grade_lesson(self, submission: Submission, book: Book, result: SubmissionResult) -> None:
        exercises = [e for e in book.exercises if self.only is None or e.name in self.only]
        plan = make_plan(submission, book, self.course)
        with Session(plan, [e.name for e in exercises], self.surroundings) as session:
            try:
                session.define()
            except NotGraded as why:
                for exercise in exercises:
                    self._leave_out(exercise, str(why), result)
                exercises = []
            for exercise in exercises:
                self._grade_exercise(session, exercise, result)
            result.repairs += [*plan.repairs, *session.repairs]
            result.protection, result.versions = session.protection, session.versions

    def _grade_exercise(self, session: Session, exercise: Exercise, result: SubmissionResult) -> None:
        try:
            result.results.append(self._judge(exercise, session.answer(exercise.name)))
        except NotGraded as why:
            self._leave_out(exercise, str(why), result)
        except GraderError:
            raise
        except Exception as error:
            # A check of the course failed to do its work. That must stop neither the batch nor pass as a mark.
            where = traceback.extract_tb(error.__traceback__)[-1]
            message = _("Not graded: a check of the course raised {name}: {error} ({place}).")
            place = f"{Path(where.filename).name}:{where.lineno}"
            said = message.format(name=type(error).__name__, error=error, place=place)
            self._leave_out(exercise, said, result)

    def _judge(self, exercise: Exercise, answer: Answer | None) -> ExerciseResult:
        reference = self._reference(exercise) if self.hidden else None
        return judge(exercise, answer, seed=self.seed, reference=reference, all_or_nothing=self.all_or_nothing)

    def _leave_out(self, exercise: Exercise, why: str, result: SubmissionResult) -> None:
        """Give an exercise no mark, which is not the same as no points, and say why."""
        outcome = self._judge(exercise, None)
        result.results.append(dataclasses.replace(outcome, verdict=Verdict.NOT_CHECKED, note=why))
        result.not_graded[exercise.name] = why

    def _reference(self, exercise: Exercise) -> Answer | None:
        if exercise.key is None:
            return None
        if exercise.name not in self.references:
            book = self.course.book_of(exercise)
            names = run_answer(book, exercise.key.answer.source, f"<reference {exercise.name}>")
            self.references[exercise.name] = LocalAnswer(exercise.name, names[exercise.name], names)
        return self.references[exercise.name]
