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
        """Return how many exercises are done, and the points."""
        words = plural("{{done}} of {count} exercise done", "{{done}} of {count} exercises done", self.exercises)
        return f"{words.format(done=self.done)} · {self.earned:g} of {self.points:g} points"


def topics_of(files: Iterable[FileAnswers], course: Outline) -> set[str]:
    """Return the lessons whose exercises a student's files contain."""
    names = {name for file in files for name in file.places}
    return {exercise.lesson for exercise in course.exercises.values() if exercise.name in names}


class Position:
    """A student's place in a course, according to their recorded progress.

    Args:
        course: the course.
        progress: what the student has done.
        topics: the lessons that their files contain; if empty, all lessons count.
    """

    def __init__(self, course: Outline, progress: Progress, topics: Collection[str] = ()):
        self.course, self.progress = course, progress
        self.topics = [topic for topic in course.books if topic in topics] or list(course.books)

    @property
    def exercises(self) -> list[Task]:
        """Return the exercises to do, in order."""
        return [exercise for topic in self.topics for exercise in self.course.books[topic].exercises]

    def current(self) -> Task | None:
        """Return the exercise to work on: the student's last one if it is not done, or else the next one that is not.

        Return None if all are done.
        """
        everything, last = self.progress.everything(), self.progress.place
        if last is None:
            started = {name: one.started_s for name, one in everything.items() if one.started_s is not None}
            last = max(started, key=lambda name: started[name], default=None)
        at = next((e for e in self.exercises if e.name == last), None)
        if at is not None and not everything.get(at.name, ExerciseProgress()).passed:
            return at
        return self.after(at)

    def after(self, exercise: Task | None) -> Task | None:
        """Return the next exercise after this one that is not done, starting over at the end of the course.

        Return None if all others are done.
        """
        exercises, everything = self.exercises, self.progress.everything()
        at = next((i for i, e in enumerate(exercises) if exercise is not None and e.name == exercise.name), -1)
        waiting = exercises[at + 1 :] + exercises[: max(at, 0)]
        return next((e for e in waiting if not everything.get(e.name, ExerciseProgress()).passed), None)

    def last_in(self, book: Lesson) -> Task | None:
        """Return the student's last exercise if it is in this lesson."""
        return next((e for e in book.exercises if e.name == self.progress.place), None)

    def next_step(self, book: Lesson, last: Task | None) -> str:
        """Return a sentence that names the exercise to do next in a lesson, and says what is open before it.

        Args:
            book: the lesson.
            last: the exercise of this lesson that the student did last, which is next if it is not done.
        """
        everything = self.progress.everything()
        waiting = [e for e in book.exercises if not everything.get(e.name, ExerciseProgress()).passed]
        here = last or next(iter(waiting or reversed(book.exercises)), None)
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
            "{count} earlier exercise is open: `{name}`.",
            "{count} earlier exercises are open; the first is `{name}`.",
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

    @property
    def books(self) -> list[Lesson]:
        """The lessons to do, in order."""
        return [self.course.books[topic] for topic in self.topics]
