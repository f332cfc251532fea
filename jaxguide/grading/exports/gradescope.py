"""Build an autograder for Gradescope, and grade in its container.

The format is https://gradescope-autograders.readthedocs.io/en/latest/specs/.

An exercise with hidden checks becomes two tests. The first shows the visible checks at once. The second shows the marks
and what students may know about the hidden checks, once the instructor publishes them. Gradescope hides the total from
students as long as any test is not visible to them.
"""

import base64
import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jaxguide
from jaxguide.base.clean import clean
from jaxguide.base.files import write_whole, zip_bytes
from jaxguide.base.plain import plain_of, read_plain
from jaxguide.base.text import plural
from jaxguide.course.books.library import Course, contents_of, load_course
from jaxguide.course.cards import Card
from jaxguide.course.exercise import AuthorError
from jaxguide.course.requirements import pinned
from jaxguide.course.set_up import beside_files
from jaxguide.course.verdict import ExerciseResult, Verdict
from jaxguide.grading.batch.grader import Grader, GradeSettings, open_grader
from jaxguide.grading.batch.submission_result import SubmissionResult
from jaxguide.grading.intake.file_search import find_submissions
from jaxguide.grading.intake.file_to_grade import Entry
from jaxguide.grading.intake.submission import UnreadableSubmission
from jaxguide.grading.reports.page import line
from jaxguide.grading.workers.worker_process import GraderError

_SETTINGS_NAME = "settings.json"
AFTER_PUBLISHED = "after_published"
_STORED = ("seed", "limits", "all_or_nothing", "trust_submissions", "visibility")

_UNANSWERED = (Verdict.NOT_ATTEMPTED, Verdict.NO_SUCH_FUNCTION)
_WIDTH = 90


@dataclasses.dataclass
class GradingProgress:
    """The progress of grading one submission.

    Args:
        results: the finished exercises, in the order in which they were finished.
        not_graded: the names of the exercises that could not be graded, through no fault of the student.
        done: whether grading has finished.
        unreadable: which files cannot be read, and why, or ''; without results, why nothing can be graded.
        trouble: why the grader stopped, in words for students, or ''.
        notes: notes on how the files were read.
        facts: data that only the instructor sees.
    """

    results: list[ExerciseResult] = dataclasses.field(default_factory=list)
    not_graded: set[str] = dataclasses.field(default_factory=set)
    done: bool = False
    unreadable: str = ""
    trouble: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add(self, results: Iterable[ExerciseResult]) -> set[str]:
        """Add results, and return which count: if several files answer an exercise, the last does."""
        done = {one.name: one for one in self.results}
        new = {one.name: one for one in results if one.name not in done or one.verdict not in _UNANSWERED}
        self.results = list({**done, **new}.values())
        return set(new)

    def take(self, result: SubmissionResult) -> None:
        """Add all that is known of a file that was graded."""
        self.not_graded -= self.add(result.results)
        self.not_graded |= set(result.not_graded)
        self.notes += result.repairs
        self.facts = {
            "course_digest": result.course_digest,
            "submission_digest": result.digest,
            "versions": result.versions,
            "not_graded": result.not_graded,
        }

    @property
    def is_complete(self) -> bool:
        """Whether every exercise has a mark, or no file could be read, so that the student has to submit again."""
        lost = bool(self.unreadable and self.results)
        return self.done and not self.not_graded and not self.trouble and not lost


def gradescope_results(progress: GradingProgress, visibility: str = AFTER_PUBLISHED) -> dict[str, Any]:
    """Return the document `results.json` that Gradescope reads; marks and hidden checks have this visibility.

    The total is included only if every exercise has a mark. Without it, and with a test that has no score, Gradescope
    treats the run as failed and notifies the instructor, instead of counting a missing mark as 0. The total is also
    left out if some of several files cannot be read, because they may contain answers. If no file can be read, the
    total is 0: without a total, Gradescope would not show students the message that they should submit again.

    >>> gradescope_results(GradingProgress(done=True, unreadable="The file is empty."))["score"]
    0.0
    >>> "score" in gradescope_results(GradingProgress())
    False
    """
    said = "Not graded yet. This is not your fault; your instructor knows."
    tests: list[dict[str, Any]] = []
    for number, result in enumerate(progress.results, 1):
        is_missing = result.name in progress.not_graded
        tests += [_test(number, result.title, said)] if is_missing else _tests(number, result, visibility)
    if not progress.done:
        tests.append(_test(len(progress.results) + 1, "Grading has not finished", "More exercises follow."))
    plain: dict[str, Any] = {"output": _output(progress), "output_format": "text", "visibility": "visible"}
    if progress.is_complete:
        plain["score"] = round(sum(result.score for result in progress.results), 2) if progress.results else 0.0
    return {**plain, "stdout_visibility": "hidden", "tests": tests, "extra_data": progress.facts}


