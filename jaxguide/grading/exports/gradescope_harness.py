"""Grade the submission in a Gradescope container, and write the results after each exercise."""

import dataclasses
import json
from pathlib import Path

from jaxguide.base.files import write_whole
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.course.books.library import load_course
from jaxguide.course.exercise import AuthorError
from jaxguide.course.set_up import beside_files
from jaxguide.course.verdict import ExerciseResult
from jaxguide.grading.batch.grader import Grader, GradeSettings, open_grader
from jaxguide.grading.exports.gradescope import AFTER_PUBLISHED, GradingProgress, gradescope_results
from jaxguide.grading.intake.file_search import find_submissions
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.workers.worker_process import GraderError

AUTOGRADER_SETTINGS_NAME = "settings.json"
_STORED = ("seed", "limits", "all_or_nothing", "trust_submissions", "visibility")


@dataclasses.dataclass(frozen=True)
class AutograderSettings(GradeSettings):
    """The settings of an autograder on Gradescope, stored in its zip as `settings.json`, but for the paths.

    Args:
        visibility: the visibility of marks and hidden checks, see `gradescope_results`.
    """

    visibility: str = AFTER_PUBLISHED

    def to_text(self) -> str:
        """Return the text of `settings.json`.

        >>> AutograderSettings.from_text(AutograderSettings(7, only=frozenset({"walk"})).to_text()).only
        frozenset({'walk'})
        """
        plain = {name: plain_of(getattr(self, name)) for name in _STORED}
        plain["only"] = None if self.only is None else sorted(self.only)
        return json.dumps(plain, indent=2) + "\n"

    @classmethod
    def from_text(cls, text: str) -> "AutograderSettings":
        """Build settings from the output of `to_text`."""
        settings: AutograderSettings = read_plain(cls, json.loads(text))
        return settings


def run_autograder(root: Path) -> bool:
    """Grade the files in `submission/` with the course in `source/`, and write `results/results.json`.

    Args:
        root: Gradescope's folder, `/autograder` in its containers.

    Returns:
        Whether the results have a total; see `gradescope_results`.

    Raises:
        OSError: a file or folder from the zip does not exist, or the results cannot be written.
    """
    root = root.absolute()
    settings = _settings_in(root)
    progress = GradingProgress()

    def write() -> None:
        text = json.dumps(gradescope_results(progress, settings.visibility), indent=2, ensure_ascii=False)
        write_whole(root / "results" / "results.json", text + "\n")

    def tell(_path: Path, result: ExerciseResult) -> None:
        progress.add([result])
        write()

    write()
    try:
        course = load_course(root / "source" / "course")
        hidden = (root / "source", root / "results", root / "submission")
        own = dataclasses.replace(settings, conceal=hidden)
        with beside_files(course.files), open_grader(course, own, tell) as grader:
            _grade_files(grader, root / "submission", progress)
        progress.done = True
    except GraderError as error:
        print(error)  # for the instructor: standard output is hidden from students
        progress.trouble = "it does not work on this machine; your instructor can see why."
    except AuthorError as error:
        print(error)
        progress.trouble = "the course cannot be read; your instructor can see why."
    write()
    return progress.is_complete


def _settings_in(root: Path) -> AutograderSettings:
    return AutograderSettings.from_text((root / "source" / AUTOGRADER_SETTINGS_NAME).read_text("utf-8"))


def _grade_files(grader: Grader, folder: Path, progress: GradingProgress) -> None:
    unreadable: list[str] = []
    without_answers: list[str] = []
    for path in find_submissions([folder]):
        try:
            entry = Entry(path, Entry(path).read())
            result, *_confirmed = grader.grade_controlled(entry)
        except UnreadableSubmission as why:
            unreadable.append(f"{path.name}: {why}")
            continue
        if result.unreadable is None:
            progress.take(result)
        else:
            said = without_answers if _is_read_whole(entry, grader) else unreadable
            said.append(f"{path.name}: {result.unreadable}")
    if progress.results:
        progress.notes += without_answers
    elif not unreadable:
        unreadable = without_answers or ["The submission contains no notebook (.ipynb) and no Python file (.py)."]
    progress.unreadable = " ".join(unreadable)


def _is_read_whole(entry: Entry, grader: Grader) -> bool:
    """Return whether all code cells of a file could be parsed, so that no answer in it was missed."""
    try:
        return grader.read(entry.path, entry.content).is_python
    except UnreadableSubmission:
        return False


def fill_autograder(root: Path) -> None:
    """Compile and compute everything that the course's checks need, while the container's image is built.

    Args:
        root: as in `run_autograder`.

    Raises:
        OSError: a file from the zip does not exist.
        AuthorError: the course cannot be read.
        GraderError: the grader does not work on this machine; it may still work where the image runs.
    """
    course = load_course(root.absolute() / "source" / "course")
    with beside_files(course.files), open_grader(course, _settings_in(root.absolute())) as grader:
        for topic in course.books:
            grader.prepare(topic)
