"""Tell where a student is in a course: which exercises they have to do, and which comes next."""

import dataclasses
from collections.abc import Collection, Iterable

from jaxguide.base.text import plural
from jaxguide.course.books.outline import Lesson, Outline
from jaxguide.course.exercise import Task
from jaxguide.course.progress import ExerciseProgress, Progress
from jaxguide.student.answers_in_files import FileAnswers


@dataclasses.dataclass(frozen=True)
class Counts:
    """How much of one or several lessons is done."""

    exercises: int
    done: int
    points: float
    earned: float
    hints: int

    @property
    def share(self) -> float:
        """The share of exercises that are done."""
        return self.done / max(1, self.exercises)

    def in_words(self) -> str:
        """Return how many exercises are done, the points, and how many hints were read."""
        words = plural("{{done}} of {count} exercise done", "{{done}} of {count} exercises done", self.exercises)
        hints = plural(" · {count} hint read", " · {count} hints read", self.hints) if self.hints else ""
        return f"{words.format(done=self.done)} · {self.earned:g} of {self.points:g} points{hints}"


class Position:
    """A student's place in a course, according to their recorded progress.

    Args:
        course: the course.
        progress: what the student has done.
        files: their files; only lessons with an exercise in one of them count, or all lessons if there are none.
    """

    def __init__(self, course: Outline, progress: Progress, files: Iterable[FileAnswers] = ()):
        self.course, self.progress = course, progress
        names = {name for file in files for name in file.places}
        books = list(course.books.values())
        self.books = [book for book in books if names & book.exercise_names] or books
        self.exercises: list[Task] = [exercise for book in self.books for exercise in book.exercises]

    def current(self) -> Task | None:
        """Return the exercise to work on: the student's last one if it is not done, or else the next one that is not.

        Return None if all are done.
        """
        last = self.progress.place
        at = next((e for e in self.exercises if e.name == last), None)
        return at if at is not None and not self.progress.of(at.name).passed else self.after(at)

    def after(self, exercise: Task | None) -> Task | None:
        """Return the next exercise after this one that is not done, starting over at the end of the course.

        Return None if all others are done.
        """
        exercises = self.exercises
        at = next((i for i, e in enumerate(exercises) if exercise is not None and e.name == exercise.name), -1)
        return next(iter(self._waiting(exercises[at + 1 :] + exercises[: max(at, 0)])), None)

    def _waiting(self, exercises: Iterable[Task]) -> list[Task]:
        everything = self.progress.everything()
        return [e for e in exercises if not everything.get(e.name, ExerciseProgress()).passed]

    def next_step(self, book: Lesson, last: str | None = None) -> str:
        """Return a sentence that names the exercise to do next in a lesson, and says what is open before it.

        Args:
            book: the lesson.
            last: the exercise that the student did last, which is next if it is in this lesson and not done.
        """
        waiting, last = self._waiting(book.exercises), last or self.progress.place
        here = next((e for e in book.exercises if e.name == last), None)
        here = here or next(iter(waiting or reversed(book.exercises)), None)
        following = here if here in waiting else self.after(here)
        if following is None:
            return "All exercises are done."
        if following in waiting:
            said, before = f"Next: {following.title} (`{following.name}`).", waiting[: waiting.index(following)]
        else:
            said, before = f"Next lesson: {self.course.book_of(following).title} (`{following.lesson}`).", waiting
        if not before:
            return said
        words = plural(
            "{count} earlier exercise is not done: `{name}`.",
            "{count} earlier exercises are not done; the first is `{name}`.",
            len(before),
            name=before[0].name,
        )
        return f"{said} {words}"

    def counts(self, books: Collection[Lesson]) -> Counts:
        """Return how much of these lessons is done."""
        everything = self.progress.everything()
        exercises = [exercise for book in books for exercise in book.exercises]
        known = [everything.get(exercise.name, ExerciseProgress()) for exercise in exercises]
        return Counts(
            exercises=len(exercises),
            done=sum(one.passed for one in known),
            points=sum(exercise.points for exercise in exercises),
            earned=sum(e.points for e, one in zip(exercises, known, strict=True) if one.passed),
            hints=sum(one.hints for one in known),
        )