def _tests(number: int, result: ExerciseResult, visibility: str) -> Iterable[dict[str, Any]]:
    whole = _test(number, result.title, Card(result).text(_WIDTH), result)
    whole |= {"score": result.score, "max_score": result.points}
    if not any(check.hidden for check in result.checks):
        return [whole]
    seen = visible_part(result)
    # Do not list the checks: one that was not reached would reveal that a hidden check failed before it.
    said = "No visible check failed. You will get your marks later, with the hidden checks."
    first = _test(number, result.title, said if seen.verdict is Verdict.PASSED else Card(seen).text(_WIDTH), seen)
    name = line(f"{result.title}: marks, with hidden checks")
    return [first, {**whole, "name": name, "visibility": visibility}]


def visible_part(result: ExerciseResult) -> ExerciseResult:
    """Return the result of an exercise for its visible checks only; it is passed if none of them failed."""
    checks = [check for check in result.checks if not check.hidden]
    part = dataclasses.replace(result, checks=checks, hidden_printed="", note="")
    if result.verdict is not Verdict.NOT_ATTEMPTED:
        part.verdict = Verdict.PASSED if part.first_failure is None else part.first_failure.verdict
    return part


def _test(number: int, name: str, output: str, result: ExerciseResult | None = None) -> dict[str, Any]:
    test = {"number": str(number), "name": line(name), "output": clean(output), "output_format": "text"}
    if result is not None:
        test["status"] = "passed" if result.verdict is Verdict.PASSED else "failed"
    return {**test, "visibility": "visible"}


def _output(progress: GradingProgress) -> str:
    lines, count, unreadable = [], len(progress.not_graded), line(progress.unreadable)
    if progress.trouble:
        lines.append(f"The grader stopped: {progress.trouble} This is not your fault.")
    elif not progress.done:
        lines.append("Grading has not finished.")
    elif unreadable and not progress.results:
        lines.append(f"Nothing was graded. {unreadable}")
    elif count:
        lines.append(plural("{count} exercise could not be graded.", "{count} exercises could not be graded.", count))
    if unreadable and progress.results:
        lines.append(f"There is no total, because not every file could be read. {unreadable}")
    if progress.notes:
        lines += ["While reading your file:", *(f"  - {line(note)}" for note in progress.notes)]
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class AutograderSettings(GradeSettings):
    """The settings of an autograder on Gradescope, stored in its zip as `settings.json`, but for the paths."""

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
    """Grade what is in Gradescope's folder `root` and write `results/results.json` there.

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
    except (GraderError, AuthorError) as error:
        print(error)  # for the instructor: standard output is hidden from students
        why = "it does not work on this machine" if isinstance(error, GraderError) else "the course cannot be read"
        progress.trouble = f"{why}; your instructor can see why."
    write()
    return progress.is_complete


def _settings_in(root: Path) -> AutograderSettings:
    return AutograderSettings.from_text((root / "source" / _SETTINGS_NAME).read_text("utf-8"))


def _grade_files(grader: Grader, folder: Path, progress: GradingProgress) -> None:
    unreadable: list[str] = []
    without_answers: list[str] = []
    for path in find_submissions([folder]):
        try:
            entry = Entry(path, Entry(path).read())
            result, *_confirmed = grader.grade_controlled(entry)
            if result.unreadable is None:
                progress.take(result)
            elif grader.read(path, entry.read()).is_python:  # so that no answer in it was missed
                without_answers.append(f"{path.name}: {result.unreadable}")
            else:
                unreadable.append(f"{path.name}: {result.unreadable}")
        except UnreadableSubmission as why:
            unreadable.append(f"{path.name}: {why}")
    if progress.results:
        progress.notes += without_answers
    elif not unreadable:
        unreadable = without_answers or ["The submission contains no notebook (.ipynb) and no Python file (.py)."]
    progress.unreadable = " ".join(unreadable)


def fill_autograder(root: Path) -> None:
    """Compile and compute everything that the course's checks need, while the container's image is built.

    Raises:
        OSError: a file from the zip does not exist.
        AuthorError: the course cannot be read.
        GraderError: the grader does not work on this machine; it may still work where the image runs.
    """
    course = load_course(root.absolute() / "source" / "course")
    with beside_files(course.files), open_grader(course, _settings_in(root.absolute())) as grader:
        for topic in course.books:
            grader.prepare(topic)


# Gradescope runs this once, as root, to build the image. On Ubuntu 22.04, its oldest image, python3 is Python 3.10.
_SETUP = """\
#!/usr/bin/env bash
set -euo pipefail
cd "${AUTOGRADER:-/autograder}/source"
find_python() {
    for python in python3.13 python3.12 python3.11 python3; do
        if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}
