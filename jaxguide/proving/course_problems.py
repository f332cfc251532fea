"""What is missing or wrong in a whole course: files not printed, points kept, and statements left out."""

from collections.abc import Iterable

from jaxguide.base.clean import clean
from jaxguide.course.books.core_time import core_time
from jaxguide.course.books.handout import for_students, stale_files
from jaxguide.course.books.library import Course
from jaxguide.proving.proof import Problem, Proof

MOST_KEPT = 0.1
"""The largest share of the points that all answers which miss the point may keep together."""
MOST_MINUTES = 60
"""The time that the core of a lesson may take."""


def stale_problems(course: Course, lessons: Iterable[str]) -> list[Problem]:
    """Return one problem, about the first file, if files of these lessons are not printed as they would be now."""
    differs = "differs from what the book prints now; run `jaxguide print`"
    missing = "is not printed yet; run `jaxguide print`"
    if stale := stale_files(for_students(course, lessons), course.folders.notebooks):
        return [Problem(stale[0], 1, differs if stale[0].exists() else missing)]
    if not (course.settings.identity or course.folders.is_bundled):
        return [Problem(course.folders.settings_file, 1, "there is no `identity` yet; run `jaxguide print`")]
    return []


def kept_problems(course: Course, proof: Proof) -> list[Problem]:
    """Return a problem if answers that miss the point keep too many of a whole course's points."""
    if proof.share_kept <= MOST_KEPT:
        return []
    message = (
        f"planted wrong answers that miss the point keep {proof.share_kept:.0%} of the points of the whole course; at "
        f"most {MOST_KEPT:.0%} is allowed. Lower the `keeps` of some exercises"
    )
    return [Problem(course.folders.exercises, 1, message)]


def core_problems(course: Course, lessons: Iterable[str]) -> list[Problem]:
    """Return a note for each of these lessons whose core takes too long, or takes nobody knows how long."""
    notes = []
    for book in (course.books[name] for name in lessons if course.books[name].marks_core):
        notes += [
            Problem(book.path, task.line, f"say how long `{task.name}` takes with `minutes=`; its lesson marks a core")
            for task in book.exercises
            if not task.minutes
        ]
        reading, exercises = core_time(book)
        if reading + exercises > MOST_MINUTES:
            sums = f"{reading:.0f} minutes to read and {exercises:.0f} for its exercises"
            notes.append(Problem(book.path, 1, f"the core of `{book.topic}` takes more than an hour: {sums}"))
    return notes


def left_out_of_set_ups(course: Course, lessons: Iterable[str]) -> list[Problem]:
    """Return a note for each statement of these lessons that changes what exercises need but does not run with answers.

    Submissions run with what they need of a lesson, not with the whole lesson.
    """
    notes = []
    for book in (course.books[name] for name in lessons):
        for statement, unknown in book.left_out:
            names = ", ".join(f"`{name}`" for name in sorted(unknown))
            why = "would change all code in the process; if exercises need it, use a setting in course.toml"
            if unknown:
                why = f"reads {names}, which no given statement defines"
            source = clean(" ".join(statement.source.split()), 80)
            message = f"`{source}` does not run with answers, because it {why}"
            notes.append(Problem(book.path, statement.line, message))
    return notes


def ignored_translations(course: Course) -> list[Problem]:
    """Return a note if the course has the folder in which earlier versions kept translations."""
    folder = course.folders.top / "locale"
    return [Problem(folder, 1, "translations are not read; delete the folder")] if folder.is_dir() else []
