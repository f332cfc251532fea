"""Grade the submission in a Gradescope container, and write the results after each exercise."""

import dataclasses
import json
from pathlib import Path

from jaxguide.base.files import write_whole
from jaxguide.course.books.library import Course, load_course
from jaxguide.course.exercise import AuthorError
from jaxguide.course.limits import Limits
from jaxguide.course.set_up import beside_files
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.grader import Grader, GradeSettings, open_grader
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.exports.gradescope import AFTER_PUBLISHED, GradingProgress, gradescope_results
from jaxguide.grading.intake.file_search import find_submissions
from jaxguide.grading.intake.file_to_grade import FileEntry, ReadEntry
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.worker_process import GraderError

AUTOGRADER_SETTINGS_NAME = "settings.json"

_UNANSWERED = (Verdict.NOT_ATTEMPTED, Verdict.NO_SUCH_FUNCTION)


@dataclasses.dataclass(frozen=True)
class AutograderSettings:
    """The settings of an autograder on Gradescope, stored in its zip as `settings.json`.

    Args:
        seed: the seed that every input derives from; it stays in the container.
        only: the names of the exercises to grade, or empty for all.
        all_or_nothing: whether to give no partial marks.
        visibility: the visibility of marks and hidden checks, see `gradescope_results`.
        trust_submissions: whether code may run where isolation is incomplete.
        limits: the resource limits of one exercise and of the whole submission.
    """

    seed: int
    only: tuple[str, ...] = ()
    all_or_nothing: bool = False
    visibility: str = AFTER_PUBLISHED
    trust_submissions: bool = False
    limits: Limits = dataclasses.field(default_factory=Limits)

    def to_text(self) -> str:
        """Return the text of `settings.json`.

        >>> AutograderSettings.from_text(AutograderSettings(7, ("walk",)).to_text()).only
        ('walk',)
        """
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_text(cls, text: str) -> "AutograderSettings":
        """Build settings from the output of `to_text`."""
        plain = json.loads(text)
        return cls(**{**plain, "only": tuple(plain["only"]), "limits": Limits(**plain["limits"])})

    def for_grader(self, conceal: tuple[Path, ...]) -> GradeSettings:
        """Return the settings for the grader, which hides the paths in `conceal` from workers."""
        return GradeSettings(
            seed=self.seed,
            limits=self.limits,
            all_or_nothing=self.all_or_nothing,
            only=frozenset(self.only) or None,
            conceal=conceal,
            trust_submissions=self.trust_submissions,
        )


def run_autograder(root: Path) -> bool:
    """Grade the files in `submission/` with the course in `source/`, and write `results/results.json`.

    Args:
        root: Gradescope's folder, `/autograder` in its containers.

    Returns:
        Whether the results have a total; see `gradescope_results`.

    Raises:
        OSError: a file or folder from the zip does not exist, or the results cannot be written.
    """
    return _Run(root).run()


def fill_autograder(root: Path) -> None:
    """Compile and compute everything that the course's checks need, while the container's image is built.

    Args:
        root: as in `run_autograder`.

    Raises:
        OSError: a file from the zip does not exist.
        AuthorError: the course cannot be read.
        GraderError: the grader does not work on this machine; it may still work where the image runs.
    """
    source = root.absolute() / "source"
    settings = AutograderSettings.from_text((source / AUTOGRADER_SETTINGS_NAME).read_text("utf-8")).for_grader(())
    course = load_course(source / "course")
    with beside_files(course.files), open_grader(course, settings) as grader:
        for topic in course.books:
            grader.prepare(topic)


class _Run:
    def __init__(self, root: Path):
        self.root = root.absolute()
        self.progress = GradingProgress()
        text = (root / "source" / AUTOGRADER_SETTINGS_NAME).read_text("utf-8")
        self.settings = AutograderSettings.from_text(text)
        self.grades: Path | None = None

    def run(self) -> bool:
        self._write()
        try:
            self._grade(load_course(self.root / "source" / "course"))
            self.progress.done = True
        except GraderError as error:
            print(error)  # for the instructor: standard output is hidden from students
            self.progress.trouble = "it does not work on this machine; your instructor can see why."
        except AuthorError as error:
            print(error)
            self.progress.trouble = "the course cannot be read; your instructor can see why."
        self._write()
        return self.progress.is_complete

    def _grade(self, course: Course) -> None:
        settings = self.settings.for_grader((self.root / "source", self.root / "results", self.root / "submission"))
        with beside_files(course.files), open_grader(course, settings, self._tell) as grader:
            self._grade_files(grader)

    def _grade_files(self, grader: Grader) -> None:
        unreadable: list[str] = []
        without_answers: list[str] = []
        for path in find_submissions([self.root / "submission"]):
            self.grades = path
            try:
                entry = ReadEntry(path, FileEntry(path).read())
                result, _passed = grader.grade_controlled(entry)
            except UnreadableSubmission as why:
                unreadable.append(f"{path.name}: {why}")
                continue
            if result.unreadable is None:
                self._take(result)
            else:
                said = without_answers if _is_read_whole(entry, grader) else unreadable
                said.append(f"{path.name}: {result.unreadable}")
        if self.progress.results:
            self.progress.notes += without_answers
        elif not unreadable:
            missing = "The submission contains no notebook (.ipynb) and no Python file (.py)."
            unreadable = without_answers or [missing]
        self.progress.unreadable = " ".join(unreadable)

    def _take(self, result: SubmissionResult) -> None:
        self.progress.not_graded -= self._add(result.results)
        self.progress.not_graded |= set(result.not_graded)
        self.progress.notes += result.repairs
        self.progress.facts = {
            "course_digest": result.course_digest,
            "submission_digest": result.digest,
            "versions": result.versions,
            "not_graded": result.not_graded,
        }

    def _tell(self, path: Path, result: ExerciseResult) -> None:
        if path == self.grades:
            self._add([result])
            self._write()

    def _add(self, results: list[ExerciseResult]) -> set[str]:
        """Add results, and return which count: if several files answer an exercise, the last does."""
        done = {one.name: one for one in self.progress.results}
        new = {one.name: one for one in results if one.name not in done or one.verdict not in _UNANSWERED}
        self.progress.results = list({**done, **new}.values())
        return set(new)

    def _write(self) -> None:
        plain = gradescope_results(self.progress, self.settings.visibility)
        path = self.root / "results" / "results.json"
        write_whole(path, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def _is_read_whole(entry: ReadEntry, grader: Grader) -> bool:
    """Return whether all code cells of a file could be parsed, so that no answer in it was missed."""
    try:
        return grader.read(entry.path, entry.content).is_python
    except UnreadableSubmission:
        return False