python="$(find_python)"
if [ -z "$python" ]; then
    apt-get update
    apt-get install -y python3.12 python3.12-venv || apt-get install -y python3.11 python3.11-venv
    python="$(find_python)"
fi
"$python" -m venv ../venv
# Compile bytecode now, because the container may not be able to write later. Without it, importing jax takes three
# times as long.
../venv/bin/python -m pip install --compile --requirement requirements.txt
chmod -R go-rwx .
# Save in the image what the course's answers compile and compute. If this fails, each container does it.
XDG_CACHE_HOME="$PWD/../cache" ../venv/bin/python -m jaxguide export fill-gradescope .. || true
"""

# Gradescope runs this for each submission.
_RUN = """\
#!/usr/bin/env bash
root="${AUTOGRADER:-/autograder}"
cd "$root"
export XDG_CACHE_HOME="$root/cache"
exec "$root/venv/bin/python" -m jaxguide export run-gradescope "$root"
"""

_PINNED = ("jax", "jaxlib", "numpy")


class NoKey(ValueError):
    """The course cannot be graded, because it has no key."""


def autograder_zip(course: Course, settings: AutograderSettings, requirement: Path | str | None = None) -> bytes:
    """Return the bytes of an autograder's zip.

    It contains the key and the seed, so keep it as secret as they are.

    Args:
        requirement: the jaxguide that pip installs: the path of a wheel, which is added to the zip, or a requirement
            such as 'jaxguide @ git+https://...'. By default a wheel of the running jaxguide's own files.

    Raises:
        NoKey: the course has no key.
        OSError: the wheel or a file of the course cannot be read.
    """
    if not any(exercise.key for exercise in course.exercises.values()):
        raise NoKey(f"The course has no key in {course.folders.solutions}.")
    files: dict[str, bytes] = {}
    if isinstance(requirement, str):
        names = [requirement]
    else:
        name, content = (requirement.name, requirement.read_bytes()) if requirement is not None else own_wheel()
        names = [f"./{name}"]
        files[name] = content
    # Pin the versions of this environment, so that the autograder behaves as it was tested here.
    needed = {name: f"{name}=={importlib.metadata.version(name)}" for name in _PINNED}
    names += (pinned(course.settings) | needed).values()
    files |= {
        "setup.sh": _SETUP.encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": "".join(f"{name}\n" for name in names).encode(),
        _SETTINGS_NAME: settings.to_text().encode(),
        **{f"course/{name}": content for name, content in contents_of(course).items()},
    }
    return zip_bytes(files, programs=("setup.sh", "run_autograder"))


def own_wheel() -> tuple[str, bytes]:
    """Return the name and the content of a wheel of this package's own files, without the course that comes with it.

    See https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
    """
    found = importlib.metadata.distribution("jaxguide")
    package, info = Path(jaxguide.__file__).parent, f"jaxguide-{found.version}.dist-info"
    files = {
        f"jaxguide/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and not {"__pycache__", "_course"}.intersection(path.relative_to(package).parts)
    }
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: jaxguide\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    for name in ("METADATA", "entry_points.txt"):
        files[f"{info}/{name}"] = (found.read_text(name) or "").encode()
    record = ""
    for name, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return f"jaxguide-{found.version}-py3-none-any.whl", zip_bytes(files)
